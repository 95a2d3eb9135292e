/* SPDX-License-Identifier: MIT */
/* strbuf.c - a growing byte string with sticky errors. */
#include <locale.h>
#include <stdio.h>

#include "h5fs/base.h"

#define FIRST_CAP 64

/* Room for n more bytes and the NUL. */
static bool reserve(struct strbuf *s, size_t n)
{
	size_t need, cap = s->cap ? s->cap : FIRST_CAP;
	char *grown;

	if (s->failed)
		return false;
	if (n >= PTRDIFF_MAX - s->len) {
		s->failed = true;
		return false;
	}
	need = s->len + n + 1;
	if (need <= s->cap)
		return true;
	while (cap < need)
		cap *= 2;
	grown = realloc(s->buf, cap);
	if (!grown) {
		s->failed = true;
		return false;
	}
	s->buf = grown;
	s->cap = cap;
	return true;
}

static void added(struct strbuf *s, size_t n)
{
	s->len += n;
	s->buf[s->len] = '\0';
}

void strbuf_done(struct strbuf *s)
{
	free(s->buf);
	*s = (struct strbuf)STRBUF_INIT;
}

void strbuf_put(struct strbuf *s, const void *bytes, size_t n)
{
	if (!n || !reserve(s, n))
		return;
	memcpy(s->buf + s->len, bytes, n);
	added(s, n);
}

void strbuf_puts(struct strbuf *s, const char *text)
{
	strbuf_put(s, text, strlen(text));
}

void strbuf_putc(struct strbuf *s, char c)
{
	if (!reserve(s, 1))
		return;
	s->buf[s->len] = c;
	added(s, 1);
}

void strbuf_pad(struct strbuf *s, char c, size_t n)
{
	if (!n || !reserve(s, n))
		return;
	memset(s->buf + s->len, c, n);
	added(s, n);
}

static locale_t c_locale;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* A decimal point is a point wherever the program runs. */
static int print_in_c(char *buf, size_t size, const char *fmt, va_list ap)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	locale_t before = (locale_t)0;
	int n;

	pthread_once(&once, make_c_locale);
	if (c_locale)
		before = uselocale(c_locale);
	n = vsnprintf(buf, size, fmt, ap);
	if (c_locale)
		uselocale(before);
	return n;
}

void strbuf_printf(struct strbuf *s, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!reserve(s, FIRST_CAP))
		return;
	va_start(ap, fmt);
	n = print_in_c(s->buf + s->len, s->cap - s->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		s->failed = true;
		s->buf[s->len] = '\0';
		return;
	}
	if ((size_t)n >= s->cap - s->len) {
		s->buf[s->len] = '\0';
		if (!reserve(s, (size_t)n))
			return;
		va_start(ap, fmt);
		(void)print_in_c(s->buf + s->len, s->cap - s->len, fmt, ap);
		va_end(ap);
	}
	added(s, (size_t)n);
}

int strbuf_error(const struct strbuf *s)
{
	return s->failed ? -ENOMEM : 0;
}

char *strbuf_steal(struct strbuf *s)
{
	char *text = NULL;

	if (!s->failed)
		text = s->buf ? TAKE(s->buf) : strdup("");
	strbuf_done(s);
	return text;
}

int strbuf_to_blob(struct strbuf *s, struct blob **ret_blob)
{
	int r = strbuf_error(s);

	if (r == 0)
		r = blob_from(s->buf, s->len, ret_blob);
	strbuf_done(s);
	return r;
}
