/* SPDX-License-Identifier: MIT */
/* write_int.h - shared by the files that take in what is copied in. */
#ifndef H5FS_WRITE_INT_H
#define H5FS_WRITE_INT_H

#include "labels_int.h"

/* ---- classes ---- */
/* What a class folder says of the files in it. */
struct class_label {
	bool text; /* labels are texts: name is one; else number is it */
	int64_t number;
	char *name;
};

/* ---- label_value.c ---- */
/* One row of a label dataset, in memory form (of a VLSTR its bytes), for a class.
 * -EINVAL with the refusal: it can not hold it. */
int label_value(const struct dataset_info *in, const struct class_label *label,
		struct blob **ret_bytes, struct refusal *f);
/* The same for a text, padded as the type wants it: of a dataset of names. */
int text_value(const struct dtype *t, const char *text, size_t n,
	       struct blob **ret_bytes);
/* One row, or some, of a dataset as the writer wants it; bytes as above. */
int row_array(const struct dtype *t, unsigned rank, const uint64_t *dims,
	      unsigned axis, uint64_t nrows, const void *bytes, size_t size,
	      struct array **ret_array);

/* ---- set_members.c ---- */
struct members {
	struct object **of;
	size_t n;
	unsigned axis;	     /* the one that grows */
	struct object *group; /* all lie in it or below */
};
void members_done(struct members *m);
/* Of the row set that o belongs to, o among them. -EOPNOTSUPP with the refusal. */
int members_find(struct ns *ns, struct object *o, struct members *ret,
		 struct refusal *f);

/* ---- member_desc.c ---- */
/* One member by itself, whether it can grow or not. */
struct member_desc {
	struct ns *ns;
	struct state *st;
	struct norm norm;
	struct stage_member m;
};
/* norm and m are the caller's. */
int member_describe(struct object *o, unsigned axis, struct state *st,
		    struct norm *norm, struct stage_member *m,
		    struct refusal *f);
void member_desc_done(struct member_desc *d);
int member_desc_of(struct ns *ns, struct object *o, struct member_desc *ret,
		   struct refusal *f);

/* ---- sets.c ---- */
/* The dataset that holds the labels of o's rows, if it lies in FILE; or NULL. */
struct object *labels_of(struct ns *ns, struct object *o);
/* The object at an HDF5 path in the current generation. -ENOENT. */
int pin_path(struct ns *ns, const char *path, struct pin *ret_pin);
/* A description that is shared while FILE stays as it is. */
struct set_ref {
	unsigned refs;		/* under write->lock */
	const struct object *o; /* the one that was asked for */
	struct set_desc d;
};
int set_get(struct ns *ns, struct object *o, struct set_ref **ret_set,
	    struct refusal *f);
void set_put(struct set_ref *s);
DEFINE_CLEANUP(struct set_ref *, set_put)

/* ---- intake.c: what a file that is made in a directory becomes ---- */
enum intake_kind {
	INTAKE_NONE,   /* nothing is made here */
	INTAKE_SAMPLE, /* a row of the object, a dataset */
	INTAKE_OBJECT, /* an object in the group, or the pending directory */
};
struct intake {
	enum intake_kind kind;
	struct object *object; /* as long as the directory is pinned */
	char *dir;	       /* the directory's key, in the stage too */
	char *sub;	       /* what follows the object in it; or NULL */
	char *class_name;      /* as rows are known by it; or NULL */
	struct class_label label;
};
void intake_done(struct intake *in);
/* -ENOENT: not a directory where files are made. */
int intake_of(struct ns *ns, const struct pin *dir, struct intake *ret);
/* The class folder of a set by its key. */
int intake_of_class(struct ns *ns, struct object *o, const char *key,
		    struct intake *ret);
/* Names that are held back until they are renamed. */
bool name_is_held(const char *name);
/* The length of a name without its suffix. */
size_t stem_length(const char *name);
/* The key of a class folder: the same whatever classes= says. NULL: no memory. */
char *class_key(const struct classes *c, uint32_t ci);
/* The node of a file in a directory of this kind; counts a reference. */
int intake_node(struct ns *ns, const struct intake *in, const char *name,
		struct node *ret);
/* Back from such a node. */
struct place_name {
	struct object *object;
	char *dir, *sub, *name;
};
void place_name_done(struct place_name *pn);
int place_name_of(struct ns *ns, const struct pin *p, struct place_name *ret);

/* ---- open_file.c: files that are being written, or held back ---- */
/* A value for another member of the row, set before there is one. */
struct early_value {
	struct early_value *next;
	char *name, *text;
	size_t n;
};
struct open_file {
	struct open_file *next; /* in its chain; under write->lock, as are */
	unsigned refs;
	unsigned opens; /* handles of them */
	bool named;	/* the name leads to it */
	char *dir, *name;
	struct file_place {
		enum intake_kind kind;
		char *object; /* HDF5 path */
		char *class_name;
		struct class_label label;
		uint64_t parent; /* inode of the directory */
	} at;
	struct node replaces; /* a committed sample, with -o edit */
	bool is_replacement;
	bool covers; /* something else is listed under its name */
	char *fault_path;     /* for people */

	pthread_mutex_t lock; /* what follows; taken before all others */
	struct draft *draft;
	bool filled;	  /* the draft holds what was there before */
	bool judged;
	uint64_t version; /* of the draft when it was */
	int verdict;
	bool staged;	  /* by it */
	bool holds;
	uint64_t row;	  /* held while the file is open */
	struct early_value *early;
};
/* The file that a name leads to, or NULL; takes a reference. */
struct open_file *open_file_find(struct ns *ns, const char *dir,
				 const char *name);
struct open_file *open_file_of_sample(struct ns *ns, struct node n);
/* A new one; takes the name from whatever has it. */
int open_file_new(struct ns *ns, const struct intake *in, uint64_t parent,
		  const char *name, struct open_file **ret_file);
void open_file_put(struct ns *ns, struct open_file *f);
/* The name leads elsewhere from now on. */
void open_file_unname(struct ns *ns, struct open_file *f);
int open_file_rename(struct ns *ns, struct open_file *f,
		     const struct intake *in, uint64_t parent,
		     const char *name);
/* Does its name still lead to it, or was it removed, or another one put there? */
bool open_file_is_named(struct ns *ns, const struct open_file *f);
/* Is what was written seen, and not what became of it? Under its lock. */
bool open_file_is_seen(const struct open_file *f);
/* What has been written; under its lock. */
int open_file_read(struct open_file *f, uint64_t offset, size_t n,
		   struct ns_bytes *ret);
/* Names in dir that lead to such files, after those that are in *names. */
int open_file_names(struct ns *ns, const char *dir, struct stage_names *names);

/* ---- row_values.c ---- */
/* Index of the member with that dataset name; -1. */
int set_member_named(const struct set_desc *d, const char *name, size_t n);
/* Label and name of a new row, beside the value of its file. */
struct row_values {
	struct stage_value values[3];
	size_t n;
	struct blob *blobs[3]; /* what they are in */
};
void row_values_done(struct row_values *v);
/* Takes the blob. */
void row_values_put(struct row_values *v, unsigned member, struct blob *b);
int row_values_add(const struct set_desc *d, const struct class_label *label,
		   const char *name, size_t stem, struct row_values *v,
		   struct refusal *f);
/* A value for another member of a staged row, by a text; can it be one? */
int row_check_text(const struct set_desc *d, const char *name, const char *text,
		   size_t n, struct refusal *f);
int row_set_text(struct ns *ns, const struct set_desc *d, uint64_t row,
		 const char *name, const char *text, size_t n,
		 struct refusal *f);

/* ---- verdict.c ---- */
/* On what has been written; under the file's lock. */
int verdict_pass(struct ns *ns, struct open_file *f);
/* Can a file of this name be made in dir, of which in is known? */
int verdict_may_make(struct ns *ns, const struct pin *dir,
		     const struct intake *in, const char *name,
		     struct refusal *f);

/* ---- replace.c: committed samples, with -o edit ---- */
/* What a file that was copied in over it says. */
int replace_sample(struct ns *ns, struct node sample, const char *name,
		   const uint8_t *bytes, uint64_t size, const char *path,
		   struct refusal *f);
/* By the row of a file that is staged for the same dataset. */
int replace_by_row(struct ns *ns, struct node sample, const void *row,
		   size_t size, const char *path);
/* Another class. */
int relabel_sample(struct ns *ns, struct node sample,
		   const struct class_label *label, const char *path,
		   struct refusal *f);

/* ---- committed.c: the last names that this mount committed ---- */
struct committed;
int committed_new(struct committed **ret);
void committed_free(struct committed *c);
/* -ENOENT. */
int committed_find(struct ns *ns, const char *dir, const char *name,
		   uint32_t *ret_row);
void committed_add(struct committed *c, const char *dir, const char *name,
		   uint64_t row);
/* It is in another class now. */
void committed_move(struct ns *ns, const char *dir, const char *name,
		    const char *to_dir);

/* ---- new_class.c: folders of classes that no row has yet ---- */
int new_class_add(struct ns *ns, const struct object *o, const char *key);
/* The folder of that name. -ENOENT. */
int new_class_lookup(struct ns *ns, struct object *o, const char *name,
		     struct node *ret);
/* The i-th that has no folder in c; false: there is none. */
bool new_class_at(struct ns *ns, const struct object *o,
		  const struct classes *c, size_t i, char **ret_key);
/* The labelled set whose class folders are in dir; or NULL. */
struct object *class_set_of(struct ns *ns, const struct pin *dir);

/* ---- class_extend.c ---- */
/* A name for the class `number`, behind those that are declared. -ENOENT: none
 * are. *ret_number is what it got. */
int class_extend(struct ns *ns, struct object *o, const char *name,
		 const char *path, struct refusal *f);

/* ---- class_order.c ---- */
struct class_table;
void class_tables_free(struct class_table *t);
int class_order_keep(struct ns *ns, const struct object *o, struct classes *c);

/* ---- handles.c ---- */
enum handle_kind { HANDLE_WRITE, HANDLE_READ, HANDLE_CONTROL };
struct handle {
	enum handle_kind kind;
	struct open_file *file; /* WRITE; READ of what is being written */
	struct blob *bytes;	/* READ: what it was when it was opened */
	bool holds;		/* READ: the row */
	uint64_t row;
};
void handle_free(struct ns *ns, struct handle *h);
int handle_add(struct ns *ns, struct handle *h, ns_handle *ret);
/* Takes the reference on file. */
int handle_new(struct ns *ns, enum handle_kind kind, struct open_file *file,
	       ns_handle *ret);
/* Stays until it is taken out, by ns_release(), which comes after all else. */
struct handle *handle_of(struct ns *ns, ns_handle h);
struct handle *handle_take(struct ns *ns, ns_handle h);

/* ---- staged.c ---- */
/* The node of a file that is staged, or being written. -ENOENT. */
int staged_find(struct ns *ns, const struct intake *in, const char *name,
		struct node *ret);

/* ---- staged_show.c ---- */
/* Bytes of a staged file as it is seen; at most n from offset on. */
int staged_read(struct ns *ns, const struct pin *p, uint64_t offset, size_t n,
		struct ns_bytes *ret);
/* The file under that name, locked, if what was written is seen of it; or NULL. */
struct open_file *staged_seen(struct ns *ns, const struct place_name *pn);
void staged_unsee(struct ns *ns, struct open_file *f);
int staged_whole(struct ns *ns, const struct place_name *pn,
		 struct blob **ret_bytes);
int staged_stat(struct ns *ns, const struct pin *p, struct stat *ret_st);
/* -ENOENT becomes -ESTALE, once no commit is under way. */
int staged_gone(struct ns *ns, int r);
/* st_ino of a staged file: of the one that its directory's object gives. */
uint64_t staged_ino(uint64_t dir, const char *sub, const char *name);

/* ---- staged_list.c ---- */
struct staged_names; /* by the hashes of the names, of so many bits */
/* first: as they are now; else as they were when the listing began, if that is
 * still known. */
int staged_names_get(struct ns *ns, const struct intake *in, unsigned bits,
		     bool first, struct staged_names **ret);
void staged_names_put(struct ns *ns, struct staged_names *n);
void staged_lists_forget(struct ns *ns);
/* The first whose hash is not below; the name at a position. */
size_t staged_names_from(const struct staged_names *n, uint64_t hash);
/* NULL: there are no more. */
const char *staged_names_at(const struct staged_names *n, size_t i,
			    uint64_t *ret_hash);

#define HANDLE_CHAINS 1024
struct new_class {
	char *object, *key;
};
struct write_side {
	pthread_mutex_t lock; /* what follows */
	struct open_file *chains[HANDLE_CHAINS];
	unsigned nfiles; /* in them; atomic */
	unsigned nreplacing; /* atomic: files open over committed samples */
	struct handle **handles;
	uint32_t nhandles;
	struct set_ref *sets[4];
	unsigned next_set;
	struct committed *committed;
	struct new_class *classes;
	size_t nclasses;
	struct class_table *tables;
	struct staged_names *listings[4];
	unsigned next_listing;
	char *names_path; /* of the dataset of names that was looked at last, */
	struct blob *names_order; /* and its order; or NULL */
	uint64_t names_epoch;	  /* counts what may have changed names */
	char **checked; /* sets whose neighbours have been looked at */
	size_t nchecked;
};

#endif
