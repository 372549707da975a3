/* SPDX-License-Identifier: GPL-3.0-or-later */
/* example: what it does for each state of the three objects, on stores filled by hand and a
 * scripted server. */
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/engine.h"
#include "dns/types.h"
#include "kube/decode/tree.h"
#include "kube/test_rig.h"
#include "testing/fake_upstream.h"

extern const struct controller example_controller;

enum { NAMESPACES, SOURCE, COPIES, STORES };

struct scene {
	struct rig g;
	struct fakeup *dns;
	_Atomic unsigned emitted; /* keys by the engine */
	struct kube_store *stores[STORES];
	struct controller_ctx ctx;
};

static void count_key(void *arg, const char *key)
{
	struct scene *scene = arg;
	assert_string_equal(key, "a");
	scene->emitted++;
}

static int setup(void **state)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	char err[200];
	rig_up(&scene->g);
	scene->dns = fakeup_new();
	for (int i = 0; i < STORES; i++)
		scene->stores[i] = kube_store_new(example_controller.watch[i].indexes,
						  example_controller.watch[i].n_indexes);
	scene->ctx = (struct controller_ctx){ .ns = "own",
					      .stores = scene->stores,
					      .conn = scene->g.conn };
	assert_int_equal(engine_start(&(struct engine_conf){ .emit = count_key,
							     .arg = scene,
							     .dns_servers = fakeup_addr(scene->dns),
							     .n_dns_servers = 1 },
				      &scene->ctx.engine, ERR_TEXT(err)),
			 0);
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	engine_stop(scene->ctx.engine);
	fakeup_free(scene->dns);
	for (int i = 0; i < STORES; i++)
		kube_store_free(scene->stores[i]);
	rig_down(&scene->g);
	free(scene);
	return 0;
}

static void put(struct scene *scene, int store, const char *json)
{
	const struct controller_watch *w = &example_controller.watch[store];
	struct kube_codec *c = kube_tree_codec(api_kind_find(w->group, w->kind), NULL, 0);
	struct kube_obj *o, *old = NULL;
	assert_int_equal(c->decode(c, slice_of(json), &o), 0);
	kube_store_put(scene->stores[store], o, &old);
	kube_obj_unref(old);
	kube_codec_free(c);
}

static void put_namespace(struct scene *scene)
{
	put(scene, NAMESPACES,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\","
	    "\"resourceVersion\":\"1\"}}");
}

static void put_source(struct scene *scene)
{
	put(scene, SOURCE,
	    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"own\","
	    "\"name\":\"fairlead-example\",\"resourceVersion\":\"2\"},\"data\":{\"k\":\"v\"}}");
}

static void put_copy(struct scene *scene, const char *value)
{
	CLEANUP(freep)
	char *json = xasprintf(
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"a\","
		"\"name\":\"fairlead-example-copy\",\"uid\":\"u-7\",\"resourceVersion\":\"3\"},"
		"\"data\":{\"k\":\"%s\"}}",
		value);
	put(scene, COPIES, json);
}

static int reconcile(struct scene *scene)
{
	return example_controller.reconcile(&scene->ctx, "a");
}

static void copy_is_made(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source(scene);
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .status = 404 });
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 2);
	const char *req = fakeapi_request(scene->g.f, 1);
	assert_non_null(
		strstr(req, "PATCH /api/v1/namespaces/a/configmaps/fairlead-example-copy?"));
	assert_non_null(strstr(req, "application/apply-patch+yaml"));
	assert_non_null(strstr(req, "fieldManager=fairlead-example"));
	assert_non_null(strstr(req, "\"data\":{\"k\":\"v\"}"));
	assert_non_null(strstr(req, "\"app.kubernetes.io/managed-by\":\"fairlead-example\""));
	assert_null(strstr(req, "resourceVersion"));
}

static void copy_is_renewed(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source(scene);
	put_copy(scene, "old");
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 1);
	assert_non_null(strstr(fakeapi_request(scene->g.f, 0), "PATCH "));
}

static void nothing_to_do(void **state)
{
	struct scene *scene = *state;
	assert_int_equal(reconcile(scene), 0); /* nothing exists */
	put_source(scene);
	assert_int_equal(reconcile(scene), 0); /* nobody wants it */
	put_namespace(scene);
	put_copy(scene, "v");
	assert_int_equal(reconcile(scene), 0); /* all is well */
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
}

static void copy_is_removed(void **state)
{
	struct scene *scene = *state;
	put_copy(scene, "v");
	put_source(scene);
	assert_int_equal(reconcile(scene), 0);
	const char *req = fakeapi_request(scene->g.f, 0);
	assert_non_null(
		strstr(req, "DELETE /api/v1/namespaces/a/configmaps/fairlead-example-copy "));
	assert_non_null(strstr(req, "\"uid\":\"u-7\""));
	/* Somebody else was faster. */
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .status = 404 });
	assert_int_equal(reconcile(scene), 0);
}

static void foreign_one_is_left_alone(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source(scene);
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .body = "{\"metadata\":{}}" });
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 1);
	assert_true(scene->ctx.again_ns == 300 * NS_PER_S);
}

static void ending_namespace_is_left_alone(void **state)
{
	struct scene *scene = *state;
	put(scene, NAMESPACES,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\","
	    "\"resourceVersion\":\"1\",\"deletionTimestamp\":\"2026-11-15T09:30:00Z\"}}");
	put_source(scene);
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
}

static void failures_have_words(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source(scene);
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .status = 404 });
	fakeapi_push(scene->g.f,
		     &(struct fakeapi_reply){
			     .status = 403,
			     .body = "{\"kind\":\"Status\",\"code\":403,\"message\":\"no\"}" });
	assert_int_equal(reconcile(scene), ERR_DENIED);
	assert_non_null(strstr(scene->ctx.err, "no"));
}

static void put_lookup(struct scene *scene, const char *name)
{
	CLEANUP(freep)
	char *json = xasprintf(
		"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\","
		"\"resourceVersion\":\"1\",\"annotations\":{\"example.fairlead.dev/lookup\":"
		"\"%s\"}}}",
		name);
	put(scene, NAMESPACES, json);
	put_source(scene);
}

static void answer_both(struct scene *scene, const struct fakeup_reply *reply)
{
	for (int left = 2; left > 0;) {
		if (fakeup_next(scene->dns) == NULL) {
			poll(NULL, 0, 1);
			continue;
		}
		fakeup_reply(scene->dns, reply);
		left--;
	}
}

static void wait_emitted(struct scene *scene, unsigned want)
{
	while (scene->emitted < want)
		poll(NULL, 0, 1);
}

/* The first call submits the lookup, the second one uses its result. */
static void addresses_come_later(void **state)
{
	struct scene *scene = *state;
	put_lookup(scene, "www.example.org");
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .status = 404 });
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(reconcile(scene), 0); /* under way */
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
	answer_both(scene,
		    &(struct fakeup_reply){ .answer = "www.example.org. 60 IN A 192.0.2.1\n"
						      "www.example.org. 60 IN AAAA 2001:db8::1" });
	wait_emitted(scene, 1);
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 2);
	assert_non_null(strstr(fakeapi_request(scene->g.f, 1),
			       "\"example.fairlead.dev/addresses\":\"192.0.2.1 2001:db8::1\""));
	assert_int_equal(scene->ctx.again_ns, 60 * NS_PER_S);
}

static void failed_lookup_keeps_the_copy(void **state)
{
	struct scene *scene = *state;
	put_lookup(scene, "www.example.org");
	put_copy(scene, "v");
	assert_int_equal(reconcile(scene), 0);
	for (int round = 0; round < 2; round++)
		answer_both(scene, &(struct fakeup_reply){ .rcode = DNS_RCODE_SERVFAIL });
	wait_emitted(scene, 1);
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
	assert_int_equal(scene->ctx.again_ns, 30 * NS_PER_S);
}

static void invalid_name_is_no_lookup(void **state)
{
	struct scene *scene = *state;
	put_lookup(scene, "a..b");
	put_copy(scene, "v");
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(engine_count(scene->ctx.engine), 0);
}

static void collect(void *arg, const char *key)
{
	strbuf_addf(arg, "%s ", key);
}

static void keys(void **state)
{
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	struct scene *scene = *state;
	const struct kube_obj copy = { .ns = "b", .name = "x" };
	put_namespace(scene);
	put(scene, NAMESPACES,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"ending\","
	    "\"resourceVersion\":\"1\"},\"status\":{\"phase\":\"Terminating\"}}");
	example_controller.watch[COPIES].keys(&scene->ctx, &copy, collect, &got);
	assert_string_equal(got.s, "b ");
	strbuf_reset(&got);
	example_controller.watch[SOURCE].keys(&scene->ctx, &copy, collect, &got);
	assert_string_equal(got.s, "a ");
}

static json_t *review(enum admission_phase phase, const char *label)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	CLEANUP(freep)
	char *body = xasprintf(
		"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
		"\"uid\":\"u\",\"operation\":\"CREATE\",\"kind\":{\"group\":\"\",\"kind\":"
		"\"Namespace\"},\"object\":{\"metadata\":{\"name\":\"a\",\"labels\":{%s}}}}}",
		label);
	assert_int_equal(admission_review(example_controller.hooks, example_controller.n_hooks,
					  phase, slice_of(body), &out),
			 0);
	return json_loads(out.s, 0, NULL);
}

static void hooks(void **state)
{
	static const struct {
		const char *label;
		bool allowed, changed;
	} rows[] = {
		{ "", true, false },
		{ "\"example.fairlead.dev/copy\":\"true\"", true, false },
		{ "\"example.fairlead.dev/copy\":\"false\"", true, false },
		{ "\"example.fairlead.dev/copy\":\"yes\"", false, true },
		{ "\"example.fairlead.dev/copy\":\"maybe\"", false, false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *v = review(ADMISSION_VALIDATE, rows[i].label);
		json_t *m = review(ADMISSION_MUTATE, rows[i].label);
		assert_int_equal(json_is_true(api_get(v, "response.allowed")), rows[i].allowed);
		assert_true(json_is_true(api_get(m, "response.allowed")));
		assert_int_equal(api_get(m, "response.patch") != NULL, rows[i].changed);
		json_decref(v);
		json_decref(m);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(copy_is_made),
		T(copy_is_renewed),
		T(nothing_to_do),
		T(copy_is_removed),
		T(foreign_one_is_left_alone),
		T(ending_namespace_is_left_alone),
		T(failures_have_words),
		T(addresses_come_later),
		T(failed_lookup_keeps_the_copy),
		T(invalid_name_is_no_lookup),
		T(keys),
		T(hooks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
