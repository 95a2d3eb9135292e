/* SPDX-License-Identifier: MIT */
/* export_int.h - what export's walker and its writers share. */
#ifndef H5FS_EXPORT_INT_H
#define H5FS_EXPORT_INT_H

#include <stdatomic.h>

#include "h5fs/cmd.h"

struct export_notes {
	atomic_ullong files, bytes, failures;
	atomic_uint temporary; /* last number used in a temporary name */
	atomic_bool no_xattrs, xattrs_cut; /* told */
};
/* Tells of a path that could not be written; r is a negative errno. */
void export_failed(struct export_notes *n, const char *path, int r);
/* The file path, under a temporary name until it is whole. */
int export_file(struct ns *ns, uint64_t ino, const char *path,
		struct export_notes *n);
/* Attributes, as far as the file system takes them. */
void export_xattrs(struct ns *ns, uint64_t ino, const char *path,
		   struct export_notes *n);

/* ---- export.c: what is under way ---- */
#define EXPORT_QUEUE 256

struct export_job {
	uint64_t ino;
	char *path;  /* of a hard link: what to write if it cannot be made */
	char *first; /* the name it is linked to */
};
struct export_jobs {
	struct export_job *list;
	size_t count, cap;
};
struct export_dir {
	uint64_t ino;
	char *path;
	struct timespec mtime;
};
struct export
{
	struct ns *ns;
	struct export_notes notes;
	bool terminal;
	/* under lock */
	pthread_mutex_t lock;
	pthread_cond_t more, room;
	struct export_job queue[EXPORT_QUEUE];
	size_t head, queued;
	bool closed;
	int64_t shown_ms;
	/* the walker's */
	struct export_dir *dirs;
	size_t ndirs, dirs_cap;
	struct export_jobs links;
	void *seen; /* tsearch tree of struct seen */
	size_t nseen;
};
/* Queues a file; takes over path. Waits while the queue is full. */
void export_give(struct export *x, uint64_t ino, char *path);
/* Writes one, and lets go of its path and inode. */
void export_write(struct export *x, struct export_job *j);

/* ---- export_walk.c ---- */
/* Makes dir and what it holds, files through export_give(). */
int export_walk(struct export *x, const char *dir);
/* What had to wait for the files: hard links, times of directories. Frees what
 * the walk has left. */
void export_finish(struct export *x);

#endif
