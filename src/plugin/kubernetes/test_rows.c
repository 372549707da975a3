/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of CoreDNS's own tests of the plugin: what it knows, what is asked, what it answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rcu/rcu.h"
#include "plugin/kubernetes/source_test.h"
#include "plugin/kubernetes/test_world.h"
#include "testing/fake_server.h"

/* ---- what the API has ---- */

#define EPS_HDLS1 \
	"eps=172.0.0.2,172.0.0.3,172.0.0.4/dup-name,172.0.0.5/dup-name,5678:abcd::1,5678:abcd::2"

static const char *const handler_world[] = {
	"namespace testns",
	"namespace podns",
	"namespace svcns",
	"namespace kube-system",
	"namespace unexposedns",
	"pod podns foo ips=10.240.0.1 labels=app.kubernetes.io/name:foo,bar:baz",
	"service kube-system kubedns ips=10.0.0.10 ports=dns:53/udp",
	"service testns svc1 ips=10.0.0.1 ports=http:80/tcp",
	"service testns svcempty ips=10.0.0.1 ports=http:80/tcp",
	"service testns svc6 ips=1234:abcd::1 ports=http:80/tcp",
	"service testns hdls1 ips=None",
	"service testns external external=ext.interwebs.test ports=http:80/tcp",
	"service testns external-to-service external=svc1.testns.svc.cluster.local. "
	"ports=http:80/tcp",
	"service testns hdlsprtls ips=None",
	"service unexposedns svc1 ips=10.0.0.2 ports=http:80/tcp",
	"service testns svc-dual-stack ips=10.0.0.3,10::3 ports=http:80/tcp",
	"slice kube-system kubedns of=kubedns ports=dns:53/udp eps=172.0.0.100",
	"slice testns svc1-slice1 of=svc1 ports=http:80/tcp eps=172.0.0.1/ep1a",
	"slice testns svcempty-slice1 of=svcempty ports=http:80/tcp",
	"slice testns hdls1-slice1 of=hdls1 ports=http:80/tcp " EPS_HDLS1,
	"slice testns hdlsprtls-slice1 of=hdlsprtls eps=172.0.0.20",
	"import kube-system kubedns ips=10.0.0.10 ports=dns:53/udp",
	"import testns svc1 ips=10.0.0.1 ports=http:80/tcp",
	"import testns svcempty ips=10.0.0.1 ports=http:80/tcp",
	"import testns svc6 ips=1234:abcd::1 ports=http:80/tcp",
	"import testns hdls1 type=Headless",
	"import testns hdlsprtls type=Headless",
	"import unexposedns svc1 ips=10.0.0.2 ports=http:80/tcp",
	"import testns svc-dual-stack ips=10.0.0.3,10::3 ports=http:80/tcp",
	"imported testns svc1-slice1 of=svc1 cluster=cluster1 ports=http:80/tcp eps=172.0.0.1/ep1a",
	"imported testns svcempty-slice1 of=svcempty cluster=cluster1 ports=http:80/tcp",
	"imported testns hdls1-slice1 of=hdls1 cluster=cluster1 ports=http:80/tcp " EPS_HDLS1,
	"imported testns hdlsprtls-slice1 of=hdlsprtls cluster=cluster1 eps=172.0.0.20",
};

static const char *const reverse_world[] = {
	"namespace testns",
	"service testns svc1 ips=192.168.1.100 ports=http:80/tcp",
	"slice testns svc1-slice1 of=svc1 ports=http:80/tcp "
	"eps=10.0.0.100/ep1a,10.0.0.99/double-ep",
	"slice testns svc1-slice2 of=svc1 ports=http:80/tcp "
	"eps=1234:abcd::1/ep1b,fd00:77:30::a/ip6svc1ex,fd00:77:30::2:9ba6/ip6svc1in",
	"slice testns svc1-ccccc of=svc1 ports=http:80/tcp eps=10.0.0.100/ep1a",
	"slice testns svc2-slice1 of=svc2 ports=http:80/tcp eps=10.0.0.99/double-ep",
};

static const char *const zonal_world[] = {
	"namespace testns", "service testns hdls ips=None",
	"service testns clstr ips=10.0.0.10 ports=http:80/tcp",
	/* clang-format off */
	"slice testns hdls-slice of=hdls ports=http:80/tcp eps=172.0.0.1//us-west-2a,172.0.0.2//us-west-2b,172.0.0.3//us-west-2b",
	/* clang-format on */
};

/* ---- the questions ---- */

/* Expected: "X", "N", "F" stand for NXDOMAIN, NOERROR and SERVFAIL with an SOA record of the zone
 * alone; else lines: "=TYPE DATA" an answer for the name of the question, "@NAME TYPE DATA" another
 * answer, "+NAME TYPE DATA" an additional record; TTL 5. A "!" before all of it: TC. */
struct row {
	const char *name, *type, *expect;
};

#define P1 "svc1.testns.svc.cluster.local."
#define PD "svc-dual-stack.testns.svc.cluster.local."
#define PE "svcempty.testns.svc.cluster.local."
#define P6 "svc6.testns.svc.cluster.local."
#define PH "hdls1.testns.svc.cluster.local."

static const struct row common[] = {
	{ P1, "A", "=A 10.0.0.1" },
	{ PE, "A", "=A 10.0.0.1" },
	{ P1, "SRV", "=SRV 0 100 80 " P1 "\n+" P1 " A 10.0.0.1" },
	{ PE, "SRV", "=SRV 0 100 80 " PE "\n+" PE " A 10.0.0.1" },
	{ P6, "SRV", "=SRV 0 100 80 " P6 "\n+" P6 " AAAA 1234:abcd::1" },
	{ "_http._tcp." P1, "SRV", "=SRV 0 100 80 " P1 "\n+" P1 " A 10.0.0.1" },
	{ "_http._tcp." PE, "SRV", "=SRV 0 100 80 " PE "\n+" PE " A 10.0.0.1" },
	{ PH, "A", "=A 172.0.0.2\n=A 172.0.0.3\n=A 172.0.0.4\n=A 172.0.0.5" },
	{ "hdlsprtls.testns.svc.cluster.local.", "A", "=A 172.0.0.20" },
	{ P1, "AAAA", "N" },
	{ "svc0.testns.svc.cluster.local.", "AAAA", "X" },
	{ "svc0.testns.svc.cluster.local.", "A", "X" },
	{ "svc0.svc-nons.svc.cluster.local.", "A", "X" },
	{ "dns-version.cluster.local.", "TXT", "V" },
	{ P1, "TXT", "N" },
	{ "svc0.svc-nons.svc.cluster.local.", "TXT", "X" },
	{ "bogusendpoint." PH, "A", "X" },
	{ "bogusendpoint.svc0.testns.svc.cluster.local.", "A", "X" },
	{ P6, "AAAA", "=AAAA 1234:abcd::1" },
	{ "_http._tcp." P6, "SRV", "=SRV 0 100 80 " P6 "\n+" P6 " AAAA 1234:abcd::1" },
	{ PH, "AAAA", "=AAAA 5678:abcd::1\n=AAAA 5678:abcd::2" },
	{ "svc.cluster.local.", "A", "N" },
	{ "pod.cluster.local.", "A", "N" },
	{ "testns.svc.cluster.local.", "A", "N" },
	{ "svc.cluster.local.", "NS", "N" },
	{ "testns.svc.cluster.local.", "NS", "N" },
	{ "foo.cluster.local.", "NS", "X" },
	{ "foo.svc.cluster.local.", "NS", "X" },
	{ PD, "A", "=A 10.0.0.3" },
	{ PD, "AAAA", "=AAAA 10::3" },
	{ PD, "SRV", "=SRV 0 50 80 " PD "\n+" PD " A 10.0.0.3\n+" PD " AAAA 10::3" },
	{ P1, "SOA", "N" },
	{ "endpoint.external.testns.svc.cluster.local.", "CNAME", "X" },
	{ "subdomain.subdomain.external.testns.svc.cluster.local.", "CNAME", "X" },
	{ "svc1.unexposedns.svc.cluster.local.", "A", "X" },
};

#define HDLS1_SRV(c)                                                                          \
	"=SRV 0 16 80 172-0-0-2." c PH "\n=SRV 0 16 80 172-0-0-3." c PH                       \
	"\n=SRV 0 16 80 5678-abcd--1." c PH "\n=SRV 0 16 80 5678-abcd--2." c PH               \
	"\n=SRV 0 16 80 dup-name." c PH "\n+172-0-0-2." c PH " A 172.0.0.2\n+172-0-0-3." c PH \
	" A 172.0.0.3\n+5678-abcd--1." c PH " AAAA 5678:abcd::1\n+5678-abcd--2." c PH         \
	" AAAA 5678:abcd::2\n+dup-name." c PH " A 172.0.0.4\n+dup-name." c PH " A 172.0.0.5"

static const struct row single[] = {
	{ "_http._tcp." PH, "SRV", HDLS1_SRV("") },
	{ "5678-abcd--2." PH, "AAAA", "=AAAA 5678:abcd::2" },
	{ "5678-abcd--1." PH, "AAAA", "=AAAA 5678:abcd::1" },
	{ "172-0-0-20.hdlsprtls.testns.svc.cluster.local.", "A", "=A 172.0.0.20" },
	{ "172-0-0-2." PH, "A", "=A 172.0.0.2" },
	{ "172-0-0-3." PH, "A", "=A 172.0.0.3" },
	{ "dup-name." PH, "A", "=A 172.0.0.4\n=A 172.0.0.5" },
	{ "external.testns.svc.cluster.local.", "CNAME", "=CNAME ext.interwebs.test." },
	{ "external.testns.svc.cluster.local.", "A",
	  "!=CNAME ext.interwebs.test.\n@ext.interwebs.test. A 192.0.2.53" },
	{ "external-to-service.testns.svc.cluster.local.", "A",
	  "=CNAME " P1 "\n@" P1 " A 10.0.0.1" },
};

static const struct row multicluster[] = {
	{ "_http._tcp." PH, "SRV", HDLS1_SRV("cluster1.") },
	{ "5678-abcd--2.cluster1." PH, "AAAA", "=AAAA 5678:abcd::2" },
	{ "5678-abcd--1.cluster1." PH, "AAAA", "=AAAA 5678:abcd::1" },
	{ "172-0-0-20.cluster1.hdlsprtls.testns.svc.cluster.local.", "A", "=A 172.0.0.20" },
	{ "5678-abcd--1." PH, "AAAA", "X" },
	{ "172-0-0-2.cluster1." PH, "A", "=A 172.0.0.2" },
	{ "172-0-0-3.cluster1." PH, "A", "=A 172.0.0.3" },
	{ "172-0-0-3.cluster2." PH, "A", "X" },
	{ "dup-name.cluster1." PH, "A", "=A 172.0.0.4\n=A 172.0.0.5" },
};

static const struct row unsynced[] = { { "svc0.testns.svc.cluster.local.", "A", "F" } };

static const struct row empty_service[] = {
	{ PE, "A", "X" },
	{ "external.testns.svc.cluster.local.", "CNAME", "=CNAME ext.interwebs.test." },
	{ "SvC1.TeStNs.SvC.cLuStEr.LoCaL.", "A", "=A 10.0.0.1" },
	{ "not-a-service.testns.svc.ClUsTeR.lOcAl.", "A", "X" },
	{ "_HtTp._TcP.sVc1.TeStNs.SvC.cLuStEr.LoCaL.", "SRV",
	  "=SRV 0 100 80 svc1.testns.svc.cLuStEr.LoCaL.\n"
	  "+svc1.testns.svc.cLuStEr.LoCaL. A 10.0.0.1" },
	{ "Cluster.local.", "SOA", "S" },
};

static const struct row pods_disabled[] = {
	{ "10-240-0-1.podns.pod.cluster.local.", "A", "X" },
	{ "172-0-0-2.podns.pod.cluster.local.", "A", "X" },
};

static const struct row pods_insecure[] = {
	{ "10-240-0-1.podns.pod.cluster.local.", "A", "=A 10.240.0.1" },
	{ "172-0-0-2.podns.pod.cluster.local.", "A", "=A 172.0.0.2" },
	{ "blah.podns.pod.cluster.local.", "A", "X" },
	{ "blah.podns.pod.cluster.local.", "AAAA", "X" },
	{ "blah.podns.pod.cluster.local.", "HINFO", "X" },
	{ "blah.pod-nons.pod.cluster.local.", "A", "X" },
	{ "podns.pod.cluster.local.", "A", "N" },
};

static const struct row pods_verified[] = {
	{ "10-240-0-1.podns.pod.cluster.local.", "A", "=A 10.240.0.1" },
	{ "podns.pod.cluster.local.", "A", "N" },
	{ "svcns.svc.cluster.local.", "A", "N" },
	{ "pod-nons.pod.cluster.local.", "A", "X" },
	{ "172-0-0-2.podns.pod.cluster.local.", "A", "X" },
};

static const struct row apex[] = {
	{ "cluster.local.", "SOA", "S" },
	{ "cluster.local.", "HINFO", "N" },
	{ "cluster.local.", "NS", "=NS ns.dns.cluster.local.\n+ns.dns.cluster.local. A 127.0.0.1" },
	{ "cluster.local.", "A", "N" },
	{ "cluster.local.", "AAAA", "N" },
	{ "cluster.local.", "SRV", "N" },
};

#define ARPA6 ".0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.3.0.0.7.7.0.0.0.0.d.f.ip6.arpa."
static const struct row reverse[] = {
	{ "100.0.0.10.in-addr.arpa.", "PTR", "=PTR ep1a.svc1.testns.svc.cluster.local." },
	{ "100.1.168.192.in-addr.arpa.", "PTR", "=PTR svc1.testns.svc.cluster.local." },
	{ "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.c.b.a.4.3.2.1.ip6.arpa.", "PTR",
	  "=PTR ep1b.svc1.testns.svc.cluster.local." },
	{ "a.0.0.0.0" ARPA6, "PTR", "=PTR ip6svc1ex.svc1.testns.svc.cluster.local." },
	{ "6.a.b.9.2" ARPA6, "PTR", "=PTR ip6svc1in.svc1.testns.svc.cluster.local." },
	{ "101.0.0.10.in-addr.arpa.", "PTR", "X0.10.in-addr.arpa." },
	{ "example.org.cluster.local.", "PTR", "X" },
	{ "svc1.testns.svc.cluster.local.", "PTR", "N" },
	{ "svc1.testns.svc.0.10.in-addr.arpa.", "A", "X0.10.in-addr.arpa." },
	{ "100.0.0.10.cluster.local.", "PTR", "X" },
	{ "99.0.0.10.in-addr.arpa.", "PTR",
	  "=PTR double-ep.svc1.testns.svc.cluster.local.\n"
	  "=PTR double-ep.svc2.testns.svc.cluster.local." },
};

#define Z ".hdls.testns.svc.cluster.local."
static const struct row zonal[] = {
	{ "us-west-2a.pin._zone" Z, "A", "=A 172.0.0.1" },
	{ "us-west-2b.pin._zone" Z, "A", "=A 172.0.0.2\n=A 172.0.0.3" },
	{ "us-west-2c.pin._zone" Z, "A", "N" },
	{ "us-west-2a.prefer._zone" Z, "A", "=A 172.0.0.1" },
	{ "us-west-2c.prefer._zone" Z, "A", "=A 172.0.0.1\n=A 172.0.0.2\n=A 172.0.0.3" },
	{ "us-west-2a.pin._zone.ghost.testns.svc.cluster.local.", "A", "X" },
	{ "us-west-2a.florp._zone" Z, "A", "X" },
	{ "us-west-2a.pin._zone.clstr.testns.svc.cluster.local.", "A", "X" },
	{ "us-west-2c.pin._zone" Z, "TXT", "N" },
	{ "us-west-2c.prefer._zone" Z, "SRV",
	  "=SRV 0 33 80 172-0-0-1" Z "\n=SRV 0 33 80 172-0-0-2" Z "\n=SRV 0 33 80 172-0-0-3" Z
	  "\n+172-0-0-1" Z " A 172.0.0.1\n+172-0-0-2" Z " A 172.0.0.2\n+172-0-0-3" Z
	  " A 172.0.0.3" },
	{ "us-west-2c.prefer._zone" Z, "TXT", "N" },
	{ "us-west-2b.pin._zone" Z, "SRV",
	  "=SRV 0 50 80 172-0-0-2" Z "\n=SRV 0 50 80 172-0-0-3" Z "\n+172-0-0-2" Z
	  " A 172.0.0.2\n+172-0-0-3" Z " A 172.0.0.3" },
};
static const struct row not_zonal[] = { { "us-west-2a.pin._zone" Z, "A", "X" } };

/* ---- putting them ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lines in order, joined again; the text is cut up. */
static void sort_lines(char *text, struct strbuf *out)
{
	char *line[64], *save = NULL;
	size_t n = 0;
	for (char *l = strtok_r(text, "\n", &save); l != NULL && n < ARRAY_LEN(line);
	     l = strtok_r(NULL, "\n", &save))
		line[n++] = l;
	qsort(line, n, sizeof(*line), by_text);
	for (size_t i = 0; i < n; i++)
		strbuf_addf(out, "%s\n", line[i]);
}

/* The serial of an SOA record is the time. */
static void mask_serial(char *text)
{
	char *at = strstr(text, "hostmaster.");
	at = at != NULL ? strchr(at, ' ') : NULL;
	if (at == NULL)
		return;
	char *end = at + 1 + strspn(at + 1, "0123456789");
	at[1] = '#';
	memmove(at + 2, end, strlen(end) + 1);
}

static void expect_soa(struct strbuf *b, const struct row *r, const char *section)
{
	const char *zone = r->expect + 1;
	size_t n = strlen(r->name);
	if (zone[0] == '\0')
		zone = r->name + n - strlen("cluster.local.");
	strbuf_addf(b, "%s %s 5 IN SOA ns.dns.%s hostmaster.%s # 7200 1800 86400 5\n", section,
		    zone, zone, zone);
}

static void expect_records(struct strbuf *b, const struct row *r)
{
	struct slice rest = slice_of(r->expect);
	while (rest.n != 0) {
		struct slice line = slice_cut(&rest, '\n');
		line.n -= line.p[0] == '!';
		line.p += line.p[0] == '!';
		struct slice owner = slice_of(r->name), data = { line.p + 1, line.n - 1 };
		if (line.p[0] != '=')
			owner = slice_cut(&data, ' ');
		bool other = owner.n >= 5 && memcmp(owner.p + owner.n - 5, "test.", 5) == 0;
		strbuf_addf(b, "%s %.*s %d IN %.*s\n", line.p[0] == '+' ? "additional" : "answer",
			    (int)owner.n, owner.p, other ? 0 : 5, (int)data.n, data.p);
	}
}

static char *expected(const struct row *r)
{
	struct strbuf b = STRBUF_INIT;
	static const struct {
		char letter;
		const char *rcode, *section;
	} negative[] = { { 'X', "NXDOMAIN", "authority" },
			 { 'N', "NOERROR", "authority" },
			 { 'F', "SERVFAIL", "authority" },
			 { 'S', "NOERROR", "answer" } };
	for (size_t i = 0; i < ARRAY_LEN(negative); i++) {
		if (r->expect[0] == negative[i].letter) {
			strbuf_addf(&b, "%s qr aa rd\nquestion %s IN %s\n", negative[i].rcode,
				    r->name, r->type);
			expect_soa(&b, r, negative[i].section);
			return strbuf_take(&b);
		}
	}
	strbuf_addf(&b, "NOERROR qr aa %srd\nquestion %s IN %s\n", r->expect[0] == '!' ? "tc " : "",
		    r->name, r->type);
	if (r->expect[0] == 'V')
		strbuf_addf(&b, "answer %s 28800 IN TXT \"1.1.0\"\n", r->name);
	else
		expect_records(&b, r);
	return strbuf_take(&b);
}

static void put_row(struct fake *f, const struct row *r)
{
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;
	const char *reply = fake_ask(
		f, &(struct fake_ask){ .name = r->name, .type = r->type, .udp_size = 4096 });
	assert_non_null(reply);
	CLEANUP(freep) char *mine = xstrdup(reply), *text = expected(r);
	char *opt = strstr(mine, "opt ");
	if (opt != NULL) {
		char *end = strchr(opt, '\n');
		memmove(opt, end + 1, strlen(end + 1) + 1);
	}
	mask_serial(mine);
	sort_lines(mine, &got);
	sort_lines(text, &want);
	assert_string_equal(got.s, want.s);
}

struct table {
	const char *name, *stanza;
	const struct row *rows;
	size_t n;
	const char *const *world;
	size_t n_world;
	bool not_synced;
};
#define ROWS(r)	 (r), ARRAY_LEN(r)
#define WORLD(w) (w), ARRAY_LEN(w)
#define REVERSE                                                                             \
	"cluster.local 0.10.in-addr.arpa 168.192.in-addr.arpa 0.0.0.0.0.0.0.0.0.0.0.0.0.0." \
	"0.0.d.c.b.a.4.3.2.1.ip6.arpa "                                                     \
	"0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.3.0.0.7.7.0.0.0.0.d.f.ip6.arpa"

static const struct table tables[] = {
	{ "common", "cluster.local {\n namespaces testns\n }", ROWS(common), WORLD(handler_world),
	  false },
	{ "single", "cluster.local {\n namespaces testns\n }", ROWS(single), WORLD(handler_world),
	  false },
	{ "common, multicluster",
	  "cluster.local {\n namespaces testns\n multicluster cluster.local\n }", ROWS(common),
	  WORLD(handler_world), false },
	{ "multicluster", "cluster.local {\n namespaces testns\n multicluster cluster.local\n }",
	  ROWS(multicluster), WORLD(handler_world), false },
	{ "unsynced", "cluster.local {\n namespaces testns\n startup_timeout 1ns\n }",
	  ROWS(unsynced), WORLD(handler_world), true },
	{ "empty service", "cluster.local {\n ignore empty_service\n }", ROWS(empty_service),
	  WORLD(handler_world), false },
	{ "pods disabled", "cluster.local", ROWS(pods_disabled), WORLD(handler_world), false },
	{ "pods insecure", "cluster.local {\n pods insecure\n }", ROWS(pods_insecure),
	  WORLD(handler_world), false },
	{ "pods verified", "cluster.local {\n pods verified\n }", ROWS(pods_verified),
	  WORLD(handler_world), false },
	{ "apex", "cluster.local", ROWS(apex), WORLD(handler_world), false },
	{ "reverse", REVERSE, ROWS(reverse), WORLD(reverse_world), false },
	{ "zonal", "cluster.local {\n namespaces testns\n zonal\n }", ROWS(zonal),
	  WORLD(zonal_world), false },
	{ "not zonal", "cluster.local {\n namespaces testns\n }", ROWS(not_zonal),
	  WORLD(zonal_world), false },
};

static void put_table(const struct table *t)
{
	struct world w;
	CLEANUP(strbuf_done) struct strbuf corefile = STRBUF_INIT;
	world_init(&w, t->world, t->n_world);
	struct kubernetes_preset preset = { .index = w.x,
					    .imports = w.imports,
					    .unsynced = t->not_synced };
	assert_int_equal(kube_ip_parse(SLICE("127.0.0.1"), &preset.local), 0);
	kubernetes_source_preset(&preset);
	strbuf_addf(&corefile,
		    ". {\n kubernetes %s\n}\ninterwebs.test {\n erratic {\n drop 0\n truncate 1\n"
		    " }\n}\n",
		    t->stanza);
	struct fake *f = fake_new(corefile.s);
	if (f == NULL)
		fail_msg("%s: %s", t->name, fake_error());
	for (size_t i = 0; i < t->n; i++)
		put_row(f, &t->rows[i]);
	fake_free(f);
	kubernetes_source_preset(NULL);
	world_done(&w);
}

static void rows_of_coredns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		put_table(&tables[i]);
}

/* The name servers are where the block listens; with `bind` CoreDNS has none (difference
 * kubernetes-bind). */
static void bound(void **state)
{
	static const struct {
		const char *bind, *answer;
	} rows[] = {
		{ "", "192.0.2.53" },
		{ "bind 192.0.2.7 127.0.0.1", "192.0.2.7" },
		{ "bind 0.0.0.0 192.0.2.7", "192.0.2.53" },
		{ "bind ::1", NULL },
	};
	struct world w;
	(void)state;
	world_init(&w, handler_world, ARRAY_LEN(handler_world));
	struct kubernetes_preset preset = { .index = w.x, .imports = w.imports };
	assert_int_equal(kube_ip_parse(slice_of("192.0.2.53"), &preset.local), 0);
	kubernetes_source_preset(&preset);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, ". {\n %s\n kubernetes cluster.local\n}\n", rows[i].bind);
		struct fake *f = fake_new(text.s);
		if (f == NULL)
			fail_msg("%s", fake_error());
		const char *reply =
			fake_ask(f, &(struct fake_ask){ .name = "cluster.local.", .type = "NS" });
		strbuf_reset(&text);
		strbuf_addf(&text, "additional ns.dns.cluster.local. 5 IN A %s\n",
			    rows[i].answer != NULL ? rows[i].answer : "");
		assert_non_null(reply);
		assert_int_equal(strstr(reply, text.s) != NULL, rows[i].answer != NULL);
		assert_int_equal(strstr(reply, "answer ") != NULL, rows[i].answer != NULL);
		fake_free(f);
	}
	kubernetes_source_preset(NULL);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rows_of_coredns),
					    cmocka_unit_test(bound) };
	return cmocka_run_group_tests_name("plugin/kubernetes/rows", tests, NULL, NULL);
}
