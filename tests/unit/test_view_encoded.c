/* SPDX-License-Identifier: MIT */
/* test_view_encoded.c - stored image files, without their padding. */
#include "check.h"
#include "fake_store.h"

static const struct layout encoded = { .kind = LAYOUT_ENCODED, .nindex = 1 };
static const struct dtype u1 = { .class = DT_UINT, .size = 1 };
#define JPEG                                                                   \
	"\xff\xd8\xff\xe0"                                                     \
	"abc\0d"                                                               \
	"\xff\xd9"

static void check(const struct dtype *t, unsigned rank, const uint64_t *dims,
		  const void *data, uint64_t index, const char *ext,
		  const void *want, size_t nwant)
{
	CLEANUP(dset_unrefp) struct dset *d = fake_dset(t, rank, dims, data);
	struct view_source s = fake_source(d);
	CLEANUP(freep) char *f = NULL;
	const char *got = NULL;
	size_t n;

	s.layout = &encoded;
	f = fake_file(&view_encoded, &s, index, 0, &n);
	CHECK_EQ(n, nwant);
	CHECK(f && n == nwant && !memcmp(f, want, n));
	CHECK_EQ(view_encoded_ext(&s, index, &got), 0);
	CHECK_STR(got, ext);
}

static void padded_rows_of_bytes(void)
{
	static const uint8_t rows[3][16] = { JPEG "\0\0\0\0\0", "", "text" };
	static const struct dtype a16 = { .class = DT_ARRAY,
					  .size = 16,
					  .base = (struct dtype *)&u1,
					  .rank = 1,
					  .dims = { 16 } };
	static const struct dtype s16 = { .class = DT_STRING, .size = 16 };

	check(&u1, 2, FAKE_DIMS(3, 16), rows, 0, "jpg", JPEG, 11);
	check(&u1, 2, FAKE_DIMS(3, 16), rows, 1, "", "", 0);
	check(&u1, 2, FAKE_DIMS(3, 16), rows, 2, "", rows[2], 16);
	check(&a16, 1, FAKE_DIMS(3), rows, 0, "jpg", JPEG, 11);
	check(&s16, 1, FAKE_DIMS(3), rows, 0, "jpg", JPEG, 11);
	check(&s16, 1, FAKE_DIMS(3), rows, 1, "", "", 0);
	check(&u1, 1, FAKE_DIMS(16), rows, 0, "jpg", JPEG, 11);
}

static void elements_of_any_length(void)
{
	static const struct dtype seq = { .class = DT_VLEN,
					  .size = 16,
					  .base = (struct dtype *)&u1 };
	static const struct dt_vlen v[] = { { 0, NULL },
					    { 13, JPEG "\0\0" },
					    { 3, "abc" } };

	check(&seq, 1, FAKE_DIMS(3), v, 0, "", "", 0);
	check(&seq, 1, FAKE_DIMS(3), v, 1, "jpg", JPEG, 11);
	check(&seq, 1, FAKE_DIMS(3), v, 2, "", "abc", 3);
	check(&seq, 2, FAKE_DIMS(1, 3), v, 1, "jpg", JPEG, 11);
}

static void outside_is_refused(void)
{
	static const uint8_t rows[16] = JPEG;
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u1, 2, FAKE_DIMS(1, 16), rows);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&u1, 1, FAKE_DIMS((uint64_t)1 << 40), rows);
	struct view_source s = fake_source(d);
	const char *ext;
	struct blob *b;

	CHECK_EQ(view_encoded.render(&s, 1, 0, &b), -ERANGE);
	CHECK_EQ(view_encoded_ext(&s, 1, &ext), -ERANGE);
	s = fake_source(e);
	CHECK_EQ(view_encoded.render(&s, 0, 0, &b), -EFBIG);
}

int main(void)
{
	RUN(padded_rows_of_bytes);
	RUN(elements_of_any_length);
	RUN(outside_is_refused);
	return CHECK_RESULT();
}
