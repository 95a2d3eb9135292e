/* SPDX-License-Identifier: MIT */
/* writer_commit.c - what a transaction has made reaches FILE:
 *
 *     the library writes all that it has      (under store_h5)
 *     the log is synced                       (readers go on)
 *     FILE's exclusive lock; is it ours still?
 *     the gate is closed, FILE changed, the gate opened
 *     FILE's shared lock; the log is emptied
 *
 * When FILE could not be changed to the end, the next begin tries again. */
#include <stdio.h>

#include "writer_int.h"

/* A commit that was half applied when something failed: finished, or what has to
 * be done with its log. */
static int heal_alone(struct writer *w)
{
	CLEANUP(journal_closep) struct journal *j = NULL;
	CLEANUP(freep) char *said = NULL;
	enum recovery recovery;
	uint64_t tag;
	int r = journal_recover(&w->where, &recovery, &tag, &said);

	if (r == 0)
		r = journal_open(&w->where, tag, &j);
	if (r < 0)
		return r;
	journal_close(w->journal);
	w->journal = TAKE(j);
	__atomic_store_n(&w->tag, tag, __ATOMIC_RELEASE);
	return 0;
}

int writer_heal(struct writer *w)
{
	int r;

	writer_take_h5(w);
	writer_set_committing(w, true);
	pthread_mutex_unlock(&store_h5);
	r = writer_lock_alone(w->where.fd, w->lock_wait_ms);
	if (r == 0) {
		gate_close(&w->gate);
		r = heal_alone(w);
		__atomic_add_fetch(&w->commits, 1, __ATOMIC_RELEASE);
		writer_note_state(w);
		gate_open(&w->gate);
	}
	(void)writer_lock_shared(w->where.fd);
	writer_set_committing(w, false);
	return r < 0 ? writer_fail(w, r == -EBUSY ? r : -EIO,
				   "an earlier commit can not be finished: %s",
				   strerror(-r))
		     : 0;
}

/* A library that has FILE open to write says so by a flag in it, unless its driver
 * has no locks, in the version that this was tried with: none is committed. */
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

	writer_take_h5(w);
	if (w->file >= 0)
		r = w->at_close ? wfile_close(w)
				: H5Fflush(w->file, H5F_SCOPE_GLOBAL);
	if (r < 0)
		r = writer_h5_fail(w, "can not be flushed");
	if (r == 0 && journal_is_dirty(w->journal))
		r = clear_flags(w);
	writer_set_committing(w, true);
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
	writer_note_state(w);
	gate_open(&w->gate);
	return r < 0 ? writer_fail(w, -EIO,
				   "the commit could not be finished (%s); it "
				   "will be with the next one, or at the next "
				   "mount",
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
		return writer_fail_io(w, r);
	r = writer_check_same(w);
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
			return writer_fail_io(w, r);
		writer_note_state(w);
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

	if (!writer_is_mine(w) || tag == 0)
		return writer_fail(w, -EINVAL, "no transaction is open");
	r = commit(w, tag);
	if (r == 0) {
		writer_end(w);
		return 0;
	}
	writer_abort(w);
	/* also when it could not be given up for good: who knows */
	return journal_error(w->journal) < 0 ? -EIO : r;
}
