/* SPDX-License-Identifier: MIT */
/* npy_file.h - .npy files from a header's text and elements. */
#ifndef H5FS_NPY_FILE_H
#define H5FS_NPY_FILE_H

#include <stdio.h>

#include "h5fs/base.h"

struct npy_file {
	uint8_t bytes[4096];
	size_t n;
};

static inline void npy_file(struct npy_file *f, unsigned version,
			    const char *dict, const void *elements, size_t n)
{
	unsigned head = version == 1 ? 10 : 12;
	uint32_t len = (uint32_t)strlen(dict) + 1;

	memcpy(f->bytes, "\x93NUMPY", 6);
	f->bytes[6] = (uint8_t)version;
	f->bytes[7] = 0;
	memcpy(f->bytes + 8, &len, head - 8);
	memcpy(f->bytes + head, dict, len - 1);
	f->bytes[head + len - 1] = '\n';
	if (n)
		memcpy(f->bytes + head + len, elements, n);
	f->n = head + len + n;
}

/* The usual header: dtype and shape as NumPy writes them. */
static inline void npy_array(struct npy_file *f, const char *descr,
			     const char *shape, const void *elements, size_t n)
{
	char dict[256];

	snprintf(dict, sizeof(dict),
		 "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
		 descr, shape);
	npy_file(f, 1, dict, elements, n);
}

#endif
