/* SPDX-License-Identifier: MIT */
/* dataset.c - a new dataset from a file that was copied in. What was a picture
 * says so with the attributes of the HDF5 image specification, version 1.2. */
#include "stage_int.h"

static int set_text(struct writer *w, const char *path, const char *name,
		    const char *text)
{
	struct dtype type = {
		.class = DT_STRING,
		.size = (uint32_t)strlen(text) + 1,
		.pad = PAD_NULLTERM,
	};
	struct array a = { .type = &type, .count = 1 };
	int r = blob_from(text, type.size, &a.data);

	if (r == 0)
		r = writer_set_attr(w, path, name, &a);
	blob_unref(a.data);
	return r;
}

static int say_image(struct writer *w, const char *path, unsigned rank)
{
	int r = set_text(w, path, "CLASS", "IMAGE");

	if (r == 0)
		r = set_text(w, path, "IMAGE_VERSION", "1.2");
	if (r == 0)
		r = set_text(w, path, "IMAGE_SUBCLASS",
			     rank > 2 ? "IMAGE_TRUECOLOR" : "IMAGE_GRAYSCALE");
	if (r == 0 && rank > 2)
		r = set_text(w, path, "INTERLACE_MODE", "INTERLACE_PIXEL");
	return r;
}

int stage_write_dataset(struct writer *w, const char *path,
			const struct accepted_dataset *a, const uint8_t *bytes)
{
	struct writer_dataset d = {
		.type = a->type,
		.rank = a->rank,
		.growable = !a->image && a->rank > 0,
		.fd = -1,
		.data = a->data ? a->data->data : bytes + a->offset,
	};
	int r;

	memcpy(d.dims, a->dims, sizeof(d.dims));
	r = writer_create_dataset(w, path, &d);
	return r == 0 && a->image ? say_image(w, path, a->rank) : r;
}
