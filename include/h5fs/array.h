/* SPDX-License-Identifier: MIT */
/* array.h - element types and arrays: the one shape in which values cross
 * from store to image, view and ns.
 *
 * A dtype says how an element lies in memory: numbers little-endian, compounds
 * with the offsets given here, and three kinds that point:
 *   DT_VLSTR   char *              (NULL is the empty string)
 *   DT_VLEN    struct dt_vlen      (elements of type base)
 *   DT_REF, DT_REGREF  char *      (path of the target; NULL for a null or
 *                                   dangling one), padded to size
 * What they point to lives as long as the array. */
#ifndef H5FS_ARRAY_H
#define H5FS_ARRAY_H

#include "h5fs/base.h"

#define DT_MAX_RANK 32

enum dtype_class {
	DT_UINT,     /* size 1, 2, 4, 8; HDF5 bitfields too */
	DT_INT,	     /* size 1, 2, 4, 8 */
	DT_FLOAT,    /* IEEE, size 2, 4, 8; 16: x87 long double as numpy's f16 */
	DT_BOOL,     /* one byte 0/1: enum {FALSE,TRUE}, MATLAB logical is not */
	DT_COMPLEX,  /* two floats, size 4, 8, 16 */
	DT_ENUM,     /* an integer (base) with names */
	DT_STRING,   /* fixed size bytes */
	DT_VLSTR,
	DT_OPAQUE,
	DT_COMPOUND,
	DT_ARRAY,    /* rank dims[] of base */
	DT_VLEN,
	DT_REF,
	DT_REGREF,
};
enum dtype_pad { PAD_NULLTERM, PAD_NULLPAD, PAD_SPACE };

struct dtype;
struct dtype_member {
	char *name;
	uint64_t value;	     /* enum: the value's bits, sign-extended */
	uint32_t offset;     /* compound */
	struct dtype *type;  /* compound */
};
struct dtype {
	enum dtype_class class;
	uint32_t size; /* bytes of one element in memory */
	enum dtype_pad pad; /* strings */
	bool utf8;	    /* strings: declared UTF-8 */
	bool big_endian;    /* as stored in the file; only told to people */
	bool bitfield;	    /* DT_UINT: an HDF5 bitfield */
	bool unsupported;   /* DT_OPAQUE: a type that can not be read */
	struct dtype *base; /* ENUM, ARRAY, VLEN, COMPLEX */
	unsigned rank;	    /* ARRAY */
	uint64_t dims[DT_MAX_RANK];
	unsigned nmembers; /* COMPOUND, ENUM */
	struct dtype_member *members;
	char *tag; /* OPAQUE; may be NULL */
};
struct dt_vlen {
	size_t len;
	const void *p;
};
int dtype_new(enum dtype_class class, uint32_t size, struct dtype **ret_type);
void dtype_free(struct dtype *t); /* with all below it */
DEFINE_CLEANUP(struct dtype *, dtype_free)
/* Does an element hold or point to a VLSTR, VLEN, REF or REGREF? */
bool dtype_has_pointers(const struct dtype *t);
bool dtype_is_number(const struct dtype *t); /* UINT INT FLOAT BOOL ENUM */
/* Has NumPy's format a dtype for it: numbers, bool, complex, fixed strings,
 * opaque is not; compounds and arrays of those. */
bool dtype_is_plain(const struct dtype *t);
/* UINT, INT, FLOAT, BOOL after looking through ENUM; others as they are. */
const struct dtype *dtype_strip_enum(const struct dtype *t);

/* One number of a DT_UINT/INT/FLOAT/BOOL/ENUM type as a double; exact up to
 * 2^53. */
double dtype_to_double(const struct dtype *t, const void *element);
int64_t dtype_to_int64(const struct dtype *t, const void *element);
uint64_t dtype_to_uint64(const struct dtype *t, const void *element);
/* Bytes of a string element without its padding. DT_STRING, DT_VLSTR. */
void dtype_string(const struct dtype *t, const void *element,
		  const char **ret_text, size_t *ret_len);

struct array {
	const struct dtype *type; /* own_type, or the dset's it was read from,
				   * which must outlive it */
	bool null;		  /* null dataspace: no elements, no shape */
	unsigned rank;		  /* 0: one element */
	uint64_t dims[DT_MAX_RANK];
	uint64_t count; /* product of dims */
	struct blob *data;
	struct arena *arena; /* what elements point to */
	struct dtype *own_type; /* NULL: borrowed */
};
void array_free(struct array *a);
DEFINE_CLEANUP(struct array *, array_free)
static inline const void *array_at(const struct array *a, uint64_t i)
{
	return a->data->data + i * a->type->size;
}

/* A borrowed hyperslab: element (i0,i1,..) of what was asked for lies at
 * base + sum(i[k] * stride[k]). Strides may be 0 (a fill value). */
struct span {
	const uint8_t *base;
	int64_t stride[DT_MAX_RANK]; /* bytes, an axis of the dataset each */
	struct blob *owner;	     /* keeps base alive; release with span_done */
};
static inline void span_done(struct span *s)
{
	blob_unref(s->owner);
	s->owner = NULL;
}

#endif
