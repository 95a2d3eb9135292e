/* SPDX-License-Identifier: MIT */
/* ns.c - opens and closes the tree; objects, their numbers, and pins. */
#include <stdio.h>
#include <time.h>

#include "ns_int.h"

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- objects ---- */

void object_free(struct object *o)
{
	if (o->kind == OBJECT_GROUP)
		group_free(o->group);
	rule_match_free(o->rules);
	free(o->label);
	free(o->name);
	free(o);
}

/* Under the tables lock. UINT32_MAX: all are in use. */
static uint32_t take_number(struct ns *ns)
{
	uint32_t page = ns->nobjects / OBJECT_PAGE;

	if (ns->nfree)
		return ns->free_numbers[--ns->nfree];
	if (ns->nobjects == NODE_EPHEMERAL)
		return UINT32_MAX;
	if (!ns->pages[page])
		ns->pages[page] = calloc(OBJECT_PAGE, sizeof(*ns->pages[page]));
	return ns->pages[page] ? ns->nobjects++ : UINT32_MAX;
}

static struct object **holder_of(struct ns *ns, uint32_t number)
{
	return &ns->pages[number / OBJECT_PAGE][number % OBJECT_PAGE];
}

/* A number is given back when its generation goes: the kernel holds no reference
 * to any of its nodes then. */
void object_number_give(struct ns *ns, uint32_t number)
{
	*holder_of(ns, number) = NULL;
	if (ns->nfree == ns->free_cap) {
		uint32_t cap = ns->free_cap ? ns->free_cap * 2 : 1024;
		uint32_t *grown =
			realloc(ns->free_numbers, cap * sizeof(*grown));

		if (!grown)
			return; /* lost, not wrong */
		ns->free_numbers = grown;
		ns->free_cap = cap;
	}
	ns->free_numbers[ns->nfree++] = number;
}

/* What an object was before a commit of this mount: the child of that name of
 * what its parent was, in the newest generation that had looked there. */
static struct object *find_was(const struct object *o)
{
	struct object *w = o->parent ? o->parent->was : o->was;

	for (; w && o->parent; w = w->was) {
		const struct group *g =
			__atomic_load_n(&w->group, __ATOMIC_ACQUIRE);
		const struct child *c = g ? group_child(g, o->name) : NULL;

		if (c && c->kind == CHILD_OBJECT && c->object->kind == o->kind)
			return c->object->gone ? NULL : c->object;
	}
	return w;
}

void object_gone(struct ns *ns, struct object *o, bool gone)
{
	pthread_rwlock_wrlock(&ns->tables);
	for (; o; o = o->was)
		o->gone = gone;
	pthread_rwlock_unlock(&ns->tables);
}

/* Under the tables lock: o is what `was` was, and goes on as it. */
static void take_over(struct ns *ns, struct object *o, struct object *was)
{
	struct object **holder = holder_of(ns, was->number), *h = *holder;
	uint64_t n;

	o->was = was;
	o->rewritten = was->rewritten;
	/* a try to load the group that failed may have it */
	if (!h || h == o || (h != was && h->was != was))
		return;
	if (*holder_of(ns, o->number) == o)
		object_number_give(ns, o->number);
	o->number = was->number;
	*holder = o;
	n = __atomic_exchange_n(&h->lookups, 0, __ATOMIC_ACQ_REL);
	__atomic_fetch_add(&o->lookups, n, __ATOMIC_ACQ_REL);
	__atomic_fetch_sub(&h->gen->lookups, n, __ATOMIC_ACQ_REL);
	__atomic_fetch_add(&o->gen->lookups, n, __ATOMIC_ACQ_REL);
	if (h->ephemerals)
		eph_rebase(ns, h, o);
}

void object_adopt(struct ns *ns, struct object *o)
{
	struct object *was = find_was(o);

	o->was = was;
	if (was)
		take_over(ns, o, was);
}

void object_moved(struct ns *ns, struct object *was, uint64_t dir,
		  const char *name)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	const struct child *c;

	if (pin_get(ns, dir, &p) < 0 ||
	    group_load(ns, p.object, GROUP_ENTRIES) < 0)
		return;
	c = group_child(p.object->group, name);
	if (!c || c->kind != CHILD_OBJECT || c->object->kind != was->kind)
		return;
	pthread_rwlock_wrlock(&ns->tables);
	/* unless the kernel has already learned of it by a number of its own */
	if (!c->object->was && !c->object->lookups && !c->object->ephemerals)
		take_over(ns, c->object, was);
	pthread_rwlock_unlock(&ns->tables);
}

int object_new(struct ns *ns, struct gen *gen, enum object_kind kind,
	       struct object *parent, const char *name,
	       const struct obj_info *info, struct object **ret_object)
{
	struct object *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->kind = kind;
	o->gen = gen;
	o->parent = parent;
	o->info = *info;
	o->name = strdup(name);
	if (!o->name) {
		free(o);
		return -ENOMEM;
	}
	pthread_rwlock_wrlock(&ns->tables);
	o->number = take_number(ns);
	if (o->number == UINT32_MAX) {
		pthread_rwlock_unlock(&ns->tables);
		object_free(o);
		return -ENOSPC;
	}
	o->serial = ++ns->serials;
	*holder_of(ns, o->number) = o;
	o->older = gen->objects;
	gen->objects = o;
	gen->listed++;
	if (gen == ns->gen)
		object_adopt(ns, o);
	pthread_rwlock_unlock(&ns->tables);
	*ret_object = o;
	return 0;
}

char *object_path(const struct object *o)
{
	size_t len = 1;
	char *path, *p;

	for (const struct object *x = o; x->parent; x = x->parent)
		len += strlen(x->name) + 1;
	if (len == 1)
		return strdup("/");
	path = malloc(len);
	if (!path)
		return NULL;
	p = path + len - 1;
	*p = 0;
	for (const struct object *x = o; x->parent; x = x->parent) {
		size_t n = strlen(x->name);

		p -= n;
		memcpy(p, x->name, n);
		*--p = '/';
	}
	return path;
}

/* ---- pins ---- */

static struct object *find_object(struct ns *ns, uint32_t number)
{
	if (number == 0)
		return ns->gen->root;
	if (number >= ns->nobjects || !ns->pages[number / OBJECT_PAGE])
		return NULL;
	return *holder_of(ns, number);
}

/* The names of o's path, outermost first; *ret_n of them, and the array is the
 * caller's, the names are the objects'. */
static int path_names(const struct object *o, const char ***ret_names,
		      size_t *ret_n)
{
	const char **names;
	size_t n = 0;

	for (const struct object *x = o; x->parent; x = x->parent)
		n++;
	names = malloc((n + 1) * sizeof(*names));
	if (!names)
		return -ENOMEM;
	*ret_n = n;
	for (const struct object *x = o; x->parent; x = x->parent)
		names[--n] = x->name;
	*ret_names = names;
	return 0;
}

/* Looks for what o is in the current generation, which takes over its number on
 * the way. -ESTALE: it is not there any more. The caller uses o's generation. */
static int follow(struct ns *ns, const struct object *o)
{
	CLEANUP(freep) const char **names = NULL;
	struct object *at;
	struct gen *gen;
	size_t n = 0;
	int r = path_names(o, &names, &n);

	if (r < 0)
		return r;
	pthread_rwlock_rdlock(&ns->tables);
	gen = ns->gen;
	__atomic_fetch_add(&gen->users, 1, __ATOMIC_ACQ_REL);
	pthread_rwlock_unlock(&ns->tables);
	at = gen->root;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct child *c;

		r = group_load(ns, at, GROUP_ENTRIES);
		c = r == 0 ? group_child(at->group, names[i]) : NULL;
		if (r == 0 && (!c || c->kind != CHILD_OBJECT ||
			       (i + 1 < n && c->object->kind != OBJECT_GROUP)))
			r = -ESTALE;
		if (r == 0)
			at = c->object;
	}
	if (r == 0 && (at->number != o->number || at->kind != o->kind))
		r = -ESTALE;
	__atomic_fetch_sub(&gen->users, 1, __ATOMIC_ACQ_REL);
	return r;
}

/* 1: the object went on in another generation; again. */
static int pin_once(struct ns *ns, uint64_t ino, struct pin *ret_pin)
{
	struct pin p = { .ns = ns, .node = node_of(ino) };
	int r = 0;

	if (ino == 0)
		return -ENOENT;
	pthread_rwlock_rdlock(&ns->tables);
	if (p.node.object >= NODE_EPHEMERAL) {
		struct ephemeral *e =
			eph_find(ns, p.node.object - NODE_EPHEMERAL);

		p.object = e ? e->object : NULL;
	} else {
		p.object = find_object(ns, p.node.object);
	}
	if (p.object) {
		p.gen = p.object->gen;
		__atomic_fetch_add(&p.gen->users, 1, __ATOMIC_ACQ_REL);
		r = p.gen->superseded;
	} else {
		r = -ENOENT;
	}
	pthread_rwlock_unlock(&ns->tables);
	if (r == 1) {
		r = follow(ns, p.object);
		pin_done(&p);
		return r < 0 ? r : 1;
	}
	/* it took over its number before its group was decided upon */
	if (r == 0 && p.object->parent)
		r = group_load(ns, p.object->parent, GROUP_ENTRIES);
	if (r < 0)
		pin_done(&p);
	if (r == 0)
		*ret_pin = p;
	return r;
}

#define MAX_FOLLOWS 10

int pin_get(struct ns *ns, uint64_t ino, struct pin *ret_pin)
{
	int r = 1;

	for (unsigned i = 0; r == 1 && i < MAX_FOLLOWS; i++)
		r = pin_once(ns, ino, ret_pin);
	return r == 1 ? -ESTALE : r;
}

bool ns_again(struct ns *ns, int r, unsigned *tries)
{
	return r == -ESTALE && ns->writer && ++*tries <= MAX_FOLLOWS &&
	       refresh_now(ns) == 0;
}

void node_count(struct ns *ns, uint32_t number, int64_t n)
{
	struct object *o;

	if (number == 0) /* the root has no count of its own */
		return;
	pthread_rwlock_rdlock(&ns->tables);
	o = find_object(ns, number);
	if (o) {
		__atomic_fetch_add(&o->lookups, (uint64_t)n, __ATOMIC_ACQ_REL);
		__atomic_fetch_add(&o->gen->lookups, (uint64_t)n,
				   __ATOMIC_ACQ_REL);
	}
	pthread_rwlock_unlock(&ns->tables);
}

void pin_done(struct pin *p)
{
	if (p->gen)
		__atomic_fetch_sub(&p->gen->users, 1, __ATOMIC_ACQ_REL);
	p->gen = NULL;
}

void ns_forget(struct ns *ns, uint64_t ino, uint64_t n)
{
	struct node node = node_of(ino);

	if (node.object >= NODE_EPHEMERAL)
		eph_forget(ns, node.object - NODE_EPHEMERAL, n);
	else
		node_count(ns, node.object, -(int64_t)n);
}

/* More samples are looked at afresh when they are opened. */
#define MAX_TOLD_SAMPLES (1u << 20)

void object_rewritten(struct ns *ns, uint32_t number)
{
	struct node n = { number, V_SAMPLE, 0 };
	CLEANUP(pin_done) struct pin p = { 0 };
	uint64_t count = 0;

	if (pin_get(ns, node_ino(n), &p) < 0)
		return;
	pthread_rwlock_wrlock(&ns->tables);
	p.object->rewritten = true;
	for (const struct object *o = p.object; o; o = o->was)
		count = o->count > count ? o->count : count;
	pthread_rwlock_unlock(&ns->tables);
	__atomic_store_n(&ns->rewritten, true, __ATOMIC_RELEASE);
	ns_changed_object(ns, p.object);
	for (; n.index < count && n.index < MAX_TOLD_SAMPLES; n.index++)
		ns_changed(ns, node_ino(n));
	ns_tell(ns);
}

bool object_is_rewritten(struct ns *ns, uint32_t number)
{
	const struct object *o;
	bool is;

	if (!__atomic_load_n(&ns->rewritten, __ATOMIC_ACQUIRE))
		return false;
	pthread_rwlock_rdlock(&ns->tables);
	o = find_object(ns, number);
	is = o && o->rewritten;
	pthread_rwlock_unlock(&ns->tables);
	return is;
}

/* ---- open and close ---- */

static int set_owner(struct ns *ns)
{
	struct stat st;

	if (stat(ns->file, &st) < 0)
		return -errno;
	if (ns->opts.uid == (uid_t)-1)
		ns->opts.uid = st.st_uid;
	if (ns->opts.gid == (gid_t)-1)
		ns->opts.gid = st.st_gid;
	return 0;
}

/* An interrupted commit is finished or undone first, if that may be done here. */
static void recover(struct ns *ns)
{
	CLEANUP(freep) char *why = NULL;
	enum recovery what = RECOVERY_NONE;

	if (store_needs_recovery(ns->file, NULL) &&
	    store_recover(ns->file, NULL, &what, &why) == 0 &&
	    what != RECOVERY_NONE)
		ns->recovered = TAKE(why);
}

/* What can only be read is mounted for reading, and says why. Only a second
 * writer is refused: its rows would be kept apart from the first one's. */
static int open_writer(struct ns *ns, char **ret_why)
{
	struct writer_options o = { .faults = ns->faults,
				    .threads = ns->opts.threads };
	char *why = NULL;
	int r;

	ns->mode = ns->opts.mode;
	recover(ns);
	if (ns->mode == NS_RO)
		return 0;
	r = writer_open(ns->file, &o, &ns->writer, &why);
	if (r == -EBUSY || r == -ENOMEM) {
		*ret_why = why;
		return r;
	}
	if (r == 0)
		return 0;
	/* what else is wrong with FILE is told when it is opened for reading */
	ns->mode = NS_RO;
	ns->mode_why = why ? why : strdup(strerror(-r));
	return 0;
}

static int open_stage(struct ns *ns, char **ret_why)
{
	struct stage_options o = { .dir = ns->opts.stage_dir,
				   .faults = ns->faults };

	return stage_open(ns->writer, &o, &ns->stage, ret_why);
}

int ns_open(const char *file, const struct ns_options *opts, struct ns **ret_ns,
	    char **ret_why)
{
	CLEANUP(ns_closep) struct ns *ns = calloc(1, sizeof(*ns));
	int r;

	*ret_why = NULL;
	if (!ns)
		return -ENOMEM;
	pthread_mutex_init(&ns->load, NULL);
	pthread_mutex_init(&ns->refresh, NULL);
	pthread_rwlock_init(&ns->tables, NULL);
	pthread_mutex_init(&ns->states, NULL);
	pthread_mutex_init(&ns->control, NULL);
	pthread_mutex_init(&ns->commit, NULL);
	pthread_mutex_init(&ns->told, NULL);
	pthread_mutex_init(&ns->marks_lock, NULL);
	ns->nobjects = 1; /* 0 is the current root */
	ns->eph_free = UINT32_MAX;
	ns->started_ms = now_ms();
	r = ns_options_copy(&ns->opts, opts);
	if (r < 0)
		return r;
	ns->file = realpath(file, NULL);
	if (!ns->file) {
		r = -errno;
		*ret_why = strdup(strerror(errno));
		return r;
	}
	r = set_owner(ns);
	if (r == 0)
		r = cache_new(ns->opts.cache_bytes, ns->opts.threads + 1,
			      &ns->cache);
	if (r == 0)
		r = faults_new(&ns->faults);
	if (r == 0)
		r = open_writer(ns, ret_why);
	if (r == 0 && ns->writer) /* it numbers class folders from the first */
		r = write_side_open(ns);
	if (r == 0)
		r = gen_open(ns, &ns->gen, ret_why);
	if (r == 0 && ns->writer)
		r = open_stage(ns, ret_why);
	if (r == 0)
		r = rules_check(ns, ret_why);
	if (r < 0)
		return r;
	*ret_ns = TAKE(ns);
	return 0;
}

void ns_close(struct ns *ns)
{
	if (!ns)
		return;
	write_side_close(ns);
	eph_free_all(ns);
	while (ns->gen) {
		struct gen *next = ns->gen->next;

		gen_free(ns, ns->gen);
		ns->gen = next;
	}
	stage_close(ns->stage);
	writer_close(ns->writer); /* after the stores beside it */
	commit_done(ns);
	marks_done(ns);
	free(ns->mode_why);
	free(ns->recovered);
	free(ns->free_numbers);
	for (size_t i = 0; i < ARRAY_SIZE(ns->pages); i++)
		free(ns->pages[i]);
	for (size_t i = 0; i < CONTROLS; i++)
		blob_unref(ns->snapshots[i].bytes);
	cache_free(ns->cache);
	faults_free(ns->faults);
	ns_options_done(&ns->opts);
	pthread_mutex_destroy(&ns->load);
	pthread_mutex_destroy(&ns->refresh);
	strbuf_done(&ns->stale_names);
	pthread_rwlock_destroy(&ns->tables);
	pthread_mutex_destroy(&ns->states);
	pthread_mutex_destroy(&ns->control);
	pthread_mutex_destroy(&ns->commit);
	pthread_mutex_destroy(&ns->told);
	pthread_mutex_destroy(&ns->marks_lock);
	free(ns->file);
	free(ns);
}

const char *ns_file(const struct ns *ns)
{
	return ns->file;
}

enum ns_mode ns_mode(const struct ns *ns)
{
	return ns->mode;
}

const char *ns_mode_why(const struct ns *ns)
{
	return ns->mode_why;
}

struct faults *ns_faults(struct ns *ns)
{
	return ns->faults;
}

int ns_statvfs(struct ns *ns, struct statvfs *ret_st)
{
	if (statvfs(ns->file, ret_st) < 0)
		return -errno;
	if (ns->mode == NS_RO)
		ret_st->f_flag |= ST_RDONLY;
	ret_st->f_namemax = 255;
	return 0;
}
