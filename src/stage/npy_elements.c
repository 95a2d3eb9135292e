/* SPDX-License-Identifier: MIT */
/* npy_elements.c - elements of .npy files in C order, as they are in memory. */
#include "npy_int.h"

static void swap_bytes(uint8_t *p, uint32_t size)
{
	for (uint32_t i = 0; i < size / 2; i++) {
		uint8_t c = p[i];

		p[i] = p[size - 1 - i];
		p[size - 1 - i] = c;
	}
}

/* UTF-8 is never longer than UCS-4, and never ahead of it. */
static int text_from_ucs4(const struct dtype *t, uint8_t *p)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

	for (uint32_t i = 0; i < t->size; i += 4) {
		uint32_t code;

		memcpy(&code, p + i, 4);
		if (t->big_endian)
			code = __builtin_bswap32(code);
		if (!put_code_point(&out, code))
			return -EILSEQ;
	}
	if (strbuf_error(&out) < 0)
		return -ENOMEM;
	memset(p, 0, t->size);
	memcpy(p, out.buf, out.len);
	return 0;
}

static bool needs_work(const struct dtype *t)
{
	bool work = t->class == DT_BOOL || t->big_endian || t->tag ||
		    (t->base && needs_work(t->base));

	for (unsigned i = 0; t->members && i < t->nmembers; i++)
		work = work || needs_work(t->members[i].type);
	return work;
}

/* One element as it is in memory. */
static int make_native(const struct dtype *t, uint8_t *p)
{
	int r = 0;

	switch (t->class) {
	case DT_BOOL:
		*p = *p != 0;
		return 0;
	case DT_STRING:
		return t->tag ? text_from_ucs4(t, p) : 0;
	case DT_COMPLEX:
		for (unsigned i = 0; t->big_endian && i < 2; i++)
			swap_bytes(p + i * (t->size / 2), t->size / 2);
		return 0;
	case DT_ARRAY:
		for (uint32_t at = 0; r == 0 && at < t->size;
		     at += t->base->size)
			r = make_native(t->base, p + at);
		return r;
	case DT_COMPOUND:
		for (unsigned i = 0; r == 0 && i < t->nmembers; i++)
			r = make_native(t->members[i].type,
					p + t->members[i].offset);
		return r;
	default:
		if (t->big_endian)
			swap_bytes(p, t->size);
		return 0;
	}
}

/* Index along the first axis runs fastest in the file. */
static void copy_fortran(const struct npy *n, const uint8_t *in, uint8_t *out)
{
	uint64_t at[DT_MAX_RANK] = { 0 }, stride[DT_MAX_RANK], from = 0;
	size_t size = n->type->size;
	unsigned k;

	for (k = 0; k < n->rank; k++)
		stride[k] = k ? stride[k - 1] * n->dims[k - 1] : size;
	for (uint64_t done = 0; done < n->size; done += size) {
		memcpy(out + done, in + from, size);
		for (k = n->rank; k-- > 0;) {
			from += stride[k];
			if (++at[k] < n->dims[k])
				break;
			from -= stride[k] * n->dims[k];
			at[k] = 0;
		}
	}
}

int npy_elements(const struct npy *n, const uint8_t *bytes, struct blob **ret)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	int r = blob_new(n->size, &b);

	if (r < 0)
		return r;
	if (n->fortran && n->rank > 1)
		copy_fortran(n, bytes + n->offset, b->data);
	else if (n->size)
		memcpy(b->data, bytes + n->offset, n->size);
	if (needs_work(n->type))
		for (uint64_t at = 0; at < n->size; at += n->type->size) {
			r = make_native(n->type, b->data + at);
			if (r < 0)
				return r;
		}
	*ret = TAKE(b);
	return 0;
}
