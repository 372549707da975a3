/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random histories with random faults: requests for few names, creations, changes, deletions and
 * cancellations, while calls are throttled, lost, refused or hang. When the faults have ended, every
 * record set is as it was last wanted, no set of another writer was touched, and the number of calls
 * is bounded. */
#include "provider/memory/test_rig.h"

#include "base/rng.h"
#include "base/rng_test.h"

enum {
	NAMES = 40,
	FOREIGN = 10, /* further names, whose sets belong to others */
	STEPS = 400,
	HISTORIES = 100,
	SLOTS = 2, /* requests for a name at a time */
};

/* What one name should have. */
struct subject {
	struct wish slots[SLOTS];
	unsigned wanted; /* the last octet of the address; 0: no record set */
	bool is_unsure;	 /* the last request was cancelled, or ended without a result that counts */
};

struct history {
	struct rig rig;
	struct rng rng;
	struct subject subjects[NAMES + FOREIGN];
	unsigned fault_percent;
	size_t submitted;
};

static enum memory_fault draw_fault(void *ctx, const struct provider_job *job)
{
	static const enum memory_fault faults[] = { MEMORY_THROTTLE,	MEMORY_UNAVAILABLE,
						    MEMORY_LOST_BEFORE, MEMORY_LOST_AFTER,
						    MEMORY_HANG,	MEMORY_PARTIAL,
						    MEMORY_VAGUE };
	struct history *history = ctx;
	(void)job;
	if (rng_below(&history->rng, 100) >= history->fault_percent)
		return MEMORY_NO_FAULT;
	return faults[rng_below(&history->rng, ARRAY_LEN(faults))];
}

static void name_subject(size_t index, char name[64])
{
	snprintf(name, 64, "%s%zu.example.com", index < NAMES ? "host" : "foreign", index);
}

static struct wish *find_free_slot(struct subject *subject)
{
	for (size_t i = 0; i < SLOTS; i++) {
		if (subject->slots[i].request.entry == NULL)
			return &subject->slots[i];
	}
	return NULL;
}

/* Nobody else writes our names: a guard on what is known holds, whatever was lost on the way. */
static void judge_slots(struct subject *subject)
{
	for (size_t i = 0; i < SLOTS; i++) {
		const struct wish *wish = &subject->slots[i];
		if (wish->done_ns == 0)
			continue;
		if (wish->request.code == PROVIDER_UNSURE ||
		    wish->request.code == PROVIDER_FAILED || wish->request.patience_ns != 0)
			subject->is_unsure = true;
		else if (wish->request.n_edits != 0 && wish->names[0][0] == 'h')
			assert_true(wish->request.code == PROVIDER_OK ||
				    wish->request.code == PROVIDER_INVALID);
	}
}

/* Guards the edit if what is there is known, in place of none. */
static void guard_known(struct subject *subject, struct provider_edit *edit)
{
	static char value[32];
	static const char *values[] = { value };
	for (size_t i = 0; i < SLOTS; i++) {
		if (subject->slots[i].request.entry != NULL)
			return;
	}
	if (subject->is_unsure)
		return;
	snprintf(value, sizeof(value), "192.0.2.%u", subject->wanted);
	edit->guard = subject->wanted != 0 ? PROVIDER_GUARD_EQUAL : PROVIDER_GUARD_ABSENT;
	edit->before = (struct provider_rrset){ .name = edit->set.name,
						.type = DNS_TYPE_A,
						.ttl_s = 120,
						.values = values,
						.n_values = subject->wanted != 0 };
}

/* Without a guard the last one wins; sets of others are only ever created. */
static void submit_some(struct history *history, size_t index, unsigned wanted)
{
	struct subject *subject = &history->subjects[index];
	struct wish *wish = find_free_slot(subject);
	char name[64], value[32];
	if (wish == NULL)
		return;
	judge_slots(subject);
	publisher_request_release(&wish->request);
	*wish = (struct wish){ 0 };
	name_subject(index, name);
	/* Every tenth value is one that the provider refuses. */
	snprintf(value, sizeof(value), wanted % 10 == 9 ? "192.0.2.%u.bad" : "192.0.2.%u", wanted);
	add_edit(wish, DNS_TYPE_A, name, wanted != 0 ? value : NULL,
		 index < NAMES ? PROVIDER_GUARD_NONE : PROVIDER_GUARD_ABSENT);
	wish->request.priority =
		rng_below(&history->rng, 4) == 0 ? PUBLISHER_PERIODIC : PUBLISHER_NOW;
	if (history->fault_percent != 0 && rng_below(&history->rng, 8) == 0)
		wish->request.patience_ns = (1 + rng_below(&history->rng, 5000)) * NS_PER_MS;
	wish->request.zone = rng_below(&history->rng, 2) == 0 ? "Z1" : NULL;
	if (index < NAMES)
		guard_known(subject, &wish->edits[0]);
	submit_wish(&history->rig, wish);
	history->submitted++;
	if (wanted % 10 != 9)
		subject->wanted = wanted;
}

static void cancel_some(struct history *history, size_t index)
{
	struct subject *subject = &history->subjects[index];
	size_t slot = rng_below(&history->rng, SLOTS);
	if (subject->slots[slot].request.entry == NULL)
		return;
	publisher_cancel(history->rig.publisher, &subject->slots[slot].request);
	subject->is_unsure = true;
}

static void take_step(struct history *history)
{
	size_t index = rng_below(&history->rng, NAMES + FOREIGN);
	unsigned what = rng_below(&history->rng, 10);
	if (what < 7)
		submit_some(history, index, 1 + rng_below(&history->rng, 250));
	else if (what < 9 && index < NAMES)
		submit_some(history, index, 0);
	else
		cancel_some(history, index);
	run_ms(&history->rig, rng_below(&history->rng, 40));
}

static bool is_under_way(const struct history *history)
{
	for (size_t i = 0; i < NAMES + FOREIGN; i++) {
		for (size_t j = 0; j < SLOTS; j++) {
			if (history->subjects[i].slots[j].request.entry != NULL)
				return true;
		}
	}
	return false;
}

static void settle_history(struct history *history, unsigned limit_s)
{
	for (unsigned ms = 0; is_under_way(history); ms++) {
		if (ms == limit_s * 1000)
			fail_msg("requests are under way %u s after the last fault", limit_s);
		run_ms(&history->rig, 1);
	}
}

/* After the faults each name is wanted once more where nobody knows, as a controller does. */
static void repeat_unsure(struct history *history)
{
	for (size_t i = 0; i < NAMES; i++) {
		struct subject *subject = &history->subjects[i];
		judge_slots(subject);
		if (subject->is_unsure)
			submit_some(history, i, subject->wanted);
	}
}

static void check_result(const struct history *history)
{
	const struct memory_store *store = &history->rig.server->store;
	for (size_t i = 0; i < NAMES; i++) {
		const struct subject *subject = &history->subjects[i];
		char name[64], value[32] = "";
		name_subject(i, name);
		if (subject->wanted != 0)
			snprintf(value, sizeof(value), "192.0.2.%u", subject->wanted);
		assert_string_equal(stored_value(&history->rig, name), value);
	}
	for (size_t i = NAMES; i < NAMES + FOREIGN; i++) {
		char name[64];
		name_subject(i, name);
		assert_string_equal(stored_value(&history->rig, name), "198.51.100.1");
	}
	assert_int_equal(store->foreign_touched, 0);
}

static void check_calls(const struct history *history)
{
	const struct memory_ledger *ledger = &history->rig.server->ledger;
	size_t calls = 0;
	for (size_t i = 0; i < PROVIDER_JOB_KINDS; i++)
		calls += ledger->calls[i];
	/* Each request alone would be one call, and a conflict one more; faults repeat some. */
	assert_true(calls <= 3 * history->submitted);
}

static void play_history(uint64_t seed, const struct provider_caps *caps)
{
	struct history *history = xcalloc(1, sizeof(*history));
	rng_init_seed(&history->rng, seed);
	rig_open(&history->rig, caps);
	struct memory_server *server = history->rig.server;
	server->fault = draw_fault;
	server->ctx = history;
	server->is_partial = !caps->is_atomic;
	server->ignores_guards = !caps->has_guards;
	server->hides_bad = seed % 2 == 0;
	server->one_write = caps->zone_writes < 2;
	server->latency_ns = rng_below(&history->rng, 60) * NS_PER_MS;
	server->settle_ns = seed % 3 == 0 ? NS_PER_S : 0;
	server->retry_after_ns = seed % 5 == 0 ? 2 * NS_PER_S : 0;
	history->fault_percent = 5 + rng_below(&history->rng, 40);
	for (size_t i = NAMES; i < NAMES + FOREIGN; i++) {
		char name[64];
		name_subject(i, name);
		put_foreign(&history->rig, name, "198.51.100.1");
	}
	for (size_t i = 0; i < STEPS; i++)
		take_step(history);
	history->fault_percent = 0;
	settle_history(history, 300);
	repeat_unsure(history);
	settle_history(history, 300);
	check_result(history);
	check_calls(history);
	assert_int_equal(server->ledger.overlaps, 0);
	for (size_t i = 0; i < NAMES + FOREIGN; i++) {
		for (size_t j = 0; j < SLOTS; j++)
			publisher_request_release(&history->subjects[i].slots[j].request);
	}
	rig_close(&history->rig);
	free(history);
}

static const struct provider_caps sorts[] = {
	{ .is_atomic = true, .has_guards = true, .batch_changes = 500, .zone_writes = 1 },
	{ .is_atomic = true, .has_guards = false, .batch_changes = 20, .read_changes = 5 },
	{ .is_atomic = true, .has_guards = true, .batch_changes = 7, .calls_per_s = 5, .burst = 5 },
	{ .is_atomic = false, .has_guards = true, .batch_changes = 10 },
	{ .is_atomic = false, .has_guards = false, .batch_changes = 1, .zone_writes = 4 },
};

static void ends_as_wanted_after_faults(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < HISTORIES; seed++)
		play_history(seed, &sorts[seed % ARRAY_LEN(sorts)]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_as_wanted_after_faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
