/* SPDX-License-Identifier: MIT */
/* cast.c - elements of one type as another, without loss. */
#include <math.h>
#include <stdio.h>

#include "accept_int.h"

/* ---- numbers ---- */
struct number {
	bool real;
	__int128 i;    /* !real */
	long double f; /* real */
};

static void load(const struct dtype *t, const void *in, struct number *n)
{
	t = dtype_strip_enum(t);
	*n = (struct number){ 0 };
	switch (t->class) {
	case DT_INT:
		n->i = dtype_to_int64(t, in);
		break;
	case DT_UINT:
		n->i = dtype_to_uint64(t, in);
		break;
	case DT_BOOL:
		n->i = *(const uint8_t *)in != 0;
		break;
	default:
		n->real = true;
		if (t->size == sizeof(n->f))
			memcpy(&n->f, in, sizeof(n->f));
		else
			n->f = dtype_to_double(t, in);
	}
}

/* Why it cannot be stored, or NULL. */
typedef const char *store_fn(const struct dtype *t, const struct number *n,
			     uint8_t *out);

static const char *to_whole(const struct number *n, __int128 *ret_i)
{
	if (!n->real) {
		*ret_i = n->i;
		return NULL;
	}
	if (!(fabsl(n->f) <= 0x1p64L))
		return "does not fit";
	if (n->f != truncl(n->f))
		return "is no whole number";
	*ret_i = (__int128)n->f;
	return NULL;
}

static const char *store_integer(const struct dtype *t, const struct number *n,
				 uint8_t *out)
{
	bool is_signed = t->class == DT_INT;
	__int128 one = 1, least, most, v = 0;
	const char *why = to_whole(n, &v);
	uint64_t bits;

	if (why)
		return why;
	least = is_signed ? -(one << (8 * t->size - 1)) : 0;
	most = (one << (8 * t->size - is_signed)) - 1;
	if (v < least || v > most)
		return "does not fit";
	bits = (uint64_t)v;
	memcpy(out, &bits, t->size);
	return NULL;
}

static const char *store_bool(const struct dtype *t, const struct number *n,
			      uint8_t *out)
{
	__int128 v = 0;
	const char *why = to_whole(n, &v);

	if (!why && v != 0 && v != 1)
		why = "is neither 0 nor 1:";
	if (why)
		return why;
	*out = (uint8_t)v;
	return NULL;
}

static void put_float(const struct dtype *t, long double v, uint8_t *out)
{
	uint16_t h = double_to_half((double)v);
	float f = (float)v;
	double d = (double)v;

	switch (t->size) {
	case 2:
		memcpy(out, &h, sizeof(h));
		break;
	case 4:
		memcpy(out, &f, sizeof(f));
		break;
	case 8:
		memcpy(out, &d, sizeof(d));
		break;
	default:
		memset(out, 0, t->size);
		memcpy(out, &v, t->size < 10 ? t->size : 10);
	}
}

static const char *store_float(const struct dtype *t, const struct number *n,
			       uint8_t *out)
{
	long double v = n->real ? n->f : (long double)n->i;
	struct number back;

	put_float(t, v, out);
	load(t, out, &back);
	if (back.f == v || (isnan(back.f) && isnan(v)))
		return NULL;
	return isinf(back.f) ? "does not fit" : "is not exact in";
}

static const char *store_enum(const struct dtype *t, const struct number *n,
			      uint8_t *out)
{
	const char *why = t->base->class == DT_BOOL
				  ? store_bool(t->base, n, out)
				  : store_integer(t->base, n, out);
	uint64_t v, mask = t->size >= 8 ? UINT64_MAX
					: (UINT64_C(1) << 8 * t->size) - 1;

	if (why)
		return why;
	v = dtype_to_uint64(t->base, out);
	for (unsigned i = 0; i < t->nmembers; i++)
		if (!((t->members[i].value ^ v) & mask))
			return NULL;
	return "is no value of the";
}

static store_fn *const stores[] = {
	[DT_UINT] = store_integer, [DT_INT] = store_integer,
	[DT_FLOAT] = store_float,  [DT_BOOL] = store_bool,
	[DT_ENUM] = store_enum,
};

int store_nearest(const struct dtype *t, long double v, void *out)
{
	struct number back;

	put_float(t, v, out);
	load(t, out, &back);
	return isinf(back.f) && !isinf(v) ? -ERANGE : 0;
}

int store_text(const struct dtype *t, const char *text, size_t n, void *out)
{
	size_t room = t->pad == PAD_NULLTERM ? t->size - 1 : t->size;

	if (n > room)
		return -ERANGE;
	memset(out, t->pad == PAD_SPACE ? ' ' : 0, t->size);
	memcpy(out, text, n);
	return 0;
}

/* ---- elements ---- */
struct casting {
	struct refusal *f;
	uint64_t element;
};

static int cast_one(struct casting *c, const struct dtype *from,
		    const uint8_t *in, const struct dtype *to, uint8_t *out);

static int mismatch(struct casting *c, const struct dtype *from,
		    const struct dtype *to)
{
	CLEANUP(strbuf_done) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

	type_say(from, &a);
	type_say(to, &b);
	if (strbuf_error(&a) < 0 || strbuf_error(&b) < 0)
		return -ENOMEM;
	return refusal_set(c->f, -EINVAL, "save it with the dataset's dtype",
			   "elements are %s, not %s", a.buf, b.buf);
}

static void put_number(const struct number *n, struct strbuf *out)
{
	if (n->real)
		strbuf_printf(out, "%.9Lg", n->f);
	else
		strbuf_printf(out, "%s%llu", n->i < 0 ? "-" : "",
			      (unsigned long long)(n->i < 0 ? -n->i : n->i));
}

static int refuse_number(struct casting *c, const struct number *n,
			 const struct dtype *to, const char *why)
{
	CLEANUP(strbuf_done) struct strbuf s = STRBUF_INIT;

	put_number(n, &s);
	strbuf_printf(&s, ", %s ", why);
	type_say(to, &s);
	if (strbuf_error(&s) < 0)
		return -ENOMEM;
	return refusal_set(c->f, -EINVAL,
			   "convert it to the dataset's dtype before saving",
			   "element %llu, %s", (unsigned long long)c->element,
			   s.buf);
}

static int cast_number(struct casting *c, const struct dtype *from,
		       const uint8_t *in, const struct dtype *to, uint8_t *out)
{
	struct number n;
	const char *why;

	if (!dtype_is_number(from) || !stores[to->class])
		return mismatch(c, from, to);
	load(from, in, &n);
	why = stores[to->class](to, &n, out);
	return why ? refuse_number(c, &n, to, why) : 0;
}

static int cast_complex(struct casting *c, const struct dtype *from,
			const uint8_t *in, const struct dtype *to, uint8_t *out)
{
	struct dtype a = { .class = DT_FLOAT, .size = from->size / 2 };
	struct dtype b = { .class = DT_FLOAT, .size = to->size / 2 };
	int r;

	if (dtype_is_number(from)) {
		memset(out, 0, to->size);
		return cast_number(c, from, in, &b, out);
	}
	if (from->class != DT_COMPLEX)
		return mismatch(c, from, to);
	r = cast_number(c, &a, in, &b, out);
	return r < 0 ? r : cast_number(c, &a, in + a.size, &b, out + b.size);
}

static int cast_string(struct casting *c, const struct dtype *from,
		       const uint8_t *in, const struct dtype *to, uint8_t *out)
{
	const char *text;
	size_t n;

	if (from->class != DT_STRING)
		return mismatch(c, from, to);
	dtype_string(from, in, &text, &n);
	if (store_text(to, text, n, out) == 0)
		return 0;
	return refusal_set(c->f, -EINVAL, "shorten it",
			   "element %llu, a text of %zu bytes, does not fit "
			   "into %u",
			   (unsigned long long)c->element, n,
			   to->pad == PAD_NULLTERM ? to->size - 1 : to->size);
}

static const struct dtype_member *member_find(const struct dtype *t,
					      const char *name)
{
	for (unsigned i = 0; i < t->nmembers; i++)
		if (!strcmp(t->members[i].name, name))
			return &t->members[i];
	return NULL;
}

static int cast_compound(struct casting *c, const struct dtype *from,
			 const uint8_t *in, const struct dtype *to,
			 uint8_t *out)
{
	int r = 0;

	if (from->class != DT_COMPOUND || from->nmembers != to->nmembers)
		return mismatch(c, from, to);
	memset(out, 0, to->size);
	for (unsigned i = 0; r == 0 && i < to->nmembers; i++) {
		const struct dtype_member *m = &to->members[i];
		const struct dtype_member *o = member_find(from, m->name);

		if (!o)
			return refusal_set(c->f, -EINVAL,
					   "save it with the dataset's dtype",
					   "it has no field \"%s\"", m->name);
		r = cast_one(c, o->type, in + o->offset, m->type,
			     out + m->offset);
	}
	return r;
}

static int cast_array(struct casting *c, const struct dtype *from,
		      const uint8_t *in, const struct dtype *to, uint8_t *out)
{
	uint32_t n = to->size / to->base->size;
	int r = 0;

	if (from->class != DT_ARRAY || from->rank != to->rank ||
	    memcmp(from->dims, to->dims, to->rank * sizeof(*to->dims)))
		return mismatch(c, from, to);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = cast_one(c, from->base, in + i * from->base->size, to->base,
			     out + i * to->base->size);
	return r;
}

static int cast_one(struct casting *c, const struct dtype *from,
		    const uint8_t *in, const struct dtype *to, uint8_t *out)
{
	switch (to->class) {
	case DT_COMPLEX:
		return cast_complex(c, from, in, to, out);
	case DT_STRING:
		return cast_string(c, from, in, to, out);
	case DT_COMPOUND:
		return cast_compound(c, from, in, to, out);
	case DT_ARRAY:
		return cast_array(c, from, in, to, out);
	default:
		return dtype_is_number(to) ? cast_number(c, from, in, to, out)
					   : mismatch(c, from, to);
	}
}

static bool is_copy(const struct dtype *from, const struct dtype *to)
{
	return from->class == to->class && from->size == to->size &&
	       (to->class == DT_UINT || to->class == DT_INT ||
		to->class == DT_FLOAT || to->class == DT_BOOL ||
		to->class == DT_COMPLEX);
}

int cast_elements(const struct dtype *from, const void *in, uint64_t n,
		  const struct dtype *to, void *out, struct refusal *f)
{
	struct casting c = { f, 0 };
	const uint8_t *p = in;
	uint8_t *q = out;
	int r = 0;

	if (is_copy(from, to)) {
		if (n)
			memcpy(out, in, n * to->size);
		return 0;
	}
	for (; r == 0 && c.element < n; c.element++) {
		r = cast_one(&c, from, p, to, q);
		p += from->size;
		q += to->size;
	}
	return r;
}
