/* SPDX-License-Identifier: MIT */
/* journal_commit.c - the arrows of a transaction: log, apply, forget, abort.
 * The states and the invariants (J1..) are at the head of journal.c. */
#include <fcntl.h>

#include "journal_int.h"

#define LOG_KEEP (1024u << 10) /* an empty log's room that is not given back */

static int fail(struct journal *j, int r)
{
	j->state = JOURNAL_FAILED;
	return r;
}

static bool is_unlinked(const struct journal *j)
{
	struct stat st;

	return journal_io->fstat(j->log, &st) < 0 || st.st_nlink == 0;
}

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
	int r = journal_append(j, &rec, &j->commit.tag, &at);

	if (r < 0)
		return r;
	j->commit_written = true;
	r = journal_flush(j);
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

	if (j->state == JOURNAL_FAILED)
		return -EIO;
	if ((j->state != JOURNAL_OPEN && j->state != JOURNAL_DIRTY) ||
	    end <= j->f.mark || end > INT64_MAX)
		return -EINVAL;
	j->state = JOURNAL_DIRTY;
	j->commit = (struct log_commit){ .tag = tag, .end = end };
	if (r == 0)
		r = journal_need_log(j);
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
		j->state = JOURNAL_LOGGED;
	return r;
}

int journal_apply(struct journal *j)
{
	int r;

	if (j->state != JOURNAL_LOGGED)
		return j->state == JOURNAL_FAILED ? -EIO : -EINVAL;
	r = log_apply(&j->f, j->log, &j->extents, &j->commit, j->buf);
	if (r < 0)
		return fail(j, r); /* J8 */
	j->end = j->size = j->commit.end;
	j->state = JOURNAL_APPLIED;
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

	if (j->state != JOURNAL_APPLIED)
		return j->state == JOURNAL_FAILED ? -EIO : -EINVAL;
	r = empty_log(j, j->commit.tag);
	if (r < 0)
		return fail(j, r);
	journal_restart(j);
	return 0;
}

int journal_abort(struct journal *j, bool untouched)
{
	int r = 0;

	if (j->state == JOURNAL_OPEN)
		return 0;
	if (j->state != JOURNAL_DIRTY && j->state != JOURNAL_LOGGED)
		return -EIO;
	if (j->log >= 0 && is_unlinked(j))
		journal_close_log(j);
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
	journal_restart(j);
	return 0;
}
