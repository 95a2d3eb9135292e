/* SPDX-License-Identifier: MIT */
/* trace.c - see trace.h. */
#include <fcntl.h>
#include <stdio.h>

#include "trace.h"

#define FDS 1024

static FILE *out;
static long calls_left = -1;
static uint32_t file_of[FDS], nfiles;
static char *dir_of[FDS]; /* an open directory */

struct entry {
	uint32_t kind, file;
	uint64_t at, n;
};

static void put(uint32_t kind, uint32_t file, uint64_t at, const void *bytes,
		size_t n)
{
	struct entry e = { kind, file, at, n };

	if (!out)
		return;
	if (fwrite(&e, sizeof(e), 1, out) != 1 ||
	    fwrite(bytes, 1, n, out) != n || fflush(out) != 0)
		abort();
}

static void put_name(uint32_t kind, const char *path)
{
	put(kind, 0, 0, path, strlen(path));
}

/* True: the process must end in this call. */
static bool is_last_call(void)
{
	return calls_left >= 0 && calls_left-- == 0;
}

static void call(void)
{
	if (is_last_call())
		_exit(0);
}

static int trace_open(const char *path, int flags, mode_t mode)
{
	bool there = access(path, F_OK) == 0;
	int fd;

	if (!there && flags & O_CREAT)
		call();
	fd = io_system.open(path, flags, mode);
	if (fd < 0 || fd >= FDS)
		return fd;
	free(dir_of[fd]);
	dir_of[fd] = flags & O_DIRECTORY ? strdup(path) : NULL;
	if (!dir_of[fd]) {
		file_of[fd] = nfiles++;
		put(TRACE_FILE, file_of[fd], !there, path, strlen(path));
	}
	return fd;
}

static ssize_t trace_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	ssize_t r;

	if (is_last_call()) {
		(void)io_system.pwrite(fd, buf, n / 2, at);
		_exit(0);
	}
	r = io_system.pwrite(fd, buf, n, at);
	if (r > 0)
		put(TRACE_WRITE, file_of[fd], (uint64_t)at, buf, (size_t)r);
	return r;
}

static int trace_sync(int fd)
{
	call();
	if (dir_of[fd])
		put_name(TRACE_SYNC_DIR, dir_of[fd]);
	else
		put(TRACE_SYNC, file_of[fd], 0, "", 0);
	return 0; /* the disk need not know */
}

static int trace_ftruncate(int fd, off_t size)
{
	int r;

	call();
	r = io_system.ftruncate(fd, size);
	if (r == 0)
		put(TRACE_TRUNCATE, file_of[fd], (uint64_t)size, "", 0);
	return r;
}

static int trace_mkdir(const char *path, mode_t mode)
{
	int r;

	call();
	r = io_system.mkdir(path, mode);
	if (r == 0)
		put_name(TRACE_MKDIR, path);
	return r;
}

static int trace_rmdir(const char *path)
{
	int r;

	call();
	r = io_system.rmdir(path);
	if (r == 0)
		put_name(TRACE_RMDIR, path);
	return r;
}

static int trace_unlink(const char *path)
{
	int r;

	call();
	r = io_system.unlink(path);
	if (r == 0)
		put_name(TRACE_UNLINK, path);
	return r;
}

static int trace_rename(const char *from, const char *to)
{
	CLEANUP(freep) char *both = NULL;
	int n, r;

	call();
	r = io_system.rename(from, to);
	n = asprintf(&both, "%s%c%s", from, 0, to);
	if (n < 0)
		abort();
	if (r == 0)
		put(TRACE_RENAME, 0, 0, both, (size_t)n);
	return r;
}

int trace_start(const char *path, long kill_at)
{
	static struct io_ops ops;

	if (out)
		fclose(out);
	out = path ? fopen(path, "we") : NULL;
	if (path && !out)
		return -errno;
	nfiles = 0;
	calls_left = kill_at;
	ops = io_system;
	ops.open = trace_open;
	ops.pwrite = trace_pwrite;
	ops.fsync = trace_sync;
	ops.fdatasync = trace_sync;
	ops.ftruncate = trace_ftruncate;
	ops.mkdir = trace_mkdir;
	ops.rmdir = trace_rmdir;
	ops.unlink = trace_unlink;
	ops.rename = trace_rename;
	journal_io = &ops;
	return 0;
}

void trace_event(const char *text)
{
	put_name(TRACE_EVENT, text);
}
