/* SPDX-License-Identifier: MIT */
/* fs.c - the session: what is asked of the kernel, and the loop that serves.
 *
 * Where nothing is written OPEN is answered ENOSYS once: the kernel then opens
 * every file by itself and keeps its pages. OPENDIR is answered, because without
 * it the kernel caches listings, and a listing from that cache fills in no
 * attributes. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>

#include "fs_int.h"

int64_t fs_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

/* Is a thread one of this daemon? A number is not used again so soon that
 * an answer is wrong within the second. */
static bool is_own(struct fs *fs, pid_t thread, int64_t now)
{
	static _Thread_local struct {
		pid_t thread;
		int64_t asked;
	} others[64];
	size_t i = (size_t)thread % ARRAY_SIZE(others);

	if (others[i].thread == thread && others[i].asked == now)
		return false;
	if (syscall(SYS_tgkill, fs->pid, thread, 0) == 0)
		return true;
	others[i].thread = thread;
	others[i].asked = now;
	return false;
}

struct fs *fs_enter(fuse_req_t req)
{
	struct fs *fs = fuse_req_userdata(req);
	pid_t asker = fuse_req_ctx(req)->pid; /* a thread's; 0: unknown */
	int64_t now = fs_clock();

	if (asker > 0 && is_own(fs, asker, now)) {
		fuse_reply_err(req, EDEADLK);
		return NULL;
	}
	atomic_store_explicit(&fs->last_request, now, memory_order_relaxed);
	return fs;
}

/* ENOSYS would turn the whole kind of request off. */
void fs_reply_error(fuse_req_t req, const char *op, int r)
{
	log_debug("%s: %s", op, strerror(-r));
	fuse_reply_err(req, r == -ENOSYS ? EIO : -r);
}

void fs_reply_done(fuse_req_t req, const char *op, int r)
{
	if (r < 0)
		fs_reply_error(req, op, r);
	else
		fuse_reply_err(req, 0);
}

double fs_attr_ttl(struct fs *fs, uint64_t ino)
{
	return ns_is_volatile(fs->ns, ino) ? 0 : FS_TTL;
}

double fs_entry_ttl(struct fs *fs, uint64_t ino)
{
	if (!ns_is_volatile(fs->ns, ino))
		return FS_TTL;
	return fs->writes ? 0 : FS_VOLATILE_ENTRY_TTL;
}

static void want(struct fuse_conn_info *conn, unsigned flag, bool on)
{
	if (on && (conn->capable & flag))
		conn->want |= flag;
	else
		conn->want &= ~flag;
}

/* libfuse wants max_read= said twice: at mount and at init. 0: not given. */
static unsigned max_read(const struct fs_options *o)
{
	const char *at =
		o->mount_options ? strstr(o->mount_options, "max_read=") : NULL;

	return at ? (unsigned)strtoul(at + strlen("max_read="), NULL, 10) : 0;
}

static void fs_op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	if (max_read(fs->options))
		conn->max_read = max_read(fs->options);

	want(conn, FUSE_CAP_READDIRPLUS, true);
	want(conn, FUSE_CAP_READDIRPLUS_AUTO, true);
	want(conn, FUSE_CAP_PARALLEL_DIROPS, true);
	want(conn, FUSE_CAP_AUTO_INVAL_DATA, true); /* .h5fs/status */
	want(conn, FUSE_CAP_CACHE_SYMLINKS, true);
	want(conn, FUSE_CAP_ATOMIC_O_TRUNC, fs->writes);
	want(conn, FUSE_CAP_WRITEBACK_CACHE, false);
	/* Requests are small, replies come from memory. */
	want(conn, FUSE_CAP_SPLICE_READ, false);
	want(conn, FUSE_CAP_SPLICE_WRITE, false);
	want(conn, FUSE_CAP_SPLICE_MOVE, false);
	if (fs->events->ready)
		fs->events->ready(fs->events->arg);
}

static const struct fuse_lowlevel_ops reading = {
	.init = fs_op_init,
	.lookup = fs_op_lookup,
	.forget = fs_op_forget,
	.forget_multi = fs_op_forget_multi,
	.getattr = fs_op_getattr,
	.readlink = fs_op_readlink,
	.statfs = fs_op_statfs,
	.open = fs_op_open,
	.read = fs_op_read,
	.opendir = fs_op_opendir,
	.readdir = fs_op_readdir,
	.readdirplus = fs_op_readdirplus,
	.getxattr = fs_op_getxattr,
	.listxattr = fs_op_listxattr,
};

/* Beside those, and instead of OPEN, where this mount may write. Elsewhere it is
 * the kernel that says EROFS. */
static void add_writing(struct fuse_lowlevel_ops *ops)
{
	ops->open = fs_op_open_file;
	ops->create = fs_op_create;
	ops->write = fs_op_write;
	ops->setattr = fs_op_setattr;
	ops->flush = fs_op_flush;
	ops->fsync = fs_op_fsync;
	ops->fsyncdir = fs_op_fsyncdir;
	ops->release = fs_op_release;
	ops->mknod = fs_op_mknod;
	ops->mkdir = fs_op_mkdir;
	ops->symlink = fs_op_symlink;
	ops->link = fs_op_link;
	ops->unlink = fs_op_unlink;
	ops->rmdir = fs_op_rmdir;
	ops->rename = fs_op_rename;
	ops->setxattr = fs_op_setxattr;
	ops->removexattr = fs_op_removexattr;
}

/* libfuse's own words. With -d they go to stderr as they are. */
static void log_fuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char text[512];
	size_t n;

	vsnprintf(text, sizeof(text), fmt, ap);
	n = strlen(text);
	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	/* what the kernel is told of may be gone there, or another thing */
	if (level <= FUSE_LOG_WARNING &&
	    strncmp(fmt, "fuse: writing device", 20))
		log_warn("%s", text);
	else
		log_debug("%s", text);
}

static int session_new(struct fs *fs, int fd)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_lowlevel_ops ops = reading;
	char path[32];
	int bad;

	if (fs->writes)
		add_writing(&ops);
	bad = fuse_opt_add_arg(&args, "h5fs");
	if (fs->options->mount_options && *fs->options->mount_options) {
		bad |= fuse_opt_add_arg(&args, "-o");
		bad |= fuse_opt_add_arg(&args, fs->options->mount_options);
	}
	if (fs->options->debug)
		bad |= fuse_opt_add_arg(&args, "-d");
	if (!bad)
		fs->se = fuse_session_new(&args, &ops, sizeof(ops), fs);
	fuse_opt_free_args(&args);
	if (!fs->se) {
		close(fd);
		return bad ? -ENOMEM : -EINVAL;
	}
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	if (fuse_session_mount(fs->se, path) != 0) {
		close(fd);
		return -EIO;
	}
	return 0;
}

static int loop(struct fs *fs)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int r;

	if (!config)
		return -ENOMEM;
	fuse_loop_cfg_set_clone_fd(config, 0);
	if (fs->options->threads) {
		fuse_loop_cfg_set_max_threads(config, fs->options->threads);
		fuse_loop_cfg_set_idle_threads(config, fs->options->threads);
	}
	r = fuse_session_loop_mt(fs->se, config);
	fuse_loop_cfg_destroy(config);
	return r < 0 ? r : 0; /* positive: a signal ended it */
}

static bool is_unmounted(struct fs *fs)
{
	struct pollfd p = { .fd = fuse_session_fd(fs->se) };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* Nothing is asked any more. A signal must not end what is being committed, nor
 * what follows: the process is about to end. */
static void commit_last(struct fs *fs)
{
	sigset_t set;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	(void)ns_commit(fs->ns, NS_COMMIT_UNMOUNT); /* told in its faults */
}

int fs_serve(struct ns *ns, int fd, const struct fs_options *o,
	     const struct fs_events *events)
{
	struct fs fs = {
		.ns = ns,
		.options = o,
		.events = events,
		.writes = ns_mode(ns) != NS_RO,
		.pid = getpid(),
		.loop_thread = pthread_self(),
		.last_request = fs_clock(),
	};
	struct keeper *keeper = NULL;
	int r;

	if (!o->debug)
		fuse_set_log_func(log_fuse);
	r = session_new(&fs, fd);
	if (r == 0 && fuse_set_signal_handlers(fs.se) != 0)
		r = -EIO;
	if (r == 0) {
		r = keeper_start(&fs, &keeper);
		if (r == 0)
			r = loop(&fs);
		if (r == 0)
			r = is_unmounted(&fs) ? 0 : 1;
		if (fs.writes && events->ending)
			events->ending(events->arg);
		keeper_stop(keeper);
		if (fs.writes)
			commit_last(&fs);
		fuse_remove_signal_handlers(fs.se);
	}
	if (fs.se)
		fuse_session_destroy(fs.se);
	return r;
}

void fs_versions(struct strbuf *out)
{
	strbuf_printf(out, "libfuse %s", fuse_pkgversion());
}
