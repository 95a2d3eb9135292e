/* SPDX-License-Identifier: MIT */
/* put.c - what is copied in, moved and removed: what it means is decided here, is
 * then a record in the log, and is then made in memory. */
#include "h5fs/image.h"
#include "stage_int.h"

/* A value that is about to be put: its record, and its bytes. */
struct fresh {
	struct put_value *values;
	struct slog_part *parts;
	size_t n;
};

static void fresh_done(struct fresh *f)
{
	free(f->values);
	free(f->parts);
}

static int fresh_new(size_t n, struct fresh *ret)
{
	ret->values = calloc(n + 1, sizeof(*ret->values));
	ret->parts = calloc(n + 1, sizeof(*ret->parts));
	return ret->values && ret->parts ? 0 : -ENOMEM;
}

static void fresh_add(struct fresh *f, const char *member, const void *bytes,
		      size_t size)
{
	f->values[f->n] = (struct put_value){
		.member = member,
		.size = size,
		.crc = checksum_crc32(0, bytes, size),
	};
	f->parts[f->n] = (struct slog_part){
		.bytes = size ? bytes : "",
		.size = size,
	};
	f->n++;
}

static void fresh_at(struct fresh *f, uint64_t payload)
{
	for (size_t i = 0; i < f->n; i++) {
		f->values[i].at = payload;
		payload += f->values[i].size;
	}
}

static void now(struct timespec *ret)
{
	clock_gettime(CLOCK_REALTIME, ret);
}

static void closed(struct stage *s)
{
	s->put_once = true;
	clock_gettime(CLOCK_MONOTONIC, &s->last_put);
}

/* Of a batch: its number of rows, or one for all of them. */
static bool fits(const struct stage_member *m, uint64_t batch_rows, size_t size)
{
	uint64_t one = stage_row_bytes(m), all;

	if (!one || size == one)
		return true;
	return batch_rows && !mul_overflow(one, batch_rows, &all) &&
	       size == all;
}

/* ---- files ---- */
static int put_logged(struct stage *s, struct put *p, struct fresh *f)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	uint64_t payload;
	int r;

	p->values = f->values;
	p->nvalues = f->n;
	record_put(&head, p);
	r = stage_append(s, RECORD_PUT, &head, f->parts, f->n, &payload);
	if (r < 0)
		return r;
	fresh_at(f, payload);
	r = rows_put(s, p);
	if (r < 0)
		stage_undo(s);
	return r;
}

/* A file that is there under the same name stays what it is, with another value,
 * where it is of the same kind. */
static bool keeps_row(const struct file *old, const struct row_set *set,
		      uint32_t member, uint64_t batch_rows)
{
	const struct row *r = old->row;

	return r->set == set && old->member == member && !r->done &&
	       (batch_rows ? r->batch && r->nrows == batch_rows : !r->batch);
}

static int find_row(struct stage *s, struct row_set *set,
		    const struct stage_place *place, uint32_t member,
		    uint64_t batch_rows, struct row **ret_row,
		    struct refusal *f)
{
	struct file *old = rows_file(s, place->dir, place->name);

	if (old && old->row->busy)
		return -EBUSY;
	if (old && keeps_row(old, set, member, batch_rows)) {
		*ret_row = old->row;
		return 0;
	}
	return pair_find(set, place, member, NULL, batch_rows, ret_row, f);
}

static int put_locked(struct stage *s, const struct stage_set *given,
		      const struct stage_place *place,
		      const struct stage_value *values, size_t nvalues,
		      uint64_t batch_rows, uint64_t *ret_row, struct refusal *f)
{
	CLEANUP(fresh_done) struct fresh fresh = { 0 };
	struct put p = {
		.set = given->key,
		.dir = place->dir,
		.name = place->name,
		.stem = place->stem,
		.batch = batch_rows > 0,
		.npy = place->npy,
		.nrows = batch_rows ? batch_rows : 1,
		.member = given->members[values[0].member].path,
	};
	struct row *row = NULL;
	struct row_set *set;
	uint32_t member;
	int r;

	for (size_t i = 0; i < nvalues; i++)
		if (!fits(&given->members[values[i].member], batch_rows,
			  values[i].size))
			return -EINVAL;
	r = stage_describe(s, given, &set);
	if (r == 0)
		r = set_get_member(set, p.member, &member);
	if (r == 0)
		r = find_row(s, set, place, member, batch_rows, &row, f);
	if (r == 0)
		r = fresh_new(nvalues, &fresh);
	if (r < 0)
		return r;
	for (size_t i = 0; i < nvalues; i++) {
		const char *path = given->members[values[i].member].path;

		if (i && row && set_find_member(set, path, &member) == 0 &&
		    row_value(row, member))
			continue;
		fresh_add(&fresh, path, values[i].bytes, values[i].size);
	}
	p.row = row ? row->number : s->next_row;
	p.class_name = place->class_name;
	if (row && !p.class_name)
		p.class_name = row->class_name;
	now(&p.mtime);
	r = put_logged(s, &p, &fresh);
	if (r == 0)
		*ret_row = p.row;
	return r;
}

int stage_put(struct stage *s, const struct stage_set *set,
	      const struct stage_place *place, const struct stage_value *values,
	      size_t nvalues, uint64_t *ret_row, struct refusal *f)
{
	LOCK_SCOPE(&s->lock);
	int r = put_locked(s, set, place, values, nvalues, 0, ret_row, f);

	if (r == 0)
		closed(s);
	stage_trim(s);
	return r;
}

int stage_put_batch(struct stage *s, const struct stage_set *set,
		    const struct stage_place *place, unsigned member,
		    const void *bytes, size_t row_bytes, uint64_t nrows,
		    uint64_t *ret_row, struct refusal *f)
{
	struct stage_value v = { .member = member, .bytes = bytes };
	LOCK_SCOPE(&s->lock);
	int r = 0;

	if (!nrows || !row_bytes || mul_overflow(row_bytes, nrows, &v.size))
		r = refusal_set(f, -EINVAL, "copy at least one row",
				"%s holds no rows", place->name);
	if (r == 0)
		r = put_locked(s, set, place, &v, 1, nrows, ret_row, f);
	if (r == 0)
		closed(s);
	stage_trim(s);
	return r;
}

static int set_value_locked(struct stage *s, struct row *row,
			    const struct stage_set *given,
			    const struct stage_value *value)
{
	CLEANUP(fresh_done) struct fresh f = { 0 };
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	const struct stage_member *m = &given->members[value->member];
	struct row_set *set;
	uint64_t payload;
	int r = stage_describe(s, given, &set);

	if (r == 0)
		r = fresh_new(1, &f);
	if (r < 0)
		return r;
	if (row->set != set ||
	    !fits(m, row->batch ? row->nrows : 0, value->size))
		return -EINVAL;
	fresh_add(&f, m->path, value->bytes, value->size);
	put_u64(&head, row->number);
	put_text(&head, m->path);
	put_u64(&head, value->size);
	put_u32(&head, f.values[0].crc);
	r = stage_append(s, RECORD_VALUE, &head, f.parts, 1, &payload);
	if (r < 0)
		return r;
	fresh_at(&f, payload);
	r = rows_set_value(s, row, &f.values[0]);
	if (r < 0)
		stage_undo(s);
	return r;
}

int stage_set_value(struct stage *s, uint64_t number,
		    const struct stage_set *set,
		    const struct stage_value *value)
{
	LOCK_SCOPE(&s->lock);
	struct row *row = rows_find(s, number);
	int r;

	if (!row)
		return -ENOENT;
	if (row->busy || row->done)
		return -EBUSY;
	r = set_value_locked(s, row, set, value);
	stage_trim(s);
	return r;
}

/* ---- another name ---- */
/* The row that f is in afterwards: one that waits for it; its own, if it can go
 * along; or NULL, a new one. */
static int find_target(struct row_set *set, struct file *f,
		       const struct stage_place *to, struct row **ret_row,
		       struct refusal *refusal)
{
	struct row *own = f->row;
	int r = 0;

	*ret_row = NULL;
	if (!own->done)
		r = pair_find(set, to, f->member, own,
			      own->batch ? own->nrows : 0, ret_row, refusal);
	if (r == 0 && !*ret_row &&
	    (own->done || !own->files->next ||
	     strcmp(own->stem, to->stem) == 0))
		*ret_row = own;
	return r;
}

static int move_logged(struct stage *s, struct file *f, struct put *p,
		       struct fresh *fresh)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	uint64_t payload;
	int r;

	p->values = fresh->values;
	p->nvalues = fresh->n;
	put_text(&head, f->dir->key);
	put_text(&head, f->name);
	record_put(&head, p);
	r = stage_append(s, RECORD_MOVE, &head, fresh->parts, fresh->n,
			 &payload);
	if (r < 0)
		return r;
	fresh_at(fresh, payload);
	r = rows_move(s, f, p);
	if (r < 0)
		stage_undo(s);
	return r;
}

static int move_locked(struct stage *s, struct file *f, struct row_set *set,
		       const struct stage_set *given,
		       const struct stage_place *to,
		       const struct stage_value *values, size_t nvalues,
		       struct refusal *refusal)
{
	CLEANUP(fresh_done) struct fresh fresh = { 0 };
	struct row *own = f->row, *row;
	struct put p = {
		.set = set->key,
		.dir = to->dir,
		.class_name = to->class_name,
		.name = to->name,
		.stem = to->stem,
		.batch = own->batch,
		.npy = to->npy,
		.nrows = own->nrows,
		.done = own->done,
		.mtime = f->mtime,
		.member = set->members[f->member].path,
	};
	uint32_t member;
	int r = find_target(set, f, to, &row, refusal);

	if (r == 0)
		r = fresh_new(nvalues, &fresh);
	if (r < 0)
		return r;
	for (size_t i = 0; i < nvalues; i++) {
		const char *path = given->members[values[i].member].path;

		if (row && row != own &&
		    set_find_member(set, path, &member) == 0 &&
		    row_value(row, member))
			continue;
		fresh_add(&fresh, path, values[i].bytes, values[i].size);
	}
	p.row = row ? row->number : s->next_row;
	if (!p.class_name && row)
		p.class_name = row->class_name;
	return move_logged(s, f, &p, &fresh);
}

int stage_move(struct stage *s, const char *dir, const char *name,
	       const struct stage_set *set, const struct stage_place *to,
	       const struct stage_value *values, size_t nvalues,
	       struct refusal *refusal)
{
	LOCK_SCOPE(&s->lock);
	struct file *f = rows_file(s, dir, name);
	struct file *old = rows_file(s, to->dir, to->name);
	struct row_set *known;
	int r;

	if (!f)
		return -ENOENT;
	if (f->row->busy || (old && old->row->busy))
		return -EBUSY;
	if (strcmp(f->row->set->key, set->key) != 0)
		return -EXDEV;
	r = stage_describe(s, set, &known);
	if (r == 0)
		r = move_locked(s, f, known, set, to, values, nvalues, refusal);
	stage_trim(s);
	return r;
}
