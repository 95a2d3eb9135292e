/* SPDX-License-Identifier: MIT */
/* disk.c - the system calls under the log. */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>

#include "slog_int.h"

#define MAX_TRANSFER ((size_t)0x7ffff000)

static int open_log(const char *path, bool make)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
	int fd = open(path, make ? flags | O_CREAT | O_EXCL : flags, 0666);

	return fd < 0 ? -errno : fd;
}

static void close_log(int fd)
{
	close(fd);
}

static int size_of(int fd, uint64_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

static ssize_t read_some(int fd, void *buf, size_t n, uint64_t at)
{
	ssize_t got = pread(fd, buf, n, (off_t)at);

	return got < 0 ? -errno : got;
}

static ssize_t write_some(int fd, const void *buf, size_t n, uint64_t at)
{
	ssize_t put = pwrite(fd, buf, n, (off_t)at);

	return put < 0 ? -errno : put;
}

static int truncate_to(int fd, uint64_t size)
{
	return ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
}

static int reserve(int fd, uint64_t at, uint64_t n)
{
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)n) == 0 ||
	    errno == EOPNOTSUPP)
		return 0;
	return -errno;
}

static int sync_data(int fd)
{
	return fdatasync(fd) < 0 ? -errno : 0;
}

static int rename_to(const char *from, const char *to)
{
	return rename(from, to) < 0 ? -errno : 0;
}

static int remove_name(const char *path)
{
	return unlink(path) < 0 ? -errno : 0;
}

static int sync_dir(const char *path)
{
	CLEANUP(freep) char *copy = strdup(path);
	CLEANUP(fd_closep) int fd = -1;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

const struct stage_io stage_disk = {
	.open = open_log,
	.close = close_log,
	.size = size_of,
	.read = read_some,
	.write = write_some,
	.truncate = truncate_to,
	.reserve = reserve,
	.sync = sync_data,
	.rename = rename_to,
	.remove = remove_name,
	.sync_dir = sync_dir,
};

int stage_io_write(const struct stage_io *io, int fd, const void *buf, size_t n,
		   uint64_t at)
{
	const uint8_t *p = buf;

	while (n) {
		ssize_t put = io->write(
			fd, p, n < MAX_TRANSFER ? n : MAX_TRANSFER, at);

		if (put == -EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? (int)put : -EIO;
		p += put;
		n -= (size_t)put;
		at += (uint64_t)put;
	}
	return 0;
}

int stage_io_read(const struct stage_io *io, int fd, void *buf, size_t n,
		  uint64_t at)
{
	uint8_t *p = buf;

	while (n) {
		ssize_t got = io->read(fd, p,
				       n < MAX_TRANSFER ? n : MAX_TRANSFER, at);

		if (got == -EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? (int)got : -EIO;
		p += got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	return 0;
}
