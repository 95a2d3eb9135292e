/* SPDX-License-Identifier: MIT */
/* test_diagnose.c - what is said of a file that can not be opened. */
#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"
#include "store_int.h"

static char dir[] = "/tmp/h5fs-diagnose-XXXXXX";
static char path[sizeof(dir) + 16];

static void put(const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, bytes, n), n);
	close(fd);
}

static void patch(off_t at, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY);

	CHECK_EQ(pwrite(fd, bytes, n, at), n);
	close(fd);
}

static void make_h5(hsize_t userblock, bool latest)
{
	hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;

	H5Pset_userblock(fcpl, userblock);
	if (latest)
		H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
	file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
	H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	H5Fclose(file);
	H5Pclose(fcpl);
	H5Pclose(fapl);
}

/* Opens path; why holds what is wrong, NULL when it opens. */
static int try_open(char **ret_why)
{
	struct store_options opts = { .lock_wait_ms = 50 };
	CLEANUP(cache_freep) struct cache *c = NULL;
	struct store *s = NULL;
	int r;

	*ret_why = NULL;
	cache_new(1000, 1, &c);
	opts.cache = c;
	r = store_open(path, &opts, &s, ret_why);
	if (r == 0)
		store_close(s);
	return r;
}

static void says(int want, const char *text)
{
	CLEANUP(freep) char *why = NULL;
	int r = try_open(&why);

	CHECK_EQ(r, want);
	if (!text)
		return;
	CHECK(why);
	if (why && !strstr(why, text)) {
		printf("\"%s\" is not in \"%s\"\n", text, why);
		check_failures++;
	}
	CHECK(!why || !strchr(why, '\n'));
}

static void known_formats(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *says;
	} rows[] = {
		{ "", 0, "is an empty file" },
		{ "x", 1, "is not an HDF5 file" },
		{ "MATLAB 5.0 MAT-file, Platform: GLNXA64", 38, "MATLAB 5.0" },
		{ "\x1f\x8b\x08\0\0\0\0", 7, "gunzip" },
		{ "BZh91AY", 7, "bunzip2" },
		{ "\xfd" "7zXZ\0", 6, "unxz" },
		{ "PK\x03\x04....", 8, "unzip" },
		{ "<!DOCTYPE html><html>", 21, "HTML" },
		{ "<html><body>404", 15, "HTML" },
		{ "version https://git-lfs.github.com/spec/v1", 42, "git lfs pull" },
		{ "CDF\x01....", 8, "nccopy" },
		{ "\x93NUMPY\x01\0", 8, "NumPy" },
		{ "\x89HDF\r\n\x1a", 7, "is not an HDF5 file" },
		{ "\x89HDF\r\n\x1a\n", 8, "" },
		{ "\x89HDF\r\n\x1a\n\0\0\0\0\0", 13, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		put(rows[i].bytes, rows[i].n);
		says(-EIO, rows[i].says);
	}
}

static void truncated(void)
{
	for (unsigned latest = 0; latest < 2; latest++)
		for (unsigned block = 0; block <= 512; block += 512) {
			struct stat st;

			make_h5(block, latest);
			says(0, NULL);
			CHECK_EQ(stat(path, &st), 0);
			CHECK_EQ(truncate(path, st.st_size - 1), 0);
			says(-EIO, "is truncated: it has ");
			CHECK_EQ(truncate(path, block + 30), 0);
			says(-EIO, "");
		}
}

static void versions(void)
{
	const uint8_t nine = 9, three = 3;

	make_h5(0, false);
	patch(8, &nine, 1);
	says(-EIO, "superblock version 9");
	make_h5(1024, false);
	says(0, NULL);
	patch(1024 + 8, &nine, 1);
	says(-EIO, "superblock version 9");
	make_h5(0, true);
	patch(9, &three, 1);
	says(-EIO, "address size");
}

static void open_for_writing(void)
{
	const uint8_t flag = 1;

	make_h5(0, true);
	patch(11, &flag, 1); /* and so the checksum is wrong */
	says(-EIO, "h5clear -s ");
}

static void not_files(void)
{
	CHECK_EQ(unlink(path), 0);
	says(-ENOENT, "No such file");
	CHECK_EQ(mkdir(path, 0700), 0);
	says(-EIO, "is a directory");
	CHECK_EQ(rmdir(path), 0);
	CHECK_EQ(mkfifo(path, 0600), 0);
	says(-EIO, "not a regular file");
	CHECK_EQ(unlink(path), 0);
}

/* No byte of the superblock and root may do more than fail. */
static void damaged_heads(void)
{
	unsigned failed = 0;

	for (unsigned latest = 0; latest < 2; latest++)
		for (unsigned at = 8; at < 96; at++) {
			CLEANUP(freep) char *why = NULL;
			const uint8_t b = 0xff;
			int r;

			make_h5(0, latest);
			patch(at, &b, 1);
			r = try_open(&why);
			CHECK(r == 0 || (r == -EIO && why && *why));
			failed += r < 0;
		}
	CHECK(failed > 20);
}

int main(void)
{
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/f.h5", dir);
	RUN(known_formats);
	RUN(truncated);
	RUN(versions);
	RUN(open_for_writing);
	RUN(damaged_heads);
	RUN(not_files);
	CHECK_EQ(rmdir(dir), 0);
	return CHECK_RESULT();
}
