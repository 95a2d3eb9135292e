/* SPDX-License-Identifier: MIT */
/* view_png.c - a picture: the hyperslab that holds it, as a PNG file. */
#include "view_int.h"

/* ---- the sample's hyperslab ---- */
struct plan {
	uint64_t index[DT_MAX_RANK]; /* along the effective index axes */
	uint64_t start[DT_MAX_RANK], count[DT_MAX_RANK]; /* stored axes */
};

static int plan_sample(const struct view_source *s, uint64_t sample,
		       struct plan *p)
{
	const struct layout *l = s->layout;
	const struct desc *d = s->desc;
	uint64_t at[DT_MAX_RANK];
	int r = view_coords(s->shape.index_dims, l->nindex, sample, at);

	if (r < 0)
		return r;
	memset(p, 0, sizeof(*p));
	for (unsigned k = 0; k < d->stored_rank; k++)
		p->count[k] = l->crop[k] && l->crop[k] < d->dims[k]
				      ? l->crop[k]
				      : d->dims[k];
	for (unsigned i = 0; i < l->nindex; i++) {
		unsigned k = l->index[i];

		p->index[k] = at[i];
		if (k < d->stored_rank) {
			p->start[k] = at[i];
			p->count[k] = 1;
		}
	}
	return 0;
}

/* ---- the file ---- */

/* eight_bits: the source's norm has the dataset's range already. */
static unsigned png_bits(const struct view_source *s)
{
	unsigned bits = s->norm ? s->norm->bits : norm_bits(s->layout, s->desc);

	return s->eight_bits && bits == 16 ? 8 : bits;
}

static int shape_of(const struct view_source *s, struct png_shape *ret_shape)
{
	struct png_shape p = {
		.width = s->shape.width,
		.height = s->shape.height,
		.channels = s->shape.channels,
		.bits = png_bits(s),
	};

	if (!p.bits)
		return -EAGAIN;
	if (s->palette && p.channels == 1 && p.bits == 8) {
		p.palette = s->palette;
		p.ncolours = s->ncolours;
	}
	*ret_shape = p;
	return 0;
}

static int size(const struct view_source *s, uint64_t index, uint64_t *ret_size)
{
	struct png_shape p;
	int r = shape_of(s, &p);

	return r < 0 ? r : png_stored_size(&p, ret_size);
}

static uint64_t blocks(const struct view_source *s, uint64_t index)
{
	return 1;
}

/* norm=sample: the sample's own range. A probed range is checked against it. */
static void look_at_values(const struct view_source *s, uint64_t index,
			   const struct png_shape *shape,
			   const struct pixels *px, struct norm *n)
{
	bool minmax =
		n->kind == NORM_INT_MINMAX || n->kind == NORM_FLOAT_MINMAX;
	double lo, hi;

	if (s->layout->norm_sample && minmax) {
		n->empty = raster_range(shape, px, n, &lo, &hi) < 0;
		n->lo = n->empty ? 0 : lo;
		n->hi = n->empty ? 0 : hi;
		return;
	}
	if (!n->probed || !s->clipped ||
	    (n->kind != NORM_INT_U8 && n->kind != NORM_INT_U16))
		return;
	if (raster_range(shape, px, n, &lo, &hi) == 0 &&
	    (lo < 0 || hi > (n->kind == NORM_INT_U8 ? 255 : 65535)))
		s->clipped(s->arg, index);
}

/* A sample with its values, ready to be drawn. */
struct drawing {
	struct png_shape shape;
	struct span span;
	struct pixels px;
	struct norm norm;
};

static void drawing_done(struct drawing *d)
{
	span_done(&d->span);
}

static int prepare_shape(const struct view_source *s, struct drawing *d)
{
	uint64_t bytes;
	int r = shape_of(s, &d->shape);

	if (r < 0)
		return r;
	return s->norm ? png_stored_size(&d->shape, &bytes) : -EAGAIN;
}

/* index: along the effective axes. */
static int prepare_values(const struct view_source *s, uint64_t sample,
			  const uint64_t *index, struct drawing *d)
{
	int r = pixels_place(s->desc, s->layout, &s->shape, d->span.base,
			     d->span.stride, index, &d->px);

	if (r < 0)
		return r;
	d->norm = *s->norm;
	d->norm.bits = d->shape.bits;
	look_at_values(s, sample, &d->shape, &d->px, &d->norm);
	if (d->shape.palette && d->norm.kind == NORM_U8)
		d->norm.kind = NORM_PALETTE; /* no index beyond the palette */
	return 0;
}

static int prepare(const struct view_source *s, uint64_t index,
		   struct drawing *d)
{
	struct plan p;
	int r = prepare_shape(s, d);

	if (r == 0)
		r = plan_sample(s, index, &p);
	if (r == 0)
		r = dset_borrow(s->dset, p.start, p.count, &d->span);
	return r < 0 ? r : prepare_values(s, index, p.index, d);
}

int view_png_row(const struct view_source *s, unsigned axis, const void *row,
		 struct blob **ret_blob)
{
	const struct dataset_info *info = view_info(s);
	const uint64_t index[DT_MAX_RANK] = { 0 };
	struct drawing d = { .span.base = row };
	int64_t stride = info->type->size;
	int r = prepare_shape(s, &d);

	for (unsigned k = info->rank; k-- > 0;) {
		if (k == axis)
			continue;
		d.span.stride[k] = stride;
		stride *= (int64_t)info->dims[k]; /* the row is in memory */
	}
	if (r == 0)
		r = prepare_values(s, 0, index, &d);
	return r < 0 ? r
		     : png_stored_render(&d.shape, &d.px, &d.norm, ret_blob);
}

static int render(const struct view_source *s, uint64_t index, uint64_t block,
		  struct blob **ret_blob)
{
	CLEANUP(drawing_done) struct drawing d = { 0 };
	int r = prepare(s, index, &d);

	return r < 0 ? r
		     : png_stored_render(&d.shape, &d.px, &d.norm, ret_blob);
}

int view_png_norm(const struct view_source *s, uint64_t index,
		  struct norm *ret_norm)
{
	CLEANUP(drawing_done) struct drawing d = { 0 };
	int r = prepare(s, index, &d);

	if (r == 0)
		*ret_norm = d.norm;
	return r;
}

static bool accepts(const struct view_source *s)
{
	return s->layout->kind == LAYOUT_PICTURES && !s->layout->nindex;
}

const struct view_ops view_png = {
	.name = "png",
	.suffix = ".png",
	.accepts = accepts,
	.size = size,
	.blocks = blocks,
	.render = render,
};
