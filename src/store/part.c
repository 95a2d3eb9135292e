/* SPDX-License-Identifier: MIT */
/* part.c - some bytes of a decoded chunk: of the chunk in the cache, or decoded
 * alone from where its stream can be entered, or of the chunk decoded whole.
 *
 * What a part is decoded from is not kept: the kernel keeps what it asked for.
 * Fletcher32 holds for a whole chunk: it was looked at when the points were
 * made, and the points are good for those very bytes. */
#include "points_int.h"
#include "store_int.h"

#define PIECE 16384u /* of output between two points, where rows are small; */
#define LARGE 65536u /* and at least, where a row is cut */
#define FEWEST 4     /* points that a chunk is worth, */
#define PART 4	     /* and of what share of it a part may be */

/* The filters must be: at most one shuffle, one deflate, and Fletcher32
 * anywhere. */
static bool find_stream(const struct dset *d, struct parts *p)
{
	unsigned deflates = 0, shuffles = 0;

	p->unit = 1;
	p->stream = d->chunk_bytes;
	for (unsigned i = 0; i < d->info.nfilters; i++) {
		const struct filter *f = &d->filters[i];

		if (f->id == H5Z_FILTER_DEFLATE) {
			p->deflate = i;
			deflates++;
		} else if (f->id == H5Z_FILTER_SHUFFLE && !deflates) {
			p->unit = f->ncd ? f->cd[0] : 0;
			shuffles++;
		} else if (f->id == H5Z_FILTER_FLETCHER32) {
			p->stream += deflates ? 0 : 4;
		} else {
			return false;
		}
	}
	/* what is shuffled behind a sum has a unit that does not fill it */
	return deflates == 1 && shuffles <= 1 && p->unit > 0 &&
	       (p->unit == 1 ||
		(d->type->size % p->unit == 0 && p->stream == d->chunk_bytes));
}

/* Bytes of the stream that belong to one row: of the first axis on which a chunk
 * has more than one. */
static uint64_t row_bytes(const struct dset *d, unsigned unit)
{
	uint64_t bytes = d->chunk_bytes / unit;

	for (unsigned i = 0; i < d->info.rank; i++) {
		bytes /= d->info.chunk[i];
		if (d->info.chunk[i] > 1)
			break;
	}
	return bytes ? bytes : 1;
}

/* A row, or several, or a part of a large one that fits in it. */
static size_t interval(uint64_t row)
{
	uint64_t n = (PIECE + row / 2) / row;

	if (n > 1)
		return row * n;
	for (n = row / LARGE; n > 1 && n <= row / LARGE * 2; n++)
		if (row % n == 0)
			return row / n;
	return row;
}

void parts_init(struct dset *d)
{
	struct parts p = { 0 };

	if (!d->store->points || d->store->swmr || !d->info.direct ||
	    d->info.storage != STORAGE_CHUNKED || !find_stream(d, &p))
		return;
	p.every = interval(row_bytes(d, p.unit));
	p.possible = p.stream / p.every >= FEWEST;
	d->parts = p;
}

/* The bytes without what the filters behind deflate put there. */
static int check_behind(const struct dset *d, const struct blob *bytes,
			size_t *ret_n)
{
	unsigned first = d->parts.deflate + 1, n = d->info.nfilters - first;
	CLEANUP(blob_unrefp) struct blob *stream = NULL;
	unsigned bad;
	int r;

	*ret_n = bytes->size;
	if (n == 0)
		return 0;
	if (bytes->size < 4 * n)
		return -EIO;
	*ret_n -= 4 * n;
	r = filters_undo(d->filters + first, n, 0, blob_ref((void *)bytes),
			 *ret_n, &stream, &bad);
	return r;
}

int part_make(struct dset *d, struct cache_key key, const struct location *loc,
	      const struct blob *bytes, struct blob **ret_raw)
{
	const struct parts *p = &d->parts;
	CLEANUP(strbuf_done) struct strbuf record = STRBUF_INIT;
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	struct blob *raw = NULL;
	unsigned bad;
	size_t n;

	if (loc->mask || check_behind(d, bytes, &n) < 0 ||
	    blob_new(p->stream + INFLATE_SLACK, &out) < 0)
		return -EAGAIN;
	out->size = p->stream;
	if (points_make(bytes->data, n, loc->addr, out->data, p->stream,
			p->every, &record) < 0 ||
	    filters_undo(d->filters, p->deflate, 0, TAKE(out), d->chunk_bytes,
			 &raw, &bad) < 0)
		return -EAGAIN;
	points_put(d->store->points, key, loc->file, &record);
	*ret_raw = raw;
	return 0;
}

/* Bytes [from, to) of the stream. */
static int read_stream(struct dset *d, struct cache_key key, uint64_t from,
		       uint64_t to, struct blob **ret_blob, size_t *ret_skip)
{
	CLEANUP(points_part_done) struct points_part part = { 0 };
	CLEANUP(blob_unrefp) struct blob *bytes = NULL;
	struct location loc = { .allocated = true };
	int r = points_find(d->store->points, key, from, to, d->parts.every,
			    &part);

	if (r < 0)
		return r;
	loc.file = part.file;
	loc.addr = part.addr;
	loc.size = part.size;
	r = chunk_read_located(d, &loc, &bytes);
	return r < 0 ? r : points_inflate(&part, bytes, ret_blob, ret_skip);
}

/* Elements from on, whose bytes lie apart in the stream. */
static int read_shuffled(struct dset *d, struct cache_key key, uint64_t from,
			 uint64_t to, struct blob **ret_blob)
{
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	uint64_t unit = d->parts.unit, plane = d->parts.stream / unit;
	int r = blob_new(to - from, &out);

	for (unsigned k = 0; r == 0 && k < unit; k++) {
		CLEANUP(blob_unrefp) struct blob *b = NULL;
		const uint8_t *src;
		size_t skip;

		r = read_stream(d, key, k * plane + from / unit,
				k * plane + to / unit, &b, &skip);
		if (r < 0)
			return r;
		src = b->data + skip;
		for (uint64_t i = 0; i < (to - from) / unit; i++)
			out->data[i * unit + k] = src[i];
	}
	if (r < 0)
		return r;
	*ret_blob = TAKE(out);
	return 0;
}

static int read_part(struct dset *d, struct cache_key key, uint64_t from,
		     uint64_t to, struct blob **ret_owner,
		     const uint8_t **ret_at)
{
	struct blob *b = NULL;
	size_t skip = 0;
	int r = d->parts.unit == 1 ? read_stream(d, key, from, to, &b, &skip)
				   : read_shuffled(d, key, from, to, &b);

	if (r < 0)
		return r;
	swap_units(b->data + skip, to - from, d->map.swap);
	stat_add(&d->store->stats.parts, 1);
	*ret_owner = b;
	*ret_at = b->data + skip;
	return 0;
}

int part_get(struct dset *d, const uint64_t *scaled, uint64_t from, uint64_t to,
	     struct blob **ret_owner, const uint8_t **ret_at)
{
	bool in_order = ahead_note(d, scaled, from, to);
	struct blob *b = NULL;
	int r = -ENOENT;

	if (d->parts.possible && !in_order &&
	    to - from <= d->chunk_bytes / PART) {
		struct cache_key key = chunk_key(d, scaled);

		r = cache_find(d->store->cache, key, &b);
		if (r < 0)
			r = read_part(d, key, from, to, ret_owner, ret_at);
		if (!b && r != -ENOENT && r != -EIO)
			return r;
	}
	if (!b)
		r = chunk_get(d, scaled, in_order, &b);
	if (r < 0)
		return r;
	if (b->size == 0) {
		blob_unref(b);
		b = NULL;
	}
	*ret_owner = b;
	*ret_at = b ? b->data + from : NULL;
	return 0;
}
