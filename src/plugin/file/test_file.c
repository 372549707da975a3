/* SPDX-License-Identifier: GPL-3.0-or-later */
/* file in its chain: reading, reading again, bad files, what is refused. Answers themselves are in
 * tests/differential and tests/functional. */
#include <setjmp.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "dns/zone/zonefile.h"
#include "testing/fake_server.h"

static char folder[] = "/tmp/test-file-XXXXXX";

static const char *path(const char *name)
{
	static char buf[2][128];
	static unsigned at;
	char *p = buf[at++ % 2];
	snprintf(p, sizeof(buf[0]), "%s/%s", folder, name);
	return p;
}

/* Time of change: so many seconds after some moment long ago. */
static void write_file(const char *name, const char *text, time_t changed)
{
	FILE *f = fopen(path(name), "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	struct timespec t[2] = { { .tv_sec = 1000000 + changed }, { .tv_sec = 1000000 + changed } };
	assert_int_equal(utimensat(AT_FDCWD, path(name), t, 0), 0);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path("db"));
	unlink(path("more"));
	return rmdir(folder);
}

/* @ stands for the folder. */
static const char *corefile(const char *text)
{
	static struct strbuf b = STRBUF_INIT;
	strbuf_reset(&b);
	for (; *text != '\0'; text++) {
		if (*text == '@')
			strbuf_adds(&b, folder);
		else
			strbuf_addc(&b, *text);
	}
	return b.s;
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

#define SOA(serial) "$TTL 60\n@ SOA ns root " serial " 2 3 4 5\n@ NS ns\nns A 192.0.2.53\n"
#define NS_LINE	    "authority example.org. 60 IN NS ns.example.org.\n"

static void answers(void **state)
{
	(void)state;
	write_file("db", SOA("1") "a A 192.0.2.1\na A 192.0.2.2\n_S SRV 1 2 3 a\n", 0);
	struct fake *f = start("example.org {\n file @/db\n}\n");
	assert_string_equal(ask(f, "a.example.org", "A"),
			    "NOERROR qr aa rd\nquestion a.example.org. IN A\n"
			    "answer a.example.org. 60 IN A 192.0.2.1\n"
			    "answer a.example.org. 60 IN A 192.0.2.2\n" NS_LINE);
	/* Letters: owners as the zone has them, whatever was asked. */
	assert_string_equal(ask(f, "A.example.ORG", "A"),
			    "NOERROR qr aa rd\nquestion A.example.ORG. IN A\n"
			    "answer a.example.org. 60 IN A 192.0.2.1\n"
			    "answer a.example.org. 60 IN A 192.0.2.2\n" NS_LINE);
	assert_string_equal(ask(f, "_s.example.org", "SRV"),
			    "NOERROR qr aa rd\nquestion _s.example.org. IN SRV\n"
			    "answer _S.example.org. 60 IN SRV 1 2 3 a.example.org.\n" NS_LINE
			    "additional a.example.org. 60 IN A 192.0.2.1\n"
			    "additional a.example.org. 60 IN A 192.0.2.2\n");
	assert_string_equal(ask(f, "x.example.org", "A"),
			    "NXDOMAIN qr aa rd\nquestion x.example.org. IN A\nauthority "
			    "example.org. 60 IN SOA ns.example.org. root.example.org. 1 2 3 4 5\n");
	assert_string_equal(fake_log(f), "");
	fake_free(f);
}

static void reads_a_new_serial(void **state)
{
	(void)state;
	write_file("db", SOA("1") "a A 192.0.2.1\n", 0);
	struct fake *f = start("example.org {\n file @/db {\n reload 10s\n }\n}\n");
	write_file("db", SOA("1") "a A 192.0.2.2\n", 1);
	fake_advance(f, 11 * NS_PER_S);
	assert_non_null(strstr(ask(f, "a.example.org", "A"), "192.0.2.1\n"));
	assert_string_equal(fake_log(f), "");
	/* A lower one is another one, too. */
	write_file("db", SOA("0") "a A 192.0.2.3\n", 2);
	fake_advance(f, 5 * NS_PER_S);
	assert_non_null(strstr(ask(f, "a.example.org", "A"), "192.0.2.1\n"));
	fake_advance(f, 5 * NS_PER_S);
	assert_non_null(strstr(ask(f, "a.example.org", "A"), "192.0.2.3\n"));
	assert_non_null(strstr(fake_log(f), "[INFO] plugin/file: Successfully reloaded zone "
					    "\"example.org.\" in \"/tmp/test-file-"));
	fake_free(f);
}

static void reads_by_time(void **state)
{
	(void)state;
	write_file("db", SOA("1") "a A 192.0.2.1\n", 100);
	struct fake *f =
		start("example.org {\n file @/db {\n reload 10s\n reload_by_mtime\n }\n}\n");
	write_file("db", SOA("2") "a A 192.0.2.2\n", 50);
	fake_advance(f, 11 * NS_PER_S);
	assert_non_null(strstr(ask(f, "a.example.org", "A"), "192.0.2.1\n"));
	write_file("db", SOA("1") "a A 192.0.2.3\n", 101);
	fake_advance(f, 10 * NS_PER_S);
	assert_non_null(strstr(ask(f, "a.example.org", "A"), "192.0.2.3\n"));
	fake_free(f);
}

static void keeps_the_zone_when_the_file_is_bad(void **state)
{
	(void)state;
	struct strbuf text = STRBUF_INIT;
	char want[256];
	write_file("db", SOA("1") "a A 192.0.2.1\n", 0);
	struct fake *f = start("example.org {\n file @/db {\n reload 10s\n }\n}\n");
	strbuf_adds(&text, SOA("2"));
	for (int i = 5; i <= 100000; i++)
		strbuf_addf(&text, "h%d A 192.0.2.%s\n", i, i == 90000 ? "x" : "1");
	write_file("db", text.s, 1);
	strbuf_done(&text);
	fake_advance(f, 11 * NS_PER_S);
	snprintf(want, sizeof(want),
		 "[ERROR] plugin/file: Parsing zone \"example.org.\": %s:90000:10: bad IPv4 "
		 "address\n",
		 path("db"));
	assert_string_equal(fake_log(f), want);
	assert_non_null(strstr(ask(f, "a.example.org", "A"), "192.0.2.1\n"));
	/* Logged once, not at every check. */
	fake_advance(f, 60 * NS_PER_S);
	assert_string_equal(fake_log(f), "");
	assert_int_equal(unlink(path("db")), 0);
	fake_advance(f, 10 * NS_PER_S);
	assert_non_null(strstr(fake_log(f), "[ERROR] plugin/file: Failed to open zone "));
	fake_advance(f, 60 * NS_PER_S);
	assert_string_equal(fake_log(f), "");
	assert_int_equal(mkdir(path("db"), 0700), 0);
	fake_advance(f, 10 * NS_PER_S);
	assert_non_null(strstr(fake_log(f), ":1:1: not a regular file\n"));
	fake_advance(f, 60 * NS_PER_S);
	assert_string_equal(fake_log(f), "");
	assert_int_equal(rmdir(path("db")), 0);
	write_file("db", SOA("3") "a A 192.0.2.9\n", 2);
	fake_advance(f, 10 * NS_PER_S);
	assert_non_null(strstr(ask(f, "a.example.org", "A"), "192.0.2.9\n"));
	fake_free(f);
}

static void waits_for_a_missing_file(void **state)
{
	(void)state;
	unlink(path("db"));
	struct fake *f = start("example.org {\n file @/db {\n reload 10s\n }\n}\n");
	assert_non_null(strstr(fake_log(f), "[WARNING] plugin/file: Failed to open "));
	assert_string_equal(ask(f, "a.example.org", "A"),
			    "SERVFAIL qr rd\nquestion a.example.org. IN A\n");
	write_file("db", SOA("1") "a A 192.0.2.1\n", 0);
	fake_advance(f, 11 * NS_PER_S);
	assert_non_null(strstr(ask(f, "a.example.org", "A"), "192.0.2.1\n"));
	fake_free(f);
}

static void looks_at_included_files(void **state)
{
	(void)state;
	write_file("db", "$INCLUDE more\na A 192.0.2.1\n", 0);
	write_file("more", SOA("1"), 0);
	assert_null(fake_new(corefile("example.org {\n file @/db\n}\n")));
	assert_non_null(strstr(fake_error(), "/db:2:3: no TTL"));
	write_file("db", "$TTL 5\n$INCLUDE more\na A 192.0.2.1\n", 0);
	struct fake *f = start("example.org {\n file @/db {\n reload 10s\n }\n}\n");
	write_file("more", SOA("2") "b A 192.0.2.2\n", 0);
	fake_advance(f, 11 * NS_PER_S);
	assert_non_null(strstr(ask(f, "b.example.org", "A"), "192.0.2.2\n"));
	fake_free(f);
}

static void follows_aliases_through_the_server(void **state)
{
	(void)state;
	write_file("db", SOA("1") "a CNAME x.test.\nb CNAME y.test.\nc CNAME z.example.net.\n", 0);
	struct fake *f = start("example.org {\n file @/db\n}\n"
			       "test {\n template IN A x.test {\n"
			       "  answer \"{{ .Name }} 5 IN A 192.0.2.7\"\n }\n"
			       " template IN A y.test {\n  rcode NXDOMAIN\n }\n}\n");
	assert_string_equal(ask(f, "a.example.org", "A"),
			    "NOERROR qr aa rd\nquestion a.example.org. IN A\n"
			    "answer a.example.org. 60 IN CNAME x.test.\n"
			    "answer x.test. 5 IN A 192.0.2.7\n" NS_LINE);
	assert_int_equal(strncmp(ask(f, "b.example.org", "A"), "NXDOMAIN qr aa rd\n", 18), 0);
	assert_int_equal(strncmp(ask(f, "c.example.org", "A"), "NOERROR qr aa rd\n", 17), 0);
	fake_free(f);
}

static void refuses(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "example.org {\n file\n}\n", "Corefile:2:2: file: expected a file name" },
		{ "example.org {\n file @/none {\n  reload 0\n }\n}\n",
		  "/none:1:1: cannot open: " },
		{ "example.org {\n file @\n}\n", ":1:1: not a regular file" },
		{ "example.org {\n file @/huge\n}\n", "/huge:1:1: larger than 1073741824 bytes" },
		{ "example.net {\n file @/db\n}\n",
		  "/db:2:1: SOA owner 'example.org.' does not match origin 'example.net.'" },
		{ "example.org {\n file @/db {\n  reload -1s\n }\n}\n", "Corefile:3:10: reload: " },
	};
	write_file("db", "$TTL 60\nexample.org. SOA ns root 1 2 3 4 5\n", 0);
	write_file("huge", "", 0);
	assert_int_equal(truncate(path("huge"), DNS_ZONEFILE_BYTES_MAX + 1LL), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_null(fake_new(corefile(rows[i][0])));
		if (strstr(fake_error(), rows[i][1]) == NULL)
			fail_msg("%s\nwanted %s", fake_error(), rows[i][1]);
	}
	assert_int_equal(unlink(path("huge")), 0);
}

static void warns_of_records_outside(void **state)
{
	(void)state;
	write_file("db", SOA("1") "a.example.net. A 192.0.2.1\n", 0);
	struct fake *f = start("example.org {\n file @/db\n}\n");
	assert_non_null(strstr(fake_log(f), ": 1 records outside the zone are left out\n"));
	fake_free(f);
}

/* A zone that does not stay near the CPU, so that its names are prefetched. */
static void large_zone(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, "@ 60 SOA a b 1 2 3 4 5\n@ NS a\n");
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&text, "h%d 60 A 192.0.2.%d\n", i, i % 256);
	write_file("db", text.s, 0);
	struct fake *f = start("example {\nfile @/db {\nreload 1s\n}\n}\n");
	for (int i = 0; i < 20100; i += 100) {
		char name[32], want[64];
		snprintf(name, sizeof(name), "h%d.example.", i);
		snprintf(want, sizeof(want), "answer h%d.example. 60 IN A 192.0.2.%d\n", i,
			 i % 256);
		const char *got = ask(f, name, "A");
		assert_non_null(got);
		assert_int_equal(strstr(got, want) != NULL, i < 20000);
		assert_int_equal(strncmp(got, "NXDOMAIN", 8) == 0, i >= 20000);
	}
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(reads_a_new_serial),
		cmocka_unit_test(reads_by_time),
		cmocka_unit_test(keeps_the_zone_when_the_file_is_bad),
		cmocka_unit_test(waits_for_a_missing_file),
		cmocka_unit_test(looks_at_included_files),
		cmocka_unit_test(follows_aliases_through_the_server),
		cmocka_unit_test(refuses),
		cmocka_unit_test(large_zone),
		cmocka_unit_test(warns_of_records_outside),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
