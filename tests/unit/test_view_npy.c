/* SPDX-License-Identifier: MIT */
/* test_view_npy.c - .npy headers and random access, rows, volumes, raw bytes. */
#include "check.h"
#include "fake_store.h"

static const struct dtype u1 = { .class = DT_UINT, .size = 1 };
static const struct dtype u2 = { .class = DT_UINT, .size = 2 };
static const struct dtype f4 = { .class = DT_FLOAT, .size = 4 };
static const struct dtype f8 = { .class = DT_FLOAT, .size = 8 };

/* The dict of the file's header; the data's place through ret_data. */
static const char *dict_of(const char *file, size_t n, const char **ret_data)
{
	static char dict[512];
	uint16_t len;

	CHECK(n >= 64 && !memcmp(file, "\x93NUMPY", 6));
	memcpy(&len, file + 8, 2);
	CHECK_EQ((10 + len) % 64, 0);
	CHECK_EQ(file[9 + len], '\n');
	snprintf(dict, sizeof(dict), "%.*s", len, file + 10);
	for (size_t k = strlen(dict); k && strchr(" \n", dict[k - 1]); k--)
		dict[k - 1] = 0;
	*ret_data = file + 10 + len;
	return dict;
}

static void any_piece_reads_the_same(void)
{
	uint16_t v[2 * 3 * 5] = { 0 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 3, FAKE_DIMS(2, 3, 5), v);
	struct view_source s = fake_source(d);
	const char *data;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = 1000 + i;
	CHECK(view_npy.accepts(&s));
	for (size_t piece = 1; piece < 70; piece++) {
		CLEANUP(freep) char *f = fake_file(&view_npy, &s, 0, piece, &n);

		CHECK_EQ(n, 128 + sizeof(v));
		CHECK_STR(dict_of(f, n, &data),
			  "{'descr': '<u2', 'fortran_order': False, "
			  "'shape': (2, 3, 5), }");
		CHECK(!memcmp(data, v, sizeof(v)));
	}
}

static void reads_no_more_than_it_needs(void)
{
	static uint16_t v[64 * 64];
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 2, FAKE_DIMS(64, 64), v);
	struct view_source s = fake_source(d);
	uint8_t buf[1000];

	fake_bytes_read = 0;
	CHECK_EQ(view_npy.read(&s, 0, 128 + 333, 777, buf), 0);
	CHECK(fake_bytes_read >= 777 && fake_bytes_read <= 777 + 4);
	CHECK_EQ(view_npy.read(&s, 0, 128 + sizeof(v), 1, buf), -ERANGE);
}

static void scalars_and_empty_arrays(void)
{
	double one = 1.5;
	CLEANUP(dset_unrefp) struct dset *d = fake_dset(&f8, 0, NULL, &one);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&f8, 2, FAKE_DIMS(0, 7), NULL);
	struct view_source s = fake_source(d);
	const char *data;
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_npy, &s, 0, 5, &n);
	CLEANUP(freep) char *g = NULL;

	CHECK_EQ(n, 128 + 8);
	CHECK_STR(dict_of(f, n, &data),
		  "{'descr': '<f8', 'fortran_order': False, 'shape': (), }");
	CHECK(!memcmp(data, &one, 8));
	s = fake_source(e);
	g = fake_file(&view_npy, &s, 0, 1000, &n);
	CHECK_EQ(n, 128);
	CHECK_STR(
		dict_of(g, n, &data),
		"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 7), }");
}

static void matlab_arrays_have_its_shape(void)
{
	static const uint8_t v[6] = { 1, 0, 1, 1, 0, 0 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u1, 2, FAKE_DIMS(3, 2), v);
	struct view_source s = fake_source(d);
	const char *data;
	size_t n;
	CLEANUP(freep) char *f = NULL;

	s.matlab = MATLAB_LOGICAL;
	f = fake_file(&view_npy, &s, 0, 1000, &n);
	CHECK_STR(dict_of(f, n, &data),
		  "{'descr': '|b1', 'fortran_order': True, 'shape': (2, 3), }");
	CHECK(!memcmp(data, v, 6));
}

static void matlab_empty_holds_dims(void)
{
	static const uint64_t v[2] = { 0, 5 }, odd[2] = { 3, 5 };
	static const struct dtype u8 = { .class = DT_UINT, .size = 8 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u8, 1, FAKE_DIMS(2), v);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&u8, 1, FAKE_DIMS(2), odd);
	struct view_source s = fake_source(d);
	const char *data;
	size_t n;
	CLEANUP(freep) char *f = NULL, *g = NULL;

	s.matlab = MATLAB_NUMBER;
	s.matlab_empty = true;
	f = fake_file(&view_npy, &s, 0, 1000, &n);
	CHECK_EQ(n, 128);
	CHECK_STR(dict_of(f, n, &data),
		  "{'descr': '<u8', 'fortran_order': True, 'shape': (0, 5), }");
	CHECK(!view_numbers.accepts(&s) && !view_json.accepts(&s));
	s.dset = e;
	g = fake_file(&view_npy, &s, 0, 1000, &n);
	CHECK_EQ(n, 128);
	CHECK(strstr(dict_of(g, n, &data), "'shape': (0, 0)"));
}

static void compounds_keep_their_padding(void)
{
	struct dtype v3 = { .class = DT_ARRAY,
			    .size = 12,
			    .rank = 1,
			    .dims = { 3 },
			    .base = (struct dtype *)&f4 };
	struct dtype s5 = { .class = DT_STRING, .size = 5 };
	struct dtype_member m[] = {
		{ .name = (char *)"a'b",
		  .offset = 1,
		  .type = (struct dtype *)&u1 },
		{ .name = (char *)"v", .offset = 4, .type = &v3 },
		{ .name = (char *)"s", .offset = 16, .type = &s5 },
	};
	struct dtype t = {
		.class = DT_COMPOUND, .size = 24, .nmembers = 3, .members = m
	};
	uint8_t rows[48] = { 9 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&t, 1, FAKE_DIMS(2), rows);
	struct view_source s = fake_source(d);
	const char *data;
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_npy, &s, 0, 7, &n);

	CHECK_STR(dict_of(f, n, &data),
		  "{'descr': [('', '|V1'), ('a\\'b', '|u1'), ('', '|V2'), "
		  "('v', '<f4', (3,)), ('s', '|S5'), ('', '|V3')], "
		  "'fortran_order': False, 'shape': (2,), }");
	CHECK(!memcmp(data, rows, sizeof(rows)));
	m[1].offset = 1; /* overlaps */
	CHECK(!view_npy.accepts(&s));
}

static void array_types_add_axes(void)
{
	struct dtype v3 = { .class = DT_ARRAY,
			    .size = 12,
			    .rank = 1,
			    .dims = { 3 },
			    .base = (struct dtype *)&f4 };
	static const float v[6] = { 1, 2, 3, 4, 5, 6 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&v3, 1, FAKE_DIMS(2), v);
	struct view_source s = fake_source(d);
	const char *data;
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_npy, &s, 0, 5, &n), *g = NULL;

	CHECK(strstr(dict_of(f, n, &data), "'<f4'"));
	CHECK(strstr(dict_of(f, n, &data), "'shape': (2, 3)"));
	CHECK(!memcmp(data, v, sizeof(v)));
	CHECK(view_numbers.accepts(&s));
	g = fake_file(&view_numbers, &s, 0, 7, &n);
	CHECK_EQ(n, 2 * 3 * 16);
	CHECK_STR(g, "              1               2               3\n"
		     "              4               5               6\n");
}

static void what_numpy_can_not_hold(void)
{
	static const struct dtype types[] = {
		{ .class = DT_OPAQUE, .size = 4 },
		{ .class = DT_VLSTR, .size = 8 },
		{ .class = DT_REF, .size = 8 },
		{ .class = DT_COMPLEX, .size = 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		CLEANUP(dset_unrefp)
		struct dset *d = fake_dset(&types[i], 1, FAKE_DIMS(0), NULL);
		struct view_source s = fake_source(d);

		CHECK(!view_npy.accepts(&s));
	}
}

static void absurd_shapes_are_refused(void)
{
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(
		&f8, 2, FAKE_DIMS((uint64_t)1 << 40, (uint64_t)1 << 40), NULL);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&f8, 1, FAKE_DIMS((uint64_t)1 << 60), NULL);
	struct view_source s = fake_source(d);

	CHECK(!view_npy.accepts(&s) && !view_numbers.accepts(&s));
	CHECK(!view_json.accepts(&s));
	s = fake_source(e);
	CHECK(!view_npy.accepts(&s));
}

static void a_row_is_a_file(void)
{
	static const uint16_t v[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 3, FAKE_DIMS(2, 3, 2), v);
	struct view_source s = fake_source(d);
	const char *data;
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_row, &s, 1, 3, &n);

	CHECK(strstr(dict_of(f, n, &data), "'shape': (3, 2)"));
	CHECK(!memcmp(data, v + 6, 12));
	CHECK(!view_row.accepts(&s));
	s.sample_row = true;
	CHECK(view_row.accepts(&s));
	CHECK(!fake_file(&view_row, &s, 2, 3, &n));
}

static void elements_in_memory(void)
{
	static const uint16_t v[6] = { 1, 2, 3, 4, 5, 6 };
	static const struct dtype pair = {
		.class = DT_ARRAY,
		.size = 4,
		.base = (struct dtype *)&u2,
		.rank = 1,
		.dims = { 2 },
	};
	static const struct dtype text = { .class = DT_VLSTR, .size = 8 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&pair, 1, FAKE_DIMS(3), v);
	struct view_source s = fake_source(d);
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t size;
	size_t n;
	CLEANUP(freep) char *want = fake_file(&view_npy, &s, 0, 7, &n);

	CHECK_EQ(npy_of_elements(&pair, 1, FAKE_DIMS(3), v, sizeof(v), &b), 0);
	CHECK(b && b->size == n && !memcmp(b->data, want, n));
	CHECK_EQ(npy_size_of_elements(&pair, 1, FAKE_DIMS(3), sizeof(v), &size),
		 0);
	CHECK_EQ(size, n);
	CHECK_EQ(npy_size_of_elements(&text, 1, FAKE_DIMS(3), 24, &size),
		 -EINVAL);
}

static void nrrd_has_the_fastest_axis_first(void)
{
	static const uint16_t v[24] = { 7, 8, 9 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 3, FAKE_DIMS(2, 3, 4), v);
	struct view_source s = fake_source(d);
	static const char head[] =
		"NRRD0004\ntype: uint16\ndimension: 3\nsizes: 4 3 2\n"
		"endian: little\nencoding: raw\nspacings: 0.5 0.5 2\n\n";
	size_t n;
	CLEANUP(freep) char *f = NULL;

	s.nspacing = 3;
	s.spacing[0] = 2;
	s.spacing[1] = s.spacing[2] = 0.5;
	CHECK(view_nrrd.accepts(&s));
	f = fake_file(&view_nrrd, &s, 0, 11, &n);
	CHECK_EQ(n, sizeof(head) - 1 + sizeof(v));
	CHECK(!memcmp(f, head, sizeof(head) - 1));
	CHECK(!memcmp(f + sizeof(head) - 1, v, sizeof(v)));
}

static void opaque_bytes_as_they_are(void)
{
	static const struct dtype t = { .class = DT_OPAQUE, .size = 3 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&t, 2, FAKE_DIMS(2, 2), "abcdefghi\0kl");
	struct view_source s = fake_source(d);
	size_t n;
	CLEANUP(freep) char *f = NULL;

	CHECK(view_bin.accepts(&s) && !view_json.accepts(&s));
	f = fake_file(&view_bin, &s, 0, 5, &n);
	CHECK_EQ(n, 12);
	CHECK(!memcmp(f, "abcdefghi\0kl", 12));
}

int main(void)
{
	for (int runs = 0; runs < 2; runs++) {
		fake_has_runs = runs;
		RUN(any_piece_reads_the_same);
		RUN(reads_no_more_than_it_needs);
		RUN(scalars_and_empty_arrays);
		RUN(a_row_is_a_file);
	}
	RUN(matlab_arrays_have_its_shape);
	RUN(matlab_empty_holds_dims);
	RUN(compounds_keep_their_padding);
	RUN(array_types_add_axes);
	RUN(what_numpy_can_not_hold);
	RUN(absurd_shapes_are_refused);
	RUN(elements_in_memory);
	RUN(nrrd_has_the_fastest_axis_first);
	RUN(opaque_bytes_as_they_are);
	return CHECK_RESULT();
}
