/* SPDX-License-Identifier: MIT */
/* writer.c - the one writer of FILE: transactions.
 *
 *   begin .. requests .. commit:
 *     the library writes all that it has      (under store_h5)
 *     the log is synced                       (readers go on)
 *     FILE's exclusive lock; is it ours still?
 *     the gate is closed, FILE changed, the gate opened
 *     FILE's shared lock; the log is emptied
 *
 * An abort drops the library's handle with all that it has not written; the next
 * begin opens another. */
#include <stdio.h>

#include "writer_int.h"

static __thread char why[512];

const char *writer_why(struct writer *w)
{
	(void)w;
	return why;
}

int writer_fail(struct writer *w, int r, const char *fmt, ...)
{
	va_list ap;

	(void)w;
	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return r;
}

static int fail_io(struct writer *w, int r)
{
	return writer_fail(w, r, "can not be written: %s", strerror(-r));
}

int writer_h5_fail(struct writer *w, const char *what)
{
	char said[200];
	int r = journal_error(w->journal);

	if (r < 0)
		return fail_io(w, r);
	store_h5_message(said, sizeof(said));
	return writer_fail(w, -EIO, "%s: %s", what, said);
}

struct gate *writer_gate(struct writer *w)
{
	return &w->gate;
}

uint64_t writer_commits(const struct writer *w)
{
	return __atomic_load_n(&w->commits, __ATOMIC_ACQUIRE);
}

uint64_t writer_tag(const struct writer *w)
{
	return __atomic_load_n(&w->tag, __ATOMIC_ACQUIRE);
}

/* ---- is FILE what this writer left? ---- */

static bool same_state(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void note_state(struct writer *w)
{
	LOCK_SCOPE(&w->lock);
	(void)fstat(w->where.fd, &w->st);
}

/* Under w->lock. in_place: also what is in it. */
static enum store_change look(struct writer *w, bool in_place)
{
	struct stat now;

	if (w->changed != STORE_SAME)
		return w->changed;
	if (stat(w->path, &now) < 0 || now.st_ino != w->st.st_ino ||
	    now.st_dev != w->st.st_dev)
		w->changed = STORE_REPLACED;
	else if (in_place && !same_state(&now, &w->st))
		w->changed = STORE_CHANGED;
	return w->changed;
}

enum store_change writer_check(struct writer *w)
{
	LOCK_SCOPE(&w->lock);
	/* what is written behind its end changes it too */
	return look(w, !w->in_transaction);
}

static int check_same(struct writer *w)
{
	static const char *const what[] = {
		[STORE_CHANGED] = "was changed by another program",
		[STORE_REPLACED] = "was replaced by another file",
	};
	enum store_change change;
	LOCK_SCOPE(&w->lock);

	change = look(w, true);
	return change == STORE_SAME
		       ? 0
		       : writer_fail(w, -ESTALE, "%s", what[change]);
}

/* ---- entering ---- */

/* store_h5, with no commit under way. */
static void take_h5(struct writer *w)
{
	bool wait;

	do {
		pthread_mutex_lock(&w->lock);
		while (w->committing)
			pthread_cond_wait(&w->over, &w->lock);
		pthread_mutex_unlock(&w->lock);
		pthread_mutex_lock(&store_h5);
		pthread_mutex_lock(&w->lock);
		wait = w->committing;
		pthread_mutex_unlock(&w->lock);
		if (wait)
			pthread_mutex_unlock(&store_h5);
	} while (wait);
	store_silence();
}

static bool is_mine(struct writer *w)
{
	LOCK_SCOPE(&w->lock);
	return w->in_transaction && pthread_equal(w->owner, pthread_self());
}

/* Under store_h5. */
static int need_file(struct writer *w)
{
	int r;

	if (w->file >= 0)
		return 0;
	r = is_mine(w) ? 0 : check_same(w);
	if (r == 0 && wfile_open(w) < 0)
		r = writer_h5_fail(w, "can not be opened for writing");
	if (!is_mine(w))
		note_state(w);
	return r;
}

int writer_enter_to_look(struct writer *w)
{
	int r;

	take_h5(w);
	r = journal_error(w->journal);
	r = r < 0 ? fail_io(w, r) : need_file(w);
	if (r < 0)
		pthread_mutex_unlock(&store_h5);
	return r;
}

int writer_enter(struct writer *w)
{
	if (!is_mine(w))
		return writer_fail(w, -EINVAL, "no transaction is open");
	return writer_enter_to_look(w);
}

void writer_leave(struct writer *w)
{
	(void)w;
	pthread_mutex_unlock(&store_h5);
}

/* ---- transactions ---- */

int writer_begin(struct writer *w)
{
	int r;

	{
		LOCK_SCOPE(&w->lock);
		while (w->in_transaction)
			pthread_cond_wait(&w->over, &w->lock);
		w->in_transaction = true;
		w->owner = pthread_self();
	}
	r = check_same(w);
	if (r == 0 && journal_error(w->journal) < 0)
		r = writer_fail(w, -EIO,
				"a commit could not be finished; it will be "
				"when the file is mounted again");
	if (r < 0)
		writer_abort(w);
	return r;
}

static void end(struct writer *w)
{
	LOCK_SCOPE(&w->lock);
	w->in_transaction = w->committing = false;
	pthread_cond_broadcast(&w->over);
}

/* The library sets a flag while it has FILE open, which is never committed. */
static int clear_flags(struct writer *w)
{
	uint8_t sb[SUPERBLOCK_SIZE];
	size_t size;
	int r = journal_pread(w->journal, sb, sizeof(sb), w->where.head);

	if (r < 0 || !superblock_clear_flags(sb, sizeof(sb), &size))
		return r;
	return journal_pwrite(w->journal, sb, size, w->where.head);
}

/* All that the library has is in the journal, and nobody else enters. */
static int flush(struct writer *w)
{
	int r = 0;

	take_h5(w);
	if (w->file >= 0)
		r = w->at_close ? wfile_close(w)
				: H5Fflush(w->file, H5F_SCOPE_GLOBAL);
	if (r < 0)
		r = writer_h5_fail(w, "can not be flushed");
	if (r == 0 && journal_is_dirty(w->journal))
		r = clear_flags(w);
	pthread_mutex_lock(&w->lock);
	w->committing = true;
	pthread_mutex_unlock(&w->lock);
	pthread_mutex_unlock(&store_h5);
	return r;
}

/* FILE is not as it was before, nor surely as after: the next open finishes it. */
static int apply(struct writer *w)
{
	int r;

	gate_close(&w->gate);
	r = journal_apply(w->journal);
	__atomic_add_fetch(&w->commits, 1, __ATOMIC_RELEASE);
	note_state(w);
	gate_open(&w->gate);
	return r < 0 ? writer_fail(w, -EIO,
				   "the commit could not be finished (%s); it "
				   "will be when the file is mounted again",
				   strerror(-r))
		     : 0;
}

static int commit_alone(struct writer *w)
{
	int r = writer_lock_alone(w->where.fd, w->lock_wait_ms);

	if (r == -EBUSY)
		return writer_fail(w, r,
				   "is open in another program; close it there "
				   "and commit again");
	if (r < 0)
		return fail_io(w, r);
	r = check_same(w);
	if (r == 0)
		r = apply(w);
	(void)writer_lock_shared(w->where.fd);
	return r;
}

static int commit(struct writer *w, uint64_t tag)
{
	int r = flush(w);

	if (r < 0)
		return r;
	if (journal_is_dirty(w->journal)) {
		r = journal_log(w->journal, tag, w->eoa);
		if (r < 0)
			return fail_io(w, r);
		note_state(w);
		r = commit_alone(w);
		if (r < 0)
			return r;
		/* FILE is as committed whatever becomes of the log */
		(void)journal_forget(w->journal);
	}
	__atomic_store_n(&w->tag, tag, __ATOMIC_RELEASE);
	return 0;
}

int writer_commit(struct writer *w, uint64_t tag)
{
	int r;

	if (!is_mine(w) || tag == 0)
		return writer_fail(w, -EINVAL, "no transaction is open");
	r = commit(w, tag);
	if (r < 0)
		writer_abort(w);
	else
		end(w);
	return r;
}

/* What the library has not written is lost with its handle. */
static void drop(struct writer *w)
{
	pthread_mutex_lock(&store_h5);
	store_silence();
	w->discard = true;
	(void)wfile_close(w);
	pthread_mutex_unlock(&store_h5);
}

void writer_stop(struct writer *w)
{
	bool stale;

	drop(w);
	{
		LOCK_SCOPE(&w->lock);
		stale = w->changed == STORE_CHANGED;
	}
	(void)journal_abort(w->journal, stale);
	note_state(w);
	end(w);
}

void writer_abort(struct writer *w)
{
	if (is_mine(w))
		writer_stop(w);
}
