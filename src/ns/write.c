/* SPDX-License-Identifier: MIT */
/* write.c - open files: what is written to them is collected, and judged when they
 * are closed (flush). */
#include <fcntl.h>
#include <stdio.h>

#include "objects_int.h"
#include "write_int.h"

/* ---- making a file ---- */

static int refuse_here(const struct pin *dir, struct refusal *f)
{
	if (dir->node.view == V_BYCLASS)
		return refusal_set(f, -EPERM,
				   "copy it into one of the class folders",
				   "it would have no class here");
	if (dir->node.view == V_CLASS)
		return refusal_set(f, -EOPNOTSUPP,
				   "copy it into the group, and set user.label",
				   "the pictures of this class are datasets of "
				   "their own");
	if (dir->node.view >= V_SUB)
		return refusal_set(f, -EOPNOTSUPP,
				   "copy a row of the dataset as .npy into its "
				   "directory",
				   "the pictures lie several levels deep");
	return -EPERM;
}

static int make_file(struct ns *ns, const struct pin *dir, uint64_t parent,
		     const char *name, struct node *ret_node,
		     struct open_file **ret_file, struct refusal *f)
{
	CLEANUP(intake_done) struct intake in = { 0 };
	struct open_file *file;
	int r = intake_of(ns, dir, &in);

	if (r == -ENOENT)
		return refuse_here(dir, f);
	if (r == 0)
		r = verdict_may_make(ns, dir, &in, name, f);
	if (r == 0)
		r = open_file_new(ns, &in, parent, name, &file);
	if (r < 0)
		return r;
	file->filled = true;
	r = dir_path(ns, dir, name, &file->fault_path);
	if (r == 0)
		r = intake_node(ns, &in, name, ret_node);
	if (r < 0) {
		open_file_unname(ns, file);
		open_file_put(ns, file);
		return r;
	}
	*ret_file = file;
	return 0;
}

static int create_once(struct ns *ns, uint64_t parent, const char *name,
		       struct ns_entry *ret_entry, ns_handle *ret_handle)
{
	CLEANUP(pin_done) struct pin dir = { 0 };
	CLEANUP(freep) char *path = NULL;
	struct refusal f = { 0 };
	struct open_file *file = NULL;
	struct ns_entry e = { 0 };
	struct node node;
	int r = pin_get(ns, parent, &dir);

	if (r == 0)
		r = dir_path(ns, &dir, name, &path);
	if (r < 0)
		return r;
	r = make_file(ns, &dir, parent, name, &node, &file, &f);
	if (r < 0)
		return ns_refuse(ns, path, &f, r);
	e.ino = node_ino(node);
	r = ns_stat(ns, e.ino, &e.st);
	if (r == 0)
		r = handle_new(ns, HANDLE_WRITE, file, ret_handle);
	if (r < 0) {
		open_file_unname(ns, file);
		open_file_put(ns, file);
		ns_forget(ns, e.ino, 1);
		return r;
	}
	*ret_entry = e;
	return 0;
}

int ns_create(struct ns *ns, uint64_t parent, const char *name,
	      struct ns_entry *ret_entry, ns_handle *ret_handle)
{
	unsigned tries = 0;
	int r;

	if (ns->mode == NS_RO)
		return -EROFS;
	do
		r = create_once(ns, parent, name, ret_entry, ret_handle);
	while (ns_again(ns, r, &tries));
	return r;
}

/* ---- bytes ---- */

/* Under the file's lock: what was there before, where it is written into. */
static int fill(struct ns *ns, struct open_file *f, uint64_t ino)
{
	uint64_t at = 0;
	int r = 0;

	while (!f->filled && r == 0) {
		struct ns_bytes b = { 0 };

		r = ns_read(ns, ino, at, 1u << 20, &b);
		if (r == 0 && b.size == 0)
			f->filled = true;
		else if (r == 0)
			r = draft_write(f->draft, b.data, b.size, at);
		at += b.size;
		ns_bytes_done(&b);
	}
	if (r < 0)
		(void)draft_truncate(f->draft, 0);
	f->version = draft_version(f->draft);
	return r;
}

#define MAX_READ (1u << 20)

int ns_read_handle(struct ns *ns, uint64_t ino, ns_handle h, uint64_t offset,
		   size_t size, struct ns_bytes *ret_bytes)
{
	struct handle *at = handle_of(ns, h);

	if (!at)
		return ns_read(ns, ino, offset, size, ret_bytes);
	if (size > MAX_READ)
		size = MAX_READ;
	if (at->bytes) {
		uint64_t left =
			offset < at->bytes->size ? at->bytes->size - offset : 0;

		ret_bytes->owner = blob_ref(at->bytes);
		ret_bytes->data = at->bytes->data + (left ? offset : 0);
		ret_bytes->size = size < left ? size : (size_t)left;
		return 0;
	}
	if (at->kind == HANDLE_CONTROL)
		return -EBADF;
	{
		LOCK_SCOPE(&at->file->lock);
		if (at->file->filled && open_file_is_seen(at->file))
			return open_file_read(at->file, offset, size,
					      ret_bytes);
	}
	return ns_read(ns, ino, offset, size, ret_bytes);
}

static int write_file(struct ns *ns, struct open_file *f, uint64_t ino,
		      const void *buf, size_t n, uint64_t offset)
{
	LOCK_SCOPE(&f->lock);
	int r = fill(ns, f, ino);

	if (r == 0)
		r = draft_write(f->draft, buf, n, offset);
	return r < 0 ? r : (int)n;
}

int ns_write(struct ns *ns, uint64_t ino, ns_handle h, const void *buf,
	     size_t n, uint64_t offset)
{
	struct handle *at = handle_of(ns, h);
	int r;

	if (!at || at->kind == HANDLE_READ)
		return -EBADF;
	if (at->kind == HANDLE_WRITE)
		return write_file(ns, at->file, ino, buf, n, offset);
	r = control_write(ns, buf, n);
	return r < 0 ? r : (int)n;
}

int ns_truncate(struct ns *ns, uint64_t ino, ns_handle h, uint64_t size)
{
	struct handle *at = handle_of(ns, h);
	ns_handle mine;
	bool keep;
	int r = 0, flushed;

	if (at && at->kind == HANDLE_CONTROL)
		return 0;
	if (at && at->kind == HANDLE_READ)
		return -EBADF;
	if (at && at->kind == HANDLE_WRITE) {
		LOCK_SCOPE(&at->file->lock);
		if (size == 0)
			at->file->filled = true;
		else
			r = fill(ns, at->file, ino);
		return r < 0 ? r : draft_truncate(at->file->draft, size);
	}
	r = ns_open_file(ns, ino, O_WRONLY, &mine, &keep);
	if (r < 0)
		return r;
	r = ns_truncate(ns, ino, mine, size);
	flushed = ns_flush(ns, mine);
	ns_release(ns, mine);
	return r < 0 ? r : flushed;
}

/* ---- closing ---- */

int ns_flush(struct ns *ns, ns_handle h)
{
	struct handle *at = handle_of(ns, h);

	if (!at || at->kind != HANDLE_WRITE)
		return 0;
	LOCK_SCOPE(&at->file->lock);
	return verdict_pass(ns, at->file);
}

/* Only what has its verdict is kept. */
int ns_fsync(struct ns *ns, ns_handle h)
{
	int r = ns_flush(ns, h);

	return r < 0 ? r : ns_sync(ns);
}

/* It was made and nothing was written: it stays, as an empty file, but nothing
 * comes of it. */
static void tell_empty(struct ns *ns, struct open_file *f)
{
	struct refusal refusal = { 0 };

	if (f->judged || name_is_held(f->name) || draft_size(f->draft))
		return;
	(void)refusal_set(&refusal, -EINVAL, "copy a file with content",
			  "the file is empty, so nothing is added");
	(void)ns_refuse(ns, f->fault_path, &refusal, -EINVAL);
}

static void close_file(struct ns *ns, struct open_file *f)
{
	bool last = __atomic_sub_fetch(&f->opens, 1, __ATOMIC_ACQ_REL) == 0;
	bool kept;

	pthread_mutex_lock(&f->lock);
	kept = open_file_is_seen(f) && !f->is_replacement;
	if (last && kept)
		tell_empty(ns, f);
	if (last && f->holds) {
		stage_release(ns->stage, f->row);
		f->holds = false;
	}
	pthread_mutex_unlock(&f->lock);
	if (last && !kept)
		open_file_unname(ns, f);
	open_file_put(ns, f);
}

void ns_release(struct ns *ns, ns_handle h)
{
	struct handle *at = handle_take(ns, h);

	if (!at)
		return;
	if (at->file)
		close_file(ns, at->file);
	handle_free(ns, at);
}
