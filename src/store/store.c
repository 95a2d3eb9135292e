/* SPDX-License-Identifier: MIT */
/* store.c - opens and closes one generation of FILE. */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>

#include "store_int.h"

static uint64_t next_serial;

static int say(char **ret_why, const char *fmt, ...) PRINTF(2, 3);
static int say(char **ret_why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(ret_why, fmt, ap) < 0)
		*ret_why = NULL;
	va_end(ap);
	return -EIO;
}

static int set_paths(struct store *s, const char *path, char **ret_why)
{
	char *slash;

	s->path = realpath(path, NULL);
	if (!s->path) {
		int e = errno;

		say(ret_why, "%s", strerror(e));
		return -e;
	}
	s->dir = strdup(s->path);
	if (!s->dir)
		return -ENOMEM;
	slash = strrchr(s->dir, '/');
	*slash = 0;
	return 0;
}

static int open_fd(struct store *s, char **ret_why)
{
	CLEANUP(fd_closep)
	int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct store_file *f;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int e = errno;

		say(ret_why, "%s", strerror(e));
		return -e;
	}
	if (!S_ISREG(st.st_mode))
		return say(ret_why, "is %s, not an HDF5 file",
			   S_ISDIR(st.st_mode) ? "a directory"
					       : "not a regular file");
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->path = strdup(s->path);
	f->hid = -1;
	f->st = st;
	f->fd = TAKE_FD(fd);
	s->files[0] = f;
	s->nfiles = 1;
	return f->path ? 0 : -ENOMEM;
}

static int say_locked(struct store *s, char **ret_why)
{
	int pid = holder_for_writing(&s->files[0]->st);

	if (pid > 0)
		say(ret_why,
		    "is locked for writing by process %d; wait until "
		    "it closes the file",
		    pid);
	else
		say(ret_why, "is locked for writing by another program; wait "
			     "until it closes the file");
	return -EAGAIN;
}

#define SWMR_ATTEMPTS 26 /* 0.07 s in all; the library's 100 never end */

static hid_t make_fapl(struct store *s)
{
	CLEANUP(hid_closep) hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
	H5AC_cache_config_t mdc = { .version =
					    H5AC__CURR_CACHE_CONFIG_VERSION };
	hid_t r;

	if (fapl < 0 || vfd_set(s, fapl) < 0 ||
	    /* as the library opens what it links to: FILE may link to itself */
	    H5Pset_fclose_degree(fapl, H5F_CLOSE_WEAK) < 0)
		return -1;
	/* a checksum that fails is read again under SWMR, each time after twice
	 * the pause from 1 ns on: what is damaged must not stop everybody */
	if (s->swmr && H5Pset_metadata_read_attempts(fapl, SWMR_ATTEMPTS) < 0)
		return -1;
	/* chunks are kept in our own cache; what the library keeps of each open
	 * dataset is for elements that point */
	(void)H5Pset_cache(fapl, 0, 521, 256 << 10, 0.75);
	if (H5Pget_mdc_config(fapl, &mdc) >= 0) { /* bounded beside cache= */
		mdc.max_size = 8 << 20;
		if (mdc.initial_size > mdc.max_size)
			mdc.initial_size = mdc.max_size;
		(void)H5Pset_mdc_config(fapl, &mdc);
	}
	r = fapl;
	fapl = -1;
	return r;
}

static int open_h5(struct store *s, unsigned flags, char **ret_why)
{
	char message[160];
	int r = store_enter(s);

	if (r == -EAGAIN)
		return say_locked(s, ret_why);
	if (r < 0)
		return say(ret_why, "is being changed just now; try again");
	CLEANUP(store_leavep) __attribute__((unused)) struct store *guard = s;
	CLEANUP(hid_closep) hid_t fapl = -1;

	/* F3: a writer is alive, or died; SWMR readers may look */
	s->swmr = (flags & FLAG_WRITE) && (flags & FLAG_SWMR);
	filters_register();
	if (vfd_register(s) < 0 || (fapl = make_fapl(s)) < 0)
		return say(ret_why, "libhdf5 can not be set up");
	s->file = H5Fopen(s->path,
			  H5F_ACC_RDONLY | (s->swmr ? H5F_ACC_SWMR_READ : 0u),
			  fapl);
	if (s->file >= 0)
		return 0;
	store_h5_message(message, sizeof(message));
	if (flags & FLAG_WRITE)
		return say(ret_why,
			   "is open for writing, or its writer crashed; "
			   "if no program has it open, run: h5clear -s "
			   "%s",
			   s->path);
	return say(ret_why, "can not be opened: %s; check it with h5dump",
		   message);
}

static void set_warning(struct store *s)
{
	int n = 0;

	if (s->nolock)
		n = asprintf(&s->warning,
			     "read without a lock: the file system "
			     "has none; do not write %s meanwhile",
			     s->path);
	else if (s->swmr)
		n = asprintf(&s->warning,
			     "a SWMR writer has the file open, or "
			     "died; if none is alive, run: h5clear "
			     "-s %s",
			     s->path);
	if (n < 0)
		s->warning = NULL;
}

int store_open(const char *path, const struct store_options *opts,
	       struct store **ret_store, char **ret_why)
{
	CLEANUP(store_closep) struct store *s = calloc(1, sizeof(*s));
	CLEANUP(freep) char *reason = NULL;
	unsigned flags = 0;
	int r;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->io, NULL);
	pthread_mutex_init(&s->ahead.lock, NULL);
	pthread_cond_init(&s->ahead.over, NULL);
	s->external = opts->external;
	s->beside = opts->beside;
	s->cache = opts->cache;
	s->points = opts->points;
	s->pool = opts->pool;
	s->faults = opts->faults;
	s->lock_wait_ms = opts->lock_wait_ms ? opts->lock_wait_ms : 10000;
	s->names_max = STORE_MAX_NAMES;
	s->links_at_once = STORE_LINKS_AT_ONCE;
	s->serial = __atomic_add_fetch(&next_serial, 1, __ATOMIC_RELAXED);
	s->file = s->driver = -1;
	r = set_paths(s, path, &reason);
	if (r == 0)
		r = open_fd(s, &reason);
	if (r == 0)
		r = store_lock_first(s);
	if (r == -EAGAIN)
		r = say_locked(s, &reason);
	if (r == 0) {
		r = diagnose(s->files[0]->fd, (uint64_t)s->files[0]->st.st_size,
			     s->path, &flags, &reason);
		if (s->beside) /* store_h5 comes before the gate */
			store_unlock(s);
		if (r == 0)
			r = open_h5(s, flags, &reason);
		if (!s->beside)
			store_unlock(s);
	}
	if (r < 0) {
		if (!reason)
			reason = strdup(strerror(-r));
		*ret_why = TAKE(reason);
		return r;
	}
	if (!s->swmr) { /* whose writer may move a chunk */
		r = places_new(&s->places);
		if (r < 0)
			return r;
	}
	set_warning(s);
	*ret_store = TAKE(s);
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	ahead_wait(s);
	pthread_mutex_lock(&store_h5);
	if (s->file >= 0) { /* closed even when FILE is stale: no guard */
		H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
		for (unsigned i = 0; i < s->nfiles; i++)
			if (s->files[i]->hid > 0)
				H5Fclose(s->files[i]->hid);
		H5Fclose(s->file);
	}
	if (s->driver >= 0)
		H5FDunregister(s->driver);
	pthread_mutex_unlock(&store_h5);
	for (unsigned i = 0; i < s->nfiles; i++) {
		close(s->files[i]->fd);
		free(s->files[i]->path);
		free(s->files[i]);
	}
	names_free(s->names);
	places_free(s->places);
	pthread_mutex_destroy(&s->io);
	pthread_mutex_destroy(&s->ahead.lock);
	pthread_cond_destroy(&s->ahead.over);
	free(s->warning);
	free(s->path);
	free(s->dir);
	free(s);
}

enum store_change store_check(struct store *s)
{
	struct stat now;

	/* gone for a moment, or for good: what is open stays readable */
	if (stat(s->path, &now) == 0 && (now.st_ino != s->files[0]->st.st_ino ||
					 now.st_dev != s->files[0]->st.st_dev))
		return STORE_REPLACED;
	if (store_unchanged(s) < 0)
		return STORE_CHANGED;
	if (s->swmr)
		return stat(s->path, &now) == 0 &&
				       (now.st_mtim.tv_sec !=
						s->files[0]
							->st.st_mtim.tv_sec ||
					now.st_mtim.tv_nsec !=
						s->files[0]
							->st.st_mtim.tv_nsec ||
					now.st_size != s->files[0]->st.st_size)
			       ? STORE_CHANGED
			       : STORE_SAME;
	return STORE_SAME;
}

int store_fresh(struct store *s)
{
	return store_unchanged(s);
}

const char *store_warning(const struct store *s)
{
	return s->warning;
}

void store_times(const struct store *s, struct timespec *ret_mtime,
		 uint64_t *ret_dev, uint64_t *ret_ino)
{
	*ret_mtime = s->files[0]->st.st_mtim;
	*ret_dev = s->files[0]->st.st_dev;
	*ret_ino = s->files[0]->st.st_ino;
}

bool store_is_swmr(const struct store *s)
{
	return s->swmr;
}

void store_get_stats(struct store *s, struct store_stats *ret_stats)
{
	const uint64_t *from = (const uint64_t *)&s->stats;
	uint64_t *to = (uint64_t *)ret_stats;

	for (size_t i = 0; i < sizeof(s->stats) / sizeof(*from); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}
