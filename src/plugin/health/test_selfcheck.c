/* SPDX-License-Identifier: GPL-3.0-or-later */
/* selfcheck: counts time and failures, and warns when it should. */
#include "plugin/health/selfcheck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/log.h"
#include "http/server.h"
#include "testing/fake_http.h"
#include "testing/fake_server.h"

#define COUNT	 "coredns_health_request_duration_seconds_count"
#define FAILURES "coredns_health_request_failures_total"

static int log_fd;

static const char *logged(void)
{
	static char text[4096];
	ssize_t n = pread(log_fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	assert_int_equal(ftruncate(log_fd, 0), 0);
	lseek(log_fd, 0, SEEK_SET);
	return text;
}

static void say_ok(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	(void)ctx;
	(void)req;
	strbuf_adds(&reply->body, "OK");
}

static struct http_server *start(char addr[32])
{
	static const struct http_route route = { .path = "/health", .handle = say_ok };
	struct http_server *s;
	assert_int_equal(http_server_start("127.0.0.1:0", &route, 1, &s), 0);
	snprintf(addr, 32, "127.0.0.1:%u", http_server_port(s));
	return s;
}

static void counts_from_nothing(void **state)
{
	(void)state;
	assert_true(fake_metric(NULL, COUNT) < 0);
	health_selfcheck_init();
	assert_true(fake_metric(NULL, COUNT) == 0);
	assert_true(fake_metric(NULL, FAILURES) == 0);
}

static void success_is_counted_and_silent(void **state)
{
	char addr[32];
	(void)state;
	struct http_server *s = start(addr);
	double before = fake_metric(NULL, COUNT);
	health_selfcheck(addr);
	assert_true(fake_metric(NULL, COUNT) == before + 1);
	assert_true(fake_metric(NULL, FAILURES) == 0);
	assert_string_equal(logged(), "");
	http_server_stop(s);
}

/* Each look at the clock is a good half second later. */
static uint64_t stepping_ns(void)
{
	static uint64_t now_ns;
	now_ns += 550 * NS_PER_MS;
	return now_ns;
}

static void slowness_is_told(void **state)
{
	static const struct clock_source stepping = { stepping_ns, stepping_ns };
	char addr[32], expected[128];
	(void)state;
	struct http_server *s = start(addr);
	clock_set_source(&stepping);
	health_selfcheck(addr);
	clock_set_source(NULL);
	snprintf(expected, sizeof(expected),
		 "[WARNING] plugin/health: Local health request to \"http://%s/health\" took more "
		 "than 1s: ",
		 addr);
	assert_memory_equal(logged(), expected, strlen(expected));
	assert_true(fake_metric(NULL, FAILURES) == 0);
	http_server_stop(s);
}

static void failure_is_counted_and_told(void **state)
{
	uint16_t port;
	char addr[32], expected[128];
	(void)state;
	int fd = http_fake_port(&port);
	snprintf(addr, sizeof(addr), "127.0.0.1:%u", port);
	double before = fake_metric(NULL, COUNT);
	health_selfcheck(addr);
	assert_true(fake_metric(NULL, COUNT) == before + 1);
	assert_true(fake_metric(NULL, FAILURES) == 1);
	snprintf(expected, sizeof(expected),
		 "[WARNING] plugin/health: Local health request to \"http://%s/health\" failed: "
		 "Connection refused\n",
		 addr);
	assert_string_equal(logged(), expected);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_from_nothing),
		cmocka_unit_test(success_is_counted_and_silent),
		cmocka_unit_test(slowness_is_told),
		cmocka_unit_test(failure_is_counted_and_told),
	};
	log_fd = memfd_create("log", MFD_CLOEXEC);
	log_set_fd(log_fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
