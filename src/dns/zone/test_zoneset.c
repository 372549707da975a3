/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zones by suffix: against a plain search over all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "dns/test_names.h"
#include "dns/zone/zoneset.h"

static const uint8_t *wire(const char *text)
{
	static uint8_t bufs[4][DNS_NAME_MAX];
	static unsigned next;
	uint8_t *b = bufs[next++ % 4];
	assert_true(dns_name_from_text(slice_of(text), b) > 0);
	return b;
}

static struct dns_qname *qname(const char *text)
{
	static struct dns_qname q;
	dns_qname_set(&q, wire(text));
	return &q;
}

static const char *longest(struct dns_zoneset *zs, const char *name, unsigned from)
{
	unsigned label = 99;
	const struct dns_zone_entry *e = dns_zoneset_longest(zs, qname(name), from, &label);
	return e != NULL ? e->value : "none";
}

static void test_longest_suffix(void **state)
{
	struct dns_zoneset *zs = dns_zoneset_new();
	static char org[] = "org", ex[] = "example", dup[] = "again", root[] = "root";
	(void)state;
	assert_string_equal(longest(zs, "a.example.org", 0), "none");
	dns_zoneset_add(zs, wire("Example.ORG"), 0, ex);
	dns_zoneset_add(zs, wire("org"), 1, org);
	dns_zoneset_add(zs, wire("example.org"), 2, dup);
	assert_int_equal(dns_zoneset_count(zs), 2);
	assert_string_equal(longest(zs, "a.EXAMPLE.org", 0), "example");
	assert_string_equal(longest(zs, "example.org", 0), "example");
	assert_string_equal(longest(zs, "example.org", 1), "org");
	assert_string_equal(longest(zs, "notexample.org", 0), "org");
	assert_string_equal(longest(zs, "a.b.c.d.org", 0), "org");
	assert_string_equal(longest(zs, "com", 0), "none");
	assert_string_equal(longest(zs, ".", 0), "none");
	dns_zoneset_add(zs, wire("."), 3, root);
	assert_string_equal(longest(zs, ".", 0), "root");
	assert_string_equal(longest(zs, "com", 0), "root");
	assert_string_equal(longest(zs, "com", 2), "none");

	const struct dns_zone_entry *e = dns_zoneset_longest(zs, qname("example.org"), 0, NULL);
	e = dns_zoneset_same(zs, e);
	assert_string_equal(e->value, "again");
	assert_int_equal(e->seq, 2);
	assert_null(dns_zoneset_same(zs, e));
	dns_zoneset_free(zs);
	dns_zoneset_free(NULL);
}

static void test_iterates_in_file_order(void **state)
{
	struct dns_zoneset *zs = dns_zoneset_new();
	static char v[] = "abcdef";
	static const struct {
		const char *zone;
		uint32_t seq;
	} rows[] = { { "org", 0 },	   { "example.org", 1 }, { ".", 1 },
		     { "example.org", 2 }, { "com", 2 },	 { "example.org", 5 } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		dns_zoneset_add(zs, wire(rows[i].zone), rows[i].seq, v + i);
	struct dns_zoneset_iter it;
	const struct dns_zone_entry *e;
	char got[16] = "";
	dns_zoneset_iter(&it, zs, qname("x.example.org"));
	for (size_t n = 0; (e = dns_zoneset_next(&it)) != NULL; n++)
		got[n] = *(char *)e->value;
	assert_string_equal(got, "abdf"); /* 0 org, 1 example.org (not root), 2, 5 */
	dns_zoneset_free(zs);
}

/* Random zones over few labels, asked with random names, against a search over all. */
static void test_agrees_with_a_plain_search(void **state)
{
	enum { ZONES = 2000, ASKS = 5000 };
	static char zone[ZONES][64];
	struct dns_zoneset *zs = dns_zoneset_new();
	struct rng r;
	(void)state;
	rng_init(&r);
	for (size_t i = 0; i < ZONES + ASKS; i++) {
		char text[64] = "";
		unsigned labels = (unsigned)(rng_u64(&r) % 5);
		for (unsigned k = 0; k < labels; k++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "l%u.",
				 (unsigned)(rng_u64(&r) % 9));
		if (text[0] == '\0')
			text[0] = '.';
		if (i < ZONES) {
			memcpy(zone[i], text, sizeof(text));
			dns_zoneset_add(zs, wire(text), (uint32_t)i, zone[i]);
			continue;
		}
		uint8_t name[DNS_NAME_MAX];
		memcpy(name, wire(text), DNS_NAME_MAX);
		const char *best = NULL;
		for (size_t z = 0; z < ZONES; z++) {
			if (dns_name_is_below(name, wire(zone[z])) &&
			    (best == NULL ||
			     dns_name_labels(wire(zone[z])) > dns_name_labels(wire(best))))
				best = zone[z];
		}
		assert_ptr_equal(longest(zs, text, 0), best != NULL ? best : "none");
	}
	dns_zoneset_free(zs);
}

static void test_deepest_name(void **state)
{
	struct dns_zoneset *zs = dns_zoneset_new();
	uint8_t name[DNS_NAME_MAX];
	static char v[128];
	(void)state;
	for (size_t i = 0; i < 254; i += 2) {
		name[i] = 1;
		name[i + 1] = 'x';
	}
	name[254] = 0;
	for (unsigned i = 0; i <= 127; i++)
		dns_zoneset_add(zs, name + 2 * i, i, &v[i]);
	struct dns_qname q;
	struct dns_zoneset_iter it;
	dns_qname_set(&q, name);
	dns_zoneset_iter(&it, zs, &q);
	for (unsigned i = 0; i <= 127; i++)
		assert_ptr_equal(dns_zoneset_next(&it)->value, &v[i]);
	assert_null(dns_zoneset_next(&it));
	dns_zoneset_free(zs);
}

/* As zones, and as names below every one of their suffixes. */
static void test_longest_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		struct dns_zoneset *zs = dns_zoneset_new();
		const uint8_t *name = wire(longest_names[i]), *up = name;
		static char v[DNS_LABELS_MAX + 1];
		unsigned n = 0, label;
		for (; *up != 0; up += *up + 1U, n++)
			dns_zoneset_add(zs, up, n, &v[n]);
		assert_int_equal(dns_zoneset_count(zs), n);
		const struct dns_qname *q = qname(longest_names[i]);
		for (unsigned k = 0; k < n; k++) {
			const struct dns_zone_entry *e = dns_zoneset_longest(zs, q, k, &label);
			assert_ptr_equal(e->value, &v[k]);
			assert_int_equal(label, k);
			assert_true(dns_name_eq(e->zone, name + q->label[k]));
		}
		assert_null(dns_zoneset_longest(zs, q, n, &label));
		dns_zoneset_free(zs);
	}
}

static void test_exact_zone(void **state)
{
	(void)state;
	static int v[2];
	struct dns_zoneset *zs = dns_zoneset_new();
	dns_zoneset_add(zs, wire("example.org"), 0, &v[0]);
	dns_zoneset_add(zs, wire("a.b.example.org"), 1, &v[1]);
	assert_ptr_equal(dns_zoneset_at(zs, qname("x.Example.org"), 1)->value, &v[0]);
	assert_ptr_equal(dns_zoneset_at(zs, qname("a.b.example.org"), 0)->value, &v[1]);
	assert_null(dns_zoneset_at(zs, qname("x.example.org"), 0));
	assert_null(dns_zoneset_at(zs, qname("x.y.example.org"), 1));
	assert_null(dns_zoneset_at(zs, qname("org"), 0));
	assert_null(dns_zoneset_at(zs, qname("org"), 2));
	dns_zoneset_free(zs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_zone),
		cmocka_unit_test(test_longest_suffix),
		cmocka_unit_test(test_iterates_in_file_order),
		cmocka_unit_test(test_agrees_with_a_plain_search),
		cmocka_unit_test(test_deepest_name),
		cmocka_unit_test(test_longest_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
