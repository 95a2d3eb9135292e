/* SPDX-License-Identifier: MIT */
/* test_store.c - what the store says of files that libhdf5 wrote is what
 * libhdf5 itself says of them. */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "store_int.h"

#define PD H5P_DEFAULT

static char dir[] = "/tmp/h5fs-store-XXXXXX";
static uint32_t seed = 1;

/* In place of the C library's: what a file system without locks answers, and
 * how often files are looked at. */
static int flock_error;
static unsigned long looks;

int flock(int fd, int op)
{
	if (flock_error && op != LOCK_UN) {
		errno = flock_error;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, op);
}

int fstat(int fd, struct stat *st)
{
	__atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED);
	return fstatat(fd, "", st, AT_EMPTY_PATH);
}

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void random_bytes(void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)p)[i] = (uint8_t)dice(256);
}

/* One of a few buffers, good until the eighth call after. */
static const char *in_dir(const char *name)
{
	static char buf[8][96];
	static unsigned next;
	char *p = buf[next++ % 8];

	snprintf(p, sizeof(buf[0]), "%s/%s", dir, name);
	return p;
}

static hid_t create(const char *name, bool latest, hsize_t userblock)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE);
	hid_t file;

	if (latest)
		H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
	H5Pset_userblock(fcpl, userblock);
	file = H5Fcreate(in_dir(name), H5F_ACC_TRUNC, fcpl, fapl);
	CHECK(file >= 0);
	H5Pclose(fapl);
	H5Pclose(fcpl);
	return file;
}

struct opened {
	struct cache *cache;
	struct faults *faults;
	struct store *s;
	struct obj_id root;
};

static int open_with(const char *name, struct store_options opts, size_t bytes,
		     struct opened *o)
{
	CLEANUP(freep) char *why = NULL;
	struct obj_info root = { 0 };
	int r;

	memset(o, 0, sizeof(*o));
	cache_new(bytes, 1, &o->cache);
	faults_new(&o->faults);
	opts.cache = o->cache;
	opts.faults = o->faults;
	r = store_open(in_dir(name), &opts, &o->s, &why);
	if (r == 0 && store_root(o->s, &root) == 0)
		o->root = root.id;
	return r;
}

static struct opened open_store(const char *name)
{
	struct opened o;

	CHECK_EQ(open_with(name, (struct store_options){ 0 }, 1 << 20, &o), 0);
	return o;
}

static void done(struct opened *o)
{
	store_close(o->s);
	cache_free(o->cache);
	faults_free(o->faults);
}

static struct obj_id resolve(struct opened *o, const char *path)
{
	struct obj_info info = { 0 };

	CHECK_EQ(store_resolve(o->s, o->root, path, &info), 0);
	return info.id;
}

static struct dset *open_dset(struct opened *o, const char *path)
{
	struct dset *d = NULL;

	CHECK_EQ(dset_open(o->s, resolve(o, path), path, &d), 0);
	return d;
}

/* ---- hyperslabs against H5Dread ---- */

static void gather(const uint8_t *from, size_t size, unsigned rank,
		   const uint64_t *dims, const uint64_t *start,
		   const uint64_t *count, const uint64_t *step, uint8_t **to)
{
	uint64_t inner = size;

	if (rank == 0) {
		memcpy(*to, from, size);
		*to += size;
		return;
	}
	for (unsigned i = 1; i < rank; i++)
		inner *= dims[i];
	for (uint64_t i = 0; i < *count; i++)
		gather(from + (*start + i * (step ? *step : 1)) * inner, size,
		       rank - 1, dims + 1, start + 1, count + 1,
		       step ? step + 1 : NULL, to);
}

static void gather_span(const uint8_t *base, const int64_t *stride, size_t size,
			unsigned rank, const uint64_t *count, uint8_t **to)
{
	if (rank == 0) {
		memcpy(*to, base, size);
		*to += size;
		return;
	}
	for (uint64_t i = 0; i < *count; i++)
		gather_span(base + (int64_t)i * *stride, stride + 1, size,
			    rank - 1, count + 1, to);
}

static uint64_t choose(unsigned rank, const uint64_t *dims, bool stepped,
		       uint64_t *start, uint64_t *count, uint64_t *step)
{
	uint64_t n = 1;

	for (unsigned i = 0; i < rank; i++) {
		uint32_t left;

		start[i] = dice((uint32_t)dims[i]);
		step[i] = stepped ? 1 + dice(4) : 1;
		left = (uint32_t)((dims[i] - 1 - start[i]) / step[i]) + 1;
		count[i] = dice(40) ? 1 + dice(left) : 0;
		if (dice(5) == 0) {
			start[i] = 0;
			step[i] = 1;
			count[i] = dims[i];
		}
		n *= count[i];
	}
	return n;
}

/* All of a small dataset as H5Dread gives it. */
static uint8_t *read_all(hid_t file, const char *path, hid_t mtype, size_t bytes)
{
	hid_t set = H5Dopen2(file, path, PD);
	uint8_t *all = calloc(1, bytes + 1);

	CHECK(set >= 0);
	CHECK(H5Dread(set, mtype, H5S_ALL, H5S_ALL, PD, all) >= 0);
	H5Dclose(set);
	return all;
}

static unsigned runs; /* that were read at once */

static void compare(struct opened *o, hid_t file, const char *path, hid_t mtype,
		    unsigned rounds)
{
	CLEANUP(dset_unrefp) struct dset *d = open_dset(o, path);
	CLEANUP(freep) uint8_t *all = NULL, *want = NULL, *got = NULL;
	const struct dataset_info *info = d ? dset_info(d) : NULL;
	uint64_t start[8], count[8], step[8];
	unsigned wrong = 0;
	size_t size;

	if (!d)
		return;
	size = info->type->size;
	CHECK_EQ(size, H5Tget_size(mtype));
	all = read_all(file, path, mtype, info->count * size);
	want = malloc(info->count * size + 1);
	got = malloc(info->count * size + 1);
	for (unsigned k = 0; k < rounds; k++) {
		uint64_t n = choose(info->rank, info->dims, k % 2, start, count,
				    step);
		struct span sp = { 0 };
		uint8_t *p = want;

		gather(all, size, info->rank, info->dims, start, count, step, &p);
		memset(got, 0x5a, n * size);
		wrong += dset_read(d, start, count, k % 2 ? step : NULL, got) ||
			 memcmp(got, want, n * size);
		if (k % 2)
			continue;
		p = got;
		memset(got, 0x5a, n * size);
		if (dset_borrow(d, start, count, &sp) < 0) {
			wrong++;
			continue;
		}
		gather_span(sp.base, sp.stride, size, info->rank, count, &p);
		wrong += memcmp(got, want, n * size) != 0;
		span_done(&sp);
	}
	for (unsigned k = 0; k < rounds && info->count; k++) {
		uint64_t first = dice((uint32_t)info->count);
		uint64_t n = dice((uint32_t)(info->count - first)) + 1;
		int r = dset_read_run(d, first, n, got);

		runs += r == 0;
		wrong += r == 0 ? memcmp(got, all + first * size, n * size) != 0
				: r != -EOPNOTSUPP;
	}
	CHECK_EQ(dset_read_run(d, info->count, 1, got), -ERANGE);
	if (wrong)
		printf("%s: ", path);
	CHECK_EQ(wrong, 0);
	for (unsigned i = 0; i < info->rank; i++) {
		start[i] = 0;
		count[i] = info->dims[i] + (i == info->rank - 1);
		step[i] = 1;
	}
	if (info->rank) {
		CHECK_EQ(dset_read(d, start, count, NULL, got), -ERANGE);
		count[0] = info->dims[0];
		step[info->rank - 1] = 0;
		CHECK(dset_read(d, start, count, step, got) == -ERANGE);
	}
}

static const hsize_t shapes[6][5] = { { 0 }, { 29 }, { 13, 11 }, { 7, 9, 5 },
				      { 4, 5, 6, 3 }, { 3, 4, 2, 5, 3 } };
static const hsize_t chunks[6][5] = { { 0 }, { 4 }, { 5, 4 }, { 3, 4, 2 },
				      { 2, 5, 4, 2 }, { 2, 3, 1, 5, 2 } };

enum chunk_index { ONE_CHUNK, FIXED, EARLY, EXTENSIBLE, MANY_UNLIMITED, NKINDS };

/* Writes all of it, or half (a corner). */
static void fill(hid_t set, hid_t mtype, unsigned rank, const hsize_t *dims,
		 bool half)
{
	hid_t space = rank ? H5Screate_simple((int)rank, dims, NULL) :
			     H5Screate(H5S_SCALAR);
	hsize_t start[5] = { 0 }, count[5], n = 1;
	hid_t mem;
	void *data;

	for (unsigned i = 0; i < rank; i++) {
		count[i] = half ? (dims[i] + 1) / 2 : dims[i];
		start[i] = half && i == 0 ? dims[i] - count[i] : 0;
		n *= count[i];
	}
	if (rank)
		H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count,
				    NULL);
	mem = rank ? H5Screate_simple((int)rank, count, NULL) :
		     H5Screate(H5S_SCALAR);
	data = malloc(n * H5Tget_size(mtype));
	random_bytes(data, n * H5Tget_size(mtype));
	CHECK(H5Dwrite(set, mtype, mem, space, PD, data) >= 0);
	free(data);
	H5Sclose(mem);
	H5Sclose(space);
}

static void add_dset(hid_t file, const char *name, hid_t type, unsigned rank,
		     const hsize_t *max, hid_t dcpl, int written)
{
	hid_t space = rank ? H5Screate_simple((int)rank, shapes[rank], max) :
			     H5Screate(H5S_SCALAR);
	hid_t set = H5Dcreate2(file, name, type, space, PD, dcpl, PD);

	CHECK(set >= 0);
	if (written)
		fill(set, type, rank, shapes[rank], written == 1);
	H5Dclose(set);
	H5Sclose(space);
}

static hid_t type_of(unsigned i)
{
	return i % 3 == 0 ? H5T_STD_I32LE : i % 3 == 1 ? H5T_STD_U16BE :
							 H5T_IEEE_F64BE;
}
static hid_t native_of(unsigned i)
{
	return i % 3 == 0 ? H5T_NATIVE_INT32 : i % 3 == 1 ? H5T_NATIVE_UINT16 :
							    H5T_NATIVE_DOUBLE;
}

static void set_filters(hid_t dcpl, unsigned f)
{
	if (f == 1 || f == 3)
		H5Pset_shuffle(dcpl);
	if (f >= 1)
		H5Pset_deflate(dcpl, 3);
	if (f >= 3)
		H5Pset_fletcher32(dcpl);
}

static void add_chunked(hid_t file, unsigned rank, unsigned kind, unsigned f,
			int written, bool raw_edges)
{
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
	hsize_t max[5];
	const int seven = 7;
	char name[64];

	for (unsigned i = 0; i < rank; i++)
		max[i] = kind == MANY_UNLIMITED || (kind == EXTENSIBLE && i == 0) ?
				 H5S_UNLIMITED : shapes[rank][i];
	H5Pset_chunk(dcpl, (int)rank, kind == ONE_CHUNK ? shapes[rank] :
							  chunks[rank]);
	if (kind == EARLY)
		H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
	if (written == 1)
		H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &seven);
	set_filters(dcpl, f);
	if (raw_edges)
		H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
	snprintf(name, sizeof(name), "r%u-k%u-f%u-w%d-e%d", rank, kind, f,
		 written, raw_edges);
	add_dset(file, name, type_of(rank + f), rank, max, dcpl, written);
	H5Pclose(dcpl);
}

static void chunks_of(const char *name, bool latest, hsize_t userblock)
{
	hid_t file = create(name, latest, userblock);
	struct opened o;

	for (int pass = 0; pass < 2; pass++) {
		if (pass) {
			H5Fclose(file);
			file = H5Fopen(in_dir(name), H5F_ACC_RDONLY, PD);
			o = open_store(name);
		}
		for (unsigned rank = 1; rank <= 5; rank++)
			for (unsigned kind = 0; kind < NKINDS; kind++)
				for (unsigned f = 0; f < 4; f++)
					for (int w = 0; w <= 2; w++) {
						bool edges = latest && f &&
							     (rank + kind) % 2;
						char path[64];

						if (!pass) {
							add_chunked(file, rank, kind, f, w, edges);
							continue;
						}
						snprintf(path, sizeof(path),
							 "/r%u-k%u-f%u-w%d-e%d",
							 rank, kind, f, w, edges);
						compare(&o, file, path,
							native_of(rank + f), 24);
					}
	}
	CHECK_EQ(faults_count(o.faults), 0);
	done(&o);
	H5Fclose(file);
}

static void chunks_with_every_index(void)
{
	chunks_of("new.h5", true, 0);
}

static void chunks_of_old_files(void)
{
	chunks_of("old.h5", false, 0);
}

static void chunks_behind_a_userblock(void)
{
	chunks_of("user.h5", true, 2048);
}

static void add_virtual(hid_t file, const char *from)
{
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
	hid_t space = H5Screate_simple(2, shapes[2], NULL);
	hid_t src = H5Screate_simple(2, shapes[2], NULL);
	hsize_t start[2] = { 2, 1 }, count[2] = { 9, 8 };
	const int seven = 7;

	H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
	H5Sselect_hyperslab(src, H5S_SELECT_SET, start, NULL, count, NULL);
	H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &seven);
	H5Pset_virtual(dcpl, space, from, "contiguous2", src);
	H5Sselect_all(space);
	H5Dclose(H5Dcreate2(file, "virtual", type_of(2), space, PD, dcpl, PD));
	H5Sclose(src);
	H5Sclose(space);
	H5Pclose(dcpl);
}

static void add_external(hid_t file)
{
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space, set;
	hsize_t dims[2] = { 13, 11 };
	int fd = open(in_dir("raw.bin"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	uint8_t data[13 * 11 * 4 + 100];

	random_bytes(data, sizeof(data));
	CHECK_EQ(write(fd, data, sizeof(data)), sizeof(data));
	close(fd);
	H5Pset_external(dcpl, "raw.bin", 36, 201);
	H5Pset_external(dcpl, "raw.bin", 240, 4);
	H5Pset_external(dcpl, "raw.bin", 3, H5F_UNLIMITED);
	space = H5Screate_simple(2, dims, NULL);
	set = H5Dcreate2(file, "external", H5T_STD_I32BE, space, PD, dcpl, PD);
	CHECK(set >= 0);
	H5Dclose(set);
	H5Sclose(space);
	H5Pclose(dcpl);
}

static void other_layouts(void)
{
	static const char *const files[] = { "flat-old.h5", "flat-new.h5" };

	for (unsigned k = 0; k < 2; k++) {
		hid_t file = create(files[k], k, k * 512);
		struct opened o;
		char path[32];

		for (unsigned rank = 0; rank <= 5; rank++)
			for (unsigned what = 0; what < 4; what++) {
				static const char *const names[] = {
					"compact", "contiguous", "never", "filled" };
				hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
				const int seven = 7;

				if (what == 0)
					H5Pset_layout(dcpl, H5D_COMPACT);
				if (what == 3)
					H5Pset_fill_value(dcpl, H5T_NATIVE_INT,
							  &seven);
				snprintf(path, sizeof(path), "%s%u", names[what],
					 rank);
				add_dset(file, path, type_of(rank), rank, NULL,
					 dcpl, what < 2 ? 2 : 0);
				H5Pclose(dcpl);
			}
		add_external(file);
		add_virtual(file, ".");
		H5Fclose(file);
		file = H5Fopen(in_dir(files[k]), H5F_ACC_RDONLY, PD);
		CHECK_EQ(chdir(dir), 0); /* where H5Dread looks for raw files */
		o = open_store(files[k]);
		for (unsigned rank = 0; rank <= 5; rank++) {
			snprintf(path, sizeof(path), "/compact%u", rank);
			compare(&o, file, path, native_of(rank), 40);
			snprintf(path, sizeof(path), "/contiguous%u", rank);
			compare(&o, file, path, native_of(rank), 200);
			snprintf(path, sizeof(path), "/never%u", rank);
			compare(&o, file, path, native_of(rank), 20);
			snprintf(path, sizeof(path), "/filled%u", rank);
			compare(&o, file, path, native_of(rank), 20);
		}
		compare(&o, file, "/external", H5T_NATIVE_INT32, 200);
		compare(&o, file, "/virtual", native_of(2), 100);
		CHECK_EQ(faults_count(o.faults), 0);
		done(&o);
		H5Fclose(file);
	}
}

/* ---- types ---- */

static hid_t float_type(size_t size, size_t sign, size_t epos, size_t esize,
			size_t msize, size_t bias)
{
	hid_t t = H5Tcopy(size > 4 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE);

	H5Tset_fields(t, sign, epos, esize, 0, msize);
	H5Tset_ebias(t, bias);
	H5Tset_precision(t, sign + 1);
	H5Tset_size(t, size);
	return t;
}

static hid_t with_order(hid_t t)
{
	H5Tset_order(t, H5T_ORDER_BE);
	return t;
}

static hid_t enum_of(hid_t base, const char *a, const char *b, int vb)
{
	hid_t t = H5Tenum_create(base), native = H5Tcopy(H5T_NATIVE_INT);
	int va = 0;

	H5Tconvert(native, base, 1, &va, NULL, PD);
	H5Tenum_insert(t, a, &va);
	H5Tconvert(native, base, 1, &vb, NULL, PD);
	H5Tenum_insert(t, b, &vb);
	H5Tclose(native);
	return t;
}

static hid_t compound(size_t size, const char *a, size_t oa, hid_t ta,
		      const char *b, size_t ob, hid_t tb)
{
	hid_t t = H5Tcreate(H5T_COMPOUND, size);

	H5Tinsert(t, a, oa, ta);
	H5Tinsert(t, b, ob, tb);
	return t;
}

static hid_t string_of(size_t size, H5T_str_t pad)
{
	hid_t t = H5Tcopy(H5T_C_S1);

	H5Tset_size(t, size);
	H5Tset_strpad(t, pad);
	return t;
}

static hid_t opaque(size_t size)
{
	hid_t t = H5Tcreate(H5T_OPAQUE, size);

	H5Tset_tag(t, "seven");
	return t;
}

static hid_t array_of(hid_t base, hsize_t a, hsize_t b)
{
	hsize_t dims[2] = { a, b };

	return H5Tarray_create2(base, 2, dims);
}

static hid_t twelve_bits(hid_t base)
{
	hid_t t = H5Tcopy(base);

	H5Tset_precision(t, 12);
	return t;
}

static struct type_row {
	const char *name;
	hid_t file, mem;
	enum dtype_class class;
	bool big_endian, direct;
} types[40];
static unsigned ntypes;

static void row(const char *name, hid_t file, hid_t mem, enum dtype_class class,
		bool big_endian, bool direct)
{
	types[ntypes++] = (struct type_row){ name, file, mem, class, big_endian,
					     direct };
}

static void make_types(void)
{
	hid_t half = float_type(2, 15, 10, 5, 10, 15);
	hid_t half_be = with_order(float_type(2, 15, 10, 5, 10, 15));
	hid_t i16be = H5T_STD_I16BE, f32be = H5T_IEEE_F32BE, t, u;

	row("i8", H5T_STD_I8LE, H5T_NATIVE_INT8, DT_INT, false, true);
	row("u8be", H5T_STD_U8BE, H5T_NATIVE_UINT8, DT_UINT, false, true);
	row("i16be", i16be, H5T_NATIVE_INT16, DT_INT, true, true);
	row("u32be", H5T_STD_U32BE, H5T_NATIVE_UINT32, DT_UINT, true, true);
	row("i64be", H5T_STD_I64BE, H5T_NATIVE_INT64, DT_INT, true, true);
	row("u64", H5T_STD_U64LE, H5T_NATIVE_UINT64, DT_UINT, false, true);
	row("f32be", f32be, H5T_NATIVE_FLOAT, DT_FLOAT, true, true);
	row("f64", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, DT_FLOAT, false, true);
	row("half", half, half, DT_FLOAT, false, true);
	row("half be", half_be, half, DT_FLOAT, true, true);
	row("bfloat16", float_type(2, 15, 7, 8, 7, 127), H5T_NATIVE_FLOAT,
	    DT_FLOAT, false, false);
	row("long double", H5T_NATIVE_LDOUBLE, H5T_NATIVE_LDOUBLE, DT_FLOAT,
	    false, false);
	row("12 bits", twelve_bits(H5T_STD_U16LE), H5T_NATIVE_UINT16, DT_UINT,
	    false, false);
	row("12 bits be", twelve_bits(i16be), H5T_NATIVE_INT16, DT_INT, true,
	    false);
	row("enum", enum_of(H5T_STD_I8LE, "a", "b", -3), H5T_NATIVE_INT8, DT_ENUM,
	    false, true);
	row("enum be", enum_of(H5T_STD_U16BE, "a", "b", 515), H5T_NATIVE_UINT16,
	    DT_ENUM, true, true);
	row("bool", enum_of(H5T_STD_I8LE, "FALSE", "TRUE", 1), H5T_NATIVE_INT8,
	    DT_BOOL, false, true);
	row("b8", H5T_STD_B8LE, H5T_STD_B8LE, DT_UINT, false, true);
	row("b32be", H5T_STD_B32BE, H5T_STD_B32LE, DT_UINT, true, true);
	row("str", string_of(5, H5T_STR_NULLPAD), string_of(5, H5T_STR_NULLPAD),
	    DT_STRING, false, true);
	row("str space", string_of(9, H5T_STR_SPACEPAD),
	    string_of(9, H5T_STR_SPACEPAD), DT_STRING, false, true);
	row("opaque", opaque(7), opaque(7), DT_OPAQUE, false, true);
	t = compound(11, "x", 1, H5T_STD_U8LE, "y", 5, H5T_STD_I32LE);
	row("padded", t, t, DT_COMPOUND, false, true);
	row("padded be", compound(11, "x", 1, i16be, "y", 5, f32be),
	    compound(11, "x", 1, H5T_NATIVE_INT16, "y", 5, H5T_NATIVE_FLOAT),
	    DT_COMPOUND, false, false);
	row("complex", compound(8, "r", 0, H5T_IEEE_F32LE, "i", 4, H5T_IEEE_F32LE),
	    compound(8, "r", 0, H5T_IEEE_F32LE, "i", 4, H5T_IEEE_F32LE),
	    DT_COMPLEX, false, true);
	row("complex be",
	    compound(16, "real", 0, H5T_IEEE_F64BE, "imag", 8, H5T_IEEE_F64BE),
	    compound(16, "real", 0, H5T_IEEE_F64LE, "imag", 8, H5T_IEEE_F64LE),
	    DT_COMPLEX, true, true);
	row("complex apart", /* parts swapped, with a gap */
	    compound(24, "i", 0, H5T_IEEE_F64LE, "r", 16, H5T_IEEE_F64LE),
	    compound(24, "i", 0, H5T_IEEE_F64LE, "r", 16, H5T_IEEE_F64LE),
	    DT_COMPOUND, false, true);
	row("array", array_of(H5T_STD_I32LE, 2, 3), array_of(H5T_STD_I32LE, 2, 3),
	    DT_ARRAY, false, true);
	row("array be", array_of(i16be, 3, 2), array_of(H5T_NATIVE_INT16, 3, 2),
	    DT_ARRAY, false, true);
	t = array_of(i16be, 1, 3);
	u = array_of(H5T_NATIVE_INT16, 1, 3);
	row("nested",
	    compound(30, "c", 4, compound(12, "s", 0, string_of(4, H5T_STR_NULLPAD),
					 "a", 5, t),
		     "d", 20, H5T_IEEE_F64BE),
	    compound(30, "c", 4, compound(12, "s", 0, string_of(4, H5T_STR_NULLPAD),
					 "a", 5, u),
		     "d", 20, H5T_IEEE_F64LE),
	    DT_COMPOUND, false, false);
}

static void every_type(void)
{
	hid_t file = create("types.h5", false, 0);
	struct opened o;
	char name[64];

	make_types();
	for (unsigned i = 0; i < ntypes; i++)
		for (unsigned c = 0; c < 3; c++) {
			hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);

			if (c)
				H5Pset_chunk(dcpl, 2, chunks[2]);
			if (c == 2)
				set_filters(dcpl, 3);
			snprintf(name, sizeof(name), "%s %u", types[i].name, c);
			add_dset(file, name, types[i].file, 2, NULL, dcpl, 2);
			H5Pclose(dcpl);
		}
	H5Fclose(file);
	file = H5Fopen(in_dir("types.h5"), H5F_ACC_RDONLY, PD);
	o = open_store("types.h5");
	for (unsigned i = 0; i < ntypes; i++)
		for (unsigned c = 0; c < 3; c++) {
			snprintf(name, sizeof(name), "/%s %u", types[i].name, c);
			compare(&o, file, name, types[i].mem, 30);
			CLEANUP(dset_unrefp) struct dset *d = open_dset(&o, name);

			CHECK_EQ(d->type->class, types[i].class);
			CHECK_EQ(d->type->big_endian, types[i].big_endian);
			if (d->info.direct != types[i].direct)
				printf("%s: ", name);
			CHECK_EQ(d->info.direct, types[i].direct);
		}
	done(&o);
	H5Fclose(file);
}

static void what_types_say(void)
{
	struct opened o = open_store("types.h5");
	CLEANUP(dset_unrefp) struct dset *e = open_dset(&o, "/enum 0");
	CLEANUP(dset_unrefp) struct dset *eb = open_dset(&o, "/enum be 0");
	CLEANUP(dset_unrefp) struct dset *b = open_dset(&o, "/b32be 1");
	CLEANUP(dset_unrefp) struct dset *s = open_dset(&o, "/str space 1");
	CLEANUP(dset_unrefp) struct dset *q = open_dset(&o, "/opaque 2");
	CLEANUP(dset_unrefp) struct dset *n = open_dset(&o, "/nested 2");

	CHECK_EQ(e->type->nmembers, 2);
	CHECK_STR(e->type->members[1].name, "b");
	CHECK_EQ((int64_t)e->type->members[1].value, -3);
	CHECK_EQ(eb->type->members[1].value, 515);
	CHECK(b->type->bitfield && s->type->pad == PAD_SPACE);
	CHECK_STR(q->type->tag, "seven");
	CHECK_EQ(n->type->size, 30);
	CHECK_EQ(n->type->members[0].offset, 4);
	CHECK_EQ(n->type->members[0].type->members[1].offset, 5);
	CHECK_EQ(n->type->members[0].type->members[1].type->dims[1], 3);
	CHECK_EQ(q->info.nfilters, 3);
	CHECK_STR(q->info.filters[1].name, "gzip");
	dset_unref(TAKE(e));
	dset_unref(TAKE(eb));
	dset_unref(TAKE(b));
	dset_unref(TAKE(s));
	dset_unref(TAKE(q));
	dset_unref(TAKE(n));
	done(&o);
}

/* ---- chunks of any size ---- */

static void add_12_bits(hid_t file, const char *name, hsize_t chunk, hsize_t n,
			bool gzip, const uint16_t *data)
{
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), set;
	hid_t type = twelve_bits(H5T_STD_U16LE);
	hsize_t max = H5S_UNLIMITED;
	hid_t space = H5Screate_simple(1, &n, &max);
	const int seven = 7;

	H5Pset_chunk(dcpl, 1, &chunk);
	H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &seven);
	H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
	if (gzip)
		H5Pset_deflate(dcpl, 1);
	set = H5Dcreate2(file, name, type, space, PD, dcpl, PD);
	CHECK(set >= 0);
	if (data)
		CHECK(H5Dwrite(set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, PD,
			       data) >= 0);
	H5Dclose(set);
	H5Sclose(space);
	H5Tclose(type);
	H5Pclose(dcpl);
}

/* Some elements, how large the cache became of it, and by which reads. */
static void read_12_bits(struct opened *o, const char *name, uint64_t start,
			 uint64_t step, const uint16_t want[3], uint64_t most)
{
	CLEANUP(dset_unrefp) struct dset *d = open_dset(o, name);
	const uint64_t three = 3, one = 1;
	struct span sp = { 0 };
	struct cache_stats st;
	uint16_t got[3] = { 0 };

	if (!d)
		return;
	CHECK(!dset_info(d)->direct);
	CHECK_EQ(dset_read(d, &start, &three, &step, got), 0);
	CHECK(!memcmp(got, want, sizeof(got)));
	CHECK_EQ(dset_borrow(d, &start, &one, &sp), 0);
	CHECK(sp.base && !memcmp(sp.base, want, sizeof(*want)));
	span_done(&sp);
	cache_get_stats(o->cache, &st);
	CHECK(st.bytes <= most);
}

static void large_chunks_take_what_is_there(void)
{
	enum { LARGE = 9 << 20 };
	const uint16_t sevens[3] = { 7, 7, 7 }, some[3] = { 1, 2, 3 };
	hid_t file = create("large.h5", true, 0);
	uint16_t *data = malloc(LARGE * sizeof(*data));
	struct opened o;

	for (uint32_t i = 0; i < LARGE; i++)
		data[i] = i * 7 % 4096;
	add_12_bits(file, "never", (1u << 30) - 1, 3, false, NULL);
	add_12_bits(file, "never gzip", (1u << 30) - 1, 3, true, NULL);
	add_12_bits(file, "all never", (1u << 30) - 1, 1u << 31, true, NULL);
	add_12_bits(file, "plain never", (1u << 30) - 1, 1u << 31, false, NULL);
	add_12_bits(file, "some", LARGE, 3, false, some);
	add_12_bits(file, "some gzip", LARGE, 3, true, some);
	add_12_bits(file, "all", LARGE, LARGE, false, data);
	H5Fclose(file);
	o = open_store("large.h5");
	read_12_bits(&o, "/never", 0, 1, sevens, 0);
	read_12_bits(&o, "/never gzip", 0, 1, sevens, 0);
	read_12_bits(&o, "/all never", 5, 1u << 29, sevens, 0);
	read_12_bits(&o, "/plain never", 5, 1u << 29, sevens, 0);
	read_12_bits(&o, "/some", 0, 1, some, 6);
	read_12_bits(&o, "/some gzip", 0, 1, some, 12);
	read_12_bits(&o, "/all", 1001, 1u << 20,
		     (uint16_t[]){ data[1001], data[1001 + (1 << 20)],
				   data[1001 + (2 << 20)] }, 12);
	CHECK_EQ(faults_count(o.faults), 0);
	done(&o);
	free(data);
}

/* A walk over the chunks between would not end. */
static void a_step_jumps_over_chunks(void)
{
	hid_t file = create("steps.h5", false, 0);
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space, set, mem;
	hsize_t dims = 1ull << 50, chunk = 1, at = 1ull << 49, one = 1;
	const uint64_t start = 0, count = 2, step = 1ull << 49;
	const uint64_t far = UINT64_MAX - 1, single = 1;
	const int32_t five = 5;
	int32_t got[2] = { 1, 1 };
	struct opened o;
	struct dset *d;

	H5Pset_chunk(dcpl, 1, &chunk);
	space = H5Screate_simple(1, &dims, NULL);
	set = H5Dcreate2(file, "d", H5T_STD_I32LE, space, PD, dcpl, PD);
	mem = H5Screate_simple(1, &one, NULL);
	H5Sselect_elements(space, H5S_SELECT_SET, 1, &at);
	CHECK(H5Dwrite(set, H5T_NATIVE_INT32, mem, space, PD, &five) >= 0);
	H5Sclose(mem);
	H5Dclose(set);
	H5Sclose(space);
	H5Pclose(dcpl);
	H5Fclose(file);
	o = open_store("steps.h5");
	d = open_dset(&o, "/d");
	CHECK_EQ(dset_read(d, &start, &count, &step, got), 0);
	CHECK(got[0] == 0 && got[1] == 5);
	CHECK_EQ(dset_read(d, &step, &single, &far, got), 0);
	CHECK_EQ(got[0], 5);
	dset_unref(d);
	done(&o);
}

/* ---- elements that point ---- */

static void write_1d(hid_t file, const char *name, hid_t type, hsize_t n,
		     const void *data, bool attribute)
{
	hid_t space = n ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
	hid_t x = attribute ? H5Acreate2(file, name, type, space, PD, PD) :
			      H5Dcreate2(file, name, type, space, PD, PD, PD);

	CHECK(x >= 0);
	CHECK((attribute ? H5Awrite(x, type, data) :
			   H5Dwrite(x, type, H5S_ALL, H5S_ALL, PD, data)) >= 0);
	if (attribute)
		H5Aclose(x);
	else
		H5Dclose(x);
	H5Sclose(space);
}

struct pair {
	int32_t n;
	const char *s;
};

static void write_pointing(hid_t file, bool attribute)
{
	static const char *const words[] = { "", "one", "a longer one \xc3\xa9" };
	static const int32_t numbers[] = { 1, -2, 3, 4, 5 };
	const hvl_t rows[] = { { 2, (void *)numbers }, { 0, NULL },
			       { 3, (void *)(numbers + 2) } };
	const hvl_t nested[] = { { 2, (void *)rows }, { 1, (void *)(rows + 2) } };
	const struct pair pairs[] = { { 4, "four" }, { -1, "less" } };
	hid_t str = string_of(H5T_VARIABLE, H5T_STR_NULLTERM);
	hid_t seq = H5Tvlen_create(H5T_NATIVE_INT32), deep = H5Tvlen_create(seq);
	hid_t pair = compound(sizeof(*pairs), "n", offsetof(struct pair, n),
			      H5T_NATIVE_INT32, "s", offsetof(struct pair, s), str);
	hobj_ref_t refs[3] = { 0 };
	hdset_reg_ref_t regions[2];
	hsize_t start[1] = { 1 }, count[1] = { 2 }, three = 3;
	hid_t space = H5Screate_simple(1, &three, NULL);

	write_1d(file, "words", str, 3, words, attribute);
	write_1d(file, "word", str, 0, words + 1, attribute);
	write_1d(file, "rows", seq, 3, rows, attribute);
	write_1d(file, "nested", deep, 2, nested, attribute);
	write_1d(file, "pairs", pair, 2, pairs, attribute);
	H5Rcreate(&refs[0], file, "/g/target", H5R_OBJECT, -1);
	H5Rcreate(&refs[1], file, "/g", H5R_OBJECT, -1);
	write_1d(file, "refs", H5T_STD_REF_OBJ, 3, refs, attribute);
	memset(regions, 0, sizeof(regions));
	H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
	H5Rcreate(&regions[0], file, "/g/target", H5R_DATASET_REGION, space);
	write_1d(file, "regions", H5T_STD_REF_DSETREG, 2, regions, attribute);
	H5Sclose(space);
	H5Tclose(pair);
	H5Tclose(deep);
	H5Tclose(seq);
	H5Tclose(str);
}

static const char *text_at(const struct array *a, uint64_t i)
{
	const char *s;

	memcpy(&s, array_at(a, i), sizeof(s));
	return s;
}

static struct dt_vlen vlen_at(const void *base, uint64_t i)
{
	struct dt_vlen v;

	memcpy(&v, (const uint8_t *)base + i * sizeof(v), sizeof(v));
	return v;
}

/* Of a dataset (the last one stays open, for its type), or of the root's
 * attribute. */
static struct array *value(struct opened *o, const char *name, bool attribute)
{
	static struct dset *last;
	uint64_t start[1] = { 0 };
	uint8_t buf[512];
	struct array *a = NULL;

	dset_unref(TAKE(last));
	if (!name || attribute) {
		CHECK(!name || store_attr(o->s, o->root, name, &a) == 0);
		return a;
	}
	last = open_dset(o, name);
	CHECK_EQ(dset_read_cells(last, start, dset_info(last)->dims, &a), 0);
	CHECK_EQ(dset_read(last, start, dset_info(last)->dims, NULL, buf),
		 -EINVAL);
	return a;
}

static void check_pointing(bool attribute)
{
	hid_t file = create("cells.h5", attribute, 0), g;
	static const int32_t three[] = { 1, 2, 3 };
	struct opened o;
	struct array *a;
	struct dt_vlen v, w;

	g = H5Gcreate2(file, "g", PD, PD, PD);
	write_1d(g, "target", H5T_NATIVE_INT32, 3, three, false);
	H5Gclose(g);
	write_pointing(file, attribute);
	H5Fclose(file);
	o = open_store("cells.h5");

	a = value(&o, "words", attribute);
	CHECK_EQ(a->count, 3);
	CHECK(!text_at(a, 0) || !*text_at(a, 0));
	CHECK_STR(text_at(a, 1), "one");
	CHECK_STR(text_at(a, 2), "a longer one \xc3\xa9");
	array_free(a);
	a = value(&o, "word", attribute);
	CHECK_EQ(a->rank, 0);
	CHECK_STR(text_at(a, 0), "one");
	array_free(a);
	a = value(&o, "rows", attribute);
	v = vlen_at(a->data->data, 2);
	CHECK_EQ(vlen_at(a->data->data, 1).len, 0);
	CHECK_EQ(v.len, 3);
	CHECK(!memcmp(v.p, (int32_t[]){ 3, 4, 5 }, 12));
	array_free(a);
	a = value(&o, "nested", attribute);
	v = vlen_at(a->data->data, 0);
	CHECK_EQ(v.len, 2);
	w = vlen_at(v.p, 0);
	CHECK_EQ(w.len, 2);
	CHECK(!memcmp(w.p, (int32_t[]){ 1, -2 }, 8));
	CHECK_EQ(vlen_at(v.p, 1).len, 0);
	array_free(a);
	a = value(&o, "pairs", attribute);
	for (unsigned i = 0; i < 2; i++) {
		const char *s;
		int32_t n;

		memcpy(&n, (const uint8_t *)array_at(a, i) +
				   offsetof(struct pair, n), sizeof(n));
		memcpy(&s, (const uint8_t *)array_at(a, i) +
				   offsetof(struct pair, s), sizeof(s));
		CHECK_EQ(n, i ? -1 : 4);
		CHECK_STR(s, i ? "less" : "four");
	}
	array_free(a);
	a = value(&o, "refs", attribute);
	CHECK_STR(text_at(a, 0), "/g/target");
	CHECK_STR(text_at(a, 1), "/g");
	CHECK(!text_at(a, 2));
	array_free(a);
	a = value(&o, "regions", attribute);
	CHECK_STR(text_at(a, 0), "/g/target[1:3]");
	CHECK(!text_at(a, 1));
	array_free(a);
	(void)value(&o, NULL, attribute);
	CHECK_EQ(faults_count(o.faults), 0);
	done(&o);
}

static void pointing_elements(void)
{
	check_pointing(false);
}

static void pointing_attributes(void)
{
	check_pointing(true);
}

/* ---- attributes ---- */

static void plain_attributes(void)
{
	hid_t file = create("attrs.h5", true, 0), space, a;
	static uint8_t big[200000];
	const int32_t numbers[] = { 1, -2, 3 };
	uint8_t be[2] = { 0x12, 0x34 };
	struct attr_list l = { 0 };
	struct opened o;
	struct array *v = NULL;
	hsize_t zero = 0;

	random_bytes(big, sizeof(big));
	write_1d(file, "numbers", H5T_NATIVE_INT32, 3, numbers, true);
	write_1d(file, "be", H5T_STD_U16BE, 0, be, true);
	write_1d(file, "big", H5T_NATIVE_UINT8, sizeof(big), big, true);
	write_1d(file, "text", string_of(6, H5T_STR_NULLPAD), 0, "ab\0\0\0\0",
		 true);
	space = H5Screate(H5S_NULL);
	a = H5Acreate2(file, "null", H5T_NATIVE_INT, space, PD, PD);
	H5Aclose(a);
	H5Sclose(space);
	space = H5Screate_simple(1, &zero, NULL);
	a = H5Acreate2(file, "empty", H5T_NATIVE_INT, space, PD, PD);
	H5Aclose(a);
	H5Sclose(space);
	a = enum_of(H5T_STD_I8LE, "FALSE", "TRUE", 1);
	write_1d(file, "yes", a, 0, "\1", true);
	H5Tclose(a);
	a = H5Tcopy(H5T_UNIX_D32LE); /* a class that can not be read */
	write_1d(file, "time", a, 0, "abcd", true);
	H5Tclose(a);
	H5Fclose(file);

	o = open_store("attrs.h5");
	CHECK_EQ(store_attrs(o.s, o.root, &l), 0);
	CHECK_EQ(l.count, 8);
	for (size_t i = 0; i + 1 < l.count; i++)
		CHECK(strcmp(l.names[i], l.names[i + 1]) < 0);
	attr_list_done(&l);
	CHECK_EQ(store_attr(o.s, o.root, "nobody", &v), -ENODATA);
	CHECK_EQ(store_attr(o.s, o.root, "time", &v), -EIO);
	v = value(&o, "numbers", true);
	CHECK_EQ(v->rank, 1);
	CHECK(!memcmp(v->data->data, numbers, sizeof(numbers)));
	array_free(v);
	v = value(&o, "be", true);
	CHECK_EQ(v->rank, 0);
	CHECK_EQ(dtype_to_uint64(v->type, array_at(v, 0)), 0x1234);
	array_free(v);
	v = value(&o, "big", true);
	CHECK(!memcmp(v->data->data, big, sizeof(big)));
	array_free(v);
	v = value(&o, "text", true);
	CHECK_EQ(v->type->class, DT_STRING);
	array_free(v);
	v = value(&o, "null", true);
	CHECK(v->null && v->count == 0);
	array_free(v);
	v = value(&o, "empty", true);
	CHECK(!v->null && v->rank == 1 && v->count == 0);
	array_free(v);
	v = value(&o, "yes", true);
	CHECK_EQ(v->type->class, DT_BOOL);
	array_free(v);
	done(&o);
}

/* ---- links ---- */

static hid_t follow(const char *name, hid_t group, const void *data, size_t size,
		    hid_t lapl, hid_t dxpl)
{
	(void)name, (void)group, (void)data, (void)size, (void)lapl, (void)dxpl;
	return -1;
}

static void make_links(void)
{
	static const H5L_class_t class = { H5L_LINK_CLASS_T_VERS,
					   H5L_TYPE_UD_MIN + 9, "ours", NULL,
					   NULL, NULL, follow, NULL, NULL };
	const int32_t one = 1, two = 2;
	hid_t file = create("inside.h5", false, 0), g, h, t;
	char outside[128];

	write_1d(file, "d", H5T_NATIVE_INT32, 0, &one, false);
	h = H5Gcreate2(file, "h", PD, PD, PD);
	write_1d(h, "e", H5T_NATIVE_INT32, 0, &two, false);
	H5Gclose(h);
	H5Fclose(file);

	file = create("links.h5", true, 0);
	g = H5Gcreate2(file, "group", PD, PD, PD);
	h = H5Gcreate2(g, "below", PD, PD, PD);
	write_1d(h, "set", H5T_NATIVE_INT32, 0, &one, false);
	t = H5Tcopy(H5T_STD_U16BE);
	H5Tcommit2(g, "type", t, PD, PD, PD);
	H5Tclose(t);
	H5Lcreate_hard(h, "set", file, "short", PD, PD);
	H5Lcreate_hard(file, "group", h, "up", PD, PD); /* a ring */
	H5Lcreate_hard(file, "group/below", file, "b", PD, PD);
	H5Lcreate_soft("/group/below/set", file, "soft", PD, PD);
	H5Lcreate_soft("nowhere", file, "dangling", PD, PD);
	H5Lcreate_soft("ring", file, "ring", PD, PD);
	H5Lcreate_external("inside.h5", "/d", file, "x-dset", PD, PD);
	H5Lcreate_external("inside.h5", "/h", file, "x-group", PD, PD);
	H5Lcreate_external("missing.h5", "/d", file, "x-missing", PD, PD);
	snprintf(outside, sizeof(outside), "../%s.h5", strrchr(dir, '/') + 1);
	H5Lcreate_external(outside, "/d", file, "x-outside", PD, PD);
	CHECK(H5Lregister(&class) >= 0);
	CHECK(H5Lcreate_ud(file, "user", class.id, "x", 1, PD, PD) >= 0);
	H5Lunregister(class.id);
	H5Gclose(h);
	H5Gclose(g);
	H5Fclose(file);
}

static const struct link *find_link(const struct link_page *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->links[i].name, name))
			return &p->links[i];
	return NULL;
}

/* A file beside the folder, which may not be read unless all may. */
static void make_outside(char *path, size_t size)
{
	const int32_t one = 1;
	hid_t file;

	snprintf(path, size, "%s.h5", dir);
	file = H5Fcreate(path, H5F_ACC_TRUNC, PD, PD);
	write_1d(file, "d", H5T_NATIVE_INT32, 0, &one, false);
	H5Fclose(file);
}

static void check_links(enum external_mode mode, int inside, int outside)
{
	const struct store_options opts = { .external = mode };
	struct link_page p = { 0 };
	const struct link *l;
	struct obj_info info;
	struct opened o;
	uint64_t n = 0;

	CHECK_EQ(open_with("links.h5", opts, 1000, &o), 0);
	CHECK_EQ(store_link_count(o.s, o.root, &n), 0);
	CHECK_EQ(n, 11);
	CHECK_EQ(store_links(o.s, o.root, 0, 100, &p), 0);
	CHECK_EQ(p.count, 10); /* all but the user's */
	CHECK_EQ(p.next, 0);
	CHECK(!find_link(&p, "user"));
	l = find_link(&p, "group");
	CHECK(l && l->kind == LINK_HARD && l->resolved == 0);
	CHECK(l && l->info.kind == OBJ_GROUP && l->info.links == 2);
	l = find_link(&p, "soft");
	CHECK(l && l->kind == LINK_SOFT);
	CHECK_STR(l->target, "/group/below/set");
	l = find_link(&p, "x-dset");
	CHECK_STR(l->target_file, "inside.h5");
	CHECK_STR(l->target, "/d");
	CHECK_EQ(l->resolved, inside);
	CHECK(inside || (l->info.id.file && l->info.file_key));
	CHECK_EQ(find_link(&p, "x-group")->resolved, inside);
	CHECK_EQ(find_link(&p, "x-outside")->resolved, outside);
	CHECK_EQ(find_link(&p, "x-missing")->resolved,
		 mode == EXTERNAL_HIDE ? -EACCES : -ENOENT);
	CHECK_EQ(store_resolve(o.s, o.root, "soft", &info), 0);
	CHECK_EQ(info.kind, OBJ_DATASET);
	CHECK(store_resolve(o.s, o.root, "dangling", &info) == -ENOENT);
	CHECK(store_resolve(o.s, o.root, "ring", &info) < 0);
	CHECK_EQ(store_resolve(o.s, o.root, "x-outside", &info), outside);
	CHECK_EQ(store_resolve(o.s, o.root, "/group/type", &info), 0);
	CHECK_EQ(info.kind, OBJ_DATATYPE);
	{
		CLEANUP(dtype_freep) struct dtype *t = NULL;

		CHECK_EQ(store_datatype(o.s, info.id, &t), 0);
		CHECK(t && t->class == DT_UINT && t->big_endian);
		CHECK_EQ(store_datatype(o.s, o.root, &t), -EIO);
	}
	link_page_done(&p);
	if (inside == 0) { /* the bytes come from the other file */
		CLEANUP(dset_unrefp) struct dset *d = open_dset(&o, "x-dset");
		CLEANUP(dset_unrefp) struct dset *e = open_dset(&o, "x-group/e");
		int32_t got[2] = { 0 };

		CHECK_EQ(dset_read(d, NULL, NULL, NULL, &got[0]), 0);
		CHECK_EQ(dset_read(e, NULL, NULL, NULL, &got[1]), 0);
		CHECK(got[0] == 1 && got[1] == 2);
		dset_unref(TAKE(d));
		dset_unref(TAKE(e));
	}
	done(&o);
}

static void links_of_every_kind(void)
{
	char outside[128];

	make_links();
	make_outside(outside, sizeof(outside));
	check_links(EXTERNAL_INSIDE, 0, -EACCES);
	check_links(EXTERNAL_FOLLOW, 0, 0);
	check_links(EXTERNAL_HIDE, -EACCES, -EACCES);
	CHECK_EQ(unlink(outside), 0);
}

static void path_is(struct opened *o, const char *by, const char *want)
{
	CLEANUP(freep) char *path = NULL;

	CHECK_EQ(store_path_of(o->s, resolve(o, by), &path), 0);
	CHECK_STR(path, want);
}

static void one_path_for_each_object(void)
{
	struct opened o = open_store("links.h5");
	CLEANUP(freep) char *path = NULL;

	path_is(&o, "/", "/");
	path_is(&o, "/group/below", "/b"); /* the shortest of a group */
	path_is(&o, "/group", "/b/up");
	path_is(&o, "/b/up/below/up", "/b/up");
	path_is(&o, "/short", "/b/set"); /* the deepest of a dataset */
	path_is(&o, "/x-group/e", "/x-group/e");
	path_is(&o, "/group/type", "/b/up/type");
	CHECK_EQ(store_path_of(o.s, (struct obj_id){ 0, 12345 }, &path), -ENOENT);
	done(&o);
}

/* What is more than can be kept has no path, and is not looked for again. */
static void names_are_bounded(void)
{
	struct opened o = open_store("links.h5");
	CLEANUP(freep) char *path = NULL;
	struct names *made;

	o.s->names_max = 2;
	path_is(&o, "/", "/");
	made = o.s->names;
	CHECK(made);
	CHECK_EQ(store_path_of(o.s, resolve(&o, "/x-group/e"), &path), -ENOENT);
	CHECK_EQ(store_path_of(o.s, resolve(&o, "/group/type"), &path), -ENOENT);
	CHECK(o.s->names == made);
	done(&o);
}

/* Every link exactly once, whatever the size of a page. */
static void pages(const char *name, bool latest, unsigned n)
{
	hid_t file = create(name, latest, 0);
	struct opened o;
	char text[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "g%03u", i * 7 % n);
		if (i % 5 == 4)
			H5Lcreate_soft("/nowhere", file, text, PD, PD);
		else
			H5Gclose(H5Gcreate2(file, text, PD, PD, PD));
	}
	H5Fclose(file);
	o = open_store(name);
	for (size_t max = 1; max <= n + 7; max = max * 2 + 5) {
		struct link_page all = { 0 };
		uint64_t from = 0;
		unsigned seen = 0;

		o.s->links_at_once = STORE_LINKS_AT_ONCE;
		CHECK_EQ(store_links(o.s, o.root, 0, max, &all), 0);
		CHECK(all.count == n && all.next == 0);
		link_page_done(&all);
		o.s->links_at_once = 0;
		do {
			struct link_page p = { 0 };

			if (store_links(o.s, o.root, from, max, &p) < 0)
				break;
			CHECK(p.count <= max && p.count > 0);
			for (size_t i = 0; i < p.count; i++) {
				snprintf(text, sizeof(text), "g%03u", seen++);
				CHECK_STR(p.links[i].name, text);
			}
			CHECK(p.next == 0 || p.next > from);
			from = p.next;
			link_page_done(&p);
		} while (from);
		CHECK_EQ(seen, n);
	}
	done(&o);
}

static void links_come_in_pages(void)
{
	pages("many-old.h5", false, 300);
	pages("many-new.h5", true, 300);
	pages("few-new.h5", true, 6); /* compact */
}

static void an_empty_group_has_no_links(void)
{
	struct link_page p = { 0 };
	struct opened o;

	H5Fclose(create("empty.h5", false, 0));
	o = open_store("empty.h5");
	CHECK_EQ(store_links(o.s, o.root, 0, 10, &p), 0);
	CHECK_EQ(p.count, 0);
	CHECK_EQ(p.next, 0);
	link_page_done(&p);
	done(&o);
}

/* ---- locks and changes ---- */

static void make_gzip(const char *name, hsize_t rows)
{
	hid_t file = create(name, false, 0), dcpl = H5Pcreate(H5P_DATASET_CREATE);
	hsize_t dims[2] = { rows, 100 }, chunk[2] = { 7, 100 };
	hid_t space = H5Screate_simple(2, dims, NULL), set;
	uint32_t *data = malloc(rows * 100 * sizeof(*data));

	for (uint32_t i = 0; i < rows * 100; i++)
		data[i] = i * 3;
	H5Pset_chunk(dcpl, 2, chunk);
	set_filters(dcpl, 3);
	set = H5Dcreate2(file, "d", H5T_STD_U32LE, space, PD, dcpl, PD);
	H5Dwrite(set, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, PD, data);
	free(data);
	H5Dclose(set);
	H5Sclose(space);
	H5Pclose(dcpl);
	H5Fclose(file);
}

static int read_row(struct dset *d, uint64_t i)
{
	uint64_t start[2] = { i, 0 }, count[2] = { 1, 100 };
	uint32_t got[100];
	int r = dset_read(d, start, count, NULL, got);

	for (uint32_t k = 0; r == 0 && k < 100; k++)
		if (got[k] != (uint32_t)(i * 100 + k) * 3)
			return -EBADMSG;
	return r;
}

static pid_t lock_elsewhere(const char *name)
{
	int ready[2];
	char c;
	pid_t pid;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(in_dir(name), O_RDWR);

		if (flock(fd, LOCK_EX) == 0)
			(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	CHECK_EQ(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void a_writer_is_waited_for(void)
{
	struct store_options opts = { .lock_wait_ms = 150 };
	CLEANUP(freep) char *why = NULL;
	struct opened o;
	struct store *s = NULL;
	struct dset *d;
	pid_t pid;
	long t;

	make_gzip("locked.h5", 50);
	CHECK_EQ(open_with("locked.h5", opts, 1000, &o), 0);
	d = open_dset(&o, "/d");
	CHECK_EQ(read_row(d, 3), 0);
	pid = lock_elsewhere("locked.h5");
	t = now_ms();
	CHECK_EQ(read_row(d, 30), -EAGAIN);
	t = now_ms() - t;
	CHECK(t >= 140);
	opts.cache = o.cache;
	CHECK_EQ(store_open(in_dir("locked.h5"), &opts, &s, &why), -EAGAIN);
	CHECK(why && strstr(why, "is locked for writing by process "));
	end(pid);
	CHECK_EQ(read_row(d, 30), 0);
	dset_unref(d);
	done(&o);
}

/* Who comes when one has waited in vain does not wait as long again. */
static void a_wait_in_vain_is_remembered(void)
{
	struct store_options opts = { .lock_wait_ms = 300 };
	struct opened o;
	struct dset *d;
	pid_t pid;
	long t;

	CHECK_EQ(open_with("locked.h5", opts, 1000, &o), 0);
	d = open_dset(&o, "/d");
	pid = lock_elsewhere("locked.h5");
	CHECK_EQ(read_row(d, 3), -EAGAIN);
	t = now_ms();
	for (unsigned i = 0; i < 5; i++)
		CHECK_EQ(read_row(d, 10 * i), -EAGAIN);
	CHECK(now_ms() - t < 290);
	usleep(1050 * 1000);
	t = now_ms();
	CHECK_EQ(read_row(d, 3), -EAGAIN);
	CHECK(now_ms() - t >= 290);
	end(pid);
	CHECK_EQ(read_row(d, 3), 0);
	dset_unref(d);
	done(&o);
}

static void locks_that_fail(void)
{
	static const struct {
		int error, want;
	} rows[] = {
		{ ENOLCK, 0 }, { ENOSYS, 0 }, { EOPNOTSUPP, 0 }, { EINVAL, 0 },
		{ EIO, -EIO }, { EBADF, -EIO }, { ESTALE, -EIO },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct opened o = open_store("locked.h5");
		CLEANUP(dset_unrefp) struct dset *d = open_dset(&o, "/d");

		flock_error = rows[i].error;
		CHECK_EQ(read_row(d, 3), rows[i].want);
		flock_error = 0;
		CHECK_EQ(o.s->nolock, rows[i].want == 0);
		CHECK_EQ(read_row(d, 30), 0);
		dset_unref(TAKE(d));
		done(&o);
	}
	flock_error = ENOLCK;
	{
		struct opened o = open_store("locked.h5");

		CHECK(store_warning(o.s) && strstr(store_warning(o.s), "lock"));
		done(&o);
	}
	flock_error = 0;
}

struct waiter {
	struct dset *d;
	uint64_t row;
	int r;
};

static void *wait_for_row(void *arg)
{
	struct waiter *w = arg;

	w->r = read_row(w->d, w->row);
	return NULL;
}

/* Each waits its own time, not one after the other. */
static void many_wait_together(void)
{
	struct store_options opts = { .lock_wait_ms = 300 };
	struct waiter w[6];
	pthread_t threads[6];
	struct opened o;
	struct dset *d;
	pid_t pid;
	long t;

	CHECK_EQ(open_with("locked.h5", opts, 1000, &o), 0);
	d = open_dset(&o, "/d");
	pid = lock_elsewhere("locked.h5");
	t = now_ms();
	for (unsigned i = 0; i < ARRAY_SIZE(w); i++) {
		w[i] = (struct waiter){ d, i * 7, 0 };
		pthread_create(&threads[i], NULL, wait_for_row, &w[i]);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(w); i++) {
		pthread_join(threads[i], NULL);
		CHECK_EQ(w[i].r, -EAGAIN);
	}
	CHECK(now_ms() - t < 900);
	end(pid);
	CHECK_EQ(read_row(d, 0), 0);
	dset_unref(d);
	done(&o);
}

static void a_file_changed_in_place_is_stale(void)
{
	struct obj_info info;
	struct opened o;
	struct dset *d;
	int fd;

	make_gzip("changed.h5", 50);
	o = open_store("changed.h5");
	d = open_dset(&o, "/d");
	CHECK_EQ(read_row(d, 3), 0);
	CHECK_EQ(store_check(o.s), STORE_SAME);
	CHECK_EQ(store_fresh(o.s), 0);
	fd = open(in_dir("changed.h5"), O_WRONLY | O_APPEND);
	CHECK_EQ(write(fd, "x", 1), 1);
	close(fd);
	CHECK_EQ(store_check(o.s), STORE_CHANGED);
	CHECK_EQ(store_fresh(o.s), -ESTALE);
	CHECK_EQ(read_row(d, 30), -ESTALE);
	CHECK_EQ(store_root(o.s, &info), -ESTALE);
	dset_unref(d);
	done(&o);
}

/* Many files are not looked at for each byte that is read of one. */
static void linked_files_are_looked_at_now_and_then(void)
{
	struct opened o = open_store("links.h5");
	CLEANUP(dset_unrefp) struct dset *d = open_dset(&o, "x-dset");
	const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
	int32_t got = 0;
	long t;

	CHECK_EQ(o.s->nfiles, 2);
	t = now_ms();
	looks = 0;
	for (unsigned i = 0; i < 1000; i++)
		CHECK_EQ(store_fresh(o.s), 0);
	CHECK(looks >= 1000 && (long)looks <= 1002 + (now_ms() - t) / 100);
	CHECK_EQ(utimensat(AT_FDCWD, in_dir("inside.h5"), times, 0), 0);
	CHECK_EQ(dset_read(d, NULL, NULL, NULL, &got), -ESTALE); /* at once */
	CHECK_EQ(store_check(o.s), STORE_CHANGED);
	dset_unref(TAKE(d));
	done(&o);
}

static void a_replaced_file_stays_readable(void)
{
	struct opened o;
	struct dset *d;

	make_gzip("replaced.h5", 50);
	o = open_store("replaced.h5");
	d = open_dset(&o, "/d");
	CHECK_EQ(read_row(d, 3), 0);
	make_gzip("other.h5", 10);
	CHECK_EQ(rename(in_dir("other.h5"), in_dir("replaced.h5")), 0);
	CHECK_EQ(store_check(o.s), STORE_REPLACED);
	CHECK_EQ(read_row(d, 40), 0);
	CHECK_EQ(unlink(in_dir("replaced.h5")), 0);
	CHECK_EQ(read_row(d, 20), 0);
	dset_unref(d);
	done(&o);
}

/* A writer with SWMR that died left a broken object: that is said, and soon. */
static void damage_under_swmr_ends(void)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file, g;
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct obj_info info;
	struct opened o;
	H5O_info_t oi;
	long t;
	int fd;

	H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
	file = H5Fcreate(in_dir("swmr.h5"), H5F_ACC_TRUNC, PD, fapl);
	g = H5Gcreate2(file, "broken", PD, PD, PD);
	H5Gclose(g);
	H5Gclose(H5Gcreate2(file, "whole", PD, PD, PD));
	H5Oget_info_by_name2(file, "broken", &oi, H5O_INFO_BASIC, PD);
	CHECK(H5Fstart_swmr_write(file) >= 0);
	H5Fflush(file, H5F_SCOPE_GLOBAL);
	CHECK_EQ(io_read_file(in_dir("swmr.h5"), 1 << 20, &b), 0);
	H5Fclose(file);
	H5Pclose(fapl);
	CHECK(!memcmp(b->data + oi.addr, "OHDR", 4));
	b->data[oi.addr + 10] ^= 1;
	fd = open(in_dir("crashed.h5"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK_EQ(io_write_all(fd, b->data, b->size), 0);
	close(fd);
	t = now_ms();
	o = open_store("crashed.h5");
	CHECK(store_is_swmr(o.s) && store_warning(o.s));
	CHECK_EQ(store_resolve(o.s, o.root, "whole", &info), 0);
	CHECK(store_resolve(o.s, o.root, "broken", &info) < 0);
	done(&o);
	CHECK(now_ms() - t < 3000);
}

static void write_file(const char *name, const void *bytes, size_t n)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK_EQ(io_write_all(fd, bytes, n), 0);
	close(fd);
}

/* What was opened beside a SWMR writer is good as long as that one appends. */
static void a_swmr_writer_that_leaves_is_seen(void)
{
	enum { APPENDS, CLOSES, WRITES_ALONE, SHRINKS, NHOW };
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;
	CLEANUP(blob_unrefp) struct blob *b = NULL;

	H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
	file = H5Fcreate(in_dir("writer.h5"), H5F_ACC_TRUNC, PD, fapl);
	CHECK(H5Fstart_swmr_write(file) >= 0);
	H5Fflush(file, H5F_SCOPE_GLOBAL);
	CHECK_EQ(io_read_file(in_dir("writer.h5"), 1 << 20, &b), 0);
	H5Fclose(file);
	H5Pclose(fapl);
	CHECK_EQ(b->data[11], FLAG_WRITE | FLAG_SWMR);
	for (unsigned how = 0; how < NHOW; how++) {
		struct obj_info info;
		struct opened o;
		int fd;

		write_file("written.h5", b->data, b->size);
		o = open_store("written.h5");
		CHECK(store_is_swmr(o.s));
		CHECK_EQ(store_fresh(o.s), 0);
		fd = open(in_dir("written.h5"), O_WRONLY);
		if (how == APPENDS)
			CHECK_EQ(pwrite(fd, "x", 1, (off_t)b->size), 1);
		else if (how == SHRINKS)
			CHECK_EQ(ftruncate(fd, (off_t)b->size - 1), 0);
		else
			CHECK_EQ(pwrite(fd, how == CLOSES ? "\0" : "\1", 1, 11),
				 1);
		close(fd);
		usleep(120 * 1000);
		CHECK_EQ(store_fresh(o.s), how == APPENDS ? 0 : -ESTALE);
		CHECK_EQ(store_check(o.s), STORE_CHANGED);
		CHECK_EQ(store_root(o.s, &info), how == APPENDS ? 0 : -ESTALE);
		done(&o);
	}
}

/* A chunk that does not decode is -EIO, and told with its place and filter. */
static void damaged_chunks_are_told(void)
{
	const hsize_t at[2] = { 14, 0 };
	struct strbuf text = STRBUF_INIT;
	hsize_t size = 0;
	haddr_t addr = 0;
	hid_t file, set;
	struct opened o;
	struct dset *d;
	int fd;

	make_gzip("damaged.h5", 50);
	file = H5Fopen(in_dir("damaged.h5"), H5F_ACC_RDONLY, PD);
	set = H5Dopen2(file, "d", PD);
	CHECK(H5Dget_chunk_info_by_coord(set, at, NULL, &addr, &size) >= 0);
	H5Dclose(set);
	H5Fclose(file);
	fd = open(in_dir("damaged.h5"), O_WRONLY);
	CHECK_EQ(pwrite(fd, "\xaa\x55\xaa", 3, (off_t)(addr + size / 2)), 3);
	close(fd);
	o = open_store("damaged.h5");
	d = open_dset(&o, "/d");
	for (unsigned i = 0; i < 50; i++)
		CHECK_EQ(read_row(d, i), i / 7 == 2 ? -EIO : 0);
	CHECK_EQ(faults_count(o.faults), 1);
	CHECK_EQ(faults_print(o.faults, &text), 0);
	CHECK(text.buf && strstr(text.buf, "/d\tchunk (14,0): damaged "
					   "(fletcher32 does not decode)"));
	strbuf_done(&text);
	dset_unref(d);
	done(&o);
}

/* Sizes in a heap of strings that lead out of it, or nowhere. */
static void damaged_heaps_are_refused(void)
{
	static const struct {
		size_t at, n;
		const char *bytes;
	} rows[] = {
		{ 8, 8, "\0\0\0\0\0\0\0\1" }, /* of the collection */
		{ 16 + 8, 8, "\0\0\0\0\0\1\0\0" }, /* of its first string */
		{ 16 + 8, 8, "\377\377\377\377\377\377\377\377" },
		{ 16, 16, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" }, /* for ever */
	};
	static const char *const words[] = { "first", "second" };
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	hid_t file = create("heap.h5", false, 0);
	hid_t str = string_of(H5T_VARIABLE, H5T_STR_NULLTERM);
	const uint8_t *heap;

	write_1d(file, "words", str, 2, words, false);
	H5Tclose(str);
	H5Fclose(file);
	CHECK_EQ(io_read_file(in_dir("heap.h5"), 1 << 20, &b), 0);
	heap = memmem(b->data, b->size, "GCOL", 4);
	CHECK(heap);
	for (size_t i = 0; heap && i <= ARRAY_SIZE(rows); i++) {
		uint64_t start[1] = { 0 }, count[1] = { 2 };
		struct array *a = NULL;
		struct opened o;
		struct dset *d;
		int fd = open(in_dir("heap.h5"), O_WRONLY | O_TRUNC);

		CHECK_EQ(io_write_all(fd, b->data, b->size), 0);
		if (i)
			CHECK_EQ(pwrite(fd, rows[i - 1].bytes, rows[i - 1].n,
					heap - b->data + (off_t)rows[i - 1].at),
				 rows[i - 1].n);
		close(fd);
		o = open_store("heap.h5");
		d = open_dset(&o, "/words");
		CHECK_EQ(dset_read_cells(d, start, count, &a), i ? -EIO : 0);
		CHECK(i || (a && !strcmp(text_at(a, 1), "second")));
		array_free(a);
		dset_unref(d);
		done(&o);
	}
}

/* Breaks the version of a message, which lies so far before a name in it. */
static void break_message(const char *file, const char *name, off_t before)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	const uint8_t *p;
	int fd;

	CHECK_EQ(io_read_file(in_dir(file), 1 << 22, &b), 0);
	p = memmem(b->data, b->size, name, strlen(name));
	CHECK(p);
	fd = open(in_dir(file), O_WRONLY);
	CHECK_EQ(pwrite(fd, "\x63", 1, p - b->data - before), 1);
	close(fd);
}

static void damaged_lists_are_refused(void)
{
	hid_t file = create("lists.h5", false, 0);
	struct attr_list l = { 0 };
	struct link_page p = { 0 };
	const int32_t one = 1;
	struct array *a = NULL;
	struct opened o;

	write_1d(file, "first", H5T_NATIVE_INT32, 0, &one, true);
	write_1d(file, "second", H5T_NATIVE_INT32, 0, &one, true);
	H5Fclose(file);
	break_message("lists.h5", "second", 8);
	o = open_store("lists.h5");
	CHECK_EQ(store_attrs(o.s, o.root, &l), -EIO);
	CHECK(store_attr(o.s, o.root, "second", &a) < 0);
	CHECK(!a && !l.names);
	done(&o);

	pages("heap-of-links.h5", true, 40);
	break_message("heap-of-links.h5", "g020", 3);
	o = open_store("heap-of-links.h5");
	CHECK_EQ(store_links(o.s, o.root, 0, 100, &p), -EIO);
	CHECK(!p.links);
	done(&o);
}

/* More bits than an element has, or behind its end: the library would convert
 * them. */
static void bits_that_are_not_there(void)
{
	static const uint8_t sound[] = { 8, 0, 0, 0, 1, 0, 62, 0 };
	static const uint8_t damage[][8] = {
		{ 8, 0, 0, 0, 1, 0, 224, 0 },
		{ 8, 0, 0, 0, 3, 0, 62, 0 },
		{ 8, 0, 0, 0, 1, 0, 0, 0 },
	};
	const int64_t one = 1;

	for (size_t i = 0; i <= ARRAY_SIZE(damage); i++) {
		CLEANUP(blob_unrefp) struct blob *b = NULL;
		hid_t file = create("bits.h5", false, 0);
		hid_t t = H5Tcopy(H5T_STD_I64LE);
		struct array *a = NULL;
		const uint8_t *p;
		struct opened o;
		int fd;

		H5Tset_precision(t, 62);
		H5Tset_offset(t, 1);
		write_1d(file, "a", t, 0, &one, true);
		H5Tclose(t);
		H5Fclose(file);
		CHECK_EQ(io_read_file(in_dir("bits.h5"), 1 << 22, &b), 0);
		p = memmem(b->data, b->size, sound, sizeof(sound));
		CHECK(p);
		fd = open(in_dir("bits.h5"), O_WRONLY);
		if (p && i > 0)
			CHECK_EQ(pwrite(fd, damage[i - 1], 8, p - b->data), 8);
		close(fd);
		o = open_store("bits.h5");
		CHECK_EQ(store_attr(o.s, o.root, "a", &a), i ? -EIO : 0);
		CHECK(i || a->type->class == DT_INT);
		array_free(a);
		done(&o);
	}
}

/* ---- threads ---- */

static void *read_rows(void *arg)
{
	struct waiter *w = arg;
	uint32_t x = (uint32_t)w->row;

	for (unsigned i = 0; i < 150 && w->r == 0; i++) {
		x = x * 1664525u + 1013904223u;
		w->r = read_row(w->d, (x >> 8) % 200);
	}
	return NULL;
}

static void eight_threads_read_at_once(void)
{
	struct waiter w[8];
	pthread_t threads[8];
	struct store_stats st;
	struct opened o;
	struct dset *d;

	make_gzip("threads.h5", 200);
	CHECK_EQ(open_with("threads.h5", (struct store_options){ 0 }, 10000, &o), 0);
	d = open_dset(&o, "/d");
	for (unsigned i = 0; i < ARRAY_SIZE(w); i++) {
		w[i] = (struct waiter){ d, i + 1, 0 };
		pthread_create(&threads[i], NULL, read_rows, &w[i]);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(w); i++) {
		pthread_join(threads[i], NULL);
		CHECK_EQ(w[i].r, 0);
	}
	store_get_stats(o.s, &st);
	CHECK(st.chunks_decoded >= 29 && st.lib_reads == 0);
	CHECK(st.locates > 0 && st.locates <= st.chunks_decoded);
	dset_unref(d);
	done(&o);
}

/* More datasets than the library keeps open. */
static void many_datasets_at_once(void)
{
	struct dset *d[STORE_OPEN_DATASETS + 20];
	hid_t file = create("sets.h5", false, 0), dcpl, space;
	hsize_t dims[1] = { 10 };
	struct opened o;
	char name[16];

	dcpl = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_chunk(dcpl, 1, dims);
	space = H5Screate_simple(1, dims, NULL);
	for (uint32_t i = 0; i < ARRAY_SIZE(d); i++) {
		uint8_t data[10];
		hid_t set;

		snprintf(name, sizeof(name), "s%u", i);
		memset(data, (int)i, sizeof(data));
		set = H5Dcreate2(file, name, H5T_STD_U8LE, space, PD, dcpl, PD);
		H5Dwrite(set, H5T_STD_U8LE, H5S_ALL, H5S_ALL, PD, data);
		H5Dclose(set);
	}
	H5Sclose(space);
	H5Pclose(dcpl);
	H5Fclose(file);
	CHECK_EQ(open_with("sets.h5", (struct store_options){ 0 }, 0, &o), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(d); i++) {
		snprintf(name, sizeof(name), "/s%u", i);
		d[i] = open_dset(&o, name);
	}
	for (unsigned k = 0; k < 300; k++) {
		uint32_t i = dice(ARRAY_SIZE(d));
		uint64_t start[1] = { 9 }, count[1] = { 1 };
		uint8_t got = 0;

		CHECK_EQ(dset_read(d[i], start, count, NULL, &got), 0);
		CHECK_EQ(got, i);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(d); i++)
		dset_unref(d[i]);
	done(&o);
}

int main(void)
{
	char rm[64];

	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	CHECK(mkdtemp(dir));
	RUN(chunks_with_every_index);
	RUN(chunks_of_old_files);
	RUN(chunks_behind_a_userblock);
	RUN(other_layouts);
	RUN(every_type);
	RUN(what_types_say);
	RUN(large_chunks_take_what_is_there);
	RUN(a_step_jumps_over_chunks);
	RUN(pointing_elements);
	RUN(pointing_attributes);
	RUN(plain_attributes);
	RUN(links_of_every_kind);
	RUN(one_path_for_each_object);
	RUN(names_are_bounded);
	RUN(links_come_in_pages);
	RUN(an_empty_group_has_no_links);
	RUN(a_writer_is_waited_for);
	RUN(a_wait_in_vain_is_remembered);
	RUN(locks_that_fail);
	RUN(many_wait_together);
	RUN(a_file_changed_in_place_is_stale);
	RUN(linked_files_are_looked_at_now_and_then);
	RUN(a_replaced_file_stays_readable);
	RUN(damage_under_swmr_ends);
	RUN(a_swmr_writer_that_leaves_is_seen);
	RUN(damaged_chunks_are_told);
	RUN(damaged_heaps_are_refused);
	RUN(damaged_lists_are_refused);
	RUN(bits_that_are_not_there);
	RUN(eight_threads_read_at_once);
	RUN(many_datasets_at_once);
	snprintf(rm, sizeof(rm), "rm -rf %s", dir);
	CHECK_EQ(system(rm), 0);
	CHECK(runs > 1000);
	return CHECK_RESULT();
}
