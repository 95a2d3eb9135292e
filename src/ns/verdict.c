/* SPDX-License-Identifier: MIT */
/* verdict.c - what becomes of a file that was copied in: it is decoded and staged,
 * it becomes an object, or it is refused and told why. */
#include <stdio.h>

#include "objects_int.h"
#include "write_int.h"

#define MAX_FILE ((uint64_t)4 << 30) /* of a sample */

/* ---- samples ---- */

struct sample {
	struct set_desc *d;
	unsigned member; /* the file's */
	size_t stem;	 /* of its name */
	bool npy;
};

/* STEM.MEMBER.npy is a value of another member. */
static void look_at_name(struct set_desc *d, const char *name, struct sample *s)
{
	size_t n = stem_length(name);
	const char *dot;
	int at;

	s->d = d;
	s->member = d->member;
	s->stem = n;
	s->npy = !strcmp(name + n, ".npy");
	dot = s->npy ? memrchr(name, '.', n) : NULL;
	if (!dot || dot == name)
		return;
	at = set_member_named(d, dot + 1, n - (size_t)(dot + 1 - name));
	if (at < 0 || (unsigned)at == d->member)
		return;
	s->member = (unsigned)at;
	s->stem = (size_t)(dot - name);
}

/* Pictures must be able to become values again; a .npy holds values. */
static int check_rule(const struct sample *s, struct refusal *f)
{
	const struct stage_member *m = &s->d->set.members[s->member];
	const struct object *o = s->d->objects[s->member];

	if (s->npy)
		return 0;
	if (m->role == STAGE_ROWS)
		return refusal_set(
			f, -EOPNOTSUPP, "copy a row of it as .npy",
			o->layout->kind == LAYOUT_PICTURES
				? "the pictures of %s lie several levels deep"
				: "the rows of %s are no pictures",
			m->path);
	if (m->role != STAGE_PICTURE)
		return 0;
	if (m->norm && m->norm->empty)
		return refusal_set(
			f, -EOPNOTSUPP,
			"copy the first row as .npy, or set the attribute "
			"h5fs.norm (float-unit, float-byte, ...) with h5py",
			"%s is empty, so nobody can say how its values are "
			"shown",
			m->path);
	if (!m->norm || (!norm_is_invertible(m->norm->kind) && !m->palette))
		return refusal_set(
			f, -EOPNOTSUPP, "copy rows as .npy",
			"the pictures of %s are scaled (%s), so they can not "
			"be turned back into values",
			m->path, m->norm ? norm_name(m->norm->kind) : "?");
	return 0;
}

static int stage_batch(struct ns *ns, const struct open_file *f,
		       const struct sample *s, const struct accepted *a,
		       const struct stage_place *place, uint64_t *ret_row,
		       struct refusal *refusal)
{
	CLEANUP(row_values_done) struct row_values v = { 0 };
	size_t row_bytes =
		(size_t)stage_row_bytes(&s->d->set.members[s->member]);
	int r = row_values_add(s->d, f->at.class_name ? &f->at.label : NULL,
			       place->stem, strlen(place->stem), &v, refusal);

	if (r == 0)
		r = stage_put_batch(ns->stage, &s->d->set, place, s->member,
				    a->rows->data, row_bytes, a->nrows, ret_row,
				    refusal);
	/* one for all of them */
	for (size_t i = 0; r == 0 && i < v.n; i++)
		if (v.values[i].member != s->member)
			r = stage_set_value(ns->stage, *ret_row, &s->d->set,
					    &v.values[i]);
	return r;
}

static int stage_one(struct ns *ns, const struct open_file *f,
		     const struct sample *s, const struct accepted *a,
		     const struct stage_place *place, uint64_t *ret_row,
		     struct refusal *refusal)
{
	CLEANUP(row_values_done) struct row_values v = { 0 };
	int r;

	row_values_put(&v, s->member, blob_ref(a->rows));
	r = row_values_add(s->d, f->at.class_name ? &f->at.label : NULL,
			   f->name, s->stem, &v, refusal);
	return r < 0 ? r
		     : stage_put(ns->stage, &s->d->set, place, v.values, v.n,
				 ret_row, refusal);
}

static int stage_sample(struct ns *ns, struct open_file *f,
			const struct sample *s, const struct accepted *a,
			uint64_t *ret_row, struct refusal *refusal)
{
	CLEANUP(freep) char *stem = strndup(f->name, s->stem);
	struct stage_place place = { .dir = f->dir,
				     .class_name = f->at.class_name,
				     .name = f->name,
				     .stem = stem,
				     .npy = s->npy };

	if (!stem)
		return -ENOMEM;
	return a->batch ? stage_batch(ns, f, s, a, &place, ret_row, refusal)
			: stage_one(ns, f, s, a, &place, ret_row, refusal);
}

/* The row is held while the file is open. */
static void took(struct ns *ns, struct open_file *f, uint64_t row)
{
	if (f->holds && f->row == row)
		return;
	stage_hold(ns->stage, row);
	if (f->holds)
		stage_release(ns->stage, f->row);
	f->holds = true;
	f->row = row;
}

static int set_early(struct ns *ns, struct open_file *f,
		     const struct set_desc *d, struct refusal *refusal)
{
	int r = 0;

	for (struct early_value *e = f->early; r == 0 && e; e = e->next)
		r = row_set_text(ns, d, f->row, e->name, e->text, e->n,
				 refusal);
	return r;
}

static int judge_sample(struct ns *ns, struct open_file *f,
			struct refusal *refusal)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(set_putp) struct set_ref *set = NULL;
	CLEANUP(accepted_done) struct accepted a = { 0 };
	struct sample s;
	const uint8_t *bytes;
	uint64_t row;
	int r = pin_path(ns, f->at.object, &p);

	if (r == 0)
		r = set_get(ns, p.object, &set, refusal);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	look_at_name(&set->d, f->name, &s);
	r = check_rule(&s, refusal);
	if (r == 0)
		r = draft_bytes(f->draft, MAX_FILE, &bytes);
	if (r == -EFBIG)
		return refusal_set(refusal, -EFBIG, "split it",
				   "the file is larger than 4 GiB");
	if (r == 0)
		r = accept_file(&set->d.set.members[s.member], f->name, bytes,
				draft_size(f->draft), ns->opts.fit, NULL, &a,
				refusal);
	if (r == 0)
		r = stage_sample(ns, f, &s, &a, &row, refusal);
	if (r < 0)
		return r;
	f->staged = true;
	took(ns, f, row);
	return set_early(ns, f, &set->d, refusal);
}

/* ---- all kinds ---- */

static int judge(struct ns *ns, struct open_file *f, struct refusal *refusal)
{
	const uint8_t *bytes;
	int r;

	if (!f->is_replacement)
		return f->at.kind == INTAKE_SAMPLE
			       ? judge_sample(ns, f, refusal)
			       : object_verdict(ns, f->at.parent, f->name,
						f->draft, refusal);
	r = draft_bytes(f->draft, MAX_FILE, &bytes);
	return r < 0 ? r
		     : replace_sample(ns, f->replaces, f->name, bytes,
				      draft_size(f->draft), f->fault_path,
				      refusal);
}

/* What was refused is not there; what was taken is seen as it will be. The kernel
 * keeps no name of what is not committed, so it need not be told of one: a name
 * is invalidated under its directory's lock, which whoever makes the next file
 * there holds until it is answered. */
static void tell_verdict(struct ns *ns, struct open_file *f)
{
	if (f->verdict < 0 && f->staged)
		(void)stage_drop(ns->stage, f->dir, f->name);
	if (f->verdict < 0)
		f->staged = false;
	if (f->is_replacement)
		ns_changed(ns, node_ino(f->replaces));
	ns_tell(ns);
}

int verdict_pass(struct ns *ns, struct open_file *f)
{
	struct refusal refusal = { 0 };
	uint64_t version = draft_version(f->draft);
	unsigned tries = 0;
	int r;

	if (version == f->version)
		return f->judged ? f->verdict : 0;
	if (!f->is_replacement &&
	    (name_is_held(f->name) || !open_file_is_named(ns, f)))
		return 0;
	do {
		refusal_done(&refusal);
		r = judge(ns, f, &refusal);
	} while (ns_again(ns, r, &tries));
	if (r < 0 && !refusal.reason)
		(void)refusal_set(&refusal, r, "try again", "%s", strerror(-r));
	f->judged = true;
	f->version = version;
	f->verdict = r;
	tell_verdict(ns, f);
	return ns_refuse(ns, f->fault_path, &refusal, r);
}

/* ---- before there are bytes ---- */

static int may_make_sample(struct ns *ns, const struct intake *in,
			   const char *name, struct refusal *f)
{
	CLEANUP(set_putp) struct set_ref *set = NULL;
	struct sample s;
	int r = set_get(ns, in->object, &set, f);

	if (r < 0 || name_is_held(name))
		return r;
	look_at_name(&set->d, name, &s);
	return check_rule(&s, f);
}

int verdict_may_make(struct ns *ns, const struct pin *dir,
		     const struct intake *in, const char *name,
		     struct refusal *f)
{
	struct node node;
	int r;

	if (in->kind != INTAKE_SAMPLE)
		return 0;
	r = lookup_committed(ns, dir, name, &node);
	if (r == 0)
		return refusal_set(f, -EPERM,
				   ns->mode == NS_EDIT
					   ? "open the one that is there"
					   : "mount with -o edit to replace it",
				   "a row of this name is committed already");
	return r == -ENOENT ? may_make_sample(ns, in, name, f) : r;
}
