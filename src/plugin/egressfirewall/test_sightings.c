/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sightings: known ones cost no room, a full ring and a greedy client lose only their own (EF-P10),
 * and nothing is lost or torn between two threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "plugin/egressfirewall/sightings.h"

static struct egressfirewall_sightings *current;
static uint8_t name_wire[DNS_NAME_MAX + 8];

static struct egressfirewall_answer answer_of(const char *name, const uint8_t *ip, uint32_t ttl_s,
					      uint64_t now_s)
{
	int n = dns_name_from_text(slice_of(name), name_wire);
	assert_true(n > 0);
	return (struct egressfirewall_answer){
		.seed = egressfirewall_sightings_seed(current, name_wire, (size_t)n, 1),
		.name = name_wire,
		.ip = ip,
		.ip_n = 4,
		.ttl_s = ttl_s,
		.now_ns = now_s * NS_PER_S,
		.client = 7,
	};
}

static const uint8_t ip_a[4] = { 192, 0, 2, 1 }, ip_b[4] = { 192, 0, 2, 2 };

static void reports_what_is_new(void **state)
{
	(void)state;
	struct egressfirewall_sightings *s = current = egressfirewall_sightings_new();
	struct egressfirewall_sighting got;
	struct egressfirewall_answer a = answer_of("www.example.com", ip_a, 30, 100);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_QUEUED);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_KNOWN);
	assert_true(egressfirewall_sightings_take(s, &got));
	assert_false(egressfirewall_sightings_take(s, &got));
	assert_memory_equal(got.name, name_wire, dns_name_len(name_wire));
	assert_memory_equal(got.ip, ip_a, 4);
	assert_int_equal(got.ip_n, 4);
	assert_int_equal(got.ttl_s, 30);
	assert_int_equal(got.expires_ns, 130 * NS_PER_S);
	assert_int_equal(got.client, 7);
	assert_false(got.has_target);
	/* Counting down is nothing new; four seconds more are not either, five are. */
	a = answer_of("www.example.com", ip_a, 10, 120);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_KNOWN);
	a = answer_of("www.example.com", ip_a, 30, 104);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_KNOWN);
	a = answer_of("www.example.com", ip_a, 30, 105);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_QUEUED);
	a = answer_of("www.example.com", ip_b, 30, 105);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_QUEUED);
	/* Other rules: everything again. */
	a.seed = egressfirewall_sightings_seed(current, name_wire, dns_name_len(name_wire), 2);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_QUEUED);
	egressfirewall_sightings_free(s);
}

/* Names whose marks share a set: none makes another one be reported again. */
static void names_of_one_set_stay_known(void **state)
{
	(void)state;
	enum { NAMES = 4 };
	struct egressfirewall_sightings *s = current = egressfirewall_sightings_new();
	unsigned found[NAMES], n = 0;
	uint64_t first = 0;
	char name[32];
	for (unsigned i = 0; n < NAMES; i++) {
		snprintf(name, sizeof(name), "n%u.example.com", i);
		struct egressfirewall_answer a = answer_of(name, ip_a, 30, 100);
		uint64_t set = egressfirewall_sightings_mark(s, a.seed, a.ip, a.ip_n) %
			       EGRESSFIREWALL_KNOWN_SETS;
		first = i == 0 ? set : first;
		if (set == first)
			found[n++] = i;
	}
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < NAMES; i++) {
			snprintf(name, sizeof(name), "n%u.example.com", found[i]);
			struct egressfirewall_answer a = answer_of(name, ip_a, 30, 100);
			assert_int_equal(egressfirewall_sightings_put(s, &a),
					 round == 0 ? EGRESSFIREWALL_PUT_QUEUED
						    : EGRESSFIREWALL_PUT_KNOWN);
		}
	}
	egressfirewall_sightings_free(s);
}

/* What was refused is not known: it is reported again, and nothing else is. */
static void forgets_what_was_refused(void **state)
{
	(void)state;
	struct egressfirewall_sightings *s = current = egressfirewall_sightings_new();
	struct egressfirewall_sighting got;
	struct egressfirewall_answer a = answer_of("a.example.com", ip_a, 30, 100);
	struct egressfirewall_answer b = answer_of("a.example.com", ip_b, 30, 100);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_QUEUED);
	assert_int_equal(egressfirewall_sightings_put(s, &b), EGRESSFIREWALL_PUT_QUEUED);
	assert_true(egressfirewall_sightings_take(s, &got));
	egressfirewall_sightings_refuse(s, got.mark);
	egressfirewall_sightings_forget_refused(s);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_QUEUED);
	assert_int_equal(egressfirewall_sightings_put(s, &b), EGRESSFIREWALL_PUT_KNOWN);
	/* Of more than fit into the list the worker forgets all. */
	for (uint64_t i = 0; i < 10000; i++)
		egressfirewall_sightings_refuse(s, i);
	egressfirewall_sightings_forget_refused(s);
	b = answer_of("a.example.com", ip_b, 30, 100);
	assert_int_equal(egressfirewall_sightings_put(s, &b), EGRESSFIREWALL_PUT_QUEUED);
	egressfirewall_sightings_forget_refused(s);
	assert_int_equal(egressfirewall_sightings_put(s, &b), EGRESSFIREWALL_PUT_KNOWN);
	egressfirewall_sightings_free(s);
}

static void limits_each_client(void **state)
{
	(void)state;
	struct egressfirewall_sightings *s = current = egressfirewall_sightings_new();
	struct egressfirewall_sighting got;
	char name[64];
	unsigned queued = 0, full = 0, taken = 0;
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "n%d.example.com", i);
		struct egressfirewall_answer a = answer_of(name, ip_a, 30, 100);
		enum egressfirewall_put r = egressfirewall_sightings_put(s, &a);
		queued += r == EGRESSFIREWALL_PUT_QUEUED;
		full += r == EGRESSFIREWALL_PUT_FULL;
	}
	assert_int_equal(queued + full, 100000);
	assert_in_range(queued, 50, EGRESSFIREWALL_RING_BYTES / 4 / 48);
	/* Others still have room; what did not fit is not forgotten. */
	struct egressfirewall_answer a = answer_of("n99999.example.com", ip_a, 30, 100);
	a.client = 8;
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_QUEUED);
	while (egressfirewall_sightings_take(s, &got))
		taken++;
	assert_int_equal(taken, queued + 1);
	egressfirewall_sightings_end_turn(s);
	a = answer_of("n99998.example.com", ip_a, 30, 100);
	assert_int_equal(egressfirewall_sightings_put(s, &a), EGRESSFIREWALL_PUT_QUEUED);
	egressfirewall_sightings_free(s);
}

static void holds_when_nobody_takes(void **state)
{
	(void)state;
	struct egressfirewall_sightings *s = current = egressfirewall_sightings_new();
	char name[64];
	unsigned queued = 0;
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "n%u.example.com", i);
		struct egressfirewall_answer a = answer_of(name, ip_a, 30, 100);
		a.client = i;
		queued += egressfirewall_sightings_put(s, &a) == EGRESSFIREWALL_PUT_QUEUED;
	}
	assert_in_range(queued, 400, EGRESSFIREWALL_RING_BYTES / 48);
	egressfirewall_sightings_free(s);
}

static atomic_bool done;
static atomic_uint n_put;

/* Every sighting carries its number in address, TTL and the length of its target. */
static void *put_many(void *arg)
{
	struct egressfirewall_sightings *s = arg;
	for (uint32_t i = 0; i < 200000; i++) {
		uint8_t ip[16] = { 0 }, target[DNS_NAME_MAX] = { 0 };
		memcpy(ip, &i, sizeof(i));
		target[0] = (uint8_t)(i % 63);
		struct egressfirewall_answer a = { .seed = i,
						   .name = (const uint8_t *)"\1a",
						   .target = target,
						   .ip = ip,
						   .ip_n = 16,
						   .ttl_s = i,
						   .now_ns = NS_PER_S,
						   .client = i };
		egressfirewall_sightings_forget_refused(s);
		n_put += egressfirewall_sightings_put(s, &a) == EGRESSFIREWALL_PUT_QUEUED;
	}
	atomic_store(&done, true);
	return NULL;
}

static void passes_between_threads(void **state)
{
	(void)state;
	struct egressfirewall_sightings *s = current = egressfirewall_sightings_new();
	struct egressfirewall_sighting got;
	pthread_t worker;
	unsigned taken = 0;
	int64_t last = -1;
	assert_int_equal(pthread_create(&worker, NULL, put_many, s), 0);
	for (bool more = true; more;) {
		more = !atomic_load(&done);
		while (egressfirewall_sightings_take(s, &got)) {
			uint32_t number;
			memcpy(&number, got.ip, sizeof(number));
			assert_int_equal(number, got.ttl_s);
			assert_int_equal(number, got.client);
			assert_int_equal(got.target[0], number % 63);
			assert_true((int64_t)number > last);
			last = number;
			taken++;
			if (number % 3 == 0)
				egressfirewall_sightings_refuse(s, got.mark);
		}
		egressfirewall_sightings_end_turn(s);
	}
	pthread_join(worker, NULL);
	assert_int_equal(taken, n_put);
	egressfirewall_sightings_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_what_is_new),
		cmocka_unit_test(names_of_one_set_stay_known),
		cmocka_unit_test(forgets_what_was_refused),
		cmocka_unit_test(limits_each_client),
		cmocka_unit_test(holds_when_nobody_takes),
		cmocka_unit_test(passes_between_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
