/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of learnt addresses: EF-S4 (what merely counts down changes nothing), EF-S5 (union),
 * EF-S6 (expiry and grace), EF-P10 (limits), and the versions of its zone. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng_test.h"
#include "base/strbuf.h"
#include "dns/learnt/learnt_record.h"
#include "dns/resp.h"
#include "plugin/egressfirewall/learnt.h"
#include "plugin/shared/zonecopy.h"

enum { WALL = 1700000000 };

static uint64_t wall_ns(uint64_t second)
{
	return (WALL + second) * NS_PER_S;
}

static uint32_t serial_at(uint64_t second)
{
	return (uint32_t)(wall_ns(second) >> 24);
}

/* The second that a serial was made in, or -1. */
static int second_of(uint32_t serial)
{
	for (int i = 0; i < 1000; i++) {
		if (serial_at((uint64_t)i) == serial)
			return i;
	}
	return -1;
}

static const struct egressfirewall_limits wide = { .pairs = 65536,
						   .names_per_object = 4096,
						   .ips_per_name = 256,
						   .pairs_per_client = 65536,
						   .journal_bytes = 1 << 20 };

static struct egressfirewall_seen seen_of(const char *object, const char *name, const char *ip,
					  uint32_t ttl_s)
{
	struct egressfirewall_seen seen = {
		.object = slice_of(object), .name = slice_of(name), .ttl_s = ttl_s, .client = 1
	};
	bool v6 = strchr(ip, ':') != NULL;
	seen.ip_n = v6 ? 16 : 4;
	assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, ip, seen.ip), 1);
	return seen;
}

static enum egressfirewall_result see(struct egressfirewall_learnt *table, const char *name,
				      const char *ip, uint32_t ttl_s, uint64_t now_s)
{
	struct egressfirewall_seen seen = seen_of("wildcard.example.com", name, ip, ttl_s);
	return egressfirewall_learnt_add(table, &seen, now_s);
}

/* The records of a copy as "NAME IP TTL EXPIRES;", SOA records as "[SECOND]"; times relative
 * to WALL. */
static const char *text_of(struct zone_copy *copy)
{
	static struct strbuf out = STRBUF_INIT;
	struct dns_rr rr;
	strbuf_reset(&out);
	if (copy == NULL)
		return "none";
	while (copy->next(copy, &rr) > 0) {
		struct dns_learnt l;
		char ip[INET6_ADDRSTRLEN];
		if (rr.type == DNS_TYPE_SOA)
			strbuf_addf(&out, "[%d]", second_of(dns_get32(rr.rdata + rr.rdlen - 20)));
		if (rr.type != DNS_TYPE_TXT)
			continue;
		assert_int_equal(dns_learnt_parse(rr.rdata, rr.rdlen, &l), 0);
		inet_ntop(l.ip_n == 4 ? AF_INET : AF_INET6, l.ip, ip, sizeof(ip));
		strbuf_addf(&out, "%.*s %s %u %llu;", (int)l.name.n, l.name.p, ip, l.ttl_s,
			    (unsigned long long)l.expires_s - WALL);
	}
	copy->free(copy);
	return out.s;
}

static const char *zone_at(struct egressfirewall_learnt *table, uint64_t now_s)
{
	return text_of(egressfirewall_learnt_copy(table, now_s, wall_ns(now_s)));
}

static const char *since(struct egressfirewall_learnt *table, uint32_t serial, uint64_t now_s)
{
	return text_of(
		egressfirewall_learnt_changes(table, serial_at(serial), now_s, wall_ns(now_s)));
}

static void learns_extends_and_forgets(void **state)
{
	(void)state;
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&wide, wall_ns(0));
	assert_int_equal(see(t, "a.example.com", "192.0.2.1", 30, 1), EGRESSFIREWALL_NEW);
	assert_string_equal(zone_at(t, 1), "[1]a.example.com 192.0.2.1 30 31;");
	/* A cached answer counts down: the same end. Nothing changes (EF-S4). */
	assert_int_equal(see(t, "a.example.com", "192.0.2.1", 20, 11), EGRESSFIREWALL_KNOWN);
	egressfirewall_learnt_expire(t, 11);
	assert_string_equal(since(t, 1, 11), "[1]");
	/* A fresh one counts, the lease follows before it ends. */
	assert_int_equal(see(t, "a.example.com", "192.0.2.1", 30, 20), EGRESSFIREWALL_EXTENDED);
	egressfirewall_learnt_expire(t, 20);
	assert_string_equal(since(t, 1, 20), "[1]");
	egressfirewall_learnt_expire(t, 26);
	assert_string_equal(
		since(t, 1, 26),
		"[26][1]a.example.com 192.0.2.1 30 31;[26]a.example.com 192.0.2.1 30 50;");
	/* It leaves after its expiry and the grace (EF-S6). */
	egressfirewall_learnt_expire(t, 54);
	assert_string_equal(zone_at(t, 54), "[26]a.example.com 192.0.2.1 30 50;");
	egressfirewall_learnt_expire(t, 55);
	assert_string_equal(zone_at(t, 55), "[55]");
	assert_int_equal(egressfirewall_learnt_counts(t).expired, 1);
	egressfirewall_learnt_free(t);
}

/* Servers whose answers rotate: every address of every answer is there, none is removed and added
 * again (EF-S5). */
static void unites_rotating_answers(void **state)
{
	(void)state;
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&wide, wall_ns(0));
	char ip[32];
	for (unsigned now = 1; now <= 300; now++) {
		snprintf(ip, sizeof(ip), "198.51.100.%u", now % 10);
		enum egressfirewall_result r = see(t, "pool.example.com", ip, 10, now);
		assert_int_equal(r, now <= 10 ? EGRESSFIREWALL_NEW : EGRESSFIREWALL_EXTENDED);
		egressfirewall_learnt_expire(t, now);
		egressfirewall_learnt_publish(t, now, wall_ns(now));
		assert_int_equal(egressfirewall_learnt_counts(t).pairs, MIN(now, 10));
	}
	assert_int_equal(egressfirewall_learnt_counts(t).expired, 0);
	egressfirewall_learnt_free(t);
}

static void floors_and_caps_ttls(void **state)
{
	(void)state;
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&wide, wall_ns(0));
	see(t, "a.example.com", "2001:db8::1", 0, 1);
	assert_string_equal(zone_at(t, 1), "[1]a.example.com 2001:db8::1 5 6;");
	see(t, "a.example.com", "2001:db8::1", UINT32_MAX, 2);
	egressfirewall_learnt_expire(t, 2);
	assert_string_equal(zone_at(t, 2), "[2]a.example.com 2001:db8::1 604800 604802;");
	egressfirewall_learnt_free(t);
}

/* EF-P10: names, addresses, clients and the whole are bounded; the earliest expiry leaves. */
static void holds_each_limit(void **state)
{
	(void)state;
	struct egressfirewall_limits limits = { .pairs = 100,
						.names_per_object = 10,
						.ips_per_name = 3,
						.pairs_per_client = 30,
						.journal_bytes = 4096 };
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&limits, wall_ns(0));
	char name[64], object[64], ip[32];
	for (unsigned i = 0; i < 5; i++) {
		snprintf(ip, sizeof(ip), "192.0.2.%u", i);
		see(t, "x.example.com", ip, 100 + i, 1);
	}
	assert_string_equal(zone_at(t, 1), "[1]x.example.com 192.0.2.2 102 103;"
					   "x.example.com 192.0.2.3 103 104;"
					   "x.example.com 192.0.2.4 104 105;");
	assert_int_equal(egressfirewall_learnt_counts(t).evicted_ips, 2);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%u.example.com", i);
		see(t, name, "192.0.2.9", 1000 + i, 1);
	}
	assert_int_equal(egressfirewall_learnt_counts(t).names, 10);
	/* A client that asks for much is refused what is beyond its share; others are not. */
	unsigned refused = 0;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(object, sizeof(object), "wildcard.o%u.test", i);
		struct egressfirewall_seen seen = seen_of(object, "a.o.test", "192.0.2.1", 60);
		seen.client = 2;
		refused +=
			egressfirewall_learnt_add(t, &seen, 1) == EGRESSFIREWALL_OVER_CLIENT_LIMIT;
	}
	assert_int_equal(refused, 970);
	assert_int_equal(see(t, "n99.example.com", "192.0.2.10", 60, 1), EGRESSFIREWALL_NEW);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(object, sizeof(object), "wildcard.p%u.test", i);
		struct egressfirewall_seen seen = seen_of(object, "a.p.test", "192.0.2.1", 60);
		seen.client = 3 + i / 20;
		assert_int_equal(egressfirewall_learnt_add(t, &seen, 1), EGRESSFIREWALL_NEW);
		assert_true(egressfirewall_learnt_counts(t).pairs <= 100);
	}
	assert_true(egressfirewall_learnt_counts(t).evicted_pairs >= 900);
	egressfirewall_learnt_free(t);
}

static unsigned count_below(struct egressfirewall_learnt *learnt, const char *parent)
{
	unsigned n = 0;
	for (const char *p = zone_at(learnt, 1); (p = strstr(p, parent)) != NULL; p++)
		n++;
	return n;
}

/* EF-P10: whoever owns names below one wildcard and gives them long TTLs drives out no others. */
static void one_object_fills_the_table(void **state)
{
	(void)state;
	struct egressfirewall_limits limits = { .pairs = 100,
						.names_per_object = 4096,
						.ips_per_name = 256,
						.pairs_per_client = 4096,
						.journal_bytes = 4096 };
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&limits, wall_ns(0));
	char name[64];
	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "n%u.good.test", i);
		struct egressfirewall_seen seen =
			seen_of("wildcard.good.test", name, "192.0.2.1", 30);
		assert_int_equal(egressfirewall_learnt_add(t, &seen, 1), EGRESSFIREWALL_NEW);
	}
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%u.evil.test", i);
		struct egressfirewall_seen seen =
			seen_of("wildcard.evil.test", name, "192.0.2.1", 86400);
		seen.client = i;
		assert_int_equal(egressfirewall_learnt_add(t, &seen, 1), EGRESSFIREWALL_NEW);
	}
	assert_int_equal(count_below(t, ".good.test "), 20);
	assert_int_equal(count_below(t, ".evil.test "), 80);
	for (unsigned i = 20; i < 60; i++) {
		snprintf(name, sizeof(name), "n%u.good.test", i);
		struct egressfirewall_seen seen =
			seen_of("wildcard.good.test", name, "192.0.2.1", 30);
		assert_int_equal(egressfirewall_learnt_add(t, &seen, 1), EGRESSFIREWALL_NEW);
	}
	assert_int_equal(count_below(t, ".good.test "), 50);
	assert_int_equal(egressfirewall_learnt_counts(t).pairs, 100);
	egressfirewall_learnt_free(t);
}

static enum egressfirewall_result see_as(struct egressfirewall_learnt *learnt, uint64_t client,
					 const struct egressfirewall_seen *seen)
{
	struct egressfirewall_seen copy = *seen;
	copy.client = client;
	return egressfirewall_learnt_add(learnt, &copy, 1);
}

enum { GREEDY = 1, MODEST = 2 };

/* A greedy client asks for 1000 names with long TTLs, a modest one in between for 40 with short ones. */
static void see_both(struct egressfirewall_learnt *learnt)
{
	char name[64];
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%u.greedy.test", i);
		struct egressfirewall_seen seen =
			seen_of("wildcard.test", name, "192.0.2.1", 86400);
		see_as(learnt, GREEDY, &seen);
		if (i % 25 != 24)
			continue;
		snprintf(name, sizeof(name), "n%u.modest.test", i / 25);
		seen = seen_of("wildcard.test", name, "192.0.2.1", 5);
		assert_int_equal(see_as(learnt, MODEST, &seen), EGRESSFIREWALL_NEW);
	}
}

/* EF-P10: below one wildcard a client that asks for very many names drives out its own, not those of
 * another client, whatever the TTLs; also where the whole table is full. */
static void greedy_client_drives_out_its_own(void **state)
{
	(void)state;
	struct egressfirewall_limits limits[] = { wide, wide };
	limits[0].names_per_object = 100;
	limits[1].pairs = 100;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct egressfirewall_learnt *t = egressfirewall_learnt_new(&limits[i], wall_ns(0));
		see_both(t);
		assert_int_equal(count_below(t, ".modest.test "), 40);
		assert_int_equal(count_below(t, ".greedy.test "), 60);
		egressfirewall_learnt_free(t);
	}
}

/* The same for the addresses of one name. */
static void greedy_client_leaves_addresses_of_others(void **state)
{
	(void)state;
	struct egressfirewall_limits limits = wide;
	limits.ips_per_name = 10;
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&limits, wall_ns(0));
	struct egressfirewall_seen modest = seen_of("a.test", "a.test", "198.51.100.1", 5);
	char ip[32];
	for (unsigned i = 0; i < 100; i++) {
		snprintf(ip, sizeof(ip), "192.0.2.%u", i);
		struct egressfirewall_seen seen = seen_of("a.test", "a.test", ip, 86400);
		assert_int_equal(see_as(t, GREEDY, &seen), EGRESSFIREWALL_NEW);
		if (i == 50)
			assert_int_equal(see_as(t, MODEST, &modest), EGRESSFIREWALL_NEW);
	}
	assert_int_equal(count_below(t, " 198.51.100.1 "), 1);
	assert_int_equal(egressfirewall_learnt_counts(t).pairs, 10);
	egressfirewall_learnt_free(t);
}

/* A name that the greedy client asked for first counts as the modest client's when that one gets it, too. */
static void shared_pair_counts_for_the_modest_client(void **state)
{
	(void)state;
	struct egressfirewall_limits limits = wide;
	limits.names_per_object = 100;
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&limits, wall_ns(0));
	struct egressfirewall_seen shared =
		seen_of("wildcard.test", "shared.modest.test", "192.0.2.1", 5);
	assert_int_equal(see_as(t, GREEDY, &shared), EGRESSFIREWALL_NEW);
	for (unsigned i = 0; i < 10; i++) {
		char name[64];
		snprintf(name, sizeof(name), "first%u.greedy.test", i);
		struct egressfirewall_seen seen = seen_of("wildcard.test", name, "192.0.2.1", 60);
		see_as(t, GREEDY, &seen);
	}
	assert_int_equal(see_as(t, MODEST, &shared), EGRESSFIREWALL_KNOWN);
	see_both(t);
	assert_int_equal(count_below(t, "shared.modest.test "), 1);
	egressfirewall_learnt_free(t);
}

static void forgets_an_object(void **state)
{
	(void)state;
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&wide, wall_ns(0));
	struct egressfirewall_seen other = seen_of("b.test", "b.test", "192.0.2.2", 60);
	see(t, "a.example.com", "192.0.2.1", 60, 1);
	egressfirewall_learnt_add(t, &other, 1);
	egressfirewall_learnt_publish(t, 1, wall_ns(1));
	egressfirewall_learnt_forget(t, SLICE("wildcard.example.com"));
	egressfirewall_learnt_forget(t, SLICE("nobody.example.com"));
	assert_string_equal(since(t, 1, 2), "[2][1]a.example.com 192.0.2.1 60 61;[2]");
	assert_string_equal(zone_at(t, 2), "[2]b.test 192.0.2.2 60 61;");
	egressfirewall_learnt_free(t);
}

static void keeps_bounded_versions(void **state)
{
	(void)state;
	struct egressfirewall_limits limits = wide;
	limits.journal_bytes = 3000;
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&limits, wall_ns(0));
	char name[64];
	for (unsigned i = 1; i <= 100; i++) {
		snprintf(name, sizeof(name), "n%u.example.com", i);
		see(t, name, "192.0.2.9", 1000, i);
		assert_true(egressfirewall_learnt_publish(t, i, wall_ns(i)));
		assert_false(egressfirewall_learnt_publish(t, i, wall_ns(i)));
	}
	assert_int_equal(egressfirewall_learnt_serial(t), serial_at(100));
	assert_string_equal(since(t, 100, 100), "[100]");
	assert_string_equal(since(t, 99, 100),
			    "[100][99][100]n100.example.com 192.0.2.9 1000 1100;");
	assert_string_equal(since(t, 1, 100), "none");
	assert_string_equal(since(t, 101, 100), "none");
	/* A clock that was set back: the serial goes on. */
	see(t, "late.example.com", "192.0.2.9", 10, 101);
	assert_true(egressfirewall_learnt_publish(t, 101, wall_ns(0) - 5000 * NS_PER_S));
	assert_int_equal(egressfirewall_learnt_serial(t), serial_at(100) + 1);
	egressfirewall_learnt_free(t);
}

static size_t size_of(struct zone_copy *copy)
{
	size_t bytes = 0;
	struct dns_rr rr;
	while (copy->next(copy, &rr) > 0)
		bytes += rr.owner_len + rr.rdlen;
	copy->free(copy);
	return bytes;
}

/* Names that come and go: differences that are much larger than the zone are not sent, the zone is. */
static void differences_are_not_larger_than_the_whole(void **state)
{
	(void)state;
	struct egressfirewall_limits limits = wide;
	limits.names_per_object = 100;
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&limits, wall_ns(0));
	char name[64];
	unsigned n_none = 0, n_some = 0;
	for (unsigned i = 1; i <= 900; i++) {
		snprintf(name, sizeof(name), "n%u.example.com", i);
		see(t, name, "192.0.2.9", 2000 + i, i);
		egressfirewall_learnt_publish(t, i, wall_ns(i));
	}
	size_t whole = size_of(egressfirewall_learnt_copy(t, 900, wall_ns(900)));
	for (unsigned i = 1; i <= 900; i++) {
		struct zone_copy *changes =
			egressfirewall_learnt_changes(t, serial_at(i), 900, wall_ns(900));
		n_none += changes == NULL;
		n_some += changes != NULL;
		assert_true(changes == NULL || size_of(changes) <= whole + 4096);
	}
	assert_true(n_some >= 20);
	assert_true(n_none > 500);
	egressfirewall_learnt_free(t);
}

/* A secondary that follows by differences has what one has that fetches all. */
static void apply_changes(struct map *have, struct zone_copy *copy)
{
	struct dns_rr rr;
	int soas = 0;
	while (copy->next(copy, &rr) > 0) {
		struct slice data = { (const char *)rr.rdata, rr.rdlen };
		soas += rr.type == DNS_TYPE_SOA;
		if (rr.type != DNS_TYPE_TXT)
			continue;
		if (soas % 2 == 0) /* behind the old serial */
			assert_non_null(map_del(have, data));
		else
			assert_null(map_set(have, data, have));
	}
	copy->free(copy);
}

static void differences_lead_to_the_whole(void **state)
{
	(void)state;
	struct egressfirewall_limits limits = wide;
	limits.names_per_object = 30;
	limits.ips_per_name = 4;
	struct egressfirewall_learnt *t = egressfirewall_learnt_new(&limits, wall_ns(0));
	struct rng rng;
	struct map have;
	char name[64], ip[32];
	uint32_t serial = serial_at(0);
	unsigned n_changes = 0;
	rng_init_seed(&rng, 7);
	map_init(&have);
	for (unsigned now = 1; now < 400; now++) {
		for (int i = 0; i < 20; i++) {
			snprintf(name, sizeof(name), "n%u.example.com", rng_below(&rng, 40));
			snprintf(ip, sizeof(ip), "192.0.2.%u", rng_below(&rng, 6));
			see(t, name, ip, rng_below(&rng, 60), now);
		}
		egressfirewall_learnt_expire(t, now);
		if (rng_below(&rng, 3) != 0)
			continue;
		struct zone_copy *changes =
			egressfirewall_learnt_changes(t, serial, now, wall_ns(now));
		n_changes += changes != NULL;
		if (changes == NULL) { /* they are larger than the whole */
			map_done(&have);
			map_init(&have);
			changes = egressfirewall_learnt_copy(t, now, wall_ns(now));
		}
		apply_changes(&have, changes);
		serial = egressfirewall_learnt_serial(t);
		struct zone_copy *all = egressfirewall_learnt_copy(t, now, wall_ns(now));
		struct dns_rr rr;
		size_t n = 0;
		while (all->next(all, &rr) > 0) {
			if (rr.type != DNS_TYPE_TXT)
				continue;
			assert_true(
				map_has(&have, (struct slice){ (const char *)rr.rdata, rr.rdlen }));
			n++;
		}
		all->free(all);
		assert_int_equal(n, have.n);
	}
	assert_true(n_changes > 50);
	map_done(&have);
	egressfirewall_learnt_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learns_extends_and_forgets),
		cmocka_unit_test(unites_rotating_answers),
		cmocka_unit_test(floors_and_caps_ttls),
		cmocka_unit_test(holds_each_limit),
		cmocka_unit_test(one_object_fills_the_table),
		cmocka_unit_test(greedy_client_drives_out_its_own),
		cmocka_unit_test(greedy_client_leaves_addresses_of_others),
		cmocka_unit_test(shared_pair_counts_for_the_modest_client),
		cmocka_unit_test(forgets_an_object),
		cmocka_unit_test(keeps_bounded_versions),
		cmocka_unit_test(differences_are_not_larger_than_the_whole),
		cmocka_unit_test(differences_lead_to_the_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
