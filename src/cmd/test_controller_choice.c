/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which controllers a list chooses. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "cmd/controller_choice.h"

/* The names that were chosen, or the error. */
static void choose(const char *text, struct strbuf *out)
{
	struct controller_choice choice = { 0 };
	char why[256] = "";
	strbuf_reset(out);
	if (controller_choice_parse(text, &choice, ERR_TEXT(why)) < 0)
		strbuf_addf(out, "error: %s", why);
	else
		for (size_t i = 0; i < choice.n; i++)
			strbuf_addf(out, "%s%s", i != 0 ? " " : "", choice.v[i]->name);
	controller_choice_done(&choice);
}

/* What `*` means, from the registry: tests hold whatever controllers there are. */
static void list_usual(struct strbuf *out, const char *without)
{
	strbuf_reset(out);
	for (size_t i = 0; controller_list[i] != NULL; i++) {
		if (!controller_list[i]->by_name_only &&
		    strcmp(controller_list[i]->name, without) != 0)
			strbuf_addf(out, "%s%s", out->n != 0 ? " " : "", controller_list[i]->name);
	}
}

static void lists(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ NULL, "" },
		{ "", "" },
		{ "example", "example" },
		{ " example , dnsoperator ", "example dnsoperator" },
		{ "nonsense", "error: unknown controller 'nonsense'" },
		{ "example,example", "error: controller 'example' is named twice" },
		{ "*,-nonsense", "error: unknown controller 'nonsense'" },
		{ "*,-", "error: unknown controller '-'" },
		{ "-example", "error: '-example' leaves out of nothing: write '*,-example'" },
		{ "*,example,-example", "error: controller 'example' is both named and left out" },
		{ "example,,dnsoperator", "error: unknown controller ''" },
	};
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		choose(rows[i][0], &got);
		assert_string_equal(got.s, rows[i][1]);
	}
}

static void all_but_some(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
	choose("*", &got);
	list_usual(&want, "");
	assert_string_equal(got.s, want.s);
	assert_non_null(strstr(got.s, "dnsoperator"));
	assert_null(strstr(got.s, "example"));
	choose("-dnsoperator,*", &got);
	list_usual(&want, "dnsoperator");
	assert_string_equal(got.s, want.s);
	choose("*,example,-dnsoperator", &got);
	assert_non_null(strstr(got.s, "example"));
	assert_null(strstr(got.s, "dnsoperator"));
	choose("*,-example", &got); /* was not in it: fine */
	list_usual(&want, "");
	assert_string_equal(got.s, want.s);
}

static void long_words(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	char text[1000] = "*,-";
	memset(text + 3, 'x', sizeof(text) - 4);
	choose(text, &got);
	assert_int_equal(got.n, strlen("error: unknown controller ''") + 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(all_but_some),
		cmocka_unit_test(long_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
