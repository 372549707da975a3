/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Host files as kubelet reads them (PD-34 to PD-39), one row per file. */
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "dns/podresolv/podresolv.h"
#include "dns/podresolv/test_podresolv.h"

static void print_words(struct strbuf *out, const char *name, const struct slice *words, size_t n)
{
	strbuf_adds(out, name);
	for (size_t i = 0; i < n; i++)
		strbuf_addf(out, " %.*s", (int)words[i].n, words[i].p);
}

static void print_config(struct strbuf *out, const struct podresolv_config *config)
{
	print_words(out, "ns", config->nameservers, config->n_nameservers);
	print_words(out, "; search", config->searches, config->n_searches);
	strbuf_adds(out, "; options");
	for (size_t i = 0; i < config->n_options; i++) {
		print_words(out, "", &config->options[i].name, 1);
		if (config->options[i].value.n > 0)
			strbuf_addf(out, ":%.*s", (int)config->options[i].value.n,
				    config->options[i].value.p);
	}
}

/* Reads the file; the configuration as text, or "error: REASON". */
static void read_host(struct strbuf *out, struct slice text, bool use_domain)
{
	struct arena arena;
	struct podresolv_config config;
	char why[128] = "";
	arena_init(&arena);
	if (podresolv_parse_host(text, use_domain, &arena, &config, ERR_TEXT(why)) < 0)
		strbuf_addf(out, "error: %s", why);
	else
		print_config(out, &config);
	arena_done(&arena);
}

#define EMPTY "ns; search; options"

struct row {
	const char *text, *want;
};

/* The 38 files of kubelet's own test, options in our order. */
static const struct row kubelet_rows[] = {
	{ "", EMPTY },
	{ " ", EMPTY },
	{ "\n", EMPTY },
	{ "\t\n\t", EMPTY },
	{ "#comment\n", EMPTY },
	{ " #comment\n", EMPTY },
	{ "#comment\n#comment", EMPTY },
	{ "#comment\nnameserver", "error: line 2: nameserver has no address" },
	{ "#comment\nnameserver\nsearch", "error: line 2: nameserver has no address" },
	{ "#comment\nnameserver 1.2.3.4\nsearch", "ns 1.2.3.4; search; options" },
	{ "nameserver 1.2.3.4", "ns 1.2.3.4; search; options" },
	{ " nameserver 1.2.3.4", "ns 1.2.3.4; search; options" },
	{ "\tnameserver 1.2.3.4", "ns 1.2.3.4; search; options" },
	{ "nameserver\t1.2.3.4", "ns 1.2.3.4; search; options" },
	{ "nameserver \t 1.2.3.4", "ns 1.2.3.4; search; options" },
	{ "nameserver 1.2.3.4\nnameserver 5.6.7.8", "ns 1.2.3.4 5.6.7.8; search; options" },
	{ "nameserver 1.2.3.4 #comment", "ns 1.2.3.4; search; options" },
	{ "search ", EMPTY },
	{ "search .", EMPTY },
	{ "search . foo", "ns; search foo; options" },
	{ "search foo .", "ns; search foo; options" },
	{ "search foo .  bar", "ns; search foo bar; options" },
	{ "search foo", "ns; search foo; options" },
	{ "search foo bar", "ns; search foo bar; options" },
	{ "search foo. bar", "ns; search foo bar; options" },
	{ "search foo bar bat\n", "ns; search foo bar bat; options" },
	{ "search foo\nsearch bar", "ns; search bar; options" },
	{ "nameserver 1.2.3.4\nsearch foo bar", "ns 1.2.3.4; search foo bar; options" },
	{ "nameserver 1.2.3.4\nsearch foo\nnameserver 5.6.7.8\nsearch bar",
	  "ns 1.2.3.4 5.6.7.8; search bar; options" },
	{ "#comment\nnameserver 1.2.3.4\n#comment\nsearch foo\ncomment",
	  "ns 1.2.3.4; search foo; options" },
	{ "options ", EMPTY },
	{ "options ndots:5 attempts:2", "ns; search; options ndots:5 attempts:2" },
	{ "options ndots:1 ndots:5 attempts:2", "ns; search; options ndots:5 attempts:2" },
	{ "options ndots:1 edns0 attempts:2 single-request-reopen",
	  "ns; search; options ndots:1 edns0 attempts:2 single-request-reopen" },
	{ "options ndots:1\noptions ndots:5 attempts:3", "ns; search; options ndots:5 attempts:3" },
	{ "options ndots:1 timeout:3 timeout:1 attempts:3\noptions ndots:5",
	  "ns; search; options ndots:5 timeout:1 attempts:3" },
	{ "options ndots:1 attempts:3\noptions ndots:1 attempts:3 ndots:5",
	  "ns; search; options ndots:5 attempts:3" },
	{ "nameserver 1.2.3.4\nsearch foo\nnameserver 5.6.7.8\nsearch bar\noptions ndots:5 "
	  "attempts:4",
	  "ns 1.2.3.4 5.6.7.8; search bar; options ndots:5 attempts:4" },
};

static void check_rows(const struct row *rows, size_t n, bool use_domain)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		read_host(&got, slice_of(rows[i].text), use_domain);
		if (strcmp(got.s, rows[i].want) != 0)
			fail_msg("row %zu '%s': got '%s', not '%s'", i, rows[i].text, got.s,
				 rows[i].want);
	}
}

static void kubelet_table(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_LEN(kubelet_rows), 38);
	check_rows(kubelet_rows, ARRAY_LEN(kubelet_rows), false);
}

/* PD-34: any white space of Unicode separates words, and a carriage return is some. */
static void white_space(void **state)
{
	static const struct row rows[] = {
		{ "nameserver 1.2.3.4\r\nsearch a\r\n", "ns 1.2.3.4; search a; options" },
		{ "search a\xc2\xa0"
		  "b\xe2\x80\x83"
		  "c\xe3\x80\x80"
		  "d\x0b"
		  "e",
		  "ns; search a b c d e; options" },
		{ "\xc2\x85search a", "ns; search a; options" },
		{ "search a\xa0"
		  "b",
		  "ns; search a\xa0"
		  "b; options" }, /* no UTF-8 */
	};
	(void)state;
	check_rows(rows, ARRAY_LEN(rows), false);
}

/* PD-35 */
static void comments(void **state)
{
	static const struct row rows[] = {
		{ ";search a", EMPTY },
		{ "; search a", EMPTY },
		{ "search a # b", "ns; search a # b; options" },
		{ "search a #b ;c", "ns; search a #b ;c; options" },
		{ "options edns0 #no", "ns; search; options edns0 #no" },
		{ "# nameserver\n ## search x", EMPTY },
	};
	(void)state;
	check_rows(rows, ARRAY_LEN(rows), false);
}

/* PD-36, PD-37, PD-38 */
static void lines(void **state)
{
	static const struct row rows[] = {
		{ "nameserver x y\nnameserver fe80::1%eth0", "ns x fe80::1%eth0; search; options" },
		{ "nameserver 192.0.2.1\nnameserver 192.0.2.1",
		  "ns 192.0.2.1 192.0.2.1; search; options" },
		{ "search a b\nnameserver\t\nsearch c",
		  "error: line 2: nameserver has no address" },
		{ "search a b\nsearch", EMPTY },
		{ "search a a b.", "ns; search a a b; options" },
		{ "search .. a..", "ns; search . a.; options" },
		{ "options a:1:2 b: c", "ns; search; options a:1:2 b c" },
		{ "options a b\noptions b:1 a:2", "ns; search; options a:2 b:1" },
		{ "Nameserver 192.0.2.1\nSEARCH a\nnameservers 192.0.2.1", EMPTY },
	};
	(void)state;
	check_rows(rows, ARRAY_LEN(rows), false);
}

/* PD-39 */
static void domain_lines(void **state)
{
	static const struct row ignored[] = {
		{ "domain a", EMPTY },
		{ "sortlist 192.0.2.0\nlookup file bind", EMPTY },
	};
	static const struct row used[] = {
		{ "domain a b", "ns; search a; options" },
		{ "domain a.\ndomain b.", "ns; search b; options" },
		{ "domain a\nsearch b c", "ns; search b c; options" },
		{ "search b c\ndomain a", "ns; search b c; options" },
		{ "domain a\nsearch", EMPTY },
		{ "domain", EMPTY },
	};
	struct arena arena;
	struct podresolv_config config;
	(void)state;
	check_rows(ignored, ARRAY_LEN(ignored), false);
	check_rows(used, ARRAY_LEN(used), true);
	arena_init(&arena);
	assert_int_equal(podresolv_parse_host(SLICE("domain a"), false, &arena, &config,
					      (struct err_text){ NULL, 0 }),
			 0);
	assert_true(slice_is(config.unused_domain, "a"));
	assert_int_equal(podresolv_parse_host(SLICE("domain a"), true, &arena, &config,
					      (struct err_text){ NULL, 0 }),
			 0);
	assert_int_equal(config.unused_domain.n, 0);
	arena_done(&arena);
}

/* PD-34: one byte less than 10 MiB is the largest file. Its million different options are read in
 * a time that does not grow with their square. */
static void largest_file(void **state)
{
	size_t n = PODRESOLV_HOST_BYTES_MAX;
	char *text = xmalloc(n + 1);
	struct podresolv_config config;
	struct arena arena;
	char why[128];
	(void)state;
	memset(text, ' ', n + 1);
	memcpy(text, "options", 7);
	for (size_t i = 8; i + 9 < n; i += 10)
		for (size_t k = 0, number = i / 10; k < 8; k++, number /= 10)
			text[i + k] = (char)('0' + number % 10);
	arena_init(&arena);
	assert_int_equal(podresolv_parse_host((struct slice){ text, n }, false, &arena, &config,
					      ERR_TEXT(why)),
			 0);
	assert_int_equal(config.n_options, (n - 8) / 10);
	assert_int_equal(podresolv_parse_host((struct slice){ text, n + 1 }, false, &arena, &config,
					      ERR_TEXT(why)),
			 ERR_LIMIT);
	assert_string_equal(why, "the file has 10 MiB or more");
	arena_done(&arena);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kubelet_table), cmocka_unit_test(white_space),
		cmocka_unit_test(comments),	 cmocka_unit_test(lines),
		cmocka_unit_test(domain_lines),	 cmocka_unit_test(largest_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
