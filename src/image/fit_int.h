/* SPDX-License-Identifier: MIT */
/* fit_int.h - shared by fit.c and fit_size.c. */
#ifndef H5FS_FIT_INT_H
#define H5FS_FIT_INT_H

#include "image_int.h"

struct fitting {
	struct picture p;
	const struct picture_want *want;
	const struct picture *from; /* as it came, for messages */
	bool ids;		    /* values are names, not brightness */
	char **ret_why;
};

static inline void fitting_replace(struct fitting *f, const struct picture *p)
{
	picture_done(&f->p);
	f->p = *p;
}

/* ---- single values ---- */
static inline size_t picture_values(const struct picture *p)
{
	return (size_t)p->width * p->height * p->channels;
}

static inline unsigned picture_value(const struct picture *p, size_t i)
{
	uint16_t v;

	if (p->bits == 8)
		return p->pixels->data[i];
	memcpy(&v, p->pixels->data + 2 * i, sizeof(v));
	return v;
}

static inline void picture_set(const struct picture *p, size_t i, unsigned v)
{
	uint16_t u = (uint16_t)v;

	if (p->bits == 8)
		p->pixels->data[i] = (uint8_t)v;
	else
		memcpy(p->pixels->data + 2 * i, &u, sizeof(u));
}

static inline bool has_alpha(unsigned channels)
{
	return channels == 2 || channels == 4;
}

static inline unsigned picture_white(const struct picture *p)
{
	return p->bits == 16 ? 65535 : 255;
}

/* ---- fit_size.c ---- */
bool picture_is_opaque(const struct picture *p);
int fit_size(struct fitting *f);

#endif
