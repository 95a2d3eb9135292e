/* SPDX-License-Identifier: MIT */
/* data.c - contents: read, opendir, readdir, readdirplus; open, where nothing is
 * written. */
#include <linux/fuse.h>

#include "fs_int.h"

#define LISTING_MAX ((size_t)1 << 20) /* bytes of one readdir reply */

/* Asked once a mount: the kernel remembers the answer. */
void fs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (fs_enter(req))
		fuse_reply_err(req, ENOSYS);
}

void fs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		struct fuse_file_info *fi)
{
	struct fs *fs = fs_enter(req);
	struct ns_bytes bytes = { 0 };
	int r;

	if (!fs)
		return;
	if (offset < 0)
		r = -EINVAL;
	else if (fi->fh)
		r = ns_read_handle(fs->ns, ino, fi->fh, (uint64_t)offset, size,
				   &bytes);
	else
		r = ns_read(fs->ns, ino, (uint64_t)offset, size, &bytes);
	if (r < 0) {
		fs_reply_error(req, "read", r);
		return;
	}
	fuse_reply_buf(req, (const char *)bytes.data, bytes.size);
	ns_bytes_done(&bytes);
}

void fs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (!fs_enter(req))
		return;
	fi->fh = 0;
	fi->cache_readdir = 0;
	fi->keep_cache = 0;
	fuse_reply_open(req, fi);
}

struct listing {
	fuse_req_t req;
	struct fs *fs;
	bool plus;
	size_t size, used;
	char *buf;
};

/* Entry ns offsets are two behind the kernel's: "." and ".." come first. */
#define DOTS 2

static int put(struct listing *l, const char *name,
	       const struct fuse_entry_param *e, off_t next)
{
	char *at = l->buf + l->used;
	size_t left = l->size - l->used;
	size_t need;

	need = l->plus ? fuse_add_direntry_plus(l->req, at, left, name, e, next)
		       : fuse_add_direntry(l->req, at, left, name, &e->attr,
					   next);
	if (need > left)
		return 1;
	l->used += need;
	return 0;
}

/* An inode number of 0 tells the kernel to look the entry up when it wants it. */
static int emit(void *arg, const struct ns_dirent *d)
{
	struct listing *l = arg;
	struct fuse_entry_param e = { 0 };

	if (l->plus && d->entry.ino) {
		e.ino = d->entry.ino;
		e.attr = d->entry.st;
		e.attr_timeout = fs_attr_ttl(l->fs, e.ino);
		e.entry_timeout = fs_entry_ttl(l->fs, e.ino);
	} else {
		e.attr.st_ino = d->st_ino;
		e.attr.st_mode = d->type;
	}
	return put(l, d->name, &e, (off_t)d->next + DOTS);
}

static int put_dots(struct listing *l, uint64_t ino, off_t from)
{
	struct fuse_entry_param e = { .attr.st_mode = S_IFDIR };
	struct stat st;
	int r;

	r = ns_stat(l->fs->ns, ino, &st);
	if (r < 0)
		return r;
	e.attr.st_ino = st.st_ino;
	if (from == 0 && put(l, ".", &e, 1))
		return 1;
	e.attr.st_ino = 0xffffffff; /* as libfuse says "unknown" */
	return put(l, "..", &e, DOTS);
}

static int list(struct listing *l, uint64_t ino, off_t from)
{
	int r;

	if (from < 0)
		return -EINVAL;
	if (from < DOTS) {
		r = put_dots(l, ino, from);
		if (r)
			return r < 0 ? r : 0;
		from = DOTS;
	}
	return ns_list(l->fs->ns, ino, (uint64_t)from - DOTS, l->plus, emit, l);
}

/* The kernel never learned of the references. */
static void give_back(struct listing *l)
{
	for (size_t at = 0; l->plus && at < l->used;) {
		const struct fuse_direntplus *e = (const void *)(l->buf + at);

		if (e->entry_out.nodeid)
			ns_forget(l->fs->ns, e->entry_out.nodeid, 1);
		at += FUSE_DIRENTPLUS_SIZE(e);
	}
}

static void readdir_op(fuse_req_t req, uint64_t ino, size_t size, off_t offset,
		       bool plus)
{
	struct listing l = { .req = req, .plus = plus };
	CLEANUP(freep) char *buf = NULL;
	int r;

	l.fs = fs_enter(req);
	if (!l.fs)
		return;
	l.size = size < LISTING_MAX ? size : LISTING_MAX;
	l.buf = buf = malloc(l.size ? l.size : 1);
	if (!buf) {
		fs_reply_error(req, "readdir", -ENOMEM);
		return;
	}
	r = list(&l, ino, offset);
	/* What was listed before an error is right; it comes again next time. */
	if (r < 0 && l.used == 0)
		fs_reply_error(req, "readdir", r);
	else if (fuse_reply_buf(req, buf, l.used) < 0)
		give_back(&l);
}

void fs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		   struct fuse_file_info *fi)
{
	readdir_op(req, ino, size, offset, false);
}

void fs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
		       off_t offset, struct fuse_file_info *fi)
{
	readdir_op(req, ino, size, offset, true);
}
