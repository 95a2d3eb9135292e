/* SPDX-License-Identifier: MIT */
/* classes.c - class folders: which samples are in each, and what it is called.
 * Made when they are opened: one integer a sample. */
#include <stdio.h>

#include "write_int.h"

#define READ_ROWS 65536
#define MAX_LABELS (1u << 28) /* rows; reading more would take minutes */
#define NO_ITEM UINT32_MAX    /* a row in no class */

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
	free(c->order);
	free(c);
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
	return b->strings ? hash_bytes(text, len, 5)
			  : hash_mix((uint64_t)number, 5);
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
					 !memcmp(it->text, text, len)
			       : it->number == number) {
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
	b->strings = label_is_text(in->type);
	b->of_row = malloc(n * sizeof(*b->of_row) + 1);
	if (!b->of_row)
		return -ENOMEM;
	per = READ_ROWS / width ? READ_ROWS / width : 1;
	for (uint64_t at = 0; at < n; at += per) {
		CLEANUP(array_freep) struct array *a = NULL;
		uint64_t k = n - at < per ? n - at : per;
		int r = label_rows(d, at, k, &a);

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

		if (!all && l && !text_is_integer(l))
			continue;
		n = snprintf(text, sizeof(text), "%lld",
			     (long long)(all || !l ? c->folders[i].number
						   : strtoll(l, NULL, 10)));
		if (text[0] == '-')
			n--;
		if (n > w)
			w = n;
	}
	return w;
}

/* Are all labels bare numbers, so that they are padded to sort as labels do? */
static bool all_numbers(const struct classes *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->folders[i].label &&
		    !text_is_integer(c->folders[i].label))
			return false;
	return true;
}

static int name_folder(struct class_folder *f, enum ns_class_names how,
		       bool numbers, int wide_all, int wide)
{
	CLEANUP(freep)
	char *escaped = f->label ? name_escape_slash(f->label) : NULL;
	struct strbuf s = STRBUF_INIT;

	if (how != NS_CLASS_NAMES) {
		put_label_number(&s, f->number, wide_all);
		if (how == NS_CLASS_BOTH && escaped && !numbers) {
			strbuf_putc(&s, '_');
			strbuf_puts(&s, escaped);
		}
	} else if (numbers) {
		put_label_number(
			&s, f->label ? strtoll(f->label, NULL, 10) : f->number,
			wide);
	} else if (escaped) {
		strbuf_puts(&s, escaped);
	} else {
		put_label_number(&s, f->number, 1);
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

		while (k < c->count && !strcmp(c->folders[c->by_name[i]].name,
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
		int r = name_folder(&c->folders[i], how, numbers, wide_all,
				    wide);

		if (r < 0)
			return r;
		c->by_name[i] = i;
	}
	sort_folders(c);
	return make_names_unique(c);
}

static int by_folder_label(const void *a, const void *b, void *arg)
{
	const struct classes *c = arg;
	const char *x = c->folders[*(const uint32_t *)a].label;
	const char *y = c->folders[*(const uint32_t *)b].label;

	return strcmp(x ? x : "", y ? y : "");
}

/* Uses by_name, which is filled later. */
static void mark_shared(struct classes *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		c->by_name[i] = i;
	qsort_r(c->by_name, c->count, sizeof(*c->by_name), by_folder_label, c);
	for (uint32_t i = 1; i < c->count; i++) {
		struct class_folder *a = &c->folders[c->by_name[i - 1]];
		struct class_folder *b = &c->folders[c->by_name[i]];

		if (a->label && b->label && !strcmp(a->label, b->label))
			a->shared = b->shared = true;
	}
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
	c->order = calloc(b->count + 1, sizeof(*c->order));
	c->rows = malloc(n * sizeof(*c->rows) + 1);
	if (!c->folders || !c->by_name || !c->order || !c->rows)
		return -ENOMEM;
	c->count = c->shown = (uint32_t)b->count;
	c->nrows = (uint32_t)n;
	for (uint32_t i = 0; i < c->count; i++)
		order[i] = c->order[i] = i;
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
	c->text = b->strings;
	mark_shared(c);
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
	CLEANUP(class_names_done) struct class_names names = { 0 };
	CLEANUP(classes_freep) struct classes *c = NULL;
	int r;

	if (!o->labelled)
		return -ENOENT;
	r = label_open(ns, o, &d);
	if (r == 0)
		r = read_labels(&b, d, o->count);
	if (r < 0)
		return r;
	r = class_names_find(o, d, &names, NULL);
	if (r < 0 && !is_damage(r))
		return r;
	r = declare(&b, &names);
	if (r == 0)
		r = fill_classes(&b, o->count, ns->opts.classes, &c);
	if (r == 0 && ns->write)
		r = class_order_keep(ns, o, c);
	if (r == 0)
		*ret = TAKE(c);
	return r;
}

int labels_classes(struct ns *ns, struct state *st, const struct classes **ret)
{
	LOCK_SCOPE(&st->slow);

	if (!st->classes_done) {
		st->classes_error = make_classes(ns, st->object, &st->classes);
		st->classes_done =
			st->classes_error == 0 || st->classes_error == -ENOENT;
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

		if (o && o->label && !text_is_integer(o->label))
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
	uint32_t lo = 0, hi = c->shown;

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
