/* SPDX-License-Identifier: GPL-3.0-or-later */
/* example: what it does for each state of its objects, on stores filled by hand and a scripted server. */
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
#include "controller/example/state.h"
#include "dns/types.h"
#include "kube/decode/record.h"
#include "kube/decode/string_pool.h"
#include "kube/decode/tree.h"
#include "kube/test_rig.h"
#include "testing/fake_upstream.h"

extern const struct controller example_controller;

struct scene {
	struct rig g;
	struct fakeup *dns;
	struct kube_string_pool *pool;
	_Atomic unsigned emitted; /* keys by the engine */
	struct kube_store *stores[EXAMPLE_WATCHES];
	struct controller_ctx ctx;
};

static void count_key(void *arg, const char *key)
{
	struct scene *scene = arg;
	assert_string_equal(key, "a");
	scene->emitted++;
}

static void ignore_key(void *arg, const char *key)
{
	(void)arg;
	assert_string_equal(key, EXAMPLE_SOURCE_KEY);
}

static int setup(void **state)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	char err[200];
	scene->pool = kube_string_pool_new();
	rig_up(&scene->g);
	scene->dns = fakeup_new();
	for (int i = 0; i < EXAMPLE_WATCHES; i++)
		scene->stores[i] = kube_store_new(example_controller.watch[i].indexes,
						  example_controller.watch[i].n_indexes);
	scene->ctx = (struct controller_ctx){
		.ns = "own", .stores = scene->stores, .conn = scene->g.conn, .emit = ignore_key
	};
	assert_int_equal(example_controller.start(&scene->ctx.state, ERR_TEXT(err)), 0);
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
	example_controller.stop(scene->ctx.state);
	for (int i = 0; i < EXAMPLE_WATCHES; i++)
		kube_store_free(scene->stores[i]);
	kube_string_pool_free(scene->pool);
	rig_down(&scene->g);
	free(scene);
	return 0;
}

static void put(struct scene *scene, int store, const char *json)
{
	const struct controller_watch *w = &example_controller.watch[store];
	struct kube_codec *c = w->record != NULL
				       ? kube_record_codec(w->record, scene->pool)
				       : kube_tree_codec(api_kind_find(w->group, w->kind), NULL, 0);
	struct kube_obj *o, *old = NULL;
	assert_int_equal(c->decode(c, slice_of(json), &o), 0);
	kube_store_put(scene->stores[store], o, &old);
	kube_obj_unref(old);
	kube_codec_free(c);
}

static void put_namespace(struct scene *scene)
{
	put(scene, EXAMPLE_NAMESPACES,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\","
	    "\"uid\":\"n-1\",\"resourceVersion\":\"1\"}}");
}

static void put_source_with(struct scene *scene, const char *more)
{
	static unsigned version = 10;
	CLEANUP(freep)
	char *json = xasprintf("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
			       "\"namespace\":\"own\",\"name\":\"fairlead-example\","
			       "\"resourceVersion\":\"%u\"%s},\"data\":{\"k\":\"v\"}}",
			       ++version, more);
	put(scene, EXAMPLE_SOURCE, json);
}

#define FINALIZER ",\"finalizers\":[\"example.fairlead.dev/copies\"]"

static void put_source(struct scene *scene)
{
	put_source_with(scene, FINALIZER);
}

static void put_copy(struct scene *scene, const char *value)
{
	CLEANUP(freep)
	char *json = xasprintf(
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"a\","
		"\"name\":\"fairlead-example-copy\",\"uid\":\"u-7\",\"resourceVersion\":\"3\","
		"\"labels\":{\"app.kubernetes.io/managed-by\":\"fairlead-example\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"name\":"
		"\"a\",\"uid\":\"n-1\",\"controller\":true}]},"
		"\"data\":{\"k\":\"%s\"}}",
		value);
	put(scene, EXAMPLE_COPIES, json);
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
	assert_non_null(strstr(req, "\"ownerReferences\":[{"));
	assert_non_null(strstr(req, "\"uid\":\"n-1\""));
	assert_null(strstr(req, "resourceVersion"));
}

/* The store does not show the copy that was made a moment ago. */
static void own_copy_is_waited_for(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source(scene);
	fakeapi_push(scene->g.f,
		     &(struct fakeapi_reply){ .body = "{\"metadata\":{\"labels\":{"
						      "\"app.kubernetes.io/managed-by\":"
						      "\"fairlead-example\"}}}" });
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 1);
}

/* Another writer changes it again and again: five repairs, then one in a minute. */
static void drift_is_not_fought_for_ever(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source(scene);
	put_copy(scene, "other");
	size_t writes = 0;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(reconcile(scene), 0);
		writes += scene->ctx.again_ns == 0;
	}
	assert_int_equal(fakeapi_requests(scene->g.f), writes);
	assert_true(writes >= 5 && writes < 10);
	assert_true(scene->ctx.again_ns > 0 && scene->ctx.again_ns <= 60 * NS_PER_S);
}

static int reconcile_source(struct scene *scene)
{
	return example_controller.reconcile(&scene->ctx, EXAMPLE_SOURCE_KEY);
}

/* Before the first copy is made. */
static void finalizer_comes_first(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source_with(scene, "");
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){
					 .body = "{\"metadata\":{\"resourceVersion\":\"2\"}}" });
	assert_int_equal(reconcile_source(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 2);
	assert_non_null(strstr(fakeapi_request(scene->g.f, 1),
			       "\"finalizers\":[\"example.fairlead.dev/copies\"]"));
}

#define DELETED ",\"deletionTimestamp\":\"2026-11-15T09:30:00Z\""

/* Copies first, then the finalizer. */
static void deleted_source_waits_for_copies(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source_with(scene, FINALIZER DELETED);
	put_copy(scene, "v");
	assert_int_equal(reconcile_source(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
	assert_int_equal(reconcile(scene), 0);
	assert_non_null(strstr(fakeapi_request(scene->g.f, 0), "DELETE "));
	kube_obj_unref(kube_store_del(scene->stores[EXAMPLE_COPIES], SLICE("a"),
				      SLICE("fairlead-example-copy")));
	fakeapi_push(scene->g.f,
		     &(struct fakeapi_reply){
			     .body = "{\"metadata\":{\"resourceVersion\":\"2\"" FINALIZER "}}" });
	assert_int_equal(reconcile_source(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 3);
	assert_non_null(strstr(fakeapi_request(scene->g.f, 2), "PATCH "));
	assert_non_null(strstr(fakeapi_request(scene->g.f, 2), "\"finalizers\":"));
}

#define SOURCE_NOW "{\"metadata\":{\"name\":\"fairlead-example\",\"resourceVersion\":\"2\"}}"

/* The condition follows the copies, with both times; one that is right is not written. */
static void source_has_a_status(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source(scene);
	assert_int_equal(reconcile_source(scene), 0); /* copies are being made */
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
	put_copy(scene, "v");
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .body = SOURCE_NOW });
	assert_int_equal(reconcile_source(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 2);
	const char *req = fakeapi_request(scene->g.f, 1);
	assert_non_null(strstr(req, "\"example.fairlead.dev/status\":\"{\\\"conditions\\\":[{"));
	assert_non_null(strstr(req, "\\\"lastUpdateTime\\\":"));
	assert_non_null(strstr(req, "\\\"reason\\\":\\\"AllCopied\\\""));
	put_source_with(scene, FINALIZER
			",\"annotations\":{\"example.fairlead.dev/status\":\"{\\\"conditions\\\":[{"
			"\\\"type\\\":\\\"Copied\\\",\\\"status\\\":\\\"True\\\",\\\"reason\\\":"
			"\\\"AllCopied\\\",\\\"message\\\":\\\"Each Namespace with the label "
			"example.fairlead.dev/copy=true has a copy.\\\"}]}\"}");
	assert_int_equal(reconcile_source(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 2);
}

static void nothing_beside_a_rival(void **state)
{
	CLEANUP(strbuf_done) struct strbuf note = STRBUF_INIT;
	struct scene *scene = *state;
	put_namespace(scene);
	put_source(scene);
	put(scene, EXAMPLE_RIVAL,
	    "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"namespace\":"
	    "\"own\",\"name\":\"fairlead-example-original\",\"resourceVersion\":\"4\"},"
	    "\"spec\":{\"replicas\":1}}");
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(reconcile_source(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
	example_controller.note(scene->ctx.state, &note);
	assert_non_null(strstr(note.s, "scale it to 0"));
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
	put(scene, EXAMPLE_NAMESPACES,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\","
	    "\"uid\":\"n-1\",\"resourceVersion\":\"1\",\"deletionTimestamp\":\"2026-11-15T09:30:"
	    "00Z\"}}");
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
		"\"uid\":\"n-1\",\"resourceVersion\":\"1\",\"annotations\":{\"example.fairlead.dev/"
		"lookup\":"
		"\"%s\"}}}",
		name);
	put(scene, EXAMPLE_NAMESPACES, json);
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
	put(scene, EXAMPLE_NAMESPACES,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"ending\","
	    "\"resourceVersion\":\"1\"},\"status\":{\"phase\":\"Terminating\"}}");
	example_controller.watch[EXAMPLE_COPIES].keys(&scene->ctx, &copy, collect, &got);
	assert_string_equal(got.s, "b source/ ");
	strbuf_reset(&got);
	example_controller.watch[EXAMPLE_SOURCE].keys(&scene->ctx, &copy, collect, &got);
	assert_string_equal(got.s, "source/ a ");
}

/* The keys of a change of the copy, whose version in the store is 3. */
static void assert_copy_keys(struct scene *scene, const char *want)
{
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	const struct kube_obj copy = { .ns = "a", .name = "fairlead-example-copy" };
	example_controller.watch[EXAMPLE_COPIES].keys(&scene->ctx, &copy, collect, &got);
	assert_string_equal(got.s, want);
}

/* What the watch shows of our own write needs no second reconcile; one that began meanwhile does. */
static void echo_is_not_reconciled(void **state)
{
	struct scene *scene = *state;
	put_namespace(scene);
	put_source(scene);
	put_copy(scene, "old");
	assert_copy_keys(scene, "a source/ ");
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){
					 .body = "{\"metadata\":{\"resourceVersion\":\"2\"}}" });
	assert_int_equal(reconcile(scene), 0);
	assert_copy_keys(scene, "a source/ "); /* changed by another writer since */
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){
					 .body = "{\"metadata\":{\"resourceVersion\":\"3\"}}" });
	assert_int_equal(reconcile(scene), 0);
	assert_copy_keys(scene, "source/ ");
	put_source_with(scene, ""); /* nothing is written before it has its finalizer */
	assert_int_equal(reconcile(scene), 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 2);
	assert_copy_keys(scene, "a source/ ");
	kube_obj_unref(kube_store_del(scene->stores[EXAMPLE_COPIES], SLICE("a"),
				      SLICE("fairlead-example-copy")));
	assert_copy_keys(scene, "a source/ ");
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
		T(own_copy_is_waited_for),
		T(drift_is_not_fought_for_ever),
		T(finalizer_comes_first),
		T(deleted_source_waits_for_copies),
		T(source_has_a_status),
		T(nothing_beside_a_rival),
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
		T(echo_is_not_reconciled),
		T(hooks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
