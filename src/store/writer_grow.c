/* SPDX-License-Identifier: MIT */
/* writer_grow.c - rewrites a fixed dataset as one that grows along an axis.
 *
 * The new one is made without a name, filled piece by piece, and then takes the
 * link of the old one. Stored chunks are copied as they are; what was not chunked
 * gets chunks and no filter, so that it takes as much room as before.
 *
 * Object and region references to the old one, wherever they are, lead nowhere
 * afterwards; nothing in FILE tells that there are any, but for dimension scales,
 * which are refused. In a group that tracks the order of creation it becomes the
 * last. */
#include <inttypes.h>

#include "writer_int.h"

#define STEP_BYTES (16u << 20) /* copied while nobody else may read */
#define STEP_CHUNKS 4096
#define MAX_CHUNKS (1u << 26)
#define MAX_ATTR_BYTES (64u << 20)

struct growing {
	struct writer *w;
	const char *path;
	struct dset *old; /* the writer's */
	hid_t new, type;
	uint64_t tile[DT_MAX_RANK], at[DT_MAX_RANK];
	uint64_t tile_bytes;
	bool done;
};

static void growing_done(struct growing *g)
{
	pthread_mutex_lock(&store_h5);
	hid_closep(&g->type);
	hid_closep(&g->new);
	pthread_mutex_unlock(&store_h5);
}

/* ---- may it be? ---- */
static int refuse(struct growing *g, const char *what)
{
	return writer_fail(g->w, -EOPNOTSUPP,
			   "%s %s: it can not be rewritten as one that grows",
			   g->path, what);
}

static int check_links(struct growing *g)
{
	static const char *const scales[] = { "DIMENSION_LIST",
					      "REFERENCE_LIST" };
	hid_t set = g->old->hid;
	H5L_info_t li;
	H5O_info_t oi;

	if (H5Lget_info(g->w->file, g->path, &li, H5P_DEFAULT) < 0 ||
	    H5Oget_info2(set, &oi, H5O_INFO_BASIC) < 0)
		return writer_path_fail(g->w, g->path, "can not be looked up");
	if (li.type != H5L_TYPE_HARD)
		return refuse(g, "is a link to another path");
	if (oi.rc > 1)
		return refuse(g, "has several hard links");
	for (size_t i = 0; i < ARRAY_SIZE(scales); i++)
		if (H5Aexists(set, scales[i]) > 0)
			return refuse(g, "has dimension scales or is one");
	return 0;
}

static int check(struct growing *g, unsigned axis)
{
	const struct dataset_info *i = &g->old->info;
	uint64_t n = 1;
	int r;

	if (axis >= i->rank)
		return writer_fail(g->w, -EOPNOTSUPP, "%s has no axis %u",
				   g->path, axis);
	r = writer_set_writable(g->w, g->old);
	if (r < 0)
		return r;
	for (unsigned k = 0; k < i->rank; k++)
		if (mul_overflow(n, i->dims[k] / g->tile[k] + 1, &n) ||
		    n > MAX_CHUNKS)
			return refuse(g, "has too many chunks");
	return check_links(g);
}

/* ---- the new one ---- */
static hid_t new_space(const struct dataset_info *i, unsigned axis)
{
	hsize_t dims[DT_MAX_RANK], max[DT_MAX_RANK];

	for (unsigned k = 0; k < i->rank; k++) {
		dims[k] = i->dims[k];
		max[k] = k == axis || i->maxdims[k] == UINT64_MAX
				 ? H5S_UNLIMITED
				 : i->maxdims[k];
	}
	return H5Screate_simple((int)i->rank, dims, max);
}

static int set_chunks(struct growing *g, hid_t dcpl)
{
	hsize_t dims[DT_MAX_RANK];

	for (unsigned k = 0; k < g->old->info.rank; k++)
		dims[k] = g->tile[k];
	return H5Pset_chunk(dcpl, (int)g->old->info.rank, dims) < 0 ||
			       H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR) < 0
		       ? -EIO
		       : 0;
}

static int create(struct growing *g, unsigned axis)
{
	const struct dataset_info *i = &g->old->info;
	CLEANUP(hid_closep) hid_t dcpl = H5Dget_create_plist(g->old->hid);
	CLEANUP(hid_closep) hid_t space = new_space(i, axis);

	g->type = H5Dget_type(g->old->hid);
	if (dcpl < 0 || space < 0 || g->type < 0 ||
	    (i->storage != STORAGE_CHUNKED && set_chunks(g, dcpl) < 0))
		return writer_path_fail(g->w, g->path, "its properties");
	g->new = H5Dcreate_anon(g->w->file, g->type, space, dcpl, H5P_DEFAULT);
	if (g->new < 0)
		return writer_path_fail(g->w, g->path, "can not be rewritten");
	return 0;
}

/* 1: it grows already. */
static int begin(struct growing *g, unsigned axis)
{
	const struct dataset_info *i;
	int r;

	WRITER_GUARD(g->w);
	r = writer_dataset(g->w, g->path, &g->old);
	if (r < 0)
		return r;
	i = &g->old->info;
	if (i->storage == STORAGE_CHUNKED) {
		if (axis < i->rank && i->maxdims[axis] == UINT64_MAX)
			return 1;
		memcpy(g->tile, i->chunk, sizeof(g->tile));
	} else {
		chunk_shape(i->rank, i->dims, axis, i->type->size, g->tile);
	}
	g->done = i->count == 0;
	r = check(g, axis);
	if (r == 0)
		r = create(g, axis);
	if (r < 0)
		return r;
	g->tile_bytes = H5Tget_size(g->type);
	for (unsigned k = 0; k < i->rank; k++)
		g->tile_bytes *= g->tile[k];
	return 0;
}

/* ---- its elements ---- */
static void next_tile(struct growing *g)
{
	for (unsigned k = g->old->info.rank; k-- > 0;) {
		if (g->old->info.dims[k] - g->at[k] > g->tile[k]) {
			g->at[k] += g->tile[k];
			return;
		}
		g->at[k] = 0;
	}
	g->done = true;
}

static int copy_chunk(struct growing *g, uint64_t *ret_bytes)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	hsize_t offset[DT_MAX_RANK], file_size = 0;
	uint64_t size;
	uint32_t mask = 0;
	int r;

	for (unsigned k = 0; k < g->old->info.rank; k++)
		offset[k] = g->at[k];
	if (chunk_stored_size(g->old->hid, offset, ret_bytes) < 0 ||
	    H5Fget_filesize(g->w->file, &file_size) < 0)
		return writer_path_fail(g->w, g->path, "a chunk is not found");
	size = *ret_bytes;
	if (size == 0)
		return 0;
	if (size > file_size)
		return writer_fail(g->w, -EIO, "%s: a chunk is damaged",
				   g->path);
	r = blob_new(size, &b);
	if (r < 0)
		return r;
	if (H5Dread_chunk(g->old->hid, H5P_DEFAULT, offset, &mask, b->data) <
		    0 ||
	    H5Dwrite_chunk(g->new, H5P_DEFAULT, mask, offset, size, b->data) <
		    0)
		return writer_path_fail(g->w, g->path,
					"a chunk can not be copied");
	return 0;
}

/* In the dataset's own type, so that nothing is converted. */
static int copy_tile(struct growing *g)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	CLEANUP(hid_closep) hid_t space = H5Dget_space(g->new);
	CLEANUP(hid_closep) hid_t mem = -1;
	hsize_t start[DT_MAX_RANK], count[DT_MAX_RANK];
	unsigned rank = g->old->info.rank;
	int r = blob_new(g->tile_bytes, &b);

	if (r < 0)
		return r;
	for (unsigned k = 0; k < rank; k++) {
		uint64_t left = g->old->info.dims[k] - g->at[k];

		start[k] = g->at[k];
		count[k] = left < g->tile[k] ? left : g->tile[k];
	}
	mem = H5Screate_simple((int)rank, count, NULL);
	if (space < 0 || mem < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count,
				NULL) < 0 ||
	    H5Dread(g->old->hid, g->type, mem, space, H5P_DEFAULT, b->data) < 0)
		return writer_path_fail(g->w, g->path, "can not be read");
	if (H5Dwrite(g->new, g->type, mem, space, H5P_DEFAULT, b->data) < 0)
		r = writer_path_fail(g->w, g->path, "can not be rewritten");
	if (dtype_has_pointers(g->old->type))
		(void)H5Dvlen_reclaim(g->type, mem, H5P_DEFAULT, b->data);
	return r;
}

static int copy_some(struct growing *g)
{
	uint64_t total = 0;
	int r = 0;

	WRITER_GUARD(g->w);
	for (unsigned n = 0;
	     r == 0 && !g->done && n < STEP_CHUNKS && total < STEP_BYTES; n++) {
		uint64_t bytes = g->tile_bytes;

		r = g->old->info.storage == STORAGE_CHUNKED
			    ? copy_chunk(g, &bytes)
			    : copy_tile(g);
		total += bytes;
		next_tile(g);
	}
	return r;
}

/* ---- its attributes and its name ---- */
static herr_t copy_attr(hid_t obj, const char *name, const H5A_info_t *ai,
			void *arg)
{
	const hid_t *to = arg;
	CLEANUP(hid_closep) hid_t attr = H5Aopen(obj, name, H5P_DEFAULT);
	CLEANUP(hid_closep) hid_t type = attr < 0 ? -1 : H5Aget_type(attr);
	CLEANUP(hid_closep) hid_t space = attr < 0 ? -1 : H5Aget_space(attr);
	CLEANUP(hid_closep)
	hid_t acpl = attr < 0 ? -1 : H5Aget_create_plist(attr);
	CLEANUP(hid_closep) hid_t made = -1;
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
	uint64_t bytes;
	herr_t r;

	(void)ai;
	if (type < 0 || acpl < 0 || n < 0 ||
	    mul_overflow((uint64_t)n, H5Tget_size(type), &bytes) ||
	    bytes > MAX_ATTR_BYTES || blob_new(bytes, &b) < 0)
		return -1;
	made = H5Acreate2(*to, name, type, space, acpl, H5P_DEFAULT);
	if (made < 0 || n == 0)
		return made < 0 ? -1 : 0;
	if (H5Aread(attr, type, b->data) < 0)
		return -1;
	r = H5Awrite(made, type, b->data);
	if (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0)
		(void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, b->data);
	return r;
}

static int copy_comment(struct growing *g)
{
	ssize_t n = H5Oget_comment(g->old->hid, NULL, 0);
	CLEANUP(freep) char *text = n > 0 ? malloc((size_t)n + 1) : NULL;

	if (n <= 0)
		return 0;
	if (!text)
		return -ENOMEM;
	return H5Oget_comment(g->old->hid, text, (size_t)n + 1) < 0 ||
			       H5Oset_comment(g->new, text) < 0
		       ? -EIO
		       : 0;
}

static int finish(struct growing *g)
{
	struct writer *w = g->w;
	hsize_t at = 0;

	WRITER_GUARD(w);
	CLEANUP(hid_closep) hid_t lcpl = writer_link_plist(g->path);

	if (lcpl < 0)
		return -ENOMEM;
	if (H5Aiterate2(g->old->hid, H5_INDEX_NAME, H5_ITER_NATIVE, &at,
			copy_attr, &g->new) < 0 ||
	    copy_comment(g) < 0)
		return writer_path_fail(w, g->path,
					"its attributes can not be copied");
	writer_datasets_close(w);
	g->old = NULL;
	if (H5Ldelete(w->file, g->path, H5P_DEFAULT) < 0 ||
	    H5Olink(g->new, w->file, g->path, lcpl, H5P_DEFAULT) < 0)
		return writer_path_fail(w, g->path, "can not be replaced");
	return 0;
}

int writer_grow(struct writer *w, const char *path, unsigned axis)
{
	CLEANUP(growing_done)
	struct growing g = { .w = w, .path = path, .new = -1, .type = -1 };
	int r = begin(&g, axis);

	if (r != 0)
		return r < 0 ? r : 0;
	while (r == 0 && !g.done)
		r = copy_some(&g);
	return r < 0 ? r : finish(&g);
}
