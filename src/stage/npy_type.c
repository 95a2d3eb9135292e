/* SPDX-License-Identifier: MIT */
/* npy_type.c - NumPy's dtypes as they are written in .npy files.
 *
 *   descr := "<f4" | [(name, descr, shape?), ...] | (descr, shape)
 *
 * A field without a name is padding; (title, name) is a name. */
#include "npy_int.h"

#define MAX_DEPTH 8
#define MAX_ELEMENT (1u << 30)
#define MAX_FIELDS 10000 /* each is compared with those before */

static int unsupported(struct scanner *s, const char *what, const char *remedy)
{
	return refusal_set(s->f, -EINVAL, remedy, "a .npy file of %s", what);
}

struct kind {
	char letter;
	enum dtype_class class;
	unsigned sizes;	  /* bits: of 1 << n bytes; 0: any */
	const char *what; /* cannot be stored */
	const char *remedy;
};
static const struct kind kinds[] = {
	{ 'b', DT_BOOL, 1, NULL, NULL },
	{ 'u', DT_UINT, 1 | 2 | 4 | 8, NULL, NULL },
	{ 'i', DT_INT, 1 | 2 | 4 | 8, NULL, NULL },
	{ 'f', DT_FLOAT, 2 | 4 | 8 | 16, NULL, NULL },
	{ 'c', DT_COMPLEX, 8 | 16, NULL, NULL },
	{ 'S', DT_STRING, 0, NULL, NULL },
	{ 'a', DT_STRING, 0, NULL, NULL },
	{ 'U', DT_STRING, 0, NULL, NULL },
	{ 'O', DT_OPAQUE, 0, "Python objects",
	  "save it with a dtype of numbers or strings" },
	{ 'V', DT_OPAQUE, 0, "raw bytes", "view it as uint8 before saving" },
	{ 'M', DT_OPAQUE, 0, "dates", "view it as int64 before saving" },
	{ 'm', DT_OPAQUE, 0, "time spans", "view it as int64 before saving" },
};

static const struct kind *kind_find(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].letter == letter)
			return &kinds[i];
	return NULL;
}

static int complex_base(struct dtype *t)
{
	return dtype_new(DT_FLOAT, t->size / 2, &t->base);
}

static int string_of(struct dtype *t, bool ucs4)
{
	t->pad = PAD_NULLPAD;
	t->utf8 = ucs4;
	t->tag = ucs4 ? strdup(NPY_UCS4) : NULL;
	return ucs4 && !t->tag ? -ENOMEM : 0;
}

/* "<f4" */
static int simple_type(struct scanner *s, const char *text,
		       struct dtype **ret_type)
{
	CLEANUP(dtype_freep) struct dtype *t = NULL;
	char order = *text && strchr("<>|=", *text) ? *text++ : '|';
	const struct kind *k = *text ? kind_find(*text) : NULL;
	uint64_t size = 0;
	char *end = NULL;
	int r;

	if (!k)
		return scan_bad(s, "a dtype that is none");
	if (k->what)
		return unsupported(s, k->what, k->remedy);
	if (text[1] >= '0' && text[1] <= '9')
		size = strtoull(text + 1, &end, 10);
	if (!end || *end || size > MAX_ELEMENT / 4)
		return scan_bad(s, "a dtype that is none");
	if (*text == 'U')
		size *= 4;
	if (k->sizes && (size > 16 || size & (size - 1) || !(k->sizes & size)))
		return scan_bad(s, "a dtype of a size that it has not");
	if (!size)
		return unsupported(s, "elements of no size",
				   "save it with another dtype");
	r = dtype_new(k->class, (uint32_t)size, &t);
	if (r < 0)
		return r;
	t->big_endian = order == '>' && (size > 1 || *text == 'U');
	if (k->class == DT_COMPLEX)
		r = complex_base(t);
	else if (k->class == DT_STRING)
		r = string_of(t, *text == 'U');
	else if (k->class == DT_FLOAT && size == 16 && t->big_endian)
		r = unsupported(s, "long doubles of another machine",
				"save it as float64");
	if (k->class == DT_STRING && *text != 'U')
		t->big_endian = false;
	if (r == 0)
		*ret_type = TAKE(t);
	return r;
}

static int array_of(struct scanner *s, unsigned rank, const uint64_t *dims,
		    struct dtype **type)
{
	struct dtype *t;
	uint64_t size = (*type)->size;
	int r;

	for (unsigned k = 0; k < rank; k++)
		if (mul_overflow(size, dims[k], &size) || size > MAX_ELEMENT)
			return scan_bad(s, "elements of more than 1 GiB");
	if (!rank)
		return 0;
	if (!size)
		return scan_bad(s, "a field of no size");
	r = dtype_new(DT_ARRAY, (uint32_t)size, &t);
	if (r < 0)
		return r;
	t->rank = rank;
	memcpy(t->dims, dims, rank * sizeof(*dims));
	t->base = *type;
	*type = t;
	return 0;
}

/* A field that has no name is padding: n bytes. */
static int take_padding(struct scanner *s, struct dtype *t)
{
	CLEANUP(freep) char *text = NULL;
	uint64_t size;
	char *end = NULL;
	int r = scan_string(s, &text);

	if (r < 0)
		return r;
	size = strncmp(text, "|V", 2) ? 0 : strtoull(text + 2, &end, 10);
	if (!end || *end || size > MAX_ELEMENT - t->size)
		return scan_bad(s, "a field without a name");
	t->size += (uint32_t)size;
	return 0;
}

static int add_member(struct scanner *s, struct dtype *t, char **name,
		      struct dtype **type)
{
	struct dtype_member *grown;

	for (unsigned i = 0; i < t->nmembers; i++)
		if (!strcmp(t->members[i].name, *name))
			return scan_bad(s, "two fields of one name");
	if (t->nmembers == MAX_FIELDS)
		return scan_bad(s, "too many fields");
	if ((*type)->size > MAX_ELEMENT - t->size)
		return scan_bad(s, "elements of more than 1 GiB");
	grown = reallocarray(t->members, t->nmembers + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->members = grown;
	grown[t->nmembers++] = (struct dtype_member){ .name = TAKE(*name),
						      .offset = t->size,
						      .type = *type };
	t->size += (*type)->size;
	*type = NULL;
	return 0;
}

/* A name, or (title, name). */
static int take_field_name(struct scanner *s, char **ret_name)
{
	CLEANUP(freep) char *title = NULL;
	int r;

	if (!scan_take(s, '('))
		return scan_string(s, ret_name);
	r = scan_string(s, &title);
	if (r == 0 && !scan_take(s, ','))
		r = scan_bad(s, "a field's name is none");
	if (r == 0)
		r = scan_string(s, ret_name);
	if (r == 0 && !scan_take(s, ')'))
		r = scan_bad(s, "a field's name is none");
	return r;
}

static int take_field(struct scanner *s, struct dtype *t)
{
	CLEANUP(freep) char *name = NULL;
	CLEANUP(dtype_freep) struct dtype *type = NULL;
	uint64_t dims[DT_MAX_RANK];
	unsigned rank = 0;
	int r;

	if (!scan_take(s, '('))
		return scan_bad(s, "a field is missing");
	r = take_field_name(s, &name);
	if (r == 0 && !scan_take(s, ','))
		r = scan_bad(s, "a field without a dtype");
	if (r == 0)
		r = *name ? npy_take_descr(s, &type) : take_padding(s, t);
	if (r == 0 && type && scan_take(s, ',') && scan_peek(s) != ')')
		r = scan_shape(s, true, &rank, dims);
	if (r == 0 && type)
		r = array_of(s, rank, dims, &type);
	if (r == 0 && type)
		r = add_member(s, t, &name, &type);
	if (r == 0 && !scan_take(s, ')'))
		r = scan_bad(s, "a field without an end");
	return r;
}

static int take_fields(struct scanner *s, struct dtype **ret_type)
{
	CLEANUP(dtype_freep) struct dtype *t = NULL;
	int r = dtype_new(DT_COMPOUND, 0, &t);

	while (r == 0 && !scan_take(s, ']')) {
		r = take_field(s, t);
		if (r == 0 && !scan_take(s, ',') && scan_peek(s) != ']')
			r = scan_bad(s, "fields without an end");
	}
	if (r == 0 && !t->nmembers)
		r = scan_bad(s, "a dtype without fields");
	if (r == 0)
		*ret_type = TAKE(t);
	return r;
}

/* (descr, shape) */
static int take_subarray(struct scanner *s, struct dtype **ret_type)
{
	CLEANUP(dtype_freep) struct dtype *t = NULL;
	uint64_t dims[DT_MAX_RANK];
	unsigned rank;
	int r = npy_take_descr(s, &t);

	if (r == 0 && !scan_take(s, ','))
		r = scan_bad(s, "a dtype that is none");
	if (r == 0)
		r = scan_shape(s, true, &rank, dims);
	if (r == 0 && !scan_take(s, ')'))
		r = scan_bad(s, "a dtype that is none");
	if (r == 0)
		r = array_of(s, rank, dims, &t);
	if (r == 0)
		*ret_type = TAKE(t);
	return r;
}

int npy_take_descr(struct scanner *s, struct dtype **ret_type)
{
	CLEANUP(freep) char *text = NULL;
	int r;

	if (s->depth == MAX_DEPTH)
		return scan_bad(s, "fields that are nested too deeply");
	s->depth++;
	if (scan_take(s, '[')) {
		r = take_fields(s, ret_type);
	} else if (scan_take(s, '(')) {
		r = take_subarray(s, ret_type);
	} else {
		r = scan_string(s, &text);
		if (r == 0)
			r = simple_type(s, text, ret_type);
	}
	s->depth--;
	return r;
}
