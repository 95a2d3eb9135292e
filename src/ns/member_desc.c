/* SPDX-License-Identifier: MIT */
/* member_desc.c - one member of a row set as the stage wants it: what a row of it
 * is, and by what rule a picture becomes that. */
#include <stdio.h>

#include "write_int.h"

static enum stage_role role_of(const struct object *o)
{
	const struct layout *l = o->layout;

	if (l->kind == LAYOUT_ENCODED)
		return STAGE_ENCODED;
	if (l->kind == LAYOUT_PICTURES)
		return l->nindex == 1 ? STAGE_PICTURE : STAGE_ROWS;
	return o->rank >= 3 ? STAGE_ROWS : STAGE_VALUE;
}

/* Elements that point are staged one a row: texts, and bytes. */
static bool can_be_staged(const struct dataset_info *in, enum stage_role role)
{
	const struct dtype *t = in->type;

	if (in->null || in->rank == 0)
		return false;
	if (t->class == DT_VLSTR)
		return in->rank == 1;
	if (t->class == DT_VLEN)
		return role == STAGE_ENCODED && in->rank == 1 &&
		       t->base->size == 1 && dtype_is_number(t->base);
	if (t->class == DT_OPAQUE)
		return role == STAGE_ENCODED && !t->unsupported;
	return dtype_is_plain(t);
}

/* The extension that the rows of an encoded set have, if they agree. */
static int encoded_ext(struct state *st, uint64_t rows, const char **ret_ext)
{
	const char *found = NULL, *ext;
	uint64_t looked = rows < 8 ? rows : 8;

	for (uint64_t i = 0; i < looked; i++) {
		/* the first ones, and the last */
		uint64_t at = i + 1 < looked ? i : rows - 1;
		int r = view_encoded_ext(&st->src, at, &ext);

		if (r < 0)
			return r;
		if (*ext && found && strcmp(ext, found) != 0)
			return 0;
		found = *ext ? ext : found;
	}
	*ret_ext = found;
	return 0;
}

/* Of an empty stack of integers the values are taken as they come; of floats
 * nobody can say how they are meant. */
static void assume_rule(struct norm *n)
{
	if (!n->empty || n->kind != NORM_INT_MINMAX)
		return;
	n->kind = NORM_INT_U8;
	n->bits = 8;
	n->empty = false;
}

static int describe_picture(struct object *o, struct state *st,
			    struct norm *norm, struct stage_member *m)
{
	int r = state_rule(st, norm);

	if (r < 0 && !is_damage(r))
		return r;
	if (r == 0) {
		assume_rule(norm);
		m->norm = norm;
	}
	m->desc = st->src.desc;
	m->layout = st->src.layout;
	m->shape = st->src.shape;
	m->mask = is_mask(o, st->src.desc) || st->src.desc->num == NUM_BOOL ||
		  st->src.desc->matlab_logical;
	if (st->src.layout->palette) {
		m->palette = st->src.palette;
		m->ncolours = st->src.ncolours;
	}
	return 0;
}

static int refuse_type(const struct stage_member *m, struct refusal *f)
{
	return refusal_set(f, -EOPNOTSUPP, "add rows with h5py",
			   "%s is in its row set, and its type can not be "
			   "copied in",
			   m->path);
}

int member_describe(struct object *o, unsigned axis, struct state *st,
		    struct norm *norm, struct stage_member *m,
		    struct refusal *f)
{
	const struct dataset_info *in = dset_info(st->dset);
	int r = 0;

	m->path = object_path(o);
	m->name = strdup(o->name);
	if (!m->path || !m->name)
		return -ENOMEM;
	if (o->info.id.file != 0)
		return refusal_set(f, -EOPNOTSUPP, "mount that file",
				   "%s lies in another file", m->path);
	m->role = role_of(o);
	m->axis = axis;
	m->rank = in->rank;
	memcpy(m->dims, in->dims, sizeof(m->dims));
	m->type = in->type;
	if (in->storage == STORAGE_CHUNKED)
		m->chunk_rows = in->chunk[axis];
	if (!can_be_staged(in, m->role))
		return refuse_type(m, f);
	if (m->role == STAGE_PICTURE)
		r = describe_picture(o, st, norm, m);
	else if (m->role == STAGE_ENCODED)
		r = encoded_ext(st, o->rows, &m->encoded);
	return r;
}

void member_desc_done(struct member_desc *d)
{
	free(d->m.path);
	free(d->m.name);
	if (d->st)
		state_put(d->ns, d->st);
	memset(d, 0, sizeof(*d));
}

int member_desc_of(struct ns *ns, struct object *o, struct member_desc *ret,
		   struct refusal *f)
{
	const struct layout *l = o->layout;
	unsigned axis =
		l->kind == LAYOUT_PICTURES && l->nindex ? l->index[0] : 0;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->ns = ns;
	r = state_get(ns, o, &ret->st);
	return r < 0 ? r
		     : member_describe(o, axis, ret->st, &ret->norm, &ret->m,
				       f);
}
