/* SPDX-License-Identifier: MIT */
/* sandbox.c - what the process that reads FILE can still do: read what serving
 * it takes, and nothing else; where the mount may write, also write in FILE's
 * directory, because the journal beside FILE is made only when something is
 * copied in, and a rule for a directory that is not there cannot be made.
 * Landlock and no-new-privileges; see landlock(7).
 *
 * The kernel's interface is spelt out here, because headers are often older
 * than the kernel; a kernel that knows less is asked for less. */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "h5fs/cmd.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1
#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_REMOVE_DIR (UINT64_C(1) << 4)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_DIR (UINT64_C(1) << 7)
#define FS_MAKE_REG (UINT64_C(1) << 8)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define FS_OF_FILES (FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE)
#define FS_READ (FS_READ_FILE | FS_READ_DIR)
#define FS_TEMPORARY (FS_OF_FILES | FS_MAKE_REG | FS_REMOVE_FILE)
#define FS_WRITE (FS_READ | FS_TEMPORARY | FS_MAKE_DIR | FS_REMOVE_DIR)

struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4 */
	uint64_t scoped;	     /* ABI 6 */
};
struct ruleset {
	int fd;
	uint64_t handled; /* what it forbids unless it is allowed */
};
struct path_beneath {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

/* What an ABI can forbid: fs rights are the lowest so many bits. */
static const struct abi {
	int version;
	unsigned fs_bits, net_bits, scope_bits;
	size_t attr_size;
} abis[] = {
	/* newest first */
	{ 6, 16, 2, 2, 24 }, { 5, 16, 2, 0, 16 }, /* ioctl on devices */
	{ 4, 15, 2, 0, 16 },			  /* TCP */
	{ 3, 15, 0, 0, 8 },			  /* truncate */
	{ 2, 14, 0, 0, 8 }, /* link and rename across directories */
	{ 1, 13, 0, 0, 8 },
};

static uint64_t low_bits(unsigned n)
{
	return (UINT64_C(1) << n) - 1;
}

static struct ruleset ruleset_new(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			       CREATE_RULESET_VERSION);
	const struct abi *abi = abis;
	struct ruleset rules = { .fd = -1 };
	struct ruleset_attr attr;

	if (version < 1)
		return rules;
	while (abi->version > version)
		abi++;
	attr.handled_access_fs = low_bits(abi->fs_bits);
	attr.handled_access_net = low_bits(abi->net_bits);
	attr.scoped = low_bits(abi->scope_bits);
	rules.handled = attr.handled_access_fs;
	rules.fd = (int)syscall(SYS_landlock_create_ruleset, &attr,
				abi->attr_size, 0);
	return rules;
}

/* A path that is not there needs no rule. */
static void allow(const struct ruleset *rules, const char *path,
		  uint64_t access)
{
	CLEANUP(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct path_beneath rule = { access & rules->handled, fd };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_OF_FILES;
	if (syscall(SYS_landlock_add_rule, rules->fd, RULE_PATH_BENEATH, &rule,
		    0) < 0)
		log_debug("sandbox: %s: %s", path, strerror(errno));
}

static void allow_directory_of(const struct ruleset *rules, const char *file,
			       uint64_t access)
{
	CLEANUP(freep) char *real = realpath(file, NULL);

	if (real)
		allow(rules, dirname(real), access);
}

/* labels=PATH:FILE:LABELS; that FILE is absolute or beside ours. */
static void allow_label_files(const struct ruleset *rules, const char *file,
			      const struct ns_rules *labels)
{
	CLEANUP(freep) char *real = realpath(file, NULL);
	const char *dir = real ? dirname(real) : ".";

	for (size_t i = 0; i < labels->count; i++) {
		const char *value = labels->rules[i].value;
		const char *colon = strchr(value, ':');
		CLEANUP(freep) char *path = NULL;

		if (!colon)
			continue;
		if (asprintf(&path, "%s%s%.*s", *value == '/' ? "" : dir,
			     *value == '/' ? "" : "/", (int)(colon - value),
			     value) < 0)
			path = NULL;
		if (path)
			allow_directory_of(rules, path, FS_READ);
	}
}

/* HDF5_PLUGIN_PATH is a list, as PATH is. */
static void allow_plugins(const struct ruleset *rules)
{
	const char *env = getenv("HDF5_PLUGIN_PATH");
	CLEANUP(freep) char *list = NULL;
	char *rest, *dir;

	list = strdup(env && *env ? env : "/usr/local/hdf5/lib/plugin");
	rest = list;
	while (rest && (dir = strsep(&rest, ":")))
		if (*dir)
			allow(rules, dir, FS_READ);
}

/* Beside what is read: FILE and the journal, what is staged elsewhere, and files
 * that are being copied in. */
static void allow_writing(const struct ruleset *rules, const char *file,
			  const struct ns_options *o)
{
	CLEANUP(freep) char *real = realpath(file, NULL);
	CLEANUP(freep) char *stage = NULL;
	const char *tmp = secure_getenv("TMPDIR");

	allow(rules, "/proc/locks", FS_READ); /* who has FILE locked */
	allow_directory_of(rules, file, FS_WRITE);
	if (o->stage_dir)
		allow(rules, o->stage_dir, FS_WRITE);
	if (real && stage_elsewhere(real, &stage) == 0)
		allow(rules, stage, FS_WRITE);
	allow(rules, tmp && *tmp ? tmp : "/var/tmp", FS_TEMPORARY);
}

void sandbox_enter(const char *file, const struct ns_options *o)
{
	static const char *const paths[] = {
		"/usr",
		"/lib",
		"/lib64",
		"/etc/ld.so.cache",
		"/etc/localtime",
		"/proc/self",
		"/sys/devices/system/cpu",
	};
	struct ruleset rules = ruleset_new();
	CLEANUP(fd_closep) int fd = rules.fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		log_debug("sandbox: no-new-privileges: %s", strerror(errno));
	if (fd < 0) {
		log_debug("sandbox: this kernel has no Landlock");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		allow(&rules, paths[i], FS_READ);
	allow(&rules, "/dev/null", FS_READ_FILE | FS_WRITE_FILE);
	allow_plugins(&rules);
	if (o->external == EXTERNAL_FOLLOW) {
		allow(&rules, "/", FS_READ);
	} else {
		allow_directory_of(&rules, file, FS_READ);
		allow_label_files(&rules, file, &o->labels);
	}
	if (o->mode != NS_RO)
		allow_writing(&rules, file, o);
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		log_debug("sandbox: Landlock: %s", strerror(errno));
}
