/* SPDX-License-Identifier: MIT */
/* points_int.h - shared by the rooms that enter compressed chunks in the middle:
 * inflate.c, points.c, part.c. */
#ifndef H5FS_POINTS_INT_H
#define H5FS_POINTS_INT_H

#include "h5fs/store.h"

/* ---- inflate.c ---- */
#define INFLATE_WINDOW 32768u
#define INFLATE_PAD 32u	   /* readable behind the input */
#define INFLATE_SLACK 320u /* writable behind the last byte asked for */

/* Which bytes before an entry were referred to: bit i of the map is the byte at
 * start - INFLATE_WINDOW + i. */
struct inflate_refs {
	const uint8_t *start;
	uint64_t map[INFLATE_WINDOW / 64];
};

enum inflate_state {
	INFLATE_HEADER, /* of a block comes next */
	INFLATE_STORED,
	INFLATE_CODES,
	INFLATE_END,
};
/* A decoder between two symbols. Bits are counted from the stream's first. */
struct inflate {
	struct inflate_where {
		const uint8_t *in; /* the next byte to load */
		uint8_t *out;
		uint64_t bits; /* loaded and not used; above nbits: anything */
		unsigned nbits;
		uint32_t left; /* STORED */
		enum inflate_state state;
	} at;
	const uint8_t *start, *end; /* of the input; start is bit `origin` */
	const uint8_t *base;	    /* the oldest byte that may be copied */
	uint64_t origin;
	uint64_t block, block_end; /* the current block's header */
	bool final;		   /* the current block is the last */
	uint32_t litlen[2342];	   /* ENOUGH of zlib's examples: 288 11 15 */
	uint32_t dist[402];	   /* 32 8 15 */
};
/* n bytes of a stream from its beginning, to out. */
void inflate_begin(struct inflate *z, const uint8_t *in, size_t n,
		   uint8_t *out);
/* Until out >= stop (not by more than INFLATE_SLACK) or the END. */
int inflate_run(struct inflate *z, const uint8_t *stop,
		struct inflate_refs *refs);
/* Until the last place between two symbols that is not behind mark, or END. */
int inflate_before(struct inflate *z, const uint8_t *mark,
		   struct inflate_refs *refs);
/* Where to go on: at `bit`, in a block whose header lies at `block`; where they
 * differ the header's bytes from that bit's on are asked for at entry. */
struct inflate_entry {
	uint64_t bit, block;
};
struct inflate_entry inflate_leave(const struct inflate *z);
/* in: n bytes, the first of which holds bit e->bit. Behind header, too, lie
 * INFLATE_PAD bytes. What is before base is not referred to. */
int inflate_enter(struct inflate *z, const struct inflate_entry *e,
		  const uint8_t *header, size_t nheader, const uint8_t *in,
		  size_t n, const uint8_t *base, uint8_t *out);

/* ---- points.c ---- */
static inline size_t points_count(size_t total, size_t every)
{
	return total / every + (total % every != 0);
}
/* Decodes a whole zlib stream, n bytes at addr in its file, and makes the record
 * of where it can be entered: each `every` bytes of the output. Behind in lie
 * INFLATE_PAD bytes, behind out's nout INFLATE_SLACK. -EIO: not understood; is
 * it damaged? That is libdeflate's to say. */
int points_make(const uint8_t *in, size_t n, uint64_t addr, uint8_t *out,
		size_t nout, size_t every, struct strbuf *rec);
/* Keeps it, if there is room. file: in which of the store's. */
void points_put(struct points *p, struct cache_key key, unsigned file,
		const struct strbuf *rec);
bool points_has(struct points *p, struct cache_key key);

struct points_part { /* of a stream's output */
	uint64_t from, to;
	unsigned file; /* in which size bytes at addr are needed */
	uint64_t addr, size;
	struct entry *entries;
	size_t n;
	uint8_t *data;
};
/* -ENOENT: the stream is not known, or not any more. */
int points_find(struct points *p, struct cache_key key, uint64_t from,
		uint64_t to, size_t every, struct points_part *ret_part);
void points_part_done(struct points_part *part);
/* bytes: those that are needed, behind which lie INFLATE_PAD. *ret_skip: where in
 * the blob byte `from` is. -EIO: they are not those that they were. */
int points_inflate(const struct points_part *part, const struct blob *bytes,
		   struct blob **ret_blob, size_t *ret_skip);

#endif
