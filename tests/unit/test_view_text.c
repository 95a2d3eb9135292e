/* SPDX-License-Identifier: MIT */
/* test_view_text.c - numbers, strings and MATLAB texts as .txt. */
#include <math.h>

#include "check.h"
#include "fake_store.h"

static const struct dtype u2 = { .class = DT_UINT, .size = 2 };

static void numbers_are_aligned(void)
{
	static const int16_t v[6] = { 1, -32768, 3, 40, 5, 32767 };
	static const struct dtype i2 = { .class = DT_INT, .size = 2 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&i2, 2, FAKE_DIMS(3, 2), v);
	struct view_source s = fake_source(d);
	size_t n;

	CHECK(view_numbers.accepts(&s));
	for (size_t piece = 1; piece < 45; piece++) {
		CLEANUP(freep)
		char *f = fake_file(&view_numbers, &s, 0, piece, &n);

		CHECK_EQ(n, 42);
		CHECK_STR(f, "     1 -32768\n     3     40\n     5  32767\n");
	}
}

static void only_the_rows_asked_for_are_read(void)
{
	static uint16_t v[1000];
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 1, FAKE_DIMS(1000), v);
	struct view_source s = fake_source(d);
	uint8_t buf[60];

	fake_bytes_read = 0;
	CHECK_EQ(view_numbers.read(&s, 0, 6 * 500, 60, buf), 0);
	CHECK_EQ(fake_bytes_read, 20);
	CHECK_EQ(view_numbers.read(&s, 0, 6 * 1000, 1, buf), -ERANGE);
}

static void floats_bools_complex_fit_their_width(void)
{
	static const double v[] = { -2.2250738585072014e-308, NAN,   -INFINITY,
				    -0.00012345678901234567,  1e300, -0.0 };
	static const struct dtype f8 = { .class = DT_FLOAT, .size = 8 };
	static const struct dtype c16 = { .class = DT_COMPLEX, .size = 16 };
	static const struct dtype b1 = { .class = DT_BOOL, .size = 1 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&f8, 1, FAKE_DIMS(6), v);
	CLEANUP(dset_unrefp)
	struct dset *c = fake_dset(&c16, 1, FAKE_DIMS(3), v);
	CLEANUP(dset_unrefp)
	struct dset *b = fake_dset(&b1, 1, FAKE_DIMS(2), "\0\1");
	struct view_source s = fake_source(d);
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_numbers, &s, 0, 25, &n);
	CLEANUP(freep) char *g = NULL, *h = NULL;

	CHECK_EQ(n, 6 * 25);
	CHECK(!strncmp(f, "-2.2250738585072014e-308\n", 25));
	CHECK(!strncmp(f + 25, "                     nan\n", 25));
	CHECK(!strncmp(f + 50, "                    -inf\n", 25));
	CHECK(!strncmp(f + 75, " -0.00012345678901234567\n", 25));
	s = fake_source(c);
	g = fake_file(&view_numbers, &s, 0, 10, &n);
	CHECK_EQ(n, 3 * 52);
	CHECK(strstr(g, " (-inf-0.00012345678901234567j)\n"));
	CHECK(strstr(g, " (-2.2250738585072014e-308+nanj)\n"));
	s = fake_source(b);
	h = fake_file(&view_numbers, &s, 0, 10, &n);
	CHECK_STR(h, "0\n1\n");
}

static void matlab_numbers_are_shown_as_matlab_does(void)
{
	static const uint16_t v[6] = { 1, 4, 2, 5, 3, 6 }; /* [1 2 3; 4 5 6] */
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 2, FAKE_DIMS(3, 2), v);
	struct view_source s = fake_source(d);
	size_t n;
	CLEANUP(freep) char *f = NULL;

	s.matlab = MATLAB_NUMBER;
	f = fake_file(&view_numbers, &s, 0, 7, &n);
	CHECK_STR(f, "    1     2     3\n    4     5     6\n");
}

static void wide_tables_are_npy_alone(void)
{
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 2, FAKE_DIMS(2, 65), NULL);
	struct view_source s = fake_source(d);

	CHECK(view_npy.accepts(&s) && !view_numbers.accepts(&s));
	CHECK(!view_text.accepts(&s) && !view_json.accepts(&s));
}

static void scalar_strings_are_exact(void)
{
	static const struct dtype s5 = { .class = DT_STRING,
					 .size = 5,
					 .pad = PAD_SPACE };
	static const struct dtype vl = { .class = DT_VLSTR, .size = 8 };
	const char *text = "line1\nline2\n", *none = NULL;
	CLEANUP(dset_unrefp) struct dset *a = fake_dset(&s5, 0, NULL, "abc  ");
	CLEANUP(dset_unrefp) struct dset *b = fake_dset(&vl, 0, NULL, &text);
	CLEANUP(dset_unrefp) struct dset *c = fake_dset(&vl, 0, NULL, &none);
	struct view_source s = fake_source(a);
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_text, &s, 0, 0, &n);
	CLEANUP(freep) char *g = NULL, *h = NULL;

	CHECK_STR(f, "abc");
	CHECK(view_text.accepts(&s) && view_npy.accepts(&s));
	s = fake_source(b);
	g = fake_file(&view_text, &s, 0, 0, &n);
	CHECK_STR(g, "line1\nline2\n");
	CHECK(view_text.accepts(&s) && !view_npy.accepts(&s));
	s = fake_source(c);
	h = fake_file(&view_text, &s, 0, 0, &n);
	CHECK_EQ(n, 0);
}

static void vectors_are_lines(void)
{
	static const struct dtype vl = { .class = DT_VLSTR, .size = 8 };
	const char *v[] = { "a\nb", "\xc3\xbc", "", NULL, "\xe9" };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&vl, 1, FAKE_DIMS(5), v);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&vl, 1, FAKE_DIMS(0), v);
	struct view_source s = fake_source(d);
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_text, &s, 0, 0, &n), *g = NULL;

	CHECK_STR(f, "a\\nb\n\xc3\xbc\n\n\n\xe9\n");
	s = fake_source(e);
	CHECK(view_text.accepts(&s));
	g = fake_file(&view_text, &s, 0, 0, &n);
	CHECK_EQ(n, 0);
}

static void many_lines_are_several_blocks(void)
{
	static const struct dtype s2 = { .class = DT_STRING, .size = 2 };
	enum { N = 10000 };
	char *v = calloc(N, 2);
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&s2, 1, FAKE_DIMS(N), v);
	struct view_source s = fake_source(d);
	CLEANUP(freep) char *f = NULL;
	size_t n;

	for (unsigned i = 0; i < N; i++) {
		v[2 * i] = 'a' + i % 26;
		v[2 * i + 1] = 'a' + i / 26 % 26;
	}
	CHECK_EQ(view_text.blocks(&s, 0), 3);
	f = fake_file(&view_text, &s, 0, 0, &n);
	CHECK_EQ(n, 3 * N);
	for (unsigned i = 0; i < N; i++)
		if (memcmp(f + 3 * i, v + 2 * i, 2) || f[3 * i + 2] != '\n')
			CHECK_EQ(i, -1);
	free(v);
}

/* ---- MATLAB ---- */

static void matlab_char_rows(void)
{
	/* ['ab'; 'c<U+1F600 high>'] and so on: rows along the last axis. */
	static const uint16_t two[] = { 'a', 'c', 'b', 0xe9 };
	static const uint16_t one[] = {
		'h', 0xe9, '\n', 0xd83d, 0xde00, 0xd800, 0xdc01 + 0x100, 0xdc00
	};
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 2, FAKE_DIMS(2, 2), two);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&u2, 2, FAKE_DIMS(8, 1), one);
	struct view_source s = fake_source(d);
	size_t n;
	CLEANUP(freep) char *f = NULL, *g = NULL;

	s.matlab = MATLAB_CHAR;
	CHECK(view_text.accepts(&s) && view_npy.accepts(&s));
	CHECK(!view_numbers.accepts(&s) && !view_json.accepts(&s));
	f = fake_file(&view_text, &s, 0, 0, &n);
	CHECK_STR(f, "ab\nc\xc3\xa9\n");
	s.dset = e;
	g = fake_file(&view_text, &s, 0, 0, &n);
	CHECK_STR(g, "h\xc3\xa9\n\xf0\x9f\x98\x80\xf0\x90\x84\x81\xef\xbf\xbd");
}

static void pairs_over_a_block_edge(void)
{
	enum { EDGE = 1 << 18 };
	uint16_t *v = calloc(EDGE + 2, 2);
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 2, FAKE_DIMS(EDGE + 2, 1), v);
	struct view_source s = fake_source(d);
	CLEANUP(freep) char *f = NULL;
	size_t n;

	for (unsigned i = 0; i < EDGE + 2; i++)
		v[i] = 'x';
	v[EDGE - 1] = 0xd83d;
	v[EDGE] = 0xde00;
	s.matlab = MATLAB_CHAR;
	CHECK_EQ(view_text.blocks(&s, 0), 2);
	f = fake_file(&view_text, &s, 0, 0, &n);
	CHECK_EQ(n, EDGE - 1 + 4 + 1);
	CHECK(!memcmp(f + EDGE - 2, "x\xf0\x9f\x98\x80x", 6));
	free(v);
}

static struct dset *targets[2];

static int follow(void *arg, const char *path, struct dset **ret_dset)
{
	unsigned i = path[1] - '0';

	if (i > 1)
		return -ENOENT;
	*ret_dset = dset_ref(targets[i]);
	return 0;
}

static void cells_of_char_are_lines(void)
{
	static const uint16_t text[] = { 'b', 'o', 'o', 'k' };
	static const struct dtype ref = { .class = DT_REF, .size = 8 };
	const char *v[] = { "/0", "/0", "/1" };
	CLEANUP(dset_unrefp)
	struct dset *a = fake_dset(&u2, 2, FAKE_DIMS(4, 1), text);
	CLEANUP(dset_unrefp)
	struct dset *b = fake_dset(&u2, 2, FAKE_DIMS(2, 2), text);
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&ref, 2, FAKE_DIMS(1, 3), v);
	struct view_source s = fake_source(d);
	size_t n;
	CLEANUP(freep) char *f = NULL, *g = NULL;

	targets[0] = a;
	targets[1] = b;
	fake_attr(a, "MATLAB_class", "char");
	fake_attr(b, "MATLAB_class", "char");
	s.matlab = MATLAB_CELL;
	CHECK(!view_text.accepts(&s) && view_json.accepts(&s));
	s.follow = follow;
	CHECK(view_text.accepts(&s) && view_json.accepts(&s));
	f = fake_file(&view_text, &s, 0, 0, &n);
	CHECK_STR(f, "book\nbook\nbo\\nok\\n\n");
	fake_attr(b, "MATLAB_class", "double");
	CHECK(!view_text.accepts(&s) && view_json.accepts(&s));
	g = fake_file(&view_text, &s, 0, 0, &n);
	CHECK_STR(g, "book\nbook\n/1\n");
}

static void pictures_are_no_text(void)
{
	static const struct layout pictures = { .kind = LAYOUT_PICTURES };
	static const struct layout encoded = { .kind = LAYOUT_ENCODED };
	static const struct dtype u1 = { .class = DT_UINT, .size = 1 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u1, 2, FAKE_DIMS(16, 16), NULL);
	struct view_source s = fake_source(d);

	CHECK(view_numbers.accepts(&s) && view_npy.accepts(&s));
	CHECK(!view_png.accepts(&s) && !view_encoded.accepts(&s));
	s.layout = &pictures;
	CHECK(!view_numbers.accepts(&s) && view_npy.accepts(&s));
	CHECK(view_png.accepts(&s) && !view_json.accepts(&s));
	s.layout = &encoded;
	CHECK(!view_numbers.accepts(&s) && view_npy.accepts(&s));
	CHECK(view_encoded.accepts(&s) && !view_json.accepts(&s));
}

int main(void)
{
	RUN(numbers_are_aligned);
	RUN(only_the_rows_asked_for_are_read);
	RUN(floats_bools_complex_fit_their_width);
	RUN(matlab_numbers_are_shown_as_matlab_does);
	RUN(wide_tables_are_npy_alone);
	RUN(scalar_strings_are_exact);
	RUN(vectors_are_lines);
	RUN(many_lines_are_several_blocks);
	RUN(matlab_char_rows);
	RUN(pairs_over_a_block_edge);
	RUN(cells_of_char_are_lines);
	RUN(pictures_are_no_text);
	return CHECK_RESULT();
}
