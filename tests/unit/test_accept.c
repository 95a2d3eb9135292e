/* SPDX-License-Identifier: MIT */
/* test_accept.c - the verdict on files that are copied in, by what the dataset
 * holds. */
#include <stdio.h>

#include "h5fs/stage.h"

#include "check.h"
#include "npy_file.h"
#include "picture_files.h"

static struct dtype u1 = { .class = DT_UINT, .size = 1 };
static struct dtype u2 = { .class = DT_UINT, .size = 2 };
static struct dtype i8 = { .class = DT_INT, .size = 8 };
static struct dtype f4 = { .class = DT_FLOAT, .size = 4 };
static struct dtype b1 = { .class = DT_BOOL, .size = 1 };
static struct dtype text = { .class = DT_VLSTR, .size = sizeof(char *) };

static struct accepted got;
static struct refusal why;

static void clean(void)
{
	accepted_done(&got);
	refusal_done(&why);
	got = (struct accepted){ 0 };
}

#define CHECK_WHY(words)                                                       \
	do {                                                                   \
		CHECK(why.reason &&strstr(why.reason, words));                 \
		if (why.reason && !strstr(why.reason, words))                  \
			printf("said: %s\n", why.reason);                      \
	} while (0)
#define CHECK_ROW(...)                                                         \
	do {                                                                   \
		static const uint8_t want_[] = { __VA_ARGS__ };                \
		CHECK(got.rows &&got.rows->size == sizeof(want_) &&            \
		      !memcmp(got.rows->data, want_, sizeof(want_)));          \
	} while (0)

/* ---- members ---- */
struct subject {
	char name[16], path[16];
	struct desc desc;
	struct layout layout;
	struct norm norm;
	struct stage_member m;
};

static void subject(struct subject *s, enum stage_role role,
		    const struct dtype *t, unsigned rank, const uint64_t *dims)
{
	memset(s, 0, sizeof(*s));
	strcpy(s->name, "images");
	strcpy(s->path, "/images");
	s->m = (struct stage_member){ .path = s->path,
				      .name = s->name,
				      .role = role,
				      .rank = rank,
				      .type = t };
	memcpy(s->m.dims, dims, rank * sizeof(*dims));
}

#define DIMS(...) ((const uint64_t[]){ __VA_ARGS__ })

/* Axes of the effective shape by letter: N grows, n is another index axis. */
static void pictures(struct subject *s, const struct dtype *t, const char *axes,
		     enum norm_kind kind, unsigned bits, unsigned rank,
		     const uint64_t *dims)
{
	subject(s, STAGE_PICTURE, t, rank, dims);
	CHECK_EQ(desc_set_type(&s->desc, t, false, rank, dims), 0);
	CHECK_EQ(s->desc.rank, strlen(axes));
	s->layout.kind = LAYOUT_PICTURES;
	s->layout.y = s->layout.x = s->layout.c = -1;
	s->m.axis = rank;
	for (int k = 0; axes[k]; k++) {
		if (axes[k] == 'y')
			s->layout.y = k;
		else if (axes[k] == 'x')
			s->layout.x = k;
		else if (axes[k] == 'c')
			s->layout.c = k;
		else
			s->layout.index[s->layout.nindex++] = (uint8_t)k;
		if (axes[k] == 'N')
			s->m.axis = (unsigned)k;
	}
	s->norm = (struct norm){ .kind = kind, .bits = bits };
	s->m.desc = &s->desc;
	s->m.layout = &s->layout;
	s->m.norm = &s->norm;
}

static int accept_as(struct subject *s, const char *name, const void *bytes,
		     size_t n, enum fit fit, const void *keep)
{
	clean();
	if (s->m.role == STAGE_PICTURE)
		CHECK_EQ(layout_shape(&s->layout, &s->desc, &s->m.shape), 0);
	return accept_file(&s->m, name, bytes, n, fit, keep, &got, &why);
}

/* ---- files ---- */
static struct blob *png;

/* Pixels in native order. */
static void make_png(uint32_t w, uint32_t h, unsigned channels, unsigned bits,
		     const void *pixels, const uint8_t *palette,
		     unsigned ncolours)
{
	unsigned size = bits / 8;
	struct png_shape shape = { w, h, channels, bits, palette, ncolours };
	struct norm n = { .kind = bits == 16 ? NORM_U16 : NORM_U8,
			  .bits = bits };
	struct pixels px = { .base = pixels,
			     .stride_x = size * channels,
			     .stride_y = (int64_t)w * size * channels,
			     .num = NUM_UINT,
			     .num_size = size };

	for (unsigned c = 0; c < channels; c++)
		px.channel[c] = c * size;
	blob_unref(png);
	png = NULL;
	CHECK_EQ(png_stored_render(&shape, &px, &n, &png), 0);
}

static int accept_png(struct subject *s, enum fit fit)
{
	return accept_as(s, "a.png", png->data, png->size, fit, NULL);
}

static int accept_npy(struct subject *s, const char *descr, const char *shape,
		      const void *elements, size_t n)
{
	struct npy_file f;

	npy_array(&f, descr, shape, elements, n);
	return accept_as(s, "a.npy", f.bytes, f.n, FIT_EXACT, NULL);
}

/* ---- pictures, whatever the order of the axes ---- */
static void every_order_of_axes(void)
{
	static const char *const orders[] = { "Nyxc", "Ncyx", "yxcN", "xyNc",
					      "cNxy" };
	static const unsigned size[] = {
		['N'] = 7, ['y'] = 3, ['x'] = 2, ['c'] = 3
	};
	uint8_t pixels[18];

	for (unsigned i = 0; i < 18; i++)
		pixels[i] = (uint8_t)(10 * (i / 6) + 3 * (i / 3 % 2) + i % 3);
	make_png(2, 3, 3, 8, pixels, NULL, 0);
	for (size_t o = 0; o < ARRAY_SIZE(orders); o++) {
		struct subject s;
		uint64_t dims[4];

		for (unsigned k = 0; k < 4; k++)
			dims[k] = size[(unsigned char)orders[o][k]];
		pictures(&s, &u1, orders[o], NORM_U8, 8, 4, dims);
		CHECK_EQ(stage_row_bytes(&s.m), 18);
		CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
		CHECK(got.nrows == 1 && !got.batch);
		for (unsigned i = 0; got.rows && i < 18; i++) {
			unsigned at[128] = { 0 }, rest = i;

			for (unsigned k = 4; k-- > 0;) {
				unsigned char c = (unsigned char)orders[o][k];

				if (c == 'N')
					continue;
				at[c] = rest % size[c];
				rest /= size[c];
			}
			CHECK_EQ(got.rows->data[i],
				 10 * at['y'] + 3 * at['x'] + at['c']);
		}
	}
	clean();
}

static void flips_bands_and_bgr(void)
{
	struct subject s;

	make_png(2, 1, 3, 8, "\1\2\3\4\5\6", NULL, 0);
	pictures(&s, &u1, "Nyxc", NORM_U8, 8, 4, DIMS(0, 1, 2, 3));
	s.layout.flip_x = s.layout.bgr = true;
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(6, 5, 4, 3, 2, 1);
	s.layout.bgr = false;
	s.layout.nbands = 3;
	s.layout.bands[0] = 1;
	s.layout.bands[1] = 2;
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(6, 4, 5, 3, 1, 2);
	s.layout.bands[1] = 1;
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EOPNOTSUPP);
	CHECK_WHY("some of its bands");
	make_png(1, 2, 1, 8, "\1\2", NULL, 0);
	pictures(&s, &u1, "Nyx", NORM_U8, 8, 3, DIMS(5, 2, 1));
	s.layout.flip_y = true;
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(2, 1);
	clean();
}

static void flat_rows(void)
{
	struct subject s;

	make_png(3, 2, 1, 8, "\1\2\3\4\5\6", NULL, 0);
	pictures(&s, &u1, "Nx", NORM_U8, 8, 2, DIMS(5, 6));
	s.layout.flat_h = 2;
	s.layout.flat_w = 3;
	s.layout.flat_c = 1;
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(1, 2, 3, 4, 5, 6);
	s.layout.transposed = true;
	s.layout.flat_h = 3;
	s.layout.flat_w = 2;
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(1, 4, 2, 5, 3, 6);
	s.m.dims[1] = s.desc.dims[1] = 7;
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EOPNOTSUPP);
	clean();
}

static void inside_elements(void)
{
	struct dtype array = { .class = DT_ARRAY,
			       .size = 4,
			       .base = &u2,
			       .rank = 2,
			       .dims = { 1, 2 } };
	char r[] = "r", g[] = "g", b[] = "b";
	struct dtype_member m[] = { { r, 0, 4, &u1 },
				    { g, 0, 2, &u1 },
				    { b, 0, 0, &u1 } };
	struct dtype rgb = {
		.class = DT_COMPOUND, .size = 5, .nmembers = 3, .members = m
	};
	static const uint16_t v[] = { 0x0102, 0xfffe };
	struct subject s;

	make_png(2, 1, 1, 16, v, NULL, 0);
	pictures(&s, &array, "Nyx", NORM_U16, 16, 1, DIMS(9));
	CHECK_EQ(stage_row_bytes(&s.m), 4);
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(2, 1, 0xfe, 0xff);
	make_png(2, 1, 3, 8, "\1\2\3\4\5\6", NULL, 0);
	pictures(&s, &rgb, "Nyxc", NORM_U8, 8, 3, DIMS(9, 1, 2));
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(3, 0, 2, 0, 1, 6, 0, 5, 0, 4);
	clean();
}

static void what_cannot_be_undone(void)
{
	struct subject s;

	make_png(2, 1, 1, 8, "\1\2", NULL, 0);
	pictures(&s, &u1, "Nyx", NORM_RANGE, 8, 3, DIMS(9, 1, 2));
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EOPNOTSUPP);
	CHECK_WHY("\"range\"");
	CHECK(why.remedy && strstr(why.remedy, ".npy"));
	s.m.norm = NULL;
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EOPNOTSUPP);
	pictures(&s, &u1, "Nyx", NORM_U8, 8, 3, DIMS(9, 4, 2));
	s.layout.crop[1] = 1;
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EOPNOTSUPP);
	CHECK_WHY("cut out");
	pictures(&s, &u1, "Nnyx", NORM_U8, 8, 4, DIMS(9, 2, 1, 2));
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EOPNOTSUPP);
	CHECK_WHY("more than one picture");
	CHECK_EQ(accept_npy(&s, "|u1", "(2, 1, 2)", "\1\2\3\4", 4), 0);
	CHECK_ROW(1, 2, 3, 4);
	pictures(&s, &u1, "Nnyx", NORM_U8, 8, 4, DIMS(9, 1, 1, 2));
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(1, 2);
	/* A picture alone: its row is all of it. */
	pictures(&s, &u1, "yx", NORM_U8, 8, 2, DIMS(1, 2));
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(1, 2);
	clean();
}

static void sizes(void)
{
	struct subject s;

	make_png(2, 2, 3, 8, "\1\1\1\1\1\1\1\1\1\1\1\1", NULL, 0);
	pictures(&s, &u1, "Nyx", NORM_U8, 8, 3, DIMS(9, 1, 4));
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EINVAL);
	CHECK_STR(why.reason, "PNG image of 2 x 2 pixels, RGB, 8 bits; images "
			      "holds 4 x 1 pixels, grey, 8 bits");
	CHECK(why.remedy && strstr(why.remedy, "-o fit=resize"));
	CHECK_EQ(accept_png(&s, FIT_RESIZE), 0);
	CHECK_ROW(1, 1, 1, 1);
	CHECK_EQ(accept_png(&s, FIT_LETTERBOX), 0);
	CHECK_ROW(0, 1, 0, 0);
	/* One that is larger is not decoded at all. */
	pictures(&s, &u1, "Nyx", NORM_U8, 8, 3, DIMS(9, 1, 1));
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EINVAL);
	CHECK_WHY("PNG of 2 x 2 pixels");
	CHECK(why.remedy && strstr(why.remedy, "-o fit=resize"));
	clean();
}

static void values_and_bits(void)
{
	static const uint16_t wide[] = { 0, 300 };
	struct subject s;

	make_png(2, 1, 1, 16, wide, NULL, 0);
	pictures(&s, &u1, "Nyx", NORM_U8, 8, 3, DIMS(9, 1, 2));
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EINVAL);
	CHECK_WHY(
		"16 bits do not fit into 8; images holds 2 x 1 pixels, grey, 8 bits");
	make_png(2, 1, 1, 8, "\0\377", NULL, 0);
	pictures(&s, &u2, "Nyx", NORM_U16, 16, 3, DIMS(9, 1, 2));
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(0, 0, 255, 0);
	pictures(&s, &f4, "Nyx", NORM_FLOAT_UNIT, 8, 3, DIMS(9, 1, 2));
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(0, 0, 0, 0, 0, 0, 0x80, 0x3f);
	pictures(&s, &b1, "Nyx", NORM_BINARY, 1, 3, DIMS(9, 1, 2));
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(0, 1);
	make_png(2, 1, 1, 8, "\0\2", NULL, 0);
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EINVAL);
	CHECK_WHY("true or false");
	clean();
}

static void ids_of_an_enum(void)
{
	char cat[] = "cat", dog[] = "dog";
	struct dtype_member names[] = { { cat, 0, 0, NULL },
					{ dog, 5, 0, NULL } };
	struct dtype e = { .class = DT_ENUM,
			   .size = 1,
			   .base = &u1,
			   .nmembers = 2,
			   .members = names };
	struct subject s;

	make_png(2, 1, 1, 8, "\0\5", NULL, 0);
	pictures(&s, &e, "Nyx", NORM_U8, 8, 3, DIMS(9, 1, 2));
	s.m.mask = true;
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(0, 5);
	make_png(2, 1, 1, 8, "\0\4", NULL, 0);
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EINVAL);
	CHECK_WHY("the id 4");
	clean();
}

static void palettes(void)
{
	static const uint8_t voc[] = { 0, 0, 0, 128, 0, 0, 0, 128, 0 };
	static const uint8_t other[] = { 0, 0, 0, 128, 0, 0, 9, 9, 9 };
	struct subject s;

	/* Of an indexed dataset: the colours that are used must agree. */
	pictures(&s, &u1, "Nyx", NORM_PALETTE, 8, 3, DIMS(9, 1, 2));
	s.m.palette = voc;
	s.m.ncolours = 3;
	make_png(2, 1, 1, 8, "\1\0", voc, 3);
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(1, 0);
	make_png(2, 1, 1, 8, "\1\0", other, 3);
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	make_png(2, 1, 1, 8, "\1\2", other, 3);
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EINVAL);
	CHECK_WHY("another palette");
	make_png(2, 1, 1, 8, "\1\0", NULL, 0);
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EINVAL);
	CHECK_WHY("without a palette");
	/* Of a mask: the indices, whatever their colours. */
	s.m.mask = true;
	make_png(2, 1, 1, 8, "\1\2", other, 3);
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(1, 2);
	make_png(2, 1, 1, 8, "\1\3", NULL, 0);
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EINVAL);
	CHECK_WHY("the id 3");
	/* Of any other set: the colours. */
	make_png(2, 1, 1, 8, "\1\2", other, 3);
	pictures(&s, &u1, "Nyxc", NORM_U8, 8, 4, DIMS(9, 1, 2, 3));
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(128, 0, 0, 9, 9, 9);
	clean();
}

static void what_did_not_change_is_kept(void)
{
	static const float old[] = { 0.2001f, 0.7f };
	float v[2];
	struct subject s;

	make_png(2, 1, 1, 8, "\63\0", NULL, 0); /* 51, 0 */
	pictures(&s, &f4, "Nyx", NORM_FLOAT_UNIT, 8, 3, DIMS(9, 1, 2));
	CHECK_EQ(accept_as(&s, "a.png", png->data, png->size, FIT_EXACT, old),
		 0);
	memcpy(v, got.rows->data, sizeof(v));
	CHECK(v[0] == 0.2001f && v[1] == 0);
	clean();
}

static void no_images(void)
{
	struct subject s;

	pictures(&s, &u1, "Nyx", NORM_U8, 8, 3, DIMS(9, 8, 8));
	CHECK_EQ(accept_as(&s, "a.png", "hello", 5, FIT_EXACT, NULL), -EINVAL);
	CHECK_WHY("no image; images holds 8 x 8");
	CHECK_EQ(accept_as(&s, "a.png", "", 0, FIT_EXACT, NULL), -EINVAL);
	CHECK_EQ(accept_as(&s, "a.jpg", file_jpeg, sizeof(file_jpeg) - 30,
			   FIT_EXACT, NULL),
		 -EINVAL);
	CHECK_WHY("truncated JPEG");
	CHECK_EQ(accept_as(&s, "a.jpg", file_jpeg, sizeof(file_jpeg), FIT_EXACT,
			   NULL),
		 0);
	CHECK_EQ(accept_as(&s, "a.npy", file_jpeg, sizeof(file_jpeg), FIT_EXACT,
			   NULL),
		 -EINVAL);
	CHECK_WHY("no .npy file");
	clean();
}

/* ---- .npy ---- */
static void rows_and_batches(void)
{
	struct subject s;

	subject(&s, STAGE_ROWS, &u1, 3, DIMS(9, 1, 2));
	CHECK_EQ(accept_npy(&s, "|u1", "(1, 2)", "\1\2", 2), 0);
	CHECK(got.nrows == 1 && !got.batch);
	CHECK_ROW(1, 2);
	CHECK_EQ(accept_npy(&s, "<i4", "(2, 1, 2)",
			    "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", 16),
		 0);
	CHECK(got.nrows == 2 && got.batch);
	CHECK_ROW(1, 2, 3, 4);
	CHECK_EQ(accept_npy(&s, "|u1", "(1, 1, 2)", "\1\2", 2), 0);
	CHECK(got.nrows == 1 && got.batch);
	CHECK_EQ(accept_npy(&s, "|u1", "(2,)", "\1\2", 2), -EINVAL);
	CHECK_WHY("a .npy file of (2,) uint8; images holds (1, 2) uint8");
	CHECK_EQ(accept_npy(&s, "|u1", "(2, 1)", "\1\2", 2), -EINVAL);
	CHECK_EQ(accept_npy(&s, "|u1", "(0, 1, 2)", "", 0), -EINVAL);
	CHECK_EQ(accept_npy(&s, "|u1", "(1, 1, 1, 2)", "\1\2", 2), -EINVAL);
	CHECK_EQ(accept_npy(&s, "<u2", "(1, 2)", "\1\1\2\0", 4), -EINVAL);
	CHECK_WHY("element 0, 257, does not fit uint8; images holds");
	CHECK_EQ(accept_npy(&s, "|S1", "(1, 2)", "ab", 2), -EINVAL);
	make_png(2, 1, 1, 8, "\1\2", NULL, 0);
	CHECK_EQ(accept_png(&s, FIT_EXACT), -EINVAL);
	CHECK_WHY("PNG image; images holds (1, 2) uint8");
	/* By its bytes, whatever it is called. */
	CHECK_EQ(accept_as(&s, "a.png", "hello", 5, FIT_EXACT, NULL), -EINVAL);
	/* The axis that grows is not always the first. */
	s.m.axis = 2;
	CHECK_EQ(accept_npy(&s, "|u1", "(9, 1)", "\1\2\3\4\5\6\7\10\11", 9), 0);
	CHECK(got.nrows == 1 && got.rows->size == 9);
	clean();
}

static void rows_of_array_types(void)
{
	struct dtype array = { .class = DT_ARRAY,
			       .size = 4,
			       .base = &u2,
			       .rank = 1,
			       .dims = { 2 } };
	struct subject s;

	subject(&s, STAGE_ROWS, &array, 1, DIMS(9));
	CHECK_EQ(accept_npy(&s, "<u2", "(2,)", "\1\0\2\0", 4), 0);
	CHECK_ROW(1, 0, 2, 0);
	CHECK_EQ(accept_npy(&s, "|u1", "(3, 2)", "\1\2\3\4\5\6", 6), 0);
	CHECK_EQ(got.nrows, 3);
	CHECK_ROW(1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0);
	clean();
}

static void matlab_shapes(void)
{
	char class[] = "MATLAB_class", uint8[] = "uint8", *texts[] = { uint8 };
	struct fact fact = { .name = class, .ntexts = 1, .texts = texts };
	struct subject s;

	/* (N,W,H) here is (H,W,N) there. */
	pictures(&s, &u1, "Nxy", NORM_U8, 8, 3, DIMS(9, 3, 2));
	s.desc.facts = (struct facts){ 1, &fact };
	CHECK_EQ(accept_npy(&s, "|u1", "(2, 3)", "\1\2\3\4\5\6", 6), 0);
	CHECK_ROW(1, 4, 2, 5, 3, 6);
	make_png(3, 2, 1, 8, "\1\2\3\4\5\6", NULL, 0);
	CHECK_EQ(accept_png(&s, FIT_EXACT), 0);
	CHECK_ROW(1, 4, 2, 5, 3, 6);
	CHECK_EQ(accept_npy(&s, "|u1", "(3, 2)", "\1\2\3\4\5\6", 6), -EINVAL);
	CHECK_EQ(accept_npy(&s, "|u1", "(2, 3, 2)", "\1\7\2\7\3\7\4\7\5\7\6\7",
			    12),
		 0);
	CHECK_EQ(got.nrows, 2);
	CHECK_ROW(1, 4, 2, 5, 3, 6, 7, 7, 7, 7, 7, 7);
	clean();
}

static void values(void)
{
	struct dtype s4 = { .class = DT_STRING, .size = 4, .pad = PAD_NULLPAD };
	struct dtype list = { .class = DT_VLEN,
			      .size = sizeof(struct dt_vlen),
			      .base = &u1 };
	struct subject s;

	subject(&s, STAGE_LABEL, &i8, 1, DIMS(9));
	CHECK_EQ(accept_npy(&s, "|u1", "()", "\7", 1), 0);
	CHECK_ROW(7, 0, 0, 0, 0, 0, 0, 0);
	CHECK_EQ(accept_npy(&s, "|u1", "(2,)", "\7\6", 2), 0);
	CHECK(got.nrows == 2 && got.batch);
	CHECK_EQ(accept_npy(&s, "<f8", "()", "\0\0\0\0\0\0\xe0\x3f", 8),
		 -EINVAL);
	CHECK_WHY("0.5");
	subject(&s, STAGE_NAME, &s4, 1, DIMS(9));
	CHECK_EQ(accept_npy(&s, "<U2", "()", "\xe4\0\0\0a\0\0\0", 8), 0);
	CHECK_ROW(0xc3, 0xa4, 'a', 0);
	subject(&s, STAGE_NAME, &text, 1, DIMS(9));
	CHECK_EQ(stage_row_bytes(&s.m), 0);
	CHECK_EQ(accept_npy(&s, "|S5", "()", "abc\0\0", 5), 0);
	CHECK_ROW('a', 'b', 'c');
	CHECK_EQ(accept_npy(&s, "|S1", "(2,)", "ab", 2), -EINVAL);
	CHECK_EQ(accept_npy(&s, "|u1", "()", "\1", 1), -EINVAL);
	subject(&s, STAGE_VALUE, &list, 1, DIMS(9));
	CHECK_EQ(accept_npy(&s, "|u1", "(3,)", "\1\2\3", 3), 0);
	CHECK_ROW(1, 2, 3);
	CHECK_EQ(accept_npy(&s, "<u2", "(1,)", "\1\2", 2), -EINVAL);
	clean();
}

/* ---- encoded ---- */
static int accept_jpeg(struct subject *s, size_t n)
{
	return accept_as(s, "a.jpg", file_jpeg, n, FIT_EXACT, NULL);
}

static void encoded_files(void)
{
	struct dtype list = { .class = DT_VLEN,
			      .size = sizeof(struct dt_vlen),
			      .base = &u1 };
	const size_t n = sizeof(file_jpeg);
	struct subject s;

	subject(&s, STAGE_ENCODED, &list, 1, DIMS(9));
	s.m.encoded = "jpg";
	CHECK_EQ(accept_jpeg(&s, n), 0);
	CHECK(got.nrows == 1 && got.rows->size == n &&
	      !memcmp(got.rows->data, file_jpeg, n));
	CHECK_EQ(accept_jpeg(&s, n - 40), -EINVAL);
	CHECK_WHY("truncated JPEG; images holds jpg files");
	CHECK_EQ(accept_as(&s, "a.jpg", file_tiff, sizeof(file_tiff), FIT_EXACT,
			   NULL),
		 -EINVAL);
	CHECK_WHY("a TIFF image; images holds jpg files");
	CHECK_EQ(accept_as(&s, "a.jpg", "hello", 5, FIT_EXACT, NULL), -EINVAL);
	s.m.encoded = NULL;
	CHECK_EQ(accept_as(&s, "a.jpg", file_tiff, sizeof(file_tiff), FIT_EXACT,
			   NULL),
		 0);
	/* Rows of a fixed length. */
	subject(&s, STAGE_ENCODED, &u1, 2, DIMS(9, 200));
	CHECK_EQ(accept_jpeg(&s, n), 0);
	CHECK(got.rows->size == 200 && !memcmp(got.rows->data, file_jpeg, n) &&
	      !got.rows->data[n] && !got.rows->data[199]);
	s.m.dims[1] = n - 1;
	CHECK_EQ(accept_jpeg(&s, n), -EINVAL);
	CHECK_WHY("where a row has");
	subject(&s, STAGE_ENCODED, &text, 1, DIMS(9));
	CHECK_EQ(accept_jpeg(&s, n), -EOPNOTSUPP);
	clean();
}

/* ---- new datasets ---- */
static struct accepted_dataset set;

static int accept_set(const char *name, const void *bytes, size_t n)
{
	accepted_dataset_done(&set);
	refusal_done(&why);
	return accept_dataset(name, bytes, n, &set, &why);
}

static int accept_set_npy(const char *descr, const char *order,
			  const char *shape, const void *elements, size_t n)
{
	struct npy_file f;
	char dict[256];

	snprintf(dict, sizeof(dict),
		 "{'descr': %s, 'fortran_order': %s, 'shape': %s, }", descr,
		 order, shape);
	npy_file(&f, 1, dict, elements, n);
	return accept_set("a.npy", f.bytes, f.n);
}

#define CHECK_DATA(...)                                                        \
	do {                                                                   \
		static const uint8_t want_[] = { __VA_ARGS__ };                \
		CHECK(set.data &&set.data->size == sizeof(want_) &&            \
		      !memcmp(set.data->data, want_, sizeof(want_)));          \
	} while (0)

static void arrays_as_datasets(void)
{
	CHECK_EQ(accept_set_npy("'<u2'", "False", "(2, 1)", "\1\2\3\4", 4), 0);
	CHECK(!set.data && set.offset > 10 && !set.image);
	CHECK(set.rank == 2 && set.dims[0] == 2 && set.dims[1] == 1);
	CHECK(set.type->class == DT_UINT && set.type->size == 2);
	CHECK_EQ(accept_set_npy("'>u2'", "False", "(2,)", "\1\2\3\4", 4), 0);
	CHECK(set.offset == 0 && !set.type->big_endian);
	CHECK_DATA(2, 1, 4, 3);
	CHECK_EQ(accept_set_npy("'|u1'", "True", "(2, 2)", "\1\3\2\4", 4), 0);
	CHECK_DATA(1, 2, 3, 4);
	CHECK_EQ(accept_set_npy("'<U3'", "False", "(2,)",
				"a\0\0\0\xe4\0\0\0\0\0\0\0"
				"b\0\0\0\0\0\0\0\0\0\0\0",
				24),
		 0);
	CHECK(set.type->class == DT_STRING && set.type->size == 3 &&
	      set.type->utf8 && !set.type->tag);
	CHECK_DATA('a', 0xc3, 0xa4, 'b', 0, 0);
	CHECK_EQ(accept_set_npy("'<f4'", "False", "(0, 5)", "", 0), 0);
	CHECK(set.rank == 2 && set.dims[0] == 0);
	CHECK_EQ(accept_set_npy("'<f4'", "False", "()", "\0\0\0\0", 4), 0);
	CHECK_EQ(set.rank, 0);
	CHECK_EQ(accept_set_npy("'|O'", "False", "()", "\0\0\0\0", 4), -EINVAL);
	CHECK_WHY("objects");
	CHECK_EQ(accept_set("a.npy", png->data, png->size), -EINVAL);
	CHECK_WHY("no .npy file");
	accepted_dataset_done(&set);
}

static void images_as_datasets(void)
{
	static const uint8_t colours[] = { 0, 0, 0, 1, 2, 3 };
	static const uint16_t wide[] = { 0x0102, 3 };

	make_png(2, 1, 3, 8, "\1\2\3\4\5\6", NULL, 0);
	CHECK_EQ(accept_set("a.png", png->data, png->size), 0);
	CHECK(set.image && set.rank == 3 && set.dims[0] == 1 &&
	      set.dims[1] == 2 && set.dims[2] == 3 && set.type->size == 1);
	CHECK_DATA(1, 2, 3, 4, 5, 6);
	make_png(2, 1, 1, 16, wide, NULL, 0);
	CHECK_EQ(accept_set("a.png", png->data, png->size), 0);
	CHECK(set.rank == 2 && set.type->size == 2);
	CHECK_DATA(2, 1, 3, 0);
	make_png(2, 1, 4, 8, "\1\2\3\4\5\6\7\10", NULL, 0);
	CHECK_EQ(accept_set("a.png", png->data, png->size), 0);
	CHECK_DATA(1, 2, 3, 4, 5, 6, 7, 8);
	make_png(1, 1, 2, 8, "\1\377", NULL, 0);
	CHECK_EQ(accept_set("a.png", png->data, png->size), 0);
	CHECK_DATA(1);
	make_png(1, 1, 2, 8, "\1\7", NULL, 0);
	CHECK_EQ(accept_set("a.png", png->data, png->size), 0);
	CHECK_DATA(1, 1, 1, 7);
	make_png(2, 1, 1, 8, "\1\0", colours, 2);
	CHECK_EQ(accept_set("a.png", png->data, png->size), 0);
	CHECK_DATA(1, 2, 3, 0, 0, 0);
	CHECK_EQ(accept_set("a_mask.png", png->data, png->size), 0);
	CHECK_DATA(1, 0);
	CHECK_EQ(accept_set("a.png", png->data, png->size - 1), -EINVAL);
	CHECK_WHY("truncated PNG");
	CHECK_EQ(accept_set("a.txt", "hello", 5), -EINVAL);
	CHECK_WHY("no image");
	accepted_dataset_done(&set);
}

int main(void)
{
	RUN(every_order_of_axes);
	RUN(flips_bands_and_bgr);
	RUN(flat_rows);
	RUN(inside_elements);
	RUN(what_cannot_be_undone);
	RUN(sizes);
	RUN(values_and_bits);
	RUN(ids_of_an_enum);
	RUN(palettes);
	RUN(what_did_not_change_is_kept);
	RUN(no_images);
	RUN(rows_and_batches);
	RUN(rows_of_array_types);
	RUN(matlab_shapes);
	RUN(values);
	RUN(encoded_files);
	RUN(arrays_as_datasets);
	RUN(images_as_datasets);
	clean();
	blob_unref(png);
	return CHECK_RESULT();
}
