/* SPDX-License-Identifier: MIT */
/* ns.h - the tree a mount shows: names, inodes, contents. Knows no FUSE, so
 * that `info` and `export` walk the same tree.
 *
 * An inode is arithmetic: {object, view, index} in 64 bits; a sample needs no
 * memory and no forget. Objects are numbered when their group is first looked
 * into. What is not arithmetic (slices, @EXPR) is counted and dropped by
 * ns_forget(). Thread-safe; every call may block on the file. Beside the usual
 * errors: -ESTALE when FILE was changed in place after the inode was given. */
#ifndef H5FS_NS_H
#define H5FS_NS_H

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "h5fs/base.h"
#include "h5fs/stage.h"
#include "h5fs/store.h"

struct ns;
#define NS_ROOT_INO 1

enum ns_view_mode { NS_TREE, NS_CLASSES };
enum ns_mode { NS_RO, NS_APPEND, NS_EDIT };
enum ns_commit_mode { NS_COMMIT_AUTO, NS_COMMIT_MANUAL };
enum ns_class_names { NS_CLASS_NAMES, NS_CLASS_NUMBERS, NS_CLASS_BOTH };
/* `PATH:VALUE` as given; PATH may hold * and ? (* does not match /). */
struct ns_rule {
	char *path, *value;
	const char *origin; /* "-o layout=", "data.h5.h5fs:3": for messages */
};
struct ns_rules {
	size_t count;
	struct ns_rule *rules;
};
#define NS_POINTS_DEFAULT UINT64_MAX
struct ns_options {
	enum ns_view_mode view;
	enum ns_class_names classes;
	enum external_mode external;
	uint64_t cache_bytes;
	uint64_t points_bytes; /* NS_POINTS_DEFAULT: as scratch_open() finds */
	int points_fd; /* -1, or an empty file that nobody else uses, for where
			* compressed chunks can be entered; the caller's */
	unsigned threads;
	uid_t uid;
	gid_t gid;
	mode_t umask;
	bool masks_palette;
	struct ns_rules layout, range, labels, names, rows; /* rows: value is "" */
	enum ns_mode mode; /* asked for; NS_RO: `info`, `export` */
	enum fit fit;
	bool grow;
	enum ns_commit_mode commit;
	char *stage_dir; /* NULL: beside FILE */
};
void ns_options_init(struct ns_options *o); /* defaults; uid/gid of FILE later */
void ns_options_done(struct ns_options *o);
/* One option of the tree by name ("layout", "range", "labels", "classes",
 * "names", "rows", "fit", "grow", "commit", "stage", "ro", "edit", "view",
 * "masks", "external", "cache", "points", "threads", "uid", "gid", "umask") with its text.
 * -ENOENT: no such option here; -EINVAL: *ret_why (caller frees) says what is
 * wrong with it. */
int ns_options_set(struct ns_options *o, const char *key, const char *value,
		   const char *origin, char **ret_why);
/* FILE.h5fs beside FILE: `layout PATH:SPEC`, one a line, # comments; only
 * layout, range, labels, classes and names. Absent: fine. */
int ns_options_sidecar(struct ns_options *o, const char *file, char **ret_why);

/* *ret_why as in store_open(); also for a rule whose path matches nothing. */
int ns_open(const char *file, const struct ns_options *opts, struct ns **ret_ns,
	    char **ret_why);
void ns_close(struct ns *ns);
DEFINE_CLEANUP(struct ns *, ns_close)

struct ns_entry {
	uint64_t ino; /* nodeid */
	struct stat st; /* st_ino is the stable one, not ino */
};
/* Counts one reference on what is not arithmetic. -ENOENT. */
int ns_lookup(struct ns *ns, uint64_t parent, const char *name,
	      struct ns_entry *ret_entry);
void ns_forget(struct ns *ns, uint64_t ino, uint64_t n);
/* May measure. */
int ns_stat(struct ns *ns, uint64_t ino, struct stat *ret_st);
int ns_readlink(struct ns *ns, uint64_t ino, char **ret_target);

struct ns_dirent {
	const char *name;
	uint64_t next; /* offset of the entry after it */
	mode_t type;   /* S_IFDIR, S_IFREG, S_IFLNK */
	uint64_t st_ino;
	/* The whole entry where its size is arithmetic; else entry.ino is 0 and
	 * it must be looked up when wanted. Each one that emit takes is counted
	 * as a reference, as a look-up is. */
	struct ns_entry entry;
};
/* Entries from offset `from` (0: the first; "." and ".." are the caller's, not
 * counted), which is opaque. emit returns nonzero to stop before the entry it was
 * given. A listing goes on in the generation where it began; -ESTALE once that
 * one is gone. */
typedef int (*ns_emit)(void *arg, const struct ns_dirent *d);
int ns_list(struct ns *ns, uint64_t dir, uint64_t from, bool want_stat,
	    ns_emit emit, void *arg);

/* Bytes of a file inside a counted blob, without a copy; at the end of the file
 * fewer than asked for. */
struct ns_bytes {
	const uint8_t *data;
	size_t size;
	struct blob *owner; /* release with ns_bytes_done */
};
int ns_read(struct ns *ns, uint64_t ino, uint64_t offset, size_t size,
	    struct ns_bytes *ret_bytes);
static inline void ns_bytes_done(struct ns_bytes *b)
{
	blob_unref(b->owner);
	b->owner = NULL;
}

/* name is the full one ("user.label"). -ENODATA; -EOPNOTSUPP for security.* and
 * system.*, which stops coreutils from asking for each file. */
int ns_xattr(struct ns *ns, uint64_t ino, const char *name,
	     struct blob **ret_value);
/* Names, each with its NUL, as listxattr(2) wants them. */
int ns_xattrs(struct ns *ns, uint64_t ino, struct strbuf *out);

int ns_statvfs(struct ns *ns, struct statvfs *ret_st);

/* Attributes of files under .h5fs change by themselves; all else for as long as
 * FILE stays as it is. */
bool ns_is_volatile(struct ns *ns, uint64_t ino);

/* ---- FILE changes underneath ----
 * Called by the keeper. Returns 0 (as it was), 1 (a new generation serves from
 * now on; *ret_names are the root's entries, old and new, NUL after each, whose
 * dentries the kernel must drop) or a negative errno (still changing: call
 * again; the old generation serves or answers -ESTALE). */
int ns_refresh(struct ns *ns, struct strbuf *ret_names);
const char *ns_file(const struct ns *ns); /* absolute path of FILE */

/* ---- writing (SPEC 4) ----
 * What may be done by the mode is checked here; whether FILE can be written at
 * all by ns_open(), which falls back to NS_RO and says why in ns_mode_why(). */
enum ns_mode ns_mode(const struct ns *ns);
const char *ns_mode_why(const struct ns *ns); /* or NULL: as asked for */

/* An open file. 0 stands for one that is only read and needs no handle. */
typedef uint64_t ns_handle;
/* Makes a file: bytes are collected, the verdict comes with ns_flush(). */
int ns_create(struct ns *ns, uint64_t parent, const char *name,
	      struct ns_entry *ret_entry, ns_handle *ret_handle);
/* flags: as open(2)'s. *ret_keep: the kernel may keep what it has of it. */
int ns_open_file(struct ns *ns, uint64_t ino, int flags, ns_handle *ret_handle,
		 bool *ret_keep);
int ns_read_handle(struct ns *ns, uint64_t ino, ns_handle h, uint64_t offset,
		   size_t size, struct ns_bytes *ret_bytes);
/* Returns n or an error. */
int ns_write(struct ns *ns, uint64_t ino, ns_handle h, const void *buf, size_t n,
	     uint64_t offset);
int ns_truncate(struct ns *ns, uint64_t ino, ns_handle h, uint64_t size);
/* The verdict; the same again while nothing new was written. */
int ns_flush(struct ns *ns, ns_handle h);
int ns_fsync(struct ns *ns, ns_handle h);
void ns_release(struct ns *ns, ns_handle h);
int ns_mkdir(struct ns *ns, uint64_t parent, const char *name,
	     struct ns_entry *ret_entry);
int ns_symlink(struct ns *ns, uint64_t parent, const char *name,
	       const char *target, struct ns_entry *ret_entry);
int ns_unlink(struct ns *ns, uint64_t parent, const char *name);
int ns_rmdir(struct ns *ns, uint64_t parent, const char *name);
/* flags: RENAME_NOREPLACE; others are -EINVAL. */
int ns_rename(struct ns *ns, uint64_t parent, const char *name,
	      uint64_t new_parent, const char *new_name, unsigned flags);
/* flags: XATTR_CREATE, XATTR_REPLACE. */
int ns_setxattr(struct ns *ns, uint64_t ino, const char *name, const void *value,
		size_t size, int flags);
int ns_removexattr(struct ns *ns, uint64_t ino, const char *name);

enum ns_commit_why {
	NS_COMMIT_TICK,	    /* the clock: commit=auto decides what is due */
	NS_COMMIT_ASKED,    /* `h5fs commit`: all that is complete */
	NS_COMMIT_UNMOUNT,
};
/* Commits what is due. 0, or why not, which is in the faults too. */
int ns_commit(struct ns *ns, enum ns_commit_why why);
int ns_sync(struct ns *ns); /* what is staged survives a power cut */

/* What the kernel must drop after this mount's own changes: attributes and pages
 * of inodes (name NULL), or a name in a directory. The keeper takes and tells. */
struct ns_change {
	uint64_t ino;
	char *name;
};
struct ns_changes {
	size_t count;
	struct ns_change *changes;
};
int ns_take_changes(struct ns *ns, struct ns_changes *ret_changes);
void ns_changes_done(struct ns_changes *c);
/* Called (from any thread, no lock held) when there is something to take. */
void ns_on_change(struct ns *ns, void (*told)(void *arg), void *arg);

/* ---- told to people ---- */
/* What a mount prints on a terminal: where to point a loader, what it could not
 * show. Looks at no more than 1,000 objects. */
int ns_summary(struct ns *ns, struct strbuf *out);
/* What was done at ns_open() with a commit that had been interrupted, or NULL. */
const char *ns_recovered(const struct ns *ns);
/* What is staged, what it waits for, and why it is not committed, a line each;
 * nothing where nothing is. */
int ns_staged(struct ns *ns, struct strbuf *out);
/* `h5fs info`: for each dataset at or below path ("/" for all) what is shown,
 * the rule that fired and why, where its class folders are. -ENOENT. */
int ns_info(struct ns *ns, const char *path, struct strbuf *out);
struct faults *ns_faults(struct ns *ns);
/* JSON of .h5fs/status, Prometheus text of .h5fs/metrics. */
int ns_status_json(struct ns *ns, struct strbuf *out);
int ns_metrics(struct ns *ns, struct strbuf *out);

#endif
