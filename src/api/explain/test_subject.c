/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and addresses as people write them, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/explain/subject.h"
#include "base/compiler.h"

static void accepted(void **state)
{
	static const struct {
		const char *text, *wanted;
		bool was_mapped;
	} rows[] = {
		{ "www.example.com", "www.example.com", false },
		{ "WWW.Example.COM.", "www.example.com", false },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example", false },
		{ "_sip._tcp.example.com", "_sip._tcp.example.com", false },
		{ "localhost", "localhost", false },
		{ "192.0.2.1", "192.0.2.1", false },
		{ "2001:DB8:0::1", "2001:db8::1", false },
		{ "::ffff:192.0.2.1", "192.0.2.1", true },
		{ "::FFFF:c000:201", "192.0.2.1", true },
		{ "::", "::", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct explain_subject subject;
		char address[EXPLAIN_ADDRESS_TEXT_MAX];
		const char *wrong = explain_subject_parse(slice_of(rows[i].text), &subject);
		if (wrong != NULL)
			fail_msg("%s %s", rows[i].text, wrong);
		assert_string_equal(subject.address.n != 0
					    ? explain_address_text(&subject.address, address)
					    : subject.name.text,
				    rows[i].wanted);
		assert_int_equal(subject.was_mapped, rows[i].was_mapped);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *text, *wrong;
	} rows[] = {
		{ "", "is neither a name nor an address" },
		{ ".", "must not be empty" },
		{ "10.0.0.0/8", "is no name and no single address; give one address of a range" },
		{ "https://www.example.com", "is no name and no single address; give one address "
					     "of a range" },
		{ "www.example.com:443",
		  "is no IPv6 address, and no name has a colon; give it without a port" },
		{ "2001:db8::g", "is no IPv6 address, and no name has a colon; give it without a "
				 "port" },
		{ "fe80::1%eth0", "has a zone index; give the address without it" },
		{ "*.example.com", "is a wildcard; give a name that it should cover" },
		{ "300.1.2.3", "is no IPv4 address, and no name ends in a number" },
		{ "10.1", "is no IPv4 address, and no name ends in a number" },
		{ "1.2.3.4.", "is no IPv4 address, and no name ends in a number" },
		{ "a..b", "has an empty label" },
		{ "-a.example", "has a label that begins or ends with a hyphen" },
		{ "b\xc3\xbc"
		  "cher.example",
		  "must be ASCII; write an internationalized name in its \"xn--\" form" },
		{ "a b.example", "may have letters, digits, hyphens and dots only" },
	};
	struct explain_subject subject;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *wrong = explain_subject_parse(slice_of(rows[i].text), &subject);
		if (wrong == NULL)
			fail_msg("'%s' is accepted", rows[i].text);
		assert_string_equal(wrong, rows[i].wrong);
	}
}

/* 253 characters are the most, a final dot apart. */
static void longest(void **state)
{
	char text[256] = "";
	struct explain_subject subject;
	(void)state;
	for (size_t i = 0; i < 253; i++)
		text[i] = i % 64 == 63 ? '.' : 'a';
	assert_null(explain_subject_parse(slice_of(text), &subject));
	assert_string_equal(subject.name.text, text);
	text[253] = '.';
	assert_null(explain_subject_parse((struct slice){ text, 254 }, &subject));
	text[253] = 'a';
	assert_string_equal(explain_subject_parse((struct slice){ text, 254 }, &subject),
			    "may have at most 253 characters");
	/* A zero byte ends no name. */
	assert_non_null(explain_subject_parse((struct slice){ "a\0b.example", 11 }, &subject));
	assert_non_null(explain_subject_parse((struct slice){ "192.0.2.1\0", 10 }, &subject));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused),
		cmocka_unit_test(longest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
