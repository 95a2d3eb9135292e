/* SPDX-License-Identifier: MIT */
/* log.c - lines for people: to stderr, to syslog once in the background. */
#include <stdio.h>
#include <syslog.h>

#include "h5fs/base.h"

#define LINE_MAX_BYTES 2048
#define PREFIX "h5fs: "

static const struct {
	int priority;
	const char *text;
} levels[] = {
	[LOG_ERROR_] = { LOG_ERR, "error: " },
	[LOG_WARN_] = { LOG_WARNING, "warning: " },
	[LOG_NOTICE_] = { LOG_NOTICE, "" },
	[LOG_DEBUG_] = { LOG_DEBUG, "debug: " },
};

static int max_level = LOG_NOTICE_; /* atomic */
static bool to_syslog;		    /* atomic */

void log_to_syslog(bool on)
{
	if (on)
		openlog("h5fs", LOG_PID, LOG_DAEMON);
	__atomic_store_n(&to_syslog, on, __ATOMIC_RELEASE);
	if (!on)
		closelog();
}

void log_set_level(enum log_level max)
{
	__atomic_store_n(&max_level, (int)max, __ATOMIC_RELAXED);
}

/* Names come from files: a message stays one line and moves no cursor. */
static void hide_controls(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

void log_at(enum log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	size_t head, len;
	va_list ap;

	if ((int)level > __atomic_load_n(&max_level, __ATOMIC_RELAXED))
		return;
	head = (size_t)snprintf(line, sizeof(line), PREFIX "%s",
				levels[level].text);
	va_start(ap, fmt);
	/* One byte less than there is: the newline takes the NUL's place. */
	(void)vsnprintf(line + head, sizeof(line) - head - 1, fmt, ap);
	va_end(ap);
	hide_controls(line);
	if (__atomic_load_n(&to_syslog, __ATOMIC_ACQUIRE)) {
		syslog(levels[level].priority, "%s", line + strlen(PREFIX));
		return;
	}
	len = strlen(line);
	line[len] = '\n';
	/* One write a line: lines of two threads do not mix. */
	(void)io_write_all(STDERR_FILENO, line, len + 1);
}
