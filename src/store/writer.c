/* SPDX-License-Identifier: MIT */
/* writer.c - the one writer of FILE: transactions. */
#include <fcntl.h>
#include <stdio.h>

#include "writer_int.h"

static __thread char why[512];

const char *writer_why(struct writer *w)
{
	(void)w;
	return why;
}

int writer_fail(struct writer *w, int r, const char *fmt, ...)
{
	va_list ap;

	(void)w;
	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return r;
}

int writer_h5_fail(struct writer *w, const char *what)
{
	char said[200];

	store_h5_message(said, sizeof(said));
	return writer_fail(w, -EIO, "%s: %s", what, said);
}

int writer_enter_to_look(struct writer *w)
{
	pthread_mutex_lock(&store_h5);
	store_silence();
	if (w->file < 0)
		w->file = H5Fopen(w->path, H5F_ACC_RDWR, H5P_DEFAULT);
	if (w->file >= 0)
		return 0;
	pthread_mutex_unlock(&store_h5);
	return writer_h5_fail(w, "can not be opened for writing");
}

int writer_enter(struct writer *w)
{
	bool open;

	{
		LOCK_SCOPE(&w->lock);
		open = w->in_transaction;
	}
	if (!open)
		return writer_fail(w, -EINVAL, "no transaction is open");
	return writer_enter_to_look(w);
}

void writer_leave(struct writer *w)
{
	(void)w;
	pthread_mutex_unlock(&store_h5);
}

int writer_open(const char *path, const struct writer_options *o,
		struct writer **ret_writer, char **ret_why)
{
	CLEANUP(writer_closep) struct writer *w = calloc(1, sizeof(*w));
	int r;

	(void)ret_why;
	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->over, NULL);
	w->faults = o->faults;
	w->fd = -1;
	w->file = w->driver = -1;
	w->path = realpath(path, NULL);
	if (!w->path)
		return -errno;
	r = pool_new(o->threads, &w->pool);
	if (r < 0)
		return r;
	*ret_writer = TAKE(w);
	return 0;
}

void writer_close(struct writer *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&store_h5);
	writer_datasets_close(w);
	if (w->file >= 0)
		H5Fclose(w->file);
	pthread_mutex_unlock(&store_h5);
	pool_free(w->pool);
	pthread_cond_destroy(&w->over);
	pthread_mutex_destroy(&w->lock);
	free(w->path);
	free(w);
}

uint64_t writer_tag(const struct writer *w)
{
	return __atomic_load_n(&w->tag, __ATOMIC_ACQUIRE);
}

int writer_begin(struct writer *w)
{
	LOCK_SCOPE(&w->lock);
	while (w->in_transaction)
		pthread_cond_wait(&w->over, &w->lock);
	w->in_transaction = true;
	return 0;
}

static void end(struct writer *w)
{
	LOCK_SCOPE(&w->lock);
	w->in_transaction = false;
	pthread_cond_signal(&w->over);
}

int writer_commit(struct writer *w, uint64_t tag)
{
	int r = writer_enter(w);

	if (r < 0)
		return r;
	writer_datasets_close(w);
	if (H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0)
		r = writer_h5_fail(w, "flush");
	writer_leave(w);
	if (r == 0)
		__atomic_store_n(&w->tag, tag, __ATOMIC_RELEASE);
	end(w);
	return r;
}

void writer_abort(struct writer *w)
{
	pthread_mutex_lock(&store_h5);
	writer_datasets_close(w);
	pthread_mutex_unlock(&store_h5);
	end(w);
}
