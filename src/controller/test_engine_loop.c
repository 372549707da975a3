/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work that uses the engine's loop: HTTP calls of one client, which the engine owns as a part. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "controller/engine.h"
#include "http/client/client.h"
#include "testing/scripted_http.h"

/* ---- the client ---- */

struct http_part {
	struct engine_part part;
	struct http_client *client;
};

static _Atomic int clients, cancelled;

static void free_part(struct engine_part *part)
{
	struct http_part *http = CONTAINER_OF(part, struct http_part, part);
	http_client_free(http->client);
	free(http);
	clients--;
}

static struct http_client *client_of(struct engine *engine)
{
	static const struct engine_part_kind kind = { free_part };
	struct engine_part *part = engine_find_part(engine, &kind);
	char err[200] = "";
	if (part == NULL) {
		struct http_part *http = xcalloc(1, sizeof(*http));
		http->client = http_client_new(engine_loop(engine), &(struct http_client_conf){ 0 },
					       ERR_TEXT(err));
		if (http->client == NULL)
			fail_msg("%s", err);
		clients++;
		engine_add_part(engine, &kind, &http->part);
		part = &http->part;
	}
	return CONTAINER_OF(part, struct http_part, part)->client;
}

/* ---- the work ---- */

struct request {
	struct engine_work work;
	struct http_call call;
	char *url;
};

static struct request *request_of(struct engine_work *work)
{
	return CONTAINER_OF(work, struct request, work);
}

static void on_reply(struct http_call *call)
{
	engine_complete(&CONTAINER_OF(call, struct request, call)->work);
}

static void start_request(struct engine_work *work)
{
	http_client_start(client_of(work->engine), &request_of(work)->call);
}

static void cancel_request(struct engine_work *work)
{
	cancelled++;
	http_client_cancel(client_of(work->engine), &request_of(work)->call);
}

static void free_request(struct engine_work *work)
{
	struct request *request = request_of(work);
	http_call_release(&request->call);
	free(request->url);
	free(request);
}

static struct engine_work *make_request(const struct scripted_http *script, const char *path)
{
	static const struct engine_work_ops ops = { start_request, cancel_request, free_request };
	struct request *request = xcalloc(1, sizeof(*request));
	request->work.ops = &ops;
	request->url = xasprintf("%s%s", scripted_http_url(script), path);
	request->call =
		(struct http_call){ .method = "GET", .url = request->url, .done = on_reply };
	return &request->work;
}

/* ---- keys ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the count */
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int n_keys;

static void count_key(void *arg, const char *key)
{
	(void)arg;
	(void)key;
	pthread_mutex_lock(&lock);
	n_keys++;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
}

static void wait_keys(int wanted)
{
	pthread_mutex_lock(&lock);
	while (n_keys < wanted)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

static struct engine *start_engine(void)
{
	struct engine *engine;
	char err[200];
	n_keys = 0;
	assert_int_equal(
		engine_start(&(struct engine_conf){ .emit = count_key }, &engine, ERR_TEXT(err)),
		0);
	return engine;
}

static void calls_share_a_client(void **state)
{
	enum { CALLS = 20 };
	struct scripted_http *script = scripted_http_new(NULL);
	struct engine *engine = start_engine();
	(void)state;
	scripted_http_expect(script, &(struct scripted_call){ .line = "GET /a",
							      .times = CALLS,
							      .reply = { .body = "hello" } });
	for (int i = 0; i < CALLS; i++) {
		char key[16];
		snprintf(key, sizeof(key), "%d", i);
		engine_submit(engine, key, 1, make_request(script, "/a"));
	}
	wait_keys(CALLS);
	assert_int_equal(clients, 1);
	for (int i = 0; i < CALLS; i++) {
		struct engine_work *work;
		char key[16];
		snprintf(key, sizeof(key), "%d", i);
		assert_int_equal(engine_take(engine, key, 1, &work), ENGINE_COMPLETED);
		assert_int_equal(request_of(work)->call.result, 0);
		assert_string_equal(request_of(work)->call.reply.s, "hello");
		engine_work_free(work);
	}
	engine_stop(engine);
	assert_int_equal(clients, 0);
	scripted_http_free(script);
}

/* The end cancels what is under way before the client goes. */
static void end_with_calls_under_way(void **state)
{
	struct scripted_http *script = scripted_http_new(NULL);
	struct engine *engine = start_engine();
	(void)state;
	scripted_http_expect(script, &(struct scripted_call){ .line = "GET /slow",
							      .reply = { .hang_first = true } });
	engine_submit(engine, "slow", 1, make_request(script, "/slow"));
	assert_non_null(scripted_http_call(script, 0)); /* it has come */
	engine_stop(engine);
	assert_int_equal(cancelled, 1);
	assert_int_equal(clients, 0);
	scripted_http_free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_share_a_client),
		cmocka_unit_test(end_with_calls_under_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
