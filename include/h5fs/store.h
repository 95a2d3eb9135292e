/* SPDX-License-Identifier: MIT */
/* store.h - one HDF5 file (and those it links to) as objects, attributes and
 * element bytes. The only door to libhdf5: no HDF5 type crosses it.
 *
 * A store is one generation of FILE: it is opened once, and once FILE has
 * changed under it every call answers -ESTALE (changed in place) or goes on
 * with the old bytes (FILE was replaced). Whoever wants the new state opens a
 * new store. Thread-safe. HDF5 is entered under one lock; chunk bytes are read
 * and decoded outside of it.
 *
 * Errors beside the usual: -ESTALE (above), -EAGAIN (another program has FILE
 * locked for writing and did not let go in time), -EIO (damaged, or a filter is
 * missing: the fault is recorded with dataset, chunk and filter), -EACCES (raw
 * or virtual data outside the directory that may be read). */
#ifndef H5FS_STORE_H
#define H5FS_STORE_H

#include <time.h>

#include "h5fs/array.h"
#include "h5fs/base.h"

struct store;
struct writer;

/* ---- where the streams of compressed chunks can be entered: a row then costs
 * its own part of a chunk. Thread-safe; for any number of stores. ---- */
struct points;
/* At most max_bytes in the file, which is empty, nobody else's, and taken over
 * also on failure. */
int points_new(int fd, uint64_t max_bytes, struct points **ret_points);
void points_free(struct points *p);
DEFINE_CLEANUP(struct points *, points_free)
struct points_stats {
	uint64_t bytes, max_bytes;
	uint64_t chunks; /* entered there, ever */
};
void points_get_stats(struct points *p, struct points_stats *ret_stats);

enum external_mode { EXTERNAL_INSIDE, EXTERNAL_FOLLOW, EXTERNAL_HIDE };
struct store_options {
	enum external_mode external;
	struct cache *cache;   /* decoded chunks go here; not owned */
	struct points *points; /* NULL: none; not owned */
	struct pool *pool;     /* decodes ahead; NULL: nobody does; not owned */
	struct faults *faults; /* not owned */
	unsigned lock_wait_ms; /* how long to wait for a writer; 0: 10,000 */
	/* NULL, or the writer of this FILE in this process (not owned): FILE's lock
	 * is then the writer's, its commits are waited for, and after one this store
	 * answers -ESTALE to everything. */
	struct writer *beside;
};
/* On failure *ret_why is one line for people: what is wrong with FILE and the
 * remedy, without FILE's name; the caller frees it. */
int store_open(const char *path, const struct store_options *opts,
	       struct store **ret_store, char **ret_why);
void store_close(struct store *s);
DEFINE_CLEANUP(struct store *, store_close)

enum store_change { STORE_SAME, STORE_CHANGED, STORE_REPLACED };
/* Cheap (two system calls): compares FILE with what was opened. */
enum store_change store_check(struct store *s);
/* 0, or -ESTALE once FILE was changed in place: one system call. The files it
 * links to are looked at each 100 ms at most. */
int store_fresh(struct store *s);
/* Told with a notice at mount: "read without a lock: ...", or NULL. */
const char *store_warning(const struct store *s);
/* Of FILE when it was opened. */
void store_times(const struct store *s, struct timespec *ret_mtime,
		 uint64_t *ret_dev, uint64_t *ret_ino);
bool store_is_swmr(const struct store *s);

struct store_stats {
	uint64_t bytes_read;	 /* of raw data, from the files */
	uint64_t chunks_decoded; /* by our own filters */
	uint64_t lib_reads;	 /* through H5Dread */
	uint64_t locates;	 /* chunk addresses asked of the library */
	uint64_t parts;		 /* reads for which a part of a chunk was decoded */
	uint64_t ahead;		 /* chunks decoded before they were asked for, */
	uint64_t ahead_used;	 /* and those of them that then were */
};
void store_get_stats(struct store *s, struct store_stats *ret_stats);

/* ---- objects ---- */
/* An object: the file it lies in (0: FILE) and its header's address there.
 * Good for as long as the store; the address is the same at the next mount. */
struct obj_id {
	uint32_t file;
	uint64_t addr;
};
enum obj_kind { OBJ_GROUP, OBJ_DATASET, OBJ_DATATYPE };
struct obj_info {
	struct obj_id id;
	enum obj_kind kind;
	uint32_t links;	       /* hard links to it */
	bool has_attrs;
	struct timespec mtime; /* 0: not tracked */
	uint64_t file_key;     /* stable over mounts: FILE is 0, another file a
				* hash of its path from FILE's directory */
};
int store_root(struct store *s, struct obj_info *ret_info);

enum link_kind { LINK_HARD, LINK_SOFT, LINK_EXTERNAL };
struct link {
	char *name; /* bytes as stored */
	enum link_kind kind;
	char *target;	   /* SOFT, EXTERNAL: path as stored */
	char *target_file; /* EXTERNAL: file name as stored */
	/* HARD, and EXTERNAL where it may be and can be followed: 0, and info
	 * is filled. Otherwise why not (-ENOENT, -EACCES, -EIO...). */
	int resolved;
	struct obj_info info;
};
struct link_page {
	size_t count;
	struct link *links; /* in name order, bytewise */
	uint64_t next;	    /* where the next page starts; 0: no more */
	struct arena *arena;
};
void link_page_done(struct link_page *p);
/* Links of a group from position `from` (0, then ->next): at most `max`, or up to
 * some millions, since each page costs a pass over the whole group. */
int store_links(struct store *s, struct obj_id group, uint64_t from, size_t max,
		struct link_page *ret_page);
/* Follows a path from a group (absolute: from the root of its file) as HDF5
 * does, through soft and external links. -ENOENT: dangling; -ELOOP; -EACCES:
 * it leaves the directory that may be read. */
int store_resolve(struct store *s, struct obj_id group, const char *path,
		  struct obj_info *ret_info);
/* Name of one of the store's files for people: from FILE's directory where it
 * lies below it. */
const char *store_file_name(struct store *s, uint32_t file);
/* The one path by which an object is known: of a group the shortest, then the
 * bytewise first; of a dataset or datatype the deepest in such groups, then the
 * shortest, then the first (a shortcut at the top does not rename what it points
 * to). External links to groups count. Walks the whole file once, when first
 * asked. -ENOENT: no path leads there. The caller frees *ret_path. */
int store_path_of(struct store *s, struct obj_id id, char **ret_path);
/* Number of links, without reading them. */
int store_link_count(struct store *s, struct obj_id group, uint64_t *ret_count);
/* Description of a committed datatype. */
int store_datatype(struct store *s, struct obj_id id, struct dtype **ret_type);

/* ---- attributes, of any object ---- */
struct attr_list {
	size_t count;
	char **names; /* bytes as stored, in name order */
	struct arena *arena;
};
void attr_list_done(struct attr_list *l);
int store_attrs(struct store *s, struct obj_id id, struct attr_list *ret_list);
/* -ENODATA: no such attribute. */
int store_attr(struct store *s, struct obj_id id, const char *name,
	       struct array **ret_value);

/* ---- datasets ---- */
enum storage {
	STORAGE_COMPACT, STORAGE_CONTIGUOUS, STORAGE_CHUNKED, STORAGE_VIRTUAL,
	STORAGE_EXTERNAL, /* contiguous in other files */
};
struct filter_info {
	unsigned id;
	char name[32];	/* "gzip", "shuffle", "lzf", ... or "filter 32008" */
	bool available; /* ours, or the library's */
};
struct dataset_info {
	struct obj_info obj;
	const struct dtype *type;
	bool null;
	unsigned rank;
	uint64_t dims[DT_MAX_RANK];
	uint64_t maxdims[DT_MAX_RANK]; /* UINT64_MAX: unlimited */
	uint64_t count;		       /* elements; UINT64_MAX: more than fit */
	enum storage storage;
	uint64_t chunk[DT_MAX_RANK]; /* CHUNKED */
	unsigned nfilters;
	struct filter_info filters[32];
	bool direct; /* bytes are read and decoded without the library */
};
/* A dataset opened for reading; counted. */
struct dset;
/* path is for messages only. */
int dset_open(struct store *s, struct obj_id id, const char *path,
	      struct dset **ret_dset);
struct dset *dset_ref(struct dset *d);
void dset_unref(struct dset *d);
DEFINE_CLEANUP(struct dset *, dset_unref)
const struct dataset_info *dset_info(const struct dset *d);
const char *dset_path(const struct dset *d);

/* All reads: start[] and count[] have info->rank entries (rank 0: ignored).
 * Outside the extent: -ERANGE. The range must be of the dataset as it was when
 * the store was opened. */

/* Packed elements in C order into buf (product of count * type->size bytes).
 * step may be NULL (1). Not for types with pointers: -EINVAL. */
int dset_read(struct dset *d, const uint64_t *start, const uint64_t *count,
	      const uint64_t *step, void *buf);
/* The same without a copy where the hyperslab lies in one chunk or in nothing
 * but fill value; otherwise it is put together in a fresh blob. */
int dset_borrow(struct dset *d, const uint64_t *start, const uint64_t *count,
		struct span *ret_span);
/* n elements in C order from the first-th on, where they are stored in that order:
 * -EOPNOTSUPP where they are not, and dset_read() is to be asked. */
int dset_read_run(struct dset *d, uint64_t first, uint64_t n, void *buf);
/* Any type; what elements point to belongs to the array, whose shape is count. */
int dset_read_cells(struct dset *d, const uint64_t *start,
		    const uint64_t *count, struct array **ret_array);

/* ---- one writer of FILE: all of a transaction, or nothing ----
 * Overwrites of what FILE holds go to a write-ahead log, SIDE/journal; what is
 * new goes behind its end, where nobody sees it. SIDE is made with the first
 * write and removed, when it is empty, by writer_close(). HDF5 paths name
 * objects: absolute, '/' between names.
 *
 * Holds FILE's shared lock from writer_open() on, and the exclusive one while a
 * commit is applied. Between transactions the HDF5 handle stays open; it is
 * opened by the first. Thread-safe, but for begin .. commit/abort, which one
 * thread at a time may be in: a second begin waits.
 *
 * Errors beside the usual: -EBUSY another program keeps FILE locked; -ESTALE
 * FILE was replaced, or changed by somebody else, since writer_open(): nothing
 * can be written until it is opened anew; -EOPNOTSUPP with *why: the library or
 * the dataset cannot. After any error in a transaction: writer_abort(). */
struct writer_options {
	const char *side;	/* NULL: .FILE.h5fs beside FILE */
	struct faults *faults;	/* not owned */
	unsigned lock_wait_ms;	/* for the exclusive lock; 0: 2,000 */
	unsigned threads;	/* that compress; 0: one */
};
/* Takes the one-writer lock, then recovers (see store_recover()). *ret_why as in
 * store_open(): -EBUSY names the other writer's pid. -EROFS: may not be written,
 * or several hard links lead to it, or the file system has no locks, or a flag
 * in FILE says that a writer had it open. */
int writer_open(const char *path, const struct writer_options *o,
		struct writer **ret_writer, char **ret_why);
/* The process that has FILE open as its writer; 0: none, or it may not be looked
 * at. For messages. */
int store_writer_of(const char *path);
/* Aborts what is not committed. */
void writer_close(struct writer *w);
DEFINE_CLEANUP(struct writer *, writer_close)
/* The directory beside FILE; made when `make`. The caller frees *ret_side. */
int writer_side(struct writer *w, bool make, char **ret_side);
/* Is FILE what this writer left? Cheap. */
enum store_change writer_check(struct writer *w);
/* The tag of the last transaction that reached FILE, by this writer or, as the
 * journal tells, before it; 0: none is known. */
uint64_t writer_tag(const struct writer *w);

int writer_begin(struct writer *w);
/* tag: the caller's, not 0 (the stage's are below 2^63), told back by writer_tag()
 * also after a crash; who has none passes writer_tag() on, as it is within the
 * transaction, so that what it says of the stage's last one stays known. On 0
 * all of the transaction is in FILE and synced; every store beside this writer
 * answers -ESTALE from then on. On an error nothing of it is, or, when even that
 * is not known (-EIO), the next writer_begin() or open finishes or drops it, and
 * writer_tag() tells; the transaction is over in both cases. */
int writer_commit(struct writer *w, uint64_t tag);
void writer_abort(struct writer *w);
/* Why the last request of this thread failed, one line for people, or "". */
const char *writer_why(struct writer *w);

/* Requests, inside a transaction. `rows`: elements in memory form of the
 * dataset's own type (dset_info()->type), in its own axis order, dims[axis] rows
 * of it. */
int writer_append(struct writer *w, const char *path, unsigned axis,
		  const struct array *rows);
int writer_overwrite(struct writer *w, const char *path, unsigned axis,
		     uint64_t at, const struct array *rows);
/* All values of a dataset, of its shape, from packed C-order elements in its
 * memory form that lie in a file. */
int writer_replace(struct writer *w, const char *path, int fd, uint64_t offset);
/* Can it grow along axis? 0, or -EOPNOTSUPP with writer_why(). In or outside of
 * a transaction. */
int writer_can_append(struct writer *w, const char *path, unsigned axis);
/* Rewrites a fixed dataset as chunked and growable along axis, chunk by chunk,
 * with its attributes, filters and fill value. */
int writer_grow(struct writer *w, const char *path, unsigned axis);
struct writer_dataset {
	const struct dtype *type; /* plain numbers, strings, compounds of them */
	unsigned rank;
	uint64_t dims[DT_MAX_RANK];
	bool growable;	/* chunked, shuffle, gzip 4, unlimited on axis 0 */
	int fd;		/* packed C-order elements in memory form: from here, */
	uint64_t offset;
	const void *data; /* or, when fd is -1, from here */
};
/* -EEXIST; missing groups on the way are made. */
int writer_create_dataset(struct writer *w, const char *path,
			  const struct writer_dataset *d);
int writer_create_group(struct writer *w, const char *path);
int writer_create_link(struct writer *w, const char *path, const char *target);
/* Sets, or makes, an attribute. An existing one's type and shape are kept where
 * the value fits them (the caller has converted it); else it is made anew. */
int writer_set_attr(struct writer *w, const char *path, const char *name,
		    const struct array *value);
int writer_remove_attr(struct writer *w, const char *path, const char *name);
int writer_move(struct writer *w, const char *from, const char *to);
int writer_unlink(struct writer *w, const char *path);

/* ---- a transaction that was interrupted ---- */
enum recovery {
	RECOVERY_NONE,	   /* nothing to do */
	RECOVERY_FINISHED, /* a commit that had begun was finished */
	RECOVERY_UNDONE,   /* one that had not was dropped */
	RECOVERY_ASIDE,	   /* the log does not belong to FILE as it now is: it
			    * was renamed, FILE is untouched */
};
/* side as in writer_options. *ret_why: on failure as in store_open(); else one
 * line for people about what was done, or NULL. The one-writer lock must not be
 * held by another (-EBUSY). */
int store_recover(const char *path, const char *side,
		  enum recovery *ret_recovery, char **ret_why);
/* Is there a log of an interrupted transaction, or the mark in FILE? */
bool store_needs_recovery(const char *path, const char *side);

/* Names and versions of the libraries this room uses: "HDF5 1.10.8, ...". */
void store_versions(struct strbuf *out);

#endif
