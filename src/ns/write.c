/* SPDX-License-Identifier: MIT */
/* write.c - open files: what is written to them is collected, and judged when they
 * are closed (flush). */
#include <fcntl.h>
#include <stdio.h>

#include "objects_int.h"
#include "write_int.h"

enum handle_kind { HANDLE_WRITE, HANDLE_READ, HANDLE_CONTROL };
struct handle {
	enum handle_kind kind;
	struct open_file *file; /* WRITE; READ of what is being written */
	struct blob *bytes;	/* READ: what it was when it was opened */
	bool holds;		/* READ: the row */
	uint64_t row;
};

/* ---- the table ---- */

int write_side_open(struct ns *ns)
{
	struct write_side *w = calloc(1, sizeof(*w));
	int r = w ? committed_new(&w->committed) : -ENOMEM;

	if (r < 0) {
		free(w);
		return r;
	}
	pthread_mutex_init(&w->lock, NULL);
	ns->write = w;
	return 0;
}

static void handle_free(struct ns *ns, struct handle *h)
{
	if (!h)
		return;
	if (h->holds)
		stage_release(ns->stage, h->row);
	blob_unref(h->bytes);
	free(h);
}

static void drop_files(struct ns *ns)
{
	struct write_side *w = ns->write;

	for (size_t i = 0; i < HANDLE_CHAINS; i++)
		while (w->chains[i]) {
			struct open_file *f = w->chains[i];

			f->refs = 1;
			f->named = false;
			open_file_put(ns, f);
		}
}

void write_side_close(struct ns *ns)
{
	struct write_side *w = ns->write;

	if (!w)
		return;
	for (uint32_t i = 0; i < w->nhandles; i++)
		handle_free(ns, w->handles[i]);
	drop_files(ns);
	sets_forget(ns);
	for (size_t i = 0; i < w->nclasses; i++) {
		free(w->classes[i].object);
		free(w->classes[i].key);
	}
	class_tables_free(w->tables);
	for (size_t i = 0; i < w->nchecked; i++)
		free(w->checked[i]);
	free(w->checked);
	free(w->names_path);
	blob_unref(w->names_order);
	free(w->classes);
	free(w->handles);
	committed_free(w->committed);
	pthread_mutex_destroy(&w->lock);
	free(w);
	ns->write = NULL;
}

/* Under the lock. */
static int take_slot(struct write_side *w, uint32_t *ret_slot)
{
	struct handle **grown;

	for (uint32_t i = 0; i < w->nhandles; i++)
		if (!w->handles[i]) {
			*ret_slot = i;
			return 0;
		}
	grown = realloc(w->handles,
			(2 * (size_t)w->nhandles + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + w->nhandles, 0, (w->nhandles + 1) * sizeof(*grown));
	w->handles = grown;
	*ret_slot = w->nhandles;
	w->nhandles = 2 * w->nhandles + 1;
	return 0;
}

static int handle_add(struct ns *ns, struct handle *h, ns_handle *ret)
{
	struct write_side *w = ns->write;
	uint32_t slot;
	int r;
	LOCK_SCOPE(&w->lock);

	r = take_slot(w, &slot);
	if (r < 0)
		return r;
	w->handles[slot] = h;
	*ret = slot + 1;
	return 0;
}

/* Stays until ns_release(), which comes after all else. */
static struct handle *handle_of(struct ns *ns, ns_handle h)
{
	struct write_side *w = ns->write;

	if (!w || !h)
		return NULL;
	LOCK_SCOPE(&w->lock);
	return h <= w->nhandles ? w->handles[h - 1] : NULL;
}

static int handle_new(struct ns *ns, enum handle_kind kind,
		      struct open_file *file, ns_handle *ret)
{
	struct handle *h = calloc(1, sizeof(*h));
	int r = -ENOMEM;

	if (h) {
		h->kind = kind;
		h->file = file;
		r = handle_add(ns, h, ret);
	}
	if (r == 0 && file)
		__atomic_fetch_add(&file->opens, 1, __ATOMIC_ACQ_REL);
	if (r < 0)
		free(h);
	return r;
}

/* ---- making a file ---- */

static int refuse_here(const struct pin *dir, struct refusal *f)
{
	if (dir->node.view == V_BYCLASS)
		return refusal_set(f, -EPERM,
				   "copy it into one of the class folders",
				   "it would have no class here");
	if (dir->node.view >= V_SUB ||
	    (dir->node.view == V_CLASS && dir->object->kind == OBJECT_GROUP))
		return refusal_set(f, -EOPNOTSUPP, "add to it with h5py",
				   "nothing can be added to this directory");
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

/* ---- opening ---- */

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
	struct write_side *w = ns->write;
	struct handle *at = NULL;

	if (!w || !h)
		return;
	pthread_mutex_lock(&w->lock);
	if (h <= w->nhandles)
		at = TAKE(w->handles[h - 1]);
	pthread_mutex_unlock(&w->lock);
	if (!at)
		return;
	if (at->file)
		close_file(ns, at->file);
	handle_free(ns, at);
}
