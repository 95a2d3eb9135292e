/* SPDX-License-Identifier: MIT */
/* layout_structure.c - rules S1 to S6: nothing is declared, so shape, type and
 * name must agree. RULES 5 has the table and the reasons of its limits. */
#include <stdio.h>
#include <strings.h>

#include "image_int.h"

/* Axis i from the end: last(d, 1) is the last one's length. */
static uint64_t last(const struct desc *d, unsigned i)
{
	return d->dims[d->rank - i];
}

static bool is_one_or_three(uint64_t n)
{
	return n == 1 || n == 3;
}

/* u8, bool or u16: what is shown as it is, and needs the least proof. */
static bool is_exact(const struct desc *d)
{
	return desc_is_u8(d) || desc_is_uint(d, 2);
}

bool aspect_within(uint64_t a, uint64_t b, unsigned ratio)
{
	uint64_t lo = min_u64(a, b), hi = max_u64(a, b);

	if (!lo || mul_overflow(hi, 10, &hi))
		return false;
	return mul_overflow(lo, ratio, &lo) || hi <= lo;
}

/* Floats without a name must at least have the range of pictures. */
static bool has_picture_range(const struct question *q)
{
	struct layout_range r;

	if (norm_is_invertible(norm_stored(q->d)))
		return true;
	if (!q->probe || !q->probe->range ||
	    q->probe->range(q->d->arg, q->d, NULL, &r) < 0)
		return false;
	return (r.lo >= 0 && r.hi >= 0.5 && r.hi <= 1) ||
	       (r.lo >= -1 && r.lo <= -0.5 && r.hi >= 0.5 && r.hi <= 1) ||
	       (r.lo >= 0 && r.hi >= 128 && r.hi <= 255);
}

static bool is_onehot(const struct question *q, int axis)
{
	bool onehot;

	if (!q->probe || !q->probe->onehot || q->d->sub != SUB_NONE ||
	    !q->d->dims[0] || desc_is_float(q->d))
		return false;
	return q->probe->onehot(q->d->arg, q->d, axis, &onehot) == 0 && onehot;
}

/* ---- rank >= 4 ---- */
static bool has_channels(const struct question *q, uint64_t h, uint64_t w,
			 uint64_t c)
{
	const struct desc *d = q->d;
	uint64_t side = min_u64(h, w);

	if (!is_one_or_three(c))
		return false;
	if (desc_is_u8(d))
		return side >= 4;
	if (side < 16)
		return false;
	if (desc_is_uint(d, 2))
		return q->evidence >= 0;
	if (desc_is_integer(d) || q->evidence != 0)
		return q->evidence >= 1;
	/* (3,3,Cin,Cout) and the like: square, small, kernels */
	if (d->rank == 4 && d->dims[0] == d->dims[1] && d->dims[0] <= 11)
		return false;
	return side >= 32 && has_picture_range(q);
}

static enum verdict set_nested(const struct desc *d, struct layout *l, int y,
			       int x, int c, const char *four,
			       const char *picture)
{
	char axes[32];
	unsigned nindex = d->rank - (c < 0 ? 2 : 3);

	if (d->rank == 4)
		return layout_set(l, d, y, x, c, four);
	snprintf(axes, sizeof(axes), "[%u]%s", nindex, picture);
	return layout_set(l, d, y, x, c, axes);
}

enum verdict fit_s1_channels_last(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	int n = (int)d->rank;
	bool rgba;

	if (n < 4)
		return V_PASS;
	rgba = last(d, 1) == 4 && is_exact(d) && last(d, 2) >= 8 &&
	       last(d, 3) >= 8;
	if (!has_channels(q, last(d, 3), last(d, 2), last(d, 1)) &&
	    !(rgba && !is_onehot(q, -1)))
		return V_PASS;
	return set_nested(d, l, n - 3, n - 2, n - 1, "NHWC", "HWC");
}

enum verdict fit_s2_channels_first(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	int n = (int)d->rank;

	if (n < 4 || !has_channels(q, last(d, 2), last(d, 1), last(d, 3)))
		return V_PASS;
	return set_nested(d, l, n - 2, n - 1, n - 3, "NCHW", "CHW");
}

enum verdict fit_s3_count_last(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;

	if (d->rank != 4 || !desc_is_u8(d) || !is_one_or_three(d->dims[2]) ||
	    d->dims[0] < 8 || d->dims[0] != d->dims[1])
		return V_PASS;
	return layout_set(l, d, 0, 1, 2, "HWCN");
}

enum verdict fit_s4_nested(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	int n = (int)d->rank;

	if (n < 4 || min_u64(last(d, 1), last(d, 2)) < 16 ||
	    !aspect_within(last(d, 1), last(d, 2), 25) ||
	    (last(d, 3) == last(d, 2) && last(d, 2) != last(d, 1)))
		return V_PASS;
	if (q->evidence < (is_exact(d) ? 0 : 2))
		return V_PASS;
	return set_nested(d, l, n - 2, n - 1, -1, "NTHW", "HW");
}

/* ---- rank 3 ---- */
static bool grows(const struct desc *d, unsigned axis)
{
	return axis < d->stored_rank && d->maxdims[axis] > d->dims[axis];
}

static bool labels_count(const struct question *q, uint64_t n)
{
	return n &&
	       keyset_count(&q->siblings->labels, (uint64_t[4]){ n, 0, 0, 0 });
}

/* Is axis 0 known to count pictures? A growing grey stack passes through
 * (1,28,28) and (3,28,28). */
static bool is_stack(const struct question *q)
{
	const uint64_t *s = q->d->dims;

	return grows(q->d, 0) || labels_count(q, s[0]) ||
	       siblings_have_stack(q->siblings, s[0], s[1], s[2]);
}

static bool is_coordinates(const struct desc *d, uint32_t words)
{
	return d->kind == DESC_NUMBER && desc_is_float(d) && d->rank == 3 &&
	       words & W_POINTS &&
	       (d->dims[2] == 3 || d->dims[2] == 6 || d->dims[2] == 9);
}

/* Colours of the points that a sibling holds. */
static bool is_point_colours(const struct question *q)
{
	const uint64_t *s = q->d->dims;
	size_t n = keyset_count(&q->siblings->points,
				(uint64_t[4]){ s[0], s[1], 0, 0 });

	return n > is_coordinates(q->d, q->words);
}

enum verdict fit_s5a_hwc(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	const uint64_t *s = d->dims;
	uint64_t side = min_u64(s[0], s[1]);
	int ev = q->evidence;
	bool fits;

	if (d->rank != 3 || side < 8 || is_stack(q))
		return V_PASS;
	if (s[2] == 4)
		fits = is_exact(d) && ev >= 2 && !is_onehot(q, -1);
	else if (!is_one_or_three(s[2]) || is_point_colours(q))
		fits = false;
	else if (!is_exact(d))
		fits = ev >= 2 && side >= 16;
	else
		fits = ev >= 0 && !(s[2] == 3 && desc_is_u8(d) && ev < 2 &&
				    !aspect_within(s[0], s[1], 160));
	return fits ? layout_set(l, d, 0, 1, 2, "HWC") : V_PASS;
}

enum verdict fit_s5b_chw(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	const uint64_t *s = d->dims;
	uint64_t side;

	if (d->rank != 3 || !is_one_or_three(s[0]) || q->words & W_STACK)
		return V_PASS;
	side = min_u64(s[1], s[2]);
	if (side < 8 || is_stack(q))
		return V_PASS;
	if (is_exact(d) ? q->evidence < 0
			: !(desc_is_float(d) && q->evidence >= 2 && side >= 16))
		return V_PASS;
	return layout_set(l, d, 1, 2, 0, "CHW");
}

/* Which axis of (a,b,c) counts: true for the last, (H,W,N). */
static bool count_is_last(const struct question *q)
{
	const struct desc *d = q->d;
	const uint64_t *s = d->dims, *ch = d->chunk;
	bool chunked = d->stored_rank == 3 && ch[0];
	bool labels_first = labels_count(q, s[0]);
	bool labels_last = labels_count(q, s[2]);

	if (grows(d, 0))
		return false;
	if (grows(d, 2))
		return true;
	if (chunked && ch[0] == 1 && ch[1] > 1 && ch[2] > 1)
		return false;
	if (chunked && ch[2] == 1 && ch[0] > 1 && ch[1] > 1)
		return true;
	if (labels_first != labels_last)
		return labels_last;
	if (s[1] == s[2])
		return false;
	if (s[0] == s[1])
		return true;
	return aspect_within(s[0], s[1], 25) && !aspect_within(s[1], s[2], 25);
}

static bool is_grey_stack(const struct question *q, uint64_t h, uint64_t w)
{
	const struct desc *d = q->d;
	int ev = q->evidence;

	if (min_u64(h, w) < (ev >= 2 ? 8 : 16))
		return false;
	if (is_exact(d))
		return ev >= 0 && !(desc_is_u8(d) && is_onehot(q, -1));
	if (ev >= 2)
		return true;
	return desc_is_float(d) && ev == 1 &&
	       (h == w || (min_u64(h, w) >= 64 && aspect_within(h, w, 20)));
}

enum verdict fit_s5c_stack(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	const uint64_t *s = d->dims;

	if (d->rank != 3 || is_one_or_three(s[2]) ||
	    (s[2] == 4 && !(desc_is_float(d) && q->evidence >= 2)))
		return V_PASS;
	if (min_u64(s[1], s[2]) < 8 && !(s[0] == s[1] && s[0] >= 16))
		return V_PASS;
	if (count_is_last(q))
		return is_grey_stack(q, s[0], s[1])
			       ? layout_set(l, d, 0, 1, -1, "HWN")
			       : V_PASS;
	return is_grey_stack(q, s[1], s[2]) ? layout_set(l, d, 1, 2, -1, "NHW")
					    : V_PASS;
}

/* ---- rank 2: a matrix, unless its name says one picture ---- */
enum verdict fit_s6_single(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	bool numbered = q->parent_words & (W_STRONG | W_SUPER) &&
			strpbrk(d->name, "0123456789");

	if (d->rank != 2 || min_u64(d->dims[0], d->dims[1]) < 8 ||
	    !aspect_within(d->dims[0], d->dims[1], 80) || q->words & W_NEG)
		return V_PASS;
	if (!numbered && !(q->words & W_SINGULAR) &&
	    !layout_has_image_suffix(d->name))
		return V_PASS;
	return layout_set(l, d, 0, 1, -1, "HW");
}
