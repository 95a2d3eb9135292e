/* SPDX-License-Identifier: MIT */
/* guard.c - the door: FILE's shared lock, the library's lock, and whether FILE
 * is still what was opened.
 *
 * A read-only mount locks out nobody: the shared lock is held around each
 * locate-and-read only. flock() belongs to the open file description, so it is
 * counted: the first user takes it, the last lets it go. Beside a writer the lock
 * is the writer's, and its gate is passed by each user.
 *
 * Who waits for a writer waits lock_wait_ms at most: when one wait has ended in
 * vain, those who come in the second after it are told so at once. */
#include <stdio.h>
#include <sys/file.h>
#include <time.h>

#include "store_int.h"

pthread_mutex_t store_h5 = PTHREAD_MUTEX_INITIALIZER;
static __thread bool silenced;

#define LOOK_MS 100 /* between two looks at what is dear to look at */
#define IN_VAIN_MS 1000

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

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool is_same(const struct store_file *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 && same_state(&st, &f->st);
}

/* A SWMR writer appends, and what was read stays right, as long as it has FILE
 * open: who comes after it may move what it likes. */
static bool writer_is_there(const struct store_file *f)
{
	struct stat st;
	int flags;

	if (fstat(f->fd, &st) < 0 || st.st_size < f->st.st_size)
		return false;
	flags = superblock_flags(f->fd, (uint64_t)st.st_size);
	return flags >= 0 && (flags & FLAG_WRITE) && (flags & FLAG_SWMR);
}

/* One caller each LOOK_MS looks at all the rest. */
static bool is_time_to_look(struct store *s)
{
	uint64_t last = __atomic_load_n(&s->looked_ms, __ATOMIC_RELAXED);
	uint64_t now = now_ms();

	return now - last >= LOOK_MS &&
	       __atomic_compare_exchange_n(&s->looked_ms, &last, now, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool rest_is_same(struct store *s)
{
	if (s->swmr)
		return writer_is_there(s->files[0]);
	for (unsigned i = 1; i < store_nfiles(s); i++)
		if (!is_same(s->files[i]))
			return false;
	return true;
}

static int stale(struct store *s)
{
	__atomic_store_n(&s->changed, STORE_CHANGED, __ATOMIC_RELEASE);
	return -ESTALE;
}

int store_unchanged(struct store *s)
{
	if (__atomic_load_n(&s->changed, __ATOMIC_ACQUIRE) == STORE_CHANGED)
		return -ESTALE;
	/* beside a writer FILE grows before a commit */
	if (s->beside ? writer_commits(s->beside) != s->commits
		      : !s->swmr && !is_same(s->files[0]))
		return stale(s);
	if ((s->swmr || store_nfiles(s) > 1) && is_time_to_look(s) &&
	    !rest_is_same(s))
		return stale(s);
	return 0;
}

int store_file_unchanged(struct store *s, unsigned file)
{
	return file == 0 || s->swmr || is_same(s->files[file]) ? 0 : stale(s);
}

/* No locks here: NFS, Lustre and the like (rule F2). */
static bool means_no_locks(int error)
{
	return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP ||
	       error == EINVAL;
}

/* since: when the caller began to wait, be it for another who waits here. */
static int wait_for_lock(struct store *s, uint64_t since)
{
	unsigned step = 1;

	while (flock(s->files[0]->fd, LOCK_SH | LOCK_NB) < 0) {
		uint64_t now;

		if (errno == EINTR)
			continue;
		if (means_no_locks(errno)) {
			s->nolock = true;
			return 0;
		}
		if (errno != EWOULDBLOCK)
			return -EIO;
		now = now_ms();
		if (s->gave_up_ms && now - s->gave_up_ms < IN_VAIN_MS)
			return -EAGAIN;
		if (now - since >= s->lock_wait_ms) {
			s->gave_up_ms = now;
			if (s->faults)
				(void)faults_add(
					s->faults, s->path,
					"another program had it locked "
					"for writing; reads failed",
					"read again once it is closed");
			return -EAGAIN;
		}
		sleep_ms(step);
		step = step < 50 ? step * 2 : 50;
	}
	return 0;
}

/* One user more, or less, while there are others: they need not meet at store.io,
 * which who takes the lock, or lets it go, holds meanwhile. */
static bool join_others(struct store *s)
{
	unsigned n = __atomic_load_n(&s->lock_users, __ATOMIC_RELAXED);

	while (n > 0)
		if (__atomic_compare_exchange_n(&s->lock_users, &n, n + 1,
						false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

static bool leave_others(struct store *s)
{
	unsigned n = __atomic_load_n(&s->lock_users, __ATOMIC_RELAXED);

	while (n > 1)
		if (__atomic_compare_exchange_n(&s->lock_users, &n, n - 1,
						false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

static int take_lock(struct store *s, uint64_t since)
{
	LOCK_SCOPE(&s->io);
	int r = 0;

	if (!s->nolock && !__atomic_load_n(&s->lock_users, __ATOMIC_RELAXED))
		r = wait_for_lock(s, since);
	if (r == 0)
		__atomic_fetch_add(&s->lock_users, 1, __ATOMIC_ACQ_REL);
	return r;
}

static int lock_since(struct store *s, uint64_t since)
{
	int r = 0;

	if (s->beside)
		gate_enter(writer_gate(s->beside));
	else if (!join_others(s))
		r = take_lock(s, since);
	if (r < 0)
		return r;
	r = store_unchanged(s);
	if (r < 0)
		store_unlock(s);
	return r;
}

int store_lock_first(struct store *s)
{
	int r = 0;

	if (s->beside) {
		gate_enter(writer_gate(s->beside));
		s->commits = writer_commits(s->beside);
	} else {
		r = take_lock(s, now_ms());
		if (r < 0)
			return r;
	}
	/* a writer that was waited for has made it what it is now */
	if (fstat(s->files[0]->fd, &s->files[0]->st) == 0)
		return 0;
	store_unlock(s);
	return -EIO;
}

int store_lock(struct store *s)
{
	return lock_since(s, now_ms());
}

void store_unlock(struct store *s)
{
	if (s->beside) {
		gate_leave(writer_gate(s->beside));
		return;
	}
	if (leave_others(s))
		return;
	LOCK_SCOPE(&s->io);
	if (__atomic_sub_fetch(&s->lock_users, 1, __ATOMIC_ACQ_REL) == 0 &&
	    !s->nolock)
		(void)flock(s->files[0]->fd, LOCK_UN);
}

void store_silence(void)
{
	if (silenced)
		return;
	/* the first call counts: a file too damaged to be closed must not be
	 * closed again at exit */
	(void)H5dont_atexit();
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	silenced = true;
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
	store_silence();
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
