/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cache: entries that are renewed before their end, and served after it. */
#include "plugin/cache/test_back.h"

/* ---- prefetch ---- */

static void prefetches(void **state)
{
	(void)state;
	struct fake *f = start("{\n prefetch 1\n }");
	AN("an hits.example. 80 IN A 127.0.0.#");
	STEPS(f, { 0, Q("hits.example."), "hits.example. 80 IN A 127.0.0.1", 1 },
	      { 71, Q("hits.example."), "hits.example. 9 IN A 127.0.0.1", 1 },
	      { 73, Q("hits.example."), "hits.example. 7 IN A 127.0.0.1", 2 },
	      { 80, Q("hits.example."), "hits.example. 73 IN A 127.0.0.2", 2 });
	AN("an short.example. 5 IN A 127.0.0.#");
	STEPS(f, { 0, Q("short.example."), "short.example. 5 IN A 127.0.0.1", 1 },
	      { 1, Q("short.example."), "short.example. 4 IN A 127.0.0.1", 1 },
	      { 4, Q("short.example."), "short.example. 1 IN A 127.0.0.1", 2 },
	      { 5, Q("short.example."), "short.example. 4 IN A 127.0.0.2", 2 });
	AN("an do.example. 80 IN A 127.0.0.#");
	STEPS(f, { 0, DO("do.example."), "do.example. 80 IN A 127.0.0.1", 1 },
	      { 73, DO("do.example."), "do.example. 7 IN A 127.0.0.1", 2 },
	      { 80, DO("do.example."), "do.example. 73 IN A 127.0.0.2", 2 },
	      { 80, Q("do.example."), "do.example. 80 IN A 127.0.0.3", 3 });
	AN("an cd.example. 80 IN A 127.0.0.#");
	STEPS(f, { 0, CDQ("cd.example."), "cd.example. 80 IN A 127.0.0.1", 1 },
	      { 73, CDQ("cd.example."), "cd.example. 7 IN A 127.0.0.1", 2 },
	      { 80, CDQ("cd.example."), "cd.example. 73 IN A 127.0.0.2", 2 },
	      { 80, Q("cd.example."), "cd.example. 80 IN A 127.0.0.3", 3 });
	fake_free(f);
	f = start("{\n prefetch 0\n }");
	AN("an no.example. 30 IN A 127.0.0.#");
	STEPS(f, { 0, Q("no.example."), "no.example. 30 IN A 127.0.0.1", 1 },
	      { 29, Q("no.example."), "no.example. 1 IN A 127.0.0.1", 1 },
	      { 30, Q("no.example."), "no.example. 30 IN A 127.0.0.2", 2 });
	fake_free(f);
}

/* So many hits, none further apart than the gap; they are carried over to the fresh entry. */
static void prefetch_counts_hits(void **state)
{
	(void)state;
	struct fake *f = start("{\n prefetch 3 10s 50%\n }");
	AN("an example.org. 100 IN A 127.0.0.#");
	STEPS(f, { 0, Q("example.org."), "127.0.0.1", 1 },
	      { 40, Q("example.org."), "127.0.0.1", 1 },
	      { 55, Q("example.org."), "127.0.0.1", 1 } /* a gap: counts 1 */,
	      { 60, Q("example.org."), "127.0.0.1", 1 }, { 70, Q("example.org."), "127.0.0.1", 2 },
	      { 71, Q("example.org."), "99 IN A 127.0.0.2", 2 });
	fake_free(f);
}

/* One at a time, whatever the number of hits; and it is counted. */
static void prefetch_once(void **state)
{
	(void)state;
	const char *metric = "coredns_cache_prefetch_total{server=\"dns://"
			     ":53\",view=\"\",zones=\"once.example.\"}";
	struct fake *f = start("once.example {\n prefetch 1 1m 90%\n }");
	AN("an once.example. 100 IN A 127.0.0.#");
	ask(f, "once.example.");
	advance_s(f, 20);
	back.act = WAIT;
	for (int i = 0; i < 10; i++)
		expect_has(ask(f, "once.example."), "127.0.0.1");
	assert_int_equal(back.asked, 2);
	assert_int_equal(fake_metric(f, metric), 1);
	let_go(f);
	back.act = ANSWER;
	expect_has(ask(f, "once.example."), "100 IN A 127.0.0.2");
	/* One that comes to nothing can be tried again. */
	advance_s(f, 20);
	back.act = DROP;
	ask(f, "once.example.");
	ask(f, "once.example.");
	assert_int_equal(back.asked, 4);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* ---- serve_stale ---- */

static const char stale_metric[] =
	"coredns_cache_served_stale_total{server=\"dns://:53\",view=\"\",zones=\".\"}";

static void stale_immediately(void **state)
{
	(void)state;
	struct fake *f = start("{\n serve_stale\n }");
	AN("an example.org. 60 IN A 127.0.0.#");
	ask(f, "example.org.");
	double before = fake_metric(f, stale_metric);
	advance_s(f, 61);
	expect_has(ask(f, "example.org."), "answer example.org. 0 IN A 127.0.0.1");
	fake_advance(f, 0);
	assert_int_equal(back.asked, 2);
	assert_true(fake_metric(f, stale_metric) == MAX(before, 0) + 1);
	expect_has(ask(f, "example.org."), "answer example.org. 60 IN A 127.0.0.2");
	assert_int_equal(back.asked, 2);
	/* An hour and no longer. */
	advance_s(f, 60 + 3599);
	back.act = FAIL;
	back.rcode = DNS_RCODE_SERVFAIL;
	expect_has(ask(f, "example.org."), "answer example.org. 0 IN A 127.0.0.2");
	advance_s(f, 1);
	expect_has(ask(f, "example.org."), "SERVFAIL");
	fake_free(f);
}

static const struct {
	const char *options;
	unsigned after_s;
	const char *want;
} stale_rows[] = {
	{ "serve_stale 1m", 60, "0 IN A 127.0.0.1" },
	{ "serve_stale 1m", 119, "0 IN A 127.0.0.1" },
	{ "serve_stale 1m", 120, "60 IN A 127.0.0.2" },
	{ "serve_stale 0", 60, "60 IN A 127.0.0.2" },
	{ "serve_stale 500ms", 60, "60 IN A 127.0.0.2" },
	{ "serve_stale 1h immediate", 70, "0 IN A 127.0.0.1" },
	{ "serve_stale 1h immediate 30s", 70, "30 IN A 127.0.0.1" },
	{ "serve_stale 1h immediate 0", 70, "0 IN A 127.0.0.1" },
	{ "serve_stale 1h immediate 30s\n keepttl", 70, "30 IN A 127.0.0.1" },
	{ "serve_stale 1h\n keepttl", 70, "60 IN A 127.0.0.1" },
	{ "serve_stale 1h verify", 70, "60 IN A 127.0.0.2" },
	{ "serve_stale 1h verify 100ms", 70, "60 IN A 127.0.0.2" },
	{ "serve_stale 1h verify 100ms 30s", 70, "60 IN A 127.0.0.2" },
	{ "serve_stale 1h verify 0 30s 10s", 70, "60 IN A 127.0.0.2" },
};

static void stale_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stale_rows); i++) {
		char options[128];
		snprintf(options, sizeof(options), "{\n %s\n }", stale_rows[i].options);
		struct fake *f = start(options);
		AN("an example.org. 60 IN A 127.0.0.#");
		ask(f, "example.org.");
		advance_s(f, stale_rows[i].after_s);
		expect_has(ask(f, "example.org."), stale_rows[i].want);
		fake_free(f);
	}
}

/* What comes of a refresh of an expired answer: the next reply, with verify and without. */
static const struct {
	enum act act;
	uint16_t rcode, flags;
	const char *rr;
	bool refreshes;
} refreshes[] = {
	{ ANSWER, 0, 0, "an example.org. 60 IN A 127.0.0.9", true },
	{ ANSWER, DNS_RCODE_NXDOMAIN, 0, SOA(60), true },
	{ ANSWER, 0, 0, SOA(60), true },
	{ ANSWER, DNS_RCODE_SERVFAIL, 0, NULL, false },
	{ ANSWER, DNS_RCODE_REFUSED, 0, NULL, false },
	{ ANSWER, DNS_RCODE_NOTIMP, 0, NULL, false },
	{ ANSWER, DNS_RCODE_FORMERR, 0, NULL, false },
	{ ANSWER, 0, DNS_FLAG_TC, "an example.org. 60 IN A 127.0.0.9", false },
	{ FAIL, DNS_RCODE_SERVFAIL, 0, NULL, false },
	{ DROP, 0, 0, NULL, false },
};

static void refresh_table(void **state)
{
	(void)state;
	static const char *const modes[] = { "serve_stale", "serve_stale 1h verify",
					     "serve_stale 1h verify 1s" };
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		for (size_t i = 0; i < ARRAY_LEN(refreshes); i++) {
			char options[64];
			snprintf(options, sizeof(options), "{\n %s\n }", modes[m]);
			struct fake *f = start(options);
			AN("an example.org. 60 IN A 127.0.0.1");
			ask(f, "example.org.");
			advance_s(f, 60);
			AN(refreshes[i].rr);
			back.act = refreshes[i].act;
			back.rcode = refreshes[i].rcode;
			back.flags = refreshes[i].flags;
			bool at_once = m > 0 && refreshes[i].refreshes;
			const char *r = ask(f, "example.org.");
			if (at_once)
				assert_null(strstr(r, "127.0.0.1"));
			else
				expect_has(r, " 0 IN A 127.0.0.1");
			fake_advance(f, 0);
			assert_int_equal(back.asked, 1);
			r = ask(f, "example.org.");
			if (refreshes[i].refreshes)
				assert_null(strstr(r, "127.0.0.1"));
			else
				expect_has(r, " 0 IN A 127.0.0.1");
			assert_int_equal(fake_inflight(f), 0);
			fake_free(f);
		}
	}
}

static void verify_times_out(void **state)
{
	(void)state;
	struct fake *f = start("{\n serve_stale 1h verify 100ms 30s\n }");
	AN("an example.org. 60 IN A 127.0.0.#");
	ask(f, "example.org.");
	advance_s(f, 60);
	back.act = WAIT;
	assert_null(ask(f, "example.org."));
	/* Others do not wait, and start no verification of their own. */
	expect_has(ask(f, "example.org."), "30 IN A 127.0.0.1");
	fake_advance(f, 99 * NS_PER_MS);
	assert_null(fake_next(f));
	fake_advance(f, 1 * NS_PER_MS);
	expect_has(fake_next(f), "30 IN A 127.0.0.1");
	assert_int_equal(back.asked, 2);
	/* It goes on alone, and what it brings is stored. */
	let_go(f);
	back.act = ANSWER;
	assert_null(fake_next(f));
	expect_has(ask(f, "example.org."), "60 IN A 127.0.0.2");
	assert_int_equal(back.asked, 2);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* Without a time-out all who ask meanwhile wait for the same refresh. */
static void verify_is_shared(void **state)
{
	(void)state;
	struct fake *f = start("{\n serve_stale 1h verify\n }");
	AN("an example.org. 60 IN A 127.0.0.#");
	ask(f, "example.org.");
	advance_s(f, 60);
	back.act = WAIT;
	for (int i = 0; i < 3; i++)
		assert_null(ask(f, "example.org."));
	assert_int_equal(back.asked, 2);
	let_go(f);
	for (int i = 0; i < 3; i++)
		expect_has(fake_next(f), "60 IN A 127.0.0.2");
	fake_free(f);
}

static void recheck(void **state)
{
	(void)state;
	static const char *const modes[] = { "serve_stale 1h immediate 0 10s",
					     "serve_stale 1h verify 0 0 10s" };
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		char options[64];
		snprintf(options, sizeof(options), "{\n %s\n }", modes[m]);
		struct fake *f = start(options);
		AN("an example.org. 60 IN A 127.0.0.1");
		ask(f, "example.org.");
		advance_s(f, 60);
		back = (struct back){ .act = FAIL, .rcode = DNS_RCODE_SERVFAIL };
		for (int i = 0; i < 3; i++) {
			expect_has(ask(f, "example.org."), "0 IN A 127.0.0.1");
			fake_advance(f, 0);
			assert_int_equal(back.asked, 1); /* not again within ten seconds */
		}
		advance_s(f, 9);
		ask(f, "example.org.");
		fake_advance(f, 0);
		assert_int_equal(back.asked, 1);
		advance_s(f, 1);
		ask(f, "example.org.");
		fake_advance(f, 0);
		assert_int_equal(back.asked, 2);
		fake_free(f);
	}
	/* Without it each query tries again. */
	struct fake *f = start("{\n serve_stale\n }");
	AN("an example.org. 60 IN A 127.0.0.1");
	ask(f, "example.org.");
	advance_s(f, 60);
	back = (struct back){ .act = FAIL, .rcode = DNS_RCODE_SERVFAIL };
	for (unsigned i = 0; i < 3; i++) {
		ask(f, "example.org.");
		fake_advance(f, 0);
		assert_int_equal(back.asked, i + 1);
	}
	fake_free(f);
}

/* 1.15.3: an expired SERVFAIL is served stale itself. */
static void stale_failure(void **state)
{
	(void)state;
	struct fake *f = start("{\n serve_stale\n }");
	back = (struct back){ .act = FAIL, .rcode = DNS_RCODE_SERVFAIL };
	ask(f, "example.org.");
	advance_s(f, 10);
	AN("an example.org. 60 IN A 127.0.0.1");
	expect_has(ask(f, "example.org."), "SERVFAIL");
	fake_advance(f, 0);
	expect_has(ask(f, "example.org."), "127.0.0.1");
	fake_free(f);
}

/* A denial that has expired does not hide the answer that a refresh brought. */
static void refresh_drops_the_denial(void **state)
{
	(void)state;
	static const char *const modes[] = { "serve_stale", "serve_stale 1h verify",
					     "serve_stale 1h verify 1s" };
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		char options[64];
		snprintf(options, sizeof(options), "{\n %s\n }", modes[m]);
		struct fake *f = start(options);
		AN(SOA(60));
		back.rcode = DNS_RCODE_NXDOMAIN;
		ask(f, "example.org.");
		advance_s(f, 60);
		AN("an example.org. 60 IN A 127.0.0.1");
		ask(f, "example.org.");
		fake_advance(f, 0);
		for (int i = 0; i < 2; i++)
			expect_has(ask(f, "example.org."), "answer example.org. 60");
		assert_int_equal(back.asked, 1);
		fake_free(f);
	}
}

static void disabled_for_refreshes_too(void **state)
{
	(void)state;
	struct fake *f = start("{\n prefetch 1 1m 90%\n disable denial\n }");
	AN("an example.org. 60 IN A 127.0.0.1");
	ask(f, "example.org.");
	advance_s(f, 20);
	AN(SOA(60));
	back.rcode = DNS_RCODE_NXDOMAIN;
	ask(f, "example.org.");
	fake_advance(f, 0);
	assert_int_equal(back.asked, 1);
	expect_has(ask(f, "example.org."), "40 IN A 127.0.0.1");
	fake_free(f);
}

/* ---- serve_stale_policy prefer_positive ---- */

static void prefer_positive(void **state)
{
	(void)state;
	static const struct {
		uint16_t rcode;
		const char *rr;
	} rows[] = {
		{ DNS_RCODE_NXDOMAIN, SOA(60) },
		{ 0, SOA(60) },
		{ DNS_RCODE_SERVFAIL, NULL },
		{ 0, NULL },
		{ 0, "au example.org. 60 IN NS ns.x." },
		{ 0, "an x.example. 60 IN A 127.0.0.9" },
	};
	static const char *const modes[] = { "serve_stale", "serve_stale 1h verify",
					     "serve_stale 1h verify 1s" };
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			char options[128];
			snprintf(options, sizeof(options),
				 "{\n %s\n serve_stale_policy prefer_positive\n }", modes[m]);
			struct fake *f = start(options);
			AN("an example.org. 60 IN A 127.0.0.1");
			ask(f, "example.org.");
			advance_s(f, 60);
			AN(rows[i].rr);
			back.rcode = rows[i].rcode;
			for (int k = 0; k < 3; k++) {
				expect_has(ask(f, "example.org."), " 0 IN A 127.0.0.1");
				fake_advance(f, 0);
			}
			/* Not beyond the hour. */
			advance_s(f, 3600);
			const char *r = ask(f, "example.org.");
			assert_true(r == NULL || strstr(r, "127.0.0.1") == NULL);
			/* An answer ends it. */
			AN("an example.org. 60 IN A 127.0.0.2");
			advance_s(f, 3700);
			ask(f, "example.org.");
			expect_has(ask(f, "example.org."), "60 IN A 127.0.0.2");
			fake_free(f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disabled_for_refreshes_too),
		cmocka_unit_test(prefetches),
		cmocka_unit_test(prefetch_counts_hits),
		cmocka_unit_test(prefetch_once),
		cmocka_unit_test(stale_immediately),
		cmocka_unit_test(stale_table),
		cmocka_unit_test(refresh_table),
		cmocka_unit_test(verify_times_out),
		cmocka_unit_test(verify_is_shared),
		cmocka_unit_test(recheck),
		cmocka_unit_test(stale_failure),
		cmocka_unit_test(refresh_drops_the_denial),
		cmocka_unit_test(prefer_positive),
	};
	return cmocka_run_group_tests_name("cache/stale", tests, NULL, NULL);
}
