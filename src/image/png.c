/* SPDX-License-Identifier: MIT */
/* png.c - whole PNG files of stored blocks.
 *
 *   file   := signature IHDR PLTE? IDAT+ IEND
 *   chunk  := be32 length, type, data, be32 CRC-32 of type and data
 *   stream := 78 01 block+ be32 Adler-32 of raw    (cut into the IDATs' data)
 *   block  := final? le16 length, le16 ~length, raw bytes
 *   raw    := (0 row)*                             (0: filter None)
 *
 * All blocks but the last hold 65535 bytes, all IDATs but the last 2^31-1: the
 * size of the file is arithmetic. A piece is summed right after it is written,
 * while it is in the processor's cache. */
#include "h5fs/image.h"

#define MAX_SIDE UINT32_C(0x7fffffff)
#ifndef MAX_CHUNK /* a test makes it small */
#define MAX_CHUNK UINT64_C(0x7fffffff)
#endif
#define MAX_BLOCK 65535
#define CHUNK_FRAME 12 /* length, type, CRC */
#define BLOCK_HEAD 5
#define STREAM_FRAME 6 /* 78 01, Adler-32 */
#define IHDR_SIZE 13

static const uint8_t signature[8] = {
	0x89, 'P', 'N', 'G', '\r', '\n', 26, '\n'
};

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

uint64_t png_row_bytes(const struct png_shape *p)
{
	return div_up((uint64_t)p->width * p->channels * p->bits, 8);
}

static bool is_png_shape(const struct png_shape *p)
{
	if (!p->width || p->width > MAX_SIDE || !p->height ||
	    p->height > MAX_SIDE || p->channels < 1 || p->channels > 4)
		return false;
	if (p->palette && (p->channels != 1 || p->bits != 8 ||
			   p->ncolours < 1 || p->ncolours > 256))
		return false;
	return p->bits == 8 || p->bits == 16 ||
	       (p->bits == 1 && p->channels == 1);
}

/* ---- sizes ---- */
static int raw_size(const struct png_shape *p, uint64_t *ret_size)
{
	if (!is_png_shape(p))
		return -EINVAL;
	/* At most 2^34 a row. */
	if (mul_overflow(p->height, png_row_bytes(p) + 1, ret_size) ||
	    *ret_size > INT64_MAX / 2)
		return -EFBIG;
	return 0;
}

static uint64_t stream_size(uint64_t raw)
{
	return STREAM_FRAME + BLOCK_HEAD * div_up(raw, MAX_BLOCK) + raw;
}

static uint64_t palette_size(const struct png_shape *p)
{
	return p->palette ? CHUNK_FRAME + 3 * (uint64_t)p->ncolours : 0;
}

int png_stored_size(const struct png_shape *p, uint64_t *ret_size)
{
	uint64_t raw, stream;
	int r = raw_size(p, &raw);

	if (r < 0)
		return r;
	stream = stream_size(raw);
	*ret_size = sizeof(signature) + CHUNK_FRAME + IHDR_SIZE +
		    palette_size(p) + stream +
		    CHUNK_FRAME * div_up(stream, MAX_CHUNK) + CHUNK_FRAME;
	return 0;
}

/* ---- writing: chunks in front of the stream and behind it ---- */
struct writer {
	uint8_t *at;
	uint8_t *summed;  /* start of what the Adler-32 and the CRC-32 .. */
	uint8_t *checked; /* .. do not cover yet */
	uint32_t adler, crc;
	uint64_t raw_left, stream_left;	 /* not yet written */
	uint64_t block_left, chunk_left; /* that the open ones still take */
};

static void put_be32(struct writer *w, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(w->at, &v, sizeof(v));
	w->at += sizeof(v);
}

static void put_bytes(struct writer *w, const void *bytes, size_t n)
{
	memcpy(w->at, bytes, n);
	w->at += n;
}

static void chunk_open(struct writer *w, const char *type, uint64_t size)
{
	put_be32(w, (uint32_t)size);
	w->crc = checksum_crc32(0, type, 4);
	put_bytes(w, type, 4);
	w->checked = w->at;
}

static void check_written(struct writer *w)
{
	if (w->at > w->checked)
		w->crc = checksum_crc32(w->crc, w->checked,
					(size_t)(w->at - w->checked));
	w->checked = w->at;
}

static void chunk_close(struct writer *w)
{
	check_written(w);
	put_be32(w, w->crc);
}

static void put_head(struct writer *w, const struct png_shape *p)
{
	static const uint8_t colour_type[] = { 0, 0, 4, 2,
					       6 }; /* by channels */
	uint8_t rest[5] = { (uint8_t)p->bits,
			    p->palette ? 3 : colour_type[p->channels], 0, 0,
			    0 };

	put_bytes(w, signature, sizeof(signature));
	chunk_open(w, "IHDR", IHDR_SIZE);
	put_be32(w, p->width);
	put_be32(w, p->height);
	put_bytes(w, rest, sizeof(rest));
	chunk_close(w);
	if (!p->palette)
		return;
	chunk_open(w, "PLTE", 3 * (uint64_t)p->ncolours);
	put_bytes(w, p->palette, 3 * (size_t)p->ncolours);
	chunk_close(w);
}

/* ---- writing: the stream ---- */
static void sum_written(struct writer *w)
{
	if (w->at > w->summed)
		w->adler = checksum_adler32(w->adler, w->summed,
					    (size_t)(w->at - w->summed));
	w->summed = w->at;
}

static void stream_open_chunk(struct writer *w)
{
	w->chunk_left = w->stream_left < MAX_CHUNK ? w->stream_left : MAX_CHUNK;
	chunk_open(w, "IDAT", w->chunk_left);
	w->summed = w->at;
}

/* n <= chunk_left bytes of the stream are at w->at. */
static void stream_advance(struct writer *w, uint64_t n)
{
	w->at += n;
	w->stream_left -= n;
	w->chunk_left -= n;
	if (w->chunk_left)
		return;
	sum_written(w);
	chunk_close(w);
	if (w->stream_left)
		stream_open_chunk(w);
}

/* Bytes of the stream that are not raw ones; raw ones before are summed. */
static void stream_put(struct writer *w, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		*w->at = bytes[i];
		w->summed = w->at + 1;
		stream_advance(w, 1);
	}
}

static void block_open(struct writer *w)
{
	bool last = w->raw_left <= MAX_BLOCK;
	uint32_t n = last ? (uint32_t)w->raw_left : MAX_BLOCK;
	uint8_t head[BLOCK_HEAD] = { last, (uint8_t)n, (uint8_t)(n >> 8),
				     (uint8_t)~n, (uint8_t)(~n >> 8) };

	stream_put(w, head, sizeof(head));
	w->block_left = n;
}

static uint64_t raw_room(const struct writer *w)
{
	return w->block_left < w->chunk_left ? w->block_left : w->chunk_left;
}

/* n <= raw_room() raw bytes are at w->at. */
static void raw_advance(struct writer *w, uint64_t n)
{
	w->raw_left -= n;
	w->block_left -= n;
	stream_advance(w, n);
	if (w->block_left)
		return;
	sum_written(w);
	check_written(w);
	if (w->raw_left)
		block_open(w);
}

static void raw_put(struct writer *w, const uint8_t *bytes, uint64_t n)
{
	while (n) {
		uint64_t room = raw_room(w), k = n < room ? n : room;

		memcpy(w->at, bytes, k);
		raw_advance(w, k);
		bytes += k;
		n -= k;
	}
}

static void stream_begin(struct writer *w, uint64_t raw)
{
	static const uint8_t head[] = { 0x78, 0x01 };

	w->raw_left = raw;
	w->stream_left = stream_size(raw);
	w->adler = 1;
	stream_open_chunk(w);
	stream_put(w, head, sizeof(head));
	block_open(w);
}

static void stream_end(struct writer *w)
{
	uint32_t adler = __builtin_bswap32(w->adler);
	uint8_t bytes[4];

	memcpy(bytes, &adler, sizeof(bytes));
	stream_put(w, bytes, sizeof(bytes));
}

/* ---- rows ---- */
/* scratch[0] is 0. A row that a border of a block or a chunk cuts goes through
 * it, all others straight into place. */
static void put_row(struct writer *w, const struct png_shape *p,
		    const struct pixels *px, const struct norm *n, uint32_t y,
		    uint64_t size, uint8_t *scratch)
{
	if (size <= raw_room(w)) {
		w->at[0] = 0;
		raster_row(p, px, n, y, w->at + 1);
		raw_advance(w, size);
		return;
	}
	raster_row(p, px, n, y, scratch + 1);
	raw_put(w, scratch, size);
}

int png_stored_render(const struct png_shape *p, const struct pixels *px,
		      const struct norm *n, struct blob **ret_blob)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	CLEANUP(freep) uint8_t *scratch = NULL;
	struct writer w = { 0 };
	uint64_t size, raw, row;
	int r;

	r = png_stored_size(p, &size);
	if (r == 0)
		r = raw_size(p, &raw);
	if (r < 0)
		return r;
	row = png_row_bytes(p) + 1;
	scratch = malloc(row);
	if (!scratch)
		return -ENOMEM;
	scratch[0] = 0;
	r = blob_new(size, &b);
	if (r < 0)
		return r;
	w.at = b->data;
	put_head(&w, p);
	stream_begin(&w, raw);
	for (uint32_t y = 0; y < p->height; y++)
		put_row(&w, p, px, n, y, row, scratch);
	stream_end(&w);
	chunk_open(&w, "IEND", 0);
	chunk_close(&w);
	*ret_blob = TAKE(b);
	return 0;
}
