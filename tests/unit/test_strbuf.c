/* SPDX-License-Identifier: MIT */
/* test_strbuf.c - text grows, and errors stick. */
#include <locale.h>

#include "h5fs/base.h"

#include "check.h"

static void pieces_join(void)
{
	struct strbuf s = STRBUF_INIT;

	strbuf_puts(&s, "ab");
	strbuf_putc(&s, 'c');
	strbuf_pad(&s, '.', 3);
	strbuf_put(&s, "x\0y", 3);
	strbuf_printf(&s, "%d-%s", 42, "z");
	CHECK_EQ(strbuf_error(&s), 0);
	CHECK_EQ(s.len, 6 + 3 + 4);
	CHECK(memcmp(s.buf, "abc...x\0y42-z", 14) == 0);
	strbuf_done(&s);
	CHECK(!s.buf && s.len == 0);
}

static void long_output_is_whole(void)
{
	struct strbuf s = STRBUF_INIT;

	for (int i = 0; i < 1000; i++)
		strbuf_printf(&s, "%0*d,", i % 200 + 1, 0);
	CHECK_EQ(strbuf_error(&s), 0);
	CHECK_EQ(s.len, 5 * (200 * 201 / 2 + 200));
	CHECK_EQ(strlen(s.buf), s.len);
	strbuf_done(&s);
}

static void point_is_a_point_in_any_locale(void)
{
	static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8",
					      "de_DE", "ru_RU.UTF-8" };
	struct strbuf s = STRBUF_INIT;
	locale_t before = uselocale((locale_t)0);

	for (size_t i = 0; i < ARRAY_SIZE(commas); i++)
		if (setlocale(LC_ALL, commas[i]))
			break;
	strbuf_printf(&s, "%.2f", 1.5);
	CHECK_STR(s.buf, "1.50");
	CHECK(uselocale((locale_t)0) == before);
	setlocale(LC_ALL, "C");
	strbuf_done(&s);
}

static void steal_gives_the_text(void)
{
	struct strbuf s = STRBUF_INIT;
	CLEANUP(freep) char *empty = strbuf_steal(&s);
	CLEANUP(freep) char *text = NULL;

	CHECK_STR(empty, "");
	strbuf_puts(&s, "mine");
	text = strbuf_steal(&s);
	CHECK_STR(text, "mine");
	CHECK(!s.buf && s.cap == 0);
}

static void blob_has_no_nul(void)
{
	struct strbuf s = STRBUF_INIT;
	CLEANUP(blob_unrefp) struct blob *b = NULL, *none = NULL;

	strbuf_puts(&s, "four");
	CHECK_EQ(strbuf_to_blob(&s, &b), 0);
	CHECK_EQ(b->size, 4);
	CHECK(memcmp(b->data, "four", 4) == 0);
	CHECK(!s.buf);
	CHECK_EQ(strbuf_to_blob(&s, &none), 0);
	CHECK_EQ(none->size, 0);
}

static void errors_stick(void)
{
	struct strbuf s = STRBUF_INIT;
	struct blob *b = NULL;

	strbuf_puts(&s, "kept");
	strbuf_pad(&s, ' ', SIZE_MAX - 2);
	CHECK_EQ(strbuf_error(&s), -ENOMEM);
	strbuf_puts(&s, "no more");
	strbuf_printf(&s, "%d", 1);
	strbuf_putc(&s, 'x');
	CHECK_STR(s.buf, "kept");
	CHECK_EQ(strbuf_to_blob(&s, &b), -ENOMEM);
	CHECK(!b);
	CHECK_EQ(strbuf_error(&s), 0);
	strbuf_pad(&s, ' ', SIZE_MAX - 2);
	CHECK(!strbuf_steal(&s));
}

int main(void)
{
	RUN(pieces_join);
	RUN(long_output_is_whole);
	RUN(point_is_a_point_in_any_locale);
	RUN(steal_gives_the_text);
	RUN(blob_has_no_nul);
	RUN(errors_stick);
	return CHECK_RESULT();
}
