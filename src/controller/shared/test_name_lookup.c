/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lookups as an engine's work: one that waits behind others keeps its time for its own turn; the
 * result does not depend on the order of records. */
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/shared/name_lookup.h"
#include "testing/fake_upstream.h"

enum { BEFORE = LOOKUP_AT_ONCE / 2 }; /* each has two questions */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the keys */
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static char keys[BEFORE + 1][16]; /* the first ones */
static size_t n_keys;

static void note_key(void *arg, const char *key)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	if (n_keys < ARRAY_LEN(keys))
		snprintf(keys[n_keys], sizeof(keys[0]), "%s", key);
	n_keys++;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
}

static void submit(struct engine *engine, const char *key, uint64_t timeout_ns)
{
	struct name_lookup *lookup = name_lookup_new("www.example");
	lookup->work.timeout_ns = timeout_ns;
	engine_submit(engine, key, 1, &lookup->work);
}

static struct engine *start_engine(const struct fakeup *server)
{
	struct engine *engine;
	char err[200];
	n_keys = 0;
	assert_int_equal(engine_start(&(struct engine_conf){ .emit = note_key,
							     .dns_servers = fakeup_addr(server),
							     .n_dns_servers = 1 },
				      &engine, ERR_TEXT(err)),
			 0);
	return engine;
}

static void wait_keys(size_t wanted)
{
	pthread_mutex_lock(&lock);
	while (n_keys < wanted)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

/* The server is silent. The last lookup has the shortest time, but its turn comes when others end. */
static void waiting_is_not_its_time(void **state)
{
	struct fakeup *server = fakeup_new();
	struct engine *engine = start_engine(server);
	(void)state;
	for (int i = 0; i < BEFORE; i++) {
		char key[16];
		snprintf(key, sizeof(key), "%d", i);
		submit(engine, key, 300 * NS_PER_MS);
	}
	submit(engine, "last", 100 * NS_PER_MS);
	wait_keys(BEFORE + 1);
	assert_string_not_equal(keys[0], "last");
	struct engine_work *work = NULL;
	assert_int_equal(engine_take(engine, "last", 1, &work), ENGINE_COMPLETED);
	assert_true(work->timed_out);
	engine_work_free(work);
	engine_stop(engine);
	fakeup_free(server);
}

/* Waits for both questions and answers them with these records. */
static void answer_both(struct fakeup *server, const char *ipv4, const char *ipv6)
{
	for (unsigned answered = 0; answered < 2;) {
		const char *question = fakeup_next(server);
		if (question == NULL) {
			poll(NULL, 0, 1); /* the engine's thread has not asked yet */
			continue;
		}
		fakeup_answer(server, strstr(question, "AAAA") != NULL ? ipv6 : ipv4);
		answered++;
	}
}

static struct name_lookup *look_up(struct engine *engine, struct fakeup *server, const char *ipv4,
				   const char *ipv6)
{
	struct engine_work *work = NULL;
	n_keys = 0; /* nothing is under way */
	submit(engine, "x", 0);
	answer_both(server, ipv4, ipv6);
	wait_keys(1);
	assert_int_equal(engine_take(engine, "x", 1, &work), ENGINE_COMPLETED);
	assert_int_equal(name_lookup_of(work)->result, 0);
	return name_lookup_of(work);
}

static void expect_addresses(const struct name_lookup_part *part, const char *const *wanted,
			     size_t n_wanted)
{
	assert_int_equal(part->n_addresses, n_wanted);
	for (size_t i = 0; i < n_wanted; i++) {
		char text[NET_ADDR_TEXT_MAX];
		net_addr_ip_str(&part->addresses[i], text);
		assert_string_equal(text, wanted[i]);
	}
}

static void order_of_records_does_not_matter(void **state)
{
	static const char *const orders[][2] = {
		{ "www.example. 60 IN A 192.0.2.9\nwww.example. 60 IN A 192.0.2.10\n"
		  "www.example. 60 IN A 10.0.0.1",
		  "www.example. 30 IN AAAA 2001:db8::2\nwww.example. 30 IN AAAA 2001:db8::1" },
		{ "www.example. 60 IN A 10.0.0.1\nwww.example. 60 IN A 192.0.2.9\n"
		  "www.example. 60 IN A 192.0.2.10\nwww.example. 60 IN A 10.0.0.1",
		  "www.example. 30 IN AAAA 2001:db8::1\nwww.example. 30 IN AAAA 2001:db8::2\n"
		  "www.example. 30 IN AAAA 2001:db8:0::1" },
	};
	static const char *const ipv4[] = { "10.0.0.1", "192.0.2.9", "192.0.2.10" };
	static const char *const ipv6[] = { "2001:db8::1", "2001:db8::2" };
	struct fakeup *server = fakeup_new();
	struct engine *engine = start_engine(server);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct name_lookup *lookup = look_up(engine, server, orders[i][0], orders[i][1]);
		expect_addresses(&lookup->part[0], ipv4, ARRAY_LEN(ipv4));
		expect_addresses(&lookup->part[1], ipv6, ARRAY_LEN(ipv6));
		assert_int_equal(name_lookup_ttl(lookup), 30);
		engine_work_free(&lookup->work);
	}
	engine_stop(engine);
	fakeup_free(server);
}

static void without_addresses(void **state)
{
	struct fakeup *server = fakeup_new();
	struct engine *engine = start_engine(server);
	(void)state;
	struct name_lookup *lookup =
		look_up(engine, server, "www.example. 9 IN CNAME other.example.", NULL);
	expect_addresses(&lookup->part[0], NULL, 0);
	expect_addresses(&lookup->part[1], NULL, 0);
	engine_work_free(&lookup->work);
	engine_stop(engine);
	fakeup_free(server);
	assert_null(name_lookup_new("not..valid"));
}

/* The same addresses are kept, whichever the server names first. */
static void stable_choice_above_the_limit(void **state)
{
	enum { MANY = NAME_LOOKUP_ADDRESSES_MAX + 20 };
	struct fakeup *server = fakeup_new();
	struct engine *engine = start_engine(server);
	(void)state;
	for (unsigned shift = 0; shift < MANY; shift += MANY / 2) {
		CLEANUP(strbuf_done) struct strbuf records = STRBUF_INIT;
		for (unsigned i = 0; i < MANY; i++)
			strbuf_addf(&records, "www.example. 60 IN A 192.0.2.%u\n",
				    (i * 7 + shift) % MANY + 1);
		struct name_lookup *lookup = look_up(engine, server, records.s, NULL);
		assert_int_equal(lookup->part[0].n_addresses, NAME_LOOKUP_ADDRESSES_MAX);
		for (size_t i = 0; i < NAME_LOOKUP_ADDRESSES_MAX; i++) {
			size_t n;
			assert_int_equal(net_addr_bytes(&lookup->part[0].addresses[i], &n)[3],
					 i + 1);
		}
		engine_work_free(&lookup->work);
	}
	engine_stop(engine);
	fakeup_free(server);
}

static size_t count_keys(void)
{
	pthread_mutex_lock(&lock);
	size_t n = n_keys;
	pthread_mutex_unlock(&lock);
	return n;
}

/* Answers questions, also those that are repeated, until so many lookups have completed. */
static void answer_until(struct fakeup *server, size_t wanted)
{
	while (count_keys() < wanted) {
		const char *question = fakeup_next(server);
		if (question == NULL)
			poll(NULL, 0, 1);
		else
			fakeup_answer(server, strstr(question, "AAAA") != NULL
						      ? "www.example. 60 IN AAAA 2001:db8::1"
						      : "www.example. 60 IN A 192.0.2.1");
	}
}

static void ten_thousand_names(void **state)
{
	enum { MANY = 10000, MOST_BYTES = 40 << 20 };
	struct fakeup *server = fakeup_new();
	struct engine *engine = start_engine(server);
	size_t before = mallinfo2().uordblks;
	(void)state;
	for (int i = 0; i < MANY; i++) {
		char key[16];
		snprintf(key, sizeof(key), "%d", i);
		submit(engine, key, 0);
	}
	assert_int_equal(engine_count(engine), MANY);
	assert_true(mallinfo2().uordblks - before < MOST_BYTES);
	answer_until(server, MANY);
	for (int i = 0; i < MANY; i++) {
		struct engine_work *work = NULL;
		char key[16];
		snprintf(key, sizeof(key), "%d", i);
		assert_int_equal(engine_take(engine, key, 1, &work), ENGINE_COMPLETED);
		const struct name_lookup *lookup = name_lookup_of(work);
		assert_int_equal(lookup->result, 0);
		assert_int_equal(lookup->part[0].n_addresses, 1);
		assert_int_equal(lookup->part[1].n_addresses, 1);
		engine_work_free(work);
	}
	engine_stop(engine);
	fakeup_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_is_not_its_time),
		cmocka_unit_test(order_of_records_does_not_matter),
		cmocka_unit_test(without_addresses),
		cmocka_unit_test(stable_choice_above_the_limit),
		cmocka_unit_test(ten_thousand_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
