/* SPDX-License-Identifier: MIT */
/* test_points.c - every part of a stream that was entered in the middle is what
 * decoding all of it gives; what is damaged, or not what it was, ends in an
 * error; the file never grows beyond its bound. */
#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>

#include "check.h"
#include "points_int.h"

#define ADDR 1000u /* of the streams in their file */

static uint32_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* ---- data that brings out what deflate has ---- */

static void make_noise(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)dice(256);
}

static void make_zeros(uint8_t *p, size_t n)
{
	memset(p, 0, n);
}

/* Short runs of few values: matches at all distances below 8. */
static void make_stripes(uint8_t *p, size_t n)
{
	for (size_t i = 0, period = 1; i < n; i++) {
		if (dice(50) == 0)
			period = dice(9) + 1;
		p[i] = i < period ? (uint8_t)dice(256) : p[i - period];
	}
}

/* Pieces of what came up to 40,000 bytes before, and new ones. */
static void make_text(uint8_t *p, size_t n)
{
	size_t i = 0;

	while (i < n) {
		size_t len = dice(60) + 1, back = dice(40000) + 1;

		len = len < n - i ? len : n - i;
		for (; len; len--, i++)
			p[i] = back <= i && back % 3
				       ? p[i - back]
				       : (uint8_t)('a' + dice(6) * dice(5));
	}
}

/* A few of the bytes are most of them: long code words for the rest. */
static void make_skewed(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t v = 0;

		while (v < 255 && dice(8) < 5)
			v++;
		p[i] = (uint8_t)(dice(500) ? v : dice(256));
	}
}

static void make_mixture(uint8_t *p, size_t n)
{
	static void (*const kinds[])(uint8_t * p, size_t n) = {
		make_noise, make_zeros, make_stripes, make_text, make_skewed,
	};

	while (n) {
		size_t k = dice(30000) + 1;

		k = k < n ? k : n;
		kinds[dice(ARRAY_SIZE(kinds))](p, k);
		p += k;
		n -= k;
	}
}

static void (*const makers[])(uint8_t *p, size_t n) = {
	make_noise, make_zeros,	 make_stripes,
	make_text,  make_skewed, make_mixture,
};

/* ---- a stream, and a store of points ---- */

struct stream {
	uint8_t *raw, *bytes; /* and PAD */
	size_t nraw, nbytes;
};

static struct stream compress(const uint8_t *raw, size_t n, int level)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
	struct stream s = { .nraw = n };
	size_t bound = libdeflate_zlib_compress_bound(c, n);

	s.raw = malloc(n);
	memcpy(s.raw, raw, n);
	s.bytes = calloc(1, bound + INFLATE_PAD);
	s.nbytes = libdeflate_zlib_compress(c, raw, n, s.bytes, bound);
	CHECK(s.nbytes > 0);
	memset(s.bytes + s.nbytes, 0, INFLATE_PAD);
	libdeflate_free_compressor(c);
	return s;
}

static struct stream make_stream(void (*make)(uint8_t *p, size_t n), size_t n,
				 int level)
{
	CLEANUP(freep) uint8_t *raw = malloc(n);

	make(raw, n);
	return compress(raw, n, level);
}

static void stream_done(struct stream *s)
{
	free(s->raw);
	free(s->bytes);
}

static struct points *new_points(uint64_t max)
{
	struct points *p = NULL;
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(points_new(fd, max, &p), 0);
	return p;
}

/* Makes the points of s under key, and checks what is decoded meanwhile. */
static int enter(struct points *p, uint64_t key, const struct stream *s,
		 size_t every)
{
	CLEANUP(strbuf_done) struct strbuf rec = STRBUF_INIT;
	CLEANUP(freep) uint8_t *out = malloc(s->nraw + INFLATE_SLACK);
	int r = points_make(s->bytes, s->nbytes, ADDR, out, s->nraw, every,
			    &rec);

	if (r < 0)
		return r;
	CHECK(memcmp(out, s->raw, s->nraw) == 0);
	points_put(p, (struct cache_key){ 1, key }, 3, &rec);
	return 0;
}

/* Decodes [from, to) as part.c does. */
static int read_part(struct points *p, uint64_t key, const struct stream *s,
		     size_t every, size_t from, size_t to, uint8_t *ret_bytes)
{
	CLEANUP(points_part_done) struct points_part part = { 0 };
	CLEANUP(blob_unrefp) struct blob *b = NULL;
	CLEANUP(blob_unrefp) struct blob *bytes = NULL;
	size_t skip, at;
	int r = points_find(p, (struct cache_key){ 1, key }, from, to, every,
			    &part);

	if (r < 0)
		return r;
	CHECK_EQ(part.file, 3);
	at = part.addr - ADDR;
	CHECK(at + part.size <= s->nbytes);
	CHECK_EQ(blob_new(part.size + INFLATE_PAD, &bytes), 0);
	bytes->size = part.size;
	memcpy(bytes->data, s->bytes + at, part.size);
	memset(bytes->data + part.size, 0, INFLATE_PAD);
	r = points_inflate(&part, bytes, &b, &skip);
	if (r == 0)
		memcpy(ret_bytes, b->data + skip, to - from);
	return r;
}

static bool part_is_right(struct points *p, uint64_t key,
			  const struct stream *s, size_t every, size_t from,
			  size_t to)
{
	CLEANUP(freep) uint8_t *got = malloc(to - from);

	return read_part(p, key, s, every, from, to, got) == 0 &&
	       memcmp(got, s->raw + from, to - from) == 0;
}

/* ---- right ---- */

static void each_part_is_what_the_whole_has(void)
{
	static const size_t intervals[] = { 1000, 4096, 16384, 70000 };
	struct points *p = new_points(64 << 20);
	uint64_t key = 0;

	for (size_t m = 0; m < ARRAY_SIZE(makers); m++)
		for (int level = 0; level <= 12; level += 3) {
			struct stream s = make_stream(makers[m], 300000, level);
			size_t every = intervals[key % ARRAY_SIZE(intervals)];
			bool right = enter(p, ++key, &s, every) == 0;

			for (size_t at = 0; right && at < s.nraw; at += every)
				right = part_is_right(p, key, &s, every, at,
						      at + every < s.nraw
							      ? at + every
							      : s.nraw);
			for (int i = 0; right && i < 60; i++) {
				size_t from = dice((uint32_t)s.nraw);
				size_t n = dice(i % 2 ? 300 : 100000) + 1;

				n = n < s.nraw - from ? n : s.nraw - from;
				right = part_is_right(p, key, &s, every, from,
						      from + n);
			}
			if (!right)
				printf("maker %zu level %d\n", m, level);
			CHECK(right);
			stream_done(&s);
		}
	points_free(p);
}

/* Headers are made by hand where no compressor makes them: blocks of nothing,
 * fixed codes, stored blocks one behind the other. */
static void odd_blocks_are_entered(void)
{
	static const uint8_t head[] = { 0x78, 0x01 };
	/* fixed, empty; stored, empty; stored, 5; stored, 4, the last */
	static const uint8_t blocks[] = {
		0x02, 0x00, 0x00, 0x00, 0xff, 0xff, 0x00, 5,	0,
		0xfa, 0xff, 'a',  'b',	'c',  'd',  'e',  0x01, 4,
		0,    0xfb, 0xff, 'f',	'g',  'h',  'i',
	};
	uint8_t bytes[64 + INFLATE_PAD] = { 0 };
	struct stream s = { (uint8_t *)(uintptr_t) "abcdefghi", bytes, 9, 0 };
	struct points *p = new_points(1 << 20);
	uint32_t sum = libdeflate_adler32(1, "abcdefghi", 9);

	memcpy(bytes, head, sizeof(head));
	memcpy(bytes + 2, blocks, sizeof(blocks));
	s.nbytes = 2 + sizeof(blocks) + 4;
	for (int i = 0; i < 4; i++)
		bytes[2 + sizeof(blocks) + i] = (uint8_t)(sum >> (24 - 8 * i));
	CHECK_EQ(enter(p, 1, &s, 2), 0);
	for (size_t from = 0; from < 9; from++)
		for (size_t to = from + 1; to <= 9; to++)
			CHECK(part_is_right(p, 1, &s, 2, from, to));
	points_free(p);
}

/* ---- damaged ---- */

/* Some bits nobody looks at, and some sums are the same by chance. */
static bool is_what_libdeflate_makes(const struct stream *s, const uint8_t *out)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	CLEANUP(freep) uint8_t *whole = malloc(s->nraw);
	bool same = libdeflate_zlib_decompress(d, s->bytes, s->nbytes, whole,
					       s->nraw, NULL) == 0 &&
		    memcmp(out, whole, s->nraw) == 0;

	libdeflate_free_decompressor(d);
	return same;
}

static void damaged_streams_are_not_understood(void)
{
	unsigned refused = 0;

	for (int i = 0; i < 600; i++) {
		CLEANUP(strbuf_done) struct strbuf rec = STRBUF_INIT;
		struct stream s = make_stream(makers[i % 6], 40000, i % 13);
		CLEANUP(freep) uint8_t *out = malloc(s.nraw + INFLATE_SLACK);
		size_t at = dice((uint32_t)s.nbytes);
		int r;

		if (i % 4)
			s.bytes[at] ^= (uint8_t)(1u << dice(8));
		else
			memset(s.bytes + at, 0, s.nbytes - at);
		s.nbytes = i % 4 ? s.nbytes : at;
		r = points_make(s.bytes, s.nbytes, ADDR, out, s.nraw, 4096,
				&rec);
		refused += r == -EIO;
		CHECK(r == -EIO || is_what_libdeflate_makes(&s, out));
		stream_done(&s);
	}
	CHECK(refused > 500);
}

/* No decoder goes astray in what is no stream at all. */
static void noise_is_not_understood(void)
{
	uint8_t bytes[600 + INFLATE_PAD], out[5000 + INFLATE_SLACK];

	for (int i = 0; i < 20000; i++) {
		CLEANUP(strbuf_done) struct strbuf rec = STRBUF_INIT;

		make_noise(bytes, sizeof(bytes));
		bytes[0] = 0x78;
		bytes[1] = 0x01;
		/* often a block that has codes of its own */
		if (i % 2)
			bytes[2] = (uint8_t)(bytes[2] & ~7u) | 4;
		CHECK_EQ(points_make(bytes, 600, ADDR, out, 5000, 1000, &rec),
			 -EIO);
	}
}

static void a_wrong_size_is_refused(void)
{
	CLEANUP(strbuf_done) struct strbuf rec = STRBUF_INIT;
	struct stream s = make_stream(make_text, 50000, 6);
	CLEANUP(freep) uint8_t *out = malloc(60000 + INFLATE_SLACK);

	CHECK_EQ(points_make(s.bytes, s.nbytes, ADDR, out, 49999, 4096, &rec),
		 -EIO);
	CHECK_EQ(points_make(s.bytes, s.nbytes, ADDR, out, 50001, 4096, &rec),
		 -EIO);
	CHECK_EQ(points_make(s.bytes, s.nbytes, ADDR, out, 45000, 4096, &rec),
		 -EIO);
	strbuf_done(&rec);
	CHECK_EQ(points_make(s.bytes, s.nbytes, ADDR, out, 50000, 4096, &rec),
		 0);
	stream_done(&s);
}

/* P2 */
static void bytes_that_are_others_now_are_refused(void)
{
	struct points *p = new_points(16 << 20);
	struct stream s = make_stream(make_text, 200000, 6);
	uint8_t got[8192];

	CHECK_EQ(enter(p, 1, &s, 8192), 0);
	for (size_t from = 0; from + 8192 <= s.nraw; from += 8192) {
		struct points_part part = { 0 };
		size_t at;

		CHECK_EQ(points_find(p, (struct cache_key){ 1, 1 }, from,
				     from + 8192, 8192, &part),
			 0);
		at = part.addr - ADDR + dice((uint32_t)part.size);
		points_part_done(&part);
		s.bytes[at] ^= 0x10;
		CHECK_EQ(read_part(p, 1, &s, 8192, from, from + 8192, got),
			 -EIO);
		s.bytes[at] ^= 0x10;
	}
	CHECK(part_is_right(p, 1, &s, 8192, 0, s.nraw));
	stream_done(&s);
	points_free(p);
}

/* ---- bounded ---- */

#define STREAMS 200

/* P1: what was kept last is there, what was kept first is not, and nothing is
 * ever wrong. */
static void the_file_is_a_ring(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct points *p = NULL;
	struct points_stats st;
	struct stat file;
	unsigned there = 0;
	static struct stream s[STREAMS];

	CHECK_EQ(points_new(fd, 256 << 10, &p), 0);
	for (uint64_t i = 0; i < STREAMS; i++) {
		s[i] = make_stream(make_stripes, 60000 + dice(20000), 6);
		CHECK_EQ(enter(p, i, &s[i], 4096), 0);
		CHECK(part_is_right(p, i, &s[i], 4096, 30000, 50000));
	}
	for (uint64_t i = 0; i < STREAMS; i++) {
		CLEANUP(freep) uint8_t *got = malloc(s[i].nraw);
		int r = read_part(p, i, &s[i], 4096, 1000, 40000, got);

		CHECK(r == 0 || r == -ENOENT);
		CHECK_EQ(points_has(p, (struct cache_key){ 1, i }), r == 0);
		there += r == 0;
		CHECK(r < 0 || memcmp(got, s[i].raw + 1000, 39000) == 0);
		stream_done(&s[i]);
	}
	CHECK(there > 2 && there < STREAMS / 2);
	CHECK(fstat(fd, &file) == 0 && file.st_size <= 256 << 10);
	points_get_stats(p, &st);
	CHECK(st.bytes <= 256 << 10 && st.chunks == STREAMS);
	points_free(p);
}

static void a_record_that_is_too_large_is_not_kept(void)
{
	struct points *p = new_points(16 << 10);
	struct stream s = make_stream(make_text, 300000, 6);

	CHECK_EQ(enter(p, 1, &s, 1000), 0);
	CHECK(!points_has(p, (struct cache_key){ 1, 1 }));
	stream_done(&s);
	points_free(p);
}

/* A disk that is full costs the points, and no more. */
static void a_file_that_can_not_grow_keeps_nothing(void)
{
	struct stream s = make_stream(make_text, 100000, 6);
	struct points *p = NULL;

	CHECK_EQ(points_new(open("/dev/full", O_RDWR | O_CLOEXEC), 1 << 20, &p),
		 0);
	CHECK_EQ(enter(p, 1, &s, 8192), 0);
	CHECK(!points_has(p, (struct cache_key){ 1, 1 }));
	stream_done(&s);
	points_free(p);
}

/* ---- threads ---- */

#define THREADS 4
struct shared {
	struct points *points;
	struct stream s[8];
	unsigned wrong, read; /* atomic */
};

/* Streams are entered over and over in a file that holds few of them. */
static void *use(void *arg)
{
	struct shared *sh = arg;
	uint32_t n = (uint32_t)(uintptr_t)&n; /* another for each */

	for (int i = 0; i < 150; i++) {
		uint64_t k = (n = n * 1664525u + 1013904223u) >> 16 & 7;
		const struct stream *s = &sh->s[k];
		size_t from = (n >> 8) % (s->nraw - 5000);
		uint8_t got[5000];
		int r = read_part(sh->points, k, s, 4096, from, from + 5000,
				  got);

		if (r == -ENOENT)
			(void)enter(sh->points, k, s, 4096);
		else if (r < 0 || memcmp(got, s->raw + from, 5000))
			__atomic_fetch_add(&sh->wrong, 1, __ATOMIC_RELAXED);
		else
			__atomic_fetch_add(&sh->read, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void readers_and_makers_do_not_meet(void)
{
	struct shared sh = { .points = new_points(120 << 10) };
	pthread_t t[THREADS];

	for (int i = 0; i < 8; i++)
		sh.s[i] = make_stream(make_stripes, 60000, 6);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, use, &sh);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(sh.wrong, 0);
	CHECK(sh.read > 20);
	for (int i = 0; i < 8; i++)
		stream_done(&sh.s[i]);
	points_free(sh.points);
}

int main(void)
{
	RUN(each_part_is_what_the_whole_has);
	RUN(odd_blocks_are_entered);
	RUN(damaged_streams_are_not_understood);
	RUN(noise_is_not_understood);
	RUN(a_wrong_size_is_refused);
	RUN(bytes_that_are_others_now_are_refused);
	RUN(the_file_is_a_ring);
	RUN(a_record_that_is_too_large_is_not_kept);
	RUN(a_file_that_can_not_grow_keeps_nothing);
	RUN(readers_and_makers_do_not_meet);
	return CHECK_RESULT();
}
