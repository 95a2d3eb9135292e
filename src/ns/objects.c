/* SPDX-License-Identifier: MIT */
/* objects.c - what is made in a group: groups, soft links, datasets from files.
 * Each is one transaction, done when the call returns. */
#include <stdio.h>

#include "objects_int.h"

static int load_group(struct ns *ns, const struct pin *dir)
{
	return group_load(ns, dir->object, GROUP_ENTRIES);
}

static int act_group(void *arg, struct writer *w, struct refusal *f)
{
	(void)f;
	return writer_create_group(w, arg);
}

int object_mkdir(struct ns *ns, const struct pin *dir, const char *name,
		 struct refusal *f)
{
	CLEANUP(freep) char *path = NULL;
	int r = load_group(ns, dir);

	if (r == 0)
		r = object_place(dir->object, name, "", NAME_GROUP, &path, f);
	return r < 0 ? r : ns_transact(ns, path, act_group, path);
}

/* ---- soft links ---- */

struct new_link {
	const char *path, *target;
};

static int act_link(void *arg, struct writer *w, struct refusal *f)
{
	const struct new_link *l = arg;

	(void)f;
	return writer_create_link(w, l->path, l->target);
}

/* A link to nothing is shown without. */
int link_suffix(const char *name, const char *target_suffix,
		const char **ret_suffix, struct refusal *f)
{
	size_t n = strlen(name), k = strlen(target_suffix);

	if (n > k && !strcmp(name + n - k, target_suffix)) {
		*ret_suffix = name + n - k;
		return 0;
	}
	return refusal_set(f, -EINVAL, "give the link the suffix of its target",
			   "a link to a dataset is shown for each of its "
			   "files, with their suffixes; this name has not the "
			   "suffix %s",
			   target_suffix);
}

int object_symlink(struct ns *ns, const struct pin *dir, const char *name,
		   const char *target, struct refusal *f)
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *to = NULL;
	CLEANUP(freep) char *trimmed = strdup(target);
	const char *target_suffix, *suffix;
	struct new_link l;
	int r = trimmed ? load_group(ns, dir) : -ENOMEM;

	for (size_t n = r == 0 ? strlen(trimmed) : 0;
	     n > 1 && trimmed[n - 1] == '/';)
		trimmed[--n] = 0;
	if (r == 0)
		r = target_find(ns, dir->object, trimmed, &to, &target_suffix,
				f);
	if (r == 0)
		r = link_suffix(name, target_suffix, &suffix, f);
	if (r == 0)
		r = object_place(dir->object, name, suffix,
				 *suffix ? NAME_PLAIN : NAME_GROUP, &path, f);
	if (r < 0)
		return r;
	l = (struct new_link){ path, to };
	return ns_transact(ns, path, act_link, &l);
}

/* ---- datasets ---- */

struct new_dataset {
	const char *path;
	const struct accepted_dataset *dataset;
	const uint8_t *bytes;
};

static int act_dataset(void *arg, struct writer *w, struct refusal *f)
{
	const struct new_dataset *n = arg;

	(void)f;
	return stage_write_dataset(w, n->path, n->dataset, n->bytes);
}

static int make_dataset(struct ns *ns, const struct pin *dir, const char *name,
			const char *suffix, const uint8_t *bytes, uint64_t size,
			struct refusal *f)
{
	struct accepted_dataset a = { 0 };
	uint64_t ino = node_ino(dir->node);
	CLEANUP(freep) char *path = NULL;
	int r = object_place(dir->object, name, suffix, NAME_PLAIN, &path, f);

	if (r == 0)
		r = accept_dataset(name, bytes, size, &a, f);
	if (r == 0) {
		struct new_dataset n = { path, &a, bytes };

		r = ns_transact(ns, path, act_dataset, &n);
		accepted_dataset_done(&a);
	}
	if (r == 0) {
		ns_changed_name(ns, ino, name);
		ns_tell(ns);
	}
	return r;
}

/* A dataset of the group that a file of this name is for. */
static struct object *dataset_of(struct object *g, const char *name,
				 const char *suffix)
{
	CLEANUP(freep) char *base = strndup(name, (size_t)(suffix - name));
	const struct child *c = base ? group_child_shown(g->group, base) : NULL;

	return c && c->kind == CHILD_OBJECT && c->object->kind == OBJECT_DATASET
		       ? c->object
		       : NULL;
}

static int verdict_in_group(struct ns *ns, const struct pin *dir,
			    const char *name, struct draft *draft,
			    struct refusal *f)
{
	const char *suffix = dataset_suffix(name);
	const uint8_t *bytes;
	struct object *o;
	int r = load_group(ns, dir);

	if (r < 0)
		return r;
	if (!suffix && group_find(dir->object->group, name))
		return refusal_set(f, -EPERM, "save the .npy instead",
				   "this is made from the dataset, and can not "
				   "be turned back");
	if (!suffix)
		return refusal_set(
			f, -EINVAL,
			"copy a .npy file or an image; samples go into the "
			"directory of their dataset",
			"a file in a group becomes a dataset, and its name "
			"ends neither in .npy nor as an image's");
	o = dataset_of(dir->object, name, suffix);
	if (o && ns->mode != NS_EDIT)
		return refusal_set(f, -EPERM, "mount with -o edit",
				   "the dataset is there already, and what is "
				   "committed is not changed");
	if (o)
		return object_replace(ns, o, name, draft, f);
	r = draft_bytes(draft, UINT64_MAX, &bytes);
	return r < 0 ? r
		     : make_dataset(ns, dir, name, suffix, bytes,
				    draft_size(draft), f);
}

int object_verdict(struct ns *ns, uint64_t dir_ino, const char *name,
		   struct draft *draft, struct refusal *f)
{
	CLEANUP(pin_done) struct pin dir = { 0 };
	const uint8_t *bytes;
	int r = pin_get(ns, dir_ino, &dir);

	if (r < 0)
		return r;
	switch (dir_kind(&dir)) {
	case DIR_PENDING:
		r = draft_bytes(draft, UINT64_MAX, &bytes);
		return r < 0 ? r
			     : pending_put(ns, &dir, name, bytes,
					   draft_size(draft), f);
	case DIR_GROUP:
		if (ns->opts.view == NS_TREE)
			return verdict_in_group(ns, &dir, name, draft, f);
		break;
	case DIR_SAMPLES:
	case DIR_OTHER:
		break;
	}
	return refusal_set(f, -EPERM,
			   "copy images into a class folder, or mount without "
			   "view=classes",
			   "no datasets can be made here");
}
