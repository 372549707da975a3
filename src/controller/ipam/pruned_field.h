/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the CRD of IPAddress keeps spec.nameservers. That of Cluster API does not know the field and
 * drops it; then an annotation of the address carries the name servers. */
#pragma once

#include "api/tree.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "controller/controller.h"

struct ipam_address_input;
struct ipam_pool_spec;

enum ipam_pruning {
	IPAM_PRUNING_UNKNOWN, /* no pool had name servers so far */
	IPAM_FIELD_KEPT,
	IPAM_FIELD_PRUNED,
};

enum ipam_pruning ipam_pruning_of(const struct controller_ctx *ctx);
/* Finds out by a create of the address that the API only tries (dry run), unless it is known or the
 * address has no name servers. */
void ipam_detect_pruning(struct controller_ctx *ctx, const struct ipam_address_input *address);
/* The same by an address that the pool might allocate: it reports the result before its first claim. */
void ipam_detect_pruning_of_pool(struct controller_ctx *ctx, const json_t *pool,
				 const struct ipam_pool_spec *spec, const json_t *nameservers);
/* Compares what was sent with the JSON of what was stored. An address that lost its name servers and has
 * no annotation, since the CRD has changed, gets one here. As reconcile. */
MUST_CHECK int ipam_note_stored(struct controller_ctx *ctx, const struct ipam_address_input *sent,
				struct slice stored);
