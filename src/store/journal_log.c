/* SPDX-License-Identifier: MIT */
/* journal_log.c - the parts of a log, and the one way in which it is applied.
 * The format and its invariants (J1..) are at the head of journal.c. */
#include <stdio.h>
#include <time.h>

#include "journal_int.h"

static const char magic[8] = { 'h', '5', 'f', 's', 'j', 'r', 'n', '1' };

_Static_assert(sizeof(struct log_slot) == 56, "as it is on disk");
_Static_assert(sizeof(struct log_record) == 24, "as it is on disk");

static uint32_t slot_crc(const struct log_slot *s)
{
	return journal_crc(0, s, offsetof(struct log_slot, crc));
}

int log_read_slot(int log, struct log_slot *ret_slot)
{
	struct log_slot best = { .seq = 0 };

	for (uint64_t i = 0; i < 2; i++) {
		struct log_slot s;
		ssize_t n = disk_read(log, &s, sizeof(s), i * LOG_SLOT_STEP);

		if (n < 0)
			return (int)n;
		if ((size_t)n == sizeof(s) &&
		    !memcmp(s.magic, magic, sizeof(magic)) &&
		    s.crc == slot_crc(&s) && s.seq > best.seq)
			best = s;
	}
	if (best.seq == 0)
		return -ENODATA;
	*ret_slot = best;
	return 0;
}

int log_write_slot(int log, struct log_slot *slot)
{
	memcpy(slot->magic, magic, sizeof(magic));
	slot->crc = slot_crc(slot);
	return disk_write(log, slot, sizeof(*slot),
			  slot->seq % 2 * LOG_SLOT_STEP);
}

int log_next_slot(const struct journal_file *f, const struct log_slot *slot,
		  uint64_t tag, uint64_t end, struct log_slot *ret_slot)
{
	uint8_t head[JOURNAL_HEAD];
	struct timespec now;
	struct stat st;
	int r;

	if (f->head_len > sizeof(head))
		return -EINVAL;
	r = disk_read_zeros(f->fd, head, f->head_len, f->head);
	if (r < 0)
		return r;
	if (journal_io->fstat(f->fd, &st) < 0)
		return -errno;
	clock_gettime(CLOCK_REALTIME, &now);
	*ret_slot = (struct log_slot){
		.seq = slot->seq + 1,
		.salt = hash_mix(hash_mix(slot->salt, (uint64_t)now.tv_sec),
				 (uint64_t)now.tv_nsec ^ (uint64_t)getpid()
								 << 32),
		.tag = tag,
		.end = end,
		.ino = st.st_ino,
		.head = journal_crc(0, head, f->head_len),
	};
	return 0;
}

uint32_t log_first_crc(const struct log_slot *slot)
{
	return journal_crc(0, &slot->salt, sizeof(slot->salt));
}

uint32_t log_record_crc(uint32_t crc, const struct log_record *r,
			const void *bytes)
{
	crc = journal_crc(crc, r, offsetof(struct log_record, crc));
	return journal_crc(crc, bytes, r->len);
}

int log_empty(int log, struct log_slot *slot)
{
	int r = log_write_slot(log, slot);

	return r == 0 && journal_io->fdatasync(log) < 0 ? -errno : r;
}

static int put_byte(const struct journal_file *f, uint8_t byte)
{
	int r = disk_write(f->fd, &byte, 1, f->mark);

	return r == 0 && journal_io->fdatasync(f->fd) < 0 ? -errno : r;
}

static int apply_extent(const struct journal_file *f, int log,
			const struct extent *e, uint8_t *buf)
{
	for (uint64_t done = 0; done < e->len;) {
		uint64_t left = e->len - done, addr = e->addr + done;
		size_t k = left < LOG_MAX_BYTES ? (size_t)left : LOG_MAX_BYTES;
		ssize_t n = disk_read(log, buf, k, e->at + done);
		int r = n < 0 ? (int)n : (size_t)n < k ? -EIO : 0;

		if (r < 0)
			return r;
		if (f->mark >= addr && f->mark < addr + k)
			buf[f->mark - addr] = JOURNAL_MARK; /* J5 */
		r = disk_write(f->fd, buf, k, addr);
		if (r < 0)
			return r;
		done += k;
	}
	return 0;
}

int log_apply(const struct journal_file *f, int log, const struct extents *e,
	      const struct log_commit *c, uint8_t *buf)
{
	const struct extent *x;
	uint64_t size;
	int r = put_byte(f, JOURNAL_MARK); /* J5, line by line */

	for (x = extents_find(e, 0); r == 0 && x;
	     x = extents_find(e, x->addr + x->len))
		r = apply_extent(f, log, x, buf);
	if (r == 0)
		r = disk_size(f->fd, &size);
	if (r == 0 && size != c->end &&
	    journal_io->ftruncate(f->fd, (off_t)c->end) < 0)
		r = -errno;
	if (r == 0 && journal_io->fdatasync(f->fd) < 0)
		r = -errno;
	return r < 0 ? r : put_byte(f, c->byte);
}
