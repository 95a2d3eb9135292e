/* SPDX-License-Identifier: MIT */
/* rows_int.h - what rows.c and row_change.c share. */
#ifndef H5FS_ROWS_INT_H
#define H5FS_ROWS_INT_H

#include "stage_int.h"

/* Made when it is not there; NULL: no memory. */
struct dir *rows_get_dir(struct stage *s, const char *key);
int rows_get_word(struct stage *s, const char *text, const char **ret_word);

/* A row as p says, without files and values; not linked. */
int row_new(const struct put *p, struct row_set *set, struct row **ret);
void row_free(struct row *r);
void row_link(struct stage *s, struct row *r);
void row_rename(struct row *r, const char *class_name, char *stem);
int row_reserve_values(struct row *r, size_t more);
/* There is room for it. */
void row_set_value(struct row *r, struct value v);
void row_remove_value(struct row *r, uint32_t member);

struct file *file_new(const char *name);
void file_link(struct stage *s, struct file *f, struct dir *d, struct row *r);
void file_unlink(struct stage *s, struct file *f);
/* With its value; its row stays whatever is left of it. */
void rows_drop_file_only(struct stage *s, struct file *f);

#endif
