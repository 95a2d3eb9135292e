/* SPDX-License-Identifier: MIT */
/* export_file.c - one file or directory's contents and attributes, written to
 * disk. Called from several threads. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "export_int.h"

#define PIECE ((size_t)1 << 20)

void export_failed(struct export_notes *n, const char *path, int r)
{
	atomic_fetch_add(&n->failures, 1);
	fprintf(stderr, "h5fs: %s: %s\n", path, strerror(-r));
}

static int copy_bytes(struct ns *ns, uint64_t ino, uint64_t size, int fd,
		      struct export_notes *n)
{
	uint64_t at = 0;

	while (at < size) {
		struct ns_bytes bytes = { 0 };
		size_t want = size - at < PIECE ? (size_t)(size - at) : PIECE;
		int r;

		r = ns_read(ns, ino, at, want, &bytes);
		if (r < 0)
			return r;
		if (bytes.size)
			r = io_write_all(fd, bytes.data, bytes.size);
		else
			r = -EIO; /* shorter than it said */
		at += bytes.size;
		ns_bytes_done(&bytes);
		if (r < 0)
			return r;
	}
	atomic_fetch_add(&n->bytes, size);
	return 0;
}

static char *temporary_name(const char *path, struct export_notes *n)
{
	const char *slash = strrchr(path, '/');
	char *name = NULL;

	if (asprintf(&name, "%.*s/.h5fs-export.%d.%u", (int)(slash - path),
		     path, (int)getpid(),
		     atomic_fetch_add(&n->temporary, 1)) < 0)
		return NULL;
	return name;
}

static int fill(struct ns *ns, uint64_t ino, const char *temporary,
		struct export_notes *n)
{
	struct stat st;
	int fd, r;

	r = ns_stat(ns, ino, &st);
	if (r < 0)
		return r;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	r = copy_bytes(ns, ino, (uint64_t)st.st_size, fd, n);
	if (r == 0) {
		export_xattrs(ns, ino, temporary, n);
		(void)futimens(fd,
			       (struct timespec[]){ st.st_mtim, st.st_mtim });
	}
	if (close(fd) < 0 && r == 0) /* NFS tells of a full disk here */
		r = -errno;
	return r;
}

int export_file(struct ns *ns, uint64_t ino, const char *path,
		struct export_notes *n)
{
	CLEANUP(freep) char *temporary = temporary_name(path, n);
	int r;

	if (!temporary)
		return -ENOMEM;
	r = fill(ns, ino, temporary, n);
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlink(temporary);
		return r;
	}
	atomic_fetch_add(&n->files, 1);
	return 0;
}

static void told_once(atomic_bool *told, const char *path, const char *text)
{
	if (!atomic_exchange(told, true))
		fprintf(stderr, "h5fs: %s: %s\n", path, text);
}

static void set_one(const char *path, const char *name,
		    const struct blob *value, struct export_notes *n)
{
	if (setxattr(path, name, value->data, value->size, 0) == 0)
		return;
	if (errno == ENOTSUP)
		told_once(&n->no_xattrs, path,
			  "this file system takes no attributes");
	else
		told_once(&n->xattrs_cut, path,
			  "some attributes do not fit this file system");
}

void export_xattrs(struct ns *ns, uint64_t ino, const char *path,
		   struct export_notes *n)
{
	struct strbuf names = STRBUF_INIT;

	if (atomic_load(&n->no_xattrs))
		return;
	if (ns_xattrs(ns, ino, &names) == 0 && strbuf_error(&names) == 0) {
		const char *name = names.buf;

		while (name && name < names.buf + names.len) {
			CLEANUP(blob_unrefp) struct blob *value = NULL;

			if (ns_xattr(ns, ino, name, &value) == 0)
				set_one(path, name, value, n);
			name += strlen(name) + 1;
		}
	}
	strbuf_done(&names);
}
