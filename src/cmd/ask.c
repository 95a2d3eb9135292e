/* SPDX-License-Identifier: MIT */
/* ask.c - a mount, asked through DIR/.h5fs: how it is, and to commit or discard
 * what is staged. */
#include <ctype.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>

#include "h5fs/cmd.h"

#define STATUS_MAX ((size_t)16 << 20)

static int not_a_mount(const char *dir, int r)
{
	if (r == -ENOTDIR || (r == -ENOENT && access(dir, F_OK) == 0))
		return cmd_fail(dir, "not an h5fs mount");
	if (r == -ENOTCONN)
		return cmd_fail(dir,
				"the mount is dead; fusermount3 -u ends it");
	return cmd_fail(dir, strerror(-r));
}

int ask_status(const char *dir, json_t **ret_status, struct blob **ret_text)
{
	CLEANUP(blob_unrefp) struct blob *text = NULL;
	CLEANUP(freep) char *path = NULL;
	json_t *root;
	int r;

	if (asprintf(&path, "%s/.h5fs/status", dir) < 0) {
		path = NULL;
		return cmd_fail(dir, strerror(ENOMEM));
	}
	r = io_read_file(path, STATUS_MAX, &text);
	if (r < 0)
		return not_a_mount(dir, r);
	root = json_loadb((const char *)text->data, text->size, 0, NULL);
	if (!json_is_object(root)) {
		json_decref(root);
		return cmd_fail(dir, "not an h5fs mount");
	}
	*ret_status = root;
	if (ret_text)
		*ret_text = TAKE(text);
	return 0;
}

/* ---- commands ---- */

/* One write is one command; its errno is what became of it. */
static int send_command(const char *dir, const char *command, size_t n)
{
	CLEANUP(fd_closep) int fd = -1;
	CLEANUP(freep) char *path = NULL;

	if (asprintf(&path, "%s/.h5fs/control", dir) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, command, n) < 0 ? -errno : 0;
}

/* Names that people gave, on a terminal: no control characters. */
static void print_name(const json_t *item, const char *key)
{
	const char *s = json_string_value(json_object_get(item, key));

	for (; s && *s; s++)
		putchar(iscntrl((unsigned char)*s) ? '?' : *s);
}

static void print_waiting(const json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		printf("  ");
		print_name(item, "file");
		if (json_object_get(item, "class")) {
			printf(" (");
			print_name(item, "class");
			printf(")");
		}
		printf(" in ");
		print_name(item, "set");
		printf(" waits for ");
		print_name(item, "for");
		putchar('\n');
	}
}

int ask_staged(const char *dir)
{
	const json_t *staged;
	json_int_t rows, waiting, pending;
	json_t *status;

	if (ask_status(dir, &status, NULL))
		return 1;
	staged = json_object_get(status, "staged");
	rows = json_integer_value(json_object_get(staged, "rows"));
	waiting = json_integer_value(json_object_get(staged, "waiting"));
	pending = json_integer_value(
		json_object_get(staged, "pending_directories"));
	if (rows == 0 && pending == 0)
		puts("nothing is staged");
	if (pending)
		printf("directories that wait to be renamed: %" JSON_INTEGER_FORMAT
		       "\n",
		       pending);
	if (rows)
		printf("rows still staged: %" JSON_INTEGER_FORMAT
		       "; of them waiting: %" JSON_INTEGER_FORMAT "\n",
		       rows, waiting);
	print_waiting(json_object_get(staged, "waits"));
	json_decref(status);
	return fflush(stdout) == 0
		       ? 0
		       : cmd_fail("standard output", strerror(errno));
}

/* The mount knows more than an errno says. */
static int commit_failed(const char *dir, int r)
{
	const char *why, *file;
	json_t *status;
	int exit_status;

	if (ask_status(dir, &status, NULL))
		return 1;
	why = json_string_value(json_object_get(
		json_object_get(status, "staged"), "last_commit_error"));
	file = json_string_value(json_object_get(status, "file"));
	exit_status =
		cmd_fail(why && file ? file : dir, why ? why : strerror(-r));
	json_decref(status);
	return exit_status;
}

int ask(const char *dir, const char *path, const char *command, size_t n)
{
	struct blob *text = NULL;
	json_t *status;
	int r = send_command(dir, command, n);

	if (r == 0)
		return 0;
	/* is it a mount at all? */
	if (ask_status(dir, &status, &text))
		return 1;
	json_decref(status);
	blob_unref(text);
	if (r == -EROFS)
		return cmd_fail(dir, "mounted read-only");
	if (!path)
		return commit_failed(dir, r);
	return cmd_fail(path, r == -ENOENT || r == -EINVAL ? "not staged"
			      : r == -EBUSY ? "it is being committed"
					    : strerror(-r));
}
