/* SPDX-License-Identifier: MIT */
/* view_npy.c - NumPy's format (NEP 1): a header that says what the elements are, and
 * the elements. D.npy, one row of it, and slices of it are one thing: a
 * selection of the dataset behind a header. */
#include "view_int.h"

static bool compound_holds(const struct dtype *t);

/* Elements that a .npy holds as they lie in memory. */
bool npy_holds(const struct dtype *t)
{
	switch (t->class) {
	case DT_UINT:
	case DT_INT:
	case DT_FLOAT:
	case DT_BOOL:
		return true;
	case DT_COMPLEX:
		return t->size == 8 || t->size == 16;
	case DT_STRING:
		return t->size > 0;
	case DT_ENUM:
	case DT_ARRAY:
		return npy_holds(t->base);
	case DT_COMPOUND:
		return compound_holds(t);
	default:
		return false;
	}
}

/* Members of a compound follow each other without overlap: a descr list has no
 * offsets. The store gives them so; sorted is all that is asked here. */
static bool compound_holds(const struct dtype *t)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < t->nmembers; i++) {
		const struct dtype_member *m = &t->members[i];

		if (m->offset < end || !npy_holds(m->type))
			return false;
		end = (uint64_t)m->offset + m->type->size;
	}
	return t->nmembers && end <= t->size;
}

/* ---- MATLAB: the same bytes in MATLAB's shape ---- */

static const struct {
	const char *class, *descr;
} matlab_descrs[] = {
	{ "double", "'<f8'" }, { "single", "'<f4'" }, { "logical", "'|b1'" },
	{ "char", "'<u2'" },   { "int8", "'|i1'" },   { "uint8", "'|u1'" },
	{ "int16", "'<i2'" },  { "uint16", "'<u2'" }, { "int32", "'<i4'" },
	{ "uint32", "'<u4'" }, { "int64", "'<i8'" },  { "uint64", "'<u8'" },
};

static const char *matlab_descr(const struct view_source *s)
{
	const char *class =
		s->desc ? facts_text(&s->desc->facts, "MATLAB_class") : NULL;

	for (size_t i = 0; class && i < ARRAY_SIZE(matlab_descrs); i++)
		if (!strcmp(class, matlab_descrs[i].class))
			return matlab_descrs[i].descr;
	return NULL;
}

/* MATLAB_empty: the dataset's values are the dims of an array of no elements.
 * One that says otherwise is shown as the empty array all the same. */
static int matlab_empty_shape(const struct view_source *s, unsigned *ret_rank,
			      uint64_t *ret_dims)
{
	const struct dataset_info *info = view_info(s);
	uint64_t dims[DT_MAX_RANK], raw[DT_MAX_RANK], at[DT_MAX_RANK] = { 0 };
	const struct dtype *t = dtype_strip_enum(info->type);
	bool empty = false;
	int r;

	if ((t->class != DT_UINT && t->class != DT_INT &&
	     t->class != DT_FLOAT) ||
	    t->size > sizeof(raw[0]) || info->count > DT_MAX_RANK)
		return -EINVAL;
	if (info->count) {
		r = dset_read(s->dset, at, info->dims, NULL, raw);
		if (r < 0)
			return r;
	}
	for (uint64_t i = 0; i < info->count; i++) {
		double v = dtype_to_double(t, (uint8_t *)raw + i * t->size);

		if (!(v >= 0 && v < 0x1p62))
			return -EINVAL;
		dims[i] = (uint64_t)v;
		empty |= !dims[i];
	}
	*ret_rank = empty ? info->count : 2;
	for (unsigned i = 0; i < *ret_rank; i++)
		ret_dims[i] = empty ? dims[i] : 0;
	return 0;
}

/* ---- header ---- */

#define NPY_MAGIC "\x93NUMPY"

/* Spaces up to a multiple of 64, so that the data is aligned when mapped. */
static int wrap_header(const struct strbuf *dict, struct strbuf *out)
{
	bool ascii = true;
	size_t head, total;
	uint32_t len;

	for (size_t i = 0; i < dict->len; i++)
		ascii &= (unsigned char)dict->buf[i] < 0x80;
	head = dict->len + 1 + 10 > 65535 - 64 || !ascii ? 12 : 10;
	total = (head + dict->len + 1 + 63) / 64 * 64;
	if (total > UINT32_MAX)
		return -EFBIG;
	len = total - head;
	strbuf_put(out, NPY_MAGIC, 6);
	strbuf_putc(out, !ascii ? 3 : head == 12 ? 2 : 1);
	strbuf_putc(out, 0);
	strbuf_put(out, &len, head - 8);
	strbuf_put(out, dict->buf, dict->len);
	strbuf_pad(out, ' ', len - dict->len - 1);
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}

static int put_header(const struct view_source *s, const struct dtype *t,
		      unsigned rank, const uint64_t *dims, bool fortran,
		      struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf dict = STRBUF_INIT;
	const char *descr = s->matlab_empty ? matlab_descr(s) : NULL;

	if (s->matlab == MATLAB_LOGICAL && t->size == 1 && !descr)
		descr = "'|b1'";
	strbuf_puts(&dict, "{'descr': ");
	if (descr)
		strbuf_puts(&dict, descr);
	else
		npy_descr(t, &dict);
	strbuf_printf(&dict, ", 'fortran_order': %s, 'shape': (",
		      fortran ? "True" : "False");
	for (unsigned k = 0; k < rank; k++)
		strbuf_printf(&dict, "%s%llu%s", k ? " " : "",
			      (unsigned long long)dims[k],
			      k + 1 < rank || rank == 1 ? "," : "");
	strbuf_puts(&dict, "), }");
	if (strbuf_error(&dict) < 0)
		return -ENOMEM;
	return wrap_header(&dict, out);
}

/* ---- a selection as a file ---- */

struct npy {
	struct strbuf header;
	uint64_t data; /* bytes behind it */
};
static void npy_done(struct npy *n)
{
	strbuf_done(&n->header);
}

static void reverse_dims(unsigned rank, uint64_t *dims)
{
	for (unsigned i = 0; i < rank / 2; i++) {
		uint64_t d = dims[i];

		dims[i] = dims[rank - 1 - i];
		dims[rank - 1 - i] = d;
	}
}

/* T2: the axes of array types follow. */
static int put_array_dims(const struct dtype **t, unsigned *rank,
			  uint64_t *dims)
{
	for (; (*t)->class == DT_ARRAY; *t = (*t)->base)
		for (unsigned k = 0; k < (*t)->rank; k++) {
			if (*rank == DT_MAX_RANK)
				return -E2BIG;
			dims[(*rank)++] = (*t)->dims[k];
		}
	return 0;
}

static int npy_init(const struct view_source *s, const struct slice *sl,
		    bool matlab, struct npy *n)
{
	const struct dtype *t = view_info(s)->type;
	uint64_t dims[DT_MAX_RANK];
	unsigned rank = 0;
	int r;

	r = slice_bytes(sl, t->size, &n->data);
	if (r < 0)
		return r;
	for (unsigned k = 0; k < sl->rank; k++)
		if (!sl->drop[k])
			dims[rank++] = sl->count[k];
	r = put_array_dims(&t, &rank, dims);
	if (r < 0)
		return r;
	if (matlab)
		reverse_dims(rank, dims);
	if (s->matlab_empty && matlab) {
		r = matlab_empty_shape(s, &rank, dims);
		n->data = 0;
	}
	for (unsigned k = 0; r >= 0 && k < rank; k++)
		if (dims[k] > INT64_MAX)
			r = -EFBIG;
	if (r < 0)
		return r;
	return put_header(s, t, rank, dims, matlab, &n->header);
}

static int npy_size(const struct view_source *s, const struct slice *sl,
		    bool matlab, uint64_t *ret_size)
{
	CLEANUP(npy_done) struct npy n = { STRBUF_INIT, 0 };
	uint64_t size;
	int r = npy_init(s, sl, matlab, &n);

	if (r < 0)
		return r;
	if (add_overflow(n.header.len, n.data, &size) || size > INT64_MAX)
		return -EFBIG;
	*ret_size = size;
	return 0;
}

static int npy_read(const struct view_source *s, const struct slice *sl,
		    bool matlab, uint64_t offset, size_t n, uint8_t *buf)
{
	CLEANUP(npy_done) struct npy f = { STRBUF_INIT, 0 };
	int r = npy_init(s, sl, matlab, &f);

	if (r < 0)
		return r;
	if (offset < f.header.len) {
		size_t m = f.header.len - offset;

		m = m < n ? m : n;
		memcpy(buf, f.header.buf + offset, m);
		offset += m;
		buf += m;
		n -= m;
	}
	if (!n)
		return 0;
	offset -= f.header.len;
	if (offset > f.data || n > f.data - offset)
		return -ERANGE;
	return slice_read_bytes(s->dset, sl, offset, n, buf);
}

/* ---- D.npy ---- */

static int whole_size(const struct view_source *s, uint64_t index,
		      uint64_t *ret_size)
{
	struct slice sl;

	slice_all(view_info(s), &sl);
	return npy_size(s, &sl, s->matlab != MATLAB_NONE, ret_size);
}

static int whole_read(const struct view_source *s, uint64_t index,
		      uint64_t offset, size_t n, uint8_t *buf)
{
	struct slice sl;

	slice_all(view_info(s), &sl);
	return npy_read(s, &sl, s->matlab != MATLAB_NONE, offset, n, buf);
}

static bool whole_accepts(const struct view_source *s)
{
	const struct dataset_info *info = view_info(s);
	uint64_t size;

	return !info->null && npy_holds(info->type) &&
	       whole_size(s, 0, &size) == 0;
}

const struct view_ops view_npy = {
	.name = "npy",
	.suffix = ".npy",
	.accepts = whole_accepts,
	.size = whole_size,
	.read = whole_read,
};

/* ---- D/000000.npy: one row ---- */

static int row_slice(const struct view_source *s, uint64_t index,
		     struct slice *ret_slice)
{
	const struct dataset_info *info = view_info(s);

	if (!info->rank || index >= info->dims[0])
		return -ERANGE;
	slice_all(info, ret_slice);
	ret_slice->start[0] = index;
	ret_slice->count[0] = 1;
	ret_slice->drop[0] = true;
	return 0;
}

static int row_size(const struct view_source *s, uint64_t index,
		    uint64_t *ret_size)
{
	struct slice sl;
	int r = row_slice(s, index, &sl);

	return r < 0 ? r : npy_size(s, &sl, s->matlab != MATLAB_NONE, ret_size);
}

static int row_read(const struct view_source *s, uint64_t index,
		    uint64_t offset, size_t n, uint8_t *buf)
{
	struct slice sl;
	int r = row_slice(s, index, &sl);

	if (r < 0)
		return r;
	return npy_read(s, &sl, s->matlab != MATLAB_NONE, offset, n, buf);
}

static bool row_accepts(const struct view_source *s)
{
	return s->sample_row && !s->matlab_empty && view_info(s)->rank &&
	       whole_accepts(s);
}

const struct view_ops view_row = {
	.name = "row",
	.suffix = ".npy",
	.accepts = row_accepts,
	.size = row_size,
	.read = row_read,
};

/* ---- D[SLICES].npy: axes as they are stored, MATLAB's too ---- */

int slice_size(const struct view_source *s, const struct slice *sl,
	       uint64_t *ret_size)
{
	if (!npy_holds(view_info(s)->type))
		return -ENOENT;
	return npy_size(s, sl, false, ret_size);
}

int slice_read(const struct view_source *s, const struct slice *sl,
	       uint64_t offset, size_t n, uint8_t *buf)
{
	return npy_read(s, sl, false, offset, n, buf);
}

/* ---- elements that lie in memory ---- */

static int elements_init(const struct dtype *t, unsigned rank,
			 const uint64_t *dims, uint64_t size, struct npy *n)
{
	const struct view_source none = { 0 };
	uint64_t all[DT_MAX_RANK];
	int r;

	if (!npy_holds(t))
		return -EINVAL;
	memcpy(all, dims, rank * sizeof(*dims));
	r = put_array_dims(&t, &rank, all);
	n->data = size;
	return r < 0 ? r : put_header(&none, t, rank, all, false, &n->header);
}

int npy_size_of_elements(const struct dtype *t, unsigned rank,
			 const uint64_t *dims, uint64_t size,
			 uint64_t *ret_size)
{
	CLEANUP(npy_done) struct npy n = { STRBUF_INIT, 0 };
	int r = elements_init(t, rank, dims, size, &n);

	if (r == 0 && add_overflow(n.header.len, size, ret_size))
		r = -EFBIG;
	return r;
}

int npy_of_elements(const struct dtype *t, unsigned rank, const uint64_t *dims,
		    const void *elements, uint64_t size, struct blob **ret_blob)
{
	CLEANUP(npy_done) struct npy n = { STRBUF_INIT, 0 };
	int r = elements_init(t, rank, dims, size, &n);

	if (r < 0)
		return r;
	strbuf_put(&n.header, elements, size);
	return strbuf_to_blob(&n.header, ret_blob);
}
