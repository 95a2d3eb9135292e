/* SPDX-License-Identifier: MIT */
/* test_arena.c - arena memory is aligned, apart and whole. */
#include "h5fs/base.h"

#include "check.h"

static void allocations_do_not_overlap(void)
{
	CLEANUP(arena_freep) struct arena *a = NULL;
	uint8_t *p[500];
	size_t size[500], total = 0;

	CHECK_EQ(arena_new(&a), 0);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
		size[i] = i * 37 % 3000;
		total += size[i];
		p[i] = arena_alloc(a, size[i]);
		CHECK(p[i]);
		CHECK_EQ((uintptr_t)p[i] % 16, 0);
		memset(p[i], (int)(i % 251), size[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		for (size_t k = 0; k < size[i]; k++)
			if (p[i][k] != i % 251) {
				CHECK(!"bytes are whole");
				return;
			}
	CHECK(arena_bytes(a) >= total);
	CHECK(arena_bytes(a) < 3 * total);
}

static void small_ones_share_blocks(void)
{
	CLEANUP(arena_freep) struct arena *a = NULL;

	CHECK_EQ(arena_new(&a), 0);
	CHECK_EQ(arena_bytes(a), 0);
	CHECK(arena_alloc(a, 0));
	for (int i = 0; i < 1000; i++) {
		CHECK(arena_alloc(a, 16));
		if (i % 100 == 0)
			CHECK(arena_alloc(a, 100000));
	}
	CHECK(arena_bytes(a) < 10 * 100000 + 100000);
}

static void strings_are_copied(void)
{
	CLEANUP(arena_freep) struct arena *a = NULL;
	char text[] = "text";
	char *copy;

	CHECK_EQ(arena_new(&a), 0);
	copy = arena_strdup(a, text);
	text[0] = 'n';
	CHECK_STR(copy, "text");
	CHECK_STR(arena_strdup(a, ""), "");
}

static void impossible_sizes_fail(void)
{
	CLEANUP(arena_freep) struct arena *a = NULL;

	CHECK_EQ(arena_new(&a), 0);
	CHECK(!arena_alloc(a, SIZE_MAX));
	CHECK(!arena_alloc(a, SIZE_MAX - 15));
	arena_free(NULL);
}

int main(void)
{
	RUN(allocations_do_not_overlap);
	RUN(small_ones_share_blocks);
	RUN(strings_are_copied);
	RUN(impossible_sizes_fail);
	return CHECK_RESULT();
}
