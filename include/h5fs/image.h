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

/* The CRC-32 of PNG and the Adler-32 of zlib. */
uint32_t checksum_crc32(uint32_t crc, const void *bytes, size_t n);   /* start: 0 */
uint32_t checksum_adler32(uint32_t adler, const void *bytes, size_t n); /* start: 1 */

#endif
