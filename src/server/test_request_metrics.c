/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The request metrics: labels, counts, buckets, and codes without a row of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/query.h"
#include "server/request_metrics.h"
#include "testing/fake_server.h"

static uint16_t rcode;
static enum verdict verdict;
static uint64_t delay_ns;

static enum verdict answer(struct plugin_inst *self, struct query *q)
{
	(void)self;
	if (verdict == V_DROP)
		return V_DROP;
	if (verdict == V_FAIL)
		return query_fail(q, rcode, NULL);
	query_reply(q);
	q->resp.rcode = rcode;
	return V_ANSWERED;
}

static enum verdict serve(struct plugin_inst *self, struct query *q)
{
	if (delay_ns == 0)
		return answer(self, q);
	query_resume_at(q, query_now(q) + delay_ns);
	return V_WAIT;
}

static void count(struct plugin_inst *self, struct query *q)
{
	(void)self;
	request_metrics_count_query(q, "below");
}

static const struct plugin prometheus_like = { .name = "prometheus", .done = count };
static const struct plugin t_plugin = { .name = "t", .serve = serve, .resume = answer };
const struct plugin *const plugin_list[] = { &prometheus_like, &t_plugin, NULL };

#define SERVER "server=\"dns://:53\""
#define ZONE   "view=\"\",zone=\"example.org.\"}"

static int responses(struct fake *f, const char *code, const char *plugin)
{
	char line[256];
	snprintf(line, sizeof(line),
		 "coredns_dns_responses_total{plugin=\"%s\",rcode=\"%s\"," SERVER "," ZONE, plugin,
		 code);
	return (int)fake_metric(f, line);
}

static int requests(struct fake *f, const char *proto, const char *family, const char *type)
{
	char line[256];
	snprintf(line, sizeof(line),
		 "coredns_dns_requests_total{family=\"%s\",proto=\"%s\"," SERVER
		 ",type=\"%s\"," ZONE,
		 family, proto, type);
	return (int)fake_metric(f, line);
}

static void ask(struct fake *f, uint16_t code, enum verdict v)
{
	rcode = code;
	verdict = v;
	fake_ask(f, &(struct fake_ask){ 0 });
}

/* Series live as long as the process: one test looks at all of it. */
static void counts(void **state)
{
	(void)state;
	struct fake *f = fake_new("example.org {\n prometheus\n t\n}\n");
	ask(f, DNS_RCODE_NOERROR, V_ANSWERED);
	ask(f, DNS_RCODE_NXDOMAIN, V_ANSWERED);
	ask(f, DNS_RCODE_NXDOMAIN, V_ANSWERED);
	ask(f, DNS_RCODE_SERVFAIL, V_FAIL);
	ask(f, 0, V_DROP);
	assert_int_equal(responses(f, "NOERROR", "below"), 1);
	assert_int_equal(responses(f, "NXDOMAIN", "below"), 2);
	assert_int_equal(responses(f, "SERVFAIL", ""), 1);
	assert_int_equal(responses(f, "NOERROR", ""), 1); /* silence */

	/* Codes beyond the table have their own labels all the same. */
	ask(f, 3000, V_ANSWERED);
	ask(f, 4000, V_ANSWERED);
	ask(f, 4000, V_ANSWERED);
	assert_int_equal(responses(f, "3000", "below"), 1);
	assert_int_equal(responses(f, "4000", "below"), 2);

	assert_int_equal(requests(f, "udp", "1", "A"), 8);
	verdict = V_ANSWERED;
	rcode = 0;
	fake_ask(f, &(struct fake_ask){ .type = "TYPE999", .client = "[2001:db8::1]:53" });
	fake_ask(f, &(struct fake_ask){ .type = "LOC", .client = "[2001:db8::1]:53" });
	fake_ask(f, &(struct fake_ask){ .type = "ANY", .udp_size = 1232, .dnssec_ok = true });
	assert_int_equal(requests(f, "udp", "2", "other"), 2);
	assert_int_equal(requests(f, "udp", "1", "ANY"), 1);
	assert_int_equal((int)fake_metric(f, "coredns_dns_do_requests_total{" SERVER "," ZONE), 1);
	fake_free(f);
}

static int bucket(struct fake *f, const char *le)
{
	char line[256];
	snprintf(line, sizeof(line),
		 "coredns_dns_request_duration_seconds_bucket{" SERVER
		 ",view=\"\",zone=\"slow.test.\",le=\"%s\"}",
		 le);
	return (int)fake_metric(f, line);
}

static void durations(void **state)
{
	static const uint64_t waits[] = { 250000, 250001, 8192 * NS_PER_MS, 9000 * NS_PER_MS };
	(void)state;
	struct fake *f = fake_new("slow.test {\n prometheus\n t\n}\n");
	verdict = V_ANSWERED;
	rcode = 0;
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		delay_ns = waits[i];
		assert_null(fake_ask(f, &(struct fake_ask){ .name = "slow.test" }));
		fake_advance(f, waits[i]);
		assert_non_null(fake_next(f));
	}
	delay_ns = 0;
	assert_int_equal(bucket(f, "0.00025"), 1);
	assert_int_equal(bucket(f, "0.0005"), 2);
	assert_int_equal(bucket(f, "4.096"), 2);
	assert_int_equal(bucket(f, "8.192"), 3);
	assert_int_equal(bucket(f, "+Inf"), 4);
	double sum = fake_metric(f, "coredns_dns_request_duration_seconds_sum{" SERVER
				    ",view=\"\",zone=\"slow.test.\"}");
	assert_true(sum > 17.19 && sum < 17.20);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(durations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
