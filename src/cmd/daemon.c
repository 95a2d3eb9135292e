/* SPDX-License-Identifier: MIT */
/* daemon.c - the process that reads FILE and answers the kernel. It confines
 * itself before it looks at a byte of FILE, so it cannot unmount: its
 * supervisor does that. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include "h5fs/cmd.h"

struct served {
	struct mount_job *job;
	int sock;
};

void null_stdio(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; fd >= 0 && i < 3; i++)
		(void)dup2(fd, i);
	if (fd > 2)
		close(fd);
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

void close_others(const int *keep, size_t n)
{
	int sorted[8];
	unsigned from = 3;

	if (n > ARRAY_SIZE(sorted))
		return;
	memcpy(sorted, keep, n * sizeof(*keep));
	qsort(sorted, n, sizeof(*sorted), compare_ints);
	for (size_t i = 0; i < n; i++) {
		if (sorted[i] < (int)from)
			continue;
		if (sorted[i] > (int)from)
			(void)close_range(from, (unsigned)sorted[i] - 1, 0);
		from = (unsigned)sorted[i] + 1;
	}
	(void)close_range(from, ~0u, 0);
}

static void on_ready(void *arg)
{
	struct served *s = arg;

	if (!s->job->options->foreground) {
		log_to_syslog(true);
		null_stdio();
	}
	(void)channel_send(s->sock, CHANNEL_READY, NULL, -1);
}

static void on_idle(void *arg)
{
	struct served *s = arg;

	(void)channel_send(s->sock, CHANNEL_IDLE, NULL, -1);
}

static int open_file(struct served *s, struct ns **ret_ns)
{
	CLEANUP(freep) char *why = NULL;
	int r;

	/* the confined can make no file */
	scratch_open(&s->job->options->ns);
	if (s->job->options->sandbox)
		sandbox_enter(s->job->file, &s->job->options->ns);
	r = ns_open(s->job->file, &s->job->options->ns, ret_ns, &why);
	if (r < 0)
		(void)channel_send(s->sock, CHANNEL_FAILED,
				   why ? why : strerror(-r), -1);
	return r;
}

static void say_opened(struct served *s, struct ns *ns)
{
	struct strbuf text = STRBUF_INIT;

	if (s->job->tell && ns_summary(ns, &text) < 0)
		strbuf_done(&text);
	(void)channel_send(s->sock, CHANNEL_OPENED,
			   strbuf_error(&text) ? NULL : text.buf, -1);
	strbuf_done(&text);
}

/* The supervisor has mounted; or it could not, and hung up. */
static int wait_for_mount(int sock)
{
	struct strbuf text = STRBUF_INIT;
	enum channel_kind kind;
	int fd = -1;

	if (channel_recv(sock, &kind, &text, &fd) < 0)
		fd = -1;
	strbuf_done(&text);
	return fd;
}

int daemon_main(struct mount_job *job, int sock)
{
	CLEANUP(ns_closep) struct ns *ns = NULL;
	struct served s = { .job = job, .sock = sock };
	struct fs_events events = { on_ready, on_idle, &s };
	pid_t parent = getppid();
	int fd, r;

	/* The terminal's signals are the supervisor's: it unmounts first. */
	(void)setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		return 1;
	close_others(&sock, 1);
	if (open_file(&s, &ns) < 0)
		return 1;
	say_opened(&s, ns);
	fd = wait_for_mount(sock);
	if (fd < 0 || chdir("/") < 0)
		return 1;
	r = fs_serve(ns, fd, &job->options->fs, &events);
	if (r < 0)
		log_error("%s: %s", job->shown, strerror(-r));
	return r < 0 ? 1 : r ? 2 : 0;
}
