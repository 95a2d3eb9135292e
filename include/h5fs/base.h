/* SPDX-License-Identifier: MIT */
/* base.h - bytes, files, cache, log: what every other layer stands on.
 *
 * Knows nothing of HDF5, images or FUSE. Errors are negative errno values;
 * outputs are named ret_, come last and are untouched on failure. Every
 * constructor's result is released by the function named in its comment, which
 * takes NULL. Hosts are little-endian (checked when it is compiled). */
#ifndef H5FS_BASE_H
#define H5FS_BASE_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "h5fs stores and shows little-endian arrays without swapping");

/* ---- scope owns; TAKE gives away ---- */
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define TAKE(p)                                                                \
	({                                                                     \
		__typeof__(p) took_ = (p);                                     \
		(p) = NULL;                                                    \
		took_;                                                         \
	})
#define TAKE_FD(fd)                                                            \
	({                                                                     \
		int took_ = (fd);                                              \
		(fd) = -1;                                                     \
		took_;                                                         \
	})
#define DEFINE_CLEANUP(type, fn)                                               \
	static inline void fn##p(type *p)                                      \
	{                                                                      \
		if (*p)                                                        \
			fn(*p);                                                \
	}
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

static inline void fd_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
static inline void freep(void *p)
{
	free(*(void **)p);
}
static inline void mutex_unlockp(pthread_mutex_t **m)
{
	if (*m)
		pthread_mutex_unlock(*m);
}
static inline pthread_mutex_t *mutex_lock(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	return m;
}
/* Holds m until the end of the scope. */
#define LOCK_SCOPE(m)                                                          \
	CLEANUP(mutex_unlockp)                                                 \
	__attribute__((unused)) pthread_mutex_t *lock_scope_ = mutex_lock(m)

/* Sizes that come from files are multiplied and added only with these: true
 * when the result does not fit, and then *ret is unspecified. */
static inline bool mul_overflow(uint64_t a, uint64_t b, uint64_t *ret)
{
	return __builtin_mul_overflow(a, b, ret);
}
static inline bool add_overflow(uint64_t a, uint64_t b, uint64_t *ret)
{
	return __builtin_add_overflow(a, b, ret);
}

/* ---- blob: immutable counted bytes ---- */
struct blob {
	uint8_t *data; /* writable only by its maker, before it is returned */
	size_t size;
	int refs; /* atomic */
};
/* Uninitialised bytes; -ENOMEM. Release with blob_unref(). */
int blob_new(size_t size, struct blob **ret_blob);
int blob_from(const void *bytes, size_t size, struct blob **ret_blob);
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b);
DEFINE_CLEANUP(struct blob *, blob_unref)

/* ---- cache: bytes by key, least recently used first out ----
 * Thread-safe. Knows nothing of HDF5, images or files. */
struct cache;
struct cache_key {
	uint64_t hi, lo;
};
typedef int (*cache_fill)(void *arg, struct blob **ret_blob);
struct cache_stats {
	uint64_t hits, misses, waits; /* waits: misses filled by another */
	uint64_t bytes, entries, max_bytes, evicted;
};
/* Keeps at most max_bytes of blobs, and beyond that the `keep` most recently
 * used ones whatever their size, so that a blob larger than the cache is not
 * made again for each piece that is read of it. cache_free() ends it. */
int cache_new(size_t max_bytes, unsigned keep, struct cache **ret_cache);
void cache_free(struct cache *c); /* references handed out stay valid */
DEFINE_CLEANUP(struct cache *, cache_free)
/* Returns a reference the caller must blob_unref(). On a miss exactly one
 * caller runs fill(), with no lock held, while others wait for its answer. An
 * error is returned to all of them and not remembered. */
int cache_get(struct cache *c, struct cache_key key, cache_fill fill, void *arg,
	      struct blob **ret_blob);
/* The same of what is there now; -ENOENT, also while somebody fills it. */
int cache_find(struct cache *c, struct cache_key key, struct blob **ret_blob);
void cache_get_stats(struct cache *c, struct cache_stats *ret_stats);

/* ---- io ---- */
/* Whole range or error; a short file is -EIO. */
int io_read_at(int fd, void *buf, size_t size, uint64_t offset);
/* Whole file, at most max bytes (-EFBIG). */
int io_read_file(const char *path, size_t max, struct blob **ret_blob);
int io_write_all(int fd, const void *buf, size_t size);

/* ---- log: to stderr, or to syslog once in the background ---- */
enum log_level { LOG_ERROR_, LOG_WARN_, LOG_NOTICE_, LOG_DEBUG_ };
void log_to_syslog(bool on);
void log_set_level(enum log_level max);
void log_at(enum log_level level, const char *fmt, ...) PRINTF(2, 3);
#define log_error(...) log_at(LOG_ERROR_, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN_, __VA_ARGS__)
#define log_notice(...) log_at(LOG_NOTICE_, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG_, __VA_ARGS__)

/* ---- faults: what went wrong and what helps, each told once ----
 * Thread-safe; bounded (the newest 1,000 kept). Shown in .h5fs/errors. */
struct faults;
int faults_new(struct faults **ret_faults);
void faults_free(struct faults *f);
DEFINE_CLEANUP(struct faults *, faults_free)
/* True when the fault is new: the caller at the edge may log it. */
bool faults_add(struct faults *f, const char *path, const char *reason,
		const char *remedy);
size_t faults_count(struct faults *f);
/* One line a fault: path, reason, remedy, separated by tabs; newlines and tabs
 * inside are shown as \n and \t. */
struct strbuf;
int faults_print(struct faults *f, struct strbuf *out);

/* ---- strbuf: a growing byte string; NUL-terminated when not empty ----
 * Errors are sticky: print freely, check once with strbuf_error(). */
struct strbuf {
	char *buf;
	size_t len, cap;
	bool failed;
};
#define STRBUF_INIT { NULL, 0, 0, false }
void strbuf_done(struct strbuf *s); /* frees; s is empty again */
void strbuf_put(struct strbuf *s, const void *bytes, size_t n);
void strbuf_puts(struct strbuf *s, const char *text);
void strbuf_putc(struct strbuf *s, char c);
void strbuf_pad(struct strbuf *s, char c, size_t n);
void strbuf_printf(struct strbuf *s, const char *fmt, ...) PRINTF(2, 3);
int strbuf_error(const struct strbuf *s); /* 0 or -ENOMEM */
/* Text ("" when empty), now the caller's to free(); NULL on -ENOMEM. */
char *strbuf_steal(struct strbuf *s);
int strbuf_to_blob(struct strbuf *s, struct blob **ret_blob); /* s is emptied */

/* ---- pool: a few threads for what takes a core ---- */
struct pool;
int pool_new(unsigned threads, struct pool **ret_pool); /* 0: none, see below */
void pool_free(struct pool *p); /* waits for what runs; drops what waits */
DEFINE_CLEANUP(struct pool *, pool_free)
/* Runs run(arg, 0) .. run(arg, n - 1), the caller helping, and returns when all
 * are done; p may be NULL. The first error, or 0; after one no more are begun. */
int pool_each(struct pool *p, size_t n, int (*run)(void *arg, size_t i),
	      void *arg);
/* Runs run(arg) some time, if a worker is idle now; otherwise false, and nothing
 * was taken. run() owns arg; one that never ran is given to drop(). */
bool pool_try(struct pool *p, void (*run)(void *arg), void (*drop)(void *arg),
	      void *arg);

/* ---- arena: many small allocations, one release ---- */
struct arena;
int arena_new(struct arena **ret_arena);
void arena_free(struct arena *a);
DEFINE_CLEANUP(struct arena *, arena_free)
/* Aligned to 16; NULL when there is no memory. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s);
size_t arena_bytes(const struct arena *a);

/* ---- hash ---- */
/* 64 bits that depend on all of the input and never change between releases
 * (st_ino is made of them): FNV-1a over the bytes, then the MurmurHash3 finalizer. */
uint64_t hash_bytes(const void *bytes, size_t n, uint64_t seed);
uint64_t hash_mix(uint64_t a, uint64_t b);

/* ---- numbers ---- */
double half_to_double(uint16_t h); /* IEEE 754 binary16 */
uint16_t double_to_half(double v);
/* "1048576", "256M", "2G", "64KiB"; -EINVAL, -ERANGE. */
int parse_size(const char *text, uint64_t *ret_size);

#endif
