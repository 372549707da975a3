/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The web hooks: each row of test_admission.json creates a pod in a namespace with a policy. The
 * changed pod is sent through the hook again, which must leave it as it is, and then through the
 * check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree.h"
#include "controller/controller.h"
#include "controller/poddns/admission.h"
#include "controller/poddns/watches.h"
#include "kube/decode/tree.h"

extern const struct controller poddns_controller;

struct scene {
	struct kube_store *stores[PODDNS_WATCH_COUNT];
	struct controller_options options;
	struct controller_machine machine;
	union net_addr server;
	struct controller_ctx ctx;
	struct admission_hook hooks[PODDNS_ADMISSION_HOOKS];
};

static void scene_init(struct scene *scene)
{
	char err[100];
	*scene = (struct scene){ 0 };
	for (int i = 0; i < PODDNS_WATCH_COUNT; i++)
		scene->stores[i] =
			kube_store_new(poddns_watches[i].indexes, poddns_watches[i].n_indexes);
	scene->ctx = (struct controller_ctx){ .ns = "own",
					      .options = &scene->options,
					      .stores = scene->stores };
	assert_int_equal(poddns_controller.start(&scene->ctx.state, ERR_TEXT(err)), 0);
	for (int i = 0; i < PODDNS_ADMISSION_HOOKS; i++) {
		scene->hooks[i] = poddns_admission_hooks[i];
		scene->hooks[i].ctx = &scene->ctx;
	}
}

static void scene_done(struct scene *scene)
{
	poddns_controller.stop(scene->ctx.state);
	for (int i = 0; i < PODDNS_WATCH_COUNT; i++)
		kube_store_free(scene->stores[i]);
}

static void put(struct scene *scene, enum poddns_watch watch, const json_t *object)
{
	const struct controller_watch *w = &poddns_watches[watch];
	struct kube_codec *codec = kube_tree_codec(api_kind_find(w->group, w->kind), NULL, 0);
	struct kube_obj *made, *old = NULL;
	char *text = json_dumps(object, 0);
	assert_int_equal(codec->decode(codec, slice_of(text), &made), 0);
	kube_store_put(scene->stores[watch], made, &old);
	kube_obj_unref(old);
	kube_codec_free(codec);
	free(text);
}

/* The namespace `shop`, with the row's annotations and labels; the ConfigMap; the DNS Service; the
 * Corefile. */
static void put_row(struct scene *scene, const json_t *row)
{
	static const char *const domain = "cluster.local";
	json_t *usual =
		json_string(". {\n searchpath cluster.local\n kubernetes cluster.local\n}\n");
	json_t *map = json_object_get(row, "policies"),
	       *corefile = json_object_get(row, "corefile");
	bool is_usual = corefile == NULL && json_object_get(row, "no domain") == NULL &&
			json_object_get(row, "no corefile") == NULL;
	if (is_usual)
		corefile = usual;
	json_t *ns = json_pack("{s:{s:s, s:s, s:O*, s:O*}}", "metadata", "name", "shop",
			       "resourceVersion", "1", "annotations",
			       json_object_get(row, "annotations"), "labels",
			       json_object_get(row, "labels"));
	if (json_object_get(row, "unknown") == NULL)
		put(scene, PODDNS_WATCH_NAMESPACES, ns);
	json_decref(ns);
	if (map != NULL) {
		json_t *object = json_pack("{s:{s:s, s:s, s:s}, s:{s:O}}", "metadata", "name",
					   "fairlead-poddns", "namespace", "own", "resourceVersion",
					   "2", "data", "policies.yaml", map);
		put(scene, PODDNS_WATCH_POLICIES, object);
		json_decref(object);
	}
	if (corefile != NULL) {
		json_t *object = json_pack("{s:{s:s, s:s, s:s}, s:{s:O}}", "metadata", "name",
					   "coredns", "namespace", "kube-system", "resourceVersion",
					   "3", "data", "Corefile", corefile);
		put(scene, PODDNS_WATCH_COREFILE_KUBERNETES, object);
		json_decref(object);
	}
	if (is_usual || json_object_get(row, "no corefile") != NULL)
		scene->options.dns_cluster_domain = domain;
	json_decref(usual);
	if (json_object_get(row, "no servers") == NULL) {
		json_t *object = json_pack("{s:{s:s, s:s, s:s}, "
					   "s:{s:[s,s]}}",
					   "metadata", "name", "kube-dns", "namespace",
					   "kube-system", "resourceVersion", "4", "spec",
					   "clusterIPs", "10.96.0.10", "fd00::a");
		put(scene, PODDNS_WATCH_SERVICE_KUBERNETES, object);
		json_decref(object);
	}
}

static json_t *make_pod(const json_t *row)
{
	json_t *pod = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{}}", "apiVersion", "v1", "kind", "Pod",
				"metadata", "generateName", "web-", "namespace",
				api_text_or(json_object_get(row, "namespace"), "shop"), "spec");
	json_t *labels = json_object_get(row, "podLabels");
	json_t *annotations = json_object_get(row, "podAnnotations");
	json_object_update(json_object_get(pod, "spec"), api_tree(json_object_get(row, "spec")));
	/* the API server's default */
	if (json_object_get(json_object_get(pod, "spec"), "dnsPolicy") == NULL)
		json_object_set_new(json_object_get(pod, "spec"), "dnsPolicy",
				    json_string("ClusterFirst"));
	if (labels != NULL)
		json_object_set(json_object_get(pod, "metadata"), "labels", labels);
	if (annotations != NULL)
		json_object_set_new(json_object_get(pod, "metadata"), "annotations",
				    json_deep_copy(annotations));
	return pod;
}

/* The pod as the hooks of the phase leave it; a new reference. Warnings and the refusal are added to
 * `said`. */
static json_t *call(const struct scene *scene, enum admission_phase phase, const json_t *row,
		    const json_t *pod, struct strbuf *said)
{
	struct admission_reply reply;
	size_t i;
	json_t *warning;
	const struct admission_request req = {
		.group = "",
		.kind = "Pod",
		.operation = api_text_or(json_object_get(row, "operation"), "CREATE"),
		.ns = api_namespace(pod),
		.name = "",
		.sub = api_text_or(json_object_get(row, "subresource"), ""),
		.user = "",
		.object = pod,
	};
	admission_call_hooks(scene->hooks, PODDNS_ADMISSION_HOOKS, phase, &req, &reply);
	json_array_foreach (reply.warnings, i, warning) {
		assert_true(json_string_length(warning) <= ADMISSION_WARNING_MAX);
		strbuf_addf(said, "warning: %s\n", api_text(warning));
	}
	if (!reply.allowed)
		strbuf_addf(said, "refused %u: %s\n", reply.code, reply.message.s);
	json_t *object = json_incref(reply.object);
	admission_reply_done(&reply);
	return object;
}

static void check_changed(const char *id, const json_t *row, const json_t *pod,
			  const json_t *changed)
{
	json_t *want = json_deep_copy(pod), *spec = json_object_get(row, "want");
	json_t *meta = json_object_get(want, "metadata");
	const char *applied = api_text(json_object_get(row, "applied"));
	const char *list = api_text(json_object_get(row, "list"));
	if (spec != NULL)
		json_object_update(json_object_get(want, "spec"), spec);
	if (applied[0] != '\0')
		json_object_set_new(
			meta, "annotations",
			json_pack("{s:s}", "dns.fairlead.dev/pod-dns-applied", applied));
	if (json_is_null(json_object_get(row, "applied")))
		json_object_del(json_object_get(meta, "annotations"),
				"dns.fairlead.dev/pod-dns-applied");
	if (list[0] != '\0') {
		json_object_set_new(meta, "labels",
				    json_pack("{s:s}", "dns.fairlead.dev/search-list", list));
		json_object_set(json_object_get(meta, "annotations"),
				"dns.fairlead.dev/search-list-names",
				json_object_get(row, "names"));
	}
	if (!json_equal(want, changed))
		fail_msg("%s: got %s\nnot %s", id, json_dumps(changed, 0), json_dumps(want, 0));
	json_decref(want);
}

/* Each of the row's texts is in `said`; without any nothing is. */
static void check_said(const char *id, const json_t *row, const char *said)
{
	const json_t *texts = json_object_get(row, "said");
	size_t i;
	json_t *text;
	json_array_foreach (texts, i, text) {
		if (strstr(said, api_text(text)) == NULL)
			fail_msg("%s: '%s' is not in: %s", id, api_text(text), said);
	}
	if (texts == NULL && said[0] != '\0')
		fail_msg("%s: said: %s", id, said);
}

static void check_row(const json_t *row)
{
	CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT, again = STRBUF_INIT;
	const char *id = api_get_string(row, "id");
	struct scene s;
	scene_init(&s);
	put_row(&s, row);
	if (json_object_get(row, "machine") != NULL) {
		s.machine = (struct controller_machine){
			.port = 53,
			.bind = api_get_string(row, "machine"),
			.own_corefile = json_object_get(row, "own corefile") != NULL,
		};
		s.options.machine = &s.machine;
	}
	if (json_object_get(row, "flag") != NULL) {
		assert_int_equal(net_addr_parse_ip(SLICE("192.0.2.53"), &s.server), 0);
		s.options.pod_dns_servers = &s.server;
		s.options.n_pod_dns_servers = 1;
	}
	strbuf_adds(&said, "");
	json_t *pod = make_pod(row), *changed = call(&s, ADMISSION_MUTATE, row, pod, &said);
	check_changed(id, row, pod, changed);
	json_t *second = call(&s, ADMISSION_MUTATE, row, changed, &again);
	if (!json_equal(second, changed))
		fail_msg("%s: a second pass changes the pod", id);
	json_decref(call(&s, ADMISSION_VALIDATE, row, changed, &said));
	check_said(id, row, said.s);
	json_decref(second);
	json_decref(changed);
	json_decref(pod);
	scene_done(&s);
}

static void each_row(void **state)
{
	json_error_t err;
	json_t *rows = json_load_file(SOURCE_DIR "/test_admission.json", 0, &err), *row;
	size_t i;
	(void)state;
	if (rows == NULL)
		fail_msg("line %d: %s", err.line, err.text);
	json_array_foreach (rows, i, row)
		check_row(row);
	assert_true(i >= 60);
	json_decref(rows);
}

static void put_corefile(struct scene *scene, const char *version, const char *text)
{
	json_t *object = json_pack("{s:{s:s, s:s, s:s}, s:{s:s}}", "metadata", "name", "coredns",
				   "namespace", "kube-system", "resourceVersion", version, "data",
				   "Corefile", text);
	put(scene, PODDNS_WATCH_COREFILE_KUBERNETES, object);
	json_decref(object);
}

/* The Corefile is read again when it has another version, and for another domain. */
static void changed_corefile(void **state)
{
	static const struct {
		const char *version, *corefile, *domain, *want;
	} steps[] = {
		{ "3", ". {\n kubernetes a.example\n}\n", NULL, NULL },
		{ "4", ". {\n searchpath a.example\n kubernetes a.example\n}\n", NULL,
		  "shop.search.a.example" },
		{ "4", ". {\n searchpath a.example\n kubernetes a.example\n}\n", "b.example",
		  NULL },
		{ "5", ". {\n searchpath b.example\n kubernetes b.example\n}\n", "b.example",
		  "shop.search.b.example" },
		{ "5", ". {\n searchpath b.example\n kubernetes b.example\n}\n", NULL,
		  "shop.search.b.example" },
	};
	json_t *row = json_pack("{s:{s:s}, s:b}", "annotations", "dns.fairlead.dev/virtual-suffix",
				"true", "no domain", true);
	struct scene s;
	(void)state;
	scene_init(&s);
	put_row(&s, row);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
		put_corefile(&s, steps[i].version, steps[i].corefile);
		s.options.dns_cluster_domain = steps[i].domain;
		json_t *pod = make_pod(row), *changed = call(&s, ADMISSION_MUTATE, row, pod, &said);
		const json_t *searches = api_get(changed, "spec.dnsConfig.searches");
		const char *want = steps[i].want != NULL ? steps[i].want : "";
		assert_string_equal(api_text(json_array_get(searches, 0)), want);
		json_decref(changed);
		json_decref(pod);
	}
	json_decref(row);
	scene_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(changed_corefile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
