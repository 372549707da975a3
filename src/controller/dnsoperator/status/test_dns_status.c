/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of the DNS object, and the backup of its templates. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "controller/dnsoperator/status/dns_status.h"
#include "controller/dnsoperator/status/templates_backup.h"
#include "controller/dnsoperator/status/templates_backup_test.h"

struct scene {
	json_t *dns;
	struct dnsoperator_facts facts;
	struct dnsoperator_plan plan;
};

static const struct dnsoperator_answers nobody;

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	assert_non_null(s);
	s->dns = json_pack("{ss,ss,s{ss,ss,si},s{}}", "apiVersion", "operator.openshift.io/v1",
			   "kind", "DNS", "metadata", "name", "default", "uid", "u-1", "generation",
			   4, "spec");
	s->facts = (struct dnsoperator_facts){ .platform = DNSOPERATOR_KUBERNETES,
					       .domain = "k8s.example",
					       .gate = DNSOPERATOR_GATE_ON };
	dnsoperator_plan_make(&(struct dnsoperator_plan_in){ .dns = s->dns,
							     .facts = &s->facts,
							     .answers = &nobody },
			      &s->plan);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	dnsoperator_plan_done(&s->plan);
	json_decref(s->dns);
	free(s);
	return 0;
}

static void status_is_written_once(void **state)
{
	struct scene *s = *state;
	uint64_t now = 1700000000 * NS_PER_S;
	const struct dnsoperator_observed g = { 0 };
	assert_true(dnsoperator_status_set(s->dns, &s->plan, &s->facts, "", &g, now));
	assert_string_equal(api_get_string(s->dns, "status.clusterDomain"), "k8s.example");
	assert_true(json_is_string(api_get(s->dns, "status.clusterIP")));
	json_t *was = json_deep_copy(s->dns);
	assert_false(dnsoperator_status_set(s->dns, &s->plan, &s->facts, "", &g, now + NS_PER_S));
	assert_true(json_equal(was, s->dns));
	assert_int_equal(json_array_size(api_get(s->dns, "status.conditions")), 3);
	/* what nothing is known about stays as it was */
	s->plan.conditions[DNSOPERATOR_APPLIED].reason = NULL;
	s->plan.conditions[DNSOPERATOR_APPLIED].status = API_UNKNOWN;
	assert_false(dnsoperator_status_set(s->dns, &s->plan, &s->facts, "", &g, now + NS_PER_S));
	assert_true(json_equal(was, s->dns));
	json_decref(was);
}

/* The status has observedGeneration if the CRD keeps it, and is not written again and again if the
 * CRD drops it. */
static void generation_is_noted(void **state)
{
	struct scene *s = *state;
	uint64_t now = 1700000000 * NS_PER_S;
	struct dnsoperator_condition *applied = &s->plan.conditions[DNSOPERATOR_APPLIED];
	json_object_set_new(json_object_get(s->dns, "metadata"), "generation", json_integer(7));
	struct dnsoperator_observed g = dnsoperator_observed_of(s->dns, 0);
	assert_int_equal(g.status, 7);
	assert_int_equal(g.conditions, 7);
	assert_true(dnsoperator_status_set(s->dns, &s->plan, &s->facts, "", &g, now));
	assert_int_equal(json_integer_value(api_get(s->dns, "status.observedGeneration")), 7);
	assert_int_equal(
		json_integer_value(api_get(s->dns, "status.conditions[1].observedGeneration")), 7);
	g = dnsoperator_observed_of(s->dns, 7);
	assert_false(dnsoperator_status_set(s->dns, &s->plan, &s->facts, "", &g, now));
	/* not before something is known of this generation */
	const char *reason = applied->reason;
	applied->reason = NULL;
	g = (struct dnsoperator_observed){ 8, 8 };
	assert_true(dnsoperator_status_set(s->dns, &s->plan, &s->facts, "", &g, now));
	assert_int_equal(json_integer_value(api_get(s->dns, "status.observedGeneration")), 7);
	const json_t *c = api_condition_find(api_get(s->dns, "status.conditions"), applied->type);
	assert_int_equal(json_integer_value(json_object_get(c, "observedGeneration")), 7);
	applied->reason = reason;
	/* conditions alone are pruned, then both */
	json_t *each;
	size_t i;
	json_array_foreach (api_get(s->dns, "status.conditions"), i, each)
		json_object_del(each, "observedGeneration");
	g = dnsoperator_observed_of(s->dns, 7);
	assert_int_equal(g.status, 7);
	assert_int_equal(g.conditions, 0);
	json_object_del(json_object_get(s->dns, "status"), "observedGeneration");
	g = dnsoperator_observed_of(s->dns, 7);
	assert_int_equal(g.status, 0);
	assert_false(dnsoperator_status_set(s->dns, &s->plan, &s->facts, "", &g, now));
	/* the next generation is tried again: the CRD may be another one */
	g = dnsoperator_observed_of(s->dns, 6);
	assert_int_equal(g.status, 7);
	assert_int_equal(g.conditions, 7);
	/* so is an object that was created again, whose generation may be the same, and one without
	 * a status */
	json_object_del(s->dns, "status");
	g = dnsoperator_observed_of(s->dns, 7);
	assert_int_equal(g.status, 7);
	assert_int_equal(g.conditions, 7);
}

/* The copy follows the list that was accepted last. */
static void backup_follows(void **state)
{
	struct scene *s = *state;
	json_t *copy;
	assert_null(dnsoperator_backup_patch(s->dns, &s->plan, &s->facts));
	s->plan.backup = json_pack("[{ss}]", "name", "a");
	copy = dnsoperator_backup_patch(s->dns, &s->plan, &s->facts);
	assert_string_equal(api_get_string(copy, "metadata.annotations[" DNSOPERATOR_BACKUP "]"),
			    "[{\"name\":\"a\"}]");
	json_object_set(json_object_get(s->dns, "metadata"), "annotations",
			api_get(copy, "metadata.annotations"));
	json_decref(copy);
	assert_null(dnsoperator_backup_patch(s->dns, &s->plan, &s->facts));
	/* others' annotations may leave no room: 256 KiB for all of them */
	json_t *list = api_get(s->dns, "metadata.annotations");
	char *big = malloc((256 << 10) + 1);
	assert_non_null(big);
	memset(big, 'x', 256 << 10);
	size_t room = (256 << 10) - strlen("other" DNSOPERATOR_BACKUP "[{\"name\":\"b\"}]");
	json_object_set_new(json_array_get(s->plan.backup, 0), "name", json_string("b"));
	big[room] = '\0';
	json_object_set_new(list, "other", json_string(big));
	copy = dnsoperator_backup_patch(s->dns, &s->plan, &s->facts);
	assert_non_null(copy);
	json_decref(copy);
	big[room] = 'x';
	big[room + 1] = '\0';
	json_object_set_new(list, "other", json_string(big));
	/* an older list must not be taken for the one in force */
	copy = dnsoperator_backup_patch(s->dns, &s->plan, &s->facts);
	assert_true(json_is_null(api_get(copy, "metadata.annotations[" DNSOPERATOR_BACKUP "]")));
	json_decref(copy);
	json_object_del(list, DNSOPERATOR_BACKUP);
	assert_null(dnsoperator_backup_patch(s->dns, &s->plan, &s->facts));
	free(big);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(status_is_written_once),
		T(generation_is_noted),
		T(backup_follows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
