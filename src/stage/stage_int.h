/* SPDX-License-Identifier: MIT */
/* stage_int.h - what the rooms of the stage share. */
#ifndef H5FS_STAGE_INT_H
#define H5FS_STAGE_INT_H

#include "h5fs/stage.h"
#include "slog_int.h"
#include "sorted_int.h"

/* ---- place.c: where the log lies ---- */
struct place {
	char *side;    /* the side directory of FILE */
	char *pointer; /* in it: says where the log is, when that is elsewhere */
	char *log;
	bool beside; /* it lies in the side directory: no pointer */
};
void place_done(struct place *p);
/* dir as in stage_options. *ret_why: why it cannot be known. */
int place_of_log(struct writer *w, const char *dir, struct place *ret_place,
		 char **ret_why);
/* An empty log, and what leads to it. */
int place_make(struct writer *w, struct place *p, const struct stage_io *io,
	       struct slog *ret_log);
int place_remove(const struct place *p, const struct stage_io *io);

/* ---- rows.c: what is staged, in memory; all under stage.lock ---- */
/* Bytes that lie in the log. */
struct value {
	uint64_t at, size;
	uint32_t member; /* in set.members */
	uint32_t crc;
};
struct dir {
	struct sorted_node node; /* in stage.dirs */
	struct sorted files;
	char key[];
};
/* A word that many rows have: a class. */
struct word {
	struct sorted_node node; /* in stage.words */
	char text[];
};
struct row;
struct file {
	struct sorted_node node; /* in dir->files, by name */
	struct dir *dir;
	struct row *row;
	struct file *next; /* of the row */
	struct timespec mtime;
	uint32_t member;
	bool npy;
	char name[];
};
struct row {
	struct sorted_node by_number; /* in stage.rows */
	struct sorted_node by_stem;   /* in set->stems, then by number */
	struct row *next, *prev;      /* all rows, ascending */
	struct row *next_waiting, *prev_waiting;
	uint64_t number;
	uint64_t nrows, done; /* of a batch, of these committed; else 1, 0 */
	struct row_set *set;
	const char *class_name; /* a word, or NULL */
	char *stem;
	struct value *values;
	struct file *files; /* at least one */
	uint32_t nvalues, value_cap;
	uint32_t holds;
	bool batch;
	bool busy;     /* it is being committed: nothing else changes it */
	bool complete; /* as of the last rows_count() */
	bool ready;    /* complete, neither held nor busy */
};
/* A row set, as of the last time that it was given. Members only get more:
 * values name them by index. */
struct row_set {
	struct sorted_node node; /* in stage.sets */
	uint32_t nmembers, member_cap;
	struct set_member {
		char *path, *name;
		uint64_t chunk_rows;
		bool wanted; /* it was there the last time */
	} * members;
	uint64_t rows;	/* N */
	uint64_t chunk; /* rows of the largest chunk; 0: none is chunked */
	uint64_t nstaged;
	uint64_t nready; /* rows that could be committed now */
	bool full;	 /* these fill a chunk */
	bool recorded;	 /* what was said of it is in the log */
	struct sorted stems;
	struct commit_set *job; /* while rows are chosen */
	char key[];
};

/* What a record says of a file: what must be so afterwards (record.c). */
struct put {
	uint64_t row;
	const char *set, *dir, *class_name, *name, *stem;
	bool batch, npy;
	uint64_t nrows, done;
	struct timespec mtime;
	const char *member; /* of the file */
	size_t nvalues;
	struct put_value {
		const char *member;
		uint64_t at, size;
		uint32_t crc;
	} * values;
};
struct stage;
void rows_init(struct stage *s);
/* Each does all of it, or nothing: -ENOMEM, and -EBADMSG for what cannot be. */
int rows_put(struct stage *s, const struct put *p);
int rows_set_value(struct stage *s, struct row *r, const struct put_value *v);
/* A file to a place, with its value, out of its row if p->row is another; of a
 * row that has no file left the other values go along, where p->row has none. */
int rows_move(struct stage *s, struct file *f, const struct put *p);
void rows_drop_file(struct stage *s, struct file *f);
void rows_drop(struct stage *s, struct row *r);
/* n more rows of it are in FILE. */
void rows_consume(struct stage *s, struct row *r, uint64_t n);
void rows_drop_all(struct stage *s);
void rows_free(struct stage *s);

struct row *rows_find(const struct stage *s, uint64_t number);
struct file *rows_file(const struct stage *s, const char *dir,
		       const char *name);
struct dir *rows_dir(const struct stage *s, const char *dir);
const struct value *row_value(const struct row *r, uint32_t member);
static inline uint64_t row_left(const struct row *r)
{
	return r->nrows - r->done;
}

/* ---- sets.c: row sets, and which of their rows can be committed ---- */
void sets_init(struct stage *s);
struct row_set *sets_find(const struct stage *s, const char *key);
/* Made when it is not there; NULL: no memory. */
struct row_set *sets_get(struct stage *s, const char *key);
/* -ENOENT. */
int set_find_member(const struct row_set *set, const char *path,
		    uint32_t *ret_member);
int set_get_member(struct row_set *set, const char *path, uint32_t *ret_member);
/* Does `given` say something new of the members? */
bool set_differs(const struct row_set *set, const struct stage_set *given);
int set_take(struct stage *s, struct row_set *set,
	     const struct stage_set *given);
/* N is known. */
void set_rows(struct stage *s, struct row_set *set, uint64_t rows);
void sets_unrecord(struct stage *s); /* the log is gone */
void sets_free(struct stage *s);
/* A row is counted but while it is being changed. */
void row_count(struct stage *s, struct row *r);
void row_uncount(struct stage *s, struct row *r);

/* ---- record.c: heads of records ---- */
enum record {
	RECORD_STATE = 1, /* the highest row and tag so far */
	RECORD_SET,
	RECORD_PUT,
	RECORD_VALUE,
	RECORD_MOVE,
	RECORD_DROP,	/* one file */
	RECORD_DISCARD, /* whole rows */
	RECORD_SEAL,	/* rows that are about to be in FILE */
	RECORD_DONE,	/* they are */
	RECORD_NODE,	/* tree.c: one object and its bytes */
	RECORD_ATTR,
	RECORD_RENAME,
	RECORD_REMOVE,
	RECORD_SEAL_TREE,
};
void put_u32(struct strbuf *out, uint32_t v);
void put_u64(struct strbuf *out, uint64_t v);
void put_text(struct strbuf *out, const char *text); /* or NULL */
void put_time(struct strbuf *out, struct timespec t);
/* Reading never goes beyond the end: it fails, and stays failed. */
struct reader {
	const uint8_t *p;
	size_t left;
	bool failed;
};
uint32_t read_u32(struct reader *r);
uint64_t read_u64(struct reader *r);
const char *read_text(struct reader *r); /* or NULL; lies in the head */
const char *read_some_text(struct reader *r);
struct timespec read_time(struct reader *r);

/* Of a PUT or MOVE. */
void record_put(struct strbuf *out, const struct put *p);
/* Its values lie from payload on, npayload bytes. p->values is the caller's to
 * free. -EBADMSG. */
int record_read_put(struct reader *r, uint64_t payload, uint64_t npayload,
		    struct put *p);
/* Rows of a commit, where rows with numbers one after the other are one entry. */
struct run {
	uint64_t row;
	uint64_t n;
	uint64_t batch; /* n rows of this batch (1), or n numbers (0) */
};
void record_runs(struct strbuf *out, const struct run *runs, size_t n);
int record_read_runs(struct reader *r, struct run **ret_runs, size_t *ret_n);

/* ---- tree.c ---- */
struct node {
	struct sorted_node in_parent; /* in parent->children, or stage.tops */
	struct node *parent;	      /* NULL: name is the whole path */
	char *name;
	enum tree_kind kind;
	char *target;
	struct timespec mtime;
	struct value value; /* DATASET */
	bool image;
	bool busy; /* it is being published: nothing in it changes */
	struct sorted children;
	struct node_attr *attrs;
};
struct node_attr {
	struct node_attr *next;
	struct value value;
	char name[];
};
static inline struct node *node_of(struct sorted_node *n)
{
	return n ? container_of(n, struct node, in_parent) : NULL;
}
struct node *tree_next_top(const struct stage *s, const struct node *after);
struct node *tree_next_child(const struct node *n, const struct node *after);
/* Through all that is in top, each directory before what is in it. NULL: that
 * was the last. */
struct node *tree_walk(const struct node *top, struct node *n);
/* Its path from `below` (NULL: FILE's root), which is above it. */
int tree_path_of(const struct node *n, const struct node *below,
		 char **ret_path);
struct node *tree_at(const struct stage *s, const char *path);
/* As RECORD_NODE, _ATTR, _RENAME, _REMOVE say; as rows_put(). */
int tree_replay(struct stage *s, const struct slog_record *rec,
		struct reader *head);
/* With all below; how many. */
uint64_t tree_drop(struct stage *s, struct node *n);
void tree_init(struct stage *s);
void tree_free(struct stage *s);

/* ---- stage.c ---- */
struct seal {
	struct seal *next;
	uint64_t tag;
	size_t nruns;
	struct run *runs;
	char *path; /* SEAL_TREE */
};
void seal_free(struct seal *s);
DEFINE_CLEANUP(struct seal *, seal_free)

struct stage {
	pthread_mutex_t commit; /* one commit at a time; outside of lock */
	pthread_mutex_t lock;	/* all below but what never changes */
	struct writer *w;
	struct faults *faults; /* may be NULL */
	const struct stage_io *io;
	char *dir; /* option; may be NULL */
	struct place place;
	struct slog log;
	uint64_t undo_end, undo_seq; /* before the last record */
	bool gone_dirty; /* the log was removed, its directory not synced */
	struct sorted dirs, words, sets, rows;
	struct row *first, *last, *waiting;
	struct sorted tops; /* pending objects, by path */
	uint64_t next_row, last_tag;
	uint64_t nrows, nwaiting, nready, nfull; /* nfull: of sets */
	uint64_t nfiles, nnodes;
	uint64_t live;	     /* bytes of records that count, about */
	uint64_t rewrite_at; /* log.end from which it is tried again */
	bool committing;     /* values are read without lock: they stay */
	struct seal *doubt;  /* FILE may have it (S6) */
	uint64_t owed;	     /* tag whose DONE could not be written yet (S5) */
	bool done_dirty;     /* a DONE may not be on the disk yet */
	bool put_once;
	struct timespec last_put;
};
int stage_open_on(struct writer *w, const struct stage_options *o,
		  const struct stage_io *io, struct stage **ret_stage,
		  char **ret_why);
/* One record; the log is made if there is none. */
int stage_append(struct stage *s, enum record kind, const struct strbuf *head,
		 const struct slog_part *parts, size_t nparts,
		 uint64_t *ret_payload);
/* Takes the last record back: what it says could not be done. */
void stage_undo(struct stage *s);
bool stage_has_nothing(const struct stage *s);
/* The log is removed when nothing in it counts, and made shorter when most of it
 * does not. */
void stage_trim(struct stage *s);
/* The DONE that is owed, if there is one. */
int stage_pay(struct stage *s);
/* It, and all before it, on the disk; nobody else is there. */
int stage_keep_done(struct stage *s);
/* The log is on the disk; lock is not held. */
int stage_sync_log(struct stage *s);
/* Before a commit: what a sync failed to write is written anew. */
int stage_make_sure(struct stage *s);
void stage_fault(struct stage *s, const char *path, const char *remedy,
		 const char *fmt, ...) PRINTF(4, 5);
int stage_say(char **ret_why, int r, const char *fmt, ...) PRINTF(3, 4);
/* What ns says of a set, kept and, where it is new, in the log. */
int stage_describe(struct stage *s, const struct stage_set *given,
		   struct row_set **ret_set);
/* A copy of what is there, or -ENOMEM; NULL stays NULL. */
int copy_text(const char *text, char **ret);
/* A value's bytes into a fresh blob; lock is not held. */
int value_read(struct slog_file *f, const struct value *v,
	       struct blob **ret_bytes);
int names_add(struct stage_names *n, size_t *cap, const char *name);

/* ---- pair.c ---- */
/* The row that waits for a value of member at place; NULL: none does. self: a row
 * that does not count, or NULL. -EINVAL with the refusal: several. */
int pair_find(const struct row_set *set, const struct stage_place *place,
	      uint32_t member, const struct row *self, uint64_t batch_rows,
	      struct row **ret_row, struct refusal *f);

/* Rows of a commit that are one after the other in one row of the stage. */
struct pick {
	struct row *row;
	uint64_t first; /* of a batch: the first one; else 0 */
	uint64_t count;
};

/* ---- seal.c: FILE has it, or the stage, whatever happens when ---- */
/* There is room for one more run. */
void seal_add(struct seal *seal, const struct pick *p);
/* What a seal names can, or cannot any more, be changed by others. */
void seal_lock(struct stage *s, const struct seal *seal, bool busy);
/* What it names is in FILE: it is gone from the stage. */
void seal_consume(struct stage *s, const struct seal *seal);
/* committed: its rows are rows of FILE now; else they were dropped. */
void seal_consume_rows(struct stage *s, const struct seal *seal,
		       bool committed);
/* Within a transaction that has just begun: what is known now of a commit that
 * was in doubt. */
void seal_settle(struct stage *s, struct writer *w);
/* Ends a transaction that puts into FILE what the seal names, which is locked;
 * takes the seal. On an error it is not in FILE, as far as is known. */
int seal_commit(struct stage *s, struct writer *w, struct seal *seal,
		char **ret_why);
uint64_t seal_tag(struct stage *s, const struct writer *w);
/* Why the writer refused, with what it was about. */
int writer_said(struct writer *w, int r, const char *about, char **ret_why);

/* ---- feed.c: values to elements ---- */
/* Appends these rows' values of a member, a few chunks at a time. */
int feed_member(struct slog_file *log, struct writer *w, uint32_t member,
		const struct stage_member *m, const struct pick *picks,
		size_t npicks, char **ret_why);
/* Has the row a value of every member that is as long as it must be? NULL, or
 * the member whose value is not. */
const struct stage_member *feed_misfit(const struct row *r,
				       const struct stage_set *given);

/* ---- restore.c, compact.c ---- */
/* Fills s from the log at s->place. */
int stage_restore(struct stage *s, char **ret_why);
#define PUT_OVERHEAD 256 /* of a row's record beside its values, about */
/* What counts, in a new log that takes the name (S7). -EBUSY: not now. */
int stage_rewrite(struct stage *s);

#endif
