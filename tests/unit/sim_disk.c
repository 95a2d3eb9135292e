/* SPDX-License-Identifier: MIT */
/* sim_disk.c - see sim_disk.h. */
#include <assert.h>
#include <fcntl.h>

#include "sim_disk.h"

struct sim_disk sim;
struct sim_op sim_ops[SIM_OPS];
unsigned sim_nops;
int sim_fail_at = -1, sim_fail_times = 1, sim_fail_errno = EIO;
unsigned sim_calls;
bool sim_sparse;
static uint32_t seed = 1;

uint32_t sim_dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* ---- names ---- */

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static int find_name(const struct sim_disk *d, const char *name)
{
	for (int i = 0; i < SIM_NAMES; i++)
		if (d->side && d->inode[i] && !strcmp(d->names[i], name))
			return i;
	return -1;
}

static void set_name(struct sim_disk *d, const char *name, unsigned inode)
{
	int i = find_name(d, name);

	for (int k = 0; i < 0 && k < SIM_NAMES; k++)
		if (!d->inode[k])
			i = k;
	assert(i >= 0 && strlen(name) < sizeof(d->names[0]));
	strcpy(d->names[i], name);
	d->inode[i] = inode;
}

/* ---- one op, done to a disk ---- */

static void write_bytes(struct sim_bytes *f, uint64_t at, const uint8_t *p,
			size_t n)
{
	assert(at + n <= SIM_MAX);
	if (at > f->size)
		memset(f->p + f->size, 0, at - f->size);
	memcpy(f->p + at, p, n);
	if (at + n > f->size)
		f->size = at + n;
}

static void do_op(struct sim_disk *d, const struct sim_op *op)
{
	struct sim_bytes *f = &d->files[op->file];
	int i = find_name(d, op->from);

	switch (op->kind) {
	case SIM_WRITE:
		write_bytes(f, op->at, op->bytes, op->n);
		break;
	case SIM_TRUNCATE:
		assert(op->at <= SIM_MAX);
		if (op->at > f->size)
			memset(f->p + f->size, 0, op->at - f->size);
		f->size = op->at;
		break;
	case SIM_MKDIR:
		d->side = true;
		break;
	case SIM_RMDIR:
		d->side = false;
		break;
	case SIM_CREATE:
		set_name(d, op->from, op->file);
		if (op->file >= d->nfiles)
			d->nfiles = op->file + 1;
		break;
	case SIM_RENAME:
		assert(i >= 0 && op->file == d->inode[i]);
		d->inode[i] = 0;
		set_name(d, op->to, op->file);
		break;
	case SIM_UNLINK:
		assert(i >= 0);
		d->inode[i] = 0;
		break;
	default:
		break;
	}
}

/* ---- the table ---- */

/* True when this call must fail. */
static bool fails(void)
{
	int call = (int)sim_calls++;

	if (sim_fail_at < 0 || call < sim_fail_at ||
	    call >= sim_fail_at + sim_fail_times)
		return false;
	errno = sim_fail_errno;
	return true;
}

static struct sim_op *trace(enum sim_kind kind, unsigned file)
{
	struct sim_op *op = &sim_ops[sim_nops++];

	assert(sim_nops <= SIM_OPS);
	memset(op, 0, sizeof(*op));
	op->kind = kind;
	op->file = file;
	return op;
}

static void name_op(enum sim_kind kind, unsigned file, const char *from,
		    const char *to)
{
	struct sim_op *op = trace(kind, file);

	strcpy(op->from, from);
	strcpy(op->to, to);
	do_op(&sim, op);
}

#define SIDE_FD (SIM_FD + 100)
#define PARENT_FD (SIM_FD + 101)

static int sim_open(const char *path, int flags, mode_t mode)
{
	const char *name = base_name(path);
	int i = find_name(&sim, name);

	(void)mode;
	if (flags & O_DIRECTORY)
		return strcmp(name, "side") == 0 ? SIDE_FD : PARENT_FD;
	if (i >= 0)
		return SIM_FD + (int)sim.inode[i];
	if (!(flags & O_CREAT) || !sim.side) {
		errno = ENOENT;
		return -1;
	}
	if (fails())
		return -1;
	assert(sim.nfiles < SIM_FILES);
	sim.files[sim.nfiles].size = 0;
	name_op(SIM_CREATE, sim.nfiles, name, "");
	return SIM_FD + (int)sim.nfiles - 1;
}

static int sim_close(int fd)
{
	(void)fd;
	return 0;
}

static int sim_fstat(int fd, struct stat *st)
{
	unsigned file = (unsigned)(fd - SIM_FD);

	memset(st, 0, sizeof(*st));
	st->st_size = (off_t)sim.files[file].size;
	st->st_blocks = sim_sparse ? 0 : st->st_size / 512 + 1;
	st->st_ino = 5 + file;
	st->st_mode = 0644;
	st->st_nlink = file == 0;
	for (int i = 0; i < SIM_NAMES; i++)
		if (sim.inode[i] == file)
			st->st_nlink = 1;
	return 0;
}

static ssize_t sim_pread(int fd, void *buf, size_t n, off_t at)
{
	const struct sim_bytes *f = &sim.files[fd - SIM_FD];
	size_t left = (size_t)at < f->size ? f->size - (size_t)at : 0;
	size_t k = n < left ? n : left;

	if (k > 1 && sim_dice(4) == 0)
		k = 1 + sim_dice((uint32_t)k); /* a short read */
	memcpy(buf, f->p + at, k);
	return (ssize_t)k;
}

static ssize_t sim_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	struct sim_op *op;

	if (sim_dice(16) == 0) {
		errno = EINTR;
		return -1;
	}
	if (fails())
		return -1;
	if (n > 1 && sim_dice(8) == 0)
		n = 1 + sim_dice((uint32_t)n); /* a short write */
	op = trace(SIM_WRITE, (unsigned)(fd - SIM_FD));
	op->at = (uint64_t)at;
	op->n = n;
	op->bytes = malloc(n);
	memcpy(op->bytes, buf, n);
	do_op(&sim, op);
	return (ssize_t)n;
}

static int sim_sync(int fd)
{
	if (fails())
		return -1;
	if (fd == SIDE_FD)
		trace(SIM_SYNC_SIDE, 0);
	else if (fd == PARENT_FD)
		trace(SIM_SYNC_PARENT, 0);
	else
		trace(SIM_SYNC, (unsigned)(fd - SIM_FD));
	return 0;
}

static int sim_truncate(int fd, off_t size)
{
	struct sim_op *op;

	if (fails())
		return -1;
	op = trace(SIM_TRUNCATE, (unsigned)(fd - SIM_FD));
	op->at = (uint64_t)size;
	do_op(&sim, op);
	return 0;
}

static int sim_mkdir(const char *path, mode_t mode)
{
	(void)path;
	(void)mode;
	if (sim.side) {
		errno = EEXIST;
		return -1;
	}
	if (fails())
		return -1;
	name_op(SIM_MKDIR, 0, "", "");
	return 0;
}

static int sim_rmdir(const char *path)
{
	(void)path;
	for (int i = 0; i < SIM_NAMES; i++)
		if (sim.inode[i]) {
			errno = ENOTEMPTY;
			return -1;
		}
	name_op(SIM_RMDIR, 0, "", "");
	return 0;
}

static int sim_rename(const char *from, const char *to)
{
	int i = find_name(&sim, base_name(from));

	if (fails())
		return -1;
	assert(i >= 0);
	name_op(SIM_RENAME, sim.inode[i], base_name(from), base_name(to));
	return 0;
}

static int sim_unlink(const char *path)
{
	int i = find_name(&sim, base_name(path));

	if (i < 0) {
		errno = ENOENT;
		return -1;
	}
	if (fails())
		return -1;
	name_op(SIM_UNLINK, sim.inode[i], base_name(path), "");
	return 0;
}

static int sim_allocate(int fd, int mode, off_t at, off_t n)
{
	(void)fd, (void)mode, (void)at, (void)n;
	errno = ENOSPC;
	return sim_sparse ? -1 : 0;
}

const struct io_ops sim_io = {
	.open = sim_open,
	.close = sim_close,
	.fstat = sim_fstat,
	.pread = sim_pread,
	.pwrite = sim_pwrite,
	.fsync = sim_sync,
	.fdatasync = sim_sync,
	.ftruncate = sim_truncate,
	.fallocate = sim_allocate,
	.mkdir = sim_mkdir,
	.rmdir = sim_rmdir,
	.rename = sim_rename,
	.unlink = sim_unlink,
};

void sim_start(const struct sim_disk *from)
{
	for (unsigned i = 0; i < sim_nops; i++)
		free(sim_ops[i].bytes);
	sim_nops = 0;
	sim_calls = 0;
	sim = *from;
}

/* ---- what a crash leaves ---- */

void sim_killed(const struct sim_disk *from, unsigned k, unsigned part,
		struct sim_disk *ret_disk)
{
	*ret_disk = *from;
	for (unsigned i = 0; i < k; i++)
		do_op(ret_disk, &sim_ops[i]);
	if (k < sim_nops && sim_ops[k].kind == SIM_WRITE && part) {
		struct sim_op torn = sim_ops[k];

		torn.n = torn.n * part / 4;
		do_op(ret_disk, &torn);
	}
}

/* Was op i on the disk for good before op k? */
static bool is_synced(unsigned i, unsigned k)
{
	const struct sim_op *op = &sim_ops[i];
	enum sim_kind by = op->kind < SIM_NAME	   ? SIM_SYNC
			   : op->kind < SIM_CREATE ? SIM_SYNC_PARENT
						   : SIM_SYNC_SIDE;

	for (unsigned s = i + 1; s < k; s++)
		if (sim_ops[s].kind == by &&
		    (by != SIM_SYNC || sim_ops[s].file == op->file))
			return true;
	return op->kind == SIM_SYNC || op->kind >= SIM_SYNC_SIDE;
}

unsigned sim_losses(unsigned k)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k; i++)
		n += !is_synced(i, k);
	return n;
}

/* Each sector of a write reaches the disk or not. */
static void write_torn(struct sim_disk *d, const struct sim_op *op)
{
	for (uint64_t at = op->at; at < op->at + op->n;) {
		uint64_t end = (at / SIM_SECTOR + 1) * SIM_SECTOR;
		struct sim_op piece = *op;

		if (end > op->at + op->n)
			end = op->at + op->n;
		piece.at = at;
		piece.n = end - at;
		piece.bytes = op->bytes + (at - op->at);
		if (sim_dice(2))
			do_op(d, &piece);
		at = end;
	}
}

void sim_power_lost(const struct sim_disk *from, unsigned k, uint64_t choice,
		    struct sim_disk *ret_disk)
{
	bool torn = choice >> 63, names_over = false;
	unsigned bit = 0;

	*ret_disk = *from;
	for (unsigned i = 0; i < k; i++) {
		const struct sim_op *op = &sim_ops[i];
		bool there = is_synced(i, k);

		if (!there) {
			there = choice >> bit & 1;
			bit = (bit + 1) % 48;
		}
		/* names change in their order */
		if (op->kind >= SIM_NAME && op->kind < SIM_SYNC_SIDE) {
			names_over |= !there;
			there = !names_over;
		}
		if (there)
			do_op(ret_disk, op);
		else if (torn && op->kind == SIM_WRITE)
			write_torn(ret_disk, op);
	}
}
