/* SPDX-License-Identifier: MIT */
/* place.c - names that are to appear in a group: what is stored so that they are
 * shown, and which child stands behind one that is. */
#include <stdio.h>

#include "objects_int.h"
#include "write_int.h"

enum dir_kind dir_kind(const struct pin *dir)
{
	switch (dir->node.view) {
	case V_PENDING:
		return DIR_PENDING;
	case V_DIR:
		return dir->object->kind == OBJECT_GROUP ? DIR_GROUP
							 : DIR_SAMPLES;
	case V_BYCLASS:
	case V_CLASS:
	case V_NEWCLASS:
		return DIR_SAMPLES;
	default:
		return dir->node.view >= V_SUB ? DIR_SAMPLES : DIR_OTHER;
	}
}

bool name_is_pending(const char *name)
{
	size_t n = strlen(name), k = strlen(".part");

	return n > k && !strcmp(name + n - k, ".part");
}

/* Of a class folder, what follows the dataset's name. */
static int put_class(struct ns *ns, const struct pin *dir, struct strbuf *path)
{
	CLEANUP(intake_done) struct intake in = { 0 };
	int r;

	if (dir->node.view == V_BYCLASS)
		strbuf_puts(path, ".by-class");
	if (dir->node.view != V_CLASS && dir->node.view != V_NEWCLASS)
		return strbuf_error(path);
	r = intake_of(ns, dir, &in);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	strbuf_printf(path, ".by-class/%s", in.class_name);
	return strbuf_error(path);
}

int dir_path(struct ns *ns, const struct pin *dir, const char *name,
	     char **ret_path)
{
	struct strbuf path = STRBUF_INIT;
	CLEANUP(freep) char *pending = NULL;
	const struct object *o = dir->object;
	int r = 0;

	if (dir->node.view == V_PENDING)
		r = pending_path(ns, dir, &pending);
	else
		r = relative_path(dir->gen->root,
				  o->kind == OBJECT_GROUP ? o : o->parent,
				  &path);
	if (r == 0 && o->kind != OBJECT_GROUP)
		strbuf_printf(&path, "%s%s", path.len ? "/" : "", o->name);
	if (r == 0)
		r = put_class(ns, dir, &path);
	if (r == 0 &&
	    asprintf(ret_path, "%s%s%s/%s", pending ? pending : "",
		     path.len ? "/" : "", path.len ? path.buf : "", name) < 0)
		r = -ENOMEM;
	strbuf_done(&path);
	return r;
}

char *child_path(const struct object *g, const char *stored)
{
	CLEANUP(freep) char *group = object_path(g);
	char *path;

	if (!group ||
	    asprintf(&path, "%s/%s", group[1] ? group : "", stored) < 0)
		return NULL;
	return path;
}

int group_is_ours(const struct object *g, struct refusal *f)
{
	const char *remedy = "mount the file that it lies in";

	for (; g; g = g->parent)
		if (g->info.id.file != 0)
			return refusal_set(f, -EROFS, remedy,
					   "%s lies in another file, to which "
					   "a link leads",
					   g->name);
	return 0;
}

int stored_name(const char *shown, const char *suffix, enum name_kind kind,
		char **ret_stored, struct refusal *f)
{
	CLEANUP(freep)
	char *base = strndup(shown, strlen(shown) - strlen(suffix));
	CLEANUP(freep) char *stored = base ? name_stored(base) : NULL;
	CLEANUP(freep) char *back = NULL;
	bool cut;

	if (!stored)
		return -ENOMEM;
	if (*shown == '.')
		return refusal_set(f, -EPERM,
				   "choose a name without a dot in front",
				   "names with a dot in front are not kept in "
				   "the file");
	back = name_shown(stored, suffix, kind, &cut);
	if (!back)
		return -ENOMEM;
	if (!*stored || !strcmp(stored, ".") || !strcmp(stored, "..") ||
	    strchr(stored, '/'))
		return refusal_set(f, -EINVAL, "choose another name",
				   "HDF5 has no name like that");
	if (cut || strcmp(back, shown))
		return refusal_set(f, -EINVAL, "choose another name",
				   "it would be shown as %s", back);
	*ret_stored = TAKE(stored);
	return 0;
}

int object_place(struct object *g, const char *shown, const char *suffix,
		 enum name_kind kind, char **ret_path, struct refusal *f)
{
	CLEANUP(freep) char *stored = NULL;
	int r = group_is_ours(g, f);

	if (r == 0)
		r = stored_name(shown, suffix, kind, &stored, f);
	if (r < 0)
		return r;
	if (group_find(g->group, shown))
		return -EEXIST;
	if (group_child(g->group, stored))
		return refusal_set(f, -EEXIST, "choose another name",
				   "there is an object %s in the group, which "
				   "is shown by other names",
				   stored);
	*ret_path = child_path(g, stored);
	return *ret_path ? 0 : -ENOMEM;
}

const char *dataset_suffix(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name &&
			       (!strcmp(dot, ".npy") ||
				layout_has_image_suffix(name))
		       ? dot
		       : NULL;
}

static bool stands_for(const struct entry *e, const struct child *c)
{
	return c &&
	       (e->target ? c->kind != CHILD_OBJECT
			  : c->kind == CHILD_OBJECT && c->object == e->object);
}

const struct child *entry_child(const struct group *grp, const struct entry *e,
				const char **ret_suffix)
{
	const char *dot =
		name_has_suffix(e->name) ? strrchr(e->name, '.') : NULL;
	CLEANUP(freep)
	char *base = dot ? strndup(e->name, (size_t)(dot - e->name)) : NULL;
	const struct child *c = base ? group_child_shown(grp, base) : NULL;

	*ret_suffix = dot;
	if (stands_for(e, c))
		return c;
	*ret_suffix = strchr(e->name, 0);
	c = group_child_shown(grp, e->name);
	if (stands_for(e, c))
		return c;
	*ret_suffix = NULL;
	return e->target ? NULL : group_child(grp, e->object->name);
}

bool entry_is_dir(const struct entry *e)
{
	return !e->target &&
	       (e->view == V_DIR || e->view == V_CLASS || e->view == V_BYCLASS);
}

void shown_names(const struct group *grp, const char *stored,
		 struct strbuf *out)
{
	for (size_t i = 0; i < grp->nentries; i++) {
		const struct entry *e = &grp->entries[i];
		const char *suffix;
		const struct child *c = entry_child(grp, e, &suffix);

		if (c && !strcmp(c->name, stored))
			strbuf_put(out, e->name, strlen(e->name) + 1);
	}
}

void tell_names(struct ns *ns, uint64_t dir, const struct strbuf *names)
{
	for (size_t i = 0; i < names->len; i += strlen(names->buf + i) + 1)
		ns_changed_name(ns, dir, names->buf + i);
	ns_tell(ns);
}
