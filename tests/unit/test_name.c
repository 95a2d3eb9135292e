/* SPDX-License-Identifier: MIT */
/* test_name.c - names as shown, and back. */
#include "ns_int.h"

#include "check.h"

static bool last_cut;

static char *shown(const char *name, const char *suffix, enum name_kind kind)
{
	return name_shown(name, suffix, kind, &last_cut);
}

#define CHECK_SHOWN(name, suffix, kind, want)                                  \
	do {                                                                   \
		CLEANUP(freep) char *s_ = shown(name, suffix, kind);           \
		CHECK_STR(s_, want);                                           \
	} while (0)

static void a_suffix_is_always_added(void)
{
	CHECK_SHOWN("c", ".npy", NAME_PLAIN, "c.npy");
	CHECK_SHOWN("c.npy", ".npy", NAME_PLAIN, "c.npy.npy");
	CHECK_SHOWN("new\nline", ".npy", NAME_PLAIN, "new\nline.npy");
}

static void dots_and_percents_are_escaped(void)
{
	CHECK_SHOWN(".", "", NAME_GROUP, "%2E");
	CHECK_SHOWN("..", ".npy", NAME_PLAIN, "%2E%2E.npy");
	CHECK_SHOWN("...", "", NAME_GROUP, "...");
	CHECK_SHOWN("%41", ".txt", NAME_PLAIN, "%2541.txt");
	CHECK_SHOWN("per%cent", ".txt", NAME_PLAIN, "per%cent.txt");
	CHECK_SHOWN("%2E%2E", ".txt", NAME_PLAIN, "%252E%252E.txt");
}

static void a_group_never_ends_in_a_suffix_of_ours(void)
{
	CHECK_SHOWN("dir.png", "", NAME_GROUP, "dir%2Epng");
	CHECK_SHOWN("a.b.by-class", "", NAME_GROUP, "a.b%2Eby-class");
	CHECK_SHOWN("layer.0", "", NAME_GROUP, "layer.0");
	CHECK_SHOWN("x.png", "", NAME_PLAIN, "x.png"); /* a sample directory */
}

static void every_name_can_be_turned_back(void)
{
	static const char *const names[] = {
		"a", ".", "..", "%", "%41", "%%41", "%2541", "a.npy", "dir.png",
		"x%2Epng", "caf\xe9", " lead", "back\\slash",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(freep) char *s = shown(names[i], "", NAME_GROUP);
		CLEANUP(freep) char *back = name_stored(s);

		CHECK_STR(back, names[i]);
		for (size_t k = 0; k < i; k++) { /* and none collide */
			CLEANUP(freep) char *other =
				shown(names[k], "", NAME_GROUP);

			CHECK(strcmp(other, s) != 0);
		}
	}
}

static void long_names_are_cut_with_a_hash(void)
{
	char a[301], b[301];

	memset(a, 'y', 300);
	a[300] = 0;
	memcpy(b, a, sizeof(b));
	b[299] = 'z';
	CLEANUP(freep) char *x = shown(a, ".npy", NAME_PLAIN);

	CHECK(last_cut);
	CHECK_EQ(strlen(x), 255);
	CHECK_STR(x + 251, ".npy");
	CLEANUP(freep) char *y = shown(b, ".npy", NAME_PLAIN);

	CHECK(strcmp(x, y) != 0);
	a[255] = 0;
	CLEANUP(freep) char *fits = shown(a, "", NAME_GROUP);

	CHECK(!last_cut);
	CHECK_STR(fits, a);
}

static void a_cut_does_not_split_a_character(void)
{
	char name[400] = "";

	for (int i = 0; i < 130; i++)
		strcat(name, "\xc3\xbc");
	CLEANUP(freep) char *s = shown(name, "", NAME_GROUP);
	char *tilde = strrchr(s, '~');

	CHECK(last_cut);
	CHECK(tilde && (uint8_t)tilde[-1] == 0xbc);
}

static void classes_and_attributes_escape_slashes(void)
{
	CLEANUP(freep) char *a = name_escape_slash("a/b");
	CLEANUP(freep) char *b = name_escape_slash("a%2Fb");
	CLEANUP(freep) char *c = name_escape_slash("..");
	CLEANUP(freep) char *d = name_escape_slash("");

	CHECK_STR(a, "a%2Fb");
	CHECK_STR(b, "a%252Fb");
	CHECK_STR(c, "%2E%2E");
	CHECK_STR(d, "%00");
}

static void globs_stop_at_slashes(void)
{
	CHECK(glob_match("/data/*/obs/*_depth", "/data/demo_0/obs/a_depth"));
	CHECK(!glob_match("/data/*_depth", "/data/demo_0/a_depth"));
	CHECK(glob_match("images", "/images"));
	CHECK(glob_match("/x?", "/x1"));
	CHECK(!glob_match("/x?", "/x"));
	CHECK(glob_match("/a[0]", "/a[0]")); /* only * and ? are special */
	CHECK(!glob_match("/a[0]", "/a0"));
	CHECK(glob_match("/back\\slash", "/back\\slash"));
}

static void a_sample_has_one_spelling(void)
{
	uint64_t i = 0;
	const char *rest = "";

	CHECK(parse_index("000007.png", &i, &rest));
	CHECK_EQ(i, 7);
	CHECK_STR(rest, ".png");
	CHECK(parse_index("1000000.png", &i, &rest));
	CHECK_EQ(i, 1000000);
	CHECK(!parse_index("7.png", &i, &rest));
	CHECK(!parse_index("0000007.png", &i, &rest));
	CHECK(!parse_index("99999999999999999999.png", &i, &rest));
	CHECK(!parse_index(".png", &i, &rest));
}

static void an_inode_is_arithmetic(void)
{
	static const struct node nodes[] = {
		{ 0, 0, 0 }, { 1, V_SAMPLE, 9999999 },
		{ NODE_MAX_OBJECT - 2, 255, UINT32_MAX },
	};

	CHECK_EQ(node_ino(nodes[0]), NS_ROOT_INO);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct node n = node_of(node_ino(nodes[i]));

		CHECK_EQ(n.object, nodes[i].object);
		CHECK_EQ(n.view, nodes[i].view);
		CHECK_EQ(n.index, nodes[i].index);
	}
}

int main(void)
{
	RUN(a_suffix_is_always_added);
	RUN(dots_and_percents_are_escaped);
	RUN(a_group_never_ends_in_a_suffix_of_ours);
	RUN(every_name_can_be_turned_back);
	RUN(long_names_are_cut_with_a_hash);
	RUN(a_cut_does_not_split_a_character);
	RUN(classes_and_attributes_escape_slashes);
	RUN(globs_stop_at_slashes);
	RUN(a_sample_has_one_spelling);
	RUN(an_inode_is_arithmetic);
	return CHECK_RESULT();
}
