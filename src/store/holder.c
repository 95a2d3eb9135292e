/* SPDX-License-Identifier: MIT */
/* holder.c - which process holds a lock on FILE, for messages. */
#include <dirent.h>
#include <stdio.h>

#include "store_int.h"

/* One line of /proc/locks: "1: FLOCK  ADVISORY  READ  812 fe:00:1234 0 EOF". */
struct lock_line {
	char kind[16], mode[16];
	int pid;
	unsigned long ino;
};

static bool next_line(FILE *f, struct lock_line *l)
{
	char line[256];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*d: %15s %*s %15s %d %*x:%*x:%lu", l->kind,
			   l->mode, &l->pid, &l->ino) == 4)
			return true;
	return false;
}

int holder_for_writing(const struct stat *st)
{
	FILE *f = fopen("/proc/locks", "re");
	struct lock_line l;
	int pid = 0;

	while (f && !pid && next_line(f, &l))
		if (l.ino == st->st_ino && !strcmp(l.mode, "WRITE") &&
		    l.pid > 0)
			pid = l.pid;
	if (f)
		fclose(f);
	return pid;
}

/* Does one of its descriptors hold a lock of the open file description on this
 * inode for writing? /proc/locks does not name the process of such a lock. */
static bool is_writer(int pid, const struct stat *st)
{
	CLEANUP(freep) char *dir = NULL;
	struct dirent *e;
	bool found = false;
	DIR *d;

	if (asprintf(&dir, "/proc/%d/fdinfo", pid) < 0) {
		dir = NULL;
		return false;
	}
	d = opendir(dir);
	while (d && !found && (e = readdir(d))) {
		CLEANUP(freep) char *name = NULL;
		char line[256];
		FILE *f;

		if (asprintf(&name, "%s/%s", dir, e->d_name) < 0) {
			name = NULL;
			break;
		}
		f = fopen(name, "re");
		while (f && !found && fgets(line, sizeof(line), f)) {
			unsigned long ino;

			found = sscanf(line,
				       "lock: %*d: OFDLCK %*s WRITE %*d "
				       "%*x:%*x:%lu",
				       &ino) == 1 &&
				ino == st->st_ino;
		}
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

/* *ret_only: the one process that has a lock, if that is all that can be seen:
 * another user's descriptors can not be looked at. */
static int find_writer(const struct stat *st, int *ret_only)
{
	FILE *f = fopen("/proc/locks", "re");
	struct lock_line l;
	int pid = 0, only = 0, n = 0;

	while (f && !pid && next_line(f, &l)) {
		if (l.ino != st->st_ino || strcmp(l.kind, "FLOCK") != 0 ||
		    l.pid <= 0)
			continue;
		only = l.pid;
		n++;
		if (is_writer(l.pid, st))
			pid = l.pid;
	}
	if (f)
		fclose(f);
	*ret_only = n == 1 ? only : 0;
	return pid;
}

int holder_writer(const struct stat *st)
{
	int only, pid = find_writer(st, &only);

	return pid ? pid : only;
}

int store_writer_of(const char *path)
{
	struct stat st;
	int only;

	return stat(path, &st) < 0 ? 0 : find_writer(&st, &only);
}
