/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One HTTP request and its reply, in the caller's memory.
 *
 * Glossary
 *   call    a request and its reply
 *   origin  scheme, host and port: "https://api.example:443"
 *   phase   how far a call came */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/slice.h"
#include "base/strbuf.h"

struct http_transfer;

enum {
	HTTP_REPLY_MAX_BYTES = 16 << 20,     /* of a body, unless the call has its own limit */
	HTTP_REPLY_HEADERS_MAX = 256,	     /* further ones are ignored */
	HTTP_REPLY_HEADER_BYTES = 256 << 10, /* a longer head ends the call */
	HTTP_REPLY_LINE_BYTES = 100 << 10, /* and so does one longer line of it: libcurl's limit */
	HTTP_REDIRECTS_MAX = 5,
	HTTP_CONNECT_TIMEOUT_S = 30,
	HTTP_STALL_TIMEOUT_S = 30,
	HTTP_CALL_TIMEOUT_S = 60,
	HTTP_ERROR_BYTES = 512,
};
#define HTTP_NEVER UINT64_MAX /* as a time-out: none */

enum http_phase {
	HTTP_QUEUED, /* as many calls to the host as may run at once are running */
	HTTP_RESOLVE,
	HTTP_CONNECT,
	HTTP_TLS, /* the handshake; a proxy's tunnel, too */
	HTTP_SEND,
	HTTP_WAIT, /* all was sent, no byte of the reply has come */
	HTTP_RECEIVE,
};

/* What to do with 3xx that has a Location. */
enum http_redirects {
	HTTP_REDIRECTS_REFUSE, /* an error that names both origins */
	HTTP_REDIRECTS_PASS,   /* a reply like any other */
	/* GET and HEAD go on to the same origin; another one is an error, since any header may be a
	 * credential. */
	HTTP_REDIRECTS_FOLLOW,
};

/* Paths of PEM files, NULL for none; http/client/memfile.h makes them from memory. */
struct http_client_tls {
	const char *ca; /* NULL: the system's, which cost each connection 4 MB */
	const char *cert, *key;
	bool insecure; /* the server's certificate is not verified */
};

struct http_header {
	struct slice name, value;
};

/* Zero it, fill the first part, start it (http/client/client.h). It stays where it is until `done`
 * was called or it was cancelled; then it may be started again, and http_call_release ends it. */
struct http_call {
	/* The request; borrowed until the end. */
	const char *method; /* "GET" */
	const char *url;    /* http or https; http/client/url.h says which are accepted */
	const struct http_header *headers;
	size_t n_headers;
	struct slice body; /* p NULL: none; of POST and PUT at least SLICE("") */
	/* The body piece by piece instead: fills up to `size` bytes. 0 at the end, a negative code
	 * ends the call with it. */
	ssize_t (*read_body)(struct http_call *call, char *buf, size_t size);
	uint64_t read_bytes; /* how many read_body will have; 0: unknown, sent in chunks */
	bool gzip;	     /* the reply may be compressed */
	bool fresh;	     /* over a new connection */
	const struct http_client_tls *tls; /* NULL: the system's authorities */
	/* NULL: the environment's (http_proxy, https_proxy, all_proxy, no_proxy), never for this
	 * machine itself; "": none; else this one, whatever no_proxy says. */
	const char *proxy;
	const char *connect_to; /* "host:port" instead of the URL's, whose name is verified; NULL */
	const char *unix_path;	/* of a socket instead of the URL's host, without proxies; NULL */
	enum http_redirects redirects;
	/* Time-outs; 0: the defaults above. */
	uint64_t connect_ns; /* name, connection and handshake */
	uint64_t stall_ns;   /* no byte from the server */
	uint64_t timeout_ns; /* of all, the wait for its turn included */
	size_t reply_max;    /* bytes of the body, decompressed; 0: the default, SIZE_MAX: none */
	/* A piece of the reply's body, `status` and headers are known; 0, or a negative code that
	 * ends the call with it. NULL: `reply` collects them. */
	int (*data)(struct http_call *call, struct slice bytes);
	/* The call has ended: it may be released, or started again. */
	void (*done)(struct http_call *call);
	void *ctx; /* the caller's */

	/* The reply. */
	/* 0 when it is complete, whatever its status. Errors: ERR_TIMEOUT, ERR_CLOSED (no or a broken
	 * connection), ERR_TLS, ERR_PARSE (not HTTP), ERR_LIMIT, ERR_DENIED (a redirect), ERR_CONFIG
	 * (a URL, header or proxy that cannot be), -ECANCELED, or those of the callbacks. */
	int result;
	int status;	       /* of HTTP; 0: none came */
	enum http_phase phase; /* the last one reached */
	bool reset;	       /* ERR_CLOSED: there was a connection, and it broke */
	bool untrusted;	       /* ERR_TLS: nobody we trust has signed the server's certificate */
	bool other_host;       /* ERR_TLS: the server's certificate is for another host */
	bool has_retry_after;
	unsigned retry_after_s; /* seconds and dates; http/client/retry_after.c */
	struct strbuf reply;
	struct strbuf reply_headers;  /* read them by http_call_header */
	char error[HTTP_ERROR_BYTES]; /* "https://api.example:443: connecting: why; what to do" */

	struct http_transfer *transfer; /* private; NULL: not running */
};

/* The value of the nth (from 0) header of that name in the reply; p NULL when there is none.
 * Borrowed from the call. */
struct slice http_call_header(const struct http_call *call, const char *name, size_t nth);
/* Frees the reply. Not while it runs. */
void http_call_release(struct http_call *call);
