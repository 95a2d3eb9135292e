/* SPDX-License-Identifier: MIT */
/* supervise.c - the process that outlives the daemon: it mounts, waits, and
 * unmounts whatever the daemon died of, so that no dead mount stays.
 *
 *   caller --fork--> supervisor --fork--> daemon     (in front: caller is it)
 *
 * OPENING --opened--> MOUNTED --ready--> SERVING --daemon ends--> over
 *    any --failed, hang-up, signal--> ENDING --daemon ends--> over */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "h5fs/cmd.h"

/* A daemon that may write might be in a commit when it is told to end: it says
 * so as soon as it can, and then has all the time it needs. */
#define KILL_AFTER_MS 5000
#define KILL_WRITER_AFTER_MS 60000

enum state { OPENING, MOUNTED, SERVING, ENDING };
struct supervisor {
	struct mount_job *job;
	enum state state;
	int report;  /* to the caller; -1: we are it */
	int signals; /* signalfd */
	int sock;
	pid_t daemon;
	struct fs_mount *mount;
	char *summary;
	bool reported;
	bool served;  /* it has been ready */
	bool writes;  /* it may be writing to FILE */
	bool commits; /* it is, for the last time */
	bool stopped; /* its end was asked for, or told */
};

/* ---- what the caller is told: a letter, and text for people ---- */
static int tell(const struct mount_job *job, char letter, const char *text)
{
	if (letter != 'R')
		return cmd_fail(job->shown, text);
	printf("%s", text);
	fflush(stdout);
	return 0;
}

static void report(struct supervisor *s, char letter, const char *text)
{
	if (s->reported)
		return;
	s->reported = true;
	if (s->report < 0) {
		(void)tell(s->job, letter, text);
		return;
	}
	(void)io_write_all(s->report, &letter, 1);
	(void)io_write_all(s->report, text, strlen(text));
	close(s->report);
}

/* The caller's half: waits for the report. */
static int hear(const struct mount_job *job, int fd)
{
	char buf[CHANNEL_TEXT_MAX + 2];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(buf) - 1) {
		got = read(fd, buf + n, sizeof(buf) - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	buf[n] = '\0';
	if (n == 0)
		return cmd_fail(job->shown, "the mounting process was killed");
	return tell(job, buf[0], buf + 1);
}

/* ---- what the daemon says ---- */
static void end(struct supervisor *s)
{
	if (s->mount)
		(void)fs_mount_end(s->mount, true);
	s->state = ENDING;
	s->stopped = true;
	kill(s->daemon, SIGTERM);
}

static void on_opened(struct supervisor *s, struct strbuf *text)
{
	CLEANUP(freep) char *why = NULL;
	CLEANUP(freep) char *line = NULL;
	CLEANUP(fd_closep) int fd = -1;
	int r;

	s->summary = strbuf_steal(text);
	r = fs_mount_new(s->job->file, s->job->dir, !s->writes,
			 &s->job->options->fs, &s->mount, &fd, &why);
	if (r < 0) {
		if (asprintf(&line, "cannot mount on %s%s%s", s->job->dir,
			     why ? ": " : "", why ? why : "") < 0)
			line = NULL;
		report(s, 'F', line ? line : "cannot mount");
		end(s);
		return;
	}
	s->state = MOUNTED;
	(void)channel_send(s->sock, CHANNEL_MOUNT, NULL, fd);
}

static void on_ready(struct supervisor *s)
{
	struct cmd_options *o = s->job->options;

	s->state = SERVING;
	s->served = true;
	notify_ready(o->notify_fd);
	if (!o->foreground) {
		(void)setsid();
		(void)chdir("/");
		log_to_syslog(true);
		null_stdio();
	}
	report(s, 'R', s->summary ? s->summary : "");
}

/* A mount that is in use is not idle, however quiet. */
static void on_idle(struct supervisor *s)
{
	if (s->state == SERVING && fs_mount_end(s->mount, false) == 0)
		log_debug("%s: unmounted when idle", s->job->dir);
}

/* Nobody is to wait for answers of a daemon that only commits. */
static void on_ending(struct supervisor *s)
{
	s->commits = true;
	if (s->mount)
		(void)fs_mount_end(s->mount, true);
}

static void on_message(struct supervisor *s)
{
	struct strbuf text = STRBUF_INIT;
	enum channel_kind kind;
	int fd = -1;

	if (channel_recv(s->sock, &kind, &text, &fd) < 0) {
		/* It is ending; SIGCHLD tells how. */
		close(s->sock);
		s->sock = -1;
	} else if (kind == CHANNEL_FAILED) {
		report(s, 'F', text.buf ? text.buf : "");
		s->state = ENDING;
		s->stopped = true;
	} else if ((kind == CHANNEL_OPENED || kind == CHANNEL_OPENED_RO) &&
		   s->state == OPENING) {
		s->writes = kind == CHANNEL_OPENED;
		on_opened(s, &text);
	} else if (kind == CHANNEL_READY && s->state == MOUNTED) {
		on_ready(s);
	} else if (kind == CHANNEL_IDLE) {
		on_idle(s);
	} else if (kind == CHANNEL_ENDING) {
		on_ending(s);
	}
	fd_closep(&fd);
	strbuf_done(&text);
}

static void on_signal(struct supervisor *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info) ||
	    info.ssi_signo == SIGCHLD)
		return;
	report(s, 'F', "interrupted");
	notify_stopping();
	end(s);
}

/* Has the daemon died, while a thread of it waits in the kernel? One that tells of
 * a changed name waits for whoever is in that directory, and they for the daemon:
 * nobody would end, and the daemon's end would not be told. */
static bool has_died(pid_t daemon)
{
	char path[40], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)daemon);
	f = fopen(path, "re");
	if (!f)
		return false;
	/* the name is in brackets, and it is ours: no bracket in it */
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'Z';
}

#define CHECK_MS 1000

/* Until the daemon has ended; its wait status. */
static int watch(struct supervisor *s)
{
	int waited = 0, limit, status;

	while (waitpid(s->daemon, &status, WNOHANG) == 0) {
		/* A caller that was interrupted wants no mount. */
		bool caller = s->report >= 0 && !s->reported;
		struct pollfd fds[3] = {
			{ .fd = s->signals, .events = POLLIN },
			{ .fd = s->sock, .events = POLLIN },
			{ .fd = caller ? s->report : -1 },
		};
		bool wait = s->state != ENDING || s->commits;
		int n = poll(fds, 3, wait ? CHECK_MS : 100);

		limit = s->writes ? KILL_WRITER_AFTER_MS : KILL_AFTER_MS;
		if (n == 0 && !wait && (waited += 100) >= limit)
			kill(s->daemon, SIGKILL);
		if (n == 0 && s->mount && has_died(s->daemon))
			fs_mount_abort(s->mount);
		if (n <= 0)
			continue;
		if (fds[0].revents)
			on_signal(s);
		else if (fds[1].revents)
			on_message(s);
		else if (fds[2].revents) {
			s->reported = true;
			end(s);
		}
	}
	return status;
}

static int say_how_it_ended(struct supervisor *s, int status)
{
	char text[96];

	if (s->stopped)
		return s->served ? 0 : 1;
	if (s->served && WIFEXITED(status) && WEXITSTATUS(status) != 1)
		return 0;
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text),
			 "the daemon was ended by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(text, sizeof(text), "the daemon gave up");
	if (s->served)
		log_error("%s: %s; unmounted", s->job->shown, text);
	else
		report(s, 'F', text);
	return 1;
}

static int run(struct supervisor *s)
{
	int status;

	status = watch(s);
	/* What it still had to say comes before the verdict on its end. */
	s->state = ENDING;
	while (s->sock >= 0 && !s->reported)
		on_message(s);
	/* Once unmounted, DIR may already be the next one's. */
	if (s->mount && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		(void)fs_mount_end(s->mount, true);
	if (s->job->made_dir)
		(void)rmdir(s->job->dir);
	status = say_how_it_ended(s, status);
	fs_mount_free(s->mount);
	free(s->summary);
	return status;
}

static int start(struct mount_job *job, int report_fd)
{
	struct supervisor s = { .job = job, .report = report_fd, .sock = -1 };
	sigset_t set, before;
	int pair[2], status;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &before);
	signal(SIGPIPE, SIG_IGN);
	s.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s.signals < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return cmd_fail(NULL, strerror(errno));
	s.daemon = fork();
	if (s.daemon == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		exit(daemon_main(job, pair[1]));
	}
	close(pair[1]);
	s.sock = pair[0];
	if (s.daemon < 0)
		return cmd_fail(NULL, strerror(errno));
	if (report_fd >= 0) {
		int keep[] = { report_fd, s.signals, s.sock,
			       job->options->notify_fd };

		close_others(keep, ARRAY_SIZE(keep));
	}
	status = run(&s);
	close(s.signals);
	fd_closep(&s.sock);
	return status;
}

int supervise(struct mount_job *job)
{
	int pipe_fds[2], status;
	pid_t pid;

	fflush(stdout);
	if (job->options->foreground)
		return start(job, -1);
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return cmd_fail(NULL, strerror(errno));
	pid = fork();
	if (pid < 0)
		return cmd_fail(NULL, strerror(errno));
	if (pid == 0) {
		close(pipe_fds[0]);
		exit(start(job, pipe_fds[1]));
	}
	close(pipe_fds[1]);
	status = hear(job, pipe_fds[0]);
	close(pipe_fds[0]);
	return status;
}
