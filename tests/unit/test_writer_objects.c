/* SPDX-License-Identifier: MIT */
/* test_writer_objects.c - datasets, groups, links and attributes that a writer
 * makes, changes, moves and removes; fixed datasets that become growable. */
#include "writer_fixture.h"

/* An open writer in a transaction on a file that `make` filled. */
static struct writer *begin(const char *name, bool latest,
			    void (*make)(hid_t file))
{
	hid_t file = create_file(name, latest);
	struct writer *w;

	if (make)
		make(file);
	H5Fclose(file);
	w = open_writer(name, 1);
	CHECK_EQ(writer_begin(w), 0);
	return w;
}

static hid_t commit(struct writer *w, const char *name)
{
	CHECK_EQ(writer_commit(w, 1), 0);
	writer_close(w);
	return open_file(name);
}

static const struct dtype u1 = { .class = DT_UINT, .size = 1 };
static const struct dtype i4 = { .class = DT_INT, .size = 4 };
static const struct dtype f8 = { .class = DT_FLOAT, .size = 8 };
static const struct dtype boolean = { .class = DT_BOOL, .size = 1 };
static const struct dtype vlstr = { .class = DT_VLSTR,
				    .size = 8,
				    .utf8 = true };
static struct dtype text5 = {
	.class = DT_STRING, .size = 5, .pad = PAD_NULLPAD, .utf8 = true
};
static struct dtype f4 = { .class = DT_FLOAT, .size = 4 };
static struct dtype complex8 = { .class = DT_COMPLEX, .size = 8, .base = &f4 };

/* ---- new datasets ---- */
static hsize_t chunk_of(hid_t file, const char *path, unsigned axis)
{
	hid_t set = H5Dopen2(file, path, PD);
	hid_t dcpl = H5Dget_create_plist(set);
	hsize_t chunk[H5S_MAX_RANK] = { 0 };

	if (H5Pget_layout(dcpl) == H5D_CHUNKED)
		H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk);
	H5Pclose(dcpl);
	H5Dclose(set);
	return chunk[axis];
}

static int count_filters(hid_t file, const char *path)
{
	hid_t set = H5Dopen2(file, path, PD);
	hid_t dcpl = H5Dget_create_plist(set);
	int n = H5Pget_nfilters(dcpl);

	H5Pclose(dcpl);
	H5Dclose(set);
	return n;
}

static void new_datasets(void)
{
	static const struct {
		const struct dtype *type;
		unsigned rank;
		uint64_t dims[3];
		bool growable, file;
		hsize_t chunk;
	} rows[] = {
		{ &i4, 1, { 1000 }, true, false, 16384 },
		{ &i4, 1, { 0 }, true, false, 16384 },
		{ &u1, 3, { 70, 64, 192 }, true, true, 64 },
		{ &f8, 3, { 3, 300, 300 }, true, true, 1 },
		{ &f8, 2, { 200, 3 }, false, true, 0 },
		{ &f8, 2, { 0, 3 }, false, false, 0 },
		{ &f8, 0, { 0 }, false, true, 0 },
		{ &f8, 0, { 0 }, true, false, 0 },
		{ &boolean, 1, { 9 }, true, true, 65536 },
		{ &complex8, 2, { 9, 2 }, true, false, 4096 },
		{ &text5, 1, { 300 }, false, true, 0 },
		{ &vlstr, 1, { 300 }, true, false, 8192 },
		{ &vlstr, 2, { 3, 4 }, false, false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct array *a =
			random_array(rows[i].type, rows[i].rank, rows[i].dims);
		struct writer_dataset d = { .type = rows[i].type,
					    .rank = rows[i].rank,
					    .growable = rows[i].growable,
					    .fd = -1 };
		struct writer *w = begin("new.h5", false, NULL);
		int fd = -1, before = check_failures;
		hid_t file;

		memcpy(d.dims, rows[i].dims, sizeof(rows[i].dims));
		if (rows[i].file) {
			fd = open(in_dir("values"), O_RDWR | O_CREAT | O_TRUNC,
				  0600);
			CHECK(pwrite(fd, a->data->data, a->data->size, 7) ==
			      (ssize_t)a->data->size);
			d.fd = fd;
			d.offset = 7;
		} else {
			d.data = a->data->data;
		}
		CHECK_EQ(writer_create_dataset(w, "/some/way/d", &d), 0);
		CHECK_EQ(writer_create_dataset(w, "/some/way/d", &d), -EEXIST);
		CHECK_EQ(writer_create_dataset(w, "/some/way/d/e", &d),
			 -ENOTDIR);
		file = commit(w, "new.h5");
		CHECK(reads_as(file, "/some/way/d", a));
		CHECK_EQ(chunk_of(file, "/some/way/d", 0), rows[i].chunk);
		CHECK_EQ(count_filters(file, "/some/way/d"),
			 rows[i].chunk ? 2 : 0);
		H5Fclose(file);
		close(fd);
		array_free(a);
		if (check_failures != before)
			printf("  of row %zu\n", i);
	}
}

static void new_datasets_grow(void)
{
	uint64_t dims[] = { 5, 3 };
	struct array *a = random_array(&i4, 2, dims), *all;
	struct writer_dataset d = { .type = &i4,
				    .rank = 2,
				    .growable = true,
				    .fd = -1,
				    .data = a->data->data };
	struct writer *w = begin("grows.h5", true, NULL);
	hid_t file;

	memcpy(d.dims, dims, sizeof(dims));
	CHECK_EQ(writer_create_dataset(w, "/d", &d), 0);
	CHECK_EQ(writer_append(w, "/d", 0, a), 0);
	CHECK_EQ(writer_can_append(w, "/d", 0), 0);
	CHECK_EQ(writer_can_append(w, "/d", 1), -EOPNOTSUPP);
	file = commit(w, "grows.h5");
	all = longer(a, 0, 5, NULL);
	put_rows(all, 0, 5, a);
	CHECK(reads_as(file, "/d", all));
	H5Fclose(file);
	array_free(a);
	array_free(all);
}

static void chunks_of_new_datasets(void)
{
	static const struct {
		unsigned rank;
		uint64_t dims[4], element, chunk[4];
	} rows[] = {
		{ 1, { 5 }, 8, { 8192 } },
		{ 1, { 5 }, 1, { 65536 } },
		{ 1, { 5 }, 3u << 20, { 1 } },
		{ 4, { 9, 64, 64, 3 }, 1, { 64, 64, 64, 3 } },
		{ 4, { 9, 256, 256, 3 }, 1, { 5, 256, 256, 3 } },
		{ 4, { 9, 1000, 1000, 3 }, 1, { 1, 1000, 1000, 3 } },
		{ 4, { 9, 512, 512, 512 }, 1, { 1, 4, 512, 512 } },
		{ 3, { 9, 1u << 31, 1u << 31 }, 8, { 1, 1, 1 << 17 } },
		{ 2, { 0, 0 }, 8, { 8192, 1 } },
	};
	uint64_t chunk[4];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		chunk_shape(rows[i].rank, rows[i].dims, 0, rows[i].element,
			    chunk);
		for (unsigned k = 0; k < rows[i].rank; k++)
			CHECK_EQ(chunk[k], rows[i].chunk[k]);
	}
}

static void datasets_that_can_not_be_made(void)
{
	struct writer *w = begin("cannot.h5", false, NULL);
	struct writer_dataset d = { .type = &i4, .rank = 1, .fd = -1 };
	struct dtype bad = { .class = DT_OPAQUE,
			     .size = 4,
			     .unsupported = true };
	int fd = open(in_dir("short"), O_RDWR | O_CREAT | O_TRUNC, 0600);

	d.dims[0] = 3;
	d.fd = fd;
	CHECK_EQ(ftruncate(fd, 11), 0);
	CHECK_EQ(writer_create_dataset(w, "/short", &d), -EIO);
	d.type = &vlstr;
	CHECK_EQ(writer_create_dataset(w, "/texts", &d), -EINVAL);
	d.type = &bad;
	CHECK_EQ(writer_create_dataset(w, "/bad", &d), -EOPNOTSUPP);
	d.type = &i4;
	d.rank = 2;
	d.dims[0] = d.dims[1] = 1ull << 40;
	CHECK_EQ(writer_create_dataset(w, "/huge", &d), -EFBIG);
	CHECK_EQ(writer_create_dataset(w, "/", &d), -EFBIG);
	d.dims[0] = d.dims[1] = 0;
	CHECK_EQ(writer_create_dataset(w, "/", &d), -EEXIST);
	CHECK_EQ(writer_create_dataset(w, "/a//b", &d), -EINVAL);
	CHECK_EQ(writer_create_dataset(w, "/a/./b", &d), -EINVAL);
	CHECK_EQ(writer_create_dataset(w, "/a/", &d), -EINVAL);
	writer_abort(w);
	writer_close(w);
	close(fd);
}

/* ---- groups and links ---- */
static void make_tree(hid_t file)
{
	hid_t space = H5Screate(H5S_SCALAR);

	H5Gclose(H5Gcreate2(file, "g", PD, PD, PD));
	H5Gclose(H5Gcreate2(file, "g/h", PD, PD, PD));
	H5Dclose(H5Dcreate2(file, "g/h/d", H5T_STD_I32LE, space, PD, PD, PD));
	H5Dclose(H5Dcreate2(file, "e", H5T_STD_I32LE, space, PD, PD, PD));
	H5Lcreate_soft("/nowhere", file, "dangling", PD, PD);
	H5Lcreate_soft("/g", file, "soft", PD, PD);
	H5Lcreate_external("cannot.h5", "/", file, "out", PD, PD);
	H5Sclose(space);
}

static bool is_there(hid_t file, const char *path)
{
	return H5Oexists_by_name(file, path, PD) > 0;
}

static H5T_cset_t name_set(hid_t file, const char *path)
{
	H5L_info_t li;

	CHECK(H5Lget_info(file, path, &li, PD) >= 0);
	return li.cset;
}

static void groups_and_links(void)
{
	struct writer *w = begin("tree.h5", false, make_tree);
	char target[16] = "";
	hid_t file;

	CHECK_EQ(writer_create_group(w, "/g/new"), 0);
	CHECK_EQ(writer_create_group(w, "/a/b/c"), 0);
	CHECK_EQ(writer_create_group(w, "/a/b"), -EEXIST);
	CHECK_EQ(writer_create_group(w, "/dangling"), -EEXIST);
	CHECK_EQ(writer_create_group(w, "/dangling/x"), -ENOENT);
	CHECK_EQ(writer_create_group(w, "/e/x"), -ENOTDIR);
	CHECK_EQ(writer_create_group(w, "/out/x"), -EOPNOTSUPP);
	CHECK_EQ(writer_create_group(w, "/soft/x"), 0);
	CHECK_EQ(writer_create_group(w, "/gr\303\274n"), 0);
	CHECK_EQ(writer_create_group(w, "/gr\374n"), 0);
	CHECK_EQ(writer_create_link(w, "/l/to", "../g/h"), 0);
	CHECK_EQ(writer_create_link(w, "/l/to", "x"), -EEXIST);
	CHECK_EQ(writer_create_link(w, "/l/none", ""), -EINVAL);
	file = commit(w, "tree.h5");
	CHECK(is_there(file, "/g/new") && is_there(file, "/a/b/c"));
	CHECK(is_there(file, "/g/x"));
	CHECK_EQ(name_set(file, "/gr\303\274n"), H5T_CSET_UTF8);
	CHECK_EQ(name_set(file, "/gr\374n"), H5T_CSET_ASCII);
	CHECK(H5Lget_val(file, "/l/to", target, sizeof(target), PD) >= 0);
	CHECK_STR(target, "../g/h");
	H5Fclose(file);
}

static void moves(void)
{
	static const struct {
		const char *from, *to;
		int r;
	} rows[] = {
		{ "/e", "/g/e", 0 },
		{ "/g/h", "/h", 0 },
		{ "/dangling", "/g/dangling", 0 },
		{ "/g", "/gg", 0 },
		{ "/e", "/g", -EEXIST },
		{ "/e", "/dangling", -EEXIST },
		{ "/e", "/e", -EEXIST },
		{ "/none", "/x", -ENOENT },
		{ "/e", "/none/x", -ENOENT },
		{ "/g", "/g/h/g", -EINVAL },
		{ "/g", "/g/x", -EINVAL },
		{ "/", "/x", -EINVAL },
		{ "/e", "/out/e", -EOPNOTSUPP },
		{ "/out/x", "/x", -EOPNOTSUPP },
		{ "/e/x", "/x", -ENOTDIR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct writer *w = begin("moves.h5", false, make_tree);
		int before = check_failures;

		CHECK_EQ(writer_move(w, rows[i].from, rows[i].to), rows[i].r);
		if (rows[i].r == 0) {
			hid_t file = commit(w, "moves.h5");

			CHECK(H5Lexists(file, rows[i].from, PD) <= 0);
			CHECK(H5Lexists(file, rows[i].to, PD) > 0);
			H5Fclose(file);
		} else {
			CHECK(*writer_why(w));
			writer_abort(w);
			writer_close(w);
		}
		if (check_failures != before)
			printf("  of %s to %s\n", rows[i].from, rows[i].to);
	}
}

/* What is open under its old path is not taken for what is there now. */
static void rows_follow_a_move(void)
{
	uint64_t dims[] = { 3 };
	struct array *a = random_array(&i4, 1, dims);
	struct array *b = random_array(&i4, 1, dims),
		     *ab = longer(a, 0, 3, NULL);
	struct writer *w = begin("follow.h5", false, NULL);
	struct writer_dataset d = { .type = &i4,
				    .rank = 1,
				    .growable = true,
				    .fd = -1,
				    .data = a->data->data };
	hid_t file;

	put_rows(ab, 0, 3, b);
	d.dims[0] = 3;
	CHECK_EQ(writer_create_dataset(w, "/d", &d), 0);
	CHECK_EQ(writer_move(w, "/d", "/e"), 0);
	CHECK_EQ(writer_append(w, "/d", 0, b), -ENOENT);
	CHECK_EQ(writer_append(w, "/e", 0, b), 0);
	CHECK_EQ(writer_create_dataset(w, "/d", &d), 0);
	CHECK_EQ(writer_unlink(w, "/d"), 0);
	CHECK_EQ(writer_append(w, "/d", 0, b), -ENOENT);
	file = commit(w, "follow.h5");
	CHECK(reads_as(file, "/e", ab));
	CHECK(!is_there(file, "/d"));
	H5Fclose(file);
	array_free(a);
	array_free(b);
	array_free(ab);
}

static void unlinks(void)
{
	struct writer *w = begin("unlink.h5", false, make_tree);
	hid_t file;

	CHECK_EQ(writer_unlink(w, "/none"), -ENOENT);
	CHECK_EQ(writer_unlink(w, "/none/x"), -ENOENT);
	CHECK_EQ(writer_unlink(w, "/"), -EINVAL);
	CHECK_EQ(writer_unlink(w, "/out/x"), -EOPNOTSUPP);
	CHECK_EQ(writer_unlink(w, "/out"), 0);
	CHECK_EQ(writer_unlink(w, "/dangling"), 0);
	CHECK_EQ(writer_unlink(w, "/soft"), 0);
	CHECK_EQ(writer_unlink(w, "/g"), 0);
	CHECK_EQ(writer_unlink(w, "/e"), 0);
	file = commit(w, "unlink.h5");
	{
		H5G_info_t gi;

		CHECK(H5Gget_info(file, &gi) >= 0);
		CHECK_EQ(gi.nlinks, 0);
	}
	H5Fclose(file);
}

/* ---- attributes ---- */
static hid_t fixed_text(size_t size, H5T_str_t pad, H5T_cset_t cset)
{
	hid_t t = H5Tcopy(H5T_C_S1);

	H5Tset_size(t, size);
	H5Tset_strpad(t, pad);
	H5Tset_cset(t, cset);
	return t;
}

static void put_attr(hid_t obj, const char *name, hid_t type, hsize_t n,
		     const void *value)
{
	hid_t space = n ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
	hid_t attr = H5Acreate2(obj, name, type, space, PD, PD);

	CHECK(attr >= 0 && H5Awrite(attr, type, value) >= 0);
	H5Aclose(attr);
	H5Sclose(space);
}

static void make_attrs(hid_t file)
{
	static const int32_t three[] = { 1, 2, 3 };
	static const char *text = "abc";
	hid_t t = fixed_text(5, H5T_STR_NULLTERM, H5T_CSET_ASCII);

	put_attr(file, "fixed", t, 0, "abc\0");
	H5Tclose(t);
	t = fixed_text(5, H5T_STR_SPACEPAD, H5T_CSET_UTF8);
	put_attr(file, "padded", t, 0, "abc  ");
	H5Tclose(t);
	t = fixed_text(H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_ASCII);
	put_attr(file, "vlen", t, 0, &text);
	H5Tclose(t);
	put_attr(file, "three", H5T_STD_I32BE, 3, three);
}

/* Type of an attribute as one line: class, size, strpad, cset. */
static const char *type_of(hid_t file, const char *name)
{
	static char buf[64];
	hid_t attr = H5Aopen(file, name, PD), t = H5Aget_type(attr);
	H5T_class_t c = H5Tget_class(t);

	if (c == H5T_STRING)
		snprintf(buf, sizeof(buf), "%s %d %d",
			 H5Tis_variable_str(t) > 0 ? "vlen" : "fixed",
			 (int)H5Tget_size(t), H5Tget_cset(t));
	else
		snprintf(buf, sizeof(buf), "class %d size %d order %d", c,
			 (int)H5Tget_size(t), H5Tget_order(t));
	H5Tclose(t);
	H5Aclose(attr);
	return buf;
}

static bool attr_is(hid_t file, const char *name, const struct array *want)
{
	hid_t attr = H5Aopen(file, name, PD), space = H5Aget_space(attr);
	hid_t mem = type_to_h5_named(want->type);
	uint8_t *got = calloc(want->count + 1, want->type->size);
	bool same =
		attr >= 0 && H5Aread(attr, mem, got) >= 0 &&
		H5Sget_simple_extent_npoints(space) == (hssize_t)want->count;

	for (uint64_t i = 0; same && i < want->count; i++)
		same = same_element(want->type, got + i * want->type->size,
				    array_at(want, i));
	if (attr >= 0 && dtype_has_pointers(want->type))
		H5Dvlen_reclaim(mem, space, PD, got);
	free(got);
	H5Tclose(mem);
	H5Sclose(space);
	H5Aclose(attr);
	return same;
}

static struct array *text_value(const char *text)
{
	struct array *a = new_array(&vlstr, 0, NULL);
	char *copy = arena_strdup(a->arena, text);

	memcpy(a->data->data, &copy, sizeof(copy));
	return a;
}

/* A text keeps the form that is there as long as it fits. */
static void texts_keep_their_type(void)
{
	static const struct {
		const char *name, *text, *type;
	} rows[] = {
		{ "fixed", "xyzw", "fixed 5 0" },
		{ "fixed", "", "fixed 5 0" },
		{ "fixed", "xyzwv", "vlen 8 1" },
		{ "fixed", "\303\274", "vlen 8 1" },
		{ "padded", "xyzwv", "fixed 5 1" },
		{ "padded", "x\303\274", "fixed 5 1" },
		{ "padded", "xyzwvu", "vlen 8 1" },
		{ "vlen", "a longer text", "vlen 8 0" },
		{ "vlen", "\303\274", "vlen 8 1" },
		{ "three", "text", "vlen 8 1" },
		{ "new", "text", "vlen 8 1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct writer *w = begin("text.h5", i % 2, make_attrs);
		struct array *v = text_value(rows[i].text), *read;
		CLEANUP(store_closep) struct store *s = NULL;
		CLEANUP(cache_freep) struct cache *c = NULL;
		CLEANUP(freep) char *why = NULL;
		struct store_options o = { 0 };
		struct obj_info root;
		const char *text;
		size_t n;

		CHECK_EQ(writer_set_attr(w, "/", rows[i].name, v), 0);
		hid_t file = commit(w, "text.h5");
		CHECK_STR(type_of(file, rows[i].name), rows[i].type);
		H5Fclose(file);
		cache_new(1 << 20, 1, &c);
		o.cache = c;
		CHECK_EQ(store_open(in_dir("text.h5"), &o, &s, &why), 0);
		CHECK_EQ(store_root(s, &root), 0);
		CHECK_EQ(store_attr(s, root.id, rows[i].name, &read), 0);
		dtype_string(read->type, read->data->data, &text, &n);
		CHECK(n == strlen(rows[i].text) &&
		      !memcmp(text, rows[i].text, n));
		array_free(read);
		array_free(v);
	}
}

static void numbers_keep_their_type(void)
{
	struct writer *w = begin("number.h5", false, make_attrs);
	uint64_t three[] = { 3 }, two[] = { 2 };
	struct array *a = random_array(&i4, 1, three);
	struct array *b = random_array(&i4, 1, two);
	struct array *c = random_array(&f8, 1, three);
	hid_t file;

	CHECK_EQ(writer_set_attr(w, "/", "three", a), 0);
	CHECK_EQ(writer_commit(w, 1), 0);
	file = open_file("number.h5");
	CHECK_STR(type_of(file, "three"), "class 0 size 4 order 1");
	CHECK(attr_is(file, "three", a));
	H5Fclose(file);
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(writer_set_attr(w, "/", "three", b), 0); /* another shape */
	CHECK_EQ(writer_set_attr(w, "/", "new", c), 0);
	file = commit(w, "number.h5");
	CHECK_STR(type_of(file, "three"), "class 0 size 4 order 0");
	CHECK(attr_is(file, "three", b));
	CHECK(attr_is(file, "new", c));
	H5Fclose(file);
	array_free(a);
	array_free(b);
	array_free(c);
}

static void attributes_of_every_type(void)
{
	static const struct dtype *const kinds[] = {
		&u1, &i4, &f8, &boolean, &complex8, &text5, &vlstr,
	};
	uint64_t dims[] = { 2, 3 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		for (unsigned rank = 0; rank < 3; rank++) {
			struct array *a = random_array(kinds[i], rank, dims);
			struct array *b = random_array(kinds[i], rank, dims);
			struct writer *w = begin("kinds.h5", rank, make_tree);
			hid_t file;

			CHECK_EQ(writer_set_attr(w, "/g/h/d", "a", a), 0);
			CHECK_EQ(writer_set_attr(w, "/g/h/d", "b", a), 0);
			CHECK_EQ(writer_set_attr(w, "/g/h/d", "a", b), 0);
			file = commit(w, "kinds.h5");
			{
				hid_t d = H5Dopen2(file, "/g/h/d", PD);

				CHECK(attr_is(d, "a", b));
				CHECK(attr_is(d, "b", a));
				H5Dclose(d);
			}
			H5Fclose(file);
			array_free(a);
			array_free(b);
		}
}

static void an_attribute_without_a_value(void)
{
	struct writer *w = begin("empty.h5", false, make_attrs);
	uint64_t zero[] = { 0 };
	struct array *none = random_array(&i4, 1, zero), *null;
	hid_t file, attr, space;

	null = new_array(&i4, 0, NULL);
	null->null = true;
	null->count = 0;
	CHECK_EQ(writer_set_attr(w, "/", "null", null), 0);
	CHECK_EQ(writer_set_attr(w, "/", "null", null), 0);
	CHECK_EQ(writer_set_attr(w, "/", "three", null), 0);
	CHECK_EQ(writer_set_attr(w, "/", "none", none), 0);
	CHECK_EQ(writer_set_attr(w, "/", "", none), -EINVAL);
	CHECK_EQ(writer_set_attr(w, "/nowhere", "a", none), -ENOENT);
	file = commit(w, "empty.h5");
	attr = H5Aopen(file, "three", PD);
	space = H5Aget_space(attr);
	CHECK_EQ(H5Sget_simple_extent_type(space), H5S_NULL);
	H5Sclose(space);
	H5Aclose(attr);
	H5Fclose(file);
	array_free(none);
	array_free(null);
}

/* Over 64 KiB: only text, or where the format can hold it. */
static void large_attributes(void)
{
	struct dtype long_text = { .class = DT_STRING,
				   .size = 100000,
				   .pad = PAD_NULLPAD,
				   .utf8 = true };
	uint64_t dims[] = { 30000 };
	struct array *numbers = random_array(&i4, 1, dims);
	struct array *text = new_array(&long_text, 0, NULL);

	memset(text->data->data, 'x', 99999);
	for (unsigned latest = 0; latest < 2; latest++) {
		struct writer *w = begin("large.h5", latest, make_attrs);
		hid_t file;

		CHECK_EQ(writer_set_attr(w, "/", "numbers", numbers),
			 latest ? 0 : -E2BIG);
		if (!latest)
			CHECK(strstr(writer_why(w), "64 KiB"));
		CHECK_EQ(writer_set_attr(w, "/", "text", text), 0);
		file = commit(w, "large.h5");
		CHECK_STR(type_of(file, "text"), "vlen 8 1");
		if (latest)
			CHECK(attr_is(file, "numbers", numbers));
		H5Fclose(file);
	}
	array_free(numbers);
	array_free(text);
}

static void attributes_removed(void)
{
	struct writer *w = begin("removed.h5", true, make_attrs);
	hid_t file;

	CHECK_EQ(writer_remove_attr(w, "/", "three"), 0);
	CHECK_EQ(writer_remove_attr(w, "/", "three"), -ENODATA);
	CHECK_EQ(writer_remove_attr(w, "/x", "three"), -ENOENT);
	file = commit(w, "removed.h5");
	CHECK(H5Aexists(file, "three") == 0 && H5Aexists(file, "vlen") > 0);
	H5Fclose(file);
}

/* ---- references ---- */
static void references_by_path(void)
{
	static const struct dtype ref = { .class = DT_REF, .size = 8 };
	uint64_t dims[] = { 2 };
	struct array *a = new_array(&ref, 1, dims);
	struct array *bad = new_array(&ref, 1, dims);
	struct writer_dataset d = { .type = &ref, .rank = 1, .fd = -1 };
	struct writer *w = begin("refs.h5", false, make_tree);
	char *path = arena_strdup(a->arena, "/g/h");
	char *nowhere = arena_strdup(a->arena, "/none");
	hobj_ref_t refs[2];
	H5O_info_t there, got;
	hid_t file, set, attr, obj;

	memcpy(a->data->data, &path, sizeof(path));
	memcpy(bad->data->data, &nowhere, sizeof(nowhere));
	d.dims[0] = 2;
	d.data = a->data->data;
	CHECK_EQ(writer_create_dataset(w, "/refs", &d), 0);
	CHECK_EQ(writer_set_attr(w, "/", "refs", a), 0);
	CHECK_EQ(writer_set_attr(w, "/", "bad", bad), -ENOENT);
	file = commit(w, "refs.h5");
	set = H5Dopen2(file, "/refs", PD);
	attr = H5Aopen(file, "refs", PD);
	H5Oget_info_by_name2(file, "/g/h", &there, H5O_INFO_BASIC, PD);
	for (unsigned i = 0; i < 2; i++) {
		memset(refs, 0xff, sizeof(refs));
		if (i == 0)
			CHECK(H5Dread(set, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL,
				      PD, refs) >= 0);
		else
			CHECK(H5Aread(attr, H5T_STD_REF_OBJ, refs) >= 0);
		obj = H5Rdereference2(file, PD, H5R_OBJECT, &refs[0]);
		CHECK(H5Oget_info2(obj, &got, H5O_INFO_BASIC) >= 0);
		CHECK_EQ(got.addr, there.addr);
		CHECK_EQ(refs[1], 0);
		H5Oclose(obj);
	}
	H5Aclose(attr);
	H5Dclose(set);
	H5Fclose(file);
	array_free(a);
	array_free(bad);
}

/* ---- fixed datasets that become growable ---- */

static hid_t create_fixed(hid_t file, const char *storage, hid_t type)
{
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space, set;
	hsize_t dims[] = { 9, 5 }, chunk[] = { 4, 3 };

	if (!strcmp(storage, "compact"))
		H5Pset_layout(dcpl, H5D_COMPACT);
	else if (strcmp(storage, "contiguous") != 0)
		H5Pset_chunk(dcpl, 2, chunk);
	if (!strcmp(storage, "packed") || !strcmp(storage, "edges")) {
		H5Pset_shuffle(dcpl);
		H5Pset_deflate(dcpl, 6);
		H5Pset_fletcher32(dcpl);
	}
	if (!strcmp(storage, "edges"))
		H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
	if (!strcmp(storage, "early"))
		H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
	if (H5Tequal(type, H5T_STD_I32BE) > 0) {
		const int32_t fill = 0x01020304;

		H5Pset_fill_value(dcpl, H5T_STD_I32LE, &fill);
	}
	H5Pset_attr_creation_order(dcpl, H5P_CRT_ORDER_TRACKED);
	space = H5Screate_simple(2, dims, NULL);
	set = H5Dcreate2(file, "d", type, space, PD, dcpl, PD);
	CHECK(set >= 0);
	H5Sclose(space);
	H5Pclose(dcpl);
	return set;
}

static void grow_one(const char *storage, hid_t type, bool latest, bool empty)
{
	hid_t file = create_file("grow.h5", latest);
	hid_t set = create_fixed(file, storage, type), own = H5Dget_type(set);
	hid_t mem, text = fixed_text(H5T_VARIABLE, 0, H5T_CSET_UTF8);
	uint64_t dims[] = { 9, 5 }, two[] = { 2, 5 };
	const char *unit = "mm";
	const int32_t fill = 0x01020304, one = 1;
	struct array *all, *part, *sum, *wide;
	struct type_map map;
	struct dtype *t;
	struct writer *w;

	CHECK_EQ(type_from_h5(own, &t, &map), 0);
	mem = type_to_h5_named(t);
	all = random_array(t, 2, dims);
	part = random_array(t, 2, two);
	if (!empty)
		CHECK(H5Dwrite(set, mem, H5S_ALL, H5S_ALL, PD,
			       all->data->data) >= 0);
	else
		for (uint64_t i = 0; i < all->count; i++)
			memcpy(all->data->data + i * 4, &fill, 4);
	put_attr(set, "unit", text, 0, &unit);
	put_attr(set, "one", H5T_STD_I32LE, 1, &one);
	H5Oset_comment(set, "said of it");
	H5Tclose(text);
	H5Tclose(own);
	H5Dclose(set);
	H5Fclose(file);

	w = open_writer("grow.h5", 1);
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(writer_append(w, "/d", 0, part), -EOPNOTSUPP);
	CHECK(strstr(writer_why(w), "-o grow"));
	CHECK_EQ(writer_grow(w, "/d", 0), 0);
	CHECK_EQ(writer_grow(w, "/d", 0), 0);
	CHECK_EQ(writer_can_append(w, "/d", 0), 0);
	CHECK_EQ(writer_can_append(w, "/d", 1), -EOPNOTSUPP);
	CHECK_EQ(writer_append(w, "/d", 0, part), 0);
	CHECK_EQ(writer_grow(w, "/d", 1), 0);
	CHECK_EQ(writer_can_append(w, "/d", 0), 0);
	file = commit(w, "grow.h5");
	sum = longer(all, 0, 2, NULL);
	put_rows(sum, 0, 9, part);
	CHECK(reads_as(file, "/d", sum));
	set = H5Dopen2(file, "/d", PD);
	own = H5Dget_type(set);
	CHECK(H5Tequal(own, type) > 0);
	CHECK_EQ(H5Tcommitted(own), H5Tcommitted(type));
	CHECK_STR(type_of(set, "unit"), "vlen 8 1");
	CHECK_EQ(H5Aget_num_attrs(set), 2);
	CHECK_EQ(count_filters(file, "/d"),
		 !strcmp(storage, "packed") || !strcmp(storage, "edges") ? 3
									 : 0);
	{
		char said[32] = "";

		H5Oget_comment(set, said, sizeof(said));
		CHECK_STR(said, "said of it");
	}
	H5Tclose(own);
	H5Dclose(set);
	H5Fclose(file);
	/* the fill value is still there */
	if (empty) {
		file = H5Fopen(in_dir("grow.h5"), H5F_ACC_RDWR, PD);
		set = H5Dopen2(file, "/d", PD);
		CHECK(H5Dset_extent(set, (hsize_t[]){ 13, 5 }) >= 0);
		wide = longer(sum, 0, 2, &fill);
		CHECK(reads_as(file, "/d", wide));
		array_free(wide);
		H5Dclose(set);
		H5Fclose(file);
	}
	H5Tclose(mem);
	array_free(all);
	array_free(part);
	array_free(sum);
	dtype_free(t);
}

static void fixed_datasets_grow(void)
{
	static const char *const storages[] = { "contiguous", "compact",
						"chunked",    "packed",
						"edges",      "early" };
	hid_t text = fixed_text(H5T_VARIABLE, 0, H5T_CSET_UTF8);

	for (size_t i = 0; i < ARRAY_SIZE(storages); i++)
		for (unsigned latest = 0; latest < 2; latest++) {
			int before = check_failures;

			grow_one(storages[i], H5T_STD_I32BE, latest, false);
			grow_one(storages[i], H5T_STD_I32BE, latest, true);
			grow_one(storages[i], H5T_IEEE_F64LE, latest, false);
			if (i < 3) /* no checksums of what lies elsewhere */
				grow_one(storages[i], text, latest, false);
			if (check_failures != before)
				printf("  of %s%s\n", storages[i],
				       latest ? ", latest" : "");
		}
	H5Tclose(text);
}

static void make_named(hid_t file)
{
	hsize_t dims[] = { 9, 5 };
	hid_t space = H5Screate_simple(2, dims, NULL), t, set;

	t = H5Tcopy(H5T_STD_I16BE);
	H5Tcommit2(file, "type", t, PD, PD, PD);
	set = H5Dcreate2(file, "d", t, space, PD, PD, PD);
	put_attr(set, "a", t, 0, (int16_t[]){ 1 });
	H5Dclose(set);
	H5Tclose(t);
	H5Sclose(space);
}

/* A type that has a name keeps it. */
static void a_named_type_stays(void)
{
	struct writer *w = begin("named.h5", false, make_named);
	H5O_info_t there, got;
	hid_t file, set, attr, t;

	CHECK_EQ(writer_grow(w, "/d", 0), 0);
	file = commit(w, "named.h5");
	CHECK(H5Oget_info_by_name2(file, "type", &there, H5O_INFO_BASIC, PD) >=
	      0);
	CHECK_EQ(there.rc, 3); /* its link, the dataset, the attribute */
	set = H5Dopen2(file, "/d", PD);
	attr = H5Aopen(set, "a", PD);
	for (unsigned i = 0; i < 2; i++) {
		t = i ? H5Aget_type(attr) : H5Dget_type(set);
		CHECK(H5Tcommitted(t) > 0);
		CHECK(H5Oget_info2(t, &got, H5O_INFO_BASIC) >= 0);
		CHECK_EQ(got.addr, there.addr);
		H5Tclose(t);
	}
	H5Aclose(attr);
	H5Dclose(set);
	H5Fclose(file);
}

static void make_ungrowable(hid_t file)
{
	hsize_t dims = 4;
	hid_t space = H5Screate_simple(1, &dims, NULL), set, dcpl;
	hid_t other = H5Screate(H5S_SCALAR);

	H5Dclose(H5Dcreate2(file, "twice", H5T_STD_I32LE, space, PD, PD, PD));
	H5Lcreate_hard(file, "twice", file, "again", PD, PD);
	H5Dclose(H5Dcreate2(file, "one", H5T_STD_I32LE, space, PD, PD, PD));
	H5Lcreate_soft("/one", file, "soft", PD, PD);
	H5Dclose(H5Dcreate2(file, "scalar", H5T_STD_I32LE, other, PD, PD, PD));
	set = H5Dcreate2(file, "scaled", H5T_STD_I32LE, space, PD, PD, PD);
	put_attr(set, "DIMENSION_LIST", H5T_STD_I32LE, 1, (int32_t[]){ 1 });
	H5Dclose(set);
	set = H5Dcreate2(file, "scale", H5T_STD_I32LE, space, PD, PD, PD);
	put_attr(set, "REFERENCE_LIST", H5T_STD_I32LE, 1, (int32_t[]){ 1 });
	H5Dclose(set);
	dcpl = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_virtual(dcpl, space, "x.h5", "/d", space);
	H5Dclose(H5Dcreate2(file, "virtual", H5T_STD_I32LE, space, PD, dcpl,
			    PD));
	H5Pclose(dcpl);
	dcpl = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_external(dcpl, "raw", 0, H5F_UNLIMITED);
	H5Dclose(H5Dcreate2(file, "raw", H5T_STD_I32LE, space, PD, dcpl, PD));
	H5Pclose(dcpl);
	H5Gclose(H5Gcreate2(file, "g", PD, PD, PD));
	H5Sclose(other);
	H5Sclose(space);
}

static void what_can_not_grow(void)
{
	static const struct {
		const char *path;
		unsigned axis;
		int r;
		const char *why;
	} rows[] = {
		{ "/twice", 0, -EOPNOTSUPP, "hard links" },
		{ "/soft", 0, -EOPNOTSUPP, "another path" },
		{ "/scaled", 0, -EOPNOTSUPP, "scales" },
		{ "/scale", 0, -EOPNOTSUPP, "scales" },
		{ "/virtual", 0, -EOPNOTSUPP, "virtual" },
		{ "/raw", 0, -EOPNOTSUPP, "other files" },
		{ "/scalar", 0, -EOPNOTSUPP, "no axis" },
		{ "/one", 1, -EOPNOTSUPP, "no axis" },
		{ "/g", 0, -EINVAL, "no dataset" },
		{ "/none", 0, -ENOENT, "" },
	};
	struct writer *w = begin("ungrowable.h5", true, make_ungrowable);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(writer_grow(w, rows[i].path, rows[i].axis), rows[i].r);
		CHECK(strstr(writer_why(w), rows[i].why));
	}
	CHECK_EQ(writer_grow(w, "/one", 0), 0);
	writer_abort(w);
	writer_close(w);
}

int main(void)
{
	fixture_begin();
	RUN(new_datasets);
	RUN(new_datasets_grow);
	RUN(chunks_of_new_datasets);
	RUN(datasets_that_can_not_be_made);
	RUN(groups_and_links);
	RUN(moves);
	RUN(rows_follow_a_move);
	RUN(unlinks);
	RUN(texts_keep_their_type);
	RUN(numbers_keep_their_type);
	RUN(attributes_of_every_type);
	RUN(an_attribute_without_a_value);
	RUN(large_attributes);
	RUN(attributes_removed);
	RUN(references_by_path);
	RUN(fixed_datasets_grow);
	RUN(a_named_type_stays);
	RUN(what_can_not_grow);
	return fixture_end();
}
