/* SPDX-License-Identifier: MIT */
/* image_int.h - what the files of this layer share among themselves. */
#ifndef H5FS_IMAGE_INT_H
#define H5FS_IMAGE_INT_H

#include "h5fs/image.h"

/* ---- names (layout_names.c) ----
 * A name is split into words at case changes, digits and punctuation. Each word
 * list is a bit; a name has the bits of all its words. */
enum word {
	W_STRONG = 1 << 0,   /* a picture by name: image, rgb, depth, mask */
	W_SINGULAR = 1 << 1, /* one picture: image, but not images */
	W_WEAK = 1 << 2,     /* often pictures: x, data, train */
	W_NEG = 1 << 3,	     /* never pictures: weight, features, boxes */
	W_MASK = 1 << 4,
	W_LABEL = 1 << 5,
	W_SET = 1 << 6,	   /* what labels stand beside: x, images, data */
	W_MODEL = 1 << 7,  /* groups of weights */
	W_SUPER = 1 << 8,  /* lr, hr, sr: super-resolution pairs */
	W_POINTS = 1 << 9, /* point coordinates, "data" among them */
	W_CLOUD = 1 << 10, /* point coordinates for certain */
	W_MATRIX = 1 << 11,
	W_STACK = 1 << 12, /* many of one channel: frames, slices, ct */
	W_LIST = 1 << 13,  /* names, map, idx: beside labels, not labels */
};
uint32_t name_words(const char *name);
/* Do the words of `set` without W_SET equal those of `label` without W_LABEL? */
bool name_rest_equal(const char *set, const char *label);
/* Equal for names whose words without those of `skip` are equal: hash of a set's
 * (W_SET) and of its label's (W_LABEL). */
uint64_t name_rest_key(const char *name, uint32_t skip);
/* Has `label` words that are not W_LABEL? */
bool name_has_rest(const char *label);
/* 'y', 'x', 'c' or 0: what an axis of this name is. */
char name_axis_role(const char *name);
/* '#' is one or more digits, '0' one digit, '~' one hexadecimal digit, others
 * are themselves. tail: the end of path, from some '/' on. */
bool path_matches(const char *path, const char *pattern, bool tail);
/* Last component of the group that path lies in; "" in the root. Cut at size. */
void path_parent_name(const char *path, char *ret_name, size_t size);

/* ---- SPEC of rule R1 (layout_spec.c) ---- */
struct layout_spec {
	bool none, transpose, flipv, bgr, raw, norm_sample;
	unsigned naxes;			 /* 0: modifiers only, or flat */
	char axes[LAYOUT_MAX_RANK + 1];	 /* upper case; H and W for Y and X */
	uint32_t flat_h, flat_w, flat_c; /* 0: not flat */
	unsigned nbands;
	uint32_t bands[4];
};
int layout_spec_parse(const char *text, struct layout_spec *ret_spec,
		      const char **ret_why);
/* bands= without axes: from the channel axis that was found, else (...,H,W,C). */
void layout_spec_pick_bands(const struct layout_spec *spec,
			    const struct desc *d, struct layout *l);
/* The other modifiers, on pictures that were found. */
void layout_spec_modify(const struct layout_spec *spec, struct layout *l);

/* ---- what a group's members say of each other (layout_siblings.c) ----
 * Multisets of small number tuples, so that a group of a million datasets
 * costs n log n. */
struct keyset {
	size_t count;
	uint64_t (*keys)[4];
};
struct siblings {
	uint32_t *words;	/* a member each */
	struct keyset labels;	/* {N}: label vectors */
	struct keyset stacks;	/* {N,H,W}: rank >= 4 holds N of H x W */
	struct keyset points;	/* {N,P}: float coordinates */
	struct keyset pictures; /* {indexed,N,H,W}: structural picture sets */
};
int siblings_init(struct siblings *s, const struct desc_group *g);
/* Once the members, and the parent's, have been decided: fills pictures. */
int siblings_add_pictures(struct siblings *s, const struct desc_group *g);
void siblings_done(struct siblings *s);
size_t keyset_count(const struct keyset *set, const uint64_t key[4]);
/* Does a member of rank >= 4 hold n pictures of h x w, either way round? */
bool siblings_have_stack(const struct siblings *s, uint64_t n, uint64_t h,
			 uint64_t w);

/* Once all members have been decided: for layout_label_candidates(). */
void labels_index(struct desc_group *g);

/* ---- norm.c ---- */
/* The rule that the attribute h5fs.norm names, if the dataset's type can have it
 * and only its values would tell; else NORM_RANGE. */
enum norm_kind norm_stored(const struct desc *d);

/* ---- rules ---- */
/* The answer of a rule: not mine, pictures, encoded files, or certainly not
 * pictures. */
enum verdict { V_PASS, V_PICTURES, V_ENCODED, V_NOT };
struct question {
	const struct desc_group *g;
	const struct siblings *siblings;
	const struct desc *d;
	const struct layout_probe *probe;
	const struct layout_spec *spec; /* NULL: none */
	bool spec_of_user;		/* and not of the attribute */
	const char *spec_error;		/* the user's SPEC does not parse */
	uint32_t words, parent_words;
	int evidence; /* 2 strong, 1 weak, 0 none, -1 against */
};
typedef enum verdict layout_fit(const struct question *q, struct layout *l);

/* Rows of the table in layout.c; a rule's file is named by its letter. */
layout_fit fit_r1_explicit, fit_r2_encoded;
layout_fit fit_d1_image, fit_d3_axes, fit_d4_scales, fit_d5_nexus, fit_d6_nwb;
layout_fit fit_p1_matlab, fit_p3_exchange, fit_p4_bdv, fit_p5_imaris,
	fit_p6_nxdata, fit_p7_velox;
layout_fit fit_s1_channels_last, fit_s2_channels_first, fit_s3_count_last,
	fit_s4_nested, fit_s5a_hwc, fit_s5b_chw, fit_s5c_stack, fit_s6_single,
	fit_s7_companion;

/* Gives l these roles; all other axes of d become index axes. */
enum verdict layout_set(struct layout *l, const struct desc *d, int y, int x,
			int c, const char *axes);
/* The same from a letter an axis ('y', 'x', 'c', 0). A channel axis that is
 * none (1, 3, 4 for integers) becomes an index axis, unless bands are picked. */
enum verdict layout_set_roles(struct layout *l, const struct question *q,
			      const char *roles, const char *axes);
bool desc_is_uint(const struct desc *d, unsigned size);
bool desc_is_u8(const struct desc *d);	    /* or bool */
bool desc_is_integer(const struct desc *d); /* not bool */
bool desc_is_float(const struct desc *d);
static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}
static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}
/* Is a x b within `ratio` tenths of a square? */
bool aspect_within(uint64_t a, uint64_t b, unsigned ratio);


/* ---- decoding (picture.c, decode_*.c) ---- */
struct decoding {
	const uint8_t *bytes;
	size_t n;
	const char *format; /* "PNG" */
	uint64_t max_pixels, max_bytes;
	struct picture picture;
	unsigned orientation; /* EXIF's 1..8; others: as it is */
	char **ret_why;
};
typedef int decode_fn(struct decoding *d);
decode_fn decode_png, decode_bmp;
decode_fn decode_jpeg, decode_tiff, decode_webp, decode_gif; /* decode_vips.c */
void png_version(struct strbuf *out);
void vips_versions(struct strbuf *out);
/* Puts the line into *ret_why, if that is wanted, and returns r. */
int picture_why(char **ret_why, int r, const char *fmt, ...) PRINTF(3, 4);
/* Sets the size of d->picture and makes its pixels, not yet written; -EFBIG beyond
 * the limits. */
int picture_begin(struct decoding *d, uint64_t width, uint64_t height,
		  unsigned channels, unsigned bits);
/* Pixels of p's shape, not yet written. -EFBIG: over 2 GiB; -ENOMEM. */
int picture_alloc(struct picture *p);
static inline size_t picture_pixel_bytes(const struct picture *p)
{
	return (size_t)p->channels * p->bits / 8;
}
static inline size_t picture_row_bytes(const struct picture *p)
{
	return p->width * picture_pixel_bytes(p);
}

/* ---- orient.c ---- */
/* A SHORT of the first directory of a TIFF file, or of EXIF data, which is one;
 * 0: it is not there. */
unsigned tiff_short(const uint8_t *bytes, size_t n, uint16_t tag);
#define TIFF_PHOTOMETRIC 0x0106
#define TIFF_ORIENTATION 0x0112
/* Turns p so that what EXIF's orientation says is done. */
int picture_orient(struct picture *p, unsigned orientation);

/* ---- resample.c ---- */
/* What lies in the box of p (left, top, right, bottom, in pixels), as a picture
 * of this size. */
struct picture_box {
	double x0, y0, x1, y1;
};
int picture_resample(const struct picture *p, const struct picture_box *box,
		     uint32_t width, uint32_t height,
		     struct picture *ret_picture);
int picture_nearest(const struct picture *p, const struct picture_box *box,
		    uint32_t width, uint32_t height,
		    struct picture *ret_picture);

#endif
