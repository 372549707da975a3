/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Endpoints of Services: from Pods to endpoints, changes of slices, and the controllers on a real
 * store. tests/kube/test_endpoints.py compares whole scenarios with kube-controller-manager. */
#include "api/tree.h"
#include "apiserver/controllers/endpoints.h"
#include "apiserver/controllers/endpoints_pods.h"
#include "apiserver/controllers/endpoints_slices.h"
#include "apiserver/controllers/endpoints_subsets.h"
#include "apiserver/store/store.h"
#include "apiserver/test_api.h"

#define NS     "/api/v1/namespaces/default/"
#define SLICES "GET /apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
#define OF_WEB SLICES "?labelSelector=kubernetes.io/service-name=web"
#define WEB_BODY                                                                                 \
	"{\"metadata\":{\"name\":\"web\"},\"spec\":{\"selector\":{\"app\":\"web\"},\"ports\":[{" \
	"\"port\":80}]}}"

static json_t *parse(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);
	assert_non_null(value);
	return value;
}

/* ---- plans ---- */

static json_t *group_of(size_t from, size_t to, int port)
{
	json_t *endpoints = json_array();
	for (size_t i = from; i < to; i++) {
		char ip[32];
		snprintf(ip, sizeof(ip), "10.0.%zu.%zu", i / 250, i % 250 + 1);
		json_array_append_new(endpoints, json_pack("{s[s]}", "addresses", ip));
	}
	return json_pack("{ss,s[{si}],so}", "addressType", "IPv4", "ports", "port", port,
			 "endpoints", endpoints);
}

static const char *const ipv4[] = { "IPv4", NULL };
static const char *const none[] = { NULL };

/* The slices that come of carrying a plan out. */
static json_t *carried_out(const json_t *present,
			   const struct apiserver_endpoints_slices_plan *plan)
{
	json_t *after = json_array(), *item, *changed;
	size_t i, k;
	json_array_foreach (present, i, item) {
		json_t *now = item;
		bool removed = false;
		json_array_foreach (plan->change, k, changed) {
			if (strcmp(api_name(changed), api_name(item)) == 0)
				now = changed;
		}
		json_array_foreach (plan->remove, k, changed)
			removed = removed || strcmp(api_name(changed), api_name(item)) == 0;
		if (!removed)
			json_array_append(after, now);
	}
	json_array_foreach (plan->create, i, item) {
		char name[32];
		json_t *made = json_deep_copy(item);
		snprintf(name, sizeof(name), "new-%zu-%zu", json_array_size(after), i);
		json_object_set_new(made, "metadata", json_pack("{ss}", "name", name));
		json_array_append_new(after, made);
	}
	return after;
}

static json_t *step(json_t *present, json_t *group, size_t changes, size_t creates, size_t removes)
{
	struct apiserver_endpoints_slices_plan plan;
	json_t *groups = group != NULL ? json_pack("[o]", group) : json_array();
	apiserver_endpoints_slices_plan(groups, ipv4, present, &plan);
	assert_int_equal(json_array_size(plan.change), changes);
	assert_int_equal(json_array_size(plan.create), creates);
	assert_int_equal(json_array_size(plan.remove), removes);
	json_t *after = carried_out(present, &plan);
	apiserver_endpoints_slices_plan_done(&plan);
	/* Settled: the same again changes nothing. */
	apiserver_endpoints_slices_plan(groups, ipv4, after, &plan);
	assert_int_equal(json_array_size(plan.change) + json_array_size(plan.create) +
				 json_array_size(plan.remove),
			 0);
	apiserver_endpoints_slices_plan_done(&plan);
	json_decref(groups);
	json_decref(present);
	return after;
}

static void slices_change_little(void **state)
{
	(void)state;
	json_t *slices = step(json_array(), NULL, 0, 1, 0); /* one that is empty */
	slices = step(slices, group_of(0, 1, 80), 1, 0, 0);
	slices = step(slices, group_of(0, 100, 80), 1, 0, 0);
	slices = step(slices, group_of(0, 101, 80), 0, 1, 0);
	slices = step(slices, group_of(1, 101, 80), 1, 0, 0);
	slices = step(slices, group_of(1, 102, 80), 1, 0, 0); /* into a gap */
	slices = step(slices, group_of(1, 102, 81), 2, 0, 0); /* other ports, the same slices */
	slices = step(slices, group_of(1, 50, 81), 1, 0, 1);
	slices = step(slices, NULL, 1, 0, 0);
	json_decref(slices);
}

static void slices_of_other_types_go(void **state)
{
	struct apiserver_endpoints_slices_plan plan;
	(void)state;
	json_t *present =
		parse("[{\"metadata\":{\"name\":\"six\"},\"addressType\":\"IPv6\",\"endpoints\":"
		      "[{\"addresses\":[\"fd00::1\"]}],\"ports\":null}]");
	json_t *groups = json_array();
	apiserver_endpoints_slices_plan(groups, ipv4, present, &plan);
	assert_int_equal(json_array_size(plan.remove), 1);
	assert_int_equal(json_array_size(plan.create), 1);
	assert_text(json_array_get(plan.create, 0), "addressType", "IPv4");
	apiserver_endpoints_slices_plan_done(&plan);
	apiserver_endpoints_slices_plan(groups, none, present, &plan);
	assert_int_equal(json_array_size(plan.remove), 1);
	assert_int_equal(json_array_size(plan.create), 0);
	apiserver_endpoints_slices_plan_done(&plan);
	json_decref(present);
	json_decref(groups);
}

static void subsets_have_one_form(void **state)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{ "[]", "[]" },
		{ "[{\"addresses\":[{\"ip\":\"10.0.0.2\"},{\"ip\":\"10.0.0.1\"}]}]",
		  "[{\"addresses\":[{\"ip\":\"10.0.0.1\"},{\"ip\":\"10.0.0.2\"}]}]" },
		{ "[{\"addresses\":[{\"ip\":\"10.0.0.1\"}],\"ports\":[{\"port\":2}]},"
		  "{\"addresses\":[{\"ip\":\"10.0.0.1\"}],\"ports\":[{\"port\":1}]}]",
		  "[{\"addresses\":[{\"ip\":\"10.0.0.1\"}],\"ports\":[{\"port\":1},{\"port\":2}]}"
		  "]" },
		{ "[{\"addresses\":[{\"ip\":\"10.0.0.1\"}],\"ports\":[{\"port\":1}]},"
		  "{\"notReadyAddresses\":[{\"ip\":\"10.0.0.2\"}],\"ports\":[{\"port\":1}]}]",
		  "[{\"addresses\":[{\"ip\":\"10.0.0.1\"}],\"notReadyAddresses\":[{\"ip\":\"10.0.0."
		  "2\"}],"
		  "\"ports\":[{\"port\":1}]}]" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *from = parse(rows[i].from), *to = parse(rows[i].to);
		apiserver_endpoints_subsets_repack(from);
		if (!json_equal(from, to))
			fail_msg("%s: %s", rows[i].from, json_dumps(from, 0));
		json_decref(from);
		json_decref(to);
	}
}

/* Values of wrong types, as objects may have had them before they were checked. */
static void odd_pods(void **state)
{
	static const char *const pods[] = {
		"[null]",
		"[{}]",
		"[{\"status\":[]}]",
		"[{\"status\":{\"podIP\":7,\"podIPs\":[null]}}]",
		("[{\"metadata\":null,\"spec\":{\"containers\":[null,{\"ports\":[null]}]},"
		 "\"status\":{\"podIP\":\"10.0.0.1\",\"conditions\":[null]}}]"),
	};
	json_t *service =
		parse("{\"metadata\":{\"name\":\"web\"},\"spec\":{\"ipFamilies\":[\"IPv4\",null],"
		      "\"ports\":[null,{\"port\":80,\"targetPort\":\"http\"}]}}");
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
		json_t *list = parse(pods[i]), *refused = json_array();
		json_decref(apiserver_endpoints_pods_to_groups(service, list, NULL, refused));
		json_decref(apiserver_endpoints_pods_to_subsets(service, list));
		json_decref(apiserver_endpoints_subsets_to_groups(list));
		json_decref(refused);
		json_decref(list);
	}
	json_decref(service);
}

/* ---- the controllers ---- */

static void make_pod(struct fixture *f, const char *name, const char *ip)
{
	CLEANUP(freep)
	char *body =
		xasprintf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"web\"}},\"spec\":{"
			  "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
			  name);
	CLEANUP(freep) char *path = xasprintf(NS "pods/%s/status", name);
	CLEANUP(freep)
	char *status =
		xasprintf("{\"status\":{\"phase\":\"Running\",\"podIP\":\"%s\",\"podIPs\":[{\"ip\":"
			  "\"%s\"}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
			  ip, ip);
	does(f, 201, "POST " NS "pods", body);
	merge(f, 200, path, status);
}

/* Waits until the only slice of `web` has this first address ("" for none). */
static void until_address(struct fixture *f, const char *address)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t end = clock_mono_ns() + 10 * NS_PER_S;
	for (;;) {
		json_t *list = ask(f, 200, OF_WEB, NULL);
		bool fine = json_array_size(json_object_get(list, "items")) == 1 &&
			    strcmp(api_get_string(list, "items[0].endpoints[0].addresses[0]"),
				   address) == 0;
		json_decref(list);
		if (fine)
			return;
		if (clock_mono_ns() > end)
			fail_msg("no slice with '%s'", address);
		nanosleep(&pause, NULL);
	}
}

static void follows_pods(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST " NS "services", WEB_BODY);
	until_address(f, "");
	make_pod(f, "a", "10.0.0.1");
	until_address(f, "10.0.0.1");
	json_t *old = ask(f, 200, "GET " NS "endpoints/web", NULL);
	json_decref(old);
	does(f, 200, "DELETE " NS "pods/a", NULL);
	until_address(f, "");
	does(f, 200, "DELETE " NS "services/web", NULL);
	becomes(f, 404, "GET " NS "endpoints/web");
}

/* What others remove or change comes back. */
static void puts_back(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST " NS "services", WEB_BODY);
	make_pod(f, "a", "10.0.0.1");
	until_address(f, "10.0.0.1");
	json_t *list = ask(f, 200, OF_WEB, NULL);
	const char *name = api_get_string(list, "items[0].metadata.name");
	CLEANUP(freep)
	char *path =
		xasprintf("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/%s", name);
	merge(f, 200, path, "{\"endpoints\":[{\"addresses\":[\"10.9.9.9\"]}]}");
	until_address(f, "10.0.0.1");
	CLEANUP(freep) char *removal = xasprintf("DELETE %s", path);
	does(f, 200, removal, NULL);
	until_address(f, "10.0.0.1");
	json_decref(list);
}

/* Changes while the controller did not run are processed after its start. */
static void after_a_restart(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST " NS "services", WEB_BODY);
	make_pod(f, "a", "10.0.0.1");
	until_address(f, "10.0.0.1");
	uint64_t settled = apiserver_store_revision(f->s);
	fixture_close(f);
	fixture_open(f);
	make_pod(f, "b", "10.0.0.2");
	until_address(f, "10.0.0.1");
	assert_true(apiserver_store_revision(f->s) > settled);
}

static void loopback_is_reported(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST " NS "services", WEB_BODY);
	make_pod(f, "a", "127.0.0.5");
	becomes(f, 200, "GET " NS "events/web.refused.a");
	json_t *event = ask(f, 200, "GET " NS "events/web.refused.a", NULL);
	assert_non_null(
		strstr(api_get_string(event, "message"), "Pod a has the address 127.0.0.5"));
	json_decref(event);
	until_address(f, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_change_little),
		cmocka_unit_test(slices_of_other_types_go),
		cmocka_unit_test(subsets_have_one_form),
		cmocka_unit_test(odd_pods),
		cmocka_unit_test_setup_teardown(follows_pods, setup, teardown),
		cmocka_unit_test_setup_teardown(puts_back, setup, teardown),
		cmocka_unit_test_setup_teardown(after_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(loopback_is_reported, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
