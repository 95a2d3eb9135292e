/* SPDX-License-Identifier: MIT */
/* npy.c - NumPy's .npy files (NEP 1), as hostile as any other.
 *
 *   file   := "\x93NUMPY" major 0 length header elements
 *   length := le16 in version 1, le32 in 2 and 3
 *   header := a Python dict of 'descr', 'fortran_order' and 'shape', padded;
 *             Latin-1 in versions 1 and 2, UTF-8 in 3
 *   descr  := "<f4" | [(name, descr, shape?), ...] | (descr, shape)
 *
 * U strings (UCS-4) become UTF-8 in as many bytes, which always suffice; until
 * then their dtype has a tag. */
#include "accept_int.h"

#define MAGIC "\x93NUMPY"
#define MAX_HEADER (1u << 20)
#define MAX_DEPTH 8
#define MAX_ELEMENT (1u << 30)

/* False: no Unicode character. */
static bool put_code_point(struct strbuf *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	if (c < 0x80) {
		strbuf_putc(out, (char)c);
		return true;
	}
	if (c < 0x800) {
		strbuf_putc(out, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			strbuf_putc(out, (char)(0xe0 | c >> 12));
		} else {
			strbuf_putc(out, (char)(0xf0 | c >> 18));
			strbuf_putc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		strbuf_putc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	strbuf_putc(out, (char)(0x80 | (c & 0x3f)));
	return true;
}

/* ---- reading Python literals ---- */
struct scanner {
	const char *p, *end;
	bool latin1;
	unsigned depth;
	struct refusal *f;
};

static int bad(struct scanner *s, const char *why)
{
	return refusal_set(s->f, -EINVAL, "write it with numpy.save()",
			   "a damaged .npy file: %s", why);
}

static int unsupported(struct scanner *s, const char *what, const char *remedy)
{
	return refusal_set(s->f, -EINVAL, remedy, "a .npy file of %s", what);
}

static char peek(struct scanner *s)
{
	while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
		s->p++;
	return s->p < s->end ? *s->p : '\0';
}

static bool take(struct scanner *s, char c)
{
	if (peek(s) != c || !c)
		return false;
	s->p++;
	return true;
}

static bool take_word(struct scanner *s, const char *word)
{
	size_t n = strlen(word);

	peek(s);
	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n))
		return false;
	s->p += n;
	return true;
}

static int hex_digits(struct scanner *s, unsigned n, uint32_t *ret_code)
{
	uint32_t code = 0;

	for (; n; n--, s->p++) {
		static const char digits[] = "0123456789abcdefABCDEF";
		const char *at =
			s->p < s->end && *s->p ? strchr(digits, *s->p) : NULL;

		if (!at)
			return bad(s, "an escape that is none");
		code = code << 4 | (uint32_t)(at - digits > 15 ? at - digits - 6
							       : at - digits);
	}
	*ret_code = code;
	return 0;
}

static int escape(struct scanner *s, struct strbuf *out)
{
	static const struct {
		char letter;
		unsigned digits; /* 0: stands for code */
		char code;
	} escapes[] = {
		{ 'x', 2, 0 },	   { 'u', 4, 0 },     { 'U', 8, 0 },
		{ '\\', 0, '\\' }, { '\'', 0, '\'' }, { '"', 0, '"' },
		{ 'n', 0, '\n' },  { 't', 0, '\t' },  { 'r', 0, '\r' },
	};
	char c = s->p < s->end ? *s->p++ : '\0';
	uint32_t code;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(escapes); i++) {
		if (escapes[i].letter != c)
			continue;
		if (!escapes[i].digits) {
			strbuf_putc(out, escapes[i].code);
			return 0;
		}
		r = hex_digits(s, escapes[i].digits, &code);
		if (r == 0 && !put_code_point(out, code))
			r = bad(s, "an escape that is no character");
		return r;
	}
	return bad(s, "an escape that is none");
}

/* Text in UTF-8; no NUL inside. */
static int take_string(struct scanner *s, char **ret_text)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	char quote = peek(s);
	int r = 0;

	if (quote != '\'' && quote != '"')
		return bad(s, "a string is missing");
	for (s->p++; r == 0 && s->p < s->end && *s->p != quote;) {
		unsigned char c = (unsigned char)*s->p++;

		if (c == '\\')
			r = escape(s, &out);
		else if (c >= 0x80 && s->latin1)
			put_code_point(&out, c);
		else
			strbuf_putc(&out, (char)c);
	}
	if (r < 0)
		return r;
	if (!take(s, quote))
		return bad(s, "a string without an end");
	if (out.len && memchr(out.buf, 0, out.len))
		return bad(s, "a name with a NUL in it");
	*ret_text = strbuf_steal(&out);
	return *ret_text ? 0 : -ENOMEM;
}

static int take_number(struct scanner *s, uint64_t *ret_n)
{
	uint64_t n = 0;
	bool over = false;
	const char *from;

	peek(s);
	for (from = s->p; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
		over = over || mul_overflow(n, 10, &n) ||
		       add_overflow(n, (uint64_t)(*s->p - '0'), &n);
	if (s->p == from || over || n > INT64_MAX)
		return bad(s, "a length that is none");
	take(s, 'L'); /* Python 2 */
	*ret_n = n;
	return 0;
}

/* (2, 3), or one number where that may stand for (n,). */
static int take_shape(struct scanner *s, bool number, unsigned *ret_rank,
		      uint64_t *ret_dims)
{
	unsigned rank = 0;
	int r;

	if (number && peek(s) != '(') {
		*ret_rank = 1;
		return take_number(s, ret_dims);
	}
	if (!take(s, '('))
		return bad(s, "a shape is missing");
	while (!take(s, ')')) {
		if (rank == DT_MAX_RANK)
			return bad(s, "too many axes");
		r = take_number(s, &ret_dims[rank++]);
		if (r < 0)
			return r;
		if (!take(s, ',') && peek(s) != ')')
			return bad(s, "a shape that is none");
	}
	*ret_rank = rank;
	return 0;
}

/* ---- types ---- */
static int take_descr(struct scanner *s, struct dtype **ret_type);

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
		return bad(s, "a dtype that is none");
	if (k->what)
		return unsupported(s, k->what, k->remedy);
	if (text[1] >= '0' && text[1] <= '9')
		size = strtoull(text + 1, &end, 10);
	if (!end || *end || size > MAX_ELEMENT / 4)
		return bad(s, "a dtype that is none");
	if (*text == 'U')
		size *= 4;
	if (k->sizes && (size > 16 || size & (size - 1) || !(k->sizes & size)))
		return bad(s, "a dtype of a size that it has not");
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
			return bad(s, "elements of more than 1 GiB");
	if (!rank)
		return 0;
	if (!size)
		return bad(s, "a field of no size");
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
	int r = take_string(s, &text);

	if (r < 0)
		return r;
	size = strncmp(text, "|V", 2) ? 0 : strtoull(text + 2, &end, 10);
	if (!end || *end || size > MAX_ELEMENT - t->size)
		return bad(s, "a field without a name");
	t->size += (uint32_t)size;
	return 0;
}

static int add_member(struct scanner *s, struct dtype *t, char **name,
		      struct dtype **type)
{
	struct dtype_member *grown;

	for (unsigned i = 0; i < t->nmembers; i++)
		if (!strcmp(t->members[i].name, *name))
			return bad(s, "two fields of one name");
	if ((*type)->size > MAX_ELEMENT - t->size)
		return bad(s, "elements of more than 1 GiB");
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

	if (!take(s, '('))
		return take_string(s, ret_name);
	r = take_string(s, &title);
	if (r == 0 && !take(s, ','))
		r = bad(s, "a field's name is none");
	if (r == 0)
		r = take_string(s, ret_name);
	if (r == 0 && !take(s, ')'))
		r = bad(s, "a field's name is none");
	return r;
}

static int take_field(struct scanner *s, struct dtype *t)
{
	CLEANUP(freep) char *name = NULL;
	CLEANUP(dtype_freep) struct dtype *type = NULL;
	uint64_t dims[DT_MAX_RANK];
	unsigned rank = 0;
	int r;

	if (!take(s, '('))
		return bad(s, "a field is missing");
	r = take_field_name(s, &name);
	if (r == 0 && !take(s, ','))
		r = bad(s, "a field without a dtype");
	if (r == 0)
		r = *name ? take_descr(s, &type) : take_padding(s, t);
	if (r == 0 && type && take(s, ',') && peek(s) != ')')
		r = take_shape(s, true, &rank, dims);
	if (r == 0 && type)
		r = array_of(s, rank, dims, &type);
	if (r == 0 && type)
		r = add_member(s, t, &name, &type);
	if (r == 0 && !take(s, ')'))
		r = bad(s, "a field without an end");
	return r;
}

static int take_fields(struct scanner *s, struct dtype **ret_type)
{
	CLEANUP(dtype_freep) struct dtype *t = NULL;
	int r = dtype_new(DT_COMPOUND, 0, &t);

	while (r == 0 && !take(s, ']')) {
		r = take_field(s, t);
		if (r == 0 && !take(s, ',') && peek(s) != ']')
			r = bad(s, "fields without an end");
	}
	if (r == 0 && !t->nmembers)
		r = bad(s, "a dtype without fields");
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
	int r = take_descr(s, &t);

	if (r == 0 && !take(s, ','))
		r = bad(s, "a dtype that is none");
	if (r == 0)
		r = take_shape(s, true, &rank, dims);
	if (r == 0 && !take(s, ')'))
		r = bad(s, "a dtype that is none");
	if (r == 0)
		r = array_of(s, rank, dims, &t);
	if (r == 0)
		*ret_type = TAKE(t);
	return r;
}

static int take_descr(struct scanner *s, struct dtype **ret_type)
{
	CLEANUP(freep) char *text = NULL;
	int r;

	if (s->depth == MAX_DEPTH)
		return bad(s, "fields that are nested too deeply");
	s->depth++;
	if (take(s, '[')) {
		r = take_fields(s, ret_type);
	} else if (take(s, '(')) {
		r = take_subarray(s, ret_type);
	} else {
		r = take_string(s, &text);
		if (r == 0)
			r = simple_type(s, text, ret_type);
	}
	s->depth--;
	return r;
}

/* ---- the header ---- */
struct header {
	struct npy n;
	bool has_order, has_shape;
};

static int take_order(struct scanner *s, struct header *h)
{
	h->n.fortran = take_word(s, "True");
	h->has_order = true;
	return h->n.fortran || take_word(s, "False")
		       ? 0
		       : bad(s, "fortran_order is neither True nor False");
}

static int take_entry(struct scanner *s, struct header *h)
{
	CLEANUP(freep) char *key = NULL;
	int r = take_string(s, &key);

	if (r < 0)
		return r;
	if (!take(s, ':'))
		return bad(s, "a header that is no dict");
	if (!strcmp(key, "descr") && !h->n.type)
		return take_descr(s, &h->n.type);
	if (!strcmp(key, "fortran_order") && !h->has_order)
		return take_order(s, h);
	if (!strcmp(key, "shape") && !h->has_shape) {
		h->has_shape = true;
		return take_shape(s, false, &h->n.rank, h->n.dims);
	}
	return bad(s, "a header with an unknown entry");
}

static int take_header(struct scanner *s, struct header *h)
{
	int r;

	if (!take(s, '{'))
		return bad(s, "a header that is no dict");
	while (!take(s, '}')) {
		r = take_entry(s, h);
		if (r < 0)
			return r;
		if (!take(s, ',') && peek(s) != '}')
			return bad(s, "a header without an end");
	}
	if (peek(s) || s->p != s->end)
		return bad(s, "a header that goes on behind its end");
	if (!h->n.type || !h->has_order || !h->has_shape)
		return bad(s, "a header that does not say everything");
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
	return want < have ? bad(s, "it goes on behind its elements") : 0;
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
		return bad(&s, size < 12 ? "it ends in its header"
					 : "a version that is not known");
	head = bytes[6] == 1 ? 10 : 12;
	memcpy(&len, bytes + 8, head - 8);
	if (len > size - head || len > MAX_HEADER)
		return bad(&s, "it ends in its header");
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

/* ---- elements ---- */
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
