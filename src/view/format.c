/* SPDX-License-Identifier: MIT */
/* format.c - elements as JSON and as the text of attributes. */
#include <stdio.h>

#include "view_int.h"

/* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t utf8_length(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len = p[0] < 0x80		   ? 1
		     : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		     : (p[0] & 0xf0) == 0xe0	   ? 3
		     : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
						   : 0;

	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

void put_utf8(struct strbuf *out, uint32_t c)
{
	if (c < 0x80) {
		strbuf_putc(out, c);
		return;
	}
	if (c < 0x800) {
		strbuf_putc(out, 0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			strbuf_putc(out, 0xe0 | c >> 12);
		} else {
			strbuf_putc(out, 0xf0 | c >> 18);
			strbuf_putc(out, 0x80 | (c >> 12 & 0x3f));
		}
		strbuf_putc(out, 0x80 | (c >> 6 & 0x3f));
	}
	strbuf_putc(out, 0x80 | (c & 0x3f));
}

void put_one_line(struct strbuf *out, const char *text, size_t n)
{
	const char *end = text + n, *nl;

	while (n && (nl = memchr(text, '\n', end - text))) {
		strbuf_put(out, text, nl - text);
		strbuf_puts(out, "\\n");
		text = nl + 1;
	}
	if (n)
		strbuf_put(out, text, end - text);
}

void json_of_string(const char *s, size_t n, struct strbuf *out)
{
	static const char escapes[] = "\b\t\n\f\r\"\\";
	static const char letters[] = "btnfr\"\\";
	size_t from = 0;

	strbuf_putc(out, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = s[i];
		const char *e;

		if (c >= 0x80 && utf8_length(s + i, n - i)) {
			i += utf8_length(s + i, n - i) - 1;
			continue;
		}
		if (c >= 0x20 && c != '"' && c != '\\' && c < 0x7f)
			continue;
		strbuf_put(out, s + from, i - from);
		from = i + 1;
		e = c ? strchr(escapes, c) : NULL;
		if (c >= 0x80) /* not UTF-8: as Python's backslashreplace */
			strbuf_printf(out, "\\\\x%02x", c);
		else if (e)
			strbuf_printf(out, "\\%c", letters[e - escapes]);
		else
			strbuf_printf(out, "\\u%04x", c);
	}
	if (n > from)
		strbuf_put(out, s + from, n - from);
	strbuf_putc(out, '"');
}

const char *enum_name(const struct dtype *t, const void *element)
{
	uint64_t mask = t->base->size >= 8 ? UINT64_MAX
					   : (1ULL << 8 * t->base->size) - 1;
	uint64_t v = t->base->class == DT_INT
			     ? (uint64_t)dtype_to_int64(t->base, element)
			     : dtype_to_uint64(t->base, element);

	for (unsigned i = 0; i < t->nmembers; i++)
		if (!((t->members[i].value ^ v) & mask))
			return t->members[i].name;
	return NULL;
}

/* ---- JSON, a function a class ---- */
typedef void json_fn(const struct dtype *t, const uint8_t *p,
		     struct strbuf *out);

static void json_number(const struct dtype *t, const uint8_t *p,
			struct strbuf *out)
{
	const char *quote = number_is_finite(t, p) ? "" : "\"";
	char buf[NUMBER_MAX];

	number_text(t, p, buf);
	strbuf_puts(out, quote);
	strbuf_puts(out, buf);
	strbuf_puts(out, quote);
}

static void json_bool(const struct dtype *t, const uint8_t *p,
		      struct strbuf *out)
{
	strbuf_puts(out, *p ? "true" : "false");
}

static void json_complex(const struct dtype *t, const uint8_t *p,
			 struct strbuf *out)
{
	const struct dtype part = { .class = DT_FLOAT, .size = t->size / 2 };

	strbuf_putc(out, '[');
	json_number(&part, p, out);
	strbuf_puts(out, ", ");
	json_number(&part, p + part.size, out);
	strbuf_putc(out, ']');
}

static void json_enum(const struct dtype *t, const uint8_t *p,
		      struct strbuf *out)
{
	const char *name = enum_name(t, p);

	if (name)
		json_of_string(name, strlen(name), out);
	else
		json_number(t, p, out);
}

static void json_string(const struct dtype *t, const uint8_t *p,
			struct strbuf *out)
{
	const char *text;
	size_t n;

	dtype_string(t, p, &text, &n);
	json_of_string(text, n, out);
}

static void json_opaque(const struct dtype *t, const uint8_t *p,
			struct strbuf *out)
{
	strbuf_putc(out, '"');
	for (uint32_t i = 0; i < t->size; i++)
		strbuf_printf(out, "%02x", p[i]);
	strbuf_putc(out, '"');
}

static void json_compound(const struct dtype *t, const uint8_t *p,
			  struct strbuf *out)
{
	strbuf_putc(out, '{');
	for (unsigned i = 0; i < t->nmembers; i++) {
		const struct dtype_member *m = &t->members[i];

		if (i)
			strbuf_puts(out, ", ");
		json_of_string(m->name, strlen(m->name), out);
		strbuf_puts(out, ": ");
		json_of_element(m->type, p + m->offset, out);
	}
	strbuf_putc(out, '}');
}

/* Nested lists; p moves on over what was printed. */
static void json_lists(const struct dtype *t, unsigned rank,
		       const uint64_t *dims, const uint8_t **p,
		       struct strbuf *out)
{
	if (!rank) {
		json_of_element(t, *p, out);
		*p += t->size;
		return;
	}
	strbuf_putc(out, '[');
	for (uint64_t i = 0; i < dims[0] && !out->failed; i++) {
		if (i)
			strbuf_puts(out, ", ");
		json_lists(t, rank - 1, dims + 1, p, out);
	}
	strbuf_putc(out, ']');
}

static void json_array(const struct dtype *t, const uint8_t *p,
		       struct strbuf *out)
{
	json_lists(t->base, t->rank, t->dims, &p, out);
}

static void json_vlen(const struct dtype *t, const uint8_t *p,
		      struct strbuf *out)
{
	const uint8_t *at;
	struct dt_vlen v;
	uint64_t n;

	memcpy(&v, p, sizeof(v));
	at = v.p;
	n = v.p ? v.len : 0;
	json_lists(t->base, 1, &n, &at, out);
}

static void json_ref(const struct dtype *t, const uint8_t *p,
		     struct strbuf *out)
{
	const char *path;

	memcpy(&path, p, sizeof(path));
	if (path)
		json_of_string(path, strlen(path), out);
	else
		strbuf_puts(out, "null");
}

static json_fn *const json_by_class[] = {
	[DT_UINT] = json_number,     [DT_INT] = json_number,
	[DT_FLOAT] = json_number,    [DT_BOOL] = json_bool,
	[DT_COMPLEX] = json_complex, [DT_ENUM] = json_enum,
	[DT_STRING] = json_string,   [DT_VLSTR] = json_string,
	[DT_OPAQUE] = json_opaque,   [DT_COMPOUND] = json_compound,
	[DT_ARRAY] = json_array,     [DT_VLEN] = json_vlen,
	[DT_REF] = json_ref,	     [DT_REGREF] = json_ref,
};

void json_of_element(const struct dtype *t, const void *element,
		     struct strbuf *out)
{
	json_by_class[t->class](t, element, out);
}

/* ---- the text of an attribute ---- */

static void text_of_scalar(const struct dtype *t, const void *element,
			   struct strbuf *out)
{
	const char *text = NULL;
	char buf[NUMBER_MAX];
	size_t n;

	if (view_is_string(t)) {
		dtype_string(t, element, &text, &n);
		strbuf_put(out, text, n);
		return;
	}
	if (t->class == DT_ENUM)
		text = enum_name(t, element);
	else if (t->class == DT_REF || t->class == DT_REGREF)
		memcpy(&text, element, sizeof(text));
	else if (t->class == DT_FLOAT && number_text(t, element, buf))
		text = buf; /* "nan" without quotes */
	if (text)
		strbuf_puts(out, text);
	else
		json_of_element(t, element, out);
}

int text_of_array(const struct array *a, struct strbuf *out)
{
	const uint8_t *p;

	if (a->null)
		return 0;
	if (!a->rank) {
		text_of_scalar(a->type, array_at(a, 0), out);
		return strbuf_error(out);
	}
	/* An array of no elements may claim any number of empty rows. */
	p = a->count ? a->data->data : NULL;
	if (a->count)
		json_lists(a->type, a->rank, a->dims, &p, out);
	else
		strbuf_puts(out, "[]");
	return strbuf_error(out);
}
