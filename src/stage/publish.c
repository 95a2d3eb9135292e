/* SPDX-License-Identifier: MIT */
/* publish.c - a pending directory, with all in it, becomes a group of FILE. */
#include <sys/mman.h>

#include "stage_int.h"

struct publish {
	struct stage *s;
	struct writer *w;
	const char *to; /* HDF5 path of the group */
	struct node *top;
	struct seal *seal;
	struct slog_file *log;
	bool begun;
	char *why;
};

static void publish_done(struct publish *p)
{
	seal_free(p->seal);
	slog_file_unref(p->log);
	free(p->why);
}

/* ---- names: in a mount files have suffixes, in FILE datasets have none ---- */
static size_t without_suffix(const char *name, bool image)
{
	const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');

	if (!dot || dot == name || (slash && dot < slash + 2))
		return strlen(name);
	if (strcmp(dot, ".npy") == 0 ||
	    (image && layout_has_image_suffix(name)))
		return (size_t)(dot - name);
	return strlen(name);
}

/* Of a link: a dataset's file is linked to by a link of the same suffix. */
static size_t link_without_suffix(const char *path)
{
	static const char *const texts[] = { ".txt", ".csv", ".json", ".bin" };
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(texts); i++)
		if (strcmp(dot, texts[i]) == 0)
			return (size_t)(dot - path);
	return without_suffix(path, true);
}

static size_t name_in_file(const struct node *n, const char *path)
{
	size_t cut;

	if (n->kind == TREE_DATASET)
		return without_suffix(path, n->image);
	if (n->kind == TREE_DIR)
		return strlen(path);
	cut = link_without_suffix(n->target);
	return n->target[cut] ? link_without_suffix(path) : strlen(path);
}

static int path_in_file(const struct publish *p, const struct node *n,
			char **ret_path)
{
	CLEANUP(freep) char *below = NULL;
	struct strbuf out = STRBUF_INIT;
	int r = tree_path_of(n, p->top, &below);

	if (r < 0)
		return r;
	strbuf_puts(&out, p->to);
	strbuf_put(&out, below, name_in_file(n, below));
	*ret_path = strbuf_steal(&out);
	return *ret_path ? 0 : -ENOMEM;
}

/* ---- one object each ---- */
static int publish_group(struct publish *p, const struct node *n,
			 const char *path)
{
	(void)n;
	return writer_create_group(p->w, path);
}

/* A symbolic link's target in the mount, from the directory that the link is in,
 * as a path in FILE. */
static int resolve(const char *link, const char *target, struct strbuf *out)
{
	if (target[0] != '/')
		strbuf_put(out, link, (size_t)(strrchr(link, '/') - link));
	while (*target) {
		size_t n = strcspn(target, "/");

		if (n == 2 && strncmp(target, "..", 2) == 0) {
			if (!out->len)
				return -EINVAL;
			out->len = (size_t)(strrchr(out->buf, '/') - out->buf);
			out->buf[out->len] = '\0';
		} else if (n && !(n == 1 && *target == '.')) {
			strbuf_putc(out, '/');
			strbuf_put(out, target, n);
		}
		target += n + (target[n] == '/');
	}
	if (!out->len)
		strbuf_putc(out, '/');
	return strbuf_error(out);
}

static int publish_link(struct publish *p, const struct node *n,
			const char *path)
{
	CLEANUP(strbuf_done) struct strbuf target = STRBUF_INIT;
	int r = resolve(path, n->target, &target);

	if (r < 0)
		return r;
	target.buf[link_without_suffix(target.buf)] = '\0';
	return writer_create_link(p->w, path, target.buf);
}

struct map {
	void *base;
	size_t size;
	const uint8_t *bytes;
};

static void map_done(struct map *m)
{
	if (m->base)
		munmap(m->base, m->size);
}

/* Bytes of the log without a copy. They have just been read and checked, so that
 * a page that cannot be read is found out before it is touched. */
static int map_value(struct slog_file *log, const struct value *v,
		     struct map *ret)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip = v->at % page;
	int r = slog_verify(log, v->size, v->at, v->crc);
	void *base;

	if (r < 0)
		return r;
	base = mmap(NULL, v->size + skip, PROT_READ, MAP_SHARED, log->fd,
		    (off_t)(v->at - skip));
	if (base == MAP_FAILED)
		return -errno;
	ret->base = base;
	ret->size = v->size + skip;
	ret->bytes = (const uint8_t *)base + skip;
	return 0;
}

static int dataset_of(struct publish *p, const uint8_t *bytes, uint64_t size,
		      bool image, struct accepted_dataset *ret)
{
	CLEANUP(npy_done) struct npy npy = { 0 };
	struct refusal f = { 0 };
	int r = npy_parse(bytes, size, &npy, &f);

	if (r < 0) {
		(void)stage_say(&p->why, r, "%s", f.reason ? f.reason : "");
		refusal_done(&f);
		return r;
	}
	if (npy.swap || npy.fortran)
		r = npy_elements(&npy, bytes, &ret->data);
	if (r < 0)
		return r;
	ret->type = TAKE(npy.type);
	ret->rank = npy.rank;
	memcpy(ret->dims, npy.dims, sizeof(ret->dims));
	ret->offset = npy.offset;
	ret->image = image;
	return 0;
}

static int publish_dataset(struct publish *p, const struct node *n,
			   const char *path)
{
	CLEANUP(accepted_dataset_done) struct accepted_dataset a = { 0 };
	CLEANUP(map_done) struct map map = { 0 };
	int r = map_value(p->log, &n->value, &map);

	if (r == 0)
		r = dataset_of(p, map.bytes, n->value.size, n->image, &a);
	if (r == 0)
		r = stage_write_dataset(p->w, path, &a, map.bytes);
	return r;
}

static int (*const publishers[])(struct publish *, const struct node *,
				 const char *) = {
	[TREE_DIR] = publish_group,
	[TREE_DATASET] = publish_dataset,
	[TREE_LINK] = publish_link,
};

static int publish_attr(struct publish *p, const char *path,
			const struct node_attr *a)
{
	CLEANUP(array_freep) struct array *value = NULL;
	CLEANUP(blob_unrefp) struct blob *text = NULL;
	int r = value_read(p->log, &a->value, &text);

	if (r == 0)
		r = value_guess((const char *)text->data, text->size, &value);
	if (r == 0)
		r = writer_set_attr(p->w, path, a->name, value);
	return r;
}

static int publish_node(struct publish *p, const struct node *n)
{
	CLEANUP(freep) char *path = NULL;
	int r = path_in_file(p, n, &path);

	if (r < 0)
		return r;
	r = publishers[n->kind](p, n, path);
	for (struct node_attr *a = n->attrs; r == 0 && a; a = a->next)
		r = publish_attr(p, path, a);
	return r < 0 ? writer_said(p->w, r, path, &p->why) : 0;
}

/* ---- the transaction ---- */
/* From here on nothing in it changes: it is read without the lock. */
static int lock_top(struct publish *p, const char *path)
{
	struct stage *s = p->s;
	LOCK_SCOPE(&s->lock);

	p->top = tree_at(s, path);
	if (!p->top)
		return -ENOENT;
	if (p->top->kind != TREE_DIR)
		return -ENOTDIR;
	if (p->top->busy)
		return -EBUSY;
	p->seal = calloc(1, sizeof(*p->seal));
	if (!p->seal || copy_text(path, &p->seal->path) < 0)
		return -ENOMEM;
	p->seal->tag = seal_tag(s, p->w);
	p->log = slog_file_ref(s->log.file);
	seal_lock(s, p->seal, true);
	s->committing = true;
	return 0;
}

static int publish_all(struct publish *p)
{
	int r = 0;

	for (struct node *n = p->top; r == 0 && n; n = tree_walk(p->top, n))
		r = publish_node(p, n);
	if (r == 0)
		return seal_commit(p->s, p->w, TAKE(p->seal), &p->why);
	writer_abort(p->w);
	LOCK_SCOPE(&p->s->lock);
	seal_lock(p->s, p->seal, false);
	return r;
}

static int publish_run(struct publish *p, const char *path)
{
	struct stage *s = p->s;
	int r = stage_make_sure(s);

	if (r < 0)
		return r;
	r = writer_begin(p->w);
	if (r < 0)
		return writer_said(p->w, r, NULL, &p->why);
	seal_settle(s, p->w);
	r = lock_top(p, path);
	if (r == 0)
		r = publish_all(p);
	else
		writer_abort(p->w);
	LOCK_SCOPE(&s->lock);
	s->committing = false;
	slog_file_unref(TAKE(p->log));
	stage_trim(s);
	return r;
}

int tree_publish(struct stage *s, struct writer *w, const char *path,
		 const char *to, char **ret_why)
{
	LOCK_SCOPE(&s->commit);
	CLEANUP(publish_done) struct publish p = { .s = s, .w = w, .to = to };
	int r = publish_run(&p, path);

	if (r < 0) {
		if (!p.why)
			(void)stage_say(&p.why, r, "%s: %s", path,
					strerror(-r));
		*ret_why = TAKE(p.why);
	}
	return r;
}
