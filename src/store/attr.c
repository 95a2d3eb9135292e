/* SPDX-License-Identifier: MIT */
/* attr.c - attributes of any object, as arrays. */
#include <stdio.h>

#include "store_int.h"

#define MAX_ATTR_BYTES (64u << 20)

void attr_list_done(struct attr_list *l)
{
	free(l->names);
	arena_free(l->arena);
	memset(l, 0, sizeof(*l));
}

static herr_t take_name(hid_t obj, const char *name, const H5A_info_t *ai,
			void *arg)
{
	struct attr_list *l = arg;
	char **grown;

	(void)obj, (void)ai;
	if ((l->count & (l->count + 1)) == 0) { /* 0, 1, 3, 7 ...: full */
		grown = realloc(l->names, (2 * l->count + 2) * sizeof(*grown));
		if (!grown)
			return -1;
		l->names = grown;
	}
	l->names[l->count] = arena_strdup(l->arena, name);
	return l->names[l->count++] ? 0 : -1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A list that the library sorts, or makes of an object header, frees what it
 * never filled when one attribute can not be decoded. Looked for by name they
 * just fail, and so does a dense list in its own order. */
static int list_names(hid_t obj, struct attr_list *l)
{
	hsize_t at = 0;

	if (H5Aexists(obj, "\1no such attribute") < 0 ||
	    H5Aiterate2(obj, H5_INDEX_NAME, H5_ITER_NATIVE, &at, take_name, l) <
		    0)
		return -EIO;
	if (l->count)
		qsort(l->names, l->count, sizeof(*l->names), by_name);
	return 0;
}

int store_attrs(struct store *s, struct obj_id id, struct attr_list *ret_list)
{
	struct attr_list l = { 0 };
	int r = arena_new(&l.arena);

	if (r < 0)
		return r;
	{
		H5_GUARD(s);
		CLEANUP(hid_closep) hid_t obj = object_open(s, id);

		r = obj < 0 ? -EIO : list_names(obj, &l);
	}
	if (r < 0) {
		attr_list_done(&l);
		return r;
	}
	*ret_list = l;
	return 0;
}

/* Moves what HDF5 allocated for variable-length elements into the arena. */
static int move_pointers(const struct dtype *t, uint8_t *p, struct arena *a,
			 unsigned depth)
{
	int r = 0;

	if (!dtype_has_pointers(t) || depth > 32)
		return 0;
	if (t->class == DT_VLSTR) {
		char *str, *copy;

		memcpy(&str, p, sizeof(str));
		copy = str ? arena_strdup(a, str) : NULL;
		if (str && !copy)
			r = -ENOMEM;
		memcpy(p, &copy, sizeof(copy));
		H5free_memory(str);
	} else if (t->class == DT_VLEN) {
		struct dt_vlen v;
		uint8_t *copy = NULL;
		uint64_t bytes;

		memcpy(&v, p, sizeof(v));
		if (v.len && !mul_overflow(v.len, t->base->size, &bytes))
			copy = arena_alloc(a, bytes);
		if (copy) {
			memcpy(copy, v.p, bytes);
			for (size_t i = 0; i < v.len; i++)
				if (move_pointers(t->base,
						  copy + i * t->base->size, a,
						  depth + 1) < 0)
					r = -ENOMEM;
		} else if (v.len) {
			r = -ENOMEM;
		}
		H5free_memory((void *)v.p);
		v.p = copy;
		if (!copy)
			v.len = 0;
		memcpy(p, &v, sizeof(v));
	} else if (t->class == DT_ARRAY) {
		for (uint32_t o = 0; o < t->size; o += t->base->size)
			if (move_pointers(t->base, p + o, a, depth + 1) < 0)
				r = -ENOMEM;
	} else if (t->class == DT_COMPOUND) {
		for (unsigned i = 0; i < t->nmembers; i++)
			if (move_pointers(t->members[i].type,
					  p + t->members[i].offset, a,
					  depth + 1) < 0)
				r = -ENOMEM;
	}
	return r;
}

static int read_shape(hid_t space, struct array *a)
{
	hsize_t dims[H5S_MAX_RANK];
	int rank = H5Sget_simple_extent_ndims(space);

	a->count = 1;
	if (H5Sget_simple_extent_type(space) == H5S_NULL) {
		a->null = true;
		a->count = 0;
		return 0;
	}
	if (rank < 0 || rank > DT_MAX_RANK ||
	    H5Sget_simple_extent_dims(space, dims, NULL) < 0)
		return -EIO;
	a->rank = (unsigned)rank;
	for (int i = 0; i < rank; i++) {
		a->dims[i] = dims[i];
		if (mul_overflow(a->count, dims[i], &a->count))
			return -EOVERFLOW;
	}
	return 0;
}

static int read_elements(struct store *s, hid_t attr, struct array *a)
{
	CLEANUP(hid_closep) hid_t mem = -1;
	uint64_t bytes;
	int r;

	if (mul_overflow(a->count, a->type->size, &bytes) ||
	    bytes > MAX_ATTR_BYTES)
		return -EFBIG;
	r = blob_new(bytes, &a->data);
	if (r < 0 || bytes == 0)
		return r;
	memset(a->data->data, 0, bytes);
	mem = type_to_h5(a->type);
	if (mem < 0 || H5Aread(attr, mem, a->data->data) < 0)
		return -EIO;
	for (uint64_t i = 0; i < a->count; i++) {
		int moved = move_pointers(a->type,
					  a->data->data + i * a->type->size,
					  a->arena, 0);

		if (moved < 0)
			r = moved;
	}
	if (r < 0)
		return r;
	return cells_resolve(s, attr, a->type, a->data->data, a->count,
			     a->arena, 0);
}

int store_attr(struct store *s, struct obj_id id, const char *name,
	       struct array **ret_value)
{
	CLEANUP(array_freep) struct array *a = calloc(1, sizeof(*a));
	struct type_map map;
	int r;

	if (!a)
		return -ENOMEM;
	r = arena_new(&a->arena);
	if (r < 0)
		return r;
	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t obj = object_open(s, id);
	CLEANUP(hid_closep) hid_t attr = -1;
	CLEANUP(hid_closep) hid_t type = -1;
	CLEANUP(hid_closep) hid_t space = -1;

	if (obj < 0)
		return -EIO;
	if (H5Aexists(obj, name) <= 0)
		return -ENODATA;
	attr = H5Aopen(obj, name, H5P_DEFAULT);
	type = attr < 0 ? -1 : H5Aget_type(attr);
	space = attr < 0 ? -1 : H5Aget_space(attr);
	if (type < 0 || space < 0)
		return -EIO;
	r = type_from_h5(type, &a->own_type, &map);
	if (r == 0) {
		a->type = a->own_type;
		r = read_shape(space, a);
	}
	if (r == 0)
		r = read_elements(s, attr, a);
	if (r < 0)
		return r;
	*ret_value = TAKE(a);
	return 0;
}
