/* SPDX-License-Identifier: MIT */
/* target.c - what a relative symbolic link of the mount leads to, as the path
 * that an HDF5 soft link holds.
 *
 * The reverse of what links are shown as: a component is the name that a child is
 * shown with, the last one may be any of a dataset's files. HDF5 knows no "..":
 * from there on the path is absolute. */
#include <stdio.h>

#include "objects_int.h"

struct walk {
	struct ns *ns;
	struct object *at; /* NULL: what was named is not there (yet) */
	struct strbuf path;
	const char *suffix; /* of the last component, inside target */
	struct refusal *f;
};

static void put_part(struct walk *w, const char *stored)
{
	if (w->path.len && w->path.buf[w->path.len - 1] != '/')
		strbuf_putc(&w->path, '/');
	strbuf_puts(&w->path, stored);
}

static int go_to(struct walk *w, struct object *g)
{
	CLEANUP(freep) char *path = object_path(g);

	w->at = g;
	strbuf_done(&w->path);
	if (path)
		strbuf_puts(&w->path, path);
	return path ? 0 : -ENOMEM;
}

static int go_up(struct walk *w)
{
	if (w->at && !w->at->parent)
		return refusal_set(w->f, -EPERM,
				   "link to what is inside the mount",
				   "it leads out of the file");
	if (!w->at)
		return refusal_set(w->f, -EINVAL, "write the path without ..",
				   "it goes through what is not there");
	return go_to(w, w->at->parent);
}

/* What answers without being an object. */
static bool is_made_up(const char *name)
{
	const char *dot = strrchr(name, '.');

	return *name == '.' || *name == '@' ||
	       (dot && (!strcmp(dot, ".by-class") || !strcmp(dot, ".nrrd"))) ||
	       (dot && dot > name && dot[-1] == ']' && !strcmp(dot, ".npy"));
}

static int not_an_object(struct refusal *f, const char *name)
{
	return refusal_set(
		f, -EINVAL, "link to a group, or to a file of a dataset",
		"HDF5 can link to objects only, and %s is none", name);
}

static int put_missing(struct walk *w, const char *name, const char *end)
{
	const char *dot = name_has_suffix(name) ? strrchr(name, '.') : NULL;
	size_t n = strlen(name);
	CLEANUP(freep) char *base = NULL;
	CLEANUP(freep) char *stored = NULL;

	if (is_made_up(name))
		return not_an_object(w->f, name);
	if (dot && end) {
		w->suffix = end - strlen(dot);
		n -= strlen(dot);
	}
	base = strndup(name, n);
	stored = base ? name_stored(base) : NULL;
	if (!stored)
		return -ENOMEM;
	put_part(w, stored);
	w->at = NULL;
	return 0;
}

/* end: of the target's text, when name is its last component; else NULL. */
static int go_down(struct walk *w, const char *name, const char *end)
{
	const struct child *c;
	const struct entry *e;
	const char *suffix;
	int r;

	r = w->at ? group_load(w->ns, w->at, GROUP_ENTRIES) : 0;
	if (r < 0)
		return r;
	e = w->at ? group_find(w->at->group, name) : NULL;
	if (!e)
		return put_missing(w, name, end);
	c = entry_child(w->at->group, e, &suffix);
	if (!c)
		return not_an_object(w->f, name);
	put_part(w, c->name);
	if (end) {
		w->suffix = suffix ? end - strlen(suffix) : end;
		return 0;
	}
	w->at = e->target ? e->to : e->object;
	if (!w->at || w->at->kind != OBJECT_GROUP)
		return not_an_object(w->f, name);
	return 0;
}

static int walk_target(struct walk *w, const char *target)
{
	int r = 0;

	for (const char *p = target; r == 0 && *p;) {
		size_t n = strcspn(p, "/"), slashes = strspn(p + n, "/");
		CLEANUP(freep) char *part = strndup(p, n);
		const char *end = p[n + slashes] ? NULL : p + n;

		p += n + slashes;
		if (!part)
			return -ENOMEM;
		if (!*part || !strcmp(part, "."))
			continue;
		r = strcmp(part, "..") ? go_down(w, part, end) : go_up(w);
	}
	return r;
}

static int check_relative(const char *target, struct refusal *f)
{
	if (*target != '/')
		return 0;
	return refusal_set(f, -EPERM, "make it relative: ln -s -r TARGET NAME",
			   "HDF5 can not hold a link that starts at the "
			   "machine's root");
}

int target_find(struct ns *ns, struct object *g, const char *target,
		char **ret_path, const char **ret_suffix, struct refusal *f)
{
	struct walk w = { .ns = ns,
			  .at = g,
			  .path = STRBUF_INIT,
			  .suffix = strchr(target, 0),
			  .f = f };
	int r;

	r = check_relative(target, f);
	if (r < 0)
		return r;
	r = walk_target(&w, target);
	if (r == 0 && w.path.len == 0) /* "." */
		r = go_to(&w, g);
	if (r == 0)
		r = strbuf_error(&w.path);
	if (r == 0) {
		*ret_path = strbuf_steal(&w.path);
		*ret_suffix = w.suffix;
	}
	strbuf_done(&w.path);
	return r;
}

static int check_part(const char *part, struct refusal *f)
{
	CLEANUP(freep) char *stored = name_stored(part);

	if (!stored)
		return -ENOMEM;
	if (strcmp(part, ".") && strcmp(part, "..") && is_made_up(part))
		return not_an_object(f, part);
	if (strcmp(stored, part))
		return refusal_set(f, -EINVAL,
				   "make the link when the directory has "
				   "appeared",
				   "%s is a name with escapes", part);
	return 0;
}

int target_check(const char *target, const char **ret_suffix, struct refusal *f)
{
	const char *suffix = strchr(target, 0);
	int r = check_relative(target, f);

	for (const char *p = target; r == 0 && *p;) {
		size_t n = strcspn(p, "/");
		CLEANUP(freep) char *part = strndup(p, n);

		r = part ? check_part(part, f) : -ENOMEM;
		suffix = r == 0 && name_has_suffix(part)
				 ? p + (strrchr(part, '.') - part)
				 : p + n;
		p += n + strspn(p + n, "/");
	}
	if (r == 0)
		*ret_suffix = suffix;
	return r;
}
