/* SPDX-License-Identifier: MIT */
/* links.c - a group's links as children: objects, soft links, and what can not
 * be followed; and how children and paths are found again. */
#include <stdio.h>

#include "ns_int.h"

#define LINKS_A_PAGE 16384

static bool is_ancestor(const struct object *g, const struct obj_id *id)
{
	for (; g; g = g->parent)
		if (g->info.id.file == id->file && g->info.id.addr == id->addr)
			return true;
	return false;
}

/* A group is a directory at one path only: a directory under two paths would be
 * moved by the kernel from one to the other. */
static int place_group(struct object *g, const struct link *l, struct child *c)
{
	CLEANUP(freep) char *own = NULL;
	CLEANUP(freep) char *self = object_path(g);
	int r;

	if (is_ancestor(g, &l->info.id)) {
		CLEANUP(freep) char *path = NULL;

		for (const struct object *x = g; x; x = x->parent)
			if (x->info.id.file == l->info.id.file &&
			    x->info.id.addr == l->info.id.addr)
				path = path ? path : object_path(x);
		c->kind = CHILD_CYCLE;
		return path && asprintf(&c->target, "cycle:%s", path) >= 0
			       ? 0
			       : -ENOMEM;
	}
	c->kind = CHILD_OBJECT;
	if (l->info.links <= 1 && l->info.id.file == 0 && l->kind == LINK_HARD)
		return 0;
	r = store_path_of(g->gen->store, l->info.id, &own);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (!self || asprintf(&c->target, "%s/%s",
			      strcmp(self, "/") ? self : "", l->name) < 0) {
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
		faults_add(ns->faults, full,
			   "leads outside the directory of the "
			   "file",
			   "mount with -o external=follow");
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
				l->kind == LINK_EXTERNAL ? l->target_file
							 : "damaged",
				l->kind == LINK_EXTERNAL ? l->target
							 : l->name) < 0
			       ? -ENOMEM
			       : 0;
	}
	if (l->info.kind == OBJ_GROUP)
		r = place_group(g, l, c);
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

int links_load(struct ns *ns, struct object *g, struct group *grp)
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
			grown = realloc(grp->children,
					(cap + 1) * sizeof(*grown));
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
	return 0;
}

/* ---- finding ---- */

struct child *group_child(const struct group *g, const char *name)
{
	struct child key = { .name = (char *)name };

	return g->nchildren ? bsearch(&key, g->children, g->nchildren,
				      sizeof(key), by_name)
			    : NULL;
}

struct child *group_child_shown(const struct group *g, const char *shown)
{
	CLEANUP(freep) char *stored = name_stored(shown);
	struct child *c = stored ? group_child(g, stored) : NULL;
	size_t n = strlen(shown);

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
	return r < 0 ? r
		     : walk_path(ns, g->gen->root, own, depth - 1, ret_object);
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
		r = walk_path(ns, at,
			      c->kind == CHILD_CYCLE ? c->target + 6
						     : c->target,
			      depth - 1, &at);
		if (r < 0)
			return r;
	}
	*ret_object = at;
	return 0;
}
