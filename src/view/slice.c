/* SPDX-License-Identifier: MIT */
/* slice.c - NumPy's basic slicing as text: "100:105,:,::2", "-1,...,::-1". */
#include <ctype.h>

#include "view_int.h"

struct item {
	enum { ITEM_INDEX, ITEM_SLICE, ITEM_ELLIPSIS } kind;
	bool has[3]; /* start, stop, step */
	int64_t num[3];
};

static const char *skip_space(const char *s)
{
	while (*s == ' ')
		s++;
	return s;
}

/* A number too large for 64 bits stays at the limit: slices clip anyway, and an
 * integer there is out of range. */
static bool parse_number(const char **s, int64_t *ret_num)
{
	const char *p = *s;
	bool minus = *p == '-';
	uint64_t v = 0;

	if (*p == '-' || *p == '+')
		p++;
	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++)
		if (mul_overflow(v, 10, &v) || add_overflow(v, *p - '0', &v) ||
		    v > INT64_MAX)
			v = INT64_MAX;
	*ret_num = minus ? -(int64_t)v : (int64_t)v;
	*s = p;
	return true;
}

static int parse_item(const char **s, struct item *it)
{
	const char *p = skip_space(*s);
	unsigned part = 0;

	memset(it, 0, sizeof(*it));
	if (!strncmp(p, "...", 3)) {
		it->kind = ITEM_ELLIPSIS;
		*s = skip_space(p + 3);
		return 0;
	}
	for (;; part++) {
		p = skip_space(p);
		it->has[part] = parse_number(&p, &it->num[part]);
		p = skip_space(p);
		if (*p != ':')
			break;
		if (part == 2)
			return -ENOENT;
		it->kind = ITEM_SLICE;
		p++;
	}
	*s = p;
	return it->kind == ITEM_SLICE || it->has[0] ? 0 : -ENOENT;
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* Python's slice.indices(n). */
static int apply_slice(const struct item *it, int64_t n, unsigned k,
		       struct slice *sl)
{
	int64_t step = it->has[2] ? it->num[2] : 1;
	int64_t lo = step < 0 ? -1 : 0, hi = step < 0 ? n - 1 : n;
	int64_t start = step < 0 ? hi : lo, stop = step < 0 ? lo : hi;
	int64_t count = 0;

	if (!step)
		return -ENOENT;
	if (it->has[0])
		start = clamp(it->num[0] < 0 ? it->num[0] + n : it->num[0], lo,
			      hi);
	if (it->has[1])
		stop = clamp(it->num[1] < 0 ? it->num[1] + n : it->num[1], lo,
			     hi);
	if (step > 0 && start < stop)
		count = (stop - start - 1) / step + 1;
	else if (step < 0 && stop < start)
		count = (start - stop - 1) / -step + 1;
	sl->count[k] = count;
	sl->step[k] = count > 1 ? (uint64_t)(step < 0 ? -step : step) : 1;
	sl->reverse[k] = step < 0 && count > 1;
	if (sl->reverse[k])
		start += (count - 1) * step;
	sl->start[k] = count ? start : 0;
	return 0;
}

static int apply_index(const struct item *it, int64_t n, unsigned k,
		       struct slice *sl)
{
	int64_t i = it->num[0] < 0 ? it->num[0] + n : it->num[0];

	if (i < 0 || i >= n)
		return -ENOENT;
	sl->start[k] = i;
	sl->count[k] = sl->step[k] = 1;
	sl->drop[k] = true;
	return 0;
}

static int parse_items(const char *text, struct item *items, unsigned *ret_n)
{
	unsigned n = 0;
	int r;

	if (!strcmp(text, "()")) {
		*ret_n = 0;
		return 0;
	}
	for (;; text++) {
		if (n == DT_MAX_RANK + 1)
			return -ENOENT;
		r = parse_item(&text, &items[n++]);
		if (r < 0)
			return r;
		if (!*text)
			break;
		if (*text != ',')
			return -ENOENT;
	}
	*ret_n = n;
	return 0;
}

int slice_parse(const char *text, unsigned rank, const uint64_t *dims,
		struct slice *ret_slice)
{
	static const struct item all = { .kind = ITEM_SLICE };
	struct item items[DT_MAX_RANK + 1];
	struct slice sl = { .rank = rank };
	unsigned n, k = 0, given = 0, ellipses = 0;
	int r = parse_items(text, items, &n);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < n; i++)
		if (items[i].kind == ITEM_ELLIPSIS)
			ellipses++;
		else
			given++;
	if (ellipses > 1 || given > rank || rank > DT_MAX_RANK)
		return -ENOENT;
	for (unsigned i = 0; i < rank; i++)
		if (dims[i] > INT64_MAX)
			return -ENOENT;
	for (unsigned i = 0; i < n; i++) {
		const struct item *it = &items[i];

		if (it->kind == ITEM_ELLIPSIS)
			for (unsigned j = given; j < rank; j++, k++)
				(void)apply_slice(&all, dims[k], k, &sl);
		else {
			r = it->kind == ITEM_INDEX
				    ? apply_index(it, dims[k], k, &sl)
				    : apply_slice(it, dims[k], k, &sl);
			if (r < 0)
				return r;
			k++;
		}
	}
	for (; k < rank; k++)
		(void)apply_slice(&all, dims[k], k, &sl);
	*ret_slice = sl;
	return 0;
}
