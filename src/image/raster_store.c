/* SPDX-License-Identifier: MIT */
/* raster_store.c - the inverse of raster.c: the values that are shown as the
 * pixels of a picture. What was stored is shown again and compared, so that no
 * rule can be misunderstood here. */
#include <math.h>

#include "image_int.h"

struct storing {
	const struct picture *p;
	const struct norm *norm;
	const struct pixels_out *px;
	struct png_shape shape;
	struct pixels as_shown; /* the same values, to be looked at */
	uint8_t *row;		/* of what is shown */
};

/* ---- pixels to the values that they stand for ---- */
typedef double value_fn(double pixel, double white);

static double value_same(double pixel, double white)
{
	return pixel;
}

static double value_inverted(double pixel, double white)
{
	return white - pixel;
}

static double value_true(double pixel, double white)
{
	return pixel != 0;
}

static double value_unit(double pixel, double white)
{
	return pixel / white;
}

static double value_signed(double pixel, double white)
{
	return pixel / white * 2 - 1;
}

static value_fn *const values[] = {
	[NORM_BINARY] = value_true,
	[NORM_BINARY_RGB] = value_true,
	[NORM_U8] = value_same,
	[NORM_U16] = value_same,
	[NORM_INVERTED] = value_inverted,
	[NORM_INT_U8] = value_same,
	[NORM_INT_U16] = value_same,
	[NORM_FLOAT_UNIT] = value_unit,
	[NORM_FLOAT_SIGNED] = value_signed,
	[NORM_FLOAT_BYTE] = value_same,
	[NORM_FLOAT_WHOLE] = value_same,
	[NORM_PALETTE] = value_same,
};

/* ---- values to elements: what does not fit is cut, and found out later ---- */
typedef void store_fn(double v, uint8_t *out);

#define DEFINE_STORE(name, type, least, most)                                  \
	static void store_##name(double v, uint8_t *out)                       \
	{                                                                      \
		type x = (type)(v < (least)  ? (least)                         \
				: v > (most) ? (most)                          \
					     : v);                             \
                                                                               \
		memcpy(out, &x, sizeof(x));                                    \
	}
DEFINE_STORE(u1, uint8_t, 0, UINT8_MAX)
DEFINE_STORE(u2, uint16_t, 0, UINT16_MAX)
DEFINE_STORE(u4, uint32_t, 0, UINT16_MAX)
DEFINE_STORE(u8, uint64_t, 0, UINT16_MAX)
DEFINE_STORE(i1, int8_t, INT8_MIN, INT8_MAX)
DEFINE_STORE(i2, int16_t, INT16_MIN, INT16_MAX)
DEFINE_STORE(i4, int32_t, INT16_MIN, UINT16_MAX)
DEFINE_STORE(i8, int64_t, INT16_MIN, UINT16_MAX)
DEFINE_STORE(f4, float, INT16_MIN, UINT16_MAX)
DEFINE_STORE(f8, double, INT16_MIN, UINT16_MAX)

static void store_f2(double v, uint8_t *out)
{
	uint16_t h = double_to_half(v);

	memcpy(out, &h, sizeof(h));
}

static void store_f16(double v, uint8_t *out)
{
	long double x = v;

	memset(out, 0, sizeof(x));
	memcpy(out, &x, 10); /* the rest is padding */
}

static const struct sink {
	enum desc_num num;
	unsigned size;
	store_fn *store;
} sinks[] = {
	{ NUM_UINT, 1, store_u1 },  { NUM_UINT, 2, store_u2 },
	{ NUM_UINT, 4, store_u4 },  { NUM_UINT, 8, store_u8 },
	{ NUM_INT, 1, store_i1 },   { NUM_INT, 2, store_i2 },
	{ NUM_INT, 4, store_i4 },   { NUM_INT, 8, store_i8 },
	{ NUM_FLOAT, 2, store_f2 }, { NUM_FLOAT, 4, store_f4 },
	{ NUM_FLOAT, 8, store_f8 }, { NUM_FLOAT, 16, store_f16 },
	{ NUM_BOOL, 1, store_u1 },  { NUM_BOOL, 2, store_u2 },
	{ NUM_BOOL, 4, store_u4 },  { NUM_BOOL, 8, store_u8 },
};

static store_fn *sink_find(const struct pixels_out *px)
{
	for (size_t i = 0; i < ARRAY_SIZE(sinks); i++)
		if (sinks[i].num == px->num && sinks[i].size == px->num_size)
			return sinks[i].store;
	return NULL;
}

/* ---- a pixel, in the picture and as it is shown ---- */
static unsigned wanted(const struct storing *s, uint32_t x, uint32_t y,
		       unsigned c)
{
	const struct picture *p = s->p;
	size_t i = ((size_t)y * p->width + x) * p->channels + c;
	uint16_t v;

	if (s->shape.bits == 1 && p->pixels->data[i] == 255)
		return 1;
	if (p->bits == 8)
		return p->pixels->data[i];
	memcpy(&v, p->pixels->data + 2 * i, sizeof(v));
	return v;
}

static unsigned shown(const struct storing *s, uint32_t x, unsigned c)
{
	size_t i = (size_t)x * s->shape.channels + c;

	switch (s->shape.bits) {
	case 1:
		return s->row[x / 8] >> (7 - x % 8) & 1;
	case 8:
		return s->row[i];
	default:
		return (unsigned)s->row[2 * i] << 8 | s->row[2 * i + 1];
	}
}

static void show_row(const struct storing *s, uint32_t y)
{
	raster_row(&s->shape, &s->as_shown, s->norm, y, s->row);
}

/* ---- rows ---- */
static void store_row(const struct storing *s, store_fn *store, bool keep,
		      uint32_t y)
{
	const struct pixels_out *px = s->px;
	double white = s->p->bits == 16 ? 65535 : 255;
	uint8_t *row = px->base + (int64_t)y * px->stride_y;

	if (keep)
		show_row(s, y);
	for (unsigned c = 0; c < s->p->channels; c++) {
		uint8_t *out = row + px->channel[c];

		for (uint32_t x = 0; x < s->p->width;
		     x++, out += px->stride_x) {
			unsigned v = wanted(s, x, y, c);

			if (!keep || shown(s, x, c) != v)
				store(values[s->norm->kind](v, white), out);
		}
	}
}

static int check_row(const struct storing *s, uint32_t y, char **ret_why)
{
	show_row(s, y);
	for (uint32_t x = 0; x < s->p->width; x++)
		for (unsigned c = 0; c < s->p->channels; c++)
			if (shown(s, x, c) != wanted(s, x, y, c))
				return picture_why(
					ret_why, -EINVAL,
					"its value %u at (%u, %u) cannot be "
					"stored: the rule \"%s\" would show it "
					"as %u",
					wanted(s, x, y, c), x, y,
					norm_name(s->norm->kind),
					shown(s, x, c));
	return 0;
}

/* Values that are pixels: nothing to convert, to keep or to check. */
static bool is_verbatim(const struct storing *s)
{
	enum norm_kind k = s->norm->kind;

	return ((k == NORM_U8 || k == NORM_PALETTE) && s->px->num_size == 1) ||
	       (k == NORM_U16 && s->px->num_size == 2);
}

static void copy_row(const struct storing *s, uint32_t y)
{
	const struct picture *p = s->p;
	const struct pixels_out *px = s->px;
	size_t size = p->bits / 8, step = picture_pixel_bytes(p);

	for (unsigned c = 0; c < p->channels; c++) {
		const uint8_t *in =
			p->pixels->data + y * picture_row_bytes(p) + c * size;
		uint8_t *out =
			px->base + (int64_t)y * px->stride_y + px->channel[c];

		for (uint32_t x = 0; x < p->width; x++) {
			out[0] = in[0];
			if (size == 2)
				out[1] = in[1];
			in += step;
			out += px->stride_x;
		}
	}
}

static bool fits(const struct storing *s)
{
	unsigned bits = s->shape.bits == 16 ? 16 : 8;

	return s->p->bits == bits && !s->p->ncolours;
}

int raster_store(const struct picture *p, const struct norm *n, bool keep,
		 const struct pixels_out *px, char **ret_why)
{
	CLEANUP(freep) uint8_t *row = NULL;
	struct storing s = {
		.p = p,
		.norm = n,
		.px = px,
		.shape = { p->width, p->height, p->channels, n->bits, NULL, 0 },
		.as_shown = { px->base,
			      px->stride_y,
			      px->stride_x,
			      { px->channel[0], px->channel[1], px->channel[2],
				px->channel[3] },
			      px->num,
			      px->num_size },
	};
	store_fn *store = sink_find(px);
	int r;

	if (!norm_is_invertible(n->kind) || !store)
		return picture_why(ret_why, -EOPNOTSUPP,
				   "the rule \"%s\" cannot be inverted",
				   norm_name(n->kind));
	if (!fits(&s))
		return picture_why(ret_why, -EINVAL,
				   "a picture of %u bits, where %u are shown",
				   p->bits, n->bits);
	row = malloc(png_row_bytes(&s.shape));
	if (!row)
		return -ENOMEM;
	s.row = row;
	for (uint32_t y = 0; y < p->height; y++) {
		if (is_verbatim(&s)) {
			copy_row(&s, y);
			continue;
		}
		store_row(&s, store, keep, y);
		r = check_row(&s, y, ret_why);
		if (r < 0)
			return r;
	}
	return 0;
}
