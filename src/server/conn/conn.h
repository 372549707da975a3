/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection of a client, whatever it speaks: how its bytes are moved (struct conn_io) and what
 * they mean (struct conn_proto) are tables; limits, time-outs and life are the same for all.
 *
 * Files: conn.c (life, accepting), conn_limits.c (how many there may be), flow.c (reading and writing),
 * deferred.c (requests that are served again), io.c (sockets and TLS), tcp.c (DNS messages with their length, streams of them), doh.c (HTTP). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "net/addr.h"
#include "net/loop.h"
#include "server/conn/client.h"

struct block_timeouts;
struct http_framing;
struct listener_sock;
struct net_tls;
struct query;
struct tcp_conn;
struct worker;

enum {
	CONN_SCRATCH = 2 + 65535,
	CONN_MAX_INFLIGHT = 128,      /* per connection; then it is not read from */
	CONN_HIGH_BYTES = 128 * 1024, /* unsent; then nothing is read and streams pause */
	/* Unsent; queries in flight may add so much. Replies beyond are dropped, and their requests
	 * deferred. */
	CONN_MAX_OUT_BYTES = 1024 * 1024,
	CONN_PACE_BYTES = 64 * 1024, /* unsent; to be accepted within the write time-out */
	/* Kept for one client: then replies beyond the first of each connection are dropped, and
	 * their requests deferred; and then the connection that keeps most is closed. */
	CONN_CLIENT_HIGH_BYTES = 3072 * 1024,
	CONN_CLIENT_BYTES = 4096 * 1024,
};

/* Bytes; 0 (recv): the peer sends no more; -EAGAIN; other negative: broken. */
struct conn_io {
	ssize_t (*recv)(struct tcp_conn *conn, void *buf, size_t len);
	ssize_t (*send)(struct tcp_conn *conn, const void *buf, size_t len);
	/* Bytes that no readiness will announce; NULL: never. */
	bool (*has_more)(const struct tcp_conn *conn);
};

/* What can be done with the bytes kept aside. */
enum conn_part {
	CONN_PART_SHORT, /* more are needed */
	CONN_PART_READY, /* a message is whole */
	CONN_PART_WAITS, /* not before a reply was sent */
};

struct conn_proto {
	/* Uses as many of the bytes as it can and returns their number; may close the connection,
	 * but not free it. */
	size_t (*input)(struct tcp_conn *conn, const uint8_t *data, size_t len);
	enum conn_part (*part)(const struct tcp_conn *conn);
	/* A request that was deferred; the stream is that of HTTP. */
	void (*serve)(struct tcp_conn *conn, uint32_t stream, struct slice msg);
	/* What is to be sent, and that n bytes of it were. */
	struct slice (*out)(struct tcp_conn *conn);
	void (*sent)(struct tcp_conn *conn, size_t count);
	size_t (*unsent)(const struct tcp_conn *conn);
	void (*reply)(struct query *q, uint8_t *msg, size_t len);
	/* The query is over, with or without reply; NULL: nothing to do. */
	void (*done)(struct query *q);
	/* Nothing more is read; NULL: nothing to do. */
	void (*end)(struct tcp_conn *conn);
	void (*free)(struct tcp_conn *conn);
	/* Bytes of messages that are not whole, besides c->part; NULL: none. */
	size_t (*held)(const struct tcp_conn *conn);
	/* Drops replies that the client leaves unread while it reads others; NULL: not possible.
	 * True: something is to be sent. */
	bool (*expire)(struct tcp_conn *conn, uint64_t max_ns);
};

enum conn_list_kind { CONN_OF_WORKER, CONN_OF_SOCK };
enum { CONN_LIST_KINDS = CONN_OF_SOCK + 1 };

struct conn_link {
	struct tcp_conn *older, *newer; /* by last activity */
};

struct tcp_conn {
	struct loop_fd io;
	struct loop_timer timer;
	const struct conn_io *transport_io;
	struct net_tls *tls;	   /* NULL: none */
	struct http_framing *http; /* NULL: none */
	const struct conn_proto *proto;
	struct listener_sock *sock; /* NULL: given up */
	struct worker *worker;
	struct conn_link link[CONN_LIST_KINDS];
	uint64_t active_ns;	     /* last activity */
	struct conn_client *owner;   /* whose it is */
	_Atomic uint32_t *uncounted; /* the counter that does not have it any more; NULL: none */
	union net_addr client, local;
	bool closed;
	bool handshaking;
	bool want_write;
	bool pacing; /* the timer runs until the client has accepted the unsent bytes */
	bool gather; /* replies are collected and sent together when the input is used up */
	bool paused; /* too much in flight or unsent: not read from */
	bool eof;    /* nothing more is read; replies are still due */
	uint32_t events;
	uint32_t inflight; /* queries */
	uint32_t holds;	   /* functions that work on the struct */
	uint64_t n_queries;
	uint8_t *part; /* unfinished message; when paused, also whole ones */
	size_t part_n;
	uint8_t *deferred; /* requests to serve again (deferred.h) */
	size_t deferred_n;
	uint64_t sent_bytes; /* in all */
	uint64_t pace_at;    /* pacing: what that must be when the timer ends */
	size_t kept_bytes;   /* counted for its client */
	uint8_t *out;	     /* not sent yet */
	size_t out_n, out_at;
	struct query *stream; /* one after the other, by `next` */
};

static inline size_t conn_unsent(const struct tcp_conn *conn)
{
	return conn->proto->unsent(conn);
}

/* Callbacks of a listener's TCP socket. */
void conn_accept(struct loop_fd *loop_fd, uint32_t events);
void conn_accept_again(struct loop_timer *timer);

const struct block_timeouts *conn_timeouts(const struct tcp_conn *conn);
void conn_set_timeout(struct tcp_conn *conn, int64_t ns, uint64_t default_s);
/* Queries in flight and holds keep the struct alive; the last of them frees it. */
void conn_hold(struct tcp_conn *conn);
void conn_let_go(struct tcp_conn *conn);
void conn_close(struct tcp_conn *conn);
void conn_close_all(struct worker *worker);
/* The listener was given up: its connections close when their replies are sent. */
void conn_leave_all(struct listener_sock *sock);
bool conn_is_closed(const struct tcp_conn *conn);
/* Are there bytes that the client has not accepted yet? */
bool conn_is_behind(const struct tcp_conn *conn);
/* Closes it for a limit or a time-out, and drops the bytes that the client did not accept until
 * then, also those in the kernel. */
void conn_abort(struct tcp_conn *conn);
