/* SPDX-License-Identifier: MIT */
/* test_view_png.c - pictures whatever the order of their axes. */
#include "check.h"
#include "fake_store.h"

static const struct norm u8 = { .kind = NORM_U8, .bits = 8 };
static const struct dtype u1 = { .class = DT_UINT, .size = 1 };

struct shown {
	struct desc desc;
	struct layout layout;
	struct view_source s;
};

/* Axes of the effective shape by letter: N index, y, x, c. */
static void init(struct shown *p, struct dset *d, const char *axes)
{
	const struct dataset_info *info = dset_info(d);

	memset(p, 0, sizeof(*p));
	CHECK_EQ(desc_set_type(&p->desc, info->type, false, info->rank,
			       info->dims),
		 0);
	CHECK_EQ(p->desc.rank, strlen(axes));
	p->layout.kind = LAYOUT_PICTURES;
	p->layout.y = p->layout.x = p->layout.c = -1;
	for (unsigned k = 0; axes[k]; k++)
		if (axes[k] == 'y')
			p->layout.y = k;
		else if (axes[k] == 'x')
			p->layout.x = k;
		else if (axes[k] == 'c')
			p->layout.c = k;
		else
			p->layout.index[p->layout.nindex++] = k;
	p->s = (struct view_source){
		.dset = d, .desc = &p->desc, .layout = &p->layout, .norm = &u8
	};
}

/* The rows without their filter bytes; small pictures are one stored block. */
static const uint8_t *raster(struct shown *p, uint64_t index)
{
	static uint8_t out[4096];
	uint64_t size;
	size_t n, row;
	CLEANUP(freep) char *f = NULL;

	CHECK_EQ(layout_shape(&p->layout, &p->desc, &p->s.shape), 0);
	row = (size_t)p->s.shape.width * p->s.shape.channels * p->s.norm->bits /
	      8;
	f = fake_file(&view_png, &p->s, index, 0, &n);
	CHECK(f);
	CHECK_EQ(view_png.size(&p->s, index, &size), 0);
	CHECK_EQ(n, size);
	for (uint32_t y = 0; f && y < p->s.shape.height; y++)
		memcpy(out + y * row,
		       f + 8 + 25 + 8 + 2 + 5 + y * (row + 1) + 1, row);
	return out;
}

static void every_order_of_axes(void)
{
	/* Value of sample n at (y, x, c): 100 n + 10 y + 3 x + c. */
	static const char *const orders[] = { "Nyxc", "Ncyx", "yxcN", "xyNc",
					      "cNxy" };
	static const unsigned size[] = {
		['N'] = 2, ['y'] = 3, ['x'] = 2, ['c'] = 3
	};

	for (size_t o = 0; o < ARRAY_SIZE(orders); o++) {
		uint64_t dims[4];
		uint8_t v[36];
		CLEANUP(dset_unrefp) struct dset *d = NULL;
		struct shown p;
		const uint8_t *got;

		for (unsigned k = 0; k < 4; k++)
			dims[k] = size[(unsigned char)orders[o][k]];
		for (unsigned i = 0; i < 36; i++) {
			unsigned at[128] = { 0 }, rest = i;

			for (unsigned k = 4; k-- > 0; rest /= dims[k])
				at[(unsigned char)orders[o][k]] =
					rest % dims[k];
			v[i] = 100 * at['N'] + 10 * at['y'] + 3 * at['x'] +
			       at['c'];
		}
		d = fake_dset(&u1, 4, dims, v);
		init(&p, d, orders[o]);
		got = raster(&p, 1);
		for (unsigned i = 0; i < 18; i++)
			CHECK_EQ(got[i],
				 100 + 10 * (i / 6) + 3 * (i / 3 % 2) + i % 3);
	}
}

/* A row that is not in the dataset yet is drawn as it will be when it is. */
static void a_row_in_memory(void)
{
	static const char *const orders[] = { "Nyxc", "cNxy", "yxcN" };
	static const unsigned size[] = {
		['N'] = 2, ['y'] = 3, ['x'] = 2, ['c'] = 3
	};

	for (size_t o = 0; o < ARRAY_SIZE(orders); o++) {
		unsigned axis = (unsigned)(strchr(orders[o], 'N') - orders[o]);
		uint64_t dims[4], inner = 1;
		uint8_t v[36], row[18];
		CLEANUP(dset_unrefp) struct dset *d = NULL;
		CLEANUP(blob_unrefp) struct blob *want = NULL;
		CLEANUP(blob_unrefp) struct blob *have = NULL;
		struct shown p;

		for (unsigned k = 0; k < 4; k++)
			dims[k] = size[(unsigned char)orders[o][k]];
		for (unsigned k = axis + 1; k < 4; k++)
			inner *= dims[k];
		for (unsigned i = 0; i < 36; i++)
			v[i] = (uint8_t)(7 * i);
		for (unsigned i = 0; i < 18; i++)
			row[i] = v[(i / inner * 2 + 1) * inner + i % inner];
		d = fake_dset(&u1, 4, dims, v);
		init(&p, d, orders[o]);
		CHECK_EQ(layout_shape(&p.layout, &p.desc, &p.s.shape), 0);
		CHECK_EQ(view_png.render(&p.s, 1, 0, &want), 0);
		CHECK_EQ(view_png_row(&p.s, axis, row, &have), 0);
		CHECK(have && want && have->size == want->size &&
		      !memcmp(have->data, want->data, want->size));
		p.s.norm = NULL;
		CHECK_EQ(view_png_row(&p.s, axis, row, NULL), -EAGAIN);
	}
}

static void flips_bands_and_bgr(void)
{
	static const uint8_t v[] = { 1,	 2,  3,	 4,  5,	 6,  7,	 8,
				     11, 12, 13, 14, 15, 16, 17, 18 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u1, 3, FAKE_DIMS(2, 2, 4), v);
	struct shown p;

	init(&p, d, "yxc");
	p.layout.nbands = 3;
	p.layout.bands[0] = 3;
	p.layout.bands[1] = 0;
	p.layout.bands[2] = 2;
	CHECK(!memcmp(raster(&p, 0), "\4\1\3\10\5\7", 6));
	p.layout.bgr = true;
	CHECK(!memcmp(raster(&p, 0), "\3\1\4\7\5\10", 6));
	p.layout.flip_x = p.layout.flip_y = true;
	CHECK(!memcmp(raster(&p, 0), "\21\17\22\15\13\16\7\5\10\3\1\4", 12));
	p.layout.bands[0] = 4;
	CHECK_EQ(view_png.render(&p.s, 0, 0, NULL), -EINVAL);
}

static void crop_and_flat(void)
{
	static const uint8_t v[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u1, 2, FAKE_DIMS(3, 4), v);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&u1, 2, FAKE_DIMS(2, 6), v);
	struct shown p;

	init(&p, d, "yx");
	p.layout.crop[0] = 2;
	p.layout.crop[1] = 3;
	CHECK(!memcmp(raster(&p, 0), "\0\1\2\4\5\6", 6));
	init(&p, e, "Nx");
	p.layout.flat_h = 2;
	p.layout.flat_w = 3;
	p.layout.flat_c = 1;
	CHECK(!memcmp(raster(&p, 1), v + 6, 6));
	p.layout.flat_h = 2;
	p.layout.flat_w = 1;
	p.layout.flat_c = 3;
	CHECK(!memcmp(raster(&p, 1), v + 6, 6));
}

static void pictures_inside_elements(void)
{
	struct dtype array = { .class = DT_ARRAY,
			       .size = 6,
			       .rank = 2,
			       .dims = { 2, 3 },
			       .base = (struct dtype *)&u1 };
	struct dtype_member m[] = {
		{ .name = (char *)"r",
		  .offset = 3,
		  .type = (struct dtype *)&u1 },
		{ .name = (char *)"g",
		  .offset = 1,
		  .type = (struct dtype *)&u1 },
		{ .name = (char *)"b",
		  .offset = 0,
		  .type = (struct dtype *)&u1 },
	};
	struct dtype rgb = {
		.class = DT_COMPOUND, .size = 4, .nmembers = 3, .members = m
	};
	static const uint8_t v[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&array, 1, FAKE_DIMS(2), v);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&rgb, 2, FAKE_DIMS(3, 1), v);
	struct shown p;

	init(&p, d, "Nyx");
	CHECK(!memcmp(raster(&p, 1), v + 6, 6));
	init(&p, d, "Nxy");
	CHECK(!memcmp(raster(&p, 0), "\0\3\1\4\2\5", 6));
	init(&p, d, "yNx"); /* an index axis inside the element */
	CHECK(!memcmp(raster(&p, 1), "\3\4\5\11\12\13", 6));
	init(&p, e, "yxc");
	CHECK(!memcmp(raster(&p, 0), "\3\1\0\7\5\4\13\11\10", 9));
}

static void sizes_need_no_norm_where_the_type_tells(void)
{
	static const uint8_t v[8];
	static const struct dtype u2 = { .class = DT_UINT, .size = 2 };
	static const struct dtype i4 = { .class = DT_INT, .size = 4 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u2, 2, FAKE_DIMS(2, 2), v);
	CLEANUP(dset_unrefp)
	struct dset *e = fake_dset(&i4, 2, FAKE_DIMS(1, 2), v);
	struct shown p;
	uint64_t size;

	init(&p, d, "yx");
	p.s.norm = NULL;
	CHECK_EQ(layout_shape(&p.layout, &p.desc, &p.s.shape), 0);
	CHECK_EQ(view_png.size(&p.s, 0, &size), 0);
	CHECK_EQ(size, 57 + 2 + 5 + 2 * 5 + 4);
	p.s.eight_bits = true;
	CHECK_EQ(view_png.size(&p.s, 0, &size), 0);
	CHECK_EQ(size, 57 + 2 + 5 + 2 * 3 + 4);
	CHECK_EQ(view_png.render(&p.s, 0, 0, NULL), -EAGAIN);
	init(&p, e, "yx");
	p.s.norm = NULL;
	CHECK_EQ(layout_shape(&p.layout, &p.desc, &p.s.shape), 0);
	CHECK_EQ(view_png.size(&p.s, 0, &size), -EAGAIN);
}

static void palettes_are_colour_type_3(void)
{
	static const uint8_t v[] = { 0, 1, 2, 200 };
	static const uint8_t colours[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	CLEANUP(dset_unrefp)
	struct dset *d = fake_dset(&u1, 2, FAKE_DIMS(2, 2), v);
	CLEANUP(freep) char *f = NULL;
	struct shown p;
	size_t n;

	init(&p, d, "yx");
	CHECK_EQ(layout_shape(&p.layout, &p.desc, &p.s.shape), 0);
	p.s.palette = colours;
	p.s.ncolours = 3;
	f = fake_file(&view_png, &p.s, 0, 0, &n);
	CHECK_EQ(f[25], 3);
	CHECK(!memcmp(f + 37, "PLTE", 4) && !memcmp(f + 41, colours, 9));
	CHECK(!memcmp(f + 33 + 21 + 8 + 2 + 5, "\0\0\1\0\2\2", 6));
}

int main(void)
{
	RUN(every_order_of_axes);
	RUN(a_row_in_memory);
	RUN(flips_bands_and_bgr);
	RUN(crop_and_flat);
	RUN(pictures_inside_elements);
	RUN(sizes_need_no_norm_where_the_type_tells);
	RUN(palettes_are_colour_type_3);
	return CHECK_RESULT();
}
