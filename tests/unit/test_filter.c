/* SPDX-License-Identifier: MIT */
/* test_filter.c - filters are undone as libhdf5 applies them, and damaged
 * streams end in -EIO. */
#include "check.h"
#include "store_int.h"

#define LZF 32000u
#define SIZE 3001u /* leaves a rest for every element size but 1 */

static uint32_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Compressible, but not all the same. */
static void make_data(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = i % 97 < 60 ? (uint8_t)(i / 40) : (uint8_t)dice(256);
}

/* ---- what libhdf5 stores ---- */
struct stored {
	struct blob *bytes;
	uint32_t mask;
	struct filter filters[8];
	unsigned n;
};

static struct filter plain(unsigned id)
{
	return (struct filter){ .id = id };
}

static void take_pipeline(hid_t dcpl, struct stored *st)
{
	st->n = (unsigned)H5Pget_nfilters(dcpl);
	for (unsigned i = 0; i < st->n; i++) {
		struct filter *f = &st->filters[i];
		size_t ncd = ARRAY_SIZE(f->cd);
		unsigned flags, config;

		f->id = (unsigned)H5Pget_filter2(dcpl, i, &flags, &ncd, f->cd, 0,
						 NULL, &config);
		f->ncd = (unsigned)ncd;
	}
}

/* One chunk of `size` bytes in elements of type, through dcpl's filters. */
static struct stored store_chunk(hid_t dcpl, hid_t type, const void *data,
				 size_t size)
{
	struct stored st = { 0 };
	hsize_t n = size / H5Tget_size(type), zero = 0, stored = 0;
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file, space, set, own;

	H5Pset_fapl_core(fapl, 1 << 16, false);
	file = H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
	space = H5Screate_simple(1, &n, NULL);
	H5Pset_chunk(dcpl, 1, &n);
	set = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
	CHECK(set >= 0);
	CHECK(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
	H5Fflush(file, H5F_SCOPE_LOCAL);
	own = H5Dget_create_plist(set); /* shuffle learns its size late */
	take_pipeline(own, &st);
	CHECK(H5Dget_chunk_storage_size(set, &zero, &stored) >= 0);
	CHECK_EQ(blob_new(stored, &st.bytes), 0);
	CHECK(H5Dread_chunk(set, H5P_DEFAULT, &zero, &st.mask,
			    st.bytes->data) >= 0);
	H5Pclose(own);
	H5Dclose(set);
	H5Sclose(space);
	H5Fclose(file);
	H5Pclose(fapl);
	return st;
}

static int undo(const struct filter *f, unsigned n, unsigned mask,
		const void *bytes, size_t size, size_t raw,
		struct blob **ret_raw)
{
	struct blob *b = NULL;
	unsigned bad = 0;
	int r = blob_from(bytes, size, &b);

	return r < 0 ? r : filters_undo(f, n, mask, b, raw, ret_raw, &bad);
}

static void check_stored(hid_t dcpl, hid_t type)
{
	size_t size = SIZE / H5Tget_size(type) * H5Tget_size(type);
	CLEANUP(blob_unrefp) struct blob *raw = NULL;
	uint8_t data[SIZE];
	struct stored st;

	make_data(data, size);
	st = store_chunk(dcpl, type, data, size);
	CHECK(filters_supported(st.filters, st.n));
	CHECK_EQ(undo(st.filters, st.n, st.mask, st.bytes->data, st.bytes->size,
		      size, &raw), 0);
	CHECK(raw && raw->size == size && !memcmp(raw->data, data, size));
	blob_unref(st.bytes);
}

static void gzip_of_every_level(void)
{
	for (unsigned level = 0; level <= 9; level++) {
		hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);

		H5Pset_deflate(dcpl, level);
		check_stored(dcpl, H5T_STD_U8LE);
		H5Pclose(dcpl);
	}
}

static void pipelines_in_every_order(void)
{
	static const char *const orders[] = { "s",  "f",   "z",	  "sz",	 "zs",
					      "sf", "fs",  "fz",  "zf",	 "szf",
					      "sfz", "fsz", "fzs", "zsf", "zfs",
					      "fszf", "ffz", "" };
	const hid_t types[] = { H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_U32BE,
				H5T_IEEE_F64LE };

	for (size_t t = 0; t < ARRAY_SIZE(types); t++)
		for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
			hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);

			for (const char *p = orders[i]; *p; p++)
				if (*p == 's')
					H5Pset_shuffle(dcpl);
				else if (*p == 'f')
					H5Pset_fletcher32(dcpl);
				else
					H5Pset_deflate(dcpl, 4);
			check_stored(dcpl, types[t]);
			H5Pclose(dcpl);
		}
}

/* Before a shuffle stands a checksum of 4 bytes: what it gets is no multiple of
 * the size of an element. */
static void shuffle_keeps_what_is_left_over(void)
{
	static const unsigned sizes[] = { 1, 2, 3, 4, 8, 16, SIZE, SIZE + 1 };

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		CLEANUP(blob_unrefp) struct blob *raw = NULL;
		struct filter f = { H5Z_FILTER_SHUFFLE, 1, { sizes[k] } };
		unsigned n = SIZE / sizes[k], at = 0;
		uint8_t data[SIZE], shuffled[SIZE];

		make_data(data, SIZE);
		for (unsigned b = 0; b < sizes[k] && n; b++)
			for (unsigned i = 0; i < n; i++)
				shuffled[at++] = data[i * sizes[k] + b];
		memcpy(shuffled + at, data + at, SIZE - at);
		CHECK_EQ(undo(&f, 1, 0, shuffled, SIZE, SIZE, &raw), 0);
		CHECK(raw && !memcmp(raw->data, data, SIZE));
	}
}

static void masked_filters_are_skipped(void)
{
	uint8_t data[SIZE / 4 * 4];
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
	struct stored st;

	make_data(data, sizeof(data));
	H5Pset_fletcher32(dcpl);
	H5Pset_shuffle(dcpl);
	H5Pset_deflate(dcpl, 1);
	st = store_chunk(dcpl, H5T_STD_U32LE, data, sizeof(data));
	for (unsigned mask = 0; mask < 8; mask++) {
		CLEANUP(blob_unrefp) struct blob *raw = NULL;
		hid_t part = H5Pcreate(H5P_DATASET_CREATE);
		struct stored some;

		if (!(mask & 1))
			H5Pset_fletcher32(part);
		if (!(mask & 2))
			H5Pset_shuffle(part);
		if (!(mask & 4))
			H5Pset_deflate(part, 1);
		some = store_chunk(part, H5T_STD_U32LE, data, sizeof(data));
		CHECK_EQ(undo(st.filters, st.n, mask, some.bytes->data,
			      some.bytes->size, sizeof(data), &raw), 0);
		CHECK(raw && !memcmp(raw->data, data, sizeof(data)));
		blob_unref(some.bytes);
		H5Pclose(part);
	}
	blob_unref(st.bytes);
	H5Pclose(dcpl);
}

/* ---- LZF ---- */
static size_t literals(uint8_t *out, const uint8_t *in, size_t n)
{
	size_t o = 0;

	while (n) {
		size_t run = n < 32 ? n : 32;

		out[o++] = (uint8_t)(run - 1);
		memcpy(out + o, in, run);
		o += run;
		in += run;
		n -= run;
	}
	return o;
}

/* LibLZF's format, with every length and distance it has. */
static size_t lzf_by_search(const uint8_t *in, size_t n, uint8_t *out)
{
	size_t o = 0, from = 0, i = 0;

	while (i < n) {
		size_t best = 0, far = 0;

		for (size_t d = 1; d <= i && d <= 8192; d++) {
			size_t k = 0;

			while (k < 264 && i + k < n && in[i + k] == in[i + k - d])
				k++;
			if (k > best) {
				best = k;
				far = d - 1;
			}
		}
		if (best < 3) {
			i++;
			continue;
		}
		o += literals(out + o, in + from, i - from);
		if (best - 2 < 7) {
			out[o++] = (uint8_t)((best - 2) << 5 | far >> 8);
		} else {
			out[o++] = (uint8_t)(7 << 5 | far >> 8);
			out[o++] = (uint8_t)(best - 2 - 7);
		}
		out[o++] = (uint8_t)far;
		i += best;
		from = i;
	}
	return o + literals(out + o, in + from, n - from);
}

static void lzf_streams(void)
{
	static const size_t sizes[] = { 1, 2, 3, 31, 32, 33, 264, 265, 9000, 20000 };
	static uint8_t data[20000], packed[2 * 20000];
	const struct filter f = plain(LZF);

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		CLEANUP(blob_unrefp) struct blob *raw = NULL;
		CLEANUP(blob_unrefp) struct blob *less = NULL;
		size_t n = sizes[k], m;

		make_data(data, n);
		memset(data + n / 2, 7, n / 4);
		if (n > 8000) /* far away and long */
			memcpy(data + n - 700, data + n - 700 - 8000, 700);
		m = lzf_by_search(data, n, packed);
		CHECK_EQ(undo(&f, 1, 0, packed, m, n, &raw), 0);
		CHECK(raw && !memcmp(raw->data, data, n));
		CHECK_EQ(undo(&f, 1, 0, packed, m, n - 1, &less), -EIO);
		CHECK_EQ(undo(&f, 1, 0, packed, m, n + 1, &less), -EIO);
		CHECK_EQ(undo(&f, 1, 0, packed, m - 1, n, &less), -EIO);
	}
}

static void lzf_by_hand(void)
{
	/* "ab", then 9 bytes from 2 back: a match that overlaps itself */
	static const uint8_t overlap[] = { 1, 'a', 'b', 0xe0, 0, 1 };
	static const uint8_t before[] = { 0, 'a', 0x20, 1 };
	static const uint8_t cut[] = { 0, 'a', 0xe0 };
	const struct filter f = plain(LZF);
	CLEANUP(blob_unrefp) struct blob *raw = NULL;

	CHECK_EQ(undo(&f, 1, 0, overlap, sizeof(overlap), 11, &raw), 0);
	CHECK(raw && !memcmp(raw->data, "abababababa", 11));
	blob_unref(raw);
	raw = NULL;
	CHECK_EQ(undo(&f, 1, 0, before, sizeof(before), 4, &raw), -EIO);
	CHECK_EQ(undo(&f, 1, 0, cut, sizeof(cut), 10, &raw), -EIO);
	CHECK_EQ(undo(&f, 1, 0, "", 0, 10, &raw), -EIO);
	CHECK(!raw);
}

/* ---- damage ---- */
static void every_changed_byte_breaks_a_checksum(void)
{
	uint8_t data[256];
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
	struct stored st;

	make_data(data, sizeof(data));
	H5Pset_fletcher32(dcpl);
	st = store_chunk(dcpl, H5T_STD_U8LE, data, sizeof(data));
	for (size_t i = 0; i < st.bytes->size; i++) {
		CLEANUP(blob_unrefp) struct blob *raw = NULL;

		st.bytes->data[i] ^= 0x10;
		CHECK_EQ(undo(st.filters, st.n, 0, st.bytes->data,
			      st.bytes->size, sizeof(data), &raw), -EIO);
		st.bytes->data[i] ^= 0x10;
	}
	blob_unref(st.bytes);
	H5Pclose(dcpl);
}

/* Old libraries swapped the bytes of both halves of the sum. */
static void swapped_checksum_is_right_too(void)
{
	CLEANUP(blob_unrefp) struct blob *raw = NULL;
	uint8_t data[101], *sum, x;
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
	struct stored st;

	make_data(data, sizeof(data));
	H5Pset_fletcher32(dcpl);
	st = store_chunk(dcpl, H5T_STD_U8LE, data, sizeof(data));
	sum = st.bytes->data + sizeof(data);
	x = sum[0], sum[0] = sum[1], sum[1] = x;
	x = sum[2], sum[2] = sum[3], sum[3] = x;
	CHECK_EQ(undo(st.filters, 1, 0, st.bytes->data, st.bytes->size,
		      sizeof(data), &raw), 0);
	CHECK(raw && !memcmp(raw->data, data, sizeof(data)));
	blob_unref(st.bytes);
	H5Pclose(dcpl);
}

/* Whatever comes in, the answer has the right size or is -EIO. */
static void damage(const struct filter *f, unsigned n, const uint8_t *bytes,
		   size_t size, size_t raw_size, unsigned *failed)
{
	for (unsigned round = 0; round < 1500; round++) {
		CLEANUP(blob_unrefp) struct blob *raw = NULL;
		CLEANUP(freep) uint8_t *copy = malloc(size);
		size_t len = round % 3 ? size : dice((uint32_t)size + 1);
		int r;

		memcpy(copy, bytes, size);
		for (unsigned k = dice(8); k-- > 0;)
			copy[dice((uint32_t)size)] = (uint8_t)dice(256);
		r = undo(f, n, 0, copy, len, raw_size, &raw);
		CHECK(r == -EIO || (r == 0 && raw->size == raw_size));
		*failed += r == -EIO;
	}
}

static void damaged_streams(void)
{
	static uint8_t data[SIZE], packed[2 * SIZE];
	const struct filter lzf[] = { { H5Z_FILTER_SHUFFLE, 1, { 4 } },
				      { .id = LZF } };
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
	unsigned failed = 0;
	struct stored st;

	make_data(data, SIZE);
	H5Pset_shuffle(dcpl);
	H5Pset_deflate(dcpl, 6);
	H5Pset_fletcher32(dcpl);
	st = store_chunk(dcpl, H5T_STD_U8LE, data, SIZE);
	damage(st.filters, st.n, st.bytes->data, st.bytes->size, SIZE, &failed);
	CHECK(failed > 1000);
	failed = 0; /* without the checksum in front */
	damage(st.filters, 2, st.bytes->data, st.bytes->size - 4, SIZE, &failed);
	CHECK(failed > 1000);
	failed = 0;
	damage(lzf, 2, packed, lzf_by_search(data, SIZE, packed), SIZE, &failed);
	CHECK(failed > 500);
	blob_unref(st.bytes);
	H5Pclose(dcpl);
}

static void wrong_sizes(void)
{
	const struct filter shuffle = { H5Z_FILTER_SHUFFLE, 1, { 4 } };
	const struct filter none = { H5Z_FILTER_SHUFFLE, 1, { 0 } };
	const struct filter bare = plain(H5Z_FILTER_SHUFFLE);
	const struct filter sum = plain(H5Z_FILTER_FLETCHER32);
	CLEANUP(blob_unrefp) struct blob *raw = NULL;
	uint8_t data[16] = { 0 };

	CHECK_EQ(undo(NULL, 0, 0, data, 16, 15, &raw), -EIO);
	CHECK_EQ(undo(&shuffle, 1, 0, data, 16, 20, &raw), -EIO);
	CHECK_EQ(undo(&none, 1, 0, data, 16, 16, &raw), -EIO);
	CHECK_EQ(undo(&sum, 1, 0, data, 3, 0, &raw), -EIO);
	CHECK_EQ(undo(&sum, 1, 0, data, 0, 16, &raw), -EIO);
	CHECK_EQ(undo(&sum, 1, 1, data, 16, 12, &raw), -EIO);
	CHECK(!raw);
	CHECK_EQ(undo(&bare, 1, 0, data, 16, 16, &raw), 0);
}

static void what_is_supported(void)
{
	const struct filter two[] = { { .id = H5Z_FILTER_DEFLATE }, { .id = LZF } };
	const struct filter zstd = plain(32015), nobody = plain(12345);

	CHECK(filters_supported(NULL, 0));
	CHECK(filters_supported(two, 1) && filters_supported(two + 1, 1));
	CHECK(!filters_supported(two, 2));
	CHECK(!filters_supported(&zstd, 1) && !filters_supported(&nobody, 1));
	CHECK_STR(filter_name(32015), "zstd");
	CHECK(!filter_name(12345) && !filter_is_ours(12345));
}

int main(void)
{
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	RUN(gzip_of_every_level);
	RUN(pipelines_in_every_order);
	RUN(shuffle_keeps_what_is_left_over);
	RUN(masked_filters_are_skipped);
	RUN(lzf_streams);
	RUN(lzf_by_hand);
	RUN(every_changed_byte_breaks_a_checksum);
	RUN(swapped_checksum_is_right_too);
	RUN(damaged_streams);
	RUN(wrong_sizes);
	RUN(what_is_supported);
	return CHECK_RESULT();
}
