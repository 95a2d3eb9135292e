/* SPDX-License-Identifier: MIT */
/* state.c - what is open of a dataset while it is in use: its handle, its
 * source for the views, its norm, its class folders, sizes that were measured.
 * Bounded: the least recently used are dropped, and made again when needed. */
#include <math.h>
#include <stdio.h>

#include "ns_int.h"

#define MAX_IDLE_STATES 1024

static void state_free(struct state *st)
{
	if (!st)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(st->sizes); i++)
		free(st->sizes[i].ends);
	classes_free(st->classes);
	blob_unref(st->name_order);
	if (st->own_desc) {
		desc_done(st->own_desc);
		free(st->own_desc);
	}
	dset_unref(st->dset);
	class_names_free(st->class_names);
	pthread_mutex_destroy(&st->lock);
	pthread_mutex_destroy(&st->slow);
	free(st);
}
DEFINE_CLEANUP(struct state *, state_free)

/* ---- building ---- */

static enum matlab_class matlab_class(const struct facts *f)
{
	const char *c = facts_text(f, "MATLAB_class");

	if (!c)
		return MATLAB_NONE;
	if (!strcmp(c, "char"))
		return MATLAB_CHAR;
	if (!strcmp(c, "cell"))
		return MATLAB_CELL;
	if (!strcmp(c, "logical"))
		return MATLAB_LOGICAL;
	if (!strncmp(c, "int", 3) || !strncmp(c, "uint", 4) ||
	    !strcmp(c, "single") || !strcmp(c, "double"))
		return MATLAB_NUMBER;
	return MATLAB_OTHER;
}

/* Voxel spacing in C order, by the names in use. */
static void take_spacing(struct object *o, struct view_source *src)
{
	/* only .nrrd tells it, so it is read when that is asked for */
	static const char *const names[] = { "spacing",	   "element_size_um",
					     "resolution", "voxel_size",
					     "voxelsize",  "pixel_spacing",
					     NULL };
	const struct dataset_info *in = dset_info(src->dset);
	struct facts f = { 0 };

	if (in->rank < 3 || in->rank > 4 ||
	    facts_load(o->gen, o, names, &f, NULL) < 0)
		return;
	for (size_t i = 0; names[i]; i++) {
		const struct fact *a = facts_find(&f, names[i]);

		if (!a || a->nnums < 1 || a->nnums > in->rank)
			continue;
		src->nspacing = (unsigned)a->nnums;
		for (size_t k = 0; k < a->nnums; k++)
			src->spacing[k] = a->nums[k];
		break;
	}
	facts_done(&f);
}

static int follow_path(void *arg, const char *path, struct dset **ret_dset)
{
	struct object *o = arg;
	struct obj_info info;
	int r = store_resolve(o->gen->store, o->gen->root->info.id, path,
			      &info);

	if (r < 0)
		return r;
	if (info.kind != OBJ_DATASET)
		return -EINVAL;
	return dset_open(o->gen->store, info.id, path, ret_dset);
}

static void tell_clipped(void *arg, uint64_t index)
{
	struct object *o = arg;
	CLEANUP(freep) char *path = object_path(o);

	(void)index;
	if (path)
		(void)faults_add(
			o->gen->faults, path,
			"values beyond those that a probe of the dataset "
			"found are cut",
			"give the range: -o "
			"range=PATH:MIN:MAX");
}

/* The colour of class i, as PASCAL VOC draws masks: the bits of i, three at a
 * time, become the high bits of R, G and B. */
static void voc_palette(uint8_t *p)
{
	for (unsigned i = 0; i < 256; i++) {
		unsigned c = i, rgb[3] = { 0 };

		for (int j = 7; j >= 0; j--, c >>= 3)
			for (unsigned k = 0; k < 3; k++)
				rgb[k] |= (c >> k & 1) << j;
		for (unsigned k = 0; k < 3; k++)
			p[3 * i + k] = (uint8_t)rgb[k];
	}
}

static int load_palette(struct object *o, struct state *st)
{
	const char *path = facts_text(&st->src.desc->facts, "PALETTE");
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	uint64_t zero[2] = { 0 };
	const struct dataset_info *in;
	int r = path ? follow_path(o, path, &d) : -ENOENT;

	if (r < 0)
		return r;
	in = dset_info(d);
	if (in->rank != 2 || in->dims[0] == 0 || in->dims[0] > 256 ||
	    in->dims[1] != 3 || in->type->class != DT_UINT ||
	    in->type->size != 1)
		return -EINVAL;
	r = dset_read(d, zero, in->dims, NULL, st->palette);
	if (r < 0)
		return r;
	st->src.palette = st->palette;
	st->src.ncolours = (unsigned)in->dims[0];
	return 0;
}

bool is_mask(const struct object *o, const struct desc *d)
{
	return o->layout->companion || d->is_enum ||
	       layout_is_mask_name(o->name);
}

static void set_palette(struct ns *ns, struct object *o, struct state *st)
{
	const struct layout *l = st->src.layout;

	if (l->kind != LAYOUT_PICTURES)
		return;
	if (l->palette && load_palette(o, st) == 0)
		return;
	if (ns->opts.masks_palette && is_mask(o, st->src.desc) &&
	    st->src.desc->num != NUM_FLOAT && st->src.desc->num != NUM_BOOL &&
	    st->src.desc->num_size == 1 && st->src.shape.channels == 1) {
		voc_palette(st->palette);
		st->src.palette = st->palette;
		st->src.ncolours = 256;
	}
}

static int build(struct ns *ns, struct object *o, struct state **ret_state)
{
	CLEANUP(state_freep) struct state *st = calloc(1, sizeof(*st));
	struct view_source *src;
	int r;

	if (!st)
		return -ENOMEM;
	pthread_mutex_init(&st->lock, NULL);
	pthread_mutex_init(&st->slow, NULL);
	st->object = o;
	st->refs = 1;
	src = &st->src;
	r = open_dataset(o, &st->dset);
	if (r < 0)
		return r;
	src->dset = st->dset;
	src->store = o->gen->store;
	/* a large group gives its descriptions back once it is listed */
	src->desc = o->parent && o->parent->group->dg_kept ? o->desc : NULL;
	if (!src->desc) {
		st->own_desc = calloc(1, sizeof(*st->own_desc));
		r = st->own_desc
			    ? describe_dataset(o, st->dset, st->own_desc, NULL)
			    : -ENOMEM;
		if (r < 0) {
			free(st->own_desc);
			st->own_desc = NULL;
			return r;
		}
		src->desc = st->own_desc;
	}
	src->layout = o->layout ? o->layout : &st->no_layout;
	if (src->layout->kind == LAYOUT_PICTURES)
		r = layout_shape(src->layout, src->desc, &src->shape);
	else if (src->layout->kind == LAYOUT_ENCODED)
		src->shape.count = o->count;
	if (r < 0)
		return r;
	src->matlab = matlab_class(&src->desc->facts);
	src->matlab_empty = facts_find(&src->desc->facts, "MATLAB_empty");
	src->sample_row = o->row_files;
	src->eight_bits = ns->opts.view == NS_CLASSES;
	src->follow = follow_path;
	src->clipped = tell_clipped;
	src->arg = o;
	set_palette(ns, o, st);
	*ret_state = TAKE(st);
	return 0;
}

/* ---- the table ---- */

static void unlink_state(struct ns *ns, struct state *st)
{
	if (st->prev)
		st->prev->next = st->next;
	else
		ns->newest = st->next;
	if (st->next)
		st->next->prev = st->prev;
	else
		ns->oldest = st->prev;
	st->prev = st->next = NULL;
}

static void push_state(struct ns *ns, struct state *st)
{
	st->next = ns->newest;
	if (ns->newest)
		ns->newest->prev = st;
	ns->newest = st;
	if (!ns->oldest)
		ns->oldest = st;
}

/* The oldest that nobody uses, taken out of the table. */
static struct state *pick_victim(struct ns *ns)
{
	if (ns->nstates <= MAX_IDLE_STATES)
		return NULL;
	for (struct state *st = ns->oldest; st; st = st->prev)
		if (st->refs == 0) {
			unlink_state(ns, st);
			st->object->state = NULL;
			ns->nstates--;
			return st;
		}
	return NULL;
}

int state_get(struct ns *ns, struct object *o, struct state **ret_state)
{
	struct state *fresh = NULL, *victim = NULL, *st;
	int r;

	pthread_mutex_lock(&ns->states);
	st = o->state;
	if (st) {
		st->refs++;
		st->hot = true;
		unlink_state(ns, st);
		push_state(ns, st);
	}
	pthread_mutex_unlock(&ns->states);
	if (st) {
		*ret_state = st;
		return 0;
	}
	r = build(ns, o, &fresh);
	if (r < 0)
		return r;
	pthread_mutex_lock(&ns->states);
	if (o->state) { /* another was faster */
		victim = fresh;
		st = o->state;
		st->refs++;
	} else {
		st = o->state = fresh;
		push_state(ns, st);
		ns->nstates++;
		victim = pick_victim(ns);
	}
	pthread_mutex_unlock(&ns->states);
	state_free(victim);
	*ret_state = st;
	return 0;
}

void state_put(struct ns *ns, struct state *st)
{
	pthread_mutex_lock(&ns->states);
	st->refs--;
	pthread_mutex_unlock(&ns->states);
}

void state_cool(struct ns *ns, struct state *st)
{
	pthread_mutex_lock(&ns->states);
	if (!st->hot && st != ns->oldest) {
		unlink_state(ns, st);
		st->prev = ns->oldest;
		if (ns->oldest)
			ns->oldest->next = st;
		else
			ns->newest = st;
		ns->oldest = st;
	}
	pthread_mutex_unlock(&ns->states);
}

void states_drop(struct ns *ns, struct gen *gen)
{
	struct state *st, *next, *dead = NULL;

	pthread_mutex_lock(&ns->states);
	for (st = ns->newest; st; st = next) {
		next = st->next;
		if (st->object->gen != gen)
			continue;
		unlink_state(ns, st);
		st->object->state = NULL;
		ns->nstates--;
		st->next = dead;
		dead = st;
	}
	pthread_mutex_unlock(&ns->states);
	for (; dead; dead = next) {
		next = dead->next;
		state_free(dead);
	}
}

/* ---- norms ---- */

/* 16-bit pictures in 8 by the dataset's own range. */
static int narrow(struct state *st)
{
	struct layout_range range = { 0 };
	int r;

	if (st->norm.kind != NORM_U16 && st->norm.kind != NORM_INT_U16)
		return 0;
	r = ns_probe.range(st->object, st->src.desc, NULL, &range);
	if (r < 0 && r != -ENODATA)
		return r;
	st->norm.kind = NORM_RANGE;
	st->norm.lo = range.lo;
	st->norm.hi = range.hi > range.lo ? range.hi : range.lo + 1;
	st->norm.packed = st->src.layout->as_unsigned;
	st->norm.bits = 8;
	return 0;
}

static int decide_norm(struct state *st)
{
	int r;

	if (st->src.palette) {
		st->norm.kind = NORM_PALETTE;
		st->norm.bits = 8;
		return 0;
	}
	r = norm_decide(st->src.layout, st->src.desc, &ns_probe, &st->norm);
	if (r == 0 && st->src.eight_bits)
		r = narrow(st);
	return r;
}

void state_spacing(struct state *st)
{
	LOCK_SCOPE(&st->lock);

	if (!st->spacing_done)
		take_spacing(st->object, &st->src);
	st->spacing_done = true;
}

int state_source(struct state *st, bool with_norm, struct view_source *ret_src)
{
	bool pictures = st->src.layout->kind == LAYOUT_PICTURES;
	LOCK_SCOPE(&st->lock);

	if (pictures && !st->norm_done &&
	    (with_norm || st->src.palette ||
	     (!norm_needs_probe(st->src.layout, st->src.desc) &&
	      !st->src.eight_bits))) {
		st->norm_error = decide_norm(st);
		/* a fault of the moment is not remembered */
		st->norm_done =
			st->norm_error == 0 || is_damage(st->norm_error);
	}
	if (pictures && with_norm && st->norm_error < 0)
		return st->norm_error;
	*ret_src = st->src;
	ret_src->norm = st->norm_done && st->norm_error == 0 ? &st->norm : NULL;
	return 0;
}

int state_rule(struct state *st, struct norm *ret_norm)
{
	struct view_source src;
	int r;

	if (st->src.eight_bits || (st->src.palette && !st->src.layout->palette))
		return norm_decide(st->src.layout, st->src.desc, &ns_probe,
				   ret_norm);
	r = state_source(st, true, &src);
	if (r == 0)
		*ret_norm = *src.norm;
	return r;
}

int source_get(struct ns *ns, struct object *o, bool with_norm,
	       struct state_ref *ref, struct view_source *ret_src)
{
	int r = state_get(ns, o, &ref->st);

	return r < 0 ? r : state_source(ref->st, with_norm, ret_src);
}
