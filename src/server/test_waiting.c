/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which queries may wait: limits of the worker and of a client, memory of waiting queries, and that
 * everything else is answered meanwhile. One plugin does what the first letter of the question
 * says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/conn/client.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "server/slab.h"
#include "server/subquery.h"
#include "server/waiting.h"
#include "server/worker.h"
#include "testing/fake_server.h"

#define WAIT_NS (10 * NS_PER_MS)

enum { LIMIT = 1000, SMALL_PIECE = 3500, LARGE_PIECE = 20000 };

static unsigned n_cancelled, n_rounds;
static const uint8_t waiting_name[] = "\1w\4test", local_name[] = "\1x\4test";

static enum verdict wait_with(struct query *q, size_t bytes)
{
	if (bytes != 0 && arena_alloc(&q->arena, bytes) == NULL)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	query_resume_at(q, query_now(q) + WAIT_NS);
	return V_WAIT;
}

static enum verdict wait_for_sub(struct plugin_inst *self, struct query *q, const uint8_t *name)
{
	if (query_sub(q, self, SUB_SERVER, name, DNS_TYPE_A) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "no sub-query");
	return V_WAIT;
}

/* More than there is: what was added until then is a part of the answer. */
static enum verdict run_out_of_memory(struct query *q)
{
	while (arena_alloc(&q->arena, LARGE_PIECE) != NULL)
		;
	query_reply(q);
	q->resp.flags |= DNS_FLAG_TC;
	return V_ANSWERED;
}

static enum verdict t_serve(struct plugin_inst *self, struct query *q)
{
	query_reply(q);
	switch (q->qname.wire[1]) {
	case 'w':
	case 'a': /* and again, n_rounds times */
		return wait_with(q, 0);
	case 'p':
		return wait_with(q, SMALL_PIECE);
	case 'l':
		return wait_with(q, LARGE_PIECE);
	case 's':
		return wait_for_sub(self, q, waiting_name);
	case 'h': /* holds a large block and waits for one that waits */
		assert_non_null(arena_alloc(&q->arena, LARGE_PIECE));
		return wait_for_sub(self, q, waiting_name);
	case 'i':
		return wait_for_sub(self, q, local_name);
	case 'b':
		assert_non_null(arena_alloc(&q->arena, LARGE_PIECE));
		return V_ANSWERED;
	case 't':
		q->proto = QUERY_TCP;
		return run_out_of_memory(q);
	case 'u':
		return run_out_of_memory(q);
	default:
		return V_ANSWERED;
	}
}

static enum verdict t_resume(struct plugin_inst *self, struct query *q)
{
	(void)self;
	if (q->sub != NULL) {
		q->rcode = query_rcode(q->sub);
		return q->sub->outcome;
	}
	if (q->qname.wire[1] == 'a' && n_rounds > 0) {
		n_rounds--;
		return wait_with(q, 0);
	}
	return V_ANSWERED;
}

static void t_cancel(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	n_cancelled++;
}

static const struct plugin t_plugin = {
	.name = "t", .serve = t_serve, .resume = t_resume, .cancel = t_cancel
};
const struct plugin *const plugin_list[] = { &t_plugin, NULL };

/* ---- helpers ---- */

static struct fake *f;

static int start(void **state)
{
	(void)state;
	n_cancelled = n_rounds = 0;
	f = fake_new(". {\n t\n}\n");
	fake_server(f)->opts.max_waiting = LIMIT;
	waiting_init(&fake_server(f)->worker[0]);
	return 0;
}

static struct worker *worker(void)
{
	return &fake_server(f)->worker[0];
}

/* All that waits is answered, and everything was given back. */
static int stop(void **state)
{
	(void)state;
	fake_advance(f, WAIT_NS);
	assert_int_equal(fake_inflight(f), 0);
	assert_int_equal(worker()->waiting.n_clients, 0);
	assert_int_equal(worker()->waiting.n_large, 0);
	assert_int_equal(worker()->small.used, 0);
	assert_int_equal(worker()->large.used, 0);
	fake_free(f);
	return 0;
}

static const char *ask(const char *name, const char *client)
{
	return fake_ask(f, &(struct fake_ask){ .name = name, .client = client });
}

static bool is_refused(const char *reply)
{
	return reply != NULL && strncmp(reply, "SERVFAIL ", 9) == 0;
}

static bool is_answered(const char *reply)
{
	return reply != NULL && strncmp(reply, "NOERROR ", 8) == 0;
}

/* Asks until it is refused; how many wait. */
static unsigned fill(const char *name, const char *client)
{
	unsigned n = 0;
	const char *reply;
	while ((reply = ask(name, client)) == NULL && n < 2 * LIMIT)
		n++;
	assert_true(is_refused(reply));
	return n;
}

/* So many that nobody can wait. */
static void fill_all(void)
{
	for (unsigned i = 0; i < 250; i++) {
		char client[32];
		snprintf(client, sizeof(client), "198.51.100.%u:53", i);
		fill("w.test.", client);
	}
	assert_true(is_refused(ask("w.test.", "203.0.113.1:53")));
}

/* ---- tests ---- */

static void only_waiting_is_limited(void **state)
{
	(void)state;
	fill_all();
	assert_in_range(fake_inflight(f), LIMIT - WORKER_BATCH, LIMIT + WORKER_BATCH);
	for (int i = 0; i < 300; i++) {
		assert_true(is_answered(ask("x.test.", "198.51.100.1:53")));
		assert_true(is_answered(ask("b.test.", "203.0.113.1:53")));
	}
	/* What a sub-query finds here needs no waiting either; what it would wait for fails. */
	for (int i = 0; i < 300; i++) {
		assert_true(is_answered(ask("i.test.", "198.51.100.1:53")));
		assert_true(is_refused(ask("s.test.", "203.0.113.1:53")));
	}
	fake_advance(f, WAIT_NS);
	while (fake_next(f) != NULL)
		;
	assert_null(ask("w.test.", "203.0.113.1:53"));
}

static void a_client_leaves_room_to_others(void **state)
{
	(void)state;
	unsigned first = fill("w.test.", "192.0.2.1:53");
	assert_in_range(first, LIMIT / 2 - WORKER_BATCH, LIMIT / 2 + WORKER_BATCH);
	unsigned second = fill("w.test.", "192.0.2.2:53");
	assert_in_range(second, LIMIT / 4 - WORKER_BATCH, LIMIT / 4 + WORKER_BATCH);
	assert_true(is_refused(ask("w.test.", "192.0.2.1:54")));
	assert_true(fill("w.test.", "[2001:db8::1]:53") > 50);
	assert_true(is_answered(ask("x.test.", "192.0.2.1:53")));
}

static void sub_queries_count_for_their_client(void **state)
{
	(void)state;
	unsigned n = fill("s.test.", "192.0.2.1:53");
	assert_in_range(n, LIMIT / 4 - WORKER_BATCH, LIMIT / 4 + WORKER_BATCH);
	assert_null(ask("s.test.", "192.0.2.2:53"));
}

static uint64_t key_of(const char *text)
{
	union net_addr a;
	assert_int_equal(net_addr_parse_ip(slice_of(text), &a), 0);
	return client_key(&a);
}

static void who_a_client_is(void **state)
{
	(void)state;
	assert_true(key_of("192.0.2.1") != key_of("192.0.2.2"));
	assert_true(key_of("2001:db8:1:2::1") == key_of("2001:db8:1:ff:ffff::2"));
	assert_true(key_of("2001:db8:1:2::1") != key_of("2001:db8:1:102::1"));
	assert_true(key_of("192.0.2.1") != key_of("c000:0201::"));
	assert_true(key_of("0.0.0.0") != key_of("::"));
}

static void many_clients(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIMIT - WORKER_BATCH; i++) {
		char client[64];
		snprintf(client, sizeof(client), "[2001:db8:%x:%x00::1]:53", i / 7, i % 7);
		assert_null(ask("w.test.", client));
	}
	assert_int_equal(worker()->waiting.n_clients, LIMIT - WORKER_BATCH);
}

static void the_plugin_is_told(void **state)
{
	(void)state;
	unsigned n = fill("w.test.", "192.0.2.1:53");
	assert_int_equal(n_cancelled, 1);
	const char *log = fake_log(f);
	assert_non_null(strstr(log, "[WARNING] server: the client has too many queries waiting for "
				    "upstreams: a query of 192.0.2.1 gets SERVFAIL (0 more"));
	assert_true(is_refused(ask("w.test.", "192.0.2.1:53")));
	assert_int_equal(n_cancelled, 2);
	assert_null(strstr(fake_log(f), "SERVFAIL")); /* one line for many of them */
	fake_advance(f, WAIT_NS);
	for (unsigned i = 0; i < n; i++)
		assert_true(is_answered(fake_next(f)));
	assert_null(fake_next(f)); /* what was refused is not resumed */
	assert_true(fake_metric(f, "fairlead_dns_waits_refused_total{reason=\"client\"}") >= 2);
}

static void one_that_waits_may_wait_again(void **state)
{
	(void)state;
	n_rounds = 3;
	assert_null(ask("a.test.", "192.0.2.1:53"));
	while (n_rounds > 0) {
		fill_all();
		fake_advance(f, WAIT_NS);
		for (const char *reply; (reply = fake_next(f)) != NULL;)
			assert_true(is_answered(reply));
	}
	assert_int_equal(fake_inflight(f), 1);
}

/* A query with 1.2 KB of padding and what is made of it need a second block. */
static void longer_queries_take_small_blocks(void **state)
{
	(void)state;
	unsigned n = fill("p.test.", "192.0.2.1:53");
	assert_in_range(n, LIMIT / 4 - WORKER_BATCH, LIMIT / 4 + WORKER_BATCH);
	assert_int_equal(worker()->small.used, n);
	assert_int_equal(worker()->large.used, 0);
}

static void waiting_holds_few_large_blocks(void **state)
{
	(void)state;
	unsigned n = fill("l.test.", "192.0.2.1:53");
	assert_int_equal(n, SLAB_LARGE_WAITING_MAX / 2);
	for (unsigned i = 2; i < 100; i++) {
		char client[32];
		snprintf(client, sizeof(client), "192.0.2.%u:53", i);
		n += ask("l.test.", client) == NULL;
		n += ask("h.test.", client) == NULL;
	}
	assert_in_range(n, SLAB_LARGE_WAITING_MAX / 2 + 1, SLAB_LARGE_WAITING_MAX);
	assert_int_equal(worker()->large.used, n);
	assert_true(is_answered(ask("b.test.", "192.0.2.1:53")));
	assert_null(ask("w.test.", "192.0.2.1:53"));
}

static void memory_that_is_missing_cuts_no_reply_over_tcp(void **state)
{
	(void)state;
	const char *reply = ask("u.test.", "192.0.2.1:53");
	assert_non_null(strstr(reply, "NOERROR qr tc"));
	assert_true(is_refused(ask("t.test.", "192.0.2.1:53")));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, start, stop)
	const struct CMUnitTest tests[] = {
		T(only_waiting_is_limited),
		T(a_client_leaves_room_to_others),
		T(sub_queries_count_for_their_client),
		T(who_a_client_is),
		T(many_clients),
		T(the_plugin_is_told),
		T(one_that_waits_may_wait_again),
		T(longer_queries_take_small_blocks),
		T(waiting_holds_few_large_blocks),
		T(memory_that_is_missing_cuts_no_reply_over_tcp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
