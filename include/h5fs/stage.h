/* SPDX-License-Identifier: MIT */
/* stage.h - what was copied in and is not in FILE yet: samples, and objects that
 * are still being put together. Knows neither names in a mount nor FUSE.
 *
 * One append-only log, DIR/stage, holds all of it, whatever the number of rows;
 * a record counts only with its checksum, and a torn tail is cut. What a call
 * returned 0 for survives the end of the process; what stage_sync() or a commit
 * returned 0 for survives a power cut. Nothing is made on disk before the first
 * record, and an empty log is removed. Thread-safe.
 *
 * A row set is datasets that grow together; a row is one sample: a value for each
 * member. A row is known by (class or none, stem: file name without suffix). */
#ifndef H5FS_STAGE_H
#define H5FS_STAGE_H

#include <time.h>

#include "h5fs/image.h"
#include "h5fs/store.h"

/* Why something was refused, for people. */
struct refusal {
	char *reason; /* what it was, and what the dataset holds */
	char *remedy; /* which option or command would accept it */
};
void refusal_done(struct refusal *r);
/* Sets both (unless they are set) and returns r. */
int refusal_set(struct refusal *f, int r, const char *remedy, const char *fmt, ...)
	PRINTF(4, 5);

/* ---- draft.c: the bytes of a file while it is being written ----
 * In memory up to 1 MiB, then in an unlinked file under TMPDIR or /var/tmp. Not
 * thread-safe: its owner has a lock. */
struct draft;
int draft_new(struct draft **ret_draft);
void draft_free(struct draft *d);
DEFINE_CLEANUP(struct draft *, draft_free)
int draft_write(struct draft *d, const void *buf, size_t n, uint64_t offset);
/* Fewer than n at the end of it. */
ssize_t draft_read(struct draft *d, void *buf, size_t n, uint64_t offset);
int draft_truncate(struct draft *d, uint64_t size);
uint64_t draft_size(const struct draft *d);
/* Counts changes: another verdict is due when it differs. */
uint64_t draft_version(const struct draft *d);
/* All of it, mapped or in memory; good until the next write. -EFBIG over max. */
int draft_bytes(struct draft *d, uint64_t max, const uint8_t **ret_bytes);
/* A descriptor that holds it (an unlinked file is made when there is none). */
int draft_fd(struct draft *d, int *ret_fd);

/* ---- npy.c, cast.c, value.c: files and texts to elements ---- */
struct npy {
	struct dtype *type; /* little-endian memory form */
	bool swap;	    /* some of it is stored big-endian */
	unsigned rank;
	uint64_t dims[DT_MAX_RANK];
	bool fortran;
	uint64_t offset, size; /* of the elements in the file */
};
void npy_done(struct npy *n);
/* A .npy file by its bytes (versions 1 to 3): size is that of the whole file.
 * -EINVAL with the refusal: no .npy, objects, truncated, too long. */
int npy_parse(const uint8_t *bytes, uint64_t size, struct npy *ret_npy,
	      struct refusal *f);
/* Its elements, C order, native, as a packed blob. -EILSEQ: text that is none. */
int npy_elements(const struct npy *n, const uint8_t *bytes, struct blob **ret);
/* Elements of one type as another, both plain; -EINVAL where a value would be
 * lost (range, fraction, text cut), named in the refusal. Same class and size:
 * a copy. Integers to floats when exact; bool from exactly 0 and 1. */
int cast_elements(const struct dtype *from, const void *in, uint64_t n,
		  const struct dtype *to, void *out, struct refusal *f);
/* A text as setfattr gives it (SPEC 3) to elements of a known type and shape:
 * JSON; a string takes the text itself; an enum its name or number. */
int value_parse(const char *text, size_t n, const struct dtype *type,
		unsigned rank, const uint64_t *dims, struct array **ret_value,
		struct refusal *f);
/* The same where nothing is known: 3 int64, 0.5 float64, [1,2] an array, true
 * bool, anything else a UTF-8 string. */
int value_guess(const char *text, size_t n, struct array **ret_value);

/* ---- accept.c: a copied-in file to rows of a member ---- */
enum stage_role {
	STAGE_PICTURE, /* decoded by the layout's rule */
	STAGE_ENCODED, /* stored byte for byte */
	STAGE_ROWS,    /* .npy rows */
	STAGE_VALUE,   /* rank 1 or 2: numbers, strings; by .npy, setfattr */
	STAGE_LABEL, STAGE_NAME, /* filled by the row's class and name */
};
/* One dataset of a row set, as ns describes it. Copied by whoever keeps it. */
struct stage_member {
	char *path; /* HDF5 path */
	char *name; /* of the dataset: "images" */
	enum stage_role role;
	unsigned axis;	    /* the one that grows; rank: none, a row is all of it */
	unsigned rank;	    /* of the dataset, its dims as they are now, */
	uint64_t dims[DT_MAX_RANK]; /* dims[axis] is N */
	uint64_t chunk_rows; /* rows of a chunk; 0: not chunked */
	const struct dtype *type; /* memory form; of the dset it came from */
	/* PICTURE: its rule, borrowed from ns for the call. A row in memory form
	 * is [dims without axis] of type, C order. */
	const struct desc *desc;
	const struct layout *layout;
	const struct norm *norm; /* NULL: could not be decided */
	struct layout_shape shape;
	bool mask;
	const uint8_t *palette; /* of the dataset; else NULL */
	unsigned ncolours;
	const char *encoded; /* ENCODED: the extension its rows have; NULL: any */
};
/* Bytes of one row in memory form; 0 where it varies (VLSTR, VLEN of uint8). */
uint64_t stage_row_bytes(const struct stage_member *m);
struct accepted {
	uint64_t nrows;	       /* 1; of a .npy with one more axis, many */
	bool batch;	       /* it had one more axis */
	struct blob *rows;     /* nrows * stage_row_bytes(); where that is 0: the
				* bytes of the one row */
};
void accepted_done(struct accepted *a);
/* The verdict on a file that was copied in as name. keep: of a row that is
 * replaced, in memory form (pixels that did not change keep their value), or
 * NULL. */
int accept_file(const struct stage_member *m, const char *name,
		const uint8_t *bytes, uint64_t size, enum fit fit,
		const uint8_t *keep, struct accepted *ret, struct refusal *f);
/* A picture, or a .npy, as a new dataset. What is stored of a picture is (H,W)
 * or (H,W,C) of u8 or u16, and image says so. */
struct accepted_dataset {
	struct dtype *type;
	unsigned rank;
	uint64_t dims[DT_MAX_RANK];
	struct blob *data; /* NULL: the npy's bytes from offset on */
	uint64_t offset;
	bool image;
};
void accepted_dataset_done(struct accepted_dataset *a);
int accept_dataset(const char *name, const uint8_t *bytes, uint64_t size,
		   struct accepted_dataset *ret, struct refusal *f);

/* ---- stage.c: rows ---- */
struct stage;
struct stage_options {
	const char *dir; /* NULL: .FILE.h5fs; else a pointer stays there */
	struct faults *faults;
};
/* Reads back what is there. w: the writer of FILE, whose tag says what of a
 * commit that was interrupted is in FILE; it outlives the stage. *ret_why as in
 * store_open(). */
int stage_open(struct writer *w, const struct stage_options *o,
	       struct stage **ret_stage, char **ret_why);
void stage_close(struct stage *s);
DEFINE_CLEANUP(struct stage *, stage_close)
int stage_sync(struct stage *s);
/* The directory where this user has had what is staged for FILE (a path without
 * links) put. -ENOENT: no other than SIDE. */
int stage_elsewhere(const char *file, char **ret_dir);

/* The members as they are now. key: what a row is staged under, from mount to
 * mount the same (the path of its group and what keeps it apart there). */
struct stage_set {
	char *key;
	unsigned nmembers;
	struct stage_member *members;
	uint64_t rows; /* N */
	bool grow;     /* a member that cannot grow is rewritten (-o grow) */
};
/* A value for one member of one row. bytes: in memory form; of a VLSTR or VLEN
 * element its bytes. */
struct stage_value {
	unsigned member; /* in the set */
	const void *bytes;
	size_t size;
};
/* A file as it was copied in, shown in dir under name until it is committed. dir
 * is ns' own key of a directory ("/train/images", "/train/images\ncat"). */
struct stage_place {
	const char *dir;
	const char *class_name; /* NULL: none */
	const char *name;
	const char *stem;
	bool npy; /* shown as .npy, not as what the member is shown as */
};
/* Puts a file's value into the row of its identity that waits for it, or into a
 * new row; also (label, name) the others in values[1..], which do not replace
 * what the row has. A file that is there under the same dir and name is replaced.
 * -EINVAL: several rows wait for it (refusal). *ret_row: its number, ascending in
 * the order of close(). -EINVAL without a refusal: a value has not the length that
 * its member wants; -EBUSY: the file is being committed. */
int stage_put(struct stage *s, const struct stage_set *set,
	      const struct stage_place *place, const struct stage_value *values,
	      size_t nvalues, uint64_t *ret_row, struct refusal *f);
/* Many rows at once from a batch: rows of member are at bytes + i * row_bytes.
 * One file in the mount, one record in the log. */
int stage_put_batch(struct stage *s, const struct stage_set *set,
		    const struct stage_place *place, unsigned member,
		    const void *bytes, size_t row_bytes, uint64_t nrows,
		    uint64_t *ret_row, struct refusal *f);
/* A member's value of a row that is staged. Of a batch: a value for each row, or
 * one for all; of texts (VLSTR) each with its NUL, or one without any. -EINVAL: of
 * another length; -EBUSY: it is being committed, or was in part. */
int stage_set_value(struct stage *s, uint64_t row, const struct stage_set *set,
		    const struct stage_value *value);

/* A staged file. Strings are the caller's to free with stage_file_done(). */
struct stage_file {
	uint64_t row;
	uint64_t nrows;	    /* 1, or of a batch */
	bool batch, npy;
	char *set;	    /* key */
	char *member;	    /* path */
	char *class_name;   /* or NULL */
	char *name;
	uint64_t size;	    /* bytes of its value(s) in memory form */
	struct timespec mtime;
};
void stage_file_done(struct stage_file *f);
/* -ENOENT. */
int stage_find(struct stage *s, const char *dir, const char *name,
	       struct stage_file *ret_file);
/* The value of a file: one row's bytes, or all of a batch. */
int stage_read(struct stage *s, const char *dir, const char *name,
	       struct blob **ret_bytes);
/* A member's value of a row, -ENODATA when it has none. */
int stage_row_value(struct stage *s, uint64_t row, const char *member,
		    struct blob **ret_bytes);
/* Names in dir after `after` (NULL: from the first), in the order of names; at
 * most max. Frees with stage_names_done(). */
struct stage_names {
	size_t count;
	char **names;
};
int stage_list(struct stage *s, const char *dir, const char *after, size_t max,
	       struct stage_names *ret_names);
void stage_names_done(struct stage_names *n);
bool stage_is_empty(struct stage *s); /* nothing at all */
/* Removes a file: its value, and its row (or batch) once no file is left of it.
 * -EBUSY: it is being committed. */
int stage_drop(struct stage *s, const char *dir, const char *name);
/* Another name, directory or class; values[]: new ones that go with it, which
 * replace those of its own row. It joins the row that waits for it there; else its
 * row goes along where it has no other file, or only the class changes; else it
 * is a new row. A file of that name is replaced. -EXDEV: of another set. The
 * member stays: whoever moves it to another puts it anew. */
int stage_move(struct stage *s, const char *dir, const char *name,
	       const struct stage_set *set, const struct stage_place *to,
	       const struct stage_value *values, size_t nvalues,
	       struct refusal *f);
/* A row whose file somebody has open is not committed. Counted. */
void stage_hold(struct stage *s, uint64_t row);
void stage_release(struct stage *s, uint64_t row);

/* ---- commit.c ---- */
enum stage_commit_kind {
	STAGE_WHOLE_CHUNKS, /* hold back what does not fill a chunk */
	STAGE_ALL,	    /* all rows that are complete */
};
/* An attribute that goes with the first append to a set. */
struct stage_attr {
	const char *path, *name;
	const struct array *value;
};
/* Rows that became rows of FILE. */
struct stage_done {
	char *set;
	uint64_t first; /* index of the first one */
	uint64_t count;
	/* Of each row each of its files, nfiles in all. A batch has the index of
	 * its first; one that went in part is told too, and still there. */
	char **dirs;
	char **names;
	uint64_t *rows; /* their index in FILE */
	size_t nfiles;
};
struct stage_result {
	size_t count;
	struct stage_done *sets;
};
void stage_result_done(struct stage_result *r);
/* Keys of the sets that have rows staged; stage_names_done(). */
int stage_sets(struct stage *s, struct stage_names *ret_keys);
/* One transaction over all sets given. 0 also when there was nothing to do. On an
 * error all stay staged; *ret_why is one line for people. A row whose values have
 * not the length that the dataset wants now is told as a fault, and left. */
int stage_commit(struct stage *s, struct writer *w, const struct stage_set *sets,
		 size_t nsets, const struct stage_attr *attrs, size_t nattrs,
		 enum stage_commit_kind kind, struct stage_result *ret_result,
		 char **ret_why);
/* Drops staged rows, with all their files, and pending objects below dir (NULL:
 * everything); name NULL: all in it. Counts both. What is being committed stays. */
int stage_discard(struct stage *s, const char *dir, const char *name,
		  uint64_t *ret_rows);

struct stage_waiting {
	char *set, *name; /* key; a file of the row */
	char *class_name; /* or NULL */
	char *missing;	  /* "labels, masks" */
};
struct stage_status {
	uint64_t rows, waiting, bytes; /* staged; of them not complete; in the log */
	int64_t idle_ms; /* since the last close(), or what was staged was read
			  * back; -1: never */
	/* Is there a set whose complete rows fill a chunk beyond what FILE holds? As
	 * of the sets that were last given to stage_put(). */
	bool chunk_full;
	uint64_t complete;	       /* rows that could be committed */
	uint64_t pending;	       /* directories that end in .part */
	size_t nlist;		       /* at most 100 of those that wait */
	struct stage_waiting *list;
};
int stage_get_status(struct stage *s, struct stage_status *ret_status);
void stage_status_done(struct stage_status *st);

/* ---- tree.c: objects put together before they appear ----
 * Below a directory whose name ends in .part. Paths are as in the mount: from
 * FILE's root, names with their suffixes ("/patients/P201.part/oct.npy"). */
enum tree_kind { TREE_DIR, TREE_DATASET, TREE_LINK };
struct tree_node {
	enum tree_kind kind;
	char *name;	 /* last component */
	uint64_t size;	 /* DATASET: of the file as it is read back */
	char *target;	 /* LINK */
	struct timespec mtime;
};
void tree_node_done(struct tree_node *n);
int tree_mkdir(struct stage *s, const char *path);
int tree_link(struct stage *s, const char *path, const char *target);
/* bytes: of the .npy file as it was copied in, or of a picture (image) its values
 * as a .npy file. Replaces. */
int tree_put(struct stage *s, const char *path, const void *bytes, size_t size,
	     bool image);
int tree_attr(struct stage *s, const char *path, const char *name,
	      const char *text, size_t n); /* text NULL: remove */
int tree_get_attr(struct stage *s, const char *path, const char *name,
		  struct blob **ret_text);
int tree_attrs(struct stage *s, const char *path, struct stage_names *ret_names);
int tree_find(struct stage *s, const char *path, struct tree_node *ret_node);
/* Of a DATASET: the .npy bytes, and whether it is an image. */
int tree_read(struct stage *s, const char *path, struct blob **ret_bytes,
	      bool *ret_image);
int tree_list(struct stage *s, const char *path, const char *after, size_t max,
	      struct stage_names *ret_names);
/* Is there a pending directory in, or below, a directory of FILE? */
bool tree_is_below(struct stage *s, const char *dir);
/* Within pending directories, or of a whole one to another pending name. */
int tree_move(struct stage *s, const char *from, const char *to);
int tree_remove(struct stage *s, const char *path); /* -ENOTEMPTY */
/* All below `path` becomes the group `to` of FILE (an HDF5 path), one
 * transaction. Names lose their .npy, images their suffix; a link's target, from
 * the directory that the link is in, becomes a path in FILE. */
int tree_publish(struct stage *s, struct writer *w, const char *path,
		 const char *to, char **ret_why);
/* One object at once, without a stage: what accept_dataset() gave, as HDF5 path;
 * an image gets the attributes of the HDF5 image specification. Within a
 * transaction. */
int stage_write_dataset(struct writer *w, const char *path,
			const struct accepted_dataset *a, const uint8_t *bytes);

#endif
