/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: trees of the cluster, whatever is in them, through all that reads them. The API server
 * checks types by the CRD's schema; one that checks nothing must not bring us down.
 *
 * The trees are members of one object: dns, accepted, servers, nodeResolver, service, pods, nodes,
 * clusterOperator, network, cidrs, gate, crd, apiserver, map. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "controller/shared/object_contains.h"
#include "controller/dnsoperator/operands/manifests.h"
#include "controller/dnsoperator/operands/node_placement.h"
#include "controller/dnsoperator/plan/ca_bundle.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/rollout/instances.h"
#include "controller/dnsoperator/status/clusteroperator.h"
#include "controller/dnsoperator/status/clusteroperator_test.h"
#include "controller/dnsoperator/status/operator_conditions.h"
#include "controller/dnsoperator/status/templates_backup.h"
#include "controller/dnsoperator/status/templates_backup_test.h"

#define TREES_NOW (1700000000 * NS_PER_S)

static inline json_t *trees_get(const json_t *all, const char *name)
{
	return json_object_get(all, name);
}

static inline void trees_try_facts(const json_t *all, enum dnsoperator_platform p,
				   struct dnsoperator_facts *f)
{
	struct dnsoperator_network n = { .network = trees_get(all, "network"),
					 .service_cidrs = trees_get(all, "cidrs"),
					 .nodes = trees_get(all, "nodes"),
					 .service = trees_get(all, "service") };
	*f = (struct dnsoperator_facts){ .platform = p,
					 .families = dnsoperator_families_of(p, &n),
					 .domain = "cluster.local",
					 .keeps = dnsoperator_keeps_of(trees_get(all, "crd")) };
	f->gate = dnsoperator_gate_of(p, "", trees_get(all, "gate"), "4.20.0", &f->gate_source);
}

static inline void trees_try_placement(const json_t *all, enum dnsoperator_platform platform)
{
	struct dnsoperator_placement p;
	dnsoperator_placement_of(
		&(struct dnsoperator_placement_in){ .platform = platform,
						    .dns = trees_get(all, "dns"),
						    .nodes = trees_get(all, "nodes"),
						    .now = trees_get(all, "servers") },
		&p);
	IGNORE(dnsoperator_zones_differ(trees_get(all, "nodes")));
	json_decref(p.selector);
	json_decref(p.tolerations);
}

static inline void trees_try_operands(const json_t *all, const struct dnsoperator_plan *plan,
				      const struct dnsoperator_facts *f)
{
	struct dnsoperator_operands o;
	dnsoperator_operands_make(
		&(struct dnsoperator_operands_in){ .facts = f,
						   .dns = trees_get(all, "dns"),
						   .accepted = plan->accepted,
						   .dns_image = "dns",
						   .cli_image = "cli",
						   .proxy_image = "proxy",
						   .cluster_ip = "172.30.0.10",
						   .nodes = trees_get(all, "nodes"),
						   .servers = trees_get(all, "servers"),
						   .service = trees_get(all, "service"),
						   .apiserver = trees_get(all, "apiserver") },
		&o);
	size_t i;
	json_t *v;
	json_array_foreach (o.objects, i, v) {
		IGNORE(object_contains(trees_get(all, "servers"), v));
		assert(object_contains(v, v));
	}
	dnsoperator_operands_done(&o);
}

static inline void trees_try_status(const json_t *all, const struct dnsoperator_plan *plan,
				    const struct dnsoperator_facts *f)
{
	struct dnsoperator_workload w = { trees_get(all, "servers"), trees_get(all, "nodeResolver"),
					  trees_get(all, "service") };
	json_t *dns = json_deep_copy(trees_get(all, "dns"));
	json_t *co = json_deep_copy(trees_get(all, "clusterOperator"));
	struct dnsoperator_clusteroperator tell = { .dns = dns, .workload = &w, .ns = "fairlead" };
	struct dnsoperator_health_in in = { .platform = f->platform,
					    .dns = dns,
					    .plan = plan,
					    .workload = &w,
					    .seen = dnsoperator_alive_pods(trees_get(all, "pods")),
					    .now_wall_ns = TREES_NOW };
	/* the second look finds nothing to write */
	for (int i = 0; i < 2; i++) {
		struct dnsoperator_health h;
		struct dnsoperator_observed g = dnsoperator_observed_of(dns, 0);
		bool changed = dnsoperator_status_set(dns, plan, f, "172.30.0.10", &g, TREES_NOW);
		dnsoperator_health_make(&in, &h);
		changed |= dnsoperator_health_set(dns, &h, &g, TREES_NOW);
		changed |=
			json_is_object(co) && dnsoperator_clusteroperator_set(co, &tell, TREES_NOW);
		assert(i == 0 || !changed);
		dnsoperator_health_done(&h);
	}
	json_decref(co);
	json_decref(dns);
}

static inline void trees_try_maps(const json_t *all, const struct dnsoperator_plan *plan,
				  const struct dnsoperator_facts *f)
{
	const json_t *map = trees_get(all, "map"), *dns = trees_get(all, "dns");
	dnsoperator_servers_at at = { 0 };
	char ip[INET6_ADDRSTRLEN];
	json_t *v[] = { dnsoperator_corefile_object(plan, f, dns, map),
			dnsoperator_accepted_object(plan, f), dnsoperator_accepted_read(map),
			dnsoperator_backup_patch(dns, plan, f),
			dnsoperator_ca_error(map) == NULL ? dnsoperator_ca_copy(map, dns, "ns")
							  : NULL };
	IGNORE(object_contains(map, v[0]));
	IGNORE(dnsoperator_corefile_time(map));
	IGNORE(dnsoperator_ca_is_copy(map));
	dnsoperator_cluster_ip(trees_get(all, "network"), ip, sizeof(ip));
	dnsoperator_ready_pods(trees_get(all, "pods"), 53, &at);
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		json_decref(v[i]);
	vec_done(&at);
}

/* The object itself has been read by a watch: it is one. Manifests take their time. */
static inline void trees_try(const json_t *all, bool manifests)
{
	if (!json_is_object(trees_get(all, "dns")))
		return;
	for (int p = 0; p < DNSOPERATOR_PLATFORM_COUNT; p++) {
		struct dnsoperator_facts f;
		struct dnsoperator_plan plan;
		trees_try_facts(all, (enum dnsoperator_platform)p, &f);
		struct dnsoperator_plan_in in = { .dns = trees_get(all, "dns"),
						  .facts = &f,
						  .accepted = trees_get(all, "accepted") };
		dnsoperator_plan_make(&in, &plan);
		trees_try_placement(all, f.platform);
		if (manifests)
			trees_try_operands(all, &plan, &f);
		trees_try_status(all, &plan, &f);
		trees_try_maps(all, &plan, &f);
		dnsoperator_plan_done(&plan);
	}
}
