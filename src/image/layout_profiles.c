/* SPDX-License-Identifier: MIT */
/* layout_profiles.c - rules P1 to P7: programs whose files are known by where
 * they put what. P2, model files, is a column of the table itself. */
#include <ctype.h>
#include <strings.h>

#include "image_int.h"

/* ---- P1: MATLAB v7.3; HDF5 sees its axes in reverse ---- */
static bool is_matlab_number(const char *class)
{
	static const char *const classes[] = {
		"uint8", "uint16", "uint32", "uint64", "int8",	  "int16",
		"int32", "int64",  "single", "double", "logical",
	};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (!strcmp(class, classes[i]))
			return true;
	return false;
}

enum verdict fit_p1_matlab(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	const char *class = facts_text(&d->facts, "MATLAB_class");
	bool exact = d->num_size == 1 || desc_is_uint(d, 2);
	int ev = q->evidence, n = (int)d->rank;
	uint64_t h = d->dims[n - 1], w = d->dims[n - 2], side = min_u64(h, w);
	uint64_t third = n >= 3 ? d->dims[n - 3] : 0;

	if (!class)
		return V_PASS;
	if (!is_matlab_number(class) || facts_find(&d->facts, "MATLAB_empty"))
		return V_NOT;
	if (n == 4 && (third == 1 || third == 3) && side >= 8 &&
	    (exact || ev > 0))
		return layout_set(l, d, 3, 2, 1, "MATLAB HWCN");
	/* a sibling stack of this size proves that an axis of 3 counts */
	if (n == 3 && third == 3 && side >= 8 && (exact || ev > 1) &&
	    !siblings_have_stack(q->siblings, third, h, w))
		return layout_set(l, d, 2, 1, 0, "MATLAB HWC");
	if (n == 3 && side >= 16 && ((exact && ev >= 0) || ev > 0))
		return layout_set(l, d, 2, 1, -1, "MATLAB HWN");
	if (n == 2 && side >= 8 && aspect_within(h, w, 80) &&
	    q->words & W_SINGULAR && !(q->words & W_NEG))
		return layout_set(l, d, 1, 0, -1, "MATLAB HW");
	return V_NOT;
}

/* ---- P3: Data Exchange (tomography) ---- */
enum verdict fit_p3_exchange(const struct question *q, struct layout *l)
{
	static const char *const names[] = { "data", "data_white",
					     "data_dark" };
	const struct desc *d = q->d;
	char parent[16];

	path_parent_name(d->path, parent, sizeof(parent));
	if (d->rank != 3 || strncmp(parent, "exchange", 8) != 0)
		return V_PASS;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(d->name, names[i]))
			return layout_set(l, d, 1, 2, -1, "theta y x");
	return V_PASS;
}

/* ---- P4: BigDataViewer keeps unsigned 16 bits in a signed type ---- */
enum verdict fit_p4_bdv(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;

	if (d->rank != 3 ||
	    !path_matches(d->path, "/t00000/s0#/#/cells", false))
		return V_PASS;
	l->as_unsigned = d->num == NUM_INT && d->num_size == 2;
	return layout_set(l, d, 1, 2, -1, "NHW");
}

/* ---- P5: Imaris pads its volumes to whole chunks ---- */
static uint64_t crop_of(const struct facts *f, const char *name)
{
	const char *text = facts_text(f, name);
	uint64_t n = 0;

	while (text && isspace((unsigned char)*text))
		text++;
	for (; text && isdigit((unsigned char)*text); text++)
		if (mul_overflow(n, 10, &n) ||
		    add_overflow(n, (uint64_t)(*text - '0'), &n))
			return 0;
	return n;
}

enum verdict fit_p5_imaris(const struct question *q, struct layout *l)
{
	static const char *const sizes[] = { "ImageSizeZ", "ImageSizeY",
					     "ImageSizeX" };
	const struct desc *d = q->d;

	if (d->rank != 3 ||
	    !path_matches(d->path,
			  "/ResolutionLevel #/TimePoint #/Channel #/Data",
			  true))
		return V_PASS;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t n = crop_of(&q->g->facts, sizes[i]);

		l->crop[i] = n < d->dims[i] ? n : 0;
	}
	return layout_set(l, d, 1, 2, -1, "NHW");
}

/* ---- P6: NXdata without an interpretation (EIGER) ---- */
enum verdict fit_p6_nxdata(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;
	const char *class = facts_text(&q->g->facts, "NX_class");
	int n = (int)d->rank;

	if (!class || strcmp(class, "NXdata") != 0 || !desc_is_integer(d) ||
	    n < 3 || d->dims[n - 1] < 16 || d->dims[n - 2] < 16)
		return V_PASS;
	return layout_set(l, d, n - 2, n - 1, -1, n == 3 ? "NHW" : "...HW");
}

/* ---- P7: Velox (electron microscopy) has the frame last ---- */
enum verdict fit_p7_velox(const struct question *q, struct layout *l)
{
	const struct desc *d = q->d;

	if (d->rank != 3 || d->num == NUM_BOOL ||
	    !path_matches(d->path,
			  "/Data/Image/~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~/Data",
			  false))
		return V_PASS;
	return layout_set(l, d, 0, 1, -1, "YXN");
}
