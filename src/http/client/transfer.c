/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libcurl reports while a call runs: phases, the reply, and its wish for more of the body. */
#include "http/client/transfer_priv.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/client/client_priv.h"
#include "http/client/retry_after_priv.h"

enum {
	KEEPALIVE_IDLE_S = 30,
	KEEPALIVE_INTERVAL_S = 10,
	USER_TIMEOUT_MS = 45000,      /* a dead network ends a connection after this */
	TURN_MS = 10,		      /* of the loop: then long replies wait for its next turn */
	SHORT_REPLY_BYTES = 64 << 10, /* never wait */
	AT_ONCE_BYTES = 16 << 10, /* what fits into one TLS record, and into any socket's buffer */
};

static void enter_phase(struct http_transfer *transfer, enum http_phase phase)
{
	transfer->call->phase = phase;
	transfer->heard_ns = clock_mono_ns();
}

static int on_resolve(void *resolver, void *reserved, void *ctx)
{
	(void)resolver;
	(void)reserved;
	enter_phase(ctx, HTTP_RESOLVE);
	return 0;
}

/* libcurl's own sockets would be inherited by programs that this one starts. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *sockaddr)
{
	int idle = KEEPALIVE_IDLE_S, every = KEEPALIVE_INTERVAL_S, on = 1;
	unsigned limit = USER_TIMEOUT_MS;
	struct http_transfer *transfer = ctx;
	(void)purpose;
	enter_phase(transfer, HTTP_CONNECT);
	int fd = socket(sockaddr->family, sockaddr->socktype | SOCK_CLOEXEC, sockaddr->protocol);
	if (fd < 0)
		return CURL_SOCKET_BAD;
	/* All are for peers that vanish; without one of them only that takes longer to see. */
	IGNORE(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)));
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every)));
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit)));
	transfer->socket = fd;
	return fd;
}

bool http_transfer_sends_at_once(const struct http_transfer *transfer)
{
	const struct http_call *call = transfer->call;
	return call->body.p != NULL && call->read_body == NULL && call->body.n <= AT_ONCE_BYTES;
}

/* libcurl repeats a request when a kept connection turns out to be closed, although it may have had all
 * of the body: the server could have acted on it. */
static int refuse_repetition(struct http_transfer *transfer)
{
	snprintf(transfer->reason, sizeof(transfer->reason),
		 "the connection ended while the request was sent");
	transfer->callback_error = ERR_CLOSED;
	transfer->call->reset = true;
	return CURL_PREREQFUNC_ABORT;
}

/* The connection stands, the request goes out next. */
static int on_connected(void *ctx, char *peer_ip, char *own_ip, int peer_port, int own_port)
{
	struct http_transfer *transfer = ctx;
	const struct http_call *call = transfer->call;
	(void)peer_ip;
	(void)own_ip;
	(void)peer_port;
	(void)own_port;
	const bool at_once = http_transfer_sends_at_once(transfer);
	if (at_once && transfer->requested)
		return refuse_repetition(transfer);
	transfer->requested = true;
	bool follows = !at_once && (call->body.n != 0 || call->read_body != NULL);
	enter_phase(transfer, follows ? HTTP_SEND : HTTP_WAIT);
	return CURL_PREREQFUNC_OK;
}

static void take_header(struct http_transfer *transfer, struct slice line)
{
	struct http_call *call = transfer->call;
	ptrdiff_t colon = slice_find(line, ':');
	if (colon <= 0 || transfer->n_headers++ >= HTTP_REPLY_HEADERS_MAX)
		return;
	struct slice name = { line.p, (size_t)colon };
	struct slice value = slice_trim(slice_from(line, (size_t)colon + 1));
	strbuf_add_slice(&call->reply_headers, name);
	strbuf_addc(&call->reply_headers, ':');
	strbuf_add_slice(&call->reply_headers, value);
	strbuf_addc(&call->reply_headers, '\n');
	if (slice_eq_nocase(name, SLICE("Retry-After")))
		call->has_retry_after = http_retry_after_parse(value, clock_wall_ns() / NS_PER_S,
							       &call->retry_after_s) == 0;
}

/* The blank line: the status is known. 1xx is followed by another head. */
static void end_head(struct http_transfer *transfer)
{
	struct http_call *call = transfer->call;
	long code = 0;
	if (transfer->lib->easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &code) !=
		    CURLE_OK ||
	    code < 200) {
		strbuf_reset(&call->reply_headers);
		transfer->n_headers = 0;
		call->has_retry_after = false;
		return;
	}
	call->status = (int)code;
	transfer->head_done = true;
}

static int refuse_reply(struct http_transfer *transfer, int code, const char *what, size_t limit)
{
	transfer->callback_error = code;
	snprintf(transfer->reason, sizeof(transfer->reason),
		 "%s longer than the %zu bytes that are accepted", what, limit);
	return 0; /* fewer bytes than libcurl gave: it ends the transfer */
}

static size_t on_header(char *pos, size_t size, size_t count, void *ctx)
{
	struct http_transfer *transfer = ctx;
	struct slice line = slice_trim((struct slice){ pos, size * count });
	enter_phase(transfer, HTTP_RECEIVE);
	transfer->head_bytes += size * count;
	if (transfer->head_bytes > HTTP_REPLY_HEADER_BYTES)
		return (size_t)refuse_reply(transfer, ERR_LIMIT, "the headers of the reply are",
					    HTTP_REPLY_HEADER_BYTES);
	if (transfer->head_done)
		return size * count;
	if (line.n == 0)
		end_head(transfer);
	else
		take_header(transfer, line);
	return size * count;
}

bool http_transfer_is_redirected(const struct http_transfer *transfer)
{
	const struct http_call *call = transfer->call;
	return call->redirects != HTTP_REDIRECTS_PASS && call->status >= 300 &&
	       call->status <= 399 && http_call_header(call, "Location", 0).p != NULL;
}

/* libcurl reads on while bytes come, and `data` may be slow: other calls of the loop would wait for the end of
 * a long reply. It goes on in the next turn, by one piece at least. */
static bool waits_for_turn(struct http_transfer *transfer)
{
	struct loop *loop = transfer->client->loop;
	bool is_due = transfer->was_resumed || transfer->got_bytes < SHORT_REPLY_BYTES;
	transfer->was_resumed = false;
	if (loop == NULL || is_due || clock_mono_ns() - loop_now(loop) < TURN_MS * NS_PER_MS)
		return false;
	loop_timer_set(loop, &transfer->resume, loop_now(loop));
	return true;
}

static size_t on_data(char *pos, size_t size, size_t count, void *ctx)
{
	struct http_transfer *transfer = ctx;
	struct http_call *call = transfer->call;
	if (waits_for_turn(transfer))
		return CURL_WRITEFUNC_PAUSE;
	size_t limit = call->reply_max != 0 ? call->reply_max : (size_t)HTTP_REPLY_MAX_BYTES;
	count *= size;
	transfer->got_bytes += count;
	if (transfer->got_bytes > limit)
		return (size_t)refuse_reply(transfer, ERR_LIMIT, "the reply is", limit);
	bool unwanted = http_transfer_is_redirected(transfer); /* a page for people */
	if (!unwanted && call->data != NULL)
		transfer->callback_error = call->data(call, (struct slice){ pos, count });
	else if (!unwanted)
		strbuf_add(&call->reply, pos, count);
	transfer->heard_ns = clock_mono_ns(); /* `data` may take its time: that is no silence */
	return transfer->callback_error < 0 ? 0 : count;
}

static ssize_t read_piece(struct http_transfer *transfer, char *buf, size_t size)
{
	struct http_call *call = transfer->call;
	uint64_t total = call->read_body != NULL ? call->read_bytes : call->body.n;
	assert(total == 0 || transfer->sent_bytes <= total);
	if (total != 0 || call->read_body == NULL)
		size = (size_t)MIN((uint64_t)size, total - transfer->sent_bytes);
	if (call->read_body == NULL) {
		memcpy(buf, call->body.p + transfer->sent_bytes, size);
		return (ssize_t)size;
	}
	if (size == 0)
		return 0;
	ssize_t n = call->read_body(call, buf, size);
	if (n != 0 || total == 0)
		return n;
	snprintf(transfer->reason, sizeof(transfer->reason),
		 "the body ended after %llu of %llu bytes",
		 (unsigned long long)transfer->sent_bytes, (unsigned long long)total);
	return ERR_CONFIG;
}

static size_t on_body(char *pos, size_t size, size_t count, void *ctx)
{
	struct http_transfer *transfer = ctx;
	const struct http_call *call = transfer->call;
	ssize_t n = read_piece(transfer, pos, size * count);
	if (n < 0) {
		transfer->callback_error = (int)n;
		return CURL_READFUNC_ABORT;
	}
	transfer->sent_bytes += (size_t)n;
	bool all = n == 0 || (call->read_body == NULL && transfer->sent_bytes == call->body.n);
	enter_phase(transfer, all ? HTTP_WAIT : HTTP_SEND);
	return (size_t)n;
}

/* libcurl repeats a request when a kept connection turns out to be closed. It may, unless bytes of
 * the body have left: the server could have acted on them. */
static int refuse_rewind(void *ctx, curl_off_t offset, int origin)
{
	(void)ctx;
	(void)offset;
	(void)origin;
	return CURL_SEEKFUNC_FAIL;
}

#define SET(option, value) \
	IGNORE(transfer->lib->easy_setopt(transfer->easy, CURLOPT_##option, (value)))

void http_transfer_listen(struct http_transfer *transfer)
{
	SET(PRIVATE, transfer);
	SET(ERRORBUFFER, transfer->curl_reason);
	SET(RESOLVER_START_FUNCTION, on_resolve);
	SET(RESOLVER_START_DATA, transfer);
	SET(OPENSOCKETFUNCTION, open_socket);
	SET(OPENSOCKETDATA, transfer);
	SET(PREREQFUNCTION, on_connected);
	SET(PREREQDATA, transfer);
	SET(HEADERFUNCTION, on_header);
	SET(HEADERDATA, transfer);
	SET(WRITEFUNCTION, on_data);
	SET(WRITEDATA, transfer);
	SET(READFUNCTION, on_body);
	SET(READDATA, transfer);
	SET(SEEKFUNCTION, refuse_rewind);
}

uint64_t http_transfer_stall_ns(const struct http_transfer *transfer)
{
	uint64_t ns = transfer->call->stall_ns;
	return ns != 0 ? ns : HTTP_STALL_TIMEOUT_S * NS_PER_S;
}

static void reset_reply(struct http_transfer *transfer)
{
	struct http_call *call = transfer->call;
	if (call->reply.cap == 0)
		strbuf_init(&call->reply);
	if (call->reply_headers.cap == 0)
		strbuf_init(&call->reply_headers);
	call->result = call->status = 0;
	call->phase = HTTP_QUEUED;
	call->reset = call->untrusted = call->other_host = call->has_retry_after = false;
	call->retry_after_s = 0;
	call->error[0] = '\0';
	strbuf_reset(&call->reply);
	strbuf_reset(&call->reply_headers);
	transfer->sent_bytes = transfer->got_bytes = 0;
	transfer->head_bytes = transfer->n_headers = 0;
	transfer->requested = transfer->head_done = false;
	transfer->socket = -1;
	transfer->callback_error = 0;
	transfer->reason[0] = transfer->curl_reason[0] = '\0';
	transfer->heard_ns = clock_mono_ns();
}

int http_transfer_aim(struct http_transfer *transfer)
{
	const struct http_call *call = transfer->call;
	reset_reply(transfer);
	transfer->to = (struct http_url){ 0 };
	return http_url_parse(transfer->url != NULL ? transfer->url : call->url, &transfer->to,
			      ERR_TEXT(transfer->reason)) == 0
		       ? 0
		       : ERR_CONFIG;
}
