/* SPDX-License-Identifier: MIT */
/* journal.c - one file made atomic by a write-ahead log. Knows no HDF5.
 *
 *   SIDE/journal := slot[2] record*         slots at 0 and 512, records from 1024
 *   slot   := "h5fsjrn1" seq salt tag end ino head crc
 *   record := kind len addr old crc, and len bytes
 *
 * all little-endian. Of the two slots the whole one with the higher seq counts:
 * FILE is `end` bytes long, its last transaction was `tag`, its inode is `ino`,
 * the crc of its head (the superblock) is `head`. kind 1 is `len` bytes of FILE at
 * `addr`; the crc of the bytes that they replace is `old`. kind 2 is a commit: FILE
 * will be `addr` bytes long, the byte under the mark `old`, and the 8 bytes behind
 * are its tag. crc runs from the slot's salt over all records up to this one.
 *
 *   OPEN --write--> DIRTY --log--> LOGGED --apply--> APPLIED --forget--> OPEN
 *   DIRTY, LOGGED --abort--> OPEN          apply, abort, forget --error--> FAILED
 *
 * J1  FILE below `end` is written by apply only; reads see log over FILE, and
 *     zeros behind all of it. What is new is written behind `end`.
 * J2  A commit record counts only if the running crc over all before it holds,
 *     and a salt sees one commit record at most: after it the next slot is
 *     synced before any other record is written.
 * J3  Recovery from any subset of the unsynced writes, torn or whole, yields the
 *     state before or after the last commit, never between; also when recovery
 *     itself is interrupted, at any point and any number of times.
 * J4  FILE's tail is synced before the commit record is written; the log and the
 *     names that lead to it are synced before FILE is marked.
 * J5  apply: mark, sync, change all but the mark, sync, unmark, sync. So at any
 *     time FILE is marked, or as before, or as after. Only then is the log emptied.
 * J6  A marked FILE is replayed. An unmarked one only if all bytes that the log
 *     replaces are what they were, and its tail is there; when it is as after
 *     already, the log is emptied; else the log is set aside and FILE untouched.
 * J7  Without a commit record FILE's tail is cut only if inode and head say that
 *     it is the file that the log was written for. A marked FILE without a commit
 *     record is refused.
 * J8  FAILED is sticky: every later call returns -EIO until FILE is opened anew.
 * J9  After an error before apply, abort leaves FILE as it was, for good: when a
 *     commit record may have been written, the next slot is synced before the
 *     tail is cut.
 * J10 Nothing is made on disk before the first write; memory is bounded by the
 *     number of extents. What is overwritten is kept in a buffer first.
 * J11 The tag that recovery tells is that of the last transaction in FILE. */
#include <fcntl.h>
#include <stdio.h>

#include "journal_int.h"

#define BUFFER (256u << 10)    /* records that were not written yet */
#define LOG_KEEP (1024u << 10) /* an empty log's room that is not given back */

enum journal_state { OPEN, DIRTY, LOGGED, APPLIED, FAILED };

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

static int fail(struct journal *j, int r)
{
	j->state = FAILED;
	return r;
}

static void restart(struct journal *j)
{
	extents_done(&j->extents);
	j->buffered = 0;
	j->log_end = LOG_RECORDS;
	j->crc = log_first_crc(&j->slot);
	j->commit_written = false;
	j->error = 0;
	j->state = OPEN;
}

int journal_open(const struct journal_file *f, uint64_t tag,
		 struct journal **ret_journal)
{
	CLEANUP(journal_closep) struct journal *j = calloc(1, sizeof(*j));
	struct log_slot last = { .tag = tag };
	int r;

	if (!j)
		return -ENOMEM;
	j->f = *f;
	j->log = -1;
	j->tail_synced = true;
	j->f.side = j->side = strdup(f->side);
	j->buf = malloc(BUFFER);
	if (!j->side || !j->buf ||
	    asprintf(&j->path, "%s/journal", f->side) < 0)
		return -ENOMEM;
	r = disk_size(f->fd, &j->end);
	if (r < 0)
		return r;
	j->size = j->end;
	j->log = journal_io->open(j->path, O_RDWR | O_CLOEXEC, 0);
	if (j->log < 0 && errno != ENOENT)
		return -errno;
	if (j->log >= 0) {
		r = log_read_slot(j->log, &last);
		if (r < 0)
			return r == -ENODATA ? -EIO : r;
	}
	r = log_next_slot(f, &last, tag, j->end, &j->slot);
	if (r < 0)
		return r;
	restart(j);
	*ret_journal = TAKE(j);
	return 0;
}

static void close_log(struct journal *j)
{
	if (j->log >= 0)
		(void)journal_io->close(j->log);
	j->log = -1;
	j->slot_there = false;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	close_log(j);
	extents_done(&j->extents);
	free(j->buf);
	free(j->path);
	free(j->side);
	free(j);
}

/* ---- the log ---- */

static bool is_unlinked(const struct journal *j)
{
	struct stat st;

	return journal_io->fstat(j->log, &st) < 0 || st.st_nlink == 0;
}

/* The log with the slot of this transaction in it. */
static int need_log(struct journal *j)
{
	bool is_new = j->log < 0;
	struct stat st;
	int r;

	if (j->slot_there)
		return 0;
	if (is_new) {
		/* who may read or write FILE may do so with what is beside it */
		if (journal_io->fstat(j->f.fd, &st) < 0)
			return -errno;
		if (journal_io->mkdir(j->side,
				      0700 | (st.st_mode & 066) |
					      (st.st_mode & 044) >> 2) < 0 &&
		    errno != EEXIST)
			return -errno;
		j->log = journal_io->open(j->path, O_RDWR | O_CREAT | O_CLOEXEC,
					  0600 | (st.st_mode & 066));
		if (j->log < 0)
			return -errno;
		j->names_synced = false;
	}
	r = log_write_slot(j->log, &j->slot);
	if (r == 0 && !is_new && journal_io->fdatasync(j->log) < 0) /* J2 */
		r = -errno;
	j->slot_there = r == 0;
	return r;
}

static int flush(struct journal *j)
{
	int r;

	if (j->buffered == 0)
		return 0;
	r = need_log(j);
	if (r == 0)
		r = disk_write(j->log, j->buf, j->buffered, j->log_end);
	if (r < 0)
		return r;
	j->log_end += j->buffered;
	j->buffered = 0;
	return 0;
}

/* Where in the log its bytes will be: *ret_at. */
static int append(struct journal *j, struct log_record *rec, const void *bytes,
		  uint64_t *ret_at)
{
	int r;

	if (sizeof(*rec) + rec->len > BUFFER - j->buffered) {
		r = flush(j);
		if (r < 0)
			return r;
	}
	rec->crc = j->crc = log_record_crc(j->crc, rec, bytes);
	memcpy(j->buf + j->buffered, rec, sizeof(*rec));
	j->buffered += sizeof(*rec);
	*ret_at = j->log_end + j->buffered;
	memcpy(j->buf + j->buffered, bytes, rec->len);
	j->buffered += rec->len;
	return 0;
}

static int read_log(struct journal *j, void *buf, size_t n, uint64_t at)
{
	ssize_t got;

	if (at >= j->log_end) {
		memcpy(buf, j->buf + (at - j->log_end), n);
		return 0;
	}
	got = disk_read(j->log, buf, n, at);
	return got < 0 ? (int)got : (size_t)got < n ? -EIO : 0;
}

/* ---- reads and writes ---- */

static int overwrite(struct journal *j, const uint8_t *p, size_t n,
		     uint64_t addr)
{
	uint8_t old[4096];

	while (n) {
		struct log_record rec = { .kind = LOG_DATA, .addr = addr };
		uint64_t at;
		int r;

		rec.len = n < LOG_MAX_BYTES ? (uint32_t)n : LOG_MAX_BYTES;
		for (uint32_t i = 0; i < rec.len;) {
			uint32_t k = rec.len - i < sizeof(old)
					     ? rec.len - i
					     : (uint32_t)sizeof(old);

			r = disk_read_zeros(j->f.fd, old, k, addr + i);
			if (r < 0)
				return r;
			rec.old = journal_crc(rec.old, old, k);
			i += k;
		}
		r = append(j, &rec, p, &at);
		if (r == 0)
			r = extents_put(&j->extents, addr, rec.len, at);
		if (r < 0)
			return r;
		p += rec.len;
		n -= rec.len;
		addr += rec.len;
	}
	return 0;
}

static int write_tail(struct journal *j, const uint8_t *p, size_t n,
		      uint64_t addr)
{
	int r = need_log(j); /* which says where the tail begins */

	if (r < 0)
		return r;
	j->tail_synced = false;
	/* also when it fails: some of it may be there */
	if (addr + n > j->size)
		j->size = addr + n;
	return disk_write(j->f.fd, p, n, addr);
}

int journal_pwrite(struct journal *j, const void *buf, size_t n, uint64_t addr)
{
	const uint8_t *p = buf;
	size_t below;
	uint64_t end;
	int r = 0;

	if (j->state != OPEN && j->state != DIRTY)
		return -EIO; /* J8 */
	if (j->error)
		return j->error;
	if (add_overflow(addr, n, &end) || end > INT64_MAX)
		return -EFBIG;
	if (n == 0)
		return 0;
	j->state = DIRTY;
	below = addr >= j->end ? 0 : end <= j->end ? n : j->end - addr;
	if (below)
		r = overwrite(j, p, below, addr); /* J1 */
	if (r == 0 && n > below)
		r = write_tail(j, p + below, n - below, addr + below);
	j->error = r;
	return r;
}

int journal_pread(struct journal *j, void *buf, size_t n, uint64_t addr)
{
	uint8_t *p = buf;
	uint64_t end;

	if (j->state == FAILED)
		return -EIO;
	if (add_overflow(addr, n, &end) || end > INT64_MAX)
		return -EFBIG;
	while (n) {
		const struct extent *e = extents_find(&j->extents, addr);
		uint64_t here = e && e->addr <= addr ? e->addr + e->len - addr
				: e		     ? e->addr - addr
						     : n;
		size_t k = here < n ? (size_t)here : n;
		int r = e && e->addr <= addr
				? read_log(j, p, k, e->at + (addr - e->addr))
				: disk_read_zeros(j->f.fd, p, k, addr);

		if (r < 0)
			return r;
		p += k;
		addr += k;
		n -= k;
	}
	return 0;
}

uint64_t journal_size(const struct journal *j)
{
	return j->size;
}

bool journal_is_dirty(const struct journal *j)
{
	return j->state != OPEN;
}

int journal_error(const struct journal *j)
{
	return j->state == FAILED ? -EIO : j->error;
}

/* ---- the arrows ---- */

static int sync_tail(struct journal *j, uint64_t end)
{
	if (end > j->size) {
		j->tail_synced = false;
		if (journal_io->ftruncate(j->f.fd, (off_t)end) < 0)
			return -errno;
		j->size = end;
	}
	if (!j->tail_synced && journal_io->fdatasync(j->f.fd) < 0)
		return -errno;
	j->tail_synced = true;
	return 0;
}

/* A file with holes: what will be written into them must find room. */
static int need_room(struct journal *j)
{
	const struct extent *x;
	struct stat st;

	if (journal_io->fstat(j->f.fd, &st) < 0)
		return -errno;
	if (st.st_blocks * 512 >= st.st_size)
		return 0;
	for (x = extents_find(&j->extents, 0); x;
	     x = extents_find(&j->extents, x->addr + x->len))
		if (journal_io->fallocate(j->f.fd, FALLOC_FL_KEEP_SIZE,
					  (off_t)x->addr, (off_t)x->len) < 0 &&
		    errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
			return -errno;
	return 0;
}

static int sync_names(struct journal *j)
{
	CLEANUP(freep) char *parent = NULL;
	char *slash;
	int r;

	if (j->names_synced)
		return 0;
	parent = strdup(j->side);
	if (!parent)
		return -ENOMEM;
	slash = strrchr(parent, '/');
	if (!slash)
		return -EINVAL;
	*(slash == parent ? slash + 1 : slash) = 0;
	r = disk_sync_dir(j->side);
	if (r == 0)
		r = disk_sync_dir(parent);
	j->names_synced = r == 0;
	return r;
}

static int write_commit(struct journal *j)
{
	struct log_record rec = {
		.kind = LOG_COMMIT,
		.len = sizeof(j->commit.tag),
		.addr = j->commit.end,
		.old = j->commit.byte,
	};
	uint64_t at;
	int r = append(j, &rec, &j->commit.tag, &at);

	if (r < 0)
		return r;
	j->commit_written = true;
	r = flush(j);
	if (r == 0 && journal_io->fdatasync(j->log) < 0)
		r = -errno;
	if (r == 0)
		r = sync_names(j);
	/* somebody removed it: there would be nothing to recover from */
	if (r == 0 && is_unlinked(j))
		r = -ENOENT;
	return r;
}

int journal_log(struct journal *j, uint64_t tag, uint64_t end)
{
	int r = j->error;

	if (j->state == FAILED)
		return -EIO;
	if ((j->state != OPEN && j->state != DIRTY) || end <= j->f.mark ||
	    end > INT64_MAX)
		return -EINVAL;
	j->state = DIRTY;
	j->commit = (struct log_commit){ .tag = tag, .end = end };
	if (r == 0)
		r = need_log(j);
	if (r == 0)
		r = journal_pread(j, &j->commit.byte, 1, j->f.mark);
	if (r == 0 && j->commit.byte == JOURNAL_MARK)
		r = -EINVAL;
	if (r == 0)
		r = need_room(j);
	if (r == 0)
		r = sync_tail(j, end); /* J4 */
	if (r == 0)
		r = write_commit(j);
	j->error = r;
	if (r == 0)
		j->state = LOGGED;
	return r;
}

int journal_apply(struct journal *j)
{
	int r;

	if (j->state != LOGGED)
		return j->state == FAILED ? -EIO : -EINVAL;
	r = log_apply(&j->f, j->log, &j->extents, &j->commit, j->buf);
	if (r < 0)
		return fail(j, r); /* J8 */
	j->end = j->size = j->commit.end;
	j->state = APPLIED;
	return 0;
}

/* The next slot takes the place of all records. */
static int empty_log(struct journal *j, uint64_t tag)
{
	struct log_slot next;
	int r = log_next_slot(&j->f, &j->slot, tag, j->end, &next);

	if (r == 0)
		r = log_empty(j->log, &next);
	if (r < 0)
		return r;
	j->slot = next;
	if (j->log_end > LOG_KEEP)
		(void)journal_io->ftruncate(j->log, LOG_RECORDS);
	return 0;
}

int journal_forget(struct journal *j)
{
	int r;

	if (j->state != APPLIED)
		return j->state == FAILED ? -EIO : -EINVAL;
	r = empty_log(j, j->commit.tag);
	if (r < 0)
		return fail(j, r);
	restart(j);
	return 0;
}

int journal_abort(struct journal *j, bool untouched)
{
	int r = 0;

	if (j->state == OPEN)
		return 0;
	if (j->state != DIRTY && j->state != LOGGED)
		return -EIO;
	if (j->log >= 0 && is_unlinked(j))
		close_log(j);
	if (j->commit_written && j->log >= 0) /* J9 */
		r = empty_log(j, j->slot.tag);
	else if (j->log_end > LOG_RECORDS && j->log >= 0)
		(void)journal_io->ftruncate(j->log, LOG_RECORDS);
	if (r == 0 && !untouched && j->size > j->end &&
	    journal_io->ftruncate(j->f.fd, (off_t)j->end) < 0)
		r = -errno;
	if (r < 0)
		return fail(j, -EIO);
	j->size = j->end;
	j->tail_synced = true;
	restart(j);
	return 0;
}

void journal_remove(const char *side)
{
	CLEANUP(freep) char *path = NULL;

	if (asprintf(&path, "%s/journal", side) < 0) {
		path = NULL;
		return;
	}
	(void)journal_io->unlink(path);
	(void)journal_io->rmdir(side);
}
