/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of records to PowerDNS and back (DR-29 to DR-31). */
#include "provider/powerdns/content_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "dns/types.h"

static char *write_value(uint16_t type, const char *value)
{
	struct strbuf out = STRBUF_INIT;
	powerdns_content_write(&out, type, value);
	return strbuf_take(&out);
}

static char *read_value(uint16_t type, const char *content)
{
	struct strbuf out = STRBUF_INIT;
	powerdns_content_read(&out, type, slice_of(content));
	return strbuf_take(&out);
}

static void both_ways(void **state)
{
	static const struct {
		uint16_t type;
		const char *value, *content;
	} rows[] = {
		{ DNS_TYPE_A, "192.0.2.1", "192.0.2.1" },
		{ DNS_TYPE_AAAA, "2001:db8::1", "2001:db8::1" },
		{ DNS_TYPE_CNAME, "a.example.com", "a.example.com." },
		{ DNS_TYPE_TXT, "", "\"\"" },
		{ DNS_TYPE_TXT, "plain words", "\"plain words\"" },
		{ DNS_TYPE_TXT, "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ DNS_TYPE_TXT, "\t\x7f\xc3\xa4", "\"\\009\\127\\195\\164\"" },
		{ DNS_TYPE_TXT, "a;b", "\"a;b\"" },
		{ DNS_TYPE_MX, "10 mail.example.com.", "10 mail.example.com." },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *content = write_value(rows[i].type, rows[i].value);
		CLEANUP(freep) char *value = read_value(rows[i].type, content);
		assert_string_equal(content, rows[i].content);
		assert_string_equal(value, rows[i].value);
	}
}

/* What others write. */
static void other_spellings(void **state)
{
	static const struct {
		uint16_t type;
		const char *content, *value;
	} rows[] = {
		{ DNS_TYPE_AAAA, "2001:DB8:0:0::1", "2001:db8::1" },
		{ DNS_TYPE_CNAME, "A.Example.COM.", "a.example.com" },
		{ DNS_TYPE_CNAME, ".", "." },
		{ DNS_TYPE_TXT, "\"one\" \"two\"", "onetwo" },
		{ DNS_TYPE_TXT, " \"one\"\t\"two\" ", "onetwo" },
		{ DNS_TYPE_TXT, "\"\xc3\xa4\"", "\xc3\xa4" },
		/* No text of ours: as they are. */
		{ DNS_TYPE_TXT, "\"a\\000b\"", "\"a\\000b\"" },
		{ DNS_TYPE_TXT, "\"a\\300b\"", "\"a\\300b\"" },
		{ DNS_TYPE_TXT, "\"a\\01\"", "\"a\\01\"" },
		{ DNS_TYPE_TXT, "\"open", "\"open" },
		{ DNS_TYPE_TXT, "\"open\\", "\"open\\" },
		{ DNS_TYPE_TXT, "bare", "bare" },
		{ DNS_TYPE_TXT, "\"one\" two", "\"one\" two" },
		{ DNS_TYPE_TXT, "", "" },
		{ DNS_TYPE_A, "nonsense", "nonsense" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *value = read_value(rows[i].type, rows[i].content);
		assert_string_equal(value, rows[i].value);
	}
}

/* Strings have at most 255 bytes, escaped or not. */
static void long_texts(void **state)
{
	static const size_t lengths[] = { 254, 255, 256, 510, 511, 4000 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		char text[4001];
		memset(text, i % 2 == 0 ? 'x' : '"', lengths[i]);
		text[lengths[i]] = '\0';
		CLEANUP(freep) char *content = write_value(DNS_TYPE_TXT, text);
		CLEANUP(freep) char *value = read_value(DNS_TYPE_TXT, content);
		assert_string_equal(value, text);
		size_t strings = (lengths[i] + 254) / 255;
		assert_int_equal(strlen(content),
				 lengths[i] * (i % 2 == 0 ? 1 : 2) + strings * 3 - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways),
		cmocka_unit_test(other_spellings),
		cmocka_unit_test(long_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
