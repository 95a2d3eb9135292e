/* SPDX-License-Identifier: MIT */
/* npy.c - NumPy's .npy files (NEP 1), as hostile as any other.
 *
 *   file   := "\x93NUMPY" major 0 length header elements
 *   length := le16 in version 1, le32 in 2 and 3
 *   header := a Python dict of 'descr', 'fortran_order' and 'shape', padded;
 *             Latin-1 in versions 1 and 2, UTF-8 in 3 */
#include "npy_int.h"

#define MAGIC "\x93NUMPY"
#define MAX_HEADER (1u << 20)

struct header {
	struct npy n;
	bool has_order, has_shape;
};

static int take_order(struct scanner *s, struct header *h)
{
	h->n.fortran = scan_word(s, "True");
	h->has_order = true;
	return h->n.fortran || scan_word(s, "False")
		       ? 0
		       : scan_bad(s, "fortran_order is neither True nor False");
}

static int take_entry(struct scanner *s, struct header *h)
{
	CLEANUP(freep) char *key = NULL;
	int r = scan_string(s, &key);

	if (r < 0)
		return r;
	if (!scan_take(s, ':'))
		return scan_bad(s, "a header that is no dict");
	if (!strcmp(key, "descr") && !h->n.type)
		return npy_take_descr(s, &h->n.type);
	if (!strcmp(key, "fortran_order") && !h->has_order)
		return take_order(s, h);
	if (!strcmp(key, "shape") && !h->has_shape) {
		h->has_shape = true;
		return scan_shape(s, false, &h->n.rank, h->n.dims);
	}
	return scan_bad(s, "a header with an unknown entry");
}

static int take_header(struct scanner *s, struct header *h)
{
	int r;

	if (!scan_take(s, '{'))
		return scan_bad(s, "a header that is no dict");
	while (!scan_take(s, '}')) {
		r = take_entry(s, h);
		if (r < 0)
			return r;
		if (!scan_take(s, ',') && scan_peek(s) != '}')
			return scan_bad(s, "a header without an end");
	}
	if (scan_peek(s) || s->p != s->end)
		return scan_bad(s, "a header that goes on behind its end");
	if (!h->n.type || !h->has_order || !h->has_shape)
		return scan_bad(s, "a header that does not say everything");
	return 0;
}

static bool is_swapped(const struct dtype *t)
{
	bool swapped = t->big_endian || (t->base && is_swapped(t->base));

	for (unsigned i = 0; t->members && i < t->nmembers; i++)
		swapped = swapped || is_swapped(t->members[i].type);
	return swapped;
}

/* False: more than can be. */
static bool elements_size(const struct npy *n, uint64_t *ret_size)
{
	bool over = false;

	*ret_size = n->type->size;
	for (unsigned k = 0; k < n->rank; k++) {
		if (!n->dims[k]) {
			*ret_size = 0;
			return true;
		}
		over = over || mul_overflow(*ret_size, n->dims[k], ret_size);
	}
	return !over;
}

static int check_size(struct scanner *s, const struct npy *n, uint64_t size)
{
	uint64_t want, have = size - n->offset;
	bool possible = elements_size(n, &want);

	if (!possible || want > have)
		return refusal_set(s->f, -EINVAL, "copy it again",
				   "a truncated .npy file: it has %llu bytes "
				   "of elements, its shape wants more",
				   (unsigned long long)have);
	return want < have ? scan_bad(s, "it goes on behind its elements") : 0;
}

void npy_done(struct npy *n)
{
	dtype_free(n->type);
	n->type = NULL;
}

static void header_done(struct header *h)
{
	npy_done(&h->n);
}

bool npy_is_name(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && !strcasecmp(name + n - 4, ".npy");
}

bool npy_is(const uint8_t *bytes, uint64_t size)
{
	return size >= 6 && !memcmp(bytes, MAGIC, 6);
}

int npy_parse(const uint8_t *bytes, uint64_t size, struct npy *ret_npy,
	      struct refusal *f)
{
	CLEANUP(header_done) struct header h = { 0 };
	struct scanner s = { .f = f };
	uint32_t len = 0;
	unsigned head;
	int r;

	if (!npy_is(bytes, size))
		return refusal_set(f, -EINVAL, "write it with numpy.save()",
				   "no .npy file");
	if (size < 12 || bytes[6] < 1 || bytes[6] > 3 || bytes[7])
		return scan_bad(&s, size < 12 ? "it ends in its header"
					      : "a version that is not known");
	head = bytes[6] == 1 ? 10 : 12;
	memcpy(&len, bytes + 8, head - 8);
	if (len > size - head || len > MAX_HEADER)
		return scan_bad(&s, "it ends in its header");
	s.p = (const char *)bytes + head;
	s.end = s.p + len;
	s.latin1 = bytes[6] < 3;
	r = take_header(&s, &h);
	if (r < 0)
		return r;
	h.n.offset = head + len;
	h.n.swap = is_swapped(h.n.type);
	r = check_size(&s, &h.n, size);
	if (r < 0)
		return r;
	h.n.size = size - h.n.offset;
	*ret_npy = h.n;
	h.n.type = NULL;
	return 0;
}
