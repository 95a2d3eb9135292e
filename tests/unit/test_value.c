/* SPDX-License-Identifier: MIT */
/* test_value.c - texts as elements: of a type that is known, and of one that is
 * guessed. */
#include <math.h>

#include "h5fs/stage.h"

#include "check.h"

#define NAME(s) ((char[]){ s })

static struct dtype b1 = { .class = DT_BOOL, .size = 1 };
static struct dtype u1 = { .class = DT_UINT, .size = 1 };
static struct dtype u8 = { .class = DT_UINT, .size = 8 };
static struct dtype i4 = { .class = DT_INT, .size = 4 };
static struct dtype f4 = { .class = DT_FLOAT, .size = 4 };
static struct dtype f8 = { .class = DT_FLOAT, .size = 8 };
static struct dtype c8 = { .class = DT_COMPLEX, .size = 8 };
static struct dtype s4 = { .class = DT_STRING, .size = 4, .pad = PAD_NULLPAD };
static struct dtype text = { .class = DT_VLSTR, .size = sizeof(char *) };

static struct array *a;
static struct refusal why;

static void clean(void)
{
	array_free(a);
	a = NULL;
	refusal_done(&why);
}

static int parse_as(const struct dtype *t, const char *s, unsigned rank,
		    uint64_t d0, uint64_t d1)
{
	size_t n = strlen(s);
	CLEANUP(freep) char *exact = malloc(n ? n : 1);

	clean();
	memcpy(exact, s, n);
	return value_parse(exact, n, t, rank, (const uint64_t[]){ d0, d1 }, &a,
			   &why);
}

#define CHECK_VALUE(t, s, type, want)                                          \
	do {                                                                   \
		type v_ = 0;                                                   \
		CHECK_EQ(parse_as(&t, s, 0, 0, 0), 0);                         \
		if (a)                                                         \
			memcpy(&v_, array_at(a, 0), sizeof(v_));               \
		CHECK(a && a->rank == 0 && a->count == 1 && v_ == (want));     \
	} while (0)
#define CHECK_NONE(t, s)                                                       \
	do {                                                                   \
		CHECK_EQ(parse_as(&t, s, 0, 0, 0), -EINVAL);                   \
		CHECK(!a && why.reason && why.remedy);                         \
	} while (0)

static void numbers(void)
{
	CHECK_VALUE(u1, "255", uint8_t, 255);
	CHECK_VALUE(u1, "3.0", uint8_t, 3);
	CHECK_NONE(u1, "256");
	CHECK_NONE(u1, "-1");
	CHECK_NONE(u1, "3.5");
	CHECK_NONE(u1, "");
	CHECK_NONE(u1, "three");
	CHECK_NONE(u1, "3 4");
	CHECK_NONE(u1, "[3]");
	CHECK_NONE(u1, "0x10");
	CHECK_VALUE(i4, " -7 ", int32_t, -7);
	CHECK_VALUE(u8, "18446744073709551615", uint64_t, UINT64_MAX);
	CHECK_NONE(u8, "-18446744073709551615");
	CHECK_VALUE(f4, "0.1", float, 0.1f);
	CHECK_VALUE(f8, "0.1", double, 0.1);
	CHECK_VALUE(f8, "16777217", double, 16777217);
	CHECK_VALUE(f4, "16777217", float, 16777216.0f); /* as decimals go */
	CHECK_VALUE(f8, "-inf", double, -(double)INFINITY);
	CHECK_NONE(f4, "1e39");
	CHECK_EQ(parse_as(&f8, "nan", 0, 0, 0), 0);
	CHECK(a && isnan(dtype_to_double(&f8, array_at(a, 0))));
	CHECK_VALUE(b1, "true", uint8_t, 1);
	CHECK_VALUE(b1, "False", uint8_t, 0);
	CHECK_VALUE(b1, "1", uint8_t, 1);
	CHECK_NONE(b1, "2");
	clean();
}

static void enums(void)
{
	struct dtype_member names[] = { { .name = NAME("cat"), .value = 0 },
					{ .name = NAME("7"), .value = 5 } };
	struct dtype e = { .class = DT_ENUM,
			   .size = 1,
			   .base = &u1,
			   .nmembers = 2,
			   .members = names };

	CHECK_VALUE(e, "cat", uint8_t, 0);
	CHECK_VALUE(e, "5", uint8_t, 5);
	CHECK_VALUE(e, "7", uint8_t, 5);
	CHECK_NONE(e, "6");
	CHECK_NONE(e, "dog");
	CHECK_EQ(parse_as(&e, "[\"cat\", 5]", 1, 2, 0), 0);
	CHECK(a && !memcmp(a->data->data, "\0\5", 2));
	clean();
}

static const char *string_at(uint64_t i)
{
	const char *s = NULL;
	size_t n;

	if (a)
		dtype_string(a->type, array_at(a, i), &s, &n);
	return s;
}

static void texts(void)
{
	CHECK_EQ(parse_as(&text, "[1, 2] \"x\"", 0, 0, 0), 0);
	CHECK_STR(string_at(0), "[1, 2] \"x\"");
	CHECK_EQ(parse_as(&text, "", 0, 0, 0), 0);
	CHECK_STR(string_at(0), "");
	CHECK_EQ(parse_as(&text, "[\"a\", \"\\u00e4\"]", 1, 2, 0), 0);
	CHECK_STR(string_at(1), "\xc3\xa4");
	CHECK_EQ(parse_as(&text, "one", 1, 1, 0), 0);
	CHECK_STR(string_at(0), "one");
	CHECK_EQ(parse_as(&text, "[\"one\"]", 1, 1, 0), 0);
	CHECK_STR(string_at(0), "one");
	CHECK_EQ(parse_as(&s4, "abcd", 0, 0, 0), 0);
	CHECK(a && !memcmp(a->data->data, "abcd", 4));
	CHECK_NONE(s4, "abcde");
	CHECK_EQ(parse_as(&text, "[\"a\", 1]", 1, 2, 0), -EINVAL);
	clean();
	CHECK_EQ(value_parse("a\0b", 3, &text, 0, NULL, &a, &why), -EINVAL);
	clean();
}

static void shapes(void)
{
	int32_t v[4];

	CHECK_EQ(parse_as(&i4, "[[1, 2], [3, -4]]", 2, 2, 2), 0);
	memcpy(v, a->data->data, sizeof(v));
	CHECK(v[0] == 1 && v[1] == 2 && v[2] == 3 && v[3] == -4);
	CHECK_EQ(parse_as(&i4, "[[1, 2], [3]]", 2, 2, 2), -EINVAL);
	CHECK_EQ(parse_as(&i4, "[1, 2, 3, 4]", 2, 2, 2), -EINVAL);
	CHECK_EQ(parse_as(&i4, "[1, 2", 1, 2, 0), -EINVAL);
	CHECK_EQ(parse_as(&i4, "5", 1, 2, 0), -EINVAL);
	CHECK_EQ(parse_as(&i4, "5", 1, 1, 0), 0);
	CHECK_EQ(parse_as(&i4, "[]", 1, 0, 0), 0);
	CHECK_EQ(parse_as(&f8, "[\"nan\", \"-inf\"]", 1, 2, 0), 0);
	CHECK(isinf(dtype_to_double(&f8, array_at(a, 1))));
	CHECK_EQ(parse_as(&i4, "[1]", 2, UINT64_MAX, 2), -EFBIG);
	clean();
}

static void structures(void)
{
	struct dtype pair = { .class = DT_ARRAY,
			      .size = 2,
			      .base = &u1,
			      .rank = 1,
			      .dims = { 2 } };
	struct dtype list = { .class = DT_VLEN,
			      .size = sizeof(struct dt_vlen),
			      .base = &u1 };
	struct dtype_member m[] = { { NAME("x"), 0, 0, &u1 },
				    { NAME("y"), 0, 1, &pair } };
	struct dtype t = {
		.class = DT_COMPOUND, .size = 3, .nmembers = 2, .members = m
	};
	struct dtype ref = { .class = DT_REF, .size = 8 };
	struct dt_vlen v;
	float c[2];

	CHECK_EQ(parse_as(&t, "{\"y\": [1, 2], \"x\": 7}", 0, 0, 0), 0);
	CHECK(a && !memcmp(a->data->data, "\7\1\2", 3));
	CHECK_EQ(parse_as(&t, "{\"y\": [1, 2]}", 0, 0, 0), -EINVAL);
	CHECK_EQ(parse_as(&t, "{\"y\": [1, 2], \"z\": 7}", 0, 0, 0), -EINVAL);
	CHECK_EQ(parse_as(&c8, "[1, -2.5]", 0, 0, 0), 0);
	memcpy(c, a->data->data, sizeof(c));
	CHECK(c[0] == 1 && c[1] == -2.5f);
	CHECK_EQ(parse_as(&list, "[1, 2, 3]", 0, 0, 0), 0);
	memcpy(&v, a->data->data, sizeof(v));
	CHECK(v.len == 3 && !memcmp(v.p, "\1\2\3", 3));
	CHECK_EQ(parse_as(&list, "[]", 0, 0, 0), 0);
	CHECK_EQ(parse_as(&list, "{}", 0, 0, 0), -EINVAL);
	CHECK_EQ(parse_as(&ref, "\"/x\"", 0, 0, 0), -EINVAL);
	clean();
}

static void guess(const char *s)
{
	size_t n = strlen(s);
	CLEANUP(freep) char *exact = malloc(n ? n : 1);

	clean();
	memcpy(exact, s, n);
	CHECK_EQ(value_guess(exact, n, &a), 0);
}

static void check_guess(const char *s, enum dtype_class class, unsigned size,
			unsigned rank)
{
	guess(s);
	CHECK(a && a->type->class == class && a->type->size == size &&
	      a->rank == rank);
}

static void guesses(void)
{
	check_guess("3", DT_INT, 8, 0);
	CHECK(a && dtype_to_int64(a->type, array_at(a, 0)) == 3);
	check_guess("-3", DT_INT, 8, 0);
	check_guess("0.5", DT_FLOAT, 8, 0);
	check_guess("1e3", DT_FLOAT, 8, 0);
	check_guess("true", DT_BOOL, 1, 0);
	check_guess("18446744073709551615", DT_UINT, 8, 0);
	check_guess("18446744073709551616", DT_VLSTR, 8, 0);
	CHECK_STR(string_at(0), "18446744073709551616");
	check_guess("[1, 2]", DT_INT, 8, 1);
	check_guess("[1, 2.5]", DT_FLOAT, 8, 1);
	CHECK(a && dtype_to_double(a->type, array_at(a, 0)) == 1);
	check_guess("[[1, 2], [3, 4], [5, 6]]", DT_INT, 8, 2);
	CHECK(a && a->dims[0] == 3 && a->dims[1] == 2);
	check_guess("[\"a\", \"b\"]", DT_VLSTR, 8, 1);
	CHECK_STR(string_at(1), "b");
	/* Whatever is else is text, as it is. */
	check_guess("hello", DT_VLSTR, 8, 0);
	check_guess("", DT_VLSTR, 8, 0);
	check_guess("\"3\"", DT_VLSTR, 8, 0);
	CHECK_STR(string_at(0), "\"3\"");
	check_guess("[1, \"a\"]", DT_VLSTR, 8, 0);
	check_guess("[[1, 2], [3]]", DT_VLSTR, 8, 0);
	check_guess("[[1, 2], 3]", DT_VLSTR, 8, 0);
	check_guess("[1, [2]]", DT_VLSTR, 8, 0);
	check_guess("[]", DT_VLSTR, 8, 0);
	check_guess("{\"a\": 1}", DT_VLSTR, 8, 0);
	CHECK_STR(string_at(0), "{\"a\": 1}");
	check_guess("null", DT_VLSTR, 8, 0);
	check_guess("\xff", DT_VLSTR, 8, 0);
	CHECK(a && !a->type->utf8);
	check_guess("\xc3\xa4", DT_VLSTR, 8, 0);
	CHECK(a && a->type->utf8);
	clean();
	CHECK_EQ(value_guess("a\0b", 3, &a), 0);
	CHECK(a && a->type->class == DT_STRING && a->type->size == 3);
	clean();
}

int main(void)
{
	RUN(numbers);
	RUN(enums);
	RUN(texts);
	RUN(shapes);
	RUN(structures);
	RUN(guesses);
	return CHECK_RESULT();
}
