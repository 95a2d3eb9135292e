/* SPDX-License-Identifier: MIT */
/* rows.c - rows, their files and where their values lie. A change is a record in
 * the log first, and then made here, by the same function when it is made and
 * when it is read back. All under stage.lock. */
#include "stage_int.h"

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
static struct dir *get_dir(struct stage *s, const char *key)
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

static int get_word(struct stage *s, const char *text, const char **ret_word)
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

static int reserve_values(struct row *r, size_t more)
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
static void set_value(struct row *r, struct value v)
{
	struct value *old = (struct value *)row_value(r, v.member);

	if (old) {
		*old = v;
		return;
	}
	r->values[r->nvalues++] = v;
}

static void remove_value(struct row *r, uint32_t member)
{
	struct value *v = (struct value *)row_value(r, member);

	if (v)
		*v = r->values[--r->nvalues];
}

/* ---- rows ---- */
static void row_free(struct row *r)
{
	if (!r)
		return;
	free(r->stem);
	free(r->values);
	free(r);
}
DEFINE_CLEANUP(struct row *, row_free)

static int row_new(const struct put *p, struct row_set *set, struct row **ret)
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
static void row_link(struct stage *s, struct row *r)
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

static void row_rename(struct row *r, const char *class_name, char *stem)
{
	r->class_name = class_name;
	sorted_remove(&r->set->stems, r);
	free(r->stem);
	r->stem = stem;
	sorted_add(&r->set->stems, r, &r->by_stem);
}

/* ---- files ---- */
static struct file *file_new(const char *name)
{
	size_t n = strlen(name) + 1;
	struct file *f = calloc(1, sizeof(*f) + n);

	if (f)
		memcpy(f->name, name, n);
	return f;
}

static void file_link(struct stage *s, struct file *f, struct dir *d,
		      struct row *r)
{
	f->dir = d;
	f->row = r;
	sorted_add(&d->files, f->name, &f->node);
	f->next = r->files;
	r->files = f;
	s->nfiles++;
}

static void file_unlink(struct stage *s, struct file *f)
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
static void drop_file_only(struct stage *s, struct file *f)
{
	row_uncount(s, f->row);
	remove_value(f->row, f->member);
	row_count(s, f->row);
	file_unlink(s, f);
	free(f);
}

void rows_drop_file(struct stage *s, struct file *f)
{
	struct row *r = f->row;

	drop_file_only(s, f);
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

/* ---- changes ---- */
/* What a change needs; once it is there nothing fails. */
struct change {
	struct row_set *set;
	struct dir *dir;
	const char *class_name;
	uint32_t member;	/* of the file */
	struct row *row, *made; /* made: row, while it is not linked */
	struct file *file;	/* not linked */
	char *stem;
};

static void change_done(struct change *c)
{
	row_free(c->made);
	free(c->file);
	free(c->stem);
}

static int intern(struct stage *s, const struct put *p, struct change *c)
{
	uint32_t unused;
	int r;

	c->set = sets_get(s, p->set);
	c->dir = get_dir(s, p->dir);
	if (!c->set || !c->dir)
		return -ENOMEM;
	r = get_word(s, p->class_name, &c->class_name);
	if (r == 0)
		r = set_get_member(c->set, p->member, &c->member);
	for (size_t i = 0; r == 0 && i < p->nvalues; i++)
		r = set_get_member(c->set, p->values[i].member, &unused);
	return r;
}

/* extra: values beside those of p that the row is to hold. */
static int prepare(struct stage *s, const struct put *p, size_t extra,
		   struct change *c)
{
	int r = intern(s, p, c);

	if (r < 0)
		return r;
	c->row = rows_find(s, p->row);
	if (!c->row) {
		if (s->last && s->last->number > p->row)
			return -EBADMSG;
		r = row_new(p, c->set, &c->made);
		if (r < 0)
			return r;
		c->row = c->made;
	}
	if (c->row->set != c->set || c->row->batch != p->batch ||
	    c->row->nrows != p->nrows || c->row->done != p->done ||
	    c->row->busy)
		return -EBADMSG;
	c->stem = strdup(p->stem);
	c->file = file_new(p->name);
	if (!c->stem || !c->file)
		return -ENOMEM;
	return reserve_values(c->row, p->nvalues + extra);
}

static void set_values(struct row *r, const struct put *p)
{
	for (size_t i = 0; i < p->nvalues; i++) {
		const struct put_value *v = &p->values[i];
		struct value to = { .at = v->at,
				    .size = v->size,
				    .crc = v->crc };

		(void)set_find_member(r->set, v->member, &to.member);
		set_value(r, to);
	}
}

/* The row as p says; its file is c->file. It is not counted meanwhile. */
static void finish(struct stage *s, const struct put *p, struct change *c)
{
	if (c->made)
		row_link(s, TAKE(c->made));
	row_rename(c->row, c->class_name, TAKE(c->stem));
	set_values(c->row, p);
	c->file->member = c->member;
	c->file->mtime = p->mtime;
	c->file->npy = p->npy;
	file_link(s, TAKE(c->file), c->dir, c->row);
	row_count(s, c->row);
}

int rows_put(struct stage *s, const struct put *p)
{
	CLEANUP(change_done) struct change c = { 0 };
	struct file *old;
	int r = prepare(s, p, 0, &c);

	if (r < 0)
		return r;
	old = rows_file(s, p->dir, p->name);
	if (old && old->row == c.row)
		drop_file_only(s, old);
	else if (old)
		rows_drop_file(s, old);
	if (!c.made)
		row_uncount(s, c.row);
	finish(s, p, &c);
	return 0;
}

int rows_set_value(struct stage *s, struct row *row, const struct put_value *v)
{
	const struct put p = { .values = (struct put_value *)v, .nvalues = 1 };
	uint32_t unused;
	int r = set_get_member(row->set, v->member, &unused);

	if (r == 0)
		r = reserve_values(row, 1);
	if (r < 0)
		return r;
	row_uncount(s, row);
	set_values(row, &p);
	row_count(s, row);
	return 0;
}

/* What `from` has and `to` has not. */
static void join_values(struct row *to, const struct row *from)
{
	for (uint32_t i = 0; i < from->nvalues; i++)
		if (!row_value(to, from->values[i].member))
			set_value(to, from->values[i]);
}

int rows_move(struct stage *s, struct file *f, const struct put *p)
{
	CLEANUP(change_done) struct change c = { 0 };
	struct row *from = f->row;
	const struct value *value;
	struct value own;
	struct file *old;
	int r = prepare(s, p, from->nvalues, &c);

	if (r < 0)
		return r;
	value = row_value(from, f->member);
	if (!value || c.member != f->member || c.set != from->set)
		return -EBADMSG;
	own = *value;
	old = rows_file(s, p->dir, p->name);
	if (old && old != f && old->row == c.row)
		drop_file_only(s, old);
	else if (old && old != f)
		rows_drop_file(s, old);
	row_uncount(s, from);
	file_unlink(s, f);
	free(f);
	if (c.row != from) {
		remove_value(from, own.member);
		if (!c.made)
			row_uncount(s, c.row);
		set_value(c.row, own);
		if (!from->files)
			join_values(c.row, from);
		row_count(s, from);
	}
	finish(s, p, &c);
	if (!from->files)
		rows_drop(s, from);
	return 0;
}
