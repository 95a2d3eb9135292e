/* SPDX-License-Identifier: MIT */
/* set_members.c - the datasets of a row set (SPEC 4): those of one group, or of
 * what rows=GROUP joins, that have as many rows. */
#include <stdio.h>

#include "write_int.h"

void members_done(struct members *m)
{
	free(m->of);
	memset(m, 0, sizeof(*m));
}

static bool same_object(const struct object *a, const struct object *b)
{
	return a->info.id.file == b->info.id.file &&
	       a->info.id.addr == b->info.id.addr;
}

/* A dataset under two names grows once. */
static int add(struct members *m, struct object *o)
{
	struct object **grown;

	for (size_t i = 0; i < m->n; i++)
		if (same_object(m->of[i], o))
			return 0;
	grown = realloc(m->of, (m->n + 1) * sizeof(struct object *));
	if (!grown)
		return -ENOMEM;
	m->of = grown;
	m->of[m->n++] = o;
	return 0;
}

static struct object *dataset_of(const struct child *c)
{
	return c->kind == CHILD_OBJECT && c->object->kind == OBJECT_DATASET
		       ? c->object
		       : NULL;
}

static struct object *group_of(const struct child *c)
{
	return c->kind == CHILD_OBJECT && c->object->kind == OBJECT_GROUP
		       ? c->object
		       : NULL;
}

/* ---- rows=GROUP ---- */

static bool is_joined(struct ns *ns, const struct object *g)
{
	CLEANUP(freep) char *path = object_path(g);

	for (size_t i = 0; path && i < ns->opts.rows.count; i++)
		if (glob_match(ns->opts.rows.rules[i].path, path))
			return true;
	return false;
}

/* The outermost group that is said to be one row set. */
static struct object *joined_group(struct ns *ns, struct object *g)
{
	struct object *found = NULL;

	for (; ns->opts.rows.count && g; g = g->parent)
		if (is_joined(ns, g))
			found = g;
	return found;
}

#define MAX_DEPTH 64

static int collect(struct ns *ns, struct object *g, const struct object *o,
		   bool below, unsigned depth, struct members *m)
{
	int r = group_load(ns, g, GROUP_DECIDED);

	for (size_t i = 0; r == 0 && i < g->group->nchildren; i++) {
		const struct child *c = &g->group->children[i];
		struct object *d = dataset_of(c), *sub = group_of(c);

		if (d && rowset_same(d, o))
			r = add(m, d);
		else if (sub && below && depth < MAX_DEPTH && !sub->hidden)
			r = collect(ns, sub, o, below, depth + 1, m);
	}
	return r;
}

/* Without pictures, encoded images or labels only those count that grow. */
static void drop_fixed(struct members *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->of[i]->leads_rows)
			return;
	for (size_t i = 0; i < m->n; i++)
		if (m->of[i]->grows)
			m->of[n++] = m->of[i];
	m->n = n;
}

/* ---- what lies beside it, and may belong to it ---- */

static int refuse_neighbour(const struct object *o, const struct object *other,
			    struct refusal *f)
{
	CLEANUP(freep) char *path = object_path(o);
	CLEANUP(freep) char *also = object_path(other);
	CLEANUP(freep) char *remedy = NULL;
	CLEANUP(freep)
	char *outer = object_path(
		other->parent->parent == o->parent ? o->parent : other->parent);

	if (!path || !also || !outer ||
	    asprintf(&remedy, "say what belongs together: -o rows=%s", outer) <
		    0)
		return -ENOMEM;
	return refusal_set(f, -EOPNOTSUPP, remedy,
			   "%s has as many rows as %s, and may have to grow "
			   "with it",
			   also, path);
}

static int look_in(struct ns *ns, struct object *g, const struct object *o,
		   struct refusal *f)
{
	int r;

	if (joined_group(ns, g)) /* of that one it has been said */
		return 0;
	r = group_load(ns, g, GROUP_DECIDED);
	if (r < 0)
		return is_damage(r) ? 0 : r;
	for (size_t i = 0; i < g->group->nchildren; i++) {
		struct object *d = dataset_of(&g->group->children[i]);

		if (d && rowset_same(d, o))
			return refuse_neighbour(o, d, f);
	}
	return 0;
}

static int look_around(struct ns *ns, const struct object *o, struct refusal *f)
{
	struct object *g = o->parent;
	int r = g->parent ? look_in(ns, g->parent, o, f) : 0;

	for (size_t i = 0; r == 0 && i < g->group->nchildren; i++) {
		struct object *sub = group_of(&g->group->children[i]);

		if (sub && !sub->hidden)
			r = look_in(ns, sub, o, f);
	}
	return r;
}

/* Once a mount: later on they may be as many by chance. */
static int check_neighbours(struct ns *ns, const struct object *o,
			    struct refusal *f)
{
	struct write_side *w = ns->write;
	CLEANUP(freep) char *path = object_path(o);
	char **grown;
	int r;

	if (!path)
		return -ENOMEM;
	{
		LOCK_SCOPE(&w->lock);
		for (size_t i = 0; i < w->nchecked; i++)
			if (!strcmp(w->checked[i], path))
				return 0;
	}
	r = look_around(ns, o, f);
	if (r < 0)
		return r;
	{
		LOCK_SCOPE(&w->lock);
		grown = realloc(w->checked, (w->nchecked + 1) * sizeof(char *));
		if (!grown)
			return -ENOMEM;
		w->checked = grown;
		w->checked[w->nchecked++] = TAKE(path);
	}
	return 0;
}

/* ---- a set of one ---- */

/* Pictures along another axis, or in MATLAB's order, grow by themselves. */
static int alone(struct object *o, struct members *m, struct refusal *f)
{
	const struct layout *l = o->layout;

	if (l->kind != LAYOUT_PICTURES || l->nindex != 1)
		return refusal_set(
			f, -EOPNOTSUPP,
			"add to it with h5py, or replace it as a whole",
			"it is not a stack of samples that could grow");
	if (o->labelled)
		return refusal_set(f, -EOPNOTSUPP, "add to both with h5py",
				   "its labels would not grow with it: its "
				   "pictures do not lie along its first axis");
	m->axis = l->index[0];
	return add(m, o);
}

int members_find(struct ns *ns, struct object *o, struct members *ret,
		 struct refusal *f)
{
	CLEANUP(members_done) struct members m = { .group = o->parent };
	struct object *joined = joined_group(ns, o->parent);
	int r;

	if (!o->in_rows) {
		r = alone(o, &m, f);
	} else {
		if (joined)
			m.group = joined;
		r = add(&m, o);
		if (r == 0)
			r = collect(ns, m.group, o, joined != NULL, 0, &m);
		drop_fixed(&m);
		if (r == 0)
			r = add(&m, o);
		if (r == 0 && !joined)
			r = check_neighbours(ns, o, f);
	}
	if (r < 0)
		return r;
	*ret = m;
	memset(&m, 0, sizeof(m));
	return 0;
}
