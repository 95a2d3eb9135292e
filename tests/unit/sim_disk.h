/* SPDX-License-Identifier: MIT */
/* sim_disk.h - a disk of one file, FILE, and one directory, SIDE, in memory. All
 * that is done to it is kept as a trace, from which every state is made that the
 * end of the process, or of the power, could have left. */
#ifndef H5FS_SIM_DISK_H
#define H5FS_SIM_DISK_H

#include "journal_int.h"

#define SIM_FILES 6 /* 0 is FILE; the others are files of SIDE */
#define SIM_NAMES 4
#define SIM_MAX (64u << 10)
#define SIM_OPS 600
#define SIM_FD 1000
#define SIM_SECTOR 512

struct sim_bytes {
	size_t size;
	uint8_t p[SIM_MAX];
};
struct sim_disk {
	struct sim_bytes files[SIM_FILES];
	unsigned nfiles;
	bool side; /* the directory is there, with these names in it */
	char names[SIM_NAMES][24];
	unsigned inode[SIM_NAMES]; /* 0: no such name */
};
enum sim_kind {
	SIM_WRITE,
	SIM_TRUNCATE,
	SIM_SYNC,
	SIM_NAME, /* what becomes of names: all from here on */
	SIM_MKDIR = SIM_NAME,
	SIM_RMDIR,
	SIM_CREATE,
	SIM_RENAME,
	SIM_UNLINK,
	SIM_SYNC_SIDE,
	SIM_SYNC_PARENT,
};
struct sim_op {
	enum sim_kind kind;
	unsigned file;
	uint64_t at; /* WRITE; TRUNCATE: the new size */
	size_t n;
	uint8_t *bytes;
	char from[24], to[24]; /* names */
};

/* What the ops of a run are done to, and their trace. */
extern struct sim_disk sim;
extern struct sim_op sim_ops[SIM_OPS];
extern unsigned sim_nops;
extern const struct io_ops sim_io;
/* The call with this number (from 0) and those after it fail so; -1: none. */
extern int sim_fail_at, sim_fail_times, sim_fail_errno;
extern bool sim_sparse;	   /* files have holes, for which there is no room */
extern unsigned sim_calls; /* that write or sync, until now */

void sim_start(const struct sim_disk *from); /* an empty trace */
/* The state that a kill in op k leaves: all before it is done, of it `part` of 4
 * quarters when it is a write. */
void sim_killed(const struct sim_disk *from, unsigned k, unsigned part,
		struct sim_disk *ret_disk);
/* One that a loss of power before op k leaves; `choice` chooses among the
 * sim_losses(). */
unsigned sim_losses(unsigned k);
void sim_power_lost(const struct sim_disk *from, unsigned k, uint64_t choice,
		    struct sim_disk *ret_disk);
uint32_t sim_dice(uint32_t n);

#endif
