/* SPDX-License-Identifier: MIT */
/* names.c - names that come and go: mknod, mkdir, symlink, unlink, rmdir, rename.
 * What may be done where is the tree's to say. */
#include "fs_int.h"

/* What finds or makes a name, replied to. */
static void reply_made(fuse_req_t req, const char *op, uint64_t parent, int r,
		       const struct ns_entry *entry)
{
	if (r < 0)
		fs_reply_error(req, op, r);
	else
		fs_reply_entry(req, parent, entry);
}

void fs_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		 mode_t mode, dev_t rdev)
{
	struct fs *fs = fs_enter(req);
	struct ns_entry entry;
	ns_handle handle = 0;
	int r;

	if (!fs)
		return;
	r = S_ISREG(mode) ? ns_create(fs->ns, parent, name, &entry, &handle)
			  : -EPERM;
	if (r == 0)
		ns_release(fs->ns, handle);
	reply_made(req, "mknod", parent, r, &entry);
}

void fs_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		 mode_t mode)
{
	struct fs *fs = fs_enter(req);
	struct ns_entry entry;

	if (fs)
		reply_made(req, "mkdir", parent,
			   ns_mkdir(fs->ns, parent, name, &entry), &entry);
}

void fs_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		   const char *name)
{
	struct fs *fs = fs_enter(req);
	struct ns_entry entry;

	if (fs)
		reply_made(req, "symlink", parent,
			   ns_symlink(fs->ns, parent, name, target, &entry),
			   &entry);
}

/* Which of two names a row should have, nobody could say. */
void fs_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
		const char *name)
{
	if (fs_enter(req))
		fs_reply_error(req, "link", -EPERM);
}

void fs_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_enter(req);

	if (fs)
		fs_reply_done(req, "unlink", ns_unlink(fs->ns, parent, name));
}

void fs_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_enter(req);

	if (fs)
		fs_reply_done(req, "rmdir", ns_rmdir(fs->ns, parent, name));
}

void fs_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		  fuse_ino_t new_parent, const char *new_name, unsigned flags)
{
	struct fs *fs = fs_enter(req);

	if (fs)
		fs_reply_done(req, "rename",
			      ns_rename(fs->ns, parent, name, new_parent,
					new_name, flags));
}
