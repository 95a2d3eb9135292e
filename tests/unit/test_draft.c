/* SPDX-License-Identifier: MIT */
/* test_draft.c - bytes that are being written, in memory and in a file. */
#include <fcntl.h>

#include "h5fs/stage.h"

#include "check.h"

#define MIB (1 << 20)

static void what_is_written_is_read(void)
{
	CLEANUP(draft_freep) struct draft *d = NULL;
	char buf[16] = "";
	const uint8_t *bytes;

	CHECK_EQ(draft_new(&d), 0);
	CHECK_EQ(draft_size(d), 0);
	CHECK_EQ(draft_read(d, buf, 4, 0), 0);
	CHECK_EQ(draft_bytes(d, 0, &bytes), 0);
	CHECK(bytes);
	CHECK_EQ(draft_write(d, "world", 5, 6), 0);
	CHECK_EQ(draft_write(d, "hello", 5, 0), 0);
	CHECK_EQ(draft_size(d), 11);
	CHECK_EQ(draft_read(d, buf, 16, 0), 11);
	CHECK(!memcmp(buf, "hello\0world", 11));
	CHECK_EQ(draft_read(d, buf, 2, 9), 2);
	CHECK(!memcmp(buf, "ld", 2));
	CHECK_EQ(draft_read(d, buf, 2, 11), 0);
	CHECK_EQ(draft_bytes(d, 11, &bytes), 0);
	CHECK(!memcmp(bytes, "hello\0world", 11));
	CHECK_EQ(draft_bytes(d, 10, &bytes), -EFBIG);
}

static void versions_count_changes(void)
{
	CLEANUP(draft_freep) struct draft *d = NULL;
	uint64_t v;

	CHECK_EQ(draft_new(&d), 0);
	v = draft_version(d);
	CHECK_EQ(draft_write(d, "", 0, 0), 0);
	CHECK_EQ(draft_truncate(d, 0), 0);
	CHECK_EQ(draft_version(d), v);
	CHECK_EQ(draft_write(d, "a", 1, 0), 0);
	CHECK(draft_version(d) != v);
	v = draft_version(d);
	CHECK_EQ(draft_write(d, "a", 1, 0), 0);
	CHECK(draft_version(d) != v);
	v = draft_version(d);
	CHECK_EQ(draft_truncate(d, 0), 0);
	CHECK(draft_version(d) != v);
}

/* The same holds on both sides of 1 MiB. */
static void cut_and_stretched(void)
{
	static const uint64_t at[] = { 10, MIB - 2, MIB, 3 * MIB };

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		CLEANUP(draft_freep) struct draft *d = NULL;
		const uint8_t *bytes;

		CHECK_EQ(draft_new(&d), 0);
		CHECK_EQ(draft_write(d, "abcd", 4, at[i]), 0);
		CHECK_EQ(draft_bytes(d, UINT64_MAX, &bytes), 0);
		CHECK(!memcmp(bytes + at[i], "abcd", 4) && !bytes[at[i] - 1]);
		CHECK_EQ(draft_truncate(d, at[i] + 2), 0);
		CHECK_EQ(draft_truncate(d, at[i] + 9), 0);
		CHECK_EQ(draft_bytes(d, UINT64_MAX, &bytes), 0);
		CHECK(!memcmp(bytes + at[i], "ab\0\0\0\0\0\0", 9));
		CHECK_EQ(draft_write(d, "X", 1, at[i]), 0);
		CHECK_EQ(draft_bytes(d, UINT64_MAX, &bytes), 0);
		CHECK_EQ(bytes[at[i]], 'X');
		CHECK_EQ(draft_size(d), at[i] + 9);
	}
}

static void a_descriptor_holds_it(void)
{
	CLEANUP(draft_freep) struct draft *d = NULL;
	char buf[4];
	int fd = -1;

	CHECK_EQ(draft_new(&d), 0);
	CHECK_EQ(draft_write(d, "abcd", 4, 0), 0);
	CHECK_EQ(draft_fd(d, &fd), 0);
	CHECK_EQ(pread(fd, buf, 4, 0), 4);
	CHECK(!memcmp(buf, "abcd", 4));
	CHECK_EQ(draft_write(d, "e", 1, 4), 0);
	CHECK_EQ(draft_read(d, buf, 4, 2), 3);
	CHECK(!memcmp(buf, "cde", 3));
}

static void too_far(void)
{
	CLEANUP(draft_freep) struct draft *d = NULL;

	CHECK_EQ(draft_new(&d), 0);
	CHECK_EQ(draft_write(d, "a", 1, UINT64_MAX), -EFBIG);
	CHECK_EQ(draft_write(d, "a", 1, INT64_MAX), -EFBIG);
	CHECK_EQ(draft_truncate(d, UINT64_MAX), -EFBIG);
	CHECK_EQ(draft_size(d), 0);
}

static void no_place_for_a_file(void)
{
	CLEANUP(draft_freep) struct draft *d = NULL;
	char buf[4];

	setenv("TMPDIR", "/nonexistent", 1);
	CHECK_EQ(draft_new(&d), 0);
	CHECK_EQ(draft_write(d, "abcd", 4, 0), 0);
	CHECK_EQ(draft_write(d, "abcd", 4, 2 * MIB), -ENOENT);
	CHECK_EQ(draft_size(d), 4);
	CHECK_EQ(draft_read(d, buf, 4, 0), 4);
	unsetenv("TMPDIR");
}

int main(void)
{
	RUN(what_is_written_is_read);
	RUN(versions_count_changes);
	RUN(cut_and_stretched);
	RUN(a_descriptor_holds_it);
	RUN(too_far);
	RUN(no_place_for_a_file);
	return CHECK_RESULT();
}
