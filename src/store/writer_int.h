/* SPDX-License-Identifier: MIT */
/* writer_int.h - shared by the files of the writer only.
 *
 * Locks, outer to inner: the transaction > store_h5 > writer.lock, gate. The gate
 * is closed with store_h5 not held. */
#ifndef H5FS_WRITER_INT_H
#define H5FS_WRITER_INT_H

#include "journal_int.h"
#include "store_int.h"

struct wfile;
struct writer {
	char *path, *side; /* real path of FILE; SIDE */
	struct faults *faults;
	unsigned lock_wait_ms;
	struct pool *pool;

	struct journal_file where; /* FILE, whose fd holds the locks on it */
	uint64_t tag;		   /* atomic */
	uint64_t commits;	   /* atomic */
	struct gate gate;

	pthread_mutex_t lock; /* what follows */
	pthread_cond_t over;
	bool in_transaction;
	pthread_t owner; /* the thread that is in it */
	bool committing; /* set under store_h5 too: nobody enters */
	struct stat st;	 /* FILE as this writer left it */
	enum store_change changed;

	/* under store_h5, or while committing: */
	struct journal *journal;
	hid_t file;   /* read-write; open from the first begin on */
	hid_t driver; /* of file */
	haddr_t eoa;  /* the end of FILE as the library wants it */
	bool discard; /* what the library writes goes nowhere */
	bool at_close; /* FILE keeps its free space: commits are made by closing */
};

/* ---- for the requests: writer_*.c ---- */
/* Stores why, for writer_why() on this thread; returns r. */
int writer_fail(struct writer *w, int r, const char *fmt, ...) PRINTF(3, 4);
/* The same with what the library said last: "what: what it said"; -EIO, or what
 * the journal could not do (-ENOSPC). Under store_h5. */
int writer_h5_fail(struct writer *w, const char *what);

/* store_h5, with the library silent on this thread and w->file open. -EINVAL when
 * this thread is in no transaction; also when something could not be written
 * since it began: the library is not told (it would not recover), the next request
 * is. */
int writer_enter(struct writer *w);
/* The same in or outside of a transaction, for what only looks. */
int writer_enter_to_look(struct writer *w);
void writer_leave(struct writer *w);
static inline void writer_leavep(struct writer **w)
{
	writer_leave(*w);
}
/* The first owner in its scope, so that ids close before it opens. */
#define WRITER_GUARD_(w, enter)                                                \
	int guard_error_ = enter(w);                                           \
	if (guard_error_ < 0)                                                  \
		return guard_error_;                                           \
	CLEANUP(writer_leavep)                                                 \
	__attribute__((unused)) struct writer *guard_ = (w)
#define WRITER_GUARD(w) WRITER_GUARD_(w, writer_enter)
#define WRITER_LOOK(w) WRITER_GUARD_(w, writer_enter_to_look)

/* Ends whatever transaction there is: aborted. */
void writer_stop(struct writer *w);

/* ---- wfile.c; under store_h5 ---- */
/* Opens w->file over the journal. */
int wfile_open(struct writer *w);
/* Closes it; what the library writes meanwhile counts unless w->discard. */
int wfile_close(struct writer *w);

/* ---- writer_lock.c ---- */
/* The one-writer lock, and FILE's shared lock. -EBUSY, -EROFS with why. */
int writer_take_locks(int fd, unsigned wait_ms, char **ret_why);
/* FILE's exclusive lock instead of the shared one; on -EBUSY the shared one is
 * held again. */
int writer_lock_alone(int fd, unsigned wait_ms);
int writer_lock_shared(int fd);

#endif
