/* SPDX-License-Identifier: GPL-3.0-or-later */
/* erratic: what comes of counting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "server/generation.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "testing/fake_server.h"

/* One letter per query: '-' silence (at once), 't' with TC, '.' without. */
static void expect(const char *options, const char *want)
{
	char text[256], got[32] = "";
	snprintf(text, sizeof(text), ". {\n erratic {\n%s\n }\n}\n", options);
	struct fake *f = fake_new(text);
	assert_non_null(f);
	for (size_t i = 0; want[i] != '\0'; i++) {
		const char *r = fake_ask(f, &(struct fake_ask){ 0 });
		got[i] = r == NULL ? '-' : strstr(r, " tc ") != NULL ? 't' : '.';
	}
	assert_string_equal(got, want);
	fake_free(f);
}

static void drops_by_remainder(void **state)
{
	(void)state;
	expect("", "-.-.-.");
	expect("drop", "-.-.");
	expect("drop 3", "-..-..");
	expect("drop 1", "---");
	expect("drop 0", "...");
}

static void truncates_by_bits(void **state)
{
	(void)state;
	expect("truncate", "tt..tt..");
	expect("truncate 5\ndrop 0", "t.t.....t.");
	expect("truncate 1", "t.t.t.");
	expect("drop 2\ntruncate 2", "-t-.-t-.");
	expect("truncate 0", "-.-.");
}

static void answers_addresses(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n erratic {\n  drop 0\n }\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ 0 }),
			    "NOERROR qr aa rd\nquestion example.org. IN A\n"
			    "answer example.org. 0 IN A 192.0.2.53\n");
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .type = "AAAA" }),
			    "NOERROR qr aa rd\nquestion example.org. IN AAAA\n"
			    "answer example.org. 0 IN AAAA 2001:db8::53\n");
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .type = "TXT" }),
			    "SERVFAIL qr rd\nquestion example.org. IN TXT\n");
	fake_free(f);
}

static void answers_transfers(void **state)
{
	(void)state;
	const char *soa =
		"answer z. 0 IN SOA sns.dns.icann.org. noc.dns.icann.org. 2018050825 7200 "
		"3600 1209600 3600\n";
	char want[1024];
	struct fake *f = fake_new(". {\n erratic {\n  truncate 2\n }\n}\n");
	assert_non_null(f);
	for (int i = 0; i < 3; i++) {
		bool cut = i < 2;
		snprintf(want, sizeof(want),
			 "NOERROR qr aa rd\nquestion z. IN AXFR\n%sanswer z. 0 IN NS b.z.\n"
			 "answer z. 0 IN NS a.z.\nanswer a.z. 0 IN AAAA 2001:bd8::53\n"
			 "answer b.z. 0 IN AAAA 2001:500::54\n%s",
			 soa, cut ? "" : soa);
		assert_string_equal(fake_ask(f, &(struct fake_ask){ .name = "z.", .type = "AXFR" }),
				    want);
	}
	fake_free(f);
}

static void answers_with_many_records(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n erratic {\n  drop 0\n  large\n }\n}\n");
	assert_non_null(f);
	const char *got = fake_ask(f, &(struct fake_ask){ .udp_size = 4096 });
	int n = 0;
	for (const char *p = got; (p = strstr(p, "answer ")) != NULL; p++)
		n++;
	assert_int_equal(n, 30);
	fake_free(f);
}

static void delays(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n erratic {\n  delay 2 50ms\n }\n}\n");
	assert_non_null(f);
	assert_null(fake_ask(f, &(struct fake_ask){ 0 }));
	assert_int_equal(fake_inflight(f), 1);
	assert_non_null(fake_ask(f, &(struct fake_ask){ 0 }));
	fake_advance(f, 49 * NS_PER_MS);
	assert_null(fake_next(f));
	fake_advance(f, 2 * NS_PER_MS);
	assert_string_equal(fake_next(f), "NOERROR qr aa rd\nquestion example.org. IN A\n"
					  "answer example.org. 0 IN A 192.0.2.53\n");
	assert_null(fake_ask(f, &(struct fake_ask){ .type = "TXT" }));
	fake_advance(f, 51 * NS_PER_MS);
	assert_non_null(strstr(fake_next(f), "SERVFAIL"));
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

static void ready_for_two_queries(void **state)
{
	(void)state;
	static const bool want[] = { false, false, false, true, true, false };
	struct fake *f = fake_new(". {\n erratic\n}\n");
	assert_non_null(f);
	struct plugin_inst *in = block_find(&fake_server(f)->gen->block[0], "erratic");
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_int_equal(in->plugin->ops.ready(in), want[i]);
		fake_ask(f, &(struct fake_ask){ 0 });
	}
	fake_free(f);
}

static void has_a_search_path(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n erratic\n}\n");
	assert_non_null(f);
	struct plugin_inst *in = block_find(&fake_server(f)->gen->block[0], "erratic");
	const uint8_t *path[4];
	char text[DNS_NAME_TEXT_MAX];
	assert_int_equal(in->plugin->ops.search_for_client(in, NULL, path, 4), 3);
	dns_name_to_text(path[1], false, text);
	assert_string_equal(text, "b.example.org.");
	dns_name_to_text(path[2], false, text);
	assert_string_equal(text, ".");
	assert_int_equal(in->plugin->ops.search_for_client(in, NULL, path, 1), 1);
	fake_free(f);
}

static void refuses(const char *line, const char *why)
{
	char text[256];
	snprintf(text, sizeof(text), ". {\n erratic {\n  %s\n }\n}\n", line);
	assert_null(fake_new(text));
	assert_string_equal(fake_error(), why);
}

static void refuses_wrong_values(void **state)
{
	(void)state;
	refuses("drop -1", "Corefile:3:8: drop: expected a number from 0 to 2147483647, got '-1'");
	refuses("truncate 2147483648", "Corefile:3:12: truncate: expected a number from 0 to "
				       "2147483647, got '2147483648'");
	refuses("delay 3 bla",
		"Corefile:3:11: delay: expected a duration such as 100ms, got 'bla'");
	refuses("delay 1 2s 4", "Corefile:3:14: delay: expected at most 2 arguments, got 3");
	refuses("large x", "Corefile:3:9: large: expected no argument, got 'x'");
	refuses("other", "Corefile:3:3: unknown option 'other', expected one of: drop, truncate, "
			 "delay, large");
	assert_null(fake_new(". {\n erratic x\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:10: erratic: unexpected argument 'x'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drops_by_remainder),	     cmocka_unit_test(truncates_by_bits),
		cmocka_unit_test(answers_addresses),	     cmocka_unit_test(answers_transfers),
		cmocka_unit_test(answers_with_many_records), cmocka_unit_test(delays),
		cmocka_unit_test(ready_for_two_queries),     cmocka_unit_test(has_a_search_path),
		cmocka_unit_test(refuses_wrong_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
