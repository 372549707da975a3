/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status by Gardener's protocol (DR-3, DR-40, DR-42, DR-43, DR-44). */
#include "controller/dnsrecord/plan/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "api/condition.h"
#include "api/meta.h"
#include "api/patch/merge.h"
#include "base/clock.h"
#include "base/mem.h"

#define NOW_NS (1800000000 * NS_PER_S) /* 2027-01-15T08:00:00Z */

struct scene {
	json_t *object;
	struct arena arena;
	struct dnsrecord record;
};

static int setup(void **state)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	arena_init(&scene->arena);
	scene->object = json_loads(
		"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"generation\":3,\"annotations\":{}},"
		"\"spec\":{\"type\":\"memory\",\"secretRef\":{\"name\":\"s\"},\"name\":"
		"\"a.example.com\",\"recordType\":\"A\",\"values\":[\"192.0.2.1\"]},"
		"\"status\":{\"resources\":[{\"name\":\"x\"}],\"state\":{\"other\":1},"
		"\"conditions\":[{\"type\":\"Other\",\"status\":\"True\",\"reason\":\"R\","
		"\"message\":\"m\"}]}}",
		0, NULL);
	dnsrecord_read(scene->object, &scene->arena, &scene->record);
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	json_decref(scene->object);
	arena_done(&scene->arena);
	free(scene);
	return 0;
}

/* Applies the patch of the report; false: there is none. */
static bool write_report(struct scene *scene, const struct dnsrecord_report *report,
			 uint64_t now_wall_ns)
{
	json_t *patch = dnsrecord_report_patch(&scene->record, report, now_wall_ns);
	if (patch == NULL)
		return false;
	json_t *after = api_merge_apply(scene->object, patch);
	json_decref(patch);
	json_decref(scene->object);
	scene->object = after;
	dnsrecord_read(after, &scene->arena, &scene->record);
	return true;
}

static const char *text_at(const struct scene *scene, const char *path)
{
	return api_get_string(scene->object, path);
}

static enum api_status condition(const struct scene *scene, const char *type)
{
	return api_condition_status(api_get(scene->object, "status.conditions"), type);
}

static void from_processing_to_succeeded(void **state)
{
	struct scene *scene = *state;
	struct dnsrecord_report report = { .operation = "Create",
					   .state = DNSRECORD_PROCESSING,
					   .progress = 1,
					   .description = "the record set is being published" };
	report.known = dnsrecord_begin_known(&scene->record, false);
	report.secret = "s"; /* it stays until a report says otherwise */
	assert_true(write_report(scene, &report, NOW_NS));
	report.secret = NULL;
	assert_string_equal(text_at(scene, "status.lastOperation.state"), "Processing");
	assert_string_equal(text_at(scene, "status.lastOperation.description"),
			    "The record set is being published");
	assert_null(api_get(scene->object, "status.observedGeneration"));
	assert_non_null(scene->record.attempt);
	report.known = dnsrecord_begin_known(&scene->record, false);
	assert_false(write_report(scene, &report, NOW_NS + NS_PER_S)); /* DR-38 */
	/* DR-44a: no error while it waits; the condition has the reason. */
	assert_null(api_condition_find(api_get(scene->object, "status.conditions"), "InSync"));
	report.is_waiting = true;
	assert_true(write_report(scene, &report, NOW_NS + NS_PER_S));
	report.known = dnsrecord_begin_known(&scene->record, false);
	assert_false(write_report(scene, &report, NOW_NS + 2 * NS_PER_S));
	assert_int_equal(condition(scene, "InSync"), API_FALSE);
	assert_null(api_get(scene->object, "status.lastError"));
	report.is_waiting = false;
	report.known = (struct dnsrecord_known){
		.applied = &(struct dnsrecord_set){ .zone = "Z1", .set = scene->record.wanted.set },
		.zone = "Z1"
	};
	report.state = DNSRECORD_SUCCEEDED;
	report.ownership = DNSRECORD_OURS;
	assert_true(write_report(scene, &report, NOW_NS + NS_PER_S));
	assert_int_equal(json_integer_value(api_get(scene->object, "status.observedGeneration")),
			 3);
	assert_string_equal(text_at(scene, "status.zone"), "Z1");
	assert_string_equal(text_at(scene, "status.lastOperation.lastUpdateTime"),
			    "2027-01-15T08:00:01Z");
	assert_int_equal(
		json_integer_value(api_get(scene->object, "status.lastOperation.progress")), 100);
	assert_null(scene->record.attempt);
	assert_non_null(scene->record.applied);
	assert_int_equal(condition(scene, "Created"), API_TRUE);
	assert_int_equal(condition(scene, "Owned"), API_TRUE);
	assert_int_equal(condition(scene, "InSync"), API_TRUE);
	/* DR-3: what others wrote is there. */
	assert_int_equal(condition(scene, "Other"), API_TRUE);
	assert_int_equal(json_integer_value(api_get(scene->object, "status.state.other")), 1);
	assert_string_equal(scene->record.held_secret, "s");
	/* On Gardener DNS servers serve what was asked for; after a change of the platform the spec. */
	report.shows_published = true;
	assert_true(write_report(scene, &report, NOW_NS + NS_PER_S));
	assert_string_equal(text_at(scene, "status.state.published.values[0]"), "192.0.2.1");
	assert_false(write_report(scene, &report, NOW_NS + 2 * NS_PER_S));
	report.shows_published = false;
	report.operation = "Migrate";
	assert_true(write_report(scene, &report, NOW_NS + NS_PER_S));
	assert_non_null(api_get(scene->object, "status.state.published"));
	report.operation = "Reconcile";
	assert_true(write_report(scene, &report, NOW_NS + NS_PER_S));
	assert_null(api_get(scene->object, "status.state.published"));
	report.secret = "";
	assert_true(write_report(scene, &report, NOW_NS + NS_PER_S));
	assert_string_equal(scene->record.held_secret, "");
	assert_null(api_get(scene->object, "status.state.secret"));
	assert_int_equal(json_array_size(api_get(scene->object, "status.resources")), 1);
}

static void errors_and_codes(void **state)
{
	struct scene *scene = *state;
	struct dnsrecord_report report = { .operation = "Create",
					   .state = DNSRECORD_ERROR,
					   .description = "the key is not known",
					   .code = "ERR_INFRA_UNAUTHENTICATED" };
	static const char next[] = "\0?"; /* nothing behind the end of a text counts */
	assert_false(dnsrecord_report_is_known(scene->object, report.description));
	assert_true(dnsrecord_report_is_known(scene->object, next));
	assert_true(write_report(scene, &report, NOW_NS));
	assert_true(dnsrecord_report_is_known(scene->object, report.description));
	assert_false(dnsrecord_report_is_known(scene->object, "the Key is not known"));
	assert_string_equal(text_at(scene, "status.lastError.description"), "The key is not known");
	assert_string_equal(text_at(scene, "status.lastError.codes[0]"),
			    "ERR_INFRA_UNAUTHENTICATED");
	assert_int_equal(
		json_integer_value(api_get(scene->object, "status.lastOperation.progress")), 50);
	assert_int_equal(condition(scene, "Created"), API_FALSE);
	/* Another error without a code does not keep that of before. */
	report.code = "";
	report.description = "something else";
	assert_true(write_report(scene, &report, NOW_NS));
	assert_null(api_get(scene->object, "status.lastError.codes"));
	/* Field paths keep their letters. */
	report.description = "spec.name: must not be empty";
	assert_true(write_report(scene, &report, NOW_NS));
	assert_string_equal(text_at(scene, "status.lastError.description"),
			    "Invalid object: spec.name: must not be empty");
	report.description = "https://pdns.example:8443: connection refused"; /* not Https */
	assert_true(write_report(scene, &report, NOW_NS + NS_PER_S));
	assert_string_equal(text_at(scene, "status.lastOperation.description"), report.description);
	/* DR-42: once True, it stays. */
	report.state = DNSRECORD_SUCCEEDED;
	assert_true(write_report(scene, &report, NOW_NS));
	assert_null(api_get(scene->object, "status.lastError"));
	assert_int_equal(condition(scene, "Created"), API_TRUE);
	report.state = DNSRECORD_ERROR;
	report.operation = "Reconcile";
	report.ownership = DNSRECORD_FOREIGN;
	assert_true(write_report(scene, &report, NOW_NS));
	assert_int_equal(condition(scene, "Created"), API_TRUE);
	assert_int_equal(condition(scene, "Owned"), API_FALSE);
	/* A deletion that fails is no record in sync. */
	report.state = DNSRECORD_SUCCEEDED;
	assert_true(write_report(scene, &report, NOW_NS));
	assert_int_equal(condition(scene, "InSync"), API_TRUE);
	report = (struct dnsrecord_report){ .operation = "Delete",
					    .state = DNSRECORD_ERROR,
					    .description = "there is no Secret",
					    .code = "ERR_CONFIGURATION_PROBLEM" };
	assert_true(write_report(scene, &report, NOW_NS));
	assert_int_equal(condition(scene, "InSync"), API_FALSE);
	assert_int_equal(condition(scene, "Created"), API_TRUE);
}

/* The result of a dry run goes with the first report of real work. */
static void dry_runs(void **state)
{
	struct scene *scene = *state;
	struct dnsrecord_report report = { .operation = "Delete",
					   .state = DNSRECORD_PROCESSING,
					   .description = "the dry run keeps it",
					   .keeps_dry_run = true };
	json_object_set_new(json_object_get(scene->object, "status"), "providerStatus",
			    json_pack("{s:{s:s}}", "dryRun", "result", "Changes"));
	assert_true(write_report(scene, &report, NOW_NS));
	assert_string_equal(text_at(scene, "status.providerStatus.dryRun.result"), "Changes");
	report.keeps_dry_run = false;
	assert_true(write_report(scene, &report, NOW_NS));
	assert_null(api_get(scene->object, "status.providerStatus.dryRun"));
}

/* DR-43: the clock of who asks may be ahead of ours. */
static void time_of_the_request(void **state)
{
	struct scene *scene = *state;
	struct dnsrecord_report report = { .operation = "Reconcile",
					   .state = DNSRECORD_SUCCEEDED,
					   .description = "done" };
	json_object_set_new(api_get(scene->object, "metadata.annotations"),
			    "gardener.cloud/timestamp", json_string("2027-01-15T08:00:30.5Z"));
	assert_true(write_report(scene, &report, NOW_NS));
	assert_string_equal(text_at(scene, "status.lastOperation.lastUpdateTime"),
			    "2027-01-15T08:00:30Z");
	assert_false(write_report(scene, &report, NOW_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(from_processing_to_succeeded, setup, teardown),
		cmocka_unit_test_setup_teardown(errors_and_codes, setup, teardown),
		cmocka_unit_test_setup_teardown(dry_runs, setup, teardown),
		cmocka_unit_test_setup_teardown(time_of_the_request, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
