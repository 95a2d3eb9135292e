/* SPDX-License-Identifier: MIT */
/* test_options.c - what -o takes: splitting, the table, refusals. */
#include "check.h"
#include "h5fs/cmd.h"

static void pieces_end_at_commas(void)
{
	const char *pos = "ro,layout=/x:NHWC,,a";
	const char *const want[] = { "ro", "layout=/x:NHWC", "", "a" };

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		CLEANUP(freep) char *piece = NULL;

		CHECK_EQ(cmd_options_next(&pos, &piece), 0);
		CHECK_STR(piece, want[i]);
	}
	CHECK(!pos);
	CHECK_EQ(cmd_options_next(&pos, &(char *){ NULL }), -ENOENT);
}

static void escaped_commas_stay(void)
{
	const char *pos = "bands=2\\,1\\,0,x\\\\y,z\\w";
	const char *const want[] = { "bands=2,1,0", "x\\y", "z\\w" };

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		CLEANUP(freep) char *piece = NULL;

		CHECK_EQ(cmd_options_next(&pos, &piece), 0);
		CHECK_STR(piece, want[i]);
	}
	CHECK(!pos);
}

/* What text makes of fresh options; the caller looks at o. */
static int add(struct cmd_options *o, const char *text)
{
	CLEANUP(freep) char *why = NULL;
	int r;

	cmd_options_init(o);
	r = cmd_options_add(o, text, &why);
	CHECK((r < 0) == (why != NULL));
	return r;
}

static void check_refused(const char *text, const char *word)
{
	CLEANUP(cmd_options_done) struct cmd_options o;
	CLEANUP(freep) char *why = NULL;

	cmd_options_init(&o);
	CHECK_EQ(cmd_options_add(&o, text, &why), -EINVAL);
	CHECK(why && strstr(why, word));
	if (why && !strstr(why, word))
		printf("%s: %s\n", text, why);
}

static void numbers_belong_to_the_list_before(void)
{
	CLEANUP(cmd_options_done) struct cmd_options o;

	CHECK_EQ(add(&o, "layout=/x:NHWC+bands=2,1,0,timeout=7"), 0);
	CHECK_EQ(o.ns.layout.count, 1);
	CHECK_STR(o.ns.layout.rules[0].path, "/x");
	CHECK_STR(o.ns.layout.rules[0].value, "NHWC+bands=2,1,0");
	CHECK_EQ(o.fs.idle_timeout, 7);
}

static void numbers_belong_to_nothing_else(void)
{
	check_refused("view=tree,3", "'3'");
	check_refused("3", "'3'");
}

static void rules_keep_their_order(void)
{
	CLEANUP(cmd_options_done) struct cmd_options o;

	CHECK_EQ(add(&o, "layout=/b/*:none,layout=/b/x:NHW,range=/c:0:2.5"), 0);
	CHECK_EQ(o.ns.layout.count, 2);
	CHECK_STR(o.ns.layout.rules[0].path, "/b/*");
	CHECK_STR(o.ns.layout.rules[1].path, "/b/x");
	CHECK_EQ(o.ns.range.count, 1);
	CHECK_STR(o.ns.range.rules[0].value, "0:2.5");
}

static void fuse_options_are_passed_on_escaped(void)
{
	CLEANUP(cmd_options_done) struct cmd_options o;

	CHECK_EQ(add(&o, "allow_other,fsname=a\\,b\\\\c,default_permissions"), 0);
	CHECK_STR(o.fs.mount_options,
		  "allow_other,fsname=a\\,b\\\\c,default_permissions");
}

static void what_mount_says_is_accepted(void)
{
	CLEANUP(cmd_options_done) struct cmd_options o;

	CHECK_EQ(add(&o, "rw,dev,suid,_netdev,nofail,x-systemd.automount,"
			 "x-gvfs-name=a b,comment=c,ro,noatime,user"), 0);
	CHECK_STR(o.fs.mount_options, "noatime");
	CHECK(o.sandbox && !o.foreground);
}

static void our_own_are_set(void)
{
	CLEANUP(cmd_options_done) struct cmd_options o;

	CHECK_EQ(add(&o, "nosandbox,debug,notify=1,cache=64M,threads=3,uid=12,"
			 "view=classes"), 0);
	CHECK(!o.sandbox && o.foreground && o.fs.debug);
	CHECK_EQ(o.notify_fd, 1);
	CHECK_EQ(o.ns.cache_bytes, 64 << 20);
	CHECK_EQ(o.ns.threads, 3);
	CHECK_EQ(o.ns.uid, 12);
	CHECK_EQ(o.ns.view, NS_CLASSES);
}

static void errors_name_the_option(void)
{
	check_refused("ro,colour=red", "'colour'");
	check_refused("layoutt=/x:NHWC", "'layoutt'");
	check_refused("lay=/x:NHWC", "'lay'");
	check_refused("timeout=soon", "timeout=soon");
	check_refused("timeout=-1", "timeout=-1");
	check_refused("timeout=99999999999999999999", "timeout");
	check_refused("timeout", "timeout needs a value");
	check_refused("nosandbox=1", "nosandbox takes no value");
	check_refused("notify=900", "notify=900");
	check_refused("view=sideways", "-o view=sideways");
	check_refused("cache=lots", "-o cache=lots");
}

static void a_mount_appends_unless_told_otherwise(void)
{
	CLEANUP(cmd_options_done) struct cmd_options o;
	CLEANUP(cmd_options_done) struct cmd_options ro;
	CLEANUP(cmd_options_done) struct cmd_options edit;

	CHECK_EQ(add(&o, "rw"), 0);
	CHECK_EQ(o.ns.mode, NS_APPEND);
	CHECK_EQ(add(&ro, "rw,ro"), 0);
	CHECK_EQ(ro.ns.mode, NS_RO);
	CHECK_EQ(add(&edit, "edit,rw"), 0);
	CHECK_EQ(edit.ns.mode, NS_EDIT);
	check_refused("ro,edit", "-o edit: ro");
	check_refused("edit,ro", "-o ro: edit");
	check_refused("edit=1", "edit takes no value");
	check_refused("ro=1", "ro takes no value");
}

static void how_it_writes_is_set(void)
{
	CLEANUP(cmd_options_done) struct cmd_options o;

	CHECK_EQ(add(&o, "grow,fit=letterbox,commit=manual,stage=/a,stage=/b,"
			 "rows=/train,rows=/test/*"), 0);
	CHECK(o.ns.grow);
	CHECK_EQ(o.ns.fit, FIT_LETTERBOX);
	CHECK_EQ(o.ns.commit, NS_COMMIT_MANUAL);
	CHECK_STR(o.ns.stage_dir, "/b");
	CHECK_EQ(o.ns.rows.count, 2);
	CHECK_STR(o.ns.rows.rules[1].path, "/test/*");
	check_refused("fit=squash", "exact, resize, letterbox or crop");
	check_refused("commit=never", "auto or manual");
	check_refused("rows=train", "-o rows=train");
	check_refused("stage=", "stage needs a value");
	check_refused("grow=yes", "grow takes no value");
}

int main(void)
{
	RUN(pieces_end_at_commas);
	RUN(escaped_commas_stay);
	RUN(numbers_belong_to_the_list_before);
	RUN(numbers_belong_to_nothing_else);
	RUN(rules_keep_their_order);
	RUN(fuse_options_are_passed_on_escaped);
	RUN(what_mount_says_is_accepted);
	RUN(our_own_are_set);
	RUN(errors_name_the_option);
	RUN(a_mount_appends_unless_told_otherwise);
	RUN(how_it_writes_is_set);
	return CHECK_RESULT();
}
