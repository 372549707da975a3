/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Warnings about upstreams that are accepted. */
#pragma once

#include "base/strbuf.h"
#include "controller/dnsoperator/plan/dns_spec.h"

/* Adds a line for each, without a final line break. */
void dnsoperator_upstream_advice(const struct dnsoperator_routes *routes, const char *domain,
				 struct strbuf *out);
