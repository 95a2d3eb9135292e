/* SPDX-License-Identifier: MIT */
/* layout_fixture.h - a group of described datasets, made by hand, and probes
 * that answer what the test says. */
#ifndef H5FS_LAYOUT_FIXTURE_H
#define H5FS_LAYOUT_FIXTURE_H

#include <stdlib.h>

#include "check.h"
#include "h5fs/layout.h"

#define FIXTURE_MAX 16

struct fixture {
	struct desc_group g;
	struct desc members[FIXTURE_MAX];
	struct layout layouts[FIXTURE_MAX];
	struct layout_user user[FIXTURE_MAX];
	const struct layout_user *users[FIXTURE_MAX];
};
/* What a member's probes answer; desc.arg points to one, or NULL: -EIO. */
struct answers {
	double lo, hi;
	bool whole, partial, nodata, onehot;
	size_t nheads;
	const char *const *heads;
	unsigned asked; /* calls of any probe */
};

static inline int answer_range(void *arg, const struct desc *d,
			       const double *fill, struct layout_range *ret)
{
	struct answers *a = arg;

	if (!a)
		return -EIO;
	a->asked++;
	if (a->nodata)
		return -ENODATA;
	*ret = (struct layout_range){ a->lo, a->hi, !a->partial, a->whole };
	return 0;
}

static inline int answer_onehot(void *arg, const struct desc *d, int axis,
				bool *ret)
{
	struct answers *a = arg;

	if (!a)
		return -EIO;
	a->asked++;
	*ret = a->onehot;
	return 0;
}

static inline int answer_head(void *arg, const struct desc *d, uint64_t i,
			      uint8_t *buf, size_t max, uint64_t *ret_len)
{
	struct answers *a = arg;
	size_t n;

	if (!a || i >= a->nheads)
		return -EIO;
	a->asked++;
	n = strlen(a->heads[i]);
	memcpy(buf, a->heads[i], n < max ? n : max);
	*ret_len = n;
	return 0;
}

static const struct layout_probe answer_probe = { answer_range, answer_onehot,
						  answer_head };

/* "u1", "i4", "f8", "b1", "s8" (string), "o8" (opaque). */
static inline struct dtype simple_type(const char *text)
{
	static const char letters[] = "uifbso";
	static const enum dtype_class classes[] = { DT_UINT, DT_INT, DT_FLOAT,
						    DT_BOOL, DT_STRING,
						    DT_OPAQUE };

	return (struct dtype){
		.class = classes[strchr(letters, text[0]) - letters],
		.size = (uint32_t)atoi(text + 1),
	};
}

static inline struct desc *put_type(struct fixture *f, const char *path,
				    const struct dtype *type, unsigned rank,
				    const uint64_t *dims)
{
	struct desc *d = &f->members[f->g.count];

	CHECK(f->g.count < FIXTURE_MAX);
	d->path = strdup(path);
	d->name = strdup(strrchr(path, '/') + 1);
	CHECK_EQ(desc_set_type(d, type, false, rank, dims), 0);
	for (unsigned i = 0; i < rank; i++)
		d->maxdims[i] = dims[i];
	f->g.members = f->members;
	f->g.layouts = f->layouts;
	f->g.count++;
	return d;
}

#define PUT(f, path, type, ...)                                                \
	put_type(f, path, &(struct dtype[]){ simple_type(type) }[0],           \
		 sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t),       \
		 (uint64_t[]){ __VA_ARGS__ })

static inline struct fact *add_fact(struct facts *f, const char *name)
{
	struct fact *a;

	f->facts = realloc(f->facts, (f->count + 1) * sizeof(*f->facts));
	a = &f->facts[f->count++];
	*a = (struct fact){ .name = strdup(name) };
	return a;
}

static inline void say(struct facts *f, const char *name, const char *text)
{
	struct fact *a = add_fact(f, name);

	a->texts = calloc(1, sizeof(*a->texts));
	a->texts[a->ntexts++] = strdup(text);
}

static inline void say_list(struct facts *f, const char *name, size_t n,
			    const char *const *texts)
{
	struct fact *a = add_fact(f, name);

	a->array = true;
	a->texts = calloc(n, sizeof(*a->texts));
	for (; a->ntexts < n; a->ntexts++)
		a->texts[a->ntexts] = strdup(texts[a->ntexts]);
}

static inline void say_numbers(struct facts *f, const char *name, size_t n,
			       const double *nums)
{
	struct fact *a = add_fact(f, name);

	a->nnums = n;
	a->nums = calloc(n, sizeof(*a->nums));
	memcpy(a->nums, nums, n * sizeof(*nums));
}

static inline void user_says(struct fixture *f, size_t i, const char *spec)
{
	f->user[i].layout = strdup(spec);
	f->users[i] = &f->user[i];
}

static inline void decide(struct fixture *f)
{
	CHECK_EQ(layout_decide(&f->g, f->users, &answer_probe), 0);
}

static inline void fixture_done(struct fixture *f)
{
	for (size_t i = 0; i < f->g.count; i++) {
		desc_done(&f->members[i]);
		free(f->user[i].layout);
	}
	facts_done(&f->g.facts);
	*f = (struct fixture){ 0 };
}

#endif
