/* SPDX-License-Identifier: MIT */
/* dtype_text.c - types by NumPy's names, for .npy headers and for people. */
#include "view_int.h"

/* A Python string literal. Bytes that are not UTF-8 become \xNN. */
static void put_literal(const char *s, struct strbuf *out)
{
	size_t left = strlen(s), n;

	strbuf_putc(out, '\'');
	for (; left; s += n, left -= n) {
		unsigned char c = *s;

		n = utf8_length(s, left);
		if (!n || c < 0x20 || c == 0x7f) {
			strbuf_printf(out, "\\x%02x", c);
			n = 1;
			continue;
		}
		if (c == '\'' || c == '\\')
			strbuf_putc(out, '\\');
		strbuf_put(out, s, n);
	}
	strbuf_putc(out, '\'');
}

/* For a file's header types are as in memory, little-endian and with padding
 * fields; for people as they are stored. */
static void put_descr(const struct dtype *t, bool file, struct strbuf *out);

static void put_simple(const struct dtype *t, char kind, bool file,
		       struct strbuf *out)
{
	char order = t->size == 1 ? '|' : t->big_endian && !file ? '>' : '<';

	strbuf_printf(out, "%c%c%u", order, kind, t->size);
}

static void put_padding(uint64_t n, bool *first, struct strbuf *out)
{
	if (!n)
		return;
	strbuf_printf(out, "%s('', '|V%llu')", *first ? "" : ", ",
		      (unsigned long long)n);
	*first = false;
}

/* A quoted name, or a list; then the dims of array types around it. */
static void put_quoted(const struct dtype *t, bool file, struct strbuf *out)
{
	const char *quote = t->class == DT_COMPOUND ? "" : "'";

	strbuf_puts(out, quote);
	put_descr(t, file, out);
	strbuf_puts(out, quote);
}

static void put_member(const struct dtype_member *m, bool file,
		       struct strbuf *out)
{
	const struct dtype *t = m->type;
	unsigned dims = 0;

	strbuf_putc(out, '(');
	put_literal(m->name, out);
	strbuf_puts(out, ", ");
	while (t->class == DT_ARRAY)
		t = t->base;
	put_quoted(t, file, out);
	for (t = m->type; t->class == DT_ARRAY; t = t->base)
		for (unsigned k = 0; k < t->rank; k++)
			strbuf_printf(out, "%s%llu", dims++ ? ", " : ", (",
				      (unsigned long long)t->dims[k]);
	if (dims)
		strbuf_puts(out, dims == 1 ? ",)" : ")");
	strbuf_putc(out, ')');
}

static void put_compound(const struct dtype *t, bool file, struct strbuf *out)
{
	uint64_t at = 0;
	bool first = true;

	strbuf_putc(out, '[');
	for (unsigned i = 0; i < t->nmembers; i++) {
		const struct dtype_member *m = &t->members[i];

		if (file && m->offset > at)
			put_padding(m->offset - at, &first, out);
		strbuf_puts(out, first ? "" : ", ");
		first = false;
		put_member(m, file, out);
		at = (uint64_t)m->offset + m->type->size;
	}
	if (file && t->size > at)
		put_padding(t->size - at, &first, out);
	strbuf_putc(out, ']');
}

static void put_array(const struct dtype *t, bool file, struct strbuf *out)
{
	const struct dtype *base = t;

	while (base->class == DT_ARRAY)
		base = base->base;
	strbuf_putc(out, '(');
	put_quoted(base, file, out);
	strbuf_puts(out, ", (");
	for (; t->class == DT_ARRAY; t = t->base)
		for (unsigned k = 0; k < t->rank; k++)
			strbuf_printf(out, "%llu,%s",
				      (unsigned long long)t->dims[k],
				      k + 1 < t->rank ? " " : "");
	strbuf_puts(out, "))");
}

static const struct {
	char kind;	  /* NumPy's letter, or 0 */
	const char *word; /* what has no name there */
} names[] = {
	[DT_UINT] = { 'u', NULL },     [DT_INT] = { 'i', NULL },
	[DT_FLOAT] = { 'f', NULL },    [DT_BOOL] = { 'b', NULL },
	[DT_COMPLEX] = { 'c', NULL },  [DT_VLSTR] = { 0, "string" },
	[DT_REF] = { 0, "reference" }, [DT_REGREF] = { 0, "region reference" },
};

static void put_descr(const struct dtype *t, bool file, struct strbuf *out)
{
	switch (t->class) {
	case DT_ENUM:
		put_descr(t->base, file, out);
		break;
	case DT_STRING:
		strbuf_printf(out, "|S%u", t->size);
		break;
	case DT_OPAQUE:
		strbuf_printf(out, "|V%u", t->size);
		break;
	case DT_COMPOUND:
		put_compound(t, file, out);
		break;
	case DT_ARRAY:
		put_array(t, file, out);
		break;
	case DT_VLEN:
		strbuf_puts(out, "vlen ");
		put_descr(t->base, file, out);
		break;
	default:
		if (names[t->class].word)
			strbuf_puts(out, names[t->class].word);
		else
			put_simple(t, names[t->class].kind, file, out);
	}
}

void npy_descr(const struct dtype *t, struct strbuf *out)
{
	put_quoted(t, true, out);
}

void text_of_dtype(const struct dtype *t, struct strbuf *out)
{
	put_descr(t, false, out);
}

/* ---- a committed datatype ---- */

static const char *const class_words[] = {
	[DT_UINT] = "unsigned integer", [DT_INT] = "integer",
	[DT_FLOAT] = "float",		[DT_BOOL] = "boolean",
	[DT_COMPLEX] = "complex",	[DT_ENUM] = "enumeration",
	[DT_STRING] = "fixed string",	[DT_VLSTR] = "string",
	[DT_OPAQUE] = "opaque",		[DT_COMPOUND] = "compound",
	[DT_ARRAY] = "array",		[DT_VLEN] = "variable-length sequence",
	[DT_REF] = "object reference",	[DT_REGREF] = "region reference",
};

static void put_enum_members(const struct dtype *t, struct strbuf *out)
{
	for (unsigned i = 0; i < t->nmembers; i++) {
		uint64_t v = t->members[i].value;

		put_one_line(out, t->members[i].name,
			     strlen(t->members[i].name));
		if (t->base->class == DT_INT)
			strbuf_printf(out, " = %lld\n", (long long)v);
		else
			strbuf_printf(out, " = %llu\n", (unsigned long long)v);
	}
}

static void put_members(const struct dtype *t, struct strbuf *out)
{
	for (unsigned i = 0; i < t->nmembers; i++) {
		const struct dtype_member *m = &t->members[i];

		put_one_line(out, m->name, strlen(m->name));
		strbuf_puts(out, ": ");
		text_of_dtype(m->type, out);
		strbuf_putc(out, '\n');
	}
}

int text_of_datatype(const struct dtype *t, struct strbuf *out)
{
	const struct dtype *num = dtype_strip_enum(t);

	text_of_dtype(t, out);
	strbuf_printf(out, "\n%s", class_words[t->class]);
	if (!dtype_has_pointers(t))
		strbuf_printf(out, ", %u byte%s", t->size,
			      t->size == 1 ? "" : "s");
	if (num->size > 1 && (dtype_is_number(num) || num->class == DT_COMPLEX))
		strbuf_puts(out, num->big_endian ? ", big-endian"
						 : ", little-endian");
	if (view_is_string(t))
		strbuf_puts(out, t->utf8 ? ", UTF-8" : ", ASCII");
	if (t->tag && *t->tag) {
		strbuf_puts(out, ", ");
		put_one_line(out, t->tag, strlen(t->tag));
	}
	strbuf_putc(out, '\n');
	if (t->class == DT_ENUM)
		put_enum_members(t, out);
	if (t->class == DT_COMPOUND)
		put_members(t, out);
	return strbuf_error(out);
}
