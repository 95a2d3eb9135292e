/* SPDX-License-Identifier: MIT */
/* fs_int.h - what the files of src/fs share. */
#ifndef H5FS_FS_INT_H
#define H5FS_FS_INT_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "h5fs/fs.h"

/* The tree changes only with FILE, and then the keeper says so. Without its
 * word: volatile files, and names that are not there. */
#define FS_TTL 86400.0
#define FS_VOLATILE_ENTRY_TTL 1.0
#define FS_NEGATIVE_TTL 1.0
/* When FILE changes the keeper can name what the root lists, but not what was
 * asked for by an unlisted name there: D.by-class, D[0:5].npy. */
#define FS_ROOT_LOOKUP_TTL 1.0

struct fs {
	struct ns *ns;
	const struct fs_options *options;
	const struct fs_events *events;
	struct fuse_session *se;
	pthread_t loop_thread;
	pid_t pid;
	atomic_llong last_request; /* fs_clock() */
};

int64_t fs_clock(void); /* seconds, monotonic */

/* Every op that may meet the file starts with it. NULL: it has been replied to,
 * because this daemon asked itself: a link in FILE led into its own mount, and
 * the thread that asks may hold what the answer needs. */
struct fs *fs_enter(fuse_req_t req);
void fs_reply_error(fuse_req_t req, const char *op, int r);
double fs_attr_ttl(struct fs *fs, uint64_t ino);
double fs_entry_ttl(struct fs *fs, uint64_t ino);

/* meta.c */
void fs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n);
void fs_op_forget_multi(fuse_req_t req, size_t count,
			struct fuse_forget_data *forgets);
void fs_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_readlink(fuse_req_t req, fuse_ino_t ino);
void fs_op_statfs(fuse_req_t req, fuse_ino_t ino);
/* data.c */
void fs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		struct fuse_file_info *fi);
void fs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		   struct fuse_file_info *fi);
void fs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
		       off_t offset, struct fuse_file_info *fi);
/* xattr.c */
void fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    size_t size);
void fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);

/* keeper.c: the one thread that watches FILE and the clock, and the only one
 * that tells the kernel to forget something. */
struct keeper;
int keeper_start(struct fs *fs, struct keeper **ret_keeper);
void keeper_stop(struct keeper *k);
DEFINE_CLEANUP(struct keeper *, keeper_stop)

#endif
