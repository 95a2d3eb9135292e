/* SPDX-License-Identifier: MIT */
/* rownames.c - rows that answer to a name: a row set with a string member of
 * file names. D/cat.png is the row whose name is cat, whatever its suffix there.
 *
 * Kept is one integer a row, in order of the names' hashes; the names themselves
 * are read again where the search looks. */
#include <stdio.h>

#include "ns_int.h"

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

static int build(struct dset *d, uint64_t rows, uint32_t **ret_order)
{
	CLEANUP(freep) uint64_t *hashes = malloc(rows * sizeof(*hashes) + 1);
	CLEANUP(freep) uint32_t *order = malloc(rows * sizeof(*order) + 1);

	if (!hashes || !order)
		return -ENOMEM;
	for (uint64_t at = 0; at < rows; at += READ_ROWS) {
		uint64_t n = rows - at < READ_ROWS ? rows - at : READ_ROWS;
		int r = read_hashes(d, at, n, hashes + at);

		if (r < 0)
			return r;
		for (uint64_t i = 0; i < n; i++)
			order[at + i] = (uint32_t)(at + i);
	}
	qsort_r(order, rows, sizeof(*order), by_hash, hashes);
	*ret_order = TAKE(order);
	return 0;
}

static int search(struct dset *d, const uint32_t *order, uint64_t rows,
		  uint64_t want, uint32_t *ret_row)
{
	uint64_t lo = 0, hi = rows, hash;
	int r;

	while (lo < hi) { /* the first that is not below */
		uint64_t mid = lo + (hi - lo) / 2;

		r = read_hashes(d, order[mid], 1, &hash);
		if (r < 0)
			return r;
		if (hash < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == rows)
		return -ENOENT;
	r = read_hashes(d, order[lo], 1, &hash);
	if (r < 0)
		return r;
	if (hash != want)
		return -ENOENT;
	*ret_row = order[lo];
	return 0;
}

int rownames_find(struct ns *ns, struct object *o, const char *name,
		  uint32_t *ret_row)
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
			r = build(d, o->rows, &ref.st->name_order);
		/* read in vain once: then no row has a name */
		if (is_damage(r))
			ref.st->names_damaged = true;
		if (ref.st->names_damaged)
			r = -ENOENT;
	}
	if (r == 0)
		r = search(d, ref.st->name_order, o->rows,
			   stem_hash(name, strlen(name)), ret_row);
	return r;
}
