/* SPDX-License-Identifier: MIT */
/* view_csv.c - a table of scalars as CSV (RFC 4180; lines end in LF). */
#include "view_int.h"

static uint64_t block_rows(const struct view_source *s)
{
	return view_block_elements(view_info(s)->type, 4096);
}

static uint64_t blocks(const struct view_source *s, uint64_t index)
{
	return view_block_count(view_info(s)->count, block_rows(s));
}

/* Blanks at either end are quoted too: many readers skip them. An empty field
 * alone on its line would be an empty line. */
static void put_field(const char *s, size_t n, bool alone, struct strbuf *out)
{
	bool quote = !n ? alone : s[0] == ' ' || s[n - 1] == ' ';

	for (size_t i = 0; i < n && !quote; i++)
		quote = s[i] == ',' || s[i] == '"' || s[i] == '\n' ||
			s[i] == '\r';
	if (!quote) {
		strbuf_put(out, s, n);
		return;
	}
	strbuf_putc(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			strbuf_putc(out, '"');
		strbuf_putc(out, s[i]);
	}
	strbuf_putc(out, '"');
}

static void put_value(const struct dtype *t, const void *element, bool alone,
		      struct strbuf *out)
{
	const char *text = NULL;
	char buf[NUMBER_MAX];
	size_t n;

	if (view_is_string(t)) {
		dtype_string(t, element, &text, &n);
		put_field(text, n, alone, out);
		return;
	}
	if (t->class == DT_ENUM)
		text = enum_name(t, element);
	else if (t->class == DT_BOOL)
		text = *(const uint8_t *)element ? "true" : "false";
	if (text) {
		put_field(text, strlen(text), alone, out);
		return;
	}
	n = number_text(t, element, buf);
	strbuf_put(out, buf, n);
}

static void put_header(const struct dtype *t, struct strbuf *out)
{
	for (unsigned i = 0; i < t->nmembers; i++) {
		const char *name = t->members[i].name;

		if (i)
			strbuf_putc(out, ',');
		put_field(name, strlen(name), t->nmembers == 1, out);
	}
	strbuf_putc(out, '\n');
}

static int put_rows(void *arg, const struct array *a, uint64_t first)
{
	const struct dtype *t = a->type;
	struct strbuf *out = arg;

	for (uint64_t i = 0; i < a->count; i++) {
		const uint8_t *row = array_at(a, i);

		for (unsigned k = 0; k < t->nmembers; k++) {
			if (k)
				strbuf_putc(out, ',');
			put_value(t->members[k].type,
				  row + t->members[k].offset, t->nmembers == 1,
				  out);
		}
		strbuf_putc(out, '\n');
	}
	return strbuf_error(out);
}

static int render(const struct view_source *s, uint64_t index, uint64_t block,
		  struct blob **ret_blob)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	const struct dataset_info *info = view_info(s);
	uint64_t rows = block_rows(s), first;
	int r;

	if (mul_overflow(block, rows, &first) || first > info->count)
		return -ERANGE;
	if (rows > info->count - first)
		rows = info->count - first;
	if (!block)
		put_header(info->type, &out);
	r = cells_walk(s->dset, first, rows, put_rows, &out);
	if (r < 0)
		return r;
	return strbuf_to_blob(&out, ret_blob);
}

/* Members of variable length are .json's, as are nested ones. */
static bool accepts(const struct view_source *s)
{
	const struct dataset_info *info = view_info(s);
	const struct dtype *t = info->type;

	if (!view_is_measurable(s) || t->class != DT_COMPOUND ||
	    info->rank != 1 || s->matlab_empty || !t->nmembers)
		return false;
	for (unsigned i = 0; i < t->nmembers; i++) {
		const struct dtype *m = t->members[i].type;

		if (m->class != DT_STRING && !number_width(m))
			return false;
	}
	return true;
}

const struct view_ops view_csv = {
	.name = "csv",
	.suffix = ".csv",
	.accepts = accepts,
	.blocks = blocks,
	.render = render,
};
