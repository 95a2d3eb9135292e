/* SPDX-License-Identifier: MIT */
/* io.c - whole reads and whole writes. */
#include <fcntl.h>
#include <sys/stat.h>

#include "h5fs/base.h"

/* Linux transfers no more than this at once. */
#define MAX_TRANSFER ((size_t)0x7ffff000)
#define FIRST_READ 4096

static size_t at_most(size_t n, size_t max)
{
	return n < max ? n : max;
}

int io_read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	uint8_t *p = buf;
	uint64_t end;

	if (add_overflow(offset, size, &end) || end > INT64_MAX)
		return -EIO;
	while (size) {
		ssize_t n = pread(fd, p, at_most(size, MAX_TRANSFER),
				  (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int io_write_all(int fd, const void *buf, size_t size)
{
	const uint8_t *p = buf;

	while (size) {
		ssize_t n = write(fd, p, at_most(size, MAX_TRANSFER));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Bytes read, fewer than size only at the end of the file. */
static ssize_t read_up_to(int fd, uint8_t *buf, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n =
			read(fd, buf + got, at_most(size - got, MAX_TRANSFER));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* What stat says is a first guess: files in /proc have no size. */
static size_t first_read(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size < FIRST_READ)
		return FIRST_READ;
	return (size_t)st.st_size;
}

int io_read_file(const char *path, size_t max, struct blob **ret_blob)
{
	CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(freep) uint8_t *buf = NULL;
	size_t len = 0, room, want;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (max > PTRDIFF_MAX / 2)
		max = PTRDIFF_MAX / 2;
	/* One byte beyond max tells a file that is too long. */
	want = at_most(first_read(fd), max) + 1;
	do {
		uint8_t *grown = realloc(buf, want);

		if (!grown)
			return -ENOMEM;
		buf = grown;
		room = want - len;
		n = read_up_to(fd, buf + len, room);
		if (n < 0)
			return (int)n;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
		want = at_most(want * 2, max + 1);
	} while ((size_t)n == room);
	return blob_from(buf, len, ret_blob);
}
