/* SPDX-License-Identifier: MIT */
/* objects_int.h - shared by the files that make, move and remove objects. */
#ifndef H5FS_OBJECTS_INT_H
#define H5FS_OBJECTS_INT_H

#include "ns_int.h"

/* What can be done in a directory depends on what it stands for. */
enum dir_kind {
	DIR_GROUP,   /* objects are made, moved, removed */
	DIR_SAMPLES, /* D/, class folders: staged.c */
	DIR_PENDING, /* in or below a directory that ends in .part */
	DIR_OTHER,   /* .attrs/, .h5fs/, @EXPR/ */
};
enum dir_kind dir_kind(const struct pin *dir);
bool name_is_pending(const char *name); /* ends in ".part" */
/* Path in the mount of a name in a directory, for people and for the stage. The
 * caller frees it. */
int dir_path(struct ns *ns, const struct pin *dir, const char *name,
	     char **ret_path);

/* ---- place.c: names that are to appear in a group ---- */
/* HDF5 path of a child by its stored name; NULL: no memory. */
char *child_path(const struct object *g, const char *stored);
/* Can objects be made in this group at all? -EROFS: it lies in another file. */
int group_is_ours(const struct object *g, struct refusal *f);
/* What has to be stored so that it is shown as `shown`, of which `suffix` is
 * added. -EPERM, -EINVAL with the refusal: there is nothing like that. */
int stored_name(const char *shown, const char *suffix, enum name_kind kind,
		char **ret_stored, struct refusal *f);
/* The same in a group, as HDF5 path. -EEXIST: something is shown there, or kept
 * under that name. The group must be loaded. */
int object_place(struct object *g, const char *shown, const char *suffix,
		 enum name_kind kind, char **ret_path, struct refusal *f);
/* Suffix of a file that can become a dataset, ".npy" or an image's; else NULL. */
const char *dataset_suffix(const char *name);
/* The child that an entry stands for, and what was added to its name (inside
 * e->name; NULL: it was made unique). */
const struct child *entry_child(const struct group *grp, const struct entry *e,
				const char **ret_suffix);
bool entry_is_dir(const struct entry *e);
/* All names that a child is shown by, each with its NUL. */
void shown_names(const struct group *grp, const char *stored,
		 struct strbuf *out);
/* The kernel is to ask again for them. */
void tell_names(struct ns *ns, uint64_t dir, const struct strbuf *names);

/* ---- objects.c ---- */
int object_mkdir(struct ns *ns, const struct pin *dir, const char *name,
		 struct refusal *f);
int object_symlink(struct ns *ns, const struct pin *dir, const char *name,
		   const char *target, struct refusal *f);

/* Which part of a link's name is the suffix of its target's file? -EINVAL with the
 * refusal: it has another one. */
int link_suffix(const char *name, const char *target_suffix,
		const char **ret_suffix, struct refusal *f);

/* ---- object_edit.c: with -o edit ---- */
int object_remove(struct ns *ns, const struct pin *dir, const char *name,
		  bool is_dir, struct refusal *f);
int object_rename(struct ns *ns, const struct pin *dir, const char *name,
		  const struct pin *to, const char *new_name,
		  struct refusal *f);

/* ---- object_replace.c: a file over a dataset, with -o edit ---- */
int object_replace(struct ns *ns, struct object *o, const char *name,
		   struct draft *bytes, struct refusal *f);

/* ---- target.c ---- */
/* What a link's relative path in the mount leads to, as an HDF5 path. *ret_suffix:
 * of the file it names, inside target; "" for a directory. -EPERM, -EINVAL with
 * the refusal. */
int target_find(struct ns *ns, struct object *g, const char *target,
		char **ret_path, const char **ret_suffix, struct refusal *f);

/* The same by its text alone: may it be resolved later, component by component?
 * *ret_suffix lies inside target. */
int target_check(const char *target, const char **ret_suffix,
		 struct refusal *f);

/* ---- pending.c ---- */
int pending_path(struct ns *ns, const struct pin *p, char **ret_path);

/* ---- pending_change.c ---- */
int pending_mkdir(struct ns *ns, const struct pin *dir, const char *name,
		  struct refusal *f);
int pending_symlink(struct ns *ns, const struct pin *dir, const char *name,
		    const char *target, struct refusal *f);
int pending_put(struct ns *ns, const struct pin *dir, const char *name,
		const uint8_t *bytes, uint64_t size, struct refusal *f);
/* -ENOENT: there is none of that name. */
int pending_remove(struct ns *ns, const struct pin *dir, const char *name,
		   bool is_dir);
int pending_rename(struct ns *ns, const struct pin *dir, const char *name,
		   const struct pin *to, const char *new_name,
		   struct refusal *f);

#endif
