/* SPDX-License-Identifier: MIT */
/* names.c - the one path by which each object is known.
 *
 * One walk over all groups in order of path (shortest, then bytewise first), so
 * that the first path that leads to a group is its own; external links to groups
 * are followed. Made when first asked for: only references and groups with
 * several links need it. It is made once: what damage or its bound cuts off has
 * no path. */
#include <stdio.h>

#include "store_int.h"

#define NONE UINT32_MAX

struct entry {
	struct obj_id id;
	uint32_t parent; /* a group's entry; NONE for the root */
	uint32_t depth;
	uint32_t next; /* in the hash chain */
	enum obj_kind kind;
	const char *name;
};
struct pending { /* a group to be walked */
	char *path;
	size_t len;
	struct obj_id id;
	uint32_t parent, depth;
	const char *name;
};
struct names {
	struct arena *arena;
	uint32_t max; /* entries */
	struct entry *entries;
	uint32_t count, cap;
	uint32_t *hash;
	uint32_t nhash;
	struct pending *heap;
	size_t nheap, heap_cap;
};

static void drop_pending(struct names *n)
{
	for (size_t i = 0; i < n->nheap; i++)
		free(n->heap[i].path);
	free(n->heap);
	n->heap = NULL;
	n->nheap = n->heap_cap = 0;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	drop_pending(n);
	free(n->hash);
	free(n->entries);
	arena_free(n->arena);
	free(n);
}
DEFINE_CLEANUP(struct names *, names_free)

static uint32_t slot_of(const struct names *n, struct obj_id id)
{
	return (uint32_t)hash_mix(id.addr, id.file) & (n->nhash - 1);
}

static struct entry *find(const struct names *n, struct obj_id id)
{
	if (!n->nhash)
		return NULL;
	for (uint32_t i = n->hash[slot_of(n, id)]; i != NONE;
	     i = n->entries[i].next)
		if (n->entries[i].id.addr == id.addr &&
		    n->entries[i].id.file == id.file)
			return &n->entries[i];
	return NULL;
}

static int rehash(struct names *n)
{
	uint32_t size = n->nhash ? n->nhash * 2 : 1024;
	uint32_t *h = malloc(size * sizeof(*h));

	if (!h)
		return -ENOMEM;
	memset(h, 0xff, size * sizeof(*h));
	free(n->hash);
	n->hash = h;
	n->nhash = size;
	for (uint32_t i = 0; i < n->count; i++) {
		uint32_t *head = &n->hash[slot_of(n, n->entries[i].id)];

		n->entries[i].next = *head;
		*head = i;
	}
	return 0;
}

static int add(struct names *n, const struct entry *e)
{
	uint32_t *head;
	int r = n->count >= n->nhash ? rehash(n) : 0;

	if (r < 0)
		return r;
	if (n->count >= n->max)
		return -E2BIG;
	if (n->count == n->cap) {
		uint32_t cap = n->cap ? n->cap * 2 : 256;
		struct entry *grown = realloc(n->entries, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		n->entries = grown;
		n->cap = cap;
	}
	head = &n->hash[slot_of(n, e->id)];
	n->entries[n->count] = *e;
	n->entries[n->count].next = *head;
	*head = n->count++;
	return 0;
}

static bool before(const struct pending *a, const struct pending *b)
{
	return a->len != b->len ? a->len < b->len
				: strcmp(a->path, b->path) < 0;
}

static int push(struct names *n, struct pending p)
{
	size_t i;

	if (n->nheap == n->heap_cap) {
		size_t cap = n->heap_cap ? n->heap_cap * 2 : 64;
		struct pending *grown = realloc(n->heap, cap * sizeof(*grown));

		if (!grown) {
			free(p.path);
			return -ENOMEM;
		}
		n->heap = grown;
		n->heap_cap = cap;
	}
	for (i = n->nheap++; i && before(&p, &n->heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		n->heap[i] = n->heap[(i - 1) / 2];
	n->heap[i] = p;
	return 0;
}

static struct pending pop(struct names *n)
{
	struct pending top = n->heap[0], last = n->heap[--n->nheap];
	size_t i = 0;

	for (;;) {
		size_t c = 2 * i + 1;

		if (c >= n->nheap)
			break;
		if (c + 1 < n->nheap && before(&n->heap[c + 1], &n->heap[c]))
			c++;
		if (!before(&n->heap[c], &last))
			break;
		n->heap[i] = n->heap[c];
		i = c;
	}
	if (n->nheap)
		n->heap[i] = last;
	return top;
}

/* The path of an entry; the caller frees it. */
static char *path_of(const struct names *n, const struct entry *e)
{
	size_t len = 1;
	char *path, *p;

	for (const struct entry *x = e; x->parent != NONE;
	     x = &n->entries[x->parent])
		len += strlen(x->name) + 1;
	if (len == 1)
		return strdup("/");
	path = malloc(len);
	if (!path)
		return NULL;
	p = path + len - 1;
	*p = 0;
	for (const struct entry *x = e; x->parent != NONE;
	     x = &n->entries[x->parent]) {
		size_t k = strlen(x->name);

		p -= k;
		memcpy(p, x->name, k);
		*--p = '/';
	}
	return path;
}

/* A further link to a dataset: is it the better one? */
static bool is_better(const struct names *n, const struct entry *have,
		      const struct entry *e)
{
	if (e->depth != have->depth)
		return e->depth > have->depth;
	CLEANUP(freep) char *a = path_of(n, e);
	CLEANUP(freep) char *b = path_of(n, have);

	if (!a || !b)
		return false;
	if (strlen(a) != strlen(b))
		return strlen(a) < strlen(b);
	return strcmp(a, b) < 0;
}

static int take_link(struct names *n, const char *path, uint32_t parent,
		     const struct link *l)
{
	struct entry *have = find(n, l->info.id);
	struct entry e = {
		l->info.id, parent,	  n->entries[parent].depth + 1,
		NONE,	    l->info.kind, NULL
	};
	struct pending p = { NULL, 0, e.id, parent, e.depth, NULL };

	if (have && have->kind == OBJ_GROUP)
		return 0;
	e.name = arena_strdup(n->arena, l->name);
	if (!e.name)
		return -ENOMEM;
	if (l->info.kind != OBJ_GROUP) {
		if (!have)
			return add(n, &e);
		if (is_better(n, have, &e)) {
			e.next = have->next;
			*have = e;
		}
		return 0;
	}
	p.name = e.name;
	if (asprintf(&p.path, "%s/%s", strcmp(path, "/") ? path : "", l->name) <
	    0)
		return -ENOMEM;
	p.len = strlen(p.path);
	return push(n, p);
}

/* The links of one page that have an object behind them. */
static int take_links(struct store *s, struct names *n, hid_t group,
		      const char *path, uint32_t self,
		      const struct link_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct link l;
		int r;

		if (set->links[i].kind == LINK_SOFT)
			continue;
		link_finish(s, group, &set->links[i], set->arena, &l);
		r = l.resolved == 0 ? take_link(n, path, self, &l) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int walk_group(struct store *s, struct names *n, const struct pending *g)
{
	CLEANUP(hid_closep) hid_t h = -1;
	struct entry e = {
		g->id, g->parent, g->depth, NONE, OBJ_GROUP, g->name
	};
	uint32_t self = n->count;
	uint64_t from = 0;
	int r = add(n, &e);

	if (r < 0)
		return r;
	h = object_open(s, g->id);
	if (h < 0 || H5Iget_type(h) != H5I_GROUP)
		return 0; /* damaged: nothing is below it */
	do {
		CLEANUP(link_set_done) struct link_set set = { 0 };

		r = links_collect(s, h, from, 4096, &set);
		if (r == 0)
			r = take_links(s, n, h, g->path, self, &set);
		from = set.next;
	} while (r == 0 && from);
	return r == -EIO ? 0 : r;
}

static int push_root(struct store *s, struct names *n)
{
	CLEANUP(hid_closep) hid_t root = H5Oopen(s->file, "/", H5P_DEFAULT);
	struct pending p = { .len = 1, .parent = NONE, .name = "" };
	struct obj_info info;
	int r = root < 0 ? -EIO : object_info(s, root, &info);

	if (r < 0)
		return r;
	p.id = info.id;
	p.path = strdup("/");
	return p.path ? push(n, p) : -ENOMEM;
}

static int build(struct store *s)
{
	CLEANUP(names_freep) struct names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->max = s->names_max;
	r = arena_new(&n->arena);
	if (r == 0)
		r = push_root(s, n);
	while (r == 0 && n->nheap) {
		struct pending g = pop(n);

		if (!find(n, g.id))
			r = walk_group(s, n, &g);
		free(g.path);
	}
	if (r == -ENOMEM) /* may go well the next time */
		return r;
	drop_pending(n);
	s->names = TAKE(n);
	return 0;
}

int names_find(struct store *s, struct obj_id id, char **ret_path)
{
	struct entry *e;
	int r = s->names ? 0 : build(s);

	if (r < 0)
		return r;
	e = find(s->names, id);
	if (!e)
		return -ENOENT;
	*ret_path = path_of(s->names, e);
	return *ret_path ? 0 : -ENOMEM;
}
