/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanges over real loopback datagrams, with a fake clock: what is accepted, what is ignored,
 * what fails at once, and which sockets are used. */
#include <errno.h>
#include <unistd.h>

#include "base/err.h"
#include "resolve/exchange_priv.h"
#include "resolve/resolver.h"
#include "resolve/test_env.h"
#include "resolve/upstream.h"

static void answers(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_start(e, "a.example.");
	(void)state;
	assert_true(e->armed);
	env_turn(e);
	assert_string_equal(fakeup_next(e->fake), "udp a.example. IN A");
	size_t n;
	const uint8_t *q = fakeup_query(e->fake, &n);
	assert_int_equal(n, a->x.msg_n);
	assert_memory_equal(q + 2, a->msg + 2, n - 2);
	assert_int_equal(a->done, 0);
	env_now += 7 * NS_PER_MS;
	fakeup_answer(e->fake, "a.example. 60 IN A 192.0.2.1");
	env_turn(e);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.result, RESOLVE_OK);
	assert_string_equal(a->reply.s, "NOERROR qr rd ra\nquestion a.example. IN A\n"
					"answer a.example. 60 IN A 192.0.2.1\n");
	assert_int_equal(a->x.rtt_ns, 7 * NS_PER_MS);
	assert_int_equal(e->up->srtt_ns, 7 * NS_PER_MS);
	assert_int_equal(dns_get16(a->msg), 0x1234);
	assert_false(a->x.reused);
	assert_int_equal(a->x.proto, RESOLVE_UDP);
	ask_free(a);
	env_free(e);
}

/* Question "a.example. IN A", then one answer record whose owner is what the row says. */
#define HEAD(flags, an)                     \
	"\0\0" flags "\0\1\0" an "\0\0\0\0" \
	"\1a\7example\0\0\1\0\1"
#define FIXED_A "\0\1\0\1\0\0\0\74\0\4\300\0\2\1"

static const struct {
	const char *what;
	const char *bytes;
	size_t n;
	enum resolve_result result;
	bool tc;
} judged[] = {
#define ROW(what, bytes, result, tc)                       \
	{                                                  \
		what, bytes, sizeof(bytes) - 1, result, tc \
	}
	ROW("fine", HEAD("\201\200", "\1") "\300\14" FIXED_A, RESOLVE_OK, false),
	ROW("bytes behind the end are left off", HEAD("\201\200", "\1") "\300\14" FIXED_A "junk",
	    RESOLVE_OK, false),
	ROW("no records", HEAD("\201\203", "\0"), RESOLVE_OK, false),
	ROW("other letters", "\0\0\201\200\0\1\0\0\0\0\0\0\1A\7eXample\0\0\1\0\1", RESOLVE_OK,
	    false),
	ROW("not a reply", HEAD("\1\0", "\0"), RESOLVE_MISMATCH, false),
	ROW("another opcode", HEAD("\251\200", "\0"), RESOLVE_MISMATCH, false),
	ROW("header only", "\0\0\201\201\0\0\0\0\0\0\0\0", RESOLVE_MISMATCH, false),
	ROW("two questions",
	    "\0\0\201\200\0\2\0\0\0\0\0\0\1a\7example\0\0\1\0\1\1a\7example\0\0\1\0\1",
	    RESOLVE_MISMATCH, false),
	ROW("another name", "\0\0\201\200\0\1\0\0\0\0\0\0\1b\7example\0\0\1\0\1", RESOLVE_MISMATCH,
	    false),
	ROW("another type", "\0\0\201\200\0\1\0\0\0\0\0\0\1a\7example\0\0\34\0\1", RESOLVE_MISMATCH,
	    false),
	ROW("another class", "\0\0\201\200\0\1\0\0\0\0\0\0\1a\7example\0\0\1\0\3", RESOLVE_MISMATCH,
	    false),
	ROW("not a letter that differs in bit 5",
	    "\0\0\201\200\0\1\0\0\0\0\0\0\1a\7examp\14e\0\0\1\0\1", RESOLVE_MISMATCH, false),
	ROW("question cut", "\0\0\201\200\0\1\0\0\0\0\0\0\1a\7exam", RESOLVE_MISMATCH, false),
	ROW("record missing", HEAD("\201\200", "\1"), RESOLVE_OK, true),
	ROW("record cut in its owner", HEAD("\201\200", "\1") "\300", RESOLVE_OK, true),
	ROW("record cut in its header", HEAD("\201\200", "\1") "\300\14\0\1\0\1", RESOLVE_OK, true),
	ROW("record cut in its data", HEAD("\201\200", "\1") "\300\14\0\1\0\1\0\0\0\74\0\4\300\0",
	    RESOLVE_OK, true),
	ROW("options", HEAD("\201\200", "\1") "\0\0\51\4\320\0\0\0\0\0\4\0\12\0\0", RESOLVE_OK,
	    false),
	ROW("option cut in its header", HEAD("\201\200", "\1") "\0\0\51\4\320\0\0\0\0\0\2\0\12",
	    RESOLVE_OK, true),
	ROW("option cut in its data", HEAD("\201\200", "\1") "\0\0\51\4\320\0\0\0\0\0\5\0\12\0\2x",
	    RESOLVE_OK, true),
	ROW("pointer to itself", HEAD("\201\200", "\1") "\300\33" FIXED_A, RESOLVE_GARBLED, false),
	ROW("pointers in a ring", HEAD("\201\200", "\1") "\1x\300\35\300\33" FIXED_A,
	    RESOLVE_GARBLED, false),
	ROW("pointer forwards", HEAD("\201\200", "\1") "\300\100" FIXED_A, RESOLVE_GARBLED, false),
	ROW("pointer into the header", HEAD("\201\200", "\1") "\300\4" FIXED_A, RESOLVE_GARBLED,
	    false),
	ROW("label type 01", HEAD("\201\200", "\1") "\100" FIXED_A, RESOLVE_GARBLED, false),
	ROW("address of 3 bytes", HEAD("\201\200", "\1") "\300\14\0\1\0\1\0\0\0\74\0\3\300\0\2",
	    RESOLVE_GARBLED, false),
	ROW("alias that points to itself",
	    HEAD("\201\200", "\1") "\300\14\0\5\0\1\0\0\0\74\0\2\300\47", RESOLVE_GARBLED, false),
#undef ROW
};

static void judges(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(judged); i++) {
		struct ask *a = ask_start(e, "a.example.");
		env_turn(e);
		assert_non_null(fakeup_next(e->fake));
		fakeup_bytes(e->fake, (const uint8_t *)judged[i].bytes, judged[i].n);
		env_turn(e);
		if (a->done != 1 || a->x.result != judged[i].result ||
		    a->x.reply_tc != judged[i].tc || strstr(a->reply.s, "MALFORMED") != NULL)
			fail_msg("%s: done %u result %d tc %d %s", judged[i].what, a->done,
				 a->x.result, a->x.reply_tc, a->reply.s);
		if (judged[i].tc)
			assert_string_equal(a->reply.s,
					    "NOERROR qr tc rd ra\nquestion a.example. IN A\n");
		ask_free(a);
	}
	assert_int_equal(resolver_stats(e->r)->garbled, 7);
	assert_int_equal(resolver_stats(e->r)->mismatched, 9);
	env_free(e);
}

static void too_long_for_us(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_start(e, "a.example.");
	uint8_t big[5000] = { 0 };
	(void)state;
	env_turn(e);
	assert_non_null(fakeup_next(e->fake));
	memcpy(big, judged[0].bytes, judged[0].n);
	fakeup_bytes(e->fake, big, sizeof(big));
	env_turn(e);
	assert_int_equal(a->x.result, RESOLVE_OK);
	assert_true(a->x.reply_tc);
	assert_string_equal(a->reply.s, "NOERROR qr tc rd ra\nquestion a.example. IN A\n");
	ask_free(a);
	env_free(e);
}

/* A reply without a question is ignored, and the exchange continues. */
static void ignores(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_start(e, "a.example.");
	size_t n;
	(void)state;
	env_turn(e);
	assert_non_null(fakeup_next(e->fake));
	const uint8_t *q = fakeup_query(e->fake, &n);
	uint8_t forged[64];
	memcpy(forged, judged[0].bytes, judged[0].n);
	memcpy(forged, q, 2);
	fakeup_raw(e->fake, forged, judged[0].n, true); /* from another port */
	env_turn(e);
	assert_int_equal(resolver_stats(e->r)->strays, 0); /* the kernel's filter */
	fakeup_reply(e->fake, &(struct fakeup_reply){ .wrong_id = true });
	fakeup_raw(e->fake, q, 1, false);
	fakeup_raw(e->fake, q, 0, false);
	fakeup_raw(e->fake, q, 11, false);
	env_turn(e);
	assert_int_equal(resolver_stats(e->r)->strays, 4);
	assert_int_equal(a->done, 0);
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(a->x.result, RESOLVE_OK);
	fakeup_answer(e->fake, NULL); /* a second time: nobody waits */
	env_turn(e);
	assert_int_equal(a->done, 1);
	assert_int_equal(resolver_stats(e->r)->strays, 5);
	ask_free(a);
	env_free(e);
}

static void times_out(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_start(e, "a.example.");
	(void)state;
	env_advance(e, NS_PER_S);
	struct ask *b = ask_start(e, "b.example.");
	struct ask *late = ask_new(e, "late.example.");
	late->x.deadline_ns = env_now + 30 * NS_PER_S; /* more than a turn of the wheel */
	resolve_start(e->r, &late->x);
	env_advance(e, NS_PER_S - 1);
	assert_int_equal(a->done, 0);
	env_advance(e, 1);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.result, RESOLVE_TIMEOUT);
	assert_string_equal(a->x.error_text, "i/o timeout");
	assert_int_equal(a->x.local.family, AF_INET);
	assert_int_not_equal(net_addr_port(&a->x.local), 0);
	assert_int_equal(b->done, 0);
	env_advance(e, NS_PER_S);
	assert_int_equal(b->done, 1);
	for (int i = 0; i < 27; i++)
		env_advance(e, NS_PER_S);
	assert_int_equal(late->done, 0);
	env_advance(e, NS_PER_S);
	env_advance(e, NS_PER_S);
	assert_int_equal(late->done, 1);
	/* One that is late when it starts. */
	b->x.deadline_ns = env_now - NS_PER_S;
	resolve_start(e->r, &b->x);
	assert_int_equal(b->done, 1);
	env_advance(e, NS_PER_MS);
	assert_int_equal(b->done, 2);
	ask_free(a);
	ask_free(b);
	ask_free(late);
	env_free(e);
}

/* Many deadlines in any order: each one ends within a millisecond, none is lost. */
static void many_deadlines(void **state)
{
	enum { N = 500 };
	static struct ask *a[N];
	struct env *e = env_new(NULL);
	uint64_t start = env_now;
	(void)state;
	for (int i = 0; i < N; i++) {
		a[i] = ask_new(e, "a.example.");
		a[i]->x.deadline_ns = start + (uint64_t)((i * 7919) % 12000) * NS_PER_MS;
		resolve_start(e->r, &a[i]->x);
	}
	while (env_now < start + 12001 * NS_PER_MS) {
		env_advance(e, 3 * NS_PER_MS);
		for (int i = 0; i < N; i++) {
			bool due = a[i]->x.deadline_ns <= env_now - NS_PER_MS;
			if (a[i]->done != due && a[i]->x.deadline_ns != env_now)
				fail_msg("%d: done %u at %lld", i, a[i]->done,
					 (long long)(env_now - a[i]->x.deadline_ns));
		}
	}
	for (int i = 0; i < N; i++)
		ask_free(a[i]);
	env_free(e);
}

/* ICMP reports a closed port: no waiting, and the next question fails at once, too. */
static void unreachable(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	fakeup_stop_udp(e->fake);
	for (int i = 0; i < 40; i++) {
		struct ask *a = ask_start(e, "a.example.");
		struct ask *b = ask_start(e, "b.example.");
		env_turn(e);
		assert_int_equal(a->done, 1);
		assert_int_equal(a->x.result, RESOLVE_NETWORK);
		assert_int_equal(a->x.error, -ECONNREFUSED);
		assert_string_equal(a->x.error_text, "connection refused");
		assert_int_equal(b->done, 1);
		assert_int_equal(b->x.result, RESOLVE_NETWORK);
		ask_free(a);
		ask_free(b);
	}
	env_free(e);
}

static void no_route(void **state)
{
	struct env *e = env_new(NULL);
	struct resolve_conf c = { .addr = { .v4 = { .sin_family = AF_INET } } };
	(void)state;
	/* A source address that is not ours. */
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:53"), &c.addr), 0);
	assert_int_equal(net_addr_parse(SLICE("192.0.2.77:0"), &c.source), 0);
	struct resolve_upstream *u = resolve_upstream_new(&c);
	struct ask *a = ask_new(e, "a.example.");
	a->x.up = u;
	resolve_start(e->r, &a->x);
	assert_int_equal(a->done, 0); /* never from inside */
	env_turn(e);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.result, RESOLVE_NETWORK);
	assert_int_equal(a->x.error, -EADDRNOTAVAIL);
	ask_free(a);
	resolve_upstream_unref(u);
	env_free(e);
}

/* A query without its question is no reason to die. */
static void no_question(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_new(e, "a.example.");
	(void)state;
	a->x.random_case = true;
	a->msg[DNS_HEADER_BYTES] = 0xc0; /* compressed */
	resolve_start(e->r, &a->x);
	env_turn(e);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.error, ERR_PARSE);
	a->x.msg_n = DNS_HEADER_BYTES;
	resolve_start(e->r, &a->x);
	env_turn(e);
	assert_int_equal(a->done, 2);
	assert_null(fakeup_next(e->fake));
	ask_free(a);
	env_free(e);
}

static void cancels(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_start(e, "a.example.");
	struct ask *b = ask_start(e, "b.example.");
	(void)state;
	resolve_cancel(e->r, &a->x); /* not sent yet */
	env_turn(e);
	assert_string_equal(fakeup_next(e->fake), "udp b.example. IN A");
	assert_null(fakeup_next(e->fake));
	assert_int_equal(dns_get16(a->msg), 0x1234);
	resolve_cancel(e->r, &b->x); /* on its way */
	resolve_cancel(e->r, &b->x);
	fakeup_answer(e->fake, NULL);
	env_advance(e, 10 * NS_PER_S);
	assert_int_equal(a->done + b->done, 0);
	assert_int_equal(dns_get16(b->msg), 0x1234);
	/* From done: both time out at once, the first cancels the second. */
	a->x.deadline_ns = b->x.deadline_ns = env_now + NS_PER_S;
	a->cancel = b;
	b->cancel = a;
	resolve_start(e->r, &a->x);
	resolve_start(e->r, &b->x);
	env_advance(e, NS_PER_S);
	assert_int_equal(a->done + b->done, 1);
	ask_free(a);
	ask_free(b);
	env_free(e);
}

/* done asks again, on another socket or the same. */
static void starts_from_done(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a = ask_new(e, "a.example.");
	(void)state;
	a->again = true;
	a->x.deadline_ns = env_now + 2 * NS_PER_S;
	resolve_start(e->r, &a->x);
	env_turn(e);
	assert_non_null(fakeup_next(e->fake));
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(a->done, 1);
	assert_non_null(fakeup_next(e->fake));
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(a->done, 2);
	ask_free(a);
	env_free(e);
}

static void random_case(void **state)
{
	struct env *e = env_new(NULL);
	unsigned mixed = 0;
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct ask *a = ask_new(e, "Some-Long.name-9.example.");
		a->x.random_case = true;
		resolve_start(e->r, &a->x);
		env_turn(e);
		const char *asked = fakeup_next(e->fake);
		assert_int_equal(strcasecmp(asked, "udp Some-Long.name-9.example. IN A"), 0);
		mixed += strcmp(asked, "udp Some-Long.name-9.example. IN A") != 0;
		bool wrong = i % 2 == 1;
		fakeup_reply(e->fake,
			     &(struct fakeup_reply){
				     .question = wrong ? "Some-Long.name-9.example." : NULL,
				     .answer = "some-long.name-9.example. 1 A 192.0.2.1" });
		bool lucky = strcmp(asked, "udp Some-Long.name-9.example. IN A") == 0;
		env_turn(e);
		assert_int_equal(a->x.result, wrong && !lucky ? RESOLVE_MISMATCH : RESOLVE_OK);
		if (a->x.result == RESOLVE_OK)
			assert_non_null(strstr(a->reply.s, "question Some-Long.name-9.example. "));
		/* The caller's message is as it was. */
		assert_memory_equal(a->msg + DNS_HEADER_BYTES, "\11Some-Long\6name-9\7example", 26);
		ask_free(a);
	}
	assert_in_range(mixed, 18, 20);
	env_free(e);
}

/* With every letter flipped or not, and with what lies behind the bits untouched. */
static void longest(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * (size_t)LONGEST_NAMES; i++) {
		const char *name = longest_names[i / 2];
		struct env *e = env_new(NULL);
		struct {
			struct resolve_exchange x;
			uint8_t behind[64];
		} guarded;
		struct ask *a = ask_new(e, name);
		char line[DNS_NAME_TEXT_MAX + 64];
		assert_int_equal(a->x.msg_n - DNS_HEADER_BYTES - 4, longest_name_octets(i / 2));
		memset(&guarded, 0xa5, sizeof(guarded));
		guarded.x = a->x;
		guarded.x.random_case = i % 2 == 1;
		resolve_start(e->r, &guarded.x);
		for (size_t k = 0; k < sizeof(guarded.behind); k++)
			assert_int_equal(guarded.behind[k], 0xa5);
		resolve_cancel(e->r, &guarded.x);
		a->x.random_case = i % 2 == 1;
		resolve_start(e->r, &a->x);
		assert_ptr_equal(a->e, e);
		env_turn(e);
		const char *asked = fakeup_next(e->fake);
		assert_non_null(asked);
		assert_int_equal(strncasecmp(asked + 4, name, strlen(name)), 0);
		snprintf(line, sizeof(line), "%s 60 IN CNAME %s", name, name);
		fakeup_answer(e->fake, line);
		env_turn(e);
		assert_int_equal(a->x.result, RESOLVE_OK);
		assert_non_null(strstr(a->reply.s, line));
		ask_free(a);
		env_free(e);
	}
}

static unsigned links_of(struct env *e)
{
	unsigned n = 0;
	for (unsigned i = 0; i < POOL_BUCKETS; i++) {
		struct resolve_pool *p = e->r->pools[i];
		for (struct resolve_link *l = p != NULL ? p->links : NULL; l != NULL; l = l->next)
			n++;
	}
	return n;
}

static void round_trip(struct env *e)
{
	struct ask *a = ask_start(e, "a.example.");
	env_turn(e);
	assert_non_null(fakeup_next(e->fake));
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(a->x.result, RESOLVE_OK);
	ask_free(a);
}

/* Up to 16 sockets, one for each batch; worn out they are replaced, idle they close. */
static void sockets(void **state)
{
	struct env *e = env_new(NULL);
	struct ask *a[100];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(a); i++)
		a[i] = ask_start(e, "a.example.");
	env_turn(e);
	assert_int_equal(links_of(e), 1);
	assert_false(a[0]->x.reused);
	assert_true(a[1]->x.reused);
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		assert_non_null(fakeup_next(e->fake));
		fakeup_answer(e->fake, NULL);
	}
	env_turn(e);
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		assert_int_equal(a[i]->x.result, RESOLVE_OK);
		ask_free(a[i]);
	}
	for (int i = 0; i < 400; i++)
		round_trip(e);
	assert_int_equal(links_of(e), UDP_SOCKETS);
	uint64_t before = resolver_stats(e->r)->opened;
	assert_int_equal(before, UDP_SOCKETS);
	for (int i = 0; i < 40; i++) { /* by age */
		env_advance(e, NS_PER_S);
		for (int k = 0; k < 8; k++)
			round_trip(e);
	}
	assert_in_range(resolver_stats(e->r)->opened, before + 10, before + 40);
	assert_true(links_of(e) <= UDP_SOCKETS);
	env_advance(e, 10 * NS_PER_S);
	env_advance(e, 2 * NS_PER_S);
	assert_int_equal(links_of(e), 0);
	env_free(e);
}

static void worn_out_by_use(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	for (int i = 0; i < UDP_SOCKETS * UDP_USES / 4; i++)
		round_trip(e);
	uint64_t opened = resolver_stats(e->r)->opened;
	for (int i = 0; i < UDP_SOCKETS * UDP_USES; i++)
		round_trip(e);
	assert_in_range(resolver_stats(e->r)->opened, opened + 8, opened + 2 * UDP_SOCKETS);
	env_free(e);
}

static void ids_are_unique(void **state)
{
	enum { N = UDP_INFLIGHT };
	static struct ask *a[N];
	static bool seen[65536];
	struct env *e = env_new(NULL);
	(void)state;
	for (int i = 0; i < N; i++) {
		a[i] = ask_start(e, "a.example.");
		assert_false(seen[a[i]->x.wire_id]);
		seen[a[i]->x.wire_id] = true;
	}
	for (int i = 0; i < N; i++)
		ask_free(a[i]);
	env_free(e);
}

/* Equal questions do not share a socket while there are others, in one batch and in several: who
 * knows a port then has one id in 65536 to guess. */
static void equal_questions(void **state)
{
	enum { N = UDP_SOCKETS };
	struct ask *a[N + 1];
	(void)state;
	for (int batches = 0; batches < 2; batches++) {
		struct env *e = env_new(NULL);
		for (int i = 0; i <= N; i++) {
			a[i] = ask_new(e, "a.example.");
			a[i]->x.question_hash = 77;
			resolve_start(e->r, &a[i]->x);
			for (int k = 0; k < i && i < N; k++)
				assert_ptr_not_equal(a[i]->x.link, a[k]->x.link);
			if (batches != 0)
				env_turn(e);
		}
		assert_non_null(a[N]->x.link); /* nobody is refused for it */
		/* The place of one that has ended is free again. */
		struct resolve_link *l = a[3]->x.link;
		for (int i = 0; i <= N; i++) {
			if (a[i]->x.link == l)
				resolve_cancel(e->r, &a[i]->x);
		}
		resolve_start(e->r, &a[3]->x);
		assert_ptr_equal(a[3]->x.link, l);
		/* Others go together. */
		struct ask *b = ask_new(e, "b.example."), *c = ask_new(e, "c.example.");
		b->x.question_hash = 78;
		c->x.question_hash = 79;
		resolve_start(e->r, &b->x);
		resolve_start(e->r, &c->x);
		assert_ptr_equal(b->x.link, c->x.link);
		ask_free(b);
		ask_free(c);
		for (int i = 0; i <= N; i++)
			ask_free(a[i]);
		env_free(e);
	}
}

/* More than a socket takes go over several; what all of them cannot take fails. Nothing is sent, so
 * all may have one message. */
static void full(void **state)
{
	enum { ALL = UDP_SOCKETS_ALL * UDP_INFLIGHT };
	struct env *e = env_new(NULL);
	struct ask *a = ask_new(e, "a.example.");
	struct resolve_exchange *x = xcalloc(ALL + 1, sizeof(*x));
	unsigned failed = 0;
	(void)state;
	for (int i = 0; i <= ALL; i++) {
		x[i] = a->x;
		resolve_start(e->r, &x[i]);
		failed += x[i].state == X_READY;
	}
	assert_in_range(failed, 1, ALL / 2);
	assert_int_equal(x[ALL].error, ERR_BUSY);
	assert_in_range(links_of(e), UDP_SOCKETS, UDP_SOCKETS_ALL);
	for (int i = 0; i <= ALL; i++)
		resolve_cancel(e->r, &x[i]);
	free(x);
	ask_free(a);
	env_free(e);
}

static void drains(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	round_trip(e);
	drain_links(e);
	assert_int_equal(links_of(e), 0);
	/* With one in flight it closes when that ends. */
	struct ask *a = ask_start(e, "a.example.");
	env_turn(e);
	drain_links(e);
	assert_int_equal(links_of(e), 1);
	assert_non_null(fakeup_next(e->fake));
	fakeup_answer(e->fake, NULL);
	env_turn(e);
	assert_int_equal(a->x.result, RESOLVE_OK);
	assert_int_equal(links_of(e), 0);
	drain_links(e);
	/* The end of all with some in flight, unsent, and failed. */
	struct ask *b = ask_start(e, "b.example.");
	env_turn(e);
	struct ask *c = ask_start(e, "c.example.");
	struct ask *d = ask_start(e, "d.example.");
	exchange_fail(e->r, &d->x, RESOLVE_NETWORK, ERR_BUSY);
	resolver_free(e->r);
	e->r = env_resolver(e);
	assert_int_equal(b->done + c->done + d->done, 0);
	assert_int_equal(e->up->refs, 1);
	ask_free(a);
	ask_free(b);
	ask_free(c);
	ask_free(d);
	env_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),	    cmocka_unit_test(judges),
		cmocka_unit_test(too_long_for_us),  cmocka_unit_test(ignores),
		cmocka_unit_test(times_out),	    cmocka_unit_test(many_deadlines),
		cmocka_unit_test(unreachable),	    cmocka_unit_test(no_route),
		cmocka_unit_test(no_question),	    cmocka_unit_test(cancels),
		cmocka_unit_test(starts_from_done), cmocka_unit_test(random_case),
		cmocka_unit_test(sockets),	    cmocka_unit_test(worn_out_by_use),
		cmocka_unit_test(ids_are_unique),   cmocka_unit_test(full),
		cmocka_unit_test(drains),	    cmocka_unit_test(longest),
		cmocka_unit_test(equal_questions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
