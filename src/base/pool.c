/* SPDX-License-Identifier: MIT */
/* pool.c - a few threads for what takes a core. */
#include "h5fs/base.h"

struct batch { /* of one pool_each(), on its caller's stack */
	struct batch *next;
	int (*run)(void *arg, size_t i);
	void *arg;
	size_t n, begun;
	unsigned running;
	int error;
};
struct task { /* of one pool_try() */
	struct task *next;
	void (*run)(void *arg);
	void (*drop)(void *arg);
	void *arg;
};
struct pool {
	pthread_mutex_t lock; /* all that follows */
	pthread_cond_t work, done;
	struct batch *batches;
	struct task *tasks, **tasks_end;
	unsigned idle, queued; /* workers that wait; tasks that nobody took */
	bool stop;
	unsigned nthreads;
	pthread_t threads[];
};

/* Runs one index, with the lock given back meanwhile. */
static void run_one(struct pool *p, struct batch *b)
{
	size_t i = b->begun++;
	int r;

	b->running++;
	pthread_mutex_unlock(&p->lock);
	r = b->run(b->arg, i);
	pthread_mutex_lock(&p->lock);
	b->running--;
	if (r < 0) {
		if (!b->error)
			b->error = r;
		b->begun = b->n;
	}
	if (b->begun == b->n && b->running == 0)
		pthread_cond_broadcast(&p->done);
}

static struct batch *find_batch(struct pool *p)
{
	struct batch *b = p->batches;

	while (b && b->begun == b->n)
		b = b->next;
	return b;
}

static struct task *take_task(struct pool *p)
{
	struct task *t = p->tasks;

	if (!t)
		return NULL;
	p->tasks = t->next;
	if (!p->tasks)
		p->tasks_end = &p->tasks;
	p->queued--;
	return t;
}

static void run_task(struct pool *p, struct task *t)
{
	pthread_mutex_unlock(&p->lock);
	t->run(t->arg);
	free(t);
	pthread_mutex_lock(&p->lock);
}

static void *worker(void *arg)
{
	struct pool *p = arg;
	LOCK_SCOPE(&p->lock);

	while (!p->stop) {
		struct task *t = take_task(p);
		struct batch *b = t ? NULL : find_batch(p);

		if (t) {
			run_task(p, t);
		} else if (b) {
			run_one(p, b);
		} else {
			p->idle++;
			pthread_cond_wait(&p->work, &p->lock);
			p->idle--;
		}
	}
	return NULL;
}

int pool_new(unsigned threads, struct pool **ret_pool)
{
	CLEANUP(pool_freep)
	struct pool *p = calloc(1, sizeof(*p) + threads * sizeof(pthread_t));
	int r;

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->done, NULL);
	p->tasks_end = &p->tasks;
	for (unsigned i = 0; i < threads; i++) {
		r = pthread_create(&p->threads[i], NULL, worker, p);
		if (r)
			return -r;
		p->nthreads++;
	}
	*ret_pool = TAKE(p);
	return 0;
}

void pool_free(struct pool *p)
{
	struct task *t;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->nthreads; i++)
		pthread_join(p->threads[i], NULL);
	while ((t = take_task(p))) {
		t->drop(t->arg);
		free(t);
	}
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int run_alone(size_t n, int (*run)(void *arg, size_t i), void *arg)
{
	for (size_t i = 0; i < n; i++) {
		int r = run(arg, i);

		if (r < 0)
			return r;
	}
	return 0;
}

int pool_each(struct pool *p, size_t n, int (*run)(void *arg, size_t i),
	      void *arg)
{
	struct batch b = { .run = run, .arg = arg, .n = n };
	struct batch **at;

	if (!p || p->nthreads == 0 || n <= 1)
		return run_alone(n, run, arg);
	LOCK_SCOPE(&p->lock);
	b.next = p->batches;
	p->batches = &b;
	pthread_cond_broadcast(&p->work);
	while (b.begun < b.n)
		run_one(p, &b);
	while (b.running)
		pthread_cond_wait(&p->done, &p->lock);
	for (at = &p->batches; *at != &b; at = &(*at)->next)
		;
	*at = b.next;
	return b.error;
}

bool pool_try(struct pool *p, void (*run)(void *arg), void (*drop)(void *arg),
	      void *arg)
{
	struct task *t;

	if (!p)
		return false;
	LOCK_SCOPE(&p->lock);
	if (p->stop || p->idle <= p->queued)
		return false;
	t = malloc(sizeof(*t));
	if (!t)
		return false;
	*t = (struct task){ NULL, run, drop, arg };
	*p->tasks_end = t;
	p->tasks_end = &t->next;
	p->queued++;
	pthread_cond_signal(&p->work);
	return true;
}
