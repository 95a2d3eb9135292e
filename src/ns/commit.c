/* SPDX-License-Identifier: MIT */
/* commit.c - when what is staged goes to FILE, and what everybody is told then.
 *
 * A transaction ends with a new generation (gen.c), before anybody else can begin
 * one; what the kernel has to drop is collected here and told by the keeper, who
 * holds no lock. */
#include <stdio.h>

#include "ns_int.h"

#define IDLE_MS 5000  /* nothing was staged for so long: commit it */
#define RETRY_MS 5000 /* after a commit that failed */
#define SPACE_MS 1000 /* between two of full chunks: each has its syncs */

/* ---- what the kernel must drop ---- */

void ns_changed_name(struct ns *ns, uint64_t dir, const char *name)
{
	struct ns_changes *c = &ns->changes;
	struct ns_change *grown;
	LOCK_SCOPE(&ns->told);

	if ((c->count & (c->count + 1)) == 0) { /* 0, 1, 3, 7 ...: full */
		grown = realloc(c->changes,
				(2 * c->count + 1) * sizeof(*grown));
		if (!grown)
			return; /* seen late, not wrong: it expires */
		c->changes = grown;
	}
	c->changes[c->count].ino = dir;
	c->changes[c->count].name = name ? strdup(name) : NULL;
	if (!name || c->changes[c->count].name)
		c->count++;
}

void ns_changed(struct ns *ns, uint64_t ino)
{
	ns_changed_name(ns, ino, NULL);
}

/* Slices of it and queries: what is staged does not last in the kernel. */
static void slices_changed(struct ns *ns, const struct object *o)
{
	pthread_rwlock_rdlock(&ns->tables);
	for (uint32_t i = 0; o->ephemerals && i < ns->neph; i++) {
		const struct ephemeral *e = &ns->eph[i];
		struct node n = { NODE_EPHEMERAL + i, e->view, 0 };

		if (e->object && e->object->number == o->number &&
		    (e->view == V_SLICE || e->view == V_QUERY))
			ns_changed(ns, node_ino(n));
	}
	pthread_rwlock_unlock(&ns->tables);
}

void ns_changed_object(struct ns *ns, const struct object *o)
{
	/* the root's own nodes have the number 0 */
	uint32_t number = o->parent ? o->number : 0;

	for (unsigned view = V_DIR; view <= V_TYPE; view++)
		if (view != V_SAMPLE && view != V_CLASS && view != V_LINK)
			ns_changed(ns, node_ino((struct node){
					       number, (uint8_t)view, 0 }));
	slices_changed(ns, o);
}

void ns_tell(struct ns *ns)
{
	void (*told)(void *arg);
	void *arg;

	pthread_mutex_lock(&ns->told);
	told = ns->on_change;
	arg = ns->on_change_arg;
	pthread_mutex_unlock(&ns->told);
	if (told)
		told(arg);
}

void ns_on_change(struct ns *ns, void (*told)(void *arg), void *arg)
{
	LOCK_SCOPE(&ns->told);

	ns->on_change = told;
	ns->on_change_arg = arg;
}

int ns_take_changes(struct ns *ns, struct ns_changes *ret_changes)
{
	LOCK_SCOPE(&ns->told);

	*ret_changes = ns->changes;
	memset(&ns->changes, 0, sizeof(ns->changes));
	return 0;
}

void ns_changes_done(struct ns_changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->changes[i].name);
	free(c->changes);
	memset(c, 0, sizeof(*c));
}

void commit_done(struct ns *ns)
{
	ns_changes_done(&ns->changes);
	free(ns->commit_why);
}

/* ---- refusals ---- */

int ns_refuse(struct ns *ns, const char *path, struct refusal *f, int r)
{
	if (f->reason)
		(void)faults_add(ns->faults, path, f->reason,
				 f->remedy ? f->remedy : "");
	refusal_done(f);
	return r;
}

static const struct {
	int error;
	const char *remedy;
} remedies[] = {
	{ -ENOSPC, "make room; it is tried again" },
	{ -EDQUOT, "make room in the quota; it is tried again" },
	{ -EBUSY, "close FILE in the other program; it is tried again" },
	{ -EIO, "look at the device; it is tried again" },
	{ -EROFS, "mount its file system for writing; it is tried again" },
	{ -ESTALE, "unmount and mount it again: what is staged is kept" },
};

static const char *remedy_of(int r)
{
	for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
		if (remedies[i].error == r)
			return remedies[i].remedy;
	return "see the reason; what is staged is kept";
}

static void tell_failure(struct ns *ns, const char *path, const char *why,
			 int r)
{
	(void)faults_add(ns->faults, path, why && *why ? why : strerror(-r),
			 remedy_of(r));
}

/* For whoever asks why it is still staged. */
static void keep_why(struct ns *ns, const char *why, int r)
{
	LOCK_SCOPE(&ns->told);

	free(ns->commit_why);
	ns->commit_why =
		r < 0 ? strdup(why && *why ? why : strerror(-r)) : NULL;
}

/* What a caller is answered when FILE cannot be written just now. */
static int transaction_error(int r)
{
	return r == -EAGAIN ? -EBUSY : r == -ESTALE ? -EROFS : r;
}

/* ---- immediate transactions ---- */

static int may_write(struct ns *ns, const char *path)
{
	if (!ns->writer)
		return -EROFS;
	if (!__atomic_load_n(&ns->detached, __ATOMIC_ACQUIRE))
		return 0;
	tell_failure(ns, path, "FILE was replaced since it was mounted",
		     -ESTALE);
	return -EROFS;
}

/* The stage's tags are below: one of its own must never be taken for done. One that
 * is the last stays known: the stage may not have noted yet that FILE has it. */
#define IMMEDIATE_TAG ((uint64_t)1 << 63)

static uint64_t immediate_tag(const struct writer *w)
{
	uint64_t tag = writer_tag(w);

	return tag ? tag : IMMEDIATE_TAG;
}

int ns_transact(struct ns *ns, const char *path,
		int (*act)(void *arg, struct writer *w, struct refusal *f),
		void *arg)
{
	struct refusal f = { 0 };
	int r = may_write(ns, path);

	if (r < 0)
		return r;
	{
		LOCK_SCOPE(&ns->commit);

		r = writer_begin(ns->writer);
		if (r == 0) {
			r = act(arg, ns->writer, &f);
			if (r < 0 && !f.reason && *writer_why(ns->writer))
				f.reason = strdup(writer_why(ns->writer));
			if (r < 0)
				writer_abort(ns->writer);
			else
				r = writer_commit(ns->writer,
						  immediate_tag(ns->writer));
		}
		rownames_forget(ns);
		if (r < 0 && !f.reason)
			tell_failure(ns, path, writer_why(ns->writer), r);
		if (r ==
		    0) /* serves late, not wrong, when it cannot be opened */
			(void)refresh_now(ns);
	}
	ns_tell(ns);
	return ns_refuse(ns, path, &f, transaction_error(r));
}

int ns_publish(struct ns *ns, const char *path, const char *to)
{
	CLEANUP(freep) char *why = NULL;
	int r = may_write(ns, path);

	if (r < 0)
		return r;
	{
		LOCK_SCOPE(&ns->commit);

		r = tree_publish(ns->stage, ns->writer, path, to, &why);
		if (r < 0)
			tell_failure(ns, path, why, r);
		else
			(void)refresh_now(ns);
	}
	ns_tell(ns);
	return transaction_error(r);
}

/* ---- what is staged ---- */

struct batch {
	size_t n;
	struct set_desc *descs;
	struct stage_set *sets;
	struct set_attrs attrs;
	int refused; /* what the first set came to that FILE no longer takes, */
	char *why;   /* and the reason */
};

static void batch_done(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		set_desc_done(&b->descs[i]);
	free(b->descs);
	free(b->sets);
	free(b->why);
	set_attrs_done(&b->attrs);
}

static void batch_refuse(struct ns *ns, struct batch *b, const char *key,
			 struct refusal *f, int r)
{
	if (!b->refused) {
		b->refused = r;
		b->why = strdup(f->reason ? f->reason : strerror(-r));
	}
	(void)ns_refuse(ns, key, f, r);
}

/* What FILE no longer takes stays staged, and is told; the rest goes on. */
static int batch_fill(struct ns *ns, const struct stage_names *keys,
		      struct batch *b)
{
	b->descs = calloc(keys->count + 1, sizeof(*b->descs));
	b->sets = calloc(keys->count + 1, sizeof(*b->sets));
	if (!b->descs || !b->sets)
		return -ENOMEM;
	for (size_t i = 0; i < keys->count; i++) {
		struct refusal f = { 0 };
		int r = set_by_key(ns, keys->names[i], &b->descs[b->n], &f);

		if (r == 0)
			b->n++;
		else if (r == -ENOMEM || r == -ESTALE)
			return r;
		else
			batch_refuse(ns, b, keys->names[i], &f, r);
	}
	for (size_t i = 0; i < b->n; i++) {
		int r = set_attrs(&b->descs[i], &b->attrs);

		if (r < 0)
			return r;
		b->sets[i] = b->descs[i].set;
	}
	return 0;
}

/* The sets' objects, in the new generation: they have the same numbers. */
static void tell_changed(struct ns *ns, const struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		for (unsigned k = 0; k < b->descs[i].set.nmembers; k++)
			ns_changed_object(ns, b->descs[i].objects[k]);
		ns_changed_object(ns, b->descs[i].group);
	}
}

/* *ret_told: the error is of sets that stay staged; it has been told, and the rest
 * is committed. */
static int commit_once(struct ns *ns, enum stage_commit_kind kind, char **why,
		       bool *ret_told)
{
	struct stage_result result = { 0 };
	struct stage_names keys = { 0 };
	struct batch b = { 0 };
	int r = stage_sets(ns->stage, &keys);

	if (r == 0)
		r = batch_fill(ns, &keys, &b);
	if (r == 0 && b.n)
		r = stage_commit(ns->stage, ns->writer, b.sets, b.n,
				 b.attrs.attrs, b.attrs.count, kind, &result,
				 why);
	if (r == 0 && result.count) {
		write_committed(ns, &result);
		tell_changed(ns, &b);
	}
	*ret_told = r == 0 && b.refused;
	if (*ret_told) {
		free(*why);
		*why = TAKE(b.why);
	}
	r = r == 0 ? b.refused : r;
	batch_done(&b);
	stage_names_done(&keys);
	if (result.count) /* the sets' states are let go before */
		(void)refresh_now(ns);
	stage_result_done(&result);
	return r;
}

/* Is there something to do, and how much of it? */
static bool is_due(struct ns *ns, enum ns_commit_why why,
		   enum stage_commit_kind *ret_kind)
{
	struct stage_status st;
	bool due;

	*ret_kind = STAGE_ALL;
	if (why == NS_COMMIT_ASKED)
		return true;
	if (ns->opts.commit == NS_COMMIT_MANUAL)
		return false;
	if (why == NS_COMMIT_UNMOUNT)
		return true;
	if (now_ms() < ns->next_commit_ms ||
	    stage_get_status(ns->stage, &st) < 0)
		return false;
	due = st.chunk_full || (st.complete && st.idle_ms >= IDLE_MS);
	if (st.idle_ms < IDLE_MS)
		*ret_kind = STAGE_WHOLE_CHUNKS;
	stage_status_done(&st);
	return due;
}

int ns_commit(struct ns *ns, enum ns_commit_why why)
{
	CLEANUP(freep) char *text = NULL;
	enum stage_commit_kind kind;
	unsigned tries = 0;
	bool is_told;
	int r;

	if (!ns->stage)
		return why == NS_COMMIT_ASKED ? -EROFS : 0;
	if (stage_is_empty(ns->stage))
		return 0;
	r = may_write(ns, ns->file);
	if (r < 0)
		return r;
	{
		LOCK_SCOPE(&ns->commit);

		if (!is_due(ns, why, &kind))
			return 0;
		do
			r = commit_once(ns, kind, &text, &is_told);
		while (ns_again(ns, r, &tries));
		ns->next_commit_ms = now_ms() + (r < 0 ? RETRY_MS : SPACE_MS);
	}
	if (r < 0 && !is_told)
		tell_failure(ns, ns->file, text, r);
	keep_why(ns, text, r);
	ns_tell(ns);
	return transaction_error(r);
}

int ns_sync(struct ns *ns)
{
	return ns->stage ? stage_sync(ns->stage) : 0;
}
