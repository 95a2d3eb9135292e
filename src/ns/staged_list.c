/* SPDX-License-Identifier: MIT */
/* staged_list.c - staged files in a listing, behind what is committed. Names come
 * and go while it is read, so an offset is the hash of a name, and they are listed
 * in that order. */
#include "write_int.h"

struct staged_name {
	uint64_t hash;
	char *name;
};
struct staged_names {  /* in the order of their hashes */
	unsigned refs; /* under write->lock */
	char *dir;
	struct staged_name *of;
	size_t count;
};

static int by_hash(const void *pa, const void *pb)
{
	const struct staged_name *a = pa, *b = pb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void names_free(struct staged_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		free(n->of[i].name);
	free(n->of);
	free(n->dir);
	free(n);
}
DEFINE_CLEANUP(struct staged_names *, names_free)

void staged_names_put(struct ns *ns, struct staged_names *n)
{
	bool last;

	pthread_mutex_lock(&ns->write->lock);
	last = --n->refs == 0;
	pthread_mutex_unlock(&ns->write->lock);
	if (last)
		names_free(n);
}

static int add(struct staged_names *to, struct stage_names *from, unsigned bits)
{
	struct staged_name *grown =
		realloc(to->of, (to->count + from->count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	to->of = grown;
	for (size_t i = 0; i < from->count; i++) {
		char *name = TAKE(from->names[i]);

		grown[to->count++] = (struct staged_name){
			hash_bytes(name, strlen(name), 23) >> (64 - bits), name
		};
	}
	return 0;
}

#define NAMES_A_PAGE 4096

static int add_staged(struct ns *ns, const char *dir, struct staged_names *to,
		      unsigned bits)
{
	CLEANUP(freep) char *after = NULL;
	bool more = true;
	int r = 0;

	while (r == 0 && more) {
		struct stage_names page = { 0 };

		r = stage_list(ns->stage, dir, after, NAMES_A_PAGE, &page);
		more = page.count == NAMES_A_PAGE;
		free(after);
		after = more ? strdup(page.names[page.count - 1]) : NULL;
		if (r == 0 && more && !after)
			r = -ENOMEM;
		if (r == 0)
			r = add(to, &page, bits);
		stage_names_done(&page);
	}
	return r;
}

/* A file that is written over a staged one is one name. */
static void drop_doubles(struct staged_names *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->count; i++) {
		if (kept && n->of[i].hash == n->of[kept - 1].hash &&
		    !strcmp(n->of[i].name, n->of[kept - 1].name))
			free(n->of[i].name);
		else
			n->of[kept++] = n->of[i];
	}
	n->count = kept;
}

static int make(struct ns *ns, const struct intake *in, unsigned bits,
		struct staged_names **ret)
{
	CLEANUP(names_freep) struct staged_names *n = calloc(1, sizeof(*n));
	struct stage_names open = { 0 };
	int r = n ? open_file_names(ns, in->dir, &open) : -ENOMEM;

	if (r == 0)
		r = add(n, &open, bits);
	stage_names_done(&open);
	if (r == 0 && in->kind == INTAKE_SAMPLE)
		r = add_staged(ns, in->dir, n, bits);
	if (r < 0)
		return r;
	n->refs = 1;
	n->dir = strdup(in->dir);
	if (!n->dir)
		return -ENOMEM;
	if (n->count)
		qsort(n->of, n->count, sizeof(*n->of), by_hash);
	drop_doubles(n);
	*ret = TAKE(n);
	return 0;
}

/* Many calls list one large directory: they share what the first one made. */
static struct staged_names *find_kept(struct write_side *w, const char *dir)
{
	LOCK_SCOPE(&w->lock);

	for (size_t i = 0; i < ARRAY_SIZE(w->listings); i++)
		if (w->listings[i] && !strcmp(w->listings[i]->dir, dir)) {
			w->listings[i]->refs++;
			return w->listings[i];
		}
	return NULL;
}

static void keep(struct ns *ns, struct staged_names *n)
{
	struct write_side *w = ns->write;
	struct staged_names *old;
	size_t at;

	pthread_mutex_lock(&w->lock);
	at = w->next_listing++ % ARRAY_SIZE(w->listings);
	for (size_t i = 0; i < ARRAY_SIZE(w->listings); i++)
		if (w->listings[i] && !strcmp(w->listings[i]->dir, n->dir))
			at = i;
	old = w->listings[at];
	w->listings[at] = n;
	n->refs++;
	pthread_mutex_unlock(&w->lock);
	if (old)
		staged_names_put(ns, old);
}

void staged_lists_forget(struct ns *ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(ns->write->listings); i++)
		if (ns->write->listings[i])
			staged_names_put(ns, ns->write->listings[i]);
}

int staged_names_get(struct ns *ns, const struct intake *in, unsigned bits,
		     bool first, struct staged_names **ret)
{
	struct staged_names *n = first ? NULL : find_kept(ns->write, in->dir);
	int r = n ? 0 : make(ns, in, bits, &n);

	if (r < 0)
		return r;
	keep(ns, n);
	*ret = n;
	return 0;
}

size_t staged_names_from(const struct staged_names *n, uint64_t hash)
{
	size_t lo = 0, hi = n->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (n->of[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const char *staged_names_at(const struct staged_names *n, size_t i,
			    uint64_t *ret_hash)
{
	if (i >= n->count)
		return NULL;
	*ret_hash = n->of[i].hash;
	return n->of[i].name;
}
