/* SPDX-License-Identifier: MIT */
/* layout_spec.c - rule R1: what the user, or the dataset itself, says outright.
 *
 * SPEC is items joined by ',' or '+': axis letters, none, flat:HxW[xC],
 * transpose, flipv, bgr, bands=A,B,C, norm=sample|dataset, orient=raw. */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "image_int.h"

#define ITEM_MAX 63

typedef const char *spec_item(struct layout_spec *s, const char *value);

static bool parse_u32(const char **pos, uint32_t *ret_n)
{
	uint64_t n = 0;
	const char *p = *pos;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++) {
		n = n * 10 + (uint64_t)(*p - '0');
		if (n > INT32_MAX)
			return false;
	}
	*pos = p;
	*ret_n = (uint32_t)n;
	return true;
}

static const char *set_none(struct layout_spec *s, const char *value)
{
	s->none = true;
	return NULL;
}

static const char *set_transpose(struct layout_spec *s, const char *value)
{
	s->transpose = true;
	return NULL;
}

static const char *set_flipv(struct layout_spec *s, const char *value)
{
	s->flipv = true;
	return NULL;
}

static const char *set_bgr(struct layout_spec *s, const char *value)
{
	s->bgr = true;
	return NULL;
}

static const char *set_norm(struct layout_spec *s, const char *value)
{
	if (strcmp(value, "sample") != 0 && strcmp(value, "dataset") != 0)
		return "norm= is sample or dataset";
	s->norm_sample = !strcmp(value, "sample");
	return NULL;
}

static const char *set_orient(struct layout_spec *s, const char *value)
{
	if (strcmp(value, "raw") != 0)
		return "orient= can only be raw";
	s->raw = true;
	return NULL;
}

static const char *set_flat(struct layout_spec *s, const char *value)
{
	static const char why[] =
		"flat: wants HxW or HxWx3, such as flat:28x28";
	uint32_t h, w, c = 1;

	if (!parse_u32(&value, &h) || *value++ != 'x' || !parse_u32(&value, &w))
		return why;
	if (*value == 'x') {
		value++;
		if (!parse_u32(&value, &c))
			return why;
	}
	if (*value || !h || !w || (c != 1 && c != 3 && c != 4))
		return why;
	if (s->naxes || s->flat_h)
		return "only one of axes and flat: can be given";
	s->flat_h = h;
	s->flat_w = w;
	s->flat_c = c;
	return NULL;
}

static const char *add_band(struct layout_spec *s, const char *value)
{
	uint32_t band;

	if (s->nbands == ARRAY_SIZE(s->bands) || !parse_u32(&value, &band) ||
	    *value)
		return "bands= wants 1, 3 or 4 numbers, such as bands=2,1,0";
	s->bands[s->nbands++] = band;
	return NULL;
}

static const char *set_bands(struct layout_spec *s, const char *value)
{
	s->nbands = 0;
	return add_band(s, value);
}

static const struct {
	const char *name; /* ending in = or : takes a value */
	spec_item *set;
} spec_items[] = {
	{ "none", set_none },	{ "transpose", set_transpose },
	{ "flipv", set_flipv }, { "bgr", set_bgr },
	{ "norm=", set_norm },	{ "orient=", set_orient },
	{ "flat:", set_flat },	{ "bands=", set_bands },
};

static const char *set_axes(struct layout_spec *s, const char *item)
{
	unsigned y = 0, x = 0, c = 0, n = 0;

	if (s->naxes || s->flat_h)
		return "only one of axes and flat: can be given";
	for (; item[n]; n++) {
		char letter = (char)toupper((unsigned char)item[n]);

		if (!strchr("NTZBHYWXC", letter) || n == LAYOUT_MAX_RANK)
			return "axes are letters of N T Z B H Y W X C, or an "
			       "item has a wrong name";
		letter = letter == 'Y' ? 'H' : letter == 'X' ? 'W' : letter;
		y += letter == 'H';
		x += letter == 'W';
		c += letter == 'C';
		s->axes[n] = letter;
	}
	if (y != 1 || x != 1 || c > 1)
		return "axes need one H (or Y), one W (or X) and at most one C";
	s->axes[n] = '\0';
	s->naxes = n;
	return NULL;
}

static const char *set_item(struct layout_spec *s, const char *item,
			    bool in_bands)
{
	if (!*item)
		return "an item is empty";
	if (in_bands && isdigit((unsigned char)*item))
		return add_band(s, item);
	for (size_t i = 0; i < ARRAY_SIZE(spec_items); i++) {
		const char *name = spec_items[i].name;
		size_t n = strlen(name);
		bool valued = name[n - 1] == '=' || name[n - 1] == ':';

		if (valued ? !strncmp(item, name, n) : !strcmp(item, name))
			return spec_items[i].set(s, item + n);
	}
	return set_axes(s, item);
}

/* With bands= a single B is the channel axis that they are picked from. */
static const char *check_whole(struct layout_spec *s)
{
	char *b = strchr(s->axes, 'B');

	if (s->none && (s->naxes || s->flat_h || s->nbands || s->transpose ||
			s->flipv || s->bgr || s->raw || s->norm_sample))
		return "none stands alone";
	if (!s->nbands)
		return NULL;
	if (s->nbands == 2)
		return "bands= wants 1, 3 or 4 numbers, such as bands=2,1,0";
	if (s->flat_h)
		return "bands= and flat: do not go together";
	if (!s->naxes || strchr(s->axes, 'C'))
		return NULL;
	if (!b || strchr(b + 1, 'B'))
		return "bands= picks from an axis C, and the axes have none";
	*b = 'C';
	return NULL;
}

int layout_spec_parse(const char *text, struct layout_spec *ret_spec,
		      const char **ret_why)
{
	struct layout_spec s = { 0 };
	const char *why = NULL;
	bool in_bands = false;
	char item[ITEM_MAX + 1];

	if (*text == '+')
		text++;
	for (;;) {
		size_t n = strcspn(text, ",+");

		if (n > ITEM_MAX) {
			why = "an item is too long";
			break;
		}
		memcpy(item, text, n);
		item[n] = '\0';
		why = set_item(&s, item, in_bands);
		in_bands = !strncmp(item, "bands=", 6) ||
			   (in_bands && isdigit((unsigned char)*item));
		text += n;
		if (why || !*text)
			break;
		text++;
	}
	if (!why)
		why = check_whole(&s);
	if (why) {
		if (ret_why)
			*ret_why = why;
		return -EINVAL;
	}
	*ret_spec = s;
	return 0;
}

int layout_check_spec(const char *spec, const char **ret_why)
{
	struct layout_spec s;

	return layout_spec_parse(spec, &s, ret_why);
}

/* A SPEC that does not fit: an answer when the user gave it, else no rule. */
static enum verdict no_fit(const struct question *q, struct layout *l,
			   const char *why)
{
	if (!q->spec_of_user)
		return V_PASS;
	snprintf(l->why, sizeof(l->why), "%s", why);
	return V_NOT;
}

static bool bands_fit(const struct layout_spec *s, uint64_t channels)
{
	for (unsigned i = 0; i < s->nbands; i++)
		if (s->bands[i] >= channels)
			return false;
	return true;
}

static void set_picked_bands(struct layout *l, const struct layout_spec *s)
{
	l->nbands = s->nbands;
	memcpy(l->bands, s->bands, sizeof(l->bands));
}

static enum verdict fit_axes(const struct question *q, struct layout *l)
{
	const struct layout_spec *s = q->spec;
	const struct desc *d = q->d;
	char roles[LAYOUT_MAX_RANK];
	char why[100];

	if (s->naxes != d->rank) {
		snprintf(why, sizeof(why),
			 "layout= names %u axes, the dataset has %u", s->naxes,
			 d->rank);
		return no_fit(q, l, why);
	}
	for (unsigned i = 0; i < d->rank; i++) {
		const char *at = strchr("HyWxCc", s->axes[i]);

		roles[i] = at ? at[1] : 0;
		if (roles[i] && !d->dims[i])
			return no_fit(q, l, "a picture axis has no elements");
		if (roles[i] == 'c' && !bands_fit(s, d->dims[i]))
			return no_fit(q, l,
				      "bands= names a channel that the "
				      "dataset has not");
	}
	if (s->nbands)
		set_picked_bands(l, s);
	return layout_set_roles(l, q, roles, s->axes);
}

static enum verdict fit_flat(const struct question *q, struct layout *l)
{
	const struct layout_spec *s = q->spec;
	const struct desc *d = q->d;
	uint64_t want = (uint64_t)s->flat_h * s->flat_w;
	char text[48];

	if (!d->rank || mul_overflow(want, s->flat_c, &want) ||
	    d->dims[d->rank - 1] != want)
		return no_fit(q, l,
			      "flat: does not give the last axis' length "
			      "(with channels: flat:28x28x3)");
	snprintf(text, sizeof(text),
		 s->flat_c > 1 ? "flat:%ux%ux%u" : "flat:%ux%u", s->flat_h,
		 s->flat_w, s->flat_c);
	layout_set(l, d, -1, (int)d->rank - 1, -1, text);
	l->flat_h = s->flat_h;
	l->flat_w = s->flat_w;
	l->flat_c = s->flat_c;
	return V_PICTURES;
}

enum verdict fit_r1_explicit(const struct question *q, struct layout *l)
{
	const struct layout_spec *s = q->spec;

	if (q->spec_error)
		return no_fit(q, l, q->spec_error);
	if (!s)
		return V_PASS;
	if (s->none)
		return V_NOT;
	if (!s->naxes && !s->flat_h)
		return V_PASS;
	if (q->d->kind != DESC_NUMBER || q->d->num_size > 8)
		return no_fit(q, l, "its elements are not numbers");
	return s->flat_h ? fit_flat(q, l) : fit_axes(q, l);
}

void layout_spec_pick_bands(const struct layout_spec *s, const struct desc *d,
			    struct layout *l)
{
	struct layout hwc = { 0 };
	int n = (int)d->rank;

	if (!s->nbands || s->naxes || l->kind == LAYOUT_ENCODED)
		return;
	if (l->kind == LAYOUT_PICTURES && l->c >= 0 &&
	    bands_fit(s, d->dims[l->c])) {
		set_picked_bands(l, s);
		return;
	}
	if (d->kind != DESC_NUMBER || d->num_size > 8 || n < 3 ||
	    !bands_fit(s, d->dims[n - 1]) || !d->dims[n - 3] ||
	    !d->dims[n - 2]) {
		*l = (struct layout){ .y = -1, .x = -1, .c = -1 };
		snprintf(l->why, sizeof(l->why),
			 "bands= names a channel that "
			 "the dataset has not");
	} else {
		snprintf(hwc.why, sizeof(hwc.why), "bands= of the last axis");
		layout_set(&hwc, d, n - 3, n - 2, n - 1,
			   n == 3   ? "HWC"
			   : n == 4 ? "NHWC"
				    : "...HWC");
		*l = hwc;
		set_picked_bands(l, s);
		l->kind = LAYOUT_PICTURES;
	}
	snprintf(l->rule, sizeof(l->rule), "R1");
}

void layout_spec_modify(const struct layout_spec *s, struct layout *l)
{
	if (l->kind != LAYOUT_PICTURES)
		return;
	/* The axes the user gave are in the user's order already. */
	if (s->raw && !s->naxes && l->y > l->x) {
		int y = l->y;

		l->y = l->x;
		l->x = y;
	}
	if (s->transpose) { /* inside a flat axis there is nothing to swap */
		int y = l->y;

		if (l->y >= 0) {
			l->y = l->x;
			l->x = y;
		}
		l->transposed = true;
	}
	if (s->flipv)
		l->flip_y = !l->flip_y;
	l->bgr = s->bgr;
	l->norm_sample = s->norm_sample;
}
