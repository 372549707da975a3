/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rewrite in the chain: what is asked below, what the client gets, and what happens when something
 * is not as it should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "plugin/rewrite/rewrite_priv.h"
#include "testing/fake_server.h"

/* Tells the question that arrives, as the owner and in the data. */
#define ECHO                                                                                 \
	"template ANY ANY . {\n answer \"{{ .Name }} 5 {{ .Class }} TXT \\\"{{ .Name }} {{ " \
	".Class }} "                                                                         \
	"{{ .Type }}\\\"\"\n}\n"

static struct fake *start(const char *rules, const char *below)
{
	char text[4096];
	snprintf(text, sizeof(text), ". {\nmetadata\nerrors\n%s\n%s}\n", rules, below);
	struct fake *f = fake_new(text);
	if (f == NULL)
		fail_msg("%s\n%s", fake_error(), text);
	return f;
}

static void expect(struct fake *f, const struct fake_ask *ask, const char *want)
{
	const char *got = fake_ask(f, ask);
	if (got == NULL || strstr(got, want) == NULL)
		fail_msg("%s %s: got\n%snot %s", ask->name, ask->type,
			 got != NULL ? got : "silence\n", want);
}

/* name_test.go, rewrite_test.go. */
static void asks_and_puts_back(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *name, *want;
	} rows[] = {
		{ "rewrite name from.nl. to.nl.", "from.nl.",
		  "question from.nl. IN A\nanswer from.nl. 5 IN TXT \"to.nl. IN A\"\n" },
		{ "rewrite name from.nl. to.nl.", "FROM.nl.",
		  "question FROM.nl. IN A\nanswer from.nl. 5 IN TXT \"to.nl. IN A\"\n" },
		{ "rewrite name from.nl. to.nl.", "a.nl.",
		  "answer a.nl. 5 IN TXT \"a.nl. IN A\"\n" },
		{ "rewrite name prefix foo bar", "foo.example.com.",
		  "answer bar.example.com. 5 IN TXT \"bar.example.com. IN A\"\n" },
		{ "rewrite name prefix foo. bar.", "foo.example.com.",
		  "answer bar.example.com. 5 IN TXT \"bar.example.com. IN A\"\n" },
		{ "rewrite name suffix com org", "foo.example.com.",
		  "answer foo.example.org. 5 IN TXT \"foo.example.org. IN A\"\n" },
		{ "rewrite name suffix .com .org", "foo.example.com.",
		  "answer foo.example.org. 5 IN TXT \"foo.example.org. IN A\"\n" },
		{ "rewrite name suffix .ingress.coredns.rocks nginx.coredns.rocks",
		  "coredns.ingress.coredns.rocks.",
		  "answer corednsnginx.coredns.rocks. 5 IN TXT \"corednsnginx.coredns.rocks. IN "
		  "A\"\n" },
		{ "rewrite name prefix foo bar", "coredns.foo.",
		  "answer coredns.foo. 5 IN TXT \"coredns.foo. IN A\"\n" },
		{ "rewrite name suffix com org", "com.coredns.",
		  "answer com.coredns. 5 IN TXT \"com.coredns. IN A\"\n" },
		{ "rewrite name substring service svc", "com.coredns.",
		  "answer com.coredns. 5 IN TXT \"com.coredns. IN A\"\n" },
		{ "rewrite name prefix foo bar answer auto", "foo.example.com.",
		  "answer foo.example.com. 5 IN TXT \"bar.example.com. IN A\"\n" },
		{ "rewrite name suffix com org answer auto", "foo.example.com.",
		  "answer foo.example.com. 5 IN TXT \"foo.example.org. IN A\"\n" },
		{ "rewrite name suffix .ingress.coredns.rocks nginx.coredns.rocks answer auto",
		  "coredns.ingress.coredns.rocks.",
		  "answer coredns.ingress.coredns.rocks. 5 IN TXT \"corednsnginx.coredns.rocks. IN "
		  "A\"\n" },
		{ "rewrite name exact coredns.rocks service.consul answer auto", "coredns.rocks.",
		  "answer coredns.rocks. 5 IN TXT \"service.consul. IN A\"\n" },
		{ "rewrite name exact coredns.org. service.consul.", "coredns.rocks.",
		  "answer coredns.rocks. 5 IN TXT \"coredns.rocks. IN A\"\n" },
		{ "rewrite name regex (.*).coredns.rocks {1}.coredns.maps answer auto",
		  "foo.coredns.rocks.",
		  "answer foo.coredns.rocks. 5 IN TXT \"foo.coredns.maps. IN A\"\n" },
		{ "rewrite name regex (.*).coredns.rocks {1}.coredns.maps answer name "
		  "(.*).coredns.maps {1}.coredns.works",
		  "foo.coredns.rocks.",
		  "answer foo.coredns.works. 5 IN TXT \"foo.coredns.maps. IN A\"\n" },
		{ "rewrite name regex (.*).coredns.rocks {1}.coredns.maps", "foo.coredns.rocks.",
		  "answer foo.coredns.maps. 5 IN TXT \"foo.coredns.maps. IN A\"\n" },
		{ "rewrite continue name regex consul\\.(rocks) core.dns.{1}\nrewrite name "
		  "core.dns.rocks to.nl.",
		  "consul.rocks.", "5 IN TXT \"to.nl. IN A\"\n" },
		{ "rewrite type A MX", "x.",
		  "question x. IN A\nanswer x. 5 IN TXT \"x. IN MX\"\n" },
		{ "rewrite continue type a mx\nrewrite continue class in ch\nrewrite name x y",
		  "x.", "question x. IN A\nanswer x. 5 CH TXT \"y. CH MX\"\n" },
		{ "rewrite type MX A", "x.", "answer x. 5 IN TXT \"x. IN A\"\n" },
		/* Only what the client asked comes back as the question. */
		{ "rewrite continue name prefix a b", "a.x.",
		  "question a.x. IN A\nanswer b.x. 5 IN TXT \"b.x. IN A\"\n" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = start(rows[i].rules, ECHO);
		expect(f, &(struct fake_ask){ .name = rows[i].name }, rows[i].want);
		fake_free(f);
	}
}

/* ttl_test.go, rcode_test.go, reverter_test.go. */
static void changes_replies(void **state)
{
	(void)state;
	static const char *const below =
		"template IN A ttl {\n"
		" answer \"{{ .Name }} 5 A 10.0.0.1\"\n answer \"{{ .Name }} 55 A 10.0.0.2\"\n"
		" authority \"ttl. 500 NS ns.ttl.\"\n}\n"
		"template IN SRV ttl {\n answer \"{{ .Name }} 5 SRV 0 1 2 s.{{ .Name }}\"\n"
		" additional \"s.{{ .Name }} 5 A 10.0.0.1\"\n}\n"
		"template IN A fail {\n match never\n}\n";
	static const struct {
		const char *rules, *name, *type, *want;
	} rows[] = {
		{ "rewrite ttl range.ttl. 30-300", "range.ttl.", "A",
		  "answer range.ttl. 30 IN A 10.0.0.1\nanswer range.ttl. 55 IN A "
		  "10.0.0.2\nauthority ttl. 300 IN NS ns.ttl.\n" },
		{ "rewrite ttl ceil.ttl. -11", "ceil.ttl.", "A",
		  "answer ceil.ttl. 5 IN A 10.0.0.1\nanswer ceil.ttl. 11 IN A 10.0.0.2\n" },
		{ "rewrite ttl floor.ttl. 7-", "floor.ttl.", "A",
		  "answer floor.ttl. 7 IN A 10.0.0.1\n" },
		{ "rewrite ttl prefix srv30 30", "srv30.ttl.", "A",
		  "answer srv30.ttl. 30 IN A 10.0.0.1\n" },
		{ "rewrite ttl suffix 45.ttl 45", "srv45.ttl.", "A",
		  "answer srv45.ttl. 45 IN A 10.0.0.1\n" },
		{ "rewrite ttl substring rv50 50", "srv50.ttl.", "A",
		  "answer srv50.ttl. 50 IN A 10.0.0.1\n" },
		{ "rewrite ttl regex (srv20)\\.(ttl) 20", "srv20.ttl.", "A",
		  "answer srv20.ttl. 20 IN A 10.0.0.1\n" },
		{ "rewrite ttl other.ttl. 1", "x.ttl.", "A", "answer x.ttl. 5 IN A 10.0.0.1\n" },
		{ "rewrite rcode regex .* SERVFAIL NXDOMAIN", "x.fail.", "A", "NXDOMAIN qr rd\n" },
		{ "rewrite rcode x.fail 2 0", "x.fail.", "A", "NOERROR qr rd\n" },
		{ "rewrite rcode x.fail NXDOMAIN NOERROR", "x.fail.", "A", "SERVFAIL qr rd\n" },
		{ "rewrite name exact a.b c.ttl", "a.b.", "SRV",
		  "answer a.b. 5 IN SRV 0 1 2 s.a.b.\nadditional s.a.b. 5 IN A 10.0.0.1\n" },
		{ "rewrite name suffix .b .ttl answer value s\\.(.*)\\.ttl {1}.v answer name ^c n",
		  "c.b.", "SRV", "answer n. 5 IN SRV 0 1 2 c.v.\nadditional s.c.ttl. 5" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = start(rows[i].rules, below);
		expect(f, &(struct fake_ask){ .name = rows[i].name, .type = rows[i].type },
		       rows[i].want);
		fake_free(f);
	}
}

/* rewrite_test.go's EDNS0 tables; the reply echoes what the request had. */
static void changes_options(void **state)
{
	(void)state;
	static const uint8_t local[] = { 0xff, 0xee, 0, 3, 'f', 'o', 'o' };
	static const struct {
		const char *rules;
		bool sends;
		const char *client, *want;
	} rows[] = {
		{ "local set 0xffee 0xabcdef", false, NULL, "opt 4096 65518:abcdef\n" },
		{ "local append 0xffee ab", false, NULL, "opt 4096 65518:6162\n" },
		{ "local replace 0xffee ab", false, NULL, "opt 4096\n" },
		{ "local set 0xffee ab", true, NULL, "opt 1232 65518:6162\n" },
		{ "local append 0xffee ab", true, NULL, "opt 1232 65518:666f6f 65518:6162\n" },
		{ "local replace 0xffee ab", true, NULL, "opt 1232 65518:6162\n" },
		{ "local unset 0xffee", true, NULL, "opt 1232\n" },
		{ "local set 0xffee ab revert", false, NULL, "opt 4096\n" },
		{ "local set 0xffee ab revert", true, NULL, "opt 1232 65518:666f6f\n" },
		{ "local set 0xffee {qname}", false, NULL,
		  "opt 4096 65518:6578616d706c652e6f72672e\n" },
		{ "local set 0xffee {qtype}", false, NULL, "opt 4096 65518:0001\n" },
		{ "local append 0xffee {qtype}", true, NULL, "opt 1232 65518:666f6f\n" },
		{ "local set 0xffee {client_ip}", false, "192.0.2.7:40212",
		  "opt 4096 65518:c0000207\n" },
		{ "local set 0xffee {client_ip}", false, "[2001:db8::7]:40212",
		  "opt 4096 65518:20010db8000000000000000000000007\n" },
		{ "local set 0xffee {client_port}", false, "192.0.2.7:40212",
		  "opt 4096 65518:9d14\n" },
		{ "local set 0xffee {protocol}", false, NULL, "opt 4096 65518:756470\n" },
		{ "local set 0xffee {server_port}", false, NULL, "opt 4096 65518:0035\n" },
		{ "local set 0xffee {server_ip}", false, "192.0.2.7:40212",
		  "opt 4096 65518:c0000235\n" },
		{ "local set 0xffee {test/none}", false, NULL, "question example.org. IN A\n" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char rule[128];
		snprintf(rule, sizeof(rule), "rewrite edns0 %s", rows[i].rules);
		struct fake *f = start(rule, "template IN A . {\n}\n");
		bool v6 = rows[i].client != NULL && rows[i].client[0] == '[';
		struct fake_ask ask = {
			.name = "example.org.",
			.type = "A",
			.client = rows[i].client,
			.local = v6 ? "[2001:db8::35]:53" : "192.0.2.53:53",
			.udp_size = rows[i].sends ? 1232 : 0,
			.options = rows[i].sends ? local : NULL,
			.options_n = rows[i].sends ? sizeof(local) : 0,
		};
		expect(f, &ask, rows[i].want);
		fake_free(f);
	}
}

/* The prefix is cut to its bits, in as few bytes as those need. */
static void tells_the_clients_network(void **state)
{
	(void)state;
	static const struct {
		const char *bits, *client, *want;
	} rows[] = {
		{ "24 56", "198.51.100.7:1", "opt 4096 8:00011800c63364\n" },
		{ "32 56", "198.51.100.7:1", "opt 4096 8:00012000c6336407\n" },
		{ "0 56", "198.51.100.7:1", "opt 4096 8:00010000\n" },
		{ "13 56", "198.51.100.7:1", "opt 4096 8:00010d00c630\n" },
		{ "24 56", "[2001:db8:1:2:3::7]:1", "opt 4096 8:0002380020010db8000100\n" },
		{ "24 128", "[2001:db8:1:2:3::7]:1",
		  "opt 4096 8:0002800020010db8000100020003000000000007\n" },
		{ "24 0", "[2001:db8:1:2:3::7]:1", "opt 4096 8:00020000\n" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char rules[128];
		snprintf(rules, sizeof(rules),
			 "rewrite continue edns0 local unset 8\nrewrite edns0 subnet set %s",
			 rows[i].bits);
		struct fake *f = start(rules, "template IN A . {\n}\n");
		bool v6 = rows[i].client[0] == '[';
		expect(f,
		       &(struct fake_ask){ .name = "x.",
					   .type = "A",
					   .client = rows[i].client,
					   .local = v6 ? "[2001:db8::35]:53" : NULL },
		       rows[i].want);
		fake_free(f);
	}
}

static void failures_are_told(void **state)
{
	(void)state;
	struct fake *f = start("rewrite name exact a.example b..example\n"
			       "rewrite name suffix .old. .new. answer auto",
			       "template IN A new {\n match never\n}\n");
	expect(f, &(struct fake_ask){ .name = "A.example.", .type = "A" }, "SERVFAIL qr rd\n");
	assert_non_null(
		strstr(fake_log(f), "2 a.example. A: invalid name after rewrite: b..example."));
	/* A reply that rewrite changed is logged with the code 0, and by the name of the query. */
	expect(f, &(struct fake_ask){ .name = "x.old.", .type = "TXT" }, "SERVFAIL qr rd\n");
	assert_non_null(
		strstr(fake_log(f), "] plugin/errors: 0 x.new. TXT: plugin/template: no next"));
	expect(f, &(struct fake_ask){ .name = "x.", .type = "TXT" }, "SERVFAIL qr rd\n");
	assert_non_null(strstr(fake_log(f), "] plugin/errors: 2 x. TXT: plugin/template: no next"));
	fake_free(f);
}

/* cname_target_test.go: nine look-ups, and the tenth reply is taken as it is. */
static void a_cname_loop_ends(void **state)
{
	(void)state;
	struct fake *f = start("rewrite cname loop.internal target.internal",
			       "template IN A victim.internal target.internal {\n answer \"{{ "
			       ".Name }} 5 CNAME loop.internal.\"\n"
			       " answer \"loop.internal. 5 A 192.0.2.1\"\n}\n");
	const char *got =
		fake_ask(f, &(struct fake_ask){ .name = "victim.internal.", .type = "A" });
	assert_non_null(got);
	unsigned n = 0;
	for (const char *p = got; (p = strstr(p, "CNAME target.internal.")) != NULL; p++)
		n++;
	assert_int_equal(n, 9);
	assert_non_null(strstr(got, "answer target.internal. 5 IN CNAME loop.internal.\n"
				    "answer loop.internal. 5 IN A 192.0.2.1\n"));
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* A pattern on which PCRE2 gives up matches, or not, in the question and in the reply. */
static void costly_patterns_match(void **state)
{
	(void)state;
#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	struct fake *f = start("rewrite name regex ^(a+)+[bc][.]$ x.{1}.test\n"
			       "rewrite name suffix .reply. .x. answer name ^(a+)+[bc][.]$ y.test.",
			       "template IN A x {\n answer \"" LONG "b. 5 A 192.0.2.1\"\n}\n"
			       "template IN A test {\n rcode NXDOMAIN\n}\n"
			       "template IN A . {\n rcode NOTAUTH\n}\n");
	expect(f, &(struct fake_ask){ .name = LONG "c.", .type = "A" }, "NXDOMAIN");
	expect(f, &(struct fake_ask){ .name = LONG "d.", .type = "A" }, "NOTAUTH");
	const char *got = fake_ask(f, &(struct fake_ask){ .name = "q.reply.", .type = "A" });
	assert_non_null(strstr(got, "answer y.test. 5 IN A 192.0.2.1"));
#undef LONG
	fake_free(f);
}

/* Rules that all apply: the query's memory is bounded, and what does not fit is SERVFAIL. */
static void many_rules(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_adds(&b, ". {\n");
	for (int i = 0; i < 20000; i++)
		strbuf_adds(&b, "rewrite continue name prefix a a answer auto\n");
	strbuf_adds(&b, ECHO "}\n");
	struct fake *f = fake_new(b.s);
	assert_non_null(f);
	const char *got = fake_ask(f, &(struct fake_ask){ .name = "b.example.", .type = "A" });
	assert_non_null(got);
	assert_non_null(strstr(got, "answer b.example."));
	got = fake_ask(f, &(struct fake_ask){ .name = "a.example.", .type = "A" });
	assert_non_null(got);
	assert_non_null(strstr(got, "SERVFAIL"));
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

static void refuse(const char *head, size_t n, const char *unit, const char *tail, const char *want)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_addf(&b, ". {\n%s", head);
	for (size_t i = 0; i < n; i++)
		strbuf_adds(&b, unit);
	strbuf_addf(&b, "%s\n}\n", tail);
	assert_null(fake_new(b.s));
	if (strstr(fake_error(), want) == NULL)
		fail_msg("got '%s', not '%s'", fake_error(), want);
}

static void has_limits(void **state)
{
	(void)state;
	static const char *const heads[] = { "rewrite name regex ", "rewrite ttl regex ",
					     "rewrite rcode regex ", "rewrite cname regex " };
	static const char *const tails[] = { " x", " 300", " SERVFAIL NXDOMAIN", " x" };
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		refuse(heads[i], REGEX_PATTERN_MAX + 1, "a", tails[i],
		       "regex pattern too long: 10001 > 10000");
	refuse("rewrite name regex ", QUERY_REGEX_GROUPS + 1, "()", " x",
	       "regex with more than 128 groups");
	refuse("rewrite edns0 local set 1 ", UINT16_MAX + 1, "a", "", "more than 65535 bytes");
}

static void errors_have_a_place(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *want;
	} rows[] = {
		{ "rewrite", "Corefile:2:1: rewrite: expected a rule" },
		{ "rewrite foo x", "Corefile:2:9: rewrite: expected name, type, class" },
		{ "rewrite stop {\n answer auto\n}", "Corefile:3:2: answer rules must follow" },
		{ "rewrite name regex (a b", "Corefile:2:20: invalid regex '(a'" },
		{ "rewrite name regex (a) {1}{2}", "Corefile:2:20: '{1}{2}' uses more groups" },
		{ "rewrite name regex a {b metadata", "Corefile:2:22: a '{' without its '}'" },
		{ "rewrite name regex (a) {2}{a/b} metadata",
		  "Corefile:2:20: the pattern '(a)' has no" },
		{ "rewrite name prefix a b metadata", "Corefile:2:25: metadata: only for regex" },
		{ "rewrite name prefix a b answer auto name a b", "Corefile:2:9: answer auto and" },
		{ "rewrite ttl a 5-1", "Corefile:2:15: ttl: expected seconds" },
		{ "rewrite rcode a 0 24", "Corefile:2:19: rcode: expected a name" },
		{ "rewrite cname foo a b", "Corefile:2:15: cname: expected exact" },
		{ "rewrite type A FOO", "Corefile:2:16: expected a record type" },
		{ "rewrite edns0 local set 65536 a",
		  "Corefile:2:25: edns0: expected an option code" },
		{ "rewrite edns0 local set 1 0xabc",
		  "Corefile:2:27: edns0: expected pairs of hex" },
		{ "rewrite edns0 local set 1 {x}", "Corefile:2:27: edns0: '{x}' is neither" },
		{ "rewrite edns0 subnet set 33 1",
		  "Corefile:2:26: edns0 subnet: expected a prefix" },
		{ "rewrite name a b {\n answer auto\n}",
		  "Corefile:2:1: rewrite: unexpected block" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		refuse(rows[i].rules, 0, "", "", rows[i].want);
}

static void survives_a_reload(void **state)
{
	(void)state;
	struct fake *f = start("rewrite name regex ^a\\. b.example", ECHO);
	expect(f, &(struct fake_ask){ .name = "a.", .type = "A" }, "\"b.example. IN A\"");
	assert_false(fake_reload(f, ". {\nrewrite name regex ( b\n" ECHO "}\n"));
	expect(f, &(struct fake_ask){ .name = "a.", .type = "A" }, "\"b.example. IN A\"");
	assert_true(fake_reload(f, ". {\nrewrite name regex ^a\\. c.example\n" ECHO "}\n"));
	expect(f, &(struct fake_ask){ .name = "a.", .type = "A" }, "\"c.example. IN A\"");
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_and_puts_back),
		cmocka_unit_test(changes_replies),
		cmocka_unit_test(changes_options),
		cmocka_unit_test(tells_the_clients_network),
		cmocka_unit_test(failures_are_told),
		cmocka_unit_test(a_cname_loop_ends),
		cmocka_unit_test(costly_patterns_match),
		cmocka_unit_test(many_rules),
		cmocka_unit_test(has_limits),
		cmocka_unit_test(errors_have_a_place),
		cmocka_unit_test(survives_a_reload),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
