/* SPDX-License-Identifier: MIT */
/* test_pool.c - each index runs once, errors end a batch, tasks are never lost. */
#include "h5fs/base.h"

#include "check.h"

#define N 1000

struct batch_seen {
	int seen[N]; /* atomic */
	size_t fails_at;
	struct pool *inner;
	int running, most; /* atomic */
};

static int see(void *arg, size_t i)
{
	struct batch_seen *b = arg;

	__atomic_add_fetch(&b->seen[i], 1, __ATOMIC_RELAXED);
	return i == b->fails_at ? -EILSEQ : 0;
}

static int count_once(const struct batch_seen *b)
{
	int n = 0;

	for (size_t i = 0; i < N; i++)
		n += b->seen[i] == 1;
	return n;
}

static void check_each(struct pool *p)
{
	struct batch_seen b = { .fails_at = N };

	CHECK_EQ(pool_each(p, N, see, &b), 0);
	CHECK_EQ(count_once(&b), N);
}

static void each_index_runs_once(void)
{
	CLEANUP(pool_freep) struct pool *none = NULL;
	CLEANUP(pool_freep) struct pool *three = NULL;
	struct batch_seen b = { .fails_at = N };

	CHECK_EQ(pool_new(0, &none), 0);
	CHECK_EQ(pool_new(3, &three), 0);
	check_each(NULL);
	check_each(none);
	check_each(three);
	CHECK_EQ(pool_each(three, 0, see, &b), 0);
	CHECK_EQ(count_once(&b), 0);
}

static void an_error_ends_the_batch(void)
{
	CLEANUP(pool_freep) struct pool *p = NULL;
	struct batch_seen alone = { .fails_at = 5 }, shared = { .fails_at = 5 };

	CHECK_EQ(pool_new(3, &p), 0);
	CHECK_EQ(pool_each(NULL, N, see, &alone), -EILSEQ);
	CHECK_EQ(count_once(&alone), 6);
	CHECK_EQ(pool_each(p, N, see, &shared), -EILSEQ);
	CHECK(count_once(&shared) < N);
	check_each(p); /* and the pool goes on */
}

static int meet(void *arg, size_t i)
{
	struct batch_seen *b = arg;
	int n = __atomic_add_fetch(&b->running, 1, __ATOMIC_SEQ_CST);

	(void)i;
	if (n > __atomic_load_n(&b->most, __ATOMIC_SEQ_CST))
		__atomic_store_n(&b->most, n, __ATOMIC_SEQ_CST);
	for (int k = 0; k < 2000; k++) {
		if (__atomic_load_n(&b->most, __ATOMIC_SEQ_CST) >= 3)
			break;
		usleep(1000);
	}
	__atomic_sub_fetch(&b->running, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void the_caller_and_all_workers_help(void)
{
	CLEANUP(pool_freep) struct pool *p = NULL;
	struct batch_seen b = { .fails_at = N };

	CHECK_EQ(pool_new(2, &p), 0);
	CHECK_EQ(pool_each(p, 3, meet, &b), 0);
	CHECK_EQ(b.most, 3);
}

static int nest(void *arg, size_t i)
{
	struct batch_seen *b = arg;
	struct batch_seen in = { .fails_at = N };

	(void)i;
	return pool_each(b->inner, N, see, &in) == 0 && count_once(&in) == N
		       ? 0
		       : -EIO;
}

static void a_batch_inside_a_batch_ends(void)
{
	CLEANUP(pool_freep) struct pool *p = NULL;
	struct batch_seen b = { .fails_at = N };

	CHECK_EQ(pool_new(2, &p), 0);
	b.inner = p;
	CHECK_EQ(pool_each(p, 20, nest, &b), 0);
}

struct errand {
	int begun, ran, dropped; /* atomic */
	bool go;		 /* atomic */
};

static void run_errand(void *arg)
{
	struct errand *e = arg;

	__atomic_add_fetch(&e->begun, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&e->go, __ATOMIC_SEQ_CST))
		usleep(1000);
	__atomic_add_fetch(&e->ran, 1, __ATOMIC_SEQ_CST);
}

static void drop_errand(void *arg)
{
	__atomic_add_fetch(&((struct errand *)arg)->dropped, 1,
			   __ATOMIC_SEQ_CST);
}

static bool try_for_a_while(struct pool *p, struct errand *e)
{
	for (int k = 0; k < 5000; k++) {
		if (pool_try(p, run_errand, drop_errand, e))
			return true;
		usleep(1000);
	}
	return false;
}

static void only_an_idle_worker_is_tried(void)
{
	struct pool *p = NULL;
	struct errand e = { 0 };

	CHECK(!pool_try(NULL, run_errand, drop_errand, &e));
	CHECK_EQ(pool_new(1, &p), 0);
	CHECK(try_for_a_while(p, &e));
	while (!__atomic_load_n(&e.begun, __ATOMIC_SEQ_CST))
		usleep(1000);
	CHECK(!pool_try(p, run_errand, drop_errand, &e));
	CHECK_EQ(e.begun, 1);
	__atomic_store_n(&e.go, true, __ATOMIC_SEQ_CST);
	CHECK(try_for_a_while(p, &e));
	pool_free(p);
	CHECK_EQ(e.ran + e.dropped, 2);
}

int main(void)
{
	RUN(each_index_runs_once);
	RUN(an_error_ends_the_batch);
	RUN(the_caller_and_all_workers_help);
	RUN(a_batch_inside_a_batch_ends);
	RUN(only_an_idle_worker_is_tried);
	return CHECK_RESULT();
}
