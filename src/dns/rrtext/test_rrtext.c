/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record texts against what CoreDNS's parser makes of them (test_rrtext.txt), the direct path
 * against libzscanner, limits, and that parsing never calls the allocator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "dns/rrtext/fields_priv.h"
#include "dns/rrtext/parser.h"
#include "dns/rrtext/rrtext_test.h"
#include "dns/rrtext/scan_priv.h"
#include "dns/test_names.h"

/* glibc's allocator under another name, so that calls can be counted. */
void *__libc_malloc(size_t count);
void *__libc_realloc(void *data, size_t len);
void *__libc_calloc(size_t count, size_t size);

static unsigned long allocations;

#if !SANITIZED
void *malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	allocations++;
	return __libc_realloc(p, n);
}
#endif

enum { LINE_MAX_BYTES = 4096, WIRE_MAX = 2048 };

static struct dns_rrtext *parser;
static char arena_buf[70000];

static int setup(void **state)
{
	(void)state;
	parser = dns_rrtext_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dns_rrtext_free(parser);
	return 0;
}

static int parse(struct slice text, struct dns_rr *rr)
{
	struct arena a;
	arena_init_fixed(&a, arena_buf, sizeof(arena_buf));
	return dns_rrtext_parse(parser, text, &a, rr);
}

static void hex(char **o, const uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < n; i++) {
		*(*o)++ = digits[p[i] >> 4];
		*(*o)++ = digits[p[i] & 15];
	}
	**o = '\0';
}

/* The record's whole wire form in hexadecimal. */
static void wire_hex(const struct dns_rr *rr, char out[2 * WIRE_MAX + 1])
{
	uint8_t fixed[10];
	assert_true((size_t)rr->owner_len + sizeof(fixed) + rr->rdlen <= WIRE_MAX);
	dns_put16(fixed, rr->type);
	dns_put16(fixed + 2, rr->cls);
	dns_put32(fixed + 4, rr->ttl);
	dns_put16(fixed + 8, rr->rdlen);
	hex(&out, rr->owner, rr->owner_len);
	hex(&out, fixed, sizeof(fixed));
	hex(&out, rr->rdata, rr->rdlen);
}

static void outcome(struct slice text, char out[2 * WIRE_MAX + 1])
{
	struct dns_rr rr;
	int r = parse(text, &rr);
	if (r == 0)
		wire_hex(&rr, out);
	else
		snprintf(out, 2 * WIRE_MAX + 1, "%s", r == ERR_NOTFOUND ? "none" : "error");
	assert_true(r == 0 || r == ERR_NOTFOUND || r == ERR_PARSE);
	assert_true((r == ERR_PARSE) == (dns_rrtext_error(parser)[0] != '\0'));
}

static int from_hex(char c)
{
	return c >= 'a' ? c - 'a' + 10 : c >= 'A' ? c - 'A' + 10 : c - '0';
}

static struct slice unpercent(char *s)
{
	char *o = s;
	for (const char *p = s; *p != '\0'; p++) {
		if (p[0] == '%') {
			*o++ = (char)(from_hex(p[1]) << 4 | from_hex(p[2]));
			p += 2;
		} else {
			*o++ = *p;
		}
	}
	return (struct slice){ s, (size_t)(o - s) };
}

typedef void (*row_fn)(struct slice text, const char *want, const char *shown);

/* A row: expectation, tab, text with %XX for control characters. */
static unsigned each_row(row_fn fn)
{
	char line[LINE_MAX_BYTES];
	char shown[LINE_MAX_BYTES];
	unsigned rows = 0;
	FILE *f = fopen(SOURCE_DIR "/test_rrtext.txt", "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		char *text = strchr(line, '\t');
		if (line[0] == '#' || text == NULL)
			continue;
		*text++ = '\0';
		snprintf(shown, sizeof(shown), "%s", text);
		fn(unpercent(text), line, shown);
		rows++;
	}
	fclose(f);
	return rows;
}

static unsigned wrong;

static void check_row(struct slice text, const char *want, const char *shown)
{
	char got[2 * WIRE_MAX + 1];
	outcome(text, got);
	if (strcmp(got, want) == 0)
		return;
	print_error("%s\n  want %s\n  got  %s %s\n", shown, want, got, dns_rrtext_error(parser));
	wrong++;
}

static void test_as_coredns(void **state)
{
	(void)state;
	wrong = 0;
	assert_true(each_row(check_row) > 300);
	assert_int_equal(wrong, 0);
}

static unsigned compared;

static void check_both(struct slice text, const char *want, const char *shown)
{
	char direct[2 * WIRE_MAX + 1];
	char scanned[2 * WIRE_MAX + 1];
	struct dns_rr rr;
	(void)want;
	if (parse(text, &rr) != 0 || dns_rrtext_layout_find(rr.type) == NULL ||
	    !dns_rrtext_scan_knows(rr.type))
		return;
	/* Only the direct path splits long strings and lets SOA's last field be left out. */
	if (rr.rdlen > 255 || strcmp(shown, "x. 60 IN SOA ns. mail. 1 2 3 4") == 0)
		return;
	wire_hex(&rr, direct);
	dns_rrtext_force_scanner(parser, true);
	outcome(text, scanned);
	dns_rrtext_force_scanner(parser, false);
	compared++;
	if (strcmp(direct, scanned) == 0)
		return;
	print_error("%s\n  direct  %s\n  scanned %s\n", shown, direct, scanned);
	wrong++;
}

static void test_both_paths(void **state)
{
	(void)state;
	wrong = 0;
	each_row(check_both);
	assert_true(compared > 100);
	assert_int_equal(wrong, 0);
}

static void parse_only(struct slice text, const char *want, const char *shown)
{
	struct dns_rr rr;
	unsigned long before = allocations;
	(void)want;
	IGNORE(parse(text, &rr)); /* what comes out is compared elsewhere */
	if (allocations == before)
		return;
	print_error("allocates: %s\n", shown);
	wrong++;
}

static void test_no_allocation(void **state)
{
	(void)state;
#if !SANITIZED
	unsigned long before = allocations;
	void *volatile kept = malloc(1); /* not to be optimised away */
	free(kept);
	assert_true(allocations > before);
#endif
	wrong = 0;
	each_row(parse_only);
	dns_rrtext_force_scanner(parser, true);
	each_row(parse_only);
	dns_rrtext_force_scanner(parser, false);
	assert_int_equal(wrong, 0);
}

static void test_error_has_place(void **state)
{
	struct dns_rr rr;
	(void)state;
	assert_int_equal(parse(SLICE("; c\nx. 60 IN A 10.0.0"), &rr), ERR_PARSE);
	assert_string_equal(dns_rrtext_error(parser), "bad IPv4 address at line 2 column 12");
	assert_int_equal(parse(SLICE("$TTL 60\n"), &rr), ERR_PARSE);
	assert_string_equal(dns_rrtext_error(parser),
			    "directives are not allowed at line 1 column 1");
	assert_int_equal(parse(SLICE("$include /etc/passwd\n"), &rr), ERR_PARSE);
	assert_int_equal(parse(SLICE("x. 60 IN LOC 91 N 0 E 0m"), &rr), ERR_PARSE);
	assert_non_null(strstr(dns_rrtext_error(parser), " at line 1 column "));
	assert_int_equal(parse(SLICE("x. A 10.0.0.1"), &rr), 0);
	assert_string_equal(dns_rrtext_error(parser), "");
}

static void test_limits(void **state)
{
	static char text[RRTEXT_MAX_BYTES + 2];
	struct dns_rr rr;
	struct arena a;
	(void)state;
	int n = snprintf(text, sizeof(text), "x. 60 IN TXT ");
	memset(text + n, 'a', sizeof(text) - (size_t)n);
	assert_int_equal(parse((struct slice){ text, RRTEXT_MAX_BYTES + 1 }, &rr), ERR_PARSE);
	assert_non_null(strstr(dns_rrtext_error(parser), "longer"));
	/* 65536 bytes of text fit, but their strings do not fit into rdata. */
	assert_int_equal(parse((struct slice){ text, RRTEXT_MAX_BYTES }, &rr), ERR_PARSE);
	assert_non_null(strstr(dns_rrtext_error(parser), "too long"));
	assert_int_equal(parse((struct slice){ text, (size_t)n + 255 * 255 }, &rr), 0);
	assert_int_equal(rr.rdlen, 255 * 256);
	/* The arena is used up. */
	char small[8];
	arena_init_fixed(&a, small, sizeof(small));
	assert_int_equal(dns_rrtext_parse(parser, SLICE("example. A 1.2.3.4"), &a, &rr), ERR_SPACE);
	/* Each byte escaped anew for the scanner. */
	n = snprintf(text, sizeof(text), "x. 60 IN CAA 0 issue \"");
	memset(text + n, 0xe9, sizeof(text) - (size_t)n);
	text[RRTEXT_MAX_BYTES - 1] = '"';
	IGNORE(parse((struct slice){ text, RRTEXT_MAX_BYTES }, &rr)); /* must not overflow */
	text[n + 1000] = '"';
	assert_int_equal(parse((struct slice){ text, (size_t)n + 1001 }, &rr), 0);
	assert_int_equal(rr.rdlen, 1 + 6 + 1000);
}

/* As owner and as data, on both paths; one label more only while it makes 255 octets. */
static void test_longest_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES * 2 * 2; i++) {
		size_t octets = longest_name_octets(i % LONGEST_NAMES);
		bool add = i / LONGEST_NAMES % 2 != 0;
		char name[300], text[2000];
		uint8_t wire[DNS_NAME_MAX];
		struct dns_rr rr;
		dns_rrtext_force_scanner(parser, i / LONGEST_NAMES / 2 != 0);
		snprintf(name, sizeof(name), "%s%s", add ? "x." : "",
			 longest_names[i % LONGEST_NAMES]);
		snprintf(text, sizeof(text), "%s 60 IN SOA %s %s 1 2 3 4 5", name, name, name);
		int code = parse(slice_of(text), &rr);
		if (!add || octets == 253) {
			assert_int_equal(code, 0);
			octets += add ? 2 : 0;
			assert_int_equal(dns_name_from_text(slice_of(name), wire), octets);
			assert_int_equal(rr.owner_len, octets);
			assert_int_equal(rr.rdlen, 2 * octets + 20);
			assert_memory_equal(rr.owner, wire, octets);
			assert_memory_equal(rr.rdata + octets, wire, octets);
		} else {
			assert_int_equal(code, ERR_PARSE);
		}
	}
	dns_rrtext_force_scanner(parser, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_coredns),    cmocka_unit_test(test_both_paths),
		cmocka_unit_test(test_no_allocation), cmocka_unit_test(test_error_has_place),
		cmocka_unit_test(test_limits),	      cmocka_unit_test(test_longest_names),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
