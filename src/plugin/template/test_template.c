/* SPDX-License-Identifier: GPL-3.0-or-later */
/* template: which rule answers, what records it makes, what fails and how, on the real chain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "dns/request.h"
#include "testing/fake_server.h"

/* One block for everything: its body, the question, the reply after the question line. */
struct row {
	const char *body;
	const char *name, *type;
	const char *reply;
};

static const char *ask(struct fake *f, const char *name, const char *type)
{
	return fake_ask(f, &(struct fake_ask){ .name = name, .type = type });
}

static struct fake *server(const char *body)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, ". {\n%s\n}\n", body);
	struct fake *f = fake_new(text.s);
	if (f == NULL)
		fail_msg("%s\n%s", fake_error(), text.s);
	return f;
}

/* The reply's lines but the question's. */
static const char *without_question(const char *reply)
{
	static char out[65536];
	const char *q = strstr(reply, "question ");
	const char *rest = q != NULL ? strchr(q, '\n') + 1 : "";
	snprintf(out, sizeof(out), "%.*s%s", q != NULL ? (int)(q - reply) : 0, reply, rest);
	return out;
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct fake *f = server(rows[i].body);
		const char *reply = ask(f, rows[i].name, rows[i].type);
		if (reply == NULL)
			fail_msg("no reply: %s", rows[i].body);
		if (strcmp(without_question(reply), rows[i].reply) != 0)
			fail_msg("%s\nexpected %sgot %s", rows[i].body, rows[i].reply, reply);
		fake_free(f);
	}
}

#define SERVFAIL "SERVFAIL qr rd\n"
#define EMPTY	 "NOERROR qr aa rd\n"

static void decides(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "template IN AAAA", "a.example.", "AAAA", EMPTY },
		{ "template IN AAAA", "a.example.", "A", SERVFAIL },
		{ "template IN ANY", "a.example.", "A", EMPTY },
		{ "template IN AAAA", "a.example.", "ANY", EMPTY },
		{ "template CH A", "a.example.", "A", SERVFAIL },
		{ "template IN A other.\nwhoami", "a.example.", "A",
		  EMPTY "additional a.example. 0 IN A 192.0.2.1\n"
			"additional _udp.a.example. 0 IN SRV 0 0 5353 .\n" },
		/* no pattern matches */
		{ "template IN A {\nmatch ^b\n}", "a.example.", "A", SERVFAIL },
		{ "template IN A {\nmatch ^b\nfallthrough\n}\ntemplate IN A", "a.example.", "A",
		  EMPTY },
		{ "template IN A {\nmatch ^b\nfallthrough x.\n}\ntemplate IN A", "a.example.", "A",
		  SERVFAIL },
		{ "template IN A {\nmatch ^b\nfallthrough x. example.\n}\ntemplate IN A",
		  "a.example.", "A", EMPTY },
		{ "template IN A {\nmatch ^b ^c\nmatch ^a\n}", "a.example.", "A", EMPTY },
		/* conditions */
		{ "template IN A {\nexpr name() == 'b.'\n}", "a.example.", "A", SERVFAIL },
		{ "template IN A {\nexpr 1\nfallthrough\n}\ntemplate IN A", "a.example.", "A",
		  EMPTY },
		{ "template IN A {\nexpr int('x') == 1\nfallthrough\n}\ntemplate IN A",
		  "a.example.", "A", SERVFAIL },
		{ "template IN A {\nvar x int(name())\nfallthrough\n}\ntemplate IN A", "a.example.",
		  "A", SERVFAIL },
		/* exceptions */
		{ "template IN A {\nexcept example x.\n}", "a.example.", "A", SERVFAIL },
		{ "template IN A {\nexcept b.example x.\n}", "a.example.", "A", EMPTY },
		{ "template IN A {\nexcept example\n}\ntemplate IN A {\nrcode NXDOMAIN\n}",
		  "a.example.", "A", "NXDOMAIN qr aa rd\n" },
		/* codes */
		{ "template IN A {\nrcode NXDOMAIN\nrcode NOTAUTH\n}", "a.example.", "A",
		  "NOTAUTH qr aa rd\n" },
		{ "template IN A {\nrcode SERVFAIL\nanswer \"a. A 192.0.2.1\"\nederror 4\n}",
		  "a.example.", "A", SERVFAIL },
		{ "template IN A {\nrcode REFUSED\nanswer \"a. A 192.0.2.1\"\n}", "a.example.", "A",
		  "REFUSED qr aa rd\nanswer a. 3600 IN A 192.0.2.1\n" },
		{ "template IN A {\nrcode BADCOOKIE\n}", "a.example.", "A", SERVFAIL },
	};
	check_rows(rows, ARRAY_LEN(rows));
}

#define RECORD(tmpl, rr)                                                                           \
	{                                                                                          \
		"template ANY ANY {\nmatch ^(?P<x>[^.]*)-(?P<y>[^.]*)[.]\nanswer \"" tmpl "\"\n}", \
			"7-F.Example.", "A", EMPTY "answer " rr "\n"                               \
	}
#define FAILS(tmpl)                                                                                \
	{                                                                                          \
		"template ANY ANY {\nmatch ^(?P<x>[^.]*)-(?P<y>[^.]*)[.]\nanswer \"" tmpl "\"\n}", \
			"7-F.Example.", "A", SERVFAIL                                              \
	}

/* All forms a record template may be compiled to give the same. */
static void makes_records(void **state)
{
	(void)state;
	static const struct row rows[] = {
		RECORD("{{ .Name }} 60 IN A 192.0.2.1", "7-f.example. 60 IN A 192.0.2.1"),
		RECORD("{{ .Name }}\t60 A 192.0.2.1 ; c", "7-f.example. 60 IN A 192.0.2.1"),
		RECORD("{{ .Name }} AAAA 2001:db8::1", "7-f.example. 3600 IN AAAA 2001:db8::1"),
		RECORD("x.{{ .Name }} 60 IN A 192.0.2.1", "x.7-f.example. 60 IN A 192.0.2.1"),
		RECORD("fixed. 60 IN A 192.0.2.1", "fixed. 60 IN A 192.0.2.1"),
		RECORD("{{ .Name }} 60 IN A 192.0.2.{{ .Group.x }}",
		       "7-f.example. 60 IN A 192.0.2.7"),
		RECORD("{{ .Name }} 60 IN A {{ .Group.x }}.0.2.1", "7-f.example. 60 IN A 7.0.2.1"),
		RECORD("{{ .Name }} 60 IN AAAA 2001:db8::{{ .Group.y }}",
		       "7-f.example. 60 IN AAAA 2001:db8::f"),
		RECORD("{{ .Name }} 60 IN AAAA ::ffff:1.2.3.{{ .Group.x }}",
		       "7-f.example. 60 IN AAAA ::ffff:1.2.3.7"),
		RECORD("{{ .Name }} 60 IN A ( 192.0.2.{{ .Group.x }} )",
		       "7-f.example. 60 IN A 192.0.2.7"),
		RECORD("{{ .Name }} 6{{ .Group.x }} IN A 192.0.2.1",
		       "7-f.example. 67 IN A 192.0.2.1"),
		RECORD("{{ .Name }} 60 {{ .Class }} {{ .Type }} {{ .Remote }}",
		       "7-f.example. 60 IN A 192.0.2.1"),
		RECORD("{{ .Zone }} 60 MX 10 {{ .Group.y }}.{{ .Name }}",
		       ". 60 IN MX 10 f.7-f.example."),
		RECORD("{{ .Name }} 60 TXT \\\"{{ .Regex }}\\\"",
		       "7-f.example. 60 IN TXT \"^(?P<x>[^.]*)-(?P<y>[^.]*)[.]\""),
		RECORD("{{ index .Match 2 }}. 60 TXT {{ .Group.z }}",
		       "f. 60 IN TXT \"<no\" \"value>\""),
		RECORD("{{ .Name }} 60 TXT {{ len .Group }}", "7-f.example. 60 IN TXT \"5\""),
		RECORD("{{ .Question.Name }} 60 TXT x", "7-F.Example. 60 IN TXT \"x\""),
		RECORD("{{ .Name }} {{ parseInt .Group.x 10 8 }} TXT {{ .Message.RecursionDesired "
		       "}}",
		       "7-f.example. 7 IN TXT \"true\""),
		FAILS("{{ .Name }} 60 IN A 192.0.2.{{ .Group.y }}"),
		FAILS("{{ .Name }} 60 IN A 192.0.2.0{{ .Group.x }}"),
		FAILS("{{ .Name }} 60 IN A {{ .Group.z }}"),
		FAILS("{{ .Name }} 60 IN A 192.0.2.1 {{ .Group.x }}"),
		FAILS("{{ .Name }} 60 IN A 192.0.2.1 x"),
		FAILS("{{ .Name }}"),
		FAILS(""),
		FAILS("; {{ .Name }}"),
		FAILS("{{ if false }}x{{ end }}"),
		FAILS("{{ index .Match 3 }}"),
	};
	check_rows(rows, ARRAY_LEN(rows));
}

static void uses_all_sections_and_variables(void **state)
{
	(void)state;
	struct fake *f =
		server("template IN A a.example {\n"
		       "match ^(?P<n>[0-9]+)[.] ^(?P<w>[a-z]+)[.]\n"
		       "authority \"example. NS ns.example.\"\n"
		       "additional \"ns.example. A 192.0.2.{{ .Var.n }}\"\n"
		       "var n int(group('n')) + 1\n"
		       "var list [n, 'x', nil, 2.5, {'k': n}]\n"
		       "expr n > 1\n"
		       "answer \"{{ .Zone }} TXT \\\"{{ .Var.list }} {{ len .Var }}\\\"\"\n"
		       "answer \"{{ .Name }} TXT {{ range $k, $v := .Var }}{{ $k }}{{ end }}\"\n"
		       "ederror 21 why\n}");
	assert_string_equal(without_question(ask(f, "5.a.example.", "A")),
			    "NOERROR qr aa rd\n"
			    "answer a.example. 3600 IN TXT \"[6 x <nil> 2.5 map[k:6]] 2\"\n"
			    "answer 5.a.example. 3600 IN TXT \"listn\"\n"
			    "authority example. 3600 IN NS ns.example.\n"
			    "additional ns.example. 3600 IN A 192.0.2.6\n"
			    "opt 4096 do 15:0015776879\n");
	/* int('') fails */
	assert_string_equal(without_question(ask(f, "x.a.example.", "A")), SERVFAIL);
	assert_string_equal(without_question(ask(f, "0.a.example.", "A")), SERVFAIL);
	fake_free(f);
}

static void looks_targets_up(void **state)
{
	(void)state;
	struct fake *f = fake_new(
		". {\n"
		"template IN ANY loop {\n answer \"{{ .Name }} 1 CNAME x.{{ .Name }}\"\n}\n"
		"template IN ANY . {\n"
		"answer \"{{ .Name }} 1 CNAME t.example.\" \"{{ .Name }} 2 TXT x\"\n"
		"answer \"{{ .Name }} 3 CNAME none.example.\"\n}\n}\n"
		"example. {\n"
		"template IN A t.example {\nanswer \"{{ .Name }} 5 A 192.0.2.5\"\n"
		"additional \"extra. A 192.0.2.6\"\n}\n}\n");
	assert_non_null(f);
	assert_string_equal(without_question(ask(f, "a.test.", "A")),
			    "NOERROR qr aa rd\n"
			    "answer a.test. 1 IN CNAME t.example.\n"
			    "answer t.example. 5 IN A 192.0.2.5\n"
			    "answer a.test. 2 IN TXT \"x\"\n"
			    "answer a.test. 3 IN CNAME none.example.\n");
	assert_string_equal(without_question(ask(f, "a.test.", "TXT")),
			    "NOERROR qr aa rd\n"
			    "answer a.test. 1 IN CNAME t.example.\n"
			    "answer a.test. 2 IN TXT \"x\"\n"
			    "answer a.test. 3 IN CNAME none.example.\n");
	/* a chain without end stops at the limit of sub-queries */
	const char *reply = ask(f, "loop.", "A");
	size_t n = 0;
	for (const char *p = reply; (p = strstr(p, "\nanswer ")) != NULL; p++)
		n++;
	assert_int_equal(n, 11);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

static void counts_and_reports(void **state)
{
	(void)state;
	struct fake *f = server("errors\n"
				"template IN TXT count {\nanswer \"{{.Name}} x TXT y\"\n}\n"
				"template IN MX count {\nanswer \"{{ index .Match 7 }}\"\n}\n"
				"template IN ANY count");
	static const char *const asked[] = {
		"TXT", "TXT", "MX", "A", "A", "A", "TYPE998", "TYPE999"
	};
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		assert_non_null(ask(f, "a.count.", asked[i]));
#define SERIES(name, section, tmpl, type)                                              \
	"coredns_template_" name "{class=\"IN\"," section "server=\"dns://:53\"," tmpl \
	"type=\"" type "\",view=\"\",zone=\"count.\"}"
	static const struct {
		const char *line;
		double value;
	} want[] = {
		{ SERIES("matches_total", "", "", "TXT"), 2 },
		{ SERIES("matches_total", "", "", "A"), 3 },
		{ SERIES("matches_total", "", "", ""), 2 },
		{ SERIES("rr_failures_total", "section=\"answer\",",
			 "template=\"{{.Name}} x TXT y\",", "TXT"),
		  2 },
		{ SERIES("template_failures_total", "section=\"answer\",",
			 "template=\"{{index .Match 7}}\",", "MX"),
		  1 },
	};
#define OURS(name, type)                                                                      \
	"fairlead_dns_template_" name "_total{class=\"IN\",server=\"dns://:53\",type=\"" type \
	"\",view=\"\",zone=\"count.\"}"
	assert_true(fake_metric(f, OURS("answers", "A")) == 3); /* OP-T9 */
	assert_true(fake_metric(f, OURS("errors", "TXT")) == 2);
	assert_true(fake_metric(f, OURS("errors", "MX")) == 1);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		if (fake_metric(f, want[i].line) != want[i].value)
			fail_msg("%s is %g", want[i].line, fake_metric(f, want[i].line));
	}
	const char *log = fake_log(f);
	assert_non_null(strstr(log, "[ERROR] plugin/errors: 2 a.count. TXT: dns: "));
	assert_non_null(strstr(log, "[ERROR] plugin/errors: 2 a.count. MX: template: answer:1:"));
	assert_non_null(strstr(log, " (template error)\n"));
	fake_free(f);
}

/* Names on which PCRE2 gives up are answered all the same, with the groups that Go would find. */
static void costly_patterns_match(void **state)
{
	(void)state;
	struct fake *f = server("template IN TXT {\nmatch ^(a+)+(b.|c)$|^(a*)d.$\n"
				"answer \"{{ .Name }} 60 TXT {{ index .Match 3 }}x\"\n"
				"fallthrough\n}\ntemplate IN TXT {\nrcode NXDOMAIN\n}");
	assert_non_null(strstr(fake_log(f), "is costly"));
#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	assert_non_null(strstr(ask(f, LONG "d.", "TXT"), LONG "d. 60 IN TXT \"" LONG "x\""));
	assert_non_null(strstr(ask(f, LONG "e.", "TXT"), "NXDOMAIN"));
#undef LONG
	fake_free(f);
}

/* A record may be as long as a message allows; what does not fit into memory is a failure. */
static void fills_64_kilobytes(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
	strbuf_adds(&body, "template IN TXT {\nanswer \"{{ .Name }} TXT {{ range 240 }}"
			   "{{ printf `%0250d` 1 }} {{ end }}\"\n}\n"
			   "template IN A {\nanswer \"{{ .Name }} TXT {{ range 300 }}"
			   "{{ printf `%0250d` 1 }} {{ end }}\"\n}\n");
	struct fake *f = server(body.s);
	const char *reply = ask(f, "a.example.", "TXT");
	assert_non_null(strstr(reply, "NOERROR qr aa tc rd"));
	assert_string_equal(without_question(ask(f, "a.example.", "A")), SERVFAIL);
	fake_free(f);
}

static void refuses(void **state)
{
	(void)state;
	static const struct {
		const char *body, *error;
	} rows[] = {
		{ "template IN", "Corefile:2:10: template: expected a class and a type" },
		{ "template in A",
		  "Corefile:2:10: invalid query class 'in', expected one such as IN or ANY" },
		{ "template IN TYPE1",
		  "Corefile:2:13: invalid record type 'TYPE1', expected one such as AAAA or ANY" },
		{ "template IN A {\nmatch (\n}", NULL },
		{ "template IN A {\nanswer \"{{ .Grup.d }}\"\n}",
		  "Corefile:3:12: could not compile template: can't evaluate field Grup in type "
		  "*template.templateData" },
		{ "template IN A {\nanswer \"{{ .Message.Answer }}\"\n}", NULL },
		{ "template IN A {\nrcode nxdomain\n}",
		  "Corefile:3:7: unknown rcode 'nxdomain', expected a name such as NXDOMAIN" },
		{ "template IN A {\nederror 65536\n}", NULL },
		{ "template IN A {\nvar 1a 1\n}", "Corefile:3:5: invalid variable name \"1a\"" },
		{ "template IN A {\nvar name 1\n}",
		  "Corefile:3:5: variable name \"name\" is reserved" },
		{ "template IN A {\nvar len 1\n}",
		  "Corefile:3:5: variable name \"len\" is reserved" },
		{ "template IN A {\nvar a 1\nvar a 2\n}",
		  "Corefile:4:5: variable name \"a\" is reserved" },
		{ "template IN A {\nvar a b\nvar b 2\n}",
		  "Corefile:3:7: could not compile expression: a, unknown name b (1:1)" },
		{ "template IN A {\nexpr\n}", NULL },
		{ "template IN A {\nexcept a..b\n}", NULL },
		{ "template IN A {\nnothing\n}", NULL },
		{ "template IN A {\nanswer \"{{ .Name }} A 1.2.3.4\"\n}\nwhoami x", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[512];
		snprintf(text, sizeof(text), ". {\n%s\n}\n", rows[i].body);
		if (fake_new(text) != NULL)
			fail_msg("not refused: %s", rows[i].body);
		assert_true(strncmp(fake_error(), "Corefile:", 9) == 0);
		if (rows[i].error != NULL)
			assert_string_equal(fake_error(), rows[i].error);
	}
}

static void refuses_more_groups_than_kept(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, ". {\ntemplate IN A {\nmatch ");
	for (int i = 0; i < 129; i++)
		strbuf_adds(&text, "(a)");
	strbuf_adds(&text, "\n}\n}\n");
	assert_null(fake_new(text.s));
	assert_string_equal(fake_error(), "Corefile:3:7: regex with more than 128 groups");
}

/* Zones that are none are passed over, as in CoreDNS. */
static void passes_over_bad_zones(void **state)
{
	(void)state;
	struct fake *f = server("template IN A a..b example");
	assert_non_null(strstr(fake_log(f), "is ignored"));
	assert_string_equal(without_question(ask(f, "a.example.", "A")), EMPTY);
	assert_string_equal(without_question(ask(f, "a.test.", "A")), SERVFAIL);
	fake_free(f);
}

static void serves_ten_thousand_templates(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, ". {\n");
	for (unsigned i = 0; i < 10000; i++)
		strbuf_addf(
			&text,
			"template IN A z%u.example {\nanswer \"{{ .Name }} %u A 192.0.2.1\"\n}\n",
			i, i);
	strbuf_adds(&text, "template IN TXT");
	for (unsigned i = 0; i < 10000; i++)
		strbuf_addf(&text, " y%u.example", i);
	strbuf_adds(&text, " {\nanswer \"{{ .Zone }} TXT x\"\n}\n}\n");
	struct fake *f = fake_new(text.s);
	if (f == NULL)
		fail_msg("%s", fake_error());
	assert_string_equal(without_question(ask(f, "a.z9999.example.", "A")),
			    EMPTY "answer a.z9999.example. 9999 IN A 192.0.2.1\n");
	assert_string_equal(without_question(ask(f, "a.z0.example.", "A")),
			    EMPTY "answer a.z0.example. 0 IN A 192.0.2.1\n");
	assert_string_equal(without_question(ask(f, "a.y7777.example.", "TXT")),
			    EMPTY "answer y7777.example. 3600 IN TXT \"x\"\n");
	assert_string_equal(without_question(ask(f, "a.example.", "A")), SERVFAIL);
	fake_free(f);
}

/* OP-T23: what cannot match in a block is not kept, and nobody can tell; names that are rewritten
 * may lie anywhere. */
static void zones_of_other_blocks(void **state)
{
	(void)state;
	static const char text[] =
		"a.example b.example {\n"
		"template IN A other.example x.a.example {\n answer \"{{ .Name }} 60 IN A "
		"192.0.2.1\"\n}\n"
		"template IN A example {\n answer \"{{ .Name }} 60 IN A 192.0.2.2\"\n}\n"
		"}\n"
		"c.example {\n"
		"template IN ANY other.example {\n answer \"{{ .Name }} 60 IN A 192.0.2.3\"\n}\n"
		"whoami\n}\n"
		"d.example {\n"
		"rewrite name suffix d.example other.example answer auto\n"
		"template IN A other.example {\n answer \"{{ .Name }} 60 IN A 192.0.2.4\"\n}\n"
		"}\n";
	static const struct {
		const char *name, *want;
	} asks[] = {
		{ "x.a.example.", "192.0.2.1" },     { "y.x.a.example.", "192.0.2.1" },
		{ "a.example.", "192.0.2.2" },	     { "b.example.", "192.0.2.2" },
		{ "c.example.", "_udp.c.example." }, { "w.d.example.", "192.0.2.4" },
	};
	struct fake *f = fake_new(text);
	if (f == NULL)
		fail_msg("%s", fake_error());
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		const char *reply = ask(f, asks[i].name, "A");
		if (reply == NULL || strstr(reply, asks[i].want) == NULL)
			fail_msg("%s: %s", asks[i].name, reply);
	}
	fake_free(f);
}

/* Rules by type: low ones, one that is not, ANY on either side. */
static void types(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "template IN CAA . {\n rcode NXDOMAIN\n}", "a.example.", "CAA",
		  "NXDOMAIN qr aa rd\n" },
		{ "template IN HTTPS . {\n rcode NXDOMAIN\n}", "a.example.", "HTTPS",
		  "NXDOMAIN qr aa rd\n" },
		{ "template IN AAAA . {\n rcode NXDOMAIN\n}", "a.example.", "ANY",
		  "NXDOMAIN qr aa rd\n" },
		{ "template IN ANY . {\n rcode NXDOMAIN\n}", "a.example.", "CAA",
		  "NXDOMAIN qr aa rd\n" },
		{ "template IN AAAA . {\n rcode NXDOMAIN\n}\nwhoami", "a.example.", "A", NULL },
	};
	check_rows(rows, ARRAY_LEN(rows) - 1);
	struct fake *f = server(rows[4].body);
	assert_null(strstr(ask(f, "a.example.", "A"), "NXDOMAIN"));
	assert_null(strstr(ask(f, "a.example.", "CAA"), "NXDOMAIN"));
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decides),
		cmocka_unit_test(makes_records),
		cmocka_unit_test(uses_all_sections_and_variables),
		cmocka_unit_test(looks_targets_up),
		cmocka_unit_test(counts_and_reports),
		cmocka_unit_test(costly_patterns_match),
		cmocka_unit_test(fills_64_kilobytes),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_more_groups_than_kept),
		cmocka_unit_test(passes_over_bad_zones),
		cmocka_unit_test(zones_of_other_blocks),
		cmocka_unit_test(types),
		cmocka_unit_test(serves_ten_thousand_templates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
