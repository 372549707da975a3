/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CoreDNS's metadata rows, and the pod that asks; seen in the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plugin/kubernetes/source_test.h"
#include "plugin/kubernetes/test_world.h"
#include "testing/fake_server.h"

static const char *const objects[] = {
	"namespace podns",
	"pod podns foo ips=10.240.0.1,fd00::1 labels=app.kubernetes.io/name:foo,bar:baz",
};

static const struct {
	const char *name, *client,
		*line; /* error, endpoint, kind, namespace, port, protocol, service,
			  cluster, zone; client's namespace, name, two labels */
} rows[] = {
	{ "foo.bar.notapod.cluster.local.", NULL, "invalid query name,-,-,-,-,-,-,-,-,-,-,-,-" },
	{ "10-240-0-1.podns.pod.cluster.local.", NULL, "-,,pod,podns,,,10-240-0-1,-,,-,-,-,-" },
	{ "s.ns.svc.cluster.local.", NULL, "-,,svc,ns,,,s,-,,-,-,-,-" },
	{ "s.ns.svc.cluster.local.", "10.10.10.10:53", "-,,svc,ns,,,s,-,,-,-,-,-" },
	{ "_http._tcp.s.ns.svc.cluster.local.", "10.10.10.10:53",
	  "-,,svc,ns,http,tcp,s,-,,-,-,-,-" },
	{ "ep.s.ns.svc.cluster.local.", "10.10.10.10:53", "-,ep,svc,ns,,,s,-,,-,-,-,-" },
	{ "ep.c1.s.ns.svc.clusterset.local.", "10.10.10.10:53", "-,ep,svc,ns,,,s,c1,,-,-,-,-" },
	{ "example.com.", "10.10.10.10:53", "-,-,-,-,-,-,-,-,-,-,-,-,-" },
	{ "eu.west-1.pin._zone.s.ns.svc.cluster.local.", NULL,
	  "-,,svc,ns,,,s,-,eu.west-1,-,-,-,-" },
	{ "cluster.local.", NULL, "-,,,,,,,-,,-,-,-,-" },
	{ "example.com.", "10.240.0.1:53", "-,-,-,-,-,-,-,-,-,podns,foo,foo,baz" },
	{ "ns.svc.cluster.local.", "[fd00::1]:53", "-,,svc,ns,,,,-,,podns,foo,foo,baz" },
};

#define M(x) "{/kubernetes/" x "}"
static const char corefile[] = ". {\n metadata\n log . \"" M("parse-error") "," M("endpoint") "," M("kind") "," M(
	"namespa"
	"ce") "," M("port-name") "," M("protocol") "," M("service") "," M("cluster") "," M("zone") "," M("client-namespace") "," M("client-"
																   "pod-"
																   "name") "," M("client-label/app.kubernetes.io/name") "," M("client-label/bar") "\"\n"
																										  " kubernetes cluster.local clusterset.local {\n multicluster clusterset.local\n"
																										  " pods verified\n zonal\n }\n whoami\n}\n";

static void labels(void **state)
{
	struct world w;
	(void)state;
	world_init(&w, objects, ARRAY_LEN(objects));
	struct kubernetes_preset preset = { .index = w.x, .imports = w.imports };
	kubernetes_source_preset(&preset);
	struct fake *f = fake_new(corefile);
	if (f == NULL)
		fail_msg("%s", fake_error());
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
		(void)fake_log(f);
		assert_non_null(fake_ask(
			f, &(struct fake_ask){ .name = rows[i].name, .client = rows[i].client }));
		strbuf_addf(&want, "[INFO] %s\n", rows[i].line);
		assert_string_equal(fake_log(f), want.s);
	}
	fake_free(f);
	kubernetes_source_preset(NULL);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(labels) };
	return cmocka_run_group_tests_name("plugin/kubernetes/metadata", tests, NULL, NULL);
}
