/* SPDX-License-Identifier: MIT */
/* eph.c - nodes that are not arithmetic: slices and queries. A slot lives as
 * long as the kernel holds references to its nodes, and pins its generation for
 * as long. */
#include <stdio.h>

#include "ns_int.h"

#define NO_SLOT UINT32_MAX

static void slot_clear(struct ephemeral *e)
{
	free(e->key);
	for (size_t i = 0; i < e->nlinks; i++) {
		free(e->links[i].name);
		free(e->links[i].target);
	}
	free(e->links);
	memset(e, 0, sizeof(*e));
}

struct ephemeral *eph_find(struct ns *ns, uint32_t slot)
{
	return slot < ns->neph && ns->eph[slot].object ? &ns->eph[slot] : NULL;
}

/* ---- chains by hash; all under the tables lock ---- */

static uint64_t hash_of(const struct object *o, uint8_t view, const char *key)
{
	return hash_bytes(key, strlen(key), hash_mix((uintptr_t)o, view));
}

static uint32_t *chain_of(struct ns *ns, uint64_t hash)
{
	return &ns->eph_chains[hash & (ns->neph_chains - 1)];
}

static void chain_add(struct ns *ns, uint32_t slot)
{
	uint32_t *head = chain_of(ns, ns->eph[slot].hash);

	ns->eph[slot].next_same = *head;
	*head = slot + 1;
}

static void chain_remove(struct ns *ns, uint32_t slot)
{
	uint32_t *at = chain_of(ns, ns->eph[slot].hash);

	while (*at != slot + 1)
		at = &ns->eph[*at - 1].next_same;
	*at = ns->eph[slot].next_same;
}

static bool chains_grow(struct ns *ns, uint32_t n)
{
	uint32_t *chains = calloc(n, sizeof(*chains));

	if (!chains)
		return false;
	free(ns->eph_chains);
	ns->eph_chains = chains;
	ns->neph_chains = n;
	for (uint32_t i = 0; i < ns->neph; i++)
		if (ns->eph[i].object)
			chain_add(ns, i);
	return true;
}

/* A live slot of the same object, view and key. */
static uint32_t find_same(struct ns *ns, const struct object *o, uint8_t view,
			  const char *key, uint64_t hash)
{
	uint32_t i = ns->neph_chains ? *chain_of(ns, hash) : 0;

	for (; i; i = ns->eph[i - 1].next_same) {
		const struct ephemeral *e = &ns->eph[i - 1];

		if (e->hash == hash && e->object == o && e->view == view &&
		    !strcmp(e->key, key))
			return i - 1;
	}
	return NO_SLOT;
}

/* ---- slots ---- */

static uint32_t take_slot(struct ns *ns)
{
	uint32_t slot = ns->eph_free;
	struct ephemeral *grown;

	if (slot != NO_SLOT) {
		ns->eph_free = ns->eph[slot].next_free;
		return slot;
	}
	if (ns->neph == NODE_MAX_EPHEMERAL)
		return NO_SLOT;
	if ((ns->neph & (ns->neph + 1)) == 0) { /* 0, 1, 3, 7 ...: full */
		grown = realloc(ns->eph,
				(2 * (size_t)ns->neph + 1) * sizeof(*grown));
		if (!grown)
			return NO_SLOT;
		ns->eph = grown;
		if (!chains_grow(ns, ns->neph + 1))
			return NO_SLOT;
	}
	return ns->neph++;
}

static void take_reference(struct ns *ns, uint32_t slot, struct node *ret_node)
{
	struct ephemeral *e = &ns->eph[slot];

	e->refs++;
	__atomic_fetch_add(&e->object->gen->lookups, 1, __ATOMIC_ACQ_REL);
	*ret_node = (struct node){ NODE_EPHEMERAL + slot, e->view, 0 };
}

int eph_lookup(struct ns *ns, struct object *o, uint8_t view, const char *key,
	       struct node *ret_node)
{
	uint64_t hash = hash_of(o, view, key);
	uint32_t slot;

	pthread_rwlock_wrlock(&ns->tables);
	slot = find_same(ns, o, view, key, hash);
	if (slot != NO_SLOT)
		take_reference(ns, slot, ret_node);
	pthread_rwlock_unlock(&ns->tables);
	return slot == NO_SLOT ? -ENOENT : 0;
}

int eph_get(struct ns *ns, struct object *o, uint8_t view, const char *key,
	    struct ephemeral *make, struct node *ret_node)
{
	uint64_t hash = hash_of(o, view, key);
	char *copy = strdup(key);
	uint32_t slot;

	if (!copy) {
		slot_clear(make);
		return -ENOMEM;
	}
	pthread_rwlock_wrlock(&ns->tables);
	slot = find_same(ns, o, view, key, hash);
	if (slot == NO_SLOT) {
		slot = take_slot(ns);
		if (slot != NO_SLOT) {
			ns->eph[slot] = *make;
			memset(make, 0, sizeof(*make));
			ns->eph[slot].object = o;
			ns->eph[slot].view = view;
			ns->eph[slot].key = copy;
			ns->eph[slot].hash = hash;
			o->ephemerals++;
			chain_add(ns, slot);
			copy = NULL;
		}
	}
	if (slot != NO_SLOT)
		take_reference(ns, slot, ret_node);
	pthread_rwlock_unlock(&ns->tables);
	slot_clear(make);
	free(copy);
	return slot == NO_SLOT ? -ENOSPC : 0;
}

void eph_forget(struct ns *ns, uint32_t slot, uint64_t n)
{
	struct ephemeral *e;

	pthread_rwlock_wrlock(&ns->tables);
	e = eph_find(ns, slot);
	if (e) {
		if (n > e->refs)
			n = e->refs;
		e->refs -= n;
		__atomic_fetch_sub(&e->object->gen->lookups, n,
				   __ATOMIC_ACQ_REL);
		if (e->refs == 0) {
			chain_remove(ns, slot);
			e->object->ephemerals--;
			slot_clear(e);
			e->next_free = ns->eph_free;
			ns->eph_free = slot;
		}
	}
	pthread_rwlock_unlock(&ns->tables);
}

void eph_rebase(struct ns *ns, struct object *from, struct object *to)
{
	for (uint32_t i = 0; i < ns->neph && from->ephemerals; i++) {
		struct ephemeral *e = &ns->eph[i];

		if (e->object != from)
			continue;
		chain_remove(ns, i);
		e->object = to;
		e->hash = hash_of(to, e->view, e->key);
		chain_add(ns, i);
		from->ephemerals--;
		to->ephemerals++;
		__atomic_fetch_sub(&from->gen->lookups, e->refs,
				   __ATOMIC_ACQ_REL);
		__atomic_fetch_add(&to->gen->lookups, e->refs,
				   __ATOMIC_ACQ_REL);
	}
}

void eph_free_all(struct ns *ns)
{
	for (uint32_t i = 0; i < ns->neph; i++)
		slot_clear(&ns->eph[i]);
	free(ns->eph);
	free(ns->eph_chains);
	ns->eph = NULL;
	ns->eph_chains = NULL;
	ns->neph = ns->neph_chains = 0;
}
