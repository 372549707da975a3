/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of the annotation dns.fairlead.dev/config. */
#include "hook/dns_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"

/* The error, or the settings after "=". */
static const struct {
	const char *text, *want;
} rows[] = {
	{ "{}", "=" },
	{ "{\"nameservers\":[\"1.2.3.4\",\"::1\"]}", "=n1.2.3.4 n::1 " },
	{ "{\"searches\":[\"a.example\",\".\"],\"nameservers\":[]}", "=sa.example s. " },
	{ "{\"options\":[{\"name\":\"ndots\",\"value\":\"2\"},{\"name\":\"edns0\"}]}",
	  "=ondots:2 oedns0: " },
	{ "{\"options\":[{\"name\":\"x\",\"value\":null}],\"searches\":null}", "=ox: " },
	{ "{\"options\":[{}]}", "=o: " },
	{ "[]", "dnsConfig is no JSON object" },
	{ "{\"nameserver\":[]}", "dnsConfig has the unknown member 'nameserver'" },
	{ "{\"nameservers\":\"1.2.3.4\"}", "dnsConfig.nameservers is no list" },
	{ "{\"nameservers\":[\"1.2.3.4\",5]}", "dnsConfig.nameservers[1] is no text" },
	{ "{\"searches\":{}}", "dnsConfig.searches is no list" },
	{ "{\"searches\":[null]}", "dnsConfig.searches[0] is no text" },
	{ "{\"options\":{\"name\":\"ndots\"}}", "dnsConfig.options is no list" },
	{ "{\"options\":[\"ndots:2\"]}",
	  "dnsConfig.options[0] is no object with 'name' and 'value'" },
	{ "{\"options\":[{\"name\":\"ndots\",\"value\":2}]}",
	  "dnsConfig.options[0].value is no text" },
	{ "{\"options\":[{\"name\":\"a\"},{\"name\":true}]}",
	  "dnsConfig.options[1].name is no text" },
	{ "{\"options\":[{\"name\":\"a\",\"values\":\"b\"}]}",
	  "dnsConfig.options[0] has the unknown member 'values'" },
};

static void print_texts(struct strbuf *out, char letter, const struct slice *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_addf(out, "%c%.*s ", letter, (int)texts[i].n, texts[i].p);
}

static void reads_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct podresolv_config config = { 0 };
		struct strbuf got = STRBUF_INIT;
		struct arena arena;
		char why[256] = "";
		arena_init(&arena);
		json_t *tree = json_loads(rows[i].text, 0, NULL);
		assert_non_null(tree);
		int r = hook_dns_config_read(tree, &arena, &config, ERR_TEXT(why));
		strbuf_adds(&got, r < 0 ? why : "=");
		print_texts(&got, 'n', config.nameservers, config.n_nameservers);
		print_texts(&got, 's', config.searches, config.n_searches);
		for (size_t o = 0; o < config.n_options; o++)
			strbuf_addf(&got, "o%.*s:%.*s ", (int)config.options[o].name.n,
				    config.options[o].name.p, (int)config.options[o].value.n,
				    config.options[o].value.p);
		assert_string_equal(got.s, rows[i].want);
		strbuf_done(&got);
		json_decref(tree);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reads_rows) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
