/* SPDX-License-Identifier: MIT */
/* layout_declared.c - rules D1 to D6: a standard's attributes say what the axes
 * are. */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <strings.h>

#include "image_int.h"

/* Below this a declared plane is a table, a curve or a thumbnail of nothing. */
#define MIN_NAMED_SIDE 8
#define AXIS_NAME_MAX 63

static bool text_is(const char *text, const char *want)
{
	return text && !strcmp(text, want);
}

static bool is_colour_count(uint64_t n)
{
	return n == 1 || n == 3 || n == 4;
}

/* ---- D1: HDF5 Image and Palette Specification 1.2 ---- */
static enum verdict fit_image_colour(const struct desc *d, struct layout *l,
				     const char *interlace)
{
	int b = (int)d->rank - 3; /* first axis of the picture */
	int y = b, x = b + 1, c = b + 2;

	if (text_is(interlace, "INTERLACE_PLANE"))
		c = b, y = b + 1, x = b + 2;
	else if (text_is(interlace, "INTERLACE_LINE"))
		y = b, c = b + 1, x = b + 2;
	else if (!is_colour_count(d->dims[c]) && is_colour_count(d->dims[b]))
		c = b, y = b + 1, x = b + 2;
	if (!is_colour_count(d->dims[c]))
		return V_PASS;
	return layout_set(l, d, y, x, c, "IMAGE");
}

static bool image_has_colour(const struct desc *d, const char *subclass,
			     const char *interlace)
{
	uint64_t last = d->dims[d->rank - 1];

	return d->rank == 4 || text_is(subclass, "IMAGE_TRUECOLOR") ||
	       text_is(interlace, "INTERLACE_PLANE") ||
	       text_is(interlace, "INTERLACE_LINE") ||
	       ((!subclass || !*subclass) && (last == 3 || last == 4));
}

enum verdict fit_d1_image(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	const char *subclass = facts_text(&d->facts, "IMAGE_SUBCLASS");
	const char *interlace = facts_text(&d->facts, "INTERLACE_MODE");
	const struct fact *white = facts_find(&d->facts, "IMAGE_WHITE_IS_ZERO");
	enum verdict v = V_PASS;

	if (!text_is(facts_text(&d->facts, "CLASS"), "IMAGE") || d->rank > 4)
		return V_PASS;
	if (d->rank == 2)
		v = layout_set(l, d, 0, 1, -1, "IMAGE");
	else if (image_has_colour(d, subclass, interlace))
		v = fit_image_colour(d, l, interlace);
	/* some writers give grey stacks an interlace mode too */
	if (v == V_PASS && d->rank == 3 &&
	    !text_is(subclass, "IMAGE_TRUECOLOR"))
		v = layout_set(l, d, 1, 2, -1, "IMAGE");
	l->palette = v == V_PICTURES && l->c < 0 && desc_is_uint(d, 1) &&
		     text_is(subclass, "IMAGE_INDEXED") &&
		     facts_text(&d->facts, "PALETTE");
	l->invert =
		v == V_PICTURES && white && white->nnums && white->nums[0] == 1;
	return v;
}

/* ---- D3: names of axes ---- */
struct axis_names {
	unsigned count;		     /* may be more than are kept */
	char roles[LAYOUT_MAX_RANK]; /* 'y', 'x', 'c', 0 */
	char text[64];		     /* for people */
};

static void add_name(struct axis_names *a, const char *name, size_t len,
		     bool spaced)
{
	char word[AXIS_NAME_MAX + 1];
	size_t used = strlen(a->text);

	len = min_u64(len, AXIS_NAME_MAX);
	memcpy(word, name, len);
	word[len] = '\0';
	if (a->count < LAYOUT_MAX_RANK)
		a->roles[a->count] = name_axis_role(word);
	snprintf(a->text + used, sizeof(a->text) - used, "%s%s",
		 spaced && a->count ? " " : "", word);
	a->count++;
}

/* vigra: {"axes": [{"key": "y", ...}, ...]} */
static bool names_of_axistags(const char *json, struct axis_names *a)
{
	json_t *doc = json_loads(json, 0, NULL);
	json_t *axes = json_object_get(doc, "axes"), *axis;
	bool good = json_is_array(axes) && json_array_size(axes);
	size_t i;

	if (good) {
		json_array_foreach(axes, i, axis) {
			json_t *key = json_object_get(axis, "key");

			if (!json_is_string(key)) {
				good = false;
				break;
			}
			add_name(a, json_string_value(key),
				 json_string_length(key), false);
		}
	}
	json_decref(doc);
	if (!good)
		*a = (struct axis_names){ 0 };
	return good;
}

static bool all_letters(const char *s)
{
	while (isalpha((unsigned char)*s))
		s++;
	return !*s;
}

/* "TCYX", "y:theta:x", "time, lat, lon", "channels_first". */
static bool names_of_text(const char *s, unsigned rank, struct axis_names *a)
{
	static const struct {
		unsigned rank;
		const char *word, *axes;
	} words[] = {
		{ 4, "channels_first", "NCHW" },
		{ 4, "channels_last", "NHWC" },
		{ 3, "channels_first", "CHW" },
		{ 3, "channels_last", "HWC" },
	};
	bool known =
		!strcmp(s, "channels_first") || !strcmp(s, "channels_last");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].rank == rank && !strcmp(s, words[i].word)) {
			s = words[i].axes;
			known = false;
			break;
		}
	if (!*s || known)
		return false;
	if (all_letters(s) && strlen(s) == rank && rank >= 2) {
		for (; *s; s++)
			add_name(a, s, 1, false);
		return true;
	}
	for (;;) {
		size_t n = strcspn(s, ":, \t\r\n");

		add_name(a, s, n, true);
		s += n;
		if (!*s)
			return true;
		s += strspn(s, ":, \t\r\n");
	}
}

static bool names_of_list(const struct fact *f, struct axis_names *a)
{
	for (size_t i = 0; i < f->ntexts; i++)
		add_name(a, f->texts[i], strlen(f->texts[i]), true);
	return f->ntexts > 0;
}

/* Labels count only when every axis has one. */
static const struct fact *full_labels(const struct facts *facts)
{
	const struct fact *f = facts_find(facts, "DIMENSION_LABELS");

	for (size_t i = 0; f && i < f->ntexts; i++)
		if (!f->texts[i][0])
			return NULL;
	return f;
}

static bool find_names(const struct desc *d, struct axis_names *a)
{
	static const char *const attributes[] = {
		"_ARRAY_DIMENSIONS", "axes",	   "dims",   "dimension_order",
		"data_format",	     "dataformat", "layout", "image_layout",
	};
	const char *tags = facts_text(&d->facts, "axistags");
	const struct fact *f = full_labels(&d->facts);

	if (tags && names_of_axistags(tags, a))
		return true;
	if (f && names_of_list(f, a))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		f = facts_find(&d->facts, attributes[i]);
		if (!f || !f->ntexts)
			continue;
		if (f->ntexts == 1 ? names_of_text(f->texts[0], d->rank, a)
				   : names_of_list(f, a))
			return true;
	}
	return false;
}

/* T3's axis has no name in the file, and is the channel. */
static bool names_fit(const struct desc *d, struct axis_names *a)
{
	if (d->sub == SUB_COMPOUND && a->count == d->stored_rank)
		add_name(a, "c", 1, true);
	return a->count == d->rank;
}

/* Where the one axis of this role is, or -1. */
static int sole_role(const char *roles, unsigned n, char role)
{
	int at = -1;

	for (unsigned i = 0; i < n; i++) {
		if (roles[i] != role)
			continue;
		if (at >= 0)
			return -1;
		at = (int)i;
	}
	return at;
}

static bool has_plane(const struct desc *d, const char *roles)
{
	int y = sole_role(roles, d->rank, 'y'),
	    x = sole_role(roles, d->rank, 'x');

	return y >= 0 && x >= 0;
}

static enum verdict fit_named(const struct question *q, struct layout *l,
			      const struct axis_names *a)
{
	const struct desc *d = q->d;
	int y = sole_role(a->roles, d->rank, 'y');
	int x = sole_role(a->roles, d->rank, 'x');

	if (y < 0 || x < 0 || d->dims[y] < MIN_NAMED_SIDE ||
	    d->dims[x] < MIN_NAMED_SIDE)
		return V_NOT;
	return layout_set_roles(l, q, a->roles, a->text);
}

enum verdict fit_d3_axes(const struct question *q, struct layout *l)
{
	struct axis_names a = { 0 };

	if (!find_names(q->d, &a) || !names_fit(q->d, &a))
		return V_PASS;
	return fit_named(q, l, &a);
}

/* ---- D4: netCDF dimension scales ---- */
enum verdict fit_d4_scales(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	struct axis_names a = { 0 };
	bool all = true;

	if (!d->has_scales)
		return V_PASS;
	for (unsigned i = 0; i < d->stored_rank; i++) {
		const char *name = d->scale[i] ? d->scale[i] : "";

		add_name(&a, name, strlen(name), true);
		all = all && *name;
	}
	if (!names_fit(d, &a))
		return V_PASS;
	if (!has_plane(d, a.roles))
		return all ? V_NOT : V_PASS;
	return fit_named(q, l, &a);
}

/* ---- D5: NeXus ---- */
enum verdict fit_d5_nexus(const struct question *q, struct layout *l)
{
	static const char *const others[] = { "scalar", "scaler", "spectrum",
					      "vertex" };
	const struct desc *d = q->d;
	const char *how = facts_text(&d->facts, "interpretation");
	int n = (int)d->rank;

	if (!how)
		return V_PASS;
	if (text_is(how, "image"))
		return layout_set(l, d, n - 2, n - 1, -1,
				  n == 2   ? "HW"
				  : n == 3 ? "NHW"
					   : "...HW");
	if ((text_is(how, "rgb-image") || text_is(how, "rgba-image")) &&
	    n >= 3 && is_colour_count(d->dims[n - 1]))
		return layout_set(l, d, n - 3, n - 2, n - 1,
				  n == 3   ? "HWC"
				  : n == 4 ? "NHWC"
					   : "...HWC");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (text_is(how, others[i]))
			return V_NOT;
	return V_PASS;
}

/* ---- D6: Neurodata Without Borders ---- */
static bool one_of(const char *text, const char *const *words)
{
	for (; text && *words; words++)
		if (!strcmp(text, *words))
			return true;
	return false;
}

enum verdict fit_d6_nwb(const struct question *q, struct layout *l)
{
	static const char *const pictures[] = { "GrayscaleImage", "RGBImage",
						"RGBAImage", NULL };
	static const char *const series[] = { "TwoPhotonSeries",
					      "OnePhotonSeries", "ImageSeries",
					      NULL };
	const struct desc *d = q->d;
	const char *own = facts_text(&d->facts, "neurodata_type");
	const char *parent = NULL;

	if (!strcmp(d->name, "data"))
		parent = facts_text(&q->g->facts, "neurodata_type");
	if (one_of(own, pictures) && d->rank == 2)
		return layout_set(l, d, 0, 1, -1, "HW");
	if (one_of(own, pictures) && d->rank == 3 &&
	    is_colour_count(d->dims[2]))
		return layout_set(l, d, 0, 1, 2, "HWC");
	if (!parent)
		return V_PASS;
	if (!one_of(parent, series) || d->rank < 3)
		return V_NOT;
	if (d->rank == 4 && is_colour_count(d->dims[3]))
		return layout_set(l, d, 1, 2, 3, "NHWC");
	return layout_set(l, d, 1, 2, -1, d->rank == 3 ? "NHW" : "NHW...");
}
