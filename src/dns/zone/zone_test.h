/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests count the records of a zone and find single nodes. */
#pragma once

#include "dns/zone/zone.h"

size_t dns_zone_n_records(const struct dns_zone *zone);
/* The node of the name's suffix that starts at this label; NULL: none. */
const struct dns_zone_node *dns_zone_find(const struct dns_zone *zone,
					  const struct dns_qname *qname, unsigned label);
