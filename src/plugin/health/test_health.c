/* SPDX-License-Identifier: GPL-3.0-or-later */
/* health: the page, its life over reloads, and the words of its stanza. One server for all tests,
 * as metrics belong to the process; each test loads what it needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/addr.h"
#include "server/server.h"
#include "testing/fake_http.h"
#include "testing/fake_server.h"

static struct fake *f;

static int start(void **state)
{
	(void)state;
	f = fake_new(". {\n whoami\n}\n");
	return f != NULL ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	fake_free(f);
	return 0;
}

/* Formats a Corefile; valid until the next call. */
static const char *corefile(const char *fmt, ...) PRINTF_LIKE(1, 2);
static const char *corefile(const char *fmt, ...)
{
	static char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return text;
}

static void assert_page(uint16_t port, const char *path, unsigned status, const char *body)
{
	unsigned got = 0;
	CLEANUP(freep) char *text = http_fake_get(port, path, &got);
	assert_non_null(text);
	assert_int_equal(got, status);
	assert_string_equal(text, body);
}

static void assert_closed(uint16_t port)
{
	unsigned status;
	assert_null(http_fake_get(port, "/health", &status));
}

static void page_says_ok(void **state)
{
	uint16_t port;
	(void)state;
	int fd = http_fake_port(&port);
	assert_true(fake_reload(f, corefile(". {\n health 127.0.0.1:%u\n}\n", port)));
	assert_page(port, "/health", 200, "OK");
	assert_page(port, "/healthz", 404, "404 page not found\n");
	assert_true(fake_metric(f, "coredns_health_request_failures_total") == 0);
	assert_true(fake_reload(f, ". {\n whoami\n}\n"));
	assert_closed(port);
	close(fd);
}

static void page_outlives_reloads(void **state)
{
	static const char request[] = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
	uint16_t port, other;
	char reply[512];
	union net_addr a;
	(void)state;
	int fd = http_fake_port(&port), fd2 = http_fake_port(&other);
	assert_true(fake_reload(f, corefile(". {\n health 127.0.0.1:%u\n}\n", port)));

	/* A connection that stays open shows that it is the same listener. */
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &a), 0);
	net_addr_set_port(&a, port);
	int conn = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(conn, &a.sa, net_addr_len(&a)), 0);
	assert_true(fake_reload(f, corefile("com net {\n health 127.0.0.1:%u\n}\n"
					    "org {\n health 127.0.0.1:%u\n}\n",
					    port, port)));
	assert_false(fake_reload(f, corefile(". {\n health 192.0.2.1:%u\n}\n", port)));
	assert_int_equal(write(conn, request, sizeof(request) - 1), sizeof(request) - 1);
	assert_true(read(conn, reply, sizeof(reply)) > 12);
	assert_memory_equal(reply, "HTTP/1.1 200", 12);
	close(conn);

	assert_true(fake_reload(f, corefile(". {\n health 127.0.0.1:%u\n}\n", other)));
	assert_closed(port);
	assert_page(other, "/health", 200, "OK");
	assert_true(fake_reload(f, ". {\n whoami\n}\n"));
	assert_closed(other);
	close(fd);
	close(fd2);
}

static void stanzas_add_up(void **state)
{
	uint16_t port;
	(void)state;
	int fd = http_fake_port(&port);
	assert_true(fake_reload(f, corefile(". {\n health 127.0.0.1:%u {\n lameduck 2s\n}\n"
					    " health {\n lameduck 3s\n lameduck 4s\n}\n}\n"
					    "org {\n health 127.0.0.1:%u\n}\n",
					    port, port)));
	assert_page(port, "/health", 200, "OK");
	assert_int_equal(server_lameduck_ns(fake_server(f)), 4 * NS_PER_S);
	close(fd);
}

static void bad_stanzas(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ ". {\n health bla\n}\n", "Corefile:2:9: 'bla' is not an address such as :8080" },
		{ ". {\n health example.org:80\n}\n",
		  "Corefile:2:9: 'example.org:80' is not an address such as :8080" },
		{ ". {\n health :80 :81\n}\n", "Corefile:2:13: health: unexpected argument ':81'" },
		{ ". {\n health {\n lamedudk 4\n}\n}\n",
		  "Corefile:3:2: unknown option 'lamedudk', expected one of: lameduck" },
		{ ". {\n health {\n lameduck a\n}\n}\n",
		  "Corefile:3:11: lameduck: expected a duration such as 5s, got 'a'" },
		{ ". {\n health {\n lameduck -1s\n}\n}\n",
		  "Corefile:3:11: lameduck: expected a duration of at least 0s, got '-1s'" },
		{ ". {\n health 192.0.2.1:0\n}\n",
		  "Corefile:2:2: cannot listen on '192.0.2.1:0': Cannot assign requested address" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_false(fake_reload(f, rows[i].text));
		assert_string_equal(fake_error(), rows[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_says_ok),
		cmocka_unit_test(page_outlives_reloads),
		cmocka_unit_test(stanzas_add_up),
		cmocka_unit_test(bad_stanzas),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
