/* SPDX-License-Identifier: MIT */
/* writer_link.c - groups, links, and objects that get another path or none. */
#include "writer_int.h"

int writer_create_group(struct writer *w, const char *path)
{
	int r;

	WRITER_GUARD(w);
	CLEANUP(hid_closep) hid_t lcpl = writer_link_plist(path);
	CLEANUP(hid_closep) hid_t group = -1;

	if (lcpl < 0)
		return -ENOMEM;
	r = writer_path_free(w, path, true);
	if (r < 0)
		return r;
	group = H5Gcreate2(w->file, path, lcpl, H5P_DEFAULT, H5P_DEFAULT);
	return group < 0 ? writer_path_fail(w, path, "can not be made") : 0;
}

int writer_create_link(struct writer *w, const char *path, const char *target)
{
	int r;

	WRITER_GUARD(w);
	CLEANUP(hid_closep) hid_t lcpl = writer_link_plist(path);

	if (lcpl < 0)
		return -ENOMEM;
	if (!*target)
		return writer_fail(w, -EINVAL, "%s would lead nowhere", path);
	r = writer_path_free(w, path, true);
	if (r < 0)
		return r;
	if (H5Lcreate_soft(target, w->file, path, lcpl, H5P_DEFAULT) < 0)
		return writer_path_fail(w, path, "can not be made");
	return 0;
}

static int check_there(struct writer *w, const char *path)
{
	enum path_state state;
	int r = writer_path_state(w, path, &state);

	if (r < 0)
		return r;
	if (!strcmp(path, "/"))
		return writer_fail(w, -EINVAL, "the root stays where it is");
	return state == PATH_THERE
		       ? 0
		       : writer_fail(w, -ENOENT, "%s is not there", path);
}

static bool is_below(const char *path, const char *group)
{
	size_t n = strlen(group);

	return !strncmp(path, group, n) && path[n] == '/';
}

int writer_move(struct writer *w, const char *from, const char *to)
{
	int r;

	WRITER_GUARD(w);
	CLEANUP(hid_closep) hid_t lcpl = writer_name_plist(H5P_LINK_CREATE, to);

	if (lcpl < 0)
		return -ENOMEM;
	r = check_there(w, from);
	if (r < 0)
		return r;
	if (is_below(to, from))
		return writer_fail(w, -EINVAL, "%s lies in %s itself", to,
				   from);
	r = writer_path_free(w, to, false);
	if (r < 0)
		return r;
	writer_datasets_close(w);
	if (H5Lmove(w->file, from, w->file, to, lcpl, H5P_DEFAULT) < 0)
		return writer_path_fail(w, from, "can not be moved");
	return 0;
}

int writer_unlink(struct writer *w, const char *path)
{
	int r;

	WRITER_GUARD(w);
	r = check_there(w, path);
	if (r < 0)
		return r;
	/* what is open is not freed */
	writer_datasets_close(w);
	if (H5Ldelete(w->file, path, H5P_DEFAULT) < 0)
		return writer_path_fail(w, path, "can not be removed");
	return 0;
}
