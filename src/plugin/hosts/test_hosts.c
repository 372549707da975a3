/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hosts in its chain: what is answered, denied, passed on; files, lines of the Corefile, metrics.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "testing/fake_server.h"

static char path[] = "/tmp/test_hosts_XXXXXX";

static void write_file(const char *text)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_file(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

/* A Corefile in which @ stands for the file. */
static const char *corefile(const char *text)
{
	static char out[2048];
	size_t n = 0;
	for (; *text != '\0' && n < sizeof(out) - sizeof(path); text++) {
		if (*text == '@')
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%s", path);
		else
			out[n++] = *text;
	}
	out[n] = '\0';
	return out;
}

static struct fake *start(const char *text)
{
	struct fake *f = fake_new(corefile(text));
	if (f == NULL)
		fail_msg("%s", fake_error());
	return f;
}

static const char *ask(struct fake *f, const char *name, const char *type)
{
	return fake_ask(f, &(struct fake_ask){ .name = name, .type = type });
}

static void answers_from_file_and_corefile(void **state)
{
	(void)state;
	write_file("192.0.2.1 a.test\n192.0.2.2 a.test\n");
	struct fake *f = start(". {\n hosts @ {\n 192.0.2.3 a.test\n 2001:db8::1 a.test\n"
			       " ttl 77\n }\n}\n");
	assert_string_equal(ask(f, "A.test", "A"), "NOERROR qr aa rd\nquestion A.test. IN A\n"
						   "answer a.test. 77 IN A 192.0.2.1\n"
						   "answer a.test. 77 IN A 192.0.2.2\n"
						   "answer a.test. 77 IN A 192.0.2.3\n");
	assert_string_equal(ask(f, "a.test", "AAAA"), "NOERROR qr aa rd\nquestion a.test. IN AAAA\n"
						      "answer a.test. 77 IN AAAA 2001:db8::1\n");
	assert_string_equal(ask(f, "3.2.0.192.in-addr.arpa", "PTR"),
			    "NOERROR qr aa rd\nquestion 3.2.0.192.in-addr.arpa. IN PTR\n"
			    "answer 3.2.0.192.in-addr.arpa. 77 IN PTR a.test.\n");
	assert_string_equal(ask(f, "a.test", "TXT"), "NOERROR qr aa rd\nquestion a.test. IN TXT\n");
	assert_string_equal(ask(f, "b.test", "A"), "SERVFAIL qr rd\nquestion b.test. IN A\n");
	assert_string_equal(fake_log(f), "");
	fake_free(f);
}

static void reads_a_changed_file_again(void **state)
{
	(void)state;
	write_file("192.0.2.1 a.test\n");
	struct fake *f = start(". {\n hosts @ {\n reload 5s\n }\n}\n");
	assert_non_null(strstr(ask(f, "a.test", "A"), "192.0.2.1\n"));
	write_file("192.0.2.1 a.test\n192.0.2.99 a.test\n");
	fake_advance(f, 4 * NS_PER_S);
	assert_null(strstr(ask(f, "a.test", "A"), "192.0.2.99\n"));
	fake_advance(f, 2 * NS_PER_S);
	assert_non_null(strstr(ask(f, "a.test", "A"), "192.0.2.99\n"));
	fake_free(f);
}

static void falls_through(void **state)
{
	(void)state;
	write_file("192.0.2.1 a.test\n");
	struct fake *f = start("test {\n hosts @ {\n fallthrough f.test\n"
			       " fallthrough_unsupported\n no_reverse\n reload 0\n }\n whoami\n}\n"
			       "in-addr.arpa {\n hosts @ {\n no_reverse\n }\n whoami\n}\n");
	assert_non_null(strstr(ask(f, "x.f.test", "A"), "additional"));
	assert_non_null(strstr(ask(f, "x.f.test", "TXT"), "additional"));
	assert_string_equal(ask(f, "x.test", "A"), "SERVFAIL qr rd\nquestion x.test. IN A\n");
	assert_string_equal(ask(f, "a.test", "TXT"), "NOERROR qr aa rd\nquestion a.test. IN TXT\n");
	/* A reverse name without an entry goes on, fallthrough or not. */
	assert_non_null(strstr(ask(f, "1.2.0.192.in-addr.arpa", "PTR"), "additional"));
	fake_free(f);
}

static void keeps_to_its_zones(void **state)
{
	(void)state;
	write_file("192.0.2.1 a.test a.example\n");
	struct fake *f = start(". {\n hosts @ example 10.0.0.0/8\n whoami\n}\n");
	assert_non_null(strstr(ask(f, "a.test", "A"), "additional"));
	assert_non_null(strstr(ask(f, "a.example", "A"), "answer a.example. 3600 IN A 192.0.2.1"));
	assert_string_equal(ask(f, "1.2.0.192.in-addr.arpa", "PTR"),
			    "NOERROR qr aa rd\nquestion 1.2.0.192.in-addr.arpa. IN PTR\n"
			    "answer 1.2.0.192.in-addr.arpa. 3600 IN PTR a.example.\n");
	assert_string_equal(ask(f, "1.0.0.10.in-addr.arpa", "A"),
			    "SERVFAIL qr rd\nquestion 1.0.0.10.in-addr.arpa. IN A\n");
	fake_free(f);
}

static void counts_entries(void **state)
{
	(void)state;
	char line[128];
	write_file("192.0.2.1 a.test\n");
	struct fake *f = start(". {\n hosts @ {\n 192.0.2.3 *.a.test b.test\n }\n}\n");
	snprintf(line, sizeof(line), "coredns_hosts_entries{hostsfile=\"%s\"}", path);
	assert_true(fake_metric(f, line) == 5);
	assert_true(fake_metric(f, "coredns_hosts_reload_timestamp_seconds") > 1e9);
	fake_free(f);
}

static void cuts_what_no_reply_can_hold(void **state)
{
	(void)state;
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	for (int i = 0; i < 4000; i++)
		fprintf(f, "0.0.0.0 blocked-name-number-%d.example.test\n", i);
	fclose(f);
	struct fake *s = start(". {\n hosts @\n}\n");
	const char *reply = fake_ask(s, &(struct fake_ask){ .name = "0.0.0.0.in-addr.arpa",
							    .type = "PTR",
							    .udp_size = 65535 });
	assert_int_equal(strncmp(reply, "NOERROR qr aa tc rd\n", 20), 0);
	fake_free(s);
}

static void warns_of_a_missing_file(void **state)
{
	(void)state;
	struct fake *f = start(". {\n hosts /nonexistent/hosts {\n 192.0.2.1 a.test\n }\n}\n");
	assert_string_equal(fake_log(f),
			    "[WARNING] plugin/hosts: File does not exist: /nonexistent/hosts\n");
	assert_non_null(strstr(ask(f, "a.test", "A"), "192.0.2.1"));
	fake_free(f);
}

static void refused(const char *text, const char *error)
{
	assert_null(fake_new(corefile(text)));
	assert_string_equal(fake_error(), error);
}

static void refuses_what_it_cannot_do(void **state)
{
	(void)state;
	refused(". {\n hosts\n hosts\n}\n",
		"Corefile:3:2: 'hosts' may be used only once in a server block, first at line 2");
	refused(". {\n hosts {\n ttl 0\n }\n}\n",
		"Corefile:3:6: ttl: expected a number from 1 to 65535, got '0'");
	refused(". {\n hosts {\n fallthrough_unsupported\n }\n}\n",
		"Corefile:2:2: fallthrough_unsupported needs 'fallthrough' beside it");
	assert_null(fake_new(". {\n hosts {\n fallthrough\n 192.0.2.1 a.test\n }\n}\n"));
	assert_null(fake_new(". {\n hosts {\n reload -1s\n }\n}\n"));
	assert_null(fake_new(corefile(". {\n hosts @/x\n}\n")));
	assert_non_null(strstr(fake_error(), "Corefile:2:2: cannot access hosts file '/tmp/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_from_file_and_corefile),
		cmocka_unit_test(reads_a_changed_file_again),
		cmocka_unit_test(falls_through),
		cmocka_unit_test(keeps_to_its_zones),
		cmocka_unit_test(counts_entries),
		cmocka_unit_test(cuts_what_no_reply_can_hold),
		cmocka_unit_test(warns_of_a_missing_file),
		cmocka_unit_test(refuses_what_it_cannot_do),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
