/* SPDX-License-Identifier: MIT */
/* test_stage_threads.c - rows are put, seen and dropped by many while they are
 * committed: each is in FILE once, in order. */
#include "stage_fixture.h"

#define ROWS 400
#define PUTTERS 3

static int unfinished; /* atomic */

static void *put_rows(void *arg)
{
	const char first = *(const char *)arg;
	struct stage_member m = members[IMAGES];
	struct stage_set own = {
		.key = (char *)"/g",
		.nmembers = 1,
		.members = &m,
	};
	struct refusal f = { 0 };
	char name[16];
	uint8_t bytes[6];
	uint64_t row, last = 0;

	for (int i = 0; i < ROWS; i++) {
		const struct stage_value v = { 0, bytes, 6 };
		const struct stage_place place = {
			.dir = "/g/images",
			.name = name,
			.stem = name,
		};

		snprintf(name, sizeof(name), "%c%d", first, i);
		memset(bytes, first, 6);
		memcpy(bytes + 1, &i, 4);
		CHECK_EQ(stage_put(stage, &own, &place, &v, 1, &row, &f), 0);
		CHECK(row > last);
		last = row;
		if (i % 10 == 9) { /* one more, again and again */
			snprintf(name, sizeof(name), "%c-drop", first);
			stage_put(stage, &own, &place, &v, 1, &row, &f);
			stage_hold(stage, row);
			stage_release(stage, row);
		}
	}
	__atomic_sub_fetch(&unfinished, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *look(void *arg)
{
	uint64_t n;

	(void)arg;
	while (__atomic_load_n(&unfinished, __ATOMIC_ACQUIRE)) {
		struct stage_status st = { 0 };
		struct stage_names names = { 0 };
		struct blob *b = NULL;

		CHECK_EQ(stage_get_status(stage, &st), 0);
		stage_status_done(&st);
		CHECK_EQ(stage_list(stage, "/g/images", "a2", 50, &names), 0);
		for (size_t i = 0; i < names.count; i++) {
			int r = stage_read(stage, "/g/images", names.names[i],
					   &b);

			CHECK(r == 0 || r == -ENOENT);
			if (r == 0)
				CHECK_EQ(b->data[0], names.names[i][0]);
			blob_unref(TAKE(b));
		}
		stage_names_done(&names);
		CHECK_EQ(stage_sync(stage), 0);
		CHECK_EQ(tree_mkdir(stage, "/p.part"), 0);
		CHECK_EQ(stage_discard(stage, "/", "p.part", &n), 0);
	}
	return NULL;
}

static void check_file(void)
{
	int next[PUTTERS] = { 0 };
	size_t n;
	const uint8_t *b = fake_bytes(file, "/g/images", &n);

	for (size_t i = 0; i < n; i += 6) {
		int who = b[i] - 'a', at;

		memcpy(&at, b + i + 1, 4);
		if (at == next[who])
			next[who]++;
		else
			CHECK_EQ(at % 10, 9); /* the one more */
	}
	for (int i = 0; i < PUTTERS; i++)
		CHECK_EQ(next[i], ROWS);
}

static void everybody_at_once(void)
{
	char letters[PUTTERS] = { 'a', 'b', 'c' };
	pthread_t threads[PUTTERS + 1];

	begin_with(1);
	stage_close(stage);
	CHECK_EQ(open_on(&stage_disk, NULL), 0);
	unfinished = PUTTERS;
	for (int i = 0; i < PUTTERS; i++)
		pthread_create(&threads[i], NULL, put_rows, &letters[i]);
	pthread_create(&threads[PUTTERS], NULL, look, NULL);
	while (__atomic_load_n(&unfinished, __ATOMIC_ACQUIRE)) {
		CHECK_EQ(commit(STAGE_WHOLE_CHUNKS, NULL), 0);
		usleep(1000);
	}
	for (int i = 0; i <= PUTTERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	check_file();
	CHECK(stage_is_empty(stage));
	end();
}

int main(void)
{
	fixture_make();
	RUN(everybody_at_once);
	fixture_remove();
	return CHECK_RESULT();
}
