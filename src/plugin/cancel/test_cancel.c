/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cancel: the deadline a query gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/generation.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "testing/fake_server.h"

static uint64_t deadline(const char *corefile, uint64_t inherited)
{
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	struct plugin_inst *in = block_find(&fake_server(f)->gen->block[0], "cancel");
	struct query *q = calloc(1, sizeof(*q));
	assert_non_null(q);
	q->start_ns = 7 * NS_PER_S;
	q->deadline_ns = inherited;
	assert_int_equal(in->plugin->serve(in, q), V_NEXT);
	uint64_t got = q->deadline_ns;
	free(q);
	fake_free(f);
	return got;
}

static void sets_the_deadline(void **state)
{
	(void)state;
	assert_int_equal(deadline(". {\n cancel\n}\n", 0), 12001 * NS_PER_MS);
	assert_int_equal(deadline(". {\n cancel 1s\n}\n", 0), 8 * NS_PER_S);
	assert_int_equal(deadline(". {\n cancel 1s\n cancel 3s\n}\n", 0), 10 * NS_PER_S);
}

static void keeps_an_earlier_deadline(void **state)
{
	(void)state;
	assert_int_equal(deadline(". {\n cancel 2s\n}\n", 8 * NS_PER_S), 8 * NS_PER_S);
	assert_int_equal(deadline(". {\n cancel 2s\n}\n", 10 * NS_PER_S), 9 * NS_PER_S);
}

static void lets_queries_through(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n cancel\n whoami\n}\n");
	assert_non_null(f);
	assert_non_null(fake_ask(f, &(struct fake_ask){ 0 }));
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* It counts as a handler, so a block with nothing else fails rather than refuses. */
static void alone_it_is_a_chain_without_end(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n cancel\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ 0 }),
			    "SERVFAIL qr rd\nquestion example.org. IN A\n");
	fake_free(f);
}

static void refuses_wrong_durations(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n cancel 5\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:9: <timeout>: expected a duration such as "
					  "5s, got '5'");
	assert_null(fake_new(". {\n cancel 0s\n}\n"));
	assert_null(fake_new(". {\n cancel -1s\n}\n"));
	assert_null(fake_new(". {\n cancel 1s 2s\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:12: cancel: unexpected argument '2s'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_the_deadline),
		cmocka_unit_test(keeps_an_earlier_deadline),
		cmocka_unit_test(lets_queries_through),
		cmocka_unit_test(alone_it_is_a_chain_without_end),
		cmocka_unit_test(refuses_wrong_durations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
