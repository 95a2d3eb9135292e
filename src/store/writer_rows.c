/* SPDX-License-Identifier: MIT */
/* writer_rows.c - rows appended to a dataset, overwritten in it, or all of its
 * values replaced. */
#include <inttypes.h>

#include "writer_int.h"

/* Are these rows of this dataset? */
static int check_rows(struct writer *w, const struct dset *d, unsigned axis,
		      const struct array *rows)
{
	if (axis >= d->info.rank || rows->rank != d->info.rank ||
	    !dtype_same(rows->type, d->type))
		return writer_fail(w, -EINVAL,
				   "%s holds elements of another type or rank",
				   d->path);
	for (unsigned i = 0; i < rows->rank; i++)
		if (i != axis && rows->dims[i] != d->info.dims[i])
			return writer_fail(w, -EINVAL,
					   "%s holds rows of another shape",
					   d->path);
	return 0;
}

static int set_length(struct writer *w, struct dset *d, unsigned axis,
		      uint64_t length)
{
	hsize_t dims[DT_MAX_RANK];

	for (unsigned i = 0; i < d->info.rank; i++)
		dims[i] = i == axis ? length : d->info.dims[i];
	if (H5Dset_extent(d->hid, dims) < 0)
		return writer_path_fail(w, d->path, "can not grow");
	d->info.dims[axis] = length;
	return 0;
}

/* Makes room: *ret_at is where the rows go. */
static int grow_for(struct writer *w, const char *path, unsigned axis,
		    const struct array *rows, struct dset **ret_set,
		    uint64_t *ret_at)
{
	struct dset *d;
	int r;

	WRITER_GUARD(w);
	r = writer_dataset(w, path, &d);
	if (r == 0)
		r = check_rows(w, d, axis, rows);
	if (r < 0)
		return r;
	*ret_at = d->info.dims[axis];
	*ret_set = d;
	if (rows->dims[axis] == 0)
		return writer_set_writable(w, d);
	r = writer_set_growable(w, d, axis, rows->dims[axis]);
	return r < 0 ? r : set_length(w, d, axis, *ret_at + rows->dims[axis]);
}

static int check_range(struct writer *w, const char *path, unsigned axis,
		       const struct array *rows, uint64_t at,
		       struct dset **ret_set)
{
	struct dset *d;
	int r;

	WRITER_GUARD(w);
	r = writer_dataset(w, path, &d);
	if (r == 0)
		r = check_rows(w, d, axis, rows);
	if (r == 0)
		r = writer_set_writable(w, d);
	if (r < 0)
		return r;
	if (at > d->info.dims[axis] ||
	    rows->dims[axis] > d->info.dims[axis] - at)
		return writer_fail(w, -ERANGE, "%s has %" PRIu64 " rows", path,
				   d->info.dims[axis]);
	*ret_set = d;
	return 0;
}

static int encode_refs(struct writer *w, const struct array *rows,
		       struct blob **ret_copy)
{
	WRITER_GUARD(w);
	return writer_refs(w, rows->type, rows->data->data, rows->count,
			   ret_copy);
}

static int write_rows(struct writer *w, struct dset *d, unsigned axis,
		      uint64_t at, const struct array *rows)
{
	CLEANUP(blob_unrefp) struct blob *refs = NULL;
	uint64_t start[DT_MAX_RANK] = { 0 };
	struct source src = { .fd = -1 };
	int r;

	if (rows->count == 0)
		return 0;
	r = encode_refs(w, rows, &refs);
	if (r < 0)
		return r;
	src.mem = refs ? refs->data : rows->data->data;
	start[axis] = at;
	return region_write(w, d, start, rows->dims, &src);
}

int writer_append(struct writer *w, const char *path, unsigned axis,
		  const struct array *rows)
{
	struct dset *d = NULL;
	uint64_t at = 0;
	int r = grow_for(w, path, axis, rows, &d, &at);

	return r < 0 ? r : write_rows(w, d, axis, at, rows);
}

int writer_overwrite(struct writer *w, const char *path, unsigned axis,
		     uint64_t at, const struct array *rows)
{
	struct dset *d = NULL;
	int r = check_range(w, path, axis, rows, at, &d);

	return r < 0 ? r : write_rows(w, d, axis, at, rows);
}

static int open_to_replace(struct writer *w, const char *path,
			   struct dset **ret_set)
{
	struct dset *d;
	uint64_t bytes;
	int r;

	WRITER_GUARD(w);
	r = writer_dataset(w, path, &d);
	if (r == 0)
		r = writer_set_writable(w, d);
	if (r < 0)
		return r;
	if (dtype_has_pointers(d->type))
		return writer_fail(w, -EOPNOTSUPP,
				   "%s holds elements of variable length",
				   path);
	if (mul_overflow(d->info.count, d->type->size, &bytes) ||
	    bytes > INT64_MAX)
		return writer_fail(w, -EFBIG, "%s is too large", path);
	*ret_set = d;
	return 0;
}

int writer_replace(struct writer *w, const char *path, int fd, uint64_t offset)
{
	const uint64_t start[DT_MAX_RANK] = { 0 };
	const struct source src = { NULL, fd, offset };
	struct dset *d = NULL;
	int r = open_to_replace(w, path, &d);

	return r < 0 ? r : region_write(w, d, start, d->info.dims, &src);
}
