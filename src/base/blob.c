/* SPDX-License-Identifier: MIT */
/* blob.c - immutable counted bytes, header and bytes in one allocation. */
#include "h5fs/base.h"

/* Keeps the bytes aligned for every element type, long double too. */
#define HEADER_SIZE ((sizeof(struct blob) + 15) & ~(size_t)15)

int blob_new(size_t size, struct blob **ret_blob)
{
	struct blob *b;

	if (size > PTRDIFF_MAX - HEADER_SIZE)
		return -ENOMEM;
	b = malloc(HEADER_SIZE + size);
	if (!b)
		return -ENOMEM;
	b->data = (uint8_t *)b + HEADER_SIZE;
	b->size = size;
	b->refs = 1;
	*ret_blob = b;
	return 0;
}

int blob_from(const void *bytes, size_t size, struct blob **ret_blob)
{
	struct blob *b;
	int r;

	r = blob_new(size, &b);
	if (r < 0)
		return r;
	if (size)
		memcpy(b->data, bytes, size);
	*ret_blob = b;
	return 0;
}

struct blob *blob_ref(struct blob *b)
{
	if (b)
		__atomic_add_fetch(&b->refs, 1, __ATOMIC_RELAXED);
	return b;
}

/* Release and acquire: what others did with the bytes is over before free(). */
void blob_unref(struct blob *b)
{
	if (b && __atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(b);
}
