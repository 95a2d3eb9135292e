/* SPDX-License-Identifier: MIT */
/* chunk.c - one decoded chunk, from the cache or filled once.
 *
 * Locate under the library's lock, read the bytes under FILE's shared lock,
 * undo the filters under none. A chunk with another filter or a type that must
 * be converted is read whole through H5Dread() and kept the same way. */
#include <inttypes.h>
#include <stdio.h>

#include "points_int.h"
#include "store_int.h"

static void chunk_fault(struct dset *d, const uint64_t *scaled,
			const char *what, const char *remedy)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_puts(&text, "chunk (");
	for (unsigned i = 0; i < d->info.rank; i++)
		strbuf_printf(&text, "%s%" PRIu64, i ? "," : "",
			      scaled[i] * d->info.chunk[i]);
	strbuf_printf(&text, "): %s", what);
	if (strbuf_error(&text) == 0)
		dset_fault(d, text.buf, remedy);
	strbuf_done(&text);
}

static herr_t innermost(unsigned n, const H5E_error2_t *e, void *arg)
{
	bool *ret = arg;

	(void)n;
	*ret = e->func_name &&
	       (!strcmp(e->func_name, "H5D__chunk_direct_read") ||
		!strcmp(e->func_name, "H5D__get_chunk_storage_size"));
	return 0;
}

/* The library fails for a chunk that is not allocated as it does for a damaged
 * index, but then the reader itself is where it failed, not what lies below. */
static bool failed_for_want_of_chunk(void)
{
	bool yes = false;

	/* downward: the last one seen is the innermost */
	(void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, innermost, &yes);
	return yes;
}

int chunk_stored_size(hid_t set, const hsize_t *offset, uint64_t *ret_size)
{
	hsize_t size = 0;

	if (H5Dget_chunk_storage_size(set, offset, &size) < 0) {
		if (!failed_for_want_of_chunk())
			return -EIO;
		size = 0;
	}
	*ret_size = size;
	return 0;
}

/* The library looks the chunk up and would read it; the driver notes where. */
static int locate_recorded(struct dset *d, hid_t set, const hsize_t *offset,
			   struct location *loc)
{
	uint8_t nothing[8];
	uint32_t mask = 0;
	herr_t ok;

	vfd_record = (struct vfd_record){ .active = true };
	ok = H5Dread_chunk(set, H5P_DEFAULT, offset, &mask, nothing);
	vfd_record.active = false;
	if (ok >= 0 && vfd_record.seen) {
		loc->allocated = true;
		loc->file = vfd_record.file;
		loc->addr = vfd_record.addr;
		loc->size = vfd_record.size;
		loc->mask = mask;
		return 0;
	}
	if (ok >= 0 || !failed_for_want_of_chunk())
		return -EIO;
	loc->allocated = false;
	return 0;
}

static int ask_library(struct dset *d, const uint64_t *scaled,
		       struct location *loc)
{
	hsize_t offset[DT_MAX_RANK];
	hid_t set;
	int r;

	H5_GUARD(d->store);
	r = dset_hid(d, &set, NULL);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < d->info.rank; i++)
		offset[i] = scaled[i] * d->info.chunk[i];
	stat_add(&d->store->stats.locates, 1);
	return locate_recorded(d, set, offset, loc);
}

static int locate(struct dset *d, const uint64_t *scaled, struct location *loc)
{
	struct store *s = d->store;
	struct cache_key key = chunk_key(d, scaled);
	int r;

	if (s->places && places_find(s->places, key, loc))
		return 0;
	r = ask_library(d, scaled, loc);
	if (r == 0 && s->places)
		places_keep(s->places, key, loc);
	return r;
}

int chunk_read_located(struct dset *d, const struct location *loc,
		       struct blob **ret_bytes)
{
	struct store *s = d->store;
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	uint64_t end;
	int r = store_lock(s);

	if (r < 0)
		return r;
	CLEANUP(store_unlockp) __attribute__((unused)) struct store *lock = s;
	/* sizes in an index may be anything: never allocate past the file */
	if (add_overflow(loc->addr, loc->size, &end) ||
	    loc->file >= store_nfiles(s) ||
	    (!s->swmr && end > (uint64_t)s->files[loc->file]->st.st_size))
		return -EIO;
	r = store_file_unchanged(s, loc->file);
	if (r == 0)
		r = blob_new(loc->size + INFLATE_PAD, &b);
	if (r == 0)
		r = io_read_at(s->files[loc->file]->fd, b->data, loc->size,
			       loc->addr);
	if (r < 0)
		return r;
	b->size = loc->size;
	memset(b->data + b->size, 0, INFLATE_PAD);
	stat_add(&s->stats.bytes_read, loc->size);
	*ret_bytes = TAKE(b);
	return 0;
}

static bool is_edge(const struct dset *d, const uint64_t *scaled)
{
	for (unsigned i = 0; i < d->info.rank; i++)
		if (d->info.dims[i] - scaled[i] * d->info.chunk[i] <
		    d->info.chunk[i])
			return true;
	return false;
}

static int undo_filters(struct dset *d, const uint64_t *scaled, unsigned n,
			const struct location *loc, struct blob *bytes,
			struct blob **ret_raw)
{
	unsigned bad = 0;
	char what[80];
	int r = filters_undo(d->filters, n, loc->mask, bytes, d->chunk_bytes,
			     ret_raw, &bad);

	if (r == -EIO) {
		snprintf(what, sizeof(what), "damaged (%s does not decode)",
			 filter_name(bad) ? filter_name(bad)
					  : "its size is wrong; it");
		chunk_fault(d, scaled, what,
			    "the file is damaged; restore a copy");
	}
	return r;
}

/* Once the cache had to drop something, what is decoded will be decoded again. */
static bool is_worth_points(struct dset *d, struct cache_key key)
{
	struct cache_stats st;

	if (!d->parts.possible || points_has(d->store->points, key))
		return false;
	cache_get_stats(d->store->cache, &st);
	return st.evicted > 0;
}

static int decode(struct dset *d, const uint64_t *scaled, bool in_order,
		  const struct location *loc, struct blob **ret_blob)
{
	CLEANUP(blob_unrefp) struct blob *raw = NULL;
	CLEANUP(blob_unrefp) struct blob *bytes = NULL;
	struct cache_key key = chunk_key(d, scaled);
	bool filtered = !d->raw_edges || !is_edge(d, scaled);
	int r = chunk_read_located(d, loc, &bytes);

	if (r < 0) {
		if (r == -EIO)
			chunk_fault(d, scaled, "lies outside the file",
				    "the file is damaged; restore a copy");
		return r;
	}
	r = -EAGAIN;
	if (filtered && !in_order && is_worth_points(d, key))
		r = part_make(d, key, loc, bytes, &raw);
	if (r < 0)
		r = undo_filters(d, scaled, filtered ? d->info.nfilters : 0,
				 loc, TAKE(bytes), &raw);
	if (r < 0)
		return r;
	swap_units(raw->data, raw->size, d->map.swap);
	stat_add(&d->store->stats.chunks_decoded, 1);
	*ret_blob = TAKE(raw);
	return 0;
}

static void chunk_unreadable(struct dset *d, const uint64_t *scaled)
{
	char what[96];

	for (unsigned i = 0; i < d->info.nfilters; i++) {
		const struct filter_info *f = &d->info.filters[i];

		if (f->available)
			continue;
		snprintf(what, sizeof(what),
			 "needs filter %u%s%s%s, which is not there", f->id,
			 filter_name(f->id) ? " (" : "",
			 filter_name(f->id) ? f->name : "",
			 filter_name(f->id) ? ")" : "");
		chunk_fault(d, scaled, what,
			    "install its plugin and set HDF5_PLUGIN_PATH");
		return;
	}
	chunk_fault(d, scaled, "can not be read through the library",
		    "check the file with h5dump");
}

void dset_unreadable(struct dset *d, const uint64_t *start)
{
	uint64_t scaled[DT_MAX_RANK];

	if (d->info.storage != STORAGE_CHUNKED) {
		dset_fault(d, "can not be read", "check the file with h5dump");
		return;
	}
	for (unsigned i = 0; i < d->info.rank; i++)
		scaled[i] = start[i] / d->info.chunk[i];
	chunk_unreadable(d, scaled);
}

/* The chunk's part of the extent. */
static int read_through_library(struct dset *d, const uint64_t *scaled,
				struct blob **ret_blob)
{
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	hsize_t start[DT_MAX_RANK], count[DT_MAX_RANK];
	unsigned rank = d->info.rank;
	size_t bytes = d->type->size;
	hid_t set, mtype;
	int r;

	for (unsigned i = 0; i < rank; i++) {
		start[i] = scaled[i] * d->info.chunk[i];
		count[i] = chunk_dim(d, scaled, i);
		bytes *= count[i]; /* no more than chunk_bytes */
	}
	r = blob_new(bytes, &b);
	if (r < 0)
		return r;
	/* padding inside elements stays as it is, and what is not there may */
	if (!dtype_is_number(d->type) || !d->fill)
		memset(b->data, 0, b->size);
	H5_GUARD(d->store);
	CLEANUP(hid_closep) hid_t space = -1;
	CLEANUP(hid_closep) hid_t mem = -1;

	r = dset_hid(d, &set, &mtype);
	if (r < 0)
		return r;
	space = H5Dget_space(set);
	mem = H5Screate_simple((int)rank, count, NULL);
	if (space < 0 || mem < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count,
				NULL) < 0)
		return -EIO;
	stat_add(&d->store->stats.lib_reads, 1);
	if (H5Dread(set, mtype, mem, space, H5P_DEFAULT, b->data) < 0) {
		chunk_unreadable(d, scaled);
		return -EIO;
	}
	*ret_blob = TAKE(b);
	return 0;
}

struct fill_arg {
	struct dset *d;
	const uint64_t *scaled;
	bool in_order;
};

/* No chunk is empty. */
static int fill_chunk(void *arg, struct blob **ret_blob)
{
	struct fill_arg *f = arg;
	struct location loc = { 0 };
	int r;

	r = locate(f->d, f->scaled, &loc);
	if (!f->d->info.direct && r != 0 && r != -EIO)
		return r;
	/* of what is not there no box is filled, however large it says it is */
	if (!f->d->info.direct && (r < 0 || loc.allocated || !f->d->fill))
		return read_through_library(f->d, f->scaled, ret_blob);
	if (r == -EIO)
		chunk_fault(f->d, f->scaled, "its place can not be found",
			    "the file is damaged; check it with h5dump");
	if (r < 0)
		return r;
	if (!loc.allocated)
		return blob_new(0, ret_blob);
	return decode(f->d, f->scaled, f->in_order, &loc, ret_blob);
}

struct cache_key chunk_key(const struct dset *d, const uint64_t *scaled)
{
	struct cache_key key = { d->key, 0 };

	for (unsigned i = 0; i < d->info.rank; i++) {
		/* there may be more chunks than fit in 64 bits */
		key.hi = hash_mix(key.hi, scaled[i]);
		key.lo = key.lo * d->nchunks[i] + scaled[i];
	}
	return key;
}

int chunk_get(struct dset *d, const uint64_t *scaled, bool in_order,
	      struct blob **ret_blob)
{
	struct fill_arg f = { d, scaled, in_order };

	return cache_get(d->store->cache, chunk_key(d, scaled), fill_chunk, &f,
			 ret_blob);
}
