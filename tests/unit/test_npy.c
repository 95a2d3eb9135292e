/* SPDX-License-Identifier: MIT */
/* test_npy.c - NumPy's files: what is read, what is refused, and that no bytes do
 * harm. */
#include <stdio.h>

#include "h5fs/stage.h"

#include "check.h"
#include "npy_file.h"

static struct npy_file file;
static struct npy n;
static struct refusal why;
static struct blob *elements;

static void clean(void)
{
	npy_done(&n);
	refusal_done(&why);
	blob_unref(elements);
	elements = NULL;
}

/* From an allocation of its own, so that nothing beyond is read. */
static int parse_bytes(const uint8_t *bytes, size_t size)
{
	CLEANUP(freep) uint8_t *copy = malloc(size ? size : 1);
	int r;

	clean();
	memcpy(copy, bytes, size);
	r = npy_parse(copy, size, &n, &why);
	if (r == 0)
		r = npy_elements(&n, copy, &elements);
	return r;
}

static int parse(unsigned version, const char *dict, const void *bytes,
		 size_t size)
{
	npy_file(&file, version, dict, bytes, size);
	return parse_bytes(file.bytes, file.n);
}

#define DICT(descr, fortran, shape)                                            \
	"{'descr': " descr ", 'fortran_order': " fortran ", 'shape': " shape   \
	", }"
#define CHECK_ELEMENTS(...)                                                    \
	do {                                                                   \
		static const uint8_t want_[] = { __VA_ARGS__ };                \
		CHECK(elements && elements->size == sizeof(want_) &&           \
		      !memcmp(elements->data, want_, sizeof(want_)));          \
	} while (0)
#define CHECK_WHY(words)                                                       \
	do {                                                                   \
		CHECK(why.reason &&strstr(why.reason, words) && why.remedy);   \
		if (why.reason && !strstr(why.reason, words))                  \
			printf("said: %s\n", why.reason);                      \
	} while (0)

static void numbers(void)
{
	static const struct {
		const char *descr;
		enum dtype_class class;
		unsigned size;
	} rows[] = {
		{ "'|u1'", DT_UINT, 1 },      { "'<u8'", DT_UINT, 8 },
		{ "'<i2'", DT_INT, 2 },	      { "'<f2'", DT_FLOAT, 2 },
		{ "'=f8'", DT_FLOAT, 8 },     { "'<f16'", DT_FLOAT, 16 },
		{ "'|b1'", DT_BOOL, 1 },      { "'<c8'", DT_COMPLEX, 8 },
		{ "'<c16'", DT_COMPLEX, 16 }, { "'|S3'", DT_STRING, 3 },
		{ "\"<i4\"", DT_INT, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t zeros[32] = { 0 };
		char dict[128];

		snprintf(dict, sizeof(dict), DICT("%s", "False", "(2,)"),
			 rows[i].descr);
		CHECK_EQ(parse(1, dict, zeros, 2 * rows[i].size), 0);
		CHECK(n.type && n.type->class == rows[i].class);
		CHECK(n.type && n.type->size == rows[i].size);
		CHECK(n.rank == 1 && n.dims[0] == 2 && !n.swap && !n.fortran);
		CHECK_EQ(n.offset + n.size, file.n);
	}
	clean();
}

static void shapes(void)
{
	CHECK_EQ(parse(1, DICT("'|u1'", "False", "()"), "\7", 1), 0);
	CHECK_EQ(n.rank, 0);
	CHECK_ELEMENTS(7);
	CHECK_EQ(parse(1, DICT("'|u1'", "False", "(3L, 0L)"), "", 0), 0);
	CHECK(n.rank == 2 && n.dims[0] == 3 && n.dims[1] == 0);
	CHECK_EQ(parse(2, DICT("'|u1'", "False", "( 1 ,2 )"), "\1\2", 2), 0);
	CHECK_EQ(parse(3,
		       "{\"shape\":(1,2),'fortran_order':False,"
		       "'descr':'|u1'}   ",
		       "\1\2", 2),
		 0);
	CHECK_ELEMENTS(1, 2);
	/* (0, 2^62, 2^62) is empty. */
	CHECK_EQ(parse(1,
		       DICT("'<f8'", "False",
			    "(0, 4611686018427387904, 4611686018427387904)"),
		       "", 0),
		 0);
	clean();
}

static void other_orders(void)
{
	CHECK_EQ(parse(1, DICT("'>u2'", "False", "(2,)"), "\0\1\2\3", 4), 0);
	CHECK(n.swap);
	CHECK_ELEMENTS(1, 0, 3, 2);
	CHECK_EQ(parse(1, DICT("'>c8'", "False", "()"),
		       "\x3f\x80\0\0\x40\0\0\0", 8),
		 0);
	CHECK_ELEMENTS(0, 0, 0x80, 0x3f, 0, 0, 0, 0x40);
	/* ((1,2,3),(4,5,6)), first axis fastest */
	CHECK_EQ(parse(1, DICT("'|u1'", "True", "(2, 3)"), "\1\4\2\5\3\6", 6),
		 0);
	CHECK(n.fortran);
	CHECK_ELEMENTS(1, 2, 3, 4, 5, 6);
	CHECK_EQ(parse(1, DICT("'>u2'", "True", "(2, 2, 1)"),
		       "\0\1\0\3\0\2\0\4", 8),
		 0);
	CHECK_ELEMENTS(1, 0, 2, 0, 3, 0, 4, 0);
	CHECK_EQ(parse(1, DICT("'|b1'", "False", "(3,)"), "\0\1\7", 3), 0);
	CHECK_ELEMENTS(0, 1, 1);
	clean();
}

static void structures(void)
{
	const struct dtype *t;

	CHECK_EQ(parse(1,
		       DICT("[('a', '<u2'), ('', '|V1'), ('b', '>i2', (2,)),"
			    " (('a title', 'c'), [('d', '|u1')])]",
			    "False", "(1,)"),
		       "\1\2\xff\0\3\0\4\5", 8),
		 0);
	t = n.type;
	CHECK(t->class == DT_COMPOUND && t->size == 8 && t->nmembers == 3);
	CHECK_STR(t->members[0].name, "a");
	CHECK_EQ(t->members[1].offset, 3);
	CHECK_EQ(t->members[1].type->class, DT_ARRAY);
	CHECK_EQ(t->members[1].type->dims[0], 2);
	CHECK_STR(t->members[2].name, "c");
	CHECK_EQ(t->members[2].type->members[0].type->size, 1);
	CHECK_ELEMENTS(1, 2, 0xff, 3, 0, 4, 0, 5);
	CHECK_EQ(parse(1, DICT("[('\\xe4\\'\\\\', '|u1')]", "False", "()"), "",
		       1),
		 0);
	CHECK_STR(n.type->members[0].name, "\xc3\xa4'\\");
	CHECK_EQ(parse(1, DICT("[('\xe4', '|u1')]", "False", "()"), "", 1), 0);
	CHECK_STR(n.type->members[0].name, "\xc3\xa4");
	CHECK_EQ(parse(3, DICT("[('\xc3\xa4', '|u1')]", "False", "()"), "", 1),
		 0);
	CHECK_STR(n.type->members[0].name, "\xc3\xa4");
	CHECK_EQ(parse(1, DICT("('|u1', (2, 2))", "False", "(1,)"), "\1\2\3\4",
		       4),
		 0);
	CHECK_EQ(n.type->class, DT_ARRAY);
	clean();
}

static void texts(void)
{
	static const uint32_t u[] = { 'a', 0xe4, 0x1f600, 0, 0, 0,
				      'x', 0,	 0,	  0, 0, 0 };
	const char *text;
	size_t len;

	CHECK_EQ(parse(1, DICT("'<U3'", "False", "(2,)"), u, 24), 0);
	CHECK(n.type->class == DT_STRING && n.type->size == 12 && n.type->utf8);
	dtype_string(n.type, elements->data, &text, &len);
	CHECK(len == 7 && !memcmp(text, "a\xc3\xa4\xf0\x9f\x98\x80", 7));
	CHECK_EQ(parse(1, DICT("'>U1'", "False", "()"), "\0\0\0a", 4), 0);
	CHECK_ELEMENTS('a', 0, 0, 0);
	CHECK_EQ(parse(1, DICT("'<U1'", "False", "()"), "\0\xd8\0\0", 4),
		 -EILSEQ);
	CHECK_EQ(parse(1, DICT("'<U1'", "False", "()"), "\0\0\x11\0", 4),
		 -EILSEQ);
	CHECK_EQ(parse(1, DICT("'|S3'", "False", "(2,)"), "abcd\0\0", 6), 0);
	CHECK_ELEMENTS('a', 'b', 'c', 'd', 0, 0);
	clean();
}

static void refused(void)
{
	static const struct {
		const char *dict, *words;
	} rows[] = {
		{ DICT("'|O'", "False", "(1,)"), "objects" },
		{ DICT("'|O8'", "False", "(1,)"), "objects" },
		{ DICT("[('a', '|O')]", "False", "(1,)"), "objects" },
		{ DICT("'<M8[ns]'", "False", "(1,)"), "dates" },
		{ DICT("'<m8[s]'", "False", "(1,)"), "time" },
		{ DICT("'|V8'", "False", "(1,)"), "raw bytes" },
		{ DICT("'>f16'", "False", "(1,)"), "another machine" },
		{ DICT("'|S0'", "False", "(1,)"), "no size" },
		{ DICT("'<u3'", "False", "(1,)"), "size" },
		{ DICT("'<u16'", "False", "(1,)"), "size" },
		{ DICT("'<f8x'", "False", "(1,)"), "dtype" },
		{ DICT("'u'", "False", "(1,)"), "dtype" },
		{ DICT("'<u99999999999999999999'", "False", "(1,)"), "dtype" },
		{ DICT("''", "False", "(1,)"), "dtype" },
		{ DICT("1", "False", "(1,)"), "string" },
		{ DICT("[]", "False", "(1,)"), "fields" },
		{ DICT("[('', '<u4')]", "False", "(1,)"), "name" },
		{ DICT("[('a', '<u4'), ('a', '<u4')]", "False", "(1,)"),
		  "two fields" },
		{ DICT("[('a\\x00', '<u4')]", "False", "(1,)"), "NUL" },
		{ DICT("[('a', '<u4', (0,))]", "False", "(1,)"), "no size" },
		{ DICT("[('a', '<u4', (65536, 65536))]", "False", "(1,)"),
		  "1 GiB" },
		{ DICT("[('a',[('a',[('a',[('a',[('a',[('a',[('a',[('a',[('a',"
		       "'|u1')])])])])])])])])]",
		       "False", "(1,)"),
		  "deep" },
		{ DICT("'<u4'", "maybe", "(1,)"), "fortran_order" },
		{ DICT("'<u4'", "False", "1"), "shape" },
		{ DICT("'<u4'", "False", "(-1,)"), "length" },
		{ DICT("'<u4'", "False", "(1.0,)"), "shape" },
		{ DICT("'<u4'", "False", "(1 2)"), "shape" },
		{ DICT("'<u4'", "False", "(18446744073709551616,)"), "length" },
		{ DICT("'<u4'", "False", "(4611686018427387904, 4)"),
		  "truncated" },
		{ DICT("'<u4'", "False", "(9,)"), "truncated" },
		{ DICT("'<u4'", "False", "()"), "behind" },
		{ "{'descr': '<u4', 'shape': (2,)}", "everything" },
		{ "{'descr': '<u4', 'shape': (2,), 'shape': (2,)}", "unknown" },
		{ "{'descr': '<u4', 'fortran_order': False, 'shape': (2,), "
		  "'x': 1}",
		  "unknown" },
		{ "{'descr': '<u4', 'fortran_order': False, 'shape': (2,)",
		  "end" },
		{ "{'descr': '<u4', 'fortran_order': False, 'shape': (2,)} x",
		  "behind" },
		{ "['descr']", "dict" },
		{ "{'descr': '<u4", "string" },
		{ "{'descr': '<u4\\", "escape" },
		{ "{'\\x4", "escape" },
		{ "", "dict" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(parse(1, rows[i].dict, "\0\0\0\0\0\0\0\0", 8),
			 -EINVAL);
		CHECK_WHY(rows[i].words);
	}
	CHECK_EQ(parse(4, DICT("'|u1'", "False", "(1,)"), "", 1), -EINVAL);
	CHECK_WHY("version");
	CHECK_EQ(parse_bytes((const uint8_t *)"PK\3\4 a .npz file", 16),
		 -EINVAL);
	CHECK_WHY("no .npy");
	clean();
}

static void no_bytes_do_harm(void)
{
	static const uint8_t changes[] = { 1, 2, 4, 8, 16, 32, 64, 128, 255 };
	struct npy_file whole;

	npy_file(&whole, 1,
		 DICT("[('a', '<u2'), ('b', '>U2', (2,)), ('c', '|b1')]",
		      "True", "(1, 2)"),
		 "\0\1\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\1"
		 "\0\1\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\1",
		 38);
	CHECK_EQ(parse_bytes(whole.bytes, whole.n), 0);
	for (size_t i = 0; i < whole.n; i++)
		CHECK_EQ(parse_bytes(whole.bytes, i), -EINVAL);
	for (size_t i = 0; i < whole.n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(changes); k++) {
			int r;

			whole.bytes[i] ^= changes[k];
			r = parse_bytes(whole.bytes, whole.n);
			CHECK(r == 0 || r == -EILSEQ ||
			      (r == -EINVAL && why.reason));
			whole.bytes[i] ^= changes[k];
		}
	clean();
}

int main(void)
{
	RUN(numbers);
	RUN(shapes);
	RUN(other_orders);
	RUN(structures);
	RUN(texts);
	RUN(refused);
	RUN(no_bytes_do_harm);
	return CHECK_RESULT();
}
