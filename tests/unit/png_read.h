/* SPDX-License-Identifier: MIT */
/* png_read.h - a second, plain opinion on stored PNG files: checks every
 * chunk's CRC and the stream's Adler-32, and takes the rows out. */
#ifndef H5FS_PNG_READ_H
#define H5FS_PNG_READ_H

#include "h5fs/base.h"

#include "check.h"

struct png_read {
	uint32_t width, height;
	uint8_t bits, colour_type;
	unsigned nidat, nplte; /* chunks; colours */
	uint8_t plte[768];
	uint8_t *stream, *raw; /* raw: filter bytes and rows */
	size_t nstream, nraw;
	unsigned nblocks;
};

static uint32_t read_crc(const uint8_t *p, size_t n)
{
	static uint32_t table[256];
	uint32_t crc = UINT32_MAX;

	for (uint32_t i = 0; !table[255] && i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^
				   (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (size_t i = 0; i < n; i++)
		crc = crc >> 8 ^ table[(crc ^ p[i]) & 255];
	return ~crc;
}

static uint32_t read_adler(const uint8_t *p, size_t n)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < n; i++) {
		a = (a + p[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

static uint32_t read_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static bool read_inflate(struct png_read *r)
{
	const uint8_t *p = r->stream, *end = p + r->nstream;
	bool last = false;

	if (r->nstream < 6 || p[0] != 0x78 || (p[0] << 8 | p[1]) % 31)
		return false;
	for (p += 2; !last; r->nblocks++) {
		size_t n;

		if (end - p < 5 || p[0] > 1)
			return false;
		last = p[0];
		n = (size_t)(p[1] | p[2] << 8);
		if (n != (size_t)(~(p[3] | p[4] << 8) & 0xffff))
			return false;
		p += 5;
		if ((size_t)(end - p) < n)
			return false;
		memcpy(r->raw + r->nraw, p, n);
		r->nraw += n;
		p += n;
	}
	return end - p == 4 && read_be32(p) == read_adler(r->raw, r->nraw);
}

static void read_chunk(struct png_read *r, const uint8_t *type,
		       const uint8_t *data, size_t n)
{
	if (memcmp(type, "IHDR", 4) == 0 && n == 13) {
		r->width = read_be32(data);
		r->height = read_be32(data + 4);
		r->bits = data[8];
		r->colour_type = data[9];
		CHECK(data[10] == 0 && data[11] == 0 && data[12] == 0);
	} else if (memcmp(type, "PLTE", 4) == 0 && n <= 768) {
		CHECK_EQ(r->nidat, 0);
		r->nplte = (unsigned)(n / 3);
		memcpy(r->plte, data, n);
	} else if (memcmp(type, "IDAT", 4) == 0) {
		memcpy(r->stream + r->nstream, data, n);
		r->nstream += n;
		r->nidat++;
	} else {
		CHECK(memcmp(type, "IEND", 4) == 0 && n == 0);
	}
}

static inline void png_read_done(struct png_read *r)
{
	free(r->stream);
	free(r->raw);
}

/* False, and a failed check, when it is not a stored PNG file. */
static inline bool png_read(const uint8_t *p, size_t size, struct png_read *r)
{
	size_t at = 8;
	bool ok = true;

	memset(r, 0, sizeof(*r));
	r->stream = malloc(size);
	r->raw = malloc(size);
	ok = size > 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0;
	while (ok && at < size) {
		size_t n = size - at < 12 ? SIZE_MAX : read_be32(p + at);

		ok = n <= size - at - 12 &&
		     read_be32(p + at + 8 + n) == read_crc(p + at + 4, n + 4);
		if (ok)
			read_chunk(r, p + at + 4, p + at + 8, n);
		at += ok ? n + 12 : 0;
	}
	ok = ok && memcmp(p + size - 8, "IEND", 4) == 0 && read_inflate(r);
	CHECK(ok);
	return ok;
}

#endif
