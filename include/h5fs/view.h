/* SPDX-License-Identifier: MIT */
/* view.h - a dataset, or one sample of it, as the bytes of a file.
 *
 * Variation is a table of const rows: one renderer a file view_<name>.c. */
#ifndef H5FS_VIEW_H
#define H5FS_VIEW_H

#include "h5fs/image.h"
#include "h5fs/layout.h"
#include "h5fs/store.h"

enum matlab_class {
	MATLAB_NONE, /* no MATLAB_class attribute */
	MATLAB_NUMBER, MATLAB_LOGICAL, MATLAB_CHAR, MATLAB_CELL, MATLAB_OTHER,
};
/* What a view is made of. Borrowed: outlives every call it is given to. */
struct view_source {
	struct dset *dset;
	const struct desc *desc;
	const struct layout *layout;
	struct layout_shape shape; /* PICTURES; ENCODED: count, nindex axes */
	const struct norm *norm;   /* PICTURES, once decided; else NULL */
	struct store *store;
	enum matlab_class matlab;
	bool matlab_empty;    /* the values are MATLAB's dims */
	bool sample_row;      /* member of a row set: rank >= 3 rows as .npy */
	bool eight_bits;      /* 16-bit pictures in 8 by the dataset's range */
	const uint8_t *palette; /* layout->palette: ncolours RGB triples */
	unsigned ncolours;
	unsigned nspacing; /* voxel spacing an axis of the dataset, C order */
	double spacing[8];
	/* Cell of char and the like: reads the dataset a reference names.
	 * Path as in DT_REF. May be NULL. */
	int (*follow)(void *arg, const char *path, struct dset **ret_dset);
	/* A sample's values lie outside the range that a probe found and are cut
	 * to it. May be NULL. */
	void (*clipped)(void *arg, uint64_t index);
	void *arg;
};

/* A file is addressed by range (read), or made of blocks whose lengths are
 * known only when they are rendered (blocks, render); one of the two. index is
 * the sample (row-major over the index axes), 0 for a whole dataset. */
struct view_ops {
	const char *name;
	const char *suffix; /* with the dot; NULL: depends on the sample */
	/* Whole datasets: is D.suffix one of the listed entries? */
	bool (*accepts)(const struct view_source *s);
	/* Exact, by arithmetic. -EAGAIN: it must be measured (or a norm is
	 * missing). NULL: always measured. */
	int (*size)(const struct view_source *s, uint64_t index,
		    uint64_t *ret_size);
	/* Bytes [offset, offset+n), which lie inside the file. */
	int (*read)(const struct view_source *s, uint64_t index, uint64_t offset,
		    size_t n, uint8_t *buf);
	uint64_t (*blocks)(const struct view_source *s, uint64_t index);
	int (*render)(const struct view_source *s, uint64_t index, uint64_t block,
		      struct blob **ret_blob);
};
/* Order of listing: at most one of the rows below the line is the dataset's
 * readable form; .npy stands beside it. */
extern const struct view_ops view_npy;	   /* D.npy */
extern const struct view_ops view_png;	   /* sample or single picture */
extern const struct view_ops view_encoded; /* stored bytes; measured */
extern const struct view_ops view_row;	   /* D/000000.npy: one row of axis 0 */
extern const struct view_ops view_numbers; /* D.txt of numbers, rank <= 2 */
extern const struct view_ops view_text;	   /* D.txt of strings, chars, cells */
extern const struct view_ops view_csv;
extern const struct view_ops view_json;
extern const struct view_ops view_bin;
extern const struct view_ops view_nrrd;	   /* unlisted */
/* Every view that stands for a whole dataset (npy, single png/encoded, numbers,
 * text, csv, json, bin), in listing order. NULL-ended. A scalar string is .json
 * if it parses as an object or array, so accepts() may read it. */
extern const struct view_ops *const view_whole[];

/* Name of an encoded element's type by its own bytes: "jpg"; "" for an empty
 * one or one without a magic. */
int view_encoded_ext(const struct view_source *s, uint64_t index,
		     const char **ret_ext);

/* The norm one sample is drawn by: its own range under norm=sample. */
int view_png_norm(const struct view_source *s, uint64_t index,
		  struct norm *ret_norm);

/* ---- what is not in the dataset yet ---- */
/* The picture of a row in memory form: [dims without axis] of the dataset's type,
 * C order. One index axis, which is `axis`; the source has its norm. */
int view_png_row(const struct view_source *s, unsigned axis, const void *row,
		 struct blob **ret_blob);
/* A .npy file of elements in memory form, and its size. -EINVAL: NumPy's format
 * can not hold the type. */
int npy_of_elements(const struct dtype *t, unsigned rank, const uint64_t *dims,
		    const void *elements, uint64_t size,
		    struct blob **ret_blob);
int npy_size_of_elements(const struct dtype *t, unsigned rank,
			 const uint64_t *dims, uint64_t size,
			 uint64_t *ret_size);

/* ---- slices: D[100:105,:,::2].npy ---- */
struct slice {
	unsigned rank; /* of the dataset */
	uint64_t start[DT_MAX_RANK], count[DT_MAX_RANK], step[DT_MAX_RANK];
	bool reverse[DT_MAX_RANK]; /* negative step: start is the lowest index */
	bool drop[DT_MAX_RANK];	   /* an integer: the axis goes away */
};
/* NumPy basic slicing (integers, slices, ...); no newaxis. Text is what is
 * between the brackets. -ENOENT: not a slice, or an integer out of range. */
int slice_parse(const char *text, unsigned rank, const uint64_t *dims,
		struct slice *ret_slice);
int slice_size(const struct view_source *s, const struct slice *sl,
	       uint64_t *ret_size);
int slice_read(const struct view_source *s, const struct slice *sl,
	       uint64_t offset, size_t n, uint8_t *buf);

/* ---- values as text ---- */
/* The text form of an attribute (SPEC 3): a scalar string as it is, a number as
 * the shortest decimal that reads back the same, enums by name, references as
 * paths, arrays and compounds as JSON; null is the empty text. */
int text_of_array(const struct array *a, struct strbuf *out);
/* One element as JSON. Non-finite numbers are the strings "nan", "inf", "-inf";
 * complex [re, im]; bytes of strings that are not UTF-8 become the four
 * characters \\xHH, so that the text is JSON whatever the file holds. */
void json_of_element(const struct dtype *t, const void *element,
		     struct strbuf *out);
void json_of_string(const char *s, size_t n, struct strbuf *out);
/* NumPy's name of a type: "<u2", "|b1", "|S5", "[('a', '<i4'), ...]", or for
 * others a plain word: "string", "vlen <f4", "reference". */
void text_of_dtype(const struct dtype *t, struct strbuf *out);
/* A committed datatype for people. */
int text_of_datatype(const struct dtype *t, struct strbuf *out);

#endif
