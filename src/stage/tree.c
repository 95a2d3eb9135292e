/* SPDX-License-Identifier: MIT */
/* tree.c - pending objects in memory: directories that are being filled, with
 * what is in them. They become objects of FILE when they are published. A change
 * is made by the same function when it is made and when it is read back. */
#include "stage_int.h"
#include "tree_int.h"

/* ---- order ---- */
static int compare_name(const void *key, const struct sorted_node *n)
{
	const struct part *a = key;
	const char *b = container_of(n, struct node, in_parent)->name;
	int c = strncmp(a->text, b, a->n);

	return c ? c : -(b[a->n] != '\0');
}

static struct part whole(const char *name)
{
	return (struct part){ .text = name, .n = strlen(name) };
}

static struct sorted *siblings(struct stage *s, struct node *parent)
{
	return parent ? &parent->children : &s->tops;
}

void tree_init(struct stage *s)
{
	s->tops.compare = compare_name;
}

static struct node *next_in(const struct sorted *all, const char *after)
{
	struct part key;

	if (!after)
		return node_of(sorted_from(all, NULL));
	key = whole(after);
	return node_of(sorted_after(all, &key));
}

struct node *tree_next_top(const struct stage *s, const struct node *after)
{
	return next_in(&s->tops, after ? after->name : NULL);
}

struct node *tree_next_child(const struct node *n, const struct node *after)
{
	return next_in(&n->children, after ? after->name : NULL);
}

struct node *tree_next_name(const struct node *n, const char *after)
{
	return next_in(&n->children, after);
}

struct node *tree_walk(const struct node *top, struct node *n)
{
	struct node *next = tree_next_child(n, NULL);

	while (!next && n != top) {
		next = tree_next_child(n->parent, n);
		n = n->parent;
	}
	return next;
}

/* ---- paths ---- */
int tree_path_of(const struct node *n, const struct node *below,
		 char **ret_path)
{
	size_t len = 0;
	char *path;

	for (const struct node *up = n; up != below; up = up->parent)
		len += strlen(up->name) + (up->parent != NULL);
	path = malloc(len + 1);
	if (!path)
		return -ENOMEM;
	path[len] = '\0';
	for (const struct node *up = n; up != below; up = up->parent) {
		len -= strlen(up->name);
		memcpy(path + len, up->name, strlen(up->name));
		if (up->parent)
			path[--len] = '/';
	}
	*ret_path = path;
	return 0;
}

static bool is_proper(const char *path)
{
	size_t n = strlen(path);

	return n > 1 && path[0] == '/' && path[n - 1] != '/' &&
	       !strstr(path, "//");
}

/* The pending directory that path is, or is in. */
static struct node *find_top(const struct stage *s, const char *path,
			     size_t *ret_n)
{
	struct part key = { .text = path, .n = 0 };

	do {
		struct sorted_node *found;

		key.n += strcspn(path + key.n + 1, "/") + 1;
		found = sorted_find(&s->tops, &key);
		if (found) {
			*ret_n = key.n;
			return node_of(found);
		}
	} while (path[key.n]);
	return NULL;
}

int tree_spot(const struct stage *s, const char *path, struct spot *ret)
{
	struct spot at = { .name = whole(path) };
	size_t n;

	if (!is_proper(path))
		return -EINVAL;
	at.node = find_top(s, path, &n);
	if (at.node)
		at.name.n = n;
	while (at.node && at.name.text[at.name.n]) {
		at.busy = at.busy || at.node->busy;
		if (at.node->kind != TREE_DIR)
			return -ENOTDIR;
		at.parent = at.node;
		at.name.text += at.name.n + 1;
		at.name.n = strcspn(at.name.text, "/");
		at.node = node_of(sorted_find(&at.parent->children, &at.name));
	}
	if (at.name.text[at.name.n])
		return -ENOENT;
	at.busy = at.busy || (at.node && at.node->busy);
	*ret = at;
	return 0;
}

struct node *tree_at(const struct stage *s, const char *path)
{
	struct spot at;

	return tree_spot(s, path, &at) == 0 ? at.node : NULL;
}

/* ---- nodes ---- */
static void attr_drop(struct stage *s, struct node_attr **at)
{
	struct node_attr *a = *at;

	*at = a->next;
	s->live -= a->value.size + PUT_OVERHEAD;
	free(a);
}

/* It has no children. */
static void node_free(struct stage *s, struct node *n)
{
	struct part key = whole(n->name);

	sorted_remove(siblings(s, n->parent), &key);
	while (n->attrs)
		attr_drop(s, &n->attrs);
	s->live -= n->value.size + PUT_OVERHEAD;
	s->nnodes--;
	free(n->name);
	free(n->target);
	free(n);
}

/* From the leaves up: nobody bounds the depth. */
uint64_t tree_drop(struct stage *s, struct node *top)
{
	struct node *n = top, *parent;
	uint64_t count = 0;
	bool last;

	do {
		while (n->children.root)
			n = node_of(n->children.root);
		parent = n->parent;
		last = n == top;
		node_free(s, n);
		count++;
		n = parent;
	} while (!last);
	return count;
}

void tree_free(struct stage *s)
{
	while (s->tops.root)
		tree_drop(s, node_of(s->tops.root));
}

static struct node *node_new(struct stage *s, const struct spot *at)
{
	struct node *n = calloc(1, sizeof(*n));

	if (n)
		n->name = strndup(at->name.text, at->name.n);
	if (!n || !n->name) {
		free(n);
		return NULL;
	}
	n->children.compare = compare_name;
	n->parent = at->parent;
	s->live += PUT_OVERHEAD;
	s->nnodes++;
	return n;
}

/* ---- changes ---- */
int tree_apply_node(struct stage *s, const struct node_record *rec)
{
	CLEANUP(freep) char *target = NULL;
	struct spot at;
	struct node *n;
	int r = tree_spot(s, rec->path, &at);

	if (r < 0)
		return r;
	r = copy_text(rec->target, &target);
	if (r < 0)
		return r;
	n = at.node;
	if (n && n->kind != rec->kind)
		return -EBADMSG;
	if (!n) {
		n = node_new(s, &at);
		if (!n)
			return -ENOMEM;
		sorted_add(siblings(s, at.parent), &at.name, &n->in_parent);
	}
	s->live += rec->value.size - n->value.size;
	n->kind = rec->kind;
	n->image = rec->image;
	n->mtime = rec->mtime;
	n->value = rec->value;
	free(n->target);
	n->target = TAKE(target);
	return 0;
}

struct node_attr **tree_find_attr(struct node *n, const char *name)
{
	struct node_attr **at = &n->attrs;

	while (*at && strcmp((*at)->name, name) < 0)
		at = &(*at)->next;
	return at;
}

int tree_apply_attr(struct stage *s, const struct attr_record *rec)
{
	struct node *n = tree_at(s, rec->path);
	size_t len = strlen(rec->name) + 1;
	struct node_attr **at, *a;

	if (!n)
		return -ENOENT;
	at = tree_find_attr(n, rec->name);
	if (*at && strcmp((*at)->name, rec->name) != 0 && !rec->set)
		return 0;
	if (!rec->set) {
		if (*at)
			attr_drop(s, at);
		return 0;
	}
	a = calloc(1, sizeof(*a) + len);
	if (!a)
		return -ENOMEM;
	memcpy(a->name, rec->name, len);
	a->value = rec->value;
	s->live += a->value.size + PUT_OVERHEAD;
	if (*at && strcmp((*at)->name, rec->name) == 0)
		attr_drop(s, at);
	a->next = *at;
	*at = a;
	return 0;
}

int tree_apply_rename(struct stage *s, const char *from, const char *to)
{
	CLEANUP(freep) char *name = NULL;
	struct node *n = tree_at(s, from);
	struct spot at;
	struct part key;
	int r = n ? tree_spot(s, to, &at) : -ENOENT;

	if (r < 0)
		return r;
	for (struct node *up = at.parent; up; up = up->parent)
		if (up == n)
			return -EINVAL;
	name = strndup(at.name.text, at.name.n);
	if (!name)
		return -ENOMEM;
	if (at.node == n)
		return 0;
	if (at.node)
		tree_drop(s, at.node);
	key = whole(n->name);
	sorted_remove(siblings(s, n->parent), &key);
	free(n->name);
	n->name = TAKE(name);
	n->parent = at.parent;
	key = whole(n->name);
	sorted_add(siblings(s, n->parent), &key, &n->in_parent);
	return 0;
}

/* ---- read back ---- */
static int read_value(const struct slog_record *rec, struct reader *h,
		      struct value *ret)
{
	ret->at = rec->payload;
	ret->size = read_u64(h);
	ret->crc = read_u32(h);
	return h->failed || ret->size > rec->npayload ? -EBADMSG : 0;
}

static int replay_node(struct stage *s, const struct slog_record *rec,
		       struct reader *h)
{
	struct node_record n = { .path = read_some_text(h) };
	int r;

	n.kind = (enum tree_kind)read_u32(h);
	n.image = read_u32(h) != 0;
	n.mtime = read_time(h);
	n.target = read_text(h);
	r = read_value(rec, h, &n.value);
	if (r < 0 || n.kind > TREE_LINK || (n.kind == TREE_LINK) != !!n.target)
		return -EBADMSG;
	return tree_apply_node(s, &n);
}

static int replay_attr(struct stage *s, const struct slog_record *rec,
		       struct reader *h)
{
	struct attr_record a = { .path = read_some_text(h) };
	int r;

	a.name = read_some_text(h);
	a.set = read_u32(h) != 0;
	r = read_value(rec, h, &a.value);
	return r < 0 ? r : tree_apply_attr(s, &a);
}

int tree_replay(struct stage *s, const struct slog_record *rec,
		struct reader *h)
{
	const char *from, *to;
	struct node *n;

	if (rec->kind == RECORD_NODE)
		return replay_node(s, rec, h);
	if (rec->kind == RECORD_ATTR)
		return replay_attr(s, rec, h);
	from = read_some_text(h);
	if (rec->kind == RECORD_RENAME) {
		to = read_some_text(h);
		return h->failed ? -EBADMSG : tree_apply_rename(s, from, to);
	}
	n = h->failed ? NULL : tree_at(s, from);
	if (n)
		tree_drop(s, n);
	return h->failed ? -EBADMSG : 0;
}
