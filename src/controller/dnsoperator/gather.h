/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first step of a pass: gathers the inputs of the plan from the watches and the API server. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

/* A set of families as bits. */
unsigned dnsoperator_families_mask(const struct dnsoperator_families *families);
/* The platform of --platform, or the one that the cluster looks like; network may be NULL. */
enum dnsoperator_platform dnsoperator_platform_of(const struct controller_ctx *ctx,
						  const json_t *network, bool microshift);
/* Sets pass->microshift. */
MUST_CHECK int dnsoperator_find_microshift(struct dnsoperator_pass *pass);
/* Fills in pass->facts. Negative with ctx->err when something could not be read. */
MUST_CHECK int dnsoperator_gather_facts(struct dnsoperator_pass *pass);
/* Reads the two ConfigMaps, and the cluster's domain from the Corefile in one of them. */
MUST_CHECK int dnsoperator_gather_configmaps(struct dnsoperator_pass *pass);
