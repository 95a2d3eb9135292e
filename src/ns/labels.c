/* SPDX-License-Identifier: MIT */
/* labels.c - class folders: which dataset labels a set, what its classes are
 * called, which samples are in each.
 *
 * A label dataset is found by names and shapes when its group is loaded; its
 * values are read when class folders are opened: one integer a sample. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "ns_int.h"

#define PROBE_ROWS 64
#define READ_ROWS 65536
#define MAX_CLASSES (1u << 20)
#define MAX_LABELS (1u << 28) /* rows; reading more would take minutes */
#define NO_ITEM UINT32_MAX /* a row in no class */

void classes_free(struct classes *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->count; i++) {
		free(c->folders[i].name);
		free(c->folders[i].label);
	}
	free(c->folders);
	free(c->rows);
	free(c->by_name);
	free(c);
}

/* ---- reading labels ---- */

/* Row k of an array of labels as a number. False: it is no class. */
static bool label_number(const struct array *a, uint64_t k, uint64_t width,
			 int64_t *ret)
{
	const struct dtype *t = dtype_strip_enum(a->type);
	uint64_t one = width;

	if (width == 1) {
		double v;

		if (t->class != DT_FLOAT) {
			*ret = dtype_to_int64(a->type, array_at(a, k));
			return true;
		}
		v = dtype_to_double(a->type, array_at(a, k));
		if (!isfinite(v) || v != floor(v) || fabs(v) > 1e15)
			return false;
		*ret = (int64_t)v;
		return true;
	}
	for (uint64_t i = 0; i < width; i++) { /* one-hot */
		double v = dtype_to_double(a->type, array_at(a, k * width + i));

		if (v != 0 && v != 1)
			return false;
		if (v == 1 && one != width)
			return false;
		if (v == 1)
			one = i;
	}
	if (one == width)
		return false;
	*ret = (int64_t)one;
	return true;
}

static bool is_string_type(const struct dtype *t)
{
	return t->class == DT_STRING || t->class == DT_VLSTR;
}

/* Values a row; 0: not a label dataset of n rows. */
static uint64_t label_width(const struct dataset_info *in, uint64_t n)
{
	uint64_t width = 1;

	if (in->null || in->rank < 1 || in->dims[0] != n)
		return 0;
	for (unsigned i = 1; i < in->rank; i++)
		if (mul_overflow(width, in->dims[i], &width))
			return 0;
	if (width == 0 || width > 100000 || (width > 1 && in->rank != 2))
		return 0;
	if (is_string_type(in->type))
		return in->rank == 1 ? 1 : 0;
	return dtype_is_number(in->type) ? width : 0;
}

static int read_rows(struct dset *d, uint64_t from, uint64_t n,
		     struct array **ret)
{
	const struct dataset_info *in = dset_info(d);
	uint64_t start[DT_MAX_RANK] = { from }, count[DT_MAX_RANK] = { n };

	for (unsigned i = 1; i < in->rank; i++)
		count[i] = in->dims[i];
	return dset_read_cells(d, start, count, ret);
}

/* The first rows: is it one-hot, are they whole numbers? 1: yes. */
static int probe_labels(struct dset *d, uint64_t n)
{
	const struct dataset_info *in = dset_info(d);
	uint64_t width = label_width(in, n), k = n < PROBE_ROWS ? n : PROBE_ROWS;
	CLEANUP(array_freep) struct array *a = NULL;
	int64_t v;
	int r;

	if (!width || n == 0) /* an empty stack has its declared classes */
		return width != 0;
	r = read_rows(d, 0, k, &a);
	if (r < 0 || is_string_type(in->type))
		return r < 0 ? r : 1;
	for (uint64_t i = 0; i < k; i++)
		if (!label_number(a, i, width, &v))
			return 0;
	return 1;
}

/* ---- finding the label dataset ---- */

/* labels=PATH:[FILE:]LABELS. */
static int open_user_labels(struct ns *ns, struct object *o,
			    const struct ns_rule *rule, struct dset **ret)
{
	const char *colon = strchr(rule->value, ':');
	struct store *store = o->gen->store;
	struct obj_id base = o->parent->info.id;
	struct obj_info info;
	int r;

	for (size_t i = 0; colon && i < o->gen->nlabel_stores; i++)
		if (strlen(o->gen->label_stores[i].file) ==
			    (size_t)(colon - rule->value) &&
		    !strncmp(o->gen->label_stores[i].file, rule->value,
			     (size_t)(colon - rule->value)))
			store = o->gen->label_stores[i].store;
	if (colon) {
		r = store_root(store, &info);
		if (r < 0)
			return r;
		base = info.id;
	}
	r = store_resolve(store, base, colon ? colon + 1 : rule->value, &info);
	if (r < 0)
		return r;
	return info.kind == OBJ_DATASET ?
		       dset_open(store, info.id, rule->value, ret) : -ENOENT;
}

static int open_labels(struct ns *ns, struct object *o, struct dset **ret)
{
	if (o->rules && o->rules->labels)
		return open_user_labels(ns, o, o->rules->labels, ret);
	return o->labels ? open_dataset(o->labels, ret) : -ENOENT;
}

static void find_for(struct ns *ns, struct group *grp, size_t i, struct object *o)
{
	size_t found[8], n;

	if (o->rules && o->rules->labels) {
		CLEANUP(dset_unrefp) struct dset *d = NULL;

		int r = open_labels(ns, o, &d);

		if (r == 0)
			r = probe_labels(d, o->count);
		if (r < 0 && !is_damage(r))
			o->gen->moment = r;
		o->labelled = r > 0;
		if (!o->labelled)
			faults_add(ns->faults, grp->dg.members[i].path,
				   "labels= names no dataset with a label for each "
				   "sample", "check its path and its length");
		return;
	}
	n = layout_label_candidates(&grp->dg, i, o->count, found,
				    ARRAY_SIZE(found));
	for (size_t k = 0; k < n && !o->labelled; k++) {
		CLEANUP(dset_unrefp) struct dset *d = NULL;
		struct object *labels = grp->dg.members[found[k]].arg;

		int r = open_dataset(labels, &d);

		if (r == 0)
			r = probe_labels(d, o->count);
		if (r < 0 && !is_damage(r))
			o->gen->moment = r; /* decided by another try */
		if (r <= 0)
			continue;
		o->labels = labels;
		labels->is_labels = true;
		o->labelled = true;
	}
}

void labels_find(struct ns *ns, struct object *g, struct group *grp)
{
	(void)g;
	for (size_t i = 0; i < grp->dg.count; i++) {
		struct object *o = grp->dg.members[i].arg;

		if (o->layout->kind == LAYOUT_NONE || !o->directory ||
		    o->layout->nindex != 1)
			continue;
		find_for(ns, grp, i, o);
	}
}

/* ---- names of classes ---- */

struct class_names { /* of labels 0 .. count-1; NULL: no name */
	uint32_t count;
	char **of;
};

static void names_done(struct class_names *n)
{
	for (uint32_t i = 0; i < n->count; i++)
		free(n->of[i]);
	free(n->of);
	n->of = NULL;
	n->count = 0;
}

static int names_set(struct class_names *n, uint64_t label, const char *text,
		     size_t len)
{
	if (label >= MAX_CLASSES)
		return 0;
	if (label >= n->count) {
		char **grown = realloc(n->of, (label + 1) * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + n->count, 0,
		       (label + 1 - n->count) * sizeof(*grown));
		n->of = grown;
		n->count = (uint32_t)label + 1;
	}
	free(n->of[label]);
	n->of[label] = strndup(text, len);
	return n->of[label] ? 0 : -ENOMEM;
}

static bool is_integer_text(const char *s)
{
	if (*s == '-')
		s++;
	if (!*s)
		return false;
	for (; *s; s++)
		if (*s < '0' || *s > '9')
			return false;
	return true;
}

static int names_from_list(json_t *list, struct class_names *n)
{
	json_t *v;
	size_t i;
	int r = 0;

	json_array_foreach(list, i, v) {
		CLEANUP(freep) char *text = json_is_string(v) ?
			strdup(json_string_value(v)) :
			json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);

		r = text ? names_set(n, i, text, strlen(text)) : -ENOMEM;
		if (r < 0)
			return r;
	}
	return r;
}

/* {name: id} or {id: name}. */
static int names_from_object(json_t *map, struct class_names *n)
{
	bool ids = true;
	const char *key;
	json_t *v;
	int r = 0;

	json_object_foreach(map, key, v)
		ids = ids && is_integer_text(key) && json_is_string(v);
	json_object_foreach(map, key, v) {
		if (ids && *key != '-')
			r = names_set(n, strtoull(key, NULL, 10),
				      json_string_value(v),
				      strlen(json_string_value(v)));
		else if (json_is_integer(v) && json_integer_value(v) >= 0)
			r = names_set(n, (uint64_t)json_integer_value(v), key,
				      strlen(key));
		else if (json_is_string(v) &&
			 is_integer_text(json_string_value(v)) &&
			 *json_string_value(v) != '-')
			r = names_set(n, strtoull(json_string_value(v), NULL, 10),
				      key, strlen(key));
		if (r < 0)
			return r;
	}
	return 0;
}

/* From the value of an attribute or a dataset. -ENOENT: it lists no names. */
static int names_from_array(const struct array *a, struct class_names *n)
{
	bool strings = is_string_type(a->type);
	const char *s;
	size_t len;
	int r = 0;

	if (strings && a->count == 1) {
		json_t *j;

		dtype_string(a->type, array_at(a, 0), &s, &len);
		j = json_loadb(s, len, 0, NULL);
		if (j)
			r = json_is_array(j) ? names_from_list(j, n) :
					       names_from_object(j, n);
		json_decref(j);
		return r < 0 ? r : n->count ? 0 : -ENOENT;
	}
	if (!strings || a->rank != 1 || a->count < 2 || a->count > MAX_CLASSES)
		return -ENOENT;
	for (uint64_t i = 0; r == 0 && i < a->count; i++) {
		dtype_string(a->type, array_at(a, i), &s, &len);
		r = names_set(n, i, s, len);
	}
	return r;
}

static int names_from_enum(const struct dtype *t, struct class_names *n)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < t->nmembers; i++)
		if (t->members[i].value < MAX_CLASSES)
			r = names_set(n, t->members[i].value, t->members[i].name,
				      strlen(t->members[i].name));
	return r < 0 ? r : n->count ? 0 : -ENOENT;
}

static int names_from_attrs(struct store *s, struct obj_id id, struct class_names *n)
{
	for (const char *const *k = layout_class_name_lists; *k; k++) {
		CLEANUP(array_freep) struct array *a = NULL;
		int r = store_attr(s, id, *k, &a);

		if (r == 0)
			r = names_from_array(a, n);
		if (r == 0 || !is_damage(r))
			return r;
		names_done(n);
	}
	return -ENOENT;
}

/* A dataset as long as the set names its rows, not its classes. */
static int names_from_group(struct store *s, struct obj_id group, uint64_t rows,
			    struct class_names *n)
{
	for (const char *const *k = layout_class_name_lists; *k; k++) {
		CLEANUP(array_freep) struct array *a = NULL;
		CLEANUP(dset_unrefp) struct dset *d = NULL;
		struct obj_info info;
		int r = store_resolve(s, group, *k, &info);

		if (r == 0 && info.kind == OBJ_DATASET)
			r = dset_open(s, info.id, *k, &d);
		if (r < 0 && !is_damage(r))
			return r;
		if (!d || dset_info(d)->null || dset_info(d)->rank > 1 ||
		    dset_info(d)->count > MAX_CLASSES ||
		    (!strcmp(*k, "names") && dset_info(d)->count == rows) ||
		    !is_string_type(dset_info(d)->type))
			continue;
		r = read_rows(d, 0, dset_info(d)->rank ? dset_info(d)->dims[0] : 1,
			      &a);
		if (r == 0)
			r = names_from_array(a, n);
		if (r == 0 || !is_damage(r))
			return r;
		names_done(n);
	}
	return -ENOENT;
}

static int find_names(struct object *o, struct dset *labels, struct class_names *n)
{
	const struct dtype *t = dset_info(labels)->type;
	struct store *s = o->gen->store;
	int r;

	if (t->class == DT_ENUM)
		return names_from_enum(t, n);
	if (t->class == DT_BOOL) {
		r = names_set(n, 0, "False", 5);
		return r < 0 ? r : names_set(n, 1, "True", 4);
	}
	r = o->labels ? names_from_attrs(s, o->labels->info.id, n) : -ENOENT;
	if (r == -ENOENT)
		r = names_from_attrs(s, o->info.id, n);
	if (r == -ENOENT)
		r = names_from_attrs(s, o->parent->info.id, n);
	if (r == -ENOENT)
		r = names_from_attrs(s, o->gen->root->info.id, n);
	if (r == -ENOENT)
		r = names_from_group(s, o->parent->info.id, o->count, n);
	if (r == -ENOENT)
		r = names_from_group(s, o->gen->root->info.id, o->count, n);
	return r;
}

/* ---- class folders from labels ---- */

struct item { /* a distinct label while folders are made */
	int64_t number;
	char *text; /* of string labels, and of declared names */
	uint32_t count;
};
struct builder {
	struct item *items;
	size_t count, cap;
	uint32_t *of_row; /* item of each row */
	uint32_t *hash;	  /* items by number or text: position + 1 */
	size_t nhash;
	bool strings;
};

static void builder_done(struct builder *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->items[i].text);
	free(b->items);
	free(b->of_row);
	free(b->hash);
}

static uint64_t item_hash(const struct builder *b, int64_t number,
			  const char *text, size_t len)
{
	return b->strings ? hash_bytes(text, len, 5) :
			    hash_mix((uint64_t)number, 5);
}

static int grow_hash(struct builder *b)
{
	size_t size = b->nhash ? b->nhash * 2 : 256;
	uint32_t *h = calloc(size, sizeof(*h));

	if (!h)
		return -ENOMEM;
	for (size_t i = 0; i < b->count; i++) {
		const struct item *it = &b->items[i];
		uint64_t k = item_hash(b, it->number, it->text,
				       it->text ? strlen(it->text) : 0);

		while (h[k & (size - 1)])
			k++;
		h[k & (size - 1)] = (uint32_t)i + 1;
	}
	free(b->hash);
	b->hash = h;
	b->nhash = size;
	return 0;
}

/* The item of a label, made if it is new. */
static int get_item(struct builder *b, int64_t number, const char *text,
		    size_t len, uint32_t *ret)
{
	uint64_t k;
	struct item *it;
	int r = b->count * 2 >= b->nhash ? grow_hash(b) : 0;

	if (r < 0)
		return r;
	k = item_hash(b, number, text, len);
	for (; b->hash[k & (b->nhash - 1)]; k++) {
		it = &b->items[b->hash[k & (b->nhash - 1)] - 1];
		if (b->strings ? strlen(it->text) == len &&
				 !memcmp(it->text, text, len) :
				 it->number == number) {
			*ret = (uint32_t)(it - b->items);
			return 0;
		}
	}
	if (b->count == MAX_CLASSES)
		return -E2BIG; /* ids, not classes */
	if (b->count == b->cap) {
		size_t cap = b->cap ? b->cap * 2 : 64;
		struct item *grown = realloc(b->items, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		b->items = grown;
		b->cap = cap;
	}
	it = &b->items[b->count];
	memset(it, 0, sizeof(*it));
	it->number = number;
	if (b->strings && !(it->text = strndup(text, len)))
		return -ENOMEM;
	b->hash[k & (b->nhash - 1)] = (uint32_t)b->count + 1;
	*ret = (uint32_t)b->count++;
	return 0;
}

static int read_labels(struct builder *b, struct dset *d, uint64_t n)
{
	const struct dataset_info *in = dset_info(d);
	uint64_t width = label_width(in, n), per;

	if (!width)
		return -ENOENT;
	if (n > MAX_LABELS)
		return -ENOENT;
	b->strings = is_string_type(in->type);
	b->of_row = malloc(n * sizeof(*b->of_row) + 1);
	if (!b->of_row)
		return -ENOMEM;
	per = READ_ROWS / width ? READ_ROWS / width : 1;
	for (uint64_t at = 0; at < n; at += per) {
		CLEANUP(array_freep) struct array *a = NULL;
		uint64_t k = n - at < per ? n - at : per;
		int r = read_rows(d, at, k, &a);

		for (uint64_t i = 0; r == 0 && i < k; i++) {
			const char *s = NULL;
			size_t len = 0;
			int64_t v = 0;
			uint32_t item;

			if (b->strings)
				dtype_string(a->type, array_at(a, i), &s, &len);
			else if (!label_number(a, i, width, &v))
				return -ENOENT; /* no class view after all */
			r = get_item(b, v, s, len, &item);
			if (r == 0) {
				b->of_row[at + i] = item;
				b->items[item].count++;
			}
		}
		if (r < 0)
			return r == -E2BIG ? -ENOENT : r;
	}
	return 0;
}

static int declare(struct builder *b, const struct class_names *n)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && !b->strings && i < n->count; i++) {
		uint32_t item;

		if (!n->of[i])
			continue;
		r = get_item(b, i, NULL, 0, &item);
		if (r == 0 && !b->items[item].text &&
		    !(b->items[item].text = strdup(n->of[i])))
			r = -ENOMEM;
	}
	return r;
}

static int by_label(const void *pa, const void *pb, void *arg)
{
	const struct builder *b = arg;
	const struct item *x = &b->items[*(const uint32_t *)pa];
	const struct item *y = &b->items[*(const uint32_t *)pb];

	if (b->strings)
		return strcmp(x->text, y->text);
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_folder_name(const void *a, const void *b, void *arg)
{
	const struct classes *c = arg;

	return strcmp(c->folders[*(const uint32_t *)a].name,
		      c->folders[*(const uint32_t *)b].name);
}

/* Digits of the widest number among those that are shown as numbers. */
static int widest(const struct classes *c, bool all)
{
	int w = 1;

	for (uint32_t i = 0; i < c->count; i++) {
		char text[24];
		const char *l = c->folders[i].label;
		int n;

		if (!all && l && !is_integer_text(l))
			continue;
		n = snprintf(text, sizeof(text), "%lld",
			     (long long)(all || !l ? c->folders[i].number :
						     strtoll(l, NULL, 10)));
		if (text[0] == '-')
			n--;
		if (n > w)
			w = n;
	}
	return w;
}

static void put_number(struct strbuf *out, long long v, int width)
{
	strbuf_printf(out, "%s%0*llu", v < 0 ? "-" : "", width,
		      v < 0 ? -(unsigned long long)v : (unsigned long long)v);
}

/* Are all labels bare numbers, so that they are padded to sort as labels do? */
static bool all_numbers(const struct classes *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->folders[i].label && !is_integer_text(c->folders[i].label))
			return false;
	return true;
}

static int name_folder(const struct classes *c, struct class_folder *f,
		       enum ns_class_names how, bool numbers, int wide_all,
		       int wide)
{
	CLEANUP(freep) char *escaped = f->label ? name_escape_slash(f->label) :
						  NULL;
	struct strbuf s = STRBUF_INIT;

	(void)c;
	if (how != NS_CLASS_NAMES) {
		put_number(&s, f->number, wide_all);
		if (how == NS_CLASS_BOTH && escaped && !numbers) {
			strbuf_putc(&s, '_');
			strbuf_puts(&s, escaped);
		}
	} else if (numbers) {
		put_number(&s, f->label ? strtoll(f->label, NULL, 10) : f->number,
			   wide);
	} else if (escaped) {
		strbuf_puts(&s, escaped);
	} else {
		put_number(&s, f->number, 1);
	}
	f->name = strbuf_error(&s) < 0 ? NULL : name_fitted(s.buf);
	strbuf_done(&s);
	return f->name ? 0 : -ENOMEM;
}

static void sort_folders(struct classes *c)
{
	qsort_r(c->by_name, c->count, sizeof(*c->by_name), by_folder_name, c);
}

/* Classes of one name become NAME.LABEL. *ret_found: there were some. */
static int part_names(struct classes *c, bool *ret_found)
{
	*ret_found = false;
	for (uint32_t i = 0; i + 1 < c->count;) {
		uint32_t k = i + 1;

		while (k < c->count &&
		       !strcmp(c->folders[c->by_name[i]].name,
			       c->folders[c->by_name[k]].name))
			k++;
		for (uint32_t n = i; k > i + 1 && n < k; n++) {
			struct class_folder *f = &c->folders[c->by_name[n]];
			char *unique = NULL;

			if (asprintf(&unique, "%s.%lld", f->name,
				     (long long)f->number) < 0)
				return -ENOMEM;
			free(f->name);
			f->name = name_fitted(unique);
			free(unique);
			if (!f->name)
				return -ENOMEM;
			*ret_found = true;
		}
		i = k;
	}
	sort_folders(c);
	return 0;
}

/* NAME.LABEL may be the name of yet another class: until all differ. */
static int make_names_unique(struct classes *c)
{
	bool found = true;
	int r = 0;

	for (unsigned i = 0; r == 0 && found && i < 16; i++)
		r = part_names(c, &found);
	return r;
}

static int name_folders(struct classes *c, enum ns_class_names how)
{
	bool numbers = all_numbers(c);
	int wide_all = widest(c, true), wide = widest(c, false);

	for (uint32_t i = 0; i < c->count; i++) {
		int r = name_folder(c, &c->folders[i], how, numbers, wide_all,
				    wide);

		if (r < 0)
			return r;
		c->by_name[i] = i;
	}
	sort_folders(c);
	return make_names_unique(c);
}

/* Rows sorted by class; items in label order. */
static int fill_classes(struct builder *b, uint64_t n, enum ns_class_names how,
			struct classes **ret)
{
	CLEANUP(classes_freep) struct classes *c = calloc(1, sizeof(*c));
	CLEANUP(freep) uint32_t *order = calloc(b->count + 1, sizeof(*order));
	CLEANUP(freep) uint32_t *next = calloc(b->count + 1, sizeof(*next));
	uint32_t at = 0;
	int r;

	if (!c || !order || !next)
		return -ENOMEM;
	c->folders = calloc(b->count + 1, sizeof(*c->folders));
	c->by_name = calloc(b->count + 1, sizeof(*c->by_name));
	c->rows = malloc(n * sizeof(*c->rows) + 1);
	if (!c->folders || !c->by_name || !c->rows)
		return -ENOMEM;
	c->count = (uint32_t)b->count;
	c->nrows = (uint32_t)n;
	for (uint32_t i = 0; i < c->count; i++)
		order[i] = i;
	qsort_r(order, c->count, sizeof(*order), by_label, b);
	for (uint32_t i = 0; i < c->count; i++) {
		struct item *it = &b->items[order[i]];
		struct class_folder *f = &c->folders[i];

		f->number = b->strings ? (int64_t)i : it->number;
		f->label = TAKE(it->text);
		f->first = next[order[i]] = at;
		f->count = it->count;
		at += it->count;
	}
	for (uint64_t i = 0; i < n; i++)
		if (b->of_row[i] != NO_ITEM)
			c->rows[next[b->of_row[i]]++] = (uint32_t)i;
	r = name_folders(c, how);
	if (r < 0)
		return r;
	*ret = TAKE(c);
	return 0;
}

static int make_classes(struct ns *ns, struct object *o, struct classes **ret)
{
	CLEANUP(builder_done) struct builder b = { 0 };
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	CLEANUP(names_done) struct class_names names = { 0 };
	int r;

	if (!o->labelled)
		return -ENOENT;
	r = open_labels(ns, o, &d);
	if (r == 0)
		r = read_labels(&b, d, o->count);
	if (r < 0)
		return r;
	r = find_names(o, d, &names);
	if (r < 0 && !is_damage(r))
		return r;
	r = declare(&b, &names);
	return r < 0 ? r : fill_classes(&b, o->count, ns->opts.classes, ret);
}

int labels_classes(struct ns *ns, struct state *st, const struct classes **ret)
{
	LOCK_SCOPE(&st->slow);

	if (!st->classes_done) {
		st->classes_error = make_classes(ns, st->object, &st->classes);
		st->classes_done = st->classes_error == 0 ||
				   st->classes_error == -ENOENT;
	}
	if (st->classes_error < 0)
		return st->classes_error;
	*ret = st->classes;
	return 0;
}

/* Single pictures with an attribute `label`: "rows" are children. Called with
 * ns.load held, or after the group was loaded. */
int labels_group_classes(struct ns *ns, struct object *g,
			 const struct classes **ret)
{
	CLEANUP(builder_done) struct builder b = { .strings = true };
	struct group *grp = g->group;
	struct classes *c = NULL, *none = NULL;
	bool numbers = true;
	int r = 0;

	c = __atomic_load_n(&grp->classes, __ATOMIC_ACQUIRE);
	if (c) {
		*ret = c;
		return 0;
	}
	if (!grp->has_labels)
		return -ENOENT;
	b.of_row = malloc(grp->nchildren * sizeof(*b.of_row) + 1);
	if (!b.of_row)
		return -ENOMEM;
	for (size_t i = 0; i < grp->nchildren; i++) {
		const struct object *o = grp->children[i].object;

		if (o && o->label && !is_integer_text(o->label))
			numbers = false;
	}
	b.strings = !numbers;
	for (size_t i = 0; r == 0 && i < grp->nchildren; i++) {
		const struct object *o = grp->children[i].object;
		uint32_t item;

		b.of_row[i] = NO_ITEM;
		if (!o || !o->label || o->directory || !o->layout ||
		    o->layout->kind == LAYOUT_NONE)
			continue;
		r = get_item(&b, numbers ? strtoll(o->label, NULL, 10) : 0,
			     o->label, strlen(o->label), &item);
		if (r == 0) {
			b.of_row[i] = item;
			b.items[item].count++;
		}
	}
	if (r < 0)
		return r;
	r = fill_classes(&b, grp->nchildren, ns->opts.classes, &c);
	if (r < 0)
		return r;
	if (!__atomic_compare_exchange_n(&grp->classes, &none, c, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		classes_free(c);
		c = none;
	}
	*ret = c;
	return 0;
}

/* ---- asking ---- */

const struct class_folder *classes_find(const struct classes *c,
					const char *name, uint32_t *ret_index)
{
	uint32_t lo = 0, hi = c->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int cmp = strcmp(c->folders[c->by_name[mid]].name, name);

		if (cmp == 0) {
			*ret_index = c->by_name[mid];
			return &c->folders[c->by_name[mid]];
		}
		if (cmp < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

bool classes_has(const struct classes *c, uint32_t ci, uint32_t row)
{
	const struct class_folder *f = &c->folders[ci];
	uint32_t lo = f->first, hi = f->first + f->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->rows[mid] == row)
			return true;
		if (c->rows[mid] < row)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

void class_names_free(struct class_names *n)
{
	if (n)
		names_done(n);
	free(n);
}

/* Declared names, found once and kept with the state. */
static int cached_names(struct state *st, struct object *o, struct dset *d,
			const struct class_names **ret)
{
	struct class_names *n;
	int r;
	LOCK_SCOPE(&st->slow);

	if (!st->class_names) {
		n = calloc(1, sizeof(*n));
		r = n ? find_names(o, d, n) : -ENOMEM;
		if (r < 0 && !is_damage(r)) {
			class_names_free(n);
			return r;
		}
		st->class_names = n;
	}
	*ret = st->class_names;
	return 0;
}

/* The class of one label, without looking at the other rows. */
static int class_of(struct ns *ns, struct object *o, struct dset *d,
		    const struct array *a, struct strbuf *out)
{
	uint64_t width = label_width(dset_info(d), o->count);
	const struct class_names *names = NULL;
	STATE_REF(ref, ns);
	int64_t v;
	int r;

	if (is_string_type(a->type))
		return text_of_array(a, out);
	if (!width || !label_number(a, 0, width, &v))
		return -ENODATA;
	r = state_get(ns, o, &ref.st);
	if (r == 0)
		r = cached_names(ref.st, o, d, &names);
	if (r < 0)
		return r;
	if (v >= 0 && (uint64_t)v < names->count && names->of[v])
		strbuf_puts(out, names->of[v]);
	else
		put_number(out, v, 1);
	return strbuf_error(out);
}

int labels_of_row(struct ns *ns, struct object *o, uint32_t index,
		  struct strbuf *label, struct strbuf *class_name)
{
	CLEANUP(array_freep) struct array *a = NULL;
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	int r = o->labelled ? open_labels(ns, o, &d) : -ENODATA;

	if (r == 0)
		r = read_rows(d, index, 1, &a);
	if (r < 0)
		return r == -ENOENT ? -ENODATA : r;
	if (a->count == 1)
		a->rank = 0; /* a scalar, in its text form */
	if (a->rank == 2)
		a->rank = 1, a->dims[0] = a->dims[1]; /* one row */
	if (label)
		r = text_of_array(a, label);
	if (r == 0 && class_name)
		r = class_of(ns, o, d, a, class_name);
	return r;
}
