/* SPDX-License-Identifier: MIT */
/* cells.c - elements that point: strings and sequences of variable length, and
 * references, which become paths. */
#include <stdio.h>

#include "store_int.h"

#define SMALL_BUFFER (64u << 10)
#define MAX_CELL_BYTES (4ull << 30)

static int path_text(struct store *s, hid_t obj, struct arena *a, char **ret)
{
	CLEANUP(freep) char *path = NULL;
	struct obj_info info;
	int r = object_info(s, obj, &info);

	if (r == 0)
		r = names_find(s, info.id, &path);
	if (r == -ENOMEM)
		return r;
	*ret = r == 0 ? arena_strdup(a, path) : NULL;
	return r == 0 && !*ret ? -ENOMEM : 0;
}

static int object_reference(struct store *s, hid_t loc, const uint8_t *p,
			    struct arena *a, char **ret)
{
	CLEANUP(hid_closep) hid_t obj = -1;
	hobj_ref_t ref;

	*ret = NULL;
	memcpy(&ref, p, sizeof(ref));
	if (ref == 0 || ref == HADDR_UNDEF)
		return 0;
	obj = H5Rdereference2(loc, H5P_DEFAULT, H5R_OBJECT, &ref);
	return obj < 0 ? 0 : path_text(s, obj, a, ret);
}

/* Appends "[0:2, 5:9]" (the bounds) or "{n points}" of a selection. */
static void selection_text(hid_t space, struct strbuf *out)
{
	hsize_t lo[H5S_MAX_RANK], hi[H5S_MAX_RANK];
	int rank = H5Sget_simple_extent_ndims(space);
	H5S_sel_type type = H5Sget_select_type(space);

	if (rank < 0 || H5Sget_select_bounds(space, lo, hi) < 0)
		return;
	if (type == H5S_SEL_POINTS) {
		strbuf_printf(out, "{%lld points}",
			      (long long)H5Sget_select_elem_npoints(space));
		return;
	}
	strbuf_putc(out, '[');
	for (int i = 0; i < rank; i++)
		strbuf_printf(out, "%s%llu:%llu", i ? "," : "",
			      (unsigned long long)lo[i],
			      (unsigned long long)hi[i] + 1);
	strbuf_putc(out, ']');
}

static int region_reference(struct store *s, hid_t loc, const uint8_t *p,
			    struct arena *a, char **ret)
{
	static const hdset_reg_ref_t none;
	CLEANUP(hid_closep) hid_t obj = -1;
	CLEANUP(hid_closep) hid_t space = -1;
	struct strbuf text = STRBUF_INIT;
	hdset_reg_ref_t ref;
	char *path = NULL;
	int r;

	*ret = NULL;
	memcpy(&ref, p, sizeof(ref));
	if (!memcmp(&ref, &none, sizeof(ref)))
		return 0;
	obj = H5Rdereference2(loc, H5P_DEFAULT, H5R_DATASET_REGION, &ref);
	space = obj < 0 ? -1 : H5Rget_region(loc, H5R_DATASET_REGION, &ref);
	if (space < 0)
		return 0;
	r = path_text(s, obj, a, &path);
	if (r < 0 || !path)
		return r;
	strbuf_puts(&text, path);
	selection_text(space, &text);
	r = strbuf_error(&text);
	if (r == 0 && !(*ret = arena_strdup(a, text.buf)))
		r = -ENOMEM;
	strbuf_done(&text);
	return r;
}

static int resolve_one(struct store *s, hid_t loc, const struct dtype *t,
		       uint8_t *p, struct arena *a, unsigned depth)
{
	struct dt_vlen v;
	char *path = NULL;
	int r = 0;

	switch (t->class) {
	case DT_REF:
	case DT_REGREF:
		r = t->class == DT_REF ? object_reference(s, loc, p, a, &path)
				       : region_reference(s, loc, p, a, &path);
		if (r < 0)
			return r;
		memset(p, 0, t->size);
		memcpy(p, &path, sizeof(path));
		return 0;
	case DT_VLEN:
		memcpy(&v, p, sizeof(v));
		return v.len && v.p
			       ? cells_resolve(s, loc, t->base, (uint8_t *)v.p,
					       v.len, a, depth)
			       : 0;
	case DT_ARRAY:
		return cells_resolve(
			s, loc, t->base, p,
			t->base->size ? t->size / t->base->size : 0, a, depth);
	case DT_COMPOUND:
		for (unsigned i = 0; r == 0 && i < t->nmembers; i++)
			r = cells_resolve(s, loc, t->members[i].type,
					  p + t->members[i].offset, 1, a,
					  depth);
		return r;
	default:
		return 0;
	}
}

int cells_resolve(struct store *s, hid_t loc, const struct dtype *t, uint8_t *p,
		  uint64_t n, struct arena *a, unsigned depth)
{
	int r = 0;

	if (!dtype_has_pointers(t) || t->class == DT_VLSTR || depth > 32)
		return 0;
	for (uint64_t i = 0; r == 0 && i < n; i++)
		r = resolve_one(s, loc, t, p + i * t->size, a, depth + 1);
	return r;
}

/* HDF5 allocates elements in the array's arena, up to a limit: a length in the
 * file may be anything. */
static void *alloc_cell(size_t size, void *arg)
{
	struct arena *a = arg;

	if (size > MAX_CELL_BYTES || arena_bytes(a) > MAX_CELL_BYTES - size)
		return NULL;
	return arena_alloc(a, size);
}

static void free_cell(void *p, void *arg)
{
	(void)p, (void)arg; /* with the arena */
}

static int select_box(hid_t space, unsigned rank, const uint64_t *start,
		      const uint64_t *count, hid_t *ret_mem)
{
	hsize_t st[DT_MAX_RANK], ct[DT_MAX_RANK];

	for (unsigned i = 0; i < rank; i++) {
		st[i] = start[i];
		ct[i] = count[i];
	}
	if (rank &&
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, st, NULL, ct, NULL) < 0)
		return -EIO;
	*ret_mem = rank ? H5Screate_simple((int)rank, ct, NULL)
			: H5Screate(H5S_SCALAR);
	return *ret_mem < 0 ? -EIO : 0;
}

static int read_pointing(struct dset *d, const uint64_t *start,
			 const uint64_t *count, struct array *a)
{
	struct store *s = d->store;
	hid_t set, mtype;
	int r;

	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t space = -1;
	CLEANUP(hid_closep) hid_t mem = -1;
	CLEANUP(hid_closep) hid_t dxpl = -1;

	r = dset_hid(d, &set, &mtype);
	if (r < 0)
		return r;
	space = H5Dget_space(set);
	dxpl = H5Pcreate(H5P_DATASET_XFER);
	if (space < 0 || dxpl < 0 ||
	    H5Pset_vlen_mem_manager(dxpl, alloc_cell, a->arena, free_cell,
				    a->arena) < 0)
		return -EIO;
	/* the library clears its whole buffer, 1 MiB, for each read */
	if (a->data->size <= SMALL_BUFFER / 4)
		(void)H5Pset_buffer(dxpl, SMALL_BUFFER, NULL, NULL);
	r = select_box(space, d->info.rank, start, count, &mem);
	if (r < 0)
		return r;
	stat_add(&s->stats.lib_reads, 1);
	s->denied = false;
	if (H5Dread(set, mtype, mem, space, dxpl, a->data->data) < 0) {
		dset_unreadable(d, start);
		return -EIO;
	}
	if (s->denied) {
		dset_denied(d, NULL);
		return -EIO;
	}
	return cells_resolve(s, set, a->type, a->data->data, a->count, a->arena,
			     0);
}

int dset_read_cells(struct dset *d, const uint64_t *start,
		    const uint64_t *count, struct array **ret_array)
{
	CLEANUP(array_freep) struct array *a = calloc(1, sizeof(*a));
	uint64_t bytes;
	int r;

	if (!a)
		return -ENOMEM;
	a->type = d->type;
	a->null = d->info.null;
	a->rank = d->info.rank;
	a->count = d->info.null ? 0 : 1;
	for (unsigned i = 0; i < a->rank; i++) {
		if (start[i] > d->info.dims[i] ||
		    count[i] > d->info.dims[i] - start[i])
			return -ERANGE;
		a->dims[i] = count[i];
		if (mul_overflow(a->count, count[i], &a->count))
			return -EOVERFLOW;
	}
	if (mul_overflow(a->count, a->type->size, &bytes) ||
	    bytes > MAX_CELL_BYTES)
		return -EFBIG;
	r = arena_new(&a->arena);
	if (r == 0)
		r = blob_new(bytes, &a->data);
	if (r < 0)
		return r;
	memset(a->data->data, 0, bytes);
	if (a->count) {
		r = dtype_has_pointers(a->type)
			    ? read_pointing(d, start, count, a)
			    : dset_read(d, start, count, NULL, a->data->data);
		if (r < 0)
			return r;
	}
	*ret_array = TAKE(a);
	return 0;
}
