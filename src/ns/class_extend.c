/* SPDX-License-Identifier: MIT */
/* class_extend.c - another name behind those that are declared for classes, in
 * the attribute or dataset that lists them (class_names.c). */
#include <jansson.h>
#include <stdio.h>

#include "objects_int.h"
#include "write_int.h"

struct extension {
	const struct names_source *at;
	struct array *value; /* of the attribute; of a dataset, one more row */
	bool grow;
};

static int act_extend(void *arg, struct writer *w, struct refusal *f)
{
	const struct extension *x = arg;
	int r;

	if (x->at->attr)
		return writer_set_attr(w, x->at->path, x->at->attr, x->value);
	r = writer_can_append(w, x->at->path, 0);
	if (r == -EOPNOTSUPP && x->grow)
		r = writer_grow(w, x->at->path, 0);
	else if (r == -EOPNOTSUPP)
		return refusal_set(f, r, "mount with -o grow",
				   "the list of classes, %s, can not grow: %s",
				   x->at->path, writer_why(w));
	return r < 0 ? r : writer_append(w, x->at->path, 0, x->value);
}

/* ---- lists of strings ---- */

static int new_array(const struct dtype *like, uint32_t size,
		     struct array **ret_array)
{
	CLEANUP(array_freep) struct array *a = calloc(1, sizeof(*a));
	int r = a ? dtype_new(like->class, size, &a->own_type) : -ENOMEM;

	if (r < 0)
		return r;
	a->own_type->pad = like->pad;
	a->own_type->utf8 = like->utf8;
	a->type = a->own_type;
	r = arena_new(&a->arena);
	if (r == 0)
		*ret_array = TAKE(a);
	return r;
}

static int put_text(struct array *a, uint64_t i, const char *s, size_t n)
{
	uint8_t *at = a->data->data + i * a->type->size;
	char *copy;

	if (a->type->class == DT_STRING) {
		memset(at, a->type->pad == PAD_SPACE ? ' ' : 0, a->type->size);
		memcpy(at, s, n < a->type->size ? n : a->type->size);
		return 0;
	}
	copy = arena_alloc(a->arena, n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, s, n);
	copy[n] = 0;
	memcpy(at, &copy, sizeof(copy));
	return 0;
}

/* Room for the longest, and for the NUL where there is one. */
static uint32_t size_for(const struct dtype *t, const char *name)
{
	size_t need = strlen(name) + (t->pad == PAD_NULLTERM);

	if (t->class != DT_STRING || need <= t->size)
		return t->size;
	return (uint32_t)need;
}

/* The old ones (old may be NULL) and the new one behind them. */
static int list_of(const struct dtype *t, const struct array *old,
		   const char *name, struct array **ret_array)
{
	CLEANUP(array_freep) struct array *a = NULL;
	uint64_t n = old ? old->count : 0;
	int r = new_array(t, size_for(t, name), &a);

	if (r == 0)
		r = blob_new((n + 1) * a->type->size, &a->data);
	if (r < 0)
		return r;
	a->rank = 1;
	a->dims[0] = a->count = n + 1;
	for (uint64_t i = 0; r == 0 && i < n; i++) {
		const char *s;
		size_t len;

		dtype_string(old->type, array_at(old, i), &s, &len);
		r = put_text(a, i, s, len);
	}
	if (r == 0)
		r = put_text(a, n, name, strlen(name));
	if (r == 0)
		*ret_array = TAKE(a);
	return r;
}

/* ---- JSON ---- */

/* {name: id}, or {id: name}, as it is. */
static int extend_map(json_t *map, const char *name, uint32_t number)
{
	const char *key;
	char id[16];
	json_t *v;
	bool ids = true;

	snprintf(id, sizeof(id), "%u", number);
	json_object_foreach(map, key, v)
		ids = ids && text_is_integer(key) && json_is_string(v);
	if (!ids && json_object_get(map, name))
		return -EEXIST;
	return ids ? json_object_set_new(map, id, json_string(name))
		   : json_object_set_new(map, name, json_integer(number));
}

static int json_of(const struct array *old, const char *name, uint32_t number,
		   struct array **ret_array)
{
	CLEANUP(array_freep) struct array *a = NULL;
	CLEANUP(freep) char *text = NULL;
	const char *s;
	size_t n;
	json_t *j;
	int r = -EINVAL;

	dtype_string(old->type, array_at(old, 0), &s, &n);
	j = json_loadb(s, n, 0, NULL);
	if (json_is_array(j))
		r = json_array_append_new(j, json_string(name)) ? -ENOMEM : 0;
	else if (json_is_object(j))
		r = extend_map(j, name, number);
	if (r == -1)
		r = -ENOMEM;
	text = r == 0 ? json_dumps(j, JSON_PRESERVE_ORDER) : NULL;
	json_decref(j);
	if (!text)
		return r < 0 ? r : -ENOMEM;
	r = new_array(old->type, size_for(old->type, text), &a);
	if (r == 0)
		r = blob_new(a->type->size, &a->data);
	if (r < 0)
		return r;
	a->rank = old->rank;
	memcpy(a->dims, old->dims, sizeof(a->dims));
	a->count = 1;
	r = put_text(a, 0, text, strlen(text));
	if (r == 0)
		*ret_array = TAKE(a);
	return r;
}

/* ---- where they are listed ---- */

static int make_value(struct ns *ns, struct object *o,
		      const struct names_source *at, const char *name,
		      uint32_t number, struct array **ret_value,
		      struct refusal *f)
{
	CLEANUP(array_freep) struct array *old = NULL;
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	struct store *s = o->gen->store;
	int r;

	(void)ns;
	if (!at->attr) {
		r = dset_open(s, at->id, at->path, &d);
		if (r < 0)
			return r;
		if (dset_info(d)->rank != 1)
			return refusal_set(f, -EOPNOTSUPP,
					   "add the class with h5py",
					   "%s is one text", at->path);
		if (size_for(dset_info(d)->type, name) >
		    dset_info(d)->type->size)
			return refusal_set(f, -EINVAL, "choose a shorter name",
					   "%s has no room for it", at->path);
		return list_of(dset_info(d)->type, NULL, name, ret_value);
	}
	r = store_attr(s, at->id, at->attr, &old);
	if (r < 0)
		return r;
	return old->count == 1 ? json_of(old, name, number, ret_value)
			       : list_of(old->type, old, name, ret_value);
}

int class_extend(struct ns *ns, struct object *o, const char *name,
		 const char *path, struct refusal *f)
{
	CLEANUP(names_source_done) struct names_source at = { 0 };
	CLEANUP(class_names_done) struct class_names n = { 0 };
	CLEANUP(array_freep) struct array *value = NULL;
	CLEANUP(freep) char *stored = name_stored(name);
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	struct extension x = { .at = &at, .grow = ns->opts.grow };
	int r = stored ? label_open(ns, o, &d) : -ENOMEM;

	if (r == 0)
		r = class_names_find(o, d, &n, &at);
	if (r == 0)
		r = make_value(ns, o, &at, stored, n.count, &value, f);
	x.value = value;
	return r < 0 ? r : ns_transact(ns, path, act_extend, &x);
}
