/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cache: one question for all who wait, what reloads keep, our own options, limits and metrics. */
#include "base/metrics/metrics.h"
#include "plugin/cache/test_back.h"

/* ---- single-flight ---- */

static void one_asks_for_all(void **state)
{
	(void)state;
	struct fake *f = start("");
	AN("an example.org. 60 IN A 127.0.0.#");
	back.act = WAIT;
	for (int i = 0; i < 5; i++)
		assert_null(ask(f, "example.org."));
	assert_null(ask(f, "other.example."));
	assert_int_equal(back.asked, 2);
	let_go(f);
	for (int i = 0; i < 6; i++)
		assert_non_null(fake_next(f));
	assert_null(fake_next(f));
	assert_int_equal(back.asked, 2);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* Whatever happens to the leader, no query is left waiting. */
static void leaders_that_fail(void **state)
{
	(void)state;
	static const struct {
		struct back b;
		unsigned asked; /* by the leader and three followers */
		bool replies;
	} rows[] = {
		{ { .act = FAIL, .rcode = DNS_RCODE_SERVFAIL }, 1, true }, /* stored */
		{ { .act = FAIL_QUIETLY, .rcode = DNS_RCODE_SERVFAIL }, 4, true },
		{ { .act = DROP }, 4, false },
		/* Not stored, but all who wait for the same take it. */
		{ { .act = ANSWER, .rcode = DNS_RCODE_REFUSED }, 1, true },
		{ { .act = ANSWER, .flags = DNS_FLAG_TC }, 1, true },
		{ { .act = ANSWER, .rcode = DNS_RCODE_REFUSED, .wire = true }, 1, true },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = start("");
		back = (struct back){ .act = WAIT };
		for (int k = 0; k < 4; k++)
			assert_null(ask(f, "example.org."));
		assert_int_equal(back.asked, 1);
		struct query *leader = back.waiting[0];
		back = rows[i].b;
		back.asked = 1;
		query_resume(leader);
		fake_advance(f, 0);
		assert_int_equal(back.asked, rows[i].asked);
		for (int k = 0; k < 4; k++) {
			if (rows[i].replies)
				assert_non_null(fake_next(f));
			else
				assert_null(fake_next(f));
		}
		assert_int_equal(fake_inflight(f), 0);
		fake_free(f);
	}
}

/* When a leader's reply helps nobody, those who wait ask a few at a time: many equal questions
 * under way would make forging a reply easy. */
static void no_herd(void **state)
{
	enum { N = 60, AT_ONCE = 8 };
	(void)state;
	struct fake *f = start("");
	unsigned most = 0, replies = 0;
	back = (struct back){ .act = WAIT_AND_FAIL, .rcode = DNS_RCODE_SERVFAIL };
	for (int k = 0; k < N; k++)
		assert_null(ask(f, "example.org."));
	assert_int_equal(back.asked, 1);
	while (back.n_waiting != 0) {
		struct query *first = back.waiting[0];
		memmove(back.waiting, back.waiting + 1, --back.n_waiting * sizeof(first));
		query_resume(first);
		fake_advance(f, 0);
		most = MAX(most, back.n_waiting);
		while (fake_next(f) != NULL)
			replies++;
	}
	assert_int_equal(most, AT_ONCE);
	assert_int_equal(back.asked, N);
	assert_int_equal(replies, N);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* The same when a leader does not end at all: some ask after 5 s, for the others it is over. */
static void no_herd_after_a_silence(void **state)
{
	enum { N = 60, AT_ONCE = 8 };
	(void)state;
	struct fake *f = start("");
	back = (struct back){ .act = WAIT };
	for (int k = 0; k < N; k++)
		assert_null(ask(f, "example.org."));
	advance_s(f, 5);
	fake_advance(f, 0);
	assert_int_equal(back.asked, AT_ONCE);
	for (int k = 0; k < N - AT_ONCE; k++)
		expect_has(fake_next(f), "SERVFAIL");
	assert_null(fake_next(f));
	back.act = ANSWER;
	back.rr[0] = "an example.org. 60 IN A 127.0.0.1";
	let_go(f);
	for (int k = 0; k < AT_ONCE; k++)
		expect_has(fake_next(f), "127.0.0.1");
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* Who asks for something else, though under the same key, does not get a reply that is not stored.
 */
static void only_equal_queries_share(void **state)
{
	(void)state;
	static const uint8_t nsid[] = { 0, 3, 0, 0 };
	static const uint8_t cookie[] = { 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8 };
	static const uint8_t subnet[] = { 0, 8, 0, 5, 0, 1, 8, 0, 10 };
	static const uint8_t both[] = { 0, 3, 0, 0, 0, 8, 0, 5, 0, 1, 8, 0, 10 };
	static const struct {
		struct fake_ask first, second;
		uint16_t flags;
		unsigned asked;
	} rows[] = {
		{ { .udp_size = 1232 }, { .udp_size = 1232 }, 0, 1 },
		{ { .udp_size = 1232 }, { .udp_size = 512 }, DNS_FLAG_TC, 1 },
		{ { .udp_size = 1232 }, { .udp_size = 4096 }, 0, 1 },
		{ { .udp_size = 1232 }, { .udp_size = 4096 }, DNS_FLAG_TC, 2 },
		{ { .udp_size = 1232 }, { 0 }, 0, 2 },
		{ { 0 }, { .udp_size = 1232 }, 0, 2 },
		{ { .flags = DNS_FLAG_RD }, { .flags = DNS_FLAG_Z }, 0, 2 },
		{ { .flags = DNS_FLAG_RD }, { .flags = DNS_FLAG_RD | DNS_FLAG_CD }, 0, 2 },
	/* Of options only what concerns the records wanted counts. */
#define OPTIONS(o) { .udp_size = 1232, .options = o, .options_n = sizeof(o) }
		{ { .udp_size = 1232 }, OPTIONS(cookie), 0, 1 },
		{ OPTIONS(nsid), OPTIONS(cookie), 0, 1 },
		{ OPTIONS(subnet), OPTIONS(subnet), 0, 1 },
		{ OPTIONS(subnet), OPTIONS(both), 0, 1 },
		{ { .udp_size = 1232 }, OPTIONS(subnet), 0, 2 },
		{ OPTIONS(both), OPTIONS(nsid), 0, 2 },
#undef OPTIONS
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = start("");
		back = (struct back){ .act = WAIT };
		assert_null(fake_ask(f, &rows[i].first));
		assert_null(fake_ask(f, &rows[i].second));
		struct query *leader = back.waiting[0];
		struct query *other = back.n_waiting > 1 ? back.waiting[1] : NULL;
		back.act = ANSWER;
		back.rcode = DNS_RCODE_REFUSED;
		back.flags = rows[i].flags;
		query_resume(leader);
		if (other != NULL)
			query_resume(other);
		fake_advance(f, 0);
		expect_has(fake_next(f), "REFUSED");
		expect_has(fake_next(f), "REFUSED");
		if (back.asked != rows[i].asked)
			fail_msg("row %zu: asked %u times", i, back.asked);
		fake_free(f);
	}
}

/* A leader that takes too long is not waited for any longer. */
static void slow_leader(void **state)
{
	(void)state;
	struct fake *f = start("");
	AN("an example.org. 60 IN A 127.0.0.#");
	back.act = WAIT;
	ask(f, "example.org.");
	ask(f, "example.org.");
	assert_int_equal(back.asked, 1);
	struct query *leader = back.waiting[0];
	back.act = ANSWER;
	advance_s(f, 5);
	expect_has(fake_next(f), "127.0.0.2");
	query_resume(leader);
	fake_advance(f, 0);
	assert_non_null(fake_next(f));
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* ---- reload ---- */

static void kept_over_reloads(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool kept[2]; /* example.org, corp.example */
	} rows[] = {
		{ ". {\n cache 60\n back x\n forward corp.example 192.0.2.1\n}\n", { true, true } },
		{ "# a remark\n. {\n back x\n forward corp.example 192.0.2.1\n cache 60\n}\n",
		  { true, true } },
		{ ". {\n cache 61\n back x\n forward corp.example 192.0.2.1\n}\n",
		  { false, false } },
		{ ". {\n cache 60\n back y\n forward corp.example 192.0.2.1\n}\n",
		  { false, false } },
		{ ". {\n cache 60\n back x\n forward corp.example 192.0.2.2\n}\n",
		  { true, false } },
		{ ". {\n cache 60\n back x\n}\n", { true, false } },
		{ ". {\n cache 60\n back x\n forward . 192.0.2.1\n}\n", { false, false } },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = fake_new(rows[0].text);
		assert_non_null(f);
		AN("ad x. 60 IN A 127.0.0.#");
		ask(f, "example.org.");
		ask(f, "www.corp.example.");
		/* A file that is refused changes nothing. */
		assert_false(fake_reload(f, ". {\n cache 0\n}\n"));
		assert_true(fake_reload(f, rows[i].text));
		back.asked = 0;
		ask(f, "example.org.");
		assert_int_equal(back.asked, !rows[i].kept[0]);
		back.asked = 0;
		ask(f, "www.corp.example.");
		assert_int_equal(back.asked, !rows[i].kept[1]);
		fake_free(f);
	}
}

/* OP-27: the names that a template which is added, changed, moved or removed may answer. */
static void templates_flush_their_zones(void **state)
{
	(void)state;
#define BLOCK(templates) ". {\n cache 60\n back\n" templates "}\n"
#define A		 "template IN AAAA a.example\n"
#define A2		 "template IN AAAA a.example {\n rcode NXDOMAIN\n}\n"
#define AB		 "template IN AAAA a.example b.example\n"
#define B		 "template IN AAAA b.example\n"
#define C		 "template IN AAAA c.example\n"
#define DEEP		 "template IN AAAA www.a.example\n"
	static const char *const names[] = { "www.a.example.", "www.b.example.", "www.c.example.",
					     "example.org." };
	static const struct {
		const char *old, *new;
		bool kept[ARRAY_LEN(names)];
	} rows[] = {
		{ BLOCK(""), BLOCK(A), { false, true, true, true } },
		{ BLOCK(A), BLOCK(""), { false, true, true, true } },
		{ BLOCK(A), BLOCK(A2), { false, true, true, true } },
		{ BLOCK(A B), BLOCK(AB), { false, false, true, true } },
		{ BLOCK(A), BLOCK(A C), { true, true, false, true } },
		{ BLOCK(A B), BLOCK(A C B), { true, true, false, true } },
		{ BLOCK(""), BLOCK("template IN AAAA .\n"), { false, false, false, false } },
		{ BLOCK(""), BLOCK("template IN AAAA EXAMPLE.\n"), { false, false, false, true } },
		/* The block's own zones, and networks, which nobody reads here. */
		{ BLOCK(""), BLOCK("template IN AAAA\n"), { false, false, false, false } },
		{ BLOCK(""),
		  BLOCK("template IN PTR 10.0.0.0/9\n"),
		  { false, false, false, false } },
		/* The first template that fits answers. */
		{ BLOCK(A DEEP), BLOCK(DEEP A), { false, false, false, false } },
		{ BLOCK(A DEEP), BLOCK(DEEP A C), { false, false, false, false } },
		{ BLOCK(A A2), BLOCK(A A2 A C), { false, false, false, false } },
		/* What stands in another block is no matter. */
		{ BLOCK(A), BLOCK(A) "z.example {\n back\n" C "}\n", { true, true, true, true } },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = fake_new(rows[i].old);
		assert_non_null(f);
		AN("ad x. 60 IN A 127.0.0.#");
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			ask(f, names[k]);
		assert_true(fake_reload(f, rows[i].new));
		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			back.asked = 0;
			ask(f, names[k]);
			if (back.asked != !rows[i].kept[k])
				fail_msg("row %zu: %s was%s kept", i, names[k],
					 back.asked ? " not" : "");
		}
		fake_free(f);
	}
}

/* Other blocks had a part in it: these are not compared, so it does not outlast a reload. */
static void replies_of_several_blocks_are_made_anew(void **state)
{
	(void)state;
	struct fake *f = fake_new(BLOCK("") "target.example {\n back x\n}\n");
	assert_non_null(f);
	AN("ad x. 60 IN A 127.0.0.#");
	ask(f, "plain.example.");
	back.act = CHASE;
	ask(f, "chased.example.");
	assert_int_equal(back.asked, 3);
	ask(f, "chased.example.");
	assert_int_equal(back.asked, 3);
	back.act = ANSWER;
	ask(f, "then.example."); /* in the same memory */
	back.act = CHASE;
	back.asked = 3;
	assert_true(fake_reload(f, BLOCK("") "target.example {\n back y\n}\n"));
	ask(f, "plain.example.");
	ask(f, "then.example.");
	assert_int_equal(back.asked, 3);
	ask(f, "chased.example.");
	assert_int_equal(back.asked, 5);
	/* Nor may one under way while it happens. */
	back.act = WAIT;
	ask(f, "late.example.");
	assert_true(fake_reload(f, BLOCK("") "target.example {\n back z\n}\n"));
	let_go(f);
	back.act = ANSWER;
	back.asked = 0;
	ask(f, "late.example.");
	assert_int_equal(back.asked, 1);
	fake_free(f);
}

/* A query that was under way over the reload must not bring the old answer back. */
static void late_answers_of_the_old(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n cache 60\n back\n forward corp.example 192.0.2.1\n}\n");
	AN("ad x. 60 IN A 127.0.0.#");
	back.act = WAIT;
	ask(f, "www.corp.example.");
	assert_true(fake_reload(f, ". {\n cache 60\n back\n forward corp.example 192.0.2.2\n}\n"));
	let_go(f);
	back.act = ANSWER;
	assert_non_null(fake_next(f));
	ask(f, "www.corp.example.");
	assert_int_equal(back.asked, 2);
	fake_free(f);
}

/* ---- counting for others ---- */

/* OP-T9: what made a reply counts each time it is given; and so do failures. */
static void counts_again_what_it_gives_again(void **state)
{
	(void)state;
	static const struct metrics_family family = { .name = "test_tally",
						      .help = "x",
						      .kind = METRICS_COUNTER };
	struct metrics_series *s = metrics_get(&family, NULL);
	struct fake *f = start("");
	AN("an x. 60 IN A 127.0.0.#");
	ask(f, "uncounted.");
	ask(f, "uncounted.");
	assert_true(metrics_value(s) == 0);
	back.tally = metrics_number(s);
	ask(f, "x.");
	assert_true(metrics_value(s) == 0); /* the first time is the maker's */
	ask(f, "x.");
	ask(f, "x.");
	assert_true(metrics_value(s) == 2);
	/* Those that wait for the first one are given it again, too. */
	back.act = WAIT;
	back.rr[0] = "an late. 60 IN A 127.0.0.#";
	for (int i = 0; i < 3; i++)
		assert_null(ask(f, "late."));
	let_go(f);
	assert_true(metrics_value(s) == 4);
	/* Failures are kept, too. */
	back.act = FAIL;
	back.rcode = DNS_RCODE_SERVFAIL;
	ask(f, "broken.");
	ask(f, "broken.");
	assert_true(metrics_value(s) == 5);
	/* The next query has the same memory, and nothing else of it. */
	AN("an y. 60 IN A 127.0.0.#");
	ask(f, "y.");
	ask(f, "y.");
	assert_true(metrics_value(s) == 5);
	fake_free(f);
}

/* ---- our own options ---- */

static void nxdomain_cut(void **state)
{
	(void)state;
	for (int on = 0; on < 2; on++) {
		struct fake *f = start(on ? "{\n nxdomain_cut\n }" : "");
		AN(SOA(60));
		back.rcode = DNS_RCODE_NXDOMAIN;
		ask(f, "gone.example.org.");
		advance_s(f, 10);
		const char *r = ask(f, "a.b.Gone.example.org.");
		expect_has(r, "NXDOMAIN qr rd\nquestion a.b.Gone.example.org. IN A\nauthority "
			      "example.org. ");
		check_ttls("cut", r, on ? 50 : 60);
		assert_int_equal(back.asked, on ? 1 : 2);
		/* The name itself, of another type. */
		fake_ask(f, &(struct fake_ask){ .name = "gone.example.org.", .type = "MX" });
		assert_int_equal(back.asked, on ? 1 : 3);
		/* Neither what is above nor what is beside. */
		back.asked = 0;
		ask(f, "example.org.");
		ask(f, "notgone.example.org.");
		assert_int_equal(back.asked, on ? 1 : 2);
		/* NODATA cuts nothing. */
		back.rcode = 0;
		ask(f, "here.example.net.");
		back.asked = 0;
		ask(f, "below.here.example.net.");
		assert_int_equal(back.asked, 1);
		fake_free(f);
	}
}

/* Names with underscores are denied by servers that have names below them. */
static void nxdomain_cut_underscores(void **state)
{
	(void)state;
	static const struct {
		const char *denied, *below;
		int asked;
	} rows[] = {
		{ "_tcp.a.example.org.", "_http._tcp.a.example.org.", 2 },
		{ "pin._zone.b.example.org.", "eu.pin._zone.b.example.org.", 2 },
		{ "c.example.org.", "_http._tcp.c.example.org.", 1 },
		{ "d.example.org.", "_x.d.example.org.", 1 },
		{ "e_.example.org.", "x.e_.example.org.", 1 },
	};
	struct fake *f = start("{\n nxdomain_cut\n }");
	AN(SOA(60));
	back.rcode = DNS_RCODE_NXDOMAIN;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		back.asked = 0;
		ask(f, rows[i].denied);
		ask(f, rows[i].below);
		assert_int_equal(back.asked, rows[i].asked);
	}
	fake_free(f);
}

static void options_of_our_own(void **state)
{
	(void)state;
	static const char *const good[] = { "1M", "1048576", "64M", "2G", "2048K" };
	static const char *const bad[] = { "",
					   "0",
					   "1",
					   "1023K",
					   "x",
					   "-5M",
					   "1T",
					   "5MB",
					   "2048G",
					   "1M 2M",
					   "999999999999999999999999999999G" };
	char text[128];
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		snprintf(text, sizeof(text), "{\n memory %s\n }", good[i]);
		fake_free(start(text));
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		snprintf(text, sizeof(text), ". {\n cache {\n memory %s\n }\n}\n", bad[i]);
		assert_null(fake_new(text));
	}
}

/* "Refuse, keep": a full cache stays bounded. */
static void full_cache(void **state)
{
	(void)state;
	struct fake *f = start("full.example {\n success 1024\n memory 2M\n }");
	AN("ad x. 60 IN A 127.0.0.1");
	for (int i = 0; i < 5000; i++) {
		char name[40];
		snprintf(name, sizeof(name), "n%d.full.example.", i);
		assert_non_null(ask(f, name));
	}
	const char *labels = "{server=\"dns://:53\",type=\"success\",view=\"\","
			     "zones=\"full.example.\"}";
	char metric[128];
	snprintf(metric, sizeof(metric), "coredns_cache_entries%s", labels);
	assert_in_range(fake_metric(f, metric), 800, 1024);
	snprintf(metric, sizeof(metric), "coredns_cache_evictions_total%s", labels);
	assert_in_range(fake_metric(f, metric), 3500, 5000 - 800);
	fake_free(f);
}

/* ---- metrics ---- */

static void metrics(void **state)
{
	(void)state;
	struct fake *f = start("m.example {\n serve_stale\n }");
	AN("an a.m.example. 60 IN A 127.0.0.1");
	for (int i = 0; i < 3; i++)
		ask(f, "a.m.example.");
	AN(SOA(60));
	back.rcode = DNS_RCODE_NXDOMAIN;
	for (int i = 0; i < 2; i++)
		ask(f, "b.m.example.");
	ask(f, "elsewhere.");
	advance_s(f, 100);
	ask(f, "b.m.example.");
	static const struct {
		const char *name, *type;
		double value;
	} rows[] = {
		{ "requests_total", "", 6 },
		{ "misses_total", "", 2 },
		{ "hits_total", "type=\"success\",", 2 },
		{ "hits_total", "type=\"denial\",", 2 },
		{ "served_stale_total", "", 1 },
		{ "prefetch_total", "", 1 },
		{ "entries", "type=\"success\",", 1 },
		{ "entries", "type=\"denial\",", 1 },
		{ "drops_total", "", -1 },
		{ "evictions_total", "type=\"success\",", -1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char line[160];
		snprintf(line, sizeof(line),
			 "coredns_cache_%s{server=\"dns://:53\",%sview=\"\",zones=\"m.example.\"}",
			 rows[i].name, rows[i].type);
		if (fake_metric(f, line) != rows[i].value)
			fail_msg("%s: %g instead of %g", line, fake_metric(f, line), rows[i].value);
	}
	fake_free(f);
}

/* A hit asks for no memory but the query's own, whatever the size; beyond a UDP reply it is cut. */
static void large_replies(void **state)
{
	(void)state;
	struct fake *f = start("");
	AN("an example.org. 60 IN TXT "
	   "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789",
	   "an example.org. 60 IN TXT "
	   "112345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789",
	   "an example.org. 60 IN TXT "
	   "212345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789",
	   "an example.org. 60 IN TXT "
	   "312345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789",
	   "an example.org. 60 IN TXT "
	   "412345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789");
	struct fake_ask small = { .type = "TXT" }, large = { .type = "TXT", .udp_size = 1232 };
	for (int i = 0; i < 2; i++) {
		expect_has(fake_ask(f, &small), "NOERROR qr tc rd\n");
		const char *r = fake_ask(f, &large);
		expect_has(r, "NOERROR qr rd\n");
		expect_has(r, "\"41234");
	}
	assert_int_equal(back.asked, 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_asks_for_all),
		cmocka_unit_test(leaders_that_fail),
		cmocka_unit_test(no_herd),
		cmocka_unit_test(no_herd_after_a_silence),
		cmocka_unit_test(only_equal_queries_share),
		cmocka_unit_test(slow_leader),
		cmocka_unit_test(kept_over_reloads),
		cmocka_unit_test(templates_flush_their_zones),
		cmocka_unit_test(counts_again_what_it_gives_again),
		cmocka_unit_test(replies_of_several_blocks_are_made_anew),
		cmocka_unit_test(late_answers_of_the_old),
		cmocka_unit_test(nxdomain_cut),
		cmocka_unit_test(nxdomain_cut_underscores),
		cmocka_unit_test(options_of_our_own),
		cmocka_unit_test(full_cache),
		cmocka_unit_test(metrics),
		cmocka_unit_test(large_replies),
	};
	return cmocka_run_group_tests_name("cache/share", tests, NULL, NULL);
}
