/* SPDX-License-Identifier: MIT */
/* slog.c - the stage's log: one file of records that only grows, until nothing
 * in it counts any more. Knows nothing of what records say.
 *
 *   log    := header record*
 *   header := "h5fs stage 1\n" NUL.. (16 bytes), salt (8), crc of both (4), 0 (4)
 *   record := { magic, kind, seq, size, head, crc }, head, payload, to 8 bytes
 *
 * A head says what happened (record.c), a payload is the values' bytes, which
 * stay here until they are committed: only where they lie is kept in memory.
 *
 * S1  A record counts only if its crc holds over the log's salt, its header and
 *     all its bytes, and its number follows the one before it.
 * S2  What is behind the last record that counts is cut when the log is opened,
 *     and told; nothing of it is guessed.
 * S3  If whole records stand behind damage, all from the damage on is kept in
 *     another file, and told. Of those records only what says that rows were
 *     committed still counts: no row is committed twice.
 * S4  An append that fails leaves the log as it was.
 * S5  Rows are gone from the stage if, and only if, a SEAL names them and a DONE
 *     of its tag follows, or FILE's writer knows its tag as the last one. The
 *     SEAL is synced before the writer commits, the DONE before another SEAL is
 *     written and before the log is removed. (commit.c)
 * S6  While it is not known whether FILE has a commit, its rows are neither
 *     committed again, nor changed, nor dropped. (commit.c)
 * S7  A shorter log takes the name only when it is whole and synced. (compact.c)
 * S8  A log is removed only when nothing in it counts. (stage.c)
 * S9  Where a log lies in another directory, FILE's side directory says so
 *     before the first record is written, and until the log is removed. (place.c)
 */
#include <sys/random.h>

#include "h5fs/image.h"
#include "slog_int.h"

int slog_file_new(const struct stage_io *io, int fd, struct slog_file **ret)
{
	struct slog_file *f = malloc(sizeof(*f));

	if (!f)
		return -ENOMEM;
	*f = (struct slog_file){ .io = io, .fd = fd, .refs = 1 };
	*ret = f;
	return 0;
}

struct slog_file *slog_file_ref(struct slog_file *f)
{
	if (f)
		__atomic_add_fetch(&f->refs, 1, __ATOMIC_RELAXED);
	return f;
}

void slog_file_unref(struct slog_file *f)
{
	if (!f || __atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	f->io->close(f->fd);
	free(f);
}

void slog_done(struct slog *l)
{
	slog_file_unref(l->file);
	free(l->path);
	free(l->buf);
	*l = (struct slog){ 0 };
}

uint32_t slog_crc_begin(uint64_t salt, const struct slog_record_header *h)
{
	uint32_t crc = checksum_crc32(0, &salt, sizeof(salt));

	return checksum_crc32(crc, h, offsetof(struct slog_record_header, crc));
}

static int write_header(struct slog *l)
{
	uint8_t h[SLOG_HEADER] = SLOG_MAGIC;
	uint32_t crc;

	if (getrandom(&l->salt, sizeof(l->salt), 0) != sizeof(l->salt))
		return -EIO;
	memcpy(h + 16, &l->salt, sizeof(l->salt));
	crc = checksum_crc32(0, h, 24);
	memcpy(h + 24, &crc, sizeof(crc));
	return stage_io_write(l->io, l->file->fd, h, sizeof(h), 0);
}

int slog_create(const struct stage_io *io, const char *path, struct slog *ret)
{
	struct slog l = { .io = io, .end = SLOG_HEADER, .name_dirty = true };
	int fd = io->open(path, true), r;

	if (fd < 0)
		return fd;
	r = slog_file_new(io, fd, &l.file);
	if (r < 0) {
		io->close(fd);
		(void)io->remove(path);
		return r;
	}
	l.path = strdup(path);
	l.buf = malloc(SLOG_BUF);
	r = l.path && l.buf ? write_header(&l) : -ENOMEM;
	if (r < 0) {
		slog_done(&l);
		(void)io->remove(path);
		return r;
	}
	*ret = l;
	return 0;
}

/* ---- appending: small pieces are collected, large ones go straight ---- */
struct sink {
	struct slog *l;
	uint64_t at;
	size_t fill;
};

static int sink_flush(struct sink *s)
{
	int r = stage_io_write(s->l->io, s->l->file->fd, s->l->buf, s->fill,
			       s->at);

	if (r < 0)
		return r;
	s->at += s->fill;
	s->fill = 0;
	return 0;
}

static int sink_put(struct sink *s, const void *bytes, size_t n)
{
	int r;

	if (!n)
		return 0;
	if (n > SLOG_BUF - s->fill) {
		r = sink_flush(s);
		if (r < 0)
			return r;
	}
	if (n > SLOG_BUF) {
		r = stage_io_write(s->l->io, s->l->file->fd, bytes, n, s->at);
		if (r == 0)
			s->at += n;
		return r;
	}
	memcpy(s->l->buf + s->fill, bytes, n);
	s->fill += n;
	return 0;
}

static size_t piece(uint64_t n)
{
	return n < SLOG_BUF ? (size_t)n : SLOG_BUF;
}

/* The bytes of part in pieces, each to the crc or (crc NULL) to the sink. */
static int part_each(const struct slog_part *p, uint32_t *crc,
		     struct sink *sink)
{
	CLEANUP(freep) uint8_t *copy = NULL;
	uint64_t done = 0;

	if (!p->bytes && p->size) {
		copy = malloc(piece(p->size));
		if (!copy)
			return -ENOMEM;
	}
	while (done < p->size) {
		size_t n = p->bytes ? p->size : piece(p->size - done);
		const void *bytes = p->bytes ? p->bytes : copy;
		int r = 0;

		if (copy)
			r = stage_io_read(p->from->io, p->from->fd, copy, n,
					  p->at + done);
		if (r == 0 && crc)
			*crc = checksum_crc32(*crc, bytes, n);
		else if (r == 0)
			r = sink_put(sink, bytes, n);
		if (r < 0)
			return r;
		done += n;
	}
	return 0;
}

static int write_record(struct slog *l, const struct slog_record_header *h,
			const void *head, const struct slog_part *parts,
			size_t nparts)
{
	static const uint8_t zeros[8];
	struct sink s = { .l = l, .at = l->end };
	int r = sink_put(&s, h, sizeof(*h));

	if (r == 0)
		r = sink_put(&s, head, h->head);
	for (size_t i = 0; r == 0 && i < nparts; i++)
		r = part_each(&parts[i], NULL, &s);
	if (r == 0)
		r = sink_put(&s, zeros, slog_round_up(h->size) - h->size);
	if (r == 0)
		r = sink_flush(&s);
	return r;
}

int slog_append(struct slog *l, uint32_t kind, const struct strbuf *head,
		const struct slog_part *parts, size_t nparts,
		uint64_t *ret_payload)
{
	struct slog_record_header h = {
		.magic = SLOG_RECORD_MAGIC,
		.kind = kind,
		.seq = l->seq,
		.size = head->len,
		.head = (uint32_t)head->len,
	};
	int r = strbuf_error(head);

	if (r < 0)
		return r;
	if (head->len > UINT32_MAX)
		return -EFBIG;
	for (size_t i = 0; i < nparts; i++)
		if (add_overflow(h.size, parts[i].size, &h.size) ||
		    h.size > INT64_MAX / 2)
			return -EFBIG;
	h.crc = slog_crc_begin(l->salt, &h);
	if (head->len)
		h.crc = checksum_crc32(h.crc, head->buf, head->len);
	for (size_t i = 0; i < nparts; i++) {
		r = part_each(&parts[i], &h.crc, NULL);
		if (r < 0)
			return r;
	}
	r = write_record(l, &h, head->buf, parts, nparts);
	if (r < 0) {
		slog_cut_back(l, l->end, l->seq); /* S4 */
		return r;
	}
	*ret_payload = l->end + sizeof(h) + h.head;
	l->end += sizeof(h) + slog_round_up(h.size);
	l->seq++;
	return 0;
}

/* Where even that fails, the next append begins at the same place, and what is
 * left behind it does not count (S1). */
void slog_cut_back(struct slog *l, uint64_t end, uint64_t seq)
{
	(void)l->io->truncate(l->file->fd, end);
	l->end = end;
	l->seq = seq;
}

/* ---- payloads ---- */
int slog_read(struct slog_file *f, void *buf, size_t n, uint64_t at,
	      uint32_t crc)
{
	int r = stage_io_read(f->io, f->fd, buf, n, at);

	if (r < 0)
		return r;
	return checksum_crc32(0, buf, n) == crc ? 0 : -EIO;
}

int slog_verify(struct slog_file *f, uint64_t n, uint64_t at, uint32_t crc)
{
	const struct slog_part all = { .size = n, .from = f, .at = at };
	uint32_t found = 0;
	int r = part_each(&all, &found, NULL);

	if (r < 0)
		return r;
	return found == crc ? 0 : -EIO;
}
