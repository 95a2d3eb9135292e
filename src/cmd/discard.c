/* SPDX-License-Identifier: MIT */
/* discard.c - `h5fs discard`: drops what is staged, all of it or at a path. */
#include <limits.h>
#include <stdio.h>

#include "h5fs/cmd.h"

/* PATH as the mount knows it, from its root: it was given from here, as the shell
 * completes it, or from DIR. */
static int path_in_mount(const char *dir, const char *path, struct strbuf *out)
{
	CLEANUP(freep) char *root = realpath(dir, NULL);
	CLEANUP(freep) char *above = strdup(path);
	CLEANUP(freep) char *real = NULL;
	const char *slash = strrchr(path, '/');
	size_t n;

	if (!root || !above)
		return root ? -ENOMEM : -errno;
	/* the last component itself is no link to be followed */
	above[slash ? (size_t)(slash - path) + (slash == path) : 0] = '\0';
	real = realpath(*above ? above : ".", NULL);
	n = strlen(root);
	if (real && strncmp(real, root, n) == 0 &&
	    (real[n] == '/' || real[n] == '\0')) {
		strbuf_printf(out, "%s/%s", real + n, slash ? slash + 1 : path);
		return strbuf_error(out);
	}
	if (*path == '/')
		return -ENOENT;
	strbuf_printf(out, "/%s", path);
	return strbuf_error(out);
}

static int discard(const char *dir, const char *path)
{
	CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
	int r;

	strbuf_put(&command, "discard", sizeof("discard"));
	r = path_in_mount(dir, path, &command);
	return r < 0 ? cmd_fail(path, r == -ENOENT ? "not in this mount"
						   : strerror(-r))
		     : ask(dir, path, command.buf, command.len);
}

int cmd_discard(int argc, char **argv)
{
	static const char all[] = "discard\n";
	static const struct cmd_line line = {
		.short_options = "",
		.min = 1,
		.max = INT_MAX,
		.usage = "discard DIR [PATH...]",
	};
	CLEANUP(cmd_options_done) struct cmd_options o;
	const char *dir;
	int status = 1;

	cmd_options_init(&o);
	if (cmd_line_parse(&line, argc, argv, &o, &status) < 0)
		return status;
	dir = argv[optind];
	status = argc - optind == 1 ? ask(dir, NULL, all, sizeof(all) - 1) : 0;
	for (int i = optind + 1; i < argc && !status; i++)
		status = discard(dir, argv[i]);
	return status ? status : ask_staged(dir);
}
