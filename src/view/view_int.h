/* SPDX-License-Identifier: MIT */
/* view_int.h - shared by the view layer's files alone. */
#ifndef H5FS_VIEW_INT_H
#define H5FS_VIEW_INT_H

#include "h5fs/view.h"

/* Elements of fixed size are read at most this many bytes at a time. */
#define VIEW_BLOCK_BYTES (1u << 20)
/* Files that must be measured hold at most so many elements, none larger. */
#define VIEW_MAX_MEASURED ((uint64_t)1 << 32)
#define VIEW_MAX_ELEMENT (64u << 20)

/* ---- range.c: elements and bytes of a selection, in C order ---- */
/* A run of elements of an array of shape count[] as few hyperslabs. The product
 * of count[] must fit, and the run must lie inside. */
struct slabs {
	unsigned rank;
	uint64_t count[DT_MAX_RANK], block[DT_MAX_RANK];
	uint64_t first, left;
	uint64_t off[DT_MAX_RANK], cnt[DT_MAX_RANK]; /* the current one */
};
void slabs_init(struct slabs *s, unsigned rank, const uint64_t *count,
		uint64_t first, uint64_t n);
bool slabs_next(struct slabs *s, uint64_t *ret_elements);

void slice_all(const struct dataset_info *info, struct slice *ret_slice);
/* -EFBIG: more than 2^63 bytes. */
int slice_bytes(const struct slice *sl, uint32_t element, uint64_t *ret_bytes);
/* Bytes [offset, offset+n) of the selected elements, packed. */
int slice_read_bytes(struct dset *d, const struct slice *sl, uint64_t offset,
		     size_t n, uint8_t *buf);
/* Calls fn for elements [first, first+n) of the dataset in order, with arrays
 * that hold as many of them as one hyperslab does. */
typedef int (*cells_fn)(void *arg, const struct array *a, uint64_t first);
int cells_walk(struct dset *d, uint64_t first, uint64_t n, cells_fn fn,
	       void *arg);
/* Index of an element (row-major over the first `rank` axes) to coordinates. */
int view_coords(const uint64_t *dims, unsigned rank, uint64_t index,
		uint64_t *ret_coords);

/* ---- view.c: what a source is ---- */
static inline const struct dataset_info *view_info(const struct view_source *s)
{
	return dset_info(s->dset);
}
/* Shape with the dims of array types appended (T2) and the type of what it is
 * made of. -E2BIG: more axes than there may be. */
struct view_shape {
	unsigned rank;
	uint64_t dims[DT_MAX_RANK];
	const struct dtype *type;
};
int view_shape(const struct dataset_info *info, struct view_shape *ret_shape);
/* Neither pictures nor encoded, and with elements to show. */
bool view_is_other(const struct view_source *s);
/* Such, and of a size that a measured file may have. */
bool view_is_measurable(const struct view_source *s);
bool view_is_string(const struct dtype *t);
/* Elements a block of a measured file. */
uint64_t view_block_elements(const struct dtype *t, uint64_t most);
uint64_t view_block_count(uint64_t elements, uint64_t block);
/* A scalar string: its exact bytes. */
int view_scalar_string(const struct view_source *s, struct strbuf *out);
/* Does it parse as a JSON object or array? */
bool view_scalar_is_json(const struct view_source *s);

/* ---- view_npy.c ---- */
bool npy_holds(const struct dtype *t);

/* ---- format.c ---- */
#define NUMBER_MAX 80
/* Decimal of a UINT INT FLOAT BOOL ENUM COMPLEX element, the shortest that
 * reads back the same; bool is 0 or 1, complex (re+imj). Returns its length. */
size_t number_text(const struct dtype *t, const void *element,
		   char buf[static NUMBER_MAX]);
size_t double_text(double v, char buf[static NUMBER_MAX]);
/* No text of the type is longer. 0: not a number. */
unsigned number_width(const struct dtype *t);
bool number_is_finite(const struct dtype *t, const void *element);
/* Name of an enum's value, or NULL. */
const char *enum_name(const struct dtype *t, const void *element);
/* Text as it is, a newline as the two characters \n. */
void put_one_line(struct strbuf *out, const char *text, size_t n);
/* Length of the valid UTF-8 sequence at s, or 0. */
size_t utf8_length(const char *s, size_t n);
void put_utf8(struct strbuf *out, uint32_t code);

/* ---- dtype_text.c ---- */
/* NumPy's descr of a type that npy_holds(), little-endian, as Python source. */
void npy_descr(const struct dtype *t, struct strbuf *out);

#endif
