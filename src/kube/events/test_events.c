/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events as objects of the API, and that events_emit never waits for the server. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/clock_test.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/events/events.h"
#include "kube/events/events_test.h"
#include "kube/test_rig.h"

static json_t *object(const char *ns, const char *name)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
			 "metadata", "namespace", ns, "name", name, "uid", "u-1");
}

static void the_object(void **state)
{
	json_t *o = object("ns", "a"), *other = object("ns", "b");
	struct event ev = {
		.regarding = o, .related = other, .warning = true, .reason = "R", .action = "A"
	};
	(void)state;
	json_t *v =
		events_body("fairlead.dev/x", "host_1", &ev, "note", UINT64_C(1790000000123456789));
	static const struct {
		const char *path, *want;
	} rows[] = {
		{ "apiVersion", "events.k8s.io/v1" },
		{ "metadata.namespace", "ns" },
		{ "metadata.name", "a.18d75b842b4ecd15" },
		{ "eventTime", "2026-09-21T14:13:20.123456Z" },
		{ "reportingController", "fairlead.dev/x" },
		{ "reportingInstance", "host_1" },
		{ "type", "Warning" },
		{ "reason", "R" },
		{ "action", "A" },
		{ "note", "note" },
		{ "regarding.name", "a" },
		{ "regarding.uid", "u-1" },
		{ "regarding.kind", "ConfigMap" },
		{ "related.name", "b" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(api_get_string(v, rows[i].path), rows[i].want);
	json_decref(v);
	json_decref(o);
	json_decref(other);
}

static void what_the_server_would_refuse(void **state)
{
	json_t *o = object("", ".system:A_b.");
	struct event ev = { .regarding = o, .reason = "R", .action = "A" };
	CLEANUP(freep) char *note = xmalloc(3000);
	(void)state;
	/* Two bytes each, so that the limit falls into one: the half is left out. */
	note[0] = 'x';
	for (size_t i = 1; i < 2998; i += 2)
		memcpy(note + i, "\xc3\xa4", 3);
	json_t *v = events_body("c", "i", &ev, note, 1);
	assert_string_equal(api_namespace(v), "default");
	assert_string_equal(api_name(v), "xsystemxaxb.1");
	assert_true(api_is_subdomain_name(api_name(v)));
	assert_int_equal(strlen(api_get_string(v, "note")), EVENTS_NOTE_MAX - 1);
	assert_null(json_object_get(v, "related"));
	json_decref(v);
	v = events_body("c", "i", &ev, "\xff", 1);
	assert_string_equal(api_get_string(v, "note"), "(not UTF-8)");
	json_decref(v);
	json_decref(o);
}

static int start_events(const struct rig *g, struct events **ret)
{
	char err[200];
	return events_start(
		&(struct events_conf){ .client = g->client, .controller = "c", .instance = "i" },
		ret, ERR_TEXT(err));
}

static void sent_and_counted(void **state)
{
	struct rig g;
	struct events *e;
	json_t *o = object("ns", "a");
	struct event ev = { .regarding = o, .reason = "R", .action = "A" };
	(void)state;
	rig_up(&g);
	assert_int_equal(start_events(&g, &e), 0);
	events_emit(e, &ev, "first %d", 1);
	const char *req = fakeapi_request(g.f, 0);
	assert_non_null(strstr(req, "POST /apis/events.k8s.io/v1/namespaces/ns/events "));
	assert_non_null(strstr(req, "\"note\":\"first 1\""));
	events_emit(e, &ev, "second");
	req = fakeapi_request(g.f, 1);
	assert_non_null(strstr(req, "PATCH /apis/events.k8s.io/v1/namespaces/ns/events/a."));
	assert_non_null(strstr(req, "\"count\":2"));
	events_stop(e);
	assert_int_equal(fakeapi_requests(g.f), 2);
	events_stop(NULL);
	json_decref(o);
	rig_down(&g);
}

static uint64_t kernel_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t mono(void)
{
	return kernel_ns(CLOCK_MONOTONIC);
}

/* As one that is set back between two looks. */
static uint64_t wall_ahead(void)
{
	return kernel_ns(CLOCK_REALTIME) + 86400 * NS_PER_S;
}

/* A silent server: events_emit does not wait, and the stop ends in time, whatever the wall clock
 * shows. */
static void nobody_waits(void **state)
{
	struct rig g;
	struct events *e;
	struct series_stats st;
	char reason[20];
	json_t *o = object("ns", "a");
	(void)state;
	rig_up(&g);
	clock_set_source(&(struct clock_source){ mono, wall_ahead });
	for (int i = 0; i < 10; i++)
		fakeapi_push(g.f, &(struct fakeapi_reply){ .hang_first = true });
	assert_int_equal(start_events(&g, &e), 0);
	uint64_t before = clock_mono_ns();
	for (int i = 0; i < 5000; i++) {
		snprintf(reason, sizeof(reason), "R%d", i);
		struct event ev = { .regarding = o, .reason = reason, .action = "A" };
		events_emit(e, &ev, "n");
	}
	assert_true(clock_mono_ns() - before < 2 * NS_PER_S);
	events_stats(e, &st);
	assert_int_equal(st.items, SERIES_BURST);
	assert_int_equal(st.dropped, 5000 - SERIES_BURST);
	IGNORE(fakeapi_request(g.f, 0));
	before = clock_mono_ns();
	events_stop(e);
	assert_true(clock_mono_ns() - before < 10 * NS_PER_S);
	json_decref(o);
	rig_down(&g);
	clock_set_source(NULL);
}

/* What was emitted just before the end still goes. */
static void last_ones_go(void **state)
{
	struct rig g;
	struct events *e;
	char reason[20];
	json_t *o = object("ns", "a");
	(void)state;
	rig_up(&g);
	assert_int_equal(start_events(&g, &e), 0);
	for (int i = 0; i < 20; i++) {
		snprintf(reason, sizeof(reason), "R%d", i);
		struct event ev = { .regarding = o, .reason = reason, .action = "A" };
		events_emit(e, &ev, "n");
	}
	events_stop(e);
	assert_int_equal(fakeapi_requests(g.f), 20);
	json_decref(o);
	rig_down(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_object),	    cmocka_unit_test(what_the_server_would_refuse),
		cmocka_unit_test(sent_and_counted), cmocka_unit_test(nobody_waits),
		cmocka_unit_test(last_ones_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
