/* SPDX-License-Identifier: MIT */
/* meta.c - names and attributes: lookup, forget, getattr, readlink, statfs. */
#include "fs_int.h"

void fs_entry_param(struct fs *fs, uint64_t parent,
		    const struct ns_entry *entry,
		    struct fuse_entry_param *ret_param)
{
	double ttl = fs_entry_ttl(fs, entry->ino);

	if (parent == FUSE_ROOT_ID && ttl > FS_ROOT_LOOKUP_TTL)
		ttl = FS_ROOT_LOOKUP_TTL;
	*ret_param = (struct fuse_entry_param){
		.ino = entry->ino,
		.attr = entry->st,
		.attr_timeout = fs_attr_ttl(fs, entry->ino),
		.entry_timeout = ttl,
	};
}

/* An interrupted caller never learns of the reference. */
void fs_reply_entry(fuse_req_t req, uint64_t parent,
		    const struct ns_entry *entry)
{
	struct fs *fs = fuse_req_userdata(req);
	struct fuse_entry_param e;

	fs_entry_param(fs, parent, entry, &e);
	if (fuse_reply_entry(req, &e) < 0)
		ns_forget(fs->ns, entry->ino, 1);
}

void fs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_enter(req);
	struct fuse_entry_param e = { 0 };
	struct ns_entry entry;
	int r;

	if (!fs)
		return;
	r = ns_lookup(fs->ns, parent, name, &entry);
	if (r == -ENOENT) {
		e.entry_timeout = fs->writes ? 0 : FS_NEGATIVE_TTL;
		fuse_reply_entry(req, &e);
		return;
	}
	if (r < 0) {
		fs_reply_error(req, "lookup", r);
		return;
	}
	fs_reply_entry(req, parent, &entry);
}

void fs_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	struct fs *fs = fuse_req_userdata(req);

	ns_forget(fs->ns, ino, n);
	fuse_reply_none(req);
}

void fs_op_forget_multi(fuse_req_t req, size_t count,
			struct fuse_forget_data *forgets)
{
	struct fs *fs = fuse_req_userdata(req);

	for (size_t i = 0; i < count; i++)
		ns_forget(fs->ns, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

void fs_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_enter(req);
	struct stat st;
	int r;

	if (!fs)
		return;
	r = ns_stat(fs->ns, ino, &st);
	if (r < 0)
		fs_reply_error(req, "getattr", r);
	else
		fuse_reply_attr(req, &st, fs_attr_ttl(fs, ino));
}

void fs_op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_enter(req);
	CLEANUP(freep) char *target = NULL;
	int r;

	if (!fs)
		return;
	r = ns_readlink(fs->ns, ino, &target);
	if (r < 0)
		fs_reply_error(req, "readlink", r);
	else
		fuse_reply_readlink(req, target);
}

void fs_op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_enter(req);
	struct statvfs st;
	int r;

	if (!fs)
		return;
	r = ns_statvfs(fs->ns, &st);
	if (r < 0)
		fs_reply_error(req, "statfs", r);
	else
		fuse_reply_statfs(req, &st);
}
