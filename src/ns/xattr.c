/* SPDX-License-Identifier: MIT */
/* xattr.c - attributes as extended attributes: those of the object, facts that
 * h5fs adds (user.h5fs.*), and a sample's own row. */
#include <inttypes.h>
#include <stdio.h>

#include "xattr_int.h"

#define XATTR_NAME_MAX_ 255
#define XATTR_VALUE_MAX_ 65536
#define XATTR_LIST_MAX_ 65536
#define USER "user."
#define FACTS "user.h5fs."

bool xattr_carries(const struct pin *p)
{
	switch (p->node.view) {
	case V_LINK:
	case V_ATTRS:
	case V_ATTR:
	case V_H5FS:
	case V_CONTROL:
	case V_QUERY:
	case V_QLINK:
	case V_CLASS:
	case V_BYCLASS:
		return false;
	default:
		return true;
	}
}

/* ---- the object's own attributes ---- */

#define FACTS_ROOM 512 /* bytes of the names of all facts, at most */

static void put_name(struct strbuf *out, const char *prefix, const char *name)
{
	if (strlen(prefix) + strlen(name) > XATTR_NAME_MAX_)
		return;
	strbuf_puts(out, prefix);
	strbuf_put(out, name, strlen(name) + 1);
}

static int get_attr(const struct object *o, const char *name,
		    struct strbuf *out)
{
	CLEANUP(array_freep) struct array *a = NULL;
	int r = store_attr(o->gen->store, o->info.id, name, &a);

	return r < 0 ? r : text_of_array(a, out);
}

/* getfattr -d fails on a listed value over 64 KiB, and a list over 64 KiB is
 * E2BIG to whoever asks. What can not be read is not listed. */
static int add_attr(const struct object *o, const char *name,
		    struct attr_names *to)
{
	struct strbuf value = STRBUF_INIT;
	bool fits;
	int r;

	if (is_fact(name)) /* it is shown instead */
		return 0;
	if (strlen(USER) + strlen(name) > XATTR_NAME_MAX_) {
		to->more = true;
		return 0;
	}
	r = get_attr(o, name, &value);
	fits = value.len <= XATTR_VALUE_MAX_;
	strbuf_done(&value);
	if (r < 0)
		return is_damage(r) ? 0 : r;
	if (fits)
		put_name(&to->list, USER, name);
	else
		to->more = true;
	return 0;
}

/* Reads each of them, so once is enough. */
int find_attrs(struct fact_arg *a)
{
	const struct object *o = a->p->object;
	struct attr_names *to = &a->attrs;
	struct attr_list l;
	int r;

	if (to->done)
		return 0;
	r = store_attrs(o->gen->store, o->info.id, &l);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < l.count; i++) {
		if (to->list.len + strlen(USER) + strlen(l.names[i]) + 1 >
		    XATTR_LIST_MAX_ - FACTS_ROOM) {
			to->more = true;
			break;
		}
		r = add_attr(o, l.names[i], to);
	}
	attr_list_done(&l);
	to->done = r == 0;
	return r;
}

/* ---- a sample's row ---- */

struct object *xattr_row_member(const struct object *o, const char *name)
{
	struct child *c =
		o->parent ? group_child(o->parent->group, name) : NULL;
	struct object *m = c && c->kind == CHILD_OBJECT ? c->object : NULL;

	return m && m != o && m->kind == OBJECT_DATASET && m->row_member &&
			       m->rows == o->rows
		       ? m
		       : NULL;
}

static int row_text(struct dset *d, uint32_t index, struct strbuf *out)
{
	CLEANUP(array_freep) struct array *a = NULL;
	uint64_t start[DT_MAX_RANK] = { index }, count[DT_MAX_RANK] = { 1 };
	int r;

	if (dset_info(d)->rank == 2)
		count[1] = dset_info(d)->dims[1];
	r = dset_read_cells(d, start, count, &a);
	if (r < 0)
		return r;
	if (a->rank == 2)
		a->dims[0] = a->dims[1];
	a->rank--; /* one row: a scalar or a vector */
	return text_of_array(a, out);
}

static int row_value(struct object *m, uint32_t index, struct strbuf *out)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	int r = open_dataset(m, &d);

	return r < 0 ? r : row_text(d, index, out);
}

#define NUMBER_ROOM 32 /* of a number in a list, at most */

/* getfattr -d fails on a listed value over 64 KiB. */
static bool row_fits(struct object *m, uint32_t index)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	struct strbuf text = STRBUF_INIT;
	const struct dataset_info *in;
	bool fits;
	uint64_t n;

	if (m->rank == 1 && m->desc && m->desc->kind == DESC_NUMBER)
		return true;
	if (open_dataset(m, &d) < 0)
		return true; /* asked for, it says why not */
	in = dset_info(d);
	n = in->rank == 2 ? in->dims[1] : 1;
	if (n >= XATTR_VALUE_MAX_ / 2) /* "0," each */
		return false;
	if (dtype_is_number(in->type) && in->type->class != DT_ENUM &&
	    n < XATTR_VALUE_MAX_ / NUMBER_ROOM)
		return true;
	fits = row_text(d, index, &text) < 0 || text.len <= XATTR_VALUE_MAX_;
	strbuf_done(&text);
	return fits;
}

bool xattr_has_row(const struct pin *p, uint32_t *ret_row)
{
	const struct object *o = p->object;
	uint64_t inner;

	if (!is_sample(p) || !o->rows)
		return false;
	if (o->layout->kind == LAYOUT_PICTURES &&
	    (!o->layout->nindex || o->layout->index[0] != 0))
		return false;
	inner = o->count / o->rows;
	*ret_row = inner ? (uint32_t)(p->node.index / inner) : 0;
	return true;
}

static int row_xattr(struct ns *ns, const struct pin *p, const char *name,
		     struct strbuf *out)
{
	struct object *m;
	uint32_t row;

	if (is_sample(p) && p->object->labelled) {
		if (!strcmp(name, "label"))
			return labels_of_row(ns, p->object, p->node.index, out,
					     NULL);
		if (!strcmp(name, "class"))
			return labels_of_row(ns, p->object, p->node.index, NULL,
					     out);
	}
	if (!xattr_has_row(p, &row))
		return -ENODATA;
	m = xattr_row_member(p->object, name);
	return m ? row_value(m, row, out) : -ENODATA;
}

/* ---- get ---- */

static int get_fact(struct ns *ns, const struct pin *p, const char *name,
		    struct strbuf *out)
{
	CLEANUP(fact_arg_done) struct fact_arg a = { 0 };
	STATE_REF(ref, ns);
	int r = fact_arg_init(ns, p, &ref, &a);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (!strcmp(facts[i].name, name))
			return facts[i].get(&a, out);
	return -ENODATA;
}

static int xattr_once(struct ns *ns, uint64_t ino, const char *name,
		      struct blob **ret_value)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	struct strbuf out = STRBUF_INIT;
	int r;

	if (!strncmp(name, "security.", 9) || !strncmp(name, "system.", 7))
		return -EOPNOTSUPP;
	if (strncmp(name, USER, strlen(USER)))
		return -ENODATA;
	r = pin_get(ns, ino, &p);
	if (r < 0)
		return r;
	if (p.node.view == V_PENDING)
		return pending_xattr(ns, &p, name + strlen(USER), ret_value);
	if (p.node.view == V_STAGED || p.node.view == V_DRAFT)
		return staged_xattr(ns, &p, name + strlen(USER), ret_value);
	if (!xattr_carries(&p))
		return -ENODATA;
	r = -ENODATA;
	if (!strncmp(name, FACTS, strlen(FACTS)))
		r = get_fact(ns, &p, name + strlen(FACTS), &out);
	if (r == -ENODATA)
		r = row_xattr(ns, &p, name + strlen(USER), &out);
	if (r == -ENODATA)
		r = get_attr(p.object, name + strlen(USER), &out);
	if (r == 0)
		r = strbuf_to_blob(&out, ret_value);
	strbuf_done(&out);
	return r;
}

int ns_xattr(struct ns *ns, uint64_t ino, const char *name,
	     struct blob **ret_value)
{
	unsigned tries = 0;
	int r;

	do
		r = xattr_once(ns, ino, name, ret_value);
	while (ns_again(ns, r, &tries));
	return r;
}

/* ---- list ---- */

static void list_facts(struct fact_arg *a, struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		struct strbuf value = STRBUF_INIT;

		if (facts[i].there ? facts[i].there(a)
				   : facts[i].get(a, &value) == 0)
			put_name(out, FACTS, facts[i].name);
		strbuf_done(&value);
	}
}

static void list_row(const struct pin *p, struct strbuf *out)
{
	const struct object *o = p->object;
	const struct group *g = o->parent ? o->parent->group : NULL;
	uint32_t row;

	if (!xattr_has_row(p, &row))
		g = NULL;

	if (o->labelled) {
		put_name(out, USER, "label");
		put_name(out, USER, "class");
	}
	for (size_t i = 0; g && i < g->nchildren; i++) {
		const char *name = g->children[i].name;
		struct object *m = xattr_row_member(o, name);

		if (out->len + strlen(name) + strlen(USER) + 1 >
		    XATTR_LIST_MAX_)
			break;
		if (m &&
		    !(o->labelled &&
		      (!strcmp(name, "label") || !strcmp(name, "class"))) &&
		    row_fits(m, row))
			put_name(out, USER, name);
	}
}

static int list_attrs(struct fact_arg *a, struct strbuf *out)
{
	int r = find_attrs(a);

	if (r < 0)
		return is_damage(r) ? 0 : r;
	strbuf_put(out, a->attrs.list.buf, a->attrs.list.len);
	return strbuf_error(&a->attrs.list);
}

static int list_pending(struct ns *ns, const struct pin *p, struct strbuf *out)
{
	struct stage_names names = { 0 };
	int r = pending_xattrs(ns, p, &names);

	for (size_t i = 0; r == 0 && i < names.count; i++)
		put_name(out, USER, names.names[i]);
	stage_names_done(&names);
	return r < 0 ? r : strbuf_error(out);
}

static int xattrs_once(struct ns *ns, uint64_t ino, struct strbuf *out)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(fact_arg_done) struct fact_arg a = { 0 };
	STATE_REF(ref, ns);
	int r = pin_get(ns, ino, &p);

	if (r == 0 && p.node.view == V_PENDING)
		return list_pending(ns, &p, out);
	if (r == 0 && (p.node.view == V_STAGED || p.node.view == V_DRAFT))
		return staged_xattrs(ns, &p, out);
	if (r < 0 || !xattr_carries(&p))
		return r;
	r = fact_arg_init(ns, &p, &ref, &a);
	if (r < 0)
		return r;
	list_facts(&a, out);
	/* a sample lists its row; the set's own attributes answer unlisted */
	if (is_sample(&p))
		list_row(&p, out);
	else
		r = list_attrs(&a, out);
	return r < 0 ? r : strbuf_error(out);
}

int ns_xattrs(struct ns *ns, uint64_t ino, struct strbuf *out)
{
	unsigned tries = 0;
	int r;

	do {
		strbuf_done(out);
		r = xattrs_once(ns, ino, out);
	} while (ns_again(ns, r, &tries));
	return r;
}
