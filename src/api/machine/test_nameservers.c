/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Name servers and search domains: canonical forms, what is refused, and texts in JSON and YAML. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/machine/nameservers_test.h"

#define L63 "a23456789012345678901234567890123456789012345678901234567890123"

static const struct {
	const char *text, *canonical; /* NULL: refused */
} domains[] = {
	{ ".", "." },
	{ "corp.domain", "corp.domain" },
	{ "corp.domain.", "corp.domain" },
	{ "Corp.DOMAIN", "corp.domain" },
	{ "local", "local" },
	{ "_x._tcp.y", "_x._tcp.y" },
	{ "a._b", "a._b" },
	{ "a-b.c_d", "a-b.c_d" },
	{ "1.2.3", "1.2.3" },
	{ L63 ".x", L63 ".x" },
	{ L63 "4.x", NULL },
	{ "", NULL },
	{ "..", NULL },
	{ "a..b", NULL },
	{ ".a", NULL },
	{ "a..", NULL },
	{ "_", NULL },
	{ "_.a", NULL },
	{ "__a", NULL },
	{ "-.a", NULL },
	{ "-a", NULL },
	{ "a-", NULL },
	{ "a_", NULL },
	{ "bad domain;x", NULL },
	{ "a\nb", NULL },
	{ "a\"b", NULL },
	{ "b\303\274cher.de", NULL },
	{ "*.a", NULL },
	{ "a/b", NULL },
	{ "~corp", NULL },
};

static void domain_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
		char out[MACHINE_DOMAIN_MAX + 1];
		const char *wrong = machine_domain_parse(slice_of(domains[i].text), out);
		if ((wrong == NULL) != (domains[i].canonical != NULL))
			fail_msg("'%s': %s", domains[i].text, wrong != NULL ? wrong : "accepted");
		if (wrong == NULL)
			assert_string_equal(out, domains[i].canonical);
	}
}

static void domain_of_253_characters(void **state)
{
	(void)state;
	char text[256], out[MACHINE_DOMAIN_MAX + 1];
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 == 0 ? 'a' : '.';
	assert_null(machine_domain_parse((struct slice){ text, 253 }, out));
	assert_int_equal(strlen(out), 253);
	assert_null(machine_domain_parse((struct slice){ text, 254 }, out)); /* ends with a dot */
	assert_non_null(machine_domain_parse((struct slice){ text, 255 }, out));
	assert_non_null(machine_domain_parse((struct slice){ "a\0b", 3 }, out));
}

static const struct {
	const char *text, *canonical;
	int family;
} addresses[] = {
	{ "10.0.0.1", "10.0.0.1", AF_INET },
	{ "2001:DB8:0::1", "2001:db8::1", AF_INET6 },
	{ "0:0:0:0:0:0:0:1", "::1", AF_INET6 },
	{ "::ffff:10.0.0.1", NULL, 0 },
	{ "010.0.0.1", NULL, 0 },
	{ "10.0.0", NULL, 0 },
	{ "10.0.0.1/24", NULL, 0 },
	{ "fe80::1%eth0", NULL, 0 },
	{ "[::1]", NULL, 0 },
	{ "10.0.0.1 ", NULL, 0 },
	{ "10.0.0.1, 8.8.8.8", NULL, 0 },
	{ "dns.example.org", NULL, 0 },
	{ "", NULL, 0 },
};

static void address_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		char out[MACHINE_IP_TEXT_MAX];
		int family = machine_ip_parse(addresses[i].text, out);
		if (family != addresses[i].family)
			fail_msg("'%s': family %d", addresses[i].text, family);
		if (family != 0)
			assert_string_equal(out, addresses[i].canonical);
	}
}

/* What a JSON text is read as, or which problem it has. */
static const struct {
	const char *text;
	bool found;
	size_t n_search, n_addresses, n_errors;
	const char *problem;
} texts[] = {
	{ "{}", false, 0, 0, 0, NULL },
	{ "null", false, 0, 0, 0, NULL },
	{ "{\"search\":null,\"addresses\":null}", false, 0, 0, 0, NULL },
	{ "{\"search\":[],\"addresses\":[]}", false, 0, 0, 0, NULL },
	{ "{\"search\":[\"a.b\"]}", true, 1, 0, 0, NULL },
	{ "{\"addresses\":[\"10.0.0.1\",\"::1\"]}", true, 0, 2, 0, NULL },
	{ "{\"addresses\":[\"0.0.0.0\"]}", true, 0, 0, 1,
	  "'0.0.0.0' stands for no host (0.0.0.0/8): no name server can have it" },
	{ "{\"addresses\":[\"0::0\"]}", true, 0, 0, 1, "'::' stands for no host: no name" },
	{ "{\"addresses\":[\"224.0.0.251\"]}", true, 0, 0, 1,
	  "'224.0.0.251' is a multicast address: no name server can have it" },
	{ "{\"addresses\":[\"ff02::fb\"]}", true, 0, 0, 1, "'ff02::fb' is a multicast address" },
	{ "{\"addresses\":[\"255.255.255.255\"]}", true, 0, 0, 1,
	  "'255.255.255.255' is the broadcast address" },
	{ "{\"addresses\":[\"127.0.0.53\"]}", true, 0, 1, 0,
	  "'127.0.0.53' is a loopback address: it is a name server only if the guest runs one" },
	{ "{\"addresses\":[\"::1\"]}", true, 0, 1, 0, "'::1' is the loopback address" },
	{ "{\"addresses\":[\"223.255.255.255\",\"240.0.0.1\",\"fe80::1\"]}", true, 0, 3, 0, NULL },
	{ "{\"addresses\":[\"10.0.0.1\",\"x\"]}", true, 0, 1, 1, "'x' is not an IP address" },
	{ "{\"addresses\":[\"::ffff:1.2.3.4\"]}", true, 0, 0, 1,
	  "'::ffff:1.2.3.4' is an IPv4 address in the form of IPv6, which is not accepted: write "
	  "1.2.3.4" },
	{ "{\"addresses\":[\"fe80::1%eth0\"]}", true, 0, 0, 1,
	  "'fe80::1%eth0' has a zone (%eth0): zones are not allowed" },
	{ "{\"addresses\":[\"x%eth0\"]}", true, 0, 0, 1, "'x%eth0' is not an IP address" },
	{ "{\"addresses\":[7]}", true, 0, 0, 1, "'7' is not an IP address" },
	{ "{\"addresses\":[\"10.0.0.1\\u0000x\"]}", false, 0, 0, 1, "is not JSON: line 1" },
	{ "{\"search\":[\"a b\"]}", true, 0, 0, 1, "'a b' is not a search domain: a label has" },
	{ "{\"search\":[\"\303\251.de\"]}", true, 0, 0, 1,
	  "'\303\251.de' is not a search domain: letters beyond ASCII must be written in their "
	  "xn-- "
	  "form" },
	{ "{\"search\":[\"xn--9ca.de\"]}", true, 1, 0, 0, NULL },
	{ "{\"search\":[null]}", true, 0, 0, 1, "'null' is not a search domain: it is no string" },
	{ "{\"search\":\"a.b\"}", false, 0, 0, 1, "must be a list" },
	{ "[\"10.0.0.1\"]", false, 0, 0, 1, "must be an object with the lists" },
	{ "{\"servers\":[\"10.0.0.1\"]}", false, 0, 0, 1, "has the unknown member 'servers'" },
	{ "{\"search\":[],\"search\":[]}", false, 0, 0, 1, "is not JSON: line 1, column" },
	{ "10.0.0.1", false, 0, 0, 1, "is not JSON: line 1, column" },
	{ "", false, 0, 0, 1, "is not JSON: line 1, column" },
};

static void text_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct arena arena;
		struct machine_nameservers dns;
		arena_init(&arena);
		struct machine_problems problems = { .arena = &arena };
		bool found = machine_parse_nameservers(slice_of(texts[i].text), NULL, "field",
						       &problems, &dns);
		if (found != texts[i].found || problems.n_errors != texts[i].n_errors)
			fail_msg("%s: %d, %zu errors", texts[i].text, found, problems.n_errors);
		assert_int_equal(dns.search.n, texts[i].n_search);
		assert_int_equal(dns.addresses.n, texts[i].n_addresses);
		if (texts[i].problem != NULL && problems.n == 0)
			fail_msg("%s: no problem", texts[i].text);
		if (texts[i].problem != NULL &&
		    strstr(problems.v[0].text, texts[i].problem) == NULL)
			fail_msg("%s: %s", texts[i].text, problems.v[0].text);
		arena_done(&arena);
	}
}

/* What the text of the ConfigMap is read as: YAML, of which JSON is a part. */
static const struct {
	const char *text, *search, *address, *problem;
} defaults[] = {
	{ "search: [corp.example]\naddresses: [10.0.0.53]\n", "corp.example", "10.0.0.53", NULL },
	{ "search:\n- Corp.Example.\naddresses:\n- 2001:DB8::53\n", "corp.example", "2001:db8::53",
	  NULL },
	{ "{\"search\": [\"corp.example\"], \"addresses\": [\"10.0.0.53\"]}", "corp.example",
	  "10.0.0.53", NULL },
	{ "", NULL, NULL, NULL },
	{ "{}", NULL, NULL, NULL },
	{ "search: [corp\naddresses: {", NULL, NULL, "is not YAML: line " },
	{ "search: [a]\nsearch: [b]\n", NULL, NULL, "is not YAML: line 2, column 1: " },
	{ "a: 1\n---\nb: 2\n", NULL, NULL, "is not YAML: line 1, column 1: more than one" },
	{ "searchs: [corp.example]\naddresses: [10.0.0.53]\n", NULL, "10.0.0.53",
	  "has the unknown member 'searchs'" },
	{ "10.0.0.53", NULL, NULL, "must be an object with the lists" },
	{ "search: [no]\n", NULL, NULL, "it is no string" },
};

static void default_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
		struct arena arena;
		struct machine_nameservers dns;
		arena_init(&arena);
		struct machine_problems problems = { .arena = &arena };
		IGNORE(machine_parse_default_nameservers(slice_of(defaults[i].text), NULL,
							 "data.nameservers", &problems, &dns));
		const char *problem = problems.n > 0 ? problems.v[0].text : NULL;
		if ((problem != NULL) != (defaults[i].problem != NULL) ||
		    (problem != NULL && strstr(problem, defaults[i].problem) == NULL))
			fail_msg("%s: %s", defaults[i].text,
				 problem != NULL ? problem : "accepted");
		assert_int_equal(dns.search.n, defaults[i].search != NULL);
		assert_int_equal(dns.addresses.n, defaults[i].address != NULL);
		if (defaults[i].search != NULL)
			assert_string_equal(dns.search.v[0], defaults[i].search);
		if (defaults[i].address != NULL)
			assert_string_equal(dns.addresses.v[0], defaults[i].address);
		arena_done(&arena);
	}
}

static void limits_are_reached(void **state)
{
	(void)state;
	static char text[MACHINE_NAMESERVERS_BYTES_MAX + 2];
	struct arena arena;
	struct machine_nameservers dns;
	arena_init(&arena);
	struct machine_problems problems = { .arena = &arena };
	memset(text, ' ', sizeof(text));
	memcpy(text, "{}", 2);
	IGNORE(machine_parse_nameservers((struct slice){ text, MACHINE_NAMESERVERS_BYTES_MAX },
					 NULL, "f", &problems, &dns));
	assert_int_equal(problems.n_errors, 0);
	IGNORE(machine_parse_nameservers((struct slice){ text, MACHINE_NAMESERVERS_BYTES_MAX + 1 },
					 NULL, "f", &problems, &dns));
	assert_string_equal(problems.v[0].text, "has 16385 bytes, at most 16384 are allowed");
	IGNORE(machine_parse_default_nameservers(
		(struct slice){ text, MACHINE_NAMESERVERS_BYTES_MAX }, NULL, "f", &problems, &dns));
	assert_int_equal(problems.n_errors, 1);
	IGNORE(machine_parse_default_nameservers(
		(struct slice){ text, MACHINE_NAMESERVERS_BYTES_MAX + 1 }, NULL, "f", &problems,
		&dns));
	assert_string_equal(problems.v[1].text, problems.v[0].text);
	json_t *list = json_array();
	for (int i = 0; i < MACHINE_LIST_MAX; i++)
		json_array_append_new(list, json_string("10.0.0.1"));
	machine_read_servers(list, NULL, "f", &problems, &dns.addresses);
	assert_int_equal(dns.addresses.n, MACHINE_LIST_MAX);
	json_array_append_new(list, json_string("10.0.0.1"));
	machine_read_servers(list, NULL, "f", &problems, &dns.addresses);
	assert_string_equal(problems.v[2].text, "has 33 entries, at most 32 are allowed");
	assert_int_equal(dns.addresses.n, 0);
	json_decref(list);
	for (int i = 0; i < 2 * MACHINE_PROBLEMS_MAX; i++)
		machine_report(&problems, NULL, "f", "a\033[31mb");
	assert_int_equal(problems.n, MACHINE_PROBLEMS_MAX);
	assert_int_equal(problems.n_errors, 3 + 2 * MACHINE_PROBLEMS_MAX);
	assert_string_equal(problems.v[3].text, "a?[31mb");
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domain_table),	 cmocka_unit_test(domain_of_253_characters),
		cmocka_unit_test(address_table), cmocka_unit_test(text_table),
		cmocka_unit_test(default_table), cmocka_unit_test(limits_are_reached),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
