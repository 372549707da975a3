/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-P11: the condition NamesResolved says no more than is known: not before the DNSName objects of a
 * firewall's rules exist and its hosts were looked up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/condition.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "controller/egressfirewall/firewall_status.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/watches.h"

struct rig {
	struct egressfirewall_state *state;
	struct kube_store *stores[EGRESSFIREWALL_WATCHES]; /* empty: no agent reports anything */
	struct controller_ctx ctx;
};

static void rig_init(struct rig *rig)
{
	void *state;
	char err[64];
	assert_int_equal(egressfirewall_state_start(&state, ERR_TEXT(err)), 0);
	*rig = (struct rig){
		.state = state,
		.ctx = { .ns = "fairlead", .state = state, .stores = rig->stores },
	};
	for (size_t i = 0; i < EGRESSFIREWALL_WATCHES; i++)
		rig->stores[i] = kube_store_new(NULL, 0);
}

static void rig_done(struct rig *rig)
{
	for (size_t i = 0; i < EGRESSFIREWALL_WATCHES; i++)
		kube_store_free(rig->stores[i]);
	egressfirewall_state_stop(rig->state);
}

static struct egressfirewall_object *add_object(struct rig *rig, const char *name, bool regular,
						bool wildcard)
{
	struct egressfirewall_object *object = xcalloc(1, sizeof(*object));
	*object = (struct egressfirewall_object){ .regular = regular,
						  .wildcard = wildcard,
						  .restored = true };
	map_set(&rig->state->objects, slice_of(name), object);
	return object;
}

/* "STATUS REASON MESSAGE", or "early". */
static const char *resolved(struct rig *rig, const char *dns_name, bool any_depth)
{
	static char out[320];
	struct egressfirewall_report report;
	struct api_errors errors = { 0 };
	struct egress_rules rules;
	struct arena arena;
	json_t *firewall = json_pack("{s:{s:s, s:{s:s}}, s:{s:[{s:s, s:{s:s}}]}}", "metadata",
				     "name", "default", "annotations",
				     "egress.fairlead.dev/wildcard-depth", any_depth ? "any" : "",
				     "spec", "egress", "type", "Allow", "to", "dnsName", dns_name);
	arena_init(&arena);
	egress_rules_read(firewall, &arena, &rules, &errors);
	egressfirewall_report_init(&report, &rig->ctx, firewall, &rules, &errors);
	const json_t *condition = api_condition_find(report.conditions, "NamesResolved");
	snprintf(out, sizeof(out), "%s %s %s", api_text(json_object_get(condition, "status")),
		 api_text(json_object_get(condition, "reason")),
		 api_text(json_object_get(condition, "message")));
	if (report.is_early)
		snprintf(out, sizeof(out), "early");
	egressfirewall_report_done(&report);
	api_errors_done(&errors);
	arena_done(&arena);
	json_decref(firewall);
	return out;
}

static void host_of_a_rule(void **state)
{
	static const char name[] = "a.example.com";
	struct tracked_now now = egressfirewall_now();
	union net_addr address;
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_string_equal(resolved(&rig, name, false), "early");
	struct egressfirewall_object *object = add_object(&rig, name, true, false);
	assert_string_equal(resolved(&rig, name, false),
			    "Unknown Pending a.example.com: has no DNSName object yet");
	/* Looked up, with addresses, and the object is not there yet. */
	struct tracked_host *host = tracked_add(&rig.state->hosts, name, &now);
	assert_int_equal(net_addr_parse_ip(SLICE("192.0.2.1"), &address), 0);
	struct tracked_sighting sighting = { .address = &address, .ttl_s = 30 };
	assert_true(tracked_host_learn(host, &sighting, &now));
	assert_string_equal(resolved(&rig, name, false),
			    "Unknown Pending a.example.com: has no DNSName object yet");
	object->exists = true;
	assert_string_equal(resolved(&rig, name, false), "True AsExpected ");
	tracked_remove(&rig.state->hosts, host);
	assert_string_equal(resolved(&rig, name, false),
			    "Unknown Pending a.example.com: is not looked up yet");
	host = tracked_add(&rig.state->hosts, name, &now);
	assert_string_equal(resolved(&rig, name, false),
			    "Unknown Pending a.example.com: is not looked up yet");
	tracked_host_failed(host, "timed out", 0, &now);
	assert_string_equal(resolved(&rig, name, false),
			    "False NotResolved a.example.com: timed out");
	IGNORE(tracked_host_looked_up(host, 30, 0, &now));
	assert_string_equal(resolved(&rig, name, false),
			    "False NotResolved a.example.com: has no addresses");
	/* It has some, which no rule by name may open. */
	assert_int_equal(net_addr_parse_ip(SLICE("169.254.169.254"), &address), 0);
	assert_true(tracked_host_leave_out(host, &address));
	assert_false(tracked_host_leave_out(host, &address));
	assert_string_equal(resolved(&rig, name, false),
			    "False NotResolved a.example.com: has only addresses that are never "
			    "learnt, such as 169.254.169.254: the cluster's own or reserved; allow "
			    "them by cidrSelector or nodeSelector");
	assert_true(tracked_host_leave_out(host, NULL));
	assert_string_equal(resolved(&rig, name, false),
			    "False NotResolved a.example.com: has no addresses");
	rig_done(&rig);
}

static void wildcard_of_a_rule(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_string_equal(resolved(&rig, "*.example.com", false), "early");
	struct egressfirewall_object *object =
		add_object(&rig, "wildcard.example.com", false, true);
	assert_string_equal(resolved(&rig, "*.example.com", false),
			    "Unknown Pending wildcard.example.com: has no DNSName object yet");
	object->exists = true;
	assert_string_equal(resolved(&rig, "*.example.com", false), "True NoNames ");
	/* It exists for one label only. */
	assert_string_equal(resolved(&rig, "*.example.com", true),
			    "Unknown Pending wildcard.example.com: has no DNSName object yet");
	object->any_depth = true;
	assert_string_equal(resolved(&rig, "*.example.com", true), "True NoNames ");
	/* It exists, but not for the host of that name. */
	assert_string_equal(resolved(&rig, "wildcard.example.com", false),
			    "Unknown Pending wildcard.example.com: has no DNSName object yet");
	rig_done(&rig);
}

/* EF-S8: texts of status.status. */
static void whose_summary(void **state UNUSED)
{
	assert_true(egressfirewall_is_own_summary("7 rules, 1 of 2 names have addresses"));
	assert_true(egressfirewall_is_own_summary(
		"0 rules valid and others not, 0 of 0 names have addresses"));
	assert_true(egressfirewall_is_own_summary("1 rule, none names a host"));
	assert_false(egressfirewall_is_own_summary("none names a host"));
	assert_false(egressfirewall_is_own_summary("EgressFirewall Rules applied"));
	assert_false(egressfirewall_is_own_summary(" names have addresses"));
	assert_false(egressfirewall_is_own_summary("all names have addresses"));
	assert_false(egressfirewall_is_own_summary(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_of_a_rule),
		cmocka_unit_test(wildcard_of_a_rule),
		cmocka_unit_test(whose_summary),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
