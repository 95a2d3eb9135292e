/* SPDX-License-Identifier: MIT */
/* type.c - HDF5 datatypes to dtypes.
 *
 * Types are told apart by class, size, sign and precision, never by identity
 * (rule T5): big-endian, 12-bit and named types must match too. The map says
 * whether stored bytes are, swapped or not, the bytes in memory: then the
 * library need not convert them. */
#include <stdio.h>

#include "store_int.h"

#define MAX_DEPTH 32
#define MAX_MEMBERS 4096

static int from_h5(hid_t t, unsigned depth, struct dtype **ret_type,
		   struct type_map *ret_map);

static uint32_t next_size(size_t n)
{
	return n <= 1 ? 1 : n <= 2 ? 2 : n <= 4 ? 4 : 8;
}

static int from_integer(hid_t t, struct dtype **ret_type, struct type_map *map)
{
	CLEANUP(dtype_freep) struct dtype *d = NULL;
	size_t size = H5Tget_size(t);
	bool bits = H5Tget_class(t) == H5T_BITFIELD;
	int r = dtype_new(bits || H5Tget_sign(t) == H5T_SGN_NONE ? DT_UINT
								 : DT_INT,
			  next_size(size), &d);

	if (r < 0)
		return r;
	d->bitfield = bits;
	d->big_endian = size > 1 && H5Tget_order(t) == H5T_ORDER_BE;
	map->same =
		size == d->size && H5Tget_precision(t) == 8 * size &&
		H5Tget_offset(t) == 0 &&
		(size == 1 || H5Tget_order(t) == H5T_ORDER_LE || d->big_endian);
	map->swap = d->big_endian ? d->size : 0;
	*ret_type = TAKE(d);
	return 0;
}

static const struct float_format {
	uint32_t size;
	size_t sign, epos, esize, mpos, msize, bias;
} float_formats[] = {
	{ 2, 15, 10, 5, 0, 10, 15 },
	{ 4, 31, 23, 8, 0, 23, 127 },
	{ 8, 63, 52, 11, 0, 52, 1023 },
};

static bool is_format(hid_t t, const struct float_format *f)
{
	size_t sign, epos, esize, mpos, msize;

	return H5Tget_size(t) == f->size &&
	       H5Tget_fields(t, &sign, &epos, &esize, &mpos, &msize) >= 0 &&
	       sign == f->sign && epos == f->epos && esize == f->esize &&
	       mpos == f->mpos && msize == f->msize &&
	       H5Tget_ebias(t) == f->bias && H5Tget_offset(t) == 0;
}

static int from_float(hid_t t, struct dtype **ret_type, struct type_map *map)
{
	CLEANUP(dtype_freep) struct dtype *d = NULL;
	size_t sign, epos, esize = 0, mpos, msize = 0;
	H5T_order_t order = H5Tget_order(t);
	uint32_t size = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(float_formats); i++)
		if (is_format(t, &float_formats[i]))
			size = float_formats[i].size;
	map->same = size && (order == H5T_ORDER_LE || order == H5T_ORDER_BE);
	if (!size) { /* bfloat16, 80-bit ...: by conversion */
		if (H5Tget_fields(t, &sign, &epos, &esize, &mpos, &msize) < 0)
			return -EIO;
		size = esize <= 8 && msize <= 23    ? 4
		       : esize <= 11 && msize <= 52 ? 8
						    : 16;
	}
	r = dtype_new(DT_FLOAT, size, &d);
	if (r < 0)
		return r;
	d->big_endian = order == H5T_ORDER_BE;
	map->swap = d->big_endian ? size : 0;
	*ret_type = TAKE(d);
	return 0;
}

static int from_string(hid_t t, struct dtype **ret_type, struct type_map *map)
{
	htri_t vlen = H5Tis_variable_str(t);
	H5T_str_t pad = H5Tget_strpad(t);
	size_t size = H5Tget_size(t);
	int r;

	if (vlen < 0 || size > UINT32_MAX)
		return -EIO;
	r = dtype_new(vlen ? DT_VLSTR : DT_STRING,
		      vlen ? (uint32_t)sizeof(char *) : (uint32_t)size,
		      ret_type);
	if (r < 0)
		return r;
	(*ret_type)->pad = pad == H5T_STR_SPACEPAD  ? PAD_SPACE
			   : pad == H5T_STR_NULLPAD ? PAD_NULLPAD
						    : PAD_NULLTERM;
	(*ret_type)->utf8 = H5Tget_cset(t) == H5T_CSET_UTF8;
	map->same = !vlen;
	return 0;
}

static int from_opaque(hid_t t, bool unsupported, struct dtype **ret_type,
		       struct type_map *map)
{
	size_t size = H5Tget_size(t);
	char *tag;
	int r;

	if (size == 0 || size > UINT32_MAX)
		return -EIO;
	r = dtype_new(DT_OPAQUE, (uint32_t)size, ret_type);
	if (r < 0)
		return r;
	(*ret_type)->unsupported = unsupported;
	tag = unsupported ? NULL : H5Tget_tag(t);
	if (tag) {
		(*ret_type)->tag = strdup(tag);
		H5free_memory(tag);
	}
	map->same = !unsupported;
	return 0;
}

/* {r,i} or {real,imag} of one float type of 4 bytes or more. */
static bool is_complex(const struct dtype *d)
{
	static const char *const names[][2] = { { "r", "i" },
						{ "real", "imag" } };

	if (d->nmembers != 2 || d->members[0].type->class != DT_FLOAT ||
	    d->members[1].type->class != DT_FLOAT ||
	    d->members[0].type->size != d->members[1].type->size ||
	    d->members[0].type->size < 4 || d->members[0].type->size > 8)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(d->members[0].name, names[i][0]) &&
		    !strcmp(d->members[1].name, names[i][1]))
			return true;
	return false;
}

static int to_complex(struct dtype *d, const struct type_map *part,
		      struct type_map *map, struct dtype **ret_type)
{
	CLEANUP(dtype_freep) struct dtype *c = NULL;
	uint32_t half = d->members[0].type->size;
	int r = dtype_new(DT_COMPLEX, half * 2, &c);

	if (r < 0)
		return r;
	map->same = map->same && d->size == 2 * half &&
		    d->members[0].offset == 0 && d->members[1].offset == half;
	map->swap = map->same ? part->swap : 0;
	c->big_endian = d->members[0].type->big_endian;
	if (!strcmp(d->members[0].name, "real") && !(c->tag = strdup("real")))
		return -ENOMEM;
	c->base = TAKE(d->members[0].type);
	*ret_type = TAKE(c);
	return 0;
}

/* Members keep the file's offsets where each has the size it has in the file and
 * none overlap; otherwise they are packed. */
static int set_offsets(struct dtype *d, const size_t *file_size, bool *ret_kept)
{
	uint64_t at = 0;
	bool keep = true;

	for (unsigned i = 0; i < d->nmembers; i++) {
		struct dtype_member *m = &d->members[i];

		if (m->offset < at || m->type->size != file_size[i])
			keep = false;
		at = (uint64_t)m->offset + m->type->size;
	}
	if (at > d->size)
		keep = false;
	*ret_kept = keep;
	if (keep)
		return 0;
	at = 0;
	for (unsigned i = 0; i < d->nmembers; i++) {
		d->members[i].offset = (uint32_t)at;
		at += d->members[i].type->size;
		if (at > UINT32_MAX)
			return -EOVERFLOW;
	}
	d->size = (uint32_t)at;
	return 0;
}

static int from_compound(hid_t t, unsigned depth, struct dtype **ret_type,
			 struct type_map *map)
{
	CLEANUP(dtype_freep) struct dtype *d = NULL;
	CLEANUP(freep) size_t *sizes = NULL;
	int n = H5Tget_nmembers(t);
	size_t size = H5Tget_size(t);
	struct type_map part = { 0 };
	bool kept;
	int r;

	if (n < 1 || n > MAX_MEMBERS || size > UINT32_MAX)
		return -EIO;
	r = dtype_new(DT_COMPOUND, (uint32_t)size, &d);
	if (r < 0)
		return r;
	d->members = calloc((size_t)n, sizeof(*d->members));
	sizes = calloc((size_t)n, sizeof(*sizes));
	if (!d->members || !sizes)
		return -ENOMEM;
	map->same = true;
	bool swapped = false;
	for (unsigned i = 0; i < (unsigned)n; i++) {
		CLEANUP(hid_closep) hid_t m = H5Tget_member_type(t, i);
		char *name = H5Tget_member_name(t, i);

		d->nmembers = i + 1;
		d->members[i].name = name ? strdup(name) : NULL;
		H5free_memory(name);
		if (m < 0 || !d->members[i].name)
			return -EIO;
		memset(&part, 0, sizeof(part));
		r = from_h5(m, depth + 1, &d->members[i].type, &part);
		if (r < 0)
			return r;
		d->members[i].offset = (uint32_t)H5Tget_member_offset(t, i);
		sizes[i] = H5Tget_size(m);
		/* the library converts what a damaged file says */
		if (sizes[i] > size ||
		    H5Tget_member_offset(t, i) > size - sizes[i])
			return -EIO;
		map->same = map->same && part.same;
		swapped = swapped || part.swap;
	}
	if (is_complex(d))
		return to_complex(d, &part, map, ret_type);
	r = set_offsets(d, sizes, &kept);
	if (r < 0)
		return r;
	map->same = map->same && kept && !swapped;
	map->swap = 0;
	*ret_type = TAKE(d);
	return 0;
}

static bool is_bool(const struct dtype *e)
{
	bool f = false, t = false;

	if (e->nmembers != 2)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		f = f || (!strcmp(e->members[i].name, "FALSE") &&
			  e->members[i].value == 0);
		t = t || (!strcmp(e->members[i].name, "TRUE") &&
			  e->members[i].value == 1);
	}
	return f && t;
}

/* Value of a member: read in the enum's own byte order and sign. */
static int enum_value(hid_t t, hid_t base, const struct dtype *b, unsigned i,
		      uint64_t *ret_value)
{
	uint8_t raw[64] = { 0 };
	CLEANUP(hid_closep) hid_t mem = -1;

	if (H5Tget_size(base) > 32 || H5Tget_member_value(t, i, raw) < 0)
		return -EIO;
	mem = H5Tcopy(b->class == DT_INT ? H5T_NATIVE_INT64
					 : H5T_NATIVE_UINT64);
	if (mem < 0 || H5Tconvert(base, mem, 1, raw, NULL, H5P_DEFAULT) < 0)
		return -EIO;
	memcpy(ret_value, raw, sizeof(*ret_value));
	return 0;
}

static int from_enum(hid_t t, unsigned depth, struct dtype **ret_type,
		     struct type_map *map)
{
	CLEANUP(dtype_freep) struct dtype *d = NULL;
	CLEANUP(hid_closep) hid_t base = H5Tget_super(t);
	int n = H5Tget_nmembers(t);
	int r;

	/* a value is of the enum's size: it must be the base's */
	if (base < 0 || n < 0 || n > 1 << 20 ||
	    H5Tget_size(t) != H5Tget_size(base))
		return -EIO;
	r = dtype_new(DT_ENUM, 1, &d);
	if (r < 0)
		return r;
	r = from_h5(base, depth + 1, &d->base, map);
	if (r < 0)
		return r;
	d->size = d->base->size;
	d->big_endian = d->base->big_endian;
	d->members = calloc((size_t)n + 1, sizeof(*d->members));
	if (!d->members)
		return -ENOMEM;
	for (unsigned i = 0; i < (unsigned)n; i++) {
		char *name = H5Tget_member_name(t, i);

		d->nmembers = i + 1;
		d->members[i].name = name ? strdup(name) : NULL;
		H5free_memory(name);
		if (!d->members[i].name)
			return -EIO;
		r = enum_value(t, base, d->base, i, &d->members[i].value);
		if (r < 0)
			return r;
	}
	if (is_bool(d)) {
		bool one = H5Tget_size(t) == 1;

		dtype_free(d);
		d = NULL;
		map->same = map->same && one;
		map->swap = 0;
		return dtype_new(DT_BOOL, 1, ret_type);
	}
	*ret_type = TAKE(d);
	return 0;
}

static int from_array(hid_t t, unsigned depth, struct dtype **ret_type,
		      struct type_map *map)
{
	CLEANUP(dtype_freep) struct dtype *d = NULL;
	CLEANUP(hid_closep) hid_t base = H5Tget_super(t);
	hsize_t dims[H5S_MAX_RANK];
	int rank = H5Tget_array_ndims(t);
	uint64_t size;
	int r;

	if (base < 0 || rank < 1 || rank > DT_MAX_RANK ||
	    H5Tget_array_dims2(t, dims) < 0)
		return -EIO;
	r = dtype_new(DT_ARRAY, 1, &d);
	if (r < 0)
		return r;
	r = from_h5(base, depth + 1, &d->base, map);
	if (r < 0)
		return r;
	size = d->base->size;
	d->rank = (unsigned)rank;
	for (int i = 0; i < rank; i++) {
		d->dims[i] = dims[i];
		if (mul_overflow(size, dims[i], &size))
			return -EOVERFLOW;
	}
	if (size > UINT32_MAX)
		return -EOVERFLOW;
	d->size = (uint32_t)size;
	*ret_type = TAKE(d);
	return 0;
}

static int from_vlen(hid_t t, unsigned depth, struct dtype **ret_type,
		     struct type_map *map)
{
	CLEANUP(dtype_freep) struct dtype *d = NULL;
	CLEANUP(hid_closep) hid_t base = H5Tget_super(t);
	struct type_map ignored = { 0 };
	int r;

	if (base < 0)
		return -EIO;
	r = dtype_new(DT_VLEN, sizeof(struct dt_vlen), &d);
	if (r < 0)
		return r;
	r = from_h5(base, depth + 1, &d->base, &ignored);
	if (r < 0)
		return r;
	map->same = false;
	*ret_type = TAKE(d);
	return 0;
}

static int from_reference(hid_t t, struct dtype **ret_type,
			  struct type_map *map)
{
	map->same = false;
	if (H5Tequal(t, H5T_STD_REF_OBJ) > 0)
		return dtype_new(DT_REF, sizeof(hobj_ref_t), ret_type);
	if (H5Tequal(t, H5T_STD_REF_DSETREG) > 0)
		return dtype_new(DT_REGREF, sizeof(hdset_reg_ref_t), ret_type);
	return from_opaque(t, true, ret_type, map);
}

/* The library converts as many bits as a damaged file says, wherever they are. */
static bool bits_fit(hid_t t)
{
	size_t sign = 0, epos = 0, esize = 0, mpos = 0, msize = 0;
	size_t bits = 8 * H5Tget_size(t), precision = H5Tget_precision(t);
	int offset = H5Tget_offset(t);

	if (H5Tget_class(t) == H5T_FLOAT &&
	    (H5Tget_fields(t, &sign, &epos, &esize, &mpos, &msize) < 0 ||
	     sign >= bits || esize > bits || epos > bits - esize ||
	     msize > bits || mpos > bits - msize))
		return false;
	return offset >= 0 && precision > 0 && precision <= bits &&
	       (size_t)offset <= bits - precision;
}

static int from_h5(hid_t t, unsigned depth, struct dtype **ret_type,
		   struct type_map *map)
{
	memset(map, 0, sizeof(*map));
	if (depth > MAX_DEPTH)
		return -ELOOP;
	switch (H5Tget_class(t)) {
	case H5T_INTEGER:
	case H5T_BITFIELD:
		if (H5Tget_size(t) > 8 || !bits_fit(t))
			return from_opaque(t, true, ret_type, map);
		return from_integer(t, ret_type, map);
	case H5T_FLOAT:
		if (!bits_fit(t))
			return from_opaque(t, true, ret_type, map);
		return from_float(t, ret_type, map);
	case H5T_STRING:
		return from_string(t, ret_type, map);
	case H5T_OPAQUE:
		return from_opaque(t, false, ret_type, map);
	case H5T_COMPOUND:
		return from_compound(t, depth, ret_type, map);
	case H5T_ENUM:
		return from_enum(t, depth, ret_type, map);
	case H5T_ARRAY:
		return from_array(t, depth, ret_type, map);
	case H5T_VLEN:
		return from_vlen(t, depth, ret_type, map);
	case H5T_REFERENCE:
		return from_reference(t, ret_type, map);
	default: /* H5T_TIME, and classes of later libraries */
		return from_opaque(t, true, ret_type, map);
	}
}

int type_from_h5(hid_t t, struct dtype **ret_type, struct type_map *ret_map)
{
	return from_h5(t, 0, ret_type, ret_map);
}
