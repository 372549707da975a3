/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNS client: questions to servers given by address, over UDP, TCP, TLS and HTTPS, on an event
 * loop. It resolves nothing by itself: no cache, no recursion, no search list.
 *
 * Glossary
 *   upstream  a server to ask and how to reach it. One object for all threads: its health, its
 *             round-trip time and its counts are atomics
 *   resolver  what one loop owns: sockets and connections to upstreams, exchanges in flight
 *   exchange  one question on its way to one upstream, until its reply, an error or a time-out
 *   probe     the question a health check asks
 *
 * UDP goes over a few connected sockets per resolver and upstream (random ports, random ids); TCP
 * and TLS connections carry many questions at once and take replies in any order. Nothing blocks
 * and nothing is allocated per exchange: the struct is the caller's. A query is sent again where a
 * connection breaks that was there before; an UPDATE never, since it may have been applied. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "net/addr.h"
#include "net/loop.h"
#include "net/sock.h"

struct net_tls_cred;
struct resolver;
struct resolve_link; /* a socket or connection */

enum resolve_transport {
	RESOLVE_PLAIN, /* UDP, or TCP if the exchange asks for it */
	RESOLVE_TLS,
	RESOLVE_HTTPS,
};

/* How an upstream is reached. Texts are copied. Zero durations and counts mean the default. */
struct resolve_conf {
	enum resolve_transport transport;
	union net_addr addr;	   /* with port */
	union net_addr source;	   /* AF_UNSPEC: the kernel's choice */
	const char *server_name;   /* TLS: sent and verified; NULL or "": the address */
	const char *http_host;	   /* HTTPS: authority; NULL: server_name or the address */
	const char *http_path;	   /* HTTPS: NULL: "/dns-query" */
	bool http_get;		   /* HTTPS: GET instead of POST */
	struct net_tls_cred *cred; /* TLS, HTTPS: a reference is taken */
	uint64_t expire_ns;	   /* idle connections close after; default 10 s */
	uint64_t max_age_ns;	   /* connections are not used for longer; 0: no limit */
	unsigned max_idle;	   /* connections kept per resolver while idle; 0: no limit */
	/* Health check (health.h): every interval (default 0.5 s) `NS` of `domain` (wire form,
	 * NULL: the root; copied) with RD unless no_rec, over TCP when probe_tcp. */
	uint64_t probe_interval_ns;
	const uint8_t *probe_domain;
	bool probe_no_rec;
	bool probe_tcp;
};

/* What an exchange went over, as metrics name it: resolve_proto_name. */
enum resolve_proto { RESOLVE_UDP, RESOLVE_TCP, RESOLVE_TCP_TLS, RESOLVE_DOH };

struct resolve_upstream {
	struct resolve_conf conf;
	char text[NET_ADDR_TEXT_MAX];	/* "192.0.2.1:53", the label of metrics */
	_Atomic uint32_t fails;		/* probes in a row; reset by one that was answered */
	_Atomic uint64_t failed_probes; /* in all */
	_Atomic bool probing;		/* some resolver has a health check running */
	_Atomic uint64_t srtt_ns;	/* smoothed; 0: not measured */
	_Atomic uint64_t dial_ns;	/* smoothed time to connect */
	_Atomic unsigned refs;
};

/* One per loop (worker). `ops` carries UDP, so that benchmarks can fake the network. `arm` is
 * called with `ctx` when something waits to be sent: call resolver_flush soon, at the latest at the
 * end of the loop's turn (so a batch of questions leaves in few system calls). */
struct resolver_env {
	struct loop *loop;
	const struct net_ops *ops;
	void (*arm)(void *ctx);
	void *ctx;
};

struct resolver_stats {
	uint64_t strays; /* messages with an id nobody waits for: late or forged; ignored */
	uint64_t mismatched, garbled;
	uint64_t opened; /* sockets and connections */
};

enum resolve_result {
	RESOLVE_OK,	  /* reply and reply_n are a message with our id and our question */
	RESOLVE_TIMEOUT,  /* nothing came in time */
	RESOLVE_NETWORK,  /* refused, unreachable, closed, handshake failed: see `error` */
	RESOLVE_GARBLED,  /* our id, but not a whole DNS message */
	RESOLVE_MISMATCH, /* our id, another question */
};

/* A bit for each byte of the longest name. */
enum { RESOLVE_CASE_BYTES = 32 };

/* Zero it, fill the first part, start it. It must stay where it is until done is called or it was
 * cancelled. */
struct resolve_exchange {
	struct resolve_upstream *up;
	uint8_t *msg; /* whole query; its id is overwritten; borrowed until the end */
	uint16_t msg_n;
	bool tcp;		/* RESOLVE_PLAIN: over TCP */
	bool random_case;	/* 0x20: letters of the question get random case, the reply must
				   bring the same */
	bool fresh;		/* not over a connection that was there before */
	uint32_t question_hash; /* same for equal questions: over UDP, each goes over another
				   socket as long as there are some; 0: not told */
	uint64_t deadline_ns;	/* monotonic; RESOLVE_TIMEOUT then */
	void (*done)(struct resolve_exchange *exchange);

	/* For done. The reply is valid only during the call. It has the id that was in msg when the
	 * exchange started. */
	enum resolve_result result;
	int error;		/* RESOLVE_NETWORK: -errno or an ERR_ code */
	const char *error_text; /* the same for people, static: "connection refused" */
	union net_addr local;	/* after an error: where it was sent from; AF_UNSPEC: never sent */
	uint8_t *reply;
	uint16_t reply_n;
	bool reply_tc; /* over UDP and too long to be read whole: only its header was kept */
	bool reused;   /* went over a socket or connection that was there before (a hit of the
			  connection cache, in CoreDNS's metrics) */
	enum resolve_proto proto; /* valid from resolve_start on */
	uint64_t rtt_ns;	  /* RESOLVE_OK */

	/* ---- below: the resolver's own ---- */
	uint8_t state;
	bool retried;
	bool alone;	   /* wants a connection without other questions */
	uint16_t asked_id; /* the caller's */
	uint16_t wire_id;
	uint16_t question_n; /* bytes of the one question */
	uint16_t slot;
	uint32_t link_after; /* only links opened later */
	uint32_t http_stream;
	struct resolve_link *link;
	struct resolve_exchange *next, *prev; /* by deadline */
	struct resolve_exchange *hash_next, *question_next;
	struct resolve_exchange *q_next, *q_prev; /* waiting to be sent, or for done */
	uint64_t sent_ns;
	uint8_t case_bits[RESOLVE_CASE_BYTES]; /* random_case: letters of the name that were flipped
						*/
};

/* In done: the result as a code. 0, -ETIMEDOUT, the exchange's `error`, or ERR_PARSE for a reply that is
 * no answer to the question. */
int resolve_error_of(const struct resolve_exchange *exchange);
/* In done: a reply over UDP whose end is missing, so that the question should be asked over TCP. */
bool resolve_is_truncated(const struct resolve_exchange *exchange);
/* Forgets it; done is not called. Fine for one that is not running. */
void resolve_cancel(struct resolver *resolver, struct resolve_exchange *exchange);
