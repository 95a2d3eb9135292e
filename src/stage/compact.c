/* SPDX-License-Identifier: MIT */
/* compact.c - the log written anew with what counts in it, when most of it does
 * not, or when the disk did not keep what was written. */
#include <stdio.h>

#include "stage_int.h"
#include "tree_int.h"

/* Where a value is to be found once the new log has the name. */
struct moved {
	struct value *value;
	uint64_t at;
};
struct rewrite {
	struct slog to;
	struct slog_file *from;
	size_t n, cap;
	struct moved *moved;
};

static int note_moved(struct rewrite *w, struct value *v, uint64_t at)
{
	if (w->n == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 256;
		struct moved *grown =
			reallocarray(w->moved, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		w->moved = grown;
		w->cap = cap;
	}
	w->moved[w->n++] = (struct moved){ .value = v, .at = at };
	return 0;
}

/* One record, and its values from the old log. What is damaged there does not
 * become good: each value keeps the checksum that it had. */
static int add_record(struct rewrite *w, enum record kind,
		      const struct strbuf *head, struct value *values, size_t n)
{
	CLEANUP(freep) struct slog_part *parts = calloc(n + 1, sizeof(*parts));
	uint64_t at;
	int r = parts ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		parts[i] = (struct slog_part){
			.from = w->from,
			.at = values[i].at,
			.size = values[i].size,
		};
	if (r == 0)
		r = slog_append(&w->to, kind, head, parts, n, &at);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = note_moved(w, &values[i], at);
		at += values[i].size;
	}
	return r;
}

/* ---- what there is ---- */
static int add_state(struct stage *s, struct rewrite *w)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;

	put_u64(&head, s->next_row);
	put_u64(&head, s->last_tag);
	return add_record(w, RECORD_STATE, &head, NULL, 0);
}

static int add_set(struct rewrite *w, const struct row_set *set)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	uint32_t n = 0;

	for (uint32_t i = 0; i < set->nmembers; i++)
		n += set->members[i].wanted;
	put_text(&head, set->key);
	put_u64(&head, set->rows);
	put_u32(&head, n);
	for (uint32_t i = 0; i < set->nmembers; i++) {
		if (!set->members[i].wanted)
			continue;
		put_text(&head, set->members[i].path);
		put_text(&head, set->members[i].name);
		put_u64(&head, set->members[i].chunk_rows);
	}
	return add_record(w, RECORD_SET, &head, NULL, 0);
}

static int add_sets(struct stage *s, struct rewrite *w)
{
	struct sorted_node *n = sorted_from(&s->sets, NULL);

	while (n) {
		struct row_set *set = container_of(n, struct row_set, node);
		int r = set->nstaged ? add_set(w, set) : 0;

		if (r < 0)
			return r;
		n = sorted_after(&s->sets, set->key);
	}
	return 0;
}

/* The first file's record brings the row and all its values. */
static int add_file(struct rewrite *w, struct file *f, struct put_value *values)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	struct row *row = f->row;
	struct put p = {
		.row = row->number,
		.set = row->set->key,
		.dir = f->dir->key,
		.class_name = row->class_name,
		.name = f->name,
		.stem = row->stem,
		.batch = row->batch,
		.npy = f->npy,
		.nrows = row->nrows,
		.done = row->done,
		.mtime = f->mtime,
		.member = row->set->members[f->member].path,
		.nvalues = f == row->files ? row->nvalues : 0,
		.values = values,
	};

	record_put(&head, &p);
	return add_record(w, RECORD_PUT, &head, row->values, p.nvalues);
}

static int add_row(struct rewrite *w, struct row *row)
{
	CLEANUP(freep)
	struct put_value *values = calloc(row->nvalues + 1, sizeof(*values));
	int r = values ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < row->nvalues; i++) {
		const struct value *v = &row->values[i];

		values[i].member = row->set->members[v->member].path;
		values[i].size = v->size;
		values[i].crc = v->crc;
	}
	for (struct file *f = row->files; r == 0 && f; f = f->next)
		r = add_file(w, f, values);
	return r;
}

static int add_node(struct rewrite *w, struct node *n)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	CLEANUP(freep) char *path = NULL;
	struct node_record rec = {
		.kind = n->kind,
		.image = n->image,
		.mtime = n->mtime,
		.target = n->target,
		.value = n->value,
	};
	int r = tree_path_of(n, NULL, &path);

	if (r < 0)
		return r;
	rec.path = path;
	tree_record_node(&head, &rec);
	r = add_record(w, RECORD_NODE, &head, &n->value, 1);
	for (struct node_attr *a = n->attrs; r == 0 && a; a = a->next) {
		struct attr_record attr = {
			.path = path,
			.name = a->name,
			.set = true,
			.value = a->value,
		};

		strbuf_done(&head);
		tree_record_attr(&head, &attr);
		r = add_record(w, RECORD_ATTR, &head, &a->value, 1);
	}
	return r;
}

static int add_all(struct stage *s, struct rewrite *w)
{
	int r = add_state(s, w);

	if (r == 0)
		r = add_sets(s, w);
	for (struct row *row = s->first; r == 0 && row; row = row->next)
		r = add_row(w, row);
	for (struct node *top = tree_next_top(s, NULL); r == 0 && top;
	     top = tree_next_top(s, top))
		for (struct node *n = top; r == 0 && n; n = tree_walk(top, n))
			r = add_node(w, n);
	return r;
}

/* ---- the new log ---- */
static void take_over(struct stage *s, struct rewrite *w)
{
	char *path = TAKE(s->log.path);

	for (size_t i = 0; i < w->n; i++)
		w->moved[i].value->at = w->moved[i].at;
	slog_done(&s->log);
	s->log = w->to;
	w->to = (struct slog){ 0 };
	free(s->log.path);
	s->log.path = path;
	s->owed = 0;
	s->done_dirty = false;
}

static int write_new(struct stage *s, struct rewrite *w, const char *name)
{
	int r = slog_create(s->io, name, &w->to);

	if (r < 0)
		return r;
	w->from = s->log.file;
	r = add_all(s, w);
	if (r == 0)
		r = s->io->sync(w->to.file->fd); /* S7 */
	if (r == 0)
		r = s->io->rename(name, s->log.path);
	if (r < 0)
		(void)s->io->remove(name);
	return r;
}

int stage_rewrite(struct stage *s)
{
	CLEANUP(freep) char *name = NULL;
	struct rewrite w = { 0 };
	int r;

	if (!s->log.file)
		return 0;
	if (s->committing || s->doubt)
		return -EBUSY;
	if (asprintf(&name, "%s.new", s->log.path) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	(void)s->io->remove(name);
	r = write_new(s, &w, name);
	if (r == 0)
		take_over(s, &w);
	slog_done(&w.to);
	free(w.moved);
	return r == 0 ? s->io->sync_dir(s->log.path) : r;
}
