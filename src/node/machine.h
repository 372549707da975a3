/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One machine without a cluster: whose connections the firewall of a Namespace judges, by annotations of the
 * Namespace. They name what is on this machine, so that nobody but its administrator may write them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addrset/nftables/plan.h"
#include "base/arena.h"
#include "base/slice.h"
#include "base/vec.h"
#include "node/cgroup.h"
#include "node/policy.h"

#define NODE_MACHINE_NAME "machine" /* the node of `fairlead up` */

struct node_machine;

typedef VEC(struct addrset_address) node_addresses;

struct node_network {
	node_addresses addresses; /* without those of loopback */
	int socket;		  /* of target_watch.h, where one was wanted; negative: none */
};

/* What tests replace; zero: this machine's. */
struct node_machine_conf {
	/* 0 with the number; -ENOENT: no such user; otherwise it could not be found out. */
	int (*find_user)(const char *name, uint64_t *ret);
	/* As node_cgroup_find. */
	const char *(*find_cgroup)(const char *root, const char *path, struct node_cgroup *ret);
	/* 0; -ENOENT: there is no such file, -EINVAL: it is no network namespace; otherwise it could not be read. The socket is
	 * the caller's in any case. */
	int (*read_network)(const char *path, bool wants_socket, struct node_network *ret);
	const char *networks; /* folder of network namespaces, with a slash at its end */
	/* Name servers stay reachable, at the ports of DNS: those that are in this file now. NULL: there are none. */
	const char *resolv_conf;
	/* Up to `most` of them; their number, or 0: it cannot be read. */
	size_t (*read_name_servers)(const char *path, struct net_cidr *out, size_t most);
};

struct node_machine *node_machine_new(const struct node_machine_conf *conf);
void node_machine_free(struct node_machine *machine); /* NULL is fine */

/* Adds to a policy that is built: owners, the addresses of network namespaces as pods, and name servers. Firewalls that apply to
 * nothing, or not to all that annotations name, are returned, and logged once a minute each. What cannot be read for the
 * moment, such as for want of descriptors, stays as this process has found it last. Names of namespaces are borrowed, the rest is from the arena. */
void node_machine_add(struct node_machine *machine, struct node_objects namespaces,
		      struct arena *arena, struct nftables_policy *policy,
		      struct node_problems *ret);
/* The addresses of network namespaces that it added last, as in a node's report (api/egress/node_report.h): as many as
 * fit, without link-local ones. */
struct slice node_machine_clients(const struct node_machine *machine);
/* Whether something of that has changed since, as far as it can be noticed cheaply: not users. */
bool node_machine_has_changed(struct node_machine *machine);
