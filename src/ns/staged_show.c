/* SPDX-License-Identifier: MIT */
/* staged_show.c - a staged file is seen and read back as what will be committed;
 * one that is held back, or has no verdict yet, as what was written. */
#include <stdio.h>

#include "write_int.h"

/* ---- of a row ---- */

struct shown {
	struct ns *ns;
	struct pin p; /* the member's dataset */
	struct stage_file file;
	struct state *st;
	struct view_source src;
	struct norm norm;
	unsigned axis;
};

static void shown_done(struct shown *s)
{
	if (s->st)
		state_put(s->ns, s->st);
	stage_file_done(&s->file);
	pin_done(&s->p);
}

static unsigned axis_of(const struct object *o)
{
	const struct layout *l = o->layout;

	return l->kind == LAYOUT_PICTURES && l->nindex ? l->index[0] : 0;
}

/* Of an empty set the mount knows no rule; the one its rows are staged by is. */
static int find_rule(struct shown *s)
{
	CLEANUP(set_putp) struct set_ref *set = NULL;
	struct refusal f = { 0 };
	int r;

	if (s->src.norm && !s->src.norm->empty)
		return 0;
	r = set_get(s->ns, s->p.object, &set, &f);
	refusal_done(&f);
	if (r < 0)
		return r;
	s->norm = set->d.norms[set->d.member];
	s->src.norm = &s->norm;
	return 0;
}

static int shown_of(struct ns *ns, const char *dir, const char *name,
		    struct shown *s)
{
	int r = stage_find(ns->stage, dir, name, &s->file);

	s->ns = ns;
	if (r == 0)
		r = pin_path(ns, s->file.member, &s->p);
	if (r == 0)
		r = state_get(ns, s->p.object, &s->st);
	if (r == 0)
		r = state_source(s->st, false, &s->src);
	if (r == 0)
		s->axis = axis_of(s->p.object);
	return r;
}

static bool is_picture(const struct shown *s)
{
	return !s->file.npy && s->src.layout->kind == LAYOUT_PICTURES &&
	       s->src.layout->nindex == 1;
}

/* A row's shape, and one axis more of a batch. */
static unsigned npy_shape(const struct shown *s, uint64_t *dims)
{
	const struct dataset_info *in = dset_info(s->src.dset);
	unsigned rank = 0;

	if (s->file.batch && s->axis == 0)
		dims[rank++] = s->file.nrows;
	for (unsigned i = 0; i < in->rank; i++)
		if (i != s->axis)
			dims[rank++] = in->dims[i];
	return rank;
}

static int size_of(struct shown *s, uint64_t *ret_size)
{
	uint64_t dims[DT_MAX_RANK];
	int r;

	if (is_picture(s)) {
		r = view_png.size(&s->src, 0, ret_size);
		if (r != -EAGAIN)
			return r;
		r = state_source(s->st, true, &s->src);
		if (r == 0)
			r = find_rule(s);
		return r < 0 ? r : view_png.size(&s->src, 0, ret_size);
	}
	if (s->file.npy && dtype_is_plain(dset_info(s->src.dset)->type))
		return npy_size_of_elements(dset_info(s->src.dset)->type,
					    npy_shape(s, dims), dims,
					    s->file.size, ret_size);
	return -EAGAIN;
}

/* The padding behind a file in room of a fixed size is not its own. */
static int trim(struct blob *row, struct blob **ret_bytes)
{
	const char *ext = layout_magic(
		row->data, row->size < 32 ? row->size : 32, row->size);

	return blob_from(row->data,
			 ext ? layout_trim(row->data, row->size, ext)
			     : row->size,
			 ret_bytes);
}

static int bytes_of(struct shown *s, struct blob *row, struct blob **ret_bytes)
{
	const struct dtype *t = dset_info(s->src.dset)->type;
	uint64_t dims[DT_MAX_RANK];
	int r;

	if (s->file.npy && dtype_is_plain(t))
		return npy_of_elements(t, npy_shape(s, dims), dims, row->data,
				       row->size, ret_bytes);
	if (!is_picture(s))
		return trim(row, ret_bytes);
	r = state_source(s->st, true, &s->src);
	if (r == 0)
		r = find_rule(s);
	return r < 0 ? r : view_png_row(&s->src, s->axis, row->data, ret_bytes);
}

static int row_bytes(struct ns *ns, const struct place_name *pn,
		     struct blob **ret_bytes)
{
	CLEANUP(shown_done) struct shown s = { 0 };
	CLEANUP(blob_unrefp) struct blob *row = NULL;
	int r = shown_of(ns, pn->dir, pn->name, &s);

	if (r == 0)
		r = stage_read(ns->stage, pn->dir, pn->name, &row);
	return r < 0 ? r : bytes_of(&s, row, ret_bytes);
}

static int row_size(struct ns *ns, const struct place_name *pn,
		    uint64_t *ret_size, struct timespec *ret_mtime)
{
	CLEANUP(shown_done) struct shown s = { 0 };
	CLEANUP(blob_unrefp) struct blob *bytes = NULL;
	int r = shown_of(ns, pn->dir, pn->name, &s);

	if (r < 0)
		return r;
	*ret_mtime = s.file.mtime;
	r = size_of(&s, ret_size);
	if (r != -EAGAIN)
		return r;
	r = row_bytes(ns, pn, &bytes);
	if (r == 0)
		*ret_size = bytes->size;
	return r;
}

/* ---- of a file ---- */

/* What is written is seen until it is judged; NULL: look at the row. Locked. */
struct open_file *staged_seen(struct ns *ns, const struct place_name *pn)
{
	struct open_file *f = open_file_find(ns, pn->dir, pn->name);

	if (!f)
		return NULL;
	pthread_mutex_lock(&f->lock);
	if (open_file_is_seen(f))
		return f;
	pthread_mutex_unlock(&f->lock);
	open_file_put(ns, f);
	return NULL;
}

void staged_unsee(struct ns *ns, struct open_file *f)
{
	pthread_mutex_unlock(&f->lock);
	open_file_put(ns, f);
}

int open_file_read(struct open_file *f, uint64_t offset, size_t n,
		   struct ns_bytes *ret)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t size = draft_size(f->draft);
	ssize_t got;
	int r;

	if (n > size - (offset < size ? offset : size))
		n = (size_t)(size - (offset < size ? offset : size));
	r = blob_new(n, &b);
	if (r < 0)
		return r;
	got = draft_read(f->draft, b->data, n, offset);
	if (got < 0)
		return (int)got;
	*ret = (struct ns_bytes){ b->data, (size_t)got, b };
	b = NULL;
	return 0;
}

/* It was committed, or dropped. The kernel is to look the name up again, when what
 * became of it can be found. */
int staged_gone(struct ns *ns, int r)
{
	if (r != -ENOENT)
		return r;
	pthread_mutex_lock(&ns->commit);
	pthread_mutex_unlock(&ns->commit);
	return -ESTALE;
}

/* Who has it open goes on with the row that it became. */
static int committed_as(struct ns *ns, const struct pin *p,
			const struct place_name *pn, struct node *ret)
{
	uint32_t row;

	if (p->node.view != V_STAGED ||
	    committed_find(ns, pn->dir, pn->name, &row) < 0 ||
	    row >= pn->object->count)
		return staged_gone(ns, -ENOENT);
	*ret = (struct node){ pn->object->number, V_SAMPLE, row };
	return 0;
}

static int give(struct blob *b, uint64_t offset, size_t n, struct ns_bytes *ret)
{
	uint64_t left = offset < b->size ? b->size - offset : 0;

	ret->data = b->data + (left ? offset : 0);
	ret->size = n < left ? n : (size_t)left;
	ret->owner = b;
	return 0;
}

int staged_whole(struct ns *ns, const struct place_name *pn,
		 struct blob **ret_bytes)
{
	return row_bytes(ns, pn, ret_bytes);
}

int staged_read(struct ns *ns, const struct pin *p, uint64_t offset, size_t n,
		struct ns_bytes *ret)
{
	CLEANUP(place_name_done) struct place_name pn = { 0 };
	struct blob *b = NULL;
	struct open_file *f;
	struct node node;
	int r = place_name_of(ns, p, &pn);

	if (r < 0)
		return r;
	f = staged_seen(ns, &pn);
	if (f) {
		r = open_file_read(f, offset, n, ret);
		staged_unsee(ns, f);
		return r;
	}
	r = p->node.view == V_STAGED ? row_bytes(ns, &pn, &b) : -ENOENT;
	if (r == -ENOENT) {
		r = committed_as(ns, p, &pn, &node);
		return r < 0 ? r : ns_read(ns, node_ino(node), offset, n, ret);
	}
	return r < 0 ? r : give(b, offset, n, ret);
}

uint64_t staged_ino(uint64_t dir, const char *sub, const char *name)
{
	uint64_t in = sub ? hash_bytes(sub, strlen(sub), 7) : 7;

	return hash_mix(dir, hash_bytes(name, strlen(name), in));
}

int staged_stat(struct ns *ns, const struct pin *p, struct stat *ret_st)
{
	CLEANUP(place_name_done) struct place_name pn = { 0 };
	struct timespec mtime = { 0 };
	struct open_file *f;
	uint64_t size = 0;
	struct node node;
	int r = place_name_of(ns, p, &pn);

	if (r < 0)
		return r;
	f = staged_seen(ns, &pn);
	if (f) {
		size = draft_size(f->draft);
		staged_unsee(ns, f);
		clock_gettime(CLOCK_REALTIME, &mtime);
	} else {
		r = p->node.view == V_STAGED ? row_size(ns, &pn, &size, &mtime)
					     : -ENOENT;
	}
	if (r == -ENOENT) {
		r = committed_as(ns, p, &pn, &node);
		if (r == 0)
			r = content_size(ns, pn.object, V_SAMPLE, node.index,
					 true, &size);
	}
	if (r < 0)
		return r;
	stat_fill(ns, pn.object, p->node.view, 0, S_IFREG, size, ret_st);
	ret_st->st_nlink = 1;
	if (!mtime.tv_sec)
		mtime = ret_st->st_mtim;
	ret_st->st_mtim = ret_st->st_ctim = ret_st->st_atim = mtime;
	ret_st->st_ino = staged_ino(ret_st->st_ino, pn.sub, pn.name);
	return 0;
}
