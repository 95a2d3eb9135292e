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
		grown = realloc(ns->eph, (2 * (size_t)ns->neph + 1) *
					 sizeof(*grown));
		if (!grown)
			return NO_SLOT;
		ns->eph = grown;
	}
	return ns->neph++;
}

/* Under the tables lock: a live slot of the same object, view and key. */
static uint32_t find_same(struct ns *ns, const struct object *o, uint8_t view,
			  const char *key)
{
	for (uint32_t i = 0; i < ns->neph; i++)
		if (ns->eph[i].object == o && ns->eph[i].view == view &&
		    !strcmp(ns->eph[i].key, key))
			return i;
	return NO_SLOT;
}

int eph_get(struct ns *ns, struct object *o, uint8_t view, const char *key,
	    struct ephemeral *make, struct node *ret_node)
{
	char *copy = strdup(key);
	uint32_t slot;

	if (!copy) {
		slot_clear(make);
		return -ENOMEM;
	}
	pthread_rwlock_wrlock(&ns->tables);
	slot = find_same(ns, o, view, key);
	if (slot == NO_SLOT) {
		slot = take_slot(ns);
		if (slot != NO_SLOT) {
			ns->eph[slot] = *make;
			memset(make, 0, sizeof(*make));
			ns->eph[slot].object = o;
			ns->eph[slot].view = view;
			ns->eph[slot].key = copy;
			copy = NULL;
		}
	}
	if (slot != NO_SLOT) {
		ns->eph[slot].refs++;
		__atomic_fetch_add(&o->gen->lookups, 1, __ATOMIC_ACQ_REL);
	}
	pthread_rwlock_unlock(&ns->tables);
	slot_clear(make);
	free(copy);
	if (slot == NO_SLOT)
		return -ENOSPC;
	*ret_node = (struct node){ NODE_EPHEMERAL + slot, view, 0 };
	return 0;
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
			slot_clear(e);
			e->next_free = ns->eph_free;
			ns->eph_free = slot;
		}
	}
	pthread_rwlock_unlock(&ns->tables);
}

void eph_free_all(struct ns *ns)
{
	for (uint32_t i = 0; i < ns->neph; i++)
		slot_clear(&ns->eph[i]);
	free(ns->eph);
	ns->eph = NULL;
	ns->neph = 0;
}
