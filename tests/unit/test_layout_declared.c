/* SPDX-License-Identifier: MIT */
/* test_layout_declared.c - rules R3, D1 to D6 and P1 to P7: what attributes and
 * paths declare. */
#include "layout_fixture.h"

/* Decides f and checks member i: rule, and "y x c : index axes" in digits. */
static void check_axes(struct fixture *f, size_t i, const char *rule,
		       const char *want)
{
	const struct layout *l = &f->layouts[i];
	char text[64] = "none", *p = text;

	decide(f);
	if (l->kind == LAYOUT_PICTURES) {
		p += sprintf(p, "%d%d", l->y, l->x);
		if (l->c >= 0)
			p += sprintf(p, "%d", l->c);
		*p++ = ':';
		for (unsigned k = 0; k < l->nindex; k++)
			p += sprintf(p, "%u", l->index[k]);
		*p = '\0';
	}
	CHECK_STR(l->rule, rule);
	CHECK_STR(text, want);
}

static struct desc *image(struct fixture *f, const char *subclass,
			  const char *interlace, unsigned rank,
			  const uint64_t *dims)
{
	struct dtype u1 = simple_type("u1");
	struct desc *d = put_type(f, "/thing", &u1, rank, dims);

	say(&d->facts, "CLASS", "IMAGE");
	if (subclass)
		say(&d->facts, "IMAGE_SUBCLASS", subclass);
	if (interlace)
		say(&d->facts, "INTERLACE_MODE", interlace);
	return d;
}

static void hdf5_images(void)
{
	static const struct {
		const char *subclass, *interlace;
		unsigned rank;
		uint64_t dims[4];
		const char *want;
	} table[] = {
		{ NULL, NULL, 2, { 2, 3 }, "01:" },
		{ "IMAGE_TRUECOLOR", "INTERLACE_PIXEL", 3, { 5, 6, 3 }, "012:" },
		{ "IMAGE_TRUECOLOR", "INTERLACE_PLANE", 3, { 3, 5, 6 }, "120:" },
		{ "IMAGE_TRUECOLOR", "INTERLACE_LINE", 3, { 5, 3, 6 }, "021:" },
		{ "IMAGE_TRUECOLOR", NULL, 3, { 3, 5, 6 }, "120:" },
		{ "IMAGE_TRUECOLOR", NULL, 4, { 9, 5, 6, 3 }, "123:0" },
		{ NULL, NULL, 3, { 5, 6, 4 }, "012:" },
		{ NULL, NULL, 3, { 5, 6, 7 }, "12:0" },
		{ "IMAGE_GRAYSCALE", NULL, 3, { 5, 6, 3 }, "12:0" },
		{ "IMAGE_GRAYSCALE", "INTERLACE_PIXEL", 3, { 9, 6, 7 }, "12:0" },
		{ "IMAGE_GRAYSCALE", "INTERLACE_PLANE", 3, { 9, 6, 7 }, "12:0" },
	};
	struct fixture f = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		image(&f, table[i].subclass, table[i].interlace, table[i].rank,
		      table[i].dims);
		check_axes(&f, 0, "D1", table[i].want);
		fixture_done(&f);
	}
	image(&f, "IMAGE_TRUECOLOR", NULL, 3, (uint64_t[]){ 5, 6, 7 });
	check_axes(&f, 0, "K", "none");
	fixture_done(&f);
	image(&f, "IMAGE_TRUECOLOR", NULL, 5, (uint64_t[]){ 2, 2, 2, 2, 2 });
	check_axes(&f, 0, "K", "none");
	fixture_done(&f);
}

static void hdf5_image_extras(void)
{
	struct fixture f = { 0 };
	struct desc *d = image(&f, "IMAGE_INDEXED", NULL, 2,
			       (uint64_t[]){ 5, 6 });

	say(&d->facts, "PALETTE", "/pal");
	decide(&f);
	CHECK(f.layouts[0].palette);
	fixture_done(&f);
	d = image(&f, "IMAGE_GRAYSCALE", NULL, 2, (uint64_t[]){ 5, 6 });
	say(&d->facts, "PALETTE", "/pal");
	say_numbers(&d->facts, "IMAGE_WHITE_IS_ZERO", 1, (double[]){ 1 });
	decide(&f);
	CHECK(!f.layouts[0].palette);
	CHECK(f.layouts[0].invert);
	fixture_done(&f);
	say(&PUT(&f, "/image", "u1", 16, 30)->facts, "CLASS", "PALETTE");
	check_axes(&f, 0, "R3", "none");
	fixture_done(&f);
	say(&PUT(&f, "/image", "u1", 16, 30)->facts, "CLASS", "DIMENSION_SCALE");
	check_axes(&f, 0, "R3", "none");
	fixture_done(&f);
}

static void axis_texts(void)
{
	static const struct {
		const char *attribute, *text, *rule, *want;
	} table[] = {
		{ "axes", "TCYX", "D3", "231:0" },
		{ "data_format", "channels_first", "D3", "231:0" },
		{ "data_format", "NCWH", "D3", "321:0" },
		{ "axes", "time:chan:y:x", "D3", "231:0" },
		{ "dims", "time, band, lat, lon", "D3", "231:0" },
		{ "layout", "contiguous", "S2", "231:0" },
		{ "axes", "time:pol:freq:chan", "D3", "none" },
		{ "axes", "y:y:x:c", "D3", "none" },
		{ "axistags",
		  "{\"axes\":[{\"key\":\"x\"},{\"key\":\"c\"},{\"key\":\"t\"},"
		  "{\"key\":\"y\"}]}", "D3", "301:2" },
		{ "axistags", "{\"axes\":[{\"key\":3}]}", "S2", "231:0" },
		{ "axistags", "{not json", "S2", "231:0" },
		{ "axistags", "[]", "S2", "231:0" },
		{ "axes", "", "S2", "231:0" },
		{ "axes", ":,:,", "S2", "231:0" },
	};
	struct fixture f = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		say(&PUT(&f, "/thing", "u1", 20, 3, 24, 28)->facts,
		    table[i].attribute, table[i].text);
		check_axes(&f, 0, table[i].rule, table[i].want);
		fixture_done(&f);
	}
}

static void axis_lists(void)
{
	static const char *const names[] = { "time", "row", "col", "band" };
	static const char *const holes[] = { "time", "", "col", "band" };
	struct fixture f = { 0 };

	say_list(&PUT(&f, "/thing", "f4", 20, 24, 28, 5)->facts,
		 "DIMENSION_LABELS", 4, names);
	/* five bands: one grey picture each */
	check_axes(&f, 0, "D3", "12:03");
	CHECK_STR(f.layouts[0].axes, "time row col band");
	fixture_done(&f);
	say_list(&PUT(&f, "/thing", "f4", 20, 24, 28, 4)->facts,
		 "_ARRAY_DIMENSIONS", 4, names);
	check_axes(&f, 0, "D3", "12:03");
	fixture_done(&f);
	say_list(&PUT(&f, "/thing", "i2", 20, 24, 28, 4)->facts,
		 "_ARRAY_DIMENSIONS", 4, names);
	check_axes(&f, 0, "D3", "123:0");
	fixture_done(&f);
	say_list(&PUT(&f, "/thing", "i2", 20, 24, 28, 4)->facts,
		 "DIMENSION_LABELS", 4, holes);
	check_axes(&f, 0, "K", "none");
	fixture_done(&f);
	/* a plane of less than 8 is none */
	say_list(&PUT(&f, "/images", "u1", 20, 7, 28, 3)->facts,
		 "_ARRAY_DIMENSIONS", 4, names);
	check_axes(&f, 0, "D3", "none");
	fixture_done(&f);
}

static void scales(void)
{
	struct fixture f = { 0 };
	struct desc *d = PUT(&f, "/t2m", "i2", 12, 20, 30);

	d->has_scales = true;
	d->scale[0] = strdup("time");
	d->scale[1] = strdup("lat");
	d->scale[2] = strdup("lon");
	check_axes(&f, 0, "D4", "12:0");
	CHECK_STR(f.layouts[0].axes, "time lat lon");
	fixture_done(&f);
	d = PUT(&f, "/stack", "u1", 20, 30);
	d->has_scales = true;
	d->scale[0] = strdup("x_um");
	d->scale[1] = strdup("y_um");
	check_axes(&f, 0, "D4", "10:");
	fixture_done(&f);
	d = PUT(&f, "/image", "f4", 20, 30);
	d->has_scales = true;
	d->scale[0] = strdup("time");
	d->scale[1] = strdup("lat");
	check_axes(&f, 0, "D4", "none");
	free(d->scale[1]); /* an axis without a scale: nothing is said */
	d->scale[1] = NULL;
	check_axes(&f, 0, "S6", "01:");
	fixture_done(&f);
}

static void nexus(void)
{
	static const struct {
		const char *text, *type;
		uint64_t last;
		const char *rule, *want;
	} table[] = {
		{ "image", "f4", 5, "D5", "23:01" },
		{ "rgb-image", "f4", 3, "D5", "123:0" },
		{ "rgba-image", "u1", 4, "D5", "123:0" },
		{ "rgb-image", "f4", 5, "K", "none" },
		{ "spectrum", "u1", 3, "D5", "none" },
		{ "other", "u1", 3, "S1", "123:0" },
	};
	struct fixture f = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct dtype type = simple_type(table[i].type);

		say(&put_type(&f, "/thing", &type, 4,
			      (uint64_t[]){ 9, 20, 30, table[i].last })->facts,
		    "interpretation", table[i].text);
		check_axes(&f, 0, table[i].rule, table[i].want);
		fixture_done(&f);
	}
	say(&f.g.facts, "NX_class", "NXdata");
	PUT(&f, "/entry/data/data_000001", "u4", 9, 20, 30);
	PUT(&f, "/entry/data/short", "u4", 9, 15, 30);
	PUT(&f, "/entry/data/real", "f4", 9, 20, 30);
	check_axes(&f, 0, "P6", "12:0");
	check_axes(&f, 1, "K", "none");
	fixture_done(&f);
}

static void nwb(void)
{
	struct fixture f = { 0 };

	say(&f.g.facts, "neurodata_type", "TwoPhotonSeries");
	PUT(&f, "/a/data", "i2", 9, 20, 30);
	PUT(&f, "/a/timestamps", "f8", 9);
	check_axes(&f, 0, "D6", "12:0");
	fixture_done(&f);
	say(&f.g.facts, "neurodata_type", "ElectricalSeries");
	PUT(&f, "/a/data", "u1", 9, 20, 30, 3);
	check_axes(&f, 0, "D6", "none");
	fixture_done(&f);
	say(&PUT(&f, "/a/img", "u1", 20, 30, 3)->facts, "neurodata_type",
	    "RGBImage");
	check_axes(&f, 0, "D6", "012:");
	fixture_done(&f);
}

static struct desc *matlab(struct fixture *f, const char *path,
			   const char *class, const char *type, unsigned rank,
			   const uint64_t *dims)
{
	struct dtype t = simple_type(type);
	struct desc *d = put_type(f, path, &t, rank, dims);

	say(&d->facts, "MATLAB_class", class);
	return d;
}

static void matlab_arrays(void)
{
	struct fixture f = { 0 };
	uint64_t dims[4] = { 9, 3, 30, 20 };

	matlab(&f, "/images", "uint8", "u1", 4, dims);
	check_axes(&f, 0, "P1", "321:0");
	fixture_done(&f);
	matlab(&f, "/foo", "uint8", "u1", 3, dims + 1);
	check_axes(&f, 0, "P1", "210:");
	matlab(&f, "/stack", "uint8", "u1", 4, (uint64_t[]){ 3, 3, 30, 20 });
	check_axes(&f, 0, "P1", "21:0"); /* three depth maps, not colour */
	fixture_done(&f);
	matlab(&f, "/foo", "double", "f8", 3, (uint64_t[]){ 9, 30, 20 });
	check_axes(&f, 0, "P1", "none");
	fixture_done(&f);
	matlab(&f, "/depths", "double", "f8", 3, (uint64_t[]){ 9, 30, 20 });
	check_axes(&f, 0, "P1", "21:0");
	fixture_done(&f);
	matlab(&f, "/mask", "logical", "u1", 2, (uint64_t[]){ 30, 20 });
	check_axes(&f, 0, "P1", "10:");
	fixture_done(&f);
	matlab(&f, "/image", "char", "u2", 2, (uint64_t[]){ 30, 20 });
	check_axes(&f, 0, "P1", "none");
	fixture_done(&f);
	say_numbers(&matlab(&f, "/image", "uint8", "u1", 2,
			    (uint64_t[]){ 30, 20 })->facts,
		    "MATLAB_empty", 1, (double[]){ 1 });
	check_axes(&f, 0, "P1", "none");
	fixture_done(&f);
	matlab(&f, "/image", "uint8", "u1", 2, (uint64_t[]){ 30, 20 });
	user_says(&f, 0, "orient=raw"); /* as stored */
	check_axes(&f, 0, "P1", "01:");
	fixture_done(&f);
}

static void profiles(void)
{
	struct fixture f = { 0 };

	PUT(&f, "/exchange/data_white", "f4", 5, 20, 70);
	check_axes(&f, 0, "P3", "12:0");
	fixture_done(&f);
	PUT(&f, "/exchange/theta_data", "f4", 5, 20, 70);
	check_axes(&f, 0, "K", "none");
	fixture_done(&f);
	PUT(&f, "/t00000/s00/0/cells", "i2", 5, 4, 7);
	check_axes(&f, 0, "P4", "12:0");
	CHECK(f.layouts[0].as_unsigned);
	fixture_done(&f);
	PUT(&f, "/t0000/s00/0/cells", "i2", 5, 4, 7);
	check_axes(&f, 0, "K", "none");
	fixture_done(&f);
	PUT(&f, "/t00000/s0/0/cells", "i2", 5, 4, 7);
	check_axes(&f, 0, "K", "none");
	fixture_done(&f);
	PUT(&f, "/Data/Image/0123456789abcdef0123456789abcdef/Data", "f4", 16,
	    20, 3);
	check_axes(&f, 0, "P7", "01:2");
	fixture_done(&f);
	PUT(&f, "/Data/Image/0123456789abcdef0123456789abcde/Data", "f4", 16, 20,
	    3);
	check_axes(&f, 0, "K", "none");
	fixture_done(&f);
}

static void imaris(void)
{
	static const char path[] = "/DataSet/ResolutionLevel 0/TimePoint 12/"
				   "Channel 1/Data";
	struct fixture f = { 0 };
	struct layout_shape s;

	say(&f.g.facts, "ImageSizeZ", "5");
	say(&f.g.facts, "ImageSizeY", " 50");
	say(&f.g.facts, "ImageSizeX", "999999999999999999999999");
	PUT(&f, path, "u1", 8, 64, 64);
	check_axes(&f, 0, "P5", "12:0");
	CHECK_EQ(layout_shape(&f.layouts[0], &f.members[0], &s), 0);
	CHECK_EQ(s.count, 5);
	CHECK_EQ(s.height, 50);
	CHECK_EQ(s.width, 64);
	fixture_done(&f);
}

int main(void)
{
	RUN(hdf5_images);
	RUN(hdf5_image_extras);
	RUN(axis_texts);
	RUN(axis_lists);
	RUN(scales);
	RUN(nexus);
	RUN(nwb);
	RUN(matlab_arrays);
	RUN(profiles);
	RUN(imaris);
	return CHECK_RESULT();
}
