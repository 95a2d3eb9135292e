/* SPDX-License-Identifier: MIT */
/* test_stage_rows.c - rows, their files and their values, as they are put, moved,
 * dropped and read back. */
#include "stage_fixture.h"

/* ---- what is there ---- */
static uint64_t row_of(unsigned member, const char *class_name,
		       const char *name)
{
	struct stage_file f = { 0 };
	char dir[64];
	uint64_t row = 0;

	snprintf(dir, sizeof(dir), "%s%s%s", members[member].path,
		 class_name ? "\n" : "", class_name ? class_name : "");
	if (stage_find(stage, dir, name, &f) == 0)
		row = f.row;
	stage_file_done(&f);
	return row;
}

static char value_of(uint64_t row, unsigned member)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	int r = stage_row_value(stage, row, members[member].path, &b);

	CHECK(r == 0 || r == -ENODATA);
	return b ? (char)b->data[0] : '-';
}

static void nothing_is_made_before_the_first_row(void)
{
	begin_with(2);
	CHECK(stage_is_empty(stage));
	CHECK_EQ(access(side, F_OK), -1);
	CHECK_EQ(status().idle_ms, -1);
	CHECK_EQ(stage_sync(stage), 0);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'a', NULL), 0);
	CHECK(log_is_there());
	CHECK(!stage_is_empty(stage));
	CHECK(status().idle_ms >= 0);
	CHECK_EQ(stage_drop(stage, "/g/images", "a.png"), 0);
	CHECK(!log_is_there());
	CHECK(stage_is_empty(stage));
	CHECK_EQ(stage_drop(stage, "/g/images", "a.png"), -ENOENT);
	CHECK_EQ(stage_sync(stage), 0);
	end();
}

static void a_file_is_seen_as_it_was_put(void)
{
	struct stage_file f = { 0 };
	uint64_t a, b;

	begin_with(2);
	CHECK_EQ(put(IMAGES, "cat", "b.png", 'b', &b), 0);
	CHECK_EQ(put(IMAGES, "cat", "a.png", 'a', &a), 0);
	CHECK(a > b);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(listing("/g/images\ncat"), "a.png=a b.png=b ");
		CHECK_STR(listing("/g/images"), "");
		CHECK_EQ(stage_find(stage, "/g/images\ncat", "a.png", &f), 0);
		CHECK_EQ(f.row, a);
		CHECK_EQ(f.nrows, 1);
		CHECK(!f.batch && !f.npy);
		CHECK_STR(f.set, "/g");
		CHECK_STR(f.member, "/g/images");
		CHECK_STR(f.class_name, "cat");
		CHECK_STR(f.name, "a.png");
		CHECK_EQ(f.size, 6);
		CHECK(f.mtime.tv_sec > 1600000000);
		stage_file_done(&f);
		CHECK_EQ(stage_find(stage, "/g/images", "a.png", &f), -ENOENT);
		reopen();
	}
	end();
}

static void an_image_and_its_mask_are_one_row(void)
{
	uint64_t a, b, c;

	begin_with(2);
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'i', &a), 0);
	CHECK_EQ(status().waiting, 1);
	CHECK_EQ(put(MASKS, NULL, "s.png", 'm', &b), 0);
	CHECK_EQ(a, b);
	CHECK_EQ(status().rows, 1);
	CHECK_EQ(status().waiting, 0);
	CHECK_EQ(status().complete, 1);
	/* The other order, and another suffix. */
	CHECK_EQ(put(MASKS, NULL, "t.tif", 'm', &b), 0);
	CHECK_EQ(put(IMAGES, NULL, "t.png", 'i', &c), 0);
	CHECK_EQ(b, c);
	/* It has one already. */
	CHECK_EQ(put(MASKS, NULL, "t.png", 'm', &c), 0);
	CHECK(c != b);
	CHECK_EQ(status().rows, 3);
	end();
}

static void rows_of_two_classes_are_two(void)
{
	uint64_t cat, dog, m;

	begin_with(2);
	CHECK_EQ(put(IMAGES, "cat", "s.png", 'c', &cat), 0);
	CHECK_EQ(put(IMAGES, "dog", "s.png", 'd', &dog), 0);
	CHECK(cat != dog);
	CHECK_EQ(put(MASKS, NULL, "s.png", 'm', &m), -EINVAL);
	CHECK_STR(refusal.reason, "2 staged rows called s wait for masks "
				  "(classes: cat, dog)");
	CHECK_STR(refusal.remedy,
		  "copy it into masks.by-class/CLASS/ of its class");
	CHECK_STR(listing("/g/masks"), "");
	CHECK_EQ(put(MASKS, "dog", "s.png", 'm', &m), 0);
	CHECK_EQ(m, dog);
	/* Now only one waits. */
	CHECK_EQ(put(MASKS, NULL, "s.png", 'n', &m), 0);
	CHECK_EQ(m, cat);
	end();
}

static void a_row_without_class_gets_one(void)
{
	struct stage_file f = { 0 };
	uint64_t a, b;

	begin_with(2);
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'i', &a), 0);
	CHECK_EQ(put(MASKS, "cat", "s.png", 'm', &b), 0);
	CHECK_EQ(a, b);
	reopen();
	CHECK_EQ(stage_find(stage, "/g/images", "s.png", &f), 0);
	CHECK_STR(f.class_name, "cat");
	stage_file_done(&f);
	/* Its own class first, then none. */
	CHECK_EQ(put(IMAGES, NULL, "t.png", 'i', &a), 0);
	CHECK_EQ(put(IMAGES, "cat", "t.png", 'i', &b), 0);
	CHECK_EQ(put(MASKS, NULL, "t.png", 'm', &a), 0);
	CHECK_EQ(a, row_of(IMAGES, NULL, "t.png"));
	CHECK_EQ(put(MASKS, "cat", "t.png", 'm', &a), 0);
	CHECK_EQ(a, b);
	/* Another class is another row. */
	CHECK_EQ(put(IMAGES, "cat", "u.png", 'i', &a), 0);
	CHECK_EQ(put(MASKS, "dog", "u.png", 'm', &b), 0);
	CHECK(a != b);
	end();
}

static void two_of_one_name_are_told_apart_by_nobody(void)
{
	uint64_t row;

	begin_with(2);
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'i', NULL), 0);
	CHECK_EQ(put(IMAGES, NULL, "s.jpg", 'j', NULL), 0);
	CHECK_EQ(put(MASKS, NULL, "s.png", 'm', &row), -EINVAL);
	CHECK_STR(refusal.remedy, "give each file a name of its own");
	end();
}

static void a_file_again_replaces_the_value(void)
{
	uint64_t a, b;

	begin_with(2);
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'i', &a), 0);
	CHECK_EQ(put(MASKS, NULL, "s.png", 'm', NULL), 0);
	CHECK_EQ(put(IMAGES, NULL, "t.png", 't', NULL), 0);
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'j', &b), 0);
	CHECK_EQ(a, b);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(listing("/g/images"), "s.png=j t.png=t ");
		CHECK_EQ(value_of(a, MASKS), 'm');
		CHECK_EQ(status().rows, 2);
		reopen();
	}
	end();
}

static void what_goes_with_a_file_fills_what_the_row_lacks(void)
{
	const int64_t seven = 7, eight = 8;
	struct stage_value v[] = {
		{ IMAGES, "abcdef", 6 },
		{ LABELS, &seven, 8 },
		{ NAMES, "s.png", 5 },
	};
	struct stage_place place = {
		.dir = "/g/images\n7",
		.class_name = "7",
		.name = "s.png",
		.stem = "s",
	};
	uint64_t row;

	begin_with(4);
	CHECK_EQ(stage_put(stage, &set, &place, v, 3, &row, &refusal), 0);
	CHECK_EQ(value_of(row, LABELS), 7);
	CHECK_EQ(value_of(row, NAMES), 's');
	CHECK_EQ(status().complete, 0);
	v[0] = (struct stage_value){ MASKS, "xy", 2 };
	v[1].bytes = &eight;
	place.dir = "/g/masks\n7";
	CHECK_EQ(stage_put(stage, &set, &place, v, 3, &row, &refusal), 0);
	CHECK_EQ(value_of(row, LABELS), 7);
	CHECK_EQ(value_of(row, MASKS), 'x');
	CHECK_EQ(status().complete, 1);
	CHECK_EQ(status().rows, 1);
	end();
}

static void a_value_alone(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t row;

	begin_with(3);
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'i', &row), 0);
	CHECK_EQ(set_value(row, LABELS, 5), 0);
	CHECK_EQ(set_value(row, LABELS, 6), 0);
	CHECK_EQ(set_value(row + 1, LABELS, 6), -ENOENT);
	CHECK_EQ(stage_set_value(stage, row, &set,
				 &(struct stage_value){ LABELS, "ab", 2 }),
		 -EINVAL);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(value_of(row, LABELS), 6);
		CHECK_EQ(value_of(row, MASKS), '-');
		reopen();
	}
	CHECK_EQ(stage_row_value(stage, row, "/g/none", &b), -ENODATA);
	CHECK_EQ(stage_row_value(stage, row + 1, "/g/labels", &b), -ENOENT);
	end();
}

static void a_value_of_the_wrong_length_is_refused(void)
{
	const struct stage_value v = { IMAGES, "abc", 3 };
	const struct stage_place place = {
		.dir = "/g/images",
		.name = "s.png",
		.stem = "s",
	};
	uint64_t row;

	begin_with(2);
	CHECK_EQ(stage_put(stage, &set, &place, &v, 1, &row, &refusal),
		 -EINVAL);
	CHECK(stage_is_empty(stage));
	CHECK(!log_is_there());
	end();
}

static void a_dropped_file_takes_its_value(void)
{
	uint64_t row;

	begin_with(2);
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'i', &row), 0);
	CHECK_EQ(put(MASKS, NULL, "s.png", 'm', NULL), 0);
	CHECK_EQ(stage_drop(stage, "/g/images", "s.png"), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(value_of(row, IMAGES), '-');
		CHECK_EQ(value_of(row, MASKS), 'm');
		CHECK_EQ(status().waiting, 1);
		reopen();
	}
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'j', NULL), 0);
	CHECK_EQ(row_of(IMAGES, NULL, "s.png"), row);
	CHECK_EQ(stage_drop(stage, "/g/images", "s.png"), 0);
	CHECK_EQ(stage_drop(stage, "/g/masks", "s.png"), 0);
	CHECK(stage_is_empty(stage));
	end();
}

static void a_held_row_is_not_ready(void)
{
	uint64_t row;

	begin_with(1);
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'i', &row), 0);
	CHECK_EQ(status().complete, 1);
	stage_hold(stage, row);
	stage_hold(stage, row);
	stage_hold(stage, row + 1);
	CHECK_EQ(status().complete, 0);
	CHECK_EQ(status().waiting, 0);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "");
	stage_release(stage, row);
	CHECK_EQ(status().complete, 0);
	stage_release(stage, row);
	stage_release(stage, row);
	CHECK_EQ(status().complete, 1);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "i");
	end();
}

/* ---- another name ---- */
static int move(unsigned member, const char *from, const char *name,
		const char *to, const char *to_name)
{
	char dir[64], to_dir[64], stem[32];
	const int64_t label = to ? to[0] : 0;
	const struct stage_value v = { LABELS, &label, 8 };
	const struct stage_place place = {
		.dir = to_dir,
		.class_name = to,
		.name = to_name,
		.stem = stem,
	};

	snprintf(dir, sizeof(dir), "%s%s%s", members[member].path,
		 from ? "\n" : "", from ? from : "");
	snprintf(to_dir, sizeof(to_dir), "%s%s%s", members[member].path,
		 to ? "\n" : "", to ? to : "");
	snprintf(stem, sizeof(stem), "%.*s", (int)strcspn(to_name, "."),
		 to_name);
	refusal_done(&refusal);
	return stage_move(stage, dir, name, &set, &place, &v, to ? 1 : 0,
			  &refusal);
}

static void another_name_is_the_same_row(void)
{
	uint64_t row;

	begin_with(3);
	CHECK_EQ(put(IMAGES, NULL, "s.png", 'i', &row), 0);
	CHECK_EQ(set_value(row, LABELS, 5), 0);
	CHECK_EQ(move(IMAGES, NULL, "s.png", NULL, "t.png"), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(listing("/g/images"), "t.png=i ");
		CHECK_EQ(row_of(IMAGES, NULL, "t.png"), row);
		CHECK_EQ(value_of(row, LABELS), 5);
		reopen();
	}
	CHECK_EQ(put(MASKS, NULL, "t.png", 'm', NULL), 0);
	CHECK_EQ(row_of(MASKS, NULL, "t.png"), row);
	CHECK_EQ(move(IMAGES, NULL, "s.png", NULL, "t.png"), -ENOENT);
	end();
}

static void another_class_is_another_label(void)
{
	uint64_t row;

	begin_with(3);
	CHECK_EQ(put(IMAGES, "cat", "s.png", 'i', &row), 0);
	CHECK_EQ(put(MASKS, "cat", "s.png", 'm', NULL), 0);
	CHECK_EQ(set_value(row, LABELS, 'c'), 0);
	CHECK_EQ(move(IMAGES, "cat", "s.png", "dog", "s.png"), 0);
	for (int i = 0; i < 2; i++) {
		/* The mask came along. */
		CHECK_EQ(row_of(IMAGES, "dog", "s.png"), row);
		CHECK_EQ(row_of(MASKS, "cat", "s.png"), row);
		CHECK_EQ(value_of(row, LABELS), 'd');
		CHECK_EQ(status().rows, 1);
		CHECK_STR(listing("/g/images\ncat"), "");
		reopen();
	}
	end();
}

static void a_move_splits_and_joins(void)
{
	uint64_t a, b;

	begin_with(2);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'i', &a), 0);
	CHECK_EQ(put(MASKS, NULL, "a.png", 'm', NULL), 0);
	CHECK_EQ(move(IMAGES, NULL, "a.png", NULL, "b.png"), 0);
	b = row_of(IMAGES, NULL, "b.png");
	CHECK(b > a);
	CHECK_EQ(value_of(a, IMAGES), '-');
	CHECK_EQ(value_of(a, MASKS), 'm');
	CHECK_EQ(value_of(b, IMAGES), 'i');
	CHECK_EQ(status().waiting, 2);
	reopen();
	CHECK_EQ(move(MASKS, NULL, "a.png", NULL, "b.png"), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(row_of(MASKS, NULL, "b.png"), b);
		CHECK_EQ(status().rows, 1);
		CHECK_EQ(status().complete, 1);
		CHECK_EQ(value_of(b, MASKS), 'm');
		reopen();
	}
	end();
}

static void a_move_replaces_what_is_there(void)
{
	uint64_t a;

	begin_with(2);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'i', &a), 0);
	CHECK_EQ(put(IMAGES, NULL, "b.png", 'j', NULL), 0);
	CHECK_EQ(move(IMAGES, NULL, "a.png", NULL, "b.png"), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(listing("/g/images"), "b.png=i ");
		CHECK_EQ(row_of(IMAGES, NULL, "b.png"), a);
		CHECK_EQ(status().rows, 1);
		reopen();
	}
	/* To itself. */
	CHECK_EQ(move(IMAGES, NULL, "b.png", NULL, "b.png"), 0);
	CHECK_STR(listing("/g/images"), "b.png=i ");
	end();
}

static void a_move_into_another_set_is_not_one(void)
{
	const struct stage_place place = {
		.dir = "/h/images",
		.name = "a.png",
		.stem = "a",
	};
	struct stage_set other = set;

	begin_with(1);
	other.key = (char *)"/h";
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'i', NULL), 0);
	CHECK_EQ(stage_move(stage, "/g/images", "a.png", &other, &place, NULL,
			    0, &refusal),
		 -EXDEV);
	CHECK_STR(listing("/g/images"), "a.png=i ");
	end();
}

static void values_come_along_when_rows_join(void)
{
	uint64_t a, b;

	begin_with(3);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'i', &a), 0);
	CHECK_EQ(set_value(a, LABELS, 5), 0);
	CHECK_EQ(put(MASKS, NULL, "b.png", 'm', &b), 0);
	CHECK_EQ(move(IMAGES, NULL, "a.png", NULL, "b.png"), 0);
	CHECK_EQ(row_of(IMAGES, NULL, "b.png"), b);
	CHECK_EQ(value_of(b, LABELS), 5);
	CHECK_EQ(status().rows, 1);
	end();
}

/* ---- batches ---- */
static int put_batch(unsigned member, const char *name, const char *letters,
		     uint64_t *ret_row)
{
	const struct stage_place place = {
		.dir = members[member].path,
		.name = name,
		.stem = "batch",
		.npy = true,
	};
	uint64_t n = strlen(letters), each = stage_row_bytes(&members[member]);
	CLEANUP(freep) uint8_t *bytes = malloc(n * each + 1);

	for (uint64_t i = 0; i < n; i++)
		memset(bytes + i * each, letters[i], each);
	refusal_done(&refusal);
	return stage_put_batch(stage, &set, &place, member, bytes, each, n,
			       ret_row, &refusal);
}

static void a_batch_is_one_file_of_many_rows(void)
{
	const int64_t labels[] = { 'x', 'y', 'z' };
	struct stage_file f = { 0 };
	uint64_t row, masks;

	begin_with(3);
	CHECK_EQ(put_batch(IMAGES, "batch.npy", "abc", &row), 0);
	CHECK_EQ(status().rows, 3);
	CHECK_EQ(status().waiting, 3);
	CHECK_EQ(put_batch(MASKS, "batch.npy", "abcd", &masks), 0);
	CHECK(masks != row); /* of another length */
	CHECK_EQ(put_batch(MASKS, "batch.npy", "mno", &masks), 0);
	CHECK_EQ(masks, row);
	CHECK_EQ(stage_set_value(stage, row, &set,
				 &(struct stage_value){ LABELS, labels, 24 }),
		 0);
	CHECK_EQ(stage_set_value(stage, row, &set,
				 &(struct stage_value){ LABELS, labels, 16 }),
		 -EINVAL);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(stage_find(stage, "/g/images", "batch.npy", &f), 0);
		CHECK_EQ(f.nrows, 3);
		CHECK_EQ(f.size, 18);
		CHECK(f.batch && f.npy);
		stage_file_done(&f);
		CHECK_EQ(status().complete, 3);
		CHECK_EQ(status().rows, 3);
		reopen();
	}
	CHECK_EQ(put_batch(IMAGES, "none.npy", "", &row), -EINVAL);
	end();
}

static void another_batch_of_the_name_replaces_it(void)
{
	uint64_t a, b, c;

	begin_with(1);
	CHECK_EQ(put_batch(IMAGES, "batch.npy", "abc", &a), 0);
	CHECK_EQ(put_batch(IMAGES, "batch.npy", "def", &b), 0);
	CHECK_EQ(a, b);
	CHECK_EQ(put_batch(IMAGES, "batch.npy", "ghij", &c), 0);
	CHECK(c > b);
	CHECK_EQ(status().rows, 4);
	CHECK_EQ(put(IMAGES, NULL, "batch.npy", 'k', NULL), 0);
	CHECK_EQ(status().rows, 1);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK_STR(in_file(IMAGES), "k");
	end();
}

/* ---- lists ---- */
static void a_list_goes_on_after_a_name(void)
{
	struct stage_names n = { 0 };
	char name[16];
	size_t total = 0;

	begin_with(1);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "%05d.png", i * 7 % 3000);
		CHECK_EQ(put(IMAGES, NULL, name, 'x', NULL), 0);
	}
	name[0] = '\0';
	do {
		CHECK_EQ(stage_list(stage, "/g/images", total ? name : NULL,
				    100, &n),
			 0);
		for (size_t i = 0; i < n.count; i++) {
			CHECK(strcmp(n.names[i], name) > 0);
			snprintf(name, sizeof(name), "%s", n.names[i]);
		}
		total += n.count;
		if (!n.count)
			break;
		stage_names_done(&n);
	} while (1);
	CHECK_EQ(total, 3000);
	CHECK_EQ(stage_list(stage, "/g/images", "00500x", 1, &n), 0);
	CHECK_STR(n.names[0], "00501.png");
	stage_names_done(&n);
	CHECK_EQ(stage_sets(stage, &n), 0);
	CHECK_EQ(n.count, 1);
	CHECK_STR(n.names[0], "/g");
	stage_names_done(&n);
	end();
}

static void discard_by_directory_and_name(void)
{
	uint64_t n = 99;

	begin_with(2);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'a', NULL), 0);
	CHECK_EQ(put(MASKS, NULL, "a.png", 'a', NULL), 0);
	CHECK_EQ(put(IMAGES, "cat", "b.png", 'b', NULL), 0);
	CHECK_EQ(put(IMAGES, NULL, "c.png", 'c', NULL), 0);
	CHECK_EQ(put_batch(MASKS, "m.npy", "xyz", &n), 0);
	CHECK_EQ(stage_discard(stage, "/g/images", "nothing", &n), 0);
	CHECK_EQ(n, 0);
	/* The whole row goes, its mask too. */
	CHECK_EQ(stage_discard(stage, "/g/images", "a.png", &n), 0);
	CHECK_EQ(n, 1);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(listing("/g/images"), "c.png=c ");
		CHECK_STR(listing("/g/masks"), "m.npy=x ");
		reopen();
	}
	CHECK_EQ(stage_discard(stage, "/g/image", NULL, &n), 0);
	CHECK_EQ(n, 0);
	CHECK_EQ(stage_discard(stage, "/g/images", NULL, &n), 0);
	CHECK_EQ(n, 2);
	CHECK_EQ(stage_discard(stage, NULL, NULL, &n), 0);
	CHECK_EQ(n, 3);
	CHECK(stage_is_empty(stage));
	CHECK(!log_is_there());
	end();
}

/* ---- status ---- */
static void what_waits_is_told(void)
{
	struct stage_status st = { 0 };

	begin_with(3);
	CHECK_EQ(put(IMAGES, "cat", "a.png", 'a', NULL), 0);
	for (int i = 0; i < 2; i++) {
		/* Also at the next mount, before anything is given. */
		CHECK_EQ(stage_get_status(stage, &st), 0);
		CHECK_EQ(st.nlist, 1);
		CHECK_STR(st.list[0].set, "/g");
		CHECK_STR(st.list[0].name, "a.png");
		CHECK_STR(st.list[0].class_name, "cat");
		CHECK_STR(st.list[0].missing, "masks, labels");
		CHECK(st.bytes > 100);
		stage_status_done(&st);
		reopen();
	}
	CHECK(status().idle_ms >= 0);
	end();
}

static void a_full_chunk_is_told(void)
{
	uint64_t row;
	char name[16];

	begin_with(1); /* images: 4 rows a chunk */
	set_n(6);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'a', &row), 0);
	CHECK(!status().chunk_full);
	CHECK_EQ(put(IMAGES, NULL, "b.png", 'b', NULL), 0);
	CHECK(status().chunk_full);
	stage_hold(stage, row);
	CHECK(!status().chunk_full);
	stage_release(stage, row);
	CHECK(status().chunk_full);
	set_n(5);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%d.png", i);
		CHECK_EQ(put(IMAGES, NULL, name, 'x', NULL), 0);
		CHECK(status().chunk_full);
	}
	CHECK_EQ(stage_drop(stage, "/g/images", "0.png"), 0);
	CHECK(status().chunk_full);
	CHECK_EQ(stage_drop(stage, "/g/images", "1.png"), 0);
	CHECK(!status().chunk_full);
	end();
}

static void what_a_row_needs_is_as_it_was_last_said(void)
{
	begin_with(1);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'a', NULL), 0);
	CHECK_EQ(status().complete, 1);
	set.nmembers = 2;
	CHECK_EQ(put(IMAGES, NULL, "b.png", 'b', NULL), 0);
	CHECK_EQ(status().complete, 0);
	CHECK_EQ(status().waiting, 2);
	reopen();
	CHECK_EQ(status().waiting, 2);
	set.nmembers = 1;
	CHECK_EQ(put(IMAGES, NULL, "c.png", 'c', NULL), 0);
	CHECK_EQ(status().complete, 3);
	end();
}

/* ---- where the log lies (S9) ---- */
static void the_log_elsewhere_is_found(void)
{
	struct stage_options o = { 0 };
	char dir[100], cmd[300], pointer[100];
	char *why = NULL;

	begin_with(1);
	stage_close(stage);
	snprintf(dir, sizeof(dir), "%s/elsewhere", top);
	snprintf(pointer, sizeof(pointer), "%s/stage.at", side);
	CHECK_EQ(open_on(&stage_disk, dir), -ENOENT);
	CHECK_EQ(mkdir(dir, 0777), 0);
	CHECK_EQ(open_on(&stage_disk, dir), 0);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'a', NULL), 0);
	CHECK(!log_is_there());
	CHECK_EQ(access(pointer, F_OK), 0);
	stage_close(stage);
	/* Without the option. */
	CHECK_EQ(open_on(&stage_disk, NULL), 0);
	CHECK_STR(listing("/g/images"), "a.png=a ");
	CHECK_EQ(put(IMAGES, NULL, "b.png", 'b', NULL), 0);
	CHECK(!log_is_there());
	stage_close(stage);
	/* Not there: nobody guesses. */
	snprintf(cmd, sizeof(cmd), "mv %s %s.away", dir, dir);
	CHECK_EQ(system(cmd), 0);
	CHECK_EQ(stage_open(file, &o, &stage, &why), -ENOENT);
	CHECK(why && strstr(why, "elsewhere") && strstr(why, "stage.at"));
	free(why);
	snprintf(cmd, sizeof(cmd), "mv %s.away %s", dir, dir);
	CHECK_EQ(system(cmd), 0);
	CHECK_EQ(open_on(&stage_disk, NULL), 0);
	CHECK_EQ(stage_drop(stage, "/g/images", "a.png"), 0);
	CHECK_EQ(stage_drop(stage, "/g/images", "b.png"), 0);
	CHECK_EQ(access(pointer, F_OK), -1);
	/* Empty: the next one goes where it is asked for. */
	CHECK_EQ(put(IMAGES, NULL, "c.png", 'c', NULL), 0);
	CHECK(log_is_there());
	stage_close(stage);
	CHECK_EQ(open_on(&stage_disk, dir), 0);
	CHECK_STR(listing("/g/images"), "c.png=c ");
	CHECK_EQ(stage_sync(stage), 0);
	CHECK_EQ(rmdir(dir), 0);
	end();
}

/* ---- whatever was done, it is read back the same ---- */
static char *dump(void)
{
	struct strbuf out = STRBUF_INIT;

	for (struct row *r = stage->first; r; r = r->next) {
		strbuf_printf(&out, "%llu %s %s %llu/%llu:",
			      (unsigned long long)r->number,
			      r->class_name ? r->class_name : "-", r->stem,
			      (unsigned long long)r->done,
			      (unsigned long long)r->nrows);
		for (unsigned m = 0; m < 4; m++) {
			struct blob *b = NULL;

			if (stage_row_value(stage, r->number, members[m].path,
					    &b) < 0)
				continue;
			strbuf_printf(&out, " %u=%.*s(%zu)", m, 1, b->data,
				      b->size);
			blob_unref(b);
		}
		strbuf_puts(&out, r->complete ? " complete\n" : "\n");
	}
	for (struct sorted_node *n = sorted_from(&stage->dirs, NULL); n;
	     n = sorted_after(&stage->dirs,
			      container_of(n, struct dir, node)->key)) {
		struct dir *d = container_of(n, struct dir, node);

		strbuf_printf(&out, "%s", listing(d->key));
		if (d->files.root)
			strbuf_printf(&out, "in %s\n", d->key);
	}
	strbuf_printf(&out, "%llu rows, %llu wait, %llu ready, %llu live",
		      (unsigned long long)stage->nrows,
		      (unsigned long long)stage->nwaiting,
		      (unsigned long long)stage->nready,
		      (unsigned long long)stage->live);
	return strbuf_steal(&out);
}

static unsigned dice;

static unsigned roll(unsigned sides)
{
	dice = dice * 1103515245 + 12345;
	return (dice >> 16) % sides;
}

static const char *any_class(void)
{
	static const char *const classes[] = { NULL, NULL, "cat", "dog" };

	return classes[roll(4)];
}

static void any_change(void)
{
	static const char *const names[] = { "a.png", "b.png", "a.jpg",
					     "c.png" };
	const char *class_name = any_class(), *name = names[roll(4)];
	unsigned member = roll(2);
	char letter = (char)('A' + roll(26)), dir[32];
	uint64_t row = 1 + roll((unsigned)stage->next_row), n;

	snprintf(dir, sizeof(dir), "%s%s%s", members[member].path,
		 class_name ? "\n" : "", class_name ? class_name : "");
	switch (roll(10)) {
	case 0:
		(void)set_value(row, LABELS, letter);
		break;
	case 1:
		(void)stage_drop(stage, dir, name);
		break;
	case 2:
	case 3:
		(void)move(member, class_name, name, any_class(),
			   names[roll(4)]);
		break;
	case 4:
		(void)put_batch(member, "x.npy", roll(2) ? "pqr" : "st", &row);
		break;
	case 5:
		(void)commit(roll(2) ? STAGE_ALL : STAGE_WHOLE_CHUNKS, NULL);
		break;
	case 6:
		if (roll(5) == 0)
			(void)stage_discard(stage, dir, roll(2) ? name : NULL,
					    &n);
		break;
	default:
		(void)put(member, class_name, name, letter, NULL);
	}
}

static void what_was_done_is_read_back_the_same(void)
{
	for (unsigned seed = 0; seed < 150; seed++) {
		begin_with(3);
		dice = seed;
		for (int i = 0; i < 60; i++) {
			CLEANUP(freep) char *before = NULL, *after = NULL;

			any_change();
			if (roll(4))
				continue;
			before = dump();
			if (roll(2))
				CHECK_EQ(stage_rewrite(stage), 0);
			else
				reopen();
			after = dump();
			CHECK_STR(after, before);
		}
		end();
	}
}

/* ---- a log that somebody else wrote, with good checksums ---- */
static void damage_head(struct strbuf *head)
{
	static const uint8_t bytes[] = { 0, 1, 2, 0x7f, 0x80, 0xff };

	for (unsigned n = roll(4); n && head->len; n--)
		head->buf[roll((unsigned)head->len)] =
			(char)(roll(2) ? bytes[roll(6)] : roll(256));
	if (roll(8) == 0)
		head->len = roll((unsigned)head->len + 1);
}

/* The same records, with heads that say anything, in any order. */
static void rewrite_hostile(const char *path)
{
	struct slog_record rec = { .bytes = STRBUF_INIT };
	struct slog_scan scan;
	struct slog from, to;
	char name[120];

	snprintf(name, sizeof(name), "%s.hostile", path);
	if (slog_open(&stage_disk, path, &from, &scan) < 0)
		return;
	CHECK_EQ(slog_create(&stage_disk, name, &to), 0);
	while (slog_next(&scan, &rec) == 1) {
		const struct slog_part part = {
			.from = from.file,
			.at = rec.payload,
			.size = roll(9) ? rec.npayload : rec.npayload / 2,
		};
		struct strbuf head = STRBUF_INIT;
		uint64_t at;

		strbuf_put(&head, rec.head, rec.nhead);
		if (roll(4) == 0)
			damage_head(&head);
		for (unsigned n = roll(8) ? 1 : roll(3); n; n--)
			CHECK_EQ(slog_append(&to,
					     roll(20) ? rec.kind : roll(16),
					     &head, &part, 1, &at),
				 0);
		strbuf_done(&head);
	}
	slog_record_done(&rec);
	slog_scan_done(&scan);
	slog_done(&from);
	slog_done(&to);
	CHECK_EQ(rename(name, path), 0);
}

static void hostile_logs_do_no_harm(void)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/stage", side);
	for (unsigned seed = 1000; seed < 1400; seed++) {
		uint64_t n;

		begin_with(3);
		dice = seed;
		for (int i = 0; i < 30; i++) {
			any_change();
			if (roll(6) == 0) {
				char part[32];

				snprintf(part, sizeof(part), "/p%u.part",
					 roll(4));
				(void)tree_mkdir(stage, part);
				strcat(part, "/x");
				(void)tree_put(stage, part, "12", 2, false);
				(void)tree_attr(stage, part, "a", "1", 1);
				(void)tree_move(stage, part, "/p1.part/y");
			}
		}
		stage_close(stage);
		rewrite_hostile(path);
		crash_reset();
		CHECK_EQ(open_on(&stage_disk, NULL), 0);
		for (int i = 0; i < 10; i++)
			any_change();
		CHECK_EQ(stage_discard(stage, NULL, NULL, &n), 0);
		end();
	}
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	fixture_make();
	RUN(nothing_is_made_before_the_first_row);
	RUN(a_file_is_seen_as_it_was_put);
	RUN(an_image_and_its_mask_are_one_row);
	RUN(rows_of_two_classes_are_two);
	RUN(a_row_without_class_gets_one);
	RUN(two_of_one_name_are_told_apart_by_nobody);
	RUN(a_file_again_replaces_the_value);
	RUN(what_goes_with_a_file_fills_what_the_row_lacks);
	RUN(a_value_alone);
	RUN(a_value_of_the_wrong_length_is_refused);
	RUN(a_dropped_file_takes_its_value);
	RUN(a_held_row_is_not_ready);
	RUN(another_name_is_the_same_row);
	RUN(another_class_is_another_label);
	RUN(a_move_splits_and_joins);
	RUN(a_move_replaces_what_is_there);
	RUN(a_move_into_another_set_is_not_one);
	RUN(values_come_along_when_rows_join);
	RUN(a_batch_is_one_file_of_many_rows);
	RUN(another_batch_of_the_name_replaces_it);
	RUN(a_list_goes_on_after_a_name);
	RUN(discard_by_directory_and_name);
	RUN(what_waits_is_told);
	RUN(a_full_chunk_is_told);
	RUN(what_a_row_needs_is_as_it_was_last_said);
	RUN(the_log_elsewhere_is_found);
	RUN(what_was_done_is_read_back_the_same);
	RUN(hostile_logs_do_no_harm);
	fixture_remove();
	return CHECK_RESULT();
}
