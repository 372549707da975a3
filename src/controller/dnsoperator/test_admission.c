/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The web hook: every row that the checks of templates and servers have, in the same words; then
 * test_admission.json, what it leaves alone, what it warns of, and what it cannot know. */
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/dnsoperator/admission.h"
#include "controller/dnsoperator/pass.h"
#include "controller/dnsoperator/plan/validate_routes.h"
#include "controller/dnsoperator/plan/validate_templates.h"
#include "controller/dnsoperator/test_rows.h"
#include "kube/decode/tree.h"

extern const struct controller dnsoperator_controller;

enum { STORES = CONTROLLER_WATCHES_MAX };

struct scene {
	struct kube_store *stores[STORES];
	struct controller_options options;
	struct controller_ctx ctx;
	struct admission_hook hooks[DNSOPERATOR_ADMISSION_HOOKS];
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){ 0 };
	for (int i = 0; i < STORES; i++)
		s->stores[i] = kube_store_new(NULL, 0);
	s->ctx =
		(struct controller_ctx){ .ns = "own", .options = &s->options, .stores = s->stores };
	for (int i = 0; i < DNSOPERATOR_ADMISSION_HOOKS; i++) {
		s->hooks[i] = dnsoperator_admission_hooks[i];
		s->hooks[i].ctx = &s->ctx; /* as the manager does */
	}
}

static void scene_done(struct scene *s)
{
	for (int i = 0; i < STORES; i++)
		kube_store_free(s->stores[i]);
}

static void put(struct scene *s, const json_t *o)
{
	for (size_t i = 0; i < dnsoperator_controller.n_watch; i++) {
		const struct controller_watch *w = &dnsoperator_controller.watch[i];
		if (strcmp(w->kind, api_kind(o)) != 0)
			continue;
		struct kube_codec *c = kube_tree_codec(api_kind_find(w->group, w->kind), NULL, 0);
		struct kube_obj *put, *old = NULL;
		char *text = json_dumps(o, 0);
		assert_int_equal(c->decode(c, slice_of(text), &put), 0);
		kube_store_put(s->stores[i], put, &old);
		kube_obj_unref(old);
		kube_codec_free(c);
		free(text);
	}
}

/* The request's members, with what every request has; the response. */
static json_t *ask(const struct scene *s, const json_t *request)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	json_t *q = json_pack("{ss,ss,ss,s{ss,ss,ss}}", "uid", "u", "name", "default", "operation",
			      "CREATE", "kind", "group", "operator.openshift.io", "version", "v1",
			      "kind", "DNS");
	json_object_update(q, api_tree(request));
	json_t *body = json_pack("{ss,ss,so}", "apiVersion", "admission.k8s.io/v1", "kind",
				 "AdmissionReview", "request", q);
	char *text = json_dumps(body, 0);
	int r = admission_review(s->hooks, DNSOPERATOR_ADMISSION_HOOKS, ADMISSION_VALIDATE,
				 slice_of(text), &out);
	json_t *reply = r == 0 ? json_loads(out.s, 0, NULL) : json_object();
	json_t *response = json_incref(json_object_get(reply, "response"));
	assert_int_equal(r == 0, response != NULL);
	json_decref(reply);
	json_decref(body);
	free(text);
	return response;
}

static json_t *object_of(json_t *spec)
{
	return json_pack("{ss,ss,s{ss},sO*}", "apiVersion", "operator.openshift.io/v1", "kind",
			 "DNS", "metadata", "name", "default", "spec", spec);
}

/* An update from an object without a spec, in a cluster of this domain. */
static json_t *update(json_t *spec, const char *domain)
{
	json_t *old = object_of(NULL);
	json_t *o = object_of(spec);
	json_object_set_new(old, "status", json_pack("{ss}", "clusterDomain", domain));
	return json_pack("{ss,so,so}", "operation", "UPDATE", "object", o, "oldObject", old);
}

/* ---- the rows of the checks ---- */

/* Refused with these very words, or not at all. */
static void check_row(const struct scene *s, const char *id, json_t *spec, const char *domain,
		      const struct dnsoperator_problems *problems)
{
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
	json_t *request = update(spec, domain), *response = ask(s, request);
	bool allowed = json_is_true(json_object_get(response, "allowed"));
	dnsoperator_problems_text(problems, &want);
	if (allowed != (problems->n == 0))
		fail_msg("%s: allowed %d, and %zu problems", id, allowed, problems->n);
	if (!allowed) {
		assert_string_equal(api_get_string(response, "status.message"), want.s);
		assert_int_equal(json_integer_value(api_get(response, "status.code")), 422);
	}
	json_decref(request);
	json_decref(response);
}

static bool has_nul(const json_t *row)
{
	char *text = json_dumps(row, 0);
	bool has = strstr(text, "\\u0000") != NULL;
	free(text);
	return has;
}

static void rows_of_templates(void **state)
{
	(void)state;
	struct scene s;
	json_t *rows = rows_load(SOURCE_DIR "/plan/test_validate_templates.json"), *row;
	size_t i, refused = 0;
	scene_init(&s);
	json_array_foreach (rows, i, row) {
		const char *domain = api_get_string(row, "domain");
		struct dnsoperator_templates got;
		struct dnsoperator_problems problems = { 0 };
		struct arena a;
		if (has_nul(row))
			continue; /* such a review is none */
		json_t *list = json_object_get(row, "templates");
		json_t *spec = json_pack("{sO}", "templates", list);
		domain = domain[0] != '\0' ? domain : "cluster.local";
		arena_init(&a);
		refused += dnsoperator_templates_check(list, domain, &a, &got, &problems) < 0;
		check_row(&s, api_get_string(row, "id"), spec, domain, &problems);
		dnsoperator_problems_done(&problems);
		arena_done(&a);
		json_decref(spec);
	}
	json_decref(rows);
	scene_done(&s);
	assert_true(refused >= 60);
}

static void rows_of_routes(void **state)
{
	(void)state;
	struct scene s;
	json_t *rows = rows_load(SOURCE_DIR "/plan/test_validate_routes.json"), *row;
	size_t i, refused = 0;
	scene_init(&s);
	s.options.platform = "openshift"; /* where bundles can be named */
	json_array_foreach (rows, i, row) {
		struct dnsoperator_dns dns;
		struct dnsoperator_problems problems = { 0 };
		struct arena a;
		const char *domain = "cluster.local";
		if (json_object_get(row, "domain") != NULL)
			continue; /* OpenShift has no other */
		json_t *spec = json_object_get(row, "spec"), *o = object_of(spec);
		arena_init(&a);
		dnsoperator_dns_read(o, &a, &dns);
		refused += dnsoperator_routes_check(&dns.routes, &dns.errs, domain, &problems) < 0;
		check_row(&s, api_get_string(row, "id"), spec, "cluster.local", &problems);
		dnsoperator_problems_done(&problems);
		dnsoperator_dns_done(&dns);
		arena_done(&a);
		json_decref(o);
	}
	json_decref(rows);
	scene_done(&s);
	assert_true(refused >= 40);
}

/* ---- requests ---- */

static void check_texts(const char *id, const json_t *want, const char *text)
{
	size_t i;
	json_t *v;
	json_array_foreach (want, i, v) {
		if (strstr(text, json_string_value(v)) == NULL)
			fail_msg("%s: '%s' is not in: %s", id, json_string_value(v), text);
	}
}

static void check_warnings(const char *id, const json_t *row, const json_t *response)
{
	CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
	const json_t *warnings = json_object_get(response, "warnings");
	size_t i;
	json_t *v;
	strbuf_adds(&all, "");
	json_array_foreach (warnings, i, v)
		strbuf_addf(&all, "%s\n", json_string_value(v));
	check_texts(id, json_object_get(row, "warn"), all.s);
	if (json_object_get(row, "warn") == NULL && all.n != 0)
		fail_msg("%s: warned: %s", id, all.s);
}

static void check_request(const json_t *row)
{
	struct scene s;
	const char *id = api_get_string(row, "id");
	size_t i;
	json_t *v;
	scene_init(&s);
	s.options.platform = json_string_value(json_object_get(row, "platform"));
	s.options.feature_gates = json_string_value(json_object_get(row, "featureGates"));
	json_array_foreach (json_object_get(row, "stores"), i, v)
		put(&s, v);
	json_t *response = ask(&s, json_object_get(row, "request"));
	bool allowed = json_is_true(json_object_get(response, "allowed"));
	if (allowed != (json_object_get(row, "refused") == NULL))
		fail_msg("%s: allowed %d: %s", id, allowed,
			 api_get_string(response, "status.message"));
	check_texts(id, json_object_get(row, "refused"),
		    api_get_string(response, "status.message"));
	check_warnings(id, row, response);
	json_decref(response);
	scene_done(&s);
}

static void each_request(void **state)
{
	(void)state;
	json_t *rows = rows_load(SOURCE_DIR "/test_admission.json"), *row;
	size_t i;
	json_array_foreach (rows, i, row)
		check_request(row);
	json_decref(rows);
}

/* The largest list that is accepted, and a hostile one, take no time to speak of; the message stays
 * readable. */
static void large_lists(void **state)
{
	(void)state;
	struct scene s;
	scene_init(&s);
	for (int bad = 0; bad < 2; bad++) {
		json_t *list = json_array();
		for (int i = 0; i < DNSOPERATOR_TEMPLATES_MAX; i++) {
			json_t *zones = json_array();
			for (int k = 0; k < DNSOPERATOR_ZONES_MAX; k++)
				json_array_append_new(
					zones, json_sprintf(bad ? "_%d.%d" : "z%d.t%d", k, i));
			json_array_append_new(list, json_pack("{so,so,s{s{}}}", "name",
							      json_sprintf("t%d", i), "zones",
							      zones, "action", "returnEmpty"));
		}
		json_t *spec = json_pack("{so}", "templates", list);
		json_t *request = update(spec, "cluster.local"), *response = ask(&s, request);
		assert_int_equal(json_is_true(json_object_get(response, "allowed")), !bad);
		assert_true(strlen(api_get_string(response, "status.message")) < 8192);
		json_decref(response);
		json_decref(request);
		json_decref(spec);
	}
	scene_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_templates),
		cmocka_unit_test(rows_of_routes),
		cmocka_unit_test(each_request),
		cmocka_unit_test(large_lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
