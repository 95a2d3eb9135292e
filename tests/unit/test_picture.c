/* SPDX-License-Identifier: MIT */
/* test_picture.c - image files to pixels: what is taken, what is refused and why,
 * and that no bytes do harm. */
#include "h5fs/image.h"

#include "check.h"
#include "picture_files.h"

static struct picture p;
static char *why;

static void clean(void)
{
	picture_done(&p);
	p = (struct picture){ 0 };
	free(why);
	why = NULL;
}

static int decode(const void *bytes, size_t n)
{
	clean();
	return picture_decode(bytes, n, NULL, &p, &why);
}

#define CHECK_WHY(words)                                                       \
	do {                                                                   \
		CHECK(why &&strstr(why, words));                               \
		if (why && !strstr(why, words))                                \
			printf("said: %s\n", why);                             \
	} while (0)
#define CHECK_PIXELS(...)                                                      \
	do {                                                                   \
		static const uint8_t want_[] = { __VA_ARGS__ };                \
		CHECK(p.pixels &&p.pixels->size == sizeof(want_) &&            \
		      !memcmp(p.pixels->data, want_, sizeof(want_)));          \
	} while (0)

/* ---- PNG files, put together ---- */
struct png {
	uint8_t bytes[4096];
	size_t n;
};

static void put(struct png *f, const void *bytes, size_t n)
{
	memcpy(f->bytes + f->n, bytes, n);
	f->n += n;
}

static void put_be32(struct png *f, uint32_t v)
{
	v = __builtin_bswap32(v);
	put(f, &v, 4);
}

static void chunk(struct png *f, const char *type, const void *data, size_t n)
{
	size_t from = f->n + 4;

	put_be32(f, (uint32_t)n);
	put(f, type, 4);
	put(f, data, n);
	put_be32(f, checksum_crc32(0, f->bytes + from, n + 4));
}

static void begin(struct png *f, uint32_t w, uint32_t h, uint8_t bits,
		  uint8_t colour, uint8_t interlace)
{
	uint8_t ihdr[13] = { [8] = bits, colour, 0, 0, interlace };

	w = __builtin_bswap32(w);
	h = __builtin_bswap32(h);
	memcpy(ihdr, &w, 4);
	memcpy(ihdr + 4, &h, 4);
	f->n = 0;
	put(f, "\x89PNG\r\n\x1a\n", 8);
	chunk(f, "IHDR", ihdr, 13);
}

static void rows(struct png *f, const void *raw, size_t n)
{
	uint8_t z[2048] = { 0x78,
			    1,
			    1,
			    (uint8_t)n,
			    (uint8_t)(n >> 8),
			    (uint8_t)~n,
			    (uint8_t)(~n >> 8) };
	uint32_t adler = __builtin_bswap32(checksum_adler32(1, raw, n));

	memcpy(z + 7, raw, n);
	memcpy(z + 7 + n, &adler, 4);
	chunk(f, "IDAT", z, n + 11);
}

static int decode_png_file(struct png *f)
{
	chunk(f, "IEND", "", 0);
	return decode(f->bytes, f->n);
}

static void formats_by_magic(void)
{
	CHECK_STR(picture_format("\x89PNG\r\n\x1a\n", 8), "PNG");
	CHECK_STR(picture_format(file_jpeg, 8), "JPEG");
	CHECK_STR(picture_format(file_tiff, 8), "TIFF");
	CHECK_STR(picture_format(file_webp, 12), "WebP");
	CHECK_STR(picture_format(file_gif, 8), "GIF");
	CHECK_STR(picture_format(file_bmp, 12), "BMP");
	CHECK_STR(picture_format("\0\0\0\x1c"
				 "ftypavif",
				 12),
		  "AVIF");
	CHECK(!picture_format("BMW is a car", 12));
	CHECK(!picture_format("", 0));
	CHECK(!picture_format("\x93NUMPY", 6));
}

static void each_format(void)
{
	CHECK_EQ(decode(file_jpeg, sizeof(file_jpeg)), 0);
	CHECK(p.width == 8 && p.height == 8 && p.channels == 1 && p.bits == 8);
	CHECK_EQ(decode(file_tiff, sizeof(file_tiff)), 0);
	CHECK_PIXELS(200, 30, 30, 30, 200, 30, 30, 30, 200, 220, 220, 220);
	CHECK_EQ(decode(file_webp, sizeof(file_webp)), 0);
	CHECK_PIXELS(200, 30, 30, 30, 200, 30, 30, 30, 200, 220, 220, 220);
	CHECK_EQ(decode(file_bmp, sizeof(file_bmp)), 0);
	CHECK_PIXELS(200, 30, 30, 30, 200, 30, 30, 30, 200, 220, 220, 220);
	CHECK_EQ(decode(file_gif, sizeof(file_gif)), 0);
	CHECK(p.width == 2 && p.height == 2 && p.channels == 3 && p.ids_lost);
	CHECK_EQ(decode("text", 4), -EINVAL);
	CHECK_WHY("no image");
	CHECK_EQ(decode("\0\0\0\x1c"
			"ftypheic",
			12),
		 -EINVAL);
	CHECK_WHY("HEIF");
	clean();
}

static void png_of_few_bits_is_not_scaled(void)
{
	struct png f;

	begin(&f, 10, 1, 1, 0, 0);
	rows(&f, "\0\xa0\x40", 3);
	CHECK_EQ(decode_png_file(&f), 0);
	CHECK(p.depth == 1 && p.bits == 8);
	CHECK_PIXELS(1, 0, 1, 0, 0, 0, 0, 0, 0, 1);
	begin(&f, 3, 1, 2, 0, 0);
	rows(&f, "\0\x6c", 2);
	CHECK_EQ(decode_png_file(&f), 0);
	CHECK_EQ(p.depth, 2);
	CHECK_PIXELS(1, 2, 3);
	begin(&f, 2, 1, 16, 0, 0);
	rows(&f, "\0\1\2\xff\xfe", 5);
	CHECK_EQ(decode_png_file(&f), 0);
	CHECK(p.depth == 16 && p.bits == 16);
	CHECK_PIXELS(2, 1, 0xfe, 0xff);
	clean();
}

static void png_palettes_stay(void)
{
	struct png f;

	begin(&f, 3, 1, 4, 3, 0);
	chunk(&f, "PLTE", "\1\2\3\4\5\6\7\10\11", 9);
	chunk(&f, "tRNS", "\377\200", 2);
	rows(&f, "\0\x20\x10", 3);
	CHECK_EQ(decode_png_file(&f), 0);
	CHECK_EQ(p.ncolours, 3);
	CHECK(!memcmp(p.palette, "\1\2\3\4\5\6\7\10\11", 9));
	CHECK(p.alpha[0] == 255 && p.alpha[1] == 128 && p.alpha[2] == 255);
	CHECK_PIXELS(2, 0, 1);
	begin(&f, 1, 1, 8, 3, 0);
	chunk(&f, "PLTE", "\1\2\3", 3);
	rows(&f, "\0\1", 2);
	CHECK_EQ(decode_png_file(&f), -EINVAL);
	CHECK_WHY("palette");
	clean();
}

static void png_transparent_colour(void)
{
	struct png f;

	begin(&f, 2, 1, 8, 0, 0);
	chunk(&f, "tRNS", "\0\7", 2);
	rows(&f, "\0\7\10", 3);
	CHECK_EQ(decode_png_file(&f), 0);
	CHECK_EQ(p.channels, 2);
	CHECK_PIXELS(7, 0, 8, 255);
	clean();
}

static void png_interlaced(void)
{
	struct png f;

	begin(&f, 2, 2, 8, 0, 1);
	rows(&f, "\0\1\0\2\0\3\4", 7);
	CHECK_EQ(decode_png_file(&f), 0);
	CHECK_PIXELS(1, 2, 3, 4);
	clean();
}

static void png_orientation(void)
{
	static const uint8_t exif[] = { 'M', 'M', 0,  42, 0, 0, 0, 8, 0,
					1,   1,	  18, 0,  3, 0, 0, 0, 1,
					0,   6,	  0,  0,  0, 0, 0, 0 };
	struct png f;

	begin(&f, 2, 1, 8, 0, 0);
	chunk(&f, "eXIf", exif, sizeof(exif));
	rows(&f, "\0\1\2", 3);
	CHECK_EQ(decode_png_file(&f), 0);
	CHECK(p.width == 1 && p.height == 2);
	CHECK_PIXELS(1, 2);
	clean();
}

static void bad_png(void)
{
	struct png f;

	begin(&f, 1, 1, 8, 0, 0);
	rows(&f, "\0\7", 2);
	CHECK_EQ(decode(f.bytes, f.n), -EINVAL); /* no IEND */
	CHECK_WHY("truncated");
	CHECK_EQ(decode_png_file(&f), 0);
	f.bytes[f.n - 1] ^= 1; /* CRC of IEND */
	CHECK_EQ(decode(f.bytes, f.n), -EINVAL);
	CHECK_WHY("damaged");

	begin(&f, 1, 1, 8, 0, 0);
	chunk(&f, "tEXt", "a\0b", 3);
	f.bytes[f.n - 1] ^= 1; /* what is not even looked at */
	rows(&f, "\0\7", 2);
	CHECK_EQ(decode_png_file(&f), -EINVAL);

	begin(&f, 1, 2, 8, 0, 0);
	rows(&f, "\0\7", 2); /* a row is missing */
	CHECK_EQ(decode_png_file(&f), -EINVAL);
	begin(&f, 1, 1, 8, 0, 0);
	rows(&f, "\0\7\0\7", 4); /* one too many */
	CHECK_EQ(decode_png_file(&f), -EINVAL);
	begin(&f, 1, 1, 8, 0, 0);
	chunk(&f, "acTL", "\0\0\0\2\0\0\0\0", 8);
	rows(&f, "\0\7", 2);
	CHECK_EQ(decode_png_file(&f), -EINVAL);
	CHECK_WHY("animated");
	/* A profile that libpng knows to be bad is of no interest. */
	begin(&f, 1, 1, 8, 0, 0);
	chunk(&f, "iCCP", "x\0\0junk", 7);
	rows(&f, "\0\7", 2);
	CHECK_EQ(decode_png_file(&f), 0);
	clean();
}

static void limits(void)
{
	struct picture_limits l = { 3, 0 };
	struct png f;

	begin(&f, 100000, 100000, 16, 6, 0);
	CHECK_EQ(decode(f.bytes, f.n), -EINVAL); /* the header alone is short */
	rows(&f, "\0\7", 2);
	CHECK_EQ(decode_png_file(&f), -EFBIG);
	CHECK_WHY("100000 x 100000");
	clean();
	CHECK_EQ(picture_decode(file_bmp, sizeof(file_bmp), &l, &p, &why),
		 -EFBIG);
	clean();
	CHECK_EQ(picture_decode(file_jpeg, sizeof(file_jpeg), &l, &p, &why),
		 -EFBIG);
	clean();
	CHECK_EQ(picture_decode(file_webp, sizeof(file_webp), &l, &p, &why),
		 -EFBIG);
	clean();
	l = (struct picture_limits){ 4, 11 };
	CHECK_EQ(picture_decode(file_bmp, sizeof(file_bmp), &l, &p, &why),
		 -EFBIG);
	clean();
	l.max_bytes = 12;
	CHECK_EQ(picture_decode(file_bmp, sizeof(file_bmp), &l, &p, &why), 0);
	clean();
}

/* ---- BMP files, put together ---- */
struct bmp {
	uint8_t bytes[512];
	size_t n;
};

static void le(struct bmp *f, uint32_t v, unsigned n)
{
	for (; n--; v >>= 8)
		f->bytes[f->n++] = (uint8_t)v;
}

static void bmp_begin(struct bmp *f, int w, int h, unsigned bits,
		      unsigned compression, unsigned colours, unsigned offset)
{
	f->n = 0;
	le(f, 'B' | 'M' << 8, 2);
	le(f, 0, 4);
	le(f, 0, 4);
	le(f, offset, 4);
	le(f, 40, 4);
	le(f, (uint32_t)w, 4);
	le(f, (uint32_t)h, 4);
	le(f, 1, 2);
	le(f, bits, 2);
	le(f, compression, 4);
	le(f, 0, 4);
	le(f, 0, 4);
	le(f, 0, 4);
	le(f, colours, 4);
	le(f, 0, 4);
}

static int bmp_decode(struct bmp *f, const void *bytes, size_t n)
{
	memcpy(f->bytes + f->n, bytes, n);
	return decode(f->bytes, f->n + n);
}

static void bmp_kinds(void)
{
	struct bmp f;

	/* Two colours, from the top, 10 pixels a row. */
	bmp_begin(&f, 10, -1, 1, 0, 2, 62);
	le(&f, 0x030201, 4);
	le(&f, 0x060504, 4);
	CHECK_EQ(bmp_decode(&f, "\xa0\x40\0\0", 4), 0);
	CHECK(p.ncolours == 2 && p.depth == 1);
	CHECK(!memcmp(p.palette, "\3\2\1\6\5\4", 6));
	CHECK_PIXELS(1, 0, 1, 0, 0, 0, 0, 0, 0, 1);
	/* 5 bits a colour. */
	bmp_begin(&f, 2, 1, 16, 0, 0, 54);
	CHECK_EQ(bmp_decode(&f, "\x1f\x00\x00\x7c", 4), 0);
	CHECK_PIXELS(0, 0, 255, 255, 0, 0);
	/* Masks, 5, 6 and 5 bits. */
	bmp_begin(&f, 2, 1, 16, 3, 0, 66);
	le(&f, 0xf800, 4);
	le(&f, 0x07e0, 4);
	le(&f, 0x001f, 4);
	CHECK_EQ(bmp_decode(&f, "\xe0\x07\x00\x08", 4), 0);
	CHECK_PIXELS(0, 255, 0, 8, 0, 0);
	/* The fourth byte is nothing. */
	bmp_begin(&f, 1, 1, 32, 0, 0, 54);
	CHECK_EQ(bmp_decode(&f, "\1\2\3\7", 4), 0);
	CHECK_PIXELS(3, 2, 1);
	bmp_begin(&f, 1, 1, 24, 4, 0, 54); /* a JPEG inside */
	CHECK_EQ(bmp_decode(&f, "\1\2\3\7", 4), -EINVAL);
	clean();
}

static void bmp_runs(void)
{
	struct bmp f;

	bmp_begin(&f, 4, 2, 8, 1, 2, 62);
	le(&f, 0, 4);
	le(&f, 0xffffff, 4);
	CHECK_EQ(bmp_decode(&f, "\3\1\0\0\1\7\0\3\1\2\3\0\0\1", 14), 0);
	CHECK_PIXELS(7, 1, 2, 3, 1, 1, 1, 0);
	CHECK_EQ(bmp_decode(&f, "\5\1\0\1", 4), -EINVAL);
	CHECK_WHY("leaves");
	CHECK_EQ(bmp_decode(&f, "\0\2\1\1\2\6\0\1", 8), 0);
	CHECK_PIXELS(0, 6, 6, 0, 0, 0, 0, 0);
	CHECK_EQ(bmp_decode(&f, "\0\2\1\3\0\1", 6), -EINVAL);
	CHECK_EQ(bmp_decode(&f, "\1\1", 2), -EINVAL);
	CHECK_WHY("truncated");
	bmp_begin(&f, 5, 1, 4, 2, 2, 62);
	le(&f, 0, 4);
	le(&f, 0xffffff, 4);
	CHECK_EQ(bmp_decode(&f, "\2\x12\0\3\x34\x50\0\1", 8), 0);
	CHECK_PIXELS(1, 2, 3, 4, 5);
	clean();
}

/* ---- no bytes do harm ---- */
static const struct {
	const char *name;
	const uint8_t *bytes;
	size_t n;
} files[] = {
	{ "JPEG", file_jpeg, sizeof(file_jpeg) },
	{ "TIFF", file_tiff, sizeof(file_tiff) },
	{ "WebP", file_webp, sizeof(file_webp) },
	{ "GIF", file_gif, sizeof(file_gif) },
	{ "BMP", file_bmp, sizeof(file_bmp) },
};

/* The bytes are at the end of their own allocation. */
static int decode_copy(const uint8_t *bytes, size_t n)
{
	CLEANUP(freep) uint8_t *copy = malloc(n ? n : 1);

	memcpy(copy, bytes, n);
	return decode(copy, n);
}

static void what_is_cut_is_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		for (size_t n = 0; n < files[i].n; n++) {
			int r = decode_copy(files[i].bytes, n);

			CHECK_EQ(r, -EINVAL);
			CHECK(why);
			if (r == 0)
				printf("%s of %zu bytes\n", files[i].name, n);
		}
	clean();
}

static void changed_bytes_do_no_harm(void)
{
	static const uint8_t changes[] = { 1, 0x80, 0xff, 0x55 };
	uint8_t bytes[1024];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		for (size_t at = 0; at < files[i].n; at++)
			for (size_t k = 0; k < ARRAY_SIZE(changes); k++) {
				int r;

				memcpy(bytes, files[i].bytes, files[i].n);
				bytes[at] ^= changes[k];
				r = decode_copy(bytes, files[i].n);
				CHECK(r == 0 || r == -EINVAL || r == -EFBIG);
				CHECK(r == 0 || why);
			}
	clean();
}

/* ---- threads ---- */
static void *decode_many(void *arg)
{
	bool bad = arg;

	for (int i = 0; i < 200; i++) {
		struct picture q = { 0 };
		char *text = NULL;
		size_t n = sizeof(file_tiff) - (bad ? 70 : 0);
		int r = picture_decode(file_tiff, n, NULL, &q, &text);

		if (bad != (r == -EINVAL) || bad != (text != NULL) ||
		    (bad && !strstr(text, "TIFF")))
			return arg ? arg : &p;
		picture_done(&q);
		free(text);
	}
	return NULL;
}

static void many_threads(void)
{
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, decode_many,
					i % 2 ? &p : NULL),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		CHECK(!wrong);
	}
}

int main(void)
{
	RUN(formats_by_magic);
	RUN(each_format);
	RUN(png_of_few_bits_is_not_scaled);
	RUN(png_palettes_stay);
	RUN(png_transparent_colour);
	RUN(png_interlaced);
	RUN(png_orientation);
	RUN(bad_png);
	RUN(limits);
	RUN(bmp_kinds);
	RUN(bmp_runs);
	RUN(what_is_cut_is_refused);
	RUN(changed_bytes_do_no_harm);
	RUN(many_threads);
	return CHECK_RESULT();
}
