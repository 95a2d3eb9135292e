/* SPDX-License-Identifier: MIT */
/* read.c - hyperslabs of elements, put together from chunks, from contiguous
 * bytes, or by the library. */
#include <byteswap.h>
#include <stdio.h>

#include "store_int.h"

/* How much of a strided innermost axis is read at once. */
#define GATHER_BYTES (1u << 20)

void swap_units(void *buf, size_t bytes, unsigned unit)
{
	if (unit == 2) {
		uint16_t *p = buf;

		for (size_t i = 0; i < bytes / 2; i++)
			p[i] = bswap_16(p[i]);
	} else if (unit == 4) {
		uint32_t *p = buf;

		for (size_t i = 0; i < bytes / 4; i++)
			p[i] = bswap_32(p[i]);
	} else if (unit == 8) {
		uint64_t *p = buf;

		for (size_t i = 0; i < bytes / 8; i++)
			p[i] = bswap_64(p[i]);
	}
}

static void copy_box(const struct box *b, unsigned axis, const uint8_t *src,
		     uint8_t *dst)
{
	if (axis == b->rank) {
		memcpy(dst, src, b->size);
		return;
	}
	if (axis == b->rank - 1 && b->src[axis] == b->size &&
	    b->dst[axis] == b->size) {
		memcpy(dst, src, b->count[axis] * b->size);
		return;
	}
	for (uint64_t i = 0; i < b->count[axis]; i++) {
		copy_box(b, axis + 1, src, dst);
		src += b->src[axis];
		dst += b->dst[axis];
	}
}

static void clear_box(const struct box *b, unsigned axis, uint8_t *dst)
{
	if (axis == b->rank) {
		memset(dst, 0, b->size);
		return;
	}
	for (uint64_t i = 0; i < b->count[axis]; i++)
		clear_box(b, axis + 1, dst + (int64_t)i * b->dst[axis]);
}

void merge_box(struct box *b)
{
	while (b->rank > 1) {
		unsigned in = b->rank - 1, out = in - 1;

		if (b->src[in] != (int64_t)b->size ||
		    b->dst[in] != (int64_t)b->size ||
		    b->src[out] != (int64_t)(b->count[in] * b->size) ||
		    b->dst[out] != (int64_t)(b->count[in] * b->size))
			return;
		b->count[out] *= b->count[in];
		b->src[out] = b->dst[out] = b->size;
		b->rank--;
	}
}

/* ---- a selection, checked ---- */
struct selection {
	uint64_t start[DT_MAX_RANK], count[DT_MAX_RANK], step[DT_MAX_RANK];
	uint64_t total;		     /* elements */
	int64_t stride[DT_MAX_RANK]; /* of the packed result */
};

static int check_selection(const struct dset *d, const uint64_t *start,
			   const uint64_t *count, const uint64_t *step,
			   struct selection *sel)
{
	uint64_t bytes;

	sel->total = d->info.null ? 0 : 1;
	for (unsigned i = 0; i < d->info.rank; i++) {
		uint64_t last;

		sel->start[i] = start[i];
		sel->count[i] = count[i];
		sel->step[i] = step ? step[i] : 1;
		if (mul_overflow(sel->total, count[i], &sel->total))
			return -EOVERFLOW;
		if (count[i] == 0)
			continue;
		if (count[i] == 1 && sel->step[i]) /* whatever it was */
			sel->step[i] = 1;
		if (sel->step[i] == 0 ||
		    mul_overflow(count[i] - 1, sel->step[i], &last) ||
		    add_overflow(last, start[i], &last) ||
		    last >= d->info.dims[i])
			return -ERANGE;
	}
	if (mul_overflow(sel->total, d->type->size, &bytes) ||
	    bytes > INT64_MAX)
		return -EOVERFLOW;
	bytes = d->type->size;
	for (unsigned i = d->info.rank; i-- > 0;) {
		sel->stride[i] = (int64_t)bytes;
		bytes *= count[i];
	}
	return 0;
}

/* ---- chunked ---- */

/* How many of the selected indices from the k-th on lie in the k-th's chunk;
 * *ret_in: where in the chunk that one is. */
static uint64_t clip(const struct dset *d, const struct selection *sel,
		     unsigned i, uint64_t k, uint64_t *ret_in)
{
	uint64_t in = (sel->start[i] + k * sel->step[i]) % d->info.chunk[i];
	uint64_t n = (d->info.chunk[i] - 1 - in) / sel->step[i] + 1;

	*ret_in = in;
	return n < sel->count[i] - k ? n : sel->count[i] - k;
}

/* Strides of the source are 0: the one fill value everywhere. */
static void fill_box(const struct dset *d, struct box *b, uint8_t *dst)
{
	if (d->fill)
		copy_box(b, 0, d->fill->data, dst);
	else
		clear_box(b, 0, dst);
}

/* The chunk in which selected index k[i] of each axis i is the first. */
static int copy_from_chunk(struct dset *d, const struct selection *sel,
			   const uint64_t *k, uint8_t *buf)
{
	CLEANUP(blob_unrefp) struct blob *chunk = NULL;
	struct box b = { .rank = d->info.rank, .size = d->type->size };
	int64_t stride = d->type->size, from = 0, last = 0, to = 0;
	uint64_t scaled[DT_MAX_RANK];
	const uint8_t *src;
	int r;

	for (unsigned i = b.rank; i-- > 0;) {
		uint64_t in, step;

		scaled[i] = (sel->start[i] + k[i] * sel->step[i]) /
			    d->info.chunk[i];
		b.count[i] = clip(d, sel, i, k[i], &in);
		/* a step that leaves the chunk may be of any size */
		step = b.count[i] > 1 ? sel->step[i] : 1;
		b.src[i] = stride * (int64_t)step;
		b.dst[i] = sel->stride[i];
		from += stride * (int64_t)in;
		last += b.src[i] * (int64_t)(b.count[i] - 1);
		to += sel->stride[i] * (int64_t)k[i];
		stride *= (int64_t)chunk_dim(d, scaled, i);
	}
	r = part_get(d, scaled, (uint64_t)from,
		     (uint64_t)(from + last) + d->type->size, &chunk, &src);
	if (r < 0)
		return r;
	if (!chunk) {
		memset(b.src, 0, sizeof(b.src));
		fill_box(d, &b, buf + to);
		return 0;
	}
	merge_box(&b);
	copy_box(&b, 0, src, buf + to);
	return 0;
}

/* Chunk by chunk, but only those in which something is selected. */
static int read_chunked(struct dset *d, const struct selection *sel,
			uint8_t *buf)
{
	uint64_t k[DT_MAX_RANK] = { 0 };

	for (;;) {
		int r = copy_from_chunk(d, sel, k, buf);
		unsigned i = d->info.rank;

		if (r < 0)
			return r;
		while (i-- > 0) {
			uint64_t in;

			k[i] += clip(d, sel, i, k[i], &in);
			if (k[i] < sel->count[i])
				break;
			k[i] = 0;
		}
		if (i == UINT32_MAX)
			return 0;
	}
}

/* ---- contiguous, in FILE or in raw files ---- */

static int read_bytes(struct dset *d, uint8_t *buf, uint64_t n, uint64_t offset)
{
	struct store *s = d->store;
	int r = 0;

	if (d->info.storage == STORAGE_CONTIGUOUS) {
		uint64_t at;

		if (add_overflow(d->addr, offset, &at) || at > INT64_MAX)
			return -EIO;
		r = store_file_unchanged(s, d->info.obj.id.file);
		if (r < 0)
			return r;
		stat_add(&s->stats.bytes_read, n);
		return io_read_at(s->files[d->info.obj.id.file]->fd, buf, n,
				  at);
	}
	for (unsigned i = 0; r == 0 && n && i < d->nsegments; i++) {
		const struct segment *g = &d->segments[i];
		uint64_t part, at;

		if (offset >= g->size) {
			offset -= g->size;
			continue;
		}
		part = g->size - offset < n ? g->size - offset : n;
		if (g->file == UINT32_MAX) /* told when it was opened */
			return -EACCES;
		r = store_file_unchanged(s, g->file);
		if (r < 0)
			return r;
		if (add_overflow(g->offset, offset, &at) || at > INT64_MAX)
			return -EIO;
		stat_add(&s->stats.bytes_read, part);
		/* behind the end of a raw file are zeros, as libhdf5 reads it */
		r = vfd_pread(s->files[g->file]->fd, buf, part, at);
		buf += part;
		n -= part;
		offset = 0;
	}
	return r < 0 ? r : n ? -EIO : 0;
}

/* One run along the last axis. */
static int read_run(struct dset *d, uint64_t offset, uint64_t n, uint64_t step,
		    uint8_t *buf)
{
	CLEANUP(freep) uint8_t *tmp = NULL;
	uint32_t size = d->type->size;
	uint64_t span = step * size, per;

	if (step == 1 || n == 1)
		return read_bytes(d, buf, n * size, offset);
	if (span > GATHER_BYTES / 2) { /* far apart: one by one */
		for (uint64_t i = 0; i < n; i++) {
			int r = read_bytes(d, buf + i * size, size,
					   offset + i * span);

			if (r < 0)
				return r;
		}
		return 0;
	}
	per = GATHER_BYTES / span;
	tmp = malloc(GATHER_BYTES);
	if (!tmp)
		return -ENOMEM;
	while (n) {
		uint64_t k = n < per ? n : per;
		int r = read_bytes(d, tmp, (k - 1) * span + size, offset);

		if (r < 0)
			return r;
		for (uint64_t i = 0; i < k; i++)
			memcpy(buf + i * size, tmp + i * span, size);
		buf += k * size;
		offset += k * span;
		n -= k;
	}
	return 0;
}

static int read_axes(struct dset *d, const struct selection *sel, unsigned axis,
		     const uint64_t *stride, unsigned run, uint64_t run_elems,
		     uint64_t offset, uint8_t *buf)
{
	offset += sel->start[axis] * stride[axis];
	if (axis == run)
		return read_run(d, offset, run_elems, sel->step[axis], buf);
	for (uint64_t i = 0; i < sel->count[axis]; i++) {
		int r = read_axes(d, sel, axis + 1, stride, run, run_elems,
				  offset + i * sel->step[axis] * stride[axis],
				  buf + (int64_t)i * sel->stride[axis]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int contiguous_error(struct dset *d, int r)
{
	if (r == -EACCES)
		return -EIO;
	if (r == -EIO)
		dset_fault(d,
			   "its data lies outside the file or can not be read",
			   "the file is damaged; restore a copy");
	return r;
}

static int read_contiguous(struct dset *d, const struct selection *sel,
			   uint8_t *buf)
{
	uint64_t stride[DT_MAX_RANK], bytes = d->type->size, elems;
	unsigned run = d->info.rank ? d->info.rank - 1 : 0;
	int r = store_lock(d->store);

	if (r < 0)
		return r;
	CLEANUP(store_unlockp)
	__attribute__((unused)) struct store *l = d->store;

	if (d->info.rank == 0) {
		r = read_bytes(d, buf, d->type->size, 0);
	} else {
		for (unsigned i = d->info.rank; i-- > 0;) {
			stride[i] = bytes;
			bytes *= d->info.dims[i];
		}
		/* whole inner axes make one run with the one around them */
		elems = sel->count[run];
		while (run && sel->step[run] == 1 && sel->step[run - 1] == 1 &&
		       sel->count[run] == d->info.dims[run]) {
			run--;
			elems *= sel->count[run];
		}
		r = read_axes(d, sel, 0, stride, run, elems, 0, buf);
	}
	return contiguous_error(d, r);
}

int dset_read_contiguous(struct dset *d, uint64_t first, uint64_t n,
			 uint8_t *buf)
{
	uint64_t size = d->type->size;
	int r;

	if (d->info.storage == STORAGE_CONTIGUOUS && d->addr == UINT64_MAX) {
		dset_fill(d, n, buf);
		return 0;
	}
	r = store_lock(d->store);
	if (r < 0)
		return r;
	r = contiguous_error(d, read_bytes(d, buf, n * size, first * size));
	store_unlock(d->store);
	if (r == 0)
		swap_units(buf, n * size, d->map.swap);
	return r;
}

/* ---- through the library ---- */

int dset_read_library(struct dset *d, const uint64_t *start,
		      const uint64_t *count, const uint64_t *step, void *buf)
{
	hsize_t st[DT_MAX_RANK], ct[DT_MAX_RANK], sp[DT_MAX_RANK];
	struct store *s = d->store;
	hid_t set, mtype;
	int r;

	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t space = -1;
	CLEANUP(hid_closep) hid_t mem = -1;

	r = dset_hid(d, &set, &mtype);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < d->info.rank; i++) {
		st[i] = start[i];
		ct[i] = count[i];
		sp[i] = step ? step[i] : 1;
	}
	space = H5Dget_space(set);
	mem = d->info.rank ? H5Screate_simple((int)d->info.rank, ct, NULL)
			   : H5Screate(H5S_SCALAR);
	if (space < 0 || mem < 0 ||
	    (d->info.rank &&
	     H5Sselect_hyperslab(space, H5S_SELECT_SET, st, sp, ct, NULL) < 0))
		return -EIO;
	stat_add(&s->stats.lib_reads, 1);
	s->denied = false;
	if (H5Dread(set, mtype, mem, space, H5P_DEFAULT, buf) < 0) {
		dset_unreadable(d, start);
		return -EIO;
	}
	if (s->denied) { /* the library shows a fill value instead */
		dset_denied(d, NULL);
		return -EIO;
	}
	return 0;
}

/* ---- the contract ---- */

void dset_fill(const struct dset *d, uint64_t n, uint8_t *buf)
{
	if (!d->fill) {
		memset(buf, 0, n * d->type->size);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		memcpy(buf + i * d->type->size, d->fill->data, d->type->size);
}

static int read_selection(struct dset *d, const struct selection *sel,
			  uint8_t *buf)
{
	int r;

	if (sel->total == 0)
		return 0;
	if (d->info.storage == STORAGE_CHUNKED && !d->piecewise)
		return read_chunked(d, sel, buf);
	if (!d->info.direct) {
		/* the library leaves padding as it is, and what is not there
		 * where its fill time is "never" */
		if (dtype_is_number(d->type))
			dset_fill(d, sel->total, buf);
		else
			memset(buf, 0, sel->total * d->type->size);
		return dset_read_library(d, sel->start, sel->count, sel->step,
					 buf);
	}
	if (d->info.storage == STORAGE_CONTIGUOUS && d->addr == UINT64_MAX) {
		dset_fill(d, sel->total, buf);
		return 0;
	}
	r = read_contiguous(d, sel, buf);
	if (r == 0)
		swap_units(buf, sel->total * d->type->size, d->map.swap);
	return r;
}

int dset_read(struct dset *d, const uint64_t *start, const uint64_t *count,
	      const uint64_t *step, void *buf)
{
	struct selection sel;
	int r;

	if (dtype_has_pointers(d->type))
		return -EINVAL;
	r = check_selection(d, start, count, step, &sel);
	return r < 0 ? r : read_selection(d, &sel, buf);
}

/* All of the hyperslab in one chunk? */
static bool in_one_chunk(const struct dset *d, const struct selection *sel,
			 uint64_t *scaled)
{
	if (d->info.storage != STORAGE_CHUNKED || d->piecewise)
		return false;
	for (unsigned i = 0; i < d->info.rank; i++) {
		scaled[i] = sel->start[i] / d->info.chunk[i];
		if ((sel->start[i] + sel->count[i] - 1) / d->info.chunk[i] !=
		    scaled[i])
			return false;
	}
	return true;
}

static int borrow_chunk(struct dset *d, const struct selection *sel,
			const uint64_t *scaled, struct span *ret_span)
{
	struct span sp = { 0 };
	struct blob *chunk = NULL;
	int64_t stride = d->type->size, from = 0, last = 0;
	int r;

	for (unsigned i = d->info.rank; i-- > 0;) {
		sp.stride[i] = stride;
		from += stride *
			(int64_t)(sel->start[i] - scaled[i] * d->info.chunk[i]);
		last += stride * (int64_t)(sel->count[i] - 1);
		stride *= (int64_t)chunk_dim(d, scaled, i);
	}
	r = part_get(d, scaled, (uint64_t)from,
		     (uint64_t)(from + last) + d->type->size, &chunk, &sp.base);
	if (r < 0)
		return r;
	if (!chunk) { /* strides of 0: the one fill value everywhere */
		memset(&sp, 0, sizeof(sp));
		sp.owner = blob_ref(d->fill);
		sp.base = d->fill->data;
	} else {
		sp.owner = chunk;
	}
	*ret_span = sp;
	return 0;
}

int dset_borrow(struct dset *d, const uint64_t *start, const uint64_t *count,
		struct span *ret_span)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t scaled[DT_MAX_RANK];
	struct selection sel;
	int r;

	if (dtype_has_pointers(d->type))
		return -EINVAL;
	r = check_selection(d, start, count, NULL, &sel);
	if (r < 0)
		return r;
	if (sel.total && d->fill && in_one_chunk(d, &sel, scaled))
		return borrow_chunk(d, &sel, scaled, ret_span);
	r = blob_new(sel.total * d->type->size, &b);
	if (r == 0)
		r = read_selection(d, &sel, b->data);
	if (r < 0)
		return r;
	memset(ret_span, 0, sizeof(*ret_span));
	memcpy(ret_span->stride, sel.stride, sizeof(sel.stride));
	ret_span->base = b->data;
	ret_span->owner = TAKE(b);
	return 0;
}
