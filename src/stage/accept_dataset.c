/* SPDX-License-Identifier: MIT */
/* accept_dataset.c - a .npy file, or an image, as a dataset of its own. */
#include "accept_int.h"

void accepted_dataset_done(struct accepted_dataset *a)
{
	dtype_free(a->type);
	blob_unref(a->data);
	*a = (struct accepted_dataset){ 0 };
}

/* ---- .npy ---- */
/* As it is in memory now. */
static void forget_file(struct dtype *t)
{
	t->big_endian = false;
	free(t->tag);
	t->tag = NULL;
	if (t->base)
		forget_file(t->base);
	for (unsigned i = 0; i < t->nmembers; i++)
		forget_file(t->members[i].type);
}

static bool is_as_stored(const struct dtype *t)
{
	bool same = !t->tag && !t->big_endian && t->class != DT_BOOL &&
		    (!t->base || is_as_stored(t->base));

	for (unsigned i = 0; i < t->nmembers; i++)
		same = same && is_as_stored(t->members[i].type);
	return same;
}

/* Text takes a quarter of what UCS-4 did, more often than not. */
static int shrink_text(struct accepted_dataset *a)
{
	uint64_t count = a->data->size / a->type->size;
	const uint8_t *in = a->data->data;
	struct blob *b;
	size_t most = 1;
	int r;

	for (uint64_t i = 0; i < count; i++) {
		const char *text;
		size_t n;

		dtype_string(a->type, in + i * a->type->size, &text, &n);
		most = n > most ? n : most;
	}
	r = blob_new(count * most, &b);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < count; i++)
		memcpy(b->data + i * most, in + i * a->type->size, most);
	blob_unref(a->data);
	a->data = b;
	a->type->size = (uint32_t)most;
	return 0;
}

static int from_npy(const uint8_t *bytes, uint64_t size,
		    struct accepted_dataset *a, struct refusal *f)
{
	CLEANUP(npy_done) struct npy n = { 0 };
	bool ucs4;
	int r = npy_parse(bytes, size, &n, f);

	if (r < 0)
		return r;
	a->offset = n.offset;
	a->rank = n.rank;
	memcpy(a->dims, n.dims, sizeof(a->dims));
	if (!is_as_stored(n.type) || (n.fortran && n.rank > 1)) {
		a->offset = 0;
		r = npy_elements(&n, bytes, &a->data);
	}
	if (r == -EILSEQ)
		return refusal_set(f, -EINVAL, "write it again",
				   "a .npy file of text that is not Unicode");
	if (r < 0)
		return r;
	a->type = TAKE(n.type);
	ucs4 = a->type->class == DT_STRING && a->type->tag;
	forget_file(a->type);
	return ucs4 ? shrink_text(a) : 0;
}

/* ---- images ---- */
/* What is opaque needs no alpha. */
static int fit_somehow(const struct picture *p, bool mask,
		       struct picture *ret_picture, char **ret_why)
{
	static const unsigned by_channels[][2] = {
		{ 1, 1 }, { 1, 4 }, { 3, 3 }, { 4, 4 }
	};
	static const unsigned indexed[] = { 3, 4 };
	const unsigned *channels =
		p->ncolours && !mask ? indexed : by_channels[p->channels - 1];
	struct picture_want w = { .width = p->width,
				  .height = p->height,
				  .channels = channels[0],
				  .bits = p->bits,
				  .mask = mask };
	int r = picture_fit(p, &w, ret_picture, NULL);

	if (r != -EINVAL)
		return r;
	w.channels = channels[1];
	return picture_fit(p, &w, ret_picture, ret_why);
}

static int from_image(const char *name, const uint8_t *bytes, uint64_t size,
		      struct accepted_dataset *a, struct refusal *f)
{
	CLEANUP(picture_done) struct picture p = { 0 }, plain = { 0 };
	CLEANUP(freep) char *why = NULL;
	int r = picture_decode(bytes, size, &ACCEPT_LIMITS, &p, &why);

	if (r < 0)
		return refusal_set(f, r, decode_remedy(r, bytes, size), "%s",
				   why ? why : strerror(-r));
	r = fit_somehow(&p, p.ncolours && layout_is_mask_name(name), &plain,
			&why);
	if (r < 0)
		return refusal_set(f, r, "convert it to PNG", "%s",
				   why ? why : strerror(-r));
	r = dtype_new(DT_UINT, plain.bits / 8, &a->type);
	if (r < 0)
		return r;
	a->rank = plain.channels == 1 ? 2 : 3;
	a->dims[0] = plain.height;
	a->dims[1] = plain.width;
	a->dims[2] = plain.channels;
	a->data = TAKE(plain.pixels);
	a->image = true;
	return 0;
}

int accept_dataset(const char *name, const uint8_t *bytes, uint64_t size,
		   struct accepted_dataset *ret, struct refusal *f)
{
	CLEANUP(accepted_dataset_done) struct accepted_dataset a = { 0 };
	int r = npy_is_name(name) || npy_is(bytes, size)
			? from_npy(bytes, size, &a, f)
			: from_image(name, bytes, size, &a, f);

	if (r < 0)
		return r;
	*ret = a;
	a = (struct accepted_dataset){ 0 };
	return 0;
}
