/* SPDX-License-Identifier: MIT */
/* disk.c - the journal's system calls: the table, and whole reads and writes
 * through it. */
#include <fcntl.h>
#include <stdio.h>

#include "journal_int.h"

static int open_file(const char *path, int flags, mode_t mode)
{
	return open(path, flags, mode);
}

const struct io_ops io_system = {
	.open = open_file,
	.close = close,
	.fstat = fstat,
	.pread = pread,
	.pwrite = pwrite,
	.fsync = fsync,
	.fdatasync = fdatasync,
	.ftruncate = ftruncate,
	.fallocate = fallocate,
	.mkdir = mkdir,
	.rmdir = rmdir,
	.rename = rename,
	.unlink = unlink,
};
const struct io_ops *journal_io = &io_system;

ssize_t disk_read(int fd, void *buf, size_t n, uint64_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = journal_io->pread(fd, (uint8_t *)buf + got, n - got,
					      (off_t)(at + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

int disk_read_zeros(int fd, void *buf, size_t n, uint64_t at)
{
	ssize_t got = disk_read(fd, buf, n, at);

	if (got < 0)
		return (int)got;
	memset((uint8_t *)buf + got, 0, n - (size_t)got);
	return 0;
}

int disk_write(int fd, const void *buf, size_t n, uint64_t at)
{
	const uint8_t *p = buf;

	while (n) {
		ssize_t k = journal_io->pwrite(fd, p, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k < 0 ? -errno : -EIO;
		p += k;
		n -= (size_t)k;
		at += (uint64_t)k;
	}
	return 0;
}

int disk_size(int fd, uint64_t *ret_size)
{
	struct stat st;

	if (journal_io->fstat(fd, &st) < 0)
		return -errno;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

int disk_sync_dir(const char *path)
{
	int fd = journal_io->open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = journal_io->fsync(fd) < 0 ? -errno : 0;
	(void)journal_io->close(fd);
	return r;
}
