/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log: formats, names, classes and the JSON record. The fake clock stands still within a query, so
 * that durations are 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "dns/request.h"
#include "testing/fake_server.h"

/* What a Corefile with this `log` stanza writes for one question, answered by whoami. */
static const char *logged(const char *stanza, const struct fake_ask *ask)
{
	static char text[8192];
	char corefile[4096];
	snprintf(corefile, sizeof(corefile), ". {\n%s\n whoami\n}\n", stanza);
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	fake_send(f, ask);
	assert_non_null(fake_next(f));
	snprintf(text, sizeof(text), "%s", fake_log(f));
	fake_free(f);
	return text;
}

static const struct fake_ask plain = { .name = "example.org" };

#define LOGGED(stanza, ...) logged(stanza, &(struct fake_ask){ __VA_ARGS__ })

static void writes_the_common_line(void **state)
{
	(void)state;
	assert_string_equal(
		LOGGED("log", .name = "A.Test"),
		"[INFO] 192.0.2.1:5353 - 4660 \"A IN a.test. udp 24 false 512\" NOERROR "
		"qr,aa,rd 76 0s\n");
	assert_string_equal(
		LOGGED("log . {combined}", .client = "[2001:db8::1]:53", .type = "TYPE65300",
		       .local = "[2001:db8::53]:53", .udp_size = 4096, .dnssec_ok = true),
		"[INFO] [2001:db8::1]:53 - 4660 \"TYPE65300 IN example.org. udp 40 true 4096\" "
		"NOERROR qr,aa,rd 103 0s \"0\"\n");
}

static void tells_each_field(void **state)
{
	(void)state;
	assert_string_equal(
		LOGGED("log . \"{name} {type} {class} {proto} {remote} {port} {local} {size} {>id} "
		       "{>opcode} {>do} {>bufsize} {rcode} {rsize} {>rflags} {duration}\"",
		       .name = "a.test", .flags = DNS_FLAG_CD | DNS_FLAG_AD),
		"[INFO] a.test. A IN udp 192.0.2.1 5353 [::] 24 4660 0 false 512 NOERROR 76 "
		"qr,aa,cd 0s\n");
}

static void leaves_what_it_does_not_know(void **state)
{
	(void)state;
	assert_string_equal(
		LOGGED("log . \"} { {name} } {unknown} {>unknown} {NAME} {\"", .name = "a.test"),
		"[INFO] } { a.test. } {unknown} {>unknown} {NAME} {\n");
	assert_string_equal(logged("log . \"{/a/b} {/} {/log/class} {/log/type}\"", &plain),
			    "[INFO] - - - -\n");
	assert_string_equal(logged("log . \"<{common}>{\"", &plain),
			    "[INFO] <192.0.2.1:5353 - 4660 \"A IN example.org. udp 29 false 512\" "
			    "NOERROR qr,aa,rd 91 0s>{\n");
}

static void selects_by_name_first_rule_only(void **state)
{
	static const char rules[] = "log a.test \"first {name}\"\nlog test \"second {name}\" {\n"
				    " class error\n}\nlog . \"third {name}\"";
	(void)state;
	assert_string_equal(LOGGED(rules, .name = "x.A.test"), "[INFO] first x.a.test.\n");
	assert_string_equal(LOGGED(rules, .name = "b.test"), "");
	assert_string_equal(LOGGED(rules, .name = "atest"), "[INFO] third atest.\n");
	/* One word is a name, even with braces; two names without a format have the common one. */
	assert_string_equal(logged("log {combined}", &plain), "");
	assert_string_equal(logged("log a..b", &plain), "");
	assert_int_equal(strncmp(logged("log a.test example.org", &plain), "[INFO] 192.0.2.1:", 17),
			 0);
}

static void selects_by_class(void **state)
{
	(void)state;
	assert_string_equal(logged("log . \"{rcode}\" {\n class denial error\n}", &plain), "");
	assert_string_equal(logged("log . \"{rcode}\" {\n class denial\n class success\n}", &plain),
			    "[INFO] NOERROR\n");
	assert_string_equal(logged("log . \"{rcode}\" {\n class all\n}", &plain),
			    "[INFO] NOERROR\n");
}

static void logs_failures_as_the_server_replies(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n log . \"{rcode} {>rflags} {rsize} {size}\" {\n"
				  " class error\n }\n errors\n}\n");
	assert_non_null(f);
	static const uint8_t nsid[] = { 0, 3, 0, 0 };
	fake_send(f, &(struct fake_ask){ .name = "a.test",
					 .udp_size = 1232,
					 .options = nsid,
					 .options_n = sizeof(nsid) });
	/* The log line comes first: `errors` stands above `log`. */
	assert_string_equal(fake_log(f), "[INFO] SERVFAIL qr,rd 24 39\n[ERROR] plugin/errors: 2 "
					 "a.test. A: plugin/log: no next plugin found\n");
	fake_free(f);
	assert_string_equal(LOGGED("log . \"{size}\"", .name = "a.test", .udp_size = 1232,
				   .options = nsid, .options_n = sizeof(nsid)),
			    "[INFO] 35\n");
}

static void makes_json_records(void **state)
{
	(void)state;
	log_set_format(LOG_JSON);
	const char *line = LOGGED("log . \"{name}\"", .name = "Q\\\"x.test", .udp_size = 1232);
	log_set_format(LOG_TEXT);
	const char *msg = strstr(line, "\"level\"");
	assert_non_null(msg);
	assert_string_equal(msg,
			    "\"level\":\"INFO\",\"msg\":\"q\\\\\\\"x.test.\",\"plugin\":\"log\","
			    "\"client_ip\":\"192.0.2.1\",\"client_port\":5353,"
			    "\"qname\":\"q\\\\\\\"x.test.\",\"qtype\":\"A\",\"qclass\":\"IN\","
			    "\"protocol\":\"udp\",\"id\":4660,\"opcode\":0,\"request_size\":37,"
			    "\"dnssec_ok\":false,\"bufsize\":1232,\"rcode\":\"NOERROR\","
			    "\"response_size\":82,\"duration_seconds\":0}\n");
}

static void cuts_long_lines(void **state)
{
	(void)state;
	char stanza[3000] = "log . \"{name}";
	char name[256] = "";
	for (int i = 0; i < 3; i++)
		strncat(name, "\\001\\001\\001\\001\\001\\001\\001\\001\\001\\001\\001\\001.", 200);
	for (int i = 0; i < 40; i++)
		strncat(stanza, "{name}", 10);
	strncat(stanza, "\"", 2);
	const char *line = LOGGED(stanza, .name = name);
	assert_int_equal(strlen(line), strlen("[INFO] \n") + 4096);
}

static void refuses_unknown_options(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n log {\n class denial abracadabra\n }\n}\n"));
	assert_string_equal(fake_error(),
			    "Corefile:3:15: class: expected success, denial, error or "
			    "all, got 'abracadabra'");
	assert_null(fake_new(". {\n log {\n class\n }\n}\n"));
	assert_null(fake_new(". {\n log {\n unknown\n }\n}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_the_common_line),
		cmocka_unit_test(tells_each_field),
		cmocka_unit_test(leaves_what_it_does_not_know),
		cmocka_unit_test(selects_by_name_first_rule_only),
		cmocka_unit_test(selects_by_class),
		cmocka_unit_test(logs_failures_as_the_server_replies),
		cmocka_unit_test(makes_json_records),
		cmocka_unit_test(cuts_long_lines),
		cmocka_unit_test(refuses_unknown_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
