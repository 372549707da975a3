/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a query waits for upstreams: the state machine of serve.c and what it is made of. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/forward/conf.h"
#include "resolve/types.h"
#include "server/query.h"
#include "server/worker_hook.h"

enum {
	FORWARD_RCODES = 24, /* response codes that have a name */
	FORWARD_PROTOS = RESOLVE_TCP_TLS + 1,
	FORWARD_TYPES = 12, /* of questions that are counted by name; and the rest */
	FORWARD_COOKIE_CLIENT = 8,
	FORWARD_COOKIE_SERVER_MAX = 32,
};

/* Clients commonly wait 5 s: an answer must be there before. */
#define FORWARD_DEADLINE_NS (UINT64_C(4900) * 1000000)
/* How long setting a TLS connection up may take: half of CoreDNS's 5 s for a query. */
#define FORWARD_TLS_NS (UINT64_C(2500) * 1000000)

/* What a worker knows of an upstream. */
struct forward_up {
	struct resolve_upstream *upstream;
	struct metrics_series *duration[FORWARD_RCODES + 1]; /* the last: codes without a name */
	struct metrics_series *conn[FORWARD_PROTOS][2];	     /* missed, hit */
	struct metrics_series *asked[FORWARD_TYPES];
	uint64_t silent_since; /* asked then, and nothing has come since; 0: it replies */
	uint8_t late;	       /* times in a row that nothing came in (hedge) time */
	uint8_t cookie_n;      /* of the server's cookie; 0: none yet */
	uint8_t cookie_local[FORWARD_COOKIE_CLIENT];
	uint8_t cookie_server[FORWARD_COOKIE_SERVER_MAX];
};

/* Queries of a stanza that wait, on all workers; counted only with max_concurrent. A line of its
 * own: what stands beside it would be slow to read. */
struct forward_active {
	_Atomic uint64_t n CACHE_ALIGNED;
};

struct forward_worker {
	struct worker *worker;
	unsigned slot;
	struct resolver *resolver;
	struct worker_hook hook; /* sends what the batch wants to send */
	uint32_t *robin;	 /* by stanza */
	struct forward_up *up;	 /* by index over all stanzas */
};

struct forward_conf {
	struct forward_stanza *stanza;
	unsigned n_stanza;
	struct resolve_upstream **up; /* of all stanzas, one after the other */
	unsigned n_up;
	struct metrics_series *broken, *rejects;
	uint64_t *probes_shown; /* failed probes by upstream that metrics have seen */
	bool collecting;
	struct forward_active *active; /* by stanza */
};

enum forward_try_state { FORWARD_TRY_IDLE, FORWARD_TRY_RUNNING, FORWARD_TRY_ENDED };

/* One exchange of a query. */
struct forward_try {
	struct resolve_exchange exchange;
	struct forward_query *query;
	enum forward_try_state state;
	uint8_t up; /* index in the stanza */
	uint64_t start_ns;
	uint16_t flags; /* of the reply */
	uint8_t *reply; /* a copy in the query's arena; NULL: no room */
};

enum { FORWARD_TRIES = 2 }; /* the second is the hedge */

/* A query in forward: plugin state of the query. */
struct forward_query {
	struct query *q;
	struct forward_worker *worker;
	const struct forward_conf *conf;
	const struct forward_stanza *stanza; /* the stanza at work; NULL: none */
	uint64_t deadline_ns;
	uint64_t hedge_at_ns; /* 0: none due */
	uint8_t *msg;
	uint16_t msg_n;
	uint16_t options_n; /* of the OPT that ends it */
	uint16_t udp_max;   /* longest UDP reply that is accepted */
	bool counted;	    /* in conf->active */
	bool own_opt;	    /* the OPT in msg is ours: the client has none */
	bool cookie_again;  /* BADCOOKIE was answered by asking again */
	bool list_ready;
	uint8_t first;	 /* upstream asked first */
	uint8_t at;	 /* next position in the list */
	uint8_t fails;	 /* upstreams found down since the list's start */
	uint8_t skipped; /* passed over because they are late */
	uint8_t failovers;
	uint8_t *list; /* upstreams by order of preference, once more than the first is needed */
	uint32_t attempts;
	/* The last error. */
	const struct resolve_upstream *failed;
	enum resolve_result fail_result;
	enum resolve_proto fail_proto;
	int fail_error;
	union net_addr fail_local;
	const char *fail_text;
	const char *upstream; /* asked last, for metadata */
	struct forward_try first_try;
	struct forward_try *tries[FORWARD_TRIES]; /* first_try, and one made when a hedge is due */
};

enum verdict forward_serve(struct plugin_inst *self, struct query *q);
enum verdict forward_resume(struct plugin_inst *self, struct query *q);
void forward_done(struct plugin_inst *self, struct query *q);

static inline struct forward_up *forward_up(const struct forward_query *query, unsigned index)
{
	return &query->worker->up[query->stanza->first + index];
}

enum forward_cookie {
	FORWARD_COOKIE_FINE,
	FORWARD_COOKIE_FORGED, /* not for us */
	FORWARD_COOKIE_AGAIN,  /* ask again with the cookie that came */
	FORWARD_COOKIE_TCP,    /* missing or refused twice: only TCP can be believed */
};
