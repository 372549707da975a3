/* SPDX-License-Identifier: GPL-3.0-or-later */
/* On which nodes servers may run, by spec.nodePlacement of the DNS object. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "controller/dnsoperator/plan/cluster_facts.h"

struct dnsoperator_placement_in {
	enum dnsoperator_platform platform;
	const json_t *dns;
	const json_t *nodes; /* an array; empty or NULL: not known */
	const json_t *now;   /* the servers' DaemonSet; NULL: missing */
};

struct dnsoperator_placement {
	json_t *selector, *tolerations;
	bool ignored; /* no node fits: the placement stays as it is */
};

/* What the object asks for, or what holds without it. New trees. */
json_t *dnsoperator_node_selector(const json_t *dns);
json_t *dnsoperator_tolerations(const json_t *dns, enum dnsoperator_platform platform);
/* The members are the caller's. */
void dnsoperator_placement_of(const struct dnsoperator_placement_in *in,
			      struct dnsoperator_placement *ret);
/* Are there ready nodes, apart from the control plane, in two zones at least, and none of them
 * without a zone? Hints by topology only do harm otherwise. */
bool dnsoperator_zones_differ(const json_t *nodes);
