/* SPDX-License-Identifier: MIT */
/* extents.c - which bytes of FILE lie where in the log: disjoint ranges in a
 * treap (a search tree by address that random priorities keep shallow). */
#include "journal_int.h"

struct extent_node {
	struct extent e; /* first: extents_find() hands it out */
	uint32_t priority;
	struct extent_node *left, *right;
};

static uint64_t end_of(const struct extent_node *n)
{
	return n->e.addr + n->e.len;
}

/* Below key to the left, the rest to the right. */
static void split(struct extent_node *t, uint64_t key, struct extent_node **l,
		  struct extent_node **r)
{
	if (!t) {
		*l = *r = NULL;
	} else if (t->e.addr < key) {
		split(t->right, key, &t->right, r);
		*l = t;
	} else {
		split(t->left, key, l, &t->left);
		*r = t;
	}
}

static struct extent_node *merge(struct extent_node *l, struct extent_node *r)
{
	if (!l || !r)
		return l ? l : r;
	if (l->priority > r->priority) {
		l->right = merge(l->right, r);
		return l;
	}
	r->left = merge(l, r->left);
	return r;
}

static void free_all(struct extent_node *t)
{
	if (!t)
		return;
	free_all(t->left);
	free_all(t->right);
	free(t);
}

static struct extent_node *last(struct extent_node *t)
{
	while (t && t->right)
		t = t->right;
	return t;
}

/* Cuts what of n lies behind addr off; into *rest what lies behind end. */
static void cut(struct extent_node *n, uint64_t addr, uint64_t end,
		struct extent *rest)
{
	if (!n || end_of(n) <= addr)
		return;
	if (end_of(n) > end)
		*rest = (struct extent){ end, end_of(n) - end,
					 n->e.at + (end - n->e.addr) };
	if (n->e.addr < addr)
		n->e.len = addr - n->e.addr;
}

static struct extent_node *new_node(struct extents *e)
{
	struct extent_node *n = calloc(1, sizeof(*n));

	e->dice = e->dice * 1664525u + 1013904223u;
	if (n)
		n->priority = e->dice;
	return n;
}

int extents_put(struct extents *e, uint64_t addr, uint64_t len, uint64_t at)
{
	CLEANUP(freep) struct extent_node *node = new_node(e);
	CLEANUP(freep) struct extent_node *behind = new_node(e);
	struct extent_node *l, *middle, *r;
	struct extent rest = { 0 };

	if (!node || !behind)
		return -ENOMEM;
	split(e->root, addr, &l, &r);
	cut(last(l), addr, addr + len, &rest);
	split(r, addr + len, &middle, &r);
	cut(last(middle), addr, addr + len, &rest);
	free_all(middle);
	node->e = (struct extent){ addr, len, at };
	l = merge(l, TAKE(node));
	if (rest.len) {
		behind->e = rest;
		l = merge(l, TAKE(behind));
	}
	e->root = merge(l, r);
	return 0;
}

const struct extent *extents_find(const struct extents *e, uint64_t addr)
{
	const struct extent_node *n = e->root, *best = NULL;

	while (n) {
		if (end_of(n) > addr) {
			best = n;
			n = n->left;
		} else {
			n = n->right;
		}
	}
	return best ? &best->e : NULL;
}

void extents_done(struct extents *e)
{
	free_all(e->root);
	e->root = NULL;
}
