/* SPDX-License-Identifier: MIT */
/* place.c - where the log lies: SIDE/stage, or in the directory that was asked
 * for as NAME-HASH.stage, of FILE's name and a hash of where it is. Then a line
 * in SIDE/stage.at says so (S9): a mount without the option, or with another
 * one, goes on with the log that is there, until nothing is left in it. */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "stage_int.h"

#define SIDE_SUFFIX ".h5fs"

void place_done(struct place *p)
{
	free(p->side);
	free(p->pointer);
	free(p->log);
	*p = (struct place){ 0 };
}

static char *join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* The side directory may not be there yet, the one that it is in is. */
static int absolute(const char *path, char **ret)
{
	CLEANUP(freep) char *copy = strdup(path);
	CLEANUP(freep) char *copy2 = strdup(path);
	CLEANUP(freep) char *up = NULL;

	if (!copy || !copy2)
		return -ENOMEM;
	up = realpath(dirname(copy), NULL);
	if (!up)
		return -errno;
	*ret = join(strcmp(up, "/") == 0 ? "" : up, basename(copy2));
	return *ret ? 0 : -ENOMEM;
}

/* "/data/.train.h5.h5fs" in dir: "DIR/train.h5-0123456789abcdef.stage". */
static int name_elsewhere(const char *side, const char *dir, char **ret)
{
	CLEANUP(freep) char *where = realpath(dir, NULL);
	const char *name = strrchr(side, '/') + 1;
	size_t n;

	if (!where)
		return -errno;
	name += *name == '.';
	n = strlen(name);
	if (n > strlen(SIDE_SUFFIX) &&
	    strcmp(name + n - strlen(SIDE_SUFFIX), SIDE_SUFFIX) == 0)
		n -= strlen(SIDE_SUFFIX);
	if (n > NAME_MAX - 32)
		n = NAME_MAX - 32;
	if (asprintf(ret, "%s/%.*s-%016llx.stage", where, (int)n, name,
		     (unsigned long long)hash_bytes(side, strlen(side), 0)) <
	    0) {
		*ret = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* What the pointer says; -ENOENT: there is none. */
static int read_pointer(const char *pointer, char **ret)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	size_t n; /* the text has no NUL */
	int r = io_read_file(pointer, PATH_MAX + 1, &b);

	if (r < 0)
		return r == -ENOTDIR ? -ENOENT : r;
	n = strnlen((const char *)b->data, b->size);
	while (n && b->data[n - 1] == '\n')
		n--;
	if (!n || b->data[0] != '/')
		return -EINVAL;
	*ret = malloc(n + 1);
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, b->data, n);
	(*ret)[n] = 0;
	return 0;
}

static int find_log(struct place *p, const char *dir, char **ret_why)
{
	CLEANUP(freep) char *beside = join(p->side, "stage");
	int r;

	if (!beside)
		return -ENOMEM;
	p->beside = true;
	if (access(beside, F_OK) == 0) {
		p->log = TAKE(beside);
		return 0;
	}
	r = read_pointer(p->pointer, &p->log);
	if (r < 0 && r != -ENOENT)
		return stage_say(ret_why, r,
				 "%s does not say where staged samples lie; "
				 "remove it to give them up",
				 p->pointer);
	p->beside = r == -ENOENT && !dir;
	if (r == 0 && access(p->log, F_OK) < 0)
		return stage_say(
			ret_why, -ENOENT,
			"samples that are staged lie in %s, which is not "
			"there; bring it back, or remove %s to give them up",
			p->log, p->pointer);
	if (r == 0)
		return 0;
	if (!dir) {
		p->log = TAKE(beside);
		return 0;
	}
	r = name_elsewhere(p->side, dir, &p->log);
	if (r < 0)
		return stage_say(ret_why, r, "stage=%s: %s", dir, strerror(-r));
	return 0;
}

int place_of_log(struct writer *w, const char *dir, struct place *ret_place,
		 char **ret_why)
{
	CLEANUP(place_done) struct place p = { 0 };
	CLEANUP(freep) char *side = NULL;
	int r = writer_side(w, false, &side);

	if (r == 0)
		r = absolute(side, &p.side);
	if (r < 0)
		return r;
	p.pointer = join(p.side, "stage.at");
	if (!p.pointer)
		return -ENOMEM;
	r = find_log(&p, dir, ret_why);
	if (r < 0)
		return r;
	*ret_place = p;
	p = (struct place){ 0 };
	return 0;
}

int stage_elsewhere(const char *file, char **ret_dir)
{
	CLEANUP(freep) char *copy = strdup(file);
	CLEANUP(freep) char *copy2 = strdup(file);
	CLEANUP(freep) char *pointer = NULL;
	CLEANUP(freep) char *log = NULL;
	struct stat st;
	int r;

	if (!copy || !copy2)
		return -ENOMEM;
	if (asprintf(&pointer, "%s/.%s" SIDE_SUFFIX "/stage.at", dirname(copy),
		     basename(copy2)) < 0) {
		pointer = NULL;
		return -ENOMEM;
	}
	if (lstat(pointer, &st) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	r = read_pointer(pointer, &log);
	if (r < 0)
		return r;
	*ret_dir = strdup(dirname(log));
	return *ret_dir ? 0 : -ENOMEM;
}

/* A pointer is whole before it has its name. */
static int write_pointer(const struct place *p, const struct stage_io *io)
{
	CLEANUP(freep) char *fresh = NULL;
	int fd, r;

	if (asprintf(&fresh, "%s.new", p->pointer) < 0) {
		fresh = NULL;
		return -ENOMEM;
	}
	(void)io->remove(fresh);
	fd = io->open(fresh, true);
	if (fd < 0)
		return fd;
	r = stage_io_write(io, fd, p->log, strlen(p->log), 0);
	if (r == 0)
		r = stage_io_write(io, fd, "\n", 1, strlen(p->log));
	if (r == 0)
		r = io->sync(fd);
	io->close(fd);
	if (r == 0)
		r = io->rename(fresh, p->pointer);
	if (r < 0)
		(void)io->remove(fresh);
	return r < 0 ? r : io->sync_dir(p->pointer);
}

int place_make(struct writer *w, struct place *p, const struct stage_io *io,
	       struct slog *ret_log)
{
	CLEANUP(freep) char *side = NULL;
	struct slog l;
	int r = writer_side(w, true, &side);

	if (r == 0)
		r = slog_create(io, p->log, &l);
	if (r < 0)
		return r;
	if (!p->beside)
		r = write_pointer(p, io);
	if (r < 0) {
		(void)io->remove(p->log);
		slog_done(&l);
		return r;
	}
	*ret_log = l;
	return 0;
}

int place_remove(const struct place *p, const struct stage_io *io)
{
	int r = 0;

	if (!p->beside) {
		r = io->remove(p->pointer);
		if (r == 0)
			r = io->sync_dir(p->pointer);
	}
	if (r == 0 || r == -ENOENT)
		r = io->remove(p->log);
	return r == -ENOENT ? 0 : r;
}
