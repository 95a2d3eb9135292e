/* SPDX-License-Identifier: MIT */
/* pending_change.c - what happens in and to directories that end in .part: they
 * are filled, and appear in FILE as one transaction when they are renamed. */
#include <inttypes.h>
#include <stdio.h>

#include "objects_int.h"

/* Path of a new name, which must be one that FILE can have later, as it is: the
 * stage knows nothing of escapes. */
static int new_path(struct ns *ns, const struct pin *dir, const char *name,
		    const char *suffix, enum name_kind kind, char **ret_path,
		    struct refusal *f)
{
	CLEANUP(freep) char *stored = NULL;
	int r = stored_name(name, suffix, kind, &stored, f);

	if (r == 0 && strncmp(name, stored, strlen(name) - strlen(suffix)))
		r = refusal_set(f, -EINVAL,
				"give it this name when the directory has "
				"appeared",
				"names with escapes are not taken here");
	return r < 0 ? r : dir_path(ns, dir, name, ret_path);
}

/* Of what is shown by several names in FILE, one can be in a pending directory. */
static int check_siblings(struct ns *ns, const char *path, struct refusal *f)
{
	static const char *const suffixes[] = { "",	".npy",	 ".png",
						".jpg", ".jpeg", ".bmp",
						".tif", ".tiff", ".gif",
						".webp" };
	const char *slash = strrchr(path, '/'),
		   *dot = dataset_suffix(slash + 1);
	size_t n = dot ? (size_t)(dot - path) : strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		CLEANUP(tree_node_done) struct tree_node node = { 0 };
		CLEANUP(freep) char *other = NULL;
		int r;

		if (asprintf(&other, "%.*s%s", (int)n, path, suffixes[i]) < 0) {
			other = NULL;
			return -ENOMEM;
		}
		if (!strcmp(other, path))
			continue;
		r = tree_find(ns->stage, other, &node);
		if (r == 0)
			return refusal_set(f, -EEXIST, "choose another name",
					   "%s would be an object of the same "
					   "name",
					   node.name);
		if (r != -ENOENT)
			return r;
	}
	return 0;
}

static int exists(struct ns *ns, const char *path)
{
	CLEANUP(tree_node_done) struct tree_node n = { 0 };
	int r = tree_find(ns->stage, path, &n);

	return r == 0 ? -EEXIST : r == -ENOENT ? 0 : r;
}

int pending_mkdir(struct ns *ns, const struct pin *dir, const char *name,
		  struct refusal *f)
{
	CLEANUP(freep) char *path = NULL;
	int r = dir->node.view == V_PENDING ? 0 : group_is_ours(dir->object, f);

	if (r == 0)
		r = new_path(ns, dir, name, "", NAME_GROUP, &path, f);
	if (r == 0 && dir->node.view != V_PENDING) {
		r = group_load(ns, dir->object, GROUP_ENTRIES);
		if (r == 0 && group_find(dir->object->group, name))
			r = -EEXIST;
	}
	if (r == 0)
		r = exists(ns, path);
	if (r == 0)
		r = check_siblings(ns, path, f);
	return r < 0 ? r : tree_mkdir(ns->stage, path);
}

int pending_symlink(struct ns *ns, const struct pin *dir, const char *name,
		    const char *target, struct refusal *f)
{
	CLEANUP(freep) char *path = NULL;
	const char *target_suffix, *suffix;
	int r = target_check(target, &target_suffix, f);

	if (r == 0)
		r = link_suffix(name, target_suffix, &suffix, f);
	if (r < 0)
		return r;
	r = new_path(ns, dir, name, suffix, *suffix ? NAME_PLAIN : NAME_GROUP,
		     &path, f);
	if (r == 0)
		r = exists(ns, path);
	if (r == 0)
		r = check_siblings(ns, path, f);
	return r < 0 ? r : tree_link(ns->stage, path, target);
}

/* ---- files ---- */

/* The values of an image as a .npy file (format 1.0). */
static int to_npy(const struct accepted_dataset *a, struct blob **ret_npy)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	uint8_t magic[10] = "\x93NUMPY\x01\x00";
	size_t pad;

	strbuf_puts(&head, "{'descr': '");
	text_of_dtype(a->type, &head);
	strbuf_puts(&head, "', 'fortran_order': False, 'shape': (");
	for (unsigned i = 0; i < a->rank; i++)
		strbuf_printf(&head, "%" PRIu64 ", ", a->dims[i]);
	strbuf_puts(&head, "), }");
	pad = 63 - (sizeof(magic) + head.len) % 64;
	strbuf_pad(&head, ' ', pad);
	strbuf_putc(&head, '\n');
	magic[8] = (uint8_t)head.len;
	magic[9] = (uint8_t)(head.len >> 8);
	strbuf_put(&out, magic, sizeof(magic));
	strbuf_put(&out, head.buf, head.len);
	strbuf_put(&out, a->data->data, a->data->size);
	return strbuf_error(&head) < 0 ? -ENOMEM
				       : strbuf_to_blob(&out, ret_npy);
}

int pending_put(struct ns *ns, const struct pin *dir, const char *name,
		const uint8_t *bytes, uint64_t size, struct refusal *f)
{
	struct accepted_dataset a = { 0 };
	const char *suffix = dataset_suffix(name);
	CLEANUP(blob_unrefp) struct blob *npy = NULL;
	CLEANUP(freep) char *path = NULL;
	int r;

	if (!suffix)
		return refusal_set(f, -EINVAL, "copy a .npy file or an image",
				   "a file here becomes a dataset, and its "
				   "name ends neither in .npy nor as an "
				   "image's");
	r = new_path(ns, dir, name, suffix, NAME_PLAIN, &path, f);
	if (r == 0)
		r = check_siblings(ns, path, f);
	if (r == 0)
		r = accept_dataset(name, bytes, size, &a, f);
	if (r < 0)
		return r;
	if (a.image)
		r = to_npy(&a, &npy);
	if (r == 0)
		r = tree_put(ns->stage, path, npy ? npy->data : bytes,
			     npy ? npy->size : size, a.image);
	accepted_dataset_done(&a);
	return r;
}

/* ---- removing, moving ---- */

int pending_remove(struct ns *ns, const struct pin *dir, const char *name,
		   bool is_dir)
{
	CLEANUP(tree_node_done) struct tree_node n = { 0 };
	CLEANUP(freep) char *path = NULL;
	int r;

	if (dir->node.view != V_PENDING && !name_is_pending(name))
		return -ENOENT;
	r = dir_path(ns, dir, name, &path);
	if (r == 0)
		r = tree_find(ns->stage, path, &n);
	if (r < 0)
		return r;
	if (is_dir != (n.kind == TREE_DIR))
		return is_dir ? -ENOTDIR : -EISDIR;
	return tree_remove(ns->stage, path);
}

static int publish(struct ns *ns, const char *path, const struct pin *to,
		   const char *new_name, struct refusal *f)
{
	CLEANUP(freep) char *hdf = NULL;
	uint64_t to_ino = node_ino(to->node);
	int r = group_load(ns, to->object, GROUP_ENTRIES);

	if (r == 0)
		r = object_place(to->object, new_name, "", NAME_GROUP, &hdf, f);
	if (r == 0)
		r = ns_publish(ns, path, hdf);
	if (r < 0)
		return r;
	/* the kernel has moved what it knew by the old name */
	ns_changed_name(ns, to_ino, new_name);
	ns_tell(ns);
	return 0;
}

/* Of a file or a directory in one: to another pending name, else -EXDEV. */
int pending_rename(struct ns *ns, const struct pin *dir, const char *name,
		   const struct pin *to, const char *new_name,
		   struct refusal *f)
{
	CLEANUP(tree_node_done) struct tree_node n = { 0 };
	CLEANUP(freep) char *from = NULL;
	CLEANUP(freep) char *path = NULL;
	bool whole = dir->node.view != V_PENDING;
	bool to_pending = to->node.view == V_PENDING;
	const char *suffix;
	int r;

	if (whole && !name_is_pending(name))
		return -ENOENT;
	r = dir_path(ns, dir, name, &from);
	if (r == 0)
		r = tree_find(ns->stage, from, &n);
	if (r < 0)
		return r;
	if (!to_pending && !name_is_pending(new_name))
		return whole ? publish(ns, from, to, new_name, f) : -EXDEV;
	if (n.kind != TREE_DIR && !to_pending)
		return -EXDEV;
	suffix = n.kind != TREE_DIR && name_has_suffix(new_name)
			 ? strrchr(new_name, '.')
			 : strchr(new_name, 0);
	r = new_path(ns, to, new_name, suffix,
		     n.kind == TREE_DIR ? NAME_GROUP : NAME_PLAIN, &path, f);
	if (r == 0 && strcmp(from, path))
		r = exists(ns, path);
	return r < 0 ? r : tree_move(ns->stage, from, path);
}
