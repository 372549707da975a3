/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The publisher on the provider in memory, with a clock of its own: batches, rates, isolation of bad
 * records, zones, guards, the lease. The figures are those of docs/providers.md. */
#include "provider/memory/test_rig.h"

#include <malloc.h>

#include "base/metrics/metrics.h"

/* As Route 53 documents itself: 5 calls a second, one change of a zone at a time, 500 UPSERTs. */
static const struct provider_caps route53 = {
	.is_atomic = true, .has_guards = true, .calls_per_s = 5, .burst = 5, .batch_changes = 500
};

static void limit_as_route53(struct rig *rig)
{
	rig->server->calls_per_s = 5;
	rig->server->burst = 5;
	rig->server->one_write = true;
	rig->server->latency_ns = 200 * NS_PER_MS;
	rig->server->settle_ns = 3 * NS_PER_S;
}

static struct wish *make_wishes(struct rig *rig, size_t count, enum provider_guard guard)
{
	struct wish *wishes = xcalloc(count, sizeof(*wishes));
	for (size_t i = 0; i < count; i++) {
		char name[64];
		snprintf(name, sizeof(name), "host%zu.example.com", i);
		add_edit(&wishes[i], DNS_TYPE_A, name, "192.0.2.1", guard);
		submit_wish(rig, &wishes[i]);
	}
	return wishes;
}

static size_t count_done(const struct wish *wishes, size_t count, enum provider_code code)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		n += wishes[i].done_ns != 0 && wishes[i].request.code == code;
	return n;
}

static size_t peak_bytes; /* on the heap */

static size_t wait_all(struct rig *rig, const struct wish *wishes, size_t count, unsigned limit_ms)
{
	unsigned ms = 0;
	peak_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		for (; wishes[i].done_ns == 0; ms++) {
			peak_bytes = MAX(peak_bytes, mallinfo2().uordblks);
			if (ms == limit_ms)
				fail_msg("%zu of %zu are not done after %u ms", count - i, count,
					 ms);
			run_ms(rig, 1);
		}
	}
	return ms;
}

static void free_wishes(struct wish *wishes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		publisher_request_release(&wishes[i].request);
	free(wishes);
}

/* ---- batches ---- */

static void single_record_waits_little(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	struct wish *wish = make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
	assert_int_equal(wish->done_ns, 0); /* never from inside */
	wait_wish(&rig, wish, 50);
	assert_int_equal(wish->n_sent, 1);
	assert_string_equal(wish->request.zone_id, "Z1");
	assert_null(wish->request.other_zones);
	expect_wish(&rig, wish, 0, PROVIDER_OK);
	assert_string_equal(stored_value(&rig, "a.example.com"), "192.0.2.1");
	rig_close(&rig);
}

/* DR-P1, DR-P2: as few calls as the largest batch allows, and one search for the zone. */
static void batches_are_full(void **state)
{
	static const size_t counts[] = { 1, 10, 1000, 10000 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct rig rig;
		size_t n = counts[i];
		rig_open(&rig, NULL);
		struct wish *wishes = make_wishes(&rig, n, PROVIDER_GUARD_ABSENT);
		wait_all(&rig, wishes, n, 5000);
		assert_int_equal(count_done(wishes, n, PROVIDER_OK), n);
		assert_int_equal(rig.server->ledger.calls[PROVIDER_APPLY], (n + 999) / 1000);
		assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 1);
		assert_int_equal(rig.server->ledger.calls[PROVIDER_READ], 0);
		free_wishes(wishes, n);
		rig_close(&rig);
	}
}

/* One every millisecond: nobody waits longer than the window and a call. */
static void stream_of_records(void **state)
{
	enum { COUNT = 1000 };
	struct rig rig;
	struct wish *wishes = xcalloc(COUNT, sizeof(*wishes));
	(void)state;
	rig_open(&rig, NULL);
	rig.server->latency_ns = 10 * NS_PER_MS;
	for (size_t i = 0; i < COUNT; i++) {
		char name[64];
		snprintf(name, sizeof(name), "host%zu.example.com", i);
		add_edit(&wishes[i], DNS_TYPE_A, name, "192.0.2.1", PROVIDER_GUARD_NONE);
		wishes[i].request.zone = "Z1";
		submit_wish(&rig, &wishes[i]);
		run_ms(&rig, 1);
	}
	wait_all(&rig, wishes, COUNT, 1000);
	for (size_t i = 0; i < COUNT; i++)
		assert_true(wishes[i].done_ns - wishes[i].submitted_ns <= 275 * NS_PER_MS);
	assert_in_range(rig.server->ledger.calls[PROVIDER_APPLY], 2, 5);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 0); /* DR-16 */
	free_wishes(wishes, COUNT);
	rig_close(&rig);
}

/* DR-P3: within the documented rate, without one throttled call. */
static void many_at_route53s_rate(void **state)
{
	static const struct {
		size_t count;
		unsigned limit_ms;
	} rows[] = { { 1000, 60000 }, { 10000, 300000 } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rig rig;
		size_t n = rows[i].count;
		rig_open(&rig, &route53);
		limit_as_route53(&rig);
		size_t before = mallinfo2().uordblks;
		struct wish *wishes = make_wishes(&rig, n, PROVIDER_GUARD_ABSENT);
		size_t ms = wait_all(&rig, wishes, n, rows[i].limit_ms);
		/* Sanitizers do not count. */
		size_t held = peak_bytes > before ? peak_bytes - before - n * sizeof(*wishes) : 0;
		assert_int_equal(count_done(wishes, n, PROVIDER_OK), n);
		assert_in_range(rig.server->ledger.calls[PROVIDER_APPLY], 1, (n + 499) / 500 + 2);
		assert_int_equal(rig.server->ledger.throttled, 0);
		assert_int_equal(rig.server->ledger.overlaps, 0);
		print_message("%zu records: %zu ms, %u writes, %u other calls, %zu bytes each\n", n,
			      ms, rig.server->ledger.calls[PROVIDER_APPLY],
			      rig.server->ledger.calls[PROVIDER_FIND_ZONES] +
				      rig.server->ledger.calls[PROVIDER_SETTLE],
			      held / n);
		assert_true(held / n < 1000); /* 10 000 in 10 MB */
		free_wishes(wishes, n);
		rig_close(&rig);
	}
}

/* DR-P9: done when it has taken effect. */
static void waits_until_settled(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	rig.server->settle_ns = 5 * NS_PER_S;
	struct wish *wish = make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_NONE);
	run_ms(&rig, 4900);
	assert_int_equal(wish->done_ns, 0);
	expect_wish(&rig, wish, 5000, PROVIDER_OK);
	rig.server->settle_ns = 3600 * NS_PER_S;
	expect_wish(&rig, make_wish(&rig, "b.example.com", "192.0.2.1", PROVIDER_GUARD_NONE), 70000,
		    PROVIDER_UNSURE);
	rig_close(&rig);
}

/* DR-P9: accepted, and reads do not show it. Others of the batch do not wait for it. */
static void reads_lag_behind_writes(void **state)
{
	struct memory_store shown;
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	memory_store_init(&shown);
	const char *value = "192.0.2.2";
	struct provider_rrset seen = { .name = "seen.example.com",
				       .type = DNS_TYPE_A,
				       .ttl_s = 120,
				       .values = &value,
				       .n_values = 1 };
	memory_store_put(&shown, "Z1", &seen, false);
	rig.server->shown = &shown;
	struct wish *late = make_wish(&rig, "late.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
	struct wish *other = make_wish(&rig, "seen.example.com", value, PROVIDER_GUARD_ABSENT);
	expect_wish(&rig, other, 1000, PROVIDER_OK);
	run_ms(&rig, 30000);
	assert_int_equal(late->done_ns, 0);
	rig.server->shown = NULL;
	expect_wish(&rig, late, 5000, PROVIDER_OK);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_APPLY], 1);
	/* One that nobody waits for does not hold up the next of its name. */
	rig.server->shown = &shown;
	late = make_wish(&rig, "gone.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
	run_ms(&rig, 3000);
	publisher_cancel(rig.publisher, &late->request);
	free_wish(late);
	late = make_wish(&rig, "gone.example.com", NULL, PROVIDER_GUARD_NONE);
	expect_wish(&rig, late, 5000, PROVIDER_OK);
	/* Never: it is not known what became of it. */
	rig.server->shown = &shown;
	late = make_wish(&rig, "never.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
	wait_wish(&rig, late, 60000);
	assert_int_equal(late->request.code, PROVIDER_UNSURE);
	assert_string_equal(late->request.error, "'never.example.com' is not shown");
	free_wish(late);
	/* After a restart the write is refused, and reads do not show why. */
	static const bool ends[] = { false, true };
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		late = xcalloc(1, sizeof(*late));
		add_edit(late, DNS_TYPE_A, "never.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
		late->request.maybe_applied = true;
		late->request.patience_ns = 20 * NS_PER_S;
		rig.server->shown = &shown;
		submit_wish(&rig, late);
		run_ms(&rig, 10000);
		assert_int_equal(late->done_ns, 0);
		rig.server->shown = ends[i] ? NULL : &shown;
		wait_wish(&rig, late, 20000);
		assert_int_equal(late->request.code, ends[i] ? PROVIDER_OK : PROVIDER_UNSURE);
		free_wish(late);
	}
	/* A deletion that was accepted may still be shown; that of another set is no deletion. */
	memory_store_put(&shown, "Z1", &seen, false);
	rig.server->shown = &shown;
	struct wish *drop = xcalloc(1, sizeof(*drop));
	add_edit(drop, DNS_TYPE_A, "seen.example.com", NULL, PROVIDER_GUARD_NONE);
	submit_wish(&rig, drop);
	run_ms(&rig, 30000);
	assert_int_equal(drop->done_ns, 0);
	rig.server->shown = NULL;
	expect_wish(&rig, drop, 5000, PROVIDER_OK);
	memory_store_done(&shown);
	rig_close(&rig);
}

static void limits_by_records_and_bytes(void **state)
{
	struct provider_caps caps = {
		.is_atomic = true, .has_guards = true, .batch_changes = 1000, .batch_bytes = 30 * 25
	};
	struct rig rig;
	(void)state;
	rig_open(&rig, &caps);
	struct wish *wishes = make_wishes(&rig, 100, PROVIDER_GUARD_ABSENT);
	wait_all(&rig, wishes, 100, 5000);
	assert_in_range(rig.server->ledger.largest, 20, 30);
	free_wishes(wishes, 100);
	rig_close(&rig);
}

/* ---- bad records ---- */

static unsigned ceil_log2(size_t n)
{
	unsigned bits = 0;
	while (((size_t)1 << bits) < n)
		bits++;
	return bits;
}

/* Bad ones at multiples of `step`; how many writes it took. */
static unsigned publish_with_bad(size_t n, size_t first, size_t step, size_t bad, bool hides_bad)
{
	struct rig rig;
	rig_open(&rig, NULL);
	rig.server->hides_bad = hides_bad;
	struct wish *wishes = xcalloc(n, sizeof(*wishes));
	for (size_t i = 0; i < n; i++) {
		char name[64];
		bool is_bad = i >= first && (i - first) % step == 0 && (i - first) / step < bad;
		snprintf(name, sizeof(name), "host%zu.example.com", i);
		add_edit(&wishes[i], DNS_TYPE_A, name, is_bad ? "300.1.1.1" : "192.0.2.1",
			 PROVIDER_GUARD_ABSENT);
		submit_wish(&rig, &wishes[i]);
	}
	wait_all(&rig, wishes, n, 200000);
	assert_int_equal(count_done(wishes, n, PROVIDER_OK), n - bad);
	assert_int_equal(count_done(wishes, n, PROVIDER_INVALID), bad);
	for (size_t i = 0; i < n; i++) {
		bool is_bad = wishes[i].texts[0][0] == '3';
		assert_int_equal(wishes[i].request.code == PROVIDER_INVALID, is_bad);
		if (is_bad)
			assert_non_null(strstr(wishes[i].request.error, "300.1.1.1"));
	}
	unsigned calls = rig.server->ledger.calls[PROVIDER_APPLY];
	free_wishes(wishes, n);
	rig_close(&rig);
	return calls;
}

/* DR-P4: a binary search for each, and few calls for those between them. */
static void bad_records_are_isolated(void **state)
{
	static const size_t sizes[] = { 2, 3, 10, 500, 512, 1000 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		size_t n = sizes[i];
		unsigned bits = ceil_log2(n);
		for (size_t at = 0; at < n; at += MAX(n / 7, (size_t)1))
			assert_in_range(publish_with_bad(n, at, n, 1, true), 1, 2 + bits);
		if (n < 500)
			continue;
		for (size_t bad = 2; bad <= 16; bad *= 2) {
			unsigned calls = publish_with_bad(n, 3, n / bad, bad, true);
			assert_in_range(calls, 1, 4 + bad * bits);
			calls = publish_with_bad(n, n / 2, 1, bad, true); /* side by side */
			assert_in_range(calls, 1, 4 + bad * bits);
		}
	}
}

static void named_bad_records_cost_one_call(void **state)
{
	(void)state;
	assert_int_equal(publish_with_bad(500, 3, 50, 10, false), 2);
}

static void all_records_are_bad(void **state)
{
	(void)state;
	assert_in_range(publish_with_bad(256, 0, 1, 256, true), 256, 2 * 256);
}

/* ---- accounts ---- */

static enum memory_fault give_fault(void *ctx, const struct provider_job *job)
{
	(void)job;
	return *(const enum memory_fault *)ctx;
}

/* DR-P10: Retry-After holds for all calls of the account; the rate halves, and grows again. */
static void throttling_pauses_the_account(void **state)
{
	enum memory_fault fault = MEMORY_THROTTLE;
	struct rig rig;
	(void)state;
	rig_open(&rig, &route53);
	rig.server->fault = give_fault;
	rig.server->ctx = &fault;
	rig.server->retry_after_ns = 7 * NS_PER_S;
	struct wish *wish = make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_NONE);
	run_ms(&rig, 6900);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 1);
	assert_int_equal(wish->done_ns, 0); /* DR-44a: no error, it goes on */
	fault = MEMORY_NO_FAULT;
	expect_wish(&rig, wish, 2000, PROVIDER_OK);
	rig_close(&rig);
}

static int compare_times(const void *left, const void *right)
{
	uint64_t left_ns = *(const uint64_t *)left, right_ns = *(const uint64_t *)right;
	return left_ns < right_ns ? -1 : left_ns > right_ns;
}

/* p99 of 200 single records in the account of `server`, beside 500 of the first account. */
static uint64_t measure_beside(struct rig *rig, enum memory_fault fault)
{
	enum { COUNT = 200 };
	static uint64_t took[COUNT];
	struct memory_server *second = memory_server_get("second");
	memory_store_add_zone(&second->store, "Z2", "example.net", false);
	second->latency_ns = 30 * NS_PER_MS;
	rig->server->fault = give_fault;
	rig->server->ctx = &fault;
	struct publisher_account *account = open_rig_account(rig, "second");
	struct wish *others = make_wishes(rig, 500, PROVIDER_GUARD_NONE);
	for (size_t i = 0; i < COUNT; i++) {
		struct wish *wish = xcalloc(1, sizeof(*wish));
		add_edit(wish, DNS_TYPE_A, "a.example.net", "192.0.2.1", PROVIDER_GUARD_NONE);
		wish->request.account = account;
		submit_wish(rig, wish);
		wait_wish(rig, wish, 10000);
		took[i] = wish->done_ns - wish->submitted_ns;
		free_wish(wish);
	}
	for (size_t i = 0; i < 500; i++)
		publisher_cancel(rig->publisher, &others[i].request);
	free_wishes(others, 500);
	run_ms(rig, 40000); /* a call that hangs ends by its time */
	publisher_account_unref(account);
	rig->server->fault = NULL;
	qsort(took, COUNT, sizeof(*took), compare_times);
	return took[COUNT * 99 / 100];
}

/* DR-39: one that cannot be done in its time says why. */
static void patience_ends(void **state)
{
	static const struct {
		enum memory_fault fault;
		enum provider_code code;
	} rows[] = { { MEMORY_THROTTLE, PROVIDER_THROTTLED },
		     { MEMORY_UNAVAILABLE, PROVIDER_TRANSIENT },
		     { MEMORY_HANG, PROVIDER_UNSURE },
		     { MEMORY_LOST_BEFORE, PROVIDER_UNSURE } };
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		enum memory_fault fault = rows[i / 2].fault;
		bool is_found = i % 2 == 0; /* else the search for the zone meets the fault */
		enum provider_code code = rows[i / 2].code;
		struct wish *wishes[2];
		struct rig rig;
		rig_open(&rig, &route53);
		rig.server->fault = give_fault;
		rig.server->ctx = &fault;
		for (size_t j = 0; j < 2; j++) { /* the second waits for the first */
			wishes[j] = xcalloc(1, sizeof(*wishes[j]));
			add_edit(wishes[j], DNS_TYPE_A, "a.example.com", "192.0.2.1",
				 PROVIDER_GUARD_ABSENT);
			wishes[j]->request.zone = is_found ? "Z1" : NULL;
			wishes[j]->request.patience_ns = 20 * NS_PER_S;
			submit_wish(&rig, wishes[j]);
		}
		wait_wish(&rig, wishes[0], 70000);
		wait_wish(&rig, wishes[1], 70000);
		if (!is_found && code == PROVIDER_UNSURE)
			/* Nothing was written; whether the provider can be reached is not known. */
			code = fault == MEMORY_HANG ? PROVIDER_THROTTLED : PROVIDER_TRANSIENT;
		assert_int_equal(wishes[0]->request.code, code);
		assert_true(wishes[0]->done_ns - wishes[0]->submitted_ns <= 61 * NS_PER_S);
		assert_int_not_equal(wishes[1]->request.code, PROVIDER_OK);
		assert_non_null(wishes[1]->request.error);
		free_wish(wishes[0]);
		free_wish(wishes[1]);
		rig_close(&rig);
	}
}

static enum memory_fault lose_writes(void *ctx, const struct provider_job *job)
{
	(void)ctx;
	return job->kind == PROVIDER_APPLY ? MEMORY_LOST_BEFORE : MEMORY_NO_FAULT;
}

/* Reads work, but each write is lost: that is not tried for ever. */
static void patience_with_lost_writes(void **state)
{
	static const enum provider_guard guards[] = { PROVIDER_GUARD_NONE, PROVIDER_GUARD_ABSENT };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
		struct rig rig;
		rig_open(&rig, NULL);
		rig.server->fault = lose_writes;
		struct wish *wish = xcalloc(1, sizeof(*wish));
		wish->request.patience_ns = 20 * NS_PER_S;
		add_edit(wish, DNS_TYPE_A, "a.example.com", "192.0.2.1", guards[i]);
		submit_wish(&rig, wish);
		expect_wish(&rig, wish, 70000, PROVIDER_UNSURE);
		rig_close(&rig);
	}
}

/* DR-P10: the account beside it does not notice. */
static void dead_account_delays_no_other(void **state)
{
	static const enum memory_fault faults[] = { MEMORY_THROTTLE, MEMORY_HANG,
						    MEMORY_UNAVAILABLE, MEMORY_DENY };
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	uint64_t alone = measure_beside(&rig, MEMORY_NO_FAULT);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		assert_true(measure_beside(&rig, faults[i]) * 10 <= alone * 11);
	publisher_account_unref(rig.account);
	rig.account = NULL;
	run_ms(&rig, PUBLISHER_IDLE_S * 1000 + 1000); /* both are closed: nobody uses the second */
	memory_server_free(memory_server_get("second"));
	rig_close(&rig);
}

/* DR-P11: one call, then everything that waits has the same result. */
static void refused_credentials_end_all(void **state)
{
	enum { COUNT = 3000 };
	enum memory_fault fault = MEMORY_DENY;
	struct rig rig;
	(void)state;
	rig_open(&rig, &route53);
	rig.server->fault = give_fault;
	rig.server->ctx = &fault;
	struct wish *wishes = make_wishes(&rig, COUNT, PROVIDER_GUARD_NONE);
	wait_all(&rig, wishes, COUNT, 1000);
	assert_int_equal(count_done(wishes, COUNT, PROVIDER_UNAUTHENTICATED), COUNT);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 1);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_APPLY], 0);
	assert_string_equal(provider_code_gardener(wishes[0].request.code),
			    "ERR_INFRA_UNAUTHENTICATED");
	free_wishes(wishes, COUNT);
	rig_close(&rig);
}

static void idle_account_is_closed(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	struct publisher_account *same = open_rig_account(&rig, "first");
	assert_ptr_equal(same, rig.account);
	publisher_account_unref(same);
	run_ms(&rig, PUBLISHER_IDLE_S * 1000 + 1000); /* in use: it stays */
	expect_wish(&rig, make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_NONE), 50,
		    PROVIDER_OK);
	/* DR-P8: settled records cost nothing. */
	struct memory_ledger before = rig.server->ledger;
	run_ms(&rig, 600000);
	assert_memory_equal(&before, &rig.server->ledger, sizeof(before));
	publisher_account_unref(rig.account);
	run_ms(&rig, PUBLISHER_IDLE_S * 1000 + 1000);
	rig.account = open_rig_account(&rig, "first");
	rig_close(&rig);
}

/* New work is sent first, periodic work with it if there is room. */
static void new_work_goes_first(void **state)
{
	struct provider_caps caps = route53;
	struct rig rig;
	struct wish *periodic[4], *urgent;
	(void)state;
	caps.batch_changes = 1;
	caps.calls_per_s = 1;
	caps.burst = 1;
	rig_open(&rig, &caps);
	for (size_t i = 0; i < ARRAY_LEN(periodic); i++) {
		char name[64];
		snprintf(name, sizeof(name), "p%zu.example.com", i);
		periodic[i] = xcalloc(1, sizeof(*periodic[i]));
		add_edit(periodic[i], DNS_TYPE_A, name, "192.0.2.1", PROVIDER_GUARD_NONE);
		periodic[i]->request.priority = PUBLISHER_PERIODIC;
		submit_wish(&rig, periodic[i]);
	}
	urgent = make_wish(&rig, "new.example.com", "192.0.2.1", PROVIDER_GUARD_NONE);
	wait_wish(&rig, urgent, 10000);
	for (size_t i = 0; i < ARRAY_LEN(periodic); i++)
		assert_int_equal(periodic[i]->done_ns, 0);
	for (size_t i = 0; i < ARRAY_LEN(periodic); i++)
		expect_wish(&rig, periodic[i], 10000, PROVIDER_OK);
	free_wish(urgent);
	rig_close(&rig);
}

/* A zone with periodic work has its turn even if the account never rests. */
static void periodic_work_is_not_forgotten(void **state)
{
	enum { COUNT = 100 };
	struct provider_caps caps = { .is_atomic = true,
				      .has_guards = true,
				      .calls_per_s = 1,
				      .burst = 1,
				      .batch_changes = 1 };
	struct rig rig;
	struct wish *periodic = xcalloc(1, sizeof(*periodic));
	(void)state;
	rig_open(&rig, &caps);
	memory_store_add_zone(&rig.server->store, "Z2", "example.net", false);
	add_edit(periodic, DNS_TYPE_A, "p.example.net", "192.0.2.1", PROVIDER_GUARD_NONE);
	periodic->request.priority = PUBLISHER_PERIODIC;
	periodic->request.zone = "Z2";
	struct wish *wishes = make_wishes(&rig, COUNT, PROVIDER_GUARD_NONE);
	submit_wish(&rig, periodic);
	run_ms(&rig, PUBLISHER_PERIODIC_MAX_S * 1000 - 1000);
	assert_int_equal(periodic->done_ns, 0);
	expect_wish(&rig, periodic, 3000, PROVIDER_OK);
	assert_true(count_done(wishes, COUNT, PROVIDER_OK) < COUNT / 2);
	wait_all(&rig, wishes, COUNT, 200000);
	free_wishes(wishes, COUNT);
	rig_close(&rig);
}

/* ---- lost replies ---- */

/* The first write meets the fault, the others do not. */
static enum memory_fault fault_once(void *ctx, const struct provider_job *job)
{
	enum memory_fault *fault = ctx, now = *fault;
	if (job->kind != PROVIDER_APPLY)
		return MEMORY_NO_FAULT;
	*fault = MEMORY_NO_FAULT;
	return now;
}

/* A creation that was applied is not taken for another writer's (DR-47). */
static void lost_replies_are_looked_up(void **state)
{
	static const enum memory_fault faults[] = { MEMORY_LOST_BEFORE, MEMORY_LOST_AFTER,
						    MEMORY_HANG };
	enum { COUNT = 300 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		enum memory_fault fault = faults[i];
		struct rig rig;
		rig_open(&rig, NULL);
		rig.server->fault = fault_once;
		rig.server->ctx = &fault;
		struct wish *wishes = make_wishes(&rig, COUNT, PROVIDER_GUARD_ABSENT);
		wait_all(&rig, wishes, COUNT, 60000);
		assert_int_equal(count_done(wishes, COUNT, PROVIDER_OK), COUNT);
		assert_int_equal(rig.server->ledger.changes, COUNT); /* once each */
		assert_int_equal(rig.server->ledger.calls[PROVIDER_READ],
				 faults[i] == MEMORY_LOST_BEFORE ? 1 : 3);
		free_wishes(wishes, COUNT);
		rig_close(&rig);
	}
}

/* After a restart the caller does not know: what is as wanted is ours. */
static void earlier_write_is_recognized(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	expect_wish(&rig, make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT), 50,
		    PROVIDER_OK);
	struct wish *wish = xcalloc(1, sizeof(*wish));
	wish->request.maybe_applied = true;
	add_edit(wish, DNS_TYPE_A, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
	submit_wish(&rig, wish);
	expect_wish(&rig, wish, 100, PROVIDER_OK);
	expect_wish(&rig, make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT), 100,
		    PROVIDER_CONFLICT);
	rig_close(&rig);
}

/* A provider without marks: nothing is missing when a lost reply is looked up. */
static void marks_need_a_place(void **state)
{
	struct provider_caps caps = { .is_atomic = true, .has_guards = true, .batch_changes = 10 };
	enum memory_fault fault = MEMORY_LOST_AFTER;
	struct rig rig;
	(void)state;
	rig_open(&rig, &caps);
	rig.server->fault = fault_once;
	rig.server->ctx = &fault;
	struct wish *wish = xcalloc(1, sizeof(*wish));
	add_edit(wish, DNS_TYPE_A, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
	wish->edits[0].set.owner = "me";
	submit_wish(&rig, wish);
	expect_wish(&rig, wish, 5000, PROVIDER_OK);
	assert_null(memory_store_get(&rig.server->store, "Z1", "a.example.com", DNS_TYPE_A)->owner);
	assert_int_equal(rig.server->ledger.changes, 1);
	assert_false(publisher_account_has_owner_mark(rig.account));
	rig_close(&rig);
}

/* ---- guards ---- */

/* DR-P6, with guards of the provider and with ours: what others wrote stays. */
static void foreign_sets_stay(void **state)
{
	(void)state;
	for (int has_guards = 0; has_guards < 2; has_guards++) {
		struct provider_caps caps = { .is_atomic = true,
					      .has_guards = has_guards,
					      .batch_changes = 100,
					      .read_changes = 7 };
		struct rig rig;
		rig_open(&rig, &caps);
		rig.server->ignores_guards = !has_guards;
		put_foreign(&rig, "host7.example.com", "198.51.100.1");
		put_foreign(&rig, "host8.example.com", "192.0.2.1"); /* equal, but not ours */
		struct wish *wishes = make_wishes(&rig, 20, PROVIDER_GUARD_ABSENT);
		wait_all(&rig, wishes, 20, 2000);
		assert_int_equal(count_done(wishes, 20, PROVIDER_OK), 18);
		assert_int_equal(wishes[7].request.code, PROVIDER_CONFLICT);
		assert_int_equal(wishes[8].request.code, PROVIDER_CONFLICT);
		assert_string_equal(stored_value(&rig, "host7.example.com"), "198.51.100.1");
		assert_int_equal(rig.server->store.foreign_touched, 0);
		if (!has_guards)
			assert_string_equal(
				wishes[7].request.error,
				"the A record set 'host7.example.com' exists and is not ours: "
				"\"198.51.100.1\" (TTL 60)");
		free_wishes(wishes, 20);
		rig_close(&rig);
	}
}

/* ---- order and cancellation ---- */

static void one_name_in_order(void **state)
{
	struct rig rig;
	struct wish *wishes[5];
	(void)state;
	rig_open(&rig, NULL);
	rig.server->latency_ns = 30 * NS_PER_MS;
	for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
		char value[32];
		snprintf(value, sizeof(value), "192.0.2.%zu", i);
		wishes[i] = make_wish(&rig, "a.example.com", value, PROVIDER_GUARD_NONE);
	}
	run_ms(&rig, 60); /* the zone is found, the first write is sent */
	publisher_cancel(rig.publisher, &wishes[1]->request);
	publisher_cancel(rig.publisher, &wishes[0]->request); /* under way: applied all the same */
	wait_wish(&rig, wishes[4], 1000);
	assert_int_equal(wishes[0]->done_ns, 0);
	assert_int_equal(wishes[1]->done_ns, 0);
	assert_true(wishes[2]->done_ns < wishes[3]->done_ns);
	assert_true(wishes[3]->done_ns < wishes[4]->done_ns);
	assert_string_equal(stored_value(&rig, "a.example.com"), "192.0.2.4");
	for (size_t i = 0; i < ARRAY_LEN(wishes); i++)
		free_wish(wishes[i]);
	rig_close(&rig);
}

static void end_with_work_under_way(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, &route53);
	limit_as_route53(&rig);
	struct wish *wishes = make_wishes(&rig, 1200, PROVIDER_GUARD_ABSENT);
	run_ms(&rig, 600);
	struct wish *searched = make_wish(&rig, "a.example.org", "192.0.2.1", PROVIDER_GUARD_NONE);
	publisher_account_unref(rig.account);
	publisher_free(rig.publisher);
	rig.publisher = NULL;
	rig.account = NULL;
	assert_null(wishes[0].request.entry);
	assert_null(searched->request.entry);
	assert_int_equal(count_done(wishes, 1200, PROVIDER_OK), 0);
	free_wish(searched);
	free_wishes(wishes, 1200);
	rig_close(&rig);
}

/* ---- zones ---- */

static void expect_zone(struct rig *rig, const char *name, const char *zone, const char *others)
{
	struct wish *wish = make_wish(rig, name, "192.0.2.1", PROVIDER_GUARD_NONE);
	wait_wish(rig, wish, 3000);
	if (zone == NULL) {
		assert_int_equal(wish->request.code, PROVIDER_NO_ZONE);
		assert_null(wish->request.zone_id);
	} else {
		assert_int_equal(wish->request.code, PROVIDER_OK);
		assert_string_equal(wish->request.zone_id, zone);
	}
	if (others != NULL)
		assert_string_equal(wish->request.other_zones, others);
	else
		assert_null(wish->request.other_zones);
	free_wish(wish);
}

/* DR-15, DR-18, DR-19, and DR-P2: each page once. */
static void zones_over_pages(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	memory_store_add_zone(&rig.server->store, "Z2", "sub.example.com", false);
	memory_store_add_zone(&rig.server->store, "Z3", "example.net", true);
	memory_store_add_zone(&rig.server->store, "Z5", "example.net", false);
	memory_store_add_zone(&rig.server->store, "Z4", "Example.NET.", false);
	free(rig.server->store.zones.v[4].name);
	rig.server->store.zones.v[4].name = xstrdup("example.net");
	rig.server->zones_per_page = 2;
	expect_zone(&rig, "a.sub.example.com", "Z2", NULL);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 3);
	expect_zone(&rig, "sub.example.com", "Z2", NULL);
	expect_zone(&rig, "a.asub.example.com", "Z1", NULL);
	expect_zone(&rig, "a.example.net", "Z4", "Z3 Z5");
	expect_zone(&rig, "a.badexample.org", NULL, NULL);
	expect_zone(&rig, "badexample.com", NULL, NULL);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 3);
	run_ms(&rig, 61000); /* asked again after a minute */
	expect_zone(&rig, "badexample.com", NULL, NULL);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 6);
	/* Many for one name end one after the other, not inside each other. */
	struct wish *wishes = xcalloc(20000, sizeof(*wishes));
	for (size_t i = 0; i < 20000; i++) {
		add_edit(&wishes[i], DNS_TYPE_A, "badexample.com", "192.0.2.1",
			 PROVIDER_GUARD_NONE);
		submit_wish(&rig, &wishes[i]);
	}
	wait_all(&rig, wishes, 20000, 60000);
	free_wishes(wishes, 20000);
	rig_close(&rig);
}

static void zones_by_name(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	rig.server->finds_one = true;
	expect_zone(&rig, "a.example.com", "Z1", NULL);
	expect_zone(&rig, "b.example.com", "Z1", NULL);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 1);
	expect_zone(&rig, "a.example.org", NULL, NULL);
	expect_zone(&rig, "a.example.org", NULL, NULL);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 2);
	rig_close(&rig);
}

static struct wish *put_in_zone(struct rig *rig, const char *name, const char *zone)
{
	struct wish *wish = xcalloc(1, sizeof(*wish));
	add_edit(wish, DNS_TYPE_A, name, "192.0.2.1", PROVIDER_GUARD_NONE);
	wish->request.zone = zone;
	wish->request.checks_zone = true;
	submit_wish(rig, wish);
	return wish;
}

static enum memory_fault deny_lists(void *ctx, const struct provider_job *job)
{
	(void)ctx;
	return job->kind == PROVIDER_FIND_ZONES ? MEMORY_DENY : MEMORY_NO_FAULT;
}

/* DR-17: nothing is written to a zone above that of the name. */
static void given_zones_are_checked(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	memory_store_add_zone(&rig.server->store, "Z2", "sub.example.com", false);
	expect_wish(&rig, put_in_zone(&rig, "a.sub.example.com", "Z1"), 1000, PROVIDER_OTHER_ZONE);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_APPLY], 0);
	expect_wish(&rig, put_in_zone(&rig, "a.sub.example.com", "Z2"), 1000, PROVIDER_OK);
	expect_wish(&rig, put_in_zone(&rig, "a.example.com", "Z1"), 1000, PROVIDER_OK);
	expect_wish(&rig, put_in_zone(&rig, "a.example.com", "Z9"), 1000, PROVIDER_NO_ZONE);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 1);
	/* A new zone is seen when the list is old. */
	memory_store_add_zone(&rig.server->store, "Z3", "a.example.com", false);
	run_ms(&rig, 5000);
	expect_wish(&rig, put_in_zone(&rig, "a.example.com", "Z1"), 1000, PROVIDER_OTHER_ZONE);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 2);
	/* Many for one name end one after the other, not inside each other. */
	struct wish *wishes[1000];
	for (size_t i = 0; i < ARRAY_LEN(wishes); i++)
		wishes[i] = put_in_zone(&rig, "a.example.com", "Z1");
	for (size_t i = 0; i < ARRAY_LEN(wishes); i++)
		expect_wish(&rig, wishes[i], 20000, PROVIDER_OTHER_ZONE);
	/* Without a list the provider decides; without credentials nothing is sent. */
	run_ms(&rig, 5000);
	rig.server->fault = deny_lists;
	expect_wish(&rig, put_in_zone(&rig, "b.example.com", "Z1"), 1000, PROVIDER_UNAUTHENTICATED);
	rig_close(&rig);
	rig_open(&rig, NULL);
	rig.server->finds_one = true;
	expect_wish(&rig, put_in_zone(&rig, "a.example.com", "Z1"), 1000, PROVIDER_OK);
	rig_close(&rig);
}

/* DR-20: searched once more; a deletion has succeeded. */
static void zone_is_gone(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	expect_zone(&rig, "a.example.com", "Z1", NULL);
	free(rig.server->store.zones.v[0].id);
	rig.server->store.zones.v[0].id = xstrdup("Z9");
	expect_zone(&rig, "b.example.com", "Z9", NULL);
	rig.server->store.zones.v[0].name[0] = 'x';
	struct wish *wish = xcalloc(1, sizeof(*wish));
	add_edit(wish, DNS_TYPE_A, "c.example.com", "192.0.2.1", PROVIDER_GUARD_NONE);
	wish->request.zone = "Z1"; /* the caller's: not searched */
	submit_wish(&rig, wish);
	expect_wish(&rig, wish, 1000, PROVIDER_NO_ZONE);
	wish = xcalloc(1, sizeof(*wish));
	add_edit(wish, DNS_TYPE_A, "c.example.com", NULL, PROVIDER_GUARD_NONE);
	wish->request.zone = "Z1";
	submit_wish(&rig, wish);
	wait_wish(&rig, wish, 1000);
	assert_int_equal(wish->request.code, PROVIDER_OK);
	assert_true(wish->request.is_zone_missing);
	free_wish(wish);
	rig_close(&rig);
}

/* ---- the lease ---- */

static void no_call_without_lease(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	rig.lease_end_ns = test_now_ns + 500 * NS_PER_MS;
	expect_wish(&rig, make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_NONE), 100,
		    PROVIDER_NO_LEASE);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_FIND_ZONES], 0);
	rig_close(&rig);
}

/* A call that hangs has ended when another process may lead. */
static void call_ends_with_the_lease(void **state)
{
	enum memory_fault fault = MEMORY_HANG;
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	rig.server->fault = fault_once;
	rig.server->ctx = &fault;
	rig.lease_end_ns = test_now_ns + 5 * NS_PER_S;
	struct wish *wish = make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
	run_ms(&rig, 5000);
	assert_int_equal(rig.server->writing.n, 0);
	expect_wish(&rig, wish, 5000, PROVIDER_NO_LEASE);
	assert_int_equal(rig.server->ledger.calls[PROVIDER_APPLY], 1);
	rig_close(&rig);
}

static void metrics_are_counted(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	(void)state;
	metrics_render(&text);
	assert_non_null(strstr(text.s, "fairlead_provider_calls_total{call=\"apply\",provider="
				       "\"memory\",result=\"ok\"} "));
	assert_non_null(strstr(
		text.s, "fairlead_provider_changes_total{provider=\"memory\",result=\"ok\"} "));
	assert_non_null(
		strstr(text.s, "fairlead_provider_changes_under_way{provider=\"memory\"} 0\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_record_waits_little),
		cmocka_unit_test(batches_are_full),
		cmocka_unit_test(stream_of_records),
		cmocka_unit_test(many_at_route53s_rate),
		cmocka_unit_test(waits_until_settled),
		cmocka_unit_test(reads_lag_behind_writes),
		cmocka_unit_test(limits_by_records_and_bytes),
		cmocka_unit_test(bad_records_are_isolated),
		cmocka_unit_test(named_bad_records_cost_one_call),
		cmocka_unit_test(all_records_are_bad),
		cmocka_unit_test(throttling_pauses_the_account),
		cmocka_unit_test(patience_ends),
		cmocka_unit_test(patience_with_lost_writes),
		cmocka_unit_test(dead_account_delays_no_other),
		cmocka_unit_test(refused_credentials_end_all),
		cmocka_unit_test(idle_account_is_closed),
		cmocka_unit_test(new_work_goes_first),
		cmocka_unit_test(periodic_work_is_not_forgotten),
		cmocka_unit_test(lost_replies_are_looked_up),
		cmocka_unit_test(earlier_write_is_recognized),
		cmocka_unit_test(marks_need_a_place),
		cmocka_unit_test(foreign_sets_stay),
		cmocka_unit_test(one_name_in_order),
		cmocka_unit_test(end_with_work_under_way),
		cmocka_unit_test(zones_over_pages),
		cmocka_unit_test(zones_by_name),
		cmocka_unit_test(given_zones_are_checked),
		cmocka_unit_test(zone_is_gone),
		cmocka_unit_test(no_call_without_lease),
		cmocka_unit_test(call_ends_with_the_lease),
		cmocka_unit_test(metrics_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
