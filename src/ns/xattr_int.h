/* SPDX-License-Identifier: MIT */
/* xattr_int.h - shared by the files that read and set attributes. */
#ifndef H5FS_XATTR_INT_H
#define H5FS_XATTR_INT_H

#include "ns_int.h"

/* The attributes of the object itself. */
struct attr_names {
	struct strbuf list; /* those that fit, as xattrs */
	bool more;	    /* some are too large, too long or too many */
	bool done;
};
struct fact_arg {
	struct ns *ns;
	const struct pin *p;
	struct state *st; /* datasets */
	struct view_source src;
	struct attr_names attrs; /* see find_attrs() */
};
int find_attrs(struct fact_arg *a);
/* -ENODATA: the object has no such fact. */
typedef int (*fact_fn)(struct fact_arg *a, struct strbuf *out);

#define FACTS_COUNT 13
struct fact_row {
	const char *name;
	fact_fn get;
	/* Where it looks at data: is it there? NULL: if it can be got. */
	bool (*there)(const struct fact_arg *a);
};
extern const struct fact_row facts[FACTS_COUNT];
bool is_fact(const char *attr);		      /* "h5fs.rule" */
bool fact_is_shown(const struct fact_arg *a); /* as pictures, or encoded */
int fact_arg_init(struct ns *ns, const struct pin *p, struct state_ref *ref,
		  struct fact_arg *a);
void fact_arg_done(struct fact_arg *a);
static inline bool is_sample(const struct pin *p)
{
	return p->node.view == V_SAMPLE;
}

/* ---- xattr.c ---- */
/* Does the node stand for an object with attributes? */
bool xattr_carries(const struct pin *p);
/* Members of the row set of o with one value or a vector a row. */
struct object *xattr_row_member(const struct object *o, const char *name);
/* The row of a sample: index axis 0 is the stored axis 0. */
bool xattr_has_row(const struct pin *p, uint32_t *ret_row);

/* ---- setrow.c ---- */
/* text NULL: to be removed. */
int row_setxattr(struct ns *ns, const struct pin *p, const char *name,
		 const char *text, size_t n, int flags, struct refusal *f);

#endif
