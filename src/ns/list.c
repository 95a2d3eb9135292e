/* SPDX-License-Identifier: MIT */
/* list.c - directories, entry by entry from any offset. Offsets are positions,
 * so nothing is kept for an open directory, however many entries it has. */
#include <inttypes.h>
#include <stdio.h>

#include "write_int.h"

struct lister {
	struct ns *ns;
	const struct pin *dir;
	bool want_stat;
	ns_emit emit;
	void *arg;
	uint64_t tag; /* in the offsets it gives */
	bool given;   /* something was */
	bool full;    /* the receiver has had enough */
};

/* Offsets of the root's directories say which generation they are of. */
#define TAG_SHIFT 40
#define TAG_MASK 0xfffffu

static uint64_t gen_tag(const struct gen *gen)
{
	return (gen->root->serial & TAG_MASK) << TAG_SHIFT;
}

/* 1: the receiver has had enough. */
static int give(struct lister *l, struct ns_dirent *d, const struct object *o)
{
	/* the kernel holds a reference on what it was given; counted before it
	 * can give it back */
	bool counts = d->entry.ino > 1 && node_of(d->entry.ino).object;
	uint32_t number = node_of(d->entry.ino).object;

	(void)o;
	l->given = true;
	d->next |= l->tag;
	if (!l->want_stat) {
		d->entry.ino = 0;
		counts = false;
	}
	if (counts)
		node_count(l->ns, number, 1);
	if (l->emit(l->arg, d) == 0)
		return 0;
	l->full = true;
	if (counts)
		node_count(l->ns, number, -1);
	return 1;
}

/* ---- groups ---- */

#define NAMES_A_PAGE 256

/* One page of names that come after *after, at position *at; gives those from
 * `want` on. 1: there are no more, or the receiver has had enough. */
static int list_page(struct lister *l, const struct pin *p, uint64_t base,
		     uint64_t want, char **after, uint64_t *at)
{
	struct stage_names names = { 0 };
	int r = pending_names(l->ns, p, *after, NAMES_A_PAGE, &names);
	bool last = r < 0 || names.count < NAMES_A_PAGE;

	for (size_t i = 0; r == 0 && i < names.count; i++) {
		struct ns_dirent d = { .name = names.names[i],
				       .next = base + *at + 1 };

		if (*at >= want &&
		    pending_type(l->ns, p, d.name, &d.type, &d.st_ino) == 0) {
			d.entry.st.st_ino = d.st_ino;
			d.entry.st.st_mode = d.type;
			r = give(l, &d, p->object);
		}
		if (r)
			break;
		free(*after);
		*after = TAKE(names.names[i]);
		++*at;
	}
	stage_names_done(&names);
	return r == -ENOENT ? 1 : r == 0 ? last : r;
}

/* Behind `base` entries of other kinds. */
static int list_pending(struct lister *l, const struct pin *p, uint64_t base,
			uint64_t from)
{
	uint64_t dir = node_ino(p->node), want = from > base ? from - base : 0;
	CLEANUP(freep) char *after = NULL;
	uint64_t at;
	int r = mark_find(l->ns, dir, want, &after, &at);

	while (r == 0)
		r = list_page(l, p, base, want, &after, &at);
	if (after)
		mark_put(l->ns, dir, at, after);
	return r < 0 ? r : 0;
}

static int list_group(struct lister *l, const struct pin *p, uint64_t from)
{
	struct object *g = p->object;
	const struct group *grp;
	int r = group_load(l->ns, g, GROUP_ENTRIES);

	if (r < 0)
		return r;
	grp = g->group;
	for (uint64_t i = from; i < grp->nentries; i++) {
		const struct entry *e = &grp->entries[i];
		struct ns_dirent d = { .name = e->name, .next = i + 1 };
		struct node n = { e->object->number, e->view, e->index };

		d.type = e->target ? S_IFLNK
			 : e->view == V_DIR || e->view == V_CLASS ||
					 e->view == V_BYCLASS
				 ? S_IFDIR
				 : S_IFREG;
		if (e->target)
			n = (struct node){ g->number, V_LINK, e->index };
		stat_fill(l->ns, e->object, n.view, n.index, d.type,
			  e->size == UINT64_MAX ? 0 : e->size, &d.entry.st);
		d.st_ino = d.entry.st.st_ino;
		d.entry.ino = e->size == UINT64_MAX ? 0 : node_ino(n);
		if (give(l, &d, e->object))
			return 0;
	}
	return list_pending(l, p, grp->nentries, from);
}

/* ---- samples ---- */

struct sample_list { /* of one object: one size for all, or none */
	struct object *o;
	struct stat st;
	bool has_stat;
};

static int sample_list_init(struct lister *l, struct object *o,
			    struct sample_list *ret)
{
	uint64_t size = 0;
	int r = -EAGAIN;

	memset(ret, 0, sizeof(*ret));
	ret->o = o;
	if (sample_suffix(o))
		r = content_size(l->ns, o, V_SAMPLE, 0, false, &size);
	if (r < 0 && r != -EAGAIN)
		return r;
	ret->has_stat = r == 0;
	stat_fill(l->ns, o, V_SAMPLE, 0, S_IFREG, size, &ret->st);
	return 0;
}

static int give_sample(struct lister *l, struct sample_list *s, uint32_t index,
		       uint64_t shown, uint64_t next)
{
	const char *suffix = sample_suffix(s->o);
	struct ns_dirent d = { .next = next, .type = S_IFREG };
	char name[40];
	int r;

	if (suffix) {
		snprintf(name, sizeof(name), "%06" PRIu64 "%s", shown, suffix);
	} else {
		r = sample_name(l->ns, s->o, index, false, name, sizeof(name));
		if (r < 0)
			return r;
	}
	d.name = name;
	d.entry.st = s->st;
	d.entry.st.st_ino = stable_ino(s->o, V_SAMPLE, index);
	d.st_ino = d.entry.st.st_ino;
	if (s->has_stat)
		d.entry.ino = node_ino(
			(struct node){ s->o->number, V_SAMPLE, index });
	return give(l, &d, s->o);
}

static int give_dir(struct lister *l, struct object *o, struct node n,
		    const char *name, uint64_t next)
{
	struct ns_dirent d = { .name = name, .next = next, .type = S_IFDIR };

	stat_fill(l->ns, o, n.view, n.index, S_IFDIR, 0, &d.entry.st);
	d.st_ino = d.entry.st.st_ino;
	d.entry.ino = node_ino(n);
	return give(l, &d, o);
}

static int list_samples(struct lister *l, struct object *o, unsigned level,
			uint32_t prefix, uint64_t from)
{
	unsigned axes = o->row_files || o->layout->kind == LAYOUT_ENCODED
				? 1
				: o->layout->nindex;
	uint64_t dim = o->count;
	struct sample_list s;
	int r = 0;

	if (axes > 1) {
		STATE_REF(ref, l->ns);

		r = state_get(l->ns, o, &ref.st);
		if (r < 0)
			return r;
		dim = ref.st->src.shape.index_dims[level];
	}
	if (level + 1 < axes) {
		for (uint64_t i = from; i < dim; i++) {
			char name[24];
			struct node n = { o->number,
					  (uint8_t)(V_SUB + level + 1),
					  (uint32_t)(prefix * dim + i) };

			snprintf(name, sizeof(name), "%06" PRIu64, i);
			r = give_dir(l, o, n, name, i + 1);
			if (r)
				return r < 0 ? r : 0;
		}
		return 0;
	}
	r = sample_list_init(l, o, &s);
	for (uint64_t i = from; r == 0 && i < dim; i++)
		r = give_sample(l, &s, (uint32_t)(prefix * dim + i), i, i + 1);
	return r < 0 ? r : 0;
}

/* ---- class folders ---- */

static int get_classes(struct lister *l, struct object *o,
		       struct state_ref *ref, const struct classes **ret)
{
	int r;

	if (o->kind == OBJECT_GROUP)
		return labels_group_classes(l->ns, o, ret);
	r = state_get(l->ns, o, &ref->st);
	return r < 0 ? r : labels_classes(l->ns, ref->st, ret);
}

static int list_byclass(struct lister *l, struct object *o, uint64_t from)
{
	const struct classes *c;
	STATE_REF(ref, l->ns);
	int r = get_classes(l, o, &ref, &c);

	for (uint64_t i = from; r == 0 && i < c->shown; i++)
		r = give_dir(l, o,
			     (struct node){ o->number, V_CLASS, c->order[i] },
			     c->folders[c->order[i]].name, i + 1);
	return r < 0 ? r : 0;
}

/* The file of a single picture, in its class folder. */
static int give_child(struct lister *l, struct object *o, uint64_t next)
{
	struct ns_dirent d = { .next = next, .type = S_IFREG };
	struct entry e;
	int r = picture_entry(l->ns, o, &e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	d.name = e.name;
	stat_fill(l->ns, o, e.view, 0, S_IFREG,
		  e.size == UINT64_MAX ? 0 : e.size, &d.entry.st);
	d.st_ino = d.entry.st.st_ino;
	if (e.size != UINT64_MAX)
		d.entry.ino = node_ino((struct node){ o->number, e.view, 0 });
	r = give(l, &d, o);
	free(e.name);
	return r;
}

static int list_class(struct lister *l, struct object *o, uint32_t ci,
		      uint64_t from)
{
	const struct classes *c;
	struct sample_list s;
	STATE_REF(ref, l->ns);
	int r = get_classes(l, o, &ref, &c);

	if (r < 0)
		return r;
	if (ci >= c->count)
		return -ENOENT;
	if (o->kind == OBJECT_DATASET)
		r = sample_list_init(l, o, &s);
	for (uint64_t i = from; r == 0 && i < c->folders[ci].count; i++) {
		uint32_t row = c->rows[c->folders[ci].first + i];

		r = o->kind == OBJECT_DATASET
			    ? give_sample(l, &s, row, row, i + 1)
			    : give_child(l, o->group->children[row].object,
					 i + 1);
	}
	return r < 0 ? r : 0;
}

/* ---- the rest ---- */

static int list_attrs(struct lister *l, struct object *o, uint64_t from)
{
	struct attr_list a;
	int r = store_attrs(o->gen->store, o->info.id, &a);

	if (r < 0)
		return r;
	for (uint64_t i = from; r == 0 && i < a.count; i++) {
		CLEANUP(freep) char *name = name_of_attr(a.names[i]);
		struct ns_dirent d = { .name = name,
				       .next = i + 1,
				       .type = S_IFREG };

		if (!name)
			r = -ENOMEM;
		d.st_ino = stable_ino(o, V_ATTR, (uint32_t)i);
		d.entry.st.st_ino = d.st_ino;
		d.entry.st.st_mode = S_IFREG;
		if (r == 0)
			r = give(l, &d, o);
	}
	attr_list_done(&a);
	return r < 0 ? r : 0;
}

static int list_control(struct lister *l, struct object *o, uint64_t from)
{
	int r = 0;

	for (uint64_t i = from; r == 0 && i < CONTROLS; i++) {
		struct ns_dirent d = { .name = control_names[i],
				       .next = i + 1,
				       .type = S_IFREG };

		d.st_ino = stable_ino(o, V_CONTROL, (uint32_t)i);
		d.entry.st.st_ino = d.st_ino;
		d.entry.st.st_mode = S_IFREG;
		r = give(l, &d, o);
	}
	return 0;
}

static int list_query(struct lister *l, const struct pin *p, uint64_t from)
{
	int r = 0;

	for (uint64_t i = from; r == 0; i++) {
		struct ns_dirent d = { .next = i + 1, .type = S_IFLNK };
		CLEANUP(freep) char *name = NULL;
		struct ephemeral *e;
		uint64_t key = 0;

		pthread_rwlock_rdlock(&l->ns->tables);
		e = eph_find(l->ns, p->node.object - NODE_EPHEMERAL);
		if (e && i < e->nlinks) {
			name = strdup(e->links[i].name);
			key = hash_bytes(e->key, strlen(e->key), 3);
		}
		pthread_rwlock_unlock(&l->ns->tables);
		if (!name)
			return 0;
		d.name = name;
		d.st_ino = hash_mix(stable_ino(p->object, V_QLINK, (uint32_t)i),
				    key);
		d.entry.st.st_ino = d.st_ino;
		d.entry.st.st_mode = S_IFLNK;
		r = give(l, &d, p->object);
	}
	return 0;
}

/* Under the tables lock: where a listing that began in the generation of this tag
 * goes on. One that a commit of this mount has superseded lives on as the next, and
 * may be gone. */
static struct gen *find_tagged(struct ns *ns, uint64_t tag)
{
	struct gen *alive = ns->gen;

	for (struct gen *g = ns->gen; g; g = g->next) {
		if (!g->superseded)
			alive = g;
		if (gen_tag(g) == tag)
			return alive;
	}
	return ns->writer && !__atomic_load_n(&ns->detached, __ATOMIC_ACQUIRE)
		       ? ns->gen
		       : NULL;
}

/* The root is the current generation's: a listing of it that FILE's change
 * overtakes goes on in the generation where it began, or there would be names
 * in it twice and names missing. Inodes of old are not given away. -ESTALE: that
 * generation is gone. Where this mount writes, a generation goes on as the next
 * one, and so does the listing. */
static int go_on(struct lister *l, struct pin *p, uint64_t *from)
{
	uint64_t tag = *from & ((uint64_t)TAG_MASK << TAG_SHIFT);
	struct gen *gen;
	bool current;

	l->tag = gen_tag(p->gen);
	*from &= ~tag;
	if (*from == 0 || tag == l->tag)
		return 0;
	pthread_rwlock_rdlock(&l->ns->tables);
	gen = find_tagged(l->ns, tag);
	current = gen == l->ns->gen;
	if (gen)
		__atomic_fetch_add(&gen->users, 1, __ATOMIC_ACQ_REL);
	pthread_rwlock_unlock(&l->ns->tables);
	if (!gen)
		return -ESTALE;
	pin_done(p);
	p->gen = gen;
	p->object = gen->root;
	l->tag = gen_tag(gen);
	l->want_stat = l->want_stat && current;
	return 0;
}

/* ---- what is staged: behind all else, from an offset of its own on ---- */

/* Of the root bits above are the generation's. */
static unsigned staged_bits(const struct pin *p)
{
	return p->object->parent ? 60 : TAG_SHIFT - 2;
}

static uint64_t staged_offset(const struct pin *p)
{
	return (uint64_t)1 << (staged_bits(p) + 1);
}

static int list_new_classes(struct lister *l, const struct pin *p,
			    struct object *set, uint64_t from)
{
	const struct classes *c;
	STATE_REF(ref, l->ns);
	int r = get_classes(l, set, &ref, &c);

	for (uint64_t i = from; r == 0; i++) {
		struct ns_dirent d = { .next = staged_offset(p) + i + 1,
				       .type = S_IFDIR };
		CLEANUP(freep) char *name = NULL;

		if (!new_class_at(l->ns, set, c, i, &name))
			return 0;
		d.name = name;
		stat_fill(l->ns, set, V_NEWCLASS, 0, S_IFDIR, 0, &d.entry.st);
		d.st_ino = hash_mix(d.entry.st.st_ino,
				    hash_bytes(name, strlen(name), 3));
		r = give(l, &d, set);
	}
	return r < 0 ? r : 0;
}

static int give_staged(struct lister *l, const struct pin *p,
		       const struct intake *in, const char *name, uint64_t hash)
{
	struct ns_dirent d = { .name = name,
			       .next = staged_offset(p) + hash + 1,
			       .type = S_IFREG };

	stat_fill(l->ns, p->object, V_STAGED, 0, S_IFREG, 0, &d.entry.st);
	d.st_ino = staged_ino(d.entry.st.st_ino, in->sub, name);
	return give(l, &d, p->object);
}

/* from: a hash; first: the listing comes to them now. */
static int list_staged(struct lister *l, const struct pin *p, uint64_t from,
		       bool first)
{
	CLEANUP(intake_done) struct intake in = { 0 };
	struct object *set = class_set_of(l->ns, p);
	struct staged_names *names;
	const char *name;
	uint64_t hash;
	int r;

	if (set)
		return list_new_classes(l, p, set, from);
	if (stage_is_empty(l->ns->stage) &&
	    !__atomic_load_n(&l->ns->write->nfiles, __ATOMIC_ACQUIRE))
		return 0;
	r = intake_of(l->ns, p, &in);
	if (r == 0)
		r = staged_names_get(l->ns, &in, staged_bits(p), first, &names);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = staged_names_from(names, from);
	     r == 0 && (name = staged_names_at(names, i, &hash)); i++)
		r = give_staged(l, p, &in, name, hash);
	staged_names_put(l->ns, names);
	return r < 0 ? r : 0;
}

static int list_node(struct lister *l, const struct pin *p, uint64_t from)
{
	switch (p->node.view) {
	case V_DIR:
		return p->object->kind == OBJECT_GROUP
			       ? list_group(l, p, from)
			       : list_samples(l, p->object, 0, 0, from);
	case V_PENDING:
		return list_pending(l, p, 0, from);
	case V_BYCLASS:
		return list_byclass(l, p->object, from);
	case V_CLASS:
		return list_class(l, p->object, p->node.index, from);
	case V_NEWCLASS:
		return 0;
	case V_ATTRS:
		return list_attrs(l, p->object, from);
	case V_H5FS:
		return list_control(l, p->object, from);
	case V_QUERY:
		return list_query(l, p, from);
	default:
		break;
	}
	if (p->node.view > V_SUB)
		return list_samples(l, p->object, p->node.view - V_SUB,
				    p->node.index, from);
	return -ENOTDIR;
}

static int list_once(struct ns *ns, uint64_t dir, uint64_t from, bool want_stat,
		     ns_emit emit, void *arg, bool *ret_given)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	struct lister l = { ns, &p, want_stat, emit, arg, 0, false, false };
	uint64_t staged;
	int r = pin_get(ns, dir, &p);

	if (r == 0 && p.node.object == 0 && p.node.view != V_H5FS)
		r = go_on(&l, &p, &from);
	if (r < 0)
		return r;
	staged = staged_offset(&p);
	r = from < staged ? list_node(&l, &p, from) : 0;
	if (r == 0 && !l.full && ns->write)
		r = list_staged(&l, &p, from < staged ? 0 : from - staged,
				from < staged);
	*ret_given = l.given;
	return r;
}

int ns_list(struct ns *ns, uint64_t dir, uint64_t from, bool want_stat,
	    ns_emit emit, void *arg)
{
	unsigned tries = 0;
	bool given;
	int r;

	do {
		given = false;
		r = list_once(ns, dir, from, want_stat, emit, arg, &given);
	} while (!given && ns_again(ns, r, &tries));
	return r;
}
