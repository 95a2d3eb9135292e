/* SPDX-License-Identifier: MIT */
/* view_numbers.c - numbers of at most two axes as text: one row a line, columns
 * right-aligned to a width fixed by the type. A cell's place is arithmetic, so
 * any range can be read without the rest. np.loadtxt reads it. */
#include "view_int.h"

#define MAX_COLUMNS 64

struct grid {
	const struct dtype *type;
	uint64_t rows, columns, line; /* line: bytes with its newline */
	unsigned cell;		      /* width with the blank behind it */
	bool transposed;	      /* MATLAB: rows are the second axis */
};

static int grid_init(const struct view_source *s, struct grid *ret_grid)
{
	const struct dataset_info *info = view_info(s);
	struct grid g = { .rows = 1, .columns = 1 };
	struct view_shape sh;
	int r = view_shape(info, &sh);

	if (r < 0)
		return r;
	g.type = sh.type;
	g.transposed =
		s->matlab != MATLAB_NONE && sh.rank == 2 && info->rank == 2;
	g.cell = number_width(sh.type) + 1;
	if (g.cell == 1 || sh.rank > 2)
		return -EINVAL;
	if (sh.rank)
		g.rows = sh.dims[g.transposed];
	if (sh.rank == 2)
		g.columns = sh.dims[!g.transposed];
	if (!g.columns || g.columns > MAX_COLUMNS)
		return -EINVAL;
	g.line = g.columns * g.cell;
	*ret_grid = g;
	return 0;
}

static int size(const struct view_source *s, uint64_t index, uint64_t *ret_size)
{
	struct grid g;
	uint64_t bytes;
	int r = grid_init(s, &g);

	if (r < 0)
		return r;
	if (mul_overflow(g.rows, g.line, &bytes) || bytes > INT64_MAX)
		return -EFBIG;
	*ret_size = bytes;
	return 0;
}

/* Values of rows [first, first+n), packed as they are stored. */
static int read_rows(const struct view_source *s, const struct grid *g,
		     uint64_t first, uint64_t n, struct blob **ret_blob)
{
	const struct dataset_info *info = view_info(s);
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t start[DT_MAX_RANK] = { 0 }, count[DT_MAX_RANK];
	int r = blob_new(n * g->columns * g->type->size, &b);

	if (r < 0)
		return r;
	memcpy(count, info->dims, sizeof(count));
	start[g->transposed] = first;
	count[g->transposed] = n;
	/* One row may be but a part of a scalar array type. */
	if (!info->rank && info->type->class == DT_ARRAY) {
		struct slice sl;

		slice_all(info, &sl);
		r = slice_read_bytes(s->dset, &sl,
				     first * g->columns * g->type->size,
				     b->size, b->data);
	} else {
		r = dset_read(s->dset, start, count, NULL, b->data);
	}
	if (r < 0)
		return r;
	*ret_blob = TAKE(b);
	return 0;
}

static void put_row(const struct grid *g, const uint8_t *value, uint64_t stride,
		    char *line)
{
	char text[NUMBER_MAX];

	for (uint64_t c = 0; c < g->columns; c++, value += stride) {
		size_t n = number_text(g->type, value, text);
		size_t pad = g->cell - 1 - n;

		memset(line, ' ', pad);
		memcpy(line + pad, text, n);
		line += g->cell;
		line[-1] = c + 1 < g->columns ? ' ' : '\n';
	}
}

static int read_text(const struct view_source *s, uint64_t index,
		     uint64_t offset, size_t n, uint8_t *buf)
{
	char line[MAX_COLUMNS * (NUMBER_MAX + 1)];
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t first, rows, step, stride, bytes;
	struct grid g;
	int r = grid_init(s, &g);

	if (r < 0)
		return r;
	r = size(s, index, &bytes);
	if (r < 0)
		return r;
	if (offset > bytes || n > bytes - offset)
		return -ERANGE;
	if (!n)
		return 0;
	first = offset / g.line;
	rows = (offset + n - 1) / g.line - first + 1;
	r = read_rows(s, &g, first, rows, &b);
	if (r < 0)
		return r;
	step = (g.transposed ? 1 : g.columns) * g.type->size;
	stride = (g.transposed ? rows : 1) * g.type->size;
	offset -= first * g.line;
	for (uint64_t i = 0; i < rows; i++, offset = 0) {
		size_t m = g.line - offset < n ? g.line - offset : n;

		put_row(&g, b->data + i * step, stride, line);
		memcpy(buf, line + offset, m);
		buf += m;
		n -= m;
	}
	return 0;
}

static bool accepts(const struct view_source *s)
{
	uint64_t bytes;

	return view_is_other(s) && !s->matlab_empty &&
	       s->matlab != MATLAB_CHAR && size(s, 0, &bytes) == 0;
}

const struct view_ops view_numbers = {
	.name = "numbers",
	.suffix = ".txt",
	.accepts = accepts,
	.size = size,
	.read = read_text,
};
