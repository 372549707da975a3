/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values to wire form and back: each type, the splitting of texts, limits, errors that leave nothing
 * behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "dns/types.h"
#include "dns/rrtext/values.h"

#define WIRE(bytes) bytes, sizeof(bytes) - 1

static void assert_wire(uint16_t type, const char *text, const char *wire, size_t wire_n)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	assert_int_equal(dns_values_to_wire(type, &text, 1, &out), 0);
	assert_int_equal(out.n, wire_n);
	assert_memory_equal(out.s, wire, wire_n);
	/* And back. */
	strbuf_reset(&out);
	assert_int_equal(dns_value_from_wire(type, (const uint8_t *)wire + 2, wire_n - 2, &out), 0);
	assert_string_equal(out.s, text);
}

static void each_type(void **state)
{
	(void)state;
	assert_wire(DNS_TYPE_A, "192.0.2.1", WIRE("\0\4\300\0\2\1"));
	assert_wire(DNS_TYPE_AAAA, "2001:db8::1",
		    WIRE("\0\20\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0\1"));
	assert_wire(DNS_TYPE_CNAME, "a.example", WIRE("\0\13\1a\7example\0"));
	assert_wire(DNS_TYPE_TXT, "a \"b\"", WIRE("\0\6\5a \"b\""));
	assert_wire(DNS_TYPE_TXT, "", WIRE("\0\1\0"));
}

static void long_texts_are_split(void **state)
{
	(void)state;
	char text[600];
	const char *value = text;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	memset(text, 'x', sizeof(text));
	text[255] = '\0';
	assert_int_equal(dns_values_to_wire(DNS_TYPE_TXT, &value, 1, &out), 0);
	assert_int_equal(out.n, 2 + 1 + 255);
	strbuf_reset(&out);
	text[255] = 'x';
	text[511] = '\0';
	assert_int_equal(dns_values_to_wire(DNS_TYPE_TXT, &value, 1, &out), 0);
	assert_int_equal(out.n, 2 + 1 + 255 + 1 + 255 + 1 + 1);
	assert_int_equal((uint8_t)out.s[2 + 256], 255);
	assert_int_equal((uint8_t)out.s[2 + 512], 1);
}

static void errors_leave_nothing(void **state)
{
	(void)state;
	static const struct {
		uint16_t type;
		const char *text;
	} bad[] = {
		{ DNS_TYPE_A, "2001:db8::1" },	{ DNS_TYPE_A, "192.0.2" },
		{ DNS_TYPE_AAAA, "192.0.2.1" }, { DNS_TYPE_CNAME, "a..example" },
		{ DNS_TYPE_CNAME, "" },
	};
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	strbuf_adds(&out, "before");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(dns_values_to_wire(bad[i].type, &bad[i].text, 1, &out), ERR_PARSE);
		assert_int_equal(out.n, 6);
	}
	const char *text = "x";
	assert_int_equal(dns_values_to_wire(DNS_TYPE_MX, &text, 1, &out), ERR_UNSUPPORTED);
}

static void data_of_others(void **state)
{
	(void)state;
	static const struct {
		uint16_t type;
		const char *wire;
		size_t n;
		const char *text; /* NULL: an error */
	} rows[] = {
		{ DNS_TYPE_A, WIRE("\300\0\2"), NULL },
		{ DNS_TYPE_AAAA, WIRE("\300\0\2\1"), NULL },
		{ DNS_TYPE_CNAME, WIRE("\1A\7Example\0"), "a.example" },
		{ DNS_TYPE_CNAME, WIRE("\0"), "." },
		{ DNS_TYPE_CNAME, WIRE("\1a"), NULL },
		{ DNS_TYPE_CNAME, WIRE("\1a\0x"), NULL },
		{ DNS_TYPE_TXT, WIRE("\1a\0\2bc"), "abc" },
		{ DNS_TYPE_TXT, WIRE("\3a\0b"), "a\\000b" },
		{ DNS_TYPE_TXT, WIRE("\1a\5b"), NULL },
		{ DNS_TYPE_TXT, WIRE(""), NULL },
		{ DNS_TYPE_MX, WIRE("x"), NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		int r = dns_value_from_wire(rows[i].type, (const uint8_t *)rows[i].wire, rows[i].n,
					    &out);
		assert_int_equal(r == 0, rows[i].text != NULL);
		assert_string_equal(out.s, rows[i].text != NULL ? rows[i].text : "");
	}
}

static void limits(void **state)
{
	(void)state;
	static char text[4097];
	const char *values[DNS_VALUES_MAX + 1];
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	for (size_t i = 0; i <= DNS_VALUES_MAX; i++)
		values[i] = "192.0.2.1";
	assert_int_equal(dns_values_to_wire(DNS_TYPE_A, values, DNS_VALUES_MAX, &out), 0);
	strbuf_reset(&out);
	assert_int_equal(dns_values_to_wire(DNS_TYPE_A, values, DNS_VALUES_MAX + 1, &out),
			 ERR_LIMIT);
	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 0; i < 15; i++)
		values[i] = text;
	assert_int_equal(dns_values_to_wire(DNS_TYPE_TXT, values, 14, &out), 0);
	strbuf_reset(&out);
	assert_int_equal(dns_values_to_wire(DNS_TYPE_TXT, values, 15, &out), ERR_LIMIT);
	assert_int_equal(out.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type),
		cmocka_unit_test(long_texts_are_split),
		cmocka_unit_test(errors_leave_nothing),
		cmocka_unit_test(data_of_others),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
