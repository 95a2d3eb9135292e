/* SPDX-License-Identifier: MIT */
/* options.c - what -o takes: one table, a row an option. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "h5fs/cmd.h"

enum arg { ARG_NONE, ARG_NEEDED };
struct row;
typedef int (*apply_fn)(struct cmd_options *o, const struct row *row,
			const char *value, char **ret_why);
struct row {
	const char *name;
	enum arg arg;
	apply_fn apply;
	const char *origin; /* of a tree option, for messages */
	bool list;	    /* bare numbers after it belong to it */
};

static int why(char **ret_why, const char *fmt, ...) PRINTF(2, 3);
static int why(char **ret_why, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	*ret_why = text;
	return -EINVAL;
}

static int set_tree(struct cmd_options *o, const struct row *row,
		    const char *value, char **ret_why)
{
	CLEANUP(freep) char *reason = NULL;
	int r;

	r = ns_options_set(&o->ns, row->name, value, row->origin, &reason);
	if (r == -EINVAL)
		return why(ret_why, "%s%s: %s", row->origin, value ? value : "",
			   reason ? reason : "not understood");
	return r;
}

/* For libfuse, which unescapes it again. */
static int set_fuse(struct cmd_options *o, const struct row *row,
		    const char *value, char **ret_why)
{
	struct strbuf s = STRBUF_INIT;
	char *joined;

	if (o->fs.mount_options)
		strbuf_printf(&s, "%s,", o->fs.mount_options);
	strbuf_puts(&s, row->name);
	if (value)
		strbuf_putc(&s, '=');
	for (; value && *value; value++) {
		if (*value == ',' || *value == '\\')
			strbuf_putc(&s, '\\');
		strbuf_putc(&s, *value);
	}
	joined = strbuf_steal(&s);
	if (!joined)
		return -ENOMEM;
	free(o->fs.mount_options);
	o->fs.mount_options = joined;
	return 0;
}

/* What mount(8) and fstab say to themselves, and what holds anyway. */
static int ignore(struct cmd_options *o, const struct row *row,
		  const char *value, char **ret_why)
{
	return 0;
}

static int parse_unsigned(const char *text, unsigned long max,
			  unsigned long *ret_n)
{
	unsigned long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *end || n > max)
		return -EINVAL;
	*ret_n = n;
	return 0;
}

static int set_timeout(struct cmd_options *o, const struct row *row,
		       const char *value, char **ret_why)
{
	unsigned long n;

	if (parse_unsigned(value, INT_MAX, &n) < 0)
		return why(ret_why, "-o timeout=%s: not a number of seconds",
			   value);
	o->fs.idle_timeout = (unsigned)n;
	return 0;
}

static int set_notify(struct cmd_options *o, const struct row *row,
		      const char *value, char **ret_why)
{
	unsigned long n;

	if (parse_unsigned(value, INT_MAX, &n) < 0 ||
	    fcntl((int)n, F_GETFD) < 0)
		return why(ret_why, "-o notify=%s: not an open descriptor",
			   value);
	o->notify_fd = (int)n;
	return 0;
}

static int set_nosandbox(struct cmd_options *o, const struct row *row,
			 const char *value, char **ret_why)
{
	o->sandbox = false;
	return 0;
}

static int set_debug(struct cmd_options *o, const struct row *row,
		     const char *value, char **ret_why)
{
	o->fs.debug = true;
	o->foreground = true;
	return 0;
}

#define TREE(name)                                                             \
	{                                                                      \
		name, ARG_NEEDED, set_tree, "-o " name "=", false              \
	}
#define TREE_FLAG(name)                                                        \
	{                                                                      \
		name, ARG_NONE, set_tree, "-o " name, false                    \
	}
#define LIST(name)                                                             \
	{                                                                      \
		name, ARG_NEEDED, set_tree, "-o " name "=", true               \
	}
#define FUSE_FLAG(name)                                                        \
	{                                                                      \
		name, ARG_NONE, set_fuse, NULL, false                          \
	}
#define FUSE_VALUE(name)                                                       \
	{                                                                      \
		name, ARG_NEEDED, set_fuse, NULL, false                        \
	}
#define IGNORE(name)                                                           \
	{                                                                      \
		name, ARG_NONE, ignore, NULL, false                            \
	}

static const struct row rows[] = {
	TREE("view"),
	LIST("layout"),
	LIST("range"),
	TREE("labels"),
	TREE("classes"),
	TREE("masks"),
	TREE("names"),
	TREE("rows"),
	TREE_FLAG("ro"),
	TREE_FLAG("edit"),
	TREE_FLAG("grow"),
	TREE("fit"),
	TREE("commit"),
	TREE("stage"),
	TREE("external"),
	TREE("cache"),
	TREE("points"),
	TREE("threads"),
	TREE("uid"),
	TREE("gid"),
	TREE("umask"),
	{ "timeout", ARG_NEEDED, set_timeout, NULL, false },
	{ "notify", ARG_NEEDED, set_notify, NULL, false },
	{ "nosandbox", ARG_NONE, set_nosandbox, NULL, false },
	{ "debug", ARG_NONE, set_debug, NULL, false },
	FUSE_FLAG("allow_other"),
	FUSE_FLAG("allow_root"),
	FUSE_FLAG("default_permissions"),
	FUSE_FLAG("noexec"),
	FUSE_FLAG("noatime"),
	FUSE_VALUE("fsname"),
	FUSE_VALUE("subtype"),
	FUSE_VALUE("max_read"),
	IGNORE("rw"),
	IGNORE("defaults"),
	IGNORE("dev"),
	IGNORE("nodev"),
	IGNORE("suid"),
	IGNORE("nosuid"),
	IGNORE("exec"),
	IGNORE("atime"),
	IGNORE("relatime"),
	IGNORE("strictatime"),
	IGNORE("diratime"),
	IGNORE("nodiratime"),
	IGNORE("lazytime"),
	IGNORE("nolazytime"),
	IGNORE("sync"),
	IGNORE("async"),
	IGNORE("dirsync"),
	IGNORE("auto"),
	IGNORE("noauto"),
	IGNORE("user"),
	IGNORE("nouser"),
	IGNORE("users"),
	IGNORE("owner"),
	IGNORE("group"),
	IGNORE("_netdev"),
	IGNORE("nofail"),
	IGNORE("auto_unmount"),
};

/* The row of a piece's name, which ends at '=' or with the piece. */
static const struct row *find(const char *piece)
{
	size_t n = strcspn(piece, "=");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].name) == n &&
		    strncmp(rows[i].name, piece, n) == 0)
			return &rows[i];
	return NULL;
}

/* fstab's own words: x-systemd.automount, comment=... */
static bool is_for_others(const char *piece)
{
	return strncmp(piece, "x-", 2) == 0 || strncmp(piece, "X-", 2) == 0 ||
	       strncmp(piece, "comment=", 8) == 0;
}

/* "1", "-0.5"; "0+flipv": the rest of a SPEC whose bands end there. */
static bool is_bare_number(const char *piece)
{
	size_t sign = piece[0] == '-';
	char end = piece[sign + strspn(piece + sign, "0123456789.")];

	return piece[sign] >= '0' && piece[sign] <= '9' && (!end || end == '+');
}

int cmd_options_next(const char **pos, char **ret_piece)
{
	const char *p = *pos;
	char *piece, *to;

	if (!p)
		return -ENOENT;
	piece = to = malloc(strlen(p) + 1);
	if (!piece)
		return -ENOMEM;
	for (; *p && *p != ','; p++) {
		if (*p == '\\' && (p[1] == ',' || p[1] == '\\'))
			p++;
		*to++ = *p;
	}
	*to = '\0';
	*pos = *p ? p + 1 : NULL;
	*ret_piece = piece;
	return 0;
}

/* Takes the numbers that follow a list into its piece. */
static int join_numbers(const char **pos, char **piece)
{
	while (*pos) {
		CLEANUP(freep) char *more = NULL;
		const char *next = *pos;
		char *joined;
		int r;

		r = cmd_options_next(&next, &more);
		if (r < 0)
			return r;
		if (!is_bare_number(more))
			return 0;
		if (asprintf(&joined, "%s,%s", *piece, more) < 0)
			return -ENOMEM;
		free(*piece);
		*piece = joined;
		*pos = next;
	}
	return 0;
}

static int apply(struct cmd_options *o, const struct row *row,
		 const char *piece, char **ret_why)
{
	const char *value = strchr(piece, '=');

	if (value)
		value++;
	if (row->apply != ignore) {
		if (row->arg == ARG_NEEDED && (!value || !*value))
			return why(ret_why, "-o %s needs a value", row->name);
		if (row->arg == ARG_NONE && value)
			return why(ret_why, "-o %s takes no value", row->name);
	}
	return row->apply(o, row, value, ret_why);
}

int cmd_options_add(struct cmd_options *o, const char *text, char **ret_why)
{
	const char *pos = text;

	*ret_why = NULL;
	while (pos) {
		CLEANUP(freep) char *piece = NULL;
		const struct row *row;
		int r;

		r = cmd_options_next(&pos, &piece);
		if (r < 0)
			return r;
		if (!*piece || is_for_others(piece))
			continue;
		row = find(piece);
		if (!row)
			return why(ret_why, "unknown option '%.*s'",
				   (int)strcspn(piece, "="), piece);
		if (row->list) {
			r = join_numbers(&pos, &piece);
			if (r < 0)
				return r;
		}
		r = apply(o, row, piece, ret_why);
		if (r < 0)
			return r;
	}
	return 0;
}

void cmd_options_init(struct cmd_options *o)
{
	*o = (struct cmd_options){ .sandbox = true, .notify_fd = -1 };
	ns_options_init(&o->ns);
	o->ns.mode = NS_APPEND;
}

void cmd_options_done(struct cmd_options *o)
{
	ns_options_done(&o->ns);
	free(o->fs.mount_options);
}
