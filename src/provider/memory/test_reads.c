/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of the publisher that only read: what a write would meet, without one. */
#include "provider/memory/test_rig.h"

static struct wish *make_reading(struct rig *rig, const char *name, const char *value,
				 enum provider_guard guard, const char *owner)
{
	struct wish *wish = xcalloc(1, sizeof(*wish));
	add_edit(wish, DNS_TYPE_A, name, value, guard);
	wish->edits[0].set.owner = owner;
	wish->request.only_reads = true;
	submit_wish(rig, wish);
	return wish;
}

static void expect_found(struct rig *rig, struct wish *wish, enum provider_code code,
			 const char *value)
{
	wait_wish(rig, wish, 5000);
	assert_int_equal(wish->request.code, code);
	assert_int_equal(wish->request.n_found, 1);
	assert_int_equal(wish->request.found[0].n_values, value != NULL);
	if (value != NULL)
		assert_string_equal(wish->request.found[0].values[0], value);
	free_wish(wish);
}

/* Missing, as wanted, another's: each is found as it is, and nothing is written. */
static void what_is_there_is_found(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	struct wish *wish = make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
	expect_wish(&rig, wish, 1000, PROVIDER_OK);
	put_foreign(&rig, "b.example.com", "192.0.2.9");
	unsigned writes = rig.server->ledger.calls[PROVIDER_APPLY];
	wish = make_reading(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_NONE, NULL);
	expect_found(&rig, wish, PROVIDER_OK, "192.0.2.1");
	wish = make_reading(&rig, "b.example.com", "192.0.2.1", PROVIDER_GUARD_OWNED, "me");
	wait_wish(&rig, wish, 1000);
	assert_non_null(strstr(wish->request.error, "not ours: \"192.0.2.9\""));
	expect_found(&rig, wish, PROVIDER_CONFLICT, "192.0.2.9");
	wish = make_reading(&rig, "c.example.com", "192.0.2.1", PROVIDER_GUARD_OWNED, "me");
	expect_found(&rig, wish, PROVIDER_OK, NULL);
	wish = make_reading(&rig, "b.example.com", NULL, PROVIDER_GUARD_NONE,
			    NULL); /* a deletion */
	expect_found(&rig, wish, PROVIDER_OK, "192.0.2.9");
	assert_int_equal(rig.server->ledger.calls[PROVIDER_APPLY], writes);
	assert_int_equal(rig.server->store.foreign_touched, 0);
	rig_close(&rig);
}

/* A deletion from a missing zone is a success; that a zone is missing is what a read finds. */
static void missing_zone_is_found(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	struct wish *wish = make_reading(&rig, "a.example.org", NULL, PROVIDER_GUARD_NONE, NULL);
	wait_wish(&rig, wish, 1000);
	assert_null(wish->request.found);
	expect_wish(&rig, wish, 0, PROVIDER_NO_ZONE);
	rig_close(&rig);
}

/* Reads and writes of one zone that come together: each is what it should be. */
static void reads_beside_writes(void **state)
{
	enum { COUNT = 40 };
	struct wish *wishes[COUNT];
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	for (int i = 0; i < COUNT; i++) {
		char name[64];
		snprintf(name, sizeof(name), "host%d.example.com", i);
		wishes[i] = i % 3 == 0 ? make_wish(&rig, name, "192.0.2.1", PROVIDER_GUARD_ABSENT)
				       : make_reading(&rig, name, "192.0.2.1",
						      PROVIDER_GUARD_ABSENT, NULL);
	}
	for (int i = 0; i < COUNT; i++) {
		wait_wish(&rig, wishes[i], 5000);
		assert_int_equal(wishes[i]->request.n_found, i % 3 != 0);
		assert_string_equal(stored_value(&rig, wishes[i]->names[0]),
				    i % 3 == 0 ? "192.0.2.1" : "");
		expect_wish(&rig, wishes[i], 0, PROVIDER_OK);
	}
	rig_close(&rig);
}

static enum memory_fault refuse_second_read(void *ctx, const struct provider_job *job)
{
	unsigned *reads = ctx;
	if (job->kind != PROVIDER_READ || ++*reads != 2)
		return MEMORY_NO_FAULT;
	return MEMORY_UNAVAILABLE;
}

/* A read that fails for now is repeated, and the others go on. */
static void passing_fault_of_a_read(void **state)
{
	struct wish *wishes[3];
	unsigned reads = 0;
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	rig.server->fault = refuse_second_read;
	rig.server->ctx = &reads;
	for (int i = 0; i < 3; i++) {
		char name[64];
		snprintf(name, sizeof(name), "host%d.example.com", i);
		wishes[i] = make_reading(&rig, name, "192.0.2.1", PROVIDER_GUARD_ABSENT, NULL);
	}
	for (int i = 0; i < 3; i++)
		expect_found(&rig, wishes[i], PROVIDER_OK, NULL);
	assert_int_equal(reads, 4);
	rig_close(&rig);
}

static void end_with_reads_under_way(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	rig.server->latency_ns = NS_PER_S;
	struct wish *wish = make_reading(&rig, "a.example.com", NULL, PROVIDER_GUARD_NONE, NULL);
	struct wish *other = make_reading(&rig, "b.example.com", NULL, PROVIDER_GUARD_NONE, NULL);
	run_ms(&rig, 2100);
	publisher_cancel(rig.publisher, &wish->request);
	rig_close(&rig);
	free_wish(wish);
	free_wish(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_found),
		cmocka_unit_test(missing_zone_is_found),
		cmocka_unit_test(reads_beside_writes),
		cmocka_unit_test(passing_fault_of_a_read),
		cmocka_unit_test(end_with_reads_under_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
