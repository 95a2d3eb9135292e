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
	if (d->kind != DESC_NUMBER || d->sub == SUB_COMPOUND || d->num_size > 8)
		return false;
	if (d->rank == 2 && d->dims[1] >= 2)
		return d->dims[1] <= ONEHOT_MAX;
	for (unsigned i = 1; i < d->rank; i++)
		if (d->dims[i] != 1)
			return false;
	return true;
}

static bool is_label_set(const struct desc_group *g, size_t i)
{
	const struct desc *d = &g->members[i];
	uint32_t words;

	if (d->rank == 0 || !has_label_shape(d) ||
	    g->layouts[i].kind != LAYOUT_NONE)
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

/* Labels are found through their length and what they are called beside being
 * labels: a group may hold as many of them as sets. */
enum chain { CHAIN_EXACT, CHAIN_BARE };

static size_t slot_of(const struct desc_group *g, const char *name,
		      uint32_t skip, uint64_t count, enum chain which)
{
	uint64_t key = which == CHAIN_EXACT ? name_rest_key(name, skip) : 0;

	return hash_mix(key, count) % g->count;
}

static void enchain(struct desc_group *g, size_t i, enum chain which)
{
	struct desc *d = &g->members[i];
	size_t slot = slot_of(g, d->name, W_LABEL, d->dims[0], which);
	uint32_t *head = &g->members[slot].label_chains[which].head;

	d->label_chains[which].next = *head;
	*head = (uint32_t)i + 1;
}

void labels_index(struct desc_group *g)
{
	for (size_t i = 0; i < g->count; i++)
		memset(g->members[i].label_chains, 0,
		       sizeof(g->members[i].label_chains));
	for (size_t i = g->count; i-- > 0;) { /* chains are in order */
		if (!is_label_set(g, i))
			continue;
		enchain(g, i, CHAIN_EXACT);
		if (!name_has_rest(g->members[i].name))
			enchain(g, i, CHAIN_BARE);
	}
}

size_t layout_label_candidates(const struct desc_group *g, size_t set,
			       uint64_t count, size_t *ret_members, size_t max)
{
	const char *name = g->members[set].name;
	size_t n = 0;

	for (int which = CHAIN_EXACT; which <= CHAIN_BARE; which++) {
		size_t slot = slot_of(g, name, W_SET, count, which);
		uint32_t i = g->members[slot].label_chains[which].head;

		while (i && n < max) {
			const struct desc *d = &g->members[--i];

			if (i != set && d->dims[0] == count &&
			    name_fits(name, d->name, which == CHAIN_EXACT))
				ret_members[n++] = i;
			i = d->label_chains[which].next;
		}
	}
	return n;
}
