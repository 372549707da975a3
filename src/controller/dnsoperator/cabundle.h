/* CA bundles of upstreams: `caBundle.name` of a transport names a ConfigMap of the namespace
 * openshift-config, which is copied to where servers can mount it. The names of copies, their label
 * and their owner are OpenShift's (OP-D2, OP-D5); rotation changes the copy's version, which
 * stands in the text, so that servers notice. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "controller/dnsoperator/facts.h"
#include "controller/dnsoperator/model.h"
#include "controller/dnsoperator/problem.h"

#define DNSOPERATOR_CA_NS    "openshift-config"
#define DNSOPERATOR_CA_KEY   "ca-bundle.crt"
#define DNSOPERATOR_CA_LABEL "dns.operator.openshift.io/ca-bundle"

struct dnsoperator_look;

typedef VEC(const char *) dnsoperator_names;

/* Adds the bundles that servers and resolvers of a spec name for TLS, each once; borrowed from the
 * tree. What cannot be the name of a ConfigMap is left out. */
void dnsoperator_ca_names(const json_t *spec, dnsoperator_names *ret);
bool dnsoperator_ca_has(const dnsoperator_names *names, const char *name);

/* "ca-NAME"; the caller's. */
char *dnsoperator_ca_copy_name(const char *name);
bool dnsoperator_ca_is_copy(const json_t *configmap);
/* What is wrong with a source (NULL: there is none), after its name; NULL: nothing. */
const char *dnsoperator_ca_trouble(const json_t *source);
/* What is to be applied as the copy of a good one. */
json_t *dnsoperator_ca_copy(const json_t *source, const json_t *dns, const char *ns);

/* Where nothing mounts copies into servers, naming a bundle is refused. ERR_CONFIG. */
MUST_CHECK int dnsoperator_ca_check(const struct dnsoperator_routes *routes,
				    enum dnsoperator_platform platform,
				    struct dnsoperator_problems *problems);

/* ---- with the cluster ---- */

/* Copies what the object names and fills in facts.ca; a source that is missing, or is no bundle,
 * leaves the last copy, and is told by an Event. Negative with c->err when a copy could not be
 * made: the facts are good nevertheless. */
MUST_CHECK int dnsoperator_ca_sync(struct dnsoperator_look *pass);
/* Deletes copies that neither the object nor the plan uses; after the text was written. */
MUST_CHECK int dnsoperator_ca_prune(struct dnsoperator_look *pass);
void dnsoperator_ca_done(struct dnsoperator_look *pass);
