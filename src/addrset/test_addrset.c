/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contract of address sets, with the one in memory: name ids, what is held, when requests are answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "addrset/addrset.h"
#include "base/compiler.h"
#include "base/err.h"
#include "testing/fake_addrset.h"

struct call {
	struct addrset_request request;
	int n_done;
	int result;
};

static void note_done(struct addrset_request *request, int result)
{
	struct call *call = CONTAINER_OF(request, struct call, request);
	call->n_done++;
	call->result = result;
}

static struct addrset_pair pair_of(const char *name, uint8_t last, uint64_t until_ns)
{
	return (struct addrset_pair){ .name = addrset_id_of(slice_of(name)),
				      .address = { 4, { 192, 0, 2, last } },
				      .until_ns = until_ns };
}

/* The id of a name never changes: it is in the kernel when the agent starts again. */
static void test_ids(void **state UNUSED)
{
	static const uint8_t example[] = { 0xa3, 0x79, 0xa6, 0xf6, 0xee, 0xaf, 0xb9, 0xa5,
					   0x5e, 0x37, 0x8c, 0x11, 0x80, 0x34, 0xe2, 0x75 };
	struct addrset_id host = addrset_id_of(slice_of("example.com"));
	struct addrset_id wildcard = addrset_id_of(slice_of("*.example.com"));
	assert_memory_equal(host.bytes, example, sizeof(example));
	assert_memory_not_equal(host.bytes, wildcard.bytes, sizeof(host.bytes));
}

/* A new pair waits; a known one does not, unless it is wanted for longer. */
static void test_known_pairs_do_not_wait(void **state UNUSED)
{
	struct fake_addrset *fake = fake_addrset_new();
	struct addrset *set = fake_addrset_set(fake);
	struct addrset_pair both[] = { pair_of("example.com", 1, 100),
				       pair_of("example.com", 2, 100) };
	struct call first = { .request = { .pairs = both, .n_pairs = 2, .done = note_done } };
	struct call again = { .request = { .pairs = both, .n_pairs = 1, .done = note_done } };
	addrset_add(set, &first.request);
	assert_false(addrset_holds(set, both, 2));
	assert_int_equal(first.n_done, 0);
	fake_addrset_commit(fake, 0);
	assert_int_equal(first.n_done, 1);
	assert_int_equal(first.result, 0);
	assert_true(addrset_holds(set, both, 2));
	addrset_add(set, &again.request);
	assert_int_equal(again.n_done, 1);
	assert_int_equal(fake_addrset_commits(fake), 1);

	both[0].until_ns = 101;
	assert_false(addrset_holds(set, both, 2));
	addrset_add(set, &again.request);
	assert_int_equal(again.n_done, 1);
	fake_addrset_commit(fake, 0);
	assert_int_equal(again.n_done, 2);
	assert_true(addrset_holds(set, both, 2));
	fake_addrset_free(fake);
}

/* The address of another name is not held: a rule allows names, not addresses. */
static void test_names_are_apart(void **state UNUSED)
{
	struct fake_addrset *fake = fake_addrset_new();
	struct addrset_pair mine = pair_of("example.com", 1, 100),
			    other = pair_of("example.net", 1, 1);
	struct call call = { .request = { .pairs = &mine, .n_pairs = 1, .done = note_done } };
	addrset_add(fake_addrset_set(fake), &call.request);
	fake_addrset_commit(fake, 0);
	assert_true(addrset_holds(fake_addrset_set(fake), &mine, 1));
	assert_false(addrset_holds(fake_addrset_set(fake), &other, 1));
	fake_addrset_free(fake);
}

static void test_failures_are_reported(void **state UNUSED)
{
	struct fake_addrset *fake = fake_addrset_new();
	struct addrset_pair pair = pair_of("example.com", 1, 100);
	struct call failed = { .request = { .pairs = &pair, .n_pairs = 1, .done = note_done } };
	struct call closed = { .request = { .pairs = &pair, .n_pairs = 1, .done = note_done } };
	addrset_add(fake_addrset_set(fake), &failed.request);
	assert_int_equal(fake_addrset_waiting(fake), 1);
	fake_addrset_commit(fake, ERR_LIMIT);
	assert_int_equal(failed.result, ERR_LIMIT);
	assert_false(addrset_holds(fake_addrset_set(fake), &pair, 1));
	addrset_add(fake_addrset_set(fake), &closed.request);
	fake_addrset_free(fake);
	assert_int_equal(closed.n_done, 1);
	assert_int_equal(closed.result, ERR_CLOSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_known_pairs_do_not_wait),
		cmocka_unit_test(test_names_are_apart),
		cmocka_unit_test(test_failures_are_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
