/* SPDX-License-Identifier: MIT */
/* wfile.c - the read-write file driver under libhdf5: FILE as its journal shows it.
 *
 * It opens FILE and nothing else: what FILE links to is not written. It takes no
 * lock: the writer has them. The length of FILE is set when a transaction is
 * committed, from the end that the library wants then. */
#include <stdio.h>

#include "writer_int.h"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

struct wfile_info { /* the driver's part of a file access property list */
	struct writer *w;
};
struct wfile {
	H5FD_t pub; /* first: the library's */
	struct writer *w;
};

static void *wfile_info_copy(const void *info)
{
	struct wfile_info *copy = malloc(sizeof(*copy));

	if (copy)
		*copy = *(const struct wfile_info *)info;
	return copy;
}

static herr_t wfile_info_free(void *info)
{
	free(info);
	return 0;
}

static void *wfile_info_get(H5FD_t *file)
{
	struct wfile_info info = { ((struct wfile *)file)->w };

	return wfile_info_copy(&info);
}

static H5FD_t *wfile_open_one(const char *name, unsigned flags, hid_t fapl,
			      haddr_t maxaddr)
{
	const struct wfile_info *info = H5Pget_driver_info(fapl);
	struct wfile *f;

	(void)flags;
	(void)maxaddr;
	if (!info || strcmp(name, info->w->path) != 0)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->w = info->w;
	return &f->pub;
}

static herr_t wfile_close_one(H5FD_t *file)
{
	free(file);
	return 0;
}

/* Each handle is a file of its own: one that could not be closed must not be
 * found again. */
static int wfile_cmp(const H5FD_t *a, const H5FD_t *b)
{
	return (uintptr_t)a < (uintptr_t)b ? -1 : a != b;
}

static herr_t wfile_query(const H5FD_t *file, unsigned long *flags)
{
	(void)file;
	if (flags)
		*flags = H5FD_FEAT_AGGREGATE_METADATA |
			 H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
			 H5FD_FEAT_AGGREGATE_SMALLDATA;
	return 0;
}

static haddr_t wfile_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
	(void)type;
	return ((const struct wfile *)file)->w->eoa;
}

static herr_t wfile_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
	(void)type;
	((struct wfile *)file)->w->eoa = addr;
	return 0;
}

static haddr_t wfile_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
	(void)type;
	return journal_size(((const struct wfile *)file)->w->journal);
}

static herr_t wfile_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl,
			 haddr_t addr, size_t size, void *buf)
{
	struct wfile *f = (struct wfile *)file;

	(void)type;
	(void)dxpl;
	/* nothing was ever written there: what a damaged file says */
	if (addr > f->w->eoa || size > f->w->eoa - addr)
		return -1;
	return journal_pread(f->w->journal, buf, size, addr) < 0 ? -1 : 0;
}

static herr_t wfile_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl,
			  haddr_t addr, size_t size, const void *buf)
{
	struct writer *w = ((struct wfile *)file)->w;

	(void)type;
	(void)dxpl;
	/* the journal remembers an error, and the commit fails; the library would
	 * be left with a file that it can neither use nor close */
	if (!w->discard)
		(void)journal_pwrite(w->journal, buf, size, addr);
	return 0;
}

static const H5FD_class_t wfile_class = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = (H5FD_class_value_t)1030,
#endif
	.name = "h5fs_write",
	.maxaddr = (haddr_t)INT64_MAX,
	.fc_degree = H5F_CLOSE_STRONG,
	.fapl_size = sizeof(struct wfile_info),
	.fapl_get = wfile_info_get,
	.fapl_copy = wfile_info_copy,
	.fapl_free = wfile_info_free,
	.open = wfile_open_one,
	.close = wfile_close_one,
	.cmp = wfile_cmp,
	.query = wfile_query,
	.get_eoa = wfile_get_eoa,
	.set_eoa = wfile_set_eoa,
	.get_eof = wfile_get_eof,
	.read = wfile_read,
	.write = wfile_write,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

static hid_t make_fapl(struct writer *w)
{
	CLEANUP(hid_closep) hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
	struct wfile_info info = { w };
	hid_t r;

	if (fapl < 0 || H5Pset_driver(fapl, w->driver, &info) < 0 ||
	    /* as it is: nothing is written in a newer format than it must be */
	    H5Pset_libver_bounds(fapl, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) <
		    0 ||
	    H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) < 0)
		return -1;
	r = fapl;
	fapl = -1;
	return r;
}

/* Of such a file what the library writes with a flush is not all. */
static bool keeps_free_space(hid_t file)
{
	CLEANUP(hid_closep) hid_t fcpl = H5Fget_create_plist(file);
	H5F_fspace_strategy_t strategy;
	hbool_t persist = 0;
	hsize_t threshold;

	return fcpl >= 0 &&
	       H5Pget_file_space_strategy(fcpl, &strategy, &persist,
					  &threshold) >= 0 &&
	       persist;
}

int wfile_open(struct writer *w)
{
	CLEANUP(hid_closep) hid_t fapl = -1;

	w->discard = false;
	w->eoa = 0;
	filters_register();
	if (w->driver < 0)
		w->driver = H5FDregister(&wfile_class);
	fapl = w->driver < 0 ? -1 : make_fapl(w);
	if (fapl < 0)
		return -EIO;
	w->file = H5Fopen(w->path, H5F_ACC_RDWR, fapl);
	if (w->file < 0)
		return -EIO;
	w->at_close = keeps_free_space(w->file);
	return 0;
}

int wfile_close(struct writer *w)
{
	hid_t file = w->file;

	if (file < 0)
		return 0;
	writer_datasets_close(w);
	w->file = -1;
	return H5Fclose(file) < 0 ? -EIO : 0;
}
