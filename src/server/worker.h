/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A worker: one thread with its own loop, sockets, slots and send queue. Everything in the struct
 * belongs to that thread unless it says otherwise. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "net/addr.h"
#include "net/loop.h"
#include "net/sock.h"
#include "server/conn/conn_limits.h"
#include "server/slab.h"
#include "server/waiting.h"

struct generation;
struct server;
struct worker_hook;

enum {
	WORKER_BATCH = 64,
	WORKER_TX_BYTES = 1536, /* replies up to this need no block from the pool */
	WORKERS_MAX = 1024,
};

/* One reply of the batch that is being sent. */
struct tx_entry {
	union net_addr to;
	unsigned char control[NET_PKTINFO_BYTES] CACHE_ALIGNED;
	struct mem_block *big; /* holds the bytes when not in buf */
	int fd;
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
	struct query *rx_q[WORKER_BATCH];
	struct mmsghdr rx[WORKER_BATCH];
	struct iovec rx_iov[WORKER_BATCH];
	unsigned char rx_control[WORKER_BATCH][NET_PKTINFO_BYTES] CACHE_ALIGNED;

	/* sending */
	unsigned n_tx;
	struct mmsghdr tx[WORKER_BATCH];
	struct iovec tx_iov[WORKER_BATCH];
	struct tx_entry tx_e[WORKER_BATCH];
	uint8_t (*tx_buf)[WORKER_TX_BYTES];

	/* TCP */
	struct conn_list conns;
	struct loop_msg make_room_msg; /* another worker needs room: conn/conn_limits.c */
	_Atomic bool room_asked;       /* and it is on its way */
	_Atomic unsigned room_hops;
	uint8_t *tcp_in;  /* scratch */
	uint8_t *tcp_out; /* scratch */
};

MUST_CHECK int worker_start(struct worker *worker, struct server *srv, unsigned index);
/* The thread has ended. */
void worker_cleanup(struct worker *worker);

/* On the worker's thread: serves by this generation from now on; NULL: stops serving. */
void worker_switch(struct worker *worker, struct generation *generation);
/* Calls worker_done of the instances that were initialised here. */
void worker_uninit(struct worker *worker, struct generation *generation);
/* The last query of a retiring generation is done on this worker. */
void worker_leave(struct worker *worker, struct generation *generation);
/* The end of a batch: queries that can go on do, hooks run, replies leave. */
void worker_flush(struct worker *worker);
