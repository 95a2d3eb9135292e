/* SPDX-License-Identifier: MIT */
/* place.c - where a picture's values lie in a hyperslab or a row of its dataset,
 * as strides, whatever the order of the axes. */
#include "h5fs/image.h"

/* Strides of the effective axes: the stored ones, then those inside an element
 * (T2, T3). */
struct strides {
	int64_t axis[DT_MAX_RANK];
	const uint32_t *channel; /* SUB_COMPOUND: offsets along the last axis */
};

static void axis_strides(const struct desc *d, const int64_t *stored,
			 struct strides *st)
{
	int64_t inner = d->num_size;

	st->channel = d->sub == SUB_COMPOUND ? d->sub_offset : NULL;
	for (unsigned k = 0; k < d->stored_rank; k++)
		st->axis[k] = stored[k];
	for (unsigned k = d->rank; k-- > d->stored_rank;) {
		if (st->channel && k == d->rank - 1)
			continue;
		st->axis[k] = inner;
		inner *= d->dims[k];
	}
}

static int64_t along(const struct desc *d, const struct strides *st, unsigned k,
		     uint64_t i)
{
	if (st->channel && k == d->rank - 1)
		return st->channel[i & 3];
	return st->axis[k] * (int64_t)i;
}

/* One axis that holds a whole picture, (h,w[,c]); +transpose turns it. */
static void place_flat(const struct layout *l, const struct layout_shape *shape,
		       const struct strides *st, struct pixels *px)
{
	int64_t one = st->axis[l->x];
	int64_t pixel = one * (l->flat_c ? l->flat_c : 1);

	px->stride_y = l->transposed ? pixel : pixel * l->flat_w;
	px->stride_x = l->transposed ? pixel * l->flat_w : pixel;
	for (unsigned c = 0; c < shape->channels; c++)
		px->channel[c] = one * c;
}

static int place_axes(const struct desc *d, const struct layout *l,
		      const struct layout_shape *shape,
		      const struct strides *st, struct pixels *px)
{
	if (l->y < 0 || l->x < 0)
		return -EINVAL;
	px->stride_y = along(d, st, l->y, 1);
	px->stride_x = along(d, st, l->x, 1);
	for (unsigned c = 0; c < shape->channels; c++) {
		uint64_t from = l->nbands ? l->bands[c] : c;

		if (l->c < 0)
			continue;
		if (from >= d->dims[l->c])
			return -EINVAL;
		px->channel[c] = along(d, st, l->c, from);
	}
	return 0;
}

int pixels_place(const struct desc *d, const struct layout *l,
		 const struct layout_shape *shape, const uint8_t *base,
		 const int64_t *strides, const uint64_t *index,
		 struct pixels *ret_pixels)
{
	struct pixels px = { .base = base,
			     .num = d->num,
			     .num_size = d->num_size };
	struct strides st;
	int r = 0;

	axis_strides(d, strides, &st);
	for (unsigned i = 0; i < l->nindex; i++)
		if (l->index[i] >= d->stored_rank)
			px.base +=
				along(d, &st, l->index[i], index[l->index[i]]);
	if (l->flat_h)
		place_flat(l, shape, &st, &px);
	else
		r = place_axes(d, l, shape, &st, &px);
	if (r < 0)
		return r;
	if (l->bgr && shape->channels >= 3) {
		int64_t blue = px.channel[0];

		px.channel[0] = px.channel[2];
		px.channel[2] = blue;
	}
	if (l->flip_y) {
		px.base += px.stride_y * ((int64_t)shape->height - 1);
		px.stride_y = -px.stride_y;
	}
	if (l->flip_x) {
		px.base += px.stride_x * ((int64_t)shape->width - 1);
		px.stride_x = -px.stride_x;
	}
	if (l->as_unsigned && px.num == NUM_INT)
		px.num = NUM_UINT;
	*ret_pixels = px;
	return 0;
}
