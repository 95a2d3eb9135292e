/* SPDX-License-Identifier: MIT */
/* guard.c - the door: FILE's shared lock, the library's lock, and whether FILE
 * is still what was opened.
 *
 * A read-only mount locks out nobody: the shared lock is held around each
 * locate-and-read only. flock() belongs to the open file description, so it is
 * counted: the first user takes it, the last lets it go. */
#include <stdio.h>
#include <sys/file.h>
#include <time.h>

#include "store_int.h"

pthread_mutex_t store_h5 = PTHREAD_MUTEX_INITIALIZER;
static __thread bool silenced;

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static bool same_state(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int store_unchanged(struct store *s)
{
	struct stat st;

	if (s->swmr) /* a writer appends, and what was read stays right */
		return 0;
	if (__atomic_load_n(&s->changed, __ATOMIC_ACQUIRE) == STORE_CHANGED)
		return -ESTALE;
	for (unsigned i = 0; i < __atomic_load_n(&s->nfiles, __ATOMIC_ACQUIRE);
	     i++) {
		if (fstat(s->files[i]->fd, &st) == 0 &&
		    same_state(&st, &s->files[i]->st))
			continue;
		__atomic_store_n(&s->changed, STORE_CHANGED, __ATOMIC_RELEASE);
		return -ESTALE;
	}
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* since: when the caller began to wait, be it for another who waits here. */
static int wait_for_lock(struct store *s, uint64_t since)
{
	unsigned step = 1;

	while (flock(s->files[0]->fd, LOCK_SH | LOCK_NB) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK) {
			/* ENOLCK, ENOSYS: NFS, Lustre (rule F2) */
			s->nolock = true;
			return 0;
		}
		if (now_ms() - since >= s->lock_wait_ms)
			return -EAGAIN;
		sleep_ms(step);
		step = step < 50 ? step * 2 : 50;
	}
	return 0;
}

static int lock_since(struct store *s, uint64_t since)
{
	int r = 0;

	{
		LOCK_SCOPE(&s->io);
		if (!s->nolock && s->lock_users == 0)
			r = wait_for_lock(s, since);
		if (r < 0)
			return r;
		s->lock_users++;
	}
	r = store_unchanged(s);
	if (r < 0)
		store_unlock(s);
	return r;
}

int store_lock(struct store *s)
{
	return lock_since(s, now_ms());
}

void store_unlock(struct store *s)
{
	LOCK_SCOPE(&s->io);
	if (--s->lock_users == 0 && !s->nolock)
		(void)flock(s->files[0]->fd, LOCK_UN);
}

int store_enter(struct store *s)
{
	uint64_t since = now_ms();
	int r;

	pthread_mutex_lock(&store_h5);
	r = lock_since(s, since);
	if (r < 0) {
		pthread_mutex_unlock(&store_h5);
		return r;
	}
	if (!silenced) { /* the library prints errors per thread */
		/* the first call counts: a file too damaged to be closed must
		 * not be closed again at exit */
		(void)H5dont_atexit();
		H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
		silenced = true;
	}
	return 0;
}

void store_leave(struct store *s)
{
	store_unlock(s);
	pthread_mutex_unlock(&store_h5);
}

static herr_t take_message(unsigned n, const H5E_error2_t *e, void *arg)
{
	const char **ret = arg;

	(void)n;
	if (e->desc && *e->desc)
		*ret = e->desc;
	return 0;
}

void store_h5_message(char *buf, size_t size)
{
	const char *desc = NULL;

	/* downward: the last one seen is the innermost */
	(void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_message, &desc);
	snprintf(buf, size, "%s", desc ? desc : "unknown error");
	for (char *p = buf; *p; p++)
		if (*p == '\n')
			*p = ' ';
}
