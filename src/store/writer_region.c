/* SPDX-License-Identifier: MIT */
/* writer_region.c - a box of a dataset's elements, from memory or from a file.
 *
 * Chunks are put together and packed by the pool, outside of the library's lock,
 * and stored with H5Dwrite_chunk(). It is used together with H5Dwrite() and the
 * library's cache of chunks: the library writes out a cached chunk before its
 * stored bytes are read, and forgets it when they are written.
 *
 * What lies beyond the extent in a chunk at the edge must be fill value: the
 * extent may grow over it. */
#include "writer_int.h"

#define GROUP_BYTES (16u << 20) /* of chunks that are in memory at once */
#define GROUP_MIN 2
#define GROUP_MAX 1024
#define PIECE_BYTES (8u << 20) /* that the library is given at once */
#define LIBRARY_CACHES (1u << 20)

struct job { /* one chunk */
	uint64_t at[DT_MAX_RANK];
	bool whole; /* nothing of what is stored stays */
	struct blob *old, *packed;
	uint32_t mask; /* of old, then of packed */
};
struct region {
	struct writer *w;
	struct dset *d;
	const uint64_t *start, *count;
	uint64_t tile[DT_MAX_RANK]; /* a grid from element 0 on */
	const struct source *src;
	struct job *jobs;
};

/* ---- tiles ---- */
void tile_shape(unsigned rank, const uint64_t *dims, uint64_t element,
		uint64_t bytes, uint64_t *ret_tile)
{
	uint64_t left = element < bytes ? bytes / (element ? element : 1) : 1;

	for (unsigned i = rank; i-- > 0;) {
		ret_tile[i] = dims[i] < left ? dims[i] : left;
		if (ret_tile[i] == 0)
			ret_tile[i] = 1;
		left /= ret_tile[i];
		if (left == 0)
			left = 1;
		if (ret_tile[i] < dims[i])
			left = 1;
	}
}

static uint64_t first_tile(const struct region *g, unsigned i)
{
	return g->start[i] - g->start[i] % g->tile[i];
}

static bool next_tile(const struct region *g, uint64_t *at)
{
	for (unsigned i = g->d->info.rank; i-- > 0;) {
		if (g->start[i] + g->count[i] - at[i] > g->tile[i]) {
			at[i] += g->tile[i];
			return true;
		}
		at[i] = first_tile(g, i);
	}
	return false;
}

/* The part of a tile that is written: where it starts, and how many. */
static uint64_t clip(const struct region *g, const uint64_t *at, unsigned i,
		     uint64_t *ret_from)
{
	uint64_t from = at[i] < g->start[i] ? g->start[i] : at[i];
	uint64_t in_tile = g->tile[i] - (from - at[i]);
	uint64_t left = g->start[i] + g->count[i] - from;

	*ret_from = from;
	return left < in_tile ? left : in_tile;
}

/* ---- elements from the source ---- */
static int take(const struct source *s, uint64_t from, uint64_t n, uint8_t *to)
{
	if (s->mem) {
		memcpy(to, s->mem + from, n);
		return 0;
	}
	return io_read_at(s->fd, to, n, s->offset + from);
}

static int take_box(const struct source *s, const struct box *b, unsigned axis,
		    uint64_t from, uint8_t *to)
{
	int r = 0;

	if (axis == b->rank)
		return take(s, from, b->size, to);
	if (axis == b->rank - 1 && b->src[axis] == b->size &&
	    b->dst[axis] == b->size)
		return take(s, from, b->count[axis] * b->size, to);
	for (uint64_t i = 0; r == 0 && i < b->count[axis]; i++)
		r = take_box(s, b, axis + 1, from + i * (uint64_t)b->src[axis],
			     to + i * (uint64_t)b->dst[axis]);
	return r;
}

/* The part of the tile at `at` into a buffer of shape dims, which begins at
 * element `origin`. */
static int gather(const struct region *g, const uint64_t *at,
		  const uint64_t *origin, const uint64_t *dims, uint8_t *buf)
{
	struct box b = { .rank = g->d->info.rank, .size = g->d->type->size };
	int64_t src = b.size, dst = b.size;
	uint64_t from = 0, to = 0;

	for (unsigned i = b.rank; i-- > 0;) {
		uint64_t first;

		b.count[i] = clip(g, at, i, &first);
		b.src[i] = src;
		b.dst[i] = dst;
		from += (uint64_t)src * (first - g->start[i]);
		to += (uint64_t)dst * (first - origin[i]);
		src *= (int64_t)g->count[i];
		dst *= (int64_t)dims[i];
	}
	merge_box(&b);
	return take_box(g->src, &b, 0, from, buf + to);
}

/* ---- one chunk, in the pool ---- */
static void fill(const struct dset *d, uint8_t *p, size_t n)
{
	size_t have = d->type->size;

	if (have > n)
		return;
	memcpy(p, d->fill->data, have);
	for (; have < n; have *= 2)
		memcpy(p + have, p, have < n - have ? have : n - have);
}

static bool covers_all(const struct region *g, const uint64_t *at)
{
	uint64_t first;

	for (unsigned i = 0; i < g->d->info.rank; i++)
		if (clip(g, at, i, &first) < g->tile[i])
			return false;
	return true;
}

/* What is stored of the chunk, or fill value, in memory form. */
static int begin_chunk(const struct region *g, struct job *j,
		       struct blob **ret_raw)
{
	const struct dset *d = g->d;
	unsigned bad;
	int r;

	if (j->old) {
		r = filters_undo(d->filters, d->info.nfilters, j->mask,
				 TAKE(j->old), d->chunk_bytes, ret_raw, &bad);
		if (r == 0)
			swap_units((*ret_raw)->data, (*ret_raw)->size,
				   d->map.swap);
		return r;
	}
	r = blob_new(d->chunk_bytes, ret_raw);
	if (r == 0 && !covers_all(g, j->at))
		fill(d, (*ret_raw)->data, (*ret_raw)->size);
	return r;
}

static int make_chunk(void *arg, size_t i)
{
	const struct region *g = arg;
	const struct dset *d = g->d;
	struct job *j = &g->jobs[i];
	CLEANUP(blob_unrefp) struct blob *raw = NULL;
	int r = begin_chunk(g, j, &raw);

	if (r == 0)
		r = gather(g, j->at, j->at, d->info.chunk, raw->data);
	if (r < 0)
		return r;
	swap_units(raw->data, raw->size, d->map.swap);
	return filters_apply(d->filters, d->info.nfilters, d->optional,
			     TAKE(raw), &j->packed, &j->mask);
}

/* ---- a group of chunks ---- */
static bool is_whole(const struct region *g, const uint64_t *at)
{
	for (unsigned i = 0; i < g->d->info.rank; i++) {
		uint64_t first, n = clip(g, at, i, &first);
		uint64_t there = g->d->info.dims[i] - at[i];

		if (n < (there < g->tile[i] ? there : g->tile[i]))
			return false;
	}
	return true;
}

static void offset_of(const struct region *g, const struct job *j,
		      hsize_t *ret_offset)
{
	for (unsigned i = 0; i < g->d->info.rank; i++)
		ret_offset[i] = j->at[i];
}

/* The stored bytes of a chunk; none where it is not allocated. */
static int read_old(const struct region *g, struct job *j)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	hid_t set = g->d->hid;
	hsize_t offset[DT_MAX_RANK], file_size;
	uint64_t size;
	int r;

	offset_of(g, j, offset);
	r = chunk_stored_size(set, offset, &size);
	if (r < 0 || size == 0)
		return r;
	if (H5Fget_filesize(g->w->file, &file_size) < 0 ||
	    (size > file_size && size > g->d->chunk_bytes))
		return -EIO;
	r = blob_new(size, &b);
	if (r < 0)
		return r;
	if (H5Dread_chunk(set, H5P_DEFAULT, offset, &j->mask, b->data) < 0)
		return -EIO;
	j->old = TAKE(b);
	return 0;
}

static int read_old_chunks(const struct region *g, size_t n)
{
	WRITER_GUARD(g->w);
	for (size_t i = 0; i < n; i++)
		if (!g->jobs[i].whole && read_old(g, &g->jobs[i]) < 0)
			return writer_path_fail(g->w, g->d->path,
						"a chunk that is added to can "
						"not be read");
	return 0;
}

/* Where a chunk keeps its size and place the library does not note the new mask:
 * it must have another size in between. */
static int forget_mask(hid_t set, const hsize_t *offset, const struct job *j)
{
	CLEANUP(blob_unrefp) struct blob *longer = NULL;
	uint64_t size;
	int r = chunk_stored_size(set, offset, &size);

	if (r < 0 || size != j->packed->size)
		return r;
	r = blob_new(size + 1, &longer);
	if (r < 0)
		return r;
	memset(longer->data, 0, longer->size);
	return H5Dwrite_chunk(set, H5P_DEFAULT, j->mask, offset, longer->size,
			      longer->data) < 0
		       ? -EIO
		       : 0;
}

static int store_chunk(const struct region *g, const struct job *j)
{
	hsize_t offset[DT_MAX_RANK];

	offset_of(g, j, offset);
	if ((g->d->info.nfilters && forget_mask(g->d->hid, offset, j) < 0) ||
	    H5Dwrite_chunk(g->d->hid, H5P_DEFAULT, j->mask, offset,
			   j->packed->size, j->packed->data) < 0)
		return writer_path_fail(g->w, g->d->path,
					"a chunk can not be written");
	return 0;
}

static int store_chunks(const struct region *g, size_t n)
{
	int r = 0;

	WRITER_GUARD(g->w);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = store_chunk(g, &g->jobs[i]);
	return r;
}

static int write_group(struct region *g, size_t n)
{
	int r = read_old_chunks(g, n);

	if (r < 0)
		return r;
	r = pool_each(g->w->pool, n, make_chunk, g);
	if (r < 0)
		return writer_fail(g->w, r, "%s: a chunk can not be made: %s",
				   g->d->path, strerror(-r));
	return store_chunks(g, n);
}

static void clear_jobs(struct region *g, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		blob_unref(g->jobs[i].old);
		blob_unref(g->jobs[i].packed);
	}
	memset(g->jobs, 0, n * sizeof(*g->jobs));
}

static size_t group_size(const struct dset *d)
{
	uint64_t n = GROUP_BYTES / d->chunk_bytes;

	return n < GROUP_MIN ? GROUP_MIN : n > GROUP_MAX ? GROUP_MAX : n;
}

static int write_chunks(struct region *g)
{
	size_t max = group_size(g->d);
	CLEANUP(freep) struct job *jobs = calloc(max, sizeof(*jobs));
	uint64_t at[DT_MAX_RANK];
	bool more = true;
	int r = 0;

	if (!jobs)
		return -ENOMEM;
	g->jobs = jobs;
	for (unsigned i = 0; i < g->d->info.rank; i++)
		at[i] = first_tile(g, i);
	while (r == 0 && more) {
		size_t n = 0;

		for (; more && n < max; n++) {
			memcpy(jobs[n].at, at, sizeof(at));
			jobs[n].whole = is_whole(g, at);
			more = next_tile(g, at);
		}
		r = write_group(g, n);
		clear_jobs(g, n);
	}
	return r;
}

/* ---- through the library ---- */
static int write_box(struct writer *w, struct dset *d, const uint64_t *start,
		     const uint64_t *count, const void *elements)
{
	hsize_t st[DT_MAX_RANK], ct[DT_MAX_RANK];
	unsigned rank = d->info.rank;

	WRITER_GUARD(w);
	CLEANUP(hid_closep) hid_t space = H5Dget_space(d->hid);
	CLEANUP(hid_closep) hid_t mem = -1;

	for (unsigned i = 0; i < rank; i++) {
		st[i] = start[i];
		ct[i] = count[i];
	}
	mem = rank ? H5Screate_simple((int)rank, ct, NULL)
		   : H5Screate(H5S_SCALAR);
	if (space < 0 || mem < 0 ||
	    (rank && H5Sselect_hyperslab(space, H5S_SELECT_SET, st, NULL, ct,
					 NULL) < 0) ||
	    H5Dwrite(d->hid, d->mtype, mem, space, H5P_DEFAULT, elements) < 0)
		return writer_path_fail(w, d->path, "can not be written");
	return 0;
}

static int write_piece(struct region *g, const uint64_t *at, struct blob **buf)
{
	uint64_t from[DT_MAX_RANK], n[DT_MAX_RANK];
	uint64_t bytes = g->d->type->size;
	int r = 0;

	for (unsigned i = 0; i < g->d->info.rank; i++) {
		n[i] = clip(g, at, i, &from[i]);
		bytes *= n[i];
	}
	if (!*buf || (*buf)->size < bytes) {
		blob_unref(*buf);
		*buf = NULL;
		r = blob_new(bytes, buf);
	}
	if (r == 0)
		r = gather(g, at, from, n, (*buf)->data);
	if (r < 0)
		return writer_fail(g->w, r, "%s: its values can not be read",
				   g->d->path);
	return write_box(g->w, g->d, from, n, (*buf)->data);
}

static int write_pieces(struct region *g)
{
	CLEANUP(blob_unrefp) struct blob *buf = NULL;
	uint64_t at[DT_MAX_RANK];
	int r;

	if (g->d->info.storage != STORAGE_CHUNKED)
		tile_shape(g->d->info.rank, g->d->info.dims, g->d->type->size,
			   PIECE_BYTES, g->tile);
	for (unsigned i = 0; i < g->d->info.rank; i++)
		at[i] = first_tile(g, i);
	do {
		r = write_piece(g, at, &buf);
	} while (r == 0 && next_tile(g, at));
	return r;
}

/* LZF: see forget_mask(). */
static bool may_be_left_out(const struct dset *d)
{
	for (unsigned i = 0; i < d->info.nfilters; i++)
		if (d->filters[i].id == FILTER_LZF)
			return true;
	return false;
}

/* A little of a chunk is left to the library, which keeps the chunk until the
 * rest has come, if it is of a size that it keeps. */
static bool is_little(const struct region *g)
{
	if (g->d->chunk_bytes > LIBRARY_CACHES || may_be_left_out(g->d))
		return false;
	for (unsigned i = 0; i < g->d->info.rank; i++) {
		uint64_t tile = g->tile[i], start = g->start[i];
		uint64_t end = start + g->count[i];
		uint64_t at = start + (tile - start % tile) % tile;

		if (at >= end || (end - at < tile && end < g->d->info.dims[i]))
			return true;
	}
	return false;
}

int region_write(struct writer *w, struct dset *d, const uint64_t *start,
		 const uint64_t *count, const struct source *src)
{
	struct region g = {
		.w = w, .d = d, .start = start, .count = count, .src = src
	};

	for (unsigned i = 0; i < d->info.rank; i++)
		if (count[i] == 0)
			return 0;
	memcpy(g.tile, d->info.chunk, sizeof(g.tile));
	if (d->info.direct && !is_little(&g))
		return write_chunks(&g);
	return src->mem ? write_box(w, d, start, count, src->mem)
			: write_pieces(&g);
}
