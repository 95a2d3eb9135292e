/* SPDX-License-Identifier: MIT */
/* points.c - where the streams of compressed chunks can be entered, in a bounded
 * file of our own.
 *
 *   file   := record* ; a ring: who is overtaken is forgotten
 *   record := entry[n + 1] { header window }[n]
 *   window := { gap length bytes }*, of the INFLATE_WINDOW bytes before the entry
 *             those that something behind it refers to
 *
 * Entry k lies at the last symbol that begins at or before byte k * every of the
 * stream's output; the last one is the stream's end. To come to the next entry's
 * byte takes as much of the stream as lies between the two, and MORE.
 *
 * P1  A position counts all bytes ever written; the record at `pos` is whole as
 *     long as head - max_bytes <= pos, and that is looked at after it was read.
 * P2  An entry is good for the very bytes it was made from: their sum is kept.
 *
 * The file is read, not mapped: what is mapped would count as our memory, and
 * where the disk is full a store to it would be a SIGBUS. */
#include <libdeflate.h>

#include "points_int.h"

#define WAYS 8		/* slots among which a key may be */
#define STRIPES 64	/* locks of the slots */
#define PER_RECORD 4096 /* of the file, for each slot */
#define MAX_SETS (1u << 18)
#define MORE 16 /* bytes of three symbols, which codes() may look at */
#define JOIN 2	/* gaps as short as this cost more than their bytes */

struct entry {
	uint64_t bit, block; /* in the HDF5 file: inflate_entry */
	uint64_t out;	     /* output before it */
	uint32_t data;	     /* of its header and window, from the record on */
	uint32_t nheader;
	uint32_t nbytes; /* from there that are needed, */
	uint32_t sum;	 /* and theirs */
};

struct slot {
	struct cache_key key;
	uint64_t pos;
	uint32_t size; /* 0: free */
	uint32_t file;
};

struct points {
	int fd;
	uint64_t max_bytes;
	pthread_mutex_t ring;
	uint64_t head;	 /* atomic; grows under ring */
	bool full;	 /* atomic; the disk is */
	uint64_t stored; /* atomic; records ever */
	pthread_mutex_t locks[STRIPES];
	size_t nsets;
	struct slot (*sets)[WAYS]; /* a set's, under locks[set % STRIPES] */
};

/* ---- windows ---- */

static void put_number(struct strbuf *s, size_t n)
{
	for (; n >= 0x80; n >>= 7)
		strbuf_putc(s, (char)(n | 0x80));
	strbuf_putc(s, (char)n);
}

static size_t get_number(const uint8_t **p, const uint8_t *end)
{
	size_t n = 0;

	for (unsigned shift = 0; *p < end && shift < 21; shift += 7) {
		uint8_t b = *(*p)++;

		n |= (size_t)(b & 0x7f) << shift;
		if (b < 0x80)
			break;
	}
	return n;
}

/* The first bit of that value from i on. */
static size_t next_bit(const uint64_t *map, size_t i, bool set)
{
	while (i < INFLATE_WINDOW) {
		uint64_t w = (set ? map[i / 64] : ~map[i / 64]) >> i % 64;

		if (w)
			return i + (size_t)__builtin_ctzll(w);
		i = (i / 64 + 1) * 64;
	}
	return INFLATE_WINDOW;
}

static void put_window(struct strbuf *s, const struct inflate_refs *refs)
{
	size_t i = next_bit(refs->map, 0, true), last = 0;

	while (i < INFLATE_WINDOW) {
		size_t end = next_bit(refs->map, i, false);
		size_t next = next_bit(refs->map, end, true);

		while (next < INFLATE_WINDOW && next - end <= JOIN) {
			end = next_bit(refs->map, next, false);
			next = next_bit(refs->map, end, true);
		}
		put_number(s, i - last);
		put_number(s, end - i);
		strbuf_put(s, refs->start + i - INFLATE_WINDOW, end - i);
		last = end;
		i = next;
	}
}

static int get_window(const uint8_t *p, const uint8_t *end, uint8_t *window)
{
	size_t i = 0;

	while (p < end) {
		size_t n;

		i += get_number(&p, end);
		n = get_number(&p, end);
		if (i + n > INFLATE_WINDOW || n > (size_t)(end - p))
			return -EIO;
		memcpy(window + i, p, n);
		p += n;
		i += n;
	}
	return 0;
}

/* ---- a stream's record ---- */

/* The stream's bytes that entry k needs: to the next one, and MORE of the n. */
static void sum_up(const uint8_t *in, size_t n, struct entry *e)
{
	uint64_t from = e->bit / 8, to = (e[1].bit + 7) / 8 + MORE;

	if (to > n)
		to = n;
	e->nbytes = (uint32_t)(to - from);
	e->sum = libdeflate_crc32(0, in + from, to - from);
}

static void take_entry(const struct inflate *z, const uint8_t *in,
		       const uint8_t *out, struct strbuf *rec, struct entry *e)
{
	struct inflate_entry at = inflate_leave(z);

	*e = (struct entry){ .bit = at.bit,
			     .block = at.block,
			     .out = (uint64_t)(z->at.out - out),
			     .data = (uint32_t)rec->len };
	if (at.block == at.bit)
		return;
	e->nheader = (uint32_t)((z->block_end + 7) / 8 - at.block / 8);
	strbuf_put(rec, in + at.block / 8, e->nheader);
}

/* All entries, bits counted from the beginning of the n bytes. */
static int enter_all(struct inflate *z, const uint8_t *in, size_t n,
		     uint8_t *out, size_t nout, size_t every,
		     struct entry *entries, struct strbuf *rec)
{
	size_t count = points_count(nout, every);
	struct inflate_refs refs = { .start = out };

	inflate_begin(z, in, n, out);
	for (size_t k = 0; k <= count; k++) {
		/* behind the last byte the stream must end, and does if it is
		 * asked for one more */
		int r = k < count ? inflate_before(z, out + k * every, &refs)
				  : inflate_run(z, out + nout + 1, &refs);

		if (r < 0 || (z->at.state == INFLATE_END) != (k == count))
			return -EIO;
		if (k > 0)
			put_window(rec, &refs);
		if (rec->len > UINT32_MAX)
			return -EFBIG;
		take_entry(z, in, out, rec, &entries[k]);
		if (k > 0)
			sum_up(in, n, &entries[k - 1]);
		memset(refs.map, 0, sizeof(refs.map));
		refs.start = z->at.out;
	}
	return z->at.out == out + nout ? 0 : -EIO;
}

static uint32_t big_endian_32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

#define ZLIB_HEADER 2
#define ZLIB_TRAILER 4

/* RFC 1950: deflate, and no preset dictionary. */
static bool is_zlib(const uint8_t *in, size_t n)
{
	return n > ZLIB_HEADER + ZLIB_TRAILER && (in[0] & 0x0f) == 8 &&
	       (in[0] << 8 | in[1]) % 31 == 0 && !(in[1] & 0x20);
}

int points_make(const uint8_t *in, size_t n, uint64_t addr, uint8_t *out,
		size_t nout, size_t every, struct strbuf *rec)
{
	size_t count = points_count(nout, every), head, end;
	CLEANUP(freep) struct entry *entries = NULL;
	struct inflate z;
	int r;

	if (!is_zlib(in, n))
		return -EIO;
	entries = calloc(count + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	head = (count + 1) * sizeof(*entries);
	strbuf_pad(rec, 0, head);
	in += ZLIB_HEADER;
	n -= ZLIB_HEADER;
	r = enter_all(&z, in, n, out, nout, every, entries, rec);
	if (r < 0)
		return r;
	end = (entries[count].bit + 7) / 8;
	if (end + ZLIB_TRAILER > n ||
	    libdeflate_adler32(1, out, nout) != big_endian_32(in + end))
		return -EIO;
	r = strbuf_error(rec);
	if (r < 0)
		return r;
	for (size_t k = 0; k <= count; k++) {
		entries[k].bit += (addr + ZLIB_HEADER) * 8;
		entries[k].block += (addr + ZLIB_HEADER) * 8;
	}
	memcpy(rec->buf, entries, head);
	return 0;
}

/* ---- the ring, and where in it what is ---- */

static struct slot *set_of(struct points *p, struct cache_key key,
			   pthread_mutex_t **ret_lock)
{
	size_t i = hash_mix(key.hi, key.lo) % p->nsets;

	*ret_lock = &p->locks[i % STRIPES];
	return p->sets[i];
}

static bool is_overtaken(struct points *p, uint64_t pos)
{
	uint64_t head = __atomic_load_n(&p->head, __ATOMIC_SEQ_CST);

	return head > p->max_bytes && head - p->max_bytes > pos;
}

static bool is_key(const struct slot *s, struct cache_key key)
{
	return s->size && s->key.hi == key.hi && s->key.lo == key.lo;
}

static bool look_up(struct points *p, struct cache_key key,
		    struct slot *ret_slot)
{
	pthread_mutex_t *lock;
	struct slot *set = set_of(p, key, &lock);
	LOCK_SCOPE(lock);

	for (unsigned i = 0; i < WAYS; i++) {
		if (!is_key(&set[i], key) || is_overtaken(p, set[i].pos))
			continue;
		*ret_slot = set[i];
		return true;
	}
	return false;
}

static void remember(struct points *p, const struct slot *s)
{
	pthread_mutex_t *lock;
	struct slot *set = set_of(p, s->key, &lock), *to = set;
	LOCK_SCOPE(lock);

	for (unsigned i = 0; i < WAYS; i++) {
		if (is_key(&set[i], s->key)) {
			to = &set[i];
			break;
		}
		if (!set[i].size || (to->size && set[i].pos < to->pos))
			to = &set[i];
	}
	*to = *s;
}

/* Room for a record, which lies in one piece. */
static uint64_t reserve(struct points *p, uint64_t size)
{
	LOCK_SCOPE(&p->ring);
	uint64_t pos = p->head, left = p->max_bytes - pos % p->max_bytes;

	if (left < size)
		pos += left;
	__atomic_store_n(&p->head, pos + size, __ATOMIC_SEQ_CST);
	return pos;
}

static int write_at(int fd, const char *buf, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t w = pwrite(fd, buf, n, (off_t)offset);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return w < 0 ? -errno : -EIO;
		buf += w;
		n -= (size_t)w;
		offset += (uint64_t)w;
	}
	return 0;
}

void points_put(struct points *p, struct cache_key key, unsigned file,
		const struct strbuf *rec)
{
	struct slot s = { key, 0, (uint32_t)rec->len, file };

	/* one record is not to push out most of the others */
	if (rec->len > p->max_bytes / 8 || rec->len > UINT32_MAX ||
	    __atomic_load_n(&p->full, __ATOMIC_RELAXED))
		return;
	s.pos = reserve(p, rec->len);
	if (write_at(p->fd, rec->buf, rec->len, s.pos % p->max_bytes) < 0) {
		__atomic_store_n(&p->full, true, __ATOMIC_RELAXED);
		return;
	}
	remember(p, &s);
	__atomic_fetch_add(&p->stored, 1, __ATOMIC_RELAXED);
}

bool points_has(struct points *p, struct cache_key key)
{
	struct slot s;

	return look_up(p, key, &s);
}

/* ---- a part of a stream's output ---- */

void points_part_done(struct points_part *part)
{
	free(part->entries);
	free(part->data);
	part->entries = NULL;
	part->data = NULL;
}

static int read_entries(struct points *p, const struct slot *s, size_t first,
			size_t n, struct points_part *part)
{
	if ((first + n + 1) * sizeof(*part->entries) > s->size)
		return -EIO;
	part->n = n;
	part->entries = malloc((n + 1) * sizeof(*part->entries));
	if (!part->entries)
		return -ENOMEM;
	return io_read_at(
		p->fd, part->entries, (n + 1) * sizeof(*part->entries),
		s->pos % p->max_bytes + first * sizeof(*part->entries));
}

static int read_data(struct points *p, const struct slot *s,
		     struct points_part *part)
{
	const struct entry *e = part->entries, *end = e + part->n;

	for (; e < end; e++)
		if (e->data > e[1].data || e->out > e[1].out ||
		    e->bit > e[1].bit || e->nheader > e[1].data - e->data)
			return -EIO;
	e = part->entries;
	if (end->data > s->size)
		return -EIO;
	part->data = calloc(1, end->data - e->data + INFLATE_PAD);
	if (!part->data)
		return -ENOMEM;
	return io_read_at(p->fd, part->data, end->data - e->data,
			  s->pos % p->max_bytes + e->data);
}

int points_find(struct points *p, struct cache_key key, uint64_t from,
		uint64_t to, size_t every, struct points_part *ret_part)
{
	CLEANUP(points_part_done)
	struct points_part part = { .from = from, .to = to };
	size_t first = from / every, n = (to - 1) / every + 1 - first;
	const struct entry *last;
	struct slot s;
	int r;

	if (!look_up(p, key, &s))
		return -ENOENT;
	r = read_entries(p, &s, first, n, &part);
	if (r == 0)
		r = read_data(p, &s, &part);
	if (is_overtaken(p, s.pos)) /* P1 */
		return -ENOENT;
	if (r < 0)
		return r;
	if (part.entries[0].out > from)
		return -EIO;
	last = &part.entries[n - 1];
	part.file = s.file;
	part.addr = part.entries[0].bit / 8;
	part.size = last->bit / 8 + last->nbytes - part.addr;
	*ret_part = part;
	part.entries = NULL;
	part.data = NULL;
	return 0;
}

/* Each entry's window where it lies in the output. */
static int fill_windows(const struct points_part *part, uint8_t *buf)
{
	const struct entry *e = part->entries;
	int r = 0;

	for (size_t k = 0; r == 0 && k < part->n; k++) {
		if (e[k].out - e->out > part->to - e->out)
			return -EIO;
		r = get_window(part->data + (e[k].data - e->data) +
				       e[k].nheader,
			       part->data + (e[k + 1].data - e->data),
			       buf + (e[k].out - e->out));
	}
	return r;
}

static int check_sums(const struct points_part *part, const uint8_t *bytes)
{
	const struct entry *e = part->entries;

	for (; e < part->entries + part->n; e++) {
		uint64_t at = e->bit / 8 - part->addr;

		if (at > part->size || e->nbytes > part->size - at ||
		    libdeflate_crc32(0, bytes + at, e->nbytes) != e->sum)
			return -EIO;
	}
	return 0;
}

int points_inflate(const struct points_part *part, const struct blob *bytes,
		   struct blob **ret_blob, size_t *ret_skip)
{
	const struct entry *e = part->entries;
	struct inflate_entry at = { e->bit, e->block };
	size_t before = part->from - e->out, n = part->to - part->from;
	size_t pad = -before % 16; /* byte `from` is aligned as elements are */
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	struct inflate z;
	uint8_t *window, *out;
	int r;

	if (bytes->size != part->size)
		return -EIO;
	r = check_sums(part, bytes->data);
	if (r == 0)
		r = blob_new(pad + INFLATE_WINDOW + before + n + INFLATE_SLACK,
			     &b);
	if (r < 0)
		return r;
	window = b->data + pad;
	out = window + INFLATE_WINDOW;
	memset(window, 0, INFLATE_WINDOW);
	r = fill_windows(part, window);
	if (r == 0)
		r = inflate_enter(&z, &at, part->data, e->nheader, bytes->data,
				  bytes->size, window, out);
	if (r == 0)
		r = inflate_run(&z, out + before + n, NULL);
	if (r < 0)
		return r;
	if (z.at.out < out + before + n)
		return -EIO;
	*ret_skip = pad + INFLATE_WINDOW + before;
	*ret_blob = TAKE(b);
	return 0;
}

/* ---- the contract ---- */

int points_new(int fd, uint64_t max_bytes, struct points **ret_points)
{
	CLEANUP(points_freep) struct points *p = calloc(1, sizeof(*p));

	if (!p) {
		close(fd);
		return -ENOMEM;
	}
	p->fd = fd;
	p->max_bytes = max_bytes;
	pthread_mutex_init(&p->ring, NULL);
	for (unsigned i = 0; i < STRIPES; i++)
		pthread_mutex_init(&p->locks[i], NULL);
	p->nsets = max_bytes / PER_RECORD / WAYS + 1;
	if (p->nsets > MAX_SETS)
		p->nsets = MAX_SETS;
	p->sets = calloc(p->nsets, sizeof(*p->sets));
	if (!p->sets)
		return -ENOMEM;
	*ret_points = TAKE(p);
	return 0;
}

void points_free(struct points *p)
{
	if (!p)
		return;
	pthread_mutex_destroy(&p->ring);
	for (unsigned i = 0; i < STRIPES; i++)
		pthread_mutex_destroy(&p->locks[i]);
	close(p->fd);
	free(p->sets);
	free(p);
}

void points_get_stats(struct points *p, struct points_stats *ret_stats)
{
	uint64_t head = __atomic_load_n(&p->head, __ATOMIC_RELAXED);

	*ret_stats = (struct points_stats){
		.bytes = head < p->max_bytes ? head : p->max_bytes,
		.max_bytes = p->max_bytes,
		.chunks = __atomic_load_n(&p->stored, __ATOMIC_RELAXED),
	};
}
