/* SPDX-License-Identifier: MIT */
/* test_writer_rows.c - what is appended to datasets of every kind, and written
 * over their rows, is what libhdf5 reads back. */
#include "writer_fixture.h"

/* ---- stored types ---- */
static hid_t string_type(size_t size, H5T_str_t pad)
{
	hid_t t = H5Tcopy(H5T_C_S1);

	H5Tset_size(t, size);
	H5Tset_strpad(t, pad);
	return t;
}

static hid_t enum_type(hid_t base)
{
	static const char *const names[] = { "one", "two", "far" };
	static const int values[] = { 1, 2, -300 };
	hid_t t = H5Tenum_create(base);

	for (unsigned i = 0; i < 3; i++) {
		int v = values[i];

		H5Tconvert(H5T_NATIVE_INT, base, 1, &v, NULL, PD);
		H5Tenum_insert(t, names[i], &v);
	}
	return t;
}

static hid_t bool_type(hid_t base)
{
	hid_t t = H5Tenum_create(base);
	const int no = 0;
	int yes = 1;

	H5Tconvert(H5T_NATIVE_INT, base, 1, &yes, NULL, PD);
	H5Tenum_insert(t, "FALSE", &no);
	H5Tenum_insert(t, "TRUE", &yes);
	return t;
}

static hid_t pair_type(const char *a, hid_t ta, const char *b, hid_t tb,
		       size_t gap)
{
	hid_t t = H5Tcreate(H5T_COMPOUND,
			    H5Tget_size(ta) + gap + H5Tget_size(tb));

	H5Tinsert(t, a, 0, ta);
	H5Tinsert(t, b, H5Tget_size(ta) + gap, tb);
	return t;
}

static hid_t half_type(void)
{
	const struct dtype half = { .class = DT_FLOAT, .size = 2 };

	return type_to_h5(&half);
}

static hid_t three_bytes(void)
{
	hid_t t = H5Tcopy(H5T_STD_U32LE);

	H5Tset_precision(t, 24);
	H5Tset_size(t, 3);
	return t;
}

static hid_t flags_type(void)
{
	hid_t b = bool_type(H5T_STD_I8LE), e = enum_type(H5T_STD_I16BE);
	hid_t t = pair_type("b", b, "e", e, 0);

	H5Tclose(b);
	H5Tclose(e);
	return t;
}

static hid_t named_type(void)
{
	hid_t s = string_type(H5T_VARIABLE, H5T_STR_NULLTERM);
	hid_t t = pair_type("name", s, "n", H5T_STD_I64LE, 0);

	H5Tclose(s);
	return t;
}

static hid_t make_type(const char *name)
{
	const hsize_t three[] = { 3 }, grid[] = { 2, 2 };
	const struct {
		const char *name;
		hid_t type;
	} all[] = {
		{ "u1", H5Tcopy(H5T_STD_U8LE) },
		{ "u2", H5Tcopy(H5T_STD_U16LE) },
		{ "i4", H5Tcopy(H5T_STD_I32LE) },
		{ ">i2", H5Tcopy(H5T_STD_I16BE) },
		{ ">f8", H5Tcopy(H5T_IEEE_F64BE) },
		{ "f2", half_type() },
		{ "f4", H5Tcopy(H5T_IEEE_F32LE) },
		{ "f8", H5Tcopy(H5T_IEEE_F64LE) },
		{ "f16", H5Tcopy(H5T_NATIVE_LDOUBLE) },
		{ "b4", H5Tcopy(H5T_STD_B32LE) },
		{ "i3", three_bytes() },
		{ "S7", string_type(7, H5T_STR_NULLPAD) },
		{ "S7t", string_type(7, H5T_STR_NULLTERM) },
		{ "S7s", string_type(7, H5T_STR_SPACEPAD) },
		{ "str", string_type(H5T_VARIABLE, H5T_STR_NULLTERM) },
		{ "vlen", H5Tvlen_create(H5T_STD_U8LE) },
		{ "vlen>", H5Tvlen_create(H5T_STD_I32BE) },
		{ "opaque", H5Tcreate(H5T_OPAQUE, 5) },
		{ "bool", bool_type(H5T_STD_I8LE) },
		{ "bool4", bool_type(H5T_STD_I32BE) },
		{ "enum", enum_type(H5T_STD_I16LE) },
		{ "enum>", enum_type(H5T_STD_I32BE) },
		{ "complex",
		  pair_type("r", H5T_IEEE_F32LE, "i", H5T_IEEE_F32LE, 0) },
		{ "complex>",
		  pair_type("r", H5T_IEEE_F64BE, "i", H5T_IEEE_F64BE, 0) },
		{ "pair",
		  pair_type("a", H5T_STD_U8LE, "b", H5T_IEEE_F64LE, 7) },
		{ "pair>",
		  pair_type("a", H5T_STD_U16BE, "b", H5T_IEEE_F64LE, 0) },
		{ "flags", flags_type() },
		{ "named", named_type() },
		{ "array", H5Tarray_create2(H5T_STD_U16LE, 2, grid) },
		{ "array>", H5Tarray_create2(H5T_STD_U16BE, 1, three) },
	};
	hid_t t = -1;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		CHECK(all[i].type >= 0);
		if (!strcmp(name, all[i].name))
			t = all[i].type;
		else
			H5Tclose(all[i].type);
	}
	CHECK(t >= 0);
	return t;
}

/* ---- datasets ---- */
struct shape {
	unsigned rank, axis;
	hsize_t dims[4], chunk[4];
};

static void set_filters(hid_t dcpl, const char *filters, size_t chunk_bytes)
{
	const unsigned lzf[] = { 4, 261, (unsigned)chunk_bytes };

	for (; *filters; filters++) {
		herr_t ok = -1;

		if (*filters == 's')
			ok = H5Pset_shuffle(dcpl);
		else if (*filters == 'z')
			ok = H5Pset_deflate(dcpl, 4);
		else if (*filters == 'Z')
			ok = H5Pset_deflate(dcpl, 9);
		else if (*filters == 'f')
			ok = H5Pset_fletcher32(dcpl);
		else if (*filters == 'l')
			ok = H5Pset_filter(dcpl, FILTER_LZF, H5Z_FLAG_OPTIONAL,
					   3, lzf);
		else if (*filters == 'n') /* the library's own */
			ok = H5Pset_nbit(dcpl);
		else if (*filters == 'e') /* edges are stored unfiltered */
			ok = H5Pset_chunk_opts(
				dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
		else if (*filters == 'E')
			ok = H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
		CHECK(ok >= 0);
	}
}

static hid_t create_set(hid_t file, const char *name, hid_t type,
			const struct shape *s, const char *filters,
			const void *fill)
{
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space, set;
	size_t chunk_bytes = H5Tget_size(type);
	hsize_t max[4];

	for (unsigned i = 0; i < s->rank; i++) {
		max[i] = i == s->axis ? H5S_UNLIMITED : s->dims[i];
		chunk_bytes *= s->chunk[i];
	}
	H5Pset_chunk(dcpl, (int)s->rank, s->chunk);
	set_filters(dcpl, filters, chunk_bytes);
	if (fill)
		CHECK(H5Pset_fill_value(dcpl, type, fill) >= 0);
	space = H5Screate_simple((int)s->rank, s->dims, max);
	set = H5Dcreate2(file, name, type, space, PD, dcpl, PD);
	CHECK(set >= 0);
	H5Sclose(space);
	H5Pclose(dcpl);
	return set;
}

/* The dataset as it should be, and all that its elements point to. */
struct model {
	struct dtype *type;
	struct array *all, *parts[64];
	unsigned nparts, axis;
};

static void model_begin(struct model *m, hid_t set, const struct shape *s)
{
	hid_t type = H5Dget_type(set), mem;
	struct type_map map;
	uint64_t dims[4];

	memset(m, 0, sizeof(*m));
	CHECK_EQ(type_from_h5(type, &m->type, &map), 0);
	for (unsigned i = 0; i < s->rank; i++)
		dims[i] = s->dims[i];
	m->axis = s->axis;
	m->all = random_array(m->type, s->rank, dims);
	m->parts[m->nparts++] = m->all;
	mem = type_to_h5_named(m->type);
	if (m->all->count)
		CHECK(H5Dwrite(set, mem, H5S_ALL, H5S_ALL, PD,
			       m->all->data->data) >= 0);
	H5Tclose(mem);
	H5Tclose(type);
}

static struct array *model_rows(struct model *m, uint64_t n)
{
	struct array *part;
	uint64_t dims[DT_MAX_RANK];

	memcpy(dims, m->all->dims, sizeof(dims));
	dims[m->axis] = n;
	part = random_array(m->type, m->all->rank, dims);
	m->parts[m->nparts++] = part;
	CHECK(m->nparts < ARRAY_SIZE(m->parts) - 1);
	return part;
}

static void model_append(struct model *m, struct writer *w, const char *path,
			 uint64_t n)
{
	struct array *part = model_rows(m, n);
	uint64_t at = m->all->dims[m->axis];
	int r = writer_append(w, path, m->axis, part);

	CHECK_EQ(r, 0);
	if (r < 0)
		printf("%s\n", writer_why(w));
	m->all = longer(m->all, m->axis, n, NULL);
	m->parts[m->nparts++] = m->all;
	put_rows(m->all, m->axis, at, part);
}

static void model_overwrite(struct model *m, struct writer *w, const char *path,
			    uint64_t at, uint64_t n)
{
	struct array *part = model_rows(m, n);
	int r = writer_overwrite(w, path, m->axis, at, part);

	CHECK_EQ(r, 0);
	if (r < 0)
		printf("%s\n", writer_why(w));
	put_rows(m->all, m->axis, at, part);
}

static void model_end(struct model *m)
{
	for (unsigned i = 0; i < m->nparts; i++)
		array_free(m->parts[i]);
	dtype_free(m->type);
}

/* Appends in one and in many transactions, on and off chunk bounds, and rows
 * written over in between. */
static void exercise(struct model *m, const char *file, const char *path,
		     const struct shape *s)
{
	struct writer *w = open_writer(file, 2);
	uint64_t chunk = s->chunk[s->axis], n;

	CHECK_EQ(writer_begin(w), 0);
	model_append(m, w, path, 1);
	model_append(m, w, path, chunk);
	model_append(m, w, path, 2 * chunk + 1);
	model_append(m, w, path, 1);
	model_append(m, w, path, 1);
	n = m->all->dims[s->axis];
	model_overwrite(m, w, path, 0, 1);
	model_overwrite(m, w, path, n - 2, 2);
	model_overwrite(m, w, path, 1, n - 2);
	CHECK_EQ(writer_commit(w, 1), 0);
	for (unsigned i = 0; i < 3; i++) {
		CHECK_EQ(writer_begin(w), 0);
		model_append(m, w, path, 1 + i);
		if (i == 1)
			model_overwrite(m, w, path, n / 2, chunk + 1);
		model_append(m, w, path, 3 * chunk - i);
		CHECK_EQ(writer_commit(w, 2 + i), 0);
	}
	writer_close(w);
}

static void one_set(const char *type_name, const struct shape *s,
		    const char *filters, bool latest)
{
	hid_t file = create_file("rows.h5", latest);
	hid_t type = make_type(type_name);
	hid_t set = create_set(file, "d", type, s, filters, NULL);
	int before = check_failures;
	struct model m;

	model_begin(&m, set, s);
	H5Dclose(set);
	H5Fclose(file);
	exercise(&m, "rows.h5", "/d", s);
	file = open_file("rows.h5");
	CHECK(reads_as(file, "/d", m.all));
	H5Fclose(file);
	model_end(&m);
	H5Tclose(type);
	if (check_failures != before)
		printf("  of %s, rank %u, axis %u, filters \"%s\"%s\n",
		       type_name, s->rank, s->axis, filters,
		       latest ? ", latest" : "");
}

static const char *const types[] = {
	"u1",	"u2",	 "i4",	  ">i2",   ">f8",     "f2",
	"f4",	"f8",	 "f16",	  "b4",	   "i3",      "S7",
	"S7t",	"S7s",	 "str",	  "vlen",  "vlen>",   "opaque",
	"bool", "bool4", "enum",  "enum>", "complex", "complex>",
	"pair", "pair>", "flags", "named", "array",   "array>",
};

static void every_type(void)
{
	static const struct shape s = { 1, 0, { 5 }, { 8 } };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		one_set(types[i], &s, "sz", false);
		one_set(types[i], &s, "", true);
	}
}

static const struct shape shapes[] = {
	{ 1, 0, { 0 }, { 1 } },
	{ 1, 0, { 3 }, { 64 } },
	{ 3, 0, { 0, 6, 4 }, { 1, 6, 4 } },
	{ 3, 0, { 7, 6, 4 }, { 4, 6, 4 } },
	{ 3, 0, { 9, 11, 4 }, { 7, 5, 3 } }, /* edges on all axes */
	{ 4, 0, { 2, 6, 5, 3 }, { 4, 3, 5, 1 } },
	{ 3, 1, { 5, 4, 6 }, { 2, 3, 6 } },
	{ 3, 2, { 5, 4, 0 }, { 5, 4, 2 } },
	{ 2, 1, { 3, 7 }, { 2, 4 } },
};

static void every_shape(void)
{
	static const char *const some[] = { "u1", "i4", ">i2", "str", "pair" };

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		for (size_t t = 0; t < ARRAY_SIZE(some); t++) {
			one_set(some[t], &shapes[i], "", false);
			one_set(some[t], &shapes[i], "sz", true);
		}
}

static void every_pipeline(void)
{
	static const char *const filters[] = { "z", "Z",   "s",	  "f",	 "szf",
					       "l", "sl",  "slf", "fz",	 "zz",
					       "n", "nz",  "ez",  "esz", "Esz",
					       "E", "szE", "ef" };
	static const struct shape *const some[] = { &shapes[1], &shapes[4],
						    &shapes[6] };

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		for (size_t k = 0; k < ARRAY_SIZE(some); k++) {
			one_set("u2", some[k], filters[i], true);
			if (!strchr(filters[i], 'e'))
				one_set(">f8", some[k], filters[i], false);
		}
}

/* ---- chunks ---- */
/* Rows that nobody wrote are fill value, also in chunks that were at the edge. */
static void edges_hold_fill_value(void)
{
	static const char *const filters[] = { "sz", "", "l", "ez" };
	static const struct shape s = { 2, 0, { 2, 3 }, { 8, 2 } };
	const int32_t fill = -7;

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		hid_t file = create_file("fill.h5", true), set;
		hsize_t dims[] = { 13, 3 };
		struct model m;
		struct writer *w;

		set = create_set(file, "d", H5T_STD_I32LE, &s, filters[i],
				 &fill);
		model_begin(&m, set, &s);
		H5Dclose(set);
		H5Fclose(file);
		w = open_writer("fill.h5", 0);
		CHECK_EQ(writer_begin(w), 0);
		model_append(&m, w, "/d", 9);
		CHECK_EQ(writer_commit(w, 1), 0);
		writer_close(w);
		file = H5Fopen(in_dir("fill.h5"), H5F_ACC_RDWR, PD);
		set = H5Dopen2(file, "/d", PD);
		CHECK(H5Dset_extent(set, dims) >= 0);
		H5Dclose(set);
		m.all = longer(m.all, 0, 2, &fill);
		m.parts[m.nparts++] = m.all;
		CHECK(reads_as(file, "/d", m.all));
		H5Fclose(file);
		model_end(&m);
	}
}

/* More chunks than are in memory at once, and chunks that the library does not
 * keep. */
static void many_and_large_chunks(void)
{
	static const struct shape some[] = {
		{ 2, 0, { 3, 4 }, { 1, 2 } },
		{ 2, 0, { 3, 1 << 20 }, { 2, 1 << 20 } },
	};
	static const uint64_t rows[] = { 3000, 18 };

	for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
		hid_t file = create_file("many.h5", false), set;
		struct writer *w;
		struct model m;

		set = create_set(file, "d", H5T_STD_U8LE, &some[i], "z", NULL);
		model_begin(&m, set, &some[i]);
		H5Dclose(set);
		H5Fclose(file);
		w = open_writer("many.h5", 2);
		CHECK_EQ(writer_begin(w), 0);
		model_append(&m, w, "/d", rows[i]);
		model_append(&m, w, "/d", 1);
		CHECK_EQ(writer_commit(w, 1), 0);
		writer_close(w);
		file = open_file("many.h5");
		CHECK(reads_as(file, "/d", m.all));
		H5Fclose(file);
		model_end(&m);
	}
}

static uint32_t mask_of(hid_t file, hsize_t at)
{
	hid_t set = H5Dopen2(file, "/d", PD);
	uint32_t mask = 77;
	uint8_t buf[8192];

	CHECK(H5Dread_chunk(set, PD, &at, &mask, buf) >= 0);
	H5Dclose(set);
	return mask;
}

/* As libhdf5 does: LZF is left out where it would not pack, deflate is not. */
static void what_does_not_pack(void)
{
	static const struct shape s = { 1, 0, { 0 }, { 1024 } };
	static const struct {
		const char *filters;
		uint32_t mask;
	} rows[] = { { "l", 1 }, { "sl", 2 }, { "lf", 1 }, { "z", 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		hid_t file = create_file("noise.h5", false), set;
		struct writer *w;
		struct model m;

		set = create_set(file, "d", H5T_STD_I32LE, &s, rows[i].filters,
				 NULL);
		model_begin(&m, set, &s);
		H5Dclose(set);
		H5Fclose(file);
		w = open_writer("noise.h5", 0);
		CHECK_EQ(writer_begin(w), 0);
		{
			struct array *part = model_rows(&m, 2048);

			for (size_t k = 0; k < 4096; k++) /* the first chunk */
				part->data->data[k] = (uint8_t)dice(256);
			memset(part->data->data + 4096, 3, 4096);
			CHECK_EQ(writer_append(w, "/d", 0, part), 0);
			m.all = part;
		}
		CHECK_EQ(writer_commit(w, 1), 0);
		writer_close(w);
		file = open_file("noise.h5");
		CHECK_EQ(mask_of(file, 0), rows[i].mask);
		CHECK_EQ(mask_of(file, 1024), 0);
		CHECK(reads_as(file, "/d", m.all));
		H5Fclose(file);
		model_end(&m);
	}
}

/* Chunks that are as long packed as they are unpacked. */
static struct array *as_long_packed(const struct dtype *t, uint64_t n)
{
	const struct filter z = { H5Z_FILTER_DEFLATE, 1, { 4 } };

	for (;;) {
		CLEANUP(blob_unrefp) struct blob *packed = NULL;
		struct array *a = new_array(t, 1, &n);
		size_t noise = dice((uint32_t)n);
		uint32_t mask;

		for (size_t i = 0; i < noise; i++)
			a->data->data[i] = (uint8_t)dice(256);
		CHECK_EQ(filters_apply(&z, 1, 0, blob_ref(a->data), &packed,
				       &mask),
			 0);
		if (packed->size == n)
			return a;
		array_free(a);
	}
}

/* libhdf5 keeps the old mask where the size stays the same. */
static void a_mask_that_changes_alone(void)
{
	static const struct dtype u1 = { .class = DT_UINT, .size = 1 };
	static const struct shape s = { 1, 0, { 64 }, { 64 } };
	struct array *a = as_long_packed(&u1, 64);
	hid_t file = create_file("mask.h5", false), set;
	hsize_t zero = 0;
	struct writer *w;

	set = create_set(file, "d", H5T_STD_U8LE, &s, "z", NULL);
	CHECK(H5Dwrite_chunk(set, PD, 1, &zero, 64, a->data->data) >= 0);
	H5Dclose(set);
	H5Fclose(file);
	w = open_writer("mask.h5", 0);
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(writer_overwrite(w, "/d", 0, 0, a), 0);
	CHECK_EQ(writer_commit(w, 1), 0);
	writer_close(w);
	file = open_file("mask.h5");
	CHECK_EQ(mask_of(file, 0), 0);
	CHECK(reads_as(file, "/d", a));
	H5Fclose(file);
	array_free(a);
}

/* ---- all values of a dataset ---- */
static hid_t create_plain(hid_t file, const char *name, const char *storage,
			  hid_t type, const struct shape *s)
{
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), set;
	hid_t space = H5Screate_simple((int)s->rank, s->dims, NULL);

	if (!strcmp(storage, "chunked"))
		H5Pset_chunk(dcpl, (int)s->rank, s->chunk);
	else if (!strcmp(storage, "compact"))
		H5Pset_layout(dcpl, H5D_COMPACT);
	else if (!strcmp(storage, "packed")) {
		H5Pset_chunk(dcpl, (int)s->rank, s->chunk);
		set_filters(dcpl, "szf", 0);
	} else if (!strcmp(storage, "library")) {
		H5Pset_chunk(dcpl, (int)s->rank, s->chunk);
		set_filters(dcpl, "n", 0);
	}
	set = H5Dcreate2(file, name, type, space, PD, dcpl, PD);
	CHECK(set >= 0);
	H5Sclose(space);
	H5Pclose(dcpl);
	return set;
}

static int to_file(const char *name, const struct array *a, uint64_t offset)
{
	int fd = open(in_dir(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
		      0600);

	CHECK_EQ(pwrite(fd, a->data->data, a->data->size, (off_t)offset),
		 (ssize_t)a->data->size);
	return fd;
}

static void all_values_replaced(void)
{
	static const char *const storages[] = { "contiguous", "compact",
						"chunked", "packed",
						"library" };
	static const char *const some[] = { "u1", ">i2", "pair", "bool", "S7" };
	static const struct shape s = { 3, 0, { 9, 11, 4 }, { 7, 5, 3 } };

	for (size_t i = 0; i < ARRAY_SIZE(storages); i++)
		for (size_t t = 0; t < ARRAY_SIZE(some); t++) {
			hid_t file = create_file("all.h5", false);
			hid_t type = make_type(some[t]), set;
			struct array *new;
			struct writer *w;
			struct model m;
			int fd;

			set = create_plain(file, "d", storages[i], type, &s);
			model_begin(&m, set, &s);
			H5Dclose(set);
			H5Fclose(file);
			new = random_array(m.type, 3, m.all->dims);
			fd = to_file("values", new, 100);
			w = open_writer("all.h5", 1);
			CHECK_EQ(writer_begin(w), 0);
			CHECK_EQ(writer_replace(w, "/d", fd, 100), 0);
			CHECK_EQ(writer_commit(w, 1), 0);
			writer_close(w);
			file = open_file("all.h5");
			CHECK(reads_as(file, "/d", new));
			H5Fclose(file);
			w = open_writer("all.h5", 1);
			CHECK_EQ(writer_begin(w), 0); /* one byte is missing */
			CHECK_EQ(writer_replace(w, "/d", fd, 101), -EIO);
			writer_abort(w);
			writer_close(w);
			close(fd);
			array_free(new);
			model_end(&m);
			H5Tclose(type);
		}
}

static void a_single_value_replaced(void)
{
	static const struct shape s = { 0, 0, { 0 }, { 0 } };
	hid_t file = create_file("scalar.h5", false);
	hid_t space = H5Screate(H5S_SCALAR), set;
	struct array *new;
	struct writer *w;
	struct model m;
	int fd;

	set = H5Dcreate2(file, "d", H5T_STD_I32LE, space, PD, PD, PD);
	model_begin(&m, set, &s);
	H5Dclose(set);
	H5Sclose(space);
	H5Fclose(file);
	new = random_array(m.type, 0, NULL);
	fd = to_file("values", new, 0);
	w = open_writer("scalar.h5", 0);
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(writer_replace(w, "/d", fd, 0), 0);
	CHECK_EQ(writer_commit(w, 1), 0);
	writer_close(w);
	close(fd);
	file = open_file("scalar.h5");
	CHECK(reads_as(file, "/d", new));
	H5Fclose(file);
	array_free(new);
	model_end(&m);
}

/* ---- what is open in a transaction ---- */
static void an_abort_is_forgotten(void)
{
	static const struct shape s = { 1, 0, { 3 }, { 4 } };
	hid_t file = create_file("abort.h5", false), set;
	struct array *lost;
	struct writer *w;
	struct model m;

	set = create_set(file, "d", H5T_STD_I32LE, &s, "z", NULL);
	model_begin(&m, set, &s);
	H5Dclose(set);
	H5Fclose(file);
	lost = model_rows(&m, 30);
	w = open_writer("abort.h5", 1);
	CHECK_EQ(writer_begin(w), 0);
	model_append(&m, w, "/d", 2);
	CHECK_EQ(writer_commit(w, 1), 0);
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(writer_append(w, "/d", 0, lost), 0);
	CHECK_EQ(writer_overwrite(w, "/d", 0, 0, lost), 0);
	writer_abort(w);
	CHECK_EQ(writer_begin(w), 0);
	model_append(&m, w, "/d", 6);
	CHECK_EQ(writer_commit(w, 2), 0);
	writer_close(w);
	file = open_file("abort.h5");
	CHECK(reads_as(file, "/d", m.all));
	H5Fclose(file);
	model_end(&m);
}

/* More than are kept open. */
static void many_datasets(void)
{
	enum { N = WRITER_SETS + 9 };
	static const struct shape s = { 1, 0, { 1 }, { 4 } };
	hid_t file = create_file("sets.h5", false), set;
	static struct model m[N];
	char name[N][16];
	struct writer *w;

	for (int i = 0; i < N; i++) {
		snprintf(name[i], sizeof(name[i]), "/d%d", i);
		set = create_set(file, name[i], H5T_STD_I32LE, &s, "z", NULL);
		model_begin(&m[i], set, &s);
		H5Dclose(set);
	}
	H5Fclose(file);
	w = open_writer("sets.h5", 1);
	CHECK_EQ(writer_begin(w), 0);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < N; i++)
			model_append(&m[i], w, name[i], 2);
	CHECK_EQ(writer_commit(w, 1), 0);
	writer_close(w);
	file = open_file("sets.h5");
	for (int i = 0; i < N; i++) {
		CHECK(reads_as(file, name[i], m[i].all));
		model_end(&m[i]);
	}
	H5Fclose(file);
}

/* ---- what is refused ---- */
static struct array *numbers(uint64_t n)
{
	static const struct dtype i4 = { .class = DT_INT, .size = 4 };

	return random_array(&i4, 1, &n);
}

static void make_refused(void)
{
	static const struct shape s = { 1, 0, { 4 }, { 4 } };
	const unsigned szip_like[] = { 1 };
	hid_t file = create_file("other.h5", false), set, space, dcpl;
	hsize_t dims = 4, max = 6, step = 4;

	H5Dclose(create_set(file, "d", H5T_STD_I32LE, &s, "", NULL));
	H5Fclose(file);
	file = create_file("refused.h5", false);
	H5Dclose(create_plain(file, "fixed", "contiguous", H5T_STD_I32LE, &s));
	H5Dclose(create_set(file, "d", H5T_STD_I32LE, &s, "", NULL));
	H5Lcreate_external("other.h5", "/d", file, "out", PD, PD);
	H5Lcreate_external("other.h5", "/", file, "way", PD, PD);
	H5Lcreate_hard(file, "d", file, "again", PD, PD);
	H5Gclose(H5Gcreate2(file, "g", PD, PD, PD));
	dcpl = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_chunk(dcpl, 1, &step);
	space = H5Screate_simple(1, &dims, &max);
	H5Dclose(H5Dcreate2(file, "bound", H5T_STD_I32LE, space, PD, dcpl, PD));
	/* nobody has it, but it need not be applied: it can be created */
	CHECK(H5Pset_filter(dcpl, 32766, H5Z_FLAG_OPTIONAL, 1, szip_like) >= 0);
	max = H5S_UNLIMITED;
	H5Sset_extent_simple(space, 1, &dims, &max);
	set = H5Dcreate2(file, "filter", H5T_STD_I32LE, space, PD, dcpl, PD);
	CHECK(set >= 0);
	H5Dclose(set);
	H5Pclose(dcpl);
	dcpl = H5Pcreate(H5P_DATASET_CREATE);
	H5Sset_extent_simple(space, 1, &dims, NULL);
	H5Pset_external(dcpl, "raw", 0, H5F_UNLIMITED);
	H5Dclose(H5Dcreate2(file, "raw", H5T_STD_I32LE, space, PD, dcpl, PD));
	H5Pclose(dcpl);
	dcpl = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_virtual(dcpl, space, "other.h5", "/d", space);
	H5Dclose(H5Dcreate2(file, "virtual", H5T_STD_I32LE, space, PD, dcpl,
			    PD));
	H5Pclose(dcpl);
	H5Sclose(space);
	space = H5Screate(H5S_NULL);
	H5Dclose(H5Dcreate2(file, "null", H5T_STD_I32LE, space, PD, PD, PD));
	H5Sclose(space);
	H5Fclose(file);
}

static void appends_that_are_refused(void)
{
	static const struct {
		const char *path;
		uint64_t n;
		int r;
		const char *why;
	} rows[] = {
		{ "/d", 1, 0, "" },
		{ "/again", 1, 0, "" },
		{ "/bound", 2, 0, "" },
		{ "/bound", 3, -EOPNOTSUPP, "beyond 6 rows" },
		{ "/fixed", 1, -EOPNOTSUPP, "-o grow" },
		{ "/filter", 1, -EOPNOTSUPP, "filter 32766" },
		{ "/raw", 1, -EOPNOTSUPP, "in other files" },
		{ "/virtual", 1, -EOPNOTSUPP, "virtual" },
		{ "/null", 1, -EINVAL, "" },
		{ "/out", 1, -EOPNOTSUPP, "another file" },
		{ "/way/d", 1, -EOPNOTSUPP, "another file" },
		{ "/g", 1, -EINVAL, "no dataset" },
		{ "/none", 1, -ENOENT, "not there" },
		{ "d", 1, -EINVAL, "no path" },
		{ "/g/../d", 1, -ENOENT, "" },
		{ "//d", 1, -EINVAL, "no path" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct array *a = numbers(rows[i].n);
		int before = check_failures;
		struct writer *w;
		int can;

		make_refused();
		w = open_writer("refused.h5", 0);
		can = writer_can_append(w, rows[i].path, 0);
		CHECK(can == rows[i].r || (rows[i].n > 1 && can == 0) ||
		      (rows[i].r == -EINVAL && can == -EOPNOTSUPP));
		if (can < 0)
			CHECK(*writer_why(w));
		CHECK_EQ(writer_begin(w), 0);
		CHECK_EQ(writer_append(w, rows[i].path, 0, a), rows[i].r);
		if (rows[i].r < 0)
			CHECK(strstr(writer_why(w), rows[i].why));
		writer_abort(w);
		writer_close(w);
		array_free(a);
		if (check_failures != before)
			printf("  of %s: %s\n", rows[i].path, rows[i].why);
	}
}

static void rows_that_do_not_fit(void)
{
	static const struct dtype u4 = { .class = DT_UINT, .size = 4 };
	static const uint64_t dims[] = { 1, 1 };
	struct array *a = numbers(2), *none = numbers(0);
	struct array *other = random_array(&u4, 1, dims);
	struct array *deep = random_array(a->type, 2, dims);
	struct writer *w;

	make_refused();
	w = open_writer("refused.h5", 0);
	CHECK_EQ(writer_append(w, "/d", 0, a), -EINVAL); /* no transaction */
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(writer_append(w, "/d", 0, other), -EINVAL);
	CHECK_EQ(writer_append(w, "/d", 0, deep), -EINVAL);
	CHECK_EQ(writer_append(w, "/d", 1, a), -EINVAL);
	CHECK_EQ(writer_append(w, "/d", 0, none), 0);
	CHECK_EQ(writer_append(w, "/fixed", 0, none), 0);
	CHECK_EQ(writer_overwrite(w, "/d", 0, 3, a), -ERANGE);
	CHECK_EQ(writer_overwrite(w, "/d", 0, UINT64_MAX, a), -ERANGE);
	CHECK_EQ(writer_overwrite(w, "/fixed", 0, 2, a), 0);
	CHECK_EQ(writer_overwrite(w, "/virtual", 0, 0, a), -EOPNOTSUPP);
	CHECK_EQ(writer_overwrite(w, "/raw", 0, 0, a), -EOPNOTSUPP);
	writer_abort(w);
	writer_close(w);
	array_free(a);
	array_free(none);
	array_free(other);
	array_free(deep);
}

/* A partial chunk that does not decode is no ground to build on. */
static void a_damaged_chunk(void)
{
	static const struct shape s = { 1, 0, { 5 }, { 8 } };
	struct array *a = numbers(20);
	hid_t file = create_file("damaged.h5", false), set;
	hsize_t zero = 0;
	struct writer *w;

	set = create_set(file, "d", H5T_STD_I32LE, &s, "z", NULL);
	CHECK(H5Dwrite_chunk(set, PD, 0, &zero, 9, "not gzip") >= 0);
	H5Dclose(set);
	H5Fclose(file);
	w = open_writer("damaged.h5", 1);
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(writer_append(w, "/d", 0, a), -EIO);
	CHECK(strstr(writer_why(w), "/d"));
	writer_abort(w);
	writer_close(w);
	array_free(a);
}

int main(void)
{
	fixture_begin();
	RUN(every_type);
	RUN(every_shape);
	RUN(every_pipeline);
	RUN(edges_hold_fill_value);
	RUN(many_and_large_chunks);
	RUN(what_does_not_pack);
	RUN(a_mask_that_changes_alone);
	RUN(all_values_replaced);
	RUN(a_single_value_replaced);
	RUN(an_abort_is_forgotten);
	RUN(many_datasets);
	RUN(appends_that_are_refused);
	RUN(rows_that_do_not_fit);
	RUN(a_damaged_chunk);
	return fixture_end();
}
