/* SPDX-License-Identifier: MIT */
/* accept_picture.c - an image file as a row of pictures: what layout and norm did
 * to show them, undone. */
#include <stdio.h>

#include "accept_int.h"

#define COPY_NPY "copy a .npy file of its values instead"

/* ---- can the layout be undone? Why not, or NULL. ---- */
static const char *check_bands(const struct stage_member *m)
{
	const struct layout *l = m->layout;
	uint64_t seen = 0, all;

	if (!l->nbands)
		return NULL;
	all = l->c >= 0 ? m->desc->dims[l->c] : 1;
	for (unsigned i = 0; i < l->nbands; i++)
		if (l->bands[i] < 64)
			seen |= UINT64_C(1) << l->bands[i];
	return all == l->nbands && seen == (UINT64_C(1) << all) - 1
		       ? NULL
		       : "its pictures show some of its bands only";
}

static const char *check_index(const struct stage_member *m)
{
	const struct layout *l = m->layout;
	bool grows = m->axis >= m->rank;

	for (unsigned i = 0; i < l->nindex; i++) {
		if (l->index[i] == m->axis)
			grows = true;
		else if (m->desc->dims[l->index[i]] != 1)
			return "a row of it is more than one picture";
	}
	return grows ? NULL : "it does not grow by pictures";
}

static const char *check_layout(const struct stage_member *m)
{
	const struct layout *l = m->layout;
	uint64_t flat = (uint64_t)l->flat_h * l->flat_w;

	for (unsigned k = 0; k < m->desc->rank; k++)
		if (l->crop[k] && l->crop[k] < m->desc->dims[k])
			return "its pictures are cut out of larger arrays";
	if (flat && (mul_overflow(flat, l->flat_c ? l->flat_c : 1, &flat) ||
		     l->x < 0 || flat != m->desc->dims[l->x]))
		return "its pictures are cut out of longer rows";
	if (m->desc->stored_rank != m->rank)
		return "its rows have another shape than its pictures";
	return check_bands(m);
}

static int check_invertible(const struct stage_member *m, struct refusal *f)
{
	const char *why = NULL;

	if (!m->desc || !m->layout || !m->norm)
		why = "how its values become pixels is not known";
	if (!why)
		why = check_layout(m);
	if (!why)
		why = check_index(m);
	if (why)
		return member_refuse(m, f, -EOPNOTSUPP, COPY_NPY, "%s", why);
	if (norm_is_invertible(m->norm->kind))
		return 0;
	return member_refuse(m, f, -EOPNOTSUPP, COPY_NPY,
			     "its values are shown by the rule \"%s\", so a "
			     "pixel does not tell a value",
			     norm_name(m->norm->kind));
}

/* ---- where the pixels go ---- */
static int place(const struct stage_member *m, uint8_t *row,
		 struct pixels_out *ret_out)
{
	int64_t strides[DT_MAX_RANK] = { 0 }, stride = m->type->size;
	uint64_t index[DT_MAX_RANK] = { 0 };
	struct pixels px;
	int r;

	for (unsigned k = m->rank; k-- > 0;) {
		if (k == m->axis)
			continue;
		strides[k] = stride;
		stride *= (int64_t)m->dims[k];
	}
	r = pixels_place(m->desc, m->layout, &m->shape, row, strides, index,
			 &px);
	if (r < 0)
		return r;
	*ret_out = (struct pixels_out){ .base = row + (px.base - row),
					.stride_y = px.stride_y,
					.stride_x = px.stride_x,
					.num = px.num,
					.num_size = px.num_size };
	memcpy(ret_out->channel, px.channel, sizeof(px.channel));
	return 0;
}

/* ---- is it a picture that may be here? ---- */
static bool is_boolean(const struct norm *n)
{
	return n->kind == NORM_BINARY || n->kind == NORM_BINARY_RGB;
}

static bool has_palette(const struct stage_member *m)
{
	return m->norm->kind == NORM_PALETTE && m->palette && m->ncolours;
}

/* Colours that are there must be those of the dataset. */
static bool same_colours(const struct stage_member *m, const struct picture *p)
{
	for (size_t i = 0; i < p->pixels->size; i++) {
		unsigned v = p->pixels->data[i];

		if (v >= m->ncolours ||
		    memcmp(p->palette + 3 * v, m->palette + 3 * v, 3))
			return false;
	}
	return true;
}

static int check_palette(const struct stage_member *m, const char *format,
			 const struct picture *p, struct refusal *f)
{
	if (!has_palette(m) || m->mask)
		return 0;
	if (!p->ncolours)
		return member_refuse(m, f, -EINVAL,
				     "save it as PNG with the palette that the "
				     "pictures here have",
				     "a %s image without a palette, where "
				     "pictures are indices of one",
				     format);
	if (!same_colours(m, p))
		return member_refuse(m, f, -EINVAL,
				     "save it with the palette that the "
				     "pictures here have",
				     "a %s image of another palette", format);
	return 0;
}

/* Ids that the dataset has no name or no colour for. */
static int check_ids(const struct stage_member *m, const struct picture *p,
		     struct refusal *f)
{
	const struct dtype *t = m->type;
	unsigned size = p->bits / 8;
	uint8_t seen[65536 / 8] = { 0 };

	while (t->class == DT_ARRAY)
		t = t->base;
	if (t->class != DT_ENUM && !has_palette(m))
		return 0;
	for (size_t i = 0; i < p->pixels->size; i += size) {
		unsigned v = p->pixels->data[i];

		if (size == 2)
			v |= (unsigned)p->pixels->data[i + 1] << 8;
		seen[v / 8] |= (uint8_t)(1 << v % 8);
	}
	for (unsigned v = 0; v < 65536; v++) {
		bool known = t->class != DT_ENUM;

		if (!(seen[v / 8] >> v % 8 & 1))
			continue;
		for (unsigned i = 0; !known && i < t->nmembers; i++)
			known = t->members[i].value == v;
		if (!known || (has_palette(m) && v >= m->ncolours))
			return member_refuse(m, f, -EINVAL,
					     "change it to an id that the "
					     "dataset declares",
					     "an image with the id %u, which "
					     "is not declared",
					     v);
	}
	return 0;
}

static int refuse_size(const struct stage_member *m, const char *what,
		       struct refusal *f)
{
	return member_refuse(m, f, -EINVAL,
			     "resize it, or mount with -o fit=resize, "
			     "fit=letterbox or fit=crop",
			     "%s", what);
}

/* fit=exact: whatever is larger need not be decoded. */
static int decode(const struct stage_member *m, const uint8_t *bytes,
		  uint64_t size, enum fit fit, struct picture *ret_picture,
		  struct refusal *f)
{
	struct picture_limits limits = ACCEPT_LIMITS;
	CLEANUP(freep) char *why = NULL;
	int r;

	if (fit == FIT_EXACT)
		limits.max_pixels = (uint64_t)m->shape.width * m->shape.height;
	r = picture_decode(bytes, size, &limits, ret_picture, &why);
	if (r == -EFBIG && fit == FIT_EXACT && why)
		return refuse_size(m, why, f);
	if (r < 0)
		return member_refuse(m, f, r, decode_remedy(r, bytes, size),
				     "%s", why ? why : strerror(-r));
	return 0;
}

static int fit_picture(const struct stage_member *m, const char *format,
		       const struct picture *p, enum fit fit,
		       struct picture *ret_picture, struct refusal *f)
{
	struct picture_want w = {
		.width = m->shape.width,
		.height = m->shape.height,
		.channels = m->shape.channels,
		.bits = m->norm->bits,
		.mask = m->mask || m->norm->kind == NORM_PALETTE,
		.boolean = is_boolean(m->norm),
		.fit = fit,
	};
	CLEANUP(strbuf_done) struct strbuf s = STRBUF_INIT;
	CLEANUP(freep) char *why = NULL;
	int r;

	strbuf_printf(&s, "%s image of ", format);
	picture_say(p, &s);
	if (strbuf_error(&s) < 0)
		return -ENOMEM;
	if (fit == FIT_EXACT && (p->width != w.width || p->height != w.height))
		return refuse_size(m, s.buf, f);
	r = picture_fit(p, &w, ret_picture, &why);
	if (r < 0)
		return member_refuse(m, f, r,
				     "save it as the dataset has them, or copy "
				     "a .npy file of its values",
				     "%s image of %s", format,
				     why ? why : strerror(-r));
	return 0;
}

static int store(const struct stage_member *m, const char *format,
		 const struct picture *p, const uint8_t *keep,
		 struct accepted *ret, struct refusal *f)
{
	CLEANUP(accepted_done) struct accepted a = { 0 };
	CLEANUP(freep) char *why = NULL;
	struct pixels_out px;
	int r = accepted_row(stage_row_bytes(m), &a);

	if (r == 0 && keep)
		memcpy(a.rows->data, keep, a.rows->size);
	if (r == 0)
		r = place(m, a.rows->data, &px);
	if (r < 0)
		return r;
	r = raster_store(p, m->norm, keep, &px, &why);
	if (r < 0)
		return member_refuse(m, f, r, COPY_NPY, "%s image: %s", format,
				     why ? why : strerror(-r));
	*ret = a;
	a.rows = NULL;
	return 0;
}

int accept_picture(const struct stage_member *m, const uint8_t *bytes,
		   uint64_t size, enum fit fit, const uint8_t *keep,
		   struct accepted *ret, struct refusal *f)
{
	CLEANUP(picture_done) struct picture p = { 0 }, fitted = { 0 };
	const char *format = picture_format(bytes, size);
	int r = check_invertible(m, f);

	if (r == 0)
		r = decode(m, bytes, size, fit, &p, f);
	if (r == 0)
		r = check_palette(m, format, &p, f);
	if (r == 0)
		r = fit_picture(m, format, &p, fit, &fitted, f);
	if (r == 0)
		r = check_ids(m, &fitted, f);
	return r < 0 ? r : store(m, format, &fitted, keep, ret, f);
}
