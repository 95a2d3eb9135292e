/* SPDX-License-Identifier: MIT */
/* handles.c - what the kernel calls an open file, by number; and the beginning and
 * the end of all that is written. */
#include "write_int.h"

int write_side_open(struct ns *ns)
{
	struct write_side *w = calloc(1, sizeof(*w));
	int r = w ? committed_new(&w->committed) : -ENOMEM;

	if (r < 0) {
		free(w);
		return r;
	}
	pthread_mutex_init(&w->lock, NULL);
	ns->write = w;
	return 0;
}

void handle_free(struct ns *ns, struct handle *h)
{
	if (!h)
		return;
	if (h->holds)
		stage_release(ns->stage, h->row);
	blob_unref(h->bytes);
	free(h);
}

static void drop_files(struct ns *ns)
{
	struct write_side *w = ns->write;

	for (size_t i = 0; i < HANDLE_CHAINS; i++)
		while (w->chains[i]) {
			struct open_file *f = w->chains[i];

			f->refs = 1;
			f->named = false;
			open_file_put(ns, f);
		}
}

void write_side_close(struct ns *ns)
{
	struct write_side *w = ns->write;

	if (!w)
		return;
	for (uint32_t i = 0; i < w->nhandles; i++)
		handle_free(ns, w->handles[i]);
	drop_files(ns);
	sets_forget(ns);
	staged_lists_forget(ns);
	for (size_t i = 0; i < w->nclasses; i++) {
		free(w->classes[i].object);
		free(w->classes[i].key);
	}
	class_tables_free(w->tables);
	for (size_t i = 0; i < w->nchecked; i++)
		free(w->checked[i]);
	free(w->checked);
	free(w->names_path);
	blob_unref(w->names_order);
	free(w->classes);
	free(w->handles);
	committed_free(w->committed);
	pthread_mutex_destroy(&w->lock);
	free(w);
	ns->write = NULL;
}

/* Under the lock. */
static int take_slot(struct write_side *w, uint32_t *ret_slot)
{
	struct handle **grown;

	for (uint32_t i = 0; i < w->nhandles; i++)
		if (!w->handles[i]) {
			*ret_slot = i;
			return 0;
		}
	grown = realloc(w->handles,
			(2 * (size_t)w->nhandles + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + w->nhandles, 0, (w->nhandles + 1) * sizeof(*grown));
	w->handles = grown;
	*ret_slot = w->nhandles;
	w->nhandles = 2 * w->nhandles + 1;
	return 0;
}

int handle_add(struct ns *ns, struct handle *h, ns_handle *ret)
{
	struct write_side *w = ns->write;
	uint32_t slot;
	int r;
	LOCK_SCOPE(&w->lock);

	r = take_slot(w, &slot);
	if (r < 0)
		return r;
	w->handles[slot] = h;
	*ret = slot + 1;
	return 0;
}

struct handle *handle_of(struct ns *ns, ns_handle h)
{
	struct write_side *w = ns->write;

	if (!w || !h)
		return NULL;
	LOCK_SCOPE(&w->lock);
	return h <= w->nhandles ? w->handles[h - 1] : NULL;
}

int handle_new(struct ns *ns, enum handle_kind kind, struct open_file *file,
	       ns_handle *ret)
{
	struct handle *h = calloc(1, sizeof(*h));
	int r = -ENOMEM;

	if (h) {
		h->kind = kind;
		h->file = file;
		r = handle_add(ns, h, ret);
	}
	if (r == 0 && file)
		__atomic_fetch_add(&file->opens, 1, __ATOMIC_ACQ_REL);
	if (r < 0)
		free(h);
	return r;
}

struct handle *handle_take(struct ns *ns, ns_handle h)
{
	struct write_side *w = ns->write;

	if (!w || !h)
		return NULL;
	LOCK_SCOPE(&w->lock);
	return h <= w->nhandles ? TAKE(w->handles[h - 1]) : NULL;
}
