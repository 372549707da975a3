/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers that the Secret names: looked up before a message is sent, again after the TTL and when they cannot be
 * reached, and never shown as addresses (DR-24). */
#include "provider/rfc2136/server_names_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/mem.h"
#include "dns/types.h"
#include "net/loop.h"
#include "provider/provider.h"
#include "provider/rfc2136/account_priv.h"
#include "provider/shared/job.h"
#include "resolve/lookup.h"
#include "testing/fake_upstream.h"

enum { JOBS = 3 };
#define SOA "example. 60 IN SOA ns.example. host.example. 7 2 3 4 5"

static uint64_t test_now_ns;

static uint64_t read_test_clock(void)
{
	return test_now_ns;
}

static const struct clock_source test_clock = { read_test_clock, read_test_clock };

struct rig {
	struct loop *loop;
	struct fakeup *dns, *server;
	struct lookup_client *lookups;
	const struct provider *provider;
	struct provider_account *account;
	struct provider_job jobs[JOBS];
	bool is_done[JOBS];
	bool starts_again; /* the first job, when it ends */
	char name[64];	   /* the server's, as errors have it */
};

static struct rig rig;

static void begin_job(size_t index);

static void on_done(struct provider_job *job)
{
	size_t index = (size_t)(job - rig.jobs);
	rig.is_done[index] = true;
	if (rig.starts_again && index == 0) {
		rig.starts_again = false;
		begin_job(0);
	}
}

static int open_rig(void **state)
{
	(void)state;
	test_now_ns = 5000 * NS_PER_S;
	clock_set_source(&test_clock);
	rig = (struct rig){ .loop = loop_new(),
			    .dns = fakeup_new(),
			    .server = fakeup_new(),
			    .provider = provider_find("rfc2136") };
	snprintf(rig.name, sizeof(rig.name), "ns.example.com:%u", fakeup_port(rig.server));
	rig.lookups = lookup_client_new(&(struct lookup_conf){
		.loop = rig.loop, .servers = fakeup_addr(rig.dns), .n_servers = 1 });
	struct provider_credential credentials[] = { { "Server", slice_of(rig.name) },
						     { "Zone", SLICE("example") } };
	struct provider_account_conf conf = { .loop = rig.loop,
					      .credentials = credentials,
					      .n_credentials = ARRAY_LEN(credentials),
					      .region = "",
					      .lookups = rig.lookups };
	char err[200] = "";
	if (rig.provider->open(&conf, &rig.account, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	for (size_t i = 0; i < JOBS; i++)
		provider_job_clear(&rig.jobs[i]);
	rig.provider->close(rig.account);
	lookup_client_free(rig.lookups);
	fakeup_free(rig.dns);
	fakeup_free(rig.server);
	loop_free(rig.loop);
	clock_set_source(NULL);
	return 0;
}

static void advance(uint64_t time_ns)
{
	test_now_ns += time_ns;
	for (int i = 0; i < 8; i++) {
		test_now_ns += NS_PER_MS;
		loop_turn(rig.loop, false);
	}
}

/* Reads the zone's serial. */
static void begin_job(size_t index)
{
	provider_job_clear(&rig.jobs[index]);
	rig.is_done[index] = false;
	rig.jobs[index] = (struct provider_job){ .kind = PROVIDER_SERIAL,
						 .zone = "example",
						 .end_by_ns = test_now_ns + 30 * NS_PER_S,
						 .done = on_done };
	rig.provider->start(rig.account, &rig.jobs[index]);
}

static void start_job(size_t index)
{
	begin_job(index);
	advance(0);
}

static bool asks_dns(void)
{
	const char *question = fakeup_next(rig.dns);
	if (question == NULL)
		return false;
	assert_string_equal(question, "udp ns.example.com. IN A");
	assert_string_equal(fakeup_next(rig.dns), "udp ns.example.com. IN AAAA");
	return true;
}

/* Answers both questions of a lookup; `address` "": there is none. */
static void answer_dns(const char *address, unsigned ttl_s)
{
	char record[100] = "";
	if (address[0] != '\0')
		snprintf(record, sizeof(record), "ns.example.com. %u IN A %s", ttl_s, address);
	assert_true(asks_dns());
	unsigned last = fakeup_taken(rig.dns) - 1;
	fakeup_pick(rig.dns, last - 1);
	fakeup_answer(rig.dns, record);
	fakeup_pick(rig.dns, last);
	fakeup_answer(rig.dns, NULL);
	advance(0);
}

static void answer_server(size_t index)
{
	const char *question = fakeup_next(rig.server);
	assert_non_null(question);
	assert_string_equal(question, "tcp example. IN SOA");
	fakeup_reply(rig.server, &(struct fakeup_reply){ .answer = SOA, .set_flags = DNS_FLAG_AA });
	advance(0);
	assert_true(rig.is_done[index]);
	assert_int_equal(rig.jobs[index].code, PROVIDER_OK);
}

/* The name is shown, its address is not. `why` has a @ where the name is. */
static void assert_waits(size_t index, const char *why)
{
	char text[PROVIDER_ERROR_BYTES + 80];
	const char *at = strchr(why, '@');
	size_t n = at != NULL ? (size_t)(at - why) : 0;
	snprintf(text, sizeof(text), "%.*s%s%s", (int)n, why, at != NULL ? rig.name : "",
		 at != NULL ? at + 1 : why);
	assert_true(rig.is_done[index]);
	assert_int_equal(rig.jobs[index].code, PROVIDER_TRANSIENT);
	assert_string_equal(rig.jobs[index].error, text);
}

static void lookup_lives_for_its_ttl(void **state)
{
	(void)state;
	start_job(0);
	assert_null(fakeup_next(rig.server));
	answer_dns("127.0.0.1", 60);
	answer_server(0);
	start_job(0);
	assert_false(asks_dns());
	answer_server(0);
	advance(61 * NS_PER_S);
	start_job(0);
	answer_dns("127.0.0.1", 0); /* no question more than every five seconds */
	answer_server(0);
	start_job(0);
	assert_false(asks_dns());
	answer_server(0);
	advance(5 * NS_PER_S);
	start_job(0);
	answer_dns("127.0.0.1", 1000000); /* and none less than every five minutes */
	answer_server(0);
	advance(301 * NS_PER_S);
	start_job(0);
	answer_dns("127.0.0.1", 60);
	answer_server(0);
}

static void several_wait_for_one_lookup(void **state)
{
	(void)state;
	for (size_t i = 0; i < JOBS; i++)
		start_job(i);
	rig.provider->cancel(rig.account, &rig.jobs[2]);
	rig.provider->cancel(rig.account, &rig.jobs[0]);
	answer_dns("127.0.0.1", 60);
	assert_false(asks_dns());
	answer_server(1);
	assert_null(fakeup_next(rig.server));
	assert_false(rig.is_done[0] || rig.is_done[2]);
	/* And all of them may be cancelled before the answer, which then has nobody. */
	advance(61 * NS_PER_S);
	start_job(0);
	rig.provider->cancel(rig.account, &rig.jobs[0]);
	answer_dns("127.0.0.1", 60);
	assert_null(fakeup_next(rig.server));
}

static void names_that_cannot_be_looked_up(void **state)
{
	(void)state;
	start_job(0);
	answer_dns("", 60);
	assert_waits(0, "the names of the servers have no addresses");
	start_job(0); /* it is asked again at once: nobody knows an address */
	assert_true(asks_dns());
	advance(6 * NS_PER_S);
	assert_waits(0, "the name of the server '@' cannot be looked up: no answer in time");
	while (fakeup_next(rig.dns) != NULL) /* it was asked again meanwhile */
		continue;
	start_job(0);
	answer_dns("127.0.0.1", 60);
	answer_server(0);
	/* A previous address is better than none. */
	advance(61 * NS_PER_S);
	start_job(0);
	assert_true(asks_dns());
	advance(6 * NS_PER_S);
	answer_server(0);
}

/* One that fails starts again at once: the others have the error of the lookup that they waited for. */
static void next_lookup_begins_meanwhile(void **state)
{
	(void)state;
	rig.starts_again = true;
	start_job(0);
	start_job(1);
	answer_dns("", 60);
	assert_waits(1, "the names of the servers have no addresses");
	assert_false(rig.is_done[0]);
	answer_dns("127.0.0.1", 60);
	answer_server(0);
}

static void another_address_when_it_is_not_reached(void **state)
{
	(void)state;
	start_job(0);
	answer_dns("127.0.0.9", 3600);
	assert_waits(0, "cannot reach @: connection refused");
	start_job(0);
	assert_false(asks_dns());
	assert_waits(0, "cannot reach @: connection refused");
	advance(5 * NS_PER_S);
	start_job(0);
	answer_dns("127.0.0.1", 3600);
	answer_server(0);
}

/* The owner of a name can change its address at will; the number of kept addresses is limited. */
static void names_with_ever_new_addresses(void **state)
{
	(void)state;
	const struct rfc2136_account *account = rfc2136_account_of(rig.account);
	for (unsigned i = 2; i < 100; i++) {
		char address[32];
		snprintf(address, sizeof(address), "127.0.1.%u", i);
		start_job(0);
		answer_dns(address, 1);
		assert_waits(0, "cannot reach @: connection refused");
		assert_in_range(account->n_opened, 1, 64);
		advance(6 * NS_PER_S);
	}
	start_job(0);
	answer_dns("127.0.0.1", 60);
	answer_server(0);
}

static void no_servers_for_lookups(void **state)
{
	(void)state;
	struct provider_credential credentials[] = { { "Server", SLICE("ns.example.com") } };
	struct provider_account_conf conf = {
		.loop = rig.loop, .credentials = credentials, .n_credentials = 1, .region = ""
	};
	struct provider_account *account;
	char err[200] = "";
	assert_true(rig.provider->open(&conf, &account, ERR_TEXT(err)) < 0);
	assert_string_equal(err, "the Secret's key 'Server' has a name, and there is no name "
				 "server to ask for its address");
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
		TEST(lookup_lives_for_its_ttl),	      TEST(several_wait_for_one_lookup),
		TEST(names_that_cannot_be_looked_up), TEST(another_address_when_it_is_not_reached),
		TEST(names_with_ever_new_addresses),  TEST(no_servers_for_lookups),
		TEST(next_lookup_begins_meanwhile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
