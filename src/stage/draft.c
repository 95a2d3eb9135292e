/* SPDX-License-Identifier: MIT */
/* draft.c - the bytes of a file while it is being written: in memory, and in an
 * unlinked file once they are many. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>

#include "h5fs/stage.h"

#define IN_MEMORY (UINT64_C(1) << 20)

struct draft {
	uint8_t *buf; /* while fd is -1 */
	size_t cap;
	int fd;
	uint64_t size, version;
	void *map; /* of `mapped` bytes; NULL: none */
	size_t mapped;
};

int draft_new(struct draft **ret_draft)
{
	struct draft *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->fd = -1;
	*ret_draft = d;
	return 0;
}

static void unmap(struct draft *d)
{
	if (d->map)
		munmap(d->map, d->mapped);
	d->map = NULL;
}

void draft_free(struct draft *d)
{
	if (!d)
		return;
	unmap(d);
	fd_closep(&d->fd);
	free(d->buf);
	free(d);
}

/* ---- in memory ---- */
static int grow(struct draft *d, uint64_t size)
{
	size_t cap = d->cap ? d->cap : 4096;
	uint8_t *buf;

	if (size <= d->cap)
		return 0;
	while (cap < size)
		cap *= 2;
	buf = realloc(d->buf, cap);
	if (!buf)
		return -ENOMEM;
	d->buf = buf;
	d->cap = cap;
	return 0;
}

static int write_memory(struct draft *d, const void *from, size_t n,
			uint64_t offset)
{
	int r = grow(d, offset + n);

	if (r < 0)
		return r;
	if (offset > d->size)
		memset(d->buf + d->size, 0, offset - d->size);
	memcpy(d->buf + offset, from, n);
	return 0;
}

/* ---- in a file ---- */
static int write_file(int fd, const uint8_t *from, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t k = pwrite(fd, from, n, (off_t)offset);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k < 0 ? -errno : -EIO;
		from += k;
		n -= (size_t)k;
		offset += (uint64_t)k;
	}
	return 0;
}

static int open_unlinked(int *ret_fd)
{
	const char *dir = secure_getenv("TMPDIR");
	CLEANUP(freep) char *name = NULL;
	int fd;

	if (!dir || !*dir)
		dir = "/var/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		if (asprintf(&name, "%s/h5fs-XXXXXX", dir) < 0)
			return -ENOMEM;
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
	}
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int move_to_file(struct draft *d)
{
	CLEANUP(fd_closep) int fd = -1;
	int r;

	if (d->fd >= 0)
		return 0;
	r = open_unlinked(&fd);
	if (r == 0)
		r = write_file(fd, d->buf, d->size, 0);
	if (r < 0)
		return r;
	d->fd = TAKE_FD(fd);
	free(d->buf);
	d->buf = NULL;
	d->cap = 0;
	return 0;
}

/* ---- both ---- */
int draft_write(struct draft *d, const void *buf, size_t n, uint64_t offset)
{
	uint64_t end;
	int r = 0;

	if (add_overflow(offset, n, &end) || end > INT64_MAX)
		return -EFBIG;
	if (!n)
		return 0;
	unmap(d);
	if (end > IN_MEMORY)
		r = move_to_file(d);
	if (r == 0)
		r = d->fd < 0 ? write_memory(d, buf, n, offset)
			      : write_file(d->fd, buf, n, offset);
	if (r < 0)
		return r;
	d->size = end > d->size ? end : d->size;
	d->version++;
	return 0;
}

ssize_t draft_read(struct draft *d, void *buf, size_t n, uint64_t offset)
{
	int r;

	if (offset >= d->size)
		return 0;
	if (n > d->size - offset)
		n = d->size - offset;
	if (n > SSIZE_MAX)
		n = SSIZE_MAX;
	if (d->fd < 0) {
		memcpy(buf, d->buf + offset, n);
		return (ssize_t)n;
	}
	r = io_read_at(d->fd, buf, n, offset);
	return r < 0 ? r : (ssize_t)n;
}

int draft_truncate(struct draft *d, uint64_t size)
{
	int r = 0;

	if (size > INT64_MAX)
		return -EFBIG;
	if (size == d->size)
		return 0;
	unmap(d);
	if (size > IN_MEMORY)
		r = move_to_file(d);
	if (r < 0)
		return r;
	if (d->fd >= 0) {
		if (ftruncate(d->fd, (off_t)size) < 0)
			return -errno;
	} else if (size > d->size) {
		r = grow(d, size);
		if (r < 0)
			return r;
		memset(d->buf + d->size, 0, size - d->size);
	}
	d->size = size;
	d->version++;
	return 0;
}

uint64_t draft_size(const struct draft *d)
{
	return d->size;
}

uint64_t draft_version(const struct draft *d)
{
	return d->version;
}

int draft_bytes(struct draft *d, uint64_t max, const uint8_t **ret_bytes)
{
	void *map;

	if (d->size > max || d->size > SIZE_MAX)
		return -EFBIG;
	if (!d->size) {
		*ret_bytes = (const uint8_t *)"";
		return 0;
	}
	if (d->fd < 0) {
		*ret_bytes = d->buf;
		return 0;
	}
	if (!d->map) {
		map = mmap(NULL, d->size, PROT_READ, MAP_SHARED, d->fd, 0);
		if (map == MAP_FAILED)
			return -errno;
		d->map = map;
		d->mapped = d->size;
	}
	*ret_bytes = d->map;
	return 0;
}

int draft_fd(struct draft *d, int *ret_fd)
{
	int r = move_to_file(d);

	if (r == 0)
		*ret_fd = d->fd;
	return r;
}
