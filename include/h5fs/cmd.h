/* SPDX-License-Identifier: MIT */
/* cmd.h - the programs: what all commands share.
 *
 * Exit status: 0, 1 (FILE or the mount made it fail), 2 (usage). */
#ifndef H5FS_CMD_H
#define H5FS_CMD_H

#include "h5fs/fs.h"

/* ---- options, as -o takes them ---- */
struct cmd_options {
	struct ns_options ns;
	struct fs_options fs;
	bool foreground;
	bool sandbox;
	int notify_fd; /* -1: none */
};
void cmd_options_init(struct cmd_options *o);
void cmd_options_done(struct cmd_options *o);
/* "opt,opt=value,...". A comma inside a value is written `\,` and a backslash
 * before a comma or a backslash `\\`; a bare number after an option that takes a
 * list (bands=2,1,0) belongs to it. -EINVAL: *ret_why names the option and what
 * is wrong with it; the caller frees it. */
int cmd_options_add(struct cmd_options *o, const char *text, char **ret_why);

/* One piece of such a text: unescaped, without the comma. *pos moves on; NULL
 * there: no more. -ENOENT at the end, -ENOMEM. */
int cmd_options_next(const char **pos, char **ret_piece);

/* ---- a command is a row of main.c's table and a file ---- */
struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the command; NULL:
					    * not in this version */
};
int cmd_mount(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_commit(int argc, char **argv);
int cmd_discard(int argc, char **argv);
int cmd_recover(int argc, char **argv);
void cmd_print_help(void);
void cmd_print_version(void);

/* "h5fs: SUBJECT: WHY" on stderr (subject may be NULL). Returns 1, and 2. */
int cmd_fail(const char *subject, const char *why);
int cmd_usage(const char *fmt, ...) PRINTF(1, 2);

/* What getopt_long() leaves: parses -o and its own flags, counts the rest. */
struct cmd_line {
	const char *short_options; /* of the command, beside "ho:V" */
	const char *usage;
	int min, max; /* operands */
	/* An option of the command's own; nonzero ends with that exit status. */
	int (*flag)(void *arg, int c, const char *value);
	void *arg;
	bool json; /* --json is an option; flag() gets 'J' */
};
/* 0: operands are argv[optind..]. Otherwise *ret_exit is the exit status. */
int cmd_line_parse(const struct cmd_line *l, int argc, char **argv,
		   struct cmd_options *o, int *ret_exit);
/* Reads FILE's sidecar and opens it; tells why not. */
int cmd_open(const char *file, struct cmd_options *o, struct ns **ret_ns);

/* ---- status.c, ask.c: a mount, asked through DIR/.h5fs ---- */
struct json_t; /* jansson's */
/* Reads DIR/.h5fs/status; tells why not (1). ret_text may be NULL. */
int ask_status(const char *dir, struct json_t **ret_status,
	       struct blob **ret_text);
/* Has the mount on DIR do what `command` says; tells why not. path: what it is
 * about, or NULL. Exit status. */
int ask(const char *dir, const char *path, const char *command, size_t n);
/* Prints what is still staged. Exit status. */
int ask_staged(const char *dir);

/* ---- sandbox.c ---- */
/* From here on this process (and threads to come) can only read, and only what
 * serving FILE takes; unless o->mode is NS_RO it can also write in FILE's
 * directory, the stage's, and that of temporary files. Does what the kernel can. */
void sandbox_enter(const char *file, const struct ns_options *o);

/* ---- recover.c ---- */
/* Finishes or undoes an interrupted commit of FILE, if there is one that this
 * user may finish, in a process of its own that is confined to that. shown: FILE
 * in messages. */
void recover_apart(const char *file, const char *shown,
		   const struct ns_options *o);

/* ---- scratch.c ---- */
/* The file for points=, where the user wants one and there is room: sets points_fd
 * and, where nothing was said, points_bytes. */
void scratch_open(struct ns_options *o);

/* ---- notify.c ---- */
/* Tells notify=FD (and closes it) and systemd's socket. */
void notify_ready(int fd);
void notify_stopping(void);

/* ---- channel.c: messages between supervisor and daemon ---- */
enum channel_kind {
	CHANNEL_FAILED = 'F',	 /* up: text is why */
	CHANNEL_OPENED = 'O',	 /* up: to be mounted; text is for people */
	CHANNEL_OPENED_RO = 'o', /* up: the same, read-only */
	CHANNEL_MOUNT = 'M',	 /* down: with the descriptor */
	CHANNEL_READY = 'R',	 /* up */
	CHANNEL_IDLE = 'I',	 /* up */
	CHANNEL_ENDING = 'E',	 /* up: serves no more, but has to commit */
};
#define CHANNEL_TEXT_MAX 32768 /* longer text is cut */
int channel_send(int sock, enum channel_kind kind, const char *text, int fd);
/* -EPIPE: the other side is gone. *ret_fd is -1 or the caller's; text is
 * replaced. */
int channel_recv(int sock, enum channel_kind *ret_kind, struct strbuf *text,
		 int *ret_fd);

/* ---- mount.c ---- */
/* Is FILE (a path without links) mounted somewhere that this process can see? */
bool is_mounted_file(const char *file);

/* ---- supervise.c, daemon.c ---- */
struct mount_job {
	struct cmd_options *options;
	const char *shown; /* FILE as it was given, for messages */
	char *file;	   /* absolute, links resolved */
	char *dir;	   /* the same */
	bool made_dir;	   /* remove it afterwards */
	bool tell;	   /* what is shown is told: somebody reads it */
};
/* Mounts, and returns once the mount serves (or, in the foreground, once it has
 * ended), with the exit status. */
int supervise(struct mount_job *job);
/* The daemon's life: opens FILE, waits for the mount, serves. Exit status: 0 it
 * was unmounted, 1 it failed, 2 it was told to end and is still mounted. */
int daemon_main(struct mount_job *job, int sock);
/* Closes all but the standard three and keep[]. */
void close_others(const int *keep, size_t n);
void null_stdio(void);

#endif
