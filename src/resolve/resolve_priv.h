/* What the files of resolve/ share: the resolver's parts and the steps of an exchange's life.
 *
 * Glossary
 *   link   a UDP socket or a stream connection. Exchanges on it are found by their id
 *   pool   the links of one resolver to one upstream
 *   ready  an exchange that ended without a reply and whose done was not called yet
 *
 * done may start and cancel exchanges and forget upstreams. So every way in from the loop is
 * wrapped in resolver_enter and resolver_leave, and links closed meanwhile are freed at the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/rng.h"
#include "dns/request.h"
#include "net/tls.h"
#include "resolve/resolve.h"

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
	void (*flush)(struct resolve_link *l);	 /* sends what is queued */
	void (*closed)(struct resolve_link *l);	 /* about to be, nothing is on it any more */
	void (*destroy)(struct resolve_link *l); /* NULL: nothing but the struct to free */
	void (*idle)(struct resolve_link *l);	 /* its last exchange ended; may close it */
	/* The exchange will end by its deadline. NULL: nothing to do. */
	void (*timed_out)(struct resolve_link *l, struct resolve_exchange *x);
	/* An exchange that was sent ends without reply. NULL: nothing to do. */
	void (*dropped)(struct resolve_link *l, struct resolve_exchange *x);
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
	struct resolver *r;
	struct resolve_upstream *up; /* a reference */
	struct resolve_pool *next;
	struct resolve_link *links;
	struct resolve_link *udp[UDP_SOCKETS];
	struct resolve_link *udp_now; /* drawn for this batch */
	uint32_t udp_batch;	      /* the batch it was drawn for */
	unsigned n_udp;
	bool forgotten;
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
	bool forgotten; /* some pool is */
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
	uint8_t *stream_in; /* FRAME_MAX; one for all connections */
	uint8_t *doh_reply;
};

/* ---- resolver.c ---- */

void resolver_enter(struct resolver *resolver);
/* Calls what is ready back, frees closed links. */
void resolver_leave(struct resolver *resolver);
/* Frees what was closed or forgotten, unless somebody is working on it. */
void resolver_bury(struct resolver *resolver);
/* Something waits for resolver_flush. */
void resolver_arm(struct resolver *resolver);
/* Exchanges that wait for a connection are looked at in the next flush. */
void resolver_pump(struct resolver *resolver);
struct resolve_pool *resolver_pool(struct resolver *resolver,
				   const struct resolve_upstream *upstream);

/* ---- exchange.c ---- */

/* Takes x off whatever it waits for and gives its message back as it was. */
void exchange_detach(struct resolver *resolver, struct resolve_exchange *exchange);
/* Ends x: done is called before the resolver is left. `code` is -errno or an ERR_ code. */
void exchange_fail(struct resolver *resolver, struct resolve_exchange *exchange,
		   enum resolve_result result, int code);
/* Ends x with a message that came for it. `cut`: its end is missing. */
void exchange_reply(struct resolver *resolver, struct resolve_exchange *exchange, uint8_t *msg,
		    size_t len, bool cut);

/* ---- link.c ---- */

/* A link with this descriptor, in the loop and in the pool. Closes fd when that fails. */
struct resolve_link *link_open(struct resolve_pool *pool, int fd, uint32_t events,
			       const struct link_ops *ops, size_t size);
void link_close(struct resolve_link *link);
void link_dirty(struct resolve_link *link);
/* Gives x a random id that is unique on the link. */
void link_add(struct resolve_link *link, struct resolve_exchange *exchange);
void link_remove(struct resolve_link *link, struct resolve_exchange *exchange);
/* Is an exchange with the same question on it? A second one would double the chances of who forges
 * replies to a port that they know. */
bool link_carries(const struct resolve_link *link, uint32_t question_hash);
struct resolve_exchange *link_find(const struct resolve_link *link, uint16_t id);
/* Ends all exchanges of a link. */
void link_fail_all(struct resolve_link *link, enum resolve_result result, int code);
/* Closes it now or when its last exchange ends. */
void link_drain(struct resolve_link *link);
/* Sets the timer that closes links nobody uses. */
void link_sweep_at(struct resolver *resolver, uint64_t due_ns);
void link_sweep(struct loop_timer *timer);
/* A descriptor connected (or connecting) to the pool's upstream, or -errno. */
MUST_CHECK int link_socket(const struct resolve_conf *conf, int type);

/* ---- wheel.c ---- */

void wheel_add(struct resolver *resolver, struct resolve_exchange *exchange);
void wheel_remove(struct resolver *resolver, struct resolve_exchange *exchange);
void wheel_fire(struct loop_timer *t);

/* ---- udp.c ---- */

void resolve_udp_enqueue(struct resolve_pool *pool, struct resolve_exchange *exchange);
void resolve_udp_prepare(struct resolver *resolver);

/* ---- health.c ---- */

struct resolve_probe;
/* Ends this resolver's check of `upstream`, or all of them with NULL. */
void resolve_health_stop(struct resolver *resolver, const struct resolve_upstream *upstream);

/* ---- stream_pool.c ---- */

void stream_pool_enqueue(struct resolve_pool *pool, struct resolve_exchange *exchange);
void stream_pool_pump(struct resolve_pool *pool);
void stream_pool_unwait(struct resolve_pool *pool, struct resolve_exchange *exchange);

/* ---- check.c ---- */

enum check_result {
	CHECK_OK,
	CHECK_CUT,	/* the right question, but the message ends too early */
	CHECK_GARBLED,	/* the right question, and something malformed behind it */
	CHECK_MISMATCH, /* not a reply to this question */
};

/* Length of the question section of a query with one question, or ERR_PARSE. */
MUST_CHECK int check_question(const uint8_t *query, size_t len);
/* Is `reply` a reply to `query`, whose question has question_n bytes? Ids are not compared.
 * `exact`: letters must have the same case. *ret_n: the message without what may follow it (set
 * with CHECK_OK only). */
enum check_result check_reply(const uint8_t *query, size_t question_n, const uint8_t *reply,
			      size_t len, bool exact, size_t *ret_n);
/* Flips the case of letters of the name at p where `bits` says so; twice is nothing. Bits of what
 * is no letter are cleared. n is at most DNS_NAME_MAX. */
void check_flip_case(uint8_t *data, size_t len, uint8_t bits[RESOLVE_CASE_BYTES]);

/* ---- upstream.c ---- */

const char *resolve_error_text(int code);
/* A round trip was measured. */
void upstream_measured(struct resolve_pool *pool, uint64_t rtt_ns);
