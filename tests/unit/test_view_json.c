/* SPDX-License-Identifier: MIT */
/* test_view_json.c - what has no other readable form, and what is JSON already. */
#include <jansson.h>

#include "check.h"
#include "fake_store.h"

static const struct dtype vl = { .class = DT_VLSTR, .size = 8 };

static char *json_of(struct dset *d)
{
	struct view_source s = fake_source(d);
	size_t n;

	CHECK(view_json.accepts(&s));
	CHECK(!view_text.accepts(&s) && !view_csv.accepts(&s));
	CHECK(!view_numbers.accepts(&s) && !view_bin.accepts(&s));
	return fake_file(&view_json, &s, 0, 0, &n);
}

static void lists_follow_the_shape(void)
{
	const char *v[] = { "a", "b", "c", NULL, "e", "f",
			    "g", "h", "i", "j",	 "k", "l" };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&vl, 2, FAKE_DIMS(2, 2), v);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&vl, 3, FAKE_DIMS(2, 2, 3), v);
	CLEANUP(freep) char *f = json_of(d), *g = json_of(e);

	CHECK_STR(f, "[[\"a\", \"b\"],\n[\"c\", \"\"]]\n");
	CHECK_STR(g, "[[[\"a\", \"b\", \"c\"], [\"\", \"e\", \"f\"]],\n"
		     "[[\"g\", \"h\", \"i\"], [\"j\", \"k\", \"l\"]]]\n");
}

static void empty_shapes(void)
{
	static const struct dtype seq = { .class = DT_REF, .size = 8 };
	CLEANUP(dset_unrefp)
	struct dset *a = fake_dset(&seq, 1, FAKE_DIMS(0), NULL);
	CLEANUP(dset_unrefp)
	struct dset *b = fake_dset(&seq, 2, FAKE_DIMS(3, 0), NULL);
	CLEANUP(dset_unrefp)
	struct dset *c = fake_dset(&seq, 3, FAKE_DIMS(2, 2, 0), NULL);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(
		&seq, 3, FAKE_DIMS((uint64_t)1 << 50, (uint64_t)1 << 13, 0),
		NULL);
	CLEANUP(dset_unrefp) struct dset *n = fake_null(&seq);
	CLEANUP(freep)
	char *fa = json_of(a), *fb = json_of(b), *fc = json_of(c);
	CLEANUP(freep) char *fe = json_of(e), *fn = json_of(n);

	CHECK_STR(fa, "[]\n");
	CHECK_STR(fb, "[[],\n[],\n[]]\n");
	CHECK_STR(fc, "[[[], []],\n[[], []]]\n");
	CHECK_STR(fe, "[]\n");
	CHECK_STR(fn, "null\n");
}

static void sequences_are_one_flat_list(void)
{
	struct dtype i2 = { .class = DT_INT, .size = 2 };
	struct dtype seq = { .class = DT_VLEN, .size = 16, .base = &i2 };
	static const int16_t n[] = { 0, 1, 2 };
	const struct dt_vlen v[4] = { { 3, n }, { 0, NULL }, { 1, n + 1 } };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&seq, 2, FAKE_DIMS(2, 2), v);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&seq, 2, FAKE_DIMS(2, 0), v);
	CLEANUP(freep) char *f = json_of(d), *g = json_of(e);

	CHECK_STR(f, "[[0, 1, 2],\n[],\n[1],\n[]]\n");
	CHECK_STR(g, "[]\n");
}

static void blocks_join_to_one_text(void)
{
	enum { ROWS = 701, COLUMNS = 7 };
	static const char *v[ROWS * COLUMNS];
	static const char *const words[] = { "x", "yy", "", "\"" };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&vl, 2, FAKE_DIMS(ROWS, COLUMNS), v);
	struct view_source s = fake_source(d);
	CLEANUP(freep) char *f = NULL;
	json_t *root;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = words[i * 7 % 13 % 4];
	CHECK(view_json.blocks(&s, 0) > 2);
	f = json_of(d);
	root = json_loads(f, 0, NULL);
	CHECK_EQ(json_array_size(root), ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		json_t *row = json_array_get(root, i);

		CHECK_EQ(json_array_size(row), COLUMNS);
		for (size_t k = 0; k < json_array_size(row); k++)
			CHECK_STR(json_string_value(json_array_get(row, k)),
				  v[i * COLUMNS + k]);
	}
	json_decref(root);
}

static void references_are_paths(void)
{
	static const struct dtype ref = { .class = DT_REF, .size = 8 };
	const char *v[] = { "/real/images", "/real", NULL };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&ref, 1, FAKE_DIMS(3), v);
	CLEANUP(freep) char *f = json_of(d);

	CHECK_STR(f, "[\"/real/images\",\n\"/real\",\nnull]\n");
}

static void a_scalar_compound_is_an_object(void)
{
	struct dtype i4 = { .class = DT_INT, .size = 4 };
	struct dtype_member m[] = {
		{ .name = (char *)"a", .type = &i4 },
		{ .name = (char *)"b", .offset = 4, .type = &i4 }
	};
	struct dtype t = {
		.class = DT_COMPOUND, .size = 8, .nmembers = 2, .members = m
	};
	static const int32_t v[] = { 1, -2 };
	CLEANUP(dset_unrefp) struct dset *d = fake_dset(&t, 0, NULL, v);
	CLEANUP(freep) char *f = json_of(d);

	CHECK_STR(f, "{\"a\": 1, \"b\": -2}\n");
}

static bool is_json(const char *text)
{
	CLEANUP(dset_unrefp) struct dset *d = fake_dset(&vl, 0, NULL, &text);
	struct view_source s = fake_source(d);

	CHECK(view_json.accepts(&s) != view_text.accepts(&s));
	return view_json.accepts(&s);
}

static void strings_that_parse_are_json(void)
{
	const char *exact = " {\"n\":  2}";
	CLEANUP(dset_unrefp) struct dset *d = fake_dset(&vl, 0, NULL, &exact);
	CLEANUP(freep) char *f = json_of(d);

	CHECK_STR(f, exact);
	CHECK(is_json("[]"));
	CHECK(is_json("\n[1, 123456789012345678901234567890]"));
	CHECK(!is_json("{"));
	CHECK(!is_json("3"));
	CHECK(!is_json("\"a\""));
	CHECK(!is_json("[1] x"));
	CHECK(!is_json(""));
	CHECK(!is_json(NULL));
}

static void half_complex_numbers_have_no_npy(void)
{
	static const struct dtype c4 = { .class = DT_COMPLEX, .size = 4 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&c4, 3, FAKE_DIMS(1, 1, 1), "\0\x3c\0\xc0");
	CLEANUP(freep) char *f = json_of(d);

	CHECK_STR(f, "[[[[1, -2]]]]\n");
}

int main(void)
{
	RUN(lists_follow_the_shape);
	RUN(empty_shapes);
	RUN(sequences_are_one_flat_list);
	RUN(blocks_join_to_one_text);
	RUN(references_are_paths);
	RUN(a_scalar_compound_is_an_object);
	RUN(strings_that_parse_are_json);
	RUN(half_complex_numbers_have_no_npy);
	return CHECK_RESULT();
}
