/* SPDX-License-Identifier: MIT */
/* sorted.c - a treap: a search tree by key that is a heap by a number which
 * looks random, a hash of where the node lies, so that it stays balanced without
 * keeping anything (Seidel and Aragon, Randomized Search Trees, 1996). */
#include "sorted_int.h"

static uint64_t rank_of(const struct sorted_node *n)
{
	return hash_mix((uintptr_t)n, 0);
}

struct sorted_node *sorted_find(const struct sorted *s, const void *key)
{
	struct sorted_node *n = s->root;

	while (n) {
		int c = s->compare(key, n);

		if (c == 0)
			return n;
		n = c < 0 ? n->left : n->right;
	}
	return NULL;
}

/* The first node that is not before key, nor at it unless with_equal. */
static struct sorted_node *first_beyond(const struct sorted *s, const void *key,
					bool with_equal)
{
	struct sorted_node *n = s->root, *best = NULL;

	while (n) {
		int c = key ? s->compare(key, n) : -1;

		if (c < 0 || (c == 0 && with_equal)) {
			best = n;
			n = n->left;
		} else {
			n = n->right;
		}
	}
	return best;
}

struct sorted_node *sorted_from(const struct sorted *s, const void *key)
{
	return first_beyond(s, key, true);
}

struct sorted_node *sorted_after(const struct sorted *s, const void *key)
{
	return first_beyond(s, key, false);
}

/* What is at *at falls to both sides of the key. */
static void split(const struct sorted *s, const void *key,
		  struct sorted_node *from, struct sorted_node *to)
{
	struct sorted_node **left = &to->left, **right = &to->right;

	while (from) {
		if (s->compare(key, from) < 0) {
			*right = from;
			right = &from->left;
			from = from->left;
		} else {
			*left = from;
			left = &from->right;
			from = from->right;
		}
	}
	*left = *right = NULL;
}

void sorted_add(struct sorted *s, const void *key, struct sorted_node *n)
{
	struct sorted_node **at = &s->root;

	while (*at && rank_of(*at) >= rank_of(n))
		at = s->compare(key, *at) < 0 ? &(*at)->left : &(*at)->right;
	split(s, key, *at, n);
	*at = n;
}

static struct sorted_node *merge(struct sorted_node *left,
				 struct sorted_node *right)
{
	struct sorted_node *root, **at = &root;

	while (left && right) {
		if (rank_of(left) > rank_of(right)) {
			*at = left;
			at = &left->right;
			left = left->right;
		} else {
			*at = right;
			at = &right->left;
			right = right->left;
		}
	}
	*at = left ? left : right;
	return root;
}

void sorted_remove(struct sorted *s, const void *key)
{
	struct sorted_node **at = &s->root;

	while (*at) {
		int c = s->compare(key, *at);

		if (c == 0) {
			*at = merge((*at)->left, (*at)->right);
			return;
		}
		at = c < 0 ? &(*at)->left : &(*at)->right;
	}
}
