/* Inside of server/: generations, blocks, listeners and workers.
 *
 * Glossary
 *   route          what one listener does in one generation: its zones and admission rules
 *   block_zone     one zone of one block on one listener: the unit that metrics are labelled by
 *   listener       an address and port that stays open over generations
 *   listener_sock  a listener's sockets on one worker
 *
 * Threads: the control thread builds generations and opens listeners; each worker switches to a new
 * generation by a message on its own loop, so a worker's view changes only between queries. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "dns/zoneset.h"
#include "net/addr.h"
#include "net/loop.h"
#include "net/sock.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/report.h"
#include "server/server.h"
#include "server/waiting.h"

struct corefile;
struct corefile_block;

enum {
	SLOT_BYTES = 4096,
	REQUEST_MAX = 1232, /* UDP; longer ones get FORMERR */
	BATCH = 64,
	TX_BYTES = 1536, /* replies up to this need no block from the pool */
	WORKERS_MAX = 1024,
	ROUTE_HTTPS_STATUSES = 4, /* 200, 400, 404, 500 */
};

/* What a listener speaks. */
enum transport {
	TRANSPORT_DNS,	 /* UDP and TCP */
	TRANSPORT_TLS,	 /* DNS over TLS; plain TCP where its blocks have no `tls` */
	TRANSPORT_HTTPS, /* DNS over HTTPS; plain HTTP likewise */
};

struct block_zone {
	struct block *block;
	const uint8_t *wire;
	const char *text;
	struct route *route;
	struct zone_report report;
};

struct block {
	struct generation *gen;
	size_t index;
	const struct corefile_block *src;
	struct block_conf conf;
	const char **zone_text; /* of all keys, in order, without repeats */
	const uint8_t **zone_wire;
	size_t n_zones;
	struct plugin_inst **inst; /* in chain order */
	size_t n_inst;
	struct plugin_inst **chain; /* those that handle queries */
	unsigned n_chain;
	unsigned n_states;
	struct plugin_inst **prefetcher;
	unsigned n_prefetch;
	struct block_zone **served; /* every zone on every listener */
	size_t n_served;
	const char *label; /* of its first listener */
};

struct route {
	struct listener *listener;
	struct dns_zoneset *zones; /* → struct block_zone */
	uint16_t opcodes;
	bool any_class;
	struct block_timeouts timeouts;
	enum transport transport;
	const struct block_zone *first;
	struct {
		uint32_t max_connections; /* 0: no limit of its own */
		uint32_t max_streams;	  /* 0: the default */
		bool has_max_streams;	  /* some block said it */
	} https;
	_Atomic(struct metrics_series *) https_count[ROUTE_HTTPS_STATUSES];
	struct certs *certs; /* of its blocks, which agree; NULL: no encryption */
	union net_addr addr;
	const char *label; /* "dns://:53" */
	struct zone_report dropped;
};

struct generation_worker {
	uint32_t inflight;
	bool retiring;
	unsigned n_inited; /* instances whose worker_init ran */
};

struct generation {
	struct arena arena;
	struct server *srv;
	struct corefile *cf;
	struct block *block;
	size_t n_block;
	struct plugin_inst **inst; /* all of all blocks, in set-up order */
	size_t n_inst;
	size_t n_prepared;
	struct route **route;
	size_t n_route;
	bool has_metrics; /* some block has `prometheus` */
	bool debug;
	const uint16_t *edns_echo;
	size_t n_edns_echo;
	const char **shown; /* "zone:port [on ip]", one per zone and listener */
	size_t n_shown;
	int64_t reload_ns, reload_jitter_ns, lameduck_ns;
	unsigned sockets;
	unsigned n_members;	      /* workers that ever knew it; set when it is retired */
	unsigned n_left;	      /* workers that have left it; guarded by srv->lock */
	struct generation *next;      /* in srv->retired */
	struct generation_worker w[]; /* one per worker; each touched by that worker only */
};

struct conn_list {
	struct tcp_conn *oldest, *newest; /* by time of last activity */
	size_t n;
	_Atomic uint64_t oldest_ns; /* when the oldest was active, for other workers; or
				       UINT64_MAX */
};

struct udp_sock {
	struct loop_fd io;
	struct listener_sock *of;
};

struct listener_sock {
	struct udp_sock udp[2]; /* a wildcard has one for each family; fd -1: none */
	struct loop_fd tcp;
	struct loop_timer accept_timer; /* runs while new connections have to wait */
	struct conn_list conns;
	struct listener *listener;
	struct worker *worker;
	struct route *route; /* of the worker's current generation; NULL: not serving */
	bool registered;
	bool wildcard;
};

struct listener {
	struct listener *next;
	char *label;
	enum transport transport;
	union net_addr addr;
	unsigned first, n; /* workers that serve it */
	_Atomic uint32_t n_conns;
	struct listener_sock sock[]; /* one for each of them */
};

/* Memory of a query beyond its slot. */
struct mem_block {
	struct mem_block *next;
	uint8_t data[];
};

/* Blocks of one size, of one worker. */
struct block_pool {
	struct mem_block *free;
	uint32_t n, used; /* allocated; of these in use */
};

struct tx_entry {
	union net_addr to;
	unsigned char control[NET_PKTINFO_BYTES] CACHE_ALIGNED;
	struct mem_block *big; /* holds the bytes when not in buf */
	int fd;
};

/* Connections of one kind, over all workers that serve it. */
struct conn_pool {
	uint32_t max;
	_Atomic uint32_t n;
	pthread_mutex_t lock; /* guards clients */
	struct client_table *clients;
};

struct worker {
	struct server *srv;
	unsigned index;
	bool is_stream; /* serves encrypted transports: handshakes hold up nobody else */
	struct conn_pool *pool;
	pthread_t thread;
	bool running; /* the thread was started */
	struct loop *loop;
	struct generation *gen;
	const struct net_ops *ops;
	struct rng rng;
	struct dns_rrtext *rrtext;
	struct regex_scratch *regex;

	struct strbuf line; /* log line being made; keeps its memory */

	/* slots */
	struct query *free;
	uint32_t n_slots, n_used;
	VEC(void *) slabs;
	struct block_pool small, large;
	struct waiting waiting;

	struct worker_hook *hooks; /* armed in this batch */

	/* queries to (re)start */
	struct query *run_first, *run_last;

	/* receiving */
	struct query *rx_q[BATCH];
	struct mmsghdr rx[BATCH];
	struct iovec rx_iov[BATCH];
	unsigned char rx_control[BATCH][NET_PKTINFO_BYTES] CACHE_ALIGNED;

	/* sending */
	unsigned n_tx;
	struct mmsghdr tx[BATCH];
	struct iovec tx_iov[BATCH];
	struct tx_entry tx_e[BATCH];
	uint8_t (*tx_buf)[TX_BYTES];

	/* TCP */
	struct conn_list conns;
	struct loop_msg room_msg; /* another worker needs room: conn_room.c */
	_Atomic bool room_asked;  /* and it is on its way */
	_Atomic unsigned room_hops;
	uint8_t *tcp_in;  /* scratch */
	uint8_t *tcp_out; /* scratch */
};

struct logq;

struct server {
	struct server_opts opts;
	unsigned n_workers; /* of UDP and TCP: the first ones */
	unsigned n_stream;  /* of encrypted transports: the last ones */
	unsigned n_all;	    /* both: slots of metrics, log rings, instances */
	unsigned n_active;  /* n_all once a configuration needed the stream workers */
	struct worker *worker;
	struct generation *gen;	    /* control thread */
	struct generation *retired; /* replaced, with queries in flight; control thread */
	struct listener *listeners;
	struct logq *logq;

	pthread_mutex_t lock; /* guards acks, ack_error and n_left of generations */
	pthread_cond_t cond;
	unsigned acks;
	int ack_error;

	struct conn_pool plain, stream;
};

/* slab.c */
struct query *slot_take(struct worker *worker); /* NULL: at the hard cap */
/* The request in q->buf has n bytes: the rest of its room goes to the arena. Before anything was
 * taken from that. */
void slot_fit(struct query *q, size_t count);
/* Room for a request that is longer than a slot takes; before anything was taken from the arena.
 * NULL: none left. */
uint8_t *slot_request_room(struct query *q, size_t count);
void slot_release(struct worker *worker, struct query *q);
/* What the query's arena hands out after the mark is given back by rewinding to it. */
struct slot_mark {
	char *cur, *end;
	struct mem_block *small, *large;
};
struct slot_mark slot_mark(const struct query *q);
void slot_rewind(struct query *q, struct slot_mark mark);
struct mem_block *big_take(struct worker *worker); /* NULL: pool used up */
void big_release(struct worker *worker, struct mem_block *block);
/* May another sub-query be made? Those that nobody waits for leave room to those of clients. */
bool slots_allow_sub(const struct worker *worker, bool detached);
void slab_done(struct worker *worker);
enum {
	SMALL_BYTES = SLOT_BYTES - sizeof(struct mem_block),
	BIG_BYTES = 65536 + 1024,
	BIG_UNITS = BIG_BYTES / SLOT_BYTES,
	BIG_MAX = 256, /* of a worker */
	BIG_KEPT = 64, /* of these stay allocated when they are free */
	BIG_PER_QUERY = 64,
	BIG_WAITING_MAX = 16, /* held by waiting queries: the rest is for those that run */
};
/* Memory in use in units of a slot; of one query. */
static inline uint32_t slab_units(const struct worker *worker)
{
	return worker->n_used + worker->small.used + worker->large.used * BIG_UNITS;
}
static inline uint32_t slot_units(const struct query *q)
{
	return 1U + q->n_small + q->n_large * (uint32_t)BIG_UNITS;
}

/* Was it allowed to wait, with no more memory than it has now? */
static inline bool waiting_is_charged(const struct query *q)
{
	return q->admitted && q->n_large == 0 && q->units == slot_units(q);
}

/* chain.c */
void chain_start(struct query *q);
void chain_drain(struct worker *worker);
/* The last message of a stream was sent, or its client is gone. */
void chain_stream_end(struct query *q);
/* Replies with rcode without running any chain; counted as zone `dropped`. */
void chain_refuse(struct query *q, uint16_t rcode);
/* route.c */
/* Finds the block; true when q->block and q->zone are set, else *ret_rcode is to be replied. */
bool route_query(struct query *q, const struct route *route, uint16_t *ret_rcode);

/* reply.c: encodes and sends q->resp (or nothing after V_DROP), then frees the slot. */
void reply_send(struct query *q);
/* A reply without a parsed question: FORMERR, NOTIMP, SERVFAIL. */
void reply_bare(struct query *q, uint16_t rcode);
void reply_flush(struct worker *worker);
void reply_complete(struct query *q); /* EDNS and failure rules; before done and encoding */

/* udp.c */
void udp_readable(struct loop_fd *loop_fd, uint32_t events);
void udp_prepare(struct worker *worker);

/* conn_room.c */
void conn_list_init(struct conn_list *list);
void conn_room_asked(struct loop_msg *msg);

/* tcp.c */
void tcp_acceptable(struct loop_fd *loop_fd, uint32_t events);
void tcp_accept_again(struct loop_timer *timer);
void tcp_send(struct query *q, uint8_t *msg, size_t len);
/* Can a stream of messages be sent where the query came from? */
bool tcp_can_stream(const struct query *q);
void tcp_query_done(struct query *q);
void tcp_close_all(struct worker *worker);
/* The listener is given up: its connections close when their replies are sent. */
void tcp_leave(struct listener_sock *sock);
bool tcp_conn_gone(const struct tcp_conn *conn);
void tcp_stream(struct query *q);

/* generation.c */
MUST_CHECK int generation_build(struct server *srv, struct corefile *cf, bool dry,
				struct generation **ret, struct srcerr *err);
void generation_free(struct generation *generation, bool aborted);
/* listener.c */
MUST_CHECK int listeners_open(struct server *srv, struct generation *generation,
			      struct srcerr *err);
/* Closes those that neither the live generation nor a retired one uses. */
void listeners_close_unused(struct server *srv);
struct listener *listener_find(struct server *srv, const char *label);
/* Its sockets on this worker; NULL: it is served by others. */
struct listener_sock *listener_on(struct listener *listener, const struct worker *worker);
/* One per worker thread. */
void worker_switch(struct worker *worker, struct generation *generation);
/* The last query of a retiring generation is done on this worker. */
void worker_leave(struct worker *worker, struct generation *generation);
MUST_CHECK int worker_start(struct worker *worker, struct server *srv, unsigned index);
/* The end of a batch: queries that can go on do, hooks run, replies leave. */
void worker_flush(struct worker *worker);
void worker_prepare(struct worker *worker);
void worker_cleanup(struct worker *worker);
