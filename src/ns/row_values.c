/* SPDX-License-Identifier: MIT */
/* row_values.c - what a row has beside the value of its file: label and name, and
 * what is set by a text. */
#include "write_int.h"

/* ---- label and name of a row ---- */

void row_values_done(struct row_values *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(v->blobs); i++)
		blob_unref(v->blobs[i]);
	memset(v, 0, sizeof(*v));
}

/* Takes the blob. */
void row_values_put(struct row_values *v, unsigned member, struct blob *b)
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
		row_values_put(v, (unsigned)d->name, b);
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
			row_values_put(v, (unsigned)d->label, b);
	}
	if (r == 0 && name && d->name >= 0)
		r = add_name(d, name, stem, v, f);
	return r;
}

/* ---- other members of a row ---- */

int set_member_named(const struct set_desc *d, const char *name, size_t n)
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

/* Of which member, and what it is in memory form. */
static int parse_text(const struct set_desc *d, const char *name,
		      const char *text, size_t n, unsigned *ret_member,
		      struct blob **ret_bytes, struct refusal *f)
{
	int at = set_member_named(d, name, strlen(name));
	bool class = at < 0 && !strcmp(name, "class");

	if (class || (at < 0 && !strcmp(name, "label")))
		at = d->label;
	if (at < 0)
		return refusal_set(f, -EOPNOTSUPP,
				   "a staged file takes the values of its row: "
				   "getfattr -d shows those of a committed one",
				   "there is no member %s in its row set",
				   name);
	*ret_member = (unsigned)at;
	if (class)
		return class_of_text(d, text, n, ret_bytes, f);
	if (d->set.members[at].role < STAGE_VALUE)
		return refusal_set(f, -EOPNOTSUPP,
				   "copy a file of it into its directory",
				   "%s is not set by a text", name);
	return value_of_text(d, (unsigned)at, text, n, ret_bytes, f);
}

int row_check_text(const struct set_desc *d, const char *name, const char *text,
		   size_t n, struct refusal *f)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	unsigned member;

	return parse_text(d, name, text, n, &member, &b, f);
}

int row_set_text(struct ns *ns, const struct set_desc *d, uint64_t row,
		 const char *name, const char *text, size_t n,
		 struct refusal *f)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct stage_value v = { 0 };
	int r = parse_text(d, name, text, n, &v.member, &b, f);

	if (r < 0)
		return r;
	v.bytes = b->data;
	v.size = b->size;
	return stage_set_value(ns->stage, row, &d->set, &v);
}
