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
 * J8  FAILED is sticky: every later call returns -EIO until the log is recovered
 *     and the journal opened anew.
 * J9  After an error before apply, abort leaves FILE as it was, for good: when a
 *     commit record may have been written, the next slot is synced before the
 *     tail is cut.
 * J10 Nothing is made on disk before the first write; memory is bounded by the
 *     number of extents. What is overwritten is kept in a buffer first.
 * J11 The tag that recovery tells is that of the last transaction in FILE. */
#include <fcntl.h>
#include <stdio.h>

#include "journal_int.h"

#define BUFFER (256u << 10) /* records that were not written yet */

void journal_restart(struct journal *j)
{
	extents_done(&j->extents);
	j->buffered = 0;
	j->log_end = LOG_RECORDS;
	j->crc = log_first_crc(&j->slot);
	j->commit_written = false;
	j->error = 0;
	j->state = JOURNAL_OPEN;
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
	journal_restart(j);
	*ret_journal = TAKE(j);
	return 0;
}

void journal_close_log(struct journal *j)
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
	journal_close_log(j);
	extents_done(&j->extents);
	free(j->buf);
	free(j->path);
	free(j->side);
	free(j);
}

/* ---- the log ---- */

/* The log with the slot of this transaction in it. */
int journal_need_log(struct journal *j)
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

int journal_flush(struct journal *j)
{
	int r;

	if (j->buffered == 0)
		return 0;
	r = journal_need_log(j);
	if (r == 0)
		r = disk_write(j->log, j->buf, j->buffered, j->log_end);
	if (r < 0)
		return r;
	j->log_end += j->buffered;
	j->buffered = 0;
	return 0;
}

/* Where in the log its bytes will be: *ret_at. */
int journal_append(struct journal *j, struct log_record *rec, const void *bytes,
		   uint64_t *ret_at)
{
	int r;

	if (sizeof(*rec) + rec->len > BUFFER - j->buffered) {
		r = journal_flush(j);
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
		r = journal_append(j, &rec, p, &at);
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
	int r = journal_need_log(j); /* which says where the tail begins */

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

	if (j->state != JOURNAL_OPEN && j->state != JOURNAL_DIRTY)
		return -EIO; /* J8 */
	if (j->error)
		return j->error;
	if (add_overflow(addr, n, &end) || end > INT64_MAX)
		return -EFBIG;
	if (n == 0)
		return 0;
	j->state = JOURNAL_DIRTY;
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

	if (j->state == JOURNAL_FAILED)
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
	return j->state != JOURNAL_OPEN;
}

int journal_error(const struct journal *j)
{
	return j->state == JOURNAL_FAILED ? -EIO : j->error;
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
