/* SPDX-License-Identifier: MIT */
/* crc.c - the checksum of the journal's records: CRC-32 as in zlib. */
#include <libdeflate.h>

#include "journal_int.h"

uint32_t journal_crc(uint32_t crc, const void *bytes, size_t n)
{
	return libdeflate_crc32(crc, bytes, n);
}
