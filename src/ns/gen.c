/* SPDX-License-Identifier: MIT */
/* gen.c - generations of FILE.
 *
 * FILE changes underneath: a change makes a new generation with new object
 * numbers; an old one stays as long as the kernel holds references to its nodes
 * or a call is under way in it.
 *
 * A commit of this mount makes a new generation too, but there every object goes
 * on: it takes over the number of what it was, as soon as its group is looked
 * into (object_adopt), so that inodes, open files and the kernel's pages stay
 * good. Who meets an object of the superseded generation looks for it by its path
 * (pin_get). */
#include <stdio.h>

#include "ns_int.h"

/* Who looks at generations under the tables lock meets no store that is being
 * closed; what it has counted stays counted. */
static void close_stores(struct ns *ns, struct gen *gen)
{
	struct store *store;

	pthread_rwlock_wrlock(&ns->tables);
	store = TAKE(gen->store);
	if (store)
		stats_take(&ns->past, store);
	pthread_rwlock_unlock(&ns->tables);
	for (size_t i = 0; i < gen->nlabel_stores; i++) {
		store_close(gen->label_stores[i].store);
		free(gen->label_stores[i].file);
	}
	free(gen->label_stores);
	gen->label_stores = NULL;
	gen->nlabel_stores = 0;
	store_close(store);
}

/* Under the tables lock: nobody is to look for what it was in gen. */
static void forget_was(struct ns *ns, const struct gen *gen)
{
	if (!gen->superseded)
		return;
	for (struct gen *g = ns->gen; g; g = g->next)
		for (struct object *o = g->objects; o; o = o->older)
			if (o->was && o->was->gen == gen)
				o->was = o->was->was;
}

void gen_free(struct ns *ns, struct gen *gen)
{
	struct object *o, *older;

	if (!gen)
		return;
	states_drop(ns, gen);
	pthread_rwlock_wrlock(&ns->tables);
	for (o = gen->objects; o; o = o->older)
		if (ns->pages[o->number / OBJECT_PAGE]
			     [o->number % OBJECT_PAGE] == o)
			object_number_give(ns, o->number);
	forget_was(ns, gen);
	pthread_rwlock_unlock(&ns->tables);
	for (o = gen->objects; o; o = older) {
		older = o->older;
		object_free(o);
	}
	close_stores(ns, gen);
	free(gen);
}

/* Is there a group of that name in the root? */
static int find_group(struct gen *gen, const char *name, struct obj_info *info,
		      bool *ret_found)
{
	int r = store_resolve(gen->store, gen->root->info.id, name, info);

	*ret_found = r == 0 && info->kind == OBJ_GROUP;
	return r < 0 && !is_damage(r) ? r : 0;
}

static int find_model(struct gen *gen)
{
	static const char *const names[] = { "model_config", "layer_names",
					     "layer_names0", "keras_version",
					     "weight_names", NULL };
	struct facts root = { 0 }, weights = { 0 };
	struct object fake = { .gen = gen };
	struct obj_info info;
	bool has_weights = false, has_dependencies = false;
	int r = facts_load(gen, gen->root, names, &root, NULL);

	if (r < 0)
		return r;
	r = find_group(gen, "model_weights", &fake.info, &has_weights);
	if (r == 0 && has_weights)
		r = facts_load(gen, &fake, names, &weights, NULL);
	if (r == 0)
		r = find_group(gen, "_layer_checkpoint_dependencies", &info,
			       &has_dependencies);
	if (r < 0) {
		facts_done(&root);
		facts_done(&weights);
		return r;
	}
	gen->model = layout_is_model(&root, has_weights ? &weights : NULL,
				     has_dependencies);
	facts_done(&root);
	facts_done(&weights);
	return 0;
}

static int open_label_stores(struct ns *ns, struct gen *gen, char **ret_why)
{
	struct ns_rules *rules = &ns->opts.labels;

	for (size_t i = 0; i < rules->count; i++) {
		struct store_options so = { .external = EXTERNAL_INSIDE,
					    .cache = ns->cache,
					    .points = ns->points,
					    .pool = ns->pool,
					    .faults = ns->faults };
		char *colon = strchr(rules->rules[i].value, ':');
		struct label_store *grown, *ls;
		CLEANUP(freep) char *why = NULL;
		CLEANUP(freep) char *full = NULL;
		int r;

		if (!colon)
			continue;
		grown = realloc(gen->label_stores,
				(gen->nlabel_stores + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		gen->label_stores = grown;
		ls = &grown[gen->nlabel_stores];
		ls->file = strndup(rules->rules[i].value,
				   (size_t)(colon - rules->rules[i].value));
		if (!ls->file)
			return -ENOMEM;
		if (*ls->file == '/') {
			full = strdup(ls->file);
		} else { /* beside FILE */
			const char *slash = strrchr(ns->file, '/');

			if (asprintf(&full, "%.*s/%s", (int)(slash - ns->file),
				     ns->file, ls->file) < 0)
				full = NULL;
		}
		r = full ? store_open(full, &so, &ls->store, &why) : -ENOMEM;
		if (r < 0) {
			if (asprintf(ret_why, "%s%s: labels file %s: %s",
				     rules->rules[i].origin,
				     rules->rules[i].path, ls->file,
				     why ? why : strerror(-r)) < 0)
				*ret_why = NULL;
			free(ls->file);
			return r;
		}
		gen->nlabel_stores++;
	}
	return 0;
}

int gen_open(struct ns *ns, struct gen **ret_gen, char **ret_why)
{
	struct store_options so = { .external = ns->opts.external,
				    .cache = ns->cache,
				    .points = ns->points,
				    .pool = ns->pool,
				    .faults = ns->faults,
				    .beside =
					    ns->detached ? NULL : ns->writer };
	struct gen *gen = calloc(1, sizeof(*gen));
	struct obj_info info;
	int r;

	if (!gen)
		return -ENOMEM;
	gen->faults = ns->faults;
	r = store_open(ns->file, &so, &gen->store, ret_why);
	if (r == 0)
		r = store_root(gen->store, &info);
	if (r == 0)
		r = object_new(ns, gen, OBJECT_GROUP, NULL, "", &info,
			       &gen->root);
	if (r == 0)
		r = open_label_stores(ns, gen, ret_why);
	if (r == 0)
		r = find_model(gen);
	if (r == 0)
		r = group_load(ns, gen->root, GROUP_ENTRIES);
	if (r < 0) {
		gen_free(ns, gen);
		return r;
	}
	*ret_gen = gen;
	return 0;
}

/* Nobody reads a superseded generation: only its names are still of use. */
static void close_superseded(struct ns *ns)
{
	for (struct gen *g = ns->gen->next; g; g = g->next) {
		bool unused;

		pthread_rwlock_wrlock(&ns->tables);
		unused = g->superseded &&
			 !__atomic_load_n(&g->users, __ATOMIC_ACQUIRE);
		pthread_rwlock_unlock(&ns->tables);
		if (unused && g->store) {
			states_drop(ns, g);
			close_stores(ns, g);
		}
	}
}

/* Old generations that nobody needs any more, newest first: what an object was in
 * the older ones is known by the newer. Under ns.refresh. */
static void sweep(struct ns *ns)
{
	struct gen *dead = NULL, **last = &dead;

	pthread_rwlock_wrlock(&ns->tables);
	for (struct gen **p = &ns->gen->next; *p;) {
		struct gen *g = *p;

		if (__atomic_load_n(&g->lookups, __ATOMIC_ACQUIRE) ||
		    __atomic_load_n(&g->users, __ATOMIC_ACQUIRE)) {
			p = &g->next;
			continue;
		}
		*p = g->next;
		g->next = NULL;
		*last = g;
		last = &g->next;
	}
	pthread_rwlock_unlock(&ns->tables);
	while (dead) {
		struct gen *next = dead->next;

		gen_free(ns, dead);
		dead = next;
	}
	close_superseded(ns);
}

static void put_names(const struct gen *gen, struct strbuf *out)
{
	const struct group *g = gen->root->group;

	for (size_t i = 0; g && i < g->nentries; i++)
		strbuf_put(out, g->entries[i].name,
			   strlen(g->entries[i].name) + 1);
}

/* FILE, or a file of labels? */
static bool has_changed(struct gen *gen)
{
	bool changed = store_check(gen->store) != STORE_SAME;

	for (size_t i = 0; i < gen->nlabel_stores; i++)
		changed = changed ||
			  store_check(gen->label_stores[i].store) != STORE_SAME;
	return changed;
}

#define RETRY_MS 1000 /* after a try that failed, or a look at a SWMR writer */

/* Under the tables lock. Objects were made children after parents, and are kept
 * newest first. */
static int adopt_all(struct ns *ns, struct gen *gen)
{
	struct object **all, *o;
	size_t n = 0;

	for (o = gen->objects; o; o = o->older)
		n++;
	all = malloc((n + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (o = gen->objects, n = 0; o; o = o->older)
		all[n++] = o;
	while (n)
		object_adopt(ns, all[--n]);
	free(all);
	return 0;
}

/* Does a generation that comes after a commit of this mount go on where the
 * last one was? */
static int supersede(struct ns *ns, struct gen *gen)
{
	int r;

	pthread_rwlock_wrlock(&ns->tables);
	gen->root->was = ns->gen->root;
	r = adopt_all(ns, gen);
	if (r == 0) {
		ns->gen->superseded = true;
		gen->next = ns->gen;
		ns->gen = gen;
	}
	pthread_rwlock_unlock(&ns->tables);
	if (r < 0)
		gen_free(ns, gen);
	return r;
}

static int open_next(struct ns *ns)
{
	CLEANUP(freep) char *why = NULL;
	struct gen *gen = NULL;
	bool own = ns->writer && !ns->detached &&
		   store_check(ns->gen->store) == STORE_CHANGED;
	int r;

	if (ns->writer &&
	    !own) { /* the writer has the file that was replaced */
		__atomic_store_n(&ns->detached, true, __ATOMIC_RELEASE);
		(void)faults_add(ns->faults, ns->file,
				 "another file has taken its name; nothing can "
				 "be written to it",
				 "unmount and mount it again");
	}
	r = gen_open(ns, &gen, &why);
	if (r < 0) {
		log_debug("%s: %s", ns->file, why ? why : strerror(-r));
		return r;
	}
	sets_forget(ns); /* they would hold the old generation */
	if (own)
		return supersede(ns, gen);
	rownames_forget(ns);
	put_names(ns->gen, &ns->stale_names);
	put_names(gen, &ns->stale_names);
	/* what answers without being listed */
	strbuf_put(&ns->stale_names, ".attrs", sizeof(".attrs"));
	strbuf_put(&ns->stale_names, ".by-class", sizeof(".by-class"));
	pthread_rwlock_wrlock(&ns->tables);
	gen->next = ns->gen;
	ns->gen = gen;
	pthread_rwlock_unlock(&ns->tables);
	return 0;
}

int refresh_now(struct ns *ns)
{
	int64_t since;
	LOCK_SCOPE(&ns->refresh);

	if (!has_changed(ns->gen))
		return 0;
	/* many may wait here for a file that is being written */
	since = now_ms() - ns->refreshed_ms;
	if (since < RETRY_MS && ns->refresh_error < 0)
		return ns->refresh_error;
	if (since < RETRY_MS && store_is_swmr(ns->gen->store))
		return 0;
	/* a writer may write again between the opening and the first look */
	for (unsigned i = 0; i < 3; i++) {
		ns->refresh_error = open_next(ns);
		if (ns->refresh_error != -ESTALE)
			break;
	}
	ns->refreshed_ms = now_ms();
	if (ns->refresh_error == 0 && ns->writer)
		sweep(ns);
	return ns->refresh_error;
}

int ns_refresh(struct ns *ns, struct strbuf *ret_names)
{
	int r = refresh_now(ns);
	LOCK_SCOPE(&ns->refresh);

	sweep(ns);
	if (ns->stale_names.len) { /* a lookup may have refreshed before us */
		strbuf_put(ret_names, ns->stale_names.buf, ns->stale_names.len);
		strbuf_done(&ns->stale_names);
		return strbuf_error(ret_names) < 0 ? -ENOMEM : 1;
	}
	return r;
}
