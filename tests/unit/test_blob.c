/* SPDX-License-Identifier: MIT */
/* test_blob.c - blobs are counted, aligned and freed once. */
#include "h5fs/base.h"

#include "check.h"

static void copy_holds_the_bytes(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;

	CHECK_EQ(blob_from("hello", 5, &b), 0);
	CHECK_EQ(b->size, 5);
	CHECK(memcmp(b->data, "hello", 5) == 0);
	CHECK_EQ((uintptr_t)b->data % 16, 0);
}

static void empty_blob_has_data(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;

	CHECK_EQ(blob_from(NULL, 0, &b), 0);
	CHECK(b && b->data);
	CHECK_EQ(b->size, 0);
}

static void impossible_size_leaves_the_output(void)
{
	struct blob *b = NULL;

	CHECK_EQ(blob_new(SIZE_MAX, &b), -ENOMEM);
	CHECK_EQ(blob_new(SIZE_MAX - 20, &b), -ENOMEM);
	CHECK(!b);
}

static void null_is_fine(void)
{
	blob_unref(NULL);
	CHECK(!blob_ref(NULL));
}

static void *ref_and_unref(void *arg)
{
	struct blob *b = arg;

	for (int i = 0; i < 10000; i++)
		blob_unref(blob_ref(b));
	blob_unref(b);
	return NULL;
}

static void references_count_across_threads(void)
{
	struct blob *b = NULL;
	pthread_t t[4];

	CHECK_EQ(blob_from("x", 1, &b), 0);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		CHECK_EQ(pthread_create(&t[i], NULL, ref_and_unref,
					blob_ref(b)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(b->refs, 1);
	CHECK_EQ(b->data[0], 'x');
	blob_unref(b);
}

int main(void)
{
	RUN(copy_holds_the_bytes);
	RUN(empty_blob_has_data);
	RUN(impossible_size_leaves_the_output);
	RUN(null_is_fine);
	RUN(references_count_across_threads);
	return CHECK_RESULT();
}
