/* SPDX-License-Identifier: MIT */
/* staged_report.c - what is staged and what it waits for: as lines for people, and
 * in .h5fs/status. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "ns_int.h"

#define SHOWN 10 /* of those that wait, in lines */

static char *commit_why(struct ns *ns)
{
	LOCK_SCOPE(&ns->told);

	return ns->commit_why ? strdup(ns->commit_why) : NULL;
}

const char *ns_recovered(const struct ns *ns)
{
	return ns->recovered;
}

/* ---- JSON ---- */

/* Names need not be UTF-8, JSON must be. */
static json_t *text_json(const char *text)
{
	json_t *j = text ? json_string(text) : json_null();

	return j ? j : json_string("?");
}

static json_t *waiting_json(const struct stage_waiting *w)
{
	json_t *j = json_object();

	if (!j)
		return NULL;
	json_object_set_new(j, "file", text_json(w->name));
	if (w->class_name)
		json_object_set_new(j, "class", text_json(w->class_name));
	json_object_set_new(j, "set", text_json(w->set));
	json_object_set_new(j, "for", text_json(w->missing));
	return j;
}

json_t *staged_json(struct ns *ns)
{
	CLEANUP(freep) char *why = commit_why(ns);
	struct stage_status st = { 0 };
	json_t *j, *list;

	if (stage_get_status(ns->stage, &st) < 0)
		return NULL;
	list = json_array();
	for (size_t i = 0; list && i < st.nlist; i++)
		json_array_append_new(list, waiting_json(&st.list[i]));
	j = json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "rows",
		      (json_int_t)st.rows, "complete", (json_int_t)st.complete,
		      "waiting", (json_int_t)st.waiting, "pending_directories",
		      (json_int_t)st.pending, "log_bytes", (json_int_t)st.bytes,
		      "waits", list);
	if (j && why)
		json_object_set_new(j, "last_commit_error", text_json(why));
	stage_status_done(&st);
	return j;
}

/* ---- lines ---- */

static void put_waiting(const struct stage_waiting *w, struct strbuf *out)
{
	strbuf_printf(out, "  %s%s%s%s in %s waits for %s\n", w->name,
		      w->class_name ? " (" : "",
		      w->class_name ? w->class_name : "",
		      w->class_name ? ")" : "", w->set, w->missing);
}

static void put_rows(struct ns *ns, const struct stage_status *st,
		     struct strbuf *out)
{
	CLEANUP(freep) char *why = commit_why(ns);
	size_t n = st->nlist < SHOWN ? st->nlist : SHOWN;

	strbuf_printf(out, "rows staged, not in the file yet: %" PRIu64 "\n",
		      st->rows);
	if (why && st->complete)
		strbuf_printf(out, "the last commit failed: %s\n", why);
	else if (st->complete && ns->opts.commit == NS_COMMIT_MANUAL)
		strbuf_puts(out, "commit=manual: h5fs commit takes them in\n");
	for (size_t i = 0; i < n; i++)
		put_waiting(&st->list[i], out);
	if (st->waiting > n)
		strbuf_printf(out, "  and %" PRIu64 " more wait\n",
			      st->waiting - n);
}

int ns_staged(struct ns *ns, struct strbuf *out)
{
	struct stage_status st = { 0 };
	int r;

	if (!ns->stage || stage_is_empty(ns->stage))
		return 0;
	r = stage_get_status(ns->stage, &st);
	if (r < 0)
		return r;
	if (st.rows)
		put_rows(ns, &st, out);
	if (st.pending)
		strbuf_printf(out,
			      "directories that end in .part, not in the file "
			      "until they are renamed: %" PRIu64 "\n",
			      st.pending);
	stage_status_done(&st);
	return strbuf_error(out);
}
