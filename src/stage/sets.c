/* SPDX-License-Identifier: MIT */
/* sets.c - row sets, and which of their rows can be committed. What of it is
 * asked often is counted as rows come and go. */
#include "stage_int.h"

static int compare_key(const void *key, const struct sorted_node *n)
{
	return strcmp(key, container_of(n, struct row_set, node)->key);
}

static int compare_stem(const void *key, const struct sorted_node *n)
{
	const struct row *a = key, *b = container_of(n, struct row, by_stem);
	int c = strcmp(a->stem, b->stem);

	if (c == 0 && a->number != b->number)
		c = a->number < b->number ? -1 : 1;
	return c;
}

void sets_init(struct stage *s)
{
	s->sets.compare = compare_key;
}

struct row_set *sets_find(const struct stage *s, const char *key)
{
	struct sorted_node *n = sorted_find(&s->sets, key);

	return n ? container_of(n, struct row_set, node) : NULL;
}

struct row_set *sets_get(struct stage *s, const char *key)
{
	struct row_set *set = sets_find(s, key);
	size_t n = strlen(key) + 1;

	if (set)
		return set;
	set = calloc(1, sizeof(*set) + n);
	if (!set)
		return NULL;
	memcpy(set->key, key, n);
	set->stems.compare = compare_stem;
	sorted_add(&s->sets, key, &set->node);
	return set;
}

void sets_unrecord(struct stage *s)
{
	struct sorted_node *n = sorted_from(&s->sets, NULL);

	while (n) {
		struct row_set *set = container_of(n, struct row_set, node);

		set->recorded = false;
		n = sorted_after(&s->sets, set->key);
	}
}

void sets_free(struct stage *s)
{
	while (s->sets.root) {
		struct row_set *set =
			container_of(s->sets.root, struct row_set, node);

		sorted_remove(&s->sets, set->key);
		for (uint32_t i = 0; i < set->nmembers; i++) {
			free(set->members[i].path);
			free(set->members[i].name);
		}
		free(set->members);
		free(set);
	}
}

/* ---- members ---- */
int set_find_member(const struct row_set *set, const char *path,
		    uint32_t *ret_member)
{
	for (uint32_t i = 0; i < set->nmembers; i++) {
		if (strcmp(set->members[i].path, path) == 0) {
			*ret_member = i;
			return 0;
		}
	}
	return -ENOENT;
}

static int grow_members(struct row_set *set)
{
	uint32_t cap = set->member_cap ? set->member_cap * 2 : 4;
	struct set_member *grown;

	if (set->nmembers < set->member_cap)
		return 0;
	grown = reallocarray(set->members, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	set->members = grown;
	set->member_cap = cap;
	return 0;
}

int set_get_member(struct row_set *set, const char *path, uint32_t *ret_member)
{
	struct set_member m = { 0 };

	if (set_find_member(set, path, ret_member) == 0)
		return 0;
	m.path = strdup(path);
	m.name = strdup(path);
	if (!m.path || !m.name || grow_members(set) < 0) {
		free(m.path);
		free(m.name);
		return -ENOMEM;
	}
	*ret_member = set->nmembers;
	set->members[set->nmembers++] = m;
	return 0;
}

/* ---- what was said of a set ---- */
static const struct stage_member *find_given(const struct stage_set *given,
					     const char *path)
{
	for (unsigned i = 0; i < given->nmembers; i++)
		if (strcmp(given->members[i].path, path) == 0)
			return &given->members[i];
	return NULL;
}

static bool same_member(const struct set_member *m,
			const struct stage_member *given)
{
	if (!given)
		return !m->wanted;
	return m->wanted && m->chunk_rows == given->chunk_rows &&
	       strcmp(m->name, given->name) == 0;
}

bool set_differs(const struct row_set *set, const struct stage_set *given)
{
	uint32_t unused;

	for (unsigned i = 0; i < given->nmembers; i++)
		if (set_find_member(set, given->members[i].path, &unused) < 0)
			return true;
	for (uint32_t i = 0; i < set->nmembers; i++)
		if (!same_member(&set->members[i],
				 find_given(given, set->members[i].path)))
			return true;
	return false;
}

static int take_names(struct row_set *set, const struct stage_set *given)
{
	for (unsigned i = 0; i < given->nmembers; i++) {
		char *name = strdup(given->members[i].name);
		uint32_t at;

		if (!name ||
		    set_get_member(set, given->members[i].path, &at) < 0) {
			free(name);
			return -ENOMEM;
		}
		free(set->members[at].name);
		set->members[at].name = name;
	}
	return 0;
}

int set_take(struct stage *s, struct row_set *set,
	     const struct stage_set *given)
{
	int r = take_names(set, given);

	if (r < 0)
		return r;
	for (struct row *x = s->first; x; x = x->next)
		if (x->set == set)
			row_uncount(s, x);
	set->chunk = 0;
	for (uint32_t i = 0; i < set->nmembers; i++) {
		struct set_member *m = &set->members[i];
		const struct stage_member *now = find_given(given, m->path);

		m->wanted = now != NULL;
		m->chunk_rows = now ? now->chunk_rows : 0;
		if (m->chunk_rows > set->chunk)
			set->chunk = m->chunk_rows;
	}
	for (struct row *x = s->first; x; x = x->next)
		if (x->set == set)
			row_count(s, x);
	set_rows(s, set, given->rows);
	return 0;
}

/* ---- counts ---- */
static void set_update_full(struct stage *s, struct row_set *set)
{
	bool full = set->chunk &&
		    set->nready >= set->chunk - set->rows % set->chunk;

	if (full != set->full)
		s->nfull += full ? 1 : (uint64_t)-1;
	set->full = full;
}

void set_rows(struct stage *s, struct row_set *set, uint64_t rows)
{
	set->rows = rows;
	set_update_full(s, set);
}

/* Nothing is complete of a set that nobody has described. */
static bool is_complete(const struct row *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->set->nmembers; i++) {
		if (!r->set->members[i].wanted)
			continue;
		any = true;
		if (!row_value(r, i))
			return false;
	}
	return any;
}

static uint64_t bytes_of(const struct row *r)
{
	uint64_t n = PUT_OVERHEAD;

	for (uint32_t i = 0; i < r->nvalues; i++)
		n += r->values[i].size;
	return n;
}

static void link_waiting(struct stage *s, struct row *r)
{
	r->prev_waiting = NULL;
	r->next_waiting = s->waiting;
	if (s->waiting)
		s->waiting->prev_waiting = r;
	s->waiting = r;
}

static void unlink_waiting(struct stage *s, struct row *r)
{
	if (r->prev_waiting)
		r->prev_waiting->next_waiting = r->next_waiting;
	else
		s->waiting = r->next_waiting;
	if (r->next_waiting)
		r->next_waiting->prev_waiting = r->prev_waiting;
}

void row_count(struct stage *s, struct row *r)
{
	r->complete = is_complete(r);
	r->ready = r->complete && !r->holds && !r->busy;
	s->live += bytes_of(r);
	s->nrows += row_left(r);
	r->set->nstaged += row_left(r);
	if (!r->complete) {
		s->nwaiting += row_left(r);
		link_waiting(s, r);
	}
	if (r->ready) {
		s->nready += row_left(r);
		r->set->nready += row_left(r);
		set_update_full(s, r->set);
	}
}

void row_uncount(struct stage *s, struct row *r)
{
	s->live -= bytes_of(r);
	s->nrows -= row_left(r);
	r->set->nstaged -= row_left(r);
	if (!r->complete) {
		s->nwaiting -= row_left(r);
		unlink_waiting(s, r);
	}
	if (r->ready) {
		s->nready -= row_left(r);
		r->set->nready -= row_left(r);
		set_update_full(s, r->set);
	}
}
