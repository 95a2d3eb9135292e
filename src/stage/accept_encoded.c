/* SPDX-License-Identifier: MIT */
/* accept_encoded.c - image files that are stored as they are. */
#include "accept_int.h"

static int refuse_room(const struct stage_member *m, uint64_t size,
		       uint64_t room, struct refusal *f)
{
	return member_refuse(m, f, -EINVAL, "encode it in fewer bytes",
			     "a file of %llu bytes, where a row has %llu",
			     (unsigned long long)size,
			     (unsigned long long)room);
}

/* Rows of a fixed length are padded. */
static int store(const struct stage_member *m, const uint8_t *bytes,
		 uint64_t size, struct accepted *ret, struct refusal *f)
{
	uint64_t room = stage_row_bytes(m);
	bool varies = !room;
	struct accepted a;
	int r;

	if (m->type->class == DT_VLSTR && memchr(bytes, 0, size))
		return member_refuse(m, f, -EOPNOTSUPP, NULL,
				     "a file with NUL bytes, which no text of "
				     "varying length holds");
	if (!varies && size > room)
		return refuse_room(m, size, room, f);
	r = accepted_row(varies ? size : room, &a);
	if (r < 0)
		return r;
	if (m->type->class == DT_STRING && m->type->pad == PAD_SPACE)
		memset(a.rows->data, ' ', a.rows->size);
	memcpy(a.rows->data, bytes, size);
	*ret = a;
	return 0;
}

int accept_encoded(const struct stage_member *m, const uint8_t *bytes,
		   uint64_t size, struct accepted *ret, struct refusal *f)
{
	const char *format = picture_format(bytes, size);
	const char *ext = layout_magic(bytes, size < 32 ? size : 32, size);
	CLEANUP(picture_done) struct picture p = { 0 };
	CLEANUP(freep) char *why = NULL;
	int r;

	if (!format || !ext)
		return member_refuse(m, f, -EINVAL, "copy an image file", "%s",
				     format ? format : "no image");
	if (m->encoded && strcmp(ext, m->encoded))
		return member_refuse(m, f, -EINVAL,
				     "convert it to the format that the "
				     "dataset has",
				     "a %s image", format);
	r = picture_decode(bytes, size, &ACCEPT_LIMITS, &p, &why);
	if (r < 0)
		return member_refuse(m, f, r,
				     r == -EFBIG ? "make it smaller"
						 : "copy it again",
				     "%s", why ? why : strerror(-r));
	return store(m, bytes, size, ret, f);
}
