/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The door for DNS servers of other nodes, with its certificate: opened when the files of that exist (a Secret may
 * be made after the agent's start), and shown the new one when they change. All on the loop's thread. */
#pragma once

#include "addrset/addrset.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "net/addr.h"
#include "net/loop.h"
#include "net/tls.h"

struct node_tls_door;

struct node_tls_door_conf {
	struct loop *loop;
	struct addrset *set;	    /* where the pairs go; outlives the door */
	const union net_addr *addr; /* both borrowed */
	struct net_tls_files files;
};

/* Files that are missing are waited for; what else is wrong with them, or with the address, is an error. */
MUST_CHECK int node_tls_door_open(const struct node_tls_door_conf *conf, struct node_tls_door **ret,
				  struct err_text err);
void node_tls_door_close(struct node_tls_door *tls_door); /* NULL is fine */

/* Ends all connections: what servers know from them is in doubt. NULL is fine. */
void node_tls_door_end_connections(struct node_tls_door *tls_door);
/* As node_door_forget. NULL is fine. */
void node_tls_door_forget(struct node_tls_door *tls_door);
