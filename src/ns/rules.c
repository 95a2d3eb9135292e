/* SPDX-License-Identifier: MIT */
/* rules.c - what the user says of a path: layout, range, labels. Rules of the
 * command line come before those of FILE.h5fs; the first that fits wins. */
#include <fnmatch.h>
#include <stdio.h>

#include "ns_int.h"

bool glob_match(const char *pattern, const char *text)
{
	/* only * and ? are special, and * stops at a slash */
	struct strbuf p = STRBUF_INIT;
	bool yes;

	if (*pattern != '/')
		strbuf_putc(&p, '/');
	for (; *pattern; pattern++) {
		if (*pattern == '[' || *pattern == '\\')
			strbuf_putc(&p, '\\');
		strbuf_putc(&p, *pattern);
	}
	yes = strbuf_error(&p) == 0 && fnmatch(p.buf, text, FNM_PATHNAME) == 0;
	strbuf_done(&p);
	return yes;
}

static struct ns_rule *find(struct ns_rules *rules, const char *path)
{
	for (size_t i = 0; i < rules->count; i++)
		if (glob_match(rules->rules[i].path, path))
			return &rules->rules[i];
	return NULL;
}

void rule_match_free(struct rule_match *m)
{
	if (!m)
		return;
	free(m->layout.layout);
	free(m);
}

struct rule_match *rules_match(struct ns *ns, const char *path)
{
	struct ns_rule *layout = find(&ns->opts.layout, path);
	struct ns_rule *range = find(&ns->opts.range, path);
	struct ns_rule *labels = find(&ns->opts.labels, path);
	struct ns_rule *names = find(&ns->opts.names, path);
	struct rule_match *m;

	if (!layout && !range && !labels && !names)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->labels = labels;
	m->names = names;
	if (layout)
		m->layout.layout = strdup(layout->value);
	if (range) /* checked when the option was set */
		m->layout.has_range =
			sscanf(range->value, "%lf:%lf", &m->layout.range_lo,
			       &m->layout.range_hi) == 2;
	return m;
}
