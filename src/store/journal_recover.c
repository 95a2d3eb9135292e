/* SPDX-License-Identifier: MIT */
/* journal_recover.c - what a log that was left behind says of FILE, and FILE made
 * whole by it. The invariants (J1..) are at the head of journal.c. */
#include <fcntl.h>
#include <stdio.h>

#include "journal_int.h"

struct found_log {
	int fd; /* -1: there is none */
	char *path;
	bool marked;
	uint64_t size; /* of FILE */
	bool slotted;
	struct log_slot slot;
	bool records, committed;
	bool was; /* the bytes that are replaced are what they were */
	struct log_commit commit;
	struct extents extents;
	uint8_t *buf; /* LOG_MAX_BYTES */
};

static void found_log_done(struct found_log *l)
{
	if (l->fd >= 0)
		(void)journal_io->close(l->fd);
	extents_done(&l->extents);
	free(l->buf);
	free(l->path);
}

static int say(char **ret_why, int r, const char *fmt, ...) PRINTF(3, 4);
static int say(char **ret_why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(ret_why, fmt, ap) < 0)
		*ret_why = NULL;
	va_end(ap);
	return r;
}

/* ---- reading ---- */

/* Does FILE hold, where the record goes, what it held when it was written? */
static int check_old(const struct journal_file *f, struct found_log *l,
		     const struct log_record *rec)
{
	int r = disk_read_zeros(f->fd, l->buf, rec->len, rec->addr);

	if (r == 0 && journal_crc(0, l->buf, rec->len) != rec->old)
		l->was = false;
	return r;
}

/* 1: a record at *at, and moves on; 0: no more; or an error. */
static int read_record(const struct journal_file *f, struct found_log *l,
		       uint64_t *at, uint32_t *crc)
{
	struct log_record rec;
	uint64_t end;
	ssize_t n = disk_read(l->fd, &rec, sizeof(rec), *at);

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(rec) || rec.len > LOG_MAX_BYTES)
		return 0;
	n = disk_read(l->fd, l->buf, rec.len, *at + sizeof(rec));
	if (n < 0)
		return (int)n;
	if ((size_t)n < rec.len ||
	    rec.crc != log_record_crc(*crc, &rec, l->buf)) /* J2 */
		return 0;
	*crc = rec.crc;
	l->records = true;
	if (rec.kind == LOG_COMMIT && rec.len == sizeof(l->commit.tag)) {
		memcpy(&l->commit.tag, l->buf, sizeof(l->commit.tag));
		l->commit.end = rec.addr;
		l->commit.byte = (uint8_t)rec.old;
		l->committed = true;
		return 0;
	}
	if (rec.kind != LOG_DATA || rec.len == 0 ||
	    add_overflow(rec.addr, rec.len, &end) || end > l->slot.end)
		return 0;
	n = extents_put(&l->extents, rec.addr, rec.len, *at + sizeof(rec));
	if (n == 0 && !l->marked && l->was)
		n = check_old(f, l, &rec);
	*at += sizeof(rec) + rec.len;
	return n < 0 ? (int)n : 1;
}

static int read_records(const struct journal_file *f, struct found_log *l)
{
	uint32_t crc = log_first_crc(&l->slot);
	uint64_t at = LOG_RECORDS;
	int r;

	l->was = true;
	do
		r = read_record(f, l, &at, &crc);
	while (r == 1);
	return r;
}

static int find_log(const struct journal_file *f, struct found_log *l)
{
	uint8_t byte;
	int r = disk_read_zeros(f->fd, &byte, 1, f->mark);

	if (r == 0)
		r = disk_size(f->fd, &l->size);
	if (r < 0)
		return r;
	l->marked = byte == JOURNAL_MARK;
	l->buf = malloc(LOG_MAX_BYTES);
	if (!l->buf || asprintf(&l->path, "%s/journal", f->side) < 0) {
		l->path = NULL;
		return -ENOMEM;
	}
	l->fd = journal_io->open(l->path, O_RDWR | O_CLOEXEC, 0);
	if (l->fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	r = log_read_slot(l->fd, &l->slot);
	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return r;
	l->slotted = true;
	return read_records(f, l);
}

/* J7: bytes behind the committed end that are surely ours. */
static int has_tail(const struct journal_file *f, struct found_log *l,
		    bool *ret_tail)
{
	struct log_slot now;
	int r;

	*ret_tail = false;
	if (l->marked || l->committed || !l->slotted || l->size <= l->slot.end)
		return 0;
	r = log_next_slot(f, &l->slot, 0, 0, &now);
	if (r < 0)
		return r;
	*ret_tail = now.ino == l->slot.ino && now.head == l->slot.head;
	return 0;
}

int journal_look(const struct journal_file *f, struct journal_found *ret_found)
{
	CLEANUP(found_log_done) struct found_log l = { .fd = -1 };
	bool tail = false;
	int r = find_log(f, &l);

	if (r == 0)
		r = has_tail(f, &l, &tail);
	if (r < 0)
		return r;
	*ret_found = (struct journal_found){
		.marked = l.marked,
		.log = l.fd >= 0,
		.records = l.records || (l.fd >= 0 && !l.slotted),
		.committed = l.committed,
		.tail = tail,
		.tag = l.slot.tag,
	};
	return 0;
}

/* ---- what becomes of FILE ---- */

/* Is FILE as after the commit already? */
static int is_done(const struct journal_file *f, struct found_log *l,
		   bool *ret_done)
{
	CLEANUP(freep) uint8_t *now = malloc(LOG_MAX_BYTES);
	const struct extent *x;

	if (!now)
		return -ENOMEM;
	*ret_done = false;
	if (l->size < l->commit.end)
		return 0;
	for (x = extents_find(&l->extents, 0); x && x->addr < l->commit.end;
	     x = extents_find(&l->extents, x->addr + x->len)) {
		uint64_t len = x->addr + x->len <= l->commit.end
				       ? x->len
				       : l->commit.end - x->addr;
		ssize_t n = disk_read(l->fd, l->buf, len, x->at);
		int r;

		if (n < 0)
			return (int)n;
		r = disk_read_zeros(f->fd, now, len, x->addr);
		if (r < 0)
			return r;
		if (memcmp(now, l->buf, len) != 0)
			return 0;
	}
	*ret_done = true;
	return 0;
}

static int empty(const struct journal_file *f, struct found_log *l,
		 uint64_t tag, uint64_t end)
{
	struct log_slot next;
	int r = log_next_slot(f, &l->slot, tag, end, &next);

	if (r == 0)
		r = log_empty(l->fd, &next); /* J2 */
	if (r < 0)
		return r;
	(void)journal_io->ftruncate(l->fd, LOG_RECORDS);
	return 0;
}

static int set_aside(const struct journal_file *f, struct found_log *l,
		     char **ret_why)
{
	for (unsigned n = 1; n < 1000; n++) {
		CLEANUP(freep) char *to = NULL;
		int fd;

		if (asprintf(&to, "%s.aside-%u", l->path, n) < 0) {
			to = NULL;
			return -ENOMEM;
		}
		fd = journal_io->open(to, O_RDONLY | O_CLOEXEC, 0);
		if (fd >= 0) {
			(void)journal_io->close(fd);
			continue;
		}
		if (journal_io->rename(l->path, to) < 0)
			return -errno;
		return say(
			ret_why, disk_sync_dir(f->side),
			"the log of an interrupted commit does not belong to "
			"the file as it now is: somebody changed it since; "
			"the file is untouched, the log is kept as %s",
			to);
	}
	return -EEXIST;
}

static int finish(const struct journal_file *f, struct found_log *l,
		  char **ret_why)
{
	int r;

	if (l->size < l->commit.end)
		return say(
			ret_why, -EIO,
			"is caught in a commit that did not end, and was cut "
			"since; restore a copy");
	r = log_apply(f, l->fd, &l->extents, &l->commit, l->buf);
	if (r == 0)
		r = empty(f, l, l->commit.tag, l->commit.end);
	return r < 0 ? r
		     : say(ret_why, 0,
			   "a commit that was interrupted was finished");
}

static int recover_committed(const struct journal_file *f, struct found_log *l,
			     enum recovery *ret_recovery, uint64_t *ret_tag,
			     char **ret_why)
{
	bool done = false;
	int r = l->marked ? 0 : is_done(f, l, &done);

	if (r < 0)
		return r;
	*ret_tag = l->commit.tag; /* J11 */
	*ret_recovery = RECOVERY_FINISHED;
	if (done)
		return empty(f, l, l->commit.tag, l->commit.end);
	if (l->marked || (l->was && l->size >= l->commit.end))
		return finish(f, l, ret_why);
	*ret_tag = l->slot.tag;
	*ret_recovery = RECOVERY_ASIDE;
	return set_aside(f, l, ret_why); /* J6 */
}

static int undo(const struct journal_file *f, struct found_log *l,
		enum recovery *ret_recovery, char **ret_why)
{
	bool tail;
	int r = has_tail(f, l, &tail);

	if (r < 0 || (!l->records && !tail))
		return r;
	if (tail &&
	    journal_io->ftruncate(f->fd, (off_t)l->slot.end) < 0) /* J7 */
		return -errno;
	*ret_recovery = RECOVERY_UNDONE;
	r = empty(f, l, l->slot.tag, tail ? l->slot.end : l->size);
	return r < 0 ? r
		     : say(ret_why, 0,
			   "a transaction that was interrupted was dropped");
}

/* No slot is whole: nothing of this log was ever synced. */
static int drop(struct found_log *l)
{
	return journal_io->unlink(l->path) < 0 ? -errno : 0;
}

static int recover(const struct journal_file *f, struct found_log *l,
		   enum recovery *ret_recovery, uint64_t *ret_tag,
		   char **ret_why)
{
	if (l->marked && !l->committed)
		return say(
			ret_why, -EIO,
			"is caught in a commit that did not end, and its log "
			"%s is %s; put that folder back as it was, or restore "
			"a copy of the file",
			l->path, l->fd < 0 ? "missing" : "damaged");
	if (l->fd < 0)
		return 0;
	if (!l->slotted)
		return drop(l);
	if (l->committed)
		return recover_committed(f, l, ret_recovery, ret_tag, ret_why);
	*ret_tag = l->slot.tag;
	return undo(f, l, ret_recovery, ret_why);
}

int journal_recover(const struct journal_file *f, enum recovery *ret_recovery,
		    uint64_t *ret_tag, char **ret_why)
{
	CLEANUP(found_log_done) struct found_log l = { .fd = -1 };
	enum recovery recovery = RECOVERY_NONE;
	CLEANUP(freep) char *why = NULL;
	uint64_t tag = 0;
	int r = find_log(f, &l);

	if (r == 0)
		r = recover(f, &l, &recovery, &tag, &why);
	*ret_why = TAKE(why);
	if (r < 0)
		return r;
	*ret_recovery = recovery;
	*ret_tag = tag;
	return 0;
}
