/* SPDX-License-Identifier: MIT */
/* probe.c - data that the layout rules look at: ranges, one-hot rows, first
 * bytes. Bounded: 64 MiB for a range, 64 rows, 8 elements. */
#include <math.h>
#include <stdio.h>

#include "ns_int.h"

#define SCAN_BYTES (64ull << 20)
#define SLAB_BYTES (4ull << 20)
#define SCAN_SAMPLES 16

int open_dataset(struct object *o, struct dset **ret_dset)
{
	CLEANUP(freep) char *path = object_path(o);

	return path ? dset_open(o->gen->store, o->info.id, path, ret_dset)
		    : -ENOMEM;
}

struct scan {
	const struct desc *d;
	const double *fill;
	struct layout_range range;
	bool any, all_whole, all_finite;
};

static double load_half(const uint8_t *p)
{
	uint16_t h;

	memcpy(&h, p, 2);
	return half_to_double(h);
}

static double load_number(const struct desc *d, const uint8_t *p)
{
	union {
		uint64_t u8;
		uint32_t u4;
		uint16_t u2;
		int64_t i8;
		int32_t i4;
		int16_t i2;
		float f4;
		double f8;
		long double f16;
	} v = { 0 };

	memcpy(&v, p, d->num_size <= sizeof(v) ? d->num_size : sizeof(v));
	switch (d->num) {
	case NUM_FLOAT:
		return d->num_size == 2	  ? load_half(p)
		       : d->num_size == 4 ? (double)v.f4
		       : d->num_size == 8 ? v.f8
					  : (double)v.f16;
	case NUM_INT:
		return d->num_size == 1	  ? (double)(int8_t)*p
		       : d->num_size == 2 ? v.i2
		       : d->num_size == 4 ? v.i4
					  : (double)v.i8;
	default:
		return d->num_size == 1	  ? *p
		       : d->num_size == 2 ? v.u2
		       : d->num_size == 4 ? v.u4
					  : (double)v.u8;
	}
}

static bool is_all_ones(const struct desc *d, const uint8_t *p)
{
	static const uint8_t ones[8] = {
		255, 255, 255, 255, 255, 255, 255, 255
	};

	return d->num == NUM_UINT && d->num_size >= 4 &&
	       !memcmp(p, ones, d->num_size);
}

static void scan_value(struct scan *s, const uint8_t *p)
{
	double v = load_number(s->d, p);

	if (!isfinite(v)) {
		s->all_finite = false;
		return;
	}
	if (s->all_whole && v != floor(v))
		s->all_whole = false;
	if (is_all_ones(s->d, p) || (s->fill && v == *s->fill))
		return;
	if (!s->any || v < s->range.lo)
		s->range.lo = v;
	if (!s->any || v > s->range.hi)
		s->range.hi = v;
	s->any = true;
}

/* Numbers of one stored element: channels of a compound, an array, or one. */
static void scan_elements(struct scan *s, const uint8_t *p, uint64_t n)
{
	const struct desc *d = s->d;
	unsigned parts =
		d->sub == SUB_COMPOUND ? (unsigned)d->dims[d->rank - 1] : 1;

	if (d->sub == SUB_ARRAY) {
		n *= d->element_size / d->num_size;
		for (uint64_t i = 0; i < n; i++)
			scan_value(s, p + i * d->num_size);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		for (unsigned c = 0; c < parts; c++)
			scan_value(s, p + i * d->element_size +
					      (d->sub == SUB_COMPOUND
						       ? d->sub_offset[c]
						       : 0));
}

/* Rows [from, from+n) of axis 0, in slabs; rows over the slab size are taken
 * along axis 1 as well. */
static int scan_rows(struct scan *s, struct dset *ds, uint64_t from, uint64_t n,
		     uint64_t budget)
{
	const struct dataset_info *in = dset_info(ds);
	uint64_t start[DT_MAX_RANK] = { 0 }, count[DT_MAX_RANK];
	uint64_t row = in->type->size, per;
	CLEANUP(freep) uint8_t *buf = NULL;

	for (unsigned i = 0; i < in->rank; i++)
		count[i] = in->dims[i];
	for (unsigned i = 1; i < in->rank; i++)
		if (mul_overflow(row, in->dims[i], &row))
			return -EOVERFLOW;
	if (row > budget)
		return -EFBIG;
	per = row < SLAB_BYTES ? SLAB_BYTES / (row ? row : 1) : 1;
	if (per > n)
		per = n;
	buf = malloc(per * row + 1);
	if (!buf)
		return -ENOMEM;
	for (uint64_t at = from; at < from + n; at += count[0]) {
		int r;

		start[0] = at;
		count[0] = from + n - at < per ? from + n - at : per;
		r = dset_read(ds, start, count, NULL, buf);
		if (r < 0)
			return r;
		scan_elements(s, buf, count[0] * (row / in->type->size));
	}
	return 0;
}

static int scan_some(struct scan *s, struct dset *ds)
{
	const struct dataset_info *in = dset_info(ds);
	uint64_t n = in->dims[0], k = n < SCAN_SAMPLES ? n : SCAN_SAMPLES;
	uint64_t last = UINT64_MAX;

	for (uint64_t i = 0; i < k; i++) {
		uint64_t at = k > 1 ? (uint64_t)((double)i * (double)(n - 1) /
							 (double)(k - 1) +
						 0.5)
				    : 0;
		int r;

		if (at >= n)
			at = n - 1;
		if (at == last)
			continue;
		last = at;
		r = scan_rows(s, ds, at, 1, SCAN_BYTES / k);
		if (r == -EFBIG &&
		    i == 0) /* one large sample: its first part */
			return -ENODATA;
		if (r < 0)
			return r;
	}
	return 0;
}

static int range_of(void *arg, const struct desc *d, const double *fill,
		    struct layout_range *ret_range)
{
	(void)arg; /* the object, as d->arg is */
	struct scan s = {
		.d = d, .fill = fill, .all_whole = true, .all_finite = true
	};
	CLEANUP(dset_unrefp) struct dset *ds = NULL;
	const struct dataset_info *in;
	uint64_t bytes;
	int r = open_dataset(d->arg, &ds);

	if (r < 0)
		return r;
	in = dset_info(ds);
	if (in->count == 0 || in->rank == 0)
		return -ENODATA;
	s.range.complete = !mul_overflow(in->count, in->type->size, &bytes) &&
			   bytes <= SCAN_BYTES;
	r = s.range.complete ? scan_rows(&s, ds, 0, in->dims[0], SCAN_BYTES)
			     : scan_some(&s, ds);
	if (r < 0)
		return r;
	if (!s.any)
		return -ENODATA;
	s.range.whole = s.range.complete && s.all_whole && s.all_finite;
	*ret_range = s.range;
	return 0;
}

static int onehot_of(void *arg, const struct desc *d, int axis,
		     bool *ret_onehot)
{
	CLEANUP(dset_unrefp) struct dset *ds = NULL;
	CLEANUP(freep) uint8_t *buf = NULL;
	uint64_t start[DT_MAX_RANK] = { 0 }, count[DT_MAX_RANK];
	uint64_t bytes, outer = 1, inner = 1, n;
	const struct dataset_info *in;
	int r = open_dataset(d->arg, &ds);

	if (r < 0)
		return r;
	in = dset_info(ds);
	if (axis < 0)
		axis += (int)in->rank;
	*ret_onehot = false;
	if (d->sub != SUB_NONE || d->kind != DESC_NUMBER ||
	    d->num == NUM_FLOAT || axis < 0 || (unsigned)axis >= in->rank ||
	    in->count == 0)
		return 0;
	bytes = in->type->size;
	for (unsigned i = 0; i < in->rank; i++) {
		count[i] = i == 0 && in->dims[0] > 64 ? 64 : in->dims[i];
		if (mul_overflow(bytes, count[i], &bytes))
			return -EOVERFLOW;
		if ((int)i < axis)
			outer *= count[i];
		if ((int)i > axis)
			inner *= count[i];
	}
	if (bytes > SCAN_BYTES)
		return 0;
	buf = malloc(bytes);
	if (!buf)
		return -ENOMEM;
	r = dset_read(ds, start, count, NULL, buf);
	if (r < 0)
		return r;
	n = count[axis];
	for (uint64_t o = 0; o < outer; o++)
		for (uint64_t i = 0; i < inner; i++) {
			unsigned ones = 0;

			for (uint64_t k = 0; k < n; k++) {
				double v = load_number(
					d, buf + ((o * n + k) * inner + i) *
							   d->num_size);

				if (v != 0 && v != 1)
					return 0;
				ones += v == 1;
			}
			if (ones != 1)
				return 0;
		}
	*ret_onehot = true;
	return 0;
}

/* At most max bytes of an element that points to its bytes. */
static int copy_head(const struct array *a, uint8_t *buf, size_t max,
		     uint64_t *ret_len)
{
	const char *s = NULL;
	struct dt_vlen v;
	size_t n = 0;

	if (a->type->class == DT_VLEN) {
		memcpy(&v, array_at(a, 0), sizeof(v));
		if (mul_overflow(v.len, a->type->base->size, ret_len))
			return -EOVERFLOW;
		s = v.p;
		n = *ret_len;
	} else if (a->type->class == DT_VLSTR) {
		dtype_string(a->type, array_at(a, 0), &s, &n);
		*ret_len = n;
	} else {
		s = array_at(a, 0);
		n = a->type->size;
		/* NULs alone are an empty element; behind others they may be
		 * part of the file */
		if (n && !s[0] && !memcmp(s, s + 1, n - 1))
			n = 0;
		*ret_len = n;
	}
	if (n)
		memcpy(buf, s, n < max ? n : max);
	return 0;
}

static int head_of_bytes(struct dset *ds, uint64_t i, uint8_t *buf, size_t max,
			 uint64_t *ret_len)
{
	const struct dataset_info *in = dset_info(ds);
	uint64_t start[2] = { 0 }, count[2] = { 1, 1 }, len;
	int r;

	len = in->dims[in->rank - 1];
	if (in->rank == 2)
		start[0] = i;
	count[in->rank - 1] = len < max ? len : max;
	if (len == 0) {
		*ret_len = 0;
		return 0;
	}
	r = dset_read(ds, start, count, NULL, buf);
	if (r < 0)
		return r;
	*ret_len = len;
	for (size_t k = 0; k < count[in->rank - 1]; k++)
		if (buf[k])
			return 0;
	*ret_len = 0; /* padding alone */
	return 0;
}

static int head_of(void *arg, const struct desc *d, uint64_t i, uint8_t *buf,
		   size_t max, uint64_t *ret_len)
{
	CLEANUP(dset_unrefp) struct dset *ds = NULL;
	CLEANUP(array_freep) struct array *a = NULL;
	uint64_t start[DT_MAX_RANK] = { i }, count[DT_MAX_RANK] = { 1 };
	const struct dataset_info *in;
	int r = open_dataset(d->arg, &ds);

	if (r < 0)
		return r;
	in = dset_info(ds);
	if (dtype_is_number(in->type) && (in->rank == 1 || in->rank == 2))
		return head_of_bytes(ds, i, buf, max, ret_len);
	if (in->rank > 1)
		return -EINVAL;
	r = dset_read_cells(ds, start, count, &a);
	return r < 0 ? r : copy_head(a, buf, max, ret_len);
}

/* An error of the moment is no answer: whoever decides by it must try again. */
static int noted(const struct desc *d, int r)
{
	struct object *o = d->arg;

	if (r < 0 && !is_damage(r))
		__atomic_store_n(&o->gen->moment, r, __ATOMIC_RELEASE);
	return r;
}

static int probe_range(void *arg, const struct desc *d, const double *fill,
		       struct layout_range *ret_range)
{
	return noted(d, range_of(arg, d, fill, ret_range));
}

static int probe_onehot(void *arg, const struct desc *d, int axis,
			bool *ret_onehot)
{
	return noted(d, onehot_of(arg, d, axis, ret_onehot));
}

static int probe_head(void *arg, const struct desc *d, uint64_t i, uint8_t *buf,
		      size_t max, uint64_t *ret_len)
{
	return noted(d, head_of(arg, d, i, buf, max, ret_len));
}

const struct layout_probe ns_probe = {
	.range = probe_range,
	.onehot = probe_onehot,
	.head = probe_head,
};
