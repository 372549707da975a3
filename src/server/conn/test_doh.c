/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS over HTTPS on real loopback sockets, HTTP/2 and HTTP/1.1: status codes, age, order, limits,
 * clients that mean harm, reloads. */
#include "server/conn/test_stream.h"

static void on_message(void *ctx, uint32_t stream, void *user, const struct http_message *m)
{
	struct client *c = ctx;
	(void)user;
	if (c->n_responses < ARRAY_LEN(c->order))
		c->order[c->n_responses] = stream;
	c->n_responses++;
	c->stream = stream;
	c->status = m->status;
	snprintf(c->age, sizeof(c->age), "%.*s", (int)m->cache_control.n, m->cache_control.p);
	snprintf(c->type, sizeof(c->type), "%.*s", (int)m->content_type.n, m->content_type.p);
	c->body_n = m->body.n;
	if (m->body.n > 0)
		memcpy(c->body, m->body.p, m->body.n);
}

static void on_gone(void *ctx, uint32_t stream, void *user, int err)
{
	struct client *c = ctx;
	(void)stream;
	(void)user;
	(void)err;
	c->n_gone++;
}

static struct client *client_http(enum http_version v)
{
	struct client *c =
		tls_wanted ? client_tls(v == HTTP_2 ? "h2" : "http/1.1") : client_plain();
	c->http = http_framing_new(&(struct http_framing_conf){
		.role = HTTP_ROLE_CLIENT,
		.version = v,
		.calls = { on_message, on_gone },
		.ctx = c,
	});
	return c;
}

static void flush(struct client *c)
{
	struct slice s;
	while ((s = http_framing_out(c->http)).n > 0) {
		client_send(c, s.p, s.n);
		http_framing_sent(c->http, s.n);
	}
}

/* Until one more response came; false when the connection ended before. */
static bool next_response(struct client *c)
{
	unsigned before = c->n_responses;
	while (c->n_responses == before) {
		static char buf[8192];
		flush(c);
		size_t n = client_recv(c, buf, sizeof(buf));
		if (n == 0 || http_framing_feed(c->http, buf, n, clock_mono_ns()) < 0)
			return false;
	}
	return true;
}

static uint32_t request(struct client *c, const char *method, const char *target, struct slice body)
{
	uint32_t stream = 0;
	struct http_message m = { .method = slice_of(method),
				  .target = slice_of(target),
				  .authority = SLICE("dns.example"),
				  .content_type = SLICE("application/dns-message"),
				  .body = body };
	assert_int_equal(http_framing_request(c->http, &m, NULL, &stream), 0);
	flush(c);
	return stream;
}

static uint32_t post(struct client *c, const char *name)
{
	uint8_t m[300];
	size_t n = message(m, 0, name);
	return request(c, "POST", "/dns-query", (struct slice){ (const char *)m, n });
}

static unsigned rcode(const struct client *c)
{
	assert_true(c->body_n >= 12);
	return c->body[3] & 15;
}

/* Asks for w240.b. */
#define W240_TARGET "/dns-query?dns=AAABAAABAAAAAAAABHcyNDABYgAAAQAB"

static const enum http_version both[] = { HTTP_2, HTTP_1_1 };

static void status_codes(void **state)
{
	static const struct {
		const char *method, *target;
		struct slice body;
		unsigned status;
		const char *text; /* of errors */
	} rows[] = {
		{ "GET", "/dns-query?dns=AAABAAABAAAAAAAAAWEBYgAAAQAB", { 0 }, 200, NULL },
		{ "GET",
		  "/dns-query?dns=AAABAAABAAAAAAAAAWQBYgAAAQAB",
		  { 0 },
		  500,
		  "No response\n" },
		{ "GET", "/dns-query?dns=AAABAAABAAAAAAAAAXMBYgAAAQAB", { 0 }, 200, NULL },
		{ "GET", "/dns-query?dns=AAABAAABAAAAAAAA", { 0 }, 200, NULL }, /* no question */
		{ "GET",
		  "/dns-query?dns=AACBAAABAAAAAAAAAWEBYgAAAQAB",
		  { 0 },
		  400,
		  "invalid request\n" }, /* a response */
		{ "GET",
		  "/dns-query?dns=AAAoAAABAAAAAAAAAWEBYgAAAQAB",
		  { 0 },
		  400,
		  "invalid request\n" }, /* an update */
		{ "GET",
		  "/dns-query?dns=AAABAAACAAAAAAAAAWEBYgAAAQAB",
		  { 0 },
		  400,
		  "invalid request\n" },
		{ "GET", "/dns-query?dns=", { 0 }, 400, "invalid request\n" },
		{ "GET", "/dns-query", { 0 }, 400, "invalid request\n" },
		{ "PUT", "/dns-query", { "x", 1 }, 400, "invalid request\n" },
		{ "POST", "/dns-query", { "x", 1 }, 400, "invalid request\n" },
		{ "POST", "/", { "x", 1 }, 404, "\n" },
	};
	(void)state;
	start("https://.:0", NULL, 0);
	for (size_t v = 0; v < ARRAY_LEN(both); v++) {
		struct client *c = client_http(both[v]);
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			request(c, rows[i].method, rows[i].target, rows[i].body);
			assert_true(next_response(c));
			assert_int_equal(c->status, rows[i].status);
			assert_string_equal(c->type, rows[i].text == NULL
							     ? "application/dns-message"
							     : "text/plain; charset=utf-8");
			if (rows[i].text != NULL)
				assert_memory_equal(c->body, rows[i].text, c->body_n);
			else
				assert_string_equal(c->age, "max-age=5");
		}
		client_close(c);
	}
	stop();
}

static void answers(void **state)
{
	(void)state;
	start("https://.:0", NULL, 0);
	for (size_t v = 0; v < ARRAY_LEN(both); v++) {
		struct client *c = client_http(both[v]);
		for (int i = 0; i < 100; i++) {
			post(c, i % 10 == 0 ? "b250.example." : "b1.example.");
			assert_true(next_response(c));
			assert_int_equal(c->status, 200);
			assert_int_equal(rcode(c), 0);
			assert_string_equal(c->age, "max-age=77");
			assert_true(i % 10 != 0 || c->body_n > 60000);
		}
		client_close(c);
	}
	stop();
}

static void any_order_on_one_connection(void **state)
{
	(void)state;
	start("https://.:0", NULL, 0);
	struct client *c = client_http(HTTP_2);
	uint32_t first = post(c, "w1."), second = post(c, "w2.");
	until_waiting(2);
	uint32_t third = post(c, "g.");
	while (c->n_responses < 3)
		assert_true(next_response(c));
	assert_int_equal(c->order[0], third);
	assert_int_equal(c->order[1], second);
	assert_int_equal(c->order[2], first);
	client_close(c);
	stop();
}

/* A GET as a HEADERS frame: method, scheme and authority by index, :path as a literal (index 4). Returns
 * its size. */
static size_t get_frame(uint8_t *out, uint32_t stream, const char *target)
{
	size_t n = strlen(target);
	const uint8_t head[] = { 0,    0,    (uint8_t)(n + 7), 1, 5, 0, 0, 0, 0, 0x82,
				 0x87, 0x44, (uint8_t)n };
	memcpy(out, head, sizeof(head));
	dns_put16(out + 7, (uint16_t)stream);
	memcpy(out + sizeof(head), target, n);
	memcpy(out + sizeof(head) + n,
	       "\x41\x01"
	       "a",
	       3);
	return sizeof(head) + n + 3;
}

/* The next frame's type and flags; its payload is skipped. */
static void next_frame(struct client *client, uint8_t *ret_type, uint8_t *ret_flags)
{
	static uint8_t payload[1 << 16];
	uint8_t head[9];
	assert_true(read_all(client, head, sizeof(head)));
	assert_int_equal(head[0], 0);
	assert_true(read_all(client, payload, dns_get16(head + 1)));
	*ret_type = head[3];
	*ret_flags = head[4];
}

/* More streams, with more to send, than are served at once: none is refused. */
static void large_replies_at_once(void **state)
{
	enum { N = 150, DATA = 0, RST_STREAM = 3, GOAWAY = 7 };
	/* Preface, SETTINGS and WINDOW_UPDATE: windows of 8 and 64 MB. */
	static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
				    "\0\0\6\4\0\0\0\0\0\0\4\0\x7f\xff\xff"
				    "\0\0\4\x8\0\0\0\0\0\x3\xff\0\0";
	(void)state;
	start("https://.:0", NULL, 0);
	struct client *c = client_tls("h2"), *other = client_http(HTTP_2);
	client_send(c, hello, sizeof(hello) - 1);
	for (uint32_t i = 0; i < N; i++) {
		uint8_t frame[128];
		client_send(c, frame, get_frame(frame, 2 * i + 1, W240_TARGET));
	}
	until_waiting(CONN_MAX_INFLIGHT);
	for (unsigned got = 0; got < N;) {
		uint8_t type, flags;
		post(other, "g.");
		assert_true(next_response(other));
		while (got < N && client_has_data(c)) {
			next_frame(c, &type, &flags);
			assert_true(type != RST_STREAM && type != GOAWAY);
			got += type == DATA && (flags & 1) != 0;
		}
	}
	client_close(c);
	client_close(other);
	stop();
}

/* HTTP/1.1: requests sent at once are answered one after the other, also when one has to wait. */
static void pipelined(void **state)
{
	static const char get[] =
		"GET /dns-query?dns=AAABAAABAAAAAAAAAWEBYgAAAQAB HTTP/1.1\r\nHost: a\r\n\r\n"
		"GET /dns-query?dns=AAABAAABAAAAAAAAAXcBYgAAAQAB HTTP/1.1\r\nHost: a\r\n\r\n"
		"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"
		"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
	static char got[4096];
	size_t n = 0, r;
	(void)state;
	start("https://.:0", NULL, 0);
	struct client *c = client_tls("http/1.1"), *other = client_http(HTTP_2);
	client_send(c, get, sizeof(get) - 1);
	until_waiting(1);
	post(other, "g.");
	assert_true(next_response(other));
	while ((r = client_recv(c, got + n, sizeof(got) - 1 - n)) > 0)
		n += r;
	unsigned ok = 0, not_found = 0;
	for (size_t i = 0; i + 13 < n; i++) {
		ok += memcmp(got + i, "HTTP/1.1 200 ", 13) == 0;
		not_found += memcmp(got + i, "HTTP/1.1 404 ", 13) == 0;
	}
	assert_int_equal(ok, 2);
	assert_int_equal(not_found, 2);
	client_close(c);
	client_close(other);
	stop();
}

/* A request given up while its query waits: the answer goes nowhere, the connection stays. */
static void given_up_requests(void **state)
{
	(void)state;
	start("https://.:0", NULL, 0);
	struct client *c = client_http(HTTP_2);
	uint32_t first = post(c, "w1.");
	until_waiting(1);
	http_framing_cancel(c->http, first);
	post(c, "g.");
	assert_true(next_response(c));
	assert_int_not_equal(c->stream, first);
	post(c, "a.");
	assert_true(next_response(c));
	client_close(c);
	/* And the same with the whole connection. */
	c = client_http(HTTP_2);
	post(c, "w1.");
	until_waiting(1);
	client_close(c);
	c = client_http(HTTP_1_1);
	post(c, "g.");
	assert_true(next_response(c));
	client_close(c);
	stop();
}

static void closed_by_then(struct client *c)
{
	static char buf[8192];
	while (client_recv(c, buf, sizeof(buf)) > 0)
		;
}

/* A client that asks and opens no window is cut after the write time. */
static void window_never_opens(void **state)
{
	/* Preface, SETTINGS with an initial window of 0, one GET for a big answer. */
	static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
				    "\0\0\6\4\0\0\0\0\0\0\4\0\0\0\0";
	uint64_t begin = clock_mono_ns();
	(void)state;
	start("https://.:0", &(struct block_timeouts){ .write_ns = 1 * NS_PER_S }, 0);
	struct client *c = client_tls("h2");
	client_send(c, hello, sizeof(hello) - 1);
	uint8_t frame[128];
	size_t n = get_frame(frame, 1, "/dns-query?dns=AAABAAABAAAAAAAAA2IyMAFiAAABAAE");
	client_send(c, frame, n);
	closed_by_then(c);
	assert_in_range(clock_mono_ns() - begin, 900 * NS_PER_MS, 15 * NS_PER_S);
	client_close(c);
	stop();
}

/* Requests that come byte by byte and never end are cut after the idle time. */
static void slow_requests_end(void **state)
{
	static const char slow[] = "GET /dns-query HTTP/1.1\r\nHost: a\r\nX-Long: ";
	(void)state;
	start("https://.:0",
	      &(struct block_timeouts){ .read_ns = 1 * NS_PER_S, .idle_ns = 1 * NS_PER_S }, 0);
	struct client *c = client_tls("http/1.1");
	uint64_t begin = clock_mono_ns();
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };
	client_send(c, slow, sizeof(slow) - 1);
	while (poll(&p, 1, 20) == 0) {
		client_send(c, "x", 1);
		assert_true(clock_mono_ns() - begin < 15 * NS_PER_S);
	}
	client_close(c);
	stop();
}

static void floods_end_the_connection(void **state)
{
	static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
				    "\0\0\0\4\0\0\0\0\0";
	(void)state;
	start("https://.:0", NULL, 0);
	for (int kind = 0; kind < 2; kind++) {
		struct client *c = client_tls("h2");
		client_send(c, hello, sizeof(hello) - 1);
		for (uint32_t i = 0; i < 3000; i++) {
			uint8_t b[64] = {
				0, 0, 6, 1, 5, 0, 0, 0, 0, 0x82, 0x87, 0x84, 0x41, 1, 'a'
			};
			uint8_t reset[] = { 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 8 };
			uint8_t ping[17] = { 0, 0, 8, 6 };
			dns_put32(b + 5, 2 * i + 1);
			dns_put32(reset + 5, 2 * i + 1);
			memcpy(b + 15, reset, sizeof(reset));
			if (kind == 0)
				client_send(c, b, 15 + sizeof(reset));
			else
				client_send(c, ping, sizeof(ping));
		}
		closed_by_then(c);
		client_close(c);
	}
	struct client *c = client_http(HTTP_2);
	post(c, "a.");
	assert_true(next_response(c));
	client_close(c);
	stop();
}

static void huge_headers(void **state)
{
	(void)state;
	start("https://.:0", NULL, 0);
	struct client *c = client_tls("http/1.1");
	char line[1024], got[512] = "";
	snprintf(line, sizeof(line), "GET / HTTP/1.1\r\nHost: a\r\n");
	client_send(c, line, strlen(line));
	memset(line, 'x', sizeof(line));
	memcpy(line, "X: ", 3);
	for (int i = 0; i < 20; i++)
		client_send(c, line, sizeof(line)); /* one line without end */
	size_t n = client_recv(c, got, sizeof(got) - 1);
	assert_true(n > 12);
	assert_memory_equal(got, "HTTP/1.1 431", 12);
	closed_by_then(c);
	client_close(c);
	stop();
}

static void connections_of_a_listener(void **state)
{
	(void)state;
	max_connections_wanted = 2;
	start("https://.:0", NULL, 0);
	struct client *c[3];
	for (int i = 0; i < 3; i++) {
		c[i] = client_http(HTTP_2);
		post(c[i], "a.");
		assert_true(next_response(c[i]));
	}
	assert_int_equal(srv->stream.n_conns, 2);
	closed_by_then(c[0]);
	post(c[1], "a.");
	assert_true(next_response(c[1]));
	for (int i = 0; i < 3; i++)
		client_close(c[i]);
	stop();
	max_connections_wanted = 0;
}

/* The listener goes: what waits is answered, the client is told to open another connection. */
static void listener_given_up_still_replies(void **state)
{
	struct srcerr err = { 0 };
	(void)state;
	start("tls://.:0 https://.:0", NULL, 0);
	for (struct listener *l = srv->listeners; l != NULL; l = l->next) {
		if (l->transport == TRANSPORT_HTTPS)
			port = net_addr_port(&l->addr);
	}
	struct client *c = client_http(HTTP_2), *one = client_http(HTTP_1_1);
	uint32_t first = post(c, "w.");
	post(one, "w.");
	until_waiting(2);
	assert_int_equal(server_reload(srv, corefile("tls://.:0 {\n t\n}\n"), &err), 0);
	for (struct listener *l = srv->listeners; l != NULL; l = l->next) {
		if (l->transport == TRANSPORT_TLS)
			port = net_addr_port(&l->addr);
	}
	struct client *other = client_tls("dot");
	ask(other, 1, "g.");
	assert_int_equal(next_id(other), 1);
	assert_true(next_response(c));
	assert_int_equal(c->stream, first);
	assert_int_equal(c->status, 200);
	assert_true(next_response(one));
	uint32_t stream;
	struct http_message m = { .method = SLICE("GET"),
				  .target = SLICE("/"),
				  .authority = SLICE("a") };
	assert_int_equal(http_framing_request(c->http, &m, NULL, &stream), ERR_CLOSED);
	closed_by_then(c);
	closed_by_then(one);
	client_close(c);
	client_close(one);
	client_close(other);
	stop();
}

/* Without certificates it is plain HTTP/1.1, for use behind a proxy. */
static void without_tls(void **state)
{
	(void)state;
	tls_wanted = false;
	start("https://.:0", NULL, 0);
	struct client *c = client_http(HTTP_1_1);
	post(c, "b1.");
	assert_true(next_response(c));
	assert_int_equal(c->status, 200);
	client_close(c);
	stop();
	tls_wanted = true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_codes),
		cmocka_unit_test(answers),
		cmocka_unit_test(any_order_on_one_connection),
		cmocka_unit_test(large_replies_at_once),
		cmocka_unit_test(pipelined),
		cmocka_unit_test(given_up_requests),
		cmocka_unit_test(window_never_opens),
		cmocka_unit_test(slow_requests_end),
		cmocka_unit_test(floods_end_the_connection),
		cmocka_unit_test(huge_headers),
		cmocka_unit_test(connections_of_a_listener),
		cmocka_unit_test(listener_given_up_still_replies),
		cmocka_unit_test(without_tls),
	};
	return cmocka_run_group_tests(tests, make_certs, remove_certs);
}
