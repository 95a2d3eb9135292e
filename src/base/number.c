/* SPDX-License-Identifier: MIT */
/* number.c - half precision numbers and sizes in text. */
#include <math.h>

#include "h5fs/base.h"

/* binary16: sign 1, exponent 5 (bias 15), fraction 10. */
double half_to_double(uint16_t h)
{
	unsigned exponent = h >> 10 & 0x1f, fraction = h & 0x3ff;
	double v;

	if (exponent == 0x1f)
		v = fraction ? (double)NAN : (double)INFINITY;
	else if (exponent == 0)
		v = fraction * 0x1p-24;
	else
		v = (1024 + fraction) * 0x1p-25 * (double)(1u << exponent);
	return h & 0x8000 ? -v : v;
}

/* To nearest, ties to even. Below 2^-14 halves are multiples of 2^-24; above, a
 * fraction that rounds up to 2048 carries into the exponent, as it must. */
uint16_t double_to_half(double v)
{
	uint16_t sign = signbit(v) ? 0x8000 : 0;
	double a = fabs(v);
	int e;

	if (isnan(v))
		return sign | 0x7e00;
	if (a >= 65520)
		return sign | 0x7c00;
	if (a < 0x1p-14)
		return sign | (uint16_t)nearbyint(a * 0x1p24);
	a = nearbyint(frexp(a, &e) * 2048);
	return (uint16_t)(sign | ((e + 14) * 1024 + (int)a - 1024));
}

/* "", "K", "k", "KiB": how many bits to shift, or -1. */
static int suffix_shift(const char *s)
{
	static const char units[] = "KMGTPE";
	char unit = *s;
	const char *at;

	if (!unit)
		return 0;
	if (unit >= 'a' && unit <= 'z')
		unit = (char)(unit - 'a' + 'A');
	at = strchr(units, unit);
	if (!at || (s[1] && strcmp(s + 1, "iB") != 0))
		return -1;
	return 10 * (int)(at - units + 1);
}

int parse_size(const char *text, uint64_t *ret_size)
{
	const char *p = text;
	bool over = false;
	uint64_t v = 0;
	int shift;

	for (; *p >= '0' && *p <= '9'; p++)
		over = over || mul_overflow(v, 10, &v) ||
		       add_overflow(v, (uint64_t)(*p - '0'), &v);
	shift = suffix_shift(p);
	if (p == text || shift < 0)
		return -EINVAL;
	if (over || mul_overflow(v, UINT64_C(1) << shift, &v))
		return -ERANGE;
	*ret_size = v;
	return 0;
}
