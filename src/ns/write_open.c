/* SPDX-License-Identifier: MIT */
/* write_open.c - files that are there are opened: to be read as they are now, or to
 * be written over. */
#include <fcntl.h>
#include <stdio.h>

#include "objects_int.h"
#include "write_int.h"

/* A file that is there already is written over: it is seen as it is until it
 * has other bytes. */
static int open_over(struct ns *ns, const struct intake *in, uint64_t parent,
		     const char *name, const char *path,
		     struct open_file **ret_file)
{
	struct open_file *f = open_file_find(ns, in->dir, name);
	int r;

	if (f) {
		*ret_file = f;
		return 0;
	}
	r = open_file_new(ns, in, parent, name, &f);
	if (r < 0)
		return r;
	f->judged = true;
	f->fault_path = strdup(path);
	if (!f->fault_path) {
		open_file_unname(ns, f);
		open_file_put(ns, f);
		return -ENOMEM;
	}
	*ret_file = f;
	return 0;
}

static int hold(struct ns *ns, const struct place_name *pn, uint64_t *ret_row)
{
	CLEANUP(stage_file_done) struct stage_file sf = { 0 };
	int r = stage_find(ns->stage, pn->dir, pn->name, &sf);

	if (r == 0) {
		stage_hold(ns->stage, sf.row);
		*ret_row = sf.row;
	}
	return r;
}

static struct open_file *seen_file(struct ns *ns, const struct place_name *pn)
{
	struct open_file *f = open_file_find(ns, pn->dir, pn->name);
	bool seen;

	if (!f)
		return NULL;
	pthread_mutex_lock(&f->lock);
	seen = open_file_is_seen(f);
	pthread_mutex_unlock(&f->lock);
	if (seen)
		return f;
	open_file_put(ns, f);
	return NULL;
}

/* What is seen of a staged file stays so for whoever has it open. */
static int open_read(struct ns *ns, const struct pin *p, ns_handle *ret_handle)
{
	CLEANUP(place_name_done) struct place_name pn = { 0 };
	struct open_file *f;
	struct handle *h;
	int r = place_name_of(ns, p, &pn);

	if (r < 0)
		return r;
	f = seen_file(ns, &pn);
	if (f) {
		r = handle_new(ns, HANDLE_READ, f, ret_handle);
		if (r < 0)
			open_file_put(ns, f);
		return r;
	}
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->kind = HANDLE_READ;
	r = p->node.view == V_STAGED ? hold(ns, &pn, &h->row) : -ENOENT;
	h->holds = r == 0;
	if (r == 0)
		r = staged_whole(ns, &pn, &h->bytes);
	if (r == 0)
		r = handle_add(ns, h, ret_handle);
	if (r < 0)
		handle_free(ns, h);
	return staged_gone(ns, r);
}

/* A staged file over which another one is written, in its class. */
static int open_staged(struct ns *ns, const struct pin *p,
		       const struct place_name *pn, struct open_file **ret_file)
{
	CLEANUP(intake_done) struct intake in = { .kind = INTAKE_SAMPLE };
	CLEANUP(stage_file_done) struct stage_file sf = { 0 };
	CLEANUP(freep) char *path = NULL;
	struct node dir = { p->object->number, V_DIR, 0 };
	struct open_file *f;
	int r = stage_find(ns->stage, pn->dir, pn->name, &sf);

	if (r == 0 && pn->sub)
		r = intake_of_class(ns, p->object, pn->sub, &in);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	in.object = p->object;
	in.dir = strdup(pn->dir);
	path = object_path(p->object);
	r = in.dir && path ? 0 : -ENOMEM;
	if (r == 0) {
		CLEANUP(freep) char *full = NULL;

		if (asprintf(&full, "%s%s%s/%s", path,
			     pn->sub ? ".by-class/" : "",
			     pn->sub ? pn->sub : "", pn->name) < 0)
			full = NULL;
		r = full ? open_over(ns, &in, node_ino(dir), pn->name, full, &f)
			 : -ENOMEM;
	}
	if (r < 0)
		return r;
	LOCK_SCOPE(&f->lock);
	if (!f->holds) {
		stage_hold(ns->stage, sf.row);
		f->holds = true;
		f->row = sf.row;
	}
	*ret_file = f;
	return 0;
}

static int open_write(struct ns *ns, const struct pin *p,
		      struct open_file **ret_file)
{
	CLEANUP(place_name_done) struct place_name pn = { 0 };
	int r = place_name_of(ns, p, &pn);

	if (r < 0)
		return r;
	*ret_file = open_file_find(ns, pn.dir, pn.name);
	if (*ret_file)
		return 0;
	return p->node.view == V_STAGED ? open_staged(ns, p, &pn, ret_file)
					: -ESTALE;
}

/* Saved over what is committed. */
static int open_committed(struct ns *ns, const struct pin *p,
			  struct open_file **ret_file)
{
	CLEANUP(freep) char *path = object_path(p->object);
	CLEANUP(freep) char *name = NULL;
	struct intake in = { .kind = INTAKE_SAMPLE, .object = p->object };
	struct open_file *file = open_file_of_sample(ns, p->node);
	char text[40];
	int r = path ? 0 : -ENOMEM;

	if (file) {
		*ret_file = file;
		return 0;
	}
	if (r == 0)
		r = sample_name(ns, p->object, p->node.index, false, text,
				sizeof(text));
	/* a key of its own: the name leads to the sample */
	if (r == 0 && asprintf(&in.dir, "\n%s", path) < 0)
		r = -ENOMEM;
	if (r == 0)
		r = open_file_new(ns, &in, 0, text, &file);
	if (r == 0 && asprintf(&file->fault_path, "%s/%s", path, text) < 0) {
		file->fault_path = NULL;
		open_file_unname(ns, file);
		open_file_put(ns, file);
		r = -ENOMEM;
	}
	free(in.dir);
	if (r < 0)
		return r;
	file->replaces = p->node;
	file->is_replacement = true;
	file->judged = true;
	__atomic_fetch_add(&ns->write->nreplacing, 1, __ATOMIC_ACQ_REL);
	*ret_file = file;
	return 0;
}

/* Saved over a file that a dataset is shown as. */
static int open_whole(struct ns *ns, const struct pin *p,
		      struct open_file **ret_file)
{
	struct object *o = p->object, *g = o->parent;
	struct intake in = { .kind = INTAKE_OBJECT, .object = g };
	CLEANUP(freep) char *path = NULL;
	const char *name = NULL;
	uint64_t parent;
	int r;

	if (!g)
		return -EPERM;
	r = group_load(ns, g, GROUP_ENTRIES);
	for (size_t i = 0; r == 0 && !name && i < g->group->nentries; i++) {
		const struct entry *e = &g->group->entries[i];

		if (!e->target && e->object == o && e->view == p->node.view)
			name = e->name;
	}
	if (!name)
		return r < 0 ? r : -EPERM;
	in.dir = object_path(g);
	parent = node_ino((struct node){ g->parent ? g->number : 0, V_DIR, 0 });
	if (!in.dir ||
	    asprintf(&path, "%s/%s", in.dir[1] ? in.dir : "", name) < 0) {
		path = NULL;
		free(in.dir);
		return -ENOMEM;
	}
	r = open_over(ns, &in, parent, name, path, ret_file);
	if (r == 0)
		(*ret_file)->covers = true;
	free(in.dir);
	return r;
}

/* Over a file in a pending directory. */
static int open_pending(struct ns *ns, const struct pin *p,
			struct open_file **ret_file)
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *parent = NULL;
	struct intake in = { .kind = INTAKE_OBJECT, .object = p->object };
	struct node dir;
	char *slash;
	int r = pending_path(ns, p, &path);

	if (r < 0)
		return r;
	slash = strrchr(path, '/');
	parent = slash ? strndup(path, (size_t)(slash - path)) : NULL;
	if (!parent)
		return slash ? -ENOMEM : -ESTALE;
	r = eph_lookup(ns, p->object, V_PENDING, parent, &dir);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	in.sub = parent;
	if (asprintf(&in.dir, "/\n%s", parent) < 0)
		r = -ENOMEM;
	if (r == 0)
		r = open_over(ns, &in, node_ino(dir), slash + 1, path,
			      ret_file);
	if (r == 0)
		(*ret_file)->covers = true;
	ns_forget(ns, node_ino(dir), 1); /* the kernel has it: it stays */
	free(r == -ENOMEM ? NULL : in.dir);
	return r;
}

static int refuse_committed(struct ns *ns, const struct pin *p)
{
	CLEANUP(freep) char *path = object_path(p->object);
	struct refusal f = { 0 };

	(void)refusal_set(&f, -EPERM, "mount with -o edit",
			  "what is committed is not changed");
	return path ? ns_refuse(ns, path, &f, -EPERM) : -ENOMEM;
}

static int open_for_writing(struct ns *ns, const struct pin *p,
			    struct open_file **ret_file)
{
	switch (p->node.view) {
	case V_STAGED:
	case V_DRAFT:
		return open_write(ns, p, ret_file);
	case V_PENDING:
		return open_pending(ns, p, ret_file);
	case V_SAMPLE:
		if (ns->mode != NS_EDIT)
			return refuse_committed(ns, p);
		return open_committed(ns, p, ret_file);
	default:
		break;
	}
	if (p->node.view < V_WHOLE || p->node.view >= V_NRRD)
		return -EPERM;
	return ns->mode == NS_EDIT ? open_whole(ns, p, ret_file)
				   : refuse_committed(ns, p);
}

static int open_once(struct ns *ns, uint64_t ino, int flags,
		     ns_handle *ret_handle, bool *ret_keep)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	bool writing = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	struct open_file *f;
	int r = pin_get(ns, ino, &p);

	if (r < 0)
		return r;
	*ret_keep = !ns_is_volatile(ns, ino);
	if (!writing) {
		if (p.node.view == V_STAGED || p.node.view == V_DRAFT)
			return open_read(ns, &p, ret_handle);
		*ret_handle = 0;
		return 0;
	}
	if (ns->mode == NS_RO)
		return -EROFS;
	*ret_keep = false;
	if (p.node.view == V_CONTROL)
		return p.node.index == CONTROL_COMMANDS
			       ? handle_new(ns, HANDLE_CONTROL, NULL,
					    ret_handle)
			       : -EPERM;
	r = open_for_writing(ns, &p, &f);
	if (r < 0)
		return r;
	r = handle_new(ns, HANDLE_WRITE, f, ret_handle);
	if (r == 0 && flags & O_TRUNC)
		r = ns_truncate(ns, ino, *ret_handle, 0);
	else if (r < 0)
		open_file_put(ns, f);
	return r;
}

int ns_open_file(struct ns *ns, uint64_t ino, int flags, ns_handle *ret_handle,
		 bool *ret_keep)
{
	unsigned tries = 0;
	int r;

	do
		r = open_once(ns, ino, flags, ret_handle, ret_keep);
	while (ns_again(ns, r, &tries));
	return r;
}
