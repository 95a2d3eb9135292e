/* SPDX-License-Identifier: MIT */
/* fake_store.c - the part of store.h that views use, over arrays in memory. */
#include "fake_store.h"

struct dset {
	struct dataset_info info;
	const uint8_t *data;
	const char *attr, *text;
	int refs;
};
uint64_t fake_bytes_read;

struct dset *fake_dset(const struct dtype *type, unsigned rank,
		       const uint64_t *dims, const void *data)
{
	struct dset *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	d->refs = 1;
	d->data = data;
	d->info.obj.id.addr = (uint64_t)(uintptr_t)d;
	d->info.type = type;
	d->info.rank = rank;
	d->info.count = 1;
	for (unsigned k = 0; k < rank; k++) {
		d->info.dims[k] = d->info.maxdims[k] = dims[k];
		if (d->info.count == UINT64_MAX ||
		    mul_overflow(d->info.count, dims[k], &d->info.count))
			d->info.count = UINT64_MAX;
	}
	return d;
}

struct dset *fake_null(const struct dtype *type)
{
	struct dset *d = fake_dset(type, 0, NULL, NULL);

	d->info.null = true;
	d->info.count = 0;
	return d;
}

void fake_attr(struct dset *d, const char *name, const char *text)
{
	d->attr = name;
	d->text = text;
}

struct view_source fake_source(struct dset *d)
{
	static const struct layout none = { .y = -1, .x = -1, .c = -1 };

	return (struct view_source){ .dset = d, .layout = &none };
}

static char *read_file(const struct view_ops *v, const struct view_source *s,
		       uint64_t index, size_t piece, size_t *ret_n)
{
	uint64_t size;
	int r = v->size(s, index, &size);
	uint8_t *buf;

	*ret_n = r;
	if (r < 0 || size > 1 << 20)
		return NULL;
	buf = malloc(size + 1);
	for (uint64_t at = 0; at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;

		r = v->read(s, index, at, n, buf + at);
		if (r < 0) {
			*ret_n = r;
			free(buf);
			return NULL;
		}
	}
	buf[size] = 0;
	*ret_n = size;
	return (char *)buf;
}

char *fake_file(const struct view_ops *v, const struct view_source *s,
		uint64_t index, size_t piece, size_t *ret_n)
{
	struct strbuf out = STRBUF_INIT;

	if (v->read)
		return read_file(v, s, index, piece, ret_n);
	for (uint64_t b = 0; b < v->blocks(s, index); b++) {
		CLEANUP(blob_unrefp) struct blob *blob = NULL;
		int r = v->render(s, index, b, &blob);

		if (r < 0) {
			*ret_n = r;
			strbuf_done(&out);
			return NULL;
		}
		strbuf_put(&out, blob->data, blob->size);
	}
	*ret_n = out.len;
	return strbuf_steal(&out);
}

/* ---- store.h ---- */

const struct dataset_info *dset_info(const struct dset *d)
{
	return &d->info;
}

const char *dset_path(const struct dset *d)
{
	return "/fake";
}

struct dset *dset_ref(struct dset *d)
{
	d->refs++;
	return d;
}

void dset_unref(struct dset *d)
{
	if (d && !--d->refs)
		free(d);
}

static int check_range(const struct dset *d, const uint64_t *start,
		       const uint64_t *count, const uint64_t *step)
{
	for (unsigned k = 0; k < d->info.rank; k++) {
		uint64_t by = step ? step[k] : 1;

		if (!count[k] || !by || start[k] >= d->info.dims[k] ||
		    (count[k] - 1) * by > d->info.dims[k] - 1 - start[k])
			return -ERANGE;
	}
	return 0;
}

static uint8_t *copy(const struct dset *d, unsigned k, uint64_t at,
		     const uint64_t *start, const uint64_t *count,
		     const uint64_t *step, uint8_t *out)
{
	uint32_t size = d->info.type->size;

	if (k == d->info.rank) {
		memcpy(out, d->data + at * size, size);
		fake_bytes_read += size;
		return out + size;
	}
	for (uint64_t i = 0; i < count[k]; i++)
		out = copy(d, k + 1,
			   at * d->info.dims[k] + start[k] +
				   i * (step ? step[k] : 1),
			   start, count, step, out);
	return out;
}

int dset_read(struct dset *d, const uint64_t *start, const uint64_t *count,
	      const uint64_t *step, void *buf)
{
	int r = check_range(d, start, count, step);

	if (r == 0)
		copy(d, 0, 0, start, count, step, buf);
	return r;
}

bool fake_has_runs;

int dset_read_run(struct dset *d, uint64_t first, uint64_t n, void *buf)
{
	size_t size = d->info.type->size;

	if (!fake_has_runs)
		return -EOPNOTSUPP;
	if (first + n > d->info.count)
		return -ERANGE;
	memcpy(buf, d->data + first * size, n * size);
	fake_bytes_read += n * size;
	return 0;
}

int dset_read_cells(struct dset *d, const uint64_t *start,
		    const uint64_t *count, struct array **ret_array)
{
	struct array *a;
	int r = check_range(d, start, count, NULL);

	if (r < 0)
		return r;
	a = calloc(1, sizeof(*a));
	a->type = d->info.type;
	a->rank = d->info.rank;
	a->count = 1;
	for (unsigned k = 0; k < a->rank; k++)
		a->count *= a->dims[k] = count[k];
	r = blob_new(a->count * a->type->size, &a->data);
	if (r < 0)
		abort();
	copy(d, 0, 0, start, count, NULL, a->data->data);
	*ret_array = a;
	return 0;
}

int dset_borrow(struct dset *d, const uint64_t *start, const uint64_t *count,
		struct span *ret_span)
{
	int r = check_range(d, start, count, NULL);
	int64_t stride = d->info.type->size;

	if (r < 0)
		return r;
	memset(ret_span, 0, sizeof(*ret_span));
	ret_span->base = d->data;
	fake_bytes_read += d->info.type->size;
	for (unsigned k = d->info.rank; k-- > 0;) {
		ret_span->stride[k] = stride;
		ret_span->base += (int64_t)start[k] * stride;
		stride *= (int64_t)d->info.dims[k];
	}
	return 0;
}

/* id.addr is the dataset itself. */
int store_attr(struct store *s, struct obj_id id, const char *name,
	       struct array **ret_value)
{
	const struct dset *d = (const struct dset *)(uintptr_t)id.addr;
	struct array *a;

	if (!d->attr || strcmp(d->attr, name) != 0)
		return -ENODATA;
	a = calloc(1, sizeof(*a));
	if (dtype_new(DT_STRING, strlen(d->text), &a->own_type) < 0 ||
	    blob_from(d->text, strlen(d->text), &a->data) < 0)
		abort();
	a->type = a->own_type;
	a->count = 1;
	*ret_value = a;
	return 0;
}
