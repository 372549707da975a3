/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often things are reported. */
#include "controller/poddns/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err_text.h"
#include "controller/controller.h"
#include "controller/poddns/state.h"

extern const struct controller poddns_controller;

static int setup(void **state)
{
	char err[100];
	return poddns_controller.start(state, ERR_TEXT(err));
}

static int teardown(void **state)
{
	poddns_controller.stop(*state);
	return 0;
}

static void news(void **state)
{
	assert_true(poddns_is_news(*state, "ns/shop", "one"));
	assert_false(poddns_is_news(*state, "ns/shop", "one"));
	assert_true(poddns_is_news(*state, "ns/shop", "two"));
	assert_false(poddns_is_news(*state, "ns/shop", ""));
	assert_true(poddns_is_news(*state, "ns/shop", "two"));
}

static size_t count_events(void *state, const char *key, uint64_t now_ns)
{
	size_t count = 0;
	for (int i = 0; i < 30; i++)
		count += poddns_count_event(state, key, now_ns);
	return count;
}

static void ten_events_an_hour(void **state)
{
	const uint64_t hour = 3600 * NS_PER_S;
	assert_int_equal(count_events(*state, "shop", hour - 1), 10);
	assert_int_equal(count_events(*state, "blog", hour - 1), 10);
	assert_int_equal(count_events(*state, "shop", hour), 10);
	assert_int_equal(count_events(*state, "shop", 2 * hour - 1), 0);
}

/* Namespaces that come and go do not use up the room of others. */
static void namespaces_are_forgotten(void **state)
{
	char name[32];
	for (int i = 0; i < 30000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_true(poddns_count_event(*state, name, 1));
		poddns_forget_events(*state, name);
	}
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_true(poddns_count_event(*state, name, 1));
	}
	assert_false(poddns_count_event(*state, "one more", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(news, setup, teardown),
		cmocka_unit_test_setup_teardown(ten_events_an_hour, setup, teardown),
		cmocka_unit_test_setup_teardown(namespaces_are_forgotten, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
