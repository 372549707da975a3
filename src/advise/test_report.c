/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole reports: short logs, and what is advised on them and why. */
#include "advise/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/err.h"

#define WALK(base) base ".shop.svc.z NXDOMAIN\n" base ".svc.z NXDOMAIN\n" base ".z NXDOMAIN\n"
#define OUTSIDE	   WALK("www.example.org") "www.example.org NOERROR\n"

static const struct advise_options defaults = { .zone = { "z", 1 },
						.ndots = 5,
						.libcs = 1U << ADVISE_GLIBC | 1U << ADVISE_MUSL };

/* Lines `NAME RCODE [WORDS]`, each of which is asked for by A and AAAA. A line `@ADDRESS` changes the
 * client. */
static void read_log(struct advise_trace *trace, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf scratch = STRBUF_INIT;
	struct slice rest = slice_of(text), client = SLICE("10.0.0.1");
	while (rest.n > 0) {
		struct slice line = slice_cut(&rest, '\n');
		struct advise_line parsed;
		if (line.p[0] == '@') {
			client = slice_from(line, 1);
			continue;
		}
		struct slice name = slice_cut(&line, ' ');
		struct slice rcode = slice_cut(&line, ' ');
		for (unsigned i = 0; i < 2; i++) {
			strbuf_reset(&whole);
			strbuf_addf(&whole,
				    "%.*s:1 - 2 \"%s IN %.*s. udp 40 false 512\" %.*s qr 200 0.1s "
				    "%.*s",
				    (int)client.n, client.p, i == 0 ? "A" : "AAAA", (int)name.n,
				    name.p, (int)rcode.n, rcode.p, (int)line.n,
				    line.n > 0 ? line.p : "");
			assert_int_equal(advise_line_parse(strbuf_slice(&whole), &scratch, &parsed),
					 0);
			advise_trace_add(trace, &parsed);
		}
	}
}

/* `NAMESPACE NDOTS SAVED reason; ` of each namespace with clients. */
static void advise(const char *log, const struct advise_options *options, struct strbuf *out)
{
	static const char *const verdicts[] = { "lower", "keep", "withheld" };
	struct advise_trace trace;
	struct advise_advice advice;
	advise_trace_init(&trace);
	read_log(&trace, log);
	advise_advice_init(&advice, &trace, options);
	for (size_t i = 0; i < advice.namespaces.n; i++) {
		const struct advise_namespace *ns = advice.namespaces.v[i];
		if (ns->clients.n > 0)
			strbuf_addf(out, "%.*s %s %u %d %s; ", (int)ns->name.n, ns->name.p,
				    verdicts[ns->verdict], ns->ndots, (int)ns->saved,
				    ns->why != NULL ? ns->why : "");
	}
	advise_advice_done(&advice);
	advise_trace_done(&trace);
}

struct row {
	const char *log, *want;
};

static void check_rows(const struct row *rows, size_t n, const struct advise_options *options)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		advise(rows[i].log, options, &got);
		assert_string_equal(got.s, rows[i].want);
	}
}

static void reasons(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ OUTSIDE, "shop lower 2 6 ; " },
		{ OUTSIDE OUTSIDE OUTSIDE, "shop lower 2 18 ; " },
		/* as far as names are found through search, and no further */
		{ OUTSIDE "web.shop.svc.z NOERROR\n", "shop lower 2 6 ; " },
		{ OUTSIDE "db.other.shop.svc.z NXDOMAIN\ndb.other.svc.z NOERROR\n",
		  "shop lower 2 6 'db.other' is found as 'db.other.svc.z'; " },
		{ OUTSIDE "db.other.svc.shop.svc.z NXDOMAIN\ndb.other.svc.svc.z NXDOMAIN\n"
			  "db.other.svc.z NOERROR\n",
		  "shop keep 5 0 'db.other.svc' is found as 'db.other.svc.z'; " },
		/* the pod's own domain has the name: its namespace is not known from that alone */
		{ "web.shop.svc.z NOERROR\n", "" },
		{ WALK("nope.example.org") "nope.example.org NXDOMAIN\n",
		  "shop keep 5 0 no query would be saved; " },
		/* the log ends too early, or has no certain answer */
		{ OUTSIDE WALK("cut.example.org"), "shop withheld 5 0 'cut.example.org' was looked "
						   "up, but 'cut.example.org' was not "
						   "asked for; " },
		{ OUTSIDE "a.b.c.shop.svc.z NXDOMAIN\na.b.c NOERROR\n",
		  "shop withheld 5 0 'a.b.c' was looked up, but 'a.b.c.svc.z' was not asked "
		  "for; " },
		{ OUTSIDE WALK("a.b.c") "a.b.c.z SERVFAIL\na.b.c NOERROR\n",
		  "shop withheld 5 0 'a.b.c' was looked up, but 'a.b.c.z' has no certain "
		  "answer; " },
		{ OUTSIDE WALK("a.b.c") "a.b.c.svc.z REFUSED\na.b.c NOERROR\n",
		  "shop withheld 5 0 'a.b.c' was looked up, but 'a.b.c.svc.z' has no certain "
		  "answer; " },
		/* musl would have ended at the name without records */
		{ OUTSIDE "a.b.c.shop.svc.z NXDOMAIN\na.b.c.svc.z NOERROR answer=NODATA\n"
			  "a.b.c.z NXDOMAIN\na.b.c NOERROR answer=NOERROR\n",
		  "shop keep 5 0 'a.b.c' would fail in another way; " },
		/* not searched for: its ndots may be less already */
		{ WALK("a.b.c.d") "a.b.c.d NOERROR\nexample.net NOERROR\n", "shop lower 1 6 ; " },
		{ WALK("a.b.c.d") "a.b.c.d NOERROR\nexample.net NOERROR\n"
				  "db.other.shop.svc.z NXDOMAIN\ndb.other.svc.z NOERROR\n",
		  "shop withheld 5 0 'example.net' was asked for without a search: if it ended in "
		  "a "
		  "dot, use --final-dots; if the pods' ndots is less than 5 already, use "
		  "--ndots; " },
		{ OUTSIDE "x.y.svc.z NOERROR\n", "shop withheld 5 0 'x.y.svc.z' was answered, but "
						 "the queries before it are missing: "
						 "if it ended in a dot, use --final-dots; " },
		/* the one suffix of the plugin searchpath */
		{ OUTSIDE "@10.0.0.2\nftp.example.org.shop.search.z NOERROR\n",
		  "shop keep 5 0 'ftp.example.org' is found through the virtual suffix "
		  "'shop.search.z'; " },
	};
	check_rows(rows, ARRAY_LEN(rows), &defaults);
}

static void search_domains(void **state)
{
	(void)state;
	/* Two look-ups go on to corp.test; a third may have gone on to lab.test. */
	static const char log[] = OUTSIDE "www.example.org.corp.test NXDOMAIN\n" WALK(
		"a.b.c") "a.b.c.corp.test NXDOMAIN\na.b.c NOERROR\n";
	static const char odd[] = OUTSIDE WALK("a.b.c") "a.b.c NOERROR\n" WALK(
		"d.e.f") "d.e.f.corp.test NOERROR\nd.e.f "
			 "NOERROR\n";
	struct advise_options given = defaults;
	check_rows((struct row[]){ { log, "shop lower 2 16 ; " },
				   { odd,
				     "shop withheld 5 0 'd.e.f' was looked up, and so was "
				     "'d.e.f.corp.test': 'corp.test' may be a search domain; " } },
		   2, &defaults);
	given.has_searches = true;
	check_rows((struct row[]){ { log, "shop lower 2 12 ; " } }, 1, &given);
	given.searches = (struct advise_list){ .domain = { SLICE("corp.test") }, .n = 1 };
	check_rows((struct row[]){ { log, "shop lower 2 16 ; " },
				   { odd, "shop withheld 5 0 'www.example.org' was looked up, but "
					  "'www.example.org.corp.test' was not asked for; " } },
		   2, &given);
}

static void options(void **state)
{
	(void)state;
	struct advise_options glibc = defaults, dots = defaults, less = defaults;
	glibc.libcs = 1U << ADVISE_GLIBC;
	dots.has_final_dots = true;
	less.ndots = 2;
	/* glibc goes on after the bare name, where that is known not to exist */
	check_rows((struct row[]){ { OUTSIDE "a.b.c.shop.svc.z NXDOMAIN\na.b.c.svc.z NOERROR "
					     "answer=NOERROR\na.b.c NXDOMAIN\n",
				     "shop lower 2 6 ; " } },
		   1, &glibc);
	check_rows((struct row[]){ { OUTSIDE "x.y.svc.z NOERROR\nexample.net NOERROR\n",
				     "shop lower 2 6 ; " } },
		   1, &dots);
	check_rows((struct row[]){ { OUTSIDE WALK("example.net") "example.net NOERROR\n",
				     "shop lower 1 6 ; " } },
		   1, &less);
}

static void namespaces(void **state)
{
	(void)state;
	static const struct row rows[] = {
		/* two behind one address */
		{ OUTSIDE "a.b.c.lab.svc.z NXDOMAIN\na.b.c.svc.z NXDOMAIN\na.b.c.z NXDOMAIN\na.b.c "
			  "NOERROR\n",
		  "lab lower 2 6 ; shop lower 2 6 ; " },
		/* no namespace: nothing before it, or no label */
		{ "b.svc.z NXDOMAIN\nsvc.z NXDOMAIN\na..svc.z NXDOMAIN\na.svc.z NXDOMAIN\n", "" },
		/* the label `example` before svc.z is no namespace of the client */
		{ WALK("www.example") "www.example NOERROR\n", "shop lower 1 6 ; " },
		/* a name of `lab` that no walk of `shop` explains counts there as well */
		{ OUTSIDE
		  "a.b.c.lab.svc.z NOERROR\n@10.0.0.2\nd.e.f.lab.svc.z NXDOMAIN\nd.e.f.svc.z "
		  "NXDOMAIN\nd.e.f.z NXDOMAIN\nd.e.f NOERROR\n",
		  "lab keep 5 0 'a.b.c' is found as 'a.b.c.lab.svc.z'; shop lower 2 6 ; " },
		/* the log's own words count more */
		{ "a.b.c.shop.svc.z NXDOMAIN namespace=shop\na.b.c.svc.z NXDOMAIN namespace=shop\n"
		  "a.b.c.z NXDOMAIN namespace=shop\na.b.c NOERROR namespace=shop\n"
		  "x.lab.svc.z NOERROR namespace=-\n",
		  "shop withheld 5 0 'x.lab.svc.z' was answered, but the queries before it are "
		  "missing: "
		  "if it ended in a dot, use --final-dots; " },
	};
	check_rows(rows, ARRAY_LEN(rows), &defaults);
}

/* Table or JSON of a log; with a limit of names. */
static void report(const char *log, bool is_json, size_t names_max, struct strbuf *out)
{
	struct advise_trace trace;
	struct advise_advice advice;
	struct advise_input input = { .queries = 8,
				      .other_lines = 2,
				      .first_other_line = SLICE("log:3") };
	advise_trace_init(&trace);
	trace.names_max = names_max;
	read_log(&trace, log);
	advise_advice_init(&advice, &trace, &defaults);
	struct advise_report all = { .advice = &advice, .input = &input, .has_replay = true };
	if (is_json)
		advise_report_json(&all, out);
	else
		advise_report_table(&all, out);
	advise_advice_done(&advice);
	advise_trace_done(&trace);
}

static void table(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	report(OUTSIDE WALK("nope.org") "nope.org NXDOMAIN\n@10.0.0.3\nx NOERROR\n", false, 100,
	       &got);
	assert_string_equal(
		got.s,
		"NAMESPACE                CLIENTS   QUERIES  LOOK-UPS  NDOTS          SAVED\n"
		"shop                           1        16         2   5 -> 2            6  37 %\n"
		"\nA virtual suffix (plugin searchpath) would save more:\n"
		"  shop                          10 queries with the one search domain "
		"shop.search.z\n"
		"\nReplay of the log with the advised ndots:\n"
		"  shop                   glibc  2 look-ups, 0 answers changed, 0 not known; "
		"queries 16 "
		"-> 10\n"
		"  shop                   musl   2 look-ups, 0 answers changed, 0 not known; "
		"queries 16 "
		"-> 10\n"
		"\n8 queries read; 2 other lines, the first at log:3; 1 clients belong to no "
		"namespace "
		"for certain\n");
}

static void limits(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	report(OUTSIDE, false, 3, &got);
	assert_non_null(strstr(got.s, "withheld"));
	assert_non_null(strstr(got.s, "the log has more clients or names than can be kept"));
	assert_non_null(strstr(got.s, "(--max-names), was reached: nothing is advised."));
}

static void json(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	report(OUTSIDE, true, 100, &got);
	assert_string_equal(
		got.s,
		"{\"clusterDomain\":\"z\",\"presentNdots\":5,\"queries\":8,\"otherLines\":2,"
		"\"firstOtherLine\":\"log:3\",\"otherClients\":0,\"limitReached\":false,"
		"\"namespaces\":["
		"{\"namespace\":\"shop\",\"verdict\":\"lower\",\"clients\":1,\"queries\":8,"
		"\"lookups\":1,"
		"\"ndots\":2,\"saved\":6,\"savedByVirtualSuffix\":6,\"search\":[\"shop.svc.z\","
		"\"svc.z\","
		"\"z\"],\"replay\":{\"glibc\":{\"lookups\":1,\"changed\":0,\"notKnown\":0,"
		"\"queriesBefore\":8,\"queriesAfter\":2},\"musl\":{\"lookups\":1,\"changed\":0,"
		"\"notKnown\":0,\"queriesBefore\":8,\"queriesAfter\":2}}}]}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons), cmocka_unit_test(search_domains),
		cmocka_unit_test(options), cmocka_unit_test(namespaces),
		cmocka_unit_test(table),   cmocka_unit_test(limits),
		cmocka_unit_test(json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
