/* SPDX-License-Identifier: MIT */
/* test_labels.c - which sibling holds the classes of a set of pictures. */
#include "layout_fixture.h"

/* Paths of the candidates for member 0, joined by blanks. */
static const char *candidates(struct fixture *f, uint64_t count)
{
	static char text[256];
	size_t found[8], n;

	decide(f);
	n = layout_label_candidates(&f->g, 0, count, found, ARRAY_SIZE(found));
	*text = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s%s", i ? " " : "", f->members[found[i]].name);
	return text;
}

static void names_fit(void)
{
	struct fixture f = { 0 };

	PUT(&f, "/train_set_x", "u1", 9, 20, 30, 3);
	PUT(&f, "/label", "i8", 9);
	PUT(&f, "/test_set_y", "i8", 9);
	PUT(&f, "/train_set_y", "i8", 9);
	CHECK_STR(candidates(&f, 9), "train_set_y label");
	fixture_done(&f);
	PUT(&f, "/X_test", "u1", 9, 20, 30, 3);
	PUT(&f, "/y_train", "i8", 9);
	PUT(&f, "/y_test", "i8", 9);
	CHECK_STR(candidates(&f, 9), "y_test");
	fixture_done(&f);
	PUT(&f, "/images", "u1", 9, 20, 30, 3);
	PUT(&f, "/fine_labels", "i8", 9);
	PUT(&f, "/labels", "i8", 9);
	CHECK_STR(candidates(&f, 9), "labels");
	fixture_done(&f);
	PUT(&f, "/images", "u1", 9, 20, 30, 3);
	PUT(&f, "/label_names", "s8", 9);
	PUT(&f, "/class_idx", "i8", 9);
	PUT(&f, "/label_map", "i8", 9);
	PUT(&f, "/width", "i8", 9);
	CHECK_STR(candidates(&f, 9), "");
	fixture_done(&f);
}

static void shapes_fit(void)
{
	struct fixture f = { 0 };

	PUT(&f, "/images", "u1", 9, 20, 30, 3);
	PUT(&f, "/y", "i8", 8);
	PUT(&f, "/label", "u1", 9, 1, 1, 1);
	PUT(&f, "/labels", "f4", 9, 10);
	PUT(&f, "/class", "s8", 9);
	PUT(&f, "/classes", "s8", 9, 2);
	PUT(&f, "/target", "f4", 9, 2, 2);
	PUT(&f, "/digit", "b1", 9);
	PUT(&f, "/gt", "u1", 9, 20, 30);	/* pictures themselves */
	PUT(&f, "/answers", "f4", 9, 100001); /* no one-hot */
	CHECK_STR(candidates(&f, 9), "label labels class digit");
	CHECK_STR(candidates(&f, 0), "");
	CHECK_STR(candidates(&f, 8), "y");
	CHECK_EQ(f.layouts[8].kind, LAYOUT_PICTURES);
	CHECK_EQ(layout_label_candidates(&f.g, 0, 9, (size_t[2]){ 0 }, 2), 2);
	fixture_done(&f);
}

/* A label for each set, all of one length, or each of its own: to compare every
 * set with every label would take minutes. */
static void many_sets(void)
{
	enum { MANY = 60000 };
	struct desc_group g = { .count = MANY };
	struct dtype u1 = simple_type("u1"), i8 = simple_type("i8");
	size_t found[8];
	char path[32];

	g.members = calloc(MANY, sizeof(*g.members));
	for (size_t i = 0; i < MANY; i++) {
		uint64_t n = i < MANY / 2 ? 9 : 10 + i / 2;

		snprintf(path, sizeof(path), "/%c_%c%c%cq", i % 2 ? 'y' : 'x',
			 (int)('a' + i / 2 / 676 % 26),
			 (int)('a' + i / 2 / 26 % 26), (int)('a' + i / 2 % 26));
		g.members[i].path = strdup(path);
		g.members[i].name = strdup(path + 1);
		desc_set_type(&g.members[i], i % 2 ? &i8 : &u1, false,
			      i % 2 ? 1 : 4, (uint64_t[]){ n, 20, 30, 3 });
	}
	CHECK_EQ(layout_decide(&g, NULL, &answer_probe), 0);
	for (size_t i = 0; i < MANY; i += 2) {
		uint64_t n = g.members[i].dims[0];

		if (layout_label_candidates(&g, i, n, found, 8) == 0 ||
		    found[0] % 2 == 0 || g.members[found[0]].dims[0] != n ||
		    strcmp(g.members[i].name + 1, g.members[found[0]].name + 1))
			CHECK_EQ(i, SIZE_MAX);
	}
	for (size_t i = 0; i < MANY; i++)
		desc_done(&g.members[i]);
	free(g.members);
	free(g.layouts);
}

static void many_words(void)
{
	struct fixture f = { 0 };
	char name[70000];

	memset(name, 'a', sizeof(name));
	for (size_t i = 1; i < sizeof(name); i += 2)
		name[i] = '_';
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	PUT(&f, name, "u1", 9, 20, 30, 3);
	memcpy(name + sizeof(name) - 8, "_label", 7);
	PUT(&f, name, "i8", 9);
	CHECK_STR(candidates(&f, 9), "");
	fixture_done(&f);
}

static void lists(void)
{
	size_t n = 0;

	while (layout_class_name_lists[n])
		n++;
	CHECK(n >= 8);
	CHECK_STR(layout_class_name_lists[0], "list_classes");
}

int main(void)
{
	RUN(names_fit);
	RUN(shapes_fit);
	RUN(many_sets);
	RUN(many_words);
	RUN(lists);
	return CHECK_RESULT();
}
