/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP/1.1 framing: requests and responses of every shape, fed in every split, and the limits. */
#include "http/test_framing_pair.h"

struct row {
	const char *in;
	const char *told;
	const char *out; /* starts with */
	int err;
};

/* The server answers nothing by itself but refusals. */
static const struct row server_rows[] = {
	{ "GET /dns-query?dns=AAAA HTTP/1.1\r\nHost: a.b\r\nAccept: x/y\r\n\r\n",
	  "1: method=GET target=/dns-query?dns=AAAA authority=a.b accept=x/y\n", "", 0 },
	{ "\r\n\r\nPOST /q HTTP/1.1\nhost:a\ncontent-TYPE:  t/u \nContent-Length: 3\n\nabc",
	  "1: method=POST target=/q authority=a type=t/u body=abc\n", "", 0 },
	{ "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	  "2;x=y\r\nab\r\n0a\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
	  "1: method=POST target=/ authority=a body=ab0123456789\n", "", 0 },
	{ "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
	  "1: method=POST target=/ authority=a body=x\n", "HTTP/1.1 100 Continue\r\n\r\n", 0 },
	{ "GET / HTTP/1.0\r\n\r\n", "1: method=GET target=/\n", "", 0 },
	{ "GET https://h/p HTTP/1.1\r\nHost: a\r\n\r\n",
	  "1: method=GET target=https://h/p authority=a\n", "", 0 },
	{ "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n",
	  "1: method=GET target=/ authority=a too_long\n", "", 0 },
	{ "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n40001\r\n",
	  "1: method=GET target=/ authority=a too_long\n", "", 0 },
	{ "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n",
	  "1: method=GET target=/ authority=a too_long\n", "", 0 },
	/* refused */
	{ "GET / HTTP/1.1\r\n\r\n", "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "", "HTTP/1.1 505 ", ERR_PARSE },
	{ "GET /\r\n\r\n", "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n", "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n", "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET /%4x HTTP/1.1\r\nHost: a\r\n\r\n", "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "", "HTTP/1.1 400 ",
	  ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "",
	  "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	  "", "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "", "HTTP/1.1 501 ",
	  ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "",
	  "HTTP/1.1 400 ", ERR_PARSE },
	{ "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "",
	  "HTTP/1.1 400 ", ERR_PARSE },
};

static const struct row client_rows[] = {
	{ "HTTP/1.1 200 OK\r\nContent-Type: t/u\r\nContent-Length: 2\r\n\r\nhi",
	  "1: status=200 type=t/u body=hi\n", NULL, 0 },
	{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	  "1: status=200\n", NULL, 0 },
	{ "HTTP/1.1 204 None\r\n\r\n", "1: status=204\n", NULL, 0 },
	{ "HTTP/1.1 200\r\nCache-Control: max-age=7\r\nTransfer-Encoding: chunked\r\n\r\n"
	  "3\r\nabc\r\n0\r\n\r\n",
	  "1: status=200 cache=max-age=7 body=abc\n", NULL, 0 },
	{ "HTTP/1.0 200 OK\r\n\r\nto the end", "1: status=200 body=to the end\n", NULL, 0 },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "1: gone\n", NULL, 0 },
	{ "SSH-2.0\r\n\r\n", "1: gone\n", NULL, ERR_PARSE },
	{ "HTTP/1.1 20 OK\r\n\r\n", "1: gone\n", NULL, ERR_PARSE },
	{ "HTTP/1.1 101 Switch\r\n\r\n", "1: gone\n", NULL, ERR_PARSE },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n", "1: gone\n", NULL, ERR_LIMIT },
};

static void run_row(const struct row *r, enum http_role role, size_t step)
{
	struct peer *p = peer_new(role, HTTP_1_1, 0);
	uint32_t stream;
	if (role == HTTP_ROLE_CLIENT) {
		assert_int_equal(
			http_framing_request(p->f,
					     &(struct http_message){ .method = SLICE("GET"),
								     .target = SLICE("/"),
								     .authority = SLICE("a") },
					     NULL, &stream),
			0);
		http_framing_sent(p->f, http_framing_out(p->f).n);
	}
	size_t n = strlen(r->in);
	ssize_t used = 0;
	for (size_t at = 0; at < n && used >= 0; at += step) {
		used = http_framing_feed(p->f, r->in + at, MIN(step, n - at), 1);
		if (used >= 0 && (size_t)used < MIN(step, n - at))
			break;
	}
	assert_int_equal(used < 0 ? used : 0, r->err);
	if (role == HTTP_ROLE_CLIENT)
		http_framing_eof(p->f);
	assert_string_equal(p->told.s, r->told);
	struct slice out = http_framing_out(p->f);
	if (r->out != NULL && r->out[0] == '\0')
		assert_int_equal(out.n, 0);
	else if (r->out != NULL)
		assert_true(slice_starts(out, slice_of(r->out)));
	peer_free(p);
}

static void every_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(server_rows); i++) {
		for (size_t step = 1; step <= strlen(server_rows[i].in); step++)
			run_row(&server_rows[i], HTTP_ROLE_SERVER, step);
	}
	for (size_t i = 0; i < ARRAY_LEN(client_rows); i++) {
		for (size_t step = 1; step <= strlen(client_rows[i].in); step++)
			run_row(&client_rows[i], HTTP_ROLE_CLIENT, step);
	}
}

static ssize_t feed(struct peer *p, const char *s, size_t n)
{
	return http_framing_feed(p->f, s, n, 1);
}

/* A second request waits until the first is answered; keep-alive goes on, close does not. */
static void one_after_the_other(void **state)
{
	(void)state;
	struct peer *p = peer_new(HTTP_ROLE_SERVER, HTTP_1_1, 0);
	static const char two[] = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
				  "GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
	ssize_t used = feed(p, two, sizeof(two) - 1);
	assert_int_equal(used, 28);
	assert_int_equal(p->n_messages, 1);
	assert_int_equal(feed(p, two + used, sizeof(two) - 1 - (size_t)used), 0);
	assert_int_equal(http_framing_pending(p->f), 1);
	assert_int_equal(
		http_framing_respond(p->f, 1,
				     &(struct http_message){ .status = 200, .body = SLICE("x") }),
		0);
	struct slice out = http_framing_out(p->f);
	assert_true(slice_eq(out, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")));
	http_framing_sent(p->f, out.n);
	assert_false(http_framing_over(p->f));
	assert_int_equal(feed(p, two + used, sizeof(two) - 1 - (size_t)used),
			 sizeof(two) - 1 - (size_t)used);
	assert_int_equal(p->n_messages, 2);
	assert_int_equal(http_framing_respond(p->f, 2, &(struct http_message){ .status = 404 }), 0);
	out = http_framing_out(p->f);
	assert_true(slice_eq(out, SLICE("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
					"Connection: close\r\n\r\n")));
	assert_true(http_framing_over(p->f));
	assert_int_equal(feed(p, "more", 4), 4); /* is passed over */
	assert_int_equal(p->n_messages, 2);
	peer_free(p);
}

/* Pipelined requests are taken as their answers leave. */
static void answers_that_are_not_sent(void **state)
{
	enum { N = 20, ANSWER = 60000 };
	static const char one[] = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
	(void)state;
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_1_1, 0);
	CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT;
	s->answers = true;
	s->answer_bytes = ANSWER;
	for (int i = 0; i < N; i++)
		strbuf_adds(&in, one);
	size_t at = 0;
	while (at < in.n) {
		ssize_t r = http_framing_feed(s->f, in.s + at, in.n - at, 1);
		assert_true(r > 0);
		at += (size_t)r;
		assert_true(at == in.n || http_framing_is_full(s->f));
		assert_true(http_framing_unsent(s->f) < HTTP_OUT_HIGH + ANSWER + 1000);
		assert_int_equal(http_framing_held(s->f), 0);
		http_framing_sent(s->f, http_framing_out(s->f).n);
		assert_false(http_framing_is_full(s->f));
	}
	assert_int_equal(s->n_messages, N);
	peer_free(s);
}

static void head_has_no_body(void **state)
{
	(void)state;
	struct peer *p = peer_new(HTTP_ROLE_SERVER, HTTP_1_1, 0);
	static const char in[] = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
	assert_int_equal(feed(p, in, sizeof(in) - 1), sizeof(in) - 1);
	assert_int_equal(
		http_framing_respond(p->f, 1,
				     &(struct http_message){ .status = 400, .body = SLICE("no") }),
		0);
	assert_true(slice_ends(http_framing_out(p->f), SLICE("Content-Length: 2\r\n\r\n")));
	peer_free(p);
}

/* HTTP_HEAD_MAX, HTTP_FIELDS_MAX and HTTP_BODY_MAX, each just within and just beyond. */
static void limits(void **state)
{
	(void)state;
	static const char start[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
	for (size_t over = 0; over < 2; over++) {
		struct peer *p = peer_new(HTTP_ROLE_SERVER, HTTP_1_1, 0);
		CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT;
		strbuf_adds(&in, start);
		while (in.n < HTTP_HEAD_MAX - 4 + over)
			strbuf_addc(&in, 'x');
		strbuf_adds(&in, "\r\n\r\n");
		ssize_t r = feed(p, in.s, in.n);
		assert_int_equal(r, over != 0 ? ERR_LIMIT : (ssize_t)in.n);
		assert_int_equal(p->n_messages, over != 0 ? 0 : 1);
		assert_int_equal(slice_starts(http_framing_out(p->f), SLICE("HTTP/1.1 431 ")),
				 over != 0);
		peer_free(p);
	}
	for (unsigned over = 0; over < 2; over++) {
		struct peer *p = peer_new(HTTP_ROLE_SERVER, HTTP_1_1, 0);
		CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT;
		strbuf_adds(&in, "GET / HTTP/1.1\r\nHost: a\r\n");
		for (unsigned i = 1; i < HTTP_FIELDS_MAX + over; i++)
			strbuf_adds(&in, "A: b\r\n");
		strbuf_adds(&in, "\r\n");
		assert_int_equal(feed(p, in.s, in.n), over != 0 ? ERR_LIMIT : (ssize_t)in.n);
		peer_free(p);
	}
	for (unsigned over = 0; over < 2; over++) {
		struct peer *p = peer_new(HTTP_ROLE_SERVER, HTTP_1_1, 0);
		CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT;
		strbuf_addf(&in, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %u\r\n\r\n",
			    HTTP_BODY_MAX + over);
		size_t head = in.n;
		while (in.n < head + HTTP_BODY_MAX + over)
			strbuf_addc(&in, 'b');
		assert_true(feed(p, in.s, in.n) >= 0);
		assert_int_equal(p->n_messages, 1);
		assert_int_equal(strstr(p->told.s, "too_long") != NULL, over != 0);
		assert_int_equal(p->last_body_n, over != 0 ? 0 : HTTP_BODY_MAX);
		assert_int_equal(
			http_framing_respond(p->f, 1, &(struct http_message){ .status = 400 }), 0);
		assert_false(http_framing_over(p->f)); /* it was read: the next request may come */
		peer_free(p);
	}
}

static void client_asks_server(void **state)
{
	(void)state;
	for (size_t step = 1; step < 200; step += 7) {
		struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_1_1, 0);
		struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_1_1, 0);
		struct http_message m = { .method = SLICE("POST"),
					  .target = SLICE("/dns-query"),
					  .authority = SLICE("h:443"),
					  .content_type = SLICE("t/u"),
					  .accept = SLICE("t/u"),
					  .body = SLICE("question") };
		uint32_t stream;
		s->answers = true;
		for (uint32_t i = 1; i <= 3; i++) {
			assert_int_equal(http_framing_request(c->f, &m, NULL, &stream), 0);
			assert_int_equal(stream, i);
			assert_int_equal(http_framing_request(c->f, &m, NULL, &stream), ERR_BUSY);
			assert_int_equal(peer_pump(c, s, step), 0);
			assert_int_equal(peer_pump(s, c, step), 0);
			assert_int_equal(c->n_messages, i);
		}
		assert_non_null(strstr(s->told.s, "3: method=POST target=/dns-query "
						  "authority=h:443 type=t/u accept=t/u "
						  "body=question\n"));
		assert_non_null(strstr(c->told.s,
				       "3: status=200 type=a/b cache=max-age=5 body=question\n"));
		http_framing_end(s->f);
		assert_true(http_framing_over(s->f));
		peer_free(c);
		peer_free(s);
	}
}

static void nothing_unclean_is_sent(void **state)
{
	(void)state;
	struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_1_1, 0);
	struct http_message m = { .method = SLICE("GET"),
				  .target = SLICE("/ HTTP/1.1\r\nX: y"),
				  .authority = SLICE("a") };
	uint32_t stream;
	assert_int_equal(http_framing_request(c->f, &m, NULL, &stream), ERR_PARSE);
	m.target = SLICE("/");
	m.accept = SLICE("a\r\nX: y");
	assert_int_equal(http_framing_request(c->f, &m, NULL, &stream), ERR_PARSE);
	assert_int_equal(http_framing_out(c->f).n, 0);
	m.accept = SLICE("");
	assert_int_equal(http_framing_request(c->f, &m, NULL, &stream), 0);
	http_framing_cancel(c->f, stream);
	assert_int_equal(http_framing_request(c->f, &m, NULL, &stream), ERR_CLOSED);
	assert_int_equal(c->n_gone, 0);
	peer_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(answers_that_are_not_sent),
		cmocka_unit_test(head_has_no_body),
		cmocka_unit_test(limits),
		cmocka_unit_test(client_asks_server),
		cmocka_unit_test(nothing_unclean_is_sent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
