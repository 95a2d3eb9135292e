/* SPDX-License-Identifier: MIT */
/* heap.c - looks at a global heap collection before the library does: strings
 * and sequences of variable length lie there, and the library trusts the sizes
 * in it, so that a damaged one overruns its memory or never ends.
 *
 * Format: HDF5 File Format Specification 3.0, III.E, with lengths of 8 bytes. */
#include "store_int.h"

#define HEAD 16 /* of the collection, and of each object in it */
#define WINDOW 4096

struct window {
	int fd;
	uint64_t at;
	size_t n;
	uint8_t bytes[WINDOW];
};

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* HEAD bytes of the file at `at`; NULL when they can not be read. */
static const uint8_t *look(struct window *w, uint64_t at)
{
	if (at < w->at || at + HEAD > w->at + w->n) {
		ssize_t n = pread(w->fd, w->bytes, WINDOW, (off_t)at);

		w->at = at;
		w->n = n < 0 ? 0 : (size_t)n;
		if (w->n < HEAD)
			return NULL;
	}
	return w->bytes + (at - w->at);
}

bool heap_is_one(const void *bytes, size_t n)
{
	return n >= HEAD && !memcmp(bytes, "GCOL\1\0\0\0", 8);
}

int heap_check(int fd, uint64_t addr, uint64_t file_size)
{
	struct window w = { .fd = fd };
	const uint8_t *p = look(&w, addr);
	uint64_t size, end;

	if (!p)
		return -EIO;
	size = get64(p + 8);
	if (add_overflow(addr, size, &end) || end > file_size)
		return -EIO;
	for (addr += HEAD; addr <= end && end - addr >= HEAD;) {
		bool is_free;

		p = look(&w, addr);
		if (!p)
			return -EIO;
		is_free = p[0] == 0 && p[1] == 0;
		size = get64(p + 8); /* free space counts its own head */
		if (size > end - addr || (is_free && size < HEAD))
			return -EIO;
		addr += is_free ? size : HEAD + (size + 7) / 8 * 8;
	}
	return addr <= end ? 0 : -EIO;
}
