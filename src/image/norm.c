/* SPDX-License-Identifier: MIT */
/* norm.c - how values become pixels (RULES 7): one rule and one range for a
 * whole dataset, so that slices and frames can be compared. */
#include <math.h>

#include "image_int.h"

static const struct {
	const char *name;
	unsigned bits; /* 0: those of the number */
	bool invertible;
	bool minds_fill; /* others show every value as it is */
} norms[] = {
	[NORM_BINARY] = { "binary", 1, true, false },
	[NORM_BINARY_RGB] = { "binary-rgb", 8, true, false },
	[NORM_U8] = { "u8", 8, true, false },
	[NORM_U16] = { "u16", 16, true, false },
	[NORM_INVERTED] = { "inverted", 0, true, false },
	[NORM_RANGE] = { "range", 8, false, true },
	[NORM_INT_U8] = { "int-u8", 8, true, true },
	[NORM_INT_U16] = { "int-u16", 16, true, true },
	[NORM_INT_MINMAX] = { "int-minmax", 8, false, true },
	[NORM_FLOAT_UNIT] = { "float-unit", 8, true, true },
	[NORM_FLOAT_SIGNED] = { "float-signed", 8, true, true },
	[NORM_FLOAT_BYTE] = { "float-byte", 8, true, true },
	[NORM_FLOAT_WHOLE] = { "float-whole", 8, true, true },
	[NORM_FLOAT_MINMAX] = { "float-minmax", 8, false, true },
	[NORM_PALETTE] = { "palette", 8, true, false },
};

const char *norm_name(enum norm_kind k)
{
	return (size_t)k < ARRAY_SIZE(norms) ? norms[k].name : "";
}

bool norm_is_invertible(enum norm_kind k)
{
	return (size_t)k < ARRAY_SIZE(norms) && norms[k].invertible;
}

/* The kinds that only a look at the values tells apart. */
static bool is_by_values(enum norm_kind k, bool is_float)
{
	return is_float ? k >= NORM_FLOAT_UNIT && k <= NORM_FLOAT_MINMAX
			: k >= NORM_INT_U8 && k <= NORM_INT_MINMAX;
}

enum norm_kind norm_stored(const struct desc *d)
{
	const char *text = facts_text(&d->facts, "h5fs.norm");

	for (size_t k = 0; text && k < ARRAY_SIZE(norms); k++)
		if (!strcmp(norms[k].name, text) &&
		    is_by_values((enum norm_kind)k, desc_is_float(d)))
			return (enum norm_kind)k;
	return NORM_RANGE;
}

static bool set_range(struct norm *n, double lo, double hi)
{
	if (!isfinite(lo) || !isfinite(hi) || !(lo < hi))
		return false;
	n->kind = NORM_RANGE;
	n->lo = lo;
	n->hi = hi;
	return true;
}

static const struct fact *number_fact(const struct desc *d, const char *name,
				      size_t count)
{
	const struct fact *f = facts_find(&d->facts, name);

	return f && f->nnums == count ? f : NULL;
}

/* N3. The first attribute that is there decides, also when it says nothing. */
static bool declared_range(const struct desc *d, struct norm *n)
{
	static const char *const pairs[] = { "IMAGE_MINMAXRANGE", "valid_range",
					     "drange" };
	const struct fact *lo, *hi;

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		lo = number_fact(d, pairs[i], 2);
		if (lo)
			return set_range(n, lo->nums[0], lo->nums[1]);
	}
	lo = number_fact(d, "valid_min", 1);
	hi = number_fact(d, "valid_max", 1);
	return lo && hi && set_range(n, lo->nums[0], hi->nums[0]);
}

/* The rule that was written beside the first pictures that h5fs added: what came
 * later does not change how a picture looks. */
static bool stored_rule(const struct desc *d, struct norm *n)
{
	enum norm_kind k = norm_stored(d);
	const struct fact *range = number_fact(d, "h5fs.range", 2);

	if (k == NORM_RANGE)
		return false;
	if (k == NORM_INT_MINMAX || k == NORM_FLOAT_MINMAX) {
		if (!range || !isfinite(range->nums[0]) ||
		    !isfinite(range->nums[1]) ||
		    range->nums[0] > range->nums[1])
			return false;
		n->lo = range->nums[0];
		n->hi = range->nums[1];
	}
	n->kind = k;
	return true;
}

static bool is_declared_unsigned(const struct desc *d)
{
	const char *text = facts_text(&d->facts, "_Unsigned");

	return text && (!strcmp(text, "true") || !strcmp(text, "True"));
}

static bool is_logical(const struct desc *d)
{
	const char *class = facts_text(&d->facts, "MATLAB_class");

	return d->num == NUM_BOOL || d->matlab_logical ||
	       (class && !strcmp(class, "logical"));
}

static bool has_colour(const struct layout *l, const struct desc *d)
{
	struct layout_shape s;

	return layout_shape(l, d, &s) == 0 && s.channels > 1;
}

/* What needs no look at data: false when it does. */
static bool norm_by_type(const struct layout *l, const struct desc *d,
			 struct norm *n)
{
	bool as_unsigned = l->as_unsigned && d->num == NUM_INT;
	bool is_unsigned = d->num == NUM_UINT || as_unsigned;

	if (l->palette) {
		n->kind = NORM_PALETTE;
	} else if (l->has_range && set_range(n, l->range_lo, l->range_hi)) {
		n->packed = as_unsigned ||
			    (d->num == NUM_INT && is_declared_unsigned(d));
	} else if (is_logical(d)) {
		n->kind = has_colour(l, d) ? NORM_BINARY_RGB : NORM_BINARY;
	} else if (is_unsigned && d->num_size <= 2) {
		n->kind = l->invert	     ? NORM_INVERTED
			  : d->num_size == 1 ? NORM_U8
					     : NORM_U16;
	} else if (declared_range(d, n)) {
		n->packed = d->num == NUM_INT && is_declared_unsigned(d);
	} else if (l->norm_sample || !stored_rule(d, n)) {
		return false;
	}
	n->bits = norms[n->kind].bits ? norms[n->kind].bits : 8 * d->num_size;
	return true;
}

bool norm_needs_probe(const struct layout *l, const struct desc *d)
{
	struct norm n = { 0 };

	return !norm_by_type(l, d, &n);
}

unsigned norm_bits(const struct layout *l, const struct desc *d)
{
	struct norm n = { 0 };

	if (norm_by_type(l, d, &n))
		return n.bits;
	return desc_is_float(d) || l->norm_sample ? 8 : 0;
}

/* N4, N5 */
static enum norm_kind integer_kind(const struct layout_range *r)
{
	if (r->lo >= 0 && r->hi <= 255)
		return NORM_INT_U8;
	if (r->lo >= 0 && r->hi <= 65535)
		return NORM_INT_U16;
	return NORM_INT_MINMAX;
}

/* N8, N8w, N6, N7, N9, in the order they are tried. */
static enum norm_kind float_kind(const struct layout_range *r, bool mask)
{
	if (r->lo >= 0 && r->hi >= 128 && r->hi <= 255)
		return NORM_FLOAT_BYTE;
	if (r->whole && r->lo >= 0 && r->hi <= 255 && (r->hi >= 2 || mask))
		return NORM_FLOAT_WHOLE;
	if (r->lo >= 0 && r->hi >= 0.5 && r->hi <= 1)
		return NORM_FLOAT_UNIT;
	if (r->lo >= -1 && r->lo <= -0.5 && r->hi >= 0.5 && r->hi <= 1)
		return NORM_FLOAT_SIGNED;
	return NORM_FLOAT_MINMAX;
}

static int norm_by_range(const struct layout *l, const struct desc *d,
			 const struct layout_probe *probe, struct norm *n)
{
	enum norm_kind minmax =
		desc_is_float(d) ? NORM_FLOAT_MINMAX : NORM_INT_MINMAX;
	struct layout_range range;
	int r;

	r = probe->range(d->arg, d, n->has_fill ? &n->fill : NULL, &range);
	if (r < 0 && r != -ENODATA)
		return r;
	n->kind = minmax;
	n->empty = r == -ENODATA;
	if (!n->empty) {
		n->lo = range.lo;
		n->hi = range.hi;
		n->probed = !range.complete;
		if (!l->norm_sample)
			n->kind = desc_is_float(d)
					  ? float_kind(&range,
						       layout_is_mask_name(
							       d->name))
					  : integer_kind(&range);
	}
	n->bits = norms[n->kind].bits;
	return 0;
}

int norm_decide(const struct layout *l, const struct desc *d,
		const struct layout_probe *probe, struct norm *ret_norm)
{
	const struct fact *fill = facts_find(&d->facts, "_FillValue");
	struct norm n = { 0 };
	int r;

	if (l->kind != LAYOUT_PICTURES || d->kind != DESC_NUMBER)
		return -EINVAL;
	if (fill && fill->nnums) {
		n.has_fill = true;
		n.fill = fill->nums[0];
	}
	if (!norm_by_type(l, d, &n)) {
		r = norm_by_range(l, d, probe, &n);
		if (r < 0)
			return r;
	}
	if (!norms[n.kind].minds_fill)
		n.has_fill = false;
	*ret_norm = n;
	return 0;
}
