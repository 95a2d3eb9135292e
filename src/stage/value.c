/* SPDX-License-Identifier: MIT */
/* value.c - texts as setfattr gives them to elements: the inverse of the text form
 * of attributes. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "accept_int.h"

struct parsing {
	struct arena *arena; /* what elements point to */
	struct refusal *f;
};

static int refuse(struct parsing *p, const struct dtype *t, const char *why)
{
	CLEANUP(strbuf_done) struct strbuf s = STRBUF_INIT;

	type_say(t, &s);
	if (strbuf_error(&s) < 0)
		return -ENOMEM;
	return refusal_set(p->f, -EINVAL, "give a value of its type", "%s %s",
			   why, s.buf);
}

/* ---- numbers ---- */
static bool is_float(const struct dtype *t)
{
	return dtype_strip_enum(t)->class == DT_FLOAT;
}

static int put_real(struct parsing *p, const struct dtype *t, long double v,
		    uint8_t *out)
{
	const struct dtype from = { .class = DT_FLOAT, .size = sizeof(v) };

	if (t->class != DT_FLOAT)
		return cast_elements(&from, &v, 1, t, out, p->f);
	return store_nearest(t, v, out) < 0 ? refuse(p, t, "it does not fit")
					    : 0;
}

static int put_signed(struct parsing *p, const struct dtype *t, int64_t v,
		      uint8_t *out)
{
	const struct dtype from = { .class = DT_INT, .size = 8 };

	if (is_float(t))
		return put_real(p, t, v, out);
	return cast_elements(&from, &v, 1, t, out, p->f);
}

static int put_unsigned(struct parsing *p, const struct dtype *t, uint64_t v,
			uint8_t *out)
{
	const struct dtype from = { .class = DT_UINT, .size = 8 };

	if (is_float(t))
		return put_real(p, t, v, out);
	return cast_elements(&from, &v, 1, t, out, p->f);
}

static bool ends(const char *end)
{
	return !end[strspn(end, " \t\n")];
}

/* A decimal, "nan", "inf": what is an integer keeps all its digits. */
static bool put_decimal(struct parsing *p, const struct dtype *t,
			const char *text, uint8_t *out, int *ret_r)
{
	char *end;
	long long i;
	unsigned long long u;
	long double v;

	if (!*text || strpbrk(text, "xXpP")) /* no hexadecimal */
		return false;
	errno = 0;
	i = strtoll(text, &end, 10);
	if (end != text && ends(end) && !errno) {
		*ret_r = put_signed(p, t, i, out);
		return true;
	}
	errno = 0;
	u = strtoull(text, &end, 10);
	if (end != text && ends(end) && !errno && !strchr(text, '-')) {
		*ret_r = put_unsigned(p, t, u, out);
		return true;
	}
	v = strtold(text, &end);
	if (end == text || !ends(end))
		return false;
	*ret_r = put_real(p, t, v, out);
	return true;
}

static bool put_word(struct parsing *p, const struct dtype *t, const char *text,
		     uint8_t *out, int *ret_r)
{
	static const char *const words[] = { "false", "true" };

	if (t->class == DT_ENUM)
		for (unsigned i = 0; i < t->nmembers; i++)
			if (!strcmp(text, t->members[i].name)) {
				memcpy(out, &t->members[i].value, t->size);
				*ret_r = 0;
				return true;
			}
	if (t->class == DT_BOOL)
		for (uint8_t i = 0; i < 2; i++)
			if (!strcasecmp(text, words[i])) {
				*out = i;
				*ret_r = 0;
				return true;
			}
	return false;
}

static int put_number_text(struct parsing *p, const struct dtype *t,
			   const char *text, uint8_t *out)
{
	int r;

	if (put_word(p, t, text, out, &r) || put_decimal(p, t, text, out, &r))
		return r;
	return refuse(p, t, "it is no");
}

/* ---- JSON, a function a class ---- */
static int put_json(struct parsing *p, const struct dtype *t, json_t *j,
		    uint8_t *out);
static int put_lists(struct parsing *p, const struct dtype *t, unsigned rank,
		     const uint64_t *dims, json_t *j, uint8_t **out);

static int json_number(struct parsing *p, const struct dtype *t, json_t *j,
		       uint8_t *out)
{
	if (json_is_integer(j))
		return put_signed(p, t, json_integer_value(j), out);
	if (json_is_real(j))
		return put_real(p, t, json_real_value(j), out);
	if (json_is_boolean(j) && t->class == DT_BOOL)
		return put_signed(p, t, json_is_true(j), out);
	if (json_is_string(j))
		return put_number_text(p, t, json_string_value(j), out);
	return refuse(p, t, "it is no");
}

static int json_complex(struct parsing *p, const struct dtype *t, json_t *j,
			uint8_t *out)
{
	struct dtype part = { .class = DT_FLOAT, .size = t->size / 2 };
	int r;

	memset(out, 0, t->size);
	if (json_is_number(j))
		return json_number(p, &part, j, out);
	if (json_array_size(j) != 2)
		return refuse(p, t, "[real, imaginary] is wanted for a");
	r = json_number(p, &part, json_array_get(j, 0), out);
	return r < 0 ? r
		     : json_number(p, &part, json_array_get(j, 1),
				   out + part.size);
}

static int put_text(struct parsing *p, const struct dtype *t, const char *text,
		    size_t n, uint8_t *out)
{
	char *copy;

	if (t->class == DT_STRING)
		return store_text(t, text, n, out) < 0
			       ? refuse(p, t, "it is too long for a")
			       : 0;
	if (memchr(text, 0, n))
		return refuse(p, t, "a NUL byte cannot be in a");
	copy = arena_alloc(p->arena, n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, n);
	copy[n] = '\0';
	memcpy(out, &copy, sizeof(copy));
	return 0;
}

static int json_text(struct parsing *p, const struct dtype *t, json_t *j,
		     uint8_t *out)
{
	if (!json_is_string(j))
		return refuse(p, t, "it is no");
	return put_text(p, t, json_string_value(j), json_string_length(j), out);
}

static int json_compound(struct parsing *p, const struct dtype *t, json_t *j,
			 uint8_t *out)
{
	int r = 0;

	if (!json_is_object(j) || json_object_size(j) != t->nmembers)
		return refuse(p, t,
			      "an object with all its fields is wanted "
			      "for a");
	memset(out, 0, t->size);
	for (unsigned i = 0; r == 0 && i < t->nmembers; i++) {
		const struct dtype_member *m = &t->members[i];
		json_t *v = json_object_get(j, m->name);

		r = v ? put_json(p, m->type, v, out + m->offset)
		      : refuse(p, t, "a field is missing of the");
	}
	return r;
}

static int json_lists(struct parsing *p, const struct dtype *t, json_t *j,
		      uint8_t *out)
{
	return put_lists(p, t->base, t->rank, t->dims, j, &out);
}

static int json_sequence(struct parsing *p, const struct dtype *t, json_t *j,
			 uint8_t *out)
{
	struct dt_vlen v = { json_array_size(j), NULL };
	uint64_t n = v.len, size;
	uint8_t *at;

	if (!json_is_array(j) || mul_overflow(n, t->base->size, &size))
		return refuse(p, t, "it is no");
	at = arena_alloc(p->arena, size ? size : 1);
	if (!at)
		return -ENOMEM;
	v.p = at;
	memcpy(out, &v, sizeof(v));
	return put_lists(p, t->base, 1, &n, j, &at);
}

typedef int json_fn(struct parsing *p, const struct dtype *t, json_t *j,
		    uint8_t *out);
static json_fn *const by_class[] = {
	[DT_UINT] = json_number,       [DT_INT] = json_number,
	[DT_FLOAT] = json_number,      [DT_BOOL] = json_number,
	[DT_ENUM] = json_number,       [DT_COMPLEX] = json_complex,
	[DT_STRING] = json_text,       [DT_VLSTR] = json_text,
	[DT_COMPOUND] = json_compound, [DT_ARRAY] = json_lists,
	[DT_VLEN] = json_sequence,     [DT_REGREF] = NULL,
};

static int put_json(struct parsing *p, const struct dtype *t, json_t *j,
		    uint8_t *out)
{
	return by_class[t->class] ? by_class[t->class](p, t, j, out)
				  : refuse(p, t, "a value cannot be given to");
}

static int put_lists(struct parsing *p, const struct dtype *t, unsigned rank,
		     const uint64_t *dims, json_t *j, uint8_t **out)
{
	int r = 0;

	if (!rank) {
		r = put_json(p, t, j, *out);
		*out += t->size;
		return r;
	}
	if (!json_is_array(j) || json_array_size(j) != dims[0])
		return refuse(p, t, "lists of its shape are wanted for");
	for (uint64_t i = 0; r == 0 && i < dims[0]; i++)
		r = put_lists(p, t, rank - 1, dims + 1, json_array_get(j, i),
			      out);
	return r;
}

static json_t *parse_json(const char *text, size_t n)
{
	json_error_t error;

	return json_loadb(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
			  &error);
}

/* ---- values of a known type ---- */
static int array_new(const struct dtype *t, unsigned rank, const uint64_t *dims,
		     struct array **ret_array)
{
	CLEANUP(array_freep) struct array *a = calloc(1, sizeof(*a));
	uint64_t size;
	int r;

	if (!a)
		return -ENOMEM;
	a->type = t;
	a->rank = rank;
	a->count = 1;
	for (unsigned k = 0; k < rank; k++) {
		a->dims[k] = dims[k];
		if (mul_overflow(a->count, dims[k], &a->count))
			return -EFBIG;
	}
	if (mul_overflow(a->count, t->size, &size) || size > VALUE_MAX)
		return -EFBIG;
	r = blob_new(size, &a->data);
	if (r == 0)
		r = arena_new(&a->arena);
	if (r < 0)
		return r;
	memset(a->data->data, 0, size);
	*ret_array = TAKE(a);
	return 0;
}

static bool is_text(const struct dtype *t)
{
	return t->class == DT_STRING || t->class == DT_VLSTR;
}

/* One element from a text that need not be JSON. */
static int put_plain(struct parsing *p, const struct dtype *t, const char *text,
		     size_t n, uint8_t *out)
{
	CLEANUP(json_decrefp) json_t *j = NULL;
	CLEANUP(freep) char *copy = NULL;

	if (is_text(t))
		return put_text(p, t, text, n, out);
	if (dtype_is_number(t)) {
		if (memchr(text, 0, n))
			return refuse(p, t, "it is no");
		copy = malloc(n + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, text, n);
		copy[n] = '\0';
		return put_number_text(p, t, copy, out);
	}
	j = parse_json(text, n);
	return j ? put_json(p, t, j, out) : refuse(p, t, "it is no JSON for a");
}

static int put_array(struct parsing *p, struct array *a, const char *text,
		     size_t n)
{
	CLEANUP(json_decrefp) json_t *j = parse_json(text, n);
	uint8_t *out = a->data->data;

	if (a->count == 1 && !json_is_array(j))
		return put_plain(p, a->type, text, n, out);
	if (!j)
		return refuse(p, a->type, "it is no JSON for an array of");
	return put_lists(p, a->type, a->rank, a->dims, j, &out);
}

int value_parse(const char *text, size_t n, const struct dtype *type,
		unsigned rank, const uint64_t *dims, struct array **ret_value,
		struct refusal *f)
{
	CLEANUP(array_freep) struct array *a = NULL;
	struct parsing p = { .f = f };
	int r = array_new(type, rank, dims, &a);

	if (r < 0)
		return r;
	p.arena = a->arena;
	r = rank ? put_array(&p, a, text, n)
		 : put_plain(&p, type, text, n, a->data->data);
	if (r == 0)
		*ret_value = TAKE(a);
	return r;
}
