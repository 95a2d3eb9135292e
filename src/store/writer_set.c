/* SPDX-License-Identifier: MIT */
/* writer_set.c - the datasets that a transaction writes: opened once, described
 * as the reader describes them, and kept as long as the library has FILE open. */
#include <inttypes.h>

#include "writer_int.h"

void writer_set_free(struct dset *d)
{
	hid_closep(&d->mtype);
	hid_closep(&d->hid);
	blob_unref(d->fill);
	dtype_free(d->type);
	free(d->path);
	free(d);
}

void writer_datasets_close(struct writer *w)
{
	for (unsigned i = 0; i < WRITER_SETS; i++) {
		if (w->sets[i])
			writer_set_free(w->sets[i]);
		w->sets[i] = NULL;
	}
}

/* Are its chunks put together, packed and stored by region_write()? Where edges
 * are stored unpacked the library must see them: it packs them itself once the
 * extent has grown over them. */
static bool is_direct(const struct dset *d)
{
	return d->info.storage == STORAGE_CHUNKED && d->map.same && d->fill &&
	       d->chunk_bytes <= UINT32_MAX &&
	       !(d->raw_edges && d->info.nfilters) &&
	       filters_supported(d->filters, d->info.nfilters) &&
	       filters_appliable(d->filters, d->info.nfilters);
}

int writer_set_open(struct writer *w, const char *path, struct dset **ret_set)
{
	struct dset *d = calloc(1, sizeof(*d));
	CLEANUP(writer_set_freep) struct dset *owned = d;
	int r;

	if (!d)
		return -ENOMEM;
	d->hid = d->mtype = -1;
	d->slot = -1;
	d->path = strdup(path);
	if (!d->path)
		return -ENOMEM;
	r = writer_object(w, path, &d->hid);
	if (r < 0)
		return r;
	if (H5Iget_type(d->hid) != H5I_DATASET)
		return writer_fail(w, -EINVAL, "%s is no dataset", path);
	r = dset_describe(d->hid, d);
	if (r < 0)
		return writer_fail(w, r, "%s can not be read", path);
	d->mtype = type_to_h5_named(d->type);
	d->info.direct = is_direct(d);
	*ret_set = TAKE(owned);
	return 0;
}

int writer_dataset(struct writer *w, const char *path, struct dset **ret_set)
{
	struct dset **slot;
	struct dset *d;
	int r;

	for (unsigned i = 0; i < WRITER_SETS; i++)
		if (w->sets[i] && !strcmp(w->sets[i]->path, path)) {
			*ret_set = w->sets[i];
			return 0;
		}
	r = writer_set_open(w, path, &d);
	if (r < 0)
		return r;
	slot = &w->sets[w->next_set++ % WRITER_SETS];
	if (*slot)
		writer_set_free(*slot);
	*slot = *ret_set = d;
	return 0;
}

/* ---- what can be done to it ---- */
static bool can_encode(const struct filter *f)
{
	unsigned config = 0;

	return filters_appliable(f, 1) ||
	       (H5Zfilter_avail((H5Z_filter_t)f->id) > 0 &&
		H5Zget_filter_info((H5Z_filter_t)f->id, &config) >= 0 &&
		config & H5Z_FILTER_CONFIG_ENCODE_ENABLED);
}

int writer_set_writable(struct writer *w, const struct dset *d)
{
	static const char *const elsewhere[] = {
		[STORAGE_VIRTUAL] = "is virtual: its values lie in other "
				    "datasets",
		[STORAGE_EXTERNAL] = "has its values in other files",
	};
	unsigned i = d->info.storage;

	if (d->info.null)
		return writer_fail(w, -EOPNOTSUPP, "%s has no values", d->path);
	if (i < ARRAY_SIZE(elsewhere) && elsewhere[i])
		return writer_fail(w, -EOPNOTSUPP, "%s %s", d->path,
				   elsewhere[i]);
	if (d->mtype < 0)
		return writer_fail(w, -EOPNOTSUPP,
				   "%s has a datatype that can not be written",
				   d->path);
	for (i = 0; i < d->info.nfilters; i++)
		if (!can_encode(&d->filters[i]))
			return writer_fail(w, -EOPNOTSUPP,
					   "%s needs filter %u (%s), which can "
					   "not be applied here",
					   d->path, d->filters[i].id,
					   d->info.filters[i].name);
	return 0;
}

int writer_set_growable(struct writer *w, const struct dset *d, unsigned axis,
			uint64_t n)
{
	uint64_t length;
	int r = writer_set_writable(w, d);

	if (r < 0)
		return r;
	if (axis >= d->info.rank)
		return writer_fail(w, -EOPNOTSUPP, "%s has no axis %u", d->path,
				   axis);
	if (d->info.storage != STORAGE_CHUNKED)
		return writer_fail(w, -EOPNOTSUPP,
				   "%s was not created growable; -o grow "
				   "rewrites it",
				   d->path);
	if (add_overflow(d->info.dims[axis], n, &length) ||
	    length > d->info.maxdims[axis])
		return writer_fail(w, -EOPNOTSUPP,
				   "%s may not grow beyond %" PRIu64
				   " rows; -o grow rewrites it",
				   d->path, d->info.maxdims[axis]);
	return 0;
}

int writer_can_append(struct writer *w, const char *path, unsigned axis)
{
	int r;

	WRITER_LOOK(w);
	CLEANUP(writer_set_freep) struct dset *d = NULL;

	r = writer_set_open(w, path, &d);
	return r < 0 ? r : writer_set_growable(w, d, axis, 1);
}
