/* SPDX-License-Identifier: MIT */
/* new_class.c - folders of classes that mkdir made. Where names of classes are
 * declared another one is; else the folder is a promise until a row has the
 * class. */
#include <inttypes.h>
#include <stdio.h>

#include "objects_int.h"
#include "write_int.h"

/* ---- which are there ---- */

static bool is_kept(struct write_side *w, const char *object, const char *key)
{
	LOCK_SCOPE(&w->lock);

	for (size_t i = 0; i < w->nclasses; i++)
		if (!strcmp(w->classes[i].key, key) &&
		    !strcmp(w->classes[i].object, object))
			return true;
	return false;
}

int new_class_add(struct ns *ns, const struct object *o, const char *key)
{
	struct write_side *w = ns->write;
	CLEANUP(freep) char *object = object_path(o);
	CLEANUP(freep) char *copy = strdup(key);
	struct new_class *grown;

	if (!object || !copy)
		return -ENOMEM;
	if (is_kept(w, object, key))
		return -EEXIST;
	LOCK_SCOPE(&w->lock);
	grown = realloc(w->classes, (w->nclasses + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	w->classes = grown;
	w->classes[w->nclasses++] =
		(struct new_class){ TAKE(object), TAKE(copy) };
	return 0;
}

static int new_class_remove(struct ns *ns, const struct object *o,
			    const char *key)
{
	struct write_side *w = ns->write;
	CLEANUP(freep) char *object = object_path(o);

	if (!object)
		return -ENOMEM;
	LOCK_SCOPE(&w->lock);
	for (size_t i = 0; i < w->nclasses; i++) {
		struct new_class *c = &w->classes[i];

		if (strcmp(c->key, key) != 0 || strcmp(c->object, object) != 0)
			continue;
		free(c->key);
		free(c->object);
		*c = w->classes[--w->nclasses];
		return 0;
	}
	return -ENOENT;
}

/* Files that were staged in it before this mount show it too. */
static bool has_files(struct ns *ns, const char *object, const char *key)
{
	struct stage_names names = { 0 };
	CLEANUP(freep) char *dir = NULL;
	bool found;

	if (stage_is_empty(ns->stage) ||
	    asprintf(&dir, "%s\n%s", object, key) < 0)
		return false;
	found = stage_list(ns->stage, dir, NULL, 1, &names) == 0 && names.count;
	stage_names_done(&names);
	return found;
}

/* The label that a folder's name stands for: a text, or a plain number. */
static int key_of_name(struct ns *ns, struct object *o, const char *name,
		       char **ret_key)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	char *key = NULL;
	int r = label_open(ns, o, &d);

	if (r < 0)
		return r;
	if (label_is_text(dset_info(d)->type)) {
		key = name_stored(name);
	} else {
		if (!text_is_integer(name) || strlen(name) > 18)
			return -EINVAL;
		if (asprintf(&key, "%lld", strtoll(name, NULL, 10)) < 0)
			key = NULL;
	}
	*ret_key = key;
	return key ? 0 : -ENOMEM;
}

int new_class_lookup(struct ns *ns, struct object *o, const char *name,
		     struct node *ret)
{
	CLEANUP(freep) char *object = NULL;
	CLEANUP(freep) char *key = NULL;
	struct ephemeral make = { 0 };

	if (!ns->write || o->kind != OBJECT_DATASET || !o->labelled)
		return -ENOENT;
	object = object_path(o);
	if (!object)
		return -ENOMEM;
	if (key_of_name(ns, o, name, &key) < 0)
		return -ENOENT;
	if (!is_kept(ns->write, object, key) && !has_files(ns, object, key))
		return -ENOENT;
	return eph_get(ns, o, V_NEWCLASS, key, &make, ret);
}

/* Has it got a folder of its own meanwhile? */
static bool has_folder(const struct classes *c, const char *key)
{
	for (uint32_t i = 0; i < c->shown; i++) {
		const struct class_folder *f = &c->folders[c->order[i]];

		if (c->text ? !strcmp(f->label, key)
			    : f->number == strtoll(key, NULL, 10))
			return true;
	}
	return false;
}

bool new_class_at(struct ns *ns, const struct object *o,
		  const struct classes *c, size_t i, char **ret_key)
{
	struct write_side *w = ns->write;
	CLEANUP(freep) char *object = w && w->nclasses ? object_path(o) : NULL;
	size_t at = 0;

	if (!object)
		return false;
	LOCK_SCOPE(&w->lock);
	for (size_t k = 0; k < w->nclasses; k++) {
		if (strcmp(w->classes[k].object, object) != 0 ||
		    has_folder(c, w->classes[k].key) || at++ != i)
			continue;
		*ret_key = name_escape_slash(w->classes[k].key);
		return *ret_key != NULL;
	}
	return false;
}

/* ---- mkdir and rmdir ---- */

struct object *class_set_of(struct ns *ns, const struct pin *dir)
{
	struct object *o = dir->object;

	if (dir->node.view == V_BYCLASS)
		return o->kind == OBJECT_DATASET ? o : NULL;
	if (dir->node.view != V_DIR || o->kind != OBJECT_GROUP ||
	    ns->opts.view != NS_CLASSES || group_load(ns, o, GROUP_ENTRIES) < 0)
		return NULL;
	for (size_t i = 0; i < o->group->nentries; i++)
		if (o->group->entries[i].view == V_CLASS)
			return o->group->entries[i].object->kind ==
					       OBJECT_DATASET
				       ? o->group->entries[i].object
				       : NULL;
	return NULL;
}

/* With classes=both a folder is called NUMBER_NAME, with numbers NUMBER. */
static int declared_name(struct ns *ns, const char *name, uint32_t number,
			 const char **ret_name, struct refusal *f)
{
	CLEANUP(freep) char *remedy = NULL;
	char *end;

	*ret_name = name;
	if (ns->opts.classes == NS_CLASS_NAMES)
		return 0;
	if (*name >= '0' && *name <= '9' &&
	    strtoull(name, &end, 10) == number) {
		if (ns->opts.classes == NS_CLASS_NUMBERS && !*end)
			return 0;
		if (ns->opts.classes == NS_CLASS_BOTH && *end == '_' &&
		    end[1]) {
			*ret_name = end + 1;
			return 0;
		}
	}
	if (asprintf(&remedy, "call it %" PRIu32 "%s", number,
		     ns->opts.classes == NS_CLASS_BOTH ? "_NAME" : "") < 0)
		return -ENOMEM;
	return refusal_set(f, -EINVAL, remedy,
			   "a new class folder is called by the next number");
}

static int check_label(const struct dataset_info *in, const char *key,
		       struct refusal *f)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	bool text = label_is_text(in->type);
	const struct class_label label = {
		.text = text,
		.number = text ? 0 : strtoll(key, NULL, 10),
		.name = (char *)key,
	};

	return label_value(in, &label, &b, f);
}

static int make_promise(struct ns *ns, struct object *o,
			const struct dataset_info *in, const char *name,
			struct refusal *f)
{
	CLEANUP(freep) char *key = NULL;
	int r = key_of_name(ns, o, name, &key);

	if (r == -EINVAL)
		return refusal_set(f, r, "call it by a number",
				   "its classes have no names, so their "
				   "folders are numbers");
	if (r == 0)
		r = check_label(in, key, f);
	return r < 0 ? r : new_class_add(ns, o, key);
}

static int check_fixed(const struct dataset_info *in, struct refusal *f)
{
	if (in->type->class == DT_ENUM)
		return refusal_set(
			f, -EOPNOTSUPP,
			"make a dataset with a larger enum with h5py",
			"its labels are an enum, whose members are "
			"part of their type");
	if (in->type->class == DT_BOOL)
		return refusal_set(f, -EOPNOTSUPP, "make labels of integers",
				   "its labels are true or false");
	return 0;
}

static int make_class(struct ns *ns, struct object *o, const char *name,
		      const char *path, struct refusal *f)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	const struct class_names *names;
	const struct dataset_info *in;
	const struct classes *c;
	char number[24];
	STATE_REF(ref, ns);
	uint32_t ci;
	int r = state_get(ns, o, &ref.st);

	if (r == 0)
		r = labels_classes(ns, ref.st, &c);
	if (r == 0 && classes_find(c, name, &ci))
		r = -EEXIST;
	if (r == 0)
		r = label_open(ns, o, &d);
	if (r < 0)
		return r;
	in = dset_info(d);
	r = check_fixed(in, f);
	if (r == 0)
		r = class_names_get(ref.st, o, d, &names);
	if (r < 0)
		return r;
	if (label_is_text(in->type) || !names->count)
		return make_promise(ns, o, in, name, f);
	snprintf(number, sizeof(number), "%" PRIu32, names->count);
	r = declared_name(ns, name, names->count, &name, f);
	if (r == 0)
		r = check_label(in, number, f);
	return r < 0 ? r : class_extend(ns, o, name, path, f);
}

int class_mkdir(struct ns *ns, const struct pin *dir, const char *name)
{
	struct object *o = class_set_of(ns, dir);
	CLEANUP(freep) char *path = NULL;
	struct refusal f = { 0 };
	int r;

	if (!o)
		return -ENOENT;
	r = name[0] == '.' ? -EPERM : dir_path(ns, dir, name, &path);
	if (r < 0)
		return r;
	r = make_class(ns, o, name, path, &f);
	return ns_refuse(ns, path, &f, r);
}

int class_rmdir(struct ns *ns, const struct pin *dir, const char *name)
{
	struct object *o = class_set_of(ns, dir);
	CLEANUP(freep) char *key = NULL;
	CLEANUP(freep) char *object = NULL;

	if (!o || !ns->write || key_of_name(ns, o, name, &key) < 0)
		return -ENOENT;
	object = object_path(o);
	if (!object)
		return -ENOMEM;
	if (has_files(ns, object, key))
		return -ENOTEMPTY;
	return new_class_remove(ns, o, key);
}
