/* SPDX-License-Identifier: MIT */
/* commit_int.h - what choose.c and commit.c share. */
#ifndef H5FS_COMMIT_INT_H
#define H5FS_COMMIT_INT_H

#include "stage_int.h"

/* What is committed of one set. */
struct commit_set {
	const struct stage_set *given;
	struct row_set *set;
	uint32_t *members; /* of given->members, in set */
	struct pick *picks;
	size_t npicks, cap;
	uint64_t count; /* rows of FILE */
};
struct commit {
	struct stage *s;
	struct writer *w;
	enum stage_commit_kind kind;
	struct commit_set *sets;
	size_t nsets;
	const struct stage_attr *attrs;
	size_t nattrs;
	uint64_t count;
	struct seal *seal;
	struct slog_file *log;
	struct stage_result result;
	bool begun;
	char *why;
};

/* Which rows, what is written of that in the log, and what is told of them
 * afterwards. c->count is 0 when there are none; else they are locked, and so is
 * the log. */
int commit_choose(struct commit *c);

#endif
