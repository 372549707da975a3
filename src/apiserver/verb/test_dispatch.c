/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs on a real store, without HTTP. Their answers and refusals are compared with
 * kube-apiserver's by tests/kube/test_conformance.py; here are cases that need threads, time or
 * history. */
#include <pthread.h>
#include <stdatomic.h>

#include "apiserver/export.h"
#include "apiserver/request/request.h"
#include "apiserver/request/resource_version.h"
#include "apiserver/store/compact_test.h"
#include "apiserver/store/store.h"
#include "apiserver/test_api.h"
#include "apiserver/verb/dispatch.h"

#define CMS "/api/v1/namespaces/default/configmaps"
#define EFS "/apis/k8s.ovn.org/v1/namespaces/default/egressfirewalls"

static void make(struct fixture *f, const char *name, const char *labels)
{
	CLEANUP(freep)
	char *body = xasprintf("{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}}}", name, labels);
	does(f, 201, "POST " CMS, body);
}

/* ---- objects ---- */

static void life_of_an_object(void **state)
{
	struct fixture *f = *state;
	make(f, "a", "");
	json_t *o = ask(f, 200, "GET " CMS "/a", NULL);
	assert_text(o, "kind", "ConfigMap");
	assert_int_equal(strlen(api_uid(o)), 36);
	json_decref(o);
	merge(f, 200, CMS "/a", "{\"data\":{\"k\":\"v\"}}");
	o = ask(f, 200, "DELETE " CMS "/a", NULL);
	assert_text(o, "status", "Success");
	json_decref(o);
	does(f, 404, "GET " CMS "/a", NULL);
}

/* 1.7: names are drawn again when they are taken; here the alphabet runs out of luck seldom. */
static void generated_names(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 50; i++) {
		json_t *o = ask(f, 201, "POST " CMS, "{\"metadata\":{\"generateName\":\"g-\"}}");
		assert_int_equal(strlen(api_name(o)), 7);
		json_decref(o);
	}
	json_t *list = ask(f, 200, "GET " CMS, NULL);
	assert_int_equal(json_array_size(json_object_get(list, "items")), 50);
	json_decref(list);
}

/* ---- lists ---- */

/* 1.3: pages are of one revision; a token that is too old gets another one (410). */
static void pages_and_history(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 5; i++)
		make(f, (char[]){ (char)('a' + i), '\0' }, "");
	json_t *page = ask(f, 200, "GET " CMS "?limit=2", NULL);
	assert_int_equal(json_integer_value(api_get(page, "metadata.remainingItemCount")), 3);
	CLEANUP(freep)
	char *next = xasprintf("GET " CMS "?limit=9&continue=%s",
			       api_get_string(page, "metadata.continue"));
	json_decref(page);
	make(f, "bb", "");
	page = ask(f, 200, next, NULL);
	assert_int_equal(json_array_size(json_object_get(page, "items")), 3);
	assert_null(api_get(page, "metadata.continue"));
	json_decref(page);
	assert_int_equal(apiserver_store_compact(f->s, apiserver_store_revision(f->s)), 0);
	page = ask(f, 410, next, NULL);
	assert_text(page, "reason", "Expired");
	CLEANUP(freep)
	char *again =
		xasprintf("GET " CMS "?continue=%s", api_get_string(page, "metadata.continue"));
	json_decref(page);
	page = ask(f, 200, again, NULL);
	assert_int_equal(json_array_size(json_object_get(page, "items")), 4); /* bb too */
	json_decref(page);
	page = ask(f, 410, "GET " CMS "?resourceVersion=3&resourceVersionMatch=Exact", NULL);
	assert_text(page, "message", "The resourceVersion for the provided list is too old.");
	json_decref(page);
}

/* 1.2: a version ahead of the server is waited for, then refused. */
static void future_versions(void **state)
{
	struct fixture *f = *state;
	json_t *o = ask(f, 504, "GET " CMS "?resourceVersion=100000", NULL);
	assert_text(o, "reason", "Timeout");
	assert_int_equal(json_integer_value(api_get(o, "details.retryAfterSeconds")), 1);
	json_decref(o);
}

struct waiter {
	struct fixture *f;
	char *target;
	pthread_t thread;
	unsigned status;
};

static void *wait_for_version(void *ctx)
{
	struct waiter *w = ctx;
	struct asked a;
	ask_as(w->f, w->target, NULL, NULL, &a);
	w->status = a.answer.status;
	asked_done(&a);
	return NULL;
}

/* Those who wait leave threads for others: one too many hears at once. */
static void few_wait(void **state)
{
	struct fixture *f = *state;
	const struct timespec pause = { .tv_nsec = 2000000 };
	struct waiter w[APISERVER_WAITING_MAX];
	fixture_close(f);
	f->conf.wait_ns = 600 * NS_PER_S;
	fixture_open(f);
	CLEANUP(freep)
	char *target = xasprintf("GET " CMS "?resourceVersion=%llu",
				 (unsigned long long)apiserver_store_revision(f->api->store) + 1);
	for (size_t i = 0; i < ARRAY_LEN(w); i++) {
		w[i] = (struct waiter){ .f = f, .target = target };
		assert_int_equal(pthread_create(&w[i].thread, NULL, wait_for_version, &w[i]), 0);
	}
	while (atomic_load(&f->api->waiting) < APISERVER_WAITING_MAX)
		nanosleep(&pause, NULL);
	uint64_t began = clock_mono_ns();
	does(f, 504, target, NULL);
	assert_true(clock_mono_ns() - began < 300 * NS_PER_S);
	make(f, "awaited", "");
	for (size_t i = 0; i < ARRAY_LEN(w); i++) {
		pthread_join(w[i].thread, NULL);
		assert_int_equal(w[i].status, 200);
	}
	does(f, 200, target, NULL);
}

/* ---- watches ---- */

static void assert_pulled(struct apiserver_stream *s, const char *want)
{
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT, names = STRBUF_INIT;
	pull_text(s, &got);
	/* Versions are left out: every third word. */
	struct slice rest = strbuf_slice(&got);
	while (rest.n != 0) {
		strbuf_add_slice(&names, slice_cut(&rest, ' '));
		strbuf_addc(&names, ' ');
		strbuf_add_slice(&names, slice_cut(&rest, ' '));
		strbuf_addc(&names, ' ');
		slice_cut(&rest, ' ');
	}
	assert_string_equal(names.s, want);
}

static void watch_from_now_and_then(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 200; i++) { /* more than a page */
		char name[16];
		snprintf(name, sizeof(name), "a%03d", i);
		make(f, name, "");
	}
	struct apiserver_stream *s = watch(f, "GET " CMS "?watch=1&resourceVersion=0");
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	assert_true(pull_text(s, &got));
	assert_non_null(strstr(got.s, "ADDED a000 "));
	assert_non_null(strstr(got.s, "ADDED a199 "));
	make(f, "b", "");
	merge(f, 200, CMS "/b", "{\"data\":{\"x\":\"y\"}}");
	does(f, 200, "DELETE " CMS "/b", NULL);
	assert_pulled(s, "ADDED b MODIFIED b DELETED b ");
	apiserver_stream_free(s);
}

static void watch_with_selectors(void **state)
{
	struct fixture *f = *state;
	make(f, "a", "\"x\":\"1\"");
	make(f, "b", "");
	struct apiserver_stream *s = watch(f, "GET " CMS "?watch=1&labelSelector=x=1");
	struct apiserver_stream *n = watch(f, "GET " CMS "?watch=1&fieldSelector=metadata.name=b");
	assert_pulled(s, "ADDED a ");
	assert_pulled(n, "ADDED b ");
	merge(f, 200, CMS "/b", "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}");
	merge(f, 200, CMS "/b", "{\"data\":{\"k\":\"v\"}}");
	merge(f, 200, CMS "/b", "{\"metadata\":{\"labels\":{\"x\":\"2\"}}}");
	merge(f, 200, CMS "/b", "{\"data\":{\"k\":\"w\"}}");
	does(f, 200, "DELETE " CMS "/b", NULL);
	does(f, 200, "DELETE " CMS "/a", NULL);
	assert_pulled(s, "ADDED b MODIFIED b DELETED b DELETED a ");
	assert_pulled(n, "MODIFIED b MODIFIED b MODIFIED b MODIFIED b DELETED b ");
	apiserver_stream_free(s);
	apiserver_stream_free(n);
}

/* 1.4: the streaming list. */
static void streaming_list(void **state)
{
	struct fixture *f = *state;
	make(f, "a", "");
	struct apiserver_stream *s =
		watch(f, "GET " CMS "?watch=1&sendInitialEvents=true&resourceVersionMatch="
			 "NotOlderThan&allowWatchBookmarks=1");
	assert_pulled(s, "ADDED a BOOKMARK  ");
	make(f, "b", "");
	assert_pulled(s, "ADDED b ");
	apiserver_stream_free(s);
}

static void expired_watch(void **state)
{
	struct fixture *f = *state;
	make(f, "a", "");
	make(f, "b", "");
	assert_int_equal(apiserver_store_compact(f->s, apiserver_store_revision(f->s)), 0);
	struct apiserver_stream *s = watch(f, "GET " CMS "?watch=1&resourceVersion=1");
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	assert_false(pull_text(s, &got));
	assert_string_equal(got.s, "ERROR Expired  ");
	apiserver_stream_free(s);
}

struct waker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned wakes;
};

static void count_wake(void *ctx)
{
	struct waker *w = ctx;
	pthread_mutex_lock(&w->lock);
	w->wakes++;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void wait_wake(struct waker *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->wakes == 0)
		pthread_cond_wait(&w->changed, &w->lock);
	w->wakes = 0;
	pthread_mutex_unlock(&w->lock);
}

/* Bookmarks come in their time, and before the end; the end comes by itself. */
static void bookmarks_and_end(void **state)
{
	struct fixture *f = *state;
	struct waker w = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	fixture_close(f);
	f->conf.bookmark_ns = 5 * NS_PER_MS;
	fixture_open(f);
	CLEANUP(freep)
	char *target = xasprintf(
		"GET " CMS "?watch=1&resourceVersion=%llu&allowWatchBookmarks=1&timeoutSeconds=1",
		(unsigned long long)apiserver_store_revision(f->s));
	struct apiserver_stream *s = watch(f, target);
	apiserver_stream_on_wake(s, count_wake, &w);
	while (pull_text(s, &got))
		wait_wake(&w);
	assert_int_equal(strncmp(got.s, "BOOKMARK ", 9), 0);
	assert_null(strstr(got.s, "ADDED"));
	apiserver_stream_free(s);
}

/* A negative timeout is over before it begins: the watch sends the state, if the client asked for that,
 * but no change, and ends without an ERROR event. (kube-apiserver sends one or not, by chance.) */
static void negative_timeout(void **state)
{
	struct fixture *f = *state;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	uint64_t before = apiserver_store_revision(f->s);
	make(f, "a", "");
	CLEANUP(freep)
	char *changes = xasprintf("GET " CMS "?watch=1&timeoutSeconds=-5&resourceVersion=%llu",
				  (unsigned long long)before);
	struct apiserver_stream *s = watch(f, changes);
	assert_false(pull_text(s, &got));
	assert_string_equal(got.s, "");
	apiserver_stream_free(s);

	s = watch(f, "GET " CMS "?watch=1&timeoutSeconds=-5");
	make(f, "b", "");
	assert_false(pull_text(s, &got));
	assert_int_equal(strncmp(got.s, "ADDED a ", 8), 0);
	assert_null(strstr(got.s, "ADDED b"));
	assert_null(strstr(got.s, "ERROR"));
	apiserver_stream_free(s);
}

/* ---- many at a time ---- */

enum { WRITERS = 8, WRITES = 40 };

struct writer {
	struct fixture *f;
	pthread_t thread;
	int number;
};

/* Everybody patches one object and none is lost: a patch without a version is tried again. */
static void *write_some(void *ctx)
{
	struct writer *w = ctx;
	for (int i = 0; i < WRITES; i++) {
		CLEANUP(freep)
		char *body = xasprintf("{\"data\":{\"w%d-%d\":\"x\"}}", w->number, i);
		struct asked a;
		ask_as(w->f, "PATCH " CMS "/shared", "application/merge-patch+json", body, &a);
		if (a.answer.status != 200 && a.answer.status != 409)
			abort();
		if (a.answer.status == 409)
			i--; /* beaten too often: once more */
		asked_done(&a);
	}
	return NULL;
}

static void many_writers_and_watchers(void **state)
{
	struct fixture *f = *state;
	struct writer w[WRITERS];
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	make(f, "shared", "");
	struct apiserver_stream *s = watch(f, "GET " CMS "?watch=1");
	/* The initial state is read by the first pull: pull before the first write, or it would
	 * include writes. */
	assert_true(pull_text(s, &got));
	for (int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ .f = f, .number = i };
		assert_int_equal(pthread_create(&w[i].thread, NULL, write_some, &w[i]), 0);
	}
	for (int i = 0; i < 100; i++)
		assert_true(pull_text(s, &got));
	for (int i = 0; i < WRITERS; i++)
		pthread_join(w[i].thread, NULL);
	pull_text(s, &got);
	json_t *o = ask(f, 200, "GET " CMS "/shared", NULL);
	assert_int_equal(json_object_size(json_object_get(o, "data")), WRITERS * WRITES);
	json_decref(o);
	size_t events = 0;
	for (const char *p = got.s; (p = strstr(p, "MODIFIED shared ")) != NULL; p++)
		events++;
	assert_int_equal(events, WRITERS * WRITES);
	apiserver_stream_free(s);
}

/* Everybody replaces one object without naming a version: a PUT that another write beat is tried again,
 * from the body as it was sent, and warns once. */
static void *replace_some(void *ctx)
{
	struct writer *w = ctx;
	for (int i = 0; i < WRITES; i++) {
		CLEANUP(freep)
		char *body =
			xasprintf("{\"metadata\":{\"name\":\"shared\"},\"data\":{\"w\":\"%d-%d\"},"
				  "\"other\":1}",
				  w->number, i);
		struct asked a;
		ask_as(w->f, "PUT " CMS "/shared?fieldValidation=Warn", "application/json", body,
		       &a);
		if (a.answer.status != 200 && a.answer.status != 409)
			abort();
		if (strcmp(a.answer.warnings.s, "unknown field \"other\"\n") != 0)
			abort();
		if (a.answer.status == 409)
			i--; /* beaten too often: once more */
		asked_done(&a);
	}
	return NULL;
}

static void replaced_by_many(void **state)
{
	struct fixture *f = *state;
	struct writer w[WRITERS];
	make(f, "shared", "");
	json_t *before = ask(f, 200, "GET " CMS "/shared", NULL);
	for (int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ .f = f, .number = i };
		assert_int_equal(pthread_create(&w[i].thread, NULL, replace_some, &w[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(w[i].thread, NULL);
	json_t *after = ask(f, 200, "GET " CMS "/shared", NULL);
	assert_string_equal(api_uid(after), api_uid(before));
	assert_int_equal(json_object_size(json_object_get(after, "data")), 1);
	assert_null(json_object_get(after, "other"));
	json_decref(before);
	json_decref(after);
}

/* ---- start ---- */

static void what_is_there_at_first(void **state)
{
	struct fixture *f = *state;
	static const char *const paths[] = {
		"GET /api/v1/namespaces/default",
		"GET /api/v1/namespaces/kube-system",
		"GET /api/v1/namespaces/kube-public",
		"GET /api/v1/namespaces/kube-node-lease",
		"GET /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
		"GET "
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
		"dnses.operator.openshift.io",
	};
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		does(f, 200, paths[i], NULL);
	json_t *o = ask(f, 200, "GET /api/v1/namespaces/default/services/kubernetes", NULL);
	assert_text(o, "spec.clusterIP", "10.96.0.1");
	json_decref(o);
	uint64_t revision = apiserver_store_revision(f->s);
	fixture_close(f);
	fixture_open(f);
	assert_int_equal(apiserver_store_revision(f->s), revision); /* nothing is written twice */
}

/* Addresses are known again after a restart. */
static void addresses_stay(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST /api/v1/namespaces/default/services",
	     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"clusterIP\":\"10.96.0.99\",\"ports\":[{"
	     "\"port\":1}]}}");
	fixture_close(f);
	fixture_open(f);
	does(f, 422, "POST /api/v1/namespaces/default/services",
	     "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"clusterIP\":\"10.96.0.99\",\"ports\":[{"
	     "\"port\":1}]}}");
	does(f, 200, "DELETE /api/v1/namespaces/default/services/a", NULL);
	does(f, 201, "POST /api/v1/namespaces/default/services",
	     "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"clusterIP\":\"10.96.0.99\",\"ports\":[{"
	     "\"port\":1}]}}");
}

#define SVCS "/api/v1/namespaces/default/services"
#define NODE_PORT(more, port)                                                              \
	"{\"metadata\":{\"name\":\"b\"},\"spec\":{\"type\":\"NodePort\",\"externalName\":" \
	"null," more "\"ports\":[{\"port\":1,\"nodePort\":" port "}]}}"

/* So are node ports, and none is lost or given twice. */
static void node_ports(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST " SVCS,
	     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"LoadBalancer\","
	     "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":30002,"
	     "\"ports\":[{\"port\":1,\"nodePort\":30001}]}}");
	fixture_close(f);
	fixture_open(f);
	/* One whose address is refused takes no port, and gives none away. */
	does(f, 422, "POST " SVCS, NODE_PORT("\"clusterIP\":\"10.96.0.1\",", "30001"));
	does(f, 422, "POST " SVCS, NODE_PORT("", "30001"));
	does(f, 422, "POST " SVCS, NODE_PORT("", "30002"));
	merge(f, 200, SVCS "/a", "{\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"x.y\"}}");
	does(f, 201, "POST " SVCS, NODE_PORT("", "30001"));
	merge(f, 422, SVCS "/b", NODE_PORT("", "80"));
	does(f, 200, "DELETE " SVCS "/a", NULL);
	merge(f, 200, SVCS "/b", NODE_PORT("", "30002"));
	merge(f, 200, SVCS "/b", NODE_PORT("", "30001"));
}

/* What a type does not need goes with the change to it. */
static void service_types(void **state)
{
	struct fixture *f = *state;
	static const char *const gone[] = { "spec.clusterIP",
					    "spec.clusterIPs",
					    "spec.ipFamilies",
					    "spec.ipFamilyPolicy",
					    "spec.internalTrafficPolicy",
					    "spec.externalTrafficPolicy",
					    "spec.healthCheckNodePort",
					    "status.loadBalancer.ingress",
					    "spec.allocateLoadBalancerNodePorts" };
	does(f, 201, "POST " SVCS,
	     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"LoadBalancer\","
	     "\"externalTrafficPolicy\":\"Local\",\"ports\":[{\"port\":1}]}}");
	merge(f, 200, SVCS "/a/status",
	      "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.1\"}]}}}");
	merge(f, 200, SVCS "/a", "{\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"x.y\"}}");
	json_t *o = ask(f, 200, "GET " SVCS "/a", NULL);
	for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
		if (api_get(o, gone[i]) != NULL)
			fail_msg("%s is still there", gone[i]);
	}
	json_decref(o);
}

/* An empty list is kept as none, but who wrote it manages it. */
static void empty_lists(void **state)
{
	struct fixture *f = *state;
	json_t *o =
		ask(f, 201, "POST /apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
		    "{\"metadata\":{\"name\":\"a\"},\"addressType\":\"IPv4\",\"endpoints\":[]}");
	const json_t *entry = json_array_get(api_get(o, "metadata.managedFields"), 0);
	CLEANUP(freep)
	char *fields = json_dumps(json_object_get(entry, "fieldsV1"), JSON_COMPACT);
	assert_string_equal(fields, "{\"f:addressType\":{},\"f:endpoints\":{}}");
	assert_true(json_is_null(json_object_get(o, "endpoints")));
	json_t *again = ask_type(
		f, 200, "PATCH /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/a",
		"application/merge-patch+json", "{\"endpoints\":[],\"ports\":[]}");
	assert_int_equal(api_generation(again), 1);
	json_decref(again);
	json_decref(o);
}

/* The warning about a deprecated version comes before other warnings. */
static void old_versions(void **state)
{
	struct fixture *f = *state;
	static const char old[] = "ipam.cluster.x-k8s.io/v1beta1 IPAddress is old; "
				  "use ipam.cluster.x-k8s.io/v1beta2\n";
	struct asked a;
	ask_as(f, "GET /apis/ipam.cluster.x-k8s.io/v1beta1/ipaddresses", NULL, NULL, &a);
	assert_string_equal(a.answer.warnings.s, old);
	asked_done(&a);
	ask_as(f, "GET /apis/ipam.cluster.x-k8s.io/v1beta2/ipaddresses", NULL, NULL, &a);
	assert_int_equal(a.answer.warnings.n, 0);
	asked_done(&a);
	ask_as(f,
	       "POST /apis/ipam.cluster.x-k8s.io/v1beta1/namespaces/default/ipaddresses?"
	       "fieldValidation=Warn",
	       NULL,
	       "{\"apiVersion\":\"ipam.cluster.x-k8s.io/v1beta1\",\"kind\":\"IPAddress\",\"x\":1,"
	       "\"metadata\":{\"name\":\"a\"}}",
	       &a);
	assert_int_equal(strncmp(a.answer.warnings.s, old, sizeof(old) - 1), 0);
	assert_string_equal(a.answer.warnings.s + sizeof(old) - 1, "unknown field \"x\"\n");
	asked_done(&a);
}

/* As kube-apiserver reports them: those of a body in its order, those of a patched object by name. */
static void order_of_unknown_fields(void **state)
{
	struct fixture *f = *state;
	struct asked a;
	ask_as(f, "POST " CMS "?fieldValidation=Warn", "application/json",
	       "{\"metadata\":{\"name\":\"order\"},\"zz\":1,\"aa\":2}", &a);
	assert_string_equal(a.answer.warnings.s, "unknown field \"zz\"\nunknown field \"aa\"\n");
	asked_done(&a);
	ask_as(f, "PATCH " CMS "/order?fieldValidation=Warn", "application/merge-patch+json",
	       "{\"zz\":1,\"aa\":2}", &a);
	assert_string_equal(a.answer.warnings.s, "unknown field \"aa\"\nunknown field \"zz\"\n");
	asked_done(&a);
}

/* A null in what is applied is refused; in other bodies it goes. */
static void nulls(void **state)
{
	struct fixture *f = *state;
	static const char body[] = "{\"apiVersion\":\"operator.openshift.io/v1\",\"kind\":\"DNS\","
				   "\"metadata\":{\"name\":\"a\"},\"spec\":{\"cache\":null}}";
	json_t *o = ask_type(f, 422, "PATCH /apis/operator.openshift.io/v1/dnses/a?fieldManager=x",
			     "application/apply-patch+yaml", body);
	assert_non_null(strstr(api_get_string(o, "message"), "must be of type object: \"null\""));
	json_decref(o);
	does(f, 201, "POST /apis/operator.openshift.io/v1/dnses", body);
}

static void refused_with_a_sentence(void **state)
{
	struct fixture *f = *state;
	static const char *const rows[] = {
		"GET /api/v1/namespaces/default/pods/a/log",
		"POST /api/v1/namespaces/default/pods/a/exec",
		"GET /api/v1/namespaces/default/pods/a/proxy/x",
		"POST /api/v1/namespaces/default/serviceaccounts/a/token",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *o = ask(f, 400, rows[i], NULL);
		assert_non_null(strstr(api_get_string(o, "message"), "here"));
		json_decref(o);
	}
	does(f, 403,
	     "DELETE "
	     "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dnses.operator.openshift.io",
	     NULL);
}

static void check_name(const json_t *o, const json_t *old, struct api_errors *errs)
{
	(void)old;
	if (json_array_size(api_get(o, "spec.egress")) == 0)
		api_errors_add(errs, API_FIELD_INVALID, "spec.egress", "[]", "of no use");
}

static void registered_checks(void **state)
{
	static const struct apiserver_check checks[] = { { "k8s.ovn.org", "EgressFirewall",
							   check_name } };
	struct fixture *f = *state;
	fixture_close(f);
	f->conf.checks = checks;
	f->conf.n_checks = 1;
	fixture_open(f);
	json_t *o = ask(f, 422, "POST " EFS,
			"{\"apiVersion\":\"k8s.ovn.org/"
			"v1\",\"kind\":\"EgressFirewall\",\"metadata\":{\"name\":\"default\"},"
			"\"spec\":{\"egress\":[]}}");
	assert_non_null(strstr(api_get_string(o, "message"), "of no use"));
	json_decref(o);
}

/* More than what is read at a time, and not all of it. */
static void delete_a_large_collection(void **state)
{
	struct fixture *f = *state;
	enum { LARGE = 7, LARGE_BYTES = 60000 };
	CLEANUP(freep) char *filler = xmalloc(LARGE_BYTES + 1);
	memset(filler, 'x', LARGE_BYTES);
	filler[LARGE_BYTES] = '\0';
	for (int i = 0; i < LARGE; i++) {
		CLEANUP(freep)
		char *body =
			xasprintf("{\"metadata\":{\"name\":\"a%d\",\"labels\":{\"go\":\"%s\"}},"
				  "\"data\":{\"k\":\"%s\"}}",
				  i, i == 3 ? "no" : "yes", filler);
		does(f, 201, "POST " CMS, body);
	}
	json_t *o = ask(f, 200, "DELETE " CMS "?labelSelector=go=yes&dryRun=All", NULL);
	assert_int_equal(json_array_size(json_object_get(o, "items")), LARGE - 1);
	json_decref(o);
	does(f, 200, "GET " CMS "/a6", NULL);
	o = ask(f, 200, "DELETE " CMS "?labelSelector=go=yes", NULL);
	assert_int_equal(json_array_size(json_object_get(o, "items")), LARGE - 1);
	assert_text(o, "items[5].metadata.name", "a6");
	json_decref(o);
	o = ask(f, 200, "GET " CMS, NULL);
	assert_int_equal(json_array_size(json_object_get(o, "items")), 1);
	assert_text(o, "items[0].metadata.name", "a3");
	json_decref(o);
}

static void export_all(void **state)
{
	struct fixture *f = *state;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	make(f, "exported", "");
	does(f, 201, "POST " CMS,
	     "{\"metadata\":{\"name\":\"owned\",\"ownerReferences\":[{\"apiVersion\":\"apps/"
	     "v1\",\"kind\":\"Deployment\",\"name\":\"x\",\"uid\":\"1\"}]}}");
	does(f, 201, "POST /api/v1/namespaces/default/services",
	     "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"selector\":{\"app\":\"s\"},"
	     "\"ports\":[{\"port\":80}]}}");
	becomes(f, 200, "GET /api/v1/namespaces/default/endpoints/s");
	assert_int_equal(apiserver_export(f->s, &out), 0);
	const char *ns = strstr(out.s, "kind: Namespace"), *cm = strstr(out.s, "name: exported");
	assert_true(ns != NULL && cm != NULL && ns < cm);
	assert_null(strstr(out.s, "resourceVersion"));
	assert_null(strstr(out.s, "CustomResourceDefinition"));
	/* It can be applied to an API that has just begun, and stays there. */
	assert_non_null(strstr(out.s, "kind: Service\n"));
	assert_null(strstr(out.s, "name: kubernetes\n"));
	assert_non_null(strstr(out.s, "name: owned\n"));
	assert_null(strstr(out.s, "ownerReferences"));
	/* What is made from Services and Pods is made again there. */
	assert_null(strstr(out.s, "kind: EndpointSlice"));
	assert_null(strstr(out.s, "kind: Endpoints"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(life_of_an_object, setup, teardown),
		cmocka_unit_test_setup_teardown(generated_names, setup, teardown),
		cmocka_unit_test_setup_teardown(pages_and_history, setup, teardown),
		cmocka_unit_test_setup_teardown(future_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(few_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(watch_from_now_and_then, setup, teardown),
		cmocka_unit_test_setup_teardown(watch_with_selectors, setup, teardown),
		cmocka_unit_test_setup_teardown(streaming_list, setup, teardown),
		cmocka_unit_test_setup_teardown(expired_watch, setup, teardown),
		cmocka_unit_test_setup_teardown(bookmarks_and_end, setup, teardown),
		cmocka_unit_test_setup_teardown(negative_timeout, setup, teardown),
		cmocka_unit_test_setup_teardown(many_writers_and_watchers, setup, teardown),
		cmocka_unit_test_setup_teardown(replaced_by_many, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_there_at_first, setup, teardown),
		cmocka_unit_test_setup_teardown(addresses_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(node_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(service_types, setup, teardown),
		cmocka_unit_test_setup_teardown(order_of_unknown_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(nulls, setup, teardown),
		cmocka_unit_test_setup_teardown(old_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(empty_lists, setup, teardown),
		cmocka_unit_test_setup_teardown(refused_with_a_sentence, setup, teardown),
		cmocka_unit_test_setup_teardown(registered_checks, setup, teardown),
		cmocka_unit_test_setup_teardown(delete_a_large_collection, setup, teardown),
		cmocka_unit_test_setup_teardown(export_all, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
