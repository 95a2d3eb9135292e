/* SPDX-License-Identifier: MIT */
/* restore.c - a stage from its log: each record is done again, then what the
 * writer knows of a commit that was interrupted (S5). */
#include <stdio.h>

#include "stage_int.h"

struct restore {
	struct stage *s;
	struct seal *seals; /* that no DONE followed yet; the newest first */
};

/* ---- one record each ---- */
static int replay_state(struct restore *to, const struct slog_record *rec,
			struct reader *h)
{
	uint64_t row = read_u64(h), tag = read_u64(h);

	(void)rec;
	if (h->failed || row > UINT64_MAX / 4)
		return -EBADMSG;
	if (row > to->s->next_row)
		to->s->next_row = row;
	if (tag > to->s->last_tag)
		to->s->last_tag = tag;
	return 0;
}

static int read_members(struct reader *h, struct stage_set *set)
{
	set->nmembers = read_u32(h);
	if (h->failed || set->nmembers > h->left / 18)
		return -EBADMSG;
	set->members = calloc(set->nmembers + 1, sizeof(*set->members));
	if (!set->members)
		return -ENOMEM;
	for (unsigned i = 0; i < set->nmembers; i++) {
		set->members[i].path = (char *)read_some_text(h);
		set->members[i].name = (char *)read_some_text(h);
		set->members[i].chunk_rows = read_u64(h);
	}
	return h->failed ? -EBADMSG : 0;
}

static int replay_set(struct restore *to, const struct slog_record *rec,
		      struct reader *h)
{
	struct stage_set given = { .key = (char *)read_some_text(h) };
	struct row_set *set;
	int r;

	(void)rec;
	given.rows = read_u64(h);
	r = read_members(h, &given);
	set = r == 0 ? sets_get(to->s, given.key) : NULL;
	if (r == 0)
		r = set ? set_take(to->s, set, &given) : -ENOMEM;
	if (r == 0)
		set->recorded = true;
	free(given.members);
	return r;
}

static int replay_put(struct restore *to, const struct slog_record *rec,
		      struct reader *h)
{
	struct put p = { 0 };
	int r = record_read_put(h, rec->payload, rec->npayload, &p);

	if (r == 0)
		r = rows_put(to->s, &p);
	free(p.values);
	return r;
}

static int replay_value(struct restore *to, const struct slog_record *rec,
			struct reader *h)
{
	uint64_t number = read_u64(h);
	struct put_value v = { .member = read_some_text(h) };
	struct row *row;

	v.size = read_u64(h);
	v.crc = read_u32(h);
	v.at = rec->payload;
	row = rows_find(to->s, number);
	if (h->failed || v.size > rec->npayload || !row)
		return -EBADMSG;
	return rows_set_value(to->s, row, &v);
}

static int replay_move(struct restore *to, const struct slog_record *rec,
		       struct reader *h)
{
	const char *dir = read_some_text(h), *name = read_some_text(h);
	struct put p = { 0 };
	struct file *f;
	int r = record_read_put(h, rec->payload, rec->npayload, &p);

	if (r == 0) {
		f = rows_file(to->s, dir, name);
		r = f ? rows_move(to->s, f, &p) : -EBADMSG;
	}
	free(p.values);
	return r;
}

static int replay_drop(struct restore *to, const struct slog_record *rec,
		       struct reader *h)
{
	const char *dir = read_some_text(h), *name = read_some_text(h);
	struct file *f = h->failed ? NULL : rows_file(to->s, dir, name);

	(void)rec;
	if (!f)
		return -EBADMSG;
	rows_drop_file(to->s, f);
	return 0;
}

static int replay_discard(struct restore *to, const struct slog_record *rec,
			  struct reader *h)
{
	struct seal all = { 0 };
	int r = record_read_runs(h, &all.runs, &all.nruns);

	(void)rec;
	if (r == 0)
		seal_consume_rows(to->s, &all, false);
	free(all.runs);
	return r;
}

static int replay_seal(struct restore *to, const struct slog_record *rec,
		       struct reader *h)
{
	CLEANUP(seal_freep) struct seal *seal = calloc(1, sizeof(*seal));
	int r = 0;

	if (!seal)
		return -ENOMEM;
	seal->tag = read_u64(h);
	if (rec->kind == RECORD_SEAL_TREE)
		r = copy_text(read_some_text(h), &seal->path);
	else
		r = record_read_runs(h, &seal->runs, &seal->nruns);
	if (r < 0 || h->failed)
		return r < 0 ? r : -EBADMSG;
	if (seal->tag > to->s->last_tag)
		to->s->last_tag = seal->tag;
	seal->next = to->seals;
	to->seals = TAKE(seal);
	return 0;
}

/* Takes the seal of a tag out of the list; NULL: there is none. */
static struct seal *take_seal(struct restore *to, uint64_t tag)
{
	struct seal **at = &to->seals, *found;

	while (*at && (*at)->tag != tag)
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	return found;
}

static int replay_done(struct restore *to, const struct slog_record *rec,
		       struct reader *h)
{
	CLEANUP(seal_freep) struct seal *seal = NULL;
	uint64_t tag = read_u64(h);

	(void)rec;
	if (h->failed)
		return -EBADMSG;
	seal = take_seal(to, tag);
	if (seal)
		seal_consume(to->s, seal);
	to->s->done_dirty = true;
	return 0;
}

static int replay_tree(struct restore *to, const struct slog_record *rec,
		       struct reader *h)
{
	return tree_replay(to->s, rec, h);
}

static int (*const replays[])(struct restore *, const struct slog_record *,
			      struct reader *) = {
	[RECORD_STATE] = replay_state,	   [RECORD_SET] = replay_set,
	[RECORD_PUT] = replay_put,	   [RECORD_VALUE] = replay_value,
	[RECORD_MOVE] = replay_move,	   [RECORD_DROP] = replay_drop,
	[RECORD_DISCARD] = replay_discard, [RECORD_SEAL] = replay_seal,
	[RECORD_DONE] = replay_done,	   [RECORD_NODE] = replay_tree,
	[RECORD_ATTR] = replay_tree,	   [RECORD_RENAME] = replay_tree,
	[RECORD_REMOVE] = replay_tree,	   [RECORD_SEAL_TREE] = replay_seal,
};

static int replay(struct restore *to, const struct slog_record *rec)
{
	struct reader h = { .p = rec->head, .left = rec->nhead };
	int r = -EBADMSG;

	if (rec->kind < ARRAY_SIZE(replays) && replays[rec->kind])
		r = replays[rec->kind](to, rec, &h);
	return r < 0 && r != -ENOMEM ? -EBADMSG : r;
}

/* ---- damage ---- */
static bool tells_of_commits(uint32_t kind)
{
	return kind == RECORD_SEAL || kind == RECORD_DONE ||
	       kind == RECORD_SEAL_TREE;
}

/* S3: *ret_any: a whole record stands behind the damage. */
static int salvage(struct restore *to, struct slog_scan *scan, bool *ret_any)
{
	struct slog_record rec = { .bytes = STRBUF_INIT };
	bool any = false;
	int r;

	while ((r = slog_salvage(scan, &rec)) == 1) {
		any = true;
		if (tells_of_commits(rec.kind)) {
			r = replay(to, &rec);
			if (r < 0 && r != -EBADMSG)
				break;
		}
	}
	slog_record_done(&rec);
	if (r < 0)
		return r;
	*ret_any = any;
	return 0;
}

/* S2, S3. What is known beyond the log's end is in memory only: the log is written
 * anew with it. */
static int keep_damaged(struct stage *s)
{
	CLEANUP(freep) char *kept = NULL;
	uint64_t at = s->log.end;
	int r = slog_set_aside(&s->log, &kept);

	if (r == 0)
		r = stage_rewrite(s);
	if (r == 0)
		stage_fault(s, s->log.path, "copy in again what is missing",
			    "damaged at byte %llu: what was staged after that "
			    "is kept in %s and not used",
			    (unsigned long long)at, kept);
	return r;
}

static int cut_tail(struct stage *s, uint64_t size)
{
	int r = s->io->truncate(s->log.file->fd, s->log.end);

	if (r == 0)
		stage_fault(s, s->log.path, "copy in again what is missing",
			    "the last record was not whole: %llu bytes cut off",
			    (unsigned long long)(size - s->log.end));
	return r;
}

/* ---- all of it ---- */
/* -EBADMSG: scan stands where the log is damaged, and the log ends there. */
static int replay_all(struct restore *to, struct slog_scan *scan)
{
	struct slog_record rec = { .bytes = STRBUF_INIT };
	struct slog *l = &to->s->log;
	uint64_t end = l->end, seq = l->seq;
	int r;

	while ((r = slog_next(scan, &rec)) == 1) {
		r = replay(to, &rec);
		if (r < 0)
			break;
		end = l->end;
		seq = l->seq;
	}
	slog_record_done(&rec);
	l->end = scan->at = end;
	l->seq = seq;
	return r;
}

/* What FILE has, though no DONE says so. */
static void ask_writer(struct restore *to)
{
	uint64_t tag = writer_tag(to->s->w);
	CLEANUP(seal_freep) struct seal *seal = tag ? take_seal(to, tag) : NULL;

	if (!seal)
		return;
	seal_consume(to->s, seal);
	to->s->owed = tag;
}

static int restore_from(struct restore *to, struct slog_scan *scan)
{
	struct stage *s = to->s;
	int r = replay_all(to, scan);
	bool damaged = r == -EBADMSG, any = false;

	if (damaged)
		r = salvage(to, scan, &any);
	if (r < 0)
		return r;
	ask_writer(to);
	if (any)
		r = keep_damaged(s);
	else if (damaged)
		r = cut_tail(s, scan->size);
	if (r == 0)
		(void)stage_keep_done(s); /* or later */
	return r;
}

static int remove_unfinished(struct stage *s)
{
	CLEANUP(freep) char *name = NULL;
	int r;

	if (asprintf(&name, "%s.new", s->place.log) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	r = s->io->remove(name);
	return r == -ENOENT ? 0 : r;
}

/* A log that has no header of one. */
static int set_whole_aside(struct stage *s)
{
	for (unsigned i = 1; i <= 1000; i++) {
		CLEANUP(freep) char *kept = NULL;
		int r;

		if (asprintf(&kept, "%s.damaged-%u", s->place.log, i) < 0) {
			kept = NULL;
			return -ENOMEM;
		}
		if (access(kept, F_OK) == 0)
			continue;
		r = s->io->rename(s->place.log, kept);
		if (r == 0)
			stage_fault(s, s->place.log,
				    "copy in again what is missing",
				    "this is no log of staged samples: it is "
				    "kept as %s and not used",
				    kept);
		return r;
	}
	return -EEXIST;
}

int stage_restore(struct stage *s, char **ret_why)
{
	struct restore to = { .s = s };
	struct slog_scan scan = { 0 };
	int r = slog_open(s->io, s->place.log, &s->log, &scan);

	if (r == -ENOENT)
		return 0;
	if (r == -EBADMSG)
		return set_whole_aside(s);
	if (r == -EPROTONOSUPPORT)
		return stage_say(ret_why, r,
				 "%s was written by a newer version of h5fs",
				 s->place.log);
	if (r == 0)
		r = remove_unfinished(s); /* S7 */
	if (r == 0)
		r = restore_from(&to, &scan);
	while (to.seals)
		seal_free(take_seal(&to, to.seals->tag));
	slog_scan_done(&scan);
	if (r < 0)
		return stage_say(ret_why, r, "%s: %s", s->place.log,
				 strerror(-r));
	if (s->first) {
		s->put_once = true;
		clock_gettime(CLOCK_MONOTONIC, &s->last_put);
	}
	return 0;
}
