/* SPDX-License-Identifier: MIT */
/* test_format.c - numbers, JSON, attribute texts and type names. */
#include <math.h>

#include "check.h"
#include "fake_store.h"

static struct strbuf out = STRBUF_INIT;

static const char *json(const struct dtype *t, const void *element)
{
	strbuf_done(&out);
	json_of_element(t, element, &out);
	return out.buf;
}

static const char *json_double(double v)
{
	return json(&FAKE_TYPE(DT_FLOAT, 8), &v);
}

static const char *json_single(float v)
{
	return json(&FAKE_TYPE(DT_FLOAT, 4), &v);
}

static const char *json_half(uint16_t v)
{
	return json(&FAKE_TYPE(DT_FLOAT, 2), &v);
}

static void floats_are_the_shortest_that_read_back(void)
{
	CHECK_STR(json_double(0.1), "0.1");
	CHECK_STR(json_double(0.1 + 0.2), "0.30000000000000004");
	CHECK_STR(json_double(3), "3");
	CHECK_STR(json_double(-0.0), "-0");
	CHECK_STR(json_double(1e22), "1e+22");
	CHECK_STR(json_double(123456789012345678.0), "1.2345678901234568e+17");
	CHECK_STR(json_double(5e-324), "5e-324");
	CHECK_STR(json_single(0.1f), "0.1");
	CHECK_STR(json_single(16777216.0f), "16777216");
	CHECK_STR(json_single(3.4028235e38f), "3.4028235e+38");
	CHECK_STR(json_single(1e-45f), "1e-45");
	CHECK_STR(json_half(0x2e66), "0.1");
	CHECK_STR(json_half(0x7bff), "65504");
	CHECK_STR(json_half(0x0001), "6e-08");
	CHECK_STR(json_half(0xbc00), "-1");
	CHECK_STR(json_half(0x3555), "0.3333");
}

static void every_half_reads_back(void)
{
	for (unsigned h = 0; h < 0x7c00; h++) {
		double want = half_to_double(h), got, low, high;
		char *end;

		got = strtod(json_half(h), &end);
		CHECK_EQ(*end, 0);
		low = h ? half_to_double(h - 1) : 0;
		high = h < 0x7bff ? half_to_double(h + 1) : want;
		/* Nearer to this one than to its neighbours, in few digits. */
		if (!(fabs(got - want) < fabs(got - low) || h == 0) ||
		    !(fabs(got - want) < fabs(got - high) || h == 0x7bff) ||
		    out.len > 11)
			CHECK_STR(out.buf, "a text that reads back");
	}
}

static void non_finite_are_strings(void)
{
	CHECK_STR(json_double(NAN), "\"nan\"");
	CHECK_STR(json_double(-NAN), "\"nan\"");
	CHECK_STR(json_double(INFINITY), "\"inf\"");
	CHECK_STR(json_single(-INFINITY), "\"-inf\"");
	CHECK_STR(json_half(0xfc00), "\"-inf\"");
}

static void long_doubles(void)
{
	static const uint8_t tenth[16] = { 0xcd, 0xcc, 0xcc, 0xcc, 0xcc,
					   0xcc, 0xcc, 0xcc, 0xfb, 0x3f };
	static const uint8_t no_number[16] = { 1, 0, 0, 0,    0,
					       0, 0, 0, 0xfb, 0x3f };

	CHECK_STR(json(&FAKE_TYPE(DT_FLOAT, 16), tenth), "0.1");
	CHECK_STR(json(&FAKE_TYPE(DT_FLOAT, 16), no_number), "\"nan\"");
}

static void integers_are_exact(void)
{
	uint64_t u = UINT64_MAX;
	int64_t i = INT64_MIN;
	int8_t b = -1;

	CHECK_STR(json(&FAKE_TYPE(DT_UINT, 8), &u), "18446744073709551615");
	CHECK_STR(json(&FAKE_TYPE(DT_INT, 8), &i), "-9223372036854775808");
	CHECK_STR(json(&FAKE_TYPE(DT_INT, 1), &b), "-1");
	CHECK_STR(json(&FAKE_TYPE(DT_BOOL, 1), "\1"), "true");
}

static void strings_are_escaped(void)
{
	strbuf_done(&out);
	json_of_string("a\"\\\n\t\x01\0b\xc3\xbc\xe9", 11, &out);
	CHECK_STR(out.buf,
		  "\"a\\\"\\\\\\n\\t\\u0001\\u0000b\xc3\xbc\\\\xe9\"");
}

/* {p: {x: f4, y: enum}, v: u1[2,2], c: c8, o: opaque} */
static void nested_elements(void)
{
	struct dtype f4 = FAKE_TYPE(DT_FLOAT, 4), u1 = FAKE_TYPE(DT_UINT, 1);
	struct dtype c8 = FAKE_TYPE(DT_COMPLEX, 8);
	struct dtype o2 = FAKE_TYPE(DT_OPAQUE, 2);
	struct dtype_member names[] = { { .name = (char *)"RED", .value = 7 } };
	struct dtype en = { .class = DT_ENUM,
			    .size = 1,
			    .base = &u1,
			    .nmembers = 1,
			    .members = names };
	struct dtype_member pm[] = {
		{ .name = (char *)"x", .type = &f4 },
		{ .name = (char *)"y", .offset = 4, .type = &en }
	};
	struct dtype p = {
		.class = DT_COMPOUND, .size = 5, .nmembers = 2, .members = pm
	};
	struct dtype v = { .class = DT_ARRAY,
			   .size = 4,
			   .base = &u1,
			   .rank = 2,
			   .dims = { 2, 2 } };
	struct dtype_member m[] = {
		{ .name = (char *)"p", .type = &p },
		{ .name = (char *)"v", .offset = 5, .type = &v },
		{ .name = (char *)"c", .offset = 9, .type = &c8 },
		{ .name = (char *)"o", .offset = 17, .type = &o2 },
	};
	struct dtype t = {
		.class = DT_COMPOUND, .size = 19, .nmembers = 4, .members = m
	};
	uint8_t e[19] = { 0, 0,	   0x20, 0x40, 7, 1, 2,	   3,	 4,   0,
			  0, 0x80, 0x3f, 0,    0, 0, 0xc0, 0xab, 0x01 };

	CHECK_STR(json(&t, e), "{\"p\": {\"x\": 2.5, \"y\": \"RED\"}, "
			       "\"v\": [[1, 2], [3, 4]], \"c\": [1, -2], "
			       "\"o\": \"ab01\"}");
	e[4] = 8;
	CHECK(strstr(json(&t, e), "\"y\": 8}"));
	strbuf_done(&out);
	text_of_dtype(&t, &out);
	CHECK_STR(out.buf, "[('p', [('x', '<f4'), ('y', '|u1')]), "
			   "('v', '|u1', (2, 2)), ('c', '<c8'), ('o', '|V2')]");
}

static void sequences_and_references(void)
{
	struct dtype i2 = FAKE_TYPE(DT_INT, 2);
	struct dtype t = { .class = DT_VLEN, .size = 16, .base = &i2 };
	static const int16_t v[] = { 1, -2, 3 };
	struct dt_vlen three = { 3, v }, none = { 0, NULL };
	const char *path = "/a b";

	CHECK_STR(json(&t, &three), "[1, -2, 3]");
	CHECK_STR(json(&t, &none), "[]");
	CHECK_STR(json(&FAKE_TYPE(DT_REF, 8), &path), "\"/a b\"");
	path = NULL;
	CHECK_STR(json(&FAKE_TYPE(DT_REF, 8), &path), "null");
	strbuf_done(&out);
	text_of_dtype(&t, &out);
	CHECK_STR(out.buf, "vlen <i2");
}

static const char *text(const struct dtype *t, unsigned rank,
			const uint64_t *dims, const void *data, size_t n)
{
	struct blob b = { (uint8_t *)(uintptr_t)data, n, 1 };
	struct array a = { .type = t, .rank = rank, .count = 1, .data = &b };

	for (unsigned k = 0; k < rank; k++)
		a.count *= a.dims[k] = dims[k];
	strbuf_done(&out);
	CHECK_EQ(text_of_array(&a, &out), 0);
	return out.buf ? out.buf : "";
}

static void attribute_texts(void)
{
	struct dtype s4 = FAKE_TYPE(DT_STRING, 4), f8 = FAKE_TYPE(DT_FLOAT, 8);
	struct dtype i4 = FAKE_TYPE(DT_INT, 4);
	static const int32_t four[] = { 1, 2, 3, 4 };
	double v = NAN;
	struct array null = { .type = &f8, .null = true };

	CHECK_STR(text(&s4, 0, NULL, "a\"\n\0", 4), "a\"\n");
	CHECK_STR(text(&s4, 1, FAKE_DIMS(2), "ab\0\0cdef", 8),
		  "[\"ab\", \"cdef\"]");
	CHECK_STR(text(&f8, 0, NULL, &v, 8), "nan");
	CHECK_STR(text(&i4, 0, NULL, four, 4), "1");
	CHECK_STR(text(&i4, 2, FAKE_DIMS(2, 2), four, 16), "[[1, 2], [3, 4]]");
	CHECK_STR(text(&i4, 1, FAKE_DIMS(0), four, 0), "[]");
	strbuf_done(&out);
	CHECK_EQ(text_of_array(&null, &out), 0);
	CHECK_EQ(out.len, 0);
}

static void type_names(void)
{
	struct dtype be = { .class = DT_UINT, .size = 2, .big_endian = true };
	struct dtype u1 = FAKE_TYPE(DT_UINT, 1);
	struct dtype_member names[] = { { .name = (char *)"A", .value = 0 },
					{ .name = (char *)"B", .value = 9 } };
	struct dtype en = { .class = DT_ENUM,
			    .size = 1,
			    .base = &u1,
			    .nmembers = 2,
			    .members = names };

	strbuf_done(&out);
	text_of_dtype(&be, &out);
	CHECK_STR(out.buf, ">u2");
	strbuf_done(&out);
	CHECK_EQ(text_of_datatype(&be, &out), 0);
	CHECK_STR(out.buf, ">u2\nunsigned integer, 2 bytes, big-endian\n");
	strbuf_done(&out);
	CHECK_EQ(text_of_datatype(&en, &out), 0);
	CHECK_STR(out.buf, "|u1\nenumeration, 1 byte\nA = 0\nB = 9\n");
}

int main(void)
{
	RUN(floats_are_the_shortest_that_read_back);
	RUN(every_half_reads_back);
	RUN(non_finite_are_strings);
	RUN(long_doubles);
	RUN(integers_are_exact);
	RUN(strings_are_escaped);
	RUN(nested_elements);
	RUN(sequences_and_references);
	RUN(attribute_texts);
	RUN(type_names);
	strbuf_done(&out);
	return CHECK_RESULT();
}
