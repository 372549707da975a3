/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is kept of Services, EndpointSlices and Pods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "kube/decode/compact.h"
#include "kube/decode/string_pool_test.h"

static void ip_add(struct strbuf *b, const struct kube_ip *ip)
{
	char text[INET6_ADDRSTRLEN];
	bool four = kube_ip_is4(ip);
	strbuf_addf(b, " %s",
		    inet_ntop(four ? AF_INET : AF_INET6, four ? ip->b + 12 : ip->b, text,
			      sizeof(text)));
}

static void head_add(struct strbuf *b, const struct kube_obj *o)
{
	strbuf_addf(b, "%s/%s@%s%s", o->ns, o->name, o->rv, o->ignore ? " ignore" : "");
}

static void ports_add(struct strbuf *b, const struct kube_port *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		strbuf_addf(b, " %s:%d/%s", p[i].name, (int)p[i].port, p[i].protocol);
}

static void service_add(struct strbuf *b, const struct kube_obj *o)
{
	const struct kube_service *s = kube_service_of(o);
	head_add(b, o);
	strbuf_addf(b, " type=%d%s name=%s |", (int)s->type, s->headless ? " headless" : "",
		    s->external_name);
	for (uint32_t i = 0; i < s->n_ips; i++)
		ip_add(b, &s->ips[i]);
	strbuf_adds(b, " |");
	ports_add(b, s->ports, s->n_ports);
	strbuf_adds(b, " |");
	for (uint32_t i = 0; i < s->n_external; i++)
		strbuf_addf(b, " %s", s->external[i]);
}

static void slice_add(struct strbuf *b, const struct kube_obj *o)
{
	const struct kube_slice *s = kube_slice_of(o);
	head_add(b, o);
	strbuf_addf(b, " of %s |", s->service);
	ports_add(b, s->ports, s->n_ports);
	strbuf_adds(b, " |");
	for (uint32_t i = 0; i < s->n_endpoints; i++) {
		const struct kube_endpoint *e = &s->endpoints[i];
		ip_add(b, &e->ip);
		strbuf_addf(b, ",%s,%s,%s", kube_slice_text(s, e->hostname),
			    kube_slice_text(s, e->target), e->zone);
	}
}

static void pod_add(struct strbuf *b, const struct kube_obj *o)
{
	const struct kube_pod *p = kube_pod_of(o);
	head_add(b, o);
	for (uint32_t i = 0; i < p->n_ips; i++)
		ip_add(b, &p->ips[i]);
	for (uint32_t i = 0; i < p->n_labels; i++)
		strbuf_addf(b, " %s=%s", p->labels[i].key, p->labels[i].value);
	if (p->host_network)
		strbuf_adds(b, " host");
}

enum { SERVICE, SLICE_ALL, SLICE_PLAIN, POD, CODECS };

static struct kube_codec *codec_of(int which, struct kube_string_pool *t)
{
	switch (which) {
	case SERVICE:
		return kube_service_codec(t);
	case POD:
		return kube_pod_codec(t);
	default:
		return kube_slice_codec(
			t, which == SLICE_ALL ? KUBE_SLICE_ZONES | KUBE_SLICE_TARGETS : 0);
	}
}

static const struct {
	int codec;
	const char *in, *out; /* NULL: refused with the code */
	int code;
} rows[] = {
	{ SERVICE,
	  "{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\",\"resourceVersion\":\"12\",\"labels\":"
	  "{\"a\":\"b\"},"
	  "\"managedFields\":[{\"fieldsV1\":{\"f:spec\":{}}}]},\"spec\":{\"type\":\"NodePort\","
	  "\"clusterIP\":\"10.0.0.1\","
	  "\"clusterIPs\":[\"10.0.0.1\",\"fd00::1\"],\"ports\":[{\"name\":\"http\",\"port\":80,"
	  "\"protocol\":\"TCP\","
	  "\"targetPort\":\"web\",\"nodePort\":30000},{\"port\":53,\"protocol\":\"UDP\"}],"
	  "\"selector\":{\"name\":\"x\"}}}",
	  "n/s@12 type=1 name= | 10.0.0.1 fd00::1 | http:80/TCP :53/UDP |", 0 },
	{ SERVICE,
	  "{\"kind\":\"Service\",\"metadata\":{\"name\":\"h\",\"namespace\":\"n\"},\"spec\":{"
	  "\"clusterIP\":\"None\"}}",
	  "n/h@ type=0 headless name= | | :-1/ |", 0 },
	{ SERVICE,
	  "{\"metadata\":{\"name\":\"e\",\"namespace\":\"n\"},\"spec\":{\"type\":\"ExternalName\","
	  "\"externalName\":\"x.org\","
	  "\"ports\":[]}}",
	  "n/e@ type=3 name=x.org | | :-1/ |", 0 },
	{ SERVICE,
	  "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"lb.x\"},{\"hostname\":\"y\","
	  "\"ip\":\"192.0.2.9\"},{}]}},"
	  "\"spec\":{\"type\":\"LoadBalancer\",\"externalIPs\":[\"192.0.2.1\"],\"clusterIP\":\"10."
	  "0.0.2\",\"clusterIPs\":null},"
	  "\"metadata\":{\"name\":\"l\",\"namespace\":\"n\"}}",
	  "n/l@ type=2 name= | 10.0.0.2 | :-1/ | 192.0.2.1 lb.x 192.0.2.9 ", 0 },
	{ SERVICE, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"s\"}}", NULL, ERR_TYPE },
	{ SERVICE, "{\"metadata\":{\"namespace\":\"n\"}}", NULL, ERR_PARSE },
	{ SERVICE, "{\"metadata\":{\"name\":5}}", NULL, ERR_PARSE },
	{ SERVICE,
	  "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":9007199254740993}]}}",
	  NULL, ERR_RANGE },
	{ SERVICE, "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":-1}]}}", NULL,
	  ERR_RANGE },
	{ SERVICE, "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":1e2}]}}", NULL,
	  ERR_RANGE },
	{ SERVICE, "[]", NULL, ERR_PARSE },
	{ SERVICE, "{\"metadata\":{\"name\":\"s\"}", NULL, ERR_PARSE },
	{ SLICE_ALL,
	  "{\"metadata\":{\"name\":\"s-1\",\"namespace\":\"n\",\"resourceVersion\":\"3\","
	  "\"labels\":"
	  "{\"kubernetes.io/service-name\":\"s\"}},\"addressType\":\"IPv4\",\"endpoints\":["
	  "{\"addresses\":[\"10.1.0.1\",\"10.1.0.2\"],\"conditions\":{\"ready\":true,\"serving\":"
	  "false},\"hostname\":\"h0\","
	  "\"targetRef\":{\"kind\":\"Pod\",\"name\":\"p-0\"},\"nodeName\":\"node-a\",\"zone\":"
	  "\"Zone-1\"},"
	  "{\"addresses\":[\"10.1.0.3\"],\"conditions\":{\"ready\":false}},"
	  "{\"addresses\":[\"10.1.0.4\"],\"conditions\":{\"ready\":null},\"hostname\":null},"
	  "{\"addresses\":[\"host.example\"],\"conditions\":{}}],"
	  "\"ports\":[{\"name\":\"\",\"port\":8080,\"protocol\":\"TCP\"},{\"name\":\"m\",\"port\":"
	  "null}]}",
	  "n/s-1@3 of s | :8080/TCP m:-1/ | 10.1.0.1,h0,p-0,zone-1 "
	  "10.1.0.2,h0,p-0,zone-1 10.1.0.4,,,",
	  0 },
	{ SLICE_PLAIN,
	  "{\"metadata\":{\"name\":\"s\"},\"endpoints\":[{\"zone\":\"z\",\"addresses\":[\"10.0.0."
	  "1\"],"
	  "\"hostname\":\"h\",\"targetRef\":{\"name\":\"p\"}}]}",
	  "/s@ of  | :-1/ | 10.0.0.1,h,,", 0 },
	{ SLICE_ALL,
	  "{\"metadata\":{\"name\":\"s-2\",\"namespace\":\"n\"},\"endpoints\":[{\"zone\":\"z\","
	  "\"addresses\":[\"fd00::2\"],"
	  "\"targetRef\":{\"name\":"
	  "\"a123456789a123456789a123456789a123456789a123456789a123456789a123\"}}]}",
	  "n/s-2@ of  | :-1/ | fd00::2,,,z", 0 },
	{ SLICE_PLAIN,
	  "{\"kind\":\"EndpointSlice\",\"metadata\":{\"name\":\"x\"},\"endpoints\":null,\"ports\":"
	  "null}",
	  "/x@ of  | :-1/ |", 0 },
	{ POD,
	  "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"resourceVersion\":\"9\",\"labels\":{"
	  "\"app\":\"x\",\"a.b/c\":\"\"}},"
	  "\"spec\":{\"containers\":[{\"name\":\"c\"}]},\"status\":{\"podIP\":\"10.2.0.1\","
	  "\"podIPs\":[{\"ip\":\"10.2.0.1\"},"
	  "{\"ip\":\"fd00::3\"}]}}",
	  "n/p@9 10.2.0.1 fd00::3 app=x a.b/c=", 0 },
	{ POD,
	  "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"deletionTimestamp\":\"2026-01-01T00:"
	  "00:00Z\"}}",
	  "n/p@ ignore", 0 },
	{ POD,
	  "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"spec\":{\"hostNetwork\":true}}",
	  "n/p@ host", 0 },
	{ POD,
	  "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"spec\":{\"hostNetwork\":false}}",
	  "n/p@", 0 },
};

static void kept(void **state)
{
	static void (*const add[CODECS])(struct strbuf * b,
					 const struct kube_obj *o) = { service_add, slice_add,
								       slice_add, pod_add };
	struct kube_string_pool *t = kube_string_pool_new();
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_codec *c = codec_of(rows[i].codec, t);
		struct strbuf out = STRBUF_INIT;
		struct kube_obj *o = NULL;
		int r = c->decode(c, slice_of(rows[i].in), &o);
		if (r != rows[i].code)
			fail_msg("%s: %d", rows[i].in, r);
		if (r == 0) {
			add[rows[i].codec](&out, o);
			assert_string_equal(out.s, rows[i].out);
		}
		kube_obj_unref(o);
		kube_codec_free(c);
		strbuf_done(&out);
	}
	assert_int_equal(kube_string_pool_count(t), 0);
	kube_string_pool_free(t);
}

/* A codec is used again and again: nothing of one object may show up in the next. */
static void no_traces(void **state)
{
	struct kube_string_pool *t = kube_string_pool_new();
	struct kube_codec *c[CODECS];
	(void)state;
	for (int i = 0; i < CODECS; i++)
		c[i] = codec_of(i, t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_obj *o = NULL;
		int which = rows[i].codec;
		assert_int_equal(c[which]->decode(c[which], slice_of(rows[i].in), &o),
				 rows[i].code);
		kube_obj_unref(o);
		o = NULL;
		struct strbuf out = STRBUF_INIT;
		if (which == SERVICE) {
			assert_int_equal(c[which]->decode(c[which],
							  SLICE("{\"metadata\":{\"name\":\"z\"}}"),
							  &o),
					 0);
			service_add(&out, o);
			assert_string_equal(out.s, "/z@ type=0 name= | | :-1/ |");
		} else if (which == POD) {
			assert_int_equal(c[which]->decode(c[which],
							  SLICE("{\"metadata\":{\"name\":\"z\"}}"),
							  &o),
					 0);
			pod_add(&out, o);
			assert_string_equal(out.s, "/z@");
		} else {
			assert_int_equal(c[which]->decode(c[which],
							  SLICE("{\"metadata\":{\"name\":\"z\"}}"),
							  &o),
					 0);
			slice_add(&out, o);
			assert_string_equal(out.s, "/z@ of  | :-1/ |");
		}
		strbuf_done(&out);
		kube_obj_unref(o);
	}
	for (int i = 0; i < CODECS; i++)
		kube_codec_free(c[i]);
	kube_string_pool_free(t);
}

/* Addresses and node of a pod. */
static void pod_nodes(void **state)
{
	struct kube_string_pool *t = kube_string_pool_new();
	struct kube_codec *c = kube_pod_node_codec(t);
	struct kube_obj *o = NULL;
	struct kube_ip ip;
	(void)state;
	assert_int_equal(
		c->decode(c,
			  SLICE("{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\","
				"\"creationTimestamp\":\"T\","
				"\"deletionTimestamp\":\"D\"},\"spec\":{\"nodeName\":\"node-1\"},"
				"\"status\":"
				"{\"phase\":\"Running\",\"hostIP\":\"10.0.0.1\",\"podIP\":\"10.1.0."
				"2\",\"podIPs\":"
				"[{\"ip\":\"10.1.0.2\"},{\"ip\":\"fd01::2\"},{\"ip\":\"x\"}]}}"),
			  &o),
		0);
	const struct kube_pod_node *pod = kube_pod_node_of(o);
	assert_string_equal(pod->node, "node-1");
	assert_string_equal(pod->created, "T");
	assert_true(pod->has_own_ips && pod->is_deleting && !o->ignore);
	assert_int_equal(pod->n_ips, 2);
	assert_int_equal(kube_ip_parse(SLICE("10.0.0.1"), &ip), 0);
	assert_memory_equal(&pod->host_ip, &ip, sizeof(ip));
	kube_obj_unref(o);
	assert_int_equal(
		c->decode(c,
			  SLICE("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"hostNetwork\":true},"
				"\"status\":{\"podIP\":\"10.1.0.2\"}}"),
			  &o),
		0);
	assert_true(!kube_pod_node_of(o)->has_own_ips && kube_pod_node_of(o)->n_ips == 1);
	assert_string_equal(kube_pod_node_of(o)->node, "");
	kube_obj_unref(o);
	assert_int_equal(
		c->decode(
			c,
			SLICE("{\"metadata\":{\"name\":\"p\"},\"status\":{\"phase\":\"Failed\"}}"),
			&o),
		0);
	assert_false(kube_pod_node_of(o)->has_own_ips);
	kube_obj_unref(o);
	kube_codec_free(c);
	kube_string_pool_free(t);
}

/* Objects outlive their codec and its table. */
static void outlive(void **state)
{
	struct kube_string_pool *t = kube_string_pool_new();
	struct kube_codec *c = kube_pod_codec(t);
	struct kube_obj *o = NULL;
	(void)state;
	assert_int_equal(c->decode(c,
				   SLICE("{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\","
					 "\"labels\":{\"k\":\"v\"}}}"),
				   &o),
			 0);
	kube_codec_free(c);
	kube_string_pool_free(t);
	kube_obj_ref(o);
	kube_obj_unref(o);
	assert_string_equal(o->ns, "n");
	assert_string_equal(kube_pod_of(o)->labels[0].value, "v");
	kube_obj_unref(o);
}

/* What comes from other clusters. */
static void imports(void **state)
{
	static const struct {
		bool slice;
		const char *in, *out;
	} rows_of[] = {
		{ false,
		  "{\"kind\":\"ServiceImport\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"},"
		  "\"spec\":{\"type\":\"ClusterSetIP\",\"ips\":[\"10.0.0.1\",\"fd00::1\"],"
		  "\"ports\":[{"
		  "\"name\":\"http\",\"protocol\":\"TCP\",\"port\":80}]}}",
		  "n/s@ type=0 name= | 10.0.0.1 fd00::1 | http:80/TCP |" },
		{ false,
		  "{\"metadata\":{\"name\":\"h\",\"namespace\":\"n\"},\"spec\":{\"type\":"
		  "\"Headless\",\"ips\":null}}",
		  "n/h@ type=0 headless name= | | |" },
		{ true,
		  "{\"metadata\":{\"name\":\"e\",\"namespace\":\"n\",\"annotations\":{"
		  "\"endpoints.kubernetes.io/last-change-trigger-time\":\"1970-01-01T00:00:02Z\"},"
		  "\"labels\":{\"kubernetes.io/service-name\":\"derived\","
		  "\"multicluster.kubernetes.io/service-name\":\"s\","
		  "\"multicluster.kubernetes.io/source-cluster\":\"c1\"}},\"endpoints\":[{"
		  "\"addresses\":[\"10.1.0.1\"]}]}",
		  "n/e@ of s | :-1/ | 10.1.0.1,,, c1 2" },
		{ true,
		  "{\"metadata\":{\"name\":\"e\",\"namespace\":\"n\",\"annotations\":{"
		  "\"endpoints.kubernetes.io/last-change-trigger-time\":\"yesterday\"}}}",
		  "n/e@ of  | :-1/ |  0" },
	};
	struct kube_string_pool *t = kube_string_pool_new();
	struct kube_codec *c[] = { kube_import_codec(t),
				   kube_imported_slice_codec(t, KUBE_SLICE_TARGETS) };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows_of); i++) {
		struct strbuf out = STRBUF_INIT;
		struct kube_obj *o = NULL;
		struct kube_codec *mine = c[rows_of[i].slice];
		assert_int_equal(mine->decode(mine, slice_of(rows_of[i].in), &o), 0);
		(rows_of[i].slice ? slice_add : service_add)(&out, o);
		if (rows_of[i].slice)
			strbuf_addf(&out, " %s %u", kube_slice_of(o)->cluster,
				    (unsigned)(kube_slice_of(o)->trigger_ns / NS_PER_S));
		assert_string_equal(out.s, rows_of[i].out);
		strbuf_done(&out);
		kube_obj_unref(o);
	}
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		kube_codec_free(c[i]);
	assert_int_equal(kube_string_pool_count(t), 0);
	kube_string_pool_free(t);
}

static void addresses(void **state)
{
	struct kube_ip ip;
	(void)state;
	static const char *const bad[] = {
		"",	     "1.2.3",
		"1.2.3.4.5", "::1%lo",
		"[::1]",     "x",
		"1.2.3.4 ",  "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(kube_ip_parse(slice_of(bad[i]), &ip), ERR_PARSE);
	assert_int_equal(kube_ip_parse(SLICE("::ffff:1.2.3.4"), &ip), 0);
	assert_true(kube_ip_is4(&ip));
	assert_int_equal(kube_ip_parse(SLICE("1\0002.3.4"), &ip), ERR_PARSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept),	   cmocka_unit_test(no_traces),
		cmocka_unit_test(outlive), cmocka_unit_test(pod_nodes),
		cmocka_unit_test(imports), cmocka_unit_test(addresses),
	};
	return cmocka_run_group_tests_name("kube/compact", tests, NULL, NULL);
}
