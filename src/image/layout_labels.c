/* SPDX-License-Identifier: MIT */
/* layout_labels.c - which sibling holds the classes of a set of pictures, by
 * names and shapes alone. Whether the values are classes is seen when they are
 * read. */
#include "image_int.h"

/* More columns than this are no one-hot classes. */
#define ONEHOT_MAX 100000

/* (N), (N,1,...) or (N,K): numbers; (N): texts. */
static bool has_label_shape(const struct desc *d)
{
	if (d->kind == DESC_STRING)
		return d->rank == 1;
	if (d->kind != DESC_NUMBER || d->sub == SUB_COMPOUND ||
	    d->num_size > 8)
		return false;
	if (d->rank == 2 && d->dims[1] >= 2)
		return d->dims[1] <= ONEHOT_MAX;
	for (unsigned i = 1; i < d->rank; i++)
		if (d->dims[i] != 1)
			return false;
	return true;
}

static bool is_label_set(const struct desc_group *g, size_t i, uint64_t count)
{
	const struct desc *d = &g->members[i];
	uint32_t words;

	if (d->rank == 0 || d->dims[0] != count || !has_label_shape(d) ||
	    (g->layouts && g->layouts[i].kind != LAYOUT_NONE))
		return false;
	words = name_words(d->name);
	return words & W_LABEL && !(words & W_LIST);
}

/* train_set_y stands beside train_set_x; a bare `labels` beside anything. */
static bool name_fits(const char *set, const char *label, bool exact)
{
	bool equal = name_rest_equal(set, label);

	return exact ? equal : !equal && !name_has_rest(label);
}

size_t layout_label_candidates(const struct desc_group *g, size_t set,
			       uint64_t count, size_t *ret_members, size_t max)
{
	const char *name = g->members[set].name;
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < g->count && n < max; i++)
			if (i != set && is_label_set(g, i, count) &&
			    name_fits(name, g->members[i].name, pass == 0))
				ret_members[n++] = i;
	return n;
}
