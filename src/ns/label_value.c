/* SPDX-License-Identifier: MIT */
/* label_value.c - a class, or a name, as the bytes of one row of the dataset that
 * holds it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "write_int.h"

/* ---- texts ---- */

static size_t room_of(const struct dtype *t)
{
	return t->pad == PAD_NULLTERM && t->size ? t->size - 1 : t->size;
}

int text_value(const struct dtype *t, const char *text, size_t n,
	       struct blob **ret_bytes)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	int r;

	if (t->class == DT_VLSTR)
		return blob_from(text, n, ret_bytes);
	if (t->class != DT_STRING)
		return -EOPNOTSUPP;
	if (n > room_of(t))
		return -ERANGE;
	r = blob_new(t->size, &b);
	if (r < 0)
		return r;
	memset(b->data, t->pad == PAD_SPACE ? ' ' : 0, b->size);
	memcpy(b->data, text, n);
	*ret_bytes = TAKE(b);
	return 0;
}

/* ---- numbers ---- */

static bool integer_fits(const struct dtype *t, int64_t v)
{
	unsigned bits = 8 * t->size;

	if (t->class == DT_BOOL)
		return v == 0 || v == 1;
	if (t->class == DT_UINT)
		return v >= 0 && (bits >= 64 || v >> bits == 0);
	return bits >= 64 || (v >= -((int64_t)1 << (bits - 1)) &&
			      v < (int64_t)1 << (bits - 1));
}

/* An enum holds only what it has a name for. */
static bool enum_has(const struct dtype *t, int64_t v)
{
	for (unsigned i = 0; i < t->nmembers; i++)
		if (t->members[i].value == (uint64_t)v)
			return true;
	return false;
}

static bool put_float(const struct dtype *t, int64_t v, uint8_t *out)
{
	double d = (double)v;
	float f = (float)v;
	long double l = v;
	uint16_t h = double_to_half(d);

	switch (t->size) {
	case 2:
		memcpy(out, &h, 2);
		return half_to_double(h) == d;
	case 4:
		memcpy(out, &f, 4);
		return (int64_t)f == v;
	case 8:
		memcpy(out, &d, 8);
		return (int64_t)d == v;
	case 16:
		memset(out, 0, 16);
		memcpy(out, &l, sizeof(l) < 16 ? sizeof(l) : 16);
		return true;
	default:
		return false;
	}
}

static bool put_number(const struct dtype *t, int64_t v, uint8_t *out)
{
	const struct dtype *n = dtype_strip_enum(t);

	if (n->class == DT_FLOAT)
		return fabs((double)v) < 1e15 && put_float(n, v, out);
	if (!integer_fits(n, v) || (t->class == DT_ENUM && !enum_has(t, v)))
		return false;
	memcpy(out, &v, n->size < 8 ? n->size : 8);
	return true;
}

/* ---- labels ---- */

static int no_room(const struct class_label *label, struct refusal *f)
{
	if (label->text)
		return refusal_set(f, -EINVAL, "choose a shorter name",
				   "the class %s is longer than a label may be",
				   label->name);
	return refusal_set(f, -EINVAL, "copy it into a class that it has",
			   "the labels can not hold the class %" PRId64,
			   label->number);
}

int label_value(const struct dataset_info *in, const struct class_label *label,
		struct blob **ret_bytes, struct refusal *f)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	const struct dtype *t = in->type;
	uint64_t width = label_width(in, in->rank ? in->dims[0] : 0);
	int64_t one = label->number;
	bool fits;
	int r;

	if (!width || label->text != label_is_text(t))
		return refusal_set(f, -EOPNOTSUPP,
				   "set user.MEMBER on the file",
				   "its labels are of another kind");
	if (label->text) {
		r = text_value(t, label->name, strlen(label->name), ret_bytes);
		return r == -ERANGE ? no_room(label, f) : r;
	}
	r = blob_new(width * t->size, &b);
	if (r < 0)
		return r;
	memset(b->data, 0, b->size);
	if (width > 1) { /* one-hot */
		fits = one >= 0 && (uint64_t)one < width &&
		       put_number(t, 1, b->data + (uint64_t)one * t->size);
	} else {
		fits = put_number(t, one, b->data);
	}
	if (!fits)
		return no_room(label, f);
	*ret_bytes = TAKE(b);
	return 0;
}

/* ---- rows for the writer ---- */

/* An element that points to its bytes. */
static int point(struct array *a, const void *bytes, size_t size)
{
	struct dt_vlen v = { .len = size };
	int r = arena_new(&a->arena);
	char *copy = r == 0 ? arena_alloc(a->arena, size + 1) : NULL;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, size);
	copy[size] = 0;
	if (a->type->class == DT_VLSTR)
		return blob_from(&copy, sizeof(copy), &a->data);
	v.p = copy;
	return blob_from(&v, sizeof(v), &a->data);
}

int row_array(const struct dtype *t, unsigned rank, const uint64_t *dims,
	      unsigned axis, uint64_t nrows, const void *bytes, size_t size,
	      struct array **ret_array)
{
	CLEANUP(array_freep) struct array *a = calloc(1, sizeof(*a));
	uint64_t want;
	int r;

	if (!a)
		return -ENOMEM;
	a->type = t;
	a->rank = rank;
	a->count = 1;
	for (unsigned i = 0; i < rank; i++) {
		a->dims[i] = i == axis ? nrows : dims[i];
		if (mul_overflow(a->count, a->dims[i], &a->count))
			return -EFBIG;
	}
	if (t->class == DT_VLSTR || t->class == DT_VLEN) {
		r = a->count == 1 ? point(a, bytes, size) : -EOPNOTSUPP;
	} else {
		if (mul_overflow(a->count, t->size, &want) || want != size)
			return -EINVAL;
		r = blob_from(bytes, size, &a->data);
	}
	if (r == 0)
		*ret_array = TAKE(a);
	return r;
}
