/* SPDX-License-Identifier: MIT */
/* record.c - the heads of records: numbers little-endian, texts with their length
 * (all ones: none) and a NUL.
 *
 *   STATE      highest row, highest tag
 *   SET        key, N, n, then n times: path, name, rows of a chunk
 *   PUT        row, set, dir, class, name, stem, flags, rows, of these in
 *              FILE, mtime, member of the file, n, then n times: member, size,
 *              crc; payload: the values
 *   VALUE      row, member, size, crc; payload: the value
 *   MOVE       dir, name, then as PUT what the file becomes
 *   DROP       dir, name
 *   DISCARD    runs
 *   SEAL       tag, runs
 *   DONE       tag
 *   NODE       path, kind, flags, mtime, target, size, crc; payload: the bytes
 *   ATTR       path, name, has a value, size, crc; payload: the text
 *   RENAME     from, to
 *   REMOVE     path
 *   SEAL_TREE  tag, path
 */
#include "stage_int.h"

#define NO_TEXT UINT32_MAX
#define FLAG_BATCH 1u
#define FLAG_NPY 2u
#define MAX_ROW (UINT64_MAX / 4)
#define MAX_ROWS ((uint64_t)1 << 48)

void put_u32(struct strbuf *out, uint32_t v)
{
	strbuf_put(out, &v, sizeof(v));
}

void put_u64(struct strbuf *out, uint64_t v)
{
	strbuf_put(out, &v, sizeof(v));
}

void put_text(struct strbuf *out, const char *text)
{
	put_u32(out, text ? (uint32_t)strlen(text) : NO_TEXT);
	if (text)
		strbuf_put(out, text, strlen(text) + 1);
}

void put_time(struct strbuf *out, struct timespec t)
{
	put_u64(out, (uint64_t)t.tv_sec);
	put_u32(out, (uint32_t)t.tv_nsec);
}

/* ---- reading ---- */
static const void *take(struct reader *r, size_t n)
{
	const void *p = r->p;

	if (r->failed || n > r->left) {
		r->failed = true;
		return NULL;
	}
	r->p += n;
	r->left -= n;
	return p;
}

uint32_t read_u32(struct reader *r)
{
	const void *p = take(r, sizeof(uint32_t));
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t read_u64(struct reader *r)
{
	const void *p = take(r, sizeof(uint64_t));
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

const char *read_text(struct reader *r)
{
	uint32_t n = read_u32(r);
	const char *p;

	if (r->failed || n == NO_TEXT)
		return NULL;
	p = take(r, (size_t)n + 1);
	if (p && strnlen(p, (size_t)n + 1) != n)
		r->failed = true;
	return r->failed ? NULL : p;
}

const char *read_some_text(struct reader *r)
{
	const char *text = read_text(r);

	if (!text)
		r->failed = true;
	return text;
}

struct timespec read_time(struct reader *r)
{
	struct timespec t = { .tv_sec = (time_t)read_u64(r) };

	t.tv_nsec = (long)(read_u32(r) % 1000000000);
	return t;
}

/* ---- files ---- */
void record_put(struct strbuf *out, const struct put *p)
{
	put_u64(out, p->row);
	put_text(out, p->set);
	put_text(out, p->dir);
	put_text(out, p->class_name);
	put_text(out, p->name);
	put_text(out, p->stem);
	put_u32(out, (p->batch ? FLAG_BATCH : 0) | (p->npy ? FLAG_NPY : 0));
	put_u64(out, p->nrows);
	put_u64(out, p->done);
	put_time(out, p->mtime);
	put_text(out, p->member);
	put_u32(out, (uint32_t)p->nvalues);
	for (size_t i = 0; i < p->nvalues; i++) {
		put_text(out, p->values[i].member);
		put_u64(out, p->values[i].size);
		put_u32(out, p->values[i].crc);
	}
}

static int read_values(struct reader *r, uint64_t at, uint64_t left,
		       struct put *p)
{
	p->nvalues = read_u32(r);
	if (r->failed || p->nvalues > r->left / 16)
		return -EBADMSG;
	p->values = calloc(p->nvalues + 1, sizeof(*p->values));
	if (!p->values)
		return -ENOMEM;
	for (size_t i = 0; i < p->nvalues; i++) {
		struct put_value *v = &p->values[i];

		v->member = read_some_text(r);
		v->size = read_u64(r);
		v->crc = read_u32(r);
		v->at = at;
		if (r->failed || v->size > left)
			return -EBADMSG;
		at += v->size;
		left -= v->size;
	}
	return 0;
}

int record_read_put(struct reader *r, uint64_t payload, uint64_t npayload,
		    struct put *p)
{
	uint32_t flags;

	p->row = read_u64(r);
	p->set = read_some_text(r);
	p->dir = read_some_text(r);
	p->class_name = read_text(r);
	p->name = read_some_text(r);
	p->stem = read_some_text(r);
	flags = read_u32(r);
	p->batch = flags & FLAG_BATCH;
	p->npy = flags & FLAG_NPY;
	p->nrows = read_u64(r);
	p->done = read_u64(r);
	p->mtime = read_time(r);
	p->member = read_some_text(r);
	if (r->failed || p->row > MAX_ROW || !p->nrows ||
	    p->nrows > (p->batch ? MAX_ROWS : 1) || p->done >= p->nrows)
		return -EBADMSG;
	return read_values(r, payload, npayload, p);
}

/* ---- rows of a commit ---- */
void record_runs(struct strbuf *out, const struct run *runs, size_t n)
{
	put_u64(out, n);
	strbuf_put(out, runs, n * sizeof(*runs));
}

int record_read_runs(struct reader *r, struct run **ret_runs, size_t *ret_n)
{
	uint64_t n = read_u64(r);
	struct run *runs;
	const void *p;

	if (r->failed || n > r->left / sizeof(*runs))
		return -EBADMSG;
	p = take(r, n * sizeof(*runs));
	runs = malloc(n * sizeof(*runs) + 1);
	if (!runs)
		return -ENOMEM;
	memcpy(runs, p, n * sizeof(*runs));
	*ret_runs = runs;
	*ret_n = n;
	return 0;
}
