/* SPDX-License-Identifier: MIT */
/* store_int.h - shared by the files of the store room only.
 *
 * Locks, outer to inner: store_h5 > store.io. HDF5 is entered only inside
 * H5_GUARD, which holds store_h5 and the shared lock on FILE. */
#ifndef H5FS_STORE_INT_H
#define H5FS_STORE_INT_H

#include <hdf5.h>
#include <sys/stat.h>

#include "h5fs/store.h"

#define STORE_MAX_FILES 4096
#define STORE_MAX_NAMES (4u << 20)
#define STORE_LINKS_AT_ONCE (4u << 20)
#define STORE_OPEN_DATASETS 64
#define STORE_MAX_FILTERS 32

/* FILE, or a file it links to, once it was opened. */
struct store_file {
	int fd;
	struct stat st; /* when it was opened */
	uint64_t key;	/* obj_info.file_key */
	hid_t hid;	/* keeps the HDF5 file open; 0 for none */
	char *path;
};

struct dset;
struct open_slot {
	struct dset *dset;
	uint64_t used;
};

struct names;
struct store {
	char *path, *dir; /* real paths; dir ends without a slash */
	char *warning;
	enum external_mode external;
	struct cache *cache;
	struct faults *faults;
	unsigned lock_wait_ms;
	uint32_t names_max;   /* objects that names.c keeps */
	size_t links_at_once; /* whatever the size of a page */
	uint64_t serial;      /* of this generation, in cache keys */
	bool swmr;
	struct writer *beside;
	uint64_t commits;   /* of the writer, when it was opened */
	int changed;	    /* atomic; an enum store_change */
	uint64_t looked_ms; /* atomic; when all that is dear was looked at */

	/* under store_h5: */
	hid_t file;
	hid_t driver;
	struct vfd_file *open_files; /* that HDF5 has open now */
	struct open_slot slots[STORE_OPEN_DATASETS];
	uint64_t clock;
	bool denied; /* the driver refused a path since it was cleared */
	struct names *names;

	pthread_mutex_t io;  /* what follows, and files[] */
	bool nolock;	     /* the file system has no locks */
	unsigned lock_users; /* atomic; who hold the shared lock on FILE */
	uint64_t
		gave_up_ms; /* when a wait for a writer ended in vain; 0: none */
	unsigned nfiles;    /* atomic; grows once files[] is written */
	struct store_file *files[STORE_MAX_FILES];

	struct points *points;
	struct pool *pool;
	struct places *places; /* NULL: none */
	struct { /* chunks that are being decoded ahead */
		pthread_mutex_t lock;
		pthread_cond_t over;
		unsigned running; /* or queued */
	} ahead;

	struct store_stats stats; /* atomic */
};

static inline void hid_closep(hid_t *id)
{
	if (*id > 0)
		H5Idec_ref(*id);
}

/* ---- guard.c ---- */
/* Every HDF5 call of every store: the library may be built without threads, and
 * when FILE changes there are two stores for a while. */
extern pthread_mutex_t store_h5;
/* Shared lock on FILE, counted; -EAGAIN, -ESTALE. */
int store_lock(struct store *s);
/* The same while a store is opened: FILE is taken as it is under the lock. */
int store_lock_first(struct store *s);
void store_unlock(struct store *s);
/* The library prints errors per thread: not on this one. Under store_h5. */
void store_silence(void);
/* The lock, and the HDF5 library. */
int store_enter(struct store *s);
void store_leave(struct store *s);
static inline void store_leavep(struct store **s)
{
	store_leave(*s);
}
static inline void store_unlockp(struct store **s)
{
	store_unlock(*s);
}
/* The first owner in its scope, so that ids close before it opens. */
#define H5_GUARD(s)                                                            \
	int guard_error_ = store_enter(s);                                     \
	if (guard_error_ < 0)                                                  \
		return guard_error_;                                           \
	CLEANUP(store_leavep)                                                  \
	__attribute__((unused)) struct store *guard_ = (s)
/* 0 when FILE is as it was opened; under the lock. The other files are looked at
 * now and then. */
int store_unchanged(struct store *s);
/* The same of one of the other files, which is about to be read. */
int store_file_unchanged(struct store *s, unsigned file);
static inline unsigned store_nfiles(struct store *s)
{
	return __atomic_load_n(&s->nfiles, __ATOMIC_ACQUIRE);
}
/* What the library said last on this thread, innermost, as one line. */
void store_h5_message(char *buf, size_t size);

/* ---- gate.c ---- */
struct gate {
	pthread_mutex_t lock; /* what follows */
	pthread_cond_t moved;
	unsigned readers;
	bool closed;
};
void gate_init(struct gate *g);
void gate_done(struct gate *g);
/* A reader waits while it is closed; not twice on one thread. */
void gate_enter(struct gate *g);
void gate_leave(struct gate *g);
/* Waits until no reader is inside. */
void gate_close(struct gate *g);
void gate_open(struct gate *g);

/* ---- writer.c, as a store beside it sees it ---- */
struct gate *writer_gate(struct writer *w);
/* Grows with each commit that was applied, or half applied. */
uint64_t writer_commits(const struct writer *w);

/* ---- holder.c ---- */
/* The process that has FILE locked for writing; 0: not known. */
int holder_for_writing(const struct stat *st);
/* The process that holds the one-writer lock; 0: not known. */
int holder_writer(const struct stat *st);

/* ---- vfd.c ---- */
/* Where the driver would have read raw data: set `active` on this thread, call
 * the library, and the read is recorded instead of done. */
struct vfd_record {
	bool active, seen;
	unsigned file;
	uint64_t addr, size;
};
extern __thread struct vfd_record vfd_record;
int vfd_register(struct store *s);
int vfd_set(struct store *s, hid_t fapl);
/* Reads; behind the end of the file are zeros. */
int vfd_pread(int fd, uint8_t *buf, size_t size, uint64_t addr);
/* Opens and registers a file that may be read: its index in s->files, -EACCES. */
int store_add_file(struct store *s, const char *name);
/* Index in s->files of the file that HDF5 numbers fileno; -1. */
int vfd_find_file(struct store *s, unsigned long fileno);

/* ---- heap.c ---- */
bool heap_is_one(const void *bytes, size_t n);
/* Do the sizes in the collection at addr fit? 0 or -EIO. */
int heap_check(int fd, uint64_t addr, uint64_t file_size);

/* ---- diagnose.c ---- */
/* Rules F0, F1 and the version, before HDF5 is asked: 0 or -EIO with *ret_why.
 * *ret_flags: the status flags of a version-3 superblock. */
int diagnose(int fd, uint64_t size, const char *path, unsigned *ret_flags,
	     char **ret_why);
/* ---- superblock.c ---- */
#define SUPERBLOCK_VERSION 8 /* where its version is, behind its base */
#define SUPERBLOCK_SIZE 96   /* at most */
/* In place of the version while a commit is applied: no program opens it. */
#define SUPERBLOCK_MARK 0xf5
/* Its base address, or -ENOENT. */
int64_t superblock_find(int fd, uint64_t size);
#define FLAG_WRITE 0x01 /* the file is open for writing, */
#define FLAG_SWMR 0x04	/* by SWMR */
/* The status flags as they are now; -EIO: no superblock of version 3. */
int superblock_flags(int fd, uint64_t size);
/* Of the first n bytes of a superblock: true when flags were set and are not any
 * more; it is *ret_size bytes long. */
bool superblock_clear_flags(uint8_t *sb, size_t n, size_t *ret_size);

/* ---- type.c ---- */
struct type_map {
	bool same;     /* file bytes are memory bytes once swapped */
	unsigned swap; /* size of the units to swap; 0: none */
};
/* Under the guard. */
int type_from_h5(hid_t t, struct dtype **ret_type, struct type_map *ret_map);
/* A memory type for it; the caller closes it. Negative when there is none. */
hid_t type_to_h5(const struct dtype *t);
/* The same with enums and bools as enums: what is stored, and what is written
 * from, since the library turns no integer into an enum. */
hid_t type_to_h5_named(const struct dtype *t);

/* ---- object.c ---- */
hid_t object_open(struct store *s, struct obj_id id);
int object_info(struct store *s, hid_t obj, struct obj_info *ret_info);
/* A link as it is listed, before anybody looks where it leads. */
struct raw_link {
	char *name;	/* in the set's arena */
	uint64_t where; /* HARD: address; otherwise size of its value */
	enum link_kind kind;
};
struct link_set {
	struct raw_link *links;
	size_t count, cap;
	uint64_t next; /* as in a link_page */
	struct arena *arena;
};
void link_set_done(struct link_set *set);
/* Under the guard, into an empty set: at most max links, or links_at_once. */
int links_collect(struct store *s, hid_t group, uint64_t from, size_t max,
		  struct link_set *set);
/* Fills *l, whose strings are in a, or the set's. */
void link_finish(struct store *s, hid_t group, const struct raw_link *raw,
		 struct arena *a, struct link *l);

/* ---- names.c ---- */
void names_free(struct names *n);
/* Under the guard. Path of an object, NULL when there is none. Valid as long as
 * the store. */
int names_find(struct store *s, struct obj_id id, char **ret_path);

/* ---- cells.c ---- */
/* Turns references of n elements at p into path strings in a. Under guard. */
int cells_resolve(struct store *s, hid_t loc, const struct dtype *t, uint8_t *p,
		  uint64_t n, struct arena *a, unsigned depth);

/* ---- filter.c ---- */
struct filter {
	unsigned id;
	unsigned ncd;
	unsigned cd[8];
};
bool filter_is_ours(unsigned id);
void filters_versions(struct strbuf *out);
const char *filter_name(unsigned id);
/* Can a pipeline be undone here, its output size being known at each step? */
bool filters_supported(const struct filter *f, unsigned n);
/* bytes: the stored chunk, given away. raw_size: of the decoded chunk. *ret_bad:
 * the filter that failed. -EIO: damaged. */
int filters_undo(const struct filter *f, unsigned n, unsigned mask,
		 struct blob *bytes, size_t raw_size, struct blob **ret_raw,
		 unsigned *ret_bad);
uint32_t fletcher32(const uint8_t *p, size_t n);

/* ---- compress.c ---- */
/* Can a pipeline be applied here? */
bool filters_appliable(const struct filter *f, unsigned n);
/* raw: a chunk, given away. optional: bits of the filters that may be left out,
 * *ret_mask: of those that were. -EIO: one that must be applied could not. */
int filters_apply(const struct filter *f, unsigned n, uint32_t optional,
		  struct blob *raw, struct blob **ret_bytes,
		  uint32_t *ret_mask);

/* ---- lzf.c ---- */
#define FILTER_LZF 32000u
/* -EIO: damaged; -E2BIG: more than nout bytes. */
int lzf_decompress(const uint8_t *in, size_t nin, uint8_t *out, size_t nout,
		   size_t *ret_size);
/* 0: it does not fit. */
size_t lzf_compress(const uint8_t *in, size_t n, uint8_t *out, size_t room);
/* Teaches the library the filters of ours that it lacks (LZF), for what must go
 * through it. Under the guard. */
void filters_register(void);

/* ---- dset.c, chunk.c, read.c ---- */
struct segment { /* of external raw storage */
	unsigned file;
	uint64_t offset, size;
};
struct parts { /* how its chunks are entered in the middle */
	bool possible;
	unsigned deflate; /* which filter makes the stream, */
	uint64_t stream;  /* of how many bytes */
	unsigned unit;	  /* shuffled in units of so many; 1: not */
	size_t every;	  /* bytes of the stream between two points */
};
#define ORDER_READERS 8
struct order { /* who reads it in order, and where; see ahead.c */
	pthread_mutex_t lock;
	struct reader {
		uint64_t next;	/* byte, in the order of the chunks */
		uint64_t ahead; /* chunks before this one were begun */
		uint64_t run;	/* bytes since its first */
		uint64_t size;	/* that it reads at once, at most */
		uint64_t last;	/* when, counted in reads */
		unsigned score; /* how often it went on where it was */
	} readers[ORDER_READERS];
	uint64_t reads;
	/* never change: chunks begun at once, and how often that */
	uint64_t each;
	unsigned max_ahead;
};
struct dset {
	int refs;
	struct store *store;
	struct dataset_info info;
	struct dtype *type;
	char *path;
	struct type_map map;
	uint64_t key; /* cache_key.hi of its chunks */
	uint64_t chunk_elems;
	uint64_t chunk_bytes; /* in memory and, where direct, in the file */
	uint64_t nchunks[DT_MAX_RANK];
	bool raw_edges; /* partial edge chunks are stored unfiltered */
	bool piecewise; /* read by the library, and too large to be kept */
	struct filter filters[STORE_MAX_FILTERS];
	uint32_t optional; /* bits of the filters that may be left out */
	uint64_t addr;	   /* CONTIGUOUS; UINT64_MAX: not allocated */
	unsigned nsegments;
	struct segment *segments; /* EXTERNAL */
	struct blob *fill;	  /* one element, in memory form */
	struct parts parts;
	struct order order;
	/* under store_h5: */
	int slot; /* -1: not open */
	hid_t hid, mtype;
};
/* What needs no store of an empty *d: its type, space, storage, filters and fill
 * value. Under the guard. */
int dset_describe(hid_t set, struct dset *d);
/* The open dataset and its memory type, under the guard. */
int dset_hid(struct dset *d, hid_t *ret_hid, hid_t *ret_mtype);
/* Bytes of a chunk as it is stored; 0: it is not allocated. Under the guard. */
int chunk_stored_size(hid_t set, const hsize_t *offset, uint64_t *ret_size);
/* Where a chunk lies in one of the store's files, as it is stored. */
struct location {
	bool allocated;
	unsigned file, mask;
	uint64_t addr, size;
};
/* ---- places.c ---- */
int places_new(struct places **ret_places);
void places_free(struct places *p);
bool places_find(struct places *p, struct cache_key key,
		 struct location *ret_loc);
void places_keep(struct places *p, struct cache_key key,
		 const struct location *loc);

/* ---- chunk.c ---- */
/* Its bytes, under FILE's lock; behind them as many zeros as inflate.c needs. */
int chunk_read_located(struct dset *d, const struct location *loc,
		       struct blob **ret_bytes);
/* lo counts the chunks in C order. */
struct cache_key chunk_key(const struct dset *d, const uint64_t *scaled);
/* Decoded chunk in memory form, with dims as chunk_dim() says; an empty blob: not
 * allocated, all fill. in_order: whoever reads it reads all of it. */
int chunk_get(struct dset *d, const uint64_t *scaled, bool in_order,
	      struct blob **ret_blob);

/* ---- part.c ---- */
void parts_init(struct dset *d);
/* Decodes a chunk and keeps where it can be entered. -EAGAIN: decode it as any
 * other. */
int part_make(struct dset *d, struct cache_key key, const struct location *loc,
	      const struct blob *bytes, struct blob **ret_raw);
/* Bytes [from, to) of a decoded chunk, whole elements; *ret_at is the first of
 * them. *ret_owner NULL: not allocated. */
int part_get(struct dset *d, const uint64_t *scaled, uint64_t from, uint64_t to,
	     struct blob **ret_owner, const uint8_t **ret_at);

/* ---- ahead.c ---- */
void ahead_init(struct dset *d);
/* Somebody reads those bytes of a chunk. Is it in order? Then the next chunk is
 * begun, if there is a worker for it. */
bool ahead_note(struct dset *d, const uint64_t *scaled, uint64_t from,
		uint64_t to);
/* Waits for what was begun. */
void ahead_wait(struct store *s);

/* ---- dset.c, chunk.c, read.c ---- */
/* Of a chunk that the library reads only what lies in the extent is kept. */
static inline uint64_t chunk_dim(const struct dset *d, const uint64_t *scaled,
				 unsigned i)
{
	uint64_t chunk = d->info.chunk[i];
	uint64_t left = d->info.dims[i] - scaled[i] * chunk;

	return d->info.direct || left > chunk ? chunk : left;
}
/* The fault of elements from start on that the library could not read: in which
 * chunk, and which filter is missing, if one is. */
void dset_unreadable(struct dset *d, const uint64_t *start);
/* Through H5Dread; mem dims are count, packed. */
int dset_read_library(struct dset *d, const uint64_t *start,
		      const uint64_t *count, const uint64_t *step, void *buf);
/* A box of elements to be copied: how it goes on, an axis each. */
struct box {
	unsigned rank;
	uint32_t size; /* of an element */
	uint64_t count[DT_MAX_RANK];
	int64_t src[DT_MAX_RANK], dst[DT_MAX_RANK]; /* bytes to the next */
};
/* Joins inner axes that lie without a gap on both sides. */
void merge_box(struct box *b);
/* Elements in C order, which lie so too; CONTIGUOUS and EXTERNAL. */
int dset_read_contiguous(struct dset *d, uint64_t first, uint64_t n,
			 uint8_t *buf);
/* n fill values. */
void dset_fill(const struct dset *d, uint64_t n, uint8_t *buf);
void swap_units(void *buf, size_t bytes, unsigned unit);
void dset_fault(struct dset *d, const char *what, const char *remedy);
/* The fault of data in a file that may not be read; name may be NULL. */
void dset_denied(struct dset *d, const char *name);
static inline void stat_add(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

#endif
