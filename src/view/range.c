/* SPDX-License-Identifier: MIT */
/* range.c - a run of elements or bytes of a selection as a few hyperslab reads,
 * so that a piece of a file costs the elements under it and no more. */
#include "view_int.h"

void slabs_init(struct slabs *s, unsigned rank, const uint64_t *count,
		uint64_t first, uint64_t n)
{
	uint64_t block = 1;

	s->rank = rank;
	s->first = first;
	s->left = n;
	if (!n)
		return;
	for (unsigned k = rank; k-- > 0;) {
		s->count[k] = count[k];
		s->block[k] = block;
		block *= count[k];
	}
}

/* The largest hyperslab that begins at first: all axes behind k whole, those
 * before it fixed. */
bool slabs_next(struct slabs *s, uint64_t *ret_elements)
{
	uint64_t rest = s->first, rows, elements = 1;
	unsigned k = 0;

	if (!s->left)
		return false;
	for (unsigned j = 0; j < s->rank; j++) {
		s->off[j] = rest / s->block[j];
		s->cnt[j] = 1;
		rest %= s->block[j];
	}
	while (k < s->rank && (s->left < s->block[k] || s->first % s->block[k]))
		k++;
	if (k < s->rank) {
		rows = s->left / s->block[k];
		if (rows > s->count[k] - s->off[k])
			rows = s->count[k] - s->off[k];
		s->cnt[k] = rows;
		elements = rows * s->block[k];
		for (unsigned j = k + 1; j < s->rank; j++)
			s->cnt[j] = s->count[j];
	}
	s->first += elements;
	s->left -= elements;
	*ret_elements = elements;
	return true;
}

void slice_all(const struct dataset_info *info, struct slice *ret_slice)
{
	memset(ret_slice, 0, sizeof(*ret_slice));
	ret_slice->rank = info->rank;
	for (unsigned k = 0; k < info->rank; k++) {
		ret_slice->count[k] = info->dims[k];
		ret_slice->step[k] = 1;
	}
}

int slice_bytes(const struct slice *sl, uint32_t element, uint64_t *ret_bytes)
{
	uint64_t bytes = element;

	for (unsigned k = 0; k < sl->rank; k++)
		if (!sl->count[k])
			bytes = 0;
	for (unsigned k = 0; bytes && k < sl->rank; k++)
		if (mul_overflow(bytes, sl->count[k], &bytes))
			return -EFBIG;
	if (bytes > INT64_MAX)
		return -EFBIG;
	*ret_bytes = bytes;
	return 0;
}

static void swap_bytes(uint8_t *a, uint8_t *b, uint64_t n)
{
	uint8_t tmp[256];

	while (n) {
		size_t m = n < sizeof(tmp) ? n : sizeof(tmp);

		memcpy(tmp, a, m);
		memcpy(a, b, m);
		memcpy(b, tmp, m);
		a += m;
		b += m;
		n -= m;
	}
}

/* Turns axis k of a packed buffer of shape cnt[] around. */
static void reverse_axis(uint8_t *buf, const uint64_t *cnt, unsigned rank,
			 unsigned k, uint32_t element)
{
	uint64_t outer = 1, inner = element;

	for (unsigned j = 0; j < k; j++)
		outer *= cnt[j];
	for (unsigned j = k + 1; j < rank; j++)
		inner *= cnt[j];
	for (uint64_t o = 0; o < outer; o++, buf += cnt[k] * inner)
		for (uint64_t i = 0; i < cnt[k] / 2; i++)
			swap_bytes(buf + i * inner,
				   buf + (cnt[k] - 1 - i) * inner, inner);
}

static void slab_start(const struct slice *sl, const struct slabs *s,
		       uint64_t *ret_start)
{
	for (unsigned k = 0; k < sl->rank; k++) {
		uint64_t i = sl->reverse[k]
				     ? sl->count[k] - s->off[k] - s->cnt[k]
				     : s->off[k];

		ret_start[k] = sl->start[k] + i * sl->step[k];
	}
}

static int read_slab(struct dset *d, const struct slice *sl,
		     const struct slabs *s, uint32_t element, uint8_t *buf)
{
	uint64_t start[DT_MAX_RANK];
	bool steps = false;
	int r;

	slab_start(sl, s, start);
	for (unsigned k = 0; k < sl->rank; k++)
		steps |= sl->step[k] != 1 && s->cnt[k] > 1;
	r = dset_read(d, start, s->cnt, steps ? sl->step : NULL, buf);
	if (r < 0)
		return r;
	for (unsigned k = 0; k < sl->rank; k++)
		if (sl->reverse[k] && s->cnt[k] > 1)
			reverse_axis(buf, s->cnt, sl->rank, k, element);
	return 0;
}

/* Whole rows of the dataset, one behind the other? *ret_before: elements before
 * them. */
static bool is_run(const struct dataset_info *info, const struct slice *sl,
		   uint64_t *ret_before)
{
	uint64_t before = sl->rank ? sl->start[0] : 0;

	if (info->count == UINT64_MAX)
		return false;
	for (unsigned k = 0; k < sl->rank; k++) {
		if (sl->reverse[k] || sl->step[k] != 1 ||
		    (k > 0 && sl->count[k] != info->dims[k]))
			return false;
		if (k > 0) /* no more than there are */
			before *= info->dims[k];
	}
	*ret_before = before;
	return true;
}

static int read_elements(struct dset *d, const struct slice *sl, uint64_t first,
			 uint64_t n, uint8_t *buf)
{
	uint32_t size = dset_info(d)->type->size;
	uint64_t elements, before;
	struct slabs s;
	int r = -EOPNOTSUPP;

	if (is_run(dset_info(d), sl, &before))
		r = dset_read_run(d, before + first, n, buf);
	if (r != -EOPNOTSUPP)
		return r;
	slabs_init(&s, sl->rank, sl->count, first, n);
	while (slabs_next(&s, &elements)) {
		r = read_slab(d, sl, &s, size, buf);
		if (r < 0)
			return r;
		buf += elements * size;
	}
	return 0;
}

/* n bytes from byte `from` of one element. Elements may be large (array types):
 * where the store has this one decoded it is not copied for each piece. */
static int read_part(struct dset *d, const struct slice *sl, uint64_t element,
		     size_t from, size_t n, uint8_t *buf)
{
	CLEANUP(span_done) struct span span = { 0 };
	uint64_t start[DT_MAX_RANK], one;
	struct slabs s;
	int r;

	slabs_init(&s, sl->rank, sl->count, element, 1);
	(void)slabs_next(&s, &one);
	slab_start(sl, &s, start);
	r = dset_borrow(d, start, s.cnt, &span);
	if (r < 0)
		return r;
	memcpy(buf, span.base + from, n);
	return 0;
}

int slice_read_bytes(struct dset *d, const struct slice *sl, uint64_t offset,
		     size_t n, uint8_t *buf)
{
	uint32_t size = dset_info(d)->type->size;
	uint64_t bytes;
	int r = slice_bytes(sl, size, &bytes);

	if (r < 0)
		return r;
	if (offset > bytes || n > bytes - offset)
		return -ERANGE;
	while (n) {
		size_t from = offset % size, m = size - from;

		if (from || n < size) {
			m = m < n ? m : n;
			r = read_part(d, sl, offset / size, from, m, buf);
		} else {
			m = n - n % size;
			r = read_elements(d, sl, offset / size, m / size, buf);
		}
		if (r < 0)
			return r;
		offset += m;
		buf += m;
		n -= m;
	}
	return 0;
}

int cells_walk(struct dset *d, uint64_t first, uint64_t n, cells_fn fn,
	       void *arg)
{
	const struct dataset_info *info = dset_info(d);
	uint64_t elements;
	struct slabs s;
	int r;

	slabs_init(&s, info->rank, info->dims, first, n);
	while (slabs_next(&s, &elements)) {
		CLEANUP(array_freep) struct array *a = NULL;

		r = dset_read_cells(d, s.off, s.cnt, &a);
		if (r < 0)
			return r;
		if (a->count != elements)
			return -EIO;
		r = fn(arg, a, first);
		if (r < 0)
			return r;
		first += elements;
	}
	return 0;
}

int view_coords(const uint64_t *dims, unsigned rank, uint64_t index,
		uint64_t *ret_coords)
{
	for (unsigned k = rank; k-- > 0;) {
		if (!dims[k])
			return -ERANGE;
		ret_coords[k] = index % dims[k];
		index /= dims[k];
	}
	return index ? -ERANGE : 0;
}
