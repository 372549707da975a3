/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts about the cluster, apart from the DNS object: platform, domain, address families, feature
 * gate. Read from trees that the caller has; nothing is fetched here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "controller/shared/corefile_domain.h"

enum dnsoperator_platform {
	DNSOPERATOR_OPENSHIFT,
	DNSOPERATOR_MICROSHIFT,
	DNSOPERATOR_KUBERNETES,
	DNSOPERATOR_MACHINE,
};
enum { DNSOPERATOR_PLATFORM_COUNT = DNSOPERATOR_MACHINE + 1 };

/* Where the configuration goes and how servers listen there. */
struct dnsoperator_site {
	const char *name;	    /* "openshift" */
	const char *ns, *configmap; /* of the ConfigMap */
	uint16_t port;		    /* 0: that of --dns */
	const char *prometheus;	    /* address of the metrics; "": none */
	const char *lameduck;	    /* of health; "": neither health nor ready */
	bool chaos;		    /* a block for hostname.bind */
	bool loop;		    /* guard against forwarding to itself */
	bool kubeadm;		    /* loadbalance and TTL 30, as the file there has them */
	bool network_object;	    /* families are in Network cluster */
	bool gate;		    /* default of DNSTemplatePlugin */
	bool bundles;		    /* copies of CA bundles are mounted into servers */
};
extern const struct dnsoperator_site dnsoperator_sites[DNSOPERATOR_PLATFORM_COUNT];

/* By name; -1: none. */
int dnsoperator_platform_find(const char *name);

struct dnsoperator_families {
	bool known; /* false: both are assumed */
	bool v4, v6;
};

/* A copied CA bundle: by the name in the DNS object, the name with its version as it is mounted. */
struct dnsoperator_ca {
	const char *name, *revision;
};

enum dnsoperator_gate { DNSOPERATOR_GATE_OFF, DNSOPERATOR_GATE_ON };
/* What decides the gate. */
enum dnsoperator_gate_source {
	DNSOPERATOR_GATE_BY_PLATFORM,
	DNSOPERATOR_GATE_BY_OBJECT,
	DNSOPERATOR_GATE_BY_FLAG,
};
/* Does the installed CRD keep spec.templates? */
enum dnsoperator_keeps { DNSOPERATOR_KEEPS_UNKNOWN, DNSOPERATOR_KEEPS, DNSOPERATOR_PRUNES };

struct dnsoperator_facts {
	enum dnsoperator_platform platform;
	const char *domain;  /* of the cluster: lower case, no final dot; "": cluster.local */
	bool domain_unknown; /* nothing states it: no zone can be reserved */
	struct dnsoperator_families families;
	enum dnsoperator_gate gate;
	enum dnsoperator_gate_source gate_source;
	enum dnsoperator_keeps keeps;
	const struct dnsoperator_ca *ca;
	size_t n_ca;
	/* Servers learn addresses for egress rules: the namespace of DNSName objects, and the file
	 * with the keys of what they learnt ("": none). egress_ns NULL or "": they do not. The
	 * networks whose addresses they never learn, with spaces between; NULL or "": none. */
	const char *egress_ns, *egress_keys, *egress_never;
	bool egress_hold; /* and hold answers until the addresses are in force on the client's node */
	/* One machine: the same, with its agent at this socket. NULL or "": they do not. */
	const char *egress_socket;
	bool records;	    /* servers answer for DNSRecord objects of type local */
	bool search_suffix; /* servers walk search lists behind one suffix */
	/* One machine: where --dns listens, how the plugin kubernetes finds the API, and whether
	 * there is anybody in /etc/resolv.conf to forward to. */
	uint16_t port;
	const char *bind, *kubeconfig;
	bool no_resolvers;
};

enum { DNSOPERATOR_DOMAIN_MAX = COREFILE_DOMAIN_MAX };

/* The objects that show address families; any may be NULL, lists may be empty. */
struct dnsoperator_network {
	const json_t *network;	     /* Network cluster, config.openshift.io/v1 */
	const json_t *service_cidrs; /* arrays of objects */
	const json_t *nodes;
	const json_t *service; /* default/kubernetes */
};
/* Spec and status are united: a cluster under conversion is both (OP-T7). */
struct dnsoperator_families dnsoperator_families_of(enum dnsoperator_platform platform,
						    const struct dnsoperator_network *network);

/* DNSTemplatePlugin: the flag ("A=true,B=false", may be ""), else the FeatureGate object (may be
 * NULL) for this version of the cluster ("": the first it has), else what the platform has. */
enum dnsoperator_gate dnsoperator_gate_of(enum dnsoperator_platform platform, const char *flag,
					  const json_t *feature_gate, const char *version,
					  enum dnsoperator_gate_source *ret_source);
/* Where DNS servers that run as pods have the keys: a mounted Secret. */
#define DNSOPERATOR_EGRESS_FOLDER "/etc/fairlead/egress"
#define DNSOPERATOR_EGRESS_KEYS	  DNSOPERATOR_EGRESS_FOLDER "/keys"
/* And the certificate by which agents of other nodes know them, with the name in the agents' own. */
#define DNSOPERATOR_AGENTS_FOLDER "/etc/fairlead/agents"
#define DNSOPERATOR_AGENTS_NAME	  "fairlead-node"
/* Where the agent of their own node has its socket, on the node and in the pod. */
#define DNSOPERATOR_AGENT_RUN "/run/fairlead"
/* Of the CustomResourceDefinition dnses.operator.openshift.io; NULL: unknown. */
enum dnsoperator_keeps dnsoperator_keeps_of(const json_t *crd);

/* The cluster's domain; never "". */
const char *dnsoperator_domain(const struct dnsoperator_facts *facts);
/* The domain at or below which zones must be refused; NULL when it is unknown. */
const char *dnsoperator_reserved_domain(const struct dnsoperator_facts *facts);
/* The address of the cluster's DNS: the tenth of the first service network; "" without one. */
void dnsoperator_cluster_ip(const json_t *network, char *out, size_t len);
