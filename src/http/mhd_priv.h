/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What both servers on libmicrohttpd share (http/server.h, http/service.h): the listening socket,
 * the library's thread, and the list of connections that may be cut when there are too many. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "http/server.h"
#include "http/tls_send_priv.h"

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

/* A connection. In a list while it may be cut, which is in the order of http_conns_rest. */
struct http_conn {
	struct http_conn *prev, *next; /* NULL: in no list */
	bool cut;
	bool known; /* its client has shown who it is */
	int fd;
	struct MHD_Connection *mc;
	struct http_tls_pair *pair; /* HTTPS */
	struct http_tls_send send;  /* HTTPS */
	struct http_conn *prev_open, *next_open;
	/* http/unframed_priv.h: the header of a request is being received, and the next such one. */
	bool in_head;
	struct http_conn *next_in_head;
};

/* All of the library's thread, which is the one that `thread` names, but for what is guarded. */
struct http_conns {
	struct http_tls *tls; /* NULL: plain HTTP */
	/* Those of known and of unknown clients are counted, and cut, apart: strangers take no room
	 * from those who may be here. 0 of max_unknown: all count as known. */
	unsigned max, max_unknown;
	unsigned n, n_unknown;		  /* open, less those that are cut */
	struct http_conn ring_, unknown_; /* next is the one that has rested longest */
	struct http_conn *in_head;	  /* the last to have begun a request first */
	_Atomic pthread_t thread;

	pthread_mutex_t lock; /* guards all below, and membership in `open` */
	pthread_cond_t none;
	struct http_conn *open; /* all of them, to end them */
	unsigned n_open;
	bool ending; /* new ones end at once */
};

void http_conns_init(struct http_conns *cs, struct http_tls *tls, unsigned max,
		     unsigned max_unknown);
void http_conns_done(struct http_conns *cs);
/* NULL once it is gone. */
struct http_conn *http_conn_of(struct MHD_Connection *mc);
/* It has asked nothing since now; it may be cut. */
void http_conns_rest(struct http_conns *cs, struct http_conn *conn);
/* It may not be cut until it rests again. */
void http_conns_busy(struct http_conns *cs, struct http_conn *conn);
/* Ends a connection that is not cut yet; the library notices. */
void http_conns_cut(struct http_conns *cs, struct http_conn *conn);
/* Its client is known from now on. False: there is no room, all others are busy. */
MUST_CHECK bool http_conns_know(struct http_conns *cs, struct http_conn *conn);

struct http_daemon_conf {
	int fd;		/* the library's from now on, even when the start fails */
	unsigned flags; /* beyond the usual ones */
	unsigned timeout_s;
	size_t head_max_bytes;
	struct http_conns *conns; /* kept up to date by the daemon */
	MHD_AccessHandlerCallback on_request;
	MHD_RequestCompletedCallback on_completed;
	size_t (*unescape)(void *ctx, struct MHD_Connection *mc,
			   char *text); /* NULL: the library's */
	void *ctx;
};

/* Waits until *n_busy, which `lock` guards, is 0, or for HTTP_DRAIN_MS. */
void http_wait_idle(pthread_mutex_t *lock, pthread_cond_t *idle, const unsigned *n_busy);

/* NULL when there are no threads or no memory. */
struct MHD_Daemon *http_daemon_start(const struct http_daemon_conf *conf);
/* Ends all connections and the thread; for a daemon that is quiesced. None of them may be suspended. */
void http_daemon_stop(struct MHD_Daemon *daemon, struct http_conns *conns);
