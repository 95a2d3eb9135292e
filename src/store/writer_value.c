/* SPDX-License-Identifier: MIT */
/* writer_value.c - elements in memory form as the library takes them: paths
 * become references, texts take the form that is there. */
#include "writer_int.h"

bool dtype_same(const struct dtype *a, const struct dtype *b)
{
	if (!a || !b)
		return a == b;
	if (a->class != b->class || a->size != b->size || a->rank != b->rank ||
	    a->nmembers != b->nmembers || !dtype_same(a->base, b->base))
		return false;
	for (unsigned i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	for (unsigned i = 0; i < a->nmembers; i++) {
		const struct dtype_member *m = &a->members[i];
		const struct dtype_member *n = &b->members[i];

		if (strcmp(m->name, n->name) != 0 || m->value != n->value ||
		    m->offset != n->offset || !dtype_same(m->type, n->type))
			return false;
	}
	return true;
}

/* ---- references ---- */
static bool has_refs(const struct dtype *t)
{
	if (t->class == DT_REF || t->class == DT_REGREF)
		return true;
	for (unsigned i = 0; i < t->nmembers; i++)
		if (t->members[i].type && has_refs(t->members[i].type))
			return true;
	return t->base && has_refs(t->base);
}

static int encode_ref(struct writer *w, uint8_t *p)
{
	CLEANUP(hid_closep) hid_t obj = -1;
	hobj_ref_t ref = 0;
	char *path;
	int r;

	memcpy(&path, p, sizeof(path));
	if (path) {
		r = writer_object(w, path, &obj);
		if (r < 0)
			return r;
		if (H5Rcreate(&ref, obj, ".", H5R_OBJECT, -1) < 0)
			return writer_path_fail(w, path, "no reference to it");
	}
	memcpy(p, &ref, sizeof(ref));
	return 0;
}

static int encode(struct writer *w, const struct dtype *t, uint8_t *p)
{
	int r = 0;

	if (!has_refs(t))
		return 0;
	switch (t->class) {
	case DT_REF:
		return encode_ref(w, p);
	case DT_COMPOUND:
		for (unsigned i = 0; r == 0 && i < t->nmembers; i++)
			r = encode(w, t->members[i].type,
				   p + t->members[i].offset);
		return r;
	case DT_ARRAY:
		for (uint32_t at = 0; r == 0 && at < t->size;
		     at += t->base->size)
			r = encode(w, t->base, p + at);
		return r;
	default:
		return writer_fail(w, -EOPNOTSUPP,
				   "references to regions, and sequences of "
				   "references, can not be written");
	}
}

int writer_refs(struct writer *w, const struct dtype *t, const void *elements,
		uint64_t n, struct blob **ret_copy)
{
	CLEANUP(blob_unrefp) struct blob *copy = NULL;
	int r = 0;

	if (has_refs(t)) {
		r = blob_from(elements, n * t->size, &copy);
		for (uint64_t i = 0; r == 0 && i < n; i++)
			r = encode(w, t, copy->data + i * t->size);
	}
	if (r == 0)
		*ret_copy = TAKE(copy);
	return r;
}

/* ---- texts ---- */
static bool is_ascii(const char *text, size_t n)
{
	while (n > 0)
		if ((uint8_t)text[--n] >= 0x80)
			return false;
	return true;
}

static bool put_text(const struct dtype *to, const char *text, size_t n,
		     struct arena *a, uint8_t *p)
{
	char *copy;

	if (!to->utf8 && !is_ascii(text, n))
		return false;
	if (to->class == DT_STRING) {
		if (n + (to->pad == PAD_NULLTERM) > to->size)
			return false;
		memset(p, to->pad == PAD_SPACE ? ' ' : 0, to->size);
		memcpy(p, text, n);
		return true;
	}
	copy = memchr(text, 0, n) ? NULL : arena_alloc(a, n + 1);
	if (!copy)
		return false;
	memcpy(copy, text, n);
	copy[n] = 0;
	memcpy(p, &copy, sizeof(copy));
	return true;
}

bool dtype_is_text(const struct dtype *t)
{
	return t->class == DT_STRING || t->class == DT_VLSTR;
}

int texts_as(const struct dtype *from, const void *elements, uint64_t n,
	     const struct dtype *to, struct arena *a, struct blob **ret_texts)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t bytes;
	int r;

	if (mul_overflow(n, to->size, &bytes))
		return -EOVERFLOW;
	r = blob_new(bytes, &b);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < n; i++) {
		const char *text;
		size_t len;

		dtype_string(from, (const uint8_t *)elements + i * from->size,
			     &text, &len);
		if (!put_text(to, text, len, a, b->data + i * to->size))
			return -EINVAL;
	}
	*ret_texts = TAKE(b);
	return 0;
}
