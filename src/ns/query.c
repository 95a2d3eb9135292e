/* SPDX-License-Identifier: MIT */
/* query.c - @EXPR/: symbolic links to the children whose attributes satisfy it.
 *
 *   expr := term { "," term }              all must hold
 *   term := NAME op VALUE | NAME | "!" NAME
 *   op   := "=" | "==" | "!=" | "<" | "<=" | ">" | ">="
 *
 * Numbers are compared as numbers, all else as text. A value with a slash in it
 * is written %2F. */
#include <math.h>
#include <stdio.h>

#include "ns_int.h"

#define MAX_TERMS 16

enum op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_HAS, OP_HAS_NOT };
struct term {
	char *name, *value;
	enum op op;
};
struct expr {
	unsigned n;
	struct term terms[MAX_TERMS];
};

static void expr_done(struct expr *e)
{
	for (unsigned i = 0; i < e->n; i++) {
		free(e->terms[i].name);
		free(e->terms[i].value);
	}
}

/* Longest first: "<=" before "<". */
static const struct {
	const char *text;
	enum op op;
} ops[] = {
	{ "!=", OP_NE }, { "<=", OP_LE }, { ">=", OP_GE }, { "==", OP_EQ },
	{ "=", OP_EQ },	 { "<", OP_LT },  { ">", OP_GT },
};

static int parse_term(const char *text, size_t n, struct expr *e)
{
	CLEANUP(freep) char *s = strndup(text, n);
	struct term *t = &e->terms[e->n];
	size_t at;

	if (!s)
		return -ENOMEM;
	if (e->n == MAX_TERMS || !*s)
		return -ENOENT;
	at = strcspn(s, "=<>");
	if (at && s[at] == '=' && s[at - 1] == '!')
		at--;
	if (!s[at]) {
		t->op = *s == '!' ? OP_HAS_NOT : OP_HAS;
		t->name = name_stored(*s == '!' ? s + 1 : s);
		t->value = strdup("");
	} else {
		size_t k = 0;

		while (strncmp(s + at, ops[k].text, strlen(ops[k].text)))
			k++; /* "=", "<" or ">" is there */
		t->op = ops[k].op;
		t->value = name_stored(s + at + strlen(ops[k].text));
		s[at] = 0;
		t->name = name_stored(s);
	}
	e->n++;
	if (!t->name || !t->value)
		return -ENOMEM;
	return *t->name ? 0 : -ENOENT;
}

static int parse(const char *text, struct expr *e)
{
	for (;;) {
		size_t n = strcspn(text, ",");
		int r = parse_term(text, n, e);

		if (r < 0)
			return r;
		if (!text[n])
			return 0;
		text += n + 1;
	}
}

static bool as_number(const char *s, double *ret)
{
	char *end;

	*ret = strtod(s, &end);
	return end != s && !*end;
}

static bool holds(const struct term *t, const char *value)
{
	double a, b;
	int cmp;

	if (as_number(value, &a) && as_number(t->value, &b)) {
		if (isnan(a) || isnan(b))
			return t->op == OP_NE;
		cmp = a < b ? -1 : a > b;
	} else {
		cmp = strcmp(value, t->value);
	}
	switch (t->op) {
	case OP_EQ:
		return cmp == 0;
	case OP_NE:
		return cmp != 0;
	case OP_LT:
		return cmp < 0;
	case OP_LE:
		return cmp <= 0;
	case OP_GT:
		return cmp > 0;
	default:
		return cmp >= 0;
	}
}

static int satisfies(struct object *o, const struct expr *e, bool *ret)
{
	*ret = false;
	for (unsigned i = 0; i < e->n; i++) {
		const struct term *t = &e->terms[i];
		CLEANUP(array_freep) struct array *a = NULL;
		struct strbuf text = STRBUF_INIT;
		bool ok;
		int r = store_attr(o->gen->store, o->info.id, t->name, &a);

		if (r < 0 && r != -ENODATA && r != -EIO && r != -EFBIG)
			return r;
		if (t->op == OP_HAS || t->op == OP_HAS_NOT) {
			ok = (r == 0) == (t->op == OP_HAS);
		} else {
			ok = r == 0 && text_of_array(a, &text) == 0 &&
			     holds(t, text.len ? text.buf : "");
			strbuf_done(&text);
		}
		if (!ok)
			return 0;
	}
	*ret = true;
	return 0;
}

static int add_link(struct ephemeral *q, size_t *cap, const char *name)
{
	struct entry *l;

	if (q->nlinks == *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		struct entry *grown = realloc(q->links, more * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		q->links = grown;
		*cap = more;
	}
	l = &q->links[q->nlinks];
	memset(l, 0, sizeof(*l));
	l->name = strdup(name);
	if (!l->name || asprintf(&l->target, "../%s", name) < 0) {
		free(l->name);
		return -ENOMEM;
	}
	q->nlinks++;
	return 0;
}

int query_run(struct object *g, const char *expr, struct ephemeral *ret)
{
	CLEANUP(expr_done) struct expr e = { 0 };
	struct object *last = NULL;
	bool last_ok = false;
	size_t cap = 0;
	int r = parse(expr, &e);

	for (size_t i = 0; r == 0 && i < g->group->nentries; i++) {
		const struct entry *en = &g->group->entries[i];
		struct object *o = en->target ? en->to : en->object;

		if (!o)
			continue;
		if (o != last) { /* several entries of one dataset */
			r = satisfies(o, &e, &last_ok);
			last = o;
		}
		if (r == 0 && last_ok)
			r = add_link(ret, &cap, en->name);
	}
	return r;
}
