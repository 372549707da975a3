/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counting nodes: agents that are missing, late, from before a boot, and data paths past the rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/egressfirewall/in_force.h"

static const struct in_force_node three[] = { { "a", "1" }, { "b", "1" }, { "c", "" } };

static struct in_force count(const struct in_force_node *nodes, size_t n_nodes,
			     const struct in_force_report *reports, size_t n_reports)
{
	struct in_force web = { .uid = "u", .generation = 2 }, db = { .uid = "v", .generation = 1 };
	struct map firewalls;
	map_init(&firewalls);
	map_set(&firewalls, SLICE("web"), &web);
	map_set(&firewalls, SLICE("db"), &db);
	in_force_count(&firewalls, nodes, n_nodes, reports, n_reports);
	map_done(&firewalls);
	assert_int_equal(web.nodes, db.nodes);
	return web;
}

#define LINES(text)                    \
	{                              \
		text, sizeof(text) - 1 \
	}

static void on_all_nodes(void **state UNUSED)
{
	static const struct in_force_report reports[] = {
		{ "a", "1", "", LINES("db v 1\nweb u 2\n"), LINES(""), LINES("") },
		{ "aa", "1", "", LINES("web u 2\n"), LINES(""), LINES("") }, /* its Node is gone */
		{ "b", "1", "", LINES("web u 2\n"), LINES(""), LINES("") },
		{ "c", "1", "", LINES("web u 2\n"), LINES(""), LINES("") },
	};
	struct in_force web = count(three, ARRAY_LEN(three), reports, ARRAY_LEN(reports));
	assert_true(web.n == 3 && web.nodes == 3 && !web.is_bypassed);
	assert_string_equal(web.missing, "");
}

static void on_some(void **state UNUSED)
{
	static const struct in_force_report reports[] = {
		{ "a", "0", "", LINES("web u 2\n"), LINES(""), LINES("") },
		{ "b", "1", "", LINES("web u 1\ndb v 1\nweb x 2\nother u 2\n"), LINES(""),
		  LINES("") },
	};
	struct in_force web = count(three, ARRAY_LEN(three), reports, ARRAY_LEN(reports));
	assert_true(web.n == 0 && web.nodes == 3 && !web.is_bypassed);
	assert_string_equal(web.missing,
			    "a: no report since the node has booted; b: not yet; c: no agent");
}

/* An agent of one machine that has rules and nobody to apply them to. */
static void nothing_to_apply_to(void **state UNUSED)
{
	static const struct in_force_report reports[] = {
		{ "machine", "1", "", LINES("db v 1\n"),
		  LINES("web TargetMissing egress.fairlead.dev/uid is 'x': no such user\nz A "
			"b\n"),
		  LINES("") },
	};
	struct in_force web = count(NULL, 0, reports, ARRAY_LEN(reports));
	assert_true(web.n == 0 && web.nodes == 1);
	assert_string_equal(web.reason, "TargetMissing");
	assert_string_equal(web.missing, "machine: egress.fairlead.dev/uid is 'x': no such user");
}

static void past_the_rules(void **state UNUSED)
{
	static const struct in_force_report reports[] = {
		{ "a", "1", "eBPF", LINES("web u 2\n"), LINES(""), LINES("") },
		{ "b", "1", "", LINES("web u 2\n"), LINES(""), LINES("") },
	};
	struct in_force web = count(three, 2, reports, ARRAY_LEN(reports));
	assert_true(web.n == 1 && web.nodes == 2 && web.is_bypassed);
	assert_string_equal(web.missing, "a: eBPF");
}

static void one_machine(void **state UNUSED)
{
	static const struct in_force_report reports[] = { { "a", "1", "", LINES("web u 2\n"),
							    LINES(""), LINES("") } };
	struct in_force web = count(NULL, 0, reports, ARRAY_LEN(reports));
	assert_true(web.n == 1 && web.nodes == 1);
	web = count(NULL, 0, NULL, 0);
	assert_true(web.n == 0 && web.nodes == 0);
}

static void note_node(void *ctx, const struct in_force_report *report)
{
	strcat(ctx, report->node);
}

/* Reports of nodes that are gone, or have booted since, say nothing about now. */
static void reports_of_now(void **state UNUSED)
{
	static const struct in_force_report reports[] = {
		{ "a", "0", "", LINES(""), LINES(""), LINES("") },
		{ "aa", "1", "", LINES(""), LINES(""), LINES("") },
		{ "b", "1", "", LINES(""), LINES(""), LINES("") },
		{ "c", "1", "past the rules", LINES(""), LINES(""), LINES("") },
	};
	char seen[16] = "";
	in_force_each_report(three, ARRAY_LEN(three), reports, ARRAY_LEN(reports), note_node, seen);
	assert_string_equal(seen, "bc");
	seen[0] = '\0';
	in_force_each_report(NULL, 0, reports, ARRAY_LEN(reports), note_node, seen);
	assert_string_equal(seen, "aaabc");
}

static void many_nodes(void **state UNUSED)
{
	static const struct in_force_node nodes[] = {
		{ "a", "" }, { "b", "" }, { "c", "" }, { "d", "" }, { "e", "" }
	};
	struct in_force web = count(nodes, ARRAY_LEN(nodes), NULL, 0);
	assert_string_equal(web.missing, "a: no agent; b: no agent; c: no agent; and 2 more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_all_nodes),	       cmocka_unit_test(on_some),
		cmocka_unit_test(nothing_to_apply_to), cmocka_unit_test(past_the_rules),
		cmocka_unit_test(one_machine),	       cmocka_unit_test(reports_of_now),
		cmocka_unit_test(many_nodes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
