/* SPDX-License-Identifier: MIT */
/* seal.c - one commit, once: what is in FILE is not in the stage, and the other
 * way round, whatever ends when (S5, S6).
 *
 *   STAGED --SEAL, synced--> SEALED --writer_commit--> IN FILE --DONE--> gone
 *
 * In between it is the writer's tag that says where the rows are. It is that of
 * the last transaction, so a transaction of somebody else after this one passes
 * writer_tag() on, as it is within that transaction. */
#include <stdio.h>

#include "stage_int.h"

/* ---- the rows and objects that a seal names ---- */
void seal_add(struct seal *seal, const struct pick *p)
{
	struct run *last = seal->nruns ? &seal->runs[seal->nruns - 1] : NULL;
	struct run run = { .row = p->row->number, .n = 1 };

	if (p->row->batch) {
		run.batch = 1;
		run.n = p->count;
	} else if (last && !last->batch && last->row + last->n == run.row) {
		last->n++;
		return;
	}
	seal->runs[seal->nruns++] = run;
}

static struct row *first_of(struct stage *s, const struct run *run)
{
	struct sorted_node *n = sorted_from(&s->rows, &run->row);

	return n ? container_of(n, struct row, by_number) : NULL;
}

static bool is_in(const struct row *r, const struct run *run)
{
	return r && r->number - run->row < (run->batch ? 1 : run->n);
}

void seal_lock(struct stage *s, const struct seal *seal, bool busy)
{
	struct node *n = seal->path ? tree_at(s, seal->path) : NULL;

	if (n)
		n->busy = busy;
	for (size_t i = 0; i < seal->nruns; i++) {
		struct row *r = first_of(s, &seal->runs[i]);

		for (; is_in(r, &seal->runs[i]); r = r->next) {
			row_uncount(s, r);
			r->busy = busy;
			row_count(s, r);
		}
	}
}

void seal_consume_rows(struct stage *s, const struct seal *seal, bool committed)
{
	for (size_t i = 0; i < seal->nruns; i++) {
		const struct run *run = &seal->runs[i];
		struct row *r = first_of(s, run), *next;

		for (; is_in(r, run); r = next) {
			uint64_t n = row_left(r);

			next = r->next;
			if (run->batch && run->n < n)
				n = run->n;
			if (committed)
				set_rows(s, r->set, r->set->rows + n);
			rows_consume(s, r, n);
		}
	}
}

void seal_consume(struct stage *s, const struct seal *seal)
{
	struct node *n = seal->path ? tree_at(s, seal->path) : NULL;

	seal_lock(s, seal, false);
	seal_consume_rows(s, seal, true);
	if (n)
		tree_drop(s, n);
}

/* ---- with the writer ---- */
int writer_said(struct writer *w, int r, const char *about, char **ret_why)
{
	const char *why = writer_why(w);

	if (*ret_why)
		return r;
	return stage_say(ret_why, r, "%s%s%s", about ? about : "",
			 about ? ": " : "", why && *why ? why : strerror(-r));
}

void seal_settle(struct stage *s, struct writer *w)
{
	LOCK_SCOPE(&s->lock);
	CLEANUP(seal_freep) struct seal *seal = TAKE(s->doubt);

	if (!seal)
		return;
	if (writer_tag(w) != seal->tag) {
		seal_lock(s, seal, false);
		return;
	}
	seal_consume(s, seal);
	s->owed = seal->tag;
}

uint64_t seal_tag(struct stage *s, const struct writer *w)
{
	struct timespec now;
	uint64_t tag;

	clock_gettime(CLOCK_REALTIME, &now);
	tag = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (tag <= s->last_tag)
		tag = s->last_tag + 1;
	if (tag == writer_tag(w))
		tag++;
	s->last_tag = tag;
	return tag;
}

/* Room for the DONE is taken now: after the commit is no time for ENOSPC. */
static int write_seal(struct stage *s, const struct seal *seal)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	LOCK_SCOPE(&s->lock);
	uint64_t unused;
	int r = stage_pay(s);

	put_u64(&head, seal->tag);
	if (seal->path)
		put_text(&head, seal->path);
	else
		record_runs(&head, seal->runs, seal->nruns);
	if (r == 0)
		r = stage_append(s, seal->path ? RECORD_SEAL_TREE : RECORD_SEAL,
				 &head, NULL, 0, &unused);
	if (r == 0)
		r = s->io->reserve(s->log.file->fd, s->log.end, 4096);
	return r;
}

static void sealed_is_done(struct stage *s, const struct seal *seal)
{
	{
		LOCK_SCOPE(&s->lock);
		seal_consume(s, seal);
		s->owed = seal->tag;
		if (stage_pay(s) < 0)
			return; /* it is owed, and nothing is sealed before */
	}
	if (stage_sync_log(s) < 0)
		return;
	LOCK_SCOPE(&s->lock);
	s->done_dirty = false;
}

static void unseal(struct stage *s, const struct seal *seal)
{
	LOCK_SCOPE(&s->lock);
	seal_lock(s, seal, false);
}

int seal_commit(struct stage *s, struct writer *w, struct seal *seal,
		char **ret_why)
{
	CLEANUP(seal_freep) struct seal *own = seal;
	int r = write_seal(s, seal);

	if (r == 0)
		r = stage_sync_log(s);
	if (r < 0) {
		writer_abort(w);
		unseal(s, seal);
		return stage_say(ret_why, r, "%s: %s", s->place.log,
				 strerror(-r));
	}
	r = writer_commit(w, seal->tag);
	if (r == 0) {
		sealed_is_done(s, seal);
		return 0;
	}
	writer_said(w, r, NULL, ret_why);
	if (r != -EIO) {
		unseal(s, seal);
		return r;
	}
	LOCK_SCOPE(&s->lock);
	s->doubt = TAKE(own); /* S6 */
	return r;
}
