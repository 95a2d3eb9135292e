/* SPDX-License-Identifier: MIT */
/* fit_size.c - a picture in another size: stretched, on black, or cut. */
#include "fit_int.h"

bool picture_is_opaque(const struct picture *p)
{
	for (size_t i = p->channels - 1; i < picture_values(p);
	     i += p->channels)
		if (picture_value(p, i) != picture_white(p))
			return false;
	return true;
}

/* ---- alpha weighs what is mixed ---- */
static unsigned times(unsigned v, unsigned alpha, unsigned white)
{
	return (unsigned)(((uint64_t)v * alpha + white / 2) / white);
}

static unsigned over(unsigned v, unsigned alpha, unsigned white)
{
	uint64_t x = alpha ? (uint64_t)v * white / alpha : v;

	return x < white ? (unsigned)x : white;
}

static int weigh_alpha(struct fitting *f,
		       unsigned (*op)(unsigned, unsigned, unsigned))
{
	struct picture out = f->p;
	int r = picture_alloc(&out);

	if (r < 0)
		return r;
	for (size_t i = 0; i < picture_values(&out); i += out.channels) {
		unsigned a = picture_value(&f->p, i + out.channels - 1);

		for (unsigned c = 0; c + 1 < out.channels; c++)
			picture_set(&out, i + c,
				    op(picture_value(&f->p, i + c), a,
				       picture_white(&out)));
		picture_set(&out, i + out.channels - 1, a);
	}
	fitting_replace(f, &out);
	return 0;
}

/* ---- size ---- */
static int scale(struct fitting *f, const struct picture_box *box,
		 uint32_t width, uint32_t height)
{
	bool weigh = !f->ids && has_alpha(f->p.channels) &&
		     !picture_is_opaque(&f->p);
	struct picture out;
	int r = weigh ? weigh_alpha(f, times) : 0;

	if (r == 0)
		r = f->ids ? picture_nearest(&f->p, box, width, height, &out)
			   : picture_resample(&f->p, box, width, height, &out);
	if (r < 0)
		return r;
	fitting_replace(f, &out);
	return weigh ? weigh_alpha(f, over) : 0;
}

static int fit_resize(struct fitting *f)
{
	struct picture_box all = { 0, 0, f->p.width, f->p.height };

	return scale(f, &all, f->want->width, f->want->height);
}

/* Black, opaque where there is alpha, around it. */
static int paste(struct fitting *f)
{
	struct picture out = f->p;
	size_t left, top, row, size = picture_pixel_bytes(&f->p);
	int r;

	out.width = f->want->width;
	out.height = f->want->height;
	r = picture_alloc(&out);
	if (r < 0)
		return r;
	memset(out.pixels->data, 0, out.pixels->size);
	for (size_t i = out.channels - 1;
	     has_alpha(out.channels) && i < picture_values(&out);
	     i += out.channels)
		picture_set(&out, i, picture_white(&out));
	left = (out.width - f->p.width) / 2;
	top = (out.height - f->p.height) / 2;
	row = picture_row_bytes(&f->p);
	for (uint32_t y = 0; y < f->p.height; y++)
		memcpy(out.pixels->data + (top + y) * picture_row_bytes(&out) +
			       left * size,
		       f->p.pixels->data + y * row, row);
	fitting_replace(f, &out);
	return 0;
}

static uint32_t in_proportion(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t v = ((uint64_t)a * b + c / 2) / c;

	return v ? (uint32_t)v : 1;
}

static int fit_letterbox(struct fitting *f)
{
	struct picture_box all = { 0, 0, f->p.width, f->p.height };
	const struct picture_want *w = f->want;
	uint32_t width = w->width, height = w->height;
	int r;

	if ((uint64_t)f->p.width * w->height > (uint64_t)f->p.height * w->width)
		height = in_proportion(f->p.height, w->width, f->p.width);
	else
		width = in_proportion(f->p.width, w->height, f->p.height);
	r = scale(f, &all, width, height);
	return r < 0 ? r : paste(f);
}

/* Only what is not cut is looked at. */
static int fit_crop(struct fitting *f)
{
	const struct picture_want *w = f->want;
	double width = f->p.width, height = f->p.height;
	double ratio = (double)w->width / w->height;
	struct picture_box box;

	if (width / height > ratio)
		width = ratio * height;
	else
		height = width / ratio;
	box.x0 = (f->p.width - width) / 2;
	box.y0 = (f->p.height - height) / 2;
	box.x1 = box.x0 + width;
	box.y1 = box.y0 + height;
	return scale(f, &box, w->width, w->height);
}

int fit_size(struct fitting *f)
{
	static int (*const fits[])(struct fitting * f) = {
		[FIT_RESIZE] = fit_resize,
		[FIT_LETTERBOX] = fit_letterbox,
		[FIT_CROP] = fit_crop,
	};

	if (f->p.width == f->want->width && f->p.height == f->want->height)
		return 0;
	return fits[f->want->fit](f);
}
