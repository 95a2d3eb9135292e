/* SPDX-License-Identifier: MIT */
/* plain_write.c - the rows of one commit, written by HDF5 without a journal.
 *
 * usage: plain_write FILE DATASET ROWS
 *
 * Appends what the file ROWS holds, rows as they lie in memory, to a dataset of
 * bytes that is chunked along its first axis and compressed by gzip: chunks are
 * deflated by all cores and written whole, then the file is flushed and synced.
 * Prints the seconds that took, without the reading of ROWS. */
#include <fcntl.h>
#include <hdf5.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEVEL 4

struct rows {
	const uint8_t *data;
	size_t bytes;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct rows map_rows(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail(path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ,
		 MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (p == MAP_FAILED)
		fail(path);
	return (struct rows){ p, (size_t)st.st_size };
}

/* One deflated chunk; what is missing of the last one is zeros. */
static size_t deflate_chunk(struct rows r, size_t at, size_t chunk,
			    uint8_t **ret_out)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
	size_t room = libdeflate_zlib_compress_bound(c, chunk), n;
	size_t have = r.bytes - at < chunk ? r.bytes - at : chunk;
	uint8_t *in = calloc(1, chunk), *out = malloc(room);

	if (!c || !in || !out)
		fail("deflate");
	memcpy(in, r.data + at, have);
	n = libdeflate_zlib_compress(c, in, chunk, out, room);
	libdeflate_free_compressor(c);
	free(in);
	*ret_out = out;
	return n;
}

static void append(hid_t set, struct rows r)
{
	hsize_t dims[H5S_MAX_RANK] = { 0 }, chunk[H5S_MAX_RANK] = { 0 };
	hid_t space = H5Dget_space(set), plist = H5Dget_create_plist(set);
	int rank = H5Sget_simple_extent_dims(space, dims, NULL);
	size_t row = 1, bytes, failed = 0;
	hsize_t first = dims[0];

	if (rank < 2 || H5Pget_chunk(plist, rank, chunk) != rank)
		fail("dataset");
	for (int i = 1; i < rank; i++)
		row *= dims[i];
	bytes = row * chunk[0];
	dims[0] += r.bytes / row;
	if (H5Dset_extent(set, dims) < 0)
		fail("extent");
#pragma omp parallel for ordered schedule(dynamic)
	for (size_t at = 0; at < r.bytes; at += bytes) {
		hsize_t offset[H5S_MAX_RANK] = { first + at / row };
		uint8_t *packed;
		size_t n = deflate_chunk(r, at, bytes, &packed);

#pragma omp ordered
		failed += H5Dwrite_chunk(set, H5P_DEFAULT, 0, offset, n,
					 packed) < 0;
		free(packed);
	}
	if (failed)
		fail("write");
	H5Pclose(plist);
	H5Sclose(space);
}

int main(int argc, char **argv)
{
	struct rows rows;
	hid_t file, set;
	double start;
	int fd;

	if (argc != 4) {
		fprintf(stderr, "usage: plain_write FILE DATASET ROWS\n");
		return 2;
	}
	rows = map_rows(argv[3]);
	start = now();
	file = H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT);
	set = H5Dopen2(file, argv[2], H5P_DEFAULT);
	if (file < 0 || set < 0)
		return 1;
	append(set, rows);
	H5Dclose(set);
	H5Fclose(file);
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || fdatasync(fd) < 0)
		fail(argv[1]);
	close(fd);
	printf("%.6f\n", now() - start);
	return 0;
}
