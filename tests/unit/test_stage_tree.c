/* SPDX-License-Identifier: MIT */
/* test_stage_tree.c - objects that are put together in a .part directory, and
 * appear whole or not at all. */
#include "stage_fixture.h"

/* A .npy file of version 1. */
static struct blob *npy(const char *descr, bool fortran, const char *shape,
			const void *bytes, size_t n)
{
	struct strbuf out = STRBUF_INIT, head = STRBUF_INIT;
	struct blob *b = NULL;
	uint16_t len;

	strbuf_printf(&head,
		      "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }",
		      descr, fortran ? "True" : "False", shape);
	strbuf_pad(&head, ' ', 63 - (10 + head.len) % 64);
	strbuf_putc(&head, '\n');
	len = (uint16_t)head.len;
	strbuf_put(&out, "\x93NUMPY\1\0", 8);
	strbuf_put(&out, &len, 2);
	strbuf_put(&out, head.buf, head.len);
	strbuf_put(&out, bytes, n);
	strbuf_done(&head);
	CHECK_EQ(strbuf_to_blob(&out, &b), 0);
	return b;
}

static void put_npy(const char *path, const char *descr, bool fortran,
		    const char *shape, const void *bytes, size_t n, bool image)
{
	CLEANUP(blob_unrefp)
	struct blob *b = npy(descr, fortran, shape, bytes, n);

	CHECK_EQ(tree_put(stage, path, b->data, b->size, image), 0);
}

static int attr(const char *path, const char *name, const char *text)
{
	return tree_attr(stage, path, name, text, text ? strlen(text) : 0);
}

/* "a b/ c@" */
static const char *names_in(const char *path)
{
	static char out[512];
	struct stage_names n = { 0 };
	struct tree_node node = { 0 };
	size_t len = 0;
	int r = tree_list(stage, path, NULL, SIZE_MAX, &n);

	out[0] = '\0';
	if (r < 0)
		snprintf(out, sizeof(out), "%d", r);
	for (size_t i = 0; i < n.count; i++) {
		char whole[200];

		snprintf(whole, sizeof(whole), "%s/%s",
			 strcmp(path, "/") == 0 ? "" : path, n.names[i]);
		CHECK_EQ(tree_find(stage, whole, &node), 0);
		CHECK_STR(node.name, n.names[i]);
		CHECK(node.mtime.tv_sec > 1600000000);
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s ",
					n.names[i],
					node.kind == TREE_DIR	 ? "/"
					: node.kind == TREE_LINK ? "@"
								 : "");
		tree_node_done(&node);
	}
	stage_names_done(&n);
	return out;
}

static const char *attr_of(const char *path, const char *name)
{
	static char out[100];
	struct blob *b = NULL;
	int r = tree_get_attr(stage, path, name, &b);

	snprintf(out, sizeof(out), "%d", r);
	if (b)
		snprintf(out, sizeof(out), "%.*s", (int)b->size, b->data);
	blob_unref(b);
	return out;
}

static void a_case(void)
{
	const uint16_t oct[] = { 1, 2, 3, 4, 5, 6 };

	CHECK_EQ(tree_mkdir(stage, "/patients/P201.part"), 0);
	CHECK_EQ(attr("/patients/P201.part", "age", "65"), 0);
	CHECK_EQ(attr("/patients/P201.part", "name", "Jane"), 0);
	put_npy("/patients/P201.part/oct.npy", "<u2", false, "2, 3", oct,
		sizeof(oct), false);
	CHECK_EQ(attr("/patients/P201.part/oct.npy", "scale", "[0.5, 2]"), 0);
	CHECK_EQ(tree_mkdir(stage, "/patients/P201.part/left"), 0);
	put_npy("/patients/P201.part/left/fundus.png", "|u1", false, "1, 2, 3",
		"rgbRGB", 6, true);
	CHECK_EQ(tree_link(stage, "/patients/P201.part/left/latest",
			   "../oct.npy"),
		 0);
}

static void what_is_put_together_is_seen(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct tree_node node = { 0 };
	struct stage_names n = { 0 };
	bool image = false;

	begin_with(1);
	CHECK(stage_is_empty(stage));
	a_case();
	CHECK(!stage_is_empty(stage));
	for (int i = 0; i < 3; i++) {
		CHECK_STR(names_in("/patients"), "P201.part/ ");
		CHECK_STR(names_in("/"), "");
		CHECK_STR(names_in("/patients/P201.part"), "left/ oct.npy ");
		CHECK_STR(names_in("/patients/P201.part/left"),
			  "fundus.png latest@ ");
		CHECK_STR(attr_of("/patients/P201.part", "age"), "65");
		CHECK_STR(attr_of("/patients/P201.part", "nothing"), "-61");
		CHECK_EQ(tree_attrs(stage, "/patients/P201.part", &n), 0);
		CHECK_EQ(n.count, 2);
		CHECK_STR(n.names[0], "age");
		CHECK_STR(n.names[1], "name");
		stage_names_done(&n);
		CHECK_EQ(tree_read(stage, "/patients/P201.part/left/fundus.png",
				   &b, &image),
			 0);
		CHECK(image);
		CHECK(memcmp(b->data + b->size - 6, "rgbRGB", 6) == 0);
		CHECK_EQ(tree_find(stage, "/patients/P201.part/left/fundus.png",
				   &node),
			 0);
		CHECK_EQ(node.size, b->size);
		tree_node_done(&node);
		blob_unref(TAKE(b));
		CHECK_EQ(tree_find(stage, "/patients/P201.part/left/latest",
				   &node),
			 0);
		CHECK_STR(node.target, "../oct.npy");
		tree_node_done(&node);
		if (i == 0)
			CHECK_EQ(stage_rewrite(stage), 0);
		else
			reopen();
	}
	end();
}

static void what_cannot_be_is_refused(void)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	bool image;

	begin_with(1);
	CHECK_EQ(tree_put(stage, "/a/x.npy", "x", 1, false), -ENOENT);
	CHECK_EQ(tree_link(stage, "/a/l", "x"), -ENOENT);
	CHECK(!log_is_there());
	CHECK_EQ(tree_mkdir(stage, "/a.part"), 0);
	CHECK_EQ(tree_mkdir(stage, "/a.part"), -EEXIST);
	CHECK_EQ(tree_mkdir(stage, "/a.part/b/c"), -ENOENT);
	CHECK_EQ(tree_put(stage, "/a.part/x.npy", "one", 3, false), 0);
	CHECK_EQ(tree_mkdir(stage, "/a.part/x.npy/c"), -ENOTDIR);
	CHECK_EQ(tree_mkdir(stage, "/a.part/x.npy"), -EEXIST);
	CHECK_EQ(tree_link(stage, "/a.part/x.npy", "t"), -EEXIST);
	CHECK_EQ(tree_mkdir(stage, "/a.part/d"), 0);
	CHECK_EQ(tree_put(stage, "/a.part/d", "one", 3, false), -EISDIR);
	CHECK_EQ(tree_put(stage, "/a.part/x.npy", "three", 5, true), 0);
	CHECK_EQ(tree_read(stage, "/a.part/x.npy", &b, &image), 0);
	CHECK_EQ(b->size, 5);
	CHECK_EQ(tree_read(stage, "/a.part/d", &b, &image), -EISDIR);
	CHECK_EQ(tree_read(stage, "/a.part/e", &b, &image), -ENOENT);
	CHECK_EQ(tree_link(stage, "/a.part/l", "t"), 0);
	CHECK_EQ(attr("/a.part/l", "n", "1"), -EPERM);
	CHECK_EQ(attr("/a.part/e", "n", "1"), -ENOENT);
	CHECK_EQ(attr("/a.part/d", "n", NULL), -ENODATA);
	CHECK_EQ(attr("/a.part/d", "n", ""), 0);
	CHECK_STR(attr_of("/a.part/d", "n"), "");
	CHECK_EQ(attr("/a.part/d", "n", "2"), 0);
	CHECK_STR(attr_of("/a.part/d", "n"), "2");
	CHECK_EQ(attr("/a.part/d", "n", NULL), 0);
	CHECK_STR(attr_of("/a.part/d", "n"), "-61");
	CHECK_EQ(tree_mkdir(stage, "relative"), -EINVAL);
	CHECK_EQ(tree_mkdir(stage, "/"), -EINVAL);
	CHECK_EQ(tree_mkdir(stage, "/a.part//x"), -EINVAL);
	CHECK_STR(names_in("/a.part/x.npy"), "-20");
	end();
}

static void what_goes_is_gone(void)
{
	begin_with(1);
	a_case();
	CHECK_EQ(tree_remove(stage, "/patients/P201.part"), -ENOTEMPTY);
	CHECK_EQ(tree_remove(stage, "/patients/P201.part/left"), -ENOTEMPTY);
	CHECK_EQ(tree_remove(stage, "/patients/P201.part/oct.npy"), 0);
	CHECK_EQ(tree_remove(stage, "/patients/P201.part/oct.npy"), -ENOENT);
	reopen();
	CHECK_STR(names_in("/patients/P201.part"), "left/ ");
	CHECK_EQ(tree_remove(stage, "/patients/P201.part/left/latest"), 0);
	CHECK_EQ(tree_remove(stage, "/patients/P201.part/left/fundus.png"), 0);
	CHECK_EQ(tree_remove(stage, "/patients/P201.part/left"), 0);
	CHECK_EQ(tree_remove(stage, "/patients/P201.part"), 0);
	CHECK(stage_is_empty(stage));
	CHECK(!log_is_there());
	end();
}

static void names_change(void)
{
	begin_with(1);
	a_case();
	CHECK_EQ(tree_move(stage, "/patients/P201.part",
			   "/patients/P201.part/left/in"),
		 -EINVAL);
	CHECK_EQ(tree_move(stage, "/patients/P201.part/oct.npy", "/oct.npy"),
		 -EXDEV);
	CHECK_EQ(tree_move(stage, "/patients/P201.part/none", "/x.part"),
		 -ENOENT);
	CHECK_EQ(tree_move(stage, "/patients/P201.part/oct.npy",
			   "/patients/P201.part/left"),
		 -EISDIR);
	CHECK_EQ(tree_move(stage, "/patients/P201.part/left",
			   "/patients/P201.part/oct.npy"),
		 -ENOTDIR);
	CHECK_EQ(tree_mkdir(stage, "/other.part"), 0);
	CHECK_EQ(tree_move(stage, "/other.part", "/patients/P201.part/left"),
		 -ENOTEMPTY);
	/* Into another one, over a file, to the top. */
	CHECK_EQ(tree_move(stage, "/patients/P201.part/left", "/other.part/l"),
		 0);
	CHECK_EQ(tree_move(stage, "/patients/P201.part/oct.npy",
			   "/other.part/l/fundus.png"),
		 0);
	CHECK_EQ(tree_move(stage, "/patients/P201.part", "/P1.part"), 0);
	CHECK_EQ(tree_move(stage, "/other.part/l", "/P1.part/eye"), 0);
	CHECK_EQ(tree_move(stage, "/P1.part/eye", "/P1.part/eye"), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(names_in("/"), "P1.part/ other.part/ ");
		CHECK_STR(names_in("/patients"), "");
		CHECK_STR(names_in("/P1.part"), "eye/ ");
		CHECK_STR(names_in("/P1.part/eye"), "fundus.png latest@ ");
		CHECK_STR(attr_of("/P1.part", "age"), "65");
		CHECK_STR(attr_of("/P1.part/eye/fundus.png", "scale"),
			  "[0.5, 2]");
		reopen();
	}
	end();
}

static void a_long_list_goes_on(void)
{
	struct stage_names n = { 0 };
	char name[40];

	begin_with(1);
	CHECK_EQ(tree_mkdir(stage, "/a.part"), 0);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "/a.part/%03d", i);
		CHECK_EQ(tree_mkdir(stage, name), 0);
		snprintf(name, sizeof(name), "/a.part/%03d/below", i);
		CHECK_EQ(tree_mkdir(stage, name), 0);
	}
	CHECK_EQ(tree_list(stage, "/a.part", "099", 100, &n), 0);
	CHECK_EQ(n.count, 100);
	CHECK_STR(n.names[0], "100");
	CHECK_STR(n.names[99], "199");
	stage_names_done(&n);
	end();
}

static void discarded_with_what_is_below_a_directory(void)
{
	uint64_t n;

	begin_with(1);
	a_case();
	CHECK(!tree_is_below(stage, "/other.part"));
	CHECK(!tree_is_below(stage, "/patient"));
	CHECK(tree_is_below(stage, "/patients"));
	CHECK(tree_is_below(stage, "/"));
	CHECK_EQ(tree_mkdir(stage, "/other.part"), 0);
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'a', NULL), 0);
	CHECK_EQ(stage_discard(stage, "/patient", NULL, &n), 0);
	CHECK_EQ(n, 0);
	CHECK_EQ(stage_discard(stage, "/patients", "P201.part", &n), 0);
	CHECK_EQ(n, 5);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(names_in("/patients"), "");
		CHECK_STR(names_in("/"), "other.part/ ");
		reopen();
	}
	CHECK_EQ(stage_discard(stage, "/", NULL, &n), 0);
	CHECK_EQ(n, 2);
	CHECK(!log_is_there());
	end();
}

/* ---- publishing ---- */
static int publish(const char *to)
{
	char *why = NULL;
	int r = tree_publish(stage, file, "/patients/P201.part", to, &why);

	CHECK((r < 0) == (why != NULL));
	free(why);
	return r;
}

static void check_published(void)
{
	const uint16_t oct[] = { 1, 2, 3, 4, 5, 6 };
	size_t n;

	CHECK_STR(fake_what(file, "/patients/P201"), "group");
	CHECK_STR(fake_what(file, "/patients/P201/left"), "group");
	CHECK_STR(fake_what(file, "/patients/P201/oct"),
		  "dataset:0:2:2x3:growable");
	CHECK(memcmp(fake_bytes(file, "/patients/P201/oct", &n), oct, 12) == 0);
	CHECK_EQ(n, 12);
	CHECK_STR(fake_what(file, "/patients/P201/left/fundus"),
		  "dataset:0:1:1x2x3");
	CHECK(memcmp(fake_bytes(file, "/patients/P201/left/fundus", &n),
		     "rgbRGB", 6) == 0);
	CHECK_STR(fake_attr(file, "/patients/P201/left/fundus", "CLASS"),
		  "\"IMAGE\"");
	CHECK_STR(
		fake_attr(file, "/patients/P201/left/fundus", "IMAGE_VERSION"),
		"\"1.2\"");
	CHECK_STR(
		fake_attr(file, "/patients/P201/left/fundus", "IMAGE_SUBCLASS"),
		"\"IMAGE_TRUECOLOR\"");
	CHECK_STR(
		fake_attr(file, "/patients/P201/left/fundus", "INTERLACE_MODE"),
		"\"INTERLACE_PIXEL\"");
	CHECK_STR(fake_what(file, "/patients/P201/left/latest"),
		  "link:/patients/P201/oct");
	CHECK_STR(fake_attr(file, "/patients/P201", "age"), "65");
	CHECK_STR(fake_attr(file, "/patients/P201", "name"), "\"Jane\"");
	CHECK_STR(fake_attr(file, "/patients/P201/oct", "scale"), "0.5,2");
	CHECK_EQ(fake_count(file), 5 + 4 + 3);
}

static void it_appears_whole(void)
{
	begin_with(1);
	a_case();
	CHECK_EQ(put(IMAGES, NULL, "a.png", 'a', NULL), 0);
	CHECK_EQ(publish("/patients/P201"), 0);
	check_published();
	for (int i = 0; i < 2; i++) {
		CHECK_STR(names_in("/patients"), "");
		CHECK_STR(listing("/g/images"), "a.png=a ");
		reopen();
	}
	CHECK_EQ(publish("/patients/P201"), -ENOENT);
	CHECK_EQ(commit(STAGE_ALL, NULL), 0);
	CHECK(!log_is_there());
	end();
}

static void or_not_at_all(void)
{
	bool failed;
	long k = 0;

	do {
		begin_with(1);
		a_case();
		file->fail_at = k++;
		file->fail_error = -ENOSPC;
		failed = publish("/patients/P201") < 0;
		if (failed) {
			CHECK_EQ(fake_count(file), 0);
			if (k % 2)
				reopen();
			CHECK_EQ(attr("/patients/P201.part", "age", "65"), 0);
			CHECK_EQ(publish("/patients/P201"), 0);
		}
		check_published();
		CHECK(!log_is_there());
		end();
	} while (failed);
	CHECK(k > 10);
}

static void arrays_of_other_orders(void)
{
	const uint8_t big[] = { 0, 1, 0, 2, 0, 3, 0, 4 };
	const uint16_t little[] = { 1, 3, 2, 4 };
	size_t n;

	begin_with(1);
	CHECK_EQ(tree_mkdir(stage, "/patients/P201.part"), 0);
	/* Fortran order 1 2 3 4 is 1 3 2 4 in C order. */
	put_npy("/patients/P201.part/f.npy", ">u2", true, "2, 2", big, 8,
		false);
	put_npy("/patients/P201.part/one.npy", "<f8", false, "", "12345678", 8,
		false);
	put_npy("/patients/P201.part/grey.jpg", "<u2", false, "1, 1", "ab", 2,
		true);
	CHECK_EQ(publish("/p"), 0);
	CHECK(memcmp(fake_bytes(file, "/p/f", &n), little, 8) == 0);
	CHECK_STR(fake_what(file, "/p/one"), "dataset:2:8:");
	CHECK_STR(fake_what(file, "/p/grey"), "dataset:0:2:1x1");
	CHECK_STR(fake_attr(file, "/p/grey", "IMAGE_SUBCLASS"),
		  "\"IMAGE_GRAYSCALE\"");
	CHECK(!fake_attr(file, "/p/grey", "INTERLACE_MODE"));
	end();
}

static void links_lead_where_they_did(void)
{
	static const struct {
		const char *target, *in_file;
	} links[] = {
		{ "oct.npy", "/p/oct" },     { "./left/x.png", "/p/left/x" },
		{ "../q/y.npy", "/q/y" },    { "..", "/" },
		{ "../p/left", "/p/left" },  { "/abs/z.npy", "/abs/z" },
		{ "a.npy/b", "/p/a.npy/b" },
	};
	char path[64], *why = NULL;

	begin_with(1);
	CHECK_EQ(tree_mkdir(stage, "/p.part"), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(path, sizeof(path), "/p.part/l%u", i);
		CHECK_EQ(tree_link(stage, path, links[i].target), 0);
	}
	CHECK_EQ(tree_publish(stage, file, "/p.part", "/p", &why), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(links); i++) {
		char want[64];

		snprintf(path, sizeof(path), "/p/l%u", i);
		snprintf(want, sizeof(want), "link:%s", links[i].in_file);
		CHECK_STR(fake_what(file, path), want);
	}
	CHECK_EQ(tree_mkdir(stage, "/q.part"), 0);
	CHECK_EQ(tree_link(stage, "/q.part/up", "../../x"), 0);
	CHECK_EQ(tree_publish(stage, file, "/q.part", "/q", &why), -EINVAL);
	CHECK(why && strncmp(why, "/q/up: ", 7) == 0);
	free(why);
	end();
}

static void what_is_no_array_says_so(void)
{
	char *why = NULL;

	begin_with(1);
	CHECK_EQ(tree_mkdir(stage, "/p.part"), 0);
	CHECK_EQ(tree_put(stage, "/p.part/x.npy", "no array", 8, false), 0);
	CHECK_EQ(tree_publish(stage, file, "/p.part", "/p", &why), -EINVAL);
	CHECK(why && strlen(why) > 5);
	free(why);
	why = NULL;
	CHECK_EQ(tree_put(stage, "/p.part/x.npy", "", 0, false), 0);
	CHECK(tree_publish(stage, file, "/p.part", "/p", &why) < 0);
	free(why);
	CHECK_STR(names_in("/p.part"), "x.npy ");
	CHECK_EQ(fake_count(file), 0);
	end();
}

/* S5, S6: in FILE, or pending. */
static bool end_at(long k, int tear, unsigned seed, enum fake_commit how)
{
	bool over;

	begin_with(1);
	a_case();
	CHECK_EQ(stage_sync(stage), 0);
	file->dead = crash_happened;
	file->commit = how;
	crash_at(k, tear);
	(void)publish("/patients/P201");
	over = crash_happened();
	if (how == FAKE_COMMITS && !over)
		CHECK_STR(names_in("/patients"), "");
	stage_close(stage);
	stage = NULL;
	fake_reopen(file);
	file->dead = NULL;
	crash_off();
	if (seed)
		crash_power_cut(seed);
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
	stage_close(stage);
	file->tag = 0;
	if (seed)
		crash_power_cut(seed + 1);
	CHECK_EQ(open_on(&crash_disk, NULL), 0);
	if (fake_count(file)) {
		CHECK_STR(names_in("/patients"), "");
	} else {
		CHECK_STR(names_in("/patients"), "P201.part/ ");
		CHECK_EQ(publish("/patients/P201"), 0);
	}
	check_published();
	CHECK(stage_is_empty(stage));
	end();
	return over;
}

static void published_once_whatever_ends_when(void)
{
	static const enum fake_commit hows[] = { FAKE_COMMITS, FAKE_EIO_DID,
						 FAKE_EIO_NOT };

	for (int how = 0; how < 3; how++)
		for (unsigned seed = 0; seed < 4; seed++)
			for (int tear = 0; tear <= 2; tear++)
				for (long k = 0;
				     end_at(k, tear,
					    seed ? seed * 100 + (unsigned)k : 0,
					    hows[how]);
				     k++)
					;
}

static bool looked;

static int look_around(void)
{
	looked = true;
	CHECK_EQ(tree_mkdir(stage, "/patients/P201.part/new"), -EBUSY);
	CHECK_EQ(tree_remove(stage, "/patients/P201.part/oct.npy"), -EBUSY);
	CHECK_EQ(attr("/patients/P201.part/left", "n", "1"), -EBUSY);
	CHECK_EQ(tree_move(stage, "/patients/P201.part", "/x.part"), -EBUSY);
	CHECK_STR(names_in("/patients/P201.part"), "left/ oct.npy ");
	CHECK_EQ(tree_mkdir(stage, "/y.part"), 0);
	return 0;
}

static bool look_and_live(void)
{
	if (!looked)
		look_around();
	return false;
}

static void nothing_changes_while_it_is_published(void)
{
	begin_with(1);
	a_case();
	file->dead = look_and_live;
	CHECK_EQ(publish("/patients/P201"), 0);
	CHECK(looked);
	check_published();
	CHECK_STR(names_in("/"), "y.part/ ");
	end();
}

int main(void)
{
	fixture_make();
	RUN(what_is_put_together_is_seen);
	RUN(what_cannot_be_is_refused);
	RUN(what_goes_is_gone);
	RUN(names_change);
	RUN(a_long_list_goes_on);
	RUN(discarded_with_what_is_below_a_directory);
	RUN(it_appears_whole);
	RUN(or_not_at_all);
	RUN(arrays_of_other_orders);
	RUN(links_lead_where_they_did);
	RUN(what_is_no_array_says_so);
	RUN(published_once_whatever_ends_when);
	RUN(nothing_changes_while_it_is_published);
	fixture_remove();
	return CHECK_RESULT();
}
