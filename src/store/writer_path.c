/* SPDX-License-Identifier: MIT */
/* writer_path.c - what a path of a request leads to, without leaving FILE. */
#include <stdio.h>

#include "writer_int.h"

int writer_path_fail(struct writer *w, const char *path, const char *what)
{
	char text[400];

	(void)snprintf(text, sizeof(text), "%s: %s", path, what);
	return writer_h5_fail(w, text);
}

static herr_t refuse(const char *parent_file, const char *parent_group,
		     const char *child_file, const char *child_object,
		     unsigned *flags, hid_t fapl, void *arg)
{
	bool *out = arg;

	(void)parent_file, (void)parent_group, (void)child_file;
	(void)child_object, (void)flags, (void)fapl;
	*out = true;
	return -1;
}

hid_t writer_inside(bool *out)
{
	CLEANUP(hid_closep) hid_t lapl = H5Pcreate(H5P_LINK_ACCESS);
	hid_t r;

	*out = false;
	if (lapl < 0 || H5Pset_elink_cb(lapl, refuse, out) < 0)
		return -1;
	r = lapl;
	lapl = -1;
	return r;
}

static int is_outside(struct writer *w, const char *path)
{
	return writer_fail(w, -EOPNOTSUPP,
			   "%s lies in another file, to which a link leads",
			   path);
}

/* Absolute, with a name between any two slashes, none of them "." */
static bool is_path(const char *path)
{
	const char *p = path;

	if (*p != '/')
		return false;
	if (!strcmp(path, "/"))
		return true;
	while (*p) {
		size_t n = strcspn(++p, "/");

		if (n == 0 || (n == 1 && *p == '.'))
			return false;
		p += n;
	}
	return true;
}

int writer_object(struct writer *w, const char *path, hid_t *ret_obj)
{
	bool out;
	CLEANUP(hid_closep) hid_t lapl = writer_inside(&out);
	hid_t obj;

	if (lapl < 0)
		return -ENOMEM;
	if (!is_path(path))
		return writer_fail(w, -EINVAL, "%s is no path", path);
	obj = H5Oopen(w->file, path, lapl);
	if (obj < 0 && out)
		return is_outside(w, path);
	if (obj < 0)
		return writer_fail(w, -ENOENT, "%s is not there", path);
	*ret_obj = obj;
	return 0;
}

/* 1: a group that is there; 0: not there. */
static int is_group(struct writer *w, const char *path, hid_t lapl,
		    const bool *out)
{
	htri_t there = H5Lexists(w->file, path, lapl);
	H5O_info_t oi;

	if (there == 0)
		return 0;
	if (there < 0 ||
	    H5Oget_info_by_name2(w->file, path, &oi, H5O_INFO_BASIC, lapl) < 0)
		return *out ? is_outside(w, path)
			    : writer_fail(w, -ENOENT, "%s leads nowhere", path);
	if (oi.type != H5O_TYPE_GROUP)
		return writer_fail(w, -ENOTDIR, "%s is no group", path);
	return 1;
}

int writer_path_state(struct writer *w, const char *path,
		      enum path_state *ret_state)
{
	bool out;
	CLEANUP(hid_closep) hid_t lapl = writer_inside(&out);
	CLEANUP(freep) char *part = strdup(path);
	htri_t there;

	if (lapl < 0 || !part)
		return -ENOMEM;
	if (!is_path(path))
		return writer_fail(w, -EINVAL, "%s is no path", path);
	if (!strcmp(path, "/")) {
		*ret_state = PATH_THERE;
		return 0;
	}
	for (char *p = strchr(part + 1, '/'); p; p = strchr(p + 1, '/')) {
		int r;

		*p = 0;
		r = is_group(w, part, lapl, &out);
		*p = '/';
		if (r < 0)
			return r;
		if (r == 0) {
			*ret_state = PATH_NO_WAY;
			return 0;
		}
	}
	there = H5Lexists(w->file, path, lapl);
	if (there < 0)
		return writer_path_fail(w, path, "can not be looked up");
	*ret_state = there ? PATH_THERE : PATH_FREE;
	return 0;
}

int writer_path_free(struct writer *w, const char *path, bool make_way)
{
	enum path_state state;
	int r = writer_path_state(w, path, &state);

	if (r < 0)
		return r;
	if (state == PATH_THERE)
		return writer_fail(w, -EEXIST, "%s is there already", path);
	if (state == PATH_NO_WAY && !make_way)
		return writer_fail(w, -ENOENT, "the group of %s is not there",
				   path);
	return 0;
}

static unsigned utf8_tail(uint8_t lead)
{
	return lead < 0x80		     ? 0
	       : lead >= 0xc2 && lead < 0xe0 ? 1
	       : lead >= 0xe0 && lead < 0xf0 ? 2
	       : lead >= 0xf0 && lead < 0xf5 ? 3
					     : UINT32_MAX;
}

static bool is_utf8(const char *text)
{
	const uint8_t *p = (const uint8_t *)text;

	while (*p) {
		unsigned n = utf8_tail(*p);

		/* too long, a surrogate, too large */
		if (n == UINT32_MAX || (p[0] == 0xe0 && p[1] < 0xa0) ||
		    (p[0] == 0xed && p[1] > 0x9f) ||
		    (p[0] == 0xf0 && p[1] < 0x90) ||
		    (p[0] == 0xf4 && p[1] > 0x8f))
			return false;
		for (p++; n > 0; n--, p++)
			if ((*p & 0xc0) != 0x80)
				return false;
	}
	return true;
}

hid_t writer_name_plist(hid_t class, const char *name)
{
	CLEANUP(hid_closep) hid_t plist = H5Pcreate(class);
	hid_t r;

	if (plist < 0 ||
	    H5Pset_char_encoding(plist, is_utf8(name) ? H5T_CSET_UTF8
						      : H5T_CSET_ASCII) < 0)
		return -1;
	r = plist;
	plist = -1;
	return r;
}

hid_t writer_link_plist(const char *path)
{
	CLEANUP(hid_closep)
	hid_t lcpl = writer_name_plist(H5P_LINK_CREATE, path);
	hid_t r;

	if (lcpl < 0 || H5Pset_create_intermediate_group(lcpl, 1) < 0)
		return -1;
	r = lcpl;
	lcpl = -1;
	return r;
}
