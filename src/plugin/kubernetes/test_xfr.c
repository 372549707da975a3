/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a transfer of a cluster's zone holds, and that it is of one moment. That
 * CoreDNS's holds the same is for tests/differential/test_kubernetes.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "dns/test_names.h"
#include "plugin/kubernetes/source_test.h"
#include "plugin/kubernetes/test_world.h"
#include "plugin/shared/zonecopy.h"
#include "server/generation.h"
#include "server/server_state.h"
#include "testing/fake_server.h"

static const char *const objects[] = {
	"namespace n",
	"namespace m",
	"service n web ips=10.0.0.1,fd00::1 ports=http:80/TCP,:443/TCP",
	"service m web ips=10.0.0.2 ports=dns:53/UDP",
	"service n bare ips=10.0.0.3",
	"service n ext external=www.example.org",
	"service n ext-ip external=192.0.2.1",
	"service n head ips=None ports=a:1/TCP",
	"slice n head-1 of=head ports=a:1/TCP,:2/TCP eps=10.1.0.1/one,10.1.0.2,fd00::2",
	"slice n head-2 of=head eps=10.1.0.3/two",
	"slice n web-1 of=web ports=http:80/TCP eps=10.1.0.9",
	"service gone late ips=10.0.0.9 ports=http:80/TCP",
	"import n far ips=10.2.0.1 ports=x:9/TCP",
	"import n apart type=Headless",
	"imported n apart-1 of=apart cluster=c1 ports=x:9/TCP eps=10.2.0.2/e",
};

#define APEX(zone)                                     \
	zone " 5 SOA\n" zone " 5 NS ns.dns." zone "\n" \
	     "ns.dns." zone " 5 A 192.0.2.53\n"

static const char cluster[] = APEX(
	"cluster.local.") "bare.n.svc.cluster.local. 5 A 10.0.0.3\n"
			  "ext.n.svc.cluster.local. 5 CNAME www.example.org.\n"
			  "head.n.svc.cluster.local. 5 A 10.1.0.1\n"
			  "one.head.n.svc.cluster.local. 5 A 10.1.0.1\n"
			  "_a._tcp.head.n.svc.cluster.local. 5 SRV 0 33 1 "
			  "one.head.n.svc.cluster.local.\n"
			  "head.n.svc.cluster.local. 5 A 10.1.0.2\n"
			  "10-1-0-2.head.n.svc.cluster.local. 5 A 10.1.0.2\n"
			  "_a._tcp.head.n.svc.cluster.local. 5 SRV 0 33 1 "
			  "10-1-0-2.head.n.svc.cluster.local.\n"
			  "head.n.svc.cluster.local. 5 AAAA fd00::2\n"
			  "fd00--2.head.n.svc.cluster.local. 5 AAAA fd00::2\n"
			  "_a._tcp.head.n.svc.cluster.local. 5 SRV 0 33 1 "
			  "fd00--2.head.n.svc.cluster.local.\n"
			  "head.n.svc.cluster.local. 5 A 10.1.0.3\n"
			  "two.head.n.svc.cluster.local. 5 A 10.1.0.3\n"
			  "web.m.svc.cluster.local. 5 A 10.0.0.2\n"
			  "web.m.svc.cluster.local. 5 SRV 0 100 53 web.m.svc.cluster.local.\n"
			  "_dns._udp.web.m.svc.cluster.local. 5 SRV 0 100 53 "
			  "web.m.svc.cluster.local.\n"
			  "web.n.svc.cluster.local. 5 A 10.0.0.1\n"
			  "web.n.svc.cluster.local. 5 AAAA fd00::1\n"
			  "web.n.svc.cluster.local. 5 SRV 0 100 80 web.n.svc.cluster.local.\n"
			  "_http._tcp.web.n.svc.cluster.local. 5 SRV 0 100 80 "
			  "web.n.svc.cluster.local.\n"
			  "web.n.svc.cluster.local. 5 SRV 0 100 443 web.n.svc.cluster.local.\n";

/* Endpoints of other clusters lack the cluster in their names, as in CoreDNS. */
static const char imported[] =
	APEX("set.test.") "apart.n.svc.set.test. 5 A 10.2.0.2\n"
			  "e.apart.n.svc.set.test. 5 A 10.2.0.2\n"
			  "_x._tcp.apart.n.svc.set.test. 5 SRV 0 100 9 e.apart.n.svc.set.test.\n"
			  "far.n.svc.set.test. 5 A 10.2.0.1\n"
			  "far.n.svc.set.test. 5 SRV 0 100 9 far.n.svc.set.test.\n"
			  "_x._tcp.far.n.svc.set.test. 5 SRV 0 100 9 far.n.svc.set.test.\n";

static void add_name(struct strbuf *b, const uint8_t *name)
{
	char text[DNS_NAME_TEXT_MAX];
	dns_name_to_text(name, false, text);
	strbuf_adds(b, text);
}

static void add_record(struct strbuf *b, const struct dns_rr *rr)
{
	char text[INET6_ADDRSTRLEN];
	add_name(b, rr->owner);
	assert_int_equal(rr->owner_len, dns_name_len(rr->owner));
	strbuf_addf(b, " %u ", rr->ttl);
	switch (rr->type) {
	case DNS_TYPE_SOA:
		strbuf_adds(b, "SOA");
		break;
	case DNS_TYPE_A:
	case DNS_TYPE_AAAA:
		inet_ntop(rr->rdlen == 4 ? AF_INET : AF_INET6, rr->rdata, text, sizeof(text));
		strbuf_addf(b, "%s %s", rr->type == DNS_TYPE_A ? "A" : "AAAA", text);
		break;
	case DNS_TYPE_SRV:
		strbuf_addf(b, "SRV %u %u %u ", dns_get16(rr->rdata), dns_get16(rr->rdata + 2),
			    dns_get16(rr->rdata + 4));
		add_name(b, rr->rdata + 6);
		break;
	default:
		strbuf_adds(b, rr->type == DNS_TYPE_NS ? "NS " : "CNAME ");
		add_name(b, rr->rdata);
	}
	strbuf_adds(b, "\n");
}

struct rig {
	struct world w;
	struct kubernetes_preset preset;
	struct fake *f;
	struct plugin_inst *inst;
};

static void rig_up(struct rig *g, const char *corefile)
{
	world_init(&g->w, objects, ARRAY_LEN(objects));
	g->preset = (struct kubernetes_preset){ .index = g->w.x, .imports = g->w.imports };
	assert_int_equal(kube_ip_parse(slice_of("192.0.2.53"), &g->preset.local), 0);
	kubernetes_source_preset(&g->preset);
	g->f = fake_new(corefile);
	if (g->f == NULL)
		fail_msg("%s", fake_error());
	g->inst = block_find(&fake_server(g->f)->gen->block[0], "kubernetes");
	assert_non_null(g->inst);
}

static void rig_down(struct rig *g)
{
	fake_free(g->f);
	kubernetes_source_preset(NULL);
	world_done(&g->w);
}

static struct zone_copy *copy_of(struct rig *g, const char *zone)
{
	uint8_t wire[DNS_NAME_MAX];
	assert_true(dns_name_from_text(slice_of(zone), wire) > 0);
	assert_true(g->inst->plugin->ops.has_zone(g->inst, wire));
	return g->inst->plugin->ops.copy_zone(g->inst, wire);
}

static void expect(struct zone_copy *z, const char *want)
{
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	struct dns_rr rr;
	assert_non_null(z);
	while (z->next(z, &rr) == 1)
		add_record(&got, &rr);
	assert_string_equal(got.s, want);
	assert_int_equal(z->next(z, &rr), 0);
	z->free(z);
}

static const char plain[] = ". {\n kubernetes cluster.local set.test {\n multicluster set.test\n"
			    " }\n}\n";

static void records(void **state)
{
	struct rig g;
	uint8_t below[] = "\3svc\7cluster\5local";
	(void)state;
	rig_up(&g, plain);
	expect(copy_of(&g, "cluster.local."), cluster);
	expect(copy_of(&g, "set.test."), imported);
	assert_false(g.inst->plugin->ops.has_zone(g.inst, below));
	rig_down(&g);
}

/* What comes and goes after the copy does not change it. */
static void one_moment(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g, plain);
	struct zone_copy *z = copy_of(&g, "cluster.local.");
	struct kube_obj *o = world_add(&g.w, "service n aaa ips=10.0.0.4 ports=http:80/TCP");
	kubernetes_index_service(g.w.x, o, NULL);
	kube_obj_unref(o);
	struct kube_obj *s = world_add(&g.w, "slice n head-1 of=head eps=10.1.0.7");
	kube_obj_unref(s);
	kubernetes_index_namespace(g.w.x, slice_of("n"), false);
	expect(z, cluster);
	expect(copy_of(&g, "cluster.local."),
	       APEX("cluster.local.") "web.m.svc.cluster.local. 5 A 10.0.0.2\n"
				      "web.m.svc.cluster.local. 5 SRV 0 100 53 "
				      "web.m.svc.cluster.local.\n"
				      "_dns._udp.web.m.svc.cluster.local. 5 SRV 0 100 53 "
				      "web.m.svc.cluster.local.\n");
	rig_down(&g);
}

/* Before the first list there is nothing to give. */
static void early(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g, plain);
	g.preset.unsynced = true;
	assert_null(copy_of(&g, "cluster.local."));
	g.preset.unsynced = false;
	struct zone_copy *z = copy_of(&g, "cluster.local.");
	assert_non_null(z);
	z->free(z); /* nothing was taken */
	rig_down(&g);
}

/* Zones below which nothing fits, or only a part: what fits is transferred, and can be sent. */
static void longest_zones(void **state)
{
	static const size_t labels[] = { 1, 37, 62 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(labels) * 60; i++) {
		CLEANUP(strbuf_done) struct strbuf corefile = STRBUF_INIT;
		size_t octets = 244 - i / ARRAY_LEN(labels), n_rr = 0;
		char zone[256];
		struct rig g;
		struct dns_rr rr;
		long_name_below("z.", octets, labels[i % ARRAY_LEN(labels)], zone);
		strbuf_addf(&corefile, ". {\n kubernetes %s {\n endpoint_pod_names\n }\n}\n", zone);
		rig_up(&g, corefile.s);
		struct zone_copy *z = copy_of(&g, zone);
		assert_non_null(z);
		for (int r = z->next(z, &rr); r != 0; r = z->next(z, &rr), n_rr++) {
			assert_int_equal(r, 1);
			assert_true(dns_name_len(rr.owner) <= DNS_NAME_MAX);
			if (rr.type == DNS_TYPE_SRV)
				assert_true(dns_name_len(rr.rdata + 6) <= DNS_NAME_MAX);
		}
		assert_true(n_rr >= 3);
		z->free(z);
		rig_down(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(records), cmocka_unit_test(one_moment),
					    cmocka_unit_test(early),
					    cmocka_unit_test(longest_zones) };
	return cmocka_run_group_tests_name("plugin/kubernetes/xfr", tests, NULL, NULL);
}
