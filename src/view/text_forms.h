/* SPDX-License-Identifier: MIT */
/* text_forms.h - the kinds of dataset that view_text shows. */
#ifndef H5FS_TEXT_FORMS_H
#define H5FS_TEXT_FORMS_H

#include "view_int.h"

struct text_form {
	bool (*accepts)(const struct view_source *s);
	uint64_t (*blocks)(const struct view_source *s);
	int (*render)(const struct view_source *s, uint64_t block,
		      struct strbuf *out);
};
/* Calls fn for the elements of a block of `elements`. */
int text_block(const struct view_source *s, uint64_t block, uint64_t elements,
	       cells_fn fn, void *arg);

bool matlab_char_accepts(const struct view_source *s);
uint64_t matlab_char_blocks(const struct view_source *s);
int matlab_char_render(const struct view_source *s, uint64_t block,
		       struct strbuf *out);
bool matlab_cell_accepts(const struct view_source *s);
uint64_t matlab_cell_blocks(const struct view_source *s);
int matlab_cell_render(const struct view_source *s, uint64_t block,
		       struct strbuf *out);

#endif
