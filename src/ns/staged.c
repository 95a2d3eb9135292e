/* SPDX-License-Identifier: MIT */
/* staged.c - names of files that are staged, being written, or held back: found,
 * removed and moved. */
#include <stdio.h>

#include "objects_int.h"
#include "write_int.h"

/* Is there anything at all? What is asked for all the time costs nothing. */
static bool is_quiet(struct ns *ns)
{
	return !ns->write ||
	       (!__atomic_load_n(&ns->write->nfiles, __ATOMIC_ACQUIRE) &&
		stage_is_empty(ns->stage));
}

static bool is_there(struct ns *ns, const struct intake *in, const char *name)
{
	struct open_file *f = open_file_find(ns, in->dir, name);
	CLEANUP(stage_file_done) struct stage_file sf = { 0 };
	bool seen = false;

	if (f) {
		pthread_mutex_lock(&f->lock);
		seen = open_file_is_seen(f) && !f->covers;
		pthread_mutex_unlock(&f->lock);
		open_file_put(ns, f);
	}
	return seen || (in->kind == INTAKE_SAMPLE &&
			stage_find(ns->stage, in->dir, name, &sf) == 0);
}

int staged_find(struct ns *ns, const struct intake *in, const char *name,
		struct node *ret)
{
	return is_there(ns, in, name) ? intake_node(ns, in, name, ret)
				      : -ENOENT;
}

int staged_lookup(struct ns *ns, const struct pin *dir, const char *name,
		  struct node *ret)
{
	CLEANUP(intake_done) struct intake in = { 0 };
	int r = is_quiet(ns) ? -ENOENT : intake_of(ns, dir, &in);

	return r < 0 ? r : staged_find(ns, &in, name, ret);
}

/* ---- removing ---- */

/* A file that is open goes on, without a name; nothing comes of it. */
static bool drop_open(struct ns *ns, const struct intake *in, const char *name)
{
	struct open_file *f = open_file_find(ns, in->dir, name);
	bool seen;

	if (!f)
		return false;
	pthread_mutex_lock(&f->lock);
	seen = open_file_is_seen(f);
	pthread_mutex_unlock(&f->lock);
	open_file_unname(ns, f);
	open_file_put(ns, f);
	return seen;
}

int staged_unlink(struct ns *ns, const struct pin *dir, const char *name)
{
	CLEANUP(intake_done) struct intake in = { 0 };
	int r = is_quiet(ns) ? -ENOENT : intake_of(ns, dir, &in);
	bool open;

	if (r < 0)
		return r;
	open = drop_open(ns, &in, name);
	r = in.kind == INTAKE_SAMPLE ? stage_drop(ns->stage, in.dir, name)
				     : -ENOENT;
	return r == -ENOENT && open ? 0 : r;
}

/* ---- moving ---- */

struct move {
	struct ns *ns;
	struct intake from, to;
	const struct pin *to_dir;
	const char *name, *new_name;
	uint64_t from_ino, to_ino;
	char *path;	       /* of the new name, for people */
	struct node committed; /* that has the new name, */
	bool has_committed;    /* if one has */
	struct refusal f;
};

static void move_done(struct move *m)
{
	intake_done(&m->from);
	intake_done(&m->to);
	free(m->path);
	refusal_done(&m->f);
}

static int refuse_target(struct move *m)
{
	return refusal_set(&m->f, -EPERM, "mount with -o edit to replace it",
			   "a row of this name is committed already");
}

/* A file that was held back gets its name, and its verdict; one that is refused
 * keeps the name it had. */
static int rename_open(struct move *m, struct open_file *f)
{
	CLEANUP(freep) char *old_path = NULL;
	struct node replaces = m->committed;
	int r;
	LOCK_SCOPE(&f->lock);

	if (m->has_committed && m->ns->mode != NS_EDIT)
		return refuse_target(m);
	if (m->has_committed) {
		const uint8_t *bytes;

		r = draft_bytes(f->draft, SIZE_MAX, &bytes);
		if (r == 0)
			r = replace_sample(m->ns, replaces, m->new_name, bytes,
					   draft_size(f->draft), m->path,
					   &m->f);
		if (r == 0)
			open_file_unname(m->ns, f);
		return r;
	}
	old_path = TAKE(f->fault_path);
	f->fault_path = strdup(m->path);
	r = open_file_rename(m->ns, f, &m->to, m->to_ino, m->new_name);
	if (r < 0 || name_is_held(m->new_name))
		return r;
	f->judged = false;
	f->version = UINT64_MAX; /* another name, another verdict */
	r = draft_size(f->draft) ? verdict_pass(m->ns, f) : 0;
	if (r < 0) {
		f->judged = false;
		free(f->fault_path);
		f->fault_path = TAKE(old_path);
		(void)open_file_rename(m->ns, f, &m->from, m->from_ino,
				       m->name);
	} else if (!f->opens && draft_size(f->draft)) {
		if (f->holds)
			stage_release(m->ns->stage, f->row);
		f->holds = false;
		open_file_unname(m->ns, f);
	}
	return r;
}

/* Back to a draft: what an editor keeps while it saves. */
static int hold_back(struct move *m)
{
	const struct place_name pn = { .object = m->from.object,
				       .dir = m->from.dir,
				       .sub = m->from.sub,
				       .name = (char *)m->name };
	CLEANUP(blob_unrefp) struct blob *bytes = NULL;
	struct open_file *f = NULL;
	int r = staged_whole(m->ns, &pn, &bytes);

	if (r == 0)
		r = open_file_new(m->ns, &m->to, m->to_ino, m->new_name, &f);
	if (r < 0)
		return r;
	f->filled = true;
	f->fault_path = strdup(m->path);
	r = draft_write(f->draft, bytes->data, bytes->size, 0);
	if (r == 0)
		r = stage_drop(m->ns->stage, m->from.dir, m->name);
	if (r < 0)
		open_file_unname(m->ns, f);
	open_file_put(m->ns, f);
	return r;
}

/* Saved under another name first, and then moved over a committed sample. */
static int rename_over(struct move *m)
{
	CLEANUP(blob_unrefp) struct blob *row = NULL;
	int r;

	if (m->ns->mode != NS_EDIT)
		return refuse_target(m);
	r = stage_read(m->ns->stage, m->from.dir, m->name, &row);
	if (r == 0)
		r = replace_by_row(m->ns, m->committed, row->data, row->size,
				   m->path);
	return r < 0 ? r : stage_drop(m->ns->stage, m->from.dir, m->name);
}

static int rename_staged(struct move *m, const struct stage_file *sf)
{
	CLEANUP(set_putp) struct set_ref *set = NULL;
	CLEANUP(row_values_done) struct row_values v = { 0 };
	CLEANUP(freep)
	char *stem = strndup(m->new_name, stem_length(m->new_name));
	struct stage_place place = { .dir = m->to.dir,
				     .class_name = m->to.class_name,
				     .name = m->new_name,
				     .stem = stem,
				     .npy = sf->npy };
	int r;

	if (m->to.kind != INTAKE_SAMPLE || m->to.object != m->from.object)
		return -EXDEV;
	if (m->has_committed)
		return rename_over(m);
	if (name_is_held(m->new_name))
		return hold_back(m);
	r = stem ? set_get(m->ns, m->to.object, &set, &m->f) : -ENOMEM;
	if (r == 0)
		r = row_values_add(&set->d,
				   m->to.class_name ? &m->to.label : NULL,
				   m->new_name, strlen(stem), &v, &m->f);
	return r < 0 ? r
		     : stage_move(m->ns->stage, m->from.dir, m->name,
				  &set->d.set, &place, v.values, v.n, &m->f);
}

/* A committed sample to another class folder. */
static int rename_committed(struct move *m, struct node sample)
{
	int r;

	if (m->ns->mode != NS_EDIT || m->to.kind != INTAKE_SAMPLE ||
	    m->to.object != m->from.object || !m->to.class_name ||
	    strcmp(m->name, m->new_name) != 0)
		return -ENOENT;
	r = relabel_sample(m->ns, sample, &m->to.label, m->path, &m->f);
	if (r == 0)
		committed_move(m->ns, m->from.dir, m->name, m->to.dir);
	return r;
}

static int move_name(struct move *m, const struct pin *dir, unsigned flags)
{
	struct open_file *f = open_file_find(m->ns, m->from.dir, m->name);
	CLEANUP(stage_file_done) struct stage_file sf = { 0 };
	struct node sample;
	bool seen = false;
	int r;

	m->has_committed = m->to.kind == INTAKE_SAMPLE &&
			   lookup_committed(m->ns, m->to_dir, m->new_name,
					    &m->committed) == 0;
	if (flags && (m->has_committed || is_there(m->ns, &m->to, m->new_name)))
		r = -EEXIST;
	else
		r = 0;
	if (f) {
		pthread_mutex_lock(&f->lock);
		seen = open_file_is_seen(f);
		pthread_mutex_unlock(&f->lock);
		if (seen && r == 0)
			r = rename_open(m, f);
		open_file_put(m->ns, f);
	}
	if (seen || r < 0)
		return r;
	if (m->from.kind != INTAKE_SAMPLE)
		return -ENOENT;
	r = stage_find(m->ns->stage, m->from.dir, m->name, &sf);
	if (r == 0)
		return rename_staged(m, &sf);
	r = lookup_committed(m->ns, dir, m->name, &sample);
	return r < 0 ? r : rename_committed(m, sample);
}

int staged_rename(struct ns *ns, const struct pin *dir, const char *name,
		  const struct pin *to, const char *new_name, unsigned flags)
{
	CLEANUP(move_done)
	struct move m = { .ns = ns,
			  .to_dir = to,
			  .name = name,
			  .new_name = new_name,
			  .from_ino = node_ino(dir->node),
			  .to_ino = node_ino(to->node) };
	int r;

	if (!ns->write)
		return -ENOENT;
	r = intake_of(ns, dir, &m.from);
	if (r == 0)
		r = intake_of(ns, to, &m.to);
	if (r == 0)
		r = dir_path(ns, to, new_name, &m.path);
	if (r == 0)
		r = move_name(&m, dir, flags);
	return r < 0 && m.f.reason ? ns_refuse(ns, m.path, &m.f, r) : r;
}
