/* SPDX-License-Identifier: MIT */
/* view.c - the table of views, and what they ask of a source in common. */
#include <jansson.h>

#include "view_int.h"

const struct view_ops *const view_whole[] = {
	&view_npy,
	&view_png,
	&view_encoded,
	/* at most one of these */
	&view_numbers,
	&view_text,
	&view_csv,
	&view_json,
	&view_bin,
	NULL,
};

int view_shape(const struct dataset_info *info, struct view_shape *ret_shape)
{
	struct view_shape sh = { .rank = info->rank, .type = info->type };

	memcpy(sh.dims, info->dims, sizeof(sh.dims));
	while (sh.type->class == DT_ARRAY) {
		for (unsigned k = 0; k < sh.type->rank; k++) {
			if (sh.rank == DT_MAX_RANK)
				return -E2BIG;
			sh.dims[sh.rank++] = sh.type->dims[k];
		}
		sh.type = sh.type->base;
	}
	*ret_shape = sh;
	return 0;
}

bool view_is_other(const struct view_source *s)
{
	const struct dataset_info *info = view_info(s);

	return !info->null && s->layout->kind == LAYOUT_NONE &&
	       info->count != UINT64_MAX;
}

/* Elements of any size have .npy or .bin; these files are made in memory. */
bool view_is_measurable(const struct view_source *s)
{
	const struct dataset_info *info = view_info(s);

	return view_is_other(s) && info->count <= VIEW_MAX_MEASURED &&
	       info->type->size <= VIEW_MAX_ELEMENT;
}

bool view_is_string(const struct dtype *t)
{
	return t->class == DT_STRING || t->class == DT_VLSTR;
}

uint64_t view_block_elements(const struct dtype *t, uint64_t most)
{
	uint64_t n = VIEW_BLOCK_BYTES / (t->size ? t->size : 1);

	return n > most ? most : n ? n : 1;
}

uint64_t view_block_count(uint64_t elements, uint64_t block)
{
	return elements ? (elements - 1) / block + 1 : 1;
}

static int put_string(void *arg, const struct array *a, uint64_t first)
{
	const char *text;
	size_t n;

	dtype_string(a->type, array_at(a, 0), &text, &n);
	strbuf_put(arg, text, n);
	return 0;
}

int view_scalar_string(const struct view_source *s, struct strbuf *out)
{
	int r = cells_walk(s->dset, 0, 1, put_string, out);

	return r < 0 ? r : strbuf_error(out);
}

/* A parsed tree takes many times the text's bytes. */
#define JSON_TEXT_MAX (16u << 20)

bool view_scalar_is_json(const struct view_source *s)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const struct dtype *t = view_info(s)->type;
	size_t i = 0;
	json_t *root;

	if (t->class == DT_STRING && t->size > JSON_TEXT_MAX)
		return false;
	if (view_scalar_string(s, &text) < 0 || text.len > JSON_TEXT_MAX)
		return false;
	while (i < text.len && strchr(" \t\r\n", text.buf[i]) && text.buf[i])
		i++;
	if (i == text.len || (text.buf[i] != '{' && text.buf[i] != '['))
		return false;
	root = json_loadb(text.buf, text.len,
			  JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	json_decref(root);
	return root;
}
