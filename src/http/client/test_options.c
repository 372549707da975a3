/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests and replies: methods, headers, bodies in both directions, limits, proxies, TLS. */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/client/memfile.h"
#include "http/client/test_rig.h"
#include "testing/testcert.h"

static void headers_both_ways(void **state)
{
	static const struct http_header headers[] = {
		{ { "X-API-Key", 9 }, { "s3cret", 6 } },
		{ { "X-Empty", 7 }, { NULL, 0 } },
		{ { "User-Agent", 10 }, { "other", 5 } },
	};
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	struct http_call call = { .headers = headers, .n_headers = ARRAY_LEN(headers) };
	assert_int_equal(ask_once(&rig, &call,
				  &(struct fakeapi_reply){
					  .status = 201,
					  .headers = "ETag: \"a\"\r\nX-One:1\r\nx-one:  2 \r\n"
						     "X-None:\r\n",
					  .body = "made" }),
			 0);
	const char *request = scripted_http_call(rig.script, 0);
	assert_has(request, "\r\nX-API-Key: s3cret\r\n");
	assert_has(request, "\r\nX-Empty:\r\n");
	assert_has(request, "\r\nUser-Agent: other\r\n");
	assert_int_equal(call.status, 201);
	assert_int_equal(call.phase, HTTP_RECEIVE);
	assert_string_equal(call.reply.s, "made");
	assert_true(slice_is(http_call_header(&call, "etag", 0), "\"a\""));
	assert_true(slice_is(http_call_header(&call, "X-One", 0), "1"));
	assert_true(slice_is(http_call_header(&call, "X-One", 1), "2"));
	assert_null(http_call_header(&call, "X-One", 2).p);
	assert_non_null(http_call_header(&call, "X-None", 0).p);
	assert_null(http_call_header(&call, "X-Other", 0).p);
	assert_false(call.has_retry_after);
	http_call_release(&call);
	rig_down(&rig);
}

/* A line break in a header would be another header; nothing is sent. */
static void headers_that_cannot_be(void **state)
{
	const struct {
		struct http_header header;
		const char *says;
	} rows[] = {
		{ { SLICE("X"), SLICE("a\r\nHost: b") },
		  "the value of the header 'X' has a line break" },
		{ { SLICE("X"), SLICE("a\nb") }, "line break" },
		{ { SLICE("X\r\nY"), SLICE("a") }, "is not a name of a header" },
		{ { SLICE("X:"), SLICE("a") }, "'X:' is not a name of a header" },
		{ { SLICE(""), SLICE("a") }, "'' is not a name of a header" },
	};
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_call call = { .method = "GET",
					  .url = url_of(&rig, "/x"),
					  .headers = &rows[i].header,
					  .n_headers = 1 };
		assert_int_equal(run_call(&rig, &call), ERR_CONFIG);
		assert_has(call.error, rows[i].says);
		assert_has(call.error, scripted_http_url(rig.script));
		http_call_release(&call);
	}
	struct http_call call = { .method = "GET", .url = "http://user:s3cret@127.0.0.1/" };
	assert_int_equal(run_call(&rig, &call), ERR_CONFIG);
	assert_has(call.error, "user or password");
	assert_null(strstr(call.error, "s3cret"));
	http_call_release(&call);
	assert_int_equal(scripted_http_connections(rig.script), 0);
	rig_down(&rig);
}

static void methods(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	struct http_call head = { .method = "HEAD" };
	assert_int_equal(ask_once(&rig, &head,
				  &(struct fakeapi_reply){
					  .raw = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" }),
			 0);
	assert_int_equal(head.reply.n, 0);
	http_call_release(&head);
	struct http_call post = { .method = "POST", .body = SLICE("") };
	assert_int_equal(ask_once(&rig, &post,
				  &(struct fakeapi_reply){ .status = 204,
							   .raw = "HTTP/1.1 204 None\r\n\r\n" }),
			 0);
	assert_has(scripted_http_call(rig.script, 1), "\r\nContent-Length: 0\r\n");
	http_call_release(&post);
	struct http_call patch = { .method = "PATCH", .body = SLICE("{}") };
	assert_int_equal(ask_once(&rig, &patch, &(struct fakeapi_reply){ 0 }), 0);
	assert_has(scripted_http_call(rig.script, 2), "\r\n\r\n{}");
	assert_null(strstr(scripted_http_call(rig.script, 2), "Expect"));
	http_call_release(&patch);
	struct http_call delete = { .method = "DELETE" };
	assert_int_equal(ask_once(&rig, &delete, &(struct fakeapi_reply){ 0 }), 0);
	http_call_release(&delete);
	assert_int_equal(scripted_http_connections(rig.script), 1);
	rig_down(&rig);
}

/* 1xx heads come first, trailers last; neither is the reply's. */
static void several_heads(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	struct http_call call = { 0 };
	assert_int_equal(
		ask_once(&rig, &call,
			 &(struct fakeapi_reply){
				 .raw = "HTTP/1.1 103 Early\r\nX: early\r\nRetry-After: 9\r\n\r\n"
					"HTTP/1.1 200 OK\r\nX: late\r\nTransfer-Encoding: "
					"chunked\r\n\r\n2\r\nab\r\n0\r\nX: trailer\r\n\r\n" }),
		0);
	assert_true(slice_is(http_call_header(&call, "X", 0), "late"));
	assert_null(http_call_header(&call, "X", 1).p);
	assert_false(call.has_retry_after);
	assert_string_equal(call.reply.s, "ab");
	http_call_release(&call);
	rig_down(&rig);
}

/* ---- streams ---- */

struct pieces {
	uint64_t left;	 /* to send */
	ssize_t at_once; /* or a code */
	struct strbuf got;
	int code; /* of the reader */
};

static ssize_t send_piece(struct http_call *call, char *buf, size_t size)
{
	struct pieces *pieces = call->ctx;
	size_t n = MIN(size, (size_t)MIN(pieces->left, (uint64_t)pieces->at_once));
	if (pieces->at_once < 0)
		return pieces->at_once;
	memset(buf, 'b', n);
	pieces->left -= n;
	return (ssize_t)n;
}

static int take_piece(struct http_call *call, struct slice bytes)
{
	struct pieces *pieces = call->ctx;
	assert_int_equal(call->status, 200);
	strbuf_add_slice(&pieces->got, bytes);
	return pieces->code;
}

static void streams_up(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	struct pieces pieces = { .left = 7, .at_once = 3 };
	struct http_call call = { .method = "PUT", .read_body = send_piece, .ctx = &pieces };
	assert_int_equal(ask_once(&rig, &call, &(struct fakeapi_reply){ 0 }), 0);
	assert_has(scripted_http_call(rig.script, 0), "\r\nTransfer-Encoding: chunked\r\n");
	assert_has(scripted_http_call(rig.script, 0), "3\r\nbbb\r\n3\r\nbbb\r\n1\r\nb\r\n0\r\n");
	http_call_release(&call);
	pieces.left = 40000;
	pieces.at_once = 30000;
	call.read_bytes = 33333; /* fewer than there are */
	assert_int_equal(ask_once(&rig, &call, &(struct fakeapi_reply){ 0 }), 0);
	assert_has(scripted_http_call(rig.script, 1), "\r\nContent-Length: 33333\r\n");
	http_call_release(&call);
	/* Fewer than promised, and a failing reader: the request is not completed. */
	call.timeout_ns = 10 * NS_PER_S;
	call.url = url_of(&rig, "/x");
	pieces.left = 5;
	assert_int_equal(run_call(&rig, &call), ERR_CONFIG);
	assert_has(call.error, "the body ended after 5 of 33333 bytes");
	http_call_release(&call);
	pieces.at_once = ERR_GONE;
	assert_int_equal(run_call(&rig, &call), ERR_GONE);
	http_call_release(&call);
	assert_int_equal(scripted_http_calls(rig.script), 2);
	rig_down(&rig);
}

static void streams_down(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	struct pieces pieces = { .got = STRBUF_INIT };
	struct http_call call = { .data = take_piece, .ctx = &pieces };
	assert_int_equal(
		ask_once(&rig, &call, &(struct fakeapi_reply){ .body = "0123", .repeat = 50000 }),
		0);
	assert_int_equal(pieces.got.n, 200000);
	assert_int_equal(call.reply.n, 0);
	http_call_release(&call);
	pieces.code = ERR_GONE;
	assert_int_equal(ask_once(&rig, &call, &(struct fakeapi_reply){ .body = "0123" }),
			 ERR_GONE);
	http_call_release(&call);
	strbuf_done(&pieces.got);
	rig_down(&rig);
}

static void limits(void **state)
{
	struct rig rig;
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	(void)state;
	rig_up(&rig, NULL);
	struct http_call call = { .reply_max = 100 };
	assert_int_equal(ask_once(&rig, &call,
				  &(struct fakeapi_reply){ .body = "0123456789", .repeat = 10 }),
			 0);
	assert_int_equal(call.reply.n, 100);
	http_call_release(&call);
	assert_int_equal(ask_once(&rig, &call,
				  &(struct fakeapi_reply){ .body = "01234567890", .repeat = 10 }),
			 ERR_LIMIT);
	assert_has(call.error, "the reply is longer than the 100 bytes that are accepted");
	http_call_release(&call);
	/* More headers than are kept, and more than are read. */
	strbuf_adds(&head, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i <= HTTP_REPLY_HEADERS_MAX; i++)
		strbuf_addf(&head, "X-%d: v\r\n", i);
	strbuf_adds(&head, "Content-Length: 2\r\n\r\n{}");
	assert_int_equal(ask_once(&rig, &call, &(struct fakeapi_reply){ .raw = head.s }), 0);
	assert_non_null(http_call_header(&call, "X-255", 0).p);
	assert_null(http_call_header(&call, "X-256", 0).p);
	http_call_release(&call);
	strbuf_reset(&head);
	strbuf_adds(&head, "HTTP/1.1 200 OK\r\n");
	while (head.n <= HTTP_REPLY_HEADER_BYTES)
		strbuf_addf(&head, "X-Long: %0900d\r\n", 1);
	strbuf_adds(&head, "\r\n");
	assert_int_equal(ask_once(&rig, &call, &(struct fakeapi_reply){ .raw = head.s }),
			 ERR_LIMIT);
	assert_has(call.error, "the headers of the reply are longer than");
	http_call_release(&call);
	rig_down(&rig);
}

static void retry_after(void **state)
{
	static const struct {
		const char *headers;
		bool has;
		unsigned s;
	} rows[] = {
		{ "Retry-After: 7\r\n", true, 7 },
		{ "Retry-After: 0\r\n", true, 0 },
		{ "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", true, 0 },
		{ "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", true, 1 << 20 },
		{ "Retry-After: soon\r\n", false, 0 },
		{ "", false, 0 },
	};
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_call call = { 0 };
		assert_int_equal(ask_once(&rig, &call,
					  &(struct fakeapi_reply){ .status = 429,
								   .headers = rows[i].headers }),
				 0);
		assert_int_equal(call.status, 429);
		assert_int_equal(call.has_retry_after, rows[i].has);
		assert_int_equal(call.retry_after_s, rows[i].s);
		http_call_release(&call);
	}
	rig_down(&rig);
}

/* ---- the way there ---- */

static int ask_by_proxy(struct rig *rig, const char *url, const char *proxy, const char *line)
{
	if (line != NULL)
		scripted_http_expect(rig->script, &(struct scripted_call){ .line = line });
	struct http_call call = { .method = "GET",
				  .url = url,
				  .proxy = proxy,
				  .connect_ns = NS_PER_S,
				  .timeout_ns = 5 * NS_PER_S };
	int r = run_call(rig, &call);
	http_call_release(&call);
	return r;
}

static void proxies(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	const char *server = scripted_http_url(rig.script), *far = "http://far.invalid/x";
	const char *whole = "GET http://far.invalid/x";
	assert_int_equal(ask_by_proxy(&rig, far, server, whole), 0);
	setenv("http_proxy", server, 1);
	assert_int_equal(ask_by_proxy(&rig, far, NULL, whole), 0);
	setenv("no_proxy", "far.invalid", 1);
	assert_int_equal(ask_by_proxy(&rig, far, server, whole),
			 0); /* the call's own counts more */
	assert_int_equal(ask_by_proxy(&rig, far, NULL, NULL), ERR_CLOSED);
	unsetenv("no_proxy");
	assert_int_equal(ask_by_proxy(&rig, far, "", NULL), ERR_CLOSED);
	/* That of the environment is not for this machine itself. */
	setenv("http_proxy", "http://127.0.0.1:9", 1);
	assert_int_equal(ask_by_proxy(&rig, url_of(&rig, "/x"), NULL, "GET /x"), 0);
	unsetenv("http_proxy");
	rig_down(&rig);
}

struct certs {
	char dir[64];
	struct testcert *maker;
	char paths[4][96]; /* of the server's certificate and key, the CA, another certificate */
};

static void certs_up(struct certs *certs)
{
	static const char *const names[] = { "server.pem", "server.key", "ca.pem", "client.pem" };
	snprintf(certs->dir, sizeof(certs->dir), "/tmp/fairlead-http-XXXXXX");
	assert_non_null(mkdtemp(certs->dir));
	certs->maker = testcert_new(certs->dir);
	testcert_make(certs->maker, "server", "127.0.0.1");
	testcert_make(certs->maker, "client", "client");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		snprintf(certs->paths[i], sizeof(certs->paths[i]), "%s/%s", certs->dir, names[i]);
}

static void certs_down(struct certs *certs)
{
	char command[96];
	snprintf(command, sizeof(command), "rm -r %s", certs->dir);
	testcert_free(certs->maker);
	assert_int_equal(system(command), 0);
}

static char *read_all(const char *path)
{
	char buf[8192];
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	size_t n = fread(buf, 1, sizeof(buf), file);
	fclose(file);
	return xstrndup(buf, n);
}

static void authorities(void **state)
{
	struct certs certs;
	struct rig rig;
	struct http_memfile ca = HTTP_MEMFILE_NONE;
	(void)state;
	certs_up(&certs);
	rig_up(&rig, &(struct fakeapi_tls){ certs.paths[0], certs.paths[1], NULL });
	CLEANUP(freep) char *pem = read_all(certs.paths[2]);
	assert_int_equal(http_memfile_make(slice_of(pem), &ca), 0);
	const struct {
		struct http_client_tls tls;
		const char *says; /* NULL: fine */
	} rows[] = {
		{ { .ca = certs.paths[2] }, NULL },
		{ { .ca = ca.path }, NULL },
		{ { .insecure = true }, NULL },
		{ { 0 },
		  "TLS handshake: its certificate is not trusted: it has expired, or was not "
		  "signed by a CA of this system" },
		{ { .ca = certs.paths[3] }, "signed by the configured certificate-authority" },
		{ { .ca = "/nonexistent/ca" }, "TLS handshake" },
	};
	scripted_http_expect(rig.script, &(struct scripted_call){ .line = "GET /x", .times = 3 });
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_call call = { .method = "GET",
					  .url = url_of(&rig, "/x"),
					  .tls = &rows[i].tls };
		int r = run_call(&rig, &call);
		assert_int_equal(r, rows[i].says != NULL ? ERR_TLS : 0);
		assert_has(call.error, rows[i].says != NULL ? rows[i].says : "");
		if (r < 0)
			assert_int_equal(call.phase, HTTP_TLS);
		http_call_release(&call);
	}
	http_memfile_done(&ca);
	rig_down(&rig);
	certs_down(&certs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_both_ways),
		cmocka_unit_test(headers_that_cannot_be),
		cmocka_unit_test(methods),
		cmocka_unit_test(several_heads),
		cmocka_unit_test(streams_up),
		cmocka_unit_test(streams_down),
		cmocka_unit_test(limits),
		cmocka_unit_test(retry_after),
		cmocka_unit_test(proxies),
		cmocka_unit_test(authorities),
	};
	return RUN_BOTH(tests);
}
