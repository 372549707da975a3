/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which HTTP requests carry a DNS message, and which status refuses the others. Each row was seen
 * on CoreDNS 1.15.0, too (tests/differential/test_doh.py asks both). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "server/conn/doh_request.h"

struct row {
	const char *method, *target, *body;
	unsigned status;
	const char *message;
};

static const struct row rows[] = {
	{ "POST", "/dns-query", "abc", 0, "abc" },
	{ "POST", "/dns-query?x=y", "abc", 0, "abc" },
	{ "POST", "/dns%2Dquery", "abc", 0, "abc" },
	{ "POST", "https://any.host/dns-query", "abc", 0, "abc" },
	{ "GET", "/dns-query?dns=YWJj", "", 0, "abc" },
	{ "GET", "/dns-query?a=b&dns=YWI&c", "", 0, "ab" },
	{ "GET", "/dns-query?d%6Es=YQ", "", 0, "a" },
	{ "GET", "/dns-query?dns=Y%57Jj", "", 0, "abc" },
	{ "GET", "/dns-query?dns=YW%0aJj", "", 0, "abc" },
	{ "GET", "/dns-query?dns=_-8", "", 0, "\xff\xef" },
	{ "GET", "/dns-query?dns=%zz&dns=YWJj", "", 0, "abc" },
	{ "GET", "/dns-query?dns=a;b&dns=YWJj", "", 0, "abc" },
	{ "GET", "/dns-query?dns=", "", 0, "" },
	{ "GET", "/dns-query?dns", "", 0, "" },
	{ "GET", "/dns-query", "", 400, NULL },
	{ "GET", "/dns-query?", "", 400, NULL },
	{ "GET", "/dns-query?DNS=YWJj", "", 400, NULL },
	{ "GET", "/dns-query?dns=YWJj&dns=YWJj", "", 400, NULL },
	{ "GET", "/dns-query?dns=YWI=", "", 400, NULL },
	{ "GET", "/dns-query?dns=YWJjY", "", 400, NULL },
	{ "GET", "/dns-query?dns=YW+j", "", 400, NULL },
	{ "GET", "/dns-query?dns=YW/j", "", 400, NULL },
	{ "PUT", "/dns-query", "abc", 400, NULL },
	{ "HEAD", "/dns-query?dns=YWJj", "", 400, NULL },
	{ "get", "/dns-query?dns=YWJj", "", 400, NULL },
	{ "GET", "/", "", 404, NULL },
	{ "GET", "/dns-query/", "", 404, NULL },
	{ "GET", "//dns-query?dns=YWJj", "", 404, NULL },
	{ "GET", "*", "", 404, NULL },
	{ "GET", "https://any.host", "", 404, NULL },
	{ "PUT", "/DNS-query", "abc", 404, NULL },
	{ "GET", "/dns-query%zz", "", 400, NULL },
};

static void all_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		static uint8_t buf[DOH_MESSAGE_MAX];
		struct slice got = { 0 };
		struct http_message m = { .method = slice_of(rows[i].method),
					  .target = slice_of(rows[i].target),
					  .body = slice_of(rows[i].body) };
		assert_int_equal(doh_request_read(&m, buf, &got), rows[i].status);
		if (rows[i].status == 0)
			assert_true(slice_is(got, rows[i].message));
	}
}

/* DOH_MESSAGE_MAX, and a body that was not taken. */
static void limits(void **state)
{
	static char target[DOH_MESSAGE_MAX + 2];
	static uint8_t buf[DOH_MESSAGE_MAX];
	struct slice got = { 0 };
	(void)state;
	memset(target, 'A', sizeof(target));
	memcpy(target, "/dns-query?dns=", 15);
	struct http_message m = { .method = SLICE("GET"), .target = { target, DOH_MESSAGE_MAX } };
	while ((m.target.n - 15) % 4 == 1)
		m.target.n--;
	assert_int_equal(doh_request_read(&m, buf, &got), 0);
	assert_int_equal(got.n, (m.target.n - 15) * 3 / 4);
	m.target.n = DOH_MESSAGE_MAX + 1;
	assert_int_equal(doh_request_read(&m, buf, &got), 400);
	m = (struct http_message){ .method = SLICE("POST"),
				   .target = SLICE("/dns-query"),
				   .too_long = true };
	assert_int_equal(doh_request_read(&m, buf, &got), 400);
	m.target = SLICE("/other");
	assert_int_equal(doh_request_read(&m, buf, &got), 404);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_rows), cmocka_unit_test(limits) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
