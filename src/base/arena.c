/* SPDX-License-Identifier: MIT */
/* arena.c - many small allocations, one release. */
#include "h5fs/base.h"

#define ALIGNMENT 16
#define FIRST_BLOCK 1024
#define LAST_BLOCK (1024 * 1024)

struct block {
	struct block *next;
	size_t size; /* of bytes */
	_Alignas(ALIGNMENT) uint8_t bytes[];
};

struct arena {
	struct block *blocks; /* small allocations are cut from the first */
	size_t used;	      /* of the first */
	size_t next_size;
	size_t total; /* memory of all blocks */
};

int arena_new(struct arena **ret_arena)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->next_size = FIRST_BLOCK;
	*ret_arena = a;
	return 0;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	while (a->blocks) {
		struct block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	free(a);
}

static struct block *block_new(struct arena *a, size_t size)
{
	struct block *b = malloc(sizeof(*b) + size);

	if (!b)
		return NULL;
	b->size = size;
	b->next = NULL;
	a->total += sizeof(*b) + size;
	return b;
}

/* A block of its own, behind the first, which still has room. */
static void *alloc_large(struct arena *a, size_t size)
{
	struct block *b = block_new(a, size);

	if (!b)
		return NULL;
	if (a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		a->blocks = b;
		a->used = size;
	}
	return b->bytes;
}

static bool add_block(struct arena *a)
{
	struct block *b = block_new(a, a->next_size);

	if (!b)
		return false;
	b->next = a->blocks;
	a->blocks = b;
	a->used = 0;
	if (a->next_size < LAST_BLOCK)
		a->next_size *= 2;
	return true;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p;

	if (size > PTRDIFF_MAX / 2)
		return NULL;
	size = size ? (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1)
		    : ALIGNMENT;
	if (!a->blocks || size > a->blocks->size - a->used) {
		if (size > a->next_size / 4)
			return alloc_large(a, size);
		if (!add_block(a))
			return NULL;
	}
	p = a->blocks->bytes + a->used;
	a->used += size;
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	size_t n = strlen(s) + 1;
	char *copy = arena_alloc(a, n);

	if (copy)
		memcpy(copy, s, n);
	return copy;
}

size_t arena_bytes(const struct arena *a)
{
	return a->total;
}
