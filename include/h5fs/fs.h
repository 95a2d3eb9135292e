/* SPDX-License-Identifier: MIT */
/* fs.h - kernel requests and replies: the tree of an ns served through FUSE.
 * fuse_lowlevel.h is included in src/fs/ only.
 *
 * Two processes: the parent mounts and unmounts and never looks into the mount;
 * the daemon answers, and need not be able to unmount. */
#ifndef H5FS_FS_H
#define H5FS_FS_H

#include "h5fs/ns.h"

struct fs_options {
	char *mount_options; /* comma-joined and escaped as libfuse wants them;
			      * may be NULL */
	unsigned threads;    /* 0: libfuse's default */
	unsigned idle_timeout; /* seconds without a request; 0: never */
	bool debug;
};

/* ---- the parent's side: mounts before, unmounts after ---- */
struct fs_mount;
/* Mounts on dir, an absolute path without links, read-only or not; file is only
 * the name that mount(8) shows. *ret_fd is the one /dev/fuse descriptor, for the daemon: the
 * mount is dead once all copies of it are closed. On failure *ret_why is one
 * line for people, or NULL when libfuse's helper has told the reason itself;
 * the caller frees it. */
int fs_mount_new(const char *file, const char *dir, bool read_only,
		 const struct fs_options *o, struct fs_mount **ret_mount,
		 int *ret_fd, char **ret_why);
/* Unmounts if it is still mounted; a mount that somebody else has put in its
 * place is left alone. -EBUSY: it is in use, unless `lazily`. */
int fs_mount_end(struct fs_mount *m, bool lazily);
/* The daemon is dead, but the descriptor is not closed: whoever waits for an answer
 * gets ENOTCONN. */
void fs_mount_abort(struct fs_mount *m);
void fs_mount_free(struct fs_mount *m); /* does not unmount */
DEFINE_CLEANUP(struct fs_mount *, fs_mount_free)

/* ---- the daemon's side ---- */
struct fs_events {
	void (*ready)(void *arg); /* once: requests are answered from now on */
	/* Nobody asked for anything for idle_timeout; told again after as long
	 * if nothing comes of it. Called from another thread. */
	void (*idle)(void *arg);
	/* Once, where ns may write: no more requests are answered, and what is
	 * staged is being committed, which may take its time. */
	void (*ending)(void *arg);
	void *arg;
};
/* Serves ns on fd, which it closes, until it is unmounted (0), or until SIGTERM
 * (and SIGINT, SIGHUP where they are not ignored) in a process whose other
 * threads block that (1: it is still mounted). Where ns
 * may write it then commits what is staged, and leaves signals blocked. */
int fs_serve(struct ns *ns, int fd, const struct fs_options *o,
	     const struct fs_events *events);
void fs_versions(struct strbuf *out); /* "libfuse 3.14.0" */

#endif
