/* SPDX-License-Identifier: MIT */
/* mount.c - `h5fs FILE [DIR]`: what is mounted where, and may it be. */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "h5fs/cmd.h"

/* Undoes mountinfo's \040 in place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] &&
		    s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				       (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* What a line of mountinfo is about; source is "" where it is none of ours. */
static bool next_mount(FILE *f, char **point, char **source)
{
	CLEANUP(freep) char *line = NULL;
	size_t cap = 0;

	free(*point);
	free(*source);
	*point = *source = NULL;
	while (!*point && getline(&line, &cap, f) > 0) {
		const char *type = strstr(line, " - ");

		if (sscanf(line, "%*s %*s %*s %*s %ms", point) != 1)
			continue;
		if (!type || sscanf(type, " - fuse.h5fs %ms", source) != 1)
			*source = strdup("");
		unescape(*point);
		if (*source)
			unescape(*source);
	}
	return *point && *source;
}

/* The mount there is, alive or dead; asks nothing of it. */
static bool is_h5fs_mount(const char *dir)
{
	CLEANUP(freep) char *point = NULL;
	CLEANUP(freep) char *source = NULL;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool found = false;

	while (f && next_mount(f, &point, &source))
		if (strcmp(point, dir) == 0)
			found = *source != '\0';
	if (f)
		fclose(f);
	return found;
}

bool is_mounted_file(const char *file)
{
	CLEANUP(freep) char *point = NULL;
	CLEANUP(freep) char *source = NULL;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool found = false;

	while (f && next_mount(f, &point, &source))
		found = found || strcmp(source, file) == 0;
	if (f)
		fclose(f);
	return found;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 &&
	       (path[n] == '/' || path[n] == '\0' || dir[n - 1] == '/');
}

static int check_dir(const struct mount_job *job)
{
	struct stat st;

	if (is_h5fs_mount(job->dir))
		return cmd_fail(job->dir, "there is an h5fs mount already; "
					  "fusermount3 -u ends it");
	if (stat(job->dir, &st) < 0)
		return cmd_fail(job->dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return cmd_fail(job->dir, strerror(ENOTDIR));
	if (is_below(job->file, job->dir))
		return cmd_fail(job->shown, "lies in the directory that the "
					    "mount would hide");
	return 0;
}

static bool is_empty_dir(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	bool empty = d != NULL;

	while (empty && (e = readdir(d)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return empty;
}

/* ./STEM, made when it is not there. */
static int default_dir(struct mount_job *job)
{
	const char *slash = strrchr(job->shown, '/');
	CLEANUP(freep) char *stem = strdup(slash ? slash + 1 : job->shown);
	char *dot = stem ? strrchr(stem, '.') : NULL;

	if (!stem)
		return cmd_fail(job->shown, strerror(ENOMEM));
	if (dot && dot > stem)
		*dot = '\0';
	if (mkdir(stem, 0777) == 0) {
		job->made_dir = true;
	} else if (errno != EEXIST) {
		return cmd_fail(stem, strerror(errno));
	} else if (!is_empty_dir(stem)) {
		return cmd_fail(stem, "exists; say on which DIR to mount");
	}
	job->dir = realpath(stem, NULL);
	return job->dir ? 0 : cmd_fail(stem, strerror(errno));
}

static int find_dir(struct mount_job *job, const char *dir)
{
	if (!dir)
		return default_dir(job);
	job->dir = realpath(dir, NULL);
	return job->dir ? 0 : cmd_fail(dir, strerror(errno));
}

static int find_file(struct mount_job *job)
{
	job->file = realpath(job->shown, NULL);
	return job->file ? 0 : cmd_fail(job->shown, strerror(errno));
}

/* Looked for again long after, from another directory. */
static int find_stage(struct mount_job *job)
{
	char **dir = &job->options->ns.stage_dir;
	struct stat st;
	char *real;

	if (!*dir)
		return 0;
	real = realpath(*dir, NULL);
	if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode)) {
		int r = real ? ENOTDIR : errno;

		free(real);
		return cmd_fail(*dir, strerror(r));
	}
	free(*dir);
	*dir = real;
	return 0;
}

static int read_sidecar(struct mount_job *job)
{
	CLEANUP(freep) char *why = NULL;
	int r;

	r = ns_options_sidecar(&job->options->ns, job->shown, &why);
	return r < 0 ? cmd_fail(job->shown, why ? why : strerror(-r)) : 0;
}

static int run(struct mount_job *job, const char *dir)
{
	int status;

	status = find_file(job);
	if (status == 0)
		status = read_sidecar(job);
	if (status == 0)
		status = find_stage(job);
	if (status == 0)
		status = find_dir(job, dir);
	if (status == 0)
		status = check_dir(job);
	if (status == 0)
		return supervise(job);
	if (job->made_dir)
		(void)rmdir(job->dir);
	return status;
}

static int flag(void *arg, int c, const char *value)
{
	struct cmd_options *o = arg;

	o->foreground = true;
	if (c == 'd')
		o->fs.debug = true;
	return 0;
}

int cmd_mount(int argc, char **argv)
{
	CLEANUP(cmd_options_done) struct cmd_options o;
	struct cmd_line line = {
		.short_options = "fd",
		.min = 1,
		.max = 2,
		.flag = flag,
		.arg = &o,
	};
	struct mount_job job = { .options = &o, .tell = isatty(1) };
	int status = 1;

	cmd_options_init(&o);
	if (cmd_line_parse(&line, argc, argv, &o, &status) < 0)
		return status;
	if (o.fs.debug)
		log_set_level(LOG_DEBUG_);
	o.fs.threads = o.ns.threads;
	job.shown = argv[optind];
	status = run(&job, argc - optind > 1 ? argv[optind + 1] : NULL);
	free(job.file);
	free(job.dir);
	return status;
}
