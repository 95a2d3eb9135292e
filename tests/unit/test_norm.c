/* SPDX-License-Identifier: MIT */
/* test_norm.c - RULES 7: which rule and range a dataset's pictures get. */
#include <math.h>

#include "layout_fixture.h"

/* A stack of grey pictures of this type and name. */
struct stack {
	struct fixture f;
	struct answers answers;
};

static struct desc *stack(struct stack *s, const char *path, const char *type,
			  double lo, double hi)
{
	struct dtype t = simple_type(type);
	struct desc *d = put_type(&s->f, path, &t, 3, (uint64_t[]){ 9, 20, 30 });

	s->answers.lo = lo;
	s->answers.hi = hi;
	d->arg = &s->answers;
	s->f.layouts[0] = (struct layout){
		.kind = LAYOUT_PICTURES, .y = 1, .x = 2, .c = -1, .nindex = 1,
	};
	return d;
}

static struct norm decided(struct stack *s)
{
	const struct layout *l = &s->f.layouts[0];
	const struct desc *d = &s->f.members[0];
	bool probe = norm_needs_probe(l, d);
	unsigned bits = norm_bits(l, d);
	struct norm n = { 0 };

	s->answers.asked = 0;
	CHECK_EQ(norm_decide(l, d, &answer_probe, &n), 0);
	CHECK_EQ(s->answers.asked, probe); /* looked exactly when it said so */
	CHECK(!bits || bits == n.bits);
	CHECK(n.kind == NORM_INT_U8 || n.kind == NORM_INT_U16 ||
	      n.kind == NORM_INT_MINMAX || bits);
	return n;
}

static void stack_done(struct stack *s)
{
	fixture_done(&s->f);
	*s = (struct stack){ 0 };
}

static void by_type_and_range(void)
{
	static const struct {
		const char *path, *type;
		double lo, hi;
		bool whole;
		const char *norm;
		unsigned bits;
	} table[] = {
		{ "/a", "b1", 0, 1, true, "binary", 1 },
		{ "/a", "u1", 0, 1, true, "u8", 8 },
		{ "/a", "u2", 0, 1, true, "u16", 16 },
		{ "/a", "i1", 0, 127, true, "int-u8", 8 },
		{ "/a", "i2", 0, 256, true, "int-u16", 16 },
		{ "/a", "i2", -1, 200, true, "int-minmax", 8 },
		{ "/a", "u4", 0, 65536, true, "int-minmax", 8 },
		{ "/a", "f4", 0, 1, false, "float-unit", 8 },
		{ "/a", "f4", 0, 0.5, false, "float-unit", 8 },
		{ "/a", "f4", 0, 0.49, false, "float-minmax", 8 },
		{ "/a", "f4", -0.01, 1, false, "float-minmax", 8 },
		{ "/a", "f4", -1, 1, false, "float-signed", 8 },
		{ "/a", "f4", -1.01, 1, false, "float-minmax", 8 },
		{ "/a", "f8", 0, 128, false, "float-byte", 8 },
		{ "/a", "f8", 0, 127.5, false, "float-minmax", 8 },
		{ "/a", "f8", 0, 256, true, "float-minmax", 8 },
		{ "/a", "f4", 0, 4, true, "float-whole", 8 },
		{ "/a", "f4", 0, 1, true, "float-unit", 8 },
		{ "/mask", "f4", 0, 1, true, "float-whole", 8 },
		{ "/mask", "f4", 0, 1, false, "float-unit", 8 },
	};
	struct stack s = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct norm n;

		stack(&s, table[i].path, table[i].type, table[i].lo,
		      table[i].hi);
		s.answers.whole = table[i].whole;
		n = decided(&s);
		CHECK_STR(norm_name(n.kind), table[i].norm);
		CHECK_EQ(n.bits, table[i].bits);
		stack_done(&s);
	}
}

static void minmax(void)
{
	struct stack s = { 0 };
	struct norm n;

	stack(&s, "/a", "i2", -7, 90);
	s.answers.partial = true;
	n = decided(&s);
	CHECK(n.lo == -7 && n.hi == 90 && n.probed && !n.empty);
	s.answers.nodata = true;
	n = decided(&s);
	CHECK_EQ(n.kind, NORM_INT_MINMAX);
	CHECK(n.empty);
	s.f.members[0].arg = NULL; /* the data can not be read */
	CHECK_EQ(norm_decide(&s.f.layouts[0], &s.f.members[0], &answer_probe, &n),
		 -EIO);
	s.f.layouts[0].kind = LAYOUT_NONE;
	CHECK_EQ(norm_decide(&s.f.layouts[0], &s.f.members[0], &answer_probe, &n),
		 -EINVAL);
	stack_done(&s);
}

static void declared(void)
{
	static const struct {
		const char *type, *name;
		double nums[2];
		const char *norm;
	} table[] = {
		{ "f4", "IMAGE_MINMAXRANGE", { 2, 8 }, "range" },
		{ "i4", "valid_range", { -3, 8 }, "range" },
		{ "f4", "drange", { 0, 1 }, "range" },
		{ "u2", "IMAGE_MINMAXRANGE", { 2, 8 }, "u16" },
		{ "u1", "valid_range", { 2, 8 }, "u8" },
		{ "f4", "drange", { 8, 2 }, "float-unit" },
		{ "f4", "drange", { 0, INFINITY }, "float-unit" },
		{ "f4", "drange", { NAN, 1 }, "float-unit" },
		{ "f4", "other", { 2, 8 }, "float-unit" },
	};
	struct stack s = { 0 };
	struct norm n;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		say_numbers(&stack(&s, "/a", table[i].type, 0, 1)->facts,
			    table[i].name, 2, table[i].nums);
		n = decided(&s);
		CHECK_STR(norm_name(n.kind), table[i].norm);
		CHECK(n.kind != NORM_RANGE || (n.lo == table[i].nums[0] &&
					       n.hi == table[i].nums[1]));
		stack_done(&s);
	}
	stack(&s, "/a", "i2", 0, 1);
	say_numbers(&s.f.members[0].facts, "valid_min", 1, (double[]){ 0 });
	say_numbers(&s.f.members[0].facts, "_FillValue", 1, (double[]){ -1 });
	say(&s.f.members[0].facts, "_Unsigned", "true");
	n = decided(&s);
	CHECK_EQ(n.kind, NORM_INT_U8);
	CHECK(n.has_fill && n.fill == -1);
	say_numbers(&s.f.members[0].facts, "valid_max", 1, (double[]){ 60000 });
	n = decided(&s);
	CHECK_EQ(n.kind, NORM_RANGE);
	CHECK(n.packed && n.has_fill);
	stack_done(&s);
	/* exact types show fill values as they are */
	say_numbers(&stack(&s, "/a", "u1", 0, 1)->facts, "_FillValue", 1,
		    (double[]){ 0 });
	CHECK(!decided(&s).has_fill);
	stack_done(&s);
}

/* What was stored with the first pictures that were added stays. */
static void stored(void)
{
	static const struct {
		const char *type, *rule;
		const char *norm;
		unsigned bits;
	} table[] = {
		{ "f4", "float-unit", "float-unit", 8 },
		{ "f4", "float-byte", "float-byte", 8 },
		{ "i4", "int-u16", "int-u16", 16 },
		{ "f4", "float-minmax", "float-minmax", 8 },
		/* what the type can not have is not believed */
		{ "f4", "int-u16", "float-signed", 8 },
		{ "i4", "float-unit", "int-minmax", 8 },
		{ "f4", "binary", "float-signed", 8 },
		{ "f4", "what", "float-signed", 8 },
		{ "u1", "float-unit", "u8", 8 },
	};
	struct stack s = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct desc *d = stack(&s, "/a", table[i].type, -1, 1);
		struct norm n;

		say(&d->facts, "h5fs.norm", table[i].rule);
		say_numbers(&d->facts, "h5fs.range", 2, (double[]){ -7, 3 });
		n = decided(&s);
		CHECK_STR(norm_name(n.kind), table[i].norm);
		CHECK_EQ(n.bits, table[i].bits);
		if (n.kind == NORM_FLOAT_MINMAX)
			CHECK(n.lo == -7 && n.hi == 3);
		stack_done(&s);
	}
	/* a range that is none */
	say(&stack(&s, "/a", "f4", -1, 1)->facts, "h5fs.norm", "float-minmax");
	CHECK_EQ(decided(&s).kind, NORM_FLOAT_SIGNED);
	say_numbers(&s.f.members[0].facts, "h5fs.range", 2,
		    (double[]){ 3, NAN });
	CHECK_EQ(decided(&s).kind, NORM_FLOAT_SIGNED);
	stack_done(&s);
}

static void told(void)
{
	struct stack s = { 0 };
	struct norm n;
	struct layout *l = &s.f.layouts[0];

	stack(&s, "/a", "u2", 0, 1);
	l->has_range = true;
	l->range_lo = 100;
	l->range_hi = 900;
	n = decided(&s);
	CHECK_EQ(n.kind, NORM_RANGE);
	CHECK_EQ(n.bits, 8);
	CHECK(n.lo == 100 && n.hi == 900 && !n.packed);
	stack_done(&s);
	stack(&s, "/a", "i2", 0, 1);
	l->as_unsigned = true;
	CHECK_EQ(decided(&s).kind, NORM_U16);
	l->has_range = true;
	l->range_hi = 9;
	CHECK(decided(&s).packed);
	stack_done(&s);
	stack(&s, "/a", "u2", 0, 1);
	l->invert = true;
	n = decided(&s);
	CHECK_EQ(n.kind, NORM_INVERTED);
	CHECK_EQ(n.bits, 16);
	stack_done(&s);
	stack(&s, "/a", "u1", 0, 1);
	l->palette = true;
	CHECK_EQ(decided(&s).kind, NORM_PALETTE);
	stack_done(&s);
	/* each sample's own range: nothing is read off the dataset's */
	stack(&s, "/a", "f4", 0, 1);
	l->norm_sample = true;
	CHECK_EQ(decided(&s).kind, NORM_FLOAT_MINMAX);
	stack_done(&s);
	stack(&s, "/a", "i4", 0, 1);
	l->norm_sample = true;
	CHECK_EQ(norm_bits(l, &s.f.members[0]), 8);
	CHECK_EQ(decided(&s).kind, NORM_INT_MINMAX);
	stack_done(&s);
}

static void booleans(void)
{
	struct stack s = { 0 };

	say(&stack(&s, "/a", "u1", 0, 1)->facts, "MATLAB_class", "logical");
	CHECK_EQ(decided(&s).kind, NORM_BINARY);
	stack_done(&s);
	stack(&s, "/a", "b1", 0, 1);
	s.f.members[0].dims[2] = 3;
	s.f.layouts[0] = (struct layout){
		.kind = LAYOUT_PICTURES, .y = 0, .x = 1, .c = 2,
	};
	CHECK_EQ(decided(&s).kind, NORM_BINARY_RGB);
	CHECK_EQ(decided(&s).bits, 8);
	s.f.members[0].dims[2] = 1;
	CHECK_EQ(decided(&s).kind, NORM_BINARY);
	stack_done(&s);
}

static void invertible(void)
{
	CHECK(norm_is_invertible(NORM_BINARY));
	CHECK(norm_is_invertible(NORM_U16));
	CHECK(norm_is_invertible(NORM_INT_U16));
	CHECK(norm_is_invertible(NORM_FLOAT_SIGNED));
	CHECK(!norm_is_invertible(NORM_RANGE));
	CHECK(!norm_is_invertible(NORM_INT_MINMAX));
	CHECK(!norm_is_invertible(NORM_FLOAT_MINMAX));
	CHECK(norm_is_invertible(NORM_PALETTE));
	CHECK(!norm_is_invertible((enum norm_kind)99));
	CHECK_STR(norm_name((enum norm_kind)99), "");
}

int main(void)
{
	RUN(by_type_and_range);
	RUN(minmax);
	RUN(declared);
	RUN(stored);
	RUN(told);
	RUN(booleans);
	RUN(invertible);
	return CHECK_RESULT();
}
