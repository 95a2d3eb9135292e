/* SPDX-License-Identifier: MIT */
/* crash_disk.h - the system calls of the stage's log over real files, which fail,
 * tear, and forget what was not synced. */
#ifndef H5FS_CRASH_DISK_H
#define H5FS_CRASH_DISK_H

#include "slog_int.h"

extern const struct stage_io crash_disk;
/* What is on the disk now is there for good; nothing fails. */
void crash_reset(void);
/* Calls since then. */
long crash_calls(void);
/* The k-th call from now on (0: the next), and all after it, are not done. A
 * write that is not done may be so in part (tear: its first half, 2: all). */
void crash_at(long k, int tear);
/* Only that call fails. */
void crash_fail(long k, int error);
void crash_off(void);
bool crash_happened(void);
/* The power goes: of what was not synced, anything may be there. What the files
 * hold afterwards depends on the seed. */
void crash_power_cut(unsigned seed);

#endif
