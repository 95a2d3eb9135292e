/* SPDX-License-Identifier: MIT */
/* facts.c - what h5fs adds to an object's attributes: user.h5fs.*. */
#include <inttypes.h>
#include <stdio.h>

#include "xattr_int.h"

static int fact_path(struct fact_arg *a, struct strbuf *out)
{
	CLEANUP(freep) char *path = object_path(a->p->object);

	if (!path)
		return -ENOMEM;
	strbuf_puts(out, path);
	if (!is_sample(a->p))
		return 0;
	if (a->st && a->src.layout->kind == LAYOUT_PICTURES) {
		uint64_t rest = a->p->node.index, at[LAYOUT_MAX_RANK];
		unsigned n = a->src.layout->nindex;

		for (unsigned i = n; i-- > 0;) {
			at[i] = rest % a->src.shape.index_dims[i];
			rest /= a->src.shape.index_dims[i];
		}
		for (unsigned i = 0; i < n; i++)
			strbuf_printf(out, "%s%" PRIu64, i ? "," : "[", at[i]);
		strbuf_puts(out, n ? "]" : "");
	} else {
		strbuf_printf(out, "[%" PRIu32 "]", a->p->node.index);
	}
	return 0;
}

static void put_dims(struct strbuf *out, const uint64_t *dims, unsigned rank)
{
	strbuf_putc(out, '[');
	for (unsigned i = 0; i < rank; i++)
		strbuf_printf(out, "%s%" PRIu64, i ? "," : "", dims[i]);
	strbuf_putc(out, ']');
}

static int fact_shape(struct fact_arg *a, struct strbuf *out)
{
	if (!a->st || dset_info(a->st->dset)->null)
		return -ENODATA;
	put_dims(out, dset_info(a->st->dset)->dims,
		 dset_info(a->st->dset)->rank);
	return 0;
}

static int fact_dtype(struct fact_arg *a, struct strbuf *out)
{
	if (!a->st)
		return -ENODATA;
	text_of_dtype(dset_info(a->st->dset)->type, out);
	return 0;
}

bool fact_is_shown(const struct fact_arg *a)
{
	return a->st && a->src.layout->kind != LAYOUT_NONE;
}

static int fact_layout(struct fact_arg *a, struct strbuf *out)
{
	if (!fact_is_shown(a))
		return -ENODATA;
	if (a->src.layout->kind == LAYOUT_ENCODED)
		strbuf_puts(out, "encoded");
	else
		layout_text(a->src.layout, out);
	return 0;
}

/* The role of each axis of the dataset. */
static int fact_axes(struct fact_arg *a, struct strbuf *out)
{
	const struct layout *l = a->src.layout;

	if (!fact_is_shown(a) || l->kind != LAYOUT_PICTURES)
		return -ENODATA;
	strbuf_putc(out, '[');
	for (unsigned i = 0; i < a->src.desc->rank; i++) {
		const char *role = (int)i == l->c ? "channel" : "index";

		if ((int)i == l->x)
			role = l->flat_h ? "pixel" : "x";
		else if ((int)i == l->y)
			role = "y";
		strbuf_printf(out, "%s\"%s\"", i ? "," : "", role);
	}
	strbuf_putc(out, ']');
	return 0;
}

static int fact_rule(struct fact_arg *a, struct strbuf *out)
{
	if (!a->st || !*a->src.layout->rule)
		return -ENODATA;
	strbuf_puts(out, a->src.layout->rule);
	return 0;
}

static bool has_norm(const struct fact_arg *a)
{
	return fact_is_shown(a) && a->src.layout->kind == LAYOUT_PICTURES;
}

/* Under norm=sample there is none for all. */
static bool has_range(const struct fact_arg *a)
{
	return has_norm(a) && (is_sample(a->p) || !a->src.layout->norm_sample);
}

static int fact_norm(struct fact_arg *a, struct strbuf *out)
{
	int r;

	if (!has_norm(a))
		return -ENODATA;
	r = state_source(a->st, true, &a->src);
	if (r < 0)
		return r;
	strbuf_puts(out, norm_name(a->src.norm->kind));
	return 0;
}

void norm_range(const struct norm *n, double *ret_lo, double *ret_hi)
{
	static const struct {
		enum norm_kind kind;
		double lo, hi;
	} fixed[] = {
		{ NORM_FLOAT_UNIT, 0, 1 },   { NORM_FLOAT_SIGNED, -1, 1 },
		{ NORM_FLOAT_BYTE, 0, 255 }, { NORM_FLOAT_WHOLE, 0, 255 },
		{ NORM_U8, 0, 255 },	     { NORM_INT_U8, 0, 255 },
		{ NORM_U16, 0, 65535 },	     { NORM_INT_U16, 0, 65535 },
		{ NORM_INVERTED, 0, 255 },   { NORM_BINARY, 0, 1 },
		{ NORM_BINARY_RGB, 0, 1 },   { NORM_PALETTE, 0, 255 },
	};

	*ret_lo = n->lo;
	*ret_hi = n->hi;
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (fixed[i].kind == n->kind) {
			*ret_lo = fixed[i].lo;
			*ret_hi = fixed[i].hi;
		}
}

static int fact_range(struct fact_arg *a, struct strbuf *out)
{
	struct norm norm;
	double lo, hi;
	int r;

	if (!has_range(a))
		return -ENODATA;
	r = state_source(a->st, true, &a->src);
	if (r < 0)
		return r;
	norm = *a->src.norm;
	if (a->src.layout->norm_sample) {
		r = view_png_norm(&a->src, a->p->node.index, &norm);
		if (r < 0)
			return r;
	}
	norm_range(&norm, &lo, &hi);
	strbuf_printf(out, "[%.17g,%.17g]", lo, hi);
	return 0;
}

static int fact_chunks(struct fact_arg *a, struct strbuf *out)
{
	if (!a->st || dset_info(a->st->dset)->storage != STORAGE_CHUNKED)
		return -ENODATA;
	put_dims(out, dset_info(a->st->dset)->chunk,
		 dset_info(a->st->dset)->rank);
	return 0;
}

static int fact_filters(struct fact_arg *a, struct strbuf *out)
{
	const struct dataset_info *in = a->st ? dset_info(a->st->dset) : NULL;

	if (!in || !in->nfilters)
		return -ENODATA;
	for (unsigned i = 0; i < in->nfilters; i++)
		strbuf_printf(out, "%s%s", i ? "," : "", in->filters[i].name);
	return 0;
}

/* Where the name as shown is not the name as stored. */
static int fact_name(struct fact_arg *a, struct strbuf *out)
{
	const struct object *o = a->p->object;
	const struct view_ops *ops =
		o->kind == OBJECT_DATASET ? node_ops(o, a->p->node.view) : NULL;
	CLEANUP(freep) char *shown = NULL;
	bool cut;

	if (!o->parent || is_sample(a->p) || a->p->node.view >= V_SUB)
		return -ENODATA;
	shown = name_shown(o->name, ops && ops->suffix ? ops->suffix : "",
			   o->kind == OBJECT_GROUP ? NAME_GROUP : NAME_PLAIN,
			   &cut);
	if (!shown)
		return -ENOMEM;
	if (!cut && !strncmp(shown, o->name, strlen(o->name)))
		return -ENODATA;
	strbuf_puts(out, o->name);
	return 0;
}

/* Where the attributes are that no xattr can hold. */
static int fact_more(struct fact_arg *a, struct strbuf *out)
{
	const struct object *o = a->p->object;
	int r;

	if (is_sample(a->p) || a->p->node.view >= V_SUB)
		return -ENODATA;
	r = find_attrs(a);
	if (r < 0)
		return r;
	if (!a->attrs.more)
		return -ENODATA;
	if (a->p->node.view == V_DIR) {
		strbuf_puts(out, ".attrs/");
	} else {
		bool cut;
		CLEANUP(freep)
		char *shown = name_shown(o->name, "", NAME_PLAIN, &cut);

		strbuf_printf(out, ".attrs.%s/", shown ? shown : "");
	}
	return 0;
}

static int fact_hint(struct fact_arg *a, struct strbuf *out)
{
	const char *hint = NULL;

	if (!fact_is_shown(a))
		return -ENODATA;
	for (unsigned i = 0; i < a->src.desc->stored_rank; i++)
		if (a->src.desc->scale[i] && a->src.layout->y == (int)i &&
		    !strncmp(a->src.desc->scale[i], "lat", 3))
			hint = "rows are shown as stored; if latitude ascends, "
			       "north is at the bottom: layout=PATH:+flipv";
	if (!hint && !strcmp(a->src.layout->rule, "D6"))
		hint = "shown as stored; NWB says (x,y) or (y,x) by version: "
		       "layout=PATH:+transpose";
	if (!hint)
		return -ENODATA;
	strbuf_puts(out, hint);
	return 0;
}

const struct fact_row facts[FACTS_COUNT] = {
	{ "path", fact_path, NULL },	 { "shape", fact_shape, NULL },
	{ "dtype", fact_dtype, NULL },	 { "layout", fact_layout, NULL },
	{ "axes", fact_axes, NULL },	 { "rule", fact_rule, NULL },
	{ "norm", fact_norm, has_norm }, { "range", fact_range, has_range },
	{ "chunks", fact_chunks, NULL }, { "filters", fact_filters, NULL },
	{ "name", fact_name, NULL },	 { "more", fact_more, NULL },
	{ "hint", fact_hint, NULL },
};

bool is_fact(const char *attr)
{
	if (strncmp(attr, "h5fs.", 5))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (!strcmp(facts[i].name, attr + 5))
			return true;
	return false;
}

void fact_arg_done(struct fact_arg *a)
{
	strbuf_done(&a->attrs.list);
}

int fact_arg_init(struct ns *ns, const struct pin *p, struct state_ref *ref,
		  struct fact_arg *a)
{
	int r;

	a->ns = ns;
	a->p = p;
	if (p->object->kind != OBJECT_DATASET)
		return 0;
	r = state_get(ns, p->object, &ref->st);
	if (r == -ENOMEM || r == -ESTALE || r == -EAGAIN)
		return r;
	if (r < 0)
		return 0; /* damaged: no facts but its path */
	a->st = ref->st;
	return state_source(ref->st, false, &a->src);
}
