/* SPDX-License-Identifier: MIT */
/* test_slice.c - NumPy's basic slicing. */
#include "check.h"
#include "fake_store.h"

static const uint64_t dims[] = { 10, 4, 3 };

static struct slice parsed(const char *text)
{
	struct slice sl = { 0 };

	CHECK_EQ(slice_parse(text, 3, dims, &sl), 0);
	return sl;
}

static void ranges_and_integers(void)
{
	struct slice sl = parsed("2:8:3, -1 ,:");

	CHECK_EQ(sl.start[0], 2);
	CHECK_EQ(sl.count[0], 2);
	CHECK_EQ(sl.step[0], 3);
	CHECK(!sl.drop[0]);
	CHECK_EQ(sl.start[1], 3);
	CHECK_EQ(sl.count[1], 1);
	CHECK(sl.drop[1]);
	CHECK_EQ(sl.start[2], 0);
	CHECK_EQ(sl.count[2], 3);
}

static void slices_clip(void)
{
	struct slice sl = parsed("-100:99999999999999999999,3:1,5:");

	CHECK_EQ(sl.count[0], 10);
	CHECK_EQ(sl.count[1], 0);
	CHECK_EQ(sl.count[2], 0);
}

static void negative_steps(void)
{
	struct slice sl = parsed("::-3,2::-1,0:3:-1");

	CHECK(sl.reverse[0]); /* 9 6 3 0 */
	CHECK_EQ(sl.start[0], 0);
	CHECK_EQ(sl.step[0], 3);
	CHECK_EQ(sl.count[0], 4);
	CHECK(sl.reverse[1]);
	CHECK_EQ(sl.start[1], 0);
	CHECK_EQ(sl.count[1], 3);
	CHECK_EQ(sl.count[2], 0);
	sl = parsed("8:1:-5"); /* 8 3 */
	CHECK_EQ(sl.start[0], 3);
	CHECK_EQ(sl.count[0], 2);
}

static void ellipsis_and_missing_axes(void)
{
	struct slice sl = parsed("...,1");

	CHECK_EQ(sl.count[0], 10);
	CHECK_EQ(sl.count[1], 4);
	CHECK(sl.drop[2]);
	sl = parsed("1");
	CHECK(sl.drop[0]);
	CHECK_EQ(sl.count[2], 3);
	sl = parsed("1,...,2,0");
	CHECK(sl.drop[0] && sl.drop[1] && sl.drop[2]);
	sl = parsed("()");
	CHECK_EQ(sl.count[0], 10);
}

static void what_is_no_slice(void)
{
	static const char *const bad[] = {
		"",    "10",	  "-11",     "::0",  "1:2:3:4",
		"a",   "1,2,3,0", "...,...", "1,,2", "1 2",
		"1;2", ":,",	  "0x1",     "--1",  "99999999999999999999",
		"1.5", "None",	  "....",
	};
	struct slice sl;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (slice_parse(bad[i], 3, dims, &sl) != -ENOENT)
			CHECK_STR("no slice", bad[i]);
	CHECK_EQ(slice_parse("...", 0, NULL, &sl), 0);
	CHECK_EQ(slice_parse("0", 0, NULL, &sl), -ENOENT);
}

/* Element (i,j,k) is 100 i + 10 j + k. */
static struct dset *numbers(uint16_t *v)
{
	static const struct dtype u2 = { .class = DT_UINT, .size = 2 };

	for (unsigned i = 0; i < 120; i++)
		v[i] = i / 12 * 100 + i / 3 % 4 * 10 + i % 3;
	return fake_dset(&u2, 3, dims, v);
}

static void bytes_are_those_of_the_slice(void)
{
	uint16_t v[120], got[16];
	CLEANUP(dset_unrefp) struct dset *d = numbers(v);
	struct view_source s = fake_source(d);
	struct slice sl = parsed("8:1:-5,::-2,1:");
	static const uint16_t want[] = {
		831, 832, 811, 812, 331, 332, 311, 312
	};
	uint8_t file[256];
	uint64_t size;

	CHECK_EQ(slice_size(&s, &sl, &size), 0);
	CHECK_EQ(size, 128 + sizeof(want));
	for (size_t piece = 1; piece < 20; piece++) {
		for (uint64_t at = 0; at < size; at += piece) {
			size_t n = size - at < piece ? size - at : piece;

			CHECK_EQ(slice_read(&s, &sl, at, n, file + at), 0);
		}
		memcpy(got, file + 128, sizeof(want));
		CHECK(!memcmp(got, want, sizeof(want)));
	}
	CHECK(strstr((char *)file + 10, "'shape': (2, 2, 2), }"));
}

static void dropped_axes_leave_the_shape(void)
{
	uint16_t v[120], got;
	CLEANUP(dset_unrefp) struct dset *d = numbers(v);
	struct view_source s = fake_source(d);
	struct slice sl = parsed("7,2,-1");
	uint8_t file[256] = { 0 };
	uint64_t size;

	CHECK_EQ(slice_size(&s, &sl, &size), 0);
	CHECK_EQ(size, 130);
	CHECK_EQ(slice_read(&s, &sl, 0, size, file), 0);
	CHECK(strstr((char *)file + 10, "'shape': (), }"));
	memcpy(&got, file + 128, 2);
	CHECK_EQ(got, 722);
	sl = parsed("5:2");
	CHECK_EQ(slice_size(&s, &sl, &size), 0);
	CHECK_EQ(size, 128);
}

int main(void)
{
	RUN(ranges_and_integers);
	RUN(slices_clip);
	RUN(negative_steps);
	RUN(ellipsis_and_missing_axes);
	RUN(what_is_no_slice);
	RUN(bytes_are_those_of_the_slice);
	RUN(dropped_axes_leave_the_shape);
	return CHECK_RESULT();
}
