/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pool specs: what is refused and where, and which addresses may be allocated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/ipam/allocation/pool_spec.h"

static json_t *spec_of(const char *text)
{
	json_error_t error;
	json_t *spec = json_loads(text, 0, &error);
	if (spec == NULL)
		fail_msg("%s: %s", text, error.text);
	return spec;
}

/* PR-12: each refused spec with the fields that its errors name. */
static void test_refused(void **state)
{
	static const struct {
		const char *spec, *fields;
	} rows[] = {
		{ "{}", "spec.addresses spec.prefix" },
		{ "{'addresses':[],'prefix':24}", "spec.addresses" },
		{ "{'addresses':['10.0.0.1'],'prefix':-1}", "spec.prefix" },
		{ "{'addresses':['10.0.0.1'],'prefix':33}", "spec.prefix" },
		{ "{'addresses':['2001:db8::1'],'prefix':129}", "spec.prefix" },
		{ "{'addresses':['10.0.0.1']}", "spec.prefix" },
		{ "{'addresses':['10.0.0.1'],'prefix':'24'}", "spec.prefix" },
		{ "{'addresses':['10.0.0.300'],'prefix':24}", "spec.addresses[0]" },
		{ "{'addresses':['garbage'],'prefix':24}", "spec.addresses[0]" },
		{ "{'addresses':[''],'prefix':24}", "spec.addresses[0]" },
		{ "{'addresses':[7],'prefix':24}", "spec.addresses[0]" },
		{ "{'addresses':['10.0.0.9-10.0.0.3'],'prefix':24}", "spec.addresses[0]" },
		{ "{'addresses':['10.0.0.1-10.0.0.9-10.0.0.12'],'prefix':24}",
		  "spec.addresses[0]" },
		{ "{'addresses':['10.0.0.0/33'],'prefix':24}", "spec.addresses[0]" },
		{ "{'addresses':['10.0.0.1','2001:db8::1'],'prefix':24}", "spec.addresses[1]" },
		{ "{'addresses':['10.0.0.1-2001:db8::1'],'prefix':24}", "spec.addresses[0]" },
		{ "{'addresses':['10.0.0.1','10.0.1.1'],'prefix':24}", "spec.addresses[1]" },
		{ "{'addresses':['10.0.0.0/23'],'prefix':24}", "spec.addresses[0]" },
		{ "{'addresses':['10.0.1.1','10.0.0.1'],'prefix':24}", "spec.addresses[0]" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'gateway':'10.0.0'}", "spec.gateway" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'gateway':'10.0.0.0/24'}",
		  "spec.gateway" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'gateway':'2001:db8::1'}",
		  "spec.gateway" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'excludedAddresses':['x']}",
		  "spec.excludedAddresses[0]" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'excludedAddresses':['2001:db8::1']}",
		  "spec.excludedAddresses[0]" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'excludedAddresses':['10.0.0.1','::1']}",
		  "spec.excludedAddresses[1]" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'addressReuseGracePeriodSeconds':-1}",
		  "spec.addressReuseGracePeriodSeconds" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'nameservers':{'addresses':['dns.example']"
		  "}}",
		  "spec.nameservers.addresses[0]" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'nameservers':{'addresses':['127.0.0.1',"
		  "'0.0.0.0','::','239.1.2.3','ff05::2','255.255.255.255']}}",
		  "spec.nameservers.addresses[1] spec.nameservers.addresses[2] "
		  "spec.nameservers.addresses[3] spec.nameservers.addresses[4] "
		  "spec.nameservers.addresses[5]" },
		{ "{'addresses':['10.0.0.1'],'prefix':24,'nameservers':{'search':['ok.example','"
		  "bad domain;x']}}",
		  "spec.nameservers.search[1]" },
		{ "{'addresses':['x','y'],'prefix':24,'gateway':'z'}",
		  "spec.addresses[0] spec.addresses[1] spec.gateway" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, fields = STRBUF_INIT;
		CLEANUP(api_errors_done) struct api_errors errors = { 0 };
		for (const char *c = rows[i].spec; *c != '\0'; c++)
			strbuf_addf(&text, "%c", *c == '\'' ? '"' : *c);
		json_t *spec = spec_of(text.s);
		char why[256];
		struct ipam_pool_spec pool;
		ipam_pool_spec_validate(spec, &errors);
		for (size_t k = 0; k < errors.n; k++)
			strbuf_addf(&fields, "%s%s", k != 0 ? " " : "", errors.v[k].field);
		if (errors.n == 0)
			fail_msg("%s is accepted", rows[i].spec);
		assert_string_equal(fields.s, rows[i].fields);
		assert_true(ipam_pool_spec_read(spec, &pool, ERR_TEXT(why)) < 0);
		json_decref(spec);
	}
}

/* The message says what is wrong with an entry that looks like a range. */
static void test_refused_ranges(void **state)
{
	static const struct {
		const char *entry, *end;
	} rows[] = {
		{ "10.7.5.9-10.7.5.1", "'address/length'; the range ends before it begins" },
		{ "fd00::2-fd00::1", "'address/length'; the range ends before it begins" },
		{ "fe80::1%eth0", "'address/length'; zones are not allowed" },
		{ "10.7.5.9-fd00::1", "'address/length'" },
		{ "10.7.5.9-x", "'address/length'" },
		{ "-", "'address/length'" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char why[256];
		struct ipam_pool_spec pool;
		json_t *spec = json_pack("{s:[s], s:i}", "addresses", rows[i].entry, "prefix", 24);
		assert_true(ipam_pool_spec_read(spec, &pool, ERR_TEXT(why)) < 0);
		if (!slice_ends(slice_of(why), slice_of(rows[i].end)))
			fail_msg("%s: %s", rows[i].entry, why);
		json_decref(spec);
	}
}

static bool write_range(void *ctx, struct net_ip_range range)
{
	struct strbuf *out = ctx;
	for (int i = 0; i < 2 && (i == 0 || range.last != range.first); i++) {
		char text[NET_ADDR_TEXT_MAX];
		net_ip_number number = i == 0 ? range.first : range.last;
		/* IPv6 rows lie far above all IPv4 addresses. */
		union net_addr addr =
			net_ip_from_number(number >> 32 != 0 ? AF_INET6 : AF_INET, number);
		net_addr_ip_str(&addr, text);
		strbuf_addf(out, "%s%s", i != 0 ? "-" : out->n != 0 ? " " : "", text);
	}
	return true;
}

/* PR-2, PR-3: what may be allocated, and how many that are. */
static void test_usable(void **state)
{
	static const struct {
		const char *spec, *usable;
		int64_t count;
	} rows[] = {
		{ "{'addresses':['10.0.0.0/24'],'prefix':24}", "10.0.0.1-10.0.0.254", 254 },
		{ "{'addresses':['10.0.0.0/24'],'prefix':24,'allocateReservedIPAddresses':true}",
		  "10.0.0.0-10.0.0.255", 256 },
		{ "{'addresses':['10.0.0.0/24'],'prefix':24,'gateway':'10.0.0.1'}",
		  "10.0.0.2-10.0.0.254", 253 },
		{ "{'addresses':['10.0.0.0/24'],'prefix':24,'gateway':'10.0.9.1'}",
		  "10.0.0.1-10.0.0.254", 254 },
		{ "{'addresses':['10.0.0.0/24'],'prefix':16}", "10.0.0.1-10.0.0.255", 255 },
		{ "{'addresses':['10.0.0.5'],'prefix':32}", "", 0 },
		{ "{'addresses':['10.0.0.5'],'prefix':32,'allocateReservedIPAddresses':true}",
		  "10.0.0.5", 1 },
		{ "{'addresses':['10.0.0.4-10.0.0.9','10.0.0.7','10.0.0.20'],'prefix':24}",
		  "10.0.0.4-10.0.0.9 10.0.0.20", 7 },
		{ "{'addresses':['10.0.0.20','10.0.0.4'],'prefix':24,'excludedAddresses':['10.0.0."
		  "20']}",
		  "10.0.0.4", 1 },
		{ "{'addresses':['10.0.0.0/24'],'prefix':24,'excludedAddresses':['10.0.0.0/"
		  "25','10.0.0.200-10.0.0.210']}",
		  "10.0.0.128-10.0.0.199 10.0.0.211-10.0.0.254", 116 },
		{ "{'addresses':['2001:db8::/120'],'prefix':120}", "2001:db8::1-2001:db8::ff",
		  255 },
		{ "{'addresses':['2001:db8::/120'],'prefix':64,'gateway':'2001:db8::ff'}",
		  "2001:db8::1-2001:db8::fe", 254 },
		{ "{'addresses':['2001:db8::/56'],'prefix':56}",
		  "2001:db8::1-2001:db8:0:ff:ffff:ffff:ffff:ffff", INT64_MAX },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, usable = STRBUF_INIT;
		for (const char *c = rows[i].spec; *c != '\0'; c++)
			strbuf_addf(&text, "%c", *c == '\'' ? '"' : *c);
		json_t *spec = spec_of(text.s);
		char why[256] = "";
		struct ipam_pool_spec pool;
		int r = ipam_pool_spec_read(spec, &pool, ERR_TEXT(why));
		if (r < 0)
			fail_msg("%s: %s", rows[i].spec, why);
		net_ip_ranges_each(&pool.usable, write_range, &usable);
		assert_string_equal(usable.n != 0 ? usable.s : "", rows[i].usable);
		assert_int_equal(net_ip_ranges_count(&pool.usable), rows[i].count);
		ipam_pool_spec_done(&pool);
		json_decref(spec);
	}
}

/* A pool without a usable address names what its lowest one is, unless exclusion alone is the cause. */
static void test_empty(void **state)
{
	static const struct {
		const char *spec, *why; /* NULL: it is not empty */
	} rows[] = {
		{ "{'addresses':['10.0.0.5'],'prefix':32}",
		  "10.0.0.5, its only address, is reserved as the first one of its network "
		  "(spec.allocateReservedIPAddresses)" },
		{ "{'addresses':['10.0.0.5'],'prefix':32,'allocateReservedIPAddresses':true}",
		  NULL },
		{ "{'addresses':['10.0.0.255'],'prefix':24}",
		  "10.0.0.255, its only address, is reserved as the last one of its network "
		  "(spec.allocateReservedIPAddresses)" },
		{ "{'addresses':['2001:db8::ff'],'prefix':120}", NULL },
		{ "{'addresses':['10.0.0.0/31'],'prefix':31}",
		  "10.0.0.0, its lowest address, is reserved as the first one of its network "
		  "(spec.allocateReservedIPAddresses)" },
		{ "{'addresses':['10.0.0.5'],'prefix':24,'gateway':'10.0.0.5'}",
		  "10.0.0.5, its only address, is the gateway (spec.gateway)" },
		{ "{'addresses':['10.0.0.5-10.0.0.6'],'prefix':24,'excludedAddresses':['10.0.0.0/"
		  "24']}",
		  "all its addresses are in spec.excludedAddresses" },
		{ "{'addresses':['10.3.0.0/24'],'prefix':24,'excludedAddresses':['10.3.0.0/24']}",
		  "all its addresses are in spec.excludedAddresses" },
		{ "{'addresses':['10.3.0.0'],'prefix':24,'excludedAddresses':['10.3.0.0/24']}",
		  "10.3.0.0, its only address, is among spec.excludedAddresses" },
		{ "{'addresses':['10.3.0.0/30'],'prefix':30,'excludedAddresses':['10.3.0.0-10.3.0."
		  "2']}",
		  "10.3.0.0, its lowest address, is reserved as the first one of its network "
		  "(spec.allocateReservedIPAddresses)" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		for (const char *c = rows[i].spec; *c != '\0'; c++)
			strbuf_addf(&text, "%c", *c == '\'' ? '"' : *c);
		json_t *spec = spec_of(text.s);
		char why[256] = "";
		struct ipam_pool_spec pool;
		assert_int_equal(ipam_pool_spec_read(spec, &pool, ERR_TEXT(why)), 0);
		assert_int_equal(ipam_pool_spec_is_empty(&pool, ERR_TEXT(why)),
				 rows[i].why != NULL);
		assert_string_equal(why, rows[i].why != NULL ? rows[i].why : "");
		ipam_pool_spec_done(&pool);
		json_decref(spec);
	}
}

/* The field that takes an address away is named, as a refused change of a pool does. */
static void test_why_unusable(void **state)
{
	static const struct {
		const char *address, *why;
	} rows[] = {
		{ "10.0.0.4", "is not in spec.addresses" },
		{ "fd00::5", "is not in spec.addresses" },
		{ "10.0.0.5", "is the gateway (spec.gateway)" },
		{ "10.0.0.6", "is among spec.excludedAddresses" },
		{ "10.0.0.7",
		  "is reserved as the last one of its network (spec.allocateReservedIPAddresses)" },
	};
	json_t *spec = spec_of("{\"addresses\":[\"10.0.0.5-10.0.0.7\"],\"prefix\":29,"
			       "\"gateway\":\"10.0.0.5\",\"excludedAddresses\":[\"10.0.0.6\"]}");
	struct ipam_pool_spec pool;
	char error[256];
	(void)state;
	assert_int_equal(ipam_pool_spec_read(spec, &pool, ERR_TEXT(error)), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		sa_family_t family;
		struct net_ip_range range;
		assert_int_equal(net_ip_range_parse(slice_of(rows[i].address), &family, &range), 0);
		assert_string_equal(
			ipam_pool_spec_why_unusable(&pool, ipam_block_of_one(family, range.first)),
			rows[i].why);
	}
	ipam_pool_spec_done(&pool);
	json_decref(spec);
}

/* PR-1, PR-12: specs of pools of prefixes. */
static void test_prefixes(void **state)
{
	static const struct {
		const char *spec, *wrong; /* the first error; NULL: valid */
		int64_t total;
		const char *lowest;
	} rows[] = {
		{ "'prefixes':['fd00::/48']", NULL, 65536, "fd00::" },
		{ "'prefixes':['fd00::/48'],'allocationPrefixLength':56", NULL, 256, "fd00::" },
		{ "'prefixes':['fd00::/64']", NULL, 1, "fd00::" },
		{ "'prefixes':['fd00::/16','fd01::/48']", NULL, (1LL << 48) + 65536, "fd00::" },
		{ "'prefixes':['::/1'],'allocationPrefixLength':128", NULL, INT64_MAX, "::" },
		{ "'prefixes':['fd00::/62','fd00::/63']", NULL, 4, "fd00::" },
		{ "'prefixes':['fd00::/62'],'gateway':'fd00::1'", NULL, 4, "fd00::" },
		{ "'prefixes':['fd00::/62'],'excludedPrefixes':['fd00::7']", NULL, 3,
		  "fd00:0:0:1::" },
		{ "'prefixes':['fd00::/62'],'excludedPrefixes':['fd00::/63','fd00:0:0:3::1']", NULL,
		  1, "fd00:0:0:2::" },
		{ "'prefixes':['fd00::/64'],'excludedPrefixes':['fd00::1-fd00::5']", NULL, 0, "" },
		{ "'prefixes':[]", "spec.prefixes: Required", 0, NULL },
		{ "'prefixes':['fd00::']", "spec.prefixes[0]: ", 0, NULL },
		{ "'prefixes':['fd00::-fd00::ffff']", "spec.prefixes[0]: ", 0, NULL },
		{ "'prefixes':['fd00::/48','10.0.0.0/8']", "spec.prefixes[1]: ", 0, NULL },
		{ "'prefixes':['fd00::1/48']", "spec.prefixes[0]: ", 0, NULL },
		{ "'prefixes':['fd00::/65']", "spec.prefixes[0]: ", 0, NULL },
		{ "'prefixes':['fd00::/048']", "spec.prefixes[0]: ", 0, NULL },
		{ "'prefixes':['fd00::/48'],'allocationPrefixLength':47", "spec.prefixes[0]: ", 0,
		  NULL },
		{ "'prefixes':['fd00::/48'],'allocationPrefixLength':0",
		  "spec.allocationPrefixLength: ", 0, NULL },
		{ "'prefixes':['fd00::/48'],'allocationPrefixLength':129",
		  "spec.allocationPrefixLength: ", 0, NULL },
		{ "'prefixes':['fd00::/48'],'gateway':'10.0.0.1'", "spec.gateway: ", 0, NULL },
		{ "'prefixes':['fd00::/48'],'excludedPrefixes':['10.0.0.1']",
		  "spec.excludedPrefixes[0]: ", 0, NULL },
		{ "'prefixes':['fd00::/48'],'nameservers':{'addresses':['::']}",
		  "spec.nameservers.addresses[0]: ", 0, NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addc(&text, '{');
		for (const char *at = rows[i].spec; *at != '\0'; at++)
			strbuf_addc(&text, *at == '\'' ? '"' : *at);
		strbuf_addc(&text, '}');
		json_t *spec = spec_of(text.s);
		struct ipam_pool_spec pool;
		char error[256] = "", lowest_text[NET_ADDR_TEXT_MAX] = "";
		net_ip_number lowest;
		int r = ipam_pool_spec_read(spec, &pool, ERR_TEXT(error));
		json_decref(spec);
		if (rows[i].wrong != NULL) {
			assert_true(r < 0);
			if (strncmp(error, rows[i].wrong, strlen(rows[i].wrong)) != 0)
				fail_msg("%s: %s", text.s, error);
			continue;
		}
		if (r < 0)
			fail_msg("%s: %s", text.s, error);
		assert_int_equal(net_ip_ranges_count_blocks(&pool.usable, pool.bits),
				 rows[i].total);
		if (net_ip_ranges_lowest(&pool.usable, &lowest)) {
			union net_addr addr = net_ip_from_number(AF_INET6, lowest);
			net_addr_ip_str(&addr, lowest_text);
		}
		assert_string_equal(lowest_text, rows[i].lowest);
		assert_int_equal(ipam_pool_spec_is_empty(&pool, ERR_TEXT(error)),
				 rows[i].total == 0);
		ipam_pool_spec_done(&pool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),	     cmocka_unit_test(test_refused_ranges),
		cmocka_unit_test(test_usable),	     cmocka_unit_test(test_empty),
		cmocka_unit_test(test_why_unusable), cmocka_unit_test(test_prefixes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
