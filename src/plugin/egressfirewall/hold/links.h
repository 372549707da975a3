/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections to the agents of nodes: one for each node whose pods need a pair that is new, opened when the
 * first one does and closed when nothing is known over it any more. They live on a thread of their own.
 *
 * Glossary
 *   link  a node: the address of its agent, and the connection if there is one
 *   ask   pairs that a link's agent is asked to bring into force */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "addrset/addrset.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/decode/compact.h"
#include "net/loop.h"

struct egressfirewall_links;
struct egressfirewall_link_own;

/* Lives as long as the links. */
struct egressfirewall_link {
	struct addrset *_Atomic set; /* NULL: no connection. Under RCU */
	uint32_t number;	     /* another one for each link */
	struct egressfirewall_link_own *own;
};

struct egressfirewall_links_conf {
	const char *
		node; /* of this server; NULL: none, or all are on this one where there is no TLS */
	const char *socket;	     /* of the agent on this node; NULL: TLS there, too */
	const char *cert, *key, *ca; /* for the others; NULL: these cannot be reached */
	const char *tls_name;	     /* that agents' certificates must have; NULL: the node's */
	uint16_t port;
	uint64_t answer_ns; /* an agent has so much time for an answer */
};

/* Texts are copied. Reads the TLS files; errors have a text. */
MUST_CHECK int egressfirewall_links_new(const struct egressfirewall_links_conf *conf,
					struct egressfirewall_links **ret, struct err_text reterr);
/* When nobody asks any more. NULL is fine. */
void egressfirewall_links_free(struct egressfirewall_links *links);

/* The link to a node, by its name; its address may change. Any control thread. */
struct egressfirewall_link *egressfirewall_links_get(struct egressfirewall_links *links,
						     const char *node,
						     const struct kube_ip *host_ip);

/* `fn` is called once a second from now on, on the thread of the links; NULL: nothing is, and no call is under way when
 * this returns. It asks nothing of the links. One at a time. */
void egressfirewall_links_on_tick(struct egressfirewall_links *links, void (*fn)(void *ctx),
				  void *ctx);

struct egressfirewall_links_counts {
	size_t nodes;	  /* with a connection */
	size_t reachable; /* of these */
	size_t pairs;	  /* known to be in force, over all */
};
/* As of the last second. Any thread. */
struct egressfirewall_links_counts egressfirewall_links_counts(struct egressfirewall_links *links);

/* ---- workers ---- */

enum { EGRESSFIREWALL_ASK_PARTS = 4, EGRESSFIREWALL_ASK_PAIRS_MAX = 1024 };

/* The caller's memory until `done`. */
struct egressfirewall_ask {
	struct egressfirewall_link *link;
	const struct addrset_pair *pairs;
	size_t n_pairs;	     /* 1 to EGRESSFIREWALL_ASK_PAIRS_MAX */
	struct slice tenant; /* the client's namespace, whose limits count */
	/* On the thread of the links; perhaps before egressfirewall_links_ask returns. */
	void (*done)(struct egressfirewall_ask *ask);
	int result; /* as of an addrset_request */

	/* the links' own */
	struct egressfirewall_links *links;
	struct loop_msg msg;
	size_t n_left;
	struct egressfirewall_ask_part {
		struct addrset_request request;
		struct egressfirewall_ask *ask;
	} part[EGRESSFIREWALL_ASK_PARTS];
	struct egressfirewall_ask *next; /* that waits for others to be answered */
	uint64_t asked_ns;
};

/* Any thread. */
void egressfirewall_links_ask(struct egressfirewall_links *links, struct egressfirewall_ask *ask);
