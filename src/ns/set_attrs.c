/* SPDX-License-Identifier: MIT */
/* set_attrs.c - what is stored with the first rows that are added to a set whose
 * pictures follow a rule that came from its values: the rule, so that it stays. */
#include "write_int.h"

void set_attrs_done(struct set_attrs *attrs)
{
	for (size_t i = 0; i < attrs->count; i++) {
		free((char *)attrs->attrs[i].path);
		array_free((struct array *)attrs->attrs[i].value);
	}
	free(attrs->attrs);
	memset(attrs, 0, sizeof(*attrs));
}

/* Takes the value, also when it fails. */
static int add(struct set_attrs *to, const char *path, const char *name,
	       struct array *value)
{
	struct stage_attr *grown =
		realloc(to->attrs, (to->count + 1) * sizeof(*grown));
	char *copy = strdup(path);

	if (grown)
		to->attrs = grown;
	if (!grown || !copy) {
		free(copy);
		array_free(value);
		return -ENOMEM;
	}
	grown[to->count++] = (struct stage_attr){ .path = copy,
						  .name = name,
						  .value = value };
	return 0;
}

static int text_array(const char *text, struct array **ret_array)
{
	CLEANUP(array_freep) struct array *a = calloc(1, sizeof(*a));
	char *copy;
	int r = a ? dtype_new(DT_VLSTR, sizeof(char *), &a->own_type) : -ENOMEM;

	if (r < 0)
		return r;
	a->own_type->utf8 = true;
	a->type = a->own_type;
	a->count = 1;
	r = arena_new(&a->arena);
	if (r < 0)
		return r;
	copy = arena_strdup(a->arena, text);
	r = copy ? blob_from(&copy, sizeof(copy), &a->data) : -ENOMEM;
	if (r == 0)
		*ret_array = TAKE(a);
	return r;
}

static int pair_array(double lo, double hi, struct array **ret_array)
{
	CLEANUP(array_freep) struct array *a = calloc(1, sizeof(*a));
	int r = a ? dtype_new(DT_FLOAT, sizeof(double), &a->own_type) : -ENOMEM;

	if (r < 0)
		return r;
	a->type = a->own_type;
	a->rank = 1;
	a->dims[0] = a->count = 2;
	r = blob_from((double[]){ lo, hi }, 2 * sizeof(double), &a->data);
	if (r == 0)
		*ret_array = TAKE(a);
	return r;
}

static int add_rule(const struct stage_member *m, struct set_attrs *to)
{
	struct array *value = NULL;
	double lo, hi;
	int r = text_array(norm_name(m->norm->kind), &value);

	if (r == 0)
		r = add(to, m->path, "h5fs.norm", value);
	if (r < 0)
		return r;
	norm_range(m->norm, &lo, &hi);
	r = pair_array(lo, hi, &value);
	return r < 0 ? r : add(to, m->path, "h5fs.range", value);
}

int set_attrs(const struct set_desc *d, struct set_attrs *attrs)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < d->set.nmembers; i++) {
		const struct stage_member *m = &d->set.members[i];

		if (m->role == STAGE_PICTURE && m->norm && !m->norm->empty &&
		    !m->layout->norm_sample &&
		    norm_needs_probe(m->layout, m->desc))
			r = add_rule(m, attrs);
	}
	return r;
}
