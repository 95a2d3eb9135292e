/* SPDX-License-Identifier: MIT */
/* rows.c - rows, their files and where their values lie. All under stage.lock. */
#include "rows_int.h"

/* ---- orders ---- */
static int compare_number(const void *key, const struct sorted_node *n)
{
	uint64_t a = *(const uint64_t *)key;
	uint64_t b = container_of(n, struct row, by_number)->number;

	return a < b ? -1 : a > b;
}

static int compare_dir(const void *key, const struct sorted_node *n)
{
	return strcmp(key, container_of(n, struct dir, node)->key);
}

static int compare_word(const void *key, const struct sorted_node *n)
{
	return strcmp(key, container_of(n, struct word, node)->text);
}

static int compare_name(const void *key, const struct sorted_node *n)
{
	return strcmp(key, container_of(n, struct file, node)->name);
}

void rows_init(struct stage *s)
{
	s->rows.compare = compare_number;
	s->dirs.compare = compare_dir;
	s->words.compare = compare_word;
}

struct row *rows_find(const struct stage *s, uint64_t number)
{
	struct sorted_node *n = sorted_find(&s->rows, &number);

	return n ? container_of(n, struct row, by_number) : NULL;
}

struct dir *rows_dir(const struct stage *s, const char *dir)
{
	struct sorted_node *n = sorted_find(&s->dirs, dir);

	return n ? container_of(n, struct dir, node) : NULL;
}

struct file *rows_file(const struct stage *s, const char *dir, const char *name)
{
	struct dir *d = rows_dir(s, dir);
	struct sorted_node *n = d ? sorted_find(&d->files, name) : NULL;

	return n ? container_of(n, struct file, node) : NULL;
}

/* Directories and words stay until the end: there are few of them. */
struct dir *rows_get_dir(struct stage *s, const char *key)
{
	struct dir *d = rows_dir(s, key);
	size_t n = strlen(key) + 1;

	if (d)
		return d;
	d = calloc(1, sizeof(*d) + n);
	if (!d)
		return NULL;
	memcpy(d->key, key, n);
	d->files.compare = compare_name;
	sorted_add(&s->dirs, key, &d->node);
	return d;
}

int rows_get_word(struct stage *s, const char *text, const char **ret_word)
{
	struct sorted_node *n = text ? sorted_find(&s->words, text) : NULL;
	struct word *w;

	if (text && !n) {
		w = calloc(1, sizeof(*w) + strlen(text) + 1);
		if (!w)
			return -ENOMEM;
		memcpy(w->text, text, strlen(text) + 1);
		sorted_add(&s->words, text, &w->node);
		n = &w->node;
	}
	*ret_word = n ? container_of(n, struct word, node)->text : NULL;
	return 0;
}

/* ---- values ---- */
const struct value *row_value(const struct row *r, uint32_t member)
{
	for (uint32_t i = 0; i < r->nvalues; i++)
		if (r->values[i].member == member)
			return &r->values[i];
	return NULL;
}

int row_reserve_values(struct row *r, size_t more)
{
	size_t need = r->nvalues + more;
	struct value *grown;

	if (need <= r->value_cap)
		return 0;
	if (need > UINT32_MAX)
		return -ENOMEM;
	grown = reallocarray(r->values, need, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->values = grown;
	r->value_cap = (uint32_t)need;
	return 0;
}

/* There is room for it. */
void row_set_value(struct row *r, struct value v)
{
	struct value *old = (struct value *)row_value(r, v.member);

	if (old) {
		*old = v;
		return;
	}
	r->values[r->nvalues++] = v;
}

void row_remove_value(struct row *r, uint32_t member)
{
	struct value *v = (struct value *)row_value(r, member);

	if (v)
		*v = r->values[--r->nvalues];
}

/* ---- rows ---- */
void row_free(struct row *r)
{
	if (!r)
		return;
	free(r->stem);
	free(r->values);
	free(r);
}

int row_new(const struct put *p, struct row_set *set, struct row **ret)
{
	struct row *r = calloc(1, sizeof(*r));

	if (r)
		r->stem = strdup(p->stem);
	if (!r || !r->stem) {
		row_free(r);
		return -ENOMEM;
	}
	r->number = p->row;
	r->set = set;
	r->batch = p->batch;
	r->nrows = p->nrows;
	r->done = p->done;
	*ret = r;
	return 0;
}

/* New rows have the highest number there is. */
void row_link(struct stage *s, struct row *r)
{
	sorted_add(&s->rows, &r->number, &r->by_number);
	sorted_add(&r->set->stems, r, &r->by_stem);
	r->prev = s->last;
	r->next = NULL;
	if (s->last)
		s->last->next = r;
	else
		s->first = r;
	s->last = r;
	if (r->number >= s->next_row)
		s->next_row = r->number + 1;
}

static void row_unlink(struct stage *s, struct row *r)
{
	sorted_remove(&s->rows, &r->number);
	sorted_remove(&r->set->stems, r);
	if (r->prev)
		r->prev->next = r->next;
	else
		s->first = r->next;
	if (r->next)
		r->next->prev = r->prev;
	else
		s->last = r->prev;
}

void row_rename(struct row *r, const char *class_name, char *stem)
{
	r->class_name = class_name;
	sorted_remove(&r->set->stems, r);
	free(r->stem);
	r->stem = stem;
	sorted_add(&r->set->stems, r, &r->by_stem);
}

/* ---- files ---- */
struct file *file_new(const char *name)
{
	size_t n = strlen(name) + 1;
	struct file *f = calloc(1, sizeof(*f) + n);

	if (f)
		memcpy(f->name, name, n);
	return f;
}

void file_link(struct stage *s, struct file *f, struct dir *d, struct row *r)
{
	f->dir = d;
	f->row = r;
	sorted_add(&d->files, f->name, &f->node);
	f->next = r->files;
	r->files = f;
	s->nfiles++;
}

void file_unlink(struct stage *s, struct file *f)
{
	struct file **at = &f->row->files;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	sorted_remove(&f->dir->files, f->name);
	s->nfiles--;
}

void rows_drop(struct stage *s, struct row *r)
{
	row_uncount(s, r);
	while (r->files) {
		struct file *f = r->files;

		file_unlink(s, f);
		free(f);
	}
	row_unlink(s, r);
	row_free(r);
}

/* But its row stays whatever is left of it: it is about to get another. */
void rows_drop_file_only(struct stage *s, struct file *f)
{
	row_uncount(s, f->row);
	row_remove_value(f->row, f->member);
	row_count(s, f->row);
	file_unlink(s, f);
	free(f);
}

void rows_drop_file(struct stage *s, struct file *f)
{
	struct row *r = f->row;

	rows_drop_file_only(s, f);
	if (!r->files)
		rows_drop(s, r);
}

void rows_consume(struct stage *s, struct row *r, uint64_t n)
{
	if (n >= row_left(r)) {
		rows_drop(s, r);
		return;
	}
	row_uncount(s, r);
	r->done += n;
	row_count(s, r);
}

void rows_drop_all(struct stage *s)
{
	while (s->first)
		rows_drop(s, s->first);
}

void rows_free(struct stage *s)
{
	rows_drop_all(s);
	while (s->dirs.root) {
		struct dir *d = container_of(s->dirs.root, struct dir, node);

		sorted_remove(&s->dirs, d->key);
		free(d);
	}
	while (s->words.root) {
		struct word *w = container_of(s->words.root, struct word, node);

		sorted_remove(&s->words, w->text);
		free(w);
	}
}
