/* SPDX-License-Identifier: MIT */
/* feed.c - values in the log to elements of a dataset, a few chunks at a time, so
 * that memory does not grow with the number of rows. */
#include "h5fs/image.h"
#include "stage_int.h"

#define PIECE_BYTES ((uint64_t)16 << 20)
#define PIECE_CHUNKS 8

struct feed {
	struct slog_file *log;
	struct writer *w;
	const struct stage_member *m;
	uint32_t member;    /* in the row set */
	uint64_t row_bytes; /* 0: it varies */
	/* What comes next. */
	const struct pick *picks;
	size_t npicks;
	uint64_t at; /* in picks[0] */
	/* The texts of a batch, once they are read: whose, and where the next
	 * one is. */
	struct blob *texts;
	const struct row *texts_of;
	uint64_t text; /* its number */
	size_t text_at;
};

static void feed_done(struct feed *f)
{
	blob_unref(f->texts);
}

static const struct value *value_at(const struct feed *f)
{
	return row_value(f->picks->row, f->member);
}

static bool is_one_for_all(const struct feed *f, const struct value *v)
{
	return v->size == f->row_bytes && f->picks->row->nrows > 1;
}

/* ---- rows of a fixed size ---- */
/* As many rows as lie side by side, at most max. */
static int copy_run(struct feed *f, uint8_t *to, uint64_t max, uint64_t *ret_n)
{
	const struct pick *p = f->picks;
	const struct value *v = value_at(f);
	uint64_t n = p->count - f->at, from = p->first + f->at;
	int r;

	if (n > max)
		n = max;
	if (!p->row->batch || is_one_for_all(f, v)) {
		r = slog_read(f->log, to, f->row_bytes, v->at, v->crc);
		for (uint64_t i = 1; r == 0 && i < n; i++)
			memcpy(to + i * f->row_bytes, to, f->row_bytes);
		*ret_n = n;
		return r;
	}
	/* The checksum is that of the whole batch. */
	r = f->at ? 0 : slog_verify(f->log, v->size, v->at, v->crc);
	if (r == 0)
		r = stage_io_read(f->log->io, f->log->fd, to, n * f->row_bytes,
				  v->at + from * f->row_bytes);
	*ret_n = n;
	return r;
}

static void advance(struct feed *f, uint64_t n)
{
	f->at += n;
	if (f->at == f->picks->count) {
		f->picks++;
		f->npicks--;
		f->at = 0;
	}
}

static int fill_fixed(struct feed *f, uint64_t count, struct array *a)
{
	uint64_t bytes;
	uint8_t *to;
	int r;

	if (mul_overflow(count, f->row_bytes, &bytes))
		return -EOVERFLOW;
	r = blob_new(bytes, &a->data);
	if (r < 0)
		return r;
	to = a->data->data;
	while (count) {
		uint64_t n;

		r = copy_run(f, to, count, &n);
		if (r < 0)
			return r;
		to += n * f->row_bytes;
		count -= n;
		advance(f, n);
	}
	return 0;
}

/* ---- rows of any size: an element points to the bytes ---- */
static int read_texts(struct feed *f)
{
	struct blob *b;
	int r;

	if (f->texts_of == f->picks->row)
		return 0;
	r = value_read(f->log, value_at(f), &b);
	if (r < 0)
		return r;
	blob_unref(f->texts);
	f->texts = b;
	f->texts_of = f->picks->row;
	f->text = f->text_at = 0;
	return 0;
}

/* The text of a row of a batch: the i-th, each with its NUL, or the only one. */
static int text_of_batch(struct feed *f, const uint8_t **ret, size_t *ret_n)
{
	uint64_t i = f->picks->first + f->at;
	int r = read_texts(f);

	if (r < 0)
		return r;
	*ret = f->texts->data;
	*ret_n = f->texts->size;
	if (f->m->type->class != DT_VLSTR ||
	    !memchr(f->texts->data, '\0', f->texts->size))
		return 0;
	for (;;) {
		const uint8_t *p = f->texts->data + f->text_at;
		size_t left = f->texts->size - f->text_at;
		const uint8_t *nul = left ? memchr(p, '\0', left) : NULL;

		if (!nul)
			return -EINVAL;
		f->text_at += (size_t)(nul - p) + 1;
		if (f->text++ < i)
			continue;
		*ret = p;
		*ret_n = (size_t)(nul - p);
		return 0;
	}
}

static int one_varying(struct feed *f, struct arena *arena, uint8_t **ret,
		       size_t *ret_n)
{
	const struct value *v = value_at(f);
	const uint8_t *text = NULL;
	size_t n = v->size;
	uint8_t *copy;
	int r = 0;

	if (f->picks->row->batch)
		r = text_of_batch(f, &text, &n);
	if (r < 0)
		return r;
	copy = arena_alloc(arena, n + 1);
	if (!copy)
		return -ENOMEM;
	if (text)
		memcpy(copy, text, n);
	else
		r = slog_read(f->log, copy, n, v->at, v->crc);
	copy[n] = '\0';
	*ret = copy;
	*ret_n = n;
	return r;
}

static int fill_varying(struct feed *f, uint64_t count, struct array *a)
{
	const struct dtype *t = a->type;
	uint64_t bytes;
	int r;

	if (mul_overflow(count, t->size, &bytes))
		return -EOVERFLOW;
	r = blob_new(bytes, &a->data);
	if (r == 0)
		r = arena_new(&a->arena);
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		uint8_t *to = a->data->data + i * t->size, *copy;
		size_t n;

		r = one_varying(f, a->arena, &copy, &n);
		if (r < 0)
			break;
		if (t->class == DT_VLSTR) {
			memcpy(to, &copy, sizeof(copy));
		} else {
			const struct dt_vlen v = { n / t->base->size, copy };

			memcpy(to, &v, sizeof(v));
		}
		advance(f, 1);
	}
	return r;
}

/* ---- pieces ---- */
static uint64_t bytes_of(const struct feed *f, const struct pick *p)
{
	if (f->row_bytes)
		return f->row_bytes;
	return row_value(p->row, f->member)->size / p->row->nrows +
	       f->m->type->size;
}

/* Rows of the next piece, of `left`: whole chunks but at the end. */
static uint64_t next_piece(const struct feed *f, uint64_t rows, uint64_t left)
{
	uint64_t chunk = f->m->chunk_rows ? f->m->chunk_rows : 1;
	uint64_t max = f->m->chunk_rows ? PIECE_CHUNKS * chunk : left;
	uint64_t at = f->at, n = 0, bytes = 0;
	const struct pick *p = f->picks;

	while (n < left) {
		bool whole = (rows + n) % chunk == 0;

		if (n && whole && (bytes >= PIECE_BYTES || n >= max))
			break;
		bytes += bytes_of(f, p);
		n++;
		if (++at == p->count) {
			p++;
			at = 0;
		}
	}
	return n;
}

/* Rows side by side, as the stage has them, to elements in the dataset's order,
 * where the axis that grows is not the first. */
static int turn(const struct feed *f, uint64_t count, struct array *a)
{
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	uint64_t outer = 1, inner;
	int r;

	for (unsigned i = 0; i < f->m->axis; i++)
		outer *= f->m->dims[i];
	if (outer <= 1)
		return 0;
	inner = f->row_bytes / outer;
	r = blob_new(a->data->size, &out);
	if (r < 0)
		return r;
	for (uint64_t row = 0; row < count; row++)
		for (uint64_t o = 0; o < outer; o++)
			memcpy(out->data + (o * count + row) * inner,
			       a->data->data + row * f->row_bytes + o * inner,
			       inner);
	blob_unref(a->data);
	a->data = TAKE(out);
	return 0;
}

static int append_piece(struct feed *f, uint64_t count, char **ret_why)
{
	CLEANUP(array_freep) struct array *a = calloc(1, sizeof(*a));
	const struct stage_member *m = f->m;
	int r;

	if (!a)
		return -ENOMEM;
	a->type = m->type;
	a->rank = m->rank;
	memcpy(a->dims, m->dims, sizeof(a->dims));
	a->dims[m->axis] = count;
	a->count = 1;
	for (unsigned i = 0; i < m->rank; i++)
		if (mul_overflow(a->count, a->dims[i], &a->count))
			return -EOVERFLOW;
	/* Elements of any size are one a row. */
	if (!f->row_bytes && a->count != count)
		return -EOPNOTSUPP;
	r = f->row_bytes ? fill_fixed(f, count, a) : fill_varying(f, count, a);
	if (r == 0 && f->row_bytes)
		r = turn(f, count, a);
	if (r < 0)
		return stage_say(ret_why, r, "%s: a staged value: %s", m->path,
				 strerror(-r));
	r = writer_append(f->w, m->path, m->axis, a);
	return r < 0 ? writer_said(f->w, r, m->path, ret_why) : 0;
}

int feed_member(struct slog_file *log, struct writer *w, uint32_t member,
		const struct stage_member *m, const struct pick *picks,
		size_t npicks, char **ret_why)
{
	CLEANUP(feed_done)
	struct feed f = {
		.log = log,
		.w = w,
		.m = m,
		.member = member,
		.row_bytes = stage_row_bytes(m),
		.picks = picks,
		.npicks = npicks,
	};
	uint64_t rows = m->dims[m->axis], left = 0;
	int r = 0;

	for (size_t i = 0; i < npicks; i++)
		left += picks[i].count;
	while (r == 0 && left) {
		uint64_t n = next_piece(&f, rows, left);

		r = append_piece(&f, n, ret_why);
		rows += n;
		left -= n;
	}
	return r;
}

/* ---- is it as long as the dataset wants it? ---- */
static bool is_whole_batch(const struct row *r, const struct value *v,
			   uint64_t one)
{
	uint64_t all;

	return one && r->batch && !mul_overflow(one, r->nrows, &all) &&
	       v->size == all;
}

static bool fits(const struct row *r, const struct value *v,
		 const struct stage_member *m)
{
	const struct dtype *base = m->type->base;
	uint64_t one = stage_row_bytes(m);

	if (one)
		return v->size == one || is_whole_batch(r, v, one);
	if (m->type->class == DT_VLEN)
		return base && base->size && v->size % base->size == 0;
	return m->type->class == DT_VLSTR;
}

/* The file that a batch came as brought a value for each row. */
const struct stage_member *feed_misfit(const struct row *r,
				       const struct stage_set *given)
{
	bool whole = !r->batch;

	for (unsigned i = 0; i < given->nmembers; i++) {
		const struct stage_member *m = &given->members[i];
		const struct value *v;
		uint32_t at;

		if (set_find_member(r->set, m->path, &at) < 0)
			return m;
		v = row_value(r, at);
		if (!v || !fits(r, v, m))
			return m;
		whole = whole || is_whole_batch(r, v, stage_row_bytes(m));
	}
	return whole ? NULL : &given->members[0];
}
