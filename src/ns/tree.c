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

#define LINKS_A_PAGE 16384
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

/* ---- phase one: links ---- */

static bool is_ancestor(const struct object *g, const struct obj_id *id)
{
	for (; g; g = g->parent)
		if (g->info.id.file == id->file && g->info.id.addr == id->addr)
			return true;
	return false;
}

/* A group is a directory at one path only: a directory under two paths would be
 * moved by the kernel from one to the other. */
static int place_group(struct ns *ns, struct object *g, const struct link *l,
		       struct child *c)
{
	CLEANUP(freep) char *own = NULL;
	CLEANUP(freep) char *self = object_path(g);
	int r;

	(void)ns;
	if (is_ancestor(g, &l->info.id)) {
		CLEANUP(freep) char *path = NULL;

		for (const struct object *x = g; x; x = x->parent)
			if (x->info.id.file == l->info.id.file &&
			    x->info.id.addr == l->info.id.addr)
				path = path ? path : object_path(x);
		c->kind = CHILD_CYCLE;
		return path && asprintf(&c->target, "cycle:%s", path) >= 0 ?
			       0 : -ENOMEM;
	}
	c->kind = CHILD_OBJECT;
	if (l->info.links <= 1 && l->info.id.file == 0 && l->kind == LINK_HARD)
		return 0;
	r = store_path_of(g->gen->store, l->info.id, &own);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (!self || asprintf(&c->target, "%s/%s", strcmp(self, "/") ? self : "",
			      l->name) < 0) {
		c->target = NULL;
		return -ENOMEM;
	}
	if (!strcmp(c->target, own)) {
		free(c->target);
		c->target = NULL;
		return 0;
	}
	free(c->target);
	c->target = TAKE(own);
	c->kind = CHILD_ALIAS;
	return 0;
}

static const enum object_kind kinds[] = {
	[OBJ_GROUP] = OBJECT_GROUP,
	[OBJ_DATASET] = OBJECT_DATASET,
	[OBJ_DATATYPE] = OBJECT_DATATYPE,
};

static void note_link_fault(struct ns *ns, struct object *g,
			    const struct link *l)
{
	CLEANUP(freep) char *path = object_path(g);
	CLEANUP(freep) char *full = NULL;

	if (!path || asprintf(&full, "%s/%s", strcmp(path, "/") ? path : "",
			      l->name) < 0) {
		full = NULL;
		return;
	}
	if (l->kind == LINK_EXTERNAL && l->resolved == -EACCES)
		faults_add(ns->faults, full, "leads outside the directory of the "
			   "file", "mount with -o external=follow");
	else if (l->kind == LINK_EXTERNAL)
		faults_add(ns->faults, full, "its file or object is missing",
			   "put it where the link says");
	else
		faults_add(ns->faults, full, "the object can not be opened",
			   "the file is damaged; check it with h5dump");
}

static int take_link(struct ns *ns, struct object *g, const struct link *l,
		     struct child *c)
{
	int r = 0;

	c->name = strdup(l->name);
	if (!c->name)
		return -ENOMEM;
	if (l->kind == LINK_SOFT) {
		c->kind = CHILD_SOFT;
		c->target = strdup(l->target);
		return c->target ? 0 : -ENOMEM;
	}
	if (l->resolved < 0) {
		note_link_fault(ns, g, l);
		c->kind = CHILD_REFUSED;
		return asprintf(&c->target, "%s:%s",
				l->kind == LINK_EXTERNAL ? l->target_file :
							   "damaged",
				l->kind == LINK_EXTERNAL ? l->target :
							   l->name) < 0 ?
			       -ENOMEM : 0;
	}
	if (l->info.kind == OBJ_GROUP)
		r = place_group(ns, g, l, c);
	else
		c->kind = CHILD_OBJECT;
	if (r == 0 && c->kind == CHILD_OBJECT)
		r = object_new(ns, g->gen, kinds[l->info.kind], g, l->name,
			       &l->info, &c->object);
	if (r == 0 && c->object && !g->parent && l->info.kind == OBJ_GROUP)
		c->object->hidden = !strcmp(l->name, "#refs#") ||
				    !strcmp(l->name, "#subsystem#");
	return r;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct child *)a)->name,
		      ((const struct child *)b)->name);
}

static int load_links(struct ns *ns, struct object *g, struct group *grp)
{
	size_t cap = 0;
	uint64_t from = 0;
	bool hide = ns->opts.external == EXTERNAL_HIDE;

	do {
		struct link_page page;
		int r = store_links(g->gen->store, g->info.id, from,
				    LINKS_A_PAGE, &page);

		if (r < 0)
			return r;
		if (grp->nchildren + page.count > cap) {
			struct child *grown;

			cap = grp->nchildren + page.count;
			if (page.next)
				cap *= 2;
			grown = realloc(grp->children, (cap + 1) * sizeof(*grown));
			if (!grown)
				r = -ENOMEM;
			else
				grp->children = grown;
		}
		for (size_t i = 0; r == 0 && i < page.count; i++) {
			struct child *c = &grp->children[grp->nchildren];

			if (hide && page.links[i].kind == LINK_EXTERNAL)
				continue;
			memset(c, 0, sizeof(*c));
			grp->nchildren++;
			r = take_link(ns, g, &page.links[i], c);
		}
		from = page.next;
		link_page_done(&page);
		if (r < 0)
			return r;
	} while (from);
	if (grp->nchildren)
		qsort(grp->children, grp->nchildren, sizeof(*grp->children),
		      by_name);
	set_phase(grp, GROUP_LINKS);
	return 0;
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

static int describe_members(struct ns *ns, struct object *g, struct group *grp,
			    struct object **objects)
{
	for (size_t i = 0; i < grp->dg.count; i++) {
		CLEANUP(dset_unrefp) struct dset *d = NULL;
		struct object *o = objects[i];
		struct desc *desc = &grp->dg.members[i];
		int r = open_dataset(o, &d);

		(void)g;
		if (r == 0)
			r = describe_dataset(ns, o, d, desc, &o->label);
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

static int match_rules(struct ns *ns, struct group *grp, struct object **objects,
		       const struct layout_user **users)
{
	for (size_t i = 0; i < grp->dg.count; i++) {
		objects[i]->rules = rules_match(ns, grp->dg.members[i].path);
		users[i] = objects[i]->rules ? &objects[i]->rules->layout : NULL;
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
			(void)faults_add(o->gen->faults, d->path,
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
		r = describe_members(ns, g, grp, objects);
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
		if (objects[i]->label && objects[i]->layout->kind != LAYOUT_NONE &&
		    !objects[i]->directory)
			grp->has_labels = true;
	}
	labels_find(ns, g, grp);
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
		CLEANUP(group_freep) struct group *fresh =
			calloc(1, sizeof(*fresh));

		if (!fresh)
			return -ENOMEM;
		r = load_links(ns, g, fresh);
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
		r = ns->opts.view == NS_CLASSES ?
			    classes_make_entries(ns, g, grp) :
			    group_make_entries(ns, g, grp);
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

/* ---- finding ---- */

struct child *group_child(const struct group *g, const char *name)
{
	struct child key = { .name = (char *)name };

	return g->nchildren ? bsearch(&key, g->children, g->nchildren,
				      sizeof(key), by_name) : NULL;
}

struct child *group_child_shown(const struct group *g, const char *shown,
				bool as_group)
{
	CLEANUP(freep) char *stored = name_stored(shown);
	struct child *c = stored ? group_child(g, stored) : NULL;
	size_t n = strlen(shown);

	(void)as_group;
	if (c || n < 18 || shown[n - 17] != '~')
		return c;
	for (size_t i = 0; i < g->nchildren; i++) { /* a cut name */
		uint64_t h = hash_bytes(g->children[i].name,
					strlen(g->children[i].name), 0);
		char text[20];

		snprintf(text, sizeof(text), "%016llx", (unsigned long long)h);
		if (!strcmp(text, shown + n - 16))
			return &g->children[i];
	}
	return NULL;
}

static uint32_t hash_name(const char *name)
{
	return (uint32_t)hash_bytes(name, strlen(name), 7);
}

const struct entry *group_find(const struct group *g, const char *name)
{
	if (!g->nhash)
		return NULL;
	for (uint32_t i = hash_name(name) & (g->nhash - 1); g->hash[i];
	     i = (i + 1) & (g->nhash - 1))
		if (!strcmp(g->entries[g->hash[i] - 1].name, name))
			return &g->entries[g->hash[i] - 1];
	return NULL;
}

/* An entry whose name is taken gets the dot of its suffix escaped: a sample
 * directory `d.png` beside a picture `d`. */
static int make_unique(struct group *g, struct entry *e)
{
	const char *dot = strrchr(e->name, '.');
	char *other = NULL;

	if ((dot ? asprintf(&other, "%.*s%%2E%s", (int)(dot - e->name), e->name,
			    dot + 1) :
		   asprintf(&other, "%s%%2E", e->name)) < 0)
		return -ENOMEM;
	free(e->name);
	e->name = other;
	(void)g;
	return 0;
}

int entries_index(struct group *g)
{
	uint32_t size = 16;

	while (size < g->nentries * 2)
		size *= 2;
	g->hash = calloc(size, sizeof(*g->hash));
	if (!g->hash)
		return -ENOMEM;
	g->nhash = size;
	for (size_t n = 0; n < g->nentries; n++) {
		uint32_t i;

		for (unsigned tries = 0; group_find(g, g->entries[n].name) &&
					 tries < 8; tries++)
			if (make_unique(g, &g->entries[n]) < 0)
				break;
		i = hash_name(g->entries[n].name) & (size - 1);
		while (g->hash[i])
			i = (i + 1) & (size - 1);
		g->hash[i] = (uint32_t)n + 1;
	}
	return 0;
}

int entries_add(struct group *g, size_t *cap, const struct entry *e)
{
	if (!e->name) {
		free(e->target);
		return -ENOMEM;
	}
	if (g->nentries == *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		struct entry *grown = realloc(g->entries, more * sizeof(*grown));

		if (!grown) {
			free(e->name);
			free(e->target);
			return -ENOMEM;
		}
		g->entries = grown;
		*cap = more;
	}
	g->entries[g->nentries++] = *e;
	return 0;
}

/* A path in another file starts at that file's root, of which only a part may be
 * shown here: what it leads to is found by its one path in the mount. */
static int walk_foreign(struct ns *ns, struct object *g, const char *path,
			unsigned depth, struct object **ret_object)
{
	CLEANUP(freep) char *own = NULL;
	struct obj_info info;
	int r = store_resolve(g->gen->store, g->info.id, path, &info);

	if (r == 0)
		r = store_path_of(g->gen->store, info.id, &own);
	return r < 0 ? r : walk_path(ns, g->gen->root, own, depth - 1,
				     ret_object);
}

int walk_path(struct ns *ns, struct object *g, const char *path, unsigned depth,
	      struct object **ret_object)
{
	struct object *at = g;

	if (depth == 0)
		return -ELOOP;
	if (*path == '/' && g->info.id.file != 0)
		return walk_foreign(ns, g, path, depth, ret_object);
	if (*path == '/')
		at = g->gen->root;
	while (*path) {
		size_t n = strcspn(path, "/");
		CLEANUP(freep) char *part = strndup(path, n);
		struct child *c;
		int r;

		path += n + (path[n] == '/');
		if (!part)
			return -ENOMEM;
		if (!*part || !strcmp(part, "."))
			continue;
		if (at->kind != OBJECT_GROUP)
			return -ENOENT;
		r = group_load_locked(ns, at, GROUP_LINKS);
		if (r < 0)
			return r;
		c = group_child(at->group, part);
		if (!c || c->kind == CHILD_REFUSED)
			return -ENOENT;
		if (c->kind == CHILD_OBJECT) {
			at = c->object;
			continue;
		}
		/* CYCLE's text is "cycle:/path" */
		r = walk_path(ns, at, c->kind == CHILD_CYCLE ? c->target + 6 :
							       c->target,
			      depth - 1, &at);
		if (r < 0)
			return r;
	}
	*ret_object = at;
	return 0;
}
