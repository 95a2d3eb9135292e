/* SPDX-License-Identifier: MIT */
/* change.c - names are made, moved and removed: who does it depends on what the
 * directory stands for. */
#include <stdio.h>

#include "objects_int.h"

/* ---- what a call is about ---- */

struct request {
	struct ns *ns;
	struct pin dir;
	enum dir_kind kind;
	const char *name;
	struct refusal f;
};

static void request_done(struct request *q)
{
	pin_done(&q->dir);
	refusal_done(&q->f);
}

static int request_init(struct ns *ns, uint64_t parent, const char *name,
			struct request *q)
{
	int r = ns->mode == NS_RO ? -EROFS : pin_get(ns, parent, &q->dir);

	if (r < 0)
		return r;
	q->ns = ns;
	q->name = name;
	q->kind = dir_kind(&q->dir);
	return 0;
}

/* A group whose objects are shown: in a class view they are not. */
static bool is_object_dir(const struct request *q)
{
	return q->kind == DIR_GROUP && q->ns->opts.view == NS_TREE;
}

static int answer(struct request *q, int r)
{
	CLEANUP(freep) char *path = NULL;

	if (r >= 0 || !q->f.reason ||
	    dir_path(q->ns, &q->dir, q->name, &path) < 0)
		return r;
	return ns_refuse(q->ns, path, &q->f, r);
}

static int not_here(struct request *q)
{
	return refusal_set(&q->f, -EPERM,
			   "make it in a group, or below a directory that "
			   "ends in .part",
			   "this directory is made up of one dataset");
}

/* ---- making ---- */

static int make_dir(struct request *q)
{
	int r;

	if (q->kind == DIR_PENDING ||
	    (is_object_dir(q) && name_is_pending(q->name)))
		return pending_mkdir(q->ns, &q->dir, q->name, &q->f);
	if (is_object_dir(q))
		return object_mkdir(q->ns, &q->dir, q->name, &q->f);
	r = q->kind == DIR_OTHER ? -ENOENT
				 : class_mkdir(q->ns, &q->dir, q->name);
	return r == -ENOENT ? not_here(q) : r;
}

int ns_mkdir(struct ns *ns, uint64_t parent, const char *name,
	     struct ns_entry *ret_entry)
{
	CLEANUP(request_done) struct request q = { 0 };
	int r = request_init(ns, parent, name, &q);

	if (r == 0)
		r = answer(&q, make_dir(&q));
	return r < 0 ? r : ns_lookup(ns, parent, name, ret_entry);
}

static int make_link(struct request *q, const char *target)
{
	if (q->kind == DIR_PENDING)
		return pending_symlink(q->ns, &q->dir, q->name, target, &q->f);
	return is_object_dir(q)
		       ? object_symlink(q->ns, &q->dir, q->name, target, &q->f)
		       : not_here(q);
}

int ns_symlink(struct ns *ns, uint64_t parent, const char *name,
	       const char *target, struct ns_entry *ret_entry)
{
	CLEANUP(request_done) struct request q = { 0 };
	int r = request_init(ns, parent, name, &q);

	if (r == 0)
		r = answer(&q, make_link(&q, target));
	return r < 0 ? r : ns_lookup(ns, parent, name, ret_entry);
}

/* ---- removing ---- */

static int remove_name(struct request *q, bool is_dir)
{
	int r = is_dir ? class_rmdir(q->ns, &q->dir, q->name)
		   : staged_unlink(q->ns, &q->dir, q->name);

	if (r == -ENOENT && (q->kind == DIR_PENDING || is_object_dir(q)))
		r = pending_remove(q->ns, &q->dir, q->name, is_dir);
	if (r != -ENOENT || q->kind == DIR_PENDING)
		return r;
	if (is_object_dir(q))
		return object_remove(q->ns, &q->dir, q->name, is_dir, &q->f);
	return refusal_set(&q->f, -EPERM,
			   "remove the dataset as a whole, with -o edit",
			   "rows are never renumbered");
}

static int remove_at(struct ns *ns, uint64_t parent, const char *name,
		     bool is_dir)
{
	CLEANUP(request_done) struct request q = { 0 };
	int r = request_init(ns, parent, name, &q);

	return r < 0 ? r : answer(&q, remove_name(&q, is_dir));
}

int ns_unlink(struct ns *ns, uint64_t parent, const char *name)
{
	return remove_at(ns, parent, name, false);
}

int ns_rmdir(struct ns *ns, uint64_t parent, const char *name)
{
	return remove_at(ns, parent, name, true);
}

/* ---- moving ---- */

static int move(struct request *q, const struct pin *to, const char *new_name,
		unsigned flags)
{
	enum dir_kind to_kind = dir_kind(to);
	int r = staged_rename(q->ns, &q->dir, q->name, to, new_name, flags);

	if (r == -ENOENT && (q->kind == DIR_PENDING || is_object_dir(q)) &&
	    (to_kind == DIR_PENDING || to_kind == DIR_GROUP))
		r = pending_rename(q->ns, &q->dir, q->name, to, new_name,
				   &q->f);
	if (r != -ENOENT || q->kind == DIR_PENDING)
		return r;
	/* mv copies what can not be moved, and then removes it */
	if (is_object_dir(q) && to_kind == DIR_GROUP)
		return object_rename(q->ns, &q->dir, q->name, to, new_name,
				     &q->f);
	if (is_object_dir(q))
		return -EXDEV;
	return refusal_set(&q->f, -EPERM,
			   "a sample can be moved between the class folders "
			   "of its dataset, with -o edit",
			   "rows are never renumbered");
}

int ns_rename(struct ns *ns, uint64_t parent, const char *name,
	      uint64_t new_parent, const char *new_name, unsigned flags)
{
	CLEANUP(request_done) struct request q = { 0 };
	CLEANUP(pin_done) struct pin to = { 0 };
	int r;

	if (flags & ~(unsigned)RENAME_NOREPLACE)
		return -EINVAL;
	r = request_init(ns, parent, name, &q);
	if (r == 0)
		r = pin_get(ns, new_parent, &to);
	return r < 0 ? r : answer(&q, move(&q, &to, new_name, flags));
}
