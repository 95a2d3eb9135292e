/* SPDX-License-Identifier: MIT */
/* xattr.c - attributes: getxattr, listxattr, and their size protocol; setxattr,
 * removexattr. */
#include "fs_int.h"

/* size 0 asks how long it is. */
static void reply(fuse_req_t req, const void *bytes, size_t n, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(req, n);
	else if (n > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, bytes, n);
}

void fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    size_t size)
{
	struct fs *fs = fs_enter(req);
	CLEANUP(blob_unrefp) struct blob *value = NULL;
	int r;

	if (!fs)
		return;
	r = ns_xattr(fs->ns, ino, name, &value);
	if (r < 0)
		fs_reply_error(req, "getxattr", r);
	else
		reply(req, value->data, value->size, size);
}

void fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct fs *fs = fs_enter(req);
	struct strbuf names = STRBUF_INIT;
	int r;

	if (!fs)
		return;
	r = ns_xattrs(fs->ns, ino, &names);
	if (r == 0)
		r = strbuf_error(&names);
	if (r < 0)
		fs_reply_error(req, "listxattr", r);
	else
		reply(req, names.buf, names.len, size);
	strbuf_done(&names);
}

void fs_op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		    const char *value, size_t size, int flags)
{
	struct fs *fs = fs_enter(req);

	if (fs)
		fs_reply_done(
			req, "setxattr",
			ns_setxattr(fs->ns, ino, name, value, size, flags));
}

void fs_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct fs *fs = fs_enter(req);

	if (fs)
		fs_reply_done(req, "removexattr",
			      ns_removexattr(fs->ns, ino, name));
}
