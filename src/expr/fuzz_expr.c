/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses any text as an expression and evaluates it with a small arena. */
#include <stdint.h>

#include "base/arena.h"
#include "base/regex/regex.h"
#include "expr/test_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct expr_value values[] = {
		{ .type = EXPR_INT, .i = 7 },
		{ .type = EXPR_STRING, .s = { "seven", 5 } },
		{ .type = EXPR_NIL },
	};
	static const struct expr_var vars[] = { { { "vi", 2 }, EXPR_INT, NULL },
						{ { "vs", 2 }, EXPR_STRING, &values[1] },
						{ { "va", 2 }, EXPR_ANY, NULL } };
	const struct expr_env env = { test_env_funcs, TEST_ENV_FUNCS, vars, ARRAY_LEN(vars) };
	static char buf[16 * 1024];
	char text[1024];
	struct expr *e;
	struct srcerr err;
	struct arena a;
	struct expr_value v;
	size_t n;
	if (expr_parse((struct slice){ (const char *)data, size }, (struct srcpos){ 0 }, &env, &e,
		       &err) < 0)
		return 0;
	arena_init_fixed(&a, buf, sizeof(buf));
	struct expr_run run = { .vars = values,
				.arena = &a,
				.scratch = regex_scratch_new(expr_regex_groups(e)) };
	if (expr_eval(e, &run, &v, text, sizeof(text)) == 0)
		IGNORE(expr_value_print(&v, text, sizeof(text), &n)); /* may be too long */
	regex_scratch_free(run.scratch);
	expr_free(e);
	return 0;
}
