/* SPDX-License-Identifier: MIT */
/* array.c - element types, and what one element of them says. */
#include "h5fs/array.h"

int dtype_new(enum dtype_class class, uint32_t size, struct dtype **ret_type)
{
	struct dtype *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->class = class;
	t->size = size;
	*ret_type = t;
	return 0;
}

void dtype_free(struct dtype *t)
{
	if (!t)
		return;
	for (unsigned i = 0; t->members && i < t->nmembers; i++) {
		free(t->members[i].name);
		dtype_free(t->members[i].type);
	}
	free(t->members);
	dtype_free(t->base);
	free(t->tag);
	free(t);
}

void array_free(struct array *a)
{
	if (!a)
		return;
	blob_unref(a->data);
	arena_free(a->arena);
	dtype_free(a->own_type);
	free(a);
}

/* ---- questions about a type ---- */
bool dtype_has_pointers(const struct dtype *t)
{
	switch (t->class) {
	case DT_VLSTR:
	case DT_VLEN:
	case DT_REF:
	case DT_REGREF:
		return true;
	case DT_ARRAY:
		return t->base && dtype_has_pointers(t->base);
	case DT_COMPOUND:
		for (unsigned i = 0; i < t->nmembers; i++)
			if (dtype_has_pointers(t->members[i].type))
				return true;
		return false;
	default:
		return false;
	}
}

bool dtype_is_number(const struct dtype *t)
{
	return t->class == DT_UINT || t->class == DT_INT ||
	       t->class == DT_FLOAT || t->class == DT_BOOL ||
	       t->class == DT_ENUM;
}

bool dtype_is_plain(const struct dtype *t)
{
	if (t->size == 0)
		return false;
	switch (t->class) {
	case DT_COMPLEX:
		return t->size >= 8; /* NumPy has none of two halves */
	case DT_STRING:
		return true;
	case DT_ARRAY:
		return t->base && dtype_is_plain(t->base);
	case DT_COMPOUND:
		for (unsigned i = 0; i < t->nmembers; i++)
			if (!dtype_is_plain(t->members[i].type))
				return false;
		return t->nmembers > 0;
	default:
		return dtype_is_number(t);
	}
}

const struct dtype *dtype_strip_enum(const struct dtype *t)
{
	return t->class == DT_ENUM && t->base ? t->base : t;
}

/* ---- one number ---- */
/* A little-endian integer of at most 8 bytes. */
static uint64_t load_uint(const void *element, uint32_t size)
{
	uint64_t v = 0;

	memcpy(&v, element, size < 8 ? size : 8);
	return v;
}

static int64_t load_int(const void *element, uint32_t size)
{
	unsigned unused = size < 8 ? 64 - 8 * size : 0;

	if (size == 0)
		return 0;
	return (int64_t)(load_uint(element, size) << unused) >> unused;
}

static double load_float(const void *element, uint32_t size)
{
	uint16_t h;
	float f;
	double d;
	long double l;

	switch (size) {
	case 2:
		memcpy(&h, element, sizeof(h));
		return half_to_double(h);
	case 4:
		memcpy(&f, element, sizeof(f));
		return f;
	case 8:
		memcpy(&d, element, sizeof(d));
		return d;
	case 16:
		memcpy(&l, element, sizeof(l));
		return (double)l;
	default:
		return 0;
	}
}

double dtype_to_double(const struct dtype *t, const void *element)
{
	t = dtype_strip_enum(t);
	switch (t->class) {
	case DT_UINT:
		return (double)load_uint(element, t->size);
	case DT_INT:
		return (double)load_int(element, t->size);
	case DT_FLOAT:
		return load_float(element, t->size);
	case DT_BOOL:
		return load_uint(element, t->size) != 0;
	default:
		return 0;
	}
}

/* Of an unsigned beyond INT64_MAX the bits; of a float the nearest there is,
 * and 0 of NaN. */
int64_t dtype_to_int64(const struct dtype *t, const void *element)
{
	double d;

	t = dtype_strip_enum(t);
	if (t->class == DT_INT)
		return load_int(element, t->size);
	if (t->class == DT_UINT)
		return (int64_t)load_uint(element, t->size);
	d = dtype_to_double(t, element);
	if (d >= 0x1p63)
		return INT64_MAX;
	if (d <= -0x1p63)
		return INT64_MIN;
	return d == d ? (int64_t)d : 0;
}

/* Of a negative integer the bits, sign-extended; of a float the nearest there
 * is, and 0 of NaN. */
uint64_t dtype_to_uint64(const struct dtype *t, const void *element)
{
	double d;

	t = dtype_strip_enum(t);
	if (t->class == DT_INT)
		return (uint64_t)load_int(element, t->size);
	if (t->class == DT_UINT)
		return load_uint(element, t->size);
	d = dtype_to_double(t, element);
	if (d >= 0x1p64)
		return UINT64_MAX;
	return d > 0 ? (uint64_t)d : 0;
}

/* ---- one string ---- */
/* Space-padded strings of C programs are often padded with NUL behind. */
static size_t fixed_length(const struct dtype *t, const char *s)
{
	size_t n = t->size;

	switch (t->pad) {
	case PAD_NULLTERM:
		return strnlen(s, n);
	case PAD_NULLPAD:
		while (n && s[n - 1] == '\0')
			n--;
		return n;
	case PAD_SPACE:
		while (n && (s[n - 1] == ' ' || s[n - 1] == '\0'))
			n--;
		return n;
	}
	return n;
}

void dtype_string(const struct dtype *t, const void *element,
		  const char **ret_text, size_t *ret_len)
{
	const char *s = NULL;

	if (t->class == DT_STRING) {
		*ret_text = element;
		*ret_len = fixed_length(t, element);
		return;
	}
	if (t->class == DT_VLSTR)
		memcpy(&s, element, sizeof(s));
	*ret_text = s ? s : "";
	*ret_len = strlen(*ret_text);
}
