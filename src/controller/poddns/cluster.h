/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must be known of the cluster to write a pod's whole DNS settings: the addresses of its DNS
 * servers and its domain. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/shared/corefile_domain.h"
#include "net/addr.h"

struct controller_ctx;

enum { PODDNS_SERVERS_MAX = 3 };

/* Has the servers' Corefile the plugin searchpath for the domain? */
enum poddns_searchpath {
	PODDNS_SEARCHPATH_UNKNOWN, /* there is no Corefile where one is looked for */
	PODDNS_SEARCHPATH_MISSING,
	PODDNS_SEARCHPATH_FOUND,
};

struct poddns_cluster {
	char server[PODDNS_SERVERS_MAX][NET_ADDR_TEXT_MAX];
	size_t n_servers;		  /* 0: not known */
	bool only_on_node;		  /* in a pod's own network their address is the pod's */
	char domain[COREFILE_DOMAIN_MAX]; /* "": not known */
	enum poddns_searchpath searchpath;
};

/* Servers: --pod-dns-servers, else on one machine its own DNS server if that has port 53 and the
 * generated Corefile, which listens at --dns, else the Service openshift-dns/dns-default or kube-system/kube-dns. Domain: --dns-cluster-domain, else the
 * status of `DNS default`, else the servers' Corefile; on one machine cluster.local. The Corefile is the one of
 * openshift-dns/dns-default or kube-system/coredns; on one machine it has the plugin. */
void poddns_cluster_gather(const struct controller_ctx *ctx, struct poddns_cluster *ret);
