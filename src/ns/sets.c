/* SPDX-License-Identifier: MIT */
/* sets.c - row sets as the stage wants them: what a row has to hold of each
 * member, and by what rule a picture becomes that. */
#include <stdio.h>

#include "write_int.h"

void set_desc_done(struct set_desc *d)
{
	for (unsigned i = 0; i < d->set.nmembers; i++) {
		free(d->set.members[i].path);
		free(d->set.members[i].name);
		if (d->states[i])
			state_put(d->ns, d->states[i]);
	}
	free(d->set.members);
	free(d->set.key);
	free(d->objects);
	free(d->states);
	free(d->norms);
	if (d->gen)
		__atomic_fetch_sub(&d->gen->users, 1, __ATOMIC_ACQ_REL);
	memset(d, 0, sizeof(*d));
}

/* Fixed datasets are made growable first where that was asked for. */
static int check_growth(struct ns *ns, const struct dataset_info *in,
			struct stage_member *m, struct refusal *f)
{
	int r = writer_can_append(ns->writer, m->path, m->axis);

	if (r != -EOPNOTSUPP)
		return r;
	if (in->storage == STORAGE_VIRTUAL || in->storage == STORAGE_EXTERNAL)
		return refusal_set(f, r, "add rows with h5py", "%s: %s",
				   m->path, writer_why(ns->writer));
	if (!ns->opts.grow)
		return refusal_set(
			f, r, "mount with -o grow, which rewrites it growable",
			"%s: %s", m->path, writer_why(ns->writer));
	return 0; /* the commit rewrites it first */
}

/* ---- labels and names ---- */

static int index_of(const struct set_desc *d, const struct object *o)
{
	for (unsigned i = 0; o && i < d->set.nmembers; i++)
		if (d->objects[i] == o ||
		    (d->objects[i]->info.id.addr == o->info.id.addr &&
		     d->objects[i]->info.id.file == o->info.id.file))
			return (int)i;
	return -1;
}

/* labels=PATH:LABELS names a dataset by its path from the group. */
struct object *labels_of(struct ns *ns, struct object *o)
{
	const struct ns_rule *rule = o->rules ? o->rules->labels : NULL;
	struct object *found = NULL;

	if (!rule)
		return o->labels;
	if (strchr(rule->value, ':'))
		return NULL;
	LOCK_SCOPE(&ns->load);
	return walk_path(ns, *rule->value == '/' ? o->gen->root : o->parent,
			 rule->value, 16, &found) == 0
		       ? found
		       : NULL;
}

static int find_labels(struct set_desc *d, struct refusal *f)
{
	int first = -1;

	for (unsigned i = 0; i < d->set.nmembers; i++) {
		struct object *o = d->objects[i];
		int at = o->labelled ? index_of(d, labels_of(d->ns, o)) : -1;

		if (o->labelled && at < 0)
			return refusal_set(
				f, -EOPNOTSUPP,
				"add to both with h5py, or join them with "
				"-o rows=GROUP",
				"the labels of %s are not in its row set",
				d->set.members[i].path);
		if (at < 0)
			continue;
		d->set.members[at].role = STAGE_LABEL;
		if (i == d->member)
			d->label = at;
		if (first < 0)
			first = at;
	}
	if (d->label < 0)
		d->label = first;
	return 0;
}

/* Are the names in it without a suffix? The last one tells. */
static int look_at_names(struct set_desc *d)
{
	struct dset *ds = d->states[d->name]->dset;
	CLEANUP(array_freep) struct array *a = NULL;
	uint64_t rows = dset_info(ds)->dims[0], at = rows - 1, one = 1;
	const char *s;
	size_t n;
	int r;

	if (rows == 0)
		return 0;
	r = dset_read_cells(ds, &at, &one, &a);
	if (r < 0)
		return is_damage(r) ? 0 : r;
	dtype_string(a->type, array_at(a, 0), &s, &n);
	d->stem_names = n > 0 && !memchr(s, '.', n);
	return 0;
}

static int find_names(struct set_desc *d)
{
	struct object *m = rownames_member(d->ns, d->objects[d->member]);
	int at = index_of(d, m);

	if (at < 0 || !label_is_text(d->set.members[at].type))
		return 0;
	d->name = at;
	d->set.members[at].role = STAGE_NAME;
	return look_at_names(d);
}

/* ---- sets ---- */

/* The path of the first member that is samples: the same from mount to mount, and
 * it leads back to the set. */
static int make_key(struct set_desc *d)
{
	const struct stage_member *best = NULL;

	for (unsigned i = 0; i < d->set.nmembers; i++) {
		const struct stage_member *m = &d->set.members[i];
		int better =
			best ? (m->role < best->role) - (m->role > best->role)
			     : 1;

		if (better == 0)
			better = strcmp(m->path, best->path) < 0;
		if (better > 0)
			best = m;
	}
	d->set.key = strdup(best->path);
	return d->set.key ? 0 : -ENOMEM;
}

static int allocate(struct set_desc *d, const struct members *m)
{
	d->set.members = calloc(m->n, sizeof(*d->set.members));
	d->objects = calloc(m->n, sizeof(struct object *));
	d->states = calloc(m->n, sizeof(struct state *));
	d->norms = calloc(m->n, sizeof(*d->norms));
	if (!d->set.members || !d->objects || !d->states || !d->norms)
		return -ENOMEM;
	d->set.nmembers = (unsigned)m->n;
	d->group = m->group;
	for (size_t i = 0; i < m->n; i++)
		d->objects[i] = m->of[i];
	return 0;
}

static int fill(struct set_desc *d, const struct members *m,
		const struct object *o, struct refusal *f)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		if (m->of[i] == o)
			d->member = (unsigned)i;
		r = state_get(d->ns, m->of[i], &d->states[i]);
		if (r == 0)
			r = member_describe(m->of[i], m->axis, d->states[i],
					    &d->norms[i], &d->set.members[i],
					    f);
		if (r == 0)
			r = check_growth(d->ns, dset_info(d->states[i]->dset),
					 &d->set.members[i], f);
	}
	d->set.grow = d->ns->opts.grow;
	if (r == 0)
		d->set.rows = d->set.members[0].dims[m->axis];
	if (r == 0)
		r = find_labels(d, f);
	if (r == 0)
		r = find_names(d);
	return r < 0 ? r : make_key(d);
}

int set_desc_of(struct ns *ns, struct object *o, struct set_desc *ret,
		struct refusal *f)
{
	CLEANUP(set_desc_done)
	struct set_desc d = { .ns = ns, .label = -1, .name = -1 };
	CLEANUP(members_done) struct members m = { 0 };
	int r;

	if (!ns->writer)
		return -EROFS;
	d.gen = o->gen;
	__atomic_fetch_add(&d.gen->users, 1, __ATOMIC_ACQ_REL);
	r = members_find(ns, o, &m, f);
	if (r == 0)
		r = allocate(&d, &m);
	if (r == 0)
		r = fill(&d, &m, o, f);
	if (r < 0)
		return r;
	*ret = d;
	memset(&d, 0, sizeof(d));
	return 0;
}

int pin_path(struct ns *ns, const char *path, struct pin *ret_pin)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(freep) char *copy = strdup(path);
	char *rest = copy, *part;
	int r = copy ? pin_get(ns, NS_ROOT_INO, &p) : -ENOMEM;

	while (r == 0 && (part = strsep(&rest, "/"))) {
		const struct child *c;

		if (!*part)
			continue;
		if (p.object->kind != OBJECT_GROUP)
			return -ENOENT;
		r = group_load(ns, p.object, GROUP_ENTRIES);
		if (r < 0)
			return r;
		c = group_child(p.object->group, part);
		if (!c || c->kind != CHILD_OBJECT)
			return -ENOENT;
		p.object = c->object;
	}
	if (r < 0)
		return r;
	p.node.object = p.object->parent ? p.object->number : 0;
	*ret_pin = p;
	p.gen = NULL;
	return 0;
}

int set_by_key(struct ns *ns, const char *key, struct set_desc *ret,
	       struct refusal *f)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	char *copy = strdup(key);
	int r = copy ? pin_path(ns, key, &p) : -ENOMEM;

	if (r == 0 && p.object->kind != OBJECT_DATASET)
		r = -ENOENT;
	if (r == -ENOENT)
		(void)refusal_set(f, r,
				  "bring the dataset back, or drop what is "
				  "staged: h5fs discard DIR",
				  "rows are staged for it, and it is not in "
				  "the file");
	if (r == 0)
		r = set_desc_of(ns, p.object, ret, f);
	if (r < 0) {
		free(copy);
		return r;
	}
	free(ret->set.key);
	ret->set.key = copy;
	return 0;
}

/* ---- descriptions that are shared ---- */

void set_put(struct set_ref *s)
{
	struct write_side *w = s->d.ns->write;
	bool last;

	{
		LOCK_SCOPE(&w->lock);
		last = --s->refs == 0;
	}
	if (!last)
		return;
	set_desc_done(&s->d);
	free(s);
}

static struct set_ref *find_ref(struct write_side *w, const struct object *o)
{
	LOCK_SCOPE(&w->lock);

	for (size_t i = 0; i < ARRAY_SIZE(w->sets); i++)
		if (w->sets[i] && w->sets[i]->o == o &&
		    w->sets[i]->d.gen == o->gen) {
			w->sets[i]->refs++;
			return w->sets[i];
		}
	return NULL;
}

void sets_forget(struct ns *ns)
{
	struct write_side *w = ns->write;

	for (size_t i = 0; w && i < ARRAY_SIZE(w->sets); i++) {
		struct set_ref *s;

		pthread_mutex_lock(&w->lock);
		s = TAKE(w->sets[i]);
		pthread_mutex_unlock(&w->lock);
		if (s)
			set_put(s);
	}
}

int set_get(struct ns *ns, struct object *o, struct set_ref **ret_set,
	    struct refusal *f)
{
	struct write_side *w = ns->write;
	struct set_ref *s = find_ref(w, o), *old;
	int r;

	if (s) {
		*ret_set = s;
		return 0;
	}
	s = calloc(1, sizeof(*s));
	r = s ? set_desc_of(ns, o, &s->d, f) : -ENOMEM;
	if (r < 0) {
		free(s);
		return r;
	}
	s->o = o;
	s->refs = 2;
	pthread_mutex_lock(&w->lock);
	old = w->sets[w->next_set];
	w->sets[w->next_set] = s;
	w->next_set = (w->next_set + 1) % ARRAY_SIZE(w->sets);
	pthread_mutex_unlock(&w->lock);
	if (old)
		set_put(old);
	*ret_set = s;
	return 0;
}
