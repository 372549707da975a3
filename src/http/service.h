/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An HTTP(S) server whose handlers may wait: for a REST API with streams. One thread reads requests
 * and writes replies (libmicrohttpd); a request that has come whole is handed to a pool of threads,
 * its connection resting meanwhile. A reply is a text, or a stream that is pulled piece by piece
 * and costs no thread while there is nothing to say. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "http/server.h"

enum {
	HTTP_ANSWER_HEADERS_MAX = 16,
	/* What a stream's pull returns at its end: all was sent; or the rest is lost, and the
	 * client's connection is cut. */
	HTTP_STREAM_END = -1,
	HTTP_STREAM_BROKEN = -2,
};

struct http_service;
struct http_stream;

/* The body of a reply that comes in pieces. Both are called on the service's own thread and must
 * not wait. */
struct http_stream_ops {
	/* Writes at most n bytes and says how many; 0: nothing now, ask again after
	 * http_stream_wake; HTTP_STREAM_END, HTTP_STREAM_BROKEN. */
	ssize_t (*pull)(void *ctx, char *buf, size_t len);
	/* The last call: the stream has ended, or its client is gone. No wake may come after it has
	 * returned. */
	void (*done)(void *ctx);
	/* It is one document: when the service stops before its end, the connection is cut. */
	bool whole;
};

/* Set up before the handler runs as 200, text/plain (UTF-8), empty. */
struct http_answer {
	unsigned status;
	const char *content_type; /* lives until the handler has returned */
	struct strbuf body;
	const struct http_stream_ops *stream; /* NULL: `body` is all; else it comes first */
	void *stream_ctx;
	struct http_stream *handle; /* what to wake; set before the handler runs */
	struct strbuf headers_;
	unsigned n_headers_;
};

/* Adds a header field; name and value are copied, line ends in them become spaces. */
void http_answer_header(struct http_answer *answer, const char *name, const char *value);

/* There is something to pull; any thread. */
void http_stream_wake(struct http_stream *stream);

/* On a thread of the pool; may wait. `req` (http/server.h) lives until it returns. */
typedef void (*http_service_fn)(void *ctx, const struct http_request *req,
				struct http_answer *answer);

#define HTTP_UNIX_PREFIX "unix:"

struct http_service_conf {
	/* As http_server_start takes it; or "unix:PATH", a socket that only this user may open. */
	const char *addr;
	struct http_tls *tls;	  /* NULL: plain HTTP; borrowed */
	unsigned threads;	  /* of the pool, made when first needed; 0: 16 */
	unsigned max_connections; /* of known clients; beyond it the one that is idle longest is
				     cut, and where none is idle requests go to `busy`; 0: 1000 */
	unsigned max_unknown;	  /* of others, where there is `is_known`; beyond it the oldest one
				     is cut, idle or not; 0: 500 */
	unsigned idle_s;	  /* a connection without a request; 0: 90 */
	unsigned stall_s;	  /* a client that does not take its reply or stream, or does not
				     finish its request; 0: 30 */
	size_t max_body_bytes;	  /* longer ones go to `too_long`; 0: 3 MiB */
	size_t max_bodies_bytes;  /* of all requests together; beyond it they go to `busy`; 0: 128
				     MiB */
	/* Does the header (the request has no body yet) show a client that may be here? NULL: all
	 * may. On the service's own thread, must not wait. The body of another one's request is
	 * dropped as it comes; `handle` gets the request without it. */
	bool (*is_known)(void *ctx, const struct http_request *req);
	http_service_fn handle;
	/* The request has no body. NULL: 413 and 429 with a sentence. */
	http_service_fn too_long, busy;
	void *ctx;
};

/* Texts of the configuration are copied. Errors as of http_server_start. */
MUST_CHECK int http_service_start(const struct http_service_conf *conf, struct http_service **ret);
uint16_t http_service_port(const struct http_service *service);
/* Takes no new request, ends all streams, waits up to HTTP_DRAIN_MS for handlers and replies under
 * way, then for handlers alone, and ends. NULL is fine. */
void http_service_stop(struct http_service *service);
