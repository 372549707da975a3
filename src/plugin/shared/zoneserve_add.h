/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adding records of a zone, and proofs of denial, to the reply. */
#pragma once

#include "plugin/shared/zoneserve_priv.h"

/* Records of a set, with this owner (NULL: its own). What the query has no room for would not fit
 * into a reply either: TC is set, as for one that is cut. */
void zoneserve_add(struct zoneserve_run *run, enum dns_section section,
		   const struct dns_zone_node *node, const struct dns_zone_set *set,
		   const uint8_t *owner);
/* The node's set of that type, if it has one, and its signatures if they are wanted. */
void zoneserve_add_type(struct zoneserve_run *run, enum dns_section section,
			const struct dns_zone_node *node, uint16_t type, const uint8_t *owner);
void zoneserve_add_apex(struct zoneserve_run *run, uint16_t type); /* to the authority section */
/* Addresses of the targets of MX, SRV, SVCB and HTTPS records in the answer. */
void zoneserve_add_targets(struct zoneserve_run *run);
/* Addresses of name servers of this set: those at or below `within`. */
void zoneserve_add_glue(struct zoneserve_run *run, const struct dns_zone_set *ns,
			const uint8_t *within);

/* Proofs of denial, of nothing in a zone that is not signed. */
void zoneserve_prove_at(struct zoneserve_run *run, const struct dns_zone_node *node);
void zoneserve_prove_before(struct zoneserve_run *run, const uint8_t *name);
void zoneserve_prove_no_wildcard(struct zoneserve_run *run, const struct dns_zone_node *encloser);
