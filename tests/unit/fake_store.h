/* SPDX-License-Identifier: MIT */
/* fake_store.h - datasets over arrays in memory, in place of the store: views
 * are tested without HDF5. */
#ifndef H5FS_FAKE_STORE_H
#define H5FS_FAKE_STORE_H

#include "h5fs/view.h"

/* Of elements at data, packed as struct dtype says; borrowed, as is type. */
struct dset *fake_dset(const struct dtype *type, unsigned rank,
		       const uint64_t *dims, const void *data);
struct dset *fake_null(const struct dtype *type);
/* A string attribute of d; one a dataset. */
void fake_attr(struct dset *d, const char *name, const char *text);
/* A plain source of d: no pictures, no MATLAB. layout may be NULL. */
struct view_source fake_source(struct dset *d);
/* The whole file in pieces of at most `piece` bytes (read), or all its blocks
 * (render); where both size and read are there they must agree. NULL and *ret_n
 * an errno when it fails. */
char *fake_file(const struct view_ops *v, const struct view_source *s,
		uint64_t index, size_t piece, size_t *ret_n);
/* Are elements read in runs? */
extern bool fake_has_runs;
/* Bytes of elements that were read since it was set to 0. */
extern uint64_t fake_bytes_read;

#define FAKE_DIMS(...) ((const uint64_t[]){ __VA_ARGS__ })
#define FAKE_TYPE(c, n) ((const struct dtype){ .class = (c), .size = (n) })

#endif
