/* SPDX-License-Identifier: MIT */
/* control.c - .h5fs/: what the mount says of itself.
 *
 * The kernel reads these files in pieces and remembers their size, so each is a
 * snapshot that stays for a second, padded with newlines to whole pages. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "ns_int.h"

#define SNAPSHOT_MS 1000
#define PAD_TO 4096
#define LAST_ERRORS 20 /* in status */

const char *const control_names[CONTROLS] = {
	[CONTROL_STATUS] = "status",
	[CONTROL_ERRORS] = "errors",
	[CONTROL_METRICS] = "metrics",
	[CONTROL_COMMANDS] = "control",
};

struct figures {
	struct cache_stats cache;
	struct points_stats points;
	struct store_stats store;
	uint64_t requests, objects, generations, states, faults;
	uint64_t rss; /* highest resident set, bytes */
	double uptime;
};

void stats_take(struct store_stats *sum, struct store *store)
{
	struct store_stats s;

	store_get_stats(store, &s);
	sum->bytes_read += s.bytes_read;
	sum->chunks_decoded += s.chunks_decoded;
	sum->lib_reads += s.lib_reads;
	sum->locates += s.locates;
	sum->parts += s.parts;
	sum->ahead += s.ahead;
	sum->ahead_used += s.ahead_used;
}

static void take_figures(struct ns *ns, struct figures *f)
{
	struct rusage ru;

	memset(f, 0, sizeof(*f));
	cache_get_stats(ns->cache, &f->cache);
	if (ns->points)
		points_get_stats(ns->points, &f->points);
	pthread_rwlock_rdlock(&ns->tables);
	f->store = ns->past;
	for (struct gen *g = ns->gen; g; g = g->next) {
		if (g->store)
			stats_take(&f->store, g->store);
		f->objects += (uint64_t)g->listed;
		f->generations++;
	}
	pthread_rwlock_unlock(&ns->tables);
	f->requests = __atomic_load_n(&ns->requests, __ATOMIC_RELAXED);
	f->faults = faults_count(ns->faults);
	f->uptime = (double)(now_ms() - ns->started_ms) / 1000;
	if (getrusage(RUSAGE_SELF, &ru) == 0)
		f->rss = (uint64_t)ru.ru_maxrss * 1024;
}

int ns_metrics(struct ns *ns, struct strbuf *out)
{
	struct figures f;

	take_figures(ns, &f);
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} rows[] = {
		{ "h5fs_reads_total", "counter", "Read requests answered.",
		  f.requests },
		{ "h5fs_bytes_read_total", "counter",
		  "Raw data bytes read from HDF5 files.", f.store.bytes_read },
		{ "h5fs_cache_hits_total", "counter",
		  "Blobs found in the cache.", f.cache.hits },
		{ "h5fs_cache_misses_total", "counter",
		  "Blobs that had to be made.", f.cache.misses },
		{ "h5fs_cache_waits_total", "counter",
		  "Misses that another request filled.", f.cache.waits },
		{ "h5fs_cache_evicted_total", "counter",
		  "Blobs dropped from the cache.", f.cache.evicted },
		{ "h5fs_cache_bytes", "gauge", "Bytes in the cache.",
		  f.cache.bytes },
		{ "h5fs_cache_max_bytes", "gauge", "Size of the cache.",
		  f.cache.max_bytes },
		{ "h5fs_chunks_decoded_total", "counter",
		  "Chunks decoded without the HDF5 library.",
		  f.store.chunks_decoded },
		{ "h5fs_library_reads_total", "counter",
		  "Reads through the HDF5 library.", f.store.lib_reads },
		{ "h5fs_chunk_locates_total", "counter",
		  "Chunk addresses looked up.", f.store.locates },
		{ "h5fs_parts_decoded_total", "counter",
		  "Reads for which a part of a chunk was decoded.",
		  f.store.parts },
		{ "h5fs_ahead_total", "counter",
		  "Chunks decoded before they were asked for.", f.store.ahead },
		{ "h5fs_ahead_used_total", "counter",
		  "Chunks begun ahead that were asked for.",
		  f.store.ahead_used },
		{ "h5fs_points_bytes", "gauge",
		  "Bytes of restart points of compressed chunks.",
		  f.points.bytes },
		{ "h5fs_points_max_bytes", "gauge",
		  "Room for restart points.", f.points.max_bytes },
		{ "h5fs_points_chunks_total", "counter",
		  "Chunks whose restart points were kept.", f.points.chunks },
		{ "h5fs_objects", "gauge", "HDF5 objects numbered.",
		  f.objects },
		{ "h5fs_generations", "gauge",
		  "States of the file still referenced.", f.generations },
		{ "h5fs_errors_total", "counter", "Distinct faults recorded.",
		  f.faults },
		{ "h5fs_resident_max_bytes", "gauge",
		  "Highest resident memory of the daemon.", f.rss },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		strbuf_printf(out,
			      "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n",
			      rows[i].name, rows[i].help, rows[i].name,
			      rows[i].type, rows[i].name, rows[i].value);
	return strbuf_error(out);
}

/* The newest faults, as the lines of .h5fs/errors have them. */
static json_t *last_errors(struct ns *ns)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	json_t *array = json_array();
	char *rest, *line;

	if (!array || faults_print(ns->faults, &lines) < 0 || !lines.len)
		return array;
	rest = lines.buf;
	while ((line = strsep(&rest, "\n")) && *line) {
		const char *path = strsep(&line, "\t");
		const char *reason = strsep(&line, "\t");

		json_array_append_new(array, json_pack("{s:s*, s:s*, s:s*}",
						       "path", path, "reason",
						       reason, "remedy", line));
		if (json_array_size(array) > LAST_ERRORS)
			json_array_remove(array, 0);
	}
	return array;
}

static void set_text(json_t *object, const char *key, const char *text)
{
	/* a path need not be UTF-8, JSON must be */
	if (text && json_object_set_new(object, key, json_string(text)) < 0)
		json_object_set_new(object, key, json_string("?"));
}

int ns_status_json(struct ns *ns, struct strbuf *out)
{
	static const char *const modes[] = {
		[NS_RO] = "ro", [NS_APPEND] = "append", [NS_EDIT] = "edit"
	};
	struct figures f;
	CLEANUP(freep) char *warning = NULL;
	json_t *j;
	char *text;

	take_figures(ns, &f);
	j = json_pack(
		"{s:s, s:s, s:s, s:s, s:f, s:I, s:I, s:I,"
		" s:{s:I, s:I, s:I, s:I, s:I, s:I}}",
		"version", H5FS_VERSION, "file", "", "mode", modes[ns->mode],
		"view", ns->opts.view == NS_CLASSES ? "classes" : "tree",
		"uptime_seconds", f.uptime, "reads", (json_int_t)f.requests,
		"bytes_read", (json_int_t)f.store.bytes_read, "errors",
		(json_int_t)f.faults, "cache", "bytes",
		(json_int_t)f.cache.bytes, "max_bytes",
		(json_int_t)f.cache.max_bytes, "entries",
		(json_int_t)f.cache.entries, "hits", (json_int_t)f.cache.hits,
		"misses", (json_int_t)f.cache.misses, "evicted",
		(json_int_t)f.cache.evicted);
	if (!j)
		return -ENOMEM;
	set_text(j, "file", ns->file);
	set_text(j, "mode_why", ns->mode_why);
	set_text(j, "recovered", ns->recovered);
	pthread_rwlock_rdlock(&ns->tables); /* the generation stays */
	if (store_warning(ns->gen->store))
		warning = strdup(store_warning(ns->gen->store));
	pthread_rwlock_unlock(&ns->tables);
	set_text(j, "warning", warning);
	if (ns->stage)
		json_object_set_new(j, "staged", staged_json(ns));
	json_object_set_new(j, "last_errors", last_errors(ns));
	text = json_dumps(j, JSON_INDENT(2));
	json_decref(j);
	if (!text)
		return -ENOMEM;
	strbuf_puts(out, text);
	strbuf_putc(out, '\n');
	free(text);
	return strbuf_error(out);
}

static int make(struct ns *ns, uint32_t which, struct blob **ret)
{
	struct strbuf out = STRBUF_INIT;
	int r = which == CONTROL_STATUS	  ? ns_status_json(ns, &out)
		: which == CONTROL_ERRORS ? faults_print(ns->faults, &out)
					  : ns_metrics(ns, &out);

	if (out.len % PAD_TO)
		strbuf_pad(&out, '\n', PAD_TO - out.len % PAD_TO);
	if (r == 0)
		r = strbuf_to_blob(&out, ret);
	strbuf_done(&out);
	return r;
}

int control_read(struct ns *ns, uint32_t which, struct blob **ret_blob,
		 struct timespec *ret_mtime)
{
	struct snapshot *s;
	int r = 0;

	if (which >= CONTROLS)
		return -ENOENT;
	if (which == CONTROL_COMMANDS)
		return -EACCES;
	LOCK_SCOPE(&ns->control);
	s = &ns->snapshots[which];
	if (!s->bytes || now_ms() - s->at_ms >= SNAPSHOT_MS) {
		struct blob *fresh = NULL;

		r = make(ns, which, &fresh);
		if (r < 0)
			return r;
		blob_unref(s->bytes);
		s->bytes = fresh;
		s->at_ms = now_ms();
		clock_gettime(CLOCK_REALTIME, &s->mtime);
	}
	if (ret_mtime)
		*ret_mtime = s->mtime;
	*ret_blob = blob_ref(s->bytes);
	return r;
}

void control_renew(struct ns *ns)
{
	LOCK_SCOPE(&ns->control);

	for (size_t i = 0; i < CONTROLS; i++)
		ns->snapshots[i].at_ms = INT64_MIN / 2;
}
