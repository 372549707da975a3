/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Laying out the apex's NS and SOA records when a zone is built. */
#pragma once

#include "dns/zone/zone_priv.h"

/* Lays out the apex records of a zone that is complete otherwise. */
void dns_zone_apex_wire_build(struct dns_zone *zone);
