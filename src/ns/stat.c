/* SPDX-License-Identifier: MIT */
/* stat.c - what stat(2) shows of a node, and where a symbolic link leads. */
#include <stdio.h>

#include "write_int.h"

/* Of (file, object, view, index): the same at the next mount. Rises with the index,
 * because what walks big directories sorts them by this number. */
uint64_t stable_ino(const struct object *o, uint8_t view, uint32_t index)
{
	struct timespec mtime;
	uint64_t dev, ino, h;

	store_times(o->gen->store, &mtime, &dev, &ino);
	h = hash_mix(ino ^ o->info.file_key, o->info.id.addr);
	/* other pictures under another name of the object: another number */
	h = hash_mix(h, o->layout_key);
	h = hash_mix(h, view) + index;
	return h > 1 ? h : h + 2;
}

/* The owner sees what can be tried, to make names and to write: by whom it may be
 * done to what, and why not, is said then. */
static mode_t permissions(const struct ns *ns, uint8_t view, uint32_t index,
			  mode_t mode)
{
	bool fixed = ns->mode == NS_RO || view == V_ATTRS || view == V_ATTR ||
		     view == V_H5FS || view == V_QUERY || view == V_SLICE ||
		     view == V_NRRD || view == V_CONTROL || view == V_TYPE;
	mode_t access = S_ISDIR(mode) ? 0555 : 0444;

	if (S_ISLNK(mode))
		return 0777;
	if (view == V_CONTROL && index == CONTROL_COMMANDS)
		access = 0200;
	return (fixed ? access : access | 0200) & ~ns->opts.umask;
}

void stat_fill(struct ns *ns, const struct object *o, uint8_t view,
	       uint32_t index, mode_t mode, uint64_t size, struct stat *ret_st)
{
	struct stat st = { 0 };
	struct timespec mtime;
	uint64_t dev, ino;

	store_times(o->gen->store, &mtime, &dev, &ino);
	if (o->info.mtime.tv_sec && o->info.mtime.tv_sec < mtime.tv_sec)
		mtime = o->info.mtime;
	st.st_ino = stable_ino(o, view, index);
	st.st_mode = mode | permissions(ns, view, index, mode);
	st.st_uid = ns->opts.uid;
	st.st_gid = ns->opts.gid;
	st.st_size = (off_t)size;
	st.st_blksize = 4096;
	st.st_blocks = (blkcnt_t)(size / 512 + (size % 512 != 0));
	st.st_atim = st.st_mtim = st.st_ctim = mtime;
	st.st_nlink = 1;
	/* a dataset under several hard links, a sample in its class folder too */
	if (S_ISREG(mode) && o->kind == OBJECT_DATASET && view != V_ATTR &&
	    view != V_SLICE && view != V_NRRD) {
		st.st_nlink = o->info.links > 1 ? o->info.links : 1;
		if ((view == V_SAMPLE && o->labelled) ||
		    (o->label && o->parent->group->has_labels &&
		     (node_ops(o, view) == &view_png ||
		      node_ops(o, view) == &view_encoded)))
			st.st_nlink *= 2;
	}
	*ret_st = st;
}

static int dir_stat(struct ns *ns, const struct pin *p, struct stat *ret_st)
{
	stat_fill(ns, p->object, p->node.view, p->node.index, S_IFDIR, 0,
		  ret_st);
	return 0;
}

static int text_stat(struct ns *ns, const struct pin *p, bool measure,
		     struct stat *ret_st)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct timespec mtime;
	int r;

	if (!measure)
		return -EAGAIN;
	if (p->node.view == V_CONTROL && p->node.index == CONTROL_COMMANDS) {
		stat_fill(ns, p->object, V_CONTROL, p->node.index, S_IFREG, 0,
			  ret_st);
		return 0;
	}
	r = p->node.view == V_CONTROL
		    ? control_read(ns, p->node.index, &b, &mtime)
	    : p->node.view == V_ATTR
		    ? content_attr(p->object, p->node.index, &b)
		    : 0;
	if (r == 0 && p->node.view == V_TYPE) {
		struct ns_bytes bytes = { 0 };

		r = ns_read(ns, node_ino(p->node), 0, 1 << 20, &bytes);
		if (r == 0)
			b = bytes.owner;
	}
	if (r < 0)
		return r;
	stat_fill(ns, p->object, p->node.view, p->node.index, S_IFREG, b->size,
		  ret_st);
	if (p->node.view == V_CONTROL)
		ret_st->st_mtim = ret_st->st_ctim = mtime;
	return 0;
}

static int link_stat(struct ns *ns, const struct pin *p, struct stat *ret_st)
{
	const struct group *g = p->object->group;

	if (!g || p->node.index >= g->nentries ||
	    !g->entries[p->node.index].target)
		return -ENOENT;
	stat_fill(ns, p->object, V_LINK, p->node.index, S_IFLNK,
		  strlen(g->entries[p->node.index].target), ret_st);
	return 0;
}

static int eph_stat(struct ns *ns, const struct pin *p, struct stat *ret_st)
{
	uint32_t slot = p->node.object - NODE_EPHEMERAL;
	struct ephemeral copy = { 0 }, *e;
	uint64_t size = 0, key;
	int r = 0;

	pthread_rwlock_rdlock(&ns->tables);
	e = eph_find(ns, slot);
	if (!e || (p->node.view == V_QLINK && p->node.index >= e->nlinks)) {
		pthread_rwlock_unlock(&ns->tables);
		return -ENOENT;
	}
	copy = *e;
	copy.object = p->object; /* e's may be of a later generation */
	key = hash_bytes(e->key, strlen(e->key), 3);
	if (p->node.view == V_QLINK)
		size = strlen(e->links[p->node.index].target);
	pthread_rwlock_unlock(&ns->tables);
	if (p->node.view == V_SLICE) {
		struct view_source src;
		STATE_REF(ref, ns);

		r = source_get(ns, copy.object, false, &ref, &src);
		if (r == 0)
			r = slice_size(&src, &copy.slice, &size);
		if (r < 0)
			return r;
	}
	stat_fill(ns, copy.object, p->node.view, p->node.index,
		  p->node.view == V_QUERY   ? S_IFDIR
		  : p->node.view == V_QLINK ? S_IFLNK
					    : S_IFREG,
		  size, ret_st);
	ret_st->st_ino = hash_mix(ret_st->st_ino, key);
	return 0;
}

/* Of a sample that is being written over, the size is that of what is written. */
static bool written_size(struct ns *ns, struct node n, uint64_t *ret_size)
{
	struct open_file *f =
		n.view == V_SAMPLE ? open_file_of_sample(ns, n) : NULL;
	bool written;

	if (!f)
		return false;
	pthread_mutex_lock(&f->lock);
	written = f->filled && open_file_is_seen(f);
	if (written)
		*ret_size = draft_size(f->draft);
	pthread_mutex_unlock(&f->lock);
	open_file_put(ns, f);
	return written;
}

int node_stat(struct ns *ns, const struct pin *p, bool measure,
	      struct stat *ret_st)
{
	uint64_t size = 0;
	int r;

	switch (p->node.view) {
	case V_DIR:
	case V_ATTRS:
	case V_BYCLASS:
	case V_CLASS:
	case V_NEWCLASS:
	case V_H5FS:
		return dir_stat(ns, p, ret_st);
	case V_LINK:
		return link_stat(ns, p, ret_st);
	case V_ATTR:
	case V_TYPE:
	case V_CONTROL:
		return text_stat(ns, p, measure, ret_st);
	case V_QUERY:
	case V_QLINK:
	case V_SLICE:
		return eph_stat(ns, p, ret_st);
	case V_PENDING:
		return pending_stat(ns, p, ret_st);
	case V_STAGED:
	case V_DRAFT:
		return staged_stat(ns, p, ret_st);
	default:
		break;
	}
	if (p->node.view >= V_SUB)
		return dir_stat(ns, p, ret_st);
	r = written_size(ns, p->node, &size)
		    ? 0
		    : content_size(ns, p->object, p->node.view, p->node.index,
				   measure, &size);
	/* what can not be read has a size all the same: of an empty file the
	 * kernel reads nothing, and nobody would learn of the error */
	if (is_damage(r) && r != -ENOENT && measure) {
		size = 1;
		r = 0;
	}
	if (r < 0)
		return r;
	stat_fill(ns, p->object, p->node.view, p->node.index, S_IFREG, size,
		  ret_st);
	return 0;
}

static int stat_once(struct ns *ns, uint64_t ino, struct stat *ret_st)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	int r = pin_get(ns, ino, &p);

	return r < 0 ? r : node_stat(ns, &p, true, ret_st);
}

int ns_stat(struct ns *ns, uint64_t ino, struct stat *ret_st)
{
	unsigned tries = 0;
	int r;

	do
		r = stat_once(ns, ino, ret_st);
	while (ns_again(ns, r, &tries));
	return r;
}

static int readlink_once(struct ns *ns, uint64_t ino, char **ret_target)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	char *target = NULL;
	int r = pin_get(ns, ino, &p);

	if (r < 0)
		return r;
	if (p.node.view == V_PENDING)
		return pending_readlink(ns, &p, ret_target);
	if (p.node.view == V_LINK) {
		const struct group *g = p.object->group;

		if (g && p.node.index < g->nentries &&
		    g->entries[p.node.index].target)
			target = strdup(g->entries[p.node.index].target);
	} else if (p.node.view == V_QLINK) {
		struct ephemeral *e;

		pthread_rwlock_rdlock(&ns->tables);
		e = eph_find(ns, p.node.object - NODE_EPHEMERAL);
		if (e && p.node.index < e->nlinks)
			target = strdup(e->links[p.node.index].target);
		pthread_rwlock_unlock(&ns->tables);
	}
	if (!target)
		return -EINVAL;
	*ret_target = target;
	return 0;
}

int ns_readlink(struct ns *ns, uint64_t ino, char **ret_target)
{
	unsigned tries = 0;
	int r;

	do
		r = readlink_once(ns, ino, ret_target);
	while (ns_again(ns, r, &tries));
	return r;
}

/* In a mount that writes, numbers that are positions in lists may shift. */
bool ns_is_volatile(struct ns *ns, uint64_t ino)
{
	switch (node_of(ino).view) {
	case V_CONTROL:
	case V_STAGED:
	case V_DRAFT:
	case V_PENDING:
	case V_NEWCLASS:
		return true;
	case V_ATTR:
	case V_CLASS:
	case V_LINK:
		return ns->writer;
	default:
		return object_is_rewritten(ns, node_of(ino).object);
	}
}
