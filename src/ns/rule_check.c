/* SPDX-License-Identifier: MIT */
/* rule_check.c - do the user's rules match anything, and can they hold? */
#include <stdio.h>

#include "labels_int.h"

/* NULL, or why the rule can not hold for the object that its path names. */
typedef char *(*rule_fn)(struct ns *ns, struct object *o,
			 const struct ns_rule *rule);

static char *layout_holds(struct ns *ns, struct object *o,
			  const struct ns_rule *rule)
{
	(void)ns;
	if (o->layout->kind == LAYOUT_NONE && !strcmp(o->layout->rule, "R1") &&
	    strcmp(rule->value, "none"))
		return strdup(*o->layout->why ? o->layout->why
					      : "it does not fit");
	return NULL;
}

static char *range_holds(struct ns *ns, struct object *o,
			 const struct ns_rule *rule)
{
	(void)ns, (void)rule;
	return o->layout->kind == LAYOUT_PICTURES
		       ? NULL
		       : strdup("it is not shown as pictures; layout= makes it so");
}

static char *labels_hold(struct ns *ns, struct object *o,
			 const struct ns_rule *rule)
{
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	char *text = NULL;
	int n;

	if (o->labelled)
		return NULL;
	if (label_open(ns, o, &d) < 0)
		n = asprintf(&text, "there is no dataset %s", rule->value);
	else if (dset_info(d)->rank == 0 || dset_info(d)->dims[0] != o->count)
		n = asprintf(
			&text, "%s has %llu rows, its pictures are %llu",
			rule->value,
			(unsigned long long)(dset_info(d)->rank
						     ? dset_info(d)->dims[0]
						     : 1),
			(unsigned long long)o->count);
	else
		n = asprintf(&text,
			     "%s holds neither whole numbers nor strings "
			     "nor one-hot rows",
			     rule->value);
	return n < 0 ? NULL : text;
}

static char *names_hold(struct ns *ns, struct object *o,
			const struct ns_rule *rule)
{
	char *text = NULL;

	if (rownames_are_text(rownames_member(ns, o)))
		return NULL;
	if (asprintf(&text, "%s is not a dataset of one string a row beside it",
		     rule->value) < 0)
		return NULL;
	return text;
}

/* Whether its datasets are one row set is looked at when something is copied in. */
static char *rows_hold(struct ns *ns, struct object *o,
		       const struct ns_rule *rule)
{
	(void)ns, (void)o, (void)rule;
	return NULL;
}

struct rule_check {
	const struct ns_rule *first; /* of the list that rule is in */
	const struct ns_rule *rule;
	enum object_kind kind; /* of what it is for */
	rule_fn holds;
	bool found;
	char *why; /* the rule names one object, and can not hold for it */
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

/* Any object of the kind at or below o whose path fits. The walk goes only where the
 * pattern can lead. */
static int check_below(struct ns *ns, struct object *o, unsigned depth,
		       struct rule_check *c)
{
	CLEANUP(freep) char *path = object_path(o);
	int r;

	if (!path)
		return -ENOMEM;
	if (o->kind == c->kind && glob_match(c->rule->path, path)) {
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
		       enum object_kind kind, rule_fn holds, char **ret_why)
{
	for (size_t i = 0; i < rules->count; i++) {
		struct rule_check c = { rules->rules, &rules->rules[i],
					kind,	      holds,
					false,	      NULL };
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
			     c.why ? c.why
			     : kind == OBJECT_GROUP
				     ? "no group has this path"
				     : "no dataset has this path",
			     ns->file) < 0)
			*ret_why = NULL;
		free(c.why);
		return -ENOENT;
	}
	return 0;
}

int rules_check(struct ns *ns, char **ret_why)
{
	const struct {
		const struct ns_rules *rules;
		enum object_kind kind;
		rule_fn holds;
	} lists[] = {
		{ &ns->opts.layout, OBJECT_DATASET, layout_holds },
		{ &ns->opts.range, OBJECT_DATASET, range_holds },
		{ &ns->opts.labels, OBJECT_DATASET, labels_hold },
		{ &ns->opts.names, OBJECT_DATASET, names_hold },
		{ &ns->opts.rows, OBJECT_GROUP, rows_hold },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lists) && r == 0; i++)
		r = check_rules(ns, lists[i].rules, lists[i].kind,
				lists[i].holds, ret_why);
	return r;
}
