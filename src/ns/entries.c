/* SPDX-License-Identifier: MIT */
/* entries.c - what a group is listed with: directories, files with their
 * suffixes, symbolic links. */
#include <stdio.h>

#include "ns_int.h"

/* An encoded image whose own name ends in an image suffix keeps it, if no
 * sibling has the bare name. */
static bool keeps_name(const struct object *o)
{
	const char *dot = strrchr(o->name, '.');
	CLEANUP(freep) char *bare = NULL;

	if (!layout_has_image_suffix(o->name) || !dot)
		return false;
	bare = strndup(o->name, (size_t)(dot - o->name));
	return bare && !group_child(o->parent->group, bare);
}

static void add_shape(struct shape_list *l, const char *suffix, uint8_t view,
		      uint64_t size)
{
	if (l->n == ARRAY_SIZE(l->of))
		return;
	l->of[l->n].suffix = suffix;
	l->of[l->n].view = view;
	l->of[l->n++].size = size;
}

static const char *encoded_suffix(const struct view_source *src)
{
	static const char *const known[] = { ".jpg", ".png",  ".gif", ".bmp",
					     ".tif", ".webp", ".jp2" };
	const char *ext;

	if (view_encoded_ext(src, 0, &ext) < 0)
		return "";
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i] + 1, ext))
			return known[i];
	return "";
}

static void tell_too_large(struct ns *ns, struct object *o,
			   struct shape_list *ret)
{
	CLEANUP(freep) char *path = object_path(o);

	for (uint8_t i = 0; view_whole[i]; i++)
		if (view_whole[i] == &view_json)
			add_shape(ret, view_json.suffix, V_WHOLE + i,
				  UINT64_MAX);
	if (path)
		(void)faults_add(ns->faults, path,
				 "holds more than can be shown as one file",
				 "read slices of it with h5py");
}

int dataset_shapes(struct ns *ns, struct object *o, struct shape_list *ret)
{
	STATE_REF(ref, ns);
	struct view_source src;
	int r = state_get(ns, o, &ref.st);

	memset(ret, 0, sizeof(*ret));
	if (is_damage(r)) {
		/* damaged: listed, and reading it is EIO */
		for (uint8_t i = 0; view_whole[i]; i++)
			if (view_whole[i] == &view_bin)
				add_shape(ret, view_bin.suffix, V_WHOLE + i,
					  UINT64_MAX);
		return 0;
	}
	if (r < 0)
		return r;
	state_cool(ns, ref.st);
	r = state_source(ref.st, false, &src);
	if (r < 0)
		return r;
	if (o->directory)
		add_shape(ret, "", V_DIR, 0);
	for (uint8_t i = 0; view_whole[i]; i++) {
		const struct view_ops *v = view_whole[i];
		const char *suffix = v->suffix;
		uint64_t size = UINT64_MAX;

		if (!v->accepts(&src))
			continue;
		if (!v->size || v->size(&src, 0, &size) < 0)
			size = UINT64_MAX;
		if (v == &view_encoded) {
			suffix = encoded_suffix(&src);
			ret->bare = *suffix && keeps_name(o);
		}
		add_shape(ret, suffix, (uint8_t)(V_WHOLE + i), size);
	}
	if (ret->n ==
	    0) /* beyond every view's limits: listed, reading is EIO */
		tell_too_large(ns, o, ret);
	return 0;
}

/* ---- relative paths ---- */

static unsigned depth_of(const struct object *o)
{
	unsigned n = 0;

	for (; o->parent; o = o->parent)
		n++;
	return n;
}

static void put_component(struct strbuf *out, const char *name)
{
	bool cut;
	CLEANUP(freep) char *shown = name_shown(name, "", NAME_GROUP, &cut);

	if (!shown) {
		out->failed = true;
		return;
	}
	if (out->len)
		strbuf_putc(out, '/');
	strbuf_puts(out, shown);
}

static void put_down(struct strbuf *out, const struct object *o, unsigned n)
{
	if (n == 0)
		return;
	put_down(out, o->parent, n - 1);
	put_component(out, o->name);
}

static void put_ups(struct strbuf *out, unsigned n)
{
	while (n--)
		strbuf_puts(out, out->len ? "/.." : "..");
}

int relative_path(const struct object *from, const struct object *to,
		  struct strbuf *out)
{
	unsigned up = depth_of(from), down = depth_of(to), n = 0;
	const struct object *a = from, *b = to;

	for (; up > down; up--, n++)
		a = a->parent;
	up = n;
	n = 0;
	for (unsigned k = depth_of(a); down > k; down--, n++)
		b = b->parent;
	down = n;
	for (; a != b; a = a->parent, b = b->parent) {
		up++;
		down++;
	}
	put_ups(out, up);
	put_down(out, to, down);
	return strbuf_error(out);
}

/* A path as text, escaped component by component. */
static int text_path(const struct object *from, const char *path,
		     struct strbuf *out)
{
	if (*path == '/')
		put_ups(out, depth_of(from));
	while (*path) {
		size_t n = strcspn(path, "/");
		CLEANUP(freep) char *part = strndup(path, n);

		path += n + (path[n] == '/');
		if (!part)
			return -ENOMEM;
		if (!strcmp(part, ".")) {
			if (out->len == 0)
				strbuf_putc(out, '.');
		} else if (*part) {
			put_component(out, part);
		}
	}
	if (out->len == 0)
		strbuf_putc(out, '.');
	return strbuf_error(out);
}

/* ---- children ---- */

struct maker {
	struct ns *ns;
	struct object *g;
	struct group *grp;
	size_t cap;
	struct object *to; /* what the links that are added lead to */
};

static int add(struct maker *m, const char *name, const char *suffix,
	       enum name_kind kind, struct entry e)
{
	bool cut;

	e.name = name_shown(name, suffix, kind, &cut);
	return entries_add(m->grp, &m->cap, &e);
}

static int add_link(struct maker *m, const char *name, const char *suffix,
		    enum name_kind kind, struct strbuf *target)
{
	struct entry e = { .object = m->g, .view = V_LINK, .to = m->to };

	e.index = (uint32_t)m->grp->nentries;
	e.target = strbuf_steal(target);
	if (!e.target)
		return -ENOMEM;
	e.size = strlen(e.target);
	return add(m, name, suffix, kind, e);
}

static int add_text_link(struct maker *m, const char *name, const char *text)
{
	struct strbuf target = STRBUF_INIT;

	strbuf_puts(&target, text);
	return add_link(m, name, "", NAME_GROUP, &target);
}

static int add_dataset(struct maker *m, const struct child *c)
{
	struct shape_list shapes;
	int r = dataset_shapes(m->ns, c->object, &shapes);

	for (unsigned i = 0; r == 0 && i < shapes.n; i++) {
		struct entry e = { .object = c->object,
				   .view = shapes.of[i].view,
				   .size = shapes.of[i].size };
		const char *suffix = shapes.of[i].suffix;

		if (shapes.bare &&
		    view_whole[e.view - V_WHOLE] == &view_encoded)
			suffix = "";
		r = add(m, c->name, suffix, NAME_PLAIN, e);
	}
	return r;
}

/* A link to each entry of the target. */
static int add_dataset_links(struct maker *m, const char *name,
			     struct object *to)
{
	struct shape_list shapes;
	int r = dataset_shapes(m->ns, to, &shapes);

	for (unsigned i = 0; r == 0 && i < shapes.n; i++) {
		struct strbuf target = STRBUF_INIT;
		const char *suffix = shapes.of[i].suffix;
		CLEANUP(freep) char *shown = NULL;
		bool cut, bare = shapes.bare && shapes.of[i].view != V_DIR &&
				 view_whole[shapes.of[i].view - V_WHOLE] ==
					 &view_encoded;

		shown = name_shown(to->name, bare ? "" : suffix, NAME_PLAIN,
				   &cut);
		r = relative_path(m->g, to->parent, &target);
		if (r == 0 && shown) {
			if (target.len)
				strbuf_putc(&target, '/');
			strbuf_puts(&target, shown);
			r = add_link(m, name, suffix, NAME_PLAIN, &target);
		}
		strbuf_done(&target);
	}
	return r;
}

static int add_soft(struct maker *m, const struct child *c)
{
	CLEANUP(strbuf_done) struct strbuf target = STRBUF_INIT;
	struct object *to = NULL;
	int r = walk_path(m->ns, m->g, c->target, 16, &to);

	m->to = r == 0 ? to : NULL;
	if (r == 0 && to->kind == OBJECT_DATASET)
		r = group_load_locked(m->ns, to->parent, GROUP_DECIDED);
	if (r < 0 && !is_damage(r))
		return r;
	if (r == 0 && to->kind == OBJECT_DATASET)
		return add_dataset_links(m, c->name, to);
	if (r == 0 && to->kind == OBJECT_GROUP) {
		r = relative_path(m->g, to, &target);
		if (r == 0 && target.len == 0)
			strbuf_putc(&target, '.');
		return r < 0 ? r
			     : add_link(m, c->name, "", NAME_GROUP, &target);
	}
	if (r == 0) { /* a committed datatype: its .txt */
		CLEANUP(freep) char *shown = NULL;
		bool cut;

		shown = name_shown(to->name, ".txt", NAME_PLAIN, &cut);
		r = relative_path(m->g, to->parent, &target);
		if (target.len)
			strbuf_putc(&target, '/');
		if (r == 0 && shown)
			strbuf_puts(&target, shown);
		return r < 0 ? r
			     : add_link(m, c->name, ".txt", NAME_PLAIN,
					&target);
	}
	if (m->g->info.id.file != 0 && *c->target == '/') /* not in the mount */
		strbuf_printf(
			&target, "%s:%s",
			store_file_name(m->g->gen->store, m->g->info.id.file),
			c->target);
	else
		r = text_path(m->g, c->target, &target);
	r = strbuf_error(&target) < 0 ? -ENOMEM : r == -ENOMEM ? r : 0;
	return r < 0 ? r : add_link(m, c->name, "", NAME_GROUP, &target);
}

static int add_alias(struct maker *m, const struct child *c)
{
	CLEANUP(strbuf_done) struct strbuf target = STRBUF_INIT;
	struct object *to = NULL;
	int r = walk_path(m->ns, m->g, c->target, 16, &to);

	m->to = r == 0 ? to : NULL;
	if (r == 0)
		r = relative_path(m->g, to, &target);
	else if (is_damage(r))
		r = text_path(m->g, c->target, &target);
	if (r == 0 && target.len == 0)
		strbuf_putc(&target, '.');
	return r < 0 ? r : add_link(m, c->name, "", NAME_GROUP, &target);
}

static int add_child(struct maker *m, const struct child *c)
{
	switch (c->kind) {
	case CHILD_SOFT:
		return add_soft(m, c);
	case CHILD_ALIAS:
		return add_alias(m, c);
	case CHILD_REFUSED:
	case CHILD_CYCLE:
		m->to = NULL;
		return add_text_link(m, c->name, c->target);
	case CHILD_OBJECT:
		break;
	}
	if (c->object->hidden)
		return 0;
	if (c->object->kind == OBJECT_DATASET)
		return add_dataset(m, c);
	if (c->object->kind == OBJECT_DATATYPE)
		return add(m, c->name, ".txt", NAME_PLAIN,
			   (struct entry){ .object = c->object,
					   .view = V_TYPE,
					   .size = UINT64_MAX });
	return add(m, c->name, "", NAME_GROUP,
		   (struct entry){ .object = c->object, .view = V_DIR });
}

int group_make_entries(struct ns *ns, struct object *g, struct group *grp)
{
	struct maker m = { ns, g, grp, 0, NULL };
	int r = 0;

	for (size_t i = 0; r == 0 && i < grp->nchildren; i++)
		r = add_child(&m, &grp->children[i]);
	return r;
}

/* ---- view=classes ---- */

static bool is_labelled_set(const struct object *o)
{
	return o->kind == OBJECT_DATASET && o->labelled && o->directory &&
	       o->layout->kind != LAYOUT_NONE && !o->layout->companion &&
	       !layout_is_mask_name(o->name);
}

static int add_class_folders(struct maker *m, struct object *o,
			     const struct classes *c)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < c->shown; i++) {
		struct entry e = { .object = o,
				   .view = V_CLASS,
				   .index = c->order[i] };

		e.name = strdup(c->folders[e.index].name);
		r = entries_add(m->grp, &m->cap, &e);
	}
	return r;
}

static int add_only_set(struct maker *m, struct object *o)
{
	STATE_REF(ref, m->ns);
	const struct classes *c;
	int r = state_get(m->ns, o, &ref.st);

	if (r == 0)
		r = labels_classes(m->ns, ref.st, &c);
	if (is_damage(r))
		return 0;
	return r < 0 ? r : add_class_folders(m, o, c);
}

int picture_entry(struct ns *ns, struct object *o, struct entry *ret_entry)
{
	struct shape_list shapes;
	int r = dataset_shapes(ns, o, &shapes);

	for (unsigned i = 0; r == 0 && i < shapes.n; i++) {
		struct entry e = { .object = o,
				   .view = shapes.of[i].view,
				   .size = shapes.of[i].size };
		const struct view_ops *v;
		bool cut;

		if (e.view == V_DIR)
			continue;
		v = view_whole[e.view - V_WHOLE];
		if (v != &view_png && v != &view_encoded)
			continue;
		e.name = name_shown(o->name,
				    shapes.bare && v == &view_encoded
					    ? ""
					    : shapes.of[i].suffix,
				    NAME_PLAIN, &cut);
		if (!e.name)
			return -ENOMEM;
		*ret_entry = e;
		return 0;
	}
	return r < 0 ? r : -ENOENT;
}

/* A group of single pictures is a class folder itself. */
static int add_picture(struct maker *m, const struct child *c)
{
	struct entry e;
	int r = picture_entry(m->ns, c->object, &e);

	if (r == 0)
		r = entries_add(m->grp, &m->cap, &e);
	return r == -ENOENT ? 0 : r;
}

#define MAX_DEPTH 512 /* a path is no longer */

static int add_subgroup(struct maker *m, const struct child *c)
{
	int r = depth_of(c->object) > MAX_DEPTH
			? -ELOOP
			: group_load_locked(m->ns, c->object, GROUP_ENTRIES);

	if (is_damage(r) || (r == 0 && c->object->group->nentries == 0))
		return 0; /* no class folder in it, or damaged */
	if (r < 0)
		return r;
	return add(m, c->name, "", NAME_GROUP,
		   (struct entry){ .object = c->object, .view = V_DIR });
}

int classes_make_entries(struct ns *ns, struct object *g, struct group *grp)
{
	struct maker m = { ns, g, grp, 0, NULL };
	struct object *set = NULL;
	const struct classes *single = NULL;
	size_t sets = 0;
	int r = 0;

	for (size_t i = 0; i < grp->nchildren; i++)
		if (grp->children[i].kind == CHILD_OBJECT &&
		    is_labelled_set(grp->children[i].object)) {
			set = grp->children[i].object;
			sets++;
		}
	if (grp->has_labels)
		r = labels_group_classes(ns, g, &single);
	if (r == 0 && sets == 1 && !single)
		r = add_only_set(&m, set);
	if (r == 0 && single)
		r = add_class_folders(&m, g, single);
	for (size_t i = 0; r == 0 && i < grp->nchildren; i++) {
		const struct child *c = &grp->children[i];
		struct object *o = c->object;

		if (c->kind != CHILD_OBJECT || o->hidden)
			continue;
		if (o->kind == OBJECT_GROUP)
			r = add_subgroup(&m, c);
		else if (o->kind == OBJECT_DATASET && is_labelled_set(o) &&
			 (sets > 1 || single))
			r = add(&m, c->name, "", NAME_PLAIN,
				(struct entry){ .object = o,
						.view = V_BYCLASS });
		else if (o->kind == OBJECT_DATASET && g->parent && !sets &&
			 !single && o->layout->kind != LAYOUT_NONE &&
			 !o->directory)
			r = add_picture(&m, c);
	}
	return r;
}
