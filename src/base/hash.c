/* SPDX-License-Identifier: MIT */
/* hash.c - 64-bit hashes that never change: st_ino is made of them. */
#include "h5fs/base.h"

#define FNV_BASIS 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

/* MurmurHash3's finalizer: every bit of the input moves every bit of the
 * output, and no two inputs have the same output. */
static uint64_t finalize(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdu;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53u;
	h ^= h >> 33;
	return h;
}

uint64_t hash_bytes(const void *bytes, size_t n, uint64_t seed)
{
	const uint8_t *p = bytes;
	uint64_t h = FNV_BASIS ^ seed;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * FNV_PRIME;
	return finalize(h);
}

/* The order matters: hash_mix(a, b) is not hash_mix(b, a). */
uint64_t hash_mix(uint64_t a, uint64_t b)
{
	return finalize((finalize(a) + 0x9e3779b97f4a7c15u) ^ b);
}
