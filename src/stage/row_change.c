/* SPDX-License-Identifier: MIT */
/* row_change.c - what happens to rows. A change is a record in the log first, and
 * then made here, by the same function when it is made and when it is read back. */
#include "rows_int.h"

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
	c->dir = rows_get_dir(s, p->dir);
	if (!c->set || !c->dir)
		return -ENOMEM;
	r = rows_get_word(s, p->class_name, &c->class_name);
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
	return row_reserve_values(c->row, p->nvalues + extra);
}

static void set_values(struct row *r, const struct put *p)
{
	for (size_t i = 0; i < p->nvalues; i++) {
		const struct put_value *v = &p->values[i];
		struct value to = { .at = v->at,
				    .size = v->size,
				    .crc = v->crc };

		(void)set_find_member(r->set, v->member, &to.member);
		row_set_value(r, to);
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
		rows_drop_file_only(s, old);
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
		r = row_reserve_values(row, 1);
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
			row_set_value(to, from->values[i]);
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
		rows_drop_file_only(s, old);
	else if (old && old != f)
		rows_drop_file(s, old);
	row_uncount(s, from);
	file_unlink(s, f);
	free(f);
	if (c.row != from) {
		row_remove_value(from, own.member);
		if (!c.made)
			row_uncount(s, c.row);
		row_set_value(c.row, own);
		if (!from->files)
			join_values(c.row, from);
		row_count(s, from);
	}
	finish(s, p, &c);
	if (!from->files)
		rows_drop(s, from);
	return 0;
}
