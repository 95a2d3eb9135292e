/* SPDX-License-Identifier: MIT */
/* compress.c - applies the filters of a chunk without the HDF5 library and
 * without a lock: the other side of filter.c.
 *
 * As the library's own pipeline does it: a filter that can not be applied is left
 * out where it is optional, and its bit set in the chunk's mask. Deflate may make
 * a chunk larger, LZF may not. */
#include <assert.h>
#include <libdeflate.h>

#include "store_int.h"

#define NOT_APPLIED 1
#define MAX_LEVEL 9

/* 0, NOT_APPLIED, or an error. */
typedef int (*apply_fn)(const struct filter *f, struct blob *in,
			struct blob **ret_out);

static pthread_key_t compressors_key;
static pthread_once_t compressors_once = PTHREAD_ONCE_INIT;

struct compressors {
	struct libdeflate_compressor *of[MAX_LEVEL + 1];
};

static void free_compressors(void *arg)
{
	struct compressors *c = arg;

	for (unsigned i = 0; i <= MAX_LEVEL; i++)
		libdeflate_free_compressor(c->of[i]);
	free(c);
}

static void make_key(void)
{
	(void)pthread_key_create(&compressors_key, free_compressors);
}

/* One a thread and level. */
static struct libdeflate_compressor *compressor(unsigned level)
{
	struct compressors *c;

	pthread_once(&compressors_once, make_key);
	c = pthread_getspecific(compressors_key);
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c || pthread_setspecific(compressors_key, c) != 0) {
			free(c);
			return NULL;
		}
	}
	if (!c->of[level])
		c->of[level] = libdeflate_alloc_compressor((int)level);
	return c->of[level];
}

static int apply_deflate(const struct filter *f, struct blob *in,
			 struct blob **ret_out)
{
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	struct libdeflate_compressor *c;
	int r;

	if (f->ncd != 1 || f->cd[0] > MAX_LEVEL)
		return NOT_APPLIED;
	c = compressor(f->cd[0]);
	if (!c)
		return -ENOMEM;
	r = blob_new(libdeflate_zlib_compress_bound(c, in->size), &out);
	if (r < 0)
		return r;
	out->size = libdeflate_zlib_compress(c, in->data, in->size, out->data,
					     out->size);
	assert(out->size);
	*ret_out = TAKE(out);
	return 0;
}

static int apply_lzf(const struct filter *f, struct blob *in,
		     struct blob **ret_out)
{
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	int r = blob_new(in->size, &out);

	(void)f;
	if (r < 0)
		return r;
	out->size = lzf_compress(in->data, in->size, out->data, out->size);
	if (out->size == 0)
		return NOT_APPLIED;
	*ret_out = TAKE(out);
	return 0;
}

static int apply_shuffle(const struct filter *f, struct blob *in,
			 struct blob **ret_out)
{
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	size_t unit = f->ncd ? f->cd[0] : 0, n;
	int r;

	if (unit == 0)
		return NOT_APPLIED;
	n = in->size / unit;
	if (unit == 1 || n <= 1) {
		*ret_out = blob_ref(in);
		return 0;
	}
	r = blob_new(in->size, &out);
	if (r < 0)
		return r;
	for (size_t k = 0; k < unit; k++) {
		const uint8_t *src = in->data + k;
		uint8_t *dst = out->data + k * n;

		for (size_t i = 0; i < n; i++)
			dst[i] = src[i * unit];
	}
	memcpy(out->data + n * unit, in->data + n * unit, in->size - n * unit);
	*ret_out = TAKE(out);
	return 0;
}

static int apply_fletcher32(const struct filter *f, struct blob *in,
			    struct blob **ret_out)
{
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	uint32_t sum = fletcher32(in->data, in->size);
	int r = blob_new(in->size + sizeof(sum), &out);

	(void)f;
	if (r < 0)
		return r;
	memcpy(out->data, in->data, in->size);
	memcpy(out->data + in->size, &sum, sizeof(sum));
	*ret_out = TAKE(out);
	return 0;
}

static const struct {
	unsigned id;
	apply_fn apply;
} rows[] = {
	{ H5Z_FILTER_DEFLATE, apply_deflate },
	{ H5Z_FILTER_SHUFFLE, apply_shuffle },
	{ H5Z_FILTER_FLETCHER32, apply_fletcher32 },
	{ FILTER_LZF, apply_lzf },
};

static apply_fn find_apply(unsigned id)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].id == id)
			return rows[i].apply;
	return NULL;
}

bool filters_appliable(const struct filter *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!find_apply(f[i].id))
			return false;
	return true;
}

int filters_apply(const struct filter *f, unsigned n, uint32_t optional,
		  struct blob *raw, struct blob **ret_bytes, uint32_t *ret_mask)
{
	CLEANUP(blob_unrefp) struct blob *b = raw;
	uint32_t mask = 0;

	for (unsigned i = 0; i < n; i++) {
		struct blob *out = NULL;
		int r = find_apply(f[i].id)(&f[i], b, &out);

		if (r == NOT_APPLIED && optional & 1u << i) {
			mask |= 1u << i;
			continue;
		}
		if (r != 0)
			return r < 0 ? r : -EIO;
		blob_unref(b);
		b = out;
	}
	*ret_mask = mask;
	*ret_bytes = TAKE(b);
	return 0;
}
