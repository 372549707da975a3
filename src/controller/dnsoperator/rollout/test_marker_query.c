/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Polls instances for the Corefile they run: the test's thread plays the servers, another one
 * polls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "controller/dnsoperator/rollout/marker_query.h"
#include "dns/request.h"
#include "dns/types.h"
#include "testing/fake_upstream.h"

enum { N_MAX = 150 };
#define ASKED "config.fairlead.internal. IN TXT"
#define HASH  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct job {
	union net_addr addr[N_MAX];
	struct dnsoperator_marker_query_opts opts;
	struct dnsoperator_marker_answer ack[N_MAX];
	size_t n;
	pthread_t thread;
};

/* One instance, with time enough. */
static struct job *job_for(const struct fakeup *u)
{
	struct job *j = calloc(1, sizeof(*j));
	assert_non_null(j);
	j->addr[0] = *fakeup_addr(u);
	j->n = 1;
	j->opts.try_ns = 20 * NS_PER_S;
	return j;
}

static void *run(void *arg)
{
	struct job *j = arg;
	dnsoperator_marker_query(j->addr, j->n, &j->opts, j->ack);
	return NULL;
}

static void start(struct job *j)
{
	assert_int_equal(pthread_create(&j->thread, NULL, run, j), 0);
}

static void finish(struct job *j)
{
	pthread_join(j->thread, NULL);
}

static void expect_question(struct fakeup *u, const char *want)
{
	const char *text;
	while ((text = fakeup_next(u)) == NULL)
		assert_true(poll(NULL, 0, 1) == 0);
	assert_string_equal(text, want);
}

static void hash_of_a_text(void **state)
{
	char hash[DNSOPERATOR_MARKER_HASH_MAX];
	(void)state;
	/* The first half of SHA-512("abc"), FIPS 180-4. */
	dnsoperator_marker_hash("abc", 3, hash);
	assert_string_equal(hash, "ddaf35a193617abacc417349ae204131"
				  "12e6fa4e89a97ea20a9eeee64b55d39a");
}

static void reads_the_hash(void **state)
{
	(void)state;
	struct fakeup *u = fakeup_new();
	struct job *j = job_for(u);
	start(j);
	expect_question(u, "udp " ASKED);
	fakeup_answer(u, "config.fairlead.internal. 0 IN TXT " HASH);
	finish(j);
	assert_int_equal(j->ack[0].kind, DNSOPERATOR_MARKER_FOUND);
	assert_string_equal(j->ack[0].hash, HASH);
	fakeup_free(u);
	free(j);
}

static void other_answers(void **state)
{
	(void)state;
	static const struct {
		struct fakeup_reply r;
		const char *text;
	} rows[] = {
		{ { .rcode = DNS_RCODE_NXDOMAIN }, "it answers NXDOMAIN" },
		{ { 0 }, "it answers without a hash" },
		{ { .answer = "config.fairlead.internal. 0 IN A 192.0.2.1" },
		  "it answers without a hash" },
		{ { .answer = "config.fairlead.internal. 0 IN TXT " HASH "0" },
		  "it answers without a hash" },
		{ { .answer = "config.fairlead.internal. 0 IN TXT " HASH " x" },
		  "it answers without a hash" },
		{ { .answer = "config.fairlead.internal. 0 IN TXT "
			      "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef" },
		  "it answers without a hash" },
		{ { .authority = "config.fairlead.internal. 0 IN TXT " HASH },
		  "it answers without a hash" },
		/* Behind something else it still is one. */
		{ { .answer = "config.fairlead.internal. 0 IN TXT x\n"
			      "config.fairlead.internal. 0 IN TXT " HASH },
		  "" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fakeup *u = fakeup_new();
		struct job *j = job_for(u);
		start(j);
		expect_question(u, "udp " ASKED);
		fakeup_reply(u, &rows[i].r);
		finish(j);
		assert_string_equal(j->ack[0].text, rows[i].text);
		assert_string_equal(j->ack[0].hash, rows[i].text[0] == '\0' ? HASH : "");
		assert_int_equal(j->ack[0].kind, rows[i].text[0] == '\0'
							 ? DNSOPERATOR_MARKER_FOUND
							 : DNSOPERATOR_MARKER_MISSING);
		fakeup_free(u);
		free(j);
	}
}

/* Errors show nothing: the marker may be there. */
static void errors_show_nothing(void **state)
{
	(void)state;
	static const struct {
		uint8_t rcode;
		const char *text;
	} rows[] = {
		{ DNS_RCODE_FORMERR, "it answers FORMERR" },
		{ DNS_RCODE_SERVFAIL, "it answers SERVFAIL" },
		{ DNS_RCODE_NOTIMP, "it answers NOTIMP" },
		{ DNS_RCODE_REFUSED, "it answers REFUSED" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fakeup *u = fakeup_new();
		struct job *j = job_for(u);
		start(j);
		expect_question(u, "udp " ASKED);
		fakeup_reply(u, &(struct fakeup_reply){ .rcode = rows[i].rcode });
		finish(j);
		assert_int_equal(j->ack[0].kind, DNSOPERATOR_MARKER_FAILED);
		assert_string_equal(j->ack[0].text, rows[i].text);
		assert_non_null(j->ack[0].why);
		fakeup_free(u);
		free(j);
	}
}

/* The name below the cluster's domain; one that has no room for it gets the other. */
static void asks_below_the_domain(void **state)
{
	(void)state;
	char name[DNSOPERATOR_MARKER_NAME_MAX], domain[254], want[300];
	static const char label[] =
		"abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz.";
	dnsoperator_marker_name("k8s.example.org", name);
	assert_string_equal(name, "config-fairlead.k8s.example.org");
	struct fakeup *u = fakeup_new();
	struct job *j = job_for(u);
	j->opts.name = name;
	start(j);
	expect_question(u, "udp config-fairlead.k8s.example.org. IN TXT");
	fakeup_answer(u, "config-fairlead.k8s.example.org. 0 IN TXT " HASH);
	finish(j);
	assert_string_equal(j->ack[0].hash, HASH);
	fakeup_free(u);
	free(j);
	for (size_t n = 230; n <= 253; n++) {
		for (size_t i = 0; i < n; i++)
			domain[i] = label[i % (sizeof(label) - 1)];
		domain[n - 1] = 'z';
		domain[n] = '\0';
		snprintf(want, sizeof(want), "config-fairlead.%s", domain);
		dnsoperator_marker_name(domain, name);
		assert_string_equal(name, n <= 253 - 16 ? want : DNSOPERATOR_MARKER_NAME);
	}
}

struct heard {
	struct job *j;
	unsigned calls;
	bool first;
};

static void note_progress(void *ctx)
{
	struct heard *h = ctx;
	h->calls++;
	h->first |= h->j->ack[0].kind == DNSOPERATOR_MARKER_FOUND &&
		    h->j->ack[1].kind == DNSOPERATOR_MARKER_PENDING;
}

/* A silent one does not hold up what others answered. */
static void reports_while_others_are_silent(void **state)
{
	(void)state;
	struct fakeup *u = fakeup_new(), *silent = fakeup_new();
	struct job *j = job_for(u);
	struct heard h = { .j = j };
	j->addr[1] = *fakeup_addr(silent);
	j->n = 2;
	j->opts = (struct dnsoperator_marker_query_opts){
		.try_ns = NS_PER_S, .tries = 2, .progress = note_progress, .ctx = &h
	};
	start(j);
	expect_question(u, "udp " ASKED);
	fakeup_answer(u, "config.fairlead.internal. 0 IN TXT " HASH);
	finish(j);
	assert_true(h.calls >= 3 && h.first);
	assert_int_equal(j->ack[1].kind, DNSOPERATOR_MARKER_UNREACHABLE);
	fakeup_free(u);
	fakeup_free(silent);
	free(j);
}

static void asks_over_tcp_when_truncated(void **state)
{
	(void)state;
	struct fakeup *u = fakeup_new();
	struct job *j = job_for(u);
	start(j);
	expect_question(u, "udp " ASKED);
	fakeup_reply(u, &(struct fakeup_reply){ .set_flags = DNS_FLAG_TC });
	expect_question(u, "tcp " ASKED);
	fakeup_answer(u, "config.fairlead.internal. 0 IN TXT " HASH);
	finish(j);
	assert_string_equal(j->ack[0].hash, HASH);
	fakeup_free(u);
	free(j);
}

static void asks_again_after_a_silence(void **state)
{
	(void)state;
	struct fakeup *u = fakeup_new();
	struct job *j = job_for(u);
	j->opts.try_ns = 200 * NS_PER_MS;
	start(j);
	expect_question(u, "udp " ASKED);
	expect_question(u, "udp " ASKED);
	expect_question(u, "tcp " ASKED);
	fakeup_answer(u, "config.fairlead.internal. 0 IN TXT " HASH);
	finish(j);
	assert_string_equal(j->ack[0].hash, HASH);
	fakeup_free(u);
	free(j);
}

static void tells_who_is_not_there(void **state)
{
	(void)state;
	struct fakeup *silent = fakeup_new(), *gone = fakeup_new();
	struct job *j = job_for(silent);
	j->addr[1] = *fakeup_addr(gone);
	j->n = 2;
	j->opts = (struct dnsoperator_marker_query_opts){ .try_ns = 20 * NS_PER_MS, .tries = 2 };
	fakeup_free(gone);
	start(j);
	finish(j);
	assert_int_equal(j->ack[0].kind, DNSOPERATOR_MARKER_UNREACHABLE);
	assert_string_equal(j->ack[0].text, "no answer in time");
	assert_int_equal(j->ack[1].kind, DNSOPERATOR_MARKER_UNREACHABLE);
	assert_string_equal(j->ack[1].text, "connection refused");
	fakeup_free(silent);
	free(j);
}

/* More than are polled at once, some silent: no answer is assigned to another server. */
static void asks_many(void **state)
{
	(void)state;
	struct fakeup *u[N_MAX];
	for (size_t i = 0; i < N_MAX; i++)
		u[i] = fakeup_new();
	struct job *j = job_for(u[0]);
	j->n = N_MAX;
	j->opts.tries = 1;
	for (size_t i = 0; i < j->n; i++)
		j->addr[i] = *fakeup_addr(u[i]);
	for (size_t i = 0; i < j->n; i += 3)
		fakeup_stop_tcp(u[i]);
	start(j);
	for (size_t i = 0; i < j->n; i++) {
		char record[200];
		if (i % 3 == 0)
			continue;
		expect_question(u[i], "tcp " ASKED);
		snprintf(record, sizeof(record), "config.fairlead.internal. 0 IN TXT %064zx", i);
		fakeup_answer(u[i], record);
	}
	finish(j);
	for (size_t i = 0; i < j->n; i++) {
		char want[DNSOPERATOR_MARKER_HASH_MAX] = "";
		if (i % 3 != 0)
			snprintf(want, sizeof(want), "%064zx", i);
		assert_string_equal(j->ack[i].hash, want);
		assert_int_equal(j->ack[i].kind, i % 3 != 0 ? DNSOPERATOR_MARKER_FOUND
							    : DNSOPERATOR_MARKER_UNREACHABLE);
		fakeup_free(u[i]);
	}
	free(j);
}

static void asks_nobody(void **state)
{
	(void)state;
	dnsoperator_marker_query(NULL, 0, &(struct dnsoperator_marker_query_opts){ 0 }, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_of_a_text),
		cmocka_unit_test(reads_the_hash),
		cmocka_unit_test(other_answers),
		cmocka_unit_test(errors_show_nothing),
		cmocka_unit_test(asks_below_the_domain),
		cmocka_unit_test(reports_while_others_are_silent),
		cmocka_unit_test(asks_over_tcp_when_truncated),
		cmocka_unit_test(asks_again_after_a_silence),
		cmocka_unit_test(tells_who_is_not_there),
		cmocka_unit_test(asks_many),
		cmocka_unit_test(asks_nobody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
