/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a request to the socket, waits, and reads the reply. */
#include "kube/client/local_call_priv.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "http/client/call.h"
#include "kube/client/local_reply_priv.h"

enum {
	READ_BYTES = 8 << 10,
	FULL_QUEUE_WAIT_MS = 2, /* the server has not accepted earlier connections yet */
	POLL_MAX_MS = 60000,
};
static const uint64_t full_queue_wait_ns = FULL_QUEUE_WAIT_MS * NS_PER_MS;

struct kube_local {
	int fd;	  /* -1: no connection */
	int wake; /* an eventfd */
};

struct kube_local *kube_local_new(struct err_text err)
{
	struct kube_local *local = xmalloc(sizeof(*local));
	local->fd = -1;
	local->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (local->wake >= 0)
		return local;
	err_text_set(err, "cannot make an eventfd: %s", err_str(-errno));
	free(local);
	return NULL;
}

static void close_connection(struct kube_local *local)
{
	if (local->fd >= 0)
		close(local->fd);
	local->fd = -1;
}

void kube_local_free(struct kube_local *local)
{
	if (local == NULL)
		return;
	close_connection(local);
	close(local->wake);
	free(local);
}

void kube_local_wake(struct kube_local *local)
{
	/* It can only fail when it is set already. */
	IGNORE(eventfd_write(local->wake, 1));
}

/* ---- one call ---- */

struct running {
	struct kube_local *local;
	struct http_call *call;
	const _Atomic bool *stop;
	uint64_t end_ns;
	uint64_t heard_ns; /* when the server was heard last */
};

static int fail_call(const struct running *running, int code, const char *why)
{
	struct http_call *call = running->call;
	call->result = code;
	snprintf(call->error, sizeof(call->error), "unix://%s: %s", call->unix_path, why);
	return code;
}

/* There was a connection, and it broke. */
static int lose_connection(const struct running *running, const char *why)
{
	running->call->reset = true;
	return fail_call(running, ERR_CLOSED, why);
}

static int check_stop(const struct running *running)
{
	bool stopped = running->stop != NULL && atomic_load(running->stop);
	return stopped ? fail_call(running, -ECANCELED, err_str(-ECANCELED)) : 0;
}

/* Until the descriptor (not for -1) has these events, somebody wakes us, or this time. */
static void wait_for_event(const struct kube_local *local, int fd, short events, uint64_t ns)
{
	struct pollfd fds[] = { { .fd = local->wake, .events = POLLIN },
				{ .fd = fd, .events = events } };
	int n = poll(fds, ARRAY_LEN(fds), (int)MIN(ns / NS_PER_MS + 1, (uint64_t)POLL_MAX_MS));
	if (n > 0 && (fds[0].revents & POLLIN) != 0) {
		eventfd_t count;
		IGNORE(eventfd_read(local->wake, &count));
	}
}

static int fail_for_silence(const struct running *running)
{
	char why[80];
	snprintf(why, sizeof(why), "no data received for %.1f s",
		 (double)running->call->stall_ns / (double)NS_PER_S);
	return fail_call(running, ERR_TIMEOUT, why);
}

static int wait_for(const struct running *running, int fd, short events, uint64_t max_ns)
{
	const struct http_call *call = running->call;
	int r = check_stop(running);
	if (r < 0)
		return r;
	uint64_t now = clock_mono_ns();
	if (now >= running->end_ns)
		return fail_call(running, ERR_TIMEOUT,
				 call->phase == HTTP_WAIT
					 ? "no reply in time; the server has the request and may "
					   "still act on it"
					 : "not done in time");
	uint64_t left_ns = MIN(running->end_ns - now, max_ns);
	if (call->stall_ns != HTTP_NEVER) {
		if (now - running->heard_ns >= call->stall_ns)
			return fail_for_silence(running);
		left_ns = MIN(left_ns, running->heard_ns + call->stall_ns - now);
	}
	wait_for_event(running->local, fd, events, left_ns);
	return 0;
}

/* ---- the connection ---- */

static int open_socket(const struct running *running, const struct sockaddr_un *address)
{
	struct kube_local *local = running->local;
	local->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (local->fd < 0)
		return -errno;
	while (connect(local->fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		int r = wait_for(running, -1, 0, full_queue_wait_ns);
		if (r < 0)
			return r;
	}
	return 0;
}

static int connect_to_server(const struct running *running)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct http_call *call = running->call;
	char why[200];
	call->phase = HTTP_CONNECT;
	if (strlen(call->unix_path) >= sizeof(address.sun_path))
		return fail_call(running, ERR_CONFIG, "the path of the socket is too long");
	memcpy(address.sun_path, call->unix_path, strlen(call->unix_path) + 1);
	int r = open_socket(running, &address);
	if (r == 0)
		return 0;
	close_connection(running->local);
	if (call->result < 0)
		return call->result;
	snprintf(why, sizeof(why), "connecting: %s; check that the server runs", err_str(r));
	return fail_call(running, ERR_CLOSED, why);
}

/* The server may have closed a kept connection, or sent what nobody asked for. */
static void drop_stale_connection(struct kube_local *local)
{
	char byte;
	if (local->fd >= 0 &&
	    (recv(local->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN))
		close_connection(local);
}

/* ---- the request ---- */

/* A line break would begin another header, or another request. */
static bool is_one_line(struct slice text)
{
	for (size_t i = 0; i < text.n; i++)
		if (((unsigned char)text.p[i] < ' ' && text.p[i] != '\t') || text.p[i] == 0x7f)
			return false;
	return text.n == 0 || text.p != NULL;
}

/* The path of "http://localhost/path". */
static const char *path_of_url(const char *url)
{
	const char *host = strstr(url, "://");
	const char *path = host != NULL ? strchr(host + 3, '/') : NULL;
	return path != NULL ? path : "/";
}

static int write_request(const struct running *running, struct strbuf *out)
{
	const struct http_call *call = running->call;
	const char *path = path_of_url(call->url);
	bool fine = is_one_line(slice_of(path)) && strchr(path, ' ') == NULL;
	strbuf_adds(out, call->method);
	strbuf_addc(out, ' ');
	strbuf_adds(out, path);
	strbuf_adds(out, " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: fairlead/" FAIRLEAD_VERSION
			 " (linux)\r\n");
	for (size_t i = 0; i < call->n_headers; i++) {
		const struct http_header *header = &call->headers[i];
		fine = fine && header->name.n > 0 && is_one_line(header->name) &&
		       is_one_line(header->value);
		strbuf_add_slice(out, header->name);
		strbuf_adds(out, ": ");
		strbuf_add_slice(out, header->value);
		strbuf_adds(out, "\r\n");
	}
	strbuf_addf(out, "Content-Length: %zu\r\n\r\n", call->body.n);
	strbuf_add_slice(out, call->body);
	return fine ? 0
		    : fail_call(running, ERR_CONFIG,
				"a header has a line break or control character");
}

static int send_request(const struct running *running, struct slice text)
{
	running->call->phase = HTTP_SEND;
	while (text.n > 0) {
		ssize_t n = send(running->local->fd, text.p, text.n, MSG_NOSIGNAL);
		if (n >= 0) {
			text = slice_from(text, (size_t)n);
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return lose_connection(running,
					       "the connection ended while the request was sent");
		int r = wait_for(running, running->local->fd, POLLOUT, HTTP_NEVER);
		if (r < 0)
			return r;
	}
	running->call->phase = HTTP_WAIT;
	return 0;
}

/* ---- the reply ---- */

static void take_head(struct http_call *call, const struct kube_local_reply *reply)
{
	uint64_t seconds;
	struct slice retry = http_call_header(call, "Retry-After", 0);
	call->status = reply->status;
	call->has_retry_after = retry.p != NULL && slice_u64(retry, &seconds) == 0;
	call->retry_after_s =
		call->has_retry_after ? (unsigned)MIN(seconds, (uint64_t)INT32_MAX) : 0;
}

static int take_bytes(const struct running *running, struct kube_local_reply *reply,
		      struct slice bytes)
{
	struct http_call *call = running->call;
	call->phase = HTTP_RECEIVE;
	while (bytes.n > 0) {
		struct slice body;
		/* Behind the end nothing may follow: nothing else was asked. */
		int r = kube_local_reply_is_whole(reply)
				? ERR_PARSE
				: kube_local_reply_feed(reply, &bytes, &call->reply_headers, &body);
		if (r < 0)
			return fail_call(running, r, "the reply is not HTTP/1.1");
		if (call->status == 0 && reply->status != 0)
			take_head(call, reply);
		r = body.n > 0 ? call->data(call, body) : 0;
		if (r < 0)
			return fail_call(running, r, err_str(r));
	}
	return 0;
}

static int receive_reply(struct running *running, struct kube_local_reply *reply)
{
	const int fd = running->local->fd;
	char buf[READ_BYTES];
	while (!kube_local_reply_is_whole(reply)) {
		/* The reply takes longer than one check for it. */
		int r = wait_for(running, fd, POLLIN, HTTP_NEVER);
		if (r < 0)
			return r;
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return lose_connection(running,
					       "the connection ended before the reply did");
		r = take_bytes(running, reply, (struct slice){ buf, (size_t)n });
		if (r < 0)
			return r;
		running->heard_ns = clock_mono_ns(); /* `data` may take its time: no silence */
	}
	return 0;
}

static void reset_call(struct http_call *call)
{
	strbuf_init(&call->reply);
	strbuf_init(&call->reply_headers);
	call->result = call->status = 0;
	call->reset = call->untrusted = call->other_host = call->has_retry_after = false;
	call->retry_after_s = 0;
	call->error[0] = '\0';
}

int kube_local_call(struct kube_local *local, struct http_call *call, const _Atomic bool *stop)
{
	CLEANUP(secret_wipe_strbuf) struct strbuf text = STRBUF_INIT;
	struct kube_local_reply reply;
	const uint64_t now = clock_mono_ns();
	struct running running = {
		.local = local,
		.call = call,
		.stop = stop,
		.end_ns = call->timeout_ns != HTTP_NEVER ? now + call->timeout_ns : HTTP_NEVER,
		.heard_ns = now,
	};
	assert(call->unix_path != NULL && call->data != NULL);
	reset_call(call);
	kube_local_reply_init(&reply);
	int r = check_stop(&running);
	if (r == 0)
		r = write_request(&running, &text);
	drop_stale_connection(local);
	if (r == 0 && local->fd < 0)
		r = connect_to_server(&running);
	if (r == 0)
		r = send_request(&running, strbuf_slice(&text));
	if (r == 0)
		r = receive_reply(&running, &reply);
	if (r < 0 || reply.close)
		close_connection(local);
	kube_local_reply_done(&reply);
	return call->result;
}

int kube_local_sleep(struct kube_local *local, uint64_t ns, const _Atomic bool *stop)
{
	const uint64_t end_ns = clock_mono_ns() + ns;
	uint64_t now;
	while (!atomic_load(stop)) {
		now = clock_mono_ns();
		if (now >= end_ns)
			return 0;
		wait_for_event(local, -1, 0, end_ns - now);
	}
	return -ECANCELED;
}
