/* SPDX-License-Identifier: MIT */
/* test_place.c - what has to be stored so that a name is shown, which child stands
 * behind an entry, and what a link's relative path leads to. */
#include "objects_int.h"

#include "check.h"

/* ---- a small tree:
 *   /a (group) /a/deep (group) /images (stack) /one (picture) /table
 *   /near -> a   /pic -> one   /gone -> nothing ---- */

#define S(text) ((char[]){ text })

static struct gen gen = { 0 };
static struct object root = { .kind = OBJECT_GROUP,
			      .gen = &gen,
			      .name = S("") };
static struct object a = {
	.kind = OBJECT_GROUP, .gen = &gen, .parent = &root, .name = S("a")
};
static struct object deep = {
	.kind = OBJECT_GROUP, .gen = &gen, .parent = &a, .name = S("deep")
};
static struct object images = { .kind = OBJECT_DATASET,
				.gen = &gen,
				.parent = &root,
				.name = S("images") };
static struct object one = {
	.kind = OBJECT_DATASET, .gen = &gen, .parent = &root, .name = S("one")
};
static struct object table = {
	.kind = OBJECT_DATASET, .gen = &gen, .parent = &root, .name = S("t%41")
};

static struct child root_children[] = {
	{ .name = S("a"), .kind = CHILD_OBJECT, .object = &a },
	{ .name = S("gone"), .kind = CHILD_SOFT, .target = S("nothing") },
	{ .name = S("images"), .kind = CHILD_OBJECT, .object = &images },
	{ .name = S("near"), .kind = CHILD_SOFT, .target = S("a") },
	{ .name = S("one"), .kind = CHILD_OBJECT, .object = &one },
	{ .name = S("pic"), .kind = CHILD_SOFT, .target = S("one") },
	{ .name = S("t%41"), .kind = CHILD_OBJECT, .object = &table },
};
static struct entry root_entries[] = {
	{ .name = S("a"), .object = &a },
	{ .name = S("gone"), .target = S("nothing"), .object = &root },
	{ .name = S("images"), .object = &images },
	{ .name = S("images.npy"), .object = &images, .view = V_WHOLE },
	{ .name = S("near"), .target = S("a"), .object = &root, .to = &a },
	{ .name = S("one.png"), .object = &one, .view = V_WHOLE },
	{ .name = S("one.npy"), .object = &one, .view = V_WHOLE },
	{ .name = S("pic.png"),
	  .target = S("one.png"),
	  .object = &root,
	  .to = &one },
	{ .name = S("pic.npy"),
	  .target = S("one.npy"),
	  .object = &root,
	  .to = &one },
	{ .name = S("t%2541.npy"), .object = &table, .view = V_WHOLE },
};
static struct child a_children[] = {
	{ .name = S("deep"), .kind = CHILD_OBJECT, .object = &deep },
};
static struct entry a_entries[] = {
	{ .name = S("deep"), .object = &deep },
};
static struct group root_group = { .phase = GROUP_ENTRIES,
				   .nchildren = ARRAY_SIZE(root_children),
				   .children = root_children,
				   .nentries = ARRAY_SIZE(root_entries),
				   .entries = root_entries };
static struct group a_group = { .phase = GROUP_ENTRIES,
				.nchildren = ARRAY_SIZE(a_children),
				.children = a_children,
				.nentries = ARRAY_SIZE(a_entries),
				.entries = a_entries };
static struct group deep_group = { .phase = GROUP_ENTRIES };
static struct ns ns;

static void make_tree(void)
{
	gen.root = &root;
	root.group = &root_group;
	a.group = &a_group;
	deep.group = &deep_group;
	CHECK_EQ(entries_index(&root_group), 0);
	CHECK_EQ(entries_index(&a_group), 0);
	CHECK_EQ(entries_index(&deep_group), 0);
}

static void drop_tree(void)
{
	free(root_group.hash);
	free(a_group.hash);
	free(deep_group.hash);
}

/* ---- names ---- */

static int stored_as(const char *shown, const char *suffix, enum name_kind kind,
		     const char *want)
{
	CLEANUP(refusal_done) struct refusal f = { 0 };
	CLEANUP(freep) char *stored = NULL;
	int r = stored_name(shown, suffix, kind, &stored, &f);

	if (r == 0)
		CHECK_STR(stored, want);
	else
		CHECK(f.reason && f.remedy);
	return r;
}

static void a_name_is_stored_so_that_it_is_shown(void)
{
	CHECK_EQ(stored_as("c.npy", ".npy", NAME_PLAIN, "c"), 0);
	CHECK_EQ(stored_as("c.npy.npy", ".npy", NAME_PLAIN, "c.npy"), 0);
	CHECK_EQ(stored_as("dir%2Epng", "", NAME_GROUP, "dir.png"), 0);
	CHECK_EQ(stored_as("%2541.txt", ".txt", NAME_PLAIN, "%41"), 0);
	CHECK_EQ(stored_as("layer.0", "", NAME_GROUP, "layer.0"), 0);
}

static void what_would_be_shown_otherwise_is_refused(void)
{
	CHECK_EQ(stored_as("dir.png", "", NAME_GROUP, ""), -EINVAL);
	CHECK_EQ(stored_as("%41", "", NAME_GROUP, ""), -EINVAL);
	CHECK_EQ(stored_as("%2E", "", NAME_GROUP, ""), -EINVAL);
	CHECK_EQ(stored_as("a%2Fb", "", NAME_GROUP, ""), -EINVAL);
	CHECK_EQ(stored_as("%00", "", NAME_GROUP, ""), -EINVAL);
	CHECK_EQ(stored_as(".hidden", "", NAME_GROUP, ""), -EPERM);
}

static int place_in_root(const char *shown, const char *suffix, char **ret)
{
	CLEANUP(refusal_done) struct refusal f = { 0 };

	return object_place(&root, shown, suffix, NAME_PLAIN, ret, &f);
}

static void a_place_must_be_free(void)
{
	CLEANUP(freep) char *path = NULL;

	CHECK_EQ(place_in_root("one.npy", ".npy", &path), -EEXIST);
	CHECK_EQ(place_in_root("images.jpg", ".jpg", &path), -EEXIST);
	CHECK_EQ(place_in_root("a.npy", ".npy", &path), -EEXIST);
	CHECK(!path);
	CHECK_EQ(place_in_root("two.npy", ".npy", &path), 0);
	CHECK_STR(path, "/two");
}

static void in_another_file_nothing_is_made(void)
{
	CLEANUP(refusal_done) struct refusal f = { 0 };
	CLEANUP(freep) char *path = NULL;

	a.info.id.file = 1;
	CHECK_EQ(object_place(&deep, "x", "", NAME_GROUP, &path, &f), -EROFS);
	CHECK(f.reason);
	a.info.id.file = 0;
}

static void datasets_come_from_npy_files_and_images(void)
{
	CHECK_STR(dataset_suffix("x.npy"), ".npy");
	CHECK_STR(dataset_suffix("x.y.JPEG"), ".JPEG");
	CHECK(!dataset_suffix("x"));
	CHECK(!dataset_suffix("x.txt"));
	CHECK(!dataset_suffix(".npy"));
}

/* ---- which child ---- */

static void child_is(const char *entry, const char *name, const char *suffix)
{
	const struct entry *e = group_find(&root_group, entry);
	const struct child *c;
	const char *s = NULL;

	CHECK(e);
	c = entry_child(&root_group, e, &s);
	CHECK(c);
	CHECK_STR(c->name, name);
	CHECK_STR(s, suffix);
}

static void behind_each_entry_stands_a_child(void)
{
	child_is("a", "a", "");
	child_is("images", "images", "");
	child_is("images.npy", "images", ".npy");
	child_is("pic.png", "pic", ".png");
	child_is("near", "near", "");
	child_is("t%2541.npy", "t%41", ".npy");
}

static void a_child_is_shown_by_all_its_names(void)
{
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;

	shown_names(&root_group, "images", &names);
	CHECK_EQ(names.len, sizeof("images") + sizeof("images.npy"));
	CHECK_STR(names.buf, "images");
	CHECK_STR(names.buf + sizeof("images"), "images.npy");
}

/* ---- targets ---- */

static int target_is(struct object *g, const char *target, const char *path,
		     const char *suffix)
{
	CLEANUP(refusal_done) struct refusal f = { 0 };
	CLEANUP(freep) char *p = NULL;
	const char *s = NULL;
	int r = target_find(&ns, g, target, &p, &s, &f);

	if (r == 0) {
		CHECK_STR(p, path);
		CHECK_STR(s, suffix);
	} else {
		CHECK(f.reason && f.remedy);
	}
	return r;
}

static void a_target_becomes_an_hdf5_path(void)
{
	CHECK_EQ(target_is(&root, "images", "images", ""), 0);
	CHECK_EQ(target_is(&root, "images.npy", "images", ".npy"), 0);
	CHECK_EQ(target_is(&root, "./a//deep", "a/deep", ""), 0);
	CHECK_EQ(target_is(&root, "t%2541.npy", "t%41", ".npy"), 0);
	CHECK_EQ(target_is(&root, "near/deep", "near/deep", ""), 0);
	CHECK_EQ(target_is(&root, "pic.png", "pic", ".png"), 0);
	CHECK_EQ(target_is(&root, ".", "/", ""), 0);
}

static void hdf5_knows_no_dots(void)
{
	CHECK_EQ(target_is(&deep, "../../images.npy", "/images", ".npy"), 0);
	CHECK_EQ(target_is(&deep, "..", "/a", ""), 0);
	CHECK_EQ(target_is(&root, "a/deep/../x", "/a/x", ""), 0);
	CHECK_EQ(target_is(&root, "near/..", "/", ""), 0);
}

static void what_is_not_there_keeps_its_name(void)
{
	CHECK_EQ(target_is(&root, "new.npy", "new", ".npy"), 0);
	CHECK_EQ(target_is(&root, "a/new", "a/new", ""), 0);
	CHECK_EQ(target_is(&root, "gone", "gone", ""), 0);
}

static void links_lead_to_objects_of_the_file(void)
{
	CHECK_EQ(target_is(&root, "/etc/passwd", "", ""), -EPERM);
	CHECK_EQ(target_is(&a, "../../x", "", ""), -EPERM);
	CHECK_EQ(target_is(&root, "images/000000.png", "", ""), -EINVAL);
	CHECK_EQ(target_is(&root, "images.by-class", "", ""), -EINVAL);
	CHECK_EQ(target_is(&root, "images[0].npy", "", ""), -EINVAL);
	CHECK_EQ(target_is(&root, ".attrs/x", "", ""), -EINVAL);
	CHECK_EQ(target_is(&root, "no/../x", "", ""), -EINVAL);
}

int main(void)
{
	make_tree();
	RUN(a_name_is_stored_so_that_it_is_shown);
	RUN(what_would_be_shown_otherwise_is_refused);
	RUN(a_place_must_be_free);
	RUN(in_another_file_nothing_is_made);
	RUN(datasets_come_from_npy_files_and_images);
	RUN(behind_each_entry_stands_a_child);
	RUN(a_child_is_shown_by_all_its_names);
	RUN(a_target_becomes_an_hdf5_path);
	RUN(hdf5_knows_no_dots);
	RUN(what_is_not_there_keeps_its_name);
	RUN(links_lead_to_objects_of_the_file);
	drop_tree();
	return CHECK_RESULT();
}
