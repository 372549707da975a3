/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transfer on an engine, from a scripted server: which records become pairs, and the limit. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "controller/egressfirewall/transfer/collect.h"
#include "dns/learnt/learnt_record.h"
#include "dns/tsig/server.h"
#include "testing/fake_upstream.h"

#define KEYS "hmac-sha256:egress-1:c2VjcmV0\n"

enum { INPUT = 1 };

struct rig {
	struct engine *engine;
	struct fakeup *fake;
	atomic_uint emitted;
	atomic_size_t pairs_held;
	struct dns_tsig_key key;
	uint8_t msg[4096];
	size_t n;
};

static void count_key(void *arg, const char *key)
{
	assert_string_equal(key, "server");
	atomic_fetch_add(&((struct rig *)arg)->emitted, 1);
}

static void rig_init(struct rig *rig)
{
	struct egressfirewall_collect *collect;
	char err[200] = "";
	memset(rig, 0, sizeof(*rig));
	rig->fake = fakeup_new();
	assert_int_equal(dns_tsig_key_parse(&rig->key, slice_trim(SLICE(KEYS)), ERR_TEXT(err)), 0);
	assert_int_equal(engine_start(&(struct engine_conf){ .emit = count_key, .arg = rig },
				      &rig->engine, ERR_TEXT(err)),
			 0);
	struct egressfirewall_collect_conf conf = { .server = *fakeup_addr(rig->fake),
						    .keys = SLICE(KEYS),
						    .pairs_held = &rig->pairs_held };
	assert_int_equal(egressfirewall_collect_new(&conf, &collect, ERR_TEXT(err)), 0);
	engine_submit(rig->engine, "server", INPUT, &collect->work);
}

static void rig_done(struct rig *rig)
{
	engine_stop(rig->engine);
	fakeup_free(rig->fake);
	dns_tsig_key_done(&rig->key);
	assert_int_equal(rig->pairs_held, 0);
}

static void add_record(struct rig *rig, const uint8_t *owner, uint16_t type, const void *rdata,
		       size_t rdata_n)
{
	uint8_t *out = rig->msg + rig->n;
	size_t owner_n = dns_name_len(owner);
	memcpy(out, owner, owner_n);
	out += owner_n;
	memset(out, 0, 10);
	dns_put16(out, type);
	dns_put16(out + 2, DNS_CLASS_IN);
	dns_put16(out + 8, (uint16_t)rdata_n);
	memcpy(out + 10, rdata, rdata_n);
	rig->n += owner_n + 10 + rdata_n;
	dns_put16(rig->msg + 6, (uint16_t)(dns_get16(rig->msg + 6) + 1));
}

static void add_learnt(struct rig *rig, const struct dns_learnt *learnt)
{
	uint8_t owner[DNS_NAME_MAX], rdata[DNS_LEARNT_RDATA_MAX];
	dns_learnt_owner(learnt->object, learnt->name, owner);
	add_record(rig, owner, DNS_TYPE_TXT, rdata, dns_learnt_rdata(learnt, rdata));
}

/* Two addresses of a name, and records that are something else. */
static void write_zone(struct rig *rig)
{
	static const uint8_t soa[22];
	struct dns_learnt learnt = { .object = SLICE("wildcard.example"),
				     .name = SLICE("www.example"),
				     .target = SLICE("cdn.example"),
				     .ip = { 192, 0, 2, 1 },
				     .ip_n = 4,
				     .ttl_s = 60 };
	rig->n = dns_message_query(rig->msg, 0, DNS_FLAG_QR, dns_learnt_zone, DNS_TYPE_AXFR);
	add_record(rig, dns_learnt_zone, DNS_TYPE_SOA, soa, sizeof(soa));
	add_record(rig, dns_learnt_zone, DNS_TYPE_NS, "", 1);
	add_learnt(rig, &learnt);
	add_record(rig, dns_learnt_zone, DNS_TYPE_TXT, "\0012\1x", 4); /* another version */
	add_record(rig, dns_learnt_zone, DNS_TYPE_TXT, "\0011\1x", 4);
	learnt.ip_n = 16;
	learnt.ip[0] = 0x20;
	learnt.target = SLICE("");
	add_learnt(rig, &learnt);
	add_record(rig, dns_learnt_zone, DNS_TYPE_SOA, soa, sizeof(soa));
}

/* Answers the request, then waits for the work's end. */
static struct egressfirewall_collect *serve_zone(struct rig *rig)
{
	struct dns_tsig tsig = { 0 };
	struct engine_work *work = NULL;
	uint64_t now_s = clock_wall_ns() / NS_PER_S;
	const char *text;
	size_t n;
	while ((text = fakeup_next(rig->fake)) == NULL)
		assert_int_equal(poll(NULL, 0, 1), 0);
	assert_string_equal(text, "tcp learnt.fairlead.internal. IN AXFR");
	const uint8_t *request = fakeup_query(rig->fake, &n);
	assert_int_equal(dns_tsig_verify_request(&tsig, &rig->key, 1, request, n, now_s).result,
			 DNS_TSIG_OK);
	write_zone(rig);
	int len = dns_tsig_sign_answer(&tsig, rig->msg, rig->n, sizeof(rig->msg), now_s);
	assert_true(len > 0);
	fakeup_bytes(rig->fake, rig->msg, (size_t)len);
	while (atomic_load(&rig->emitted) == 0)
		assert_int_equal(poll(NULL, 0, 1), 0);
	assert_int_equal(engine_take(rig->engine, "server", INPUT, &work), ENGINE_COMPLETED);
	dns_tsig_done(&tsig);
	return egressfirewall_collect_of(work);
}

static void collects_pairs(void **state)
{
	struct rig rig;
	char ip[NET_ADDR_TEXT_MAX];
	(void)state;
	rig_init(&rig);
	struct egressfirewall_collect *collect = serve_zone(&rig);
	assert_int_equal(collect->transfer.result, 0);
	assert_int_equal(collect->pairs.n, 2);
	assert_int_equal(rig.pairs_held, 2);
	assert_string_equal(collect->pairs.v[0].name, "www.example");
	assert_string_equal(collect->pairs.v[0].owner, "cdn.example");
	assert_int_equal(collect->pairs.v[0].ttl_s, 60);
	net_addr_ip_str(&collect->pairs.v[0].address, ip);
	assert_string_equal(ip, "192.0.2.1");
	assert_null(collect->pairs.v[1].owner);
	assert_int_equal(collect->pairs.v[1].address.family, AF_INET6);
	engine_work_free(&collect->work);
	rig_done(&rig);
}

static void all_together_are_limited(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	atomic_fetch_add(&rig.pairs_held, EGRESSFIREWALL_COLLECT_PAIRS_MAX - 1);
	struct egressfirewall_collect *collect = serve_zone(&rig);
	assert_int_equal(collect->transfer.result, ERR_BUSY);
	assert_non_null(strstr(collect->transfer.error, err_str(ERR_BUSY)));
	engine_work_free(&collect->work);
	atomic_fetch_sub(&rig.pairs_held, EGRESSFIREWALL_COLLECT_PAIRS_MAX - 1);
	rig_done(&rig);
}

/* The engine ends while a server is silent. */
static void ends_early(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	while (fakeup_next(rig.fake) == NULL)
		assert_int_equal(poll(NULL, 0, 1), 0);
	rig_done(&rig);
	assert_int_equal(rig.emitted, 0);
}

static void needs_a_key(void **state)
{
	struct egressfirewall_collect *collect;
	char err[200] = "";
	(void)state;
	assert_int_equal(egressfirewall_collect_new(
				 &(struct egressfirewall_collect_conf){ .keys = SLICE("# none\n") },
				 &collect, ERR_TEXT(err)),
			 ERR_NOTFOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collects_pairs),
		cmocka_unit_test(all_together_are_limited),
		cmocka_unit_test(ends_early),
		cmocka_unit_test(needs_a_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
