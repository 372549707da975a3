/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocking question: the test's thread plays the upstream, another one asks. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include "base/err.h"
#include "resolve/blocking_query.h"
#include "resolve/test_env.h"

struct job {
	struct resolve_conf conf;
	uint64_t timeout_ns;
	size_t cap;
	uint8_t out[512];
	int result;
};

static uint8_t question[] = "\22\64\1\0\0\1\0\0\0\0\0\0\1a\7example\0\0\1\0\1";

static void *run(void *arg)
{
	struct job *j = arg;
	uint8_t msg[sizeof(question) - 1];
	memcpy(msg, question, sizeof(msg));
	j->result =
		resolve_query_blocking(&j->conf, msg, sizeof(msg), j->timeout_ns, j->out, j->cap);
	assert_memory_equal(msg, question, sizeof(msg));
	return NULL;
}

static void start(struct job *j, pthread_t *t)
{
	assert_int_equal(pthread_create(t, NULL, run, j), 0);
}

static const char *wait_for_question(struct fakeup *u)
{
	const char *text;
	while ((text = fakeup_next(u)) == NULL)
		assert_true(poll(NULL, 0, 1) == 0);
	return text;
}

static struct job job_for(const struct fakeup *u)
{
	return (struct job){ .conf = { .addr = *fakeup_addr(u) },
			     .timeout_ns = 20 * NS_PER_S,
			     .cap = 512 };
}

static void answers(void **state)
{
	struct fakeup *u = fakeup_new();
	struct job j = job_for(u);
	pthread_t t;
	(void)state;
	start(&j, &t);
	assert_string_equal(wait_for_question(u), "udp a.example. IN A");
	fakeup_answer(u, "a.example. 60 IN A 192.0.2.1");
	pthread_join(t, NULL);
	assert_true(j.result > 40);
	assert_memory_equal(j.out, question, 2);
	/* Truncated over UDP: the same over TCP. */
	j = job_for(u);
	start(&j, &t);
	assert_string_equal(wait_for_question(u), "udp a.example. IN A");
	fakeup_reply(u, &(struct fakeup_reply){ .set_flags = DNS_FLAG_TC });
	assert_string_equal(wait_for_question(u), "tcp a.example. IN A");
	fakeup_answer(u, "a.example. 60 IN A 192.0.2.1");
	pthread_join(t, NULL);
	assert_true(j.result > 40);
	/* Too long for the caller. */
	j = job_for(u);
	j.cap = 30;
	start(&j, &t);
	assert_non_null(wait_for_question(u));
	fakeup_answer(u, "a.example. 60 IN A 192.0.2.1");
	pthread_join(t, NULL);
	assert_int_equal(j.result, ERR_SPACE);
	j = job_for(u);
	start(&j, &t);
	assert_non_null(wait_for_question(u));
	fakeup_reply(u, &(struct fakeup_reply){ .question = "b.example." });
	pthread_join(t, NULL);
	assert_int_equal(j.result, ERR_PARSE);
	fakeup_free(u);
}

static void fails(void **state)
{
	struct fakeup *u = fakeup_new();
	struct job j = job_for(u);
	(void)state;
	j.timeout_ns = 20 * NS_PER_MS;
	run(&j);
	assert_int_equal(j.result, -ETIMEDOUT);
	fakeup_stop_udp(u);
	j.timeout_ns = 20 * NS_PER_S;
	run(&j);
	assert_int_equal(j.result, -ECONNREFUSED);
	uint8_t junk[12] = { 0 };
	assert_int_equal(
		resolve_query_blocking(&j.conf, junk, sizeof(junk), NS_PER_S, j.out, j.cap),
		ERR_PARSE);
	fakeup_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
