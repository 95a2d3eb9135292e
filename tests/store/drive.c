/* SPDX-License-Identifier: MIT */
/* drive.c - requests of the writer from a script, so that Python can say what
 * they should have done: drive FILE < commands
 *
 *   begin | commit
 *   append PATH AXIS N VALUES | overwrite PATH AXIS AT N VALUES
 *   replace PATH VALUES | grow PATH AXIS
 *   create PATH TYPE growable|fixed DIMS VALUES
 *   group PATH | link PATH TARGET | move FROM TO | unlink PATH
 *   attr PATH NAME TYPE DIMS VALUES | noattr PATH NAME
 *
 * VALUES is a file of packed elements in memory form; of texts of variable length
 * each ends in a NUL. TYPE: NumPy's letter and size (u1, f8, ?1, c8, S5, U0 for
 * texts of variable length). DIMS: 3,4 or - for a single value. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "h5fs/store.h"

#define MAX_WORDS 8
#define MAX_VALUES (1u << 30)

static const char *file_name;
static struct writer *w;

static int say(int r, const char *what)
{
	if (r < 0)
		fprintf(stderr, "%s: %s: %s\n", what, strerror(-r),
			writer_why(w));
	return r;
}

static struct dtype *type_of(const char *word)
{
	static const struct {
		char letter;
		enum dtype_class class;
	} kinds[] = { { 'u', DT_UINT }, { 'i', DT_INT },     { 'f', DT_FLOAT },
		      { '?', DT_BOOL }, { 'c', DT_COMPLEX }, { 'S', DT_STRING },
		      { 'U', DT_VLSTR } };
	struct dtype *t = NULL;
	uint32_t size = (uint32_t)atoi(word + 1);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].letter == *word)
			(void)dtype_new(kinds[i].class,
					size ? size : sizeof(char *), &t);
	if (!t)
		abort();
	if (t->class == DT_COMPLEX)
		(void)dtype_new(DT_FLOAT, size / 2, &t->base);
	t->utf8 = t->class == DT_VLSTR;
	t->pad = t->class == DT_STRING ? PAD_NULLPAD : PAD_NULLTERM;
	return t;
}

static unsigned dims_of(const char *word, uint64_t *dims)
{
	unsigned rank = 0;
	char *end;

	while (*word >= '0' && *word <= '9') {
		dims[rank++] = strtoull(word, &end, 10);
		word = *end == ',' ? end + 1 : end;
	}
	return rank;
}

/* Elements of the type, of the shape, from a file. */
static int values(const char *path, const struct dtype *t, unsigned rank,
		  const uint64_t *dims, struct array **ret_values)
{
	CLEANUP(array_freep) struct array *a = calloc(1, sizeof(*a));
	CLEANUP(blob_unrefp) struct blob *text = NULL;
	char *p;
	int r;

	if (!a)
		return -ENOMEM;
	a->type = t;
	a->rank = rank;
	a->count = 1;
	for (unsigned i = 0; i < rank; i++)
		a->count *= a->dims[i] = dims[i];
	r = arena_new(&a->arena);
	if (r == 0)
		r = io_read_file(path, MAX_VALUES,
				 t->class == DT_VLSTR ? &text : &a->data);
	if (r < 0 || !text) {
		if (r == 0)
			*ret_values = TAKE(a);
		return r;
	}
	r = blob_new(a->count * sizeof(p), &a->data);
	p = arena_alloc(a->arena, text->size + 1);
	if (r < 0 || !p)
		return -ENOMEM;
	memcpy(p, text->data, text->size);
	for (uint64_t i = 0; i < a->count; i++, p += strlen(p) + 1)
		memcpy(a->data->data + i * sizeof(p), &p, sizeof(p));
	*ret_values = TAKE(a);
	return 0;
}

/* Rows of the dataset's own type and shape. */
static int rows(const char *set, unsigned axis, uint64_t n, const char *path,
		struct dset **ret_set, struct store **ret_store,
		struct array **ret_rows)
{
	static struct cache *cache;
	CLEANUP(freep) char *why = NULL;
	struct store_options o = { 0 };
	const struct dataset_info *info;
	struct obj_info root, obj;
	uint64_t dims[DT_MAX_RANK];
	int r = 0;

	if (!cache)
		r = cache_new(1 << 20, 1, &cache);
	o.cache = cache;
	o.beside = w;
	if (r == 0)
		r = store_open(file_name, &o, ret_store, &why);
	if (r == 0)
		r = store_root(*ret_store, &root);
	if (r == 0)
		r = store_resolve(*ret_store, root.id, set, &obj);
	if (r == 0)
		r = dset_open(*ret_store, obj.id, set, ret_set);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", set, why ? why : strerror(-r));
		return r;
	}
	info = dset_info(*ret_set);
	memcpy(dims, info->dims, sizeof(dims));
	dims[axis] = n;
	return values(path, info->type, info->rank, dims, ret_rows);
}

static int do_rows(char **word, bool append)
{
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(dset_unrefp) struct dset *d = NULL;
	CLEANUP(array_freep) struct array *a = NULL;
	unsigned axis = (unsigned)atoi(word[2]);
	uint64_t at = append ? 0 : strtoull(word[3], NULL, 10);
	char **rest = append ? word + 3 : word + 4;
	int r = rows(word[1], axis, strtoull(rest[0], NULL, 10), rest[1], &d,
		     &s, &a);

	if (r < 0)
		return r;
	return append ? writer_append(w, word[1], axis, a)
		      : writer_overwrite(w, word[1], axis, at, a);
}

static int do_append(char **word)
{
	return do_rows(word, true);
}

static int do_overwrite(char **word)
{
	return do_rows(word, false);
}

static int do_replace(char **word)
{
	CLEANUP(fd_closep) int fd = open(word[2], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : writer_replace(w, word[1], fd, 0);
}

static int do_grow(char **word)
{
	return writer_grow(w, word[1], (unsigned)atoi(word[2]));
}

static int do_create(char **word)
{
	CLEANUP(fd_closep) int fd = open(word[5], O_RDONLY | O_CLOEXEC);
	CLEANUP(dtype_freep) struct dtype *t = type_of(word[2]);
	CLEANUP(array_freep) struct array *a = NULL;
	struct writer_dataset d = { .type = t, .fd = fd };
	int r = 0;

	d.growable = !strcmp(word[3], "growable");
	d.rank = dims_of(word[4], d.dims);
	if (dtype_has_pointers(t)) {
		r = values(word[5], t, d.rank, d.dims, &a);
		d.data = r == 0 ? a->data->data : NULL;
	}
	return r < 0 ? r : writer_create_dataset(w, word[1], &d);
}

static int do_attr(char **word)
{
	CLEANUP(dtype_freep) struct dtype *t = type_of(word[3]);
	CLEANUP(array_freep) struct array *a = NULL;
	uint64_t dims[DT_MAX_RANK];
	unsigned rank = dims_of(word[4], dims);
	int r = values(word[5], t, rank, dims, &a);

	return r < 0 ? r : writer_set_attr(w, word[1], word[2], a);
}

static int do_noattr(char **word)
{
	return writer_remove_attr(w, word[1], word[2]);
}

static int do_group(char **word)
{
	return writer_create_group(w, word[1]);
}

static int do_link(char **word)
{
	return writer_create_link(w, word[1], word[2]);
}

static int do_move(char **word)
{
	return writer_move(w, word[1], word[2]);
}

static int do_unlink(char **word)
{
	return writer_unlink(w, word[1]);
}

static int do_begin(char **word)
{
	(void)word;
	return writer_begin(w);
}

static int do_commit(char **word)
{
	(void)word;
	return writer_commit(w, writer_tag(w) + 1);
}

static const struct {
	const char *name;
	int words;
	int (*run)(char **word);
} commands[] = {
	{ "begin", 1, do_begin },     { "commit", 1, do_commit },
	{ "append", 5, do_append },   { "overwrite", 6, do_overwrite },
	{ "replace", 3, do_replace }, { "grow", 3, do_grow },
	{ "create", 6, do_create },   { "group", 2, do_group },
	{ "link", 3, do_link },	      { "move", 3, do_move },
	{ "unlink", 2, do_unlink },   { "attr", 6, do_attr },
	{ "noattr", 3, do_noattr },
};

static int run_line(char *line)
{
	char *word[MAX_WORDS], *save = NULL;
	int n = 0;

	for (char *p = strtok_r(line, " \n", &save); p && n < MAX_WORDS;
	     p = strtok_r(NULL, " \n", &save))
		word[n++] = p;
	for (size_t i = 0; n && i < ARRAY_SIZE(commands); i++)
		if (!strcmp(word[0], commands[i].name) &&
		    n == commands[i].words)
			return say(commands[i].run(word), word[0]);
	fprintf(stderr, "no such command: %s\n", n ? word[0] : "");
	return -EINVAL;
}

int main(int argc, char **argv)
{
	const struct writer_options o = { .threads = 2 };
	CLEANUP(freep) char *why = NULL;
	CLEANUP(freep) char *line = NULL;
	size_t cap = 0;
	int r;

	if (argc != 2)
		return 2;
	file_name = argv[1];
	r = writer_open(file_name, &o, &w, &why);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", file_name, why);
		return 1;
	}
	while (r == 0 && getline(&line, &cap, stdin) > 0)
		r = run_line(line);
	writer_close(w);
	return r < 0;
}
