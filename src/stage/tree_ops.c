/* SPDX-License-Identifier: MIT */
/* tree_ops.c - pending objects as they are asked for: each change is a record in
 * the log, then made in memory (tree.c). */
#include "h5fs/image.h"
#include "tree_int.h"

void tree_record_node(struct strbuf *out, const struct node_record *rec)
{
	put_text(out, rec->path);
	put_u32(out, rec->kind);
	put_u32(out, rec->image);
	put_time(out, rec->mtime);
	put_text(out, rec->target);
	put_u64(out, rec->value.size);
	put_u32(out, rec->value.crc);
}

void tree_record_attr(struct strbuf *out, const struct attr_record *rec)
{
	put_text(out, rec->path);
	put_text(out, rec->name);
	put_u32(out, rec->set);
	put_u64(out, rec->value.size);
	put_u32(out, rec->value.crc);
}

/* ---- changes; the lock is held ---- */
static struct value value_of(const void *bytes, size_t size)
{
	return (struct value){
		.size = size,
		.crc = checksum_crc32(0, bytes, size),
	};
}

static int node_logged(struct stage *s, struct node_record *rec,
		       const void *bytes)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	const struct slog_part part = {
		.bytes = bytes ? bytes : "",
		.size = rec->value.size,
	};
	int r;

	clock_gettime(CLOCK_REALTIME, &rec->mtime);
	tree_record_node(&head, rec);
	r = stage_append(s, RECORD_NODE, &head, &part, 1, &rec->value.at);
	if (r < 0)
		return r;
	r = tree_apply_node(s, rec);
	if (r < 0)
		stage_undo(s);
	return r;
}

/* A new object: only a directory may stand alone. */
static int make(struct stage *s, struct node_record *rec, const void *bytes)
{
	LOCK_SCOPE(&s->lock);
	struct spot at;
	int r = tree_spot(s, rec->path, &at);

	if (r < 0)
		return r;
	if (at.busy)
		return -EBUSY;
	if (at.node && at.node->kind == TREE_DIR && rec->kind == TREE_DATASET)
		return -EISDIR;
	if (at.node &&
	    (rec->kind != TREE_DATASET || at.node->kind != rec->kind))
		return -EEXIST;
	if (!at.parent && rec->kind != TREE_DIR)
		return -ENOENT;
	r = node_logged(s, rec, bytes);
	stage_trim(s);
	return r;
}

int tree_mkdir(struct stage *s, const char *path)
{
	struct node_record rec = { .path = path, .kind = TREE_DIR };

	return make(s, &rec, NULL);
}

int tree_link(struct stage *s, const char *path, const char *target)
{
	struct node_record rec = {
		.path = path,
		.kind = TREE_LINK,
		.target = target,
	};

	return make(s, &rec, NULL);
}

int tree_put(struct stage *s, const char *path, const void *bytes, size_t size,
	     bool image)
{
	struct node_record rec = {
		.path = path,
		.kind = TREE_DATASET,
		.image = image,
		.value = value_of(bytes, size),
	};

	return make(s, &rec, bytes);
}

static int attr_logged(struct stage *s, struct attr_record *rec,
		       const char *text)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	const struct slog_part part = {
		.bytes = text ? text : "",
		.size = rec->value.size,
	};
	int r;

	tree_record_attr(&head, rec);
	r = stage_append(s, RECORD_ATTR, &head, &part, 1, &rec->value.at);
	if (r < 0)
		return r;
	r = tree_apply_attr(s, rec);
	if (r < 0)
		stage_undo(s);
	return r;
}

int tree_attr(struct stage *s, const char *path, const char *name,
	      const char *text, size_t n)
{
	struct attr_record rec = { .path = path, .name = name, .set = text };
	LOCK_SCOPE(&s->lock);
	struct node_attr *a;
	struct spot at;
	int r = tree_spot(s, path, &at);

	if (r < 0)
		return r;
	if (at.busy)
		return -EBUSY;
	if (!at.node)
		return -ENOENT;
	if (at.node->kind == TREE_LINK)
		return -EPERM;
	a = *tree_find_attr(at.node, name);
	if (!text && (!a || strcmp(a->name, name) != 0))
		return -ENODATA;
	if (text)
		rec.value = value_of(text, n);
	r = attr_logged(s, &rec, text);
	stage_trim(s);
	return r;
}

/* May n take the place? */
static int may_move(const struct node *n, const struct spot *to)
{
	const struct node *old = to->node;

	for (const struct node *up = to->parent; up; up = up->parent)
		if (up == n)
			return -EINVAL;
	if (n->kind != TREE_DIR && !to->parent)
		return -EXDEV;
	if (!old || old == n)
		return 0;
	if (n->kind == TREE_DIR && old->kind != TREE_DIR)
		return -ENOTDIR;
	if (n->kind != TREE_DIR && old->kind == TREE_DIR)
		return -EISDIR;
	return old->children.root ? -ENOTEMPTY : 0;
}

static int names_logged(struct stage *s, enum record kind, const char *path,
			const char *to)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	uint64_t unused;

	put_text(&head, path);
	if (to)
		put_text(&head, to);
	return stage_append(s, kind, &head, NULL, 0, &unused);
}

int tree_move(struct stage *s, const char *from, const char *to)
{
	LOCK_SCOPE(&s->lock);
	struct spot source, target;
	int r = tree_spot(s, from, &source);

	if (r == 0 && !source.node)
		r = -ENOENT;
	if (r == 0)
		r = tree_spot(s, to, &target);
	if (r == 0 && (source.busy || target.busy))
		r = -EBUSY;
	if (r == 0)
		r = may_move(source.node, &target);
	if (r == 0)
		r = names_logged(s, RECORD_RENAME, from, to);
	if (r < 0)
		return r;
	r = tree_apply_rename(s, from, to);
	if (r < 0)
		stage_undo(s);
	stage_trim(s);
	return r;
}

int tree_remove(struct stage *s, const char *path)
{
	LOCK_SCOPE(&s->lock);
	struct spot at;
	int r = tree_spot(s, path, &at);

	if (r < 0)
		return r;
	if (!at.node)
		return -ENOENT;
	if (at.busy)
		return -EBUSY;
	if (at.node->children.root)
		return -ENOTEMPTY;
	/* The last one goes with the log, also where the disk is full. */
	if (s->nnodes > 1 || s->first || s->doubt)
		r = names_logged(s, RECORD_REMOVE, path, NULL);
	if (r < 0)
		return r;
	tree_drop(s, at.node);
	stage_trim(s);
	return 0;
}

/* ---- questions ---- */
void tree_node_done(struct tree_node *n)
{
	free(n->name);
	free(n->target);
	*n = (struct tree_node){ 0 };
}

int tree_find(struct stage *s, const char *path, struct tree_node *ret_node)
{
	CLEANUP(tree_node_done) struct tree_node out = { 0 };
	LOCK_SCOPE(&s->lock);
	struct node *n = tree_at(s, path);
	int r;

	if (!n)
		return -ENOENT;
	out.kind = n->kind;
	out.size = n->value.size;
	out.mtime = n->mtime;
	r = copy_text(strrchr(path, '/') + 1, &out.name);
	if (r == 0)
		r = copy_text(n->target, &out.target);
	if (r < 0)
		return r;
	*ret_node = out;
	out = (struct tree_node){ 0 };
	return 0;
}

int tree_read(struct stage *s, const char *path, struct blob **ret_bytes,
	      bool *ret_image)
{
	CLEANUP(slog_file_unrefp) struct slog_file *log = NULL;
	struct value v;
	bool image;
	int r;

	{
		LOCK_SCOPE(&s->lock);
		struct node *n = tree_at(s, path);

		if (!n)
			return -ENOENT;
		if (n->kind != TREE_DATASET)
			return n->kind == TREE_DIR ? -EISDIR : -EINVAL;
		log = slog_file_ref(s->log.file);
		v = n->value;
		image = n->image;
	}
	r = value_read(log, &v, ret_bytes);
	if (r == 0)
		*ret_image = image;
	return r;
}

int tree_get_attr(struct stage *s, const char *path, const char *name,
		  struct blob **ret_text)
{
	CLEANUP(slog_file_unrefp) struct slog_file *log = NULL;
	struct value v;

	{
		LOCK_SCOPE(&s->lock);
		struct node *n = tree_at(s, path);
		struct node_attr *a = n ? *tree_find_attr(n, name) : NULL;

		if (!n)
			return -ENOENT;
		if (!a || strcmp(a->name, name) != 0)
			return -ENODATA;
		log = slog_file_ref(s->log.file);
		v = a->value;
	}
	return value_read(log, &v, ret_text);
}

int tree_attrs(struct stage *s, const char *path, struct stage_names *ret_names)
{
	CLEANUP(stage_names_done) struct stage_names names = { 0 };
	LOCK_SCOPE(&s->lock);
	struct node *n = tree_at(s, path);
	size_t cap = 0;

	if (!n)
		return -ENOENT;
	for (struct node_attr *a = n->attrs; a; a = a->next)
		if (names_add(&names, &cap, a->name) < 0)
			return -ENOMEM;
	*ret_names = names;
	names = (struct stage_names){ 0 };
	return 0;
}

bool tree_is_below(struct stage *s, const char *dir)
{
	LOCK_SCOPE(&s->lock);
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	for (struct node *i = tree_next_top(s, NULL); i;
	     i = tree_next_top(s, i))
		if (strncmp(i->name, dir, n) == 0 && i->name[n] == '/')
			return true;
	return false;
}

/* Pending directories that stand in a directory of FILE: there are few of them
 * at a time. */
static int list_tops(struct stage *s, const char *dir, const char *after,
		     size_t max, struct stage_names *names)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir), cap = 0;

	for (struct node *i = tree_next_top(s, NULL); i && names->count < max;
	     i = tree_next_top(s, i)) {
		const char *name = i->name + n + 1;

		if (strncmp(i->name, dir, n) != 0 || i->name[n] != '/' ||
		    strchr(name, '/') || (after && strcmp(name, after) <= 0))
			continue;
		if (names_add(names, &cap, name) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int list_children(struct node *n, const char *after, size_t max,
			 struct stage_names *names)
{
	size_t cap = 0;

	for (n = tree_next_name(n, after); n && names->count < max;
	     n = tree_next_child(n->parent, n))
		if (names_add(names, &cap, n->name) < 0)
			return -ENOMEM;
	return 0;
}

int tree_list(struct stage *s, const char *path, const char *after, size_t max,
	      struct stage_names *ret_names)
{
	CLEANUP(stage_names_done) struct stage_names names = { 0 };
	LOCK_SCOPE(&s->lock);
	struct node *n = tree_at(s, path);
	int r;

	if (n && n->kind != TREE_DIR)
		return -ENOTDIR;
	r = n ? list_children(n, after, max, &names)
	      : list_tops(s, path, after, max, &names);
	if (r < 0)
		return r;
	*ret_names = names;
	names = (struct stage_names){ 0 };
	return 0;
}
