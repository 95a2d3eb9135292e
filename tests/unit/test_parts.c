/* SPDX-License-Identifier: MIT */
/* test_parts.c - rows of compressed chunks, read at random and in order, by one
 * and by many, are what was written; what it cost is what the store counts. */
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include "check.h"
#include "points_int.h"
#include "store_int.h"

#define PD H5P_DEFAULT
#define ROWS 300u /* the last chunk is not full */
#define PER 64u	  /* rows a chunk */
#define HEIGHT 48u
#define WIDTH 50u
#define ROW (HEIGHT * WIDTH) /* elements */
#define NCHUNKS ((ROWS + PER - 1) / PER)

static char dir[] = "/tmp/h5fs-parts-XXXXXX";
static uint32_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static const char *path(void)
{
	static char buf[64];

	snprintf(buf, sizeof(buf), "%s/data.h5", dir);
	return buf;
}

/* ---- datasets of every pipeline that can be entered, and some that can not ---- */

struct kind {
	const char *name;
	unsigned size;	     /* of an element */
	const char *filters; /* g gzip, s shuffle, f fletcher32, in order */
	bool big_endian;
	bool raw_edges;
	bool entered;
};
static const struct kind kinds[] = {
	{ "plain", 1, "g", false, false, true },
	{ "u16", 2, "g", false, false, true },
	{ "big endian", 4, "g", true, false, true },
	{ "shuffled bytes", 1, "sg", false, false, true },
	{ "shuffled", 2, "sg", false, false, true },
	{ "shuffled big endian", 4, "sg", true, false, true },
	{ "summed first", 1, "fg", false, false, true },
	{ "summed last", 1, "gf", false, false, true },
	{ "summed twice", 2, "fgf", false, false, true },
	{ "shuffled and summed", 4, "sgf", false, false, true },
	{ "summed, then shuffled", 4, "fsg", false, false, false },
	{ "raw edges", 1, "g", false, true, true },
	{ "no filter", 1, "", false, false, false },
	{ "sum alone", 1, "f", false, false, false },
	{ "twice", 1, "gg", false, false, false },
};

static hid_t type_of(const struct kind *k, bool file)
{
	hid_t t = H5Tcopy(k->size == 1	 ? H5T_STD_U8LE
			  : k->size == 2 ? H5T_STD_U16LE
					 : H5T_STD_U32LE);

	if (file && k->big_endian)
		H5Tset_order(t, H5T_ORDER_BE);
	return t;
}

/* Smooth, with noise in the low bits: as photographs are. */
static uint32_t value_at(uint64_t i)
{
	uint64_t x = i % WIDTH, y = i / WIDTH % HEIGHT, n = i / ROW;

	return (uint32_t)(x * (n % 5 + 1) + y * (n % 7) + n * 3 +
			  (i * 2654435761u >> 13 & 3) + (n % 3 << 16));
}

static void make_file(void)
{
	static const hsize_t dims[] = { ROWS, HEIGHT, WIDTH };
	static const hsize_t chunk[] = { PER, HEIGHT, WIDTH };
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;

	H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
	file = H5Fcreate(path(), H5F_ACC_TRUNC, PD, fapl);
	CHECK(file >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];
		hid_t space = H5Screate_simple(3, dims, NULL);
		hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
		hid_t type = type_of(k, true), set;
		CLEANUP(freep) uint32_t *all = malloc(ROWS * ROW * 4);

		H5Pset_chunk(dcpl, 3, chunk);
		for (const char *f = k->filters; *f; f++)
			*f == 'g'   ? H5Pset_deflate(dcpl, 4)
			: *f == 's' ? H5Pset_shuffle(dcpl)
				    : H5Pset_fletcher32(dcpl);
		if (k->raw_edges)
			H5Pset_chunk_opts(dcpl,
					  H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
		for (uint64_t n = 0; n < ROWS * ROW; n++)
			all[n] = value_at(n) & (k->size == 4   ? 0xffffffu
						: k->size == 2 ? 0xffffu
							       : 0xffu);
		set = H5Dcreate2(file, k->name, type, space, PD, dcpl, PD);
		CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_UINT32, H5S_ALL,
					   H5S_ALL, PD, all) >= 0);
		H5Dclose(set);
		H5Tclose(type);
		H5Pclose(dcpl);
		H5Sclose(space);
	}
	H5Fclose(file);
	H5Pclose(fapl);
}

/* ---- a store with all that it needs ---- */

struct opened {
	struct cache *cache;
	struct faults *faults;
	struct points *points;
	struct pool *pool;
	struct store *s;
};

static void open_store(struct opened *o, size_t cache_bytes, unsigned threads)
{
	CLEANUP(freep) char *why = NULL;
	struct store_options so = { 0 };
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	memset(o, 0, sizeof(*o));
	CHECK_EQ(cache_new(cache_bytes, 1, &o->cache), 0);
	CHECK_EQ(faults_new(&o->faults), 0);
	CHECK_EQ(points_new(fd, 64 << 20, &o->points), 0);
	CHECK_EQ(pool_new(threads, &o->pool), 0);
	so.cache = o->cache;
	so.faults = o->faults;
	so.points = o->points;
	so.pool = o->pool;
	CHECK_EQ(store_open(path(), &so, &o->s, &why), 0);
}

static void done(struct opened *o)
{
	store_close(o->s);
	pool_free(o->pool);
	points_free(o->points);
	faults_free(o->faults);
	cache_free(o->cache);
}

static struct store_stats stats(struct opened *o)
{
	struct store_stats st;

	store_get_stats(o->s, &st);
	return st;
}

static struct dset *open_dset(struct opened *o, const char *name)
{
	struct obj_info root, info = { 0 };
	struct dset *d = NULL;

	CHECK_EQ(store_root(o->s, &root), 0);
	CHECK_EQ(store_resolve(o->s, root.id, name, &info), 0);
	CHECK_EQ(dset_open(o->s, info.id, name, &d), 0);
	return d;
}

static bool is_value(const uint8_t *p, size_t size, uint64_t i)
{
	uint32_t v = 0, want = value_at(i);

	memcpy(&v, p, size);
	return v == (want & (size == 4	 ? 0xffffffu
			     : size == 2 ? 0xffffu
					 : 0xffu));
}

/* All of one row. */
static bool row_is_right(struct dset *d, uint64_t row)
{
	uint64_t start[3] = { row, 0, 0 }, count[3] = { 1, HEIGHT, WIDTH };
	uint8_t buf[ROW * 4];
	size_t size = dset_info(d)->type->size;

	if (dset_read(d, start, count, NULL, buf) < 0)
		return false;
	for (uint64_t i = 0; i < ROW; i++)
		if (!is_value(buf + i * size, size, row * ROW + i))
			return false;
	return true;
}

/* A window of rows [row, row + n), all of their lines or some. */
static bool borrow_is_right(struct dset *d, uint64_t row, uint64_t n)
{
	uint64_t y = dice(3) ? 0 : dice(HEIGHT - 1);
	uint64_t start[3] = { row, y, 0 };
	uint64_t count[3] = { n, y ? dice(HEIGHT - (uint32_t)y) + 1 : HEIGHT,
			      WIDTH };
	size_t size = dset_info(d)->type->size;
	struct span sp = { 0 };
	bool right = true;

	if (dset_borrow(d, start, count, &sp) < 0)
		return false;
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t j = 0; j < count[1]; j++)
			for (uint64_t x = 0; x < WIDTH; x++)
				right = right &&
					is_value(sp.base +
							 (int64_t)i *
								 sp.stride[0] +
							 (int64_t)j *
								 sp.stride[1] +
							 (int64_t)x *
								 sp.stride[2],
						 size,
						 (row + i) * ROW +
							 (y + j) * WIDTH + x);
	span_done(&sp);
	return right;
}

/* The same with steps, into a buffer, over several chunks. */
static bool read_is_right(struct dset *d, uint64_t row, uint64_t n,
			  uint64_t step)
{
	uint64_t start[3] = { row, 0, 1 }, count[3] = { n, HEIGHT, WIDTH / 2 };
	uint64_t steps[3] = { step, 1, 2 };
	size_t size = dset_info(d)->type->size;
	CLEANUP(freep) uint8_t *buf = malloc(n * ROW * size);
	const uint8_t *p = buf;

	if (dset_read(d, start, count, steps, buf) < 0)
		return false;
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t j = 0; j < HEIGHT; j++)
			for (uint64_t x = 0; x < WIDTH / 2; x++, p += size)
				if (!is_value(p, size,
					      (row + i * step) * ROW +
						      j * WIDTH + 1 + 2 * x))
					return false;
	return true;
}

/* Elements one behind the other, from any to any. */
static bool run_is_right(struct dset *d, uint64_t first, uint64_t n)
{
	size_t size = dset_info(d)->type->size;
	CLEANUP(freep) uint8_t *buf = malloc(n * size);

	if (dset_read_run(d, first, n, buf) < 0)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!is_value(buf + i * size, size, first + i))
			return false;
	return true;
}

/* ---- at random ---- */

/* The cache holds one chunk: without points each row would cost one. */
static void rows_at_random_are_right(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];
		struct opened o;
		struct dset *d;
		unsigned wrong = 0;

		open_store(&o, PER * ROW * k->size, 0);
		d = open_dset(&o, k->name);
		for (int n = 0; n < 300; n++) {
			uint32_t row = dice(ROWS - 8);

			wrong += !borrow_is_right(d, row, 1);
			if (n % 5 == 0)
				wrong += !run_is_right(d,
						       dice(ROWS * ROW - 9999),
						       dice(9999) + 1);
			if (n % 8 == 0)
				wrong += !read_is_right(d, dice(ROWS - 40),
							dice(5) + 1,
							dice(8) + 1);
		}
		if (wrong || (stats(&o).parts > 150) != k->entered)
			printf("%s: %" PRIu64 " parts, %" PRIu64 " chunks\n",
			       k->name, stats(&o).parts,
			       stats(&o).chunks_decoded);
		CHECK_EQ(wrong, 0);
		CHECK_EQ(stats(&o).parts > 150, k->entered);
		CHECK(!k->entered || k->raw_edges ||
		      stats(&o).chunks_decoded < 60);
		CHECK_EQ(faults_count(o.faults), 0);
		dset_unref(d);
		done(&o);
	}
}

/* Until it is full nothing is decoded twice, and no points are made. */
static void a_cache_that_holds_all_needs_no_points(void)
{
	struct points_stats ps;
	struct opened o;
	struct dset *d;

	open_store(&o, 16 << 20, 0);
	d = open_dset(&o, "plain");
	for (int n = 0; n < 100; n++)
		CHECK(borrow_is_right(d, dice(ROWS), 1));
	points_get_stats(o.points, &ps);
	CHECK_EQ(ps.bytes, 0);
	CHECK_EQ(stats(&o).parts, 0);
	CHECK_EQ(stats(&o).chunks_decoded, NCHUNKS);
	dset_unref(d);
	done(&o);
}

static void the_library_is_asked_once_for_each_chunk(void)
{
	struct opened o;
	struct dset *d;

	open_store(&o, ROW, 0);
	d = open_dset(&o, "no filter");
	for (int n = 0; n < 100; n++)
		CHECK(row_is_right(d, (uint64_t)n * PER % ROWS));
	CHECK_EQ(stats(&o).chunks_decoded, 100);
	CHECK_EQ(stats(&o).locates, NCHUNKS);
	dset_unref(d);
	done(&o);
}

/* ---- in order ---- */

static void wait_for_workers(struct opened *o)
{
	ahead_wait(o->s);
}

static void rows_in_order_come_from_whole_chunks(void)
{
	struct opened o;
	struct dset *d;

	open_store(&o, PER * ROW * 4, 0);
	d = open_dset(&o, "plain");
	for (int round = 0; round < 2; round++)
		for (uint64_t row = 0; row < ROWS; row++)
			CHECK(row_is_right(d, row));
	/* before it was seen to be in order */
	CHECK(stats(&o).parts <= 4);
	CHECK(stats(&o).chunks_decoded <= 2 * NCHUNKS + 2);
	CHECK_EQ(stats(&o).ahead, 0); /* nobody is there to do it */
	dset_unref(d);
	done(&o);
}

static void nothing(void *arg)
{
	(void)arg;
}

static void the_next_chunk_is_there(void)
{
	struct opened o;
	struct dset *d;

	open_store(&o, PER * ROW * 4, 2);
	d = open_dset(&o, "plain");
	while (!pool_try(o.pool, nothing, nothing, NULL))
		sched_yield(); /* its threads have begun */
	for (uint64_t row = 0; row < ROWS; row++) {
		CHECK(row_is_right(d, row));
		if (row % PER == PER / 2)
			wait_for_workers(&o);
	}
	CHECK(stats(&o).ahead >= NCHUNKS - 2);
	CHECK(stats(&o).ahead_used >= NCHUNKS - 2);
	CHECK_EQ(stats(&o).chunks_decoded, NCHUNKS);
	dset_unref(d);
	done(&o);
}

static void who_jumps_gets_nothing_ahead(void)
{
	struct opened o;
	struct dset *d;

	open_store(&o, PER * ROW * 4, 2);
	d = open_dset(&o, "plain");
	for (int n = 0; n < 200; n++)
		CHECK(row_is_right(d, dice(ROWS)));
	wait_for_workers(&o);
	CHECK(stats(&o).ahead < 5); /* now and then chance looks like order */
	dset_unref(d);
	done(&o);
}

/* No more than the cache can hold beside what is read. */
static void large_chunks_are_not_decoded_ahead(void)
{
	struct opened o;
	struct dset *d;

	open_store(&o, PER * ROW * 3 / 2, 2);
	d = open_dset(&o, "plain");
	for (uint64_t row = 0; row < ROWS; row++)
		CHECK(row_is_right(d, row));
	wait_for_workers(&o);
	CHECK_EQ(stats(&o).ahead, 0);
	CHECK(stats(&o).chunks_decoded <= NCHUNKS + 1);
	dset_unref(d);
	done(&o);
}

static void a_dataset_may_be_closed_meanwhile(void)
{
	for (int n = 0; n < 30; n++) {
		struct opened o;
		struct dset *d;

		open_store(&o, 16 << 20, 2);
		d = open_dset(&o, "u16");
		for (uint64_t row = 0; row < 6; row++)
			CHECK(row_is_right(d, PER * (uint64_t)(n % 4) + row));
		dset_unref(d);
		if (n % 2) { /* the other way round */
			pool_free(o.pool);
			o.pool = NULL;
		}
		done(&o);
	}
}

/* ---- damaged ---- */

/* Turns a bit in the middle of the stored chunk, and FILE's times back. */
static void turn_a_bit(struct dset *d, const uint64_t *scaled, struct opened *o)
{
	CLEANUP(points_part_done) struct points_part part = { 0 };
	CLEANUP(fd_closep) int fd = open(path(), O_RDWR | O_CLOEXEC);
	struct timespec times[2];
	struct stat st;
	uint8_t b = 0;

	CHECK_EQ(points_find(o->points, chunk_key(d, scaled), 30 * ROW,
			     31 * ROW, d->parts.every, &part),
		 0);
	CHECK(fstat(fd, &st) == 0);
	CHECK_EQ(pread(fd, &b, 1, (off_t)(part.addr + part.size / 2)), 1);
	b ^= 0x04;
	CHECK_EQ(pwrite(fd, &b, 1, (off_t)(part.addr + part.size / 2)), 1);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	CHECK_EQ(futimens(fd, times), 0);
}

/* What is not what it was is decoded whole, and told of: nothing wrong is shown,
 * whatever the points say. */
static void damage_is_told(void)
{
	uint64_t start[3] = { 30, 0, 0 }, count[3] = { 1, HEIGHT, WIDTH };
	const uint64_t first[3] = { 0, 0, 0 };
	struct span sp = { 0 };
	struct opened o;
	struct dset *d;

	open_store(&o, ROW, 0);
	d = open_dset(&o, "summed last");
	/* each leaves the cache for the next; then points are made */
	for (int n = 0; n < 3; n++)
		for (uint64_t row = 30; row < ROWS; row += PER)
			CHECK(borrow_is_right(d, row, 1));
	CHECK(stats(&o).parts > 0);
	turn_a_bit(d, first, &o);
	CHECK_EQ(dset_borrow(d, start, count, &sp), -EIO);
	CHECK_EQ(faults_count(o.faults), 1);
	start[0] = 1; /* it is another part that is damaged */
	CHECK(borrow_is_right(d, 1, 1));
	turn_a_bit(d, first, &o);
	CHECK(borrow_is_right(d, 30, 1));
	dset_unref(d);
	done(&o);
}

/* ---- threads ---- */

struct reader_arg {
	struct opened *o;
	unsigned number;
	unsigned wrong;
};

static void *read_rows(void *arg)
{
	struct reader_arg *a = arg;
	struct dset *d = open_dset(a->o, a->number % 2 ? "shuffled" : "plain");
	uint32_t n = a->number;

	for (uint64_t i = 0; i < ROWS; i++) {
		n = n * 1664525u + 1013904223u;
		a->wrong +=
			!row_is_right(d, a->number < 3 ? i : (n >> 8) % ROWS);
	}
	dset_unref(d);
	return NULL;
}

static void eight_readers_in_their_own_ways(void)
{
	struct reader_arg args[8];
	pthread_t t[8];
	struct opened o;

	open_store(&o, PER * ROW * 5, 2);
	for (unsigned i = 0; i < 8; i++) {
		args[i] = (struct reader_arg){ &o, i, 0 };
		pthread_create(&t[i], NULL, read_rows, &args[i]);
	}
	for (unsigned i = 0; i < 8; i++) {
		pthread_join(t[i], NULL);
		CHECK_EQ(args[i].wrong, 0);
	}
	CHECK(stats(&o).parts > 0);
	CHECK_EQ(faults_count(o.faults), 0);
	done(&o);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 2;
	make_file();
	RUN(rows_at_random_are_right);
	RUN(a_cache_that_holds_all_needs_no_points);
	RUN(the_library_is_asked_once_for_each_chunk);
	RUN(rows_in_order_come_from_whole_chunks);
	RUN(the_next_chunk_is_there);
	RUN(who_jumps_gets_nothing_ahead);
	RUN(large_chunks_are_not_decoded_ahead);
	RUN(a_dataset_may_be_closed_meanwhile);
	RUN(damage_is_told);
	RUN(eight_readers_in_their_own_ways);
	unlink(path());
	rmdir(dir);
	return CHECK_RESULT();
}
