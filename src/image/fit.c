/* SPDX-License-Identifier: MIT */
/* fit.c - a decoded image as the dataset wants it: palette and few bits first,
 * then channels, then bits, and at last size. Each step has the picture of the one
 * before and makes a new one, or leaves it. */
#include "fit_int.h"

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

static unsigned largest(const struct picture *p)
{
	unsigned most = 0;

	for (size_t i = 0; i < picture_values(p); i++)
		if (picture_value(p, i) > most)
			most = picture_value(p, i);
	return most;
}

/* ---- palettes, and images of less than 8 bits ---- */
static bool shows_transparency(const struct picture *p)
{
	for (size_t i = 0; i < picture_values(p); i++)
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
	for (size_t i = 0, n = picture_values(&f->p); i < n; i++) {
		memcpy(to, f->p.palette + 3 * in[i], 3);
		if (alpha)
			to[3] = f->p.alpha[in[i]];
		to += out.channels;
	}
	fitting_replace(f, &out);
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
	for (size_t i = 0; i < picture_values(&out); i++)
		out.pixels->data[i] = (uint8_t)(f->p.pixels->data[i] * scale);
	fitting_replace(f, &out);
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
static bool is_grey(const struct picture *p)
{
	for (size_t i = 0; i < picture_values(p); i += p->channels)
		if (picture_value(p, i) != picture_value(p, i + 1) ||
		    picture_value(p, i) != picture_value(p, i + 2))
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
	unsigned v[4] = { picture_value(in, i) };
	bool colour = out->channels >= 3;

	for (unsigned c = 1; c < 3; c++)
		v[c] = in->channels >= 3 ? picture_value(in, i + c) : v[0];
	v[3] = has_alpha(in->channels) ? picture_value(in, i + in->channels - 1)
				       : 0;
	picture_set(out, o, colour ? v[0] : luma(v));
	for (unsigned c = 1; colour && c < 3; c++)
		picture_set(out, o + c, v[c]);
	if (has_alpha(out->channels))
		picture_set(out, o + out->channels - 1, v[3]);
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
	    !picture_is_opaque(&f->p))
		return refuse(f, "it is transparent in places");
	if (f->ids && f->p.channels >= 3 && f->want->channels < 3 &&
	    !is_grey(&f->p))
		return refuse(f, "its colours are not ids (red, green and blue "
				 "differ)");
	out.channels = f->want->channels;
	r = picture_alloc(&out);
	if (r < 0)
		return r;
	for (size_t i = 0, o = 0; i < picture_values(&f->p);
	     i += f->p.channels, o += out.channels)
		convert_pixel(&f->p, i, &out, o);
	fitting_replace(f, &out);
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
	for (size_t i = 0; i < picture_values(&out); i++)
		picture_set(&out, i, picture_value(&f->p, i));
	fitting_replace(f, &out);
	return 0;
}

/* Exactly {0,1}, or 0 and white. As 0 and 1 where the picture has 1 bit. */
static int to_boolean(struct fitting *f)
{
	unsigned most = largest(&f->p), white = picture_white(&f->p);
	struct picture out = f->p;
	int r;

	if (most != 0 && most != 1 && most != 255 && most != white)
		return refuse(f,
			      "only 0 and 1, or 0 and 255, are true or false");
	for (size_t i = 0; i < picture_values(&f->p); i++)
		if (picture_value(&f->p, i) != 0 &&
		    picture_value(&f->p, i) != most)
			return refuse(f, "only 0 and 1, or 0 and 255, are true "
					 "or false");
	out.bits = 8;
	out.depth = f->want->bits;
	r = picture_alloc(&out);
	if (r < 0)
		return r;
	for (size_t i = 0; i < picture_values(&out); i++)
		picture_set(&out, i,
			    picture_value(&f->p, i)
				    ? f->want->bits == 1 ? 1 : 255
				    : 0);
	fitting_replace(f, &out);
	return 0;
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
		r = fit_size(&f);
	if (r < 0)
		return r;
	*ret_picture = f.p;
	f.p.pixels = NULL;
	return 0;
}
