/* SPDX-License-Identifier: MIT */
/* places.c - where chunks lie, once the library was asked: its lock is one for
 * all, and it walks its index each time.
 *
 * Bounded: a key has one place in the table, and who comes later takes it. */
#include "store_int.h"

#define PLACES (1u << 17) /* memory is used as they are */
#define STRIPES 64

struct place {
	struct cache_key key;
	uint64_t addr;
	uint32_t size, mask, file;
	uint32_t known; /* 0: free; 2: and allocated */
};
struct places {
	pthread_mutex_t locks[STRIPES];
	struct place table[PLACES]; /* i under locks[i % STRIPES] */
};

static struct place *place_of(struct places *p, struct cache_key key,
			      pthread_mutex_t **ret_lock)
{
	size_t i = hash_mix(key.hi, key.lo) % PLACES;

	*ret_lock = &p->locks[i % STRIPES];
	return &p->table[i];
}

int places_new(struct places **ret_places)
{
	struct places *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (unsigned i = 0; i < STRIPES; i++)
		pthread_mutex_init(&p->locks[i], NULL);
	*ret_places = p;
	return 0;
}

void places_free(struct places *p)
{
	for (unsigned i = 0; p && i < STRIPES; i++)
		pthread_mutex_destroy(&p->locks[i]);
	free(p);
}

bool places_find(struct places *p, struct cache_key key,
		 struct location *ret_loc)
{
	pthread_mutex_t *lock;
	const struct place *at = place_of(p, key, &lock);
	LOCK_SCOPE(lock);

	if (!at->known || at->key.hi != key.hi || at->key.lo != key.lo)
		return false;
	*ret_loc = (struct location){ .allocated = at->known == 2,
				      .file = at->file,
				      .mask = at->mask,
				      .addr = at->addr,
				      .size = at->size };
	return true;
}

void places_keep(struct places *p, struct cache_key key,
		 const struct location *loc)
{
	pthread_mutex_t *lock;
	struct place *at = place_of(p, key, &lock);
	LOCK_SCOPE(lock);

	if (loc->size > UINT32_MAX)
		return;
	*at = (struct place){ .key = key,
			      .addr = loc->addr,
			      .size = (uint32_t)loc->size,
			      .mask = loc->mask,
			      .file = loc->file,
			      .known = loc->allocated ? 2 : 1 };
}
