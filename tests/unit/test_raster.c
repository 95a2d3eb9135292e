/* SPDX-License-Identifier: MIT */
/* test_raster.c - each norm shows values as its rule says. */
#include <math.h>

#include "h5fs/image.h"

#include "check.h"

#define MAX_VALUES 16

/* A row of n grey values of this type gives these bytes. */
static void check_row(enum desc_num num, unsigned num_size, const void *values,
		      unsigned n, unsigned bits, const struct norm *norm,
		      const uint8_t *want)
{
	struct png_shape p = { n, 1, 1, bits, NULL, 0 };
	struct pixels px = { .base = values, .stride_x = num_size, .num = num,
			     .num_size = num_size };
	uint8_t got[2 * MAX_VALUES];

	raster_row(&p, &px, norm, 0, got);
	for (unsigned i = 0; i < png_row_bytes(&p); i++)
		CHECK_EQ(got[i], want[i]);
}

#define CHECK_ROW(ctype, num, bits, norm, values, ...)                         \
	do {                                                                   \
		static const ctype in_[] = values;                             \
		static const uint8_t want_[] = { __VA_ARGS__ };                \
		check_row(num, sizeof(ctype), in_, ARRAY_SIZE(in_), bits,      \
			  norm, want_);                                        \
	} while (0)
#define V(...) { __VA_ARGS__ }

static void verbatim(void)
{
	struct norm n = { .kind = NORM_U8 };

	CHECK_ROW(uint8_t, NUM_UINT, 8, &n, V(0, 1, 254, 255), 0, 1, 254, 255);
	n.kind = NORM_U16;
	CHECK_ROW(uint16_t, NUM_UINT, 16, &n,
		  V(0, 1, 0x1234, 0xffff, 0x8000, 256), 0, 0, 0, 1, 0x12, 0x34,
		  0xff, 0xff, 0x80, 0, 1, 0);
	/* Signed bits that are unsigned. */
	CHECK_ROW(int16_t, NUM_INT, 16, &n, V(-1, INT16_MIN, 1), 0xff, 0xff,
		  0x80, 0, 0, 1);
}

static void inverted(void)
{
	struct norm n = { .kind = NORM_INVERTED };

	CHECK_ROW(uint8_t, NUM_UINT, 8, &n, V(0, 1, 255), 255, 254, 0);
	CHECK_ROW(uint16_t, NUM_UINT, 16, &n, V(0, 0x1234, 0xffff), 0xff, 0xff,
		  0xed, 0xcb, 0, 0);
}

static void binary(void)
{
	struct norm n = { .kind = NORM_BINARY };

	CHECK_ROW(uint8_t, NUM_BOOL, 1, &n,
		  V(1, 0, 0, 1, 2, 0, 0, 255, 0, 1, 1), 0x99, 0x60);
	CHECK_ROW(uint16_t, NUM_UINT, 1, &n, V(256, 0, 1), 0xa0);
	CHECK_ROW(double, NUM_FLOAT, 1, &n, V(0.0, -0.0, 0.1, (double)NAN),
		  0x30);
	CHECK_ROW(uint8_t, NUM_BOOL, 8, &n, V(0, 1), 0, 255);
	n.kind = NORM_BINARY_RGB;
	CHECK_ROW(uint8_t, NUM_BOOL, 8, &n, V(0, 1, 7), 0, 255, 255);
	CHECK_ROW(uint32_t, NUM_UINT, 8, &n, V(0, 1, UINT32_MAX), 0, 255, 255);
}

static void long_bit_rows(void)
{
	static uint16_t in[1003];
	struct norm n = { .kind = NORM_BINARY };
	struct png_shape p = { 1003, 1, 1, 1, NULL, 0 };
	struct pixels px = { .base = (const uint8_t *)(in + 1002),
			     .stride_x = -2, .num = NUM_UINT, .num_size = 2 };
	uint8_t got[126];

	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		in[i] = hash_mix(i, 1) % 3 == 0 ? 0x100 : 0;
	raster_row(&p, &px, &n, 0, got);
	for (size_t x = 0; x < 1003; x++)
		CHECK_EQ(got[x / 8] >> (7 - x % 8) & 1, in[1002 - x] != 0);
	CHECK_EQ(got[125] & 0x1f, 0);
}

static void integers_as_they_are(void)
{
	struct norm n = { .kind = NORM_INT_U8 };

	CHECK_ROW(int32_t, NUM_INT, 8, &n, V(-5, 0, 7, 255, 300), 0, 0, 7, 255,
		  255);
	CHECK_ROW(uint32_t, NUM_UINT, 8, &n, V(3, UINT32_MAX, 4000000000u), 3,
		  0, 255);
	CHECK_ROW(uint64_t, NUM_UINT, 8, &n,
		  V(3, UINT64_MAX, UINT64_MAX - 1), 3, 0, 255);
	CHECK_ROW(int64_t, NUM_INT, 8, &n, V(3, -1, INT64_MAX), 3, 0, 255);
	n.has_fill = true;
	n.fill = 99;
	CHECK_ROW(int64_t, NUM_INT, 8, &n, V(98, 99, 100), 98, 0, 100);
	n.kind = NORM_INT_U16;
	CHECK_ROW(int64_t, NUM_INT, 16, &n, V(98, 99, 0x1234, 70000, -3), 0, 98,
		  0, 0, 0x12, 0x34, 255, 255, 0, 0);
	CHECK_ROW(uint32_t, NUM_UINT, 16, &n, V(98, UINT32_MAX), 0, 98, 0, 0);
}

static void ranges(void)
{
	struct norm n = { .kind = NORM_RANGE, .lo = -1000, .hi = 1000 };

	/* 255 * 1001 / 2000 = 127.6275, 255 * 0.5 = 127.5 */
	CHECK_ROW(int16_t, NUM_INT, 8, &n, V(-2000, -1000, 0, 1, 1000, 1001), 0,
		  0, 128, 128, 255, 255);
	CHECK_ROW(float, NUM_FLOAT, 8, &n,
		  V((float)NAN, -INFINITY, INFINITY, 0, 999), 0, 0, 255, 128,
		  255);
	n.has_fill = true;
	n.fill = 500;
	CHECK_ROW(int16_t, NUM_INT, 8, &n, V(499, 500, 501), 191, 0, 191);
	n = (struct norm){ .kind = NORM_RANGE, .lo = 0, .hi = 255 };
	CHECK_ROW(uint8_t, NUM_UINT, 8, &n, V(0, 100, 255), 0, 100, 255);
	CHECK_ROW(uint16_t, NUM_UINT, 8, &n, V(65535, 100), 255, 100);
	CHECK_ROW(uint32_t, NUM_UINT, 8, &n, V(UINT32_MAX, 100), 0, 100);
	n = (struct norm){ .kind = NORM_RANGE, .lo = 10, .hi = 0 };
	CHECK_ROW(float, NUM_FLOAT, 8, &n, V(0, 10, INFINITY, -INFINITY), 255,
		  0, 255, 0);
	n = (struct norm){ .kind = NORM_RANGE, .lo = -1e308, .hi = 1e308 };
	CHECK_ROW(double, NUM_FLOAT, 8, &n, V(-1e308, 0, 1e308), 0, 128, 255);
}

static void packed_ranges(void)
{
	struct norm n = { .kind = NORM_RANGE, .lo = 0, .hi = 255,
			  .packed = true, .has_fill = true, .fill = -2 };

	CHECK_ROW(int8_t, NUM_INT, 8, &n, V(0, 127, -128, -1, -2), 0, 127, 128,
		  255, 0);
	n.hi = 65535;
	CHECK_ROW(int16_t, NUM_INT, 8, &n, V(0, -1, -2, INT16_MIN), 0, 255, 0,
		  128);
	n.hi = UINT32_MAX;
	CHECK_ROW(int32_t, NUM_INT, 8, &n, V(0, -1, -2, INT32_MIN), 0, 255, 0,
		  128);
}

static void minmax(void)
{
	struct norm n = { .kind = NORM_FLOAT_MINMAX, .lo = 2, .hi = 4 };

	CHECK_ROW(double, NUM_FLOAT, 8, &n,
		  V(2, 3, 4, 5, 1, (double)INFINITY, -(double)INFINITY,
		    (double)NAN),
		  0, 128, 255, 255, 0, 255, 0, 0);
	n.hi = 2;
	CHECK_ROW(double, NUM_FLOAT, 8, &n, V(2, 3, (double)INFINITY), 0, 0,
		  255);
	n = (struct norm){ .kind = NORM_FLOAT_MINMAX, .empty = true, .hi = 1 };
	CHECK_ROW(double, NUM_FLOAT, 8, &n, V(1, (double)INFINITY), 0, 255);
	n = (struct norm){ .kind = NORM_INT_MINMAX, .lo = -10, .hi = 245 };
	CHECK_ROW(int32_t, NUM_INT, 8, &n, V(-10, -9, 245, 999), 0, 1, 255,
		  255);
}

static void floats(void)
{
	struct norm n = { .kind = NORM_FLOAT_UNIT };

	CHECK_ROW(float, NUM_FLOAT, 8, &n,
		  V(-1, 0, 0.5f, 1, 2, INFINITY, -INFINITY, (float)NAN), 0, 0,
		  128, 255, 255, 255, 0, 0);
	CHECK_ROW(uint16_t, NUM_FLOAT, 8, &n,
		  V(0x3800, 0x3c00, 0x7c00, 0x7e00), 128, 255, 255, 0);
	CHECK_ROW(long double, NUM_FLOAT, 8, &n, V(0.25L, 1e4000L, 1), 64, 255,
		  255);
	n.kind = NORM_FLOAT_SIGNED;
	CHECK_ROW(float, NUM_FLOAT, 8, &n,
		  V(-1, 0, 1, 7, INFINITY, -INFINITY, (float)NAN), 0, 128, 255,
		  255, 255, 0, 0);
	n.kind = NORM_FLOAT_BYTE;
	CHECK_ROW(float, NUM_FLOAT, 8, &n,
		  V(-1, 0.49f, 0.5f, 1.5f, 254.5f, 300, INFINITY, (float)NAN),
		  0, 0, 1, 2, 255, 255, 255, 0);
	n.kind = NORM_FLOAT_WHOLE;
	CHECK_ROW(double, NUM_FLOAT, 8, &n, V(0, 3, 255), 0, 3, 255);
	n.has_fill = true;
	n.fill = 3;
	CHECK_ROW(double, NUM_FLOAT, 8, &n, V(0, 3, 255), 0, 0, 255);
}

static void palettes_are_clamped(void)
{
	static const uint8_t colours[9], in[] = { 0, 2, 3, 255 };
	static const int32_t wide[] = { 0, -1, 2, 1000 };
	struct png_shape p = { 4, 1, 1, 8, colours, 3 };
	struct pixels px = { .base = in, .stride_x = 1, .num = NUM_UINT,
			     .num_size = 1 };
	struct norm n = { .kind = NORM_PALETTE };
	uint8_t got[4];

	raster_row(&p, &px, &n, 0, got);
	CHECK(memcmp(got, "\0\2\2\2", 4) == 0);
	px = (struct pixels){ .base = (const uint8_t *)wide, .stride_x = 4,
			      .num = NUM_INT, .num_size = 4 };
	raster_row(&p, &px, &n, 0, got);
	CHECK(memcmp(got, "\0\0\2\2", 4) == 0);
}

/* ---- where values lie ---- */
/* Every way through one small picture of h x w x c values. */
static void check_strides(unsigned size, unsigned channels,
			  enum norm_kind kind, unsigned bits)
{
	enum { H = 5, W = 300 };
	static uint8_t in[H * W * 4 * 4];
	struct png_shape p = { W, H, channels, bits, NULL, 0 };
	struct norm n = { .kind = kind };
	int64_t s = size, ch = channels;
	const struct pixels ways[] = {
		{ NULL, W * ch * s, ch * s, { 0, s, 2 * s, 3 * s }, 0, 0 },
		{ NULL, W * s, s,
		  { 0, H * W * s, 2 * H * W * s, 3 * H * W * s }, 0, 0 },
		{ NULL, s, H * s,
		  { 0, H * W * s, 2 * H * W * s, 3 * H * W * s }, 0, 0 },
		{ NULL, W * ch * s, ch * s,
		  { (ch - 1) * s, (ch - 2) * s, (ch - 3) * s, (ch - 4) * s },
		  0, 0 },
		{ NULL, -W * ch * s, -ch * s, { 0, s, 2 * s, 3 * s }, 0, 0 },
		{ NULL, 0, 0, { 0, s, 2 * s, 3 * s }, 0, 0 },
	};
	uint8_t got[W * 4 * 2];

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(hash_mix(i, 5) >> 9);
	for (size_t k = 0; k < ARRAY_SIZE(ways); k++) {
		struct pixels px = ways[k];
		size_t wrong = 0;

		px.base = in + (px.stride_x < 0 ? (H * W - 1) * ch * s : 0);
		px.num = NUM_UINT;
		px.num_size = size;
		for (uint32_t y = 0; y < H; y++) {
			raster_row(&p, &px, &n, y, got);
			for (size_t i = 0; i < W * channels; i++) {
				const uint8_t *v =
					px.base + y * px.stride_y +
					(int64_t)(i / channels) * px.stride_x +
					px.channel[i % channels];
				unsigned low = v[0];
				unsigned all = v[0] | v[1] << 8;

				if (bits == 8)
					wrong += got[i] != low;
				else
					wrong += (unsigned)(got[2 * i] << 8 |
							    got[2 * i + 1]) !=
						 all;
			}
		}
		CHECK_EQ(wrong, 0);
	}
}

static void any_strides(void)
{
	for (unsigned channels = 1; channels <= 4; channels++) {
		check_strides(1, channels, NORM_U8, 8);
		check_strides(2, channels, NORM_U16, 16);
		/* The same values on the converting way. */
		check_strides(1, channels, NORM_INT_U8, 8);
		check_strides(2, channels, NORM_INT_U16, 16);
	}
}

/* A caller's mistake is seen as black, not as bytes beyond the row. */
static void pairs_that_do_not_fit_are_black(void)
{
	struct norm n = { .kind = NORM_U16 };

	CHECK_ROW(uint16_t, NUM_UINT, 8, &n, V(1, 2, 3), 0, 0, 0);
	n.kind = NORM_INVERTED;
	CHECK_ROW(uint16_t, NUM_UINT, 8, &n, V(1, 2, 3), 0, 0, 0);
	CHECK_ROW(uint8_t, NUM_UINT, 16, &n, V(1, 2), 0, 0, 0, 0);
	n.kind = NORM_U8;
	CHECK_ROW(uint8_t, NUM_UINT, 1, &n, V(1, 2), 0);
	CHECK_ROW(uint8_t, NUM_FLOAT, 16, &n, V(1, 2), 0, 0, 0, 0);
}

int main(void)
{
	RUN(verbatim);
	RUN(inverted);
	RUN(binary);
	RUN(long_bit_rows);
	RUN(integers_as_they_are);
	RUN(ranges);
	RUN(packed_ranges);
	RUN(minmax);
	RUN(floats);
	RUN(palettes_are_clamped);
	RUN(any_strides);
	RUN(pairs_that_do_not_fit_are_black);
	return CHECK_RESULT();
}
