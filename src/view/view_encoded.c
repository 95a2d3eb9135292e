/* SPDX-License-Identifier: MIT */
/* view_encoded.c - an element that is an encoded image: its stored bytes,
 * without the padding behind them. */
#include "view_int.h"

/* One image file beyond this is not read into memory. */
#define ENCODED_MAX ((uint64_t)1 << 30)

/* Where element `index` lies: whole cells, or a row of bytes when a byte is the
 * dataset's element. */
static int locate(const struct view_source *s, uint64_t index,
		  uint64_t *ret_start, uint64_t *ret_count)
{
	const struct dataset_info *info = view_info(s);
	const struct dtype *t = dtype_strip_enum(info->type);
	bool bytes = t->class == DT_UINT || t->class == DT_INT;
	unsigned rank = info->rank;
	int r;

	if (bytes && (!rank || t->size != 1))
		return -EINVAL;
	if (bytes)
		rank--;
	r = view_coords(info->dims, rank, index, ret_start);
	if (r < 0)
		return r;
	for (unsigned k = 0; k < rank; k++)
		ret_count[k] = 1;
	if (bytes) {
		ret_start[rank] = 0;
		ret_count[rank] = info->dims[rank];
	}
	return 0;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

/* Fixed room that holds nothing but NUL is an empty element. */
static int read_fixed(const struct view_source *s, const uint64_t *start,
		      const uint64_t *count, struct blob **ret_blob)
{
	const struct dataset_info *info = view_info(s);
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t n = info->type->size;
	int r;

	for (unsigned k = 0; k < info->rank; k++)
		if (mul_overflow(n, count[k], &n) || n > ENCODED_MAX)
			return -EFBIG;
	r = blob_new(n, &b);
	if (r < 0)
		return r;
	if (n) {
		r = dset_read(s->dset, start, count, NULL, b->data);
		if (r < 0)
			return r;
	}
	if (all_zero(b->data, b->size))
		b->size = 0;
	*ret_blob = TAKE(b);
	return 0;
}

static int read_cell(const struct view_source *s, const uint64_t *start,
		     const uint64_t *count, struct blob **ret_blob)
{
	CLEANUP(array_freep) struct array *a = NULL;
	const struct dt_vlen *v;
	const char *text;
	size_t n;
	int r = dset_read_cells(s->dset, start, count, &a);

	if (r < 0)
		return r;
	if (a->count != 1)
		return -EIO;
	if (a->type->class == DT_VLSTR) {
		dtype_string(a->type, array_at(a, 0), &text, &n);
		return blob_from(text, n, ret_blob);
	}
	if (a->type->class != DT_VLEN || a->type->base->size != 1)
		return -EINVAL;
	v = array_at(a, 0);
	return blob_from(v->p, v->len, ret_blob);
}

/* The element with its padding. */
static int read_element(const struct view_source *s, uint64_t index,
			struct blob **ret_blob)
{
	uint64_t start[DT_MAX_RANK], count[DT_MAX_RANK];
	int r = locate(s, index, start, count);

	if (r < 0)
		return r;
	if (dtype_has_pointers(view_info(s)->type))
		return read_cell(s, start, count, ret_blob);
	return read_fixed(s, start, count, ret_blob);
}

static const char *magic_of(const struct blob *b)
{
	return layout_magic(b->data, b->size < 32 ? b->size : 32, b->size);
}

static uint64_t blocks(const struct view_source *s, uint64_t index)
{
	return 1;
}

static int render(const struct view_source *s, uint64_t index, uint64_t block,
		  struct blob **ret_blob)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	const char *ext;
	int r = read_element(s, index, &b);

	if (r < 0)
		return r;
	ext = magic_of(b);
	if (ext)
		b->size = layout_trim(b->data, b->size, ext);
	*ret_blob = TAKE(b);
	return 0;
}

/* Of a row of bytes only the head is read. */
static int row_ext(const struct view_source *s, const uint64_t *start,
		   uint64_t *count, const char **ret_ext)
{
	unsigned last = view_info(s)->rank - 1;
	uint64_t len = count[last];
	uint8_t head[32];
	const char *ext;
	int r;

	if (count[last] > sizeof(head))
		count[last] = sizeof(head);
	if (len) {
		r = dset_read(s->dset, start, count, NULL, head);
		if (r < 0)
			return r;
	}
	ext = len ? layout_magic(head, count[last], len) : NULL;
	*ret_ext = ext ? ext : "";
	return 0;
}

int view_encoded_ext(const struct view_source *s, uint64_t index,
		     const char **ret_ext)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t start[DT_MAX_RANK], count[DT_MAX_RANK];
	const struct dtype *t = dtype_strip_enum(view_info(s)->type);
	const char *ext;
	int r = locate(s, index, start, count);

	if (r < 0)
		return r;
	if (t->class == DT_UINT || t->class == DT_INT)
		return row_ext(s, start, count, ret_ext);
	r = read_element(s, index, &b);
	if (r < 0)
		return r;
	ext = magic_of(b);
	*ret_ext = ext ? ext : "";
	return 0;
}

static bool accepts(const struct view_source *s)
{
	return s->layout->kind == LAYOUT_ENCODED && !s->layout->nindex;
}

const struct view_ops view_encoded = {
	.name = "encoded",
	.accepts = accepts,
	.blocks = blocks,
	.render = render,
};
