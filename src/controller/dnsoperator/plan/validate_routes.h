/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validates spec.servers and spec.upstreamResolvers. What is refused here never reaches a server. */
#pragma once

#include "api/tree.h"
#include "base/compiler.h"
#include "controller/dnsoperator/plan/dns_spec.h"
#include "controller/dnsoperator/plan/problems.h"

/* ERR_CONFIG with problems. `domain` is the cluster's, NULL when it is unknown. */
MUST_CHECK int dnsoperator_routes_check(const struct dnsoperator_routes *routes,
					const struct api_errors *errs, const char *domain,
					struct dnsoperator_problems *problems);
/* A copy of {"servers": [...], "upstreamResolvers": {...}} without the zones of the cluster's
 * domain, and without the servers that have no zone left. */
json_t *dnsoperator_routes_unreserved(const json_t *spec, const char *domain);
