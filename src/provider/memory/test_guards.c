/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Guards of the publisher on the provider in memory: whose a record set is, by its mark or by its values, and
 * writes that depend on what was there. */
#include "provider/memory/test_rig.h"

/* What a set has at the provider, as its mark and its value, and whether it is ours. With guards of the
 * provider and with ours. */
static void marks_decide(void **state)
{
	static const struct {
		const char *mark, *value;
		bool may_lack_mark;
		bool has_marks;
		enum provider_code want;
	} rows[] = {
		{ NULL, NULL, false, true, PROVIDER_OK },
		{ "me", "198.51.100.1", false, true, PROVIDER_OK }, /* the status was lost */
		{ "you", "192.0.2.7", true, true, PROVIDER_CONFLICT },
		{ "you", "192.0.2.1", true, true, PROVIDER_CONFLICT },
		{ NULL, "192.0.2.7", false, true, PROVIDER_CONFLICT },
		{ NULL, "192.0.2.7", true, true, PROVIDER_OK }, /* of before there were marks */
		{ NULL, "192.0.2.8", true, true, PROVIDER_CONFLICT },
		{ NULL, "192.0.2.7", false, false, PROVIDER_OK },
		{ NULL, "192.0.2.8", false, false, PROVIDER_CONFLICT },
	};
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		bool has_guards = i % 2 == 1, has_marks = rows[i / 2].has_marks;
		struct provider_caps caps = { .is_atomic = true,
					      .has_guards = has_guards,
					      .has_owner_mark = has_marks,
					      .batch_changes = 10 };
		static const char *const before[] = { "192.0.2.7" };
		const char *value = rows[i / 2].value;
		struct rig rig;
		rig_open(&rig, &caps);
		rig.server->ignores_guards = !has_guards;
		struct provider_rrset set = { .name = "a.example.com",
					      .type = DNS_TYPE_A,
					      .ttl_s = 60,
					      .values = &value,
					      .n_values = value != NULL,
					      .owner = rows[i / 2].mark };
		memory_store_put(&rig.server->store, "Z1", &set, false);
		struct wish *wish = xcalloc(1, sizeof(*wish));
		add_edit(wish, DNS_TYPE_A, "a.example.com", "192.0.2.1", PROVIDER_GUARD_OWNED);
		wish->edits[0].set.owner = "me";
		wish->edits[0].may_lack_mark = rows[i / 2].may_lack_mark;
		wish->edits[0].before = (struct provider_rrset){ .name = "a.example.com",
								 .type = DNS_TYPE_A,
								 .ttl_s = 60,
								 .values = before,
								 .n_values = value != NULL };
		wish->request.maybe_applied = has_marks;
		submit_wish(&rig, wish);
		expect_wish(&rig, wish, 5000, rows[i / 2].want);
		const struct provider_rrset *now =
			memory_store_get(&rig.server->store, "Z1", "a.example.com", DNS_TYPE_A);
		if (rows[i / 2].want == PROVIDER_OK && has_marks)
			assert_string_equal(now->owner, "me");
		else if (rows[i / 2].want == PROVIDER_CONFLICT)
			assert_string_equal(now->values[0], value);
		rig_close(&rig);
	}
}

static void submit_swap(struct rig *rig, const char *before, const char *value,
			enum provider_code code)
{
	struct wish *wish = xcalloc(1, sizeof(*wish));
	const char *values[] = { before };
	add_edit(wish, DNS_TYPE_A, "a.example.com", value, PROVIDER_GUARD_EQUAL);
	wish->edits[0].before = (struct provider_rrset){ .name = "a.example.com",
							 .type = DNS_TYPE_A,
							 .ttl_s = 120,
							 .values = values,
							 .n_values = 1 };
	submit_wish(rig, wish);
	expect_wish(rig, wish, 1000, code);
}

static void compare_and_swap(void **state)
{
	(void)state;
	for (int has_guards = 0; has_guards < 2; has_guards++) {
		struct provider_caps caps = { .is_atomic = true, .has_guards = has_guards };
		struct rig rig;
		rig_open(&rig, &caps);
		rig.server->ignores_guards = !has_guards;
		expect_wish(&rig,
			    make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT),
			    100, PROVIDER_OK);
		submit_swap(&rig, "192.0.2.9", "192.0.2.2", PROVIDER_CONFLICT);
		submit_swap(&rig, "192.0.2.1", "192.0.2.2", PROVIDER_OK);
		assert_string_equal(stored_value(&rig, "a.example.com"), "192.0.2.2");
		submit_swap(&rig, "192.0.2.1", NULL, PROVIDER_CONFLICT); /* a stranger's now */
		submit_swap(&rig, "192.0.2.2", NULL, PROVIDER_OK);
		submit_swap(&rig, "192.0.2.2", NULL, PROVIDER_OK); /* DR-46: missing already */
		assert_string_equal(stored_value(&rig, "a.example.com"), "");
		rig_close(&rig);
	}
}

/* DR-12, 2.11: another type at the name, in one change. */
static void type_changes_in_one_write(void **state)
{
	struct rig rig;
	struct wish *wish = xcalloc(1, sizeof(*wish));
	(void)state;
	rig_open(&rig, NULL);
	expect_wish(&rig, make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT), 50,
		    PROVIDER_OK);
	unsigned before = rig.server->ledger.calls[PROVIDER_APPLY];
	add_edit(wish, DNS_TYPE_A, "a.example.com", NULL, PROVIDER_GUARD_NONE);
	add_edit(wish, DNS_TYPE_CNAME, "a.example.com", "b.example.com", PROVIDER_GUARD_ABSENT);
	submit_wish(&rig, wish);
	expect_wish(&rig, wish, 50, PROVIDER_OK);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_APPLY], before + 1);
	assert_string_equal(stored_value(&rig, "a.example.com"), "");
	rig_close(&rig);
}

struct rival {
	enum memory_fault fault;
	unsigned n_writes;
};

/* The first write fails, and another writer takes the name before the next one. */
static enum memory_fault fail_first(void *ctx, const struct provider_job *job)
{
	struct rival *rival = ctx;
	if (job->kind != PROVIDER_APPLY)
		return MEMORY_NO_FAULT;
	return rival->n_writes++ == 0 ? rival->fault : MEMORY_NO_FAULT;
}

/* A provider without guards: what was read before a write that failed says nothing about the next try. */
static void retries_are_guarded(void **state)
{
	static const struct {
		enum memory_fault fault;
		enum provider_guard guard;
		bool is_taken; /* by another writer meanwhile */
		unsigned n_writes;
	} rows[] = {
		{ MEMORY_UNAVAILABLE, PROVIDER_GUARD_OWNED, true, 1 },
		{ MEMORY_LOST_BEFORE, PROVIDER_GUARD_OWNED, true, 1 },
		{ MEMORY_LOST_AFTER, PROVIDER_GUARD_OWNED, true, 1 },
		{ MEMORY_THROTTLE, PROVIDER_GUARD_OWNED, true, 1 },
		{ MEMORY_UNAVAILABLE, PROVIDER_GUARD_ABSENT, true, 1 },
		{ MEMORY_LOST_BEFORE, PROVIDER_GUARD_ABSENT, true, 1 },
		{ MEMORY_UNAVAILABLE, PROVIDER_GUARD_OWNED, false, 2 },
		{ MEMORY_LOST_BEFORE, PROVIDER_GUARD_OWNED, false, 2 },
		{ MEMORY_LOST_AFTER, PROVIDER_GUARD_OWNED, false, 1 }, /* it is there */
		{ MEMORY_LOST_AFTER, PROVIDER_GUARD_ABSENT, false, 1 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct provider_caps caps = { .is_atomic = true,
					      .has_owner_mark = true,
					      .batch_changes = 10,
					      .read_changes = 10 };
		const char *value = "198.51.100.1";
		struct provider_rrset theirs = { .name = "a.example.com",
						 .type = DNS_TYPE_A,
						 .ttl_s = 60,
						 .values = &value,
						 .n_values = 1,
						 .owner = "you" };
		struct rig rig;
		rig_open(&rig, &caps);
		struct rival rival = { rows[i].fault, 0 };
		rig.server->ignores_guards = true;
		rig.server->fault = fail_first;
		rig.server->ctx = &rival;
		struct wish *wish = xcalloc(1, sizeof(*wish));
		add_edit(wish, DNS_TYPE_A, "a.example.com", "192.0.2.1", rows[i].guard);
		wish->edits[0].set.owner = "me";
		submit_wish(&rig, wish);
		while (rival.n_writes == 0)
			run_ms(&rig, 1);
		run_ms(&rig, 2);
		if (rows[i].is_taken)
			memory_store_put(&rig.server->store, "Z1", &theirs, true);
		expect_wish(&rig, wish, 60000, rows[i].is_taken ? PROVIDER_CONFLICT : PROVIDER_OK);
		assert_string_equal(stored_value(&rig, "a.example.com"),
				    rows[i].is_taken ? value : "192.0.2.1");
		assert_int_equal(rival.n_writes, rows[i].n_writes);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_decide),
		cmocka_unit_test(compare_and_swap),
		cmocka_unit_test(type_changes_in_one_write),
		cmocka_unit_test(retries_are_guarded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
