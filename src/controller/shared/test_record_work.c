/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record sets from several threads to a provider: keys come again with their results, batches are
 * shared, and work that is dropped or under way at the end is cancelled. */
#include "controller/shared/record_work.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "dns/types.h"

enum { THREADS = 4, KEYS = 250 }; /* of each */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the count */
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static size_t n_emitted;

static void count_key(void *arg, const char *key)
{
	(void)arg;
	(void)key;
	pthread_mutex_lock(&lock);
	n_emitted++;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
}

static void wait_keys(size_t wanted)
{
	pthread_mutex_lock(&lock);
	while (n_emitted < wanted)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

static struct engine *start_engine(void)
{
	struct engine *engine;
	char err[200];
	n_emitted = 0;
	assert_int_equal(
		engine_start(&(struct engine_conf){ .emit = count_key }, &engine, ERR_TEXT(err)),
		0);
	return engine;
}

static void submit_record(struct engine *engine, const char *key, const char *server)
{
	const char *value = "192.0.2.1";
	CLEANUP(freep) char *name = xasprintf("%s.example.com", key);
	struct provider_edit edit = { .set = { .name = name,
					       .type = DNS_TYPE_A,
					       .ttl_s = 120,
					       .values = &value,
					       .n_values = 1 },
				      .guard = PROVIDER_GUARD_ABSENT };
	struct provider_credential credentials[] = { { "zones", SLICE("example.com example.net") },
						     { "server", slice_of(server) } };
	struct record_work *work = record_work_new(
		&(struct record_work_conf){ .account = { .provider = provider_find("memory"),
							 .credentials = credentials,
							 .n_credentials = server != NULL ? 2 : 1 },
					    .edits = &edit,
					    .n_edits = 1 });
	engine_submit(engine, key, 1, &work->work);
}

struct submitter {
	pthread_t thread;
	struct engine *engine;
	size_t number;
};

static void *submit_many(void *arg)
{
	struct submitter *submitter = arg;
	for (size_t i = 0; i < KEYS; i++) {
		char key[32];
		snprintf(key, sizeof(key), "k%zu-%zu", submitter->number, i);
		submit_record(submitter->engine, key, "threads");
	}
	return NULL;
}

static void submit_from_threads(struct engine *engine)
{
	struct submitter submitters[THREADS];
	for (size_t i = 0; i < THREADS; i++) {
		submitters[i] = (struct submitter){ .engine = engine, .number = i };
		assert_int_equal(
			pthread_create(&submitters[i].thread, NULL, submit_many, &submitters[i]),
			0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(submitters[i].thread, NULL);
}

static enum provider_code take_code(struct engine *engine, const char *key)
{
	struct engine_work *work;
	assert_int_equal(engine_take(engine, key, 1, &work), ENGINE_COMPLETED);
	enum provider_code code = record_work_of(work)->request.code;
	engine_work_free(work);
	return code;
}

static void results_of_many_threads(void **state)
{
	struct engine *engine = start_engine();
	(void)state;
	for (int round = 0; round < 2; round++) {
		submit_from_threads(engine);
		wait_keys((size_t)(round + 1) * THREADS * KEYS);
		for (size_t i = 0; i < THREADS * KEYS; i++) {
			char key[32];
			snprintf(key, sizeof(key), "k%zu-%zu", i / KEYS, i % KEYS);
			/* The second time they exist, and are not known to be ours. */
			assert_int_equal(take_code(engine, key),
					 round == 0 ? PROVIDER_OK : PROVIDER_CONFLICT);
		}
	}
	engine_stop(engine);
}

static void dropped_work_is_cancelled(void **state)
{
	struct engine *engine = start_engine();
	(void)state;
	for (size_t i = 0; i < KEYS; i++) {
		char key[32];
		snprintf(key, sizeof(key), "d%zu", i);
		submit_record(engine, key, "dropped");
		if (i % 2 == 0)
			engine_drop(engine, key);
	}
	wait_keys(KEYS / 2);
	submit_record(engine, "last", "dropped"); /* under way at the end */
	engine_stop(engine);
}

static void wrong_secret_is_reported(void **state)
{
	struct engine *engine = start_engine();
	struct engine_work *work;
	(void)state;
	submit_record(engine, "a", NULL);
	wait_keys(1);
	assert_int_equal(engine_take(engine, "a", 1, &work), ENGINE_COMPLETED);
	assert_int_equal(record_work_of(work)->request.code, PROVIDER_INVALID);
	assert_string_equal(record_work_of(work)->request.error,
			    "the Secret has no value for the key 'server' or 'MEMORY_SERVER'");
	engine_work_free(work);
	engine_stop(engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_of_many_threads),
		cmocka_unit_test(dropped_work_is_cancelled),
		cmocka_unit_test(wrong_secret_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
