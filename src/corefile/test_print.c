/* SPDX-License-Identifier: GPL-3.0-or-later */
/* print and json: canonical text, quoting, and the bytes CoreDNS hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "corefile/corefile.h"
#include "corefile/print_test.h"

static const char *fake_env(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "X") == 0 ? "a b" : strcmp(name, "BACK") == 0 ? "a b\\" : NULL;
}

static const struct corefile_source source = { .env = fake_env };

static const struct {
	const char *text;
	const char *print;
	const char *json;
} cases[] = {
	{ "", "", "null" },
	{ "{ \n whoami \n}", "", "null" },
	{ "a.org", "a.org {\n}\n", "[{\"Keys\":[\"a.org\"],\"Tokens\":{}}]" },
	{ "a,\nb c\nd {$X}", "a b c {\n\td \"a b\"\n}\n",
	  "[{\"Keys\":[\"a\",\"b\",\"c\"],\"Tokens\":{\"d\":[{\"File\":\"\",\"Line\":3,\"Text\":"
	  "\"d\"},"
	  "{\"File\":\"\",\"Line\":3,\"Text\":\"a b\"}]}}]" },
	{ "a {\n}\nb {\n z 1\n y {\n }\n z 2\n}", "a {\n}\n\nb {\n\tz 1\n\ty {\n\t}\n\tz 2\n}\n",
	  "[{\"Keys\":[\"a\"],\"Tokens\":{}},{\"Keys\":[\"b\"],\"Tokens\":{\"y\":[{\"File\":\"\","
	  "\"Line\":5,"
	  "\"Text\":\"y\"},{\"File\":\"\",\"Line\":5,\"Text\":\"{\"},{\"File\":\"\",\"Line\":6,"
	  "\"Text\":\"}\"}],"
	  "\"z\":[{\"File\":\"\",\"Line\":4,\"Text\":\"z\"},{\"File\":\"\",\"Line\":4,\"Text\":"
	  "\"1\"},"
	  "{\"File\":\"\",\"Line\":7,\"Text\":\"z\"},{\"File\":\"\",\"Line\":7,\"Text\":\"2\"}]}}"
	  "]" },
	{ "a\nd \"<&>\" \"\\\"\\x\" \"\n\t\x01\" \"\xe2\x80\xa8\"",
	  "a {\n\td <&> \"\\\"\\x\" \"\n\t\x01\" \"\xe2\x80\xa8\"\n}\n",
	  "[{\"Keys\":[\"a\"],\"Tokens\":{\"d\":[{\"File\":\"\",\"Line\":2,\"Text\":\"d\"},{"
	  "\"File\":\"\",\"Line\":2,"
	  "\"Text\":\"\\u003c\\u0026\\u003e\"},{\"File\":\"\",\"Line\":2,\"Text\":\"\\\"\\\\x\"},{"
	  "\"File\":\"\","
	  "\"Line\":2,\"Text\":\"\\n\\t\\u0001\"},{\"File\":\"\",\"Line\":3,\"Text\":\"\\u2028\"}]}"
	  "}]" },
	/* The name of a directive stays as it was written, its group has the expanded one. */
	{ "a\nd{$UNSET}", "a {\n\td\n}\n",
	  "[{\"Keys\":[\"a\"],\"Tokens\":{\"d\":[{\"File\":\"\",\"Line\":2,\"Text\":\"d{$UNSET}\"}]"
	  "}}]" },
	{ "a\nd \"{\" \"}\" \"import\" \"\" \"a#b\" \"\\\"\" x\"y \"(b)\" \\ \"a \\\\\"",
	  "a {\n\td \"{\" \"}\" \"import\" \"\" \"a#b\" \"\\\"\" x\"y (b) \\ \"a \\\\\"\n}\n",
	  NULL },
};

static struct corefile *parse(const char *text)
{
	struct corefile *cf = NULL;
	assert_int_equal(corefile_parse("Corefile", slice_of(text), &source, &cf, NULL), 0);
	return cf;
}

static void prints_canonically(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct strbuf out = STRBUF_INIT;
		struct corefile *cf = parse(cases[i].text);
		assert_int_equal(corefile_print(cf, &out), 0);
		assert_string_equal(out.s, cases[i].print);
		corefile_free(cf);
		cf = parse(cases[i].print);
		strbuf_reset(&out);
		assert_int_equal(corefile_print(cf, &out), 0);
		assert_string_equal(out.s, cases[i].print);
		corefile_free(cf);
		strbuf_done(&out);
	}
}

static void gives_the_tokens_coredns_hashes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (cases[i].json == NULL)
			continue;
		struct strbuf out = STRBUF_INIT;
		struct corefile *cf = parse(cases[i].text);
		corefile_json(cf, &out);
		assert_string_equal(out.s, cases[i].json);
		corefile_free(cf);
		strbuf_done(&out);
	}
}

static void refuses_what_cannot_be_written(void **state)
{
	(void)state;
	static const struct word odd[] = { { "a b\\", { "f", 1, 1 } },
					   { "a b\\\"c", { "f", 1, 1 } },
					   { "a b\\\\\"c", { "f", 1, 1 } } };
	static const int want[] = { ERR_UNSUPPORTED, ERR_UNSUPPORTED, 0 };
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		const struct corefile_block block = { .key = &odd[i], .n_key = 1 };
		const struct corefile cf = { .block = &block, .n_block = 1 };
		struct strbuf out = STRBUF_INIT;
		assert_int_equal(corefile_print(&cf, &out), want[i]);
		strbuf_done(&out);
	}
	struct strbuf out = STRBUF_INIT;
	struct corefile *cf = parse("a\nd {$BACK}");
	assert_int_equal(corefile_print(cf, &out), ERR_UNSUPPORTED);
	corefile_free(cf);
	strbuf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_canonically),
		cmocka_unit_test(gives_the_tokens_coredns_hashes),
		cmocka_unit_test(refuses_what_cannot_be_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
