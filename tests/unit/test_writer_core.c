/* SPDX-License-Identifier: MIT */
/* test_writer_core.c - transactions of a writer: all of one or nothing of it, in
 * every kind of HDF5 file, beside readers and other programs. The requests are
 * plain calls of the library here. */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "writer_int.h"

#define PD H5P_DEFAULT
#define N 64 /* of /numbers when it is made */

static char dir[] = "/tmp/h5fs-writer-XXXXXX";
static char path[128], side[128];
static struct cache *cache;

enum kind { EARLIEST, LATEST, USERBLOCK, PERSIST, PAGED, NKINDS };

static void make_file(enum kind kind)
{
	CLEANUP(hid_closep) hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
	CLEANUP(hid_closep) hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);
	hsize_t dims = N, max = H5S_UNLIMITED, chunk = 16;
	int values[N];

	if (kind == LATEST)
		H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST,
				     H5F_LIBVER_LATEST);
	if (kind == USERBLOCK)
		H5Pset_userblock(fcpl, 1024);
	if (kind == PERSIST)
		H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_FSM_AGGR,
					   1, 1);
	if (kind == PAGED)
		H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, 1,
					   1);
	(void)unlink(path);
	CLEANUP(hid_closep)
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
	CLEANUP(hid_closep) hid_t space = H5Screate_simple(1, &dims, &max);
	CLEANUP(hid_closep) hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);

	H5Pset_chunk(dcpl, 1, &chunk);
	H5Pset_deflate(dcpl, 4);
	CLEANUP(hid_closep)
	hid_t set = H5Dcreate2(file, "numbers", H5T_NATIVE_INT, space, PD, dcpl,
			       PD);
	for (int i = 0; i < N; i++)
		values[i] = i;
	CHECK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, PD, values) >= 0);
}

/* Appends n values, and changes the first: under the guard. */
static int append(struct writer *w, unsigned n, int first)
{
	WRITER_GUARD(w);
	CLEANUP(hid_closep) hid_t set = H5Dopen2(w->file, "numbers", PD);
	CLEANUP(hid_closep) hid_t space = H5Dget_space(set);
	hsize_t old, dims, count = n, one = 1, zero = 0;
	CLEANUP(freep) int *values = calloc(n, sizeof(*values));

	if (set < 0 || !values ||
	    H5Sget_simple_extent_dims(space, &old, NULL) < 0)
		return writer_h5_fail(w, "numbers");
	dims = old + n;
	for (unsigned i = 0; i < n; i++)
		values[i] = (int)(old + i);
	if (H5Dset_extent(set, &dims) < 0)
		return writer_h5_fail(w, "extent");
	CLEANUP(hid_closep) hid_t mem = H5Screate_simple(1, &count, NULL);
	CLEANUP(hid_closep) hid_t to = H5Dget_space(set);
	CLEANUP(hid_closep) hid_t scalar = H5Screate_simple(1, &one, NULL);

	H5Sselect_hyperslab(to, H5S_SELECT_SET, &old, NULL, &count, NULL);
	if (H5Dwrite(set, H5T_NATIVE_INT, mem, to, PD, values) < 0)
		return writer_h5_fail(w, "write");
	H5Sselect_hyperslab(to, H5S_SELECT_SET, &zero, NULL, &one, NULL);
	return H5Dwrite(set, H5T_NATIVE_INT, scalar, to, PD, &first) < 0
		       ? writer_h5_fail(w, "write")
		       : 0;
}

/* What another program reads: number of values, or -1; *ret_first the first. All
 * others must be as appended. */
static long read_file(int *ret_first)
{
	long n = -1;

	pthread_mutex_lock(&store_h5);
	store_silence();
	{
		CLEANUP(hid_closep)
		hid_t file = H5Fopen(path, H5F_ACC_RDONLY, PD);
		CLEANUP(hid_closep)
		hid_t set = file < 0 ? -1 : H5Dopen2(file, "numbers", PD);
		CLEANUP(hid_closep)
		hid_t space = set < 0 ? -1 : H5Dget_space(set);
		hsize_t dims;

		if (space >= 0 &&
		    H5Sget_simple_extent_dims(space, &dims, NULL) == 1) {
			CLEANUP(freep) int *v = calloc(dims, sizeof(*v));

			n = (long)dims;
			if (H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, PD,
				    v) < 0)
				n = -1;
			for (long i = 1; i < n; i++)
				CHECK(v[i] == (int)i);
			*ret_first = n > 0 ? v[0] : -1;
		}
	}
	pthread_mutex_unlock(&store_h5);
	return n;
}

static void check_file(long n, int first)
{
	int is = -1;

	CHECK_EQ(read_file(&is), n);
	CHECK_EQ(is, first);
}

static struct blob *bytes_of_file(void)
{
	struct blob *b = NULL;

	CHECK_EQ(io_read_file(path, SIZE_MAX, &b), 0);
	return b;
}

static bool is_there(const char *name)
{
	return access(name, F_OK) == 0;
}

static struct writer *open_writer(void)
{
	struct writer_options o = { .lock_wait_ms = 50 };
	CLEANUP(freep) char *why = NULL;
	struct writer *w = NULL;
	int r = writer_open(path, &o, &w, &why);

	CHECK_EQ(r, 0);
	if (r < 0)
		printf("# %s\n", why);
	return w;
}

/* Why it is refused, and with what error; the caller frees it. */
static char *refused(int error)
{
	struct writer_options o = { .lock_wait_ms = 50 };
	struct writer *w = NULL;
	char *why = NULL;

	CHECK_EQ(writer_open(path, &o, &w, &why), error);
	CHECK(why);
	writer_close(w);
	return why;
}

static void check_refused(int error, const char *part)
{
	CLEANUP(freep) char *why = refused(error);

	CHECK(why && strstr(why, part));
	if (why && !strstr(why, part))
		printf("# %s\n", why);
}

/* ---- transactions ---- */

static void commits_of(enum kind kind)
{
	struct writer *w;

	make_file(kind);
	w = open_writer();
	for (int i = 1; i <= 5; i++) {
		CHECK_EQ(writer_begin(w), 0);
		CHECK_EQ(append(w, 100, -i), 0);
		CHECK_EQ(writer_commit(w, (uint64_t)i), 0);
		check_file(N + i * 100, -i);
		CHECK_EQ(writer_tag(w), i);
	}
	writer_close(w);
	CHECK(!is_there(side));
	check_file(N + 500, -5);
	w = open_writer(); /* and another goes on */
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 1, 7), 0);
	CHECK_EQ(writer_commit(w, 9), 0);
	writer_close(w);
	check_file(N + 501, 7);
}

static void what_is_committed_is_read_by_others(void)
{
	for (enum kind kind = 0; kind < NKINDS; kind++)
		commits_of(kind);
}

static void what_is_not_committed_is_not_there(void)
{
	for (enum kind kind = 0; kind < NKINDS; kind++) {
		CLEANUP(blob_unrefp) struct blob *before = NULL;
		CLEANUP(blob_unrefp) struct blob *after = NULL;
		struct writer *w;

		make_file(kind);
		before = bytes_of_file();
		w = open_writer();
		CHECK(!is_there(side));
		for (int i = 0; i < 3; i++) {
			CHECK_EQ(writer_begin(w), 0);
			CHECK_EQ(append(w, 1000, -1), 0);
			check_file(N, 0);
			writer_abort(w);
		}
		CHECK_EQ(writer_begin(w), 0);
		CHECK_EQ(append(w, 1000, -1), 0);
		writer_close(w); /* aborts */
		CHECK(!is_there(side));
		after = bytes_of_file();
		CHECK(before && after && before->size == after->size &&
		      !memcmp(before->data, after->data, before->size));
	}
}

static void a_commit_goes_on_after_an_abort(void)
{
	for (enum kind kind = 0; kind < NKINDS; kind++) {
		struct writer *w;

		make_file(kind);
		w = open_writer();
		for (int i = 1; i <= 3; i++) {
			CHECK_EQ(writer_begin(w), 0);
			CHECK_EQ(append(w, 333, -100), 0);
			writer_abort(w);
			CHECK_EQ(writer_begin(w), 0);
			CHECK_EQ(append(w, 10, i), 0);
			CHECK_EQ(writer_commit(w, 1), 0);
			check_file(N + 10 * i, i);
		}
		writer_close(w);
		check_file(N + 30, 3);
	}
}

static void an_empty_transaction_makes_nothing(void)
{
	CLEANUP(blob_unrefp) struct blob *before = NULL;
	CLEANUP(blob_unrefp) struct blob *after = NULL;
	struct writer *w;

	make_file(EARLIEST);
	before = bytes_of_file();
	w = open_writer();
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(writer_commit(w, 3), 0);
	CHECK_EQ(writer_tag(w), 3);
	CHECK(!is_there(side));
	writer_close(w);
	after = bytes_of_file();
	CHECK(before->size == after->size &&
	      !memcmp(before->data, after->data, before->size));
}

static void requests_need_a_transaction(void)
{
	struct writer *w;

	make_file(EARLIEST);
	w = open_writer();
	CHECK_EQ(append(w, 1, 1), -EINVAL);
	CHECK_STR(writer_why(w), "no transaction is open");
	CHECK_EQ(writer_commit(w, 1), -EINVAL);
	writer_abort(w);
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(writer_commit(w, 1), 0);
	CHECK_EQ(append(w, 1, 1), -EINVAL);
	writer_close(w);
}

static int number_of_values(struct writer *w, hsize_t *ret_n)
{
	WRITER_LOOK(w);
	CLEANUP(hid_closep) hid_t set = H5Dopen2(w->file, "numbers", PD);
	CLEANUP(hid_closep) hid_t space = H5Dget_space(set);

	return H5Sget_simple_extent_dims(space, ret_n, NULL) < 0 ? -EIO : 0;
}

static void a_look_outside_of_a_transaction_makes_nothing(void)
{
	for (enum kind kind = 0; kind < NKINDS; kind++) {
		struct writer *w;
		hsize_t n = 0;

		make_file(kind);
		w = open_writer();
		CHECK_EQ(number_of_values(w, &n), 0);
		CHECK_EQ(n, N);
		CHECK(!is_there(side));
		CHECK_EQ(writer_check(w), STORE_SAME);
		CHECK_EQ(writer_begin(w), 0);
		CHECK_EQ(append(w, 1, 5), 0);
		CHECK_EQ(writer_commit(w, 1), 0);
		check_file(N + 1, 5);
		CHECK_EQ(number_of_values(w, &n), 0);
		CHECK_EQ(n, N + 1);
		writer_close(w);
	}
}

static void the_writers_flag_is_not_in_the_file(void)
{
	struct writer *w;
	struct blob *b;

	make_file(LATEST);
	w = open_writer();
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 10, 1), 0);
	CHECK_EQ(writer_commit(w, 1), 0);
	b = bytes_of_file();
	CHECK_EQ(b->data[8], 3);
	CHECK_EQ(b->data[11], 0);
	blob_unref(b);
	writer_close(w);
}

/* As the library leaves a superblock when it closes the file. */
static void flags_are_cleared_as_the_library_does(void)
{
	struct blob *flagged, *closed;
	size_t size = 0;
	hid_t file;

	make_file(LATEST);
	file = H5Fopen(path, H5F_ACC_RDWR, PD);
	flagged = bytes_of_file();
	H5Fclose(file);
	closed = bytes_of_file();
	CHECK_EQ(flagged->data[11], FLAG_WRITE);
	CHECK(superblock_clear_flags(flagged->data, SUPERBLOCK_SIZE, &size));
	CHECK_EQ(size, 48);
	CHECK(!memcmp(flagged->data, closed->data, size));
	CHECK(!superblock_clear_flags(flagged->data, SUPERBLOCK_SIZE, &size));
	blob_unref(flagged);
	blob_unref(closed);
	make_file(EARLIEST);
	closed = bytes_of_file();
	closed->data[11] = 1;
	CHECK(!superblock_clear_flags(closed->data, SUPERBLOCK_SIZE, &size));
	blob_unref(closed);
}

/* ---- crashes ---- */

/* In a child that is killed afterwards. */
static void in_child(void (*run)(struct writer *w))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct writer *w = open_writer();

		run(w);
		_exit(check_failures ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void die_in_transaction(struct writer *w)
{
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 5000, -1), 0);
	pthread_mutex_lock(&store_h5);
	CHECK(H5Fflush(w->file, H5F_SCOPE_GLOBAL) >= 0);
}

static void die_after_commit(struct writer *w)
{
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 10, -1), 0);
	CHECK_EQ(writer_commit(w, 77), 0);
}

static void die_before_apply(struct writer *w)
{
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 10, -1), 0);
	pthread_mutex_lock(&store_h5);
	CHECK(H5Fflush(w->file, H5F_SCOPE_GLOBAL) >= 0);
	CHECK_EQ(journal_log(w->journal, 78, w->eoa), 0);
}

static void what_a_killed_writer_left_is_dropped(void)
{
	CLEANUP(freep) char *why = NULL;
	enum recovery recovery = RECOVERY_NONE;
	struct blob *before, *after;

	make_file(EARLIEST);
	before = bytes_of_file();
	in_child(die_in_transaction);
	check_file(N, 0);
	CHECK(is_there(side));
	CHECK(store_needs_recovery(path, NULL));
	CHECK_EQ(store_recover(path, NULL, &recovery, &why), 0);
	CHECK_EQ(recovery, RECOVERY_UNDONE);
	CHECK(why);
	CHECK(!store_needs_recovery(path, NULL));
	CHECK(!is_there(side));
	after = bytes_of_file();
	CHECK(before->size == after->size &&
	      !memcmp(before->data, after->data, before->size));
	blob_unref(before);
	blob_unref(after);
}

static void what_is_dropped_needs_no_exclusive_lock(void)
{
	struct writer *w;
	int fd;

	make_file(EARLIEST);
	in_child(die_in_transaction);
	fd = open(path, O_RDONLY);
	CHECK_EQ(flock(fd, LOCK_SH), 0);
	w = open_writer();
	CHECK_EQ(writer_tag(w), 0);
	writer_close(w);
	CHECK(!is_there(side));
	in_child(die_before_apply);
	check_refused(-EBUSY, "is open in another program");
	close(fd);
	w = open_writer();
	CHECK_EQ(writer_tag(w), 78);
	writer_close(w);
	check_file(N + 10, -1);
}

static void the_tag_survives_a_crash(void)
{
	struct writer *w;

	make_file(EARLIEST);
	in_child(die_after_commit);
	CHECK(!store_needs_recovery(path, NULL));
	check_file(N + 10, -1);
	w = open_writer();
	CHECK_EQ(writer_tag(w), 77);
	writer_close(w);
}

static void a_logged_commit_is_finished(void)
{
	struct writer *w;

	make_file(LATEST);
	in_child(die_before_apply);
	check_file(N, 0);
	CHECK(store_needs_recovery(path, NULL));
	w = open_writer();
	CHECK_EQ(writer_tag(w), 78);
	check_file(N + 10, -1);
	writer_close(w);
}

static void put_byte(uint64_t at, uint8_t byte)
{
	int fd = open(path, O_RDWR);

	CHECK_EQ(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

static void a_marked_file_without_a_log_is_refused(void)
{
	struct store_options o = { .lock_wait_ms = 10 };
	CLEANUP(freep) char *why = NULL;
	struct store *s = NULL;
	int first;

	make_file(LATEST);
	put_byte(8, SUPERBLOCK_MARK);
	CHECK_EQ(read_file(&first), -1);
	check_refused(-EIO, "is caught in a commit");
	CHECK_EQ(store_open(path, &o, &s, &why), -EIO);
	CHECK(why && strstr(why, "h5fs recover"));
	CHECK(store_needs_recovery(path, NULL));
}

/* ---- a disk that fails ---- */

/* The call of this number, and those after it, fail. */
static int fail_at = -1, fail_times, fail_with;
static int calls;

static bool fails(void)
{
	int call = calls++;

	if (fail_at < 0 || call < fail_at || call >= fail_at + fail_times)
		return false;
	errno = fail_with;
	return true;
}

static ssize_t failing_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	return fails() ? -1 : io_system.pwrite(fd, buf, n, at);
}

static int failing_sync(int fd)
{
	(void)fd;
	return fails() ? -1 : 0;
}

static int failing_truncate(int fd, off_t size)
{
	return fails() ? -1 : io_system.ftruncate(fd, size);
}

static int failing_mkdir(const char *name, mode_t mode)
{
	return fails() ? -1 : io_system.mkdir(name, mode);
}

/* A transaction in which call k fails; false: there is no such call. */
static bool failure_at(enum kind kind, int k, int times, int error)
{
	CLEANUP(blob_unrefp) struct blob *before = NULL;
	CLEANUP(blob_unrefp) struct blob *after = NULL;
	struct writer *w;
	bool over;
	int r;

	make_file(kind);
	before = bytes_of_file();
	w = open_writer();
	fail_at = k;
	fail_times = times;
	fail_with = error;
	calls = 0;
	CHECK_EQ(writer_begin(w), 0);
	r = append(w, 1000, 7);
	r = r < 0 ? (writer_abort(w), r) : writer_commit(w, 5);
	over = calls <= k;
	fail_at = -1;
	CHECK(!over || r == 0);
	CHECK(r == 0 || r == -error || r == -EIO);
	CHECK(r == 0 || *writer_why(w));
	if (r == 0)
		check_file(N + 1000, 7);
	if (r == -EIO && k % 2) { /* another one finishes it, or drops it, */
		writer_close(w);
		w = open_writer();
	}
	CHECK_EQ(writer_begin(w), 0); /* or the same; it goes on */
	if (writer_tag(w) == 5) {
		CHECK(r == 0 || r == -EIO);
		check_file(N + 1000, 7);
		CHECK_EQ(append(w, 1000, 8), 0);
		CHECK_EQ(writer_commit(w, 6), 0);
		check_file(N + 2000, 8);
	} else {
		after = bytes_of_file();
		CHECK(before->size == after->size &&
		      !memcmp(before->data, after->data, before->size));
		CHECK_EQ(append(w, 1000, 9), 0);
		CHECK_EQ(writer_commit(w, 6), 0);
		check_file(N + 1000, 9);
	}
	writer_close(w);
	CHECK(!is_there(side));
	return !over;
}

static struct io_ops failing_io(void)
{
	struct io_ops ops = io_system;

	ops.pwrite = failing_pwrite;
	ops.fsync = ops.fdatasync = failing_sync;
	ops.ftruncate = failing_truncate;
	ops.mkdir = failing_mkdir;
	return ops;
}

static void a_disk_that_fails_hurts_nobody(void)
{
	static const struct {
		enum kind kind;
		int times, error;
	} how[] = {
		{ EARLIEST, 1, ENOSPC }, { EARLIEST, 1000, EIO },
		{ LATEST, 1, EIO },	 { LATEST, 4, EDQUOT },
		{ PERSIST, 1, ENOSPC },	 { PERSIST, 1000, EIO },
	};
	struct io_ops ops = failing_io();

	journal_io = &ops;
	for (size_t i = 0; i < ARRAY_SIZE(how); i++) {
		int k = 0;

		while (failure_at(how[i].kind, k, how[i].times, how[i].error))
			k++;
		CHECK(k > 8);
	}
	journal_io = &io_system;
}

/* ---- who may write ---- */

static void the_second_writer_is_told_of_the_first(void)
{
	char pid[32];
	struct writer *w;

	make_file(EARLIEST);
	w = open_writer();
	snprintf(pid, sizeof(pid), "process %d", (int)getpid());
	check_refused(-EBUSY, pid);
	writer_close(w);
	w = open_writer();
	writer_close(w);
}

static void the_first_may_be_another_process(void)
{
	int to[2], from[2], status;
	char byte = 0, pid[32];
	pid_t child;

	make_file(EARLIEST);
	CHECK(pipe(to) == 0 && pipe(from) == 0);
	child = fork();
	if (child == 0) {
		struct writer *w = open_writer();
		int reader =
			open(path, O_RDONLY); /* not only its lock is there */

		if (flock(reader, LOCK_SH) < 0 || write(from[1], "x", 1) != 1 ||
		    read(to[0], &byte, 1) != 1)
			_exit(1);
		writer_close(w);
		_exit(0);
	}
	CHECK_EQ(read(from[0], &byte, 1), 1);
	status = open(path, O_RDONLY);
	CHECK_EQ(flock(status, LOCK_SH), 0);
	snprintf(pid, sizeof(pid), "process %d", (int)child);
	check_refused(-EBUSY, pid);
	close(status);
	CHECK_EQ(write(to[1], "x", 1), 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	for (int i = 0; i < 2; i++) {
		close(to[i]);
		close(from[i]);
	}
}

static void others_with_locks_are_respected(void)
{
	struct writer *w;
	int fd;

	make_file(EARLIEST);
	fd = open(path, O_RDWR);
	CHECK_EQ(flock(fd, LOCK_EX), 0);
	check_refused(-EBUSY, "is locked for writing by process");
	CHECK_EQ(flock(fd, LOCK_UN), 0);
	w = open_writer();
	CHECK_EQ(flock(fd, LOCK_EX | LOCK_NB), -1);
	CHECK_EQ(flock(fd, LOCK_SH | LOCK_NB), 0); /* a reader */
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 10, 3), 0);
	CHECK_EQ(writer_commit(w, 1), -EBUSY);
	CHECK(strstr(writer_why(w), "another program"));
	check_file(N, 0);
	CHECK_EQ(flock(fd, LOCK_UN), 0);
	CHECK_EQ(flock(fd, LOCK_EX | LOCK_NB), -1); /* it has its own again */
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 10, 3), 0);
	CHECK_EQ(writer_commit(w, 1), 0);
	check_file(N + 10, 3);
	writer_close(w);
	close(fd);
}

static void what_may_not_be_written_is_refused(void)
{
	char second[160];

	make_file(LATEST);
	snprintf(second, sizeof(second), "%s.link", path);
	CHECK_EQ(link(path, second), 0);
	check_refused(-EROFS, "2 hard links");
	CHECK_EQ(unlink(second), 0);
	put_byte(11, 1);
	check_refused(-EROFS, "h5clear -s ");
	make_file(EARLIEST);
	put_byte(0, 'x');
	check_refused(-EIO, "not an HDF5 file");
}

static void without_permission_it_is_refused(void)
{
	pid_t pid;
	int status;

	make_file(EARLIEST);
	CHECK_EQ(chmod(path, 0444), 0);
	CHECK_EQ(chmod(dir, 0755), 0);
	pid = fork();
	if (pid == 0) { /* root may do all */
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(0);
		check_refused(-EROFS, "can not be written");
		_exit(check_failures ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_EQ(chmod(path, 0666), 0);
	CHECK_EQ(chmod(dir, 0555), 0);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(0);
		check_refused(-EROFS, "directory");
		_exit(check_failures ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_EQ(chmod(dir, 0700), 0);
}

static void a_file_that_others_changed_is_not_written(void)
{
	char other[160];
	struct writer *w;
	uint8_t byte;
	int fd;

	make_file(USERBLOCK);
	w = open_writer();
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 10, 3), 0);
	CHECK_EQ(writer_commit(w, 1), 0);
	CHECK_EQ(writer_check(w), STORE_SAME);
	usleep(20000);
	fd = open(path, O_RDWR);
	byte = 'x'; /* in the user's own block */
	CHECK_EQ(pwrite(fd, &byte, 1, 0), 1);
	close(fd);
	CHECK_EQ(writer_check(w), STORE_CHANGED);
	CHECK_EQ(writer_begin(w), -ESTALE);
	CHECK(strstr(writer_why(w), "was changed"));
	writer_close(w);

	w = open_writer();
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 10, 4), 0);
	snprintf(other, sizeof(other), "%s.other", path);
	CHECK_EQ(rename(path, other), 0);
	CHECK_EQ(writer_check(w), STORE_REPLACED);
	CHECK_EQ(writer_commit(w, 2), -ESTALE);
	CHECK(strstr(writer_why(w), "was replaced"));
	writer_close(w);
	CHECK_EQ(rename(other, path), 0);
	check_file(N + 10, 3);
}

/* ---- readers of this process ---- */

static struct store *open_beside(struct writer *w)
{
	struct store_options o = {
		.lock_wait_ms = 50,
		.beside = w,
		.cache = cache,
	};
	CLEANUP(freep) char *why = NULL;
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &o, &s, &why), 0);
	return s;
}

static int find_numbers(struct store *s, struct dset **ret_dset)
{
	struct obj_info info;
	int r = store_root(s, &info);

	if (r == 0)
		r = store_resolve(s, info.id, "/numbers", &info);
	return r < 0 ? r : dset_open(s, info.id, "/numbers", ret_dset);
}

static struct dset *open_numbers(struct store *s)
{
	struct dset *d = NULL;

	CHECK_EQ(find_numbers(s, &d), 0);
	return d;
}

static int read_one(struct dset *d, uint64_t i, int *ret_value)
{
	uint64_t one = 1;

	return dset_read(d, &i, &one, NULL, ret_value);
}

static void a_reader_beside_sees_commits_only(void)
{
	struct writer *w;
	struct store *s, *t;
	struct dset *d, *e;
	int v = -1;

	make_file(LATEST);
	w = open_writer();
	s = open_beside(w);
	d = open_numbers(s);
	CHECK_EQ(writer_begin(w), 0);
	CHECK_EQ(append(w, 1000, -7), 0);
	CHECK_EQ(read_one(d, 0, &v), 0);
	CHECK_EQ(v, 0);
	CHECK_EQ(store_check(s), STORE_SAME);
	CHECK_EQ(store_fresh(s), 0);
	t = open_beside(w); /* also opened in the middle of it */
	e = open_numbers(t);
	CHECK_EQ(dset_info(e)->dims[0], N);
	CHECK_EQ(read_one(e, N - 1, &v), 0);
	CHECK_EQ(v, N - 1);
	CHECK_EQ(writer_commit(w, 1), 0);
	CHECK_EQ(read_one(d, 40, &v), -ESTALE); /* not in the cache */
	CHECK_EQ(store_fresh(t), -ESTALE);
	CHECK_EQ(store_check(s), STORE_CHANGED);
	dset_unref(d);
	dset_unref(e);
	store_close(s);
	store_close(t);
	s = open_beside(w);
	d = open_numbers(s);
	CHECK_EQ(dset_info(d)->dims[0], N + 1000);
	CHECK_EQ(read_one(d, 0, &v), 0);
	CHECK_EQ(v, -7);
	dset_unref(d);
	store_close(s);
	writer_close(w);
}

struct race {
	struct writer *w;
	bool over; /* atomic */
	long reads, stale;
};

static void *read_on(void *arg)
{
	struct race *race = arg;

	while (!__atomic_load_n(&race->over, __ATOMIC_RELAXED)) {
		struct store_options o = { .beside = race->w, .cache = cache };
		CLEANUP(store_closep) struct store *s = NULL;
		CLEANUP(dset_unrefp) struct dset *d = NULL;
		CLEANUP(freep) char *why = NULL;
		uint64_t n;
		int first = 0, last = 0, r;

		if (store_open(path, &o, &s, &why) < 0)
			continue;
		if (find_numbers(s, &d) < 0)
			continue;
		n = dset_info(d)->dims[0];
		for (int i = 0; i < 50; i++) {
			r = read_one(d, 0, &first);
			if (r == 0)
				r = read_one(d, n - 1, &last);
			if (r == -ESTALE) {
				race->stale++;
				break;
			}
			CHECK_EQ(r, 0);
			/* one generation, whatever is committed meanwhile */
			CHECK_EQ(first, (int)n - N);
			CHECK_EQ(last, n == N ? N - 1 : (int)n - 1);
			race->reads++;
		}
	}
	return NULL;
}

static void readers_and_commits_do_not_stop_each_other(void)
{
	struct race races[3] = { 0 };
	struct io_ops ops = failing_io();
	pthread_t threads[3];
	struct writer *w;

	make_file(EARLIEST);
	journal_io = &ops;
	fail_times = 1;
	fail_with = EIO;
	w = open_writer();
	for (int i = 0; i < 3; i++) {
		races[i].w = w;
		pthread_create(&threads[i], NULL, read_on, &races[i]);
	}
	for (int i = 1; i <= 100; i++) {
		CHECK_EQ(writer_begin(w), 0);
		CHECK_EQ(append(w, 1, i), 0);
		if (i % 10 == 0) {
			writer_abort(w);
			CHECK_EQ(writer_begin(w), 0);
			CHECK_EQ(append(w, 1, i), 0);
		}
		if (i % 7 == 0) /* it fails somewhere */
			fail_at = calls + i / 7;
		if (writer_commit(w, (uint64_t)i) < 0 && fail_at < calls) {
			fail_at = -1;
			CHECK_EQ(writer_begin(w), 0); /* may finish it */
			if (writer_tag(w) != (uint64_t)i)
				CHECK_EQ(append(w, 1, i), 0);
			CHECK_EQ(writer_commit(w, (uint64_t)i), 0);
		}
		fail_at = -1;
		CHECK_EQ(writer_tag(w), i);
		usleep(1000);
	}
	usleep(50000);
	for (int i = 0; i < 3; i++) {
		__atomic_store_n(&races[i].over, true, __ATOMIC_RELAXED);
		pthread_join(threads[i], NULL);
		CHECK(races[i].reads > 0);
	}
	writer_close(w);
	journal_io = &io_system;
	check_file(N + 100, 100);
}

struct second {
	struct writer *w;
	int begun; /* atomic */
};

static void *begin_second(void *arg)
{
	struct second *s = arg;

	CHECK_EQ(writer_begin(s->w), 0);
	__atomic_store_n(&s->begun, 1, __ATOMIC_RELEASE);
	CHECK_EQ(append(s->w, 1, 2), 0);
	CHECK_EQ(writer_commit(s->w, 2), 0);
	return NULL;
}

static void a_second_transaction_waits_for_the_first(void)
{
	struct second s = { 0 };
	pthread_t thread;

	make_file(EARLIEST);
	s.w = open_writer();
	CHECK_EQ(writer_begin(s.w), 0);
	pthread_create(&thread, NULL, begin_second, &s);
	CHECK_EQ(append(s.w, 1, 1), 0);
	usleep(20000);
	CHECK_EQ(__atomic_load_n(&s.begun, __ATOMIC_ACQUIRE), 0);
	CHECK_EQ(writer_commit(s.w, 1), 0);
	pthread_join(thread, NULL);
	check_file(N + 2, 2);
	writer_close(s.w);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0); /* children are forked */
	if (!mkdtemp(dir))
		return 1;
	CHECK_EQ(cache_new(1 << 20, 4, &cache), 0);
	snprintf(path, sizeof(path), "%s/data.h5", dir);
	snprintf(side, sizeof(side), "%s/.data.h5.h5fs", dir);
	RUN(what_is_committed_is_read_by_others);
	RUN(what_is_not_committed_is_not_there);
	RUN(a_commit_goes_on_after_an_abort);
	RUN(an_empty_transaction_makes_nothing);
	RUN(requests_need_a_transaction);
	RUN(a_look_outside_of_a_transaction_makes_nothing);
	RUN(the_writers_flag_is_not_in_the_file);
	RUN(flags_are_cleared_as_the_library_does);
	RUN(what_a_killed_writer_left_is_dropped);
	RUN(what_is_dropped_needs_no_exclusive_lock);
	RUN(the_tag_survives_a_crash);
	RUN(a_logged_commit_is_finished);
	RUN(a_marked_file_without_a_log_is_refused);
	RUN(a_disk_that_fails_hurts_nobody);
	RUN(the_second_writer_is_told_of_the_first);
	RUN(the_first_may_be_another_process);
	RUN(others_with_locks_are_respected);
	RUN(what_may_not_be_written_is_refused);
	RUN(without_permission_it_is_refused);
	RUN(a_file_that_others_changed_is_not_written);
	RUN(a_reader_beside_sees_commits_only);
	RUN(readers_and_commits_do_not_stop_each_other);
	RUN(a_second_transaction_waits_for_the_first);
	cache_free(cache);
	(void)unlink(path);
	(void)rmdir(dir);
	return CHECK_RESULT();
}
