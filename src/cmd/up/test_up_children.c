/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flag --child: names, paths, words, and its limits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "cmd/up/up_children.h"

/* The words of each child in brackets, or the error. */
static void parse(const char **values, size_t count, struct strbuf *out)
{
	struct flag_values flag = { .v = values, .n = count };
	struct up_children children = { .n = 0 };
	char why[300] = "";
	strbuf_reset(out);
	if (up_children_parse(&flag, &children, ERR_TEXT(why)) < 0)
		strbuf_adds(out, why);
	else
		for (size_t i = 0; i < children.n; i++) {
			strbuf_addf(out, "%s:", children.v[i].name);
			for (size_t k = 0; children.v[i].argv[k] != NULL; k++)
				strbuf_addf(out, "[%s]", children.v[i].argv[k]);
		}
	up_children_done(&children);
}

static void single_values(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "node=/bin/fairlead", "node:[/bin/fairlead]" },
		{ "a-1=./x  --flag=1 'two words' ", "a-1:[./x][--flag=1]['two][words']" },
		{ "node", "expected NAME=PATH" },
		{ "=/bin/x", "expected NAME=PATH" },
		{ "a b=/bin/x", "expected NAME=PATH" },
		{ "a\n=/bin/x", "expected NAME=PATH" },
		{ "aaaaaaaaaabbbbbbbbbbccccccccccddd=/bin/x", "expected NAME=PATH" },
		{ "node=", "needs the path of a program" },
		{ "node=sleep 5", "needs the path of a program" },
	};
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *value = rows[i][0];
		parse(&value, 1, &got);
		if (strstr(got.s, rows[i][1]) == NULL)
			fail_msg("'%s': '%s'", value, got.s);
	}
}

static void several_values(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	const char *two[] = { "a=/x", "b=/y z" }, *twice[] = { "a=/x", "a=/y" };
	parse(two, 2, &got);
	assert_string_equal(got.s, "a:[/x]b:[/y][z]");
	parse(twice, 2, &got);
	assert_string_equal(got.s, "--child: 'a' is named twice");
	parse(NULL, 0, &got);
	assert_string_equal(got.s, "");
}

static void limits(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
	char text[UP_CHILDREN_MAX + 1][16];
	const char *many[UP_CHILDREN_MAX + 1];
	for (int i = 0; i <= UP_CHILDREN_MAX; i++) {
		snprintf(text[i], sizeof(text[i]), "c%d=/x", i);
		many[i] = text[i];
	}
	parse(many, UP_CHILDREN_MAX, &got);
	assert_null(strstr(got.s, "more than"));
	parse(many, UP_CHILDREN_MAX + 1, &got);
	assert_string_equal(got.s, "--child: more than 16 programs");
	strbuf_adds(&words, "a=/x");
	for (int i = 1; i < UP_CHILD_WORDS_MAX; i++)
		strbuf_adds(&words, " y");
	const char *value = words.s;
	parse(&value, 1, &got);
	assert_null(strstr(got.s, "more than"));
	strbuf_adds(&words, " y");
	value = words.s;
	parse(&value, 1, &got);
	assert_string_equal(got.s, "--child: 'a' has more than 64 words");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_values),
		cmocka_unit_test(several_values),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
