/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent of a node: keeps the node's table as firewalls and pods want it, adds the addresses that DNS
 * servers ask for before they answer, and those that DNSName objects report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "net/addr.h"
#include "net/tls.h"
#include "node/machine.h"

struct kube_client;
struct node_agent;

struct node_agent_conf {
	struct kube_client *client; /* outlives the agent */
	const char *node_name;
	const char *names_ns; /* of DNSName objects */
	/* Where it reports what is in force, and the pod that owns the report; NULL: it stays. */
	const char *report_ns, *pod_name, *pod_uid;
	bool is_machine; /* without a cluster: Namespaces say whom firewalls judge (machine.h) */
	struct node_machine_conf machine;
	bool trusts_data_path; /* whatever interfaces there are, packets of pods meet the rules */
	/* Of this node. None: what its Node says. */
	const struct net_cidr *pod_ranges;
	size_t n_pod_ranges;
	/* Beside pod ranges of all nodes and the API server. */
	const struct net_cidr *always_open;
	size_t n_always_open;
	uint16_t log_group; /* NFLOG group for samples of denied packets; 0: none */
	/* Where DNS servers ask: on this node; and from others, NULL: nowhere. */
	const char *socket_path;
	bool has_socket_group; /* users of this group may ask there, too */
	gid_t socket_group;
	const union net_addr *addr;
	struct net_tls_files tls; /* with an address; may come later, and are read again */
};

/* All texts are borrowed until the end. */
MUST_CHECK int node_agent_new(const struct node_agent_conf *conf, struct node_agent **ret,
			      struct err_text err);
/* Until node_agent_stop. On the thread that made it. */
void node_agent_run(struct node_agent *agent);
void node_agent_stop(struct node_agent *agent); /* any thread */
/* The table stays in force. NULL is fine. */
void node_agent_free(struct node_agent *agent);
