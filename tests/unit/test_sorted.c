/* SPDX-License-Identifier: MIT */
/* test_sorted.c - nodes in order. */
#include "check.h"
#include "sorted_int.h"

struct item {
	struct sorted_node node;
	int key;
	bool there;
};

static int compare(const void *key, const struct sorted_node *n)
{
	int a = *(const int *)key, b = container_of(n, struct item, node)->key;

	return a < b ? -1 : a > b;
}

static struct item items[1000];
static struct sorted all = { .compare = compare };

static int key_of(const struct sorted_node *n)
{
	return n ? container_of(n, struct item, node)->key : -1;
}

static int next_there(int from)
{
	while (from < 1000 && !items[from].there)
		from++;
	return from < 1000 ? from : -1;
}

static void everything_agrees_with_an_array(void)
{
	unsigned dice = 7;

	for (int round = 0; round < 20000; round++) {
		struct item *x;

		dice = dice * 1103515245 + 12345;
		x = &items[(dice >> 16) % 1000];
		x->key = (int)(x - items);
		if (x->there)
			sorted_remove(&all, &x->key);
		else
			sorted_add(&all, &x->key, &x->node);
		x->there = !x->there;
		dice = dice * 1103515245 + 12345;
		x = &items[(dice >> 16) % 1000];
		x->key = (int)(x - items);
		if (key_of(sorted_find(&all, &x->key)) !=
			    (x->there ? x->key : -1) ||
		    key_of(sorted_from(&all, &x->key)) != next_there(x->key) ||
		    key_of(sorted_after(&all, &x->key)) !=
			    next_there(x->key + 1)) {
			CHECK(!"the same");
			return;
		}
	}
	CHECK_EQ(key_of(sorted_from(&all, NULL)), next_there(0));
}

static int depth(const struct sorted_node *n)
{
	int l, r;

	if (!n)
		return 0;
	l = depth(n->left);
	r = depth(n->right);
	return 1 + (l > r ? l : r);
}

static void what_comes_in_order_stays_balanced(void)
{
	CLEANUP(freep) struct item *many = calloc(100000, sizeof(*many));
	struct sorted s = { .compare = compare };

	for (int i = 0; i < 100000; i++) {
		many[i].key = i;
		sorted_add(&s, &i, &many[i].node);
	}
	CHECK(depth(s.root) < 80);
	CHECK_EQ(key_of(sorted_after(&s, &(int){ 4711 })), 4712);
}

static void an_empty_one_has_nothing(void)
{
	struct sorted s = { .compare = compare };
	int key = 3;

	CHECK(!sorted_find(&s, &key));
	CHECK(!sorted_from(&s, NULL));
	CHECK(!sorted_after(&s, &key));
	sorted_remove(&s, &key);
}

int main(void)
{
	RUN(everything_agrees_with_an_array);
	RUN(what_comes_in_order_stays_balanced);
	RUN(an_empty_one_has_nothing);
	return CHECK_RESULT();
}
