/* SPDX-License-Identifier: MIT */
/* scratch.c - the file for points=: without a name, so that it goes with the
 * mount, whatever ends it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "h5fs/cmd.h"

#define DEFAULT_BYTES (1ull << 30)
#define SHARE 8		      /* of what is free; that much at most */
#define TOO_LITTLE (4u << 20) /* to be of use */

static int make_in(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	CLEANUP(freep) char *name = NULL;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	/* a file system, or a kernel, that makes none without a name */
	if (asprintf(&name, "%s/h5fs-XXXXXX", dir) < 0) {
		name = NULL;
		return -1;
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(name);
	return fd;
}

static uint64_t share_of_free(int fd)
{
	struct statvfs v;
	uint64_t bytes;

	if (fstatvfs(fd, &v) < 0 ||
	    mul_overflow(v.f_bavail, v.f_frsize, &bytes))
		return 0;
	return bytes / SHARE < DEFAULT_BYTES ? bytes / SHARE : DEFAULT_BYTES;
}

void scratch_open(struct ns_options *o)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	int fd = -1;

	if (o->points_bytes == 0)
		return;
	if (cache && *cache == '/')
		fd = make_in(cache);
	if (fd < 0)
		fd = make_in("/var/tmp");
	if (fd < 0) {
		log_debug("points=: no file: %s", strerror(errno));
		return;
	}
	if (o->points_bytes == NS_POINTS_DEFAULT)
		o->points_bytes = share_of_free(fd);
	if (o->points_bytes < TOO_LITTLE) {
		log_debug("points=: too little room");
		close(fd);
		return;
	}
	/* ulimit -f is an error to be dealt with, not the end */
	signal(SIGXFSZ, SIG_IGN);
	o->points_fd = fd;
}
