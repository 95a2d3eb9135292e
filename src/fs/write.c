/* SPDX-License-Identifier: MIT */
/* write.c - open files, where this mount may write: create, open, write, flush,
 * fsync, release, and what setattr changes.
 *
 * A handle of 0 is a file that is only read. The verdict on what was written is
 * flush's, which close(2) returns; release comes too late for anybody to hear of
 * it. O_TRUNC comes with open. There is no writeback cache: a write that returned
 * has been here. */
#include "fs_int.h"

void fs_op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		  mode_t mode, struct fuse_file_info *fi)
{
	struct fs *fs = fs_enter(req);
	struct fuse_entry_param e;
	struct ns_entry entry;
	ns_handle handle = 0;
	int r;

	if (!fs)
		return;
	r = ns_create(fs->ns, parent, name, &entry, &handle);
	if (r < 0) {
		fs_reply_error(req, "create", r);
		return;
	}
	fs_entry_param(fs, parent, &entry, &e);
	fi->fh = handle;
	/* An interrupted caller has neither the file nor the name. */
	if (fuse_reply_create(req, &e, fi) < 0) {
		ns_release(fs->ns, handle);
		ns_forget(fs->ns, entry.ino, 1);
	}
}

void fs_op_open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_enter(req);
	ns_handle handle = 0;
	bool keep = false;
	int r;

	if (!fs)
		return;
	r = ns_open_file(fs->ns, ino, fi->flags, &handle, &keep);
	if (r < 0) {
		fs_reply_error(req, "open", r);
		return;
	}
	fi->fh = handle;
	fi->keep_cache = keep;
	fi->noflush = handle == 0;
	if (fuse_reply_open(req, fi) < 0 && handle)
		ns_release(fs->ns, handle);
}

void fs_op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
		 off_t offset, struct fuse_file_info *fi)
{
	struct fs *fs = fs_enter(req);
	int r;

	if (!fs)
		return;
	r = offset < 0 ? -EINVAL
		       : ns_write(fs->ns, ino, fi->fh, buf, size,
				  (uint64_t)offset);
	if (r < 0)
		fs_reply_error(req, "write", r);
	else
		fuse_reply_write(req, (size_t)r);
}

/* Mode, owner and times follow from FILE: setting them is accepted, for cp -p,
 * install and rsync, and the answer is what they are. */
void fs_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		   int to_set, struct fuse_file_info *fi)
{
	struct fs *fs = fs_enter(req);
	struct stat st;
	int r = 0;

	if (!fs)
		return;
	if (to_set & FUSE_SET_ATTR_SIZE)
		r = attr->st_size < 0
			    ? -EINVAL
			    : ns_truncate(fs->ns, ino, fi ? fi->fh : 0,
					  (uint64_t)attr->st_size);
	if (r == 0)
		r = ns_stat(fs->ns, ino, &st);
	if (r < 0)
		fs_reply_error(req, "setattr", r);
	else
		fuse_reply_attr(req, &st, fs_attr_ttl(fs, ino));
}

void fs_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_enter(req);

	if (fs)
		fs_reply_done(req, "flush",
			      fi->fh ? ns_flush(fs->ns, fi->fh) : 0);
}

void fs_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		 struct fuse_file_info *fi)
{
	struct fs *fs = fs_enter(req);

	if (fs)
		fs_reply_done(req, "fsync",
			      fi->fh ? ns_fsync(fs->ns, fi->fh) : 0);
}

/* A name is durable with what is staged under it. */
void fs_op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
		    struct fuse_file_info *fi)
{
	struct fs *fs = fs_enter(req);

	if (fs)
		fs_reply_done(req, "fsyncdir", ns_sync(fs->ns));
}

/* Not through fs_enter(): the last close may be this daemon's own end. */
void fs_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);

	if (fi->fh)
		ns_release(fs->ns, fi->fh);
	fuse_reply_err(req, 0);
}
