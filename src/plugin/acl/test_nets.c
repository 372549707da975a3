/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of networks, against a plain scan of the same networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/rng_test.h"
#include "plugin/acl/nets.h"

static bool has(const char *const *nets, size_t n, const char *ip)
{
	struct net_cidr v[8];
	struct acl_nets s;
	struct arena a;
	union net_addr addr;
	arena_init(&a);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(net_cidr_parse(slice_of(nets[i]), &v[i]), 0);
	acl_nets_build(&s, v, n, &a);
	assert_int_equal(net_addr_parse_ip(slice_of(ip), &addr), 0);
	bool r = acl_nets_has(&s, &addr);
	arena_done(&a);
	return r;
}

static void ends_belong_to_the_network(void **state)
{
	(void)state;
	static const char *const nets[] = { "10.1.0.0/16", "192.0.2.1", "2001:db8::/33",
					    "2001:db8:ffff::1" };
	assert_true(has(nets, 4, "10.1.0.0"));
	assert_true(has(nets, 4, "10.1.255.255"));
	assert_false(has(nets, 4, "10.0.255.255"));
	assert_false(has(nets, 4, "10.2.0.0"));
	assert_true(has(nets, 4, "192.0.2.1"));
	assert_false(has(nets, 4, "192.0.2.0"));
	assert_false(has(nets, 4, "192.0.2.2"));
	assert_true(has(nets, 4, "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff"));
	assert_false(has(nets, 4, "2001:db8:8000::"));
	assert_true(has(nets, 4, "2001:db8:ffff::1"));
	assert_false(has(nets, 4, "0.0.0.0"));
	assert_false(has(nets, 4, "ffff::"));
}

static void all_and_none(void **state)
{
	(void)state;
	static const char *const all4[] = { "0.0.0.0/0" }, *const all6[] = { "::/0" };
	assert_true(has(all4, 1, "255.255.255.255"));
	assert_true(has(all4, 1, "0.0.0.0"));
	assert_false(has(all4, 1, "::1"));
	assert_true(has(all6, 1, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
	assert_false(has(all6, 1, "1.2.3.4"));
	assert_false(has(all6, 0, "::1"));
}

static void mapped_networks_hold_no_ipv4(void **state)
{
	(void)state;
	static const char *const nets[] = { "::ffff:127.0.0.0/104" };
	assert_false(has(nets, 1, "127.0.0.1"));
}

/* Few bits are left to chance, so that networks nest and repeat. */
static struct net_cidr random_net(struct rng *rng, bool v6)
{
	struct net_cidr c = { .family = v6 ? AF_INET6 : AF_INET };
	c.bits = (uint8_t)rng_below(rng, v6 ? 129 : 33);
	size_t n = v6 ? 16 : 4;
	for (size_t i = 0; i < n; i++) {
		size_t left = c.bits > i * 8 ? c.bits - i * 8 : 0;
		uint8_t mask = (uint8_t)(left >= 8 ? 0xffU : 0xff00U >> left);
		c.ip[i] = (uint8_t)(rng_u64(rng) & 0x81 & mask);
	}
	return c;
}

static void equals_a_plain_scan(void **state)
{
	(void)state;
	enum { NETS = 3000, ASKED = 20000 };
	struct rng rng;
	rng_init_seed(&rng, 7);
	struct net_cidr *v = xcalloc(NETS, sizeof(*v));
	struct acl_nets s;
	struct arena a;
	arena_init(&a);
	for (size_t i = 0; i < NETS; i++) {
		do
			v[i] = random_net(&rng, i % 2 != 0);
		while (v[i].bits < 12);
	}
	acl_nets_build(&s, v, NETS, &a);
	unsigned inside = 0;
	for (size_t i = 0; i < ASKED; i++) {
		union net_addr addr = { .family = i % 2 != 0 ? AF_INET6 : AF_INET };
		uint8_t *ip = i % 2 != 0 ? addr.v6.sin6_addr.s6_addr : (uint8_t *)&addr.v4.sin_addr;
		for (size_t k = 0; k < (i % 2 != 0 ? 16 : 4); k++)
			ip[k] = (uint8_t)(rng_u64(&rng) & 0x83);
		bool want = false;
		for (size_t k = 0; k < NETS && !want; k++)
			want = net_cidr_has(&v[k], &addr);
		assert_int_equal(acl_nets_has(&s, &addr), want);
		inside += want;
	}
	assert_in_range(inside, ASKED / 100, ASKED - ASKED / 100);
	arena_done(&a);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_belong_to_the_network),
		cmocka_unit_test(all_and_none),
		cmocka_unit_test(mapped_networks_hold_no_ipv4),
		cmocka_unit_test(equals_a_plain_scan),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
