/* SPDX-License-Identifier: MIT */
/* run.c - elements that follow each other in C order, where they do so in storage
 * too: a piece of a file is read at once, not a hyperslab for each axis. */
#include "store_int.h"

/* The axis along which a chunk holds rows: it holds all of the axes behind, and
 * one index of those before. DT_MAX_RANK: its elements do not lie in a run. */
static unsigned row_axis(const struct dset *d)
{
	const struct dataset_info *in = &d->info;
	unsigned axis = in->rank;

	while (axis-- > 0)
		if (in->chunk[axis] != in->dims[axis])
			break;
	if (axis == UINT32_MAX)
		return 0;
	for (unsigned i = 0; i < axis; i++)
		if (in->chunk[i] != 1)
			return DT_MAX_RANK;
	return axis;
}

/* Where element e lies: its chunk, the byte in it, and how many elements from
 * there on are in the same chunk. row: elements in one index of axis. */
static uint64_t find(const struct dset *d, unsigned axis, uint64_t row,
		     uint64_t e, uint64_t *scaled, uint64_t *ret_from)
{
	uint64_t in_row = e % row, rest = e / row, at, left;

	memset(scaled, 0, DT_MAX_RANK * sizeof(*scaled));
	at = rest % d->info.dims[axis];
	rest /= d->info.dims[axis];
	for (unsigned i = axis; i-- > 0;) {
		scaled[i] = rest % d->info.dims[i];
		rest /= d->info.dims[i];
	}
	scaled[axis] = at / d->info.chunk[axis];
	left = d->info.dims[axis] - at;
	at %= d->info.chunk[axis];
	if (left > d->info.chunk[axis] - at)
		left = d->info.chunk[axis] - at;
	*ret_from = (at * row + in_row) * d->type->size;
	return left * row - in_row;
}

static int read_chunks(struct dset *d, unsigned axis, uint64_t first,
		       uint64_t n, uint8_t *buf)
{
	uint64_t row = 1, size = d->type->size;

	for (unsigned i = axis + 1; i < d->info.rank; i++)
		row *= d->info.dims[i];
	while (n) {
		CLEANUP(blob_unrefp) struct blob *chunk = NULL;
		uint64_t scaled[DT_MAX_RANK], from;
		uint64_t k = find(d, axis, row, first, scaled, &from);
		const uint8_t *src;
		int r;

		k = k < n ? k : n;
		r = part_get(d, scaled, from, from + k * size, &chunk, &src);
		if (r < 0)
			return r;
		if (chunk)
			memcpy(buf, src, k * size);
		else
			dset_fill(d, k, buf);
		buf += k * size;
		first += k;
		n -= k;
	}
	return 0;
}

int dset_read_run(struct dset *d, uint64_t first, uint64_t n, void *buf)
{
	uint64_t end;
	unsigned axis;

	if (dtype_has_pointers(d->type))
		return -EINVAL;
	if (add_overflow(first, n, &end) || end > d->info.count ||
	    d->info.count == UINT64_MAX || n > INT64_MAX / d->type->size)
		return -ERANGE;
	if (n == 0)
		return 0;
	if (d->info.storage == STORAGE_CHUNKED && !d->piecewise) {
		axis = row_axis(d);
		return axis == DT_MAX_RANK
			       ? -EOPNOTSUPP
			       : read_chunks(d, axis, first, n, buf);
	}
	return d->info.direct ? dset_read_contiguous(d, first, n, buf)
			      : -EOPNOTSUPP;
}
