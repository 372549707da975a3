/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building a zone snapshot from records in any order. */
#pragma once

#include "dns/zone/zone.h"

struct dns_zone_builder;
struct dns_zone_builder *dns_zone_builder_new(const uint8_t *origin);
void dns_zone_builder_free(struct dns_zone_builder *builder);
/* Takes a record; what lies outside the zone is counted and left out. ERR_LIMIT; ERR_PARSE when the
 * data is not as its type wants it. */
MUST_CHECK int dns_zone_builder_add(struct dns_zone_builder *builder, const struct dns_rr *rr);
size_t dns_zone_builder_outside(const struct dns_zone_builder *builder);
/* The zone, with one reference; the builder is freed, whatever happens. ERR_NOTFOUND without an SOA
 * record at the apex; ERR_LIMIT. */
MUST_CHECK int dns_zone_build(struct dns_zone_builder *builder, struct dns_zone **ret);
