/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP server of the control plane: health, readiness, metrics, web hooks and pages. One thread per
 * server, a fixed table of routes, whole replies. A client that is slow or silent costs a slot,
 * never the server: when all slots are taken the connection that has waited longest is cut. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	HTTP_MAX_CONNECTIONS = 256,
	HTTP_TIMEOUT_S = 5,	     /* of an idle connection */
	HTTP_HEAD_MAX_BYTES = 16384, /* request line and header, with the reply's header */
	HTTP_THREAD_STACK_BYTES = 128 * 1024,
	HTTP_TLS_STACK_BYTES = 512 * 1024, /* handshakes need more */
	HTTP_DRAIN_MS = 1000,		   /* for replies under way when a server is stopped */
};

enum http_method {
	HTTP_GET = 1 << 0,
	HTTP_HEAD = 1 << 1,
	HTTP_POST = 1 << 2,
	HTTP_PUT = 1 << 3,
	HTTP_PATCH = 1 << 4,
	HTTP_DELETE = 1 << 5,
	HTTP_OTHER = 1 << 6,
};
enum { HTTP_ANY_METHOD = HTTP_OTHER * 2 - 1 };

/* Valid while the handler runs. */
struct http_request {
	enum http_method method;
	const char *method_text;
	const char *path; /* decoded, without the query */
	struct slice body;
	void *reserved_;
};

/* A header field's value (name in any case), or NULL. */
const char *http_request_header(const struct http_request *req, const char *name);
/* A decoded argument of the query; NULL when it is absent, "" when it has no value. */
const char *http_request_arg(const struct http_request *req, const char *name);

struct http_arg {
	const char *name, *value; /* decoded; value "" when there is none */
};
/* All arguments in order; returns their number, of which at most n were written. */
size_t http_request_args(const struct http_request *req, struct http_arg *args, size_t count);

/* Set up before the handler runs as 200, text/plain (UTF-8), empty. */
struct http_reply {
	unsigned status;
	const char *content_type; /* lives until the handler has returned */
	struct strbuf body;
};

typedef void (*http_handler)(void *ctx, const struct http_request *req, struct http_reply *reply);

struct http_route {
	const char *path;      /* exact; NULL: every path */
	unsigned methods;      /* HTTP_* bits; 0: GET and HEAD. Others are answered with 405 */
	size_t max_body_bytes; /* longer ones are answered with 413 */
	http_handler handle;   /* on the server's thread, which is no RCU reader; must not wait */
	void *ctx;
};

struct http_server;
struct http_tls;
union net_addr;

/* An address to listen on, as a Corefile writes it: ":8080", "localhost:9153", "[::1]:80",
 * "0.0.0.0:80". An empty port is 0, as in CoreDNS. ERR_PARSE. */
MUST_CHECK int http_server_address(struct slice text, union net_addr *ret);
/* Listens on such an address. No host, 0.0.0.0 and [::] all mean every address of both families
 * (IPv4 alone where the kernel has no IPv6). Port 0 takes a free one. A second server may listen on
 * the same address, so that a new one can be opened before the old one is closed. The first route
 * that fits wins; other paths are answered with 404. `routes` is copied, its texts and ctx must
 * outlive the server. ERR_PARSE for an address that is none; -errno (-EADDRINUSE, -EACCES, ...). */
MUST_CHECK int http_server_start(const char *addr, const struct http_route *routes, size_t count,
				 struct http_server **ret);
/* The same with HTTPS (TLS 1.2 and 1.3); `tls` (http/tlscert.h) is borrowed. */
MUST_CHECK int http_server_start_tls(const char *addr, struct http_tls *tls,
				     const struct http_route *routes, size_t count,
				     struct http_server **ret);
/* Takes no new connection, waits up to HTTP_DRAIN_MS for replies under way, ends the thread and
 * frees all. NULL is fine. Not from inside a handler. */
void http_server_stop(struct http_server *server);
/* The port listened on. */
uint16_t http_server_port(const struct http_server *server);
