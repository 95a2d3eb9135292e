/* SPDX-License-Identifier: MIT */
/* image.h - pixels to PNG bytes.
 *
 * A stored PNG holds its rows in zlib stored blocks (RFC 1950, 1951): its size
 * follows from its dimensions, and a reader decodes it faster than a compressed
 * one. PNG: W3C Recommendation, ISO/IEC 15948. */
#ifndef H5FS_IMAGE_H
#define H5FS_IMAGE_H

#include "h5fs/array.h"
#include "h5fs/layout.h"

struct png_shape {
	uint32_t width, height; /* 1 .. 2^31-1 */
	unsigned channels;	/* 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA */
	unsigned bits;		/* 1 (grey only), 8, 16 */
	const uint8_t *palette; /* colour type 3: ncolours RGB triples, bits 8 */
	unsigned ncolours;
};
/* Exact file size. -EINVAL: not a PNG shape; -EFBIG: does not fit. */
int png_stored_size(const struct png_shape *p, uint64_t *ret_size);
/* Bytes of one row without its filter byte. */
uint64_t png_row_bytes(const struct png_shape *p);

/* Where stored values lie: value (y,x,c) at
 * base + y*stride_y + x*stride_x + channel[c]. Strides may be negative or 0. */
struct pixels {
	const uint8_t *base;
	int64_t stride_y, stride_x;
	int64_t channel[4];
	enum desc_num num;
	unsigned num_size;
};
/* Where those of one picture lie in what base points to: strides are of d's stored
 * axes, in bytes; index is where it lies along d's axes, of which only those
 * inside an element are looked at. -EINVAL: l does not fit d. */
int pixels_place(const struct desc *d, const struct layout *l,
		 const struct layout_shape *shape, const uint8_t *base,
		 const int64_t *strides, const uint64_t *index,
		 struct pixels *ret_pixels);
/* The whole file: rows are taken from px under norm n straight into place, the
 * checksums are computed over them. */
int png_stored_render(const struct png_shape *p, const struct pixels *px,
		      const struct norm *n, struct blob **ret_blob);
/* One row of stored values as PNG row bytes (1 bit packed, 16 bit big-endian).
 * out holds png_row_bytes(). */
void raster_row(const struct png_shape *p, const struct pixels *px,
		const struct norm *n, uint32_t y, uint8_t *out);

/* Smallest and largest finite present value of a picture; -ENODATA: none. */
int raster_range(const struct png_shape *p, const struct pixels *px,
		 const struct norm *n, double *ret_lo, double *ret_hi);

/* ---- what people copy in: encoded images to pixels, pixels to values ---- */
enum fit { FIT_EXACT, FIT_RESIZE, FIT_LETTERBOX, FIT_CROP };
/* A decoded image: rows of packed pixels, 16 bit in native order, top left
 * first; EXIF orientation is applied, colour profiles are dropped. */
struct picture {
	uint32_t width, height;
	unsigned channels; /* 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA */
	unsigned bits;	   /* 8, 16; an image of 1, 2 or 4 bits has 8 and depth says
			    * which: values as stored, not scaled to 255 */
	unsigned depth;	   /* bits of a stored sample: 1, 2, 4, 8, 16 */
	unsigned ncolours; /* indexed: pixels are indices, channels is 1 */
	uint8_t palette[768], alpha[256]; /* of each colour; 255: opaque */
	bool ids_lost; /* it was indexed, and only its colours are left */
	struct blob *pixels;
};
void picture_done(struct picture *p);
/* For people: "640 x 480 pixels, RGB, 8 bits". */
void picture_say(const struct picture *p, struct strbuf *out);
/* "PNG", "JPEG", "BMP", "TIFF", "WebP", "GIF", ... by magic; NULL: no image. */
const char *picture_format(const void *bytes, size_t n);
struct picture_limits {
	uint64_t max_pixels; /* 0: 2^28 */
	uint64_t max_bytes;  /* decoded; 0: 2^31 */
};
/* Strict: a truncated or damaged image is -EINVAL, as is an animation or more
 * than one page; -EFBIG beyond the limits; *ret_why is one line for people
 * ("truncated JPEG: ..."), the caller frees it. */
int picture_decode(const void *bytes, size_t n, const struct picture_limits *l,
		   struct picture *ret_picture, char **ret_why);

/* What a dataset's samples are, as far as a picture must become one. */
struct picture_want {
	uint32_t width, height;
	unsigned channels;
	unsigned bits;	/* of the PNG channel it is shown with: 1, 8, 16 */
	bool mask;	/* ids: palette indices as they are, RGB only where
			 * R=G=B, nearest neighbour */
	bool boolean;	/* takes exactly {0,1} or {0,255} */
	enum fit fit;
};
/* The same of what is wanted. */
void picture_want_say(const struct picture_want *w, struct strbuf *out);
/* Channels, depth and size as wanted: grey <-> RGB (RGB to grey only where
 * R=G=B, or by the usual luma when !mask), opaque alpha dropped, values of 8 bits
 * kept in 16; 16 bits become 8 only of a mask whose ids fit: -EINVAL with
 * *ret_why, which says what the image is and why it does not do. 1, 2 and 4 bits
 * become shades of 255 when !mask. Of a boolean one the values are 0 and 1 where
 * w->bits is 1, else 0 and 255. */
int picture_fit(const struct picture *p, const struct picture_want *w,
		struct picture *ret_picture, char **ret_why);

/* The inverse of png_stored_render() on one sample: writes the values of a
 * picture that has the sample's size, channels and bits to where px says they
 * lie. With `keep`, values whose pixel would not change are left as they are.
 * -EOPNOTSUPP: norm_is_invertible() says no; -EINVAL with *ret_why: a value that
 * the rule cannot give. */
struct pixels_out {
	uint8_t *base;
	int64_t stride_y, stride_x; /* as in struct pixels */
	int64_t channel[4];
	enum desc_num num;
	unsigned num_size;
};
int raster_store(const struct picture *p, const struct norm *n, bool keep,
		 const struct pixels_out *px, char **ret_why);

/* "libpng 1.6.39, libvips 8.14.1" */
void image_versions(struct strbuf *out);

/* The CRC-32 of PNG and the Adler-32 of zlib. */
uint32_t checksum_crc32(uint32_t crc, const void *bytes, size_t n);   /* start: 0 */
uint32_t checksum_adler32(uint32_t adler, const void *bytes, size_t n); /* start: 1 */

#endif
