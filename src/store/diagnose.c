/* SPDX-License-Identifier: MIT */
/* diagnose.c - says what a file is when it is not an HDF5 file that can be
 * opened: rules F0 and F1, before the library is asked.
 *
 * Superblock: HDF5 File Format Specification 3.0, II.A. */
#include <stdio.h>
#include <sys/stat.h>

#include "store_int.h"

static const struct {
	const char *magic;
	size_t len;
	const char *what;
} known[] = {
	{ "MATLAB 5.0", 10,
	  "is a MATLAB 5.0 MAT file, not HDF5; save it again "
	  "with -v7.3" },
	{ "\x1f\x8b", 2, "is a gzip file; gunzip it first" },
	{ "BZh", 3, "is a bzip2 file; bunzip2 it first" },
	{ "\xfd"
	  "7zXZ",
	  5, "is an xz file; unxz it first" },
	{ "\x28\xb5\x2f\xfd", 4, "is a zstd file; unzstd it first" },
	{ "PK\x03\x04", 4, "is a zip file; unzip it first" },
	{ "<!DOCTYPE", 9,
	  "is an HTML page, not HDF5: a download that failed; "
	  "fetch it again" },
	{ "<html", 5,
	  "is an HTML page, not HDF5: a download that failed; fetch "
	  "it again" },
	{ "<?xml", 5,
	  "is an XML text, not HDF5: a download that failed; fetch "
	  "it again" },
	{ "version https://git-lfs", 23,
	  "is a Git LFS pointer, not the file "
	  "itself; run: git lfs pull" },
	{ "CDF\x01", 4,
	  "is a netCDF classic file, not HDF5; convert it with: "
	  "nccopy -k nc4" },
	{ "CDF\x02", 4,
	  "is a netCDF classic file, not HDF5; convert it with: "
	  "nccopy -k nc4" },
	{ "\x0e\x03\x13\x01", 4,
	  "is an HDF4 file, not HDF5; convert it with: "
	  "h4toh5" },
	{ "\x93NUMPY", 6, "is a NumPy .npy file, not HDF5" },
};

static int why(char **ret_why, const char *text)
{
	*ret_why = strdup(text);
	return *ret_why ? -EIO : -ENOMEM;
}

static int say_what_it_is(int fd, uint64_t size, char **ret_why)
{
	uint8_t head[32] = { 0 };
	size_t n = size < sizeof(head) ? (size_t)size : sizeof(head);
	int r = io_read_at(fd, head, n, 0);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].len <= n &&
		    !memcmp(head, known[i].magic, known[i].len))
			return why(ret_why, known[i].what);
	return why(ret_why,
		   "is not an HDF5 file (no signature at 0, 512, 1024, "
		   "...)");
}

static uint64_t little(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static int bad_version(unsigned version, const char *path, char **ret_why)
{
	int n = version == SUPERBLOCK_MARK
			? asprintf(
				  ret_why,
				  "is caught in a commit that did not end; mount "
				  "it for writing, or run: h5fs recover %s",
				  path)
			: asprintf(
				  ret_why,
				  "is of a newer format (superblock version %u; "
				  "this reads up to 3); convert it with h5repack",
				  version);

	if (n < 0) {
		*ret_why = NULL;
		return -ENOMEM;
	}
	return -EIO;
}

int diagnose(int fd, uint64_t size, const char *path, unsigned *ret_flags,
	     char **ret_why)
{
	uint8_t sb[96] = { 0 };
	uint64_t eof = 0;
	unsigned o, at;
	int64_t base;
	size_t n;
	int r;

	*ret_flags = 0;
	if (size == 0)
		return why(ret_why, "is an empty file; was it ever written?");
	base = superblock_find(fd, size);
	if (base < 0)
		return say_what_it_is(fd, size, ret_why);
	n = size - (uint64_t)base < sizeof(sb) ? (size_t)(size - (uint64_t)base)
					       : sizeof(sb);
	r = io_read_at(fd, sb, n, (uint64_t)base);
	if (r < 0)
		return r;
	if (sb[8] > 3)
		return bad_version(sb[8], path, ret_why);
	o = sb[8] < 2 ? sb[13] : sb[9];
	at = sb[8] == 0 ? 24 : sb[8] == 1 ? 28 : 12;
	if (sb[8] == 3)
		*ret_flags = sb[11];
	if (o != 2 && o != 4 && o != 8)
		return why(ret_why, "has a damaged superblock (address size)");
	eof = little(sb + at + 2 * o, o);
	/* with the writer's flag set the end is only known to the writer */
	if (!*ret_flags && eof > size) {
		if (asprintf(ret_why,
			     "is truncated: it has %llu bytes, its superblock "
			     "says %llu; copy or download it again",
			     (unsigned long long)size,
			     (unsigned long long)eof) < 0) {
			*ret_why = NULL;
			return -ENOMEM;
		}
		return -EIO;
	}
	return 0;
}
