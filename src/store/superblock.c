/* SPDX-License-Identifier: MIT */
/* superblock.c - where an HDF5 file begins, and the flags that say who has it
 * open.
 *
 * HDF5 File Format Specification 3.0, II.A; the checksum is Bob Jenkins' lookup3
 * (hashlittle, start 0). */
#include "store_int.h"

static const uint8_t signature[8] = { 0x89, 'H',  'D',	'F',
				      '\r', '\n', 0x1a, '\n' };

int64_t superblock_find(int fd, uint64_t size)
{
	uint8_t sig[8];

	for (uint64_t at = 0; at + 8 <= size; at = at ? at * 2 : 512)
		if (io_read_at(fd, sig, 8, at) == 0 &&
		    !memcmp(sig, signature, 8))
			return (int64_t)at;
	return -ENOENT;
}

int superblock_flags(int fd, uint64_t size)
{
	int64_t base = superblock_find(fd, size);
	uint8_t sb[4]; /* version, sizes of offsets and lengths, flags */

	if (base < 0 ||
	    io_read_at(fd, sb, sizeof(sb), (uint64_t)base + 8) < 0 ||
	    sb[0] != 3)
		return -EIO;
	return sb[3];
}

static uint32_t rot(uint32_t x, unsigned k)
{
	return x << k | x >> (32 - k);
}

static void mix(uint32_t s[3])
{
	static const unsigned turn[6] = { 4, 6, 8, 16, 19, 4 };

	for (unsigned i = 0; i < 6; i++) {
		uint32_t *a = &s[i % 3], *b = &s[(i + 1) % 3],
			 *c = &s[(i + 2) % 3];

		*a -= *c;
		*a ^= rot(*c, turn[i]);
		*c += *b;
	}
}

static void mix_last(uint32_t s[3])
{
	static const unsigned turn[7] = { 14, 11, 25, 16, 4, 14, 24 };

	for (unsigned i = 0; i < 7; i++) {
		uint32_t *x = &s[(i + 2) % 3], y = s[(i + 1) % 3];

		*x ^= y;
		*x -= rot(y, turn[i]);
	}
}

static uint32_t lookup3(const uint8_t *p, size_t n)
{
	uint32_t s[3];

	s[0] = s[1] = s[2] = 0xdeadbeef + (uint32_t)n;
	while (n) {
		size_t k = n < 12 ? n : 12;

		for (size_t i = 0; i < k; i++)
			s[i / 4] += (uint32_t)p[i] << i % 4 * 8;
		p += k;
		n -= k;
		if (n)
			mix(s);
		else
			mix_last(s);
	}
	return s[2];
}

bool superblock_clear_flags(uint8_t *sb, size_t n, size_t *ret_size)
{
	size_t size = n > 12 ? 12 + 4 * (size_t)sb[9] : SIZE_MAX;
	uint32_t sum;

	if (size > n - sizeof(sum) || sb[8] < 2 || sb[8] > 3 || sb[11] == 0)
		return false;
	sb[11] = 0;
	sum = lookup3(sb, size);
	memcpy(sb + size, &sum, sizeof(sum));
	*ret_size = size + sizeof(sum);
	return true;
}
