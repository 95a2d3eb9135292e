/* SPDX-License-Identifier: MIT */
/* view_raw.c - element bytes as they are: opaque datasets as .bin, and volumes
 * as .nrrd (http://teem.sourceforge.net/nrrd/format.html), whose first axis is
 * the fastest. */
#include <math.h>

#include "view_int.h"

/* ---- D.bin ---- */

static int bin_size(const struct view_source *s, uint64_t index,
		    uint64_t *ret_size)
{
	struct slice sl;

	slice_all(view_info(s), &sl);
	return slice_bytes(&sl, view_info(s)->type->size, ret_size);
}

static int bin_read(const struct view_source *s, uint64_t index,
		    uint64_t offset, size_t n, uint8_t *buf)
{
	struct slice sl;

	slice_all(view_info(s), &sl);
	return slice_read_bytes(s->dset, &sl, offset, n, buf);
}

static bool bin_accepts(const struct view_source *s)
{
	const struct dtype *t = view_info(s)->type;
	uint64_t size;

	while (t->class == DT_ARRAY)
		t = t->base;
	return view_is_other(s) && t->class == DT_OPAQUE &&
	       bin_size(s, 0, &size) == 0;
}

const struct view_ops view_bin = {
	.name = "bin",
	.suffix = ".bin",
	.accepts = bin_accepts,
	.size = bin_size,
	.read = bin_read,
};

/* ---- D.nrrd ---- */

static const struct {
	enum dtype_class class;
	uint32_t size;
	const char *name;
} nrrd_types[] = {
	{ DT_UINT, 1, "uint8" },  { DT_INT, 1, "int8" },
	{ DT_UINT, 2, "uint16" }, { DT_INT, 2, "int16" },
	{ DT_UINT, 4, "uint32" }, { DT_INT, 4, "int32" },
	{ DT_UINT, 8, "uint64" }, { DT_INT, 8, "int64" },
	{ DT_FLOAT, 4, "float" }, { DT_FLOAT, 8, "double" },
	{ DT_BOOL, 1, "uint8" },
};

static const char *nrrd_type(const struct dtype *t)
{
	t = dtype_strip_enum(t);
	for (size_t i = 0; i < ARRAY_SIZE(nrrd_types); i++)
		if (nrrd_types[i].class == t->class &&
		    nrrd_types[i].size == t->size)
			return nrrd_types[i].name;
	return NULL;
}

static void put_spacings(const struct view_source *s,
			 const struct view_shape *sh, struct strbuf *out)
{
	char buf[NUMBER_MAX];

	if (!s->nspacing || s->nspacing > sh->rank)
		return;
	strbuf_puts(out, "spacings:");
	for (unsigned k = sh->rank; k-- > 0;) {
		double v = k < s->nspacing ? s->spacing[k] : NAN;

		double_text(isfinite(v) && v > 0 ? v : NAN, buf);
		strbuf_printf(out, " %s", buf);
	}
	strbuf_putc(out, '\n');
}

static int nrrd_header(const struct view_source *s, struct strbuf *out)
{
	const char *type;
	struct view_shape sh;
	int r = view_shape(view_info(s), &sh);

	if (r < 0)
		return r;
	type = nrrd_type(sh.type);
	if (!type || sh.rank < 3 || sh.rank > 4)
		return -EINVAL;
	strbuf_printf(out, "NRRD0004\ntype: %s\ndimension: %u\nsizes:", type,
		      sh.rank);
	for (unsigned k = sh.rank; k-- > 0;) {
		if (!sh.dims[k])
			return -EINVAL;
		strbuf_printf(out, " %llu", (unsigned long long)sh.dims[k]);
	}
	strbuf_puts(out, "\nendian: little\nencoding: raw\n");
	put_spacings(s, &sh, out);
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}

static int nrrd_size(const struct view_source *s, uint64_t index,
		     uint64_t *ret_size)
{
	CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
	uint64_t data, size;
	int r = nrrd_header(s, &header);

	if (r < 0)
		return r;
	r = bin_size(s, index, &data);
	if (r < 0)
		return r;
	if (add_overflow(header.len, data, &size) || size > INT64_MAX)
		return -EFBIG;
	*ret_size = size;
	return 0;
}

static int nrrd_read(const struct view_source *s, uint64_t index,
		     uint64_t offset, size_t n, uint8_t *buf)
{
	CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
	size_t m = 0;
	int r = nrrd_header(s, &header);

	if (r < 0)
		return r;
	if (offset < header.len) {
		m = header.len - offset < n ? header.len - offset : n;
		memcpy(buf, header.buf + offset, m);
	}
	if (m == n)
		return 0;
	return bin_read(s, index, offset + m - header.len, n - m, buf + m);
}

static bool nrrd_accepts(const struct view_source *s)
{
	uint64_t size;

	return !view_info(s)->null && !s->matlab_empty &&
	       nrrd_size(s, 0, &size) == 0;
}

const struct view_ops view_nrrd = {
	.name = "nrrd",
	.suffix = ".nrrd",
	.accepts = nrrd_accepts,
	.size = nrrd_size,
	.read = nrrd_read,
};
