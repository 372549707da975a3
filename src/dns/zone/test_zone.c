/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zone snapshots: order, look-ups, sets, apex records for replies, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "dns/test_names.h"
#include "dns/zone/build.h"
#include "dns/zone/apex_wire.h"
#include "dns/zone/zone.h"
#include "dns/zone/zone_test.h"
#include "dns/zone/zoneload.h"

static const uint8_t *wire(const char *text)
{
	static uint8_t out[4][DNS_NAME_MAX];
	static unsigned at;
	uint8_t *p = out[at++ % 4];
	assert_true(dns_name_from_text(slice_of(text), p) > 0);
	return p;
}

static struct dns_zone *load(const char *text)
{
	struct srcerr err = { 0 };
	struct dns_zone *z = NULL;
	size_t outside;
	struct dns_zoneload l = { .path = "db", .origin = wire("example.org") };
	if (dns_zone_load(&l, slice_of(text), &err, &z, &outside) < 0)
		fail_msg("%u:%u: %s", err.pos.line, err.pos.col, err.text);
	return z;
}

static const char *name_of(const struct dns_zone *z, const struct dns_zone_node *n)
{
	static char text[DNS_NAME_TEXT_MAX];
	dns_name_to_text(dns_zone_name(z, n), false, text);
	return text;
}

#define HEAD "$TTL 60\n@ SOA ns root 7 2 3 4 5\n@ NS ns\n"

/* The example of RFC 4034 §6.1, with bytes at both ends. */
static void keeps_canonical_order(void **state)
{
	(void)state;
	static const char *const want[] = {
		"example.org.",
		"\\000.example.org.",
		"\\001.example.org.",
		"\\001\\000.example.org.",
		"*.example.org.",
		"a.example.org.",
		"yljkjljk.a.example.org.",
		"z.a.example.org.",
		"\\000.z.a.example.org.",
		"zabc.a.example.org.",
		"ab.example.org.",
		"ns.example.org.",
		"\\200.example.org.",
		"\\255.example.org.",
	};
	struct dns_zone *z =
		load(HEAD "zABC.a A 192.0.2.1\nyljkjljk.a A 192.0.2.1\n"
			  "\\255 A 192.0.2.1\n\\200 A 192.0.2.1\n\\000.z.A A 192.0.2.1\n"
			  "Z.a A 192.0.2.1\nab A 192.0.2.1\nns A 192.0.2.1\n"
			  "* A 192.0.2.1\n\\001 A 192.0.2.1\n\\000 A 192.0.2.1\n"
			  "\\001\\000 A 192.0.2.1\n");
	assert_int_equal(dns_zone_n_nodes(z), ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(name_of(z, dns_zone_node(z, i)), want[i]);
	dns_zone_unref(z);
}

static const char look_zone[] = HEAD
	"ns A 192.0.2.1\n*.w A 192.0.2.1\nx.ent.w A 192.0.2.1\nh.w TXT h\nsub NS ns.sub\n"
	"ns.sub A 192.0.2.1\na.b.sub A 192.0.2.1\nd DNAME t\nbelow.d A 192.0.2.1\nal CNAME ns\n"
	"both DNAME t\nboth NS ns\nx.*.we A 192.0.2.1\n";

static void looks_up(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum dns_zone_kind kind;
		const char *node;
		bool at_cut;
	} rows[] = {
		{ "example.org", DNS_ZONE_FOUND, "example.org.", false },
		{ "NS.Example.org", DNS_ZONE_FOUND, "ns.example.org.", false },
		{ "no.example.org", DNS_ZONE_NXNAME, "example.org.", false },
		{ "no.ns.example.org", DNS_ZONE_NXNAME, "ns.example.org.", false },
		{ "w.example.org", DNS_ZONE_EMPTY, "w.example.org.", false },
		{ "a.w.example.org", DNS_ZONE_WILDCARD, "*.w.example.org.", false },
		{ "a.b.w.example.org", DNS_ZONE_WILDCARD, "*.w.example.org.", false },
		{ "*.w.example.org", DNS_ZONE_FOUND, "*.w.example.org.", false },
		{ "a.h.w.example.org", DNS_ZONE_NXNAME, "h.w.example.org.", false },
		{ "ent.w.example.org", DNS_ZONE_EMPTY, "ent.w.example.org.", false },
		{ "y.ent.w.example.org", DNS_ZONE_NXNAME, "ent.w.example.org.", false },
		{ "y.we.example.org", DNS_ZONE_WILDCARD, "*.we.example.org.", false },
		{ "sub.example.org", DNS_ZONE_DELEGATED, "sub.example.org.", true },
		{ "x.sub.example.org", DNS_ZONE_DELEGATED, "sub.example.org.", false },
		{ "ns.sub.example.org", DNS_ZONE_DELEGATED, "sub.example.org.", false },
		{ "b.sub.example.org", DNS_ZONE_DELEGATED, "sub.example.org.", false },
		{ "d.example.org", DNS_ZONE_FOUND, "d.example.org.", false },
		{ "x.d.example.org", DNS_ZONE_REDIRECTED, "d.example.org.", false },
		{ "below.d.example.org", DNS_ZONE_REDIRECTED, "d.example.org.", false },
		{ "both.example.org", DNS_ZONE_DELEGATED, "both.example.org.", true },
		{ "x.both.example.org", DNS_ZONE_REDIRECTED, "both.example.org.", false },
	};
	struct dns_zone *z = load(look_zone);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_qname q;
		struct dns_zone_hit hit;
		dns_qname_set(&q, wire(rows[i].name));
		dns_zone_lookup(z, &q, &hit);
		if (hit.kind != rows[i].kind || hit.at_cut != rows[i].at_cut ||
		    strcmp(name_of(z, hit.node), rows[i].node) != 0)
			fail_msg("%s: kind %d, %s", rows[i].name, (int)hit.kind,
				 name_of(z, hit.node));
	}
	assert_int_equal(dns_zone_serial(z), 7);
	assert_false(dns_zone_signed(z));
	dns_zone_unref(z);
}

static void keeps_sets(void **state)
{
	(void)state;
	struct dns_zone *z = load("@ 60 SOA Ns Root 1 2 3 4 5\n"
				  "A 60 TXT 2\nb 60 A 192.0.2.1\na 70 TXT 1\na 60 TXT 2\n"
				  "_S 60 SRV 1 2 3 T\n@ 60 SOA ns root 2 2 3 4 5\n"
				  "a 60 RRSIG TXT 8 2 60 20300101000000 20200101000000 1 @ AAAA\n"
				  "a 60 RRSIG A 8 2 60 20300101000000 20200101000000 1 @ AAAA\n"
				  "a 60 MX 1 MAIL\na 60 PTR Target\na 60 PTR host.example.net.\n"
				  "b 60 PTR host.example.net.\n");
	const struct dns_zone_node *a = dns_zone_find_name(z, wire("a.EXAMPLE.org"));
	const struct dns_zone_set *s = dns_zone_set(z, a, DNS_TYPE_TXT);
	const uint8_t *p = dns_zone_data(z, s);
	/* In the order they came, repeats included, each with its TTL. */
	assert_int_equal(s->n, 3);
	assert_memory_equal(p, "\xc0\x0c\0\x10\0\1\0\0\0\x3c\0\2\0012", 14);
	p += dns_zone_rr_bytes(p);
	assert_int_equal(dns_zone_rr_ttl(p), 70);
	assert_int_equal(dns_zone_sigs(z, a, DNS_TYPE_TXT)->n, 1);
	assert_int_equal(dns_zone_sigs(z, a, DNS_TYPE_A)->n, 1);
	assert_null(dns_zone_sigs(z, a, DNS_TYPE_MX));
	assert_true(dns_zone_has_sigs(z) && !dns_zone_signed(z));
	assert_null(dns_zone_set(z, a, DNS_TYPE_A));
	assert_null(dns_zone_find_name(z, wire("c.example.org")));
	/* Letters, as CoreDNS keeps them. */
	p = dns_zone_data(z, dns_zone_set(z, a, DNS_TYPE_MX));
	assert_memory_equal(p + DNS_ZONE_RR_HEAD + 2, "\4mail\7example", 13);
	s = dns_zone_set(z, a, DNS_TYPE_PTR);
	assert_memory_equal(dns_zone_data(z, s) + DNS_ZONE_RR_HEAD, "\6Target", 7);
	assert_int_equal(s->flags & DNS_ZONE_FLAT, 0);
	const struct dns_zone_node *b = dns_zone_find_name(z, wire("b.example.org"));
	assert_int_equal(dns_zone_set(z, b, DNS_TYPE_PTR)->flags & DNS_ZONE_FLAT, DNS_ZONE_FLAT);
	const struct dns_zone_node *srv = dns_zone_find_name(z, wire("_s.example.org"));
	assert_memory_equal(dns_zone_owner(z, srv, dns_zone_set(z, srv, DNS_TYPE_SRV)), "\2_S", 3);
	/* Of two SOA records the last. */
	assert_int_equal(dns_zone_serial(z), 2);
	assert_int_equal(dns_zone_set(z, dns_zone_node(z, 0), DNS_TYPE_SOA)->n, 1);
	dns_zone_unref(z);
}

static void finds_nsec(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "example.org", "example.org." },
		{ "a.example.org", "example.org." },
		{ "b.example.org", "b.example.org." },
		{ "c.example.org", "b.example.org." },
		{ "x.cut.example.org", "cut.example.org." },
		{ "d.example.org", "cut.example.org." },
		{ "z.example.org", "e.ent.example.org." },
		{ "ent.example.org", "cut.example.org." },
	};
	struct dns_zone *z = load(
		HEAD "@ NSEC b NS SOA\n@ RRSIG SOA 8 2 60 20300101000000 20200101000000 1 @ AAAA\n"
		     "b A 192.0.2.1\nb NSEC cut A\ncut NS ns.cut\ncut NSEC e.ent NS\n"
		     "ns.cut A 192.0.2.1\nzz.cut A 192.0.2.1\ne.ent A 192.0.2.1\ne.ent NSEC @ A\n");
	assert_true(dns_zone_signed(z));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(name_of(z, dns_zone_nsec_before(z, wire(rows[i][0]))),
				    rows[i][1]);
	dns_zone_unref(z);
	z = load(HEAD);
	assert_null(dns_zone_nsec_before(z, wire("example.org")));
	dns_zone_unref(z);
}

/* Written behind a question, the apex records read like the records they were made of. */
static void builds_apex_wire(void **state)
{
	(void)state;
	struct dns_zone *z =
		load("@ 60 SOA ns.example.net. root.ns.example.net. 7 2 3 4 5\n@ 60 NS ns\n"
		     "@ 60 NS a.b.example.net.\n@ 60 NS c.b.example.net.\n@ 60 NS org.\n");
	uint8_t msg[600] = { 0 };
	uint8_t name[DNS_NAME_MAX];
	static const char *const want[] = { "ns.example.org.", "a.b.example.net.",
					    "c.b.example.net.", "org." };
	memcpy(msg + 12, wire("x.example.org"), 15);
	const struct dns_zone_apex_wire *p = dns_zone_apex_wire(z, DNS_ZONE_APEX_NS);
	assert_int_equal(p->n, 4);
	size_t at = 31;
	size_t end = at + dns_zone_apex_wire_put(p, msg, at, 14);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		int r = dns_name_unpack(msg, end, at, name);
		assert_int_equal(r, at + 2);
		assert_true(dns_name_eq_case(name, wire("example.org")));
		assert_int_equal(dns_name_unpack(msg, end, (size_t)r + 10, name),
				 (size_t)r + 10 + dns_get16(msg + r + 8));
		assert_true(dns_name_eq_case(name, wire(want[i])));
		at = (size_t)r + 10 + dns_get16(msg + r + 8);
	}
	assert_int_equal(at, end);
	p = dns_zone_apex_wire(z, DNS_ZONE_APEX_SOA);
	assert_int_equal(p->n, 1);
	/* ns.example.net, then "root" and a pointer to it. */
	assert_int_equal(p->len, 12 + 16 + 7 + 20);
	assert_int_equal(p->full_size, 13 + 10 + 16 + 21 + 20);
	dns_zone_unref(z);
	/* Too many to be worth it. */
	struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, "@ 60 SOA ns root 7 2 3 4 5\n");
	for (int i = 0; i < 40; i++)
		strbuf_addf(&text, "@ 60 NS ns%d\n", i);
	z = load(text.s);
	assert_null(dns_zone_apex_wire(z, DNS_ZONE_APEX_NS));
	strbuf_done(&text);
	dns_zone_unref(z);
}

static void refuses(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "", "1:1: no SOA record for origin 'example.org.'" },
		{ "@ 60 NS a\n", "1:1: no SOA record for origin 'example.org.'" },
		{ "\na 60 SOA ns root 1 2 3 4 5\n",
		  "2:1: SOA owner 'a.example.org.' does not match origin 'example.org.'" },
		{ HEAD "@ NSEC3PARAM 1 0 0 -\n", "4:1: zones signed with NSEC3 are not supported" },
		{ HEAD "a SVCB \\# 3 000100\n", NULL },
		{ HEAD "a SVCB \\# 2 0001\n", "4:1: record data does not fit the record type" },
		{ HEAD "a HTTPS \\# 6 0001c0020000\n",
		  "4:1: record data does not fit the record type" },
		{ HEAD "a RRSIG \\# 2 0001\n", "4:1: record data does not fit the record type" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct srcerr err = { 0 };
		struct dns_zone *z = NULL;
		size_t outside;
		char line[600] = "";
		struct dns_zoneload l = { .path = "db", .origin = wire("example.org") };
		int r = dns_zone_load(&l, slice_of(rows[i][0]), &err, &z, &outside);
		assert_int_equal(r < 0, rows[i][1] != NULL);
		if (r < 0)
			snprintf(line, sizeof(line), "%u:%u: %s", err.pos.line, err.pos.col,
				 err.text);
		assert_string_equal(line, rows[i][1] != NULL ? rows[i][1] : "");
		dns_zone_unref(z);
	}
}

static void tells_the_serial_apart(void **state)
{
	(void)state;
	struct srcerr err = { 0 };
	struct dns_zone *z = NULL;
	size_t outside = 0;
	uint32_t serial = 7;
	struct dns_zoneload l = { .path = "db", .origin = wire("Example.org"), .serial = &serial };
	assert_int_equal(dns_zone_load(&l, SLICE(HEAD "bad line\n"), &err, &z, &outside), ERR_BUSY);
	assert_string_equal(err.text, "");
	serial = 6;
	assert_int_equal(
		dns_zone_load(&l, SLICE(HEAD "a.example.net. A 192.0.2.1\n"), &err, &z, &outside),
		0);
	assert_int_equal(outside, 1);
	assert_int_equal(dns_zone_n_records(z), 2);
	struct dns_zone *again = dns_zone_ref(z);
	dns_zone_unref(z);
	assert_int_equal(dns_zone_serial(again), 7);
	dns_zone_retire(again);
	rcu_barrier_all();
}

static void limits(void **state)
{
	(void)state;
	struct dns_zone_builder *b = dns_zone_builder_new(wire("example.org"));
	struct dns_zone *z = NULL;
	struct dns_rr rr = { .owner = wire("a.example.org"),
			     .owner_len = 15,
			     .type = 65280,
			     .cls = 1,
			     .rdata = (const uint8_t *)"",
			     .rdlen = 0 };
	for (unsigned i = 0; i <= DNS_ZONE_SET_MAX; i++)
		assert_int_equal(dns_zone_builder_add(b, &rr), 0);
	assert_int_equal(dns_zone_build(b, &z), ERR_LIMIT);
}

/* A million records: what they take when all is built (spec: bounded). */
static void takes_little_memory(void **state)
{
	(void)state;
	enum { RECORDS = 1000000 };
	uint8_t owner[DNS_NAME_MAX];
	char text[64];
	struct dns_zone_builder *b = dns_zone_builder_new(wire("example.org"));
	struct dns_zone *z = NULL;
	uint8_t soa[22] = { 0 };
	struct dns_rr rr = { .owner = wire("example.org"),
			     .owner_len = 13,
			     .type = DNS_TYPE_SOA,
			     .cls = 1,
			     .rdata = soa,
			     .rdlen = sizeof(soa) };
	assert_int_equal(dns_zone_builder_add(b, &rr), 0);
	for (unsigned i = 0; i < RECORDS; i++) {
		snprintf(text, sizeof(text), "host%u.example.org", i);
		int n = dns_name_from_text(slice_of(text), owner);
		assert_true(n > 0);
		rr = (struct dns_rr){ .owner = owner,
				      .owner_len = (uint8_t)n,
				      .type = DNS_TYPE_A,
				      .cls = 1,
				      .ttl = 60,
				      .rdata = (const uint8_t *)&i,
				      .rdlen = 4 };
		assert_int_equal(dns_zone_builder_add(b, &rr), 0);
	}
	assert_int_equal(dns_zone_build(b, &z), 0);
	assert_int_equal(dns_zone_n_records(z), RECORDS + 1);
	/* 25 bytes of name, 16 of record, 20 of node, 16 of set, 17 of hash table. */
	assert_in_range(dns_zone_bytes(z) / RECORDS, 60, 110);
	assert_non_null(dns_zone_find_name(z, wire("host999999.example.org")));
	dns_zone_unref(z);
}

/* Names that are there and that are not, in zones of all sizes: nothing is read beyond them. */
static void prefetches(void **state)
{
	(void)state;
	static const unsigned sizes[] = { 0, 1, 100, 20000 };
	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_adds(&text, HEAD);
		for (unsigned i = 0; i < sizes[k]; i++)
			strbuf_addf(&text, "h%u A 192.0.2.%u\n", i, i % 256);
		struct dns_zone *z = load(text.s);
		assert_int_equal(dns_zone_is_large(z), sizes[k] > 10000);
		for (unsigned i = 0; i < sizes[k] + 10; i++) {
			char name[32];
			struct dns_qname q;
			snprintf(name, sizeof(name), "h%u.example.org", i);
			dns_qname_set(&q, wire(name));
			for (unsigned step = 0; step < DNS_ZONE_PREFETCH_STEPS; step++)
				dns_zone_prefetch(z, q.hash[0], step);
			const struct dns_zone_node *n = dns_zone_find(z, &q, 0);
			assert_int_equal(n != NULL, i < sizes[k]);
			if (n == NULL)
				continue;
			const uint8_t *rr = dns_zone_data(z, dns_zone_set(z, n, DNS_TYPE_A));
			assert_int_equal(rr[DNS_ZONE_RR_HEAD + 3], i % 256);
			/* What a reply needs lies together. */
			assert_ptr_equal(dns_zone_name(z, n) + n->name_len, rr);
		}
		dns_zone_unref(z);
	}
}

/* Owners, wildcards, data and zones of the longest names; names below and beside them. */
static void keeps_the_longest_names(void **state)
{
	static const size_t labels[] = { 1, 2, 37, 62 };
	(void)state;
	for (size_t octets = 253; octets <= DNS_NAME_MAX; octets++) {
		for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
			CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
			char host[256], wild[256], asked[300];
			struct dns_qname q;
			struct dns_zone_hit hit;
			long_name_below("example.org.", octets, labels[i], host);
			long_name_below("w.example.org.", octets - 2, labels[i], wild);
			strbuf_addf(&text, HEAD "%s A 192.0.2.1\n%s NSEC %s A\n@ NSEC %s A\n", host,
				    host, host, host);
			strbuf_addf(&text, "*.%s A 192.0.2.2\n@ NS %s\n", wild, host);
			struct dns_zone *z = load(text.s);
			dns_qname_set(&q, wire(host));
			dns_zone_lookup(z, &q, &hit);
			assert_int_equal(hit.kind, DNS_ZONE_FOUND);
			assert_string_equal(name_of(z, hit.node), host);
			assert_int_equal(hit.node->name_len, octets);
			assert_ptr_equal(dns_zone_nsec_before(z, wire(host)), hit.node);
			snprintf(asked, sizeof(asked), "x.%s", wild);
			dns_qname_set(&q, wire(asked));
			dns_zone_lookup(z, &q, &hit);
			assert_int_equal(hit.kind, DNS_ZONE_WILDCARD);
			assert_int_equal(hit.node->name_len, octets);
			dns_zone_unref(z);
		}
	}
}

/* Zones that are as long themselves: SOA and NS records of one are laid out or are none. */
static void keeps_the_longest_zones(void **state)
{
	static const char text[] = "@ 60 SOA @ @ 7 2 3 4 5\n@ 60 NS @\n@ 60 NS ns.\n";
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		struct srcerr err = { 0 };
		struct dns_zone *z = NULL;
		size_t outside, octets = longest_name_octets(i);
		uint8_t origin[DNS_NAME_MAX], name[DNS_NAME_MAX], msg[1024] = { 0 };
		dns_name_lower(wire(longest_names[i]), origin);
		struct dns_zoneload l = { .path = "db", .origin = origin };
		assert_int_equal(dns_zone_load(&l, slice_of(text), &err, &z, &outside), 0);
		assert_int_equal(dns_zone_node(z, 0)->name_len, octets);
		memcpy(msg + 12, origin, octets);
		for (int kind = 0; kind < DNS_ZONE_APEX_SETS; kind++) {
			const struct dns_zone_apex_wire *p =
				dns_zone_apex_wire(z, (enum dns_zone_apex_set)kind);
			size_t at = 12 + octets + 4;
			assert_non_null(p);
			size_t end = at + dns_zone_apex_wire_put(p, msg, at, 12);
			assert_int_equal(dns_name_unpack(msg, end, at, name), at + 2);
			assert_true(dns_name_eq_case(name, origin));
			assert_true(dns_name_unpack(msg, end, at + 12, name) > 0);
			assert_true(dns_name_eq_case(name, origin));
		}
		dns_zone_unref(z);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_canonical_order),
		cmocka_unit_test(looks_up),
		cmocka_unit_test(keeps_sets),
		cmocka_unit_test(finds_nsec),
		cmocka_unit_test(builds_apex_wire),
		cmocka_unit_test(refuses),
		cmocka_unit_test(tells_the_serial_apart),
		cmocka_unit_test(limits),
		cmocka_unit_test(takes_little_memory),
		cmocka_unit_test(prefetches),
		cmocka_unit_test(keeps_the_longest_names),
		cmocka_unit_test(keeps_the_longest_zones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
