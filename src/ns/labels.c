/* SPDX-License-Identifier: MIT */
/* labels.c - which dataset labels a set, and the label of one sample.
 *
 * A label dataset is found by names and shapes when its group is loaded; of its
 * values only the first are looked at then. */
#include <math.h>
#include <stdio.h>

#include "labels_int.h"

#define PROBE_ROWS 64

/* ---- reading labels ---- */

/* Row k of an array of labels as a number. False: it is no class. */
bool label_number(const struct array *a, uint64_t k, uint64_t width,
		  int64_t *ret)
{
	const struct dtype *t = dtype_strip_enum(a->type);
	uint64_t one = width;

	if (width == 1) {
		double v;

		if (t->class != DT_FLOAT) {
			*ret = dtype_to_int64(a->type, array_at(a, k));
			return true;
		}
		v = dtype_to_double(a->type, array_at(a, k));
		if (!isfinite(v) || v != floor(v) || fabs(v) > 1e15)
			return false;
		*ret = (int64_t)v;
		return true;
	}
	for (uint64_t i = 0; i < width; i++) { /* one-hot */
		double v = dtype_to_double(a->type, array_at(a, k * width + i));

		if (v != 0 && v != 1)
			return false;
		if (v == 1 && one != width)
			return false;
		if (v == 1)
			one = i;
	}
	if (one == width)
		return false;
	*ret = (int64_t)one;
	return true;
}

bool label_is_text(const struct dtype *t)
{
	return t->class == DT_STRING || t->class == DT_VLSTR;
}

/* Values a row; 0: not a label dataset of n rows. */
uint64_t label_width(const struct dataset_info *in, uint64_t n)
{
	uint64_t width = 1;

	if (in->null || in->rank < 1 || in->dims[0] != n)
		return 0;
	for (unsigned i = 1; i < in->rank; i++)
		if (mul_overflow(width, in->dims[i], &width))
			return 0;
	if (width == 0 || width > 100000 || (width > 1 && in->rank != 2))
		return 0;
	if (label_is_text(in->type))
		return in->rank == 1 ? 1 : 0;
	return dtype_is_number(in->type) ? width : 0;
}

int label_rows(struct dset *d, uint64_t from, uint64_t n, struct array **ret)
{
	const struct dataset_info *in = dset_info(d);
	uint64_t start[DT_MAX_RANK] = { from }, count[DT_MAX_RANK] = { n };

	for (unsigned i = 1; i < in->rank; i++)
		count[i] = in->dims[i];
	return dset_read_cells(d, start, count, ret);
}

/* The first rows: is it one-hot, are they whole numbers? 1: yes. */
static int probe_labels(struct dset *d, uint64_t n)
{
	const struct dataset_info *in = dset_info(d);
	uint64_t width = label_width(in, n),
		 k = n < PROBE_ROWS ? n : PROBE_ROWS;
	CLEANUP(array_freep) struct array *a = NULL;
	int64_t v;
	int r;

	if (!width || n == 0) /* an empty stack has its declared classes */
		return width != 0;
	r = label_rows(d, 0, k, &a);
	if (r < 0 || label_is_text(in->type))
		return r < 0 ? r : 1;
	for (uint64_t i = 0; i < k; i++)
		if (!label_number(a, i, width, &v))
			return 0;
	return 1;
}

/* ---- finding the label dataset ---- */

/* labels=PATH:[FILE:]LABELS. */
static int open_user_labels(struct ns *ns, struct object *o,
			    const struct ns_rule *rule, struct dset **ret)
{
	const char *colon = strchr(rule->value, ':');
	struct store *store = o->gen->store;
	struct obj_id base = o->parent->info.id;
	struct obj_info info;
	int r;

	for (size_t i = 0; colon && i < o->gen->nlabel_stores; i++)
		if (strlen(o->gen->label_stores[i].file) ==
			    (size_t)(colon - rule->value) &&
		    !strncmp(o->gen->label_stores[i].file, rule->value,
			     (size_t)(colon - rule->value)))
			store = o->gen->label_stores[i].store;
	if (colon) {
		r = store_root(store, &info);
		if (r < 0)
			return r;
		base = info.id;
	}
	r = store_resolve(store, base, colon ? colon + 1 : rule->value, &info);
	if (r < 0)
		return r;
	return info.kind == OBJ_DATASET
		       ? dset_open(store, info.id, rule->value, ret)
		       : -ENOENT;
}

int label_open(struct ns *ns, struct object *o, struct dset **ret)
{
	if (o->rules && o->rules->labels)
		return open_user_labels(ns, o, o->rules->labels, ret);
	return o->labels ? open_dataset(o->labels, ret) : -ENOENT;
}

static void find_for(struct ns *ns, struct group *grp, size_t i,
		     struct object *o)
{
	size_t found[8], n;

	if (o->rules && o->rules->labels) {
		CLEANUP(dset_unrefp) struct dset *d = NULL;

		int r = label_open(ns, o, &d);

		if (r == 0)
			r = probe_labels(d, o->count);
		if (r < 0 && !is_damage(r))
			o->gen->moment = r;
		o->labelled = r > 0;
		if (!o->labelled)
			faults_add(
				ns->faults, grp->dg.members[i].path,
				"labels= names no dataset with a label for each "
				"sample",
				"check its path and its length");
		return;
	}
	n = layout_label_candidates(&grp->dg, i, o->count, found,
				    ARRAY_SIZE(found));
	for (size_t k = 0; k < n && !o->labelled; k++) {
		CLEANUP(dset_unrefp) struct dset *d = NULL;
		struct object *labels = grp->dg.members[found[k]].arg;

		int r = open_dataset(labels, &d);

		if (r == 0)
			r = probe_labels(d, o->count);
		if (r < 0 && !is_damage(r))
			o->gen->moment = r; /* decided by another try */
		if (r <= 0)
			continue;
		o->labels = labels;
		labels->is_labels = true;
		o->labelled = true;
	}
}

void labels_find(struct ns *ns, struct group *grp)
{
	for (size_t i = 0; i < grp->dg.count; i++) {
		struct object *o = grp->dg.members[i].arg;

		if (o->layout->kind == LAYOUT_NONE || !o->directory ||
		    o->layout->nindex != 1)
			continue;
		find_for(ns, grp, i, o);
	}
}

/* ---- the label of one sample ---- */

bool text_is_integer(const char *s)
{
	if (*s == '-')
		s++;
	if (!*s)
		return false;
	for (; *s; s++)
		if (*s < '0' || *s > '9')
			return false;
	return true;
}

void put_label_number(struct strbuf *out, long long v, int width)
{
	strbuf_printf(out, "%s%0*llu", v < 0 ? "-" : "", width,
		      v < 0 ? -(unsigned long long)v : (unsigned long long)v);
}

/* The class of one label, without looking at the other rows. */
static int class_of(struct ns *ns, struct object *o, struct dset *d,
		    const struct array *a, struct strbuf *out)
{
	uint64_t width = label_width(dset_info(d), o->count);
	const struct class_names *names = NULL;
	STATE_REF(ref, ns);
	int64_t v;
	int r;

	if (label_is_text(a->type))
		return text_of_array(a, out);
	if (!width || !label_number(a, 0, width, &v))
		return -ENODATA;
	r = state_get(ns, o, &ref.st);
	if (r == 0)
		r = class_names_get(ref.st, o, d, &names);
	if (r < 0)
		return r;
	if (v >= 0 && (uint64_t)v < names->count && names->of[v])
		strbuf_puts(out, names->of[v]);
	else
		put_label_number(out, v, 1);
	return strbuf_error(out);
}

int labels_of_row(struct ns *ns, struct object *o, uint32_t index,
		  struct strbuf *label, struct strbuf *class_name)
{
	CLEANUP(array_freep) struct array *a = NULL;
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	int r = o->labelled ? label_open(ns, o, &d) : -ENODATA;

	if (r == 0)
		r = label_rows(d, index, 1, &a);
	if (r < 0)
		return r == -ENOENT ? -ENODATA : r;
	if (a->count == 1)
		a->rank = 0; /* a scalar, in its text form */
	if (a->rank == 2)
		a->rank = 1, a->dims[0] = a->dims[1]; /* one row */
	if (label)
		r = text_of_array(a, label);
	if (r == 0 && class_name)
		r = class_of(ns, o, d, a, class_name);
	return r;
}
