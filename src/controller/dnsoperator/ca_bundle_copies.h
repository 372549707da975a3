/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of the upstreams' CA bundles in the servers' namespace (plan/ca_bundle.h). */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

/* Copies the bundles that the DNS object names and fills in facts.ca. A source that is missing or
 * no bundle leaves its last copy in use; an Event says so. Negative with ctx->err when a copy could
 * not be written: facts.ca is valid nevertheless. */
MUST_CHECK int dnsoperator_ca_sync(struct dnsoperator_pass *pass);
/* Deletes copies that neither the object nor the plan uses; after the Corefile was written. */
MUST_CHECK int dnsoperator_ca_prune(struct dnsoperator_pass *pass);
/* Frees pass->ca. */
void dnsoperator_ca_done(struct dnsoperator_pass *pass);
