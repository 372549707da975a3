/* SPDX-License-Identifier: GPL-3.0-or-later */
/* expand: which references are replaced, and that it ends. */
#include "corefile/expand_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static const struct {
	const char *name;
	const char *value;
} variables[] = {
	{ "PORT", "8080" },	{ "ADDRESS", "servername.com" },
	{ "EMPTY", "" },	{ "SELF", "x{$SELF}" },
	{ "PING", "{%PONG%}" }, { "PONG", "{$PING}" },
	{ "VIA", "{%PORT%}" },	{ "BAD", "\xff" },
	{ "A0", "{$A1}{$A1}" }, { "A B", "with space" },
	{ "A1", "{$A2}{$A2}" },
};

static const char *fake_env(void *ctx, const char *name)
{
	static char deeper[32];
	(void)ctx;
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		if (strcmp(variables[i].name, name) == 0)
			return variables[i].value;
	}
	unsigned n;
	if (sscanf(name, "A%u", &n) != 1)
		return NULL;
	snprintf(deeper, sizeof(deeper), "{$A%u}{$A%u}", n + 1, n + 1);
	return deeper;
}

static const struct corefile_source source = { .env = fake_env };

static const struct {
	const char *text;
	const char *want; /* NULL: refused */
} cases[] = {
	{ "plain", "plain" },
	{ "{$ADDRESS}", "servername.com" },
	{ "di{$PORT}", "di8080" },
	{ "{$ADDRESS}:{$PORT}", "servername.com:8080" },
	{ "{%ADDRESS%}:{$PORT}", "servername.com:8080" },
	{ "{$ADDRESS}:{%PORT%}", "servername.com:8080" },
	{ "{%ADDRESS%}/{%PORT%}", "servername.com/8080" },
	{ "{%ADDRESS}", "{%ADDRESS}" },
	{ "{$PORT", "{$PORT" },
	{ ":{$PORT$}", ":" },
	{ "{{ .Name }} {$PORT}", "{{ .Name }} 8080" },
	{ "{{$x}}", "{}" },
	{ "{{ $x }}", "{{ $x }}" },
	{ "{$UNSET}{$EMPTY}", "" },
	{ "{$A B}", "with space" },
	{ "{$}", "{$}" },
	{ "{%}", "{%}" },
	{ "{%%}", "{%%}" },
	{ "{$$}", "" },
	/* A reference without a name ends the pass; equal ones before it are all replaced. */
	{ "{$}{$PORT}", "{$}{$PORT}" },
	{ "{$PORT}{$}{$PORT}", "8080{$}8080" },
	{ "{$PORT}{$}{$ADDRESS}", "8080{$}{$ADDRESS}" },
	{ "{%%}{$PORT}", "{%%}8080" },
	{ "{$VIA}", "8080" },
	{ "{$BAD}", "\xef\xbf\xbd" },
	{ "{$SELF}", NULL },
	{ "{$PING}", NULL },
	{ "{$A0}", NULL },
};

static void replaces(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct word w = { cases[i].text, { "f", 1, 2 } };
		struct srcerr err = { .text = "" };
		const char *got;
		int r = corefile_expand(&a, &source, &w, &got, &err);
		if (cases[i].want == NULL) {
			assert_int_equal(r, ERR_LIMIT);
			assert_int_equal(err.pos.col, 2);
			continue;
		}
		assert_int_equal(r, 0);
		assert_string_equal(got, cases[i].want);
	}
	arena_done(&a);
}

static void without_source_all_are_unset(void **state)
{
	(void)state;
	struct arena a;
	const char *got;
	struct word w = { "a{$PORT}b", { "f", 1, 1 } };
	arena_init(&a);
	assert_int_equal(corefile_expand(&a, NULL, &w, &got, NULL), 0);
	assert_string_equal(got, "ab");
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaces),
		cmocka_unit_test(without_source_all_are_unset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
