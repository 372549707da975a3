/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is kept of a log, and what exceeds the limits. */
#include "advise/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void add(struct advise_trace *trace, const char *client, const char *name, const char *ns)
{
	advise_trace_add(trace, &(struct advise_line){ .client = slice_of(client),
						       .name = slice_of(name),
						       .ns = slice_of(ns),
						       .outcome = ADVISE_NXDOMAIN,
						       .in_class_in = true });
}

static void facts_add_up(void **state)
{
	(void)state;
	struct advise_trace trace;
	struct advise_line line = { .client = SLICE("c"),
				    .name = SLICE("a.b"),
				    .type = ADVISE_TYPE_AAAA,
				    .outcome = ADVISE_NXDOMAIN,
				    .in_class_in = true };
	advise_trace_init(&trace);
	advise_trace_add(&trace, &line);
	line.outcome = ADVISE_DATA;
	advise_trace_add(&trace, &line);
	const struct advise_client *client = map_get(&trace.clients, SLICE("c"));
	assert_non_null(client);
	const struct advise_fact *fact = advise_trace_fact(client, SLICE("a"), SLICE("b"));
	assert_non_null(fact);
	assert_ptr_equal(fact, advise_trace_fact(client, SLICE("a.b"), SLICE("")));
	assert_int_equal(fact->seen[ADVISE_TYPE_AAAA], ADVISE_NXDOMAIN | ADVISE_DATA);
	assert_int_equal(fact->count[ADVISE_TYPE_AAAA], 2);
	assert_int_equal(fact->seen[ADVISE_TYPE_A], 0);
	/* Neither other classes nor the root are names of look-ups. */
	line.in_class_in = false;
	line.name = SLICE("c");
	advise_trace_add(&trace, &line);
	assert_null(advise_trace_fact(client, SLICE("c"), SLICE("")));
	add(&trace, "c", "", "");
	assert_int_equal(trace.names, 1);
	assert_int_equal(trace.queries, 4);
	advise_trace_done(&trace);
}

static void names_are_limited(void **state)
{
	(void)state;
	struct advise_trace trace;
	advise_trace_init(&trace);
	trace.names_max = 3;
	trace.clients_max = 2;
	add(&trace, "one", "a", "");
	add(&trace, "one", "b", "shop");
	const struct advise_client *one = map_get(&trace.clients, SLICE("one"));
	assert_non_null(one);
	assert_false(one->incomplete);
	add(&trace, "one", "a", "shop");
	assert_false(one->incomplete);
	add(&trace, "two", "c", "");
	const struct advise_client *two = map_get(&trace.clients, SLICE("two"));
	assert_non_null(two);
	assert_true(two->incomplete);
	add(&trace, "one", "a", "other");
	assert_true(one->incomplete);
	assert_false(trace.incomplete);
	add(&trace, "three", "a", "");
	assert_true(trace.incomplete);
	advise_trace_done(&trace);
}

static void cut_lines_mark_their_client(void **state)
{
	(void)state;
	struct advise_trace trace;
	advise_trace_init(&trace);
	trace.clients_max = 2;
	add(&trace, "one", "a", "");
	advise_trace_add_cut(&trace, SLICE("one"));
	advise_trace_add_cut(&trace, SLICE("two"));
	const struct advise_client *one = map_get(&trace.clients, SLICE("one"));
	const struct advise_client *two = map_get(&trace.clients, SLICE("two"));
	assert_true(one != NULL && one->has_cut_line && one->queries == 1);
	assert_true(two != NULL && two->has_cut_line && two->queries == 0);
	assert_false(trace.incomplete);
	advise_trace_add_cut(&trace, SLICE("three"));
	assert_true(trace.incomplete);
	advise_trace_done(&trace);
}

static void names(void **state)
{
	(void)state;
	char text[ADVISE_NAME_MAX + 1];
	memset(text, 'x', sizeof(text));
	struct slice all_but_two = { text, ADVISE_NAME_MAX - 2 };
	assert_false(advise_trace_too_long(all_but_two, SLICE("a")));
	assert_true(advise_trace_too_long(all_but_two, SLICE("ab")));
	assert_true(slice_is(advise_trace_base(SLICE("a.b.c"), SLICE("c")), "a.b"));
	assert_null(advise_trace_base(SLICE("a.bc"), SLICE("c")).p);
	assert_null(advise_trace_base(SLICE("c"), SLICE("c")).p);
	assert_null(advise_trace_base(SLICE(".c"), SLICE("c")).p);
	assert_int_equal(advise_trace_dots(SLICE("a.b.c")), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_add_up),
		cmocka_unit_test(names_are_limited),
		cmocka_unit_test(cut_lines_mark_their_client),
		cmocka_unit_test(names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
