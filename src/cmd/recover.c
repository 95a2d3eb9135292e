/* SPDX-License-Identifier: MIT */
/* recover.c - `h5fs recover`: finishes or undoes an interrupted commit without
 * mounting; and the same before a mount that only reads. */
#include <stdio.h>
#include <sys/wait.h>

#include "h5fs/cmd.h"

void recover_apart(const char *file, const char *shown,
		   const struct ns_options *o)
{
	struct ns_options writing = *o;
	CLEANUP(freep) char *why = NULL;
	enum recovery what = RECOVERY_NONE;
	pid_t pid;

	if (!store_needs_recovery(file, NULL) || access(file, W_OK) < 0)
		return;
	pid = fork();
	if (pid < 0)
		return; /* opening FILE tells what is wrong with it */
	if (pid > 0) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return;
	}
	writing.mode = NS_APPEND;
	sandbox_enter(file, &writing);
	if (store_recover(file, NULL, &what, &why) == 0 && why)
		log_notice("%s: %s", shown, why);
	_exit(0);
}

int cmd_recover(int argc, char **argv)
{
	static const struct cmd_line line = {
		.short_options = "",
		.min = 1,
		.max = 1,
		.usage = "recover FILE",
	};
	CLEANUP(cmd_options_done) struct cmd_options o;
	CLEANUP(freep) char *why = NULL;
	enum recovery what = RECOVERY_NONE;
	const char *file;
	int r, status = 1;

	cmd_options_init(&o);
	if (cmd_line_parse(&line, argc, argv, &o, &status) < 0)
		return status;
	file = argv[optind];
	if (o.sandbox)
		sandbox_enter(file, &o.ns);
	r = store_recover(file, NULL, &what, &why);
	if (r < 0)
		return cmd_fail(file, why ? why : strerror(-r));
	printf("%s: %s\n", file, why ? why : "nothing was interrupted");
	return fflush(stdout) == 0
		       ? 0
		       : cmd_fail("standard output", strerror(errno));
}
