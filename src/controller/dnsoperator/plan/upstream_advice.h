/* Warnings about upstreams that are accepted. */
#pragma once

#include "base/strbuf.h"
#include "controller/dnsoperator/plan/dns_spec.h"

/* A line for each, without a final line break; nothing when there is nothing to say. */
void dnsoperator_upstream_advice(const struct dnsoperator_routes *routes, const char *domain,
				 struct strbuf *out);
