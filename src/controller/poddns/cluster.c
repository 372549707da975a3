/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers the addresses of the cluster's DNS servers and its domain from flags and watches. */
#include "controller/poddns/cluster.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "controller/controller.h"
#include "controller/poddns/state.h"
#include "controller/poddns/watches.h"
#include "kube/decode/tree.h"

static const struct controller_options no_options;

static void add_server(struct poddns_cluster *cluster, const union net_addr *addr)
{
	if (cluster->n_servers < PODDNS_SERVERS_MAX)
		net_addr_ip_str(addr, cluster->server[cluster->n_servers++]);
}

/* A Service without an address ("None", or none yet) has no servers. */
static void add_cluster_ips(struct poddns_cluster *cluster, const json_t *service)
{
	size_t i;
	json_t *text;
	union net_addr addr;
	json_array_foreach (api_get(service, "spec.clusterIPs"), i, text) {
		if (net_addr_parse_ip(slice_of(api_text(text)), &addr) == 0)
			add_server(cluster, &addr);
	}
	const char *first = api_get_string(service, "spec.clusterIP");
	if (cluster->n_servers == 0 && net_addr_parse_ip(slice_of(first), &addr) == 0)
		add_server(cluster, &addr);
}

static bool is_loopback(const union net_addr *addr)
{
	static const struct net_cidr v4 = { AF_INET, 8, { 127 } },
				     v6 = { AF_INET6, 128, { [15] = 1 } };
	union net_addr plain = *addr;
	net_addr_unmap(&plain);
	return net_cidr_has(&v4, &plain) || net_cidr_has(&v6, &plain);
}

static void add_machine(struct poddns_cluster *cluster, const struct controller_machine *machine)
{
	union net_addr addr;
	if (machine->port != 53 || machine->own_corefile ||
	    net_addr_parse_ip(slice_of(machine->bind), &addr) < 0)
		return;
	net_addr_avoid_wildcard(&addr);
	cluster->only_on_node = is_loopback(&addr);
	add_server(cluster, &addr);
}

/* The Service's object, in the first of the namespaces that has it. */
static void add_service(struct poddns_cluster *cluster, const struct controller_ctx *ctx,
			enum poddns_watch watch, const char *ns, const char *name)
{
	struct kube_obj *service =
		cluster->n_servers == 0
			? kube_store_get(ctx->stores[watch], slice_of(ns), slice_of(name))
			: NULL;
	if (service != NULL)
		add_cluster_ips(cluster, kube_tree_of(service));
	kube_obj_unref(service);
}

/* Brings `known` up to date with the map and the domain that the cluster has, if it has one already. */
static void parse_corefile(struct poddns_corefile *known, const json_t *map,
			   const struct poddns_cluster *cluster)
{
	struct slice text = slice_of(api_get_string(map, "data.Corefile"));
	char version[PODDNS_VERSION_MAX];
	snprintf(version, sizeof(version), "%s %s", api_uid(map), api_resource_version(map));
	bool is_same = strcmp(known->version, version) == 0;
	if (!is_same && corefile_domain_find(text, known->domain) < 0)
		known->domain[0] = '\0';
	const char *domain = cluster->domain[0] != '\0' ? cluster->domain : known->domain;
	if (!is_same || strcmp(known->searched, domain) != 0) {
		known->is_searched = corefile_domain_is_searched(text, domain);
		snprintf(known->searched, sizeof(known->searched), "%s", domain);
	}
	snprintf(known->version, sizeof(known->version), "%s", version);
}

static void read_corefile(struct poddns_cluster *cluster, const struct controller_ctx *ctx,
			  enum poddns_watch watch, const char *ns, const char *name,
			  struct poddns_corefile *known)
{
	struct poddns_state *state = ctx->state;
	struct kube_obj *map = kube_store_get(ctx->stores[watch], slice_of(ns), slice_of(name));
	if (map != NULL && api_get_string(kube_tree_of(map), "data.Corefile")[0] != '\0') {
		pthread_mutex_lock(&state->corefiles_lock);
		parse_corefile(known, kube_tree_of(map), cluster);
		if (cluster->domain[0] == '\0')
			snprintf(cluster->domain, sizeof(cluster->domain), "%s", known->domain);
		cluster->searchpath =
			known->is_searched ? PODDNS_SEARCHPATH_FOUND : PODDNS_SEARCHPATH_MISSING;
		pthread_mutex_unlock(&state->corefiles_lock);
	}
	kube_obj_unref(map);
}

static void read_status(struct poddns_cluster *cluster, const struct controller_ctx *ctx)
{
	struct kube_obj *dns =
		kube_store_get(ctx->stores[PODDNS_WATCH_DNS], SLICE(""), SLICE("default"));
	const char *known =
		dns != NULL ? api_get_string(kube_tree_of(dns), "status.clusterDomain") : "";
	if (cluster->domain[0] == '\0' && api_is_dns_domain(known))
		snprintf(cluster->domain, sizeof(cluster->domain), "%s", known);
	kube_obj_unref(dns);
}

void poddns_cluster_gather(const struct controller_ctx *ctx, struct poddns_cluster *ret)
{
	const struct controller_options *options =
		ctx->options != NULL ? ctx->options : &no_options;
	*ret = (struct poddns_cluster){ 0 };
	for (size_t i = 0; i < options->n_pod_dns_servers; i++)
		add_server(ret, &options->pod_dns_servers[i]);
	if (options->dns_cluster_domain != NULL)
		snprintf(ret->domain, sizeof(ret->domain), "%s", options->dns_cluster_domain);
	if (options->machine != NULL) {
		ret->searchpath = PODDNS_SEARCHPATH_FOUND; /* a Corefile of --conf must have it */
		if (ret->n_servers == 0)
			add_machine(ret, options->machine);
		if (ret->domain[0] == '\0')
			snprintf(ret->domain, sizeof(ret->domain), "cluster.local");
		return;
	}
	add_service(ret, ctx, PODDNS_WATCH_SERVICE_OPENSHIFT, "openshift-dns", "dns-default");
	add_service(ret, ctx, PODDNS_WATCH_SERVICE_KUBERNETES, "kube-system", "kube-dns");
	read_status(ret, ctx);
	struct poddns_state *state = ctx->state;
	read_corefile(ret, ctx, PODDNS_WATCH_COREFILE_OPENSHIFT, "openshift-dns", "dns-default",
		      &state->corefile_openshift);
	read_corefile(ret, ctx, PODDNS_WATCH_COREFILE_KUBERNETES, "kube-system", "coredns",
		      &state->corefile_kubernetes);
}
