/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that their thread waits for, and another thread that ends the wait. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/client/test_rig.h"
#include "http/service.h"

struct stopper {
	struct rig rig;
	_Atomic bool stop;
	bool sleeps; /* no call: stop at once */
};

static void *stop_it(void *ctx)
{
	struct stopper *stopper = ctx;
	if (!stopper->sleeps)
		scripted_http_call(stopper->rig.script, 0); /* the server has it */
	atomic_store(&stopper->stop, true);
	http_sync_wake(stopper->rig.client);
	return NULL;
}

static void stopped_by_another_thread(void **state)
{
	struct stopper stopper = { .stop = false };
	pthread_t thread;
	(void)state;
	rig_up(&stopper.rig, NULL);
	scripted_http_expect(
		stopper.rig.script,
		&(struct scripted_call){ .line = "GET /x", .reply = { .hang_first = true } });
	struct http_call call = { .method = "GET", .url = url_of(&stopper.rig, "/x") };
	uint64_t began = clock_mono_ns();
	assert_int_equal(pthread_create(&thread, NULL, stop_it, &stopper), 0);
	assert_int_equal(http_sync_call(stopper.rig.client, &call, &stopper.stop), -ECANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(call.result, -ECANCELED);
	http_call_release(&call);
	/* And all that come later. */
	assert_int_equal(http_sync_call(stopper.rig.client, &call, &stopper.stop), -ECANCELED);
	http_call_release(&call);
	assert_int_equal(http_sync_sleep(stopper.rig.client, 600 * NS_PER_S, &stopper.stop),
			 -ECANCELED);
	assert_true(clock_mono_ns() - began < 20 * NS_PER_S);
	rig_down(&stopper.rig);
}

static void sleeps(void **state)
{
	struct stopper stopper = { .sleeps = true };
	pthread_t thread;
	(void)state;
	rig_up(&stopper.rig, NULL);
	uint64_t began = clock_mono_ns();
	assert_int_equal(http_sync_sleep(stopper.rig.client, 20 * NS_PER_MS, NULL), 0);
	assert_true(clock_mono_ns() - began >= 20 * NS_PER_MS);
	assert_int_equal(pthread_create(&thread, NULL, stop_it, &stopper), 0);
	assert_int_equal(http_sync_sleep(stopper.rig.client, 600 * NS_PER_S, &stopper.stop),
			 -ECANCELED);
	assert_true(clock_mono_ns() - began < 20 * NS_PER_S);
	pthread_join(thread, NULL);
	rig_down(&stopper.rig);
}

static void one_connection_for_all(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	scripted_http_expect(rig.script, &(struct scripted_call){ .line = "GET /x", .times = 50 });
	struct http_call call = { .method = "GET", .url = url_of(&rig, "/x") };
	for (int i = 0; i < 50; i++)
		assert_int_equal(http_sync_call(rig.client, &call, NULL), 0);
	assert_int_equal(scripted_http_connections(rig.script), 1);
	http_call_release(&call);
	rig_down(&rig);
}

static void greet(void *ctx, const struct http_request *req, struct http_answer *answer)
{
	(void)ctx;
	strbuf_addf(&answer->body, "hello from %s", req->path);
}

/* A service on a socket of this user's alone, also where a killed program left one. */
static void by_socket(void **state)
{
	char dir[] = "/tmp/fairlead-socket-XXXXXX", addr[64];
	struct http_service *service = NULL;
	struct rig rig;
	struct stat st;
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(addr, sizeof(addr), HTTP_UNIX_PREFIX "%s/s", dir);
	const char *path = addr + strlen(HTTP_UNIX_PREFIX);
	rig_up(&rig, NULL);
	setenv("http_proxy", "http://127.0.0.1:9", 1); /* is for other machines */
	for (int round = 0; round < 2; round++) {
		struct http_call call = { .method = "GET",
					  .url = "http://localhost/x",
					  .unix_path = path };
		assert_int_equal(http_service_start(&(struct http_service_conf){ .addr = addr,
										 .handle = greet },
						    &service),
				 0);
		assert_int_equal(http_service_port(service), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		assert_int_equal(http_sync_call(rig.client, &call, NULL), 0);
		assert_string_equal(call.reply.s, "hello from /x");
		http_call_release(&call);
		http_service_stop(service);
	}
	struct http_call call = { .method = "GET", .url = "http://localhost/x", .unix_path = path };
	assert_true(http_sync_call(rig.client, &call, NULL) < 0);
	http_call_release(&call);
	unsetenv("http_proxy");
	rig_down(&rig);
	unlink(path);
	rmdir(dir);
}

/* An address of a socket has 107 characters. */
static void too_long_for_a_socket(void **state)
{
	char addr[200] = HTTP_UNIX_PREFIX "/tmp/";
	struct http_service *service;
	(void)state;
	memset(addr + strlen(addr), 'a', 120);
	assert_int_equal(
		http_service_start(&(struct http_service_conf){ .addr = addr, .handle = greet },
				   &service),
		-ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_by_another_thread), cmocka_unit_test(sleeps),
		cmocka_unit_test(one_connection_for_all),    cmocka_unit_test(by_socket),
		cmocka_unit_test(too_long_for_a_socket),
	};
	rig_without_loop = true;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
