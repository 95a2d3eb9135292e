/* SPDX-License-Identifier: MIT */
/* test_extents.c - a map of ranges says of each byte what was last put there. */
#include "journal_int.h"

#include "check.h"

#define SIZE 2000

static uint32_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Where in the log byte `addr` is; 0: nowhere. */
static uint64_t where(const struct extents *e, uint64_t addr)
{
	const struct extent *x = extents_find(e, addr);

	return x && x->addr <= addr ? x->at + (addr - x->addr) : 0;
}

static void check_all(const struct extents *e, const uint64_t *want)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < SIZE; i++)
		if (where(e, i) != want[i]) {
			CHECK_EQ(where(e, i), want[i]);
			return;
		}
	for (const struct extent *x = extents_find(e, 0); x;
	     x = extents_find(e, x->addr + x->len)) {
		CHECK(x->len > 0 && x->addr >= end);
		end = x->addr + x->len;
	}
}

static void the_last_one_put_is_found(void)
{
	for (unsigned run = 0; run < 50; run++) {
		CLEANUP(extents_done) struct extents e = { 0 };
		uint64_t want[SIZE] = { 0 };

		for (unsigned i = 0; i < 200; i++) {
			uint64_t len = 1 + dice(run % 2 ? 10 : 300);
			uint64_t addr = dice((uint32_t)(SIZE - len));
			uint64_t at = 10000 * (i + 1);

			CHECK_EQ(extents_put(&e, addr, len, at), 0);
			for (uint64_t k = 0; k < len; k++)
				want[addr + k] = at + k;
		}
		check_all(&e, want);
	}
}

static void an_empty_map_finds_nothing(void)
{
	struct extents e = { 0 };

	CHECK(!extents_find(&e, 0));
	CHECK_EQ(extents_put(&e, 10, 5, 100), 0);
	CHECK_EQ(extents_find(&e, 0)->addr, 10);
	CHECK_EQ(extents_find(&e, 14)->addr, 10);
	CHECK(!extents_find(&e, 15));
	extents_done(&e);
	CHECK(!extents_find(&e, 0));
}

static void ranges_put_again_take_no_room(void)
{
	CLEANUP(extents_done) struct extents e = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < 100000; i++)
		CHECK_EQ(extents_put(&e, i % 10 * 100, 50, 1 + i), 0);
	for (const struct extent *x = extents_find(&e, 0); x;
	     x = extents_find(&e, x->addr + x->len))
		n++;
	CHECK_EQ(n, 10);
}

int main(void)
{
	RUN(the_last_one_put_is_found);
	RUN(an_empty_map_finds_nothing);
	RUN(ranges_put_again_take_no_room);
	return CHECK_RESULT();
}
