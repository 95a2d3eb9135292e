/* SPDX-License-Identifier: MIT */
/* test_ns_options.c - options of the tree, and FILE.h5fs. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "h5fs/ns.h"

#include "check.h"

static struct ns_options o;

static int set(const char *key, const char *value)
{
	char *why = NULL;
	int r = ns_options_set(&o, key, value, "-o ", &why);

	CHECK(r != -EINVAL || (why && *why)); /* always with a reason */
	free(why);
	return r;
}

static void unknown_options_are_not_ours(void)
{
	CHECK_EQ(set("timeout", "3"), -ENOENT);
	CHECK_EQ(set("allow_other", NULL), -ENOENT);
}

static void a_path_may_hold_colons(void)
{
	CHECK_EQ(set("layout", "/dense/kernel:0:NHWC"), 0);
	CHECK_STR(o.layout.rules[0].path, "/dense/kernel:0");
	CHECK_STR(o.layout.rules[0].value, "NHWC");
	CHECK_EQ(set("range", "/a:b:-1:2.5e3"), 0);
	CHECK_STR(o.range.rules[0].path, "/a:b");
	CHECK_STR(o.range.rules[0].value, "-1:2.5e3");
}

static void values_that_do_not_parse_are_told(void)
{
	static const char *const bad[][2] = {
		{ "layout", "/x" },	     { "layout", "/x:" },
		{ "layout", ":NHWC" },	     { "layout", "/x:QQ" },
		{ "range", "/x:1" },	     { "range", "/x:2:1" },
		{ "range", "/x:a:b" },	     { "range", "/x:0:nan" },
		{ "range", "/x:0:inf" },     { "labels", "/x" },
		{ "labels", "/x:" },	     { "classes", "words" },
		{ "view", "flat" },	     { "masks", "grey" },
		{ "cache", "lots" },	     { "threads", "0" },
		{ "points", "-1" },	     { "points", "99999999T" },
		{ "threads", "1000" },	     { "uid", "-1" },
		{ "umask", "9" },	     { "external", "maybe" },
		{ "fit", "" },		     { "fit", "Crop" },
		{ "commit", "yes" },	     { "rows", "g" },
		{ "rows", "" },		     { "stage", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(set(bad[i][0], bad[i][1]), -EINVAL);
}

static void words_are_set(void)
{
	CHECK_EQ(set("classes", "both"), 0);
	CHECK_EQ(o.classes, NS_CLASS_BOTH);
	CHECK_EQ(set("view", "classes"), 0);
	CHECK_EQ(o.view, NS_CLASSES);
	CHECK_EQ(set("external", "follow"), 0);
	CHECK_EQ(o.external, EXTERNAL_FOLLOW);
	CHECK_EQ(set("cache", "1G"), 0);
	CHECK(o.points_bytes == NS_POINTS_DEFAULT && o.points_fd == -1);
	CHECK_EQ(set("points", "64M"), 0);
	CHECK_EQ(o.points_bytes, 64 << 20);
	CHECK_EQ(o.cache_bytes, 1 << 30);
	CHECK_EQ(set("umask", "027"), 0);
	CHECK_EQ(o.umask, 027);
}

static void writing_is_asked_for(void)
{
	CHECK_EQ(o.mode, NS_RO); /* until somebody asks */
	CHECK_EQ(set("edit", NULL), -EINVAL);
	o.mode = NS_APPEND;
	CHECK_EQ(set("edit", NULL), 0);
	CHECK_EQ(o.mode, NS_EDIT);
	CHECK_EQ(set("ro", NULL), -EINVAL);
	CHECK_EQ(o.mode, NS_EDIT);
	CHECK_EQ(set("fit", "crop"), 0);
	CHECK_EQ(o.fit, FIT_CROP);
	CHECK_EQ(set("fit", "exact"), 0);
	CHECK_EQ(o.fit, FIT_EXACT);
	CHECK_EQ(set("rows", "/g"), 0);
	CHECK_STR(o.rows.rules[0].path, "/g");
	CHECK_STR(o.rows.rules[0].value, "");
}

static int sidecar(const char *text, char **why)
{
	char path[] = "/tmp/h5fs-sidecar-XXXXXX", name[64];
	int fd = mkstemp(path), r;
	FILE *f;

	if (fd < 0)
		return -errno;
	close(fd);
	snprintf(name, sizeof(name), "%s.h5fs", path);
	f = fopen(name, "w");
	if (!f)
		return -errno;
	fputs(text, f);
	fclose(f);
	r = ns_options_sidecar(&o, path, why);
	unlink(name);
	unlink(path);
	return r;
}

static void the_sidecar_sets_one_a_line(void)
{
	char *why = NULL;

	ns_options_done(&o);
	ns_options_init(&o);
	CHECK_EQ(sidecar("# comment\n\nlayout /a:NHWC\r\nrange=/b:0:1\n"
			 "  classes both", &why), 0);
	CHECK_EQ(o.layout.count, 1);
	CHECK_STR(o.layout.rules[0].value, "NHWC");
	CHECK_EQ(o.range.count, 1);
	CHECK_EQ(o.classes, NS_CLASS_BOTH);
}

static void the_sidecar_sets_nothing_else(void)
{
	char *why = NULL;

	CHECK_EQ(sidecar("range /b:0:1\ncache 1G\n", &why), -EINVAL);
	CHECK(why && strstr(why, ":2: cache"));
	free(why);
	why = NULL;
	CHECK_EQ(sidecar("rows /g\n", &why), -EINVAL);
	CHECK(why && strstr(why, ":1: rows"));
	free(why);
	why = NULL;
	CHECK_EQ(sidecar("layout /x:QQ\n", &why), -EINVAL);
	CHECK(why && strstr(why, ":1: layout /x:QQ"));
	free(why);
}

static void the_command_line_comes_first(void)
{
	char *why = NULL;

	ns_options_done(&o);
	ns_options_init(&o);
	CHECK_EQ(set("classes", "numbers"), 0);
	CHECK_EQ(set("layout", "/a:NCHW"), 0);
	CHECK_EQ(sidecar("classes both\nlayout /a:NHWC\n", &why), 0);
	CHECK_EQ(o.classes, NS_CLASS_NUMBERS);
	CHECK_STR(o.layout.rules[0].value, "NCHW");
}

int main(void)
{
	ns_options_init(&o);
	RUN(unknown_options_are_not_ours);
	RUN(a_path_may_hold_colons);
	RUN(values_that_do_not_parse_are_told);
	RUN(words_are_set);
	RUN(writing_is_asked_for);
	RUN(the_sidecar_sets_one_a_line);
	RUN(the_sidecar_sets_nothing_else);
	RUN(the_command_line_comes_first);
	ns_options_done(&o);
	return CHECK_RESULT();
}
