/* SPDX-License-Identifier: MIT */
/* refusal.c - why something was refused, for people. */
#include <stdio.h>

#include "h5fs/stage.h"

void refusal_done(struct refusal *r)
{
	free(r->reason);
	free(r->remedy);
	*r = (struct refusal){ 0 };
}

int refusal_set(struct refusal *f, int r, const char *remedy, const char *fmt,
		...)
{
	va_list ap;

	if (!f || f->reason || f->remedy)
		return r;
	va_start(ap, fmt);
	if (vasprintf(&f->reason, fmt, ap) < 0)
		f->reason = NULL;
	va_end(ap);
	f->remedy = remedy ? strdup(remedy) : NULL;
	return r;
}
