/* SPDX-License-Identifier: MIT */
/* test_checksum.c - the checksums are those of PNG and zlib, also in pieces. */
#include "h5fs/image.h"

#include "png_read.h"

static void known_values(void)
{
	CHECK_EQ(checksum_crc32(0, "123456789", 9), 0xcbf43926);
	CHECK_EQ(checksum_crc32(0, "IEND", 4), 0xae426082);
	CHECK_EQ(checksum_adler32(1, "Wikipedia", 9), 0x11e60398);
	CHECK_EQ(checksum_crc32(0, "", 0), 0);
	CHECK_EQ(checksum_adler32(1, "", 0), 1);
}

static void pieces_are_the_whole(void)
{
	static uint8_t bytes[200000];
	uint32_t crc = 0, adler = 1;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i % 5 ? 255 : i * 31);
	for (size_t at = 0, n = 0; at < sizeof(bytes); at += n) {
		n = at % 9973 + 1;
		n = n < sizeof(bytes) - at ? n : sizeof(bytes) - at;
		crc = checksum_crc32(crc, bytes + at, n);
		adler = checksum_adler32(adler, bytes + at, n);
	}
	CHECK_EQ(crc, read_crc(bytes, sizeof(bytes)));
	CHECK_EQ(adler, read_adler(bytes, sizeof(bytes)));
}

int main(void)
{
	RUN(known_values);
	RUN(pieces_are_the_whole);
	return CHECK_RESULT();
}
