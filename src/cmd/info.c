/* SPDX-License-Identifier: MIT */
/* info.c - `h5fs info`: what a mount would show, without mounting. */
#include <stdio.h>

#include "h5fs/cmd.h"

static int print(struct ns *ns, const char *file, const char *path)
{
	struct strbuf out = STRBUF_INIT;
	bool written;
	int r;

	r = ns_info(ns, path, &out);
	if (r == 0)
		r = strbuf_error(&out);
	if (r == -ENOENT || r == -ELOOP) {
		CLEANUP(freep) char *what = NULL;

		if (asprintf(&what, "nothing is at %s in it", path) < 0)
			what = NULL;
		return cmd_fail(file, what ? what : strerror(ENOENT));
	}
	if (r < 0)
		return cmd_fail(file, strerror(-r));
	written = fwrite(out.buf, 1, out.len, stdout) == out.len &&
		  fflush(stdout) == 0;
	strbuf_done(&out);
	return written ? 0 : cmd_fail("standard output", strerror(errno));
}

int cmd_info(int argc, char **argv)
{
	static const struct cmd_line line = {
		.short_options = "",
		.min = 1,
		.max = 2,
		.usage = "info [-o OPTION,...] FILE [PATH]",
	};
	CLEANUP(cmd_options_done) struct cmd_options o;
	CLEANUP(ns_closep) struct ns *ns = NULL;
	int status = 1;

	cmd_options_init(&o);
	if (cmd_line_parse(&line, argc, argv, &o, &status) < 0)
		return status;
	if (cmd_open(argv[optind], &o, &ns) < 0)
		return 1;
	return print(ns, argv[optind],
		     argc - optind > 1 ? argv[optind + 1] : "/");
}
