/* SPDX-License-Identifier: MIT */
/* setxattr.c - attributes are set and removed: each one transaction, in the file
 * when the call returns. Where reading finds one (xattr.c), setting puts it. */
#include <stdio.h>
#include <sys/xattr.h>

#include "objects_int.h"
#include "xattr_int.h"

#define USER "user."
#define FACTS "user.h5fs."

/* A request; value NULL: to be removed. */
struct setting {
	const char *name; /* without "user." */
	const char *text;
	size_t n;
	int flags;
	struct refusal f;
};

/* Files that are copied with their attributes keep nothing of other kinds. */
static int check_name(const char *name)
{
	if (strncmp(name, USER, strlen(USER)))
		return -EOPNOTSUPP;
	if (!strncmp(name, FACTS, strlen(FACTS)))
		return -EPERM;
	return name[strlen(USER)] ? 0 : -EINVAL;
}

static int check_flags(const struct setting *s, bool exists)
{
	if (exists && s->flags & XATTR_CREATE)
		return -EEXIST;
	if (!exists && (s->flags & XATTR_REPLACE || !s->text))
		return -ENODATA;
	return 0;
}

/* ---- of objects ---- */

struct change {
	const char *path, *name;
	const struct array *value; /* NULL: removed */
};

static int act_change(void *arg, struct writer *w, struct refusal *f)
{
	const struct change *c = arg;

	(void)f;
	return c->value ? writer_set_attr(w, c->path, c->name, c->value)
			: writer_remove_attr(w, c->path, c->name);
}

/* An attribute that is there keeps its type and shape; one without a value, its
 * type. */
static int make_value(struct setting *s, const struct array *old,
		      struct array **ret_value)
{
	if (!old)
		return value_guess(s->text, s->n, ret_value);
	return value_parse(s->text, s->n, old->type, old->null ? 0 : old->rank,
			   old->dims, ret_value, &s->f);
}

static int read_old(const struct object *o, struct setting *s,
		    struct array **ret_old)
{
	int r = store_attr(o->gen->store, o->info.id, s->name, ret_old);

	if (r == -ENODATA)
		return 0;
	if (is_damage(r))
		return refusal_set(&s->f, -EIO, "set it with h5py",
				   "the attribute that is there can not be "
				   "read, so what it can hold is not known");
	return r;
}

static bool is_asked_for(const char *name)
{
	for (const char *const *n = layout_dataset_facts; *n; n++)
		if (!strcmp(*n, name))
			return true;
	return false;
}

static int set_of_object(struct ns *ns, const struct pin *p, struct setting *s)
{
	const struct object *o = p->object, *g = o->parent;
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	CLEANUP(array_freep) struct array *old = NULL;
	CLEANUP(array_freep) struct array *value = NULL;
	CLEANUP(freep) char *path = object_path(o);
	bool shows = o->kind == OBJECT_DATASET && is_asked_for(s->name);
	uint32_t number = o->number;
	uint64_t parent = NS_ROOT_INO;
	int r = path ? group_is_ours(o, &s->f) : -ENOMEM;

	if (r == 0)
		r = read_old(o, s, &old);
	if (r == 0)
		r = check_flags(s, old);
	if (r < 0)
		return r;
	if (old && ns->mode != NS_EDIT)
		return refusal_set(&s->f, -EPERM, "mount with -o edit",
				   "the attribute is there already, and what "
				   "is committed is not changed");
	if (s->text)
		r = make_value(s, old, &value);
	if (r < 0)
		return r;
	/* it may say as what the dataset is shown */
	if (shows) {
		parent = node_ino(
			(struct node){ g->parent ? g->number : 0, V_DIR, 0 });
		shown_names(g->group, o->name, &names);
	}
	r = ns_transact(ns, path, act_change,
			&(struct change){ path, s->name, value });
	if (r == 0 && shows) {
		tell_names(ns, parent, &names);
		object_rewritten(ns, number);
	}
	return r;
}

/* ---- by what the node is ---- */

static int set_by_node(struct ns *ns, const struct pin *p, struct setting *s)
{
	switch (p->node.view) {
	case V_PENDING:
		return pending_setxattr(ns, p, s->name, s->text, s->n,
					s->flags);
	case V_STAGED:
	case V_DRAFT:
		return s->text ? staged_setxattr(ns, p, s->name, s->text, s->n,
						 s->flags, &s->f)
			       : -EPERM;
	case V_SAMPLE:
		return row_setxattr(ns, p, s->name, s->text, s->n, s->flags,
				    &s->f);
	default:
		break;
	}
	if (!xattr_carries(p))
		return refusal_set(&s->f, -EOPNOTSUPP,
				   "set it on the object that it belongs to",
				   "only objects have attributes");
	return set_of_object(ns, p, s);
}

static int fault_path(const struct pin *p, char **ret_path)
{
	*ret_path = object_path(p->object);
	return *ret_path ? 0 : -ENOMEM;
}

static int set_once(struct ns *ns, uint64_t ino, struct setting *s)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(freep) char *path = NULL;
	int r = pin_get(ns, ino, &p);

	if (r < 0)
		return r;
	r = set_by_node(ns, &p, s);
	if (r == 0 || !s->f.reason || fault_path(&p, &path) < 0)
		return r;
	return ns_refuse(ns, path, &s->f, r);
}

static int set(struct ns *ns, uint64_t ino, struct setting *s)
{
	unsigned tries = 0;
	int r;

	if (ns->mode == NS_RO)
		return -EROFS;
	do
		r = set_once(ns, ino, s);
	while (ns_again(ns, r, &tries));
	refusal_done(&s->f);
	return r;
}

int ns_setxattr(struct ns *ns, uint64_t ino, const char *name,
		const void *value, size_t size, int flags)
{
	struct setting s = { .name = name + strlen(USER),
			     .text = size ? value : "",
			     .n = size,
			     .flags = flags };
	int r = check_name(name);

	return r < 0 ? r : set(ns, ino, &s);
}

int ns_removexattr(struct ns *ns, uint64_t ino, const char *name)
{
	struct setting s = { .name = name + strlen(USER) };
	int r = check_name(name);

	return r < 0 ? r : set(ns, ino, &s);
}
