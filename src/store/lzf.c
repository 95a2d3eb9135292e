/* SPDX-License-Identifier: MIT */
/* lzf.c - LZF streams, as LibLZF 3 writes them and h5py's filter stores them
 * (one a chunk), and that filter for the library, which does not bring it.
 *
 * A control byte below 32 is a run of that many + 1 literals; otherwise its top
 * three bits are a length - 2 (7: a byte follows that is added) and the other
 * five the high bits of a distance - 1, whose low byte comes last. */
#include "store_int.h"

#define MAX_LITERALS 32
#define MAX_LENGTH 264
#define MAX_DISTANCE 8192
#define SEEN_BITS 13

/* Copies a match that may overlap what it makes. */
static void copy_match(uint8_t *dst, size_t distance, size_t n)
{
	const uint8_t *src = dst - distance;

	if (distance >= n) {
		memcpy(dst, src, n);
		return;
	}
	while (n--)
		*dst++ = *src++;
}

int lzf_decompress(const uint8_t *in, size_t nin, uint8_t *out, size_t nout,
		   size_t *ret_size)
{
	size_t i = 0, o = 0;

	while (i < nin) {
		size_t ctrl = in[i++], n, distance;

		if (ctrl < 32) {
			n = ctrl + 1;
			if (n > nin - i)
				return -EIO;
			if (n > nout - o)
				return -E2BIG;
			memcpy(out + o, in + i, n);
			i += n;
			o += n;
			continue;
		}
		n = ctrl >> 5;
		if (n == 7) {
			if (i >= nin)
				return -EIO;
			n += in[i++];
		}
		if (i >= nin)
			return -EIO;
		distance = ((ctrl & 31) << 8 | in[i++]) + 1;
		n += 2;
		if (distance > o)
			return -EIO;
		if (n > nout - o)
			return -E2BIG;
		copy_match(out + o, distance, n);
		o += n;
	}
	*ret_size = o;
	return 0;
}

/* Where three bytes were last seen, + 1. */
static uint32_t *seen_slot(uint32_t *seen, const uint8_t *p)
{
	uint32_t three =
		(uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;

	return &seen[three * 2654435761u >> (32 - SEEN_BITS)];
}

static size_t match_length(const uint8_t *old, const uint8_t *new, size_t max)
{
	size_t n = 0;

	while (n < max && old[n] == new[n])
		n++;
	return n;
}

struct lzf_out {
	uint8_t *p, *end;
	bool full;
};

static void put_literals(struct lzf_out *o, const uint8_t *in, size_t n)
{
	while (n && !o->full) {
		size_t run = n < MAX_LITERALS ? n : MAX_LITERALS;

		o->full = (size_t)(o->end - o->p) < run + 1;
		if (o->full)
			return;
		*o->p++ = (uint8_t)(run - 1);
		memcpy(o->p, in, run);
		o->p += run;
		in += run;
		n -= run;
	}
}

static void put_match(struct lzf_out *o, size_t length, size_t distance)
{
	size_t n = length - 2, d = distance - 1;

	o->full = o->full || o->end - o->p < 3;
	if (o->full)
		return;
	*o->p++ = (uint8_t)((n < 7 ? n : 7) << 5 | d >> 8);
	if (n >= 7)
		*o->p++ = (uint8_t)(n - 7);
	*o->p++ = (uint8_t)d;
}

size_t lzf_compress(const uint8_t *in, size_t n, uint8_t *out, size_t room)
{
	uint32_t seen[1 << SEEN_BITS] = { 0 };
	struct lzf_out o = { out, out + room, false };
	size_t i = 0, from = 0;

	if (n >= UINT32_MAX)
		return 0;
	while (i + 3 <= n && !o.full) {
		uint32_t *slot = seen_slot(seen, in + i);
		size_t at = *slot, max = n - i, length = 0;

		*slot = (uint32_t)i + 1;
		if (max > MAX_LENGTH)
			max = MAX_LENGTH;
		if (at && i + 1 - at <= MAX_DISTANCE)
			length = match_length(in + at - 1, in + i, max);
		if (length < 3) {
			i++;
			continue;
		}
		put_literals(&o, in + from, i - from);
		put_match(&o, length, i + 1 - at);
		i += length;
		from = i;
	}
	put_literals(&o, in + from, n - from);
	return o.full ? 0 : (size_t)(o.p - out);
}

/* The third parameter is the size of a chunk; of strings it is not there. */
static size_t unpack(size_t ncd, const unsigned cd[], size_t nbytes,
		     size_t *buf_size, void **buf)
{
	size_t room = ncd >= 3 && cd[2] ? cd[2] : 2 * nbytes, size = 0;
	int r = -E2BIG;

	/* no stream unpacks to more than 264 bytes for 3 */
	for (; r == -E2BIG && room / 264 <= nbytes; room *= 2) {
		uint8_t *out = H5allocate_memory(room, false);

		if (!out)
			return 0;
		r = lzf_decompress(*buf, nbytes, out, room, &size);
		if (r < 0) {
			H5free_memory(out);
			continue;
		}
		H5free_memory(*buf);
		*buf = out;
		*buf_size = room;
		return size;
	}
	return 0;
}

/* 0: it would be larger, and the library leaves the filter out. */
static size_t pack(size_t nbytes, size_t *buf_size, void **buf)
{
	uint8_t *out = H5allocate_memory(nbytes, false);
	size_t size = out ? lzf_compress(*buf, nbytes, out, nbytes) : 0;

	if (size == 0) {
		H5free_memory(out);
		return 0;
	}
	H5free_memory(*buf);
	*buf = out;
	*buf_size = nbytes;
	return size;
}

static size_t lzf_for_library(unsigned flags, size_t ncd, const unsigned cd[],
			      size_t nbytes, size_t *buf_size, void **buf)
{
	return flags & H5Z_FLAG_REVERSE ? unpack(ncd, cd, nbytes, buf_size, buf)
					: pack(nbytes, buf_size, buf);
}

void filters_register(void)
{
	static const H5Z_class2_t lzf = {
		.version = H5Z_CLASS_T_VERS,
		.id = FILTER_LZF,
		.encoder_present = 1,
		.decoder_present = 1,
		.name = "lzf",
		.filter = lzf_for_library,
	};

	if (H5Zfilter_avail(FILTER_LZF) <= 0)
		(void)H5Zregister(&lzf);
}
