/* SPDX-License-Identifier: MIT */
/* labels_int.h - shared by the files that read labels. */
#ifndef H5FS_LABELS_INT_H
#define H5FS_LABELS_INT_H

#include "ns_int.h"

#define MAX_CLASSES (1u << 20)

/* ---- labels.c ---- */
bool label_is_text(const struct dtype *t);
/* Values a row; 0: not a label dataset of n rows. */
uint64_t label_width(const struct dataset_info *in, uint64_t n);
int label_rows(struct dset *d, uint64_t from, uint64_t n, struct array **ret);
/* Row k of an array of labels as a number. False: it is no class. */
bool label_number(const struct array *a, uint64_t k, uint64_t width,
		  int64_t *ret);
/* The label dataset of a set. -ENOENT: it has none. */
int label_open(struct ns *ns, struct object *o, struct dset **ret);
bool text_is_integer(const char *s);
/* Decimal, padded with zeros to width digits. */
void put_label_number(struct strbuf *out, long long v, int width);

/* ---- class_names.c ---- */
struct class_names { /* of labels 0 .. count-1; NULL: no name */
	uint32_t count;
	char **of;
};
void class_names_done(struct class_names *n);
/* Where they are declared; no path: by the type of the labels. */
struct names_source {
	struct obj_id id;
	char *path;
	const char *attr; /* NULL: they are a dataset's elements */
};
void names_source_done(struct names_source *at);
/* Declared names for the labels of a set. -ENOENT: there are none. at may be
 * NULL. */
int class_names_find(struct object *o, struct dset *labels,
		     struct class_names *n, struct names_source *at);
/* The same, found once and kept with the state. */
int class_names_get(struct state *st, struct object *o, struct dset *d,
		    const struct class_names **ret);

#endif
