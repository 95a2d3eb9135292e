/* SPDX-License-Identifier: MIT */
/* keeper.c - the thread that watches FILE and the clock, and commits what is due.
 *
 * Each second, and soon after FILE was touched or another file took its name, the
 * tree is asked whether FILE changed; each second, and soon after the tree told of
 * a change of its own, whether a commit is due. Invalidations are sent from here
 * alone, with no lock held: from inside a request they can deadlock. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <time.h>

#include "fs_int.h"

#define TICK_MS 1000
#define SETTLE_MS 20 /* a writer tells of each write */
#define COMMIT_MS 50 /* and the tree of each file that is closed */

enum { STOP, WATCH, TOLD, FDS };

struct keeper {
	struct fs *fs;
	pthread_t thread;
	bool running;
	int stop;   /* eventfd */
	int told;   /* eventfd: the tree has changed by itself */
	int watch;  /* inotify; -1: only the poll */
	int file;   /* watch of the file that has FILE's name; -1: none */
	char *name; /* FILE's last component */
	/* What the kernel was told since the last tick, and before that: to be
	 * told once more. */
	struct ns_changes fresh, again;
	int64_t tick, commit_at; /* clock_ms() */
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

static int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void drop(struct fs *fs, const struct ns_changes *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct ns_change *x = &c->changes[i];

		if (x->name)
			(void)fuse_lowlevel_notify_inval_entry(
				fs->se, x->ino, x->name, strlen(x->name));
		else
			(void)fuse_lowlevel_notify_inval_inode(fs->se, x->ino,
							       0, 0);
	}
}

/* Moves what is in c to the end of list. Without memory it stays. */
static void append(struct ns_changes *list, struct ns_changes *c)
{
	struct ns_change *grown;

	if (!c->count)
		return;
	grown = realloc(list->changes,
			(list->count + c->count) * sizeof(*grown));
	if (!grown)
		return;
	memcpy(grown + list->count, c->changes, c->count * sizeof(*grown));
	list->changes = grown;
	list->count += c->count;
	free(c->changes);
	*c = (struct ns_changes){ 0 };
}

/* A look-up or a listing that was under way may tell the kernel of an old state
 * after it was dropped, so all is dropped once more, a second or two later. */
static void tell_kernel(struct keeper *k, struct ns_changes *c)
{
	drop(k->fs, c);
	append(&k->fresh, c);
	ns_changes_done(c);
}

static void tell_again(struct keeper *k)
{
	drop(k->fs, &k->again);
	ns_changes_done(&k->again);
	k->again = k->fresh;
	k->fresh = (struct ns_changes){ 0 };
}

/* NULL: the root itself. */
static void add_root_name(struct ns_changes *c, const char *name)
{
	struct ns_changes one = { 0 };

	one.changes = calloc(1, sizeof(*one.changes));
	if (!one.changes)
		return;
	one.count = 1;
	one.changes->ino = FUSE_ROOT_ID;
	one.changes->name = name ? strdup(name) : NULL;
	append(c, &one);
	ns_changes_done(&one);
}

static void refresh(struct keeper *k)
{
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	struct ns_changes c = { 0 };
	int r;

	r = ns_refresh(k->fs->ns, &names);
	if (r < 0)
		log_debug("FILE is changing: %s", strerror(-r));
	if (r != 1)
		return;
	log_debug("FILE has changed; names are looked up afresh");
	for (const char *p = names.buf; p && p < names.buf + names.len;
	     p += strlen(p) + 1)
		add_root_name(&c, p);
	add_root_name(&c, NULL);
	tell_kernel(k, &c);
}

static void take_changes(struct keeper *k)
{
	struct ns_changes c = { 0 };

	if (ns_take_changes(k->fs->ns, &c) == 0)
		tell_kernel(k, &c);
}

static void commit(struct keeper *k)
{
	k->commit_at = 0;
	(void)ns_commit(k->fs->ns, NS_COMMIT_TICK); /* told in its faults */
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

static void on_told(void *arg)
{
	struct keeper *k = arg;

	(void)eventfd_write(k->told, 1);
}

/* What was told: the kernel must drop it, and it may have filled a chunk. */
static void hear(struct keeper *k)
{
	eventfd_t n;

	(void)eventfd_read(k->told, &n);
	take_changes(k);
	if (k->fs->writes && !k->commit_at)
		k->commit_at = clock_ms() + COMMIT_MS;
}

/* How long to sleep at most. */
static int left(const struct keeper *k)
{
	int64_t until =
		k->commit_at && k->commit_at < k->tick ? k->commit_at : k->tick;
	int64_t ms = until - clock_ms();

	return ms > 0 ? (int)ms : 0;
}

static void on_tick(struct keeper *k)
{
	refresh(k);
	check_idle(k);
	/* The loop may have missed the signal that ended the session: it checks,
	 * then sleeps. */
	if (fuse_session_exited(k->fs->se))
		pthread_kill(k->fs->loop_thread, SIGTERM);
}

static void *keep(void *arg)
{
	struct keeper *k = arg;
	struct pollfd fds[FDS] = {
		[STOP] = { .fd = k->stop, .events = POLLIN },
		[WATCH] = { .fd = k->watch, .events = POLLIN },
		[TOLD] = { .fd = k->told, .events = POLLIN },
	};

	k->tick = clock_ms() + TICK_MS;
	for (;;) {
		bool due, was_touched = false;

		if (poll(fds, FDS, left(k)) > 0) {
			if (fds[STOP].revents)
				return NULL;
			if (fds[TOLD].revents)
				hear(k);
			was_touched = fds[WATCH].revents && touched(k);
		}
		if (was_touched && poll(&fds[STOP], 1, SETTLE_MS) > 0)
			return NULL;
		due = clock_ms() >= k->tick;
		if (k->fs->writes &&
		    (due || (k->commit_at && clock_ms() >= k->commit_at)))
			commit(k);
		if (was_touched || due)
			on_tick(k);
		if (due) {
			tell_again(k);
			k->tick = clock_ms() + TICK_MS;
		}
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
	k->watch = k->file = k->told = -1;
	k->stop = eventfd(0, EFD_CLOEXEC);
	if (k->stop < 0)
		return -errno;
	k->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->told < 0)
		return -errno;
	r = watch_file(k);
	if (r == 0)
		r = start_thread(k);
	if (r < 0)
		return r;
	ns_on_change(fs->ns, on_told, k);
	on_told(k); /* of what was there before */
	*ret_keeper = TAKE(k);
	return 0;
}

/* The last request has been answered: nobody tells any more. */
void keeper_stop(struct keeper *k)
{
	if (!k)
		return;
	if (k->running) {
		ns_on_change(k->fs->ns, NULL, NULL);
		(void)eventfd_write(k->stop, 1);
		pthread_join(k->thread, NULL);
	}
	fd_closep(&k->stop);
	fd_closep(&k->told);
	fd_closep(&k->watch);
	ns_changes_done(&k->fresh);
	ns_changes_done(&k->again);
	free(k->name);
	free(k);
}
