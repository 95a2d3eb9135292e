/* SPDX-License-Identifier: MIT */
/* staged_list.c - staged files in a listing, behind what is committed. Names come
 * and go while it is read, so an offset is the hash of a name, and they are listed
 * in that order. */
#include "write_int.h"

struct staged_name {
	uint64_t hash;
	char *name;
};

static int by_hash(const void *pa, const void *pb)
{
	const struct staged_name *a = pa, *b = pb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return strcmp(a->name, b->name);
}

void staged_names_done(struct staged_names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->of[i].name);
	free(n->of);
	memset(n, 0, sizeof(*n));
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

int staged_names_get(struct ns *ns, const struct intake *in, unsigned bits,
		     struct staged_names *ret)
{
	CLEANUP(staged_names_done) struct staged_names n = { 0 };
	struct stage_names open = { 0 };
	int r = open_file_names(ns, in->dir, &open);

	if (r == 0)
		r = add(&n, &open, bits);
	stage_names_done(&open);
	if (r == 0 && in->kind == INTAKE_SAMPLE)
		r = add_staged(ns, in->dir, &n, bits);
	if (r < 0)
		return r;
	if (n.count)
		qsort(n.of, n.count, sizeof(*n.of), by_hash);
	drop_doubles(&n);
	*ret = n;
	memset(&n, 0, sizeof(n));
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
	*ret_hash = n->of[i].hash;
	return n->of[i].name;
}
