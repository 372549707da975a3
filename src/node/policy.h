/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this node's table should enforce, from objects of the API: pods of the node, firewalls, nodes, and
 * the addresses of the API server. Pure apart from what it remembers: the last rules of each firewall that
 * were valid. One thread. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "addrset/nftables/plan.h"
#include "base/arena.h"
#include "base/strbuf.h"

struct node_objects {
	const json_t *const *v;
	size_t n;
};

struct node_policy_input {
	struct node_objects pods; /* of this node */
	struct node_objects firewalls;
	struct node_objects nodes;	/* of the whole cluster */
	struct node_objects api_slices; /* EndpointSlices of the API server */
	const char *node_name;
	/* Beside those of the objects. */
	const struct net_cidr *pod_ranges;
	size_t n_pod_ranges;
	const struct net_cidr *always_open;
	size_t n_always_open;
	uint16_t log_group; /* as nftables_policy's */
};

struct node_policy;

struct node_policy *node_policy_new(void);
void node_policy_free(struct node_policy *policy);

/* Memory from the (growing) arena; texts are borrowed from the objects and from `policy`. A firewall that
 * is not valid keeps its last valid rules; one that never was denies everything but what is always open:
 * to take it for an empty one would open the namespace. */
void node_policy_build(struct node_policy *policy, const struct node_policy_input *input,
		       struct arena *arena, struct nftables_policy *ret);

/* Why the rules of a namespace apply to nothing on this node. */
struct node_problem {
	const char *ns, *reason, *message; /* as in a node's report */
};

struct node_problems {
	const struct node_problem *v; /* at most one of each namespace */
	size_t n;
};

/* Appends the firewalls whose rules the last policy had, as lines of a node's report (api/egress/node_report.h).
 * One that is not valid is there with the generation of its last valid rules; one with a problem is not. */
void node_policy_list_in_force(const struct node_policy *policy, struct node_problems problems,
			       struct strbuf *out);
