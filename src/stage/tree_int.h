/* SPDX-License-Identifier: MIT */
/* tree_int.h - what tree.c and tree_ops.c share. */
#ifndef H5FS_TREE_INT_H
#define H5FS_TREE_INT_H

#include "stage_int.h"

/* A part of a path. */
struct part {
	const char *text;
	size_t n;
};
/* Where a path leads among what is pending. */
struct spot {
	struct node *parent; /* NULL: none, and name is the whole path */
	struct part name;
	struct node *node; /* NULL: nothing there */
	bool busy;	   /* it, or something above, is being published */
};
/* -ENOENT: a directory above is not there; -ENOTDIR, -EINVAL. */
int tree_spot(const struct stage *s, const char *path, struct spot *ret);
struct node *tree_next_name(const struct node *n, const char *after);

struct node_record {
	const char *path;
	enum tree_kind kind;
	bool image;
	struct timespec mtime;
	const char *target;
	struct value value;
};
struct attr_record {
	const char *path, *name;
	bool set;
	struct value value;
};
int tree_apply_node(struct stage *s, const struct node_record *rec);
int tree_apply_attr(struct stage *s, const struct attr_record *rec);
int tree_apply_rename(struct stage *s, const char *from, const char *to);
/* Where the attribute is, or would be: they are in order of names. */
struct node_attr **tree_find_attr(struct node *n, const char *name);
void tree_record_node(struct strbuf *out, const struct node_record *rec);
void tree_record_attr(struct strbuf *out, const struct attr_record *rec);

#endif
