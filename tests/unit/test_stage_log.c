/* SPDX-License-Identifier: MIT */
/* test_stage_log.c - the stage's log: records count whole or not at all. The
 * numbers are those of slog.c's invariants. */
#include <fcntl.h>
#include <stdio.h>

#include "check.h"
#include "crash_disk.h"
#include "h5fs/image.h"

static char dir[] = "/tmp/h5fs-slog-XXXXXX";
static char path[sizeof(dir) + 16];

static int add(struct slog *l, uint32_t kind, const char *head,
	       const char *payload, uint64_t *ret_payload)
{
	struct strbuf h = STRBUF_INIT;
	struct slog_part part = { .bytes = payload, .size = strlen(payload) };
	uint64_t at;
	int r;

	strbuf_puts(&h, head);
	r = slog_append(l, kind, &h, &part, 1, &at);
	if (r == 0 && ret_payload)
		*ret_payload = at;
	strbuf_done(&h);
	return r;
}

/* A log of three records. */
static void make(void)
{
	struct slog l;

	unlink(path);
	crash_reset();
	CHECK_EQ(slog_create(&crash_disk, path, &l), 0);
	CHECK_EQ(add(&l, 1, "first", "one", NULL), 0);
	CHECK_EQ(add(&l, 2, "second", "", NULL), 0);
	CHECK_EQ(add(&l, 3, "third, the longest", "some bytes of it", NULL), 0);
	slog_done(&l);
}

/* Reads all that counts: kinds as text, "123", with a "!" for damage and then the
 * kinds of what is whole behind it. */
static const char *kinds(void)
{
	static char out[32];
	struct slog_record rec = { .bytes = STRBUF_INIT };
	struct slog_scan scan;
	struct slog l;
	size_t n = 0;
	int r = slog_open(&stage_disk, path, &l, &scan);

	if (r < 0) {
		snprintf(out, sizeof(out), "%d", r);
		return out;
	}
	while ((r = slog_next(&scan, &rec)) == 1)
		out[n++] = (char)('0' + rec.kind);
	if (r == -EBADMSG) {
		out[n++] = '!';
		while ((r = slog_salvage(&scan, &rec)) == 1)
			out[n++] = (char)('0' + rec.kind);
	}
	out[n] = '\0';
	CHECK_EQ(r, 0);
	slog_record_done(&rec);
	slog_scan_done(&scan);
	slog_done(&l);
	return out;
}

static struct blob *bytes_of_log(void)
{
	struct blob *b = NULL;

	CHECK_EQ(io_read_file(path, 1 << 20, &b), 0);
	return b;
}

static void put_log(const uint8_t *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK_EQ(io_write_all(fd, bytes, n), 0);
	close(fd);
}

static void what_was_appended_is_read_back(void)
{
	struct slog_record rec = { .bytes = STRBUF_INIT };
	struct slog_scan scan;
	struct slog l;
	char payload[3];

	make();
	CHECK_EQ(slog_open(&stage_disk, path, &l, &scan), 0);
	CHECK_EQ(slog_next(&scan, &rec), 1);
	CHECK_EQ(rec.kind, 1);
	CHECK_EQ(rec.nhead, 5);
	CHECK(memcmp(rec.head, "first", 5) == 0);
	CHECK_EQ(rec.npayload, 3);
	CHECK_EQ(slog_read(l.file, payload, 3, rec.payload,
			   checksum_crc32(0, "one", 3)),
		 0);
	CHECK(memcmp(payload, "one", 3) == 0);
	CHECK_EQ(slog_read(l.file, payload, 3, rec.payload, 1), -EIO);
	CHECK_EQ(slog_verify(l.file, 3, rec.payload,
			     checksum_crc32(0, "one", 3)),
		 0);
	CHECK_EQ(slog_verify(l.file, 3, rec.payload, 1), -EIO);
	slog_record_done(&rec);
	slog_scan_done(&scan);
	slog_done(&l);
	CHECK_STR(kinds(), "123");
}

static void appending_goes_on_where_it_ended(void)
{
	struct slog_record rec = { .bytes = STRBUF_INIT };
	struct slog_scan scan;
	struct slog l;

	make();
	CHECK_EQ(slog_open(&stage_disk, path, &l, &scan), 0);
	while (slog_next(&scan, &rec) == 1)
		;
	CHECK_EQ(add(&l, 4, "", "", NULL), 0);
	slog_record_done(&rec);
	slog_scan_done(&scan);
	slog_done(&l);
	CHECK_STR(kinds(), "1234");
}

/* S1, S2 */
static void a_torn_tail_counts_at_no_length(void)
{
	CLEANUP(blob_unrefp) struct blob *all = NULL, *two = NULL;
	struct slog l;

	unlink(path);
	CHECK_EQ(slog_create(&stage_disk, path, &l), 0);
	CHECK_EQ(add(&l, 1, "first", "one", NULL), 0);
	CHECK_EQ(add(&l, 2, "second", "two", NULL), 0);
	two = bytes_of_log();
	CHECK_EQ(add(&l, 3, "third", "three", NULL), 0);
	all = bytes_of_log();
	slog_done(&l);
	for (size_t n = two->size; n < all->size; n++) {
		bool pad = n >= two->size + 32 + 10;

		put_log(all->data, n);
		CHECK_STR(kinds(), n == two->size ? "12" : pad ? "123" : "12!");
	}
}

/* S1 */
static void a_flipped_bit_counts_nowhere(void)
{
	CLEANUP(blob_unrefp) struct blob *all = NULL;
	size_t third;

	make();
	all = bytes_of_log();
	third = all->size - 72; /* header 32, 18 + 16 bytes, padding */
	for (size_t i = 0; i < (all->size - 6) * 8; i++) {
		size_t at = i / 8;

		all->data[at] ^= (uint8_t)(1 << i % 8);
		put_log(all->data, all->size);
		if (at < 16)
			CHECK(strcmp(kinds(), "-74") == 0 ||
			      strcmp(kinds(), "-93") == 0);
		else if (at < 28)
			CHECK_STR(kinds(), "-74");
		else if (at >= third)
			CHECK_STR(kinds(), "12!");
		all->data[at] ^= (uint8_t)(1 << i % 8);
	}
}

/* S3 */
static void what_is_whole_behind_damage_is_found(void)
{
	CLEANUP(blob_unrefp) struct blob *all = NULL;

	make();
	all = bytes_of_log();
	all->data[SLOG_HEADER + 33] ^= 1; /* of the first record's head */
	put_log(all->data, all->size);
	CHECK_STR(kinds(), "!23");
	all->data[SLOG_HEADER + 33] ^= 1;
	all->data[SLOG_HEADER + 40 + 16 + 3] ^= 0x40; /* the second's size */
	put_log(all->data, all->size);
	CHECK_STR(kinds(), "1!3");
}

/* S3 */
static void damage_is_set_aside_whole(void)
{
	CLEANUP(blob_unrefp) struct blob *all = NULL, *kept = NULL;
	CLEANUP(freep) char *name = NULL;
	struct slog_record rec = { .bytes = STRBUF_INIT };
	struct slog_scan scan;
	struct slog l;
	uint64_t end;

	make();
	all = bytes_of_log();
	all->data[SLOG_HEADER + 40 + 33] ^= 1;
	put_log(all->data, all->size);
	CHECK_EQ(slog_open(&stage_disk, path, &l, &scan), 0);
	CHECK_EQ(slog_next(&scan, &rec), 1);
	CHECK_EQ(slog_next(&scan, &rec), -EBADMSG);
	end = l.end;
	CHECK_EQ(slog_set_aside(&l, &name), 0);
	CHECK_EQ(io_read_file(name, 1 << 20, &kept), 0);
	CHECK_EQ(kept->size, all->size - end);
	CHECK(memcmp(kept->data, all->data + end, kept->size) == 0);
	unlink(name);
	slog_record_done(&rec);
	slog_scan_done(&scan);
	slog_done(&l);
}

/* S1: the number of a record follows that of the one before it. */
static void a_record_counts_only_in_its_place(void)
{
	CLEANUP(blob_unrefp) struct blob *all = NULL;

	make();
	all = bytes_of_log();
	/* The second instead of the first, then both changed. */
	memmove(all->data + SLOG_HEADER, all->data + SLOG_HEADER + 40, 40);
	put_log(all->data, SLOG_HEADER + 40);
	CHECK_STR(kinds(), "!");
}

/* S1: another log's records do not count in this one. */
static void a_record_counts_only_in_its_log(void)
{
	CLEANUP(blob_unrefp) struct blob *one = NULL, *two = NULL;

	make();
	one = bytes_of_log();
	make();
	two = bytes_of_log();
	CHECK(memcmp(one->data, two->data, SLOG_HEADER) != 0);
	memcpy(one->data, two->data, SLOG_HEADER);
	put_log(one->data, one->size);
	CHECK_STR(kinds(), "!");
}

/* S4 */
static void an_append_that_fails_leaves_the_log_as_it_was(void)
{
	CLEANUP(freep) char *large = malloc(SLOG_BUF * 2 + 1);
	CLEANUP(blob_unrefp) struct blob *before = NULL;

	memset(large, 'x', SLOG_BUF * 2);
	large[SLOG_BUF * 2] = '\0';
	make();
	before = bytes_of_log();
	for (long k = 0; k < 10; k++) {
		CLEANUP(blob_unrefp) struct blob *after = NULL;
		struct slog_record rec = { .bytes = STRBUF_INIT };
		struct slog_scan scan;
		struct slog l;
		int r;

		put_log(before->data, before->size);
		crash_reset();
		CHECK_EQ(slog_open(&crash_disk, path, &l, &scan), 0);
		while (slog_next(&scan, &rec) == 1)
			;
		crash_fail(k, ENOSPC);
		r = add(&l, 4, "head", large, NULL);
		crash_off();
		after = bytes_of_log();
		if (r < 0) {
			CHECK_EQ(r, -ENOSPC);
			CHECK_EQ(after->size, before->size);
			CHECK_EQ(add(&l, 5, "", "", NULL), 0);
			CHECK_STR(kinds(), "1235");
		} else {
			CHECK(k > 1);
			CHECK_STR(kinds(), "1234");
		}
		slog_record_done(&rec);
		slog_scan_done(&scan);
		slog_done(&l);
	}
}

static void parts_come_from_another_log_too(void)
{
	CLEANUP(freep) char *large = malloc(SLOG_BUF * 2 + 1);
	CLEANUP(freep) char *found = malloc(SLOG_BUF * 2 + 1);
	char other[sizeof(path) + 8];
	struct slog from, to;
	struct strbuf head = STRBUF_INIT;
	struct slog_part part = { 0 };
	uint64_t at;

	memset(large, 'y', SLOG_BUF * 2);
	large[SLOG_BUF * 2] = '\0';
	unlink(path);
	snprintf(other, sizeof(other), "%s.2", path);
	CHECK_EQ(slog_create(&stage_disk, other, &from), 0);
	CHECK_EQ(slog_create(&stage_disk, path, &to), 0);
	CHECK_EQ(add(&from, 1, "", large, &part.at), 0);
	part.from = from.file;
	part.size = SLOG_BUF * 2;
	strbuf_puts(&head, "moved");
	CHECK_EQ(slog_append(&to, 2, &head, &part, 1, &at), 0);
	CHECK_EQ(slog_read(to.file, found, SLOG_BUF * 2, at,
			   checksum_crc32(0, large, SLOG_BUF * 2)),
		 0);
	CHECK_STR(kinds(), "2");
	strbuf_done(&head);
	slog_done(&from);
	slog_done(&to);
	unlink(other);
}

static void headers_that_are_none(void)
{
	CLEANUP(blob_unrefp) struct blob *all = NULL;
	uint32_t crc;

	make();
	all = bytes_of_log();
	unlink(path);
	CHECK_STR(kinds(), "-2");
	put_log(all->data, SLOG_HEADER - 1);
	CHECK_STR(kinds(), "-2"); /* no record was ever in it */
	CHECK_EQ(access(path, F_OK), -1);
	put_log((const uint8_t *)"something else than a log of a stage", 36);
	CHECK_STR(kinds(), "-74");
	all->data[11] = '2';
	crc = checksum_crc32(0, all->data, 24);
	memcpy(all->data + 24, &crc, sizeof(crc));
	put_log(all->data, all->size);
	CHECK_STR(kinds(), "-93");
}

/* Nothing that a log may hold is read beyond its end. */
static void noise_is_no_record(void)
{
	CLEANUP(blob_unrefp) struct blob *all = NULL;
	unsigned dice = 1;

	make();
	all = bytes_of_log();
	for (int round = 0; round < 300; round++) {
		CLEANUP(freep) uint8_t *b = malloc(all->size);

		memcpy(b, all->data, all->size);
		for (size_t i = SLOG_HEADER; i < all->size; i++) {
			dice = dice * 1103515245 + 12345;
			if (dice >> 16 & 1)
				b[i] = (uint8_t)(dice >> 24);
		}
		memcpy(b + SLOG_HEADER, "H5SR", 4);
		put_log(b, all->size);
		CHECK(kinds()[0] == '!');
	}
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/stage", dir);
	RUN(what_was_appended_is_read_back);
	RUN(appending_goes_on_where_it_ended);
	RUN(a_torn_tail_counts_at_no_length);
	RUN(a_flipped_bit_counts_nowhere);
	RUN(what_is_whole_behind_damage_is_found);
	RUN(damage_is_set_aside_whole);
	RUN(a_record_counts_only_in_its_place);
	RUN(a_record_counts_only_in_its_log);
	RUN(an_append_that_fails_leaves_the_log_as_it_was);
	RUN(parts_come_from_another_log_too);
	RUN(headers_that_are_none);
	RUN(noise_is_no_record);
	crash_reset();
	unlink(path);
	rmdir(dir);
	return CHECK_RESULT();
}
