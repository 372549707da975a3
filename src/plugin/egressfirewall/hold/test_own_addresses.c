/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine's own addresses: all of the loopback networks, those of the interfaces, and no others. */
#include <ifaddrs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/rcu/rcu.h"
#include "plugin/egressfirewall/hold/own_addresses.h"

static bool has(const struct egressfirewall_own_addresses *own, const char *text)
{
	union net_addr addr;
	assert_int_equal(net_addr_parse_ip(slice_of(text), &addr), 0);
	rcu_enter();
	bool is_own = egressfirewall_own_addresses_has(own, &addr);
	rcu_leave();
	return is_own;
}

static void knows_loopback_and_interfaces(void **state)
{
	(void)state;
	struct egressfirewall_own_addresses own = { NULL };
	struct ifaddrs *interfaces;
	for (int round = 0; round < 3; round++) {
		assert_true(has(&own, "127.0.0.1"));
		assert_true(has(&own, "127.255.0.9"));
		assert_true(has(&own, "::1"));
		assert_false(has(&own, "128.0.0.1"));
		assert_false(has(&own, "::2"));
		assert_false(has(&own, "2001:db8::1"));
		assert_false(has(&own, "192.0.2.77"));
		egressfirewall_own_addresses_refresh(&own);
	}
	assert_int_equal(getifaddrs(&interfaces), 0);
	for (const struct ifaddrs *one = interfaces; one != NULL; one = one->ifa_next) {
		union net_addr addr = { .family = AF_UNSPEC };
		if (one->ifa_addr == NULL)
			continue;
		if (one->ifa_addr->sa_family == AF_INET)
			memcpy(&addr.v4, one->ifa_addr, sizeof(addr.v4));
		else if (one->ifa_addr->sa_family == AF_INET6)
			memcpy(&addr.v6, one->ifa_addr, sizeof(addr.v6));
		rcu_enter();
		assert_true(egressfirewall_own_addresses_has(&own, &addr) ==
			    (addr.family != AF_UNSPEC));
		rcu_leave();
	}
	freeifaddrs(interfaces);
	egressfirewall_own_addresses_done(&own);
}

int main(void)
{
	rcu_thread_register();
	const struct CMUnitTest tests[] = { cmocka_unit_test(knows_loopback_and_interfaces) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
