/* SPDX-License-Identifier: MIT */
/* writer_open.c - opens FILE for writing, when it may be written, and finishes or
 * undoes what an earlier writer left. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

#include "writer_int.h"

#define WAIT_MS 2000

static int say(char **ret_why, int r, const char *fmt, ...) PRINTF(3, 4);
static int say(char **ret_why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(ret_why, fmt, ap) < 0)
		*ret_why = NULL;
	va_end(ap);
	return r;
}

/* ---- names ---- */

/* "DIR/.FILE.h5fs" for "DIR/FILE". */
static char *side_of(const char *real)
{
	const char *name = strrchr(real, '/') + 1;
	char *side;

	return asprintf(&side, "%.*s.%s.h5fs", (int)(name - real), real, name) <
			       0
		       ? NULL
		       : side;
}

static int set_names(const char *path, const char *side, char **ret_real,
		     char **ret_side)
{
	CLEANUP(freep) char *real = realpath(path, NULL);
	CLEANUP(freep) char *dir = NULL;
	size_t n = side ? strlen(side) : 0;

	if (!real)
		return -errno;
	while (n > 1 && side[n - 1] == '/')
		n--;
	if (!side)
		dir = side_of(real);
	else if (asprintf(&dir, "%s%.*s", memchr(side, '/', n) ? "" : "./",
			  (int)n, side) < 0)
		dir = NULL;
	if (!dir)
		return -ENOMEM;
	*ret_real = TAKE(real);
	*ret_side = TAKE(dir);
	return 0;
}

static int parent_of(const char *path, char **ret_parent)
{
	char *parent = strdup(path);
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!parent)
		return -ENOMEM;
	*(slash == parent ? slash + 1 : slash) = 0;
	*ret_parent = parent;
	return 0;
}

/* ---- may it be written? ---- */

static int open_rw(const char *path, int *ret_fd, char **ret_why)
{
	CLEANUP(fd_closep)
	int fd = journal_io->open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int e = errno;

		if (e == EACCES || e == EROFS || e == EPERM || e == ETXTBSY)
			return say(ret_why, -EROFS, "can not be written: %s",
				   strerror(e));
		return say(ret_why, -e, "%s", strerror(e));
	}
	if (!S_ISREG(st.st_mode))
		return say(ret_why, -EIO, "is not a regular file");
	if (st.st_nlink > 1)
		return say(ret_why, -EROFS,
			   "has %lu hard links: what is beside it is known by "
			   "one name only",
			   (unsigned long)st.st_nlink);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int check_dir(const char *side, char **ret_why)
{
	CLEANUP(freep) char *dir = NULL;
	int r = parent_of(side, &dir);

	if (r < 0)
		return r;
	if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
		return say(ret_why, -EROFS,
			   "lies in a directory that can not be written (%s): "
			   "there is no room for its journal",
			   strerror(errno));
	return 0;
}

static int check_flags(const struct journal_file *f, const char *path,
		       char **ret_why)
{
	uint8_t sb[12]; /* up to the flags, which versions 2 and 3 have here */
	int r = io_read_at(f->fd, sb, sizeof(sb), f->head);

	if (r < 0)
		return r;
	if ((sb[8] == 2 || sb[8] == 3) && sb[11] != 0)
		return say(ret_why, -EROFS,
			   "is open for writing, or its writer crashed; if no "
			   "program has it open, run: h5clear -s %s",
			   path);
	return 0;
}

static int find_where(int fd, const char *path, const char *side,
		      struct journal_file *ret_where, char **ret_why)
{
	struct stat st;
	unsigned flags;
	int64_t base;

	if (fstat(fd, &st) < 0)
		return -errno;
	base = superblock_find(fd, (uint64_t)st.st_size);
	if (base < 0) /* which says what it is */
		return diagnose(fd, (uint64_t)st.st_size, path, &flags,
				ret_why);
	*ret_where = (struct journal_file){
		.fd = fd,
		.side = side,
		.mark = (uint64_t)base + SUPERBLOCK_VERSION,
		.head = (uint64_t)base,
		.head_len = SUPERBLOCK_SIZE,
	};
	return 0;
}

/* ---- recovery ---- */

static bool must_recover(const struct journal_found *found)
{
	return found->marked || found->records || found->tail;
}

/* With the locks held. */
static int recover(const struct journal_file *f, unsigned wait_ms,
		   enum recovery *ret_recovery, uint64_t *ret_tag,
		   char **ret_why)
{
	struct journal_found found;
	int r = journal_look(f, &found);

	if (r < 0)
		return say(ret_why, r, "its journal %s can not be read: %s",
			   f->side, strerror(-r));
	*ret_tag = found.tag;
	*ret_recovery = RECOVERY_NONE;
	if (!must_recover(&found))
		return 0;
	/* what is only dropped, nobody reads */
	r = found.marked || found.committed ? writer_lock_alone(f->fd, wait_ms)
					    : 0;
	if (r < 0)
		return say(ret_why, r,
			   "is open in another program, and an interrupted "
			   "commit waits to be finished; close it there");
	r = journal_recover(f, ret_recovery, ret_tag, ret_why);
	(void)writer_lock_shared(f->fd);
	if (r < 0 && !*ret_why)
		return say(ret_why, r,
			   "an interrupted commit can not be finished: %s",
			   strerror(-r));
	return r;
}

/* Locked, and whole: ret_where->fd is the caller's. */
static int open_whole(const char *real, const char *side, unsigned wait_ms,
		      struct journal_file *ret_where,
		      enum recovery *ret_recovery, uint64_t *ret_tag,
		      char **ret_why)
{
	CLEANUP(fd_closep) int fd = -1;
	struct journal_file where;
	int r = open_rw(real, &fd, ret_why);

	if (r == 0)
		r = check_dir(side, ret_why);
	if (r == 0)
		r = writer_take_locks(fd, wait_ms, ret_why);
	if (r == 0)
		r = find_where(fd, real, side, &where, ret_why);
	if (r == 0)
		r = recover(&where, wait_ms, ret_recovery, ret_tag, ret_why);
	if (r < 0)
		return r;
	*ret_where = where;
	ret_where->fd = TAKE_FD(fd);
	return 0;
}

/* ---- the contract ---- */

/* The journal alone, which says nothing that somebody needs. */
static bool only_a_journal(const char *side)
{
	DIR *d = opendir(side);
	struct dirent *e;
	bool only = d != NULL;

	while (only && (e = readdir(d)))
		only = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		       !strcmp(e->d_name, "journal");
	if (d)
		closedir(d);
	return only;
}

/* With the locks held: nothing is left beside FILE that says nothing. */
static void tidy(const char *side)
{
	if (only_a_journal(side))
		journal_remove(side);
}

static int open_journal(struct writer *w, char **ret_why)
{
	CLEANUP(freep) char *told = NULL;
	enum recovery recovery;
	uint64_t tag;
	unsigned flags;
	int r = open_whole(w->path, w->side, w->lock_wait_ms, &w->where,
			   &recovery, &tag, &told);

	if (r < 0) {
		*ret_why = TAKE(told);
		return r;
	}
	if (recovery == RECOVERY_ASIDE && w->faults)
		(void)faults_add(w->faults, w->path, told,
				 "compare the file with a copy of it");
	w->tag = tag;
	if (fstat(w->where.fd, &w->st) < 0)
		return -errno;
	r = diagnose(w->where.fd, (uint64_t)w->st.st_size, w->path, &flags,
		     ret_why);
	if (r == 0)
		r = check_flags(&w->where, w->path, ret_why);
	return r < 0 ? r : journal_open(&w->where, tag, &w->journal);
}

int writer_open(const char *path, const struct writer_options *o,
		struct writer **ret_writer, char **ret_why)
{
	CLEANUP(writer_closep) struct writer *w = calloc(1, sizeof(*w));
	char *why = NULL;
	int r;

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->over, NULL);
	gate_init(&w->gate);
	w->faults = o->faults;
	w->lock_wait_ms = o->lock_wait_ms ? o->lock_wait_ms : WAIT_MS;
	w->where.fd = -1;
	w->file = w->driver = -1;
	r = set_names(path, o->side, &w->path, &w->side);
	if (r == 0)
		r = open_journal(w, &why);
	if (r == 0)
		r = pool_new(o->threads ? o->threads : 1, &w->pool);
	if (r < 0) {
		*ret_why = why ? why : strdup(strerror(-r));
		return r;
	}
	*ret_writer = TAKE(w);
	return 0;
}

void writer_close(struct writer *w)
{
	bool clean;

	if (!w)
		return;
	if (w->journal) {
		writer_stop(w);
		clean = !journal_is_dirty(w->journal);
		journal_close(w->journal);
		if (clean)
			tidy(w->side);
	}
	if (w->driver >= 0) {
		pthread_mutex_lock(&store_h5);
		H5FDunregister(w->driver);
		pthread_mutex_unlock(&store_h5);
	}
	if (w->where.fd >= 0)
		(void)journal_io->close(w->where.fd);
	pool_free(w->pool);
	gate_done(&w->gate);
	pthread_cond_destroy(&w->over);
	pthread_mutex_destroy(&w->lock);
	free(w->side);
	free(w->path);
	free(w);
}

int writer_side(struct writer *w, bool make, char **ret_side)
{
	char *side;

	if (make &&
	    mkdir(w->side, 0700 | (w->st.st_mode & 066) |
				   (w->st.st_mode & 044) >> 2) < 0 &&
	    errno != EEXIST)
		return -errno;
	side = strdup(w->side);
	if (!side)
		return -ENOMEM;
	*ret_side = side;
	return 0;
}

int store_recover(const char *path, const char *side,
		  enum recovery *ret_recovery, char **ret_why)
{
	CLEANUP(freep) char *real = NULL;
	CLEANUP(freep) char *dir = NULL;
	struct journal_file where;
	enum recovery recovery;
	uint64_t tag;
	int r = set_names(path, side, &real, &dir);

	*ret_why = NULL;
	if (r == 0)
		r = open_whole(real, dir, WAIT_MS, &where, &recovery, &tag,
			       ret_why);
	if (r < 0) {
		if (!*ret_why)
			*ret_why = strdup(strerror(-r));
		return r;
	}
	tidy(dir);
	(void)journal_io->close(where.fd);
	*ret_recovery = recovery;
	return 0;
}

bool store_needs_recovery(const char *path, const char *side)
{
	CLEANUP(freep) char *real = NULL;
	CLEANUP(freep) char *dir = NULL;
	CLEANUP(freep) char *why = NULL;
	CLEANUP(fd_closep) int fd = -1;
	struct journal_found found;
	struct journal_file where;

	if (set_names(path, side, &real, &dir) < 0)
		return false;
	fd = journal_io->open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	return fd >= 0 && find_where(fd, real, dir, &where, &why) == 0 &&
	       journal_look(&where, &found) == 0 && must_recover(&found);
}
