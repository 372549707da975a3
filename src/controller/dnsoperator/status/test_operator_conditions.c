/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operator's conditions row by row (OP-D4, OP-T15). A row has what runs, the conditions of
 * before with their age in seconds, and the conditions that come of it; the clock stands still.
 * Each row is looked at twice: the second look must find nothing to write. */
#include "controller/dnsoperator/test_rows.h"

#include <stdlib.h>

#include "api/time.h"
#include "base/clock.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/status/operator_conditions.h"
#include "controller/dnsoperator/status/test_trees.h"

#define NOW (1700000000 * NS_PER_S)

enum { SERVERS_MAX = 32 };

struct scene {
	const json_t *row;
	const char *id;
	json_t *dns;
	char hash[DNSOPERATOR_MARKER_HASH_MAX];
	struct dnsoperator_facts facts;
	struct dnsoperator_answer servers[SERVERS_MAX];
	struct dnsoperator_answers instances;
	struct dnsoperator_plan plan;
	struct dnsoperator_workload workload;
	struct dnsoperator_health_in in;
};

/* [desired, updated, available] */
static json_t *daemonset(const json_t *counts, const json_t *row)
{
	if (!json_is_array(counts))
		return NULL;
	json_t *o = json_pack(
		"{s{sI,sI,sI},s{s{s{s{ss},s[{ss,ss}]}}}}", "status", "desiredNumberScheduled",
		json_integer_value(json_array_get(counts, 0)), "updatedNumberScheduled",
		json_integer_value(json_array_get(counts, 1)), "numberAvailable",
		json_integer_value(json_array_get(counts, 2)), "spec", "template", "spec",
		"nodeSelector", "kubernetes.io/os", "linux", "tolerations", "key",
		"node-role.kubernetes.io/master", "operator", "Exists");
	assert_non_null(o);
	static const char *const members[] = { "nodeSelector", "tolerations" };
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		json_t *v = json_object_get(row, members[i]);
		if (v != NULL)
			json_object_set(api_get(o, "spec.template.spec"), members[i], v);
	}
	return o;
}

/* "False 10": its status, and how many seconds ago it got that. */
static void add_old(struct scene *s)
{
	const char *type;
	json_t *v, *list = json_array();
	json_object_foreach (api_get(s->row, "old"), type, v) {
		char status[16], at[API_TIME_TEXT_MAX];
		int age;
		assert_int_equal(sscanf(json_string_value(v), "%15s %d", status, &age), 2);
		json_array_append_new(
			list,
			json_pack("{ss,ss,ss,ss,ss}", "type", type, "status", status, "reason",
				  "Before", "message", "", "lastTransitionTime",
				  api_time_format(
					  NOW - (uint64_t)((int64_t)age * (int64_t)NS_PER_S), at)));
	}
	json_object_set_new(s->dns, "status", json_pack("{so}", "conditions", list));
}

/* '=': runs the Corefile, 'x': another, '-': is silent. */
static void add_servers(struct scene *s)
{
	const char *text = json_string_value(json_object_get(s->row, "servers"));
	struct dnsoperator_plan p;
	dnsoperator_plan_make(&(struct dnsoperator_plan_in){ .dns = s->dns, .facts = &s->facts },
			      &p);
	snprintf(s->hash, sizeof(s->hash), "%s", p.hash);
	dnsoperator_plan_done(&p);
	s->instances = (struct dnsoperator_answers){
		.v = s->servers, .late = json_is_true(json_object_get(s->row, "late"))
	};
	for (; text != NULL && *text != '\0'; text++)
		s->servers[s->instances.n++] = (struct dnsoperator_answer){
			.name = "s",
			.reached = *text != '-',
			.hash = *text == 'x' ? "another" : s->hash,
		};
	if (text != NULL)
		s->in.answers = &s->instances;
}

/* 'r': ready, 'n': not, 'd': on its way out. */
static json_t *pods(const char *text)
{
	json_t *list = json_array();
	for (; text != NULL && *text != '\0'; text++) {
		json_t *o = json_pack("{s{},s{s[{ss,ss}]}}", "metadata", "status", "conditions",
				      "type", "Ready", "status", *text == 'r' ? "True" : "False");
		if (*text == 'd')
			json_object_set_new(json_object_get(o, "metadata"), "deletionTimestamp",
					    json_string("2026-01-01T00:00:00Z"));
		json_array_append_new(list, o);
	}
	return list;
}

static void open_scene(struct scene *s, const json_t *row)
{
	const char *platform = api_get_string(row, "platform");
	json_t *spec = json_object_get(row, "spec");
	*s = (struct scene){ .row = row, .id = api_get_string(row, "id") };
	s->dns = json_pack("{s{ss,si},sO*}", "metadata", "name", "default", "generation", 4, "spec",
			   spec);
	s->facts = (struct dnsoperator_facts){ .domain = "cluster.local",
					       .gate = DNSOPERATOR_GATE_ON,
					       .keeps = DNSOPERATOR_KEEPS };
	int p = dnsoperator_platform_find(platform[0] != '\0' ? platform : "openshift");
	s->facts.platform = p >= 0 ? (enum dnsoperator_platform)p : DNSOPERATOR_MACHINE;
	add_old(s);
	add_servers(s);
	dnsoperator_plan_make(&(struct dnsoperator_plan_in){ .dns = s->dns,
							     .facts = &s->facts,
							     .answers = s->in.answers },
			      &s->plan);
	const char *ip = api_get_string(row, "ip");
	s->workload.servers = daemonset(json_object_get(row, "dns"), row);
	s->workload.node_resolver = daemonset(json_object_get(row, "nodes"), json_null());
	s->workload.service = json_object_get(row, "ip") != NULL
				      ? json_pack("{s{ss}}", "spec", "clusterIP", ip)
				      : NULL;
	s->in.platform = s->facts.platform;
	s->in.dns = s->dns;
	s->in.plan = &s->plan;
	s->in.workload = &s->workload;
	s->in.unwritten = json_string_value(json_object_get(row, "unwritten"));
	s->in.contested = json_string_value(json_object_get(row, "contested"));
	s->in.now_wall_ns = NOW;
	s->in.settle_ns = (uint64_t)json_integer_value(json_object_get(row, "settle")) * NS_PER_S;
	const json_t *list = json_object_get(row, "pods");
	json_t *all = pods(json_string_value(list));
	s->in.seen = list != NULL ? dnsoperator_alive_pods(all)
				  : dnsoperator_alive_answers(s->in.answers);
	json_decref(all);
}

static void close_scene(struct scene *s)
{
	dnsoperator_plan_done(&s->plan);
	dnsoperator_workload_done(&s->workload);
	json_decref(s->dns);
}

static bool look(struct scene *s, uint64_t *ret_again)
{
	struct dnsoperator_health h;
	struct dnsoperator_observed g = dnsoperator_observed_of(s->dns, 0);
	dnsoperator_status_set(s->dns, &s->plan, &s->facts, "", &g, NOW);
	dnsoperator_health_make(&s->in, &h);
	bool changed = dnsoperator_health_set(s->dns, &h, &g, NOW);
	*ret_again = h.again_ns;
	dnsoperator_health_done(&h);
	return changed;
}

static void check_times(const struct scene *s, const json_t *before, const json_t *c)
{
	const char *type = api_get_string(c, "type");
	const json_t *old = api_condition_find(before, type);
	char now[API_TIME_TEXT_MAX];
	bool same = old != NULL &&
		    strcmp(api_get_string(old, "status"), api_get_string(c, "status")) == 0;
	if (strcmp(api_get_string(c, "lastTransitionTime"),
		   same ? api_get_string(old, "lastTransitionTime") : api_time_format(NOW, now)) !=
	    0)
		fail_msg("%s: %s moved at %s", s->id, type,
			 api_get_string(c, "lastTransitionTime"));
}

static void check_conditions(const struct scene *s, const json_t *before)
{
	const json_t *now = api_get(s->dns, "status.conditions");
	CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
	const char *type;
	size_t i;
	json_t *v;
	json_object_foreach (api_get(s->row, "want"), type, v) {
		const json_t *c = api_condition_find(now, type);
		char got[200];
		snprintf(got, sizeof(got), "%s %s", api_get_string(c, "status"),
			 api_get_string(c, "reason"));
		if (strcmp(c != NULL ? got : "", json_string_value(v)) != 0)
			fail_msg("%s: %s is '%s' instead of '%s': %s", s->id, type, got,
				 json_string_value(v), api_get_string(c, "message"));
		strbuf_addf(&all, "%s: %s\n", type, api_get_string(c, "message"));
		if (c != NULL)
			check_times(s, before, c);
	}
	json_array_foreach (json_object_get(s->row, "say"), i, v) {
		if (strstr(all.s, json_string_value(v)) == NULL)
			fail_msg("%s: '%s' is not in: %s", s->id, json_string_value(v), all.s);
	}
	json_array_foreach (json_object_get(s->row, "not"), i, v) {
		if (strstr(all.s, json_string_value(v)) != NULL)
			fail_msg("%s: '%s' is in: %s", s->id, json_string_value(v), all.s);
	}
}

static void each_row(void **state)
{
	(void)state;
	json_t *rows = rows_load(SOURCE_DIR "/test_operator_conditions.json"), *row;
	size_t i;
	json_array_foreach (rows, i, row) {
		struct scene s;
		uint64_t again;
		open_scene(&s, row);
		json_t *before = json_deep_copy(api_get(s.dns, "status.conditions"));
		look(&s, &again);
		check_conditions(&s, before);
		int64_t want = json_integer_value(json_object_get(row, "again"));
		if ((int64_t)(again / NS_PER_S) != want)
			fail_msg("%s: again after %lld s instead of %lld", s.id,
				 (long long)(again / NS_PER_S), (long long)want);
		json_t *first = json_deep_copy(s.dns);
		if (look(&s, &again) || !json_equal(first, s.dns))
			fail_msg("%s: the second look writes", s.id);
		json_decref(first);
		json_decref(before);
		close_scene(&s);
	}
	assert_true(i >= 30);
	json_decref(rows);
}

/* The four come in the order of the real operator. */
static void order(void **state)
{
	(void)state;
	static const char *const types[] = { "Progressing", "Available", "Upgradeable",
					     "Degraded" };
	json_t *row = json_pack("{ss,s{},s[iii],s[iii],ss}", "id", "order", "spec", "dns", 1, 1, 1,
				"nodes", 1, 1, 1, "ip", "172.30.0.10");
	struct scene s;
	uint64_t again;
	open_scene(&s, row);
	assert_true(look(&s, &again));
	const json_t *list = api_get(s.dns, "status.conditions");
	size_t n = json_array_size(list);
	assert_true(n >= ARRAY_LEN(types));
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		assert_string_equal(
			api_get_string(json_array_get(list, n - ARRAY_LEN(types) + i), "type"),
			types[i]);
	close_scene(&s);
	json_decref(row);
}

/* ---- odd types ---- */

static json_t *odd_value(int i)
{
	static const char *const texts[] = { "null", "9223372036854775807", "\"x\"", "[null]",
					     "{\"name\": 1}" };
	return i < (int)ARRAY_LEN(texts) ? json_loads(texts[i], JSON_DECODE_ANY, NULL) : NULL;
}

static size_t tried;

static void sweep(const json_t *all, json_t *value);

static void sweep_member(const json_t *all, json_t *o, const char *key)
{
	json_t *was = json_incref(json_object_get(o, key)), *odd;
	for (int i = 0; (odd = odd_value(i)) != NULL; i++, tried++) {
		json_object_set_new(o, key, odd);
		trees_try(all, false);
	}
	json_object_del(o, key);
	trees_try(all, false);
	json_object_set(o, key, was);
	sweep(all, was);
	json_decref(was);
}

static void sweep_item(const json_t *all, json_t *list, size_t at)
{
	json_t *was = json_incref(json_array_get(list, at)), *odd;
	for (int i = 0; (odd = odd_value(i)) != NULL; i++, tried++) {
		json_array_set_new(list, at, odd);
		trees_try(all, false);
	}
	json_array_set(list, at, was);
	sweep(all, was);
	json_decref(was);
}

static void sweep(const json_t *all, json_t *v)
{
	json_t *keys = json_array(), *k;
	const char *key;
	size_t i;
	json_object_foreach (v, key, k) /* which changes meanwhile */
		json_array_append_new(keys, json_string(key));
	json_array_foreach (keys, i, k)
		sweep_member(all, v, json_string_value(k));
	for (i = 0; i < json_array_size(v); i++)
		sweep_item(all, v, i);
	json_decref(keys);
}

/* Fields without a schema may have any type: replaces each value of valid trees in turn. */
static void odd_types(void **state)
{
	(void)state;
	json_t *all = rows_load(
		SOURCE_DIR
		"/../../../../corpus/controller_dnsoperator_status_operator_conditions/good");
	json_t *before = json_deep_copy(all);
	sweep(all, all);
	assert_true(tried > 900);
	assert_true(json_equal(all, before));
	json_decref(before);
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_row), cmocka_unit_test(order),
					    cmocka_unit_test(odd_types) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
