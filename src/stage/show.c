/* SPDX-License-Identifier: MIT */
/* show.c - what is staged, as it is seen in the mount and told to people. */
#include "stage_int.h"

#define MAX_LISTED 100

/* ---- lists of names ---- */
void stage_names_done(struct stage_names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->names[i]);
	free(n->names);
	*n = (struct stage_names){ 0 };
}

int names_add(struct stage_names *n, size_t *cap, const char *name)
{
	char *copy;

	if (n->count == *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		char **grown = reallocarray(n->names, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		n->names = grown;
		*cap = more;
	}
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	n->names[n->count++] = copy;
	return 0;
}

int stage_list(struct stage *s, const char *dir, const char *after, size_t max,
	       struct stage_names *ret_names)
{
	CLEANUP(stage_names_done) struct stage_names names = { 0 };
	LOCK_SCOPE(&s->lock);
	struct dir *d = rows_dir(s, dir);
	struct sorted_node *n = NULL;
	size_t cap = 0;

	if (d)
		n = after ? sorted_after(&d->files, after)
			  : sorted_from(&d->files, NULL);
	while (n && names.count < max) {
		struct file *f = container_of(n, struct file, node);

		if (names_add(&names, &cap, f->name) < 0)
			return -ENOMEM;
		n = sorted_after(&d->files, f->name);
	}
	*ret_names = names;
	names = (struct stage_names){ 0 };
	return 0;
}

int stage_sets(struct stage *s, struct stage_names *ret_keys)
{
	CLEANUP(stage_names_done) struct stage_names keys = { 0 };
	LOCK_SCOPE(&s->lock);
	struct sorted_node *n = sorted_from(&s->sets, NULL);
	size_t cap = 0;

	while (n) {
		struct row_set *set = container_of(n, struct row_set, node);

		if (set->nstaged && names_add(&keys, &cap, set->key) < 0)
			return -ENOMEM;
		n = sorted_after(&s->sets, set->key);
	}
	*ret_keys = keys;
	keys = (struct stage_names){ 0 };
	return 0;
}

/* ---- files ---- */
void stage_file_done(struct stage_file *f)
{
	free(f->set);
	free(f->member);
	free(f->class_name);
	free(f->name);
	*f = (struct stage_file){ 0 };
}

/* Of a batch that was committed in part, what is left. It is one value for each
 * row, but of texts of any length. */
static struct value value_left(const struct row *r, const struct value *v)
{
	struct value left = *v;
	uint64_t each = v->size / r->nrows;

	if (r->done && v->size % r->nrows == 0) {
		left.at += each * r->done;
		left.size = each * row_left(r);
	}
	return left;
}

int stage_find(struct stage *s, const char *dir, const char *name,
	       struct stage_file *ret_file)
{
	CLEANUP(stage_file_done) struct stage_file f = { 0 };
	LOCK_SCOPE(&s->lock);
	struct file *file = rows_file(s, dir, name);
	const struct value *v;
	int r;

	if (!file)
		return -ENOENT;
	f.row = file->row->number;
	f.nrows = row_left(file->row);
	f.batch = file->row->batch;
	f.npy = file->npy;
	f.mtime = file->mtime;
	v = row_value(file->row, file->member);
	f.size = v ? value_left(file->row, v).size : 0;
	r = copy_text(file->row->set->key, &f.set);
	if (r == 0)
		r = copy_text(file->row->set->members[file->member].path,
			      &f.member);
	if (r == 0)
		r = copy_text(file->row->class_name, &f.class_name);
	if (r == 0)
		r = copy_text(file->name, &f.name);
	if (r < 0)
		return r;
	*ret_file = f;
	f = (struct stage_file){ 0 };
	return 0;
}

int value_read(struct slog_file *f, const struct value *v,
	       struct blob **ret_bytes)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	int r = blob_new(v->size, &b);

	if (r == 0)
		r = slog_read(f, b->data, b->size, v->at, v->crc);
	if (r == 0)
		*ret_bytes = TAKE(b);
	return r;
}

/* whole: the value that left is a part of. */
static int read_left(struct slog_file *f, const struct value *whole,
		     const struct value *left, struct blob **ret_bytes)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	int r;

	if (left->size == whole->size)
		return value_read(f, whole, ret_bytes);
	r = slog_verify(f, whole->size, whole->at, whole->crc);
	if (r == 0)
		r = blob_new(left->size, &b);
	if (r == 0)
		r = stage_io_read(f->io, f->fd, b->data, b->size, left->at);
	if (r == 0)
		*ret_bytes = TAKE(b);
	return r;
}

/* Where a value of a row is, and the log that it is in. */
static int locate(struct stage *s, const struct row *r, uint32_t member,
		  struct slog_file **ret_file, struct value *ret_whole,
		  struct value *ret_left)
{
	const struct value *v = row_value(r, member);

	if (!v)
		return -ENODATA;
	*ret_whole = *v;
	*ret_left = value_left(r, v);
	*ret_file = slog_file_ref(s->log.file);
	return 0;
}

int stage_read(struct stage *s, const char *dir, const char *name,
	       struct blob **ret_bytes)
{
	CLEANUP(slog_file_unrefp) struct slog_file *log = NULL;
	struct value whole, left;

	{
		LOCK_SCOPE(&s->lock);
		struct file *f = rows_file(s, dir, name);
		int r = -ENOENT;

		if (f)
			r = locate(s, f->row, f->member, &log, &whole, &left);
		if (r < 0)
			return r;
	}
	return read_left(log, &whole, &left, ret_bytes);
}

int stage_row_value(struct stage *s, uint64_t number, const char *member,
		    struct blob **ret_bytes)
{
	CLEANUP(slog_file_unrefp) struct slog_file *log = NULL;
	struct value whole, left;

	{
		LOCK_SCOPE(&s->lock);
		struct row *row = rows_find(s, number);
		uint32_t at;
		int r = -ENODATA;

		if (!row)
			return -ENOENT;
		if (set_find_member(row->set, member, &at) == 0)
			r = locate(s, row, at, &log, &whole, &left);
		if (r < 0)
			return r;
	}
	return read_left(log, &whole, &left, ret_bytes);
}

/* ---- status ---- */
static void waiting_done(struct stage_waiting *w)
{
	free(w->set);
	free(w->name);
	free(w->class_name);
	free(w->missing);
}

void stage_status_done(struct stage_status *st)
{
	for (size_t i = 0; i < st->nlist; i++)
		waiting_done(&st->list[i]);
	free(st->list);
	*st = (struct stage_status){ 0 };
}

static char *missing_of(const struct row *r)
{
	struct strbuf out = STRBUF_INIT;

	for (uint32_t i = 0; i < r->set->nmembers; i++) {
		if (!r->set->members[i].wanted || row_value(r, i))
			continue;
		strbuf_puts(&out, out.len ? ", " : "");
		strbuf_puts(&out, r->set->members[i].name);
	}
	return strbuf_steal(&out);
}

static int list_waiting(const struct stage *s, struct stage_status *st)
{
	st->list = calloc(MAX_LISTED, sizeof(*st->list));
	if (!st->list)
		return -ENOMEM;
	for (struct row *r = s->waiting; r && st->nlist < MAX_LISTED;
	     r = r->next_waiting) {
		struct stage_waiting *w = &st->list[st->nlist++];

		w->missing = missing_of(r);
		if (!w->missing || copy_text(r->set->key, &w->set) < 0 ||
		    copy_text(r->files ? r->files->name : r->stem, &w->name) <
			    0 ||
		    copy_text(r->class_name, &w->class_name) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int64_t idle_ms(const struct stage *s)
{
	struct timespec now;

	if (!s->put_once)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(now.tv_sec - s->last_put.tv_sec) * 1000 +
	       (now.tv_nsec - s->last_put.tv_nsec) / 1000000;
}

int stage_get_status(struct stage *s, struct stage_status *ret_status)
{
	CLEANUP(stage_status_done) struct stage_status st = { 0 };
	LOCK_SCOPE(&s->lock);
	int r = 0;

	st.rows = s->nrows;
	st.waiting = s->nwaiting;
	st.complete = s->nready;
	st.bytes = s->log.file ? s->log.end : 0;
	st.idle_ms = idle_ms(s);
	st.chunk_full = s->nfull > 0;
	for (struct node *n = tree_next_top(s, NULL); n;
	     n = tree_next_top(s, n))
		st.pending++;
	if (s->waiting)
		r = list_waiting(s, &st);
	if (r < 0)
		return r;
	*ret_status = st;
	st = (struct stage_status){ 0 };
	return 0;
}
