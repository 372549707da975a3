/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which servers are polled: those of EndpointSlices, of the flag, of one machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/kind.h"
#include "base/strbuf.h"
#include "controller/egressfirewall/transfer/servers.h"
#include "controller/egressfirewall/watches.h"
#include "kube/decode/tree.h"

struct rig {
	struct kube_store *stores[EGRESSFIREWALL_WATCHES];
	struct controller_options options;
	struct controller_ctx ctx;
};

static void index_nothing(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	(void)obj;
	(void)emit;
	(void)ctx;
}

static void rig_init(struct rig *rig)
{
	static const kube_index_fn indexes[] = { index_nothing, index_nothing };
	*rig = (struct rig){ .options = { .feature_gates = "EgressFirewallNames=true" } };
	for (size_t i = 0; i < EGRESSFIREWALL_WATCHES; i++)
		rig->stores[i] = kube_store_new(indexes, ARRAY_LEN(indexes));
	rig->ctx = (struct controller_ctx){ .ns = "fairlead",
					    .options = &rig->options,
					    .stores = rig->stores };
}

static void rig_done(struct rig *rig)
{
	for (size_t i = 0; i < EGRESSFIREWALL_WATCHES; i++)
		kube_store_free(rig->stores[i]);
}

static void add_object(struct rig *rig, size_t watch, const char *json)
{
	const struct controller_watch *row = &egressfirewall_watches[watch];
	struct kube_codec *codec = kube_tree_codec(api_kind_find(row->group, row->kind), NULL, 0);
	struct kube_obj *object, *old = NULL;
	assert_int_equal(codec->decode(codec, slice_of(json), &object), 0);
	kube_store_put(rig->stores[watch], object, &old);
	kube_obj_unref(old);
	kube_codec_free(codec);
}

static void expect(const struct rig *rig, const char *expected)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	egressfirewall_transfer_servers list = { 0 };
	egressfirewall_transfer_list_servers(&rig->ctx, &list);
	for (size_t i = 0; i < list.n; i++) {
		char text[NET_ADDR_TEXT_MAX];
		net_addr_str(&list.v[i], text);
		strbuf_addf(&out, "%s%s", i != 0 ? " " : "", text);
	}
	vec_done(&list);
	assert_string_equal(out.n != 0 ? out.s : "", expected);
}

#define SLICE_OF(name, type, ports, endpoints)                                       \
	"{\"apiVersion\":\"discovery.k8s.io/"                                        \
	"v1\",\"kind\":\"EndpointSlice\",\"metadata\":{\"name\":\"" name             \
	"\",\"namespace\":\"kube-system\",\"resourceVersion\":\"1\",\"uid\":\"" name \
	"\"},\"addressType\":\"" type "\",\"ports\":[" ports "],\"endpoints\":[" endpoints "]}"
#define DNS_PORTS                                                    \
	"{\"name\":\"metrics\",\"port\":9153,\"protocol\":\"TCP\"}," \
	"{\"name\":\"dns-tcp\",\"port\":5353,\"protocol\":\"TCP\"}," \
	"{\"name\":\"dns\",\"port\":5353,\"protocol\":\"UDP\"}"

static void endpoints(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	expect(&rig, "");
	add_object(&rig, EGRESSFIREWALL_SLICES,
		   SLICE_OF("six", "IPv6", DNS_PORTS, "{\"addresses\":[\"2001:db8::1\"]}"));
	expect(&rig, "[2001:db8::1]:5353");
	/* The same pods by IPv4; one ends and does not serve any more, one is no address. */
	add_object(&rig, EGRESSFIREWALL_SLICES,
		   SLICE_OF("four", "IPv4", DNS_PORTS,
			    "{\"addresses\":[\"192.0.2.1\"],\"conditions\":{\"ready\":true,"
			    "\"serving\":true}},"
			    "{\"addresses\":[\"192.0.2.2\"],\"conditions\":{\"serving\":false}},"
			    "{\"addresses\":[\"x\"]},{},3,"
			    "{\"addresses\":[\"192.0.2.3\"],\"conditions\":{\"ready\":false}}"));
	expect(&rig, "192.0.2.1:5353 192.0.2.3:5353");
	/* A Service without a port for TCP. */
	add_object(&rig, EGRESSFIREWALL_SLICES,
		   SLICE_OF("udp", "IPv4", "{\"name\":\"dns\",\"port\":53}",
			    "{\"addresses\":[\"192.0.2.9\"]}"));
	expect(&rig, "192.0.2.1:5353 192.0.2.3:5353");
	/* OpenShift has its own. */
	rig.options.platform = "openshift";
	expect(&rig, "");
	add_object(&rig, EGRESSFIREWALL_SLICES_OPENSHIFT,
		   SLICE_OF("dns-default", "IPv4", DNS_PORTS, "{\"addresses\":[\"192.0.2.7\"]}"));
	expect(&rig, "192.0.2.7:5353");
	rig_done(&rig);
}

static void options(void **state)
{
	struct controller_machine machine = { .bind = "0.0.0.0", .port = 1053 };
	union net_addr given;
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_true(egressfirewall_transfer_is_on(&rig.ctx));
	assert_int_equal(net_addr_parse(SLICE("192.0.2.5:53"), &given), 0);
	rig.options.dns_instances = &given;
	rig.options.n_dns_instances = 1;
	expect(&rig, "192.0.2.5:53");
	rig.options.machine = &machine;
	expect(&rig, "127.0.0.1:1053");
	assert_false(egressfirewall_transfer_is_on(&rig.ctx)); /* by the machine, not by the gate */
	machine.egress_keys = "keys";
	assert_true(egressfirewall_transfer_is_on(&rig.ctx));
	rig.options.machine = NULL;
	rig.options.feature_gates = NULL;
	assert_false(egressfirewall_transfer_is_on(&rig.ctx));
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endpoints),
		cmocka_unit_test(options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
