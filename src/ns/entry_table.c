/* SPDX-License-Identifier: MIT */
/* entry_table.c - the entries of a group by their names. */
#include <stdio.h>

#include "ns_int.h"

static uint32_t hash_name(const char *name)
{
	return (uint32_t)hash_bytes(name, strlen(name), 7);
}

const struct entry *group_find(const struct group *g, const char *name)
{
	if (!g->nhash)
		return NULL;
	for (uint32_t i = hash_name(name) & (g->nhash - 1); g->hash[i];
	     i = (i + 1) & (g->nhash - 1))
		if (!strcmp(g->entries[g->hash[i] - 1].name, name))
			return &g->entries[g->hash[i] - 1];
	return NULL;
}

/* With any suffix: what it leads to may have been there, or come yet. */
const struct entry *group_find_dangling(const struct group *g, const char *name)
{
	const char *dot = name_has_suffix(name) ? strrchr(name, '.') : NULL;
	CLEANUP(freep)
	char *base = dot ? strndup(name, (size_t)(dot - name)) : NULL;
	const struct entry *e = base ? group_find(g, base) : NULL;

	return e && e->target && !e->to ? e : NULL;
}

/* An entry whose name is taken gets the dot of its suffix escaped: a sample
 * directory `d.png` beside a picture `d`. */
static int make_unique(struct entry *e)
{
	const char *dot = strrchr(e->name, '.');
	char *other = NULL;

	if ((dot ? asprintf(&other, "%.*s%%2E%s", (int)(dot - e->name), e->name,
			    dot + 1)
		 : asprintf(&other, "%s%%2E", e->name)) < 0)
		return -ENOMEM;
	free(e->name);
	e->name = other;
	return 0;
}

int entries_index(struct group *g)
{
	uint32_t size = 16;

	while (size < g->nentries * 2)
		size *= 2;
	g->hash = calloc(size, sizeof(*g->hash));
	if (!g->hash)
		return -ENOMEM;
	g->nhash = size;
	for (size_t n = 0; n < g->nentries; n++) {
		uint32_t i;

		for (unsigned tries = 0;
		     group_find(g, g->entries[n].name) && tries < 8; tries++)
			if (make_unique(&g->entries[n]) < 0)
				break;
		i = hash_name(g->entries[n].name) & (size - 1);
		while (g->hash[i])
			i = (i + 1) & (size - 1);
		g->hash[i] = (uint32_t)n + 1;
	}
	return 0;
}

int entries_add(struct group *g, size_t *cap, const struct entry *e)
{
	if (!e->name) {
		free(e->target);
		return -ENOMEM;
	}
	if (g->nentries == *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		struct entry *grown =
			realloc(g->entries, more * sizeof(*grown));

		if (!grown) {
			free(e->name);
			free(e->target);
			return -ENOMEM;
		}
		g->entries = grown;
		*cap = more;
	}
	g->entries[g->nentries++] = *e;
	return 0;
}
