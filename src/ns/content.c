/* SPDX-License-Identifier: MIT */
/* content.c - the bytes and the size of every file of the tree. */
#include <stdio.h>

#include "write_int.h"

/* Smaller files come in one request and are cached by the kernel alone. */
#define CACHE_FROM 16384
/* One read of a ranged file, at most. */
#define MAX_READ (1u << 20)

const struct view_ops *node_ops(const struct object *o, uint8_t view)
{
	if (view == V_NRRD)
		return &view_nrrd;
	if (view == V_SAMPLE)
		return o->row_files			   ? &view_row
		       : o->layout->kind == LAYOUT_ENCODED ? &view_encoded
							   : &view_png;
	if (view >= V_WHOLE && view < V_NRRD)
		return view_whole[view - V_WHOLE];
	return NULL;
}

static struct cache_key content_key(const struct object *o, uint8_t view,
				    uint32_t index, uint64_t block)
{
	return (struct cache_key){
		hash_mix(o->serial << 8 | view, 0x636f6e74656e74),
		hash_mix(index, block),
	};
}

struct render_arg {
	const struct view_ops *ops;
	const struct view_source *src;
	uint64_t index, block;
};

static int render_block(void *arg, struct blob **ret_blob)
{
	struct render_arg *a = arg;

	return a->ops->render(a->src, a->index, a->block, ret_blob);
}

static int get_block(struct ns *ns, struct object *o, uint8_t view,
		     struct render_arg *a, bool keep, struct blob **ret_blob)
{
	if (!keep)
		return render_block(a, ret_blob);
	return cache_get(ns->cache,
			 content_key(o, view, (uint32_t)a->index, a->block),
			 render_block, a, ret_blob);
}

/* ---- measuring ---- */

/* Ends of a whole file's blocks; made once and kept with the state. */
static int measure_blocks(struct ns *ns, struct state *st, uint8_t view,
			  struct render_arg *a)
{
	struct size_index *ix = &st->sizes[view - V_WHOLE];
	uint64_t n, end = 0, bytes;
	uint64_t *ends;

	if (ix->ends)
		return 0;
	if (!a->ops->accepts(a->src)) /* listed, but beyond the view's limits */
		return -EFBIG;
	n = a->ops->blocks(a->src, 0);
	if (mul_overflow(n, sizeof(*ends), &bytes) || bytes > 1u << 30)
		return -EFBIG;
	ends = malloc(bytes + 1);
	if (!ends)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		CLEANUP(blob_unrefp) struct blob *b = NULL;
		int r;

		a->block = i;
		r = get_block(ns, st->object, view, a, true, &b);
		if (r < 0) {
			free(ends);
			return r;
		}
		end += b->size;
		ends[i] = end;
	}
	ix->nblocks = n;
	ix->ends = ends;
	return 0;
}

static int measured_size(struct ns *ns, struct state *st, uint8_t view,
			 struct render_arg *a, uint64_t *ret_size)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	int r;

	if (view >= V_WHOLE && view < V_NRRD) {
		struct size_index *ix = &st->sizes[view - V_WHOLE];
		LOCK_SCOPE(&st->slow);

		r = measure_blocks(ns, st, view, a);
		if (r == 0)
			*ret_size = ix->nblocks ? ix->ends[ix->nblocks - 1] : 0;
		return r;
	}
	r = get_block(ns, st->object, view, a, true, &b);
	if (r == 0)
		*ret_size = b->size;
	return r;
}

/* The source for one of a dataset's views. -ENOENT: it has no such view. */
static int view_source_get(struct ns *ns, struct object *o,
			   const struct view_ops *ops, bool with_norm,
			   struct state_ref *ref, struct view_source *ret_src)
{
	int r = ops ? state_get(ns, o, &ref->st) : -ENOENT;

	if (r < 0)
		return r;
	if (ops == &view_nrrd)
		state_spacing(ref->st);
	return state_source(ref->st, with_norm, ret_src);
}

int content_size(struct ns *ns, struct object *o, uint8_t view, uint32_t index,
		 bool measure, uint64_t *ret_size)
{
	const struct view_ops *ops = node_ops(o, view);
	struct render_arg a = { .ops = ops, .index = index };
	struct view_source src;
	STATE_REF(ref, ns);
	int r = view_source_get(ns, o, ops, false, &ref, &src);

	if (r < 0)
		return r;
	a.src = &src;
	r = ops->size ? ops->size(&src, index, ret_size) : -EAGAIN;
	if (r != -EAGAIN || !measure)
		return r;
	/* the norm was missing, or it has to be rendered */
	r = state_source(ref.st, true, &src);
	if (r < 0)
		return r;
	r = ops->size ? ops->size(&src, index, ret_size) : -EAGAIN;
	if (r != -EAGAIN || !ops->render)
		return r == -EAGAIN ? -EIO : r;
	return measured_size(ns, ref.st, view, &a, ret_size);
}

/* Extension of an encoded sample by its own bytes, which stay in the cache: who
 * looks a sample up asks for its size, and reads it. */
int content_ext(struct ns *ns, struct object *o, uint32_t index,
		const char **ret_ext)
{
	struct render_arg a = { .ops = &view_encoded, .index = index };
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct view_source src;
	STATE_REF(ref, ns);
	int r = source_get(ns, o, false, &ref, &src);
	if (r < 0)
		return r;
	a.src = &src;
	r = get_block(ns, o, V_SAMPLE, &a, true, &b);
	if (r < 0)
		return r;
	*ret_ext = layout_magic(b->data, b->size, b->size);
	if (!*ret_ext)
		*ret_ext = "";
	return 0;
}

/* ---- reading ---- */

static int give(struct blob *b, uint64_t offset, size_t size,
		struct ns_bytes *ret)
{
	uint64_t left = offset < b->size ? b->size - offset : 0;

	ret->data = b->data + (left ? offset : 0);
	ret->size = size < left ? size : (size_t)left;
	ret->owner = b;
	return 0;
}

/* How much of a request lies inside the file. */
static size_t clip_size(uint64_t total, uint64_t offset, size_t size)
{
	if (offset >= total)
		return 0;
	return size < total - offset ? size : (size_t)(total - offset);
}

static int read_ranged(const struct view_source *src,
		       const struct view_ops *ops, uint32_t index,
		       uint64_t offset, size_t size, struct ns_bytes *ret)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t total;
	int r = ops->size(src, index, &total);

	if (r < 0)
		return r;
	size = clip_size(total, offset, size);
	r = blob_new(size, &b);
	if (r == 0 && size)
		r = ops->read(src, index, offset, size, b->data);
	return r < 0 ? r : give(TAKE(b), 0, size, ret);
}

/* Bytes of a measured whole file: they may lie in several blocks. */
static int read_blocks(struct ns *ns, struct state *st, uint8_t view,
		       struct render_arg *a, uint64_t offset, size_t size,
		       struct ns_bytes *ret)
{
	struct size_index *ix = &st->sizes[view - V_WHOLE];
	CLEANUP(blob_unrefp) struct blob *out = NULL;
	uint64_t lo = 0, hi, total;
	size_t done = 0;
	int r;

	{
		LOCK_SCOPE(&st->slow);
		r = measure_blocks(ns, st, view, a);
	}
	if (r < 0)
		return r;
	total = ix->nblocks ? ix->ends[ix->nblocks - 1] : 0;
	size = clip_size(total, offset, size);
	/* the first block that ends past offset */
	for (hi = ix->nblocks; lo < hi;) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (ix->ends[mid] > offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	r = blob_new(size, &out);
	while (r == 0 && done < size) {
		CLEANUP(blob_unrefp) struct blob *b = NULL;
		uint64_t at = offset + done - (lo ? ix->ends[lo - 1] : 0);
		size_t n;

		a->block = lo++;
		r = get_block(ns, st->object, view, a, true, &b);
		if (r < 0)
			break;
		if (at > b->size)
			r = -EIO;
		n = r < 0 ? 0 : b->size - (size_t)at;
		if (n > size - done)
			n = size - done;
		memcpy(out->data + done, b->data + at, n);
		done += n;
		if (n == 0 && r == 0 && lo >= ix->nblocks)
			r = -EIO;
	}
	return r < 0 ? r : give(TAKE(out), 0, size, ret);
}

static int read_rendered(struct ns *ns, struct state *st, uint8_t view,
			 struct render_arg *a, uint64_t offset, size_t size,
			 struct ns_bytes *ret)
{
	struct blob *b = NULL;
	uint64_t total = CACHE_FROM + 1;
	int r;

	if (view >= V_WHOLE && view < V_NRRD && a->ops->blocks(a->src, 0) != 1)
		return read_blocks(ns, st, view, a, offset, size, ret);
	if (a->ops->size)
		(void)a->ops->size(a->src, a->index, &total);
	r = get_block(ns, st->object, view, a, total > CACHE_FROM, &b);
	return r < 0 ? r : give(b, offset, size, ret);
}

static int read_dataset(struct ns *ns, struct object *o, uint8_t view,
			uint32_t index, uint64_t offset, size_t size,
			struct ns_bytes *ret)
{
	const struct view_ops *ops = node_ops(o, view);
	struct render_arg a = { .ops = ops, .index = index };
	struct view_source src;
	STATE_REF(ref, ns);
	int r = view_source_get(ns, o, ops, ops == &view_png, &ref, &src);

	if (r < 0)
		return r;
	a.src = &src;
	if (ops->read)
		return read_ranged(&src, ops, index, offset, size, ret);
	return read_rendered(ns, ref.st, view, &a, offset, size, ret);
}

static int read_slice(struct ns *ns, struct ephemeral *e, uint64_t offset,
		      size_t size, struct ns_bytes *ret)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct view_source src;
	STATE_REF(ref, ns);
	uint64_t total;
	int r = source_get(ns, e->object, false, &ref, &src);

	if (r == 0)
		r = slice_size(&src, &e->slice, &total);
	if (r < 0)
		return r;
	size = clip_size(total, offset, size);
	r = blob_new(size, &b);
	if (r == 0 && size)
		r = slice_read(&src, &e->slice, offset, size, b->data);
	return r < 0 ? r : give(TAKE(b), 0, size, ret);
}

int content_attr(const struct object *o, uint32_t index, struct blob **ret_text)
{
	struct strbuf text = STRBUF_INIT;
	CLEANUP(array_freep) struct array *a = NULL;
	struct attr_list l;
	int r = store_attrs(o->gen->store, o->info.id, &l);

	if (r < 0)
		return r;
	r = index < l.count
		    ? store_attr(o->gen->store, o->info.id, l.names[index], &a)
		    : -ENOENT;
	attr_list_done(&l);
	if (r == 0)
		r = text_of_array(a, &text);
	if (r == 0)
		r = strbuf_to_blob(&text, ret_text);
	strbuf_done(&text);
	return r;
}

static int content_type(const struct object *o, struct blob **ret_text)
{
	struct strbuf text = STRBUF_INIT;
	CLEANUP(dtype_freep) struct dtype *t = NULL;
	int r = store_datatype(o->gen->store, o->info.id, &t);

	if (r == 0)
		r = text_of_datatype(t, &text);
	if (r == 0)
		r = strbuf_to_blob(&text, ret_text);
	strbuf_done(&text);
	return r;
}

/* The small texts that are made whole each time. */
static int small_text(struct ns *ns, const struct pin *p, struct blob **ret)
{
	switch (p->node.view) {
	case V_ATTR:
		return content_attr(p->object, p->node.index, ret);
	case V_TYPE:
		return content_type(p->object, ret);
	case V_CONTROL:
		return control_read(ns, p->node.index, ret, NULL);
	case V_PENDING:
		return pending_bytes(ns, p, ret);
	default:
		return -EISDIR;
	}
}

static int read_once(struct ns *ns, uint64_t ino, uint64_t offset, size_t size,
		     struct ns_bytes *ret_bytes)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	struct blob *b = NULL;
	int r = pin_get(ns, ino, &p);

	if (r < 0)
		return r;
	__atomic_fetch_add(&ns->requests, 1, __ATOMIC_RELAXED);
	if (p.node.view != V_CONTROL) {
		r = store_fresh(p.gen->store);
		if (r < 0)
			return r;
	}
	if (size > MAX_READ)
		size = MAX_READ;
	if (p.node.view == V_STAGED || p.node.view == V_DRAFT)
		return staged_read(ns, &p, offset, size, ret_bytes);
	if (p.node.view == V_SLICE) {
		pthread_rwlock_rdlock(&ns->tables);
		struct ephemeral *e =
			eph_find(ns, p.node.object - NODE_EPHEMERAL);
		struct ephemeral copy = { 0 };

		if (e)
			copy = *e;
		copy.object = p.object; /* e's may be of a later generation */
		pthread_rwlock_unlock(&ns->tables);
		return e ? read_slice(ns, &copy, offset, size, ret_bytes)
			 : -ENOENT;
	}
	if (node_ops(p.object, p.node.view) &&
	    p.object->kind == OBJECT_DATASET) {
		r = read_dataset(ns, p.object, p.node.view, p.node.index,
				 offset, size, ret_bytes);
		return is_damage(r) ? -EIO : r;
	}
	r = small_text(ns, &p, &b);
	return r < 0 ? r : give(b, offset, size, ret_bytes);
}

int ns_read(struct ns *ns, uint64_t ino, uint64_t offset, size_t size,
	    struct ns_bytes *ret_bytes)
{
	unsigned tries = 0;
	int r;

	do
		r = read_once(ns, ino, offset, size, ret_bytes);
	while (ns_again(ns, r, &tries));
	return r;
}
