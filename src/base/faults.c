/* SPDX-License-Identifier: MIT */
/* faults.c - what went wrong and what helps, each told once. */
#include "h5fs/base.h"

#define MAX_FAULTS 1000
#define MAX_PATH_BYTES 4096
#define MAX_TEXT_BYTES 1024

struct fault {
	uint64_t hash;		      /* of path and reason, whole */
	char *path, *reason, *remedy; /* cut to the limits above */
};

struct faults {
	pthread_mutex_t lock; /* all below */
	size_t count;
	size_t next; /* where the next one goes: the oldest once it is full */
	struct fault ring[MAX_FAULTS];
};

int faults_new(struct faults **ret_faults)
{
	struct faults *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	*ret_faults = f;
	return 0;
}

static void fault_done(struct fault *x)
{
	free(x->path);
	free(x->reason);
	free(x->remedy);
	memset(x, 0, sizeof(*x));
}

void faults_free(struct faults *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->count; i++)
		fault_done(&f->ring[i]);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static bool same_text(const char *kept, const char *given, size_t max)
{
	return strncmp(kept, given, max) == 0;
}

static bool is_known(const struct faults *f, uint64_t hash, const char *path,
		     const char *reason)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct fault *x = &f->ring[i];

		if (x->hash == hash &&
		    same_text(x->path, path, MAX_PATH_BYTES) &&
		    same_text(x->reason, reason, MAX_TEXT_BYTES))
			return true;
	}
	return false;
}

bool faults_add(struct faults *f, const char *path, const char *reason,
		const char *remedy)
{
	struct fault x = { 0 };
	LOCK_SCOPE(&f->lock);

	path = path ? path : "";
	reason = reason ? reason : "";
	x.hash = hash_bytes(reason, strlen(reason),
			    hash_bytes(path, strlen(path), 0));
	if (is_known(f, x.hash, path, reason))
		return false;
	x.path = strndup(path, MAX_PATH_BYTES);
	x.reason = strndup(reason, MAX_TEXT_BYTES);
	x.remedy = strndup(remedy ? remedy : "", MAX_TEXT_BYTES);
	if (!x.path || !x.reason || !x.remedy) {
		fault_done(&x);
		return true; /* not kept, but the caller may still tell it */
	}
	fault_done(&f->ring[f->next]);
	f->ring[f->next] = x;
	f->next = (f->next + 1) % MAX_FAULTS;
	if (f->count < MAX_FAULTS)
		f->count++;
	return true;
}

size_t faults_count(struct faults *f)
{
	LOCK_SCOPE(&f->lock);
	return f->count;
}

static void put_field(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			strbuf_puts(out, "\\n");
		else if (*text == '\t')
			strbuf_puts(out, "\\t");
		else
			strbuf_putc(out, *text);
	}
}

int faults_print(struct faults *f, struct strbuf *out)
{
	LOCK_SCOPE(&f->lock);
	size_t oldest = f->count < MAX_FAULTS ? 0 : f->next;

	for (size_t i = 0; i < f->count; i++) {
		const struct fault *x = &f->ring[(oldest + i) % MAX_FAULTS];

		put_field(out, x->path);
		strbuf_putc(out, '\t');
		put_field(out, x->reason);
		strbuf_putc(out, '\t');
		put_field(out, x->remedy);
		strbuf_putc(out, '\n');
	}
	return strbuf_error(out);
}
