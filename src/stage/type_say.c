/* SPDX-License-Identifier: MIT */
/* type_say.c - types and shapes in words, for refusals. */
#include "accept_int.h"

static const struct {
	const char *word;
	bool sized; /* the bits are told */
} words[] = {
	[DT_UINT] = { "uint", true },
	[DT_INT] = { "int", true },
	[DT_FLOAT] = { "float", true },
	[DT_BOOL] = { "bool", false },
	[DT_COMPLEX] = { "complex", true },
	[DT_ENUM] = { "enumeration", false },
	[DT_VLSTR] = { "string", false },
	[DT_OPAQUE] = { "opaque", false },
	[DT_COMPOUND] = { "compound", false },
	[DT_VLEN] = { "sequence", false },
	[DT_REF] = { "reference", false },
	[DT_REGREF] = { "reference", false },
};

static void put_dims(unsigned rank, const uint64_t *dims, struct strbuf *out)
{
	strbuf_putc(out, '(');
	for (unsigned k = 0; k < rank; k++)
		strbuf_printf(out, "%s%llu", k ? ", " : "",
			      (unsigned long long)dims[k]);
	strbuf_puts(out, rank == 1 ? ",)" : ")");
}

void type_say(const struct dtype *t, struct strbuf *out)
{
	if (t->class == DT_ARRAY) {
		put_dims(t->rank, t->dims, out);
		strbuf_putc(out, ' ');
		type_say(t->base, out);
	} else if (t->class == DT_STRING) {
		strbuf_printf(out, "string of %u bytes",
			      t->tag ? t->size / 4 : t->size);
	} else if (words[t->class].sized) {
		strbuf_printf(out, "%s%u", words[t->class].word, 8 * t->size);
	} else {
		strbuf_puts(out, words[t->class].word);
	}
}

void shape_say(unsigned rank, const uint64_t *dims, const struct dtype *t,
	       struct strbuf *out)
{
	if (rank) {
		put_dims(rank, dims, out);
		strbuf_putc(out, ' ');
	} else {
		strbuf_puts(out, "a single ");
	}
	type_say(t, out);
}
