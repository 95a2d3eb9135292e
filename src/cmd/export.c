/* SPDX-License-Identifier: MIT */
/* export.c - `h5fs export`: the tree that a mount shows, written to disk.
 *
 * One walker (export_walk.c) queues files; workers write those. Hard links are
 * made and times of directories set when all files are there. A path that fails
 * is told, and the rest goes on. */
#include <stdio.h>
#include <time.h>

#include "export_int.h"

#define WORKERS_MAX 256

/* ---- workers ---- */
static void show_progress(struct export *x)
{
	struct timespec t;
	int64_t ms;

	if (!x->terminal)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	LOCK_SCOPE(&x->lock);
	if (ms - x->shown_ms < 200)
		return;
	x->shown_ms = ms;
	fprintf(stderr, "\r%llu files, %.1f MB ", atomic_load(&x->notes.files),
		(double)atomic_load(&x->notes.bytes) / 1e6);
}

static bool take(struct export *x, struct export_job *ret_job)
{
	LOCK_SCOPE(&x->lock);
	while (!x->queued && !x->closed)
		pthread_cond_wait(&x->more, &x->lock);
	if (!x->queued)
		return false;
	*ret_job = x->queue[x->head];
	x->head = (x->head + 1) % EXPORT_QUEUE;
	x->queued--;
	pthread_cond_signal(&x->room);
	return true;
}

void export_write(struct export *x, struct export_job *j)
{
	int r = export_file(x->ns, j->ino, j->path, &x->notes);

	if (r < 0)
		export_failed(&x->notes, j->path, r);
	ns_forget(x->ns, j->ino, 1);
	free(j->path);
}

static void *work(void *arg)
{
	struct export *x = arg;
	struct export_job j;

	while (take(x, &j)) {
		export_write(x, &j);
		show_progress(x);
	}
	return NULL;
}

void export_give(struct export *x, uint64_t ino, char *path)
{
	LOCK_SCOPE(&x->lock);
	while (x->queued == EXPORT_QUEUE)
		pthread_cond_wait(&x->room, &x->lock);
	x->queue[(x->head + x->queued) % EXPORT_QUEUE] =
		(struct export_job){ .ino = ino, .path = path };
	x->queued++;
	pthread_cond_signal(&x->more);
}

static size_t start_workers(struct export *x, pthread_t *threads, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, x))
			break;
	return i;
}

static void print_faults(struct export *x)
{
	struct strbuf s = STRBUF_INIT;

	if (faults_print(ns_faults(x->ns), &s) == 0 && s.len)
		fwrite(s.buf, 1, s.len, stderr);
	strbuf_done(&s);
}

static int run(struct ns *ns, const char *dir, size_t nthreads)
{
	struct export x = {
		.ns = ns,
		.terminal = isatty(2),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.more = PTHREAD_COND_INITIALIZER,
		.room = PTHREAD_COND_INITIALIZER,
	};
	pthread_t threads[WORKERS_MAX];
	size_t n;
	int r;

	n = start_workers(&x, threads, nthreads);
	if (!n)
		return cmd_fail(dir, "no thread could be started");
	r = export_walk(&x, dir);
	pthread_mutex_lock(&x.lock);
	x.closed = true;
	pthread_cond_broadcast(&x.more);
	pthread_mutex_unlock(&x.lock);
	while (n)
		pthread_join(threads[--n], NULL);
	export_finish(&x);
	if (r < 0)
		return cmd_fail(dir, strerror(-r));
	if (x.terminal)
		fprintf(stderr, "\r%llu files, %.1f MB\n",
			atomic_load(&x.notes.files),
			(double)atomic_load(&x.notes.bytes) / 1e6);
	if (!atomic_load(&x.notes.failures))
		return 0;
	print_faults(&x);
	return 1;
}

/* An empty directory is as good as none: it is made afresh. */
static int check_target(const char *dir)
{
	if (rmdir(dir) == 0 || errno == ENOENT)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return cmd_fail(dir, "is not empty; export writes into a new "
				     "or empty directory");
	if (errno == EINVAL || errno == EBUSY)
		return cmd_fail(dir, "is in use; name a directory that is not "
				     "there yet");
	return cmd_fail(dir, strerror(errno));
}

static int flag(void *arg, int c, const char *value)
{
	size_t *threads = arg;
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (*value < '1' || *value > '9' || *end || n > WORKERS_MAX)
		return cmd_usage("-j %s: not a number from 1 to %d", value,
				 WORKERS_MAX);
	*threads = n;
	return 0;
}

int cmd_export(int argc, char **argv)
{
	CLEANUP(cmd_options_done) struct cmd_options o;
	CLEANUP(ns_closep) struct ns *ns = NULL;
	size_t threads = 0;
	struct cmd_line line = {
		.short_options = "j:",
		.min = 2,
		.max = 2,
		.usage = "export [-o OPTION,...] [-j N] FILE DIR",
		.flag = flag,
		.arg = &threads,
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int status = 1;

	cmd_options_init(&o);
	if (cmd_line_parse(&line, argc, argv, &o, &status) < 0)
		return status;
	o.sandbox = false; /* it is here to write */
	if (!threads)
		threads = o.ns.threads ? o.ns.threads
				       : (size_t)(cpus > 0 ? cpus : 1);
	if (threads > WORKERS_MAX)
		threads = WORKERS_MAX;
	if (cmd_open(argv[optind], &o, &ns) < 0 ||
	    check_target(argv[optind + 1]))
		return 1;
	return run(ns, argv[optind + 1], threads);
}
