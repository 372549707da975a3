/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hosts whose addresses rules depend on: what is known of each, until when, and when to look it up
 * again. Addresses are a union over answers: one leaves when answers no longer have it and its time,
 * with a grace, is over (EF-S5, EF-S6). Pure: callers pass the time and hold a lock.
 *
 * Glossary
 *   host       a name with addresses: a regular name of a rule, or one below a wildcard
 *   reported   TTL and time of the next lookup as the DNSName object has them. They move only when they
 *              say something new (EF-S4), so that a steady system writes nothing
 *   origin     when an address was first seen, and the end of the CNAME chain that led to it then. It
 *              stays for as long as the address does: reporting it costs no write of its own */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>

#include "base/map.h"
#include "base/vec.h"
#include "controller/egressfirewall/shares.h"
#include "net/addr.h"

enum {
	TRACKED_ADDRESSES_MAX = 256, /* of one host; further ones are left out */
	TRACKED_TTL_MIN_S = 5,
	TRACKED_TTL_MAX_S = 86400,
	TRACKED_GRACE_S = 5,
	TRACKED_EMPTY_S = 300,	  /* between lookups of a host without addresses, at most */
	TRACKED_FAILURES_MAX = 5, /* in a row, after which expired addresses leave */
	TRACKED_RETRY_S = 5,	  /* after the first failure; doubles */
	TRACKED_RETRY_MAX_S = 120,
	TRACKED_SPREAD = 1024, /* what a random spread is below */
	TRACKED_ERROR_MAX = 96,
};

struct tracked_now {
	uint64_t mono_ns, wall_ns;
};

struct tracked_address {
	uint8_t bytes[16];
	uint8_t n;	     /* 4 or 16 */
	bool missing;	     /* from the last answer of its family */
	uint32_t ttl_s;	     /* reported */
	uint64_t lookup_ns;  /* reported, wall time */
	uint64_t expires_ns; /* monotonic; whoever got it in an answer may use it until then */
	uint64_t first_ns;   /* reported, wall time; 0: unknown */
	char *canonical;     /* reported, owned by the host; NULL: the address is the host's own */
};

struct tracked_host {
	char *name;			       /* canonical */
	VEC(struct tracked_address) addresses; /* IPv4 first, ascending */
	struct shares_place place;     /* of a learnt one, among the hosts of its wildcard */
	bool is_regular;	       /* a rule names it: it stays, with addresses or without */
	bool answered;		       /* since the start of the process */
	unsigned failures;	       /* in a row */
	uint64_t next_lookup_ns;       /* monotonic */
	char error[TRACKED_ERROR_MAX]; /* of the last lookup; "": none */
	char left_out
		[INET6_ADDRSTRLEN]; /* an address of its last answer that is never learnt; "": none */
};

struct tracked_hosts {
	struct map by_name;   /* struct tracked_host, owned */
	struct map by_parent; /* hosts directly below a name */
	struct shares shares; /* learnt ones by wildcard */
};

void tracked_init(struct tracked_hosts *hosts);
void tracked_done(struct tracked_hosts *hosts);
/* NULL: unknown. */
struct tracked_host *tracked_find(const struct tracked_hosts *hosts, const char *name);
/* The host, added if it is new and then due at once. Never NULL. */
struct tracked_host *tracked_add(struct tracked_hosts *hosts, const char *name,
				 const struct tracked_now *now);
/* The same for a host that was learnt, below a wildcard (the name of its object), for a client (shares.h). NULL: there
 * are too many. */
struct tracked_host *tracked_add_learnt(struct tracked_hosts *hosts, const char *name,
					const char *wildcard, uint64_t client_id,
					const struct tracked_now *now);
void tracked_remove(struct tracked_hosts *hosts, struct tracked_host *host);
/* Which host makes room for another one of the client below the wildcard. NULL: there is none. */
struct tracked_host *tracked_oldest_for(const struct tracked_hosts *hosts, const char *wildcard,
					uint64_t client_id);
/* Rules name the host, or no longer do; then `wildcard` covers it, or NULL: nothing does. */
void tracked_set_regular(struct tracked_hosts *hosts, struct tracked_host *host, bool is_regular,
			 const char *wildcard);
/* Each host that "*.PARENT" covers; `fn` changes no table. */
void tracked_each_below(const struct tracked_hosts *hosts, const char *parent, bool any_depth,
			void (*fn)(void *ctx, struct tracked_host *host), void *ctx);

/* ---- one host ---- */

/* Takes an address over from the DNSName object, after a start. Its `canonical` is the argument, of
 * which it gets a copy; NULL: there is none. */
void tracked_host_restore(struct tracked_host *host, const struct tracked_address *address,
			  const char *canonical, const struct tracked_now *now);

struct tracked_answer {
	sa_family_t family;
	const union net_addr *addresses; /* all of that family */
	size_t n;
	uint32_t ttl_s;	       /* the lowest of the chain */
	const char *canonical; /* the end of the chain; NULL: there is none */
};
/* An answer about one family: adds and renews its addresses, and marks the others. Addresses that must
 * not be learnt (api/egress/range.h) are left out. True: what is reported of the host has changed. */
bool tracked_host_answer(struct tracked_host *host, const struct tracked_answer *answer,
			 const struct tracked_now *now);
/* Notes an address of the last answers that is never learnt; NULL: they have none. True: what is reported of
 * a host without addresses has changed. */
bool tracked_host_leave_out(struct tracked_host *host, const union net_addr *address);
/* An address from an answer that a DNS server gave to a client: */
struct tracked_sighting {
	const union net_addr *address;
	uint32_t ttl_s;
	const char *canonical; /* the end of the chain; NULL: there is none */
	uint64_t first_ns;     /* wall time; 0, or later than now: now */
};
/* Adds or renews it, and says nothing about others. True as above. */
bool tracked_host_learn(struct tracked_host *host, const struct tracked_sighting *sighting,
			const struct tracked_now *now);
/* After the answers of a lookup: the next one is due after the lowest TTL, later by up to a tenth of
 * it (`spread` is random, below TRACKED_SPREAD). Forgets failures; true: there were some. */
bool tracked_host_looked_up(struct tracked_host *host, uint32_t ttl_s, uint32_t spread,
			    const struct tracked_now *now);
/* Without an answer: it is retried later, and addresses stay for TRACKED_FAILURES_MAX times. True:
 * it is the first failure. */
bool tracked_host_failed(struct tracked_host *host, const char *error, uint32_t spread,
			 const struct tracked_now *now);
/* Removes what has expired; true: there was something. */
bool tracked_host_expire(struct tracked_host *host, const struct tracked_now *now);
/* Monotonic time at which it wants a lookup or an address expires. */
uint64_t tracked_host_due_ns(const struct tracked_host *host);
/* Is there nothing left to keep it for? Never of a regular one. */
bool tracked_host_is_spent(const struct tracked_host *host);
/* The latest end of one of its addresses; 0: it has none. */
uint64_t tracked_host_expires_ns(const struct tracked_host *host);
