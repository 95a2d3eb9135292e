/* SPDX-License-Identifier: MIT */
/* ahead.c - who reads a dataset in order gets the next chunk decoded meanwhile.
 *
 * A reader is told by where it goes on: of each dataset a few are kept, each
 * with a score, those that went on last. Who reads at random takes the place of
 * who did not go on for a while. */
#include "store_int.h"

#define FORWARD 2 /* what a step adds to the score; one back takes 1 */
#define IN_ORDER (6 * FORWARD)	/* the score of who reads in order, */
#define IN_A_RUN (24 * FORWARD) /* and the highest: several chunks are begun */
#define PATIENCE 32 /* reads by others, while who has a score keeps its place */
#define MAX_AHEAD 4 /* times what is begun at once */
#define OVERHEAD 1024  /* of a chunk in the cache, generously */
#define AT_ONCE 131072 /* bytes: handing over less costs what it saves */

void ahead_init(struct dset *d)
{
	struct cache_stats st;
	uint64_t n;

	if (!d->store->pool || d->info.storage != STORAGE_CHUNKED ||
	    !d->info.direct || !d->info.nfilters)
		return;
	cache_get_stats(d->store->cache, &st);
	d->order.each = AT_ONCE / d->chunk_bytes + 1;
	/* beside as much as this there is room for what is read, and for what
	 * was read after it came */
	n = st.max_bytes / (d->chunk_bytes + OVERHEAD) / 2 / d->order.each;
	d->order.max_ahead = n < MAX_AHEAD ? (unsigned)n : MAX_AHEAD;
}

/* How far its reads lie apart: what it reads at once, which pieces of rows do not
 * tell. */
static uint64_t stride(const struct reader *r, uint64_t size)
{
	return r->size > size ? r->size : size;
}

/* Does it go on with the next bytes, or a few behind those; or with some that
 * others overtook? */
static bool goes_on(const struct reader *r, uint64_t at, uint64_t size)
{
	return at >= r->next ? at - r->next <= stride(r, size)
			     : r->next - at <= 4 * stride(r, size);
}

static bool is_in_order(const struct dset *d, const struct reader *r)
{
	return r->score >= IN_ORDER && r->run >= d->chunk_bytes / 2;
}

/* When it may go: now, or later. */
static uint64_t due(const struct reader *r)
{
	return r->last + (r->score ? PATIENCE : 0);
}

static struct reader *find_reader(struct order *o, uint64_t at, uint64_t size)
{
	struct reader *first = o->readers, *r = first;

	for (; r < o->readers + ORDER_READERS; r++) {
		if (goes_on(r, at, size))
			return r;
		if (due(r) < due(first))
			first = r;
	}
	*first = (struct reader){ .next = at };
	return first;
}

/* ---- chunks that are decoded ahead ---- */

struct task {
	struct dset *dset;
	struct store *store;
	uint64_t first, n; /* chunks */
};

static void task_end(void *arg)
{
	struct task *t = arg;
	struct store *s = t->store;

	dset_unref(t->dset); /* needs the store */
	free(t);
	LOCK_SCOPE(&s->ahead.lock);
	if (--s->ahead.running == 0)
		pthread_cond_broadcast(&s->ahead.over);
}

/* Is a reader there for whom it was begun, and not behind it yet? */
static bool is_wanted(struct dset *d, uint64_t chunk)
{
	LOCK_SCOPE(&d->order.lock);

	for (unsigned i = 0; i < ORDER_READERS; i++) {
		const struct reader *r = &d->order.readers[i];
		uint64_t at = r->next / d->chunk_bytes;

		if (is_in_order(d, r) && at <= chunk && chunk < r->ahead)
			return true;
	}
	return false;
}

/* False: there is no such chunk. */
static bool scale(const struct dset *d, uint64_t chunk, uint64_t *scaled)
{
	for (unsigned i = d->info.rank; i-- > 0;) {
		scaled[i] = chunk % d->nchunks[i];
		chunk /= d->nchunks[i];
	}
	return chunk == 0;
}

static void decode(struct dset *d, uint64_t chunk)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t scaled[DT_MAX_RANK];

	if (!scale(d, chunk, scaled) || !is_wanted(d, chunk) ||
	    cache_find(d->store->cache, chunk_key(d, scaled), &b) == 0)
		return;
	stat_add(&d->store->stats.ahead, 1);
	/* whoever asks for it is told of an error */
	(void)chunk_get(d, scaled, true, &b);
}

static void task_run(void *arg)
{
	struct task *t = arg;

	for (uint64_t i = 0; i < t->n; i++)
		decode(t->dset, t->first + i);
	task_end(t);
}

static bool begin(struct dset *d, uint64_t first, uint64_t n)
{
	struct store *s = d->store;
	uint64_t scaled[DT_MAX_RANK];
	struct task *t = scale(d, first, scaled) ? malloc(sizeof(*t)) : NULL;

	if (!t)
		return false;
	*t = (struct task){ dset_ref(d), s, first, n };
	pthread_mutex_lock(&s->ahead.lock);
	s->ahead.running++;
	pthread_mutex_unlock(&s->ahead.lock);
	if (pool_try(s->pool, task_run, task_end, t))
		return true;
	task_end(t);
	return false;
}

/* The chunks behind the one that is read. */
static void begin_next(struct dset *d, struct reader *r, uint64_t chunk)
{
	uint64_t each = d->order.each, n = d->order.max_ahead;

	if (n > 1 && r->score < IN_A_RUN)
		n = 1;
	if (r->ahead <= chunk)
		r->ahead = chunk + 1;
	while (r->ahead <= chunk + 1 + (n - 1) * each &&
	       begin(d, r->ahead, each))
		r->ahead += each;
}

/* ---- the contract ---- */

bool ahead_note(struct dset *d, const uint64_t *scaled, uint64_t from,
		uint64_t to)
{
	uint64_t chunk = chunk_key(d, scaled).lo, at;
	bool in_order;
	struct reader *r;

	if (mul_overflow(chunk, d->chunk_bytes, &at) ||
	    add_overflow(at, to, &to) || pthread_mutex_trylock(&d->order.lock))
		return false; /* nobody waits for a guess */
	at += from;
	r = find_reader(&d->order, at, to - at);
	r->last = ++d->order.reads;
	if (at < r->next)
		r->score -= r->score > 0;
	else if (r->score < IN_A_RUN)
		r->score += FORWARD;
	/* the first bytes of a chunk that was begun */
	if (chunk < r->ahead && r->next <= chunk * d->chunk_bytes && r->score)
		stat_add(&d->store->stats.ahead_used, 1);
	r->size = stride(r, to - at);
	if (to > r->next) {
		r->run += to - r->next;
		r->next = to;
	}
	in_order = is_in_order(d, r);
	if (in_order && d->order.max_ahead)
		begin_next(d, r, chunk);
	pthread_mutex_unlock(&d->order.lock);
	return in_order;
}

void ahead_wait(struct store *s)
{
	LOCK_SCOPE(&s->ahead.lock);
	while (s->ahead.running)
		pthread_cond_wait(&s->ahead.over, &s->ahead.lock);
}
