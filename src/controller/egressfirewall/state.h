/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the controller keeps between two passes: the DNSName objects that rules use, and the hosts whose
 * addresses they carry. All of it is rebuilt from the cluster after a start. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/egress/name.h"
#include "base/err_text.h"
#include "base/map.h"
#include "base/rng.h"
#include "controller/controller.h"
#include "controller/egressfirewall/cluster_ranges.h"
#include "controller/egressfirewall/enforcement.h"
#include "controller/egressfirewall/rule_users.h"
#include "controller/egressfirewall/tracked.h"

#define EGRESSFIREWALL_LOG_AREA	  "controller/egressfirewall"
#define EGRESSFIREWALL_MANAGED_BY "app.kubernetes.io/managed-by"
#define EGRESSFIREWALL_MANAGER	  "fairlead-egressfirewall"

/* Keys of the queue: this and "namespace/name", the name of a DNSName, the name of a host. */
#define EGRESSFIREWALL_FIREWALL_KEY "firewall/"
#define EGRESSFIREWALL_NAME_KEY	    "name/"
#define EGRESSFIREWALL_HOST_KEY	    "host/"
/* The list of DNS servers, and one of them by its address (transfer/poll.h). */
#define EGRESSFIREWALL_SERVERS_KEY "servers/"
#define EGRESSFIREWALL_SERVER_KEY  "server/"
/* The certificates of agents and of servers that ask them (agents/cert_store.h). */
#define EGRESSFIREWALL_CERTS_KEY "certs/"
/* What nodes report about all firewalls (enforcement.h). */
#define EGRESSFIREWALL_REPORTS_KEY "reports/"
enum { EGRESSFIREWALL_KEY_MAX = 340 };

/* A DNSName object that rules use, or used when it was last reconciled. */
struct egressfirewall_object {
	bool regular, wildcard; /* who uses it */
	bool any_depth;		/* of the wildcard */
	bool overflow_reported; /* clients asked for too many names below it */
	bool never_reported;	/* an answer had an address that is never learnt */
	bool restored;		/* its status from before the start was taken over */
	bool drops_addresses;	/* its CRD does not have status.addresses */
	bool exists;		/* in the cluster, with the flags that rules ask for */
	unsigned kept;		/* enum egress_use: no rule's, but nodes have not let it go yet */
	uint64_t written_ns;	/* monotonic; 0: never */
	uint64_t
		least_version; /* a copy with a lower resourceVersion is older than our last write */
	bool shown;	       /* the watch has shown that write, or a later one */
};

struct egressfirewall_state {
	pthread_mutex_t lock; /* guards the tables */
	struct map objects;   /* by name: struct egressfirewall_object, owned */
	struct tracked_hosts hosts;
	struct map firewalls; /* known_firewall.h */
	struct rule_users users;
	unsigned n_writing;   /* writes of DNSNames that are under way */
	struct map postponed; /* names of those that wait for these, the first one first */
	struct egressfirewall_ranges ranges;
	struct egressfirewall_enforcement enforcement;
	struct rng rng;
	struct egressfirewall_poll *poll; /* of DNS servers; has a lock of its own */
	struct {
		uint64_t due_ns;      /* when the Secrets are read next */
		bool others_reported; /* that somebody else makes them */
	} certs;		      /* of the passes over their key, one at a time */

	_Atomic bool ranges_stale;	  /* what they are read from has changed */
	_Atomic unsigned objects_changed; /* counts objects that cover more than before */
	_Atomic bool conditions_pruned;	  /* the cluster's CRD of EgressFirewall has none */
};

int egressfirewall_state_start(void **ret_state, struct err_text err);
void egressfirewall_state_stop(void *state);

static inline struct egressfirewall_state *egressfirewall_state_of(const struct controller_ctx *ctx)
{
	return ctx->state;
}

struct tracked_now egressfirewall_now(void);

/* With the lock held: may the address be learnt from an answer for the host? Not if it is one of the
 * cluster's, or loopback, link-local and the like; that is counted, and gets one Event for each object that
 * covers the host. */
bool egressfirewall_may_learn(struct controller_ctx *ctx, const char *host,
			      const union net_addr *address);

/* With the lock held: calls `fn` with the name of each object that carries the host's addresses, until
 * it returns false. False: it did so. */
bool egressfirewall_each_covering(const struct egressfirewall_state *state, const char *host,
				  bool (*fn)(void *ctx, const char *object), void *ctx);
/* With the lock held: the name of the closest wildcard's object that covers the host. False: none does. */
bool egressfirewall_find_wildcard(const struct egressfirewall_state *state, const char *host,
				  char out[EGRESS_NAME_MAX + 1]);
/* With the lock held: queues the objects that carry the host, and the firewalls that use them. */
void egressfirewall_queue_users(struct controller_ctx *ctx, const char *host);
void egressfirewall_queue(struct controller_ctx *ctx, const char *prefix, const char *name);
