/* SPDX-License-Identifier: MIT */
/* main.c - the program: which command. Without one, FILE is mounted. */
#include "h5fs/cmd.h"

static const struct command commands[] = {
	{ "mount", cmd_mount },
	{ "info", cmd_info },
	{ "status", cmd_status },
	{ "export", cmd_export },
	{ "commit", NULL },
	{ "discard", NULL },
	{ "recover", NULL },
	{ "import", NULL },
	{ "validate", NULL },
	{ "encoding", NULL },
	{ "concat", NULL },
};

static const struct command *find(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(word, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find(argv[1]) : NULL;

	if (c && c->run)
		return c->run(argc - 1, argv + 1);
	/* A file may be called so. */
	if (c && access(argv[1], F_OK) < 0)
		return cmd_usage("this version has no '%s' command", argv[1]);
	return cmd_mount(argc, argv);
}
