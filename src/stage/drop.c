/* SPDX-License-Identifier: MIT */
/* drop.c - what leaves the stage without being committed, and what holds it. */
#include "stage_int.h"

int stage_drop(struct stage *s, const char *dir, const char *name)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	LOCK_SCOPE(&s->lock);
	struct file *f = rows_file(s, dir, name);
	uint64_t unused;
	int r = 0;

	if (!f)
		return -ENOENT;
	if (f->row->busy)
		return -EBUSY;
	put_text(&head, dir);
	put_text(&head, name);
	/* The last one goes with the log, also where the disk is full. */
	if (s->nfiles > 1 || s->tops.root || s->doubt)
		r = stage_append(s, RECORD_DROP, &head, NULL, 0, &unused);
	if (r < 0)
		return r;
	rows_drop_file(s, f);
	stage_trim(s);
	return 0;
}

/* ---- discard ---- */
static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 &&
	       (path[n] == '\0' || path[n] == '/' || path[n] == '\n');
}

static bool is_meant(const struct row *r, const char *dir, const char *name)
{
	if (!dir)
		return true;
	for (const struct file *f = r->files; f; f = f->next) {
		if (name ? strcmp(f->name, name) == 0 &&
				    strcmp(f->dir->key, dir) == 0
			 : is_below(f->dir->key, dir))
			return true;
	}
	return false;
}

static bool is_node_meant(const struct node *n, const char *dir,
			  const char *name)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

	if (!dir)
		return true;
	if (!name)
		return is_below(n->name, dir);
	strbuf_printf(&path, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
	return path.buf && strcmp(n->name, path.buf) == 0;
}

struct meant {
	size_t nrows;
	bool all; /* of what there is */
	struct run *runs;
};

static int find_meant(struct stage *s, const char *dir, const char *name,
		      struct meant *m)
{
	size_t n = 0;

	m->all = !s->doubt;
	for (struct row *r = s->first; r; r = r->next) {
		if (r->busy || !is_meant(r, dir, name))
			m->all = false;
		else
			m->nrows++;
	}
	for (struct node *i = tree_next_top(s, NULL); i;
	     i = tree_next_top(s, i))
		if (i->busy || !is_node_meant(i, dir, name))
			m->all = false;
	m->runs = calloc(m->nrows + 1, sizeof(*m->runs));
	if (!m->runs)
		return -ENOMEM;
	for (struct row *r = s->first; r; r = r->next)
		if (!r->busy && is_meant(r, dir, name))
			m->runs[n++] = (struct run){ .row = r->number, .n = 1 };
	return 0;
}

static int discard_rows(struct stage *s, const struct meant *m,
			uint64_t *ret_rows)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	uint64_t unused;
	int r;

	if (!m->all && m->nrows) {
		record_runs(&head, m->runs, m->nrows);
		r = stage_append(s, RECORD_DISCARD, &head, NULL, 0, &unused);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < m->nrows; i++) {
		struct row *row = rows_find(s, m->runs[i].row);

		*ret_rows += row_left(row);
		rows_drop(s, row);
	}
	return 0;
}

static int discard_nodes(struct stage *s, const struct meant *m,
			 const char *dir, const char *name, uint64_t *ret_rows)
{
	struct node *n = tree_next_top(s, NULL), *next;

	for (; n; n = next) {
		CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
		uint64_t unused;
		int r = 0;

		next = tree_next_top(s, n);
		if (n->busy || !is_node_meant(n, dir, name))
			continue;
		put_text(&head, n->name);
		if (!m->all)
			r = stage_append(s, RECORD_REMOVE, &head, NULL, 0,
					 &unused);
		if (r < 0)
			return r;
		*ret_rows += tree_drop(s, n);
	}
	return 0;
}

int stage_discard(struct stage *s, const char *dir, const char *name,
		  uint64_t *ret_rows)
{
	LOCK_SCOPE(&s->lock);
	struct meant m = { 0 };
	uint64_t rows = 0;
	int r = find_meant(s, dir, name, &m);

	if (r == 0)
		r = discard_rows(s, &m, &rows);
	if (r == 0)
		r = discard_nodes(s, &m, dir, name, &rows);
	free(m.runs);
	stage_trim(s);
	if (r == 0)
		*ret_rows = rows;
	return r;
}

/* ---- rows that somebody has open ---- */
void stage_hold(struct stage *s, uint64_t row)
{
	LOCK_SCOPE(&s->lock);
	struct row *r = rows_find(s, row);

	if (!r)
		return;
	row_uncount(s, r);
	r->holds++;
	row_count(s, r);
}

void stage_release(struct stage *s, uint64_t row)
{
	LOCK_SCOPE(&s->lock);
	struct row *r = rows_find(s, row);

	if (!r || !r->holds)
		return;
	row_uncount(s, r);
	r->holds--;
	row_count(s, r);
}
