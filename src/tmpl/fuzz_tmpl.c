/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text is parsed; what parses is printed back, which must not change by doing it again, and is
 * executed in little memory. */
#include "tmpl/tmpl.h"

#include <stdlib.h>

#include "tmpl/test_data.h"

enum { OUT_BYTES = 2048, ARENA_BYTES = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct tmpl *t)
{
	struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
	struct tmpl *again = NULL;
	struct srcerr err;
	tmpl_text(t, &once);
	/* It may not parse: definitions are no part of it, and "{ {{- .x}}" becomes "{{{.x}}". */
	if (tmpl_parse(strbuf_slice(&once), (struct srcpos){ "t", 1, 1 }, &data_env, &again,
		       &err) == 0) {
		tmpl_text(again, &twice);
		if (!slice_eq(strbuf_slice(&once), strbuf_slice(&twice)))
			abort();
		tmpl_free(again);
	}
	strbuf_done(&once);
	strbuf_done(&twice);
}

static void execute(const struct tmpl *t)
{
	/* Exact sizes on the heap let the address sanitizer see a step past the end. */
	char *out = malloc(OUT_BYTES), *memory = malloc(ARENA_BYTES), *why = malloc(128);
	struct arena a;
	size_t n = 0;
	if (out == NULL || memory == NULL || why == NULL)
		abort();
	arena_init_fixed(&a, memory, ARENA_BYTES);
	struct tmpl_run run = data_run(&a, why, 128);
	int r = tmpl_exec(t, &run, out, OUT_BYTES, &n);
	if (r > 0 || n > OUT_BYTES || (r < 0 && strlen(why) >= 128))
		abort();
	free(why);
	free(memory);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tmpl *t = NULL;
	struct srcerr err;
	struct slice text = { (const char *)data, size };
	if (tmpl_parse(text, (struct srcpos){ "t", 1, 1 }, &data_env, &t, &err) < 0)
		return 0;
	check_text(t);
	for (size_t i = 0; i < tmpl_n_parts(t); i++)
		(void)tmpl_part(t, i);
	execute(t);
	tmpl_free(t);
	return 0;
}
