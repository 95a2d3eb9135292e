/* SPDX-License-Identifier: MIT */
/* workload.c - what the crash tests do to a file, one transaction after another.
 *
 *   crash_workload run FILE TRACE       the workload; events: "begin NAME" before a
 *                                       commit, "end NAME" after it, or "over NAME"
 *                                       when it could not be made
 *   crash_workload recover              reads "FILE TRACE KILL_AT" lines (TRACE may
 *                                       be -), recovers FILE, and answers each with
 *                                       "RESULT what was done"; a line at which it
 *                                       must end is answered by its end */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#include "trace.h"

#define SIDE 16 /* of a picture */

static const struct dtype u8 = { .class = DT_UINT, .size = 1 };
static const struct dtype i64 = { .class = DT_INT, .size = 8 };
static const struct dtype f32 = { .class = DT_FLOAT, .size = 4 };
static const struct dtype text = { .class = DT_VLSTR,
				   .size = sizeof(char *),
				   .utf8 = true };
static uint32_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* ---- arrays ---- */

static struct array *new_array(const struct dtype *t, unsigned rank,
			       const uint64_t *dims)
{
	struct array *a = calloc(1, sizeof(*a));

	if (!a || arena_new(&a->arena) < 0)
		abort();
	a->type = t;
	a->rank = rank;
	a->count = 1;
	for (unsigned i = 0; i < rank; i++)
		a->count *= a->dims[i] = dims[i];
	if (blob_new(a->count * t->size, &a->data) < 0)
		abort();
	return a;
}

/* Pictures that compress to about a half. */
static struct array *pictures(uint64_t n)
{
	struct array *a = new_array(&u8, 4, (uint64_t[]){ n, SIDE, SIDE, 3 });

	for (size_t i = 0; i < a->data->size; i++)
		a->data->data[i] = (uint8_t)(i % 2 ? dice(256) : i / 7);
	return a;
}

static struct array *labels(uint64_t n)
{
	struct array *a = new_array(&i64, 1, &n);

	for (uint64_t i = 0; i < n; i++)
		((int64_t *)(void *)a->data->data)[i] = dice(1000);
	return a;
}

static struct array *names(uint64_t n)
{
	struct array *a = new_array(&text, 1, &n);

	for (uint64_t i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "picture-%u.png", dice(100000));
		((char **)(void *)a->data->data)[i] =
			arena_strdup(a->arena, name);
	}
	return a;
}

static struct array *numbers(uint64_t rows)
{
	struct array *a = new_array(&f32, 2, (uint64_t[]){ rows, 8 });

	for (uint64_t i = 0; i < a->count; i++)
		((float *)(void *)a->data->data)[i] = (float)dice(1 << 20);
	return a;
}

/* ---- the transactions ---- */

static int append_rows(struct writer *w, uint64_t n)
{
	CLEANUP(array_freep) struct array *p = pictures(n);
	CLEANUP(array_freep) struct array *l = labels(n);
	CLEANUP(array_freep) struct array *s = names(n);
	int r = writer_append(w, "/train/images", 0, p);

	if (r == 0)
		r = writer_append(w, "/train/labels", 0, l);
	return r < 0 ? r : writer_append(w, "/train/names", 0, s);
}

static int append_few(struct writer *w)
{
	return append_rows(w, 3);
}

static int append_many(struct writer *w)
{
	return append_rows(w, 40);
}

static int replace_row(struct writer *w)
{
	CLEANUP(array_freep) struct array *p = pictures(1);
	CLEANUP(array_freep) struct array *s = names(1);
	int r = writer_overwrite(w, "/train/images", 0, 2, p);

	return r < 0 ? r : writer_overwrite(w, "/train/names", 0, 2, s);
}

static int relabel(struct writer *w)
{
	CLEANUP(array_freep) struct array *l = labels(2);

	return writer_overwrite(w, "/train/labels", 0, 1, l);
}

static int new_dataset(struct writer *w)
{
	CLEANUP(array_freep) struct array *a = numbers(300);
	struct writer_dataset d = {
		.type = &f32,
		.rank = 2,
		.dims = { 300, 8 },
		.growable = true,
		.fd = -1,
		.data = a->data->data,
	};

	return writer_create_dataset(w, "/extra/volumes/one", &d);
}

static int set_text(struct writer *w, const char *name, const char *value)
{
	CLEANUP(array_freep) struct array *a = new_array(&text, 0, NULL);

	((char **)(void *)a->data->data)[0] = arena_strdup(a->arena, value);
	return writer_set_attr(w, "/train/images", name, a);
}

static int new_attribute(struct writer *w)
{
	return set_text(w, "scanner", "a new attribute");
}

static int other_attribute(struct writer *w)
{
	return set_text(w, "scanner", "another value, which is longer");
}

static int grow_fixed(struct writer *w)
{
	CLEANUP(array_freep) struct array *a = numbers(6);
	int r = writer_grow(w, "/fixed", 0);

	return r < 0 ? r : writer_append(w, "/fixed", 0, a);
}

static int objects(struct writer *w)
{
	int r = writer_create_group(w, "/made");

	if (r == 0)
		r = writer_create_link(w, "/made/link", "/train/labels");
	if (r == 0)
		r = writer_move(w, "/extra/volumes/one", "/made/moved");
	return r < 0 ? r : writer_unlink(w, "/old");
}

enum how {
	COMMIT,
	ABORT,
	LOCKED_OUT, /* another program reads FILE when it is to be applied */
};
static const struct step {
	const char *name;
	int (*run)(struct writer *w);
	enum how how;
} steps[] = {
	{ "append-few", append_few, COMMIT },
	{ "replace-row", replace_row, COMMIT },
	{ "given-up", append_many, ABORT },
	{ "relabel", relabel, COMMIT },
	{ "append-many", append_many, COMMIT },
	{ "locked-out", append_few, LOCKED_OUT },
	{ "new-dataset", new_dataset, COMMIT },
	{ "new-attribute", new_attribute, COMMIT },
	{ "grow-fixed", grow_fixed, COMMIT },
	{ "objects", objects, COMMIT },
	{ "given-up-too", grow_fixed, ABORT },
	{ "other-attribute", other_attribute, COMMIT },
	{ "locked-out-too", relabel, LOCKED_OUT },
	{ "append-more", append_many, COMMIT },
};

static void event(const char *what, const char *name)
{
	CLEANUP(freep) char *line = NULL;

	if (asprintf(&line, "%s %s", what, name) < 0)
		abort();
	trace_event(line);
}

static int commit(struct writer *w, const struct step *s, uint64_t tag)
{
	int r;

	event("begin", s->name);
	r = writer_commit(w, tag);
	event(r < 0 ? "over" : "end", s->name);
	return r;
}

static int commit_locked_out(struct writer *w, const struct step *s,
			     uint64_t tag, const char *path)
{
	CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_SH) < 0)
		return -errno;
	return commit(w, s, tag) == -EBUSY ? 0 : -EIO;
}

static int run_step(struct writer *w, const struct step *s, uint64_t tag,
		    const char *path)
{
	int r = writer_begin(w);

	if (r == 0)
		r = s->run(w);
	if (r < 0 || s->how == ABORT) {
		writer_abort(w);
		return r;
	}
	return s->how == COMMIT ? commit(w, s, tag)
				: commit_locked_out(w, s, tag, path);
}

static int run(const char *path, const char *trace)
{
	struct writer_options o = { .threads = 1, .lock_wait_ms = 20 };
	CLEANUP(writer_closep) struct writer *w = NULL;
	CLEANUP(freep) char *why = NULL;
	int r = trace_start(trace, -1);

	if (r == 0)
		r = writer_open(path, &o, &w, &why);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++) {
		r = run_step(w, &steps[i], i + 1, path);
		if (r < 0)
			fprintf(stderr, "%s: %s\n", steps[i].name,
				writer_why(w));
	}
	if (why)
		fprintf(stderr, "%s: %s\n", path, why);
	return r < 0 ? 1 : 0;
}

static int recover(void)
{
	static const char *const done[] = {
		[RECOVERY_NONE] = "none",
		[RECOVERY_FINISHED] = "finished",
		[RECOVERY_UNDONE] = "undone",
		[RECOVERY_ASIDE] = "aside",
	};
	char file[1024], trace[1024];
	long kill_at;

	while (scanf("%1023s %1023s %ld", file, trace, &kill_at) == 3) {
		CLEANUP(freep) char *why = NULL;
		enum recovery recovery = RECOVERY_NONE;
		int r = trace_start(strcmp(trace, "-") ? trace : NULL, kill_at);

		if (r == 0)
			r = store_recover(file, NULL, &recovery, &why);
		printf("%d %s %s\n", r, done[recovery], why ? why : "");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "run"))
		return run(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], "recover"))
		return recover();
	fprintf(stderr, "usage: crash_workload run FILE TRACE | recover\n");
	return 2;
}
