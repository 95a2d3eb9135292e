/* SPDX-License-Identifier: MIT */
/* test_io.c - whole reads, whole writes, and log lines. */
#include <fcntl.h>

#include "h5fs/base.h"

#include "check.h"

static char path[] = "/tmp/h5fs-io-XXXXXX";

static int open_with(const void *bytes, size_t n)
{
	int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(io_write_all(fd, bytes, n), 0);
	return fd;
}

static void read_at_takes_the_whole_range(void)
{
	CLEANUP(fd_closep) int fd = open_with("0123456789", 10);
	char buf[4] = "";

	CHECK_EQ(io_read_at(fd, buf, 3, 5), 0);
	CHECK_STR(buf, "567");
	CHECK_EQ(io_read_at(fd, buf, 3, 8), -EIO);
	CHECK_EQ(io_read_at(fd, buf, 0, 10), 0);
	CHECK_EQ(io_read_at(fd, buf, 1, 10), -EIO);
}

static void offsets_from_files_do_not_wrap(void)
{
	CLEANUP(fd_closep) int fd = open_with("0123456789", 10);
	char buf[4];

	CHECK_EQ(io_read_at(fd, buf, 2, UINT64_MAX), -EIO);
	CHECK_EQ(io_read_at(fd, buf, 2, INT64_MAX), -EIO);
	CHECK_EQ(io_read_at(fd, buf, 2, UINT64_C(1) << 63), -EIO);
	CHECK_EQ(io_read_at(-1, buf, 2, 0), -EBADF);
}

static void read_file_is_bounded(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;

	close(open_with("0123456789", 10));
	CHECK_EQ(io_read_file(path, 9, &b), -EFBIG);
	CHECK_EQ(io_read_file(path, 0, &b), -EFBIG);
	CHECK(!b);
	CHECK_EQ(io_read_file(path, 10, &b), 0);
	CHECK_EQ(b->size, 10);
	CHECK(memcmp(b->data, "0123456789", 10) == 0);
}

static void read_file_takes_large_ones(void)
{
	CLEANUP(freep) uint8_t *bytes = malloc(300000);
	CLEANUP(blob_unrefp) struct blob *b = NULL;

	for (size_t i = 0; i < 300000; i++)
		bytes[i] = (uint8_t)(i * 7 / 3);
	close(open_with(bytes, 300000));
	CHECK_EQ(io_read_file(path, SIZE_MAX, &b), 0);
	CHECK_EQ(b->size, 300000);
	CHECK(memcmp(b->data, bytes, 300000) == 0);
}

/* A pipe has no size: the buffer grows. */
static void read_file_takes_unsized_ones(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint8_t bytes[20000];
	char name[40];
	int p[2];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i % 251);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(io_write_all(p[1], bytes, sizeof(bytes)), 0);
	close(p[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", p[0]);
	CHECK_EQ(io_read_file(name, 1 << 20, &b), 0);
	close(p[0]);
	CHECK_EQ(b ? b->size : 0, sizeof(bytes));
	CHECK(b && memcmp(b->data, bytes, sizeof(bytes)) == 0);
}

static void empty_and_missing_files(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct blob *none = NULL;

	close(open_with("", 0));
	CHECK_EQ(io_read_file(path, 0, &b), 0);
	CHECK_EQ(b->size, 0);
	CHECK_EQ(io_read_file("/nonexistent/file", 10, &none), -ENOENT);
	CHECK_EQ(io_read_file("/tmp", 10, &none), -EISDIR);
	CHECK(!none);
}

/* What the call writes to standard error, as text. */
static void logged(enum log_level level, const char *message, char *ret,
		   size_t size)
{
	int before = dup(STDERR_FILENO);
	int p[2];
	ssize_t n;

	CHECK_EQ(pipe(p), 0);
	dup2(p[1], STDERR_FILENO);
	log_at(level, "%s", message);
	dup2(before, STDERR_FILENO);
	close(before);
	close(p[1]);
	n = read(p[0], ret, size - 1);
	ret[n > 0 ? n : 0] = '\0';
	close(p[0]);
}

static void log_has_levels_and_whole_lines(void)
{
	char out[4096], large[3000];

	logged(LOG_WARN_, "disk", out, sizeof(out));
	CHECK_STR(out, "h5fs: warning: disk\n");
	logged(LOG_NOTICE_, "a\nb\33[m", out, sizeof(out));
	CHECK_STR(out, "h5fs: a?b?[m\n");
	logged(LOG_DEBUG_, "no", out, sizeof(out));
	CHECK_STR(out, "");
	log_set_level(LOG_DEBUG_);
	logged(LOG_DEBUG_, "yes", out, sizeof(out));
	CHECK_STR(out, "h5fs: debug: yes\n");
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	logged(LOG_ERROR_, large, out, sizeof(out));
	CHECK(strlen(out) > 2000 && strlen(out) < 3000);
	CHECK_EQ(out[strlen(out) - 1], '\n');
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	RUN(read_at_takes_the_whole_range);
	RUN(offsets_from_files_do_not_wrap);
	RUN(read_file_is_bounded);
	RUN(read_file_takes_large_ones);
	RUN(read_file_takes_unsized_ones);
	RUN(empty_and_missing_files);
	RUN(log_has_levels_and_whole_lines);
	unlink(path);
	return CHECK_RESULT();
}
