/* SPDX-License-Identifier: MIT */
/* open_file.c - files that are being written, by their names. One is shared by
 * all who have it open, and stays while its name leads to it. */
#include "write_int.h"

static struct open_file **chain_of(struct write_side *w, const char *dir,
				   const char *name)
{
	uint64_t h = hash_bytes(name, strlen(name),
				hash_bytes(dir, strlen(dir), 19));

	return &w->chains[h % HANDLE_CHAINS];
}

static void file_free(struct ns *ns, struct open_file *f)
{
	struct early_value *next;

	if (f->is_replacement)
		__atomic_fetch_sub(&ns->write->nreplacing, 1, __ATOMIC_ACQ_REL);
	for (struct early_value *e = f->early; e; e = next) {
		next = e->next;
		free(e->name);
		free(e->text);
		free(e);
	}
	draft_free(f->draft);
	free(f->dir);
	free(f->name);
	free(f->at.object);
	free(f->at.class_name);
	free(f->at.label.name);
	free(f->fault_path);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* Under the lock of all. */
static struct open_file *find_named(struct write_side *w, const char *dir,
				    const char *name)
{
	struct open_file *f = *chain_of(w, dir, name);

	for (; f; f = f->next)
		if (f->named && !strcmp(f->name, name) && !strcmp(f->dir, dir))
			return f;
	return NULL;
}

static void unchain(struct write_side *w, struct open_file *f)
{
	struct open_file **p = chain_of(w, f->dir, f->name);

	while (*p != f)
		p = &(*p)->next;
	*p = f->next;
}

/* Under the lock; true: nobody has it any more. */
static bool drop(struct write_side *w, struct open_file *f)
{
	if (--f->refs)
		return false;
	unchain(w, f);
	__atomic_fetch_sub(&w->nfiles, 1, __ATOMIC_ACQ_REL);
	return true;
}

void open_file_put(struct ns *ns, struct open_file *f)
{
	struct write_side *w = ns->write;
	bool last;

	pthread_mutex_lock(&w->lock);
	last = drop(w, f);
	pthread_mutex_unlock(&w->lock);
	if (last)
		file_free(ns, f);
}

void open_file_unname(struct ns *ns, struct open_file *f)
{
	struct write_side *w = ns->write;
	bool last = false;

	pthread_mutex_lock(&w->lock);
	if (f->named) {
		f->named = false;
		last = drop(w, f);
	}
	pthread_mutex_unlock(&w->lock);
	if (last)
		file_free(ns, f);
}

struct open_file *open_file_find(struct ns *ns, const char *dir,
				 const char *name)
{
	struct open_file *f;

	if (!ns->write ||
	    !__atomic_load_n(&ns->write->nfiles, __ATOMIC_ACQUIRE))
		return NULL;
	LOCK_SCOPE(&ns->write->lock);
	f = find_named(ns->write, dir, name);
	if (f)
		f->refs++;
	return f;
}

struct open_file *open_file_of_sample(struct ns *ns, struct node n)
{
	struct write_side *w = ns->write;

	if (!w || !__atomic_load_n(&w->nreplacing, __ATOMIC_ACQUIRE))
		return NULL;
	LOCK_SCOPE(&w->lock);
	for (size_t i = 0; i < HANDLE_CHAINS; i++)
		for (struct open_file *f = w->chains[i]; f; f = f->next)
			if (f->named && f->is_replacement &&
			    node_ino(f->replaces) == node_ino(n)) {
				f->refs++;
				return f;
			}
	return NULL;
}

static int set_place(struct open_file *f, const struct intake *in,
		     uint64_t parent, const char *name)
{
	struct file_place at = { .kind = in->kind,
				 .label = in->label,
				 .parent = parent };
	char *dir = strdup(in->dir), *copy = strdup(name);
	bool ok;

	at.object = object_path(in->object);
	at.class_name = in->class_name ? strdup(in->class_name) : NULL;
	at.label.name = in->label.name ? strdup(in->label.name) : NULL;
	ok = dir && copy && at.object && !at.class_name == !in->class_name &&
	     !at.label.name == !in->label.name;
	if (!ok) {
		free(dir);
		free(copy);
		free(at.object);
		free(at.class_name);
		free(at.label.name);
		return -ENOMEM;
	}
	free(f->dir);
	free(f->name);
	free(f->at.object);
	free(f->at.class_name);
	free(f->at.label.name);
	f->dir = dir;
	f->name = copy;
	f->at = at;
	return 0;
}

/* Whoever has the name loses it; its handles stay good. */
static struct open_file *take_name(struct write_side *w, struct open_file *f)
{
	struct open_file *old = find_named(w, f->dir, f->name);

	f->named = true;
	f->refs++;
	f->next = *chain_of(w, f->dir, f->name);
	*chain_of(w, f->dir, f->name) = f;
	if (!old)
		return NULL;
	old->named = false;
	return drop(w, old) ? old : NULL;
}

int open_file_new(struct ns *ns, const struct intake *in, uint64_t parent,
		  const char *name, struct open_file **ret_file)
{
	struct write_side *w = ns->write;
	struct open_file *f = calloc(1, sizeof(*f)), *old;
	int r = f ? draft_new(&f->draft) : -ENOMEM;

	if (r == 0)
		r = set_place(f, in, parent, name);
	if (r < 0) {
		if (f)
			draft_free(f->draft);
		free(f);
		return r;
	}
	pthread_mutex_init(&f->lock, NULL);
	f->refs = 1;
	f->version = draft_version(f->draft);
	__atomic_fetch_add(&w->nfiles, 1, __ATOMIC_ACQ_REL);
	pthread_mutex_lock(&w->lock);
	old = take_name(w, f);
	pthread_mutex_unlock(&w->lock);
	if (old)
		file_free(ns, old);
	*ret_file = f;
	return 0;
}

int open_file_rename(struct ns *ns, struct open_file *f,
		     const struct intake *in, uint64_t parent, const char *name)
{
	struct write_side *w = ns->write;
	struct open_file *old = NULL;
	int r;

	pthread_mutex_lock(&w->lock);
	unchain(w, f);
	r = set_place(f, in, parent, name);
	if (f->named) {
		f->named = false;
		f->refs--;
	}
	old = take_name(w, f);
	pthread_mutex_unlock(&w->lock);
	if (old)
		file_free(ns, old);
	return r;
}

bool open_file_is_named(struct ns *ns, const struct open_file *f)
{
	LOCK_SCOPE(&ns->write->lock);

	return f->named;
}

bool open_file_is_seen(const struct open_file *f)
{
	if (!f->judged)
		return true;
	return draft_version(f->draft) != f->version;
}

int open_file_names(struct ns *ns, const char *dir, struct stage_names *names)
{
	struct write_side *w = ns->write;
	int r = 0;

	if (!w)
		return 0;
	LOCK_SCOPE(&w->lock);
	for (size_t i = 0; r == 0 && i < HANDLE_CHAINS; i++)
		for (struct open_file *f = w->chains[i]; r == 0 && f;
		     f = f->next) {
			char **grown;

			if (!f->named || f->is_replacement || f->covers ||
			    strcmp(f->dir, dir) != 0)
				continue;
			grown = realloc(names->names,
					(names->count + 1) * sizeof(char *));
			if (!grown) {
				r = -ENOMEM;
				break;
			}
			names->names = grown;
			grown[names->count] = strdup(f->name);
			if (!grown[names->count])
				r = -ENOMEM;
			else
				names->count++;
		}
	return r;
}
