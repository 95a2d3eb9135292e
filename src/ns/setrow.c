/* SPDX-License-Identifier: MIT */
/* setrow.c - the values of a committed sample's row, changed as extended
 * attributes with -o edit: user.label, user.class, user.MEMBER. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "objects_int.h"
#include "write_int.h"
#include "xattr_int.h"

/* A value for one row of one dataset. */
struct row {
	uint32_t number; /* of the dataset's object */
	char *path;
	struct dset *dset;
	uint64_t index;
	struct array *value;
};

static void row_done(struct row *row)
{
	array_free(row->value);
	dset_unref(row->dset);
	free(row->path);
}

static int act_row(void *arg, struct writer *w, struct refusal *f)
{
	const struct row *row = arg;

	(void)f;
	return writer_overwrite(w, row->path, 0, row->index, row->value);
}

static int row_of(struct object *o, uint64_t index, struct row *row)
{
	row->number = o->number;
	row->index = index;
	row->path = object_path(o);
	return row->path ? open_dataset(o, &row->dset) : -ENOMEM;
}

/* One row: a scalar, or a vector. */
static int parse_row(struct row *row, const char *text, size_t n,
		     struct refusal *f)
{
	const struct dataset_info *in = dset_info(row->dset);
	int r = value_parse(text, n, in->type, in->rank - 1, in->dims + 1,
			    &row->value, f);

	if (r < 0)
		return r;
	memmove(row->value->dims + 1, row->value->dims,
		row->value->rank * sizeof(*row->value->dims));
	row->value->dims[0] = 1;
	row->value->rank++;
	return 0;
}

/* ---- labels ---- */

/* The number of a class by its name. */
static int class_number(struct ns *ns, struct object *o, struct dset *d,
			const char *text, size_t n, int64_t *ret_number,
			struct refusal *f)
{
	const struct class_names *names = NULL;
	STATE_REF(ref, ns);
	int r = state_get(ns, o, &ref.st);

	if (r == 0)
		r = class_names_get(ref.st, o, d, &names);
	if (r < 0 && r != -ENOENT)
		return r;
	for (uint32_t i = 0; r == 0 && i < names->count; i++)
		if (names->of[i] && strlen(names->of[i]) == n &&
		    !memcmp(names->of[i], text, n)) {
			*ret_number = i;
			return 0;
		}
	return refusal_set(f, -EINVAL,
			   "the folders of D.by-class are the classes; set "
			   "user.label to a number",
			   "there is no class %.*s", (int)n, text);
}

/* A number, or a class by its name, as the dataset holds it. */
static int parse_class(struct ns *ns, struct object *o, struct row *row,
		       const char *text, size_t n, struct refusal *f)
{
	const struct dataset_info *in = dset_info(row->dset);
	CLEANUP(blob_unrefp) struct blob *value = NULL;
	CLEANUP(freep) char *copy = strndup(text, n);
	struct class_label label = { .text = false };
	int r = copy ? 0 : -ENOMEM;

	if (r == 0 && text_is_integer(copy))
		label.number = strtoll(copy, NULL, 10);
	else if (r == 0)
		r = class_number(ns, o, row->dset, text, n, &label.number, f);
	if (r == 0)
		r = label_value(in, &label, &value, f);
	return r < 0 ? r
		     : row_array(in->type, in->rank, in->dims, 0, 1,
				 value->data, value->size, &row->value);
}

/* The sample leaves the class folder where the kernel may know it. */
static void tell_class(struct ns *ns, struct object *o, uint32_t row)
{
	const struct classes *c;
	char name[40];
	STATE_REF(ref, ns);

	if (state_get(ns, o, &ref.st) < 0 ||
	    labels_classes(ns, ref.st, &c) < 0 ||
	    sample_name(ns, o, row, false, name, sizeof(name)) < 0)
		return;
	for (uint32_t i = 0; i < c->count; i++)
		if (classes_has(c, i, row))
			ns_changed_name(ns,
					node_ino((struct node){ o->number,
								V_CLASS, i }),
					name);
}

static int find_label(struct ns *ns, const struct pin *p, const char *name,
		      const char *text, size_t n, struct row *row,
		      struct refusal *f)
{
	struct object *labels = labels_of(ns, p->object);
	uint64_t width;
	int r = labels ? group_is_ours(labels, f)
		       : refusal_set(f, -EOPNOTSUPP, "change them there",
				     "its labels lie in another file");

	if (r == 0)
		r = row_of(labels, p->node.index, row);
	if (r < 0)
		return r;
	width = label_width(dset_info(row->dset), p->object->count);
	if (label_is_text(dset_info(row->dset)->type) ||
	    (!strcmp(name, "label") && (width == 1 || *text == '[')))
		return parse_row(row, text, n, f);
	return parse_class(ns, p->object, row, text, n, f);
}

/* ---- members ---- */

static int find_member(const struct pin *p, const char *name, const char *text,
		       size_t n, struct row *row, struct refusal *f)
{
	uint32_t index;
	struct object *m = xattr_has_row(p, &index)
				   ? xattr_row_member(p->object, name)
				   : NULL;
	int r;

	if (!m)
		return refusal_set(f, -EOPNOTSUPP,
				   "set attributes of the dataset on its "
				   "directory",
				   "a sample has its row's values only, and "
				   "there is none called %s",
				   name);
	r = group_is_ours(m, f);
	if (r == 0)
		r = row_of(m, index, row);
	return r < 0 ? r : parse_row(row, text, n, f);
}

/* What is shown of the whole dataset has changed. */
static void tell_row(struct ns *ns, uint32_t number)
{
	CLEANUP(pin_done) struct pin p = { 0 };

	if (pin_get(ns, node_ino((struct node){ number, V_DIR, 0 }), &p) < 0)
		return;
	ns_changed_object(ns, p.object);
	ns_tell(ns);
}

int row_setxattr(struct ns *ns, const struct pin *p, const char *name,
		 const char *text, size_t n, int flags, struct refusal *f)
{
	CLEANUP(row_done) struct row row = { 0 };
	bool label = p->object->labelled &&
		     (!strcmp(name, "label") || !strcmp(name, "class"));
	uint32_t index;
	int r;

	if (!label &&
	    !(xattr_has_row(p, &index) && xattr_row_member(p->object, name)))
		return find_member(p, name, "", 0, &row, f);
	if (!text)
		return refusal_set(f, -EPERM, "set another value",
				   "a row has a value for each member");
	if (flags & XATTR_CREATE)
		return -EEXIST;
	if (ns->mode != NS_EDIT)
		return refusal_set(f, -EPERM, "mount with -o edit",
				   "what is committed is not changed");
	r = label ? find_label(ns, p, name, text, n, &row, f)
		  : find_member(p, name, text, n, &row, f);
	if (r < 0)
		return r;
	if (label)
		tell_class(ns, p->object, p->node.index);
	r = ns_transact(ns, row.path, act_row, &row);
	if (r == 0)
		tell_row(ns, row.number);
	return r;
}
