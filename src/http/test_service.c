/* SPDX-License-Identifier: GPL-3.0-or-later */
/* http/service: requests and replies as clients send and see them, bodies, handlers that wait. */
#include "http/test_service_rig.h"

static const struct {
	const char *request, *status, *header, *body;
} rows[] = {
	{ "GET /a%20b?x=1&y&x=%26 HTTP/1.1\r\n" CLOSE_HEAD "X-Test: 7\r\n\r\n", "200 OK",
	  "Content-Type: text/plain; charset=utf-8\r\n", "GET /a b h=7 x=1 y= x=& (3) b=" },
	{ "GET /a%00b?c=d%00e+f HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "X-One: 1  2\r\n",
	  "GET /a%00b h=- c=d%00e f (1) b=" },
	{ "GET /a?1&2&3&4&5 HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "X-One: 3\r\n",
	  "GET /a h=- 1= 2= 3= 4= (5) b=" },
	{ "FROB / HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "", "FROB / h=- (0) b=" },
	{ "HEAD / HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "Content-Length: 17\r\n", "" },
	{ "GET /none HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "304 Not Modified", "", "" },
	{ "POST / HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 5\r\n\r\nhello", "200 OK", "",
	  "POST / h=- (0) b=hello" },
	{ "PATCH / HTTP/1.1\r\n" CLOSE_HEAD
	  "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
	  "200 OK", "", "PATCH / h=- (0) b=hello" },
	{ "DELETE / HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "", "DELETE / h=- (0) b=" },
	/* Nothing of the body comes, so the reply cannot have waited for it. */
	{ "POST / HTTP/1.1\r\n" CLOSE_HEAD "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n",
	  "413 Content Too Large", "Content-Type: application/json\r\n", "{\"too long\":0}" },
	{ "POST / HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 99999999\r\n\r\n",
	  "413 Content Too Large", "", "{\"too long\":0}" },
	{ "GET /tick?n=2 HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK",
	  "Transfer-Encoding: chunked\r\n", "E\r\nline 0\nline 1\n\r\n0\r\n\r\n" },
	{ "GET /tick?n=2&hello HTTP/1.0\r\n\r\n", "200 OK", "Content-Type: application/json\r\n",
	  "hello\nline 0\nline 1\n" },
	{ "HEAD /tick?n=2 HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "", "" },
};

static void check_rows(struct rig *r)
{
	struct http_service_conf c = rig_conf(r);
	rig_start(r, &c);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *reply = ask(r, rows[i].request);
		if (strncmp(reply, "HTTP/1.", 7) != 0 ||
		    strncmp(reply + 9, rows[i].status, strlen(rows[i].status)) != 0 ||
		    strstr(reply, rows[i].header) == NULL ||
		    strcmp(body_of(reply), rows[i].body) != 0)
			fail_msg("%s->\n%s", rows[i].request, reply);
	}
	rig_stop(r);
}

static void requests_and_replies(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	check_rows(&r);
	rig_tls(&r);
	check_rows(&r);
	rig_tls_done(&r);
}

static void keeps_the_connection(void **state)
{
	struct rig r = { .tls = NULL };
	struct client c;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	rig_start(&r, &conf);
	dial(&r, &c);
	for (int i = 0; i < 3; i++) {
		put(&c, "GET /tick?n=3&hello HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_true(until(&c, "hello\n"));
		assert_true(until(&c, "line 2\n\r\n0\r\n\r\n"));
		put(&c, "POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
			"Content-Length: 3\r\n\r\n");
		assert_true(until(&c, "HTTP/1.1 100 Continue\r\n\r\n"));
		put(&c, "abc");
		assert_true(until(&c, "POST /x h=- (0) b=abc"));
	}
	hang_up(&c);
	rig_stop(&r);
}

/* A document that cannot be sent to its end has no last chunk, nor has one that a stop cuts off. */
static void broken_ends_are_seen(void **state)
{
	struct rig r = { .tls = NULL };
	struct client c, d;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	rig_start(&r, &conf);
	dial(&r, &c);
	put(&c, "GET /broken?n=3 HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(until(&c, "line 2\n"));
	assert_false(until(&c, "\r\n0\r\n\r\n"));
	dial(&r, &d);
	put(&d, "GET /broken?hello HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(until(&d, "hello\n"));
	http_service_stop(TAKE_PTR(r.service));
	assert_false(until(&d, "\r\n0\r\n\r\n"));
	hang_up(&c);
	hang_up(&d);
	rig_stop(&r);
}

static void bodies_are_limited(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	struct rig r = { .tls = NULL };
	struct client c;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	rig_start(&r, &conf);
	dial(&r, &c);
	for (int chunked = 0; chunked < 2; chunked++) {
		/* The limit passes, one more and a million more do not; the connection stays. */
		static const int length[] = { BODY_MAX_BYTES, BODY_MAX_BYTES + 1, 1000000 };
		for (size_t i = 0; i < ARRAY_LEN(length); i++) {
			strbuf_reset(&b);
			strbuf_addf(&b, "POST / HTTP/1.1\r\nHost: x\r\n");
			if (chunked)
				strbuf_addf(&b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n",
					    (unsigned)length[i]);
			else
				strbuf_addf(&b, "Content-Length: %d\r\n\r\n", length[i]);
			for (int k = 0; k < length[i]; k++)
				strbuf_addc(&b, 'x');
			if (chunked)
				strbuf_adds(&b, "\r\n0\r\n\r\n");
			put_n(&c, b.s, b.n);
			assert_true(until(&c, i == 0 ? "200 OK" : "413 Content Too Large"));
			assert_true(until(&c, i == 0 ? "b=xxx" : "{\"too long\":0}"));
		}
	}
	hang_up(&c);
	rig_stop(&r);
}

static void handlers_may_wait(void **state)
{
	enum { THREADS = 4, CLIENTS = 3 * THREADS };
	struct rig r = { .tls = NULL };
	struct client c[CLIENTS];
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	conf.threads = THREADS;
	rig_start(&r, &conf);
	for (int i = 0; i < CLIENTS; i++) {
		dial(&r, &c[i]);
		put(&c[i], "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	/* All threads are inside, no more; then the gate opens for all. */
	pthread_mutex_lock(&r.board.lock);
	while (r.board.n_inside < THREADS)
		pthread_cond_wait(&r.board.change, &r.board.lock);
	assert_int_equal(r.board.n_inside, THREADS);
	r.board.open = true;
	pthread_cond_broadcast(&r.board.change);
	pthread_mutex_unlock(&r.board.lock);
	for (int i = 0; i < CLIENTS; i++) {
		assert_true(until(&c[i], "through"));
		hang_up(&c[i]);
	}
	rig_stop(&r);
}

static void addresses(void **state)
{
	struct rig r = { .tls = NULL };
	struct http_service *second;
	char addr[NET_ADDR_TEXT_MAX];
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	rig_start(&r, &conf);
	/* A port has one owner, unlike those of http/server.h. */
	snprintf(addr, sizeof(addr), "127.0.0.1:%u", http_service_port(r.service));
	conf.addr = addr;
	assert_int_equal(http_service_start(&conf, &second), -EADDRINUSE);
	conf.addr = "nonsense";
	assert_int_equal(http_service_start(&conf, &second), ERR_PARSE);
	rig_stop(&r);
	http_service_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_and_replies), cmocka_unit_test(keeps_the_connection),
		cmocka_unit_test(broken_ends_are_seen), cmocka_unit_test(bodies_are_limited),
		cmocka_unit_test(handlers_may_wait),	cmocka_unit_test(addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
