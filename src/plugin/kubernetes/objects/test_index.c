/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random changes, and after each the index must say what a plain list of objects says. */
#include "plugin/kubernetes/objects/index.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/strbuf.h"

enum { NAMES = 6, SPACES = 3, SLICES = 12, PODS = 8, STEPS = 3000 };

struct world {
	struct kube_string_pool *texts;
	struct kube_codec *services, *slices, *pods;
	struct kubernetes_index *x;
	struct kube_obj *service[SPACES][NAMES], *slice[SPACES][SLICES], *pod[PODS];
	struct rng rng;
	unsigned rv;
};

static uint32_t pick(struct world *w, uint32_t n)
{
	return (uint32_t)(rng_u64(&w->rng) % n);
}

static struct kube_obj *decode(struct kube_codec *c, const char *json)
{
	struct kube_obj *o = NULL;
	assert_int_equal(c->decode(c, slice_of(json), &o), 0);
	return o;
}

static struct kube_obj *make_service(struct world *w, unsigned ns, unsigned name)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_addf(&b,
		    "{\"kind\":\"Service\",\"metadata\":{\"name\":\"s%u\",\"namespace\":\"n%u\","
		    "\"resourceVersion\":\"%u\"},\"spec\":{\"clusterIPs\":[\"10.0.0.%u\"%s]}}",
		    name, ns, ++w->rv, pick(w, 8), pick(w, 2) ? ",\"fd00::1\"" : "");
	return decode(w->services, b.s);
}

static struct kube_obj *make_slice(struct world *w, unsigned ns, unsigned name)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	unsigned n = pick(w, 4);
	strbuf_addf(&b,
		    "{\"kind\":\"EndpointSlice\",\"metadata\":{\"name\":\"e%u\",\"namespace\":\"n%"
		    "u\",\"resourceVersion\":\"%u\",\"labels\":{\"kubernetes.io/service-name\":"
		    "\"s%u\"}},\"endpoints\":[",
		    name, ns, ++w->rv, pick(w, NAMES));
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(&b, "%s{\"addresses\":[\"10.1.0.%u\"]}", i != 0 ? "," : "",
			    pick(w, 16));
	strbuf_adds(&b, "]}");
	return decode(w->slices, b.s);
}

static struct kube_obj *make_pod(struct world *w, unsigned name)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_addf(&b,
		    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%u\",\"namespace\":\"n0\","
		    "\"resourceVersion\":\"%u\"},\"status\":{\"podIPs\":[{\"ip\":\"10.2.0.%u\"}]}}",
		    name, ++w->rv, name % 4);
	return decode(w->pods, b.s);
}

/* A handler's call, and the model's own copy. */
static void change(struct world *w, struct kube_obj **at, struct kube_obj *now,
		   void (*tell)(struct kubernetes_index *index, struct kube_obj *old,
				struct kube_obj *now))
{
	struct kube_obj *old = *at;
	if (old == NULL && now == NULL)
		return;
	tell(w->x, old, now);
	*at = now;
	kube_obj_unref(old);
}

static void step(struct world *w)
{
	unsigned ns = pick(w, SPACES), name = pick(w, NAMES), slice = pick(w, SLICES),
		 pod = pick(w, PODS);
	bool gone = pick(w, 3) == 0;
	switch (pick(w, 4)) {
	case 0:
		change(w, &w->service[ns][name], gone ? NULL : make_service(w, ns, name),
		       kubernetes_index_service);
		break;
	case 1:
	case 2:
		change(w, &w->slice[ns][slice], gone ? NULL : make_slice(w, ns, slice),
		       kubernetes_index_slice);
		break;
	default:
		change(w, &w->pod[pod], gone ? NULL : make_pod(w, pod), kubernetes_index_pod);
		break;
	}
}

static void check_entry(const struct world *w, unsigned ns, unsigned name)
{
	char ns_text[8], name_text[8];
	snprintf(ns_text, sizeof(ns_text), "n%u", ns);
	snprintf(name_text, sizeof(name_text), "s%u", name);
	const struct kubernetes_entry *e =
		kubernetes_index_find(w->x, slice_of(ns_text), slice_of(name_text));
	uint32_t want = 0;
	for (unsigned i = 0; i < SLICES; i++) {
		const struct kube_obj *o = w->slice[ns][i];
		if (o == NULL || strcmp(kube_slice_of(o)->service, name_text) != 0)
			continue;
		want++;
		bool found = false;
		for (uint32_t k = 0; e != NULL && k < e->n_slices; k++)
			found = found || &e->slices[k]->o == o;
		assert_true(found);
	}
	const struct kube_obj *service = w->service[ns][name];
	if (want == 0 && service == NULL) {
		assert_null(e);
		return;
	}
	assert_non_null(e);
	assert_int_equal(e->n_slices, want);
	assert_ptr_equal(e->service, service);
	for (uint32_t k = 1; k < e->n_slices; k++)
		assert_true(strcmp(e->slices[k - 1]->o.name, e->slices[k]->o.name) < 0);
}

static void check_ips(const struct world *w)
{
	for (unsigned last = 0; last < 16; last++) {
		struct kube_ip ip;
		struct kubernetes_endpoint_ref refs[256];
		char text[32];
		snprintf(text, sizeof(text), "10.1.0.%u", last);
		assert_int_equal(kube_ip_parse(slice_of(text), &ip), 0);
		size_t want = 0;
		for (unsigned i = 0; i < SPACES * SLICES; i++) {
			const struct kube_obj *o = w->slice[i / SLICES][i % SLICES];
			for (uint32_t k = 0; o != NULL && k < kube_slice_of(o)->n_endpoints; k++)
				want += memcmp(&kube_slice_of(o)->endpoints[k].ip, &ip,
					       sizeof(ip)) == 0;
		}
		size_t n = kubernetes_index_endpoints(w->x, &ip, refs, ARRAY_LEN(refs));
		assert_int_equal(n, want);
		for (size_t i = 0; i < n; i++)
			assert_memory_equal(&refs[i].slice->endpoints[refs[i].at].ip, &ip,
					    sizeof(ip));
	}
}

static bool note_service(void *ctx, const struct kube_service *service)
{
	*(const struct kube_service **)ctx = service;
	return false;
}

static void check_services_and_pods(const struct world *w)
{
	for (unsigned last = 0; last < 8; last++) {
		struct kube_ip ip;
		char text[32];
		snprintf(text, sizeof(text), "10.0.0.%u", last);
		assert_int_equal(kube_ip_parse(slice_of(text), &ip), 0);
		bool any = false;
		const struct kube_service *s = NULL;
		kubernetes_index_each_by_ip(w->x, &ip, note_service, &s);
		for (unsigned i = 0; i < SPACES * NAMES; i++) {
			const struct kube_obj *o = w->service[i / NAMES][i % NAMES];
			any = any || (o != NULL &&
				      memcmp(&kube_service_of(o)->ips[0], &ip, sizeof(ip)) == 0);
		}
		assert_int_equal(s != NULL, any);
		snprintf(text, sizeof(text), "10.2.0.%u", last % 4);
		assert_int_equal(kube_ip_parse(slice_of(text), &ip), 0);
		const struct kube_pod *p = kubernetes_index_pod_by_ip(w->x, &ip);
		any = w->pod[last % 4] != NULL || w->pod[last % 4 + 4] != NULL;
		assert_int_equal(p != NULL, any);
		assert_true(p == NULL || &p->o == w->pod[last % 4] ||
			    &p->o == w->pod[last % 4 + 4]);
	}
}

static void random_changes(void **state)
{
	(void)state;
	struct world w = { .texts = kube_string_pool_new(), .x = kubernetes_index_new() };
	w.services = kube_service_codec(w.texts);
	w.slices = kube_slice_codec(w.texts, KUBE_SLICE_TARGETS);
	w.pods = kube_pod_codec(w.texts);
	rng_init(&w.rng);
	for (int i = 0; i < STEPS; i++) {
		step(&w);
		if (i % 10 != 0)
			continue;
		for (unsigned k = 0; k < SPACES * NAMES; k++)
			check_entry(&w, k / NAMES, k % NAMES);
		check_ips(&w);
		check_services_and_pods(&w);
	}
	struct kubernetes_index_stats st;
	kubernetes_index_stats(w.x, &st);
	size_t slices = 0, services = 0;
	for (unsigned i = 0; i < SPACES * SLICES; i++)
		slices += w.slice[i / SLICES][i % SLICES] != NULL;
	for (unsigned i = 0; i < SPACES * NAMES; i++)
		services += w.service[i / NAMES][i % NAMES] != NULL;
	assert_int_equal(st.slices, slices);
	assert_int_equal(st.services, services);
	kubernetes_index_free(w.x);
	for (unsigned i = 0; i < SPACES * SLICES; i++)
		kube_obj_unref(w.slice[i / SLICES][i % SLICES]);
	for (unsigned i = 0; i < SPACES * NAMES; i++)
		kube_obj_unref(w.service[i / NAMES][i % NAMES]);
	for (unsigned i = 0; i < PODS; i++)
		kube_obj_unref(w.pod[i]);
	kube_codec_free(w.services);
	kube_codec_free(w.slices);
	kube_codec_free(w.pods);
	rcu_barrier_all();
	kube_string_pool_free(w.texts);
}

/* Which namespace an address is of (PD-M3): pods come and go, and use addresses again. */
static void namespace_of_an_address(void **state)
{
	(void)state;
	static const struct {
		const char *first, *second; /* ns, and h where on the host's network */
		const char *ns;
	} rows[] = {
		{ NULL, NULL, NULL }, { "a", NULL, "a" },  { NULL, "b", "b" },
		{ "a", "a", "a" },    { "a", "b", NULL },  { "b", "a", NULL },
		{ "ah", NULL, NULL }, { "a", "ah", NULL }, { "ah", "a", NULL },
	};
	struct kube_string_pool *texts = kube_string_pool_new();
	struct kube_codec *codec = kube_pod_codec(texts);
	struct kubernetes_index *x = kubernetes_index_new();
	struct kube_obj *at[2] = { NULL };
	struct kube_ip ip;
	assert_int_equal(kube_ip_parse(slice_of("10.2.0.1"), &ip), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *spec[] = { rows[i].first, rows[i].second };
		for (size_t k = 0; k < 2; k++) {
			CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
			struct kube_obj *now = NULL;
			if (spec[k] != NULL) {
				strbuf_addf(
					&b,
					"{\"metadata\":{\"name\":\"p%zu\",\"namespace\":\"%c\"},"
					"\"spec\":{\"hostNetwork\":%s},\"status\":{\"podIPs\":"
					"[{\"ip\":\"10.2.0.1\"}]}}",
					k, spec[k][0], spec[k][1] == 'h' ? "true" : "false");
				now = decode(codec, b.s);
			}
			if (at[k] != NULL || now != NULL)
				kubernetes_index_pod(x, at[k], now);
			kube_obj_unref(at[k]);
			at[k] = now;
		}
		const char *ns = kubernetes_index_pod_namespace(x, &ip);
		if (rows[i].ns == NULL)
			assert_null(ns);
		else
			assert_string_equal(ns, rows[i].ns);
	}
	kubernetes_index_free(x);
	kube_obj_unref(at[0]);
	kube_obj_unref(at[1]);
	kube_codec_free(codec);
	rcu_barrier_all();
	kube_string_pool_free(texts);
}

/* One address goes from namespace to namespace, much faster than 1 kHz, while another thread asks:
 * in each state it finds the owner of that state, and none between two (PD-M3). */
#define CHANGING (UINT_MAX - 1)

struct churn {
	struct kubernetes_index *x;
	struct kube_ip ip;
	atomic_uint epoch; /* 4 n: nobody's, 4 n + 1: a's, 4 n + 2: nobody's, 4 n + 3: b's */
	atomic_uint checked[4];
	atomic_bool wrong;
};

static void *churn_read(void *arg)
{
	static const char *const owner[] = { NULL, "a", NULL, "b" };
	struct churn *c = arg;
	rcu_thread_register();
	for (unsigned before = 0; before != UINT_MAX;) {
		before = atomic_load(&c->epoch);
		if (before == CHANGING)
			continue;
		rcu_enter();
		const char *ns = kubernetes_index_pod_namespace(c->x, &c->ip);
		const char *want = owner[before % 4];
		bool good = ns == want || (ns != NULL && want != NULL && strcmp(ns, want) == 0);
		rcu_leave();
		if (atomic_load(&c->epoch) != before || before == UINT_MAX)
			continue;
		atomic_fetch_add(&c->checked[before % 4], 1);
		if (!good)
			atomic_store(&c->wrong, true);
	}
	rcu_thread_unregister();
	return NULL;
}

static void addresses_used_again(void **state)
{
	(void)state;
	enum { TURNS = 20000 };
	struct kube_string_pool *texts = kube_string_pool_new();
	struct kube_codec *codec = kube_pod_codec(texts);
	struct churn c = { .x = kubernetes_index_new() };
	struct kube_obj *pod[2];
	pthread_t reader;
	assert_int_equal(kube_ip_parse(slice_of("10.2.0.1"), &c.ip), 0);
	for (int i = 0; i < 2; i++) {
		char json[160];
		snprintf(json, sizeof(json),
			 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"%c\"},\"status\":"
			 "{\"podIPs\":[{\"ip\":\"10.2.0.1\"}]}}",
			 'a' + i);
		pod[i] = decode(codec, json);
	}
	assert_int_equal(pthread_create(&reader, NULL, churn_read, &c), 0);
	for (unsigned i = 0; i < TURNS || atomic_load(&c.checked[i % 4]) < 10; i++) {
		struct kube_obj *o = pod[i / 2 % 2];
		atomic_store(&c.epoch, CHANGING);
		kubernetes_index_pod(c.x, i % 2 != 0 ? o : NULL, i % 2 != 0 ? NULL : o);
		atomic_store(&c.epoch, i + 1);
	}
	atomic_store(&c.epoch, UINT_MAX);
	pthread_join(reader, NULL);
	assert_false(atomic_load(&c.wrong));
	rcu_barrier_all();
	kubernetes_index_free(c.x);
	kube_obj_unref(pod[0]);
	kube_obj_unref(pod[1]);
	kube_codec_free(codec);
	rcu_barrier_all();
	kube_string_pool_free(texts);
}

static void namespaces(void **state)
{
	(void)state;
	struct kubernetes_index *x = kubernetes_index_new();
	assert_false(kubernetes_index_has_namespace(x, slice_of("a")));
	kubernetes_index_namespace(x, slice_of("a"), true);
	kubernetes_index_namespace(x, slice_of("a"), true);
	assert_true(kubernetes_index_has_namespace(x, slice_of("a")));
	assert_false(kubernetes_index_has_namespace(x, slice_of("ab")));
	kubernetes_index_namespace(x, slice_of("a"), false);
	kubernetes_index_namespace(x, slice_of("a"), false);
	assert_false(kubernetes_index_has_namespace(x, slice_of("a")));
	rcu_barrier_all();
	kubernetes_index_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes),
		cmocka_unit_test(namespaces),
		cmocka_unit_test(namespace_of_an_address),
		cmocka_unit_test(addresses_used_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
