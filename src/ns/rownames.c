/* SPDX-License-Identifier: MIT */
/* rownames.c - rows that answer to a name: a row set with a string member of
 * file names. D/cat.png is the row whose name is cat, whatever its suffix there.
 *
 * Kept is one integer a row, in order of the names' hashes; the names themselves
 * are read again where the search looks. */
#include <stdio.h>

#include "write_int.h"

#define READ_ROWS 16384

static const char *const member_names[] = {
	"name",	      "names",	    "filename",	   "filenames", "file_name",
	"file_names", "image_name", "image_names", "path",	"paths",
};

static bool is_names(const struct object *o, const struct object *m)
{
	return m->kind == OBJECT_DATASET && m->row_member && m->rank == 1 &&
	       m->rows == o->rows;
}

bool rownames_are_text(struct object *m)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;

	return m && open_dataset(m, &d) == 0 &&
	       (dset_info(d)->type->class == DT_STRING ||
		dset_info(d)->type->class == DT_VLSTR);
}

struct object *rownames_member(struct ns *ns, struct object *o)
{
	const struct group *g = o->parent ? o->parent->group : NULL;
	struct object *found = NULL;

	if (o->rules && o->rules->names) {
		struct object *m = NULL;
		LOCK_SCOPE(&ns->load);

		if (walk_path(ns, o->parent, o->rules->names->value, 16, &m) <
			    0 ||
		    m->kind != OBJECT_DATASET || m->parent != o->parent ||
		    !is_names(o, m))
			return NULL;
		return m;
	}
	for (size_t i = 0; g && !found && i < ARRAY_SIZE(member_names); i++) {
		struct child *c = group_child(g, member_names[i]);

		if (c && c->kind == CHILD_OBJECT && is_names(o, c->object))
			found = c->object;
	}
	return found;
}

/* Of a row's name: what comes after the last slash, without its suffix. */
static uint64_t stem_hash(const char *s, size_t n)
{
	const char *slash = memrchr(s, '/', n), *dot;

	if (slash) {
		n -= (size_t)(slash + 1 - s);
		s = slash + 1;
	}
	dot = memrchr(s, '.', n);
	if (dot && dot > s)
		n = (size_t)(dot - s);
	return hash_bytes(s, n, 11);
}

static int read_hashes(struct dset *d, uint64_t from, uint64_t n, uint64_t *ret)
{
	CLEANUP(array_freep) struct array *a = NULL;
	int r = dset_read_cells(d, &from, &n, &a);

	for (uint64_t i = 0; r == 0 && i < n; i++) {
		const char *s;
		size_t len;

		dtype_string(a->type, array_at(a, i), &s, &len);
		ret[i] = stem_hash(s, len);
	}
	return r;
}

static int by_hash(const void *a, const void *b, void *arg)
{
	const uint64_t *hashes = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (hashes[x] != hashes[y])
		return hashes[x] < hashes[y] ? -1 : 1;
	return x < y ? -1 : x > y; /* of equal names the first row answers */
}

/* Rows [from, from+n) in the order of their hashes, which are given too. */
static int sort_rows(struct dset *d, uint64_t from, uint64_t n,
		     uint32_t *ret_order, uint64_t **ret_hashes)
{
	CLEANUP(freep) uint64_t *hashes = malloc(n * sizeof(*hashes) + 1);

	if (!hashes)
		return -ENOMEM;
	for (uint64_t at = 0; at < n; at += READ_ROWS) {
		uint64_t k = n - at < READ_ROWS ? n - at : READ_ROWS;
		int r = read_hashes(d, from + at, k, hashes + at);

		if (r < 0)
			return r;
		for (uint64_t i = 0; i < k; i++)
			ret_order[at + i] = (uint32_t)(at + i);
	}
	qsort_r(ret_order, n, sizeof(*ret_order), by_hash, hashes);
	*ret_hashes = TAKE(hashes);
	return 0;
}

static inline uint32_t *rows_of(const struct blob *order)
{
	return (uint32_t *)(void *)order->data;
}

static int build(struct dset *d, uint64_t rows, struct blob **ret_order)
{
	CLEANUP(blob_unrefp) struct blob *order = NULL;
	CLEANUP(freep) uint64_t *hashes = NULL;
	int r = blob_new(rows * sizeof(uint32_t), &order);

	if (r == 0)
		r = sort_rows(d, 0, rows, rows_of(order), &hashes);
	if (r == 0)
		*ret_order = TAKE(order);
	return r;
}

/* The first place in order[lo..hi) whose name is not below want. */
static int lower_bound(struct dset *d, const uint32_t *order, uint64_t lo,
		       uint64_t hi, uint64_t want, uint64_t *ret_at)
{
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2, hash;
		int r = read_hashes(d, order[mid], 1, &hash);

		if (r < 0)
			return r;
		if (hash < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_at = lo;
	return 0;
}

/* The order of the first rows, and those that have come since. */
static int extend(struct dset *d, const struct blob *old, uint64_t rows,
		  struct blob **ret_order)
{
	uint64_t n = old->size / sizeof(uint32_t), more = rows - n, at = 0;
	CLEANUP(freep) uint32_t *fresh = malloc(more * sizeof(*fresh) + 1);
	CLEANUP(freep) uint64_t *hashes = NULL;
	CLEANUP(blob_unrefp) struct blob *order = NULL;
	int r = fresh ? blob_new(rows * sizeof(uint32_t), &order) : -ENOMEM;

	if (r == 0)
		r = sort_rows(d, n, more, fresh, &hashes);
	for (uint64_t i = 0; r == 0 && i <= more; i++) {
		uint64_t end = n;

		/* behind those of the same name, which are older */
		if (i < more)
			r = lower_bound(d, rows_of(old), at, n,
					hashes[fresh[i]] + 1, &end);
		if (r < 0)
			break;
		memcpy(rows_of(order) + at + i, rows_of(old) + at,
		       (end - at) * sizeof(uint32_t));
		if (i < more)
			rows_of(order)[end + i] = (uint32_t)(n + fresh[i]);
		at = end;
	}
	if (r == 0)
		*ret_order = TAKE(order);
	return r;
}

/* ---- kept from one commit to the next: they only add rows ---- */

void rownames_forget(struct ns *ns)
{
	struct write_side *w = ns->write;
	struct blob *old;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	old = TAKE(w->names_order);
	w->names_epoch++;
	pthread_mutex_unlock(&w->lock);
	blob_unref(old);
}

static struct blob *kept_order(struct write_side *w, const char *path,
			       uint64_t rows, uint64_t *ret_epoch)
{
	LOCK_SCOPE(&w->lock);

	*ret_epoch = w->names_epoch;
	return w->names_order && !strcmp(w->names_path, path) &&
			       w->names_order->size / sizeof(uint32_t) <= rows
		       ? blob_ref(w->names_order)
		       : NULL;
}

static void keep_order(struct write_side *w, const char *path,
		       struct blob *order, uint64_t epoch)
{
	CLEANUP(freep) char *copy = strdup(path);
	LOCK_SCOPE(&w->lock);

	if (!copy || w->names_epoch != epoch)
		return;
	free(w->names_path);
	w->names_path = TAKE(copy);
	blob_unref(w->names_order);
	w->names_order = blob_ref(order);
}

static int get_order(struct ns *ns, struct object *m, struct dset *d,
		     uint64_t rows, struct blob **ret_order)
{
	CLEANUP(blob_unrefp) struct blob *old = NULL;
	CLEANUP(freep) char *path = NULL;
	uint64_t epoch;
	int r;

	if (!ns->write)
		return build(d, rows, ret_order);
	path = object_path(m);
	if (!path)
		return -ENOMEM;
	old = kept_order(ns->write, path, rows, &epoch);
	r = old ? extend(d, old, rows, ret_order) : build(d, rows, ret_order);
	if (r == 0)
		keep_order(ns->write, path, *ret_order, epoch);
	return r;
}

static int search(struct dset *d, const struct blob *order, uint64_t want,
		  const struct classes *c, uint32_t ci, uint32_t *ret_row)
{
	uint64_t rows = order->size / sizeof(uint32_t), at, hash;
	int r = lower_bound(d, rows_of(order), 0, rows, want, &at);

	for (; r == 0 && at < rows; at++) {
		uint32_t row = rows_of(order)[at];

		r = read_hashes(d, row, 1, &hash);
		if (r < 0 || hash != want)
			break;
		if (c && !classes_has(c, ci, row))
			continue;
		*ret_row = row;
		return 0;
	}
	return r < 0 ? r : -ENOENT;
}

int rownames_find(struct ns *ns, struct object *o, const char *name,
		  const struct classes *c, uint32_t ci, uint32_t *ret_row)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	const char *suffix = sample_suffix(o), *dot = strrchr(name, '.');
	struct object *m;
	STATE_REF(ref, ns);
	int r;

	/* what programs look for by themselves costs nothing */
	if (name[0] == '.' || !dot || (suffix && strcmp(dot, suffix)))
		return -ENOENT;
	if (o->layout->kind != LAYOUT_NONE &&
	    (o->layout->nindex != 1 || o->layout->index[0] != 0))
		return -ENOENT;
	m = rownames_member(ns, o);
	if (!m)
		return -ENOENT;
	r = open_dataset(m, &d);
	if (r == 0)
		r = state_get(ns, o, &ref.st);
	if (r < 0)
		return r;
	if (dset_info(d)->type->class != DT_STRING &&
	    dset_info(d)->type->class != DT_VLSTR)
		return -ENOENT;
	{
		LOCK_SCOPE(&ref.st->slow);
		if (!ref.st->name_order && !ref.st->names_damaged)
			r = get_order(ns, m, d, o->rows, &ref.st->name_order);
		/* read in vain once: then no row has a name */
		if (is_damage(r))
			ref.st->names_damaged = true;
		if (ref.st->names_damaged)
			r = -ENOENT;
	}
	if (r == 0)
		r = search(d, ref.st->name_order, stem_hash(name, strlen(name)),
			   c, ci, ret_row);
	return r;
}
