/* The TLS profile of an OpenShift cluster, as kube-rbac-proxy is told of it:
 * spec.tlsSecurityProfile of `APIServer cluster` (config.openshift.io/v1). */
#pragma once

#include "api/tree.h"
#include "base/strbuf.h"

/* Adds the names of the ciphers as Go has them, separated by commas; those that it lacks are left
 * out. Returns the least version ("VersionTLS12"). Without object or profile, and for one that
 * nothing is left of: Intermediate. */
const char *dnsoperator_tls_profile(const json_t *apiserver, struct strbuf *ciphers);
