/* SPDX-License-Identifier: MIT */
/* object.c - groups and their links, and what lies behind a link. */
#include <stdio.h>

#include "store_int.h"

hid_t object_open(struct store *s, struct obj_id id)
{
	hid_t file;

	if (id.file >= store_nfiles(s))
		return -1;
	file = id.file ? s->files[id.file]->hid : s->file;
	return file > 0 ? H5Oopen_by_addr(file, id.addr) : -1;
}

static int object_kind(H5O_type_t type, enum obj_kind *ret_kind)
{
	switch (type) {
	case H5O_TYPE_GROUP:
		*ret_kind = OBJ_GROUP;
		return 0;
	case H5O_TYPE_DATASET:
		*ret_kind = OBJ_DATASET;
		return 0;
	case H5O_TYPE_NAMED_DATATYPE:
		*ret_kind = OBJ_DATATYPE;
		return 0;
	default:
		return -ENOTSUP;
	}
}

int object_info(struct store *s, hid_t obj, struct obj_info *ret_info)
{
	struct obj_info info = { 0 };
	H5O_info_t oi;
	int file, r;

	if (H5Oget_info2(obj, &oi,
			 H5O_INFO_BASIC | H5O_INFO_TIME | H5O_INFO_NUM_ATTRS) <
	    0)
		return -EIO;
	r = object_kind(oi.type, &info.kind);
	if (r < 0)
		return r;
	file = vfd_find_file(s, oi.fileno);
	if (file < 0)
		return -EIO;
	/* an address is good only while its file is open */
	if (file > 0 && s->files[file]->hid <= 0)
		s->files[file]->hid = H5Iget_file_id(obj);
	info.id.file = (uint32_t)file;
	info.id.addr = oi.addr;
	info.links = oi.rc;
	info.has_attrs = oi.num_attrs > 0;
	info.mtime.tv_sec = oi.mtime;
	info.file_key = s->files[file]->key;
	*ret_info = info;
	return 0;
}

int store_root(struct store *s, struct obj_info *ret_info)
{
	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t root = H5Oopen(s->file, "/", H5P_DEFAULT);

	return root < 0 ? -EIO : object_info(s, root, ret_info);
}

struct link_iter {
	struct link_set *set;
	size_t max;
	int error;
};

static int grow_links(struct link_set *set)
{
	size_t cap = set->cap ? set->cap * 2 : 64;
	struct raw_link *grown;

	if (set->count < set->cap)
		return 0;
	grown = realloc(set->links, cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	set->links = grown;
	set->cap = cap;
	return 0;
}

static herr_t take_link(hid_t group, const char *name, const H5L_info_t *li,
			void *arg)
{
	struct link_iter *it = arg;
	struct link_set *set = it->set;
	struct raw_link l = { 0 };

	(void)group;
	if (set->count == it->max)
		return 1;
	switch (li->type) {
	case H5L_TYPE_HARD:
		l.kind = LINK_HARD;
		l.where = li->u.address;
		break;
	case H5L_TYPE_SOFT:
	case H5L_TYPE_EXTERNAL:
		l.kind = li->type == H5L_TYPE_SOFT ? LINK_SOFT : LINK_EXTERNAL;
		l.where = li->u.val_size;
		break;
	default: /* user-defined: nobody here can follow it */
		return 0;
	}
	l.name = arena_strdup(set->arena, name);
	if (!l.name || grow_links(set) < 0) {
		it->error = -ENOMEM;
		return -1;
	}
	set->links[set->count++] = l;
	return 0;
}

static void resolve_hard(struct store *s, hid_t group, haddr_t addr,
			 struct link *l)
{
	CLEANUP(hid_closep) hid_t obj = H5Oopen_by_addr(group, addr);

	l->resolved = obj < 0 ? -EIO : object_info(s, obj, &l->info);
}

static int read_value(hid_t group, struct link *l, size_t size, struct arena *a)
{
	const char *file = NULL, *path = NULL;
	char *buf;

	if (size == 0 || size > 1 << 20)
		return -EIO;
	buf = arena_alloc(a, size + 1);
	if (!buf)
		return -ENOMEM;
	buf[size] = 0;
	if (H5Lget_val(group, l->name, buf, size, H5P_DEFAULT) < 0)
		return -EIO;
	if (l->kind == LINK_SOFT) {
		l->target = buf;
		return 0;
	}
	if (H5Lunpack_elink_val(buf, size, NULL, &file, &path) < 0)
		return -EIO;
	l->target_file = arena_strdup(a, file);
	l->target = arena_strdup(a, path);
	return l->target && l->target_file ? 0 : -ENOMEM;
}

/* Opens by name, telling a forbidden file from a missing one. */
static int resolve_name(struct store *s, hid_t group, const char *name,
			struct obj_info *ret_info)
{
	CLEANUP(hid_closep) hid_t obj = -1;

	s->denied = false;
	obj = H5Oopen(group, name, H5P_DEFAULT);
	/* refused a file, the library goes on to others of the same name */
	if (obj < 0 || s->denied)
		return s->denied ? -EACCES : -ENOENT;
	return object_info(s, obj, ret_info);
}

void link_finish(struct store *s, hid_t group, const struct raw_link *raw,
		 struct arena *a, struct link *l)
{
	int r;

	memset(l, 0, sizeof(*l));
	l->name = raw->name;
	l->kind = raw->kind;
	if (l->kind == LINK_HARD) {
		resolve_hard(s, group, raw->where, l);
		return;
	}
	r = read_value(group, l, raw->where, a);
	if (r < 0) {
		l->target = (char *)"";
		l->target_file = (char *)"";
	}
	l->resolved = r < 0 ? r : -ENOENT;
	if (r == 0 && l->kind == LINK_EXTERNAL)
		l->resolved =
			s->external == EXTERNAL_HIDE
				? -EACCES
				:
				/* names the library takes for paths */
				strchr(l->name, '/') || !strcmp(l->name, ".")
				? -ENOENT
				: resolve_name(s, group, l->name, &l->info);
}

static herr_t pass_link(hid_t group, const char *name, const H5L_info_t *li,
			void *arg)
{
	(void)group, (void)name, (void)li, (void)arg;
	return 0;
}

/* When the library sorts links of which one can not be decoded, it frees what it
 * never filled; looked for, or in their own order, they just fail. */
static bool links_decode(hid_t group)
{
	H5G_info_t gi;
	hsize_t at = 0;

	if (H5Gget_info(group, &gi) < 0)
		return false;
	if (gi.storage_type == H5G_STORAGE_TYPE_COMPACT)
		return H5Lexists(group, "\1no such link", H5P_DEFAULT) >= 0;
	if (gi.storage_type == H5G_STORAGE_TYPE_DENSE)
		return H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &at,
				  pass_link, NULL) >= 0;
	return true;
}

/* The library makes and sorts a table of all links for each call, so that a
 * group read in small pieces costs the square of its size. */
int links_collect(struct store *s, hid_t group, uint64_t from, size_t max,
		  struct link_set *set)
{
	struct link_iter it = { set, max, 0 };
	hsize_t at = from;
	herr_t r;

	if (it.max < s->links_at_once)
		it.max = s->links_at_once;
	if (from == 0 && !links_decode(group))
		return -EIO;
	if (!set->arena && arena_new(&set->arena) < 0)
		return -ENOMEM;
	r = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, take_link, &it);
	if (it.error < 0)
		return it.error;
	if (r < 0)
		return -EIO;
	/* stopped before the link it was given: the library counts that one */
	set->next = r > 0 ? (at > from ? at - 1 : 0) : 0;
	return 0;
}

void link_set_done(struct link_set *set)
{
	arena_free(set->arena);
	free(set->links);
	memset(set, 0, sizeof(*set));
}

void link_page_done(struct link_page *p)
{
	arena_free(p->arena);
	memset(p, 0, sizeof(*p));
}

static hid_t open_group(struct store *s, struct obj_id id)
{
	hid_t g = object_open(s, id);

	if (g > 0 && H5Iget_type(g) != H5I_GROUP) {
		hid_closep(&g);
		return -1;
	}
	return g;
}

int store_link_count(struct store *s, struct obj_id group, uint64_t *ret_count)
{
	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t g = open_group(s, group);
	H5G_info_t gi;

	if (g < 0 || H5Gget_info(g, &gi) < 0)
		return -EIO;
	*ret_count = gi.nlinks;
	return 0;
}

static int collect(struct store *s, struct obj_id group, uint64_t from,
		   size_t max, struct link_set *set)
{
	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t g = open_group(s, group);

	return g < 0 ? -EIO : links_collect(s, g, from, max, set);
}

static int finish(struct store *s, struct obj_id group,
		  const struct link_set *set, size_t from, size_t n,
		  struct link *ret_links)
{
	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t g = open_group(s, group);

	if (g < 0)
		return -EIO;
	for (size_t i = from; i < from + n; i++)
		link_finish(s, g, &set->links[i], set->arena, &ret_links[i]);
	return 0;
}

/* Others get a turn between so many links of a large group. */
#define LINKS_A_TURN 4096

int store_links(struct store *s, struct obj_id group, uint64_t from, size_t max,
		struct link_page *ret_page)
{
	CLEANUP(link_set_done) struct link_set set = { 0 };
	struct link *links = NULL;
	int r = collect(s, group, from, max, &set);

	if (r < 0)
		return r;
	links = arena_alloc(set.arena, set.count * sizeof(*links));
	if (!links)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < set.count; i += LINKS_A_TURN)
		r = finish(s, group, &set, i,
			   set.count - i < LINKS_A_TURN ? set.count - i
							: LINKS_A_TURN,
			   links);
	if (r < 0)
		return r;
	*ret_page = (struct link_page){ set.count, links, set.next,
					TAKE(set.arena) };
	return 0;
}

int store_resolve(struct store *s, struct obj_id group, const char *path,
		  struct obj_info *ret_info)
{
	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t g = open_group(s, group);

	if (g < 0)
		return -EIO;
	return resolve_name(s, g, *path ? path : ".", ret_info);
}

const char *store_file_name(struct store *s, uint32_t file)
{
	size_t n = strlen(s->dir);
	const char *path;

	if (file >= store_nfiles(s))
		return "?";
	path = s->files[file]->path;
	return !strncmp(path, s->dir, n) && path[n] == '/' ? path + n + 1
							   : path;
}

int store_datatype(struct store *s, struct obj_id id, struct dtype **ret_type)
{
	struct type_map map;

	H5_GUARD(s);
	CLEANUP(hid_closep) hid_t t = object_open(s, id);

	if (t < 0 || H5Iget_type(t) != H5I_DATATYPE)
		return -EIO;
	return type_from_h5(t, ret_type, &map);
}

int store_path_of(struct store *s, struct obj_id id, char **ret_path)
{
	H5_GUARD(s);
	return names_find(s, id, ret_path);
}

void store_versions(struct strbuf *out)
{
	unsigned a = 0, b = 0, c = 0;

	(void)H5get_libversion(&a, &b, &c);
	strbuf_printf(out, "HDF5 %u.%u.%u", a, b, c);
	filters_versions(out);
}
