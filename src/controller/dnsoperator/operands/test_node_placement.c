/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where servers may run (OP-D1 nodePlacement, OP-D5), and zones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/dnsoperator/operands/node_placement.h"

#define NODE(LABELS, TAINTS) \
	"{\"metadata\":{\"labels\":{" LABELS "}},\"spec\":{\"taints\":[" TAINTS "]}}"
#define PLACED(SELECTOR, TOLERATIONS)                                    \
	"{\"spec\":{\"nodePlacement\":{\"nodeSelector\":{" SELECTOR "}," \
	"\"tolerations\":[" TOLERATIONS "]}}}"
#define LINUX "\"kubernetes.io/os\":\"linux\""
/* What runs now. */
#define NOW(PODS)                                                               \
	"{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"was\":\"so\"}," \
	"\"tolerations\":[{\"operator\":\"Exists\"}]}}},\"status\":{"           \
	"\"currentNumberScheduled\":" PODS "}}"

static const struct {
	const char *dns, *nodes; /* of the list */
	const char *selector, *tolerations;
	bool ignored;
} rows[] = {
	{ "{}", NODE(LINUX, ""), "{" LINUX "}",
	  "[{\"key\":\"node-role.kubernetes.io/master\",\"operator\":\"Exists\"}]", false },
	{ PLACED("", ""), "", "{" LINUX "}",
	  "[{\"key\":\"node-role.kubernetes.io/master\",\"operator\":\"Exists\"}]", false },
	/* members that the API would drop are */
	{ PLACED("\"a\":\"\"", "{\"key\":\"k\",\"value\":\"\",\"tolerationSeconds\":0,\"x\":1}"),
	  "", "{\"a\":\"\"}", "[{\"key\":\"k\",\"tolerationSeconds\":0}]", false },
	{ PLACED("\"a\":\"b\"", ""), NODE(LINUX, "") "," NODE("\"a\":\"b\"", ""), "{\"a\":\"b\"}",
	  NULL, false },
	{ PLACED("\"a\":\"b\"", ""), NODE(LINUX, "") "," NODE("\"a\":\"c\"", ""), NULL, NULL,
	  true },
	{ PLACED("\"a\":\"b\"", ""),
	  "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"unschedulable\":true}}", NULL, NULL,
	  true },
	/* taints */
	{ "{}",
	  NODE(LINUX, "{\"key\":\"node-role.kubernetes.io/master\",\"effect\":\"NoSchedule\"}"),
	  "{" LINUX "}", NULL, false },
	{ "{}", NODE(LINUX, "{\"key\":\"k\",\"effect\":\"NoSchedule\"}"), NULL, NULL, true },
	{ "{}", NODE(LINUX, "{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}"), "{" LINUX "}", NULL,
	  false },
	{ "{}", NODE(LINUX, "{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":\"NoExecute\"}"),
	  "{" LINUX "}", NULL, false },
	{ PLACED("", "{\"key\":\"k\",\"value\":\"v\"}"),
	  NODE(LINUX, "{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}"), "{" LINUX "}",
	  NULL, false },
	{ PLACED("", "{\"key\":\"k\",\"operator\":\"Equal\",\"value\":\"v\"}"),
	  NODE(LINUX, "{\"key\":\"k\",\"value\":\"w\",\"effect\":\"NoSchedule\"}"), NULL, NULL,
	  true },
	{ PLACED("", "{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"}"),
	  NODE(LINUX, "{\"key\":\"k\",\"effect\":\"NoSchedule\"}"), NULL, NULL, true },
	{ PLACED("", "{\"operator\":\"Exists\"}"),
	  NODE(LINUX, "{\"key\":\"k\",\"effect\":\"NoSchedule\"},{\"key\":\"l\",\"effect\":"
		      "\"NoExecute\"}"),
	  "{" LINUX "}", NULL, false },
	{ PLACED("", "{\"operator\":\"Lt\",\"key\":\"k\",\"value\":\"1\"}"),
	  NODE(LINUX, "{\"key\":\"k\",\"value\":\"1\",\"effect\":\"NoSchedule\"}"), NULL, NULL,
	  true },
};

static json_t *load(const char *text)
{
	json_t *v = json_loads(text, 0, NULL);
	assert_non_null(v);
	return v;
}

static void is(size_t row, const json_t *got, const char *text)
{
	json_t *want = load(text);
	if (json_equal(api_tree(got), want) == 0)
		fail_msg("row %zu: not %s", row, text);
	json_decref(want);
}

static void look(size_t i, const char *set, struct dnsoperator_placement *ret)
{
	char text[800];
	snprintf(text, sizeof(text), "[%s]", rows[i].nodes);
	json_t *dns = load(rows[i].dns), *nodes = load(text), *now = load(set);
	dnsoperator_placement_of(
		&(struct dnsoperator_placement_in){
			.platform = DNSOPERATOR_OPENSHIFT, .dns = dns, .nodes = nodes, .now = now },
		ret);
	json_decref(dns);
	json_decref(nodes);
	json_decref(now);
}

static void placement(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dnsoperator_placement p;
		look(i, NOW("3"), &p);
		if (p.ignored != rows[i].ignored)
			fail_msg("row %zu", i);
		if (p.ignored) {
			is(i, p.selector, "{\"was\":\"so\"}");
			is(i, p.tolerations, "[{\"operator\":\"Exists\"}]");
		} else {
			is(i, p.selector, rows[i].selector);
			if (rows[i].tolerations != NULL)
				is(i, p.tolerations, rows[i].tolerations);
		}
		json_decref(p.selector);
		json_decref(p.tolerations);
		/* where nothing runs nothing can be lost */
		look(i, NOW("0"), &p);
		assert_false(p.ignored);
		json_decref(p.selector);
		json_decref(p.tolerations);
	}
}

#define READY(LABELS)                                                          \
	"{\"metadata\":{\"labels\":{" LABELS "}},\"status\":{\"conditions\":[" \
	"{\"type\":\"Ready\",\"status\":\"True\"}]}}"
#define AWAY(LABELS)                                                           \
	"{\"metadata\":{\"labels\":{" LABELS "}},\"status\":{\"conditions\":[" \
	"{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}"
#define IN(ZONE) "\"topology.kubernetes.io/zone\":\"" ZONE "\""

static void zones(void **state)
{
	static const struct {
		const char *nodes;
		bool differ;
	} list[] = {
		{ "[]", false },
		{ "[" READY(IN("a")) "]", false },
		{ "[" READY(IN("a")) "," READY(IN("a")) "]", false },
		{ "[" READY(IN("a")) "," READY(IN("b")) "]", true },
		{ "[" READY(IN("a")) "," AWAY(IN("b")) "]", false },
		{ "[" READY(IN("a")) "," READY(IN("b")) "," READY("") "]", false },
		{ "[" READY(IN("a")) "," READY(IN("b")) "," READY(IN("")) "]", false },
		{ "[" READY(IN("a")) "," READY(IN("b")) "," AWAY("") "]", true },
		{ "[" READY(IN("a")) "," READY(
			  IN("b") ",\"node-role.kubernetes.io/master\":\"\"") "]",
		  false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		json_t *nodes = load(list[i].nodes);
		if (dnsoperator_zones_differ(nodes) != list[i].differ)
			fail_msg("%s", list[i].nodes);
		json_decref(nodes);
	}
	assert_false(dnsoperator_zones_differ(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placement),
		cmocka_unit_test(zones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
