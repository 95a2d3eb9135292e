/* SPDX-License-Identifier: MIT */
/* object_edit.c - objects are removed and moved, with -o edit. All entries that
 * an object is shown by go with it. */
#include <stdio.h>

#include "objects_int.h"

/* An entry with what has to be known to change what it stands for. */
struct subject {
	const struct entry *entry;
	const struct child *child;
	const char *suffix; /* in entry->name; NULL: it was made unique */
	char *path;	    /* in HDF5 */
};

static void subject_done(struct subject *s)
{
	free(s->path);
}

static int refuse_committed(struct refusal *f)
{
	return refusal_set(f, -EPERM, "mount with -o edit",
			   "what is committed is not changed");
}

/* Names that answer without being listed can not be changed. */
static int find_subject(struct ns *ns, const struct pin *dir, const char *name,
			struct subject *s, struct refusal *f)
{
	struct object *g = dir->object;
	int r = group_load(ns, g, GROUP_ENTRIES);

	if (r < 0)
		return r;
	s->entry = group_find(g->group, name);
	if (!s->entry)
		s->entry = group_find_dangling(g->group, name);
	if (!s->entry) {
		struct ns_entry e;

		r = ns_lookup(ns, node_ino(dir->node), name, &e);
		if (r < 0)
			return r;
		ns_forget(ns, e.ino, 1);
		return refusal_set(f, -EPERM,
				   "change the object that it comes from",
				   "the name answers, and is no object");
	}
	if (ns->mode != NS_EDIT)
		return refuse_committed(f);
	r = group_is_ours(g, f);
	if (r < 0)
		return r;
	s->child = entry_child(g->group, s->entry, &s->suffix);
	if (strcmp(s->entry->name, name))
		s->suffix = strrchr(name, '.');
	if (!s->child)
		return refusal_set(f, -EPERM,
				   "use h5py: two objects are shown alike",
				   "what it stands for can not be told");
	s->path = child_path(g, s->child->name);
	return s->path ? 0 : -ENOMEM;
}

/* Rows that are staged know their datasets by path. */
static int check_staged(struct ns *ns, const struct child *c, struct refusal *f)
{
	CLEANUP(set_desc_done) struct set_desc d = { 0 };
	CLEANUP(refusal_done) struct refusal none = { 0 };
	struct stage_names keys = { 0 };
	int r;

	if (stage_is_empty(ns->stage) || c->kind != CHILD_OBJECT ||
	    c->object->kind != OBJECT_DATASET)
		return 0;
	r = set_desc_of(ns, c->object, &d, &none);
	if (r < 0) /* takes no rows: has none */
		return is_damage(r) ? 0 : r;
	r = stage_sets(ns->stage, &keys);
	for (size_t i = 0; r == 0 && i < keys.count; i++)
		if (!strcmp(keys.names[i], d.set.key))
			r = refusal_set(f, -EBUSY,
					"commit them first (h5fs commit), or "
					"discard them",
					"rows are staged for it");
	stage_names_done(&keys);
	return r;
}

static bool is_group(const struct child *c)
{
	return c->kind == CHILD_OBJECT && c->object->kind == OBJECT_GROUP;
}

/* Rows and pending directories below a group know it by its path. */
static int check_staged_below(struct ns *ns, const struct pin *dir,
			      const struct subject *s, struct refusal *f)
{
	CLEANUP(freep) char *shown = NULL;
	struct stage_names keys = { 0 };
	size_t n = strlen(s->path);
	int r;

	if (stage_is_empty(ns->stage))
		return 0;
	r = dir_path(ns, dir, s->entry->name, &shown);
	if (r == 0 && tree_is_below(ns->stage, shown))
		r = refusal_set(f, -EBUSY, "let it appear, or remove it, first",
				"something is being put together below it");
	if (r == 0)
		r = stage_sets(ns->stage, &keys);
	for (size_t i = 0; r == 0 && i < keys.count; i++)
		if (!strncmp(keys.names[i], s->path, n) &&
		    keys.names[i][n] == '/')
			r = refusal_set(f, -EBUSY,
					"commit them first (h5fs commit), or "
					"discard them",
					"rows are staged below it");
	stage_names_done(&keys);
	return r;
}

/* A transaction after which the object is not where it was. */
static int transact_gone(struct ns *ns, const struct subject *s,
			 int (*act)(void *arg, struct writer *w,
				    struct refusal *f),
			 void *arg)
{
	struct object *o =
		s->child->kind == CHILD_OBJECT ? s->child->object : NULL;
	int r;

	if (o)
		object_gone(ns, o, true);
	r = ns_transact(ns, s->path, act, arg);
	if (r < 0 && o)
		object_gone(ns, o, false);
	return r;
}

/* ---- removing ---- */

static int check_removal(struct ns *ns, const struct pin *dir,
			 const struct subject *s, struct refusal *f)
{
	int r;

	if (!is_group(s->child))
		return check_staged(ns, s->child, f);
	/* of another file: the link goes, and nothing is changed there */
	if (s->child->object->info.id.file != 0)
		return 0;
	r = group_load(ns, s->child->object, GROUP_LINKS);
	if (r == 0 && s->child->object->group->nchildren)
		r = -ENOTEMPTY;
	return r < 0 ? r : check_staged_below(ns, dir, s, f);
}

static int act_unlink(void *arg, struct writer *w, struct refusal *f)
{
	(void)f;
	return writer_unlink(w, arg);
}

int object_remove(struct ns *ns, const struct pin *dir, const char *name,
		  bool is_dir, struct refusal *f)
{
	CLEANUP(subject_done) struct subject s = { 0 };
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	uint64_t ino = node_ino(dir->node);
	int r = find_subject(ns, dir, name, &s, f);

	if (s.entry && is_dir != entry_is_dir(s.entry))
		return is_dir ? -ENOTDIR : -EISDIR;
	if (r == 0)
		r = check_removal(ns, dir, &s, f);
	if (r < 0)
		return r;
	shown_names(dir->object->group, s.child->name, &names);
	r = transact_gone(ns, &s, act_unlink, s.path);
	if (r == 0)
		tell_names(ns, ino, &names);
	return r;
}

/* ---- moving ---- */

struct move {
	const char *from, *to;
};

static int act_move(void *arg, struct writer *w, struct refusal *f)
{
	const struct move *m = arg;

	(void)f;
	return writer_move(w, m->from, m->to);
}

static bool is_below(const struct object *o, const struct object *g)
{
	for (; o; o = o->parent)
		if (o == g)
			return true;
	return false;
}

static int new_place(struct ns *ns, const struct subject *s,
		     const struct pin *to, const char *new_name,
		     char **ret_path, struct refusal *f)
{
	size_t n = strlen(new_name), k = s->suffix ? strlen(s->suffix) : 0;
	bool plain = k || (s->child->kind == CHILD_OBJECT &&
			   s->child->object->kind == OBJECT_DATASET);
	int r;

	if (!s->suffix || n <= k || strcmp(new_name + n - k, s->suffix))
		return refusal_set(f, -EINVAL, "keep the suffix",
				   "the suffix says what is shown of the "
				   "dataset, it can not be another one");
	if (name_is_pending(new_name))
		return refusal_set(f, -EINVAL, "choose another name",
				   "names in .part are for what is being put "
				   "together");
	if (is_group(s->child) && is_below(to->object, s->child->object))
		return -EINVAL;
	r = group_load(ns, to->object, GROUP_ENTRIES);
	return r < 0 ? r
		     : object_place(to->object, new_name, new_name + n - k,
				    plain ? NAME_PLAIN : NAME_GROUP, ret_path,
				    f);
}

int object_rename(struct ns *ns, const struct pin *dir, const char *name,
		  const struct pin *to, const char *new_name, struct refusal *f)
{
	CLEANUP(subject_done) struct subject s = { 0 };
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	CLEANUP(freep) char *new_path = NULL;
	uint64_t from_ino = node_ino(dir->node), to_ino = node_ino(to->node);
	int r = find_subject(ns, dir, name, &s, f);

	if (r < 0 || (dir->object == to->object && !strcmp(name, new_name)))
		return r;
	if (group_is_ours(to->object, f) < 0)
		return -EXDEV;
	r = new_place(ns, &s, to, new_name, &new_path, f);
	if (r == 0)
		r = check_staged(ns, s.child, f);
	if (r == 0 && is_group(s.child))
		r = check_staged_below(ns, dir, &s, f);
	if (r < 0)
		return r;
	shown_names(dir->object->group, s.child->name, &names);
	r = transact_gone(ns, &s, act_move, &(struct move){ s.path, new_path });
	if (r < 0)
		return r;
	if (s.child->kind == CHILD_OBJECT)
		object_moved(ns, s.child->object, to_ino,
			     strrchr(new_path, '/') + 1);
	/* the kernel has moved what it knew by the old path */
	ns_changed_name(ns, to_ino, new_name);
	tell_names(ns, from_ino, &names);
	return 0;
}
