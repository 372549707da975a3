/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP/2 framing: our client against our server in memory, in every split; and frames by hand for
 * what a client of ours would never send. */
#include "http/test_framing_pair.h"

#include "base/clock.h"

static const struct http_message post = { .method = { "POST", 4 },
					  .target = { "/dns-query", 10 },
					  .authority = { "h:443", 5 },
					  .content_type = { "t/u", 3 },
					  .accept = { "t/u", 3 },
					  .body = { "question", 8 } };

static void ask(struct peer *c, const struct http_message *m, uint32_t *ret_stream)
{
	assert_int_equal(http_framing_request(c->f, m, NULL, ret_stream), 0);
}

/* Both directions until nothing moves. */
static void talk(struct peer *c, struct peer *s, size_t step)
{
	for (int i = 0; i < 8; i++) {
		assert_int_equal(peer_pump(c, s, step), 0);
		assert_int_equal(peer_pump(s, c, step), 0);
	}
}

static void client_asks_server(void **state)
{
	(void)state;
	for (size_t step = 1; step < 120; step += step < 8 ? 1 : 11) {
		struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_2, 0);
		struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
		uint32_t stream;
		s->answers = true;
		ask(c, &post, &stream);
		ask(c, &post, &stream);
		assert_int_equal(stream, 3);
		assert_int_equal(http_framing_pending(c->f), 2);
		talk(c, s, step);
		assert_string_equal(s->told.s,
				    "1: method=POST target=/dns-query authority=h:443 type=t/u "
				    "accept=t/u body=question\n"
				    "3: method=POST target=/dns-query authority=h:443 type=t/u "
				    "accept=t/u body=question\n");
		assert_string_equal(c->told.s,
				    "1: status=200 type=a/b cache=max-age=5 body=question\n"
				    "3: status=200 type=a/b cache=max-age=5 body=question\n");
		assert_int_equal(http_framing_pending(c->f), 0);
		assert_int_equal(http_framing_unsent(s->f), 0);
		peer_free(c);
		peer_free(s);
	}
}

/* Answers in another order, one that is cancelled, one that comes too late. */
static void any_order(void **state)
{
	(void)state;
	struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_2, 0);
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	uint32_t a, b, d;
	ask(c, &post, &a);
	ask(c, &post, &b);
	ask(c, &post, &d);
	talk(c, s, SIZE_MAX);
	assert_int_equal(s->n_messages, 3);
	http_framing_cancel(c->f, b);
	talk(c, s, SIZE_MAX);
	assert_int_equal(s->n_gone, 1);
	assert_int_equal(s->last_stream, b);
	struct http_message r = { .status = 200, .body = SLICE("x") };
	assert_int_equal(http_framing_respond(s->f, d, &r), 0);
	assert_int_equal(http_framing_respond(s->f, b, &r), 0);
	assert_int_equal(http_framing_respond(s->f, a, &r), 0);
	assert_int_equal(http_framing_respond(s->f, a, &r), 0); /* twice: ignored */
	talk(c, s, SIZE_MAX);
	assert_string_equal(c->told.s, "5: status=200 body=x\n1: status=200 body=x\n");
	assert_int_equal(c->n_gone, 0);
	peer_free(c);
	peer_free(s);
}

static void whole_bodies(void **state)
{
	(void)state;
	static const size_t sizes[] = { 1, 16384, 16385, HTTP_BODY_MAX };
	static char body[HTTP_BODY_MAX];
	memset(body, 'b', sizeof(body));
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_2, 0);
		struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
		struct http_message m = post;
		uint32_t stream;
		s->answers = true;
		m.body = (struct slice){ body, sizes[i] };
		ask(c, &m, &stream);
		talk(c, s, 1000);
		assert_int_equal(s->last_body_n, sizes[i]);
		assert_int_equal(c->last_body_n, sizes[i]);
		assert_memory_equal(c->last_body, body, sizes[i]);
		peer_free(c);
		peer_free(s);
	}
	struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_2, 0);
	uint32_t stream;
	struct http_message m = post;
	m.body.n = HTTP_BODY_MAX + 1;
	assert_int_equal(http_framing_request(c->f, &m, NULL, &stream), ERR_LIMIT);
	peer_free(c);
}

static void streams_are_counted(void **state)
{
	(void)state;
	struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_2, 0);
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 2);
	uint32_t stream;
	talk(c, s, SIZE_MAX);
	ask(c, &post, &stream);
	ask(c, &post, &stream);
	assert_int_equal(http_framing_request(c->f, &post, NULL, &stream), ERR_BUSY);
	talk(c, s, SIZE_MAX);
	struct http_message r = { .status = 200 };
	assert_int_equal(http_framing_respond(s->f, 1, &r), 0);
	talk(c, s, SIZE_MAX);
	ask(c, &post, &stream);
	peer_free(c);
	peer_free(s);
}

/* The server ends: what is under way is answered, nothing new is taken, then it is over. */
static void ends_in_order(void **state)
{
	(void)state;
	struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_2, 0);
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	uint32_t stream;
	ask(c, &post, &stream);
	talk(c, s, SIZE_MAX);
	http_framing_end(s->f);
	talk(c, s, SIZE_MAX);
	assert_false(http_framing_over(s->f));
	assert_int_equal(http_framing_request(c->f, &post, NULL, &stream), ERR_CLOSED);
	assert_int_equal(http_framing_respond(s->f, 1, &(struct http_message){ .status = 200 }), 0);
	talk(c, s, SIZE_MAX);
	assert_true(http_framing_over(s->f));
	assert_string_equal(c->told.s, "1: status=200\n");
	assert_true(http_framing_over(c->f));
	peer_free(c);
	peer_free(s);
}

static void client_loses_its_connection(void **state)
{
	(void)state;
	struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_2, 0);
	uint32_t stream;
	ask(c, &post, &stream);
	http_framing_eof(c->f);
	assert_string_equal(c->told.s, "1: gone\n");
	assert_int_equal(c->last_err, ERR_CLOSED);
	assert_int_equal(http_framing_request(c->f, &post, NULL, &stream), ERR_CLOSED);
	peer_free(c);
	c = peer_new(HTTP_ROLE_CLIENT, HTTP_2, 0);
	ask(c, &post, &stream);
	http_framing_sent(c->f, http_framing_out(c->f).n);
	static const char http1[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	ssize_t r = http_framing_feed(c->f, http1, sizeof(http1) - 1, 1);
	if (r >= 0) {
		http_framing_sent(c->f, http_framing_out(c->f).n);
		assert_true(http_framing_over(c->f));
		http_framing_eof(c->f);
	}
	assert_int_equal(c->n_gone, 1);
	peer_free(c);
}

/* ---- frames by hand ---- */

enum { DATA = 0, HEADERS = 1, PRIORITY = 2, RST = 3, SETTINGS = 4, PING = 6, WINDOW = 8 };
enum { END_STREAM = 1, END_HEADERS = 4 };

static void frame(struct strbuf *b, uint8_t type, uint8_t flags, uint32_t stream, struct slice data)
{
	uint8_t h[9] = { (uint8_t)(data.n >> 16),
			 (uint8_t)(data.n >> 8),
			 (uint8_t)data.n,
			 type,
			 flags,
			 (uint8_t)(stream >> 24),
			 (uint8_t)(stream >> 16),
			 (uint8_t)(stream >> 8),
			 (uint8_t)stream };
	strbuf_add(b, h, sizeof(h));
	strbuf_add_slice(b, data);
}

static void hello(struct strbuf *b)
{
	strbuf_adds(b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	frame(b, SETTINGS, 0, 0, SLICE(""));
}

/* GET / of authority a. */
#define GET_HEAD                     \
	SLICE("\x82\x87\x84\x41\x01" \
	      "a")

/* Feeds and throws away what is to be sent; the first error. */
static ssize_t feed_all(struct peer *s, const struct strbuf *b, uint64_t now_ns)
{
	for (size_t at = 0; at < b->n;) {
		ssize_t r =
			http_framing_feed(s->f, b->s + at, MIN(b->n - at, (size_t)4096), now_ns);
		if (r < 0)
			return r;
		assert_true(r > 0);
		at += (size_t)r;
		http_framing_sent(s->f, http_framing_out(s->f).n);
		if (http_framing_over(s->f))
			return ERR_CLOSED;
	}
	return 0;
}

static void rapid_reset(void **state)
{
	(void)state;
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	hello(&b);
	for (uint32_t i = 0; i < 500; i++) {
		frame(&b, HEADERS, END_STREAM | END_HEADERS, 2 * i + 1, GET_HEAD);
		frame(&b, RST, 0, 2 * i + 1, SLICE("\0\0\0\x08"));
	}
	assert_int_equal(feed_all(s, &b, NS_PER_S), ERR_LIMIT);
	assert_in_range(s->n_messages, 50, 110);
	peer_free(s);
}

static void floods(void **state)
{
	static const struct {
		uint8_t type, flags;
		uint32_t stream;
		struct slice data;
	} rows[] = {
		{ PING, 0, 0, { "12345678", 8 } },
		{ SETTINGS, 0, 0, { "", 0 } },
		{ PRIORITY, 0, 1, { "\0\0\0\0\x10", 5 } },
		{ WINDOW, 0, 0, { "\0\0\0\1", 4 } },
		{ DATA, 0, 1, { "", 0 } },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
		CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
		hello(&b);
		frame(&b, HEADERS, END_HEADERS, 1, GET_HEAD);
		for (unsigned k = 0; k < 5000; k++)
			frame(&b, rows[i].type, rows[i].flags, rows[i].stream, rows[i].data);
		assert_int_equal(feed_all(s, &b, NS_PER_S), ERR_LIMIT);
		peer_free(s);
	}
}

/* The same frames, but as slowly as a real client would send them. */
static void no_flood(void **state)
{
	(void)state;
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	hello(&b);
	assert_int_equal(feed_all(s, &b, NS_PER_S), 0);
	for (unsigned i = 0; i < 5000; i++) {
		strbuf_reset(&b);
		frame(&b, PING, 0, 0, SLICE("12345678"));
		assert_int_equal(feed_all(s, &b, NS_PER_S + i * NS_PER_S / 10), 0);
	}
	peer_free(s);
}

/* Answers pay for the frames that come with requests. */
static void asking_is_no_flood(void **state)
{
	(void)state;
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	s->answers = true;
	hello(&b);
	assert_int_equal(feed_all(s, &b, 1), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		strbuf_reset(&b);
		frame(&b, HEADERS, END_HEADERS, 2 * i + 1, GET_HEAD);
		frame(&b, DATA, 0, 2 * i + 1, SLICE("body"));
		frame(&b, DATA, END_STREAM, 2 * i + 1, SLICE(""));
		frame(&b, WINDOW, 0, 0, SLICE("\0\0\0\4"));
		assert_int_equal(feed_all(s, &b, 1), 0);
	}
	assert_int_equal(s->n_messages, 5000);
	peer_free(s);
}

/* Bodies that never end: HTTP_HELD_MAX. */
static void unfinished_bodies(void **state)
{
	(void)state;
	static char part[16000];
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	ssize_t r = 0;
	hello(&b);
	for (uint32_t i = 0; i < 100 && r == 0; i++) {
		frame(&b, HEADERS, END_HEADERS, 2 * i + 1, GET_HEAD);
		frame(&b, DATA, 0, 2 * i + 1, (struct slice){ part, sizeof(part) });
		r = feed_all(s, &b, 1);
		strbuf_reset(&b);
	}
	assert_int_equal(r, ERR_LIMIT);
	assert_int_equal(s->n_messages, 0);
	peer_free(s);
}

/* A body beyond HTTP_BODY_MAX is reported to the caller, answered, and not read to its end. */
static void too_long_body(void **state)
{
	(void)state;
	static char part[16000];
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	s->answers = true;
	hello(&b);
	frame(&b, HEADERS, END_HEADERS, 1, GET_HEAD);
	for (unsigned i = 0; i < 6; i++)
		frame(&b, DATA, 0, 1, (struct slice){ part, sizeof(part) });
	assert_int_equal(feed_all(s, &b, 1), 0);
	assert_string_equal(s->told.s, "1: method=GET target=/ authority=a too_long\n");
	peer_free(s);
}

/* HTTP_HEAD_MAX: the stream is answered with 431, the connection goes on. */
static void too_large_head(void **state)
{
	(void)state;
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf fields = STRBUF_INIT;
	strbuf_add_slice(&fields, GET_HEAD);
	for (unsigned i = 0; i < 110; i++) {
		strbuf_add(&fields, "\0\1x\x78", 4);
		for (unsigned k = 0; k < 120; k++)
			strbuf_addc(&fields, 'v');
	}
	hello(&b);
	frame(&b, HEADERS, END_STREAM | END_HEADERS, 1, strbuf_slice(&fields));
	frame(&b, HEADERS, END_STREAM | END_HEADERS, 3, GET_HEAD);
	assert_int_equal(http_framing_feed(s->f, b.s, b.n, 1), b.n);
	assert_string_equal(s->told.s, "3: method=GET target=/ authority=a\n");
	/* ":status: 431": a literal with the name's index 8, its value Huffman-coded or not. */
	struct slice out = http_framing_out(s->f);
	assert_true(memmem(out.p, out.n,
			   "\x48\x03"
			   "431",
			   5) != NULL ||
		    memmem(out.p, out.n, "\x48\x82", 2) != NULL);
	peer_free(s);
}

/* A client that opens no window: answers wait up to HTTP_UNSENT_MAX, then requests are refused. */
static void closed_window(void **state)
{
	(void)state;
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	s->answers = true;
	s->answer_bytes = 60000;
	strbuf_adds(&b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	frame(&b, SETTINGS, 0, 0, SLICE("\0\4\0\0\0\0")); /* initial window 0 */
	for (uint32_t i = 0; i < 50; i++)
		frame(&b, HEADERS, END_STREAM | END_HEADERS, 2 * i + 1, GET_HEAD);
	assert_int_equal(feed_all(s, &b, 1), 0);
	assert_int_equal(s->n_messages, 35);
	assert_in_range(http_framing_unsent(s->f), 35 * 60000, 35 * 60000 + 1000);
	assert_false(http_framing_over(s->f));
	peer_free(s);
}

/* Drops the pending output. */
static void send_off(struct peer *p)
{
	struct slice out;
	while ((out = http_framing_out(p->f)).n > 0)
		http_framing_sent(p->f, out.n);
}

/* One response is never fetched while others are: it is given up, and they are not. */
static void a_response_left_for_ever(void **state)
{
	(void)state;
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	s->answers = true;
	s->answer_bytes = 1000;
	hello(&b);
	frame(&b, SETTINGS, 0, 0, SLICE("\0\4\0\0\0\0")); /* initial window 0 */
	frame(&b, HEADERS, END_STREAM | END_HEADERS, 1, GET_HEAD);
	assert_int_equal(feed_all(s, &b, 1), 0);
	send_off(s);
	assert_false(http_framing_expire(s->f, 100, 50));
	strbuf_reset(&b);
	frame(&b, HEADERS, END_STREAM | END_HEADERS, 3, GET_HEAD);
	assert_int_equal(feed_all(s, &b, 1), 0);
	send_off(s);
	assert_int_equal(http_framing_unsent(s->f), 2000);
	assert_false(http_framing_expire(s->f, 150, 50));
	assert_true(http_framing_expire(s->f, 151, 50));
	send_off(s);
	assert_int_equal(http_framing_unsent(s->f), 1000);
	assert_false(http_framing_expire(s->f, 152, 50));
	peer_free(s);
}

static void refused_requests(void **state)
{
	(void)state;
	struct peer *c = peer_new(HTTP_ROLE_CLIENT, HTTP_2, 0);
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	uint32_t a, b;
	ask(c, &post, &a);
	ask(c, &post, &b);
	talk(c, s, SIZE_MAX);
	http_framing_refuse(s->f, a);
	http_framing_refuse(s->f, 99); /* none such */
	struct http_message r = { .status = 200, .body = SLICE("x") };
	assert_int_equal(http_framing_respond(s->f, b, &r), 0);
	http_framing_refuse(s->f, b); /* too late */
	talk(c, s, SIZE_MAX);
	assert_string_equal(c->told.s, "1: gone\n3: status=200 body=x\n");
	assert_int_equal(http_framing_pending(s->f), 0);
	peer_free(c);
	peer_free(s);
}

static void not_http2(void **state)
{
	(void)state;
	struct peer *s = peer_new(HTTP_ROLE_SERVER, HTTP_2, 0);
	static const char in[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
	assert_int_equal(http_framing_feed(s->f, in, sizeof(in) - 1, 1), ERR_PARSE);
	peer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client_asks_server), cmocka_unit_test(any_order),
		cmocka_unit_test(whole_bodies),	      cmocka_unit_test(streams_are_counted),
		cmocka_unit_test(ends_in_order),      cmocka_unit_test(client_loses_its_connection),
		cmocka_unit_test(rapid_reset),	      cmocka_unit_test(floods),
		cmocka_unit_test(no_flood),	      cmocka_unit_test(asking_is_no_flood),
		cmocka_unit_test(unfinished_bodies),  cmocka_unit_test(too_long_body),
		cmocka_unit_test(too_large_head),     cmocka_unit_test(closed_window),
		cmocka_unit_test(not_http2),	      cmocka_unit_test(a_response_left_for_ever),
		cmocka_unit_test(refused_requests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
