/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operands: the objects that run a cluster's DNS, made from the manifests in deploy/operands. Pure;
 * apply.h applies them. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/plan/cluster_facts.h"

/* An annotation: of what was applied. */
#define DNSOPERATOR_APPLIED_HASH "dns.fairlead.dev/applied"

struct dnsoperator_operands_in {
	const struct dnsoperator_facts *facts;
	const json_t *dns;
	const json_t *accepted; /* the accepted configuration; see plan.h */
	const char *dns_image, *cli_image, *proxy_image; /* NULL, "": not given */
	const char *cluster_ip;				 /* "": not known */
	bool config_by_api;	 /* servers read the ConfigMap through the API: not for CoreDNS */
	const json_t *nodes;	 /* as in node_placement.h */
	const json_t *servers;	 /* the servers' DaemonSet as it is */
	const json_t *service;	 /* and their Service; NULL: missing */
	const json_t *apiserver; /* APIServer cluster, for its TLS profile; NULL: none */
};

struct dnsoperator_operands {
	json_t *objects; /* objects in the order in which they are applied, each with its hash */
	struct strbuf left_out; /* "DaemonSet dns-default (needs ...), ..." */
	bool placement_ignored; /* no node fits spec.nodePlacement */
};

/* Is there a set for the platform? Not on one machine. */
bool dnsoperator_operands_exist(enum dnsoperator_platform platform);
void dnsoperator_operands_make(const struct dnsoperator_operands_in *in,
			       struct dnsoperator_operands *ret);
void dnsoperator_operands_done(struct dnsoperator_operands *operands);

/* The name of the servers' DaemonSet there. */
const char *dnsoperator_operands_servers(enum dnsoperator_platform platform);
