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

static bool may_be_member(const struct object *o, const struct desc *d)
{
	const char *c = facts_text(&d->facts, "CLASS");

	return o->rank > 0 && o->rows > 0 && d->kind != DESC_NULL &&
	       !(c && !strcmp(c, "DIMENSION_SCALE")) && !lists_classes(d) &&
	       !facts_text(&d->facts, "MATLAB_class");
}

static bool grows(const struct desc *d)
{
	return d->chunk[0] && d->maxdims[0] > d->dims[0];
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

static bool leads(const struct object *o)
{
	return o->rows && ((o->layout->kind != LAYOUT_NONE && o->directory) ||
			   o->is_labels);
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
		const struct object *o = grp->dg.members[i].arg;

		if (leads(o))
			leaders[n++] =
				(struct lead){ o->rows, splits_of(o->name) };
	}
	if (n)
		qsort(leaders, n, sizeof(*leaders), by_lead);
	for (size_t i = 0; i < grp->dg.count; i++) {
		const struct desc *d = &grp->dg.members[i];
		struct object *o = d->arg;
		struct lead key = { o->rows, 0 };

		if (o->layout->kind != LAYOUT_NONE || !may_be_member(o, d))
			continue;
		key.splits = splits_of(o->name);
		if (grows(d) ||
		    (n && bsearch(&key, leaders, n, sizeof(key), by_lead)))
			join(o, d);
	}
	return 0;
}
