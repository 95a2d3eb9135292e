/* SPDX-License-Identifier: MIT */
/* mem_type.c - dtypes to the library's memory types. */
#include <stdio.h>

#include "store_int.h"

static hid_t half_to_h5(void)
{
	hid_t t = H5Tcopy(H5T_IEEE_F32LE);

	if (t < 0 || H5Tset_fields(t, 15, 10, 5, 0, 10) < 0 ||
	    H5Tset_size(t, 2) < 0 || H5Tset_ebias(t, 15) < 0) {
		hid_closep(&t);
		return -1;
	}
	return t;
}

static hid_t number_to_h5(const struct dtype *t)
{
	if (t->class == DT_FLOAT)
		return t->size == 2
			       ? half_to_h5()
			       : H5Tcopy(t->size == 4	? H5T_IEEE_F32LE
					 : t->size == 8 ? H5T_IEEE_F64LE
							: H5T_NATIVE_LDOUBLE);
	if (t->bitfield)
		return H5Tcopy(t->size == 1   ? H5T_STD_B8LE
			       : t->size == 2 ? H5T_STD_B16LE
			       : t->size == 4 ? H5T_STD_B32LE
					      : H5T_STD_B64LE);
	if (t->class == DT_UINT)
		return H5Tcopy(t->size == 1   ? H5T_STD_U8LE
			       : t->size == 2 ? H5T_STD_U16LE
			       : t->size == 4 ? H5T_STD_U32LE
					      : H5T_STD_U64LE);
	return H5Tcopy(t->size == 1   ? H5T_STD_I8LE
		       : t->size == 2 ? H5T_STD_I16LE
		       : t->size == 4 ? H5T_STD_I32LE
				      : H5T_STD_I64LE);
}

static hid_t string_to_h5(const struct dtype *t)
{
	hid_t h = H5Tcopy(H5T_C_S1);

	if (h < 0 ||
	    H5Tset_size(h, t->class == DT_VLSTR ? H5T_VARIABLE : t->size) < 0 ||
	    H5Tset_strpad(h, t->pad == PAD_SPACE     ? H5T_STR_SPACEPAD
			     : t->pad == PAD_NULLPAD ? H5T_STR_NULLPAD
						     : H5T_STR_NULLTERM) < 0 ||
	    H5Tset_cset(h, t->utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII) < 0) {
		hid_closep(&h);
		return -1;
	}
	return h;
}

static hid_t to_h5(const struct dtype *t, bool named);

static hid_t compound_to_h5(const struct dtype *t, bool named)
{
	CLEANUP(hid_closep) hid_t h = H5Tcreate(H5T_COMPOUND, t->size);
	hid_t r;

	for (unsigned i = 0; h >= 0 && i < t->nmembers; i++) {
		CLEANUP(hid_closep) hid_t m = to_h5(t->members[i].type, named);

		if (m < 0 || H5Tinsert(h, t->members[i].name,
				       t->members[i].offset, m) < 0)
			return -1;
	}
	r = h;
	h = -1;
	return r;
}

/* The library matches members by name: which of the two spellings the file has
 * is kept in the tag. */
static hid_t complex_to_h5(const struct dtype *t)
{
	CLEANUP(hid_closep) hid_t part = to_h5(t->base, false);
	CLEANUP(hid_closep) hid_t h = H5Tcreate(H5T_COMPOUND, t->size);
	const char *re = t->tag ? "real" : "r", *im = t->tag ? "imag" : "i";
	hid_t r;

	if (part < 0 || h < 0 || H5Tinsert(h, re, 0, part) < 0 ||
	    H5Tinsert(h, im, t->size / 2, part) < 0)
		return -1;
	r = h;
	h = -1;
	return r;
}

/* Members' values are given in the bytes of the base. */
static hid_t enum_to_h5(const struct dtype *t)
{
	CLEANUP(hid_closep) hid_t base = to_h5(t->base, false);
	CLEANUP(hid_closep) hid_t h = base < 0 ? -1 : H5Tenum_create(base);
	hid_t r;

	for (unsigned i = 0; h >= 0 && i < t->nmembers; i++)
		if (H5Tenum_insert(h, t->members[i].name,
				   &t->members[i].value) < 0)
			return -1;
	r = h;
	h = -1;
	return r;
}

/* As h5py stores it. */
static hid_t bool_to_h5(void)
{
	static const int8_t no = 0, yes = 1;
	CLEANUP(hid_closep) hid_t h = H5Tenum_create(H5T_STD_I8LE);
	hid_t r;

	if (h < 0 || H5Tenum_insert(h, "FALSE", &no) < 0 ||
	    H5Tenum_insert(h, "TRUE", &yes) < 0)
		return -1;
	r = h;
	h = -1;
	return r;
}

static hid_t to_h5(const struct dtype *t, bool named)
{
	hsize_t dims[DT_MAX_RANK];

	switch (t->class) {
	case DT_UINT:
	case DT_INT:
	case DT_FLOAT:
		return number_to_h5(t);
	case DT_BOOL:
		return named ? bool_to_h5() : H5Tcopy(H5T_STD_I8LE);
	case DT_ENUM:
		return named ? enum_to_h5(t) : to_h5(t->base, false);
	case DT_COMPLEX:
		return complex_to_h5(t);
	case DT_STRING:
	case DT_VLSTR:
		return string_to_h5(t);
	case DT_COMPOUND:
		return compound_to_h5(t, named);
	case DT_REF:
		return H5Tcopy(H5T_STD_REF_OBJ);
	case DT_REGREF:
		return H5Tcopy(H5T_STD_REF_DSETREG);
	case DT_OPAQUE: {
		hid_t h = t->unsupported ? -1 : H5Tcreate(H5T_OPAQUE, t->size);

		if (h >= 0 && t->tag)
			(void)H5Tset_tag(h, t->tag);
		return h;
	}
	case DT_ARRAY:
	case DT_VLEN: {
		CLEANUP(hid_closep) hid_t base = to_h5(t->base, named);

		if (base < 0)
			return -1;
		if (t->class == DT_VLEN)
			return H5Tvlen_create(base);
		for (unsigned i = 0; i < t->rank; i++)
			dims[i] = t->dims[i];
		return H5Tarray_create2(base, t->rank, dims);
	}
	}
	return -1;
}

hid_t type_to_h5(const struct dtype *t)
{
	return to_h5(t, false);
}

hid_t type_to_h5_named(const struct dtype *t)
{
	return to_h5(t, true);
}
