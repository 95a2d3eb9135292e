/* SPDX-License-Identifier: MIT */
/* test_stage_commit.c - staged rows become rows of FILE, each once, whatever ends
 * when. The numbers are those of slog.c's invariants. */
#include <fcntl.h>

#include "h5fs/image.h"
#include "stage_fixture.h"

static void put_many(const char *letters)
{
	char name[8] = "?.png";

	for (; *letters; letters++) {
		name[0] = *letters;
		CHECK_EQ(put(IMAGES, NULL, name, *letters, NULL), 0);
	}
}

static void all_that_is_complete_goes_in_order(void)
{
	struct stage_result res = { 0 };

	begin_with(2);
	set_n(10);
	put_many("abc");
	CHECK_EQ(put(MASKS, NULL, "c.png", 'C', NULL), 0);
	CHECK_EQ(put(MASKS, NULL, "a.png", 'A', NULL), 0);
	CHECK_EQ(commit(STAGE_ALL, &res), 0);
	CHECK_STR(in_file(IMAGES), "ac");
	CHECK_STR(in_file(MASKS), "AC");
	CHECK_EQ(res.count, 1);
	CHECK_STR(res.sets[0].set, "/g");
	CHECK_EQ(res.sets[0].first, 10);
	CHECK_EQ(res.sets[0].count, 2);
	CHECK_EQ(res.sets[0].nfiles, 4);
	for (size_t i = 0; i < res.sets[0].nfiles; i++) {
		CHECK_STR(res.sets[0].names[i], i < 2 ? "a.png" : "c.png");
		CHECK_EQ(res.sets[0].rows[i], i < 2 ? 10 : 11);
	}
	stage_result_done(&res);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(listing("/g/images"), "b.png=b ");
		CHECK_STR(listing("/g/masks"), "");
		CHECK_EQ(status().rows, 1);
		reopen();
	}
	CHECK_EQ(put(MASKS, NULL, "b.png", 'B', NULL), 0);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(MASKS), "ACB");
	CHECK(stage_is_empty(stage));
	CHECK(!log_is_there());
	end();
}

static void nothing_to_do_begins_nothing(void)
{
	begin_with(2);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	put_many("a");
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	set.nmembers = 1;
	CHECK_EQ(commit(STAGE_WHOLE_CHUNKS, NULL), 0);
	CHECK_EQ(file->begins, 0);
	CHECK_EQ(status().rows, 1);
	end();
}

static void what_fills_no_chunk_is_held_back(void)
{
	begin_with(1); /* 4 a chunk */
	set_n(3);
	put_many("abcdef");
	CHECK_EQ(commit(STAGE_WHOLE_CHUNKS, NULL), 0);
	CHECK_STR(in_file(IMAGES), "abcde"); /* 3 + 5 */
	CHECK_EQ(status().rows, 1);
	CHECK(!status().chunk_full);
	put_many("gh");
	CHECK_EQ(commit(STAGE_WHOLE_CHUNKS, NULL), 0);
	CHECK_STR(in_file(IMAGES), "abcde");
	put_many("i");
	CHECK(status().chunk_full);
	CHECK_EQ(commit(STAGE_WHOLE_CHUNKS, NULL), 0);
	CHECK_STR(in_file(IMAGES), "abcdefghi");
	put_many("j");
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "abcdefghij");
	end();
}

static int put_batch(unsigned member, const char *letters, uint64_t *ret_row)
{
	const struct stage_place place = {
		.dir = members[member].path,
		.name = "batch.npy",
		.stem = "batch",
		.npy = true,
	};
	uint64_t n = strlen(letters), each = stage_row_bytes(&members[member]);
	CLEANUP(freep) uint8_t *bytes = malloc(n * each);

	for (uint64_t i = 0; i < n; i++)
		memset(bytes + i * each, letters[i], each);
	return stage_put_batch(stage, &set, &place, member, bytes, each, n,
			       ret_row, &refusal);
}

static void a_batch_may_go_in_parts(void)
{
	struct stage_result res = { 0 };
	struct stage_file f = { 0 };
	uint64_t row;

	begin_with(1);
	put_many("x");
	CHECK_EQ(put_batch(IMAGES, "abcdef", &row), 0);
	CHECK_EQ(commit(STAGE_WHOLE_CHUNKS, &res), 0);
	CHECK_STR(in_file(IMAGES), "xabc");
	CHECK_EQ(res.sets[0].nfiles, 2);
	CHECK_STR(res.sets[0].names[1], "batch.npy");
	CHECK_EQ(res.sets[0].rows[1], 1);
	stage_result_done(&res);
	for (int i = 0; i < 3; i++) {
		CHECK_STR(listing("/g/images"), "batch.npy=d ");
		CHECK_EQ(stage_find(stage, "/g/images", "batch.npy", &f), 0);
		CHECK_EQ(f.nrows, 3);
		CHECK_EQ(f.size, 18);
		CHECK_EQ(f.row, row);
		stage_file_done(&f);
		CHECK_EQ(status().rows, 3);
		if (i == 0)
			CHECK_EQ(stage_rewrite(stage), 0);
		else
			reopen();
	}
	put_many("yz");
	CHECK_EQ(commit(STAGE_WHOLE_CHUNKS, NULL), 0);
	CHECK_STR(in_file(IMAGES), "xabcdefy");
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "xabcdefyz");
	end();
}

static void one_value_may_do_for_all_of_a_batch(void)
{
	const int64_t one = 'l';
	uint64_t row;

	begin_with(4);
	CHECK_EQ(put_batch(IMAGES, "abcde", &row), 0);
	CHECK_EQ(put_batch(MASKS, "ABCDE", &row), 0);
	CHECK_EQ(stage_set_value(stage, row, &set,
				 &(struct stage_value){ LABELS, &one, 8 }),
		 0);
	CHECK_EQ(stage_set_value(
			 stage, row, &set,
			 &(struct stage_value){ NAMES, "v\0\0x\0yy\0z", 9 }),
		 0);
	CHECK_EQ(commit(STAGE_WHOLE_CHUNKS, NULL), 0);
	CHECK_STR(in_file(NAMES), "v||x|yy|");
	CHECK_EQ(commit(STAGE_ALL, NULL), -EINVAL); /* a text is missing */
	CHECK_EQ(stage_set_value(stage, row, &set,
				 &(struct stage_value){ NAMES, "one", 3 }),
		 -EBUSY);
	end();
	begin_with(4);
	CHECK_EQ(put_batch(IMAGES, "abcde", &row), 0);
	CHECK_EQ(put_batch(MASKS, "ABCDE", &row), 0);
	CHECK_EQ(stage_set_value(stage, row, &set,
				 &(struct stage_value){ LABELS, &one, 8 }),
		 0);
	CHECK_EQ(stage_set_value(stage, row, &set,
				 &(struct stage_value){ NAMES, "one", 3 }),
		 0);
	CHECK_EQ(commit(STAGE_WHOLE_CHUNKS, NULL), 0);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "abcde");
	CHECK_STR(in_file(LABELS), "lllll");
	CHECK_STR(in_file(NAMES), "one|one|one|one|one|");
	end();
}

/* A log may say any number of rows. */
static void no_batch_has_more_rows_than_it_brought(void)
{
	struct row *r;
	uint64_t row;

	begin_with(1);
	CHECK_EQ(put_batch(IMAGES, "ab", &row), 0);
	r = rows_find(stage, row);
	row_uncount(stage, r);
	r->nrows = (uint64_t)1 << 40;
	r->values[0].size = 6; /* one for all */
	row_count(stage, r);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_EQ(file->begins, 0);
	CHECK_EQ(faults_count(faults), 1);
	end();
}

static void elements_of_any_length(void)
{
	static struct dtype byte = { .class = DT_UINT, .size = 1 };
	static const struct dtype vlen = {
		.class = DT_VLEN,
		.size = sizeof(struct dt_vlen),
		.base = &byte,
	};
	struct stage_member encoded = {
		.path = (char *)"/g/jpeg",
		.name = (char *)"jpeg",
		.role = STAGE_ENCODED,
		.rank = 1,
		.type = &vlen,
		.chunk_rows = 2,
	};
	struct stage_set one = {
		.key = (char *)"/g",
		.nmembers = 1,
		.members = &encoded,
	};
	struct stage_place place = { .dir = "/g/jpeg",
				     .name = "1",
				     .stem = "1" };
	struct stage_value v = { 0, "long one", 8 };
	struct stage_result res = { 0 };
	char *why = NULL;
	uint64_t row;
	size_t n;

	begin_with(1);
	CHECK_EQ(stage_put(stage, &one, &place, &v, 1, &row, &refusal), 0);
	v = (struct stage_value){ 0, "", 0 };
	place.name = place.stem = "2";
	CHECK_EQ(stage_put(stage, &one, &place, &v, 1, &row, &refusal), 0);
	v = (struct stage_value){ 0, "x", 1 };
	place.name = place.stem = "3";
	CHECK_EQ(stage_put(stage, &one, &place, &v, 1, &row, &refusal), 0);
	CHECK_EQ(stage_commit(stage, file, &one, 1, NULL, 0, STAGE_ALL, &res,
			      &why),
		 0);
	CHECK(memcmp(fake_bytes(file, "/g/jpeg", &n), "long one||x|", 12) == 0);
	CHECK_EQ(n, 12);
	stage_result_done(&res);
	end();
}

/* (2, N, 3): row r is 2 x 3; in FILE all of the first line come first. */
static void rows_along_another_axis_are_turned(void)
{
	struct stage_member m = {
		.path = (char *)"/m",
		.name = (char *)"m",
		.rank = 3,
		.axis = 1,
		.dims = { 2, 0, 3 },
		.type = &u8,
	};
	struct stage_set one = {
		.key = (char *)"/",
		.nmembers = 1,
		.members = &m,
	};
	struct stage_place place = { .dir = "/m", .name = "1", .stem = "1" };
	struct stage_value v = { 0, "abcABC", 6 };
	struct stage_result res = { 0 };
	char *why = NULL;
	uint64_t row;
	size_t n;

	begin_with(1);
	CHECK_EQ(stage_put(stage, &one, &place, &v, 1, &row, &refusal), 0);
	v.bytes = "xyzXYZ";
	place.name = place.stem = "2";
	CHECK_EQ(stage_put(stage, &one, &place, &v, 1, &row, &refusal), 0);
	CHECK_EQ(stage_commit(stage, file, &one, 1, NULL, 0, STAGE_ALL, &res,
			      &why),
		 0);
	CHECK(memcmp(fake_bytes(file, "/m", &n), "abcxyzABCXYZ", 12) == 0);
	stage_result_done(&res);
	end();
}

static void a_commit_needs_no_more_memory_than_a_few_chunks(void)
{
	const struct stage_place place = {
		.dir = "/g/images",
		.name = "b.npy",
		.stem = "b",
	};
	CLEANUP(freep) uint8_t *bytes = malloc(6 * 100000);
	uint64_t row;
	size_t n;

	for (int i = 0; i < 600000; i++)
		bytes[i] = (uint8_t)(i / 6 * 7);
	begin_with(1);
	set_n(1);
	put_many("x");
	CHECK_EQ(stage_put_batch(stage, &set, &place, IMAGES, bytes, 6, 100000,
				 &row, &refusal),
		 0);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK(memcmp(fake_bytes(file, "/g/images", &n) + 6, bytes, 600000) ==
	      0);
	CHECK_EQ(n, 600006);
	CHECK_EQ(file->largest, 6 * 35); /* 8 chunks of 4, from 1 on */
	end();
}

static void large_rows_go_a_chunk_at_a_time(void)
{
	CLEANUP(freep) uint8_t *bytes = calloc(1, 5 << 20);
	struct stage_value v = { IMAGES, bytes, 5 << 20 };
	struct stage_place place = { .dir = "/g/images" };
	char name[16];
	uint64_t row;

	begin_with(1);
	members[IMAGES].dims[1] = 5 << 10;
	members[IMAGES].dims[2] = 1 << 10;
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "%d", i);
		place.name = place.stem = name;
		CHECK_EQ(stage_put(stage, &set, &place, &v, 1, &row, &refusal),
			 0);
	}
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_EQ(file->appends, 3);
	CHECK_EQ(file->largest, 20 << 20);
	members[IMAGES].dims[1] = 2;
	members[IMAGES].dims[2] = 3;
	end();
}

static void attributes_go_with_the_rows_of_their_set(void)
{
	struct blob b = { .data = (uint8_t *)"S1", .size = 3 };
	const struct dtype t = { .class = DT_STRING, .size = 3 };
	const struct array text = { .type = &t, .count = 1, .data = &b };
	const struct stage_attr attrs[] = {
		{ "/g/images", "rule", &text },
		{ "/h/other", "rule", &text },
		{ "/g", "note", &text },
	};
	struct stage_member m = {
		.path = (char *)"/h/other",
		.name = (char *)"other",
		.rank = 1,
		.type = &u8,
	};
	struct stage_set sets[2];
	struct stage_result res = { 0 };
	char *why = NULL;

	begin_with(1);
	sets[0] = set;
	sets[1] = (struct stage_set){
		.key = (char *)"/h",
		.nmembers = 1,
		.members = &m,
	};
	CHECK_EQ(stage_commit(stage, file, sets, 2, attrs, 3, STAGE_ALL, &res,
			      &why),
		 0);
	CHECK_EQ(fake_count(file), 0);
	put_many("a");
	CHECK_EQ(stage_commit(stage, file, sets, 2, attrs, 3, STAGE_ALL, &res,
			      &why),
		 0);
	CHECK_EQ(res.count, 1);
	CHECK_STR(fake_attr(file, "/g/images", "rule"), "\"S1\"");
	CHECK_STR(fake_attr(file, "/g", "note"), "\"S1\"");
	CHECK(!fake_attr(file, "/h/other", "rule"));
	stage_result_done(&res);
	end();
}

static void a_fixed_member_grows_when_it_may(void)
{
	begin_with(1);
	put_many("a");
	file->fixed = "/g/images";
	CHECK_EQ(commit(STAGE_ALL, NULL), -EOPNOTSUPP);
	CHECK_EQ(status().complete, 1);
	set.grow = true;
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "a");
	end();
}

static void a_row_of_another_shape_is_told_and_left(void)
{
	struct strbuf out = STRBUF_INIT;

	begin_with(1);
	put_many("ab");
	members[IMAGES].dims[2] = 4;
	CHECK_EQ(put(IMAGES, NULL, "c.png", 'c', NULL), -EINVAL);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_EQ(file->begins, 0);
	CHECK_EQ(status().rows, 2);
	faults_print(faults, &out);
	CHECK(out.buf && strstr(out.buf, "a.png\t") &&
	      strstr(out.buf, "/g/images as it was"));
	strbuf_done(&out);
	members[IMAGES].dims[2] = 3;
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "ab");
	end();
}

static void members_of_two_lengths_are_not_appended_to(void)
{
	struct stage_result res = { 0 };
	char *why = NULL;

	begin_with(2);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'a', NULL), 0);
	CHECK_EQ(put(MASKS, NULL, "a.png", 'A', NULL), 0);
	members[MASKS].dims[0] = 1;
	CHECK_EQ(stage_commit(stage, file, &set, 1, NULL, 0, STAGE_ALL, &res,
			      &why),
		 -EINVAL);
	CHECK_STR(why, "/g/masks has 1 rows, others of its set have 0");
	free(why);
	end();
}

/* ---- while it runs ---- */
static bool looked;

static void look_around(void)
{
	uint64_t row, n = 9;

	if (looked)
		return;
	looked = true;
	CHECK_STR(listing("/g/images"), "a.png=a b.png=b ");
	CHECK_EQ(stage_drop(stage, "/g/images", "a.png"), -EBUSY);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'z', NULL), -EBUSY);
	CHECK_EQ(put(IMAGES, NULL, "c.png", 'c', &row), 0);
	CHECK_EQ(stage_set_value(stage, 1, &set,
				 &(struct stage_value){ IMAGES, "123456", 6 }),
		 -EBUSY);
	CHECK_EQ(stage_discard(stage, NULL, NULL, &n), 0);
	CHECK_EQ(n, 1); /* c */
	CHECK_EQ(put(IMAGES, NULL, "d.png", 'd', &row), 0);
	CHECK_EQ(stage_sync(stage), 0);
	CHECK_EQ(status().rows, 3);
	CHECK_EQ(status().complete, 1);
}

static void others_go_on_meanwhile(void)
{
	begin_with(1);
	put_many("ab");
	file->on_append = look_around;
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK(looked);
	CHECK_STR(in_file(IMAGES), "ab");
	for (int i = 0; i < 2; i++) {
		CHECK_STR(listing("/g/images"), "d.png=d ");
		reopen();
	}
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "abd");
	end();
}

/* ---- what fails ---- */
static void a_failed_request_leaves_all_staged(void)
{
	bool failed;
	long k = 0;

	do {
		begin_with(2);
		put_many("abcde");
		for (char c = 'a'; c <= 'e'; c++)
			CHECK_EQ(put(MASKS, NULL, (char[]){ c, 0 }, c, NULL),
				 0);
		file->fail_at = k++;
		file->fail_error = -ENOSPC;
		failed = commit(STAGE_ALL, NULL) < 0;
		if (failed) {
			CHECK_STR(in_file(IMAGES), "");
			CHECK_EQ(status().complete, 5);
			if (k % 2)
				reopen();
			CHECK_EQ(stage_drop(stage, "/g/masks", "e"), 0);
			CHECK_EQ(put(MASKS, NULL, "e", 'e', NULL), 0);
			CHECK_EQ(commit(STAGE_ALL, NULL), 0);
		}
		CHECK_STR(in_file(IMAGES), "abcde");
		CHECK_STR(in_file(MASKS), "abcde");
		CHECK(stage_is_empty(stage));
		end();
	} while (failed);
	CHECK(k > 2);
}

static void a_commit_that_fails_leaves_all_staged(void)
{
	struct stage_result res = { 0 };
	char *why = NULL;

	begin_with(1);
	put_many("ab");
	file->commit = FAKE_FAILS;
	file->fail_error = -EBUSY;
	CHECK_EQ(stage_commit(stage, file, &set, 1, NULL, 0, STAGE_ALL, &res,
			      &why),
		 -EBUSY);
	CHECK_STR(why, "the commit failed");
	free(why);
	CHECK_EQ(stage_drop(stage, "/g/images", "a.png"), 0);
	reopen();
	file->commit = FAKE_COMMITS;
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "b");
	end();
}

/* S6 */
static void nobody_knows(enum fake_commit how, bool restart)
{
	begin_with(1);
	put_many("ab");
	file->commit = how;
	CHECK_EQ(commit(STAGE_ALL, NULL), -EIO);
	CHECK_STR(listing("/g/images"), "a.png=a b.png=b ");
	CHECK_EQ(stage_drop(stage, "/g/images", "a.png"), -EBUSY);
	CHECK_EQ(commit(STAGE_ALL, NULL), -EIO);
	CHECK_EQ(put(IMAGES, NULL, "c.png", 'c', NULL), 0);
	if (restart) {
		stage_close(stage);
		fake_reopen(file);
		CHECK_EQ(open_on(&crash_disk, NULL), 0);
		CHECK_STR(listing("/g/images"),
			  how == FAKE_EIO_DID ? "c.png=c "
					      : "a.png=a b.png=b c.png=c ");
	} else {
		fake_reopen(file);
	}
	set_n(how == FAKE_EIO_DID ? 2 : 0);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "abc");
	CHECK(stage_is_empty(stage));
	CHECK(!log_is_there());
	end();
}

static void what_nobody_knows_is_settled_later(void)
{
	nobody_knows(FAKE_EIO_DID, true);
	nobody_knows(FAKE_EIO_NOT, true);
	nobody_knows(FAKE_EIO_DID, false);
	nobody_knows(FAKE_EIO_NOT, false);
}

/* S5: the DONE cannot be written. */
static void a_done_that_is_owed_is_written_later(void)
{
	long before, calls;

	begin_with(2);
	put_many("abc");
	CHECK_EQ(put(MASKS, NULL, "a.png", 'A', NULL), 0);
	before = crash_calls();
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	calls = crash_calls() - before;
	end();
	for (long k = 0; k < calls * 2; k++) {
		int r;

		begin_with(2);
		put_many("abc");
		CHECK_EQ(put(MASKS, NULL, "a.png", 'A', NULL), 0);
		crash_fail(k / 2, ENOSPC);
		r = commit(STAGE_ALL, NULL);
		crash_off();
		CHECK_EQ(file->commits, r == 0);
		if (k % 2) {
			stage_close(stage);
			CHECK_EQ(open_on(&crash_disk, NULL), 0);
		}
		CHECK_EQ(put(MASKS, NULL, "b.png", 'B', NULL), 0);
		CHECK_EQ(commit(STAGE_ALL, NULL), 0);
		file->tag = 0; /* the journal is gone */
		reopen();
		CHECK_STR(in_file(MASKS), "AB");
		CHECK_STR(listing("/g/images"), "c.png=c ");
		end();
	}
}

/* ---- damage (S2, S3) ---- */
static void log_path(char *ret, size_t n)
{
	snprintf(ret, n, "%s/stage", side);
}

/* One bit of a row's value in the log. */
static void damage(char letter)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	char path[100], six[6];
	uint8_t *at;
	int fd;

	log_path(path, sizeof(path));
	memset(six, letter, 6);
	CHECK_EQ(io_read_file(path, 1 << 20, &b), 0);
	at = memmem(b->data, b->size, six, 6);
	CHECK(at != NULL);
	at[2] ^= 8;
	fd = open(path, O_WRONLY | O_TRUNC);
	CHECK_EQ(io_write_all(fd, b->data, b->size), 0);
	close(fd);
}

static bool is_told(const char *text)
{
	struct strbuf out = STRBUF_INIT;
	bool told;

	faults_print(faults, &out);
	told = out.buf && strstr(out.buf, text);
	strbuf_done(&out);
	return told;
}

static void what_is_in_file_is_so_however_the_log_is_damaged(void)
{
	begin_with(2);
	put_many("abcde");
	CHECK_EQ(put(MASKS, NULL, "a.png", 'A', NULL), 0);
	CHECK_EQ(put(MASKS, NULL, "c.png", 'C', NULL), 0);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	put_many("f");
	stage_close(stage);
	file->tag = 0;
	damage('d');
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
	CHECK(is_told("stage.damaged-1 and not used"));
	for (int i = 0; i < 2; i++) {
		/* a is in FILE; d and what came after it is set aside. */
		CHECK_STR(listing("/g/images"), "b.png=b ");
		CHECK_STR(listing("/g/masks"), "");
		reopen();
	}
	CHECK_EQ(faults_count(faults), 1);
	end();
}

/* The SEAL is behind the damage, and only the writer knows. */
static void what_the_writer_knows_is_so_too(void)
{
	begin_with(1);
	put_many("ab");
	file->commit = FAKE_EIO_DID;
	CHECK_EQ(commit(STAGE_ALL, NULL), -EIO);
	stage_close(stage);
	fake_reopen(file);
	damage('b');
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
	CHECK(stage_is_empty(stage));
	CHECK(!log_is_there());
	end();
}

static void a_torn_tail_is_told(void)
{
	char path[100];
	struct stat st;

	begin_with(1);
	put_many("ab");
	stage_close(stage);
	log_path(path, sizeof(path));
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(truncate(path, st.st_size - 10), 0);
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
	CHECK_STR(listing("/g/images"), "a.png=a ");
	CHECK(is_told("the last record was not whole: "));
	put_many("c");
	reopen();
	CHECK_STR(listing("/g/images"), "a.png=a c.png=c ");
	CHECK_EQ(faults_count(faults), 1);
	end();
}

static void a_value_that_is_damaged_later_is_not_committed(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t row;

	begin_with(1);
	put_many("ab");
	damage('b');
	CHECK_EQ(stage_read(stage, "/g/images", "b.png", &b), -EIO);
	CHECK_EQ(commit(STAGE_ALL, NULL), -EIO);
	CHECK_STR(in_file(IMAGES), "");
	CHECK_EQ(stage_rewrite(stage), 0);
	CHECK_EQ(stage_read(stage, "/g/images", "b.png", &b), -EIO);
	CHECK_EQ(stage_drop(stage, "/g/images", "b.png"), 0);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "a");
	CHECK_EQ(put_batch(IMAGES, "xyzxyz", &row), 0);
	damage('z');
	CHECK_EQ(commit(STAGE_ALL, NULL), -EIO);
	CHECK_STR(in_file(IMAGES), "a");
	end();
}

static void what_is_no_log_is_kept(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	char path[100];

	begin_with(1);
	CHECK_EQ(mkdir(side, 0777), 0);
	log_path(path, sizeof(path));
	CHECK_EQ(symlink("/etc/passwd", path), 0);
	stage_close(stage);
	CHECK_EQ(open_on(&crash_disk, NULL), -ELOOP);
	unlink(path);
	CHECK_EQ(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	CHECK_EQ(truncate(path, 100), 0);
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
	CHECK(is_told("is no log of staged samples"));
	CHECK(!log_is_there());
	put_many("a");
	CHECK_STR(listing("/g/images"), "a.png=a ");
	strcat(path, ".damaged-1");
	CHECK_EQ(io_read_file(path, 1000, &b), 0);
	CHECK_EQ(b->size, 100);
	end();
}

static void a_newer_log_is_refused(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct stage_options o = { 0 };
	char path[100], *why = NULL;
	uint32_t crc;
	int fd;

	begin_with(1);
	put_many("a");
	stage_close(stage);
	log_path(path, sizeof(path));
	CHECK_EQ(io_read_file(path, 1 << 20, &b), 0);
	b->data[11] = '9';
	crc = checksum_crc32(0, b->data, 24);
	memcpy(b->data + 24, &crc, 4);
	fd = open(path, O_WRONLY);
	CHECK_EQ(io_write_all(fd, b->data, b->size), 0);
	close(fd);
	CHECK_EQ(stage_open(file, &o, &stage, &why), -EPROTONOSUPPORT);
	CHECK(why && strstr(why, "newer version"));
	free(why);
	stage = NULL;
	CHECK(log_is_there());
	end();
}

/* ---- no space, and a disk that does not keep what it was given ---- */
static void a_put_without_space_stages_nothing(void)
{
	for (long k = 0; k < 6; k++) {
		int r;

		begin_with(1);
		crash_fail(k, ENOSPC);
		r = put(IMAGES, NULL, "a.png", 'a', NULL);
		crash_off();
		CHECK(r == 0 || r == -ENOSPC);
		CHECK_EQ(log_is_there(), r == 0);
		CHECK_STR(listing("/g/images"), r == 0 ? "a.png=a " : "");
		CHECK_EQ(put(IMAGES, NULL, "b.png", 'b', NULL), 0);
		crash_fail(0, EDQUOT);
		CHECK_EQ(put(IMAGES, NULL, "c.png", 'c', NULL), -EDQUOT);
		crash_off();
		reopen();
		CHECK_STR(listing("/g/images"),
			  r == 0 ? "a.png=a b.png=b " : "b.png=b ");
		end();
	}
}

static void the_last_file_goes_though_the_disk_is_full(void)
{
	begin_with(1);
	put_many("ab");
	CHECK_EQ(stage_drop(stage, "/g/images", "a.png"), 0);
	crash_fail(0, ENOSPC); /* of an append */
	CHECK_EQ(stage_drop(stage, "/g/images", "b.png"), 0);
	CHECK(stage_is_empty(stage));
	end();
}

/* Linux forgets what a failed sync could not write: a second one would say that
 * all is well. */
static void a_failed_sync_is_made_up_for(void)
{
	begin_with(1);
	put_many("ab");
	crash_fail(0, EIO);
	CHECK_EQ(stage_sync(stage), -EIO);
	crash_off();
	CHECK(stage->log.unsure);
	CHECK_EQ(stage_sync(stage), 0);
	CHECK(!stage->log.unsure);
	crash_power_cut(3);
	stage_close(stage);
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
	CHECK_STR(listing("/g/images"), "a.png=a b.png=b ");
	end();
}

static void a_log_of_little_use_is_made_shorter(void)
{
	CLEANUP(freep) uint8_t *bytes = calloc(1, 1 << 20);
	struct stage_value v = { IMAGES, bytes, 1 << 20 };
	struct stage_place place = {
		.dir = "/g/images",
		.name = "a",
		.stem = "a",
	};
	uint64_t row;

	begin_with(1);
	stage_close(stage);
	CHECK_EQ(open_on(&stage_disk, NULL), 0);
	members[IMAGES].dims[1] = 1 << 10;
	members[IMAGES].dims[2] = 1 << 10;
	for (int i = 0; i < 70; i++) {
		memset(bytes, i, 1 << 20);
		CHECK_EQ(stage_put(stage, &set, &place, &v, 1, &row, &refusal),
			 0);
		CHECK(status().bytes < 66u << 20);
	}
	CHECK(status().bytes < 10u << 20);
	CHECK_STR(listing("/g/images"), "a=E ");
	members[IMAGES].dims[1] = 2;
	members[IMAGES].dims[2] = 3;
	end();
}

int main(void)
{
	fixture_make();
	RUN(all_that_is_complete_goes_in_order);
	RUN(nothing_to_do_begins_nothing);
	RUN(what_fills_no_chunk_is_held_back);
	RUN(a_batch_may_go_in_parts);
	RUN(one_value_may_do_for_all_of_a_batch);
	RUN(no_batch_has_more_rows_than_it_brought);
	RUN(elements_of_any_length);
	RUN(rows_along_another_axis_are_turned);
	RUN(a_commit_needs_no_more_memory_than_a_few_chunks);
	RUN(large_rows_go_a_chunk_at_a_time);
	RUN(attributes_go_with_the_rows_of_their_set);
	RUN(a_fixed_member_grows_when_it_may);
	RUN(a_row_of_another_shape_is_told_and_left);
	RUN(members_of_two_lengths_are_not_appended_to);
	RUN(others_go_on_meanwhile);
	RUN(a_failed_request_leaves_all_staged);
	RUN(a_commit_that_fails_leaves_all_staged);
	RUN(what_nobody_knows_is_settled_later);
	RUN(a_done_that_is_owed_is_written_later);
	RUN(what_is_in_file_is_so_however_the_log_is_damaged);
	RUN(what_the_writer_knows_is_so_too);
	RUN(a_torn_tail_is_told);
	RUN(a_value_that_is_damaged_later_is_not_committed);
	RUN(what_is_no_log_is_kept);
	RUN(a_newer_log_is_refused);
	RUN(a_put_without_space_stages_nothing);
	RUN(the_last_file_goes_though_the_disk_is_full);
	RUN(a_failed_sync_is_made_up_for);
	RUN(a_log_of_little_use_is_made_shorter);
	fixture_remove();
	return CHECK_RESULT();
}
