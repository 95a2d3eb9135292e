/* SPDX-License-Identifier: MIT */
/* picture_tool.c - what is made of image files, for compare.py: reads lines
 *
 *	FILE [WIDTH HEIGHT CHANNELS BITS MASK BOOLEAN FIT]
 *
 * and answers each with a line "WIDTH HEIGHT CHANNELS BITS DEPTH COLOURS BYTES" and
 * so many bytes, or with a line "- WHY". */
#include <stdio.h>

#include "h5fs/image.h"

static int answer(const char *line)
{
	static const char *const fits[] = { "exact", "resize", "letterbox",
					    "crop" };
	CLEANUP(blob_unrefp) struct blob *file = NULL;
	CLEANUP(picture_done) struct picture p = { 0 };
	CLEANUP(picture_done) struct picture out = { 0 };
	CLEANUP(freep) char *why = NULL;
	struct picture_want w = { 0 };
	char path[1024], fit[16] = "";
	int mask = 0, boolean = 0, r;

	if (sscanf(line, "%1023s %u %u %u %u %d %d %15s", path, &w.width,
		   &w.height, &w.channels, &w.bits, &mask, &boolean, fit) < 1)
		return 1;
	w.mask = mask;
	w.boolean = boolean;
	for (size_t i = 0; i < ARRAY_SIZE(fits); i++)
		if (!strcmp(fit, fits[i]))
			w.fit = (enum fit)i;
	r = io_read_file(path, SIZE_MAX, &file);
	if (r == 0)
		r = picture_decode(file->data, file->size, NULL, &p, &why);
	if (r == 0 && *fit)
		r = picture_fit(&p, &w, &out, &why);
	if (r < 0) {
		printf("- %s\n", why ? why : strerror(-r));
		return 0;
	}
	if (!*fit) {
		out = p;
		blob_ref(out.pixels);
	}
	printf("%u %u %u %u %u %u %zu\n", out.width, out.height, out.channels,
	       out.bits, out.depth, out.ncolours, out.pixels->size);
	fwrite(out.pixels->data, 1, out.pixels->size, stdout);
	return 0;
}

int main(void)
{
	char line[2048];

	while (fgets(line, sizeof(line), stdin)) {
		if (answer(line))
			return 1;
		fflush(stdout);
	}
	return 0;
}
