/* SPDX-License-Identifier: MIT */
/* layout_bytes.c - rule R2: elements that are encoded image files, told by the
 * magic of their first bytes and by nothing else. */
#include "image_int.h"

#define HEAD_BYTES 32
#define PROBE_ELEMENTS 64 /* looked at for ... */
#define PROBE_FILES 8	  /* ... so many that are not empty */

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[0] << 24;
}

/* "BM" alone is two letters of text: the length and the reserved zeros count. */
static bool bmp_plausible(const uint8_t *head, size_t n, uint64_t len)
{
	return n >= 10 && len >= 26 && le32(head + 2) <= len && !le32(head + 6);
}

static bool webp_plausible(const uint8_t *head, size_t n, uint64_t len)
{
	return n >= 12 && !memcmp(head + 8, "WEBP", 4);
}

/* What lies behind the file in a padded element is cut. */
static size_t jpg_end(const uint8_t *b, size_t len)
{
	for (size_t i = len; i >= 4; i--)
		if (b[i - 2] == 0xff && b[i - 1] == 0xd9)
			return i;
	return len;
}

static size_t png_end(const uint8_t *b, size_t len)
{
	uint64_t at = 8;

	while (at + 12 <= len) {
		uint64_t next = at + 12 + be32(b + at);

		if (!memcmp(b + at + 4, "IEND", 4))
			return min_u64(next, len);
		at = next;
	}
	return len;
}

static size_t webp_end(const uint8_t *b, size_t len)
{
	return len < 8 ? len : min_u64(8 + (uint64_t)le32(b + 4), len);
}

static size_t bmp_end(const uint8_t *b, size_t len)
{
	return len < 6 ? len : min_u64(le32(b + 2), len);
}

static size_t zeros_end(const uint8_t *b, size_t len)
{
	while (len && !b[len - 1])
		len--;
	return len;
}

static const struct magic {
	const char *ext;
	uint8_t n;
	uint8_t bytes[12];
	bool (*plausible)(const uint8_t *head, size_t n, uint64_t len);
	size_t (*end)(const uint8_t *b, size_t len);
} magics[] = {
	{ "jpg", 3, { 0xff, 0xd8, 0xff }, NULL, jpg_end },
	{ "png",
	  8,
	  { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' },
	  NULL,
	  png_end },
	{ "gif", 4, { 'G', 'I', 'F', '8' }, NULL, NULL },
	{ "bmp", 2, { 'B', 'M' }, bmp_plausible, bmp_end },
	{ "tif", 4, { 'I', 'I', '*', 0 }, NULL, NULL },
	{ "tif", 4, { 'M', 'M', 0, '*' }, NULL, NULL },
	{ "webp", 4, { 'R', 'I', 'F', 'F' }, webp_plausible, webp_end },
	{ "jp2",
	  12,
	  { 0, 0, 0, 12, 'j', 'P', ' ', ' ', '\r', '\n', 0x87, '\n' },
	  NULL,
	  zeros_end },
	{ "jp2", 4, { 0xff, 0x4f, 0xff, 0x51 }, NULL, zeros_end },
};

const char *layout_magic(const uint8_t *head, size_t nhead, uint64_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		const struct magic *m = &magics[i];

		if (nhead >= m->n && !memcmp(head, m->bytes, m->n) &&
		    (!m->plausible || m->plausible(head, nhead, len)))
			return m->ext;
	}
	return NULL;
}

size_t layout_trim(const uint8_t *bytes, size_t len, const char *ext)
{
	for (size_t i = 0; ext && i < ARRAY_SIZE(magics); i++)
		if (!strcmp(magics[i].ext, ext))
			return magics[i].end ? magics[i].end(bytes, len) : len;
	return len;
}

enum element_shape { ELEMENTS_NONE, ELEMENT_ONE, ELEMENTS_ROWS };

/* One file, a file for each of axis 0, or nothing that could be files. */
static enum element_shape element_shape(const struct desc *d)
{
	if (d->kind == DESC_BYTES || d->kind == DESC_STRING)
		return d->rank == 0   ? ELEMENT_ONE
		       : d->rank == 1 ? ELEMENTS_ROWS
				      : ELEMENTS_NONE;
	if (d->kind != DESC_NUMBER || d->num_size != 1 || !desc_is_integer(d) ||
	    d->is_enum || d->sub != SUB_NONE)
		return ELEMENTS_NONE;
	if (d->rank == 1 && d->dims[0] >= 16)
		return ELEMENT_ONE;
	if (d->rank == 2 && desc_is_uint(d, 1) && d->dims[1] >= 64)
		return ELEMENTS_ROWS;
	return ELEMENTS_NONE;
}

/* A row of fixed length that holds nothing is all padding. */
static bool is_empty(const struct desc *d, const uint8_t *head, size_t n,
		     uint64_t len)
{
	return !len || (!d->vlen && !zeros_end(head, n));
}

/* All of the first few elements that are not empty, and at least one. */
static bool all_encoded(const struct question *q, uint64_t count)
{
	uint8_t head[HEAD_BYTES];
	unsigned files = 0;

	for (uint64_t i = 0;
	     i < count && i < PROBE_ELEMENTS && files < PROBE_FILES; i++) {
		uint64_t len;
		size_t n;

		if (q->probe->head(q->d->arg, q->d, i, head, sizeof(head),
				   &len) < 0)
			return false;
		n = min_u64(len, sizeof(head));
		if (is_empty(q->d, head, n, len))
			continue;
		if (!layout_magic(head, n, len))
			return false;
		files++;
	}
	return files > 0;
}

enum verdict fit_r2_encoded(const struct question *q, struct layout *l)
{
	enum element_shape shape = element_shape(q->d);

	if (shape == ELEMENTS_NONE || !q->probe || !q->probe->head)
		return V_PASS;
	if (!all_encoded(q, shape == ELEMENT_ONE ? 1 : q->d->dims[0]))
		return V_PASS;
	l->nindex = shape == ELEMENTS_ROWS;
	l->index[0] = 0;
	return V_ENCODED;
}
