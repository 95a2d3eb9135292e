/* SPDX-License-Identifier: MIT */
/* verdict.c - what becomes of a file that was copied in: it is decoded and staged,
 * it becomes an object, or it is refused and told why. */
#include <stdio.h>

#include "objects_int.h"
#include "write_int.h"

#define MAX_FILE ((uint64_t)4 << 30) /* of a sample */

/* ---- label and name of a row ---- */

void row_values_done(struct row_values *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(v->blobs); i++)
		blob_unref(v->blobs[i]);
	memset(v, 0, sizeof(*v));
}

/* Takes the blob. */
static void put_value(struct row_values *v, unsigned member, struct blob *b)
{
	v->blobs[v->n] = b;
	v->values[v->n++] = (struct stage_value){ .member = member,
						  .bytes = b->data,
						  .size = b->size };
}

static int add_name(const struct set_desc *d, const char *name, size_t stem,
		    struct row_values *v, struct refusal *f)
{
	struct blob *b = NULL;
	size_t n = d->stem_names ? stem : strlen(name);
	int r = text_value(d->set.members[d->name].type, name, n, &b);

	if (r == -ERANGE)
		return refusal_set(f, -EINVAL, "give the file a shorter name",
				   "its name is longer than %s can hold",
				   d->set.members[d->name].path);
	if (r == 0)
		put_value(v, (unsigned)d->name, b);
	return r;
}

int row_values_add(const struct set_desc *d, const struct class_label *label,
		   const char *name, size_t stem, struct row_values *v,
		   struct refusal *f)
{
	struct blob *b = NULL;
	int r = 0;

	if (label && d->label >= 0) {
		r = label_value(dset_info(d->states[d->label]->dset), label, &b,
				f);
		if (r == 0)
			put_value(v, (unsigned)d->label, b);
	}
	if (r == 0 && name && d->name >= 0)
		r = add_name(d, name, stem, v, f);
	return r;
}

/* ---- other members of a row ---- */

static int find_member(const struct set_desc *d, const char *name, size_t n)
{
	for (unsigned i = 0; i < d->set.nmembers; i++)
		if (strlen(d->set.members[i].name) == n &&
		    !memcmp(d->set.members[i].name, name, n))
			return (int)i;
	return -1;
}

/* user.class: the name of a folder, or of a class. */
static int class_of_text(const struct set_desc *d, const char *text, size_t n,
			 struct blob **ret_bytes, struct refusal *f)
{
	const struct dataset_info *in = dset_info(d->states[d->label]->dset);
	struct class_label label = { .text = label_is_text(in->type) };
	CLEANUP(freep) char *copy = strndup(text, n);
	const struct classes *c;
	STATE_REF(ref, d->ns);
	int r = copy ? state_get(d->ns, d->objects[d->member], &ref.st)
		     : -ENOMEM;

	if (r == 0)
		r = labels_classes(d->ns, ref.st, &c);
	if (r < 0)
		return r;
	label.name = copy;
	for (uint32_t i = 0; !label.text && i < c->shown; i++) {
		const struct class_folder *at = &c->folders[c->order[i]];

		if (strcmp(at->name, copy) != 0 &&
		    (!at->label || strcmp(at->label, copy) != 0))
			continue;
		label.number = at->number;
		return label_value(in, &label, ret_bytes, f);
	}
	if (!label.text && !text_is_integer(copy))
		return refusal_set(f, -EINVAL,
				   "the folders of D.by-class are the classes",
				   "there is no class %s", copy);
	label.number = label.text ? 0 : strtoll(copy, NULL, 10);
	return label_value(in, &label, ret_bytes, f);
}

static int value_of_text(const struct set_desc *d, unsigned member,
			 const char *text, size_t n, struct blob **ret_bytes,
			 struct refusal *f)
{
	const struct stage_member *m = &d->set.members[member];
	CLEANUP(array_freep) struct array *a = NULL;
	uint64_t dims[DT_MAX_RANK];
	unsigned rank = 0;
	const char *s;
	size_t len;
	int r;

	for (unsigned i = 0; i < m->rank; i++)
		if (i != m->axis)
			dims[rank++] = m->dims[i];
	r = value_parse(text, n, m->type, rank, dims, &a, f);
	if (r < 0)
		return r;
	if (m->type->class == DT_VLSTR && a->count == 1) {
		dtype_string(m->type, array_at(a, 0), &s, &len);
		return blob_from(s, len, ret_bytes);
	}
	*ret_bytes = blob_ref(a->data);
	return 0;
}

int row_set_text(struct ns *ns, const struct set_desc *d, uint64_t row,
		 const char *name, const char *text, size_t n,
		 struct refusal *f)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct stage_value v = { 0 };
	int at = find_member(d, name, strlen(name)), r;
	bool class = !strcmp(name, "class") && at < 0;

	if (at < 0 && (class || !strcmp(name, "label")))
		at = d->label;
	if (at < 0)
		return refusal_set(f, -EOPNOTSUPP,
				   "a staged file takes the values of its row: "
				   "getfattr -d shows those of a committed one",
				   "there is no member %s in its row set",
				   name);
	if (d->set.members[at].role > STAGE_LABEL ||
	    d->set.members[at].role < STAGE_VALUE)
		r = d->set.members[at].role == STAGE_NAME
			    ? value_of_text(d, (unsigned)at, text, n, &b, f)
			    : refusal_set(f, -EOPNOTSUPP,
					  "copy a file of it into its "
					  "directory",
					  "%s is not set by a text", name);
	else if (class)
		r = class_of_text(d, text, n, &b, f);
	else
		r = value_of_text(d, (unsigned)at, text, n, &b, f);
	if (r < 0)
		return r;
	v.member = (unsigned)at;
	v.bytes = b->data;
	v.size = b->size;
	return stage_set_value(ns->stage, row, &d->set, &v);
}

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
	at = find_member(d, dot + 1, n - (size_t)(dot + 1 - name));
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

	put_value(&v, s->member, blob_ref(a->rows));
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

/* What was refused is not there; what was taken is seen as it will be. */
static void tell_verdict(struct ns *ns, struct open_file *f)
{
	if (f->verdict < 0 && f->staged)
		(void)stage_drop(ns->stage, f->dir, f->name);
	if (f->verdict < 0)
		f->staged = false;
	if (f->is_replacement)
		ns_changed(ns, node_ino(f->replaces));
	else
		ns_changed_name(ns, f->at.parent, f->name);
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
	if (!f->is_replacement && name_is_held(f->name))
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
