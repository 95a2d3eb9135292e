/* SPDX-License-Identifier: MIT */
/* line.c - command lines: options and operands, help, versions, messages. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>

#include "h5fs/cmd.h"
#include "h5fs/image.h"

static const char help[] =
	"usage: h5fs [-fd] [-o OPTION,...] FILE [DIR]      mount FILE on DIR (./STEM)\n"
	"       h5fs info [-o OPTION,...] FILE [PATH]      what a mount would show, why\n"
	"       h5fs export [-o OPTION,...] [-j N] FILE DIR  the tree, written to disk\n"
	"       h5fs status [--json] DIR                   how a mount is doing\n"
	"       h5fs commit DIR | discard DIR [PATH...]    what is staged: into FILE, away\n"
	"       h5fs recover FILE                          finish an interrupted commit\n"
	"  -f in front   -d debug   -h --help   -V --version   unmount: fusermount3 -u DIR\n"
	"options (PATH may hold * and ?; those with + may stand in FILE.h5fs too):\n"
	"  ro | edit              only read | change what is there; without: only add\n"
	"  fit=exact|resize|letterbox|crop   pictures that have another size\n"
	"  grow  rows=GROUP       make fixed datasets growable; GROUP is one row set\n"
	"  commit=auto|manual  stage=DIR     when, and where it is kept until then\n"
	"  view=tree|classes      the whole file, or only class folders of pictures\n"
	"+ layout=PATH:SPEC       how PATH is read: NHWC, none, flat:28x28, transpose,\n"
	"      flipv, bgr, bands=2,1,0, norm=sample, orient=raw, joined by +\n"
	"+ range=PATH:MIN:MAX     the values that become black and white\n"
	"+ labels=PATH:[FILE:]LABELS  names=PATH:NAMES   which dataset holds them\n"
	"+ classes=names|numbers|both    how class folders are named\n"
	"  masks=palette          masks as colour-indexed pictures\n"
	"  cache=BYTES threads=N  memory for decoded data (256M); workers\n"
	"  points=BYTES           disk for where compressed chunks can be entered (1G)\n"
	"  timeout=SECONDS notify=FD     unmount when idle; a line when it serves\n"
	"  external=inside|follow|hide   other files: below FILE's directory, all, none\n"
	"  nosandbox allow_other default_permissions uid= gid= umask= ...\n";

void cmd_print_help(void)
{
	fputs(help, stdout);
}

void cmd_print_version(void)
{
	struct strbuf s = STRBUF_INIT;

	strbuf_puts(&s, "h5fs " H5FS_VERSION "\n");
	fs_versions(&s);
	strbuf_puts(&s, ", ");
	store_versions(&s);
	strbuf_puts(&s, ", ");
	image_versions(&s);
	strbuf_printf(&s, ", jansson %s\n", jansson_version_str());
	if (strbuf_error(&s) == 0)
		fputs(s.buf, stdout);
	strbuf_done(&s);
}

int cmd_fail(const char *subject, const char *why)
{
	if (subject)
		fprintf(stderr, "h5fs: %s: %s\n", subject, why);
	else
		fprintf(stderr, "h5fs: %s\n", why);
	return 1;
}

int cmd_usage(const char *fmt, ...)
{
	va_list ap;

	fputs("h5fs: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 2;
}

static int add_options(struct cmd_options *o, const char *text)
{
	CLEANUP(freep) char *why = NULL;
	int r;

	r = cmd_options_add(o, text, &why);
	if (r == 0)
		return 0;
	return cmd_usage("%s", why ? why : strerror(-r));
}

/* One option; -1: go on, otherwise the exit status. */
static int take(const struct cmd_line *l, int c, struct cmd_options *o,
		int argc, char **argv)
{
	int r;

	switch (c) {
	case 'h':
		if (l->usage)
			printf("usage: h5fs %s\nsee h5fs --help, man h5fs\n",
			       l->usage);
		else
			cmd_print_help();
		return 0;
	case 'V':
		cmd_print_version();
		return 0;
	case 'o':
		r = add_options(o, optarg);
		return r ? r : -1;
	case ':':
		return cmd_usage("option -%c needs a value", optopt);
	case '?':
		if (optopt)
			return cmd_usage("unknown option -%c", optopt);
		return cmd_usage("unknown option %s", argv[optind - 1]);
	default:
		r = l->flag ? l->flag(l->arg, c, optarg) : 2;
		return r ? r : -1;
	}
}

int cmd_line_parse(const struct cmd_line *l, int argc, char **argv,
		   struct cmd_options *o, int *ret_exit)
{
	static const struct option long_options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ "json", no_argument, NULL, 'J' },
		{ NULL, 0, NULL, 0 },
	};
	char short_options[32];
	int c, r, n;

	snprintf(short_options, sizeof(short_options), ":hVo:%s",
		 l->short_options);
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, short_options, long_options,
				NULL)) != -1) {
		if (c == 'J' && !l->json)
			r = cmd_usage("unknown option --json");
		else
			r = take(l, c, o, argc, argv);
		if (r >= 0) {
			*ret_exit = r;
			return -ECANCELED;
		}
	}
	n = argc - optind;
	if (n >= l->min && n <= l->max)
		return 0;
	if (l->usage)
		*ret_exit = cmd_usage("usage: h5fs %s", l->usage);
	else
		*ret_exit = cmd_usage("%s; see h5fs --help",
				      n ? "too many arguments" : "which file?");
	return -EINVAL;
}

int cmd_open(const char *file, struct cmd_options *o, struct ns **ret_ns)
{
	CLEANUP(freep) char *why = NULL;
	int r;

	o->ns.mode = NS_RO;
	r = ns_options_sidecar(&o->ns, file, &why);
	if (r == 0) {
		if (o->sandbox)
			sandbox_enter(file, &o->ns);
		r = ns_open(file, &o->ns, ret_ns, &why);
	}
	if (r < 0)
		cmd_fail(file, why ? why : strerror(-r));
	return r;
}
