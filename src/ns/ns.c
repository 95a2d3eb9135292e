/* SPDX-License-Identifier: MIT */
/* ns.c - opens and closes the tree; objects, their numbers, and pins. */
#include <fcntl.h>
#include <sched.h>
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

/* A number is given back when its generation goes: the kernel holds no reference
 * to any of its nodes then. */
void object_number_give(struct ns *ns, uint32_t number)
{
	ns->pages[number / OBJECT_PAGE][number % OBJECT_PAGE] = NULL;
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
	ns->pages[o->number / OBJECT_PAGE][o->number % OBJECT_PAGE] = o;
	o->older = gen->objects;
	gen->objects = o;
	gen->listed++;
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
	return ns->pages[number / OBJECT_PAGE][number % OBJECT_PAGE];
}

int pin_get(struct ns *ns, uint64_t ino, struct pin *ret_pin)
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
	} else {
		r = -ENOENT;
	}
	pthread_rwlock_unlock(&ns->tables);
	if (r == 0)
		*ret_pin = p;
	return r;
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
	struct object *o;

	if (node.object >= NODE_EPHEMERAL) {
		eph_forget(ns, node.object - NODE_EPHEMERAL, n);
		return;
	}
	if (node.object == 0) /* the root has no count of its own */
		return;
	pthread_rwlock_rdlock(&ns->tables);
	o = find_object(ns, node.object);
	if (o)
		__atomic_fetch_sub(&o->gen->lookups, n, __ATOMIC_ACQ_REL);
	pthread_rwlock_unlock(&ns->tables);
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

static int open_points(struct ns *ns)
{
	int fd;

	if (ns->opts.points_fd < 0 || ns->opts.points_bytes == 0)
		return 0;
	fd = fcntl(ns->opts.points_fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno
		      : points_new(fd, ns->opts.points_bytes, &ns->points);
}

/* On a single core nobody is idle who could decode ahead. */
static int start_pool(struct ns *ns)
{
	unsigned n = 1;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = (unsigned)CPU_COUNT(&set);
	if (n > ns->opts.threads)
		n = ns->opts.threads;
	return n < 2 ? 0 : pool_new(n, &ns->pool);
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
		r = open_points(ns);
	if (r == 0)
		r = start_pool(ns);
	if (r == 0)
		r = faults_new(&ns->faults);
	if (r == 0)
		r = gen_open(ns, &ns->gen, ret_why);
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
	eph_free_all(ns);
	pool_free(ns->pool); /* what it decodes is the stores' */
	while (ns->gen) {
		struct gen *next = ns->gen->next;

		gen_free(ns, ns->gen);
		ns->gen = next;
	}
	free(ns->free_numbers);
	for (size_t i = 0; i < ARRAY_SIZE(ns->pages); i++)
		free(ns->pages[i]);
	for (size_t i = 0; i < CONTROLS; i++)
		blob_unref(ns->snapshots[i].bytes);
	cache_free(ns->cache);
	points_free(ns->points);
	faults_free(ns->faults);
	ns_options_done(&ns->opts);
	pthread_mutex_destroy(&ns->load);
	pthread_mutex_destroy(&ns->refresh);
	strbuf_done(&ns->stale_names);
	pthread_rwlock_destroy(&ns->tables);
	pthread_mutex_destroy(&ns->states);
	pthread_mutex_destroy(&ns->control);
	free(ns->file);
	free(ns);
}

const char *ns_file(const struct ns *ns)
{
	return ns->file;
}

struct faults *ns_faults(struct ns *ns)
{
	return ns->faults;
}

int ns_statvfs(struct ns *ns, struct statvfs *ret_st)
{
	if (statvfs(ns->file, ret_st) < 0)
		return -errno;
	ret_st->f_flag |= ST_RDONLY;
	ret_st->f_namemax = 255;
	return 0;
}
