/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collector: owners, namespaces and expired Events, also after a restart. */
#include "apiserver/test_api.h"

#define CMS "/api/v1/namespaces/default/configmaps"

/* A ConfigMap owned by another one (or by nobody). */
static void make(struct fixture *f, const char *name, const char *owner, const char *more)
{
	CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
	strbuf_addf(&body, "{\"metadata\":{\"name\":\"%s\"%s", name, more);
	if (owner != NULL) {
		CLEANUP(freep) char *target = xasprintf("GET " CMS "/%s", owner);
		json_t *o = ask(f, 200, target, NULL);
		strbuf_addf(&body,
			    ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
			    "\"name\":\"%s\",\"uid\":\"%s\",\"blockOwnerDeletion\":true}]",
			    owner, api_uid(o));
		json_decref(o);
	}
	strbuf_adds(&body, "}}");
	does(f, 201, "POST " CMS, body.s);
}

static void background(void **state)
{
	struct fixture *f = *state;
	make(f, "a", NULL, "");
	make(f, "b", "a", "");
	make(f, "c", "b", "");
	make(f, "other", NULL, "");
	does(f, 200, "DELETE " CMS "/a", "{\"propagationPolicy\":\"Background\"}");
	becomes(f, 404, "GET " CMS "/b");
	becomes(f, 404, "GET " CMS "/c");
	does(f, 200, "GET " CMS "/other", NULL);
}

/* Changes that leave the owners as they are change nothing for the collector, also where a label has
 * the name of the field. */
static void background_after_changes(void **state)
{
	struct fixture *f = *state;
	make(f, "a", NULL, "");
	make(f, "b", "a", ",\"labels\":{\"ownerReferences\":\"x\"}");
	make(f, "c", "a", ",\"labels\":{\"ownerReferences\":\"x\"}");
	merge(f, 200, CMS "/b", "{\"data\":{\"k\":\"1\"}}");
	merge(f, 200, CMS "/c", "{\"data\":{\"k\":\"1\"}}");
	merge(f, 200, CMS "/c", "{\"metadata\":{\"ownerReferences\":null}}");
	merge(f, 200, CMS "/c", "{\"data\":{\"k\":\"2\"}}");
	does(f, 200, "DELETE " CMS "/a", "{\"propagationPolicy\":\"Background\"}");
	becomes(f, 404, "GET " CMS "/b");
	does(f, 200, "GET " CMS "/c", NULL);
}

/* Until the collector has come by. */
static void until_deleting(struct fixture *f, const char *target)
{
	json_t *o = NULL;
	do {
		json_decref(o);
		o = ask(f, 200, target, NULL);
	} while (!api_is_deleting(o));
	json_decref(o);
}

/* The owner waits for its dependents, and they for what keeps them. */
static void foreground(void **state)
{
	struct fixture *f = *state;
	make(f, "a", NULL, "");
	make(f, "b", "a", ",\"finalizers\":[\"x.example/y\"]");
	does(f, 200, "DELETE " CMS "/a", "{\"propagationPolicy\":\"Foreground\"}");
	until_deleting(f, "GET " CMS "/b");
	does(f, 200, "GET " CMS "/a", NULL);
	merge(f, 200, CMS "/b", "{\"metadata\":{\"finalizers\":null}}");
	becomes(f, 404, "GET " CMS "/b");
	becomes(f, 404, "GET " CMS "/a");
}

/* The text of references: one to each of the owners, which block or do not. */
static char *references(struct fixture *f, const char *const *owners, bool blocking)
{
	struct strbuf out = STRBUF_INIT;
	const char *sep = "";
	strbuf_adds(&out, "{\"metadata\":{\"ownerReferences\":[");
	for (; *owners != NULL; owners++, sep = ",") {
		CLEANUP(freep) char *target = xasprintf("GET " CMS "/%s", *owners);
		json_t *o = ask(f, 200, target, NULL);
		strbuf_addf(&out,
			    "%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%s\","
			    "\"uid\":\"%s\",\"blockOwnerDeletion\":%s}",
			    sep, *owners, api_uid(o), blocking ? "true" : "false");
		json_decref(o);
	}
	strbuf_adds(&out, "]}}");
	return strbuf_take(&out);
}

static void set_owners(struct fixture *f, const char *name, const char *const *owners,
		       bool blocking)
{
	CLEANUP(freep) char *target = xasprintf(CMS "/%s", name);
	CLEANUP(freep) char *patch = references(f, owners, blocking);
	merge(f, 200, target, patch);
}

#define OWNERS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* An owner that waits goes also when its dependent turns to another owner... */
static void foreground_other_owner(void **state)
{
	struct fixture *f = *state;
	make(f, "a", NULL, "");
	make(f, "b", NULL, "");
	make(f, "c", "a", "");
	set_owners(f, "c", OWNERS("a", "b"), true);
	does(f, 200, "DELETE " CMS "/a", "{\"propagationPolicy\":\"Foreground\"}");
	becomes(f, 404, "GET " CMS "/a");
	does(f, 200, "GET " CMS "/c", NULL);
}

/* ...or keeps it no more, by its own word. */
static void foreground_released(void **state)
{
	struct fixture *f = *state;
	make(f, "a", NULL, "");
	make(f, "b", "a", ",\"finalizers\":[\"x.example/y\"]");
	does(f, 200, "DELETE " CMS "/a", "{\"propagationPolicy\":\"Foreground\"}");
	until_deleting(f, "GET " CMS "/b");
	set_owners(f, "b", OWNERS("a"), false);
	becomes(f, 404, "GET " CMS "/a");
	does(f, 200, "GET " CMS "/b", NULL);
}

/* Each owns the next, and the last one the first. */
static void foreground_circle(void **state)
{
	struct fixture *f = *state;
	make(f, "a", NULL, "");
	make(f, "b", "a", "");
	set_owners(f, "a", OWNERS("b"), true);
	make(f, "d", NULL, "");
	make(f, "e", "d", "");
	make(f, "f", "e", "");
	set_owners(f, "d", OWNERS("f"), true);
	does(f, 200, "DELETE " CMS "/a", "{\"propagationPolicy\":\"Foreground\"}");
	does(f, 200, "DELETE " CMS "/d", "{\"propagationPolicy\":\"Foreground\"}");
	for (const char *name = "abdef"; *name != '\0'; name++) {
		CLEANUP(freep) char *target = xasprintf("GET " CMS "/%c", *name);
		becomes(f, 404, target);
	}
}

static void orphan(void **state)
{
	struct fixture *f = *state;
	make(f, "a", NULL, "");
	make(f, "b", "a", "");
	does(f, 200, "DELETE " CMS "/a", "{\"propagationPolicy\":\"Orphan\"}");
	becomes(f, 404, "GET " CMS "/a");
	json_t *o = ask(f, 200, "GET " CMS "/b", NULL);
	assert_null(api_get(o, "metadata.ownerReferences"));
	json_decref(o);
}

/* An owner that was never there, and one that cannot be known. */
static void strange_owners(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST " CMS,
	     "{\"metadata\":{\"name\":\"kept\",\"ownerReferences\":[{\"apiVersion\":\"apps/"
	     "v1\",\"kind\":\"Deployment\",\"name\":\"x\",\"uid\":\"1\"}]}}");
	does(f, 201, "POST " CMS,
	     "{\"metadata\":{\"name\":\"goes\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
	     "\"kind\":\"ConfigMap\",\"name\":\"x\",\"uid\":\"1\"}]}}");
	does(f, 201, "POST " CMS,
	     "{\"metadata\":{\"name\":\"escaped\",\"labels\":{\"deletionTimestamp\":\"x\"},"
	     "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
	     "\"name\":\"\\\"}]\\u00e4\\u0001\",\"uid\":\"1\"}]}}");
	becomes(f, 404, "GET " CMS "/goes");
	becomes(f, 404, "GET " CMS "/escaped");
	does(f, 200, "GET " CMS "/kept", NULL);
}

/* Of two owners one is left. */
static void two_owners(void **state)
{
	struct fixture *f = *state;
	json_t *o;
	make(f, "a", NULL, "");
	make(f, "b", NULL, "");
	make(f, "c", "a", "");
	o = ask(f, 200, "GET " CMS "/b", NULL);
	CLEANUP(freep)
	char *patch = xasprintf("[{\"op\":\"add\",\"path\":\"/metadata/ownerReferences/"
				"-\",\"value\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
				"\"name\":\"b\",\"uid\":\"%s\"}}]",
				api_uid(o));
	json_decref(o);
	json_decref(ask_type(f, 200, "PATCH " CMS "/c", "application/json-patch+json", patch));
	does(f, 200, "DELETE " CMS "/a", NULL);
	size_t n;
	do {
		o = ask(f, 200, "GET " CMS "/c", NULL);
		n = json_array_size(api_get(o, "metadata.ownerReferences"));
		json_decref(o);
	} while (n == 2);
	assert_int_equal(n, 1);
	does(f, 200, "DELETE " CMS "/b", NULL);
	becomes(f, 404, "GET " CMS "/c");
}

/* Waits until the condition of the namespace names this. */
static json_t *until_told(struct fixture *f, int condition, const char *text)
{
	CLEANUP(freep) char *path = xasprintf("status.conditions[%d].message", condition);
	json_t *o = NULL;
	do {
		json_decref(o);
		o = ask(f, 200, "GET /api/v1/namespaces/x", NULL);
	} while (strstr(api_get_string(o, path), text) == NULL);
	return o;
}

static void namespace_goes(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST /api/v1/namespaces", "{\"metadata\":{\"name\":\"x\"}}");
	for (int i = 0; i < 30; i++) {
		CLEANUP(freep)
		char *body = xasprintf("{\"metadata\":{\"name\":\"a%d\"}}", i);
		does(f, 201, "POST /api/v1/namespaces/x/configmaps", body);
		does(f, 201, "POST /api/v1/namespaces/x/secrets", body);
	}
	does(f, 201, "POST /api/v1/namespaces/x/configmaps",
	     "{\"metadata\":{\"name\":\"kept\",\"finalizers\":[\"x.example/y\"]}}");
	json_t *o = ask(f, 200, "DELETE /api/v1/namespaces/x", NULL);
	assert_text(o, "status.phase", "Terminating");
	json_decref(o);
	becomes(f, 404, "GET /api/v1/namespaces/x/secrets/a29");
	does(f, 403, "POST /api/v1/namespaces/x/secrets", "{\"metadata\":{\"name\":\"new\"}}");
	json_decref(until_told(f, 4, "x.example/y in 1 resource instances"));
	merge(f, 200, "/api/v1/namespaces/x/configmaps/kept",
	      "{\"metadata\":{\"finalizers\":null}}");
	becomes(f, 404, "GET /api/v1/namespaces/x");
}

/* The conditions have kube-controller-manager's words, kinds and finalizers in order. */
static void namespace_tells(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST /api/v1/namespaces", "{\"metadata\":{\"name\":\"x\"}}");
	does(f, 201, "POST /api/v1/namespaces/x/secrets",
	     "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"z.example/z\"]}}");
	does(f, 201, "POST /api/v1/namespaces/x/configmaps",
	     "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"z.example/z\",\"x.example/y\"]}}");
	does(f, 201, "POST /apis/coordination.k8s.io/v1/namespaces/x/leases",
	     "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"z.example/z\"]}}");
	does(f, 200, "DELETE /api/v1/namespaces/x", NULL);
	json_t *o = until_told(f, 4, "z.example/z in 3");
	assert_text(o, "status.conditions[3].message",
		    "Some resources are remaining: configmaps. has 1 resource instances, "
		    "leases.coordination.k8s.io has 1 resource instances, "
		    "secrets. has 1 resource instances");
	assert_text(o, "status.conditions[4].message",
		    "Some content in the namespace has finalizers remaining: "
		    "x.example/y in 1 resource instances, z.example/z in 3 resource instances");
	json_decref(o);
}

/* What was begun is finished after a restart. */
static void after_a_restart(void **state)
{
	struct fixture *f = *state;
	make(f, "a", NULL, "");
	make(f, "b", "a", ",\"finalizers\":[\"x.example/y\"]");
	does(f, 201, "POST /api/v1/namespaces", "{\"metadata\":{\"name\":\"x\"}}");
	does(f, 201, "POST /api/v1/namespaces/x/configmaps", "{\"metadata\":{\"name\":\"a\"}}");
	does(f, 200, "DELETE " CMS "/a", "{\"propagationPolicy\":\"Foreground\"}");
	does(f, 200, "DELETE /api/v1/namespaces/x", NULL);
	fixture_close(f);
	fixture_open(f);
	becomes(f, 404, "GET /api/v1/namespaces/x");
	merge(f, 200, CMS "/b", "{\"metadata\":{\"finalizers\":null}}");
	becomes(f, 404, "GET " CMS "/a");
}

/* The API's own Service comes back, as in a cluster. */
static void own_service(void **state)
{
	struct fixture *f = *state;
	char address[] = "192.0.2.1";
	fixture_close(f);
	f->conf.address = address;
	fixture_open(f);
	f->conf.address = NULL;
	memset(address, 'x', sizeof(address) - 1); /* it is the caller's */
	does(f, 200, "DELETE /api/v1/namespaces/default/services/kubernetes", NULL);
	does(f, 200,
	     "DELETE /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes", NULL);
	becomes(f, 200, "GET /api/v1/namespaces/default/services/kubernetes");
	becomes(f, 200,
		"GET /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes");
	json_t *o = ask(f, 200, "GET /api/v1/namespaces/default/services/kubernetes", NULL);
	assert_text(o, "spec.clusterIP", "10.96.0.1");
	json_decref(o);
	o = ask(f, 200,
		"GET /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes", NULL);
	assert_text(o, "endpoints[0].addresses[0]", "192.0.2.1");
	json_decref(o);
}

static void old_events(void **state)
{
	struct fixture *f = *state;
	fixture_close(f);
	f->conf.event_ttl_ns = 3600 * NS_PER_S;
	fixture_open(f);
	does(f, 201, "POST /api/v1/namespaces/default/events",
	     "{\"metadata\":{\"name\":\"new\"},\"involvedObject\":{\"namespace\":\"default\"}}");
	fixture_close(f);
	f->conf.event_ttl_ns = 1;
	fixture_open(f);
	becomes(f, 404, "GET /api/v1/namespaces/default/events/new");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(background, setup, teardown),
		cmocka_unit_test_setup_teardown(background_after_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(foreground, setup, teardown),
		cmocka_unit_test_setup_teardown(foreground_other_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(foreground_released, setup, teardown),
		cmocka_unit_test_setup_teardown(foreground_circle, setup, teardown),
		cmocka_unit_test_setup_teardown(orphan, setup, teardown),
		cmocka_unit_test_setup_teardown(strange_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(two_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(namespace_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(namespace_tells, setup, teardown),
		cmocka_unit_test_setup_teardown(after_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(own_service, setup, teardown),
		cmocka_unit_test_setup_teardown(old_events, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
