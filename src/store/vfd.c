/* SPDX-License-Identifier: MIT */
/* vfd.c - the read-only file driver under libhdf5.
 *
 * Three things that the library's own drivers do not do: it opens nothing
 * outside the directory that may be read (external links and virtual sources
 * come through here), it never locks (the guard does, around each call), and it
 * can record where raw data lies instead of reading it. The last finds a chunk's
 * address in microseconds where H5Dget_chunk_info of 1.10 walks the whole index;
 * it needs a library without a page buffer, which is never set here. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "store_int.h"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

__thread struct vfd_record vfd_record;

struct vfd_info { /* the driver's part of a file access property list */
	struct store *store;
};
struct vfd_file {
	H5FD_t pub; /* first: the library's */
	struct store *store;
	struct vfd_file *next;
	unsigned file; /* in store.files */
	int fd;
	haddr_t eoa;
	dev_t dev;
	ino_t ino;
};

static void *vfd_info_copy(const void *info)
{
	struct vfd_info *copy = malloc(sizeof(*copy));

	if (copy)
		*copy = *(const struct vfd_info *)info;
	return copy;
}

static herr_t vfd_info_free(void *info)
{
	free(info);
	return 0;
}

static void *vfd_info_get(H5FD_t *file)
{
	struct vfd_info info = { ((struct vfd_file *)file)->store };

	return vfd_info_copy(&info);
}

static bool lies_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (path[n] == '/' || n == 0);
}

/* An open descriptor of a regular file that may be read, or -errno. */
static int open_allowed(struct store *s, const char *name, char **ret_real)
{
	CLEANUP(freep) char *real = realpath(name, NULL);
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;

	if (!real)
		return -errno;
	if (s->external == EXTERNAL_HIDE ||
	    (s->external == EXTERNAL_INSIDE && !lies_below(real, s->dir)))
		return -EACCES;
	/* a fifo must not hang the daemon */
	fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	*ret_real = TAKE(real);
	return TAKE_FD(fd);
}

/* Registers a file once; takes fd and path in any case. */
static int remember_file(struct store *s, int fd, char *path)
{
	struct store_file *f;
	struct stat st;

	if (fstat(fd, &st) < 0) {
		close(fd);
		free(path);
		return -EIO;
	}
	LOCK_SCOPE(&s->io);
	for (unsigned i = 0; i < s->nfiles; i++)
		if (s->files[i]->st.st_dev == st.st_dev &&
		    s->files[i]->st.st_ino == st.st_ino) {
			close(fd);
			free(path);
			return (int)i;
		}
	f = s->nfiles < STORE_MAX_FILES ? calloc(1, sizeof(*f)) : NULL;
	if (!f) {
		close(fd);
		free(path);
		return -EMFILE;
	}
	f->fd = fd;
	f->st = st;
	f->path = path;
	f->hid = -1;
	if (s->nfiles) {
		const char *rel = lies_below(path, s->dir)
					  ? path + strlen(s->dir) + 1
					  : path;

		f->key = hash_bytes(rel, strlen(rel), 1);
	}
	s->files[s->nfiles] = f;
	/* readers hold no lock: what they may index is written */
	return (int)__atomic_fetch_add(&s->nfiles, 1, __ATOMIC_RELEASE);
}

int store_add_file(struct store *s, const char *name)
{
	char *real = NULL;
	int fd = open_allowed(s, name, &real);

	return fd < 0 ? fd : remember_file(s, fd, real);
}

static H5FD_t *vfd_open(const char *name, unsigned flags, hid_t fapl,
			haddr_t maxaddr)
{
	const struct vfd_info *info = H5Pget_driver_info(fapl);
	struct vfd_file *f;
	struct store *s;
	int i;

	(void)maxaddr;
	if (!info || (flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)))
		return NULL;
	s = info->store;
	if (!s->nfiles || !strcmp(name, s->path))
		i = s->nfiles ? 0 : -ENOENT; /* FILE: opened by store_open() */
	else
		i = store_add_file(s, name);
	if (i == -EACCES)
		s->denied = true;
	if (i < 0)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->store = s;
	f->file = (unsigned)i;
	f->fd = s->files[i]->fd;
	f->dev = s->files[i]->st.st_dev;
	f->ino = s->files[i]->st.st_ino;
	f->next = s->open_files;
	s->open_files = f;
	return &f->pub;
}

static herr_t vfd_close(H5FD_t *file)
{
	struct vfd_file *f = (struct vfd_file *)file;
	struct vfd_file **p = &f->store->open_files;

	while (*p && *p != f)
		p = &(*p)->next;
	if (*p)
		*p = f->next;
	free(f);
	return 0;
}

static int vfd_cmp(const H5FD_t *a, const H5FD_t *b)
{
	const struct vfd_file *x = (const struct vfd_file *)a;
	const struct vfd_file *y = (const struct vfd_file *)b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static herr_t vfd_query(const H5FD_t *file, unsigned long *flags)
{
	(void)file;
	if (flags)
		*flags = H5FD_FEAT_AGGREGATE_METADATA |
			 H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
			 H5FD_FEAT_AGGREGATE_SMALLDATA |
			 H5FD_FEAT_SUPPORTS_SWMR_IO;
	return 0;
}

static haddr_t vfd_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
	(void)type;
	return ((const struct vfd_file *)file)->eoa;
}

static herr_t vfd_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
	(void)type;
	((struct vfd_file *)file)->eoa = addr;
	return 0;
}

static haddr_t vfd_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
	struct stat st;

	(void)type;
	if (fstat(((const struct vfd_file *)file)->fd, &st) < 0)
		return HADDR_UNDEF;
	return (haddr_t)st.st_size;
}

/* Like the library's own drivers, what lies behind the end of the file reads as
 * zeros: metadata may be read in steps that pass it. But no more than that: the
 * size of an object is what a damaged file says. */
#define MAX_BEHIND (64u << 10)

int vfd_pread(int fd, uint8_t *buf, size_t size, uint64_t addr)
{
	while (size) {
		ssize_t n = pread(fd, buf, size, (off_t)addr);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			if (size > MAX_BEHIND)
				return -EIO;
			memset(buf, 0, size);
			return 0;
		}
		buf += n;
		addr += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static herr_t vfd_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr,
		       size_t size, void *buf)
{
	struct vfd_file *f = (struct vfd_file *)file;

	(void)dxpl;
	if (addr > (haddr_t)INT64_MAX || size > (size_t)INT64_MAX - addr)
		return -1;
	if (type == H5FD_MEM_DRAW && vfd_record.active) {
		vfd_record.seen = true;
		vfd_record.file = f->file;
		vfd_record.addr = addr;
		vfd_record.size = size;
		return 0;
	}
	if (type == H5FD_MEM_DRAW)
		stat_add(&f->store->stats.bytes_read, size);
	if (vfd_pread(f->fd, buf, size, addr) < 0)
		return -1;
	/* heaps come as raw data; what only looks like one is not read here */
	if (type == H5FD_MEM_DRAW && !f->store->swmr &&
	    heap_is_one(buf, size) &&
	    heap_check(f->fd, addr,
		       (uint64_t)f->store->files[f->file]->st.st_size) < 0)
		return -1;
	return 0;
}

static herr_t vfd_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr,
			size_t size, const void *buf)
{
	(void)file, (void)type, (void)dxpl, (void)addr, (void)size, (void)buf;
	return -1;
}

static const H5FD_class_t vfd_class = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = (H5FD_class_value_t)1029,
#endif
	.name = "h5fs_read",
	.maxaddr = (haddr_t)INT64_MAX,
	.fc_degree = H5F_CLOSE_WEAK,
	.fapl_size = sizeof(struct vfd_info),
	.fapl_get = vfd_info_get,
	.fapl_copy = vfd_info_copy,
	.fapl_free = vfd_info_free,
	.open = vfd_open,
	.close = vfd_close,
	.cmp = vfd_cmp,
	.query = vfd_query,
	.get_eoa = vfd_get_eoa,
	.set_eoa = vfd_set_eoa,
	.get_eof = vfd_get_eof,
	.read = vfd_read,
	.write = vfd_write,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

int vfd_register(struct store *s)
{
	s->driver = H5FDregister(&vfd_class);
	return s->driver < 0 ? -EIO : 0;
}

int vfd_set(struct store *s, hid_t fapl)
{
	struct vfd_info info = { s };

	return H5Pset_driver(fapl, s->driver, &info) < 0 ? -EIO : 0;
}

int vfd_find_file(struct store *s, unsigned long fileno)
{
	for (struct vfd_file *f = s->open_files; f; f = f->next)
		if (f->pub.fileno == fileno)
			return (int)f->file;
	return -1;
}
