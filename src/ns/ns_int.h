/* SPDX-License-Identifier: MIT */
/* ns_int.h - shared by the files of the ns room only.
 *
 * Locks, outer to inner: handle.lock > ns.commit > ns.refresh > ns.load > ns.tables > ns.states >
 * state.slow > state.lock, and all of them before the store's. The tables lock is
 * never held across a call into store or view; ns.load and those of a state are.
 * ns.told and ns.marks_lock are taken last. */
#ifndef H5FS_NS_INT_H
#define H5FS_NS_INT_H

#include "h5fs/layout.h"
#include "h5fs/ns.h"
#include "h5fs/store.h"
#include "h5fs/view.h"

/* ---- nodes: what an inode number says ---- */
#define NODE_MAX_OBJECT (1u << 24)
#define NODE_EPHEMERAL 0xf00000u /* objects from here on are ephemeral slots */
#define NODE_MAX_EPHEMERAL 0xfffffu

enum node_view {
	V_DIR = 0,    /* a group; the sample directory D/ */
	V_SAMPLE = 1, /* D/000007.png: index is the sample */
	V_WHOLE = 2,  /* + position in view_whole[] */
	V_NRRD = 16,
	V_ATTRS = 17, /* .attrs/, .attrs.D/ */
	V_ATTR = 18,  /* index: position in the attribute list */
	V_BYCLASS = 19,
	V_CLASS = 20,	/* index: class */
	V_LINK = 21,	/* index: entry of the group */
	V_H5FS = 22,	/* .h5fs/ */
	V_CONTROL = 23, /* index: enum control_file */
	V_TYPE = 24,	/* a committed datatype's D.txt */
	V_QUERY = 25,	/* ephemeral: @EXPR/ */
	V_QLINK = 26,	/* ephemeral: index: link in it */
	V_SLICE = 27,	/* ephemeral: D[...].npy */
	V_STAGED = 28,	/* ephemeral: a file copied in, not committed yet */
	V_DRAFT = 29,	/* ephemeral: a file being written, or held back */
	V_PENDING = 30, /* ephemeral: in a directory that ends in .part */
	V_NEWCLASS = 31, /* ephemeral: a class folder that mkdir made, of a set
			  * whose labels have no list of names to extend */
	V_SUB = 64,	/* + level: D/000001/, index: row-major prefix */
};
struct node {
	uint32_t object;
	uint8_t view;
	uint32_t index;
};
static inline uint64_t node_ino(struct node n) /* {0,0,0} is the root's */
{
	return ((uint64_t)n.object << 40 | (uint64_t)n.view << 32 | n.index) +
	       1;
}
static inline struct node node_of(uint64_t ino)
{
	ino--;
	return (struct node){ (uint32_t)(ino >> 40), (uint8_t)(ino >> 32),
			      (uint32_t)ino };
}

/* ---- one generation of FILE ---- */
struct object;
struct gen {
	struct store *store;
	struct faults *faults;
	struct object *root;
	struct object
		*objects; /* all, newest first: freed with the generation */
	uint64_t lookups; /* atomic: references the kernel holds */
	uint32_t users;	  /* atomic: calls under way */
	bool superseded;  /* by a commit of this mount: its objects go on as the
			   * next generation's, under their numbers */
	int64_t listed;	  /* objects numbered */
	int moment; /* atomic: error of a probe that says nothing of FILE */
	struct label_store *label_stores;
	size_t nlabel_stores;
	bool model;
	struct gen *next; /* older */
};

/* ---- objects ---- */
enum object_kind { OBJECT_GROUP, OBJECT_DATASET, OBJECT_DATATYPE };
struct group;
struct object {
	uint32_t number;
	uint32_t ephemerals; /* slots that name it; under ns.tables */
	uint64_t lookups;    /* atomic: what the kernel holds of its nodes */
	struct object *was;  /* the same in a superseded generation, or NULL */
	bool gone;	     /* under ns.tables: not to be taken for a later one */
	bool rewritten;	     /* under ns.tables: values changed in this mount */
	uint64_t serial; /* never used twice, as the number is */
	enum object_kind kind;
	struct gen *gen;
	struct object *parent; /* the group it lies in; NULL: root */
	struct object *older;  /* gen.objects */
	char *name;	       /* of the link, as stored */
	struct obj_info info;
	struct group *group; /* groups: NULL until loaded; atomic */
	/* datasets: */
	const struct layout *layout; /* of its group; never NULL once decided */
	const struct desc *desc;     /* kept where the group is small */
	uint64_t layout_key; /* in st_ino: other pictures, other number */
	uint64_t count;	     /* samples: pictures, elements or rows */
	uint64_t rows;	     /* length of axis 0; 0: scalar */
	uint32_t rank;
	bool directory;	       /* D/ exists */
	bool row_member;       /* a value a row, for xattrs of samples */
	bool in_rows;	       /* may belong to a row set: axis 0 is its rows */
	bool leads_rows;       /* and makes one of the datasets beside it */
	bool grows;	       /* along axis 0 */
	uint8_t splits;	       /* train, test, val in its name */
	bool row_files;	       /* D/000000.npy */
	bool is_labels;	       /* of a set beside it */
	bool labelled;	       /* a label dataset was found by name and shape */
	bool hidden;	       /* answers, is not listed */
	char *label;	       /* single picture: its attribute `label` */
	struct object *labels; /* the label dataset; NULL: see labels_store */
	struct state *state;   /* under ns.states */
	struct rule_match *rules; /* of the user, for this path; NULL: none */
};
struct rule_match {
	struct layout_user layout;
	struct ns_rule *labels, *names;
};

/* ---- a loaded group ---- */
enum child_kind {
	CHILD_OBJECT,
	CHILD_SOFT,
	CHILD_REFUSED,
	CHILD_CYCLE,
	CHILD_ALIAS
};
struct child {
	char *name; /* as stored; children are sorted by it, bytewise */
	enum child_kind kind;
	struct object *object; /* OBJECT */
	char *target;	       /* SOFT: path; REFUSED, CYCLE: link text; ALIAS:
				* canonical path of the group */
};
struct entry {
	char *name;   /* as shown */
	char *target; /* symbolic links */
	struct object *object;
	struct object *to; /* symbolic links: where it leads; NULL: nowhere */
	uint8_t view;
	uint32_t index; /* classes view: class */
	uint64_t size;	/* UINT64_MAX: to be measured */
};
enum group_phase { GROUP_LINKS = 1, GROUP_DECIDED, GROUP_ENTRIES };
struct group {
	enum group_phase phase;
	size_t nchildren;
	struct child *children;
	size_t nentries;
	struct entry *entries;
	uint32_t *hash; /* entries by name: position + 1, 0 empty */
	uint32_t nhash; /* power of two */
	struct desc_group dg;
	bool dg_kept;
	struct layout *interned; /* distinct layouts of the members */
	size_t ninterned;
	bool has_labels;	 /* single pictures with an attribute `label` */
	struct classes *classes; /* of those */
};

/* ---- class folders ---- */
struct class_folder {
	char *name;	       /* as shown */
	char *label;	       /* what the label is: text */
	int64_t number;	       /* its number */
	bool shared;	       /* another one has the same label */
	uint32_t first, count; /* in rows[] */
};
struct classes {
	bool text; /* labels are texts, not numbers with or without names */
	uint32_t count;
	struct class_folder *folders; /* by number; one without a name is gone */
	uint32_t shown;
	uint32_t *order; /* numbers of the others, in label order */
	uint32_t *rows;		      /* samples by class, ascending in each */
	uint32_t nrows;
	uint32_t *by_name; /* the same sorted by name */
};
void classes_free(struct classes *c);
struct class_names; /* declared names by label */
void class_names_free(struct class_names *n);
DEFINE_CLEANUP(struct classes *, classes_free)

/* ---- what is open of a dataset: built on use, dropped when long unused ---- */
struct size_index { /* of a measured file */
	uint64_t nblocks;
	uint64_t *ends; /* cumulative */
};
struct state {
	int refs;
	struct object *object;	   /* NULL once it was dropped from the table */
	struct state *prev, *next; /* least recently used last */
	struct view_source src;
	struct dset *dset;
	struct desc *own_desc;
	struct layout no_layout;
	uint8_t palette[768];
	pthread_mutex_t lock; /* what follows */
	bool norm_done;
	int norm_error;
	struct norm norm;
	struct size_index sizes[16];
	bool hot; /* asked for more than once */
	bool spacing_done;
	pthread_mutex_t slow; /* what takes a pass over the dataset: sizes,
			       * class folders, names of rows */
	bool classes_done;
	int classes_error;
	struct classes *classes;
	struct blob *name_order; /* rows by the hash of their names */
	bool names_damaged;
	struct class_names *class_names;
};

/* ---- what is not arithmetic ---- */
struct ephemeral {
	struct object *object; /* pins its generation through lookups */
	char *key;	       /* the name it answers to */
	uint8_t view;	       /* V_QUERY, V_SLICE */
	uint64_t refs;
	struct slice slice;
	size_t nlinks;
	struct entry *links; /* symbolic links of a query */
	uint32_t next_free;
	uint64_t hash;	    /* of object, view and key */
	uint32_t next_same; /* in its chain: slot + 1 */
};

enum control_file {
	CONTROL_STATUS,
	CONTROL_ERRORS,
	CONTROL_METRICS,
	CONTROL_COMMANDS, /* write-only; command.c */
	CONTROLS
};
struct snapshot {
	struct blob *bytes;
	int64_t at_ms;
	struct timespec mtime;
};

struct label_store { /* labels=PATH:FILE:LABELS */
	char *file;
	struct store *store;
};

struct list_mark { /* in directory dir, `at` entries in: behind this name */
	uint64_t dir, at;
	char *after;
};

#define OBJECT_PAGE 4096u
struct ns {
	char *file;
	struct ns_options opts;
	struct cache *cache;
	struct points *points; /* NULL: none */
	struct pool *pool;     /* NULL: a single core */
	struct faults *faults;
	uint64_t requests; /* atomic: reads answered */
	int64_t started_ms;

	pthread_mutex_t refresh;   /* what follows */
	struct strbuf stale_names; /* root entries that the kernel must drop */
	int64_t refreshed_ms;	   /* when a generation was last tried */
	int refresh_error;	   /* and what came of it */

	pthread_mutex_t load; /* loading groups */

	pthread_rwlock_t tables; /* what follows */
	struct gen *gen;	 /* the current one, older ones behind it */
	struct object **pages[NODE_MAX_OBJECT / OBJECT_PAGE];
	uint32_t nobjects; /* highest number + 1; 0 is the current root */
	struct store_stats past; /* of stores that are closed */
	uint64_t serials;
	uint32_t *free_numbers; /* of generations that are gone */
	uint32_t nfree, free_cap;
	struct ephemeral *eph;
	uint32_t neph, eph_free;
	uint32_t *eph_chains; /* slots by hash: slot + 1, 0 empty */
	uint32_t neph_chains; /* power of two */

	pthread_mutex_t states;
	struct state *newest, *oldest;
	unsigned nstates;

	pthread_mutex_t control;
	struct snapshot snapshots[CONTROLS];

	/* writing; NULL, NULL in a mount that only reads */
	enum ns_mode mode;
	char *mode_why;	 /* why it is not the one asked for; or NULL */
	char *recovered; /* what was done with an interrupted commit; or NULL */
	bool rewritten;	 /* atomic: some object was */
	bool detached;	 /* atomic: FILE was replaced; the writer is of no use */
	struct writer *writer;
	struct stage *stage;
	pthread_mutex_t commit; /* one transaction at a time; what follows */
	int64_t next_commit_ms; /* not before */
	char *commit_why; /* under told: why the last one failed; or NULL */
	struct write_side *write; /* write.c: open files */

	pthread_mutex_t marks_lock; /* what follows */
	struct list_mark marks[32];
	size_t next_mark;

	pthread_mutex_t told; /* what follows */
	struct ns_changes changes;
	void (*on_change)(void *arg);
	void *on_change_arg;
};

/* ---- ns.c ---- */
/* A node with its object, whose generation is pinned until pin_done(). */
struct pin {
	struct ns *ns;
	struct gen *gen;
	struct object *object; /* NULL: ephemeral */
	struct node node;
};
int pin_get(struct ns *ns, uint64_t ino, struct pin *ret_pin);
void pin_done(struct pin *p);
/* The kernel learned of a node (n > 0) or forgot it. */
void node_count(struct ns *ns, uint32_t number, int64_t n);
/* Did r come of a commit of this mount? Then the new generation serves now, and
 * the caller asks again; up to ten times, counted in *tries. */
bool ns_again(struct ns *ns, int r, unsigned *tries);
int object_new(struct ns *ns, struct gen *gen, enum object_kind kind,
	       struct object *parent, const char *name,
	       const struct obj_info *info, struct object **ret_object);
/* Does an error say that the object is damaged or beyond what can be shown, so
 * that all else goes on? The others are of the moment, or of FILE as a whole. */
static inline bool is_damage(int r)
{
	return r < 0 && r != -ENOMEM && r != -ESTALE && r != -EAGAIN &&
	       r != -EMFILE && r != -ENOSPC;
}
/* HDF5 path of an object; the caller frees it. NULL: no memory. */
char *object_path(const struct object *o);
int64_t now_ms(void);
void object_free(struct object *o);
/* Under the tables lock: o takes over the number, the references and the
 * ephemerals of what it was. */
void object_adopt(struct ns *ns, struct object *o);
/* All values of a dataset, or how they are shown, have changed: the kernel is to
 * keep nothing of it, from now on. */
void object_rewritten(struct ns *ns, uint32_t number);
bool object_is_rewritten(struct ns *ns, uint32_t number);
/* It is being removed, or moved: what comes to be under its path is another one. */
void object_gone(struct ns *ns, struct object *o, bool gone);
/* An object of a superseded generation is now the child `name` of dir. */
void object_moved(struct ns *ns, struct object *was, uint64_t dir,
		  const char *name);
/* Under the tables lock. */
void object_number_give(struct ns *ns, uint32_t number);

/* ---- gen.c ---- */
int gen_open(struct ns *ns, struct gen **ret_gen, char **ret_why);
void gen_free(struct ns *ns, struct gen *gen);
/* A new generation, if FILE has changed. Any thread; the keeper tells the kernel
 * by ns_refresh() afterwards. */
int refresh_now(struct ns *ns);

/* ---- tree.c ---- */
int group_load(struct ns *ns, struct object *g, enum group_phase phase);
int group_load_locked(struct ns *ns, struct object *g, enum group_phase phase);
const struct entry *group_find(const struct group *g, const char *name);
/* A soft link that leads to nothing, by the name of a file of its target. */
const struct entry *group_find_dangling(const struct group *g,
					const char *name);
struct child *group_child(const struct group *g, const char *name);
/* Child by the name it is shown with, without suffix. */
struct child *group_child_shown(const struct group *g, const char *shown);
/* ---- links.c ---- */
int links_load(struct ns *ns, struct object *g, struct group *grp);

/* ---- entry_table.c ---- */
int entries_index(struct group *g);
int entries_add(struct group *g, size_t *cap, const struct entry *e);
void group_free(struct group *g);
/* Follows an HDF5 path from group g through soft links. -ENOENT. */
int walk_path(struct ns *ns, struct object *g, const char *path, unsigned depth,
	      struct object **ret_object);

/* ---- entries.c ---- */
/* The file of a single picture: its name is the caller's to free, target NULL.
 * -ENOENT: it is none. */
int picture_entry(struct ns *ns, struct object *o, struct entry *ret_entry);
/* The files and the directory that a dataset is shown as, without names. */
struct shape_list {
	unsigned n;
	struct {
		const char *suffix;
		uint8_t view;
		uint64_t size;
	} of[12];
	bool bare; /* of[]'s encoded one keeps the dataset's own name */
};
int dataset_shapes(struct ns *ns, struct object *o, struct shape_list *ret);
int group_make_entries(struct ns *ns, struct object *g, struct group *grp);
int classes_make_entries(struct ns *ns, struct object *g, struct group *grp);
/* Relative path from directory of group `from` to that of group `to`: "..",
 * "../a/b", "." */
int relative_path(const struct object *from, const struct object *to,
		  struct strbuf *out);

/* ---- describe.c ---- */
int facts_load(struct gen *gen, const struct object *o,
	       const char *const *wanted, struct facts *ret_facts,
	       char **ret_label);
int describe_dataset(struct object *o, struct dset *d, struct desc *ret_desc,
		     char **ret_label);
extern const struct layout_probe ns_probe; /* desc.arg is the object */

/* ---- name.c ---- */
enum name_kind { NAME_PLAIN, NAME_GROUP };
/* The name as shown: escaped, suffix added, cut to 255 bytes with a hash where
 * it is longer (*ret_cut). The caller frees it. */
char *name_shown(const char *name, const char *suffix, enum name_kind kind,
		 bool *ret_cut);
/* Turns an escaped name back, in a fresh string. */
char *name_stored(const char *shown);
bool name_has_suffix(const char *name);	   /* one of the reserved suffixes */
char *name_escape_slash(const char *name); /* classes */
char *name_fitted(const char *name);	   /* cut to 255 bytes, with a hash */
char *name_of_attr(const char *attr);	   /* in .attrs/ */

/* ---- commit.c ---- */
/* One immediate transaction: begin, act, commit; then the new generation serves
 * before this returns. act's error, or the commit's (-ENOSPC, -EIO, -EBUSY), ends
 * it; why is told in the faults under path, by this function. No pin of the
 * caller's stays valid: get them afresh by number. */
int ns_transact(struct ns *ns, const char *path,
		int (*act)(void *arg, struct writer *w, struct refusal *f),
		void *arg);
/* Refuses: tells the fault once under path and returns r. */
int ns_refuse(struct ns *ns, const char *path, struct refusal *f, int r);
/* For the kernel: attributes and pages of an inode; a name in a directory. */
void ns_changed(struct ns *ns, uint64_t ino);
void ns_changed_name(struct ns *ns, uint64_t dir, const char *name);

/* The keeper is to tell it now; ns_transact() ends with this. */
void ns_tell(struct ns *ns);
/* A directory that ends in .part becomes the group `to` of FILE, as by
 * ns_transact(). */
int ns_publish(struct ns *ns, const char *path, const char *to);
/* Of what an object is shown as: attributes and pages. */
void ns_changed_object(struct ns *ns, const struct object *o);
/* Drops what is told; at the end. */
void commit_done(struct ns *ns);

/* ---- write.c: open files and what is written to them ---- */
int write_side_open(struct ns *ns);
void write_side_close(struct ns *ns);
/* Rows were committed: their names answer from now on. */
void write_committed(struct ns *ns, const struct stage_result *r);

/* ---- sets.c: row sets as the stage wants them ---- */
/* The set that a dataset belongs to, described as it is now: members with their
 * roles, layouts, norms. Holds the states of its members. */
struct set_desc {
	struct ns *ns;
	struct gen *gen; /* of the objects; pinned */
	struct stage_set set;
	struct object *group;
	struct object **objects; /* of each member */
	struct state **states;	 /* of each member, held */
	struct norm *norms;	 /* of each member that is pictures */
	unsigned member;	 /* the one that was asked for */
	int label, name;	 /* members that class and name fill; -1: none */
	bool stem_names;	 /* the names that it has are without suffix */
};
void set_desc_done(struct set_desc *d);
/* -EOPNOTSUPP with the refusal: nothing can be appended to it, and why. o is
 * pinned. */
int set_desc_of(struct ns *ns, struct object *o, struct set_desc *ret,
		struct refusal *f);
/* FILE is another one: no description that is kept holds a generation back. */
void sets_forget(struct ns *ns);
/* The set that the stage knows by this key. -ENOENT: FILE has none like it. */
int set_by_key(struct ns *ns, const char *key, struct set_desc *ret,
	       struct refusal *f);
/* Rule and range that must be stored with the first append to the set, so that
 * they stay. Appends to *attrs; values are freed by set_attrs_done(). */
struct set_attrs {
	size_t count;
	struct stage_attr *attrs;
};
int set_attrs(const struct set_desc *d, struct set_attrs *attrs);
void set_attrs_done(struct set_attrs *attrs);

/* ---- staged.c: files copied into sample directories and class folders ---- */
/* -ENOENT: not a directory that takes samples, or no such file in it. */
int staged_lookup(struct ns *ns, const struct pin *dir, const char *name,
		  struct node *ret);
int staged_unlink(struct ns *ns, const struct pin *dir, const char *name);
/* A staged or held-back file to another name or class folder; a committed sample
 * to another class folder (edit). -ENOENT: name is neither. */
int staged_rename(struct ns *ns, const struct pin *dir, const char *name,
		  const struct pin *to, const char *new_name, unsigned flags);
/* A member's value of a staged row, by name without "user.". */
int staged_setxattr(struct ns *ns, const struct pin *p, const char *name,
		    const char *text, size_t n, int flags, struct refusal *f);
/* Attributes of a staged file's row; the names as ns_xattrs() has them. */
int staged_xattr(struct ns *ns, const struct pin *p, const char *name,
		 struct blob **ret_value);
int staged_xattrs(struct ns *ns, const struct pin *p, struct strbuf *out);
/* rmdir of a class folder that mkdir made and no row has. -ENOENT: it is none. */
int class_rmdir(struct ns *ns, const struct pin *dir, const char *name);
/* mkdir in D.by-class/, or in a class view. -ENOENT: dir is none of these. */
int class_mkdir(struct ns *ns, const struct pin *dir, const char *name);

/* ---- pending.c, objects.c: objects, and directories that end in .part ---- */
int pending_lookup(struct ns *ns, const struct pin *dir, const char *name,
		   struct node *ret);
int pending_stat(struct ns *ns, const struct pin *p, struct stat *ret_st);
int pending_readlink(struct ns *ns, const struct pin *p, char **ret_target);
/* The whole file. */
int pending_bytes(struct ns *ns, const struct pin *p, struct blob **ret_bytes);
/* Names after `after` in a pending directory, or of those in a group; and what one
 * of them is. -ENOENT: there are none. */
int pending_names(struct ns *ns, const struct pin *dir, const char *after,
		  size_t max, struct stage_names *ret_names);
int pending_type(struct ns *ns, const struct pin *dir, const char *name,
		 mode_t *ret_type, uint64_t *ret_st_ino);
/* Attributes; names without "user.". */
int pending_xattr(struct ns *ns, const struct pin *p, const char *name,
		  struct blob **ret_value);
int pending_xattrs(struct ns *ns, const struct pin *p,
		   struct stage_names *ret_names);
int pending_setxattr(struct ns *ns, const struct pin *p, const char *name,
		     const char *text, size_t n, int flags);
/* The verdict on a file written as `name` into a group, or a pending directory. */
int object_verdict(struct ns *ns, uint64_t dir_ino, const char *name,
		   struct draft *bytes, struct refusal *f);

/* ---- state.c ---- */
struct state_ref {
	struct ns *ns;
	struct state *st;
};
int state_get(struct ns *ns, struct object *o, struct state **ret_state);
void state_put(struct ns *ns, struct state *st);
/* It was needed once, in passing: first to be dropped. */
void state_cool(struct ns *ns, struct state *st);
static inline void state_ref_done(struct state_ref *r)
{
	if (r->st)
		state_put(r->ns, r->st);
}
#define STATE_REF(name, ns_)                                                   \
	CLEANUP(state_ref_done) struct state_ref name = { (ns_), NULL }
/* The source with its norm, where the view needs one. */
int state_source(struct state *st, bool with_norm, struct view_source *ret_src);
/* Both at once: the source is good as long as the state is held. */
int source_get(struct ns *ns, struct object *o, bool with_norm,
	       struct state_ref *ref, struct view_source *ret_src);
/* The rule of its pictures, whatever the mount shows them as. */
int state_rule(struct state *st, struct norm *ret_norm);
/* Is it a mask: ids, and no shades? */
bool is_mask(const struct object *o, const struct desc *d);
/* Reads the voxel spacing into the source, once: before state_source(). */
void state_spacing(struct state *st);
void states_drop(struct ns *ns, struct gen *gen); /* all of a generation */
int open_dataset(struct object *o, struct dset **ret_dset);

/* ---- content.c ---- */
const struct view_ops *node_ops(const struct object *o, uint8_t view);
/* Exact size of a dataset's file; measure: may render it. -EAGAIN: would have
 * to, and must not. */
int content_size(struct ns *ns, struct object *o, uint8_t view, uint32_t index,
		 bool measure, uint64_t *ret_size);
int content_ext(struct ns *ns, struct object *o, uint32_t index,
		const char **ret_ext);
int content_attr(const struct object *o, uint32_t index,
		 struct blob **ret_text);

/* ---- stat.c ---- */
/* Everything but size and type-independent parts of a node's stat. */
void stat_fill(struct ns *ns, const struct object *o, uint8_t view,
	       uint32_t index, mode_t mode, uint64_t size, struct stat *ret_st);
uint64_t stable_ino(const struct object *o, uint8_t view, uint32_t index);
int node_stat(struct ns *ns, const struct pin *p, bool measure,
	      struct stat *ret_st);

/* ---- labels.c, classes.c ---- */
/* Finds label datasets for the sets of a decided group. */
void labels_find(struct ns *ns, struct group *grp);
/* Class folders of a labelled set (reads all labels) or of a group of labelled
 * single pictures. -ENOENT: it has none. Valid while the state is held. */
int labels_classes(struct ns *ns, struct state *st, const struct classes **ret);
int labels_group_classes(struct ns *ns, struct object *g,
			 const struct classes **ret);
/* Label of one row as stored, and its class folder. Either may be NULL. */
int labels_of_row(struct ns *ns, struct object *o, uint32_t index,
		  struct strbuf *label, struct strbuf *class_name);
const struct class_folder *classes_find(const struct classes *c,
					const char *name, uint32_t *ret_index);
/* Does class ci hold row? */
bool classes_has(const struct classes *c, uint32_t ci, uint32_t row);

/* ---- eph.c ---- */
int eph_get(struct ns *ns, struct object *o, uint8_t view, const char *key,
	    struct ephemeral *make, struct node *ret_node);
/* Takes a reference on one that is alive. -ENOENT. */
int eph_lookup(struct ns *ns, struct object *o, uint8_t view, const char *key,
	       struct node *ret_node);
void eph_forget(struct ns *ns, uint32_t slot, uint64_t n);
/* The slot of a pinned node: stays while the kernel holds a reference. */
struct ephemeral *eph_find(struct ns *ns, uint32_t slot);
void eph_free_all(struct ns *ns);
/* Under the tables lock: slots that name `from` name `to` from now on. */
void eph_rebase(struct ns *ns, struct object *from, struct object *to);

/* ---- marks.c: for listings in order of names ---- */
/* The name that the last remembered position at or before `at` is behind (the
 * caller frees it), and that position; NULL, 0: start at the first. */
int mark_find(struct ns *ns, uint64_t dir, uint64_t at, char **ret_after,
	      uint64_t *ret_at);
void mark_put(struct ns *ns, uint64_t dir, uint64_t at, const char *after);
void marks_done(struct ns *ns);

/* ---- query.c ---- */
int query_run(struct object *g, const char *expr, struct ephemeral *ret);

/* ---- rowset.c ---- */
int rowset_find(struct object *g, struct group *grp);
/* Have two datasets as many rows, of the same split? */
bool rowset_same(const struct object *a, const struct object *b);

/* ---- rownames.c ---- */
/* The member that holds the names; NULL: there is none. */
struct object *rownames_member(struct ns *ns, struct object *o);
bool rownames_are_text(struct object *m);
/* The first row that answers to a file name, of class ci of c where c is not
 * NULL. -ENOENT. */
int rownames_find(struct ns *ns, struct object *o, const char *name,
		  const struct classes *c, uint32_t ci, uint32_t *ret_row);
/* What is in FILE may have other names now: an order that was kept is of no use. */
void rownames_forget(struct ns *ns);

/* ---- lookup.c ---- */
/* A name in a directory of what is committed. */
int lookup_committed(struct ns *ns, const struct pin *dir, const char *name,
		     struct node *ret);
/* Parses "000007.png" style names: digits as %06u prints them, then *ret_rest.
 * False: not of that form. */
bool parse_index(const char *name, uint64_t *ret_index, const char **ret_rest);
/* Suffix of sample files where it is the same for all; NULL: encoded. */
const char *sample_suffix(const struct object *o);
/* keep: its bytes are wanted next, where the name depends on them. */
int sample_name(struct ns *ns, struct object *o, uint32_t index, bool keep,
		char *buf, size_t size);

/* ---- facts.c ---- */
/* What a rule takes for 0 and for all of a pixel's bits. */
void norm_range(const struct norm *n, double *ret_lo, double *ret_hi);

/* ---- info.c ---- */
/* "NHWC", with what was done besides: "+flipv", "+bands=2,1,0", ... */
void layout_text(const struct layout *l, struct strbuf *out);

/* ---- control.c ---- */
/* ret_mtime may be NULL; another one tells the kernel to drop its pages. */
int control_read(struct ns *ns, uint32_t which, struct blob **ret_blob,
		 struct timespec *ret_mtime);
/* The next reading shows what is now. */
void control_renew(struct ns *ns);
extern const char *const control_names[CONTROLS];
void stats_take(struct store_stats *sum, struct store *store);

/* ---- command.c: what is written to .h5fs/control ---- */
/* One command: "commit\n", "discard\n" (all that is staged), "discard /PATH\n", or
 * "discard" and PATHs, each after a NUL. PATH is as in the mount, from its root.
 * -EINVAL: no such command, or what PATH names is not staged; -ENOENT. */
int control_write(struct ns *ns, const char *line, size_t n);

/* ---- staged_report.c ---- */
/* Of .h5fs/status: NULL where nothing is staged, or there is no memory. */
struct json_t *staged_json(struct ns *ns);

/* ---- options.c ---- */
int ns_options_copy(struct ns_options *to, const struct ns_options *from);

/* ---- rule_check.c ---- */
/* -ENOENT with *ret_why: a rule matches nothing, or can not hold. */
int rules_check(struct ns *ns, char **ret_why);

/* ---- rules.c ---- */
struct rule_match *rules_match(struct ns *ns, const char *path);
void rule_match_free(struct rule_match *m);
bool glob_match(const char *pattern, const char *text);

#endif
