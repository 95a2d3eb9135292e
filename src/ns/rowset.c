/* SPDX-License-Identifier: MIT */
/* rowset.c - the datasets of one group that hold a row for each sample: they
 * share the length of axis 0, and pictures, encoded images or labels are among
 * them, or they grow there. */
#include <stdio.h>

#include "ns_int.h"

static const char *const split_words[] = { "train", "test", "val", "valid",
					   "validation" };

/* Bit for each split word in the name: `train_x` and `test_x` stay apart. */
static unsigned splits_of(const char *name)
{
	unsigned bits = 0;
	const char *p = name;

	while (*p) {
		size_t n = 0;

		while ((p[n] >= 'a' && p[n] <= 'z') ||
		       (p[n] >= 'A' && p[n] <= 'Z'))
			n++;
		for (size_t i = 0; i < ARRAY_SIZE(split_words); i++)
			if (n == strlen(split_words[i]) &&
			    !strncasecmp(p, split_words[i], n))
				bits |= i >= 2 ? 4u : 1u << i;
		p += n ? n : 1;
	}
	return bits;
}

/* `names` may name the rows themselves: it is as long as they are. */
static bool lists_classes(const struct desc *d)
{
	if (d->kind != DESC_STRING || !strcmp(d->name, "names"))
		return false;
	for (const char *const *n = layout_class_name_lists; *n; n++)
		if (!strcmp(*n, d->name))
			return true;
	return false;
}

/* Axis 0 of pictures is that of the samples, or there are none. */
static bool has_rows(const struct object *o)
{
	const struct layout *l = o->layout;

	return l->kind == LAYOUT_NONE ||
	       (o->directory && l->nindex && l->index[0] == 0);
}

static bool grows(const struct desc *d)
{
	return d->chunk[0] && d->maxdims[0] > d->dims[0];
}

/* An empty dataset that grows may get its first row. */
static bool may_be_member(const struct object *o, const struct desc *d)
{
	const char *c = facts_text(&d->facts, "CLASS");

	return o->rank > 0 && (o->rows > 0 || grows(d)) &&
	       d->kind != DESC_NULL && !(c && !strcmp(c, "DIMENSION_SCALE")) &&
	       !lists_classes(d) && !facts_text(&d->facts, "MATLAB_class") &&
	       has_rows(o);
}

/* A length that makes a row set: samples, or labels, of that many rows. */
struct lead {
	uint64_t rows;
	unsigned splits;
};

static int by_lead(const void *pa, const void *pb)
{
	const struct lead *a = pa, *b = pb;

	if (a->rows != b->rows)
		return a->rows < b->rows ? -1 : 1;
	return a->splits < b->splits ? -1 : a->splits > b->splits;
}

bool rowset_same(const struct object *a, const struct object *b)
{
	return a->in_rows && b->in_rows && a->rows == b->rows &&
	       a->splits == b->splits;
}

static void join(struct object *o, const struct desc *d)
{
	o->row_member = o->rank <= 2;
	o->row_files =
		o->rank >= 3 && d->kind == DESC_NUMBER && o->rows < UINT32_MAX;
	if (o->row_files) {
		o->directory = true;
		o->count = o->rows;
	}
}

int rowset_find(struct object *g, struct group *grp)
{
	CLEANUP(freep) struct lead *leaders = NULL;
	size_t n = 0;

	if (g->gen->model)
		return 0;
	leaders = calloc(grp->dg.count + 1, sizeof(*leaders));
	if (!leaders)
		return -ENOMEM;
	for (size_t i = 0; i < grp->dg.count; i++) {
		const struct desc *d = &grp->dg.members[i];
		struct object *o = d->arg;

		o->grows = grows(d);
		o->splits = (uint8_t)splits_of(o->name);
		o->in_rows = may_be_member(o, d);
		o->leads_rows = o->in_rows && (o->layout->kind != LAYOUT_NONE ||
					       o->is_labels);
		if (o->leads_rows)
			leaders[n++] = (struct lead){ o->rows, o->splits };
	}
	if (n)
		qsort(leaders, n, sizeof(*leaders), by_lead);
	for (size_t i = 0; i < grp->dg.count; i++) {
		const struct desc *d = &grp->dg.members[i];
		struct object *o = d->arg;
		struct lead key = { o->rows, o->splits };

		if (o->layout->kind != LAYOUT_NONE || !o->in_rows)
			continue;
		if (o->grows ||
		    (n && bsearch(&key, leaders, n, sizeof(key), by_lead)))
			join(o, d);
	}
	return 0;
}
