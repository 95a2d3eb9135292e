/* SPDX-License-Identifier: MIT */
/* writer_lock.c - the locks of a writer on FILE: a byte far behind its end that
 * one writer at a time has locked, and the lock that HDF5's own programs take.
 *
 * Both belong to the writer's descriptor, and go with it. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>

#include "writer_int.h"

#define WRITER_BYTE ((off_t)1 << 62)
#define PAUSE_MS 10

static bool means_no_locks(int error)
{
	return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP ||
	       error == EINVAL;
}

static int say(char **ret_why, int r, const char *fmt, ...) PRINTF(3, 4);
static int say(char **ret_why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(ret_why, fmt, ap) < 0)
		*ret_why = NULL;
	va_end(ap);
	return r;
}

static int say_lock_error(int error, char **ret_why)
{
	if (means_no_locks(error))
		return say(ret_why, -EROFS,
			   "lies on a file system without locks; it can be "
			   "mounted read-only");
	return say(ret_why, -error, "can not be locked: %s", strerror(error));
}

static int say_busy(int fd, int (*holder)(const struct stat *st),
		    const char *what, char **ret_why)
{
	struct stat st;
	int pid = fstat(fd, &st) == 0 ? holder(&st) : 0;

	if (pid > 0)
		return say(ret_why, -EBUSY, "%s by process %d", what, pid);
	return say(ret_why, -EBUSY, "%s by another process", what);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Without the lock it had when it fails. */
static int try_lock(int fd, int how)
{
	while (flock(fd, how | LOCK_NB) < 0)
		if (errno != EINTR)
			return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

static int lock_within(int fd, int how, unsigned wait_ms)
{
	uint64_t since = now_ms();
	int r;

	while ((r = try_lock(fd, how)) == -EBUSY) {
		if (how == LOCK_EX && (r = try_lock(fd, LOCK_SH)) < 0 &&
		    r != -EBUSY)
			return r;
		if (now_ms() - since >= wait_ms)
			return -EBUSY;
		nanosleep(&(struct timespec){ 0, PAUSE_MS * 1000000 }, NULL);
	}
	return r;
}

int writer_lock_shared(int fd)
{
	return try_lock(fd, LOCK_SH);
}

int writer_lock_alone(int fd, unsigned wait_ms)
{
	return lock_within(fd, LOCK_EX, wait_ms);
}

int writer_take_locks(int fd, unsigned wait_ms, char **ret_why)
{
	struct flock l = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = WRITER_BYTE,
		.l_len = 1,
	};
	int r;

	if (fcntl(fd, F_OFD_SETLK, &l) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return say_lock_error(errno, ret_why);
		return say_busy(fd, holder_writer, "is mounted for writing",
				ret_why);
	}
	r = lock_within(fd, LOCK_SH, wait_ms);
	if (r == -EBUSY)
		return say_busy(fd, holder_for_writing, "is locked for writing",
				ret_why);
	return r < 0 ? say_lock_error(-r, ret_why) : 0;
}
