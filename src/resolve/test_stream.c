/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanges over TCP on loopback: many on one connection, replies in any order and in pieces, peers
 * that close, time-outs, limits. */
#include <errno.h>

#include "base/err.h"
#include "resolve/link_priv.h"
#include "resolve/resolver.h"
#include "resolve/resolver_priv.h"
#include "resolve/stream_priv.h"
#include "resolve/test_env.h"

static const char *taken(struct env *e)
{
	env_turn(e);
	return fakeup_next(e->fake);
}

static struct resolve_pool *pool_of(struct env *e)
{
	return resolver_pool(e->r, e->up);
}

static void out_of_order(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_tcp(e, "a.example.");
	struct ask *b = ask_tcp(e, "b.example.");
	struct ask *c = ask_tcp(e, "c.example.");
	(void)state;
	env_turn(e);
	assert_string_equal(fakeup_next(e->fake), "tcp a.example. IN A");
	assert_string_equal(fakeup_next(e->fake), "tcp b.example. IN A");
	assert_string_equal(fakeup_next(e->fake), "tcp c.example. IN A");
	assert_int_equal(fakeup_accepted(e->fake), 1);
	fakeup_pick(e->fake, 2);
	fakeup_answer(e->fake, "c.example. 1 A 192.0.2.3");
	fakeup_pick(e->fake, 0);
	fakeup_answer(e->fake, "a.example. 1 A 192.0.2.1");
	env_turn(e);
	assert_int_equal(a->x.result, RESOLVE_OK);
	assert_int_equal(a->x.proto, RESOLVE_TCP);
	assert_non_null(strstr(a->reply.s, "192.0.2.1"));
	assert_non_null(strstr(c->reply.s, "192.0.2.3"));
	assert_int_equal(b->done, 0);
	fakeup_pick(e->fake, 1);
	fakeup_answer(e->fake, "b.example. 1 A 192.0.2.2");
	env_turn(e);
	assert_int_equal(b->done, 1);
	assert_false(a->x.reused);
	assert_true(b->x.reused);
	ask_free(a);
	ask_free(b);
	ask_free(c);
	env_free(e);
}

static void longest(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	for (size_t i = 0; i < 2 * (size_t)LONGEST_NAMES; i++) {
		const char *name = longest_names[i / 2];
		char record[DNS_NAME_TEXT_MAX + 64];
		struct ask *a = ask_new(e, name);
		a->x.tcp = true;
		a->x.random_case = i % 2 == 1;
		resolve_start(e->r, &a->x);
		assert_ptr_equal(a->e, e);
		assert_non_null(taken(e));
		snprintf(record, sizeof(record), "%s 60 IN CNAME %s", name, name);
		fakeup_answer(e->fake, record);
		env_turn(e);
		assert_int_equal(a->x.result, RESOLVE_OK);
		assert_non_null(strstr(a->reply.s, record));
		ask_free(a);
	}
	env_free(e);
}

/* Byte by byte, then two in one piece with a stray between them. */
static void in_pieces(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_tcp(e, "a.example.");
	uint8_t m[3 * 64];
	size_t n;
	(void)state;
	assert_non_null(taken(e));
	const uint8_t *q = fakeup_query(e->fake, &n);
	dns_put16(m, (uint16_t)n);
	memcpy(m + 2, q, n);
	m[4] |= 0x80;
	for (size_t i = 0; i < n + 2; i++) {
		assert_int_equal(a->done, 0);
		fakeup_stream(e->fake, m + i, 1);
		env_turn(e);
	}
	assert_int_equal(a->x.result, RESOLVE_OK);
	struct ask *b = ask_tcp(e, "b.example.");
	struct ask *c = ask_tcp(e, "c.example.");
	size_t at = 0;
	assert_non_null(taken(e));
	for (int i = 0; i < 2; i++) {
		q = fakeup_query(e->fake, &n);
		dns_put16(m + at, (uint16_t)n);
		memcpy(m + at + 2, q, n);
		m[at + 4] |= 0x80;
		at += n + 2;
		if (i == 0) {
			memcpy(m + at, "\0\3abc", 5);
			at += 5;
			assert_non_null(fakeup_next(e->fake));
		}
	}
	fakeup_stream(e->fake, m, at);
	env_turn(e);
	assert_int_equal(b->x.result, RESOLVE_OK);
	assert_int_equal(c->x.result, RESOLVE_OK);
	assert_int_equal(c->done, 1);
	assert_int_equal(resolver_stats(e->r)->strays, 1);
	assert_int_equal(fakeup_accepted(e->fake), 1);
	ask_free(a);
	ask_free(b);
	ask_free(c);
	env_free(e);
}

/* What UDP makes a truncated reply of is no message here. */
static void judges(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
		enum resolve_result result;
	} rows[] = {
		{ "\0\0\201\200\0\1\0\1\0\0\0\0\1a\7example\0\0\1\0\1", 27, RESOLVE_GARBLED },
		{ "\0\0\201\200\0\1\0\0\0\0\0\0\1b\7example\0\0\1\0\1", 27, RESOLVE_MISMATCH },
		{ "\0\0\203\200\0\1\0\0\0\0\0\0\1a\7example\0\0\1\0\1", 27, RESOLVE_OK },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ask *a = ask_tcp(e, "a.example.");
		assert_non_null(taken(e));
		fakeup_bytes(e->fake, (const uint8_t *)rows[i].bytes, rows[i].n);
		env_turn(e);
		assert_int_equal(a->done, 1);
		assert_int_equal(a->x.result, rows[i].result);
		assert_false(a->x.reply_tc);
		ask_free(a);
	}
	env_free(e);
}

static void largest_message(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_tcp(e, "a.example.");
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	(void)state;
	for (int i = 0; i < 1680; i++)
		strbuf_addf(&lines, "a.example. 60 IN TXT \"number %08d\"\n", i);
	assert_non_null(taken(e));
	fakeup_answer(e->fake, lines.s);
	for (int i = 0; i < 20 && a->done == 0; i++)
		env_turn(e);
	assert_int_equal(a->x.result, RESOLVE_OK);
	assert_in_range(a->x.reply_n, 60000, 65535);
	ask_free(a);
	env_free(e);
}

static void answer_all(struct env *e)
{
	env_turn(e);
	while (fakeup_next(e->fake) != NULL)
		fakeup_answer(e->fake, NULL);
	env_turn(e);
}

static void ask_and_answer(struct env *e)
{
	struct ask *a = ask_tcp(e, "a.example.");
	answer_all(e);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.result, RESOLVE_OK);
	ask_free(a);
}

/* Closed while it was idle, or just when our question was under way: asked once more, silently. */
static void reused_and_closed(void **state)
{
	(void)state;
	for (int reset = 0; reset < 2; reset++) {
		struct env *e = env_new(NULL);
		ask_and_answer(e);
		fakeup_hang_up(e->fake, reset != 0);
		env_turn(e);
		ask_and_answer(e);
		assert_int_equal(fakeup_accepted(e->fake), 2);
		struct ask *a = ask_tcp(e, "a.example.");
		struct ask *b = ask_tcp(e, "b.example.");
		assert_non_null(taken(e));
		assert_non_null(fakeup_next(e->fake));
		fakeup_hang_up(e->fake, reset != 0);
		env_turn(e);
		assert_int_equal(a->done + b->done, 0);
		answer_all(e);
		answer_all(e);
		assert_int_equal(a->x.result, RESOLVE_OK);
		assert_int_equal(b->x.result, RESOLVE_OK);
		assert_int_equal(a->done + b->done, 2);
		ask_free(a);
		ask_free(b);
		env_free(e);
	}
}

/* On a connection of its own it is told, and on the second one, too: no third. */
static void closed_again(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_tcp(e, "a.example.");
	(void)state;
	assert_non_null(taken(e));
	fakeup_hang_up(e->fake, false);
	env_turn(e);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.result, RESOLVE_NETWORK);
	assert_int_equal(a->x.error, ERR_CLOSED);
	assert_string_equal(a->x.error_text, "EOF");
	ask_and_answer(e);
	unsigned before = fakeup_accepted(e->fake);
	resolve_start(e->r, &a->x);
	assert_non_null(taken(e));
	fakeup_hang_up(e->fake, false);
	assert_non_null(taken(e));
	assert_int_equal(a->done, 1);
	assert_false(a->x.reused);
	fakeup_hang_up(e->fake, false);
	env_turn(e);
	assert_int_equal(a->done, 2);
	assert_int_equal(a->x.error, ERR_CLOSED);
	assert_int_equal(fakeup_accepted(e->fake), before + 1);
	ask_free(a);
	env_free(e);
}

/* A server that closes after each reply answers everybody all the same, and is not dialled more
 * often than it has to be. */
static void one_shot_server(void **state)
{
	enum { N = 40 };
	struct env *e = env_new(NULL);
	struct ask *a[N];
	unsigned done = 0;
	(void)state;
	for (int i = 0; i < N; i++)
		a[i] = ask_tcp(e, "a.example.");
	for (int turn = 0; turn < 4 * N && done < N; turn++) {
		env_turn(e);
		if (fakeup_next(e->fake) != NULL) {
			fakeup_answer(e->fake, NULL);
			fakeup_hang_up(e->fake, false);
		}
		env_turn(e);
		done = 0;
		for (int i = 0; i < N; i++)
			done += a[i]->done;
	}
	for (int i = 0; i < N; i++) {
		assert_int_equal(a[i]->done, 1);
		assert_int_equal(a[i]->x.result, RESOLVE_OK);
		ask_free(a[i]);
	}
	assert_in_range(fakeup_accepted(e->fake), N, N + 2 * STREAMS);
	assert_int_equal(pool_of(e)->depth, 1);
	/* It may learn better. */
	for (int i = 0; i < 3; i++)
		ask_and_answer(e);
	assert_int_equal(pool_of(e)->depth, 3);
	env_free(e);
}

static void refused(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	fakeup_stop_tcp(e->fake);
	struct ask *a = ask_tcp(e, "a.example.");
	env_turn(e);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.result, RESOLVE_NETWORK);
	assert_int_equal(a->x.error, -ECONNREFUSED);
	assert_int_equal(pool_of(e)->n_streams, 0);
	ask_free(a);
	env_free(e);
}

/* Nothing heard since the question: whoever comes next gets another connection. */
static void silent_peer(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	ask_and_answer(e);
	env_advance(e, NS_PER_S);
	struct ask *a = ask_tcp(e, "a.example.");
	assert_non_null(taken(e));
	env_advance(e, 2 * NS_PER_S);
	assert_int_equal(a->x.result, RESOLVE_TIMEOUT);
	assert_int_equal(fakeup_open(e->fake), 0);
	ask_and_answer(e);
	assert_int_equal(fakeup_accepted(e->fake), 2);
	/* A slow question among quick ones is no reason. */
	a->x.deadline_ns = env_now + 2 * NS_PER_S;
	resolve_start(e->r, &a->x);
	assert_non_null(taken(e));
	env_advance(e, STREAM_SLOW_NS / 2);
	ask_and_answer(e);
	env_advance(e, 2 * NS_PER_S);
	assert_int_equal(a->x.result, RESOLVE_TIMEOUT);
	ask_and_answer(e);
	assert_int_equal(fakeup_accepted(e->fake), 2);
	ask_free(a);
	env_free(e);
}

static void expires(void **state)
{
	struct env *e = env_new(&(struct resolve_conf){ .expire_ns = 3 * NS_PER_S });
	(void)state;
	ask_and_answer(e);
	env_advance(e, 2 * NS_PER_S);
	ask_and_answer(e);
	env_advance(e, 2 * NS_PER_S);
	assert_int_equal(fakeup_open(e->fake), 1);
	env_advance(e, NS_PER_S);
	env_advance(e, NS_PER_S);
	assert_int_equal(fakeup_open(e->fake), 0);
	env_free(e);
}

static void max_age(void **state)
{
	struct env *e = env_new(&(struct resolve_conf){ .max_age_ns = 5 * NS_PER_S });
	(void)state;
	for (int i = 0; i < 3; i++) {
		ask_and_answer(e);
		env_advance(e, 2 * NS_PER_S);
	}
	assert_int_equal(fakeup_accepted(e->fake), 1);
	ask_and_answer(e);
	assert_int_equal(fakeup_accepted(e->fake), 2);
	assert_int_equal(fakeup_open(e->fake), 1);
	env_free(e);
}

/* Connections that are opened from now on take so many questions at once. */
static void set_depth(struct env *e, uint32_t depth)
{
	struct ask *a = ask_tcp(e, "a.example.");
	ask_free(a);
	while (pool_of(e)->links != NULL)
		link_close(pool_of(e)->links);
	resolver_bury(e->r);
	pool_of(e)->new_depth = depth;
}

/* Many at once spread over connections; then as many as allowed stay open. */
static void spreads(void **state)
{
	enum { DEPTH = 20, N = STREAMS * DEPTH + 100 };
	struct env *e = env_new(&(struct resolve_conf){ .max_idle = 3 });
	static struct ask *a[N];
	(void)state;
	set_depth(e, DEPTH);
	ask_and_answer(e);
	for (int i = 0; i < 3 * STREAM_SPREAD; i++) {
		a[i] = ask_tcp(e, "a.example.");
		env_turn(e);
	}
	assert_int_equal(pool_of(e)->n_streams, 3);
	for (int i = 3 * STREAM_SPREAD; i < N; i++) {
		a[i] = ask_tcp(e, "a.example.");
		env_turn(e);
		if (i == STREAMS_BUSY * DEPTH - 1)
			assert_int_equal(pool_of(e)->n_streams, STREAMS_BUSY);
	}
	assert_int_equal(pool_of(e)->n_streams, STREAMS);
	assert_int_equal(pool_of(e)->n_waiting, 100);
	for (int i = 0; i < 4; i++)
		answer_all(e);
	for (int i = 0; i < N; i++) {
		assert_int_equal(a[i]->done, 1);
		assert_int_equal(a[i]->x.result, RESOLVE_OK);
		ask_free(a[i]);
	}
	assert_int_equal(fakeup_open(e->fake), 3);
	env_free(e);
}

/* Those of one batch wait for one connection; more than may wait fail at once. */
static void too_many(void **state)
{
	enum { DEPTH = 20, N = STREAMS * DEPTH + STREAM_WAITING + 1 };
	struct env *e = env_new(NULL);
	static struct ask *a[N];
	(void)state;
	set_depth(e, DEPTH);
	for (int i = 0; i < N; i++)
		a[i] = ask_tcp(e, "a.example.");
	assert_int_equal(pool_of(e)->n_streams, STREAMS);
	for (int i = 0; i < N; i++)
		assert_int_equal(a[i]->x.state == X_READY, i == N - 1);
	assert_int_equal(a[N - 1]->x.error, ERR_BUSY);
	resolve_cancel(e->r, &a[0]->x);
	resolve_cancel(e->r, &a[N - 2]->x);
	env_advance(e, 2 * NS_PER_S);
	for (int i = 0; i < N; i++) {
		assert_int_equal(a[i]->done, i != 0 && i != N - 2);
		ask_free(a[i]);
	}
	assert_int_equal(pool_of(e)->n_waiting, 0);
	env_free(e);
}

/* Thousands of names that nobody answers: others are asked at once, and are answered. */
static void unanswered_names(void **state)
{
	enum { N = 6000 };
	static struct ask *a[N];
	struct env *e = env_new(NULL);
	unsigned quick = 0;
	(void)state;
	for (int i = 0; i < N; i++) {
		a[i] = ask_tcp(e, "silent.example.");
		if (i % 20 != 0)
			continue;
		struct ask *b = ask_tcp(e, "b.example.");
		env_now += NS_PER_MS; /* 20 000 a second */
		env_turn(e);
		for (const char *q; (q = fakeup_next(e->fake)) != NULL;) {
			if (strcmp(q, "tcp b.example. IN A") == 0)
				fakeup_answer(e->fake, "b.example. 1 A 192.0.2.1");
		}
		env_turn(e);
		quick += b->done == 1 && b->x.result == RESOLVE_OK;
		ask_free(b);
	}
	assert_int_equal(quick, N / 20);
	assert_int_equal(pool_of(e)->n_waiting, 0);
	assert_in_range(pool_of(e)->n_streams, 1, STREAMS_BUSY);
	for (int i = 0; i < N; i++)
		ask_free(a[i]);
	env_free(e);
}

/* A server that answers in order is busy with a name that has no answer: another name goes over
 * another connection; with none to be had, over any. */
static void stalled_connections(void **state)
{
	struct ask *a[STREAMS + 3];
	struct env *e = env_new(NULL);
	(void)state;
	ask_and_answer(e);
	pool_of(e)->max_streams = STREAMS;
	for (unsigned i = 0; i < ARRAY_LEN(a); i++) {
		a[i] = ask_new(e, "silent.example.");
		a[i]->x.tcp = true;
		a[i]->x.deadline_ns = env_now + 100 * NS_PER_S;
		resolve_start(e->r, &a[i]->x);
		assert_non_null(taken(e));
		assert_int_equal(pool_of(e)->n_streams, MIN(i + 1, (unsigned)STREAMS));
		env_advance(e, STREAM_STALL_NS + 1);
	}
	/* One that was heard of is fine again. */
	struct resolve_link *heard = a[5]->x.link;
	fakeup_pick(e->fake, 6);
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(a[5]->done, 1);
	struct ask *b = ask_tcp(e, "b.example.");
	assert_ptr_equal(b->x.link, heard);
	ask_free(b);
	for (unsigned i = 0; i < ARRAY_LEN(a); i++)
		ask_free(a[i]);
	env_free(e);
}

/* A peer that may answer in order takes its time: the next question goes behind the first, since it
 * may overtake it, and a connection is opened for the one after it. */
static void slow_peer(void **state)
{
	(void)state;
	for (int any_order = 0; any_order < 2; any_order++) {
		struct env *e = env_new(NULL);
		ask_and_answer(e);
		pool_of(e)->any_order = any_order != 0;
		struct ask *a = ask_tcp(e, "a.example.");
		assert_non_null(taken(e));
		env_advance(e, STREAM_SLOW_NS + 1);
		struct ask *b = ask_tcp(e, "b.example.");
		assert_ptr_equal(b->x.link, a->x.link);
		env_turn(e);
		assert_int_equal(pool_of(e)->n_streams, any_order ? 1 : 2);
		struct ask *c = ask_tcp(e, "c.example.");
		assert_int_equal(c->x.link == a->x.link, any_order);
		ask_free(a);
		ask_free(b);
		ask_free(c);
		env_free(e);
	}
}

/* After one was held up: while a connection is stalled questions do not share one, as each may be
 * the next that stalls it. */
static void alone_beside_stalled(void **state)
{
	enum { N = 2 * STREAMS };
	struct ask *a[N];
	struct env *e = env_new(NULL);
	(void)state;
	ask_and_answer(e);
	struct ask *silent = ask_tcp(e, "silent.example."), *behind = ask_tcp(e, "b.example.");
	assert_non_null(taken(e));
	assert_non_null(fakeup_next(e->fake));
	env_advance(e, STREAM_STALL_NS + 1);
	struct ask *first = ask_tcp(e, "b.example."), *second = ask_tcp(e, "b.example.");
	assert_ptr_equal(first->x.link, second->x.link);
	answer_all(e);
	assert_int_equal(behind->done, 1);
	unsigned open = pool_of(e)->n_streams - 1;
	for (int i = 0; i < N; i++) {
		a[i] = ask_tcp(e, "b.example.");
		assert_int_equal(a[i]->x.link->inflight, 1);
	}
	assert_in_range(open, 1, 2);
	assert_int_equal(pool_of(e)->n_streams, N + 1);
	/* Those that were answered are used again. */
	answer_all(e);
	struct ask *b = ask_tcp(e, "b.example.");
	assert_int_equal(pool_of(e)->n_streams, N + 1);
	ask_free(b);
	for (int i = 0; i < N; i++)
		ask_free(a[i]);
	ask_free(first);
	ask_free(second);
	ask_free(behind);
	ask_free(silent);
	env_free(e);
}

/* Those that were asked behind a name that has no answer are asked again elsewhere, once, and each
 * by itself; the name itself is not, and nothing is where replies come in any order. */
static void held_up(void **state)
{
	(void)state;
	for (int any_order = 0; any_order < 2; any_order++) {
		struct env *e = env_new(NULL);
		struct ask *a[4];
		ask_and_answer(e);
		pool_of(e)->any_order = any_order != 0;
		for (int i = 0; i < 4; i++) {
			a[i] = ask_tcp(e, i == 0 ? "silent.example." : "b.example.");
			assert_non_null(taken(e));
		}
		assert_int_equal(fakeup_accepted(e->fake), 1);
		for (int turn = 0; turn < 5; turn++) {
			env_advance(e, STREAM_STALL_NS / 2);
			while (fakeup_next(e->fake) != NULL)
				fakeup_answer(e->fake, NULL);
			env_turn(e);
		}
		assert_int_equal(a[0]->done, 0);
		for (int i = 1; i < 4; i++)
			assert_int_equal(a[i]->done, !any_order);
		assert_int_equal(fakeup_taken(e->fake), any_order ? 5 : 8);
		assert_int_equal(fakeup_accepted(e->fake), any_order ? 1 : 4);
		for (int i = 0; i < 4; i++)
			ask_free(a[i]);
		env_free(e);
	}
}

/* A reply that overtakes another one is remembered. */
static void learns_the_order(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_tcp(e, "a.example."), *b = ask_tcp(e, "b.example.");
	struct ask *c = ask_tcp(e, "c.example.");
	(void)state;
	assert_non_null(taken(e));
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(a->done, 1);
	assert_false(pool_of(e)->any_order);
	assert_non_null(fakeup_next(e->fake));
	assert_non_null(fakeup_next(e->fake));
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(c->done, 1);
	assert_true(pool_of(e)->any_order);
	ask_free(a);
	ask_free(b);
	ask_free(c);
	env_free(e);
}

/* That a peer closes after a silence says nothing about how many questions it takes. */
static void closed_after_a_silence(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	struct ask *a = ask_tcp(e, "a.example."), *b = ask_tcp(e, "b.example.");
	assert_non_null(taken(e));
	assert_non_null(fakeup_next(e->fake));
	env_advance(e, NS_PER_S);
	fakeup_hang_up(e->fake, false);
	env_turn(e);
	assert_int_equal(pool_of(e)->depth, UINT32_MAX);
	ask_free(a);
	ask_free(b);
	env_free(e);
}

static void fresh(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	ask_and_answer(e);
	struct ask *a = ask_new(e, "a.example.");
	a->x.tcp = a->x.fresh = true;
	resolve_start(e->r, &a->x);
	answer_all(e);
	assert_int_equal(a->x.result, RESOLVE_OK);
	assert_false(a->x.reused);
	assert_int_equal(fakeup_accepted(e->fake), 2);
	ask_free(a);
	env_free(e);
}

/* Nobody answers the SYN: 30 s at first, later twice what a dial took, at least 1 s. */
static void dial_time(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	for (int i = 0; i < 30; i++) {
		ask_and_answer(e);
		drain_links(e);
	}
	assert_true(e->up->dial_ns < NS_PER_S / 2);
	struct ask *a = ask_tcp(e, "a.example.");
	struct stream *s = stream_of(pool_of(e)->links);
	assert_int_equal(s->timer.due_ns, env_now + NS_PER_S);
	env_now += NS_PER_S; /* no turn in between: the connection is not seen to be open */
	s->timer.cb(&s->timer);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.result, RESOLVE_TIMEOUT);
	ask_free(a);
	env_free(e);
}

static void cancelled(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_tcp(e, "a.example.");
	struct ask *b = ask_tcp(e, "b.example.");
	(void)state;
	resolve_cancel(e->r, &a->x);
	assert_string_equal(taken(e), "tcp b.example. IN A");
	resolve_cancel(e->r, &b->x);
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(a->done + b->done, 0);
	assert_int_equal(resolver_stats(e->r)->strays, 1);
	/* The connection goes on, until it is drained while one is under way. */
	resolve_start(e->r, &a->x);
	assert_non_null(taken(e));
	drain_links(e);
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(a->done, 1);
	assert_int_equal(fakeup_open(e->fake), 0);
	assert_null(pool_of(e)->links);
	ask_free(a);
	ask_free(b);
	env_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(longest),
		cmocka_unit_test(judges),
		cmocka_unit_test(largest_message),
		cmocka_unit_test(reused_and_closed),
		cmocka_unit_test(closed_again),
		cmocka_unit_test(one_shot_server),
		cmocka_unit_test(refused),
		cmocka_unit_test(silent_peer),
		cmocka_unit_test(expires),
		cmocka_unit_test(max_age),
		cmocka_unit_test(spreads),
		cmocka_unit_test(too_many),
		cmocka_unit_test(unanswered_names),
		cmocka_unit_test(stalled_connections),
		cmocka_unit_test(slow_peer),
		cmocka_unit_test(alone_beside_stalled),
		cmocka_unit_test(held_up),
		cmocka_unit_test(learns_the_order),
		cmocka_unit_test(closed_after_a_silence),
		cmocka_unit_test(fresh),
		cmocka_unit_test(dial_time),
		cmocka_unit_test(cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
