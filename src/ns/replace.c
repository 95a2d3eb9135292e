/* SPDX-License-Identifier: MIT */
/* replace.c - committed samples get other values, or another class: -o edit. Each
 * is one transaction. */
#include "write_int.h"

struct overwrite {
	char *path;
	unsigned axis;
	uint64_t at;
	struct array *rows;
};

static int act_overwrite(void *arg, struct writer *w, struct refusal *f)
{
	const struct overwrite *o = arg;

	(void)f;
	return writer_overwrite(w, o->path, o->axis, o->at, o->rows);
}

/* The sample, and what is shown of the whole dataset, have changed. */
static void tell(struct ns *ns, struct node sample)
{
	CLEANUP(pin_done) struct pin p = { 0 };

	if (pin_get(ns, node_ino(sample), &p) == 0)
		ns_changed_object(ns, p.object);
	ns_changed(ns, node_ino(sample));
	ns_tell(ns);
}

static int overwrite_row(struct ns *ns, struct node sample,
			 const struct stage_member *m, const void *bytes,
			 size_t size, const char *path)
{
	CLEANUP(array_freep) struct array *rows = NULL;
	struct overwrite o = { .path = m->path,
			       .axis = m->axis,
			       .at = sample.index };
	int r = row_array(m->type, m->rank, m->dims, m->axis, 1, bytes, size,
			  &rows);

	o.rows = rows;
	if (r == 0)
		r = ns_transact(ns, path, act_overwrite, &o);
	if (r == 0)
		tell(ns, sample);
	return r;
}

/* The sample's node names one row of the dataset. */
static int check_levels(const struct object *o, struct refusal *f)
{
	if (o->kind == OBJECT_DATASET && o->layout->kind == LAYOUT_PICTURES &&
	    o->layout->nindex > 1)
		return refusal_set(f, -EOPNOTSUPP,
				   "change it with h5py, or save its .npy",
				   "its pictures lie several levels deep");
	return o->kind == OBJECT_DATASET ? 0 : -ENOENT;
}

/* Of elements that point nothing is kept: an encoded file is replaced as it is. */
static int read_row(const struct member_desc *d, uint64_t at,
		    struct blob **ret_row)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t start[DT_MAX_RANK] = { 0 }, size = stage_row_bytes(&d->m);
	int r;

	if (d->m.role != STAGE_PICTURE || !size)
		return 0;
	r = blob_new(size, &b);
	if (r < 0)
		return r;
	{
		uint64_t count[DT_MAX_RANK];

		memcpy(count, d->m.dims, sizeof(count));
		start[d->m.axis] = at;
		count[d->m.axis] = 1;
		r = dset_read(d->st->dset, start, count, NULL, b->data);
	}
	if (r == 0)
		*ret_row = TAKE(b);
	return r;
}

int replace_sample(struct ns *ns, struct node sample, const char *name,
		   const uint8_t *bytes, uint64_t size, const char *path,
		   struct refusal *f)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(member_desc_done) struct member_desc d = { 0 };
	CLEANUP(blob_unrefp) struct blob *keep = NULL;
	CLEANUP(accepted_done) struct accepted a = { 0 };
	int r = pin_get(ns, node_ino(sample), &p);

	if (r == 0)
		r = check_levels(p.object, f);
	if (r == 0)
		r = member_desc_of(ns, p.object, &d, f);
	if (r == 0)
		r = read_row(&d, sample.index, &keep);
	if (r == 0)
		r = accept_file(&d.m, name, bytes, size, ns->opts.fit,
				keep ? keep->data : NULL, &a, f);
	if (r == 0 && (a.batch || a.nrows != 1))
		r = refusal_set(f, -EINVAL, "save one row",
				"the file holds several rows");
	return r < 0 ? r
		     : overwrite_row(ns, sample, &d.m, a.rows->data,
				     a.rows->size, path);
}

int replace_by_row(struct ns *ns, struct node sample, const void *row,
		   size_t size, const char *path)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(member_desc_done) struct member_desc d = { 0 };
	struct refusal f = { 0 };
	int r = pin_get(ns, node_ino(sample), &p);

	if (r == 0)
		r = check_levels(p.object, &f);
	if (r == 0)
		r = member_desc_of(ns, p.object, &d, &f);
	if (r < 0)
		return ns_refuse(ns, path, &f, r);
	return overwrite_row(ns, sample, &d.m, row, size, path);
}

int relabel_sample(struct ns *ns, struct node sample,
		   const struct class_label *label, const char *path,
		   struct refusal *f)
{
	CLEANUP(pin_done) struct pin p = { 0 };
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	CLEANUP(blob_unrefp) struct blob *value = NULL;
	CLEANUP(array_freep) struct array *rows = NULL;
	CLEANUP(freep) char *labels_path = NULL;
	const struct dataset_info *in;
	struct object *labels;
	int r = pin_get(ns, node_ino(sample), &p);

	if (r < 0)
		return r;
	labels = p.object->labelled ? labels_of(ns, p.object) : NULL;
	if (!labels || labels->info.id.file != 0)
		return refusal_set(f, -EOPNOTSUPP, "change them there",
				   "its labels lie in another file");
	labels_path = object_path(labels);
	r = labels_path ? open_dataset(labels, &d) : -ENOMEM;
	if (r < 0)
		return r;
	in = dset_info(d);
	r = label_value(in, label, &value, f);
	if (r == 0)
		r = row_array(in->type, in->rank, in->dims, 0, 1, value->data,
			      value->size, &rows);
	if (r == 0)
		r = ns_transact(ns, path, act_overwrite,
				&(struct overwrite){ labels_path, 0,
						     sample.index, rows });
	if (r == 0)
		tell(ns, sample);
	return r;
}
