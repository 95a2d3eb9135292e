/* SPDX-License-Identifier: MIT */
/* test_png_split.c - a stream of several IDAT chunks, cut at every place. */
#include "h5fs/image.h"

static uint64_t max_chunk;
#define MAX_CHUNK max_chunk
#include "../../src/image/png.c"

#include "png_read.h"

static void check_cut(const struct png_shape *p, const uint8_t *pixels)
{
	struct pixels px = { .base = pixels, .stride_y = p->width,
			     .stride_x = 1, .num = NUM_UINT, .num_size = 1 };
	struct norm n = { .kind = NORM_U8, .bits = 8 };
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct png_read r;
	uint64_t size = 0;

	CHECK_EQ(png_stored_size(p, &size), 0);
	CHECK_EQ(png_stored_render(p, &px, &n, &b), 0);
	CHECK_EQ(b->size, size);
	if (png_read(b->data, b->size, &r)) {
		CHECK_EQ(r.nidat, (r.nstream + max_chunk - 1) / max_chunk);
		CHECK_EQ(r.nraw, (size_t)p->height * (p->width + 1));
		for (uint32_t y = 0; y < p->height; y++)
			CHECK(memcmp(r.raw + y * (p->width + 1) + 1,
				     pixels + y * p->width, p->width) == 0);
	}
	png_read_done(&r);
}

static uint8_t pixels[200000];

static void small_picture_at_every_cut(void)
{
	struct png_shape p = { 9, 7, 1, 8, NULL, 0 };

	for (max_chunk = 1; max_chunk < 90; max_chunk++)
		check_cut(&p, pixels);
}

/* Cuts inside and beside the head of the second block, and before the
 * Adler-32: 2 + 5 + 65535 + 5 + .. */
static void cuts_around_a_block(void)
{
	struct png_shape p = { 499, 200, 1, 8, NULL, 0 };

	for (max_chunk = 65538; max_chunk < 65552; max_chunk++)
		check_cut(&p, pixels);
	for (max_chunk = 100005; max_chunk < 100020; max_chunk++)
		check_cut(&p, pixels);
	max_chunk = 1000;
	check_cut(&p, pixels);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)(hash_mix(i, 9) >> 11);
	RUN(small_picture_at_every_cut);
	RUN(cuts_around_a_block);
	return CHECK_RESULT();
}
