/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ConfigMaps of a plan. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "controller/shared/object_contains.h"
#include "controller/dnsoperator/plan/configmap_objects.h"

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

static const char *data_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(json_object_get(o, "data"), key));
}

/* The Corefile of others is kept once, and never ours in its place. */
static void before_is_kept(void **state)
{
	struct scene *s = *state;
	json_t *theirs = json_pack("{s{ss},s{ss}}", "metadata", "name", "coredns", "data",
				   "Corefile", "theirs");
	json_t *first = dnsoperator_corefile_object(&s->plan, &s->facts, s->dns, theirs);
	assert_string_equal(data_of(first, "Corefile"), s->plan.corefile.s);
	assert_string_equal(data_of(first, DNSOPERATOR_BEFORE), "theirs");
	assert_null(api_get(first, "metadata.ownerReferences"));
	json_t *second = dnsoperator_corefile_object(&s->plan, &s->facts, s->dns, first);
	assert_true(json_equal(first, second));
	/* ours, made where there was none */
	json_t *new = dnsoperator_corefile_object(&s->plan, &s->facts, s->dns, NULL);
	assert_null(data_of(new, DNSOPERATOR_BEFORE));
	json_t *again = dnsoperator_corefile_object(&s->plan, &s->facts, s->dns, new);
	assert_null(data_of(again, DNSOPERATOR_BEFORE));
	json_decref(theirs);
	json_decref(first);
	json_decref(second);
	json_decref(new);
	json_decref(again);
}

static void openshift_owns(void **state)
{
	struct scene *s = *state;
	s->facts.platform = DNSOPERATOR_OPENSHIFT;
	json_t *theirs = json_pack("{s{},s{ss}}", "metadata", "data", "Corefile", "theirs");
	json_t *o = dnsoperator_corefile_object(&s->plan, &s->facts, s->dns, theirs);
	assert_string_equal(api_namespace(o), "openshift-dns");
	assert_string_equal(api_name(o), "dns-default");
	assert_string_equal(api_get_string(o, "metadata.ownerReferences[0].uid"), "u-1");
	assert_null(data_of(o, DNSOPERATOR_BEFORE));
	/* a second owner, and a field that others set, are theirs */
	json_t *now = json_deep_copy(o);
	json_object_set_new(api_get(now, "metadata.ownerReferences[0]"), "blockOwnerDeletion",
			    json_true());
	json_array_append_new(api_get(now, "metadata.ownerReferences"),
			      json_pack("{ss}", "uid", "2"));
	assert_true(object_contains(now, o));
	json_array_remove(api_get(now, "metadata.ownerReferences"), 0);
	assert_false(object_contains(now, o));
	json_decref(now);
	json_decref(theirs);
	json_decref(o);
}

static void accepted_comes_back(void **state)
{
	struct scene *s = *state;
	json_t *o = dnsoperator_accepted_object(&s->plan, &s->facts);
	assert_string_equal(api_name(o), "coredns-accepted");
	json_t *back = dnsoperator_accepted_read(o);
	assert_true(json_equal(back, s->plan.accepted));
	json_decref(back);
	/* rubbish is nothing */
	json_object_set_new(json_object_get(o, "data"), "accepted.json", json_string("[1]"));
	assert_null(dnsoperator_accepted_read(o));
	json_object_set_new(json_object_get(o, "data"), "accepted.json", json_string("{"));
	assert_null(dnsoperator_accepted_read(o));
	assert_null(dnsoperator_accepted_read(NULL));
	json_decref(o);
}

/* What others added does not matter; what they took or changed does. */
static void has_what_is_wanted(void **state)
{
	struct scene *s = *state;
	json_t *wanted = dnsoperator_corefile_object(&s->plan, &s->facts, s->dns, NULL);
	json_t *now = json_deep_copy(wanted);
	json_object_set_new(json_object_get(now, "metadata"), "resourceVersion", json_string("1"));
	json_object_set_new(json_object_get(now, "data"), "NodeHosts", json_string("x"));
	assert_true(object_contains(now, wanted));
	json_object_set_new(json_object_get(now, "data"), "Corefile", json_string("x"));
	assert_false(object_contains(now, wanted));
	json_object_del(now, "data");
	assert_false(object_contains(now, wanted));
	assert_false(object_contains(NULL, wanted));
	json_decref(wanted);
	json_decref(now);
}

static void text_time(void **state)
{
	(void)state;
	json_t *o = json_pack("{s{s[{ss,ss},{ss},{ss,ss},{ss,ss}]}}", "metadata", "managedFields",
			      "manager", "kubectl", "time", "2026-01-01T00:00:00Z", "manager",
			      DNSOPERATOR_MANAGER, "manager", DNSOPERATOR_MANAGER, "time", "soon",
			      "manager", DNSOPERATOR_MANAGER, "time", "1970-01-01T00:00:07Z");
	assert_non_null(o);
	assert_int_equal(dnsoperator_corefile_time(o), 7 * NS_PER_S);
	json_decref(o);
	assert_int_equal(dnsoperator_corefile_time(NULL), 0);
}

static void tenth_address(void **state)
{
	(void)state;
	static const struct {
		const char *network, *want;
	} rows[] = { { "172.30.0.0/16", "172.30.0.10" },
		     { "10.0.0.250/31", "10.0.1.4" },
		     { "fd02::/112", "fd02::a" },
		     { "x", "" } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[INET6_ADDRSTRLEN];
		json_t *o = json_pack("{s{s[s]}}", "status", "serviceNetwork", rows[i].network);
		dnsoperator_cluster_ip(o, out, sizeof(out));
		assert_string_equal(out, rows[i].want);
		json_decref(o);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(before_is_kept),
		T(openshift_owns),
		T(accepted_comes_back),
		T(has_what_is_wanted),
		cmocka_unit_test(tenth_address),
		cmocka_unit_test(text_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
