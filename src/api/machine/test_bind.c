/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which addresses and name servers a machine's devices are given, in which order, and what is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/machine/test_machine.h"

#define VM(devices)                                                                         \
	"{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereVM, metadata: " \
	"{name: m, namespace: ns}, spec: {network: {devices: [" devices "]}}}\n"
#define POOL "{addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: P, name: p}]}"
#define TWO                                                                           \
	"{addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: P, name: p}, " \
	"{apiGroup: ipam.cluster.x-k8s.io, kind: P, name: p}]}"
#define META(name)	    "metadata: {name: " name ", namespace: ns}"
#define IPAM		    "---\n{apiVersion: ipam.cluster.x-k8s.io/v1beta2, kind: "
#define REF		    "poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: P, name: p}"
#define ADDRESS(name, rest) IPAM "IPAddress, " META(name) ", spec: {" REF ", " rest "}}\n"

/* Machine and objects, and the first problem; "" for none. */
static const struct {
	const char *yaml, *field, *problem;
} problems[] = {
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24"), "", "" },
	{ VM(POOL), "spec.network.devices[0].addressesFromPools[0]",
	  "there is no IPAddress 'm-0-0': a machine is configured when all its claims are bound" },
	{ VM(TWO) ADDRESS("m-0-1", "address: 10.0.0.1, prefix: 24"),
	  "spec.network.devices[0].addressesFromPools[0]", "there is no IPAddress 'm-0-0'" },
	{ VM(POOL) IPAM "IPAddress, metadata: {name: m-0-0, namespace: other}, spec: {" REF "}}\n",
	  "spec.network.devices[0].addressesFromPools[0]",
	  "the IPAddress 'm-0-0' is in the namespace 'other', the machine in 'ns'" },
	{ VM(POOL) IPAM "IPAddressClaim, " META("m-0-0") "}\n", "",
	  "the claim 'm-0-0' has no address yet: a machine" },
	{ VM(POOL) IPAM "IPAddressClaim, " META(
		  "m-0-0") ", status: {conditions: [{type: Ready, message: no free address}]}}\n",
	  "", "the claim 'm-0-0' has no address yet: no free address: a machine" },
	{ VM(POOL) IPAM
	  "IPAddressClaim, " META("m-0-0") ", status: {addressRef: {name: other}}}\n" ADDRESS(
		  "other", "address: \"fd00::1\", prefix: 64"),
	  "", "" },
	{ VM(POOL) IPAM "IPAddress, metadata: {name: m-0-0, namespace: ns, deletionTimestamp: "
			"\"2026-01-01T00:00:00Z\"}, spec: {" REF
			", address: 10.0.0.1, prefix: 24}}\n",
	  "metadata.deletionTimestamp", "the IPAddress 'm-0-0' is being deleted" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.300, prefix: 24"), "spec.address",
	  "'10.0.0.300' is not an IP address" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 5, prefix: 24"), "spec.address",
	  "'5' is not an IP address" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24, gateway: 7"), "spec.gateway",
	  "the gateway '7' is not an IP address" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24, gateway: null"), "", "" },
	{ VM(POOL) ADDRESS("m-0-0", "address: \"::FFFF:a00:1\", prefix: 24"), "spec.address",
	  "'::FFFF:a00:1' is an IPv4 address in the form of IPv6, which is not accepted: write "
	  "10.0.0.1" },
	{ VM(POOL) ADDRESS("m-0-0", "address: \"fd00::1\", prefix: 64, gateway: \"fe80::1%eth0\""),
	  "spec.gateway", "the gateway 'fe80::1%eth0' has a zone (%eth0): zones are not allowed" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1"), "spec",
	  "the address has no prefix: the number of bits of its network, such as 24" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 33"), "spec.prefix",
	  "the prefix of an IPv4 address is a number from 0 to 32" },
	{ VM(POOL) ADDRESS("m-0-0", "address: \"::1\", prefix: -1"), "spec.prefix",
	  "the prefix of an IPv6 address is a number from 0 to 128" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24, nameservers: {address: "
				    "[10.0.0.53]}"),
	  "spec.nameservers", "has the unknown member 'address': only search and addresses are" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24, gateway: gw"), "spec.gateway",
	  "the gateway 'gw' is not an IP address" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24, gateway: \"fe80::1\""),
	  "spec.gateway", "the gateway 'fe80::1' is not of the same family as the address" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24, gateway: 10.0.0.1"),
	  "spec.gateway", "the gateway '10.0.0.1' is the address itself" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.129, prefix: 25, gateway: 10.0.0.1"),
	  "spec.gateway",
	  "the gateway '10.0.0.1' is not in the network of the address, 10.0.0.129/25" },
	{ VM(POOL) ADDRESS("m-0-0", "address: \"fd00::1\", prefix: 64, gateway: \"fd01::1\""),
	  "spec.gateway",
	  "the gateway 'fd01::1' is not in the network of the address, fd00::1/64" },
	{ VM(POOL) ADDRESS("m-0-0", "address: \"fd00::1\", prefix: 64, gateway: \"fe80::1\""), "",
	  "" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 0.0.0.0, prefix: 24"), "spec.address",
	  "'0.0.0.0' stands for no host (0.0.0.0/8): a guest cannot use it" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 127.0.0.1, prefix: 24"), "spec.address",
	  "'127.0.0.1' is a loopback address" },
	{ VM(POOL) ADDRESS("m-0-0", "address: 224.0.0.1, prefix: 24"), "spec.address",
	  "'224.0.0.1' is a multicast address" },
	{ VM(POOL) ADDRESS("m-0-0", "address: \"ff02::1\", prefix: 64"), "spec.address",
	  "'ff02::1' is a multicast address" },
	{ VM(TWO) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24, gateway: 10.0.0.9")
		  ADDRESS("m-0-1", "address: 10.0.0.2, prefix: 24, gateway: 10.0.0.8"),
	  "spec.gateway",
	  "the gateway '10.0.0.8' is not the one that device 0 has already, '10.0.0.9'" },
	{ VM(TWO) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24, gateway: 10.0.0.9")
		  ADDRESS("m-0-1", "address: 10.0.0.2, prefix: 24, gateway: 10.0.0.9"),
	  "", "" },
	{ VM("{gateway4: 10.0.0.7, addressesFromPools: [{kind: P, name: p}]}")
		  ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24, gateway: 10.0.0.9"),
	  "spec.gateway",
	  "the gateway '10.0.0.9' is not the one that device 0 has already, '10.0.0.7'" },
	{ VM(TWO) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24")
		  ADDRESS("m-0-1", "address: 10.0.0.1, prefix: 16"),
	  "spec.address", "device 0 has the address '10.0.0.1' already" },
	{ VM(POOL ", " POOL) ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24")
		  ADDRESS("m-1-0", "address: 10.0.0.1, prefix: 24"),
	  "spec.address", "device 0 has the address '10.0.0.1' already" },
	{ VM(POOL ", " POOL) ADDRESS("m-0-0", "address: \"fe80::1\", prefix: 64")
		  ADDRESS("m-1-0", "address: \"fe80::1\", prefix: 64"),
	  "", "" },
	{ VM("{ipAddrs: [10.0.0.1/24], addressesFromPools: [{kind: P, name: p}]}")
		  ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24"),
	  "spec.address", "device 0 has the address '10.0.0.1' already" },
	{ VM(POOL) IPAM "IPAddress, " META("m-0-0") ", nameservers: {}, spec: {" REF
						    ", address: 10.0.0.1, prefix: 24}}\n",
	  "nameservers", "this belongs into the spec, as spec.nameservers" },
	{ VM(POOL) ADDRESS("m-0-0",
			   "address: 10.0.0.1, prefix: 24, nameservers: {search: [\"b d\"]}"),
	  "spec.nameservers.search[0]", "'b d' is not a search domain" },
	/* Warnings: */
	{ VM("{addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: P, name: q}]}")
		  ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24"),
	  "spec.poolRef.name",
	  "the address is from the pool 'p', but device 0 of the machine names 'q'; it is used" },
	{ VM("{addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: GlobalP, name: p}]}")
		  ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24"),
	  "spec.poolRef.kind",
	  "the pool of the address is of the kind 'P', but device 0 of the machine names the kind "
	  "'GlobalP'" },
	{ VM("{addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterPrefixPool, "
	     "name: p}]}") IPAM
	  "IPAddress, " META("m-0-0") ", spec: {poolRef: {apiGroup: "
				      "ipam.cluster.x-k8s.io, kind: InClusterPrefixPool, name: p}, "
				      "address: \"fd00::\", "
				      "prefix: 64}}\n",
	  "spec.poolRef.kind",
	  "the IPAddress stands for a prefix (its pool is of the kind InClusterPrefixPool): device "
	  "0 gets the prefix's first address" },
	{ VM("{addressesFromPools: [{group: ipam.cluster.x-k8s.io/v1, kind: P, name: p}]}")
		  ADDRESS("m-0-0", "address: 10.0.0.1, prefix: 24"),
	  "spec.network.devices[0].addressesFromPools[0]",
	  "the pool has 'group': the field is called apiGroup" },
};

static void problem_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(problems); i++) {
		struct sample sample;
		sample_read(&sample, problems[i].yaml, false);
		const char *text = sample.problems.n != 0 ? sample.problems.v[0].text : "";
		if (strncmp(text, problems[i].problem, strlen(problems[i].problem)) != 0 ||
		    (problems[i].problem[0] == '\0') != (text[0] == '\0'))
			fail_msg("%s\n%s", problems[i].yaml, text);
		if (text[0] != '\0')
			assert_string_equal(sample.problems.v[0].field, problems[i].field);
		sample_done(&sample);
	}
}

/* An odd network is no reason to refuse a machine. */
static void odd_addresses_are_warnings(void **state)
{
	struct sample sample;
	(void)state;
	sample_read(&sample,
		    VM(POOL) ADDRESS("m-0-0", "address: 127.0.0.1, prefix: 8, gateway: 10.0.0.1"),
		    false);
	assert_int_equal(sample.problems.n, 2);
	assert_int_equal(sample.problems.n_errors, 0);
	sample_done(&sample);
	sample_read(&sample,
		    VM(POOL) ADDRESS("m-0-0", "address: 127.0.0.1, prefix: 8, gateway: 10.0.0.1"),
		    true);
	assert_int_equal(sample.problems.n, 0);
	sample_done(&sample);
}

/* IP-12: whoever waits for a machine sees all that is missing. */
static void all_missing_claims_are_listed(void **state)
{
	(void)state;
	struct sample sample;
	sample_read(&sample, VM(TWO ", " POOL), false);
	assert_int_equal(sample.problems.n_errors, 3);
	assert_non_null(strstr(sample.problems.v[0].text, "'m-0-0'"));
	assert_non_null(strstr(sample.problems.v[1].text, "'m-0-1'"));
	assert_non_null(strstr(sample.problems.v[2].text, "'m-1-0'"));
	sample_done(&sample);
}

#define PREFIX		  "address: 10.0.0.1, prefix: 24"
#define POOL_OBJECT(rest) IPAM "P, " META("p") ", spec: {" rest "}}\n"
#define DEFAULTS                                                                             \
	"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: fairlead-ipam, namespace: " \
	"fairlead}, data: {nameservers: '{\"addresses\": [\"10.4.0.1\"]}'}}\n"
#define NOTED_NONE                                                             \
	IPAM "IPAddress, metadata: {name: m-0-0, namespace: ns, annotations: " \
	     "{ipam.fairlead.dev/nameservers: '{}'}}, spec: {" REF ", " PREFIX "}}\n"
#define NOTED(spec)                                                                             \
	IPAM "IPAddress, metadata: {name: m-0-0, namespace: ns, annotations: "                  \
	     "{ipam.fairlead.dev/nameservers: '{\"addresses\": [\"10.2.0.1\"]}'}}, spec: {" REF \
	     ", " PREFIX spec "}}\n"

/* IP-14: the first source with an entry counts, whole. */
static const struct {
	const char *yaml, *addresses, *search;
} sources[] = {
	{ VM(POOL) NOTED(", nameservers: {addresses: [10.1.0.1]}")
		  POOL_OBJECT("nameservers: {addresses: [10.3.0.1]}") DEFAULTS,
	  "10.1.0.1", "" },
	{ VM(POOL) NOTED(", nameservers: {search: [a.b]}")
		  POOL_OBJECT("nameservers: {addresses: [10.3.0.1]}") DEFAULTS,
	  "", "a.b" },
	{ VM(POOL) NOTED(", nameservers: {}") POOL_OBJECT("nameservers: {addresses: [10.3.0.1]}")
		  DEFAULTS,
	  "10.2.0.1", "" },
	{ VM(POOL) NOTED(", nameservers: {search: null, addresses: []}") DEFAULTS, "10.2.0.1", "" },
	{ VM(POOL) ADDRESS("m-0-0", PREFIX)
		  POOL_OBJECT("nameservers: {addresses: [10.3.0.1], search: [p.q]}") DEFAULTS,
	  "10.3.0.1", "p.q" },
	{ VM(POOL) ADDRESS("m-0-0", PREFIX) POOL_OBJECT("dnsServers: [10.3.0.1, 10.3.0.2]")
		  DEFAULTS,
	  "10.3.0.1 10.3.0.2", "" },
	{ VM(POOL) ADDRESS("m-0-0", PREFIX) POOL_OBJECT("") DEFAULTS, "10.4.0.1", "" },
	{ VM(POOL) ADDRESS("m-0-0", PREFIX) POOL_OBJECT("nameservers: null"), "", "" },
	{ VM(POOL) ADDRESS("m-0-0", PREFIX), "", "" },
	/* IP-11: it was bound without any, whatever its pool and the default list since. */
	{ VM(POOL) NOTED_NONE POOL_OBJECT("nameservers: {addresses: [10.3.0.1]}") DEFAULTS, "",
	  "" },
};

static void source_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		struct sample sample;
		sample_read(&sample, sources[i].yaml, false);
		if (sample.problems.n != 0)
			fail_msg("%s\n%s", sources[i].yaml, sample.problems.v[0].text);
		assert_list(&sample.machine.devices[0].from_addresses.addresses,
			    sources[i].addresses);
		assert_list(&sample.machine.devices[0].from_addresses.search, sources[i].search);
		sample_done(&sample);
	}
}

static void prefix_comes_from_the_pool(void **state)
{
	(void)state;
	struct sample sample;
	sample_read(&sample,
		    VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1") POOL_OBJECT("prefix: 22"),
		    false);
	assert_int_equal(sample.problems.n, 0);
	assert_list(&sample.machine.devices[0].addresses, "10.0.0.1/22");
	sample_done(&sample);
}

/* For the name servers alone an address needs no prefix. */
static void dns_only_needs_no_prefix(void **state)
{
	(void)state;
	struct sample sample;
	sample_read(&sample,
		    VM(POOL) ADDRESS("m-0-0", "address: 10.0.0.1, nameservers: {search: [a]}"),
		    true);
	assert_int_equal(sample.problems.n, 1);
	assert_int_equal(sample.problems.n_errors, 0);
	assert_list(&sample.machine.devices[0].from_addresses.search, "a");
	sample_done(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(problem_table),
		cmocka_unit_test(odd_addresses_are_warnings),
		cmocka_unit_test(all_missing_claims_are_listed),
		cmocka_unit_test(source_table),
		cmocka_unit_test(prefix_comes_from_the_pool),
		cmocka_unit_test(dns_only_needs_no_prefix),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
