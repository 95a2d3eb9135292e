/* SPDX-License-Identifier: MIT */
/* describe.c - an object as the layout rules see it: facts from attributes, a
 * plain description of a dataset, and the data that some rules probe. */
#include <math.h>
#include <stdio.h>

#include "ns_int.h"

#define MAX_FACT_ELEMENTS 4096u

static bool is_wanted(const char *const *wanted, const char *name)
{
	for (; *wanted; wanted++)
		if (!strcmp(*wanted, name))
			return true;
	return false;
}

/* Without trailing NUL and space. */
static char *trimmed(const char *s, size_t n)
{
	while (n && (s[n - 1] == ' ' || s[n - 1] == 0))
		n--;
	return strndup(s, n);
}

static int joined_text(const struct array *a, struct fact *f)
{
	CLEANUP(freep) char *all = malloc(a->count + 1);
	const char *s;
	size_t n, len = 0;

	f->texts = calloc(1, sizeof(*f->texts));
	if (!all || !f->texts)
		return -ENOMEM;
	for (uint64_t i = 0; i < a->count; i++) {
		dtype_string(a->type, array_at(a, i), &s, &n);
		if (n)
			all[len++] = *s;
	}
	f->texts[0] = trimmed(all, len);
	f->ntexts = 1;
	return f->texts[0] ? 0 : -ENOMEM;
}

static int take_texts(const struct array *a, struct fact *f)
{
	const char *s;
	size_t n;

	if (a->type->class == DT_STRING && a->type->size == 1 && a->count > 1)
		return joined_text(a, f);
	f->texts = calloc(a->count ? a->count : 1, sizeof(*f->texts));
	if (!f->texts)
		return -ENOMEM;
	for (uint64_t i = 0; i < a->count; i++) {
		if (a->type->class == DT_REF) {
			char *path;

			memcpy(&path, array_at(a, i), sizeof(path));
			s = path ? path : "";
			n = strlen(s);
		} else {
			dtype_string(a->type, array_at(a, i), &s, &n);
		}
		f->texts[i] = trimmed(s, n);
		if (!f->texts[i])
			return -ENOMEM;
		f->ntexts = i + 1;
	}
	return 0;
}

static int take_numbers(const struct array *a, struct fact *f)
{
	f->nums = calloc(a->count ? a->count : 1, sizeof(*f->nums));
	if (!f->nums)
		return -ENOMEM;
	for (uint64_t i = 0; i < a->count; i++)
		f->nums[i] = dtype_to_double(a->type, array_at(a, i));
	f->nnums = a->count;
	return 0;
}

static int fact_from(const char *name, const struct array *a, struct fact *f)
{
	enum dtype_class c = a->type->class;

	f->name = strdup(name);
	if (!f->name)
		return -ENOMEM;
	f->array = a->rank > 0;
	if (a->count > MAX_FACT_ELEMENTS)
		return 0;
	if (c == DT_STRING || c == DT_VLSTR || c == DT_REF)
		return take_texts(a, f);
	if (dtype_is_number(a->type))
		return take_numbers(a, f);
	return 0;
}

static char *label_text(const struct array *a)
{
	struct strbuf text = STRBUF_INIT;

	if (a->null || a->count != 1 || text_of_array(a, &text) < 0) {
		strbuf_done(&text);
		return NULL;
	}
	return strbuf_steal(&text);
}

static void tell_damaged(struct gen *gen, const struct object *o)
{
	CLEANUP(freep) char *path = object_path(o);

	if (path)
		(void)faults_add(gen->faults, path,
				 "its attributes can not be read",
				 "the file is damaged; check it with h5dump");
}

int facts_load(struct gen *gen, const struct object *o,
	       const char *const *wanted, struct facts *ret_facts,
	       char **ret_label)
{
	struct attr_list l = { 0 };
	struct facts facts = { 0 };
	int r;

	if (!o->info.has_attrs) { /* opening the object is what costs */
		*ret_facts = facts;
		return 0;
	}
	r = store_attrs(gen->store, o->info.id, &l);
	if (is_damage(r)) { /* all else goes on without them */
		tell_damaged(gen, o);
		*ret_facts = facts;
		return 0;
	}
	if (r < 0)
		return r;
	facts.facts = calloc(l.count ? l.count : 1, sizeof(*facts.facts));
	if (!facts.facts)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < l.count; i++) {
		CLEANUP(array_freep) struct array *a = NULL;
		bool label = ret_label && !strcmp(l.names[i], "label");

		if (!label && !is_wanted(wanted, l.names[i]))
			continue;
		r = store_attr(gen->store, o->info.id, l.names[i], &a);
		if (is_damage(r)) { /* it can not be read: no fact */
			r = 0;
			continue;
		}
		if (r < 0)
			break;
		if (label)
			*ret_label = label_text(a);
		if (is_wanted(wanted, l.names[i]))
			r = fact_from(l.names[i], a,
				      &facts.facts[facts.count++]);
	}
	attr_list_done(&l);
	if (r < 0) {
		facts_done(&facts);
		return r;
	}
	*ret_facts = facts;
	return 0;
}

/* DIMENSION_LIST: an axis each a list of references to scales. */
static int take_scales(struct gen *gen, const struct object *o, struct desc *d)
{
	CLEANUP(array_freep) struct array *a = NULL;
	int r = store_attr(gen->store, o->info.id, "DIMENSION_LIST", &a);

	if (r < 0)
		return is_damage(r) ? 0 : r;
	d->has_scales = true;
	if (a->type->class != DT_VLEN || a->type->base->class != DT_REF)
		return 0;
	for (uint64_t i = 0; i < a->count && i < d->stored_rank; i++) {
		struct dt_vlen v;
		char *path, *slash;

		memcpy(&v, array_at(a, i), sizeof(v));
		if (!v.len)
			continue;
		memcpy(&path, v.p, sizeof(path));
		if (!path)
			continue;
		slash = strrchr(path, '/');
		d->scale[i] = strdup(slash ? slash + 1 : path);
		if (!d->scale[i])
			return -ENOMEM;
	}
	return 0;
}

int describe_dataset(struct object *o, struct dset *ds, struct desc *ret_desc,
		     char **ret_label)
{
	const struct dataset_info *in = dset_info(ds);
	struct desc d = { 0 };
	int r;

	d.name = strdup(o->name);
	d.path = object_path(o);
	d.arg = o;
	r = d.name && d.path ? 0 : -ENOMEM;
	if (r == 0)
		r = desc_set_type(&d, in->type, in->null, in->rank, in->dims);
	if (r == 0)
		r = facts_load(o->gen, o, layout_dataset_facts, &d.facts,
			       ret_label);
	for (unsigned i = 0; r == 0 && i < in->rank; i++) {
		d.maxdims[i] = in->maxdims[i];
		d.chunk[i] = in->storage == STORAGE_CHUNKED ? in->chunk[i] : 0;
	}
	if (r == 0 && facts_find(&d.facts, "DIMENSION_LIST"))
		r = take_scales(o->gen, o, &d);
	d.matlab_logical =
		facts_text(&d.facts, "MATLAB_class") &&
		!strcmp(facts_text(&d.facts, "MATLAB_class"), "logical");
	if (r < 0) {
		desc_done(&d);
		return r;
	}
	*ret_desc = d;
	return 0;
}
