/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes of network-config version 2. That netplan and cloud-init read them as they are meant is
 * proved by tests/functional/test_netconfig.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/machine/bind.h"
#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "base/mem.h"
#include "cmd/netconfig/network_config.h"

struct written {
	const char *machine; /* members of metadata, and devices */
	const char *devices;
	struct machine_merge_opts opts;
	bool outer;
	const char *text;
};

static const struct written rows[] = {
	/* NC-2, NC-6: no empty lists, and no outer key. */
	{ .devices = "{ipAddrs: [10.0.0.1/24]}",
	  .text = "version: 2\n"
		  "ethernets:\n"
		  "  \"eth0\":\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n"
		  "    addresses: [\"10.0.0.1/24\"]\n" },
	/* NC-3: default routes as networks, of both families; own routes follow. */
	{ .devices = "{macAddr: \"00:50:56:00:00:01\", mtu: 9000, ipAddrs: [10.0.0.1/24, "
		     "\"2001:DB8::1/64\"], "
		     "gateway4: 10.0.0.254, gateway6: \"fe80::1\", routes: [{to: 10.8.0.0/16, via: "
		     "10.0.0.9, metric: 5}], searchDomains: [a.b]}",
	  .outer = true,
	  .text = "network:\n"
		  "  version: 2\n"
		  "  ethernets:\n"
		  "    id0:\n"
		  "      match: {macaddress: \"00:50:56:00:00:01\"}\n"
		  "      set-name: \"eth0\"\n"
		  "      dhcp4: false\n"
		  "      dhcp6: false\n"
		  "      accept-ra: false\n"
		  "      mtu: 9000\n"
		  "      addresses: [\"10.0.0.1/24\", \"2001:db8::1/64\"]\n"
		  "      routes: [{to: \"0.0.0.0/0\", via: \"10.0.0.254\"}, {to: \"::/0\", via: "
		  "\"fe80::1\"}, {to: \"10.8.0.0/16\", via: \"10.0.0.9\", metric: 5}]\n"
		  "      nameservers: {search: [\"a.b\"]}\n" },
	/* The second default route is the spare one. */
	{ .devices = "{gateway4: 10.0.0.1}, {gateway4: 10.0.0.2, gateway6: \"fe80::1\"}, "
		     "{gateway4: 10.0.0.3}",
	  .text = "version: 2\n"
		  "ethernets:\n"
		  "  \"eth0\":\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n"
		  "    routes: [{to: \"0.0.0.0/0\", via: \"10.0.0.1\"}]\n"
		  "  \"eth1\":\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n"
		  "    routes: [{to: \"0.0.0.0/0\", via: \"10.0.0.2\", metric: 100}, {to: "
		  "\"::/0\", via: \"fe80::1\"}]\n"
		  "  \"eth2\":\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n"
		  "    routes: [{to: \"0.0.0.0/0\", via: \"10.0.0.3\", metric: 200}]\n" },
	/* IP-9: DHCP beside name servers; the device's own word wins. */
	{ .devices = "{dhcp4: true, dhcp6: true, nameservers: [10.0.0.1], dhcp6Overrides: {useDNS: "
		     "true, routeMetric: 7}}",
	  .text = "version: 2\n"
		  "ethernets:\n"
		  "  \"eth0\":\n"
		  "    dhcp4: true\n"
		  "    dhcp4-overrides: {use-dns: false, use-domains: false}\n"
		  "    dhcp6: true\n"
		  "    dhcp6-overrides: {route-metric: 7, use-dns: true, use-domains: false}\n"
		  "    nameservers: {addresses: [\"10.0.0.1\"]}\n" },
	{ .devices = "{dhcp4: true}",
	  .text = "version: 2\n"
		  "ethernets:\n"
		  "  \"eth0\":\n"
		  "    dhcp4: true\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n" },
	/* Keys of devices never meet. */
	{ .devices = "{deviceName: id1}, {macAddr: \"00:50:56:00:00:01\"}",
	  .text = "version: 2\n"
		  "ethernets:\n"
		  "  \"id1\":\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n"
		  "  network-device-1:\n"
		  "    match: {macaddress: \"00:50:56:00:00:01\"}\n"
		  "    set-name: \"eth1\"\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n" },
	/* NC-1: everything on the device with the default route. */
	{ .devices = "{nameservers: [10.0.0.1], searchDomains: [a]}, {gateway4: 10.1.0.1, "
		     "nameservers: [10.0.0.2]}",
	  .opts = { .flat = true },
	  .text = "version: 2\n"
		  "ethernets:\n"
		  "  \"eth0\":\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n"
		  "  \"eth1\":\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n"
		  "    routes: [{to: \"0.0.0.0/0\", via: \"10.1.0.1\"}]\n"
		  "    nameservers: {search: [\"a\"], addresses: [\"10.0.0.1\", \"10.0.0.2\"]}\n" },
	/* NC-4: servers of the machine replace those of devices, domains stay. */
	{ .machine = ", annotations: {ipam.fairlead.dev/nameservers: '{\"addresses\": "
		     "[\"10.9.0.1\"]}'}",
	  .devices = "{nameservers: [10.0.0.1], searchDomains: [a]}, {gateway4: 10.1.0.1}",
	  .text = "version: 2\n"
		  "ethernets:\n"
		  "  \"eth0\":\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n"
		  "  \"eth1\":\n"
		  "    dhcp4: false\n"
		  "    dhcp6: false\n"
		  "    accept-ra: false\n"
		  "    routes: [{to: \"0.0.0.0/0\", via: \"10.1.0.1\"}]\n"
		  "    nameservers: {search: [\"a\"], addresses: [\"10.9.0.1\"]}\n" },
};

static void write_row(const struct written *row, struct strbuf *out, struct strbuf *merged_out)
{
	struct machine machine;
	struct machine_merged merged;
	struct arena arena;
	struct srcerr where;
	json_t *object;
	CLEANUP(freep)
	char *yaml =
		xasprintf("{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: "
			  "VSphereVM, metadata: {name: m%s}, spec: {network: {devices: [%s]}}}",
			  row->machine != NULL ? row->machine : "", row->devices);
	if (api_yaml_parse_one("row", slice_of(yaml), &object, &where) < 0)
		fail_msg("%s: %s", where.text, yaml);
	arena_init(&arena);
	struct machine_problems problems = { .arena = &arena };
	machine_read(object, "m", &problems, &machine);
	assert_int_equal(problems.n, 0);
	machine_merge(&machine, &row->opts, &arena, &merged);
	network_config_write(&machine, &merged, row->outer, out);
	network_config_write_merged(&merged, merged_out);
	arena_done(&arena);
	json_decref(object);
}

static void written_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
		CLEANUP(strbuf_done) struct strbuf merged = STRBUF_INIT;
		write_row(&rows[i], &out, &merged);
		write_row(&rows[i], &again, &merged);
		assert_string_equal(out.s, rows[i].text);
		assert_string_equal(again.s, rows[i].text);
	}
}

static void merged_block(void **state)
{
	(void)state;
	static const struct {
		const char *devices, *text;
	} blocks[] = {
		{ "{}", "nameservers: {}\n" },
		{ "{searchDomains: [a]}", "nameservers:\n  search: [\"a\"]\n" },
		{ "{nameservers: [10.0.0.1]}", "nameservers:\n  addresses: [\"10.0.0.1\"]\n" },
		{ "{nameservers: [10.0.0.1], searchDomains: [a, b]}",
		  "nameservers:\n  search: [\"a\", \"b\"]\n  addresses: [\"10.0.0.1\"]\n" },
	};
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		CLEANUP(strbuf_done) struct strbuf merged = STRBUF_INIT;
		write_row(&(struct written){ .devices = blocks[i].devices }, &out, &merged);
		assert_string_equal(merged.s, blocks[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_table),
		cmocka_unit_test(merged_block),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
