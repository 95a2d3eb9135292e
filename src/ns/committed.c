/* SPDX-License-Identifier: MIT */
/* committed.c - the last names under which this mount committed rows: they answer,
 * so that a copy can be repeated and adds nothing. A ring with a hash table. */
#include "write_int.h"

#define NAMES 65536u

struct entry_of_row {
	char *key; /* dir, a slash, name; NULL: free */
	uint64_t row, hash;
	uint32_t next; /* in its chain: position + 1 */
};
struct committed {
	pthread_mutex_t lock;
	struct entry_of_row ring[NAMES];
	uint32_t chains[NAMES];
	uint32_t at;
};

int committed_new(struct committed **ret)
{
	struct committed *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return 0;
}

void committed_free(struct committed *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < NAMES; i++)
		free(c->ring[i].key);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static char *key_of(const char *dir, const char *name, uint64_t *ret_hash)
{
	size_t n = strlen(dir), k = strlen(name);
	char *key = malloc(n + k + 2);

	if (!key)
		return NULL;
	memcpy(key, dir, n);
	key[n] = '/';
	memcpy(key + n + 1, name, k + 1);
	*ret_hash = hash_bytes(key, n + 1 + k, 17);
	return key;
}

static void unchain(struct committed *c, uint32_t i)
{
	uint32_t *p = &c->chains[c->ring[i].hash % NAMES];

	while (*p != i + 1)
		p = &c->ring[*p - 1].next;
	*p = c->ring[i].next;
	free(c->ring[i].key);
	c->ring[i].key = NULL;
}

static struct entry_of_row *find(struct committed *c, const char *key,
				 uint64_t hash)
{
	uint32_t i = c->chains[hash % NAMES];

	for (; i; i = c->ring[i - 1].next)
		if (c->ring[i - 1].hash == hash &&
		    !strcmp(c->ring[i - 1].key, key))
			return &c->ring[i - 1];
	return NULL;
}

/* Takes the key. Under the lock. */
static void put(struct committed *c, char *key, uint64_t hash, uint64_t row)
{
	struct entry_of_row *e = find(c, key, hash);

	if (e) {
		e->row = row;
		free(key);
		return;
	}
	e = &c->ring[c->at];
	if (e->key)
		unchain(c, c->at);
	*e = (struct entry_of_row){ key, row, hash, c->chains[hash % NAMES] };
	c->chains[hash % NAMES] = c->at + 1;
	c->at = (c->at + 1) % NAMES;
}

void committed_add(struct committed *c, const char *dir, const char *name,
		   uint64_t row)
{
	uint64_t hash;
	char *key = key_of(dir, name, &hash);
	LOCK_SCOPE(&c->lock);

	if (key) /* else it answers to its number alone */
		put(c, key, hash, row);
}

int committed_find(struct ns *ns, const char *dir, const char *name,
		   uint32_t *ret_row)
{
	struct committed *c = ns->write ? ns->write->committed : NULL;
	CLEANUP(freep) char *key = NULL;
	struct entry_of_row *e;
	uint64_t hash;

	if (!c)
		return -ENOENT;
	key = key_of(dir, name, &hash);
	if (!key)
		return -ENOMEM;
	LOCK_SCOPE(&c->lock);
	e = find(c, key, hash);
	if (!e || e->row >= UINT32_MAX)
		return -ENOENT;
	*ret_row = (uint32_t)e->row;
	return 0;
}

void committed_move(struct ns *ns, const char *dir, const char *name,
		    const char *to_dir)
{
	struct committed *c = ns->write->committed;
	CLEANUP(freep) char *key = NULL;
	struct entry_of_row *e;
	uint64_t hash, row = UINT64_MAX;

	key = key_of(dir, name, &hash);
	if (!key)
		return;
	{
		LOCK_SCOPE(&c->lock);
		e = find(c, key, hash);
		if (e) {
			row = e->row;
			unchain(c, (uint32_t)(e - c->ring));
		}
	}
	if (row != UINT64_MAX)
		committed_add(c, to_dir, name, row);
}

void write_committed(struct ns *ns, const struct stage_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		for (size_t k = 0; k < r->sets[i].nfiles; k++)
			committed_add(ns->write->committed, r->sets[i].dirs[k],
				      r->sets[i].names[k], r->sets[i].rows[k]);
	sets_forget(ns); /* N is another one */
}
