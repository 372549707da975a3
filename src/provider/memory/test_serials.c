/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serials of zones: read by one call, and told apart from what the publisher itself wrote. */
#include "provider/zone_serial.h"

#include "provider/memory/test_rig.h"

struct question {
	struct zone_serial_request request;
	bool is_done;
};

static void on_serial(struct zone_serial_request *request)
{
	struct question *question = CONTAINER_OF(request, struct question, request);
	assert_false(question->is_done);
	question->is_done = true;
}

static void ask_serial(struct rig *rig, const char *zone, unsigned max_age_s,
		       struct question *question)
{
	uint64_t since_ns = max_age_s != 0 ? test_now_ns - max_age_s * NS_PER_S : UINT64_MAX;
	*question = (struct question){ .request = { .account = rig->account,
						    .zone = zone,
						    .since_ns = since_ns,
						    .done = on_serial } };
	zone_serial_submit(&question->request);
	assert_false(question->is_done);
}

static struct zone_serial read_serial(struct rig *rig, unsigned max_age_s)
{
	struct question question;
	ask_serial(rig, "Z1", max_age_s, &question);
	for (unsigned i = 0; !question.is_done && i < 1000; i++)
		run_ms(rig, 1);
	assert_true(question.is_done);
	assert_int_equal(question.request.code, PROVIDER_OK);
	return question.request.found;
}

static unsigned count_questions(const struct rig *rig)
{
	return rig->server->ledger.calls[PROVIDER_SERIAL];
}

static void change_by_others(struct rig *rig)
{
	put_foreign(rig, "other.example.com", "198.51.100.1");
	memory_store_raise_serial(&rig->server->store, "Z1");
}

static void own_writes_are_explained(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	struct zone_serial first = read_serial(&rig, 0);
	struct zone_serial same = read_serial(&rig, 0);
	assert_true(zone_serial_is_explained(&first, &same));
	for (int i = 0; i < 3; i++) {
		char name[32];
		snprintf(name, sizeof(name), "h%d.example.com", i);
		expect_wish(&rig, make_wish(&rig, name, "192.0.2.1", PROVIDER_GUARD_ABSENT), 1000,
			    PROVIDER_OK);
	}
	struct zone_serial after = read_serial(&rig, 0);
	assert_int_equal(after.serial, first.serial + 3);
	assert_true(zone_serial_is_explained(&first, &after));
	change_by_others(&rig);
	struct zone_serial other = read_serial(&rig, 0);
	assert_false(zone_serial_is_explained(&after, &other));
	/* Both wrote. */
	change_by_others(&rig);
	expect_wish(&rig, make_wish(&rig, "i.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT),
		    1000, PROVIDER_OK);
	struct zone_serial both = read_serial(&rig, 0);
	assert_false(zone_serial_is_explained(&other, &both));
	rig_close(&rig);
}

static void write_own(struct rig *rig, const char *name, const char *before, const char *value,
		      enum provider_guard guard)
{
	const char *const values[] = { before };
	struct wish *wish = xcalloc(1, sizeof(*wish));
	add_edit(wish, DNS_TYPE_A, name, value, guard);
	if (before != NULL)
		wish->edits[0].before = (struct provider_rrset){
			.type = DNS_TYPE_A, .ttl_s = 120, .values = values, .n_values = 1
		};
	submit_wish(rig, wish);
	expect_wish(rig, wish, 5000, PROVIDER_OK);
}

/* A write that repeats what is there does not raise the serial, and explains nothing. */
static void repeated_writes_hide_nobody(void **state)
{
	static const char old[] = "192.0.2.1", new[] = "192.0.2.2";
	static const struct {
		const char *title;
		unsigned n_repeated, n_created, n_changed, n_unguarded, n_foreign;
		bool is_explained;
	} rows[] = {
		{ "a repeated write", 1, 0, 0, 0, 0, true },
		{ "several", 5, 0, 0, 0, 0, true },
		{ "a repeated write and another writer", 1, 0, 0, 0, 1, false },
		{ "three, and three other writers", 3, 0, 0, 0, 3, false },
		{ "a new set", 0, 1, 0, 0, 0, true },
		{ "new and changed sets, and repeated writes", 3, 2, 2, 0, 0, true },
		{ "a new set and another writer", 0, 1, 0, 0, 1, false },
		{ "a changed set, a repeated write, another writer", 1, 0, 1, 0, 1, false },
		{ "an overwritten set: nobody knows what there was", 0, 0, 0, 1, 0, false },
		{ "an overwritten set, and another writer", 0, 0, 0, 1, 1, false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rig rig;
		char name[32];
		rig_open(&rig, NULL);
		write_own(&rig, "a.example.com", NULL, old, PROVIDER_GUARD_ABSENT);
		write_own(&rig, "b.example.com", NULL, old, PROVIDER_GUARD_ABSENT);
		struct zone_serial first = read_serial(&rig, 0);
		for (unsigned j = 0; j < rows[i].n_repeated; j++)
			write_own(&rig, "a.example.com", old, old, PROVIDER_GUARD_EQUAL);
		for (unsigned j = 0; j < rows[i].n_created; j++) {
			snprintf(name, sizeof(name), "h%u.example.com", j);
			write_own(&rig, name, NULL, old, PROVIDER_GUARD_ABSENT);
		}
		for (unsigned j = 0; j < rows[i].n_changed; j++)
			write_own(&rig, "b.example.com", j % 2 == 0 ? old : new,
				  j % 2 == 0 ? new : old, PROVIDER_GUARD_EQUAL);
		for (unsigned j = 0; j < rows[i].n_unguarded; j++)
			write_own(&rig, "a.example.com", NULL, new, PROVIDER_GUARD_NONE);
		for (unsigned j = 0; j < rows[i].n_foreign; j++)
			change_by_others(&rig);
		struct zone_serial now = read_serial(&rig, 0);
		if (zone_serial_is_explained(&first, &now) != rows[i].is_explained)
			fail_msg("%s: serial + %u, writes + %u", rows[i].title,
				 now.serial - first.serial, (unsigned)(now.writes - first.writes));
		rig_close(&rig);
	}
}

static enum memory_fault lose_write(void *ctx, const struct provider_job *job)
{
	bool *is_lost = ctx;
	bool loses = job->kind == PROVIDER_APPLY && !*is_lost;
	*is_lost = *is_lost || loses;
	return loses ? MEMORY_LOST_AFTER : MEMORY_NO_FAULT;
}

/* Nobody knows what a lost reply was about. */
static void lost_replies_explain_nothing(void **state)
{
	bool is_lost = false;
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	struct zone_serial first = read_serial(&rig, 0);
	rig.server->fault = lose_write;
	rig.server->ctx = &is_lost;
	expect_wish(&rig, make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT),
		    5000, PROVIDER_OK);
	assert_true(is_lost);
	struct zone_serial after = read_serial(&rig, 0);
	assert_false(zone_serial_is_explained(&first, &after));
	rig_close(&rig);
}

static void serials_wrap(void **state)
{
	struct zone_serial before = { UINT32_MAX, 7 }, now = { 1, 9 };
	(void)state;
	assert_true(zone_serial_is_explained(&before, &now));
	now.writes = 8;
	assert_false(zone_serial_is_explained(&before, &now));
}

/* Several who ask for the same zone share a call; own writes since do not spoil what it found. */
static void recent_serials_are_shared(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	struct zone_serial first = read_serial(&rig, 10);
	expect_wish(&rig, make_wish(&rig, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT),
		    1000, PROVIDER_OK);
	struct zone_serial second = read_serial(&rig, 10);
	assert_int_equal(count_questions(&rig), 1);
	assert_int_equal(second.serial, first.serial);
	assert_int_equal(second.writes, first.writes);
	run_ms(&rig, 10000);
	second = read_serial(&rig, 10);
	assert_int_equal(count_questions(&rig), 2);
	assert_true(zone_serial_is_explained(&first, &second));
	rig_close(&rig);
}

/* Needs no search for its zone. */
static struct wish *start_write(struct rig *rig)
{
	struct wish *wish = xcalloc(1, sizeof(*wish));
	add_edit(wish, DNS_TYPE_A, "a.example.com", "192.0.2.1", PROVIDER_GUARD_ABSENT);
	wish->request.zone = "Z1";
	submit_wish(rig, wish);
	return wish;
}

/* A NOTIFY, or an interval, causes a question while the publisher itself writes: the answer, which may or may not
 * have the write in it, is asked for again. */
static void own_writes_under_way_are_explained(void **state)
{
	struct question before, during;
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	struct zone_serial first = read_serial(&rig, 0);
	rig.server->latency_ns = 300 * NS_PER_MS;
	ask_serial(&rig, "Z1", 0, &before);
	run_ms(&rig, 5);
	struct wish *wish = start_write(&rig);
	run_ms(&rig, 200); /* it was sent */
	ask_serial(&rig, "Z1", 0, &during);
	run_ms(&rig, 5000);
	assert_true(wish->done_ns != 0 && before.is_done && during.is_done);
	assert_true(zone_serial_is_explained(&first, &before.request.found));
	assert_true(zone_serial_is_explained(&first, &during.request.found));
	assert_int_equal(during.request.found.serial, first.serial + 1);
	free_wish(wish);
	rig_close(&rig);
}

/* A zone that is written to without a pause is asked all the same. */
static void questions_wait_for_a_limited_time(void **state)
{
	struct question question;
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	rig.server->latency_ns = 20 * NS_PER_S;
	struct wish *wish = start_write(&rig);
	run_ms(&rig, 100);
	ask_serial(&rig, "Z1", 0, &question);
	run_ms(&rig, ZONE_SERIAL_WAIT_S * 1000 - 200);
	assert_int_equal(count_questions(&rig), 0);
	run_ms(&rig, 400);
	assert_int_equal(count_questions(&rig), 1);
	zone_serial_cancel(&question.request);
	run_ms(&rig, 30000);
	free_wish(wish);
	rig_close(&rig);
}

static void faults_are_reported(void **state)
{
	struct question question;
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	ask_serial(&rig, "Z9", 0, &question);
	run_ms(&rig, 10);
	assert_true(question.is_done);
	assert_int_equal(question.request.code, PROVIDER_NO_ZONE);
	assert_string_equal(question.request.error, "there is no zone 'Z9'");
	rig.lease_end_ns = test_now_ns;
	ask_serial(&rig, "Z1", 0, &question);
	run_ms(&rig, 10);
	assert_int_equal(question.request.code, PROVIDER_NO_LEASE);
	rig_close(&rig);
}

/* By its owner, and by the end of the publisher. */
static void questions_are_cancelled(void **state)
{
	struct question waiting, running, last;
	struct rig rig;
	(void)state;
	rig_open(&rig, NULL);
	rig.server->latency_ns = NS_PER_S;
	ask_serial(&rig, "Z1", 0, &running);
	run_ms(&rig, 5);
	ask_serial(&rig, "Z1", 0, &waiting);
	zone_serial_cancel(&running.request);
	zone_serial_cancel(&waiting.request);
	zone_serial_cancel(&waiting.request);
	run_ms(&rig, 3000);
	assert_false(running.is_done || waiting.is_done);
	ask_serial(&rig, "Z1", 0, &last);
	run_ms(&rig, 5);
	rig_close(&rig);
	assert_null(last.request.call);
	assert_false(last.is_done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_writes_are_explained),
		cmocka_unit_test(repeated_writes_hide_nobody),
		cmocka_unit_test(lost_replies_explain_nothing),
		cmocka_unit_test(serials_wrap),
		cmocka_unit_test(recent_serials_are_shared),
		cmocka_unit_test(own_writes_under_way_are_explained),
		cmocka_unit_test(questions_wait_for_a_limited_time),
		cmocka_unit_test(faults_are_reported),
		cmocka_unit_test(questions_are_cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
