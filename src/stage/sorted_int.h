/* SPDX-License-Identifier: MIT */
/* sorted_int.h - nodes in order, found by key: one more of them, one less, the
 * next after a key, each in O(log n). The node lies in what is sorted. */
#ifndef H5FS_SORTED_INT_H
#define H5FS_SORTED_INT_H

#include "h5fs/base.h"

struct sorted_node {
	struct sorted_node *left, *right;
};
struct sorted {
	struct sorted_node *root;
	int (*compare)(const void *key, const struct sorted_node *n);
};
struct sorted_node *sorted_find(const struct sorted *s, const void *key);
/* The first at or after key; NULL: none. key NULL: the first of all. */
struct sorted_node *sorted_from(const struct sorted *s, const void *key);
/* The first after key. */
struct sorted_node *sorted_after(const struct sorted *s, const void *key);
/* key is n's, and not there yet. */
void sorted_add(struct sorted *s, const void *key, struct sorted_node *n);
void sorted_remove(struct sorted *s, const void *key);

#define container_of(p, type, member)                                          \
	((type *)((char *)(p)-offsetof(type, member)))

#endif
