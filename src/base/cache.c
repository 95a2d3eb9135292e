/* SPDX-License-Identifier: MIT */
/* cache.c - bytes by key, least recently used first out, filled once.
 *
 *   entry := PENDING (in the table) --fill ok--> READY (in the table and list)
 *            PENDING --fill fails--> GONE        READY --evicted--> GONE
 *
 * C1  An entry is in the table unless GONE, and in the list only when READY.
 * C2  `users` counts the filler and the waiters of a PENDING entry until each
 *     has taken its answer; a GONE entry is freed with its last user.
 * C3  No memory of a blob is freed with the lock held. */
#include "h5fs/base.h"

struct entry {
	struct cache_key key;
	struct entry *chain; /* bucket; or what is to be freed */
	struct entry *newer, *older;
	struct blob *blob; /* READY and after */
	pthread_cond_t answered;
	unsigned users;
	int error;
	enum { PENDING, READY, GONE } state;
};

struct cache {
	pthread_mutex_t lock; /* all below, and all entries */
	struct entry **buckets;
	size_t nbuckets; /* a power of two */
	size_t nentries; /* in the table */
	struct entry *newest, *oldest;
	size_t keep;
	struct cache_stats stats; /* entries, bytes: of the list */
};

#define FIRST_BUCKETS 64

/* Entries of empty blobs are not free. */
static uint64_t cost(const struct cache *c)
{
	return c->stats.bytes + c->stats.entries * sizeof(struct entry);
}

/* ---- table ---- */
static struct entry **bucket_of(struct entry **buckets, size_t n,
				struct cache_key key)
{
	return &buckets[hash_mix(key.hi, key.lo) & (n - 1)];
}

static struct entry *table_find(const struct cache *c, struct cache_key key)
{
	struct entry *e = *bucket_of(c->buckets, c->nbuckets, key);

	while (e && (e->key.hi != key.hi || e->key.lo != key.lo))
		e = e->chain;
	return e;
}

/* Without memory the chains get longer, and all still works. */
static void table_grow(struct cache *c)
{
	size_t n = c->nbuckets * 2;
	struct entry **buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return;
	for (size_t i = 0; i < c->nbuckets; i++) {
		while (c->buckets[i]) {
			struct entry *e = c->buckets[i];
			struct entry **to = bucket_of(buckets, n, e->key);

			c->buckets[i] = e->chain;
			e->chain = *to;
			*to = e;
		}
	}
	free(c->buckets);
	c->buckets = buckets;
	c->nbuckets = n;
}

static void table_add(struct cache *c, struct entry *e)
{
	struct entry **to;

	if (c->nentries >= c->nbuckets)
		table_grow(c);
	to = bucket_of(c->buckets, c->nbuckets, e->key);
	e->chain = *to;
	*to = e;
	c->nentries++;
}

static void table_remove(struct cache *c, struct entry *e)
{
	struct entry **at = bucket_of(c->buckets, c->nbuckets, e->key);

	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	e->chain = NULL;
	c->nentries--;
}

/* ---- list: newest to oldest ---- */
static void list_add_newest(struct cache *c, struct entry *e)
{
	e->newer = NULL;
	e->older = c->newest;
	if (c->newest)
		c->newest->newer = e;
	else
		c->oldest = e;
	c->newest = e;
}

static void list_remove(struct cache *c, struct entry *e)
{
	if (e->newer)
		e->newer->older = e->older;
	else
		c->newest = e->older;
	if (e->older)
		e->older->newer = e->newer;
	else
		c->oldest = e->newer;
	e->newer = e->older = NULL;
}

/* ---- entries ---- */
static struct entry *entry_new(struct cache_key key)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->key = key;
	e->users = 1;
	pthread_cond_init(&e->answered, NULL);
	return e;
}

static void entry_free(struct entry *e)
{
	blob_unref(e->blob);
	pthread_cond_destroy(&e->answered);
	free(e);
}

static void entries_free(struct entry *dead)
{
	while (dead) {
		struct entry *next = dead->chain;

		entry_free(dead);
		dead = next;
	}
}

static void entry_gone(struct cache *c, struct entry *e)
{
	table_remove(c, e);
	e->state = GONE;
}

/* The oldest entries beyond the limit leave; returns those to be freed. */
static struct entry *evict(struct cache *c)
{
	struct entry *dead = NULL;

	while (c->stats.entries > c->keep && cost(c) > c->stats.max_bytes) {
		struct entry *e = c->oldest;

		list_remove(c, e);
		entry_gone(c, e);
		c->stats.entries--;
		c->stats.bytes -= e->blob->size;
		c->stats.evicted++;
		if (e->users == 0) {
			e->chain = dead;
			dead = e;
		}
	}
	return dead;
}

/* One user has its answer; returns the entry if it is to be freed. */
static struct entry *entry_leave(struct entry *e, struct blob **blob,
				 int *error)
{
	*error = e->error;
	*blob = blob_ref(e->blob);
	return --e->users == 0 && e->state == GONE ? e : NULL;
}

/* ---- the contract ---- */
int cache_new(size_t max_bytes, unsigned keep, struct cache **ret_cache)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->buckets = calloc(FIRST_BUCKETS, sizeof(*c->buckets));
	if (!c->buckets) {
		free(c);
		return -ENOMEM;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->nbuckets = FIRST_BUCKETS;
	c->keep = keep;
	c->stats.max_bytes = max_bytes;
	*ret_cache = c;
	return 0;
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nbuckets; i++)
		entries_free(c->buckets[i]);
	free(c->buckets);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void entry_hit(struct cache *c, struct entry *e)
{
	c->stats.hits++;
	if (e == c->newest)
		return;
	list_remove(c, e);
	list_add_newest(c, e);
}

/* The entry of the key: READY, or PENDING and then waited for; *fresh when it
 * has just been made and this caller is its filler. NULL: no memory. */
static struct entry *entry_enter(struct cache *c, struct cache_key key,
				 bool *fresh)
{
	struct entry *e = table_find(c, key);

	*fresh = !e;
	if (!e) {
		e = entry_new(key);
		if (!e)
			return NULL;
		table_add(c, e);
		c->stats.misses++;
		return e;
	}
	e->users++;
	if (e->state == READY) {
		entry_hit(c, e);
		return e;
	}
	c->stats.waits++;
	while (e->state == PENDING)
		pthread_cond_wait(&e->answered, &c->lock);
	return e;
}

/* blob is taken over. Returns the entries to be freed. */
static struct entry *entry_answer(struct cache *c, struct entry *e, int error,
				  struct blob *blob)
{
	if (error < 0) {
		e->error = error;
		entry_gone(c, e);
	} else {
		e->blob = blob;
		e->state = READY;
		list_add_newest(c, e);
		c->stats.entries++;
		c->stats.bytes += blob->size;
	}
	pthread_cond_broadcast(&e->answered);
	return error < 0 ? NULL : evict(c);
}

int cache_get(struct cache *c, struct cache_key key, cache_fill fill, void *arg,
	      struct blob **ret_blob)
{
	struct entry *e, *left = NULL, *dead = NULL;
	struct blob *b = NULL;
	bool fresh;
	int r = -ENOMEM;

	pthread_mutex_lock(&c->lock);
	e = entry_enter(c, key, &fresh);
	if (e && fresh) {
		pthread_mutex_unlock(&c->lock);
		r = fill(arg, &b);
		pthread_mutex_lock(&c->lock);
		dead = entry_answer(c, e, r, b);
	}
	if (e)
		left = entry_leave(e, &b, &r);
	pthread_mutex_unlock(&c->lock);

	if (left)
		entry_free(left);
	entries_free(dead);
	if (r < 0)
		return r;
	*ret_blob = b;
	return 0;
}

int cache_find(struct cache *c, struct cache_key key, struct blob **ret_blob)
{
	LOCK_SCOPE(&c->lock);
	struct entry *e = table_find(c, key);

	if (!e || e->state != READY)
		return -ENOENT;
	entry_hit(c, e);
	*ret_blob = blob_ref(e->blob);
	return 0;
}

void cache_get_stats(struct cache *c, struct cache_stats *ret_stats)
{
	LOCK_SCOPE(&c->lock);
	*ret_stats = c->stats;
}
