/* SPDX-License-Identifier: MIT */
/* layout_desc.c - plain descriptions: facts, element types (T1..T5), shapes. */
#include <stdio.h>
#include <strings.h>

#include "image_int.h"

/* PNG's limit: 2^31-1. */
#define PICTURE_MAX_SIDE 0x7fffffffu

const char *const layout_dataset_facts[] = {
	"h5fs.layout",
	"h5fs.norm",
	"h5fs.range",
	"CLASS",
	"IMAGE_SUBCLASS",
	"INTERLACE_MODE",
	"PALETTE",
	"IMAGE_WHITE_IS_ZERO",
	"IMAGE_MINMAXRANGE",
	"DISPLAY_ORIGIN",
	"axistags",
	"DIMENSION_LABELS",
	"_ARRAY_DIMENSIONS",
	"axes",
	"dims",
	"dimension_order",
	"data_format",
	"dataformat",
	"layout",
	"image_layout",
	"interpretation",
	"neurodata_type",
	"MATLAB_class",
	"MATLAB_empty",
	"_FillValue",
	"valid_range",
	"valid_min",
	"valid_max",
	"drange",
	"_Unsigned",
	"DIMENSION_LIST",
	NULL,
};
/* The first five are asked for presence alone: they may be large. */
static const char *const model_facts[] = {
	"model_config",	 "layer_names",	 "layer_names0",
	"keras_version", "weight_names",
};
const char *const layout_group_facts[] = {
	"model_config",
	"layer_names",
	"layer_names0",
	"keras_version",
	"weight_names",
	"neurodata_type",
	"NX_class",
	"ImageSizeX",
	"ImageSizeY",
	"ImageSizeZ",
	"macros_image_convention",
	NULL,
};

void facts_done(struct facts *f)
{
	for (size_t i = 0; f->facts && i < f->count; i++) {
		struct fact *a = &f->facts[i];

		for (size_t k = 0; a->texts && k < a->ntexts; k++)
			free(a->texts[k]);
		free(a->texts);
		free(a->nums);
		free(a->name);
	}
	free(f->facts);
	*f = (struct facts){ 0 };
}

const struct fact *facts_find(const struct facts *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->facts[i].name, name))
			return &f->facts[i];
	return NULL;
}

const char *facts_text(const struct facts *f, const char *name)
{
	const struct fact *a = facts_find(f, name);

	return a && a->ntexts == 1 ? a->texts[0] : NULL;
}

bool layout_is_model(const struct facts *root,
		     const struct facts *model_weights, bool has_dependencies)
{
	if (has_dependencies)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(model_facts); i++)
		if (facts_find(root, model_facts[i]) ||
		    (model_weights &&
		     facts_find(model_weights, model_facts[i])))
			return true;
	return false;
}

void desc_done(struct desc *d)
{
	free(d->name);
	free(d->path);
	facts_done(&d->facts);
	for (size_t i = 0; i < LAYOUT_MAX_RANK; i++)
		free(d->scale[i]);
	*d = (struct desc){ 0 };
}

/* Fills num, num_size, is_enum. False: not a real number. */
static bool set_number(struct desc *d, const struct dtype *t)
{
	bool is_enum = t->class == DT_ENUM;
	enum desc_num num;

	if (is_enum && t->base)
		t = t->base;
	switch (t->class) {
	case DT_BOOL:
		num = NUM_BOOL;
		break;
	case DT_UINT:
		num = NUM_UINT;
		break;
	case DT_INT:
		num = NUM_INT;
		break;
	case DT_FLOAT:
		num = NUM_FLOAT;
		break;
	default:
		return false;
	}
	d->num = num;
	d->num_size = t->size;
	d->is_enum = is_enum;
	d->kind = DESC_NUMBER;
	return true;
}

/* T2: an array of numbers lends its axes to the dataset. */
static bool set_array(struct desc *d, const struct dtype *t)
{
	unsigned rank = d->stored_rank;

	for (; t && t->class == DT_ARRAY; t = t->base)
		for (unsigned i = 0; i < t->rank; i++) {
			if (rank == LAYOUT_MAX_RANK)
				return false;
			d->dims[rank++] = t->dims[i];
		}
	if (!t || !set_number(d, t))
		return false;
	d->rank = rank;
	d->sub = SUB_ARRAY;
	return true;
}

static char channel_letter(const char *name)
{
	static const struct {
		const char *name;
		char letter;
	} names[] = {
		{ "r", 'r' }, { "red", 'r' },  { "g", 'g' }, { "green", 'g' },
		{ "b", 'b' }, { "blue", 'b' }, { "a", 'a' }, { "alpha", 'a' },
	};

	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (!strcasecmp(name, names[i].name))
			return names[i].letter;
	return 0;
}

/* T3: {r,g,b[,a]} of one number type is a channel axis. */
static bool set_compound(struct desc *d, const struct dtype *t)
{
	const struct dtype *first;

	if (t->nmembers < 3 || t->nmembers > 4 ||
	    d->stored_rank == LAYOUT_MAX_RANK)
		return false;
	first = t->members[0].type;
	for (unsigned i = 0; i < t->nmembers; i++) {
		const struct dtype_member *m = &t->members[i];

		if (channel_letter(m->name) != "rgba"[i] || !m->type ||
		    m->type->class != first->class ||
		    m->type->size != first->size || m->type->class == DT_ENUM)
			return false;
	}
	if (!set_number(d, first))
		return false;
	for (unsigned i = 0; i < t->nmembers; i++)
		d->sub_offset[i] = t->members[i].offset;
	d->dims[d->stored_rank] = t->nmembers;
	d->rank = d->stored_rank + 1;
	d->sub = SUB_COMPOUND;
	return true;
}

static bool is_byte(const struct dtype *t)
{
	return t && (t->class == DT_UINT || t->class == DT_INT) && t->size == 1;
}

int desc_set_type(struct desc *d, const struct dtype *type, bool null,
		  unsigned rank, const uint64_t *dims)
{
	if (rank > LAYOUT_MAX_RANK)
		return -EINVAL;
	d->kind = DESC_OTHER;
	d->sub = SUB_NONE;
	d->is_enum = d->vlen = false;
	d->num_size = 0;
	d->element_size = type->size;
	d->rank = d->stored_rank = null ? 0 : rank;
	for (unsigned i = 0; i < d->rank; i++)
		d->dims[i] = dims[i];
	if (null) {
		d->kind = DESC_NULL;
		return 0;
	}
	switch (type->class) {
	case DT_ARRAY:
		set_array(d, type);
		break;
	case DT_COMPOUND:
		set_compound(d, type);
		break;
	case DT_STRING:
	case DT_VLSTR:
		d->kind = DESC_STRING;
		break;
	case DT_OPAQUE:
		d->kind = DESC_BYTES;
		break;
	case DT_VLEN:
		d->vlen = is_byte(type->base);
		d->kind = d->vlen ? DESC_BYTES : DESC_OTHER;
		break;
	default:
		set_number(d, type);
		break;
	}
	return 0;
}

bool desc_is_uint(const struct desc *d, unsigned size)
{
	return d->num == NUM_UINT && d->num_size == size;
}

bool desc_is_u8(const struct desc *d)
{
	return d->num == NUM_BOOL || desc_is_uint(d, 1);
}

bool desc_is_integer(const struct desc *d)
{
	return d->num == NUM_UINT || d->num == NUM_INT;
}

bool desc_is_float(const struct desc *d)
{
	return d->num == NUM_FLOAT;
}

static uint64_t layout_dim(const struct layout *l, const struct desc *d,
			   unsigned axis)
{
	uint64_t n = d->dims[axis];

	return l->crop[axis] ? min_u64(n, l->crop[axis]) : n;
}

static int picture_size(const struct layout *l, const struct desc *d,
			struct layout_shape *s)
{
	uint64_t h, w, c = 1;

	if (l->x < 0 || (unsigned)l->x >= d->rank ||
	    (!l->flat_h && (l->y < 0 || (unsigned)l->y >= d->rank)) ||
	    l->c >= (int)d->rank)
		return -EINVAL;
	if (l->flat_h) {
		h = l->transposed ? l->flat_w : l->flat_h;
		w = l->transposed ? l->flat_h : l->flat_w;
		c = l->flat_c;
	} else {
		h = layout_dim(l, d, (unsigned)l->y);
		w = layout_dim(l, d, (unsigned)l->x);
		if (l->c >= 0)
			c = layout_dim(l, d, (unsigned)l->c);
	}
	if (l->nbands)
		c = l->nbands;
	if (!h || !w || !c || c > 4 || h > PICTURE_MAX_SIDE ||
	    w > PICTURE_MAX_SIDE)
		return -EOVERFLOW;
	s->height = (uint32_t)h;
	s->width = (uint32_t)w;
	s->channels = (uint32_t)c;
	return 0;
}

int layout_shape(const struct layout *l, const struct desc *d,
		 struct layout_shape *ret_shape)
{
	struct layout_shape s = { .count = 1 };
	int r;

	if (l->kind == LAYOUT_NONE)
		return -EINVAL;
	if (l->kind == LAYOUT_PICTURES) {
		r = picture_size(l, d, &s);
		if (r < 0)
			return r;
	}
	for (unsigned i = 0; i < l->nindex; i++) {
		if (l->index[i] >= d->rank)
			return -EINVAL;
		s.index_dims[i] = layout_dim(l, d, l->index[i]);
		if (mul_overflow(s.count, s.index_dims[i], &s.count))
			return -EOVERFLOW;
	}
	*ret_shape = s;
	return 0;
}
