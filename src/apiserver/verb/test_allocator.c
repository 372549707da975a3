/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The allocator: wanted and random Service addresses and node ports, limits of ranges. */
#include "apiserver/verb/allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/err_text.h"

static struct apiserver_allocator *make(const char *a, const char *b)
{
	const char *cidrs[] = { a, b, NULL };
	struct apiserver_allocator *ret = NULL;
	char err[128];
	assert_int_equal(apiserver_allocator_new(cidrs, &ret, ERR_TEXT(err)), 0);
	return ret;
}

static void gives_each_once(void **state)
{
	struct apiserver_allocator *a = make("10.0.0.0/28", NULL);
	char got[64];
	(void)state;
	assert_string_equal(apiserver_allocator_first_address(a), "10.0.0.1");
	/* 16 less the network's own and its broadcast. */
	for (int i = 0; i < 14; i++)
		assert_int_equal(apiserver_allocator_take_address(a, 4, "", got, sizeof(got)), 0);
	assert_int_equal(apiserver_allocator_take_address(a, 4, "", got, sizeof(got)), ERR_SPACE);
	assert_int_equal(apiserver_allocator_take_address(a, 4, "10.0.0.5", got, sizeof(got)),
			 ERR_CONFLICT);
	apiserver_allocator_release_address(a, "10.0.0.5");
	assert_int_equal(apiserver_allocator_take_address(a, 4, "", got, sizeof(got)), 0);
	assert_string_equal(got, "10.0.0.5");
	apiserver_allocator_free(a);
}

static void wanted(void **state)
{
	struct apiserver_allocator *a = make("10.0.0.0/16", "fd00::/108");
	static const struct {
		const char *want;
		int family, result;
	} rows[] = {
		{ "10.0.0.10", 4, 0 },
		{ "10.0.0.10", 4, ERR_CONFLICT },
		{ "10.1.0.1", 4, ERR_RANGE },
		{ "10.0.0.0", 4, ERR_RANGE },
		{ "10.0.255.255", 4, ERR_RANGE },
		{ "nonsense", 4, ERR_RANGE },
		{ "fd00::a", 6, 0 },
		{ "fd00::a", 6, ERR_CONFLICT },
		{ "fd01::a", 6, ERR_RANGE },
	};
	char got[64];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(apiserver_allocator_take_address(a, rows[i].family, rows[i].want,
								  got, sizeof(got)),
				 rows[i].result);
	assert_int_equal(apiserver_allocator_take_address(a, 6, "", got, sizeof(got)), 0);
	assert_int_equal(strncmp(got, "fd00::", 6), 0);
	/* Not from the part that is left to those who name their address. */
	assert_int_equal(apiserver_allocator_take_address(a, 4, "", got, sizeof(got)), 0);
	assert_true(strncmp(got, "10.0.0.", 7) != 0);
	apiserver_allocator_free(a);
}

static void refused(void **state)
{
	static const char *const rows[] = { "x", "10.0.0.0/31", "10.0.0.1" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *cidrs[] = { rows[i], NULL };
		struct apiserver_allocator *a;
		char err[128] = "";
		assert_int_equal(apiserver_allocator_new(cidrs, &a, ERR_TEXT(err)), ERR_PARSE);
		assert_non_null(strstr(err, rows[i]));
	}
	const char *three[] = { "10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16", NULL };
	struct apiserver_allocator *a;
	char err[128];
	assert_int_equal(apiserver_allocator_new(three, &a, ERR_TEXT(err)), ERR_LIMIT);
}

static void node_ports(void **state)
{
	struct apiserver_allocator *a = make("10.0.0.0/28", NULL);
	unsigned got;
	(void)state;
	assert_int_equal(apiserver_allocator_take_port(a, 30001, &got), 0);
	assert_int_equal(got, 30001);
	assert_int_equal(apiserver_allocator_take_port(a, 30001, &got), ERR_CONFLICT);
	assert_int_equal(apiserver_allocator_take_port(a, 29999, &got), ERR_RANGE);
	assert_int_equal(apiserver_allocator_take_port(a, 32768, &got), ERR_RANGE);
	for (int i = 0; i < 2767; i++) {
		assert_int_equal(apiserver_allocator_take_port(a, 0, &got), 0);
		/* The first ones are left to those who name one, as long as there are others. */
		assert_true(got >= (i < 2682 ? 30086 : 30000) && got <= 32767);
	}
	assert_int_equal(apiserver_allocator_take_port(a, 0, &got), ERR_SPACE);
	apiserver_allocator_release_port(a, 80); /* not of the range: nothing happens */
	apiserver_allocator_release_port(a, 32767);
	assert_int_equal(apiserver_allocator_take_port(a, 0, &got), 0);
	assert_int_equal(got, 32767);
	apiserver_allocator_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_each_once),
		cmocka_unit_test(wanted),
		cmocka_unit_test(refused),
		cmocka_unit_test(node_ports),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
