/* What both servers on libmicrohttpd share (http/server.h, http/service.h): the listening socket,
 * the library's thread, and the list of connections that may be cut when there are too many. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "http/server.h"

struct http_tls;
struct http_tls_pair;

enum {
	/* Connections that were cut need a turn of the thread to go. */
	HTTP_SPARE_CONNECTIONS = 32,
};

extern const char http_plain_text[];

enum http_method http_method_of(const char *text);
/* "GET, HEAD": appended, behind ", " when `out` is not empty. */
void http_methods_str(unsigned methods, struct strbuf *out);

/* The listening socket; all addresses are one IPv6 socket that takes IPv4 too. `shared`: others may
 * listen there as well. -errno, ERR_PARSE. */
MUST_CHECK int http_listen(const char *addr, bool shared, uint16_t *ret_port);

/* A connection. In the list while it may be cut, which is in the order of http_conns_rest. */
struct http_conn {
	struct http_conn *prev, *next; /* NULL: not in the list */
	bool cut;
	int fd;
	struct http_tls_pair *pair; /* HTTPS */
};

/* All of the library's thread. */
struct http_conns {
	struct http_tls *tls; /* NULL: plain HTTP */
	unsigned max;
	unsigned n;		/* open, less those that are cut */
	struct http_conn ring_; /* next is the one that has rested longest */
};

void http_conns_init(struct http_conns *cs, struct http_tls *tls, unsigned max);
/* NULL once it is gone. */
struct http_conn *http_conn_of(struct MHD_Connection *mc);
/* It has asked nothing since now; it may be cut. */
void http_conns_rest(struct http_conns *cs, struct http_conn *c);
/* It may not be cut until it rests again. */
void http_conns_busy(struct http_conns *cs, struct http_conn *c);

struct http_daemon_conf {
	int fd;		/* the library's from now on, even when the start fails */
	unsigned flags; /* beyond the usual ones */
	unsigned timeout_s;
	size_t head_max_bytes;
	struct http_conns *conns; /* kept up to date by the daemon */
	MHD_AccessHandlerCallback on_request;
	MHD_RequestCompletedCallback on_completed;
	size_t (*unescape)(void *ctx, struct MHD_Connection *mc, char *s); /* NULL: the library's */
	void *ctx;
};

/* Waits until *n_busy, which `lock` guards, is 0, or for HTTP_DRAIN_MS. */
void http_wait_idle(pthread_mutex_t *lock, pthread_cond_t *idle, const unsigned *n_busy);

/* NULL when there are no threads or no memory. */
struct MHD_Daemon *http_daemon_start(const struct http_daemon_conf *c);
