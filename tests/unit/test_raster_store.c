/* SPDX-License-Identifier: MIT */
/* test_raster_store.c - what is shown as a picture is stored from it again. */
#include <math.h>

#include "h5fs/image.h"

#include "check.h"

struct subject {
	enum norm_kind kind;
	unsigned bits;
	enum desc_num num;
	unsigned size;
};
static const struct subject subjects[] = {
	{ NORM_BINARY, 1, NUM_BOOL, 1 },
	{ NORM_BINARY, 1, NUM_UINT, 1 },
	{ NORM_BINARY, 1, NUM_FLOAT, 8 },
	{ NORM_BINARY_RGB, 8, NUM_BOOL, 1 },
	{ NORM_U8, 8, NUM_UINT, 1 },
	{ NORM_U8, 8, NUM_INT, 1 },
	{ NORM_U16, 16, NUM_UINT, 2 },
	{ NORM_U16, 16, NUM_INT, 2 },
	{ NORM_INVERTED, 8, NUM_UINT, 1 },
	{ NORM_INVERTED, 16, NUM_UINT, 2 },
	{ NORM_INT_U8, 8, NUM_INT, 2 },
	{ NORM_INT_U8, 8, NUM_INT, 4 },
	{ NORM_INT_U8, 8, NUM_UINT, 4 },
	{ NORM_INT_U8, 8, NUM_INT, 8 },
	{ NORM_INT_U8, 8, NUM_UINT, 8 },
	{ NORM_INT_U16, 16, NUM_INT, 4 },
	{ NORM_INT_U16, 16, NUM_UINT, 4 },
	{ NORM_INT_U16, 16, NUM_INT, 8 },
	{ NORM_INT_U16, 16, NUM_UINT, 8 },
	{ NORM_FLOAT_UNIT, 8, NUM_FLOAT, 2 },
	{ NORM_FLOAT_UNIT, 8, NUM_FLOAT, 4 },
	{ NORM_FLOAT_UNIT, 8, NUM_FLOAT, 8 },
	{ NORM_FLOAT_UNIT, 8, NUM_FLOAT, 16 },
	{ NORM_FLOAT_SIGNED, 8, NUM_FLOAT, 2 },
	{ NORM_FLOAT_SIGNED, 8, NUM_FLOAT, 4 },
	{ NORM_FLOAT_SIGNED, 8, NUM_FLOAT, 8 },
	{ NORM_FLOAT_BYTE, 8, NUM_FLOAT, 2 },
	{ NORM_FLOAT_BYTE, 8, NUM_FLOAT, 4 },
	{ NORM_FLOAT_WHOLE, 8, NUM_FLOAT, 8 },
	{ NORM_PALETTE, 8, NUM_UINT, 1 },
	{ NORM_PALETTE, 8, NUM_INT, 4 },
};

/* All values that the rule can show, in 256 rows at most. */
static void every_value(const struct subject *s, unsigned channels,
			struct picture *ret_picture)
{
	struct picture p = { .channels = channels };
	size_t n;

	p.bits = s->bits == 16 ? 16 : 8;
	p.depth = s->bits;
	p.width = 256;
	p.height = s->bits == 16 ? 256 : 4;
	n = (size_t)p.width * p.height * channels;
	CHECK_EQ(blob_new(n * p.bits / 8, &p.pixels), 0);
	for (size_t i = 0; i < n; i++) {
		uint16_t v = (uint16_t)(i / channels + i % channels * 77);

		if (p.bits == 16)
			memcpy(p.pixels->data + 2 * i, &v, 2);
		else if (s->kind == NORM_BINARY)
			p.pixels->data[i] = hash_mix(i, 7) & 1;
		else if (s->kind == NORM_BINARY_RGB)
			p.pixels->data[i] = hash_mix(i, 7) & 1 ? 255 : 0;
		else
			p.pixels->data[i] = (uint8_t)v;
	}
	*ret_picture = p;
}

/* Planes of channels from the bottom up, right to left: no stride is plain. */
static void place(const struct subject *s, const struct picture *p,
		  uint8_t *buf, struct pixels_out *px)
{
	int64_t plane = (int64_t)p->width * p->height * s->size;

	*px = (struct pixels_out){ .num = s->num, .num_size = s->size };
	px->stride_x = -(int64_t)s->size;
	px->stride_y = -(int64_t)p->width * s->size;
	px->base = buf + plane - s->size;
	for (unsigned c = 0; c < p->channels; c++)
		px->channel[c] = c * plane;
}

static struct blob *render(const struct subject *s, const struct picture *p,
			   const struct norm *n, const struct pixels_out *out)
{
	struct png_shape shape = { p->width, p->height, p->channels,
				   n->bits,  NULL,	0 };
	struct pixels px = { .base = out->base,
			     .stride_x = out->stride_x,
			     .stride_y = out->stride_y,
			     .num = s->num,
			     .num_size = s->size };
	struct blob *b = NULL;

	memcpy(px.channel, out->channel, sizeof(px.channel));
	CHECK_EQ(png_stored_render(&shape, &px, n, &b), 0);
	return b;
}

static bool same_pixels(const struct picture *a, const struct picture *b)
{
	return a->width == b->width && a->height == b->height &&
	       a->channels == b->channels && a->bits == b->bits &&
	       !memcmp(a->pixels->data, b->pixels->data, a->pixels->size);
}

static void round_trip(const struct subject *s, unsigned channels)
{
	CLEANUP(picture_done) struct picture p = { 0 }, back = { 0 };
	CLEANUP(blob_unrefp) struct blob *png = NULL;
	CLEANUP(freep) uint8_t *first = NULL, *second = NULL;
	CLEANUP(freep) char *why = NULL;
	struct norm n = { .kind = s->kind, .bits = s->bits };
	struct pixels_out px;
	size_t size;

	every_value(s, channels, &p);
	size = (size_t)p.width * p.height * channels * s->size;
	first = malloc(size);
	second = malloc(size);
	memset(first, 0xa5, size);
	memset(second, 0x5a, size);
	place(s, &p, first, &px);
	CHECK_EQ(raster_store(&p, &n, false, &px, &why), 0);
	png = render(s, &p, &n, &px);
	CHECK_EQ(picture_decode(png->data, png->size, NULL, &back, &why), 0);
	CHECK(back.pixels && same_pixels(&p, &back));
	place(s, &p, second, &px);
	CHECK_EQ(raster_store(&back, &n, false, &px, &why), 0);
	CHECK(!memcmp(first, second, size));
	if (why)
		printf("%s of size %u: %s\n", norm_name(s->kind), s->size, why);
}

static void every_rule_every_value(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		round_trip(&subjects[i], 1);
		if (subjects[i].bits != 1)
			round_trip(&subjects[i], 3);
	}
}

/* One row of grey. */
static int store(enum norm_kind kind, unsigned bits, enum desc_num num,
		 unsigned size, const uint8_t *pixels, unsigned n, bool keep,
		 void *out, const double *fill)
{
	CLEANUP(picture_done)
	struct picture p = { .width = n, .height = 1, .channels = 1 };
	CLEANUP(freep) char *why = NULL;
	struct norm norm = { .kind = kind, .bits = bits };
	struct pixels_out px = {
		.base = out, .stride_x = size, .num = num, .num_size = size
	};
	int r;

	p.bits = p.depth = bits == 16 ? 16 : 8;
	if (fill) {
		norm.has_fill = true;
		norm.fill = *fill;
	}
	CHECK_EQ(blob_from(pixels, n * p.bits / 8, &p.pixels), 0);
	r = raster_store(&p, &norm, keep, &px, &why);
	CHECK(r == 0 || why);
	return r;
}

static void values_are_as_the_rules_say(void)
{
	static const uint8_t in[] = { 0, 51, 255 };
	float f[3];
	int32_t i[3];
	uint8_t u[3];

	CHECK_EQ(store(NORM_FLOAT_UNIT, 8, NUM_FLOAT, 4, in, 3, false, f, NULL),
		 0);
	CHECK(f[0] == 0 && f[1] == 0.2f && f[2] == 1);
	CHECK_EQ(store(NORM_FLOAT_SIGNED, 8, NUM_FLOAT, 4, in, 3, false, f,
		       NULL),
		 0);
	CHECK(f[0] == -1 && f[1] == -0.6f && f[2] == 1);
	CHECK_EQ(store(NORM_INT_U8, 8, NUM_INT, 4, in, 3, false, i, NULL), 0);
	CHECK(i[0] == 0 && i[1] == 51 && i[2] == 255);
	CHECK_EQ(store(NORM_INVERTED, 8, NUM_UINT, 1, in, 3, false, u, NULL),
		 0);
	CHECK(u[0] == 255 && u[1] == 204 && u[2] == 0);
	CHECK_EQ(store(NORM_BINARY, 1, NUM_BOOL, 1,
		       (const uint8_t[]){ 0, 1, 255 }, 3, false, u, NULL),
		 0);
	CHECK(u[0] == 0 && u[1] == 1 && u[2] == 1);
}

static void what_did_not_change_is_kept(void)
{
	float f[4] = { 0.2001f, NAN, 0.5f, 0.999f };
	double d[2] = { 7.3, 9.1 };

	/* Shown as 51, 0, 128, 255; the third becomes 0. */
	CHECK_EQ(store(NORM_FLOAT_UNIT, 8, NUM_FLOAT, 4,
		       (const uint8_t[]){ 51, 0, 0, 255 }, 4, true, f, NULL),
		 0);
	CHECK(f[0] == 0.2001f && isnan(f[1]) && f[2] == 0 && f[3] == 0.999f);
	CHECK_EQ(store(NORM_FLOAT_BYTE, 8, NUM_FLOAT, 8,
		       (const uint8_t[]){ 7, 10 }, 2, true, d, NULL),
		 0);
	CHECK(d[0] == 7.3 && d[1] == 10);
	CHECK_EQ(store(NORM_FLOAT_BYTE, 8, NUM_FLOAT, 8,
		       (const uint8_t[]){ 7, 10 }, 2, false, d, NULL),
		 0);
	CHECK(d[0] == 7);
}

static void what_a_rule_cannot_give_is_refused(void)
{
	static const uint8_t v[] = { 7, 200, 0 };
	double fill = 200;
	uint64_t out[8];

	CHECK_EQ(store(NORM_INT_U8, 8, NUM_INT, 1, v, 3, false, out, NULL),
		 -EINVAL);
	CHECK_EQ(store(NORM_INT_U8, 8, NUM_INT, 4, v, 3, false, out, NULL), 0);
	CHECK_EQ(store(NORM_INT_U8, 8, NUM_INT, 4, v, 3, false, out, &fill),
		 -EINVAL);
	fill = 0;
	CHECK_EQ(store(NORM_INT_U8, 8, NUM_INT, 4, v, 3, false, out, &fill), 0);
	CHECK_EQ(store(NORM_BINARY, 1, NUM_BOOL, 1, v, 3, false, out, NULL),
		 -EINVAL);
	CHECK_EQ(store(NORM_BINARY_RGB, 8, NUM_BOOL, 1, v, 3, false, out, NULL),
		 -EINVAL);
	CHECK_EQ(store(NORM_U8, 8, NUM_UINT, 3, v, 3, false, out, NULL),
		 -EOPNOTSUPP);
	for (int k = NORM_BINARY; k <= NORM_PALETTE; k++)
		if (!norm_is_invertible((enum norm_kind)k))
			CHECK_EQ(store((enum norm_kind)k, 8, NUM_FLOAT, 4, v, 3,
				       false, out, NULL),
				 -EOPNOTSUPP);
}

static void every_invertible_rule_is_tried(void)
{
	for (int k = NORM_BINARY; k <= NORM_PALETTE; k++) {
		bool tried = false;

		for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
			tried |= subjects[i].kind == (enum norm_kind)k;
		CHECK_EQ(tried, norm_is_invertible((enum norm_kind)k));
	}
}

int main(void)
{
	RUN(every_rule_every_value);
	RUN(values_are_as_the_rules_say);
	RUN(what_did_not_change_is_kept);
	RUN(what_a_rule_cannot_give_is_refused);
	RUN(every_invertible_rule_is_tried);
	return CHECK_RESULT();
}
