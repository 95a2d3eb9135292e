/* SPDX-License-Identifier: MIT */
/* commit.c - staged rows become rows of FILE: one transaction over all sets. */
#include "commit_int.h"

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
		r = commit_choose(c);
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
