/* SPDX-License-Identifier: MIT */
/* layout.c - the ordered decision table: which datasets are pictures. RULES.md
 * has the reasons; the first row that fires wins. */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "image_int.h"

/* ---- rows without a room of their own ---- */
static enum verdict fit_r3_helper(const struct question *q, struct layout *l)
{
	const char *class = facts_text(&q->d->facts, "CLASS");

	return class && (!strcmp(class, "PALETTE") ||
			 !strcmp(class, "DIMENSION_SCALE"))
		       ? V_NOT
		       : V_PASS;
}

static enum verdict fit_no_number(const struct question *q, struct layout *l)
{
	return q->d->kind != DESC_NULL &&
			       (q->d->kind != DESC_NUMBER || q->d->num_size > 8)
		       ? V_NOT
		       : V_PASS;
}

/* An empty axis 0 is an empty stack. */
static enum verdict fit_t1_shape(const struct question *q, struct layout *l)
{
	if (q->d->kind == DESC_NULL || q->d->rank < 2)
		return V_NOT;
	for (unsigned i = 1; i < q->d->rank; i++)
		if (!q->d->dims[i])
			return V_NOT;
	return V_PASS;
}

static enum verdict fit_p2_model(const struct question *q, struct layout *l)
{
	return q->g->model || path_matches(q->d->path, "/vars/#", true)
		       ? V_NOT
		       : V_PASS;
}

static enum verdict fit_rest(const struct question *q, struct layout *l)
{
	return V_NOT;
}

static const struct layout_rule {
	const char *id;
	int pass; /* 2: asked of what fell to K once all others are known */
	layout_fit *fit;
	const char *why;     /* it is pictures */
	const char *why_not; /* it certainly is none */
} rules[] = {
	{ "R1", 1, fit_r1_explicit, "as told", "told not to be pictures" },
	{ "R2", 1, fit_r2_encoded, "elements are encoded image files", NULL },
	{ "R3", 1, fit_r3_helper, NULL, "a palette or dimension scale" },
	{ "K", 1, fit_no_number, NULL, "elements are not numbers" },
	{ "T1", 1, fit_t1_shape, NULL, "null, less than 2 axes, or empty" },
	{ "P2", 1, fit_p2_model, NULL, "weights of a model" },
	{ "D1", 1, fit_d1_image, "CLASS=IMAGE", NULL },
	{ "D3", 1, fit_d3_axes, "named axes",
	  "axis names without one y and one x of 8 or more" },
	{ "D4", 1, fit_d4_scales, "named dimension scales",
	  "scale names without one y and one x of 8 or more" },
	{ "D5", 1, fit_d5_nexus, "NeXus interpretation",
	  "NeXus interpretation is no image" },
	{ "D6", 1, fit_d6_nwb, "NWB type",
	  "data of an NWB type without images" },
	{ "P1", 1, fit_p1_matlab, "MATLAB array, axes reversed",
	  "MATLAB array without the shape and name of pictures" },
	{ "P3", 1, fit_p3_exchange, "Data Exchange projections", NULL },
	{ "P4", 1, fit_p4_bdv, "BigDataViewer cells", NULL },
	{ "P5", 1, fit_p5_imaris, "Imaris volume", NULL },
	{ "P7", 1, fit_p7_velox, "Velox image, frames last", NULL },
	{ "P6", 1, fit_p6_nxdata, "NXdata of integers", NULL },
	{ "S1", 1, fit_s1_channels_last, "channels last", NULL },
	{ "S2", 1, fit_s2_channels_first, "channels first", NULL },
	{ "S3", 1, fit_s3_count_last, "count last", NULL },
	{ "S4", 1, fit_s4_nested, "grey pictures, several index axes", NULL },
	{ "S5a", 1, fit_s5a_hwc, "one picture, channels last", NULL },
	{ "S5b", 1, fit_s5b_chw, "one picture, channels first", NULL },
	{ "S5c", 1, fit_s5c_stack, "stack of grey pictures", NULL },
	{ "S6", 1, fit_s6_single, "one picture by its name", NULL },
	{ "S7", 2, fit_s7_companion, "as large as the pictures beside it",
	  NULL },
	{ "K", 1, fit_rest, NULL,
	  "no rule takes it for pictures; if it is, say so: layout=PATH:NHWC" },
};

/* ---- setting a layout ---- */
static struct layout layout_none(void)
{
	return (struct layout){ .y = -1, .x = -1, .c = -1 };
}

enum verdict layout_set(struct layout *l, const struct desc *d, int y, int x,
			int c, const char *axes)
{
	l->y = y;
	l->x = x;
	l->c = c;
	l->nindex = 0;
	for (int i = 0; i < (int)d->rank; i++)
		if (i != y && i != x && i != c)
			l->index[l->nindex++] = (uint8_t)i;
	snprintf(l->axes, sizeof(l->axes), "%s", axes);
	return V_PICTURES;
}

enum verdict layout_set_roles(struct layout *l, const struct question *q,
			      const char *roles, const char *axes)
{
	const struct desc *d = q->d;
	int y = -1, x = -1, c = -1, nc = 0;

	for (int i = 0; i < (int)d->rank; i++) {
		y = roles[i] == 'y' ? i : y;
		x = roles[i] == 'x' ? i : x;
		c = roles[i] == 'c' ? i : c;
		nc += roles[i] == 'c';
	}
	if (nc > 1)
		c = -1;
	if (c >= 0 && !(q->spec && q->spec->nbands)) {
		uint64_t n = d->dims[c];
		bool four = !desc_is_float(d) || (q->spec && q->spec->naxes);

		if (n != 1 && n != 3 && !(n == 4 && four))
			c = -1;
	}
	return layout_set(l, d, y, x, c, axes);
}

/* ---- after a rule has fired ---- */
static void add_suffix(struct layout *l, const char *suffix)
{
	size_t n = strlen(l->rule);

	snprintf(l->rule + n, sizeof(l->rule) - n, "%s", suffix);
}

static bool under_opengl(const struct desc_group *g)
{
	for (; g; g = g->parent) {
		const char *text =
			facts_text(&g->facts, "macros_image_convention");

		if (text && !strcmp(text, "opengl"))
			return true;
	}
	return false;
}

/* O1: the dataset says where its origin is. O3: a group above says that rows
 * run upwards. */
static void orient(const struct desc_group *g, const struct desc *d,
		   struct layout *l)
{
	static const struct {
		const char *name;
		bool flip_y, flip_x;
	} origins[] = {
		{ "LL", true, false },
		{ "LR", true, true },
		{ "UR", false, true },
	};
	const char *text = facts_text(&d->facts, "DISPLAY_ORIGIN");

	for (size_t i = 0; text && i < ARRAY_SIZE(origins); i++) {
		if (strcasecmp(text, origins[i].name) != 0)
			continue;
		l->flip_y = origins[i].flip_y;
		l->flip_x = origins[i].flip_x;
		add_suffix(l, "+O1");
		return;
	}
	if (under_opengl(g)) {
		l->flip_y = true;
		add_suffix(l, "+O3");
	}
}

static void print_type(const struct desc *d, char *text, size_t size)
{
	static const char *const names[] = {
		[NUM_BOOL] = "bool",
		[NUM_UINT] = "uint",
		[NUM_INT] = "int",
		[NUM_FLOAT] = "float",
	};

	if (d->num == NUM_BOOL)
		snprintf(text, size, "bool");
	else
		snprintf(text, size, "%s%u", names[d->num], 8 * d->num_size);
}

/* "(N,T,H,W,C)": every axis of the effective shape by its part. */
static void print_roles(const struct layout *l, const struct desc *d,
			struct strbuf *out)
{
	for (int i = 0, nth = 0; i < (int)d->rank; i++) {
		const char *role = i == l->y	? "H"
				   : i == l->x	? "W"
				   : i == l->c	? "C"
				   : nth++ == 0 ? "N"
						: "T";

		if (l->flat_h && i == l->x)
			role = l->flat_c > 1 ? "H*W*C" : "H*W";
		strbuf_printf(out, "%s%s", i ? "," : "(", role);
	}
	strbuf_putc(out, ')');
}

static int explain(const struct desc *d, const struct layout_shape *shape,
		   struct layout *l)
{
	struct strbuf s = STRBUF_INIT;
	char type[16], why[sizeof(l->why)];
	int r;

	print_type(d, type, sizeof(type));
	strbuf_printf(&s, "%s: %s ", l->why, type);
	print_roles(l, d, &s);
	if (l->c >= 0 || l->flat_c > 1)
		strbuf_printf(&s, " with C=%u", shape->channels);
	r = strbuf_error(&s);
	if (r == 0) {
		snprintf(why, sizeof(why), "%s", s.buf);
		memcpy(l->why, why, sizeof(why));
	}
	strbuf_done(&s);
	return r;
}

static void demote(struct layout *l, const char *rule, const char *why)
{
	*l = layout_none();
	snprintf(l->rule, sizeof(l->rule), "%s", rule);
	snprintf(l->why, sizeof(l->why), "%s", why);
}

static int finish(const struct desc_group *g, const struct desc *d,
		  const struct layout_spec *spec,
		  const struct layout_user *user, struct layout *l)
{
	struct layout_shape shape;

	if (spec)
		layout_spec_pick_bands(spec, d, l);
	if (l->kind != LAYOUT_PICTURES)
		return 0;
	if (!spec || !spec->raw)
		orient(g, d, l);
	if (spec)
		layout_spec_modify(spec, l);
	if (layout_shape(l, d, &shape) < 0) {
		demote(l, l->rule[0] == 'R' ? "R1" : "K",
		       "larger than a picture can be");
		return 0;
	}
	if (user && user->has_range) {
		l->has_range = true;
		l->range_lo = user->range_lo;
		l->range_hi = user->range_hi;
	}
	return explain(d, &shape, l);
}

/* ---- a group at a time ---- */
/* 2 strong, 1 weak, 0 none, -1 against. What a name denies, none affirms. */
static int evidence(const struct desc *d, uint32_t words, uint32_t parent)
{
	if (words & W_NEG || parent & W_MODEL)
		return -1;
	if (words & W_STRONG || layout_has_image_suffix(d->name))
		return 2;
	if (words & W_WEAK)
		return 1;
	return parent & (W_STRONG | W_SUPER) ? 2 : 0;
}

static void ask(const struct question *q, int pass, struct layout *ret_layout)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct layout_rule *rule = &rules[i];
		struct layout l = layout_none();
		enum verdict v;
		const char *why;

		if (rule->pass != pass)
			continue;
		v = rule->fit(q, &l);
		if (v == V_PASS)
			continue;
		if (v == V_PICTURES)
			l.kind = LAYOUT_PICTURES;
		else if (v == V_ENCODED)
			l.kind = LAYOUT_ENCODED;
		why = v == V_NOT ? rule->why_not : rule->why;
		if (!l.why[0])
			snprintf(l.why, sizeof(l.why), "%s", why);
		snprintf(l.rule, sizeof(l.rule), "%s", rule->id);
		*ret_layout = l;
		return;
	}
}

/* What R1 knows of one dataset. The user's word beats the attribute. */
struct told {
	struct layout_spec spec;
	bool has_spec, of_user;
	const char *error;
};

static struct told find_told(const struct desc *d,
			     const struct layout_user *user)
{
	const char *text = facts_text(&d->facts, "h5fs.layout");
	struct told t = { 0 };
	int r;

	if (user && user->layout) {
		t.of_user = true;
		text = user->layout;
	}
	if (!text)
		return t;
	r = layout_spec_parse(text, &t.spec, t.of_user ? &t.error : NULL);
	t.has_spec = r == 0;
	return t;
}

static const struct layout_user *user_of(const struct layout_user *const *users,
					 size_t i)
{
	return users ? users[i] : NULL;
}

static void decide_one(const struct desc_group *g, const struct siblings *s,
		       size_t i, int pass, const struct layout_user *user,
		       const struct layout_probe *probe)
{
	const struct desc *d = &g->members[i];
	struct told told = find_told(d, user);
	char parent[256];
	struct question q = {
		.g = g,
		.siblings = s,
		.d = d,
		.probe = probe,
		.spec = told.has_spec ? &told.spec : NULL,
		.spec_of_user = told.of_user,
		.spec_error = told.error,
		.words = s->words[i],
	};

	path_parent_name(d->path, parent, sizeof(parent));
	q.parent_words = name_words(parent);
	q.evidence = evidence(d, q.words, q.parent_words);
	ask(&q, pass, &g->layouts[i]);
}

static int decide_all(struct desc_group *g, struct siblings *s,
		      const struct layout_user *const *users,
		      const struct layout_probe *probe)
{
	int r;

	for (size_t i = 0; i < g->count; i++)
		decide_one(g, s, i, 1, user_of(users, i), probe);
	r = siblings_add_pictures(s, g);
	if (r < 0)
		return r;
	for (size_t i = 0; i < g->count; i++)
		if (g->members[i].kind == DESC_NUMBER &&
		    g->members[i].num_size <= 8 &&
		    !strcmp(g->layouts[i].rule, "K"))
			decide_one(g, s, i, 2, user_of(users, i), probe);
	for (size_t i = 0; i < g->count && r == 0; i++) {
		const struct desc *d = &g->members[i];
		struct told t = find_told(d, user_of(users, i));

		r = finish(g, d, t.has_spec ? &t.spec : NULL, user_of(users, i),
			   &g->layouts[i]);
	}
	return r;
}

int layout_decide(struct desc_group *g, const struct layout_user *const *users,
		  const struct layout_probe *probe)
{
	struct siblings s;
	int r;

	if (!g->layouts) {
		g->layouts =
			calloc(g->count ? g->count : 1, sizeof(*g->layouts));
		if (!g->layouts)
			return -ENOMEM;
	}
	r = siblings_init(&s, g);
	if (r < 0)
		return r;
	r = decide_all(g, &s, users, probe);
	siblings_done(&s);
	if (r == 0)
		labels_index(g);
	return r;
}
