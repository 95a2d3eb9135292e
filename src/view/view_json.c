/* SPDX-License-Identifier: MIT */
/* view_json.c - what no other readable form holds: lists nested as the shape is,
 * a row of axis 0 a line, made a run of elements at a time. Sequences of
 * variable length are one flat list of lists in C order, whatever the rank. */
#include "view_int.h"

static uint64_t block_elements(const struct view_source *s)
{
	const struct dtype *t = view_info(s)->type;

	/* What pointers lead to has any length. */
	return view_block_elements(t, dtype_has_pointers(t) ? 1024 : 4096);
}

static uint64_t blocks(const struct view_source *s, uint64_t index)
{
	const struct dataset_info *info = view_info(s);

	return info->null ? 1
			  : view_block_count(info->count, block_elements(s));
}

static unsigned list_rank(const struct dataset_info *info)
{
	return info->rank && info->type->class == DT_VLEN ? 1 : info->rank;
}

struct lists {
	unsigned rank;
	uint64_t below[DT_MAX_RANK]; /* elements of one step along an axis */
	struct strbuf *out;
};

/* What stands between element i-1 and i: lists that end and begin. */
static void put_between(const struct lists *l, uint64_t i)
{
	unsigned rank = l->rank, turns = 0;

	if (!rank)
		return;
	if (!i) {
		strbuf_pad(l->out, '[', rank);
		return;
	}
	while (turns + 1 < rank && i % l->below[rank - 2 - turns] == 0)
		turns++;
	strbuf_pad(l->out, ']', turns);
	strbuf_puts(l->out, turns + 1 == rank ? ",\n" : ", ");
	strbuf_pad(l->out, '[', turns);
}

static int put_elements(void *arg, const struct array *a, uint64_t first)
{
	const struct lists *l = arg;

	for (uint64_t i = 0; i < a->count; i++) {
		put_between(l, first + i);
		json_of_element(a->type, array_at(a, i), l->out);
	}
	return strbuf_error(l->out);
}

#define EMPTY_LISTS_MAX 65536

/* (3,0) is [[], [], []]; a shape that claims very many of them is []. */
static void put_empty(const struct dataset_info *info, struct strbuf *out)
{
	uint64_t lists = 1, n = 0;
	unsigned depth = 0;

	if (info->type->class == DT_VLEN) {
		strbuf_puts(out, "[]\n");
		return;
	}
	while (info->dims[depth]) {
		if (mul_overflow(lists, info->dims[depth++], &lists) ||
		    lists > EMPTY_LISTS_MAX) {
			strbuf_puts(out, "[]\n");
			return;
		}
	}
	for (n = 0; n < lists; n++) {
		uint64_t below = 1;
		unsigned turns = 0;

		while (turns < depth &&
		       n % (below * info->dims[depth - 1 - turns]) == 0)
			below *= info->dims[depth - 1 - turns++];
		if (n) {
			strbuf_pad(out, ']', turns);
			strbuf_puts(out, turns + 1 >= depth ? ",\n" : ", ");
		}
		strbuf_pad(out, '[', turns);
		strbuf_puts(out, "[]");
	}
	strbuf_pad(out, ']', depth);
	strbuf_putc(out, '\n');
}

static int put_block(const struct view_source *s, uint64_t block,
		     struct strbuf *out)
{
	const struct dataset_info *info = view_info(s);
	struct lists l = { .rank = list_rank(info), .out = out };
	uint64_t n = block_elements(s), first, below = 1;
	int r;

	if (mul_overflow(block, n, &first) || first >= info->count)
		return -ERANGE;
	for (unsigned k = info->rank; k-- > 0;) {
		l.below[k] = below;
		below *= info->dims[k];
	}
	if (n > info->count - first)
		n = info->count - first;
	r = cells_walk(s->dset, first, n, put_elements, &l);
	if (r < 0)
		return r;
	if (first + n == info->count) {
		strbuf_pad(out, ']', l.rank);
		strbuf_putc(out, '\n');
	}
	return 0;
}

static int render(const struct view_source *s, uint64_t index, uint64_t block,
		  struct blob **ret_blob)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	const struct dataset_info *info = view_info(s);
	int r = 0;

	if (info->null)
		strbuf_puts(&out, "null\n");
	else if (view_is_string(info->type) && !info->rank)
		r = view_scalar_string(s, &out);
	else if (!info->count)
		put_empty(info, &out);
	else
		r = put_block(s, block, &out);
	return r < 0 ? r : strbuf_to_blob(&out, ret_blob);
}

/* Numbers have .npy, and .txt where a line holds a row. */
static bool is_numbers(const struct view_source *s)
{
	const struct dtype *t = view_info(s)->type;

	while (t->class == DT_ARRAY)
		t = t->base;
	return s->matlab_empty || number_width(t);
}

static bool accepts(const struct view_source *s)
{
	const struct dataset_info *info = view_info(s);

	if (info->null)
		return true;
	if (!view_is_measurable(s))
		return false;
	if (is_numbers(s) && view_npy.accepts(s))
		return false;
	if (info->type->class == DT_REF)
		return true; /* as paths, also where .txt shows the texts */
	return !view_numbers.accepts(s) && !view_text.accepts(s) &&
	       !view_csv.accepts(s) && !view_bin.accepts(s);
}

const struct view_ops view_json = {
	.name = "json",
	.suffix = ".json",
	.accepts = accepts,
	.blocks = blocks,
	.render = render,
};
