/* SPDX-License-Identifier: MIT */
/* setrow.c - the values of a committed sample's row, changed as extended
 * attributes with -o edit: user.label, user.class, user.MEMBER. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "labels_int.h"
#include "objects_int.h"
#include "xattr_int.h"

/* A value for one row of one dataset. */
struct row {
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

static int label_path(const struct object *o, char **ret_path,
		      struct refusal *f)
{
	const char *user =
		o->rules && o->rules->labels ? o->rules->labels->value : NULL;

	if (user && strchr(user, ':'))
		return refusal_set(f, -EOPNOTSUPP, "change them in that file",
				   "the labels lie in another file");
	*ret_path = !user	   ? object_path(o->labels)
		    : *user == '/' ? strdup(user)
				   : child_path(o->parent, user);
	return *ret_path ? 0 : -ENOMEM;
}

/* The number of a class by its name. */
static int class_number(struct ns *ns, struct object *o, struct dset *d,
			const char *text, size_t n, uint64_t *ret_number,
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

static void put_onehot(uint64_t number, uint64_t width, struct strbuf *out)
{
	for (uint64_t i = 0; i < width; i++)
		strbuf_printf(out, "%c%d", i ? ',' : '[', i == number);
	strbuf_putc(out, ']');
}

/* The label as the dataset holds it: itself, or one-hot. */
static int label_text(struct ns *ns, struct object *o, struct dset *d,
		      bool is_class, const char *text, size_t n,
		      struct strbuf *out, struct refusal *f)
{
	uint64_t width = label_width(dset_info(d), o->count), number;
	CLEANUP(freep) char *copy = strndup(text, n);
	int r = copy ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	if (label_is_text(dset_info(d)->type) ||
	    (!is_class && (width == 1 || *copy == '['))) {
		strbuf_put(out, text, n);
		return strbuf_error(out);
	}
	if (text_is_integer(copy) && *copy != '-')
		number = strtoull(copy, NULL, 10);
	else
		r = class_number(ns, o, d, text, n, &number, f);
	if (r == 0 && width > 1 && number >= width)
		r = refusal_set(f, -EINVAL, "choose a class that it has",
				"there are %" PRIu64 " classes", width);
	if (r < 0)
		return r;
	if (width > 1)
		put_onehot(number, width, out);
	else
		strbuf_printf(out, "%" PRIu64, number);
	return strbuf_error(out);
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
	CLEANUP(strbuf_done) struct strbuf label = STRBUF_INIT;
	int r = label_open(ns, p->object, &row->dset);

	if (r == 0)
		r = label_path(p->object, &row->path, f);
	if (r == 0)
		r = label_text(ns, p->object, row->dset, !strcmp(name, "class"),
			       text, n, &label, f);
	if (r == 0)
		r = parse_row(row, label.buf ? label.buf : "", label.len, f);
	row->index = p->node.index;
	return r;
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
		r = open_dataset(m, &row->dset);
	if (r < 0)
		return r;
	row->path = object_path(m);
	row->index = index;
	return row->path ? parse_row(row, text, n, f) : -ENOMEM;
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
	return ns_transact(ns, row.path, act_row, &row);
}
