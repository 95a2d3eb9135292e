/* SPDX-License-Identifier: MIT */
/* test_array.c - what types and elements say. */
#include <math.h>

#include "h5fs/array.h"

#include "check.h"

static struct dtype *type(enum dtype_class class, uint32_t size)
{
	struct dtype *t = NULL;

	CHECK_EQ(dtype_new(class, size, &t), 0);
	return t;
}

static struct dtype *type_of(enum dtype_class class, uint32_t size,
			     struct dtype *base)
{
	struct dtype *t = type(class, size);

	t->base = base;
	return t;
}

static struct dtype *compound(uint32_t size, struct dtype *a, struct dtype *b)
{
	struct dtype *t = type(DT_COMPOUND, size);

	t->nmembers = 2;
	t->members = calloc(2, sizeof(*t->members));
	t->members[0] = (struct dtype_member){ strdup("a"), 0, 0, a };
	t->members[1] = (struct dtype_member){ strdup("b"), 0, a->size, b };
	return t;
}

/* Takes the type over. */
static void check_type(struct dtype *t, bool plain, bool pointers, bool number)
{
	CHECK_EQ(dtype_is_plain(t), plain);
	CHECK_EQ(dtype_has_pointers(t), pointers);
	CHECK_EQ(dtype_is_number(t), number);
	dtype_free(t);
}

static void simple_types(void)
{
	check_type(type(DT_UINT, 4), true, false, true);
	check_type(type(DT_FLOAT, 16), true, false, true);
	check_type(type(DT_BOOL, 1), true, false, true);
	check_type(type_of(DT_ENUM, 1, type(DT_INT, 1)), true, false, true);
	check_type(type_of(DT_COMPLEX, 8, type(DT_FLOAT, 4)), true, false,
		   false);
	check_type(type_of(DT_COMPLEX, 4, type(DT_FLOAT, 2)), false, false,
		   false);
	check_type(type(DT_STRING, 3), true, false, false);
	check_type(type(DT_STRING, 0), false, false, false);
	check_type(type(DT_OPAQUE, 3), false, false, false);
	check_type(type(DT_VLSTR, 8), false, true, false);
	check_type(type(DT_REF, 8), false, true, false);
	check_type(type(DT_REGREF, 16), false, true, false);
	check_type(type_of(DT_VLEN, 16, type(DT_INT, 1)), false, true, false);
}

static void nested_types(void)
{
	check_type(type_of(DT_ARRAY, 8, type(DT_INT, 4)), true, false, false);
	check_type(type_of(DT_ARRAY, 16, type(DT_VLSTR, 8)), false, true,
		   false);
	check_type(compound(5, type(DT_INT, 4), type(DT_STRING, 1)), true,
		   false, false);
	check_type(compound(4, type(DT_INT, 4), type(DT_STRING, 0)), false,
		   false, false);
	check_type(compound(12, type(DT_INT, 4), type(DT_VLSTR, 8)), false,
		   true, false);
	check_type(compound(12, type(DT_INT, 4),
			    compound(8, type(DT_OPAQUE, 4), type(DT_INT, 4))),
		   false, false, false);
	check_type(type(DT_COMPOUND, 4), false, false, false);
	dtype_free(NULL);
}

#define NUMBERS(class, ctype, value)                                           \
	do {                                                                   \
		ctype v_ = (value);                                            \
		struct dtype *t_ = type(class, sizeof(v_));                    \
		d = dtype_to_double(t_, &v_);                                  \
		i = dtype_to_int64(t_, &v_);                                   \
		u = dtype_to_uint64(t_, &v_);                                  \
		dtype_free(t_);                                                \
	} while (0)

static void integers(void)
{
	double d;
	int64_t i;
	uint64_t u;

	NUMBERS(DT_UINT, uint8_t, 200);
	CHECK(d == 200 && i == 200 && u == 200);
	NUMBERS(DT_INT, int8_t, -3);
	CHECK(d == -3 && i == -3 && u == (uint64_t)-3);
	NUMBERS(DT_INT, int16_t, INT16_MIN);
	CHECK(d == INT16_MIN && i == INT16_MIN);
	NUMBERS(DT_UINT, uint32_t, UINT32_MAX);
	CHECK(d == UINT32_MAX && i == UINT32_MAX && u == UINT32_MAX);
	NUMBERS(DT_INT, int64_t, INT64_MIN);
	CHECK(d == -0x1p63 && i == INT64_MIN);
	NUMBERS(DT_UINT, uint64_t, UINT64_MAX);
	CHECK(d == 0x1p64 && u == UINT64_MAX);
	NUMBERS(DT_BOOL, uint8_t, 1);
	CHECK(d == 1 && i == 1 && u == 1);
}

static void floats(void)
{
	double d;
	int64_t i;
	uint64_t u;

	NUMBERS(DT_FLOAT, uint16_t, 0xc200);
	CHECK(d == -3 && i == -3 && u == 0);
	NUMBERS(DT_FLOAT, float, 2.5f);
	CHECK(d == 2.5 && i == 2 && u == 2);
	NUMBERS(DT_FLOAT, double, 1e300);
	CHECK(d == 1e300 && i == INT64_MAX && u == UINT64_MAX);
	NUMBERS(DT_FLOAT, double, -1e300);
	CHECK(d == -1e300 && i == INT64_MIN && u == 0);
	NUMBERS(DT_FLOAT, double, (double)NAN);
	CHECK(isnan(d) && i == 0 && u == 0);
	NUMBERS(DT_FLOAT, long double, 0.1L);
	CHECK(d == 0.1 && i == 0 && u == 0);
}

static void enum_is_its_base(void)
{
	struct dtype *t = type_of(DT_ENUM, 2, type(DT_INT, 2));
	int16_t v = -7;

	CHECK(dtype_strip_enum(t) == t->base);
	CHECK(dtype_strip_enum(t->base) == t->base);
	CHECK_EQ(dtype_to_int64(t, &v), -7);
	CHECK(dtype_to_double(t, &v) == -7);
	dtype_free(t);
}

static void check_string(const char *bytes, uint32_t size, enum dtype_pad pad,
			 size_t want)
{
	struct dtype *t = type(DT_STRING, size);
	const char *text = NULL;
	size_t len = 99;

	t->pad = pad;
	dtype_string(t, bytes, &text, &len);
	CHECK(text == bytes);
	CHECK_EQ(len, want);
	dtype_free(t);
}

static void fixed_strings(void)
{
	check_string("ab\0c", 4, PAD_NULLTERM, 2);
	check_string("abcd", 4, PAD_NULLTERM, 4);
	check_string("a\0b\0\0", 5, PAD_NULLPAD, 3);
	check_string("a b  ", 5, PAD_SPACE, 3);
	check_string("ab \0", 4, PAD_SPACE, 2);
	check_string("    ", 4, PAD_SPACE, 0);
	check_string("a   ", 4, PAD_NULLPAD, 4);
}

static void variable_strings(void)
{
	struct dtype *t = type(DT_VLSTR, sizeof(char *));
	const char *value = "text", *null = NULL, *text;
	size_t len;

	dtype_string(t, &value, &text, &len);
	CHECK(text == value && len == 4);
	dtype_string(t, &null, &text, &len);
	CHECK_STR(text, "");
	CHECK_EQ(len, 0);
	dtype_free(t);
}

static void array_owns_its_parts(void)
{
	struct array *a = calloc(1, sizeof(*a));
	uint16_t values[] = { 1, 2, 3 };

	a->type = a->own_type = type(DT_UINT, 2);
	a->rank = 1;
	a->count = a->dims[0] = 3;
	CHECK_EQ(blob_from(values, sizeof(values), &a->data), 0);
	CHECK_EQ(arena_new(&a->arena), 0);
	CHECK_EQ(dtype_to_uint64(a->type, array_at(a, 2)), 3);
	array_free(a);
	array_free(NULL);
}

int main(void)
{
	RUN(simple_types);
	RUN(nested_types);
	RUN(integers);
	RUN(floats);
	RUN(enum_is_its_base);
	RUN(fixed_strings);
	RUN(variable_strings);
	RUN(array_owns_its_parts);
	return CHECK_RESULT();
}
