/* SPDX-License-Identifier: MIT */
/* value_guess.c - texts of which nothing is known: typed by their JSON form. */
#include <jansson.h>

#include "accept_int.h"

static const struct guess {
	enum dtype_class class;
	uint32_t size;
} guesses[] = {
	/* from what holds least to what holds most */
	{ DT_BOOL, 1 },
	{ DT_INT, 8 },
	{ DT_FLOAT, 8 },
	{ DT_VLSTR, 8 },
};
enum { G_BOOL, G_INT, G_FLOAT, G_TEXT, G_NONE = -1 };

static int guess_of(json_t *j)
{
	return json_is_boolean(j)   ? G_BOOL
	       : json_is_integer(j) ? G_INT
	       : json_is_real(j)    ? G_FLOAT
	       : json_is_string(j)  ? G_TEXT
				    : G_NONE;
}

/* Numbers may be mixed, nothing else. */
static int both(int a, int b)
{
	if (a == b)
		return a;
	if ((a == G_INT && b == G_FLOAT) || (a == G_FLOAT && b == G_INT))
		return G_FLOAT;
	return G_NONE;
}

/* Of a rectangle of nested lists; the first row says its shape. */
static int guess_lists(json_t *j, unsigned depth, bool first, unsigned *rank,
		       uint64_t *dims)
{
	int g, all = G_NONE;

	if (!json_is_array(j)) {
		if (first)
			*rank = depth;
		return depth == *rank ? guess_of(j) : G_NONE;
	}
	if (depth == DT_MAX_RANK || !json_array_size(j))
		return G_NONE;
	if (first)
		dims[depth] = json_array_size(j);
	else if (depth >= *rank || json_array_size(j) != dims[depth])
		return G_NONE;
	for (size_t i = 0; i < json_array_size(j); i++) {
		g = guess_lists(json_array_get(j, i), depth + 1,
				first && i == 0, rank, dims);
		all = i ? both(all, g) : g;
		if (all == G_NONE)
			return G_NONE;
	}
	return all;
}

/* Valid RFC 3629. */
static bool is_utf8(const char *text, size_t n)
{
	CLEANUP(json_decrefp) json_t *j = json_stringn(text, n);

	return j;
}

static int guess_text(const char *text, size_t n, struct array **ret_value)
{
	bool whole = memchr(text, 0, n); /* a NUL in it */
	CLEANUP(dtype_freep) struct dtype *t = NULL;
	struct refusal f = { 0 };
	int r = dtype_new(whole ? DT_STRING : DT_VLSTR,
			  whole ? (uint32_t)n : sizeof(char *), &t);

	if (r < 0)
		return r;
	t->pad = PAD_NULLPAD;
	t->utf8 = is_utf8(text, n);
	r = value_parse(text, n, t, 0, NULL, ret_value, &f);
	refusal_done(&f);
	if (r == 0)
		(*ret_value)->own_type = TAKE(t);
	return r;
}

static int guess_as(const char *text, size_t n, const struct guess *g,
		    unsigned rank, const uint64_t *dims,
		    struct array **ret_value)
{
	CLEANUP(dtype_freep) struct dtype *t = NULL;
	struct refusal f = { 0 };
	int r = dtype_new(g->class, g->size, &t);

	if (r < 0)
		return r;
	t->utf8 = true;
	r = value_parse(text, n, t, rank, dims, ret_value, &f);
	refusal_done(&f);
	if (r == 0)
		(*ret_value)->own_type = TAKE(t);
	return r;
}

static bool is_natural(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return n > 0;
}

int value_guess(const char *text, size_t n, struct array **ret_value)
{
	static const struct guess natural = { DT_UINT, 8 };
	CLEANUP(json_decrefp)
	json_t *j = json_loadb(text, n, JSON_DECODE_ANY, NULL);
	uint64_t dims[DT_MAX_RANK];
	unsigned rank = 0;
	int r, g;

	if (n > VALUE_MAX)
		return -EFBIG;
	if (!j && is_natural(text, n)) {
		r = guess_as(text, n, &natural, 0, NULL, ret_value);
		return r == -EINVAL ? guess_text(text, n, ret_value) : r;
	}
	g = j ? guess_lists(j, 0, true, &rank, dims) : G_NONE;
	if (g == G_NONE || (g == G_TEXT && !rank))
		return guess_text(text, n, ret_value);
	return guess_as(text, n, &guesses[g], rank, dims, ret_value);
}
