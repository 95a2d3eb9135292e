/* SPDX-License-Identifier: MIT */
/* class_order.c - a class folder keeps its number, which is in its inode, while
 * this mount adds rows of new classes: what comes later comes behind, however the
 * folders are listed. */
#include "write_int.h"

/* The folders of a set that this mount has numbered. */
struct class_table {
	struct class_table *next;
	char *object;
	uint32_t count;
	char **keys; /* by number */
};

void class_tables_free(struct class_table *t)
{
	while (t) {
		struct class_table *next = t->next;

		for (uint32_t i = 0; i < t->count; i++)
			free(t->keys[i]);
		free(t->keys);
		free(t->object);
		free(t);
		t = next;
	}
}

static struct class_table *table_of(struct write_side *w, char **object)
{
	struct class_table *t = w->tables;

	while (t && strcmp(t->object, *object) != 0)
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->object = TAKE(*object);
	t->next = w->tables;
	w->tables = t;
	return t;
}

static int by_key(const void *a, const void *b, void *arg)
{
	char *const *keys = arg;

	return strcmp(keys[*(const uint32_t *)a], keys[*(const uint32_t *)b]);
}

static uint32_t *sorted(char **keys, uint32_t n)
{
	uint32_t *order = malloc((n + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < n; i++)
		order[i] = i;
	if (order)
		qsort_r(order, n, sizeof(*order), by_key, keys);
	return order;
}

/* Gives each key its number: merges two sorted lists. Takes the new keys. */
static int number(struct class_table *t, char **keys, uint32_t n,
		  uint32_t *ret_number)
{
	CLEANUP(freep) uint32_t *mine = sorted(keys, n);
	CLEANUP(freep) uint32_t *known = sorted(t->keys, t->count);
	uint32_t k = 0, old = t->count;
	char **grown =
		realloc(t->keys, ((size_t)t->count + n + 1) * sizeof(char *));

	if (!grown)
		return -ENOMEM;
	t->keys = grown;
	if (!mine || !known)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		int cmp = -1;

		while (k < old &&
		       (cmp = strcmp(t->keys[known[k]], keys[mine[i]])) < 0)
			k++;
		ret_number[mine[i]] = cmp == 0 ? known[k] : UINT32_MAX;
	}
	/* new ones in the order in which they are listed */
	for (uint32_t i = 0; i < n; i++)
		if (ret_number[i] == UINT32_MAX) {
			ret_number[i] = t->count;
			t->keys[t->count++] = TAKE(keys[i]);
		}
	return 0;
}

/* Folders that are gone leave an empty place without a name. */
static int place_folders(struct classes *c, const uint32_t *at, uint32_t count)
{
	struct class_folder *f = calloc((size_t)count + 1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->count; i++)
		f[at[i]] = c->folders[i];
	for (uint32_t i = 0; i < c->shown; i++) {
		c->order[i] = at[c->order[i]];
		c->by_name[i] = at[c->by_name[i]];
	}
	free(c->folders);
	c->folders = f;
	c->count = count;
	return 0;
}

int class_order_keep(struct ns *ns, const struct object *o, struct classes *c)
{
	CLEANUP(freep) char *object = object_path(o);
	CLEANUP(freep) char **keys = calloc(c->count + 1, sizeof(char *));
	CLEANUP(freep) uint32_t *at = calloc(c->count + 1, sizeof(*at));
	uint32_t n = keys ? c->count : 0;
	struct class_table *t = NULL;
	int r = object && keys && at ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		keys[i] = class_key(c, i);
		if (!keys[i])
			r = -ENOMEM;
	}
	if (r == 0) {
		LOCK_SCOPE(&ns->write->lock);
		t = table_of(ns->write, &object);
		r = t ? number(t, keys, n, at) : -ENOMEM;
		if (r == 0)
			r = place_folders(c, at, t->count);
	}
	for (uint32_t i = 0; i < n; i++)
		free(keys[i]);
	return r;
}
