/* SPDX-License-Identifier: MIT */
/* accept.c - the verdict on a file that was copied in, and .npy files as rows of a
 * member. */
#include <stdio.h>

#include "accept_int.h"

#define SAVE_DTYPE "save it with the dataset's dtype and shape"

/* ---- a row of a member ---- */
/* Its shape as NumPy would have it: array types lend their axes. */
struct row_shape {
	unsigned rank;
	uint64_t dims[DT_MAX_RANK];
	const struct dtype *type;
};

/* False: more axes than there may be. */
static bool row_shape(const struct stage_member *m, struct row_shape *s)
{
	s->rank = 0;
	s->type = m->type;
	for (unsigned k = 0; k < m->rank; k++)
		if (k != m->axis)
			s->dims[s->rank++] = m->dims[k];
	for (; s->type->class == DT_ARRAY; s->type = s->type->base)
		for (unsigned k = 0; k < s->type->rank; k++) {
			if (s->rank == DT_MAX_RANK)
				return false;
			s->dims[s->rank++] = s->type->dims[k];
		}
	return true;
}

uint64_t stage_row_bytes(const struct stage_member *m)
{
	uint64_t size = m->type->size;

	if (dtype_has_pointers(m->type))
		return 0;
	for (unsigned k = 0; k < m->rank; k++)
		if (k != m->axis && mul_overflow(size, m->dims[k], &size))
			return UINT64_MAX;
	return size;
}

void accepted_done(struct accepted *a)
{
	blob_unref(a->rows);
	a->rows = NULL;
}

int accepted_row(uint64_t size, struct accepted *ret)
{
	struct accepted a = { .nrows = 1 };
	int r = size > PTRDIFF_MAX ? -EFBIG : blob_new(size, &a.rows);

	if (r < 0)
		return r;
	if (size)
		memset(a.rows->data, 0, size);
	*ret = a;
	return 0;
}

/* ---- refusals ---- */
static void say_picture(const struct stage_member *m, struct strbuf *out)
{
	struct picture_want w = { .width = m->shape.width,
				  .height = m->shape.height,
				  .channels = m->shape.channels,
				  .bits = m->norm ? m->norm->bits : 0 };

	if (!w.bits && m->layout && m->desc)
		w.bits = norm_bits(m->layout, m->desc);
	if (w.bits)
		picture_want_say(&w, out);
	else
		strbuf_printf(out, "%u x %u pixels", w.width, w.height);
}

static void say_member(const struct stage_member *m, struct strbuf *out)
{
	struct row_shape s;

	strbuf_printf(out, "%s holds ", m->name);
	if (m->role == STAGE_PICTURE)
		say_picture(m, out);
	else if (m->role == STAGE_ENCODED)
		strbuf_printf(out, "%s files",
			      m->encoded ? m->encoded : "image");
	else if (row_shape(m, &s))
		shape_say(s.rank, s.dims, s.type, out);
	else
		type_say(m->type, out);
}

int member_refuse(const struct stage_member *m, struct refusal *f, int r,
		  const char *remedy, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf holds = STRBUF_INIT;
	CLEANUP(freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	say_member(m, &holds);
	if (!text || strbuf_error(&holds) < 0)
		return -ENOMEM;
	return refusal_set(f, r, remedy, "%s; %s", text, holds.buf);
}

const char *decode_remedy(int r, const uint8_t *bytes, uint64_t size)
{
	if (r == -EFBIG)
		return "make it smaller";
	return picture_format(bytes, size) ? "check it, or convert it to PNG"
					   : "copy an image, or a .npy file";
}

/* What a cast said, with what m holds. */
static int refuse_elements(const struct stage_member *m, int r,
			   const struct refusal *why, struct refusal *f)
{
	if (!why->reason)
		return r;
	return member_refuse(m, f, r, why->remedy ? why->remedy : SAVE_DTYPE,
			     "%s", why->reason);
}

/* ---- .npy ---- */
/* What MATLAB wrote is shown in its shape: the same bytes, axes from the last. */
static void turn_matlab(const struct stage_member *m, struct npy *n)
{
	if (!m->desc || !facts_text(&m->desc->facts, "MATLAB_class"))
		return;
	for (unsigned i = 0; i < n->rank / 2; i++) {
		uint64_t d = n->dims[i];

		n->dims[i] = n->dims[n->rank - 1 - i];
		n->dims[n->rank - 1 - i] = d;
	}
	n->fortran = !n->fortran;
}

static int refuse_shape(const struct stage_member *m, const struct npy *n,
			struct refusal *f)
{
	CLEANUP(strbuf_done) struct strbuf s = STRBUF_INIT;

	shape_say(n->rank, n->dims, n->type, &s);
	if (strbuf_error(&s) < 0)
		return -ENOMEM;
	return member_refuse(m, f, -EINVAL,
			     "save one row, or many along one more axis in "
			     "front",
			     "a .npy file of %s", s.buf);
}

static int count_rows(const struct stage_member *m, const struct npy *n,
		      const struct row_shape *s, struct accepted *a,
		      struct refusal *f)
{
	unsigned more = n->rank - s->rank;

	if (n->rank < s->rank || more > 1 ||
	    memcmp(n->dims + more, s->dims, s->rank * sizeof(*s->dims)))
		return refuse_shape(m, n, f);
	a->batch = more;
	a->nrows = more ? n->dims[0] : 1;
	return a->nrows ? 0 : refuse_shape(m, n, f);
}

/* A text, or a sequence of bytes: what the one row's element points to. */
static int varying_row(const struct stage_member *m, const struct npy *n,
		       const struct blob *elements, struct accepted *a,
		       struct refusal *f)
{
	bool bytes = m->type->class == DT_VLEN && n->rank == 1 &&
		     m->type->base->class == n->type->class &&
		     m->type->base->size == 1 && n->type->size == 1;
	bool text = m->type->class == DT_VLSTR && n->rank == 0 &&
		    n->type->class == DT_STRING;
	const char *from = (const char *)elements->data;
	size_t size = elements->size;

	if (!bytes && !text)
		return refuse_shape(m, n, f);
	if (text)
		dtype_string(n->type, elements->data, &from, &size);
	if (text && memchr(from, 0, size))
		return member_refuse(m, f, -EINVAL, "take it out",
				     "a text with a NUL byte in it");
	a->nrows = 1;
	return blob_from(from, size, &a->rows);
}

static int cast_rows(const struct stage_member *m, const struct npy *n,
		     const struct row_shape *s, struct blob **elements,
		     struct accepted *a, struct refusal *f)
{
	struct refusal why = { 0 };
	uint64_t size;
	int r;

	if (mul_overflow(a->nrows, stage_row_bytes(m), &size) ||
	    size > PTRDIFF_MAX)
		return -EFBIG;
	if (s->type->class == n->type->class && dtype_is_number(s->type) &&
	    s->type->class != DT_ENUM && size == (*elements)->size) {
		a->rows = TAKE(*elements);
		return 0;
	}
	r = blob_new(size, &a->rows);
	if (r < 0)
		return r;
	if (size)
		memset(a->rows->data, 0, size);
	r = cast_elements(n->type, (*elements)->data,
			  (*elements)->size / n->type->size, s->type,
			  a->rows->data, &why);
	if (r < 0)
		r = refuse_elements(m, r, &why, f);
	refusal_done(&why);
	return r;
}

static int accept_npy(const struct stage_member *m, const uint8_t *bytes,
		      uint64_t size, struct accepted *ret, struct refusal *f)
{
	CLEANUP(npy_done) struct npy n = { 0 };
	CLEANUP(accepted_done) struct accepted a = { 0 };
	CLEANUP(blob_unrefp) struct blob *elements = NULL;
	bool varies = m->type->class == DT_VLSTR || m->type->class == DT_VLEN;
	struct row_shape s;
	int r = npy_parse(bytes, size, &n, f);

	if (r < 0)
		return r;
	turn_matlab(m, &n);
	if (!row_shape(m, &s) || (varies && s.rank) ||
	    (!varies && !dtype_is_plain(m->type)))
		return member_refuse(m, f, -EOPNOTSUPP, NULL,
				     "rows of it are not written from .npy "
				     "files");
	if (!varies)
		r = count_rows(m, &n, &s, &a, f);
	if (r == 0)
		r = npy_elements(&n, bytes, &elements);
	if (r == -EILSEQ)
		return member_refuse(m, f, -EINVAL, "write it again",
				     "a .npy file of text that is not Unicode");
	if (r == 0)
		r = varies ? varying_row(m, &n, elements, &a, f)
			   : cast_rows(m, &n, &s, &elements, &a, f);
	if (r < 0)
		return r;
	*ret = a;
	a.rows = NULL;
	return 0;
}

/* ---- all files ---- */
static int refuse_file(const struct stage_member *m, const uint8_t *bytes,
		       uint64_t size, struct refusal *f)
{
	const char *format = picture_format(bytes, size);

	return member_refuse(m, f, -EINVAL,
			     "copy a .npy file, or set it with setfattr",
			     "%s%s", format ? format : "no",
			     format ? " image" : " .npy file");
}

int accept_file(const struct stage_member *m, const char *name,
		const uint8_t *bytes, uint64_t size, enum fit fit,
		const uint8_t *keep, struct accepted *ret, struct refusal *f)
{
	if (m->role == STAGE_ENCODED)
		return accept_encoded(m, bytes, size, ret, f);
	if (npy_is_name(name) || npy_is(bytes, size))
		return accept_npy(m, bytes, size, ret, f);
	if (m->role == STAGE_PICTURE)
		return accept_picture(m, bytes, size, fit, keep, ret, f);
	return refuse_file(m, bytes, size, f);
}
