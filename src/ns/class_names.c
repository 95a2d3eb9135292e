/* SPDX-License-Identifier: MIT */
/* class_names.c - what classes are called: the members of an enum, or a list or
 * map of names in an attribute or a dataset (RULES 9). */
#include <jansson.h>
#include <stdio.h>

#include "labels_int.h"

void class_names_done(struct class_names *n)
{
	for (uint32_t i = 0; i < n->count; i++)
		free(n->of[i]);
	free(n->of);
	n->of = NULL;
	n->count = 0;
}

static int names_set(struct class_names *n, uint64_t label, const char *text,
		     size_t len)
{
	if (label >= MAX_CLASSES)
		return 0;
	if (label >= n->count) {
		char **grown = realloc(n->of, (label + 1) * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + n->count, 0,
		       (label + 1 - n->count) * sizeof(*grown));
		n->of = grown;
		n->count = (uint32_t)label + 1;
	}
	free(n->of[label]);
	n->of[label] = strndup(text, len);
	return n->of[label] ? 0 : -ENOMEM;
}

static int names_from_list(json_t *list, struct class_names *n)
{
	json_t *v;
	size_t i;
	int r = 0;

	json_array_foreach(list, i, v) {
		CLEANUP(freep)
		char *text =
			json_is_string(v)
				? strdup(json_string_value(v))
				: json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);

		r = text ? names_set(n, i, text, strlen(text)) : -ENOMEM;
		if (r < 0)
			return r;
	}
	return r;
}

/* {name: id} or {id: name}. */
static int names_from_object(json_t *map, struct class_names *n)
{
	bool ids = true;
	const char *key;
	json_t *v;
	int r = 0;

	json_object_foreach(map, key, v)
		ids = ids && text_is_integer(key) && json_is_string(v);
	json_object_foreach(map, key, v) {
		if (ids && *key != '-')
			r = names_set(n, strtoull(key, NULL, 10),
				      json_string_value(v),
				      strlen(json_string_value(v)));
		else if (json_is_integer(v) && json_integer_value(v) >= 0)
			r = names_set(n, (uint64_t)json_integer_value(v), key,
				      strlen(key));
		else if (json_is_string(v) &&
			 text_is_integer(json_string_value(v)) &&
			 *json_string_value(v) != '-')
			r = names_set(n,
				      strtoull(json_string_value(v), NULL, 10),
				      key, strlen(key));
		if (r < 0)
			return r;
	}
	return 0;
}

/* From the value of an attribute or a dataset. -ENOENT: it lists no names. */
static int names_from_array(const struct array *a, struct class_names *n)
{
	bool strings = label_is_text(a->type);
	const char *s;
	size_t len;
	int r = 0;

	if (strings && a->count == 1) {
		json_t *j;

		dtype_string(a->type, array_at(a, 0), &s, &len);
		j = json_loadb(s, len, 0, NULL);
		if (j)
			r = json_is_array(j) ? names_from_list(j, n)
					     : names_from_object(j, n);
		json_decref(j);
		return r < 0 ? r : n->count ? 0 : -ENOENT;
	}
	if (!strings || a->rank != 1 || a->count < 2 || a->count > MAX_CLASSES)
		return -ENOENT;
	for (uint64_t i = 0; r == 0 && i < a->count; i++) {
		dtype_string(a->type, array_at(a, i), &s, &len);
		r = names_set(n, i, s, len);
	}
	return r;
}

static int names_from_enum(const struct dtype *t, struct class_names *n)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < t->nmembers; i++)
		if (t->members[i].value < MAX_CLASSES)
			r = names_set(n, t->members[i].value,
				      t->members[i].name,
				      strlen(t->members[i].name));
	return r < 0 ? r : n->count ? 0 : -ENOENT;
}

void names_source_done(struct names_source *at)
{
	free(at->path);
	at->path = NULL;
}

static int found_in_attr(const struct object *o, const char *attr,
			 struct names_source *at)
{
	if (!at)
		return 0;
	at->id = o->info.id;
	at->attr = attr;
	at->path = object_path(o);
	return at->path ? 0 : -ENOMEM;
}

static int found_in_dataset(const struct object *g, const char *name,
			    struct obj_id id, struct names_source *at)
{
	CLEANUP(freep) char *path = at ? object_path(g) : NULL;

	if (!at)
		return 0;
	at->id = id;
	at->attr = NULL;
	if (!path ||
	    asprintf(&at->path, "%s/%s", path[1] ? path : "", name) < 0)
		at->path = NULL;
	return at->path ? 0 : -ENOMEM;
}

static int names_from_attrs(const struct object *o, struct class_names *n,
			    struct names_source *at)
{
	for (const char *const *k = layout_class_name_lists; *k; k++) {
		CLEANUP(array_freep) struct array *a = NULL;
		int r = store_attr(o->gen->store, o->info.id, *k, &a);

		if (r == 0)
			r = names_from_array(a, n);
		if (r == 0)
			r = found_in_attr(o, *k, at);
		if (r == 0 || !is_damage(r))
			return r;
		class_names_done(n);
	}
	return -ENOENT;
}

/* A dataset as long as the set names its rows, not its classes. */
static int names_from_group(const struct object *g, uint64_t rows,
			    struct class_names *n, struct names_source *at)
{
	struct store *s = g->gen->store;

	for (const char *const *k = layout_class_name_lists; *k; k++) {
		CLEANUP(array_freep) struct array *a = NULL;
		CLEANUP(dset_unrefp) struct dset *d = NULL;
		struct obj_info info;
		int r = store_resolve(s, g->info.id, *k, &info);

		if (r == 0 && info.kind == OBJ_DATASET)
			r = dset_open(s, info.id, *k, &d);
		if (r < 0 && !is_damage(r))
			return r;
		if (!d || dset_info(d)->null || dset_info(d)->rank > 1 ||
		    dset_info(d)->count > MAX_CLASSES ||
		    (!strcmp(*k, "names") && dset_info(d)->count == rows) ||
		    !label_is_text(dset_info(d)->type))
			continue;
		r = label_rows(d, 0,
			       dset_info(d)->rank ? dset_info(d)->dims[0] : 1,
			       &a);
		if (r == 0)
			r = names_from_array(a, n);
		if (r == 0)
			r = found_in_dataset(g, *k, info.id, at);
		if (r == 0 || !is_damage(r))
			return r;
		class_names_done(n);
	}
	return -ENOENT;
}

int class_names_find(struct object *o, struct dset *labels,
		     struct class_names *n, struct names_source *at)
{
	const struct dtype *t = dset_info(labels)->type;
	int r;

	if (t->class == DT_ENUM)
		return names_from_enum(t, n);
	if (t->class == DT_BOOL) {
		r = names_set(n, 0, "False", 5);
		return r < 0 ? r : names_set(n, 1, "True", 4);
	}
	r = o->labels ? names_from_attrs(o->labels, n, at) : -ENOENT;
	if (r == -ENOENT)
		r = names_from_attrs(o, n, at);
	if (r == -ENOENT)
		r = names_from_attrs(o->parent, n, at);
	if (r == -ENOENT)
		r = names_from_attrs(o->gen->root, n, at);
	if (r == -ENOENT)
		r = names_from_group(o->parent, o->count, n, at);
	if (r == -ENOENT)
		r = names_from_group(o->gen->root, o->count, n, at);
	return r;
}

void class_names_free(struct class_names *n)
{
	if (n)
		class_names_done(n);
	free(n);
}

/* Declared names, found once and kept with the state. */
int class_names_get(struct state *st, struct object *o, struct dset *d,
		    const struct class_names **ret)
{
	struct class_names *n;
	int r;
	LOCK_SCOPE(&st->slow);

	if (!st->class_names) {
		n = calloc(1, sizeof(*n));
		r = n ? class_names_find(o, d, n, NULL) : -ENOMEM;
		if (r < 0 && !is_damage(r)) {
			class_names_free(n);
			return r;
		}
		st->class_names = n;
	}
	*ret = st->class_names;
	return 0;
}
