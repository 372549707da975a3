/* SPDX-License-Identifier: GPL-3.0-or-later */
/* key: schemes, ports, names and networks. */
#include "corefile/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/strbuf.h"

#define L63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define L60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *key;
	const char *want; /* scheme port(- if none) zones; NULL: refused */
} cases[] = {
	{ ".", "dns - ." },
	{ ".:53", "dns 53 ." },
	{ ".:0", "dns 0 ." },
	{ "dns://.:+53", "dns 53 ." },
	{ "example.org", "dns - example.org." },
	{ "Example.ORG.:1053", "dns 1053 example.org." },
	{ "tls://example.org", "tls - example.org." },
	{ "quic://example.org", "quic - example.org." },
	{ "grpc://example.org:1443", "grpc 1443 example.org." },
	{ "https://example.org", "https - example.org." },
	{ "https3://example.org", "https3 - example.org." },
	{ "http://example.org", "dns - http://example.org." },
	{ "TLS://example.org", "dns - tls://example.org." },
	{ "dns://tls://a", "dns - tls://a." },
	{ "a:b", "dns - a:b." },
	{ "2001:db8::1", "dns 1 2001:db8:." },
	{ "a\\.b.c", "dns - a\\.b.c." },
	{ "a\\.", "dns - a\\.." },
	{ "a\\065", "dns - a\\065." },
	{ "_x.*.b c", "dns - _x.*.b c." },
	{ L63 ".b", "dns - " L63 ".b." },
	{ L63 "." L63 "." L63 "." L60 "a", "dns - " L63 "." L63 "." L63 "." L60 "a." },
	{ "10.0.0.0/8:53", "dns 53 10.in-addr.arpa." },
	{ "10.0.0.0/16", "dns - 0.10.in-addr.arpa." },
	{ "10.1.2.3/24", "dns - 2.1.10.in-addr.arpa." },
	{ "10.1.2.3/32", "dns - 3.2.1.10.in-addr.arpa." },
	{ "0.0.0.0/0", "dns - in-addr.arpa." },
	{ "10.0.0.0/15", "dns - 0.10.in-addr.arpa. 1.10.in-addr.arpa." },
	{ "192.168.1.1/23", "dns - 0.168.192.in-addr.arpa. 1.168.192.in-addr.arpa." },
	{ "10.129.60.0/22", "dns - 60.129.10.in-addr.arpa. 61.129.10.in-addr.arpa. "
			    "62.129.10.in-addr.arpa. 63.129.10.in-addr.arpa." },
	{ "255.255.255.254/31",
	  "dns - 254.255.255.255.in-addr.arpa. 255.255.255.255.in-addr.arpa." },
	{ "2001:db8::/32", "dns - 8.b.d.0.1.0.0.2.ip6.arpa." },
	{ "2001:DB8::/31", "dns - 8.b.d.0.1.0.0.2.ip6.arpa. 9.b.d.0.1.0.0.2.ip6.arpa." },
	{ "2001:db8::/30:53", "dns 53 8.b.d.0.1.0.0.2.ip6.arpa. 9.b.d.0.1.0.0.2.ip6.arpa. "
			      "a.b.d.0.1.0.0.2.ip6.arpa. b.b.d.0.1.0.0.2.ip6.arpa." },
	{ "2001:db8::/112",
	  "dns - 0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa." },
	{ "2000::/0", "dns - ip6.arpa." },
	/* What is no network is a name. */
	{ "10.0.0.0/33", "dns - 10.0.0.0/33." },
	{ "010.0.0.0/8", "dns - 010.0.0.0/8." },
	{ "10.0.0.0/08", "dns - 10.in-addr.arpa." },
	{ "10.0.0/8", "dns - 10.0.0/8." },
	{ "fe80::1%eth0/64", "dns - fe80::1%eth0/64." },
	{ "0/25.2.0.192.in-addr.arpa", "dns - 0/25.2.0.192.in-addr.arpa." },
	{ "", NULL },
	{ ":53", NULL },
	{ "a:", NULL },
	{ "tls://", NULL },
	{ "a:65536", NULL },
	{ "a:-1", NULL },
	{ "a:99999999999999999999999", NULL },
	{ "a..b", NULL },
	{ ".a", NULL },
	{ "..", NULL },
	{ "a\\", NULL },
	{ "a\\256", NULL },
	{ L63 "a", NULL },
	{ L63 "." L63 "." L63 "." L60 "aa", NULL },
	{ "\\097" L63, NULL },
	{ "::ffff:b:f/115", NULL },
	{ "0::/8", NULL },
	{ "unix://x", NULL },
};

static void parses_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a;
		struct corefile_key key;
		struct srcerr err = { .text = "" };
		struct word w = { cases[i].key, { "f", 3, 4 } };
		struct strbuf got = STRBUF_INIT;
		arena_init(&a);
		int r = corefile_key_parse(&a, &w, &key, &err);
		if (cases[i].want == NULL) {
			assert_int_equal(r, ERR_PARSE);
			assert_int_equal(err.pos.line, 3);
			assert_true(err.text[0] != '\0');
		} else {
			assert_int_equal(r, 0);
			strbuf_adds(&got, key.scheme);
			strbuf_adds(&got, key.has_port ? "" : " -");
			if (key.has_port)
				strbuf_addf(&got, " %u", key.port);
			for (size_t k = 0; k < key.n_zones; k++)
				strbuf_addf(&got, " %s", key.zones[k]);
			assert_string_equal(got.s, cases[i].want);
		}
		strbuf_done(&got);
		arena_done(&a);
	}
}

static void limits_the_text(void **state)
{
	(void)state;
	struct arena a;
	struct corefile_key key;
	struct srcerr err;
	char text[300] = "";
	struct word w = { text, { "f", 1, 1 } };
	arena_init(&a);
	/* Escapes make few octets of many characters. */
	for (int i = 0; i < 64; i++)
		memcpy(text + (size_t)i * 4, i % 16 == 15 ? "a.b." : "\\065", 5);
	assert_int_equal(corefile_key_parse(&a, &w, &key, &err), ERR_PARSE);
	assert_non_null(strstr(err.text, "zone of 256 characters"));
	text[255] = '\0';
	assert_int_equal(corefile_key_parse(&a, &w, &key, &err), 0);
	arena_done(&a);
}

static void off_boundary_networks_have_all_zones(void **state)
{
	(void)state;
	struct arena a;
	const char *const *zones;
	size_t n;
	struct word w = { "tls://192.168.1.0/25:853", { "f", 1, 1 } };
	arena_init(&a);
	assert_int_equal(corefile_zones_expand(&a, &w, &zones, &n, NULL), 0);
	assert_int_equal(n, 128);
	assert_string_equal(zones[0], "0.1.168.192.in-addr.arpa.");
	assert_string_equal(zones[127], "127.1.168.192.in-addr.arpa.");
	w.s = "Example.org:99999";
	assert_int_equal(corefile_zones_expand(&a, &w, &zones, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_string_equal(zones[0], "example.org.");
	w.s = "a..b";
	assert_int_equal(corefile_zones_expand(&a, &w, &zones, &n, NULL), ERR_PARSE);
	arena_done(&a);
}

static void schemes_have_ports(void **state)
{
	(void)state;
	static const uint16_t ports[COREFILE_N_SCHEMES] = { 53, 853, 853, 443, 443, 443 };
	for (size_t i = 0; i < COREFILE_N_SCHEMES; i++)
		assert_int_equal(corefile_schemes[i].port, ports[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_keys),
		cmocka_unit_test(limits_the_text),
		cmocka_unit_test(off_boundary_networks_have_all_zones),
		cmocka_unit_test(schemes_have_ports),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
