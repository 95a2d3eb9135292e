/* SPDX-License-Identifier: MIT */
/* decode_bmp.c - BMP files that are copied in.
 *
 *   file   := "BM" le32 size, le32 0, le32 offset of the pixels; header; masks?
 *             palette?; pixels
 *   header := le32 its size (12: OS/2, fields of 16 bits; 40 and more: Windows)
 *             width, height (negative: from the top), le16 planes, le16 bits, and
 *             of the longer one le32 compression, ..., le32 colours at 32
 *   pixels := rows from the bottom, each padded to 4 bytes; or runs (RLE)
 *
 * A palette stays one. Documented in Microsoft's "Bitmap Storage". */
#include "image_int.h"

#define FILE_HEADER 14

enum { BMP_RGB, BMP_RLE8, BMP_RLE4, BMP_BITFIELDS, BMP_ALPHABITFIELDS = 6 };

struct bmp {
	struct decoding *d;
	uint64_t header_size, offset;
	int64_t width, height;
	bool from_top;
	unsigned bits, compression;
	uint32_t mask[4]; /* red, green, blue, alpha */
	unsigned channels;
};

static uint32_t le(const struct bmp *b, uint64_t at, unsigned n)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint32_t)b->d->bytes[at + i] << 8 * i;
	return v;
}

static int damaged(const struct bmp *b, const char *why)
{
	return picture_why(b->d->ret_why, -EINVAL, "damaged BMP: %s", why);
}

static int truncated(const struct bmp *b)
{
	return picture_why(b->d->ret_why, -EINVAL, "truncated BMP");
}

static int unsupported(const struct bmp *b)
{
	return picture_why(b->d->ret_why, -EINVAL,
			   "BMP of %u bits and compression %u, which is not "
			   "decoded here",
			   b->bits, b->compression);
}

/* ---- headers ---- */
static int read_sizes(struct bmp *b)
{
	unsigned n, old;

	if (b->d->n < FILE_HEADER + 12)
		return truncated(b);
	b->offset = le(b, 10, 4);
	b->header_size = le(b, FILE_HEADER, 4);
	old = b->header_size == 12;
	if (!old && b->header_size < 40)
		return damaged(b, "its header is of no known kind");
	if (b->header_size > b->d->n - FILE_HEADER)
		return truncated(b);
	n = old ? 2 : 4;
	b->width = le(b, FILE_HEADER + 4, n);
	b->height = le(b, FILE_HEADER + 4 + n, n);
	b->bits = le(b, FILE_HEADER + 6 + 2 * n, 2);
	if (old)
		return 0;
	b->width = (int32_t)b->width;
	b->height = (int32_t)b->height;
	b->compression = le(b, FILE_HEADER + 16, 4);
	b->from_top = b->height < 0;
	if (b->from_top)
		b->height = -b->height;
	return b->width < 0 ? damaged(b, "its width is negative") : 0;
}

/* Masks are in the longer headers, or follow the one of 40 bytes. */
static int read_masks(struct bmp *b)
{
	static const uint32_t defaults[][3] = {
		[2] = { 0x7c00, 0x03e0, 0x001f },
		[3] = { 0xff0000, 0xff00, 0xff },
		[4] = { 0xff0000, 0xff00, 0xff },
	};
	bool alpha =
		b->compression == BMP_ALPHABITFIELDS || b->header_size >= 56;
	unsigned n = alpha ? 4 : 3;

	if (b->compression == BMP_RGB) {
		memcpy(b->mask, defaults[b->bits / 8], sizeof(defaults[0]));
		return 0;
	}
	if (FILE_HEADER + 40 + 4 * n > b->d->n)
		return truncated(b);
	for (unsigned c = 0; c < n; c++)
		b->mask[c] = le(b, FILE_HEADER + 40 + 4 * c, 4);
	for (unsigned c = 0; c < 3; c++)
		if (!b->mask[c])
			return damaged(b, "a colour has no bits");
	return 0;
}

/* As many colours as are said, or fit in front of the pixels; the rest is black. */
static int read_palette(struct bmp *b)
{
	struct picture *p = &b->d->picture;
	uint64_t size = b->header_size == 12 ? 3 : 4;
	uint64_t at = FILE_HEADER + b->header_size, n = 0;

	if (b->header_size >= 40)
		n = le(b, FILE_HEADER + 32, 4);
	if (!n || n > 1u << b->bits)
		n = 1u << b->bits;
	if (b->offset > at && (b->offset - at) / size < n)
		n = (b->offset - at) / size;
	if (at + n * size > b->d->n)
		return truncated(b);
	for (uint64_t i = 0; i < n; i++)
		for (unsigned c = 0; c < 3; c++)
			p->palette[3 * i + c] =
				b->d->bytes[at + i * size + 2 - c];
	p->ncolours = 1u << b->bits;
	memset(p->alpha, 255, sizeof(p->alpha));
	return 0;
}

/* ---- rows ---- */
static uint8_t *row_at(const struct bmp *b, int64_t y)
{
	const struct picture *p = &b->d->picture;

	if (!b->from_top)
		y = b->height - 1 - y;
	return p->pixels->data + (uint64_t)y * picture_row_bytes(p);
}

static void unpack_indices(const uint8_t *in, unsigned bits, int64_t n,
			   uint8_t *out)
{
	unsigned mask = (1u << bits) - 1, per = 8 / bits;

	for (int64_t x = 0; x < n; x++)
		out[x] = in[x / per] >> (8 - bits * (1 + x % per)) & mask;
}

/* A channel of any number of bits as 0..255. */
static uint8_t component(uint32_t v, uint32_t mask)
{
	unsigned shift = (unsigned)__builtin_ctz(mask);
	uint64_t most = mask >> shift;

	return (uint8_t)((uint64_t)((v & mask) >> shift) * 255 / most);
}

static void unpack_colours(const struct bmp *b, uint64_t at, uint8_t *out)
{
	unsigned bytes = b->bits / 8;

	for (int64_t x = 0; x < b->width; x++, at += bytes) {
		uint32_t v = le(b, at, bytes);

		for (unsigned c = 0; c < b->channels; c++)
			*out++ = component(v, b->mask[c]);
	}
}

static int read_rows(struct bmp *b)
{
	uint64_t row = ((uint64_t)b->width * b->bits + 31) / 32 * 4, size;

	if (mul_overflow(row, (uint64_t)b->height, &size) ||
	    b->offset > b->d->n || size > b->d->n - b->offset)
		return truncated(b);
	for (int64_t y = 0; y < b->height; y++) {
		uint64_t at = b->offset + (uint64_t)y * row;

		if (b->bits <= 8)
			unpack_indices(b->d->bytes + at, b->bits, b->width,
				       row_at(b, y));
		else
			unpack_colours(b, at, row_at(b, y));
	}
	return 0;
}

/* ---- runs: {n, value}, or 0 and {0: end of row, 1: end, 2: move, n: values} ---- */
struct run_state {
	uint64_t at;
	int64_t x, y;
};

/* Some programs let runs go on into the padding of a row. */
static int put_run(struct bmp *b, struct run_state *s, unsigned n, bool literal,
		   const uint8_t *in)
{
	int64_t padded = (b->width + 3) / 4 * 4;
	bool nibbles = b->bits == 4;

	if (s->y >= b->height || n > padded - s->x)
		return damaged(b, "a run leaves the picture");
	for (unsigned i = 0; i < n; i++, s->x++) {
		uint8_t v = in[literal ? nibbles ? i / 2 : i : 0];

		if (nibbles)
			v = i % 2 ? v & 15 : v >> 4;
		if (s->x < b->width)
			row_at(b, s->y)[s->x] = v;
	}
	return 0;
}

static int put_literals(struct bmp *b, struct run_state *s, unsigned n)
{
	uint64_t size = b->bits == 4 ? (n + 1) / 2 : n;

	size += size % 2;
	if (size > b->d->n - s->at)
		return truncated(b);
	s->at += size;
	return put_run(b, s, n, true, b->d->bytes + s->at - size);
}

static int move_on(struct bmp *b, struct run_state *s)
{
	if (b->d->n - s->at < 2)
		return truncated(b);
	s->x += b->d->bytes[s->at];
	s->y += b->d->bytes[s->at + 1];
	s->at += 2;
	return s->x > b->width || s->y > b->height
		       ? damaged(b, "a move leaves the picture")
		       : 0;
}

static int read_runs(struct bmp *b)
{
	struct run_state s = { .at = b->offset };
	int r = 0;

	if (b->offset > b->d->n)
		return truncated(b);
	/* Runs may leave pixels out. */
	memset(b->d->picture.pixels->data, 0, b->d->picture.pixels->size);
	while (r == 0) {
		const uint8_t *in = b->d->bytes + s.at;

		if (b->d->n - s.at < 2)
			return truncated(b);
		s.at += 2;
		if (in[0])
			r = put_run(b, &s, in[0], false, in + 1);
		else if (in[1] == 1)
			return 0;
		else if (in[1] == 2)
			r = move_on(b, &s);
		else if (in[1])
			r = put_literals(b, &s, in[1]);
		else
			s = (struct run_state){ s.at, 0, s.y + 1 };
	}
	return r;
}

static bool is_run_length(const struct bmp *b)
{
	return (b->compression == BMP_RLE8 && b->bits == 8) ||
	       (b->compression == BMP_RLE4 && b->bits == 4);
}

static bool is_plain(const struct bmp *b)
{
	bool masks = b->compression == BMP_BITFIELDS ||
		     b->compression == BMP_ALPHABITFIELDS;

	if (masks)
		return b->bits == 16 || b->bits == 32;
	return b->compression == BMP_RGB &&
	       (b->bits == 1 || b->bits == 4 || b->bits == 8 || b->bits == 16 ||
		b->bits == 24 || b->bits == 32);
}

int decode_bmp(struct decoding *d)
{
	struct bmp b = { .d = d, .channels = 1 };
	int r = read_sizes(&b);

	if (r < 0)
		return r;
	if (!is_run_length(&b) && !is_plain(&b))
		return unsupported(&b);
	if (b.bits <= 8)
		r = read_palette(&b);
	else
		r = read_masks(&b);
	if (b.bits > 8)
		b.channels = b.mask[3] ? 4 : 3;
	if (r == 0)
		r = picture_begin(d, (uint64_t)b.width, (uint64_t)b.height,
				  b.channels, 8);
	if (r < 0)
		return r;
	if (b.bits < 8)
		d->picture.depth = b.bits;
	return is_run_length(&b) ? read_runs(&b) : read_rows(&b);
}
