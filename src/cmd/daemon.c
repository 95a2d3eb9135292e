/* SPDX-License-Identifier: MIT */
/* daemon.c - the process that reads FILE and answers the kernel. It confines
 * itself before it looks at a byte of FILE, so it cannot unmount: its
 * supervisor does that. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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

static void on_ending(void *arg)
{
	struct served *s = arg;

	(void)channel_send(s->sock, CHANNEL_ENDING, NULL, -1);
}

#define LAST_COMMIT_MS 10000
#define LOOK_AGAIN_MS 50

/* One that is not mounted any more has its last commit to do. */
static int other_writer(const char *file)
{
	int pid = 0;

	for (int ms = 0; ms < LAST_COMMIT_MS; ms += LOOK_AGAIN_MS) {
		pid = store_writer_of(file);
		if (pid <= 0 || is_mounted_file(file))
			break;
		usleep(LOOK_AGAIN_MS * 1000);
	}
	return pid;
}

/* One mount at a time may write. Once confined this process can not see which
 * other it is. */
static int refuse_second(struct served *s)
{
	int pid = other_writer(s->job->file);
	char text[128];

	if (pid <= 0)
		return 0;
	snprintf(text, sizeof(text),
		 "is mounted for writing by process %d; -o ro reads what that "
		 "commits",
		 pid);
	(void)channel_send(s->sock, CHANNEL_FAILED, text, -1);
	return -EBUSY;
}

static int open_file(struct served *s, struct ns **ret_ns)
{
	struct ns_options *o = &s->job->options->ns;
	CLEANUP(freep) char *why = NULL;
	int r;

	if (o->mode == NS_RO)
		recover_apart(s->job->file, s->job->shown, o);
	else if (refuse_second(s) < 0)
		return -EBUSY;
	/* the confined can make no file without a name */
	scratch_open(o);
	if (s->job->options->sandbox)
		sandbox_enter(s->job->file, o);
	r = ns_open(s->job->file, o, ret_ns, &why);
	if (r < 0)
		(void)channel_send(s->sock, CHANNEL_FAILED,
				   why ? why : strerror(-r), -1);
	return r;
}

static const char *mode_text(const struct ns *ns)
{
	static const char *const texts[] = {
		[NS_RO] = "mounted read-only",
		[NS_APPEND] = "mounted; what is copied in is added",
		[NS_EDIT] = "mounted to be edited",
	};

	return texts[ns_mode(ns)];
}

/* What was not asked for is told also where nobody looks at what there is. */
static void say_opened(struct served *s, struct ns *ns)
{
	const struct mount_job *job = s->job;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

	if (ns_recovered(ns))
		log_notice("%s: %s", job->shown, ns_recovered(ns));
	if (ns_mode_why(ns))
		log_warn("%s: mounted read-only: %s", job->shown,
			 ns_mode_why(ns));
	if (job->tell) {
		(void)ns_summary(ns, &text);
		(void)ns_staged(ns, &text);
		strbuf_printf(&text,
			      "%s on %s: %s; fusermount3 -u %s ends it\n",
			      job->shown, job->dir, mode_text(ns), job->dir);
	}
	(void)channel_send(s->sock,
			   ns_mode(ns) == NS_RO ? CHANNEL_OPENED_RO
						: CHANNEL_OPENED,
			   strbuf_error(&text) ? NULL : text.buf, -1);
}

/* What is still staged when nothing is committed any more, a line each. */
static void say_staged(const struct served *s, struct ns *ns)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	char *rest, *line;

	if (ns_staged(ns, &text) < 0 || !text.len)
		return;
	rest = text.buf;
	while ((line = strsep(&rest, "\n")) && *line)
		log_warn("%s: %s", s->job->shown, line);
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
	struct fs_events events = { on_ready, on_idle, on_ending, &s };
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
	say_staged(&s, ns);
	return r < 0 ? 1 : r ? 2 : 0;
}
