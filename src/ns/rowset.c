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

static bool lists_classes(const struct desc *d)
{
	if (d->kind != DESC_STRING)
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

/* Does it make a row set of the datasets of its length? */
static bool leads(const struct group *grp, const struct object *o)
{
	if (o->layout->kind != LAYOUT_NONE && o->directory)
		return true;
	for (size_t i = 0; i < grp->nchildren; i++)
		if (grp->children[i].object &&
		    grp->children[i].object->labels == o)
			return true;
	return false;
}

void rowset_find(struct ns *ns, struct object *g, struct group *grp)
{
	(void)ns;
	if (g->gen->model)
		return;
	for (size_t i = 0; i < grp->dg.count; i++) {
		const struct desc *d = &grp->dg.members[i];
		struct object *o = d->arg;
		bool in = grows(d);

		if (!may_be_member(o, d))
			continue;
		for (size_t k = 0; k < grp->dg.count && !in; k++) {
			struct object *other = grp->dg.members[k].arg;

			in = other->rows == o->rows && leads(grp, other) &&
			     splits_of(other->name) == splits_of(o->name);
		}
		if (!in || o->layout->kind != LAYOUT_NONE)
			continue;
		o->row_member = o->rank <= 2;
		o->row_files = o->rank >= 3 && d->kind == DESC_NUMBER &&
			       o->rows < UINT32_MAX;
		if (o->row_files) {
			o->directory = true;
			o->count = o->rows;
		}
	}
}
