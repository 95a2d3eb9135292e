/* SPDX-License-Identifier: MIT */
/* decode_png.c - PNG files that are copied in, by libpng, strictly: what is cut
 * off, has a wrong checksum or holds too much is no image. The only room that
 * knows libpng.
 *
 * Samples of 1, 2 and 4 bits are unpacked and not scaled; a palette stays one.
 * What says nothing of the pixels is checked by its CRC alone. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>

#include "image_int.h"

struct reader {
	struct decoding *d;
	png_struct *png;
	png_info *info;
	size_t at;
	bool truncated, animated;
	char why[120];
	jmp_buf failed;
};

static void reader_done(struct reader *r)
{
	png_destroy_read_struct(&r->png, &r->info, NULL);
}

/* ---- what libpng calls ---- */
/* Warnings are about chunks that matter: all others are skipped. */
_Noreturn static void on_error(png_struct *png, const char *text)
{
	struct reader *r = png_get_error_ptr(png);

	snprintf(r->why, sizeof(r->why), "%s", text);
	longjmp(r->failed, 1);
}

static void on_warning(png_struct *png, const char *text)
{
	on_error(png, text);
}

static void on_read(png_struct *png, png_byte *buf, size_t n)
{
	struct reader *r = png_get_io_ptr(png);

	if (n > r->d->n - r->at) {
		r->truncated = true;
		on_error(png, "it ends too early");
	}
	memcpy(buf, r->d->bytes + r->at, n);
	r->at += n;
}

static int on_chunk(png_struct *png, png_unknown_chunk *chunk)
{
	struct reader *r = png_get_user_chunk_ptr(png);

	if (!memcmp(chunk->name, "acTL", 4))
		r->animated = true;
	return 1;
}

/* ---- reading ---- */
static void set_up(struct reader *r)
{
	static const png_byte skipped[] =
		"bKGD\0cHRM\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0"
		"sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";

	png_set_read_fn(r->png, r, on_read);
	png_set_crc_action(r->png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
	png_set_benign_errors(r->png, 0);
	png_set_user_limits(r->png, INT32_MAX, INT32_MAX);
	png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, skipped,
				    sizeof(skipped) / 5);
	png_set_read_user_chunk_fn(r->png, r, on_chunk);
}

static void take_palette(struct reader *r, struct picture *p)
{
	png_color *colours = NULL;
	png_byte *alpha = NULL;
	int n = 0, nalpha = 0;

	if (!png_get_PLTE(r->png, r->info, &colours, &n) || n < 1 || n > 256)
		png_error(r->png, "no palette");
	p->ncolours = (unsigned)n;
	for (int i = 0; i < n; i++) {
		p->palette[3 * i] = colours[i].red;
		p->palette[3 * i + 1] = colours[i].green;
		p->palette[3 * i + 2] = colours[i].blue;
	}
	memset(p->alpha, 255, sizeof(p->alpha));
	if (png_get_tRNS(r->png, r->info, &alpha, &nalpha, NULL) && alpha)
		memcpy(p->alpha, alpha, (size_t)(nalpha < n ? nalpha : n));
}

/* A colour that stands for "transparent" becomes an alpha channel. */
static void take_colour_key(struct reader *r, unsigned depth)
{
	if (!png_get_valid(r->png, r->info, PNG_INFO_tRNS))
		return;
	if (depth < 8)
		png_error(r->png, "transparency in an image of less than 8 "
				  "bits is not supported");
	png_set_tRNS_to_alpha(r->png);
}

static void take_orientation(struct reader *r)
{
	png_byte *exif = NULL;
	png_uint_32 n = 0;

	if (png_get_eXIf_1(r->png, r->info, &n, &exif) && exif)
		r->d->orientation = tiff_short(exif, n, TIFF_ORIENTATION);
}

static void check_indices(struct reader *r, const struct picture *p)
{
	uint8_t most = 0;

	for (size_t i = 0; i < p->pixels->size; i++)
		if (p->pixels->data[i] > most)
			most = p->pixels->data[i];
	if (most >= p->ncolours)
		png_error(r->png, "a pixel lies beyond the palette");
}

static int read_pixels(struct reader *r)
{
	struct picture *p = &r->d->picture;
	unsigned depth = png_get_bit_depth(r->png, r->info);
	bool indexed =
		png_get_color_type(r->png, r->info) == PNG_COLOR_TYPE_PALETTE;
	int passes, ret;

	png_set_packing(r->png);
	png_set_swap(r->png);
	if (indexed)
		take_palette(r, p);
	else
		take_colour_key(r, depth);
	passes = png_set_interlace_handling(r->png);
	png_read_update_info(r->png, r->info);
	ret = picture_begin(r->d, png_get_image_width(r->png, r->info),
			    png_get_image_height(r->png, r->info),
			    png_get_channels(r->png, r->info),
			    depth == 16 ? 16 : 8);
	if (ret < 0)
		return ret;
	p->depth = depth;
	if (png_get_rowbytes(r->png, r->info) != picture_row_bytes(p))
		png_error(r->png, "rows of an unexpected length");
	while (passes--)
		for (uint32_t y = 0; y < p->height; y++)
			png_read_row(r->png,
				     p->pixels->data + y * picture_row_bytes(p),
				     NULL);
	if (indexed)
		check_indices(r, p);
	return 0;
}

/* Everything that may jump, so that r alone holds what changes. */
static int read_file(struct reader *r)
{
	int ret;

	if (setjmp(r->failed))
		return picture_why(r->d->ret_why, -EINVAL, "%s PNG: %s",
				   r->truncated ? "truncated" : "damaged",
				   r->why);
	set_up(r);
	png_read_info(r->png, r->info);
	if (r->animated)
		return picture_why(r->d->ret_why, -EINVAL,
				   "an animated PNG, which is more than one "
				   "picture");
	ret = read_pixels(r);
	if (ret < 0)
		return ret;
	png_read_end(r->png, r->info);
	take_orientation(r);
	return 0;
}

int decode_png(struct decoding *d)
{
	CLEANUP(reader_done) struct reader r = { .d = d };

	r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error,
				       on_warning);
	if (r.png)
		r.info = png_create_info_struct(r.png);
	return r.info ? read_file(&r) : -ENOMEM;
}

void png_version(struct strbuf *out)
{
	strbuf_printf(out, "libpng %s", png_get_libpng_ver(NULL));
}
