/* SPDX-License-Identifier: MIT */
/* fake_writer.c - FILE in memory: all of a transaction, or nothing. */
#include <stdio.h>
#include <sys/stat.h>

#include "fake_writer.h"

struct fake_object {
	struct fake_object *next;
	char *path; /* of an attribute "PATH@NAME" */
	struct strbuf bytes;
	size_t committed; /* of these */
	bool fresh;	  /* not committed at all */
	char *what;
};

struct writer *fake_writer_new(const char *side)
{
	struct writer *w = calloc(1, sizeof(*w));

	w->side = strdup(side);
	w->fail_at = -1;
	return w;
}

static void object_free(struct fake_object *o)
{
	strbuf_done(&o->bytes);
	free(o->path);
	free(o->what);
	free(o);
}

void fake_writer_free(struct writer *w)
{
	while (w->objects) {
		struct fake_object *o = w->objects;

		w->objects = o->next;
		object_free(o);
	}
	free(w->side);
	free(w);
}

static struct fake_object *find(struct writer *w, const char *path)
{
	struct fake_object *o = w->objects;

	while (o && strcmp(o->path, path) != 0)
		o = o->next;
	return o;
}

static struct fake_object *make(struct writer *w, const char *path)
{
	struct fake_object *o = calloc(1, sizeof(*o));

	o->path = strdup(path);
	o->fresh = true;
	o->next = w->objects;
	w->objects = o;
	return o;
}

static int request(struct writer *w)
{
	w->why[0] = '\0';
	if (!w->inside)
		abort();
	if (w->dead && w->dead())
		return -EIO;
	if (w->fail_at < 0 || w->fail_at-- > 0)
		return 0;
	snprintf(w->why, sizeof(w->why), "a request failed");
	return w->fail_error;
}

/* ---- the contract ---- */
int writer_side(struct writer *w, bool make_it, char **ret_side)
{
	if (make_it && mkdir(w->side, 0777) < 0 && errno != EEXIST)
		return -errno;
	*ret_side = strdup(w->side);
	return 0;
}

uint64_t writer_tag(const struct writer *w)
{
	return w->tag;
}

const char *writer_why(struct writer *w)
{
	return w->why;
}

int writer_begin(struct writer *w)
{
	if (w->broken)
		return -EIO;
	if (w->inside)
		abort();
	w->inside = true;
	w->begins++;
	return 0;
}

static void settle(struct writer *w, bool keep)
{
	struct fake_object **at = &w->objects;

	w->inside = false;
	while (*at) {
		struct fake_object *o = *at;

		if (!keep && o->fresh) {
			*at = o->next;
			object_free(o);
			continue;
		}
		if (keep)
			o->committed = o->bytes.len;
		else
			o->bytes.len = o->committed;
		o->fresh = false;
		at = &o->next;
	}
}

void writer_abort(struct writer *w)
{
	if (w->inside)
		settle(w, false);
}

int writer_commit(struct writer *w, uint64_t tag)
{
	bool did = w->commit == FAKE_COMMITS || w->commit == FAKE_EIO_DID;

	if (!w->inside || !tag || tag == w->tag)
		abort();
	if (w->dead && w->dead()) {
		settle(w, false);
		return -EIO;
	}
	settle(w, did);
	w->commits += did;
	if (w->commit == FAKE_COMMITS) {
		w->tag = tag;
		return 0;
	}
	snprintf(w->why, sizeof(w->why), "the commit failed");
	if (w->commit == FAKE_FAILS)
		return w->fail_error;
	w->broken = true;
	if (did)
		w->tag = tag;
	return -EIO;
}

void fake_reopen(struct writer *w)
{
	writer_abort(w);
	w->broken = false;
	w->commit = FAKE_COMMITS;
	w->fail_at = -1;
}

static void put_element(struct strbuf *out, const struct dtype *t,
			const uint8_t *p)
{
	struct dt_vlen v;
	const char *text;
	size_t n;

	if (t->class == DT_VLSTR) {
		dtype_string(t, p, &text, &n);
		strbuf_put(out, text, n);
	} else {
		memcpy(&v, p, sizeof(v));
		strbuf_put(out, v.p, v.len * t->base->size);
	}
	strbuf_putc(out, '|');
}

int writer_append(struct writer *w, const char *path, unsigned axis,
		  const struct array *rows)
{
	struct fake_object *o;
	int r = request(w);

	if (w->on_append)
		w->on_append();
	if (r < 0)
		return r;
	if (w->fixed && strcmp(w->fixed, path) == 0)
		return -EOPNOTSUPP;
	o = find(w, path);
	if (!o)
		o = make(w, path);
	if (!o->what)
		o->what = strdup("rows");
	if (rows->data->size != rows->count * rows->type->size ||
	    axis >= rows->rank)
		abort();
	w->appends++;
	if (rows->data->size > w->largest)
		w->largest = rows->data->size;
	if (!dtype_has_pointers(rows->type)) {
		strbuf_put(&o->bytes, rows->data->data, rows->data->size);
		return 0;
	}
	for (uint64_t i = 0; i < rows->count; i++)
		put_element(&o->bytes, rows->type, array_at(rows, i));
	return 0;
}

int writer_can_append(struct writer *w, const char *path, unsigned axis)
{
	(void)axis;
	if (!w->fixed || strcmp(w->fixed, path) != 0)
		return 0;
	snprintf(w->why, sizeof(w->why), "it cannot grow");
	return -EOPNOTSUPP;
}

int writer_grow(struct writer *w, const char *path, unsigned axis)
{
	int r = request(w);

	(void)axis;
	if (r == 0 && w->fixed && strcmp(w->fixed, path) == 0)
		w->fixed = NULL;
	return r;
}

static int create(struct writer *w, const char *path, const char *what)
{
	struct fake_object *o;
	int r = request(w);

	if (r == 0 && find(w, path))
		r = -EEXIST;
	if (r < 0)
		return r;
	o = make(w, path);
	o->what = strdup(what);
	return 0;
}

int writer_create_group(struct writer *w, const char *path)
{
	return create(w, path, "group");
}

int writer_create_link(struct writer *w, const char *path, const char *target)
{
	char what[256];

	snprintf(what, sizeof(what), "link:%s", target);
	return create(w, path, what);
}

int writer_create_dataset(struct writer *w, const char *path,
			  const struct writer_dataset *d)
{
	struct strbuf what = STRBUF_INIT;
	uint64_t n = d->type->size;
	int r;

	strbuf_printf(&what, "dataset:%d:%u:", d->type->class, d->type->size);
	for (unsigned i = 0; i < d->rank; i++) {
		strbuf_printf(&what, "%s%llu", i ? "x" : "",
			      (unsigned long long)d->dims[i]);
		n *= d->dims[i];
	}
	strbuf_puts(&what, d->growable ? ":growable" : "");
	r = create(w, path, what.buf);
	if (r == 0 && d->fd >= 0)
		abort();
	if (r == 0)
		strbuf_put(&find(w, path)->bytes, d->data, n);
	strbuf_done(&what);
	return r;
}

int writer_set_attr(struct writer *w, const char *path, const char *name,
		    const struct array *value)
{
	struct strbuf key = STRBUF_INIT, what = STRBUF_INIT;
	const struct dtype *t = value->type;
	struct fake_object *o;
	const char *text;
	size_t n;
	int r = request(w);

	if (r < 0)
		return r;
	strbuf_printf(&key, "%s@%s", path, name);
	o = find(w, key.buf);
	if (!o)
		o = make(w, key.buf);
	if (t->class == DT_STRING || t->class == DT_VLSTR) {
		dtype_string(t, value->data->data, &text, &n);
		strbuf_printf(&what, "\"%.*s\"", (int)n, text);
	}
	for (uint64_t i = 0; dtype_is_number(t) && i < value->count; i++)
		strbuf_printf(&what, "%s%g", i ? "," : "",
			      dtype_to_double(t, array_at(value, i)));
	free(o->what);
	o->what = strbuf_steal(&what);
	strbuf_done(&key);
	return 0;
}

/* ---- the test's side ---- */
const uint8_t *fake_bytes(struct writer *w, const char *path, size_t *ret_n)
{
	struct fake_object *o = find(w, path);

	*ret_n = o ? o->committed : 0;
	return o ? (const uint8_t *)o->bytes.buf : NULL;
}

const char *fake_what(struct writer *w, const char *path)
{
	struct fake_object *o = find(w, path);

	return o && !o->fresh ? o->what : NULL;
}

const char *fake_attr(struct writer *w, const char *path, const char *name)
{
	char key[256];

	snprintf(key, sizeof(key), "%s@%s", path, name);
	return fake_what(w, key);
}

size_t fake_count(const struct writer *w)
{
	size_t n = 0;

	for (struct fake_object *o = w->objects; o; o = o->next)
		n++;
	return n;
}
