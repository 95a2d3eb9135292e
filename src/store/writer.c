/* SPDX-License-Identifier: MIT */
/* writer.c - the one writer of FILE: who may enter it, where its transactions
 * begin, and how they are given up: with the library's handle and all that it has
 * not written; the next begin opens another. */
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

int writer_fail_io(struct writer *w, int r)
{
	return writer_fail(w, r, "can not be written: %s", strerror(-r));
}

int writer_h5_fail(struct writer *w, const char *what)
{
	char said[200];
	int r = journal_error(w->journal);

	if (r < 0)
		return writer_fail_io(w, r);
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

void writer_note_state(struct writer *w)
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

int writer_check_same(struct writer *w)
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
void writer_take_h5(struct writer *w)
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

void writer_set_committing(struct writer *w, bool committing)
{
	LOCK_SCOPE(&w->lock);
	w->committing = committing;
	pthread_cond_broadcast(&w->over);
}

bool writer_is_mine(struct writer *w)
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
	r = writer_is_mine(w) ? 0 : writer_check_same(w);
	if (r == 0 && wfile_open(w) < 0)
		r = writer_h5_fail(w, "can not be opened for writing");
	if (!writer_is_mine(w))
		writer_note_state(w);
	return r;
}

int writer_enter_to_look(struct writer *w)
{
	int r;

	writer_take_h5(w);
	r = journal_error(w->journal);
	r = r < 0 ? writer_fail_io(w, r) : need_file(w);
	if (r < 0)
		pthread_mutex_unlock(&store_h5);
	return r;
}

int writer_enter(struct writer *w)
{
	if (!writer_is_mine(w))
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
	r = writer_check_same(w);
	if (r == 0 && journal_error(w->journal) < 0)
		r = writer_heal(w);
	if (r < 0)
		writer_abort(w);
	return r;
}

void writer_end(struct writer *w)
{
	LOCK_SCOPE(&w->lock);
	w->in_transaction = w->committing = false;
	pthread_cond_broadcast(&w->over);
}

void writer_stop(struct writer *w)
{
	bool stale;

	pthread_mutex_lock(&store_h5);
	store_silence();
	w->discard = true; /* what the library has not written is lost */
	(void)wfile_close(w);
	pthread_mutex_lock(&w->lock);
	stale = w->changed == STORE_CHANGED;
	w->committing = true; /* nobody looks before its tail is cut */
	pthread_mutex_unlock(&w->lock);
	pthread_mutex_unlock(&store_h5);
	(void)journal_abort(w->journal, stale);
	writer_note_state(w);
	writer_end(w);
}

void writer_abort(struct writer *w)
{
	if (writer_is_mine(w))
		writer_stop(w);
}
