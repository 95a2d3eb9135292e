/* SPDX-License-Identifier: MIT */
/* test_cache.c - a cache fills once, forgets the oldest, keeps the newest. */
#include "h5fs/base.h"

#include "check.h"

#define KEY(n) ((struct cache_key){ 7, (n) })

struct filler {
	size_t size;
	uint8_t byte;
	int error; /* 0, or what fill() answers */
	int calls; /* atomic */
	unsigned delay_us;
};

static int fill(void *arg, struct blob **ret_blob)
{
	struct filler *f = arg;
	int r;

	__atomic_add_fetch(&f->calls, 1, __ATOMIC_RELAXED);
	if (f->delay_us)
		usleep(f->delay_us);
	if (f->error)
		return f->error;
	r = blob_new(f->size, ret_blob);
	if (r == 0)
		memset((*ret_blob)->data, f->byte, f->size);
	return r;
}

/* Asks for the key; how often it was filled for that. */
static int calls_for(struct cache *c, uint64_t key, size_t size)
{
	struct filler f = { .size = size, .byte = (uint8_t)key };
	CLEANUP(blob_unrefp) struct blob *b = NULL;

	CHECK_EQ(cache_get(c, KEY(key), fill, &f, &b), 0);
	CHECK(b && b->size == size);
	if (b && size) {
		CHECK_EQ(b->data[0], (uint8_t)key);
		CHECK_EQ(b->data[size - 1], (uint8_t)key);
	}
	return f.calls;
}

static void second_get_is_a_hit(void)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	struct cache_stats st;

	CHECK_EQ(cache_new(1 << 20, 1, &c), 0);
	CHECK_EQ(calls_for(c, 1, 100), 1);
	CHECK_EQ(calls_for(c, 1, 100), 0);
	CHECK_EQ(calls_for(c, 2, 50), 1);
	cache_get_stats(c, &st);
	CHECK_EQ(st.hits, 1);
	CHECK_EQ(st.misses, 2);
	CHECK_EQ(st.waits, 0);
	CHECK_EQ(st.entries, 2);
	CHECK_EQ(st.bytes, 150);
	CHECK_EQ(st.max_bytes, 1 << 20);
	CHECK_EQ(st.evicted, 0);
}

static void both_halves_of_the_key_count(void)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	struct filler f = { .size = 1 };
	struct cache_key keys[] = { { 1, 2 }, { 2, 1 }, { 1, 1 }, { 2, 2 } };

	CHECK_EQ(cache_new(1 << 20, 1, &c), 0);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		CLEANUP(blob_unrefp) struct blob *b = NULL;

		CHECK_EQ(cache_get(c, keys[i], fill, &f, &b), 0);
	}
	CHECK_EQ(f.calls, ARRAY_SIZE(keys));
}

static void failed_fill_is_not_remembered(void)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct filler bad = { .error = -EIO };
	struct cache_stats st;

	CHECK_EQ(cache_new(1 << 20, 1, &c), 0);
	CHECK_EQ(cache_get(c, KEY(1), fill, &bad, &b), -EIO);
	CHECK(!b);
	cache_get_stats(c, &st);
	CHECK_EQ(st.entries, 0);
	CHECK_EQ(calls_for(c, 1, 10), 1);
	CHECK_EQ(calls_for(c, 1, 10), 0);
}

static void least_recently_used_leaves_first(void)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	struct cache_stats st;

	CHECK_EQ(cache_new(350000, 1, &c), 0);
	calls_for(c, 1, 100000);
	calls_for(c, 2, 100000);
	calls_for(c, 3, 100000);
	CHECK_EQ(calls_for(c, 1, 100000), 0); /* 2 is the oldest now */
	CHECK_EQ(calls_for(c, 4, 100000), 1);
	CHECK_EQ(calls_for(c, 1, 100000), 0);
	CHECK_EQ(calls_for(c, 3, 100000), 0);
	CHECK_EQ(calls_for(c, 4, 100000), 0);
	cache_get_stats(c, &st);
	CHECK_EQ(st.evicted, 1);
	CHECK_EQ(st.bytes, 300000);
	CHECK_EQ(calls_for(c, 2, 100000), 1);
}

static void newest_stay_whatever_their_size(void)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	struct cache_stats st;

	CHECK_EQ(cache_new(1000, 2, &c), 0);
	calls_for(c, 1, 5000);
	calls_for(c, 2, 6000);
	CHECK_EQ(calls_for(c, 1, 5000), 0);
	CHECK_EQ(calls_for(c, 2, 6000), 0);
	calls_for(c, 3, 7000);
	cache_get_stats(c, &st);
	CHECK_EQ(st.entries, 2);
	CHECK_EQ(st.bytes, 13000);
	CHECK_EQ(calls_for(c, 2, 6000), 0);
	CHECK_EQ(calls_for(c, 1, 5000), 1);
}

static void nothing_is_kept_without_room(void)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	struct cache_stats st;

	CHECK_EQ(cache_new(0, 0, &c), 0);
	CHECK_EQ(calls_for(c, 1, 10), 1);
	CHECK_EQ(calls_for(c, 1, 10), 1);
	cache_get_stats(c, &st);
	CHECK_EQ(st.entries, 0);
	CHECK_EQ(st.bytes, 0);
}

static void empty_blobs_are_bounded_too(void)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	struct cache_stats st;

	CHECK_EQ(cache_new(10000, 1, &c), 0);
	for (uint64_t k = 0; k < 5000; k++)
		calls_for(c, k, 0);
	cache_get_stats(c, &st);
	CHECK(st.entries < 1000);
	CHECK_EQ(st.entries + st.evicted, 5000);
}

static void table_grows(void)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	int filled = 0;

	CHECK_EQ(cache_new(1 << 30, 1, &c), 0);
	for (uint64_t k = 0; k < 20000; k++)
		filled += calls_for(c, k, 8);
	CHECK_EQ(filled, 20000);
	for (uint64_t k = 0; k < 20000; k++)
		filled += calls_for(c, k, 8);
	CHECK_EQ(filled, 20000);
}

static void references_outlive_the_cache(void)
{
	struct cache *c = NULL;
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct filler f = { .size = 3, .byte = 9 };

	CHECK_EQ(cache_new(1000, 1, &c), 0);
	CHECK_EQ(cache_get(c, KEY(1), fill, &f, &b), 0);
	cache_free(c);
	CHECK_EQ(b->data[2], 9);
	cache_free(NULL);
}

/* ---- threads ---- */
struct caller {
	struct cache *c;
	struct filler *f;
	pthread_barrier_t *start;
	int result;
	bool right;
};

static void *call(void *arg)
{
	struct caller *a = arg;
	CLEANUP(blob_unrefp) struct blob *b = NULL;

	pthread_barrier_wait(a->start);
	a->result = cache_get(a->c, KEY(1), fill, a->f, &b);
	a->right = a->result < 0 ? !b : b->data[0] == a->f->byte;
	return NULL;
}

static void ask_together(struct filler *f, size_t max_bytes, unsigned keep,
			 struct cache_stats *ret_stats)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	struct caller callers[8];
	pthread_t t[8];
	pthread_barrier_t start;

	CHECK_EQ(cache_new(max_bytes, keep, &c), 0);
	pthread_barrier_init(&start, NULL, 8);
	for (int i = 0; i < 8; i++) {
		callers[i] = (struct caller){ c, f, &start, 1, false };
		pthread_create(&t[i], NULL, call, &callers[i]);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], NULL);
		CHECK_EQ(callers[i].result, f->error);
		CHECK(callers[i].right);
	}
	pthread_barrier_destroy(&start);
	cache_get_stats(c, ret_stats);
}

static void one_of_many_callers_fills(void)
{
	struct filler f = { .size = 1000, .byte = 42, .delay_us = 50000 };
	struct cache_stats st;

	ask_together(&f, 1 << 20, 1, &st);
	CHECK_EQ(f.calls, 1);
	CHECK_EQ(st.misses, 1);
	CHECK_EQ(st.hits + st.waits, 7);
}

static void waiters_get_what_is_not_kept(void)
{
	struct filler f = { .size = 1000, .byte = 43, .delay_us = 50000 };
	struct cache_stats st;

	ask_together(&f, 0, 0, &st);
	CHECK_EQ(st.entries, 0);
	CHECK_EQ(st.misses, f.calls);
	CHECK_EQ(st.misses + st.waits, 8);
}

static void waiters_get_the_error(void)
{
	struct filler f = { .error = -ENODATA, .delay_us = 50000 };
	struct cache_stats st;

	ask_together(&f, 1 << 20, 1, &st);
	CHECK_EQ(st.hits, 0);
	CHECK_EQ(st.misses + st.waits, 8);
	CHECK_EQ(st.entries, 0);
}

static void *churn(void *arg)
{
	struct cache *c = arg;
	uint64_t x = (uintptr_t)&c;

	for (int i = 0; i < 5000; i++) {
		struct filler f = { .size = 700 };
		CLEANUP(blob_unrefp) struct blob *b = NULL;
		uint64_t key;
		int r;

		x = hash_mix(x, 1);
		key = x % 64;
		f.byte = (uint8_t)key;
		f.error = x % 7 == 0 ? -EIO : 0;
		r = cache_get(c, KEY(key), fill, &f, &b);
		if (r == 0 ? b->data[699] != key : r != -EIO)
			return arg;
	}
	return NULL;
}

static void many_threads_see_their_own_bytes(void)
{
	CLEANUP(cache_freep) struct cache *c = NULL;
	struct cache_stats st;
	pthread_t t[4];
	void *wrong;

	CHECK_EQ(cache_new(20000, 2, &c), 0);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		pthread_create(&t[i], NULL, churn, c);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		pthread_join(t[i], &wrong);
		CHECK(!wrong);
	}
	cache_get_stats(c, &st);
	CHECK_EQ(st.hits + st.misses + st.waits, 4 * 5000);
	CHECK_EQ(st.bytes, st.entries * 700);
	CHECK(st.bytes <= 20000);
	CHECK(st.evicted > 0);
}

int main(void)
{
	RUN(second_get_is_a_hit);
	RUN(both_halves_of_the_key_count);
	RUN(failed_fill_is_not_remembered);
	RUN(least_recently_used_leaves_first);
	RUN(newest_stay_whatever_their_size);
	RUN(nothing_is_kept_without_room);
	RUN(empty_blobs_are_bounded_too);
	RUN(table_grows);
	RUN(references_outlive_the_cache);
	RUN(one_of_many_callers_fills);
	RUN(waiters_get_what_is_not_kept);
	RUN(waiters_get_the_error);
	RUN(many_threads_see_their_own_bytes);
	return CHECK_RESULT();
}
