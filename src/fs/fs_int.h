/* SPDX-License-Identifier: MIT */
/* fs_int.h - what the files of src/fs share. */
#ifndef H5FS_FS_INT_H
#define H5FS_FS_INT_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "h5fs/fs.h"

/* The tree changes only with FILE, and then the keeper says so. Without its
 * word: volatile files, and names that are not there. Where this mount may write,
 * these two are never remembered. */
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
	bool writes;
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
/* As the kernel wants to hear of it. */
void fs_entry_param(struct fs *fs, uint64_t parent,
		    const struct ns_entry *entry,
		    struct fuse_entry_param *ret_param);
/* The answer to what finds or makes a name; the reference goes with it. */
void fs_reply_entry(fuse_req_t req, uint64_t parent,
		    const struct ns_entry *entry);
/* The answer to what has no other: 0, or an error. */
void fs_reply_done(fuse_req_t req, const char *op, int r);

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
/* write.c: only where this mount may write */
void fs_op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		  mode_t mode, struct fuse_file_info *fi);
void fs_op_open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
		 off_t offset, struct fuse_file_info *fi);
void fs_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		   int to_set, struct fuse_file_info *fi);
void fs_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		 struct fuse_file_info *fi);
void fs_op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
		    struct fuse_file_info *fi);
void fs_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
/* names.c: the same */
void fs_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		 mode_t mode, dev_t rdev);
void fs_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		 mode_t mode);
void fs_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		   const char *name);
void fs_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
		const char *name);
void fs_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		  fuse_ino_t new_parent, const char *new_name, unsigned flags);
/* xattr.c */
void fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    size_t size);
void fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void fs_op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    const char *value, size_t size, int flags);
void fs_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

/* keeper.c: the one thread that watches FILE and the clock, commits what is due,
 * and the only one that tells the kernel to forget something. */
struct keeper;
int keeper_start(struct fs *fs, struct keeper **ret_keeper);
void keeper_stop(struct keeper *k);
DEFINE_CLEANUP(struct keeper *, keeper_stop)

#endif
