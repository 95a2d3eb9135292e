/* SPDX-License-Identifier: MIT */
/* writer_int.h - shared by the files of the writer only.
 *
 * Locks, outer to inner: the transaction > store_h5 > gate. The gate is closed
 * with store_h5 not held. */
#ifndef H5FS_WRITER_INT_H
#define H5FS_WRITER_INT_H

#include "store_int.h"

struct journal;
struct writer {
	char *path, *dir, *side; /* real path of FILE; of SIDE */
	struct faults *faults;
	unsigned lock_wait_ms;
	struct pool *pool;

	int fd;		/* FILE; holds the locks on it */
	struct stat st; /* FILE as this writer left it */
	uint64_t base;	/* of the superblock */
	uint64_t tag;	/* atomic */
	int changed;	/* atomic; an enum store_change */

	pthread_mutex_t lock; /* in_transaction */
	pthread_cond_t over;
	bool in_transaction;

	/* under store_h5: */
	hid_t file;   /* read-write; open from the first begin on */
	hid_t driver; /* of file */
	bool at_close; /* FILE keeps its free space: commits are made by closing */
};

/* ---- for the requests: writer_*.c ---- */
/* Stores why, for writer_why() on this thread; returns r. */
int writer_fail(struct writer *w, int r, const char *fmt, ...) PRINTF(3, 4);
/* The same with what the library said last: "what: what it said"; -EIO, or
 * -ENOSPC where that is why. */
int writer_h5_fail(struct writer *w, const char *what);

/* store_h5, with the library silent on this thread and w->file open. -EINVAL when
 * no transaction is open. */
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

#endif
