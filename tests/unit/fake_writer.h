/* SPDX-License-Identifier: MIT */
/* fake_writer.h - FILE in memory, in place of the store's writer. */
#ifndef H5FS_FAKE_WRITER_H
#define H5FS_FAKE_WRITER_H

#include "h5fs/store.h"

enum fake_commit {
	FAKE_COMMITS,
	FAKE_FAILS,   /* with fake_error, and nothing of it is in FILE */
	FAKE_EIO_NOT, /* nobody knows; nothing of it is in FILE, */
	FAKE_EIO_DID, /* or all */
};
struct writer {
	char *side;
	uint64_t tag;
	struct fake_object *objects;
	bool inside;
	/* What is to go wrong. */
	long fail_at; /* the k-th request from now on; -1: none */
	int fail_error;
	enum fake_commit commit;
	bool broken;	    /* after -EIO: until fake_reopen() */
	const char *fixed;  /* path that cannot grow, until it was asked to */
	bool (*dead)(void); /* the process is: nothing reaches FILE any more */
	void (*on_append)(void); /* the test looks around meanwhile */
	/* What was asked. */
	long begins, commits, appends;
	uint64_t largest; /* bytes of an append */
	char why[64];
};
struct writer *fake_writer_new(const char *side);
void fake_writer_free(struct writer *w);
DEFINE_CLEANUP(struct writer *, fake_writer_free)
/* Another process opens FILE: what nobody knew is known. */
void fake_reopen(struct writer *w);
/* What FILE holds of a dataset: the bytes that were appended, NULL: nothing. Of
 * variable length: each with a '|' behind it. */
const uint8_t *fake_bytes(struct writer *w, const char *path, size_t *ret_n);
/* "group", "link:TARGET", "dataset:UINT1:2x3:growable"; attributes as text. NULL:
 * there is none. */
const char *fake_what(struct writer *w, const char *path);
const char *fake_attr(struct writer *w, const char *path, const char *name);
size_t fake_count(const struct writer *w); /* of objects */

#endif
