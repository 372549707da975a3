/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record sets of DNSRecords: what is refused, with its field (DR-8, DR-9, DR-10), and the one form of
 * what is accepted (DR-4, DR-29, DR-30, DR-31). */
#include "api/record_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/types.h"

enum { VALUES_MAX = 4 };

#define L63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

struct row {
	int type;
	const char *name;
	const char *values[VALUES_MAX + 1];
	/* "name value|value", or "!errors" */
	const char *want;
};

static const struct row rows[] = {
	/* names: DR-8, DR-31 */
	{ API_RECORD_A, "a.example.com", { "192.0.2.1" }, "a.example.com 192.0.2.1" },
	{ API_RECORD_A, "A.Example.COM.", { "192.0.2.1" }, "a.example.com 192.0.2.1" },
	{ API_RECORD_A, "*.x.example.com", { "192.0.2.1" }, "*.x.example.com 192.0.2.1" },
	{ API_RECORD_CNAME,
	  "*.X.example.com",
	  { "b.example.com" },
	  "*.x.example.com b.example.com" },
	{ API_RECORD_A, L63 ".com", { "192.0.2.1" }, L63 ".com 192.0.2.1" },
	{ API_RECORD_A, L63 "x.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, L63 "." L63 "." L63 "." L63, { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "example", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, ".", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "a..example.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "a.example.com..", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "-a.example.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "a-.example.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "a b.example.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "\xc3\xa4.example.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "x.*.example.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "*.*.example.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "*.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_A, "_a.example.com", { "192.0.2.1" }, "!spec.name" },
	{ API_RECORD_CNAME,
	  "_a._b.example.com",
	  { "c.example.com" },
	  "_a._b.example.com c.example.com" },
	{ API_RECORD_TXT, "_acme-challenge.x.y", { "t" }, "_acme-challenge.x.y t" },
	{ API_RECORD_TXT, "*.x.y", { "t" }, "!spec.name" },
	/* addresses: DR-10, DR-30 */
	{ API_RECORD_A,
	  "a.b",
	  { "192.0.2.2", "192.0.2.1", "192.0.2.2" },
	  "a.b 192.0.2.1|192.0.2.2" },
	{ API_RECORD_A, "a.b", { "192.0.2.256" }, "!spec.values[0]" },
	{ API_RECORD_A, "a.b", { "192.0.2.1", "192.0.2" }, "!spec.values[1]" },
	{ API_RECORD_A, "a.b", { "192.0.2.01" }, "!spec.values[0]" },
	{ API_RECORD_A, "a.b", { " 192.0.2.1" }, "!spec.values[0]" },
	{ API_RECORD_A, "a.b", { "2001:db8::1" }, "!spec.values[0]" },
	{ API_RECORD_A, "a.b", { "" }, "!spec.values[0]" },
	{ API_RECORD_A, "a", { "x", "y" }, "!spec.name spec.values[0] spec.values[1]" },
	{ API_RECORD_AAAA, "a.b", { "2001:DB8:0:0::1", "2001:db8::1" }, "a.b 2001:db8::1" },
	{ API_RECORD_AAAA, "a.b", { "2001:db8::2", "::1" }, "a.b 2001:db8::2|::1" },
	{ API_RECORD_AAAA, "a.b", { "192.0.2.1" }, "!spec.values[0]" },
	{ API_RECORD_AAAA, "a.b", { "::ffff:192.0.2.1" }, "!spec.values[0]" },
	{ API_RECORD_AAAA, "a.b", { "fe80::1%eth0" }, "!spec.values[0]" },
	{ API_RECORD_A, "a.b", { NULL }, "!spec.values" },
	/* names as values */
	{ API_RECORD_CNAME, "a.b", { "LB.Example.Com." }, "a.b lb.example.com" },
	{ API_RECORD_CNAME, "a.b", { "x.example.com", "y.example.com" }, "!spec.values" },
	{ API_RECORD_CNAME, "a.b", { "192.0.2.1" }, "a.b 192.0.2.1" },
	{ API_RECORD_CNAME, "a.b", { "localhost" }, "!spec.values[0]" },
	{ API_RECORD_CNAME, "a.b", { "*.x.y" }, "!spec.values[0]" },
	{ API_RECORD_CNAME, "a.b", { "A.B." }, "!spec.values[0]" },
	/* TXT: DR-29 */
	{ API_RECORD_TXT, "a.b", { "" }, "a.b " },
	{ API_RECORD_TXT, "a.b", { "b b", "a;a" }, "a.b a;a|b b" },
	{ API_RECORD_TXT, "a.b", { "say \"hi\"" }, "a.b say \"hi\"" },
	{ API_RECORD_TXT, "a.b", { "back\\slash" }, "a.b back\\slash" },
	{ API_RECORD_TXT, "a.b", { "\x01\xc3\xa4" }, "a.b \x01\xc3\xa4" },
	{ API_RECORD_TXT, "a.b", { "\"quoted text\"", "quoted text" }, "a.b quoted text" },
	{ API_RECORD_TXT, "a.b", { "\"one\" \"two\"" }, "a.b onetwo" },
	{ API_RECORD_TXT, "a.b", { "\"a\\\"b\\\\c\\065\"" }, "a.b a\"b\\cA" },
	{ API_RECORD_TXT, "a.b", { "\"" }, "a.b \"" },
	{ API_RECORD_TXT, "a.b", { "\"\"" }, "a.b " },
	{ API_RECORD_TXT, "a.b", { "\"a\" b \"c\"" }, "!spec.values[0]" },
	{ API_RECORD_TXT, "a.b", { "\"a\\\"" }, "!spec.values[0]" },
	{ API_RECORD_TXT, "a.b", { "\"a\\000\"" }, "!spec.values[0]" },
	{ API_RECORD_TXT, "a.b", { "\"a\\25\"" }, "!spec.values[0]" },
	{ API_RECORD_TXT, "a.b", { "\"a\\256\"" }, "!spec.values[0]" },
};

static void describe(const struct row *row, struct strbuf *out)
{
	struct api_dnsrecord record = { .name = row->name, .record_type = row->type, .ttl_s = 60 };
	const char *values[VALUES_MAX];
	struct api_errors errors = { 0 };
	struct api_record_set set;
	struct arena arena;
	arena_init(&arena);
	for (; row->values[record.values.n] != NULL; record.values.n++)
		values[record.values.n] = row->values[record.values.n];
	record.values.v = values;
	int r = api_record_set_make(&record, &arena, &set, &errors);
	assert_int_equal(r, errors.n != 0 ? ERR_CONFIG : 0);
	strbuf_adds(out, r < 0 ? "!" : set.name);
	for (size_t i = 0; i < errors.n; i++)
		strbuf_addf(out, "%s%s", i == 0 ? "" : " ", errors.v[i].field);
	for (size_t i = 0; r == 0 && i < set.values.n; i++)
		strbuf_addf(out, "%s%s", i == 0 ? " " : "|", set.values.v[i]);
	api_errors_done(&errors);
	arena_done(&arena);
}

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		describe(&rows[i], &out);
		assert_string_equal(out.s, rows[i].want);
	}
}

static void type_and_ttl(void **state)
{
	const char *value = "t";
	struct api_dnsrecord record = {
		.name = "a.b", .record_type = API_RECORD_TXT, .values = { &value, 1 }, .ttl_s = 0
	};
	struct api_errors errors = { 0 };
	struct api_record_set set;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	assert_int_equal(api_record_set_make(&record, &arena, &set, &errors), 0);
	assert_int_equal(set.ttl_s, 0); /* DR-4 */
	assert_int_equal(set.type, DNS_TYPE_TXT);
	record.ttl_s = INT32_MAX;
	assert_int_equal(api_record_set_make(&record, &arena, &set, &errors), 0);
	assert_int_equal(set.ttl_s, INT32_MAX);
	arena_done(&arena);
}

static void messages(void **state)
{
	const char *values[] = { "192.0.2.1", "::1" };
	struct api_dnsrecord record = { .name = "example",
					.record_type = API_RECORD_A,
					.values = { values, 2 } };
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct api_errors errors = { 0 };
	struct api_record_set set;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	assert_int_equal(api_record_set_make(&record, &arena, &set, &errors), ERR_CONFIG);
	api_errors_text(&errors, "DNSRecord.extensions.gardener.cloud", "x", &text);
	assert_string_equal(
		text.s, "DNSRecord.extensions.gardener.cloud \"x\" is invalid: [spec.name: Invalid "
			"value: \"example\": must be a domain name of at least two labels, "
			"spec.values[1]: Invalid value: \"::1\": must be an IPv4 address]");
	api_errors_done(&errors);
	errors = (struct api_errors){ 0 };
	strbuf_reset(&text);
	record.name = "\xc3\xbc.example.com";
	assert_int_equal(api_record_set_make(&record, &arena, &set, &errors), ERR_CONFIG);
	api_errors_text(&errors, "DNSRecord", "x", &text);
	assert_non_null(strstr(text.s, "write other letters in their xn-- form"));
	api_errors_done(&errors);
	arena_done(&arena);
}

static void longest_text(void **state)
{
	char value[API_RECORD_TXT_MAX + 2];
	const char *values[] = { value };
	struct api_dnsrecord record = { .name = "a.b",
					.record_type = API_RECORD_TXT,
					.values = { values, 1 } };
	struct api_errors errors = { 0 };
	struct api_record_set set;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	assert_int_equal(api_record_set_make(&record, &arena, &set, &errors), ERR_CONFIG);
	value[sizeof(value) - 2] = '\0';
	assert_int_equal(api_record_set_make(&record, &arena, &set, &errors), 0);
	assert_int_equal(strlen(set.values.v[0]), API_RECORD_TXT_MAX);
	api_errors_done(&errors);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(type_and_ttl),
		cmocka_unit_test(messages),
		cmocka_unit_test(longest_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
