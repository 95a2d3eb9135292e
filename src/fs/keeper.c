/* SPDX-License-Identifier: MIT */
/* keeper.c - the thread that watches FILE and the clock.
 *
 * Each second, and soon after FILE was touched or another file took its name, the
 * tree is asked whether FILE changed. Invalidations are sent from here alone,
 * with no lock held: from inside a request they can deadlock. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <time.h>

#include "fs_int.h"

#define TICK_MS 1000
#define SETTLE_MS 20 /* a writer tells of each write */

struct keeper {
	struct fs *fs;
	pthread_t thread;
	bool running;
	int stop;   /* eventfd */
	int watch;  /* inotify; -1: only the poll */
	int file;   /* watch of the file that has FILE's name; -1: none */
	char *name; /* FILE's last component */
	struct strbuf again; /* names to be dropped once more */
	int64_t again_at;    /* clock_ms() */
	int64_t idle_told;
};

/* Its content changes where nobody looks at its directory. Set before the tree
 * looks at FILE, so no change comes between. */
static void watch_content(struct keeper *k)
{
	int file = inotify_add_watch(k->watch, ns_file(k->fs->ns),
				     IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB |
					     IN_MOVE_SELF | IN_DELETE_SELF);

	if (k->file >= 0 &&
	    file != k->file) /* fails if it went with the file */
		(void)inotify_rm_watch(k->watch, k->file);
	k->file = file;
}

/* Does one of the pending events concern FILE? A full queue might. In the
 * directory only names come and go: what is written to other files there wakes
 * nobody. */
static bool touched(struct keeper *k)
{
	char buf[4096]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	bool yes = false;
	ssize_t n;

	while ((n = read(k->watch, buf, sizeof(buf))) > 0) {
		const char *p = buf;

		while (p < buf + n) {
			const struct inotify_event *e = (const void *)p;

			if ((e->mask & IN_Q_OVERFLOW) || e->wd == k->file ||
			    (e->len && strcmp(e->name, k->name) == 0))
				yes = true;
			p += sizeof(*e) + e->len;
		}
	}
	if (yes)
		watch_content(k);
	return yes;
}

static void forget_root_names(struct fs *fs, const struct strbuf *names)
{
	const char *p = names->buf;

	while (p && p < names->buf + names->len) {
		size_t n = strlen(p);

		(void)fuse_lowlevel_notify_inval_entry(fs->se, FUSE_ROOT_ID, p,
						       n);
		p += n + 1;
	}
	(void)fuse_lowlevel_notify_inval_inode(fs->se, FUSE_ROOT_ID, 0, 0);
}

static int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A listing that was under way may tell the kernel old names after they were
 * dropped, so they are dropped once more. */
static void drop_again(struct keeper *k)
{
	if (!k->again.len)
		return;
	forget_root_names(k->fs, &k->again);
	strbuf_done(&k->again);
}

static void refresh(struct keeper *k)
{
	struct fs *fs = k->fs;
	struct strbuf names = STRBUF_INIT;
	int r;

	r = ns_refresh(fs->ns, &names);
	if (r == 1 || clock_ms() >= k->again_at)
		drop_again(k);
	if (r == 1) {
		log_debug("FILE has changed; names are looked up afresh");
		forget_root_names(fs, &names);
		strbuf_put(&k->again, names.buf, names.len);
		k->again_at = clock_ms() + TICK_MS;
	} else if (r < 0) {
		log_debug("FILE is changing: %s", strerror(-r));
	}
	strbuf_done(&names);
}

static void check_idle(struct keeper *k)
{
	struct fs *fs = k->fs;
	int64_t now = fs_clock();
	int64_t since =
		atomic_load_explicit(&fs->last_request, memory_order_relaxed);

	if (!fs->options->idle_timeout || !fs->events->idle)
		return;
	if (since < k->idle_told)
		since = k->idle_told;
	if (now - since < (int64_t)fs->options->idle_timeout)
		return;
	k->idle_told = now;
	fs->events->idle(fs->events->arg);
}

static void *keep(void *arg)
{
	struct keeper *k = arg;
	struct pollfd fds[2] = {
		{ .fd = k->stop, .events = POLLIN },
		{ .fd = k->watch, .events = POLLIN },
	};

	for (int64_t tick = clock_ms() + TICK_MS;;
	     tick = clock_ms() + TICK_MS) {
		int64_t left = tick - clock_ms();
		int n = poll(fds, 2, left > 0 ? (int)left : 0);

		/* what else happens in the directory does not put the tick off */
		while (n > 0 && !fds[0].revents && !touched(k) &&
		       (left = tick - clock_ms()) > 0)
			n = poll(fds, 2, (int)left);
		if (fds[0].revents || (n > 0 && poll(fds, 1, SETTLE_MS) > 0))
			return NULL;
		refresh(k);
		check_idle(k);
		/* The loop may have missed the signal that ended the session:
		 * it checks, then sleeps. */
		if (fuse_session_exited(k->fs->se))
			pthread_kill(k->fs->loop_thread, SIGTERM);
	}
}

/* Without a watch the poll does alone: network file systems tell nothing. */
static int watch_file(struct keeper *k)
{
	const char *file = ns_file(k->fs->ns);
	const char *slash = strrchr(file, '/');
	CLEANUP(freep) char *dir = NULL;

	k->name = strdup(slash ? slash + 1 : file);
	dir = slash ? strndup(file, (size_t)(slash - file) + 1) : strdup(".");
	if (!k->name || !dir)
		return -ENOMEM;
	k->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (k->watch < 0)
		return 0;
	if (inotify_add_watch(k->watch, dir,
			      IN_CREATE | IN_MOVED_TO | IN_DELETE) < 0) {
		close(k->watch);
		k->watch = -1;
		return 0;
	}
	watch_content(k);
	return 0;
}

static int start_thread(struct keeper *k)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&k->thread, NULL, keep, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	k->running = r == 0;
	return -r;
}

int keeper_start(struct fs *fs, struct keeper **ret_keeper)
{
	CLEANUP(keeper_stopp) struct keeper *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	k->fs = fs;
	k->watch = k->file = -1;
	k->stop = eventfd(0, EFD_CLOEXEC);
	if (k->stop < 0)
		return -errno;
	r = watch_file(k);
	if (r == 0)
		r = start_thread(k);
	if (r < 0)
		return r;
	*ret_keeper = TAKE(k);
	return 0;
}

void keeper_stop(struct keeper *k)
{
	if (!k)
		return;
	if (k->running) {
		(void)eventfd_write(k->stop, 1);
		pthread_join(k->thread, NULL);
	}
	fd_closep(&k->stop);
	fd_closep(&k->watch);
	strbuf_done(&k->again);
	free(k->name);
	free(k);
}
