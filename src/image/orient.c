/* SPDX-License-Identifier: MIT */
/* orient.c - a picture as EXIF says it should be held. EXIF is a TIFF directory:
 * "Exif Version 2.32", TIFF revision 6.0. */
#include "image_int.h"

#define IFD_ENTRY 12
#define TYPE_SHORT 3

static uint32_t load(const uint8_t *p, unsigned n, bool big)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint32_t)p[i] << 8 * (big ? n - 1 - i : i);
	return v;
}

unsigned tiff_short(const uint8_t *b, size_t n, uint16_t tag)
{
	bool big = n >= 2 && b[0] == 'M';
	uint64_t at, count;

	if (n < 8 || load(b + 2, 2, big) != 42)
		return 0;
	at = load(b + 4, 4, big);
	if (at + 2 > n)
		return 0;
	count = load(b + at, 2, big);
	for (at += 2; count-- && at + IFD_ENTRY <= n; at += IFD_ENTRY)
		if (load(b + at, 2, big) == tag &&
		    load(b + at + 2, 2, big) == TYPE_SHORT)
			return load(b + at + 8, 2, big);
	return 0;
}

/* Where the pixel that is shown at (x, y) lies: x and y are swapped first, then
 * counted from the other end. */
static const struct turn {
	bool swap, flip_x, flip_y;
} turns[] = {
	[2] = { false, true, false }, [3] = { false, true, true },
	[4] = { false, false, true }, [5] = { true, false, false },
	[6] = { true, false, true },  [7] = { true, true, true },
	[8] = { true, true, false },
};

static void copy_turned(const struct picture *p, const struct turn *t,
			struct picture *out)
{
	int64_t size = (int64_t)picture_pixel_bytes(p);
	int64_t step_x = size, step_y = (int64_t)picture_row_bytes(p);
	const uint8_t *from = p->pixels->data;
	uint8_t *to = out->pixels->data;

	if (t->flip_x) {
		from += step_x * (p->width - 1);
		step_x = -step_x;
	}
	if (t->flip_y) {
		from += step_y * (p->height - 1);
		step_y = -step_y;
	}
	if (t->swap) {
		int64_t step = step_x;

		step_x = step_y;
		step_y = step;
	}
	for (uint32_t y = 0; y < out->height; y++)
		for (uint32_t x = 0; x < out->width; x++, to += size)
			memcpy(to, from + y * step_y + x * step_x,
			       (size_t)size);
}

int picture_orient(struct picture *p, unsigned orientation)
{
	struct picture out = *p;
	int r;

	if (orientation < 2 || orientation >= ARRAY_SIZE(turns))
		return 0;
	if (turns[orientation].swap) {
		out.width = p->height;
		out.height = p->width;
	}
	r = picture_alloc(&out);
	if (r < 0)
		return r;
	copy_turned(p, &turns[orientation], &out);
	picture_done(p);
	*p = out;
	return 0;
}
