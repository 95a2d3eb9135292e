/* SPDX-License-Identifier: MIT */
/* test_view_csv.c - tables as CSV. */
#include <math.h>

#include "check.h"
#include "fake_store.h"

struct record {
	int32_t id;
	char name[8];
	float score;
	uint8_t ok, colour;
	uint16_t pad;
};
static struct dtype i4 = { .class = DT_INT, .size = 4 };
static struct dtype s8 = { .class = DT_STRING, .size = 8 };
static struct dtype f4 = { .class = DT_FLOAT, .size = 4 };
static struct dtype b1 = { .class = DT_BOOL, .size = 1 };
static struct dtype u1 = { .class = DT_UINT, .size = 1 };
static struct dtype_member colours[] = { { .name = (char *)"RED",
					   .value = 1 } };
static struct dtype en = { .class = DT_ENUM,
			   .size = 1,
			   .base = &u1,
			   .nmembers = 1,
			   .members = colours };
static struct dtype_member members[] = {
	{ .name = (char *)"id", .type = &i4 },
	{ .name = (char *)"na,me", .offset = 4, .type = &s8 },
	{ .name = (char *)"score", .offset = 12, .type = &f4 },
	{ .name = (char *)"ok", .offset = 16, .type = &b1 },
	{ .name = (char *)"colour", .offset = 17, .type = &en },
};
static struct dtype table = {
	.class = DT_COMPOUND, .size = 20, .nmembers = 5, .members = members
};

static void a_row_a_line(void)
{
	static const struct record v[] = {
		{ 1, "a", 0.5f, 1, 1, 0 },	    { -2, "b,c", NAN, 0, 2, 0 },
		{ 3, "q\"\n", -INFINITY, 1, 1, 0 }, { 4, " x", 0.1f, 1, 1, 0 },
		{ 5, "", 16777216, 1, 1, 0 },
	};
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&table, 1, FAKE_DIMS(5), v);
	struct view_source s = fake_source(d);
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_csv, &s, 0, 0, &n);

	CHECK(view_csv.accepts(&s) && view_npy.accepts(&s));
	CHECK(!view_json.accepts(&s) && !view_numbers.accepts(&s));
	CHECK_STR(f, "id,\"na,me\",score,ok,colour\n"
		     "1,a,0.5,true,RED\n"
		     "-2,\"b,c\",nan,false,2\n"
		     "3,\"q\"\"\n\",-inf,true,RED\n"
		     "4,\" x\",0.1,true,RED\n"
		     "5,,16777216,true,RED\n");
}

static void no_rows_leave_the_header(void)
{
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&table, 1, FAKE_DIMS(0), NULL);
	struct view_source s = fake_source(d);
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_csv, &s, 0, 0, &n);

	CHECK_STR(f, "id,\"na,me\",score,ok,colour\n");
}

static void many_rows_are_several_blocks(void)
{
	enum { N = 9000 };
	struct record *v = calloc(N, sizeof(*v));
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&table, 1, FAKE_DIMS(N), v);
	struct view_source s = fake_source(d);
	CLEANUP(freep) char *f = NULL;
	unsigned lines = 0;
	size_t n;
	char *at;

	for (int i = 0; i < N; i++)
		v[i].id = i;
	CHECK_EQ(view_csv.blocks(&s, 0), 3);
	f = fake_file(&view_csv, &s, 0, 0, &n);
	at = f;
	while ((at = strchr(at, '\n')) && *++at)
		CHECK_EQ(atoi(at), lines++);
	CHECK_EQ(lines, N);
	CHECK_EQ(view_csv.render(&s, 0, 4, NULL), -ERANGE);
	free(v);
}

static void an_empty_field_alone_is_quoted(void)
{
	struct dtype_member m = { .name = (char *)"s", .type = &s8 };
	struct dtype t = {
		.class = DT_COMPOUND, .size = 8, .nmembers = 1, .members = &m
	};
	CLEANUP(dset_unrefp)
	struct dset *d =
		fake_dset(&t, 1, FAKE_DIMS(2), "\0\0\0\0\0\0\0\0one\0\0\0\0\0");
	struct view_source s = fake_source(d);
	size_t n;
	CLEANUP(freep) char *f = fake_file(&view_csv, &s, 0, 0, &n);

	CHECK_STR(f, "s\n\"\"\none\n");
}

static void nested_and_other_ranks_are_json(void)
{
	struct dtype v2 = { .class = DT_ARRAY,
			    .size = 8,
			    .base = &f4,
			    .rank = 1,
			    .dims = { 2 } };
	struct dtype vl = { .class = DT_VLSTR, .size = 8 };
	struct dtype_member m = { .name = (char *)"v", .type = &v2 };
	struct dtype t = {
		.class = DT_COMPOUND, .size = 8, .nmembers = 1, .members = &m
	};
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&t, 1, FAKE_DIMS(2), NULL);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&table, 2, FAKE_DIMS(2, 2), NULL);
	struct view_source s = fake_source(d);

	CHECK(!view_csv.accepts(&s) && view_json.accepts(&s));
	CHECK(view_npy.accepts(&s));
	m.type = &vl;
	CHECK(!view_csv.accepts(&s) && view_json.accepts(&s));
	CHECK(!view_npy.accepts(&s));
	s = fake_source(e);
	CHECK(!view_csv.accepts(&s) && view_json.accepts(&s));
	CHECK(view_npy.accepts(&s));
}

int main(void)
{
	RUN(a_row_a_line);
	RUN(no_rows_leave_the_header);
	RUN(many_rows_are_several_blocks);
	RUN(an_empty_field_alone_is_quoted);
	RUN(nested_and_other_ranks_are_json);
	return CHECK_RESULT();
}
