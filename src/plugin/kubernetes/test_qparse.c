/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugin/kubernetes/qparse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"

enum { MULTI = 1, ZONAL = 2 };

/* port.protocol.endpoint.cluster.service.namespace|zone */
static const struct {
	const char *name;
	unsigned opts;
	enum kubernetes_what what;
	const char *parts;
} rows[] = {
	/* CoreDNS's grammar of names */
	{ "cluster.local", 0, KUBERNETES_APEX, "....." },
	{ "svc.cluster.local", 0, KUBERNETES_TYPE, "....." },
	{ "pod.cluster.local", 0, KUBERNETES_TYPE, "....." },
	{ "SVC.Cluster.Local", 0, KUBERNETES_TYPE, "....." },
	{ "ns.svc.cluster.local", 0, KUBERNETES_NAMESPACE, ".....ns" },
	{ "ns.pod.cluster.local", 0, KUBERNETES_NAMESPACE, ".....ns" },
	{ "web.ns.svc.cluster.local", 0, KUBERNETES_SERVICE, "....web.ns" },
	{ "1-2-3-4.ns.pod.cluster.local", 0, KUBERNETES_POD, "....1-2-3-4.ns" },
	{ "ep.web.ns.svc.cluster.local", 0, KUBERNETES_SERVICE, "..ep..web.ns" },
	{ "_http._tcp.web.ns.svc.cluster.local", 0, KUBERNETES_SERVICE, "http.tcp...web.ns" },
	{ "http.tcp.web.ns.svc.cluster.local", 0, KUBERNETES_SERVICE, "http.tcp...web.ns" },
	{ "_._.web.ns.svc.cluster.local", 0, KUBERNETES_SERVICE, "....web.ns" },
	{ "x._http._tcp.web.ns.svc.cluster.local", 0, KUBERNETES_NONSENSE, NULL },
	{ "dns-version.cluster.local", 0, KUBERNETES_VERSION, "....." },
	{ "x.dns-version.cluster.local", 0, KUBERNETES_NONSENSE, NULL },
	{ "ns.dns.cluster.local", 0, KUBERNETES_NS_HOST, "....." },
	{ "x.ns.dns.cluster.local", 0, KUBERNETES_NONSENSE, NULL },
	{ "foo.cluster.local", 0, KUBERNETES_NONSENSE, NULL },
	{ "x.foo.cluster.local", 0, KUBERNETES_NONSENSE, NULL },
	/* several clusters */
	{ "ep.c1.web.ns.svc.cluster.local", MULTI, KUBERNETES_SERVICE, "..ep.c1.web.ns" },
	{ "_http.tcp.web.ns.svc.cluster.local", MULTI, KUBERNETES_SERVICE, "http.tcp...web.ns" },
	{ "http._tcp.web.ns.svc.cluster.local", MULTI, KUBERNETES_SERVICE, "http.tcp...web.ns" },
	/* zonal */
	{ "a.pin._zone.web.ns.svc.cluster.local", 0, KUBERNETES_NONSENSE, NULL },
	{ "a.pin._zone.web.ns.svc.cluster.local", ZONAL, KUBERNETES_SERVICE, "....web.ns|1" },
	{ "a.b.pin._zone.web.ns.svc.cluster.local", ZONAL, KUBERNETES_SERVICE, "....web.ns|2" },
	{ "a.prefer._zone.web.ns.svc.cluster.local", ZONAL, KUBERNETES_SERVICE, "....web.ns|1p" },
	{ "a.maybe._zone.web.ns.svc.cluster.local", ZONAL, KUBERNETES_NONSENSE, NULL },
	{ "a.pin._zone.web.ns.pod.cluster.local", ZONAL, KUBERNETES_NONSENSE, NULL },
	{ "a.pin._zone.web.ns.svc.cluster.local", ZONAL | MULTI, KUBERNETES_NONSENSE, NULL },
	{ "a.b.c.web.ns.svc.cluster.local", ZONAL, KUBERNETES_NONSENSE, NULL },
};

static void names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t wire[DNS_NAME_MAX];
		struct dns_qname q;
		struct kubernetes_qparse p;
		CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
		assert_true(dns_name_from_text(slice_of(rows[i].name), wire) > 0);
		dns_qname_set(&q, wire);
		kubernetes_qparse(&q, 2,
				  &(struct kubernetes_qparse_opts){
					  .multicluster = (rows[i].opts & MULTI) != 0,
					  .zonal = (rows[i].opts & ZONAL) != 0 },
				  &p);
		if (p.what != rows[i].what)
			fail_msg("%s: %d", rows[i].name, (int)p.what);
		if (rows[i].parts == NULL)
			continue;
		const struct slice *parts[] = { &p.port,    &p.protocol, &p.endpoint,
						&p.cluster, &p.service,	 &p.ns };
		for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
			strbuf_adds(&b, k != 0 ? "." : "");
			strbuf_add_slice(&b, *parts[k]);
		}
		if (p.n_zone_labels != 0)
			strbuf_addf(&b, "|%u%s", p.n_zone_labels, p.zone_prefer ? "p" : "");
		assert_string_equal(b.s, rows[i].parts);
		assert_int_equal(p.is_pod, strstr(rows[i].name, "pod.") != NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
