/* SPDX-License-Identifier: MIT */
/* picture.c - encoded images by their magic, and their decoding within limits. */
#include <stdarg.h>
#include <stdio.h>

#include "image_int.h"

#define MAX_PIXELS (UINT64_C(1) << 28)
#define MAX_BYTES (UINT64_C(1) << 31)

int picture_why(char **ret_why, int r, const char *fmt, ...)
{
	va_list ap;

	if (!ret_why || *ret_why)
		return r;
	va_start(ap, fmt);
	if (vasprintf(ret_why, fmt, ap) < 0)
		*ret_why = NULL;
	va_end(ap);
	return r;
}

void picture_done(struct picture *p)
{
	blob_unref(p->pixels);
	p->pixels = NULL;
}

/* ---- formats ---- */
struct format {
	const char *name;
	decode_fn *decode; /* NULL: only named to people */
	unsigned at;	   /* where the magic is */
	uint8_t n;
	uint8_t magic[12];
};
static const struct format formats[] = {
	{ "PNG", decode_png, 0, 8, "\x89PNG\r\n\x1a\n" },
	{ "JPEG", decode_jpeg, 0, 3, "\xff\xd8\xff" },
	{ "TIFF", decode_tiff, 0, 4, "II*\0" },
	{ "TIFF", decode_tiff, 0, 4, "MM\0*" },
	{ "TIFF", decode_tiff, 0, 4, "II+\0" },
	{ "TIFF", decode_tiff, 0, 4, "MM\0+" },
	{ "GIF", decode_gif, 0, 5, "GIF87" },
	{ "GIF", decode_gif, 0, 5, "GIF89" },
	{ "WebP", decode_webp, 8, 4, "WEBP" },
	{ "JPEG 2000", NULL, 4, 8, "jP  \r\n\x87\n" },
	{ "JPEG 2000", NULL, 0, 4, "\xff\x4f\xff\x51" },
	{ "AVIF", NULL, 4, 8, "ftypavif" },
	{ "HEIF", NULL, 4, 8, "ftypheic" },
	{ "HEIF", NULL, 4, 8, "ftypmif1" },
	{ "JPEG XL", NULL, 4, 8, "JXL \r\n\x87\n" },
	{ "JPEG XL", NULL, 0, 2, "\xff\x0a" },
	{ "OpenEXR", NULL, 0, 4, "\x76\x2f\x31\x01" },
	{ "BMP", decode_bmp, 0, 2, "BM" },
};

/* Two letters are little: the reserved bytes of a BMP are zero. */
static bool is_likely(const struct format *f, const uint8_t *b, size_t n)
{
	static const uint8_t zeros[4];

	return f->decode != decode_bmp || (n >= 10 && !memcmp(b + 6, zeros, 4));
}

static const struct format *format_find(const uint8_t *b, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct format *f = &formats[i];

		if (n >= f->at + f->n && !memcmp(b + f->at, f->magic, f->n) &&
		    is_likely(f, b, n))
			return f;
	}
	return NULL;
}

const char *picture_format(const void *bytes, size_t n)
{
	const struct format *f = format_find(bytes, n);

	return f ? f->name : NULL;
}

/* ---- decoding ---- */
int picture_alloc(struct picture *p)
{
	uint64_t size;

	if (mul_overflow(p->width, p->height, &size) ||
	    mul_overflow(size, picture_pixel_bytes(p), &size) ||
	    size > MAX_BYTES)
		return -EFBIG;
	return blob_new(size, &p->pixels);
}

int picture_begin(struct decoding *d, uint64_t width, uint64_t height,
		  unsigned channels, unsigned bits)
{
	struct picture *p = &d->picture;
	uint64_t pixels, bytes;
	int r;

	if (!width || !height || width > INT32_MAX || height > INT32_MAX)
		return picture_why(d->ret_why, -EINVAL,
				   "damaged %s: it claims to have %llu x %llu "
				   "pixels",
				   d->format, (unsigned long long)width,
				   (unsigned long long)height);
	pixels = width * height;
	if (pixels > d->max_pixels ||
	    mul_overflow(pixels, channels * bits / 8, &bytes) ||
	    bytes > d->max_bytes)
		return picture_why(d->ret_why, -EFBIG,
				   "%s of %llu x %llu pixels, %u channel%s of "
				   "%u bits: too large",
				   d->format, (unsigned long long)width,
				   (unsigned long long)height, channels,
				   channels == 1 ? "" : "s", bits);
	p->width = (uint32_t)width;
	p->height = (uint32_t)height;
	p->channels = channels;
	p->bits = p->depth = bits;
	r = picture_alloc(p);
	if (r < 0)
		return picture_why(d->ret_why, r, "no memory to decode it");
	return 0;
}

static void decoding_done(struct decoding *d)
{
	picture_done(&d->picture);
}

int picture_decode(const void *bytes, size_t n, const struct picture_limits *l,
		   struct picture *ret_picture, char **ret_why)
{
	CLEANUP(decoding_done)
	struct decoding d = { .bytes = bytes, .n = n, .ret_why = ret_why };
	const struct format *f = format_find(bytes, n);
	int r;

	if (!f)
		return picture_why(ret_why, -EINVAL, "no image");
	if (!f->decode)
		return picture_why(ret_why, -EINVAL,
				   "%s, which is not decoded here", f->name);
	d.format = f->name;
	d.max_pixels = l && l->max_pixels ? l->max_pixels : MAX_PIXELS;
	d.max_bytes = l && l->max_bytes ? l->max_bytes : MAX_BYTES;
	r = f->decode(&d);
	if (r == 0)
		r = picture_orient(&d.picture, d.orientation);
	if (r < 0)
		return picture_why(ret_why, r, "%s: %s", f->name, strerror(-r));
	*ret_picture = d.picture;
	d.picture.pixels = NULL;
	return 0;
}

void image_versions(struct strbuf *out)
{
	png_version(out);
	strbuf_puts(out, ", ");
	vips_versions(out);
}
