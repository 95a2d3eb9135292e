/* SPDX-License-Identifier: MIT */
/* marks.c - where listings of what is not numbered stopped: the name behind which
 * an offset of a directory goes on. A few are remembered; who asks for another
 * one walks from the start. */
#include "ns_int.h"

static int copy_name(const char *name, char **ret_name)
{
	*ret_name = name ? strdup(name) : NULL;
	return name && !*ret_name ? -ENOMEM : 0;
}

int mark_find(struct ns *ns, uint64_t dir, uint64_t at, char **ret_after,
	      uint64_t *ret_at)
{
	LOCK_SCOPE(&ns->marks_lock);
	const struct list_mark *best = NULL;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(ns->marks); i++) {
		const struct list_mark *m = &ns->marks[i];

		if (m->after && m->dir == dir && m->at <= at &&
		    (!best || m->at > best->at))
			best = m;
	}
	r = copy_name(best ? best->after : NULL, ret_after);
	if (r == 0)
		*ret_at = best ? best->at : 0;
	return r;
}

void mark_put(struct ns *ns, uint64_t dir, uint64_t at, const char *after)
{
	LOCK_SCOPE(&ns->marks_lock);
	struct list_mark *m = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(ns->marks); i++)
		if (ns->marks[i].after && ns->marks[i].dir == dir &&
		    ns->marks[i].at == at)
			m = &ns->marks[i];
	if (!m)
		m = &ns->marks[ns->next_mark++ % ARRAY_SIZE(ns->marks)];
	free(m->after);
	*m = (struct list_mark){ dir, at, strdup(after) };
}

void marks_done(struct ns *ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(ns->marks); i++)
		free(ns->marks[i].after);
}
