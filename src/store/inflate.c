/* SPDX-License-Identifier: MIT */
/* inflate.c - deflate (RFC 1951) that can be left and entered between any two
 * symbols, and that tells which bytes before an entry are referred to.
 *
 * Whole streams are libdeflate's, which has the last word on what is damaged.
 * No library stops elsewhere than between blocks, and none tells what was
 * referred to: so this one is our own. What it is given is hostile.
 *
 * I1  Between two checks no more than INFLATE_PAD bytes behind the input are
 *     read and INFLATE_SLACK behind the byte that was asked for are written.
 * I2  Nothing before `base` is read. */
#include "points_int.h"

#define LITLEN_BITS 11 /* that index the first table */
#define DIST_BITS 8
#define PRECODE_BITS 7
#define MAX_BITS 15 /* of a code word */
#define MAX_SYMBOLS 288
#define MAX_OUT 260 /* bytes that one round of codes() makes at most */

/* An entry of a decode table:
 *   bits 0-7    bits to take: the code word's, and the extra ones behind it
 *   bits 8-12   the code word's alone; of a subtable how many bits index it
 *   bit 13      no code word
 *   bit 14      end of block
 *   bit 15      one of these two, or a subtable: its first entry is the value
 *   bits 16-30  the value: a literal, or the base of a length or distance
 *   bit 31      a literal */
#define NONE (UINT32_C(1) << 13)
#define END (UINT32_C(1) << 14)
#define SPECIAL (UINT32_C(1) << 15)
#define LITERAL (UINT32_C(1) << 31)

static inline unsigned takes(uint32_t e)
{
	return e & 0xff;
}
static inline unsigned word_bits(uint32_t e)
{
	return e >> 8 & 0x1f;
}
static inline unsigned value(uint32_t e)
{
	return e >> 16 & 0x7fff;
}
static inline unsigned low_bits(uint64_t bits, unsigned n)
{
	return (unsigned)(bits & ((UINT64_C(1) << n) - 1));
}

struct range {
	uint16_t base;
	uint8_t extra;
};
static const struct range lengths[] = {
	{ 3, 0 },   { 4, 0 },	{ 5, 0 },   { 6, 0 },	{ 7, 0 },   { 8, 0 },
	{ 9, 0 },   { 10, 0 },	{ 11, 1 },  { 13, 1 },	{ 15, 1 },  { 17, 1 },
	{ 19, 2 },  { 23, 2 },	{ 27, 2 },  { 31, 2 },	{ 35, 3 },  { 43, 3 },
	{ 51, 3 },  { 59, 3 },	{ 67, 4 },  { 83, 4 },	{ 99, 4 },  { 115, 4 },
	{ 131, 5 }, { 163, 5 }, { 195, 5 }, { 227, 5 }, { 258, 0 },
};
static const struct range distances[] = {
	{ 1, 0 },     { 2, 0 },	    { 3, 0 },	   { 4, 0 },	  { 5, 1 },
	{ 7, 1 },     { 9, 2 },	    { 13, 2 },	   { 17, 3 },	  { 25, 3 },
	{ 33, 4 },    { 49, 4 },    { 65, 5 },	   { 97, 5 },	  { 129, 6 },
	{ 193, 6 },   { 257, 7 },   { 385, 7 },	   { 513, 8 },	  { 769, 8 },
	{ 1025, 9 },  { 1537, 9 },  { 2049, 10 },  { 3073, 10 },  { 4097, 11 },
	{ 6145, 11 }, { 8193, 12 }, { 12289, 12 }, { 16385, 13 }, { 24577, 13 },
};

static uint32_t litlen_entry(unsigned symbol)
{
	if (symbol < 256)
		return LITERAL | (uint32_t)symbol << 16;
	if (symbol == 256)
		return SPECIAL | END;
	symbol -= 257;
	if (symbol >= ARRAY_SIZE(lengths))
		return SPECIAL | NONE;
	return (uint32_t)lengths[symbol].base << 16 | lengths[symbol].extra;
}

static uint32_t dist_entry(unsigned symbol)
{
	if (symbol >= ARRAY_SIZE(distances))
		return SPECIAL | NONE;
	return (uint32_t)distances[symbol].base << 16 | distances[symbol].extra;
}

static uint32_t precode_entry(unsigned symbol)
{
	return (uint32_t)symbol << 16;
}

/* ---- code lengths to a decode table ---- */

struct code {
	uint16_t count[MAX_BITS + 1]; /* of the words of each length */
	uint16_t sorted[MAX_SYMBOLS]; /* symbols, in the order of their words */
	unsigned words;
};

/* -EIO: more words than there can be; or fewer, but for a single one. */
static int code_init(struct code *c, const uint8_t *lens, unsigned n)
{
	uint16_t at[MAX_BITS + 2] = { 0 };
	unsigned used = 0;

	memset(c->count, 0, sizeof(c->count));
	for (unsigned i = 0; i < n; i++)
		c->count[lens[i]]++;
	c->words = n - c->count[0];
	c->count[0] = 0;
	for (unsigned l = 1; l <= MAX_BITS; l++) {
		at[l + 1] = (uint16_t)(at[l] + c->count[l]);
		used += (unsigned)c->count[l] << (MAX_BITS - l);
	}
	if (used > 1u << MAX_BITS ||
	    (used < 1u << MAX_BITS && c->words != c->count[1]))
		return -EIO;
	for (unsigned i = 0; i < n; i++)
		if (lens[i])
			c->sorted[at[lens[i]]++] = (uint16_t)i;
	return 0;
}

static unsigned reverse(unsigned word, unsigned n)
{
	word = (word & 0x5555) << 1 | (word >> 1 & 0x5555);
	word = (word & 0x3333) << 2 | (word >> 2 & 0x3333);
	word = (word & 0x0f0f) << 4 | (word >> 4 & 0x0f0f);
	word = (word & 0x00ff) << 8 | (word >> 8 & 0x00ff);
	return word >> (16 - n);
}

/* How many bits tell the words apart that begin alike, of which the first has l
 * bits and `left` have as many. */
static unsigned subtable_bits(const struct code *c, unsigned l, unsigned left,
			      unsigned main)
{
	unsigned bits = l - main, room = 1u << bits;

	while (l < MAX_BITS && room > left) {
		room = (room - left) << 1;
		bits++;
		left = c->count[++l];
	}
	return bits;
}

struct table {
	uint32_t *entries;
	size_t size;
	unsigned main;	   /* bits that index the first table */
	size_t next;	   /* where another subtable may begin */
	uint32_t *sub;	   /* the current one, */
	unsigned sub_bits; /* how many bits index it, */
	unsigned prefix;   /* and what its words begin with */
};

/* Everywhere where a word of l bits comes next. */
static void put(uint32_t *entries, unsigned bits, unsigned word, unsigned l,
		uint32_t e)
{
	for (unsigned i = word; i < 1u << bits; i += 1u << l)
		entries[i] = e + l * 0x101;
}

static int put_long(struct table *t, const struct code *c, unsigned word,
		    unsigned l, unsigned left, uint32_t e)
{
	unsigned prefix = low_bits(word, t->main);

	if (!t->sub || prefix != t->prefix) {
		unsigned bits = subtable_bits(c, l, left, t->main);

		if (t->next + (1u << bits) > t->size)
			return -EIO;
		t->entries[prefix] =
			SPECIAL | (uint32_t)t->next << 16 | bits << 8 | t->main;
		t->sub = t->entries + t->next;
		t->sub_bits = bits;
		t->prefix = prefix;
		t->next += 1u << bits;
	}
	put(t->sub, t->sub_bits, word >> t->main, l - t->main, e);
	return 0;
}

static int table_build(uint32_t *entries, size_t size, unsigned main,
		       const uint8_t *lens, unsigned n,
		       uint32_t (*entry_of)(unsigned symbol))
{
	struct table t = { entries, size, main, (size_t)1 << main, NULL, 0, 0 };
	const uint16_t *symbol;
	struct code c;
	unsigned word = 0;
	int r = code_init(&c, lens, n);

	if (r < 0)
		return r;
	symbol = c.sorted;
	if (c.words < 2) /* they do not fill the table */
		for (size_t i = 0; i < t.next; i++)
			entries[i] = SPECIAL | NONE;
	for (unsigned l = 1; l <= MAX_BITS; l++, word <<= 1)
		for (unsigned left = c.count[l]; left; left--, word++) {
			uint32_t e = entry_of(*symbol++);
			unsigned w = reverse(word, l);

			if (l <= main)
				put(entries, main, w, l, e);
			else if (put_long(&t, &c, w, l, left, e) < 0)
				return -EIO;
		}
	return 0;
}

/* ---- bits, the lowest first ---- */

/* At least 56. Reads 8 bytes, goes on by 7 at most. */
#define REFILL(in, bits, nbits)                                                \
	do {                                                                   \
		uint64_t w_;                                                   \
                                                                               \
		memcpy(&w_, in, 8);                                            \
		bits |= w_ << nbits;                                           \
		in += (63 - nbits) >> 3;                                       \
		nbits |= 56;                                                   \
	} while (0)
#define DROP(bits, nbits, n)                                                   \
	do {                                                                   \
		unsigned n_ = (n);                                             \
                                                                               \
		bits >>= n_;                                                   \
		nbits -= n_;                                                   \
	} while (0)

/* At most 32 bits; zeros once the input is over. */
static unsigned peek(struct inflate_where *at, const uint8_t *end, unsigned n)
{
	if (at->nbits < n && at->in <= end + 8)
		REFILL(at->in, at->bits, at->nbits);
	return at->nbits < n ? 0 : low_bits(at->bits, n);
}

static void drop(struct inflate_where *at, unsigned n)
{
	if (at->nbits < n)
		n = at->nbits;
	DROP(at->bits, at->nbits, n);
}

static unsigned take(struct inflate *z, unsigned n)
{
	unsigned v = peek(&z->at, z->end, n);

	drop(&z->at, n);
	return v;
}

static bool is_past_end(const struct inflate *z)
{
	return (z->at.in - z->end) * 8 > (ptrdiff_t)z->at.nbits;
}

static uint64_t position(const struct inflate *z)
{
	return z->origin + (uint64_t)(z->at.in - z->start) * 8 - z->at.nbits;
}

/* Bit `bit` of the stream comes next; in holds it. */
static void go_to(struct inflate *z, const uint8_t *in, size_t n, uint64_t bit)
{
	z->start = z->at.in = in;
	z->end = in + n;
	z->origin = bit / 8 * 8;
	z->at.bits = 0;
	z->at.nbits = 0;
	(void)take(z, bit % 8);
}

/* ---- block headers ---- */

/* What the symbols 16, 17 and 18 repeat, and how often. */
static int read_repeat(struct inflate *z, unsigned symbol, uint8_t *lens,
		       unsigned at, unsigned n)
{
	static const struct range times[] = { { 3, 2 }, { 3, 3 }, { 11, 7 } };
	const struct range *t = &times[symbol - 16];
	unsigned count = t->base + take(z, t->extra);

	if (count > n - at || (symbol == 16 && at == 0))
		return -EIO;
	memset(lens + at, symbol == 16 ? lens[at - 1] : 0, count);
	return (int)count;
}

static int read_lengths(struct inflate *z, const uint32_t *table, uint8_t *lens,
			unsigned n)
{
	unsigned i = 0;

	while (i < n) {
		uint32_t e = table[peek(&z->at, z->end, PRECODE_BITS)];
		int count = 1;

		if (e & SPECIAL)
			return -EIO;
		drop(&z->at, takes(e));
		if (value(e) < 16)
			lens[i] = (uint8_t)value(e);
		else
			count = read_repeat(z, value(e), lens, i, n);
		if (count < 0 || is_past_end(z))
			return -EIO;
		i += (unsigned)count;
	}
	return 0;
}

static int build_codes(struct inflate *z, const uint8_t *lens, unsigned nlit,
		       unsigned ndist)
{
	int r;

	if (lens[256] == 0) /* a block that can not end */
		return -EIO;
	r = table_build(z->litlen, ARRAY_SIZE(z->litlen), LITLEN_BITS, lens,
			nlit, litlen_entry);
	return r < 0 ? r
		     : table_build(z->dist, ARRAY_SIZE(z->dist), DIST_BITS,
				   lens + nlit, ndist, dist_entry);
}

static int begin_dynamic(struct inflate *z)
{
	static const uint8_t order[] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
					 11, 4,	 12, 3, 13, 2, 14, 1, 15 };
	uint8_t pre[ARRAY_SIZE(order)] = { 0 }, lens[MAX_SYMBOLS + 32];
	uint32_t table[1 << PRECODE_BITS];
	unsigned nlit = take(z, 5) + 257;
	unsigned ndist = take(z, 5) + 1;
	unsigned npre = take(z, 4) + 4;
	int r;

	for (unsigned i = 0; i < npre; i++)
		pre[order[i]] = (uint8_t)take(z, 3);
	r = table_build(table, ARRAY_SIZE(table), PRECODE_BITS, pre,
			ARRAY_SIZE(pre), precode_entry);
	if (r == 0)
		r = read_lengths(z, table, lens, nlit + ndist);
	if (r == 0)
		r = build_codes(z, lens, nlit, ndist);
	z->at.state = INFLATE_CODES;
	return r;
}

static int begin_fixed(struct inflate *z)
{
	uint8_t lens[MAX_SYMBOLS + 32];

	memset(lens, 8, 144);
	memset(lens + 144, 9, 112);
	memset(lens + 256, 7, 24);
	memset(lens + 280, 8, 8);
	memset(lens + MAX_SYMBOLS, 5, 32);
	z->at.state = INFLATE_CODES;
	return build_codes(z, lens, MAX_SYMBOLS, 32);
}

static int begin_stored(struct inflate *z)
{
	unsigned len, complement;

	(void)take(z, z->at.nbits % 8);
	len = take(z, 16);
	complement = take(z, 16);
	if ((len ^ complement) != 0xffff || is_past_end(z))
		return -EIO;
	z->at.in -= z->at.nbits / 8; /* bytes from here on */
	z->at.bits = 0;
	z->at.nbits = 0;
	z->at.left = len;
	z->at.state = INFLATE_STORED;
	return 0;
}

static int read_header(struct inflate *z)
{
	static int (*const begin[])(struct inflate * z) = {
		begin_stored,
		begin_fixed,
		begin_dynamic,
	};
	unsigned type;
	int r;

	z->block = position(z);
	z->final = take(z, 1);
	type = take(z, 2);
	if (type >= ARRAY_SIZE(begin))
		return -EIO;
	r = begin[type](z);
	z->block_end = position(z);
	return r < 0 || is_past_end(z) ? -EIO : 0;
}

/* ---- blocks ---- */

static void end_block(struct inflate *z)
{
	z->at.state = z->final ? INFLATE_END : INFLATE_HEADER;
}

static int stored(struct inflate *z, const uint8_t *stop)
{
	struct inflate_where *at = &z->at;
	size_t n = (size_t)(stop - at->out);

	n = n < at->left ? n : at->left;
	if (n > (size_t)(z->end - at->in))
		return -EIO;
	memcpy(at->out, at->in, n);
	at->out += n;
	at->in += n;
	at->left -= (uint32_t)n;
	if (at->left == 0)
		end_block(z);
	return 0;
}

/* Bytes of a match that lie before the entry. */
static inline void note(struct inflate_refs *refs, const uint8_t *from,
			size_t n)
{
	size_t before, i;

	if (from >= refs->start)
		return;
	before = (size_t)(refs->start - from);
	n = n < before ? n : before;
	i = INFLATE_WINDOW - before;
	while (n) {
		size_t k = 64 - i % 64;

		k = k < n ? k : n;
		refs->map[i / 64] |= ~UINT64_C(0) >> (64 - k) << i % 64;
		i += k;
		n -= k;
	}
}

static inline void copy_8(uint8_t *out, const uint8_t *from)
{
	uint64_t w;

	memcpy(&w, from, 8);
	memcpy(out, &w, 8);
}

/* May write 15 bytes more. */
static inline void copy_match(uint8_t *out, size_t distance, size_t n)
{
	const uint8_t *from = out - distance, *end = out + n;

	/* what has been repeated is repeated with it */
	for (; distance < 8 && out < end; distance *= 2) {
		copy_8(out, from);
		out += distance;
	}
	while (out < end) {
		copy_8(out, from);
		copy_8(out + 8, from + 8);
		out += 16;
		from += 16;
	}
}

/* Symbols until out >= stop or the block ends; `one`: no more than one between
 * two looks at stop. */
static inline __attribute__((always_inline)) int
codes(struct inflate *z, const uint8_t *stop, struct inflate_refs *refs,
      bool one)
{
	const uint8_t *in = z->at.in, *limit = z->end + 8;
	uint8_t *out = z->at.out;
	uint64_t bits = z->at.bits;
	unsigned nbits = z->at.nbits;
	int r = 0;

	while (out < stop) {
		unsigned length, distance;
		uint32_t e;

		if (in > limit) {
			r = -EIO;
			break;
		}
		REFILL(in, bits, nbits);
		e = z->litlen[low_bits(bits, LITLEN_BITS)];
		if (e & LITERAL) {
			DROP(bits, nbits, takes(e));
			*out++ = (uint8_t)value(e);
			if (one)
				continue;
			e = z->litlen[low_bits(bits, LITLEN_BITS)];
			if (e & LITERAL) {
				DROP(bits, nbits, takes(e));
				*out++ = (uint8_t)value(e);
				e = z->litlen[low_bits(bits, LITLEN_BITS)];
			}
			if (e & LITERAL) {
				DROP(bits, nbits, takes(e));
				*out++ = (uint8_t)value(e);
				continue;
			}
		}
		if (e & SPECIAL && !(e & (END | NONE))) {
			DROP(bits, nbits, LITLEN_BITS);
			e = z->litlen[value(e) + low_bits(bits, word_bits(e))];
			if (e & LITERAL) {
				DROP(bits, nbits, takes(e));
				*out++ = (uint8_t)value(e);
				continue;
			}
		}
		if (e & SPECIAL) {
			DROP(bits, nbits, takes(e));
			if (e & END)
				end_block(z);
			else
				r = -EIO;
			break;
		}
		length = value(e) + (low_bits(bits, takes(e)) >> word_bits(e));
		DROP(bits, nbits, takes(e));
		REFILL(in, bits, nbits);
		e = z->dist[low_bits(bits, DIST_BITS)];
		if (e & SPECIAL && !(e & NONE)) {
			DROP(bits, nbits, DIST_BITS);
			e = z->dist[value(e) + low_bits(bits, word_bits(e))];
		}
		distance =
			value(e) + (low_bits(bits, takes(e)) >> word_bits(e));
		DROP(bits, nbits, takes(e));
		if (e & SPECIAL || distance > (size_t)(out - z->base)) {
			r = -EIO;
			break;
		}
		if (refs)
			note(refs, out - distance, length);
		copy_match(out, distance, length);
		out += length;
	}
	z->at.in = in;
	z->at.out = out;
	z->at.bits = bits;
	z->at.nbits = nbits;
	return r < 0 || is_past_end(z) ? -EIO : 0;
}

/* The loops of their own that the compiler is to make of it. */
static int codes_plain(struct inflate *z, const uint8_t *stop)
{
	return codes(z, stop, NULL, false);
}

static int codes_noted(struct inflate *z, const uint8_t *stop,
		       struct inflate_refs *refs)
{
	return codes(z, stop, refs, false);
}

static int one_code(struct inflate *z, struct inflate_refs *refs)
{
	return codes(z, z->at.out + 1, refs, true);
}

/* ---- the contract ---- */

void inflate_begin(struct inflate *z, const uint8_t *in, size_t n, uint8_t *out)
{
	z->at = (struct inflate_where){ .out = out, .state = INFLATE_HEADER };
	z->base = out;
	go_to(z, in, n, 0);
}

int inflate_run(struct inflate *z, const uint8_t *stop,
		struct inflate_refs *refs)
{
	int r = 0;

	while (r == 0 && z->at.out < stop && z->at.state != INFLATE_END)
		r = z->at.state == INFLATE_HEADER   ? read_header(z)
		    : z->at.state == INFLATE_STORED ? stored(z, stop)
		    : refs			    ? codes_noted(z, stop, refs)
						    : codes_plain(z, stop);
	return r;
}

int inflate_before(struct inflate *z, const uint8_t *mark,
		   struct inflate_refs *refs)
{
	int r = 0;

	if (mark - z->at.out > MAX_OUT)
		r = inflate_run(z, mark - MAX_OUT, refs);
	while (r == 0 && z->at.out < mark && z->at.state != INFLATE_END) {
		struct inflate_where before = z->at;

		r = z->at.state == INFLATE_HEADER   ? read_header(z)
		    : z->at.state == INFLATE_STORED ? stored(z, mark)
						    : one_code(z, refs);
		if (z->at.out > mark) {
			z->at = before;
			break;
		}
	}
	return r;
}

struct inflate_entry inflate_leave(const struct inflate *z)
{
	uint64_t bit = position(z);

	return (struct inflate_entry){ bit, z->at.state == INFLATE_HEADER
						    ? bit
						    : z->block };
}

/* In a stored block: what was left of it at the entry. */
static int skip_stored(struct inflate *z, uint64_t bit)
{
	uint64_t skipped = bit - z->block_end;

	if (bit < z->block_end || skipped % 8 || skipped / 8 > z->at.left)
		return -EIO;
	z->at.left -= (uint32_t)(skipped / 8);
	return 0;
}

int inflate_enter(struct inflate *z, const struct inflate_entry *e,
		  const uint8_t *header, size_t nheader, const uint8_t *in,
		  size_t n, const uint8_t *base, uint8_t *out)
{
	int r = 0;

	z->at = (struct inflate_where){ .out = out, .state = INFLATE_HEADER };
	z->base = base;
	if (e->block != e->bit) {
		go_to(z, header, nheader, e->block);
		r = read_header(z);
	}
	if (r == 0 && z->at.state == INFLATE_STORED)
		r = skip_stored(z, e->bit);
	if (r == 0)
		go_to(z, in, n, e->bit);
	return r;
}
