/* SPDX-License-Identifier: MIT */
/* test_stage_writer.c - the stage over the store's own writer: a process that is
 * killed at each of the calls of both logs leaves each row in FILE or in the
 * stage, once, and a pending group in FILE or pending. */
#include <hdf5.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"
#include "journal_int.h"
#include "stage_int.h"

static char dir[] = "/tmp/h5fs-stagew-XXXXXX";
static char path[64], side[64];

/* ---- a process that ends at call `left`, in the middle of a write ---- */
static long left = -1;
static long *calls; /* shared */

static bool is_last(void)
{
	(*calls)++;
	return left >= 0 && left-- == 0;
}

static void counted(void)
{
	if (is_last())
		_exit(9);
}

static ssize_t j_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	if (is_last()) {
		(void)!pwrite(fd, buf, n / 2, at);
		_exit(9);
	}
	return io_system.pwrite(fd, buf, n, at);
}

static ssize_t s_write(int fd, const void *buf, size_t n, uint64_t at)
{
	ssize_t put = j_pwrite(fd, buf, n, (off_t)at);

	return put < 0 ? -errno : put;
}

/* A sync makes no difference to what another process sees. */
static int j_sync(int fd)
{
	(void)fd;
	counted();
	return 0;
}

static int j_ftruncate(int fd, off_t size)
{
	counted();
	return io_system.ftruncate(fd, size);
}

static int j_unlink(const char *name)
{
	counted();
	return io_system.unlink(name);
}

static int j_rename(const char *from, const char *to)
{
	counted();
	return io_system.rename(from, to);
}

static int s_remove(const char *name)
{
	counted();
	return stage_disk.remove(name);
}

static int s_rename(const char *from, const char *to)
{
	counted();
	return stage_disk.rename(from, to);
}

static int s_truncate(int fd, uint64_t size)
{
	counted();
	return stage_disk.truncate(fd, size);
}

static int s_sync_dir(const char *name)
{
	(void)name;
	counted();
	return 0;
}

static struct io_ops journal_ops;
static struct stage_io stage_ops;

static void wrap(void)
{
	journal_ops = io_system;
	journal_ops.pwrite = j_pwrite;
	journal_ops.fsync = journal_ops.fdatasync = j_sync;
	journal_ops.ftruncate = j_ftruncate;
	journal_ops.unlink = j_unlink;
	journal_ops.rename = j_rename;
	journal_io = &journal_ops;
	stage_ops = stage_disk;
	stage_ops.write = s_write;
	stage_ops.sync = j_sync;
	stage_ops.sync_dir = s_sync_dir;
	stage_ops.truncate = s_truncate;
	stage_ops.remove = s_remove;
	stage_ops.rename = s_rename;
}

/* ---- FILE ---- */
static void create(hid_t file, const char *name, hid_t type, int rank,
		   hsize_t chunk)
{
	const hsize_t dims[] = { 0, 2, 3 }, max[] = { H5S_UNLIMITED, 2, 3 };
	const hsize_t chunks[] = { chunk, 2, 3 };
	hid_t space = H5Screate_simple(rank, dims, max);
	hid_t plist = H5Pcreate(H5P_DATASET_CREATE);

	H5Pset_chunk(plist, rank, chunks);
	H5Pset_deflate(plist, 4);
	H5Dclose(H5Dcreate2(file, name, type, space, H5P_DEFAULT, plist,
			    H5P_DEFAULT));
	H5Pclose(plist);
	H5Sclose(space);
}

static void make_file(void)
{
	char cmd[200];
	hid_t file;

	snprintf(cmd, sizeof(cmd), "rm -rf %s %s", path, side);
	CHECK_EQ(system(cmd), 0);
	file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	create(file, "images", H5T_NATIVE_UINT8, 3, 4);
	create(file, "labels", H5T_NATIVE_INT64, 1, 16);
	H5Fclose(file);
}

static hsize_t rows_of(hid_t set)
{
	hid_t space = H5Dget_space(set);
	hsize_t dims[3] = { 0 };

	H5Sget_simple_extent_dims(space, dims, NULL);
	H5Sclose(space);
	return dims[0];
}

/* The letters of the rows, whose labels must be the same. */
static void read_file(char *ret, size_t max, bool *ret_group)
{
	uint8_t images[100][2][3];
	int64_t labels[100];
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	hid_t i = H5Dopen2(file, "images", H5P_DEFAULT);
	hid_t l = H5Dopen2(file, "labels", H5P_DEFAULT);
	hsize_t n = rows_of(i);

	ret[0] = '\0';
	CHECK(file >= 0 && i >= 0 && l >= 0);
	CHECK_EQ(n, rows_of(l));
	CHECK(n < max && n < 100);
	H5Dread(i, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, images);
	H5Dread(l, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, labels);
	for (hsize_t k = 0; k < n; k++) {
		CHECK_EQ(images[k][0][0], labels[k]);
		CHECK_EQ(images[k][1][2], labels[k]);
		ret[k] = (char)labels[k];
	}
	ret[n] = '\0';
	*ret_group = H5Lexists(file, "P1", H5P_DEFAULT) > 0;
	if (*ret_group)
		CHECK(H5Lexists(file, "P1/inner", H5P_DEFAULT) > 0 &&
		      H5Aexists_by_name(file, "P1/inner", "age", H5P_DEFAULT));
	H5Dclose(i);
	H5Dclose(l);
	H5Fclose(file);
}

/* ---- a mount ---- */
static const struct dtype u8 = { .class = DT_UINT, .size = 1 };
static const struct dtype i64 = { .class = DT_INT, .size = 8 };
static struct stage_member members[] = {
	{ .path = (char *)"/images",
	  .name = (char *)"images",
	  .rank = 3,
	  .dims = { 0, 2, 3 },
	  .chunk_rows = 4,
	  .type = &u8 },
	{ .path = (char *)"/labels",
	  .name = (char *)"labels",
	  .rank = 1,
	  .chunk_rows = 16,
	  .type = &i64 },
};
static struct stage_set set = {
	.key = (char *)"/",
	.nmembers = 2,
	.members = members,
};
static struct writer *file;
static struct stage *stage;

static void set_n(uint64_t rows)
{
	set.rows = members[0].dims[0] = members[1].dims[0] = rows;
}

static bool mount(void)
{
	const struct writer_options wo = { 0 };
	const struct stage_options so = { 0 };
	char *why = NULL;
	int r = writer_open(path, &wo, &file, &why);

	if (r == 0)
		r = stage_open_on(file, &so, &stage_ops, &stage, &why);
	if (r < 0)
		printf("mount: %d %s\n", r, why ? why : "");
	free(why);
	return r == 0;
}

static void unmount(void)
{
	stage_close(stage);
	writer_close(file);
}

static int put(char c)
{
	const char name[] = { c, '\0' };
	const int64_t label = c;
	uint8_t bytes[6];
	const struct stage_value v[] = { { 0, bytes, 6 }, { 1, &label, 8 } };
	const struct stage_place place = {
		.dir = "/images",
		.name = name,
		.stem = name,
	};
	struct refusal f = { 0 };
	uint64_t row;

	memset(bytes, c, 6);
	return stage_put(stage, &set, &place, v, 2, &row, &f);
}

static int commit(enum stage_commit_kind kind)
{
	struct stage_result res = { 0 };
	char *why = NULL;
	int r = stage_commit(stage, file, &set, 1, NULL, 0, kind, &res, &why);

	if (r < 0)
		printf("commit: %d %s\n", r, why);
	if (r == 0 && res.count)
		set_n(res.sets[0].first + res.sets[0].count);
	stage_result_done(&res);
	free(why);
	return r;
}

/* Of somebody else: it passes the tag on. */
static int other_transaction(const char *group)
{
	int r = writer_begin(file);

	if (r == 0)
		r = writer_create_group(file, group);
	if (r == 0)
		r = writer_commit(file,
				  writer_tag(file) ? writer_tag(file) : 1);
	return r;
}

static char *accepted; /* shared: letters that put() returned 0 for */

static int life(void)
{
	char *why = NULL;
	int r = 0;

	if (!mount())
		return 1;
	for (const char *c = "abcdef"; r == 0 && *c; c++) {
		r = put(*c);
		if (r == 0)
			accepted[(int)*c] = 1;
	}
	if (r == 0)
		r = commit(STAGE_WHOLE_CHUNKS);
	if (r == 0)
		r = other_transaction("/g1");
	if (r == 0)
		r = tree_mkdir(stage, "/P1.part");
	if (r == 0)
		r = tree_mkdir(stage, "/P1.part/inner");
	if (r == 0)
		r = tree_attr(stage, "/P1.part/inner", "age", "65", 2);
	accepted[1] = r == 0;
	for (const char *c = "ghi"; r == 0 && *c; c++) {
		r = put(*c);
		if (r == 0)
			accepted[(int)*c] = 1;
	}
	if (r == 0)
		r = tree_publish(stage, file, "/P1.part", "/P1", &why);
	if (r == 0)
		r = other_transaction("/g2");
	if (r == 0)
		r = commit(STAGE_ALL);
	if (r == 0)
		r = put('j');
	if (r == 0)
		accepted['j'] = 1;
	unmount();
	return r < 0 ? 2 : 0;
}

static int in_the_stage(char c)
{
	int n = 0;

	for (struct row *r = stage->first; r; r = r->next)
		n += r->files->name[0] == c;
	return n;
}

static int times(const char *text, char c)
{
	int n = 0;

	for (; *text; text++)
		n += *text == c;
	return n;
}

static bool is_pending(void)
{
	struct tree_node node = { 0 };
	bool there = tree_find(stage, "/P1.part/inner", &node) == 0;

	tree_node_done(&node);
	return there;
}

static void look_after(long k)
{
	char before[100], after[100];
	bool group, group_after, pending;

	CHECK(mount()); /* recovers */
	unmount();
	read_file(before, sizeof(before), &group);
	set_n(strlen(before));
	if (!mount()) {
		CHECK(!"mounts");
		return;
	}
	for (char c = 'a'; c <= 'j'; c++) {
		int n = in_the_stage(c) + times(before, c);

		if (n > 1 || n < accepted[(int)c]) {
			printf("call %ld: %c is %d times there: \"%s\"\n", k, c,
			       n, before);
			CHECK(!"each once");
		}
	}
	pending = is_pending();
	CHECK(!(group && pending));
	if (accepted[1])
		CHECK(group || pending);
	CHECK_EQ(commit(STAGE_ALL), 0);
	CHECK(!stage->first);
	unmount();
	read_file(after, sizeof(after), &group_after);
	CHECK_EQ(group_after, group);
	for (char c = 'a'; c <= 'j'; c++)
		CHECK(times(after, c) <= 1 &&
		      times(after, c) >= accepted[(int)c]);
	CHECK(strncmp(before, after, strlen(before)) == 0);
}

/* False: it had ended before. */
static bool killed_at(long k)
{
	int status = 0;
	pid_t pid;

	make_file();
	memset(accepted, 0, 128);
	set_n(0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		left = k;
		_exit(life());
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9);
	left = -1;
	look_after(k);
	return WEXITSTATUS(status) == 9;
}

static void killed_at_every_call(void)
{
	long k = 0;

	while (killed_at(k) && check_failures < 10)
		k++;
	printf("%ld calls\n", k);
	CHECK(k > 60);
}

static void nothing_happens_to_it(void)
{
	char text[100];
	bool group;

	make_file();
	memset(accepted, 0, 128);
	set_n(0);
	CHECK_EQ(life(), 0);
	read_file(text, sizeof(text), &group);
	CHECK_STR(text, "abcdefghi");
	CHECK(group);
	CHECK(mount());
	CHECK_EQ(in_the_stage('j'), 1);
	set_n(9);
	CHECK_EQ(commit(STAGE_ALL), 0);
	unmount();
	read_file(text, sizeof(text), &group);
	CHECK_STR(text, "abcdefghij");
	CHECK_EQ(access(side, F_OK), -1);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(mkdtemp(dir) != NULL);
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	snprintf(path, sizeof(path), "%s/data.h5", dir);
	snprintf(side, sizeof(side), "%s/.data.h5.h5fs", dir);
	accepted = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(accepted != MAP_FAILED);
	calls = (long *)(accepted + 1024);
	wrap();
	RUN(nothing_happens_to_it);
	RUN(killed_at_every_call);
	unlink(path);
	rmdir(dir);
	return CHECK_RESULT();
}
