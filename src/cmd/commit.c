/* SPDX-License-Identifier: MIT */
/* commit.c - `h5fs commit`: what is staged goes to FILE now. */
#include "h5fs/cmd.h"

int cmd_commit(int argc, char **argv)
{
	static const char command[] = "commit\n";
	static const struct cmd_line line = {
		.short_options = "",
		.min = 1,
		.max = 1,
		.usage = "commit DIR",
	};
	CLEANUP(cmd_options_done) struct cmd_options o;
	int status = 1;

	cmd_options_init(&o);
	if (cmd_line_parse(&line, argc, argv, &o, &status) < 0)
		return status;
	status = ask(argv[optind], NULL, command, sizeof(command) - 1);
	return status ? status : ask_staged(argv[optind]);
}
