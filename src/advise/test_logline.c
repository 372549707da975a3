/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of the log plugin: the formats that are read, and what is no such line. */
#include "advise/logline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

#define ASKED(name, type) "[INFO] 10.0.0.7:4711 - 21 \"" type " IN " name " udp 40 false 512\""

/* CLIENT NAME TYPE OUTCOME NAMESPACE, or "-". */
static const char *parse(const char *text)
{
	static char out[512];
	CLEANUP(strbuf_done) struct strbuf scratch = STRBUF_INIT;
	struct advise_line line;
	if (advise_line_parse(slice_of(text), &scratch, &line) < 0)
		return "-";
	snprintf(out, sizeof(out), "%.*s '%.*s' %d %d %s%.*s", (int)line.client.n, line.client.p,
		 (int)line.name.n, line.name.p, (int)line.type, (int)line.outcome,
		 line.in_class_in ? "" : "class ", (int)line.ns.n, line.ns.n > 0 ? line.ns.p : "");
	return out;
}

static void formats(void **state)
{
	(void)state;
	static const struct {
		const char *line, *want;
	} rows[] = {
		{ ASKED("www.example.org.", "A") " NOERROR qr,aa,rd 106 0.000080791s",
		  "10.0.0.7 'www.example.org' 0 4 " },
		{ ASKED("www.example.org.", "AAAA") " NXDOMAIN qr,rd 106 0.1s \"0\"",
		  "10.0.0.7 'www.example.org' 1 8 " },
		{ ASKED(".", "NS") " SERVFAIL qr,rd 17 2s", "10.0.0.7 '' 2 16 " },
		{ ASKED("a.", "A") " - - 0 2s", "10.0.0.7 'a' 0 32 " },
		{ ASKED("a.", "A") " REFUSED qr 19 2s", "10.0.0.7 'a' 0 32 " },
		{ ASKED("a.", "A") " NOERROR qr 100 2s answer=NODATA namespace=shop",
		  "10.0.0.7 'a' 0 2 shop" },
		{ ASKED("a.", "A") " NOERROR qr 100 2s namespace=- answer=NOERROR",
		  "10.0.0.7 'a' 0 1 " },
		{ ASKED("a.", "A") " NOERROR qr 100 2s answer=DELEGATION x=y",
		  "10.0.0.7 'a' 0 4 " },
		/* without room for a record: 12 + 3 + 4, and 11 for OPT */
		{ ASKED("a.", "A") " NOERROR qr 19 2s", "10.0.0.7 'a' 0 2 " },
		{ ASKED("a.", "A") " NOERROR qr 30 2s answer=NOERROR", "10.0.0.7 'a' 0 2 " },
		{ ASKED("a.", "A") " NOERROR qr 31 2s", "10.0.0.7 'a' 0 4 " },
		{ "2026-11-16T10:00:00Z stdout F [INFO] [2001:db8::7]:53000 - 1 "
		  "\"A IN a.b. tcp 40 true 65535\" NXDOMAIN qr 10 0s\r",
		  "[2001:db8::7] 'a.b' 0 8 " },
		{ "10.0.0.7:1 - 2 \"A CH a\\ b\\\".c. udp 40 false 512\" NXDOMAIN qr 10 0s",
		  "10.0.0.7 'a\\ b\\\".c' 0 8 class " },
		{ "{\"time\":\"x\",\"level\":\"info\",\"msg\":\"10.0.0.7:1 - 2 \\\"A IN "
		  "a\\\\\\\".b. udp "
		  "40 false 512\\\" NXDOMAIN qr 10 0s\",\"plugin\":\"log\"}",
		  "10.0.0.7 'a\\\".b' 0 8 " },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(parse(rows[i].line), rows[i].want);
}

static void other_lines(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"",
		"\"",
		".:53",
		"Fairlead-0.1.0",
		"[INFO] plugin/reload: Running configuration SHA512 = 1",
		"[ERROR] plugin/errors: 2 www.example.org. A: no next plugin found",
		"10.0.0.7 - 2 \"A IN a. udp 40 false 512\" NXDOMAIN qr 10 0s",
		":1 - 2 \"A IN a. udp 40 false 512\" NXDOMAIN qr 10 0s",
		"10.0.0.7:x - 2 \"A IN a. udp 40 false 512\" NXDOMAIN qr 10 0s",
		"10.0.0.7:1 + 2 \"A IN a. udp 40 false 512\" NXDOMAIN qr 10 0s",
		"10.0.0.7:1 - x \"A IN a. udp 40 false 512\" NXDOMAIN qr 10 0s",
		"10.0.0.7:1 - 2\"A IN a. udp 40 false 512\" NXDOMAIN qr 10 0s",
		"10.0.0.7:1 - 2 \"A IN a udp 40 false 512\" NXDOMAIN qr 10 0s",
		"10.0.0.7:1 - 2 \"A IN a. sctp 40 false 512\" NXDOMAIN qr 10 0s",
		"10.0.0.7:1 - 2 \"A IN a. udp x false 512\" NXDOMAIN qr 10 0s",
		"10.0.0.7:1 - 2 \"A IN a. udp 40 false 512 NXDOMAIN qr 10 0s",
		"10.0.0.7:1 - 2 \"A IN a. udp 40 false 512\" NXDOMAIN qr 10",
		"10.0.0.7:1 - 2 \"A IN a. udp 40 false 512\" NXDOMAIN qr x 0s",
		"10.0.0.7:1 - 2 \"A IN a. udp 40 false 512\" NXDOMAIN",
		"10.0.0.7:1 - 2 \"A IN a. udp 40 false 512\"",
		"{\"msg\":\"10.0.0.7:1 - 2 \\u0022A IN a. udp 4 false 512\\\" NXDOMAIN qr 1 0s\"}",
		"{\"msg\":\"10.0.0.7:1 - 2 \\",
		"{\"text\":1}",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(parse(rows[i]), "-");
}

/* The client of a line that was cut, or "-". */
static const char *cut_client(const char *text)
{
	static char out[512];
	CLEANUP(strbuf_done) struct strbuf scratch = STRBUF_INIT;
	struct slice client;
	if (!advise_line_is_cut(slice_of(text), &scratch, &client))
		return "-";
	snprintf(out, sizeof(out), "%.*s", (int)client.n, client.p);
	return out;
}

static void cut_lines(void **state)
{
	(void)state;
	static const struct {
		const char *line, *want;
	} rows[] = {
		{ ASKED("a.", "A") " NXDOMAIN qr 10", "10.0.0.7" },
		{ ASKED("a.", "A"), "10.0.0.7" },
		{ "[INFO] 10.0.0.7:4711 - 21 \"A IN www.exam", "10.0.0.7" },
		{ "[INFO] 10.0.0.7:4711 - 21 \"A IN ", "10.0.0.7" },
		{ "[INFO] 10.0.0.7:4711 - 21 \"", "10.0.0.7" },
		{ "[INFO] 10.0.0.7:4711 - 21", "10.0.0.7" },
		{ "[INFO] 10.0.0.7:4711 - ", "10.0.0.7" },
		{ "[2001:db8::7]:53000 - 1 \"AAAA I", "[2001:db8::7]" },
		{ "{\"level\":\"info\",\"msg\":\"10.0.0.7:1 - 2 \\\"A IN a.b. ud", "10.0.0.7" },
		{ "{\"level\":\"info\",\"msg\":\"10.0.0.7:1 - 2 \\", "10.0.0.7" },
		{ "[INFO] 10.0.0.7:47", "-" },
		{ "[INFO] plugin/reload: Running configuration SHA512 = 1", "-" },
		{ "[ERROR] plugin/errors: 2 a. A: read udp 10.0.0.7:53->10.0.0.8:53: i/o timeout",
		  "-" },
		{ "{\"level\":\"info\"", "-" },
		{ "\"", "-" },
		{ "", "-" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(cut_client(rows[i].line), rows[i].want);
}

static void names_of_namespaces(void **state)
{
	(void)state;
	char longest[64];
	memset(longest, 'x', sizeof(longest));
	assert_true(advise_line_is_namespace(SLICE("kube-system")));
	assert_true(advise_line_is_namespace(SLICE("9")));
	assert_true(advise_line_is_namespace((struct slice){ longest, 63 }));
	assert_false(advise_line_is_namespace((struct slice){ longest, 64 }));
	assert_false(advise_line_is_namespace(SLICE("")));
	assert_false(advise_line_is_namespace(SLICE("-a")));
	assert_false(advise_line_is_namespace(SLICE("a-")));
	assert_false(advise_line_is_namespace(SLICE("A")));
	assert_false(advise_line_is_namespace(SLICE("a\0b")));
}

static void limit(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	strbuf_adds(&line, ASKED("a.", "A") " NXDOMAIN qr 19 2s ");
	while (line.n < ADVISE_LINE_MAX)
		strbuf_addc(&line, 'x');
	assert_string_equal(parse(line.s), "10.0.0.7 'a' 0 8 ");
	strbuf_addc(&line, 'x');
	assert_string_equal(parse(line.s), "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),   cmocka_unit_test(other_lines),
		cmocka_unit_test(cut_lines), cmocka_unit_test(names_of_namespaces),
		cmocka_unit_test(limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
