/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A query in flight. It is born in a slot of its worker's slab, never moves, and is touched by that
 * worker's thread only. Memory from its arena needs no freeing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/slice.h"
#include "dns/request.h"
#include "dns/resp.h"
#include "net/addr.h"
#include "net/loop.h"
#include "server/handler.h"

struct dns_rrtext;
struct dns_tsig;
struct listener;
struct regex_scratch;
struct route;
struct tcp_conn;
struct mem_block;
struct listener_sock;
struct udp_sock;
struct waiting_client;
struct block_zone;

enum query_proto { QUERY_UDP, QUERY_TCP };

struct query_meta {
	struct query_meta *next;
	struct slice label;
	struct slice (*value)(struct plugin_inst *self, struct query *q, struct slice label);
	struct plugin_inst *self;
};

struct query {
	/* What was asked. req.opt may be changed by plugins (bufsize). */
	struct dns_request req;
	const uint8_t *question; /* for the reply: name, type, class as the client asked */
	uint16_t question_len;
	bool in_walk; /* asked, directly or not, by a walk along a search list (SUB_WALK) */
	enum query_proto proto;
	union net_addr client;
	union net_addr local; /* address that was asked, with the listener's port */

	/* Where it went. */
	struct block *block;
	const struct block_zone *zone; /* longest zone of the block */
	struct listener *listener;
	struct route *route; /* of its listener in its generation */
	struct generation *gen;
	struct worker *worker;

	/* What became of it. */
	const struct dns_opt *echo; /* options sent to the client instead of req.opt's; or NULL */
	/* Signs each message of the reply, whatever became of the query; NULL: not signed. Set in
	 * serve, once the request was verified; valid until done. */
	struct dns_tsig *tsig;
	struct dns_resp resp; /* valid after V_ANSWERED; in done(): as sent (also after V_FAIL) */
	uint16_t rcode;	      /* with V_FAIL */
	/* With V_FAIL: text for `errors`, or NULL. Also logged with V_ANSWERED if rcode is 0: a
	 * reply was made of the failure. */
	const char *err;
	enum verdict outcome; /* V_ANSWERED, V_FAIL or V_DROP; set when the chain turned */
	bool is_sub;	      /* a sub-query */
	bool unkept;	      /* with V_ANSWERED: costs less to make than to keep; not for caches */
	bool hit_limit;	      /* memory or another limit of our own was reached: not for caches */
	bool chased;	      /* the whole server was asked for a part of it */
	bool written;	      /* in done(): a reply was made (outcome is not V_DROP) */
	bool own_opt;	      /* in done(): the reply had an OPT of its own */
	uint8_t depth;	      /* of sub-queries */
	uint16_t wire_len;    /* in done(): bytes sent */
	/* metrics_number of the series that counts this reply, to which a cache adds each time it
	 * serves it; 0: none. */
	uint16_t tally;

	uint64_t start_ns;    /* when the batch it came in was received (monotonic) */
	uint64_t deadline_ns; /* 0: none */

	struct arena arena;
	struct query_meta *meta;

	/* Finished sub-queries, newest first; freed with this query. */
	struct query *sub;
	struct query *sub_next;
	struct query *running; /* sub-queries not finished yet, by sub_next */

	/* V_STREAM: fills q->resp with the next message; 1 more to come, 0 this was the last,
	 * negative: break the connection. What it takes from the arena (but its own query_state)
	 * lasts until the message is sent. */
	int (*stream_next)(struct plugin_inst *self, struct query *q);

	/* ---- below: the server's own ---- */
	uint16_t at;	  /* chain cursor */
	uint16_t top;	  /* first index of the chain that this run covers */
	uint16_t entered; /* instances below this index were entered */
	bool up;	  /* direction of the cursor */
	bool waiting;	  /* V_WAIT was returned */
	bool resumed;	  /* query_resume was called */
	bool armed;	  /* it may be resumed, or its timer may run, without a wait */
	bool detached;
	bool started;
	void **state; /* per-instance states, allocated at first use */
	struct query *parent;
	const struct plugin_inst *asker; /* of SUB_BELOW and SUB_DETACHED */
	struct query *next;		 /* free list, run queue */
	struct tcp_conn *conn;		 /* NULL on UDP */
	struct listener_sock *sock;
	uint32_t http_stream; /* DNS over HTTPS: the request it came in */
	bool replied;	      /* DNS over HTTPS: that has its response */
	struct udp_sock *udp; /* where it came in and the reply leaves; NULL on TCP */
	struct loop_timer timer;
	struct mem_block *small, *large; /* from the worker's pools, for this query */
	uint16_t n_small, n_large;
	/* While it waits, and until it is over: */
	struct waiting_client *holder; /* the client that its memory is counted for; NULL: none */
	uint16_t units;		       /* counted for it */
	uint16_t waiting_large;	       /* counted in the worker's waiting.n_large */
	bool admitted;		       /* it may wait */
	struct dns_qname qname;
	uint8_t buf[]; /* request bytes, then the arena */
};

/* ---- for plugins ---- */

/* The instance's zeroed bytes for this query (plugin->state_size), from serve to done; NULL when
 * the arena is used up. */
void *query_state(struct query *q, const struct plugin_inst *self);

/* The same where query_state was called before for this query; else NULL. */
static inline void *query_state_get(const struct query *q, const struct plugin_inst *self)
{
	return q->state != NULL ? q->state[self->state_at] : NULL;
}

/* Starts q->resp as an empty NOERROR reply to q (AA not set). */
void query_reply(struct query *q);
/* Adds the OPT to q->resp that the server would add in the end, for callers that need the size. The
 * request keeps only the options that are in it. */
void query_reply_opt(struct query *q);

/* V_FAIL with this code; err may be NULL. */
enum verdict query_fail(struct query *q, uint16_t rcode, const char *err);
/* The same with a text formatted into the arena. */
enum verdict query_failf(struct query *q, uint16_t rcode, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same for a limit of this server, which says nothing about the name: SERVFAIL that no cache
 * keeps. */
enum verdict query_fail_limit(struct query *q, const char *err);

/* May q wait for something else than its own sub-queries? No when too many queries wait already, of
 * its client or of all. V_WAIT asks the same and fails; ask here first where there is another
 * answer to send or work to save. */
bool query_may_wait(struct query *q);

/* Continues a query that returned V_WAIT; may come before V_WAIT was returned. Ends
 * query_resume_at's timer; a resume that comes when another verdict was returned is forgotten.
 * Worker's thread only. */
void query_resume(struct query *q);
/* Resumes q at the given time (monotonic ns) unless it is resumed before; to be followed by V_WAIT.
 */
void query_resume_at(struct query *q, uint64_t due_ns);

/* Is q a SUB_DETACHED query of this instance? */
static inline bool query_is_refresh(const struct query *q, const struct plugin_inst *self)
{
	return q->detached && q->asker == self;
}

/* Asks something else from here down the chain (and in what `done` and `respond` see from then on;
 * ask the old question again to undo it, after dns_resp_own: records may point at q->qname). The
 * reply keeps the question the client asked. `name` is copied. ERR_SPACE. */
MUST_CHECK int query_ask(struct query *q, const uint8_t *name, uint16_t qtype, uint16_t qclass);

/* Its connection closed: whatever comes of it will not be sent. */
bool query_client_gone(const struct query *q);

/* The rcode a client gets (or would get). */
static inline uint16_t query_rcode(const struct query *q)
{
	return q->outcome == V_ANSWERED ? q->resp.rcode : q->rcode;
}

/* Lower-cased question name as text with final dot, kept in the arena; "" when memory is gone. */
struct slice query_name_text(struct query *q);
/* Client address as text without port and brackets, in the arena. */
struct slice query_client_text(struct query *q);
/* "udp" or "tcp". */
const char *query_proto_text(const struct query *q);
/* EDNS size of the client as CoreDNS's state.Size(): at least 512; 65535 on TCP. */
uint16_t query_udp_size(const struct query *q);
/* View and server names as metrics label them ("", "dns://:53"). */
const char *query_view_label(const struct query *q);
const char *query_server_label(const struct query *q);

/* Metadata (only when the `metadata` plugin runs in this block). */
void query_meta_set(struct query *q, struct plugin_inst *self, const char *label,
		    struct slice (*value)(struct plugin_inst *self, struct query *q,
					  struct slice label));
/* The value, or {NULL, 0} when there is none. */
struct slice query_meta_get(struct query *q, struct slice label);

/* Services of the worker. Time: of this batch, or read anew after a wait. */
uint64_t query_now(const struct query *q);
struct loop *query_loop(struct query *q);
struct rng *query_rng(struct query *q);
/* The worker's slot for metrics and log rings: its index plus one. */
unsigned query_slot(const struct query *q);
struct dns_rrtext *query_rrtext(struct query *q);
/* Match data for patterns of up to QUERY_REGEX_GROUPS groups. */
enum { QUERY_REGEX_GROUPS = 128 };
struct regex_scratch *query_regex(struct query *q);
/* A line into the worker's log ring (dropped and counted when full). */
void query_log(struct query *q, enum log_level level, const char *area, struct slice text,
	       struct slice json_extra);
void query_logf(struct query *q, enum log_level level, const char *area, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* A worker as plugins see it. */
struct loop *worker_loop(struct worker *worker);
/* As query_log, where there is no query: timers. Worker's thread only. */
void worker_log(struct worker *worker, enum log_level level, const char *area, struct slice text,
		struct slice json_extra);
unsigned worker_slot(const struct worker *worker);
const struct net_ops *worker_net_ops(struct worker *worker);
