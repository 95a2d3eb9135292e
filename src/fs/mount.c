/* SPDX-License-Identifier: MIT */
/* mount.c - the parent's side: mounts, hands the descriptor over, unmounts.
 *
 * A mount is known again by the kernel's id of it, read through an O_PATH
 * descriptor: that sends no request, so it cannot wait for the daemon, and it
 * works when the daemon is dead. */
#include <ctype.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "fs_int.h"

extern char **environ;

struct fs_mount {
	char *dir;
	int64_t id;
};

#ifndef STATX_MNT_ID_UNIQUE /* Linux 6.8 */
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

/* Before Linux 6.8: soon used again for another mount. */
static int small_id(int fd, int64_t *ret_id)
{
	char name[64], line[128];
	long long id = -1;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	f = fopen(name, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "mnt_id: %lld", &id) == 1)
			break;
	fclose(f);
	if (id < 0)
		return -ENODATA;
	*ret_id = id;
	return 0;
}

/* The id of the mount that path now leads to. */
static int mount_id(const char *path, int64_t *ret_id)
{
	CLEANUP(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct statx stx;

	if (fd < 0)
		return -errno;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_MNT_ID_UNIQUE, &stx) < 0 ||
	    !(stx.stx_mask & STATX_MNT_ID_UNIQUE))
		return small_id(fd, ret_id);
	*ret_id = (int64_t)stx.stx_mnt_id;
	return 0;
}

/* The last thing that libfuse had to say while it mounted, as one line. */
static char said[256];

static void listen(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char *p;

	if (level > FUSE_LOG_WARNING)
		return;
	vsnprintf(said, sizeof(said), fmt, ap);
	for (p = said; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = ' ';
	while (p > said && p[-1] == ' ')
		*--p = '\0';
}

/* Options given later win, so what the user said comes last. */
static int mount_args(const char *file, bool read_only,
		      const struct fs_options *o, struct fuse_args *args)
{
	CLEANUP(freep)
	char *opts = strdup(read_only ? "ro,nosuid,nodev,subtype=h5fs"
				      : "rw,nosuid,nodev,subtype=h5fs");
	struct strbuf name = STRBUF_INIT;
	int bad;

	strbuf_printf(&name, "fsname=%s", file);
	bad = !opts || strbuf_error(&name) ||
	      fuse_opt_add_opt_escaped(&opts, name.buf);
	strbuf_done(&name);
	if (!bad && o->mount_options && *o->mount_options)
		bad = fuse_opt_add_opt(&opts, o->mount_options);
	if (!bad)
		bad = fuse_opt_add_arg(args, "h5fs") ||
		      fuse_opt_add_arg(args, "-o") ||
		      fuse_opt_add_arg(args, opts);
	return bad ? -ENOMEM : 0;
}

static int fail(int r, char **ret_why)
{
	const char *text = said;

	if (strncmp(text, "fuse: ", 6) == 0)
		text += 6;
	*ret_why = *text ? strdup(text) : NULL;
	return r;
}

/* Never freed: for libfuse that is the same as to unmount, whatever is mounted
 * there by then. */
static struct fuse_session *mounted __attribute__((used));

/* Takes the device away from the session: nothing of this process may keep it
 * open, or a dead daemon's callers would wait for ever. */
static int take_fd(struct fuse_session *se)
{
	CLEANUP(fd_closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fd;

	if (null < 0)
		return -1;
	fd = fcntl(fuse_session_fd(se), F_DUPFD_CLOEXEC, 3);
	if (dup3(null, fuse_session_fd(se), O_CLOEXEC) < 0)
		fd_closep(&fd);
	return fd;
}

static int mount_fd(const char *dir, struct fuse_args *args, int *ret_fd,
		    char **ret_why)
{
	static const struct fuse_lowlevel_ops none;
	struct fuse_session *se;
	int fd = -1;

	said[0] = '\0';
	fuse_set_log_func(listen);
	se = fuse_session_new(args, &none, sizeof(none), NULL);
	if (se && fuse_session_mount(se, dir) == 0) {
		mounted = se;
		fd = take_fd(se);
	} else if (se) {
		fuse_session_destroy(se);
	}
	fuse_set_log_func(NULL);
	if (fd < 0)
		return fail(-EIO, ret_why);
	*ret_fd = fd;
	return 0;
}

int fs_mount_new(const char *file, const char *dir, bool read_only,
		 const struct fs_options *o, struct fs_mount **ret_mount,
		 int *ret_fd, char **ret_why)
{
	CLEANUP(fs_mount_freep) struct fs_mount *m = calloc(1, sizeof(*m));
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int64_t before = -1;
	int fd = -1, r;

	*ret_why = NULL;
	if (!m)
		return -ENOMEM;
	m->dir = strdup(dir);
	if (!m->dir)
		return -ENOMEM;
	(void)mount_id(dir, &before);
	r = mount_args(file, read_only, o, &args);
	if (r == 0)
		r = mount_fd(dir, &args, &fd, ret_why);
	fuse_opt_free_args(&args);
	if (r < 0)
		return r;
	r = mount_id(dir, &m->id);
	if (r < 0 || m->id == before) {
		close(fd);
		*ret_why = strdup("the mount vanished at once");
		return -EIO;
	}
	*ret_mount = TAKE(m);
	*ret_fd = fd;
	return 0;
}

/* Ordinary users unmount with libfuse's set-uid helper. */
static int run_helper(const char *dir, bool lazily)
{
	char *argv[] = { (char *)"fusermount3",
			 (char *)"-u",
			 (char *)(lazily ? "-qz" : "-q"),
			 (char *)"--",
			 (char *)dir,
			 NULL };
	int status;
	pid_t pid;
	int r;

	r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (r)
		return -r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

int fs_mount_end(struct fs_mount *m, bool lazily)
{
	int64_t id;

	if (mount_id(m->dir, &id) < 0 || id != m->id)
		return 0;
	if (umount2(m->dir, UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) == 0)
		return 0;
	if (errno == EPERM)
		return run_helper(m->dir, lazily);
	return errno == EINVAL ? 0 : -errno; /* EINVAL: no longer a mount */
}

/* By the kernel's control files, if they are there; else as root. */
void fs_mount_abort(struct fs_mount *m)
{
	CLEANUP(fd_closep) int dir = open(m->dir, O_PATH | O_CLOEXEC);
	CLEANUP(fd_closep) int control = -1;
	struct statx stx;
	char path[64];
	int64_t id;

	if (dir < 0 || mount_id(m->dir, &id) < 0 || id != m->id ||
	    statx(dir, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &stx) < 0)
		return;
	snprintf(path, sizeof(path), "/sys/fs/fuse/connections/%u/abort",
		 stx.stx_dev_minor);
	control = open(path, O_WRONLY | O_CLOEXEC);
	if (control < 0 || write(control, "1", 1) != 1)
		(void)umount2(m->dir, UMOUNT_NOFOLLOW | MNT_FORCE);
}

void fs_mount_free(struct fs_mount *m)
{
	if (!m)
		return;
	free(m->dir);
	free(m);
}
