/* SPDX-License-Identifier: MIT */
/* test_fit.c - decoded images as datasets want them, or why not. Lanczos itself is
 * compared with Pillow's in tests/image. */
#include "h5fs/image.h"

#include "check.h"

static struct picture in, out;
static char *why;

/* A picture of these bytes; 16 bits where bits says so, in native order. */
static void make(uint32_t w, uint32_t h, unsigned channels, unsigned bits,
		 const void *pixels)
{
	in = (struct picture){ .width = w,
			       .height = h,
			       .channels = channels,
			       .bits = bits,
			       .depth = bits };
	CHECK_EQ(blob_from(pixels, (size_t)w * h * channels * bits / 8,
			   &in.pixels),
		 0);
}

static void clean(void)
{
	picture_done(&in);
	picture_done(&out);
	free(why);
	why = NULL;
}

static int fit(struct picture_want w)
{
	picture_done(&out);
	free(why);
	why = NULL;
	return picture_fit(&in, &w, &out, &why);
}

#define WANT(w, h, c, b, ...)                                                  \
	((struct picture_want){ .width = w,                                    \
				.height = h,                                   \
				.channels = c,                                 \
				.bits = b,                                     \
				__VA_ARGS__ })
#define CHECK_OUT(...)                                                         \
	do {                                                                   \
		static const uint8_t want_[] = { __VA_ARGS__ };                \
		CHECK(out.pixels &&out.pixels->size == sizeof(want_) &&        \
		      !memcmp(out.pixels->data, want_, sizeof(want_)));        \
	} while (0)
/* Refused, with these words. */
#define CHECK_WHY(want, words)                                                 \
	do {                                                                   \
		CHECK_EQ(fit(want), -EINVAL);                                  \
		CHECK(why &&strstr(why, words));                               \
		CHECK(!out.pixels);                                            \
	} while (0)

static void as_it_is(void)
{
	make(2, 1, 3, 8, "\1\2\3\4\5\6");
	CHECK_EQ(fit(WANT(2, 1, 3, 8)), 0);
	CHECK(out.pixels == in.pixels);
	CHECK_WHY(WANT(1, 2, 3, 8),
		  "2 x 1 pixels, RGB, 8 bits: its size differs");
	clean();
}

static void channels_convert(void)
{
	make(2, 1, 1, 8, "\7\11");
	CHECK_EQ(fit(WANT(2, 1, 3, 8)), 0);
	CHECK_OUT(7, 7, 7, 9, 9, 9);
	CHECK_WHY(WANT(2, 1, 4, 8), "alpha");
	clean();
	make(3, 1, 3, 8, "\377\0\0\0\377\0\5\5\5");
	CHECK_EQ(fit(WANT(3, 1, 1, 8)), 0);
	CHECK_OUT(76, 150, 5); /* as Pillow */
	CHECK_WHY(WANT(3, 1, 1, 8, .mask = true), "not ids");
	clean();
	make(2, 1, 4, 8, "\1\2\3\377\4\4\4\377");
	CHECK_EQ(fit(WANT(2, 1, 3, 8)), 0);
	CHECK_OUT(1, 2, 3, 4, 4, 4);
	CHECK_EQ(fit(WANT(2, 1, 4, 8)), 0);
	clean();
	make(1, 1, 4, 8, "\1\2\3\376");
	CHECK_WHY(WANT(1, 1, 3, 8), "transparent");
	clean();
	make(1, 1, 2, 8, "\1\377");
	CHECK_EQ(fit(WANT(1, 1, 3, 8)), 0);
	CHECK_OUT(1, 1, 1);
	clean();
}

static void bits_are_not_lost(void)
{
	static const uint16_t wide[] = { 0, 255, 256 };

	make(3, 1, 1, 16, wide);
	CHECK_WHY(WANT(3, 1, 1, 8), "16 bits do not fit");
	CHECK_WHY(WANT(3, 1, 1, 8, .mask = true), "16 bits do not fit");
	CHECK_EQ(fit(WANT(3, 1, 3, 16)), 0);
	clean();
	make(2, 1, 1, 16, wide);
	CHECK_WHY(WANT(2, 1, 1, 8), "16 bits do not fit");
	CHECK_EQ(fit(WANT(2, 1, 1, 8, .mask = true)), 0);
	CHECK_OUT(0, 255);
	clean();
	make(2, 1, 1, 8, "\7\377");
	CHECK_EQ(fit(WANT(2, 1, 1, 16)), 0);
	CHECK_EQ(out.bits, 16);
	CHECK_OUT(7, 0, 255, 0);
	clean();
}

static void few_bits(void)
{
	make(4, 1, 1, 8, "\0\1\2\3");
	in.depth = 2;
	CHECK_EQ(fit(WANT(4, 1, 1, 8)), 0);
	CHECK_OUT(0, 85, 170, 255);
	CHECK_EQ(fit(WANT(4, 1, 1, 8, .mask = true)), 0);
	CHECK_OUT(0, 1, 2, 3);
	clean();
}

static void palettes(void)
{
	make(3, 1, 1, 8, "\0\2\1");
	in.ncolours = 3;
	memcpy(in.palette, "\0\0\0\377\0\0\0\0\377", 9);
	memset(in.alpha, 255, sizeof(in.alpha));
	CHECK_EQ(fit(WANT(3, 1, 3, 8)), 0);
	CHECK_OUT(0, 0, 0, 0, 0, 255, 255, 0, 0);
	CHECK_EQ(fit(WANT(3, 1, 1, 8, .mask = true)), 0);
	CHECK_OUT(0, 2, 1);
	in.alpha[1] = 9;
	CHECK_WHY(WANT(3, 1, 3, 8), "transparent");
	CHECK_EQ(fit(WANT(3, 1, 4, 8)), 0);
	CHECK_OUT(0, 0, 0, 255, 0, 0, 255, 255, 255, 0, 0, 9);
	CHECK_EQ(fit(WANT(3, 1, 1, 8, .mask = true)), 0);
	clean();
	make(1, 1, 3, 8, "\1\1\1");
	in.ids_lost = true;
	CHECK_EQ(fit(WANT(1, 1, 1, 8)), 0);
	CHECK_WHY(WANT(1, 1, 1, 8, .mask = true), "palette");
	clean();
}

static void booleans(void)
{
	static const uint16_t wide[] = { 0, 65535 };

	make(3, 1, 1, 8, "\0\377\0");
	CHECK_EQ(fit(WANT(3, 1, 1, 1, .boolean = true)), 0);
	CHECK_OUT(0, 1, 0);
	CHECK_EQ(fit(WANT(3, 1, 3, 8, .boolean = true)), 0);
	CHECK_OUT(0, 0, 0, 255, 255, 255, 0, 0, 0);
	clean();
	make(3, 1, 1, 8, "\0\1\1");
	CHECK_EQ(fit(WANT(3, 1, 1, 1, .boolean = true)), 0);
	CHECK_OUT(0, 1, 1);
	clean();
	make(3, 1, 1, 8, "\0\1\377");
	CHECK_WHY(WANT(3, 1, 1, 1, .boolean = true), "true or false");
	clean();
	make(3, 1, 1, 8, "\0\2\2");
	CHECK_WHY(WANT(3, 1, 1, 1, .boolean = true), "true or false");
	clean();
	make(2, 1, 1, 16, wide);
	CHECK_EQ(fit(WANT(2, 1, 1, 1, .boolean = true)), 0);
	CHECK_OUT(0, 1);
	clean();
	make(1, 1, 1, 8, "\0"); /* all false */
	CHECK_EQ(fit(WANT(1, 1, 1, 1, .boolean = true)), 0);
	CHECK_OUT(0);
	clean();
}

static void masks_have_no_new_ids(void)
{
	make(4, 1, 1, 8, "\0\7\7\100");
	CHECK_EQ(fit(WANT(2, 1, 1, 8, .mask = true, .fit = FIT_RESIZE)), 0);
	CHECK_OUT(7, 64);
	CHECK_EQ(fit(WANT(8, 2, 1, 8, .mask = true, .fit = FIT_RESIZE)), 0);
	CHECK_OUT(0, 0, 7, 7, 7, 7, 64, 64, 0, 0, 7, 7, 7, 7, 64, 64);
	CHECK_EQ(fit(WANT(4, 3, 1, 8, .mask = true, .fit = FIT_LETTERBOX)), 0);
	CHECK_OUT(0, 0, 0, 0, 0, 7, 7, 64, 0, 0, 0, 0);
	CHECK_EQ(fit(WANT(1, 1, 1, 8, .mask = true, .fit = FIT_CROP)), 0);
	CHECK_OUT(7);
	clean();
}

static void letterbox_is_centred_on_black(void)
{
	make(2, 1, 4, 8, "\10\10\10\377\10\10\10\377");
	CHECK_EQ(fit(WANT(2, 3, 3, 8, .fit = FIT_LETTERBOX)), 0);
	CHECK_OUT(0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 0, 0, 0, 0, 0, 0);
	CHECK_EQ(fit(WANT(2, 2, 4, 8, .fit = FIT_LETTERBOX)), 0);
	CHECK_OUT(8, 8, 8, 255, 8, 8, 8, 255, 0, 0, 0, 255, 0, 0, 0, 255);
	clean();
}

static void alpha_weighs(void)
{
	/* White where nothing is seen must not shine through. */
	make(2, 1, 2, 8, "\377\0\12\377");
	CHECK_EQ(fit(WANT(1, 1, 2, 8, .fit = FIT_RESIZE)), 0);
	CHECK(out.pixels && out.pixels->data[0] <= 11);
	CHECK(out.pixels && out.pixels->data[1] == 128);
	clean();
}

static void sixteen_bits_are_resized(void)
{
	static const uint16_t flat[] = { 40000, 40000, 40000, 40000 };
	uint16_t v[2];

	make(4, 1, 1, 16, flat);
	CHECK_EQ(fit(WANT(2, 1, 1, 16, .fit = FIT_RESIZE)), 0);
	memcpy(v, out.pixels->data, sizeof(v));
	CHECK(v[0] == 40000 && v[1] == 40000);
	clean();
}

static void extreme_shapes(void)
{
	CLEANUP(freep) uint8_t *line = calloc(100000, 1);

	memset(line, 9, 100000);
	make(100000, 1, 1, 8, line);
	CHECK_EQ(fit(WANT(3, 3, 1, 8, .fit = FIT_CROP)), 0);
	CHECK_OUT(9, 9, 9, 9, 9, 9, 9, 9, 9);
	CHECK_EQ(fit(WANT(3, 3, 1, 8, .fit = FIT_LETTERBOX)), 0);
	CHECK_OUT(0, 0, 0, 9, 9, 9, 0, 0, 0);
	CHECK_EQ(fit(WANT(3, 2, 1, 8, .fit = FIT_RESIZE)), 0);
	CHECK_OUT(9, 9, 9, 9, 9, 9);
	CHECK_EQ(fit(WANT(INT32_MAX, INT32_MAX, 3, 8, .fit = FIT_RESIZE)),
		 -EFBIG);
	CHECK_EQ(fit(WANT(100000000, 1, 1, 8, .fit = FIT_RESIZE)), -EFBIG);
	clean();
}

int main(void)
{
	RUN(as_it_is);
	RUN(channels_convert);
	RUN(bits_are_not_lost);
	RUN(few_bits);
	RUN(palettes);
	RUN(booleans);
	RUN(masks_have_no_new_ids);
	RUN(letterbox_is_centred_on_black);
	RUN(alpha_weighs);
	RUN(sixteen_bits_are_resized);
	RUN(extreme_shapes);
	return CHECK_RESULT();
}
