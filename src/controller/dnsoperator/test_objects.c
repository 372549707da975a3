/* The ConfigMaps and the status that a plan becomes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "controller/dnsoperator/objects.h"

struct scene {
	json_t *dns;
	struct dnsoperator_facts facts;
	struct dnsoperator_plan plan;
};

static const struct dnsoperator_instances nobody;

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
	dnsoperator_plan_make(
		&(struct dnsoperator_in){ .dns = s->dns, .facts = &s->facts, .instances = &nobody },
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
	json_t *first = dnsoperator_text_object(&s->plan, &s->facts, s->dns, theirs);
	assert_string_equal(data_of(first, "Corefile"), s->plan.text.s);
	assert_string_equal(data_of(first, DNSOPERATOR_BEFORE), "theirs");
	assert_null(api_get(first, "metadata.ownerReferences"));
	json_t *second = dnsoperator_text_object(&s->plan, &s->facts, s->dns, first);
	assert_true(json_equal(first, second));
	/* ours, made where there was none */
	json_t *new = dnsoperator_text_object(&s->plan, &s->facts, s->dns, NULL);
	assert_null(data_of(new, DNSOPERATOR_BEFORE));
	json_t *again = dnsoperator_text_object(&s->plan, &s->facts, s->dns, new);
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
	json_t *o = dnsoperator_text_object(&s->plan, &s->facts, s->dns, theirs);
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
	assert_true(dnsoperator_object_has(now, o));
	json_array_remove(api_get(now, "metadata.ownerReferences"), 0);
	assert_false(dnsoperator_object_has(now, o));
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
	json_t *wanted = dnsoperator_text_object(&s->plan, &s->facts, s->dns, NULL);
	json_t *now = json_deep_copy(wanted);
	json_object_set_new(json_object_get(now, "metadata"), "resourceVersion", json_string("1"));
	json_object_set_new(json_object_get(now, "data"), "NodeHosts", json_string("x"));
	assert_true(dnsoperator_object_has(now, wanted));
	json_object_set_new(json_object_get(now, "data"), "Corefile", json_string("x"));
	assert_false(dnsoperator_object_has(now, wanted));
	json_object_del(now, "data");
	assert_false(dnsoperator_object_has(now, wanted));
	assert_false(dnsoperator_object_has(NULL, wanted));
	json_decref(wanted);
	json_decref(now);
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

/* The status says of which generation it is, where the CRD keeps that, and writes nothing for ever
 * where it does not. */
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
	/* so is an object made anew, whose generation may be the same, and one without a status */
	json_object_del(s->dns, "status");
	g = dnsoperator_observed_of(s->dns, 7);
	assert_int_equal(g.status, 7);
	assert_int_equal(g.conditions, 7);
}

static void text_time(void **state)
{
	(void)state;
	json_t *o = json_pack("{s{s[{ss,ss},{ss},{ss,ss},{ss,ss}]}}", "metadata", "managedFields",
			      "manager", "kubectl", "time", "2026-01-01T00:00:00Z", "manager",
			      DNSOPERATOR_MANAGER, "manager", DNSOPERATOR_MANAGER, "time", "soon",
			      "manager", DNSOPERATOR_MANAGER, "time", "1970-01-01T00:00:07Z");
	assert_non_null(o);
	assert_int_equal(dnsoperator_text_time(o), 7 * NS_PER_S);
	json_decref(o);
	assert_int_equal(dnsoperator_text_time(NULL), 0);
}

/* The copy follows the field, and stays when the field is gone. */
static void backup_follows(void **state)
{
	struct scene *s = *state;
	json_t *copy;
	assert_null(dnsoperator_backup_patch(s->dns, &s->plan, &s->facts));
	json_object_set_new(json_object_get(s->dns, "spec"), "templates",
			    json_pack("[{ss}]", "name", "a"));
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
	json_object_set_new(json_array_get(api_get(s->dns, "spec.templates"), 0), "name",
			    json_string("b"));
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
	json_object_del(json_object_get(s->dns, "spec"), "templates");
	assert_null(dnsoperator_backup_patch(s->dns, &s->plan, &s->facts));
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
		T(before_is_kept),	     T(openshift_owns),
		T(accepted_comes_back),	     T(has_what_is_wanted),
		T(status_is_written_once),   T(generation_is_noted),
		T(backup_follows),	     cmocka_unit_test(tenth_address),
		cmocka_unit_test(text_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
