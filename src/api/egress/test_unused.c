/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-15: marks of DNSNames, there and back, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/egress/unused.h"
#include "base/clock.h"
#include "base/err.h"

#define AT (1800000000 * NS_PER_S)

static void there_and_back(void **state UNUSED)
{
	for (unsigned uses = 1; uses < 8; uses++) {
		struct egress_unused sent = { AT + 7000, uses }, got;
		char text[EGRESS_UNUSED_TEXT_MAX];
		assert_int_equal(egress_unused_parse(egress_unused_format(&sent, text), &got), 0);
		assert_int_equal(got.since_ns, sent.since_ns);
		assert_int_equal(got.uses, uses);
		assert_null(strchr(text, ' '));
	}
	char text[EGRESS_UNUSED_TEXT_MAX];
	assert_string_equal(egress_unused_format(&(struct egress_unused){ AT, 7 }, text),
			    "2027-01-15T08:00:00.000000Z,regular,wildcard,any-depth");
}

static void others_are_none(void **state UNUSED)
{
	static const char *const rows[] = {
		NULL,
		"",
		"regular",
		"2027-01-15T08:00:00Z",
		"2027-01-15T08:00:00Z,",
		"2027-01-15T08:00:00Z,regular,",
		"2027-01-15T08:00:00Z,regular,odd",
		"2027-01-15T08:00:00Z, regular",
		"yesterday,regular",
		"2027-01-15T08:00:00.000000000000000000000000Z,regular",
	};
	struct egress_unused got;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (egress_unused_parse(rows[i], &got) != ERR_PARSE)
			fail_msg("'%s' was accepted", rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(others_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
