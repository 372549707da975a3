/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The TLS profile of an OpenShift cluster, as flags of kube-rbac-proxy:
 * spec.tlsSecurityProfile of `APIServer cluster` (config.openshift.io/v1). */
#pragma once

#include "api/tree.h"
#include "base/strbuf.h"

/* Adds the names of the ciphers in Go, separated by commas; those that Go lacks are left out. Returns
 * the lowest version ("VersionTLS12"). Without object or profile, or if no cipher is left: Intermediate. */
const char *dnsoperator_tls_profile(const json_t *apiserver, struct strbuf *ciphers);
