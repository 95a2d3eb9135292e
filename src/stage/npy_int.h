/* SPDX-License-Identifier: MIT */
/* npy_int.h - shared by npy*.c. */
#ifndef H5FS_NPY_INT_H
#define H5FS_NPY_INT_H

#include "accept_int.h"

/* ---- npy_scan.c: each skips white space first ---- */
struct scanner {
	const char *p, *end;
	bool latin1;
	unsigned depth;
	struct refusal *f;
};
/* -EINVAL, with the refusal. */
int scan_bad(struct scanner *s, const char *why);
char scan_peek(struct scanner *s); /* 0 at the end */
bool scan_take(struct scanner *s, char c);
bool scan_word(struct scanner *s, const char *word);
/* Text in UTF-8; no NUL inside. */
int scan_string(struct scanner *s, char **ret_text);
/* (2, 3), or one number where that may stand for (n,). */
int scan_shape(struct scanner *s, bool number, unsigned *ret_rank,
	       uint64_t *ret_dims);
/* False: no Unicode character. */
bool put_code_point(struct strbuf *out, uint32_t code);

/* ---- npy_type.c ---- */
int npy_take_descr(struct scanner *s, struct dtype **ret_type);

#endif
