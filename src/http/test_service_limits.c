/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits of http/service: slow and idle clients, clients without a key, memory for bodies. */
#include "http/test_service_rig.h"

static void slow_clients_are_cut(void **state)
{
	struct rig r = { .tls = NULL };
	struct client flooded, unfinished, silent, quiet;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	conf.idle_s = conf.stall_s = 1;
	rig_start(&r, &conf);
	dial(&r, &quiet);
	put(&quiet, "GET /tick?hello HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(until(&quiet, "hello\n"));
	dial(&r, &flooded);
	put(&flooded, "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
	wait_tickers(&r.board, 2);
	dial(&r, &unfinished);
	put(&unfinished, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
	dial(&r, &silent);
	assert_false(until(&unfinished, "200 OK"));
	assert_false(until(&silent, "HTTP"));
	/* The client reads nothing; but a stream that has nothing to send is not a slow one. */
	wait_tickers(&r.board, 1);
	raise_all(&r.board, 1, 0);
	assert_true(until(&quiet, "line 0\n"));
	hang_up(&quiet);
	hang_up(&flooded);
	hang_up(&unfinished);
	hang_up(&silent);
	rig_stop(&r);
}

static void the_idle_make_room(void **state)
{
	enum { MAX = 8 };
	struct rig r = { .tls = NULL };
	struct client c[MAX], one, last;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	conf.max_connections = MAX;
	rig_start(&r, &conf);
	dial(&r, &c[0]);
	for (int i = 1; i < MAX; i++) {
		dial(&r, &c[i]);
		put(&c[i], "GET /tick?n=0&hello HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_true(until(&c[i], "hello\n"));
	}
	/* The idle one goes, the streams stay; when all are at work the new one goes. */
	dial(&r, &one);
	put(&one, "GET /tick?n=0&hello HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(until(&one, "hello\n"));
	assert_false(until(&c[0], "HTTP"));
	dial(&r, &last);
	put(&last, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_false(until(&last, "HTTP"));
	raise_all(&r.board, 1, 0);
	assert_true(until(&one, "line 0\n"));
	for (int i = 1; i < MAX; i++)
		assert_true(until(&c[i], "line 0\n"));
	for (int i = 0; i < MAX; i++)
		hang_up(&c[i]);
	hang_up(&one);
	hang_up(&last);
	rig_stop(&r);
}

static bool has_key(void *ctx, const struct http_request *req)
{
	(void)ctx;
	assert_int_equal(req->body.n, 0);
	return http_request_header(req, "Key") != NULL;
}

/* However much unauthenticated clients send: they are closed one after the other, their bodies are
 * not processed, and authenticated clients keep all of their room. */
static void strangers_take_no_room(struct rig *r)
{
	enum { MAX = 4, STRANGERS = 3 * MAX };
	struct client slow[STRANGERS], known[MAX], last;
	struct http_service_conf conf = rig_conf(r);
	conf.max_connections = conf.max_unknown = MAX;
	conf.is_known = has_key;
	rig_start(r, &conf);
	for (int i = 0; i < STRANGERS; i++) {
		dial(r, &slow[i]);
		put(&slow[i], "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
	}
	for (int i = 0; i < MAX; i++) {
		dial(r, &known[i]);
		put(&known[i], "GET /tick?n=0&hello HTTP/1.1\r\nHost: x\r\nKey: k\r\n\r\n");
		assert_true(until(&known[i], "hello\n"));
	}
	/* The first ones are gone, the last ones are answered, without their body. */
	assert_false(until(&slow[0], "HTTP"));
	put(&slow[STRANGERS - 1], "lo");
	assert_true(until(&slow[STRANGERS - 1], "200 OK"));
	assert_true(until(&slow[STRANGERS - 1], "POST /"));
	assert_null(strstr(slow[STRANGERS - 1].in.s, "hel"));
	/* All slots of authenticated clients are in use: another request is refused. */
	dial(r, &last);
	put(&last, "GET / HTTP/1.1\r\nHost: x\r\nKey: k\r\n\r\n");
	assert_true(until(&last, "429 Too Many Requests"));
	assert_true(until(&last, "Retry-After: 1"));
	/* And finds room when one of them ends. */
	raise_all(&r->board, 1, 1);
	assert_true(until(&known[0], "0\r\n\r\n"));
	put(&last, "GET /again HTTP/1.1\r\nHost: x\r\nKey: k\r\n\r\n");
	assert_true(until(&last, "GET /again"));
	for (int i = 0; i < STRANGERS; i++)
		hang_up(&slow[i]);
	for (int i = 0; i < MAX; i++)
		hang_up(&known[i]);
	hang_up(&last);
	rig_stop(r);
}

static void strangers(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	strangers_take_no_room(&r);
	rig_tls(&r);
	strangers_take_no_room(&r);
	rig_tls_done(&r);
}

/* Bodies of all clients together. */
static void bodies_share_a_limit(void **state)
{
	struct rig r = { .tls = NULL };
	struct client first, second;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	conf.max_bodies_bytes = 7;
	rig_start(&r, &conf);
	dial(&r, &first);
	put(&first, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nhello");
	for (int i = 0; i < 2; i++) {
		/* It is not known when the first part has been read: until then the second fits. */
		for (int tries = 0; tries < 1000; tries++) {
			dial(&r, &second);
			put(&second,
			    "POST /2 HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 4\r\n\r\nbody");
			assert_true(until(&second, "\r\n\r\n"));
			bool busy = strstr(second.in.s, "429 Too Many Requests") != NULL;
			if (busy != (i == 0)) {
				hang_up(&second);
				continue;
			}
			hang_up(&second);
			break;
		}
		if (i == 0) {
			put(&first, "!");
			assert_true(until(&first, "b=hello!"));
		}
	}
	dial(&r, &second);
	put(&second, "POST /2 HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 4\r\n\r\nbody");
	assert_true(until(&second, "b=body"));
	hang_up(&second);
	hang_up(&first);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers),
		cmocka_unit_test(bodies_share_a_limit),
		cmocka_unit_test(slow_clients_are_cut),
		cmocka_unit_test(the_idle_make_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
