/* SPDX-License-Identifier: MIT */
/* lookup.c - a name in a directory to its node: what is listed, and the names
 * that answer without being listed. An entry that is really there wins. */
#include <inttypes.h>
#include <stdio.h>

#include "write_int.h"

bool parse_index(const char *name, uint64_t *ret_index, const char **ret_rest)
{
	uint64_t v = 0;
	size_t n = 0;

	for (; name[n] >= '0' && name[n] <= '9'; n++)
		if (n == 19 ||
		    (v = v * 10 + (uint64_t)(name[n] - '0')) > UINT32_MAX)
			return false;
	/* as %06u prints it: no other spelling names the same sample */
	if (n < 6 || (n > 6 && name[0] == '0'))
		return false;
	*ret_index = v;
	*ret_rest = name + n;
	return true;
}

const char *sample_suffix(const struct object *o)
{
	return o->row_files			    ? ".npy"
	       : o->layout->kind == LAYOUT_PICTURES ? ".png"
						    : NULL;
}

int sample_name(struct ns *ns, struct object *o, uint32_t index, bool keep,
		char *buf, size_t size)
{
	const char *suffix = sample_suffix(o), *ext = "";
	struct view_source src;
	STATE_REF(ref, ns);
	uint64_t last = index;
	int r;

	if (o->layout->kind == LAYOUT_PICTURES && o->layout->nindex > 1) {
		r = state_get(ns, o, &ref.st);
		if (r < 0)
			return r;
		last = index %
		       ref.st->src.shape.index_dims[o->layout->nindex - 1];
	}
	if (suffix) {
		snprintf(buf, size, "%06" PRIu64 "%s", last, suffix);
		return 0;
	}
	if (keep) {
		r = content_ext(ns, o, index, &ext);
	} else {
		r = source_get(ns, o, false, &ref, &src);
		if (r == 0)
			r = view_encoded_ext(&src, index, &ext);
	}
	if (r < 0 && r != -EIO)
		return r;
	snprintf(buf, size, "%06" PRIu64 "%s%s", last, *ext ? "." : "", ext);
	return 0;
}

/* ---- the sample directory D/ and below ---- */

/* By the dataset of names, or because this mount has just committed it. */
static int row_of_name(struct ns *ns, struct object *o, const char *name,
		       uint32_t *ret_row)
{
	CLEANUP(freep) char *path = NULL;
	int r = rownames_find(ns, o, name, NULL, 0, ret_row);

	if (r != -ENOENT || !ns->write)
		return r;
	path = object_path(o);
	r = path ? committed_find(ns, path, name, ret_row) : -ENOMEM;
	return r == 0 && *ret_row >= o->count ? -ENOENT : r;
}

/* At level k the index axis k is chosen; the last level holds the samples. */
static int lookup_sample(struct ns *ns, struct object *o, unsigned level,
			 uint32_t prefix, const char *name, struct node *ret)
{
	unsigned axes = o->row_files || o->layout->kind == LAYOUT_ENCODED
				? 1
				: o->layout->nindex;
	uint64_t dim = o->count, index;
	const char *rest;
	char want[32];
	int r;

	if (level == 0 && !strcmp(name, ".attrs")) {
		*ret = (struct node){ o->number, V_ATTRS, 0 };
		return 0;
	}
	if (!parse_index(name, &index, &rest)) {
		uint32_t row;

		r = level == 0 && axes == 1 ? row_of_name(ns, o, name, &row)
					    : -ENOENT;
		if (r == 0)
			*ret = (struct node){ o->number, V_SAMPLE, row };
		return r;
	}
	if (axes > 1) {
		STATE_REF(ref, ns);

		r = state_get(ns, o, &ref.st);
		if (r < 0)
			return r;
		dim = ref.st->src.shape.index_dims[level];
	}
	if (index >= dim)
		return -ENOENT;
	index += prefix * dim; /* fits: the count of samples does */
	if (level + 1 < axes) {
		if (*rest)
			return -ENOENT;
		*ret = (struct node){ o->number, (uint8_t)(V_SUB + level + 1),
				      (uint32_t)index };
		return 0;
	}
	r = sample_name(ns, o, (uint32_t)index, true, want, sizeof(want));
	if (r < 0)
		return r;
	if (strcmp(want, name))
		return -ENOENT;
	*ret = (struct node){ o->number, V_SAMPLE, (uint32_t)index };
	return 0;
}

/* ---- class folders ---- */

/* A single picture by the name of its file. */
static struct child *picture_child(const struct group *grp, const char *name)
{
	const char *dot = strrchr(name, '.');
	CLEANUP(freep)
	char *base = dot ? strndup(name, (size_t)(dot - name)) : NULL;
	struct child *c = base ? group_child_shown(grp, base) : NULL;

	return c ? c : group_child_shown(grp, name);
}

static int group_class_child(struct ns *ns, struct object *g,
			     const struct classes *c, uint32_t ci,
			     const char *name, struct node *ret)
{
	struct child *child = picture_child(g->group, name);
	struct entry e;
	int r;

	if (!child || child->kind != CHILD_OBJECT ||
	    child->object->kind != OBJECT_DATASET ||
	    !classes_has(c, ci, (uint32_t)(child - g->group->children)))
		return -ENOENT;
	r = picture_entry(ns, child->object, &e);
	if (r < 0)
		return r;
	if (strcmp(e.name, name))
		r = -ENOENT;
	free(e.name);
	if (r == 0)
		*ret = (struct node){ child->object->number, e.view, 0 };
	return r;
}

static int lookup_class_member(struct ns *ns, struct object *o, uint32_t ci,
			       const char *name, struct node *ret)
{
	const struct classes *c;
	STATE_REF(ref, ns);
	const char *rest;
	uint64_t index;
	uint32_t row;
	int r;

	if (o->kind == OBJECT_GROUP) {
		r = labels_group_classes(ns, o, &c);
		if (r < 0)
			return r;
		return ci < c->count
			       ? group_class_child(ns, o, c, ci, name, ret)
			       : -ENOENT;
	}
	r = state_get(ns, o, &ref.st);
	if (r == 0)
		r = labels_classes(ns, ref.st, &c);
	if (r == 0 && ci >= c->count)
		r = -ENOENT;
	if (r < 0)
		return r;
	if (!parse_index(name, &index, &rest)) {
		r = rownames_find(ns, o, name, c, ci, &row);
		if (r == 0)
			*ret = (struct node){ o->number, V_SAMPLE, row };
		return r;
	}
	r = lookup_sample(ns, o, 0, 0, name, ret);
	if (r < 0)
		return r;
	return ret->view == V_SAMPLE && classes_has(c, ci, ret->index)
		       ? 0
		       : -ENOENT;
}

/* Under the name by which this mount committed it. */
static int lookup_class_name(struct ns *ns, const struct pin *p,
			     const char *name, struct node *ret)
{
	CLEANUP(intake_done) struct intake in = { 0 };
	uint32_t row;
	int r = ns->write ? intake_of(ns, p, &in) : -ENOENT;

	if (r == 0)
		r = committed_find(ns, in.dir, name, &row);
	if (r == 0 && row >= p->object->count)
		r = -ENOENT;
	if (r == 0)
		*ret = (struct node){ p->object->number, V_SAMPLE, row };
	return r;
}

static int lookup_class(struct ns *ns, struct object *o, const char *name,
			struct node *ret)
{
	const struct classes *c;
	STATE_REF(ref, ns);
	uint32_t ci;
	int r;

	if (o->kind == OBJECT_GROUP) {
		r = labels_group_classes(ns, o, &c);
	} else {
		r = state_get(ns, o, &ref.st);
		if (r == 0)
			r = labels_classes(ns, ref.st, &c);
	}
	if (r < 0)
		return r;
	if (!classes_find(c, name, &ci))
		return -ENOENT;
	*ret = (struct node){ o->number, V_CLASS, ci };
	return 0;
}

/* ---- unlisted names in a group ---- */

static struct object *shown_object(const struct group *grp, const char *name,
				   size_t len)
{
	CLEANUP(freep) char *base = strndup(name, len);
	struct child *c = base ? group_child_shown(grp, base) : NULL;

	return c && c->kind == CHILD_OBJECT ? c->object : NULL;
}

static bool ends_with(const char *name, const char *suffix, size_t *ret_base)
{
	size_t n = strlen(name), k = strlen(suffix);

	if (n <= k || strcmp(name + n - k, suffix))
		return false;
	*ret_base = n - k;
	return true;
}

static int lookup_byclass(struct ns *ns, struct object *o, struct node *ret)
{
	const struct classes *c;
	STATE_REF(ref, ns);
	int r = -ENOENT;

	if (o->kind == OBJECT_GROUP) {
		r = group_load(ns, o, GROUP_ENTRIES);
		if (r == 0)
			r = labels_group_classes(ns, o, &c);
	} else if (o->kind == OBJECT_DATASET && o->labelled) {
		r = state_get(ns, o, &ref.st);
		if (r == 0)
			r = labels_classes(ns, ref.st, &c);
	}
	if (r < 0)
		return r;
	*ret = (struct node){ o->number, V_BYCLASS, 0 };
	return 0;
}

static int lookup_slice(struct ns *ns, struct object *g, const char *name,
			size_t base, struct node *ret)
{
	/* a name may hold brackets itself: the first split that fits counts */
	for (const char *b = strchr(name, '['); b && (size_t)(b - name) < base;
	     b = strchr(b + 1, '[')) {
		struct object *o =
			shown_object(g->group, name, (size_t)(b - name));
		CLEANUP(freep)
		char *text = strndup(b + 1, base - 1 - (size_t)(b - name));
		struct ephemeral made = { 0 };
		const struct dataset_info *in;
		struct view_source src;
		STATE_REF(ref, ns);
		uint64_t size;
		int r;

		if (!text)
			return -ENOMEM;
		if (!o || o->kind != OBJECT_DATASET)
			continue;
		r = source_get(ns, o, false, &ref, &src);
		if (r < 0)
			return r;
		in = dset_info(src.dset);
		if (in->null || !dtype_is_plain(in->type))
			return -ENOENT;
		r = slice_parse(text, in->rank, in->dims, &made.slice);
		if (r == 0)
			r = slice_size(&src, &made.slice, &size);
		return r < 0 ? -ENOENT
			     : eph_get(ns, o, V_SLICE, text, &made, ret);
	}
	return -ENOENT;
}

static int lookup_nrrd(struct ns *ns, struct object *o, struct node *ret)
{
	struct view_source src;
	STATE_REF(ref, ns);
	int r = o && o->kind == OBJECT_DATASET ? state_get(ns, o, &ref.st)
					       : -ENOENT;

	if (r == 0)
		r = state_source(ref.st, false, &src);
	if (r < 0)
		return r;
	if (!view_nrrd.accepts(&src))
		return -ENOENT;
	*ret = (struct node){ o->number, V_NRRD, 0 };
	return 0;
}

static int lookup_query(struct ns *ns, struct object *g, const char *name,
			struct node *ret)
{
	struct ephemeral made = { 0 };
	int r = eph_lookup(ns, g, V_QUERY, name, ret);

	if (r != -ENOENT)
		return r;
	r = query_run(g, name + 1, &made);

	return r < 0 ? r : eph_get(ns, g, V_QUERY, name, &made, ret);
}

static int lookup_unlisted(struct ns *ns, struct object *g, const char *name,
			   struct node *ret)
{
	const struct group *grp = g->group;
	struct object *o;
	size_t base;

	if (!strcmp(name, ".attrs")) {
		*ret = (struct node){ g->number, V_ATTRS, 0 };
		return 0;
	}
	if (!strncmp(name, ".attrs.", 7)) {
		o = shown_object(grp, name + 7, strlen(name + 7));
		if (o && o->kind != OBJECT_GROUP) {
			*ret = (struct node){ o->number, V_ATTRS, 0 };
			return 0;
		}
		return -ENOENT;
	}
	if (!g->parent && !strcmp(name, ".h5fs")) {
		*ret = (struct node){ 0, V_H5FS, 0 };
		return 0;
	}
	if (!strcmp(name, ".by-class")) /* of the root itself */
		return g->parent ? -ENOENT : lookup_byclass(ns, g, ret);
	if (ends_with(name, ".by-class", &base)) {
		o = shown_object(grp, name, base);
		return o ? lookup_byclass(ns, o, ret) : -ENOENT;
	}
	if (ends_with(name, "].npy", &base))
		return lookup_slice(ns, g, name, base, ret);
	if (ends_with(name, ".nrrd", &base))
		return lookup_nrrd(ns, shown_object(grp, name, base), ret);
	if (name[0] == '@' && name[1])
		return lookup_query(ns, g, name, ret);
	o = shown_object(grp, name, strlen(name));
	if (o && o->hidden && o->kind == OBJECT_GROUP) {
		*ret = (struct node){ o->number, V_DIR, 0 };
		return 0;
	}
	return -ENOENT;
}

/* ---- directories ---- */

static struct node entry_node(const struct entry *e, const struct object *g)
{
	if (e->target)
		return (struct node){ g->number, V_LINK, e->index };
	return (struct node){ e->object->number, e->view, e->index };
}

static int lookup_group(struct ns *ns, struct object *g, const char *name,
			struct node *ret, uint64_t *ret_size)
{
	const struct entry *e;
	int r = group_load(ns, g, GROUP_ENTRIES);

	if (r < 0)
		return r;
	e = group_find(g->group, name);
	if (!e && ns->writer)
		e = group_find_dangling(g->group, name);
	if (e) {
		*ret = entry_node(e, g);
		if (!e->target && e->view != V_DIR && e->view != V_CLASS &&
		    e->view != V_BYCLASS)
			*ret_size = e->size;
		return 0;
	}
	return lookup_unlisted(ns, g, name, ret);
}

static int lookup_attr(const struct object *o, const char *name,
		       struct node *ret)
{
	struct attr_list l;
	int r = store_attrs(o->gen->store, o->info.id, &l);

	if (r < 0)
		return r;
	r = -ENOENT;
	for (size_t i = 0; r < 0 && i < l.count; i++) {
		CLEANUP(freep) char *shown = name_of_attr(l.names[i]);

		if (shown && !strcmp(shown, name)) {
			*ret = (struct node){ o->number, V_ATTR, (uint32_t)i };
			r = 0;
		}
	}
	attr_list_done(&l);
	return r;
}

static int lookup_control(const char *name, struct node *ret)
{
	for (uint32_t i = 0; i < CONTROLS; i++)
		if (!strcmp(name, control_names[i])) {
			*ret = (struct node){ 0, V_CONTROL, i };
			return 0;
		}
	return -ENOENT;
}

static int lookup_qlink(struct ns *ns, const struct pin *p, const char *name,
			struct node *ret)
{
	struct ephemeral *e;
	int r = -ENOENT;

	pthread_rwlock_wrlock(&ns->tables);
	e = eph_find(ns, p->node.object - NODE_EPHEMERAL);
	for (size_t i = 0; e && i < e->nlinks; i++)
		if (!strcmp(e->links[i].name, name)) {
			*ret = (struct node){ p->node.object, V_QLINK,
					      (uint32_t)i };
			e->refs++;
			__atomic_fetch_add(&e->object->gen->lookups, 1,
					   __ATOMIC_ACQ_REL);
			r = 0;
			break;
		}
	pthread_rwlock_unlock(&ns->tables);
	return r;
}

/* *ret_size: of a file whose size is known already; else untouched. */
static int find_committed(struct ns *ns, const struct pin *p, const char *name,
			  struct node *ret, uint64_t *ret_size)
{
	struct object *o = p->object;
	int r;

	switch (p->node.view) {
	case V_DIR:
		if (o->kind != OBJECT_GROUP)
			return lookup_sample(ns, o, 0, 0, name, ret);
		r = lookup_group(ns, o, name, ret, ret_size);
		return r == -ENOENT ? pending_lookup(ns, p, name, ret) : r;
	case V_PENDING:
		return pending_lookup(ns, p, name, ret);
	case V_ATTRS:
		return lookup_attr(o, name, ret);
	case V_BYCLASS:
		return lookup_class(ns, o, name, ret);
	case V_CLASS:
		r = lookup_class_member(ns, o, p->node.index, name, ret);
		return r == -ENOENT ? lookup_class_name(ns, p, name, ret) : r;
	case V_NEWCLASS:
		return -ENOENT;
	case V_H5FS:
		return lookup_control(name, ret);
	case V_QUERY:
		return lookup_qlink(ns, p, name, ret);
	default:
		break;
	}
	if (p->node.view > V_SUB)
		return lookup_sample(ns, o, p->node.view - V_SUB, p->node.index,
				     name, ret);
	return -ENOTDIR;
}

/* Is a name not there, or was it committed while it was looked for? Then it is in
 * the next generation, once that serves. */
static int not_there(struct ns *ns, const struct pin *dir)
{
	if (!ns->write || store_fresh(dir->gen->store) != -ESTALE)
		return -ENOENT;
	return staged_gone(ns, -ENOENT);
}

int lookup_committed(struct ns *ns, const struct pin *dir, const char *name,
		     struct node *ret)
{
	uint64_t size;
	int r = find_committed(ns, dir, name, ret, &size);

	return r == -ENOENT ? not_there(ns, dir) : r;
}

/* What is really there wins; a number is that of a row, if there is one. */
static int find_node(struct ns *ns, const struct pin *p, const char *name,
		     struct node *ret, uint64_t *ret_size)
{
	struct object *set;
	const char *rest;
	uint64_t index;
	bool number = parse_index(name, &index, &rest);
	int r = number ? -ENOENT : staged_lookup(ns, p, name, ret);

	if (r == -ENOENT)
		r = find_committed(ns, p, name, ret, ret_size);
	if (r == -ENOENT && number)
		r = staged_lookup(ns, p, name, ret);
	if (r != -ENOENT || !ns->write)
		return r;
	set = class_set_of(ns, p);
	if (set)
		r = new_class_lookup(ns, set, name, ret);
	return r == -ENOENT ? not_there(ns, p) : r;
}

/* A directory whose generation is still FILE's. The root always has one: on
 * -ESTALE the kernel walks a path again from there. */
static int pin_fresh(struct ns *ns, uint64_t ino, const char *name,
		     struct pin *p)
{
	int r = pin_get(ns, ino, p);

	if (r < 0 || p->node.view == V_H5FS)
		return r;
	r = store_fresh(p->gen->store);
	if (r != -ESTALE || p->node.object != 0)
		return r;
	/* what the mount says of itself answers whatever became of FILE */
	if (!strcmp(name, ".h5fs"))
		return 0;
	pin_done(p);
	r = refresh_now(ns);
	return r < 0 ? r : pin_get(ns, ino, p);
}

static int lookup_once(struct ns *ns, uint64_t parent, const char *name,
		       struct ns_entry *ret_entry)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(pin_done) struct pin found = { 0 };
	struct ns_entry e = { 0 };
	uint64_t size = UINT64_MAX;
	struct node node;
	int r = pin_fresh(ns, parent, name, &p);

	if (r < 0)
		return r;
	r = find_node(ns, &p, name, &node, &size);
	if (r < 0)
		return r;
	e.ino = node_ino(node);
	/* of the same generation as the directory, whatever comes between */
	found.ns = ns;
	found.node = node;
	found.gen = p.gen;
	__atomic_fetch_add(&p.gen->users, 1, __ATOMIC_ACQ_REL);
	if (node.object == 0) {
		found.object = p.gen->root;
	} else {
		CLEANUP(pin_done) struct pin again = { 0 };

		r = pin_get(ns, e.ino, &again);
		found.object = again.object;
		/* a commit came between: it is another generation's */
		if (r == 0 && again.gen != p.gen)
			r = -ESTALE;
	}
	if (r == 0 && size != UINT64_MAX)
		stat_fill(ns, found.object, node.view, node.index, S_IFREG,
			  size, &e.st);
	else if (r == 0)
		r = node_stat(ns, &found, true, &e.st);
	if (r < 0) {
		if (node.object >= NODE_EPHEMERAL)
			ns_forget(ns, e.ino, 1);
		return r;
	}
	if (node.object < NODE_EPHEMERAL)
		node_count(ns, node.object, 1);
	*ret_entry = e;
	return 0;
}

int ns_lookup(struct ns *ns, uint64_t parent, const char *name,
	      struct ns_entry *ret_entry)
{
	unsigned tries = 0;
	int r;

	do
		r = lookup_once(ns, parent, name, ret_entry);
	while (ns_again(ns, r, &tries));
	return r;
}
