/* SPDX-License-Identifier: MIT */
/* object_replace.c - a file saved over a dataset, with -o edit: a .npy gives its
 * values, an image those of a single picture. Shape and type stay. */
#include <inttypes.h>
#include <stdio.h>

#include "objects_int.h"

/* Elements that are converted at a time. */
#define BLOCK_BYTES (1u << 20)

struct replacement {
	struct ns *ns;
	const char *path;
	int fd; /* packed elements in memory form, */
	uint64_t offset;
	const struct array *picture; /* or a picture's values */
};

static int act_replace(void *arg, struct writer *w, struct refusal *f)
{
	const struct replacement *x = arg;

	(void)f;
	return x->picture ? writer_overwrite(w, x->path, 0, 0, x->picture)
			  : writer_replace(w, x->path, x->fd, x->offset);
}

static int replace(struct object *o, struct replacement *x)
{
	uint32_t number = o->number;
	int r = ns_transact(x->ns, x->path, act_replace, x);

	if (r == 0)
		object_rewritten(x->ns, number);
	return r;
}

/* ---- .npy ---- */

static void put_shape(struct strbuf *out, unsigned rank, const uint64_t *dims)
{
	strbuf_putc(out, '(');
	for (unsigned i = 0; i < rank; i++)
		strbuf_printf(out, "%s%" PRIu64, i ? ", " : "", dims[i]);
	strbuf_puts(out, rank == 1 ? ",)" : ")");
}

static bool same_shape(const struct npy *n, const struct dataset_info *in)
{
	if (in->null || n->rank != in->rank)
		return false;
	for (unsigned i = 0; i < n->rank; i++)
		if (n->dims[i] != in->dims[i])
			return false;
	return true;
}

static int check_shape(const struct npy *n, const struct dataset_info *in,
		       struct refusal *f)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

	if (same_shape(n, in))
		return 0;
	strbuf_puts(&text, "the array has the shape ");
	put_shape(&text, n->rank, n->dims);
	strbuf_puts(&text, ", the dataset ");
	put_shape(&text, in->rank, in->dims);
	return refusal_set(f, -EINVAL,
			   "save an array of the same shape, or remove the "
			   "dataset first",
			   "%s", text.buf ? text.buf : "another shape");
}

/* MATLAB's arrays are shown with their axes turned round. */
static void turn_axes(struct npy *n)
{
	for (unsigned i = 0; i < n->rank / 2; i++) {
		uint64_t d = n->dims[i];

		n->dims[i] = n->dims[n->rank - 1 - i];
		n->dims[n->rank - 1 - i] = d;
	}
	n->fortran = n->rank > 1 && !n->fortran;
}

/* Numbers that lie in the file as they lie in memory. */
static bool is_same_number(const struct npy *n, const struct dtype *t)
{
	return !n->swap && !n->fortran && n->type->class == t->class &&
	       n->type->size == t->size &&
	       (t->class == DT_UINT || t->class == DT_INT ||
		t->class == DT_FLOAT);
}

/* Elements in the dataset's type, into a file of their own. */
static int convert(const struct npy *n, const uint8_t *elements, uint64_t count,
		   const struct dtype *to, struct draft *out, struct refusal *f)
{
	uint64_t step = BLOCK_BYTES / to->size + 1;
	CLEANUP(freep) uint8_t *block = malloc(step * to->size);
	int r = block ? 0 : -ENOMEM;

	for (uint64_t i = 0; r == 0 && i < count; i += step) {
		uint64_t k = step < count - i ? step : count - i;

		r = cast_elements(n->type, elements + i * n->type->size, k, to,
				  block, f);
		if (r == 0)
			r = draft_write(out, block, k * to->size, i * to->size);
	}
	return r;
}

static int replace_converted(struct object *o, struct replacement *x,
			     const struct npy *n, const uint8_t *bytes,
			     const struct dataset_info *in, struct refusal *f)
{
	CLEANUP(blob_unrefp) struct blob *turned = NULL;
	CLEANUP(draft_freep) struct draft *out = NULL;
	const uint8_t *elements = bytes + n->offset;
	int r = draft_new(&out);

	if (r == 0 && (n->swap || n->fortran)) {
		r = npy_elements(n, bytes, &turned);
		if (r == 0)
			elements = turned->data;
	}
	if (r == 0)
		r = convert(n, elements, in->count, in->type, out, f);
	if (r == 0)
		r = draft_fd(out, &x->fd);
	return r < 0 ? r : replace(o, x);
}

static int replace_npy(struct object *o, struct replacement *x,
		       const struct view_source *src, struct draft *draft,
		       struct refusal *f)
{
	const struct dataset_info *in = dset_info(src->dset);
	CLEANUP(npy_done) struct npy n = { 0 };
	const uint8_t *bytes;
	int r = draft_bytes(draft, UINT64_MAX, &bytes);

	if (r < 0)
		return r;
	if (!dtype_is_plain(in->type))
		return refusal_set(f, -EOPNOTSUPP, "use h5py",
				   "NumPy's format has no type for what the "
				   "dataset holds");
	r = npy_parse(bytes, draft_size(draft), &n, f);
	if (r == 0 && src->matlab != MATLAB_NONE)
		turn_axes(&n);
	if (r == 0)
		r = check_shape(&n, in, f);
	if (r < 0)
		return r;
	if (!is_same_number(&n, in->type))
		return replace_converted(o, x, &n, bytes, in, f);
	x->offset = n.offset;
	r = draft_fd(draft, &x->fd);
	return r < 0 ? r : replace(o, x);
}

/* ---- single pictures ---- */

/* A picture as the only row of a set: an axis is put in front. */
struct as_row {
	struct desc desc;
	struct layout layout;
	struct stage_member member;
};

static void shift_axes(struct as_row *a, const struct view_source *src)
{
	struct layout *l = &a->layout;
	struct desc *d = &a->desc;

	*l = *src->layout;
	*d = *src->desc;
	for (unsigned i = LAYOUT_MAX_RANK - 1; i > 0; i--) {
		d->dims[i] = src->desc->dims[i - 1];
		d->maxdims[i] = src->desc->maxdims[i - 1];
		d->chunk[i] = src->desc->chunk[i - 1];
		l->crop[i] = src->layout->crop[i - 1];
	}
	d->dims[0] = d->maxdims[0] = d->chunk[0] = 1;
	d->rank++;
	d->stored_rank++;
	l->crop[0] = 0;
	l->x++;
	l->y += l->y >= 0;
	l->c += l->c >= 0;
	l->nindex = 1;
	l->index[0] = 0;
}

static int describe_row(struct as_row *a, struct object *o,
			const struct view_source *src, char *path)
{
	const struct dataset_info *in = dset_info(src->dset);
	struct stage_member *m = &a->member;

	if (in->rank >= DT_MAX_RANK || src->desc->rank >= LAYOUT_MAX_RANK)
		return -EOPNOTSUPP;
	shift_axes(a, src);
	m->path = path;
	m->name = o->name;
	m->role = STAGE_PICTURE;
	m->rank = in->rank + 1;
	m->dims[0] = 1;
	memcpy(m->dims + 1, in->dims, in->rank * sizeof(*in->dims));
	m->type = in->type;
	m->desc = &a->desc;
	m->layout = &a->layout;
	m->norm = src->norm;
	m->mask = src->layout->companion || layout_is_mask_name(o->name);
	m->palette = src->palette;
	m->ncolours = src->ncolours;
	return layout_shape(&a->layout, &a->desc, &m->shape);
}

static int read_values(const struct view_source *src, struct blob **ret_values)
{
	const struct dataset_info *in = dset_info(src->dset);
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t start[DT_MAX_RANK] = { 0 }, size;
	int r;

	if (mul_overflow(in->count, in->type->size, &size) || size > SIZE_MAX)
		return -EFBIG;
	r = blob_new(size, &b);
	if (r == 0)
		r = dset_read(src->dset, start, in->dims, NULL, b->data);
	if (r == 0)
		*ret_values = TAKE(b);
	return r;
}

static int replace_picture(struct object *o, struct replacement *x,
			   const struct view_source *src, const char *name,
			   struct draft *draft, char *path, struct refusal *f)
{
	const struct dataset_info *in = dset_info(src->dset);
	CLEANUP(blob_unrefp) struct blob *old = NULL;
	CLEANUP(accepted_done) struct accepted a = { 0 };
	struct as_row row = { 0 };
	struct array values = { .type = in->type, .rank = in->rank };
	const uint8_t *bytes;
	int r = draft_bytes(draft, UINT64_MAX, &bytes);

	if (r == 0)
		r = describe_row(&row, o, src, path);
	if (r == 0)
		r = read_values(src, &old);
	if (r == 0)
		r = accept_file(&row.member, name, bytes, draft_size(draft),
				x->ns->opts.fit, old->data, &a, f);
	if (r < 0)
		return r;
	memcpy(values.dims, in->dims, sizeof(values.dims));
	values.count = in->count;
	values.data = a.rows;
	x->picture = &values;
	return replace(o, x);
}

int object_replace(struct ns *ns, struct object *o, const char *name,
		   struct draft *bytes, struct refusal *f)
{
	CLEANUP(freep) char *path = object_path(o);
	struct replacement x = { .ns = ns, .path = path, .fd = -1 };
	const char *suffix = dataset_suffix(name);
	struct view_source src;
	STATE_REF(ref, ns);
	int r = path ? group_is_ours(o, f) : -ENOMEM;

	if (r == 0)
		r = source_get(ns, o, false, &ref, &src);
	if (r < 0)
		return r;
	if (suffix && !strcmp(suffix, ".npy"))
		return replace_npy(o, &x, &src, bytes, f);
	if (src.layout->kind != LAYOUT_PICTURES || src.layout->nindex)
		return refusal_set(f, -EEXIST,
				   "save a .npy over it, or choose another "
				   "name",
				   "there is a dataset of that name, and it is "
				   "not a single picture");
	r = state_source(ref.st, true, &src);
	return r < 0 ? r : replace_picture(o, &x, &src, name, bytes, path, f);
}
