/* SPDX-License-Identifier: MIT */
/* journal_int.h - one file made atomic by a write-ahead log. Knows no HDF5. */
#ifndef H5FS_JOURNAL_INT_H
#define H5FS_JOURNAL_INT_H

#include <sys/stat.h>

#include "h5fs/store.h"

/* All that the journal does to a disk, as the system calls of these names; a
 * test puts its own table in place of io_system. */
struct io_ops {
	int (*open)(const char *path, int flags, mode_t mode);
	int (*close)(int fd);
	int (*fstat)(int fd, struct stat *st);
	ssize_t (*pread)(int fd, void *buf, size_t n, off_t at);
	ssize_t (*pwrite)(int fd, const void *buf, size_t n, off_t at);
	int (*fsync)(int fd);
	int (*fdatasync)(int fd);
	int (*ftruncate)(int fd, off_t size);
	int (*fallocate)(int fd, int mode, off_t at, off_t n);
	int (*mkdir)(const char *path, mode_t mode);
	int (*rmdir)(const char *path);
	int (*rename)(const char *from, const char *to);
	int (*unlink)(const char *path);
};
extern const struct io_ops io_system;
extern const struct io_ops *journal_io; /* &io_system */

uint32_t journal_crc(uint32_t crc, const void *bytes, size_t n); /* start: 0 */

/* ---- extents.c: which bytes of FILE lie where in the log ---- */
struct extent {
	uint64_t addr, len; /* in FILE; never empty */
	uint64_t at;	    /* in the log */
};
struct extent_node;
struct extents {
	struct extent_node *root;
	uint32_t dice;
};
/* What overlaps is replaced. -ENOMEM: nothing is changed. */
int extents_put(struct extents *e, uint64_t addr, uint64_t len, uint64_t at);
/* The extent that holds addr, or the next one behind it; NULL: none. */
const struct extent *extents_find(const struct extents *e, uint64_t addr);
void extents_done(struct extents *e); /* e is empty again */

/* ---- journal.c ---- */
struct journal_file {
	int fd;		  /* FILE, read-write; not owned */
	const char *side; /* directory of the log; made when it is needed */
	/* A byte that no reader of FILE takes when it is JOURNAL_MARK: it holds
	 * that value as long as FILE is neither as before nor as after. */
	uint64_t mark;
	/* Bytes that change when somebody else writes to FILE. */
	uint64_t head;
	size_t head_len; /* at most JOURNAL_HEAD */
};
#define JOURNAL_MARK 0xf5
#define JOURNAL_HEAD 128

/* What a log and FILE say together. */
struct journal_found {
	bool marked;
	bool log;	/* there is one */
	bool records;	/* with something of a transaction, */
	bool committed; /* or all of it */
	bool tail;	/* FILE has bytes behind what was committed */
	uint64_t tag;	/* of the last transaction in FILE; 0: not known */
};
/* Only looks. */
int journal_look(const struct journal_file *f, struct journal_found *ret_found);
/* FILE as before or as after the transaction that was interrupted, the log empty
 * or set aside. *ret_why as in store_recover(). */
int journal_recover(const struct journal_file *f, enum recovery *ret_recovery,
		    uint64_t *ret_tag, char **ret_why);

struct journal;
/* FILE must need no recovery. f->side is copied; nothing is made on disk. */
int journal_open(const struct journal_file *f, uint64_t tag,
		 struct journal **ret_journal);
/* What is not applied is as if the process had died; journal_abort() first. */
void journal_close(struct journal *j);
DEFINE_CLEANUP(struct journal *, journal_close)

/* Not thread-safe. Errors of writing are sticky until journal_abort(). */
int journal_pwrite(struct journal *j, const void *buf, size_t n, uint64_t addr);
/* Behind the end are zeros. */
int journal_pread(struct journal *j, void *buf, size_t n, uint64_t addr);
/* Length as written to; of FILE itself. */
uint64_t journal_size(const struct journal *j);
bool journal_is_dirty(const struct journal *j);
int journal_error(const struct journal *j); /* the sticky one; 0: none */

/* A commit is made of three arrows. The first: what is needed to finish it is on
 * the disk; FILE will have length `end`. */
int journal_log(struct journal *j, uint64_t tag, uint64_t end);
/* FILE is changed. Nobody may read FILE meanwhile. */
int journal_apply(struct journal *j);
/* The log is emptied; *after* an error FILE is as committed all the same. */
int journal_forget(struct journal *j);
/* Instead of any of these: FILE as it was, or untouched when somebody else has
 * changed it meanwhile. -EIO after journal_apply() failed. */
int journal_abort(struct journal *j, bool untouched);
/* Removes the log of a closed journal, and the directory if that is empty. */
void journal_remove(const char *side);

/* ---- the log, for journal*.c; the format is at the head of journal.c ---- */
#define LOG_SLOT_STEP 512
#define LOG_RECORDS 1024
#define LOG_MAX_BYTES (128u << 10) /* behind a record */

struct log_slot {
	char magic[8];
	uint64_t seq, salt, tag, end, ino;
	uint32_t head, crc;
};
enum log_kind { LOG_DATA = 1, LOG_COMMIT = 2 };
struct log_record {
	uint32_t kind, len;
	uint64_t addr;
	uint32_t old, crc;
};
struct log_commit {
	uint64_t tag, end;
	uint8_t byte; /* what comes in place of the mark */
};
/* The last slot that is whole; -ENODATA: there is none. */
int log_read_slot(int log, struct log_slot *ret_slot);
/* Fills magic and crc in. */
int log_write_slot(int log, struct log_slot *slot);
/* The slot that comes after `slot`, of a FILE of this length. */
int log_next_slot(const struct journal_file *f, const struct log_slot *slot,
		  uint64_t tag, uint64_t end, struct log_slot *ret_slot);
uint32_t log_first_crc(const struct log_slot *slot);
uint32_t log_record_crc(uint32_t crc, const struct log_record *r,
			const void *bytes);
/* Makes `slot`, which follows the one in the log, the log's state. */
int log_empty(int log, struct log_slot *slot);
/* FILE from before to after, from any state between. buf: LOG_MAX_BYTES. */
int log_apply(const struct journal_file *f, int log, const struct extents *e,
	      const struct log_commit *c, uint8_t *buf);

enum journal_state {
	JOURNAL_OPEN,
	JOURNAL_DIRTY,
	JOURNAL_LOGGED,
	JOURNAL_APPLIED,
	JOURNAL_FAILED
};

struct journal {
	struct journal_file f;
	char *side, *path;
	enum journal_state state;
	int error; /* of this transaction; sticky */

	int log; /* -1: none yet */
	struct log_slot slot;
	bool slot_there; /* in the log */
	bool names_synced;
	bool commit_written; /* under this salt */
	uint64_t log_end;    /* where the buffer goes */
	uint32_t crc;	     /* running */
	uint8_t *buf;
	size_t buffered;
	struct extents extents;

	uint64_t end;  /* FILE's length as committed, */
	uint64_t size; /* and as it is now */
	bool tail_synced;
	struct log_commit commit;
};

/* What is next; nothing of this transaction is left. */
void journal_restart(struct journal *j);
/* The log is there, with the slot of this transaction in it. */
int journal_need_log(struct journal *j);
void journal_close_log(struct journal *j);
/* Into the buffer: *ret_at is where in the log its bytes will be. */
int journal_append(struct journal *j, struct log_record *rec, const void *bytes,
		   uint64_t *ret_at);
int journal_flush(struct journal *j); /* the buffer into the log */

/* ---- disk.c ---- */
/* As many bytes as there are, up to n. */
ssize_t disk_read(int fd, void *buf, size_t n, uint64_t at);
/* All n: behind the end are zeros. */
int disk_read_zeros(int fd, void *buf, size_t n, uint64_t at);
int disk_write(int fd, const void *buf, size_t n, uint64_t at);
int disk_size(int fd, uint64_t *ret_size);
int disk_sync_dir(const char *path);

#endif
