/* SPDX-License-Identifier: MIT */
/* command.c - what is written to .h5fs/control: one write, one command, and its
 * errno is what became of it. */
#include "write_int.h"

#define COMMAND_MAX 65536

/* ---- discard ---- */

/* A name in a directory, held. */
struct spot {
	struct ns *ns;
	uint64_t parent, ino; /* 0: not held */
	struct stat st;
	char *name;
};

static void spot_done(struct spot *s)
{
	if (s->ino)
		ns_forget(s->ns, s->ino, 1);
	if (s->parent)
		ns_forget(s->ns, s->parent, 1);
	free(s->name);
}

/* From where s is to the name below it. */
static int step(struct spot *s, const char *name, size_t n)
{
	struct ns_entry e;
	char *copy = strndup(name, n);
	int r = copy ? ns_lookup(s->ns, s->ino ? s->ino : NS_ROOT_INO, copy, &e)
		     : -ENOMEM;

	if (r < 0) {
		free(copy);
		return r;
	}
	if (s->parent)
		ns_forget(s->ns, s->parent, 1);
	free(s->name);
	s->parent = s->ino;
	s->ino = e.ino;
	s->st = e.st;
	s->name = copy;
	return 0;
}

static int walk(struct spot *s, const char *path)
{
	int r = 0;

	while (r == 0 && *(path += strspn(path, "/"))) {
		size_t n = strcspn(path, "/");

		r = step(s, path, n);
		path += n;
	}
	return r;
}

static int discard_entry(struct ns *ns, uint64_t parent, const char *name,
			 const struct ns_entry *e);

/* Its names first: a listing does not go on while it is emptied. */
static int put_name(void *arg, const struct ns_dirent *d)
{
	struct strbuf *names = arg;

	strbuf_put(names, d->name, strlen(d->name) + 1);
	return 0;
}

static int empty_directory(struct ns *ns, uint64_t ino)
{
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	int r = ns_list(ns, ino, 0, false, put_name, &names);

	if (r == 0)
		r = strbuf_error(&names);
	for (size_t at = 0; r == 0 && at < names.len;
	     at += strlen(names.buf + at) + 1) {
		struct ns_entry e;

		r = ns_lookup(ns, ino, names.buf + at, &e);
		if (r == 0) {
			r = discard_entry(ns, ino, names.buf + at, &e);
			ns_forget(ns, e.ino, 1);
		}
		if (r == -ENOENT) /* somebody else was faster */
			r = 0;
	}
	return r;
}

/* The stage's key of a directory of FILE. */
static int directory_key(struct ns *ns, const struct pin *p, char **ret_key)
{
	CLEANUP(intake_done) struct intake in = { 0 };
	int r;

	if (p->node.view == V_CLASS || p->node.view == V_NEWCLASS) {
		r = intake_of(ns, p, &in);
		if (r == 0)
			*ret_key = TAKE(in.dir);
		return r;
	}
	*ret_key = object_path(p->object);
	return *ret_key ? 0 : -ENOMEM;
}

/* What is staged in it and below it. */
static int discard_below(struct ns *ns, uint64_t ino)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(freep) char *dir = NULL;
	uint64_t rows;
	int r = pin_get(ns, ino, &p);

	if (r == 0)
		r = directory_key(ns, &p, &dir);
	if (r == -ENOENT) /* nothing is ever staged there */
		return 0;
	return r < 0 ? r : stage_discard(ns->stage, dir, NULL, &rows);
}

static int discard_entry(struct ns *ns, uint64_t parent, const char *name,
			 const struct ns_entry *e)
{
	bool is_dir = S_ISDIR(e->st.st_mode);
	int r;

	switch (node_of(e->ino).view) {
	case V_PENDING:
		r = is_dir ? empty_directory(ns, e->ino) : 0;
		if (r < 0)
			return r;
		return is_dir ? ns_rmdir(ns, parent, name)
			      : ns_unlink(ns, parent, name);
	case V_STAGED:
	case V_DRAFT:
		return ns_unlink(ns, parent, name);
	default:
		return is_dir ? discard_below(ns, e->ino) : -EINVAL;
	}
}

static int discard_path(struct ns *ns, const char *path)
{
	CLEANUP(spot_done) struct spot s = { .ns = ns };
	struct ns_entry e;
	int r = walk(&s, path);

	if (r < 0)
		return r;
	if (!s.ino)
		return discard_below(ns, NS_ROOT_INO);
	e = (struct ns_entry){ .ino = s.ino, .st = s.st };
	return discard_entry(ns, s.parent ? s.parent : NS_ROOT_INO, s.name, &e);
}

/* args: each with its NUL, up to end. */
static int run_discard(struct ns *ns, const char *args, const char *end)
{
	uint64_t rows;
	int r = 0;

	if (args == end)
		return stage_discard(ns->stage, NULL, NULL, &rows);
	for (; r == 0 && args < end; args += strlen(args) + 1)
		r = discard_path(ns, args);
	return r;
}

/* ---- commands ---- */

static int run_commit(struct ns *ns, const char *args, const char *end)
{
	return args == end ? ns_commit(ns, NS_COMMIT_ASKED) : -EINVAL;
}

static const struct command {
	const char *word;
	int (*run)(struct ns *ns, const char *args, const char *end);
} commands[] = {
	{ "commit", run_commit },
	{ "discard", run_discard },
};

int control_write(struct ns *ns, const char *line, size_t n)
{
	CLEANUP(freep) char *text = NULL;
	char *args;
	int r = -EINVAL;

	if (!ns->stage)
		return -EROFS;
	if (n > COMMAND_MAX)
		return -E2BIG;
	text = calloc(1, n + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, line, n);
	/* a line has its newline; what has NULs may have one inside a name */
	if (n && text[n - 1] == '\n' && strlen(text) == n)
		text[--n] = '\0';
	args = text + strcspn(text, " ");
	if (*args == ' ')
		*args = '\0';
	args = args < text + n ? args + 1 : text + n;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].word, text))
			r = commands[i].run(ns, args, text + n);
	control_renew(ns);
	return r;
}
