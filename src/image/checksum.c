/* SPDX-License-Identifier: MIT */
/* checksum.c - the one room that knows libdeflate's checksums. */
#include <libdeflate.h>

#include "h5fs/image.h"

uint32_t checksum_crc32(uint32_t crc, const void *bytes, size_t n)
{
	return libdeflate_crc32(crc, bytes, n);
}

uint32_t checksum_adler32(uint32_t adler, const void *bytes, size_t n)
{
	return libdeflate_adler32(adler, bytes, n);
}
