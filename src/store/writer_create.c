/* SPDX-License-Identifier: MIT */
/* writer_create.c - a new dataset, as h5py's create_dataset() makes it. */
#include "writer_int.h"

#define GZIP_LEVEL 4
#define CHUNK_MIN (64u << 10)
#define CHUNK_MAX (1u << 20)
#define CHUNK_ROWS 64	      /* where these are over CHUNK_MIN */
#define WHOLE_ROW (16u << 20) /* larger rows are split */

void chunk_shape(unsigned rank, const uint64_t *dims, unsigned axis,
		 uint64_t element, uint64_t *ret_chunk)
{
	uint64_t row[DT_MAX_RANK], bytes = element, n;
	bool large = false;

	for (unsigned i = 0; i < rank; i++) {
		row[i] = i == axis || dims[i] == 0 ? 1 : dims[i];
		large = large || mul_overflow(bytes, row[i], &bytes);
	}
	if (large || bytes > WHOLE_ROW) {
		tile_shape(rank, row, element, CHUNK_MAX, ret_chunk);
		return;
	}
	memcpy(ret_chunk, row, rank * sizeof(*row));
	n = bytes ? CHUNK_MAX / bytes : CHUNK_ROWS;
	if (n > CHUNK_ROWS) {
		n = bytes ? CHUNK_MIN / bytes : 0;
		n = n < CHUNK_ROWS ? CHUNK_ROWS : n;
	}
	ret_chunk[axis] = n ? n : 1;
}

static hid_t space_of(const struct writer_dataset *d)
{
	hsize_t dims[DT_MAX_RANK], max[DT_MAX_RANK];

	if (d->rank == 0)
		return H5Screate(H5S_SCALAR);
	for (unsigned i = 0; i < d->rank; i++)
		max[i] = dims[i] = d->dims[i];
	if (d->growable)
		max[0] = H5S_UNLIMITED;
	return H5Screate_simple((int)d->rank, dims, max);
}

static int set_chunks(hid_t dcpl, const struct writer_dataset *d)
{
	uint64_t chunk[DT_MAX_RANK];
	hsize_t dims[DT_MAX_RANK];

	chunk_shape(d->rank, d->dims, 0, d->type->size, chunk);
	for (unsigned i = 0; i < d->rank; i++)
		dims[i] = chunk[i];
	return H5Pset_chunk(dcpl, (int)d->rank, dims) < 0 ||
			       H5Pset_shuffle(dcpl) < 0 ||
			       H5Pset_deflate(dcpl, GZIP_LEVEL) < 0
		       ? -EIO
		       : 0;
}

/* The new dataset without values, and open. *ret_refs: see writer_refs(). */
static int make(struct writer *w, const char *path,
		const struct writer_dataset *d, uint64_t count,
		struct dset **ret_set, struct blob **ret_refs)
{
	int r;

	WRITER_GUARD(w);
	CLEANUP(hid_closep) hid_t lcpl = writer_link_plist(path);
	CLEANUP(hid_closep) hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
	CLEANUP(hid_closep) hid_t type = type_to_h5_named(d->type);
	CLEANUP(hid_closep) hid_t space = space_of(d);
	CLEANUP(hid_closep) hid_t set = -1;

	if (type < 0)
		return writer_fail(w, -EOPNOTSUPP,
				   "%s: a type that can not be written", path);
	if (lcpl < 0 || dcpl < 0 || space < 0)
		return -ENOMEM;
	r = writer_path_free(w, path, true);
	if (r == 0 && d->growable && d->rank)
		r = set_chunks(dcpl, d);
	if (r < 0)
		return r;
	(void)H5Pset_obj_track_times(dcpl, false); /* as h5py does */
	set = H5Dcreate2(w->file, path, type, space, lcpl, dcpl, H5P_DEFAULT);
	if (set < 0)
		return writer_path_fail(w, path, "can not be made");
	if (count && d->data)
		r = writer_refs(w, d->type, d->data, count, ret_refs);
	return r < 0 ? r : writer_dataset(w, path, ret_set);
}

int writer_create_dataset(struct writer *w, const char *path,
			  const struct writer_dataset *d)
{
	const uint64_t start[DT_MAX_RANK] = { 0 };
	CLEANUP(blob_unrefp) struct blob *refs = NULL;
	struct source src = { d->data, d->fd, d->offset };
	uint64_t count = 1, bytes;
	struct dset *set;
	int r;

	for (unsigned i = 0; i < d->rank; i++)
		if (mul_overflow(count, d->dims[i], &count))
			return writer_fail(w, -EFBIG, "%s is too large", path);
	if (mul_overflow(count, d->type->size, &bytes) || bytes > INT64_MAX)
		return writer_fail(w, -EFBIG, "%s is too large", path);
	if (!d->data && dtype_has_pointers(d->type) && count)
		return writer_fail(w, -EINVAL,
				   "%s: elements of variable length do not "
				   "lie in a file",
				   path);
	r = make(w, path, d, count, &set, &refs);
	if (r < 0)
		return r;
	if (refs)
		src.mem = refs->data;
	return region_write(w, set, start, d->dims, &src);
}
