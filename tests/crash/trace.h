/* SPDX-License-Identifier: MIT */
/* trace.h - all that a journal does to the disk, written to a file in its order:
 *
 *   trace := entry*
 *   entry := kind(u32) file(u32) at(u64) n(u64), and n bytes
 *
 * kinds are those of enum trace_kind. A file's number is that of its first open,
 * its name comes with TRACE_FILE. TRACE_EVENT is the caller's own. */
#ifndef H5FS_TRACE_H
#define H5FS_TRACE_H

#include "journal_int.h"

enum trace_kind {
	TRACE_FILE, /* bytes: path; at: 1 when it was made */
	TRACE_WRITE,
	TRACE_TRUNCATE, /* at: the new size */
	TRACE_SYNC,
	TRACE_SYNC_DIR, /* bytes: path */
	TRACE_MKDIR,	/* bytes: path; so the next two */
	TRACE_RMDIR,
	TRACE_UNLINK,
	TRACE_RENAME, /* bytes: path, NUL, path */
	TRACE_EVENT,  /* bytes: text */
};
/* From now on; path NULL: no trace. The process ends in call `kill_at` (from 0;
 * -1: never), of which, when it is a write, one half is done. */
int trace_start(const char *path, long kill_at);
void trace_event(const char *text);

#endif
