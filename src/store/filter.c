/* SPDX-License-Identifier: MIT */
/* filter.c - undoes the filters of a chunk without the HDF5 library and without
 * a lock. What is not in the table goes through H5Dread().
 *
 * Formats: HDF5 File Format Specification 3.0, IV.A.2.l (filter pipeline
 * message); deflate RFC 1950/1951; LZF in lzf.c; shuffle and Fletcher-32 as
 * libhdf5 does. */
#include <libdeflate.h>

#include "store_int.h"

#define UNKNOWN SIZE_MAX

/* Takes the bytes of one stage, gives those of the stage before it; want is
 * their size, UNKNOWN behind a filter that packs. */
typedef int (*undo_fn)(const struct filter *f, const struct blob *in,
		       size_t want, struct blob **ret_out);

static pthread_key_t decompressor_key;
static pthread_once_t decompressor_once = PTHREAD_ONCE_INIT;

static void free_decompressor(void *d)
{
	libdeflate_free_decompressor(d);
}

static void make_key(void)
{
	(void)pthread_key_create(&decompressor_key, free_decompressor);
}

/* One a thread: making it costs more than inflating a small chunk. */
static struct libdeflate_decompressor *decompressor(void)
{
	struct libdeflate_decompressor *d;

	pthread_once(&decompressor_once, make_key);
	d = pthread_getspecific(decompressor_key);
	if (!d) {
		d = libdeflate_alloc_decompressor();
		if (d)
			(void)pthread_setspecific(decompressor_key, d);
	}
	return d;
}

static int undo_deflate(const struct filter *f, const struct blob *in,
			size_t want, struct blob **ret_out)
{
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	struct libdeflate_decompressor *d = decompressor();
	size_t got = 0;
	int r;

	(void)f;
	if (!d)
		return -ENOMEM;
	r = blob_new(want, &out);
	if (r < 0)
		return r;
	if (libdeflate_zlib_decompress(d, in->data, in->size, out->data, want,
				       &got) != LIBDEFLATE_SUCCESS ||
	    got != want)
		return -EIO;
	*ret_out = TAKE(out);
	return 0;
}

static int undo_lzf(const struct filter *f, const struct blob *in, size_t want,
		    struct blob **ret_out)
{
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	size_t got = 0;
	int r = blob_new(want, &out);

	(void)f;
	if (r == 0)
		r = lzf_decompress(in->data, in->size, out->data, want, &got);
	if (r == -E2BIG || (r == 0 && got != want))
		r = -EIO;
	if (r < 0)
		return r;
	*ret_out = TAKE(out);
	return 0;
}

/* Byte k of all elements lies together; what does not fill an element lies
 * behind, as it was. */
static int undo_shuffle(const struct filter *f, const struct blob *in,
			size_t want, struct blob **ret_out)
{
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	size_t unit = f->ncd ? f->cd[0] : 1, n;
	int r;

	if (want == UNKNOWN)
		want = in->size;
	if (in->size != want || unit == 0)
		return -EIO;
	r = blob_new(want, &out);
	if (r < 0)
		return r;
	n = want / unit;
	if (unit == 1 || n <= 1) {
		memcpy(out->data, in->data, want);
	} else {
		for (size_t k = 0; k < unit; k++) {
			const uint8_t *src = in->data + k * n;
			uint8_t *dst = out->data + k;

			for (size_t i = 0; i < n; i++)
				dst[i * unit] = src[i];
		}
		memcpy(out->data + n * unit, in->data + n * unit,
		       want - n * unit);
	}
	*ret_out = TAKE(out);
	return 0;
}

/* Sums of big-endian 16-bit words, folded every 360 words so that 32 bits hold
 * them; an odd last byte is the high one. */
uint32_t fletcher32(const uint8_t *p, size_t n)
{
	uint32_t a = 0, b = 0;
	size_t words = n / 2;

	while (words) {
		size_t run = words > 360 ? 360 : words;

		words -= run;
		while (run--) {
			a += (uint32_t)p[0] << 8 | p[1];
			b += a;
			p += 2;
		}
		a = (a & 0xffff) + (a >> 16);
		b = (b & 0xffff) + (b >> 16);
	}
	if (n % 2) {
		a += (uint32_t)*p << 8;
		b += a;
		a = (a & 0xffff) + (a >> 16);
		b = (b & 0xffff) + (b >> 16);
	}
	a = (a & 0xffff) + (a >> 16);
	b = (b & 0xffff) + (b >> 16);
	return b << 16 | a;
}

static int undo_fletcher32(const struct filter *f, const struct blob *in,
			   size_t want, struct blob **ret_out)
{
	uint32_t sum, stored, old;

	(void)f;
	if (want == UNKNOWN && in->size >= 4)
		want = in->size - 4;
	if (want == UNKNOWN || in->size != want + 4)
		return -EIO;
	sum = fletcher32(in->data, want);
	memcpy(&stored, in->data + want, 4);
	/* libhdf5 before 1.6.3 swapped the bytes of each half */
	old = (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
	if (stored != sum && stored != old)
		return -EIO;
	return blob_from(in->data, want, ret_out);
}

static const struct filter_row {
	unsigned id;
	const char *name;
	undo_fn undo;  /* NULL: only the library knows */
	bool packs;    /* the stored size says nothing of the raw size */
	unsigned adds; /* bytes behind the data */
} rows[] = {
	{ H5Z_FILTER_DEFLATE, "gzip", undo_deflate, true, 0 },
	{ H5Z_FILTER_SHUFFLE, "shuffle", undo_shuffle, false, 0 },
	{ H5Z_FILTER_FLETCHER32, "fletcher32", undo_fletcher32, false, 4 },
	{ FILTER_LZF, "lzf", undo_lzf, true, 0 },
	{ H5Z_FILTER_SZIP, "szip", NULL, true, 0 },
	{ H5Z_FILTER_NBIT, "nbit", NULL, true, 0 },
	{ H5Z_FILTER_SCALEOFFSET, "scaleoffset", NULL, true, 0 },
	{ 307, "bzip2", NULL, true, 0 },
	{ 32001, "blosc", NULL, true, 0 },
	{ 32004, "lz4", NULL, true, 0 },
	{ 32008, "bitshuffle", NULL, true, 0 },
	{ 32013, "zfp", NULL, true, 0 },
	{ 32015, "zstd", NULL, true, 0 },
	{ 32026, "blosc2", NULL, true, 0 },
};

static const struct filter_row *find_row(unsigned id)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].id == id)
			return &rows[i];
	return NULL;
}

bool filter_is_ours(unsigned id)
{
	const struct filter_row *row = find_row(id);

	return row && row->undo;
}

const char *filter_name(unsigned id)
{
	const struct filter_row *row = find_row(id);

	return row ? row->name : NULL;
}

bool filters_supported(const struct filter *f, unsigned n)
{
	unsigned packing = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!filter_is_ours(f[i].id))
			return false;
		packing += find_row(f[i].id)->packs;
	}
	/* what lies between two packers has a size that nobody knows */
	return packing <= 1;
}

static bool is_masked(unsigned mask, unsigned i)
{
	return i < 32 && (mask & 1u << i);
}

/* What the first n filters make of raw_size bytes. */
static size_t size_after(const struct filter *f, unsigned n, unsigned mask,
			 size_t raw_size)
{
	for (unsigned i = 0; i < n; i++) {
		if (is_masked(mask, i))
			continue;
		if (find_row(f[i].id)->packs)
			return UNKNOWN;
		raw_size += find_row(f[i].id)->adds;
	}
	return raw_size;
}

int filters_undo(const struct filter *f, unsigned n, unsigned mask,
		 struct blob *bytes, size_t raw_size, struct blob **ret_raw,
		 unsigned *ret_bad)
{
	CLEANUP(blob_unrefp) struct blob *b = bytes;

	for (unsigned i = n; i-- > 0;) {
		struct blob *out = NULL;
		int r;

		if (is_masked(mask, i))
			continue;
		r = find_row(f[i].id)->undo(
			&f[i], b, size_after(f, i, mask, raw_size), &out);
		if (r < 0) {
			*ret_bad = f[i].id;
			return r;
		}
		blob_unref(b);
		b = out;
	}
	if (b->size != raw_size) {
		*ret_bad = n ? f[0].id : 0;
		return -EIO;
	}
	*ret_raw = TAKE(b);
	return 0;
}

void filters_versions(struct strbuf *out)
{
	strbuf_puts(out, ", libdeflate " LIBDEFLATE_VERSION_STRING);
}
