/* SPDX-License-Identifier: MIT */
/* test_marks.c - where listings in order of names go on. */
#include "ns_int.h"

#include "check.h"

static struct ns ns;

static void found(uint64_t dir, uint64_t at, const char *name, uint64_t where)
{
	CLEANUP(freep) char *after = NULL;
	uint64_t found_at = 99;

	CHECK_EQ(mark_find(&ns, dir, at, &after, &found_at), 0);
	CHECK_EQ(found_at, where);
	if (name)
		CHECK_STR(after, name);
	else
		CHECK(!after);
}

static void a_listing_goes_on_behind_the_last_name(void)
{
	found(7, 0, NULL, 0);
	mark_put(&ns, 7, 100, "c");
	mark_put(&ns, 7, 200, "f");
	found(7, 200, "f", 200);
	found(7, 150, "c", 100);
	found(7, 99, NULL, 0);
	found(8, 200, NULL, 0);
}

static void a_position_has_one_name(void)
{
	mark_put(&ns, 7, 200, "e");
	found(7, 200, "e", 200);
}

static void only_the_newest_are_kept(void)
{
	for (uint64_t i = 0; i < ARRAY_SIZE(ns.marks); i++)
		mark_put(&ns, 9, i + 1, "x");
	found(7, 200, NULL, 0);
	found(9, 1, "x", 1);
}

int main(void)
{
	pthread_mutex_init(&ns.marks_lock, NULL);
	RUN(a_listing_goes_on_behind_the_last_name);
	RUN(a_position_has_one_name);
	RUN(only_the_newest_are_kept);
	marks_done(&ns);
	return CHECK_RESULT();
}
