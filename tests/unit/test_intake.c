/* SPDX-License-Identifier: MIT */
/* test_intake.c - names of files that are copied in, and those that this mount has
 * committed. */
#include <stdio.h>

#include "check.h"
#include "write_int.h"

static void held_back(void)
{
	static const char *const held[] = { ".x.png.Ab12", ".DS_Store",
					    "x.png~",	   "x.png.part",
					    "x.tmp",	   "~" };
	static const char *const taken[] = { "x.png", "part", "tmp.png",
					     "x.partial", "a~b.png" };

	for (size_t i = 0; i < ARRAY_SIZE(held); i++)
		CHECK(name_is_held(held[i]));
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		CHECK(!name_is_held(taken[i]));
}

static void stems(void)
{
	CHECK_EQ(stem_length("a.png"), 1);
	CHECK_EQ(stem_length("a.b.png"), 3);
	CHECK_EQ(stem_length("ab"), 2);
	CHECK_EQ(stem_length(".png"), 4);
}

static void class_keys(void)
{
	struct class_folder folders[] = {
		{ .name = (char *)"cat", .label = (char *)"cat", .number = 0 },
		{ .name = (char *)"x.1",
		  .label = (char *)"x",
		  .number = 1,
		  .shared = true },
		{ .name = (char *)"02", .label = (char *)"9", .number = 2 },
		{ .name = (char *)"03", .number = 3 },
	};
	static const char *const want[] = { "cat", "1", "2", "3" };
	struct classes c = { .count = 4, .folders = folders };

	for (uint32_t i = 0; i < 4; i++) {
		CLEANUP(freep) char *key = class_key(&c, i);

		CHECK_STR(key, want[i]);
	}
	c.text = true; /* then a label that looks like a number is a text */
	for (uint32_t i = 2; i < 3; i++) {
		CLEANUP(freep) char *key = class_key(&c, i);

		CHECK_STR(key, "9");
	}
}

static void committed_names(void)
{
	struct write_side w = { 0 };
	struct ns ns = { .write = &w };
	uint32_t row = 7;
	char name[24];

	CHECK_EQ(committed_new(&w.committed), 0);
	CHECK_EQ(committed_find(&ns, "/x", "a.png", &row), -ENOENT);
	committed_add(w.committed, "/x", "a.png", 3);
	committed_add(w.committed, "/x\ncat", "a.png", 4);
	CHECK_EQ(committed_find(&ns, "/x", "a.png", &row), 0);
	CHECK_EQ(row, 3);
	CHECK_EQ(committed_find(&ns, "/x\ncat", "a.png", &row), 0);
	CHECK_EQ(row, 4);
	committed_move(&ns, "/x\ncat", "a.png", "/x\ndog");
	CHECK_EQ(committed_find(&ns, "/x\ncat", "a.png", &row), -ENOENT);
	CHECK_EQ(committed_find(&ns, "/x\ndog", "a.png", &row), 0);
	CHECK_EQ(row, 4);
	/* the last 65,536 are kept */
	for (unsigned i = 0; i < 65536; i++) {
		snprintf(name, sizeof(name), "%u", i);
		committed_add(w.committed, "/y", name, i);
	}
	CHECK_EQ(committed_find(&ns, "/x", "a.png", &row), -ENOENT);
	CHECK_EQ(committed_find(&ns, "/x\ndog", "a.png", &row), -ENOENT);
	for (unsigned i = 0; i < 65536; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (committed_find(&ns, "/y", name, &row) < 0 || row != i) {
			CHECK_STR(name, "found");
			break;
		}
	}
	committed_free(w.committed);
}

int main(void)
{
	RUN(held_back);
	RUN(stems);
	RUN(class_keys);
	RUN(committed_names);
	return CHECK_RESULT();
}
