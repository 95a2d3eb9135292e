/* SPDX-License-Identifier: MIT */
/* options.c - the options of the tree, from the command line and from FILE.h5fs
 * beside FILE: one table, a row an option. */
#include <math.h>
#include <stdio.h>

#include "ns_int.h"

#define SIDECAR_MAX (1u << 20)

void ns_options_init(struct ns_options *o)
{
	memset(o, 0, sizeof(*o));
	o->cache_bytes = 256ull << 20;
	o->points_bytes = NS_POINTS_DEFAULT;
	o->points_fd = -1;
	o->threads = 4;
	o->uid = (uid_t)-1; /* FILE's owner */
	o->gid = (gid_t)-1;
}

static struct ns_rules *all_rules(struct ns_options *o, size_t i)
{
	struct ns_rules *rules[] = { &o->layout, &o->range, &o->labels,
				     &o->names, &o->rows };

	return i < ARRAY_SIZE(rules) ? rules[i] : NULL;
}

void ns_options_done(struct ns_options *o)
{
	for (size_t i = 0; all_rules(o, i); i++) {
		struct ns_rules *r = all_rules(o, i);

		for (size_t k = 0; k < r->count; k++) {
			free(r->rules[k].path);
			free(r->rules[k].value);
			free((char *)r->rules[k].origin);
		}
		free(r->rules);
	}
	free(o->stage_dir);
	memset(o, 0, sizeof(*o));
}

static int add_rule(struct ns_rules *r, const char *path, size_t npath,
		    const char *value, const char *origin)
{
	struct ns_rule *grown =
		realloc(r->rules, (r->count + 1) * sizeof(*grown));
	struct ns_rule *n;

	if (!grown)
		return -ENOMEM;
	r->rules = grown;
	n = &grown[r->count];
	n->path = strndup(path, npath);
	n->value = strdup(value);
	n->origin = strdup(origin);
	if (!n->path || !n->value || !n->origin) {
		free(n->path);
		free(n->value);
		free((char *)n->origin);
		return -ENOMEM;
	}
	r->count++;
	return 0;
}

int ns_options_copy(struct ns_options *to, const struct ns_options *from)
{
	struct ns_options source = *from;

	*to = *from;
	for (size_t i = 0; all_rules(to, i); i++)
		memset(all_rules(to, i), 0, sizeof(struct ns_rules));
	to->stage_dir = NULL;
	if (from->stage_dir) {
		to->stage_dir = strdup(from->stage_dir);
		if (!to->stage_dir)
			return -ENOMEM;
	}
	for (size_t i = 0; all_rules(to, i); i++) {
		const struct ns_rules *r = all_rules(&source, i);

		for (size_t k = 0; k < r->count; k++)
			if (add_rule(all_rules(to, i), r->rules[k].path,
				     strlen(r->rules[k].path),
				     r->rules[k].value, r->rules[k].origin) < 0)
				return -ENOMEM;
	}
	return 0;
}

/* ---- values ---- */

struct row;
typedef int (*set_fn)(struct ns_options *o, const struct row *row,
		      const char *value, const char *origin, char **ret_why);
struct row {
	const char *key;
	set_fn set;
	size_t offset;	      /* of the rules in ns_options */
	const char *words[5]; /* the values of an enum, in its order */
	bool sidecar;
};

static int why(char **ret_why, const char *fmt, ...) PRINTF(2, 3);
static int why(char **ret_why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(ret_why, fmt, ap) < 0)
		*ret_why = NULL;
	va_end(ap);
	return -EINVAL;
}

static struct ns_rules *rules_of(struct ns_options *o, const struct row *row)
{
	return (struct ns_rules *)((char *)o + row->offset);
}

/* PATH:SPEC; a path may hold colons, so the first split whose right side is a
 * SPEC counts. */
static int set_layout(struct ns_options *o, const struct row *row,
		      const char *value, const char *origin, char **ret_why)
{
	const char *reason = NULL;

	for (const char *c = strchr(value, ':'); c; c = strchr(c + 1, ':'))
		if (c > value && layout_check_spec(c + 1, &reason) == 0)
			return add_rule(rules_of(o, row), value,
					(size_t)(c - value), c + 1, origin);
	return why(ret_why,
		   "%s; PATH:SPEC is wanted, such as /images:NHWC or "
		   "/x:flat:28x28",
		   reason ? reason : "no SPEC");
}

static int set_range(struct ns_options *o, const struct row *row,
		     const char *value, const char *origin, char **ret_why)
{
	const char *last = strrchr(value, ':'), *mid = NULL;
	double lo, hi;
	char *end;

	for (const char *p = value; last && p < last; p++)
		if (*p == ':')
			mid = p;
	if (!mid || mid == value)
		return why(ret_why, "PATH:MIN:MAX is wanted");
	lo = strtod(mid + 1, &end);
	if (end != last || end == mid + 1 || !isfinite(lo))
		return why(ret_why, "the minimum is not a number");
	hi = strtod(last + 1, &end);
	if (*end || end == last + 1 || !isfinite(hi))
		return why(ret_why, "the maximum is not a number");
	if (!(lo < hi))
		return why(ret_why, "the minimum is not below the maximum");
	return add_rule(rules_of(o, row), value, (size_t)(mid - value), mid + 1,
			origin);
}

static int set_pair(struct ns_options *o, const struct row *row,
		    const char *value, const char *origin, char **ret_why)
{
	const char *c = strchr(value, ':');

	if (!c || c == value || !c[1])
		return why(
			ret_why,
			row->offset == offsetof(struct ns_options, names)
				? "PATH:NAMES is wanted"
				: "PATH:LABELS or PATH:FILE:LABELS is wanted");
	return add_rule(rules_of(o, row), value, (size_t)(c - value), c + 1,
			origin);
}

static int set_word(struct ns_options *o, const struct row *row,
		    const char *value, const char *origin, char **ret_why)
{
	struct strbuf wanted = STRBUF_INIT;
	int r;

	(void)origin;
	for (int i = 0; row->words[i]; i++)
		if (!strcmp(row->words[i], value)) {
			*(int *)((char *)o + row->offset) = i;
			return 0;
		}
	for (int i = 0; row->words[i]; i++)
		strbuf_printf(&wanted, "%s%s",
			      i == 0		  ? ""
			      : row->words[i + 1] ? ", "
						  : " or ",
			      row->words[i]);
	r = strbuf_error(&wanted);
	if (r == 0)
		r = why(ret_why, "%s is wanted", wanted.buf);
	strbuf_done(&wanted);
	return r;
}

/* The group alone; it has no value. */
static int set_rows(struct ns_options *o, const struct row *row,
		    const char *value, const char *origin, char **ret_why)
{
	if (*value != '/')
		return why(ret_why, "the path of a group is wanted, such as "
				    "/train");
	return add_rule(rules_of(o, row), value, strlen(value), "", origin);
}

static int set_stage(struct ns_options *o, const struct row *row,
		     const char *value, const char *origin, char **ret_why)
{
	char *dir;

	(void)row, (void)origin;
	if (!*value)
		return why(ret_why, "a directory is wanted");
	dir = strdup(value);
	if (!dir)
		return -ENOMEM;
	free(o->stage_dir);
	o->stage_dir = dir;
	return 0;
}

static int set_grow(struct ns_options *o, const struct row *row,
		    const char *value, const char *origin, char **ret_why)
{
	(void)row, (void)value, (void)origin, (void)ret_why;
	o->grow = true;
	return 0;
}

/* Who begins with NS_APPEND sees which of the two came first. */
static int set_ro(struct ns_options *o, const struct row *row,
		  const char *value, const char *origin, char **ret_why)
{
	(void)row, (void)value, (void)origin;
	if (o->mode == NS_EDIT)
		return why(ret_why, "edit was asked for too; which is it?");
	o->mode = NS_RO;
	return 0;
}

static int set_edit(struct ns_options *o, const struct row *row,
		    const char *value, const char *origin, char **ret_why)
{
	(void)row, (void)value, (void)origin;
	if (o->mode == NS_RO)
		return why(ret_why, "ro was asked for too; which is it?");
	o->mode = NS_EDIT;
	return 0;
}

static int set_masks(struct ns_options *o, const struct row *row,
		     const char *value, const char *origin, char **ret_why)
{
	(void)row, (void)origin;
	if (strcmp(value, "palette"))
		return why(ret_why, "palette is wanted");
	o->masks_palette = true;
	return 0;
}

static int set_cache(struct ns_options *o, const struct row *row,
		     const char *value, const char *origin, char **ret_why)
{
	(void)row, (void)origin;
	if (parse_size(value, &o->cache_bytes) < 0)
		return why(ret_why, "a size is wanted, such as 256M or 2G");
	return 0;
}

static int set_points(struct ns_options *o, const struct row *row,
		      const char *value, const char *origin, char **ret_why)
{
	(void)row, (void)origin;
	if (parse_size(value, &o->points_bytes) < 0 ||
	    o->points_bytes > INT64_MAX)
		return why(ret_why, "a size is wanted, such as 256M or 0");
	return 0;
}

static int set_threads(struct ns_options *o, const struct row *row,
		       const char *value, const char *origin, char **ret_why)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	(void)row, (void)origin;
	if (*end || end == value || n < 1 || n > 256)
		return why(ret_why, "a number from 1 to 256 is wanted");
	o->threads = (unsigned)n;
	return 0;
}

static int set_id(struct ns_options *o, const struct row *row,
		  const char *value, const char *origin, char **ret_why)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	(void)origin;
	if (*end || end == value || *value == '-' || n >= UINT32_MAX)
		return why(ret_why, "a number is wanted");
	*(uint32_t *)((char *)o + row->offset) = (uint32_t)n;
	return 0;
}

static int set_umask(struct ns_options *o, const struct row *row,
		     const char *value, const char *origin, char **ret_why)
{
	char *end;
	unsigned long n = strtoul(value, &end, 8);

	(void)row, (void)origin;
	if (*end || end == value || n > 0777)
		return why(ret_why, "an octal mask is wanted, such as 022");
	o->umask = (mode_t)n;
	return 0;
}

#define AT(member) offsetof(struct ns_options, member)
_Static_assert(sizeof(enum ns_view_mode) == sizeof(int) && sizeof(uid_t) == 4 &&
		       sizeof(gid_t) == 4,
	       "set_word, set_id");
static const struct row rows[] = {
	{ "layout", set_layout, AT(layout), { NULL }, true },
	{ "range", set_range, AT(range), { NULL }, true },
	{ "labels", set_pair, AT(labels), { NULL }, true },
	{ "names", set_pair, AT(names), { NULL }, true },
	{ "classes",
	  set_word,
	  AT(classes),
	  { "names", "numbers", "both" },
	  true },
	{ "view", set_word, AT(view), { "tree", "classes" }, false },
	{ "external",
	  set_word,
	  AT(external),
	  { "inside", "follow", "hide" },
	  false },
	{ "rows", set_rows, AT(rows), { NULL }, false },
	{ "fit",
	  set_word,
	  AT(fit),
	  { "exact", "resize", "letterbox", "crop" },
	  false },
	{ "commit", set_word, AT(commit), { "auto", "manual" }, false },
	{ "stage", set_stage, 0, { NULL }, false },
	{ "grow", set_grow, 0, { NULL }, false },
	{ "ro", set_ro, 0, { NULL }, false },
	{ "edit", set_edit, 0, { NULL }, false },
	{ "masks", set_masks, 0, { NULL }, false },
	{ "cache", set_cache, 0, { NULL }, false },
	{ "points", set_points, 0, { NULL }, false },
	{ "threads", set_threads, 0, { NULL }, false },
	{ "uid", set_id, AT(uid), { NULL }, false },
	{ "gid", set_id, AT(gid), { NULL }, false },
	{ "umask", set_umask, 0, { NULL }, false },
};

static const struct row *find_row(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].key, key))
			return &rows[i];
	return NULL;
}

int ns_options_set(struct ns_options *o, const char *key, const char *value,
		   const char *origin, char **ret_why)
{
	const struct row *row = find_row(key);

	return row ? row->set(o, row, value, origin, ret_why) : -ENOENT;
}

/* ---- FILE.h5fs ---- */

static int set_line(struct ns_options *o, char *line, const char *file,
		    unsigned number, bool classes_set, char **ret_why)
{
	CLEANUP(freep) char *origin = NULL;
	CLEANUP(freep) char *reason = NULL;
	char *key = line + strspn(line, " \t\r"), *value;
	const struct row *row;
	size_t n;
	int r;

	if (!*key || *key == '#')
		return 0;
	n = strcspn(key, " \t=");
	value = key + n;
	value += strspn(value, " \t=");
	key[n] = 0;
	for (size_t end = strlen(value); end && strchr(" \t\r", value[end - 1]);
	     end--)
		value[end - 1] = 0;
	row = find_row(key);
	if (!row || !row->sidecar)
		return why(ret_why,
			   "%s:%u: %s is not one of layout, range, "
			   "labels, classes, names",
			   file, number, key);
	if (row->set == set_word && classes_set)
		return 0; /* the command line comes first */
	if (asprintf(&origin, "%s:%u: %s ", file, number, key) < 0) {
		origin = NULL;
		return -ENOMEM;
	}
	r = row->set(o, row, value, origin, &reason);
	if (r == -EINVAL)
		return why(ret_why, "%s:%u: %s %s: %s", file, number, key,
			   value, reason ? reason : "not understood");
	return r;
}

int ns_options_sidecar(struct ns_options *o, const char *file, char **ret_why)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *text = NULL;
	bool classes_set = o->classes != NS_CLASS_NAMES;
	unsigned number = 0;
	char *rest, *line;
	int r;

	if (asprintf(&path, "%s.h5fs", file) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = io_read_file(path, SIDECAR_MAX, &b);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0)
		return why(ret_why, "%s: %s", path, strerror(-r));
	text = malloc(b->size + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, b->data, b->size);
	text[b->size] = 0;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		r = set_line(o, line, path, ++number, classes_set, ret_why);
		if (r < 0)
			return r;
	}
	return 0;
}
