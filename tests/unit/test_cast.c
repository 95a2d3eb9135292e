/* SPDX-License-Identifier: MIT */
/* test_cast.c - elements of one type as another: all of the value, or none. */
#include <math.h>

#include "h5fs/stage.h"

#include "check.h"

#define NAME(s) ((char[]){ s })

#define T(c, s)                                                                \
	{                                                                      \
		.class = c, .size = s                                          \
	}
static struct dtype b1 = T(DT_BOOL, 1), u1 = T(DT_UINT, 1), u2 = T(DT_UINT, 2),
		    u8 = T(DT_UINT, 8), i1 = T(DT_INT, 1), i2 = T(DT_INT, 2),
		    i8 = T(DT_INT, 8), f2 = T(DT_FLOAT, 2), f4 = T(DT_FLOAT, 4),
		    f8 = T(DT_FLOAT, 8), c8 = T(DT_COMPLEX, 8),
		    c16 = T(DT_COMPLEX, 16);

static struct refusal why;

/* One element; the refusal is in why. */
static int cast(const struct dtype *from, const void *in,
		const struct dtype *to, void *out)
{
	refusal_done(&why);
	return cast_elements(from, in, 1, to, out, &why);
}

#define IN(type, v) (&(type){ v })
#define CHECK_CAST(from, ftype, v, to, ttype, want)                            \
	do {                                                                   \
		ttype out_ = 0;                                                \
		CHECK_EQ(cast(&from, IN(ftype, v), &to, &out_), 0);            \
		CHECK(out_ == (want));                                         \
	} while (0)
#define CHECK_LOST(from, ftype, v, to, words)                                  \
	do {                                                                   \
		uint64_t out_[2];                                              \
		CHECK_EQ(cast(&from, IN(ftype, v), &to, out_), -EINVAL);       \
		CHECK(why.reason &&strstr(why.reason, words) && why.remedy);   \
	} while (0)

static void integers(void)
{
	CHECK_CAST(i8, int64_t, 255, u1, uint8_t, 255);
	CHECK_LOST(i8, int64_t, 256, u1, "element 0, 256, does not fit uint8");
	CHECK_LOST(i8, int64_t, -1, u1, "does not fit");
	CHECK_CAST(i8, int64_t, -128, i1, int8_t, -128);
	CHECK_LOST(i8, int64_t, -129, i1, "does not fit");
	CHECK_CAST(u8, uint64_t, UINT64_MAX, u8, uint64_t, UINT64_MAX);
	CHECK_LOST(u8, uint64_t, UINT64_MAX, i8, "18446744073709551615");
	CHECK_CAST(u1, uint8_t, 200, i2, int16_t, 200);
	CHECK_LOST(u1, uint8_t, 200, i1, "does not fit");
}

static void floats(void)
{
	uint16_t h = 0x3e00; /* 1.5 */

	CHECK_CAST(f8, double, 7.0, u1, uint8_t, 7);
	CHECK_LOST(f8, double, 7.5, u1, "no whole number");
	CHECK_LOST(f8, double, -1.0, u1, "does not fit");
	CHECK_LOST(f8, double, (double)NAN, u1, "does not fit");
	CHECK_LOST(f8, double, (double)INFINITY, i8, "does not fit");
	CHECK_LOST(f8, double, 0x1p63, i8, "does not fit");
	CHECK_CAST(f8, double, -0x1p63, i8, int64_t, INT64_MIN);
	CHECK_CAST(f8, double, 0x1p63, u8, uint64_t, UINT64_C(1) << 63);
	CHECK_LOST(f8, double, 0x1p64, u8, "does not fit");
	CHECK_CAST(f8, double, 0.5, f4, float, 0.5f);
	CHECK_LOST(f8, double, 0.1, f4, "not exact in float32");
	CHECK_LOST(f8, double, 1e300, f4, "does not fit");
	CHECK_CAST(f8, double, (double)INFINITY, f4, float, (float)INFINITY);
	CHECK_CAST(f4, float, 0.1f, f8, double, (double)0.1f);
	CHECK_CAST(i8, int64_t, 16777216, f4, float, 16777216.0f);
	CHECK_LOST(i8, int64_t, 16777217, f4, "not exact");
	CHECK_LOST(i8, int64_t, INT64_MAX, f8, "not exact");
	CHECK_CAST(f2, uint16_t, h, f4, float, 1.5f);
	CHECK_CAST(f4, float, 1.5f, f2, uint16_t, h);
	CHECK_LOST(f4, float, 70000.0f, f2, "does not fit");
	CHECK_LOST(f4, float, 1.0001f, f2, "not exact");
}

static void not_a_number_stays_one(void)
{
	float f = 0;

	CHECK_EQ(cast(&f8, IN(double, (double)NAN), &f4, &f), 0);
	CHECK(isnan(f));
}

static void booleans(void)
{
	CHECK_CAST(u1, uint8_t, 1, b1, uint8_t, 1);
	CHECK_CAST(f8, double, 0, b1, uint8_t, 0);
	CHECK_LOST(u1, uint8_t, 2, b1, "neither 0 nor 1");
	CHECK_LOST(f8, double, 0.5, b1, "whole");
	CHECK_CAST(b1, uint8_t, 1, f4, float, 1);
}

static void complexes(void)
{
	double in[2] = { 1.5, -2 };
	float out[2];

	CHECK_EQ(cast(&c16, in, &c8, out), 0);
	CHECK(out[0] == 1.5f && out[1] == -2);
	CHECK_EQ(cast(&f8, in, &c8, out), 0);
	CHECK(out[0] == 1.5f && out[1] == 0);
	in[1] = 0.1;
	CHECK_EQ(cast(&c16, in, &c8, out), -EINVAL);
	CHECK_EQ(cast(&c16, in, &f8, out), -EINVAL);
	CHECK(why.reason && strstr(why.reason, "complex128, not float64"));
}

static void enums(void)
{
	struct dtype_member names[] = { { .name = NAME("cat"), .value = 0 },
					{ .name = NAME("dog"), .value = 5 } };
	struct dtype e = { .class = DT_ENUM,
			   .size = 1,
			   .base = &u1,
			   .nmembers = 2,
			   .members = names };

	CHECK_CAST(i8, int64_t, 5, e, uint8_t, 5);
	CHECK_LOST(i8, int64_t, 4, e, "no value of the enumeration");
	CHECK_LOST(u1, uint8_t, 4, e, "no value of the enumeration");
	CHECK_CAST(e, uint8_t, 5, i8, int64_t, 5);
}

static void strings(void)
{
	struct dtype s5 = { .class = DT_STRING, .size = 5, .pad = PAD_NULLPAD };
	struct dtype s3 = { .class = DT_STRING, .size = 3, .pad = PAD_NULLPAD };
	struct dtype z3 = { .class = DT_STRING,
			    .size = 3,
			    .pad = PAD_NULLTERM };
	struct dtype p4 = { .class = DT_STRING, .size = 4, .pad = PAD_SPACE };
	char out[8];

	CHECK_EQ(cast(&s5, "abc\0", &s3, out), 0);
	CHECK(!memcmp(out, "abc", 3));
	CHECK_EQ(cast(&s5, "abcd", &s3, out), -EINVAL);
	CHECK(why.reason && strstr(why.reason, "4 bytes"));
	CHECK_EQ(cast(&s3, "abc", &z3, out), -EINVAL);
	CHECK_EQ(cast(&s3, "ab", &z3, out), 0);
	CHECK(!memcmp(out, "ab\0", 3));
	CHECK_EQ(cast(&s3, "ab", &p4, out), 0);
	CHECK(!memcmp(out, "ab  ", 4));
	CHECK_EQ(cast(&u1, "a", &s3, out), -EINVAL);
	CHECK_EQ(cast(&s3, "1", &u1, out), -EINVAL);
}

static void structures(void)
{
	struct dtype pair = { .class = DT_ARRAY,
			      .size = 4,
			      .base = &u2,
			      .rank = 1,
			      .dims = { 2 } };
	struct dtype small = { .class = DT_ARRAY,
			       .size = 2,
			       .base = &u1,
			       .rank = 1,
			       .dims = { 2 } };
	struct dtype_member a[] = { { NAME("x"), 0, 0, &u1 },
				    { NAME("y"), 0, 1, &pair } };
	struct dtype_member b[] = { { NAME("y"), 0, 0, &small },
				    { NAME("x"), 0, 4, &f8 } };
	struct dtype_member z[] = { { NAME("y"), 0, 0, &small },
				    { NAME("z"), 0, 4, &f8 } };
	struct dtype from = {
		.class = DT_COMPOUND, .size = 5, .nmembers = 2, .members = a
	};
	struct dtype to = {
		.class = DT_COMPOUND, .size = 12, .nmembers = 2, .members = b
	};
	uint8_t out[12];
	double x;

	CHECK_EQ(cast(&from, "\7\1\0\2\0", &to, out), 0);
	memcpy(&x, out + 4, 8);
	CHECK(x == 7 && out[0] == 1 && out[1] == 2 && !out[2] && !out[3]);
	CHECK_EQ(cast(&from, "\7\1\0\0\1", &to, out), -EINVAL);
	to.members = z;
	CHECK_EQ(cast(&from, "\7\1\0\2\0", &to, out), -EINVAL);
	CHECK(why.reason && strstr(why.reason, "\"z\""));
	to.nmembers = 1;
	CHECK_EQ(cast(&from, "\7\1\0\2\0", &to, out), -EINVAL);
	pair.dims[0] = 1;
	CHECK_EQ(cast(&pair, "\1\0", &small, out), -EINVAL);
}

static void which_element(void)
{
	static const int16_t in[] = { 1, 2, 300, 4 };
	uint8_t out[4];

	refusal_done(&why);
	CHECK_EQ(cast_elements(&i2, in, 4, &u1, out, &why), -EINVAL);
	CHECK(why.reason && strstr(why.reason, "element 2, 300,"));
	refusal_done(&why);
	CHECK_EQ(cast_elements(&i2, in, 2, &u1, out, &why), 0);
	CHECK(out[0] == 1 && out[1] == 2);
	CHECK_EQ(cast_elements(&i2, NULL, 0, &u1, NULL, &why), 0);
	CHECK_EQ(cast_elements(&i2, NULL, 0, &i2, NULL, &why), 0);
}

int main(void)
{
	RUN(integers);
	RUN(floats);
	RUN(not_a_number_stays_one);
	RUN(booleans);
	RUN(complexes);
	RUN(enums);
	RUN(strings);
	RUN(structures);
	RUN(which_element);
	refusal_done(&why);
	return CHECK_RESULT();
}
