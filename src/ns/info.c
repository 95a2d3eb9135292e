/* SPDX-License-Identifier: MIT */
/* info.c - told to people: what a mount would show, by which rule and why, and
 * where to point a loader. */
#include <inttypes.h>
#include <stdio.h>

#include "ns_int.h"

#define SUMMARY_OBJECTS 1000

static void put_shape(struct strbuf *out, const struct dataset_info *in)
{
	if (in->null) {
		strbuf_puts(out, "null");
		return;
	}
	text_of_dtype(in->type, out);
	strbuf_puts(out, " (");
	for (unsigned i = 0; i < in->rank; i++)
		strbuf_printf(out, "%s%" PRIu64, i ? "," : "", in->dims[i]);
	strbuf_puts(out, in->rank == 1 ? ",)" : ")");
}

static void put_storage(struct strbuf *out, const struct dataset_info *in)
{
	static const char *const names[] = { "compact", "contiguous", "chunks ",
					     "virtual", "external" };

	strbuf_printf(out, "  %s", names[in->storage]);
	if (in->storage == STORAGE_CHUNKED) {
		strbuf_putc(out, '(');
		for (unsigned i = 0; i < in->rank; i++)
			strbuf_printf(out, "%s%" PRIu64, i ? "," : "",
				      in->chunk[i]);
		strbuf_putc(out, ')');
	}
	for (unsigned i = 0; i < in->nfilters; i++)
		strbuf_printf(out, "%s%s%s", i ? "," : " ", in->filters[i].name,
			      in->filters[i].available ? "" : " (missing)");
}

static void put_names(struct strbuf *out, struct ns *ns, struct object *o)
{
	struct shape_list shapes;
	bool first = true;

	if (dataset_shapes(ns, o, &shapes) < 0)
		return;
	strbuf_puts(out, "    shown as ");
	for (unsigned i = 0; i < shapes.n; i++) {
		bool cut;
		CLEANUP(freep)
		char *name = name_shown(
			o->name,
			shapes.bare && shapes.of[i].view != V_DIR &&
					view_whole[shapes.of[i].view -
						   V_WHOLE] == &view_encoded
				? ""
				: shapes.of[i].suffix,
			NAME_PLAIN, &cut);

		strbuf_printf(out, "%s%s%s", first ? "" : ", ",
			      name ? name : "?",
			      shapes.of[i].view == V_DIR ? "/" : "");
		first = false;
	}
	strbuf_putc(out, '\n');
}

void layout_text(const struct layout *l, struct strbuf *out)
{
	strbuf_puts(out, l->axes);
	if (l->transposed)
		strbuf_puts(out, "+transpose");
	if (l->flip_y)
		strbuf_puts(out, "+flipv");
	if (l->flip_x)
		strbuf_puts(out, "+fliph");
	if (l->bgr)
		strbuf_puts(out, "+bgr");
	for (unsigned i = 0; i < l->nbands; i++)
		strbuf_printf(out, "%s%u", i ? "," : "+bands=", l->bands[i]);
	if (l->norm_sample)
		strbuf_puts(out, "+norm=sample");
}

static void put_pictures(struct strbuf *out, struct ns *ns, struct object *o,
			 struct state *st)
{
	const struct layout_shape *s = &st->src.shape;
	static const char *const kinds[] = { "", "grey", "grey+alpha", "RGB",
					     "RGBA" };
	struct view_source src;

	strbuf_printf(out, "    pictures: %" PRIu64 " of %ux%u %s, axes ",
		      s->count, s->width, s->height,
		      s->channels <= 4 ? kinds[s->channels] : "");
	layout_text(st->src.layout, out);
	if (state_source(st, true, &src) == 0 && src.norm) {
		strbuf_printf(out, ", values %s", norm_name(src.norm->kind));
		if (src.layout->norm_sample)
			strbuf_puts(out, " of each sample");
		else if (src.norm->kind == NORM_RANGE ||
			 src.norm->kind == NORM_INT_MINMAX ||
			 src.norm->kind == NORM_FLOAT_MINMAX)
			strbuf_printf(out, " [%g, %g]", src.norm->lo,
				      src.norm->hi);
		strbuf_printf(out, ", %u bit", src.norm->bits);
	} else {
		strbuf_puts(out, ", values can not be read");
	}
	strbuf_putc(out, '\n');
	(void)o;
}

static void put_folder_names(struct strbuf *out, const struct classes *c)
{
	for (uint32_t i = 0; i < c->shown && i < 8; i++)
		strbuf_printf(out, "%s%s", i ? ", " : "",
			      c->folders[c->order[i]].name);
	strbuf_puts(out, c->shown > 8 ? ", ..." : "");
}

static void put_classes(struct strbuf *out, struct ns *ns, struct object *o,
			struct state *st)
{
	const struct classes *c;
	CLEANUP(freep) char *path = object_path(o);
	CLEANUP(freep) char *labels = o->labels ? object_path(o->labels) : NULL;

	if (!path || labels_classes(ns, st, &c) < 0)
		return;
	strbuf_printf(out, "    class folders: %s.by-class/ (", path + 1);
	put_folder_names(out, c);
	strbuf_printf(out, ") by %s\n",
		      labels			     ? labels
		      : o->rules && o->rules->labels ? o->rules->labels->value
						     : "?");
}

static int info_dataset(struct ns *ns, struct object *o, struct strbuf *out)
{
	CLEANUP(freep) char *path = object_path(o);
	const struct layout *l;
	STATE_REF(ref, ns);
	int r = state_get(ns, o, &ref.st);

	if (!path)
		return -ENOMEM;
	strbuf_printf(out, "%s  ", path);
	if (r == -ENOMEM || r == -ESTALE || r == -EAGAIN)
		return r;
	if (r < 0) {
		strbuf_puts(out,
			    "can not be opened: the file is damaged here\n");
		return 0;
	}
	put_shape(out, dset_info(ref.st->dset));
	if (!dset_info(ref.st->dset)->null)
		put_storage(out, dset_info(ref.st->dset));
	strbuf_putc(out, '\n');
	l = ref.st->src.layout;
	strbuf_printf(out, "    rule %s: %s\n", *l->rule ? l->rule : "K",
		      l->why);
	if (l->kind == LAYOUT_PICTURES)
		put_pictures(out, ns, o, ref.st);
	else if (l->kind == LAYOUT_ENCODED)
		strbuf_printf(out,
			      "    encoded images: %" PRIu64 ", the stored "
			      "bytes themselves\n",
			      o->count);
	put_names(out, ns, o);
	if (o->labelled)
		put_classes(out, ns, o, ref.st);
	return strbuf_error(out);
}

/* Of single pictures with an attribute `label`. */
static void put_group_classes(struct strbuf *out, struct ns *ns,
			      struct object *g)
{
	CLEANUP(freep) char *path = object_path(g);
	const struct classes *c;

	if (!path || labels_group_classes(ns, g, &c) < 0)
		return;
	strbuf_printf(out,
		      "%s  single pictures with a label\n"
		      "    class folders: %s.by-class/ (",
		      path, path + 1);
	put_folder_names(out, c);
	strbuf_puts(out, ") by their attribute label\n");
}

static int info_below(struct ns *ns, struct object *o, struct strbuf *out,
		      unsigned depth)
{
	int r;

	if (o->kind == OBJECT_DATASET)
		return info_dataset(ns, o, out);
	if (o->kind != OBJECT_GROUP || depth == 0)
		return 0;
	r = group_load(ns, o, GROUP_DECIDED);
	if (is_damage(r)) {
		CLEANUP(freep) char *path = object_path(o);

		strbuf_printf(out,
			      "%s  can not be opened: the file is damaged "
			      "here\n",
			      path ? path : "?");
		return 0;
	}
	if (r == 0 && o->group->has_labels)
		put_group_classes(out, ns, o);
	for (size_t i = 0; r == 0 && i < o->group->nchildren; i++) {
		struct child *c = &o->group->children[i];
		CLEANUP(freep) char *path = NULL;

		if (c->kind == CHILD_OBJECT) {
			r = info_below(ns, c->object, out, depth - 1);
			continue;
		}
		path = object_path(o);
		strbuf_printf(out, "%s/%s  link to %s\n",
			      path && strcmp(path, "/") ? path : "", c->name,
			      c->target);
	}
	return r;
}

int ns_info(struct ns *ns, const char *path, struct strbuf *out)
{
	struct object *o = NULL;
	size_t before = out->len;
	int r;

	{
		LOCK_SCOPE(&ns->load);
		r = walk_path(ns, ns->gen->root, path, 16, &o);
		if (r == 0 && o->parent)
			r = group_load_locked(ns, o->parent, GROUP_DECIDED);
	}
	if (r == 0)
		r = info_below(ns, o, out, 512);
	if (r == 0 && out->len == before)
		strbuf_puts(out, "no datasets\n");
	return r < 0 ? r : strbuf_error(out);
}

/* ---- the summary of a mount ---- */

struct summary {
	struct strbuf *out;
	unsigned budget, sets, folders;
};

static int summarize(struct ns *ns, struct object *o, struct summary *s)
{
	int r;

	if (s->budget == 0)
		return 0;
	s->budget--;
	if (o->kind == OBJECT_DATASET && o->layout &&
	    o->layout->kind != LAYOUT_NONE && o->directory) {
		CLEANUP(freep) char *path = object_path(o);

		if (!path)
			return -ENOMEM;
		s->sets++;
		if (s->folders < 8 && o->labelled) {
			strbuf_printf(s->out,
				      "class folders for a loader: "
				      "%s.by-class\n",
				      path + 1);
			s->folders++;
		}
		return 0;
	}
	if (o->kind != OBJECT_GROUP || o->hidden)
		return 0;
	r = group_load(ns, o, GROUP_DECIDED);
	if (r == 0 && o->group->has_labels && s->folders < 8) {
		CLEANUP(freep) char *path = object_path(o);

		strbuf_printf(s->out,
			      "class folders for a loader: %s.by-class\n",
			      path ? path + 1 : "");
		s->sets++;
		s->folders++;
	}
	for (size_t i = 0; r == 0 && i < o->group->nchildren; i++)
		if (o->group->children[i].kind == CHILD_OBJECT)
			r = summarize(ns, o->group->children[i].object, s);
	return is_damage(r) ? 0 : r;
}

int ns_summary(struct ns *ns, struct strbuf *out)
{
	struct summary s = { out, SUMMARY_OBJECTS, 0, 0 };
	size_t faults;
	int r = summarize(ns, ns->gen->root, &s);

	if (r < 0)
		return r;
	if (ns->opts.view == NS_CLASSES)
		strbuf_puts(out,
			    ns->gen->root->group->nentries
				    ? "class folders for a loader: the mount "
				      "itself\n"
				    : "no pictures in class folders: the mount "
				      "is empty\n");
	else if (s.sets && !s.folders)
		strbuf_printf(out, "%u set%s of pictures, none with labels\n",
			      s.sets, s.sets == 1 ? "" : "s");
	if (store_warning(ns->gen->store))
		strbuf_printf(out, "%s\n", store_warning(ns->gen->store));
	faults = faults_count(ns->faults);
	if (faults)
		strbuf_printf(out,
			      "%zu thing%s could not be shown: see "
			      ".h5fs/errors\n",
			      faults, faults == 1 ? "" : "s");
	return strbuf_error(out);
}
