/* SPDX-License-Identifier: MIT */
/* export_walk.c - export's walker: lists the tree, makes directories and
 * symbolic links, queues files. It alone touches what struct export calls the
 * walker's. */
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <sys/stat.h>

#include "export_int.h"

#define PAGE 1024
#define LINKS_MAX 262144 /* beyond: a file under two names becomes two */

struct seen {
	uint64_t st_ino;
	char *path;
};
struct item {
	char *name;
	uint64_t next;
};
struct page {
	struct item items[PAGE];
	size_t count;
	bool full;
	int failed;
};

static int collect(void *arg, const struct ns_dirent *d)
{
	struct page *p = arg;
	char *name;

	p->full = p->count == PAGE;
	if (p->full)
		return 1;
	name = strdup(d->name);
	if (!name) {
		p->failed = -ENOMEM;
		return 1;
	}
	p->items[p->count++] = (struct item){ name, d->next };
	return 0;
}

static int make_dir(struct export *x, uint64_t ino, char *path,
		    const struct stat *st)
{
	if (x->ndirs == x->dirs_cap) {
		size_t cap = x->dirs_cap ? x->dirs_cap * 2 : 64;
		struct export_dir *dirs =
			reallocarray(x->dirs, cap, sizeof(*dirs));

		if (!dirs)
			return -ENOMEM;
		x->dirs = dirs;
		x->dirs_cap = cap;
	}
	if (mkdir(path, 0777) < 0)
		return -errno;
	export_xattrs(x->ns, ino, path, &x->notes);
	x->dirs[x->ndirs++] = (struct export_dir){ ino, path, st->st_mtim };
	return 0;
}

static int make_symlink(struct export *x, uint64_t ino, const char *path,
			const struct stat *st)
{
	CLEANUP(freep) char *target = NULL;
	int r;

	r = ns_readlink(x->ns, ino, &target);
	if (r < 0)
		return r;
	if (symlink(target, path) < 0)
		return -errno;
	(void)utimensat(AT_FDCWD, path,
			(struct timespec[]){ st->st_mtim, st->st_mtim },
			AT_SYMLINK_NOFOLLOW);
	return 0;
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return (x->st_ino > y->st_ino) - (x->st_ino < y->st_ino);
}

static void free_seen(void *p)
{
	struct seen *s = p;

	free(s->path);
	free(s);
}

/* The name under which this file was met before, or NULL. */
static const char *met_before(struct export *x, uint64_t st_ino,
			      const char *path)
{
	struct seen key = { .st_ino = st_ino }, *s;
	struct seen **found = tfind(&key, &x->seen, compare_seen);

	if (found)
		return (*found)->path;
	if (x->nseen == LINKS_MAX)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->st_ino = st_ino;
	s->path = strdup(path);
	if (!s->path || !tsearch(s, &x->seen, compare_seen))
		free_seen(s);
	else
		x->nseen++;
	return NULL;
}

static int put_off_link(struct export *x, uint64_t ino, char *path,
			const char *first)
{
	struct export_jobs *l = &x->links;
	char *copy = strdup(first);

	if (copy && l->count == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		struct export_job *list =
			reallocarray(l->list, cap, sizeof(*list));

		if (list) {
			l->list = list;
			l->cap = cap;
		}
	}
	if (!copy || l->count == l->cap) {
		free(copy);
		return -ENOMEM;
	}
	l->list[l->count++] = (struct export_job){ ino, path, copy };
	return 0;
}

/* Takes over path and the reference to e where it returns 0 for a file or a
 * directory; 1: done with both. */
static int make(struct export *x, const struct ns_entry *e, char *path)
{
	const char *first = NULL;
	int r;

	if (S_ISDIR(e->st.st_mode))
		return make_dir(x, e->ino, path, &e->st);
	if (S_ISLNK(e->st.st_mode)) {
		r = make_symlink(x, e->ino, path, &e->st);
		return r < 0 ? r : 1;
	}
	if (e->st.st_nlink > 1)
		first = met_before(x, e->st.st_ino, path);
	if (first)
		return put_off_link(x, e->ino, path, first);
	export_give(x, e->ino, path);
	return 0;
}

static void export_item(struct export *x, const struct export_dir *parent,
			const char *name)
{
	struct ns_entry e;
	char *path = NULL;
	int r;

	/* Of what FILE holds nothing may be written outside. */
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") ||
	    strchr(name, '/')) {
		export_failed(&x->notes, parent->path, -EINVAL);
		return;
	}
	if (asprintf(&path, "%s/%s", parent->path, name) < 0) {
		export_failed(&x->notes, parent->path, -ENOMEM);
		return;
	}
	r = ns_lookup(x->ns, parent->ino, name, &e);
	if (r == 0) {
		r = make(x, &e, path);
		if (r == 0)
			return;
		ns_forget(x->ns, e.ino, 1);
	}
	if (r < 0)
		export_failed(&x->notes, path, r);
	free(path);
}

static void walk_dir(struct export *x, struct export_dir d)
{
	CLEANUP(freep) struct page *p = malloc(sizeof(*p));
	uint64_t from = 0;
	int r = p ? 0 : -ENOMEM;

	while (r == 0) {
		p->count = 0;
		p->full = false;
		p->failed = 0;
		r = ns_list(x->ns, d.ino, from, false, collect, p);
		if (r > 0)
			r = 0;
		if (r == 0)
			r = p->failed;
		for (size_t i = 0; i < p->count; i++) {
			export_item(x, &d, p->items[i].name);
			free(p->items[i].name);
		}
		if (!p->full || !p->count)
			break;
		from = p->items[p->count - 1].next;
	}
	if (r < 0)
		export_failed(&x->notes, d.path, r);
}

/* Breadth first, so that a parent stands before its children. */
int export_walk(struct export *x, const char *dir)
{
	char *path = strdup(dir);
	struct stat st;
	int r;

	r = path ? ns_stat(x->ns, NS_ROOT_INO, &st) : -ENOMEM;
	if (r == 0)
		r = make_dir(x, NS_ROOT_INO, path, &st);
	if (r < 0) {
		free(path);
		return r;
	}
	for (size_t i = 0; i < x->ndirs; i++)
		walk_dir(x, x->dirs[i]);
	return 0;
}

static void make_links(struct export *x)
{
	for (size_t i = 0; i < x->links.count; i++) {
		struct export_job *j = &x->links.list[i];

		if (link(j->first, j->path) == 0) {
			atomic_fetch_add(&x->notes.files, 1);
			ns_forget(x->ns, j->ino, 1);
			free(j->path);
		} else {
			export_write(x, j);
		}
		free(j->first);
	}
	free(x->links.list);
}

static void finish_dirs(struct export *x)
{
	while (x->ndirs) {
		struct export_dir *d = &x->dirs[--x->ndirs];

		(void)utimensat(AT_FDCWD, d->path,
				(struct timespec[]){ d->mtime, d->mtime }, 0);
		if (d->ino != NS_ROOT_INO)
			ns_forget(x->ns, d->ino, 1);
		free(d->path);
	}
	free(x->dirs);
}

void export_finish(struct export *x)
{
	make_links(x);
	finish_dirs(x);
	tdestroy(x->seen, free_seen);
}
