/* SPDX-License-Identifier: MIT */
/* writer_attr.c - attributes of any object, set and removed. */
#include "writer_int.h"

/* What no attribute's message holds, less its name and type. */
#define MESSAGE_BYTES (63u << 10)
#define DOES_NOT_FIT 1

static bool same_shape(const struct array *a, hid_t space)
{
	hsize_t dims[H5S_MAX_RANK];
	int rank = H5Sget_simple_extent_ndims(space);

	if (a->null || H5Sget_simple_extent_type(space) == H5S_NULL)
		return a->null && H5Sget_simple_extent_type(space) == H5S_NULL;
	if (rank < 0 || (unsigned)rank != a->rank ||
	    H5Sget_simple_extent_dims(space, dims, NULL) < 0)
		return false;
	for (unsigned i = 0; i < a->rank; i++)
		if (dims[i] != a->dims[i])
			return false;
	return true;
}

static int write_elements(struct writer *w, hid_t attr, const char *name,
			  const struct dtype *t, const void *elements,
			  uint64_t n)
{
	CLEANUP(hid_closep) hid_t mem = type_to_h5_named(t);
	CLEANUP(blob_unrefp) struct blob *refs = NULL;
	int r;

	if (n == 0)
		return 0;
	r = writer_refs(w, t, elements, n, &refs);
	if (r < 0)
		return r;
	if (mem < 0 || H5Awrite(attr, mem, refs ? refs->data : elements) < 0)
		return writer_path_fail(w, name, "can not be written");
	return 0;
}

/* Into the attribute that is there, or DOES_NOT_FIT. */
static int set_in_place(struct writer *w, hid_t obj, const char *name,
			const struct array *v)
{
	CLEANUP(hid_closep) hid_t attr = H5Aopen(obj, name, H5P_DEFAULT);
	CLEANUP(hid_closep) hid_t type = attr < 0 ? -1 : H5Aget_type(attr);
	CLEANUP(hid_closep) hid_t space = attr < 0 ? -1 : H5Aget_space(attr);
	CLEANUP(dtype_freep) struct dtype *own = NULL;
	CLEANUP(arena_freep) struct arena *a = NULL;
	CLEANUP(blob_unrefp) struct blob *texts = NULL;
	struct type_map map;
	int r;

	/* what can not be read is made anew */
	if (type < 0 || space < 0 || !same_shape(v, space) ||
	    type_from_h5(type, &own, &map) < 0)
		return DOES_NOT_FIT;
	if (v->null)
		return dtype_same(v->type, own) ? 0 : DOES_NOT_FIT;
	if (!dtype_is_text(own) || !dtype_is_text(v->type))
		return dtype_same(v->type, own)
			       ? write_elements(w, attr, name, own,
						v->data->data, v->count)
			       : DOES_NOT_FIT;
	r = arena_new(&a);
	if (r == 0)
		r = texts_as(v->type, v->data->data, v->count, own, a, &texts);
	if (r < 0)
		return r == -EINVAL ? DOES_NOT_FIT : r;
	return write_elements(w, attr, name, own, texts->data, v->count);
}

static hid_t space_of(const struct array *v)
{
	hsize_t dims[DT_MAX_RANK];

	if (v->null)
		return H5Screate(H5S_NULL);
	if (v->rank == 0)
		return H5Screate(H5S_SCALAR);
	for (unsigned i = 0; i < v->rank; i++)
		dims[i] = v->dims[i];
	return H5Screate_simple((int)v->rank, dims, NULL);
}

static int make(struct writer *w, hid_t obj, const char *name,
		const struct array *v, const struct dtype *type,
		const void *elements)
{
	CLEANUP(hid_closep) hid_t stored = type_to_h5_named(type);
	CLEANUP(hid_closep) hid_t space = space_of(v);
	CLEANUP(hid_closep)
	hid_t acpl = writer_name_plist(H5P_ATTRIBUTE_CREATE, name);
	CLEANUP(hid_closep) hid_t attr = -1;

	if (stored < 0)
		return writer_fail(w, -EOPNOTSUPP,
				   "%s: a type that can not be written", name);
	if (space < 0 || acpl < 0)
		return -ENOMEM;
	attr = H5Acreate2(obj, name, stored, space, acpl, H5P_DEFAULT);
	if (attr < 0 && v->count * type->size > MESSAGE_BYTES)
		return writer_fail(w, -E2BIG,
				   "%s is over 64 KiB, which attributes of "
				   "files written with libver='earliest' can "
				   "not be, unless they are text",
				   name);
	if (attr < 0)
		return writer_path_fail(w, name, "can not be made");
	return write_elements(w, attr, name, type, elements, v->count);
}

/* The bytes of texts of variable length lie in the heap, where they may be of
 * any size. */
static int make_texts(struct writer *w, hid_t obj, const char *name,
		      const struct array *v)
{
	const struct dtype vlstr = { .class = DT_VLSTR,
				     .size = sizeof(char *),
				     .utf8 = true };
	CLEANUP(arena_freep) struct arena *a = NULL;
	CLEANUP(blob_unrefp) struct blob *texts = NULL;
	int r = arena_new(&a);

	if (r == 0)
		r = texts_as(v->type, v->data->data, v->count, &vlstr, a,
			     &texts);
	return r < 0 ? r : make(w, obj, name, v, &vlstr, texts->data);
}

int writer_set_attr(struct writer *w, const char *path, const char *name,
		    const struct array *v)
{
	htri_t there;
	int r;

	WRITER_GUARD(w);
	CLEANUP(hid_closep) hid_t obj = -1;

	if (!*name)
		return writer_fail(w, -EINVAL, "an attribute needs a name");
	r = writer_object(w, path, &obj);
	if (r < 0)
		return r;
	there = H5Aexists(obj, name);
	if (there < 0)
		return writer_path_fail(w, path, "its attributes");
	if (there) {
		r = set_in_place(w, obj, name, v);
		if (r != DOES_NOT_FIT)
			return r;
		if (H5Adelete(obj, name) < 0)
			return writer_path_fail(w, name, "can not be replaced");
	}
	if (v->type->class == DT_STRING && !v->null &&
	    (v->type->size == 0 || v->count * v->type->size > MESSAGE_BYTES))
		return make_texts(w, obj, name, v);
	return make(w, obj, name, v, v->type, v->null ? NULL : v->data->data);
}

int writer_remove_attr(struct writer *w, const char *path, const char *name)
{
	htri_t there;
	int r;

	WRITER_GUARD(w);
	CLEANUP(hid_closep) hid_t obj = -1;

	r = writer_object(w, path, &obj);
	if (r < 0)
		return r;
	there = H5Aexists(obj, name);
	if (there == 0)
		return writer_fail(w, -ENODATA, "%s has no attribute %s", path,
				   name);
	if (there < 0 || H5Adelete(obj, name) < 0)
		return writer_path_fail(w, name, "can not be removed");
	return 0;
}
