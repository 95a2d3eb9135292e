/* SPDX-License-Identifier: MIT */
/* test_layout.c - the decision table, row by row: what fires it, and what looks
 * alike and must not. */
#include "layout_fixture.h"

/* A dataset alone in its group. rule "-": not pictures, whichever row says so. */
struct lone {
	const char *path, *type;
	uint64_t dims[8]; /* ended by 0 */
	const char *rule, *axes;
};

static void check_lone(const struct lone *c, struct answers *answers)
{
	struct fixture f = { 0 };
	struct dtype type = simple_type(c->type);
	unsigned rank = 0;
	const struct layout *l = &f.layouts[0];

	while (c->dims[rank])
		rank++;
	put_type(&f, c->path, &type, rank, c->dims)->arg = answers;
	decide(&f);
	if (!strcmp(c->rule, "-") ? l->kind != LAYOUT_NONE :
				    l->kind != LAYOUT_PICTURES ||
					    strcmp(l->rule, c->rule) != 0 ||
					    strcmp(l->axes, c->axes) != 0) {
		printf("%s %s: rule %s, axes %s, want %s %s\n", c->path, c->type,
		       l->rule, l->axes, c->rule, c->axes ? c->axes : "");
		check_failures++;
	}
	CHECK(l->why[0]);
	fixture_done(&f);
}

#define CHECK_LONE(table, answers)                                             \
	for (size_t i_ = 0; i_ < ARRAY_SIZE(table); i_++)                      \
		check_lone(&(table)[i_], answers)

static void structure_of_rank_4(void)
{
	static const struct lone table[] = {
		{ "/x", "u1", { 4, 96, 96, 3 }, "S1", "NHWC" },
		{ "/foo", "u1", { 9, 4, 4, 1 }, "S1", "NHWC" },
		{ "/foo", "u1", { 9, 3, 4, 3 }, "-", NULL },
		{ "/foo", "u2", { 9, 16, 16, 3 }, "S1", "NHWC" },
		{ "/foo", "u2", { 9, 15, 16, 3 }, "-", NULL },
		{ "/feature", "u2", { 9, 16, 16, 3 }, "-", NULL },
		{ "/data", "i4", { 9, 16, 16, 3 }, "S1", "NHWC" },
		{ "/foo", "i4", { 9, 16, 16, 3 }, "-", NULL },
		{ "/data", "f4", { 9, 16, 16, 3 }, "S1", "NHWC" },
		{ "/foo", "u1", { 9, 8, 8, 4 }, "S1", "NHWC" },
		{ "/foo", "f4", { 9, 40, 40, 4 }, "-", NULL },
		{ "/foo", "u1", { 2, 3, 32, 20, 3 }, "S1", "[2]HWC" },
		{ "/foo", "u1", { 9, 3, 32, 20 }, "S2", "NCHW" },
		{ "/foo", "u1", { 9, 2, 3, 32, 20 }, "S2", "[2]CHW" },
		{ "/foo", "u1", { 32, 32, 3, 70 }, "S3", "HWCN" },
		{ "/foo", "u1", { 32, 30, 3, 70 }, "-", NULL },
		{ "/data", "f4", { 32, 32, 3, 70 }, "-", NULL },
		/* (N,4,84,84): frame stacks, not RGBA planes */
		{ "/observations", "u1", { 5, 4, 84, 84 }, "S4", "NTHW" },
		{ "/foo", "u1", { 2, 3, 5, 20, 40 }, "S4", "[3]HW" },
		{ "/foo", "u1", { 5, 6, 20, 51 }, "-", NULL },
		{ "/foo", "f4", { 5, 6, 20, 20 }, "-", NULL },
		{ "/volumes", "f4", { 5, 6, 20, 20 }, "S4", "NTHW" },
		/* (N,64,64,13): multi-band stays an array */
		{ "/foo", "u2", { 9, 64, 64, 13 }, "-", NULL },
		{ "/conv1.weight", "f4", { 16, 3, 32, 32 }, "-", NULL },
		{ "/grid_u8", "u1", { 2, 512, 7, 7 }, "-", NULL },
		{ "/attention", "f4", { 2, 8, 32, 32 }, "-", NULL },
	};
	static const struct lone onehot[] = {
		{ "/foo", "u1", { 9, 8, 8, 4 }, "-", NULL },
		{ "/images", "u1", { 9, 32, 32, 4 }, "-", NULL },
	};
	struct answers quiet = { .lo = -3, .hi = 9 }, hot = { .onehot = true };

	CHECK_LONE(table, &quiet);
	CHECK_LONE(onehot, &hot);
}

/* Unnamed floats of picture shape must have the range of pictures. */
static void floats_without_a_name(void)
{
	static const struct lone yes[] = {
		{ "/foo", "f4", { 9, 32, 32, 3 }, "S1", "NHWC" },
		{ "/foo", "f4", { 9, 3, 32, 32 }, "S2", "NCHW" },
	};
	static const struct lone no[] = {
		{ "/foo", "f4", { 9, 31, 32, 3 }, "-", NULL },
		{ "/foo", "f4", { 11, 11, 32, 3 }, "-", NULL },
		{ "/embed", "f4", { 9, 32, 32, 3 }, "-", NULL },
	};
	struct answers unit = { .lo = 0, .hi = 0.9 };
	struct answers sign = { .lo = -1, .hi = 1 };
	struct answers byte = { .lo = 0, .hi = 255 };
	struct answers other = { .lo = -4, .hi = 4 };
	struct answers faint = { .lo = 0, .hi = 0.2 };
	struct lone miss = yes[0];

	CHECK_LONE(yes, &unit);
	CHECK_LONE(yes, &sign);
	CHECK_LONE(yes, &byte);
	CHECK_LONE(no, &unit);
	miss.rule = "-";
	check_lone(&miss, &other);
	check_lone(&miss, &faint);
	check_lone(&miss, NULL); /* the probe fails: can not be said */
}

/* They were pictures when pictures were added, and that was stored. */
static void floats_with_a_stored_rule(void)
{
	struct answers other = { .lo = -4, .hi = 4 };
	struct dtype type = simple_type("f4");

	for (unsigned stored = 0; stored < 2; stored++) {
		struct fixture f = { 0 };

		put_type(&f, "/foo", &type, 4,
			 (uint64_t[]){ 9, 32, 32, 3 })->arg = &other;
		if (stored)
			say(&f.members[0].facts, "h5fs.norm", "float-unit");
		decide(&f);
		CHECK_EQ(f.layouts[0].kind,
			 stored ? LAYOUT_PICTURES : LAYOUT_NONE);
		fixture_done(&f);
	}
}

static void structure_of_rank_3(void)
{
	static const struct lone table[] = {
		{ "/foo", "u1", { 20, 30, 3 }, "S5a", "HWC" },
		{ "/foo", "u1", { 7, 30, 3 }, "-", NULL },
		{ "/foo", "u1", { 8, 200, 3 }, "-", NULL },
		{ "/image", "u1", { 8, 200, 3 }, "S5a", "HWC" },
		{ "/foo", "u1", { 20, 30, 4 }, "-", NULL },
		{ "/rgba", "u1", { 20, 30, 4 }, "S5a", "HWC" },
		{ "/foo", "f4", { 20, 30, 3 }, "-", NULL },
		{ "/image", "f4", { 20, 30, 3 }, "S5a", "HWC" },
		{ "/points", "u1", { 20, 30, 3 }, "-", NULL },
		{ "/foo", "u1", { 3, 20, 30 }, "S5b", "CHW" },
		{ "/image", "f4", { 3, 20, 30 }, "S5b", "CHW" },
		{ "/image", "i4", { 3, 20, 30 }, "S5c", "NHW" },
		{ "/slices", "u1", { 3, 20, 30 }, "S5c", "NHW" },
		{ "/foo", "u1", { 50, 28, 28 }, "S5c", "NHW" },
		{ "/foo", "u1", { 28, 28, 50 }, "S5c", "HWN" },
		{ "/foo", "u1", { 50, 15, 28 }, "-", NULL },
		{ "/images", "u1", { 50, 8, 12 }, "S5c", "NHW" },
		{ "/foo", "i4", { 50, 28, 28 }, "-", NULL },
		{ "/data", "f4", { 20, 50, 30 }, "-", NULL },
		{ "/data", "f4", { 20, 30, 30 }, "S5c", "NHW" },
		{ "/data", "f4", { 20, 64, 128 }, "S5c", "NHW" },
		{ "/data", "f4", { 20, 64, 129 }, "-", NULL },
		{ "/depths", "f4", { 20, 64, 300 }, "S5c", "NHW" },
		{ "/mel", "f4", { 4, 64, 100 }, "-", NULL },
		{ "/cov", "f8", { 6, 16, 16 }, "-", NULL },
		{ "/boxes", "f4", { 10, 36, 4 }, "-", NULL },
		{ "/keypoints", "f4", { 10, 17, 3 }, "-", NULL },
		{ "/quickdraw", "i2", { 10, 60, 3 }, "-", NULL },
		{ "/k33", "u1", { 3, 3, 3 }, "-", NULL },
	};
	static const struct lone dna = { "/dna", "u1", { 50, 200, 20 }, "-", NULL };
	struct answers quiet = { .lo = -3, .hi = 9 }, hot = { .onehot = true };

	CHECK_LONE(table, &quiet);
	check_lone(&dna, &hot);
}

static void structure_of_rank_2(void)
{
	static const struct lone table[] = {
		{ "/image", "f4", { 20, 30 }, "S6", "HW" },
		{ "/pixel_mask", "u4", { 20, 30 }, "S6", "HW" },
		{ "/scan_07.PNG", "u2", { 20, 30 }, "S6", "HW" },
		{ "/images/17", "u1", { 20, 30 }, "S6", "HW" },
		{ "/HR/17", "u1", { 20, 30 }, "S6", "HW" },
		{ "/images/mean", "u1", { 20, 30 }, "-", NULL },
		{ "/things/17", "u1", { 20, 30 }, "-", NULL },
		/* `images` (N,784) is flattened */
		{ "/images", "u1", { 40, 784 }, "-", NULL },
		{ "/images", "u1", { 30, 30 }, "-", NULL },
		{ "/image", "u1", { 20, 161 }, "-", NULL },
		{ "/image", "u1", { 7, 20 }, "-", NULL },
		{ "/image_features", "f4", { 20, 30 }, "-", NULL },
		{ "/gram", "f8", { 64, 64 }, "-", NULL },
		{ "/adjacency", "u1", { 40, 40 }, "-", NULL },
		{ "/image", "u1", { 64 }, "-", NULL },
	};
	struct answers quiet = { 0 };

	CHECK_LONE(table, &quiet);
}

static void types(void)
{
	struct dtype u1 = simple_type("u1"), f4 = simple_type("f4");
	struct dtype array = { .class = DT_ARRAY, .size = 24 * 32 * 3,
			       .base = &u1, .rank = 3, .dims = { 24, 32, 3 } };
	char names[3][8] = { "R", "green", "b" };
	struct dtype_member rgb[] = {
		{ names[0], 0, 0, &u1 },
		{ names[1], 0, 2, &u1 },
		{ names[2], 0, 1, &u1 },
	};
	struct dtype compound = { .class = DT_COMPOUND, .size = 3,
				  .nmembers = 3, .members = rgb };
	struct dtype en = { .class = DT_ENUM, .size = 1, .base = &u1 };
	struct dtype complex = { .class = DT_COMPLEX, .size = 8, .base = &f4 };
	struct dtype wide = { .class = DT_FLOAT, .size = 16 };
	struct dtype vlen = { .class = DT_VLEN, .size = 16, .base = &u1 };
	struct fixture f = { 0 };
	const struct desc *d;

	d = put_type(&f, "/a", &array, 1, (uint64_t[]){ 7 });
	CHECK_EQ(d->rank, 4);
	CHECK_EQ(d->stored_rank, 1);
	CHECK_EQ(d->sub, SUB_ARRAY);
	CHECK_EQ(d->dims[2], 32);
	CHECK_EQ(d->element_size, 24 * 32 * 3);
	d = put_type(&f, "/b", &compound, 3, (uint64_t[]){ 7, 24, 32 });
	CHECK_EQ(d->rank, 4);
	CHECK_EQ(d->dims[3], 3);
	CHECK_EQ(d->sub, SUB_COMPOUND);
	CHECK_EQ(d->sub_offset[1], 2);
	d = put_type(&f, "/images/c", &en, 3, (uint64_t[]){ 7, 24, 32 });
	CHECK(d->is_enum);
	CHECK_EQ(d->num, NUM_UINT);
	d = put_type(&f, "/images/d", &complex, 3, (uint64_t[]){ 7, 24, 32 });
	CHECK_EQ(d->kind, DESC_OTHER);
	d = put_type(&f, "/images/e", &wide, 3, (uint64_t[]){ 7, 24, 32 });
	CHECK_EQ(d->kind, DESC_NUMBER);
	d = put_type(&f, "/f", &vlen, 1, (uint64_t[]){ 7 });
	CHECK_EQ(d->kind, DESC_BYTES);
	CHECK(d->vlen);
	decide(&f);
	CHECK_STR(f.layouts[0].rule, "S1");
	CHECK_STR(f.layouts[1].rule, "S1");
	CHECK_STR(f.layouts[2].rule, "S5c");
	CHECK_STR(f.layouts[3].rule, "K");
	CHECK_STR(f.layouts[4].rule, "K");
	CHECK_STR(f.layouts[5].rule, "K");
	CHECK_EQ(f.layouts[4].kind, LAYOUT_NONE);
	rgb[1].type = &f4; /* not one number type */
	CHECK_EQ(desc_set_type(&f.members[1], &compound, false, 2,
			       (uint64_t[]){ 24, 32 }), 0);
	CHECK_EQ(f.members[1].kind, DESC_OTHER);
	array.rank = DT_MAX_RANK; /* more axes than there can be */
	CHECK_EQ(desc_set_type(&f.members[0], &array, false, 1,
			       (uint64_t[]){ 24 }), 0);
	CHECK_EQ(f.members[0].kind, DESC_OTHER);
	CHECK_EQ(desc_set_type(&f.members[0], &u1, false, DT_MAX_RANK + 1, NULL),
		 -EINVAL);
	fixture_done(&f);
}

static void empty_and_null(void)
{
	struct fixture f = { 0 };
	struct dtype u1 = simple_type("u1");
	struct layout_shape s;

	PUT(&f, "/images", "u1", 0, 28, 28, 3)->maxdims[0] = UINT64_MAX;
	PUT(&f, "/image", "u1", 28, 0);
	CHECK_EQ(desc_set_type(PUT(&f, "/x", "u1", 1), &u1, true, 0, NULL), 0);
	decide(&f);
	CHECK_STR(f.layouts[0].rule, "S1");
	CHECK_EQ(layout_shape(&f.layouts[0], &f.members[0], &s), 0);
	CHECK_EQ(s.count, 0);
	CHECK_EQ(s.height, 28);
	CHECK_STR(f.layouts[1].rule, "T1");
	CHECK_STR(f.layouts[2].rule, "T1");
	fixture_done(&f);
}

/* ---- which axis counts ---- */
static void growing_axis(void)
{
	struct fixture f = { 0 };

	PUT(&f, "/a", "u1", 3, 28, 28)->maxdims[0] = UINT64_MAX;
	PUT(&f, "/b", "u1", 3, 28, 28);
	PUT(&f, "/c", "u1", 28, 28, 28)->maxdims[2] = 100;
	PUT(&f, "/d", "u1", 40, 20, 60);
	memcpy(f.members[3].chunk, (uint64_t[]){ 40, 20, 1 }, 24);
	PUT(&f, "/e", "u1", 40, 20, 60);
	memcpy(f.members[4].chunk, (uint64_t[]){ 1, 20, 60 }, 24);
	PUT(&f, "/f", "u1", 30, 40, 200);
	decide(&f);
	CHECK_STR(f.layouts[0].rule, "S5c");
	CHECK_STR(f.layouts[1].rule, "S5b");
	CHECK_STR(f.layouts[2].axes, "HWN");
	CHECK_STR(f.layouts[3].axes, "HWN");
	CHECK_EQ(f.layouts[3].index[0], 2);
	CHECK_STR(f.layouts[4].axes, "NHW");
	CHECK_STR(f.layouts[5].axes, "HWN");
	fixture_done(&f);
}

static void siblings_tell_stacks(void)
{
	struct fixture f = { 0 };

	PUT(&f, "/p", "u1", 3, 28, 28);
	PUT(&f, "/labels", "i8", 3);
	PUT(&f, "/q", "u1", 1, 40, 50);
	PUT(&f, "/video", "u1", 1, 40, 50, 3);
	PUT(&f, "/r", "u1", 20, 30, 60);
	PUT(&f, "/y", "u1", 60);
	decide(&f);
	CHECK_STR(f.layouts[0].axes, "NHW");
	CHECK_STR(f.layouts[2].axes, "NHW");
	CHECK_STR(f.layouts[4].axes, "HWN");
	fixture_done(&f);
}

static void point_colours(void)
{
	struct fixture f = { 0 };

	PUT(&f, "/rgb", "u1", 24, 64, 3);
	PUT(&f, "/points", "f4", 24, 64, 3);
	decide(&f);
	CHECK_STR(f.layouts[0].rule, "K");
	fixture_done(&f);
	/* it is not its own sibling */
	PUT(&f, "/image_data", "f4", 24, 64, 3);
	decide(&f);
	CHECK_STR(f.layouts[0].rule, "S5a");
	fixture_done(&f);
}

/* ---- R2 ---- */
static void encoded(void)
{
	static const char *const jpegs[] = { "", "\xff\xd8\xff\xe0", "",
					     "\xff\xd8\xff\xe1" };
	static const char *const mixed[] = { "\xff\xd8\xff\xe0", "text" };
	static const char *const empty[] = { "", "" };
	struct answers all = { .nheads = 4, .heads = jpegs };
	struct answers some = { .nheads = 2, .heads = mixed };
	struct answers none = { .nheads = 2, .heads = empty };
	struct fixture f = { 0 };
	struct layout_shape s;

	PUT(&f, "/img", "s100", 4)->arg = &all;
	PUT(&f, "/mixed", "s100", 2)->arg = &some;
	PUT(&f, "/empty.png", "s100", 2)->arg = &none;
	PUT(&f, "/rows", "u1", 4, 64)->arg = &all;
	PUT(&f, "/short", "u1", 4, 63)->arg = &all;
	PUT(&f, "/deep", "s100", 2, 2)->arg = &all;
	all.heads++; /* the first is a file now */
	PUT(&f, "/one", "u1", 20)->arg = &all;
	PUT(&f, "/signed", "i1", 15)->arg = &all;
	PUT(&f, "/blob", "o30")->arg = &all;
	f.members[8].rank = f.members[8].stored_rank = 0;
	all.nheads = 3;
	f.members[0].dims[0] = f.members[3].dims[0] = 3;
	decide(&f);
	CHECK_EQ(f.layouts[0].kind, LAYOUT_ENCODED);
	CHECK_STR(f.layouts[0].rule, "R2");
	CHECK_EQ(f.layouts[0].nindex, 1);
	CHECK_EQ(layout_shape(&f.layouts[0], &f.members[0], &s), 0);
	CHECK_EQ(s.count, 3);
	CHECK_EQ(f.layouts[1].kind, LAYOUT_NONE);
	CHECK_EQ(f.layouts[2].kind, LAYOUT_NONE);
	CHECK_EQ(f.layouts[3].kind, LAYOUT_ENCODED);
	CHECK_EQ(f.layouts[4].kind, LAYOUT_NONE);
	CHECK_EQ(f.layouts[5].kind, LAYOUT_NONE);
	CHECK_EQ(f.layouts[6].kind, LAYOUT_ENCODED);
	CHECK_EQ(f.layouts[6].nindex, 0);
	CHECK_EQ(f.layouts[7].kind, LAYOUT_NONE);
	CHECK_EQ(f.layouts[8].kind, LAYOUT_ENCODED);
	CHECK_EQ(f.layouts[8].nindex, 0);
	fixture_done(&f);
}

static const char *magic_of(const char *bytes, size_t n, uint64_t len)
{
	const char *ext = layout_magic((const uint8_t *)bytes, n, len);

	return ext ? ext : "";
}
#define MAGIC(text) magic_of(text, sizeof(text) - 1, sizeof(text) - 1)
#define TRIM(text, ext)                                                        \
	layout_trim((const uint8_t *)(text), sizeof(text) - 1, ext)

static void magics(void)
{
	CHECK_STR(MAGIC("\xff\xd8\xff\xe0"), "jpg");
	CHECK_STR(MAGIC("\x89PNG\r\n\x1a\n"), "png");
	CHECK_STR(MAGIC("\x89PNG\r\n"), "");
	CHECK_STR(MAGIC("GIF89a"), "gif");
	CHECK_STR(MAGIC("II*\0"), "tif");
	CHECK_STR(MAGIC("MM\0*"), "tif");
	CHECK_STR(MAGIC("RIFF\x10\0\0\0WEBPVP8 "), "webp");
	CHECK_STR(MAGIC("RIFF\x10\0\0\0WAVEfmt "), "");
	CHECK_STR(MAGIC("RIFF"), "");
	CHECK_STR(MAGIC("\xff\x4f\xff\x51"), "jp2");
	CHECK_STR(MAGIC("BM\x20\0\0\0\0\0\0\0"), "");
	CHECK_STR(magic_of("BM\x20\0\0\0\0\0\0\0", 10, 32), "bmp");
	CHECK_STR(magic_of("BM\x20\0\0\0\0\0\0\0", 10, 31), "");
	CHECK_STR(MAGIC("BMW is a car maker, not a bitmap"), "");
	CHECK_STR(MAGIC(""), "");
}

static void padding(void)
{
	CHECK_EQ(TRIM("\xff\xd8\xff\xd9zz\xff\xd9\0\0\0", "jpg"), 8);
	CHECK_EQ(TRIM("\xff\xd8\xff\xe0zz\0\0", "jpg"), 8);
	CHECK_EQ(TRIM("\x89PNG\r\n\x1a\n\0\0\0\x04IDATIENDcccc"
		      "\0\0\0\0IENDcccc\0\0\0", "png"), 36);
	CHECK_EQ(TRIM("\x89PNG\r\n\x1a\n\xff\xff\xff\xffIDATIEND", "png"), 20);
	CHECK_EQ(TRIM("\x89PNG", "png"), 4);
	CHECK_EQ(TRIM("RIFF\x06\0\0\0WEBPxx\0\0\0", "webp"), 14);
	CHECK_EQ(TRIM("RIFF\xff\xff\xff\xffWEBP", "webp"), 12);
	CHECK_EQ(TRIM("BM\x07\0\0\0z\0\0", "bmp"), 7);
	CHECK_EQ(TRIM("GIF8\0\0", "gif"), 6);
	CHECK_EQ(TRIM("\xff\x4f\xff\x51z\0\0", "jp2"), 5);
	CHECK_EQ(TRIM("", "jpg"), 0);
	CHECK_EQ(TRIM("abc\0", NULL), 4);
}

static void suffixes(void)
{
	CHECK(layout_has_image_suffix("a.png"));
	CHECK(layout_has_image_suffix("a.b.JPEG"));
	CHECK(!layout_has_image_suffix("png"));
	CHECK(!layout_has_image_suffix("a.png.gz"));
	CHECK(!layout_has_image_suffix(""));
	CHECK(layout_is_mask_name("myMask2"));
	CHECK(layout_is_mask_name("segmap_gt"));
	CHECK(!layout_is_mask_name("masked"));
}

/* ---- S7 ---- */
static void companions(void)
{
	struct fixture f = { 0 };

	PUT(&f, "/rgb", "u1", 20, 30, 3);
	PUT(&f, "/normals", "f4", 20, 30, 3);
	PUT(&f, "/ids", "i8", 20, 30);
	PUT(&f, "/gram", "f8", 20, 30);
	PUT(&f, "/points", "i4", 20, 30, 3);
	PUT(&f, "/other", "i8", 20, 31);
	PUT(&f, "/images", "u1", 5, 40, 50, 3);
	PUT(&f, "/kspace", "f4", 5, 40, 50);
	PUT(&f, "/idx", "i8", 5, 40, 50, 1);
	decide(&f);
	CHECK_STR(f.layouts[0].rule, "S5a");
	CHECK_STR(f.layouts[1].rule, "S7");
	CHECK_STR(f.layouts[1].axes, "HWC");
	CHECK_STR(f.layouts[2].rule, "S7");
	CHECK(f.layouts[2].companion);
	CHECK_STR(f.layouts[3].rule, "K");
	CHECK_STR(f.layouts[4].rule, "K");
	CHECK_STR(f.layouts[5].rule, "K");
	CHECK_STR(f.layouts[7].axes, "NHW");
	CHECK_STR(f.layouts[8].axes, "NHWC");
	fixture_done(&f);
}

/* CREMI: labels/ beside the raw volume. */
static void companions_of_the_parent(void)
{
	struct fixture up = { 0 }, labels = { 0 }, other = { 0 };

	PUT(&up, "/volumes/raw", "u1", 9, 40, 50);
	decide(&up);
	labels.g.parent = other.g.parent = &up.g;
	labels.g.name = (char[]){ "labels" };
	other.g.name = (char[]){ "things" };
	PUT(&labels, "/volumes/labels/neuron_ids", "u8", 9, 40, 50);
	PUT(&other, "/volumes/things/neuron_ids", "u8", 9, 40, 50);
	decide(&labels);
	decide(&other);
	CHECK_STR(up.layouts[0].rule, "S5c");
	CHECK_STR(labels.layouts[0].rule, "S7");
	CHECK_STR(other.layouts[0].rule, "K");
	fixture_done(&labels);
	fixture_done(&other);
	fixture_done(&up);
}

static void orientation(void)
{
	struct fixture up = { 0 }, f = { 0 };

	say(&up.g.facts, "macros_image_convention", "opengl");
	f.g.parent = &up.g;
	PUT(&f, "/obs/agentview_rgb", "u1", 5, 40, 50, 3);
	PUT(&f, "/obs/ids", "i8", 5, 40, 50);
	say(&PUT(&f, "/obs/lr", "u1", 5, 30, 50, 3)->facts, "DISPLAY_ORIGIN",
	    "lr");
	say(&PUT(&f, "/obs/ul", "u1", 5, 30, 50, 3)->facts, "DISPLAY_ORIGIN",
	    "UL");
	PUT(&f, "/obs/raw", "u1", 5, 30, 50, 3);
	user_says(&f, 4, "orient=raw");
	decide(&f);
	CHECK_STR(f.layouts[0].rule, "S1+O3");
	CHECK(f.layouts[0].flip_y && !f.layouts[0].flip_x);
	CHECK_STR(f.layouts[1].rule, "S7+O3");
	CHECK_STR(f.layouts[2].rule, "S1+O1");
	CHECK(f.layouts[2].flip_y && f.layouts[2].flip_x);
	CHECK_STR(f.layouts[3].rule, "S1+O3");
	CHECK_STR(f.layouts[4].rule, "S1");
	CHECK(!f.layouts[4].flip_y);
	fixture_done(&f);
	fixture_done(&up);
}

static void models(void)
{
	struct fixture f = { 0 };
	struct facts none = { 0 }, keras = { 0 };

	say(&keras, "model_config", "{}");
	CHECK(!layout_is_model(&none, NULL, false));
	CHECK(layout_is_model(&none, NULL, true));
	CHECK(layout_is_model(&keras, NULL, false));
	CHECK(layout_is_model(&none, &keras, false));
	facts_done(&keras);
	PUT(&f, "/layers/conv/vars/0", "u1", 5, 64, 64, 3);
	PUT(&f, "/layers/conv/vars/a", "u1", 5, 64, 64, 3);
	decide(&f);
	CHECK_STR(f.layouts[0].rule, "P2");
	CHECK_STR(f.layouts[1].rule, "S1");
	f.g.model = true;
	decide(&f);
	CHECK_STR(f.layouts[1].rule, "P2");
	fixture_done(&f);
}

/* Nothing a shape says may overflow. */
static void hostile_shapes(void)
{
	struct fixture f = { 0 };
	const uint64_t huge = UINT64_MAX;
	struct layout_shape s;
	struct layout l = { .kind = LAYOUT_PICTURES, .y = 1, .x = 9, .c = -1 };

	PUT(&f, "/images", "u1", huge, huge, 64, 64, 3);
	PUT(&f, "/image", "u1", huge, huge);
	PUT(&f, "/frames", "u1", huge, huge, huge);
	PUT(&f, "/y", "u1", huge, huge, huge, huge, huge);
	decide(&f);
	for (size_t i = 0; i < f.g.count; i++)
		CHECK_EQ(f.layouts[i].kind, LAYOUT_NONE);
	CHECK_EQ(layout_shape(&l, &f.members[1], &s), -EINVAL);
	l.kind = LAYOUT_NONE;
	CHECK_EQ(layout_shape(&l, &f.members[1], &s), -EINVAL);
	fixture_done(&f);
}

/* A million members cost n log n, not n^2: this would run for minutes. */
static void many_members(void)
{
	enum { MANY = 60000 };
	struct desc_group g = { .count = MANY };
	struct dtype u1 = simple_type("u1"), f4 = simple_type("f4");
	char path[32];

	g.members = calloc(MANY, sizeof(*g.members));
	for (size_t i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "/%s_%zu", i % 2 ? "a" : "emb", i);
		g.members[i].path = strdup(path);
		g.members[i].name = strdup(path + 1);
		desc_set_type(&g.members[i], i % 2 ? &u1 : &f4, false, 3,
			      (uint64_t[]){ 20 + i, 30, 3 });
	}
	CHECK_EQ(layout_decide(&g, NULL, &answer_probe), 0);
	CHECK_EQ(g.layouts[1].kind, LAYOUT_PICTURES);
	CHECK_EQ(g.layouts[0].kind, LAYOUT_NONE);
	for (size_t i = 0; i < MANY; i++)
		desc_done(&g.members[i]);
	free(g.members);
	free(g.layouts);
}

int main(void)
{
	RUN(structure_of_rank_4);
	RUN(floats_without_a_name);
	RUN(floats_with_a_stored_rule);
	RUN(structure_of_rank_3);
	RUN(structure_of_rank_2);
	RUN(types);
	RUN(empty_and_null);
	RUN(growing_axis);
	RUN(siblings_tell_stacks);
	RUN(point_colours);
	RUN(encoded);
	RUN(magics);
	RUN(padding);
	RUN(suffixes);
	RUN(companions);
	RUN(companions_of_the_parent);
	RUN(orientation);
	RUN(models);
	RUN(hostile_shapes);
	RUN(many_members);
	return CHECK_RESULT();
}
