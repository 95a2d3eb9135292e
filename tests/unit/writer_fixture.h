/* SPDX-License-Identifier: MIT */
/* writer_fixture.h - files for tests of the writer: libhdf5 makes them, the
 * writer changes them, and libhdf5 says what is in them. */
#ifndef WRITER_FIXTURE_H
#define WRITER_FIXTURE_H

#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"
#include "writer_int.h"

#define PD H5P_DEFAULT

static char dir[] = "/tmp/h5fs-writer-XXXXXX";
static uint32_t seed = 1;

static inline uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* One of a few buffers, good until the eighth call after. */
static inline const char *in_dir(const char *name)
{
	static char buf[8][96];
	static unsigned next;
	char *p = buf[next++ % 8];

	snprintf(p, sizeof(buf[0]), "%s/%s", dir, name);
	return p;
}

static inline void fixture_begin(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(mkdtemp(dir));
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static inline int fixture_end(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_EQ(system(command), 0);
	return CHECK_RESULT();
}

static inline hid_t create_file(const char *name, bool latest)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;

	if (latest)
		H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST,
				     H5F_LIBVER_LATEST);
	file = H5Fcreate(in_dir(name), H5F_ACC_TRUNC, PD, fapl);
	CHECK(file >= 0);
	H5Pclose(fapl);
	return file;
}

static inline struct writer *open_writer(const char *name, unsigned threads)
{
	const struct writer_options o = { .threads = threads };
	CLEANUP(freep) char *why = NULL;
	struct writer *w = NULL;

	CHECK_EQ(writer_open(in_dir(name), &o, &w, &why), 0);
	if (why)
		printf("%s\n", why);
	return w;
}

static inline hid_t open_file(const char *name)
{
	hid_t file = H5Fopen(in_dir(name), H5F_ACC_RDONLY, PD);

	CHECK(file >= 0);
	return file;
}

/* ---- elements ---- */
static inline void random_text(char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)('a' + dice(26));
}

static inline void random_element(const struct dtype *t, uint8_t *p,
				  struct arena *a);

static inline void random_float(uint32_t size, uint8_t *p)
{
	double d = (int)dice(4096) - 2048;
	float f = (float)d;
	long double l = d / 3;
	uint16_t half = (uint16_t)(dice(0x7c00)); /* finite */

	memset(p, 0, size);
	memcpy(p,
	       size == 2   ? (void *)&half
	       : size == 4 ? (void *)&f
	       : size == 8 ? (void *)&d
			   : (void *)&l,
	       size == 16 ? 10 : size);
}

static inline void random_string(const struct dtype *t, uint8_t *p)
{
	size_t n = dice(t->size + (t->pad != PAD_NULLTERM));

	memset(p, t->pad == PAD_SPACE ? ' ' : 0, t->size);
	random_text((char *)p, n);
}

static inline void random_pointing(const struct dtype *t, uint8_t *p,
				   struct arena *a)
{
	size_t n = dice(40);

	memset(p, 0, t->size);
	if (t->class == DT_VLSTR) {
		char *text = arena_alloc(a, n + 1);

		random_text(text, n);
		text[n] = 0;
		memcpy(p, &text, sizeof(text));
	} else {
		struct dt_vlen v = { n, NULL };
		uint8_t *q = arena_alloc(a, n * t->base->size + 1);

		for (size_t i = 0; i < n; i++)
			random_element(t->base, q + i * t->base->size, a);
		v.p = q;
		memcpy(p, &v, sizeof(v));
	}
}

static inline void random_element(const struct dtype *t, uint8_t *p,
				  struct arena *a)
{
	switch (t->class) {
	case DT_UINT:
	case DT_INT:
	case DT_OPAQUE:
		for (uint32_t i = 0; i < t->size; i++)
			p[i] = (uint8_t)dice(dice(2) ? 256 : 3);
		if (t->size == 4)
			p[3] = 0; /* it may be stored in three bytes */
		return;
	case DT_FLOAT:
		random_float(t->size, p);
		return;
	case DT_BOOL:
		*p = (uint8_t)dice(2);
		return;
	case DT_ENUM:
		memcpy(p, &t->members[dice(t->nmembers)].value, t->size);
		return;
	case DT_COMPLEX:
		random_float(t->size / 2, p);
		random_float(t->size / 2, p + t->size / 2);
		return;
	case DT_STRING:
		random_string(t, p);
		return;
	case DT_COMPOUND:
		memset(p, 0, t->size);
		for (unsigned i = 0; i < t->nmembers; i++)
			random_element(t->members[i].type,
				       p + t->members[i].offset, a);
		return;
	case DT_ARRAY:
		for (uint32_t at = 0; at < t->size; at += t->base->size)
			random_element(t->base, p + at, a);
		return;
	default:
		random_pointing(t, p, a);
	}
}

static inline bool same_element(const struct dtype *t, const uint8_t *a,
				const uint8_t *b)
{
	if (t->class == DT_VLSTR) {
		char *x, *y;

		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		return !strcmp(x ? x : "", y ? y : "");
	}
	if (t->class == DT_VLEN) {
		struct dt_vlen x, y;
		bool same;

		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		same = x.len == y.len;
		for (size_t i = 0; same && i < x.len; i++)
			same = same_element(t->base,
					    (uint8_t *)x.p + i * t->base->size,
					    (uint8_t *)y.p + i * t->base->size);
		return same;
	}
	if (t->class == DT_COMPOUND) {
		for (unsigned i = 0; i < t->nmembers; i++)
			if (!same_element(t->members[i].type,
					  a + t->members[i].offset,
					  b + t->members[i].offset))
				return false;
		return true;
	}
	if (t->class == DT_ARRAY) {
		for (uint32_t at = 0; at < t->size; at += t->base->size)
			if (!same_element(t->base, a + at, b + at))
				return false;
		return true;
	}
	return !memcmp(a, b, t->size);
}

/* ---- arrays of them ---- */
static inline struct array *new_array(const struct dtype *t, unsigned rank,
				      const uint64_t *dims)
{
	struct array *a = calloc(1, sizeof(*a));

	a->type = t;
	a->rank = rank;
	a->count = 1;
	for (unsigned i = 0; i < rank; i++)
		a->count *= a->dims[i] = dims[i];
	CHECK_EQ(blob_new(a->count * t->size, &a->data), 0);
	CHECK_EQ(arena_new(&a->arena), 0);
	memset(a->data->data, 0, a->data->size);
	return a;
}

static inline struct array *random_array(const struct dtype *t, unsigned rank,
					 const uint64_t *dims)
{
	struct array *a = new_array(t, rank, dims);

	for (uint64_t i = 0; i < a->count; i++)
		random_element(t, a->data->data + i * t->size, a->arena);
	return a;
}

/* Rows `at`.. of all become those of part; naively, element by element. What
 * part points to must live as long as all. */
static inline void put_rows(struct array *all, unsigned axis, uint64_t at,
			    const struct array *part)
{
	for (uint64_t i = 0; i < part->count; i++) {
		uint64_t rest = i, to = 0, k[DT_MAX_RANK];

		for (unsigned x = part->rank; x-- > 0;) {
			k[x] = rest % part->dims[x];
			rest /= part->dims[x];
		}
		k[axis] += at;
		for (unsigned x = 0; x < part->rank; x++)
			to = to * all->dims[x] + k[x];
		memcpy(all->data->data + to * all->type->size,
		       array_at(part, i), all->type->size);
	}
}

/* all with n more rows of fill value. */
static inline struct array *longer(const struct array *all, unsigned axis,
				   uint64_t n, const void *fill)
{
	uint64_t dims[DT_MAX_RANK];
	struct array *a;

	memcpy(dims, all->dims, sizeof(dims));
	dims[axis] += n;
	a = new_array(all->type, all->rank, dims);
	for (uint64_t i = 0; fill && i < a->count; i++)
		memcpy(a->data->data + i * a->type->size, fill, a->type->size);
	put_rows(a, axis, 0, all);
	return a;
}

/* What libhdf5 reads of a dataset is this, and it has this shape. */
static inline bool reads_as(hid_t file, const char *path,
			    const struct array *want)
{
	hid_t set = H5Dopen2(file, path, PD), space = H5Dget_space(set);
	hid_t mem = type_to_h5_named(want->type);
	hsize_t dims[H5S_MAX_RANK];
	uint8_t *got = calloc(want->count + 1, want->type->size);
	bool same = set >= 0 &&
		    H5Sget_simple_extent_ndims(space) == (int)want->rank;

	if (same)
		H5Sget_simple_extent_dims(space, dims, NULL);
	for (unsigned i = 0; same && i < want->rank; i++)
		same = dims[i] == want->dims[i];
	same = same && H5Dread(set, mem, H5S_ALL, H5S_ALL, PD, got) >= 0;
	for (uint64_t i = 0; same && i < want->count; i++) {
		same = same_element(want->type, got + i * want->type->size,
				    array_at(want, i));
		if (!same)
			printf("%s: element %llu differs\n", path,
			       (unsigned long long)i);
	}
	if (set >= 0 && dtype_has_pointers(want->type))
		H5Dvlen_reclaim(mem, space, PD, got);
	free(got);
	H5Tclose(mem);
	H5Sclose(space);
	H5Dclose(set);
	return same;
}

#endif
