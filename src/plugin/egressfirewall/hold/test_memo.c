/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of answers that were found in force: answers that share a set stay beside each other, up to as many
 * as it has room for, and what is pushed out is what ends first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "plugin/egressfirewall/hold/memo.h"

enum { LONG = 1000 };

/* The n-th mark of one set. */
static uint64_t mark_of(unsigned n)
{
	return UINT64_C(7) << (64 - EGRESSFIREWALL_MEMO_BITS) | n << 1 | 1;
}

static void answers_of_one_set_stay(void **state)
{
	(void)state;
	struct egressfirewall_memo *memo = egressfirewall_memo_new();
	assert_non_null(memo);
	/* The same few again and again, as names are asked for: none pushes another one out. */
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 4; i++) {
			assert_false(egressfirewall_memo_has(memo, mark_of(i), LONG + round));
			egressfirewall_memo_put(memo, mark_of(i), LONG + round);
		}
		for (unsigned i = 0; i < 4; i++) {
			assert_true(egressfirewall_memo_has(memo, mark_of(i), LONG + round));
			assert_false(egressfirewall_memo_has(memo, mark_of(i), LONG + round + 1));
		}
	}
	assert_false(egressfirewall_memo_has(memo, mark_of(9), 0));
	egressfirewall_memo_free(memo);
}

static void the_first_to_end_gives_way(void **state)
{
	(void)state;
	struct egressfirewall_memo *memo = egressfirewall_memo_new();
	assert_non_null(memo);
	for (unsigned i = 0; i < EGRESSFIREWALL_MEMO_WAYS; i++)
		egressfirewall_memo_put(memo, mark_of(i), LONG + (i == 2 ? 0 : i + 1));
	egressfirewall_memo_put(memo, mark_of(10), LONG);
	assert_false(egressfirewall_memo_has(memo, mark_of(2), 0));
	assert_true(egressfirewall_memo_has(memo, mark_of(10), LONG));
	assert_true(egressfirewall_memo_has(memo, mark_of(0), LONG + 1));
	/* What needs nothing would never end: it is the first to go. */
	egressfirewall_memo_put(memo, mark_of(1), UINT64_MAX);
	egressfirewall_memo_put(memo, mark_of(11), LONG);
	assert_false(egressfirewall_memo_has(memo, mark_of(1), 0));
	assert_true(egressfirewall_memo_has(memo, mark_of(11), LONG));
	assert_true(egressfirewall_memo_has(memo, mark_of(10), LONG));
	egressfirewall_memo_free(memo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_of_one_set_stay),
		cmocka_unit_test(the_first_to_end_gives_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
