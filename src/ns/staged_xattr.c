/* SPDX-License-Identifier: MIT */
/* staged_xattr.c - attributes of a staged file: the values that its row has, and
 * what it waits for; and values are set. */
#include "write_int.h"

static int put_missing(struct ns *ns, const struct set_desc *d, uint64_t row,
		       struct strbuf *out)
{
	for (unsigned i = 0; i < d->set.nmembers; i++) {
		CLEANUP(blob_unrefp) struct blob *b = NULL;
		int r = stage_row_value(ns->stage, row, d->set.members[i].path,
					&b);

		if (r == -ENODATA)
			strbuf_printf(out, "%s%s", out->len ? ", " : "",
				      d->set.members[i].name);
		else if (r < 0)
			return r;
	}
	if (!out->len)
		strbuf_puts(out, "complete");
	return strbuf_error(out);
}

static int put_member(struct ns *ns, const struct set_desc *d, unsigned i,
		      uint64_t row, struct strbuf *out)
{
	const struct stage_member *m = &d->set.members[i];
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	CLEANUP(array_freep) struct array *a = NULL;
	uint64_t one = stage_row_bytes(m);
	int r;

	if (m->rank > 2)
		return -ENODATA;
	r = stage_row_value(ns->stage, row, m->path, &b);
	if (r < 0)
		return r;
	if (one && b->size != one) /* a batch: each row has its own */
		return -ENODATA;
	r = row_array(m->type, m->rank, m->dims, m->axis, 1, b->data, b->size,
		      &a);
	if (r < 0)
		return r;
	a->rank--;
	memmove(a->dims, a->dims + 1, a->rank * sizeof(*a->dims));
	return text_of_array(a, out);
}

static int find_member(const struct set_desc *d, const char *name)
{
	for (unsigned i = 0; i < d->set.nmembers; i++)
		if (!strcmp(d->set.members[i].name, name))
			return (int)i;
	return strcmp(name, "label") ? -1 : d->label;
}

/* The row of a file, with its set. -ENODATA: it has none yet. */
static int row_of(struct ns *ns, const struct pin *p, struct stage_file *sf,
		  struct set_ref **ret_set)
{
	CLEANUP(place_name_done) struct place_name pn = { 0 };
	struct refusal f = { 0 };
	int r = p->node.view == V_STAGED ? place_name_of(ns, p, &pn) : -ENODATA;

	if (r == 0)
		r = stage_find(ns->stage, pn.dir, pn.name, sf);
	if (r == 0)
		r = set_get(ns, pn.object, ret_set, &f);
	refusal_done(&f);
	return r == -ENOENT ? -ENODATA : r;
}

int staged_xattr(struct ns *ns, const struct pin *p, const char *name,
		 struct blob **ret_value)
{
	CLEANUP(stage_file_done) struct stage_file sf = { 0 };
	CLEANUP(set_putp) struct set_ref *set = NULL;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	int r = row_of(ns, p, &sf, &set), at;

	if (r < 0)
		return r;
	at = find_member(&set->d, name);
	if (!strcmp(name, "h5fs.staged"))
		r = put_missing(ns, &set->d, sf.row, &out);
	else if (!strcmp(name, "h5fs.path"))
		strbuf_puts(&out, sf.member);
	else if (at >= 0)
		r = put_member(ns, &set->d, (unsigned)at, sf.row, &out);
	else if (!strcmp(name, "class") && sf.class_name)
		strbuf_puts(&out, sf.class_name);
	else
		r = -ENODATA;
	return r < 0 ? r : strbuf_to_blob(&out, ret_value);
}

int staged_xattrs(struct ns *ns, const struct pin *p, struct strbuf *out)
{
	static const char *const own[] = { "h5fs.staged", "h5fs.path", "class",
					   "label" };
	CLEANUP(stage_file_done) struct stage_file sf = { 0 };
	CLEANUP(set_putp) struct set_ref *set = NULL;
	int r = row_of(ns, p, &sf, &set);

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	for (size_t i = 0; i < ARRAY_SIZE(own) + set->d.set.nmembers; i++) {
		CLEANUP(blob_unrefp) struct blob *b = NULL;
		const char *name =
			i < ARRAY_SIZE(own)
				? own[i]
				: set->d.set.members[i - ARRAY_SIZE(own)].name;

		if (i >= ARRAY_SIZE(own) &&
		    (!strcmp(name, "label") || !strcmp(name, "class")))
			continue;
		if (staged_xattr(ns, p, name, &b) < 0 || b->size > 65536)
			continue;
		strbuf_puts(out, "user.");
		strbuf_put(out, name, strlen(name) + 1);
	}
	return strbuf_error(out);
}

#define MAX_EARLY 256

/* Before there is a row it is kept with the file. */
static int put_early(struct open_file *f, const char *name, const char *text,
		     size_t n)
{
	struct early_value *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->name = strdup(name);
	e->text = strndup(text, n);
	e->n = n;
	if (!e->name || !e->text) {
		free(e->name);
		free(e->text);
		free(e);
		return -ENOMEM;
	}
	e->next = f->early;
	f->early = e;
	return 0;
}

static int set_early(struct ns *ns, struct open_file *f, const char *name,
		     const char *text, size_t n, struct refusal *refusal)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(set_putp) struct set_ref *set = NULL;
	unsigned count = 0;
	int r = f->at.kind == INTAKE_SAMPLE ? pin_path(ns, f->at.object, &p)
					    : -EOPNOTSUPP;

	for (struct early_value *e = f->early; e; e = e->next)
		count++;
	if (r == 0 && count == MAX_EARLY)
		r = -ENOSPC;
	if (r == 0)
		r = set_get(ns, p.object, &set, refusal);
	if (r == 0)
		r = row_check_text(&set->d, name, text, n, refusal);
	return r < 0 ? r : put_early(f, name, text, n);
}

int staged_setxattr(struct ns *ns, const struct pin *p, const char *name,
		    const char *text, size_t n, int flags, struct refusal *f)
{
	CLEANUP(place_name_done) struct place_name pn = { 0 };
	CLEANUP(stage_file_done) struct stage_file sf = { 0 };
	CLEANUP(set_putp) struct set_ref *set = NULL;
	struct open_file *file;
	int r = place_name_of(ns, p, &pn);

	(void)flags; /* a value may be there already: it is not committed */
	if (r < 0)
		return r;
	file = staged_seen(ns, &pn);
	if (file) {
		r = set_early(ns, file, name, text, n, f);
		staged_unsee(ns, file);
		return r;
	}
	r = row_of(ns, p, &sf, &set);
	if (r < 0)
		return r == -ENODATA ? -ESTALE : r;
	r = row_set_text(ns, &set->d, sf.row, name, text, n, f);
	if (r == 0) {
		ns_changed(ns, node_ino(p->node));
		ns_tell(ns);
	}
	return r;
}
