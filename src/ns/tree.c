/* SPDX-License-Identifier: MIT */
/* tree.c - loads a group in three phases: its links, the layouts of its
 * datasets, the entries it is listed with. A phase is loaded once, under
 * ns.load, and never changes after that.
 *
 * Layouts look at siblings and at the parent's, so phase two needs the parent's
 * phase two; entries look at what soft links lead to, which needs the target
 * group's phase two: there is no cycle. */
#include <stdio.h>

#include "ns_int.h"

/* Descriptions are kept for class folders and children of small groups. */
#define KEEP_DESCS 2048

static void drop_entries(struct group *g)
{
	for (size_t i = 0; i < g->nentries; i++) {
		free(g->entries[i].name);
		free(g->entries[i].target);
	}
	free(g->entries);
	free(g->hash);
	g->entries = NULL;
	g->hash = NULL;
	g->nentries = 0;
	g->nhash = 0;
}

static void drop_decision(struct group *g)
{
	for (size_t i = 0; i < g->dg.count && g->dg.members; i++)
		desc_done(&g->dg.members[i]);
	free(g->dg.members);
	free(g->dg.layouts);
	facts_done(&g->dg.facts);
	free(g->dg.name);
	free(g->dg.path);
	free(g->interned);
	memset(&g->dg, 0, sizeof(g->dg));
	g->interned = NULL;
	g->ninterned = 0;
	g->has_labels = false;
}

void group_free(struct group *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->nchildren; i++) {
		free(g->children[i].name);
		free(g->children[i].target);
	}
	free(g->children);
	drop_entries(g);
	drop_decision(g);
	classes_free(g->classes);
	free(g);
}
DEFINE_CLEANUP(struct group *, group_free)

static void set_phase(struct group *g, enum group_phase phase)
{
	__atomic_store_n(&g->phase, phase, __ATOMIC_RELEASE);
}

/* ---- phase two: layouts ---- */

static bool same_layout(const struct layout *a, const struct layout *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Most members of a large group share a layout: each is kept once. */
static int intern_layouts(struct group *grp, struct object **objects)
{
	size_t cap = 0;
	uint32_t *which = calloc(grp->dg.count + 1, sizeof(*which));
	size_t last = 0;

	if (!which)
		return -ENOMEM;
	for (size_t i = 0; i < grp->dg.count; i++) {
		const struct layout *l = &grp->dg.layouts[i];
		size_t k = last;

		if (k >= grp->ninterned || !same_layout(l, &grp->interned[k]))
			for (k = 0; k < grp->ninterned; k++)
				if (same_layout(l, &grp->interned[k]))
					break;
		if (k == grp->ninterned) {
			if (grp->ninterned == cap) {
				struct layout *grown;

				cap = cap ? cap * 2 : 4;
				grown = realloc(grp->interned,
						cap * sizeof(*grown));
				if (!grown) {
					free(which);
					return -ENOMEM;
				}
				grp->interned = grown;
			}
			grp->interned[grp->ninterned++] = *l;
		}
		which[i] = (uint32_t)k;
		last = k;
	}
	for (size_t i = 0; i < grp->dg.count; i++)
		objects[i]->layout = &grp->interned[which[i]];
	free(which);
	return 0;
}

static int describe_members(struct ns *ns, struct group *grp,
			    struct object **objects)
{
	for (size_t i = 0; i < grp->dg.count; i++) {
		CLEANUP(dset_unrefp) struct dset *d = NULL;
		struct object *o = objects[i];
		struct desc *desc = &grp->dg.members[i];
		int r = open_dataset(o, &d);

		if (r == 0)
			r = describe_dataset(o, d, desc, &o->label);
		if (r == 0) {
			o->rank = dset_info(d)->rank;
			o->rows = o->rank ? dset_info(d)->dims[0] : 0;
			continue;
		}
		if (!is_damage(r))
			return r;
		/* damaged: it is listed, and reading it fails */
		desc->name = strdup(o->name);
		desc->path = object_path(o);
		desc->kind = DESC_OTHER;
		desc->arg = o;
		if (!desc->name || !desc->path)
			return -ENOMEM;
		faults_add(ns->faults, desc->path,
			   "the dataset can not be opened",
			   "the file is damaged; check it with h5dump");
	}
	return 0;
}

static int match_rules(struct ns *ns, struct group *grp,
		       struct object **objects,
		       const struct layout_user **users)
{
	for (size_t i = 0; i < grp->dg.count; i++) {
		objects[i]->rules = rules_match(ns, grp->dg.members[i].path);
		users[i] =
			objects[i]->rules ? &objects[i]->rules->layout : NULL;
	}
	return 0;
}

static void set_counts(struct object *o, const struct desc *d)
{
	const struct layout *l = o->layout;
	struct layout_shape shape;

	o->layout_key = hash_bytes(l->axes, strlen(l->axes),
				   hash_bytes(l->rule, strlen(l->rule), 0));
	if (l->kind == LAYOUT_PICTURES) {
		if (layout_shape(l, d, &shape) < 0)
			return;
		if (shape.count >= UINT32_MAX) {
			(void)faults_add(
				o->gen->faults, d->path,
				"has more pictures than a directory can "
				"number (4,294,967,294)",
				"read slices of its .npy");
			return;
		}
		o->count = shape.count;
		o->directory = l->nindex > 0;
	} else if (l->kind == LAYOUT_ENCODED) {
		o->count = l->nindex ? o->rows : 1;
		o->directory = l->nindex > 0 && o->count < UINT32_MAX;
	}
}

static void undecide(struct object *o)
{
	free(o->label);
	rule_match_free(o->rules);
	o->label = NULL;
	o->rules = NULL;
	o->layout = NULL;
	o->desc = NULL;
	o->labels = NULL;
	o->count = o->layout_key = 0;
	o->directory = o->row_member = o->row_files = false;
	o->in_rows = o->leads_rows = o->grows = false;
	o->labelled = o->is_labels = false;
}

static int decide(struct ns *ns, struct object *g, struct group *grp)
{
	const struct object *p = g->parent;
	CLEANUP(freep) struct object **objects = NULL;
	CLEANUP(freep) const struct layout_user **users = NULL;
	size_t n = 0;
	int r;

	drop_decision(grp); /* of a try that failed */
	for (size_t i = 0; i < grp->nchildren; i++) {
		if (grp->children[i].kind != CHILD_OBJECT ||
		    grp->children[i].object->kind != OBJECT_DATASET)
			continue;
		undecide(grp->children[i].object);
		n++;
	}
	grp->dg_kept = n <= KEEP_DESCS;
	grp->dg.members = calloc(n + 1, sizeof(*grp->dg.members));
	grp->dg.layouts = calloc(n + 1, sizeof(*grp->dg.layouts));
	objects = calloc(n + 1, sizeof(*objects));
	users = calloc(n + 1, sizeof(*users));
	grp->dg.name = strdup(g->name);
	grp->dg.path = object_path(g);
	if (!grp->dg.members || !grp->dg.layouts || !objects || !users ||
	    !grp->dg.name || !grp->dg.path)
		return -ENOMEM;
	grp->dg.arg = g;
	grp->dg.model = g->gen->model;
	grp->dg.parent = p ? &p->group->dg : NULL;
	for (size_t i = 0; i < grp->nchildren; i++)
		if (grp->children[i].kind == CHILD_OBJECT &&
		    grp->children[i].object->kind == OBJECT_DATASET)
			objects[grp->dg.count++] = grp->children[i].object;
	/* what a probe meets of the moment must not decide a layout */
	__atomic_store_n(&g->gen->moment, 0, __ATOMIC_RELEASE);
	r = facts_load(g->gen, g, layout_group_facts, &grp->dg.facts, NULL);
	if (r == 0)
		r = describe_members(ns, grp, objects);
	if (r == 0)
		r = match_rules(ns, grp, objects, users);
	if (r == 0)
		r = layout_decide(&grp->dg, users, &ns_probe);
	if (r == 0)
		r = intern_layouts(grp, objects);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		set_counts(objects[i], &grp->dg.members[i]);
		objects[i]->desc = &grp->dg.members[i];
		if (objects[i]->label &&
		    objects[i]->layout->kind != LAYOUT_NONE &&
		    !objects[i]->directory)
			grp->has_labels = true;
	}
	labels_find(ns, grp);
	r = __atomic_load_n(&g->gen->moment, __ATOMIC_ACQUIRE);
	if (r == 0)
		r = rowset_find(g, grp);
	if (r < 0)
		return r;
	set_phase(grp, GROUP_DECIDED);
	return 0;
}

/* Sizes and views have been taken from them: too many to keep. */
static void drop_descs(struct group *grp)
{
	if (grp->dg_kept)
		return;
	for (size_t i = 0; i < grp->nchildren; i++)
		if (grp->children[i].object)
			grp->children[i].object->desc = NULL;
	for (size_t i = 0; i < grp->dg.count; i++)
		desc_done(&grp->dg.members[i]);
	free(grp->dg.members);
	free(grp->dg.layouts);
	grp->dg.members = NULL;
	grp->dg.layouts = NULL;
	grp->dg.count = 0;
}

/* ---- the phases ---- */

int group_load_locked(struct ns *ns, struct object *g, enum group_phase phase)
{
	struct group *grp = g->group;
	int r = 0;

	if (grp && grp->phase >= phase)
		return 0;
	if (!grp) {
		CLEANUP(group_freep)
		struct group *fresh = calloc(1, sizeof(*fresh));

		if (!fresh)
			return -ENOMEM;
		r = links_load(ns, g, fresh);
		if (r == 0)
			set_phase(fresh, GROUP_LINKS);
		if (r < 0)
			return r;
		grp = TAKE(fresh);
		__atomic_store_n(&g->group, grp, __ATOMIC_RELEASE);
	}
	if (grp->phase < GROUP_DECIDED && phase >= GROUP_DECIDED) {
		if (g->parent)
			r = group_load_locked(ns, g->parent, GROUP_DECIDED);
		if (r == 0)
			r = decide(ns, g, grp);
	}
	if (r == 0 && grp->phase < GROUP_ENTRIES && phase >= GROUP_ENTRIES) {
		drop_entries(grp); /* of a try that failed */
		r = ns->opts.view == NS_CLASSES
			    ? classes_make_entries(ns, g, grp)
			    : group_make_entries(ns, g, grp);
		if (r == 0)
			r = entries_index(grp);
		if (r == 0) {
			drop_descs(grp);
			set_phase(grp, GROUP_ENTRIES);
		}
	}
	return r;
}

int group_load(struct ns *ns, struct object *g, enum group_phase phase)
{
	struct group *grp = __atomic_load_n(&g->group, __ATOMIC_ACQUIRE);

	if (grp && __atomic_load_n(&grp->phase, __ATOMIC_ACQUIRE) >= phase)
		return 0;
	LOCK_SCOPE(&ns->load);
	return group_load_locked(ns, g, phase);
}
