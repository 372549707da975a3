/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leader election: who leads, for how long, and that there are never two, whatever the network
 * does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "api/time.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/rng_test.h"
#include "kube/leader/elect.h"

#define WALL_NS (UINT64_C(1790000000) * NS_PER_S + 123456789)

static const struct elect_times times = { 15 * NS_PER_S, 10 * NS_PER_S, 2 * NS_PER_S };

/* ---- a server that keeps one Lease ---- */

struct store {
	json_t *lease;
	unsigned version;
};

static void store_put(struct store *s, const json_t *body)
{
	char text[16];
	json_t *copy = json_deep_copy(body);
	snprintf(text, sizeof(text), "%u", ++s->version);
	json_object_set_new(json_object_get(copy, "metadata"), "resourceVersion",
			    json_string(text));
	json_decref(s->lease);
	s->lease = copy;
}

/* *ret: a reference of the caller's. */
static int store_do(struct store *s, enum elect_act act, const json_t *body, json_t **ret)
{
	*ret = NULL;
	if (act == ELECT_CREATE && s->lease != NULL)
		return ERR_DUPLICATE;
	if (act != ELECT_CREATE && s->lease == NULL)
		return ERR_NOTFOUND;
	if (act == ELECT_UPDATE &&
	    strcmp(api_resource_version(body), api_resource_version(s->lease)) != 0)
		return ERR_CONFLICT;
	if (act != ELECT_GET)
		store_put(s, body);
	*ret = json_deep_copy(s->lease);
	return 0;
}

/* One step without delay; what was done. */
static enum elect_act step(struct elect *e, struct store *s, uint64_t now, uint64_t *ret_until)
{
	json_t *body = NULL, *answer = NULL;
	enum elect_act act = elect_next(e, now, WALL_NS + now, &body, ret_until);
	if (act != ELECT_WAIT) {
		int r = store_do(s, act, body, &answer);
		elect_result(e, act, r, answer, now, now);
	}
	json_decref(body);
	json_decref(answer);
	return act;
}

/* Steps until the machine waits; until when. */
static uint64_t settle(struct elect *e, struct store *s, uint64_t now)
{
	uint64_t until = 0;
	for (int i = 0; i < 10; i++) {
		if (step(e, s, now, &until) == ELECT_WAIT)
			return until;
	}
	fail_msg("it does not settle");
	return 0;
}

static const char *spec(const struct store *s, const char *key)
{
	CLEANUP(freep) char *path = xasprintf("spec.%s", key);
	return api_get_string(s->lease, path);
}

static json_int_t transitions(const struct store *s)
{
	return json_integer_value(api_get(s->lease, "spec.leaseTransitions"));
}

static void first_comer_leads(void **state)
{
	struct store s = { 0 };
	struct elect a, b;
	(void)state;
	elect_init(&a, &times, "ns", "x", "a");
	elect_init(&b, &times, "ns", "x", "b");
	assert_true(settle(&a, &s, NS_PER_S) == 3 * NS_PER_S); /* renews after the retry period */
	assert_true(elect_deadline_ns(&a, NS_PER_S) == 11 * NS_PER_S);
	uint64_t until = settle(&b, &s, NS_PER_S);
	assert_true(until >= 3 * NS_PER_S && until <= 3 * NS_PER_S + 400 * NS_PER_MS);
	assert_true(elect_deadline_ns(&b, NS_PER_S) == 0);
	assert_string_equal(api_get_string(b.lease, "spec.holderIdentity"), "a");
	assert_string_equal(api_name(s.lease), "x");
	assert_string_equal(api_namespace(s.lease), "ns");
	assert_int_equal(json_integer_value(api_get(s.lease, "spec.leaseDurationSeconds")), 15);
	assert_int_equal(transitions(&s), 0);
	/* MicroTime has six digits. */
	assert_int_equal(strlen(spec(&s, "renewTime")), strlen("2026-09-21T15:33:21.123456Z"));
	elect_done(&a);
	elect_done(&b);
	json_decref(s.lease);
}

static void renewing_is_one_write_and_keeps_the_rest(void **state)
{
	struct store s = { 0 };
	struct elect a;
	uint64_t until;
	(void)state;
	elect_init(&a, &times, "ns", "x", "a");
	settle(&a, &s, 0);
	json_object_set_new(json_object_get(s.lease, "spec"), "preferredHolder", json_string("z"));
	json_object_set_new(json_object_get(a.lease, "spec"), "preferredHolder", json_string("z"));
	CLEANUP(freep) char *acquired = xstrdup(spec(&s, "acquireTime"));
	CLEANUP(freep) char *renewed = xstrdup(spec(&s, "renewTime"));
	assert_int_equal(step(&a, &s, 2 * NS_PER_S, &until), ELECT_UPDATE);
	assert_int_equal(step(&a, &s, 2 * NS_PER_S, &until), ELECT_WAIT);
	assert_string_equal(spec(&s, "acquireTime"), acquired);
	assert_string_not_equal(spec(&s, "renewTime"), renewed);
	assert_string_equal(spec(&s, "preferredHolder"), "z");
	assert_int_equal(transitions(&s), 0);
	elect_done(&a);
	json_decref(s.lease);
}

/* The leader dies just after it renewed and just after we looked: the worst case. */
static void takes_over_within_twenty_seconds(void **state)
{
	struct store s = { 0 };
	struct elect a, b;
	uint64_t now = 0;
	(void)state;
	elect_init(&a, &times, "ns", "x", "a");
	elect_init(&b, &times, "ns", "x", "b");
	settle(&a, &s, 0);
	uint64_t due = settle(&b, &s, NS_PER_S);
	settle(&a, &s, 2 * NS_PER_S);
	while (elect_deadline_ns(&b, now) == 0) {
		assert_true(due > now);
		now = due;
		due = settle(&b, &s, now);
	}
	assert_true(now - 2 * NS_PER_S >= 15 * NS_PER_S);
	assert_true(now - 2 * NS_PER_S <= 15 * NS_PER_S + 2400 * NS_PER_MS);
	assert_int_equal(transitions(&s), 1);
	assert_string_equal(spec(&s, "holderIdentity"), "b");
	elect_done(&a);
	elect_done(&b);
	json_decref(s.lease);
}

/* Times in the record do not matter: one from the future or the past expires as any other. */
static void expiry_is_local_and_of_the_record(void **state)
{
	struct store s = { 0 };
	struct elect b;
	(void)state;
	json_t *o = json_pack("{s:{s:s}, s:{s:s, s:i, s:s}}", "metadata", "name", "x", "spec",
			      "holderIdentity", "a", "leaseDurationSeconds", 60, "renewTime",
			      "2001-01-01T00:00:00.000000Z");
	store_put(&s, o);
	json_decref(o);
	elect_init(&b, &times, "ns", "x", "b");
	uint64_t now = 100 * NS_PER_S, due = now;
	while (elect_deadline_ns(&b, now) == 0) {
		now = due;
		due = settle(&b, &s, now);
	}
	assert_true(now == 160 * NS_PER_S); /* at its expiry exactly */
	elect_done(&b);
	json_decref(s.lease);
}

static void released_lease_is_free_at_once(void **state)
{
	struct store s = { 0 };
	struct elect a, b;
	(void)state;
	elect_init(&a, &times, "ns", "x", "a");
	elect_init(&b, &times, "ns", "x", "b");
	assert_null(elect_release(&b, 0, WALL_NS));
	settle(&a, &s, 0);
	/* Too late: another may be about to take it, and waiting for an answer keeps the end up. */
	assert_null(elect_release(&a, times.renew_ns, WALL_NS));
	json_t *o = elect_release(&a, times.renew_ns - 1, WALL_NS);
	assert_int_equal(json_integer_value(api_get(o, "spec.leaseDurationSeconds")), 1);
	store_put(&s, o);
	json_decref(o);
	settle(&b, &s, NS_PER_S);
	assert_true(elect_deadline_ns(&b, NS_PER_S) != 0);
	assert_int_equal(transitions(&s), 1);
	elect_done(&a);
	elect_done(&b);
	json_decref(s.lease);
}

static void fail_once(struct elect *e, int r, uint64_t now)
{
	json_t *body = NULL;
	uint64_t until;
	enum elect_act act = elect_next(e, now, WALL_NS, &body, &until);
	if (act != ELECT_WAIT)
		elect_result(e, act, r, NULL, now, now);
	json_decref(body);
}

static void leader_without_a_server_stops_in_time(void **state)
{
	struct store s = { 0 };
	struct elect a;
	(void)state;
	elect_init(&a, &times, "ns", "x", "a");
	settle(&a, &s, 0);
	for (uint64_t t = 0; t < 10000; t += 100) {
		assert_true(elect_deadline_ns(&a, t * NS_PER_MS) == 10 * NS_PER_S);
		fail_once(&a, ERR_CLOSED, t * NS_PER_MS);
	}
	assert_true(elect_deadline_ns(&a, 10 * NS_PER_S) == 0);
	fail_once(&a, ERR_CLOSED, 10 * NS_PER_S);
	assert_false(a.leading);
	elect_done(&a);
	json_decref(s.lease);
}

static void leader_reads_after_a_conflict(void **state)
{
	struct store s = { 0 };
	struct elect a;
	uint64_t until;
	(void)state;
	elect_init(&a, &times, "ns", "x", "a");
	settle(&a, &s, 0);
	store_put(&s, s.lease); /* as when another writer adds a label */
	assert_int_equal(step(&a, &s, 2 * NS_PER_S, &until), ELECT_UPDATE);
	assert_int_equal(step(&a, &s, 2 * NS_PER_S, &until), ELECT_GET);
	assert_int_equal(step(&a, &s, 2 * NS_PER_S, &until), ELECT_UPDATE);
	assert_true(elect_deadline_ns(&a, 2 * NS_PER_S) == 12 * NS_PER_S);
	/* Another holder: over. */
	json_object_set_new(json_object_get(s.lease, "spec"), "holderIdentity", json_string("b"));
	store_put(&s, s.lease);
	assert_int_equal(step(&a, &s, 4 * NS_PER_S, &until), ELECT_UPDATE);
	assert_int_equal(step(&a, &s, 4 * NS_PER_S, &until), ELECT_GET);
	assert_true(elect_deadline_ns(&a, 4 * NS_PER_S) == 0);
	elect_done(&a);
	json_decref(s.lease);
}

static void conflicts_do_not_spin(void **state)
{
	struct elect a;
	unsigned calls = 0;
	(void)state;
	elect_init(&a, &times, "ns", "x", "a");
	for (uint64_t t = 0; t < 10000; t++) {
		json_t *body = NULL;
		uint64_t until;
		enum elect_act act = elect_next(&a, t * NS_PER_MS, WALL_NS, &body, &until);
		if (act != ELECT_WAIT) {
			calls++;
			elect_result(&a, act, ERR_CONFLICT, NULL, t * NS_PER_MS, t * NS_PER_MS);
		}
		json_decref(body);
	}
	assert_in_range(calls, 4, 8);
	elect_done(&a);
}

static void deleted_lease_is_made_anew(void **state)
{
	struct store s = { 0 };
	struct elect a;
	(void)state;
	elect_init(&a, &times, "ns", "x", "a");
	settle(&a, &s, 0);
	json_decref(s.lease);
	s.lease = NULL;
	settle(&a, &s, 2 * NS_PER_S);
	assert_non_null(s.lease);
	assert_true(elect_deadline_ns(&a, 2 * NS_PER_S) == 12 * NS_PER_S);
	elect_done(&a);
	json_decref(s.lease);
}

static void times_are_checked(void **state)
{
	static const struct {
		struct elect_times t;
		int want;
	} rows[] = {
		{ { 0, 0, 0 }, 0 },
		{ { NS_PER_S, 500 * NS_PER_MS, 200 * NS_PER_MS }, 0 },
		{ { NS_PER_S, 501 * NS_PER_MS, 200 * NS_PER_MS }, ERR_CONFIG },
		{ { 10 * NS_PER_S, 10 * NS_PER_S, 2 * NS_PER_S }, ERR_CONFIG },
		{ { 15 * NS_PER_S, 12 * NS_PER_S, 10 * NS_PER_S }, ERR_CONFIG },
		{ { 1500 * NS_PER_MS, NS_PER_S, 200 * NS_PER_MS }, ERR_CONFIG },
		{ { 86401 * NS_PER_S, 10 * NS_PER_S, 2 * NS_PER_S }, ERR_CONFIG },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct elect_times t = rows[i].t;
		char err[200] = "";
		assert_int_equal(elect_times_check(&t, ERR_TEXT(err)), rows[i].want);
		assert_int_equal(err[0] != '\0', rows[i].want != 0);
		if (i == 0)
			assert_memory_equal(&t, &times, sizeof(t));
	}
}

/* Work ends before anybody's expiry, and the process has a part of the time for its own end. */
static void end_of_work(void **state)
{
	static const struct {
		struct elect_times times;
		uint64_t end_by_ms; /* since the last renewal */
	} rows[] = {
		{ { 15 * NS_PER_S, 10 * NS_PER_S, 2 * NS_PER_S }, 14000 },
		{ { 6 * NS_PER_S, 4 * NS_PER_S, NS_PER_S }, 5500 },
		{ { NS_PER_S, 500 * NS_PER_MS, 50 * NS_PER_MS }, 875 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct elect elect;
		elect_init(&elect, &rows[i].times, "ns", "x", "a");
		elect.renewed_ns = 7 * NS_PER_S;
		assert_int_equal(elect_end_by_ns(&elect),
				 7 * NS_PER_S + rows[i].end_by_ms * NS_PER_MS);
		elect_done(&elect);
	}
}

/* ---- never two, whatever happens ---- */

enum { CANDIDATES = 3, STEP_MS = 50, ROUNDS = 40, ROUND_MS = 300000 };

struct candidate {
	struct elect e;
	enum elect_act act; /* under way, or ELECT_WAIT */
	json_t *body, *answer;
	bool applied;
	int r;
	uint64_t sent, apply, end, frozen_until;
};

static void begin(struct candidate *c, struct rng *rng, uint64_t now)
{
	uint64_t until;
	c->body = c->answer = NULL;
	c->act = elect_next(&c->e, now, WALL_NS + now, &c->body, &until);
	c->sent = now;
	c->apply = now + rng_below(rng, rng_below(rng, 10) == 0 ? 12000 : 100) * NS_PER_MS;
	c->end = c->apply + rng_below(rng, rng_below(rng, 10) == 0 ? 12000 : 100) * NS_PER_MS;
	c->applied = false;
}

/* Requests are lost before or after the server saw them; processes stand still at any point. */
static void advance(struct candidate *c, struct store *s, struct rng *rng, uint64_t now)
{
	if (c->act != ELECT_WAIT && !c->applied && now >= c->apply) {
		c->applied = true;
		c->r = rng_below(rng, 20) == 0 ? ERR_CLOSED
					       : store_do(s, c->act, c->body, &c->answer);
		if (c->r == 0 && rng_below(rng, 20) == 0)
			c->r = ERR_TIMEOUT; /* done, but the answer is lost */
	}
	if (rng_below(rng, 2000) == 0)
		c->frozen_until = now + rng_below(rng, 40000) * NS_PER_MS;
	if (now < c->frozen_until)
		return;
	if (c->act != ELECT_WAIT && c->applied && now >= c->end) {
		elect_result(&c->e, c->act, c->r, c->r == 0 ? c->answer : NULL, c->sent, now);
		json_decref(c->body);
		json_decref(c->answer);
		c->act = ELECT_WAIT;
	}
	if (c->act == ELECT_WAIT)
		begin(c, rng, now);
}

static unsigned count_leaders(const struct candidate *c, uint64_t now)
{
	unsigned n = 0;
	for (int i = 0; i < CANDIDATES; i++)
		n += elect_deadline_ns(&c[i].e, now) != 0;
	return n;
}

static void one_round(uint64_t seed, unsigned *ret_led_steps)
{
	static const char *const names[CANDIDATES] = { "a", "b", "c" };
	struct candidate c[CANDIDATES] = { 0 };
	struct store s = { 0 };
	struct rng rng;
	rng_init_seed(&rng, seed);
	for (int i = 0; i < CANDIDATES; i++)
		elect_init(&c[i].e, &times, "ns", "x", names[i]);
	for (uint64_t ms = 0; ms < ROUND_MS; ms += STEP_MS) {
		uint64_t now = (1000 + ms) * NS_PER_MS;
		for (int i = 0; i < CANDIDATES; i++)
			advance(&c[i], &s, &rng, now);
		unsigned n = count_leaders(c, now);
		if (n > 1)
			fail_msg("%u leaders at %llu ms with seed %llu", n, (unsigned long long)ms,
				 (unsigned long long)seed);
		*ret_led_steps += n;
	}
	for (int i = 0; i < CANDIDATES; i++) {
		if (c[i].act != ELECT_WAIT) {
			json_decref(c[i].body);
			json_decref(c[i].answer);
		}
		elect_done(&c[i].e);
	}
	json_decref(s.lease);
}

static void never_two_leaders(void **state)
{
	unsigned led = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		one_round(seed, &led);
	/* And mostly there is one. */
	assert_true(led > ROUNDS * (ROUND_MS / STEP_MS) / 2);
}

static bool ends_with_dead(const char *process)
{
	return strcmp(process, "dead") == 0;
}

/* A holder on the same machine that was killed keeps nobody waiting; one that runs, one of another
 * machine, and the annotation of a holder before do. */
static void killed_holder_is_followed_at_once(void **state)
{
	static const struct {
		const char *annotation;
		bool at_once;
	} rows[] = {
		{ "a dead", true },   { "a alive", false }, { "a", false },
		{ "ab dead", false }, { "c dead", false },  { "", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct store s = { 0 };
		struct elect b;
		json_t *o =
			json_pack("{s:{s:s, s:{s:s}}, s:{s:s, s:i}}", "metadata", "name", "x",
				  "annotations", "fairlead.dev/lease-process", rows[i].annotation,
				  "spec", "holderIdentity", "a", "leaseDurationSeconds", 15);
		store_put(&s, o);
		json_decref(o);
		elect_init(&b, &times, "ns", "x", "b");
		b.process = "alive";
		b.has_ended = ends_with_dead;
		uint64_t now = 100 * NS_PER_S;
		settle(&b, &s, now);
		assert_true((elect_deadline_ns(&b, now) != 0) == rows[i].at_once);
		if (rows[i].at_once)
			assert_string_equal(api_annotation(s.lease, "fairlead.dev/lease-process"),
					    "b alive");
		elect_done(&b);
		json_decref(s.lease);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_comer_leads),
		cmocka_unit_test(renewing_is_one_write_and_keeps_the_rest),
		cmocka_unit_test(takes_over_within_twenty_seconds),
		cmocka_unit_test(expiry_is_local_and_of_the_record),
		cmocka_unit_test(released_lease_is_free_at_once),
		cmocka_unit_test(leader_without_a_server_stops_in_time),
		cmocka_unit_test(leader_reads_after_a_conflict),
		cmocka_unit_test(conflicts_do_not_spin),
		cmocka_unit_test(deleted_lease_is_made_anew),
		cmocka_unit_test(times_are_checked),
		cmocka_unit_test(end_of_work),
		cmocka_unit_test(never_two_leaders),
		cmocka_unit_test(killed_holder_is_followed_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
