/* SPDX-License-Identifier: MIT */
/* view_text.c - strings as .txt: a scalar is the file, of a vector each element
 * is a line. MATLAB's texts are in matlab_text.c. */
#include "text_forms.h"
#include "view_int.h"

/* ---- one string ---- */

static bool scalar_accepts(const struct view_source *s)
{
	return view_is_string(view_info(s)->type) && !view_info(s)->rank &&
	       !view_scalar_is_json(s);
}

static uint64_t scalar_blocks(const struct view_source *s)
{
	return 1;
}

static int scalar_render(const struct view_source *s, uint64_t block,
			 struct strbuf *out)
{
	return view_scalar_string(s, out);
}

/* ---- a vector of them ---- */

static bool lines_accepts(const struct view_source *s)
{
	return view_is_string(view_info(s)->type) && view_info(s)->rank == 1;
}

static uint64_t lines_block(const struct view_source *s)
{
	return view_block_elements(view_info(s)->type, 4096);
}

static uint64_t lines_blocks(const struct view_source *s)
{
	return view_block_count(view_info(s)->count, lines_block(s));
}

static int put_lines(void *arg, const struct array *a, uint64_t first)
{
	struct strbuf *out = arg;
	const char *text;
	size_t n;

	for (uint64_t i = 0; i < a->count; i++) {
		dtype_string(a->type, array_at(a, i), &text, &n);
		put_one_line(out, text, n);
		strbuf_putc(out, '\n');
	}
	return strbuf_error(out);
}

static int lines_render(const struct view_source *s, uint64_t block,
			struct strbuf *out)
{
	return text_block(s, block, lines_block(s), put_lines, out);
}

/* ---- the view: the first form that fits ---- */

static const struct text_form forms[] = {
	{ scalar_accepts, scalar_blocks, scalar_render },
	{ lines_accepts, lines_blocks, lines_render },
	{ matlab_char_accepts, matlab_char_blocks, matlab_char_render },
	{ matlab_cell_accepts, matlab_cell_blocks, matlab_cell_render },
};

int text_block(const struct view_source *s, uint64_t block, uint64_t elements,
	       cells_fn fn, void *arg)
{
	uint64_t count = view_info(s)->count, first;

	if (mul_overflow(block, elements, &first) || first > count)
		return -ERANGE;
	if (elements > count - first)
		elements = count - first;
	return cells_walk(s->dset, first, elements, fn, arg);
}

/* What a source is does not change: the kind of element decides alone, so that
 * reading need not look at values again. */
static const struct text_form *form_of(const struct view_source *s)
{
	const struct dataset_info *info = view_info(s);

	if (view_is_string(info->type))
		return &forms[info->rank ? 1 : 0];
	return &forms[s->matlab == MATLAB_CHAR ? 2 : 3];
}

static bool accepts(const struct view_source *s)
{
	return view_is_measurable(s) && form_of(s)->accepts(s);
}

static uint64_t blocks(const struct view_source *s, uint64_t index)
{
	return form_of(s)->blocks(s);
}

static int render(const struct view_source *s, uint64_t index, uint64_t block,
		  struct blob **ret_blob)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	int r = form_of(s)->render(s, block, &out);

	return r < 0 ? r : strbuf_to_blob(&out, ret_blob);
}

const struct view_ops view_text = {
	.name = "text",
	.suffix = ".txt",
	.accepts = accepts,
	.blocks = blocks,
	.render = render,
};
