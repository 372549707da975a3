/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies in one piece and byte by byte, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "kube/client/local_reply_priv.h"

static const struct {
	const char *text;
	int code;   /* of the last feed */
	int status; /* 0: the head does not end */
	const char *headers, *body;
	bool whole, close;
} rows[] = {
	{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b \r\n\r\n{}", 0, 200,
	  "Content-Length:2\nA:b\n", "{}", true, false },
	{ "HTTP/1.1 201 Created\r\ncontent-length: 2\r\nConnection: Close\r\n\r\n{", 0, 201,
	  "content-length:2\nConnection:Close\n", "{", false, true },
	{ "HTTP/1.1 204 \r\n\r\n", 0, 204, "", "", true, false },
	{ "HTTP/1.1 429\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n", 0, 429,
	  "Content-Length:0\nRetry-After:1\n", "", true, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 0, 200,
	  "Content-Length:1\nContent-Length:1\n", "x", true, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", 0, 0, "", "", false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", ERR_PARSE, 0, "",
	  "", false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", ERR_PARSE, 0, "", "", false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", ERR_PARSE, 0, "", "",
	  false, false },
	{ "HTTP/1.1 200 OK\r\n\r\n{}", ERR_PARSE, 0, "", "", false, false },
#define CHUNKED		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CHUNKED_HEADERS "Transfer-Encoding:chunked\n"
	{ CHUNKED "0\r\n\r\n", 0, 200, CHUNKED_HEADERS, "", true, false },
	{ CHUNKED "3\r\nabc\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\nT: v\r\n\r\n", 0, 200,
	  CHUNKED_HEADERS, "abc0123456789", true, false },
	{ CHUNKED "3\r\nab", 0, 200, CHUNKED_HEADERS, "ab", false, false },
	{ CHUNKED "3\r\nabc\r\n", 0, 200, CHUNKED_HEADERS, "abc", false, false },
	{ CHUNKED "3\r\nabcd\r\n", ERR_PARSE, 200, CHUNKED_HEADERS, "abc", false, false },
	{ CHUNKED "3\nabc", ERR_PARSE, 200, CHUNKED_HEADERS, "", false, false },
	{ CHUNKED "\r\n", ERR_PARSE, 200, CHUNKED_HEADERS, "", false, false },
	{ CHUNKED "-1\r\n", ERR_PARSE, 200, CHUNKED_HEADERS, "", false, false },
	{ CHUNKED "1000000000000000\r\n", ERR_PARSE, 200, CHUNKED_HEADERS, "", false, false },
	{ CHUNKED "0\r\n\r\nmore", ERR_PARSE, 200, CHUNKED_HEADERS, "", true, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", ERR_PARSE, 0, "", "", false,
	  false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
	  ERR_PARSE, 0, "", "", false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nno colon\r\n\r\n", ERR_PARSE, 0, "", "", false,
	  false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n: x\r\n\r\n", ERR_PARSE, 0, "", "", false,
	  false },
	{ "HTTP/1.1 100 Continue\r\n\r\n", ERR_PARSE, 0, "", "", false, false },
	{ "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", ERR_PARSE, 0, "", "", false, false },
	{ "HTTP/1.1 20\r\n\r\n", ERR_PARSE, 0, "", "", false, false },
	{ "HTTP/1.0 200 OK\r\n\r\n", ERR_PARSE, 0, "", "", false, false },
	{ "SSH-2.0-x\r\n\r\n", ERR_PARSE, 0, "", "", false, false },
	{ "\r\n\r\n", ERR_PARSE, 0, "", "", false, false },
};

/* As a caller does: until nothing is left. */
static int feed_all(struct kube_local_reply *reply, struct slice bytes, struct strbuf *headers,
		    struct strbuf *got)
{
	while (bytes.n > 0) {
		struct slice body;
		int r = kube_local_reply_is_whole(reply)
				? ERR_PARSE
				: kube_local_reply_feed(reply, &bytes, headers, &body);
		if (r < 0)
			return r;
		strbuf_add_slice(got, body);
	}
	return 0;
}

static void check_row(size_t row, size_t piece)
{
	struct strbuf headers = STRBUF_INIT, got = STRBUF_INIT;
	struct kube_local_reply reply;
	const size_t len = strlen(rows[row].text);
	int r = 0;
	kube_local_reply_init(&reply);
	for (size_t at = 0; at < len && r == 0; at += piece) {
		r = feed_all(&reply, (struct slice){ rows[row].text + at, MIN(piece, len - at) },
			     &headers, &got);
	}
	if (r != rows[row].code)
		fail_msg("row %zu in pieces of %zu: %d", row, piece, r);
	assert_int_equal(kube_local_reply_is_whole(&reply), rows[row].whole);
	if (rows[row].status != 0) {
		assert_int_equal(reply.status, rows[row].status);
		assert_int_equal(reply.close, rows[row].close);
		assert_string_equal(headers.s, rows[row].headers);
	}
	assert_string_equal(got.s, rows[row].body);
	kube_local_reply_done(&reply);
	strbuf_done(&headers);
	strbuf_done(&got);
}

static void replies(void **state)
{
	(void)state;
	for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
		check_row(row, SIZE_MAX);
		check_row(row, 1);
		check_row(row, 3);
	}
}

/* Behind the end of a reply nothing may follow: nothing was asked. It is left to the caller. */
static void too_much(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy";
	struct kube_local_reply reply;
	struct slice bytes = slice_of(text), body;
	(void)state;
	kube_local_reply_init(&reply);
	assert_int_equal(kube_local_reply_feed(&reply, &bytes, NULL, &body), 0);
	assert_true(slice_is(body, "x") && slice_is(bytes, "y"));
	assert_true(kube_local_reply_is_whole(&reply));
	kube_local_reply_done(&reply);
}

/* Lines of chunks and trailers that never end. */
static void long_lines(void **state)
{
	static const char *const starts[] = { CHUNKED "1;", CHUNKED "0\r\nT: " };
	struct strbuf filler = STRBUF_INIT, got = STRBUF_INIT;
	(void)state;
	for (size_t i = 0; i < KUBE_LOCAL_HEAD_BYTES; i++)
		strbuf_addc(&filler, 'x');
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		struct kube_local_reply reply;
		kube_local_reply_init(&reply);
		assert_int_equal(feed_all(&reply, slice_of(starts[i]), NULL, &got), 0);
		assert_int_equal(feed_all(&reply, strbuf_slice(&filler), NULL, &got), ERR_LIMIT);
		kube_local_reply_done(&reply);
	}
	strbuf_done(&filler);
	strbuf_done(&got);
}

static void limits(void **state)
{
	struct strbuf text = STRBUF_INIT, headers = STRBUF_INIT, got = STRBUF_INIT;
	struct kube_local_reply reply;
	size_t lines = 0;
	(void)state;
	strbuf_adds(&text, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
	while (text.n < KUBE_LOCAL_HEAD_BYTES - 8)
		strbuf_adds(&text, "a: b\r\n");
	strbuf_adds(&text, "\r\n");
	assert_true(text.n <= KUBE_LOCAL_HEAD_BYTES);
	kube_local_reply_init(&reply);
	assert_int_equal(feed_all(&reply, strbuf_slice(&text), &headers, &got), 0);
	assert_true(kube_local_reply_is_whole(&reply));
	for (size_t i = 0; i < headers.n; i++)
		lines += headers.s[i] == '\n';
	assert_int_equal(lines, KUBE_LOCAL_HEADERS_MAX);
	kube_local_reply_done(&reply);
	text.n -= 2;
	strbuf_adds(&text, "more: than is accepted\r\n");
	kube_local_reply_init(&reply);
	assert_int_equal(feed_all(&reply, strbuf_slice(&text), NULL, &got), ERR_LIMIT);
	kube_local_reply_done(&reply);
	strbuf_done(&headers);
	strbuf_done(&text);
	strbuf_done(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replies),
		cmocka_unit_test(too_much),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
