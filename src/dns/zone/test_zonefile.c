/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Master files: what is read, in which order, and where errors are placed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "dns/test_names.h"
#include "dns/zone/zonefile.h"

struct reading {
	struct strbuf out;
	size_t n;
	const char *included; /* text of every included file */
};

/* "owner ttl class type rdata-in-hex" */
static int record(void *ctx, const struct dns_rr *rr, struct strbuf *why)
{
	struct reading *r = ctx;
	char owner[DNS_NAME_TEXT_MAX];
	char type[DNS_MNEMONIC_MAX];
	if (dns_name_len(rr->owner) != rr->owner_len)
		return ERR_INTERNAL;
	dns_name_to_text(rr->owner, false, owner);
	if (slice_is(slice_of(owner), "stop."))
		return ERR_BUSY;
	if (slice_is(slice_of(owner), "refuse.")) {
		strbuf_adds(why, "not this one");
		return ERR_UNSUPPORTED;
	}
	r->n++;
	if (r->n > 1000)
		return 0;
	strbuf_addf(&r->out, "%s %u %u %s ", owner, rr->ttl, rr->cls, dns_type_str(rr->type, type));
	for (unsigned i = 0; i < rr->rdlen; i++)
		strbuf_addf(&r->out, "%02x", rr->rdata[i]);
	strbuf_addc(&r->out, '\n');
	return 0;
}

static int include(void *ctx, const char *path, struct strbuf *out)
{
	struct reading *r = ctx;
	if (slice_ends(slice_of(path), SLICE("missing")))
		return ERR_NOTFOUND;
	strbuf_addf(&r->out, "(%s)\n", path);
	strbuf_adds(out, r->included);
	return 0;
}

static int read_with(struct reading *r, struct slice text, struct err_text err)
{
	uint8_t origin[DNS_NAME_MAX];
	struct srcerr e = { 0 };
	assert_true(dns_name_from_text(SLICE("example.org"), origin) > 0);
	struct dns_zonefile f = { .path = "dir/db",
				  .origin = origin,
				  .record = record,
				  .include = r->included != NULL ? include : NULL,
				  .ctx = r };
	int code = dns_zonefile_read(&f, text, &e);
	err.text[0] = '\0';
	if (e.text[0] != '\0')
		srcerr_str(&e, err.text, err.size);
	return code;
}

#define A1   " 0a000001\n"
#define O    "example.org. "
#define IN_A " 1 A 0a000001\n"

enum { TEXT, WANT, INCLUDED, COLUMNS };

static const char *const good[][COLUMNS] = {
	{ "", "" },
	{ "; only a comment\n\n   \n\t; more\n", "" },
	{ "a 60 IN A 10.0.0.1\n", "a." O "60" IN_A },
	{ "a 60 IN A 10.0.0.1", "a." O "60" IN_A },
	{ "a IN 60 A 10.0.0.1\r\n", "a." O "60" IN_A },
	{ "a 60 A 10.0.0.1\n", "a." O "60" IN_A },
	{ "a 1h30m a 10.0.0.1\n", "a." O "5400" IN_A },
	{ "a 60 CH A 10.0.0.1\n", "a." O "60 3 A" A1 },
	{ "@ 60 A 10.0.0.1\n", O "60" IN_A },
	{ "a. 60 A 10.0.0.1\n", "a. 60" IN_A },
	{ "a\\. 60 A 10.0.0.1\n", "a\\.." O "60" IN_A },
	{ "a\\\\. 60 A 10.0.0.1\n", "a\\\\. 60" IN_A },
	/* left out: owner, TTL, class */
	{ "a 60 A 10.0.0.1\n  A 10.0.0.1\n\tTXT x\nb A 10.0.0.1\n",
	  "a." O "60" IN_A "a." O "60" IN_A "a." O "60 1 TXT 0178\n"
	  "b." O "60" IN_A },
	{ "a IN A 10.0.0.1\n", "a." O "0" IN_A },
	{ "$TTL 1d\na 60 A 10.0.0.1\nb A 10.0.0.1\n", "a." O "60" IN_A "b." O "86400" IN_A },
	{ "$ttl 5\na A 10.0.0.1\n$TTL 6 ; six\na A 10.0.0.1\n", "a." O "5" IN_A "a." O "6" IN_A },
	{ "a 60 A 10.0.0.1\nb 70 A 10.0.0.1\nc A 10.0.0.1\n",
	  "a." O "60" IN_A "b." O "70" IN_A "c." O "70" IN_A },
	/* origins */
	{ "$ORIGIN sub\na 60 A 10.0.0.1\n$ORIGIN net.\n@ 60 CNAME b\n",
	  "a.sub." O "60" IN_A "net. 60 1 CNAME 0162036e657400\n" },
	{ "$ORIGIN .\na 60 MX 5 b\n", "a. 60 1 MX 0005016200\n" },
	{ "a 60 NS @\n", "a." O "60 1 NS 076578616d706c65036f726700\n" },
	{ "a 60 NSEC b A\n", "a." O "60 1 NSEC 0162076578616d706c65036f726700000140\n" },
	/* over several lines */
	{ "a 60 ( A\n 10.0.0.1 ) ; done\n", "a." O "60" IN_A },
	{ "a 60 TXT \"x\ny\" z\n", "a." O "60 1 TXT 03780a79017a\n" },
	{ "a 60 TXT ( a ; c1\n\"b;\" ; c2\n)\nb 60 A 10.0.0.1\n", "a." O "60 1 TXT 016102623b\n"
								  "b." O "60" IN_A },
	{ "a 60 TYPE65280 \\# 2 00ff\n", "a." O "60 1 TYPE65280 00ff\n" },
	/* $GENERATE: TTL 3600 whatever $TTL says */
	{ "$TTL 5\n$GENERATE 1-3/2 h$ A 10.0.0.$\n",
	  "h1." O "3600 1 A 0a000001\nh3." O "3600 1 A 0a000003\n" },
	{ "$GENERATE 9-10 h${0,3}.x 60 A 10.0.0.${-8}\n",
	  "h009.x." O "60 1 A 0a000001\nh010.x." O "60 1 A 0a000002\n" },
	{ "$GENERATE 10-10 ${0,2,x}${0,2,X}${0,0,o} A 10.0.0.1\n", "0a0A12." O "3600" IN_A },
	{ "$GENERATE 26-26 ${0,0,n}.${0,5,N}.x A 10.0.0.1\n", "a.1.A.1.0.x." O "3600" IN_A },
	{ "$GENERATE 1-1 $$\\$$ A 10.0.0.1\n", "$$1." O "3600" IN_A },
	{ "$GENERATE 1-1 a TXT \"$ b\" ; $\n", "a." O "3600 1 TXT 03312062\n" },
	{ "$GENERATE 0-0 a\\.$ ( A\n 10.0.0.1 )\n", "a\\.0." O "3600" IN_A },
	{ "$GENERATE 7-8/100 c A 10.0.0.1\n", "c." O "3600" IN_A },
	/* $INCLUDE: beside the including file; its origin and owner end with it */
	{ "a 60 A 10.0.0.1\n$INCLUDE more\n A 10.0.0.1\n",
	  "a." O "60" IN_A "(dir/more)\nx." O "60" IN_A "a." O "60" IN_A, "x A 10.0.0.1\n" },
	{ "$INCLUDE /etc/more sub ; c\nb 60 A 10.0.0.1\n",
	  "(/etc/more)\nx.y.sub." O "60" IN_A "b." O "60" IN_A,
	  "$ORIGIN y\n$TTL 60\nx A 10.0.0.1\n" },
};

static const char *const bad[][COLUMNS] = {
	{ "a A 10.0.0.1\n", "dir/db:1:3: no TTL, and neither $TTL nor a TTL before" },
	{ "  60 A 10.0.0.1\n", "dir/db:1:1: no owner name, and no record before to take it from" },
	{ "a 60 A 10.0.0.1\nb 60 A 10.0.0.256\n", "dir/db:2:8: bad IPv4 address" },
	{ "\xc3\xa9 60 A x\n", "dir/db:1:8: bad IPv4 address" },
	{ "a 60 A 10.0.0.1 2\n", "dir/db:1:17: too many fields" },
	{ "a 60 A\n", "dir/db:1:6: too few fields" },
	{ "a\n", "dir/db:1:1: too few fields" },
	{ "a 60 B x\n", "dir/db:1:6: expected a TTL, class or record type" },
	{ "a..b 60 A 10.0.0.1\n", "dir/db:1:1: bad owner name" },
	{ "\"a\" 60 A 10.0.0.1\n", "dir/db:1:1: unexpected quotes" },
	{ "a 60 ( A\n 10.0.0.1\n", "dir/db:3:1: missing closing parenthesis" },
	{ "a 60 A 10.0.0.1 )\n", "dir/db:1:17: extra closing parenthesis" },
	{ "a 60 TXT \"x\n", "dir/db:1:10: unterminated string" },
	{ "a 60 NULL x\n", "dir/db:1:6: record type has no text form but \\#" },
	{ "$TTL\n", "dir/db:1:1: too few fields" },
	{ "$TTL x\n", "dir/db:1:6: bad TTL" },
	{ "$TTL 1 2\n", "dir/db:1:8: too many fields" },
	{ "$ORIGIN a..b\n", "dir/db:1:9: bad domain name" },
	{ "$INCLUDE x\n", "dir/db:1:10: $INCLUDE is not allowed here" },
	{ "$INCLUDE missing\n", "dir/db:1:10: cannot read 'dir/missing': not found", "" },
	{ "$INCLUDE a b c\n", "dir/db:1:14: too many fields", "" },
	{ "$INCLUDE x\n", "dir/x:1:7: bad IPv4 address", "a 6 A x\n" },
	{ "\n$INCLUDE x\n", "dir/x:1:10: $INCLUDE nested more than 7 deep", "$INCLUDE x\n" },
	{ "$GENERATE 5 a A 10.0.0.1\n", "dir/db:1:11: expected a range such as 1-10 or 0-100/2" },
	{ "$GENERATE 5-4 a A 10.0.0.1\n", "dir/db:1:11: range ends before it starts" },
	{ "$GENERATE 0-65536 a A 10.0.0.1\n", "dir/db:1:11: range of more than 65536 values" },
	{ "$GENERATE 0-1/0 a A 10.0.0.1\n", "dir/db:1:11: bad step of the range" },
	{ "$GENERATE -1-1 a A 10.0.0.1\n", "dir/db:1:11: bad number in the range" },
	{ "$GENERATE 0-1 ${0 A 10.0.0.1\n", "dir/db:1:11: missing } after ${" },
	{ "$GENERATE 0-1 ${-1} A 10.0.0.1\n",
	  "dir/db:1:11: offset in ${...} leads out of 0 to 2147483647" },
	{ "$GENERATE 0-1 ${2147483647} A 10.0.0.1\n",
	  "dir/db:1:11: offset in ${...} leads out of 0 to 2147483647" },
	{ "$GENERATE 0-1 ${0,256} A 10.0.0.1\n", "dir/db:1:11: bad width in ${...}" },
	{ "$GENERATE 0-1 ${0,1,q} A 10.0.0.1\n", "dir/db:1:11: bad base in ${...}" },
	{ "$GENERATE 0-1 ${} A 10.0.0.1\n", "dir/db:1:11: bad offset in ${...}" },
	{ "a 60 A 10.0.0.1\n$GENERATE 254-256 a A 10.0.0.$\n",
	  "dir/db:2:11: in a record of $GENERATE: bad IPv4 address" },
	{ "$GENERATE 1-2 $$TTL 5\n",
	  "dir/db:1:11: in a record of $GENERATE: directives cannot be generated" },
	{ "a 60 A 10.0.0.1\nrefuse. 60 A 10.0.0.1\n", "dir/db:2:1: not this one" },
};

static void reads_files(void **state)
{
	(void)state;
	char err[1024];
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct reading r = { .out = STRBUF_INIT, .included = good[i][INCLUDED] };
		int code = read_with(&r, slice_of(good[i][TEXT]), ERR_TEXT(err));
		if (code != 0 || !slice_is(strbuf_slice(&r.out), good[i][WANT]))
			fail_msg("%s\n%s\n%s", good[i][TEXT], err, r.out.s);
		strbuf_done(&r.out);
	}
}

static void places_errors(void **state)
{
	(void)state;
	char err[1024];
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct reading r = { .out = STRBUF_INIT, .included = bad[i][INCLUDED] };
		int code = read_with(&r, slice_of(bad[i][TEXT]), ERR_TEXT(err));
		if (code >= 0 || !slice_is(slice_of(err), bad[i][WANT]))
			fail_msg("%s\n%d: %s\nwanted %s", bad[i][TEXT], code, err, bad[i][WANT]);
		strbuf_done(&r.out);
	}
}

static void stops_when_told(void **state)
{
	(void)state;
	char err[1024];
	struct reading r = { .out = STRBUF_INIT };
	int code =
		read_with(&r, SLICE("a 60 A 10.0.0.1\nstop. 60 A 10.0.0.1\nbad\n"), ERR_TEXT(err));
	assert_int_equal(code, ERR_BUSY);
	assert_string_equal(err, "");
	assert_int_equal(r.n, 1);
	strbuf_done(&r.out);
}

static void limits(void **state)
{
	(void)state;
	char err[1024];
	struct strbuf text = STRBUF_INIT;
	struct reading r = { .out = STRBUF_INIT, .included = "" };
	/* The longest record, and one byte more. */
	strbuf_adds(&text, "a 60 A ");
	while (text.n < DNS_ZONEFILE_RECORD_MAX - 9)
		strbuf_addc(&text, ' ');
	strbuf_adds(&text, "10.0.0.1\nb 60 A 10.0.0.1\n");
	assert_int_equal(read_with(&r, strbuf_slice(&text), ERR_TEXT(err)), 0);
	assert_int_equal(r.n, 2);
	strbuf_reset(&text);
	strbuf_adds(&text, "b 60 A 10.0.0.1\na 60 A (");
	while (text.n < DNS_ZONEFILE_RECORD_MAX + 16)
		strbuf_addc(&text, '\n');
	strbuf_adds(&text, "10.0.0.1)\n");
	assert_true(read_with(&r, strbuf_slice(&text), ERR_TEXT(err)) < 0);
	assert_non_null(strstr(err, "record longer than 65536 bytes"));
	/* Comments are not records. */
	strbuf_reset(&text);
	strbuf_addc(&text, ';');
	while (text.n < 2 * DNS_ZONEFILE_RECORD_MAX)
		strbuf_addc(&text, 'x');
	strbuf_adds(&text, "\na 60 A 10.0.0.1\n");
	assert_int_equal(read_with(&r, strbuf_slice(&text), ERR_TEXT(err)), 0);
	/* Files that include others without end. */
	strbuf_reset(&text);
	for (int i = 0; i <= DNS_ZONEFILE_INCLUDES_MAX; i++)
		strbuf_adds(&text, "$INCLUDE x\n");
	assert_true(read_with(&r, strbuf_slice(&text), ERR_TEXT(err)) < 0);
	assert_string_equal(err, "dir/db:10001:10: more than 10000 files included");
	/* The largest range. */
	r.n = 0;
	assert_int_equal(read_with(&r, SLICE("$GENERATE 0-65535 h$ A 10.0.0.1\n"), ERR_TEXT(err)),
			 0);
	assert_int_equal(r.n, DNS_ZONEFILE_GENERATE_MAX);
	strbuf_done(&text);
	strbuf_done(&r.out);
}

static void finds_an_error_far_down(void **state)
{
	(void)state;
	char err[1024];
	struct strbuf text = STRBUF_INIT;
	struct reading r = { .out = STRBUF_INIT };
	for (int i = 1; i <= 100000; i++)
		strbuf_addf(&text, "host%d 60 IN A 10.0.0.%s\n", i, i == 90000 ? "256" : "1");
	assert_int_equal(read_with(&r, strbuf_slice(&text), ERR_TEXT(err)), ERR_PARSE);
	assert_string_equal(err, "dir/db:90000:19: bad IPv4 address");
	assert_int_equal(r.n, 89999);
	strbuf_done(&text);
	strbuf_done(&r.out);
}

/* As owner, origin, data and what $GENERATE makes; one label more only while it makes 255 octets.
 */
static void reads_the_longest_names(void **state)
{
	static const char *const rows[] = {
		"%s 60 A 10.0.0.1\n",
		"$ORIGIN %s\n@ 60 A 10.0.0.1\n",
		"x 60 CNAME %s\n",
		"x 60 SOA %s %s 1 2 3 4 5\n",
		"x 60 SRV 1 2 3 %s\n",
		"x 60 NSEC %s A\n",
		"$GENERATE 1-1 %s A 10.0.0.1\n",
	};
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES * ARRAY_LEN(rows) * 2; i++) {
		const char *name = longest_names[i % LONGEST_NAMES];
		bool add = i / LONGEST_NAMES % 2 != 0;
		char longer[300], err[2048];
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		struct reading r = { .out = STRBUF_INIT };
		snprintf(longer, sizeof(longer), "%s%s", add ? "x." : "", name);
		for (const char *p = rows[i / LONGEST_NAMES / 2]; *p != '\0'; p++) {
			if (p[0] == '%')
				strbuf_adds(&text, longer), p++;
			else
				strbuf_addc(&text, *p);
		}
		int code = read_with(&r, strbuf_slice(&text), ERR_TEXT(err));
		bool fits = !add || longest_name_octets(i % LONGEST_NAMES) == 253;
		if ((code == 0) != fits || r.n != fits)
			fail_msg("%s%d: %s", text.s, code, err);
		strbuf_done(&r.out);
	}
}

/* A relative name is completed by the origin, as far as that fits. */
static void completes_up_to_255_octets(void **state)
{
	char err[2048], label[64];
	(void)state;
	memset(label, 'a', 63);
	label[63] = '\0';
	for (int spare = 0; spare < 3; spare++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		struct reading r = { .out = STRBUF_INIT };
		strbuf_addf(&text, "%s.%s.%s.%.*s 60 CNAME @\n", label, label, label, 50 - spare,
			    label);
		strbuf_addf(&text, "x 60 CNAME %s.%s.%s.%.*s\n", label, label, label, 50 - spare,
			    label);
		/* 192 + 51 + 13 octets are one too many. */
		assert_int_equal(read_with(&r, strbuf_slice(&text), ERR_TEXT(err)),
				 spare == 0 ? ERR_PARSE : 0);
		strbuf_done(&r.out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_files),
		cmocka_unit_test(places_errors),
		cmocka_unit_test(stops_when_told),
		cmocka_unit_test(limits),
		cmocka_unit_test(reads_the_longest_names),
		cmocka_unit_test(completes_up_to_255_octets),
		cmocka_unit_test(finds_an_error_far_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
