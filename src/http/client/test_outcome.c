/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults: each ends in time, with a code, a phase and a sentence that names the host. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/client/test_rig.h"

struct fault {
	struct fakeapi_reply reply;
	int result;
	enum http_phase phase;
	bool reset;
	const char *says;
};

static void faults_of_servers(void **state)
{
	static const struct fault rows[] = {
		{ { .hang_first = true },
		  ERR_TIMEOUT,
		  HTTP_WAIT,
		  false,
		  ": waiting for the reply: no data received for 500 ms; the server has the "
		  "request "
		  "and "
		  "may still act on it" },
		{ { .cut_at = 20, .hang = true },
		  ERR_TIMEOUT,
		  HTTP_RECEIVE,
		  false,
		  ": receiving the reply: no data received for 500 ms" },
		{ { .cut_at = 45, .hang = true, .body = "long enough" },
		  ERR_TIMEOUT,
		  HTTP_RECEIVE,
		  false,
		  "receiving the reply" },
		{ { .raw = "", .close = true },
		  ERR_CLOSED,
		  HTTP_WAIT,
		  true,
		  ": waiting for the reply: Empty reply from server" },
		{ { .cut_at = 1, .reset = true },
		  ERR_CLOSED,
		  HTTP_WAIT,
		  true,
		  "Connection reset by peer" },
		{ { .cut_at = 45, .close = true, .body = "long enough" },
		  ERR_CLOSED,
		  HTTP_RECEIVE,
		  true,
		  ": receiving the reply: transfer closed with" },
		{ { .raw = "SSH-2.0-x\r\n", .close = true },
		  ERR_PARSE,
		  HTTP_WAIT,
		  false,
		  "is this port HTTP's?" },
		{ { .status = 500, .body = "broken" }, 0, HTTP_RECEIVE, false, "" },
	};
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_call call = {
			.method = "POST",
			.body = SLICE("{}"),
			.stall_ns = rows[i].result == ERR_TIMEOUT ? 500 * NS_PER_MS : 0,
		};
		int r = ask_once(&rig, &call, &rows[i].reply);
		if (r != rows[i].result || call.reset != rows[i].reset)
			fail_msg("row %zu: %d %s", i, r, call.error);
		assert_int_equal(call.phase, rows[i].phase);
		assert_has(call.error, rows[i].says);
		assert_has(call.error, r < 0 ? scripted_http_url(rig.script) : "");
		http_call_release(&call);
	}
	/* None was repeated: a server may have acted on each. */
	assert_int_equal(scripted_http_calls(rig.script), ARRAY_LEN(rows));
	rig_down(&rig);
}

/* libcurl itself has a limit for one line, below ours for all of them. */
static void one_long_header_line(void **state)
{
	static const size_t sizes[] = { 101 << 10, 5 << 20 };
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		CLEANUP(strbuf_done) struct strbuf raw = STRBUF_INIT;
		struct http_call call = { .method = "GET" };
		strbuf_adds(&raw, "HTTP/1.1 200 OK\r\nX-Long: ");
		while (raw.n < sizes[i])
			strbuf_adds(&raw, "0123456789abcdef0123456789abcdef");
		strbuf_adds(&raw, "\r\nContent-Length: 0\r\n\r\n");
		int r = ask_once(&rig, &call,
				 &(struct fakeapi_reply){ .raw = raw.s, .close = true });
		if (r != ERR_LIMIT || call.reset)
			fail_msg("%zu bytes: %d %s", sizes[i], r, call.error);
		assert_has(call.error, ": receiving the reply: a header line of the reply is "
				       "longer than the 102400 bytes that are accepted");
		http_call_release(&call);
	}
	rig_down(&rig);
}

/* A socket on a free port; `listens`: whose queue accepts connections that nobody will serve. */
static int open_port(bool listens, uint16_t *ret_port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t n = sizeof(addr);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (listens)
		assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &n), 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

static void faults_before_the_request(void **state)
{
	uint16_t closed_port, silent_port;
	int closed = open_port(false, &closed_port), silent = open_port(true, &silent_port);
	char urls[4][64];
	snprintf(urls[0], sizeof(urls[0]), "http://127.0.0.1:%u/", closed_port);
	snprintf(urls[1], sizeof(urls[1]), "https://127.0.0.1:%u/", silent_port);
	snprintf(urls[2], sizeof(urls[2]), "http://127.0.0.1:%u/", silent_port);
	snprintf(urls[3], sizeof(urls[3]), "http://nowhere.invalid/");
	const struct {
		int result;
		enum http_phase phase;
		const char *says;
	} rows[ARRAY_LEN(urls)] = {
		{ ERR_CLOSED, HTTP_CONNECT, "check that the server runs" },
		{ ERR_TIMEOUT, HTTP_TLS, ": TLS handshake: " },
		{ ERR_TIMEOUT, HTTP_WAIT, "not done within 2000 ms" },
		{ ERR_CLOSED, HTTP_RESOLVE,
		  "http://nowhere.invalid:80: resolving the host name: " },
	};
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		struct http_call call = { .method = "GET",
					  .url = urls[i],
					  .proxy = "",
					  .connect_ns = NS_PER_S,
					  .timeout_ns = i == 3 ? 60 * NS_PER_S : 2 * NS_PER_S };
		uint64_t began = clock_mono_ns();
		int r = run_call(&rig, &call);
		if (r != rows[i].result || call.phase != rows[i].phase)
			fail_msg("%s: %d, phase %d: %s", urls[i], r, (int)call.phase, call.error);
		assert_has(call.error, rows[i].says);
		assert_true(clock_mono_ns() - began < 20 * NS_PER_S);
		http_call_release(&call);
	}
	rig_down(&rig);
	close(closed);
	close(silent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_of_servers),
		cmocka_unit_test(one_long_header_line),
		cmocka_unit_test(faults_before_the_request),
	};
	return RUN_BOTH(tests);
}
