/* SPDX-License-Identifier: MIT */
/* choose.c - which staged rows a commit takes: all that are complete, ascending,
 * and no more than fill whole chunks where the rest can wait. */
#include "commit_int.h"

/* ---- which rows; the lock is held ---- */
static int check_given(struct commit *c, const struct stage_set *given)
{
	for (unsigned i = 0; i < given->nmembers; i++) {
		const struct stage_member *m = &given->members[i];

		if (m->axis >= m->rank || m->rank > DT_MAX_RANK)
			return stage_say(&c->why, -EINVAL, "%s has no rows",
					 m->path);
		if (m->dims[m->axis] != given->rows)
			return stage_say(&c->why, -EINVAL,
					 "%s has %llu rows, others of its set "
					 "have %llu",
					 m->path,
					 (unsigned long long)m->dims[m->axis],
					 (unsigned long long)given->rows);
	}
	return 0;
}

/* What is given is what counts; the log is told with the next row. */
static int describe(struct commit *c, struct commit_set *cs)
{
	const struct stage_set *given = cs->given;
	int r = 0;

	if (set_differs(cs->set, given)) {
		cs->set->recorded = false;
		r = set_take(c->s, cs->set, given);
	} else {
		set_rows(c->s, cs->set, given->rows);
	}
	cs->members = calloc(given->nmembers + 1, sizeof(*cs->members));
	if (!cs->members)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i < given->nmembers; i++)
		r = set_find_member(cs->set, given->members[i].path,
				    &cs->members[i]);
	return r;
}

static int add_pick(struct commit_set *cs, struct row *row)
{
	if (cs->npicks == cs->cap) {
		size_t cap = cs->cap ? cs->cap * 2 : 64;
		struct pick *grown =
			reallocarray(cs->picks, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		cs->picks = grown;
		cs->cap = cap;
	}
	cs->picks[cs->npicks++] = (struct pick){
		.row = row,
		.first = row->done,
		.count = row_left(row),
	};
	cs->count += row_left(row);
	return 0;
}

static void tell_misfit(struct stage *s, const struct row *row,
			const struct stage_member *m)
{
	stage_fault(s, row->files ? row->files->name : row->stem,
		    "h5fs discard, then copy it in again",
		    "staged for %s as it was: its rows have another size now",
		    m->path);
}

static int pick_rows(struct commit *c)
{
	for (struct row *row = c->s->first; row; row = row->next) {
		struct commit_set *cs = row->set->job;
		const struct stage_member *bad;
		int r = 0;

		if (!cs || !row->ready)
			continue;
		bad = feed_misfit(row, cs->given);
		if (bad)
			tell_misfit(c->s, row, bad);
		else
			r = add_pick(cs, row);
		if (r < 0)
			return r;
	}
	return 0;
}

/* No more than fill whole chunks: the rest would be written twice. */
static void hold_back(struct commit_set *cs)
{
	uint64_t rows = cs->given->rows, chunk = cs->set->chunk, over;

	if (!chunk)
		return;
	over = (rows % chunk + cs->count % chunk) % chunk;
	if (over > cs->count)
		over = cs->count;
	cs->count -= over;
	while (over) {
		struct pick *last = &cs->picks[cs->npicks - 1];
		uint64_t n = last->count < over ? last->count : over;

		last->count -= n;
		over -= n;
		if (!last->count)
			cs->npicks--;
	}
}

static int choose_in(struct commit *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->nsets; i++) {
		struct commit_set *cs = &c->sets[i];

		cs->set = sets_find(c->s, cs->given->key);
		if (!cs->set || !cs->set->nstaged)
			continue;
		r = check_given(c, cs->given);
		if (r == 0)
			r = describe(c, cs);
		cs->set->job = cs;
	}
	if (r == 0)
		r = pick_rows(c);
	for (size_t i = 0; i < c->nsets; i++) {
		struct commit_set *cs = &c->sets[i];

		if (!cs->set)
			continue;
		cs->set->job = NULL;
		if (c->kind == STAGE_WHOLE_CHUNKS)
			hold_back(cs);
		c->count += cs->count;
	}
	return r;
}

/* ---- what is said of them; the lock is held ---- */
static int make_seal(struct commit *c)
{
	size_t n = 0;

	c->seal = calloc(1, sizeof(*c->seal));
	if (!c->seal)
		return -ENOMEM;
	for (size_t i = 0; i < c->nsets; i++)
		n += c->sets[i].npicks;
	c->seal->runs = calloc(n + 1, sizeof(*c->seal->runs));
	if (!c->seal->runs)
		return -ENOMEM;
	for (size_t i = 0; i < c->nsets; i++)
		for (size_t k = 0; k < c->sets[i].npicks; k++)
			seal_add(c->seal, &c->sets[i].picks[k]);
	return 0;
}

static int result_files(const struct commit_set *cs, struct stage_done *d)
{
	uint64_t at = d->first;
	size_t n = 0;

	for (size_t i = 0; i < cs->npicks; i++)
		for (struct file *f = cs->picks[i].row->files; f; f = f->next)
			n++;
	d->dirs = calloc(n + 1, sizeof(*d->dirs));
	d->names = calloc(n + 1, sizeof(*d->names));
	d->rows = calloc(n + 1, sizeof(*d->rows));
	if (!d->dirs || !d->names || !d->rows)
		return -ENOMEM;
	for (size_t i = 0; i < cs->npicks; i++) {
		struct file *f = cs->picks[i].row->files;

		for (; f; f = f->next) {
			size_t k = d->nfiles++;

			d->rows[k] = at;
			if (copy_text(f->dir->key, &d->dirs[k]) < 0 ||
			    copy_text(f->name, &d->names[k]) < 0)
				return -ENOMEM;
		}
		at += cs->picks[i].count;
	}
	return 0;
}

static int make_result(struct commit *c)
{
	c->result.sets = calloc(c->nsets + 1, sizeof(*c->result.sets));
	if (!c->result.sets)
		return -ENOMEM;
	for (size_t i = 0; i < c->nsets; i++) {
		const struct commit_set *cs = &c->sets[i];
		struct stage_done *d = &c->result.sets[c->result.count];
		int r;

		if (!cs->count)
			continue;
		c->result.count++;
		d->first = cs->given->rows;
		d->count = cs->count;
		r = copy_text(cs->given->key, &d->set);
		if (r == 0)
			r = result_files(cs, d);
		if (r < 0)
			return r;
	}
	return 0;
}

int commit_choose(struct commit *c)
{
	struct stage *s = c->s;
	LOCK_SCOPE(&s->lock);
	int r = choose_in(c);

	if (r < 0 || !c->count)
		return r;
	r = make_seal(c);
	if (r == 0)
		r = make_result(c);
	if (r < 0)
		return r;
	c->seal->tag = seal_tag(s, c->w);
	c->log = slog_file_ref(s->log.file);
	seal_lock(s, c->seal, true);
	s->committing = true;
	return 0;
}
