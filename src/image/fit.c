/* SPDX-License-Identifier: MIT */
/* fit.c - a decoded image as the dataset wants it: palette and few bits first,
 * then channels, then bits, then size. Each step has the picture of the one before
 * and makes a new one, or leaves it. */
#include <math.h>
#include <stdio.h>

#include "image_int.h"

struct fitting {
	struct picture p;
	const struct picture_want *want;
	const struct picture *from; /* as it came, for messages */
	bool ids;		    /* values are names, not brightness */
	char **ret_why;
};

static const char *const channel_names[] = { "", "grey", "grey and alpha",
					     "RGB", "RGBA" };

static void put_bits(struct strbuf *s, unsigned bits)
{
	strbuf_printf(s, ", %u bit%s", bits, bits == 1 ? "" : "s");
}

void picture_say(const struct picture *p, struct strbuf *out)
{
	strbuf_printf(out, "%u x %u pixels, %s", p->width, p->height,
		      p->ncolours ? "indexed" : channel_names[p->channels]);
	put_bits(out, p->depth);
}

void picture_want_say(const struct picture_want *w, struct strbuf *out)
{
	strbuf_printf(out, "%u x %u pixels, %s", w->width, w->height,
		      channel_names[w->channels]);
	put_bits(out, w->bits);
}

static int refuse(struct fitting *f, const char *why)
{
	CLEANUP(strbuf_done) struct strbuf s = STRBUF_INIT;

	picture_say(f->from, &s);
	strbuf_printf(&s, ": %s", why);
	if (strbuf_error(&s) < 0)
		return -ENOMEM;
	return picture_why(f->ret_why, -EINVAL, "%s", s.buf);
}

static void replace(struct fitting *f, const struct picture *p)
{
	picture_done(&f->p);
	f->p = *p;
}

static size_t values_of(const struct picture *p)
{
	return (size_t)p->width * p->height * p->channels;
}

static unsigned value_at(const struct picture *p, size_t i)
{
	uint16_t v;

	if (p->bits == 8)
		return p->pixels->data[i];
	memcpy(&v, p->pixels->data + 2 * i, sizeof(v));
	return v;
}

static void set_value(const struct picture *p, size_t i, unsigned v)
{
	uint16_t u = (uint16_t)v;

	if (p->bits == 8)
		p->pixels->data[i] = (uint8_t)v;
	else
		memcpy(p->pixels->data + 2 * i, &u, sizeof(u));
}

static unsigned largest(const struct picture *p)
{
	unsigned most = 0;

	for (size_t i = 0; i < values_of(p); i++)
		if (value_at(p, i) > most)
			most = value_at(p, i);
	return most;
}

/* ---- palettes, and images of less than 8 bits ---- */
static bool shows_transparency(const struct picture *p)
{
	for (size_t i = 0; i < values_of(p); i++)
		if (p->alpha[p->pixels->data[i]] != 255)
			return true;
	return false;
}

static int expand_palette(struct fitting *f)
{
	struct picture out = f->p;
	const uint8_t *in = f->p.pixels->data;
	bool alpha = shows_transparency(&f->p);
	uint8_t *to;
	int r;

	out.channels = alpha ? 4 : 3;
	out.depth = 8;
	out.ncolours = 0;
	r = picture_alloc(&out);
	if (r < 0)
		return r;
	to = out.pixels->data;
	for (size_t i = 0, n = values_of(&f->p); i < n; i++) {
		memcpy(to, f->p.palette + 3 * in[i], 3);
		if (alpha)
			to[3] = f->p.alpha[in[i]];
		to += out.channels;
	}
	replace(f, &out);
	return 0;
}

/* 1, 2 and 4 bits as shades of 8. */
static int widen_shades(struct fitting *f)
{
	struct picture out = f->p;
	unsigned scale = 255 / ((1u << f->p.depth) - 1);
	int r = picture_alloc(&out);

	if (r < 0)
		return r;
	out.depth = 8;
	for (size_t i = 0; i < values_of(&out); i++)
		out.pixels->data[i] = (uint8_t)(f->p.pixels->data[i] * scale);
	replace(f, &out);
	return 0;
}

static int to_plain_values(struct fitting *f)
{
	if (f->ids && f->from->ids_lost)
		return refuse(f, "ids are the indices of a palette, which are "
				 "not read from this format");
	if (f->ids && f->want->channels == 1) {
		f->p.ncolours = 0;
		return 0;
	}
	if (f->p.ncolours)
		return expand_palette(f);
	return f->p.depth < 8 ? widen_shades(f) : 0;
}

/* ---- channels ---- */
static bool has_alpha(unsigned channels)
{
	return channels == 2 || channels == 4;
}

static unsigned full(const struct picture *p)
{
	return p->bits == 16 ? 65535 : 255;
}

static bool is_opaque(const struct picture *p)
{
	for (size_t i = p->channels - 1; i < values_of(p); i += p->channels)
		if (value_at(p, i) != full(p))
			return false;
	return true;
}

static bool is_grey(const struct picture *p)
{
	for (size_t i = 0; i < values_of(p); i += p->channels)
		if (value_at(p, i) != value_at(p, i + 1) ||
		    value_at(p, i) != value_at(p, i + 2))
			return false;
	return true;
}

/* ITU-R 601-2, as Pillow rounds it. */
static unsigned luma(const unsigned *rgb)
{
	return (unsigned)((rgb[0] * UINT64_C(19595) + rgb[1] * UINT64_C(38470) +
			   rgb[2] * UINT64_C(7471) + 0x8000) >>
			  16);
}

static void convert_pixel(const struct picture *in, size_t i,
			  const struct picture *out, size_t o)
{
	unsigned v[4] = { value_at(in, i) };
	bool colour = out->channels >= 3;

	for (unsigned c = 1; c < 3; c++)
		v[c] = in->channels >= 3 ? value_at(in, i + c) : v[0];
	v[3] = has_alpha(in->channels) ? value_at(in, i + in->channels - 1) : 0;
	set_value(out, o, colour ? v[0] : luma(v));
	for (unsigned c = 1; colour && c < 3; c++)
		set_value(out, o + c, v[c]);
	if (has_alpha(out->channels))
		set_value(out, o + out->channels - 1, v[3]);
}

static int to_channels(struct fitting *f)
{
	struct picture out = f->p;
	int r;

	if (f->p.channels == f->want->channels)
		return 0;
	if (has_alpha(f->want->channels) && !has_alpha(f->p.channels))
		return refuse(f, "it has no alpha channel");
	if (!has_alpha(f->want->channels) && has_alpha(f->p.channels) &&
	    !is_opaque(&f->p))
		return refuse(f, "it is transparent in places");
	if (f->ids && f->p.channels >= 3 && f->want->channels < 3 &&
	    !is_grey(&f->p))
		return refuse(f, "its colours are not ids (red, green and blue "
				 "differ)");
	out.channels = f->want->channels;
	r = picture_alloc(&out);
	if (r < 0)
		return r;
	for (size_t i = 0, o = 0; i < values_of(&f->p);
	     i += f->p.channels, o += out.channels)
		convert_pixel(&f->p, i, &out, o);
	replace(f, &out);
	return 0;
}

/* ---- bits ---- */
static int to_bits(struct fitting *f)
{
	struct picture out = f->p;
	int r;

	out.bits = f->want->bits == 16 ? 16 : 8;
	if (out.bits == f->p.bits)
		return 0;
	if (out.bits == 8 && (!f->ids || largest(&f->p) > 255))
		return refuse(f, "16 bits do not fit into 8");
	out.depth = out.bits;
	r = picture_alloc(&out);
	if (r < 0)
		return r;
	for (size_t i = 0; i < values_of(&out); i++)
		set_value(&out, i, value_at(&f->p, i));
	replace(f, &out);
	return 0;
}

/* Exactly {0,1}, or 0 and white. As 0 and 1 where the picture has 1 bit. */
static int to_boolean(struct fitting *f)
{
	unsigned most = largest(&f->p), white = full(&f->p);
	struct picture out = f->p;
	int r;

	if (most != 0 && most != 1 && most != 255 && most != white)
		return refuse(f,
			      "only 0 and 1, or 0 and 255, are true or false");
	for (size_t i = 0; i < values_of(&f->p); i++)
		if (value_at(&f->p, i) != 0 && value_at(&f->p, i) != most)
			return refuse(f, "only 0 and 1, or 0 and 255, are true "
					 "or false");
	out.bits = 8;
	out.depth = f->want->bits;
	r = picture_alloc(&out);
	if (r < 0)
		return r;
	for (size_t i = 0; i < values_of(&out); i++)
		set_value(&out, i,
			  value_at(&f->p, i) ? f->want->bits == 1 ? 1 : 255
					     : 0);
	replace(f, &out);
	return 0;
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
	for (size_t i = 0; i < values_of(&out); i += out.channels) {
		unsigned a = value_at(&f->p, i + out.channels - 1);

		for (unsigned c = 0; c + 1 < out.channels; c++)
			set_value(&out, i + c,
				  op(value_at(&f->p, i + c), a, full(&out)));
		set_value(&out, i + out.channels - 1, a);
	}
	replace(f, &out);
	return 0;
}

/* ---- size ---- */
static int scale(struct fitting *f, const struct picture_box *box,
		 uint32_t width, uint32_t height)
{
	bool weigh = !f->ids && has_alpha(f->p.channels) && !is_opaque(&f->p);
	struct picture out;
	int r = weigh ? weigh_alpha(f, times) : 0;

	if (r == 0)
		r = f->ids ? picture_nearest(&f->p, box, width, height, &out)
			   : picture_resample(&f->p, box, width, height, &out);
	if (r < 0)
		return r;
	replace(f, &out);
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
	     has_alpha(out.channels) && i < values_of(&out); i += out.channels)
		set_value(&out, i, full(&out));
	left = (out.width - f->p.width) / 2;
	top = (out.height - f->p.height) / 2;
	row = picture_row_bytes(&f->p);
	for (uint32_t y = 0; y < f->p.height; y++)
		memcpy(out.pixels->data + (top + y) * picture_row_bytes(&out) +
			       left * size,
		       f->p.pixels->data + y * row, row);
	replace(f, &out);
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

static int to_size(struct fitting *f)
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

/* ---- all of it ---- */
static void fitting_done(struct fitting *f)
{
	picture_done(&f->p);
}

int picture_fit(const struct picture *p, const struct picture_want *w,
		struct picture *ret_picture, char **ret_why)
{
	CLEANUP(fitting_done)
	struct fitting f = { .p = *p,
			     .want = w,
			     .from = p,
			     .ids = w->mask || w->boolean,
			     .ret_why = ret_why };
	int r;

	blob_ref(f.p.pixels);
	if (w->fit == FIT_EXACT &&
	    (p->width != w->width || p->height != w->height))
		return refuse(&f, "its size differs");
	r = to_plain_values(&f);
	if (r == 0)
		r = to_channels(&f);
	if (r == 0)
		r = w->boolean ? to_boolean(&f) : to_bits(&f);
	if (r == 0)
		r = to_size(&f);
	if (r < 0)
		return r;
	*ret_picture = f.p;
	f.p.pixels = NULL;
	return 0;
}
