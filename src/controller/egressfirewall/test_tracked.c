/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-9, EF-10, EF-S4, EF-S5, EF-S6: the life of addresses, and what is reported of it. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/egressfirewall/tracked.h"

#define WALL UINT64_C(1800000000)

static struct tracked_now at(uint64_t second)
{
	return (struct tracked_now){ (1000 + second) * NS_PER_S, (WALL + second) * NS_PER_S };
}

struct rig {
	struct tracked_hosts hosts;
	struct tracked_host *host;
};

static void rig_init(struct rig *rig)
{
	struct tracked_now now = at(0);
	tracked_init(&rig->hosts);
	rig->host = tracked_add(&rig->hosts, "www.example.com", &now);
}

/* An answer with A records at a second; whether something is to be reported. */
static bool answer(struct rig *rig, uint64_t second, uint32_t ttl_s, const char *ips)
{
	struct tracked_now now = at(second);
	union net_addr addresses[300];
	struct slice rest = slice_of(ips);
	size_t n = 0;
	while (rest.n != 0)
		assert_int_equal(net_addr_parse_ip(slice_cut(&rest, ' '), &addresses[n++]), 0);
	struct tracked_answer found = { AF_INET, addresses, n, ttl_s, NULL };
	bool changed = tracked_host_answer(rig->host, &found, &now);
	bool recovered = tracked_host_looked_up(rig->host, ttl_s, 0, &now);
	return changed || recovered;
}

static bool expire(struct rig *rig, uint64_t second)
{
	struct tracked_now now = at(second);
	return tracked_host_expire(rig->host, &now);
}

static const char *shown(const struct rig *rig)
{
	static char text[512];
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < rig->host->addresses.n && n < sizeof(text) - 64; i++) {
		const struct tracked_address *address = &rig->host->addresses.v[i];
		char ip[INET6_ADDRSTRLEN];
		inet_ntop(address->n == 4 ? AF_INET : AF_INET6, address->bytes, ip, sizeof(ip));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i != 0 ? " " : "", ip);
	}
	return text;
}

/* Answers that rotate are united; an address leaves at its expiry and the grace, and never while
 * answers have it. */
static void union_and_expiry(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_true(answer(&rig, 0, 30, "192.0.2.2 192.0.2.1"));
	assert_string_equal(shown(&rig), "192.0.2.1 192.0.2.2");
	assert_true(answer(&rig, 20, 30, "192.0.2.3"));
	assert_string_equal(shown(&rig), "192.0.2.1 192.0.2.2 192.0.2.3");
	assert_false(expire(&rig, 34));
	assert_int_equal(tracked_host_due_ns(rig.host), at(35).mono_ns);
	assert_true(expire(&rig, 35));
	assert_string_equal(shown(&rig), "192.0.2.3");
	/* One that is answered does not expire, however late the next lookup is. */
	assert_false(expire(&rig, 1000));
	assert_string_equal(shown(&rig), "192.0.2.3");
	/* One that comes back in time was never away. */
	assert_true(answer(&rig, 1000, 30, "192.0.2.4"));
	assert_false(answer(&rig, 1003, 30, "192.0.2.3 192.0.2.4"));
	assert_false(expire(&rig, 1010));
	assert_false(answer(&rig, 1020, 30, ""));
	assert_true(expire(&rig, 1038));
	assert_string_equal(shown(&rig), "");
	tracked_done(&rig.hosts);
}

/* Another server gave the address for longer: a client may use it until then. */
static void longest_time_counts(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_true(answer(&rig, 0, 300, "192.0.2.1"));
	answer(&rig, 10, 5, "192.0.2.1");
	answer(&rig, 20, 5, "192.0.2.9");
	assert_false(expire(&rig, 304));
	assert_true(expire(&rig, 305));
	tracked_done(&rig.hosts);
}

/* TTLs of cached answers count down, and start again: nothing to report. */
static void counting_down_is_no_news(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_true(answer(&rig, 0, 30, "192.0.2.1"));
	for (uint64_t second = 1; second < 3600; second++)
		assert_false(answer(&rig, second, 30 - (uint32_t)(second % 30), "192.0.2.1"));
	assert_int_equal(rig.host->addresses.v[0].ttl_s, 30);
	tracked_done(&rig.hosts);
}

static void other_ttls_are_news(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_true(answer(&rig, 0, 30, "192.0.2.1"));
	assert_false(answer(&rig, 30, 45, "192.0.2.1"));
	assert_true(answer(&rig, 60, 46, "192.0.2.1"));
	assert_true(answer(&rig, 100, 86400, "192.0.2.1"));
	/* EF-10: the reported lookup is later than the one that this answer asks for. */
	assert_true(answer(&rig, 200, 30, "192.0.2.1"));
	assert_int_equal(rig.host->addresses.v[0].ttl_s, 30);
	assert_int_equal(rig.host->addresses.v[0].lookup_ns, at(230).wall_ns);
	tracked_done(&rig.hosts);
}

static void times_of_lookups(void **state)
{
	struct tracked_now now = at(0);
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_int_equal(tracked_host_due_ns(rig.host), now.mono_ns);
	answer(&rig, 0, 0, "192.0.2.1"); /* at least five seconds */
	assert_int_equal(tracked_host_due_ns(rig.host), at(5).mono_ns);
	answer(&rig, 5, 100, "192.0.2.1");
	assert_int_equal(rig.host->next_lookup_ns, at(105).mono_ns);
	now = at(105);
	IGNORE(tracked_host_looked_up(rig.host, 100, TRACKED_SPREAD - 1, &now));
	assert_true(rig.host->next_lookup_ns > at(214).mono_ns);
	assert_true(rig.host->next_lookup_ns < at(215).mono_ns);
	/* A name without addresses may get some any time. */
	struct tracked_host *other = tracked_add(&rig.hosts, "none.example.com", &now);
	IGNORE(tracked_host_looked_up(other, 86400, 0, &now));
	assert_int_equal(other->next_lookup_ns, at(405).mono_ns);
	tracked_done(&rig.hosts);
}

static void failures(void **state)
{
	static const uint64_t waits[] = { 5, 10, 20, 40, 80, 120, 120 };
	uint64_t second = 10;
	struct rig rig;
	(void)state;
	rig_init(&rig);
	answer(&rig, 0, 10, "192.0.2.1");
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		struct tracked_now now = at(second);
		assert_int_equal(tracked_host_failed(rig.host, "no answer", 0, &now), i == 0);
		assert_int_equal(rig.host->next_lookup_ns, at(second + waits[i]).mono_ns);
		assert_int_equal(expire(&rig, second + 5), i == TRACKED_FAILURES_MAX - 1);
		second += waits[i];
	}
	assert_string_equal(rig.host->error, "no answer");
	assert_string_equal(shown(&rig), "");
	assert_true(tracked_host_is_spent(rig.host));
	rig.host->is_regular = true;
	assert_false(tracked_host_is_spent(rig.host));
	assert_true(answer(&rig, second, 10, "192.0.2.1"));
	assert_int_equal(rig.host->failures, 0);
	assert_string_equal(rig.host->error, "");
	tracked_done(&rig.hosts);
}

static void never_learnt(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_true(answer(&rig, 0, 30, "127.0.0.1 169.254.169.254 192.0.2.1 224.0.0.1"));
	assert_string_equal(shown(&rig), "192.0.2.1");
	tracked_done(&rig.hosts);
}

static void families_apart(void **state)
{
	struct tracked_now now = at(0);
	union net_addr address;
	struct rig rig;
	(void)state;
	rig_init(&rig);
	assert_int_equal(net_addr_parse_ip(SLICE("2001:db8::1"), &address), 0);
	struct tracked_answer v6 = { AF_INET6, &address, 1, 10, NULL };
	assert_true(tracked_host_answer(rig.host, &v6, &now));
	assert_true(answer(&rig, 0, 10, "192.0.2.1"));
	assert_string_equal(shown(&rig), "192.0.2.1 2001:db8::1");
	/* An answer about IPv4 says nothing about IPv6. */
	assert_true(answer(&rig, 20, 10, "192.0.2.2"));
	assert_true(expire(&rig, 25));
	assert_string_equal(shown(&rig), "192.0.2.2 2001:db8::1");
	tracked_done(&rig.hosts);
}

static void limits(void **state)
{
	struct tracked_now now = at(0);
	CLEANUP(strbuf_done) struct strbuf ips = STRBUF_INIT;
	struct rig rig;
	(void)state;
	rig_init(&rig);
	for (unsigned i = 0; i < TRACKED_ADDRESSES_MAX + 10; i++)
		strbuf_addf(&ips, "%s10.1.%u.%u", i != 0 ? " " : "", i / 256, i % 256);
	assert_true(answer(&rig, 0, 30, ips.s));
	assert_int_equal(rig.host->addresses.n, TRACKED_ADDRESSES_MAX);
	for (unsigned i = 0; i < SHARES_HOST_MAX + 1; i++) {
		char name[64];
		snprintf(name, sizeof(name), "n%u.wild.example", i);
		struct tracked_host *host =
			tracked_add_learnt(&rig.hosts, name, "wildcard.wild.example", 0, &now);
		assert_int_equal(host != NULL, i < SHARES_HOST_MAX);
	}
	assert_non_null(tracked_add_learnt(&rig.hosts, "n0.wild.example", "wildcard.wild.example",
					   0, &now));
	assert_non_null(tracked_add(&rig.hosts, "regular.wild.example", &now));
	tracked_done(&rig.hosts);
}

static void count_host(void *ctx, struct tracked_host *host)
{
	(void)host;
	++*(size_t *)ctx;
}

static void hosts_below(void **state)
{
	static const char *const names[] = { "a.example.com",	  "b.a.example.com", "example.com",
					     "c.b.a.example.com", "a.example.net",   "com" };
	struct tracked_now now = at(0);
	struct tracked_hosts hosts;
	size_t one = 0, any = 0, after = 0;
	(void)state;
	tracked_init(&hosts);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		tracked_add(&hosts, names[i], &now);
	tracked_each_below(&hosts, "example.com", false, count_host, &one);
	tracked_each_below(&hosts, "example.com", true, count_host, &any);
	assert_int_equal(one, 1);
	assert_int_equal(any, 3);
	tracked_remove(&hosts, tracked_find(&hosts, "a.example.com"));
	tracked_each_below(&hosts, "example.com", true, count_host, &after);
	assert_int_equal(after, 2);
	assert_null(tracked_find(&hosts, "a.example.com"));
	tracked_done(&hosts);
}

/* After a start: addresses are kept until a lookup says otherwise. */
static void restored(void **state)
{
	struct tracked_now now = at(0);
	struct tracked_address address = { .bytes = { 192, 0, 2, 1 }, .n = 4, .ttl_s = 30 };
	struct rig rig;
	(void)state;
	rig_init(&rig);
	address.lookup_ns = at(20).wall_ns;
	tracked_host_restore(rig.host, &address, NULL, &now);
	assert_int_equal(tracked_host_due_ns(rig.host), at(20).mono_ns);
	address.bytes[3] = 2;
	address.lookup_ns = (WALL - 1000) * NS_PER_S;
	tracked_host_restore(rig.host, &address, NULL, &now);
	assert_int_equal(tracked_host_due_ns(rig.host), now.mono_ns);
	assert_false(expire(&rig, 1000));
	assert_string_equal(shown(&rig), "192.0.2.1 192.0.2.2");
	assert_false(answer(&rig, 1, 30, "192.0.2.1"));
	assert_true(expire(&rig, 5));
	assert_string_equal(shown(&rig), "192.0.2.1");
	tracked_done(&rig.hosts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(union_and_expiry),
		cmocka_unit_test(longest_time_counts),
		cmocka_unit_test(counting_down_is_no_news),
		cmocka_unit_test(other_ttls_are_news),
		cmocka_unit_test(times_of_lookups),
		cmocka_unit_test(failures),
		cmocka_unit_test(never_learnt),
		cmocka_unit_test(families_apart),
		cmocka_unit_test(limits),
		cmocka_unit_test(hosts_below),
		cmocka_unit_test(restored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
