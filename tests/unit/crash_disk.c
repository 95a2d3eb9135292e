/* SPDX-License-Identifier: MIT */
/* crash_disk.c - files as a disk has them: what was synced, and after that writes
 * and names in the order they came, any of which may be lost when the power goes.
 * Names are lost from the last backwards, as a journaling file system does. */
#include <fcntl.h>
#include <stdio.h>

#include "crash_disk.h"

#define MAX_FILES 64
#define MAX_NAMES 256

struct change {
	struct change *next;
	bool truncate;
	uint64_t at; /* or the size */
	size_t n;
	uint8_t bytes[];
};
struct inode {
	bool used;
	uint8_t *durable;
	size_t ndurable;
	struct change *changes, **last;
};
struct entry {
	char *name;
	struct inode *inode; /* NULL: the name is not there */
};
static struct inode inodes[MAX_FILES];
static struct entry durable[MAX_NAMES], names[MAX_NAMES]; /* disk; now */
static struct entry pending[MAX_NAMES];			  /* in order */
static int npending;
static struct inode *of_fd[1024];

static long calls, stop_at = -1, fail_at = -1;
static int tear_how, fail_error;

/* ---- names ---- */
static struct entry *entry_of(struct entry *table, const char *name)
{
	for (int i = 0; i < MAX_NAMES; i++) {
		if (!table[i].name)
			table[i].name = strdup(name);
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	}
	abort();
}

static void set_name(const char *name, struct inode *inode)
{
	entry_of(names, name)->inode = inode;
	if (npending == MAX_NAMES)
		abort();
	pending[npending++] = (struct entry){ strdup(name), inode };
}

static struct inode *new_inode(void)
{
	for (int i = 0; i < MAX_FILES; i++) {
		if (inodes[i].used)
			continue;
		inodes[i].used = true;
		inodes[i].last = &inodes[i].changes;
		return &inodes[i];
	}
	abort();
}

/* A file that was there before. */
static struct inode *adopt(const char *name)
{
	struct inode *inode = new_inode();
	struct blob *b;

	if (io_read_file(name, SIZE_MAX, &b) < 0)
		abort();
	inode->durable = malloc(b->size + 1);
	memcpy(inode->durable, b->data, b->size);
	inode->ndurable = b->size;
	blob_unref(b);
	entry_of(names, name)->inode = inode;
	entry_of(durable, name)->inode = inode;
	return inode;
}

/* ---- content ---- */
static void note(struct inode *inode, bool truncate, const void *bytes,
		 size_t n, uint64_t at)
{
	struct change *c = calloc(1, sizeof(*c) + n);

	c->truncate = truncate;
	c->at = at;
	c->n = n;
	if (n)
		memcpy(c->bytes, bytes, n);
	*inode->last = c;
	inode->last = &c->next;
}

static void resize(struct inode *inode, size_t n)
{
	inode->durable = realloc(inode->durable, n + 1);
	if (n > inode->ndurable)
		memset(inode->durable + inode->ndurable, 0,
		       n - inode->ndurable);
	inode->ndurable = n;
}

static void apply(struct inode *inode, const struct change *c, size_t n)
{
	if (c->truncate) {
		resize(inode, c->at);
		return;
	}
	if (c->at + n > inode->ndurable)
		resize(inode, c->at + n);
	memcpy(inode->durable + c->at, c->bytes, n);
}

/* keep(): how much of each change is kept, of 4 quarters. */
static void settle(struct inode *inode, int (*keep)(void))
{
	while (inode->changes) {
		struct change *c = inode->changes;
		int quarters = keep ? keep() : 4;

		if (quarters == 4 || (quarters && !c->truncate))
			apply(inode, c, c->n * (size_t)quarters / 4);
		inode->changes = c->next;
		free(c);
	}
	inode->last = &inode->changes;
}

/* ---- failing ---- */
bool crash_happened(void)
{
	return stop_at >= 0 && calls > stop_at;
}

static int count(void)
{
	long k = calls++;

	if (stop_at >= 0 && k >= stop_at)
		return -EIO;
	return k == fail_at ? -fail_error : 0;
}

static int crash_open(const char *path, bool make)
{
	int fd, r = count();

	if (r < 0)
		return r;
	fd = stage_disk.open(path, make);
	if (fd < 0)
		return fd;
	if (make) {
		of_fd[fd] = new_inode();
		set_name(path, of_fd[fd]);
	} else {
		of_fd[fd] = entry_of(names, path)->inode;
		if (!of_fd[fd])
			of_fd[fd] = adopt(path);
	}
	return fd;
}

static void crash_close(int fd)
{
	of_fd[fd] = NULL;
	close(fd);
}

static int crash_size(int fd, uint64_t *ret_size)
{
	int r = count();

	return r < 0 ? r : stage_disk.size(fd, ret_size);
}

static ssize_t crash_read(int fd, void *buf, size_t n, uint64_t at)
{
	int r = count();

	return r < 0 ? r : stage_disk.read(fd, buf, n, at);
}

static ssize_t crash_write(int fd, const void *buf, size_t n, uint64_t at)
{
	bool first = calls == stop_at || calls == fail_at;
	int r = count();

	if (r < 0) {
		n = first ? n * (size_t)tear_how / 2 : 0;
		if (n && stage_disk.write(fd, buf, n, at) == (ssize_t)n)
			note(of_fd[fd], false, buf, n, at);
		return r;
	}
	note(of_fd[fd], false, buf, n, at);
	return stage_disk.write(fd, buf, n, at);
}

static int crash_truncate(int fd, uint64_t size)
{
	int r = count();

	if (r < 0)
		return r;
	note(of_fd[fd], true, NULL, 0, size);
	return stage_disk.truncate(fd, size);
}

static int crash_reserve(int fd, uint64_t at, uint64_t n)
{
	(void)fd;
	(void)at;
	(void)n;
	return count();
}

static int crash_sync(int fd)
{
	int r = count();

	if (r == 0)
		settle(of_fd[fd], NULL);
	return r;
}

static int crash_rename(const char *from, const char *to)
{
	int r = count();

	if (r == 0)
		r = stage_disk.rename(from, to);
	if (r < 0)
		return r;
	if (!entry_of(names, from)->inode)
		adopt(from);
	set_name(to, entry_of(names, from)->inode);
	set_name(from, NULL);
	return 0;
}

static int crash_remove(const char *path)
{
	int r = count();

	if (r == 0)
		r = stage_disk.remove(path);
	if (r == 0)
		set_name(path, NULL);
	return r;
}

static void settle_names(int n)
{
	for (int i = 0; i < npending; i++) {
		if (i < n)
			entry_of(durable, pending[i].name)->inode =
				pending[i].inode;
		free(pending[i].name);
	}
	npending = 0;
}

static int crash_sync_dir(const char *path)
{
	int r = count();

	(void)path;
	if (r == 0)
		settle_names(npending);
	return r;
}

const struct stage_io crash_disk = {
	.open = crash_open,
	.close = crash_close,
	.size = crash_size,
	.read = crash_read,
	.write = crash_write,
	.truncate = crash_truncate,
	.reserve = crash_reserve,
	.sync = crash_sync,
	.rename = crash_rename,
	.remove = crash_remove,
	.sync_dir = crash_sync_dir,
};

/* ---- the test's side ---- */
static void forget(void)
{
	settle_names(npending);
	for (int i = 0; i < MAX_FILES; i++) {
		settle(&inodes[i], NULL);
		free(inodes[i].durable);
		inodes[i] = (struct inode){ 0 };
	}
	for (int i = 0; i < MAX_NAMES; i++) {
		free(names[i].name);
		free(durable[i].name);
		names[i] = durable[i] = (struct entry){ 0 };
	}
}

void crash_off(void)
{
	stop_at = fail_at = -1;
}

void crash_reset(void)
{
	crash_off();
	forget();
	calls = 0;
}

long crash_calls(void)
{
	return calls;
}

void crash_at(long k, int tear)
{
	stop_at = calls + k;
	tear_how = tear;
}

void crash_fail(long k, int error)
{
	fail_at = calls + k;
	fail_error = error;
	tear_how = 1;
}

static unsigned dice;

static unsigned roll(unsigned sides)
{
	dice = dice * 1103515245 + 12345;
	return (dice >> 16) % sides;
}

/* Whole, gone, or torn. */
static int keep_some(void)
{
	static const int quarters[] = { 4, 4, 4, 0, 0, 2, 1, 3 };

	return quarters[roll(ARRAY_SIZE(quarters))];
}

void crash_power_cut(unsigned seed)
{
	dice = seed;
	settle_names((int)roll((unsigned)npending + 1));
	for (int i = 0; i < MAX_FILES; i++)
		settle(&inodes[i], keep_some);
	for (int i = 0; i < MAX_NAMES && names[i].name; i++) {
		struct inode *inode = entry_of(durable, names[i].name)->inode;
		int fd;

		unlink(names[i].name);
		if (!inode)
			continue;
		fd = open(names[i].name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 ||
		    io_write_all(fd, inode->durable, inode->ndurable) < 0)
			abort();
		close(fd);
	}
	crash_reset();
}
