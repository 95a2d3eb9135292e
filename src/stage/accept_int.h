/* SPDX-License-Identifier: MIT */
/* accept_int.h - shared by what judges files and values: npy*.c, cast.c, value*.c,
 * accept*.c. */
#ifndef H5FS_ACCEPT_INT_H
#define H5FS_ACCEPT_INT_H

#include "h5fs/stage.h"

/* ---- npy.c ---- */
/* Tag of a DT_STRING whose elements in the file are UCS-4. UTF-8 never takes more
 * bytes, so its size is the same. */
#define NPY_UCS4 "U"
bool npy_is_name(const char *name);
bool npy_is(const uint8_t *bytes, uint64_t size);

/* ---- type_say.c ---- */
/* For people: "float32", "(2, 3) uint8", "string of 5 bytes". */
void type_say(const struct dtype *t, struct strbuf *out);
/* "(20, 20, 5) float32", "a single float32". */
void shape_say(unsigned rank, const uint64_t *dims, const struct dtype *t,
	       struct strbuf *out);

/* ---- cast.c ---- */
/* The float, as nearly as it can be; -ERANGE: it would become infinite. */
int store_nearest(const struct dtype *t, long double v, void *out);
/* Text as an element, padded; -ERANGE: it is too long. */
int store_text(const struct dtype *t, const char *text, size_t n, void *out);

/* ---- value.c, value_guess.c ---- */
#define VALUE_MAX (UINT64_C(1) << 30) /* bytes */

/* ---- accept.c ---- */
/* The refusal with what m holds behind it: "...; images holds 64 x 64 pixels, RGB,
 * 8 bits". */
int member_refuse(const struct stage_member *m, struct refusal *f, int r,
		  const char *remedy, const char *fmt, ...) PRINTF(5, 6);
/* One row, zeroed, of so many bytes. */
int accepted_row(uint64_t size, struct accepted *ret);

/* Larger images are not decoded, whatever fits them. */
#define ACCEPT_LIMITS ((struct picture_limits){ UINT64_C(1) << 27, 1u << 29 })
/* What helps when an image was not decoded. */
const char *decode_remedy(int r, const uint8_t *bytes, uint64_t size);

/* ---- accept_picture.c, accept_encoded.c ---- */
int accept_picture(const struct stage_member *m, const uint8_t *bytes,
		   uint64_t size, enum fit fit, const uint8_t *keep,
		   struct accepted *ret, struct refusal *f);
int accept_encoded(const struct stage_member *m, const uint8_t *bytes,
		   uint64_t size, struct accepted *ret, struct refusal *f);

#endif
