/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lookups on an event loop, as a stub resolver makes them: the servers of a list are asked one after
 * the other, over UDP and again over TCP when truncated, until one has an answer; one that was silent
 * is not the first any more. Names are absolute:
 * there is no search list. Thousands may be under way; LOOKUP_AT_ONCE are sent at a time, the others
 * wait for their turn. All calls are on the loop's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "dns/message.h"
#include "resolve/types.h"

struct lookup_client;
struct lookup_slot;

enum {
	LOOKUP_SERVERS_MAX = 8,
	LOOKUP_AT_ONCE =
		128, /* that are sent and not answered: what fits into a socket of the server */
	LOOKUP_ROUNDS = 2, /* how often each server is asked */
};
#define LOOKUP_TRY_NS (2 * NS_PER_S) /* for one server's answer */

struct lookup_conf {
	struct loop *loop;
	const union net_addr *servers; /* with ports; copied; at least one */
	size_t n_servers;
	bool tcp;	 /* without trying UDP first */
	uint64_t try_ns; /* 0: LOOKUP_TRY_NS */
};

/* Never NULL. */
struct lookup_client *lookup_client_new(const struct lookup_conf *conf);
/* Another one on the same loop that asks the same servers, with turns of its own: what waits in the one delays
 * nobody in the other. */
struct lookup_client *lookup_client_dup(const struct lookup_client *client);
/* Ends all lookups without calling them back. NULL is fine. */
void lookup_client_free(struct lookup_client *client);

/* Zero it, set the first part, start it. It stays where it is until done is called or it was
 * cancelled. */
struct lookup {
	uint8_t name[DNS_NAME_MAX]; /* wire form */
	uint16_t type;
	void (*done)(struct lookup *lookup); /* never from inside lookup_start */
	/* Its turn has come, and it is sent; also from inside lookup_start. May be NULL. */
	void (*sent)(struct lookup *lookup);

	/* For done: 0, and the reply until it returns (NOERROR or NXDOMAIN); or -ETIMEDOUT, another
	 * -errno or an ERR_ code with the last server's fault. */
	int result;
	uint16_t rcode; /* also that of a server that failed: SERVFAIL, REFUSED ... */
	uint8_t *reply;
	size_t reply_len;
	const char *error; /* which server, and what was wrong; until it returns */

	/* The client's own: */
	struct lookup_client *client;
	struct lookup *next, *prev; /* waiting for its turn */
	struct lookup_slot *slot;   /* while it is sent */
	unsigned first, tried;	    /* the server it began with, and how often one was asked */
	bool waiting;
};

void lookup_start(struct lookup_client *client, struct lookup *lookup);
/* done is not called any more. Fine for one that is not under way. */
void lookup_cancel(struct lookup *lookup);

/* In done: the addresses (A or AAAA, as asked) of the reply, at most `max` of them; how many there
 * are. *ret_ttl is for how long the reply holds: the lowest TTL of its answers and of a negative
 * reply's SOA, at most a day; a minute if it has neither. `ret_owner` (may be NULL) is the name that
 * the first address belongs to, which is the end of a CNAME chain; empty without an address.
 * ERR_PARSE: no DNS message. */
MUST_CHECK int lookup_addresses(const struct lookup *lookup, union net_addr *ret, size_t max,
				uint32_t *ret_ttl, uint8_t ret_owner[DNS_NAME_MAX]);
