/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ConfigMap of the controller: one key for each domain, its value is YAML.
 *
 *	data:
 *	  example.com: |
 *	    type: rfc2136            # spec.type of DNSRecords
 *	    secret: dns-key          # in the namespace of the source; NAMESPACE/NAME for another one
 *	    zone: example.com        # optional
 *	    ttl: 300                 # optional, for sources without the annotation
 *	    namespaces: [shop]       # optional: only sources of these namespaces
 *	    ingressHosts: true       # optional: also hosts in rules of Ingresses */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/tree.h"
#include "api/view.h"
#include "base/arena.h"

struct dnssource_domain {
	const char *name;			    /* lower case */
	const char *problem;			    /* why it cannot be used; NULL: it can */
	const char *type, *secret, *zone;	    /* zone "": the provider searches it */
	const char *secret_name, *secret_namespace; /* namespace "": that of the source */
	int64_t ttl_s;				    /* -1: not said */
	struct api_strings namespaces;		    /* none: all */
	bool ingress_hosts;
	json_t *tree; /* of its YAML: texts above are borrowed from it */
};

struct dnssource_config {
	struct dnssource_domain *v;
	size_t n;
};

/* `configmap` may be NULL: no domains. Lives as long as the (growing) arena. */
void dnssource_config_read(const json_t *configmap, struct arena *arena,
			   struct dnssource_config *ret);
void dnssource_config_done(struct dnssource_config *config);
/* The longest domain that the name is in, at a label's boundary; NULL: none. */
const struct dnssource_domain *dnssource_config_find(const struct dnssource_config *config,
						     const char *host);
bool dnssource_domain_allows(const struct dnssource_domain *domain, const char *ns);
