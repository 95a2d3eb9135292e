/* SPDX-License-Identifier: MIT */
/* stage_fixture.h - a row set of images, masks, labels and names, over a disk that
 * crashes and FILE in memory. */
#ifndef H5FS_STAGE_FIXTURE_H
#define H5FS_STAGE_FIXTURE_H

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "check.h"
#include "crash_disk.h"
#include "fake_writer.h"
#include "stage_int.h"

enum { IMAGES, MASKS, LABELS, NAMES };

static const struct dtype u8 = { .class = DT_UINT, .size = 1 };
static const struct dtype i64 = { .class = DT_INT, .size = 8 };
static const struct dtype vlstr = { .class = DT_VLSTR, .size = 8 };
/* Images of 2 x 3 bytes, 4 of them a chunk. */
static struct stage_member members[] = {
	[IMAGES] = { .path = (char *)"/g/images",
		     .name = (char *)"images",
		     .role = STAGE_PICTURE,
		     .rank = 3,
		     .dims = { 0, 2, 3 },
		     .chunk_rows = 4,
		     .type = &u8 },
	[MASKS] = { .path = (char *)"/g/masks",
		    .name = (char *)"masks",
		    .role = STAGE_PICTURE,
		    .rank = 2,
		    .dims = { 0, 2 },
		    .chunk_rows = 2,
		    .type = &u8 },
	[LABELS] = { .path = (char *)"/g/labels",
		     .name = (char *)"labels",
		     .role = STAGE_LABEL,
		     .rank = 1,
		     .type = &i64 },
	[NAMES] = { .path = (char *)"/g/names",
		    .name = (char *)"names",
		    .role = STAGE_NAME,
		    .rank = 1,
		    .type = &vlstr },
};
static struct stage_set set = {
	.key = (char *)"/g",
	.nmembers = 4,
	.members = members,
};
static char top[64], side[80];
static struct writer *file;
static struct stage *stage;
static struct faults *faults;
static struct refusal refusal;

static inline void set_n(uint64_t rows)
{
	set.rows = rows;
	for (unsigned i = 0; i < ARRAY_SIZE(members); i++)
		members[i].dims[members[i].axis] = rows;
}

static inline int open_on(const struct stage_io *io, const char *dir)
{
	const struct stage_options o = { .dir = dir, .faults = faults };
	char *why = NULL;
	int r = stage_open_on(file, &o, io, &stage, &why);

	if (r < 0)
		stage = NULL;
	free(why);
	return r;
}

static inline void reopen(void)
{
	stage_close(stage);
	stage = NULL;
	crash_off();
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
}

static inline int remove_one(const char *path, const struct stat *st, int type,
			     struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

/* A fresh FILE, and nothing beside it. */
static inline void begin_with(unsigned nmembers)
{
	CHECK_EQ(nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	crash_reset();
	file = fake_writer_new(side);
	CHECK_EQ(faults_new(&faults), 0);
	set.nmembers = nmembers;
	set.grow = false;
	set_n(0);
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
}

static inline void end(void)
{
	stage_close(stage);
	stage = NULL;
	fake_writer_free(file);
	faults_free(faults);
	refusal_done(&refusal);
	crash_reset();
}

static inline void fixture_make(void)
{
	snprintf(top, sizeof(top), "/tmp/h5fs-stage-XXXXXX");
	CHECK(mkdtemp(top) != NULL);
	snprintf(side, sizeof(side), "%s/.data.h5.h5fs", top);
}

static inline void fixture_remove(void)
{
	CHECK_EQ(nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	CHECK_EQ(rmdir(top), 0);
}

/* Image and mask values are bytes of one letter. */
static inline void fill_value(unsigned member, char c, uint8_t *bytes,
			      size_t *ret_n)
{
	*ret_n = member == IMAGES   ? 6
		 : member == MASKS  ? 2
		 : member == LABELS ? 8
				    : 1;
	memset(bytes, 0, 8);
	memset(bytes, c, member == LABELS ? 1 : *ret_n);
}

/* "images:cat" is the class folder's key. */
static inline int put(unsigned member, const char *class_name, const char *name,
		      char c, uint64_t *ret_row)
{
	char dir[64], stem[32];
	uint8_t bytes[8];
	struct stage_value v = { .member = member, .bytes = bytes };
	struct stage_place place = {
		.dir = dir,
		.class_name = class_name,
		.name = name,
		.stem = stem,
	};
	uint64_t row = 0;
	int r;

	fill_value(member, c, bytes, &v.size);
	snprintf(dir, sizeof(dir), "%s%s%s", members[member].path,
		 class_name ? "\n" : "", class_name ? class_name : "");
	snprintf(stem, sizeof(stem), "%.*s", (int)strcspn(name, "."), name);
	refusal_done(&refusal);
	r = stage_put(stage, &set, &place, &v, 1, &row, &refusal);
	if (ret_row)
		*ret_row = row;
	return r;
}

static inline int set_value(uint64_t row, unsigned member, char c)
{
	uint8_t bytes[8];
	struct stage_value v = { .member = member, .bytes = bytes };

	fill_value(member, c, bytes, &v.size);
	return stage_set_value(stage, row, &set, &v);
}

/* The names in a directory, with the first byte of each value: "a.png=x ". */
static inline const char *listing(const char *dir)
{
	static char out[1024];
	struct stage_names n = { 0 };
	size_t len = 0;

	out[0] = '\0';
	CHECK_EQ(stage_list(stage, dir, NULL, SIZE_MAX, &n), 0);
	for (size_t i = 0; i < n.count; i++) {
		struct blob *b = NULL;

		CHECK_EQ(stage_read(stage, dir, n.names[i], &b), 0);
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s=%c ",
					n.names[i], b ? b->data[0] : '?');
		blob_unref(b);
	}
	stage_names_done(&n);
	return out;
}

/* The letters of a member's values in FILE, one a row. */
static inline const char *in_file(unsigned member)
{
	static char out[1024];
	size_t n, each = member == IMAGES ? 6 : member == MASKS ? 2 : 8, k = 0;
	const uint8_t *b = fake_bytes(file, members[member].path, &n);

	if (member == NAMES) {
		snprintf(out, sizeof(out), "%.*s", (int)n, b ? (char *)b : "");
		return out;
	}
	for (size_t i = 0; i < n; i += each)
		out[k++] = (char)b[i];
	out[k] = '\0';
	return out;
}

static inline int commit(enum stage_commit_kind kind,
			 struct stage_result *ret_result)
{
	struct stage_result result = { 0 };
	char *why = NULL;
	int r = stage_commit(stage, file, &set, 1, NULL, 0, kind, &result,
			     &why);

	CHECK((r < 0) == (why != NULL));
	free(why);
	for (size_t i = 0; r == 0 && i < result.count; i++)
		set_n(result.sets[i].first + result.sets[i].count);
	if (ret_result)
		*ret_result = result;
	else
		stage_result_done(&result);
	return r;
}

static inline struct stage_status status(void)
{
	struct stage_status st = { 0 }, copy;

	CHECK_EQ(stage_get_status(stage, &st), 0);
	copy = st;
	copy.list = NULL;
	stage_status_done(&st);
	return copy;
}

static inline bool log_is_there(void)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/stage", side);
	return access(path, F_OK) == 0;
}

#endif
