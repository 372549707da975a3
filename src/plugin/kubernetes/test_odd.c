/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects that no API server should give out: the index takes them, is asked about them, and lets
 * them go again (issue "Refuse, keep"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/test_names.h"
#include "plugin/kubernetes/source_test.h"
#include "plugin/kubernetes/test_world.h"
#include "testing/fake_server.h"

static const char corefile[] = ". {\n kubernetes cluster.local in-addr.arpa {\n pods verified\n"
			       " endpoint_pod_names\n zonal\n }\n}\n";

static void text_of(char *out, size_t n)
{
	memset(out, 'x', n);
	out[n] = '\0';
}

static void ask_all(struct fake *f, const char *service)
{
	static const char *const types[] = { "A", "AAAA", "SRV", "TXT", "CNAME", "MX" };
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	if (strlen(service) <= DNS_LABEL_MAX)
		strbuf_addf(&name, "%s.n.svc.cluster.local.", service);
	else
		strbuf_adds(&name, "x.n.svc.cluster.local.");
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		assert_non_null(fake_ask(
			f,
			&(struct fake_ask){ .name = name.s, .type = types[i], .udp_size = 4096 }));
	assert_non_null(
		fake_ask(f, &(struct fake_ask){ .name = "1.0.0.10.in-addr.arpa.", .type = "PTR" }));
}

/* Names of every length around the limits, as Services and as what slices are of: after they are
 * gone nothing is left. */
static void names(void **state)
{
	static const size_t lengths[] = { 1,   62,  63,	 64,  252, 253, 254,  255,
					  256, 257, 300, 511, 512, 513, 1000, 70000 };
	struct world w;
	struct kubernetes_index_stats st;
	(void)state;
	world_init(&w, NULL, 0);
	kube_obj_unref(world_add(&w, "namespace n"));
	struct kubernetes_preset preset = { .index = w.x, .imports = w.imports };
	kubernetes_source_preset(&preset);
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		CLEANUP(freep) char *name = xmalloc(lengths[i] + 1);
		CLEANUP(strbuf_done) struct strbuf service = STRBUF_INIT, slice = STRBUF_INIT;
		text_of(name, lengths[i]);
		strbuf_addf(&service, "service n %s ips=None ports=http:80/TCP", name);
		strbuf_addf(&slice, "slice n s%zu of=%s ports=http:80/TCP eps=10.0.0.1", i, name);
		struct kube_obj *s = world_add(&w, service.s), *e = world_add(&w, slice.s);
		ask_all(f, name);
		/* Changed, and taken out. */
		kubernetes_index_service(w.x, s, s);
		kubernetes_index_slice(w.x, e, e);
		ask_all(f, name);
		kubernetes_index_slice(w.x, e, NULL);
		kubernetes_index_service(w.x, s, NULL);
		kube_obj_unref(s);
		kube_obj_unref(e);
		kubernetes_index_stats(w.x, &st);
		if (st.entries != 0 || st.services != 0 || st.slices != 0 || st.endpoints != 0)
			fail_msg("%zu bytes: %zu entries, %zu services, %zu slices are left",
				 lengths[i], st.entries, st.services, st.slices);
	}
	fake_free(f);
	kubernetes_source_preset(NULL);
	world_done(&w);
}

/* Thousands of slices of one Service, and endpoints without number in one. */
static void many_slices(void **state)
{
	enum { MANY = 3000 };
	static struct kube_obj *slices[MANY];
	struct world w;
	struct kubernetes_index_stats st;
	(void)state;
	world_init(&w, NULL, 0);
	kube_obj_unref(world_add(&w, "namespace n"));
	kube_obj_unref(world_add(&w, "service n head ips=None ports=http:80/TCP"));
	struct kubernetes_preset preset = { .index = w.x, .imports = w.imports };
	kubernetes_source_preset(&preset);
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	for (unsigned i = 0; i < MANY; i++) {
		CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
		strbuf_addf(&line, "slice n s%u of=head ports=http:80/TCP eps=10.%u.%u.1,10.0.0.1",
			    i, 1 + i / 256, i % 256);
		slices[i] = world_add(&w, line.s);
	}
	ask_all(f, "head");
	const char *reply = fake_ask(
		f, &(struct fake_ask){ .name = "head.n.svc.cluster.local.", .udp_size = 1232 });
	assert_non_null(strstr(reply, " tc "));
	for (unsigned i = 0; i < MANY; i++) {
		kubernetes_index_slice(w.x, slices[(i * 7) % MANY], NULL);
		kube_obj_unref(slices[(i * 7) % MANY]);
	}
	kubernetes_index_stats(w.x, &st);
	assert_int_equal(st.slices, 0);
	assert_int_equal(st.endpoints, 0);
	fake_free(f);
	kubernetes_source_preset(NULL);
	world_done(&w);
}

/* Questions as long as they can be, in every form that is taken apart, here and by the plugins that
 * ask this one. */
static void longest_questions(void **state)
{
	static const char with_others[] =
		". {\n searchpath cluster.local\n k8s_external ext.test {\n"
		" headless\n }\n kubernetes cluster.local in-addr.arpa {\n"
		" pods verified\n endpoint_pod_names\n zonal\n }\n}\n";
	static const char *const suffixes[] = { "head.n.svc.cluster.local.",
						"svc.cluster.local.",
						"n.pod.cluster.local.",
						"cluster.local.",
						"in-addr.arpa.",
						"_zone.head.n.svc.cluster.local.",
						"_http._tcp.head.n.svc.cluster.local.",
						"n.search.cluster.local.",
						"search.cluster.local.",
						"ext.test.",
						"dns.ext.test.",
						"head.n.ext.test.",
						"_http._tcp.head.n.ext.test." };
	static const char *const types[] = { "A", "SRV", "PTR", "NS", "SOA" };
	static const size_t labels[] = { 1, 2, 37, 62 };
	struct world w;
	char name[256];
	(void)state;
	world_init(&w, NULL, 0);
	kube_obj_unref(world_add(&w, "namespace n"));
	kube_obj_unref(world_add(&w, "service n head ips=None ports=http:80/TCP"));
	kube_obj_unref(world_add(&w, "slice n s of=head ports=http:80/TCP eps=10.0.0.1"));
	struct kubernetes_preset preset = { .index = w.x, .imports = w.imports };
	kubernetes_source_preset(&preset);
	struct fake *f = fake_new(with_others);
	assert_non_null(f);
	for (size_t i = 0; i < ARRAY_LEN(suffixes) * ARRAY_LEN(types) * ARRAY_LEN(labels) * 3;
	     i++) {
		const char *suffix = suffixes[i % ARRAY_LEN(suffixes)];
		size_t k = i / ARRAY_LEN(suffixes);
		size_t octets = 253 + k / (ARRAY_LEN(types) * ARRAY_LEN(labels));
		long_name_below(suffix, octets, labels[k / ARRAY_LEN(types) % ARRAY_LEN(labels)],
				name);
		assert_int_equal(strlen(name) + 1, octets);
		assert_non_null(fake_ask(f, &(struct fake_ask){ .name = name,
								.type = types[k % ARRAY_LEN(types)],
								.udp_size = 1232 }));
	}
	fake_free(f);
	kubernetes_source_preset(NULL);
	world_done(&w);
}

/* Zones as long as they can be: denials have names in front of them, or there is no such zone. The
 * question that was rewritten gets records, the others bytes. */
static void longest_zones(void **state)
{
	static const char *const asked[] = { "a.test.", NULL };
	static const size_t labels[] = { 1, 62 };
	struct world w;
	(void)state;
	world_init(&w, NULL, 0);
	struct kubernetes_preset preset = { .index = w.x, .imports = w.imports };
	kubernetes_source_preset(&preset);
	for (size_t i = 0; i < 2 * 16; i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		size_t octets = 240 + i / 2;
		char zone[256];
		long_name_below("z.", octets, labels[i % 2], zone);
		strbuf_addf(&text, ". {\n rewrite name exact a.test. %s\n kubernetes %s\n}\n", zone,
			    zone);
		struct fake *f = fake_new(text.s);
		if (octets + strlen("hostmaster.") > DNS_NAME_MAX) {
			assert_null(f);
			assert_non_null(strstr(fake_error(), "too long"));
			continue;
		}
		assert_non_null(f);
		for (size_t k = 0; k < ARRAY_LEN(asked); k++) {
			const char *reply = fake_ask(
				f, &(struct fake_ask){ .name = asked[k] != NULL ? asked[k] : zone,
						       .udp_size = 1232 });
			assert_non_null(reply);
			assert_non_null(strstr(reply, " SOA ns.dns."));
			assert_non_null(strstr(reply, " hostmaster."));
		}
		fake_free(f);
	}
	kubernetes_source_preset(NULL);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names),
					    cmocka_unit_test(longest_questions),
					    cmocka_unit_test(longest_zones),
					    cmocka_unit_test(many_slices) };
	return cmocka_run_group_tests_name("plugin/kubernetes/odd", tests, NULL, NULL);
}
