/* SPDX-License-Identifier: MIT */
/* change.c - names are made, moved and removed: who does it depends on what the
 * directory stands for. */
#include <stdio.h>

#include "objects_int.h"

/* ---- what a call is about ---- */

struct request {
	struct ns *ns;
	uint64_t parent;
	const char *name;
	const char *target;  /* of a link */
	bool is_dir;	     /* to be removed */
	uint64_t new_parent; /* to be moved */
	const char *new_name;
	unsigned flags;

	struct pin dir;
	enum dir_kind kind;
	struct refusal f;
};

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

static int perform_once(struct request *q, int (*act)(struct request *q))
{
	int r = pin_get(q->ns, q->parent, &q->dir);

	if (r < 0)
		return r;
	q->kind = dir_kind(&q->dir);
	r = answer(q, act(q));
	pin_done(&q->dir);
	refusal_done(&q->f);
	return r;
}

/* Again where another commit came between. */
static int perform(struct request *q, int (*act)(struct request *q))
{
	unsigned tries = 0;
	int r;

	if (q->ns->mode == NS_RO)
		return -EROFS;
	do
		r = perform_once(q, act);
	while (ns_again(q->ns, r, &tries));
	return r;
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
	struct request q = { .ns = ns, .parent = parent, .name = name };
	int r = perform(&q, make_dir);

	return r < 0 ? r : ns_lookup(ns, parent, name, ret_entry);
}

static int make_link(struct request *q)
{
	if (q->kind == DIR_PENDING)
		return pending_symlink(q->ns, &q->dir, q->name, q->target,
				       &q->f);
	return is_object_dir(q) ? object_symlink(q->ns, &q->dir, q->name,
						 q->target, &q->f)
				: not_here(q);
}

int ns_symlink(struct ns *ns, uint64_t parent, const char *name,
	       const char *target, struct ns_entry *ret_entry)
{
	struct request q = {
		.ns = ns, .parent = parent, .name = name, .target = target
	};
	int r = perform(&q, make_link);

	return r < 0 ? r : ns_lookup(ns, parent, name, ret_entry);
}

/* ---- removing ---- */

static int remove_name(struct request *q)
{
	int r = q->is_dir ? class_rmdir(q->ns, &q->dir, q->name)
			  : staged_unlink(q->ns, &q->dir, q->name);

	if (r == -ENOENT && (q->kind == DIR_PENDING || is_object_dir(q)))
		r = pending_remove(q->ns, &q->dir, q->name, q->is_dir);
	if (r != -ENOENT || q->kind == DIR_PENDING)
		return r;
	if (is_object_dir(q))
		return object_remove(q->ns, &q->dir, q->name, q->is_dir, &q->f);
	return refusal_set(&q->f, -EPERM,
			   "remove the dataset as a whole, with -o edit",
			   "rows are never renumbered");
}

int ns_unlink(struct ns *ns, uint64_t parent, const char *name)
{
	struct request q = { .ns = ns, .parent = parent, .name = name };

	return perform(&q, remove_name);
}

int ns_rmdir(struct ns *ns, uint64_t parent, const char *name)
{
	struct request q = {
		.ns = ns, .parent = parent, .name = name, .is_dir = true
	};

	return perform(&q, remove_name);
}

/* ---- moving ---- */

static int move_to(struct request *q, const struct pin *to)
{
	enum dir_kind to_kind = dir_kind(to);
	int r = staged_rename(q->ns, &q->dir, q->name, to, q->new_name,
			      q->flags);

	if (r == -ENOENT && (q->kind == DIR_PENDING || is_object_dir(q)) &&
	    (to_kind == DIR_PENDING || to_kind == DIR_GROUP))
		r = pending_rename(q->ns, &q->dir, q->name, to, q->new_name,
				   &q->f);
	if (r != -ENOENT || q->kind == DIR_PENDING)
		return r;
	if (is_object_dir(q) && to_kind == DIR_GROUP)
		return object_rename(q->ns, &q->dir, q->name, to, q->new_name,
				     &q->f);
	if (is_object_dir(q)) /* mv copies it, and then removes it */
		return -EXDEV;
	return refusal_set(&q->f, -EPERM,
			   "a sample can be moved between the class folders "
			   "of its dataset, with -o edit",
			   "rows are never renumbered");
}

static int move_name(struct request *q)
{
	CLEANUP(pin_done) struct pin to = { 0 };
	int r = pin_get(q->ns, q->new_parent, &to);

	return r < 0 ? r : move_to(q, &to);
}

int ns_rename(struct ns *ns, uint64_t parent, const char *name,
	      uint64_t new_parent, const char *new_name, unsigned flags)
{
	struct request q = { .ns = ns,
			     .parent = parent,
			     .name = name,
			     .new_parent = new_parent,
			     .new_name = new_name,
			     .flags = flags };

	if (flags & ~(unsigned)RENAME_NOREPLACE)
		return -EINVAL;
	return perform(&q, move_name);
}
