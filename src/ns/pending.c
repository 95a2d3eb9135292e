/* SPDX-License-Identifier: MIT */
/* pending.c - directories that end in .part as they are seen while they are put
 * together: the stage's tree laid over FILE's.
 *
 * A node is an ephemeral whose key is its path; what has been moved or published
 * meanwhile answers -ESTALE, and the kernel looks the path up again. */
#include <stdio.h>
#include <sys/xattr.h>

#include "objects_int.h"

int pending_path(struct ns *ns, const struct pin *p, char **ret_path)
{
	const struct ephemeral *e;
	char *path = NULL;

	pthread_rwlock_rdlock(&ns->tables);
	e = eph_find(ns, p->node.object - NODE_EPHEMERAL);
	if (e)
		path = strdup(e->key);
	pthread_rwlock_unlock(&ns->tables);
	if (!path)
		return e ? -ENOMEM : -ESTALE;
	*ret_path = path;
	return 0;
}

static int find(struct ns *ns, const struct pin *p, char **ret_path,
		struct tree_node *ret_node)
{
	CLEANUP(freep) char *path = NULL;
	int r = pending_path(ns, p, &path);

	if (r == 0)
		r = tree_find(ns->stage, path, ret_node);
	if (r == 0)
		*ret_path = TAKE(path);
	return r == -ENOENT ? -ESTALE : r;
}

int pending_lookup(struct ns *ns, const struct pin *dir, const char *name,
		   struct node *ret)
{
	CLEANUP(freep) char *path = NULL;
	struct tree_node n = { 0 };
	int r;

	if (!ns->stage ||
	    (dir->node.view != V_PENDING && !name_is_pending(name)))
		return -ENOENT;
	r = dir_path(ns, dir, name, &path);
	if (r == 0)
		r = tree_find(ns->stage, path, &n);
	if (r < 0)
		return r;
	tree_node_done(&n);
	/* the root's node goes on in each generation */
	return eph_get(ns, dir->gen->root, V_PENDING, path,
		       &(struct ephemeral){ 0 }, ret);
}

/* ---- contents ---- */

/* The picture that an image's values will be shown as. */
static int draw(const struct blob *npy, struct blob **ret_png)
{
	CLEANUP(refusal_done) struct refusal f = { 0 };
	CLEANUP(npy_done) struct npy n = { 0 };
	struct png_shape shape = { 0 };
	struct norm norm = { 0 };
	struct pixels px = { 0 };
	unsigned size;
	int r = npy_parse(npy->data, npy->size, &n, &f);

	if (r < 0)
		return r;
	size = n.type->size;
	if (n.rank < 2 || n.rank > 3 || n.type->class != DT_UINT || size > 2 ||
	    n.dims[0] > INT32_MAX || n.dims[1] > INT32_MAX ||
	    (n.rank == 3 && n.dims[2] > 4))
		return -EIO;
	shape.height = (uint32_t)n.dims[0];
	shape.width = (uint32_t)n.dims[1];
	shape.channels = n.rank == 3 ? (unsigned)n.dims[2] : 1;
	shape.bits = size * 8;
	norm.kind = size == 1 ? NORM_U8 : NORM_U16;
	norm.bits = shape.bits;
	px.base = npy->data + n.offset;
	px.stride_x = (int64_t)size * shape.channels;
	px.stride_y = px.stride_x * shape.width;
	for (unsigned i = 0; i < shape.channels; i++)
		px.channel[i] = (int64_t)i * size;
	px.num = NUM_UINT;
	px.num_size = size;
	return png_stored_render(&shape, &px, &norm, ret_png);
}

struct fill_arg {
	struct ns *ns;
	const char *path;
};

static int fill(void *arg, struct blob **ret_blob)
{
	const struct fill_arg *a = arg;
	CLEANUP(blob_unrefp) struct blob *npy = NULL;
	bool image;
	int r = tree_read(a->ns->stage, a->path, &npy, &image);

	if (r == 0 && image)
		return draw(npy, ret_blob);
	if (r == 0)
		*ret_blob = TAKE(npy);
	return r;
}

/* Kept in the cache: a large file is read piece by piece. */
static int cached_bytes(struct ns *ns, const char *path,
			const struct tree_node *n, struct blob **ret_bytes)
{
	struct fill_arg a = { ns, path };
	struct cache_key key = {
		hash_bytes(path, strlen(path), 0x70656e64696e67),
		hash_mix((uint64_t)n->mtime.tv_sec << 30 |
				 (uint64_t)n->mtime.tv_nsec,
			 n->size),
	};

	return cache_get(ns->cache, key, fill, &a, ret_bytes);
}

int pending_bytes(struct ns *ns, const struct pin *p, struct blob **ret_bytes)
{
	CLEANUP(tree_node_done) struct tree_node n = { 0 };
	CLEANUP(freep) char *path = NULL;
	int r = find(ns, p, &path, &n);

	if (r < 0)
		return r;
	return n.kind == TREE_DATASET ? cached_bytes(ns, path, &n, ret_bytes)
	       : n.kind == TREE_DIR   ? -EISDIR
				      : -EINVAL;
}

/* ---- stat ---- */

static const mode_t modes[] = {
	[TREE_DIR] = S_IFDIR,
	[TREE_DATASET] = S_IFREG,
	[TREE_LINK] = S_IFLNK,
};

static bool is_npy(const char *path)
{
	const char *suffix = dataset_suffix(path);

	return suffix && !strcmp(suffix, ".npy");
}

static int fill_stat(struct ns *ns, const struct object *root, const char *path,
		     const struct tree_node *n, struct stat *ret_st)
{
	CLEANUP(blob_unrefp) struct blob *bytes = NULL;
	mode_t mode = modes[n->kind];
	uint64_t size = n->kind == TREE_LINK ? strlen(n->target) : 0;

	if (n->kind == TREE_DATASET && is_npy(path)) {
		size = n->size;
	} else if (n->kind == TREE_DATASET) { /* of a picture that is drawn */
		int r = cached_bytes(ns, path, n, &bytes);

		if (r < 0)
			return r;
		size = bytes->size;
	}
	stat_fill(ns, root, V_PENDING, 0, mode, size, ret_st);
	ret_st->st_ino =
		hash_mix(ret_st->st_ino, hash_bytes(path, strlen(path), 3));
	ret_st->st_nlink = 1;
	ret_st->st_mtim = ret_st->st_ctim = ret_st->st_atim = n->mtime;
	return 0;
}

int pending_stat(struct ns *ns, const struct pin *p, struct stat *ret_st)
{
	CLEANUP(tree_node_done) struct tree_node n = { 0 };
	CLEANUP(freep) char *path = NULL;
	int r = find(ns, p, &path, &n);

	return r < 0 ? r : fill_stat(ns, p->gen->root, path, &n, ret_st);
}

int pending_readlink(struct ns *ns, const struct pin *p, char **ret_target)
{
	CLEANUP(tree_node_done) struct tree_node n = { 0 };
	CLEANUP(freep) char *path = NULL;
	int r = find(ns, p, &path, &n);

	if (r < 0)
		return r;
	if (n.kind != TREE_LINK)
		return -EINVAL;
	*ret_target = TAKE(n.target);
	return 0;
}

/* ---- listing ---- */

int pending_names(struct ns *ns, const struct pin *dir, const char *after,
		  size_t max, struct stage_names *ret_names)
{
	CLEANUP(freep) char *path = NULL;
	int r;

	if (!ns->stage || stage_is_empty(ns->stage))
		return dir->node.view == V_PENDING ? -ESTALE : -ENOENT;
	r = dir_path(ns, dir, "", &path);
	if (r < 0)
		return r;
	if (strlen(path) > 1)
		path[strlen(path) - 1] = 0;
	return tree_list(ns->stage, path, after, max, ret_names);
}

int pending_type(struct ns *ns, const struct pin *dir, const char *name,
		 mode_t *ret_type, uint64_t *ret_ino)
{
	CLEANUP(tree_node_done) struct tree_node n = { 0 };
	CLEANUP(freep) char *path = NULL;
	int r = dir_path(ns, dir, name, &path);

	if (r == 0)
		r = tree_find(ns->stage, path, &n);
	if (r < 0)
		return r;
	*ret_type = modes[n.kind];
	*ret_ino = hash_mix(stable_ino(dir->gen->root, V_PENDING, 0),
			    hash_bytes(path, strlen(path), 3));
	return 0;
}

/* ---- attributes ---- */

int pending_xattr(struct ns *ns, const struct pin *p, const char *name,
		  struct blob **ret_value)
{
	CLEANUP(freep) char *path = NULL;
	int r = pending_path(ns, p, &path);

	return r < 0 ? r : tree_get_attr(ns->stage, path, name, ret_value);
}

int pending_xattrs(struct ns *ns, const struct pin *p,
		   struct stage_names *ret_names)
{
	CLEANUP(freep) char *path = NULL;
	int r = pending_path(ns, p, &path);

	return r < 0 ? r : tree_attrs(ns->stage, path, ret_names);
}

int pending_setxattr(struct ns *ns, const struct pin *p, const char *name,
		     const char *text, size_t n, int flags)
{
	CLEANUP(tree_node_done) struct tree_node node = { 0 };
	CLEANUP(blob_unrefp) struct blob *old = NULL;
	CLEANUP(freep) char *path = NULL;
	int r = find(ns, p, &path, &node);

	if (r < 0)
		return r;
	if (node.kind == TREE_LINK)
		return -EPERM;
	r = tree_get_attr(ns->stage, path, name, &old);
	if (r < 0 && r != -ENODATA)
		return r;
	if (r == 0 && flags & XATTR_CREATE)
		return -EEXIST;
	if (r < 0 && (flags & XATTR_REPLACE || !text))
		return r;
	return tree_attr(ns->stage, path, name, text, n);
}
