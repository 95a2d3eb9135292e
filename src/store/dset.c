/* SPDX-License-Identifier: MIT */
/* dset.c - a dataset opened for reading: what it is, and a bounded number of
 * library handles. Open datasets keep caches alive, so only the most recently
 * used have one, with the small chunk cache that store.c sets. */
#include <inttypes.h>
#include <stdio.h>

#include "store_int.h"

#define MAX_ELEMENT (1u << 30) /* bytes */
#define MAX_FILL (1u << 20)    /* a larger element's fill value is not kept */

void dset_fault(struct dset *d, const char *what, const char *remedy)
{
	if (d->store->faults)
		(void)faults_add(d->store->faults, d->path, what, remedy);
}

void dset_denied(struct dset *d, const char *name)
{
	bool hide = d->store->external == EXTERNAL_HIDE;
	CLEANUP(freep) char *what = NULL;

	if (asprintf(&what, "its data%s%s %s", name ? " file " : "",
		     name ? name : "",
		     hide ? "is in another file, which external=hide leaves out"
			  : "lies outside the file's directory") < 0)
		what = NULL;
	dset_fault(d, what ? what : "its data may not be read",
		   hide ? "mount without -o external=hide"
			: "mount with -o external=follow");
}

static void close_slot(struct store *s, int i)
{
	struct dset *d = s->slots[i].dset;

	if (!d)
		return;
	hid_closep(&d->mtype);
	hid_closep(&d->hid);
	d->hid = d->mtype = -1;
	d->slot = -1;
	s->slots[i].dset = NULL;
}

static hid_t open_library(struct dset *d)
{
	CLEANUP(hid_closep) hid_t obj = object_open(d->store, d->info.obj.id);
	hid_t r = obj;

	if (obj < 0 || H5Iget_type(obj) != H5I_DATASET)
		return -1;
	obj = -1;
	return r;
}

int dset_hid(struct dset *d, hid_t *ret_hid, hid_t *ret_mtype)
{
	struct store *s = d->store;
	int oldest = 0;

	if (d->slot < 0) {
		for (int i = 1; i < STORE_OPEN_DATASETS; i++)
			if (!s->slots[i].dset ||
			    (s->slots[oldest].dset &&
			     s->slots[i].used < s->slots[oldest].used))
				oldest = i;
		close_slot(s, oldest);
		d->hid = open_library(d);
		if (d->hid < 0)
			return -EIO;
		d->mtype = type_to_h5(d->type);
		d->slot = oldest;
		s->slots[oldest].dset = d;
	}
	s->slots[d->slot].used = ++s->clock;
	if (d->mtype < 0) {
		dset_fault(d, "has a datatype that can not be read",
			   "read it with h5dump");
		return -EIO;
	}
	*ret_hid = d->hid;
	if (ret_mtype)
		*ret_mtype = d->mtype;
	return 0;
}

static int take_space(hid_t set, struct dset *d)
{
	CLEANUP(hid_closep) hid_t space = H5Dget_space(set);
	hsize_t dims[H5S_MAX_RANK], max[H5S_MAX_RANK];
	int rank;

	if (space < 0)
		return -EIO;
	if (H5Sget_simple_extent_type(space) == H5S_NULL) {
		d->info.null = true;
		return 0;
	}
	rank = H5Sget_simple_extent_dims(space, dims, max);
	if (rank < 0 || rank > DT_MAX_RANK)
		return -EIO;
	d->info.rank = (unsigned)rank;
	d->info.count = 1;
	for (int i = 0; i < rank; i++) {
		d->info.dims[i] = dims[i];
		d->info.maxdims[i] =
			max[i] == H5S_UNLIMITED ? UINT64_MAX : max[i];
		if (mul_overflow(d->info.count, dims[i], &d->info.count))
			d->info.count = UINT64_MAX;
	}
	for (int i = 0; i < rank; i++) /* whatever overflowed before it */
		if (dims[i] == 0)
			d->info.count = 0;
	return 0;
}

static int take_filters(hid_t dcpl, struct dset *d)
{
	int n = H5Pget_nfilters(dcpl);

	if (n < 0 || n > STORE_MAX_FILTERS)
		return -EIO;
	d->info.nfilters = (unsigned)n;
	for (unsigned i = 0; i < (unsigned)n; i++) {
		struct filter *f = &d->filters[i];
		struct filter_info *fi = &d->info.filters[i];
		size_t ncd = ARRAY_SIZE(f->cd);
		unsigned flags = 0, config = 0;
		H5Z_filter_t id = H5Pget_filter2(dcpl, i, &flags, &ncd, f->cd,
						 0, NULL, &config);

		if (id < 0)
			return -EIO;
		f->id = fi->id = (unsigned)id;
		if (flags & H5Z_FLAG_OPTIONAL)
			d->optional |= 1u << i;
		f->ncd = ncd < ARRAY_SIZE(f->cd) ? (unsigned)ncd
						 : (unsigned)ARRAY_SIZE(f->cd);
		if (filter_name(f->id))
			snprintf(fi->name, sizeof(fi->name), "%s",
				 filter_name(f->id));
		else
			snprintf(fi->name, sizeof(fi->name), "filter %u",
				 f->id);
		fi->available =
			filter_is_ours(f->id) || H5Zfilter_avail(id) > 0;
	}
	return 0;
}

static int take_chunks(hid_t dcpl, struct dset *d)
{
	hsize_t dims[H5S_MAX_RANK];
	int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, dims);
	unsigned opts = 0;

	if (rank < 0 || (unsigned)rank != d->info.rank)
		return -EIO;
	d->chunk_elems = 1;
	for (int i = 0; i < rank; i++) {
		d->info.chunk[i] = dims[i];
		if (dims[i] == 0 ||
		    mul_overflow(d->chunk_elems, dims[i], &d->chunk_elems))
			return -EIO;
		d->nchunks[i] = d->info.dims[i] / dims[i] +
				(d->info.dims[i] % dims[i] != 0);
	}
	if (mul_overflow(d->chunk_elems, d->type->size, &d->chunk_bytes) ||
	    d->chunk_bytes > INT64_MAX)
		return -EIO;
	if (H5Pget_chunk_opts(dcpl, &opts) >= 0)
		d->raw_edges = opts & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
	return 0;
}

/* External raw files: relative names are relative to FILE's directory. */
static int take_segments(hid_t set, struct dset *d)
{
	CLEANUP(hid_closep) hid_t dcpl = H5Dget_create_plist(set);
	int n = dcpl < 0 ? -1 : H5Pget_external_count(dcpl);

	if (n < 1)
		return -EIO;
	d->segments = calloc((size_t)n, sizeof(*d->segments));
	if (!d->segments)
		return -ENOMEM;
	for (unsigned i = 0; i < (unsigned)n; i++) {
		CLEANUP(freep) char *full = NULL;
		char name[4096] = "";
		hsize_t size = 0;
		off_t offset = 0;
		int file;

		if (H5Pget_external(dcpl, i, sizeof(name) - 1, name, &offset,
				    &size) < 0 ||
		    offset < 0)
			return -EIO;
		if (asprintf(&full, "%s%s%s", *name == '/' ? "" : d->store->dir,
			     *name == '/' ? "" : "/", name) < 0) {
			full = NULL;
			return -ENOMEM;
		}
		file = store_add_file(d->store, full);
		if (file == -EACCES) {
			dset_denied(d, name);
		} else if (file < 0) {
			CLEANUP(freep) char *what = NULL;

			if (asprintf(&what,
				     "its raw data file %s can not be "
				     "opened",
				     name) < 0)
				what = NULL;
			dset_fault(d, what ? what : "raw data file",
				   "put it beside the file");
		}
		d->segments[i].file = file < 0 ? UINT32_MAX : (unsigned)file;
		d->segments[i].offset = (uint64_t)offset;
		d->segments[i].size = size == H5F_UNLIMITED ? UINT64_MAX : size;
		d->nsegments = i + 1;
	}
	return 0;
}

/* The library reads as much as the extent asks for, whatever there is. */
static bool is_too_short(hid_t set, hid_t type, const struct dset *d)
{
	uint64_t bytes;

	return mul_overflow(d->info.count, H5Tget_size(type), &bytes) ||
	       H5Dget_storage_size(set) < bytes;
}

static int take_layout(hid_t set, hid_t type, hid_t dcpl, struct dset *d)
{
	H5D_space_status_t status;

	switch (H5Pget_layout(dcpl)) {
	case H5D_COMPACT:
		d->info.storage = STORAGE_COMPACT;
		return is_too_short(set, type, d) ? -EIO : 0;
	case H5D_CHUNKED:
		d->info.storage = STORAGE_CHUNKED;
		return d->info.null || d->info.rank == 0 ? -EIO
							 : take_chunks(dcpl, d);
	case H5D_VIRTUAL:
		d->info.storage = STORAGE_VIRTUAL;
		return 0;
	case H5D_CONTIGUOUS:
		d->info.storage = STORAGE_EXTERNAL;
		if (H5Pget_external_count(dcpl) > 0)
			return 0;
		d->info.storage = STORAGE_CONTIGUOUS;
		/* the address of nothing is given with the userblock added */
		if (H5Dget_space_status(set, &status) < 0)
			return -EIO;
		d->addr = status == H5D_SPACE_STATUS_NOT_ALLOCATED
				  ? HADDR_UNDEF
				  : H5Dget_offset(set);
		if (d->addr == HADDR_UNDEF)
			d->addr = UINT64_MAX;
		return 0;
	default:
		return -EIO;
	}
}

/* The fill value in memory form; zeros where there is none to be had. NULL (and
 * zeros) for elements so large that keeping one would be a way to fill memory. */
static int take_fill(hid_t dcpl, struct dset *d)
{
	CLEANUP(hid_closep) hid_t mtype = type_to_h5(d->type);
	H5D_fill_value_t defined;
	int r;

	if (d->type->size > MAX_FILL)
		return 0;
	r = blob_new(d->type->size, &d->fill);
	if (r < 0)
		return r;
	memset(d->fill->data, 0, d->type->size);
	if (mtype >= 0 && H5Pfill_value_defined(dcpl, &defined) >= 0 &&
	    defined == H5D_FILL_VALUE_USER_DEFINED &&
	    !dtype_has_pointers(d->type) &&
	    H5Pget_fill_value(dcpl, mtype, d->fill->data) < 0)
		memset(d->fill->data, 0, d->type->size);
	return 0;
}

#define KEPT_AT_LEAST (16u << 20)

/* Of a chunk without filters the library reads what is asked for and no more;
 * with filters it needs all of it, and so it is kept whatever its size. */
static bool is_piecewise(const struct dset *d)
{
	struct cache_stats st;
	uint64_t bytes = d->type->size, max;

	if (d->info.storage != STORAGE_CHUNKED || d->info.direct ||
	    d->info.nfilters)
		return false;
	for (unsigned i = 0; i < d->info.rank; i++)
		bytes *= d->info.dims[i] < d->info.chunk[i] ? d->info.dims[i]
							    : d->info.chunk[i];
	cache_get_stats(d->store->cache, &st);
	max = st.max_bytes / 8;
	return bytes > (max > KEPT_AT_LEAST ? max : KEPT_AT_LEAST);
}

int dset_describe(hid_t set, struct dset *d)
{
	CLEANUP(hid_closep) hid_t type = H5Dget_type(set);
	CLEANUP(hid_closep) hid_t dcpl = H5Dget_create_plist(set);
	int r;

	if (type < 0 || dcpl < 0)
		return -EIO;
	r = type_from_h5(type, &d->type, &d->map);
	if (r == 0 && d->type->size > MAX_ELEMENT)
		r = -EFBIG;
	if (r < 0)
		return r;
	d->info.type = d->type;
	if ((r = take_space(set, d)) < 0 || (r = take_filters(dcpl, d)) < 0 ||
	    (r = take_layout(set, type, dcpl, d)) < 0 ||
	    (r = take_fill(dcpl, d)) < 0)
		return r;
	d->info.direct = d->map.same &&
			 (d->info.storage == STORAGE_CONTIGUOUS ||
			  d->info.storage == STORAGE_EXTERNAL ||
			  (d->info.storage == STORAGE_CHUNKED &&
			   filters_supported(d->filters, d->info.nfilters)));
	return 0;
}

static int describe(struct dset *d)
{
	struct store *s = d->store;
	int r;

	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t set = open_library(d);

	if (set < 0)
		return -EIO;
	r = object_info(s, set, &d->info.obj);
	if (r == 0)
		r = dset_describe(set, d);
	if (r == 0 && d->info.storage == STORAGE_EXTERNAL)
		r = take_segments(set, d);
	if (r < 0)
		return r;
	d->piecewise = is_piecewise(d);
	parts_init(d);
	ahead_init(d);
	return 0;
}

int dset_open(struct store *s, struct obj_id id, const char *path,
	      struct dset **ret_dset)
{
	CLEANUP(dset_unrefp) struct dset *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->refs = 1;
	d->store = s;
	pthread_mutex_init(&d->order.lock, NULL);
	d->slot = -1;
	d->hid = d->mtype = -1;
	d->addr = UINT64_MAX;
	d->info.obj.id = id;
	d->key = hash_mix(hash_mix(s->serial, id.file), id.addr);
	d->path = strdup(path);
	if (!d->path)
		return -ENOMEM;
	r = describe(d);
	if (r < 0)
		return r;
	*ret_dset = TAKE(d);
	return 0;
}

struct dset *dset_ref(struct dset *d)
{
	__atomic_fetch_add(&d->refs, 1, __ATOMIC_RELAXED);
	return d;
}

void dset_unref(struct dset *d)
{
	if (!d || __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_lock(&store_h5);
	if (d->slot >= 0) /* closing needs no look at FILE */
		close_slot(d->store, d->slot);
	pthread_mutex_unlock(&store_h5);
	pthread_mutex_destroy(&d->order.lock);
	blob_unref(d->fill);
	dtype_free(d->type);
	free(d->segments);
	free(d->path);
	free(d);
}

const struct dataset_info *dset_info(const struct dset *d)
{
	return &d->info;
}

const char *dset_path(const struct dset *d)
{
	return d->path;
}
