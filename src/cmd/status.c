/* SPDX-License-Identifier: MIT */
/* status.c - `h5fs status`: what a mount says of itself, for people or as the
 * JSON that it is. */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>

#include "h5fs/cmd.h"

#define VALUE_COLUMN 24

static void print_value(const char *key, const json_t *value, int depth);

static void print_label(const char *key, int depth)
{
	int n = printf("%*s", depth * 2, "");

	for (; *key; key++, n++)
		putchar(*key == '_' ? ' ' : *key);
	for (; n < VALUE_COLUMN - 1; n++)
		putchar(' ');
	putchar(' ');
}

/* Text of FILE goes to a terminal: no control characters. */
static void print_text(const char *text)
{
	for (; *text; text++)
		putchar(iscntrl((unsigned char)*text) ? '?' : *text);
}

static void print_scalar(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		print_text(json_string_value(value));
		break;
	case JSON_INTEGER:
		printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		printf("%g", json_real_value(value));
		break;
	case JSON_NULL:
		printf("-");
		break;
	default:
		printf("%s", json_is_true(value) ? "yes" : "no");
	}
}

static void print_members(const json_t *object, int depth)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
		print_value(key, value, depth);
}

static void print_items(const char *key, const json_t *array, int depth)
{
	json_t *item;
	size_t i;

	json_array_foreach(array, i, item)
		print_value(key, item, depth);
	if (json_array_size(array) == 0) {
		print_label(key, depth);
		puts("none");
	}
}

static void print_value(const char *key, const json_t *value, int depth)
{
	if (json_is_array(value)) {
		print_items(key, value, depth);
		return;
	}
	print_label(key, depth);
	if (json_is_object(value)) {
		putchar('\n');
		print_members(value, depth + 1);
	} else {
		print_scalar(value);
		putchar('\n');
	}
}

/* The file is padded with newlines to whole pages. */
static int print_json(const struct blob *b)
{
	size_t n = b->size;

	while (n && b->data[n - 1] == '\n')
		n--;
	fwrite(b->data, 1, n, stdout);
	putchar('\n');
	return 0;
}

static int flag(void *arg, int c, const char *value)
{
	*(bool *)arg = true;
	return 0;
}

int cmd_status(int argc, char **argv)
{
	CLEANUP(cmd_options_done) struct cmd_options o;
	CLEANUP(blob_unrefp) struct blob *text = NULL;
	bool as_json = false;
	struct cmd_line line = {
		.short_options = "",
		.min = 1,
		.max = 1,
		.json = true,
		.usage = "status [--json] DIR",
		.flag = flag,
		.arg = &as_json,
	};
	json_t *root;
	int status = 1;

	cmd_options_init(&o);
	if (cmd_line_parse(&line, argc, argv, &o, &status) < 0)
		return status;
	if (ask_status(argv[optind], &root, &text))
		return 1;
	if (as_json)
		print_json(text);
	else
		print_members(root, 0);
	json_decref(root);
	return fflush(stdout) == 0
		       ? 0
		       : cmd_fail("standard output", strerror(errno));
}
