/* SPDX-License-Identifier: MIT */
/* nullfs.c - what FUSE itself costs: the tree of a mount, answered from nothing.
 *
 * usage: nullfs SAMPLES SAMPLE_BYTES ARRAY_BYTES DIR
 *
 * Shows images/000000.png ... and images.npy of the given sizes, all zeros, and
 * asks the kernel for what a read-only mount of h5fs asks it for: days of caching,
 * readdirplus, OPEN and FLUSH by the kernel alone. Stays in front. */
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TTL 86400.0
#define THREADS 4
#define LISTING_MAX ((size_t)1 << 20)
#define READ_MAX ((size_t)1 << 20)

/* FUSE_ROOT_ID is 1 */
enum { DIR_INO = 2, ARRAY_INO, SAMPLE_INO };

struct tree {
	fuse_ino_t samples;
	off_t sample_bytes, array_bytes;
	time_t made;
};

static const char zeros[READ_MAX];

static void fill_stat(const struct tree *t, fuse_ino_t ino, struct stat *st)
{
	bool is_dir = ino == FUSE_ROOT_ID || ino == DIR_INO;
	off_t size = ino == ARRAY_INO ? t->array_bytes : t->sample_bytes;

	memset(st, 0, sizeof(*st));
	st->st_ino = ino;
	st->st_mode = is_dir ? S_IFDIR | 0555 : S_IFREG | 0444;
	st->st_nlink = is_dir ? 2 : 1;
	st->st_uid = getuid();
	st->st_gid = getgid();
	st->st_size = is_dir ? 0 : size;
	st->st_blksize = 4096;
	st->st_blocks = (st->st_size + 511) / 512;
	st->st_atime = st->st_mtime = st->st_ctime = t->made;
}

static void fill_entry(const struct tree *t, fuse_ino_t ino,
		       struct fuse_entry_param *e)
{
	memset(e, 0, sizeof(*e));
	e->ino = ino;
	e->attr_timeout = e->entry_timeout = TTL;
	fill_stat(t, ino, &e->attr);
}

static fuse_ino_t find(const struct tree *t, fuse_ino_t parent,
		       const char *name)
{
	unsigned long i;
	int end = 0;

	if (parent == FUSE_ROOT_ID)
		return !strcmp(name, "images")	     ? DIR_INO
		       : !strcmp(name, "images.npy") ? ARRAY_INO
						     : 0;
	if (parent != DIR_INO || sscanf(name, "%lu.png%n", &i, &end) != 1 ||
	    !end || name[end] || i >= t->samples)
		return 0;
	return SAMPLE_INO + i;
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	unsigned want = FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
			FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_AUTO_INVAL_DATA |
			FUSE_CAP_CACHE_SYMLINKS;

	conn->want |= conn->capable & want;
	conn->want &= ~(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
			FUSE_CAP_SPLICE_MOVE | FUSE_CAP_WRITEBACK_CACHE);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct tree *t = fuse_req_userdata(req);
	fuse_ino_t ino = find(t, parent, name);
	struct fuse_entry_param e;

	if (!ino) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	fill_entry(t, ino, &e);
	fuse_reply_entry(req, &e);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct stat st;

	fill_stat(fuse_req_userdata(req), ino, &st);
	fuse_reply_attr(req, &st, TTL);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fuse_reply_err(req, ENOSYS);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	const struct tree *t = fuse_req_userdata(req);
	off_t end = ino == ARRAY_INO ? t->array_bytes : t->sample_bytes;
	off_t left = offset < end ? end - offset : 0;

	if (size > READ_MAX)
		size = READ_MAX;
	fuse_reply_buf(req, zeros, (off_t)size < left ? size : (size_t)left);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	fi->cache_readdir = 0;
	fuse_reply_open(req, fi);
}

/* The k-th name of a directory, after the dots. Its inode, 0 at the end. */
static fuse_ino_t entry(const struct tree *t, fuse_ino_t dir, fuse_ino_t k,
			char name[32])
{
	if (dir == FUSE_ROOT_ID) {
		strcpy(name, k ? "images.npy" : "images");
		return k < 2 ? DIR_INO + k : 0;
	}
	if (dir != DIR_INO || k >= t->samples)
		return 0;
	snprintf(name, 32, "%06lu.png", (unsigned long)k);
	return SAMPLE_INO + k;
}

static size_t list(fuse_req_t req, fuse_ino_t dir, char *buf, size_t size,
		   off_t from, bool plus)
{
	const struct tree *t = fuse_req_userdata(req);
	struct fuse_entry_param e;
	size_t used = 0, need;
	fuse_ino_t ino;
	char name[32];

	for (;; from++, used += need) {
		const char *at = name;

		if (from < 2) {
			at = from ? ".." : ".";
			memset(&e, 0, sizeof(e));
			e.attr.st_ino = dir;
			e.attr.st_mode = S_IFDIR;
		} else {
			ino = entry(t, dir, (fuse_ino_t)from - 2, name);
			if (!ino)
				return used;
			fill_entry(t, ino, &e);
		}
		need = plus ? fuse_add_direntry_plus(req, buf + used,
						     size - used, at, &e,
						     from + 1)
			    : fuse_add_direntry(req, buf + used, size - used,
						at, &e.attr, from + 1);
		if (need > size - used)
			return used;
	}
}

static void listing(fuse_req_t req, fuse_ino_t ino, size_t size, off_t from,
		    bool plus)
{
	char *buf;

	if (size > LISTING_MAX)
		size = LISTING_MAX;
	buf = malloc(size);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	fuse_reply_buf(req, buf, list(req, ino, buf, size, from, plus));
	free(buf);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t from,
		       struct fuse_file_info *fi)
{
	listing(req, ino, size, from, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t from, struct fuse_file_info *fi)
{
	listing(req, ino, size, from, true);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			size_t size)
{
	bool others =
		!strncmp(name, "security.", 9) || !strncmp(name, "system.", 7);

	fuse_reply_err(req, others ? EOPNOTSUPP : ENODATA);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	if (size)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_xattr(req, 0);
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.open = op_open,
	.read = op_read,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
};

static int serve(struct tree *t, const char *dir)
{
	char name[] = "nullfs", flag[] = "-o", options[] = "ro,subtype=nullfs";
	char *words[] = { name, flag, options };
	struct fuse_args args = FUSE_ARGS_INIT(3, words);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse_session *se = fuse_session_new(&args, &ops, sizeof(ops), t);
	int r = 1;

	if (!config || !se || fuse_set_signal_handlers(se) ||
	    fuse_session_mount(se, dir))
		return 1;
	fuse_loop_cfg_set_clone_fd(config, 0);
	fuse_loop_cfg_set_max_threads(config, THREADS);
	fuse_loop_cfg_set_idle_threads(config, THREADS);
	r = fuse_session_loop_mt(se, config);
	fuse_session_unmount(se);
	fuse_session_destroy(se);
	fuse_loop_cfg_destroy(config);
	return r != 0;
}

int main(int argc, char **argv)
{
	struct tree t;

	if (argc != 5) {
		fprintf(stderr,
			"usage: nullfs SAMPLES SAMPLE_BYTES ARRAY_BYTES DIR\n");
		return 2;
	}
	t.samples = strtoul(argv[1], NULL, 10);
	t.sample_bytes = strtoll(argv[2], NULL, 10);
	t.array_bytes = strtoll(argv[3], NULL, 10);
	t.made = time(NULL);
	return serve(&t, argv[4]);
}
