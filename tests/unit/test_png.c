/* SPDX-License-Identifier: MIT */
/* test_png.c - stored PNG files are whole, exact in size and hold the pixels. */
#include "h5fs/image.h"

#include "png_read.h"

static uint8_t source[1 << 20];

static void fill_source(void)
{
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(hash_mix(i, 3) >> 20);
}

static struct pixels dense(const struct png_shape *p, enum desc_num num)
{
	unsigned size = p->bits == 16 ? 2 : 1;
	struct pixels px = { .base = source, .num = num, .num_size = size };

	px.stride_x = size * p->channels;
	px.stride_y = px.stride_x * p->width;
	for (unsigned c = 0; c < p->channels; c++)
		px.channel[c] = size * c;
	return px;
}

/* Renders, checks the file and its size, and that each row is raster_row()'s. */
static void check_file(const struct png_shape *p, const struct pixels *px,
		       enum norm_kind kind)
{
	static const uint8_t types[] = { 0, 0, 4, 2, 6 };
	struct norm n = { .kind = kind, .bits = p->bits };
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	size_t row = png_row_bytes(p);
	CLEANUP(freep) uint8_t *want = malloc(row);
	struct png_read r;
	uint64_t size = 0;

	CHECK_EQ(png_stored_size(p, &size), 0);
	CHECK_EQ(png_stored_render(p, px, &n, &b), 0);
	CHECK_EQ(b->size, size);
	if (png_read(b->data, b->size, &r)) {
		CHECK_EQ(r.width, p->width);
		CHECK_EQ(r.height, p->height);
		CHECK_EQ(r.bits, p->bits);
		CHECK_EQ(r.colour_type, p->palette ? 3 : types[p->channels]);
		CHECK_EQ(r.nidat, 1);
		CHECK_EQ(r.nraw, p->height * (row + 1));
		CHECK_EQ(r.nblocks, (r.nraw + 65534) / 65535);
		for (uint32_t y = 0; y < p->height; y++) {
			const uint8_t *got = r.raw + y * (row + 1);

			raster_row(p, px, &n, y, want);
			CHECK_EQ(got[0], 0);
			CHECK(memcmp(got + 1, want, row) == 0);
		}
	}
	png_read_done(&r);
}

static void all_shapes(void)
{
	static const uint32_t sides[][2] = { { 1, 1 },	 { 7, 3 },   { 8, 8 },
					     { 9, 5 },	 { 100, 80 }, { 1, 300 },
					     { 300, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		for (unsigned c = 1; c <= 4; c++) {
			struct png_shape p = { sides[i][0], sides[i][1], c, 8,
					       NULL, 0 };
			struct pixels px = dense(&p, NUM_UINT);

			check_file(&p, &px, NORM_U8);
			p.bits = 16;
			px = dense(&p, NUM_UINT);
			check_file(&p, &px, NORM_U16);
		}
		struct png_shape bit = { sides[i][0], sides[i][1], 1, 1, NULL,
					 0 };
		struct pixels px = dense(&bit, NUM_BOOL);

		check_file(&bit, &px, NORM_BINARY);
	}
}

static void rows_around_the_block_border(void)
{
	for (uint32_t w = 65530; w <= 65540; w++) {
		struct png_shape p = { w, 3, 1, 8, NULL, 0 };
		struct pixels px = dense(&p, NUM_UINT);

		check_file(&p, &px, NORM_U8);
		p.height = 1;
		check_file(&p, &px, NORM_U8);
	}
}

static void raw_sizes_around_the_block_border(void)
{
	/* 3 * 21845 = 65535; 2 * 65535 = 131070 = 30 * 4369 */
	static const uint32_t sides[][2] = {
		{ 2, 21844 },  { 2, 21845 },  { 2, 21846 }, { 29, 4368 },
		{ 29, 4369 },  { 29, 4370 },  { 254, 257 }, { 254, 514 },
		{ 254, 515 },  { 65534, 1 },  { 131069, 1 }, { 200000, 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		struct png_shape p = { sides[i][0], sides[i][1], 1, 8, NULL,
				       0 };
		struct pixels px = dense(&p, NUM_UINT);

		check_file(&p, &px, NORM_U8);
	}
}

static void backwards_and_standing_strides(void)
{
	struct png_shape p = { 200, 300, 3, 8, NULL, 0 };
	struct pixels px = dense(&p, NUM_UINT);

	px.base = source + 299 * 600 + 199 * 3;
	px.stride_y = -600;
	px.stride_x = -3;
	check_file(&p, &px, NORM_U8);
	px.stride_x = px.stride_y = 0;
	check_file(&p, &px, NORM_U8);
}

static void palettes(void)
{
	static const unsigned colours[] = { 1, 2, 255, 256 };

	for (size_t i = 0; i < ARRAY_SIZE(colours); i++) {
		struct png_shape p = { 30, 20, 1, 8, source + 5000,
				       colours[i] };
		struct pixels px = dense(&p, NUM_UINT);
		struct norm n = { .kind = NORM_PALETTE };
		CLEANUP(blob_unrefp) struct blob *b = NULL;
		struct png_read r;

		check_file(&p, &px, NORM_PALETTE);
		CHECK_EQ(png_stored_render(&p, &px, &n, &b), 0);
		CHECK(png_read(b->data, b->size, &r));
		CHECK_EQ(r.nplte, colours[i]);
		CHECK(memcmp(r.plte, p.palette, 3 * colours[i]) == 0);
		for (size_t k = 0; k < r.nraw; k++)
			CHECK(r.raw[k] < colours[i]);
		png_read_done(&r);
	}
}

static void check_size(struct png_shape p, int want, uint64_t size)
{
	uint64_t got = 77;

	CHECK_EQ(png_stored_size(&p, &got), want);
	CHECK_EQ(got, want ? 77 : size);
}

static void sizes_are_arithmetic(void)
{
	const uint32_t max = 0x7fffffff;

	check_size((struct png_shape){ 1, 1, 1, 1, NULL, 0 }, 0, 57 + 2 + 5 + 2 + 4);
	check_size((struct png_shape){ 1024, 1024, 3, 8, NULL, 0 }, 0,
		   57 + 6 + 5 * 49 + 1024 * 3073);
	check_size((struct png_shape){ 9, 2, 1, 1, NULL, 0 }, 0, 57 + 6 + 5 + 2 * 3);
	check_size((struct png_shape){ 2, 2, 1, 8, source, 10 }, 0,
		   57 + 12 + 30 + 6 + 5 + 2 * 3);
	/* The most rows whose stream fits in one IDAT, and one more. */
	check_size((struct png_shape){ 32766, 65532, 1, 8, NULL, 0 }, 0, 2147450937u);
	check_size((struct png_shape){ 32766, 65533, 1, 8, NULL, 0 }, 0, 2147483721u);
	check_size((struct png_shape){ 100000, 100000, 4, 16, NULL, 0 }, 0, 80006204127u);
	check_size((struct png_shape){ max, max, 4, 16, NULL, 0 }, -EFBIG, 0);
	check_size((struct png_shape){ max, 1, 4, 16, NULL, 0 }, 0, 17181180076u);
}

static void other_shapes_are_refused(void)
{
	check_size((struct png_shape){ 0, 1, 1, 8, NULL, 0 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 0, 1, 8, NULL, 0 }, -EINVAL, 0);
	check_size((struct png_shape){ 0x80000000, 1, 1, 8, NULL, 0 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 0x80000000, 1, 8, NULL, 0 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 1, 0, 8, NULL, 0 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 1, 5, 8, NULL, 0 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 1, 1, 4, NULL, 0 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 1, 3, 1, NULL, 0 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 1, 1, 16, source, 2 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 1, 3, 8, source, 2 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 1, 1, 8, source, 0 }, -EINVAL, 0);
	check_size((struct png_shape){ 1, 1, 1, 8, source, 257 }, -EINVAL, 0);

	struct png_shape p = { 1, 1, 7, 8, NULL, 0 };
	struct pixels px = { .base = source };
	struct norm n = { .kind = NORM_U8 };
	struct blob *b = NULL;

	CHECK_EQ(png_stored_render(&p, &px, &n, &b), -EINVAL);
	CHECK(!b);
}

int main(void)
{
	fill_source();
	RUN(all_shapes);
	RUN(rows_around_the_block_border);
	RUN(raw_sizes_around_the_block_border);
	RUN(backwards_and_standing_strides);
	RUN(palettes);
	RUN(sizes_are_arithmetic);
	RUN(other_shapes_are_refused);
	return CHECK_RESULT();
}
