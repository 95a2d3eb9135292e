/* SPDX-License-Identifier: MIT */
/* writer_int.h - shared by the files of the writer only.
 *
 * Locks, outer to inner: the transaction > store_h5 > writer.lock, gate. The gate
 * is closed with store_h5 not held. */
#ifndef H5FS_WRITER_INT_H
#define H5FS_WRITER_INT_H

#include "journal_int.h"
#include "store_int.h"

#define WRITER_SETS 64

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
	bool committing; /* or aborting; set under store_h5 too: nobody
			 * enters */
	struct stat st;	 /* FILE as this writer left it */
	enum store_change changed;

	/* under store_h5, or while committing: */
	struct journal *journal;
	hid_t file;   /* read-write; open from the first begin on */
	hid_t driver; /* of file */
	haddr_t eoa;  /* the end of FILE as the library wants it */
	bool discard; /* what the library writes goes nowhere */
	bool at_close; /* FILE keeps its free space: commits are made by closing */
	struct dset *sets[WRITER_SETS]; /* open for writing: writer_set.c */
	unsigned next_set;
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

/* ---- writer.c, for writer_*.c that make transactions ---- */
/* Why the journal could not do it; returns r. */
int writer_fail_io(struct writer *w, int r);
/* Is this thread in the transaction? */
bool writer_is_mine(struct writer *w);
/* store_h5, with no commit under way and the library silent. */
void writer_take_h5(struct writer *w);
/* Nobody enters meanwhile. Begun under store_h5. */
void writer_set_committing(struct writer *w, bool committing);
/* FILE is as it is by this writer. */
void writer_note_state(struct writer *w);
/* 0, or -ESTALE with why: it is not as this writer left it. */
int writer_check_same(struct writer *w);
void writer_end(struct writer *w);
/* Ends whatever transaction there is: aborted. */
void writer_stop(struct writer *w);

/* ---- writer_commit.c ---- */
/* Finishes, or drops, a commit in which the journal failed. Within a transaction
 * that has just begun. */
int writer_heal(struct writer *w);

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

/* ---- the requests ----
 * All that follows is under the guard, but for region_write(). */

/* ---- writer_path.c ---- */
/* "path: what: what the library said". */
int writer_path_fail(struct writer *w, const char *path, const char *what);
/* Opens the object at a path, in FILE only. -ENOENT; -EOPNOTSUPP: in another. */
int writer_object(struct writer *w, const char *path, hid_t *ret_obj);
enum path_state {
	PATH_THERE,
	PATH_FREE,   /* the group that would hold it is there */
	PATH_NO_WAY, /* it is not */
};
/* -EINVAL: no path for a new object; -ENOTDIR; -EOPNOTSUPP. */
int writer_path_state(struct writer *w, const char *path,
		      enum path_state *ret_state);
/* -EEXIST unless it is free; with make_way, groups on the way may be missing. */
int writer_path_free(struct writer *w, const char *path, bool make_way);
/* Creation properties of a link or attribute of that name. */
hid_t writer_name_plist(hid_t class, const char *name);
/* The same of a link, and groups on the way are made. */
hid_t writer_link_plist(const char *path);
/* Access properties of links: none leads out of FILE. *out: one would have. */
hid_t writer_inside(bool *out);

/* ---- writer_set.c ---- */
/* A dataset open for writing, kept until writer_datasets_close(). Its mtype is
 * what it is written from. */
int writer_dataset(struct writer *w, const char *path, struct dset **ret_set);
/* The same for a look: not kept. Release with writer_set_free(). */
int writer_set_open(struct writer *w, const char *path, struct dset **ret_set);
void writer_set_free(struct dset *d);
DEFINE_CLEANUP(struct dset *, writer_set_free)
/* Before the file is closed, and whenever paths change. */
void writer_datasets_close(struct writer *w);
/* 0, or why its elements can not be written (-EOPNOTSUPP). */
int writer_set_writable(struct writer *w, const struct dset *d);
/* 0, or why it can not grow by n > 0 along axis. */
int writer_set_growable(struct writer *w, const struct dset *d, unsigned axis,
			uint64_t n);

/* ---- writer_value.c ---- */
/* Do elements of one type lie in memory as those of the other? */
bool dtype_same(const struct dtype *a, const struct dtype *b);
/* Paths in n elements become references, in a copy; *ret_copy NULL: there are
 * none. -ENOENT: no such object. */
int writer_refs(struct writer *w, const struct dtype *t, const void *elements,
		uint64_t n, struct blob **ret_copy);
bool dtype_is_text(const struct dtype *t); /* STRING or VLSTR */
/* n texts as texts of another type, which may lie in a. -EINVAL: one does not
 * fit. */
int texts_as(const struct dtype *from, const void *elements, uint64_t n,
	     const struct dtype *to, struct arena *a, struct blob **ret_texts);

/* ---- writer_region.c ---- */
/* Packed elements in C order: in memory, or from offset on in fd. */
struct source {
	const uint8_t *mem;
	int fd;
	uint64_t offset;
};
/* Writes a box of a dataset's extent; not under the guard. */
int region_write(struct writer *w, struct dset *d, const uint64_t *start,
		 const uint64_t *count, const struct source *src);
/* The shape of pieces of `bytes` at most, whole in the inner axes. */
void tile_shape(unsigned rank, const uint64_t *dims, uint64_t element,
		uint64_t bytes, uint64_t *ret_tile);

/* ---- writer_create.c ---- */
/* The shape of chunks of a growing dataset. */
void chunk_shape(unsigned rank, const uint64_t *dims, unsigned axis,
		 uint64_t element, uint64_t *ret_chunk);

#endif
