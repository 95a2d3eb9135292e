/* SPDX-License-Identifier: MIT */
/* npy_tool.c - what is read of .npy files, for compare.py: for each line with a
 * FILE a line "SHAPE TYPE\tBYTES" and so many bytes in C order, or "- WHY". */
#include <stdio.h>

#include "h5fs/stage.h"

static void answer(const char *path)
{
	CLEANUP(blob_unrefp) struct blob *file = NULL, *elements = NULL;
	CLEANUP(npy_done) struct npy n = { 0 };
	struct refusal why = { 0 };
	int r = io_read_file(path, SIZE_MAX, &file);

	if (r == 0)
		r = npy_parse(file->data, file->size, &n, &why);
	if (r == 0)
		r = npy_elements(&n, file->data, &elements);
	if (r < 0) {
		printf("- %s\n", why.reason ? why.reason : strerror(-r));
	} else {
		printf("%u %u %zu\n", n.rank, n.type->size, elements->size);
		fwrite(elements->data, 1, elements->size, stdout);
	}
	refusal_done(&why);
}

int main(void)
{
	char line[2048];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		answer(line);
		fflush(stdout);
	}
	return 0;
}
