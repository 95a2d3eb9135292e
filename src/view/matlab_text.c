/* SPDX-License-Identifier: MIT */
/* matlab_text.c - MATLAB v7.3 texts: char arrays (UTF-16 code units, their rows
 * along HDF5's last axis) and cells of them (references). */
#include "text_forms.h"

/* Code units of a block, and the longest row where there are several. */
#define BLOCK_UNITS ((uint64_t)1 << 18)
#define ROW_UNITS ((uint64_t)1 << 22)

struct chars {
	uint64_t rows, units; /* units: of a row */
	uint32_t size;	      /* bytes of a unit */
};

static int chars_init(const struct dataset_info *info, struct chars *ret_chars)
{
	struct chars c = { .rows = 1, .units = 1, .size = info->type->size };

	if (info->null || info->type->class != DT_UINT || info->rank > 2 ||
	    c.size > 4)
		return -EINVAL;
	if (info->rank)
		c.units = info->dims[0];
	if (info->rank == 2)
		c.rows = info->dims[1];
	if (!c.units || !c.rows)
		c.units = c.rows = 0;
	if (c.rows > 1 && c.units > ROW_UNITS)
		return -EINVAL;
	*ret_chars = c;
	return 0;
}

/* Units [first, first+n) of rows [row, row+rows): unit u of row r comes to lie
 * at (u * rows + r) * size. */
static int read_units(struct dset *d, const struct chars *c, uint64_t first,
		      uint64_t n, uint64_t row, uint64_t rows,
		      struct blob **ret_blob)
{
	const uint64_t start[DT_MAX_RANK] = { first, row };
	const uint64_t count[DT_MAX_RANK] = { n, rows };
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	int r = blob_new(n * rows * c->size, &b);

	if (r < 0)
		return r;
	r = dset_read(d, start, count, NULL, b->data);
	if (r < 0)
		return r;
	*ret_blob = TAKE(b);
	return 0;
}

struct row {
	const uint8_t *base;
	uint64_t stride, n;
	uint32_t size;
};

static uint32_t unit_at(const struct row *row, uint64_t i)
{
	uint32_t u = 0;

	memcpy(&u, row->base + i * row->stride, row->size);
	return u;
}

static bool is_high(uint32_t u)
{
	return u >= 0xd800 && u < 0xdc00;
}

static bool is_low(uint32_t u)
{
	return u >= 0xdc00 && u < 0xe000;
}

/* Units [from, to) as UTF-8. A pair belongs to whom its first half does; half a
 * pair becomes U+FFFD. */
static void put_units(const struct row *row, uint64_t from, uint64_t to,
		      bool one_line, struct strbuf *out)
{
	for (uint64_t i = from; i < to; i++) {
		uint32_t u = unit_at(row, i);

		if (row->size == 1 && u != '\n') {
			strbuf_putc(out, u); /* bytes of a text already */
		} else if (is_high(u) && i + 1 < row->n &&
			   is_low(unit_at(row, i + 1))) {
			u = 0x10000 + ((u & 0x3ff) << 10);
			put_utf8(out, u | (unit_at(row, ++i) & 0x3ff));
		} else if (is_low(u) && i == from && i > 0 &&
			   is_high(unit_at(row, i - 1))) {
			continue;
		} else if (u == '\n' && one_line) {
			strbuf_puts(out, "\\n");
		} else {
			put_utf8(out, is_high(u) || is_low(u) || u > 0x10ffff
					      ? 0xfffd
					      : u);
		}
	}
}

/* ---- a char array ---- */

bool matlab_char_accepts(const struct view_source *s)
{
	struct chars c;

	return s->matlab == MATLAB_CHAR && !s->matlab_empty &&
	       chars_init(view_info(s), &c) == 0;
}

static uint64_t rows_per_block(const struct chars *c)
{
	return c->units < BLOCK_UNITS ? BLOCK_UNITS / (c->units + 1) + 1 : 1;
}

uint64_t matlab_char_blocks(const struct view_source *s)
{
	struct chars c;

	if (chars_init(view_info(s), &c) < 0)
		return 1;
	return c.rows > 1 ? view_block_count(c.rows, rows_per_block(&c))
			  : view_block_count(c.units, BLOCK_UNITS);
}

/* A single row is the text. Its blocks see one unit more on either side, where
 * a pair may be cut. */
static int render_text(struct dset *d, const struct chars *c, uint64_t block,
		       bool one_line, struct strbuf *out)
{
	uint64_t from = block * BLOCK_UNITS, to, lo, hi;
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct row row;
	int r;

	if (from >= c->units)
		return 0;
	to = c->units - from < BLOCK_UNITS ? c->units : from + BLOCK_UNITS;
	lo = from ? from - 1 : 0;
	hi = to < c->units ? to + 1 : to;
	r = read_units(d, c, lo, hi - lo, 0, 1, &b);
	if (r < 0)
		return r;
	row = (struct row){ b->data, c->size, hi - lo, c->size };
	put_units(&row, from - lo, to - lo, one_line, out);
	return strbuf_error(out);
}

/* Each row, and end behind it. */
static int render_rows(struct dset *d, const struct chars *c, uint64_t first,
		       uint64_t rows, const char *end, struct strbuf *out)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	int r = read_units(d, c, 0, c->units, first, rows, &b);

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < rows; i++) {
		struct row row = { b->data + i * c->size, rows * c->size,
				   c->units, c->size };

		put_units(&row, 0, c->units, true, out);
		strbuf_puts(out, end);
	}
	return strbuf_error(out);
}

int matlab_char_render(const struct view_source *s, uint64_t block,
		       struct strbuf *out)
{
	uint64_t first, rows;
	struct chars c;
	int r = chars_init(view_info(s), &c);

	if (r < 0)
		return r;
	if (c.rows <= 1)
		return render_text(s->dset, &c, block, false, out);
	rows = rows_per_block(&c);
	if (mul_overflow(block, rows, &first) || first >= c.rows)
		return -ERANGE;
	if (rows > c.rows - first)
		rows = c.rows - first;
	return render_rows(s->dset, &c, first, rows, "\n", out);
}

/* ---- a cell array: a line for each element ---- */

#define CELL_BLOCK 256
#define CELLS_LOOKED_AT 8
#define CELL_UNITS ((uint64_t)1 << 20)

static bool attr_is(struct store *store, struct obj_id id, const char *name,
		    const char *want)
{
	CLEANUP(array_freep) struct array *a = NULL;
	const char *text;
	size_t n;

	if (store_attr(store, id, name, &a) < 0 || a->null || a->count != 1)
		return false;
	if (!want)
		return dtype_is_number(a->type) &&
		       dtype_to_double(a->type, array_at(a, 0)) != 0;
	if (!view_is_string(a->type))
		return false;
	dtype_string(a->type, array_at(a, 0), &text, &n);
	return n == strlen(want) && !memcmp(text, want, n);
}

/* The char array that a reference names. -ENOENT: it is none, or too long for
 * a line. */
static int open_chars(const struct view_source *s, const char *path,
		      struct dset **ret_dset, struct chars *ret_chars)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	struct chars c = { 0 };
	struct obj_id id;
	int r;

	if (!path)
		return -ENOENT;
	r = s->follow(s->arg, path, &d);
	if (r == -ESTALE || r == -EAGAIN || r == -ENOMEM)
		return r;
	if (r < 0)
		return -ENOENT;
	id = dset_info(d)->obj.id;
	if (!attr_is(s->store, id, "MATLAB_class", "char"))
		return -ENOENT;
	if (!attr_is(s->store, id, "MATLAB_empty", NULL)) {
		uint64_t units;

		if (chars_init(dset_info(d), &c) < 0 ||
		    mul_overflow(c.rows, c.units, &units) || units > CELL_UNITS)
			return -ENOENT;
	}
	*ret_dset = TAKE(d);
	*ret_chars = c;
	return 0;
}

static int put_cell(const struct view_source *s, const char *path,
		    struct strbuf *out)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	struct chars c;
	int r = open_chars(s, path, &d, &c);

	if (r == -ENOENT) {
		if (path)
			put_one_line(out, path, strlen(path));
		return 0;
	}
	if (r < 0)
		return r;
	if (c.rows > 1)
		return render_rows(d, &c, 0, c.rows, "\\n", out);
	for (uint64_t b = 0; b * BLOCK_UNITS < c.units; b++) {
		r = render_text(d, &c, b, true, out);
		if (r < 0)
			return r;
	}
	return 0;
}

struct cell_lines {
	const struct view_source *s;
	struct strbuf *out; /* NULL: only look whether all are char */
};

static int put_cells(void *arg, const struct array *a, uint64_t first)
{
	struct cell_lines *l = arg;
	const char *path;
	struct chars c;
	int r;

	for (uint64_t i = 0; i < a->count; i++) {
		CLEANUP(dset_unrefp) struct dset *d = NULL;

		memcpy(&path, array_at(a, i), sizeof(path));
		r = l->out ? put_cell(l->s, path, l->out)
			   : open_chars(l->s, path, &d, &c);
		if (r < 0)
			return r;
		if (l->out)
			strbuf_putc(l->out, '\n');
	}
	return l->out ? strbuf_error(l->out) : 0;
}

bool matlab_cell_accepts(const struct view_source *s)
{
	const struct dataset_info *info = view_info(s);
	struct cell_lines l = { s, NULL };
	uint64_t n =
		info->count < CELLS_LOOKED_AT ? info->count : CELLS_LOOKED_AT;

	return s->matlab == MATLAB_CELL && !s->matlab_empty && s->follow &&
	       info->type->class == DT_REF && info->rank <= 2 && n &&
	       cells_walk(s->dset, 0, n, put_cells, &l) == 0;
}

uint64_t matlab_cell_blocks(const struct view_source *s)
{
	return view_block_count(view_info(s)->count, CELL_BLOCK);
}

int matlab_cell_render(const struct view_source *s, uint64_t block,
		       struct strbuf *out)
{
	struct cell_lines l = { s, out };

	return text_block(s, block, CELL_BLOCK, put_cells, &l);
}
