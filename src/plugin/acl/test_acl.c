/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acl: which rule counts, what its actions do, and what is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "testing/fake_server.h"

/* 'a'llowed, 'b'locked, 'f'iltered or 'd'ropped. */
static char outcome(struct fake *f, const char *name, const char *type, const char *client)
{
	char at[64];
	bool v6 = strchr(client, ':') != NULL;
	snprintf(at, sizeof(at), "%s%.40s%s:5353", v6 ? "[" : "", client, v6 ? "]" : "");
	const char *got =
		fake_ask(f, &(struct fake_ask){ .name = name,
						.type = type,
						.client = at,
						.local = v6 ? "[2001:db8::53]:53" : NULL });
	if (got == NULL)
		return 'd';
	if (strncmp(got, "REFUSED", 7) == 0)
		return 'b';
	return strstr(got, " 15:0011") != NULL ? 'f' : 'a';
}

static void blocks_with_an_extended_error(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n acl {\n  block type A net 192.0.2.0/24\n }\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ 0 }),
			    "REFUSED qr rd\nquestion example.org. IN A\nopt 4096 do 15:000f\n");
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .udp_size = 1232 }),
			    "REFUSED qr rd\nquestion example.org. IN A\nopt 1232 do 15:000f\n");
	assert_int_equal(outcome(f, "a.", "A", "192.0.3.1"), 'a');
	assert_int_equal(outcome(f, "a.", "TXT", "192.0.2.1"), 'a');
	fake_free(f);
}

static void filters_with_an_extended_error(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n acl {\n  filter type A\n }\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .udp_size = 512 }),
			    "NOERROR qr rd\nquestion example.org. IN A\nopt 512 do 15:0011\n");
	fake_free(f);
}

static void drops_in_silence(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n acl {\n  drop net 192.0.2.1\n }\n whoami\n}\n");
	assert_non_null(f);
	assert_null(fake_ask(f, &(struct fake_ask){ 0 }));
	assert_int_equal(fake_inflight(f), 0);
	assert_int_equal(outcome(f, "a.", "A", "192.0.2.2"), 'a');
	fake_free(f);
}

static const char *const order = ". {\n"
				 " acl one.test {\n"
				 "  allow type TXT MX net 192.0.2.1\n"
				 "  FILTER Type ANY AAAA\n"
				 "  block type * net *\n"
				 " }\n"
				 " acl two.test 10.0.0.0/8 {\n"
				 "  filter type A type AAAA net 192.0.2.1\n"
				 "  block net 192.0.3.0/24 2001:db8::/32\n"
				 " }\n"
				 " acl\n"
				 " acl {\n"
				 "  drop type CNAME\n"
				 " }\n"
				 " whoami\n"
				 "}\n";

static const struct {
	const char *name, *type, *client;
	char want;
} order_rows[] = {
	{ "a.one.test.", "TXT", "192.0.2.1", 'a' },
	{ "a.one.test.", "TXT", "192.0.2.2", 'b' },
	{ "A.One.Test.", "AAAA", "192.0.2.1", 'f' },
	{ "one.test.", "A", "192.0.2.1", 'b' },
	{ "one.test.", "CNAME", "2001:db8::1", 'b' },
	{ "a.two.test.", "A", "192.0.2.1", 'f' },
	{ "a.two.test.", "AAAA", "192.0.2.1", 'f' },
	{ "a.two.test.", "TXT", "192.0.2.1", 'a' },
	{ "a.two.test.", "TXT", "192.0.3.255", 'b' },
	{ "a.two.test.", "TXT", "2001:db8:ffff::", 'b' },
	{ "a.two.test.", "TXT", "2001:db9::", 'a' },
	{ "1.2.3.10.in-addr.arpa.", "PTR", "192.0.3.0", 'b' },
	{ "1.2.3.11.in-addr.arpa.", "PTR", "192.0.3.0", 'a' },
	{ "a.two.test.", "CNAME", "192.0.2.1", 'd' },
	{ "three.test.", "CNAME", "192.0.2.1", 'd' },
	{ "three.test.", "A", "192.0.2.1", 'a' },
};

static void first_policy_of_the_first_stanza_counts(void **state)
{
	(void)state;
	struct fake *f = fake_new(order);
	assert_non_null(f);
	for (size_t i = 0; i < ARRAY_LEN(order_rows); i++)
		assert_int_equal(
			outcome(f, order_rows[i].name, order_rows[i].type, order_rows[i].client),
			order_rows[i].want);
	fake_free(f);
}

/* An allow ends it: later stanzas are not asked. */
static void allow_is_final(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n acl {\n  allow net 192.0.2.1\n }\n acl {\n  block\n }\n"
				  " whoami\n}\n");
	assert_non_null(f);
	assert_int_equal(outcome(f, "a.", "A", "192.0.2.1"), 'a');
	assert_int_equal(outcome(f, "a.", "A", "192.0.2.2"), 'b');
	fake_free(f);
}

static void counts_by_server_zone_and_view(void **state)
{
	(void)state;
	struct fake *f = fake_new("m.test:53 x.m.test:54 {\n acl {\n  block type A\n"
				  "  filter type TXT\n  drop type MX\n }\n whoami\n}\n");
	assert_non_null(f);
	for (int i = 0; i < 3; i++)
		fake_ask(f, &(struct fake_ask){ .name = "m.test." });
	fake_ask(f, &(struct fake_ask){ .name = "x.m.test.", .listen_port = 54 });
	fake_ask(f, &(struct fake_ask){ .name = "m.test.", .type = "TXT" });
	fake_ask(f, &(struct fake_ask){ .name = "m.test.", .type = "MX" });
	fake_ask(f, &(struct fake_ask){ .name = "m.test.", .type = "AAAA" });
#define M(name, labels) fake_metric(f, "coredns_acl_" name "_requests_total{" labels "}")
	assert_true(M("blocked", "server=\"dns://:53\",view=\"\",zone=\"m.test.\"") == 3);
	assert_true(M("blocked", "server=\"dns://:54\",view=\"\",zone=\"x.m.test.\"") == 1);
	assert_true(M("filtered", "server=\"dns://:53\",view=\"\",zone=\"m.test.\"") == 1);
	assert_true(M("dropped", "server=\"dns://:53\",view=\"\",zone=\"m.test.\"") == 1);
	assert_true(M("allowed", "server=\"dns://:53\",view=\"\"") >= 1);
#undef M
	fake_free(f);
}

static void takes_thousands_of_networks(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	strbuf_adds(&t, ". {\n acl {\n  block net");
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&t, " 10.%d.%d.%d/31", i / 5000, i / 20 % 250, i % 20 * 4);
	strbuf_adds(&t, "\n }\n whoami\n}\n");
	struct fake *f = fake_new(t.s);
	assert_non_null(f);
	assert_int_equal(outcome(f, "a.", "A", "10.3.249.77"), 'b');
	assert_int_equal(outcome(f, "a.", "A", "10.3.249.78"), 'a');
	assert_int_equal(outcome(f, "a.", "A", "10.4.0.0"), 'a');
	fake_free(f);
}

static void refuses(const char *line, const char *why)
{
	char text[256];
	snprintf(text, sizeof(text), ". {\n acl {\n  %s\n }\n}\n", line);
	assert_null(fake_new(text));
	assert_string_equal(fake_error(), why);
}

static void refuses_wrong_words(void **state)
{
	(void)state;
	refuses("blck type A", "Corefile:3:3: expected allow, block, filter or drop, got 'blck'");
	refuses("block A", "Corefile:3:9: expected 'type' or 'net', got 'A'");
	refuses("block type net 1.2.3.4", "Corefile:3:9: expected something after 'type'");
	refuses("block type A net", "Corefile:3:16: expected something after 'net'");
	refuses("block type a",
		"Corefile:3:14: expected a record type such as AAAA, or *, got 'a'");
	refuses("block type TYPE65",
		"Corefile:3:14: expected a record type such as AAAA, or *, got 'TYPE65'");
	refuses("block net 192.168.0/16", "Corefile:3:13: expected an IP address, a network such "
					  "as 192.0.2.0/24, or *, got '192.168.0/16'");
	refuses("block net 1.2.3.4/33", "Corefile:3:13: expected an IP address, a network such "
					"as 192.0.2.0/24, or *, got '1.2.3.4/33'");
	refuses("block net fe80::1%lo", "Corefile:3:13: expected an IP address, a network such "
					"as 192.0.2.0/24, or *, got 'fe80::1%lo'");
	refuses("block {\n  x\n  }", "Corefile:3:3: 'block' takes no block");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_with_an_extended_error),
		cmocka_unit_test(filters_with_an_extended_error),
		cmocka_unit_test(drops_in_silence),
		cmocka_unit_test(first_policy_of_the_first_stanza_counts),
		cmocka_unit_test(allow_is_final),
		cmocka_unit_test(counts_by_server_zone_and_view),
		cmocka_unit_test(takes_thousands_of_networks),
		cmocka_unit_test(refuses_wrong_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
