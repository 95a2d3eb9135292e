/* SPDX-License-Identifier: MIT */
/* npy_scan.c - Python literals, as the headers of .npy files have them. */
#include "npy_int.h"

bool put_code_point(struct strbuf *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	if (c < 0x80) {
		strbuf_putc(out, (char)c);
		return true;
	}
	if (c < 0x800) {
		strbuf_putc(out, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			strbuf_putc(out, (char)(0xe0 | c >> 12));
		} else {
			strbuf_putc(out, (char)(0xf0 | c >> 18));
			strbuf_putc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		strbuf_putc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	strbuf_putc(out, (char)(0x80 | (c & 0x3f)));
	return true;
}

int scan_bad(struct scanner *s, const char *why)
{
	return refusal_set(s->f, -EINVAL, "write it with numpy.save()",
			   "a damaged .npy file: %s", why);
}

char scan_peek(struct scanner *s)
{
	while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
		s->p++;
	return s->p < s->end ? *s->p : '\0';
}

bool scan_take(struct scanner *s, char c)
{
	if (scan_peek(s) != c || !c)
		return false;
	s->p++;
	return true;
}

bool scan_word(struct scanner *s, const char *word)
{
	size_t n = strlen(word);

	scan_peek(s);
	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n))
		return false;
	s->p += n;
	return true;
}

static int hex_digits(struct scanner *s, unsigned n, uint32_t *ret_code)
{
	uint32_t code = 0;

	for (; n; n--, s->p++) {
		static const char digits[] = "0123456789abcdefABCDEF";
		const char *at =
			s->p < s->end && *s->p ? strchr(digits, *s->p) : NULL;

		if (!at)
			return scan_bad(s, "an escape that is none");
		code = code << 4 | (uint32_t)(at - digits > 15 ? at - digits - 6
							       : at - digits);
	}
	*ret_code = code;
	return 0;
}

static int escape(struct scanner *s, struct strbuf *out)
{
	static const struct {
		char letter;
		unsigned digits; /* 0: stands for code */
		char code;
	} escapes[] = {
		{ 'x', 2, 0 },	   { 'u', 4, 0 },     { 'U', 8, 0 },
		{ '\\', 0, '\\' }, { '\'', 0, '\'' }, { '"', 0, '"' },
		{ 'n', 0, '\n' },  { 't', 0, '\t' },  { 'r', 0, '\r' },
	};
	char c = s->p < s->end ? *s->p++ : '\0';
	uint32_t code = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(escapes); i++) {
		if (escapes[i].letter != c)
			continue;
		if (!escapes[i].digits) {
			strbuf_putc(out, escapes[i].code);
			return 0;
		}
		r = hex_digits(s, escapes[i].digits, &code);
		if (r == 0 && !put_code_point(out, code))
			r = scan_bad(s, "an escape that is no character");
		return r;
	}
	return scan_bad(s, "an escape that is none");
}

int scan_string(struct scanner *s, char **ret_text)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	char quote = scan_peek(s);
	int r = 0;

	if (quote != '\'' && quote != '"')
		return scan_bad(s, "a string is missing");
	for (s->p++; r == 0 && s->p < s->end && *s->p != quote;) {
		unsigned char c = (unsigned char)*s->p++;

		if (c == '\\')
			r = escape(s, &out);
		else if (c >= 0x80 && s->latin1)
			put_code_point(&out, c);
		else
			strbuf_putc(&out, (char)c);
	}
	if (r < 0)
		return r;
	if (!scan_take(s, quote))
		return scan_bad(s, "a string without an end");
	if (out.len && memchr(out.buf, 0, out.len))
		return scan_bad(s, "a name with a NUL in it");
	*ret_text = strbuf_steal(&out);
	return *ret_text ? 0 : -ENOMEM;
}

static int scan_number(struct scanner *s, uint64_t *ret_n)
{
	uint64_t n = 0;
	bool over = false;
	const char *from;

	scan_peek(s);
	for (from = s->p; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
		over = over || mul_overflow(n, 10, &n) ||
		       add_overflow(n, (uint64_t)(*s->p - '0'), &n);
	if (s->p == from || over || n > INT64_MAX)
		return scan_bad(s, "a length that is none");
	scan_take(s, 'L'); /* Python 2 */
	*ret_n = n;
	return 0;
}

int scan_shape(struct scanner *s, bool number, unsigned *ret_rank,
	       uint64_t *ret_dims)
{
	unsigned rank = 0;
	int r;

	if (number && scan_peek(s) != '(') {
		*ret_rank = 1;
		return scan_number(s, ret_dims);
	}
	if (!scan_take(s, '('))
		return scan_bad(s, "a shape is missing");
	while (!scan_take(s, ')')) {
		if (rank == DT_MAX_RANK)
			return scan_bad(s, "too many axes");
		r = scan_number(s, &ret_dims[rank++]);
		if (r < 0)
			return r;
		if (!scan_take(s, ',') && scan_peek(s) != ')')
			return scan_bad(s, "a shape that is none");
	}
	*ret_rank = rank;
	return 0;
}
