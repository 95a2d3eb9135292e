/* SPDX-License-Identifier: MIT */
/* slog_int.h - the stage's log, and the system calls under it. */
#ifndef H5FS_SLOG_INT_H
#define H5FS_SLOG_INT_H

#include "h5fs/base.h"

/* ---- disk.c: every system call that the log takes, so that tests can fail,
 * tear and drop any of them. Negative errno. ---- */
struct stage_io {
	int (*open)(const char *path, bool make); /* make: must not be there */
	void (*close)(int fd);
	int (*size)(int fd, uint64_t *ret_size);
	ssize_t (*read)(int fd, void *buf, size_t n, uint64_t at);
	ssize_t (*write)(int fd, const void *buf, size_t n, uint64_t at);
	int (*truncate)(int fd, uint64_t size);
	int (*reserve)(int fd, uint64_t at, uint64_t n); /* room, not size */
	int (*sync)(int fd);
	int (*rename)(const char *from, const char *to);
	int (*remove)(const char *path);
	int (*sync_dir)(const char *path); /* the directory that path is in */
};
extern const struct stage_io stage_disk;
/* All of it, or an error. */
int stage_io_write(const struct stage_io *io, int fd, const void *buf, size_t n,
		   uint64_t at);
int stage_io_read(const struct stage_io *io, int fd, void *buf, size_t n,
		  uint64_t at);

/* ---- log.c, slog_read.c ---- */
/* An open log; counted, so that it can be read without a lock while another
 * one takes its name. */
struct slog_file {
	const struct stage_io *io;
	int fd;
	int refs; /* atomic */
};
int slog_file_new(const struct stage_io *io, int fd, struct slog_file **ret);
struct slog_file *slog_file_ref(struct slog_file *f);
void slog_file_unref(struct slog_file *f);
DEFINE_CLEANUP(struct slog_file *, slog_file_unref)

#define SLOG_BUF (256 << 10)
#define SLOG_HEADER 32
#define SLOG_MAGIC "h5fs stage 1\n"

struct slog {
	const struct stage_io *io;
	char *path;
	struct slog_file *file; /* NULL: there is none on disk */
	uint64_t salt;
	uint64_t seq;	 /* of the next record, */
	uint64_t end;	 /* where it goes */
	bool name_dirty; /* its directory was not synced since it was made */
	bool unsure;	 /* a sync failed: what the disk holds is not known */
	uint8_t *buf;	 /* SLOG_BUF bytes: what is being appended */
};
void slog_done(struct slog *l); /* closes; the file stays */

struct slog_record_header {
	uint32_t magic, kind;
	uint64_t seq;
	uint64_t size; /* of head and payload */
	uint32_t head;
	uint32_t crc; /* of the salt, the fields above, head and payload */
};
_Static_assert(sizeof(struct slog_record_header) == 32, "written as it is");
#define SLOG_RECORD_MAGIC 0x52533548u /* "H5SR" */
/* Of the salt and of a header's fields: where a record's crc begins. */
uint32_t slog_crc_begin(uint64_t salt, const struct slog_record_header *h);
/* Records start at multiples of 8. */
static inline uint64_t slog_round_up(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

/* The bytes of a payload, from memory or from another log. */
struct slog_part {
	const void *bytes;
	uint64_t size;
	struct slog_file *from; /* when bytes is NULL */
	uint64_t at;
};
/* An empty log, with nothing there before. */
int slog_create(const struct stage_io *io, const char *path, struct slog *ret);
/* One record: head, then the parts, which lie one after the other from
 * *ret_payload on. On an error the log is as it was (S4). */
int slog_append(struct slog *l, uint32_t kind, const struct strbuf *head,
		const struct slog_part *parts, size_t nparts,
		uint64_t *ret_payload);
/* Takes back what was appended since the log ended at `end`, with seq the next
 * number. */
void slog_cut_back(struct slog *l, uint64_t end, uint64_t seq);
/* Bytes of a payload, checked against the crc they had. -EIO. */
int slog_read(struct slog_file *f, void *buf, size_t n, uint64_t at,
	      uint32_t crc);
/* The same without keeping them. */
int slog_verify(struct slog_file *f, uint64_t n, uint64_t at, uint32_t crc);

/* ---- slog_scan.c: a log read back ---- */
struct slog_scan {
	struct slog *log;
	uint64_t size, at; /* of the file; of the next record */
	uint8_t *buf;
	uint64_t buf_at;
	size_t buf_len;
};
struct slog_record {
	uint32_t kind;
	uint64_t seq;
	const uint8_t *head; /* good until the next one is read */
	size_t nhead;
	uint64_t payload, npayload;
	struct strbuf bytes; /* holds head */
};
void slog_record_done(struct slog_record *r);
/* Opens a log and stands before its first record. -ENOENT: there is none;
 * -EBADMSG: it has no header of a log; -EPROTONOSUPPORT: of another version. */
int slog_open(const struct stage_io *io, const char *path, struct slog *ret_log,
	      struct slog_scan *ret_scan);
void slog_scan_done(struct slog_scan *s);
/* 1: *rec is the next record, 0: the end, -EBADMSG: no whole record is here. */
int slog_next(struct slog_scan *s, struct slog_record *rec);
/* After damage: the next whole record wherever it is, as slog_next(). */
int slog_salvage(struct slog_scan *s, struct slog_record *rec);
/* Keeps all from the end of the last good record on in a file beside the log,
 * whose name is *ret_kept. */
int slog_set_aside(struct slog *l, char **ret_kept);

#endif
