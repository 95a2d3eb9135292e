/* SPDX-License-Identifier: MIT */
/* layout.h - how a dataset is told to be pictures, and how values become
 * pixels. The rules work on plain descriptions: no HDF5, no files.
 *
 * The ordered decision table, its ids (R1, D3, S5c, N6...) and its reasons are
 * in tests/layouts/RULES.md. First row that fires wins. */
#ifndef H5FS_LAYOUT_H
#define H5FS_LAYOUT_H

#include "h5fs/array.h"

#define LAYOUT_MAX_RANK DT_MAX_RANK

/* ---- what a rule may know ---- */
/* A small attribute, as text or as numbers. An array of one-byte strings is
 * joined into one text beforehand (Imaris). Trailing NUL and space of texts are
 * already cut. An object reference is given as text: the path of its target. */
struct fact {
	char *name;
	size_t ntexts;
	char **texts;
	size_t nnums;
	double *nums;
	bool array; /* was not scalar */
};
struct facts {
	size_t count;
	struct fact *facts;
};
void facts_done(struct facts *f);
const struct fact *facts_find(const struct facts *f, const char *name);
/* The text of a scalar or one-element string attribute, or NULL. */
const char *facts_text(const struct facts *f, const char *name);
/* Attributes that the rules ask for; a store need read no others. NULL-ended.
 * On datasets and on groups. */
extern const char *const layout_dataset_facts[];
extern const char *const layout_group_facts[];

enum desc_kind {
	DESC_NULL,   /* null dataspace */
	DESC_NUMBER, /* bool, ints, floats; after T2, T3 */
	DESC_BYTES,  /* an element may be an encoded file (rule R2) */
	DESC_STRING, /* text that may also be an encoded file */
	DESC_OTHER,
};
enum desc_num { NUM_BOOL, NUM_UINT, NUM_INT, NUM_FLOAT };
enum desc_sub { SUB_NONE, SUB_ARRAY /* T2 */, SUB_COMPOUND /* T3 */ };

struct desc {
	char *name;		/* last component of path, bytes as stored */
	char *path;		/* canonical path */
	enum desc_kind kind;
	enum desc_num num;	/* DESC_NUMBER */
	unsigned num_size;	/* bytes of one number */
	bool is_enum;		/* has names other than FALSE, TRUE */
	bool matlab_logical;	/* MATLAB_class = logical */
	enum desc_sub sub;
	uint32_t sub_offset[4]; /* SUB_COMPOUND: byte of each channel */
	uint32_t element_size;	/* bytes of a stored element in memory */
	unsigned stored_rank;	/* axes of the dataset; the rest is T2/T3's */
	unsigned rank;		/* effective shape S */
	uint64_t dims[LAYOUT_MAX_RANK];
	uint64_t maxdims[LAYOUT_MAX_RANK]; /* UINT64_MAX: unlimited; stored axes */
	uint64_t chunk[LAYOUT_MAX_RANK];   /* stored axes; chunk[0] 0: not chunked */
	bool vlen;		/* DESC_BYTES of variable length */
	struct facts facts;
	char *scale[LAYOUT_MAX_RANK]; /* DIMENSION_LIST: name of the axis' first
				       * scale, last component; NULL: none */
	bool has_scales;	      /* DIMENSION_LIST is there */
	void *arg;		      /* the describer's; handed back to probes */
	struct { /* of hash chains in the group's members: position + 1 */
		uint32_t head, next;
	} label_chains[2]; /* layout_label_candidates()'s */
};
void desc_done(struct desc *d);
/* Fills kind, num, sub, dims and rank from a type and a dataspace (T1..T5). */
int desc_set_type(struct desc *d, const struct dtype *type, bool null,
		  unsigned rank, const uint64_t *dims);

/* Data that some rules look at. Return 0 or a negative errno; a rule takes an
 * error for "can not be said" and does not fire. */
struct layout_range;
struct layout_probe {
	/* Smallest and largest finite value over all channels, without values
	 * equal to *fill (NULL: none) and, for unsigned of 4 and 8 bytes, the
	 * all-ones value. Scans everything up to 64 MiB, else at most 16 evenly
	 * spread samples of axis 0 within 64 MiB. -ENODATA: no such value. */
	int (*range)(void *arg, const struct desc *d, const double *fill,
		     struct layout_range *ret_range);
	/* Of the first 64 rows of axis 0: values 0/1 and exactly one 1 along
	 * `axis` (counted on stored axes; negative from the end). */
	int (*onehot)(void *arg, const struct desc *d, int axis, bool *ret_onehot);
	/* At most the first `max` bytes of element i (rank 0, rank-1 bytes: i=0),
	 * and its full length. */
	int (*head)(void *arg, const struct desc *d, uint64_t i, uint8_t *buf,
		    size_t max, uint64_t *ret_len);
};
struct layout_range {
	double lo, hi;
	bool complete; /* every value was looked at */
	bool whole;    /* complete, all finite, all whole numbers */
};

/* ---- what the user says (rule R1): -o layout=, range= or FILE.h5fs ---- */
struct layout_user {
	char *layout; /* SPEC text or NULL */
	bool has_range;
	double range_lo, range_hi;
};
/* Checks SPEC's syntax alone. On -EINVAL *ret_why (if wanted) is a static text. */
int layout_check_spec(const char *spec, const char **ret_why);

/* ---- the answer ---- */
enum layout_kind { LAYOUT_NONE, LAYOUT_PICTURES, LAYOUT_ENCODED };
struct layout {
	enum layout_kind kind;
	char rule[16];	/* "S1", "S1+O3", "R2", "K", "P2" */
	char why[120];	/* one line for people */
	char axes[64];	/* "NHWC", "MATLAB HWCN", "t z y x c" ... */
	/* Axes of the effective shape. With flat_h, axis `x` of it is split into
	 * (h,w[,c]) and y, c are -1. */
	int y, x, c;	      /* c: -1 none */
	unsigned nindex;      /* index axes, outermost first; 0: one picture */
	uint8_t index[LAYOUT_MAX_RANK];
	uint32_t flat_h, flat_w, flat_c;
	uint64_t crop[LAYOUT_MAX_RANK]; /* 0: whole axis */
	bool flip_y, flip_x;
	bool invert;	   /* IMAGE_WHITE_IS_ZERO */
	bool as_unsigned;  /* signed bits are unsigned (P4) */
	bool palette;	   /* PALETTE attribute holds a (n,3) uint8 dataset */
	bool bgr;	   /* R1 */
	unsigned nbands;   /* R1 bands=: channels taken from axis c */
	uint32_t bands[4];
	bool norm_sample;  /* R1 norm=sample */
	bool transposed;   /* R1 +transpose was applied (already in y, x) */
	bool companion;	   /* S7 */
	bool has_range;	   /* -o range= */
	double range_lo, range_hi;
};
/* Picture size in pixels and channels, samples, of a PICTURES layout.
 * -EOVERFLOW when they do not fit; samples may be 0. */
struct layout_shape {
	uint32_t height, width, channels; /* channels 1..4 */
	uint64_t count;			  /* pictures: product of index axes */
	uint64_t index_dims[LAYOUT_MAX_RANK];
};
int layout_shape(const struct layout *l, const struct desc *d,
		 struct layout_shape *ret_shape);

/* ---- deciding, a group at a time: rules look at siblings ---- */
struct desc_group {
	char *name, *path;
	struct facts facts;
	const struct desc_group *parent; /* NULL above the root */
	size_t count;
	struct desc *members;	  /* the group's datasets */
	struct layout *layouts;	  /* an answer each */
	bool model;		  /* the file is a model file (P2) */
	void *arg;
};
/* Fills g->layouts. users[i] may be NULL (users too). The parent's layouts must
 * have been decided. */
int layout_decide(struct desc_group *g, const struct layout_user *const *users,
		  const struct layout_probe *probe);
/* P2 for the whole file, from the root's facts and those of its child
 * model_weights (NULL: none); has_dependencies: _layer_checkpoint_dependencies
 * is a group in the root. */
bool layout_is_model(const struct facts *root, const struct facts *model_weights,
		     bool has_dependencies);

/* R2: extension ("jpg", "png", "gif", "bmp", "tif", "webp", "jp2") by the magic
 * of an element's first bytes (32 are enough), or NULL. len: its full length. */
const char *layout_magic(const uint8_t *head, size_t nhead, uint64_t len);
/* Length of the encoded file without the padding behind it. */
size_t layout_trim(const uint8_t *bytes, size_t len, const char *ext);
/* Does NAME end in an image suffix (".png", ".JPEG", ...)? */
bool layout_has_image_suffix(const char *name);

/* Label datasets for member `set` of g, which has been decided, best first
 * (RULES 9), judged by names and shapes alone: indices into g->members. Returns how many, at most max. */
size_t layout_label_candidates(const struct desc_group *g, size_t set,
			       uint64_t count, size_t *ret_members, size_t max);
/* Names of attributes and datasets that list class names, in order. NULL-ended. */
extern const char *const layout_class_name_lists[];
/* A mask by its name (S7 aside)? */
bool layout_is_mask_name(const char *name);

/* ---- normalisation: one rule, one range for a whole dataset ---- */
enum norm_kind {
	NORM_BINARY,	   /* N1, 1 channel: 1 bit */
	NORM_BINARY_RGB,   /* N1, colour: 0/255 */
	NORM_U8, NORM_U16, /* N2 */
	NORM_INVERTED,	   /* N2 of IMAGE_WHITE_IS_ZERO */
	NORM_RANGE,	   /* N3, -o range= */
	NORM_INT_U8, NORM_INT_U16,   /* N4 */
	NORM_INT_MINMAX,	     /* N5 */
	NORM_FLOAT_UNIT,	     /* N6 */
	NORM_FLOAT_SIGNED,	     /* N7 */
	NORM_FLOAT_BYTE,	     /* N8 */
	NORM_FLOAT_WHOLE,	     /* N8w */
	NORM_FLOAT_MINMAX,	     /* N9 */
	NORM_PALETTE,
};
struct norm {
	enum norm_kind kind;
	double lo, hi;	 /* RANGE, *_MINMAX; lo == hi: constant */
	bool empty;	 /* *_MINMAX of no finite value at all */
	bool has_fill;
	double fill;	 /* _FillValue: shown as 0 */
	bool packed;	 /* RANGE of signed bits that are unsigned */
	bool probed;	 /* N4 that was not a complete scan */
	unsigned bits;	 /* of a PNG channel: 1, 8, 16 */
};
const char *norm_name(enum norm_kind k); /* "float-unit" ... */
/* Is the kind known from type and attributes alone, with no look at data? */
bool norm_needs_probe(const struct layout *l, const struct desc *d);
/* Bits of a PNG channel where no probe is needed to tell them, else 0. */
unsigned norm_bits(const struct layout *l, const struct desc *d);
int norm_decide(const struct layout *l, const struct desc *d,
		const struct layout_probe *probe, struct norm *ret_norm);
/* Can a picture be turned back into values (the rule's append column)? */
bool norm_is_invertible(enum norm_kind k);

#endif
