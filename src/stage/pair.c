/* SPDX-License-Identifier: MIT */
/* pair.c - which row a file belongs to. A row is known by its class, or none, and
 * by the name without suffix: an image and its mask are one row because they are
 * called the same. */
#include "stage_int.h"

struct candidates {
	struct row *same,
		*other; /* one each: of the class, of another or none */
	size_t nsame, nother;
	struct strbuf classes; /* of all, for people */
};

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool waits(const struct row *r, uint32_t member, uint64_t batch_rows)
{
	return !r->busy && !r->done && !row_value(r, member) &&
	       (batch_rows ? r->batch && r->nrows == batch_rows : !r->batch);
}

static void consider(struct candidates *c, const char *class_name,
		     struct row *r)
{
	if (same_text(r->class_name, class_name)) {
		c->same = r;
		c->nsame++;
	} else if (!class_name || !r->class_name) {
		c->other = r;
		c->nother++;
	} else {
		return;
	}
	strbuf_puts(&c->classes, c->classes.len ? ", " : "");
	strbuf_puts(&c->classes, r->class_name ? r->class_name : "none");
}

static void collect(const struct row_set *set, const struct stage_place *place,
		    uint32_t member, const struct row *self,
		    uint64_t batch_rows, struct candidates *c)
{
	struct row key = { .stem = (char *)place->stem };
	struct sorted_node *n = sorted_from(&set->stems, &key);

	while (n) {
		struct row *r = container_of(n, struct row, by_stem);

		if (strcmp(r->stem, place->stem) != 0)
			return;
		if (r != self && waits(r, member, batch_rows))
			consider(c, place->class_name, r);
		n = sorted_after(&set->stems, r);
	}
}

static int refuse(const struct candidates *c, const char *member,
		  const struct stage_place *place, struct refusal *f)
{
	CLEANUP(strbuf_done) struct strbuf remedy = STRBUF_INIT;

	if (c->nsame > 1)
		strbuf_puts(&remedy, "give each file a name of its own");
	else
		strbuf_printf(&remedy,
			      "copy it into %s.by-class/CLASS/ of its class",
			      member);
	return refusal_set(
		f, -EINVAL, remedy.buf,
		"%zu staged rows called %s wait for %s (classes: %s)",
		c->nsame + c->nother, place->stem, member,
		c->classes.buf ? c->classes.buf : "");
}

int pair_find(const struct row_set *set, const struct stage_place *place,
	      uint32_t member, const struct row *self, uint64_t batch_rows,
	      struct row **ret_row, struct refusal *f)
{
	struct candidates c = { .classes = STRBUF_INIT };
	int r = 0;

	collect(set, place, member, self, batch_rows, &c);
	if (c.nsame == 1)
		*ret_row = c.same;
	else if (c.nsame > 1 || c.nother > 1)
		r = refuse(&c, set->members[member].name, place, f);
	else
		*ret_row = c.other;
	strbuf_done(&c.classes);
	return r;
}
