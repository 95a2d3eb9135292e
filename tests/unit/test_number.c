/* SPDX-License-Identifier: MIT */
/* test_number.c - half precision, sizes in text, and hashes that never change. */
#include <math.h>

#include "h5fs/base.h"

#include "check.h"

static void halves(void)
{
	CHECK(half_to_double(0x3c00) == 1);
	CHECK(half_to_double(0xc000) == -2);
	CHECK(half_to_double(0x7bff) == 65504);
	CHECK(half_to_double(0x0400) == 0x1p-14);
	CHECK(half_to_double(0x0001) == 0x1p-24);
	CHECK(half_to_double(0x03ff) == 0x3ffp-24);
	CHECK(half_to_double(0x3555) == 0x555p-12);
	CHECK(half_to_double(0x8000) == 0 && signbit(half_to_double(0x8000)));
	CHECK(half_to_double(0x7c00) == INFINITY);
	CHECK(half_to_double(0xfc00) == -INFINITY);
	CHECK(isnan(half_to_double(0x7e00)));
}

/* Every finite half is greater than the one before it. */
static void halves_are_ordered(void)
{
	for (unsigned h = 1; h <= 0x7c00; h++)
		CHECK(half_to_double((uint16_t)h) >
		      half_to_double((uint16_t)(h - 1)));
}

static void nearest_halves(void)
{
	for (unsigned h = 0; h <= 0xffff; h++)
		if (!isnan(half_to_double((uint16_t)h)))
			CHECK_EQ(double_to_half(half_to_double((uint16_t)h)),
				 h);
	CHECK_EQ(double_to_half(65519.99), 0x7bff);
	CHECK_EQ(double_to_half(65520), 0x7c00);
	CHECK_EQ(double_to_half(-1e300), 0xfc00);
	CHECK_EQ(double_to_half(1 + 0x1p-11), 0x3c00); /* ties to even */
	CHECK_EQ(double_to_half(1 + 0x3p-11), 0x3c02);
	CHECK_EQ(double_to_half(2 - 0x1p-12), 0x4000);
	CHECK_EQ(double_to_half(0x1p-25), 0);
	CHECK_EQ(double_to_half(0x1.8p-25), 1);
	CHECK_EQ(double_to_half(0x1p-14 - 0x1p-26), 0x0400);
	CHECK_EQ(double_to_half(-0.0), 0x8000);
	CHECK(isnan(half_to_double(double_to_half(NAN))));
}

static void sizes(void)
{
	static const struct {
		const char *text;
		int r;
		uint64_t size;
	} rows[] = {
		{ "0", 0, 0 },
		{ "1048576", 0, 1048576 },
		{ "256M", 0, 256 << 20 },
		{ "2G", 0, UINT64_C(2) << 30 },
		{ "64KiB", 0, 65536 },
		{ "1k", 0, 1024 },
		{ "3T", 0, UINT64_C(3) << 40 },
		{ "15E", 0, UINT64_C(15) << 60 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "16E", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "M", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1.5G", -EINVAL, 0 },
		{ "1KB", -EINVAL, 0 },
		{ "1KiBs", -EINVAL, 0 },
		{ "1X", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t size = 77;

		CHECK_EQ(parse_size(rows[i].text, &size), rows[i].r);
		CHECK_EQ(size, rows[i].r ? 77 : rows[i].size);
	}
}

/* Inode numbers of all files are made of these. */
static void hashes_never_change(void)
{
	CHECK_EQ(hash_bytes("", 0, 0), 0xefd01f60ba992926u);
	CHECK_EQ(hash_bytes("/images", 7, 0), 0x0a7582a00ad2e222u);
	CHECK_EQ(hash_bytes("/images", 7, 5), 0x71301edbb9cd289eu);
	CHECK_EQ(hash_mix(1, 2), 0x7e4074917ccf1acau);
	CHECK(hash_mix(2, 1) != hash_mix(1, 2));
	CHECK(hash_bytes("a\0", 2, 0) != hash_bytes("a", 1, 0));
}

int main(void)
{
	RUN(halves);
	RUN(halves_are_ordered);
	RUN(nearest_halves);
	RUN(sizes);
	RUN(hashes_never_change);
	return CHECK_RESULT();
}
