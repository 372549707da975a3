/* SPDX-License-Identifier: GPL-3.0-or-later */
/* resolv.conf: the rules of miekg/dns, one row each. */
#include "dns/resolvconf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "dns/test_names.h"

static void print_words(struct strbuf *b, const char *name, const char **v, size_t n)
{
	strbuf_adds(b, name);
	for (size_t i = 0; i < n; i++)
		strbuf_addf(b, " %s", v[i]);
	strbuf_adds(b, "; ");
}

static void print_conf(struct strbuf *b, const struct dns_resolvconf *c)
{
	print_words(b, "ns", c->nameserver, c->n_nameserver);
	print_words(b, "search", c->search, c->n_search);
	strbuf_addf(b, "%u %u %u", c->ndots, c->timeout_s, c->attempts);
}

static const struct {
	const char *text, *want;
} rows[] = {
	{ "", "ns; search; 1 5 2" },
	{ "nameserver 192.0.2.1\nnameserver 2001:db8::1%eth0\n",
	  "ns 192.0.2.1 2001:db8::1%eth0; search; 1 5 2" },
	{ "nameserver 192.0.2.1 192.0.2.2 # two", "ns 192.0.2.1; search; 1 5 2" },
	{ "\t nameserver\t192.0.2.1\r\n", "ns 192.0.2.1; search; 1 5 2" },
	{ "nameserver\nnameservers 192.0.2.1\nNAMESERVER 192.0.2.1", "ns; search; 1 5 2" },
	{ "#nameserver 192.0.2.1\n; nameserver 192.0.2.2\n# nameserver 192.0.2.3",
	  "ns; search; 1 5 2" },
	{ "nameserver not-an-address", "ns not-an-address; search; 1 5 2" },
	{ "search a.example b.example. C.example",
	  "ns; search a.example b.example. C.example; 1 5 2" },
	{ "search a b\nsearch c", "ns; search c; 1 5 2" },
	{ "search a b\nsearch", "ns; search; 1 5 2" },
	{ "search a b\ndomain c d", "ns; search c; 1 5 2" },
	{ "search a b\ndomain", "ns; search; 1 5 2" },
	{ "domain c\nsearch a b", "ns; search a b; 1 5 2" },
	{ "search a # b", "ns; search a # b; 1 5 2" },
	{ "options ndots:5 timeout:3 attempts:4 rotate edns0", "ns; search; 5 3 4" },
	{ "options ndots:16 timeout:0 attempts:0", "ns; search; 15 1 1" },
	{ "options ndots:-1 timeout:-1 attempts:-7", "ns; search; 0 1 1" },
	{ "options ndots:x timeout: attempts:2x", "ns; search; 0 1 1" },
	{ "options ndots:99999999999999999999 timeout:+7", "ns; search; 15 7 2" },
	{ "options ndots:5\noptions timeout:2", "ns; search; 5 2 2" },
	{ "options xndots:5 ndots", "ns; search; 1 5 2" },
};

static void rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a;
		struct dns_resolvconf c;
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		arena_init(&a);
		assert_int_equal(dns_resolvconf_parse(slice_of(rows[i].text), &a, &c), 0);
		print_conf(&got, &c);
		if (strcmp(got.s, rows[i].want) != 0)
			fail_msg("'%s': got '%s', not '%s'", rows[i].text, got.s, rows[i].want);
		arena_done(&a);
	}
}

static int parse_repeated(const char *head, const char *word, size_t n)
{
	struct arena a;
	struct dns_resolvconf c;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, head);
	for (size_t i = 0; i < n; i++)
		strbuf_adds(&text, word);
	arena_init(&a);
	int r = dns_resolvconf_parse((struct slice){ text.s, text.n }, &a, &c);
	arena_done(&a);
	return r;
}

static void limits(void **state)
{
	(void)state;
	const size_t words = DNS_RESOLVCONF_WORDS_MAX;
	assert_int_equal(parse_repeated("search", " a", words), 0);
	assert_int_equal(parse_repeated("search", " a", words + 1), ERR_LIMIT);
	assert_int_equal(parse_repeated("", "nameserver ::1\n", words), 0);
	assert_int_equal(parse_repeated("", "nameserver ::1\n", words + 1), ERR_LIMIT);
	assert_int_equal(parse_repeated("", "\n", DNS_RESOLVCONF_BYTES_MAX), 0);
	assert_int_equal(parse_repeated("", "\n", DNS_RESOLVCONF_BYTES_MAX + 1), ERR_LIMIT);
}

static void keeps_the_longest_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		struct arena a;
		struct dns_resolvconf c;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		arena_init(&a);
		strbuf_addf(&text, "search a %s %s\n", longest_names[i], longest_names[i]);
		assert_int_equal(dns_resolvconf_parse(strbuf_slice(&text), &a, &c), 0);
		assert_int_equal(c.n_search, 3);
		assert_string_equal(c.search[2], longest_names[i]);
		arena_done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules),
		cmocka_unit_test(limits),
		cmocka_unit_test(keeps_the_longest_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
