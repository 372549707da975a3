/* Warnings about upstreams that are accepted. */
#pragma once

#include "base/strbuf.h"
#include "controller/dnsoperator/model.h"

/* A line for each, without a final line break; nothing when there is nothing to say. */
void dnsoperator_advise(const struct dnsoperator_routes *routes, const char *domain,
			struct strbuf *out);
