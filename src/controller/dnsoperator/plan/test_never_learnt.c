/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which networks DNS servers never learn addresses of, and that nodes rarely change them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/dnsoperator/plan/never_learnt.h"

static json_t *nodes_of(const char *ranges)
{
	json_t *nodes = json_array();
	struct slice rest = slice_of(ranges);
	while (rest.n != 0) {
		struct slice range = slice_cut(&rest, ' ');
		json_array_append_new(nodes,
				      json_pack("{s:{s:[s%]}, s:{s:[{s:s, s:s}]}}", "spec",
						"podCIDRs", range.p, range.n, "status", "addresses",
						"type", "InternalIP", "address", "192.0.2.9"));
	}
	return nodes;
}

static json_t *service_cidrs_of(const char *ranges)
{
	json_t *list = json_array();
	struct slice rest = slice_of(ranges);
	while (rest.n != 0) {
		struct slice range = slice_cut(&rest, ' ');
		json_array_append_new(list,
				      json_pack("{s:{s:[s%]}}", "spec", "cidrs", range.p, range.n));
	}
	return list;
}

static void assert_networks(const char *services, const char *pods, const char *wanted)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	json_t *service_cidrs = service_cidrs_of(services), *nodes = nodes_of(pods);
	struct dnsoperator_never never;
	dnsoperator_never_of(
		&(struct dnsoperator_network){ .service_cidrs = service_cidrs, .nodes = nodes },
		&never);
	dnsoperator_never_text(&never, &text);
	assert_string_equal(text.n != 0 ? text.s : "", wanted);
	for (size_t i = 0; i < json_array_size(nodes); i++)
		assert_true(dnsoperator_never_has(&never, json_array_get(nodes, i)));
	json_decref(service_cidrs);
	json_decref(nodes);
}

static void kubernetes(void **state)
{
	static const struct {
		const char *services, *pods, *wanted;
	} rows[] = {
		{ "", "", "" },
		{ "10.96.0.0/12 fd00:10:96::/108", "10.244.0.0/24",
		  "10.96.0.0/12 10.244.0.0/24 fd00:10:96::/108" },
		/* Ranges of nodes are joined, in any order, to the network around them. */
		{ "", "10.244.0.0/24 10.244.1.0/24", "10.244.0.0/23" },
		{ "", "10.244.4.0/24 10.244.1.0/24 10.244.2.0/24", "10.244.0.0/21" },
		{ "", "10.244.2.0/24 10.244.4.0/24 10.244.1.0/24", "10.244.0.0/21" },
		{ "", "10.244.255.0/24 10.244.0.0/24", "10.244.0.0/16" },
		/* And not beyond: 10.245.0.0/16 may be anybody's. */
		{ "", "10.244.0.0/24 10.246.0.0/24", "10.244.0.0/24 10.246.0.0/24" },
		{ "", "10.0.0.0/15 10.1.2.0/24", "10.0.0.0/15" },
		{ "", "fd00:1:2::/64 fd00:1:2:1::/64 fd00:1:3::/64",
		  "fd00:1:2::/63 fd00:1:3::/64" },
		/* What is inside of another network needs no word, and what is not valid counts for none. */
		{ "10.0.0.0/8", "10.244.0.0/24", "10.0.0.0/8" },
		{ "x 10.0.0.0", "y 10.0.0.0/33 ::ffff:10.0.0.0/104", "" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_networks(rows[i].services, rows[i].pods, rows[i].wanted);
}

/* A cluster that grows from one node to 256 changes its Corefile nine times. */
static void growth(void **state)
{
	CLEANUP(strbuf_done) struct strbuf pods = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
	unsigned changes = 0;
	(void)state;
	strbuf_adds(&before, "");
	for (unsigned i = 0; i < 256; i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		struct dnsoperator_never never;
		strbuf_addf(&pods, "%s10.244.%u.0/24", i != 0 ? " " : "", i);
		json_t *nodes = nodes_of(pods.s);
		dnsoperator_never_of(&(struct dnsoperator_network){ .nodes = nodes }, &never);
		dnsoperator_never_text(&never, &text);
		changes += strcmp(text.s, before.s) != 0;
		strbuf_reset(&before);
		strbuf_adds(&before, text.s);
		json_decref(nodes);
	}
	assert_int_equal(changes, 9);
}

static void openshift(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	json_t *network = json_pack(
		"{s:{s:[{s:s}], s:[s]}, s:{s:[{s:s}], s:[s, s]}}", "spec", "clusterNetwork", "cidr",
		"10.128.0.0/14", "serviceNetwork", "172.30.0.0/16", "status", "clusterNetwork",
		"cidr", "10.128.0.0/14", "serviceNetwork", "172.30.0.0/16", "fd02::/112");
	struct dnsoperator_never never;
	(void)state;
	dnsoperator_never_of(&(struct dnsoperator_network){ .network = network }, &never);
	dnsoperator_never_text(&never, &text);
	assert_string_equal(text.s, "10.128.0.0/14 172.30.0.0/16 fd02::/112");
	json_decref(network);
}

/* Before Kubernetes 1.33 no object has the range of Services. */
static void the_api_server_alone(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	json_t *service =
		json_pack("{s:{s:[s, s]}}", "spec", "clusterIPs", "10.96.0.1", "fd00:10:96::1");
	struct dnsoperator_never never;
	(void)state;
	dnsoperator_never_of(&(struct dnsoperator_network){ .service = service }, &never);
	dnsoperator_never_text(&never, &text);
	assert_string_equal(text.s, "10.96.0.1/32 fd00:10:96::1/128");
	json_decref(service);
}

static void limit(void **state)
{
	CLEANUP(strbuf_done) struct strbuf pods = STRBUF_INIT;
	struct dnsoperator_never never;
	(void)state;
	for (unsigned i = 0; i < 2 * DNSOPERATOR_NEVER_MAX; i++)
		strbuf_addf(&pods, "%s10.%u.0.0/24", i != 0 ? " " : "", i);
	json_t *nodes = nodes_of(pods.s);
	dnsoperator_never_of(&(struct dnsoperator_network){ .nodes = nodes }, &never);
	assert_int_equal(never.n, DNSOPERATOR_NEVER_MAX);
	json_decref(nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kubernetes), cmocka_unit_test(growth),
		cmocka_unit_test(openshift),  cmocka_unit_test(the_api_server_alone),
		cmocka_unit_test(limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
