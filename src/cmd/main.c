/* SPDX-License-Identifier: MIT */
/* main.c - the program: which command. Without one, FILE is mounted. */
#include <sys/resource.h>

#include "h5fs/cmd.h"

static const struct command commands[] = {
	{ "mount", cmd_mount },	    { "info", cmd_info },
	{ "status", cmd_status },   { "export", cmd_export },
	{ "commit", cmd_commit },   { "discard", cmd_discard },
	{ "recover", cmd_recover }, { "import", NULL },
	{ "validate", NULL },	    { "encoding", NULL },
	{ "concat", NULL },
};

static const struct command *find(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(word, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

/* A descriptor is kept for each file that FILE links to: the soft limit of 1,024,
 * made for select(), is soon reached. */
static void raise_open_files(void)
{
	const rlim_t most = 65536;
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= most)
		return;
	l.rlim_cur = l.rlim_max < most ? l.rlim_max : most;
	(void)setrlimit(RLIMIT_NOFILE, &l);
}

int main(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find(argv[1]) : NULL;

	raise_open_files();
	if (c && c->run)
		return c->run(argc - 1, argv + 1);
	/* A file may be called so. */
	if (c && access(argv[1], F_OK) < 0)
		return cmd_usage("this version has no '%s' command", argv[1]);
	return cmd_mount(argc, argv);
}
