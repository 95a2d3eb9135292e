/* SPDX-License-Identifier: MIT */
/* resample.c - pictures of another size: the nearest pixel, or Lanczos with three
 * lobes, as Pillow computes it: separable, rows first, the filter widened by the
 * ratio where the picture shrinks, results rounded to pixels after each pass. */
#include <math.h>

#include "image_int.h"

#define LOBES 3
#define MAX_WEIGHTS (1u << 26) /* of an axis: no picture needs so many */
#define FRACTION_BITS 22 /* of weights for 8 bits */

/* ---- what each pixel of an axis is made of ---- */
struct weights {
	uint32_t per; /* weights a pixel */
	uint32_t *first, *count;
	double *weight;
	int32_t *fixed; /* the same as fractions, for 8 bits */
};

static void weights_done(struct weights *w)
{
	free(w->first);
	free(w->count);
	free(w->weight);
	free(w->fixed);
}

static double sinc(double x)
{
	return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

static double lanczos(double x)
{
	return x > -LOBES && x < LOBES ? sinc(x) * sinc(x / LOBES) : 0;
}

static void weigh(struct weights *w, uint32_t i, double centre, double scale,
		  uint32_t size)
{
	double reach = LOBES * scale, sum = 0;
	double low = floor(centre - reach + 0.5);
	double high = floor(centre + reach + 0.5);
	uint32_t from = low > 0 ? (uint32_t)low : 0;
	uint32_t to = high < size ? (uint32_t)high : size;
	double *weight = w->weight + (size_t)i * w->per;

	w->first[i] = from;
	w->count[i] = to - from;
	for (uint32_t k = 0; k < to - from; k++) {
		weight[k] = lanczos((from + k - centre + 0.5) / scale);
		sum += weight[k];
	}
	for (uint32_t k = 0; sum != 0 && k < to - from; k++)
		weight[k] /= sum;
	for (uint32_t k = 0; k < to - from; k++)
		w->fixed[(size_t)i * w->per + k] =
			(int32_t)(weight[k] * (1 << FRACTION_BITS) +
				  (weight[k] < 0 ? -0.5 : 0.5));
}

static int weights_init(struct weights *w, uint32_t size, double from,
			double to, uint32_t n)
{
	double step = (to - from) / n, scale = step < 1 ? 1 : step;
	double per = ceil(LOBES * scale) * 2 + 1;
	uint64_t total;

	if (per > MAX_WEIGHTS || mul_overflow((uint64_t)per, n, &total) ||
	    total > MAX_WEIGHTS)
		return -EFBIG;
	w->per = (uint32_t)per;
	w->first = calloc(n, sizeof(*w->first));
	w->count = calloc(n, sizeof(*w->count));
	w->weight = calloc(total, sizeof(*w->weight));
	w->fixed = calloc(total, sizeof(*w->fixed));
	if (!w->first || !w->count || !w->weight || !w->fixed)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		weigh(w, i, from + (i + 0.5) * step, scale, size);
	return 0;
}

/* ---- the weighted sum that pixel i is, of values that are step apart ---- */
typedef void sum_fn(const struct weights *w, uint32_t i, const uint8_t *in,
		    size_t step, uint8_t *out);

static void sum_u8(const struct weights *w, uint32_t i, const uint8_t *in,
		   size_t step, uint8_t *out)
{
	const int32_t *fixed = w->fixed + (size_t)i * w->per;
	int32_t sum = 1 << (FRACTION_BITS - 1);

	for (uint32_t k = 0, n = w->count[i]; k < n; k++, in += step)
		sum += *in * fixed[k];
	sum >>= FRACTION_BITS;
	*out = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

static void sum_u16(const struct weights *w, uint32_t i, const uint8_t *in,
		    size_t step, uint8_t *out)
{
	const double *weight = w->weight + (size_t)i * w->per;
	const uint16_t *v = (const uint16_t *)in;
	double sum = 0.5;
	uint16_t u;

	for (uint32_t k = 0, n = w->count[i]; k < n; k++, v += step)
		sum += *v * weight[k];
	u = (uint16_t)(sum < 0 ? 0 : sum > 65535 ? 65535 : sum);
	memcpy(out, &u, sizeof(u));
}

/* ---- passes: along lines of pixels, or across them ---- */
struct pass {
	const struct picture *in;
	struct picture *out;
	struct weights w;
	sum_fn *sum;
	size_t value; /* bytes */
};

static void pass_done(struct pass *p)
{
	weights_done(&p->w);
}

static void along_rows(const struct pass *p)
{
	size_t in_row = picture_row_bytes(p->in);
	unsigned channels = p->in->channels;
	uint8_t *out = p->out->pixels->data;

	for (uint32_t y = 0; y < p->out->height; y++)
		for (uint32_t x = 0; x < p->out->width; x++) {
			const uint8_t *in = p->in->pixels->data + y * in_row +
					    p->w.first[x] * channels * p->value;

			for (unsigned c = 0; c < channels; c++) {
				p->sum(&p->w, x, in + c * p->value, channels,
				       out);
				out += p->value;
			}
		}
}

static void across_rows(const struct pass *p)
{
	size_t row = picture_row_bytes(p->in);
	uint8_t *out = p->out->pixels->data;

	for (uint32_t y = 0; y < p->out->height; y++) {
		const uint8_t *in = p->in->pixels->data + p->w.first[y] * row;

		for (size_t i = 0; i < row; i += p->value) {
			p->sum(&p->w, y, in + i, row / p->value, out);
			out += p->value;
		}
	}
}

static int run_pass(const struct picture *in, bool rows, double from, double to,
		    uint32_t n, struct picture *ret_picture)
{
	struct picture out = *in;
	CLEANUP(pass_done)
	struct pass p = { .in = in,
			  .out = &out,
			  .sum = in->bits == 16 ? sum_u16 : sum_u8,
			  .value = in->bits / 8 };
	int r;

	*(rows ? &out.width : &out.height) = n;
	r = weights_init(&p.w, rows ? in->width : in->height, from, to, n);
	if (r == 0)
		r = picture_alloc(&out);
	if (r < 0)
		return r;
	if (rows)
		along_rows(&p);
	else
		across_rows(&p);
	*ret_picture = out;
	return 0;
}

static bool is_whole(double from, double to, uint32_t size, uint32_t n)
{
	return n == size && from == 0 && to == size;
}

int picture_resample(const struct picture *p, const struct picture_box *box,
		     uint32_t width, uint32_t height,
		     struct picture *ret_picture)
{
	CLEANUP(picture_done) struct picture wide = *p;
	struct picture out;
	int r = 0;

	blob_ref(p->pixels);
	if (!is_whole(box->x0, box->x1, p->width, width)) {
		r = run_pass(p, true, box->x0, box->x1, width, &out);
		if (r < 0)
			return r;
		picture_done(&wide);
		wide = out;
	}
	if (!is_whole(box->y0, box->y1, p->height, height)) {
		r = run_pass(&wide, false, box->y0, box->y1, height, &out);
		if (r < 0)
			return r;
		picture_done(&wide);
		wide = out;
	}
	*ret_picture = wide;
	wide.pixels = NULL;
	return 0;
}

static uint32_t nearest(double from, double to, uint32_t i, uint32_t n,
			uint32_t size)
{
	double at = from + (i + 0.5) * (to - from) / n;

	return at < 0 ? 0 : at >= size ? size - 1 : (uint32_t)at;
}

int picture_nearest(const struct picture *p, const struct picture_box *box,
		    uint32_t width, uint32_t height,
		    struct picture *ret_picture)
{
	struct picture out = *p;
	size_t size = picture_pixel_bytes(p), row = picture_row_bytes(p);
	uint8_t *to;
	int r;

	out.width = width;
	out.height = height;
	r = picture_alloc(&out);
	if (r < 0)
		return r;
	to = out.pixels->data;
	for (uint32_t y = 0; y < height; y++) {
		const uint8_t *from =
			p->pixels->data +
			nearest(box->y0, box->y1, y, height, p->height) * row;

		for (uint32_t x = 0; x < width; x++, to += size)
			memcpy(to,
			       from + nearest(box->x0, box->x1, x, width,
					      p->width) *
					       size,
			       size);
	}
	*ret_picture = out;
	return 0;
}
