/* SPDX-License-Identifier: MIT */
/* ns.c - opens and closes the tree; generations of FILE, objects and nodes.
 *
 * FILE changes underneath: a change makes a new generation with new object
 * numbers; an old one stays as long as the kernel holds references to its nodes
 * or a call is under way in it. */
#include <stdio.h>
#include <time.h>

#include "ns_int.h"

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- objects ---- */

static void object_free(struct object *o)
{
	if (o->kind == OBJECT_GROUP)
		group_free(o->group);
	rule_match_free(o->rules);
	free(o->label);
	free(o->name);
	free(o);
}

/* Under the tables lock. UINT32_MAX: all are in use. */
static uint32_t take_number(struct ns *ns)
{
	uint32_t page = ns->nobjects / OBJECT_PAGE;

	if (ns->nfree)
		return ns->free_numbers[--ns->nfree];
	if (ns->nobjects == NODE_EPHEMERAL)
		return UINT32_MAX;
	if (!ns->pages[page])
		ns->pages[page] = calloc(OBJECT_PAGE, sizeof(*ns->pages[page]));
	return ns->pages[page] ? ns->nobjects++ : UINT32_MAX;
}

/* A number is given back when its generation goes: the kernel holds no reference
 * to any of its nodes then. */
static void give_number(struct ns *ns, uint32_t number)
{
	ns->pages[number / OBJECT_PAGE][number % OBJECT_PAGE] = NULL;
	if (ns->nfree == ns->free_cap) {
		uint32_t cap = ns->free_cap ? ns->free_cap * 2 : 1024;
		uint32_t *grown = realloc(ns->free_numbers, cap * sizeof(*grown));

		if (!grown)
			return; /* lost, not wrong */
		ns->free_numbers = grown;
		ns->free_cap = cap;
	}
	ns->free_numbers[ns->nfree++] = number;
}

int object_new(struct ns *ns, struct gen *gen, enum object_kind kind,
	       struct object *parent, const char *name,
	       const struct obj_info *info, struct object **ret_object)
{
	struct object *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->kind = kind;
	o->gen = gen;
	o->parent = parent;
	o->info = *info;
	o->name = strdup(name);
	if (!o->name) {
		free(o);
		return -ENOMEM;
	}
	pthread_rwlock_wrlock(&ns->tables);
	o->number = take_number(ns);
	if (o->number == UINT32_MAX) {
		pthread_rwlock_unlock(&ns->tables);
		object_free(o);
		return -ENOSPC;
	}
	o->serial = ++ns->serials;
	ns->pages[o->number / OBJECT_PAGE][o->number % OBJECT_PAGE] = o;
	o->older = gen->objects;
	gen->objects = o;
	gen->listed++;
	pthread_rwlock_unlock(&ns->tables);
	*ret_object = o;
	return 0;
}

char *object_path(const struct object *o)
{
	size_t len = 1;
	char *path, *p;

	for (const struct object *x = o; x->parent; x = x->parent)
		len += strlen(x->name) + 1;
	if (len == 1)
		return strdup("/");
	path = malloc(len);
	if (!path)
		return NULL;
	p = path + len - 1;
	*p = 0;
	for (const struct object *x = o; x->parent; x = x->parent) {
		size_t n = strlen(x->name);

		p -= n;
		memcpy(p, x->name, n);
		*--p = '/';
	}
	return path;
}

/* ---- pins ---- */

static struct object *find_object(struct ns *ns, uint32_t number)
{
	if (number == 0)
		return ns->gen->root;
	if (number >= ns->nobjects || !ns->pages[number / OBJECT_PAGE])
		return NULL;
	return ns->pages[number / OBJECT_PAGE][number % OBJECT_PAGE];
}

int pin_get(struct ns *ns, uint64_t ino, struct pin *ret_pin)
{
	struct pin p = { .ns = ns, .node = node_of(ino) };
	int r = 0;

	if (ino == 0)
		return -ENOENT;
	pthread_rwlock_rdlock(&ns->tables);
	if (p.node.object >= NODE_EPHEMERAL) {
		struct ephemeral *e =
			eph_find(ns, p.node.object - NODE_EPHEMERAL);

		p.object = e ? e->object : NULL;
	} else {
		p.object = find_object(ns, p.node.object);
	}
	if (p.object) {
		p.gen = p.object->gen;
		__atomic_fetch_add(&p.gen->users, 1, __ATOMIC_ACQ_REL);
	} else {
		r = -ENOENT;
	}
	pthread_rwlock_unlock(&ns->tables);
	if (r == 0)
		*ret_pin = p;
	return r;
}

void pin_done(struct pin *p)
{
	if (p->gen)
		__atomic_fetch_sub(&p->gen->users, 1, __ATOMIC_ACQ_REL);
	p->gen = NULL;
}

void ns_forget(struct ns *ns, uint64_t ino, uint64_t n)
{
	struct node node = node_of(ino);
	struct object *o;

	if (node.object >= NODE_EPHEMERAL) {
		eph_forget(ns, node.object - NODE_EPHEMERAL, n);
		return;
	}
	if (node.object == 0) /* the root has no count of its own */
		return;
	pthread_rwlock_rdlock(&ns->tables);
	o = find_object(ns, node.object);
	if (o)
		__atomic_fetch_sub(&o->gen->lookups, n, __ATOMIC_ACQ_REL);
	pthread_rwlock_unlock(&ns->tables);
}

/* ---- generations ---- */

static void gen_free(struct ns *ns, struct gen *gen)
{
	struct object *o, *older;

	if (!gen)
		return;
	states_drop(ns, gen);
	pthread_rwlock_wrlock(&ns->tables);
	for (o = gen->objects; o; o = o->older)
		give_number(ns, o->number);
	pthread_rwlock_unlock(&ns->tables);
	for (o = gen->objects; o; o = older) {
		older = o->older;
		object_free(o);
	}
	for (size_t i = 0; i < gen->nlabel_stores; i++) {
		store_close(gen->label_stores[i].store);
		free(gen->label_stores[i].file);
	}
	free(gen->label_stores);
	store_close(gen->store);
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

static int find_model(struct ns *ns, struct gen *gen)
{
	static const char *const names[] = {
		"model_config", "layer_names", "layer_names0", "keras_version",
		"weight_names", NULL
	};
	struct facts root = { 0 }, weights = { 0 };
	struct object fake = { .gen = gen };
	struct obj_info info;
	bool has_weights = false, has_dependencies = false;
	int r = facts_load(gen, gen->root, names, &root, NULL);

	(void)ns;
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
					    .faults = ns->faults };
		char *colon = strchr(rules->rules[i].value, ':');
		struct label_store *grown, *ls;
		CLEANUP(freep) char *why = NULL;
		CLEANUP(freep) char *full = NULL;
		int r;

		if (!colon)
			continue;
		grown = realloc(gen->label_stores, (gen->nlabel_stores + 1) *
						  sizeof(*grown));
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
				     rules->rules[i].origin, rules->rules[i].path,
				     ls->file, why ? why : strerror(-r)) < 0)
				*ret_why = NULL;
			free(ls->file);
			return r;
		}
		gen->nlabel_stores++;
	}
	return 0;
}

static int gen_open(struct ns *ns, struct gen **ret_gen, char **ret_why)
{
	struct store_options so = { .external = ns->opts.external,
				    .cache = ns->cache, .faults = ns->faults };
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
		r = find_model(ns, gen);
	if (r == 0)
		r = group_load(ns, gen->root, GROUP_ENTRIES);
	if (r < 0) {
		gen_free(ns, gen);
		return r;
	}
	*ret_gen = gen;
	return 0;
}

/* Old generations that nobody needs any more. */
static void sweep(struct ns *ns)
{
	struct gen *dead = NULL;

	pthread_rwlock_wrlock(&ns->tables);
	for (struct gen **p = &ns->gen->next; *p;) {
		struct gen *g = *p;

		if (__atomic_load_n(&g->lookups, __ATOMIC_ACQUIRE) ||
		    __atomic_load_n(&g->users, __ATOMIC_ACQUIRE)) {
			p = &g->next;
			continue;
		}
		*p = g->next;
		g->next = dead;
		dead = g;
	}
	pthread_rwlock_unlock(&ns->tables);
	while (dead) {
		struct gen *next = dead->next;

		gen_free(ns, dead);
		dead = next;
	}
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
		changed = changed || store_check(gen->label_stores[i].store) !=
					     STORE_SAME;
	return changed;
}

#define RETRY_MS 1000 /* after a try that failed, or a look at a SWMR writer */

static int open_next(struct ns *ns)
{
	CLEANUP(freep) char *why = NULL;
	struct gen *gen = NULL;
	int r = gen_open(ns, &gen, &why);

	if (r < 0) {
		log_debug("%s: %s", ns->file, why ? why : strerror(-r));
		return r;
	}
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
	ns->refresh_error = open_next(ns);
	ns->refreshed_ms = now_ms();
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

/* ---- open and close ---- */

static int set_owner(struct ns *ns)
{
	struct stat st;

	if (stat(ns->file, &st) < 0)
		return -errno;
	if (ns->opts.uid == (uid_t)-1)
		ns->opts.uid = st.st_uid;
	if (ns->opts.gid == (gid_t)-1)
		ns->opts.gid = st.st_gid;
	return 0;
}

static int rules_check(struct ns *ns, char **ret_why);

int ns_open(const char *file, const struct ns_options *opts, struct ns **ret_ns,
	    char **ret_why)
{
	CLEANUP(ns_closep) struct ns *ns = calloc(1, sizeof(*ns));
	int r;

	*ret_why = NULL;
	if (!ns)
		return -ENOMEM;
	pthread_mutex_init(&ns->load, NULL);
	pthread_mutex_init(&ns->refresh, NULL);
	pthread_rwlock_init(&ns->tables, NULL);
	pthread_mutex_init(&ns->states, NULL);
	pthread_mutex_init(&ns->control, NULL);
	ns->nobjects = 1; /* 0 is the current root */
	ns->eph_free = UINT32_MAX;
	ns->started_ms = now_ms();
	r = ns_options_copy(&ns->opts, opts);
	if (r < 0)
		return r;
	ns->file = realpath(file, NULL);
	if (!ns->file) {
		r = -errno;
		*ret_why = strdup(strerror(errno));
		return r;
	}
	r = set_owner(ns);
	if (r == 0)
		r = cache_new(ns->opts.cache_bytes, ns->opts.threads + 1,
			      &ns->cache);
	if (r == 0)
		r = faults_new(&ns->faults);
	if (r == 0)
		r = gen_open(ns, &ns->gen, ret_why);
	if (r == 0)
		r = rules_check(ns, ret_why);
	if (r < 0)
		return r;
	*ret_ns = TAKE(ns);
	return 0;
}

void ns_close(struct ns *ns)
{
	if (!ns)
		return;
	eph_free_all(ns);
	while (ns->gen) {
		struct gen *next = ns->gen->next;

		gen_free(ns, ns->gen);
		ns->gen = next;
	}
	free(ns->free_numbers);
	for (size_t i = 0; i < ARRAY_SIZE(ns->pages); i++)
		free(ns->pages[i]);
	for (size_t i = 0; i < CONTROLS; i++)
		blob_unref(ns->snapshots[i].bytes);
	cache_free(ns->cache);
	faults_free(ns->faults);
	ns_options_done(&ns->opts);
	pthread_mutex_destroy(&ns->load);
	pthread_mutex_destroy(&ns->refresh);
	strbuf_done(&ns->stale_names);
	pthread_rwlock_destroy(&ns->tables);
	pthread_mutex_destroy(&ns->states);
	pthread_mutex_destroy(&ns->control);
	free(ns->file);
	free(ns);
}

/* ---- do the user's rules match anything, and can they hold? ---- */

/* NULL, or why the rule can not hold for a dataset that its path names. */
typedef char *(*rule_fn)(struct ns *ns, struct object *o,
			 const struct ns_rule *rule);

static char *layout_holds(struct ns *ns, struct object *o,
			  const struct ns_rule *rule)
{
	(void)ns;
	if (o->layout->kind == LAYOUT_NONE && !strcmp(o->layout->rule, "R1") &&
	    strcmp(rule->value, "none"))
		return strdup(*o->layout->why ? o->layout->why : "it does not fit");
	return NULL;
}

static char *range_holds(struct ns *ns, struct object *o,
			 const struct ns_rule *rule)
{
	(void)ns, (void)rule;
	return o->layout->kind == LAYOUT_PICTURES ? NULL :
	       strdup("it is not shown as pictures; layout= makes it so");
}

static char *labels_hold(struct ns *ns, struct object *o,
			 const struct ns_rule *rule)
{
	char *text = NULL;

	(void)ns;
	if (o->labelled)
		return NULL;
	if (asprintf(&text, "%s does not hold one label for each of its %llu "
			    "samples", rule->value,
		     (unsigned long long)o->count) < 0)
		return NULL;
	return text;
}

static char *names_hold(struct ns *ns, struct object *o,
			const struct ns_rule *rule)
{
	char *text = NULL;

	if (rownames_member(ns, o))
		return NULL;
	if (asprintf(&text, "%s is not a dataset of one string a row beside it",
		     rule->value) < 0)
		return NULL;
	return text;
}

struct rule_check {
	const struct ns_rule *first; /* of the list that rule is in */
	const struct ns_rule *rule;
	rule_fn holds;
	bool found;
	char *why; /* the rule names one dataset, and can not hold for it */
};

/* Does a rule that comes before it take the path? */
static bool is_shadowed(const struct rule_check *c, const char *path)
{
	for (const struct ns_rule *r = c->first; r < c->rule; r++)
		if (glob_match(r->path, path))
			return true;
	return false;
}

/* Can a path below this group fit? Its components fit the pattern's first. */
static bool leads_on(const char *pattern, const char *path)
{
	CLEANUP(freep) char *head = strdup(pattern);
	char *end = head;

	if (!head || !strcmp(path, "/"))
		return true;
	end += *end == '/';
	for (const char *p = path; *p; p++)
		if (*p == '/' && p > path && end)
			end = strchr(end, '/') ? strchr(end, '/') + 1 : NULL;
	end = end ? strchr(end, '/') : NULL;
	if (!end)
		return false;
	*end = 0;
	return glob_match(head, path);
}

/* Any dataset at or below o whose path fits. The walk goes only where the
 * pattern can lead. */
static int check_below(struct ns *ns, struct object *o, unsigned depth,
		       struct rule_check *c)
{
	CLEANUP(freep) char *path = object_path(o);
	int r;

	if (!path)
		return -ENOMEM;
	if (o->kind == OBJECT_DATASET && glob_match(c->rule->path, path)) {
		c->found = true;
		if (!strpbrk(c->rule->path, "*?") && !is_shadowed(c, path))
			c->why = c->holds(ns, o, c->rule);
	}
	if (o->kind != OBJECT_GROUP || c->found || depth == 0 ||
	    !leads_on(c->rule->path, path))
		return 0;
	r = group_load(ns, o, GROUP_DECIDED);
	if (r < 0)
		return is_damage(r) ? 0 : r;
	for (size_t i = 0; i < o->group->nchildren && !c->found; i++) {
		struct child *child = &o->group->children[i];

		if (child->kind != CHILD_OBJECT)
			continue;
		r = check_below(ns, child->object, depth - 1, c);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_rules(struct ns *ns, const struct ns_rules *rules,
		       rule_fn holds, char **ret_why)
{
	for (size_t i = 0; i < rules->count; i++) {
		struct rule_check c = { rules->rules, &rules->rules[i], holds,
					false, NULL };
		const char *p = c.rule->path;
		unsigned depth = *p == '/' ? 0 : 1;
		int r;

		for (; *p; p++)
			depth += *p == '/';
		r = check_below(ns, ns->gen->root, depth, &c);
		if (r < 0)
			return r;
		if (c.found && !c.why)
			continue;
		if (asprintf(ret_why, "%s%s: %s; see: h5fs info %s",
			     c.rule->origin, c.rule->path,
			     c.why ? c.why : "no dataset has this path",
			     ns->file) < 0)
			*ret_why = NULL;
		free(c.why);
		return -ENOENT;
	}
	return 0;
}

static int rules_check(struct ns *ns, char **ret_why)
{
	int r = check_rules(ns, &ns->opts.layout, layout_holds, ret_why);

	if (r == 0)
		r = check_rules(ns, &ns->opts.range, range_holds, ret_why);
	if (r == 0)
		r = check_rules(ns, &ns->opts.labels, labels_hold, ret_why);
	if (r == 0)
		r = check_rules(ns, &ns->opts.names, names_hold, ret_why);
	return r;
}

const char *ns_file(const struct ns *ns)
{
	return ns->file;
}

struct faults *ns_faults(struct ns *ns)
{
	return ns->faults;
}

int ns_statvfs(struct ns *ns, struct statvfs *ret_st)
{
	if (statvfs(ns->file, ret_st) < 0)
		return -errno;
	ret_st->f_flag |= ST_RDONLY;
	ret_st->f_namemax = 255;
	return 0;
}
