/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CA bundles of upstreams: `caBundle.name` of a transport names a ConfigMap of the namespace
 * openshift-config, which is copied to where servers can mount it. The names of copies, their label
 * and their owner are OpenShift's (OP-D2, OP-D5); rotation changes the copy's version, which is
 * part of the Corefile, so that servers notice. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "controller/dnsoperator/plan/cluster_facts.h"
#include "controller/dnsoperator/plan/dns_spec.h"
#include "controller/dnsoperator/plan/problems.h"

#define DNSOPERATOR_CA_NS    "openshift-config"
#define DNSOPERATOR_CA_KEY   "ca-bundle.crt"
#define DNSOPERATOR_CA_LABEL "dns.operator.openshift.io/ca-bundle"

typedef VEC(const char *) dnsoperator_names;

/* Adds the bundles that servers and resolvers of a spec name for TLS, each once; borrowed from the
 * tree. What cannot be the name of a ConfigMap is left out. */
void dnsoperator_ca_names(const json_t *spec, dnsoperator_names *ret);
bool dnsoperator_ca_has(const dnsoperator_names *names, const char *name);

/* "ca-NAME"; the caller's. */
char *dnsoperator_ca_copy_name(const char *name);
bool dnsoperator_ca_is_copy(const json_t *configmap);
/* The error of a source (NULL: it is missing), to follow its name; NULL: none. */
const char *dnsoperator_ca_error(const json_t *source);
/* The copy of a valid source, to be applied. */
json_t *dnsoperator_ca_copy(const json_t *source, const json_t *dns, const char *ns);

/* Where nothing mounts copies into servers, naming a bundle is refused. ERR_CONFIG. */
MUST_CHECK int dnsoperator_ca_check(const struct dnsoperator_routes *routes,
				    enum dnsoperator_platform platform,
				    struct dnsoperator_problems *problems);
