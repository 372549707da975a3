/* SPDX-License-Identifier: GPL-3.0-or-later */
/* records on the real chain: answers of each type, aliases, wildcards, names that pass, changes that no
 * cache hides (DR-4, DR-8, DR-29, DR-L1, DR-L2, DR-L3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/types.h"
#include "plugin/records/store_test.h"
#include "testing/fake_server.h"

static struct records_claims *claims;

/* "NAME TYPE TTL VALUE VALUE..."; the object's own name is `object`. */
static void apply(const char *object, const char *line)
{
	char name[300], type[16];
	int ttl, at;
	assert_int_equal(sscanf(line, "%299s %15s %d %n", name, type, &ttl, &at), 3);
	json_t *values = json_array();
	for (struct slice rest = slice_of(line + at); rest.n != 0;) {
		struct slice value = slice_cut(&rest, ' ');
		json_array_append_new(values, json_stringn(value.p, value.n));
	}
	json_t *tree = json_pack("{s:{s:s,s:s}, s:{s:s,s:s,s:s,s:i,s:{s:s},s:o}}", "metadata",
				 "uid", object, "creationTimestamp", "2026-11-17T00:00:00Z", "spec",
				 "type", "local", "name", name, "recordType", type, "ttl", ttl,
				 "secretRef", "name", "s", "values", values);
	assert_non_null(tree);
	records_claims_set(claims, object, tree);
	json_decref(tree);
}

static int start_claims(void **state)
{
	(void)state;
	claims = records_claims_new(100);
	records_store_preset(claims);
	return 0;
}

static int end_claims(void **state)
{
	(void)state;
	records_store_preset(NULL);
	records_claims_free(claims);
	return 0;
}

static struct fake *start(const char *corefile)
{
	struct fake *f = fake_new(corefile);
	if (f == NULL)
		fail_msg("%s", fake_error());
	return f;
}

static const char *ask(struct fake *fake, const char *name, const char *type)
{
	const char *reply =
		fake_ask(fake, &(struct fake_ask){ .name = name, .type = type, .udp_size = 4096 });
	return reply != NULL ? reply : "(no reply)";
}

static void assert_reply(const char *reply, const char *want, int line)
{
	if (strstr(reply, want) == NULL)
		fail_msg("line %d: expected\n%s\nin\n%s", line, want, reply);
}
#define ASSERT_REPLY(reply, want) assert_reply(reply, want, __LINE__)

/* What no record has gets this. */
#define REST                                       \
	" template IN ANY . {\n  rcode NXDOMAIN\n" \
	"  authority \"rest.test. 60 IN SOA a. b. 1 1 1 1 60\"\n }\n"
#define PLAIN  ". {\n records\n" REST "}\n"
#define PASSED "rest.test. 60 IN SOA"

static void types(void **state)
{
	(void)state;
	apply("n/a", "api.example.com A 60 192.0.2.2 192.0.2.1");
	apply("n/b", "api.example.com AAAA 0 2001:db8::1");
	apply("n/c", "_acme.example.com TXT 7 hello");
	struct fake *f = start(PLAIN);
	const char *reply = ask(f, "API.example.com.", "A");
	ASSERT_REPLY(reply, "NOERROR qr aa rd");
	ASSERT_REPLY(reply, "question API.example.com. IN A\n");
	ASSERT_REPLY(reply, "API.example.com. 60 IN A 192.0.2.1\n");
	ASSERT_REPLY(reply, " 192.0.2.2\n");
	ASSERT_REPLY(ask(f, "api.example.com.", "AAAA"),
		     "api.example.com. 0 IN AAAA 2001:db8::1\n");
	ASSERT_REPLY(ask(f, "_acme.example.com.", "TXT"), " 7 IN TXT \"hello\"\n");
	reply = ask(f, "api.example.com.", "ANY");
	ASSERT_REPLY(reply, " A 192.0.2.1\n");
	ASSERT_REPLY(reply, " AAAA 2001:db8::1\n");
	fake_free(f);
}

static void other_types_are_empty(void **state)
{
	(void)state;
	apply("n/a", "api.example.com A 60 192.0.2.1");
	apply("n/b", "*.w.example.com A 60 192.0.2.1");
	struct fake *f = start(PLAIN);
	const char *reply = ask(f, "api.example.com.", "AAAA");
	ASSERT_REPLY(reply, "NOERROR qr aa rd");
	ASSERT_REPLY(reply, "api.example.com. 5 IN SOA api.example.com. nobody.invalid. 1 3600 "
			    "1200 604800 5\n");
	reply = ask(f, "x.w.example.com.", "TXT");
	ASSERT_REPLY(reply, "NOERROR qr aa rd");
	ASSERT_REPLY(reply, "\nauthority w.example.com. 5 IN SOA w.example.com. ");
	fake_free(f);
}

static void other_names_pass(void **state)
{
	(void)state;
	apply("n/a", "a.b.example.com A 60 192.0.2.1");
	struct fake *f = start(PLAIN);
	static const char *const names[] = {
		"example.com.",	      "b.example.com.", "x.b.example.com.",
		"x.a.b.example.com.", "com.",		".",
		"other.test."
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		ASSERT_REPLY(ask(f, names[i], "A"), PASSED);
	ASSERT_REPLY(ask(f, "a.b.example.com.", "A"), "192.0.2.1");
	ASSERT_REPLY(fake_ask(f, &(struct fake_ask){ .name = "a.b.example.com.", .type = "AXFR" }),
		     "NXDOMAIN");
	fake_free(f);
}

/* RFC 4592: the closest name that exists decides. */
static void wildcards(void **state)
{
	(void)state;
	apply("n/w", "*.example.com A 60 192.0.2.1");
	apply("n/a", "a.b.example.com A 60 192.0.2.2");
	apply("n/v", "*.c.example.com A 60 192.0.2.3");
	struct fake *f = start(PLAIN);
	ASSERT_REPLY(ask(f, "X.Y.example.com.", "A"), "X.Y.example.com. 60 IN A 192.0.2.1\n");
	ASSERT_REPLY(ask(f, "x.example.com.", "A"), "192.0.2.1\n");
	ASSERT_REPLY(ask(f, "*.example.com.", "A"), "192.0.2.1\n");
	ASSERT_REPLY(ask(f, "a.b.example.com.", "A"), "192.0.2.2\n");
	ASSERT_REPLY(ask(f, "x.c.example.com.", "A"), "192.0.2.3\n");
	ASSERT_REPLY(ask(f, "b.example.com.", "A"), PASSED);
	ASSERT_REPLY(ask(f, "x.b.example.com.", "A"), PASSED);
	ASSERT_REPLY(ask(f, "c.example.com.", "A"), PASSED);
	ASSERT_REPLY(ask(f, "example.com.", "A"), PASSED);
	ASSERT_REPLY(ask(f, "x.example.org.", "A"), PASSED);
	records_claims_remove(claims, "n/a");
	ASSERT_REPLY(ask(f, "x.b.example.com.", "A"), "192.0.2.1\n");
	records_claims_remove(claims, "n/w");
	ASSERT_REPLY(ask(f, "x.b.example.com.", "A"), PASSED);
	ASSERT_REPLY(ask(f, "x.c.example.com.", "A"), "192.0.2.3\n");
	records_claims_remove(claims, "n/v");
	ASSERT_REPLY(ask(f, "x.c.example.com.", "A"), PASSED);
	fake_free(f);
}

static void aliases(void **state)
{
	(void)state;
	apply("n/a", "a.example.com CNAME 60 b.example.com");
	apply("n/b", "b.example.com CNAME 30 c.example.com");
	apply("n/c", "c.example.com A 20 192.0.2.1");
	apply("n/o", "o.example.com CNAME 60 www.out.test");
	apply("n/m", "m.example.com CNAME 60 missing.test");
	apply("n/l", "l.example.com CNAME 60 k.example.com");
	apply("n/k", "k.example.com CNAME 60 l.example.com");
	struct fake *f =
		start(". {\n records\n template IN A out.test {\n"
		      "  answer \"{{ .Name }} 9 IN A 192.0.2.9\"\n }\n"
		      " template IN AAAA out.test {\n  rcode NOERROR\n"
		      "  authority \"out.test. 60 IN SOA a. b. 1 1 1 1 60\"\n }\n" REST "}\n");
	const char *reply = ask(f, "a.example.com.", "A");
	ASSERT_REPLY(reply, "answer a.example.com. 60 IN CNAME b.example.com.\n"
			    "answer b.example.com. 30 IN CNAME c.example.com.\n"
			    "answer c.example.com. 20 IN A 192.0.2.1\n");
	reply = ask(f, "a.example.com.", "AAAA");
	ASSERT_REPLY(reply, "answer b.example.com. 30 IN CNAME c.example.com.\n");
	ASSERT_REPLY(reply, "authority c.example.com. 5 IN SOA");
	reply = ask(f, "a.example.com.", "CNAME");
	ASSERT_REPLY(reply, "answer a.example.com. 60 IN CNAME b.example.com.\n");
	assert_null(strstr(reply, "answer b.example.com."));
	reply = ask(f, "o.example.com.", "A");
	ASSERT_REPLY(reply, "NOERROR qr aa rd");
	ASSERT_REPLY(reply, "answer o.example.com. 60 IN CNAME www.out.test.\n"
			    "answer www.out.test. 9 IN A 192.0.2.9\n");
	reply = ask(f, "o.example.com.", "AAAA");
	ASSERT_REPLY(reply, "NOERROR qr aa rd");
	ASSERT_REPLY(reply, "authority out.test. 60 IN SOA");
	reply = ask(f, "m.example.com.", "A");
	ASSERT_REPLY(reply, "NXDOMAIN qr aa rd");
	ASSERT_REPLY(reply, "answer m.example.com. 60 IN CNAME missing.test.\n");
	ASSERT_REPLY(reply, PASSED);
	ASSERT_REPLY(ask(f, "l.example.com.", "A"), "SERVFAIL");
	fake_free(f);
}

/* A change is served at once, whatever the cache below has kept. */
static void cache_hides_nothing(void **state)
{
	(void)state;
	struct fake *f = start(". {\n records\n cache\n" REST "}\n");
	ASSERT_REPLY(ask(f, "new.example.com.", "A"), "NXDOMAIN");
	ASSERT_REPLY(ask(f, "new.example.com.", "A"), "NXDOMAIN");
	apply("n/a", "new.example.com A 3600 192.0.2.1");
	ASSERT_REPLY(ask(f, "new.example.com.", "A"), "192.0.2.1\n");
	apply("n/a", "new.example.com A 3600 192.0.2.2");
	ASSERT_REPLY(ask(f, "new.example.com.", "A"), "192.0.2.2\n");
	apply("n/a", "moved.example.com A 3600 192.0.2.2");
	ASSERT_REPLY(ask(f, "new.example.com.", "A"), "NXDOMAIN");
	ASSERT_REPLY(ask(f, "moved.example.com.", "A"), "192.0.2.2\n");
	records_claims_remove(claims, "n/a");
	ASSERT_REPLY(ask(f, "moved.example.com.", "A"), "NXDOMAIN");
	fake_free(f);
}

static void zones_and_exceptions(void **state)
{
	(void)state;
	apply("n/a", "a.in.test A 60 192.0.2.1");
	apply("n/b", "b.out.test A 60 192.0.2.1");
	apply("n/c", "c.svc.in.test A 60 192.0.2.1");
	struct fake *f = start(". {\n records in.test {\n  except svc.in.test\n }\n" REST "}\n");
	ASSERT_REPLY(ask(f, "a.in.test.", "A"), "192.0.2.1\n");
	ASSERT_REPLY(ask(f, "b.out.test.", "A"), PASSED);
	ASSERT_REPLY(ask(f, "c.svc.in.test.", "A"), PASSED);
	fake_free(f);
	assert_true(
		fake_refuses("records {\n tls a b c\n}", "Corefile:2:1: 'tls' needs 'endpoint'"));
	assert_true(fake_refuses("records {\n nosuch\n}", "Corefile:3:2: "));
}

static void many_values_are_cut(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	strbuf_adds(&line, "many.example.com A 60");
	for (unsigned i = 0; i < 1000; i++)
		strbuf_addf(&line, " 10.0.%u.%u", i / 250, i % 250);
	apply("n/a", line.s);
	struct fake *f = start(PLAIN);
	const char *reply = ask(f, "many.example.com.", "A");
	ASSERT_REPLY(reply, " tc ");
	ASSERT_REPLY(reply, " 10.0.");
	fake_free(f);
}

static void a_reload_keeps_the_records(void **state)
{
	(void)state;
	apply("n/a", "a.example.com A 60 192.0.2.1");
	struct fake *f = start(PLAIN);
	assert_true(fake_reload(f, ". {\n records\n cache\n" REST "}\n"));
	ASSERT_REPLY(ask(f, "a.example.com.", "A"), "192.0.2.1\n");
	assert_true(fake_metric(f, "fairlead_records_objects{state=\"served\"}") == 1);
	fake_free(f);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start_claims, end_claims)
	const struct CMUnitTest tests[] = {
		TEST(types),
		TEST(other_types_are_empty),
		TEST(other_names_pass),
		TEST(wildcards),
		TEST(aliases),
		TEST(cache_hides_nothing),
		TEST(zones_and_exceptions),
		TEST(many_values_are_cut),
		TEST(a_reload_keeps_the_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
