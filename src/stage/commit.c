/* SPDX-License-Identifier: MIT */
/* commit.c - staged rows become rows of FILE: which ones, and then one
 * transaction over all sets. */
#include "stage_int.h"

/* What is committed of one set. */
struct commit_set {
	const struct stage_set *given;
	struct row_set *set;
	uint32_t *members; /* of given->members, in set */
	struct pick *picks;
	size_t npicks, cap;
	uint64_t count; /* rows of FILE */
};
struct commit {
	struct stage *s;
	struct writer *w;
	enum stage_commit_kind kind;
	struct commit_set *sets;
	size_t nsets;
	const struct stage_attr *attrs;
	size_t nattrs;
	uint64_t count;
	struct seal *seal;
	struct slog_file *log;
	struct stage_result result;
	bool begun;
	char *why;
};

static void commit_done(struct commit *c)
{
	for (size_t i = 0; i < c->nsets; i++) {
		free(c->sets[i].members);
		free(c->sets[i].picks);
	}
	free(c->sets);
	seal_free(c->seal);
	slog_file_unref(c->log);
	stage_result_done(&c->result);
	free(c->why);
}

static void done_done(struct stage_done *d)
{
	for (size_t i = 0; i < d->nfiles; i++) {
		free(d->dirs[i]);
		free(d->names[i]);
	}
	free(d->set);
	free(d->dirs);
	free(d->names);
	free(d->rows);
}

void stage_result_done(struct stage_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		done_done(&r->sets[i]);
	free(r->sets);
	*r = (struct stage_result){ 0 };
}

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

static int choose(struct commit *c)
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

/* ---- the transaction; no lock is held ---- */
static int begin(struct commit *c)
{
	int r;

	if (c->begun)
		return 0;
	r = writer_begin(c->w);
	if (r < 0)
		return writer_said(c->w, r, NULL, &c->why);
	c->begun = true;
	seal_settle(c->s, c->w);
	return 0;
}

static int make_growable(struct commit *c, const struct commit_set *cs,
			 const struct stage_member *m)
{
	int r = writer_can_append(c->w, m->path, m->axis);

	if (r == -EOPNOTSUPP && cs->given->grow)
		r = writer_grow(c->w, m->path, m->axis);
	return r < 0 ? writer_said(c->w, r, m->path, &c->why) : 0;
}

/* Of a member of a set with rows, or of no set at all. */
static bool attr_is_due(const struct commit *c, const struct stage_attr *a)
{
	bool of_a_set = false;

	for (size_t i = 0; i < c->nsets; i++) {
		const struct commit_set *cs = &c->sets[i];

		for (unsigned k = 0; k < cs->given->nmembers; k++) {
			if (strcmp(cs->given->members[k].path, a->path) != 0)
				continue;
			if (cs->count)
				return true;
			of_a_set = true;
		}
	}
	return !of_a_set;
}

static int set_attrs(struct commit *c)
{
	for (size_t i = 0; i < c->nattrs; i++) {
		const struct stage_attr *a = &c->attrs[i];
		int r;

		if (!attr_is_due(c, a))
			continue;
		r = writer_set_attr(c->w, a->path, a->name, a->value);
		if (r < 0)
			return writer_said(c->w, r, a->path, &c->why);
	}
	return 0;
}

static int append_set(struct commit *c, const struct commit_set *cs)
{
	for (unsigned i = 0; i < cs->given->nmembers; i++) {
		const struct stage_member *m = &cs->given->members[i];
		int r = make_growable(c, cs, m);

		if (r == 0)
			r = feed_member(c->log, c->w, cs->members[i], m,
					cs->picks, cs->npicks, &c->why);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill(struct commit *c)
{
	int r = set_attrs(c);

	for (size_t i = 0; r == 0 && i < c->nsets; i++)
		if (c->sets[i].count)
			r = append_set(c, &c->sets[i]);
	return r;
}

static int commit_chosen(struct commit *c)
{
	int r = begin(c);

	if (r == 0)
		r = fill(c);
	if (r == 0)
		return seal_commit(c->s, c->w, TAKE(c->seal), &c->why);
	if (c->begun)
		writer_abort(c->w);
	LOCK_SCOPE(&c->s->lock);
	seal_lock(c->s, c->seal, false);
	return r;
}

static bool is_in_doubt(struct stage *s)
{
	LOCK_SCOPE(&s->lock);
	return s->doubt;
}

static int commit_run(struct commit *c)
{
	struct stage *s = c->s;
	int r = stage_make_sure(s);

	if (r == 0 && is_in_doubt(s))
		r = begin(c);
	if (r == 0)
		r = choose(c);
	if (r == 0 && c->count)
		r = commit_chosen(c);
	else if (c->begun)
		writer_abort(c->w);
	LOCK_SCOPE(&s->lock);
	s->committing = false;
	slog_file_unref(TAKE(c->log));
	stage_trim(s);
	return r;
}

int stage_commit(struct stage *s, struct writer *w,
		 const struct stage_set *sets, size_t nsets,
		 const struct stage_attr *attrs, size_t nattrs,
		 enum stage_commit_kind kind, struct stage_result *ret_result,
		 char **ret_why)
{
	LOCK_SCOPE(&s->commit);
	CLEANUP(commit_done)
	struct commit c = {
		.s = s,
		.w = w,
		.kind = kind,
		.attrs = attrs,
		.nattrs = nattrs,
	};
	int r;

	c.sets = calloc(nsets + 1, sizeof(*c.sets));
	if (!c.sets)
		return -ENOMEM;
	c.nsets = nsets;
	for (size_t i = 0; i < nsets; i++)
		c.sets[i].given = &sets[i];
	r = commit_run(&c);
	if (r < 0) {
		if (!c.why)
			(void)stage_say(&c.why, r, "%s", strerror(-r));
		*ret_why = TAKE(c.why);
		return r;
	}
	*ret_result = c.result;
	c.result = (struct stage_result){ 0 };
	return 0;
}
