/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interface names to addresses, with interfaces made up here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "plugin/bind/expand.h"

static char lo[] = "lo", eth0[] = "eth0", wg0[] = "wg0";

static struct sockaddr_in v4(const char *ip)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	inet_pton(AF_INET, ip, &a.sin_addr);
	return a;
}

static struct sockaddr_in6 v6(const char *ip)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6 };
	inet_pton(AF_INET6, ip, &a.sin6_addr);
	return a;
}

static struct bind_addrs got;
static struct srcerr err;

/* Expands the words over lo, eth0 and wg0 (which has no address). */
static int expand(const struct word *words, size_t n, struct arena *arena)
{
	struct sockaddr_in a = v4("127.0.0.1"), b = v4("192.0.2.1");
	struct sockaddr_in6 c = v6("2001:db8::1"), d = v6("fe80::1"), e = v6("::1");
	struct sockaddr packet = { .sa_family = AF_PACKET };
	struct ifaddrs ifs[] = {
		{ .ifa_name = lo, .ifa_addr = &packet },
		{ .ifa_name = eth0, .ifa_addr = &packet },
		{ .ifa_name = wg0, .ifa_addr = NULL },
		{ .ifa_name = lo, .ifa_addr = (struct sockaddr *)&a },
		{ .ifa_name = eth0, .ifa_addr = (struct sockaddr *)&b },
		{ .ifa_name = lo, .ifa_addr = (struct sockaddr *)&e },
		{ .ifa_name = eth0, .ifa_addr = (struct sockaddr *)&c },
		{ .ifa_name = eth0, .ifa_addr = (struct sockaddr *)&d },
	};
	for (size_t i = 0; i + 1 < ARRAY_LEN(ifs); i++)
		ifs[i].ifa_next = &ifs[i + 1];
	const struct word *v[8];
	for (size_t i = 0; i < n; i++)
		v[i] = &words[i];
	memset(&got, 0, sizeof(got));
	memset(&err, 0, sizeof(err));
	return bind_expand(&(struct opt_list){ v, n }, ifs, arena, &got, &err);
}

static void gives_all_addresses_of_an_interface(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	assert_int_equal(expand(&(struct word){ .s = "eth0" }, 1, &a), 0);
	assert_int_equal(got.n, 3);
	assert_string_equal(got.v[0], "192.0.2.1");
	assert_string_equal(got.v[1], "2001:db8::1");
	assert_string_equal(got.v[2], "fe80::1%eth0");
	arena_done(&a);
}

static void keeps_addresses_as_written(void **state)
{
	(void)state;
	const struct word w[] = { { .s = "0:0::1" }, { .s = "lo" }, { .s = "10.0.0.1" } };
	struct arena a;
	arena_init(&a);
	assert_int_equal(expand(w, 3, &a), 0);
	assert_int_equal(got.n, 4);
	assert_string_equal(got.v[0], "0:0::1");
	assert_string_equal(got.v[1], "127.0.0.1");
	assert_string_equal(got.v[2], "::1");
	assert_string_equal(got.v[3], "10.0.0.1");
	arena_done(&a);
}

static void an_interface_may_have_no_address(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	assert_int_equal(expand(&(struct word){ .s = "wg0" }, 1, &a), 0);
	assert_int_equal(got.n, 0);
	arena_done(&a);
}

static void refuses_other_words(void **state)
{
	(void)state;
	static const char *const bad[] = { "eth1", "1.2.3.invalid", "fe80::1%lo",
					   "",	   "[::1]",	    "127.0.0.1:53" };
	struct arena a;
	arena_init(&a);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_true(expand(&(struct word){ .s = bad[i] }, 1, &a) < 0);
		assert_non_null(strstr(err.text, "expected an IP address or the name of an "
						 "interface"));
	}
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_all_addresses_of_an_interface),
		cmocka_unit_test(keeps_addresses_as_written),
		cmocka_unit_test(an_interface_may_have_no_address),
		cmocka_unit_test(refuses_other_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
