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
#define MAX_AHEAD 4
#define OVERHEAD 1024	/* of a chunk in the cache, generously */
#define MIN_CHUNK 32768 /* below, handing it over costs what it saves */

void ahead_init(struct dset *d)
{
	struct cache_stats st;
	uint64_t n;

	if (!d->store->pool || d->info.storage != STORAGE_CHUNKED ||
	    !d->info.direct || !d->info.nfilters || d->chunk_bytes < MIN_CHUNK)
		return;
	cache_get_stats(d->store->cache, &st);
	/* beside as many as these there is room for the one that is read, and
	 * for those that were read after they came */
	n = st.max_bytes / (d->chunk_bytes + OVERHEAD) / 2;
	d->order.max_ahead = n < MAX_AHEAD ? (unsigned)n : MAX_AHEAD;
}

/* Does it go on with the next bytes, or a few behind those; or with some that
 * others overtook? */
static bool is_forward(const struct reader *r, uint64_t at, uint64_t size)
{
	return at >= r->next && at - r->next <= size;
}
static bool is_back(const struct reader *r, uint64_t at, uint64_t size)
{
	return at < r->next && r->next - at <= 4 * size;
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
		if (is_forward(r, at, size) || is_back(r, at, size))
			return r;
		if (due(r) < due(first))
			first = r;
	}
	*first = (struct reader){ .next = at };
	return first;
}

/* ---- a chunk that is decoded ahead ---- */

struct task {
	struct dset *dset;
	struct store *store;
	uint64_t chunk;
	uint64_t scaled[DT_MAX_RANK];
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

/* Is the reader still there for whom it was begun? */
static bool is_wanted(struct task *t)
{
	struct dset *d = t->dset;
	LOCK_SCOPE(&d->order.lock);

	for (unsigned i = 0; i < ORDER_READERS; i++) {
		const struct reader *r = &d->order.readers[i];
		uint64_t at = r->next / d->chunk_bytes;

		if (r->score >= IN_ORDER && at <= t->chunk &&
		    t->chunk - at <= MAX_AHEAD)
			return true;
	}
	return false;
}

static void task_run(void *arg)
{
	struct task *t = arg;
	struct blob *b = NULL;

	/* whoever asks for it is told of an error */
	if (is_wanted(t) && chunk_get(t->dset, t->scaled, true, &b) == 0) {
		stat_add(&t->store->stats.ahead, 1);
		blob_unref(b);
	}
	task_end(t);
}

static bool begin(struct dset *d, uint64_t chunk)
{
	struct store *s = d->store;
	struct task *t = malloc(sizeof(*t));
	uint64_t rest = chunk;

	if (!t)
		return false;
	*t = (struct task){ .dset = dset_ref(d), .store = s, .chunk = chunk };
	for (unsigned i = d->info.rank; i-- > 0;) {
		t->scaled[i] = rest % d->nchunks[i];
		rest /= d->nchunks[i];
	}
	pthread_mutex_lock(&s->ahead.lock);
	s->ahead.running++;
	pthread_mutex_unlock(&s->ahead.lock);
	if (rest == 0 && pool_try(s->pool, task_run, task_end, t))
		return true;
	task_end(t);
	return false;
}

/* The chunks behind the one that is read. */
static void begin_next(struct dset *d, struct reader *r, uint64_t chunk)
{
	unsigned n = d->order.max_ahead;

	if (n > 1 && r->score < IN_A_RUN)
		n = 1;
	if (r->ahead <= chunk)
		r->ahead = chunk + 1;
	while (r->ahead <= chunk + n && begin(d, r->ahead))
		r->ahead++;
}

/* ---- the contract ---- */

bool ahead_note(struct dset *d, const uint64_t *scaled, uint64_t from,
		uint64_t to)
{
	uint64_t chunk = chunk_key(d, scaled).lo, at;
	bool forward, in_order;
	struct reader *r;

	if (mul_overflow(chunk, d->chunk_bytes, &at) ||
	    add_overflow(at, to, &to) || pthread_mutex_trylock(&d->order.lock))
		return false; /* nobody waits for a guess */
	at += from;
	r = find_reader(&d->order, at, to - at);
	r->last = ++d->order.reads;
	forward = at >= r->next;
	if (forward && r->score < IN_A_RUN)
		r->score += FORWARD;
	else if (!forward && r->score > 0)
		r->score--;
	/* the first bytes of a chunk that was begun */
	if (chunk < r->ahead && r->next <= chunk * d->chunk_bytes && r->score)
		stat_add(&d->store->stats.ahead_used, 1);
	if (to > r->next)
		r->next = to;
	in_order = r->score >= IN_ORDER;
	if (in_order)
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
