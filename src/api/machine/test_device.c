/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices of a machine: what is read, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/machine/test_machine.h"
#include "base/mem.h"

#define HEAD                                                                                \
	"{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereVM, metadata: " \
	"{name: m, namespace: ns}, spec: {network: "

/* The devices, the field and the text of the only problem. */
static const struct {
	const char *devices, *field, *problem;
} problems[] = {
	{ "[]", "", "the machine has no devices" },
	{ "[{deviceName: a/b}]", "[0].deviceName", "'a/b' cannot be the name of an interface" },
	{ "[{deviceName: abcdefghijklmnop}]", "[0].deviceName", "'abcdefghijklmnop' cannot be" },
	{ "[{deviceName: ..}]", "[0].deviceName", "'..' cannot be" },
	{ "[{}, {deviceName: eth0}]", "[1].deviceName", "'eth0' is the name of device 0 already" },
	{ "[{macAddr: 00:50:56:00:00}]", "[0].macAddr", "'00:50:56:00:00' is not a MAC address" },
	{ "[{macAddr: \"00:50:56:00:00:0g\"}]", "[0].macAddr", "'00:50:56:00:00:0g' is not a" },
	{ "[{macAddr: \"00:50:56:00:00:0a\"}, {macAddr: 00-50-56-00-00-0A}]", "[1].macAddr",
	  "'00:50:56:00:00:0a' is the MAC address of device 0 already" },
	{ "[{macAddr: 5}]", "[0].macAddr", "must be a string, not 5" },
	{ "[{macAddr: null}]", NULL, NULL },
	{ "[{deviceName: {a: b}}]", "[0].deviceName", "must be a string, not {\"a\":\"b\"}" },
	{ "[{gateway4: 7}]", "[0].gateway4", "must be a string, not 7" },
	{ "[{ipAddrs: 10.0.0.1/24}]", "[0].ipAddrs", "must be a list, not 10.0.0.1/24" },
	{ "[{ipAddrs: null, routes: null}]", NULL, NULL },
	{ "[{routes: {to: 10.0.0.0/8}}]", "[0].routes",
	  "must be a list, not {\"to\":\"10.0.0.0/8\"}" },
	{ "[{ipAddrs: [5]}]", "[0].ipAddrs[0]", "'5' is not an address with its prefix" },
	{ "[{dhcp4: maybe}]", "[0].dhcp4", "must be true or false" },
	{ "[{mtu: 67}]", "[0].mtu", "must be a number from 68 to 65535" },
	{ "[{mtu: 65536}]", "[0].mtu", "must be a number from 68 to 65535" },
	{ "[{mtu: \"1500\"}]", "[0].mtu", "must be a number from 68 to 65535" },
	{ "[{ipAddrs: [10.0.0.1]}]", "[0].ipAddrs[0]", "'10.0.0.1' is not an address with its" },
	{ "[{ipAddrs: [10.0.0.1/33]}]", "[0].ipAddrs[0]", "'10.0.0.1/33' is not an address" },
	{ "[{ipAddrs: [10.0.0.1/024]}]", "[0].ipAddrs[0]", "'10.0.0.1/024' is not an address" },
	{ "[{routes: [{to: 10.0.0.0/08, via: 10.1.0.1}]}]", "[0].routes[0]",
	  "'10.0.0.0/08' is not a network" },
	{ "[{ipAddrs: [10.0.0.1/-1]}]", "[0].ipAddrs[0]", "'10.0.0.1/-1' is not an address" },
	{ "[{ipAddrs: [\"fe80::1%eth0/64\"]}]", "[0].ipAddrs[0]",
	  "'fe80::1%eth0/64' has a zone (%eth0): zones are not allowed" },
	{ "[{gateway4: \"::ffff:10.0.0.1\"}]", "[0].gateway4",
	  "'::ffff:10.0.0.1' is an IPv4 address in the form of IPv6" },
	{ "[{ipAddrs: [10.0.0.1/24, 10.0.0.1/16]}]", "[0].ipAddrs[1]",
	  "device 0 has the address '10.0.0.1' already" },
	{ "[{ipAddrs: [10.0.0.1/24]}, {ipAddrs: [10.0.0.1/24]}]", "[1].ipAddrs[0]",
	  "device 0 has the address '10.0.0.1' already" },
	{ "[{ipAddrs: [\"fe80::1/64\"]}, {ipAddrs: [\"FE80::1/64\"]}]", NULL, NULL },
	{ "[{gateway4: \"::1\"}]", "[0].gateway4", "'::1' is not an IPv4 address" },
	{ "[{gateway6: 10.0.0.1}]", "[0].gateway6", "'10.0.0.1' is not an IPv6 address" },
	{ "[{routes: [{to: default, via: 10.0.0.1}]}]", "[0].routes[0]",
	  "'default' is not a network" },
	{ "[{routes: [{to: 10.0.0.0/8, via: \"::1\"}]}]", "[0].routes[0]",
	  "'::1' is not a gateway for '10.0.0.0/8': it must be an IPv4 address" },
	{ "[{routes: [{to: 10.0.0.0/8, via: 10.0.0.1, metric: -1}]}]", "[0].routes[0]",
	  "the metric must be a number" },
	{ "[{nameservers: [x]}]", "[0].nameservers[0]", "'x' is not an IP address" },
	{ "[{searchDomains: [\"-\"]}]", "[0].searchDomains[0]", "'-' is not a search domain" },
	{ "[{dhcp4Overrides: 1}]", "[0].dhcp4Overrides", "must be an object" },
	{ "[{dhcp4Overrides: {useDNS: \"no\"}}]", "[0].dhcp4Overrides.useDNS",
	  "has the wrong type" },
	{ "[{dhcp6Overrides: {routeMetric: -1}}]", "[0].dhcp6Overrides.routeMetric",
	  "has the wrong type" },
	{ "[{dhcp6Overrides: {useDomains: maybe}}]", "[0].dhcp6Overrides.useDomains",
	  "has the wrong type" },
	{ "[{addressesFromPools: {}}]", "[0].addressesFromPools", "must be a list of at most 32" },
	{ "[a]", NULL, NULL }, /* no device at all reads as an empty one */
};

static void problem_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(problems); i++) {
		struct sample sample;
		CLEANUP(freep)
		char *yaml = xasprintf(HEAD "{devices: %s}}}", problems[i].devices);
		sample_read(&sample, yaml, false);
		if (problems[i].problem == NULL) {
			assert_int_equal(sample.problems.n, 0);
			sample_done(&sample);
			continue;
		}
		CLEANUP(freep) char *field = xasprintf("spec.network.devices%s", problems[i].field);
		if (sample.problems.n != 1 ||
		    strncmp(sample.problems.v[0].text, problems[i].problem,
			    strlen(problems[i].problem)) != 0)
			fail_msg("%s: %zu problems, %s", problems[i].devices, sample.problems.n,
				 sample.problems.n != 0 ? sample.problems.v[0].text : "");
		assert_string_equal(sample.problems.v[0].field, field);
		sample_done(&sample);
	}
}

static void device_is_read(void **state)
{
	(void)state;
	struct sample sample;
	sample_read(&sample,
		    HEAD "{devices: [{deviceName: ens192, macAddr: 00-50-56-AB-CD-EF, dhcp4: true, "
			 "mtu: 9000, ipAddrs: [\"2001:DB8::1/64\"], gateway6: \"FE80::1\", routes: "
			 "[{to: 10.0.0.0/8, via: 10.1.1.1, metric: 5}], nameservers: [\"::2\"], "
			 "searchDomains: [A.b.], dhcp4Overrides: {useDNS: true, useDomains: route, "
			 "hostname: \"h\\\"x\", routeMetric: 7, useNTP: null}}]}}}",
		    false);
	const struct machine_device *device = &sample.machine.devices[0];
	assert_int_equal(sample.problems.n, 0);
	assert_string_equal(device->name, "ens192");
	assert_string_equal(device->mac, "00:50:56:ab:cd:ef");
	assert_true(device->dhcp4 && !device->dhcp6);
	assert_int_equal(device->mtu, 9000);
	assert_list(&device->addresses, "2001:db8::1/64");
	assert_null(device->gateway4);
	assert_string_equal(device->gateway6, "fe80::1");
	assert_string_equal(device->routes[0].to, "10.0.0.0/8");
	assert_int_equal(device->routes[0].metric, 5);
	assert_list(&device->own.addresses, "::2");
	assert_list(&device->own.search, "a.b");
	static const char *const overrides[] = { "hostname",	"\"h\\\"x\"", "route-metric",
						 "7",		"use-dns",    "true",
						 "use-domains", "\"route\"" };
	assert_int_equal(device->overrides4.n, ARRAY_LEN(overrides) / 2);
	for (size_t i = 0; i < device->overrides4.n; i++) {
		assert_string_equal(device->overrides4.v[i].key, overrides[2 * i]);
		assert_string_equal(device->overrides4.v[i].value, overrides[2 * i + 1]);
	}
	sample_done(&sample);
}

static void mac_comes_from_the_status(void **state)
{
	(void)state;
	struct sample sample;
	sample_read(&sample,
		    HEAD "{devices: [{}, {}]}}, status: {network: [{macAddr: 00:50:56:00:00:0A}, "
			 "{macAddr: 00:50:56:00:00:0b}]}}",
		    false);
	assert_string_equal(sample.machine.devices[0].mac, "00:50:56:00:00:0a");
	assert_string_equal(sample.machine.devices[1].mac, "00:50:56:00:00:0b");
	assert_string_equal(sample.machine.devices[1].name, "eth1");
	sample_done(&sample);
}

/* As many devices and pools as are allowed, and one more. */
static void limits_are_reached(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		CLEANUP(strbuf_done) struct strbuf yaml = STRBUF_INIT;
		struct sample sample;
		strbuf_adds(&yaml, HEAD "{devices: [{}");
		for (size_t i = 1; i < MACHINE_DEVICES_MAX + more; i++)
			strbuf_adds(&yaml, ", {}");
		strbuf_adds(&yaml, "]}}}");
		sample_read(&sample, yaml.s, false);
		assert_int_equal(sample.problems.n, more);
		assert_int_equal(sample.machine.n_devices, more == 0 ? MACHINE_DEVICES_MAX : 0);
		sample_done(&sample);
		strbuf_reset(&yaml);
		strbuf_adds(&yaml, HEAD "{devices: [{addressesFromPools: [{}");
		for (size_t i = 1; i < MACHINE_POOLS_MAX + more; i++)
			strbuf_adds(&yaml, ", {}");
		strbuf_adds(&yaml, "]}]}}}");
		sample_read(&sample, yaml.s, false);
		/* Either every pool lacks its address, or the list is refused. */
		assert_int_equal(sample.problems.n, more == 0 ? MACHINE_POOLS_MAX : 1);
		sample_done(&sample);
	}
}

static void other_kinds_are_refused(void **state)
{
	(void)state;
	struct sample sample;
	sample_read(&sample, "{apiVersion: v1, kind: VSphereVM, metadata: {name: m}}", false);
	assert_string_equal(sample.problems.v[0].text, "'VSphereVM' is no machine");
	assert_int_equal(sample.machine.n_devices, 0);
	sample_done(&sample);
	sample_read(
		&sample,
		"{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: VSphereMachineTemplate, "
		"metadata: {name: A_b}, spec: {template: {spec: {network: {routes: [{}], devices: "
		"[{}]}}}}}",
		false);
	assert_int_equal(sample.problems.n, 2);
	assert_string_equal(
		sample.problems.v[0].text,
		"'A_b' cannot be the name of a machine: it must have lower-case letters, digits, "
		"'-' and '.' only, and begin and end with a letter or a digit");
	assert_true(sample.problems.v[1].warning);
	assert_int_equal(sample.machine.n_devices, 1);
	sample_done(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(problem_table),
		cmocka_unit_test(device_is_read),
		cmocka_unit_test(mac_comes_from_the_status),
		cmocka_unit_test(limits_are_reached),
		cmocka_unit_test(other_kinds_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
