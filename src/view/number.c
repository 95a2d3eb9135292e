/* SPDX-License-Identifier: MIT */
/* number.c - numbers as decimal: the shortest that reads back the same. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "view_int.h"

/* Does text read back as the element? */
static bool same_half(const char *text, const void *element)
{
	double v = fabs(strtod(text, NULL)), x, below, above;
	uint16_t h;

	/* Strictly between the midpoints to both neighbours; behind the largest
	 * one lies infinity, as far off as the one before. */
	memcpy(&h, element, sizeof(h));
	h &= 0x7fff;
	x = half_to_double(h);
	below = h ? half_to_double(h - 1) : x;
	above = h < 0x7bff ? half_to_double(h + 1) : 2 * x - below;
	return v == x || (v > (below + x) / 2 && v < (x + above) / 2);
}

static bool same_single(const char *text, const void *element)
{
	float x;

	memcpy(&x, element, sizeof(x));
	return strtof(text, NULL) == x;
}

static bool same_double(const char *text, const void *element)
{
	double x;

	memcpy(&x, element, sizeof(x));
	return strtod(text, NULL) == x;
}

/* lo: digits that survive decimal to binary to decimal, so that %g with as many
 * is the shortest if it reads back at all; not so below `normal`. Whole numbers
 * below `whole` are printed as such: 65504, not 6.55e+04. */
static const struct float_form {
	uint32_t size;
	int lo, hi;
	double normal, whole;
	unsigned width;
	bool (*same)(const char *text, const void *element);
} float_forms[] = {
	{ 2, 3, 5, 0x1p-14, 0x1p16, 11, same_half },
	{ 4, 6, 9, FLT_MIN, 0x1p24, 15, same_single },
	{ 8, 15, 17, DBL_MIN, 1e15, 24, same_double },
};

static const struct float_form *float_form(uint32_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(float_forms); i++)
		if (float_forms[i].size == size)
			return &float_forms[i];
	return NULL;
}

static size_t non_finite_text(double v, char *buf)
{
	strcpy(buf, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
	return strlen(buf);
}

#define LONG_DOUBLE_WIDTH 29

/* x87's 80 bits; elsewhere what a double holds of them. */
static size_t long_double_text(const struct dtype *t, const void *element,
			       char *buf)
{
#if LDBL_MANT_DIG == 64
	long double x;
	uint64_t mantissa;
	uint16_t exponent;

	memcpy(&mantissa, element, sizeof(mantissa));
	memcpy(&exponent, (const uint8_t *)element + 8, sizeof(exponent));
	if ((exponent & 0x7fff) && !(mantissa >> 63))
		return non_finite_text(NAN, buf); /* no number's encoding */
	memcpy(&x, element, sizeof(x));
	if (!isfinite(x))
		return non_finite_text((double)x, buf);
	for (int digits = 18; digits <= 21; digits++) {
		snprintf(buf, NUMBER_MAX, "%.*Lg", digits, x);
		if (strtold(buf, NULL) == x)
			break;
	}
	return strlen(buf);
#else
	return double_text(dtype_to_double(t, element), buf);
#endif
}

static size_t put_decimal(uint64_t v, bool minus, char *buf)
{
	char digits[24];
	size_t n = 0, len = 0;

	do
		digits[n++] = '0' + v % 10;
	while (v /= 10);
	if (minus)
		buf[len++] = '-';
	while (n)
		buf[len++] = digits[--n];
	buf[len] = 0;
	return len;
}

static size_t float_text(const struct dtype *t, const void *element, char *buf)
{
	const struct float_form *f = float_form(t->size);
	double v;

	if (!f)
		return long_double_text(t, element, buf);
	v = dtype_to_double(t, element);
	if (!isfinite(v))
		return non_finite_text(v, buf);
	if (fabs(v) < f->whole && v == floor(v) && !(v == 0 && signbit(v)))
		return put_decimal((uint64_t)fabs(v), v < 0, buf);
	for (int digits = fabs(v) < f->normal ? 1 : f->lo; digits <= f->hi;
	     digits++) {
		snprintf(buf, NUMBER_MAX, "%.*g", digits, v);
		if (f->same(buf, element))
			break;
	}
	return strlen(buf);
}

size_t double_text(double v, char buf[static NUMBER_MAX])
{
	const struct dtype t = { .class = DT_FLOAT, .size = sizeof(v) };

	return float_text(&t, &v, buf);
}

static size_t complex_text(const struct dtype *t, const void *element,
			   char *buf)
{
	const struct dtype part = { .class = DT_FLOAT, .size = t->size / 2 };
	char im[NUMBER_MAX];
	size_t n = 1 + float_text(&part, element, buf + 1);

	buf[0] = '(';
	float_text(&part, (const uint8_t *)element + part.size, im);
	if (im[0] != '-')
		buf[n++] = '+';
	strcpy(buf + n, im);
	strcat(buf + n, "j)");
	return n + strlen(buf + n);
}

static size_t int_text(const struct dtype *t, const void *element, char *buf)
{
	int64_t v = dtype_to_int64(t, element);

	return put_decimal(v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0, buf);
}

static size_t uint_text(const struct dtype *t, const void *element, char *buf)
{
	return put_decimal(dtype_to_uint64(t, element), false, buf);
}

static size_t bool_text(const struct dtype *t, const void *element, char *buf)
{
	strcpy(buf, *(const uint8_t *)element ? "1" : "0");
	return 1;
}

static size_t (*const texts[])(const struct dtype *, const void *, char *) = {
	[DT_UINT] = uint_text,	     [DT_INT] = int_text,
	[DT_FLOAT] = float_text,     [DT_BOOL] = bool_text,
	[DT_COMPLEX] = complex_text,
};

size_t number_text(const struct dtype *t, const void *element,
		   char buf[static NUMBER_MAX])
{
	t = dtype_strip_enum(t);
	if (t->class >= ARRAY_SIZE(texts) || !texts[t->class]) {
		buf[0] = 0;
		return 0;
	}
	return texts[t->class](t, element, buf);
}

static unsigned float_width(uint32_t size)
{
	const struct float_form *f = float_form(size);

	return f ? f->width : size == 16 ? LONG_DOUBLE_WIDTH : 0;
}

unsigned number_width(const struct dtype *t)
{
	static const struct {
		uint32_t size;
		unsigned u, i;
	} ints[] = { { 1, 3, 4 }, { 2, 5, 6 }, { 4, 10, 11 }, { 8, 20, 20 } };

	t = dtype_strip_enum(t);
	if (t->class == DT_BOOL)
		return 1;
	if (t->class == DT_FLOAT)
		return float_width(t->size);
	if (t->class == DT_COMPLEX && t->size <= 16 && float_width(t->size / 2))
		return 2 * float_width(t->size / 2) + 3;
	for (size_t k = 0; k < ARRAY_SIZE(ints); k++)
		if (ints[k].size == t->size && t->class == DT_UINT)
			return ints[k].u;
		else if (ints[k].size == t->size && t->class == DT_INT)
			return ints[k].i;
	return 0;
}

bool number_is_finite(const struct dtype *t, const void *element)
{
	char buf[NUMBER_MAX];

	t = dtype_strip_enum(t);
	if (t->class != DT_FLOAT)
		return true;
	if (t->size != 16)
		return isfinite(dtype_to_double(t, element));
	float_text(t, element, buf);
	return buf[0] != 'n' && buf[0] != 'i' && buf[1] != 'i';
}
