/* SPDX-License-Identifier: MIT */
/* test_stage_crash.c - the process ends, or the power goes, at every call that
 * reaches the disk, in a run of puts, moves, drops and commits; and again while
 * the log is read back. What was accepted is in FILE or in the stage, once; what
 * was accepted and synced also after a power cut. (S1 to S8) */
#include <ctype.h>

#include "stage_fixture.h"

/* What is known of a letter, which is a row's image and label. */
enum state {
	UNKNOWN,  /* it may be there, once */
	ACCEPTED, /* there, unless the power goes */
	SYNCED,	  /* there */
	DROPPED,  /* not there, unless the power goes */
	GONE,	  /* not there */
};
static enum state states[128];
static bool over; /* the process has ended */

static void accepted(const char *letters, int r)
{
	over = over || crash_happened();
	for (; *letters; letters++)
		states[(int)*letters] = r == 0 && !over ? ACCEPTED : UNKNOWN;
}

static void synced(int r)
{
	over = over || crash_happened();
	for (int c = 0; r == 0 && !over && c < 128; c++) {
		if (states[c] == ACCEPTED)
			states[c] = SYNCED;
		if (states[c] == DROPPED)
			states[c] = GONE;
	}
}

static void a_row(char c, const char *name)
{
	const int64_t label = c;
	uint8_t bytes[6];
	const struct stage_value v[] = {
		{ IMAGES, bytes, 6 },
		{ LABELS - 1, &label, 8 },
	};
	const struct stage_place place = {
		.dir = "/g/images",
		.name = name,
		.stem = name,
	};
	uint64_t row;

	if (over)
		return;
	memset(bytes, c, 6);
	accepted((char[]){ c, 0 },
		 stage_put(stage, &set, &place, v, 2, &row, &refusal));
}

static void rows(const char *letters)
{
	for (; *letters; letters++)
		a_row(*letters, (char[]){ *letters, 0 });
}

static void a_batch(const char *letters)
{
	const struct stage_place place = {
		.dir = "/g/images",
		.name = "batch",
		.stem = "batch",
	};
	uint64_t n = strlen(letters), row;
	int64_t labels[8];
	uint8_t bytes[48];
	int r;

	if (over)
		return;
	for (uint64_t i = 0; i < n; i++) {
		memset(bytes + i * 6, letters[i], 6);
		labels[i] = letters[i];
	}
	r = stage_put_batch(stage, &set, &place, IMAGES, bytes, 6, n, &row,
			    &refusal);
	if (r == 0)
		r = stage_set_value(
			stage, row, &set,
			&(struct stage_value){ LABELS - 1, labels, n * 8 });
	accepted(letters, r);
}

static void drop(char c)
{
	int r;

	if (over)
		return;
	r = stage_drop(stage, "/g/images", (char[]){ c, 0 });
	over = crash_happened();
	states[(int)c] = r == 0 && !over ? DROPPED : UNKNOWN;
}

static void rename_to(char c, const char *to)
{
	const struct stage_place place = {
		.dir = "/g/images",
		.name = to,
		.stem = to,
	};

	if (over)
		return;
	CHECK_EQ(stage_move(stage, "/g/images", (char[]){ c, 0 }, &set, &place,
			    NULL, 0, &refusal) < 0,
		 crash_happened());
	over = crash_happened();
}

static void replace(char c, char by)
{
	enum state before = states[(int)c];

	if (over)
		return;
	a_row(by, (char[]){ c, 0 });
	/* In its place, if it was accepted. */
	states[(int)c] = states[(int)by] == ACCEPTED ? DROPPED : UNKNOWN;
	if (states[(int)by] != ACCEPTED)
		CHECK(before != GONE);
}

static void do_commit(enum stage_commit_kind kind)
{
	int r;

	if (over)
		return;
	r = commit(kind, NULL);
	over = crash_happened() || (r < 0 && file->broken);
	synced(r);
}

static void do_sync(void)
{
	if (!over)
		synced(stage_sync(stage));
}

/* What a mount might see in its life. */
static void a_life(void)
{
	rows("abc");
	do_sync();
	rows("de");
	drop('b');
	do_commit(STAGE_WHOLE_CHUNKS);
	rows("fg");
	rename_to('f', "other");
	a_batch("ijklm");
	do_commit(STAGE_WHOLE_CHUNKS);
	rows("no");
	replace('n', 'N');
	if (!over && stage_rewrite(stage) == 0)
		synced(0);
	over = over || crash_happened();
	rows("p");
	do_commit(STAGE_ALL);
	rows("qr");
	do_sync();
	drop('q');
	drop('r');
	rows("s");
}

/* ---- what is there ---- */
static int in_the_stage(char c)
{
	int n = 0;

	for (struct row *r = stage->first; r; r = r->next) {
		CLEANUP(blob_unrefp) struct blob *b = NULL;
		int q = stage_row_value(stage, r->number, "/g/images", &b);

		CHECK_EQ(q, 0);
		for (size_t i = 0; q == 0 && i < b->size; i += 6)
			n += b->data[i] == c;
	}
	return n;
}

static int in_the_file(char c)
{
	size_t images, labels;
	const uint8_t *b = fake_bytes(file, "/g/images", &images);
	const uint8_t *l = fake_bytes(file, "/g/labels", &labels);
	int n = 0;

	CHECK_EQ(images / 6, labels / 8);
	for (size_t i = 0; i < images / 6; i++) {
		CHECK_EQ(tolower(b[i * 6]), l[i * 8]); /* N has n's */
		n += b[i * 6] == c;
	}
	return n;
}

static bool is_right(enum state s, int n, bool power_cut)
{
	switch (s) {
	case ACCEPTED:
		return power_cut ? n <= 1 : n == 1;
	case SYNCED:
		return n == 1;
	case DROPPED:
		return power_cut ? n <= 1 : n == 0;
	case GONE:
		return n == 0;
	default:
		return n <= 1;
	}
}

static bool check_all(const char *when, long k, int tear, unsigned seed)
{
	bool right = true;

	for (char c = 'A'; c <= 'z'; c++) {
		int staged = in_the_stage(c), filed = in_the_file(c);

		if (is_right(states[(int)c], staged + filed, seed > 0))
			continue;
		printf("%s, call %ld, tear %d, seed %u: '%c' is %d times "
		       "staged, %d times in FILE; state %d\n",
		       when, k, tear, seed, c, staged, filed, states[(int)c]);
		right = false;
	}
	CHECK(right);
	return right;
}

/* The next mount, which may end while it is reading the log back. */
static void next_mount(long k, int tear, unsigned seed)
{
	if (k % 3 == 0) {
		crash_at(k % 17, tear);
		(void)open_on(&crash_disk, NULL);
		stage_close(stage);
		stage = NULL;
		crash_off();
		if (seed)
			crash_power_cut(seed * 7);
	}
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
}

/* It ends well, and the writer after it: what its journal knew is gone. Then the
 * power goes. */
static void end_well(unsigned seed)
{
	stage_close(stage);
	file->tag = 0;
	if (seed)
		crash_power_cut(seed * 3);
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
}

/* False: the life was over before call k. */
static bool live_and_end(long k, int tear, unsigned seed, enum fake_commit how)
{
	uint64_t waited = 0;
	bool ended, right;
	size_t n;

	memset(states, 0, sizeof(states));
	over = false;
	members[1] = members[LABELS];
	begin_with(2);
	file->dead = crash_happened;
	file->commit = how;
	crash_at(k, tear);
	a_life();
	ended = crash_happened();
	stage_close(stage);
	stage = NULL;
	fake_reopen(file);
	file->dead = NULL;
	crash_off();
	if (seed)
		crash_power_cut(seed);
	next_mount(k, tear, seed);
	if (k % 2)
		end_well(seed);
	right = check_all("read back", k, tear, seed);
	(void)fake_bytes(file, "/g/images", &n);
	set_n(n / 6);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	/* A batch whose labels did not come any more waits. */
	CHECK_EQ(status().rows, status().waiting);
	CHECK_EQ(stage_discard(stage, NULL, NULL, &waited), 0);
	CHECK(waited == 0 || (waited == 5 && states['i'] == UNKNOWN));
	if (right && !waited)
		check_all("committed", k, tear, seed);
	end_well(seed);
	if (right && !waited)
		check_all("ended well", k, tear, seed);
	CHECK(stage_is_empty(stage) || waited);
	end();
	return ended;
}

static long lives;

static void at_every_call(unsigned seed, enum fake_commit how)
{
	int before = check_failures;

	for (int tear = 0; tear <= 2; tear++) {
		long k = 0;

		while (live_and_end(k, tear, seed ? seed + (unsigned)k : 0,
				    how)) {
			lives++;
			k++;
			if (check_failures > before + 5)
				return;
		}
		CHECK(how != FAKE_COMMITS || k > 60);
	}
}

static void the_process_ends(void)
{
	at_every_call(0, FAKE_COMMITS);
}

static void the_process_ends_and_nobody_knows(void)
{
	at_every_call(0, FAKE_EIO_DID);
	at_every_call(0, FAKE_EIO_NOT);
}

static void the_power_goes(void)
{
	for (unsigned seed = 1; seed <= 6; seed++)
		at_every_call(seed * 1000, FAKE_COMMITS);
	at_every_call(77, FAKE_EIO_DID);
	at_every_call(78, FAKE_EIO_NOT);
}

int main(void)
{
	fixture_make();
	RUN(the_process_ends);
	RUN(the_process_ends_and_nobody_knows);
	RUN(the_power_goes);
	printf("%ld lives\n", lives);
	CHECK(lives > 1000);
	fixture_remove();
	return CHECK_RESULT();
}
