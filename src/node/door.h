/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where DNS servers ask this node's agent for addresses: a unix socket for those on the node, TLS with client
 * certificates for the others; one protocol (addrset/shared/agent_protocol.h). All on the loop's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "addrset/addrset.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "net/addr.h"
#include "net/loop.h"
#include "net/tls.h"

enum {
	NODE_DOOR_CONNECTIONS_MAX =
		1024, /* that have said hello; others wait in the kernel's queue */
	/* That have not proven who they are, or said hello. Past that the oldest one ends, so that silent ones
	 * keep nobody out. */
	NODE_DOOR_STRANGERS_MAX = 256,
	NODE_DOOR_REQUESTS_MAX = 1024, /* of one connection without an answer; more get ERR_BUSY */
};

struct node_door;

struct node_door_conf {
	struct loop *loop;
	struct addrset *set; /* where the pairs go; outlives the door */
	/* One of the two. The socket is only the user's who runs the agent, and that group's; one at which
	 * nobody listens any more is replaced. With an address, clients show a certificate that `cred` verifies. */
	const char *path;
	bool has_group;
	gid_t group;
	const union net_addr *addr;
	struct net_tls_cred *cred; /* borrowed */
};

MUST_CHECK int node_door_open(const struct node_door_conf *conf, struct node_door **ret,
			      struct err_text err);
/* Ends all connections and removes the socket. Before the set is freed: what waits there is answered into
 * nothing. NULL is fine. */
void node_door_close(struct node_door *door);

/* Ends all connections: what servers know from them is in doubt. */
void node_door_end_connections(struct node_door *door);

/* Pairs that servers asked for were removed: each forgets what it knows, and asks again. Connections stay, but
 * those of servers that do not know the frame. */
void node_door_forget(struct node_door *door);

/* For connections from now on. Only of a door with an address. */
void node_door_set_cred(struct node_door *door, struct net_tls_cred *cred);

/* Probes hear from now on that the node's rules are in force. */
void node_door_set_ready(struct node_door *door);

/* The port, where the address had none. */
uint16_t node_door_port(const struct node_door *door);

struct node_door_counts {
	size_t connections; /* now */
	uint64_t accepted;  /* since the start */
	uint64_t refused;   /* ended by what the peer sent or did not prove */
	uint64_t requests, failed;
};

struct node_door_counts node_door_counts(const struct node_door *door);
