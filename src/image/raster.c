/* SPDX-License-Identifier: MIT */
/* raster.c - one row of stored values as the bytes of a PNG row.
 *
 * Bytes and 16-bit values that are shown as they are have rows of their own.
 * All others go in runs: values are loaded as doubles, missing ones (the fill
 * value; all ones in unsigned integers of 4 and 8 bytes) become NaN, and NaN is
 * shown as 0, +inf as white. The rules N1..N9: tests/layouts/RULES.md. */
#include <math.h>

#include "h5fs/image.h"

#define RUN 256 /* values that are converted at once */

struct row {
	const struct png_shape *shape;
	const struct pixels *px;
	const struct norm *norm;
	const uint8_t *base; /* of this row */
	uint8_t *out;
};
typedef void row_fn(const struct row *r);

static bool is_dense(const struct row *r, unsigned size)
{
	if (r->px->stride_x != (int64_t)(size * r->shape->channels))
		return false;
	for (unsigned c = 0; c < r->shape->channels; c++)
		if (r->px->channel[c] != (int64_t)(size * c))
			return false;
	return true;
}

static size_t values_of(const struct row *r)
{
	return (size_t)r->shape->width * r->shape->channels;
}

/* ---- rows of bytes ---- */
/* Planes and reversed channels of colour pictures, a pixel at a time. */
static void interleave_rgb(const struct row *r)
{
	const uint8_t *red = r->base + r->px->channel[0];
	const uint8_t *green = r->base + r->px->channel[1];
	const uint8_t *blue = r->base + r->px->channel[2];
	int64_t stride = r->px->stride_x, at = 0;
	uint8_t *out = r->out;

	for (uint32_t x = 0; x < r->shape->width; x++, at += stride, out += 3) {
		out[0] = red[at];
		out[1] = green[at];
		out[2] = blue[at];
	}
}

static void row_u8(const struct row *r)
{
	unsigned channels = r->shape->channels;

	if (is_dense(r, 1)) {
		memcpy(r->out, r->base, values_of(r));
		return;
	}
	if (channels == 3) {
		interleave_rgb(r);
		return;
	}
	for (unsigned c = 0; c < channels; c++) {
		const uint8_t *in = r->base + r->px->channel[c];
		uint8_t *out = r->out + c;

		for (uint32_t x = 0; x < r->shape->width; x++)
			out[(size_t)x * channels] =
				in[(int64_t)x * r->px->stride_x];
	}
}

static void row_inverted_u8(const struct row *r)
{
	size_t n = values_of(r);

	row_u8(r);
	for (size_t i = 0; i < n; i++)
		r->out[i] = (uint8_t)~r->out[i];
}

static uint8_t last_colour(const struct row *r)
{
	unsigned n = r->shape->ncolours;

	return n >= 1 && n <= 256 ? (uint8_t)(n - 1) : 255;
}

static void row_palette_u8(const struct row *r)
{
	size_t n = values_of(r);
	uint8_t last = last_colour(r);

	row_u8(r);
	for (size_t i = 0; last < 255 && i < n; i++)
		if (r->out[i] > last)
			r->out[i] = last;
}

static void row_white_u8(const struct row *r)
{
	size_t n = values_of(r);

	row_u8(r);
	for (size_t i = 0; i < n; i++)
		r->out[i] = r->out[i] ? 255 : 0;
}

/* ---- rows of 16-bit values: big-endian in PNG ---- */
static void swap_dense(const uint8_t *in, size_t n, uint8_t *out)
{
	const uint64_t low = 0x00ff00ff00ff00ff;
	uint64_t four;

	for (; n >= 4; n -= 4, in += 8, out += 8) {
		memcpy(&four, in, sizeof(four));
		four = (four >> 8 & low) | (four & low) << 8;
		memcpy(out, &four, sizeof(four));
	}
	for (; n; n--, in += 2, out += 2) {
		uint8_t first = in[0];

		out[0] = in[1];
		out[1] = first;
	}
}

static void row_u16(const struct row *r)
{
	size_t step = 2 * (size_t)r->shape->channels;

	if (is_dense(r, 2)) {
		swap_dense(r->base, values_of(r), r->out);
		return;
	}
	for (unsigned c = 0; c < r->shape->channels; c++) {
		const uint8_t *in = r->base + r->px->channel[c];
		uint8_t *out = r->out + 2 * (size_t)c;

		for (uint32_t x = 0; x < r->shape->width; x++, out += step) {
			out[0] = in[1];
			out[1] = in[0];
			in += r->px->stride_x;
		}
	}
}

static void row_inverted_u16(const struct row *r)
{
	size_t n = 2 * values_of(r);

	row_u16(r);
	for (size_t i = 0; i < n; i++)
		r->out[i] = (uint8_t)~r->out[i];
}

/* ---- loading a run of values as doubles ---- */
typedef void load_fn(const uint8_t *in, int64_t stride, size_t n, double *v);

#define DEFINE_LOAD(name, type, value)                                         \
	static void load_##name(const uint8_t *in, int64_t stride, size_t n,   \
				double *v)                                     \
	{                                                                      \
		type x;                                                        \
                                                                               \
		for (size_t i = 0; i < n; i++) {                               \
			memcpy(&x, in + (int64_t)i * stride, sizeof(x));       \
			v[i] = (double)(value);                                \
		}                                                              \
	}
DEFINE_LOAD(u1, uint8_t, x)
DEFINE_LOAD(u2, uint16_t, x)
DEFINE_LOAD(u4, uint32_t, x)
DEFINE_LOAD(u8, uint64_t, x)
DEFINE_LOAD(i1, int8_t, x)
DEFINE_LOAD(i2, int16_t, x)
DEFINE_LOAD(i4, int32_t, x)
DEFINE_LOAD(i8, int64_t, x)
DEFINE_LOAD(f2, uint16_t, half_to_double(x))
DEFINE_LOAD(f4, float, x)
DEFINE_LOAD(f8, double, x)
DEFINE_LOAD(f16, long double, x)
DEFINE_LOAD(u4_unless_ones, uint32_t, x == UINT32_MAX ? (double)NAN : x)
DEFINE_LOAD(u8_unless_ones, uint64_t, x == UINT64_MAX ? (double)NAN : (double)x)

struct source {
	enum desc_num num;
	unsigned size;
	load_fn *load, *load_present;
};
/* load_present: without what the type itself says is missing. */
static const struct source sources[] = {
	{ NUM_UINT, 1, load_u1, load_u1 },
	{ NUM_UINT, 2, load_u2, load_u2 },
	{ NUM_UINT, 4, load_u4, load_u4_unless_ones },
	{ NUM_UINT, 8, load_u8, load_u8_unless_ones },
	{ NUM_INT, 1, load_i1, load_i1 },
	{ NUM_INT, 2, load_i2, load_i2 },
	{ NUM_INT, 4, load_i4, load_i4 },
	{ NUM_INT, 8, load_i8, load_i8 },
	{ NUM_FLOAT, 2, load_f2, load_f2 },
	{ NUM_FLOAT, 4, load_f4, load_f4 },
	{ NUM_FLOAT, 8, load_f8, load_f8 },
	{ NUM_FLOAT, 16, load_f16, load_f16 },
	{ NUM_BOOL, 1, load_u1, load_u1 },
	{ NUM_BOOL, 2, load_u2, load_u2 },
	{ NUM_BOOL, 4, load_u4, load_u4 },
	{ NUM_BOOL, 8, load_u8, load_u8 },
};

static const struct source *source_find(const struct pixels *px)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i].num == px->num &&
		    sources[i].size == px->num_size)
			return &sources[i];
	return NULL;
}

/* What turns stored values into present ones. */
struct loader {
	load_fn *load;
	bool has_fill;
	double fill;
	double wrap; /* not 0: added to what is negative, unsigned in truth */
};

static struct loader loader_of(const struct source *s, const struct norm *n)
{
	struct loader l = { s->load_present, n->has_fill, n->fill, 0 };

	if (n->packed && n->kind == NORM_RANGE && s->num == NUM_INT)
		l.wrap = ldexp(1, (int)(8 * s->size));
	return l;
}

/* The fill value is compared as it is stored, signed. */
static void load_present(const struct loader *l, const uint8_t *in,
			 int64_t stride, size_t n, double *v)
{
	l->load(in, stride, n, v);
	for (size_t i = 0; l->has_fill && i < n; i++)
		v[i] = v[i] == l->fill ? (double)NAN : v[i];
	for (size_t i = 0; l->wrap != 0 && i < n; i++)
		v[i] = v[i] < 0 ? v[i] + l->wrap : v[i];
}

/* ---- turning a run of doubles into 0..255 ---- */
/* NaN is below everything here. */
static double clamp(double v, double lo, double hi)
{
	v = v > lo ? v : lo;
	return v < hi ? v : hi;
}

static uint8_t round_to_u8(double v)
{
	return (uint8_t)(int)(v + 0.5);
}

typedef void tone_fn(const struct norm *norm, double *v, size_t n);

static void tone_unit(const struct norm *norm, double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = clamp(v[i], 0, 1) * 255;
}

static void tone_signed(const struct norm *norm, double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (clamp(v[i], -1, 1) + 1) / 2 * 255;
}

static void tone_byte(const struct norm *norm, double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = clamp(v[i], 0, 255);
}

static void tone_white(const struct norm *norm, double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = v[i] != 0 ? 255 : 0;
}

/* A range so wide that its width is infinite is looked at from half as far. */
static void tone_range(const struct norm *norm, double *v, size_t n)
{
	double scale = isinf(norm->hi - norm->lo) ? 0.5 : 1;
	double lo = norm->lo * scale, width = norm->hi * scale - lo;

	for (size_t i = 0; i < n; i++) {
		double x = clamp((v[i] * scale - lo) / width, 0, 1) * 255;

		x = v[i] == (double)INFINITY ? 255 : x;
		v[i] = v[i] == -(double)INFINITY ? 0 : x;
	}
}

/* Of a constant, or of no values at all, only +inf can be told. */
static void tone_minmax(const struct norm *norm, double *v, size_t n)
{
	if (!norm->empty && norm->hi > norm->lo) {
		tone_range(norm, v, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		v[i] = v[i] == (double)INFINITY ? 255 : 0;
}

/* ---- rows of all other values ---- */
struct rule {
	row_fn *bytes; /* 1-byte values to 8 bits */
	row_fn *words; /* 2-byte values to 16 bits */
	tone_fn *tone; /* any values to 8 bits */
	bool verbatim; /* no value is missing */
};
static const struct rule rules[] = {
	[NORM_BINARY] = { row_white_u8, NULL, tone_white, true },
	[NORM_BINARY_RGB] = { row_white_u8, NULL, tone_white, true },
	[NORM_U8] = { row_u8, NULL, tone_byte, true },
	[NORM_U16] = { NULL, row_u16, NULL, true },
	[NORM_INVERTED] = { row_inverted_u8, row_inverted_u16, NULL, true },
	[NORM_RANGE] = { NULL, NULL, tone_range, false },
	[NORM_INT_U8] = { NULL, NULL, tone_byte, false },
	[NORM_INT_U16] = { NULL, NULL, NULL, false },
	[NORM_INT_MINMAX] = { NULL, NULL, tone_minmax, false },
	[NORM_FLOAT_UNIT] = { NULL, NULL, tone_unit, false },
	[NORM_FLOAT_SIGNED] = { NULL, NULL, tone_signed, false },
	[NORM_FLOAT_BYTE] = { NULL, NULL, tone_byte, false },
	[NORM_FLOAT_WHOLE] = { NULL, NULL, tone_byte, false },
	[NORM_FLOAT_MINMAX] = { NULL, NULL, tone_minmax, false },
	[NORM_PALETTE] = { row_palette_u8, NULL, NULL, true },
};

static void put_u8(const double *v, size_t n, uint8_t *out, size_t step)
{
	for (size_t i = 0; i < n; i++)
		out[i * step] = round_to_u8(v[i]);
}

static void put_u16(const double *v, size_t n, uint8_t *out, size_t step)
{
	for (size_t i = 0; i < n; i++) {
		unsigned x = (unsigned)clamp(v[i], 0, 65535);

		out[i * step] = (uint8_t)(x >> 8);
		out[i * step + 1] = (uint8_t)x;
	}
}

static void put_index(const double *v, size_t n, uint8_t last, uint8_t *out,
		      size_t step)
{
	for (size_t i = 0; i < n; i++)
		out[i * step] = (uint8_t)clamp(v[i], 0, last);
}

/* One channel of a run that begins at pixel x. */
static void convert_run(const struct row *r, const struct rule *rule,
			const struct loader *l, uint32_t x, unsigned c,
			size_t n)
{
	size_t size = r->shape->bits / 8, step = size * r->shape->channels;
	uint8_t *out = r->out + x * step + c * size;
	const uint8_t *in =
		r->base + (int64_t)x * r->px->stride_x + r->px->channel[c];
	double v[RUN];

	load_present(l, in, r->px->stride_x, n, v);
	if (size == 2) {
		put_u16(v, n, out, step);
	} else if (rule->tone) {
		rule->tone(r->norm, v, n);
		put_u8(v, n, out, step);
	} else {
		put_index(v, n, last_colour(r), out, step);
	}
}

static void row_converted(const struct row *r, const struct rule *rule,
			  const struct source *s)
{
	struct loader l = loader_of(s, r->norm);
	uint32_t width = r->shape->width;

	if (rule->verbatim)
		l = (struct loader){ s->load, false, 0, 0 };
	for (uint32_t x = 0, n; x < width; x += n) {
		n = width - x < RUN ? width - x : RUN;
		for (unsigned c = 0; c < r->shape->channels; c++)
			convert_run(r, rule, &l, x, c, n);
	}
}

/* ---- rows of bits: the first pixel is the highest bit, white is 1 ---- */
static void pack_bits(const uint8_t *white, size_t n, uint8_t *out)
{
	for (; n >= 8; n -= 8, white += 8) {
		unsigned bits = 0;

		for (unsigned k = 0; k < 8; k++)
			bits = bits << 1 | (white[k] != 0);
		*out++ = (uint8_t)bits;
	}
	if (n) {
		unsigned bits = 0;

		for (unsigned k = 0; k < n; k++)
			bits |= (white[k] != 0) << (7 - k);
		*out = (uint8_t)bits;
	}
}

/* Runs are turned into 0/255 as a picture of their own, RUN being whole bytes. */
static void row_bits(const struct row *r, const struct rule *rule,
		     const struct source *s)
{
	struct png_shape shape = *r->shape;
	uint8_t white[RUN];
	struct row run = { &shape, r->px, r->norm, r->base, white };

	if (s->size == 1 && r->px->stride_x == 1) {
		pack_bits(r->base + r->px->channel[0], shape.width, r->out);
		return;
	}
	shape.bits = 8;
	for (uint32_t x = 0; x < r->shape->width; x += shape.width) {
		shape.width = r->shape->width - x;
		shape.width = shape.width < RUN ? shape.width : RUN;
		run.base = r->base + (int64_t)x * r->px->stride_x;
		row_converted(&run, rule, s);
		pack_bits(white, shape.width, r->out + x / 8);
	}
}

/* A pair of norm and shape that do not belong together is black. */
static bool fits(const struct png_shape *p, const struct norm *n,
		 const struct pixels *px, const struct rule *rule)
{
	switch (p->bits) {
	case 1:
		return n->kind == NORM_BINARY;
	case 8:
		return rule->tone || (rule->bytes && px->num_size == 1) ||
		       n->kind == NORM_PALETTE;
	case 16:
		return n->kind == NORM_U16 || n->kind == NORM_INT_U16 ||
		       (rule->words && px->num_size == 2);
	}
	return false;
}

void raster_row(const struct png_shape *p, const struct pixels *px,
		const struct norm *n, uint32_t y, uint8_t *out)
{
	struct row r = { p, px, n, px->base + (int64_t)y * px->stride_y, out };
	const struct rule *rule = &rules[n->kind];
	const struct source *s;

	if (p->bits == 8 && px->num_size == 1 && rule->bytes) {
		rule->bytes(&r);
		return;
	}
	if (p->bits == 16 && px->num_size == 2 && rule->words) {
		rule->words(&r);
		return;
	}
	s = source_find(px);
	if (!s || !fits(p, n, px, rule))
		memset(out, 0, png_row_bytes(p));
	else if (p->bits == 1)
		row_bits(&r, rule, s);
	else
		row_converted(&r, rule, s);
}

int raster_range(const struct png_shape *p, const struct pixels *px,
		 const struct norm *n, double *ret_lo, double *ret_hi)
{
	const struct source *s = source_find(px);
	double v[RUN], lo = INFINITY, hi = -INFINITY;
	struct loader l;

	if (!s)
		return -ENODATA;
	l = loader_of(s, n);
	for (uint32_t y = 0; y < p->height; y++)
		for (unsigned c = 0; c < p->channels; c++)
			for (uint32_t x = 0, k; x < p->width; x += k) {
				k = p->width - x < RUN ? p->width - x : RUN;
				load_present(&l,
					     px->base + px->channel[c] +
						     (int64_t)y * px->stride_y +
						     (int64_t)x * px->stride_x,
					     px->stride_x, k, v);
				for (uint32_t i = 0; i < k; i++) {
					if (!isfinite(v[i]))
						continue;
					lo = v[i] < lo ? v[i] : lo;
					hi = v[i] > hi ? v[i] : hi;
				}
			}
	if (lo > hi)
		return -ENODATA;
	*ret_lo = lo;
	*ret_hi = hi;
	return 0;
}
