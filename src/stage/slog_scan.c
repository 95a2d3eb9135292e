/* SPDX-License-Identifier: MIT */
/* slog_scan.c - a log read back, record by record. */
#include <stdio.h>

#include "h5fs/image.h"
#include "slog_int.h"

#define MAX_KEPT 1000

void slog_scan_done(struct slog_scan *s)
{
	free(s->buf);
	*s = (struct slog_scan){ 0 };
}

void slog_record_done(struct slog_record *r)
{
	strbuf_done(&r->bytes);
	*r = (struct slog_record){ .bytes = STRBUF_INIT };
}

/* ---- a window over the file ---- */
/* At least one byte of the file at `at`, which is before its end; how many
 * there are is *ret_n, at most n. */
static int window(struct slog_scan *s, uint64_t at, uint64_t n,
		  const uint8_t **ret_bytes, size_t *ret_n)
{
	uint64_t left;

	if (at < s->buf_at || at >= s->buf_at + s->buf_len) {
		size_t want = SLOG_BUF;
		int r;

		if (want > s->size - at)
			want = (size_t)(s->size - at);
		s->buf_len = 0;
		r = stage_io_read(s->log->io, s->log->file->fd, s->buf, want,
				  at);
		if (r < 0)
			return r;
		s->buf_at = at;
		s->buf_len = want;
	}
	left = s->buf_at + s->buf_len - at;
	*ret_bytes = s->buf + (at - s->buf_at);
	*ret_n = (size_t)(n < left ? n : left);
	return 0;
}

/* n bytes that are within the file: to out (or NULL), and to the crc. */
static int scan_bytes(struct slog_scan *s, uint64_t at, uint64_t n,
		      uint8_t *out, uint32_t *crc)
{
	while (n) {
		const uint8_t *p;
		size_t got;
		int r = window(s, at, n, &p, &got);

		if (r < 0)
			return r;
		if (out) {
			memcpy(out, p, got);
			out += got;
		}
		*crc = checksum_crc32(*crc, p, got);
		at += got;
		n -= got;
	}
	return 0;
}

/* ---- opening ---- */
static int check_header(struct slog_scan *s)
{
	uint8_t h[SLOG_HEADER];
	uint32_t crc = 0, kept;
	int r = scan_bytes(s, 0, sizeof(h), h, &crc);

	if (r < 0)
		return r;
	memcpy(&kept, h + 24, sizeof(kept));
	if (memcmp(h, SLOG_MAGIC, sizeof(SLOG_MAGIC) - 2) != 0 &&
	    memcmp(h, SLOG_MAGIC, sizeof("h5fs stage ") - 1) == 0 &&
	    checksum_crc32(0, h, 24) == kept)
		return -EPROTONOSUPPORT;
	if (memcmp(h, SLOG_MAGIC, sizeof(SLOG_MAGIC)) != 0 ||
	    checksum_crc32(0, h, 24) != kept)
		return -EBADMSG;
	memcpy(&s->log->salt, h + 16, sizeof(s->log->salt));
	return 0;
}

static int open_parts(const struct stage_io *io, const char *path,
		      struct slog *l, struct slog_scan *s)
{
	int fd = io->open(path, false), r;

	if (fd < 0)
		return fd;
	r = slog_file_new(io, fd, &l->file);
	if (r < 0) {
		io->close(fd);
		return r;
	}
	l->path = strdup(path);
	l->buf = malloc(SLOG_BUF);
	s->buf = malloc(SLOG_BUF);
	if (!l->path || !l->buf || !s->buf)
		return -ENOMEM;
	return io->size(fd, &s->size);
}

int slog_open(const struct stage_io *io, const char *path, struct slog *ret_log,
	      struct slog_scan *ret_scan)
{
	struct slog l = { .io = io, .end = SLOG_HEADER, .name_dirty = true };
	struct slog_scan s = { .log = &l, .at = SLOG_HEADER };
	int r = open_parts(io, path, &l, &s);

	/* Shorter than its header: it never had a record. */
	if (r == 0 && s.size < SLOG_HEADER) {
		r = io->remove(path);
		if (r == 0)
			r = -ENOENT;
	}
	if (r == 0)
		r = check_header(&s);
	if (r < 0) {
		slog_scan_done(&s);
		slog_done(&l);
		return r;
	}
	*ret_log = l;
	*ret_scan = s;
	ret_scan->log = ret_log;
	return 0;
}

/* ---- records ---- */
/* Could a record with this header be at `at`? */
static bool is_possible(const struct slog_scan *s, uint64_t at,
			const struct slog_record_header *h)
{
	return h->magic == SLOG_RECORD_MAGIC && h->head <= h->size &&
	       h->size <= s->size - at - sizeof(*h) && h->seq >= s->log->seq;
}

/* The record at `at`, -EBADMSG when there is no whole one. */
static int read_record(struct slog_scan *s, uint64_t at,
		       struct slog_record *rec)
{
	struct slog_record_header h;
	uint32_t crc, unused = 0;
	int r;

	if (s->size - at < sizeof(h))
		return -EBADMSG;
	r = scan_bytes(s, at, sizeof(h), (uint8_t *)&h, &unused);
	if (r < 0)
		return r;
	if (!is_possible(s, at, &h))
		return -EBADMSG;
	strbuf_done(&rec->bytes);
	strbuf_pad(&rec->bytes, '\0', h.head);
	r = strbuf_error(&rec->bytes);
	if (r < 0)
		return r;
	crc = slog_crc_begin(s->log->salt, &h);
	at += sizeof(h);
	r = scan_bytes(s, at, h.head, (uint8_t *)rec->bytes.buf, &crc);
	if (r == 0)
		r = scan_bytes(s, at + h.head, h.size - h.head, NULL, &crc);
	if (r < 0)
		return r;
	if (crc != h.crc)
		return -EBADMSG;
	rec->kind = h.kind;
	rec->seq = h.seq;
	rec->head = (const uint8_t *)rec->bytes.buf;
	rec->nhead = h.head;
	rec->payload = at + h.head;
	rec->npayload = h.size - h.head;
	s->at = at + slog_round_up(h.size);
	return 1;
}

int slog_next(struct slog_scan *s, struct slog_record *rec)
{
	int r;

	if (s->at >= s->size)
		return 0;
	r = read_record(s, s->at, rec);
	if (r == 1 && rec->seq != s->log->seq)
		r = -EBADMSG; /* S1 */
	if (r != 1)
		return r;
	s->log->seq++;
	s->log->end = s->at;
	return 1;
}

int slog_salvage(struct slog_scan *s, struct slog_record *rec)
{
	for (s->at = slog_round_up(s->at + 1); s->at < s->size; s->at += 8) {
		int r = read_record(s, s->at, rec);

		if (r == 1)
			s->at -= 8; /* not past the record behind it */
		if (r != -EBADMSG)
			return r;
	}
	return 0;
}

/* ---- damage ---- */
static int copy_rest(struct slog *l, int to)
{
	CLEANUP(freep) uint8_t *buf = malloc(SLOG_BUF);
	uint64_t size, at = l->end;
	int r = l->io->size(l->file->fd, &size);

	if (!buf)
		return -ENOMEM;
	while (r == 0 && at < size) {
		size_t n =
			size - at < SLOG_BUF ? (size_t)(size - at) : SLOG_BUF;

		r = stage_io_read(l->io, l->file->fd, buf, n, at);
		if (r == 0)
			r = stage_io_write(l->io, to, buf, n, at - l->end);
		at += n;
	}
	return r == 0 ? l->io->sync(to) : r;
}

int slog_set_aside(struct slog *l, char **ret_kept)
{
	for (unsigned i = 1; i <= MAX_KEPT; i++) {
		CLEANUP(freep) char *name = NULL;
		int fd, r;

		if (asprintf(&name, "%s.damaged-%u", l->path, i) < 0) {
			name = NULL;
			return -ENOMEM;
		}
		fd = l->io->open(name, true);
		if (fd == -EEXIST)
			continue;
		if (fd < 0)
			return fd;
		r = copy_rest(l, fd);
		l->io->close(fd);
		if (r < 0) {
			(void)l->io->remove(name);
			return r;
		}
		*ret_kept = TAKE(name);
		return 0;
	}
	return -EEXIST;
}
