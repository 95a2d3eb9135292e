/* SPDX-License-Identifier: MIT */
/* test_label_value.c - a class as the bytes of a label, whatever labels are. */
#include "check.h"
#include "write_int.h"

#define TYPE(c, n) ((struct dtype){ .class = (c), .size = (n) })

static struct dataset_info labels_of_type(const struct dtype *t, uint64_t width)
{
	struct dataset_info in = { .type = t, .rank = width > 1 ? 2 : 1 };

	in.dims[0] = 4;
	in.dims[1] = width;
	return in;
}

/* The bytes that class `number` has, or NULL. */
static struct blob *number_as(const struct dtype *t, uint64_t width,
			      int64_t number)
{
	const struct dataset_info in = labels_of_type(t, width);
	const struct class_label label = { .number = number };
	struct refusal f = { 0 };
	struct blob *b = NULL;
	int r = label_value(&in, &label, &b, &f);

	CHECK_EQ(r == 0, b != NULL);
	CHECK_EQ(r < 0, f.reason != NULL);
	refusal_done(&f);
	return b;
}

static void check_number(const struct dtype *t, int64_t number, bool fits)
{
	CLEANUP(blob_unrefp) struct blob *b = number_as(t, 1, number);

	CHECK_EQ(b != NULL, fits);
	if (b)
		CHECK(b->size == t->size &&
		      (int64_t)dtype_to_double(t, b->data) == number);
}

static void numbers(void)
{
	const struct dtype u1 = TYPE(DT_UINT, 1), i1 = TYPE(DT_INT, 1),
			   i8 = TYPE(DT_INT, 8), u8 = TYPE(DT_UINT, 8),
			   f2 = TYPE(DT_FLOAT, 2), f4 = TYPE(DT_FLOAT, 4),
			   f8 = TYPE(DT_FLOAT, 8), b1 = TYPE(DT_BOOL, 1);

	check_number(&u1, 0, true);
	check_number(&u1, 255, true);
	check_number(&u1, 256, false);
	check_number(&u1, -1, false);
	check_number(&i1, -128, true);
	check_number(&i1, 127, true);
	check_number(&i1, 128, false);
	check_number(&i8, -5, true);
	check_number(&u8, -5, false);
	check_number(&u8, 1 << 30, true);
	check_number(&f2, 2048, true);
	check_number(&f2, 2049, false);
	check_number(&f4, 16777216, true);
	check_number(&f4, 16777217, false);
	check_number(&f8, 16777217, true);
	check_number(&b1, 1, true);
	check_number(&b1, 2, false);
}

static void enums_have_what_they_name(void)
{
	struct dtype_member members[] = { { .name = (char *)"a", .value = 3 },
					  { .name = (char *)"b",
					    .value = (uint64_t)-1 } };
	struct dtype i2 = TYPE(DT_INT, 2);
	const struct dtype e = { .class = DT_ENUM,
				 .size = 2,
				 .base = &i2,
				 .nmembers = 2,
				 .members = members };

	check_number(&e, 3, true);
	check_number(&e, -1, true);
	check_number(&e, 4, false);
}

static void one_hot(void)
{
	const struct dtype f4 = TYPE(DT_FLOAT, 4);
	CLEANUP(blob_unrefp) struct blob *b = number_as(&f4, 3, 2);
	const float want[3] = { 0, 0, 1 };

	CHECK(b && b->size == sizeof(want) && !memcmp(b->data, want, 12));
	CHECK(!number_as(&f4, 3, 3));
	CHECK(!number_as(&f4, 3, -1));
}

static void check_text(const struct dtype *t, const char *name,
		       const char *want, size_t n)
{
	const struct dataset_info in = labels_of_type(t, 1);
	const struct class_label label = { .text = true, .name = (char *)name };
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct refusal f = { 0 };
	int r = label_value(&in, &label, &b, &f);

	CHECK_EQ(r, want ? 0 : -EINVAL);
	CHECK_EQ(f.reason != NULL, !want);
	if (want)
		CHECK(b && b->size == n && !memcmp(b->data, want, n));
	refusal_done(&f);
}

static void texts(void)
{
	struct dtype vl = TYPE(DT_VLSTR, 8), s = TYPE(DT_STRING, 4);

	check_text(&vl, "zebra", "zebra", 5);
	s.pad = PAD_NULLPAD;
	check_text(&s, "ape", "ape\0", 4);
	check_text(&s, "apes", "apes", 4);
	check_text(&s, "zebra", NULL, 0);
	s.pad = PAD_NULLTERM;
	check_text(&s, "ape", "ape\0", 4);
	check_text(&s, "apes", NULL, 0);
	s.pad = PAD_SPACE;
	check_text(&s, "ox", "ox  ", 4);
}

static void rows_for_the_writer(void)
{
	struct dtype vl = TYPE(DT_VLSTR, 8), u2 = TYPE(DT_UINT, 2);
	const uint64_t dims[] = { 9, 3 };
	const uint16_t row[] = { 1, 2, 3 };
	CLEANUP(array_freep) struct array *a = NULL;
	CLEANUP(array_freep) struct array *b = NULL;
	const char *s;
	size_t n;

	CHECK_EQ(row_array(&u2, 2, dims, 0, 1, row, sizeof(row), &a), 0);
	CHECK(a && a->rank == 2 && a->dims[0] == 1 && a->dims[1] == 3 &&
	      a->count == 3 && !memcmp(a->data->data, row, sizeof(row)));
	CHECK_EQ(row_array(&u2, 2, dims, 0, 2, row, sizeof(row), &b), -EINVAL);
	CHECK_EQ(row_array(&vl, 1, dims, 0, 1, "abc", 3, &b), 0);
	if (b) {
		dtype_string(&vl, array_at(b, 0), &s, &n);
		CHECK(n == 3 && !memcmp(s, "abc", 3));
	}
}

int main(void)
{
	RUN(numbers);
	RUN(enums_have_what_they_name);
	RUN(one_hot);
	RUN(texts);
	RUN(rows_for_the_writer);
	return CHECK_RESULT();
}
