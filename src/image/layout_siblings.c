/* SPDX-License-Identifier: MIT */
/* layout_siblings.c - what the datasets of one group prove of each other, and
 * rule S7: companions of pictures. */
#include "image_int.h"

static int key_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	for (int i = 0; i < 4; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static void keyset_add(struct keyset *set, uint64_t a, uint64_t b, uint64_t c,
		       uint64_t d)
{
	uint64_t *key = set->keys[set->count++];

	key[0] = a;
	key[1] = b;
	key[2] = c;
	key[3] = d;
}

static int keyset_alloc(struct keyset *set, size_t max)
{
	set->count = 0;
	set->keys = calloc(max ? max : 1, sizeof(*set->keys));
	return set->keys ? 0 : -ENOMEM;
}

static void keyset_sort(struct keyset *set)
{
	qsort(set->keys, set->count, sizeof(*set->keys), key_compare);
}

/* First position whose key is not below (above: not below or equal to) key. */
static size_t keyset_bound(const struct keyset *set, const uint64_t key[4],
			   bool above)
{
	size_t lo = 0, hi = set->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = key_compare(set->keys[mid], key);

		if (c < 0 || (above && c == 0))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t keyset_count(const struct keyset *set, const uint64_t key[4])
{
	return keyset_bound(set, key, true) - keyset_bound(set, key, false);
}

bool siblings_have_stack(const struct siblings *s, uint64_t n, uint64_t h,
			 uint64_t w)
{
	return keyset_count(&s->stacks, (uint64_t[4]){ n, h, w, 0 }) ||
	       keyset_count(&s->stacks, (uint64_t[4]){ n, w, h, 0 });
}

static bool rest_is_one(const struct desc *d)
{
	for (unsigned i = 1; i < d->rank; i++)
		if (d->dims[i] != 1)
			return false;
	return true;
}

static void add_member(struct siblings *s, const struct desc *d, uint32_t words)
{
	const uint64_t *n = d->dims;

	if (d->kind != DESC_NUMBER)
		return;
	if (d->rank && n[0] && words & W_LABEL && !desc_is_float(d) &&
	    rest_is_one(d))
		keyset_add(&s->labels, n[0], 0, 0, 0);
	if (d->rank >= 4) {
		keyset_add(&s->stacks, n[0], n[1], n[2], 0);
		keyset_add(&s->stacks, n[0], n[2], n[3], 0);
	}
	if (d->rank == 3 && desc_is_float(d) && words & W_POINTS &&
	    (n[2] == 3 || n[2] == 6 || n[2] == 9))
		keyset_add(&s->points, n[0], n[1], 0, 0);
}

int siblings_init(struct siblings *s, const struct desc_group *g)
{
	*s = (struct siblings){ 0 };
	s->words = calloc(g->count ? g->count : 1, sizeof(*s->words));
	if (!s->words || keyset_alloc(&s->labels, g->count) < 0 ||
	    keyset_alloc(&s->stacks, g->count * 2) < 0 ||
	    keyset_alloc(&s->points, g->count) < 0) {
		siblings_done(s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < g->count; i++) {
		s->words[i] = name_words(g->members[i].name);
		add_member(s, &g->members[i], s->words[i]);
	}
	keyset_sort(&s->labels);
	keyset_sort(&s->stacks);
	keyset_sort(&s->points);
	return 0;
}

void siblings_done(struct siblings *s)
{
	free(s->words);
	free(s->labels.keys);
	free(s->stacks.keys);
	free(s->points.keys);
	free(s->pictures.keys);
	*s = (struct siblings){ 0 };
}

/* Only pictures that structure or a program's profile told, whole, with rows
 * and columns as stored, vouch for others. */
static void add_pictures(struct keyset *set, const struct desc_group *g)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct layout *l = &g->layouts[i];
		const uint64_t *n = g->members[i].dims;
		uint64_t h, w;

		if (l->kind != LAYOUT_PICTURES || l->companion || l->y < 0 ||
		    (l->rule[0] != 'S' && l->rule[0] != 'P') ||
		    !strncmp(l->rule, "P1", 2))
			continue;
		h = n[l->transposed ? l->x : l->y];
		w = n[l->transposed ? l->y : l->x];
		if (min_u64(h, w) < 8)
			continue;
		if (!l->nindex)
			keyset_add(set, 0, 0, h, w);
		else if (l->nindex == 1 && l->index[0] == 0)
			keyset_add(set, 1, n[0], h, w);
	}
}

int siblings_add_pictures(struct siblings *s, const struct desc_group *g)
{
	const struct desc_group *up = g->parent;
	uint32_t words = g->name ? name_words(g->name) : 0;
	int r;

	if (!up || !up->layouts || !(words & (W_LABEL | W_MASK)))
		up = NULL;
	r = keyset_alloc(&s->pictures, g->count + (up ? up->count : 0));
	if (r < 0)
		return r;
	add_pictures(&s->pictures, g);
	if (up)
		add_pictures(&s->pictures, up);
	keyset_sort(&s->pictures);
	return 0;
}

static bool has_picture(const struct question *q, uint64_t indexed, uint64_t n,
			uint64_t h, uint64_t w)
{
	return keyset_count(&q->siblings->pictures,
			    (uint64_t[4]){ indexed, n, h, w });
}

enum verdict fit_s7_companion(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	const uint64_t *s = d->dims;

	l->companion = true;
	if (d->rank == 2 && !(q->words & W_MATRIX) &&
	    has_picture(q, 0, 0, s[0], s[1]))
		return layout_set(l, d, 0, 1, -1, "HW");
	if (d->rank == 3 && (s[2] == 1 || s[2] == 3) && !(q->words & W_CLOUD) &&
	    has_picture(q, 0, 0, s[0], s[1]))
		return layout_set(l, d, 0, 1, 2, "HWC");
	if (d->rank == 3 && s[0] && has_picture(q, 1, s[0], s[1], s[2]))
		return layout_set(l, d, 1, 2, -1, "NHW");
	if (d->rank == 4 && s[3] == 1 && has_picture(q, 1, s[0], s[1], s[2]))
		return layout_set(l, d, 1, 2, 3, "NHWC");
	return V_PASS;
}
