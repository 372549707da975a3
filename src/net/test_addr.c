/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses and networks: text both ways, membership, odd input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "net/addr.h"

static void test_parse_with_port(void **state)
{
	static const struct {
		const char *in, *out; /* out NULL: refused */
	} rows[] = {
		{ "192.0.2.1:53", "192.0.2.1:53" },
		{ "[2001:db8::1]:5353", "[2001:db8::1]:5353" },
		{ "[2001:DB8:0:0::1]:1", "[2001:db8::1]:1" },
		{ ":53", "[::]:53" },
		{ "localhost:53", "127.0.0.1:53" },
		{ "[::ffff:192.0.2.1]:53", "[::ffff:192.0.2.1]:53" },
		{ "192.0.2.1:0", "192.0.2.1:0" },
		{ "192.0.2.1:65535", "192.0.2.1:65535" },
		{ "192.0.2.1:65536", NULL },
		{ "192.0.2.1:99999999999999999999", NULL },
		{ "192.0.2.1:-1", NULL },
		{ "192.0.2.1:+1", NULL },
		{ "192.0.2.1:", NULL },
		{ "192.0.2.1", NULL },
		{ "2001:db8::1:53", NULL },
		{ "[2001:db8::1]", NULL },
		{ "[]:53", NULL },
		{ "[192.0.2.1:53", NULL },
		{ "192.0.2.256:53", NULL },
		{ "192.0.2:53", NULL },
		{ "example.org:53", NULL },
		{ "[fe80::1%]:53", NULL },
		{ "[fe80::1%nosuchdevice]:53", NULL },
		{ "[fe80::1%4294967296]:53", NULL },
		{ "", NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union net_addr a;
		char text[NET_ADDR_TEXT_MAX];
		int r = net_addr_parse(slice_of(rows[i].in), &a);
		if ((r == 0) != (rows[i].out != NULL))
			fail_msg("'%s': %d", rows[i].in, r);
		if (r < 0)
			continue;
		assert_int_equal(net_addr_str(&a, text), strlen(rows[i].out));
		assert_string_equal(text, rows[i].out);
	}
	/* A NUL inside does not end the text. */
	union net_addr a;
	assert_true(net_addr_parse_ip((struct slice){ "192.0.2.1\0x", 11 }, &a) < 0);
}

static void test_scope(void **state)
{
	union net_addr a, b;
	char text[NET_ADDR_TEXT_MAX];
	(void)state;
	assert_int_equal(net_addr_parse_ip(SLICE("fe80::1%lo"), &a), 0);
	assert_int_equal(a.v6.sin6_scope_id, 1);
	net_addr_ip_str(&a, text);
	assert_string_equal(text, "fe80::1%lo");
	assert_int_equal(net_addr_parse_ip(SLICE("fe80::1%1"), &b), 0);
	assert_true(net_addr_same_ip(&a, &b));
	b.v6.sin6_scope_id = 2;
	assert_false(net_addr_same_ip(&a, &b));
}

static void test_same_and_unmap(void **state)
{
	union net_addr a, b;
	(void)state;
	assert_int_equal(net_addr_parse(SLICE("[::ffff:192.0.2.7]:53"), &a), 0);
	assert_int_equal(net_addr_parse(SLICE("192.0.2.7:99"), &b), 0);
	assert_false(net_addr_same_ip(&a, &b));
	net_addr_unmap(&a);
	assert_true(net_addr_same_ip(&a, &b));
	assert_int_equal(net_addr_port(&a), 53);
	assert_int_equal(net_addr_len(&a), sizeof(struct sockaddr_in));
	net_addr_unmap(&a); /* again: nothing */
	assert_true(net_addr_same_ip(&a, &b));
	assert_int_equal(net_addr_parse(SLICE("[2001:db8::7]:53"), &a), 0);
	net_addr_unmap(&a);
	assert_int_equal(a.family, AF_INET6);
	size_t n;
	net_addr_bytes(&a, &n);
	assert_int_equal(n, 16);
	net_addr_set_port(&a, 7);
	assert_int_equal(net_addr_port(&a), 7);
}

static void test_networks(void **state)
{
	static const struct {
		const char *net, *in, *out;
	} rows[] = {
		{ "10.0.0.0/8", "10.255.255.255", "11.0.0.0" },
		{ "10.1.2.3/8", "10.0.0.0", "9.255.255.255" }, /* host bits are cleared */
		{ "192.0.2.128/25", "192.0.2.128", "192.0.2.127" },
		{ "192.0.2.1", "192.0.2.1", "192.0.2.2" },
		{ "192.0.2.1/32", "192.0.2.1", "192.0.2.0" },
		{ "192.0.2.0/31", "192.0.2.1", "192.0.2.2" },
		{ "0.0.0.0/0", "255.1.2.3", "2001:db8::" },
		{ "::/0", "2001:db8::", "192.0.2.1" },
		{ "2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::" },
		{ "2001:db8::1/128", "2001:db8::1", "2001:db8::" },
		{ "2001:db8::1", "2001:db8::1", "2001:db8::2" },
	};
	static const char *const bad[] = { "",
					   "10.0.0.0/33",
					   "10.0.0.0/",
					   "10.0.0.0/-1",
					   "10.0.0/8",
					   "2001:db8::/129",
					   "10.0.0.0/8/8",
					   "/8",
					   "10.0.0.0/8x",
					   "example.org/8" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct net_cidr c;
		union net_addr a;
		assert_int_equal(net_cidr_parse(slice_of(rows[i].net), &c), 0);
		assert_int_equal(net_addr_parse_ip(slice_of(rows[i].in), &a), 0);
		if (!net_cidr_has(&c, &a))
			fail_msg("%s lacks %s", rows[i].net, rows[i].in);
		assert_int_equal(net_addr_parse_ip(slice_of(rows[i].out), &a), 0);
		if (net_cidr_has(&c, &a))
			fail_msg("%s has %s", rows[i].net, rows[i].out);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct net_cidr c;
		if (net_cidr_parse(slice_of(bad[i]), &c) == 0)
			fail_msg("'%s' was taken", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_with_port),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_same_and_unmap),
		cmocka_unit_test(test_networks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
