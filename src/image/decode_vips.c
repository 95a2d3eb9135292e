/* SPDX-License-Identifier: MIT */
/* decode_vips.c - JPEG, TIFF, WebP and GIF files that are copied in, by libvips:
 * the only room that knows it. Only its own loaders of these formats are let in,
 * from memory, without its cache and its threads.
 *
 * libvips has one buffer for the messages of all threads. So what fails is tried
 * again alone, and the message is of that. */
#include <vips/vips.h>

#include "image_int.h"

#define STRIP_ROWS 64
#define MAX_AGAIN (1u << 24) /* pixels; others wait meanwhile */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int started;
static pthread_rwlock_t alone = PTHREAD_RWLOCK_INITIALIZER;

static void be_silent(const char *domain, GLogLevelFlags level,
		      const char *text, void *arg)
{
}

static void start(void)
{
	static const char *const trusted[] = { "VipsForeignLoadJpeg",
					       "VipsForeignLoadTiff",
					       "VipsForeignLoadWebp",
					       "VipsForeignLoadNsgif" };

	g_log_set_handler("VIPS", G_LOG_LEVEL_MASK, be_silent, NULL);
	started = VIPS_INIT("h5fs") == 0;
	if (!started)
		return;
	vips_concurrency_set(1);
	vips_cache_set_max(0);
	vips_cache_set_max_mem(0);
	vips_cache_set_max_files(0);
	vips_operation_block_set("VipsForeignLoad", TRUE);
	for (size_t i = 0; i < ARRAY_SIZE(trusted); i++)
		vips_operation_block_set(trusted[i], FALSE);
}

/* ---- one try ---- */
typedef int vips_load(void *bytes, size_t n, VipsImage **ret_image, ...);

struct loader {
	vips_load *load;
	VipsFailOn fail_on;
};

static void image_unrefp(VipsImage **image)
{
	if (*image)
		g_object_unref(*image);
}

static void region_unrefp(VipsRegion **region)
{
	if (*region)
		g_object_unref(*region);
}

static bool is_grey_or_rgb(const VipsImage *image)
{
	switch (vips_image_get_interpretation(image)) {
	case VIPS_INTERPRETATION_B_W:
	case VIPS_INTERPRETATION_GREY16:
	case VIPS_INTERPRETATION_RGB:
	case VIPS_INTERPRETATION_sRGB:
	case VIPS_INTERPRETATION_RGB16:
		return vips_image_get_bands(image) <= 4;
	default:
		return false;
	}
}

/* What the header says: more than one page, or colours that are not ours. */
static int check_header(struct decoding *d, const VipsImage *image)
{
	VipsBandFormat format = vips_image_get_format(image);
	int pages = 1;

	if (vips_image_get_typeof(image, VIPS_META_N_PAGES) &&
	    vips_image_get_int(image, VIPS_META_N_PAGES, &pages) == 0 &&
	    pages != 1)
		return picture_why(d->ret_why, -EINVAL,
				   "%s of %d pages or frames, which is more "
				   "than one picture",
				   d->format, pages);
	if (vips_image_get_interpretation(image) == VIPS_INTERPRETATION_CMYK)
		return picture_why(d->ret_why, -EINVAL,
				   "%s of CMYK colours; only grey and RGB have "
				   "one meaning for pixels",
				   d->format);
	if ((format != VIPS_FORMAT_UCHAR && format != VIPS_FORMAT_USHORT) ||
	    !is_grey_or_rgb(image))
		return picture_why(
			d->ret_why, -EINVAL,
			"%s of %d channels of %s (%s); only grey and RGB of 8 "
			"or 16 bits are pixels",
			d->format, vips_image_get_bands(image),
			vips_enum_nick(VIPS_TYPE_BAND_FORMAT, format),
			vips_enum_nick(VIPS_TYPE_INTERPRETATION,
				       vips_image_get_interpretation(image)));
	return 0;
}

/* In this thread, from the top. -EIO: libvips has a message. */
static int copy_pixels(VipsImage *image, struct picture *p)
{
	CLEANUP(region_unrefp) VipsRegion *region = vips_region_new(image);
	size_t row = picture_row_bytes(p);
	uint8_t *out = p->pixels->data;

	if (!region)
		return -EIO;
	for (uint32_t y = 0; y < p->height; y += STRIP_ROWS) {
		uint32_t n =
			p->height - y < STRIP_ROWS ? p->height - y : STRIP_ROWS;
		VipsRect r = { 0, (int)y, (int)p->width, (int)n };

		if (vips_region_prepare(region, &r))
			return -EIO;
		for (uint32_t k = 0; k < n; k++, out += row)
			memcpy(out, VIPS_REGION_ADDR(region, 0, (int)(y + k)),
			       row);
	}
	return 0;
}

static int try_load(struct decoding *d, const struct loader *l)
{
	CLEANUP(image_unrefp) VipsImage *image = NULL;
	int r;

	if (l->load((void *)d->bytes, d->n, &image, "access",
		    VIPS_ACCESS_SEQUENTIAL, "fail_on", l->fail_on, NULL))
		return -EIO;
	r = check_header(d, image);
	if (r == 0)
		r = picture_begin(
			d, (uint64_t)vips_image_get_width(image),
			(uint64_t)vips_image_get_height(image),
			(unsigned)vips_image_get_bands(image),
			vips_image_get_format(image) == VIPS_FORMAT_USHORT ? 16
									   : 8);
	if (r < 0)
		return r;
	d->orientation = (unsigned)vips_image_get_orientation(image);
	return copy_pixels(image, &d->picture);
}

/* ---- again, alone, to be told why ---- */
static int say_that(struct decoding *d, const char *text)
{
	size_t n = text ? strcspn(text, "\n") : 0;

	return picture_why(d->ret_why, -EINVAL, "truncated or damaged %s%s%.*s",
			   d->format, n ? ": " : "", (int)n, n ? text : "");
}

static int say_why(struct decoding *d)
{
	char *text = vips_error_buffer_copy();
	int r = say_that(d, text);

	g_free(text);
	return r;
}

static int load_alone(struct decoding *d, const struct loader *l)
{
	int r;

	pthread_rwlock_wrlock(&alone);
	vips_error_clear();
	r = try_load(d, l);
	if (r == -EIO)
		r = say_why(d);
	vips_error_clear();
	pthread_rwlock_unlock(&alone);
	return r;
}

static int load(struct decoding *d, const struct loader *l)
{
	int r;

	pthread_once(&once, start);
	if (!started)
		return picture_why(d->ret_why, -EIO,
				   "libvips, which decodes %s, did not start",
				   d->format);
	pthread_rwlock_rdlock(&alone);
	r = try_load(d, l);
	pthread_rwlock_unlock(&alone);
	if (r == -EIO) {
		uint64_t pixels =
			(uint64_t)d->picture.width * d->picture.height;

		picture_done(&d->picture);
		r = pixels > MAX_AGAIN ? say_that(d, NULL) : load_alone(d, l);
	}
	vips_thread_shutdown();
	return r;
}

/* ---- formats ---- */
/* All pixels may be there without the end of the file, which is then missed by
 * nobody but us. */
static bool jpeg_has_end(const uint8_t *b, size_t n)
{
	size_t at = 2;

	while (at + 2 <= n) {
		unsigned marker = b[at + 1];

		if (b[at] != 0xff || marker == 0xff) {
			at++;
			continue;
		}
		if (marker == 0xd9)
			return true;
		at += 2;
		/* Within a scan: a stuffed byte, a restart. */
		if (marker <= 1 || (marker >= 0xd0 && marker <= 0xd8))
			continue;
		if (at + 2 > n)
			return false;
		at += (size_t)b[at] << 8 | b[at + 1];
	}
	return false;
}

static size_t gif_colours(unsigned flags)
{
	return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

/* Blocks of sub-blocks, up to the trailer. */
static bool gif_has_end(const uint8_t *b, size_t n)
{
	size_t at = n < 13 ? n : 13 + gif_colours(b[10]);

	while (at < n && b[at] != ';') {
		bool image = b[at] == ',';

		if (n - at < 11)
			return false;
		at += image ? 11 + gif_colours(b[at + 9]) : 2;
		while (at < n && b[at])
			at += 1 + (size_t)b[at];
		at++;
	}
	return at < n;
}

int decode_jpeg(struct decoding *d)
{
	static const struct loader l = { vips_jpegload_buffer,
					 VIPS_FAIL_ON_WARNING };

	if (!jpeg_has_end(d->bytes, d->n))
		return picture_why(d->ret_why, -EINVAL, "truncated JPEG");
	return load(d, &l);
}

int decode_tiff(struct decoding *d)
{
	static const struct loader l = { vips_tiffload_buffer,
					 VIPS_FAIL_ON_WARNING };
	int r = load(d, &l);

	d->picture.ids_lost = tiff_short(d->bytes, d->n, TIFF_PHOTOMETRIC) == 3;
	return r;
}

int decode_webp(struct decoding *d)
{
	static const struct loader l = { vips_webpload_buffer,
					 VIPS_FAIL_ON_WARNING };

	return load(d, &l);
}

int decode_gif(struct decoding *d)
{
	static const struct loader l = { vips_gifload_buffer,
					 VIPS_FAIL_ON_WARNING };

	if (!gif_has_end(d->bytes, d->n))
		return picture_why(d->ret_why, -EINVAL, "truncated GIF");
	d->picture.ids_lost = true;
	return load(d, &l);
}

void vips_versions(struct strbuf *out)
{
	strbuf_printf(out, "libvips %d.%d.%d", vips_version(0), vips_version(1),
		      vips_version(2));
}
