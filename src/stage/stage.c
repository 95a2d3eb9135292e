/* SPDX-License-Identifier: MIT */
/* stage.c - opens and closes a stage; its log as a whole. */
#include <stdio.h>

#include "stage_int.h"

#define REWRITE_FROM ((uint64_t)64 << 20)

int copy_text(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

int stage_say(char **ret_why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(ret_why, fmt, ap) < 0)
		*ret_why = NULL;
	va_end(ap);
	return r;
}

void stage_fault(struct stage *s, const char *path, const char *remedy,
		 const char *fmt, ...)
{
	CLEANUP(freep) char *reason = NULL;
	va_list ap;

	if (!s->faults)
		return;
	va_start(ap, fmt);
	if (vasprintf(&reason, fmt, ap) < 0)
		reason = NULL;
	va_end(ap);
	(void)faults_add(s->faults, path, reason, remedy);
}

void seal_free(struct seal *s)
{
	if (!s)
		return;
	free(s->runs);
	free(s->path);
	free(s);
}

/* ---- life ---- */
int stage_open_on(struct writer *w, const struct stage_options *o,
		  const struct stage_io *io, struct stage **ret_stage,
		  char **ret_why)
{
	CLEANUP(stage_closep) struct stage *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->commit, NULL);
	pthread_mutex_init(&s->lock, NULL);
	s->w = w;
	s->io = io;
	s->faults = o->faults;
	s->next_row = 1;
	rows_init(s);
	sets_init(s);
	tree_init(s);
	r = copy_text(o->dir, &s->dir);
	if (r == 0)
		r = place_of_log(w, s->dir, &s->place, ret_why);
	if (r == 0)
		r = stage_restore(s, ret_why);
	if (r < 0)
		return r;
	stage_trim(s);
	*ret_stage = TAKE(s);
	return 0;
}

int stage_open(struct writer *w, const struct stage_options *o,
	       struct stage **ret_stage, char **ret_why)
{
	return stage_open_on(w, o, &stage_disk, ret_stage, ret_why);
}

void stage_close(struct stage *s)
{
	if (!s)
		return;
	(void)stage_keep_done(s);
	if (s->log.file)
		stage_trim(s);
	rows_free(s);
	sets_free(s);
	tree_free(s);
	seal_free(s->doubt);
	slog_done(&s->log);
	place_done(&s->place);
	free(s->dir);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->commit);
	free(s);
}

bool stage_has_nothing(const struct stage *s)
{
	return !s->first && !s->tops.root;
}

bool stage_is_empty(struct stage *s)
{
	LOCK_SCOPE(&s->lock);
	return stage_has_nothing(s);
}

/* ---- the log ---- */
int stage_append(struct stage *s, enum record kind, const struct strbuf *head,
		 const struct slog_part *parts, size_t nparts,
		 uint64_t *ret_payload)
{
	int r = 0;

	if (!s->log.file)
		r = place_make(s->w, &s->place, s->io, &s->log);
	if (r < 0)
		return r;
	s->undo_end = s->log.end;
	s->undo_seq = s->log.seq;
	r = slog_append(&s->log, kind, head, parts, nparts, ret_payload);
	if (r < 0)
		stage_trim(s);
	return r;
}

void stage_undo(struct stage *s)
{
	slog_cut_back(&s->log, s->undo_end, s->undo_seq);
	stage_trim(s);
}

/* S8. Where it cannot be removed it goes on being used. */
static void remove_log(struct stage *s)
{
	struct place p;
	char *why = NULL;

	if (s->done_dirty && s->io->sync(s->log.file->fd) < 0)
		return;
	if (place_remove(&s->place, s->io) < 0)
		return;
	s->done_dirty = false;
	s->owed = 0;
	s->gone_dirty = true;
	s->rewrite_at = 0;
	slog_done(&s->log);
	sets_unrecord(s);
	/* The next one goes where the options say. */
	if (place_of_log(s->w, s->dir, &p, &why) == 0) {
		place_done(&s->place);
		s->place = p;
	}
	free(why);
}

void stage_trim(struct stage *s)
{
	if (!s->log.file || s->committing || s->doubt)
		return;
	if (stage_has_nothing(s)) {
		remove_log(s);
		return;
	}
	if (s->log.end < REWRITE_FROM || s->live > s->log.end / 4 ||
	    s->log.end < s->rewrite_at)
		return;
	if (stage_rewrite(s) < 0)
		s->rewrite_at = s->log.end + REWRITE_FROM;
}

int stage_pay(struct stage *s)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	uint64_t unused;
	int r;

	if (!s->owed)
		return 0;
	put_u64(&head, s->owed);
	r = stage_append(s, RECORD_DONE, &head, NULL, 0, &unused);
	if (r < 0)
		return r;
	s->owed = 0;
	s->done_dirty = true;
	return 0;
}

/* Once FILE's writer is closed nobody but the log knows what is in FILE. */
int stage_keep_done(struct stage *s)
{
	int r = stage_pay(s);

	if (r == 0 && s->done_dirty)
		r = s->io->sync(s->log.file->fd);
	if (r == 0)
		s->done_dirty = false;
	return r;
}

/* ---- sync ---- */
static int sync_names(struct stage *s, const char *log, const char *side)
{
	int r = s->io->sync_dir(log);

	return r == 0 ? s->io->sync_dir(side) : r;
}

/* Of the log as it is now, with no lock held. */
static int sync_file(struct stage *s, struct slog_file *f, bool names)
{
	CLEANUP(freep) char *log = NULL;
	CLEANUP(freep) char *side = NULL;
	int r = 0;

	if (names) {
		LOCK_SCOPE(&s->lock);
		r = copy_text(s->place.log, &log);
		if (r == 0)
			r = copy_text(s->place.side, &side);
	}
	if (r == 0 && f)
		r = s->io->sync(f->fd);
	if (r == 0 && names)
		r = sync_names(s, log, side);
	return r == -ENOENT && !f ? 0 : r; /* gone with its directory */
}

int stage_sync_log(struct stage *s)
{
	CLEANUP(slog_file_unrefp) struct slog_file *f = NULL;
	bool names;
	int r;

	{
		LOCK_SCOPE(&s->lock);
		if (s->log.unsure)
			return stage_rewrite(s);
		f = slog_file_ref(s->log.file);
		names = f ? s->log.name_dirty : s->gone_dirty;
	}
	r = sync_file(s, f, names);
	LOCK_SCOPE(&s->lock);
	if (f && f == s->log.file) {
		s->log.unsure = r < 0;
		s->log.name_dirty = s->log.name_dirty && r < 0;
	}
	if (!f && r == 0)
		s->gone_dirty = false;
	return r;
}

int stage_make_sure(struct stage *s)
{
	LOCK_SCOPE(&s->lock);
	return s->log.unsure && !s->doubt ? stage_rewrite(s) : 0;
}

int stage_sync(struct stage *s)
{
	return stage_sync_log(s);
}

/* ---- sets ---- */
static int record_set(struct stage *s, const struct stage_set *given)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	uint64_t unused;

	put_text(&head, given->key);
	put_u64(&head, given->rows);
	put_u32(&head, given->nmembers);
	for (unsigned i = 0; i < given->nmembers; i++) {
		put_text(&head, given->members[i].path);
		put_text(&head, given->members[i].name);
		put_u64(&head, given->members[i].chunk_rows);
	}
	return stage_append(s, RECORD_SET, &head, NULL, 0, &unused);
}

int stage_describe(struct stage *s, const struct stage_set *given,
		   struct row_set **ret_set)
{
	struct row_set *set = sets_get(s, given->key);
	int r = 0;

	if (!set)
		return -ENOMEM;
	if (set_differs(set, given) || !set->recorded) {
		r = record_set(s, given);
		if (r == 0)
			r = set_take(s, set, given);
		if (r == 0)
			set->recorded = true;
	} else {
		set_rows(s, set, given->rows);
	}
	if (r == 0)
		*ret_set = set;
	return r;
}
