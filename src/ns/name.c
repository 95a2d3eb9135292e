/* SPDX-License-Identifier: MIT */
/* name.c - names as shown, and back: no two entries collide, and every name can
 * be turned back.
 *
 * A suffix is always added to what is a file. A bare `.` or `..` becomes %2E,
 * %2E%2E; `%` before two upper-case hex digits becomes %25; in what is shown
 * without a suffix of its own, the last dot of a reserved suffix becomes %2E.
 * Names over 255 bytes are cut and end in ~ and a hash of the whole. */
#include <stdio.h>

#include "ns_int.h"

#define NAME_BYTES 255

static const char *const reserved[] = {
	".png", ".jpg", ".jpeg", ".bmp", ".tif",  ".tiff", ".gif",  ".webp",
	".jp2", ".npy", ".txt",	 ".csv", ".json", ".bin",  ".nrrd", ".by-class",
};

bool name_has_suffix(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(reserved); i++)
		if (!strcmp(dot, reserved[i]))
			return true;
	return false;
}

static bool is_upper_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
}

static bool is_escape(const char *p)
{
	return p[0] == '%' && is_upper_hex(p[1]) && is_upper_hex(p[2]);
}

static void put_escaped(struct strbuf *out, const char *name, bool group)
{
	const char *dot =
		group && name_has_suffix(name) ? strrchr(name, '.') : NULL;
	bool bare = !strcmp(name, ".") || !strcmp(name, "..");

	for (const char *p = name; *p; p++) {
		if (is_escape(p))
			strbuf_puts(out, "%25");
		else if (*p == '/') /* a damaged, or a made, link name */
			strbuf_puts(out, "%2F");
		else if (bare || p == dot)
			strbuf_puts(out, "%2E");
		else
			strbuf_putc(out, *p);
	}
	if (!*name) /* a link may have an empty name */
		strbuf_puts(out, "%00");
}

/* Not inside a UTF-8 sequence. */
static size_t cut_at(const char *s, size_t n)
{
	while (n && ((uint8_t)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

char *name_shown(const char *name, const char *suffix, enum name_kind kind,
		 bool *ret_cut)
{
	struct strbuf out = STRBUF_INIT, cut = STRBUF_INIT;
	size_t nsuffix = strlen(suffix), keep;

	put_escaped(&out, name, kind == NAME_GROUP && !nsuffix);
	*ret_cut = out.len + nsuffix > NAME_BYTES;
	if (!*ret_cut) {
		strbuf_puts(&out, suffix);
		return strbuf_steal(&out);
	}
	if (strbuf_error(&out) == 0) {
		keep = cut_at(out.buf, NAME_BYTES - nsuffix - 17);
		strbuf_put(&cut, out.buf, keep);
		strbuf_printf(
			&cut, "~%016llx%s",
			(unsigned long long)hash_bytes(name, strlen(name), 0),
			suffix);
	}
	strbuf_done(&out);
	return strbuf_steal(&cut);
}

static unsigned hex(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'A') + 10;
}

char *name_stored(const char *shown)
{
	char *out = malloc(strlen(shown) + 1), *o = out;

	if (!out)
		return NULL;
	while (*shown) {
		if (is_escape(shown)) {
			*o++ = (char)(hex(shown[1]) << 4 | hex(shown[2]));
			shown += 3;
		} else {
			*o++ = *shown++;
		}
	}
	*o = 0;
	return out;
}

char *name_escape_slash(const char *name)
{
	struct strbuf out = STRBUF_INIT;
	bool bare = !strcmp(name, ".") || !strcmp(name, "..");

	for (const char *p = name; *p; p++) {
		if (*p == '/')
			strbuf_puts(&out, "%2F");
		else if (is_escape(p))
			strbuf_puts(&out, "%25");
		else if (bare)
			strbuf_puts(&out, "%2E");
		else
			strbuf_putc(&out, *p);
	}
	if (!*name)
		strbuf_puts(&out, "%00");
	return strbuf_steal(&out);
}

char *name_fitted(const char *name)
{
	struct strbuf out = STRBUF_INIT;
	size_t n = strlen(name);

	if (n > NAME_BYTES) {
		strbuf_put(&out, name, cut_at(name, NAME_BYTES - 17));
		strbuf_printf(&out, "~%016llx",
			      (unsigned long long)hash_bytes(name, n, 0));
	} else {
		strbuf_put(&out, name, n);
	}
	return strbuf_steal(&out);
}

char *name_of_attr(const char *attr)
{
	CLEANUP(freep) char *escaped = name_escape_slash(attr);

	return escaped ? name_fitted(escaped) : NULL;
}
