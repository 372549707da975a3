/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data that all files of resolve/ share: a resolver with its pools, links and deadlines.
 *
 * Glossary
 *   link   a UDP socket or a stream connection. Exchanges on it are found by their id
 *   pool   the links of one resolver to one upstream
 *   ready  an exchange that ended without a reply and whose done was not called yet
 *
 * done may start and cancel exchanges. So every way in from the loop is
 * wrapped in resolver_enter and resolver_leave, and links closed meanwhile are freed at the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/rng.h"
#include "dns/request.h"
#include "net/tls.h"
#include "resolve/types.h"

enum {
	UDP_SOCKETS = 16,     /* per pool */
	UDP_SOCKETS_ALL = 32, /* with those that are worn out and still wait for replies */
	/* A socket's port is known to who saw one of its questions, so it is not kept for long.
	 * Opening one costs 6 us: 3 ns for each of 2048 questions. */
	UDP_USES = 2048,
	UDP_INFLIGHT = 2048, /* per socket: far from using up the 65536 ids */
	UDP_BATCH = 64,
	UDP_RECV_BATCH = 32,
	UDP_REPLY_MAX = 4096, /* longer ones are asked again over TCP */
	ID_BUCKETS = 256,
	QUESTION_BUCKETS = 64,
	WHEEL_SLOTS = 1024,
	POOL_BUCKETS = 64,
	/* Exchanges at once on a connection. Many, because names that the upstream never answers
	 * stay on it until their time is over, and others must not wait for that. */
	STREAM_DEPTH = 2048,
	STREAM_DEPTH_HTTP = 64, /* of HTTP/2: servers allow 100 and more */
	STREAMS_ALONE = 1024,	/* connections, while some are stalled and each carries one */
};
#define UDP_AGE_NS (30 * NS_PER_S)

enum exchange_state {
	X_IDLE,
	X_WAITING, /* for a connection with room */
	X_QUEUED,  /* on a link, to be sent */
	X_SENT,
	X_READY,
};

struct xlist {
	struct resolve_exchange *first, *last;
};

static inline void xlist_append(struct xlist *xlist, struct resolve_exchange *exchange)
{
	exchange->q_next = NULL;
	exchange->q_prev = xlist->last;
	*(xlist->last != NULL ? &xlist->last->q_next : &xlist->first) = exchange;
	xlist->last = exchange;
}

static inline void xlist_remove(struct xlist *xlist, struct resolve_exchange *exchange)
{
	*(exchange->q_prev != NULL ? &exchange->q_prev->q_next : &xlist->first) = exchange->q_next;
	*(exchange->q_next != NULL ? &exchange->q_next->q_prev : &xlist->last) = exchange->q_prev;
}

struct resolve_pool;
struct resolve_link;

struct link_ops {
	void (*flush)(struct resolve_link *link);   /* sends what is queued */
	void (*closed)(struct resolve_link *link);  /* about to be, nothing is on it any more */
	void (*destroy)(struct resolve_link *link); /* NULL: nothing but the struct to free */
	void (*idle)(struct resolve_link *link);    /* its last exchange ended; may close it */
	/* The exchange will end by its deadline. NULL: nothing to do. */
	void (*timed_out)(struct resolve_link *link, struct resolve_exchange *exchange);
	/* An exchange that was sent ends without reply. NULL: nothing to do. */
	void (*dropped)(struct resolve_link *link, struct resolve_exchange *exchange);
};

struct resolve_link {
	struct loop_fd io; /* fd -1: closed, freed when nobody works on it any more */
	struct resolve_pool *pool;
	const struct link_ops *ops;
	struct resolve_link *next, *prev; /* pool's list */
	struct resolve_link *dirty_next;
	bool dirty;    /* in the resolver's list of links with something to send */
	bool draining; /* gets no more exchanges; closes when the last one ends */
	uint32_t seq;
	uint32_t inflight; /* exchanges with an id here */
	uint32_t uses;
	uint64_t opened_ns;
	uint64_t idle_ns; /* when the last exchange ended */
	struct xlist queued;
	bool keeps_sent;   /* a stream */
	struct xlist sent; /* then: what was sent and has no reply, the oldest first */
	struct resolve_exchange *by_id[ID_BUCKETS];
	struct resolve_exchange *by_question[QUESTION_BUCKETS]; /* UDP: those with a hash */
};

struct resolve_pool {
	struct resolver *resolver;
	struct resolve_upstream *up; /* a reference */
	struct resolve_pool *next;
	struct resolve_link *links;
	struct resolve_link *udp[UDP_SOCKETS];
	struct resolve_link *udp_now; /* drawn for this batch */
	uint32_t udp_batch;	      /* the batch it was drawn for */
	unsigned n_udp;
	unsigned n_streams;
	unsigned max_streams; /* with those that are opened for one question */
	uint32_t depth;	      /* exchanges at once that a connection was seen to take */
	uint32_t new_depth;   /* as many wait for one that is being opened */
	bool any_order;	      /* connections: a reply was seen to overtake another one */
	uint64_t held_up_ns; /* when a question that was held up was answered elsewhere; 0: never */
	struct xlist waiting;
	unsigned n_waiting;
	struct net_tls_ticket ticket;
	char tls_error[192];
	uint64_t srtt_ns; /* this loop's; published when it moved */
};

/* Deadlines: a hashed wheel, so that starting and ending an exchange costs no heap operation. The
 * one timer is set for the earliest deadline there was when it was set. */
struct wheel {
	struct loop_timer timer;
	uint64_t tick; /* slots before it are empty, but for deadlines a whole turn later */
	uint64_t used[WHEEL_SLOTS / 64];
	struct resolve_exchange *slot[WHEEL_SLOTS];
};

struct resolver {
	struct resolver_env env;
	struct rng_strong rng; /* ids, sockets, case: what a forger would have to guess */
	struct resolver_stats stats;
	struct resolve_pool *pools[POOL_BUCKETS];
	struct resolve_link *dirty;
	struct resolve_link *grave;
	struct xlist ready;
	unsigned depth;
	bool armed;
	bool pump;	/* exchanges that wait for a connection may go on */
	uint32_t batch; /* counts flushes */
	uint32_t link_seq;
	struct resolve_probe *probes;
	struct loop_timer sweep;
	struct wheel wheel;
	/* UDP's arrays; buffers come with the first datagram. */
	struct mmsghdr tx[UDP_BATCH];
	struct iovec tx_iov[UDP_BATCH];
	struct mmsghdr rx[UDP_RECV_BATCH];
	struct iovec rx_iov[UDP_RECV_BATCH];
	uint8_t *rx_buf;
	uint8_t *stream_in; /* TCP_FRAME_MAX; one for all connections */
	uint8_t *doh_reply;
};
