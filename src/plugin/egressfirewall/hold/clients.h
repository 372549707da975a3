/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who asks: pods by their addresses, each with the rules of its namespace and the connection to its node.
 *
 * Glossary
 *   client   an address of a pod; pods in the host's network have none of their own
 *   tenant   a namespace: the names of its rules, and how many of its queries are held
 *   network  on one machine: an address of a network namespace that a firewall applies to, which the agent reports. A client
 *            like a pod
 *   machine  on one machine without a cluster: the users and cgroups that annotations of Namespaces name. All of them
 *            ask from the same addresses, so they are one client, of one tenant: the names of the rules of all these
 *            Namespaces
 *
 * Threads: the watches change it, one at a time (a lock); workers read under RCU. What a query keeps over a
 * wait it holds a reference to. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/rcu/rcu.h"
#include "base/rcu/rcutable.h"
#include "base/slice.h"
#include "kube/decode/compact.h"
#include "net/addr.h"
#include "plugin/egressfirewall/hold/firewall_names.h"

struct egressfirewall_link;
struct egressfirewall_links;

/* What agents hear as the namespace of the machine's users and cgroups; no Namespace has this name. */
#define EGRESSFIREWALL_MACHINE_NS "*"

struct egressfirewall_tenant {
	struct egressfirewall_names *_Atomic names; /* NULL: no rule of it has a name */
	_Atomic uint32_t n_held;
	/* the clients' own */
	_Atomic uint32_t refs;
	uint32_t uses; /* clients, a firewall, and the machine */
	bool has_firewall;
	bool is_of_machine;
	json_t *firewall; /* on one machine: the one that the names are of; or NULL */
	struct rcu_item item;
	char ns[];
};

/* An address as two words; IPv4 as ::ffff:a.b.c.d. */
struct egressfirewall_client_ip {
	uint64_t high, low;
};

struct egressfirewall_client {
	struct rcutable_node node;
	struct egressfirewall_client_ip ip;
	struct egressfirewall_tenant *tenant;
	struct egressfirewall_link *link; /* of its node */
	_Atomic uint32_t n_held;
	/* the clients' own */
	_Atomic uint32_t refs;
	struct kube_obj *pod; /* NULL: a network, or the machine */
	bool is_listed;	      /* a network: in the report that is being read */
	struct rcu_item item;
};

/* The beginning of the clients, for workers. */
struct egressfirewall_clients_table {
	struct rcutable by_ip;
	uint64_t key[2];		       /* secret */
	struct egressfirewall_client *machine; /* NULL: a cluster */
};

struct egressfirewall_clients;

/* `links` is borrowed. `machine` is the node's name where there is no cluster, else NULL. */
struct egressfirewall_clients *egressfirewall_clients_new(struct egressfirewall_links *links,
							  const char *machine);
/* When no worker reads any more, and no query is held. */
void egressfirewall_clients_free(struct egressfirewall_clients *clients);

/* ---- watches ---- */

/* A pod was added, has changed, or is gone: either may be NULL. They are struct kube_pod_node. */
void egressfirewall_clients_pod(struct egressfirewall_clients *clients, struct kube_obj *old,
				struct kube_obj *pod);
/* The firewall of a namespace; NULL: it is gone. One that is not valid leaves the names of before in place, as
 * the agents of nodes leave its rules. */
void egressfirewall_clients_firewall(struct egressfirewall_clients *clients, struct slice ns,
				     const json_t *firewall);
/* Whether a namespace belongs to users or cgroups of the machine. Without a machine it changes nothing. */
void egressfirewall_clients_namespace(struct egressfirewall_clients *clients, struct slice ns,
				      bool is_of_machine);
/* All networks, as lines of a node's report (api/egress/node_report.h). Without a machine it changes nothing. */
void egressfirewall_clients_networks(struct egressfirewall_clients *clients, struct slice lines);
struct egressfirewall_clients_counts {
	size_t clients, tenants, firewalls;
};
struct egressfirewall_clients_counts egressfirewall_clients_counts(
	struct egressfirewall_clients *clients);

/* ---- workers, inside a read section ---- */

static ALWAYS_INLINE struct egressfirewall_client_ip egressfirewall_client_ip_of(
	const struct kube_ip *ip)
{
	struct egressfirewall_client_ip words;
	memcpy(&words.high, ip->b, 8);
	memcpy(&words.low, ip->b + 8, 8);
	return words;
}

static ALWAYS_INLINE struct egressfirewall_client_ip egressfirewall_client_ip_of_addr(
	const union net_addr *addr)
{
	static const struct kube_ip mapped = { { [10] = 0xff, [11] = 0xff } };
	struct egressfirewall_client_ip words = egressfirewall_client_ip_of(&mapped);
	if (LIKELY(addr->family == AF_INET))
		memcpy((uint8_t *)&words.low + 4, &addr->v4.sin_addr, 4);
	else if (addr->family == AF_INET6)
		memcpy(&words, &addr->v6.sin6_addr, 16);
	return words;
}

/* Both halves of one long product: of an IPv4 address, whose `high` is 0, too, each bit counts. */
static ALWAYS_INLINE uint32_t egressfirewall_clients_hash(const uint64_t key[2],
							  struct egressfirewall_client_ip ip)
{
	__extension__ typedef unsigned __int128 product;
	product both = (product)(ip.high ^ key[0]) * (ip.low ^ key[1]);
	return (uint32_t)(both >> 64) ^ (uint32_t)both;
}

/* NULL: no pod is known to have the address. */
static ALWAYS_INLINE struct egressfirewall_client *egressfirewall_clients_find(
	const struct egressfirewall_clients *clients, const union net_addr *addr)
{
	const struct egressfirewall_clients_table *table = (const void *)clients;
	struct egressfirewall_client_ip ip = egressfirewall_client_ip_of_addr(addr);
	struct rcutable_cursor cursor;
	struct rcutable_node *node =
		rcutable_find(&table->by_ip, egressfirewall_clients_hash(table->key, ip), &cursor);
	for (; node != NULL; node = rcutable_next(&cursor, node)) {
		struct egressfirewall_client *client =
			CONTAINER_OF(node, struct egressfirewall_client, node);
		if (LIKELY(client->ip.low == ip.low && client->ip.high == ip.high))
			return client;
	}
	return NULL;
}

/* The client that queries of the machine itself have; NULL: a cluster. */
static ALWAYS_INLINE struct egressfirewall_client *egressfirewall_clients_machine(
	const struct egressfirewall_clients *clients)
{
	return ((const struct egressfirewall_clients_table *)(const void *)clients)->machine;
}

/* Over a wait. */
struct egressfirewall_client *egressfirewall_client_ref(struct egressfirewall_client *client);
void egressfirewall_client_unref(struct egressfirewall_client *client);
