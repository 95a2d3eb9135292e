/* SPDX-License-Identifier: MIT */
/* intake.c - what a file that is made in a directory becomes, and the names by
 * which it is known while it is not in FILE. */
#include <inttypes.h>
#include <stdio.h>

#include "write_int.h"

void intake_done(struct intake *in)
{
	free(in->dir);
	free(in->sub);
	free(in->class_name);
	free(in->label.name);
	memset(in, 0, sizeof(*in));
}

void place_name_done(struct place_name *pn)
{
	free(pn->dir);
	free(pn->sub);
	free(pn->name);
	memset(pn, 0, sizeof(*pn));
}

/* ---- names ---- */

bool name_is_held(const char *name)
{
	static const char *const ends[] = { "~", ".tmp", ".part" };
	size_t n = strlen(name);

	if (name[0] == '.')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t k = strlen(ends[i]);

		if (n >= k && !strcmp(name + n - k, ends[i]))
			return true;
	}
	return false;
}

size_t stem_length(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot > name ? (size_t)(dot - name) : strlen(name);
}

/* ---- directories ---- */

/* The object's path; of a class folder, and of a pending directory, with what it
 * is called there. */
static char *dir_key(const struct object *o, const char *sub)
{
	CLEANUP(freep) char *path = object_path(o);
	char *key = NULL;

	if (!path || !sub)
		return TAKE(path);
	return asprintf(&key, "%s\n%s", path, sub) < 0 ? NULL : key;
}

char *class_key(const struct classes *c, uint32_t ci)
{
	const struct class_folder *f = &c->folders[ci];
	char *key = NULL;

	if (f->label && (c->text || (!f->shared && !text_is_integer(f->label))))
		return strdup(f->label);
	return asprintf(&key, "%" PRId64, f->number) < 0 ? NULL : key;
}

static int take_class(const struct classes *c, uint32_t ci, struct intake *in)
{
	const struct class_folder *f;

	if (ci >= c->count)
		return -ENOENT;
	f = &c->folders[ci];
	if (!f->name)
		return -ENOENT;
	in->class_name = class_key(c, ci);
	in->sub = in->class_name ? strdup(in->class_name) : NULL;
	in->label.text = c->text;
	in->label.number = f->number;
	if (c->text)
		in->label.name = strdup(f->label);
	return in->sub && (!c->text || in->label.name) ? 0 : -ENOMEM;
}

static int of_class(struct ns *ns, const struct pin *dir, struct intake *in)
{
	const struct classes *c;
	STATE_REF(ref, ns);
	int r;

	if (dir->object->kind != OBJECT_DATASET)
		return -ENOENT;
	r = state_get(ns, dir->object, &ref.st);
	if (r == 0)
		r = labels_classes(ns, ref.st, &c);
	in->kind = INTAKE_SAMPLE;
	return r < 0 ? r : take_class(c, dir->node.index, in);
}

static int eph_key(struct ns *ns, const struct pin *p, char **ret_key)
{
	const struct ephemeral *e;
	char *key = NULL;

	pthread_rwlock_rdlock(&ns->tables);
	e = eph_find(ns, p->node.object - NODE_EPHEMERAL);
	if (e)
		key = strdup(e->key);
	pthread_rwlock_unlock(&ns->tables);
	if (!key)
		return e ? -ENOMEM : -ESTALE;
	*ret_key = key;
	return 0;
}

/* A class that has no folder of its own yet. */
static int take_new_class(struct object *o, struct ns *ns, struct intake *in)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	int r = label_open(ns, o, &d);

	if (r < 0)
		return r;
	in->class_name = strdup(in->sub);
	in->label.text = label_is_text(dset_info(d)->type);
	in->label.name = in->label.text ? strdup(in->sub) : NULL;
	in->label.number = in->label.text ? 0 : strtoll(in->sub, NULL, 10);
	return in->class_name && (!in->label.text || in->label.name) ? 0
								     : -ENOMEM;
}

int intake_of_class(struct ns *ns, struct object *o, const char *key,
		    struct intake *ret)
{
	CLEANUP(intake_done) struct intake in = { .kind = INTAKE_SAMPLE };
	const struct classes *c;
	STATE_REF(ref, ns);
	bool found = false;
	int r = state_get(ns, o, &ref.st);

	if (r == 0)
		r = labels_classes(ns, ref.st, &c);
	for (uint32_t i = 0; r == 0 && !found && i < c->shown; i++) {
		CLEANUP(freep) char *other = class_key(c, c->order[i]);

		if (!other)
			return -ENOMEM;
		found = !strcmp(other, key);
		if (found)
			r = take_class(c, c->order[i], &in);
	}
	if (r == 0 && !found) {
		in.sub = strdup(key);
		r = in.sub ? take_new_class(o, ns, &in) : -ENOMEM;
	}
	if (r < 0)
		return r;
	*ret = in;
	memset(&in, 0, sizeof(in));
	return 0;
}

static int of_new_class(struct ns *ns, const struct pin *dir, struct intake *in)
{
	int r = eph_key(ns, dir, &in->sub);

	in->kind = INTAKE_SAMPLE;
	return r < 0 ? r : take_new_class(dir->object, ns, in);
}

static int of_directory(struct ns *ns, const struct pin *dir, struct intake *in)
{
	if (dir->object->kind == OBJECT_DATASET)
		in->kind = INTAKE_SAMPLE;
	else if (ns->opts.view == NS_TREE)
		in->kind = INTAKE_OBJECT;
	return in->kind == INTAKE_NONE ? -ENOENT : 0;
}

static int of_pending(struct ns *ns, const struct pin *dir, struct intake *in)
{
	in->kind = INTAKE_OBJECT;
	return eph_key(ns, dir, &in->sub);
}

static const struct {
	uint8_t view;
	int (*of)(struct ns *ns, const struct pin *dir, struct intake *in);
} kinds[] = {
	{ V_DIR, of_directory },
	{ V_CLASS, of_class },
	{ V_NEWCLASS, of_new_class },
	{ V_PENDING, of_pending },
};

int intake_of(struct ns *ns, const struct pin *dir, struct intake *ret)
{
	CLEANUP(intake_done) struct intake in = { .object = dir->object };
	int r = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].view == dir->node.view)
			r = kinds[i].of(ns, dir, &in);
	if (r < 0)
		return r;
	in.dir = dir_key(in.object, in.sub);
	if (!in.dir)
		return -ENOMEM;
	*ret = in;
	memset(&in, 0, sizeof(in));
	return 0;
}

/* ---- nodes: an ephemeral's key is what follows the object, a slash, and the
 * name; of a class or a pending directory slashes are its own ---- */

int intake_node(struct ns *ns, const struct intake *in, const char *name,
		struct node *ret)
{
	CLEANUP(freep) char *key = NULL;
	struct ephemeral make = { 0 };

	if (asprintf(&key, "%s/%s", in->sub ? in->sub : "", name) < 0) {
		key = NULL;
		return -ENOMEM;
	}
	return eph_get(ns, in->object,
		       in->kind == INTAKE_SAMPLE ? V_STAGED : V_DRAFT, key,
		       &make, ret);
}

int place_name_of(struct ns *ns, const struct pin *p, struct place_name *ret)
{
	CLEANUP(place_name_done) struct place_name pn = { .object = p->object };
	CLEANUP(freep) char *key = NULL;
	int r = eph_key(ns, p, &key);
	char *slash = r == 0 ? strrchr(key, '/') : NULL;

	if (!slash)
		return r < 0 ? r : -ESTALE;
	*slash = 0;
	pn.name = strdup(slash + 1);
	if (*key)
		pn.sub = TAKE(key);
	pn.dir = dir_key(pn.object, pn.sub);
	if (!pn.name || !pn.dir)
		return -ENOMEM;
	*ret = pn;
	memset(&pn, 0, sizeof(pn));
	return 0;
}
