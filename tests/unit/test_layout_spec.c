/* SPDX-License-Identifier: MIT */
/* test_layout_spec.c - rule R1: SPEC's syntax, and what it does to a dataset. */
#include "layout_fixture.h"

static void syntax(void)
{
	static const char *const good[] = {
		"none", "NHWC", "nhwc", "NTZBYX", "HW", "flat:28x28",
		"flat:32x32x3", "+transpose", "transpose", "NHWC+flipv",
		"+bgr,norm=sample", "norm=dataset", "orient=raw", "bands=2,1,0",
		"bands=7", "bands=3,2,1,0+flipv", "NHWB,bands=2,1,0",
		"bands=2,1,0,norm=sample",
	};
	static const char *const bad[] = {
		"", "+", "NHWC+", "NHW+HW", "HWQ", "NHH", "HWCC", "NC",
		"flat:28", "flat:28x", "flat:28x28x2", "flat:0x5",
		"flat:28x28x3x1", "flat:99999999999x2", "none+flipv",
		"norm=each", "orient=up", "bands=", "bands=1,2",
		"bands=1,2,3,4,5", "bands=-1", "NHW,bands=1",
		"flat:2x2,bands=0", "Transpose", "NHWC+flat:2x2",
		"NHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWNHWN",
	};
	const char *why;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (layout_check_spec(good[i], NULL) != 0) {
			printf("refused: %s\n", good[i]);
			check_failures++;
		}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		why = NULL;
		if (layout_check_spec(bad[i], &why) != -EINVAL || !why ||
		    layout_check_spec(bad[i], NULL) != -EINVAL) {
			printf("taken: %s\n", bad[i]);
			check_failures++;
		}
	}
}

static const struct layout *told(struct fixture *f, const char *spec)
{
	user_says(f, 0, spec);
	decide(f);
	return &f->layouts[0];
}

static void axes(void)
{
	struct fixture f = { 0 };
	struct layout_shape s;
	const struct layout *l;

	PUT(&f, "/weights", "f4", 3, 2, 5, 6);
	l = told(&f, "WNCH"); /* no minimum size, any name, any range */
	CHECK_STR(l->rule, "R1");
	CHECK_EQ(l->kind, LAYOUT_PICTURES);
	CHECK_EQ(l->y, 3);
	CHECK_EQ(l->x, 0);
	CHECK_EQ(l->c, -1); /* five channels: grey pictures */
	CHECK_EQ(layout_shape(l, &f.members[0], &s), 0);
	CHECK_EQ(s.count, 10);
	CHECK_EQ(s.index_dims[1], 5);
	fixture_done(&f);
	PUT(&f, "/weights", "f4", 3, 2, 5, 4);
	l = told(&f, "NHWC");
	CHECK_EQ(l->c, 3);
	CHECK_STR(l->axes, "NHWC");
	CHECK_STR(l->why, "as told: float32 (N,H,W,C) with C=4");
	fixture_done(&f);
	PUT(&f, "/images", "u1", 30, 20, 50, 4);
	l = told(&f, "NHW");
	CHECK_EQ(l->kind, LAYOUT_NONE);
	CHECK_STR(l->rule, "R1");
	CHECK(strstr(l->why, "3 axes"));
	fixture_done(&f);
	PUT(&f, "/names", "s8", 30, 20);
	l = told(&f, "HW");
	CHECK_STR(l->rule, "R1");
	CHECK_EQ(l->kind, LAYOUT_NONE);
	fixture_done(&f);
	PUT(&f, "/images", "u1", 30, 20, 50, 3);
	CHECK_EQ(told(&f, "none")->kind, LAYOUT_NONE);
	CHECK_STR(f.layouts[0].rule, "R1");
	fixture_done(&f);
	PUT(&f, "/images", "u1", 30, 20, 50, 3);
	CHECK_STR(told(&f, "no such")->rule, "R1");
	CHECK_EQ(f.layouts[0].kind, LAYOUT_NONE);
	fixture_done(&f);
}

static void attribute(void)
{
	struct fixture f = { 0 };

	say(&PUT(&f, "/a", "u1", 2, 4, 4, 5)->facts, "h5fs.layout", "NHWB");
	say(&PUT(&f, "/b", "u1", 30, 40, 50, 3)->facts, "h5fs.layout", "none");
	/* what does not fit, or is no SPEC, is no rule */
	say(&PUT(&f, "/c", "u1", 30, 40, 50, 3)->facts, "h5fs.layout", "HW");
	say(&PUT(&f, "/d", "u1", 30, 40, 50, 3)->facts, "h5fs.layout", "what?");
	say(&PUT(&f, "/e", "u1", 30, 40, 50, 3)->facts, "h5fs.layout", "none");
	user_says(&f, 4, "NWHC");
	decide(&f);
	CHECK_STR(f.layouts[0].rule, "R1");
	CHECK_EQ(f.layouts[0].nindex, 2);
	CHECK_STR(f.layouts[1].rule, "R1");
	CHECK_EQ(f.layouts[1].kind, LAYOUT_NONE);
	CHECK_STR(f.layouts[2].rule, "S1");
	CHECK_STR(f.layouts[3].rule, "S1");
	CHECK_EQ(f.layouts[4].kind, LAYOUT_PICTURES);
	CHECK_EQ(f.layouts[4].y, 2);
	fixture_done(&f);
}

static void flat(void)
{
	struct fixture f = { 0 };
	struct layout_shape s;
	const struct layout *l;

	PUT(&f, "/x", "f4", 7, 28 * 20 * 3);
	l = told(&f, "flat:28x20x3");
	CHECK_EQ(l->kind, LAYOUT_PICTURES);
	CHECK_EQ(l->x, 1);
	CHECK_EQ(l->y, -1);
	CHECK_EQ(layout_shape(l, &f.members[0], &s), 0);
	CHECK_EQ(s.height, 28);
	CHECK_EQ(s.width, 20);
	CHECK_EQ(s.channels, 3);
	CHECK_EQ(s.count, 7);
	fixture_done(&f);
	PUT(&f, "/x", "f4", 784);
	l = told(&f, "flat:28x28");
	CHECK_EQ(l->nindex, 0);
	CHECK_EQ(l->kind, LAYOUT_PICTURES);
	fixture_done(&f);
	PUT(&f, "/x", "f4", 7, 783);
	CHECK_EQ(told(&f, "flat:28x28")->kind, LAYOUT_NONE);
	fixture_done(&f);
}

static void modifiers(void)
{
	struct fixture f = { 0 };
	const struct layout *l;

	PUT(&f, "/images", "u1", 9, 20, 30, 3);
	l = told(&f, "+transpose+flipv+bgr,norm=sample");
	CHECK_STR(l->rule, "S1");
	CHECK_EQ(l->y, 2);
	CHECK_EQ(l->x, 1);
	CHECK(l->transposed && l->flip_y && l->bgr && l->norm_sample);
	fixture_done(&f);
	/* nothing is found: nothing to modify */
	PUT(&f, "/foo", "f4", 9, 20);
	l = told(&f, "+flipv");
	CHECK_EQ(l->kind, LAYOUT_NONE);
	CHECK(!l->flip_y);
	fixture_done(&f);
	/* a companion is modified too, a transposed picture still vouches */
	PUT(&f, "/rgb", "u1", 20, 30, 3);
	PUT(&f, "/ids", "i8", 20, 30);
	user_says(&f, 0, "+transpose");
	user_says(&f, 1, "+flipv");
	decide(&f);
	CHECK_STR(f.layouts[1].rule, "S7");
	CHECK(f.layouts[1].flip_y);
	fixture_done(&f);
}

static void bands(void)
{
	struct fixture f = { 0 };
	struct layout_shape s;
	const struct layout *l;

	PUT(&f, "/sen2", "f4", 9, 20, 30, 10);
	l = told(&f, "bands=2,1,0");
	CHECK_STR(l->rule, "R1");
	CHECK_EQ(l->c, 3);
	CHECK_EQ(l->nbands, 3);
	CHECK_EQ(l->bands[0], 2);
	CHECK_EQ(layout_shape(l, &f.members[0], &s), 0);
	CHECK_EQ(s.channels, 3);
	CHECK_EQ(s.count, 9);
	fixture_done(&f);
	PUT(&f, "/images", "u1", 9, 3, 20, 30); /* the channel axis is known */
	l = told(&f, "bands=2");
	CHECK_STR(l->rule, "S2");
	CHECK_EQ(l->c, 1);
	CHECK_EQ(layout_shape(l, &f.members[0], &s), 0);
	CHECK_EQ(s.channels, 1);
	fixture_done(&f);
	PUT(&f, "/thing", "u1", 8, 20, 30);
	say(&f.members[0].facts, "axes", "CYX");
	l = told(&f, "bands=7,0,1"); /* also where it is too long for colour */
	CHECK_STR(l->rule, "D3");
	CHECK_EQ(l->c, 0);
	CHECK_EQ(l->nbands, 3);
	fixture_done(&f);
	PUT(&f, "/thing", "u1", 8, 20, 30);
	l = told(&f, "CHW,bands=8");
	CHECK_STR(l->rule, "R1");
	CHECK_EQ(l->kind, LAYOUT_NONE);
	fixture_done(&f);
	PUT(&f, "/thing", "f4", 8, 20, 3);
	l = told(&f, "bands=3");
	CHECK_STR(l->rule, "R1");
	CHECK_EQ(l->kind, LAYOUT_NONE);
	fixture_done(&f);
}

static void range(void)
{
	struct fixture f = { 0 };

	PUT(&f, "/images", "u2", 9, 20, 30);
	f.user[0].has_range = true;
	f.user[0].range_lo = -2;
	f.user[0].range_hi = 7;
	f.users[0] = &f.user[0];
	decide(&f);
	CHECK(f.layouts[0].has_range);
	CHECK_EQ(f.layouts[0].range_hi, 7);
	fixture_done(&f);
}

int main(void)
{
	RUN(syntax);
	RUN(axes);
	RUN(attribute);
	RUN(flat);
	RUN(modifiers);
	RUN(bands);
	RUN(range);
	return CHECK_RESULT();
}
